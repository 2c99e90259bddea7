"""Prediction-powered inference: many verdicts and a random sample of labels from one population."""

from __future__ import annotations

import math
import warnings

import numpy as np

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import CalibrationWarning, Estimate
from pge_nb.calibration.inputs import Design, FloatArray, warn_few_groups
from pge_nb.calibration.rates import mean_of
from pge_nb.calibration.resampling import RESAMPLES
from pge_nb.errors import Uninformative

FEWEST_LABELS = 100


def powered_rate(
    truth: FloatArray,
    passed: FloatArray,
    plan: Design,
    seen: FloatArray,
    other: Design,
    *,
    missing: int,
    notes: tuple[str, ...],
) -> Estimate:
    """mean(lambda f_unlabelled) + mean(y - lambda f), lambda with the least variance (Angelopoulos, Duchi & Zrnic 2023).

    Analytic: normal, as in the package ppi-python; with groups the variances are summed by group and z is t(G - 1). Default:
    Wilson on the effective size value (1 - value) / variance, which keeps its coverage near 0 and 1.

    Raises:
        Uninformative: with fewer than 100 labels.
    """
    if len(truth) < FEWEST_LABELS:
        raise Uninformative(
            f"ppi++ has {len(truth)} labels.", f"Label {FEWEST_LABELS} at least, or use Lang-Reiczigel."
        )
    assumption = "the labelled items are taken as a random sample of the same population"
    notes = (*notes, assumption, *compare_rates(passed, plan, seen, other))
    power = tuning(truth, passed, plan, seen, other)
    value = float(
        power * np.average(seen, weights=other.weights) + np.average(truth - power * passed, weights=plan.weights)
    )
    groups = min((count for count in (plan.count, other.count) if count is not None), default=None)
    errors, weighted = truth - power * passed, power * seen
    variance = variance_of(errors, plan) + variance_of(weighted, other)
    ends, method = ends_of(value, variance, groups, plan.level, default=plan.interval == "default")
    if plan.interval == "bootstrap":
        ends, method = resampled_ends(errors, plan, weighted, other), "PPI++, percentile bootstrap"
    value = min(max(value, 0.0), 1.0)
    return Estimate(
        value=value,
        low=min(ends[0], value),
        high=max(ends[1], value),
        level=plan.level,
        method=method,
        n=len(truth) + len(seen),
        groups=groups,
        missing=missing,
        notes=(*notes, *warn_few_groups(groups)),
    )


def ends_of(
    value: float, variance: float, groups: int | None, level: float, *, default: bool
) -> tuple[intervals.Ends, str]:
    """Normal interval, or Wilson's on the effective size where that exists."""
    z = intervals.quantile(level, groups)
    name = "PPI++, normal" if groups is None else "PPI++ by group, t(G - 1)"
    if default and 0 < value < 1 and variance > 0:
        return intervals.wilson(value, value * (1 - value) / variance, z), f"{name} with Wilson's interval"
    return intervals.wald(value, variance, z, 0.0, 1.0), name


def variance_of(values: FloatArray, plan: Design) -> float:
    """Variance of the mean: s^2 / n with the population's s, or summed by group."""
    return mean_of(values, plan).variance(corrected=plan.count is not None)


def tuning(truth: FloatArray, passed: FloatArray, plan: Design, seen: FloatArray, other: Design) -> float:
    """cov(y, f) / ((1 + n / N) var(f)), cut to 0..1, the variance over both samples; 0 where the verdicts do not vary."""
    centre = np.average(seen, weights=other.weights) + np.average(truth - passed, weights=plan.weights)
    y, f, g = plan.weights * (truth - centre), plan.weights * (passed - centre), other.weights * (seen - centre)
    spread = np.concatenate([f, g]).var(ddof=1)
    if spread == 0:
        return 0.0
    together = float(((y - y.mean()) * (f - f.mean())).mean())
    return min(max(together / ((1 + len(y) / len(g)) * float(spread)), 0.0), 1.0)


def compare_rates(passed: FloatArray, plan: Design, seen: FloatArray, other: Design) -> tuple[str, ...]:
    """Warn, and give the note, when the verdict rates of the two samples differ at .05."""
    gap = float(np.average(passed, weights=plan.weights) - np.average(seen, weights=other.weights))
    error = math.sqrt(variance_of(passed, plan) + variance_of(seen, other))
    if abs(gap) <= 1.96 * error:
        return ()
    note = (
        f"the verdict rates of labelled and unlabelled items differ by {abs(gap):.3f}: they may not be one population"
    )
    warnings.warn(note, CalibrationWarning, stacklevel=5)
    return (note,)


def resampled_ends(labelled: FloatArray, plan: Design, seen: FloatArray, other: Design) -> intervals.Ends:
    """Percentile interval of resamples of both samples, lambda held."""
    rng = plan.generator()
    first = mean_of(labelled, plan).resampled(RESAMPLES, rng)
    second = mean_of(seen, other).resampled(RESAMPLES, rng)
    return intervals.percentile(np.clip(first + second, 0, 1), plan.level)
