"""Where to put the bar: a score from which the gate accepts."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from pge_nb.calibration import intervals
from pge_nb.calibration.curves import Scored, scored
from pge_nb.calibration.estimate import Estimate, Shown
from pge_nb.calibration.inputs import Design, FloatArray, Interval, Rng, Values, scalar, share_of, warn_few_groups
from pge_nb.calibration.rates import rate
from pge_nb.errors import BadInput, Uninformative

PER_ATTEMPT = "holds for one attempt and for this one score: retries and further scores need their own"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Threshold(Shown):
    """Accept where ``score >= value``.

    ``float(t)`` is the value; inf accepts nothing.

    Attributes:
        value: the threshold, one of the scores that were seen, or inf.
        false_pass: P(score >= value | bad) on these items.
        tpr: P(score >= value | good) on these items.
        bound: upper limit of the false-pass rate (or of the cost) that the method vouches for.
        notes: what the threshold holds for, and what is missing where there is none.
    """

    value: float
    false_pass: Estimate
    tpr: Estimate
    bound: float
    notes: tuple[str, ...]

    def __float__(self) -> float:
        return self.value

    def remarks(self) -> tuple[str, ...]:
        """The threshold before its notes."""
        return (f"accept score >= {self.value:g}", *self.notes)


def threshold_for_false_pass(
    labels: Values,
    scores: Values,
    max_rate: float,
    confidence: float = 0.95,
    *,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Threshold:
    """The lowest threshold whose false-pass rate is at most ``max_rate``, with this confidence.

    Fixed-sequence testing (Angelopoulos et al. 2021): from the highest score down, each candidate t is kept while the exact
    binomial (Clopper & Pearson 1934) upper limit of P(score >= t | bad) is at most ``max_rate``; the first that is not ends it.
    No correction for looking at many is needed, since the order is fixed. Candidates are the scores seen, and the gate accepts
    ``score >= t``, as the test does. With groups (or weights) hits and items are scaled to the effective size by the intraclass
    correlation of the bad items' ranks (Korn & Graubard 1998).

    Where no candidate qualifies the threshold is inf, and a note says how many failing labels are needed at least:
    log(1 - confidence) / log(1 - max_rate), all scoring below it.

    Args:
        labels: the truth, one an item.
        scores: higher means better.
        max_rate: highest acceptable P(pass | bad), between 0 and 1.
        confidence: one-sided confidence of the bound.
        level: confidence level of the rates shown beside.
        groups: group of each item.
        item_weights: one an item.
        interval: interval of the rates shown beside.
        rng: generator or seed for a bootstrap.

    Raises:
        BadInput: for a rate or confidence outside (0, 1), or values that cannot be read.
    """
    max_rate, confidence = scalar(max_rate, "max_rate"), scalar(confidence, "confidence")
    if not (0 < max_rate < 1 and 0 < confidence < 1):
        raise BadInput(f"max_rate is {max_rate} and confidence is {confidence}.", "Give two numbers between 0 and 1.")
    items = scored(labels, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    bad = items.plan.keep(~items.good)
    size = effective_count(items.scores[~items.good], bad)
    needed = math.ceil(math.log1p(-confidence) / math.log1p(-max_rate))
    best, bound, ended = math.inf, 0.0, math.nan
    if size >= needed:
        best, bound, ended = descend(items, size, max_rate, confidence)
    return described(
        items, best, bound, (*told(best, ended, size, needed), *warn_few_groups(bad.count or None), PER_ATTEMPT)
    )


def descend(items: Scored, size: float, max_rate: float, confidence: float) -> tuple[float, float, float]:
    """The last candidate of the sequence that holds, its limit, and the one that ended it (nan: none did)."""
    bad_scores, weights = items.scores[~items.good], items.plan.weights[~items.good]
    candidates = np.unique(items.scores)[::-1]
    hits = share_from(candidates, bad_scores, weights) * size
    # The limit grows with the hits, and they with each candidate: the first that is too high is found by halving.
    first = bisect.bisect_left(
        range(len(candidates)), True, key=lambda k: intervals.exact_upper(float(hits[k]), size, confidence) > max_rate
    )
    ended = float(candidates[first]) if first < len(candidates) else math.nan
    if not first:
        return math.inf, 0.0, ended
    return float(candidates[first - 1]), intervals.exact_upper(float(hits[first - 1]), size, confidence), ended


def share_from(candidates: FloatArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted share of the scores that reach each candidate."""
    order = np.argsort(scores, kind="stable")
    upto = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(1 - upto[np.searchsorted(scores[order], candidates, side="left")] / upto[-1], dtype=np.float64)


def told(best: float, ended: float, size: float, needed: int) -> tuple[str, ...]:
    """What to say where no candidate qualifies."""
    if best < math.inf:
        return ()
    if size < needed:
        return (f"needs {needed} failing labels, independent ones: these are worth {size:.4g}",)
    return (f"needs {needed} failing labels that all score lower: here bad items reach the highest score {ended:g}",)


def effective_count(scores: FloatArray, plan: Design) -> float:
    """Independent items that these are worth: n / (1 + (m - 1) icc), m the mean size of an item's group, on Kish's n.

    The correlation is that of the midranks (one-way analysis of variance), so that one size serves all thresholds, those without
    a single hit too, and the order of tied rows does not count.
    """
    size = plan.kish if plan.n else 0.0
    if plan.groups is None or not plan.n:
        return size
    sizes = np.bincount(plan.groups)
    correlation = group_correlation(stats.rankdata(scores), plan)
    return float(size / (1 + ((sizes**2).sum() / plan.n - 1) * correlation))


def group_correlation(values: FloatArray, plan: Design) -> float:
    """Intraclass correlation by one-way analysis of variance (Donner 1986), cut to 0..1; 1 where it cannot be told."""
    if plan.groups is None:
        return 0.0
    sizes = np.bincount(plan.groups)
    units, n = len(sizes), plan.n
    if units < 2 or n == units:
        return 0.0 if n == units else 1.0
    means = np.bincount(plan.groups, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (units - 1)
    within = float(((values - means[plan.groups]) ** 2).sum()) / (n - units)
    typical = (n - (sizes**2).sum() / n) / (units - 1)
    total = between + (typical - 1) * within
    return min(max((between - within) / total, 0.0), 1.0) if total > 0 else 0.0


def described(items: Scored, value: float, bound: float, notes: tuple[str, ...]) -> Threshold:
    """The threshold with what it does on these items."""
    passed = (items.scores >= value).astype(np.float64)
    sides = {
        name: rate(passed[side], items.plan.keep(side), missing=items.missing)
        for name, side in (("false_pass", ~items.good), ("tpr", items.good))
    }
    return Threshold(value=value, bound=bound, notes=notes, **sides)


def threshold_by_cost(
    labels: Values,
    scores: Values,
    *,
    false_pass: float,
    false_fail: float = 1.0,
    prevalence: float | None = None,
    level: float = 0.95,
    groups: Values | None = None,
    item_weights: Values | None = None,
    interval: Interval = "default",
    rng: Rng = None,
) -> Threshold:
    """The threshold with the least expected cost an item.

    cost(t) = false_pass * P(bad) * P(score >= t | bad) + false_fail * P(good) * P(score < t | good), over the scores seen and
    inf; of equal ones the highest. ``bound`` is the cost. It is chosen and told on the same items and so too kind to itself:
    tell the cost of fresh ones.

    Args:
        labels: the truth, one an item.
        scores: higher means better.
        false_pass: cost of accepting a bad item.
        false_fail: cost of rejecting a good one.
        prevalence: P(good) where the gate will stand; None: as in these items.
        level: confidence level of the rates shown beside.
        groups: group of each item.
        item_weights: one an item.
        interval: interval of the rates shown beside.
        rng: generator or seed for a bootstrap.

    Raises:
        BadInput: for negative costs or a prevalence outside 0..1.
        Uninformative: when one class has no item.
    """
    false_pass, false_fail = scalar(false_pass, "false_pass"), scalar(false_fail, "false_fail")
    prevalence = None if prevalence is None else share_of(prevalence, "prevalence")
    if min(false_pass, false_fail) < 0 or math.inf in (false_pass, false_fail):
        raise BadInput("A cost is negative or infinite.", "Give costs of 0 or more.")
    items = scored(labels, scores, level=level, groups=groups, item_weights=item_weights, interval=interval, rng=rng)
    if items.good.all() or not items.good.any():
        raise Uninformative("All items have one label.", "Label items of the other class too.")
    weights = items.plan.weights
    share = float(weights[items.good].sum() / weights.sum()) if prevalence is None else prevalence
    candidates = np.concatenate([[math.inf], np.unique(items.scores)[::-1]])
    bad_in = share_from(candidates, items.scores[~items.good], weights[~items.good])
    good_out = 1 - share_from(candidates, items.scores[items.good], weights[items.good])
    costs = false_pass * (1 - share) * bad_in + false_fail * share * good_out
    best = int(np.argmin(np.round(costs, 12)))
    note = "the cost is told on the items that chose the threshold, and is too low"
    return described(items, float(candidates[best]), float(costs[best]), (note, PER_ATTEMPT))
