from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from pge_nb import calibration as cal
from pge_nb.calibration import intervals

FEW = settings(max_examples=60, deadline=None)
Z = 1.959963984540054


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 17), (15, 20), (40, 40), (81, 263)])
def test_wilson_is_that_of_statsmodels(hits: int, n: int) -> None:
    assert intervals.wilson(hits / n, n, Z) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-9)


def test_wilson_published() -> None:
    # Newcombe (1998), table I: 81 of 263: .2553 to .3662; 0 of 20: 0 to .1611.
    assert intervals.wilson(81 / 263, 263, Z) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert intervals.wilson(0.0, 20, Z) == pytest.approx((0.0, 0.1611), abs=5e-5)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 17), (40, 40)])
def test_exact_limits_are_those_of_scipy(hits: int, n: int) -> None:
    theirs = stats.binomtest(hits, n).proportion_ci(0.9, "exact")
    assert intervals.exact_lower(hits, n, 0.95) == pytest.approx(theirs.low, abs=1e-9)
    assert intervals.exact_upper(hits, n, 0.95) == pytest.approx(theirs.high, abs=1e-9)


def test_tango_published() -> None:
    # Fagerland, Lydersen & Laake (2014), airway hyper-responsiveness: 1 and 7 discordant of 21: -.517 to -.026.
    assert intervals.tango(1, 7, 21, Z) == pytest.approx((-0.517, -0.026), abs=5e-4)


def test_tango_without_discordant_items_by_hand() -> None:
    # No discordant item: q = 0 or -d, and n d^2 = z^2 |d| (1 - |d|) gives |d| = z^2 / (n + z^2) = 3.8415 / 53.8415.
    assert intervals.tango(0, 0, 50, Z) == pytest.approx((-0.071348, 0.071348), abs=1e-6)


@FEW
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60))
def test_tango_solves_its_own_equation_and_mirrors(more: int, less: int, same: int) -> None:
    n = more + less + same
    if n == 0:
        return
    low, high = intervals.tango(more, less, n, Z)
    mirrored = intervals.tango(less, more, n, Z)
    assert -1 <= low <= (more - less) / n <= high <= 1
    assert (low, high) == pytest.approx((-mirrored[1], -mirrored[0]), abs=1e-9)
    for d in (low, high):
        if -1 < d < 1:
            b = -more - less + (2 * n - more + less) * d
            q = (math.sqrt(b * b + 8 * n * less * d * (1 - d)) - b) / (4 * n)
            assert (more - less - n * d) ** 2 == pytest.approx(Z**2 * n * (2 * q + d * (1 - d)), rel=1e-6, abs=1e-6)


def test_newcombe_published() -> None:
    # Newcombe (1998), table II, method 10: 56/70 - 48/80: .0524 to .3339; 9/10 - 3/10: .1705 to .8090.
    for (a, m, b, n), expected in {(56, 70, 48, 80): (0.0524, 0.3339), (9, 10, 3, 10): (0.1705, 0.8090)}.items():
        first, second = ((k / size, *intervals.wilson(k / size, size, Z)) for k, size in ((a, m), (b, n)))
        assert intervals.newcombe(first, second) == pytest.approx(expected, abs=5e-5)


def test_posterior_of_a_rate_is_the_beta_distribution() -> None:
    # Two cells, 7 and 3, prior 1/2 each: Beta(7.5, 3.5), whose quantiles scipy knows.
    cells = np.eye(2)
    found = intervals.posterior(
        cells, np.array([7.0, 3.0]), np.array([0.5, 0.5]), lambda s: s[..., 0] / s.sum(axis=-1), 0.95
    )
    assert found == pytest.approx(stats.beta(7.5, 3.5).ppf([0.025, 0.975]), abs=0.005)


def test_fisher_jackknife_of_the_range_from_0() -> None:
    # A rate in (0, 1) goes onto logit / 2, where the jackknife of z has a closed form: compare with the logit itself.
    without = np.array([0.71, 0.69, 0.7, 0.72, 0.68])
    logits = np.log(without / (1 - without))
    error = math.sqrt(4 / 5 * ((logits - logits.mean()) ** 2).sum())
    centre = math.log(0.7 / 0.3)
    expected = [1 / (1 + math.exp(-(centre + sign * 2 * error))) for sign in (-1, 1)]
    assert intervals.fisher_jackknife(0.7, without, 2.0, 0.0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("value", "without"), [(1.0, [1, 1, 1]), (0.5, [0.5, 0.5, 0.5]), (0.5, [0.4, math.nan, 0.6])])
def test_fisher_jackknife_says_when_it_has_nothing_to_say(value: float, without: list[float]) -> None:
    assert intervals.fisher_jackknife(value, np.array(without, dtype=float), 2.0) is None


def test_bca_of_a_mean_is_that_of_scipy() -> None:
    data = np.random.default_rng(1).exponential(size=40)
    theirs = stats.bootstrap((data,), np.mean, n_resamples=20_000, rng=2, method="BCa").confidence_interval
    ours = cal.bootstrap(np.mean, data, n=20_000, rng=3)
    assert (ours.low, ours.high) == pytest.approx(
        tuple(theirs), abs=0.02
    )  # both are random: .02 is 0.12 standard errors


def test_bootstrap_draws_whole_groups() -> None:
    values = np.repeat([0.0, 1.0, 2.0, 3.0], 5)
    groups = np.repeat(list("abcd"), 5)
    rows = cal.resample_indices(20, 50, groups=groups, rng=1)
    for row in rows:
        counts = np.bincount(row, minlength=20).reshape(4, 5)
        assert (counts == counts[:, :1]).all()
        assert counts[:, 0].sum() == 4
    with pytest.warns(cal.CalibrationWarning, match="only 4 groups"):
        together = cal.bootstrap(np.mean, values, groups=groups, rng=1, method="percentile")
    alone = cal.bootstrap(np.mean, values, rng=1, method="percentile")
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_bootstrap_tells_of_undefined_resamples() -> None:
    found = cal.bootstrap(lambda x: float(x.mean()) if x.any() else math.nan, [0, 0, 0, 1], n=400, rng=1)
    assert any("left the statistic undefined" in note for note in found.notes)


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=8, max_size=30),
    st.sampled_from(["kappa", "ac1", "alpha", "fleiss"]),
)
def test_many_resamples_at_once_are_each_resample_alone(pairs: list[tuple[int, int]], statistic: str) -> None:
    ratings = np.array(pairs)
    functions = {
        "kappa": lambda r, **tail: cal.cohen_kappa(*r.T, **tail),
        "ac1": lambda r, **tail: cal.gwet_ac(r, labels=[0, 1, 2], **tail),
        "alpha": cal.krippendorff_alpha,
        "fleiss": cal.fleiss_kappa,
    }
    indices = cal.resample_indices(len(pairs), 6, groups=np.arange(len(pairs)) // 3, rng=1)
    found = cal.resampled_agreement(ratings, indices, statistic, labels=[0, 1, 2])
    alone = [functions[statistic](ratings[rows], interval="analytic").value for rows in indices]
    assert found == pytest.approx(alone, abs=1e-9, nan_ok=True)
