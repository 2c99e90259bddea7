"""Figures: what one rater's verdicts are worth against a reference. Everything is grouped by task.

The reference is what people said (by majority, ties unmeasured) where there are labels, else what the oracle knows; or a rater
that is named. Of several gradings of one item by one rater the first counts; the others tell its noise. What was graded once more
because it was the best of several is chosen by its grade, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..prose import counted
from ..run import Run
from ..verdict import JUDGE
from .by_attempt import Attempts, attempts
from .items import ORACLE, task_of
from .measuring import (
    GATE,
    LEVEL,
    NO_WHOLE,
    UNLABELLED,
    Figure,
    agreement_of,
    bins_of,
    escalation_of,
    family_of,
    margins_of,
    noise_of,
    paired,
    passing_of,
    people_of,
    rates_of,
    reference_of,
    thresholds_of,
)
from .ratings import ratings
from .replaying import kept
from .splits import look
from .study import StudyFile, StudyView

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MAX_FALSE_PASS = 0.1
COST = 5.0
"""What accepting a bad attempt costs, where rejecting a good one costs 1."""
HALF_WIDTH = 0.1
"""How far the interval of a rate is to reach, at most, before it is called well known."""

FIGURES: Columns = {
    "figure": TEXT,
    "by": TEXT,
    "of": TEXT,
    "value": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "level": NUMBER,
    "pooled": NUMBER,
    "n": COUNT,
    "tasks": COUNT,
    "bad": COUNT,
    "note": TEXT,
}
"""The columns of `Figures.frame`."""
CURVE: Columns = {
    "threshold": NUMBER,
    "false_pass": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "tpr": NUMBER,
    "cost": NUMBER,
    "guaranteed": FLAG,
    "cheapest": FLAG,
}
"""The columns of `Figures.curve`."""
BINS: Columns = {
    "from": NUMBER,
    "to": NUMBER,
    "score": NUMBER,
    "good": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "n": COUNT,
}
"""The columns of `Figures.bins`: mean score of a bin, as a share of 10, and the share of good attempts in it."""
ESCALATION: Columns = {
    "margin": NUMBER,
    "coverage": NUMBER,
    "risk": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "n": COUNT,
}
"""The columns of `Figures.escalation`: the share that is left to the judge, and how much of that it decides wrongly."""
Lean = Literal["too lenient", "too strict", "cannot tell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a rater is worth against a reference. ``part``: of the split, or empty; ``weakest`` is a criterion, or empty.

    ``remarks`` are what a reader must not miss.
    """

    rater: str
    against: str
    part: str
    level: float
    rows: tuple[Figure, ...]
    points: tuple[tuple[object, ...], ...]
    reliability: tuple[tuple[object, ...], ...]
    escalated: tuple[tuple[object, ...], ...] = ()
    tried: Attempts | None = None
    max_false_pass: float = MAX_FALSE_PASS
    cost: float = COST
    weakest: str = ""
    remarks: tuple[str, ...] = ()

    def one(self, figure: str, by: str = GATE, of: str = "all") -> Figure:
        """The figure of this name; one that says so where it was not asked."""
        named = (row for row in self.rows if (row.figure, row.by, row.of) == (figure, by, of))
        return next(named, Figure(figure=figure, by=by, of=of, level=self.level, note="nothing to measure it on"))

    def frame(self) -> DataFrame:
        """A row a figure."""
        return frame_of(FIGURES, [tuple(getattr(row, name) for name in FIGURES) for row in self.rows])

    def curve(self) -> DataFrame:
        """A row a threshold on the overall score: what it lets pass, with the guaranteed and the cheapest one marked."""
        return frame_of(CURVE, list(self.points))

    def bins(self) -> DataFrame:
        """The reliability diagram: a row a bin of overall scores."""
        return frame_of(BINS, list(self.reliability))

    def escalation(self) -> DataFrame:
        """Risk against coverage: a row a margin around 7, work within which goes to a person."""
        return frame_of(ESCALATION, list(self.escalated))

    @property
    def lean(self) -> Lean:
        """Whether the whole gate passes more, or less, than the reference does; the interval decides."""
        leniency = self.one("leniency")
        if leniency.value is None or leniency.low is None or leniency.high is None:
            return "cannot tell"
        return "too lenient" if leniency.low > 0 else "too strict" if leniency.high < 0 else "cannot tell"

    @property
    def sentence(self) -> str:
        """How often this evaluator passes bad work."""
        found = self.one("false_pass")
        if found.value is None:
            return f"How often this evaluator passes bad work is not measurable: {found.note}."
        return f"This evaluator passes bad work {share(found)} of the time."

    @property
    def advice(self) -> str:
        """What to do about it."""
        safe = self.one("threshold")
        if self.one("false_pass").value is None:
            return (
                "Label whole attempts (%pge label --as NAME --about attempt) until some are bad, or run harder tasks: "
                "without bad work nothing tells whether it is let pass."
            )
        if self.lean == "too lenient":
            first = (
                f"Accept from {safe.value:.1f} of 10 up, which lets at most {100 * self.max_false_pass:.0f} % of bad work pass; "
                if safe.value is not None
                else "No threshold on these scores is safe, so "
            )
            weak = f"edit what the judge is told about {self.weakest} (%%pge rater NAME)" if self.weakest else ""
            return first + (weak or "edit the judge's prompt (%%pge rater NAME)") + ", and measure again."
        if self.lean == "too strict":
            return "It fails good work, and retries are paid for nothing: edit its prompt (%%pge rater NAME), measure again."
        bad, needed = self.one("false_pass").n, wanted(self.one("false_pass").value)
        if bad < needed:
            return (
                f"Label more: {counted(needed, 'bad attempt')} would tell the rate to {100 * HALF_WIDTH:.0f} % either way; "
                f"there {'is' if bad == 1 else 'are'} {bad}."
            )
        return "What it passes in all is right; look at the errors by kind, which may cancel out."


def share(found: Figure) -> str:
    """A rate as it is said: 18 % [11, 27]."""
    if found.value is None or found.low is None or found.high is None:
        return "not measurable"
    return f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def wanted(rate: float | None) -> int:
    """So many bad attempts tell their rate to `HALF_WIDTH` either way; the rate is taken from within 5 to 95 %."""
    from ..calibration import sample_size

    return sample_size(rate=min(max(0.5 if rate is None else rate, 0.05), 0.95), half_width=HALF_WIDTH)


def calibrate(
    runs: Run | Iterable[Run],
    rater: str,
    study: StudyFile,
    *,
    against: str = "",
    part: Literal["", "development", "test"] = "",
    max_false_pass: float = MAX_FALSE_PASS,
    cost: float = COST,
) -> Figures:
    """Every figure of a rater (its id) over the runs, against "people", "oracle" or a rater's id.

    Without ``against`` it is people where there are any, else the oracle.
    Without ``part`` the test part of a split is left out. ``part="test"`` is a look at it: it is put down before anything is
    drawn, and its level is that of every interval; the same rater over the same data looks once. ``BadInput`` for a reference
    that is not there.
    """
    if not 0 < max_false_pass < 1 or not 0 < cost < math.inf:
        raise BadInput(
            f"The highest false-pass rate is {max_false_pass:g}, the cost of a bad one {cost:g}.",
            "Give a rate between 0 and 1, and a cost above 0.",
        )
    several = [runs] if isinstance(runs, Run) else list(runs)
    view = study.read()
    frame, level, remarks = ratings(several, view, kept(study)), LEVEL, []
    if part and view.split is None:
        raise BadInput("There is no split yet, so no parts.", "%pge label --split makes it, once.")
    parts = frame["task"].map(lambda task: view.part(task) or "")
    frame = frame[parts == part] if part else frame[parts != "test"]
    reference = reference_of(frame, against, rater)
    if part == "test":
        made = _look(study, view, rater, several, frame)
        level = made[1]
        remarks.append(f"Look {made[0]} at the test part, so intervals are at {100 * level:g} %.")
    elif (parts == "test").any():
        remarks.append("Tasks of the test part are left out.")
    found = figures_of(frame, rater, reference, level, max_false_pass=max_false_pass, cost=cost)
    mine = [run for run in several if _in_part(view.part(task_of(run)), part)]
    tried = attempts(mine, rater, view, kept(study), against=reference, level=level)
    rows = (*found.rows, *_by_attempt(tried), *_alike(tried))
    return replace(found, rows=rows, tried=tried, part=part, remarks=(*remarks, *found.remarks))


def _in_part(there: str | None, part: str) -> bool:
    return there == part if part else there != "test"


def _by_attempt(tried: Attempts) -> Iterator[Figure]:
    """TPR, TNR and the error of scores, by attempt, where there is more than one."""
    frame = tried.by_attempt()
    if not len(frame) or frame["attempt"].max() < 2:
        return
    for row in frame.to_dict("records"):
        ends = [None if math.isnan(row[name]) else float(row[name]) for name in ("low", "high")]
        yield Figure(
            figure=str(row["figure"]),
            by="attempt",
            of=f"{row['attempt']}, {row['among']}",
            value=float(row["value"]),
            low=ends[0],
            high=ends[1],
            level=tried.level,
            n=int(row["n"]),
            tasks=int(row["tasks"]),
        )


def _alike(tried: Attempts) -> Iterator[Figure]:
    """`rho` of good and of bad attempts, where a step has several: what a prediction of retries rests on beside the rates."""
    steps = tried.retried()
    if not len(steps) or steps["retries"].max() < 1:
        return
    words: tuple[tuple[Literal["pass", "fail"], str], ...] = (("pass", "good"), ("fail", "bad"))
    for word, of in words:
        found = tried.alike(word)
        told = Figure(figure="rho", by="step", of=of, level=tried.level, n=found.n, tasks=found.groups or 0)
        if math.isnan(found.value):
            yield replace(told, note="; ".join(found.notes) or "nothing to measure it on")
        else:
            yield replace(told, value=found.value, low=found.low, high=found.high, note="; ".join(found.notes))


def _look(study: StudyFile, view: StudyView, rater: str, runs: Sequence[Run], frame: DataFrame) -> tuple[int, float]:
    """Number and level of the look. What is looked at again as it was is no other look."""
    import hashlib

    seen = hashlib.sha256(frame.to_csv(index=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    why = f"Figures of {counted(len(runs), 'run')}, ratings {seen}."
    known = next((one for one in view.looks if one.raters == (rater,) and one.why == why), None)
    made = known or look(study, [rater], why)
    return made.number, made.level


def figures_of(
    frame: DataFrame,
    rater: str,
    against: str,
    level: float = LEVEL,
    *,
    max_false_pass: float = MAX_FALSE_PASS,
    cost: float = COST,
) -> Figures:
    """The figures of a rater over ratings (a frame of `ratings`), against people, the oracle or another rater's id."""
    pairs = paired(frame, rater, against)
    known = pairs[pairs["truth"].notna()]
    whole = known[known["about"] == "attempt"]
    why = NO_WHOLE if len(known) else UNLABELLED
    rows = list(rates_of(GATE, "all", whole, level, why))
    rows += rates_of("judge", "all", known[(known["by"] == JUDGE) & (known["about"] != "attempt")], level)
    for by, column, among in (
        ("check kind", "kind", known[known["about"] == "check"]),
        ("criterion", "on", known[known["about"] == "criterion"]),
        ("step kind", "step_kind", whole),
    ):
        family = [row for of, some in among.groupby(column, sort=True) for row in rates_of(by, str(of), some, level)]
        rows += [one for name in dict.fromkeys(row.figure for row in family) for one in family_of(family, name)]
    shown = known["shown"].astype(bool)
    if against != ORACLE:
        rows += [agreement_of(by, "all", some, level) for by, some in _seen(known, shown)]
    noise = list(noise_of(frame, rater, level))
    rows += noise
    rows += margins_of(whole, noise[0].value, level)
    rows.append(passing_of(pairs[pairs["about"] == "attempt"], level, why))
    rows += people_of(frame, pairs, rater, level)
    thresholds, points = thresholds_of(whole, level, max_false_pass, cost)
    rows += thresholds
    weak = [row for row in rows if row.by == "criterion" and row.figure == "false_pass" and row.value is not None]
    weakest = max(weak, key=lambda row: (row.pooled or 0.0, row.of), default=None)
    return Figures(
        rater=rater,
        against=against,
        part="",
        level=level,
        rows=tuple(rows),
        points=points,
        reliability=bins_of(whole, level),
        escalated=escalation_of(whole, level),
        max_false_pass=max_false_pass,
        cost=cost,
        weakest=weakest.of if weakest and weakest.value else "",
        remarks=tuple(_remarks(pairs, known, whole, against)),
    )


def _seen(known: DataFrame, shown: Series) -> tuple[tuple[str, DataFrame], ...]:
    return (("verdict shown before", known[shown]), ("verdict not shown", known[~shown]))


def _remarks(pairs: DataFrame, known: DataFrame, whole: DataFrame, against: str) -> Iterator[str]:
    if not len(pairs):
        yield "The rater judged nothing of these runs."
        return
    if not len(known):
        yield f"Nothing that it judged was labelled by {against}: %pge label --as NAME."
        return
    if (left := len(pairs) - len(known)) > 0:
        yield f"{counted(left, 'item')} without a label, or on which people are split: left out."
    if (tasks := known["task"].nunique()) == 1:
        yield "All of it is of one task: how other tasks differ is not known, and no interval tells it."
    elif tasks < 10:
        yield f"It rests on {counted(tasks, 'task')}: intervals by task are wide, and rough."
    unmeasured = int((known["label"] == "unmeasured").sum())
    if unmeasured:
        yield (
            f"{counted(unmeasured, 'verdict')} of {len(known)} unmeasured: the gate lets none of them pass, and agreement leaves "
            "them out."
        )
    if known["weight"].nunique() > 1:
        yield "Labels were drawn with unequal chances: each counts for the items that it stands for, so shares are weighted."
    if len(whole) and (whole["truth"] == "pass").all():
        yield "No attempt with a label is bad."
    if len(whole) and (whole["truth"] == "fail").all():
        yield "No attempt with a label is good."
