"""How fast something changes within the things that it changes in."""

from __future__ import annotations

import numpy as np

from pge_nb.calibration import intervals
from pge_nb.calibration.choose import bootstrap_ends
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import (
    Interval,
    Rng,
    Values,
    columns,
    design,
    group_codes,
    numbers,
    warn_few_groups,
)
from pge_nb.calibration.rates import undefined, wrap
from pge_nb.calibration.sums import Sums, fraction


def within_slope(
    values: Values,
    at: Values,
    within: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """Change of ``values`` for one more of ``at``, within the units: what differs between units is taken out.

    The fixed-effects slope: the sum of products of deviations from each unit's means, over that of squared deviations. t interval
    on the variance by group (Liang & Zeger 1986), with t(G - 1).

    Args:
        values: what changes, one an observation.
        at: when, or how much of the other thing.
        within: the unit of each observation.
        level: confidence level.
        groups: group of each observation, in which units lie; none: the units.
        interval: "default" and "analytic" are the same; or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ or something is not a number.
    """
    columns(("values", values), ("at", at), ("within", within))
    y, x = numbers(values, "values"), numbers(at, "at")
    kept = np.asarray(~np.isnan(x) & ~np.isnan(y), dtype=bool)
    units = group_codes(within, len(x))[kept]
    plan = design(
        len(x),
        level=level,
        groups=within if groups is None else groups,
        item_weights=None,
        interval=interval,
        rng=rng,
    ).keep(kept)
    x, y, missing = x[kept], y[kept], int((~kept).sum())
    count = np.maximum(np.bincount(units, minlength=units.max(initial=-1) + 1), 1)
    dx = x - (np.bincount(units, weights=x) / count)[units] if len(x) else x
    dy = y - (np.bincount(units, weights=y) / count)[units] if len(y) else y
    sums = Sums(np.column_stack([dx * dy, dx * dx, x * x]), lambda s: fraction(s[..., 0], s[..., 1], s[..., 2]), plan)
    value = sums.value() if plan.n else float("nan")
    whole = (-np.inf, np.inf)
    if np.isnan(value):
        return undefined(plan, missing, whole, ("nothing was seen at two times within a unit",))
    if interval == "bootstrap":
        ends, method = bootstrap_ends(sums, value, whole), "BCa bootstrap"
    else:
        ends = intervals.wald(value, sums.variance(), intervals.quantile(plan.level, plan.units))
        method = "within units, by group, t(G - 1)"
    return wrap(plan, value, ends, method, missing=missing, notes=warn_few_groups(plan.count))
