"""What people agree on is the most that a judge can be held to."""

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
    column,
    design,
    is_missing,
    warn_few_groups,
)
from pge_nb.calibration.rates import mean_of, wrap
from pge_nb.calibration.resampling import RESAMPLES, resample_indices
from pge_nb.errors import BadInput, Uninformative

PairStatistic: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float]
Score: TypeAlias = Literal["accuracy", "neg_rmse"] | Callable[[Any, list[Any]], float]

FEWEST_ITEMS = 30
TIE = 1e-12
BLOCKS = 200  # the jackknife leaves out blocks of items where there are more of them


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanCeiling(Shown):
    """A judge and people measured against the same people.

    Attributes:
        people: mean statistic of each person against each of the others.
        judge: mean statistic of the judge against the same panels.
        difference: judge less people; above 0 the judge agrees with a person as well as another person does.
        notes: how the panels were made.
    """

    people: Estimate
    judge: Estimate
    difference: Estimate
    notes: tuple[str, ...] = ()


def human_ceiling(
    ratings: Matrix,
    judge: Values,
    statistic: Literal["accuracy", "kappa"] | PairStatistic = "kappa",
    *,
    level: float = 0.95,
    groups: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> HumanCeiling:
    """How well people agree with each other, and the judge with the same people.

    Each person in turn is left out, and the others are the panel. The left-out person and the judge are each compared with every
    member of that panel, on the items that judge, left-out person and member all rated, so that both meet the same labels on the
    same items; the statistics are averaged over members, then over panels. Intervals: delete-one jackknife (items in at most 200
    blocks, or groups) with t, or BCa.

    Args:
        ratings: items x people, missing where a person skipped an item.
        judge: the judge's labels, one an item.
        statistic: "accuracy", "kappa" or a function of two arrays of labels.
        level: confidence level.
        groups: group of each item.
        interval: "default" and "analytic" are the same; or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        Uninformative: with fewer than two people: not measurable.
        BadInput: when shapes differ.
    """
    people, verdicts = panel(ratings, judge, fewest=2)
    plan = design(len(verdicts), level=level, groups=groups, item_weights=None, interval=interval, rng=rng)
    pair = named_statistic(statistic)

    def both(rows: NDArray[np.int64]) -> FloatArray:
        return against_panels(people[rows], verdicts[rows], pair)

    value = both(np.arange(plan.n))
    units = np.arange(plan.n) * min(BLOCKS, plan.n) // plan.n if plan.groups is None else plan.groups
    without = np.array([both(np.flatnonzero(units != unit)) for unit in range(int(units.max()) + 1)])
    drawn = (
        np.array([both(rows) for rows in resample_indices(plan.n, RESAMPLES, groups=plan.groups, rng=plan.generator())])
        if interval == "bootstrap"
        else None
    )

    def shown(combine: FloatArray) -> Estimate:
        ends, method = panel_ends(
            float(value @ combine), without @ combine, None if drawn is None else drawn @ combine, level
        )
        return wrap(plan, float(value @ combine), ends, method, missing=0, notes=())

    return HumanCeiling(
        people=shown(np.array([1.0, 0.0])),
        judge=shown(np.array([0.0, 1.0])),
        difference=shown(np.array([-1.0, 1.0])),
        notes=(f"{people.shape[1]} people, each left out once", *warn_few_groups(plan.count)),
    )


def panel_ends(
    value: float, without: FloatArray, drawn: FloatArray | None, level: float
) -> tuple[tuple[float, float], str]:
    """Jackknife or BCa interval."""
    if drawn is not None:
        return intervals.bca(value, drawn, without, level), "BCa bootstrap"
    units = len(without)
    spread = (units - 1) / units * float(((without - without.mean()) ** 2).sum())
    return intervals.wald(value, spread, intervals.quantile(level, units)), f"jackknife of {units} parts, t"


def panel(ratings: Matrix, judge: Values, fewest: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """People's labels (items x people) and the judge's.

    Raises:
        Uninformative: with too few people.
        BadInput: when shapes differ.
    """
    people = np.asarray(ratings, dtype=object)
    people = people[:, None] if people.ndim == 1 else people
    verdicts = column(judge, "judge").astype(object)
    if people.ndim != 2 or len(people) != len(verdicts):
        raise BadInput(
            f"ratings has the shape {people.shape} and judge {len(verdicts)} items.",
            "Give items x people, and one verdict an item.",
        )
    if people.shape[1] < fewest:
        number = "1 person" if people.shape[1] == 1 else f"{people.shape[1]} people"
        raise Uninformative(f"not measurable with {number}.", f"Have {fewest} people label the same items.")
    return people, verdicts


def named_statistic(statistic: str | PairStatistic) -> PairStatistic:
    """The function of a name.

    Raises:
        BadInput: for an unknown name.
    """
    if callable(statistic):
        return statistic
    if statistic == "accuracy":
        return lambda a, b: float(np.mean([x == y for x, y in zip(a.tolist(), b.tolist(), strict=True)]))
    if statistic == "kappa":
        return plain_kappa
    raise BadInput(f"statistic is {statistic!r}.", 'Give "accuracy", "kappa" or a function of two arrays.')


def plain_kappa(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Cohen's kappa of two arrays of labels, nan where it is undefined; many times over, so without a library's checks."""
    positions = {label: k for k, label in enumerate(dict.fromkeys([*a.tolist(), *b.tolist()]))}
    first, second = (np.array([positions[label] for label in one.tolist()]) for one in (a, b))
    n, q = len(first), len(positions)
    expected = float(np.bincount(first, minlength=q) @ np.bincount(second, minlength=q)) / (n * n)
    return (float((first == second).mean()) - expected) / (1 - expected) if expected < 1 else math.nan


def against_panels(people: NDArray[Any], verdicts: NDArray[Any], pair: PairStatistic) -> FloatArray:
    """(mean statistic of the left-out people, of the judge)."""
    rated = ~is_missing(people) & ~is_missing(verdicts)[:, None]
    count = people.shape[1]
    found: list[tuple[float, float]] = []
    for left_out in range(count):
        members = [other for other in range(count) if other != left_out]
        shared = [(other, rated[:, left_out] & rated[:, other]) for other in members]
        sides = [(pair(people[rows, left_out], people[rows, other]), pair(verdicts[rows], people[rows, other]))
                 for other, rows in shared if rows.any()]  # fmt: skip
        if sides:
            found.append((float(np.mean([one for one, _ in sides])), float(np.mean([one for _, one in sides]))))
    return np.array(found).mean(axis=0) if found else np.full(2, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    design_of = plan.keep(rows)
    value = mean_of(wins, design_of)
    ends = intervals.wald(value.value(), value.variance(), intervals.quantile(plan.level, design_of.units), 0.0, 1.0)
    estimate = wrap(design_of, value.value(), ends, "t", missing=int((~rows).sum()), notes=())
    return estimate, one_sided(mean_of(losses - wins, design_of), epsilon), wins, rows


def one_sided(lag: Any, epsilon: float) -> float:
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
        return lambda label, others: (
            -math.sqrt(sum((float(label) - float(other)) ** 2 for other in others) / len(others))
        )
    raise BadInput(
        f"score is {score!r}.", 'Give "accuracy", "neg_rmse" or a function of a label and the others\' labels.'
    )


def benjamini_yekutieli(p_values: list[float], q: float) -> BoolArray:
    """Which hypotheses are rejected at false discovery rate q under any dependence (Benjamini & Yekutieli 2001)."""
    adjusted = stats.false_discovery_control(p_values, method="by")
    return np.asarray(adjusted <= q, dtype=bool)
