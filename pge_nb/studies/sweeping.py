"""A sweep: a grid of tasks, configurations, raters and seeds, carried out on any executor, here or on other machines.

A unit carries its input by value, and gives its work by value: the state file and all files of the run, as bytes. So no disk is
shared, and it is the same wherever it is made. The driver alone keeps what is finished. A unit of the first kind carries a task
out; one of the second has a rater grade every attempt of such a run again. What a driver had not kept when it was killed is made
again, and nothing else.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from filelock import FileLock, Timeout

from .. import bank
from ..bank.whole import whole_truth
from ..config import HarnessConfig
from ..errors import BadInput, PgeError, StateBusy
from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..frames.costs import dollars_of
from ..harness import PGEHarness
from ..models import Stop
from ..models.choose import default_model, is_practice, models_in
from ..models.ledger import spent_in
from ..models.limits import DEFAULT_DOLLARS, Limits, Prices, dollars_up
from ..models.practice import PracticeSettings
from ..payloads import Json, Misfit, compact, decode, encode
from ..prose import counted
from ..run import Run
from ..state import open_run
from ..study_records import Rater, Study
from .grading import CALLS
from .pool import carried_out
from .replaying import asked_of, regrade
from .study import StudyFile, open_study
from .units import FOLDER, name_of, read_as
from .works import Works, packed, row_of, unpacked

if TYPE_CHECKING:
    from pandas import DataFrame

KIND: Final = "sweep"
STATE = "shared_state.md"
GATE = "gate"
"""Stands in the frame for the judge of the run itself."""
UNDER_WAY = 64
"""Units that are handed to an executor of one's own at a time, so that memory stays bounded however many there are."""
HERE = 4
"""Units at a time in threads of this process."""
REDRAWN_SECONDS = 0.5

SWEEP: Columns = {
    "task": TEXT,
    "config": TEXT,
    "seed": COUNT,
    "rater": TEXT,
    "run": TEXT,
    "outcome": TEXT,
    "sound": FLAG,
    "quality": NUMBER,
    "steps": COUNT,
    "attempts": COUNT,
    "passed": COUNT,
    "flipped": COUNT,
    "calls": COUNT,
    "tokens": COUNT,
    "dollars": NUMBER,
    "error": TEXT,
}
"""The columns of `Swept.frame`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One run to be carried out, or (with a ``rater``) the grading of its attempts by another judge: all of it by value."""

    task: str
    config: str
    settings: Mapping[str, Json]
    seed: int
    rater: Rater | None = None

    @property
    def name(self) -> str:
        """The name under which its work is kept: a hash of all that it depends on. The configuration's name is no part of it."""
        by = self.rater.id if self.rater else ""
        return name_of([KIND, self.task, dict(sorted(self.settings.items())), self.seed, by])

    @property
    def of(self) -> Unit:
        """The run that is graded again."""
        return replace(self, rater=None)

    @property
    def prompt(self) -> str:
        """The prompt: that of a practice task, or the task's own words."""
        return self.task if " " in self.task.strip() else bank.practice_task(self.task).prompt

    def at(self, state: Path) -> HarnessConfig:
        """The configuration of the run, its state file at ``state``.

        A practice model takes the seed; for another one it only tells repeats apart.
        """
        given: dict[str, Any] = {name: _as_set(value) for name, value in self.settings.items()}
        given["model"] = _seeded(given.get("model") or "practice", self.seed)
        given["models"] = {role: _seeded(model, self.seed) for role, model in (given.get("models") or {}).items()}
        if given.get("rater"):
            given["rater"] = decode(Rater, self.settings["rater"])
        return HarnessConfig(registry="off", shared_state_path=state, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What a unit came to. ``passed`` counts the attempts that the rater passed, ``flipped`` those where it and the gate differ.

    ``dollars`` is None where a model has no price. ``sound`` and ``quality`` are the bank's word on what stands; None where it
    knows none.
    """

    run: str = ""
    outcome: str = "failed"
    sound: bool | None = None
    quality: float | None = None
    steps: int = 0
    attempts: int = 0
    passed: int = 0
    flipped: int = 0
    calls: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a sweep is. ``left`` is in seconds; None until it can be told."""

    done: int
    total: int
    failed: int
    left: float | None

    def __str__(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        left = "" if self.left is None or self.done == self.total else f", about {_lasting(self.left)} left"
        return f"{self.done:,} of {counted(self.total, 'unit')}{failed}{left}"


Told = Callable[[Standing], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What became of the units, in the order of the grid, however they were made. ``stopped`` says why it ended early."""

    directory: Path
    came: tuple[tuple[Unit, Came], ...]
    stopped: str = ""

    def frame(self) -> DataFrame:
        """A row a task, configuration, seed and rater: the same to the byte for any executor and any order of completion."""
        return frame_of(SWEEP, [_row(unit, one) for unit, one in self.came])

    def seconds(self) -> DataFrame:
        """How long each unit took. It differs from one machine to the next, and so stands apart from the frame."""
        columns: Columns = {"task": TEXT, "config": TEXT, "seed": COUNT, "rater": TEXT, "seconds": NUMBER}
        return frame_of(columns, [(*_row(unit, one)[:4], one.seconds) for unit, one in self.came])

    def save(self, path: Path | str) -> Path:
        """Write the frame as Parquet or CSV, by the ending of ``path``. ``BadInput`` for another one."""
        path = Path(path)
        if path.suffix == ".csv":
            self.frame().to_csv(path, index=False, lineterminator="\n")
        elif path.suffix == ".parquet":
            try:
                self.frame().to_parquet(path, index=False, engine="pyarrow")
            except ImportError:
                raise BadInput(
                    "Parquet needs pyarrow.", 'Install it (pip install "pge_nb[scale]"), or save CSV.'
                ) from None
        else:
            raise BadInput(f"{path.name} is neither Parquet nor CSV.", "Name a file that ends in .parquet or .csv.")
        return path

    def run(self, task: str, config: str, seed: int, to: Path | str) -> Run:
        """Lay one run's files out in the directory ``to``, and open it. ``BadInput`` where it is not finished."""
        where = (task, config, seed)
        found = [unit for unit, _ in self.came if (unit.task, unit.config, unit.seed) == where and unit.rater is None]
        work = Works(self.directory, KIND).get(found[0].name) if found else None
        if work is None:
            raise BadInput(
                f"There is no finished run of {task}, {config}, seed {seed}.", "frame() lists those there are."
            )
        unpacked(work, Path(to))
        return open_run(Path(to) / STATE)


def units_of(
    tasks: Sequence[str], configs: Mapping[str, Mapping[str, Any]], raters: Sequence[Rater], seeds: Iterable[int]
) -> tuple[Unit, ...]:
    """The grid, in its order: by task, configuration and seed, the run itself first and then its raters.

    ``BadInput`` for a task that is neither in the bank nor a sentence, a setting that there is not, or one that is no value.
    """
    if not tasks or not configs:
        raise BadInput("A sweep needs tasks and configurations.", 'sweep(["stats"], {"plain": {}}), say.')
    given: dict[str, Mapping[str, Json]] = {}
    for name, settings in configs.items():
        try:
            given[name] = {key: encode(value) for key, value in {"model": default_model({}), **settings}.items()}
            compact(given[name])
        except (TypeError, ValueError):
            raise BadInput(
                f"The configuration {name!r} holds something that cannot be sent to another machine.",
                "Give settings as numbers, words, lists and mappings: units travel by value.",
            ) from None
    grid = tuple(
        Unit(task=task, config=name, settings=settings, seed=seed, rater=rater)
        for task in dict.fromkeys(tasks)
        for name, settings in given.items()
        for seed in dict.fromkeys(seeds)
        for rater in (None, *raters)
    )
    for one in {(unit.task, unit.config): unit for unit in grid}.values():
        try:
            one.at(Path(STATE).absolute())
        except (TypeError, Misfit) as error:
            raise BadInput(
                f"The configuration {one.config!r} cannot be used: {error}.", "HarnessConfig has them."
            ) from None
        _ = one.prompt
    return grid


def sweep(
    tasks: Sequence[str],
    configs: Mapping[str, Mapping[str, Any]],
    raters: Sequence[Rater] = (),
    seeds: Iterable[int] = (0,),
    *,
    executor: Executor | None = None,
    parallel: int | None = None,
    directory: Path | str = ".",
    limit: int | None = None,
    budget: float | None = None,
    told: Told | None = None,
) -> Swept:
    """Carry every task out under every configuration and seed, and have every rater grade what came of it.

    ``tasks`` are practice tasks by name, or prompts; ``configs`` settings of `HarnessConfig` by a name of one's own.
    ``executor`` is any of ``concurrent.futures`` (None: threads here); a Dask client's is ``client.get_executor()``; at most
    ``parallel`` units are handed to it at a time. What is finished is kept beside the ``study.md`` of ``directory``, and the
    same call goes on from there after anything: an interruption, a dead worker, a killed driver. A unit that failed is a row
    with its error, and the next call goes on with it.

    ``limit``: so many units are made by this call at most. ``budget``: so many dollars by all calls for this store together, what
    was under way when a driver was killed counted in full. ``told`` is given how far it is; None draws a line where there is a
    terminal or a notebook to see it.
    """
    seeds, raters = tuple(seeds), tuple(raters)
    grid = units_of(tasks, configs, raters, seeds)
    study = open_study(Path(directory))
    works = Works(study.directory, KIND)
    works.folder.mkdir(parents=True, exist_ok=True)
    if raters:
        study.keep(*raters)
    try:
        with FileLock(works.folder / "driver.lock", timeout=0):
            driver = _Driver(works, grid, limit=limit, budget=budget, told=told or Line())
            swept = driver.swept(executor, parallel or (HERE if executor is None else UNDER_WAY))
    except Timeout:
        raise StateBusy("Another process drives this sweep.", "Wait for it, or name another directory.") from None
    asked = {"tasks": [*tasks], "configs": [*configs], "raters": [one.id for one in raters], "seeds": [*seeds]}
    _put_down(study, swept, encode(asked))
    return swept


def _put_down(study: StudyFile, swept: Swept, asked: Json) -> None:
    """Once a sweep is whole, the study file tells of it, once."""
    failed = sum(bool(one.error) for _, one in swept.came)
    digest = name_of([[unit.name, encode(replace(one, seconds=0.0))] for unit, one in swept.came])
    assert isinstance(asked, dict)  # noqa: S101
    put = Study(study=KIND, asked=asked, units=len(swept.came), failed=failed, sha256=digest)
    if not swept.stopped and put not in study.read().studies:
        study.add(put, by="harness")


class _Driver:
    """Hands units out, keeps what they come to, and holds the budget. One at a time for a store."""

    def __init__(
        self, works: Works, grid: Sequence[Unit], *, limit: int | None, budget: float | None, told: Told
    ) -> None:
        self.works, self.grid, self.told = works, grid, told
        self.left = len(grid) if limit is None else limit
        self.budget, self.prices = budget, Prices.load()
        if budget is not None:
            names = {model for unit in grid for model in _models(unit)}
            Limits(max_dollars=budget).check_models(names, self.prices)
        self.found = {unit.name: one for unit in grid if (one := read_as(Came, works.row(unit.name))) is not None}
        self.failed = sum(bool(one.error) for one in self.found.values())
        self.spent = sum(one.dollars or 0.0 for one in self.found.values())
        self.reserved = dict(works.begun())
        self.total = len({unit.name for unit in grid})
        self.stopped, self.began, self.made = "", time.monotonic(), 0

    def swept(self, executor: Executor | None, parallel: int) -> Swept:
        """Runs first; then what raters say of those that are there."""
        self._carry_out([unit for unit in self.grid if unit.rater is None], executor, parallel)
        if not self.stopped:
            graded = [unit for unit in self.grid if unit.rater is not None and self._whole(unit.of)]
            self._carry_out(graded, executor, parallel)
        came = tuple((unit, one) for unit in self.grid if (one := self.found.get(unit.name)) is not None)
        return Swept(directory=self.works.folder.parents[2], came=came, stopped=self.stopped)

    def _carry_out(self, units: Sequence[Unit], executor: Executor | None, parallel: int) -> None:
        ended = Event()
        # What two configurations have in common is made once.
        waiting = list({unit.name: unit for unit in units if not self._whole(unit)}.values())
        stop = ended.is_set if executor is None else None
        jobs = ((unit.name, unit, self._input(unit)) for unit in waiting)
        for (name, unit, _), outcome in carried_out(
            jobs, partial(_job, stop=stop), parallel=parallel, ended=ended, executor=executor, fits=self._fits
        ):
            if isinstance(outcome, PgeError):
                self._failed(name, outcome, ended=ended.is_set())
            else:
                self._kept(unit, outcome)
            self._tell()
        if not self.stopped and any(unit.name not in self.found for unit in waiting):
            self.stopped = self._why_early(waiting)

    def _whole(self, unit: Unit) -> bool:
        one = self.found.get(unit.name)
        return one is not None and not one.error

    def _input(self, unit: Unit) -> bytes | None:
        """What a unit goes on from: what it had paid for when it failed, else the run that is to be graded."""
        return self.works.get(unit.name) or (self.works.get(unit.of.name) if unit.rater else None)

    def _fits(self, job: tuple[str, Unit, bytes | None]) -> bool:
        name, unit, _ = job
        most = self._most(unit)
        others = sum(dollars for other, dollars in self.reserved.items() if other != name)
        if self.left <= 0 or (self.budget is not None and most and self.spent + others + most > self.budget):
            return False
        self.left -= 1
        if most:
            self.reserved[name] = max(most, self.reserved.get(name, 0.0))
            self.works.begin(name, self.reserved[name])
        return True

    def _most(self, unit: Unit) -> float:
        if not self.prices.bind(_models(unit)):
            return 0.0
        limit = unit.settings.get("max_dollars")
        return float(limit) if isinstance(limit, int | float) else DEFAULT_DOLLARS

    def _kept(self, unit: Unit, work: bytes) -> None:
        one = read_as(Came, row_of(work))
        assert one is not None  # noqa: S101 - it was packed by this version
        self.works.put(unit.name, work)
        self.works.end(unit.name)
        self.reserved.pop(unit.name, None)
        self._take(unit.name, one)
        self.made += 1

    def _take(self, name: str, one: Came) -> None:
        """Count a unit, in place of what it had come to before: a run that failed holds its earlier calls too."""
        was = self.found.get(name)
        self.failed += bool(one.error) - bool(was and was.error)
        self.spent += (one.dollars or 0.0) - ((was.dollars or 0.0) if was else 0.0)
        self.found[name] = one

    def _failed(self, name: str, error: PgeError, *, ended: bool) -> None:
        """A unit whose worker died has nothing to keep; what it may have cost stays counted."""
        if ended:
            self.stopped = self.stopped or f"{error.fact} {error.next_move}"
        else:
            self._take(name, Came(error=error.fact))

    def _why_early(self, waiting: Sequence[Unit]) -> str:
        if self.left <= 0:
            return "The limit on units is reached. The same call goes on from there."
        most = max(self._most(unit) for unit in waiting if unit.name not in self.found)
        held = self.spent + sum(self.reserved.values())
        return (
            f"The next unit could cost {most:.2f} dollars; {held:.2f} of {self.budget or 0.0:g} are spent or reserved. "
            f"Go on with budget={dollars_up(held + most)}, or with a lower max_dollars for each run."
        )

    def _tell(self) -> None:
        done = len(self.found)
        pace = (time.monotonic() - self.began) / max(1, self.made)
        left = pace * (self.total - done) if self.made else None
        self.told(Standing(done=done, total=self.total, failed=self.failed, left=left))


class Line:
    """Draws how far a sweep is, in place, where somebody can see it: a terminal, or the cell of a notebook."""

    def __init__(self) -> None:
        self._drawn = 0.0

    def __call__(self, standing: Standing) -> None:
        """Draw it, unless it was drawn a moment ago."""
        now, ends = time.monotonic(), standing.done == standing.total
        if not ends and now - self._drawn < REDRAWN_SECONDS:
            return
        self._drawn = now
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            sys.stderr.write(f"\r{standing!s:<78}" + ("\n" if ends else ""))
            sys.stderr.flush()


# On a worker


def _job(job: tuple[str, Unit, bytes | None], stop: Stop | None = None) -> bytes:
    _, unit, given = job
    return carried(unit, given, stop=stop)


def carried(unit: Unit, given: bytes | None = None, *, stop: Stop | None = None) -> bytes:
    """Carry one unit out in a directory of its own, and give its work. What goes wrong is in it, with all that was paid for."""
    with tempfile.TemporaryDirectory(prefix="pge-sweep-") as place:
        root = Path(place)
        if given is not None:
            unpacked(given, root)
        try:
            came = _regraded(unit, unit.rater, root) if unit.rater else _run(unit, root, stop)
        except PgeError as error:
            came = Came(error=error.fact)
        except Exception as error:  # A row, whatever it is: 9,999 others go on.
            came = Came(error=f"{type(error).__name__}: {error}")
        if came.error:
            spent = spent_in(root / (CALLS if unit.rater else Path(".pge", "calls.jsonl")))
            came = replace(came, calls=spent.calls, tokens=spent.tokens, dollars=spent.dollars)
        # The run that was graded is kept already; what is gone on with needs it.
        return packed(root, encode(came), only=(FOLDER,) if unit.rater and not came.error else ())


def _run(unit: Unit, root: Path, stop: Stop | None) -> Came:
    began = time.monotonic()
    config = unit.at(root / STATE)
    PGEHarness(config, stop=stop).run(unit.prompt)
    run = open_run(root / STATE)
    reports = [report for step in run.every_step for report in run.evaluations(step.number).values()]
    files = {file.path: file for step in run.every_step for file in run.outputs(step.number)}
    known = whole_truth(unit.task, tuple(files.values())) if run.task.practice and files else None
    return Came(
        run=run.task.run,
        outcome=run.outcome,
        sound=None if known is None else not known.defects,
        quality=sum(known.quality.values()) / len(known.quality) if known and known.quality else None,
        steps=len(run.every_step),
        attempts=sum(len(run.attempts(step.number)) for step in run.every_step),
        passed=sum(report.verdict == "pass" for report in reports),
        calls=len(run.calls),
        tokens=sum(call.usage.total for call in run.calls),
        dollars=dollars_of(run.calls),
        seconds=time.monotonic() - began,
    )


def _regraded(unit: Unit, rater: Rater, root: Path) -> Came:
    began = time.monotonic()
    run = open_run(root / STATE)
    limit = unit.settings.get("max_dollars")
    limits = Limits(max_dollars=float(limit)) if isinstance(limit, int | float) else None
    rater = replace(rater, model=_seeded(rater.model, unit.seed))
    done = regrade(open_study(root), asked_of([run], [rater]), limits=limits, parallel=1)
    reports = [one.report for one in done.graded]
    calls = [call for report in reports for call in report.calls]
    failed = [why for _, why in done.failed]
    return Came(
        run=run.task.run,
        outcome=run.outcome,
        steps=len(run.every_step),
        attempts=len(reports),
        passed=sum(report.verdict == "pass" for report in reports),
        flipped=int(done.effects()["flipped"].sum()),
        calls=len(calls),
        tokens=sum(call.usage.total for call in calls),
        dollars=dollars_of(calls),
        seconds=time.monotonic() - began,
        error=done.stopped or (failed[0] if failed else ""),
    )


# Small things


def _row(unit: Unit, one: Came) -> tuple[object, ...]:
    return (
        *(unit.task, unit.config, unit.seed, (unit.rater.name or unit.rater.id) if unit.rater else GATE),
        *(one.run or None, one.outcome, one.sound, one.quality, one.steps, one.attempts, one.passed, one.flipped),
        *(one.calls, one.tokens, one.dollars, one.error or None),
    )


def _models(unit: Unit) -> Iterator[str]:
    if unit.rater:
        yield unit.rater.model
    else:
        yield from models_in(unit.at(Path(STATE).absolute()).settings())


def _seeded(model: str, seed: int) -> str:
    """The model with the seed of its unit, where it is a practice model."""
    return replace(PracticeSettings.parse(model), seed=seed).model_name if is_practice(model) else model


def _as_set(value: Json) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
