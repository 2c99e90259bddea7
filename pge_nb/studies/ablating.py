"""Ablation: which part of the harness is worth its cost. Practice tasks are carried out with and without each part.

Every combination of planner, contract, evaluator and few-shot examples (a full factorial), and two controls beside the whole.
Yoked retries: the same task and seed, with as many attempts at each step, chosen among as the harness does, but told nothing of
what was found: what they lack is feedback alone. Best of n: as many attempts as the whole's tokens buy, told nothing either, of
which the evaluator's best stands. What came out is looked up in the bank, by all files that stand. The unit is the task; seeds
are its replicates. A run that failed counts as a failure.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from .. import bank
from ..agents.raters import judge
from ..bank.whole import whole_truth
from ..calibration.estimate import CalibrationWarning
from ..config import HarnessConfig
from ..errors import BadInput, PgeError
from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..frames.costs import dollars_of
from ..harness import PGEHarness
from ..models.choose import is_practice
from ..models.practice import PracticeSettings
from ..payloads import Json, encode
from ..records import FileRef
from ..run import Run
from ..settable import Judging
from ..state import open_run
from ..study_records import Example, Study
from .pool import carried_out
from .study import StudyFile, open_study
from .units import Units, name_of, read_as

if TYPE_CHECKING:
    from pandas import DataFrame

KIND: Final = "ablate"
MOST_OF_N = 12
"""Attempts of the best-of-n control, at most."""
UNITS: Columns = {
    "condition": TEXT,
    "planner": FLAG,
    "contract": FLAG,
    "evaluator": TEXT,
    "examples": FLAG,
    "task": TEXT,
    "seed": COUNT,
    "sound": FLAG,
    "quality": NUMBER,
    "outcome": TEXT,
    "attempts": COUNT,
    "calls": COUNT,
    "tokens": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "error": TEXT,
}
"""The columns of `Ablated.frame`. ``sound``: every deliverable stands, and nothing is wrong with any; ``quality`` 0 to 10."""
EFFECTS: Columns = {
    "compared": TEXT,
    "of": TEXT,
    "with": NUMBER,
    "without": NUMBER,
    "difference": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "tasks": COUNT,
}
"""The columns of `Ablated.effects`: means over tasks, and the difference with an interval over tasks."""
OUTCOMES = ("sound", "quality", "tokens", "calls", "seconds")
YOKED, BEST = "yoked retries", "best of n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination. ``control`` names one beside the whole; ``attempts``: so many at every step, or at each in turn."""

    planner: bool = True
    contract: bool = True
    evaluator: Judging = "fresh"
    examples: bool = False
    control: str = ""
    attempts: int | tuple[int, ...] = 0

    @property
    def name(self) -> str:
        """How it is called."""
        if self.control:
            return self.control
        parts = (("planner", self.planner), ("contract", self.contract))
        told = [word if there else f"no {word}" for word, there in parts]
        told.append(f"evaluator {self.evaluator}")
        return ", ".join([*told, *(["examples"] if self.examples else [])])


WHOLE = Cell()


def cells(*, examples: bool = False) -> tuple[Cell, ...]:
    """The full factorial. Examples are for a fresh evaluator: one in the generator's turns has no prompt of its own."""
    judging: tuple[tuple[Judging, bool], ...] = (("fresh", False), ("self", False), ("off", False))
    judging += (("fresh", True),) if examples else ()
    return tuple(
        Cell(planner=planner, contract=contract, evaluator=evaluator, examples=shown)
        for planner, contract in itertools.product((True, False), repeat=2)
        for evaluator, shown in judging
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One run: all that it depends on, by value."""

    task: str
    seed: int
    cell: Cell
    model: str
    settings: Mapping[str, Json]
    examples: tuple[Example, ...] = ()

    @property
    def unit(self) -> str:
        """The name under which its outcome is kept."""
        shown = [encode(one) for one in self.examples] if self.cell.examples else []
        return name_of([KIND, self.task, self.seed, asdict(self.cell), self.model, dict(self.settings), shown])


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a run came to."""

    sound: bool
    quality: float
    outcome: str
    attempts: int
    calls: int
    tokens: int
    dollars: float | None
    seconds: float
    error: str = ""
    by_step: tuple[int, ...] = ()


FAILED = Came(
    sound=False, quality=0.0, outcome="failed", attempts=0, calls=0, tokens=0, dollars=0.0, seconds=0.0, error=""
)
"""A run that ended before anything was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablated:
    """What became of the units. ``stopped`` says why it ended early; the same call goes on from there."""

    came: tuple[tuple[Unit, Came], ...]
    level: float
    stopped: str = ""

    def frame(self) -> DataFrame:
        """A row a run; one that failed has its error, and counts as work that is not sound."""
        rows = [
            (
                *(unit.cell.name, unit.cell.planner, unit.cell.contract, unit.cell.evaluator, unit.cell.examples),
                *(unit.task, unit.seed, one.sound, one.quality, one.outcome, one.attempts, one.calls, one.tokens),
                *(one.dollars, one.seconds, one.error or None),
            )
            for unit, one in self.came
        ]
        return frame_of(UNITS, rows)

    def effects(self) -> DataFrame:
        """What each part does on the average over the other parts, and the whole harness against each control."""
        frame = self.frame()
        grid = frame[~frame["condition"].isin([YOKED, BEST])]
        rows: list[tuple[object, ...]] = []
        for name, with_, without in _contrasts(grid):
            rows += [(name, of, *_difference(with_, without, of, self.level)) for of in OUTCOMES]
        whole = grid[grid["condition"] == WHOLE.name]
        for control in (YOKED, BEST):
            mine = frame[frame["condition"] == control]
            if len(mine):
                rows += [(f"against {control}", of, *_difference(whole, mine, of, self.level)) for of in OUTCOMES]
        return frame_of(EFFECTS, rows)


def _contrasts(grid: DataFrame) -> Iterator[tuple[str, DataFrame, DataFrame]]:
    """Part -> the runs with it and those without. Each evaluator is held against none, examples against a fresh one alone."""
    plain = grid[~grid["examples"].astype(bool)]
    for part in ("planner", "contract"):
        has = plain[part].astype(bool)
        yield part, plain[has], plain[~has]
    for evaluator in ("fresh", "self"):
        yield f"evaluator {evaluator}", plain[plain["evaluator"] == evaluator], plain[plain["evaluator"] == "off"]
    if grid["examples"].any():
        yield "examples", grid[grid["examples"].astype(bool)], plain[plain["evaluator"] == "fresh"]


def _difference(with_: DataFrame, without: DataFrame, of: str, level: float) -> tuple[object, ...]:
    """Means over tasks with and without, their difference within tasks, and its interval over tasks."""
    from ..calibration import signed_error

    means = [
        some.groupby("task")[of].apply(lambda values: float(values.astype(float).mean())) for some in (with_, without)
    ]
    both = means[0].index.intersection(means[1].index)
    first, second = (list(mean.loc[both]) for mean in means)
    if not first:
        return (math.nan, math.nan, math.nan, math.nan, math.nan, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        found = signed_error(second, first, level=level)
    ends = (found.low, found.high) if math.isfinite(found.low) else (math.nan, math.nan)
    return (sum(first) / len(first), sum(second) / len(second), found.value, *ends, len(first))


def ablate(
    tasks: Sequence[str],
    *,
    model: str = "practice",
    seeds: Iterable[int] = (1, 2, 3),
    examples: Sequence[Example] = (),
    controls: bool = True,
    settings: Mapping[str, Any] | None = None,
    directory: Path | str = ".",
    level: float = 0.95,
    parallel: int = 1,
    told: Callable[[int, int], None] | None = None,
) -> Ablated:
    """Carry practice tasks out under every combination of parts, ``seeds`` times each, and compare what came out.

    ``model`` plays every role; a practice model's seed is the replicate's. ``settings`` are those of every run. Finished runs are
    kept beside the ``study.md`` of ``directory`` and not made again. ``BadInput`` for a task that the bank does not have.
    """
    study = open_study(Path(directory))
    for name in tasks:
        bank.practice_task(name)
    if not tasks:
        raise BadInput("No task was named.", "%pge tasks lists them.")
    given = {name: encode(value) for name, value in (settings or {}).items()}
    units = [
        Unit(task=task, seed=seed, cell=cell, model=model, settings=given, examples=tuple(examples))
        for task in tasks
        for seed in seeds
        for cell in cells(examples=bool(examples))
    ]
    done = _carried_out(study, units, parallel, told)
    if controls and not done.stopped:
        more = _beside(study, done, parallel)
        done = replace(done, came=(*done.came, *more.came), stopped=more.stopped)
    done = replace(done, level=level)
    asked: dict[str, Json] = {"tasks": list(tasks), "model": model, "units": len(done.came)}
    put = Study(study=KIND, asked=asked, units=len(done.came), failed=sum(bool(one.error) for _, one in done.came))
    if not done.stopped and put not in study.read().studies:
        study.add(put, by="harness")
    return done


def _beside(study: StudyFile, done: Ablated, parallel: int) -> Ablated:
    """The controls of every run of the whole harness: as many attempts that are told nothing, and as many as its tokens buy."""
    wholes = [(unit, came) for unit, came in done.came if unit.cell == WHOLE]
    yoked = [replace(unit, cell=replace(WHOLE, control=YOKED, attempts=came.by_step or 1)) for unit, came in wholes]
    # What a first attempt and a second take tells how many the tokens buy.
    tried = _carried_out(study, [_best(unit, many) for unit, _ in wholes for many in (1, 2)], parallel, None)
    took = {(unit.task, unit.seed, unit.cell.attempts): came.tokens for unit, came in tried.came}
    best = []
    for unit, came in wholes:
        first, second = (took.get((unit.task, unit.seed, many), 0) for many in (1, 2))
        more = (came.tokens - first) / (second - first) if second > first else 0
        best.append(_best(unit, min(MOST_OF_N, max(1, 1 + int(more)))))
    return _carried_out(study, [*yoked, *best], parallel, None)


def _best(unit: Unit, many: int) -> Unit:
    return replace(unit, cell=replace(WHOLE, control=BEST, attempts=many))


def _carried_out(
    study: StudyFile, units: Sequence[Unit], parallel: int, told: Callable[[int, int], None] | None
) -> Ablated:
    kept = Units(study.directory, KIND)
    found: dict[str, Came] = {}
    waiting = []
    for unit in units:
        known = read_as(Came, kept.get(unit.unit))
        if known is None:
            waiting.append(unit)
        else:
            found[unit.unit] = known

    def make(unit: Unit) -> Came:
        came = carried(unit)
        kept.put(unit.unit, encode(came))
        return came

    stopped = ""
    for unit, outcome in carried_out(waiting, make, parallel=parallel, ended=Event()):
        if isinstance(outcome, PgeError):
            stopped = stopped or outcome.fact
        else:
            found[unit.unit] = outcome
        if told is not None:
            told(len(found), len(units))
    came = tuple((unit, found[unit.unit]) for unit in units if unit.unit in found)
    return Ablated(came=came, level=0.95, stopped=stopped)


def carried(unit: Unit) -> Came:
    """Carry one unit out, in a directory of its own that is taken away after. A run that raises has failed."""
    with tempfile.TemporaryDirectory(prefix="pge-ablate-") as place:
        state = Path(place, "shared_state.md")
        try:
            PGEHarness(_config(unit, state)).run(bank.practice_task(unit.task).prompt)
        except PgeError as error:
            spent = _came(unit, open_run(state)) if state.is_file() else FAILED
            return replace(spent, sound=False, quality=0.0, outcome="failed", error=error.fact)
        return _came(unit, open_run(state))


def _config(unit: Unit, state: Path) -> HarnessConfig:
    cell, model = unit.cell, unit.model
    if is_practice(model):
        model = replace(PracticeSettings.parse(model), seed=unit.seed).model_name
    given: dict[str, Any] = {"on_exhausted": ("keep", "advance"), "regrade_kept": False, **unit.settings}
    if cell.control:
        given |= {"feedback": False, "keep_going": cell.attempts, "first_stands": cell.control == YOKED}
        given |= {"on_exhausted": ("keep", "advance"), "max_retries_per_step": 0}
    given["on_exhausted"] = tuple(given["on_exhausted"])
    return HarnessConfig(
        model=model,
        planner=cell.planner,
        contract=cell.contract,
        evaluator=cell.evaluator,
        rater=judge(model, examples=unit.examples) if cell.examples else None,
        registry="off",
        shared_state_path=state,
        **given,
    )


def _came(unit: Unit, run: Run) -> Came:
    files = _standing(run)
    known = whole_truth(unit.task, files) if files else None
    calls, by_step = run.calls, tuple(len(run.attempts(step.number)) for step in run.every_step)
    return Came(
        sound=known is not None and not known.defects,
        quality=sum(known.quality.values()) / len(known.quality) if known and known.quality else 0.0,
        outcome=run.outcome,
        attempts=sum(by_step),
        by_step=by_step,
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        dollars=dollars_of(calls),
        seconds=sum(call.seconds for call in calls),
    )


def _standing(run: Run) -> tuple[FileRef, ...]:
    """The files that stand."""
    held: dict[str, FileRef] = {}
    for step in run.every_step:
        if (chosen := run.accepted(step.number)) is not None:
            held |= {file.path: file for file in run.attempts(step.number)[chosen].files}
    return tuple(held.values())
