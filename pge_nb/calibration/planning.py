"""How many items to label, and which."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from pge_nb.calibration import intervals
from pge_nb.calibration.inputs import (
    BoolArray,
    FloatArray,
    IntArray,
    Rng,
    Values,
    column,
    is_missing,
    numbers,
    scalar,
    whole,
)
from pge_nb.calibration.verdicts import binary
from pge_nb.errors import BadInput


def sample_size(
    *,
    rate: float | None = None,
    half_width: float | None = None,
    discordant: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    icc: float = 0.0,
    per_group: float = 1,
    level: float = 0.95,
) -> int:
    """Items to label.

    With ``rate`` and ``half_width``: so many that the interval of that rate reaches no further than half_width to either side on
    average: z^2 p (1 - p) / h^2 (Cochran 1977), and at least as many as make half the length of Wilson's interval as short. With
    ``discordant`` and ``difference``: so many that McNemar's test finds the difference of two raters with this power,
    (z_a sqrt(d) + z_b sqrt(d - delta^2))^2 / delta^2 (Connor 1987), d the share of items on which only one is right. Both times
    the design effect 1 + (per_group - 1) icc (Kish 1965), rounded up.

    Args:
        rate: expected rate, between 0 and 1.
        half_width: half the length of its interval.
        discordant: expected share of discordant items.
        difference: difference of the two rates that must be found; at most ``discordant`` in size.
        power: P(the test finds it).
        icc: intraclass correlation within groups.
        per_group: items a group.
        level: confidence level; 1 - level is the two-sided size of the test.

    Raises:
        BadInput: unless one of the two pairs is given and nothing of the other, with numbers in range.
    """
    given = {"rate": rate, "half_width": half_width, "discordant": discordant, "difference": difference}
    known = {name: scalar(value, name) for name, value in given.items() if value is not None}
    power, icc, per_group, level = (
        scalar(value, name)
        for name, value in (("power", power), ("icc", icc), ("per_group", per_group), ("level", level))
    )
    if not 0 <= icc <= 1 or per_group < 1 or not 0 < level < 1:
        raise BadInput(
            "icc lies outside 0 to 1, per_group is under 1, or level is not between 0 and 1.",
            "Give e.g. icc=.1, per_group=6.",
        )
    if set(known) not in ({"rate", "half_width"}, {"discordant", "difference"}):
        raise BadInput("The question is not one of the two.", "Give rate and half_width, or discordant and difference.")
    z = intervals.quantile(level)
    if "rate" in known:
        rate, half_width = known["rate"], known["half_width"]
        if not (0 < rate < 1 and 0 < half_width < 1):
            raise BadInput("rate or half_width lies outside 0 to 1.", "Give numbers between 0 and 1.")
        n = max(z * z * rate * (1 - rate) / half_width**2, wilson_size(rate, half_width, z))
    else:
        n = paired_size(known["discordant"], abs(known["difference"]), power, z)
    # 385.0000000001 is 385 and a rounding error.
    return math.ceil(round(n * (1 + (per_group - 1) * icc), 9))


def wilson_size(rate: float, half_width: float, z: float) -> float:
    """Fewest items at which half the length of Wilson's interval is at most half_width."""
    low, high = 1, 2
    while half_length(rate, high, z) > half_width:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_length(rate, middle, z) <= half_width else (middle, high)
    return float(low if half_length(rate, low, z) <= half_width else high)


def half_length(rate: float, n: float, z: float) -> float:
    """Half the length of Wilson's interval."""
    low, high = intervals.wilson(rate, n, z)
    return (high - low) / 2


def paired_size(discordant: float, difference: float, power: float, z: float) -> float:
    """Pairs for McNemar's test.

    Raises:
        BadInput: for numbers out of range.
    """
    if not (0 < difference <= discordant <= 1 and 0 < power < 1):
        raise BadInput(
            f"difference {difference}, discordant {discordant}, power {power} do not go together.",
            "Give 0 < |difference| <= discordant <= 1 and a power between 0 and 1.",
        )
    beta = float(special.ndtri(power))
    return (z * math.sqrt(discordant) + beta * math.sqrt(discordant - difference**2)) ** 2 / difference**2


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPlan:
    """Which items to label next, with the probability that each had: log it with the labels.

    Attributes:
        chosen: positions of the items to label.
        propensity: P(chosen) of every item that was offered; 0 for those that have a label.
        weights: 1 / propensity of the chosen items, for ``item_weights``.
    """

    chosen: IntArray
    propensity: FloatArray
    weights: FloatArray


def next_to_label(
    n: int,
    *,
    verdicts: Values | None = None,
    scores: Values | None = None,
    threshold: float = 7.0,
    priority: Values | None = None,
    labelled: Values | None = None,
    explore: float = 0.25,
    rng: Rng,
) -> LabelPlan:
    """Choose items to label: where a label teaches most, but every item with a known probability above 0.

    Interest is 1 / (1 + |score - threshold|), or 1; times balance, so that passes, fails and unmeasured items share the draws
    evenly where there are verdicts; or ``priority`` itself. A share ``explore`` of the draws goes to all items alike.
    Probabilities are proportional to that, cut at 1, and exact: systematic sampling in random order (Madow 1949). Without
    ``item_weights`` the labels misstate every rate, since interesting items are over-represented. Labels of several rounds:
    give each item 1 / (1 - product of (1 - propensity) over the rounds in which it was offered).

    Args:
        n: how many to choose; all that are left where they are fewer.
        verdicts: the evaluator's verdict on each item.
        scores: its score of each item; missing ones count as at the threshold.
        threshold: score from which an item passes.
        priority: interest of each item, 0 or more, in place of the above.
        labelled: True where an item has a label and is not offered; False or missing where it has none.
        explore: share of the draws that is blind to interest, above 0.
        rng: generator or seed; required.

    Raises:
        BadInput: without rng or anything to choose by, or for numbers out of range.
    """
    if rng is None:
        raise BadInput("The choice is random and rng is missing.", "Give rng=numpy.random.default_rng(1), or a seed.")
    given = [values for values in (priority, verdicts, scores) if values is not None]
    n, explore = whole(n, "n"), scalar(explore, "explore")
    if not given or len({len(values) for values in given}) > 1 or n < 1 or not 0 < explore <= 1:
        raise BadInput(
            "Nothing to choose by, lengths that differ, n under 1, or explore outside (0, 1].", "Give scores=..., n=20."
        )
    count = len(given[0])
    free = np.ones(count, dtype=bool) if labelled is None else ~has_label(labelled, count)
    interest = (
        interests(count, verdicts, scores, threshold, free) if priority is None else numbers(priority, "priority")
    )
    if np.isnan(interest).any() or (interest < 0).any():
        raise BadInput("priority is negative or missing.", "Give one number of 0 or more an item.")
    propensity = np.zeros(count)
    propensity[free] = inclusion(interest[free], min(n, int(free.sum())), explore)
    chosen = systematic(propensity, np.random.default_rng(rng))
    return LabelPlan(chosen=chosen, propensity=propensity, weights=1 / propensity[chosen])


def has_label(labelled: Values, count: int) -> BoolArray:
    """True where an item has a label; a missing value is none.

    Raises:
        BadInput: for another length.
    """
    array = column(labelled, "labelled")
    if len(array) != count:
        raise BadInput(f"labelled has {len(array)} values for {count} items.", "Give one an item.")
    # pandas.NA must not be asked whether it is true.
    return np.array([not gap and bool(one) for one, gap in zip(array, is_missing(array), strict=True)], dtype=bool)


def interests(
    count: int, verdicts: Values | None, scores: Values | None, threshold: float, free: BoolArray
) -> FloatArray:
    """Nearness to the threshold times balance of verdicts."""
    interest = np.ones(count)
    if scores is not None:
        interest /= 1 + np.nan_to_num(np.abs(numbers(scores, "scores") - threshold))
    if verdicts is not None:
        state = np.nan_to_num(binary(verdicts, "verdicts"), nan=2.0).astype(np.int64)
        total = np.bincount(state[free], weights=interest[free], minlength=3)
        interest = np.divide(interest, total[state], out=np.zeros(count), where=total[state] > 0)
    return interest


def inclusion(interest: FloatArray, n: int, explore: float) -> FloatArray:
    """Probabilities that sum to n, none above 1: proportional where that allows."""
    size = np.full(len(interest), explore / max(len(interest), 1))
    size += (1 - explore) * (interest / interest.sum() if interest.sum() > 0 else size / explore)
    sure = np.zeros(len(interest), dtype=bool)
    out = size.copy()
    while n > sure.sum():
        out = np.where(sure, 1.0, size / size[~sure].sum() * (n - sure.sum()))
        if not (over := ~sure & (out >= 1)).any():
            break
        sure |= over
    return np.asarray(np.minimum(out, 1.0), dtype=np.float64)


def systematic(propensity: FloatArray, rng: np.random.Generator) -> IntArray:
    """Items whose stretch of the cumulated probabilities holds a point of a unit grid with random start, in random order."""
    order = rng.permutation(len(propensity))
    ends = np.cumsum(propensity[order])
    total = round(float(ends[-1])) if len(ends) else 0
    points = rng.random() + np.arange(total)
    places = np.searchsorted(ends, points, side="right")
    return np.sort(order[np.minimum(places, len(order) - 1)]).astype(np.int64)
