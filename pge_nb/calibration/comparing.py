"""Two raters on the same items: which one is right more often."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    Interval,
    Rng,
    Values,
    check_labels_meet,
    columns,
    design,
    is_missing,
    scalar,
)
from pge_nb.calibration.rates import paired_difference, rate
from pge_nb.calibration.sums import CHUNK
from pge_nb.calibration.verdicts import binary
from pge_nb.errors import BadInput

Metric: TypeAlias = Literal["accuracy", "tpr", "tnr"]
ENUMERATED = 14  # groups up to which all sign patterns are gone through
FLIPS = 20_000
FLIP_SEED = 20_142


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Shown):
    """Rater a against rater b.

    Attributes:
        difference: a's metric less b's.
        a: the metric of a.
        b: the metric of b.
        p_value: two-sided, of no difference.
        test: which test gave it.
        only_a: items on which a alone is right.
        only_b: items on which b alone is right.
        noninferior: whether the interval lies above -margin; None without a margin.
        notes: what to know.
    """

    difference: Estimate
    a: Estimate
    b: Estimate
    p_value: float
    test: str
    only_a: int
    only_b: int
    noninferior: bool | None
    notes: tuple[str, ...] = ()

    def remarks(self) -> tuple[str, ...]:
        """Test and discordant items, in words."""
        found = f"{self.test}: p = {self.p_value:.4f}; only a right {self.only_a}, only b right {self.only_b}"
        verdict = (
            () if self.noninferior is None else ("a is not inferior" if self.noninferior else "a may be inferior",)
        )
        return (found, *verdict, *self.notes)


def compare_raters(
    labels: Values,
    a: Values,
    b: Values,
    *,
    metric: Metric = "accuracy",
    margin: float | None = None,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Comparison:
    """Difference of two raters on the same labelled items, with a test of no difference.

    Independent items of equal weight: exact McNemar (1947), the binomial test of the discordant items. Groups or weights: sign
    flips of each unit's summed difference (Fisher 1935), all patterns up to 14 units, else 20,000 random ones with a fixed
    seed. The interval is Tango's (1998), with groups on the effective size. ``margin``: a is not inferior where the interval
    lies above -margin. "tpr" and "tnr" look at good or bad items alone, and an unmeasured verdict does not pass; for "accuracy"
    labels may be any, and a missing verdict is wrong.

    Args:
        labels: the truth, one an item.
        a: first rater's verdicts or labels.
        b: second rater's.
        metric: "accuracy", "tpr" or "tnr".
        margin: largest loss that is acceptable, above 0.
        level: confidence level.
        groups: group of each item.
        item_weights: one an item.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ, the metric is unknown or the margin is not above 0.
    """
    margin = None if margin is None else scalar(margin, "margin")
    if margin is not None and not margin > 0:
        raise BadInput(f"margin is {margin}.", "Give the largest loss that is acceptable, such as .05.")
    columns(("labels", labels), ("a", a), ("b", b))
    right_a, right_b, among = right(labels, a, b, metric)
    plan = design(len(among), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    plan, first, second = plan.keep(among), right_a[among], right_b[among]
    missing = int(is_missing(columns(("labels", labels))[0]).sum())
    gap = first.astype(np.float64) - second
    difference = paired_difference(gap, plan, missing=missing)
    p_value, test = flip_test(gap, plan)
    return Comparison(
        difference=difference,
        a=rate(first.astype(np.float64), plan, missing=missing),
        b=rate(second.astype(np.float64), plan, missing=missing),
        p_value=p_value,
        test=test,
        only_a=int((gap > 0).sum()),
        only_b=int((gap < 0).sum()),
        noninferior=None if margin is None else bool(difference.low > -margin),
    )


def right(labels: Values, a: Values, b: Values, metric: Metric) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Where a is right, where b is, and which items count."""
    if metric == "accuracy":
        truth, first, second = columns(("labels", labels), ("a", a), ("b", b))
        for verdicts in (first, second):
            check_labels_meet(truth, verdicts)
        known = ~is_missing(truth)
        return equal(truth, first), equal(truth, second), known
    if metric not in ("tpr", "tnr"):
        raise BadInput(f"metric is {metric!r}.", 'Give "accuracy", "tpr" or "tnr".')
    truth, first, second = binary(labels, "labels"), binary(a, "a"), binary(b, "b")
    wanted = metric == "tpr"
    return (first == 1) == wanted, (second == 1) == wanted, truth == float(wanted)


def equal(truth: NDArray[Any], verdicts: NDArray[Any]) -> BoolArray:
    """Where two columns of any labels hold the same; a missing value is the same as nothing."""
    known = ~is_missing(truth) & ~is_missing(verdicts)
    pairs = zip(truth.tolist(), verdicts.tolist(), known.tolist(), strict=True)
    return np.array([both and x == y for x, y, both in pairs], dtype=bool)


def flip_test(gap: FloatArray, plan: Design) -> tuple[float, str]:
    """Two-sided p-value of no difference, and the test's name."""
    if plan.count is None and not plan.weighted:
        more, less = int((gap > 0).sum()), int((gap < 0).sum())
        p_value = float(stats.binomtest(more, more + less).pvalue) if more + less else 1.0
        return p_value, "exact McNemar"
    sums = plan.total(gap[:, None])[:, 0]
    return sign_flip(sums[sums != 0]), "sign flips by " + ("item" if plan.count is None else "group")


def sign_flip(sums: FloatArray) -> float:
    """P(|sum of randomly signed numbers| >= |their sum|); random patterns count the observed one too."""
    if not len(sums):
        return 1.0
    seen = abs(float(sums.sum())) - 1e-9
    if len(sums) <= ENUMERATED:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(sums)))).reshape(-1, len(sums))
        return float((np.abs(signs @ sums) >= seen).mean())
    rng, step, reached = np.random.default_rng(FLIP_SEED), max(1, CHUNK // len(sums)), 0
    for start in range(0, FLIPS, step):
        signs = rng.integers(0, 2, size=(min(step, FLIPS - start), len(sums))) * 2.0 - 1
        reached += int((np.abs(signs @ sums) >= seen).sum())
    return (1 + reached) / (1 + FLIPS)
