"""Krippendorff's alpha as a function of sums over items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration.inputs import FloatArray, code, numbers
from pge_nb.calibration.sums import Statistic, fraction
from pge_nb.errors import BadInput


@dataclass(frozen=True, slots=True)
class Table:
    """Ratings as numbers (items x raters), how they become rows, and alpha of the sums of the rows."""

    codes: NDArray[Any]
    size: int
    rows_of: Callable[[Any], FloatArray]
    statistic: Statistic


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
