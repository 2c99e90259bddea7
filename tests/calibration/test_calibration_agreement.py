from __future__ import annotations

import math

import krippendorff
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from statsmodels.stats import inter_rater

from pge_nb import calibration as cal
from pge_nb.calibration import agreement, coincidence, patterns
from pge_nb.calibration.inputs import code
from pge_nb.calibration.sums import Sums
from pge_nb.errors import BadInput

FEW = settings(max_examples=40, deadline=None)
PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=6, max_size=40).filter(
    lambda pairs: len({label for pair in pairs for label in pair}) > 1
)
# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", data C: 12 units, 4 observers, with gaps.
UNITS = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]
# Gwet (2008) and Feinstein & Cicchetti (1990): high agreement, one label rare.
PARADOX = (["+"] * 118 + ["+"] * 5 + ["-"] * 2, ["+"] * 118 + ["-"] * 5 + ["+"] * 2)


def table(*cells: int) -> tuple[list[int], list[int]]:
    """Two raters from the counts of (0, 0), (0, 1), (1, 0), (1, 1)."""
    pairs = [(0, 0)] * cells[0] + [(0, 1)] * cells[1] + [(1, 0)] * cells[2] + [(1, 1)] * cells[3]
    return [a for a, _ in pairs], [b for _, b in pairs]


def test_kappa_by_hand() -> None:
    # 20 both yes, 5 yes/no, 10 no/yes, 15 both no: observed .7; expected .5 * .6 + .5 * .4 = .5; (.7 - .5) / .5 = .4.
    a, b = table(15, 10, 5, 20)
    assert cal.cohen_kappa(a, b).value == pytest.approx(0.4, abs=1e-12)
    assert cal.percent_agreement(a, b).value == pytest.approx(0.7, abs=1e-12)


def test_ac1_by_hand() -> None:
    # The same table: shares of yes .5 and .6, mean .55; chance 2 * .55 * .45 = .495; (.7 - .495) / .505 = .405941.
    a, b = table(15, 10, 5, 20)
    assert cal.gwet_ac(np.column_stack([a, b])).value == pytest.approx(0.205 / 0.505, abs=1e-12)


def test_alpha_by_hand() -> None:
    # The same table: 100 values, 55 of them 1. Disagreeing coincidences 30 of 100; expected 2 * 55 * 45 / 99 = 50.
    # alpha = 1 - 30 / 50 = .4.
    a, b = table(15, 10, 5, 20)
    assert cal.krippendorff_alpha(np.column_stack([a, b])).value == pytest.approx(0.4, abs=1e-12)


def test_fleiss_by_hand() -> None:
    # Three raters on four items: 3-0, 3-0, 2-1, 0-3. Agreement (1 + 1 + 1/3 + 1) / 4 = 5/6; shares 8/12 and 4/12,
    # chance 5/9; (5/6 - 5/9) / (4/9) = .625.
    ratings = [[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]]
    assert cal.fleiss_kappa(ratings).value == pytest.approx(0.625, abs=1e-12)


def test_the_paradox_of_high_agreement_and_low_kappa() -> None:
    # 118 + 5 + 2 of 125: agreement .944, kappa -.0234 (Feinstein & Cicchetti 1990), AC1 .9408 (Gwet 2008).
    kappa, ac1 = cal.cohen_kappa(*PARADOX), cal.gwet_ac(np.column_stack(PARADOX))
    assert kappa.value == pytest.approx(-0.0234, abs=5e-5)
    assert ac1.value == pytest.approx(0.9408, abs=5e-5)


@pytest.mark.parametrize(("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorffs_own_table(metric: str, published: float) -> None:
    assert cal.krippendorff_alpha(UNITS, metric=metric).value == pytest.approx(published, abs=5e-4)


def test_ac1_of_gwets_own_table() -> None:
    # The same twelve units in Gwet (2014): AC1 .77544, standard error .14295, t(11) interval .4608 to 1 at the cap.
    estimate = cal.gwet_ac(UNITS, interval="analytic")
    assert estimate.value == pytest.approx(0.77544, abs=5e-6)
    assert estimate.low == pytest.approx(0.77544 - 2.20099 * 0.14295, abs=5e-5)
    assert estimate.high == 1
    # And Fleiss's kappa with gaps .76117, standard error .15302.
    fleiss = cal.fleiss_kappa(UNITS, interval="analytic")
    assert fleiss.value == pytest.approx(0.76117, abs=5e-6)
    assert fleiss.low == pytest.approx(0.76117 - 2.20099 * 0.15302, abs=5e-5)


@pytest.mark.parametrize(
    ("weights", "value", "error"),
    [("linear", 0.858739136, 0.117329022), ("quadratic", 0.914000724, 0.103962245)],
)
def test_ac2_as_irrcac_has_it(weights: str, value: float, error: float) -> None:
    # irrCAC 0.4.4 on the same twelve units.
    estimate = cal.gwet_ac(UNITS, weights=weights, interval="analytic")
    assert estimate.value == pytest.approx(value, abs=1e-9)
    assert estimate.low == pytest.approx(value - 2.2009851600916 * error, abs=1e-8)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_and_its_analytic_interval_are_those_of_statsmodels(weights: str | None) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 4, 150)
    b = np.where(rng.random(150) < 0.6, a, rng.integers(0, 4, 150))
    counts = np.array(pd.crosstab(a, b))
    ours = cal.cohen_kappa(a, b, weights=weights, interval="analytic")
    theirs = inter_rater.cohens_kappa(counts, wt=weights)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx((theirs.kappa_low, theirs.kappa_upp), abs=1e-9)


def test_fleiss_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(4)
    ratings = rng.choice(["a", "b", "c"], size=(40, 5), p=[0.5, 0.3, 0.2])
    counts, _ = inter_rater.aggregate_raters(ratings)
    assert cal.fleiss_kappa(ratings).value == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-9)


@FEW
@given(PAIRS, st.sampled_from([None, "linear", "quadratic"]))
def test_our_function_of_sums_is_scikit_learns_kappa(pairs: list[tuple[int, int]], weights: str | None) -> None:
    a, b = zip(*pairs, strict=True)
    coded = code(np.array(pairs, dtype=object), [0, 1, 2])
    disagreement = 1 - patterns.similarity(coded, weights)
    ours = patterns.kappa_statistic(disagreement)(patterns.pair_rows(disagreement)(coded.codes).sum(axis=0))
    assert ours == pytest.approx(metrics.cohen_kappa_score(a, b, weights=weights, labels=[0, 1, 2]), abs=1e-9)


@FEW
@given(
    st.lists(st.lists(st.sampled_from([0, 1, 2, 5, None]), min_size=3, max_size=3), min_size=5, max_size=25),
    st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_our_function_of_sums_is_krippendorffs_alpha(ratings: list[list[int | None]], metric: str) -> None:
    kept = [row for row in ratings if sum(value is not None for value in row) >= 2]
    if len({value for row in kept for value in row if value is not None}) < 2:
        return
    found = coincidence.table(np.array(kept, dtype=object), metric, None)
    rows = found.rows_of(found.codes)
    data = np.array([[np.nan if value is None else float(value) for value in row] for row in kept]).T
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=metric)
    assert found.statistic(rows.sum(axis=0)) == pytest.approx(theirs, abs=1e-9)


@FEW
@given(PAIRS, st.permutations([0, 1, 2]))
def test_nominal_statistics_do_not_mind_names_or_order_of_raters(
    pairs: list[tuple[int, int]], renamed: list[int]
) -> None:
    names = {old: "xyz"[new] for old, new in enumerate(renamed)}
    ratings = np.array(pairs)
    other = np.array([[names[b], names[a]] for a, b in pairs])
    for function in (cal.gwet_ac, cal.fleiss_kappa, cal.krippendorff_alpha):
        # Labels that nobody gave count in AC1, so both calls see those that occur.
        assert function(ratings, interval="analytic").value == pytest.approx(
            function(other, interval="analytic").value, abs=1e-9
        )
    a, b = (cal.cohen_kappa(*table.T, interval="analytic").value for table in (ratings, other))
    assert a == pytest.approx(b, abs=1e-9)


@FEW
@given(PAIRS, st.integers(2, 4))
def test_a_weight_is_a_repetition(pairs: list[tuple[int, int]], times: int) -> None:
    weights = np.where(np.arange(len(pairs)) % 2 == 0, 1, times)
    repeated = np.repeat(np.array(pairs), weights, axis=0)
    a, b = np.array(pairs).T
    assert cal.cohen_kappa(a, b, item_weights=weights).value == pytest.approx(
        cal.cohen_kappa(*repeated.T).value, abs=1e-9
    )
    ours = cal.gwet_ac(np.array(pairs), item_weights=weights)
    assert ours.value == pytest.approx(cal.gwet_ac(repeated).value, abs=1e-9)
    assert ours.n == len(pairs)


@settings(max_examples=15, deadline=None)
@given(PAIRS)
def test_the_interval_holds_the_value_and_is_the_same_each_time(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    for estimate in (cal.cohen_kappa(a, b), cal.gwet_ac(np.array(pairs)), cal.percent_agreement(a, b)):
        assert estimate.low <= estimate.value <= estimate.high
    assert cal.cohen_kappa(a, b) == cal.cohen_kappa(a, b)


def test_influence_is_the_derivative_of_the_statistic_in_an_items_weight() -> None:
    rng = np.random.default_rng(5)
    ratings = rng.integers(0, 2, size=(30, 2))
    coded = code(ratings.astype(object), None)
    from pge_nb.calibration.inputs import design

    plan = design(30, level=0.95, groups=None, item_weights=None, interval="default", rng=None)
    sums = Sums(patterns.pair_rows(1 - np.eye(2))(coded.codes), patterns.kappa_statistic(1 - np.eye(2)), plan)
    step = 1e-6
    moved = sums.statistic(sums.units().sum(axis=0) + step * sums.units())
    assert sums.influence() == pytest.approx((moved - sums.value()) / step, abs=1e-5)


def test_text_may_be_rated_and_ordinal_text_needs_an_order() -> None:
    a, b = ["low", "mid", "high", "mid", "low"], ["low", "high", "high", "mid", "mid"]
    ordered = cal.cohen_kappa(a, b, weights="linear", labels=["low", "mid", "high"])
    numbers = {"low": 1, "mid": 2, "high": 3}
    as_numbers = cal.cohen_kappa([numbers[x] for x in a], [numbers[x] for x in b], weights="linear")
    assert ordered.value == pytest.approx(as_numbers.value, abs=1e-12)
    with pytest.raises(BadInput, match="not declared"):
        cal.cohen_kappa(a, b, weights="linear")
    with pytest.raises(BadInput, match="not declared"):
        cal.krippendorff_alpha(np.column_stack([a, b]), metric="ordinal")
    with pytest.raises(BadInput, match="not among the declared labels"):
        cal.cohen_kappa(a, b, labels=["low", "high"])


def test_a_declared_label_that_nobody_gave_counts_in_ordinal_weights_and_in_ac1() -> None:
    a, b = [0, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 1]
    ratings = np.column_stack([a, b])
    assert cal.gwet_ac(ratings, labels=[0, 1, 2]).value > cal.gwet_ac(ratings).value
    assert cal.cohen_kappa(a, b, labels=[0, 1, 2]).value == pytest.approx(cal.cohen_kappa(a, b).value, abs=1e-12)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, "NA"])
def test_missing_ratings_are_left_out_and_counted(gap: object) -> None:
    a, b = ["x", "y", "x", "y", gap, "x"], ["x", "y", "y", "y", "x", gap]
    for function in (cal.cohen_kappa, cal.percent_agreement):
        found, plain = function(a, b), function(a[:4], b[:4])
        assert (found.value, found.n, found.missing) == (plain.value, 4, 2)


def test_numpys_text_nan_is_missing() -> None:
    a = np.array(["x", np.nan, "y", "x"])
    assert cal.percent_agreement(a, ["x", "y", "y", "y"]).missing == 1


def test_numbers_and_text_are_refused_rather_than_never_equal() -> None:
    with pytest.raises(BadInput, match="can never agree"):
        cal.cohen_kappa([0, 1, 1], ["0", "1", "1"])


def test_more_raters_than_items_is_told() -> None:
    with pytest.warns(cal.CalibrationWarning, match="rows are items"):
        cal.gwet_ac([[0, 1, 1], [1, 1, 1]])
    with pytest.raises(BadInput, match="items x raters"):
        cal.gwet_ac([0, 1, 1])


@pytest.mark.parametrize(
    "function",
    [
        cal.cohen_kappa,
        lambda a, b: cal.fleiss_kappa(np.column_stack([a, b])),
        lambda a, b: cal.krippendorff_alpha(np.column_stack([a, b])),
    ],
)
def test_one_label_only_leaves_kappa_undefined_and_the_interval_whole(function: object) -> None:
    estimate = function([1, 1, 1], [1, 1, 1])
    assert math.isnan(estimate.value)
    assert (estimate.low, estimate.high) == (-1, 1)
    assert estimate.notes


def test_one_label_only_is_full_agreement_for_ac1_but_not_a_sure_thing() -> None:
    estimate = cal.gwet_ac(np.ones((20, 2), dtype=int))
    assert estimate.value == 1
    assert estimate.low < 0.95
    assert estimate.high == 1


def test_full_agreement_is_1_with_an_interval_below_it() -> None:
    a = [0, 1] * 20
    for estimate in (cal.cohen_kappa(a, a), cal.cohen_kappa(a, a, groups=np.arange(40) // 2)):
        assert estimate.value == pytest.approx(1)
        assert 0.5 < estimate.low < 1
        assert estimate.high == pytest.approx(1)


def test_no_pair_at_all() -> None:
    estimate = cal.cohen_kappa([None, 1], [1, None])
    assert math.isnan(estimate.value)
    assert (estimate.n, estimate.missing) == (0, 2)
    assert math.isnan(cal.percent_agreement([None], [1]).value)


def test_groups_widen_the_interval_when_their_items_resemble_each_other() -> None:
    rng = np.random.default_rng(6)
    groups = np.repeat(np.arange(25), 8)
    right = np.repeat(rng.random(25) < 0.75, 8)
    a = rng.integers(0, 2, 200)
    b = np.where(right, a, 1 - a)
    alone, together = cal.cohen_kappa(a, b), cal.cohen_kappa(a, b, groups=groups)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    assert (together.groups, alone.groups) == (25, None)


def test_few_groups_are_told() -> None:
    a, b = table(15, 10, 5, 20)
    with pytest.warns(cal.CalibrationWarning, match="fewer than 10"):
        estimate = cal.cohen_kappa(a, b, groups=np.arange(50) % 5)
    assert any("only 5 groups" in note for note in estimate.notes)


def test_a_jackknife_by_group_that_is_worked_through_without_our_code() -> None:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, 120)
    b = np.where(rng.random(120) < 0.8, a, 1 - a)
    groups = np.arange(120) % 12
    z = np.arctanh([metrics.cohen_kappa_score(a[groups != g], b[groups != g]) for g in range(12)])
    error = math.sqrt(11 / 12 * ((z - z.mean()) ** 2).sum())
    centre = math.atanh(metrics.cohen_kappa_score(a, b))
    expected = np.tanh([centre - 2.2009851600916 * error, centre + 2.2009851600916 * error])  # t(11) at .975
    assert list(cal.cohen_kappa(a, b, groups=groups))[1:] == pytest.approx(list(expected), abs=1e-9)


def test_bootstrap_needs_rng_and_repeats_with_it() -> None:
    a, b = table(15, 10, 5, 20)
    with pytest.raises(BadInput, match="rng is missing"):
        cal.cohen_kappa(a, b, interval="bootstrap")
    first, second = (cal.cohen_kappa(a, b, interval="bootstrap", rng=1) for _ in range(2))
    assert first == second
    assert first.low < 0.4 < first.high


def test_a_label_may_be_mixed_with_another_kind() -> None:
    estimate = cal.cohen_kappa([1, 2, "garbage", 1], [1, 2, 2, "garbage"])
    assert estimate.n == 4
    assert agreement.code(np.array([2, "x", 1], dtype=object), None).labels == (1, 2, "x")
