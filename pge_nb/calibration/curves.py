"""How well scores rank good items above bad ones, and nothing else about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    Interval,
    Rng,
    Values,
    columns,
    design,
    numbers,
    warn_few_groups,
)
from pge_nb.calibration.intervals import Ends
from pge_nb.calibration.rates import undefined, wrap
from pge_nb.calibration.resampling import RESAMPLES, drawn_rows, without_blocks
from pge_nb.calibration.verdicts import binary


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Roc(Shown):
    """The curve of all thresholds and the area under it.

    Attributes:
        auc: P(a good item scores above a bad one), ties half.
        false_pass: P(score >= threshold | bad) at each threshold.
        tpr: P(score >= threshold | good) at each threshold.
        thresholds: falling, the first inf.
    """

    auc: Estimate
    false_pass: FloatArray
    tpr: FloatArray
    thresholds: FloatArray


@dataclass(frozen=True, slots=True)
class Scored:
    """Items with a label and a score."""

    good: BoolArray
    scores: FloatArray
    plan: Design
    missing: int


def scored(labels: Values, scores: Values, **tail: Any) -> Scored:
    """Items that have both a label and a score."""
    columns(("labels", labels), ("scores", scores))
    truth, values = binary(labels, "labels"), numbers(scores, "scores")
    known = ~np.isnan(truth) & ~np.isnan(values)
    plan = design(len(truth), **tail).keep(known)
    return Scored(truth[known] == 1, values[known], plan, int((~known).sum()))


def roc(
    labels: Values,
    scores: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Roc:
    """ROC curve and its area.

    AUC = P(score of a good item > score of a bad one) + P(equal) / 2 (Hanley & McNeil 1982); scikit-learn computes it and the
    curve. Its variance is DeLong's (1988), summed by group where there are groups (Obuchowski 1997). Default interval: on the
    logit scale, with groups t(G - 1); at AUC 0 or 1, where DeLong's variance is 0, Newcombe's (2006, method 5). Analytic:
    AUC +- z standard errors. Items without label or score are left out; with one class only the AUC is nan.

    Args:
        labels: the truth, one an item.
        scores: higher means better, one an item.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ, or a label or score cannot be read.
    """
    items = scored(labels, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    plan, good = items.plan, items.good
    if good.all() or not good.any():
        empty = np.empty(0)
        nothing = undefined(plan, items.missing, (0.0, 1.0), ("only one class of labels",))
        return Roc(auc=nothing, false_pass=empty, tpr=empty, thresholds=empty)
    weights = plan.weights if plan.weighted else None
    x, y, thresholds = metrics.roc_curve(good, items.scores, sample_weight=weights, drop_intermediate=False)
    value = float(metrics.roc_auc_score(good, items.scores, sample_weight=weights))
    ends, method = auc_ends(items, value)
    notes = warn_few_groups(plan.count)
    auc = wrap(plan, value, (min(ends[0], value), max(ends[1], value)), method, missing=items.missing, notes=notes)
    return Roc(auc=auc, false_pass=x, tpr=y, thresholds=thresholds)


def auc_ends(items: Scored, value: float) -> tuple[Ends, str]:
    """Interval of the AUC and its name."""
    plan = items.plan
    if plan.interval == "bootstrap":
        return bootstrap_auc(items, value), "BCa bootstrap"
    z = intervals.quantile(plan.level, plan.count)
    pulls = placements(items)
    if plan.interval == "analytic":
        return intervals.wald(value, auc_variance(items, pulls), z, 0.0, 1.0), "DeLong"
    variance = auc_variance(items, pulls)
    if variance <= 0 or value in (0, 1):
        share = 1.0 if plan.count is None else plan.count / plan.n
        return newcombe_auc(value, items.good.sum() * share, (~items.good).sum() * share, z), "Newcombe, method 5"
    half = z * math.sqrt(variance) / (value * (1 - value))
    logit = math.log(value / (1 - value))
    return (1 / (1 + math.exp(half - logit)), 1 / (1 + math.exp(-half - logit))), "DeLong, logit"


def placed(scores: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Share of the others' weight that lies below each score, ties half."""
    order = np.argsort(others, kind="stable")
    values, cumulated = others[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    below = cumulated[np.searchsorted(values, scores, side="left")]
    upto = cumulated[np.searchsorted(values, scores, side="right")]
    return np.asarray((below + upto) / 2 / cumulated[-1], dtype=np.float64)


def placements(items: Scored) -> FloatArray:
    """Each item's part in the error of the AUC: its placement among the other class, less the mean (DeLong 1988)."""
    good, weights = items.good, items.plan.weights
    pulls = np.empty(len(good))
    for side, sign in ((good, 1.0), (~good, -1.0)):
        place = sign * placed(items.scores[side], items.scores[~side], weights[~side])
        pulls[side] = weights[side] * (place - np.average(place, weights=weights[side])) / weights[side].sum()
    return pulls


def auc_variance(items: Scored, pulls: FloatArray) -> float:
    """DeLong's variance, m / (m - 1) in each class; with groups the squared sums of the groups, G / (G - 1)."""
    plan = items.plan
    if plan.groups is None:
        sides = (pulls[items.good], pulls[~items.good])
        return math.fsum(float((side**2).sum()) * len(side) / max(len(side) - 1, 1) for side in sides)
    sums = np.bincount(plan.groups, weights=pulls)
    return float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)


def newcombe_auc(value: float, m: float, n: float, z: float) -> Ends:
    """The AUCs whose own Hanley-McNeil variance leaves the value within z standard errors (Newcombe 2006, method 5)."""
    pairs, half = m * n, (m + n) / 2

    def score(auc: float) -> float:
        spread = (2 * half - 1 - (3 * half - 3) / ((2 - auc) * (1 + auc))) * auc * (1 - auc) / pairs
        gap = value - auc
        return gap / math.sqrt(spread) if spread > 0 else math.copysign(math.inf, gap) if gap else 0.0

    return intervals.bisect(score, 0.0, value, z), intervals.bisect(score, value, 1.0, -z)


def bootstrap_auc(items: Scored, value: float) -> Ends:
    """BCa over items or groups."""
    plan = items.plan

    def area(good: BoolArray, scores: FloatArray, weights: FloatArray) -> float:
        if good.all() or not good.any():
            return math.nan
        return float(np.average(placed(scores[good], scores[~good], weights[~good]), weights=weights[good]))

    arrays: list[Any] = [items.good, items.scores, plan.weights]
    replicates = np.array([area(*(array[rows] for array in arrays)) for rows in drawn_rows(plan, RESAMPLES)])
    return intervals.bca(value, replicates, without_blocks(area, arrays, plan.groups), plan.level)
