"""What a gate lets through when rejected work is tried again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from pge_nb.calibration import intervals
from pge_nb.calibration.curves import scored
from pge_nb.calibration.inputs import (
    FloatArray,
    Interval,
    Rng,
    Values,
    is_scalar,
    scalar,
    share_of,
    warn_few_groups,
    whole,
)
from pge_nb.calibration.thresholds import Threshold, described, effective_count
from pge_nb.errors import BadInput, Uninformative

MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """What becomes of a step under retry-until-pass.

    Attributes:
        p_accepted: P(some attempt is accepted).
        p_bad_accepted: P(the accepted attempt is bad), over all steps, those without an accepted attempt too.
        p_bad_given_accepted: the same among steps with an accepted attempt; nan where none is ever accepted.
        p_good_rejected: P(at least one good attempt is rejected on the way).
        p_good_lost: P(nothing is accepted although at least one attempt was good).
        expected_attempts: mean number of attempts made.
    """

    p_accepted: float
    p_bad_accepted: float
    p_bad_given_accepted: float
    p_good_rejected: float
    p_good_lost: float
    expected_attempts: float


def pass_after_retries(
    tpr: SupportsFloat,
    tnr: SupportsFloat,
    quality: SupportsFloat | Sequence[SupportsFloat],
    retries: int,
    *,
    rho_good: SupportsFloat,
    rho_bad: SupportsFloat,
) -> Retries:
    """Retry until pass, at most ``retries`` + 1 attempts.

    Within a step the evaluator's verdicts hang together: a good attempt passes with a probability that is drawn once a step
    from a Beta with mean TPR and intraclass correlation ``rho_good``; a bad one likewise with mean 1 - TNR and ``rho_bad``.
    After k rejected attempts of a kind the chance of the next is m s / (s + k), m the mean and s = (1 - rho) / rho
    (Beta-binomial, Skellam 1948): at rho 0 retries are independent looks, at rho 1 a step that was rejected once always is.
    Exact sums over how many good and bad attempts were rejected; no simulation.

    Args:
        tpr: P(pass | good) of one look.
        tnr: P(not pass | bad) of one look.
        quality: P(attempt k is good | the earlier ones were rejected), one number or one for each attempt.
        retries: attempts after the first, 0 or more.
        rho_good: correlation of verdicts on good attempts of one step, 0..1.
        rho_bad: correlation of verdicts on bad attempts of one step, 0..1.

    Raises:
        BadInput: for probabilities outside 0..1, or a sequence whose length is not retries + 1.
    """
    chances = chances_of(quality, retries)
    true_pass, true_fail, alike_good, alike_bad = shares_of(tpr=tpr, tnr=tnr, rho_good=rho_good, rho_bad=rho_bad)
    rejected = {(0, 0): 1.0}  # P(so far all rejected, this many good and bad)
    good_in = bad_in = good_rejected = expected = 0.0
    for chance in chances:
        expected += math.fsum(rejected.values())
        nxt: dict[tuple[int, int], float] = {}
        for (good, bad), weight in rejected.items():
            pass_good, pass_bad = next_pass(true_pass, alike_good, good), next_pass(1 - true_fail, alike_bad, bad)
            good_in += weight * chance * pass_good
            bad_in += weight * (1 - chance) * pass_bad
            # A good attempt is rejected for the first time.
            good_rejected += weight * chance * (1 - pass_good) * (good == 0)
            add(nxt, (good + 1, bad), weight * chance * (1 - pass_good))
            add(nxt, (good, bad + 1), weight * (1 - chance) * (1 - pass_bad))
        rejected = nxt
    accepted = good_in + bad_in
    return Retries(
        p_accepted=accepted,
        p_bad_accepted=bad_in,
        p_bad_given_accepted=bad_in / accepted if accepted > 0 else math.nan,
        p_good_rejected=good_rejected,
        p_good_lost=math.fsum(weight for (good, _), weight in rejected.items() if good),
        expected_attempts=expected,
    )


def chances_of(quality: SupportsFloat | Sequence[SupportsFloat], retries: int) -> list[float]:
    """P(good) of each attempt.

    Raises:
        BadInput: when it is not one number or one an attempt, or lies outside 0..1.
    """
    attempts = whole(retries, "retries") + 1
    # An Estimate is one number although it unpacks as three.
    one_each = [quality] * attempts if is_scalar(quality) or not isinstance(quality, Iterable) else list(quality)
    if attempts < 1 or len(one_each) != attempts:
        raise BadInput(
            f"quality has {len(one_each)} values for {attempts} attempts.", "Give one number, or one an attempt."
        )
    return [share_of(one, "quality") for one in one_each]


def shares_of(**shares: SupportsFloat) -> tuple[float, ...]:
    """Named probabilities and correlations as floats."""
    return tuple(share_of(value, name) for name, value in shares.items())


def next_pass(mean: float, rho: float, rejections: int) -> float:
    """P(pass | this many attempts of the kind were rejected)."""
    # s / (s + k) with s = (1 - rho) / rho, written so that rho may be 0; at rho 1 the first look counts before all others.
    return mean if rejections == 0 else mean * (1 - rho) / (1 - rho + rejections * rho)


def add(table: dict[tuple[int, int], float], key: tuple[int, int], weight: float) -> None:
    """Add to an entry."""
    table[key] = table.get(key, 0.0) + weight


def threshold_after_retries(
    labels: Values,
    scores: Values,
    quality: SupportsFloat | Sequence[SupportsFloat],
    retries: int,
    max_bad_given_accepted: float,
    *,
    confidence: float = 0.95,
    rho_good: SupportsFloat = 0.0,
    rho_bad: SupportsFloat = 0.0,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Threshold:
    """The lowest threshold whose P(bad | accepted), after retries, is at most the given one, with this confidence.

    For each candidate the exact upper limit of the false-pass rate and the exact lower limit of the TPR (Clopper & Pearson 1934),
    each at half the error, go into ``pass_after_retries``. P(bad | accepted) need not fall with the threshold, so candidates (at
    most 20, quantiles of the scores) share the error evenly (Bonferroni). With groups both rates stand on effective sizes.

    Args:
        labels: the truth, one an item.
        scores: higher means better.
        quality: P(attempt k is good | the earlier ones were rejected).
        retries: attempts after the first.
        max_bad_given_accepted: highest acceptable share of bad among accepted steps.
        confidence: that it holds.
        rho_good: see ``pass_after_retries``.
        rho_bad: see ``pass_after_retries``.
        level: confidence level of the rates shown beside.
        groups: group of each item.
        item_weights: one an item.
        interval: interval of the rates shown beside.
        rng: generator or seed for a bootstrap.

    Raises:
        BadInput: for rates outside (0, 1) and for what ``pass_after_retries`` refuses.
        Uninformative: when one class has no item.
    """
    max_bad_given_accepted, confidence = (
        scalar(max_bad_given_accepted, "max_bad_given_accepted"),
        scalar(confidence, "confidence"),
    )
    if not (0 < max_bad_given_accepted < 1 and 0 < confidence < 1):
        raise BadInput("max_bad_given_accepted or confidence lies outside 0 to 1.", "Give numbers between 0 and 1.")
    items = scored(labels, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    if items.good.all() or not items.good.any():
        raise Uninformative("All items have one label.", "Label items of the other class too.")
    candidates = spread_out(items.scores)
    each = 1 - (1 - confidence) / 2 / len(candidates)
    sides = [(items.scores[side], items.plan.keep(side)) for side in (items.good, ~items.good)]
    sizes = [effective_count(*side) for side in sides]
    best, bound = math.inf, math.nan
    for candidate in candidates:
        hits = [float(plan.weights[scores >= candidate].sum() / plan.weights.sum()) for scores, plan in sides]
        tpr = intervals.exact_lower(hits[0] * sizes[0], sizes[0], each)
        false_pass = intervals.exact_upper(hits[1] * sizes[1], sizes[1], each)
        after = pass_after_retries(tpr, 1 - false_pass, quality, retries, rho_good=rho_good, rho_bad=rho_bad)
        if after.p_bad_given_accepted <= max_bad_given_accepted and candidate < best:
            best, bound = float(candidate), after.p_bad_given_accepted
    notes = () if best < math.inf else ("no candidate qualifies: label more items, or allow fewer retries",)
    told = (
        f"after up to {retries} retries, for this quality, rho_good {float(rho_good):g} and rho_bad {float(rho_bad):g}"
    )
    return described(items, best, bound, (*notes, told, *warn_few_groups(items.plan.count)))


def spread_out(scores: FloatArray) -> FloatArray:
    """The distinct scores, or 20 quantiles of them where there are more; falling."""
    distinct = np.unique(scores)
    if len(distinct) > MOST_CANDIDATES:
        distinct = np.unique(np.quantile(distinct, np.linspace(0, 1, MOST_CANDIDATES), method="higher"))
    return np.asarray(distinct[::-1], dtype=np.float64)
