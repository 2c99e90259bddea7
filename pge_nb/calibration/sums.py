"""Statistics that are functions of sums over items.

Kappa, alpha, AC1, every rate and the intraclass correlation are one function of the column sums of a table with a row an
item. Written so, deleting a group is a subtraction and a resample is a matrix product, and the derivative that a textbook
standard error needs comes from the function itself, by a complex step (Squire & Trapp 1998), exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration.inputs import Design, FloatArray, IntArray

# sums (..., features) -> (...); must not branch on its argument and must accept complex numbers.
Statistic: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]

CHUNK = 4_000_000  # numbers in a block of resample counts, so that 10,000 items x 2,000 resamples stay in memory
STEP = 1e-30
TINY = 1e-12  # a difference that is this small beside its terms is rounding, and not a number to divide by


@dataclass(frozen=True, slots=True)
class Sums:
    """A statistic of these items: ``rows`` is items x features, before weights."""

    rows: FloatArray
    statistic: Statistic
    design: Design

    def value(self) -> float:
        """The statistic of all items."""
        return float(quietly(self.statistic, self.units().sum(axis=0)))

    def units(self) -> FloatArray:
        """Weighted sums of each group, or of each item where there are no groups."""
        return np.asarray(self.design.total(self.rows), dtype=np.float64)

    def influence(self) -> FloatArray:
        """The derivative of the statistic in the weight of each unit: its infinitesimal jackknife (Efron 1982)."""
        units = self.units()
        moved = quietly(self.statistic, units.sum(axis=0) + 1j * STEP * units)
        return np.asarray(moved.imag / STEP, dtype=np.float64)

    def variance(self, *, corrected: bool = True) -> float:
        """Linearised variance, over groups where there are any; ``corrected`` multiplies by G / (G - 1)."""
        pulls = self.influence()
        pulls = pulls - pulls.mean()
        units = len(pulls)
        if units < 2:
            return float("nan")
        return float((pulls**2).sum() * (units / (units - 1) if corrected else 1.0))

    def without_each(self) -> FloatArray:
        """The statistic without each unit in turn."""
        units = self.units()
        # What a unit held alone is gone with it: 1e-17 of it would be read as a rating.
        rest = without_rounding(units.sum(axis=0) - units, np.abs(units).sum(axis=0))
        return np.asarray(quietly(self.statistic, rest), dtype=np.float64)

    def resampled(self, n: int, rng: np.random.Generator) -> FloatArray:
        """The statistic of each of n resamples of units."""
        units = self.units()
        return np.concatenate([quietly(self.statistic, counts @ units) for counts in counted(n, len(units), rng)])


def without_rounding(difference: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
    """The difference of two numbers of this scale, 0 where it is no more than their rounding."""
    return np.where(np.abs(difference) > TINY * np.abs(scale), difference, 0.0)


def fraction(top: NDArray[Any], bottom: NDArray[Any], scale: NDArray[Any] | float) -> NDArray[Any]:
    """The quotient; nan where the bottom, a difference of numbers of this scale, is not above their rounding: undefined."""
    return np.asarray(top / np.where(np.real(bottom) > TINY * np.abs(scale), bottom, np.nan))


def quietly(statistic: Statistic, sums: NDArray[Any]) -> NDArray[Any]:
    """An undefined statistic is nan, without numpy's warning: the callers say what was undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(statistic(sums))


def counted(n: int, units: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """How often each unit is drawn in n resamples, a block of them at a time."""
    for block in draws(n, units, rng):
        flat = block + np.arange(len(block))[:, None] * units
        yield np.bincount(flat.ravel(), minlength=len(block) * units).reshape(len(block), units).astype(np.float64)


def draws(n: int, units: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Units drawn with replacement (resamples x units), as many resamples at a time as memory bears."""
    step = max(1, CHUNK // max(units, 1))
    for start in range(0, n, step):
        yield rng.integers(0, units, size=(min(step, n - start), units), dtype=np.int64)
