from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from pge_nb import calibration as cal
from pge_nb.errors import BadInput, Uninformative

FEW = settings(max_examples=40, deadline=None)
ITEMS = st.lists(st.tuples(st.booleans(), st.sampled_from([True, False, None])), min_size=1, max_size=40)

# 8 good: 5 pass, 2 fail, 1 unmeasured; 6 bad: 2 pass, 3 fail, 1 unmeasured.
LABELS = ["pass"] * 8 + ["fail"] * 6
VERDICTS = ["pass"] * 5 + ["fail"] * 2 + ["unmeasured"] + ["pass"] * 2 + ["fail"] * 3 + [None]


def test_rates_by_hand() -> None:
    found = cal.verdict_rates(LABELS, VERDICTS)
    # The gate: unmeasured is not pass.
    assert found.tpr.value == pytest.approx(5 / 8)
    assert found.tnr.value == pytest.approx(4 / 6)
    assert found.false_pass.value == pytest.approx(2 / 6)
    assert found.bad_given_accepted.value == pytest.approx(2 / 7)
    assert found.leniency.value == pytest.approx((2 - 3) / 14)
    # Among measured items.
    assert found.measured.tpr.value == pytest.approx(5 / 7)
    assert found.measured.tnr.value == pytest.approx(3 / 5)
    assert found.measured.leniency.value == pytest.approx(0)
    # And what was not measured.
    assert found.unmeasured.value == pytest.approx(2 / 14)
    assert found.unmeasured_good.value == pytest.approx(1 / 8)
    assert found.unmeasured_bad.value == pytest.approx(1 / 6)
    assert dict(found.counts) == {
        "good_pass": 5,
        "good_fail": 2,
        "good_unmeasured": 1,
        "bad_pass": 2,
        "bad_fail": 3,
        "bad_unmeasured": 1,
    }


@FEW
@given(ITEMS)
def test_rates_hang_together(items: list[tuple[bool, bool | None]]) -> None:
    labels, verdicts = zip(*items, strict=True)
    found = cal.verdict_rates(labels, verdicts)
    if not math.isnan(found.tnr.value):
        assert found.false_pass.value == pytest.approx(1 - found.tnr.value)
        assert (found.false_pass.low, found.false_pass.high) == pytest.approx((1 - found.tnr.high, 1 - found.tnr.low))
    assert sum(found.counts.values()) == len(items)
    passed = [verdict is True for verdict in verdicts]
    assert found.leniency.value == pytest.approx(np.mean(passed) - np.mean(labels), abs=1e-12)
    for estimate in found.estimates().values():
        assert math.isnan(estimate.value) or estimate.low <= estimate.value <= estimate.high


@FEW
@given(ITEMS)
def test_measured_rates_are_those_of_the_measured_items(items: list[tuple[bool, bool | None]]) -> None:
    kept = [(label, verdict) for label, verdict in items if verdict is not None]
    if not kept:
        return
    alone, beside = cal.verdict_rates(*zip(*kept, strict=True)), cal.verdict_rates(*zip(*items, strict=True)).measured
    assert beside.tpr.value == pytest.approx(alone.tpr.value, nan_ok=True)
    assert (beside.tnr.low, beside.tnr.high) == pytest.approx((alone.tnr.low, alone.tnr.high))


def test_a_rate_without_items_is_not_measurable() -> None:
    found = cal.verdict_rates([1, 1, 1], [1, 0, 1])
    assert math.isnan(found.tnr.value)
    assert (found.tnr.low, found.tnr.high) == (0, 1)
    assert "no items" in found.tnr.notes[-1]


@pytest.mark.parametrize("value", [2, "yes", -1, "PASS ED"])
def test_what_is_neither_pass_nor_fail_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match="unmeasured"):
        cal.verdict_rates([1, 0], [1, value])


def test_words_numbers_and_booleans_are_the_same() -> None:
    words = cal.verdict_rates(["PASS", "fail", "pass"], [" Pass", "FAIL", "fail"])
    for labels, verdicts in (([1, 0, 1], [1.0, 0.0, 0.0]), (pd.Series([True, False, True]), [True, False, False])):
        assert cal.verdict_rates(labels, verdicts).counts == words.counts


def test_labels_that_are_missing_are_counted() -> None:
    found = cal.verdict_rates([1, None, 0], [1, 1, 0])
    assert found.tpr.missing == 1
    assert found.leniency.n == 2


def test_weights_undo_a_biased_choice_of_items() -> None:
    rng = np.random.default_rng(2)
    labels = rng.random(20_000) < 0.6
    verdicts = rng.random(20_000) < np.where(labels, 0.9, 0.3)
    # Items on which the verdict is a fail are labelled four times as often.
    chance = np.where(verdicts, 0.1, 0.4)
    chosen = rng.random(20_000) < chance
    plain = cal.verdict_rates(labels[chosen], verdicts[chosen])
    weighted = cal.verdict_rates(labels[chosen], verdicts[chosen], item_weights=1 / chance[chosen])
    assert abs(plain.tpr.value - 0.9) > 0.1
    assert weighted.tpr.low < 0.9 < weighted.tpr.high
    assert weighted.false_pass.low < 0.3 < weighted.false_pass.high
    assert weighted.tpr.high - weighted.tpr.low > plain.tpr.high - plain.tpr.low - 0.02


def test_groups_all_alike_count_as_one_item_each() -> None:
    found = cal.verdict_rates([1] * 40, [1] * 40, groups=np.arange(40) // 4)
    # Wilson with z = t(9) = 2.26216 at 10 of 10: 10 / (10 + 2.26216^2).
    assert found.tpr.low == pytest.approx(10 / (10 + 2.2621571628**2), abs=1e-9)
    assert any("each group counts as one item" in note for note in found.tpr.notes)


# ROC and thresholds.


def test_auc_by_hand_and_its_curve() -> None:
    # Good 3, 2, 2; bad 2, 1: of six pairs 2.0 + 1.5 + 1.5 are won: 5 / 6.
    found = cal.roc([1, 1, 1, 0, 0], [3, 2, 2, 2, 1])
    assert found.auc.value == pytest.approx(5 / 6)
    x, y, _ = metrics.roc_curve([1, 1, 1, 0, 0], [3, 2, 2, 2, 1], drop_intermediate=False)
    assert found.false_pass.tolist() == x.tolist()
    assert found.tpr.tolist() == y.tolist()


def test_delong_by_its_definition() -> None:
    rng = np.random.default_rng(3)
    good, bad = np.round(rng.normal(1, 1, 40), 1), np.round(rng.normal(0, 1, 30), 1)
    kernel = (good[:, None] > bad) + 0.5 * (good[:, None] == bad)
    variance = kernel.mean(axis=1).var(ddof=1) / 40 + kernel.mean(axis=0).var(ddof=1) / 30
    labels, scores = np.repeat([1, 0], [40, 30]), np.concatenate([good, bad])
    found = cal.roc(labels, scores, interval="analytic").auc
    assert found.value == pytest.approx(kernel.mean(), abs=1e-12)
    assert (found.high - found.value) / 1.959963984540054 == pytest.approx(math.sqrt(variance), abs=1e-9)


def test_delong_published() -> None:
    # Hanley & McNeil (1982), 58 normal and 51 abnormal images rated 1 to 5: area .893; DeLong's standard error .0307 there
    # is (Hanley & Hajian-Tilaki 1997) that of placements, which the definition above gives to every digit.
    normal, abnormal = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]
    labels = np.repeat([0, 1], [58, 51])
    scores = np.concatenate([np.repeat(np.arange(1, 6), normal), np.repeat(np.arange(1, 6), abnormal)])
    found = cal.roc(labels, scores, interval="analytic").auc
    assert found.value == pytest.approx(0.893, abs=5e-4)
    assert (found.high - found.value) / 1.959963984540054 == pytest.approx(0.031, abs=1e-3)


@FEW
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=4, max_size=40))
def test_auc_turns_round_with_the_scores(items: list[tuple[bool, int]]) -> None:
    labels, scores = np.array(items).T
    if len(set(labels)) < 2:
        assert math.isnan(cal.roc(labels, scores).auc.value)
        return
    up, down = cal.roc(labels, scores).auc, cal.roc(labels, -scores).auc
    assert up.value == pytest.approx(1 - down.value, abs=1e-12)
    assert up.low == pytest.approx(1 - down.high, abs=1e-9)
    assert up.low <= up.value <= up.high


def test_auc_of_1_still_has_an_interval() -> None:
    found = cal.roc([0] * 10 + [1] * 10, np.arange(20)).auc
    assert found.value == 1
    assert 0.7 < found.low < 0.95
    # Newcombe (2006): the lower end solves 1 - A = z sqrt(V(A)).
    a = found.low
    variance = a * (1 - a) / 100 * (2 * 10 - 1 - (3 * 10 - 3) / ((2 - a) * (1 + a)))
    assert 1 - a == pytest.approx(1.959963984540054 * math.sqrt(variance), abs=1e-9)


def test_auc_by_group_weights_and_bootstrap() -> None:
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(30), 6)
    labels = np.repeat(rng.random(30) < 0.5, 6).astype(int)
    scores = labels + np.repeat(rng.normal(size=30), 6) + 0.2 * rng.normal(size=180)
    alone, together = cal.roc(labels, scores).auc, cal.roc(labels, scores, groups=groups).auc
    assert together.high - together.low > 1.7 * (alone.high - alone.low)
    booted = cal.roc(labels, scores, groups=groups, interval="bootstrap", rng=1).auc
    assert booted.low < booted.value < booted.high
    assert booted.high - booted.low > 1.4 * (alone.high - alone.low)
    weights = 1 + (np.arange(180) % 3)
    weighted = cal.roc(labels, scores, item_weights=weights).auc.value
    repeated = metrics.roc_auc_score(np.repeat(labels, weights), np.repeat(scores, weights))
    assert weighted == pytest.approx(repeated, abs=1e-9)


def test_threshold_for_false_pass_by_hand() -> None:
    # 100 bad items score 0..99. At most .05 with confidence .95: the exact upper limit of 1 of 100 is .0466, of 2 of 100 .0616,
    # so exactly one bad item may pass: the threshold is 99.
    found = cal.threshold_for_false_pass([0] * 100 + [1] * 3, [*range(100), 98, 99, 120], 0.05)
    assert float(found) == 99
    assert found.bound == pytest.approx(stats.beta.ppf(0.95, 2, 99), abs=1e-9)
    assert found.tpr.value == pytest.approx(2 / 3)
    assert any("one attempt" in note for note in found.notes)


def test_no_threshold_without_enough_failing_labels() -> None:
    # (1 - .05)^58 = .0510 and (1 - .05)^59 = .0485: 59 failing labels are needed.
    few = cal.threshold_for_false_pass([0] * 58 + [1] * 5, [0] * 58 + [1] * 5, 0.05)
    assert few.value == math.inf
    assert "needs 59 failing labels" in few.notes[0]
    enough = cal.threshold_for_false_pass([0] * 59 + [1] * 5, [0] * 59 + [1] * 5, 0.05)
    assert enough.value == 1
    at_the_top = cal.threshold_for_false_pass([0] * 80, [1] * 80, 0.05)
    assert at_the_top.value == math.inf
    assert "highest score" in at_the_top.notes[0]


def test_groups_cost_failing_labels() -> None:
    scores = np.repeat([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97], 10)
    groups = np.repeat(np.arange(12), 10)
    alone = cal.threshold_for_false_pass([0] * 120 + [1], [*scores, 1], 0.05)
    with pytest.warns(cal.CalibrationWarning, match="only 1 group"):  # of good items
        together = cal.threshold_for_false_pass([0] * 120 + [1], [*scores, 1], 0.05, groups=[*groups, 99])
    assert alone.value == 1
    assert together.value == math.inf  # twelve groups of items that are all alike are worth twelve


@FEW
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=20, max_size=120), st.floats(0.05, 0.6))
def test_the_threshold_holds_on_its_own_items(items: list[tuple[bool, int]], max_rate: float) -> None:
    labels, scores = np.array(items).T
    found = cal.threshold_for_false_pass(labels, scores, max_rate)
    bad = scores[labels == 0]
    if found.value < math.inf:
        assert (
            stats.binomtest(int((bad >= found.value).sum()), len(bad)).proportion_ci(0.9, "exact").high
            <= max_rate + 1e-9
        )


def test_the_threshold_keeps_its_confidence() -> None:
    # Scores of bad items uniform on 0..1: the false-pass rate of threshold t is 1 - t. 1,000 labelled sets of 100.
    rng = np.random.default_rng(4)
    broken = sum(
        1 - cal.threshold_for_false_pass([0] * 100, rng.random(100), 0.1).value > 0.1 + 1e-12 for _ in range(400)
    )
    assert broken <= 33  # 5 % of 400 is 20; binomial, one in a thousand


def test_threshold_by_cost_by_hand() -> None:
    # Half good. Costs at inf .5, at 4 .25, at 3 .25 + .5 (k of 2) ... a false pass costs 2, a false fail 1.
    labels, scores = [1, 1, 0, 0], [4, 2, 3, 1]
    found = cal.threshold_by_cost(labels, scores, false_pass=2.0)
    # inf: 1/2; 4: half of the good out, 1/4; 3: 1/4 + 2/4; 2: 2/4; 1: 1.
    assert (found.value, found.bound) == (4, pytest.approx(0.25))
    assert cal.threshold_by_cost(labels, scores, false_pass=0.1).value == 2
    assert cal.threshold_by_cost(labels, scores, false_pass=1.0, prevalence=0.0).value == math.inf
    with pytest.raises(Uninformative):
        cal.threshold_by_cost([1, 1], [1, 2], false_pass=1.0)


# Two raters.


def test_mcnemar_by_hand() -> None:
    # Only a right 1, only b right 5: 2 * (1 + 6) / 64 = .21875.
    labels = [1] * 10
    a = [1] * 5 + [0] * 5
    b = [1] * 4 + [0] + [1] * 5
    found = cal.compare_raters(labels, a, b)
    assert found.p_value == pytest.approx(0.21875, abs=1e-12)
    assert (found.only_a, found.only_b) == (1, 5)
    assert found.difference.value == pytest.approx(-0.4)


def test_sign_flips_of_singletons_are_mcnemar() -> None:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, 60)
    a = np.where(rng.random(60) < 0.95, labels, 1 - labels)
    b = np.where(rng.random(60) < 0.9, labels, 1 - labels)
    exact = cal.compare_raters(labels, a, b)
    flips = cal.compare_raters(labels, a, b, groups=np.arange(60))
    assert exact.only_a + exact.only_b <= 14  # so that all patterns are gone through
    assert flips.p_value == pytest.approx(exact.p_value, abs=1e-12)


def test_sign_flips_of_groups_by_hand() -> None:
    # Two groups whose differences are 3 and 1: |sums| 4, 2, 2, 4; two of four reach 4.
    labels = [1] * 12
    a, b = [1] * 12, [0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    with pytest.warns(cal.CalibrationWarning, match="only 2 groups"):
        found = cal.compare_raters(labels, a, b, groups=[0] * 6 + [1] * 6)
    assert found.p_value == pytest.approx(0.5)


@FEW
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=2, max_size=30),
    st.sampled_from(["accuracy", "tpr", "tnr"]),
)
def test_comparing_mirrors(items: list[tuple[bool, bool, bool]], metric: str) -> None:
    labels, a, b = zip(*items, strict=True)
    one, other = cal.compare_raters(labels, a, b, metric=metric), cal.compare_raters(labels, b, a, metric=metric)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.difference.value == pytest.approx(-other.difference.value, nan_ok=True)
    assert one.difference.low == pytest.approx(-other.difference.high)


def test_a_margin_gives_non_inferiority() -> None:
    labels = [1] * 400
    a, b = [1] * 390 + [0] * 10, [1] * 390 + [0] * 10
    assert cal.compare_raters(labels, a, b, margin=0.05).noninferior is True
    assert cal.compare_raters(labels[:20], a[380:], b[:20], margin=0.05).noninferior is False
    assert cal.compare_raters(labels, a, b).noninferior is None
    with pytest.raises(BadInput, match="margin"):
        cal.compare_raters(labels, a, b, margin=0)


def test_rates_of_two_raters_on_one_class() -> None:
    labels, a, b = [1, 1, 1, 0, 0], [1, 1, 0, 0, 1], [1, 0, 0, None, 0]
    tpr = cal.compare_raters(labels, a, b, metric="tpr")
    assert (tpr.a.value, tpr.b.value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    tnr = cal.compare_raters(labels, a, b, metric="tnr")
    assert (tnr.a.value, tnr.b.value) == (0.5, 1.0)  # an unmeasured verdict does not pass
    many = cal.compare_raters(["x", "y", None], ["x", None, None], ["y", "y", None])
    assert (many.difference.n, many.difference.missing) == (2, 1)
