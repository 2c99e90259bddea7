"""Ratings: long data about raters, a row for each verdict of one rater on one item. What every figure is computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..records import EvaluationReport
from ..run import Run
from .items import ORACLE, Item, item_key, items, judged, truth_of
from .study import StudyView
from .units import Graded

if TYPE_CHECKING:
    from pandas import DataFrame

PURPOSES = ("gate", "kept", "drift", "noise")

RATINGS: Columns = {
    "run": TEXT,
    "task": TEXT,
    "step": COUNT,
    "step_kind": TEXT,
    "attempt": COUNT,
    "item": TEXT,
    "on": TEXT,
    "about": TEXT,
    "kind": TEXT,
    "rater": TEXT,
    "who": TEXT,
    "label": TEXT,
    "score": NUMBER,
    "threshold": NUMBER,
    "repeat": COUNT,
    "purpose": TEXT,
    "by": TEXT,
    "verdict_shown": FLAG,
    "weight": NUMBER,
}
"""The columns of `ratings`."""


def ratings(
    runs: Run | Iterable[Run],
    study: StudyView | None = None,
    graded: Iterable[Graded] = (),
    *,
    oracle: bool = True,
) -> DataFrame:
    """Every verdict on the items of the runs, a row each.

    ``item`` names what was judged (run, step, attempt hash, check or criterion; "*": the whole attempt), ``about`` is check,
    criterion or attempt, ``kind`` the review method of a check. ``rater`` is a judge's id, a person's name or "oracle", ``who``
    tells which. ``label`` is pass, fail or unmeasured (a person's "unclear" too). ``by`` is what decided: judge, a review
    method, a person, the oracle; of a whole attempt "gate". ``repeat`` counts from 1 a rater's verdicts on an item; ``purpose``
    is gate, kept, drift, noise, regrade or label. ``weight`` is 1 / probability of having been chosen. Group by ``task``.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    known = {item.key: item for item in items(several)}
    rows = list(_rows(several, known, study, tuple(graded), oracle=oracle))
    return frame_of(RATINGS, rows)


def _rows(
    runs: list[Run], known: Mapping[str, Item], study: StudyView | None, graded: tuple[Graded, ...], *, oracle: bool
) -> Iterator[tuple[object, ...]]:
    counts: Counter[tuple[str, str]] = Counter()

    def row(item: Item, rater: str, who: str, label: str, **more: object) -> tuple[object, ...]:
        counts[item.key, rater] += 1
        told: dict[str, object] = {
            "repeat": counts[item.key, rater],
            "score": None,
            "verdict_shown": None,
            "weight": 1.0,
        }
        told |= more
        return (
            *(
                item.run,
                item.task,
                item.step,
                item.step_kind,
                item.attempt,
                item.key,
                item.on or "*",
                item.about,
                item.kind,
            ),
            *(rater, who, label, told["score"], item.threshold, told["repeat"], told["purpose"], told["by"]),
            *(told["verdict_shown"], told["weight"]),
        )

    def of_report(run: str, step: int, report: EvaluationReport, purpose: str) -> Iterator[tuple[object, ...]]:
        for finding in judged(report):
            if item := known.get(_key(run, step, report, finding.on)):
                more = {"score": finding.score, "purpose": purpose, "by": finding.by}
                yield row(item, report.rater, "judge", finding.verdict, **more)
        if item := known.get(_key(run, step, report, "")):
            yield row(item, report.rater, "judge", report.verdict, score=report.overall, purpose=purpose, by="gate")

    for run in runs:
        criteria = {criterion.name: criterion for criterion in (run.plan.criteria if run.plan else ())}
        for step in run.every_step:
            told: set[str] = set()
            for section in run.of("evaluation", step.number):
                report, purpose = section.payload, section.record.purpose
                if not isinstance(report, EvaluationReport) or purpose not in PURPOSES:
                    continue
                yield from of_report(run.task.run, step.number, report, purpose)
                if not oracle or report.attempt_hash in told:
                    continue
                told.add(report.attempt_hash)
                for on, truth in truth_of(run, step.number, report, criteria).items():
                    if item := known.get(_key(run.task.run, step.number, report, on)):
                        yield row(item, ORACLE, "oracle", truth.verdict, score=truth.score, purpose="label", by=ORACLE)
    # By sample: what is kept comes in the order of hashes, and the first of several gradings is the one that counts.
    for one in sorted(graded, key=lambda one: one.sample):
        yield from of_report(one.run, one.step, one.report, "regrade")
    for label in study.labels if study else ():
        if item := known.get(item_key(label.run, label.step, label.attempt_hash, label.on)):
            verdict = "unmeasured" if label.verdict == "unclear" else label.verdict
            more = {"score": label.score, "repeat": label.repeat, "weight": label.weight, "purpose": "label"}
            yield row(item, label.rater, "person", verdict, by="person", verdict_shown=label.verdict_shown, **more)


def _key(run: str, step: int, report: EvaluationReport, on: str) -> str:
    return item_key(run, step, report.attempt_hash, on)
