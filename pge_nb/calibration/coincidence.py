"""Krippendorff's alpha as a function of sums over items."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration.inputs import Design, FloatArray, code, numbers
from pge_nb.calibration.resampling import jackknife_units
from pge_nb.calibration.sums import Statistic, Sums, counted, fraction, quietly
from pge_nb.errors import BadInput


@dataclass(frozen=True, slots=True)
class Table:
    """Ratings as numbers (items x raters), how they become rows, and alpha of the sums of the rows."""

    codes: NDArray[Any]
    size: int
    rows_of: Callable[[Any], FloatArray]
    statistic: Statistic
    ranked: bool = False

    def sums(self, plan: Design) -> Sums:
        """Alpha of these items."""
        kind = Ranked if self.ranked else Sums
        return kind(self.rows_of(self.codes), self.statistic, plan)


MOST_VALUES = 30  # above it a table with a column for each pair of values is gigabytes


@dataclass(frozen=True, slots=True)
class Ranked(Sums):
    """Ordinal alpha of many values: ``rows`` are items x raters, -1 missing, and every replicate ranks them anew."""

    def value(self) -> float:
        """Alpha of all items."""
        return self.at(self.design.weights)

    def at(self, weights: FloatArray) -> float:
        """Alpha where the items weigh this: that of the squared differences of midranks."""
        rows, weights = self.rows[weights > 0], weights[weights > 0]
        present = rows >= 0
        values, places = np.unique(rows[present], return_inverse=True)
        if not len(values):
            return math.nan
        mass = np.bincount(places, weights=np.repeat(weights, present.sum(axis=1)))
        ranks = np.full(rows.shape, np.nan)
        # The mean midrank is half of all mass; centred numbers keep their squares exact.
        ranks[present] = (np.cumsum(mass) - mass / 2 - mass.sum() / 2)[places]
        return float(quietly(interval_alpha, weights @ interval_rows(ranks)))

    def without_each(self) -> FloatArray:
        """Alpha without each unit, or without each block of them where they are many."""
        units, weights = jackknife_units(self.design), self.design.weights
        return np.array([self.at(weights * (units != one)) for one in range(int(units.max()) + 1)])

    def variance(self, *, corrected: bool = True) -> float:
        """Jackknife variance, which holds the G / (G - 1) of ``corrected``."""
        without = self.without_each()
        spread = float(((without - without.mean()) ** 2).sum())
        share = (len(without) - 1) / len(without)
        return spread * (share if corrected else share**2)

    def resampled(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Alpha of each of n resamples of units."""
        unit = np.arange(self.design.n) if self.design.groups is None else self.design.groups
        blocks = counted(n, self.design.units, rng)
        return np.array([self.at(self.design.weights * counts[unit]) for block in blocks for counts in block])


def table(
    ratings: NDArray[Any], metric: Literal["nominal", "ordinal", "interval"], labels: Sequence[Any] | None
) -> Table:
    """The table of a metric.

    Raises:
        BadInput: for an unknown metric, or text where numbers or declared labels are needed.
    """
    if metric == "interval":
        values = np.stack([numbers(rater, "a rating") for rater in ratings.T], axis=1)
        # Differences alone matter; centred numbers keep their squares exact.
        values = values - np.nanmean(values) if values.size else values
        return Table(values, 0, interval_rows, interval_alpha)
    coded = code(ratings, labels)
    if metric == "nominal":
        q = len(coded.labels)
        return Table(coded.codes, q, lambda codes: nominal_rows(codes, q), nominal_alpha)
    if metric != "ordinal":
        raise BadInput(f"metric is {metric!r}.", 'Give "nominal", "ordinal" or "interval".')
    if not coded.ordered:
        raise BadInput(f"The order of the labels {coded.labels!r} is not declared.", "Give labels=[...], lowest first.")
    if len(coded.labels) > MOST_VALUES:
        return Table(
            coded.codes, len(coded.labels), lambda codes: codes.astype(np.float64), interval_alpha, ranked=True
        )
    return ordinal_table(coded.codes, len(coded.labels))


def label_counts(codes: NDArray[Any], q: int) -> FloatArray:
    """Items x labels: how many raters gave each label."""
    return (
        np.stack([(codes == k).sum(axis=1) for k in range(q)], axis=1).astype(np.float64)
        if q
        else np.zeros((len(codes), 0))
    )


def nominal_rows(codes: NDArray[Any], q: int) -> FloatArray:
    """(agreeing coincidences, count of each label)."""
    counts = label_counts(codes, q)
    paired = np.maximum(counts.sum(axis=1) - 1, 1)
    return np.column_stack([(counts * (counts - 1)).sum(axis=1) / paired, counts])


def nominal_alpha(sums: NDArray[Any]) -> NDArray[Any]:
    """1 - (n - 1) (n - agreeing) / (n^2 - sum n_c^2)."""
    counts = sums[..., 1:]
    n = counts.sum(axis=-1)
    return np.asarray(1 - fraction((n - 1) * (n - sums[..., 0]), n * n - (counts**2).sum(axis=-1), n * n))


def ordinal_table(codes: NDArray[Any], q: int) -> Table:
    """Coincidences of each pair of unequal labels, and the counts, from which the ranks come anew in each resample."""
    first, second = np.triu_indices(q, k=1)

    def rows(codes: NDArray[Any]) -> FloatArray:
        counts = label_counts(codes, q)
        paired = np.maximum(counts.sum(axis=1) - 1, 1)[:, None]
        return np.column_stack([2 * counts[:, first] * counts[:, second] / paired, counts])

    def alpha(sums: NDArray[Any]) -> NDArray[Any]:
        unequal, counts = sums[..., : len(first)], sums[..., len(first) :]
        n = counts.sum(axis=-1)
        ranks = np.cumsum(counts, axis=-1) - counts / 2
        distance = (ranks[..., first] - ranks[..., second]) ** 2
        observed = (unequal * distance).sum(axis=-1)
        expected = 2 * (counts[..., first] * counts[..., second] * distance).sum(axis=-1)
        return np.asarray(1 - fraction((n - 1) * observed, expected, n**4))

    return Table(codes, q, rows, alpha)


def interval_rows(values: NDArray[Any]) -> FloatArray:
    """(squared differences within the item, ratings, their sum, their squares)."""
    m = (~np.isnan(values)).sum(axis=1)
    total, squares = np.nansum(values, axis=1), np.nansum(values**2, axis=1)
    within = 2 * (m * squares - total**2) / np.maximum(m - 1, 1)
    return np.column_stack([within, m, total, squares])


def interval_alpha(sums: NDArray[Any]) -> NDArray[Any]:
    """1 - (n - 1) observed / (2 (n sum x^2 - (sum x)^2))."""
    within, n, total, squares = (sums[..., k] for k in range(4))
    return np.asarray(1 - fraction((n - 1) * within, 2 * (n * squares - total * total), n * squares))
