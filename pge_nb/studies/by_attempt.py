"""How a judge does from attempt to attempt: its errors, its scores beside the true ones, and what retry-until-pass lets through.

A run that ends with the first attempt that passes shows survivors only: later attempts are there because the judge failed those
before them, so its apparent TPR falls although nothing changes. Only runs that went on whatever the verdicts (``keep_going``)
tell how it does by attempt.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ..calibration.estimate import CalibrationWarning, Estimate
from ..errors import PgeError
from ..frames import frame_of
from ..frames.columns import COUNT, NUMBER, TEXT, Columns
from ..phases import goes_on_for
from ..records import EvaluationReport
from ..run import Run
from .items import item_key, task_of
from .measuring import majority, reference_of, reference_rows
from .ratings import ratings
from .units import Graded

if TYPE_CHECKING:
    from pandas import DataFrame

    from .study import StudyView

Verdicts = list[tuple[str, bool]]
"""Of the attempts of a step: what is so, and whether it passed."""
NOT_KNOWN: Final = (math.nan, math.nan)
ALL: Final = "all attempts"
SURVIVORS: Final = "survivors only"
SEEN: Columns = {
    "run": TEXT,
    "task": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "among": TEXT,
    "verdict": TEXT,
    "overall": NUMBER,
    "truth": TEXT,
    "too_high": NUMBER,
}
"""A row an attempt. ``too_high``: the judge's scores on criteria less the true ones, their mean, in points."""
BY_ATTEMPT: Columns = {
    "among": TEXT,
    "attempt": COUNT,
    "figure": TEXT,
    "value": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "n": COUNT,
    "tasks": COUNT,
}
RETRIED: Columns = {
    "retries": COUNT,
    "figure": TEXT,
    "measured": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "predicted": NUMBER,
    "predicted_low": NUMBER,
    "predicted_high": NUMBER,
    "steps": COUNT,
}
BEST_OF: Columns = {"n": COUNT, "too_high": NUMBER, "low": NUMBER, "high": NUMBER, "steps": COUNT, "tasks": COUNT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Every attempt that a rater judged, with what is so. ``level`` is that of all intervals."""

    rows: tuple[tuple[object, ...], ...]
    level: float

    @property
    def seen(self) -> DataFrame:
        """A row an attempt, with the columns of `SEEN`."""
        return frame_of(SEEN, list(self.rows))

    @property
    def whole(self) -> DataFrame:
        """The attempts of runs that went on whatever the verdicts."""
        seen = self.seen
        return seen[seen["among"] == ALL]

    def by_attempt(self) -> DataFrame:
        """TPR, TNR and how much too high the scores are, by attempt; "survivors only" where runs ended with a pass."""
        rows = []
        at: Any
        for at, some in self.seen.groupby(["among", "attempt"], sort=True):
            among, attempt = at
            for name, kept, values in (
                ("tpr", some["truth"] == "pass", some["verdict"] == "pass"),
                ("tnr", some["truth"] == "fail", some["verdict"] != "pass"),
                ("too_high", some["too_high"].notna(), some["too_high"]),
            ):
                if kept.any():
                    found = _mean(list(values[kept].astype(float)), list(some[kept]["task"]), self.level, name)
                    counts = (int(kept.sum()), int(some[kept]["task"].nunique()))
                    rows.append((among, int(attempt), name, *found, *counts))
        return frame_of(BY_ATTEMPT, rows)

    def best_of(self) -> DataFrame:
        """How much too high the score is of the best of the first n attempts, chosen by that score: over-optimisation."""
        whole, rows = self.whole, []
        most = int(whole["attempt"].max()) if len(whole) else 0
        for n in range(1, most + 1):
            first = whole[(whole["attempt"] <= n) & whole["overall"].notna() & whole["too_high"].notna()]
            if not len(first):
                continue
            best = first.sort_values(["overall", "attempt"], ascending=[False, True], kind="stable")
            best = best.drop_duplicates(["run", "step"])
            found = _mean(list(best["too_high"]), list(best["task"]), self.level, "too_high")
            rows.append((n, *found, len(best), int(best["task"].nunique())))
        return frame_of(BEST_OF, rows)

    def retried(self) -> DataFrame:
        """What retry-until-pass lets through, as counted over attempts that were all made, and as predicted from error rates.

        ``accepted``: a step has an accepted attempt; ``bad_accepted``: that one is bad; both among all steps.
        """
        steps, tasks = self._verdicts()
        rows: list[tuple[object, ...]] = []
        for retries in range(max(map(len, steps), default=0)):
            told = [(step[: retries + 1], task) for step, task in zip(steps, tasks, strict=True) if len(step) > retries]
            among, theirs = [step for step, _ in told], [task for _, task in told]
            predicted = _predicted(among, retries)
            without = [
                _predicted([step for step, task in told if task != left_out], retries)
                for left_out in dict.fromkeys(theirs)
            ]
            firsts = [next((truth for truth, passed in step if passed), None) for step in among]
            for name, hits in (
                ("accepted", [first is not None for first in firsts]),
                ("bad_accepted", [first == "fail" for first in firsts]),
            ):
                found = _mean([float(hit) for hit in hits], theirs, self.level, "rate")

                # A prediction of 0 or 1 is what was measured, and no better known.
                ends = _jackknifed(name, predicted, without, self.level) or (
                    found[1:] if name in predicted else NOT_KNOWN
                )
                rows.append((retries, name, *found, predicted.get(name), *ends, len(among)))
        return frame_of(RETRIED, rows)

    def alike(self, truth: Literal["pass", "fail"]) -> Estimate:
        """`rho` of the attempts that are good, or bad, with the interval of `calibration.alike.alike_ends`."""
        from ..calibration.alike import alike_ends

        steps, tasks = self._verdicts()
        kinds = [[passed for word, passed in step if word == truth] for step in steps]
        value, (low, high) = (
            rho(steps, truth),
            alike_ends([sum(kind) for kind in kinds], [*map(len, kinds)], self.level),
        )
        return Estimate(
            value=value,
            low=min(low, value),
            high=max(high, value),
            level=self.level,
            method="profile likelihood, beta-binomial",
            n=sum(map(len, kinds)),
            groups=len(set(tasks)),
        )

    def _verdicts(self) -> tuple[list[Verdicts], list[str]]:
        """What is so and whether it passed, of the attempts of each step in their order; and the step's task."""
        known = self.whole[self.whole["truth"].notna()].sort_values("attempt", kind="stable")
        steps = [some for _, some in known.groupby(["run", "step"], sort=True)]
        told = [list(zip(some["truth"], some["verdict"] == "pass", strict=True)) for some in steps]
        return told, [str(some["task"].iloc[0]) for some in steps]


def attempts(
    runs: Run | Iterable[Run],
    rater: str,
    study: StudyView | None = None,
    graded: Iterable[Graded] = (),
    *,
    against: str = "",
    level: float = 0.95,
) -> Attempts:
    """Every attempt that a rater (its id) judged, at gates or in replays; of several gradings the first counts."""
    several = [runs] if isinstance(runs, Run) else list(runs)
    replays = list(graded)
    frame = ratings(several, study, replays)
    known = _reference(frame, reference_of(frame, against, rater))
    rows = [
        row
        for run in several
        for step in run.every_step
        for row in _of_step(run, step.number, _reports(run, step.number, rater, replays), known)
    ]
    return Attempts(rows=tuple(rows), level=level)


def _reports(run: Run, step: int, rater: str, graded: Sequence[Graded]) -> dict[int, EvaluationReport]:
    found = {attempt: report for attempt, report in run.evaluations(step).items() if report.rater == rater}
    for one in sorted(graded, key=lambda one: one.sample):
        if (one.run, one.step, one.rater) == (run.task.run, step, rater):
            found.setdefault(one.attempt, one.report)
    return dict(sorted(found.items()))


Truths = dict[str, tuple[str | None, float | None]]


def _reference(frame: DataFrame, against: str) -> Truths:
    """Item -> what the reference says of it, and its score."""
    told: Truths = {}
    for item, rows in reference_rows(frame, against).groupby("item", sort=False):
        score = float(rows["score"].mean()) if rows["score"].notna().any() else None
        told[str(item)] = (majority(rows["label"]), score)
    return told


def _of_step(run: Run, step: int, reports: dict[int, EvaluationReport], known: Truths) -> Iterator[tuple[object, ...]]:
    among = ALL if goes_on_for(run.settings) else SURVIVORS
    for attempt, report in reports.items():

        def told(on: str, of: str = report.attempt_hash) -> tuple[str | None, float | None]:
            return known.get(item_key(run.task.run, step, of, on), (None, None))

        gaps = [
            finding.score - true
            for finding in report.findings
            if finding.about == "criterion" and finding.score is not None and (true := told(finding.on)[1]) is not None
        ]
        too_high = sum(gaps) / len(gaps) if gaps else None
        at = (run.task.run, task_of(run), step, attempt, among)
        yield (*at, report.verdict, report.overall, told("")[0], too_high)


def _mean(values: list[float], tasks: list[str], level: float, name: str) -> tuple[float, float, float]:
    from ..calibration import percent_agreement, signed_error

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        try:
            found: Estimate
            if name == "too_high":
                found = signed_error([0.0] * len(values), values, level=level, groups=tasks)
            else:
                found = percent_agreement([1.0] * len(values), values, level=level, groups=tasks)
        except PgeError:
            return (sum(values) / len(values) if values else math.nan, math.nan, math.nan)
    ends = (found.low, found.high) if math.isfinite(found.low) and math.isfinite(found.high) else (math.nan, math.nan)
    return found.value, *ends


def _jackknifed(
    name: str, predicted: Mapping[str, float], without: Sequence[Mapping[str, float]], level: float
) -> tuple[float, float] | None:
    """Interval of a predicted share, ``without`` each task in turn (Tukey 1958), on the logit; t(tasks - 1)."""
    import numpy as np

    from ..calibration.intervals import fisher_jackknife, quantile

    replicates = np.array([one.get(name, math.nan) for one in without])
    return fisher_jackknife(predicted.get(name, math.nan), replicates, quantile(level, len(without)), low=0.0)


def _predicted(steps: Sequence[Verdicts], retries: int) -> dict[str, float]:
    """By `calibration.pass_after_retries`, from rates and correlations over all attempts of these steps."""
    from ..calibration import pass_after_retries

    every = [pair for step in steps for pair in step]
    good, bad = ([passed for truth, passed in every if truth == word] for word in ("pass", "fail"))
    if not good or not bad:
        return {}
    tpr, false_pass = sum(good) / len(good), sum(bad) / len(bad)
    quality = []
    for attempt in range(retries + 1):
        left = [step[attempt][0] == "pass" for step in steps if not any(passed for _, passed in step[:attempt])]
        quality.append(sum(left) / len(left) if left else 0.0)
    found = pass_after_retries(
        tpr, 1 - false_pass, quality, retries, rho_good=rho(steps, "pass"), rho_bad=rho(steps, "fail")
    )
    return {"accepted": found.p_accepted, "bad_accepted": found.p_bad_accepted}


def rho(steps: Sequence[Verdicts], truth: str) -> float:
    """How alike verdicts are on different attempts of one step that are all good, or all bad: 0 to 1.

    The intraclass correlation by pairs (Fisher 1925; for steps of unequal size Karlin, Cameron & Williams 1981): mean product of
    deviations over all pairs within steps, over the variance m (1 - m). Without pairs, or with one verdict alone, 0.
    """
    kinds = [[float(passed) for word, passed in step if word == truth] for step in steps]
    every = [passed for kind in kinds for passed in kind]
    pairs = sum(len(kind) * (len(kind) - 1) for kind in kinds)
    mean = sum(every) / len(every) if every else 0.0
    if not pairs or not 0.0 < mean < 1.0:
        return 0.0
    products = sum(sum(x - mean for x in kind) ** 2 - sum((x - mean) ** 2 for x in kind) for kind in kinds)
    return min(1.0, max(0.0, products / pairs / (mean * (1 - mean))))
