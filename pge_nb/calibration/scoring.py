"""How a judge's scores compare with people's scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration import intervals
from pge_nb.calibration.choose import bootstrap_ends
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import (
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
from pge_nb.calibration.rates import mean, undefined, wrap
from pge_nb.calibration.sums import Sums, fraction, without_rounding


def paired(truth: Values, scores: Values, **tail: Any) -> tuple[FloatArray, FloatArray, Design, int]:
    """Items that have both numbers."""
    columns(("truth", truth), ("scores", scores))
    x, y = numbers(truth, "truth"), numbers(scores, "scores")
    kept = np.asarray(~np.isnan(x) & ~np.isnan(y), dtype=bool)
    return x[kept], y[kept], design(len(x), **tail).keep(kept), int((~kept).sum())


def signed_error(
    truth: Values,
    scores: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Mean of score - truth, in points of the score; above 0 the judge is too kind.

    t interval of the mean, with groups on the linearised variance by group with t(G - 1). Items with a number missing are left
    out.

    Args:
        truth: a person's score, one an item.
        scores: the judge's.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default" and "analytic" are the same; or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ or a score is not a number.
    """
    x, y, plan, missing = paired(
        truth, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng
    )
    return mean(y - x, plan, missing=missing)


def spread_ratio(
    truth: Values,
    scores: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Standard deviation of the judge's scores over that of people's; under 1 the judge huddles in the middle.

    Default interval: delete-one jackknife of the log with t(n - 1) or t(G - 1). Analytic: Pitman (1939) and Morgan (1939) for
    paired normal variances, with groups the linearised log. Undefined (nan) when people's scores do not vary.

    Args:
        truth: a person's score, one an item.
        scores: the judge's.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ or a score is not a number.
    """
    x, y, plan, missing = paired(
        truth, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng
    )
    if len(x) < 3 or np.ptp(x) == 0:
        return undefined(plan, missing, (0.0, math.inf), ("people's scores do not vary",))
    x, y = x - x.mean(), y - y.mean()
    sums = Sums(np.column_stack([np.ones(len(x)), x, x * x, y, y * y]), deviation_ratio, plan)
    value = sums.value()
    ends, method = ratio_ends(sums, value, x, y)
    silent = (method.removeprefix("undefined: "),) if method.startswith("undefined") else ()
    return wrap(plan, value, ends, method, missing=missing, notes=(*silent, *warn_few_groups(plan.count)))


def deviation_ratio(sums: NDArray[Any]) -> NDArray[Any]:
    """Root of the ratio of variances."""
    n, x, xx, y, yy = (sums[..., k] for k in range(5))
    return np.asarray(np.sqrt(fraction(without_rounding(yy - y * y / n, yy), xx - x * x / n, xx)))


def ratio_ends(sums: Sums, value: float, x: FloatArray, y: FloatArray) -> tuple[tuple[float, float], str]:
    """Interval of the ratio and its name."""
    plan = sums.design
    if plan.interval == "bootstrap":
        return bootstrap_ends(sums, value, (0.0, math.inf)), "BCa bootstrap"
    if value == 0 or plan.units < 2:
        return (0.0, math.inf), "undefined: the scores do not vary, or there is one group"
    z = intervals.quantile(plan.level, plan.units)
    if plan.interval == "analytic" and plan.count is None and not plan.weighted:
        return pitman_morgan(value, float(np.corrcoef(x, y)[0, 1]), plan), "Pitman and Morgan"
    if plan.interval == "analytic":
        half = z * math.sqrt(sums.variance()) / value
        return intervals.on_log(value, half), "linearised log"
    without, units = sums.without_each(), plan.units
    unit = "item" if plan.count is None else "group"
    if not (without > 0).all():
        return (0.0, math.inf), f"undefined: without one {unit} the scores do not vary"
    logs = np.log(without)
    half = z * math.sqrt((units - 1) / units * float(((logs - logs.mean()) ** 2).sum()))
    return intervals.on_log(value, half), f"delete-one-{unit} jackknife of the log"


def pitman_morgan(value: float, correlation: float, plan: Design) -> tuple[float, float]:
    """The ratios at which sum and difference of the scaled scores are uncorrelated by the t test with n - 2 degrees."""
    t = intervals.quantile(plan.level, plan.n - 1)
    spread = 1 + 2 * t * t * (1 - correlation**2) / (plan.n - 2)
    step = math.sqrt(max(spread**2 - 1, 0.0))
    return value * math.sqrt(spread - step), value * math.sqrt(spread + step)
