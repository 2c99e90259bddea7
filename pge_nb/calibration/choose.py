"""Which interval a statistic of sums gets, and the estimate around it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import FloatArray, warn_few_groups
from pge_nb.calibration.intervals import Ends
from pge_nb.calibration.resampling import RESAMPLES, unit_name
from pge_nb.calibration.sums import Sums


@dataclass(frozen=True, slots=True)
class Textbook:
    """An analytic interval: its name, its variance (None: linearised), and whether it takes the normal quantile and no n - 1."""

    name: str
    variance: float | None = None
    normal: bool = False


LINEARISED = Textbook("linearised, t(n - 1)")


@dataclass(frozen=True, slots=True)
class Cells:
    """The patterns that an item's ratings can show: features and prior of each, and which one each item shows."""

    rows: FloatArray
    prior: FloatArray
    pattern: FloatArray

    def ends(self, sums: Sums, size: float) -> Ends:
        """Dirichlet posterior with the counts scaled to ``size`` items."""
        counts = np.bincount(self.pattern.astype(np.int64), weights=sums.design.weights, minlength=len(self.rows))
        return intervals.posterior(
            self.rows, counts / counts.sum() * size, self.prior, sums.statistic, sums.design.level
        )


def estimate(
    sums: Sums,
    value: float,
    *,
    missing: int,
    cells: Cells | None = None,
    low: float = -1.0,
    textbook: Textbook = LINEARISED,
    notes: tuple[str, ...] = (),
) -> Estimate:
    """The value with the interval that its design asks for.

    Args:
        sums: the statistic as a function of sums.
        value: its value, from a library where one computes it.
        missing: items left out.
        cells: the patterns, where they are few enough for a Dirichlet posterior.
        low: lower end of the statistic's range (the upper one is 1).
        textbook: the analytic interval of independent items.
        notes: sentences for the estimate.
    """
    plan = sums.design
    if math.isnan(value):
        ends, method = (low, 1.0), "undefined: nothing is known"
    else:
        notes = (*notes, *warn_few_groups(plan.count))
        ends, method = find_ends(sums, value, cells, low, textbook=textbook)
        ends = min(ends[0], value), max(ends[1], value)
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


def find_ends(sums: Sums, value: float, cells: Cells | None, low: float, textbook: Textbook) -> tuple[Ends, str]:
    """The interval and its name."""
    plan = sums.design
    if plan.interval == "bootstrap":
        return bootstrap_ends(sums, value, (low, 1.0)), "BCa bootstrap" + (" of groups" if plan.count else "")
    if plan.interval == "analytic":
        return textbook_ends(sums, value, textbook)
    if plan.count is None and cells is not None:
        return cells.ends(sums, plan.kish), "Dirichlet posterior of the cells, fixed seed"
    return jackknife_ends(sums, value, cells, low)


def textbook_ends(sums: Sums, value: float, textbook: Textbook) -> tuple[Ends, str]:
    """The published interval where items are independent and weigh the same, else the linearised one."""
    plan = sums.design
    if plan.count is not None or plan.weighted:
        z, unit = intervals.quantile(plan.level, plan.units), "item" if plan.count is None else "group"
        return intervals.wald(value, sums.variance(), z, -math.inf, 1.0), f"linearised by {unit}, t"
    z = intervals.quantile(plan.level, None if textbook.normal else plan.units)
    variance = sums.variance(corrected=not textbook.normal) if textbook.variance is None else textbook.variance
    return intervals.wald(value, variance, z, -math.inf, 1.0), textbook.name


def jackknife_ends(sums: Sums, value: float, cells: Cells | None, low: float) -> tuple[Ends, str]:
    """Jackknife on Fisher's z; where it can say nothing, the posterior with each group counted as one item."""
    plan = sums.design
    unit = "item" if plan.count is None else "group"
    without = sums.without_each()
    ends = intervals.fisher_jackknife(value, without, intervals.quantile(plan.level, len(without)), low)
    if ends is not None and len(without) < plan.units:
        return ends, f"delete-{unit_name(plan)} jackknife on Fisher z, t({len(without) - 1})"
    if ends is not None:
        return ends, f"delete-one-{unit} jackknife on Fisher z, t({unit[0].upper()} - 1)".replace("t(I", "t(n")
    if cells is not None:
        return cells.ends(sums, min(plan.units, plan.kish)), f"Dirichlet posterior, each {unit} counted as one"
    return (low, 1.0), "undefined: the jackknife has no variation"


def bootstrap_ends(sums: Sums, value: float, whole: Ends) -> Ends:
    """BCa over units; the whole range where there are no two of them."""
    plan = sums.design
    if plan.units < 2:
        return whole
    replicates = sums.resampled(RESAMPLES, plan.generator())
    return intervals.bca(value, replicates, sums.without_each(), plan.level)
