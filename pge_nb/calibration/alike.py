"""How alike verdicts within units are, from few of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pge_nb.calibration.inputs import FloatArray
from pge_nb.calibration.intervals import Ends, quantile

CORRELATIONS = np.linspace(0.0, 0.999, 334)
MEANS = 1 / (1 + np.exp(-np.linspace(-7, 7, 141)))


def alike_ends(hits: Sequence[int], sizes: Sequence[int], level: float) -> Ends:
    """Interval of the intraclass correlation of yes-or-no verdicts: so many ``hits`` among so many (``sizes``) in each unit.

    Profile likelihood of the beta-binomial (Skellam 1948; Williams 1975): the correlations at which twice the log likelihood,
    the mean chosen best, is at most the chi-squared quantile below its maximum. Where next to nothing passed, or units have one
    verdict each, it is flat, and the interval 0 to 1. A jackknife by units instead takes one lucky pair for certainty. Units are
    taken as independent.
    """
    total = np.zeros((len(CORRELATIONS), len(MEANS)))
    rho, mean = CORRELATIONS[:, None], MEANS[None, :]
    for (hit, size), many in Counter(zip(hits, sizes, strict=True)).items():
        total += many * (
            _rising(mean * (1 - rho), rho, hit)
            + _rising((1 - mean) * (1 - rho), rho, size - hit)
            - _rising(1 - rho, rho, size)
        )
    best = total.max(axis=1)
    held = np.flatnonzero(2 * (best.max() - best) <= quantile(level) ** 2)
    # One step outward: the end lies between two of the correlations that were looked at.
    first, last = max(held[0] - 1, 0), min(held[-1] + 1, len(CORRELATIONS) - 1)
    return float(CORRELATIONS[first]), 1.0 if last == len(CORRELATIONS) - 1 else float(CORRELATIONS[last])


def _rising(start: FloatArray, step: FloatArray, many: int) -> FloatArray:
    """Log of start (start + step) (start + 2 step) ... with so many factors."""
    return np.asarray(sum((np.log(start + at * step) for at in range(many)), np.zeros(1)), dtype=np.float64)
