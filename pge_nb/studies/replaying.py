"""Replay: every kept attempt is graded again by other raters, without touching its run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..agents.frozen import Frozen, freeze, with_log
from ..agents.raters import rater_of
from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, NUMBER, TEXT, Columns
from ..frames.costs import dollars_of
from ..models import Model
from ..models.batches import Batches
from ..models.choose import RECORDING, is_practice
from ..models.claude import Claude
from ..models.limits import Limits, Prices
from ..prose import counted
from ..records import EvaluationReport, Usage
from ..run import Run
from ..study_records import Rater, Study
from ..workspace import Objects
from .grading import graded_all
from .study import StudyFile, open_study
from .units import Graded, Units, graded_of, name_of

if TYPE_CHECKING:
    from pandas import DataFrame

KIND: Final = "regrade"
MOST_REPEATS = 100
REPLY_TOKENS = 1_500
"""Of a grading, where the gate's own cannot tell."""

GRADED: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "rater": TEXT,
    "repeat": COUNT,
    "verdict": TEXT,
    "overall": NUMBER,
    "gate": TEXT,
    "flipped": TEXT,
    "tokens": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "error": TEXT,
}
"""The columns of `Regraded.frame`."""
EFFECTS: Columns = {
    "rater": TEXT,
    "repeat": COUNT,
    "attempts": COUNT,
    "flipped": COUNT,
    "pass_to_fail": COUNT,
    "fail_to_pass": COUNT,
    "unmeasured": COUNT,
    "retries_saved": COUNT,
    "retries_added": COUNT,
    "tokens": COUNT,
    "dollars": NUMBER,
}
"""The columns of `Regraded.effects`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One grading to be made: an attempt, a rater, and which repeat (from 0)."""

    frozen: Frozen
    rater: Rater
    sample: int
    gate: EvaluationReport

    @property
    def name(self) -> str:
        """The unit's name: all that the reply depends on is in it."""
        one = self.frozen
        return name_of([KIND, one.run, one.step, one.attempt, self.rater.id, self.sample, one.attempt_hash, one.brief])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What a replay will take: gradings that are not there yet, likely tokens and dollars (None: a model has no price)."""

    there: int
    units: int
    tokens: int
    dollars: float | None

    def __str__(self) -> str:
        cost = "" if self.dollars is None else f", likely ${self.dollars:.2f}"
        there = f"; {self.there:,} are there already" if self.there else ""
        return f"{counted(self.units, 'grading')} to make, likely {self.tokens:,} tokens{cost}{there}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Regraded:
    """What a replay came to. ``failed`` holds what could not be graded and why; ``stopped`` why it ended early, empty if not."""

    asked: tuple[Asked, ...]
    graded: tuple[Graded, ...]
    failed: tuple[tuple[Asked, str], ...]
    stopped: str = ""

    def frame(self) -> DataFrame:
        """A row a grading, those that failed with their error. ``flipped`` is "pass to fail", say, where the gate said other."""
        return frame_of(GRADED, [_row(one, self._report(one), self._error(one)) for one in self.asked])

    def effects(self) -> DataFrame:
        """A row a rater and repeat: flipped verdicts, and the retries that it would have saved or added at the gate.

        Retries are counted within steps over the attempts that were made: saved where it passes one before the gate's last,
        added (at least one) where it passes none of them although the gate passed the last.
        """
        rows = []
        for rater, sample in dict.fromkeys((one.rater.id, one.sample) for one in self.asked):
            mine = [one for one in self.asked if (one.rater.id, one.sample) == (rater, sample)]
            told = [(one, report) for one in mine if (report := self._report(one)) is not None]
            flips = [_flip(one.gate.verdict, report.verdict) for one, report in told]
            saved, added = _retries(told)
            usage = [call for _, report in told for call in report.calls]
            rows.append(
                (
                    *(rater, sample + 1, len(told), sum(map(bool, flips))),
                    *(flips.count("pass to fail"), flips.count("fail to pass")),
                    *(sum(report.verdict == "unmeasured" for _, report in told), saved, added),
                    *(sum(call.usage.total for call in usage), dollars_of(usage)),
                )
            )
        return frame_of(EFFECTS, rows)

    def _report(self, asked: Asked) -> EvaluationReport | None:
        return self._reports().get(
            (asked.frozen.run, asked.frozen.step, asked.frozen.attempt, asked.rater.id, asked.sample)
        )

    def _reports(self) -> dict[tuple[str, int, int, str, int], EvaluationReport]:
        return {(one.run, one.step, one.attempt, one.rater, one.sample): one.report for one in self.graded}

    def _error(self, asked: Asked) -> str | None:
        return next((why for one, why in self.failed if one is asked), None)


def asked_of(runs: Iterable[Run], raters: Sequence[Rater], *, repeats: int = 1) -> tuple[Asked, ...]:
    """The gradings that a replay consists of: every attempt that was evaluated under the contract in force, by every rater.

    ``BadInput`` where there is nothing to grade, or a run was not opened from a file: its artifacts stand beside it.
    """
    if not 1 <= repeats <= MOST_REPEATS:
        raise BadInput(f"repeats is {repeats!r}.", f"Give a whole number from 1 to {MOST_REPEATS}.")
    if not raters:
        raise BadInput("No rater was named.", "%pge rater lists those there are.")
    found = tuple(
        Asked(frozen=as_seen(run, frozen, rater), rater=rater, sample=sample, gate=gate)
        for run in runs
        for frozen, gate in _attempts(run)
        for rater in raters
        for sample in range(repeats)
    )
    if not found:
        raise BadInput("No attempt was evaluated yet.", "%pge run first, then grade it again.")
    return found


def as_seen(run: Run, frozen: Frozen, rater: Rater) -> Frozen:
    """What this rater is asked of the attempt: one with the log is told of those before it."""
    seen = frozen.seen_by(rater)
    return with_log(seen, run, frozen.attempt - 1, Objects(run.root or Path())) if rater.logged else seen


def _attempts(run: Run) -> Iterator[tuple[Frozen, EvaluationReport]]:
    if run.root is None:
        raise BadInput("This run was not opened from a file.", "Open it with open_run(PATH).")
    objects = Objects(run.root)
    for step in run.every_step:
        for attempt, report in run.evaluations(step.number).items():
            yield freeze(run, step.number, attempt, objects), report


def ahead(study: StudyFile, asked: Sequence[Asked], prices: Prices | None = None) -> Ahead:
    """What is still to be made of a replay, and what it will likely take: the input that is sent, and replies as the gate's."""
    prices = prices or Prices.load()
    units = Units(study.directory, KIND)
    missing = [one for one in asked if one.frozen.docket.ids and units.get(one.name) is None]
    there = sum(units.get(one.name) is not None for one in asked)
    tokens, dollars = 0, 0.0
    unpriced = False
    for one in missing:
        replies = [call.usage.output_tokens for call in one.gate.calls]
        usage = Usage(
            input_tokens=one.frozen.request(one.rater, one.sample).input_bytes // 4,
            output_tokens=sum(replies) if replies else REPLY_TOKENS,
        )
        cost = prices.cost(one.rater.model, usage)
        tokens, dollars, unpriced = tokens + usage.total, dollars + (cost or 0.0), unpriced or cost is None
    return Ahead(there=there, units=len(missing), tokens=tokens, dollars=None if unpriced else dollars)


def regrade(
    study: StudyFile,
    asked: Sequence[Asked],
    *,
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
    told: Callable[[int, int], None] | None = None,
    batches: Batches | None = None,
) -> Regraded:
    """Make the gradings that are not there yet, up to ``parallel`` at a time; each is kept when it is made.

    ``model`` stands in for every rater's. ``limits`` bind all calls of the studies of this directory together. ``told`` is given
    how many are done, and of how many. A limit, or an interruption (which is raised), ends it with what was made kept; the same
    call goes on from there. ``batches``: ask in batches, at half the price, as in `graded_all`.
    """
    if batches is not None:
        check_batches(asked)
    done = graded_all(study, KIND, asked, model=model, limits=limits, parallel=parallel, told=told, batches=batches)
    if done.new:
        what = {"raters": sorted({one.rater.id for one in asked}), "runs": sorted({one.frozen.run for one in asked})}
        hash_ = Units(study.directory, KIND).sha256()
        put = Study(study=KIND, asked=what, units=len(done.graded), failed=len(done.failed), sha256=hash_)
        study.add(put, by="harness")
    return Regraded(
        asked=tuple(asked),
        graded=tuple(done.graded[one.name] for one in asked if one.name in done.graded),
        failed=tuple((one, done.failed[one.name]) for one in asked if one.name in done.failed),
        stopped=done.stopped,
    )


def regrade_runs(
    runs: Run | Iterable[Run],
    raters: Rater | Iterable[Rater],
    *,
    repeats: int = 1,
    directory: Path | str = ".",
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
    batch: bool = False,
) -> Regraded:
    """Grade every kept attempt of the runs again by other raters, ``repeats`` times each; the runs are not touched.

    What is made is kept beside the ``study.md`` of ``directory`` and never asked for again. ``batch``: half the price, replies
    within a day; called again after a restart, it asks for those of the batches that were sent. The rest is as in `regrade`.
    """
    asked = asked_of(
        [runs] if isinstance(runs, Run) else list(runs),
        [raters] if isinstance(raters, Rater) else list(raters),
        repeats=repeats,
    )
    batches = batches_of(model) if batch else None
    study = open_study(Path(directory))
    return regrade(study, asked, model=model, limits=limits, parallel=parallel, batches=batches)


def batches_of(model: Model | None = None) -> Batches:
    """The batches of a Claude model; of the environment's where none is given."""
    return Batches(model if isinstance(model, Claude) else Claude())


def check_batches(asked: Sequence[Asked]) -> None:
    """``BadInput`` where a judge is of no model that takes batches."""
    for name in {one.rater.model for one in asked}:
        if is_practice(name) or name.startswith(RECORDING):
            raise BadInput(f"The model {name} takes no batches.", "Leave out batch: it answers at once.")


def kept(study: StudyFile) -> Iterator[Graded]:
    """Every grading that is kept beside a study file, in the order of the units' names."""
    for _, outcome in Units(study.directory, KIND):
        if (one := graded_of(outcome)) is not None:
            yield one


def gate_raters(runs: Iterable[Run]) -> tuple[Rater, ...]:
    """The judges of the runs' gates, each once."""
    return tuple({rater.id: rater for rater in (rater_of(run.settings) for run in runs)}.values())


def _row(one: Asked, report: EvaluationReport | None, error: str | None) -> tuple[object, ...]:
    frozen, gate = one.frozen, one.gate
    head = (frozen.run, frozen.step, frozen.attempt, one.rater.id, one.sample + 1)
    if report is None:
        return (*head, None, None, gate.verdict, None, None, None, None, error)
    return (
        *head,
        *(report.verdict, report.overall, gate.verdict, _flip(gate.verdict, report.verdict) or None),
        sum(call.usage.total for call in report.calls),
        dollars_of(report.calls),
        *(sum(call.seconds for call in report.calls), error),
    )


def _flip(gate: str, other: str) -> str:
    return "" if gate == other else f"{gate} to {other}"


def _retries(told: Sequence[tuple[Asked, EvaluationReport]]) -> tuple[int, int]:
    """Retries saved and added, summed over steps."""
    steps: dict[tuple[str, int], list[tuple[int, str, str]]] = {}
    for one, report in told:
        steps.setdefault((one.frozen.run, one.frozen.step), []).append(
            (one.frozen.attempt, one.gate.verdict, report.verdict)
        )
    saved = added = 0
    for attempts in steps.values():
        attempts.sort()
        passed = next((n for n, (_, _, verdict) in enumerate(attempts) if verdict == "pass"), None)
        if passed is not None:
            saved += len(attempts) - 1 - passed
        elif attempts[-1][1] == "pass":
            added += 1
    return saved, added
