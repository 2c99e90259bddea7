"""What moves a judge that should not: the same attempts, graded with one thing about them changed."""

from __future__ import annotations

from typing import Annotated

from ..display import View
from ..models.choose import is_practice
from ..models.limits import Limits
from ..prose import counted
from ..studies.probing import LEVEL, PROBES, ahead, asked_of, probes_named
from ..studies.probing import probe as carried_out
from ..studies.study import open_study
from ..views.probed import probed_view
from .here import Here
from .of_runs import RUNS, runs_of
from .raters import BrokenOff, judge_named


def probe(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, "the judge; gate: the judge of the run here"] = "gate",
    only: Annotated[str, f"probes with commas, of {', '.join(PROBES)}; none: all of them"] = "",
    repeats: Annotated[int, "so many gradings of each attempt in each condition"] = 1,
    budget: Annotated[float | None, "at most so many dollars, over all studies of this notebook"] = None,
    parallel: Annotated[int, "so many gradings are made at once"] = 4,
) -> View:
    """Grade the same attempts with one thing changed: the author's turns before them, padding, authority, order, the author."""
    chosen, study = runs_of(here, runs), open_study(here.directory)
    judge, probes = judge_named(here, rater, chosen), probes_named(only)
    asked = asked_of(chosen, judge, probes=probes, repeats=repeats)
    before = ahead(study, asked)
    if before.units and not is_practice(judge.model):
        print(before)  # noqa: T201 - told before anything is paid
    made = [before.there]
    try:
        done = carried_out(
            study,
            asked,
            judge,
            probes=probes,
            limits=Limits(max_dollars=budget),
            parallel=parallel,
            told=lambda n, _: made.append(n),
        )
    except KeyboardInterrupt:
        raise BrokenOff(max(made), len(asked)) from None
    stopped, failed = done.gradings.stopped, len(done.gradings.failed)
    notes = [] if before.units else ["Nobody was asked: all of these gradings were there."]
    notes += [f"It ended early: {stopped} The same line goes on from there."] if stopped else []
    notes += [f"{counted(failed, 'grading')} could not be made: the same line asks for them again."] if failed else []
    return probed_view(
        done.effects(),
        done.sentence,
        left_out=done.left_out,
        rater=judge.id,
        level=LEVEL,
        notes=notes,
        next_="%pge card",
    )
