"""How often a rater's verdicts are right: on good items, on bad items, and among what it accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    BoolArray,
    Design,
    FloatArray,
    Interval,
    Rng,
    Values,
    columns,
    design,
    is_missing,
)
from pge_nb.calibration.rates import paired_difference, rate
from pge_nb.errors import BadInput

WORDS = {"pass": 1.0, "fail": 0.0, "unmeasured": np.nan}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rates(Shown):
    """Rates of verdicts against labels.

    Attributes:
        tpr: P(pass | good).
        tnr: P(not pass | bad).
        false_pass: P(pass | bad) = 1 - tnr.
        bad_given_accepted: P(bad | pass); another word for another thing than ``false_pass``.
        leniency: P(verdict pass) - P(label pass), a paired difference: above 0 the rater is too kind.
    """

    tpr: Estimate
    tnr: Estimate
    false_pass: Estimate
    bad_given_accepted: Estimate
    leniency: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VerdictRates(Rates):
    """Rates of the gate, where unmeasured is not pass; beside them those among measured items, and how many were not.

    Attributes:
        measured: the same rates among items that have a verdict.
        unmeasured: share of items without a verdict.
        unmeasured_good: the same among good items.
        unmeasured_bad: the same among bad items.
        counts: items by label and verdict, e.g. ``good_pass``.
    """

    measured: Rates
    unmeasured: Estimate
    unmeasured_good: Estimate
    unmeasured_bad: Estimate
    counts: Mapping[str, int]

    def remarks(self) -> tuple[str, ...]:
        """The counts, in words."""
        return ("; ".join(f"{name.replace('_', ' and ')} {count}" for name, count in self.counts.items()),)


def binary(values: Any, name: str) -> FloatArray:
    """Pass is 1, fail 0, unmeasured or missing nan. Takes True and False, 1 and 0, and the words pass, fail, unmeasured.

    Raises:
        BadInput: for anything else.
    """
    (array,) = columns((name, values))
    gap = is_missing(array)
    out = np.full(len(array), np.nan)
    # What is no 1 and no 0 goes through one by one, so that the error can name it.
    plain = np.isin(array, (0, 1)) if array.dtype.kind in "biuf" else np.zeros(len(array), dtype=bool)
    out[plain] = array[plain].astype(np.float64)
    for position in np.flatnonzero(~gap & ~plain):
        out[position] = one_verdict(array[position], name)
    return out


def one_verdict(value: Any, name: str) -> float:
    """1, 0 or nan of one verdict."""
    if isinstance(value, str):
        if (word := value.strip().lower()) in WORDS:
            return WORDS[word]
    elif value in (0, 1):
        return float(value)
    raise BadInput(
        f"{name} holds {value!r}.",
        "Give True/False, 1/0 or pass/fail; a verdict that could not be parsed is None (unmeasured), never a fail or a pass.",
    )


def verdict_rates(
    labels: Values,
    verdicts: Values,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> VerdictRates:
    """How a rater's verdicts compare with labels taken as the truth.

    A missing verdict, or the word unmeasured, is unmeasured: the gate does not let it pass, so it counts against TPR and for TNR
    there; the rates among measured items and the unmeasured shares stand beside. Items without a label are left out.

    Default intervals: Wilson (1927) for rates and Tango (1998) for leniency; with groups a delete-one-group jackknife on Fisher's
    z for rates and Tango on the effective size for leniency, both with t(G - 1).
    A rate with nothing to measure it on is nan with the interval 0 to 1.

    Args:
        labels: the truth, one an item: True/False, 1/0 or pass/fail.
        verdicts: the rater's verdict, one an item, missing where unmeasured.
        level: confidence level.
        groups: group (task, run) of each item.
        item_weights: 1 / probability of having been chosen.
        interval: "default", "analytic" (Wald) or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when lengths differ or a value is neither pass nor fail.
    """
    columns(("labels", labels), ("verdicts", verdicts))
    truth, verdict = binary(labels, "labels"), binary(verdicts, "verdicts")
    whole = design(len(truth), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    known = ~np.isnan(truth)
    missing, plan = int((~known).sum()), whole.keep(known)
    good, verdict = truth[known] == 1, verdict[known]
    gap = np.isnan(verdict)
    return VerdictRates(
        **rates_of(good, verdict == 1, plan, missing),
        measured=Rates(**rates_of(good[~gap], verdict[~gap] == 1, plan.keep(~gap), missing + int(gap.sum()))),
        unmeasured=share(gap, np.ones(len(good), dtype=bool), plan, missing),
        unmeasured_good=share(gap, good, plan, missing),
        unmeasured_bad=share(gap, ~good, plan, missing),
        counts=count(good, verdict),
    )


def rates_of(good: BoolArray, passed: BoolArray, plan: Design, missing: int) -> dict[str, Estimate]:
    """The five rates."""
    return {
        "tpr": share(passed, good, plan, missing),
        "tnr": share(~passed, ~good, plan, missing),
        "false_pass": share(passed, ~good, plan, missing),
        "bad_given_accepted": share(~good, passed, plan, missing),
        "leniency": paired_difference(passed.astype(np.float64) - good, plan, missing=missing),
    }


def share(hit: BoolArray, among: BoolArray, plan: Design, missing: int) -> Estimate:
    """Share of hits among some of the items."""
    return rate(hit[among].astype(np.float64), plan.keep(among), missing=missing)


def count(good: BoolArray, verdict: FloatArray) -> dict[str, int]:
    """Items by label and verdict."""
    states = {"pass": verdict == 1, "fail": verdict == 0, "unmeasured": np.isnan(verdict)}
    kinds = {"good": good, "bad": ~good}
    return {f"{kind}_{state}": int((a & b).sum()) for kind, a in kinds.items() for state, b in states.items()}
