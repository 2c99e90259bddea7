"""Degenerate data have the whole range as their interval, and odd arguments a sentence, never a traceback or a silent guess."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pge_nb import calibration as cal
from pge_nb.errors import BadInput, Uninformative

KINDS = ["ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)"]
HALF = cal.percent_agreement([1, 0], [1, 1])
MANY = np.array([0, 1] * 20)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratings", [[[1, 1], [2, 2], [3, 3]], [[0.1] * 3, [0.7] * 3, [0.2] * 3, [0.3] * 3]])
def test_icc_of_perfect_agreement(kind: str, ratings: list[list[float]]) -> None:
    assert tuple(cal.icc(ratings, kind)) == pytest.approx((1, 1, 1), abs=1e-9)
    assert cal.icc(ratings, kind).high <= 1


@pytest.mark.parametrize("ratings", [[[1, 2], [2, 1], [1, 2]], [[1, 3, 2], [2, 1, 3], [3, 2, 1]]])
@pytest.mark.parametrize("kind", KINDS[3:])
def test_icc_of_items_alike_is_undefined_for_mean_raters(kind: str, ratings: list[list[int]]) -> None:
    # Equal row means: R = 0, and the denominator of the mean's correlation is 0 or below: (C - E) / n here.
    found = cal.icc(ratings, kind)
    assert math.isnan(found.value)
    assert (found.low, found.high) == (-math.inf, 1)
    assert found.notes


def test_icc_of_items_alike_for_one_rater() -> None:
    # R = 0: consistency is -E / ((k - 1) E) = -1 / (k - 1).
    found = cal.icc([[1, 2], [2, 1], [1, 2]], "ICC(C,1)")
    assert found.value == pytest.approx(-1)
    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("kind", KINDS)
def test_icc_interval_holds_the_value_whatever_the_ratings(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        found = cal.icc(rng.integers(0, 3, size=(rng.integers(3, 6), 3)), kind)
        assert math.isnan(found.value) or found.low <= found.value <= found.high <= 1


def test_spread_ratio_of_one_outlier() -> None:
    # Without the fifth item the judge's scores do not vary, and the logarithm of their spread is no number.
    found = cal.spread_ratio([1, 2, 3, 4, 5], [5, 5, 5, 5, 9])
    assert found.value == pytest.approx(math.sqrt(12.8 / 10))
    assert (found.low, found.high) == (0, math.inf)
    assert "do not vary" in found.method
    assert found.notes


@pytest.mark.filterwarnings("ignore::pge_nb.calibration.CalibrationWarning")
def test_two_tasks_and_one_group_leave_the_whole_range() -> None:
    found = cal.variance_components([1, 2, 4, 5, 6, 9.0], [1, 1, 1, 2, 2, 2], [1, 1, 2, 1, 1, 2])
    for one in found.estimates().values():
        assert not math.isnan(one.low)
        assert not math.isnan(one.high)
    assert (found.task.low, found.task.high) == (0, math.inf)
    floor = cal.noise_floor([[1, 2], [3, 5], [4, 4]], groups=[1, 1, 1])
    assert (floor.sd.low, floor.sd.high) == (0, math.inf)
    assert floor.sd.value == pytest.approx(math.sqrt((0.5 + 2) / 3))


def test_huge_spread_does_not_overflow() -> None:
    # Two groups, t(1) = 12.7 and a log that differs by thousands between them.
    with pytest.warns(cal.CalibrationWarning):
        found = cal.spread_ratio([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5e5, 6e9], groups=[1, 1, 1, 2, 2, 2], level=0.999)
    assert found.low == 0
    assert found.high > 1e100


REFUSED: dict[str, Callable[[], Any]] = {
    "no items for people": lambda: cal.human_ceiling(np.empty((0, 3)), []),
    "no items for a test": lambda: cal.alternative_annotator_test(np.empty((0, 3)), [], 0.1),
    "no resamples": lambda: cal.bootstrap(np.mean, [1, 2, 3], n=0, rng=1),
    "half a resample": lambda: cal.bootstrap(np.mean, [1, 2, 3], n=10.5, rng=1),
    "empty arrays": lambda: cal.bootstrap(np.mean, [], rng=1),
    "one item": lambda: cal.bootstrap(np.mean, [1], rng=1),
    "one group": lambda: cal.bootstrap(np.mean, [1, 2], groups=[1, 1], rng=1),
    "no indices": lambda: cal.resample_indices(0, rng=1),
    "one fold": lambda: cal.recalibrate(MANY, MANY, MANY, folds=1),
    "half a fold": lambda: cal.recalibrate(MANY, MANY, MANY, folds=2.5),
    "no labels to fit": lambda: cal.recalibrate(MANY, [None] * 40, np.arange(40), "platt"),
    "lengths of factors": lambda: cal.variance_components([1, 2, 3], [1, 2], [1, 2, 3]),
    "length of raters": lambda: cal.variance_components([1, 2, 3], [1, 2, 2], [1, 2, 3], [1]),
    "length of labelled": lambda: cal.next_to_label(2, scores=[1, 2, 3], labelled=[True], rng=1),
    "half an item": lambda: cal.next_to_label(1.5, scores=[1, 2, 3], rng=1),
    "no repeats": lambda: cal.noise_floor(np.empty((3, 0))),
    "text for numbers": lambda: cal.alternative_annotator_test([["a", "b", "a"]] * 40, ["a"] * 40, 0.1, "neg_rmse"),
    "level as text": lambda: cal.percent_agreement(MANY, MANY, level="x"),
    "level of a size": lambda: cal.sample_size(rate=0.5, half_width=0.1, level="x"),
    "level of a bootstrap": lambda: cal.bootstrap(np.mean, [1, 2, 3], level="x", rng=1),
    "both questions": lambda: cal.sample_size(rate=0.5, half_width=0.1, discordant=0.2, difference=0.1),
    "one and a half questions": lambda: cal.sample_size(rate=0.5, half_width=0.1, discordant=0.2),
    "size of nan": lambda: cal.sample_size(rate=math.nan, half_width=0.1),
    "a label twice": lambda: cal.cohen_kappa(MANY, MANY, labels=[0, 1, 1]),
    "cost of nan": lambda: cal.threshold_by_cost(MANY, MANY, false_pass=math.nan),
    "prevalence of nan": lambda: cal.threshold_by_cost(MANY, MANY, false_pass=1, prevalence=math.nan),
    "half a bin": lambda: cal.calibration_error(MANY, MANY, bins=2.5),
    "half a bin shown": lambda: cal.reliability(MANY, MANY, bins=2.5),
    "error of nan": lambda: cal.corrected_rate(MANY, MANY, MANY, label_error=math.nan),
    "three errors": lambda: cal.corrected_rate(MANY, MANY, MANY, label_error=(0.1, 0.1, 0.1)),
    "margin as text": lambda: cal.compare_raters(MANY, MANY, MANY, margin="x"),
    "margin of places": lambda: cal.carries_over(MANY, MANY, MANY, MANY, margin=math.nan),
    "rate as text": lambda: cal.threshold_for_false_pass(MANY, MANY, "x"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_words(call: Callable[[], Any]) -> None:
    with pytest.raises((BadInput, Uninformative)):
        call()


def test_bootstrap_looks_at_its_method_before_the_work() -> None:
    def never(_: Any) -> float:
        raise AssertionError

    with pytest.raises(BadInput, match="method"):
        cal.bootstrap(never, [1, 2, 3], rng=1, method="bogus")


def test_numbers_of_any_kind_are_read() -> None:
    rng = np.random.default_rng(6)
    labels = rng.random(300) < 0.6
    verdicts = np.where(rng.random(300) < 0.9, labels, ~labels)
    plain = cal.corrected_rate(labels, verdicts, verdicts, label_error=0.25)
    for error in (np.float32(0.25), np.array(0.25), [0.25, np.float64(0.25)]):
        assert tuple(cal.corrected_rate(labels, verdicts, verdicts, label_error=error)) == tuple(plain)
    assert cal.sample_size(rate=HALF, half_width=np.float32(0.125)) == cal.sample_size(rate=0.5, half_width=0.125)


def test_a_part_without_scores_gets_no_probabilities() -> None:
    scores, groups = np.linspace(0, 1, 40), np.arange(40) % 4
    scores[groups == 2] = np.nan
    for method in ("isotonic", "platt"):
        found = cal.recalibrate(scores, np.arange(40) // 4 % 2, groups, method, folds=4)
        assert np.array_equal(np.isnan(found.probabilities), groups == 2)


@pytest.mark.parametrize(
    "labelled",
    [
        [True, None, False, math.nan],
        np.array([1.0, np.nan, 0.0, np.nan]),
        pd.array([True, None, False, None], dtype="boolean"),
        pd.Series([True, pd.NA, False, pd.NA], dtype="boolean"),
    ],
)
def test_a_missing_word_about_a_label_is_no_label(labelled: Any) -> None:
    found = cal.next_to_label(3, scores=[1.0, 2, 3, 4], labelled=labelled, rng=1)
    assert found.chosen.tolist() == [1, 2, 3]
    assert found.propensity.tolist() == [0, 1, 1, 1]
