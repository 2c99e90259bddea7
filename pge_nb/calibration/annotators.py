"""Whether a judge may stand in for a person."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    Interval,
    Matrix,
    Rng,
    Values,
    design,
    is_missing,
    scalar,
    warn_few_groups,
)
from pge_nb.calibration.people import panel
from pge_nb.calibration.rates import mean_of, rate, wrap
from pge_nb.calibration.resampling import RESAMPLES
from pge_nb.calibration.sums import Sums, counted
from pge_nb.errors import BadInput, Uninformative

Score: TypeAlias = Literal["accuracy", "neg_rmse"] | Callable[[Any, list[Any]], float]

FEWEST_ITEMS = 30
TIE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AlternativeAnnotator(Shown):
    """Whether the judge may stand in for a person.

    Attributes:
        advantage: mean over people of P(the judge agrees with the other people at least as well as the left-out person does).
        winning_rate: share of people over whom the judge wins, after Benjamini-Yekutieli.
        passes: whether the winning rate is at least one half.
        people: the advantage over each person.
        p_values: of each person's test.
        wins: which tests reject.
        notes: what to know.
    """

    advantage: Estimate
    winning_rate: float
    passes: bool
    people: tuple[Estimate, ...]
    p_values: tuple[float, ...]
    wins: tuple[bool, ...]
    notes: tuple[str, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """The outcome in words."""
        outcome = "may stand in for a person" if self.passes else "may not stand in for a person"
        return (f"winning rate {self.winning_rate:.2f}: the judge {outcome}", *self.notes)


def alternative_annotator_test(
    ratings: Matrix,
    judge: Values,
    epsilon: float,
    score: Score = "accuracy",
    q: float = 0.05,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> AlternativeAnnotator:
    """The alternative annotator test (Calderon, Reichart & Dror 2025).

    For each person j and each item that j and someone else rated: S(judge) and S(j) are the agreement of the judge and of j
    with the other people ("accuracy": share who gave the same label; "neg_rmse": -root mean squared difference; or
    ``score(label, others)``). The judge's advantage over j is the share of items with S(judge) >= S(j), and j's the share with
    S(j) >= S(judge). One-sided paired t test of H0: judge's advantage <= j's - epsilon, epsilon the price of a person (the
    authors take .2 for experts, .15 for trained people, .1 for crowds); Benjamini-Yekutieli at ``q`` over people; the judge
    passes when it wins over half of them. An item where the judge gave nothing counts against it. With groups the t test takes
    group totals.

    Args:
        ratings: items x people, missing where a person skipped an item.
        judge: the judge's labels, one an item; a reply that could not be parsed is best a label of its own.
        epsilon: how much worse than a person the judge may be, as it is cheaper.
        score: "accuracy", "neg_rmse" or a function of a label and the list of the others' labels.
        q: false discovery rate.
        level: confidence level of the advantages.
        groups: group of each item.
        item_weights: one an item.
        interval: interval of the advantages.
        rng: generator or seed for the bootstrap.

    Raises:
        Uninformative: with fewer than three people, or under 30 items of a person: not measurable.
        BadInput: when shapes differ, or epsilon or q lies outside 0..1.
    """
    epsilon, q = scalar(epsilon, "epsilon"), scalar(q, "q")
    if not (0 <= epsilon < 1 and 0 < q < 1):
        raise BadInput(f"epsilon is {epsilon} and q is {q}.", "Give numbers between 0 and 1, such as .1 and .05.")
    people, verdicts = panel(ratings, judge, fewest=3)
    plan = design(len(verdicts), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    align = named_score(score)
    tests = [
        one_person(people, verdicts, person, align=align, epsilon=epsilon, plan=plan)
        for person in range(people.shape[1])
    ]
    wins = benjamini_yekutieli([p_value for _, p_value, _, _ in tests], q)
    shares = [share for _, _, share, _ in tests]
    return AlternativeAnnotator(
        advantage=mean_advantage(shares, [rows for _, _, _, rows in tests], plan),
        winning_rate=float(np.mean(wins)),
        passes=bool(np.mean(wins) >= 0.5),
        people=tuple(estimate for estimate, _, _, _ in tests),
        p_values=tuple(p_value for _, p_value, _, _ in tests),
        wins=tuple(bool(win) for win in wins),
        notes=(f"epsilon {epsilon:g}, false discovery rate {q:g}", *warn_few_groups(plan.count)),
    )


def one_person(
    people: NDArray[Any],
    verdicts: NDArray[Any],
    person: int,
    *,
    align: Callable[[Any, list[Any]], float],
    epsilon: float,
    plan: Design,
) -> tuple[Estimate, float, FloatArray, BoolArray]:
    """Advantage over one person, p-value, the judge's wins and the items that they are on.

    Raises:
        Uninformative: with under 30 items.
    """
    rated = ~is_missing(people)
    rows = np.asarray(rated[:, person] & (rated.sum(axis=1) >= 2), dtype=bool)
    if rows.sum() < FEWEST_ITEMS:
        raise Uninformative(
            f"not measurable: person {person + 1} shares {int(rows.sum())} items with others.",
            f"Have each person label {FEWEST_ITEMS} items that others label too.",
        )
    gap = is_missing(verdicts)
    judged, human = np.zeros(int(rows.sum())), np.zeros(int(rows.sum()))
    for k, item in enumerate(np.flatnonzero(rows)):
        others = [people[item, other] for other in np.flatnonzero(rated[item]) if other != person]
        judged[k] = -math.inf if gap[item] else align(verdicts[item], others)
        human[k] = align(people[item, person], others)
    # Equal scores may differ in the last digit, by the order in which they were added up.
    wins, losses = (judged >= human - TIE).astype(np.float64), (human >= judged - TIE).astype(np.float64)
    part = plan.keep(rows)
    return rate(wins, part, missing=int((~rows).sum())), one_sided(mean_of(losses - wins, part), epsilon), wins, rows


def one_sided(lag: Sums, epsilon: float) -> float:
    """P-value of H0: mean lag >= epsilon, by t."""
    value, variance = lag.value(), lag.variance()
    if variance <= 1e-24:
        return 0.0 if value < epsilon else 1.0
    return float(stats.t.cdf((value - epsilon) / math.sqrt(variance), lag.design.units - 1))


def mean_advantage(wins: list[FloatArray], rows: list[BoolArray], plan: Design) -> Estimate:
    """Mean over people; its variance from each item's (or group's) pull on that mean."""
    pulls = np.zeros(plan.n)
    for one, inside in zip(wins, rows, strict=True):
        weights = plan.weights[inside]
        pulls[inside] += weights * (one - np.average(one, weights=weights)) / weights.sum() / len(wins)
    value = float(
        np.mean([np.average(one, weights=plan.weights[inside]) for one, inside in zip(wins, rows, strict=True)])
    )
    sums = pulls if plan.groups is None else np.bincount(plan.groups, weights=pulls)
    if plan.interval == "bootstrap":
        moved = [counts @ sums for counts in counted(RESAMPLES, len(sums), plan.generator())]
        ends = intervals.percentile(np.clip(value + np.concatenate(moved), 0, 1), plan.level)
        return wrap(plan, value, ends, "percentile bootstrap over people", missing=0, notes=())
    variance = float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
    ends = intervals.wald(value, variance, intervals.quantile(plan.level, len(sums)), 0.0, 1.0)
    return wrap(plan, value, ends, "linearised over people, t", missing=0, notes=())


def named_score(score: Score) -> Callable[[Any, list[Any]], float]:
    """The function of a name.

    Raises:
        BadInput: for an unknown name.
    """
    if callable(score):
        return score
    if score == "accuracy":
        return lambda label, others: sum(label == other for other in others) / len(others)
    if score == "neg_rmse":
        return negative_error
    raise BadInput(
        f"score is {score!r}.", 'Give "accuracy", "neg_rmse" or a function of a label and the others\' labels.'
    )


def negative_error(label: Any, others: list[Any]) -> float:
    """Root mean squared difference, negative.

    Raises:
        BadInput: for labels that are not numbers.
    """
    try:
        return -math.sqrt(sum((float(label) - float(other)) ** 2 for other in others) / len(others))
    except (TypeError, ValueError) as error:
        raise BadInput(
            "neg_rmse meets a label that is not a number.", 'Give numbers, or use score="accuracy".'
        ) from error


def benjamini_yekutieli(p_values: list[float], q: float) -> BoolArray:
    """Which hypotheses are rejected at false discovery rate q under any dependence (Benjamini & Yekutieli 2001)."""
    adjusted = stats.false_discovery_control(p_values, method="by")
    return np.asarray(adjusted <= q, dtype=bool)
