"""Ties, blocks and replicates where rounding or the order of rows must not decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pge_nb import calibration as cal
from pge_nb.calibration.thresholds import effective_count
from pge_nb.errors import BadInput

GROUPS = np.repeat(np.arange(12), 5)
FIRST = GROUPS == 0
Y = np.random.default_rng(4).normal(size=60)


def weights(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(60) + 0.1


@pytest.mark.parametrize("shuffled", [False, True])
def test_tied_scores_are_worth_the_same_in_any_order(shuffled: bool) -> None:
    # 200 bad items that all score 0 do not differ between groups: nothing ties them together.
    order = np.random.default_rng(1).permutation(220) if shuffled else np.arange(220)
    labels, scores = np.repeat([0, 1], [200, 20])[order], np.repeat([0.0, 1.0], [200, 20])[order]
    found = cal.threshold_for_false_pass(
        labels, scores, 0.05, groups=np.concatenate([np.arange(200) // 10, np.arange(100, 120)])[order]
    )
    assert found.value == 1


def test_thresholds_by_group_do_not_depend_on_row_order() -> None:
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(30), 10)
    scores = np.round(rng.normal(size=300) + rng.normal(size=30)[groups])
    labels = rng.random(300) < 0.5
    order = rng.permutation(300)
    for found in (
        lambda rows: cal.threshold_for_false_pass(
            labels[rows], scores[rows] + 3 * labels[rows], 0.2, groups=groups[rows]
        ),
        lambda rows: cal.threshold_after_retries(
            labels[rows], scores[rows] + 3 * labels[rows], 0.5, 1, 0.4, groups=groups[rows]
        ),
    ):
        first, second = found(np.arange(300)), found(order)
        assert first.value == second.value < math.inf
        assert first.bound == pytest.approx(second.bound)


def test_threshold_by_group_keeps_its_word_with_tied_scores() -> None:
    # Scores 0 to 3 whose level is the group's: the false-pass rate at the threshold may exceed .2 in 5 % of samples.
    rng = np.random.default_rng(11)
    broken = 0
    truth = {t: 0.5**t for t in (0, 1, 2, 3)}
    for _ in range(400):
        groups = np.repeat(np.arange(40), 8)
        own = rng.random(40)[groups]
        depth = np.where(rng.random(320) < 0.4, own, rng.random(320))
        scores = np.minimum(np.floor(-np.log2(np.maximum(depth, 1e-9))), 3)
        labels = np.concatenate([np.zeros(320), np.ones(12)])
        found = cal.threshold_for_false_pass(
            labels,
            np.concatenate([scores, np.full(12, 3.0)]),
            0.2,
            groups=np.concatenate([groups, np.arange(100, 112)]),
        )
        broken += truth.get(found.value, 0) > 0.2
    assert broken <= 32


def design(groups: np.ndarray) -> Any:
    from pge_nb.calibration.inputs import design as made

    return made(len(groups), level=0.95, groups=groups, item_weights=None, interval="default", rng=None)


def test_effective_count_by_hand() -> None:
    # Two groups of two, scores (0, 0), (1, 1): midranks differ between groups alone, so each group is worth one item.
    assert effective_count(np.array([0.0, 0, 1, 1]), design(np.array([0, 0, 1, 1]))) == pytest.approx(2)
    assert effective_count(np.zeros(4), design(np.array([0, 0, 1, 1]))) == 4


@pytest.mark.parametrize(
    "rate", [np.float32(0.5), np.float64(0.5), np.array(0.5), cal.percent_agreement([1, 0], [1, 1])]
)
def test_one_number_of_any_kind_is_one_quality(rate: Any) -> None:
    plain = cal.pass_after_retries(0.9, 0.8, 0.5, 2, rho_good=0.5, rho_bad=0.5)
    assert cal.pass_after_retries(0.9, 0.8, rate, 2, rho_good=rate, rho_bad=rate) == plain
    assert cal.pass_after_retries(0.9, 0.8, [rate] * 3, np.float64(2), rho_good=0.5, rho_bad=0.5) == plain  # type: ignore[arg-type]
    assert cal.pass_after_retries(0.9, 0.8, np.int64(1), 2, rho_good=rate, rho_bad=0).p_bad_accepted == 0
    labels, scores = [0, 1] * 200, [1.0, 9.0] * 200
    found = cal.threshold_after_retries(labels, scores, rate, 1, 0.2, rho_good=rate, rho_bad=rate)
    assert found.value == 9


@pytest.mark.parametrize("wrong", ["half", "0.5", None, math.nan, 2.5, -1])
def test_what_is_no_probability_is_refused(wrong: Any) -> None:
    for arguments in ((wrong, 0.8, 0.5, 2), (0.9, 0.8, [0.5, wrong, 0.5], 2), (0.9, 0.8, 0.5, wrong)):
        with pytest.raises(BadInput):
            cal.pass_after_retries(*arguments, rho_good=0.5, rho_bad=0.5)
    with pytest.raises(BadInput):
        cal.pass_after_retries(0.9, 0.8, wrong, 2, rho_good=0.5, rho_bad=0.5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["spearman", "kendall", "somers"])
def test_correlation_that_one_group_makes_has_no_interval(method: str, seed: int) -> None:
    x = np.where(FIRST, np.arange(60), 3.0)
    found = cal.rank_correlation(x, Y, method, groups=GROUPS, item_weights=weights(seed))
    assert (found.low, found.high) == (-1, 1)
    assert "no variation" in found.method
    analytic = cal.rank_correlation(x, Y, method, groups=GROUPS, item_weights=weights(seed), interval="analytic")
    assert (analytic.low, analytic.high) == (-1, 1)


@pytest.mark.parametrize("weighted", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_that_one_group_makes_has_an_interval_without_nan(metric: str, weighted: int | None) -> None:
    pairs = np.ones((60, 2))
    pairs[:5] = [[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]
    given = None if weighted is None else weights(weighted)
    found = [
        cal.krippendorff_alpha(pairs, metric=metric, groups=GROUPS, item_weights=given),
        cal.cohen_kappa(*pairs.T, groups=GROUPS, item_weights=given),
        cal.fleiss_kappa(pairs, groups=GROUPS, item_weights=given),
        cal.icc(pairs, groups=GROUPS, item_weights=given),
    ]
    for one in found:
        # Without the first group nothing varies: each replicate that shows that is undefined, so the jackknife is silent.
        assert "on Fisher z" not in one.method
        assert -1 <= one.low <= one.value <= one.high <= 1


@pytest.mark.parametrize(("n", "bins"), [(100, 10), (10, 10), (10, 5), (60, 7), (1000, 8)])
def test_adaptive_bins_hold_equal_numbers_to_the_item(n: int, bins: int) -> None:
    scores = np.random.default_rng(2).permutation(np.linspace(0.01, 0.99, n))
    counts = [one.observed.n for one in cal.reliability(np.arange(n) % 2, scores, bins, adaptive=True).bins]
    assert len(counts) == bins
    assert max(counts) - min(counts) <= (n % bins > 0)


def test_adaptive_bins_honour_weights_and_ties() -> None:
    # Four items that weigh 3, 1, 1, 1: the first alone is half.
    scores, labels = np.array([0.1, 0.2, 0.3, 0.4]), [0, 1, 0, 1]
    bins = cal.reliability(labels, scores, 2, adaptive=True, item_weights=[3, 1, 1, 1]).bins
    assert [one.observed.n for one in bins] == [1, 3]
    # 15 items of one score cannot be parted.
    tied = np.repeat([0.0, 0.5, 0.9], [15, 3, 2])
    bins = cal.reliability(np.arange(20) % 2, tied, 2, adaptive=True).bins
    assert [one.observed.n for one in bins] == [15, 5]
