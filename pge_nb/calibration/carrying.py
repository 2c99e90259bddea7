"""Whether a rater's TPR and TNR are the same in two places."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    Interval,
    Rng,
    Values,
    column,
    columns,
    design,
    scalar,
    warn_few_groups,
)
from pge_nb.calibration.rates import effective_size, mean_of
from pge_nb.calibration.verdicts import binary
from pge_nb.errors import BadInput

Carries: TypeAlias = Literal["carries", "differs", "cannot tell"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CarryOver(Shown):
    """How TPR and TNR differ between two places, b less a.

    Attributes:
        tpr_difference: TPR in b less TPR in a.
        tnr_difference: TNR in b less TNR in a.
        verdict: "carries" (both intervals inside the margin), "differs" (one excludes 0) or "cannot tell".
        margin: largest difference that does no harm.
    """

    tpr_difference: Estimate
    tnr_difference: Estimate
    verdict: Carries
    margin: float

    def remarks(self) -> tuple[str, ...]:
        """The verdict, with what it does not say."""
        said = {
            "carries": f"both differences lie inside {self.margin:g}",
            "differs": "an interval excludes 0: these rates belong to one place only",
            "cannot tell": "not told apart is not the same: label more items",
        }
        return (f"{self.verdict}: {said[self.verdict]}",)


@dataclass(frozen=True, slots=True)
class Side:
    """One rate in one place: hits among its items, their design, and the name of each item's group."""

    hits: FloatArray
    plan: Design
    names: pd.Series[str] | None

    def rate(self, z: float) -> tuple[float, float, float]:
        """The rate with its Wilson interval on the effective size."""
        value = float(np.average(self.hits, weights=self.plan.weights))
        size = effective_size(mean_of(self.hits, self.plan), value * (1 - value))
        return value, *intervals.wilson(value, size, z)

    def pulls(self) -> pd.Series[float]:
        """Each named group's part in the error of the rate."""
        value = np.average(self.hits, weights=self.plan.weights)
        parts = pd.Series(self.plan.weights * (self.hits - value) / self.plan.weights.sum())
        return parts.groupby(self.names.to_numpy()).sum() if self.names is not None else parts


def carries_over(
    labels_a: Values,
    verdicts_a: Values,
    labels_b: Values,
    verdicts_b: Values,
    *,
    margin: float = 0.05,
    groups_a: Values | None = None,
    groups_b: Values | None = None,
    weights_a: Values | None = None,
    weights_b: Values | None = None,
    level: float = 0.95,
) -> CarryOver:
    """Compare TPR and TNR of one rater in two places: where they were measured (a) and where they would be used (b).

    Intervals of the differences by square-and-add of Wilson intervals (Newcombe 1998), with groups on effective sizes with
    t(G - 1), and with the correlation of the two rates over groups that both places share. "carries" when both lie inside
    +-margin; else "differs" when one excludes 0; else "cannot tell". It never licenses a correction: a test that is not
    rejected is not equality. Items without a label are left out; an unmeasured verdict does not pass.

    Args:
        labels_a: the truth where the rates were measured.
        verdicts_a: the rater's verdicts there.
        labels_b: the truth in the other place.
        verdicts_b: the rater's verdicts there.
        margin: largest difference that does no harm, above 0.
        groups_a: group of each item of a; names that b has too are the same group.
        groups_b: group of each item of b.
        weights_a: weight of each item of a.
        weights_b: weight of each item of b.
        level: confidence level of each difference.

    Raises:
        BadInput: when lengths differ, the margin is not above 0, or only one place has groups.
    """
    if not (margin := scalar(margin, "margin")) > 0:
        raise BadInput(f"margin is {margin}.", "Give the largest difference that does no harm, such as .05.")
    if (groups_a is None) != (groups_b is None):
        raise BadInput("Only one of the two places has groups.", "Give groups_a and groups_b, or neither.")
    sides_a = sides(labels_a, verdicts_a, groups_a, weights_a, level)
    sides_b = sides(labels_b, verdicts_b, groups_b, weights_b, level)
    tpr, tnr = (difference(b, a) for a, b in zip(sides_a, sides_b, strict=True))
    return CarryOver(tpr_difference=tpr, tnr_difference=tnr, verdict=judge(tpr, tnr, margin), margin=margin)


def judge(tpr: Estimate, tnr: Estimate, margin: float) -> Carries:
    """The verdict of two differences."""
    both = (tpr, tnr)
    if all(-margin < one.low and one.high < margin for one in both):
        return "carries"
    return "differs" if any(one.low > 0 or one.high < 0 for one in both) else "cannot tell"


def sides(
    labels: Values, verdicts: Values, groups: Values | None, weights: Values | None, level: float
) -> tuple[Side, Side]:
    """The items that TPR and TNR rest on."""
    columns(("labels", labels), ("verdicts", verdicts))
    truth, passed = binary(labels, "labels"), binary(verdicts, "verdicts") == 1
    interval: Interval = "default"
    rng: Rng = None
    plan = design(len(truth), level=level, groups=groups, item_weights=weights, interval=interval, rng=rng)
    names = None if groups is None else pd.Series(column(groups, "groups")).astype(str)

    def side(among: BoolArray, hits: BoolArray) -> Side:
        kept = None if names is None else names[among]
        return Side(hits[among].astype(np.float64), plan.keep(among), kept)

    return side(truth == 1, passed), side(truth == 0, ~passed)


def difference(first: Side, second: Side) -> Estimate:
    """Rate of the first less rate of the second."""
    plans = (first.plan, second.plan)
    n, level = first.plan.n + second.plan.n, first.plan.level
    counts = [plan.count for plan in plans if plan.count is not None]
    groups = min(counts) if counts else None
    if not first.plan.n or not second.plan.n:
        note = "one place has no such items"
        return Estimate(
            value=math.nan, low=-1.0, high=1.0, level=level, method="undefined", n=n, groups=groups, notes=(note,)
        )
    z = intervals.quantile(level, groups)
    p, q = first.rate(z), second.rate(z)
    low, high = intervals.newcombe(p, q, shared_correlation(first, second))
    return Estimate(
        value=p[0] - q[0],
        low=low,
        high=high,
        level=level,
        method="Newcombe square-and-add" + ("" if groups is None else " on effective sizes, t(G - 1)"),
        n=n,
        groups=groups,
        notes=warn_few_groups(groups),
    )


def shared_correlation(first: Side, second: Side) -> float:
    """Correlation of the two rates' errors over the groups that both have; 0 without groups."""
    if first.names is None or second.names is None:
        return 0.0
    a, b = first.pulls(), second.pulls()
    scale = math.sqrt(float((a**2).sum()) * float((b**2).sum()))
    shared = a.index.intersection(b.index)
    return float(np.clip((a[shared] * b[shared]).sum() / scale, -1, 1)) if scale > 0 else 0.0
