"""Intraclass correlation of numeric ratings."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pge_nb.calibration.choose import estimate
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import FloatArray, Interval, Matrix, Rng, Values, design, numbers, ratings_matrix
from pge_nb.calibration.intervals import END, Ends
from pge_nb.calibration.rates import wrap
from pge_nb.calibration.sums import Statistic, Sums, fraction
from pge_nb.errors import BadInput

Kind: TypeAlias = Literal["ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)"]


def icc(
    ratings: Matrix,
    kind: Kind = "ICC(A,1)",
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Share of the variance of ratings that lies between items (Shrout & Fleiss 1979; McGraw & Wong 1996).

    With mean squares R (items), C (raters), E (residual), W (within items), n items and k raters:
    ICC(1,1) = (R - W) / (R + (k - 1) W); ICC(C,1) = (R - E) / (R + (k - 1) E);
    ICC(A,1) = (R - E) / (R + (k - 1) E + k (C - E) / n); and of the mean of k raters
    ICC(1,k) = (R - W) / R; ICC(C,k) = (R - E) / R; ICC(A,k) = (R - E) / (R + (C - E) / n).
    Items with a missing rating are left out. Undefined (nan) when nothing varies, when the denominator is not above 0 (items
    alike, for the mean of k raters), or with fewer than two complete items: then the interval is -1 to 1, or -inf to 1 for the
    mean of k raters.

    Default and analytic interval: McGraw & Wong's, from F, which take ratings as normal; with groups or weights the default is
    the delete-one jackknife on Fisher's z and the analytic one linearised.

    Args:
        ratings: items x raters, numbers, nan where missing.
        kind: "A" is absolute agreement, "C" consistency, "1" raters that differ from item to item; ",k" the mean of all raters.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item; as the mean squares count items (n - 1), a weight of 2 is not quite the item twice.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: for a wrong shape, text, or an unknown kind.
    """
    if kind not in get_args(Kind):
        raise BadInput(f"kind is {kind!r}.", f"Give one of {', '.join(get_args(Kind))}.")
    matrix = ratings_matrix(ratings)
    scores = np.stack([numbers(rater, "a rating") for rater in matrix.T], axis=1)
    plan = design(len(scores), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    complete = np.asarray(~np.isnan(scores).any(axis=1), dtype=bool)
    scores, plan, missing = scores[complete], plan.keep(complete), int((~complete).sum())
    scores = scores - scores.mean() if len(scores) else scores
    sums = Sums(moments(scores), icc_statistic(kind, scores.shape[1]), plan)
    varies = len(scores) >= 2 and bool(np.ptp(scores) > 0)
    # Without total variance, or below it, the ratio is no share of anything.
    value = min(sums.value(), 1.0) if varies else math.nan
    whole = (-1.0 if kind[6] == "1" else -math.inf), 1.0
    if math.isnan(value):
        note = "nothing varies between items, or fewer than two items are complete"
        return wrap(plan, value, whole, "undefined: nothing is known", missing=missing, notes=(note,))
    if interval != "bootstrap" and plan.count is None and not plan.weighted:
        # Satterthwaite's degrees of freedom can vanish, and with them an end.
        ends = [out if math.isnan(end) else end for end, out in zip(f_ends(scores, kind, level), whole, strict=True)]
        return wrap(
            plan, value, (min(ends[0], value), max(ends[1], value)), "McGraw and Wong, F", missing=missing, notes=()
        )
    return estimate(sums, value, missing=missing, low=-1.0)


def moments(scores: FloatArray) -> FloatArray:
    """Items x (1, squared sum, squares, rating of each rater)."""
    return np.column_stack([np.ones(len(scores)), scores.sum(axis=1) ** 2, (scores**2).sum(axis=1), scores])


def mean_squares(sums: NDArray[Any], k: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """R, C, E and W of the sums of ``moments``."""
    n, raters = sums[..., 0], sums[..., 3:]
    grand = raters.sum(axis=-1) ** 2 / (n * k)
    rows, cols, total = sums[..., 1] / k - grand, (raters**2).sum(axis=-1) / n - grand, sums[..., 2] - grand
    within = total - rows
    return rows / (n - 1), cols / (k - 1), (within - cols) / ((n - 1) * (k - 1)), within / (n * (k - 1))


def icc_statistic(kind: Kind, k: int) -> Statistic:
    """The correlation as a function of sums."""
    model, size = kind[4], kind[6]

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        r, c, e, w = mean_squares(sums, k)
        noise = w if model == "1" else e
        shift = (c - e) / sums[..., 0] if model == "A" else 0.0
        scale = sums[..., 2] / sums[..., 0]
        if size == "k":
            return fraction(r - noise, r + shift, scale)
        return fraction(r - noise, r + (k - 1) * noise + k * shift, scale)

    return statistic


def f_ends(scores: FloatArray, kind: Kind, level: float) -> Ends:
    """McGraw & Wong (1996), table 7."""
    n, k = scores.shape
    r, c, e, w = (float(square) for square in mean_squares(moments(scores).sum(axis=0), k))
    tail = (1 + level) / 2
    model = kind[4]
    if model == "A":
        return averaged(absolute_ends(r, c, e, (n, k), tail), kind, k)
    noise, freedom = (w, n * (k - 1)) if model == "1" else (e, (n - 1) * (k - 1))
    if noise <= 0:
        return 1.0, 1.0
    low = r / noise / float(stats.f.ppf(tail, n - 1, freedom))
    high = r / noise * float(stats.f.ppf(tail, freedom, n - 1))
    return averaged(((low - 1) / (low + k - 1), (high - 1) / (high + k - 1)), kind, k)


def absolute_ends(r: float, c: float, e: float, shape: tuple[int, int], tail: float) -> Ends:
    """Interval of ICC(A,1), with Satterthwaite's degrees of freedom."""
    n, k = shape
    value = (r - e) / (r + (k - 1) * e + k * (c - e) / n)
    if value > 1 - END:
        return 1.0, 1.0
    a, b = k * value / (n * (1 - value)), 1 + k * value * (n - 1) / (n * (1 - value))
    freedom = (a * c + b * e) ** 2 / ((a * c) ** 2 / (k - 1) + (b * e) ** 2 / ((n - 1) * (k - 1)))
    up, down = float(stats.f.ppf(tail, n - 1, freedom)), float(stats.f.ppf(tail, freedom, n - 1))
    spread = k * c + (k * n - k - n) * e
    return n * (r - up * e) / (up * spread + n * r), n * (down * r - e) / (spread + n * down * r)


def averaged(ends: Ends, kind: Kind, k: int) -> Ends:
    """Spearman-Brown for the mean of k raters."""
    if kind[6] == "1":
        return ends
    # At -1 / (k - 1) and below the mean of k raters knows nothing at all.
    low, high = (k * end / (1 + (k - 1) * end) if 1 + (k - 1) * end > END else -math.inf for end in ends)
    return low, high
