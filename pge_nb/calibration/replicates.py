"""Agreement of many resamples at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from pge_nb.calibration import coincidence
from pge_nb.calibration.inputs import Coded, FloatArray, IntArray, Matrix, code, ratings_matrix
from pge_nb.calibration.patterns import (
    ac_statistic,
    fleiss_statistic,
    kappa_statistic,
    pair_rows,
    share_rows,
    similarity,
)
from pge_nb.calibration.sums import Statistic, quietly
from pge_nb.errors import BadInput

Named: TypeAlias = Literal["kappa", "ac1", "alpha", "fleiss"]


def resampled_agreement(
    ratings: Matrix, indices: Sequence[IntArray], statistic: Named = "kappa", *, labels: Sequence[Any] | None = None
) -> FloatArray:
    """A nominal statistic of each resample, without going through the items anew for each.

    Args:
        ratings: items x raters (two for kappa); missing allowed, except that kappa leaves such items out.
        indices: positions of the items of each resample, as ``resample_indices`` gives them; lengths may differ.
        statistic: "kappa" (Cohen), "ac1" (Gwet), "alpha" (Krippendorff, nominal) or "fleiss".
        labels: all labels; None: those that occur in ``ratings``.

    Returns:
        one value a resample, nan where it is undefined.

    Raises:
        BadInput: for a wrong shape or an unknown name.
    """
    coded = code(ratings_matrix(ratings), labels)
    # Items rated alike are one pattern: a resample is then a few counts, not 10,000.
    patterns, pattern = np.unique(coded.codes, axis=0, return_inverse=True)
    rows, function = parts_of(Coded(patterns, coded.labels, coded.declared), statistic)
    counts = np.array([np.bincount(pattern[drawn], minlength=len(rows)) for drawn in indices], dtype=np.float64)
    return np.asarray(quietly(function, counts.reshape(-1, len(rows)) @ rows), dtype=np.float64)


def parts_of(coded: Coded, statistic: Named) -> tuple[FloatArray, Statistic]:
    """Rows of the patterns, those that do not count left at 0, and the function of their sums."""
    codes, alike = coded.codes, similarity(coded, None)
    if statistic == "kappa":
        if codes.shape[1] != 2:
            raise BadInput(f"kappa has {codes.shape[1]} raters.", 'Give two, or use "fleiss" or "alpha".')
        complete = np.asarray((codes >= 0).all(axis=1), dtype=bool)
        return pair_rows(1 - alike)(np.maximum(codes, 0)) * complete[:, None], kappa_statistic(1 - alike)
    if statistic == "ac1":
        return share_rows(alike)(codes), ac_statistic(alike)
    if statistic == "fleiss":
        return share_rows(alike)(codes), fleiss_statistic(alike)
    if statistic == "alpha":
        paired = np.asarray((codes >= 0).sum(axis=1) >= 2, dtype=bool)
        return coincidence.nominal_rows(codes, len(coded.labels)) * paired[:, None], coincidence.nominal_alpha
    raise BadInput(f"statistic is {statistic!r}.", 'Give "kappa", "ac1", "alpha" or "fleiss".')
