"""Ratings as rows whose sums determine a statistic of agreement."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration.choose import Cells
from pge_nb.calibration.inputs import Coded, FloatArray, IntArray
from pge_nb.calibration.intervals import PRIOR_MASS
from pge_nb.calibration.sums import Statistic, fraction
from pge_nb.errors import BadInput

Weights: TypeAlias = Literal["linear", "quadratic"] | None
# shares of the labels (items x labels) -> (chance agreement of each item, of all)
Chance: TypeAlias = Callable[[FloatArray], tuple[FloatArray, float]]
MOST_CELLS = 256  # patterns up to which the Dirichlet posterior of the cells is drawn


def similarity(coded: Coded, weights: Weights) -> FloatArray:
    """Weight of each pair of labels, 1 for the same: identity, 1 - |i - j| / (q - 1) or 1 - ((i - j) / (q - 1))^2.

    Raises:
        BadInput: for ordered weights on text whose order was not declared, and for an unknown name.
    """
    # A single label still leaves room for another that nobody gave.
    q = max(len(coded.labels), 2)
    if weights is None:
        return np.eye(q)
    if weights not in ("linear", "quadratic"):
        raise BadInput(f"weights is {weights!r}.", 'Give None, "linear" or "quadratic".')
    if not coded.ordered:
        raise BadInput(f"The order of the labels {coded.labels!r} is not declared.", "Give labels=[...], lowest first.")
    gap = np.abs(np.subtract.outer(np.arange(q), np.arange(q))) / (q - 1)
    return np.asarray(1 - (gap if weights == "linear" else gap**2), dtype=np.float64)


def pair_rows(disagreement: FloatArray) -> Callable[[IntArray], FloatArray]:
    """Items x 2 codes -> (disagreement of the pair, first rater's label, second rater's label, both as indicators)."""
    one = np.eye(len(disagreement))

    def rows(pairs: IntArray) -> FloatArray:
        return np.column_stack([disagreement[pairs[:, 0], pairs[:, 1]], one[pairs[:, 0]], one[pairs[:, 1]]])

    return rows


def share_rows(alike: FloatArray) -> Callable[[IntArray], FloatArray]:
    """Items x raters codes -> (rated twice, agreement, rated, share of each label)."""

    def rows(codes: IntArray) -> FloatArray:
        counts = np.stack([(codes == k).sum(axis=1) for k in range(len(alike))], axis=1).astype(np.float64)
        rated = counts.sum(axis=1)
        twice = rated >= 2
        pairs = (counts * (counts @ alike - 1)).sum(axis=1)
        agree = np.divide(pairs, rated * (rated - 1), out=np.zeros(len(codes)), where=twice)
        return np.column_stack([twice, agree, rated > 0, counts / np.maximum(rated, 1)[:, None]])

    return rows


def kappa_statistic(disagreement: FloatArray) -> Statistic:
    """Kappa of the sums of ``pair_rows``."""
    q = len(disagreement)

    def kappa(sums: NDArray[Any]) -> NDArray[Any]:
        first, second = sums[..., 1 : q + 1], sums[..., q + 1 :]
        expected = ((first @ disagreement) * second).sum(axis=-1)
        n = first.sum(axis=-1)
        return np.asarray(1 - fraction(sums[..., 0] * n, expected, n * n))

    return kappa


def ac_statistic(alike: FloatArray) -> Statistic:
    """AC1 or AC2 of the sums of ``share_rows``."""
    q = len(alike)
    factor = alike.sum() / (q * (q - 1))

    def ac(sums: NDArray[Any]) -> NDArray[Any]:
        shares = sums[..., 3:] / sums[..., 2, None]
        chance = factor * (shares * (1 - shares)).sum(axis=-1)
        return fraction(sums[..., 1] / sums[..., 0] - chance, 1 - chance, 1.0)

    return ac


def ac_chance(alike: FloatArray) -> Chance:
    """AC's chance agreement, item by item and as a whole."""
    factor = alike.sum() / (len(alike) * (len(alike) - 1))

    def chance(shares: FloatArray) -> tuple[FloatArray, float]:
        mean = shares.mean(axis=0)
        return factor * (shares @ (1 - mean)), float(factor * (mean @ (1 - mean)))

    return chance


def fleiss_chance(alike: FloatArray) -> Chance:
    """Fleiss's chance agreement, item by item and as a whole."""

    def chance(shares: FloatArray) -> tuple[FloatArray, float]:
        mean = shares.mean(axis=0)
        return shares @ alike @ mean, float(mean @ alike @ mean)

    return chance


def fleiss_statistic(alike: FloatArray) -> Statistic:
    """Fleiss's kappa of the sums of ``share_rows``."""

    def fleiss(sums: NDArray[Any]) -> NDArray[Any]:
        shares = sums[..., 3:] / sums[..., 2, None]
        chance = ((shares @ alike) * shares).sum(axis=-1)
        return fraction(sums[..., 1] / sums[..., 0] - chance, 1 - chance, 1.0)

    return fleiss


def cells_of(codes: IntArray, q: int, rows_of: Callable[[Any], FloatArray]) -> Cells | None:
    """All patterns of the ratings, None when they are too many or some are missing."""
    if q == 0 or not len(codes) or q ** codes.shape[1] > MOST_CELLS or (codes < 0).any():
        return None
    patterns = np.array(list(itertools.product(range(q), repeat=codes.shape[1])), dtype=np.int64)
    places = q ** np.arange(codes.shape[1] - 1, -1, -1)
    mass = np.full(len(patterns), PRIOR_MASS / len(patterns))
    return Cells(rows_of(patterns), mass, (codes @ places).astype(np.float64))
