"""Whether a judge's probabilities mean what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from pge_nb.calibration import intervals
from pge_nb.calibration.choose import bootstrap_ends
from pge_nb.calibration.curves import Scored, scored
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    Rng,
    Values,
    warn_few_groups,
    whole,
)
from pge_nb.calibration.rates import mean, rate, undefined, wrap
from pge_nb.calibration.sums import Sums
from pge_nb.errors import BadInput, Uninformative

BAND_DRAWS = 500
BAND_SEED = 20_143


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Brier(Shown):
    """Brier score and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes:
        score: mean squared difference of probability and outcome, 0 best.
        miscalibration: what isotonic recalibration would gain on these items.
        discrimination: what the recalibrated probabilities gain over the base rate.
        uncertainty: p (1 - p) of the base rate p.
    """

    score: Estimate
    miscalibration: float
    discrimination: float
    uncertainty: float

    def remarks(self) -> tuple[str, ...]:
        """The parts, in one line."""
        return (
            f"miscalibration {self.miscalibration:.4f}, discrimination {self.discrimination:.4f}, "
            f"uncertainty {self.uncertainty:.4f}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """One bin [low, high) of probabilities: mean probability and observed rate of good items."""

    low: float
    high: float
    mean_probability: float
    observed: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """The reliability diagram.

    Attributes:
        bins: bins that hold items.
        probabilities: distinct probabilities, rising.
        curve: recalibrated (isotonic) rate at each.
        band_low: lower edge of the consistency band: where the curve of calibrated probabilities would lie.
        band_high: upper edge.
        level: confidence level of bins and band, at each point by itself.
        notes: how the band was made.
    """

    bins: tuple[ReliabilityBin, ...]
    probabilities: FloatArray
    curve: FloatArray
    band_low: FloatArray
    band_high: FloatArray
    level: float
    notes: tuple[str, ...]


def judged(labels: Values, probabilities: Values, **tail: Any) -> Scored:
    """Items with a label and a probability.

    Raises:
        BadInput: for a probability outside 0..1.
    """
    items = scored(labels, probabilities, **tail)
    if ((items.scores < 0) | (items.scores > 1)).any():
        raise BadInput("A probability lies outside 0 to 1.", "Divide scores by their maximum, or use recalibrate.")
    return items


def brier(
    labels: Values,
    probabilities: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Brier:
    """Mean squared error of probabilities, with its CORP decomposition.

    score = miscalibration - discrimination + uncertainty, recalibrated by isotonic regression (Brier 1950; Dimitriadis,
    Gneiting & Jordan 2021). All three parts are 0 or more. t interval of the mean, by group where there are groups. Items
    without label or probability are left out.

    Args:
        labels: the truth, one an item.
        probabilities: the judge's P(good), one an item.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default" and "analytic" are the same; or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for values that cannot be read and probabilities outside 0..1.
    """
    items = judged(
        labels, probabilities, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng
    )
    good, plan = items.good.astype(np.float64), items.plan
    score = mean((items.scores - good) ** 2, plan, missing=items.missing, low=0.0, high=1.0)
    if not plan.n:
        return Brier(score=score, miscalibration=math.nan, discrimination=math.nan, uncertainty=math.nan)
    fitted = isotonic(items.scores, good, plan.weights)
    recalibrated = float(np.average((fitted - good) ** 2, weights=plan.weights))
    base = float(np.average(good, weights=plan.weights))
    return Brier(
        score=score,
        miscalibration=score.value - recalibrated,
        discrimination=base * (1 - base) - recalibrated,
        uncertainty=base * (1 - base),
    )


def isotonic(scores: FloatArray, good: FloatArray, weights: FloatArray) -> FloatArray:
    """scikit-learn's isotonic fit at the scores themselves."""
    fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return np.asarray(fit.fit_transform(scores, good, sample_weight=weights), dtype=np.float64)


def calibration_error(
    labels: Values,
    probabilities: Values,
    bins: int = 10,
    adaptive: bool = False,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Expected calibration error: sum over bins of share * |mean probability - rate of good items| (Naeini et al. 2015).

    Bins are [a, b), the last one closed, of equal width, or with ``adaptive`` of equal numbers of items (equal probabilities stay
    together). The figure is above 0 for perfect probabilities too, the more so with many bins and few items; the note says how
    far: the mean of the same figure over outcomes drawn from the probabilities themselves. The interval is that of the figure
    with its bins held: delete-one jackknife (default), linearised (analytic) or BCa, cut at 0.

    Args:
        labels: the truth, one an item.
        probabilities: the judge's P(good), one an item.
        bins: number of bins.
        adaptive: equal numbers instead of equal widths.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for values that cannot be read, probabilities outside 0..1 and fewer than one bin.
    """
    items = judged(
        labels, probabilities, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng
    )
    plan = items.plan
    if not plan.n:
        return undefined(plan, items.missing, (0.0, 1.0), ())
    place = bin_of(items.scores, bin_edges(items.scores, bins, adaptive=adaptive, weights=plan.weights))
    gap = np.eye(int(place.max()) + 1)[place] * (items.scores - items.good)[:, None]
    sums = Sums(np.column_stack([np.ones(plan.n), gap]), binned_error, plan)
    value = sums.value()
    z = intervals.quantile(level, plan.units)
    if interval == "bootstrap":
        ends, method = bootstrap_ends(sums, value, (0.0, 1.0)), "BCa bootstrap"
    else:
        without = sums.without_each()
        spread = (plan.units - 1) / plan.units * float(((without - without.mean()) ** 2).sum())
        ends, method = intervals.wald(value, spread, z, 0.0, 1.0), "delete-one jackknife, bins held"
    note = f"perfect probabilities would show {floor_of(items, place):.3f} on average with these bins and items"
    ends = min(ends[0], value), max(ends[1], value)
    return wrap(plan, value, ends, method, missing=items.missing, notes=(note, *warn_few_groups(plan.count)))


def binned_error(sums: NDArray[Any]) -> NDArray[Any]:
    """Sum of the bins' absolute gaps over the items."""
    return np.asarray(np.abs(sums[..., 1:]).sum(axis=-1) / sums[..., 0])


def floor_of(items: Scored, place: IntArray) -> float:
    """Mean of the figure over outcomes drawn from the probabilities, fixed seed."""
    draws = np.random.default_rng(BAND_SEED).random((200, len(place))) < items.scores
    weights, count = items.plan.weights, int(place.max()) + 1
    gaps = [np.bincount(place, weights=weights * (items.scores - good), minlength=count) for good in draws]
    return float(np.abs(gaps).sum(axis=1).mean() / weights.sum())


def bin_edges(scores: FloatArray, bins: int, *, adaptive: bool, weights: FloatArray) -> FloatArray:
    """Edges from 0 to 1; or the first score of each block of equal weight, and the highest score.

    Raises:
        BadInput: for fewer than one bin.
    """
    if (bins := whole(bins, "bins")) < 1:
        raise BadInput(f"bins is {bins}.", "Give 1 or more.")
    if not adaptive:
        return np.asarray(np.arange(bins + 1) / bins, dtype=np.float64)
    distinct, place = np.unique(scores, return_inverse=True)
    mass = np.bincount(place, weights=weights)
    # A score belongs to the block that its middle lies in; the bin [a, b) starts at a block's first score.
    block = ((np.cumsum(mass) - mass / 2) / mass.sum() * bins).astype(np.int64)
    return np.append(distinct[np.unique(block, return_index=True)[1]], distinct[-1])


def bin_of(scores: FloatArray, edges: FloatArray) -> IntArray:
    """The bin [a, b) of each score; the last one takes its upper edge too."""
    return np.asarray(
        np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, max(len(edges) - 2, 0)), dtype=np.int64
    )


def reliability(
    labels: Values,
    probabilities: Values,
    bins: int = 10,
    adaptive: bool = False,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Reliability:
    """Observed rate of good items by probability: in bins, and as the isotonic curve with its consistency band.

    The band holds, at each point, the middle ``level`` of the curves of outcomes drawn from the probabilities themselves
    (Dimitriadis, Gneiting & Jordan 2021), 500 draws with a fixed seed: where the curve leaves it, the probabilities are not
    calibrated. It takes items as independent; the bins' intervals honour groups and weights as ``verdict_rates`` does.

    Args:
        labels: the truth, one an item.
        probabilities: the judge's P(good), one an item.
        bins: number of bins [a, b).
        adaptive: equal numbers instead of equal widths.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: interval of the bins.
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for values that cannot be read and probabilities outside 0..1.
        Uninformative: without items.
    """
    items = judged(
        labels, probabilities, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng
    )
    plan, good = items.plan, items.good.astype(np.float64)
    if not plan.n:
        raise Uninformative("No item has a label and a probability.", "Give both.")
    edges = bin_edges(items.scores, bins, adaptive=adaptive, weights=plan.weights)
    place = bin_of(items.scores, edges)
    points, first = np.unique(items.scores, return_index=True)
    draws = np.random.default_rng(BAND_SEED).random((BAND_DRAWS, plan.n)) < items.scores
    curves = np.array([isotonic(items.scores, draw.astype(np.float64), plan.weights)[first] for draw in draws])
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Reliability(
        bins=tuple(one_bin(items, place == k, edges, int(k)) for k in np.unique(place)),
        probabilities=points,
        curve=isotonic(items.scores, good, plan.weights)[first],
        band_low=low,
        band_high=high,
        level=level,
        notes=(f"consistency band from {BAND_DRAWS} draws with a fixed seed, items as independent",),
    )


def one_bin(items: Scored, inside: BoolArray, edges: FloatArray, position: int) -> ReliabilityBin:
    """Mean probability and observed rate of the items inside."""
    plan = items.plan.keep(inside)
    return ReliabilityBin(
        low=float(edges[position]),
        high=float(edges[min(position + 1, len(edges) - 1)]),
        mean_probability=float(np.average(items.scores[inside], weights=plan.weights)),
        observed=rate(items.good[inside].astype(np.float64), plan),
    )
