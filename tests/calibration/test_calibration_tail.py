"""What every statistic shares: weights, groups, levels, bootstrap, missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from pge_nb import calibration as cal
from pge_nb.errors import BadInput, Uninformative

RNG = np.random.default_rng(9)
N = 60
LABELS = RNG.integers(0, 2, N)
VERDICTS = np.where(RNG.random(N) < 0.8, LABELS, 1 - LABELS)
OTHER = np.where(RNG.random(N) < 0.7, LABELS, 1 - LABELS)
SCORES = np.round(RNG.normal(6, 1.5, N) + LABELS, 1)
PEOPLE = np.round(SCORES + RNG.normal(0, 1, N), 1)
RATINGS = np.column_stack([LABELS, VERDICTS, OTHER])
NUMBERS = np.column_stack([SCORES, PEOPLE, PEOPLE + RNG.normal(0, 1, N)])
CHANCES = np.round(np.clip(0.5 + 0.3 * (LABELS - 0.5) + 0.2 * RNG.normal(size=N), 0, 1), 2)
GROUPS = np.arange(N) // 4

STATISTICS: dict[str, Callable[..., cal.Estimate]] = {
    "percent_agreement": lambda i, **t: cal.percent_agreement(LABELS[i], VERDICTS[i], **t),
    "cohen_kappa": lambda i, **t: cal.cohen_kappa(LABELS[i], VERDICTS[i], **t),
    "weighted kappa": lambda i, **t: cal.cohen_kappa(
        np.round(SCORES[i]), np.round(PEOPLE[i]), "quadratic", range(14), **t
    ),
    "gwet_ac": lambda i, **t: cal.gwet_ac(RATINGS[i], **t),
    "gwet_ac linear": lambda i, **t: cal.gwet_ac(np.round(NUMBERS[i]), "linear", range(16), **t),
    "fleiss_kappa": lambda i, **t: cal.fleiss_kappa(RATINGS[i], **t),
    "alpha": lambda i, **t: cal.krippendorff_alpha(RATINGS[i], **t),
    "alpha interval": lambda i, **t: cal.krippendorff_alpha(NUMBERS[i], metric="interval", **t),
    "icc": lambda i, **t: cal.icc(NUMBERS[i], **t),
    "spearman": lambda i, **t: cal.rank_correlation(SCORES[i], PEOPLE[i], **t),
    "kendall": lambda i, **t: cal.rank_correlation(SCORES[i], PEOPLE[i], "kendall", **t),
    "somers": lambda i, **t: cal.rank_correlation(SCORES[i], PEOPLE[i], "somers", **t),
    "tpr": lambda i, **t: cal.verdict_rates(LABELS[i], VERDICTS[i], **t).tpr,
    "bad_given_accepted": lambda i, **t: cal.verdict_rates(LABELS[i], VERDICTS[i], **t).bad_given_accepted,
    "leniency": lambda i, **t: cal.verdict_rates(LABELS[i], VERDICTS[i], **t).leniency,
    "auc": lambda i, **t: cal.roc(LABELS[i], SCORES[i], **t).auc,
    "compare_raters": lambda i, **t: cal.compare_raters(LABELS[i], VERDICTS[i], OTHER[i], **t).difference,
    "signed_error": lambda i, **t: cal.signed_error(PEOPLE[i], SCORES[i], **t),
    "spread_ratio": lambda i, **t: cal.spread_ratio(PEOPLE[i], SCORES[i], **t),
    "brier": lambda i, **t: cal.brier(LABELS[i], CHANCES[i], **t).score,
    "calibration_error": lambda i, **t: cal.calibration_error(LABELS[i], CHANCES[i], 4, **t),
    "corrected_rate": lambda i, **t: cal.corrected_rate(
        LABELS[i], VERDICTS[i], OTHER, groups_unlabelled=None if "groups" not in t else GROUPS, **t
    ),
    "flip_rate": lambda i, **t: cal.noise_floor(NUMBERS[i], **t).flip_rate,
}
ALL = np.arange(N)
each = pytest.mark.parametrize("statistic", list(STATISTICS.values()), ids=list(STATISTICS))


@each
def test_equal_weights_change_nothing_and_their_scale_neither(statistic: Callable[..., cal.Estimate]) -> None:
    plain = statistic(ALL)
    sevens, ones = (statistic(ALL, item_weights=np.full(N, weight)) for weight in (7.0, 1.0))
    assert sevens.value == pytest.approx(plain.value, abs=1e-9)
    assert tuple(sevens) == pytest.approx(tuple(ones), abs=1e-9)


@each
def test_a_weight_is_as_many_items(statistic: Callable[..., cal.Estimate]) -> None:
    # Items on which raters differ weigh more, so that weights that were forgotten would show.
    weights = 1 + (VERDICTS != LABELS) + (np.abs(SCORES - PEOPLE) > 1) + (OTHER != LABELS)
    weighted, repeated = statistic(ALL, item_weights=weights), statistic(np.repeat(ALL, weights))
    # Sample corrections (n - 1) see 60 items on the left and more on the right.
    assert weighted.value == pytest.approx(repeated.value, abs=0.006)
    plain = statistic(ALL)
    assert abs(plain.value - repeated.value) > max(0.004, 2 * abs(weighted.value - repeated.value))
    assert weighted.n == plain.n


@each
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("interval", ["default", "analytic", "bootstrap"])
def test_every_interval_is_finite_and_holds_the_value(
    statistic: Callable[..., cal.Estimate], interval: str, weighted: bool, grouped: bool
) -> None:
    tail = ({"groups": GROUPS} if grouped else {}) | ({"item_weights": 1 + ALL % 2} if weighted else {})
    found = statistic(ALL, interval=interval, rng=1, **tail)
    assert found.low < found.high
    assert found.low <= found.value <= found.high
    assert np.isfinite([found.low, found.high]).all()
    assert (found.groups is not None) == grouped
    assert found.method


@each
def test_a_higher_level_is_a_wider_interval(statistic: Callable[..., cal.Estimate]) -> None:
    narrow, wide = statistic(ALL, level=0.5), statistic(ALL, level=0.99)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


@each
def test_order_of_items_does_not_matter(statistic: Callable[..., cal.Estimate]) -> None:
    there, back = statistic(ALL, groups=GROUPS), statistic(ALL[::-1], groups=GROUPS[::-1])
    assert tuple(there) == pytest.approx(tuple(back), abs=1e-9)


@each
def test_a_random_interval_needs_rng(statistic: Callable[..., cal.Estimate]) -> None:
    with pytest.raises(BadInput, match="rng is missing"):
        statistic(ALL, interval="bootstrap")


@each
@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("interval", ["default", "analytic", "bootstrap"])
@pytest.mark.parametrize("grouped", [False, True])
def test_hardly_any_items_give_a_wide_interval_or_a_refusal(
    statistic: Callable[..., cal.Estimate], n: int, interval: str, grouped: bool
) -> None:
    items = ALL[:n]
    tail = {"groups": np.zeros(n, dtype=int)} if grouped else {"item_weights": 1.0 + items}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrationWarning)
        try:
            found = statistic(items, interval=interval, rng=1, **tail)
        except Uninformative:
            return
    assert not np.isnan([found.low, found.high]).any()
    assert np.isnan(found.value) or found.low <= found.value <= found.high
