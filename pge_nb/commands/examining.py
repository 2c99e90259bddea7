"""The exam: planted defects among clean copies, and who sees them."""

from __future__ import annotations

from typing import Annotated

from ..display import View
from ..errors import PgeError
from ..models.choose import is_practice
from ..models.limits import Limits
from ..records import EvaluationReport
from ..studies.examining import Examined, ahead, asked_of, examine, natural, word_of_judge
from ..studies.planting import Copy, plant
from ..studies.replaying import kept
from ..studies.study import open_study
from ..views.examined import Slipped, examined_view
from .every_day import NotPassed
from .here import Here
from .of_runs import RUNS, runs_of
from .raters import BrokenOff, judges_named


def exam(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, "the judges, with commas; gate: the judge of the run here"] = "gate",
    sample: Annotated[int, "so many defects are planted, if there are places for them"] = 20,
    seed: Annotated[int, "another seed, other defects"] = 0,
    minimum: Annotated[float | None, "the exam fails where the interval of a catch rate begins below it"] = None,
    no_injection: Annotated[bool, "without a second copy of each that holds a text for the judge"] = False,
    budget: Annotated[float | None, "at most so many dollars, over all studies of this notebook"] = None,
    parallel: Annotated[int, "so many gradings are made at once"] = 4,
    raise_: Annotated[bool, "an error where the minimum is not reached, for CI"] = False,
) -> View:
    """Plant defects in accepted work and have judges grade it, blind among clean copies: what they catch, by kind and size."""
    chosen, study = runs_of(here, runs), open_study(here.directory)
    judges = judges_named(here, rater, chosen)
    planted = plant(study, chosen, sample=sample, seed=seed, injection=not no_injection, parallel=parallel)
    before = ahead(study, asked_of(planted, judges))
    if before.units and any(not is_practice(judge.model) for judge in judges):
        print(before)  # noqa: T201 - told before anything is paid
    made = [before.there]
    try:
        done = examine(
            study,
            planted,
            judges,
            limits=Limits(max_dollars=budget),
            parallel=parallel,
            told=lambda n, _: made.append(n),
        )
    except KeyboardInterrupt:
        raise BrokenOff(max(made), len(planted.copies) * len(judges)) from None
    notes = [] if before.units else ["Nobody was asked: all of these gradings were there."]
    notes += [f"It ended early: {done.stopped} The same line goes on from there."] if done.stopped else []
    mark, told = "", []
    if minimum is not None:
        mark = "passed" if done.meets(minimum) else "failed"
        what = "it does" if mark == "passed" else "it does not"
        told = [f"Demanded: the interval of each judge's catch rate begins at {minimum:g} or above; {what}."]
    view = examined_view(
        done.figures(natural(chosen, study.read(), kept(study), judges)),
        done.frame(),
        sentences=[done.sentence(judge.id, judge.name) for judge in judges],
        slipped=[_slip(judge.id, copy, report) for judge in judges for copy, report in done.slipped(judge.id)],
        names={judge.id: judge.name for judge in judges if judge.name},
        mark=mark,
        notes=(*told, *done.remarks(), *notes),
    )
    if raise_ and minimum is not None and mark == "failed":
        raise NotReached(view, done, minimum)
    return view


def _slip(rater: str, copy: Copy, report: EvaluationReport) -> Slipped:
    frozen = copy.frozen
    return Slipped(
        rater=rater,
        attempt=f"{frozen.run}:{frozen.step}.{frozen.attempt}",
        where=copy.where,
        kind=copy.kind,
        size=copy.size,
        violates=copy.violates,
        reviews=("fail" if copy.reviews else "pass") if frozen.claims else "",
        text=copy.text,
        diff=copy.diff,
        path=copy.path,
        word=word_of_judge(report) or "unmeasured",
        report=report,
    )


class NotReached(NotPassed):
    """An exam in which a judge did not reach the minimum, where ``--raise`` asked for an error."""

    def __init__(self, view: View, done: Examined, minimum: float) -> None:
        low = min(done.catch(rater.id).low for rater in done.raters)
        fact = f"A judge may catch as little as {low:.2f} of planted defects; {minimum:g} was demanded."
        PgeError.__init__(self, fact, "The tables above tell which slipped through.")
        self.view = view
