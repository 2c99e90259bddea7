"""Resampling of items, or of whole groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate
from pge_nb.calibration.inputs import Design, FloatArray, IntArray, Rng, Values, column, design, warn_few_groups, whole
from pge_nb.calibration.sums import draws
from pge_nb.errors import BadInput, Uninformative

RESAMPLES = 2000
JACKKNIFE_BLOCKS = (
    500  # the acceleration of BCa needs no more: blocks of items are left out when there are more of them
)


MOST_UNITS = 2000
BLOCKS = (
    100  # parts that a jackknife leaves out one by one where there are more units and each costs a look at all items
)
BLOCK_SEED = 20_144


def jackknife_units(plan: Design) -> IntArray:
    """What a jackknife leaves out, of each item: its unit, or one of 100 random blocks of whole units (Kott 2001), fixed seed.

    Blocks of more than 2,000 units know the standard error to 7 %, and say so by t(99).
    """
    units = np.arange(plan.n) if plan.groups is None else plan.groups
    if plan.units <= MOST_UNITS:
        return units
    return (np.random.default_rng(BLOCK_SEED).permutation(plan.units) % BLOCKS)[units]


def unit_name(plan: Design) -> str:
    """What a jackknife of ``jackknife_units`` leaves out, in words."""
    if plan.units > MOST_UNITS:
        return f"1-of-{BLOCKS}-blocks"
    return "one-item" if plan.groups is None else "one-group"


def drawn_rows(plan: Design, n: int) -> Iterator[IntArray]:
    """Positions of the items in each resample of units, one at a time."""
    members = None
    if plan.groups is not None:
        members = np.split(np.argsort(plan.groups, kind="stable"), np.cumsum(np.bincount(plan.groups))[:-1])
    for block in draws(n, plan.units, plan.generator()):
        for row in block:
            yield row if members is None else np.concatenate([members[unit] for unit in row])


def resample_indices(items: int, n: int = RESAMPLES, *, groups: Values | None = None, rng: Rng) -> list[IntArray]:
    """Positions of the items in each resample.

    With groups, whole groups are drawn with replacement, as many as there are, so that resamples differ in length.

    Args:
        items: number of items.
        n: number of resamples.
        groups: group of each item.
        rng: generator or seed; required.

    Raises:
        BadInput: without rng, without items or resamples, or when groups do not fit.
    """
    if whole(items, "items") < 1 or whole(n, "n") < 1:
        raise BadInput(f"There are {items} items and {n} resamples.", "Give one of each at least.")
    plan = design(items, level=0.95, groups=groups, item_weights=None, interval="bootstrap", rng=rng)
    return list(drawn_rows(plan, int(n)))


def bootstrap(
    statistic: Callable[..., float],
    *arrays: Values,
    groups: Values | None = None,
    n: int = RESAMPLES,
    level: float = 0.95,
    rng: Rng = None,
    method: Literal["bca", "percentile"] = "bca",
) -> Estimate:
    """Any statistic with a bootstrap interval over items, or over whole groups.

    The statistic is called with the arrays' rows of each resample, in the order given. Where it returns nan the resample is left
    out, and the estimate says how many were. BCa (Efron 1987) takes its acceleration from leaving out each unit, or each of 500
    blocks of units. Such intervals are too short for rates near 0 or 1 and for few groups: prefer a statistic's own default.

    Args:
        statistic: function of the arrays that returns a number.
        arrays: one value an item in each (the first axis is items).
        groups: group of each item; whole groups are drawn.
        n: number of resamples.
        level: confidence level.
        rng: generator or seed; required.
        method: "bca" or "percentile".

    Raises:
        BadInput: without arrays or rng, when lengths differ or are 0, for fewer than two resamples or an unknown method.
        Uninformative: with one item or one group, which has nothing to differ from.
    """
    if method not in ("bca", "percentile"):
        raise BadInput(f"method is {method!r}.", 'Give "bca" or "percentile".')
    if whole(n, "n") < 2:
        raise BadInput(f"n is {n}: an interval needs resamples.", f"Give some hundreds, such as n={RESAMPLES}.")
    held = [np.asarray(array) if np.ndim(array) > 1 else column(array) for array in arrays]
    if not held or len({len(array) for array in held}) > 1:
        raise BadInput("bootstrap needs arrays of one length.", "Give bootstrap(statistic, a, b, rng=1).")
    items = len(held[0])
    if not items:
        raise BadInput("The arrays are empty.", "Give one value an item.")
    plan = design(items, level=level, groups=groups, item_weights=None, interval="bootstrap", rng=rng)
    if plan.units < 2:
        raise Uninformative(f"There is one {'item' if groups is None else 'group'}.", "Measure two at least.")
    value = float(statistic(*held))
    replicates = np.array(
        [statistic(*(array[rows] for array in held)) for rows in drawn_rows(plan, int(n))], dtype=np.float64
    )
    ends = (
        intervals.percentile(replicates, level)
        if method == "percentile"
        else intervals.bca(value, replicates, without_blocks(statistic, held, plan.groups), level)
    )
    lost = int(np.isnan(replicates).sum())
    notes = ((f"{lost} of {n} resamples left the statistic undefined",) if lost else ()) + warn_few_groups(plan.count)
    name = {"bca": "BCa bootstrap", "percentile": "percentile bootstrap"}[method]
    return Estimate(
        value=value,
        low=ends[0],
        high=ends[1],
        level=level,
        method=f"{name}, {n} resamples",
        n=items,
        groups=plan.count,
        notes=notes,
    )


def without_blocks(statistic: Callable[..., float], arrays: list[Any], groups: IntArray | None) -> FloatArray:
    """The statistic without each block of units."""
    unit = np.arange(len(arrays[0])) if groups is None else groups
    block = unit * min(JACKKNIFE_BLOCKS, int(unit.max()) + 1) // (int(unit.max()) + 1)
    kept = (block != left_out for left_out in range(int(block.max()) + 1))
    return np.array([statistic(*(array[mask] for array in arrays)) for mask in kept], dtype=np.float64)
