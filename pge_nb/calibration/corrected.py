"""The pass rate of items that only the evaluator has seen, corrected for the evaluator's errors."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from pge_nb.calibration import intervals
from pge_nb.calibration.carrying import CarryOver
from pge_nb.calibration.estimate import CalibrationWarning, Estimate
from pge_nb.calibration.inputs import (
    Design,
    FloatArray,
    Interval,
    Rng,
    Values,
    columns,
    design,
    is_scalar,
    scalar,
    warn_few_groups,
)
from pge_nb.calibration.intervals import Ends
from pge_nb.calibration.prediction_powered import powered_rate
from pge_nb.calibration.rates import effective_size, mean_of
from pge_nb.calibration.resampling import RESAMPLES
from pge_nb.calibration.sums import Statistic, Sums
from pge_nb.calibration.verdicts import binary
from pge_nb.errors import BadInput, Uninformative


@dataclass(frozen=True, slots=True)
class Measured:
    """A rate with the number of independent items that it is worth."""

    value: float
    size: float
    groups: int | None


@dataclass(frozen=True, slots=True)
class Samples:
    """Labelled items (truth and verdict) and unlabelled ones (verdict), each with its design."""

    truth: FloatArray
    passed: FloatArray
    plan: Design
    unlabelled: FloatArray
    plan_unlabelled: Design
    missing: int
    notes: tuple[str, ...]


def corrected_rate(  # noqa: PLR0917  # the specification writes these by position
    labels: Values,
    verdicts: Values,
    unlabelled: Values,
    method: Literal["lang-reiczigel", "ppi++"] = "lang-reiczigel",
    carry: CarryOver | None = None,
    label_error: SupportsFloat | tuple[SupportsFloat, SupportsFloat] | None = None,
    groups: Values | None = None,
    groups_unlabelled: Values | None = None,
    *,
    same_population: bool = False,
    item_weights: Values | None = None,
    weights_unlabelled: Values | None = None,
    level: float = 0.95,
    interval: Interval = "default",
    rng: Rng = None,
) -> Estimate:
    """P(good) in the population of the unlabelled items, from their verdicts and the evaluator's rates on labelled ones.

    The target is the population that ``unlabelled`` comes from; the labelled items are not in it.

    "lang-reiczigel": (q + tnr - 1) / (tpr + tnr - 1), q the observed rate (Rogan & Gladen 1978), cut to 0..1; interval of
    Lang & Reiczigel (2014). With groups or weights all three rates enter with their effective sizes, and t(G - 1), G the
    fewest groups, takes the place of z. It needs TPR and TNR to carry over to the unlabelled items, not an equal rate of good
    ones. Analytic: the delta method around Rogan-Gladen; bootstrap: percentile, labelled and unlabelled units drawn anew.

    "ppi++": prediction-powered mean (Angelopoulos, Duchi & Zrnic 2023), which needs the labelled items to be a random sample of
    the same population (``same_population=True``) and at least 100 of them; it warns when the verdict rates differ.

    An unmeasured verdict does not pass, in both samples. Items without a label are left out.

    Args:
        labels: the truth of the labelled items.
        verdicts: the evaluator's verdicts on them.
        unlabelled: its verdicts on the unlabelled items.
        method: "lang-reiczigel" or "ppi++".
        carry: what ``carries_over`` found between the two places. Without "carries" the estimate says that it assumes so, and
            shows the rate over the interval of the differences.
        label_error: error of the labels themselves, (P(label pass | bad), P(label fail | good)) or one number for both, when it
            is known and independent of the evaluator's errors; TPR and TNR are then those against the true state.
        same_population: the caller's word that the labelled items are a random sample of the unlabelled ones' population.
        groups: group of each labelled item.
        groups_unlabelled: group of each unlabelled item.
        item_weights: weight of each labelled item; as ppi++'s lambda counts items, a weight of 2 is not quite the item twice.
        weights_unlabelled: weight of each unlabelled item.
        level: confidence level.
        interval: "default", "analytic" or "bootstrap".
        rng: generator or seed for the bootstrap.

    Raises:
        Uninformative: when TPR + TNR cannot be told from 1, when a class has no labelled item, or ppi++ has under 100 labels.
        BadInput: when ppi++ is asked for without ``same_population=True``, or an argument cannot be read.
    """
    columns(("labels", labels), ("verdicts", verdicts))
    tail: dict[str, Any] = {"level": level, "interval": interval, "rng": rng}
    truth, passed = binary(labels, "labels"), (binary(verdicts, "verdicts") == 1).astype(np.float64)
    known = ~np.isnan(truth)
    raw = binary(unlabelled, "unlabelled")
    plan = design(len(truth), groups=groups, item_weights=item_weights, **tail).keep(known)
    other = design(len(raw), groups=groups_unlabelled, item_weights=weights_unlabelled, **tail)
    if not len(raw) or not plan.n:
        raise Uninformative("There are no unlabelled items, or no labels.", "Give both.")
    notes = remarks(groups, groups_unlabelled, int(np.isnan(raw).sum()))
    seen = (raw == 1).astype(np.float64)
    samples = Samples(truth[known], passed[known], plan, seen, other, int((~known).sum()), notes)
    if method == "ppi++":
        if not same_population:
            raise BadInput(
                "ppi++ needs the labelled items to be a random sample of the unlabelled ones' population.",
                'Say so with same_population=True if it is so; otherwise use method="lang-reiczigel".',
            )
        if label_error is not None or carry is not None:
            raise BadInput("ppi++ takes neither carry nor label_error.", 'Use method="lang-reiczigel".')
        return powered_rate(samples.truth, samples.passed, plan, seen, other, missing=samples.missing, notes=notes)
    if method != "lang-reiczigel":
        raise BadInput(f"method is {method!r}.", 'Give "lang-reiczigel" or "ppi++".')
    return misclassification_rate(samples, carry, errors_of(label_error))


def remarks(groups: Values | None, groups_unlabelled: Values | None, unmeasured: int) -> tuple[str, ...]:
    """Notes on the two samples."""
    notes = (f"{unmeasured} unlabelled items are unmeasured and do not pass",) if unmeasured else ()
    if (groups is None) == (groups_unlabelled is None):
        return notes
    note = "only one of the two samples has groups: the other counts as independent items"
    warnings.warn(note, CalibrationWarning, stacklevel=3)
    return (*notes, note)


def errors_of(label_error: SupportsFloat | tuple[SupportsFloat, SupportsFloat] | None) -> tuple[float, float]:
    """(P(label pass | bad), P(label fail | good)).

    Raises:
        BadInput: when they are not one number or two, are negative or reach 1 together, so that labels say nothing.
    """
    if label_error is None:
        return 0.0, 0.0
    given = [label_error] * 2 if is_scalar(label_error) or not isinstance(label_error, Iterable) else list(label_error)
    pair = [scalar(one, "label_error") for one in given]
    if len(pair) != 2 or min(pair) < 0 or sum(pair) >= 1:
        raise BadInput(f"label_error is {label_error}.", "Give rates of 0 or more whose sum is under 1.")
    return pair[0], pair[1]


def misclassification_rate(samples: Samples, carry: CarryOver | None, errors: tuple[float, float]) -> Estimate:
    """Rogan-Gladen's rate with the interval that is asked for."""
    tpr, tnr = judge_rates(samples, errors)
    seen = measured(samples.unlabelled, samples.plan_unlabelled)
    counts = [one.groups for one in (tpr, tnr, seen) if one.groups is not None]
    groups = min(counts) if counts else None
    z = intervals.quantile(samples.plan.level, groups)
    refuse_chance(tpr, tnr, z)
    value = rogan_gladen(seen.value, tpr.value, tnr.value)
    ends, method = rate_ends(samples, errors, (seen, tpr, tnr), value, z)
    return Estimate(
        value=value,
        low=min(ends[0], value),
        high=max(ends[1], value),
        level=samples.plan.level,
        method=method,
        n=len(samples.unlabelled),
        groups=groups,
        missing=samples.missing,
        notes=(*samples.notes, *assumed(carry, seen.value, tpr.value, tnr.value), *warn_few_groups(groups)),
    )


def measured(values: FloatArray, plan: Design) -> Measured:
    """A rate and its effective size."""
    value = float(np.average(values, weights=plan.weights))
    return Measured(value, effective_size(mean_of(values, plan), value * (1 - value)), plan.count)


def judge_rates(samples: Samples, errors: tuple[float, float]) -> tuple[Measured, Measured]:
    """TPR and TNR against the labels, or against the true state where the labels' own errors are known.

    Raises:
        Uninformative: when a class has no labelled item.
    """
    good = samples.truth == 1
    if good.all() or not good.any():
        raise Uninformative("All labels are the same.", "Label items of the other class too.")
    if errors == (0.0, 0.0):
        return measured(samples.passed[good], samples.plan.keep(good)), measured(
            1 - samples.passed[~good], samples.plan.keep(~good)
        )
    rows = np.column_stack([samples.truth * samples.passed, samples.truth, samples.passed, np.ones(len(good))])
    return (
        latent_rate(rows, samples.plan, errors, float(good.sum()), good=True),
        latent_rate(rows, samples.plan, errors, float((~good).sum()), good=False),
    )


def latent_statistics(errors: tuple[float, float]) -> tuple[Statistic, Statistic]:
    """TPR and TNR against the true state, of the sums of (label and verdict pass, label passes, verdict passes, 1)."""
    lenient, strict = errors

    def tpr_of(sums: NDArray[Any]) -> NDArray[Any]:
        both, label, verdict = (sums[..., k] / sums[..., 3] for k in range(3))
        return np.asarray((both - lenient * verdict) / (label - lenient))

    def tnr_of(sums: NDArray[Any]) -> NDArray[Any]:
        both, label, verdict = (sums[..., k] / sums[..., 3] for k in range(3))
        return np.asarray(1 - ((1 - strict) * verdict - both) / (1 - strict - label))

    return tpr_of, tnr_of


def latent_rate(rows: FloatArray, plan: Design, errors: tuple[float, float], n: float, *, good: bool) -> Measured:
    """TPR or TNR against the true state, from the joint shares of label and verdict.

    P(pass | good) = (P(label and verdict pass) - e P(verdict pass)) / (P(label pass) - e), e = P(label pass | bad); likewise for
    bad items. Its effective size is p (1 - p) over the linearised variance.
    """
    tpr_of, tnr_of = latent_statistics(errors)
    sums = Sums(rows, tpr_of if good else tnr_of, plan)
    value = float(np.clip(sums.value(), 0, 1))
    variance = sums.variance()
    inside = 0 < value < 1 and variance > 0
    size = min(n, value * (1 - value) / variance) if inside else min(n, float(plan.units))
    return Measured(value, size, plan.count)


def rogan_gladen(seen: float, tpr: float, tnr: float) -> float:
    """Corrected rate, cut to 0..1."""
    return min(max((seen + tnr - 1) / (tpr + tnr - 1), 0.0), 1.0)


def refuse_chance(tpr: Measured, tnr: Measured, z: float) -> None:
    """Raise where tpr - (1 - tnr) has an interval that reaches 0 (square-and-add, Newcombe 1998).

    Raises:
        Uninformative: when TPR + TNR cannot be told from 1, or lies below it.
    """
    first = (tpr.value, *intervals.wilson(tpr.value, tpr.size, z))
    false_pass = 1 - tnr.value
    low, high = intervals.newcombe(first, (false_pass, *intervals.wilson(false_pass, tnr.size, z)))
    if high < 0:
        raise Uninformative(
            f"TPR + TNR is {tpr.value + tnr.value:.2f}, below 1.", "See whether pass and fail are the wrong way round."
        )
    if low <= 0:
        raise Uninformative(
            f"TPR {tpr.value:.2f} + TNR {tnr.value:.2f} cannot be told from 1: the verdicts may say nothing.",
            "Label more items, of the rarer class above all, or use a better evaluator.",
        )


def rate_ends(
    samples: Samples, errors: tuple[float, float], three: tuple[Measured, Measured, Measured], value: float, z: float
) -> tuple[Ends, str]:
    """Interval and its name."""
    interval = samples.plan.interval
    if interval == "bootstrap":
        return intervals.percentile(
            resampled(samples, errors), samples.plan.level
        ), "percentile bootstrap of both samples"
    if interval == "analytic":
        return intervals.wald(value, delta_variance(three, value), z, 0.0, 1.0), "Rogan-Gladen, delta method"
    name = "Lang-Reiczigel" if three[1].groups is None else "Lang-Reiczigel on effective sizes, t(G - 1)"
    return lang_reiczigel(three, z), name


def delta_variance(three: tuple[Measured, Measured, Measured], value: float) -> float:
    """Variance of Rogan-Gladen's rate from those of its three rates."""
    seen, tpr, tnr = (one.value * (1 - one.value) / one.size for one in three)
    return (seen + tpr * value**2 + tnr * (1 - value) ** 2) / (three[1].value + three[2].value - 1) ** 2


def lang_reiczigel(three: tuple[Measured, Measured, Measured], z: float) -> Ends:
    """Lang & Reiczigel (2014): pseudo-counts for each rate (z^2 for the observed one, 2 for the others), and a shift."""
    seen, tpr, tnr = (add_counts(one, extra) for one, extra in zip(three, (z * z, 2.0, 2.0), strict=True))
    youden = tpr.value + tnr.value - 1
    rate = (seen.value + tnr.value - 1) / youden
    half = z * math.sqrt(delta_variance((seen, tpr, tnr), rate))
    spread = [one.value * (1 - one.value) / one.size for one in (tpr, tnr)]
    shift = 2 * z * z * (rate * spread[0] - (1 - rate) * spread[1])
    return min(max(rate + shift - half, 0.0), 1.0), min(max(rate + shift + half, 0.0), 1.0)


def add_counts(one: Measured, extra: float) -> Measured:
    """The rate with pseudo-items, half of them hits."""
    size = one.size + extra
    return Measured((one.value * one.size + extra / 2) / size, size, one.groups)


def resampled(samples: Samples, errors: tuple[float, float]) -> FloatArray:
    """The corrected rate of resamples of labelled and unlabelled units."""
    rng = samples.plan.generator()
    rows = np.column_stack([samples.truth * samples.passed, samples.truth, samples.passed, np.ones(len(samples.truth))])

    two = latent_statistics(errors)

    def both(sums: NDArray[Any]) -> NDArray[Any]:
        return np.stack([statistic(sums) for statistic in two], axis=-1)

    tpr, tnr = Sums(rows, both, samples.plan).resampled(RESAMPLES, rng).T
    seen = mean_of(samples.unlabelled, samples.plan_unlabelled).resampled(RESAMPLES, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip((seen + tnr - 1) / (tpr + tnr - 1), 0, 1), dtype=np.float64)


def assumed(carry: CarryOver | None, seen: float, tpr: float, tnr: float) -> tuple[str, ...]:
    """What the estimate takes for granted, and how far it moves where that fails."""
    if carry is None:
        return ("assumes the rates carry over",)
    if carry.verdict == "carries":
        return (f"the rates carry over within {carry.margin:g}",)
    ends = [(one.low, one.high) for one in (carry.tpr_difference, carry.tnr_difference)]
    corners = [(min(max(tpr + a, 0), 1), min(max(tnr + b, 0), 1)) for a, b in itertools.product(*ends)]
    if any(a + b <= 1 for a, b in corners):
        return (
            "assumes the rates carry over",
            f"carries_over: {carry.verdict}; over its intervals the verdicts may say nothing",
        )
    reached = [rogan_gladen(seen, a, b) for a, b in corners]
    span = f"{min(reached):.3f} to {max(reached):.3f}"
    over = f"carries_over: {carry.verdict}; over the intervals of the differences the rate is {span}"
    return ("assumes the rates carry over", over)
