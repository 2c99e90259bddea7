"""How much a rater differs from itself, and where scores vary."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pge_nb.calibration import intervals
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import (
    Design,
    FloatArray,
    IntArray,
    Interval,
    Matrix,
    Rng,
    Values,
    columns,
    design,
    numbers,
    warn_few_groups,
)
from pge_nb.calibration.rates import rate, ratio, undefined, wrap
from pge_nb.calibration.sums import Sums
from pge_nb.errors import BadInput, Uninformative


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoiseFloor(Shown):
    """What repeated ratings of the same attempts show.

    Attributes:
        sd: pooled standard deviation of one rating around its attempt's mean.
        minimal_detectable_change: z sqrt(2) sd; a smaller change between two single ratings may be noise.
        flip_rate: P(two ratings of one attempt fall on both sides of the threshold), over all attempts.
        flip_rate_near: the same over attempts whose mean lies within the minimal detectable change of the threshold.
        notes: what to know.
    """

    sd: Estimate
    minimal_detectable_change: Estimate
    flip_rate: Estimate
    flip_rate_near: Estimate
    notes: tuple[str, ...] = ()


def noise_floor(
    repeats: Matrix,
    threshold: float = 7.0,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> NoiseFloor:
    """Noise of a rater from attempts x repeats of its scores.

    sd^2 = sum of squared deviations from the attempts' means / sum of (repeats - 1) (Bland & Altman 1996), with a chi-squared
    interval that takes ratings as normal, or (groups, weights) from the linearised variance of log sd with t(G - 1). An attempt
    with one rating says nothing about noise and is left out. Flip rates average over attempts the share of pairs of ratings on
    both sides (``score >= threshold`` passes); attempts, or groups, are the units of their interval.

    Args:
        repeats: attempts x repeats, nan where a repeat is missing.
        threshold: score from which an attempt passes.
        level: confidence level, also of the minimal detectable change.
        groups: group (task, run) of each attempt.
        item_weights: weight of each attempt.
        interval: "default", "analytic" or "bootstrap" of the flip rates.
        rng: generator or seed for the bootstrap.

    Raises:
        BadInput: when it is not attempts x repeats of numbers.
        Uninformative: with fewer than two attempts that were rated twice: one attempt is no floor.
    """
    scores = score_table(repeats)
    counts = (~np.isnan(scores)).sum(axis=1)
    kept = np.asarray(counts >= 2, dtype=bool)
    if kept.sum() < 2:
        raise Uninformative(
            f"{int(kept.sum())} attempts were rated twice or more: the noise of one attempt is not a floor.",
            "Rate two attempts or more, twice each at least.",
        )
    whole = design(len(scores), level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    plan, scores, counts, missing = whole.keep(kept), scores[kept], counts[kept], int((~kept).sum())
    sd = pooled_deviation(scores, counts, plan, missing)
    change = scaled(sd, intervals.quantile(level) * math.sqrt(2))
    flips = flip_share(scores, counts, threshold)
    near = np.asarray(np.abs(np.nanmean(scores, axis=1) - threshold) <= change.value, dtype=bool)
    return NoiseFloor(
        sd=sd,
        minimal_detectable_change=change,
        flip_rate=rate(flips, plan, missing=missing),
        flip_rate_near=rate(flips[near], plan.keep(near), missing=missing),
        notes=(f"threshold {threshold:g}; {int(near.sum())} attempts lie near it",),
    )


def score_table(repeats: Matrix) -> FloatArray:
    """Attempts x repeats as floats, nan where missing.

    Raises:
        BadInput: when it has not two dimensions.
    """
    array = np.asarray(repeats, dtype=object)
    if array.ndim != 2:
        raise BadInput(f"repeats has {array.ndim} dimensions.", "Give attempts x repeats.")
    return np.stack([numbers(one, "a score") for one in array.T], axis=1) if array.size else np.empty(array.shape)


def pooled_deviation(scores: FloatArray, counts: IntArray, plan: Design, missing: int) -> Estimate:
    """Standard deviation within attempts."""
    deviations = scores - np.nanmean(scores, axis=1, keepdims=True)
    pooled = Sums(np.column_stack([np.nansum(deviations**2, axis=1), counts - 1]), ratio, plan)
    sd, freedom = math.sqrt(pooled.value()), float((counts - 1).sum())
    if plan.count is None and not plan.weighted:
        ends = intervals.standard_deviation(sd, freedom, plan.level)
        return wrap(plan, sd, ends, f"chi-squared, {freedom:g} degrees of freedom", missing=missing, notes=())
    spread = math.sqrt(pooled.variance()) / (2 * sd * sd) if sd else 0.0
    half = intervals.quantile(plan.level, plan.units) * spread
    known = "linearised log, t" if math.isfinite(half) else "undefined: there is one group"
    return wrap(plan, sd, intervals.on_log(sd, half), known, missing=missing, notes=warn_few_groups(plan.count))


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """The estimate of a multiple."""
    value, low, high = (factor * one for one in estimate)
    return dataclasses.replace(estimate, value=value, low=low, high=high)


def flip_share(scores: FloatArray, counts: IntArray, threshold: float) -> FloatArray:
    """Share of pairs of an attempt's ratings that fall on both sides of the threshold."""
    passed = (scores >= threshold).sum(axis=1)
    return np.asarray(2 * passed * (counts - passed) / (counts * (counts - 1)), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VarianceComponents(Shown):
    """Variances that add up to the variance of one score.

    Attributes:
        task: between tasks.
        attempt: between attempts of one task.
        rater: between raters; nan with one rater.
        repeat: what is left: the same rater on the same attempt again, and what raters see differently.
        notes: what was cut to 0.
    """

    task: Estimate
    attempt: Estimate
    rater: Estimate
    repeat: Estimate
    notes: tuple[str, ...] = ()


FACTORS = ("task", "attempt", "rater")


def variance_components(
    scores: Values,
    task: Values,
    attempt: Values,
    rater: Values | None = None,
    *,
    level: float = 0.95,
) -> VarianceComponents:
    """Variance of scores by task, attempt (within task), rater (crossed) and repeat.

    Henderson's method I (1953): the sums of squares T_f = sum(total^2 / n) over the levels of each factor are set equal to their
    expectations under random effects, which hold for any unbalanced table; in a balanced one this is the analysis of variance.
    Negative solutions are cut to 0, and said. Intervals: delete-one-task jackknife with t(tasks - 1), of the
    logarithm where no replicate reaches 0, else cut at 0.

    Args:
        scores: one a rating; missing ones are left out.
        task: task of each rating.
        attempt: attempt of each rating; the same name in two tasks is two attempts.
        rater: rater of each rating, None where there is one.
        level: confidence level.

    Raises:
        BadInput: when lengths differ or a score is not a number.
        Uninformative: with fewer than two tasks.
    """
    frame = long_table(scores, task, attempt, rater)
    kept = frame.dropna()
    tasks = kept["task"].unique()
    if len(tasks) < 2:
        raise Uninformative(f"The ratings come from {len(tasks)} task.", "Rate attempts of two tasks or more.")
    used = factors_in(kept)
    solved = henderson(kept, used)
    without = np.array([henderson(kept[kept["task"] != one], used) for one in tasks])
    plan = design(
        len(kept), level=level, groups=kept["task"].to_numpy(), item_weights=None, interval="default", rng=None
    )
    missing = len(frame) - len(kept)
    parts = {
        name: component(float(solved[k]), without[:, k], plan, missing) for k, name in enumerate([*used, "repeat"])
    }
    empty = undefined(plan, missing, (0.0, math.inf), ("cannot be told apart in these data",))
    cut = [name for name, solution in zip([*used, "repeat"], solved, strict=True) if solution < 0]
    notes = tuple(f"{name}: the solution was negative and is cut to 0" for name in cut)
    return VarianceComponents(**{name: parts.get(name, empty) for name in (*FACTORS, "repeat")}, notes=notes)


def long_table(scores: Values, task: Values, attempt: Values, rater: Values | None) -> pd.DataFrame:
    """A row a rating, attempts numbered anew within tasks.

    Raises:
        BadInput: when lengths differ.
    """
    given = [
        ("scores", scores),
        ("task", task),
        ("attempt", attempt),
        *([("rater", rater)] if rater is not None else []),
    ]
    _, tasks, attempts, *raters = columns(*given)
    frame = pd.DataFrame({"score": numbers(scores, "scores"), "task": tasks, "attempt": attempts})
    frame["rater"] = raters[0] if raters else "one"
    frame["attempt"] = frame.groupby(["task", "attempt"]).ngroup()
    return frame


def factors_in(kept: pd.DataFrame) -> list[str]:
    """Factors that vary; one attempt a task or one rater leaves its factor out, rather than split one variance at random."""
    single = kept["attempt"].nunique() == kept["task"].nunique()
    return [name for name in FACTORS if kept[name].nunique() > 1 and not (name == "attempt" and single)]


def component(solved: float, without: FloatArray, plan: Design, missing: int) -> Estimate:
    """One variance with its jackknife interval."""
    tasks, z = len(without), intervals.quantile(plan.level, len(without))
    positive = solved > 0 and bool((without > 0).all())
    # A variance is skewed; where it is clearly above 0 its logarithm is not.
    replicates = np.log(without) if positive else without
    half = z * math.sqrt((tasks - 1) / tasks * float(((replicates - replicates.mean()) ** 2).sum()))
    if not math.isfinite(half):
        ends, name = (0.0, math.inf), "undefined: without one task the variances cannot be told apart"
    elif positive:
        ends, name = intervals.on_log(solved, half), "delete-one-task jackknife of the log, t(G - 1)"
    else:
        ends, name = (max(solved - half, 0.0), max(solved + half, 0.0)), "delete-one-task jackknife, t(G - 1)"
    value = solved if math.isnan(solved) else max(solved, 0.0)
    return wrap(plan, value, ends, name, missing=missing, notes=())


def henderson(frame: pd.DataFrame, used: list[str]) -> FloatArray:
    """Solve E[T] = T for the variances of the used factors and of what is left; nan where they cannot be told apart."""
    y = frame["score"].to_numpy() - frame["score"].mean()
    codes = {name: pd.factorize(frame[name])[0] for name in used}
    n = len(y)
    squares = [*(between(y, codes[name]) for name in used), float((y * y).sum())]
    overall = float(y.sum()) ** 2 / n
    zero = np.zeros(n, dtype=np.int64)
    base = [overlap(zero, codes[name]) for name in used]
    rows = [
        [overlap(codes[one], codes[other]) - base[k] for k, other in enumerate(used)] + [float(codes[one].max())]
        for one in used
    ]
    rows.append([n - base[k] for k in range(len(used))] + [n - 1.0])
    try:
        return np.linalg.solve(np.array(rows), np.array(squares) - overall)
    except np.linalg.LinAlgError:
        return np.full(len(used) + 1, math.nan)


def between(y: FloatArray, codes: NDArray[np.int64]) -> float:
    """Sum over levels of total^2 / n."""
    return float((np.bincount(codes, weights=y) ** 2 / np.bincount(codes)).sum())


def overlap(outer: NDArray[np.int64], inner: NDArray[np.int64]) -> float:
    """Coefficient of the inner factor's variance in T of the outer: sum over pairs of levels of n_ij^2 / n_i."""
    pairs, counts = np.unique(outer * (inner.max() + 1) + inner, return_counts=True)
    return float((counts**2 / np.bincount(outer)[pairs // (inner.max() + 1)]).sum())
