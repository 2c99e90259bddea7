"""The interval of how alike verdicts within steps are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb.calibration.alike import alike_ends

UNITS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20)


def test_of_what_never_passes_and_of_single_verdicts_nothing_is_known() -> None:
    assert alike_ends([0] * 40, [3] * 40, 0.95) == (0.0, 1.0)
    assert alike_ends([0, 1] * 20, [1] * 40, 0.95) == (0.0, 1.0)


def test_units_of_one_mind_are_alike_and_units_split_evenly_are_not() -> None:
    low, high = alike_ends([3] * 20 + [0] * 20, [3] * 40, 0.95)
    assert low > 0.85
    assert high == 1.0
    low, high = alike_ends([1] * 40, [2] * 40, 0.95)
    assert low == 0.0
    assert high < 0.05


def test_a_pair_worked_by_hand() -> None:
    # Units of two, mean 1/2 by symmetry, so P(both alike) = (1 + rho) / 2. 30 of 40 alike: the most likely rho is .5, and
    # 2 (30 log(.75 / p) + 10 log(.25 / (1 - p))) = 3.841 at p = .6030 and p = .8660, so rho from .206 to .732.
    low, high = alike_ends([2, 0] * 15 + [1] * 10, [2] * 40, 0.95)
    assert (low, high) == (pytest.approx(0.206, abs=0.005), pytest.approx(0.732, abs=0.005))


@settings(max_examples=30, deadline=None)
@given(UNITS)
def test_what_passes_and_what_fails_are_as_alike(units: list[tuple[int, int]]) -> None:
    hits, misses = zip(*units, strict=True)
    sizes = [hit + miss for hit, miss in units]
    assert alike_ends(hits, sizes, 0.95) == pytest.approx(alike_ends(misses, sizes, 0.95))


@pytest.mark.parametrize(("mean", "rho"), [(0.02, 0.02), (0.1, 0.09), (0.55, 0.16), (0.3, 0.5)])
def test_it_holds_what_is_so_where_little_passes_and_where_much_does(mean: float, rho: float) -> None:
    rng, held, spread = np.random.default_rng(1), 0, (1 - rho) / rho
    for _ in range(200):
        sizes = rng.integers(1, 4, 40)
        hits = rng.binomial(sizes, rng.beta(mean * spread, (1 - mean) * spread, 40))
        low, high = alike_ends(hits.tolist(), sizes.tolist(), 0.95)
        held += low <= rho <= high
    assert held >= 182
