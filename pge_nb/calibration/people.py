"""What people agree on is the most that a judge can be held to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
from pge_nb.calibration.rates import wrap
from pge_nb.calibration.resampling import RESAMPLES, drawn_rows
from pge_nb.errors import BadInput, Uninformative

# labels of two raters (and the items' weights, where there are any) -> number
PairStatistic: TypeAlias = Callable[..., float]

BLOCKS = 200  # the jackknife leaves out blocks of items where there are more of them


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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
    item_weights: Values | None = None,
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
        statistic: "accuracy", "kappa" or a function of two arrays of labels, and of their weights where there are any. Pairs
            for which it is nan are left out.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default" and "analytic" are the same; or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        Uninformative: with fewer than two people, or without items: not measurable.
        BadInput: when shapes differ.
    """
    people, verdicts = panel(ratings, judge, fewest=2)
    plan = design(len(verdicts), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    pair, weights = named_statistic(statistic), plan.weights if plan.weighted else None
    rated, silent = ~is_missing(people) & ~is_missing(verdicts)[:, None], int(is_missing(verdicts).sum())
    if not callable(statistic):
        people, verdicts = as_positions(people, verdicts)

    def both(rows: NDArray[np.int64]) -> FloatArray:
        return against_panels(
            people[rows], verdicts[rows], rated[rows], pair, None if weights is None else weights[rows]
        )

    value = both(np.arange(plan.n))
    units = np.arange(plan.n) * min(BLOCKS, plan.n) // plan.n if plan.groups is None else plan.groups
    without = np.array([both(np.flatnonzero(units != unit)) for unit in range(int(units.max()) + 1)])
    drawn = resampled(both, plan) if interval == "bootstrap" else None

    def shown(combine: FloatArray) -> Estimate:
        ends, method = panel_ends(
            float(value @ combine), without @ combine, None if drawn is None else drawn @ combine, level
        )
        return wrap(plan, float(value @ combine), ends, method, missing=silent, notes=())

    return HumanCeiling(
        people=shown(np.array([1.0, 0.0])),
        judge=shown(np.array([0.0, 1.0])),
        difference=shown(np.array([-1.0, 1.0])),
        notes=(f"{people.shape[1]} people, each left out once", *warn_few_groups(plan.count)),
    )


def resampled(both: Callable[[NDArray[np.int64]], FloatArray], plan: Design) -> FloatArray:
    """Both figures of each resample."""
    return np.array([both(rows) for rows in drawn_rows(plan, RESAMPLES)])


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
        Uninformative: with too few people, or without items.
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
    if not len(people):
        raise Uninformative("not measurable without items.", "Have people label the items that the judge labelled.")
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
        return plain_accuracy
    if statistic == "kappa":
        return plain_kappa
    raise BadInput(f"statistic is {statistic!r}.", 'Give "accuracy", "kappa" or a function of two arrays.')


def plain_accuracy(a: NDArray[Any], b: NDArray[Any], weights: FloatArray | None = None) -> float:
    """Share of items with the same label, by position."""
    return float(np.average(a == b, weights=weights))


def plain_kappa(a: NDArray[Any], b: NDArray[Any], weights: FloatArray | None = None) -> float:
    """Cohen's kappa of positions, nan where it is undefined; called many times over, so without a library's checks."""
    if a.min() == a.max() == b.min() == b.max():
        return math.nan
    share = np.full(len(a), 1 / len(a)) if weights is None else weights / weights.sum()
    sides = [np.bincount(one, weights=share, minlength=int(max(a.max(), b.max())) + 1) for one in (a, b)]
    expected = float(sides[0] @ sides[1])
    return (float(share[a == b].sum()) - expected) / (1 - expected)


def as_positions(people: NDArray[Any], verdicts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels as numbers, the same one for the same label."""
    positions: dict[Any, int] = {}
    flat = [positions.setdefault(label, len(positions)) for label in [*people.ravel().tolist(), *verdicts.tolist()]]
    codes = np.array(flat, dtype=np.int64)
    return codes[: people.size].reshape(people.shape), codes[people.size :]


def against_panels(
    people: NDArray[Any], verdicts: NDArray[Any], rated: BoolArray, pair: PairStatistic, weights: FloatArray | None
) -> FloatArray:
    """(mean statistic of the left-out people, of the judge) on the items that each pair and the judge rated."""
    found = []
    for left_out in range(people.shape[1]):
        sides = []
        for member in range(people.shape[1]):
            rows = rated[:, left_out] & rated[:, member]
            if member == left_out or not rows.any():
                continue
            more = () if weights is None else (weights[rows],)
            judged = (person[rows] for person in (people[:, left_out], verdicts))
            sides.append([pair(one, people[rows, member], *more) for one in judged])
        kept = [side for side in sides if np.isfinite(side).all()]
        if kept:
            found.append(np.mean(kept, axis=0))
    return np.mean(found, axis=0) if found else np.full(2, math.nan)
