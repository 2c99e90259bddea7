"""Drift: whether a judge gets kinder from retry to retry, over work that stays the same.

The first attempt of a step is graded several times at once, then again as the judge sees it after each retry: a judge with the
log is told what was made and found until then, a fresh one sees what it saw before and is the negative control. All are new
samples of one model; the verdict at the gate, which decided whether there was a retry, is not among them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ..agents.frozen import freeze, with_log
from ..agents.raters import edited
from ..calibration.estimate import CalibrationWarning, Estimate
from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, NUMBER, TEXT, Columns
from ..models import Model
from ..models.limits import Limits
from ..payloads import Json
from ..run import Run
from ..study_records import WITH_LOG, Rater, Study
from ..workspace import Objects
from .items import task_of
from .replaying import Asked, Regraded, regrade
from .study import StudyFile

if TYPE_CHECKING:
    from pandas import DataFrame

KIND: Final = "drift"
LEAST_REPEATS = 3
"""Gradings of the first attempt at once: fewer tell little of where it starts."""
GRADINGS: Columns = {
    "run": TEXT,
    "task": TEXT,
    "step": COUNT,
    "rater": TEXT,
    "mode": TEXT,
    "after": COUNT,
    "repeat": COUNT,
    "verdict": TEXT,
    "overall": NUMBER,
}
"""The columns of `Drifted.frame`: the first attempt of a step, as it is graded ``after`` so many attempts."""
SLOPES: Columns = {
    "rater": TEXT,
    "mode": TEXT,
    "of": TEXT,
    "slope": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "gradings": COUNT,
    "steps": COUNT,
    "tasks": COUNT,
    "note": TEXT,
}
"""The columns of `Drifted.slopes`: change for each further attempt, of the score in points and of the share that passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One grading of a step's first attempt, as it is seen after so many attempts."""

    asked: Asked
    task: str
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """What became of the gradings. ``raters``: the judge as it is, and with the log."""

    raters: tuple[Rater, ...]
    timed: tuple[Timed, ...]
    regraded: Regraded
    level: float

    def frame(self) -> DataFrame:
        """A row a grading that was made."""
        reports = {(one.run, one.step, one.rater, one.sample): one.report for one in self.regraded.graded}
        rows = [
            (
                *(one.asked.frozen.run, one.task, one.asked.frozen.step, one.asked.rater.id, one.asked.rater.mode),
                *(one.after, one.asked.sample + 1, report.verdict, report.overall),
            )
            for one in self.timed
            if (report := reports.get(_place(one))) is not None
        ]
        return frame_of(GRADINGS, rows)

    def slopes(self) -> DataFrame:
        """A row a judge and what changes: its slope within steps, with an interval over tasks."""
        frame, rows = self.frame(), []
        for rater in self.raters:
            mine = frame[frame["rater"] == rater.id]
            for of, values in _changing(mine).items():
                found = _slope(mine, values, self.level)
                steps = mine.groupby(["run", "step"]).ngroups
                ends = (found.low, found.high) if math.isfinite(found.value) else (math.nan, math.nan)
                note = "; ".join(found.notes)
                numbers = (found.value, *ends, len(mine), steps, int(mine["task"].nunique()))
                rows.append((rater.id, rater.mode, of, *numbers, note or None))
        return frame_of(SLOPES, rows)


def _place(one: Timed) -> tuple[str, int, str, int]:
    return one.asked.frozen.run, one.asked.frozen.step, one.asked.rater.id, one.asked.sample


def _changing(frame: DataFrame) -> Mapping[str, Sequence[float]]:
    passes = [math.nan if word == "unmeasured" else float(word == "pass") for word in frame["verdict"]]
    return {"score": list(frame["overall"]), "passes": passes}


def _slope(frame: DataFrame, values: Sequence[float], level: float) -> Estimate:
    from ..calibration import within_slope

    steps = [f"{run}:{step}" for run, step in zip(frame["run"], frame["step"], strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return within_slope(values, list(frame["after"]), steps, level=level, groups=list(frame["task"]))


def timed_of(runs: Iterable[Run], rater: Rater, *, repeats: int = LEAST_REPEATS) -> tuple[Timed, ...]:
    """The gradings of a drift study, by the judge as it is and with the log. ``BadInput`` where no step has two attempts."""
    if not LEAST_REPEATS <= repeats <= 20:
        raise BadInput(f"repeats is {repeats!r}.", f"Give {LEAST_REPEATS} to 20: where it starts must be known well.")
    if rater.logged:
        raise BadInput(f"{rater.name or rater.id} has the log already.", "Name the judge without it; both are graded.")
    if rater.mode.startswith("self"):
        raise BadInput(
            f"{rater.name or rater.id} judges in the generator's own turns.",
            "Name a fresh judge: %pge rater lists them.",
        )
    found: list[Timed] = []
    for run in runs:
        if run.root is None:
            raise BadInput("This run was not opened from a file.", "Open it with open_run(PATH).")
        objects = Objects(run.root)
        for step in run.every_step:
            reports = run.evaluations(step.number)
            if 1 in reports and len(reports) > 1:
                frozen = freeze(run, step.number, 1, objects)
                times = [1] * repeats + list(range(2, max(reports) + 1))
                for judge in (rater, logged(rater)):
                    first = Asked(frozen=frozen.seen_by(judge), rater=judge, sample=0, gate=reports[1])
                    found += _at_times(run, first, times, objects)
    if not found:
        raise BadInput(
            "No step has a second attempt, so nothing tells how a judge changes.", "%pge run --keep-going 4 makes more."
        )
    return tuple(found)


def _at_times(run: Run, first: Asked, times: Sequence[int], objects: Objects) -> Iterator[Timed]:
    """The grading of a first attempt, as its judge sees it after each of ``times``: new samples all."""
    for sample, after in enumerate(times):
        seen = with_log(first.frozen, run, after, objects) if first.rater.logged and after > 1 else first.frozen
        yield Timed(asked=replace(first, frozen=seen, sample=sample), task=task_of(run), after=after)


def logged(rater: Rater) -> Rater:
    """The judge that is told what was made and found before."""
    mode = f"{rater.mode}, {WITH_LOG}" if rater.alone else WITH_LOG
    return edited(rater, mode=mode, name=f"{rater.name}-log" if rater.name else "")


def drift(
    study: StudyFile,
    runs: Run | Iterable[Run],
    rater: Rater,
    *,
    repeats: int = LEAST_REPEATS,
    level: float = 0.95,
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
) -> Drifted:
    """Grade the first attempt of every step again as the judge sees it after each retry; what is there is not asked for again.

    The judge as it is is the negative control of the same judge with the log: what it sees does not change.
    """
    timed = timed_of([runs] if isinstance(runs, Run) else list(runs), rater, repeats=repeats)
    regraded = regrade(study, [one.asked for one in timed], model=model, limits=limits, parallel=parallel)
    done = Drifted(raters=(rater, logged(rater)), timed=timed, regraded=regraded, level=level)
    put = Study(study=KIND, asked=_asked(done), units=len(regraded.graded), failed=len(regraded.failed))
    if not regraded.stopped and put not in study.read().studies:
        study.add(put, by="harness")
    return done


def _asked(done: Drifted) -> dict[str, Json]:
    figures: dict[str, Json] = {}
    for row in done.slopes().to_dict("records"):
        numbers = {name: _number(row[name]) for name in ("slope", "low", "high")}
        counts = {name: int(row[name]) for name in ("gradings", "steps", "tasks")}
        figures.setdefault(row["mode"], {})[row["of"]] = numbers | counts  # type: ignore[index]
    return {"rater": done.raters[0].id, "level": done.level, "figures": figures}


def _number(value: float) -> float | None:
    return round(float(value), 6) if math.isfinite(value) else None
