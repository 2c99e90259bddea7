"""The same data in another form give the same figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special

from pge_nb import calibration as cal
from pge_nb.errors import BadInput

RNG = np.random.default_rng(12)
TRUTH = RNG.integers(0, 2, 60)
VERDICTS = np.where(RNG.random(60) < 0.9, TRUTH, 1 - TRUTH)
SCORES = RNG.normal(size=60) + TRUTH
OTHER = SCORES + RNG.normal(size=60)
GRADES = ["poor", "fair", "good"]

SAME: dict[str, Callable[..., Any]] = {
    "agreement": lambda **tail: cal.percent_agreement(TRUTH, VERDICTS, **tail),
    "kappa": lambda **tail: cal.cohen_kappa(TRUTH, VERDICTS, **tail),
    "tpr": lambda **tail: cal.verdict_rates(TRUTH, VERDICTS, **tail).tpr,
    "icc": lambda **tail: cal.icc(np.c_[SCORES, OTHER], **tail),
    "spread": lambda **tail: cal.spread_ratio(SCORES, OTHER, **tail),
    "spearman": lambda **tail: cal.rank_correlation(SCORES, OTHER, **tail),
    "sd": lambda **tail: cal.noise_floor(np.c_[SCORES, OTHER], **tail).sd,
    "comparison": lambda **tail: cal.compare_raters(TRUTH, VERDICTS, SCORES > 0, **tail).difference,
    "corrected": lambda **tail: cal.corrected_rate(TRUTH, VERDICTS, VERDICTS, **tail),
}


@pytest.mark.parametrize("interval", ["default", "analytic"])
@pytest.mark.parametrize("call", SAME.values(), ids=SAME.keys())
def test_equal_weights_are_no_weights(call: Callable[..., cal.Estimate], interval: str) -> None:
    assert call(item_weights=np.full(60, 3.7), interval=interval) == call(interval=interval)


def test_equal_weights_leave_the_exact_test() -> None:
    assert cal.compare_raters(TRUTH, VERDICTS, SCORES > 0, item_weights=[2] * 60).test == "exact McNemar"


def test_platt_is_at_its_optimum_and_the_curve_itself() -> None:
    found = cal.recalibrate(SCORES, TRUTH, np.arange(60), "platt")
    target = np.where(TRUTH == 1, (TRUTH.sum() + 1) / (TRUTH.sum() + 2), 1 / ((1 - TRUTH).sum() + 2))

    def loss(at: np.ndarray) -> float:
        line = at[0] + at[1] * SCORES
        return float((np.logaddexp(0, line) - target * line).sum())

    best = optimize.minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}).x
    new = np.array([-20.0, -0.123456, 0.3, 20.0])
    assert found(new) == pytest.approx(special.expit(best[0] + best[1] * new), abs=1e-6)
    assert found([math.nan, 0.3])[1] == found([0.3])[0]


def test_platt_of_one_score_is_the_smoothed_rate() -> None:
    # 3 good of 4: targets 4/5 and 1/3, whose mean is 41/60.
    found = cal.recalibrate([1.0] * 8, [1, 1, 1, 0] * 2, np.repeat([0, 1], 4), "platt", folds=2)
    assert found.probabilities == pytest.approx(np.full(8, (3 * 4 / 5 + 1 / 3) / 4))


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_recalibration_does_not_depend_on_row_order(method: Any) -> None:
    groups = np.array([f"task {k}" for k in RNG.integers(0, 12, 60)])
    order = RNG.permutation(60)
    first = cal.recalibrate(SCORES, TRUTH, groups, method).probabilities
    second = cal.recalibrate(SCORES[order], TRUTH[order], groups[order], method).probabilities
    assert second == pytest.approx(first[order], abs=1e-9)


def test_ordered_categories_are_a_declared_order() -> None:
    a, b = (np.array(GRADES)[RNG.integers(0, 3, 30)] for _ in range(2))
    kind = pd.CategoricalDtype(GRADES, ordered=True)
    first, second = pd.Series(a, dtype=kind), pd.Series(b, dtype=kind)
    frame = pd.DataFrame({"a": first, "b": second})
    for found, wanted in (
        (cal.cohen_kappa(first, second, "quadratic"), cal.cohen_kappa(a, b, "quadratic", GRADES)),
        (
            cal.cohen_kappa(pd.Categorical(a, GRADES, ordered=True), b, "linear"),
            cal.cohen_kappa(a, b, "linear", GRADES),
        ),
        (cal.gwet_ac(frame, "linear"), cal.gwet_ac(np.c_[a, b], "linear", GRADES)),
        (
            cal.krippendorff_alpha(frame, metric="ordinal"),
            cal.krippendorff_alpha(np.c_[a, b], metric="ordinal", labels=GRADES),
        ),
    ):
        assert found == wanted
    with pytest.raises(BadInput):
        cal.cohen_kappa(pd.Series(a, dtype="category"), b, "linear")
    with pytest.raises(BadInput, match="differ"):
        cal.cohen_kappa(first, second.cat.reorder_categories(GRADES[::-1]), "linear")


def test_analytic_intervals_name_groups_only_where_there_are_some() -> None:
    weights = RNG.random(60) + 0.5
    for tail, name in (
        ({}, "Wald"),
        ({"item_weights": weights}, "Wald, weighted"),
        ({"groups": np.arange(60) // 3}, "Wald by group"),
    ):
        rates = cal.verdict_rates(TRUTH, VERDICTS, interval="analytic", **tail)
        assert {rates.tpr.method, rates.leniency.method} == {name}


def test_latex_of_very_small_and_infinite_numbers() -> None:
    found = cal.Estimate(value=math.inf, low=-1e-7, high=-math.inf, level=0.95, method="m", n=3)._repr_latex_()
    assert r"$\infty$" in found
    assert r"$-1 \times 10^{-7}$" in found
    assert r"$-\infty$" in found


def test_estimates_format_and_round_as_their_value() -> None:
    found = cal.percent_agreement([1, 1, 0], [1, 1, 1])
    assert f"{found:.2f} {found:>8.1%}" == "0.67    66.7%"
    assert f"{found}" == str(found)
    assert round(found, 2) == 0.67
    assert round(found) == 1


def test_corrected_rate_takes_what_the_specification_writes_by_position() -> None:
    groups = np.arange(60) // 3
    found = cal.corrected_rate(TRUTH, VERDICTS, VERDICTS, "lang-reiczigel", None, 0.02, groups, groups)
    assert found == cal.corrected_rate(
        TRUTH, VERDICTS, VERDICTS, label_error=0.02, groups=groups, groups_unlabelled=groups
    )


@pytest.mark.parametrize("method", ["spearman", "kendall", "somers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_correlation_stays_within_one(method: Any, weighted: bool) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 9, rng.integers(3, 30)) * 0.1
        if np.ptp(x) > 0:
            weights = rng.random(len(x)) + 0.1 if weighted else None
            assert abs(cal.rank_correlation(x, 7 * x, method, item_weights=weights).value) <= 1
