"""Intervals. Each takes what it needs as numbers and returns (low, high); which one is the default stands in ``choose``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import special, stats

from pge_nb.calibration.inputs import FloatArray
from pge_nb.calibration.sums import Statistic, quietly

Ends: TypeAlias = tuple[float, float]

POSTERIOR_DRAWS = 10_000
POSTERIOR_SEED = 20_141  # fixed, so that the same arrays always give the same interval
LARGEST_LOG = 700.0  # math.exp overflows above
PRIOR_MASS = 2.0  # 1/2 a cell of a 2 x 2 table (Jeffreys), the same mass spread evenly over larger ones


def quantile(level: float, units: int | None = None) -> float:
    """Two-sided normal quantile, or Student's with units - 1 degrees of freedom."""
    tail = (1 + level) / 2
    return float(special.ndtri(tail)) if units is None else float(special.stdtrit(max(units - 1, 1), tail))


def wald(value: float, variance: float, z: float, low: float = -math.inf, high: float = math.inf) -> Ends:
    """Value +- z standard errors, cut to the range of the statistic."""
    if math.isnan(variance) or math.isnan(value):
        return low, high
    half = z * math.sqrt(variance)
    return max(low, value - half), min(high, value + half)


def on_log(value: float, half: float) -> Ends:
    """Ends that lie this far from the logarithm of the value; all numbers above 0 where that cannot be told."""
    if not math.isfinite(half) or half > LARGEST_LOG:
        return 0.0, math.inf
    return value * math.exp(-half), value * math.exp(half)


def wilson(rate: float, n: float, z: float) -> Ends:
    """Score interval of a rate (Wilson 1927); ``n`` may be an effective size."""
    if n <= 0 or math.isnan(rate):
        return 0.0, 1.0
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    # At rate 0 and 1 the outer end is exact; rounding must not leave the value outside its own interval.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


def exact_upper(hits: float, n: float, confidence: float) -> float:
    """One-sided upper limit of a rate (Clopper & Pearson 1934; for effective sizes Korn & Graubard 1998)."""
    return 1.0 if hits >= n else float(special.betaincinv(hits + 1, n - hits, confidence))


def exact_lower(hits: float, n: float, confidence: float) -> float:
    """One-sided lower limit of a rate."""
    return 0.0 if hits <= 0 else float(special.betaincinv(hits, n - hits + 1, 1 - confidence))


def tango(more: float, less: float, n: float, z: float) -> Ends:
    """Score interval of a paired difference (more - less) / n (Tango 1998); counts may be scaled to an effective size.

    With d the difference, the discordant rate under d is the larger root of the likelihood equation, and the interval holds
    the d with (more - less - n d)^2 <= z^2 n (2 q + d (1 - d)), q = P(less). Ends by bisection: the score falls in d.
    """
    if n <= 0:
        return -1.0, 1.0

    def score(d: float) -> float:
        b = -more - less + (2 * n - more + less) * d
        c = -less * d * (1 - d)
        q = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        spread = n * (2 * q + d * (1 - d))
        gap = more - less - n * d
        return gap / math.sqrt(spread) if spread > 0 else math.copysign(math.inf, gap) if gap else 0.0

    middle = (more - less) / n
    return bisect(score, -1.0, middle, z), bisect(score, middle, 1.0, -z)


def bisect(score: Callable[[float], float], low: float, high: float, target: float) -> float:
    """Where a falling function meets the target, to the last digit."""
    for _ in range(100):
        middle = (low + high) / 2
        if score(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def newcombe(first: tuple[float, float, float], second: tuple[float, float, float], correlation: float = 0.0) -> Ends:
    """Interval of first - second from (rate, low, high) of each (square-and-add, Newcombe 1998); correlation of the two rates."""
    p, p_low, p_high = first
    q, q_low, q_high = second
    down, up = p - p_low, q_high - q
    low = p - q - math.sqrt(max(down**2 - 2 * correlation * down * up + up**2, 0.0))
    down, up = q - q_low, p_high - p
    high = p - q + math.sqrt(max(down**2 - 2 * correlation * down * up + up**2, 0.0))
    return max(-1.0, low), min(1.0, high)


END = 1e-12
"""How near to an end of its range a value is at it."""


def fisher_jackknife(value: float, without: FloatArray, z: float, low: float = -1.0) -> Ends | None:
    """Delete-one jackknife on Fisher's z (Tukey 1958; Fisher 1921), the range (low, 1) mapped onto (-1, 1).

    None when the jackknife can say nothing: value at an end, a replicate undefined, or no variation between replicates.
    """

    def stretch(x: FloatArray | float) -> FloatArray:
        return np.arctanh(np.clip(2 * (np.asarray(x) - low) / (1 - low) - 1, -1, 1))

    units = len(without)
    # Rounding can leave a perfect value a hair inside its range, where the stretch has no slope to speak of.
    if units < 2 or not low + END < value < 1 - END or not np.isfinite(without).all():
        return None
    with np.errstate(divide="ignore"):
        replicates = stretch(without)
    if np.isfinite(replicates).all():
        spread = replicates - replicates.mean()
    else:
        # Without one group the statistic is at its end: stretch the raw deviations by the slope at the value instead.
        spread = (without - without.mean()) * 2 / (1 - low) / (1 - (2 * (value - low) / (1 - low) - 1) ** 2)
    error = math.sqrt((units - 1) / units * float((spread**2).sum()))
    if error < 1e-12:
        return None
    centre = float(stretch(value))
    ends = (np.tanh([centre - z * error, centre + z * error]) + 1) / 2 * (1 - low) + low
    return float(ends[0]), float(ends[1])


def posterior(cells: FloatArray, counts: FloatArray, prior: FloatArray, statistic: Statistic, level: float) -> Ends:
    """Quantiles of the statistic under the Dirichlet posterior of the cell probabilities.

    Args:
        cells: features of one item in each cell (cells x features).
        counts: items in each cell, which may be scaled to an effective size.
        prior: prior mass of each cell.
        statistic: function of the sums.
        level: probability between the ends.
    """
    total = counts.sum()
    gammas = np.random.default_rng(POSTERIOR_SEED).standard_gamma(counts + prior, size=(POSTERIOR_DRAWS, len(counts)))
    draws = quietly(statistic, (gammas / gammas.sum(axis=1, keepdims=True) * total) @ cells)
    tail = (1 - level) / 2
    low, high = np.nanquantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def percentile(replicates: FloatArray, level: float) -> Ends:
    """Percentile bootstrap (Efron 1979), undefined replicates left out; nan where none is defined."""
    replicates = replicates[np.isfinite(replicates)]
    if not len(replicates):
        return math.nan, math.nan
    tail = (1 - level) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return float(low), float(high)


def bca(value: float, replicates: FloatArray, without: FloatArray, level: float) -> Ends:
    """Bias-corrected and accelerated bootstrap (Efron 1987); ties count half, undefined replicates are left out."""
    replicates = replicates[np.isfinite(replicates)]
    without = without[np.isfinite(without)]
    if not len(replicates) or not len(without):
        return percentile(replicates, level)
    below = (np.sum(replicates < value) + np.sum(replicates <= value)) / (2 * len(replicates))
    deviations = without.mean() - without
    scale = float((deviations**2).sum())
    if scale == 0 or below in (0, 1):
        return percentile(replicates, level)
    bias = float(special.ndtri(below))
    acceleration = float((deviations**3).sum()) / (6 * scale**1.5)
    z = np.array([special.ndtri((1 - level) / 2), special.ndtri((1 + level) / 2)])
    shares = special.ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))
    low, high = np.quantile(replicates, shares)
    return float(low), float(high)


def standard_deviation(sd: float, freedom: float, level: float) -> Ends:
    """Chi-squared interval of a standard deviation of normal errors."""
    tail = (1 - level) / 2
    low, high = stats.chi2.ppf([1 - tail, tail], freedom)
    return sd * math.sqrt(freedom / low), sd * math.sqrt(freedom / high)
