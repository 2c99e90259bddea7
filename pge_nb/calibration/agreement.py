"""Agreement between raters on labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import krippendorff
import numpy as np
from sklearn import metrics

from pge_nb.calibration import coincidence, rates
from pge_nb.calibration.choose import LINEARISED, Textbook, estimate
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import (
    Coded,
    Design,
    FloatArray,
    IntArray,
    Interval,
    Matrix,
    Rng,
    Values,
    check_labels_meet,
    code,
    columns,
    declared,
    design,
    is_missing,
    ratings_matrix,
)
from pge_nb.calibration.patterns import (
    Chance,
    Weights,
    ac_chance,
    ac_statistic,
    cells_of,
    fleiss_chance,
    fleiss_statistic,
    kappa_statistic,
    pair_rows,
    share_rows,
    similarity,
)
from pge_nb.calibration.sums import Statistic, Sums

Metric: TypeAlias = Literal["nominal", "ordinal", "interval"]


def percent_agreement(
    a: Values,
    b: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Share of items on which two raters give the same label, 0 to 1.

    Pairs with a missing rating are left out. Default interval: Wilson (1927), with groups a delete-one-group jackknife on
    Fisher's z with t(G - 1); analytic: Wald, with groups the linearised cluster variance with G / (G - 1).

    Args:
        a: first rater's labels, one an item.
        b: second rater's.
        level: confidence level.
        groups: group (task, run) of each item, when items of a group resemble each other.
        item_weights: 1 / probability of having been chosen, one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ, or one rater's labels are text and the other's numbers.
    """
    first, second = columns(("a", a), ("b", b))
    check_labels_meet(first, second)
    plan = design(len(first), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    kept = ~(is_missing(first) | is_missing(second))
    same = np.array(
        [x == y for x, y in zip(first[kept].tolist(), second[kept].tolist(), strict=True)], dtype=np.float64
    )
    return rates.rate(same, plan.keep(kept), missing=int((~kept).sum()))


def cohen_kappa(
    a: Values,
    b: Values,
    weights: Weights = None,
    labels: Sequence[Any] | None = None,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Agreement of two raters beyond chance, each rater keeping its own frequencies (Cohen 1960, 1968).

    kappa = 1 - sum(v * observed) / sum(v * expected), v the disagreement of two labels: 0/1, |i - j| or (i - j)^2 of their
    positions. scikit-learn computes the value. Pairs with a missing rating are left out. Undefined (nan) when both raters give
    one and the same label throughout. With a rare label kappa is low even where agreement is high (the paradox of Feinstein &
    Cicchetti 1990): see ``audit`` and ``gwet_ac``.

    Default interval: Dirichlet posterior of the q x q cells, prior mass 2 in all, fixed seed; with groups a delete-one-group
    jackknife on Fisher's z with t(G - 1). Analytic: Fleiss, Cohen & Everitt (1969).

    Args:
        a: first rater's labels, one an item.
        b: second rater's.
        weights: None for nominal labels, "linear" or "quadratic" for ordered ones.
        labels: all labels in their order; needed for ordered text, unless it is an ordered pandas Categorical.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ, a label is not declared, or ordered weights meet text without declared labels.
    """
    first, second = columns(("a", a), ("b", b))
    check_labels_meet(first, second)
    coded = code(np.column_stack([first.astype(object), second.astype(object)]), declared(labels, a, b))
    disagreement = 1 - similarity(coded, weights)
    plan = design(len(first), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    kept = np.asarray((coded.codes >= 0).all(axis=1), dtype=bool)
    pairs, plan, q = coded.codes[kept], plan.keep(kept), len(disagreement)
    rows_of = pair_rows(disagreement)
    sums = Sums(rows_of(pairs), kappa_statistic(disagreement), plan)
    value = sklearn_kappa(pairs, weights, q, plan) if plan.n else math.nan
    notes = () if not math.isnan(value) else ("both raters gave one and the same label, or there was no pair",)
    return estimate(
        sums,
        value,
        missing=int((~kept).sum()),
        cells=cells_of(pairs, q, rows_of),
        textbook=Textbook("Fleiss, Cohen and Everitt, normal", normal=True),
        notes=notes,
    )


def gwet_ac(
    ratings: Matrix,
    weights: Weights = None,
    labels: Sequence[Any] | None = None,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Gwet's AC1 (nominal) or AC2 (weighted): agreement beyond chance that rare labels do not upset (Gwet 2008, 2014).

    (pa - pe) / (1 - pe); pa averages, over items with two ratings or more, the agreeing share of pairs; pe = T / (q (q - 1))
    * sum pi_k (1 - pi_k), with pi_k the mean share of label k over all rated items, T the sum of the weight matrix. Items
    without a rating are missing; items with one count for pi alone. 1 when only one label was ever given.

    Default interval: Dirichlet posterior of the patterns of ratings (2 raters: of the q x q cells), prior mass 2 in all, fixed
    seed, where there are at most 256 patterns and no gaps; else the delete-one jackknife on Fisher's z. Analytic: Gwet's
    variance for fixed raters with t(n - 1), capped at 1; with groups or weights the linearised one.

    Args:
        ratings: items x raters (krippendorff.alpha wants the transpose), None, nan or NA where missing.
        weights: None, "linear" or "quadratic" by position in ``labels``.
        labels: all labels in their order; those never given count in q.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for a wrong shape, an undeclared label, or ordered weights on text without declared labels.
    """
    coded = code(ratings_matrix(ratings), declared(labels, ratings))
    alike = similarity(coded, weights)
    plan = design(len(coded.codes), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    return by_shares(coded, alike, ac_statistic(alike), ac_chance(alike), plan)


def fleiss_kappa(
    ratings: Matrix,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Agreement of several raters beyond chance, all raters sharing one set of frequencies (Fleiss 1971).

    (pa - pe) / (1 - pe), pe = sum pi_k^2. With gaps, pa averages over items with two ratings or more and pi_k is the mean share
    of label k (Gwet 2014); without, this is Fleiss's own. Undefined (nan) when only one label was given. With a rare label it
    is near 0 however well raters agree: read it beside ``gwet_ac``.

    Intervals as in ``gwet_ac``. Fleiss's own standard error (1971) holds only where raters agree by chance, and is not offered.

    Args:
        ratings: items x raters, None, nan or NA where missing; nominal labels.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for a wrong shape.
    """
    coded = code(ratings_matrix(ratings), None)
    plan = design(len(coded.codes), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    alike = similarity(coded, None)
    return by_shares(coded, alike, fleiss_statistic(alike), fleiss_chance(alike), plan)


def krippendorff_alpha(
    ratings: Matrix,
    *,
    metric: Metric = "nominal",
    labels: Sequence[Any] | None = None,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """1 - observed / expected disagreement of any number of raters, gaps allowed (Krippendorff 1970, 2011).

    The package krippendorff computes the value where items weigh the same and at most 30 values occur. Items with fewer than
    two ratings count as missing.
    Undefined (nan) when all ratings are one label.

    Default interval: Dirichlet posterior of the patterns (nominal and ordinal, no gaps, at most 256 patterns), else the
    delete-one jackknife on Fisher's z. Analytic: linearised, t(n - 1). Ordinal ratings of more than 30 values are ranked anew in
    each replicate; with more than 2,000 items or groups the jackknife leaves out 100 random blocks of them (fixed seed).

    Args:
        ratings: items x raters; krippendorff.alpha itself wants raters x items.
        metric: "nominal", "ordinal" (ranks within these data) or "interval" (squared differences of numbers).
        labels: all labels in their order; needed for ordinal text, unless it is an ordered pandas Categorical.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item; as alpha counts ratings (n - 1), a weight of 2 is not quite the item twice.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for a wrong shape, ordinal text without labels, or an interval metric on text.
    """
    matrix = ratings_matrix(ratings)
    plan = design(len(matrix), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    kept = (~is_missing(matrix)).sum(axis=1) >= 2
    plan, missing = plan.keep(kept), int((~kept).sum())
    table = coincidence.table(matrix[kept], metric, declared(labels, ratings))
    sums = table.sums(plan)
    value = sums.value() if plan.weighted else krippendorff_value(table, metric, sums)
    notes = () if not math.isnan(value) else ("all ratings are one label, or no item has two",)
    cells = (
        None if metric == "interval" else cells_of(np.asarray(table.codes, dtype=np.int64), table.size, table.rows_of)
    )
    textbook = Textbook("jackknife, t(n - 1)") if table.ranked else LINEARISED
    return estimate(sums, value, missing=missing, cells=cells, textbook=textbook, notes=notes)


def krippendorff_value(table: coincidence.Table, metric: Metric, sums: Sums) -> float:
    """The package's alpha, nan where it is undefined."""
    data = table.codes.astype(np.float64)
    if metric != "interval":
        data = np.where(data < 0, np.nan, data)
    distinct = len(np.unique(data[~np.isnan(data)]))
    if distinct < 2:
        return math.nan
    if distinct > coincidence.MOST_VALUES:
        # The package builds items x values x values: hours and gigabytes for continuous scores.
        return sums.value()
    return float(krippendorff.alpha(reliability_data=data.T, level_of_measurement=metric))


def by_shares(coded: Coded, alike: FloatArray, statistic: Statistic, chance: Chance, plan: Design) -> Estimate:
    """AC and Fleiss's kappa: functions of the mean agreement and the mean shares of the labels."""
    kept = np.asarray((coded.codes >= 0).any(axis=1), dtype=bool)
    codes, plan, q = coded.codes[kept], plan.keep(kept), len(alike)
    rows_of = share_rows(alike)
    sums = Sums(rows_of(codes), statistic, plan)
    value = sums.value() if plan.n else math.nan
    notes = () if not math.isnan(value) else ("only one label was given, or no item has two ratings",)
    textbook = Textbook("Gwet, fixed raters, t(n - 1)", gwet_variance(sums.rows, value, chance))
    cells = cells_of(codes, q, rows_of)
    return estimate(sums, value, missing=int((~kept).sum()), cells=cells, textbook=textbook, notes=notes)


def gwet_variance(rows: FloatArray, value: float, chance: Chance) -> float:
    """Variance of AC or Fleiss's kappa for fixed raters (Gwet 2014, chapter 5), n items, n' of them rated twice.

    sum (g_i - g)^2 / (n (n - 1)), g_i = n / n' (pa_i - pe) / (1 - pe) - 2 (1 - g) (pe_i - pe) / (1 - pe), the first term 0 for
    items rated once. With gaps this treats n' as given, and so differs from the linearised variance.
    """
    n, twice = len(rows), rows[:, 0]
    if n < 2 or math.isnan(value):
        return math.nan
    each, mean = chance(rows[:, 3:])
    pulls = n / twice.sum() * (rows[:, 1] - mean * twice) - 2 * (1 - value) * (each - mean)
    return float(((pulls / (1 - mean) - value) ** 2).sum() / (n * (n - 1)))


def sklearn_kappa(pairs: IntArray, weights: Weights, q: int, plan: Design) -> float:
    """scikit-learn's kappa, nan where both raters gave one and the same label."""
    if len(np.unique(pairs)) < 2:
        return math.nan
    sample_weight = plan.weights if plan.weighted else None
    score = metrics.cohen_kappa_score(
        pairs[:, 0], pairs[:, 1], labels=np.arange(q), weights=weights, sample_weight=sample_weight
    )
    return float(score)
