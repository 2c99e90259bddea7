"""A rate and a paired difference of rates, for every statistic that is one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration import intervals
from pge_nb.calibration.choose import bootstrap_ends
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import Design, FloatArray, warn_few_groups
from pge_nb.calibration.intervals import Ends
from pge_nb.calibration.sums import Sums

AT_THE_END = "all items alike: how much groups differ cannot be seen, so each group counts as one item"


def mean_of(values: FloatArray, plan: Design) -> Sums:
    """The weighted mean as a statistic of sums."""
    return Sums(np.column_stack([values, np.ones(len(values))]), ratio, plan)


def ratio(sums: NDArray[Any]) -> NDArray[Any]:
    """First sum over second."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def quantile_for(plan: Design) -> float:
    """Normal for independent items, t(G - 1) for groups."""
    return intervals.quantile(plan.level, plan.count)


def effective_size(sums: Sums, spread: float) -> float:
    """Independent items that would know the mean as well: spread / variance, at most n (Kish 1965).

    Args:
        sums: the mean.
        spread: variance of one item, p (1 - p) for a rate. 0: how groups differ cannot be seen, and each counts as one item.
    """
    plan = sums.design
    if plan.count is None and not plan.weighted:
        return float(plan.n)
    if spread <= 0 or plan.units < 2:
        return float(min(plan.units, plan.kish))
    variance = sums.variance()
    return min(float(plan.n), spread / variance) if variance > 0 else float(min(plan.units, plan.kish))


def rate(hits: FloatArray, plan: Design, *, missing: int = 0, notes: tuple[str, ...] = ()) -> Estimate:
    """Weighted mean of zeros and ones.

    Default interval: Wilson (1927), with weights on the effective size; with groups the delete-one-group jackknife on Fisher's z,
    which on (0, 1) is half the logit, with t(G - 1), and where that has no variation Wilson with each group as one item.
    Analytic: Wald, with groups on the linearised variance with G / (G - 1).
    """
    sums = mean_of(hits, plan)
    value = sums.value() if plan.n else math.nan
    if math.isnan(value):
        return undefined(plan, missing, (0.0, 1.0), notes)
    size = effective_size(sums, value * (1 - value))
    ends, method = rate_ends(sums, value, size)
    if plan.count is not None and value in (0, 1):
        notes = (*notes, AT_THE_END)
    return wrap(plan, value, ends, method, missing=missing, notes=(*notes, *warn_few_groups(plan.count)))


def rate_ends(sums: Sums, value: float, size: float) -> tuple[Ends, str]:
    """Interval of a rate and its name."""
    plan = sums.design
    if plan.interval == "bootstrap":
        return bootstrap_ends(sums, value, (0.0, 1.0)), "BCa bootstrap"
    if plan.interval == "analytic":
        independent = plan.count is None and not plan.weighted
        variance = value * (1 - value) / plan.n if independent else sums.variance()
        return intervals.wald(value, variance, quantile_for(plan), 0.0, 1.0), wald_name(plan)
    if plan.count is not None:
        ends = intervals.fisher_jackknife(value, sums.without_each(), quantile_for(plan), low=0.0)
        if ends is not None:
            return ends, "delete-one-group jackknife on Fisher z, t(G - 1)"
    plain = plan.count is None and not plan.weighted
    return intervals.wilson(
        value, size, quantile_for(plan)
    ), "Wilson" if plain else f"Wilson, effective size {size:.1f}"


def wald_name(plan: Design) -> str:
    """Which variance a Wald interval rests on."""
    if plan.count is not None:
        return "Wald by group"
    return "Wald, weighted" if plan.weighted else "Wald"


def paired_difference(
    differences: FloatArray, plan: Design, *, missing: int = 0, notes: tuple[str, ...] = ()
) -> Estimate:
    """Weighted mean of -1, 0 and 1.

    Default interval: Tango (1998), with groups on counts scaled to the effective size and t(G - 1) for z; analytic: Wald.
    """
    sums = mean_of(differences, plan)
    value = sums.value() if plan.n else math.nan
    if math.isnan(value):
        return undefined(plan, missing, (-1.0, 1.0), notes)
    more, less = (float((plan.weights * (differences == sign)).sum() / plan.weights.sum()) for sign in (1, -1))
    ends, method = difference_ends(sums, value, more, less)
    return wrap(plan, value, ends, method, missing=missing, notes=(*notes, *warn_few_groups(plan.count)))


def difference_ends(sums: Sums, value: float, more: float, less: float) -> tuple[Ends, str]:
    """Interval of a paired difference and its name; ``more`` and ``less`` are the shares of 1 and -1."""
    plan = sums.design
    if plan.interval == "bootstrap":
        return bootstrap_ends(sums, value, (-1.0, 1.0)), "BCa bootstrap"
    spread = more + less - value**2
    if plan.interval == "analytic":
        independent = plan.count is None and not plan.weighted
        variance = spread / plan.n if independent else sums.variance()
        return intervals.wald(value, variance, quantile_for(plan), -1.0, 1.0), wald_name(plan)
    size = effective_size(sums, spread)
    name = "Tango" if plan.count is None and not plan.weighted else f"Tango, effective size {size:.1f}"
    return intervals.tango(more * size, less * size, size, quantile_for(plan)), name


def mean(
    values: FloatArray, plan: Design, *, missing: int = 0, low: float = -math.inf, high: float = math.inf
) -> Estimate:
    """Weighted mean of numbers with the t interval, over groups where there are any."""
    sums = mean_of(values, plan)
    value = sums.value() if plan.n else math.nan
    if math.isnan(value):
        return undefined(plan, missing, (low, high), ())
    if plan.interval == "bootstrap":
        ends, method = bootstrap_ends(sums, value, (low, high)), "BCa bootstrap"
    else:
        ends = intervals.wald(value, sums.variance(), intervals.quantile(plan.level, plan.units), low, high)
        method = "t(n - 1)" if plan.count is None else "by group, t(G - 1)"
    return wrap(plan, value, ends, method, missing=missing, notes=warn_few_groups(plan.count))


def undefined(plan: Design, missing: int, ends: Ends, notes: tuple[str, ...]) -> Estimate:
    """Nothing to measure: nan, and the whole range."""
    return wrap(
        plan,
        math.nan,
        ends,
        "undefined: nothing is known",
        missing=missing,
        notes=(*notes, "no items to measure it on"),
    )


def wrap(plan: Design, value: float, ends: Ends, method: str, *, missing: int, notes: tuple[str, ...]) -> Estimate:
    """The estimate of this design."""
    return Estimate(
        value=value,
        low=ends[0],
        high=ends[1],
        level=plan.level,
        method=method,
        n=plan.n,
        groups=plan.count,
        missing=missing,
        notes=notes,
    )
