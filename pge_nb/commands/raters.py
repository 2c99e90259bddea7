"""Raters: list them, look at one or at how two differ, edit a judge's prompt, and have attempts graded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from ..agents.raters import rater_of
from ..display import View
from ..errors import BadInput
from ..models.choose import is_practice, open_model
from ..models.limits import Limits
from ..notebook import runs as runs_in
from ..prose import counted
from ..run import Run
from ..studies.raters import Listed, edit, judge_called, roster
from ..studies.replaying import ahead, asked_of, batches_of
from ..studies.replaying import regrade as replayed
from ..studies.study import open_study
from ..study_records import Rater
from ..views.raters import pair_view, rater_view, raters_view
from ..views.regraded import regraded_view
from .here import Here
from .of_runs import RUNS, runs_of

Which = Annotated[str, "a rater's id or name; gate: the judge of the run here"]


def rater(
    here: Here,
    name: Annotated[
        str, "an id or a name; with a body or an option what the new judge is called; none: all of them"
    ] = "",
    /,
    *,
    body: str = "",
    model: Annotated[str, "another model for it"] = "",
    alone: Annotated[
        bool, "it decides every check from the artifacts, without what reviews found: for studies"
    ] = False,
    from_: Annotated[str, "the rater that is edited; none: the one of this name, else the judge of the run here"] = "",
) -> View:
    """The raters there are, or one of them; a body is the new prompt of a judge, which is another rater then."""
    edits = bool(body.strip() or model or from_ or alone)
    if not name:
        if edits:
            raise BadInput("The new judge has no name.", "Write one behind the word: %%pge rater NAME")
        return listed_view(here)
    if not edits:
        return rater_view(judge_named(here, name), next_=f"%pge raters gate {name}")
    if model:
        open_model(model)
    study, known = open_study(here.directory), judges_here(here)
    called = {one.rater.name for one in known} | {one.rater.id for one in known}
    base = judge_named(here, from_ or (name if name in called else "gate"))
    new = edit(
        study, base, name=base.name if name == base.id and base.name else name, prompt=body, model=model, alone=alone
    )
    notes = () if new.id != base.id else ("Nothing is other than before: it is the same rater.",)
    return rater_view(new, old=base, notes=notes, next_=f"%pge regrade --rater {new.name}")


def raters(here: Here, old: Which, new: Which, /) -> View:
    """How two judges differ: prompt line by line, model, mode and examples."""
    return pair_view(judge_named(here, old), judge_named(here, new), next_="%pge rater")


def regrade(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, "the judges, with commas; gate: the judge of the run here"] = "gate",
    repeats: Annotated[int, "so many gradings of each attempt by each of them"] = 1,
    budget: Annotated[float | None, "at most so many dollars, over all studies of this notebook"] = None,
    parallel: Annotated[int, "so many gradings are made at once"] = 4,
    batch: Annotated[
        bool, "half the price: asked in batches, answered within a day; the same line goes on waiting"
    ] = False,
) -> View:
    """Have every attempt graded again by other judges: verdicts turned over, retries saved or added; runs stay as they are."""
    chosen = runs_of(here, runs)
    study = open_study(here.directory)
    judges = judges_named(here, rater, chosen)
    asked = asked_of(chosen, judges, repeats=repeats)
    before = ahead(study, asked)
    if before.units and any(not is_practice(judge.model) for judge in judges):
        print(before)  # noqa: T201 - told before anything is paid
    made: list[int] = [before.there]
    try:
        done = replayed(
            study,
            asked,
            limits=Limits(max_dollars=budget),
            parallel=parallel,
            told=lambda n, _: made.append(n),
            batches=batches_of() if batch else None,
        )
    except KeyboardInterrupt:
        raise BrokenOff(max(made), len(asked)) from None
    notes = [] if before.units else ["Nobody was asked: all of these gradings were there."]
    notes += [f"It ended early: {done.stopped} The same line goes on from there."] if done.stopped else []
    names = {judge.id: judge.name for judge in judges if judge.name}
    return regraded_view(done.effects(), done.frame(), names, notes=notes, next_="%pge rater")


class BrokenOff(KeyboardInterrupt):
    """A replay that a person broke off; what was made is kept."""

    def __init__(self, made: int, asked: int) -> None:
        super().__init__(f"Interrupted; {made:,} of {counted(asked, 'grading')} are kept.")

    @property
    def lines(self) -> list[str]:
        """The fact and the next move."""
        return [str(self), "The same line goes on from there."]

    def _render_traceback_(self) -> list[str]:
        return self.lines


def listed_view(here: Here) -> View:
    """All raters."""
    known = judges_here(here)
    damaged = [kept.address or "." for kept in runs_in(here.directory) if kept.run is None]
    notes = [f"The files of {', '.join(damaged)} are damaged or hold no task: they are left out."] if damaged else []
    rows = [(one.rater, _named(here, one.gates), one.evaluations, one.labels) for one in known]
    if not known:
        rows = [(gate(here), ["new runs"], 0, 0)]
    return raters_view(rows, notes=notes, next_="%pge help rater")


def _named(here: Here, ids: Sequence[str]) -> list[str]:
    names = {kept.run.task.run: kept.address or "." for kept in runs_in(here.directory) if kept.run}
    return [names.get(one, one) for one in ids]


def gate(here: Here) -> Rater:
    """The judge of the run here; where none was begun, of new ones."""
    run = here.run()
    return rater_of(run.settings if run else here.settings().config(here.path).settings())


def judges_here(here: Here, runs: Sequence[Run] | None = None) -> tuple[Listed, ...]:
    """Every rater that ``study.md`` and the runs (those here that can be read) know."""
    if runs is None:
        runs = [kept.run for kept in runs_in(here.directory) if kept.run]
    return roster(runs, open_study(here.directory).read())


def judge_named(here: Here, said: str, runs: Sequence[Run] | None = None) -> Rater:
    """The judge with this id or name, or ``gate``; ``runs`` may know some that no run of the notebook does."""
    return judge_called(said, judges_here(here, runs), gate(here))


def judges_named(here: Here, said: str, runs: Sequence[Run] | None = None) -> tuple[Rater, ...]:
    """The judges of a list with commas, each once."""
    words = [word.strip() for word in said.split(",") if word.strip()]
    if not words:
        raise BadInput(
            "No rater was named.", "Name them with commas: --rater gate,strict. %pge rater lists those there are."
        )
    found = {one.id: one for one in (judge_named(here, word, runs) for word in words)}
    return tuple(found.values())
