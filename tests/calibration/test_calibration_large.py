"""Ten thousands of items: memory and time stay within a laptop's, and the shortcuts give what the long way gave."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pge_nb import calibration as cal
from pge_nb.calibration import coincidence
from pge_nb.calibration.inputs import design
from pge_nb.calibration.intervals import exact_upper
from pge_nb.calibration.sums import Sums

RNG = np.random.default_rng(8)
N = 60_000
GOOD = RNG.random(N) < 0.6
SCORES = RNG.normal(size=N) + 2 * GOOD
OTHER = SCORES + RNG.normal(size=N)
WEIGHTS = RNG.random(N) + 0.5

LARGE: dict[str, Callable[[], Any]] = {
    "ordinal alpha": lambda: cal.krippendorff_alpha(np.round(np.c_[SCORES, OTHER][:1000], 6), metric="ordinal"),
    "false pass": lambda: cal.threshold_for_false_pass(GOOD, SCORES, 0.05),
    "cost": lambda: cal.threshold_by_cost(GOOD, SCORES, false_pass=3),
    "weighted comparison": lambda: cal.compare_raters(
        GOOD[:20_000], SCORES[:20_000] > 1, OTHER[:20_000] > 1, item_weights=WEIGHTS[:20_000]
    ),
    "spearman": lambda: cal.rank_correlation(SCORES, OTHER),
    "somers": lambda: cal.rank_correlation(SCORES[:10_000], OTHER[:10_000], "somers"),
    "bootstrap": lambda: cal.percent_agreement(
        GOOD[:10_000], SCORES[:10_000] > 1, interval="bootstrap", rng=1, groups=np.arange(10_000) // 2
    ),
    "people": lambda: cal.human_ceiling(np.c_[GOOD, SCORES > 1, OTHER > 1][:10_000].astype(int), OTHER[:10_000] > 0.9),
}


@pytest.mark.parametrize("call", LARGE.values(), ids=LARGE.keys())
def test_large_data_are_no_trouble(call: Callable[[], Any]) -> None:
    begun = time.monotonic()
    tracemalloc.start()
    try:
        call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400e6
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("groups", [None, np.arange(60) // 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_ordinal_alpha_from_ranks_is_that_from_the_table(groups: Any, weighted: bool) -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 35, (60, 3))
    codes[:, 1] = np.clip(codes[:, 0] + rng.integers(-3, 4, 60), 0, 34)
    codes[rng.random(codes.shape) < 0.1] = -1
    codes = codes[(codes >= 0).sum(axis=1) >= 2]
    plan = design(
        len(codes),
        level=0.95,
        groups=None if groups is None else groups[: len(codes)],
        item_weights=rng.random(len(codes)) + 0.2 if weighted else None,
        interval="default",
        rng=None,
    )
    table = coincidence.ordinal_table(codes, 35)
    long = Sums(table.rows_of(codes), table.statistic, plan)
    short = coincidence.Ranked(codes.astype(float), table.statistic, plan)
    assert short.value() == pytest.approx(long.value(), abs=1e-12)
    assert short.without_each() == pytest.approx(long.without_each(), abs=1e-12)
    drawn = [sums.resampled(20, np.random.default_rng(3)) for sums in (short, long)]
    assert drawn[0] == pytest.approx(drawn[1], abs=1e-12)
    assert short.variance() == pytest.approx(long.variance(), rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_threshold_is_where_the_sequence_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    good, n = rng.random(300) < 0.5, 300
    scores = np.round(rng.normal(size=n) + 2 * good, 1)
    best, bad = np.inf, scores[~good]
    for candidate in np.unique(scores)[::-1]:
        if exact_upper(int((bad >= candidate).sum()), len(bad), 0.95) > 0.1:
            break
        best = candidate
    assert cal.threshold_for_false_pass(good, scores, 0.1).value == best
    costs = {t: 3 * ((scores >= t) & ~good).mean() + ((scores < t) & good).mean() for t in [*np.unique(scores), np.inf]}
    assert cal.threshold_by_cost(good, scores, false_pass=3).bound == pytest.approx(min(costs.values()))


def test_somers_is_scipys() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 6, (2, 80))
    assert cal.rank_correlation(a, b, "somers").value == pytest.approx(stats.somersd(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_block_jackknife_covers_and_says_so(method: Any) -> None:
    rng = np.random.default_rng(9)
    truth = {"spearman": 6 / np.pi * np.arcsin(0.35), "kendall": 2 / np.pi * np.arcsin(0.7)}[method]
    found = [
        cal.rank_correlation(*rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 2100).T, method) for _ in range(20)
    ]
    assert all("100-blocks" in one.method for one in found)
    assert sum(one.low <= truth <= one.high for one in found) >= 16
    # As wide as the delete-one jackknife, which ends at 2,000 items.
    short = cal.rank_correlation(*rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 2000).T, method)
    mean = np.mean([one.high - one.low for one in found])
    assert mean == pytest.approx((short.high - short.low) * np.sqrt(2000 / 2100), rel=0.1)
