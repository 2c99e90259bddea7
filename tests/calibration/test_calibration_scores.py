from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from pge_nb import calibration as cal
from pge_nb.calibration.ranking import below, midranks
from pge_nb.errors import BadInput, Uninformative

FEW = settings(max_examples=40, deadline=None)
SCORES = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=5, max_size=40).filter(
    lambda pairs: len({a for a, _ in pairs}) > 1 and len({b for _, b in pairs}) > 1
)
# Shrout & Fleiss (1979), table 2: six targets, four judges.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


@pytest.mark.parametrize(
    ("kind", "value", "low", "high"),
    [
        ("ICC(1,1)", 0.166, -0.133, 0.723),
        ("ICC(A,1)", 0.290, 0.019, 0.761),
        ("ICC(C,1)", 0.715, 0.342, 0.946),
        ("ICC(1,k)", 0.443, -0.884, 0.912),
        ("ICC(A,k)", 0.620, 0.071, 0.927),
        ("ICC(C,k)", 0.909, 0.676, 0.986),
    ],
)
def test_icc_published(kind: str, value: float, low: float, high: float) -> None:
    # Values by Shrout & Fleiss (1979); intervals as the R package psych gives them for the same table.
    found = cal.icc(SHROUT_FLEISS, kind)
    assert tuple(found) == pytest.approx((value, low, high), abs=1e-3)


def test_icc_by_hand() -> None:
    # Items (1, 2), (3, 4), (5, 6): rater b is 1 above throughout. Row means 1.5, 3.5, 5.5: R = 2 * 8 / 2 = 8, E = 0,
    # C = 3 * (.5^2 + .5^2) = 1.5. Consistency (8 - 0) / 8 = 1; agreement 8 / (8 + 2 * 1.5 / 3) = 8 / 9.
    ratings = [[1, 2], [3, 4], [5, 6]]
    assert cal.icc(ratings, "ICC(C,1)").value == pytest.approx(1)
    assert cal.icc(ratings, "ICC(A,1)").value == pytest.approx(8 / 9)


@FEW
@given(st.floats(-50, 50), st.floats(0.1, 20))
def test_icc_does_not_mind_shift_and_scale(shift: float, scale: float) -> None:
    moved = np.array(SHROUT_FLEISS) * scale + shift
    for kind in ("ICC(1,1)", "ICC(A,1)", "ICC(C,k)"):
        assert cal.icc(moved, kind).value == pytest.approx(cal.icc(SHROUT_FLEISS, kind).value, abs=1e-9)


def test_icc_leaves_incomplete_rows_out_and_knows_its_ends() -> None:
    found = cal.icc([*SHROUT_FLEISS, [1, None, 2, 3]])
    assert (found.n, found.missing) == (6, 1)
    assert found.value == pytest.approx(cal.icc(SHROUT_FLEISS).value)
    assert math.isnan(cal.icc(np.ones((5, 2))).value)
    with pytest.raises(BadInput, match="kind"):
        cal.icc(SHROUT_FLEISS, "ICC(2,1)")
    rng = np.random.default_rng(1)
    ratings = rng.normal(size=(60, 1)) + rng.normal(size=(60, 3))
    grouped = cal.icc(ratings, groups=np.arange(60) // 4)
    assert grouped.low < grouped.value < grouped.high
    assert grouped.value == pytest.approx(cal.icc(ratings).value)


# Rank correlation.


def test_rank_correlations_by_hand() -> None:
    # a 1 2 3 4, b 1 3 2 4: d = 0 1 1 0, 1 - 6 * 2 / (4 * 15) = .8; of six pairs one is discordant: 4 / 6.
    a, b = [1, 2, 3, 4], [1, 3, 2, 4]
    assert cal.rank_correlation(a, b).value == pytest.approx(0.8)
    assert cal.rank_correlation(a, b, "kendall").value == pytest.approx(4 / 6)
    # b has a tie: pairs untied in a six, concordant five, discordant none: 5 / 6.
    assert cal.rank_correlation(a, [1, 2, 2, 3], "somers").value == pytest.approx(5 / 6)


@FEW
@given(SCORES)
def test_rank_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    theirs = (stats.spearmanr(a, b).statistic, stats.kendalltau(a, b).statistic, stats.somersd(a, b).statistic)
    for method, value in zip(("spearman", "kendall", "somers"), theirs, strict=True):
        assert cal.rank_correlation(a, b, method).value == pytest.approx(value, abs=1e-9)
        ones = cal.rank_correlation(a, b, method, item_weights=np.full(len(a), 3.0))
        assert ones.value == pytest.approx(value, abs=1e-9)


@FEW
@given(SCORES, st.sampled_from(["spearman", "kendall", "somers"]))
def test_only_the_order_counts(pairs: list[tuple[int, int]], method: str) -> None:
    a, b = np.array(pairs, dtype=float).T
    plain, bent = cal.rank_correlation(a, b, method), cal.rank_correlation(np.exp(a), b**3, method)
    assert tuple(plain) == pytest.approx(tuple(bent), abs=1e-9)
    assert -1 <= plain.low <= plain.value <= plain.high <= 1
    turned = cal.rank_correlation(a, -b, method)
    assert turned.value == pytest.approx(-plain.value, abs=1e-9)


@pytest.mark.parametrize("method", ["spearman", "kendall", "somers"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_jackknife_leaves_out_what_it_says(method: str, grouped: bool) -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 8, 48).astype(float)
    b = a + rng.integers(0, 6, 48)
    units = np.arange(48) // 4 if grouped else np.arange(48)
    function = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "somers": stats.somersd}[method]
    z = np.arctanh([function(a[units != u], b[units != u]).statistic for u in np.unique(units)])
    error = math.sqrt((len(z) - 1) / len(z) * ((z - z.mean()) ** 2).sum())
    t = stats.t.ppf(0.975, len(z) - 1)
    centre = math.atanh(function(a, b).statistic)
    found = cal.rank_correlation(a, b, method, groups=units if grouped else None)
    assert (found.low, found.high) == pytest.approx(tuple(np.tanh([centre - t * error, centre + t * error])), abs=1e-9)


def test_midranks_are_those_of_scipy_and_lose_what_leaves() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0, 5.0])
    assert midranks(values, np.ones(5)) + 0.5 == pytest.approx(stats.rankdata(values))
    left = midranks(values, np.ones(5))[1:] - below(values[1:], values[:1], np.ones(1))
    assert left + 0.5 == pytest.approx(stats.rankdata(values[1:]))


def test_rank_correlation_knows_its_ends() -> None:
    assert math.isnan(cal.rank_correlation([1, 1, 1], [1, 2, 3]).value)
    perfect = cal.rank_correlation([1, 2, 3, 4], [1, 2, 3, 4])
    assert (perfect.value, perfect.low, perfect.high) == (pytest.approx(1), -1, pytest.approx(1))
    analytic = cal.rank_correlation(np.arange(30), np.arange(30) % 17, interval="analytic")
    # Bonett & Wright (2000): z +- 1.96 sqrt((1 + r^2 / 2) / (n - 3)).
    half = 1.959963984540054 * math.sqrt((1 + analytic.value**2 / 2) / 27)
    assert analytic.low == pytest.approx(math.tanh(math.atanh(analytic.value) - half), abs=1e-9)


# Scores.


def test_signed_error_by_hand() -> None:
    # Differences 1, 2, 0, 1: mean 1, s^2 = 2/3, standard error .40825, t(3) 3.18245.
    found = cal.signed_error([5, 5, 7, 6], [6, 7, 7, 7])
    assert tuple(found) == pytest.approx((1, 1 - 3.1824463 * 0.4082483, 1 + 3.1824463 * 0.4082483), abs=1e-6)
    assert (found.low, found.high) == pytest.approx(
        tuple(stats.ttest_1samp([1, 2, 0, 1], 0).confidence_interval()), abs=1e-9
    )


def test_spread_ratio_by_hand() -> None:
    # Deviations doubled: ratio 2 whatever the shift, and no doubt about it.
    found = cal.spread_ratio([1, 2, 3, 4], [10, 12, 14, 16])
    assert tuple(found) == pytest.approx((2, 2, 2))
    assert math.isnan(cal.spread_ratio([1, 1, 1], [1, 2, 3]).value)


@FEW
@given(SCORES)
def test_spread_ratio_turns_over_when_the_two_are_swapped(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    if min(len(set(np.delete(x, k))) for x in (a, b) for k in range(len(x))) < 2:
        return
    for interval in ("default", "analytic"):
        one, other = cal.spread_ratio(a, b, interval=interval), cal.spread_ratio(b, a, interval=interval)
        assert one.value == pytest.approx(b.std() / a.std(), abs=1e-9)
        assert one.value == pytest.approx(1 / other.value, abs=1e-9)
        assert one.low == pytest.approx(1 / other.high, rel=1e-6)


def test_pitman_morgan_is_its_own_test_turned_round() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=40)
    b = 0.6 * a + rng.normal(size=40)
    found = cal.spread_ratio(a, b, interval="analytic")
    for ratio in (found.low, found.high):
        # At the end of the interval the correlation of sum and difference has p = .05.
        scaled = b / ratio
        assert stats.pearsonr(a + scaled, a - scaled).pvalue == pytest.approx(0.05, abs=1e-6)


# Probabilities.


def test_brier_by_hand() -> None:
    # Probabilities .9 .6 .4 .1, outcomes 1 0 1 0: squares .01 .36 .36 .01: .185. The isotonic fit is 1 .5 .5 0: squares
    # 0 .25 .25 0: .125. Uncertainty .25: miscalibration .06, discrimination .125.
    found = cal.brier([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1])
    assert found.score.value == pytest.approx(0.185)
    assert (found.miscalibration, found.discrimination, found.uncertainty) == pytest.approx((0.06, 0.125, 0.25))


PROBABILITIES = st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=3, max_size=50)


@FEW
@given(PROBABILITIES)
def test_brier_parts_add_up_and_none_is_negative(items: list[tuple[bool, int]]) -> None:
    labels, tenths = np.array(items).T
    found = cal.brier(labels, tenths / 10)
    assert found.score.value == pytest.approx(
        metrics.brier_score_loss(labels, tenths / 10, pos_label=1, labels=[0, 1]), abs=1e-9
    )
    assert found.score.value == pytest.approx(found.miscalibration - found.discrimination + found.uncertainty, abs=1e-9)
    assert min(found.miscalibration, found.discrimination, found.uncertainty) >= -1e-12


def test_calibration_error_by_hand_with_bins_closed_below() -> None:
    # Ten bins: .1 belongs to [.1, .2), 1.0 to the last. |.1 - 0| * 1/4 + |.35 - .5| * 2/4 + |1 - 1| * 1/4 = .025 + .075 = .1.
    found = cal.calibration_error([0, 1, 0, 1], [0.1, 0.3, 0.4, 1.0], bins=5)
    # Five bins: .1 in [0, .2), .3 in [.2, .4), .4 in [.4, .6): .1/4 + .7/4 + .4/4 + 0 = .3.
    assert found.value == pytest.approx(0.3)
    halves = cal.calibration_error([0, 1, 0, 1], [0.1, 0.3, 0.5, 1.0], bins=2)
    # [0, .5): mean .2, rate .5: .3 * 2/4; [.5, 1]: mean .75, rate .5: .25 * 2/4.
    assert halves.value == pytest.approx(0.275)
    assert any("perfect probabilities would show" in note for note in found.notes)


@FEW
@given(PROBABILITIES, st.integers(1, 12))
def test_calibration_error_is_between_the_one_bin_gap_and_1(items: list[tuple[bool, int]], bins: int) -> None:
    labels, tenths = np.array(items).T
    found = cal.calibration_error(labels, tenths / 10, bins)
    one = abs(np.mean(tenths / 10 - labels))
    assert one - 1e-12 <= found.value <= 1
    assert cal.calibration_error(labels, tenths / 10, 1).value == pytest.approx(one, abs=1e-12)


def test_adaptive_bins_hold_equal_numbers() -> None:
    rng = np.random.default_rng(4)
    probabilities = rng.beta(1, 8, 400)
    labels = rng.random(400) < probabilities
    bins = cal.reliability(labels, probabilities, 8, adaptive=True).bins
    assert [one.observed.n for one in bins] == [50] * 8 or {one.observed.n for one in bins} <= {49, 50, 51}


def test_reliability_shows_bins_curve_and_a_band_that_calibrated_probabilities_stay_in() -> None:
    rng = np.random.default_rng(5)
    probabilities = np.round(rng.random(600), 2)
    good = rng.random(600) < probabilities
    found = cal.reliability(good, probabilities)
    assert np.allclose(found.curve, IsotonicRegression().fit(probabilities, good).predict(found.probabilities))
    inside = (found.band_low <= found.curve + 1e-12) & (found.curve <= found.band_high + 1e-12)
    assert inside.mean() > 0.85
    squeezed = cal.reliability(good, 0.5 + (probabilities - 0.5) / 3)
    outside = (squeezed.curve < squeezed.band_low) | (squeezed.curve > squeezed.band_high)
    assert outside.mean() > 0.4
    assert found.bins[0].low == 0
    assert found.bins[3].observed.value == pytest.approx(good[(probabilities >= 0.3) & (probabilities < 0.4)].mean())


def test_probabilities_outside_0_to_1_are_refused() -> None:
    with pytest.raises(BadInput, match="outside 0 to 1"):
        cal.brier([1, 0], [7.0, 0.5])


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_recalibration_never_sees_its_own_group(method: str) -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(20), 10)
    scores = rng.normal(size=200)
    labels = (rng.random(200) < 1 / (1 + np.exp(-2 * scores))).astype(float)
    found = cal.recalibrate(scores, labels, groups, method)
    assert cal.brier(labels, found.probabilities).score.value < 0.25
    # Turning round the labels of a group changes no probability inside it.
    turned = labels.copy()
    turned[:10] = 1 - turned[:10]
    again = cal.recalibrate(scores, turned, groups, method)
    assert again.probabilities[:10] == pytest.approx(found.probabilities[:10], abs=1e-12)
    assert not np.allclose(again.probabilities[10:], found.probabilities[10:])
    assert (np.diff(found(np.linspace(-2, 2, 9))) >= -1e-12).all()


def test_platt_is_the_curve_that_made_the_labels() -> None:
    rng = np.random.default_rng(7)
    scores = rng.normal(size=20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.5 + 1.5 * scores)))
    found = cal.recalibrate(scores, labels, np.arange(20_000) % 50, "platt")
    assert found([0.0, 1.0]) == pytest.approx([1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(-2))], abs=0.02)


def test_recalibration_needs_two_groups_and_two_classes() -> None:
    with pytest.raises(Uninformative, match="one group"):
        cal.recalibrate([1, 2, 3], [0, 1, 1], ["a", "a", "a"])
    with pytest.raises(Uninformative, match="the same"):
        cal.recalibrate([1, 2, 3, 4], [0, 0, 1, 1], ["a", "a", "b", "b"])


def test_a_perfect_rank_correlation_within_rounding_has_an_interval_and_no_warning() -> None:
    estimate = cal.rank_correlation([0, 0, 0, 1, 2], [0, 0, 0, 1, 2], "spearman")
    assert estimate.value == pytest.approx(1)
    assert estimate.low <= estimate.value


# A slope within units


def drawn_slopes(seed: int, slope: float, tasks: int = 12) -> tuple[list[float], list[int], list[str], list[str]]:
    """Scores at times 1 to 4 in three steps of each task: steps and tasks differ, and tasks differ in slope too."""
    rng = np.random.default_rng(seed)
    values, at, within, groups = [], [], [], []
    for task in range(tasks):
        own, tilt = rng.normal(5, 2), rng.normal(slope, 0.2)
        for step in range(3):
            level = own + rng.normal(0, 1)
            for time in range(1, 5):
                values.append(level + tilt * time + rng.normal(0, 0.5))
                at.append(time)
                within.append(f"{task}/{step}")
                groups.append(str(task))
    return values, at, within, groups


def test_within_slope_is_the_fixed_effects_regression_with_errors_by_group() -> None:
    values, at, within, groups = drawn_slopes(1, 0.3)
    found = cal.within_slope(values, at, within, groups=groups)
    y, x = pd.Series(values), pd.Series(at, dtype=float)
    y, x = y - y.groupby(within).transform("mean"), x - x.groupby(within).transform("mean")
    codes = pd.factorize(pd.Series(groups))[0]
    fitted = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": codes, "df_correction": True}, use_t=True)
    assert found.value == pytest.approx(float(fitted.params.iloc[0]), abs=1e-12)
    half = float(fitted.bse.iloc[0]) * stats.t.ppf(0.975, 12 - 1)
    assert found.high - found.value == pytest.approx(half, rel=1e-9)
    assert (found.n, found.groups) == (144, 12)


def test_within_slope_covers_and_takes_out_what_differs_between_units() -> None:
    covered = [cal.within_slope(*drawn_slopes(seed, 0.3)[:3], groups=drawn_slopes(seed, 0.3)[3]) for seed in range(200)]
    assert sum(one.low <= 0.3 <= one.high for one in covered) >= 182
    with pytest.warns(cal.CalibrationWarning):
        assert cal.within_slope([1, 1, 9, 9], [1, 2, 3, 4], ["a", "a", "b", "b"]).value == 0


def test_within_slope_of_nothing_that_changes_in_time_is_undefined() -> None:
    with pytest.warns(cal.CalibrationWarning):
        assert cal.within_slope([1.0, 2, 4, 6], [1, 2, 1, 2], [1, 1, 2, 2]).value == 1.5
    alone = cal.within_slope([1, 2], [1, 2], ["a", "b"])
    assert np.isnan(alone.value)
    assert "two times" in " ".join(alone.notes)
    assert np.isnan(cal.within_slope([], [], []).value)
