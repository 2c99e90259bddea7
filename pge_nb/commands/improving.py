"""Teach a judge by examples of where it was wrong, and find out on other tasks whether it gained by them."""

from __future__ import annotations

from typing import Annotated, Literal

from ..display import View
from ..errors import BadInput
from ..models.choose import is_practice
from ..models.limits import Limits
from ..prose import counted
from ..runs import Runs
from ..studies.improving import (
    Candidate,
    Improved,
    ahead_of_test,
    candidates,
    counted_by_kind,
    interleaved,
    least_told,
    parent_of,
    taught,
    trial,
    worded,
)
from ..studies.items import task_of
from ..studies.replaying import ahead, kept
from ..studies.study import StudyFile, open_study
from ..study_records import Rater
from ..views.improved import candidates_view, improved_view
from .calibrating import AGAINST, id_of
from .here import Here
from .of_runs import RUNS, runs_of
from .raters import judge_named


def improve(
    here: Here,
    name: Annotated[str, "what the new judge is called; none: list what it may learn from"] = "",
    /,
    *runs: Annotated[str, RUNS],
    body: str = "",
    rater: Annotated[str, "the judge that is taught; gate: the judge of the run here"] = "gate",
    as_: Annotated[str, "who picks and words the examples: one who labelled nothing in the test part"] = "",
    against: Annotated[str, AGAINST] = "",
    test: Annotated[bool, "open the sealed test part: once, after development"] = False,
    budget: Annotated[float | None, "at most so many dollars, over all studies of this notebook"] = None,
    parallel: Annotated[int, "so many gradings are made at once"] = 4,
) -> View:
    """Teach a judge by examples of where it was wrong in train, and see on other tasks whether it gained by them."""
    chosen, study = runs_of(here, runs), open_study(here.directory)
    against = id_of(here, against, chosen)
    if not name:
        old = judge_named(here, rater, chosen)
        return _listed(_candidates(study, chosen, old, against), old)
    if body.strip():
        if test:
            raise BadInput("A judge that is new was not tried on development yet.", "Leave --test out.")
        if not as_:
            raise BadInput("Who picked the examples?", f"%%pge improve {name} --as NAME")
        old = judge_named(here, rater, chosen)
        known = {one.id: one for one in _candidates(study, chosen, old, against)}
        new = taught(study, chosen, old, [worded(*_read(line, known)) for line in _lines(body)], name=name, by=as_)
    else:
        new = judge_named(here, name, chosen)
        old = parent_of(new, study.read().raters)
    return _tried(study, chosen, old, new, against, test=test, limits=Limits(max_dollars=budget), parallel=parallel)


def _candidates(study: StudyFile, runs: Runs, old: Rater, against: str) -> tuple[Candidate, ...]:
    return candidates(runs, old, study.read(), kept(study), against=against)


def _listed(found: tuple[Candidate, ...], old: Rater) -> View:
    called = old.name or old.id
    rows = [(one.id, one.item.task, one.item.says, one.said, one.score, one.why, one.shown) for one in found]
    return candidates_view(rows, f"{called} in train: {counted_by_kind(found)}", next_="%pge help improve")


def _lines(body: str) -> list[str]:
    return [line.strip() for line in body.splitlines() if line.strip()]


def _read(line: str, known: dict[str, Candidate]) -> tuple[Candidate, str]:
    name, _, why = line.partition(" ")
    if name not in known:
        raise BadInput(f"{name[:40]!r} is no candidate.", "%pge improve lists them; a line is an id, then why.")
    return known[name], why


def _tried(
    study: StudyFile, runs: Runs, old: Rater, new: Rater, against: str, *, test: bool, limits: Limits, parallel: int
) -> View:
    view = study.read()
    part: Literal["development", "test"] = "test" if test else "development"
    mine = [run for run in runs if view.part(task_of(run)) == part]
    if mine and not all(is_practice(one.model) for one in (old, new)):
        before = ahead(study, interleaved(mine, old, new))
        if before.units:
            print(before)  # noqa: T201 - told before anything is paid
    done = trial(study, runs, old, new, part=part, against=against, limits=limits, parallel=parallel)
    return _shown(done, runs, study, against)


def _shown(done: Improved, runs: Runs, study: StudyFile, against: str) -> View:
    called = done.new.name or done.new.id
    notes = (
        [f"It ended early: {done.regraded.stopped} The same line goes on from there."] if done.regraded.stopped else []
    )
    if failed := len(done.regraded.failed):
        notes.append(f"{counted(failed, 'grading')} could not be made: the same line asks for them again.")
    if done.part == "development":
        least = ahead_of_test(study, runs, done.old, done.new, against=against)
        told = "what would be seen there is not known" if least is None else least_told(least)
        notes.append(f"The test part is sealed; before it is opened: {told}.")
        next_ = f"%pge improve {called} --test"
    else:
        next_ = f"%pge card --rater {called} --part test"
    return improved_view(done.frame(), done.sentence, level=done.level, notes=notes, next_=next_)
