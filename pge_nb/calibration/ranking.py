"""Rank correlation of two raters' scores."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from scipy import stats

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    IntArray,
    Interval,
    Rng,
    Values,
    columns,
    design,
    numbers,
    warn_few_groups,
)
from pge_nb.calibration.intervals import Ends
from pge_nb.calibration.rates import wrap
from pge_nb.calibration.resampling import MOST_UNITS, RESAMPLES, drawn_rows, jackknife_units, unit_name
from pge_nb.calibration.sums import TINY, without_rounding
from pge_nb.errors import BadInput

Method: TypeAlias = Literal["spearman", "kendall", "somers"]
BLOCK = 512  # rows of the n x n comparisons at a time


def rank_correlation(
    a: Values,
    b: Values,
    method: Method = "spearman",
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """How far two raters order the items alike, -1 to 1.

    "spearman": Pearson's correlation of midranks (Spearman 1904); "kendall": tau-b (Kendall 1945), which leaves pairs tied in a
    rater out of that rater's part of the denominator; "somers": D of b given a, over pairs not tied in a (Somers 1962). scipy
    computes the first two where items weigh the same; with weights a pair weighs the product, and a midrank is the weight
    below plus half the weight alike. Undefined (nan) where a rater gives all items one score.

    Default interval: delete-one jackknife on Fisher's z with t(n - 1) or t(G - 1), ranked anew each time; with more than 2,000
    items or groups it leaves out 100 random blocks of them (fixed seed) and says so. Analytic: Bonett &
    Wright (2000) for Spearman and Kendall; for Somers, and with groups, the jackknife without Fisher's z.

    Args:
        a: first rater's scores (for Somers the one that predicts).
        b: second rater's.
        method: "spearman", "kendall" or "somers".
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ, scores are not numbers, or the method is unknown.
    """
    if method not in ("spearman", "kendall", "somers"):
        raise BadInput(f"method is {method!r}.", 'Give "spearman", "kendall" or "somers".')
    columns(("a", a), ("b", b))
    x, y = numbers(a, "a"), numbers(b, "b")
    plan = design(len(x), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    kept: BoolArray = ~np.isnan(x) & ~np.isnan(y)
    x, y, plan, missing = x[kept], y[kept], plan.keep(kept), int((~kept).sum())
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        note = "a rater gives all items one score, or fewer than two items are rated by both"
        return wrap(plan, math.nan, (-1.0, 1.0), "undefined: nothing is known", missing=missing, notes=(note,))
    value = correlate(x, y, None if not plan.weighted else plan.weights, method)
    ends, method_name = ends_of(x, y, plan, method, value)
    ends = max(-1.0, min(ends[0], value)), min(1.0, max(ends[1], value))
    return wrap(plan, value, ends, method_name, missing=missing, notes=warn_few_groups(plan.count))


def correlate(x: FloatArray, y: FloatArray, weights: FloatArray | None, method: Method) -> float:
    """The statistic: scipy's, or the weighted one; nan where a rater gives one score."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    if weights is not None:
        if method == "spearman":
            return weighted_spearman(midranks(x, weights), midranks(y, weights), weights)
        return within(float(ratio(pair_parts(x, y, weights, np.arange(len(x)))[0], method)))
    if method == "spearman":
        return within(float(stats.spearmanr(x, y).statistic))
    tau = float(stats.kendalltau(x, y).statistic)
    # scipy.stats.somersd goes through an n x n table cell by cell in Python; the two differ in the pairs untied in b and a.
    return within(tau if method == "kendall" else tau * math.sqrt(untied(y) / untied(x)))


def within(value: float) -> float:
    """Rounding must not lead out of -1 to 1."""
    return value if math.isnan(value) else min(max(value, -1.0), 1.0)


def untied(values: FloatArray) -> float:
    """Ordered pairs with unequal values."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float(len(values)) ** 2 - float((counts**2).sum())


def ends_of(x: FloatArray, y: FloatArray, plan: Design, method: Method, value: float) -> tuple[Ends, str]:
    """Interval and its name."""
    if plan.interval == "bootstrap":
        return bootstrap_ends(x, y, plan, method, value), "BCa bootstrap"
    if plan.interval == "analytic" and plan.groups is None and not plan.weighted and method != "somers":
        return bonett_wright(value, plan.n, method, intervals.quantile(plan.level)), "Bonett and Wright"
    without = without_each(x, y, plan, method)
    z = intervals.quantile(plan.level, len(without))
    if plan.interval == "analytic":
        spread = (len(without) - 1) / len(without) * float(((without - without.mean()) ** 2).sum())
        return intervals.wald(value, spread, z, -1.0, 1.0), "linearised, t(n - 1)"
    ends = intervals.fisher_jackknife(value, without, z)
    if ends is None:
        return (-1.0, 1.0), "undefined: the jackknife has no variation"
    return ends, f"delete-{unit_name(plan)} jackknife on Fisher z"


def bonett_wright(value: float, n: int, method: Method, z: float) -> Ends:
    """Fisher's z with variance (1 + r^2 / 2) / (n - 3) for Spearman and .437 / (n - 4) for Kendall (Bonett & Wright 2000)."""
    if n <= 4 or abs(value) >= 1:
        return -1.0, 1.0
    variance = (1 + value**2 / 2) / (n - 3) if method == "spearman" else 0.437 / (n - 4)
    low, high = np.tanh([math.atanh(value) - z * math.sqrt(variance), math.atanh(value) + z * math.sqrt(variance)])
    return float(low), float(high)


def ratio(parts: FloatArray, method: Method) -> FloatArray:
    """Co-movement over the root of both spreads; for Somers over the spread of a alone."""
    spread = parts[..., 1] if method == "somers" else np.sqrt(parts[..., 1] * parts[..., 2])
    return np.asarray(parts[..., 0] / np.where(spread > 0, spread, np.nan))


def without_each(x: FloatArray, y: FloatArray, plan: Design, method: Method) -> FloatArray:
    """The statistic without each unit in turn, or without each block of them where they are many."""
    weights, units = plan.weights, jackknife_units(plan)
    if method == "spearman":
        ranks = midranks(x, weights), midranks(y, weights)
        order = np.argsort(units, kind="stable")
        members = np.split(order, np.cumsum(np.bincount(units))[:-1])
        return np.array([spearman_without((x, y), ranks, weights, gone) for gone in members])
    if plan.weighted or plan.units <= MOST_UNITS:
        total, parts = pair_parts(x, y, weights, units)
        return ratio(without_rounding(total - parts, np.abs(total).max()), method)
    return np.array([correlate(x[units != one], y[units != one], None, method) for one in range(int(units.max()) + 1)])


def pair_parts(x: FloatArray, y: FloatArray, weights: FloatArray, units: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums over ordered pairs (co-movement, untied in x, untied in y) of all items, and what goes when each unit does.

    With a unit go its pairs with the others, twice, less those within it, which that counts double.
    """
    count = int(units.max()) + 1
    member = (units[:, None] == np.arange(count)).astype(np.float64) if count < len(x) else None
    own, inner = np.zeros((count, 3)), np.zeros((count, 3))
    for start in range(0, len(x), BLOCK):
        rows = slice(start, start + BLOCK)
        up, right = np.sign(x[rows, None] - x), np.sign(y[rows, None] - y)
        pair = weights[rows, None] * weights
        for k, product in enumerate((up * right * pair, up * up * pair, right * right * pair)):
            own[:, k] += np.bincount(units[rows], weights=product.sum(axis=1), minlength=count)
            if member is not None:
                within = (product @ member)[np.arange(len(product)), units[rows]]
                inner[:, k] += np.bincount(units[rows], weights=within, minlength=count)
    return own.sum(axis=0), 2 * own - inner


def spearman_without(
    pair: tuple[FloatArray, FloatArray], ranks: tuple[FloatArray, FloatArray], weights: FloatArray, gone: IntArray
) -> float:
    """Spearman's correlation of the other items, their midranks less what the unit put below them."""
    kept = np.ones(len(weights), dtype=bool)
    kept[gone] = False
    a, b = (
        rank[kept] - below(values[kept], values[gone], weights[gone]) for values, rank in zip(pair, ranks, strict=True)
    )
    return weighted_spearman(a, b, weights[kept])


def below(values: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight of the others below each value and half that of equal ones."""
    order = np.argsort(others)
    cumulated = np.concatenate([[0.0], np.cumsum(weights[order])])
    left, right = (np.searchsorted(others[order], values, side=side) for side in ("left", "right"))
    return np.asarray((cumulated[left] + cumulated[right]) / 2, dtype=np.float64)


def weighted_spearman(a: FloatArray, b: FloatArray, weights: FloatArray) -> float:
    """Pearson's correlation of ranks, nan where one does not vary but for rounding."""
    if not len(weights):
        return math.nan
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    spread = math.sqrt(float((weights * a * a).sum()) * float((weights * b * b).sum()))
    return within(float((weights * a * b).sum()) / spread) if spread > TINY * float(weights.sum()) ** 3 else math.nan


def midranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight of smaller values and half that of equal ones."""
    distinct, place = np.unique(values, return_inverse=True)
    mass = np.bincount(place, weights=weights, minlength=len(distinct))
    return np.asarray((np.cumsum(mass) - mass / 2)[place], dtype=np.float64)


def bootstrap_ends(x: FloatArray, y: FloatArray, plan: Design, method: Method, value: float) -> Ends:
    """BCa over items or groups, with the jackknife's acceleration."""
    weights = plan.weights if plan.weighted else None
    replicates = [
        correlate(x[k], y[k], None if weights is None else weights[k], method) for k in drawn_rows(plan, RESAMPLES)
    ]
    return intervals.bca(value, np.array(replicates), without_each(x, y, plan, method), plan.level)
