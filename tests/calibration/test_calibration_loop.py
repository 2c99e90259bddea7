from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from pge_nb import calibration as cal
from pge_nb.errors import BadInput, Uninformative

FEW = settings(max_examples=40, deadline=None)
SHARE = st.floats(0, 1)


def test_retries_by_hand_when_looks_are_independent() -> None:
    # TPR .8, TNR .9, half of the attempts good, one retry. First attempt: good in .4, bad in .05, rejected .55.
    # Second the same: accepted .45 * (1 + .55) = .6975; bad .05 * 1.55 = .0775; attempts 1.55.
    # A good attempt is rejected: .1 at first; else (bad rejected .45) .1 at second: .145.
    # Lost: rejected both times (.3025) less both bad (.2025): .1.
    found = cal.pass_after_retries(0.8, 0.9, 0.5, 1, rho_good=0, rho_bad=0)
    assert found.p_accepted == pytest.approx(0.6975)
    assert found.p_bad_accepted == pytest.approx(0.0775)
    assert found.p_bad_given_accepted == pytest.approx(0.0775 / 0.6975)
    assert found.p_good_rejected == pytest.approx(0.145)
    assert found.p_good_lost == pytest.approx(0.1)
    assert found.expected_attempts == pytest.approx(1.55)


def test_an_evaluator_that_repeats_itself_gives_a_rejected_kind_no_second_chance() -> None:
    # rho 1: bad attempts pass in .1 of steps, always, and else never. Only bad attempts: accepted .1 however often tried.
    found = cal.pass_after_retries(0.8, 0.9, 0.0, 5, rho_good=1, rho_bad=1)
    assert found.p_accepted == pytest.approx(0.1)
    independent = cal.pass_after_retries(0.8, 0.9, 0.0, 5, rho_good=0, rho_bad=0)
    assert independent.p_accepted == pytest.approx(1 - 0.9**6)


def test_retries_against_simulation() -> None:
    rng = np.random.default_rng(1)
    n, quality = 200_000, [0.5, 0.4, 0.6]
    pass_good, pass_bad = rng.beta(0.8 * 4, 0.2 * 4, n), rng.beta(0.2 * 1.5, 0.8 * 1.5, n)  # rho 1/5 and 2/5
    going, accepted, bad_in, rejected_good = (np.full(n, value) for value in (True, False, False, False))
    attempts = np.zeros(n)
    for chance in quality:
        good = rng.random(n) < chance
        passed = rng.random(n) < np.where(good, pass_good, pass_bad)
        attempts += going
        bad_in |= going & passed & ~good
        rejected_good |= going & ~passed & good
        accepted |= going & passed
        going &= ~passed
    found = cal.pass_after_retries(0.8, 0.8, quality, 2, rho_good=1 / 5, rho_bad=2 / 5)
    assert found.p_accepted == pytest.approx(accepted.mean(), abs=0.004)
    assert found.p_bad_accepted == pytest.approx(bad_in.mean(), abs=0.004)
    assert found.p_good_rejected == pytest.approx(rejected_good.mean(), abs=0.004)
    assert found.p_good_lost == pytest.approx((rejected_good & ~accepted).mean(), abs=0.004)
    assert found.expected_attempts == pytest.approx(attempts.mean(), abs=0.006)


@FEW
@given(SHARE, SHARE, SHARE, st.integers(0, 6), SHARE, SHARE)
def test_retries_are_probabilities_and_more_of_them_accept_more(
    tpr: float, tnr: float, quality: float, retries: int, rho_good: float, rho_bad: float
) -> None:
    rhos = {"rho_good": rho_good, "rho_bad": rho_bad}
    found = cal.pass_after_retries(tpr, tnr, quality, retries, **rhos)
    further = cal.pass_after_retries(tpr, tnr, quality, retries + 1, **rhos)
    assert -1e-12 <= found.p_bad_accepted <= found.p_accepted + 1e-12 <= 1 + 2e-12
    assert further.p_accepted >= found.p_accepted - 1e-12
    assert found.p_good_lost <= found.p_good_rejected + 1e-12
    assert found.p_accepted + found.p_good_lost <= 1 + 1e-9
    assert 1 - 1e-9 <= found.expected_attempts <= retries + 1 + 1e-9


def test_retries_refuse_what_they_cannot_use() -> None:
    with pytest.raises(BadInput, match="2 values for 3 attempts"):
        cal.pass_after_retries(0.8, 0.9, [0.5, 0.5], 2, rho_good=0, rho_bad=0)
    with pytest.raises(BadInput, match="outside 0 to 1"):
        cal.pass_after_retries(1.8, 0.9, 0.5, 2, rho_good=0, rho_bad=0)
    nothing = cal.pass_after_retries(0, 1, 0.5, 2, rho_good=0, rho_bad=0)
    assert math.isnan(nothing.p_bad_given_accepted)


def test_threshold_after_retries_holds_and_rises_with_retries() -> None:
    rng = np.random.default_rng(2)
    labels = rng.random(2000) < 0.5
    scores = rng.normal(size=2000) + 2 * labels
    once = cal.threshold_after_retries(labels, scores, 0.5, 0, 0.1)
    often = cal.threshold_after_retries(labels, scores, 0.4, 3, 0.1)
    assert once.value < often.value < math.inf
    # The figure told is that of the limits of both rates, and below what was asked.
    assert once.bound <= 0.1
    false_pass, tpr = 1 - stats.norm.cdf(once.value), 1 - stats.norm.cdf(once.value - 2)
    true = cal.pass_after_retries(tpr, 1 - false_pass, 0.5, 0, rho_good=0, rho_bad=0)
    assert true.p_bad_given_accepted < 0.1
    few = cal.threshold_after_retries(labels[:30], scores[:30], 0.5, 3, 0.01)
    assert few.value == math.inf
    assert "label more items" in few.notes[0]
    with pytest.raises(Uninformative):
        cal.threshold_after_retries([1, 1], [1, 2], 0.5, 0, 0.1)


# Noise.


def test_noise_floor_by_hand() -> None:
    # (6, 8), (7, 7), (9, 5): squares around the means 2, 0, 8 on 3 degrees: sd sqrt(10 / 3) = 1.82574;
    # minimal detectable change 1.95996 * 1.41421 * 1.82574 = 5.0606. At threshold 7 the first and last flip: 2/3.
    found = cal.noise_floor([[6, 8], [7, 7], [9, 5]])
    assert found.sd.value == pytest.approx(math.sqrt(10 / 3))
    assert found.minimal_detectable_change.value == pytest.approx(5.0606, abs=1e-4)
    assert found.flip_rate.value == pytest.approx(2 / 3)
    low, high = (math.sqrt(10 / quantile) for quantile in stats.chi2.ppf([0.975, 0.025], 3))
    assert (found.sd.low, found.sd.high) == pytest.approx((low, high))


def test_one_attempt_is_no_floor() -> None:
    with pytest.raises(Uninformative, match="not a floor"):
        cal.noise_floor([[6, 8, 7, 9]])
    with pytest.raises(Uninformative):
        cal.noise_floor([[6], [7], [8]])
    with pytest.raises(BadInput, match="dimensions"):
        cal.noise_floor([6, 8])


def test_flips_are_those_near_the_threshold() -> None:
    rng = np.random.default_rng(3)
    far = np.column_stack([np.full(40, 2.0), np.full(40, 2.2)]) + 0.01 * rng.normal(size=(40, 2))
    near = 7 + 0.2 * rng.normal(size=(40, 2))
    found = cal.noise_floor(np.vstack([far, near]))
    assert found.flip_rate_near.n == 40
    assert found.flip_rate_near.value == pytest.approx(2 * found.flip_rate.value)
    missing = np.vstack([far, near, [[5.0, math.nan]]])
    assert cal.noise_floor(missing).sd.missing == 1
    grouped = cal.noise_floor(np.vstack([far, near]), groups=np.arange(80) // 4)
    assert grouped.sd.value == pytest.approx(found.sd.value)
    assert grouped.sd.low < found.sd.value < grouped.sd.high


@FEW
@given(st.floats(-5, 5), st.floats(0.1, 4))
def test_noise_scales_with_the_scores(shift: float, scale: float) -> None:
    repeats = np.array([[6, 8, 7], [7, 7, 6], [9, 5, 8], [3, 3, 2]])
    assert cal.noise_floor(repeats * scale + shift).sd.value == pytest.approx(scale * cal.noise_floor(repeats).sd.value)


def balanced(tasks: int, attempts: int, repeats: int, seed: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), attempts * repeats)
    attempt = np.repeat(np.arange(tasks * attempts), repeats)
    effects = 2 * rng.normal(size=tasks)[task] + rng.normal(size=tasks * attempts)[attempt]
    return effects + 0.5 * rng.normal(size=len(task)), task, attempt


def test_variance_components_by_hand() -> None:
    # Two tasks, two attempts each, two repeats. Attempt means 1.5 3.5 | 7 9, task means 2.5 8.
    # Repeats: squares .5 .5 0 0 on 4 degrees: .25. Attempts: 2 * (1 + 1 + 1 + 1) / 2 = 4 = .25 + 2 v: 1.875.
    # Tasks: 4 * 2 * 2.75^2 / 1 = 60.5 = 4 + 4 v: 14.125.
    scores = [1, 2, 3, 4, 7, 7, 9, 9]
    found = cal.variance_components(scores, [0] * 4 + [1] * 4, [0, 0, 1, 1, 0, 0, 1, 1])
    assert (found.task.value, found.attempt.value, found.repeat.value) == pytest.approx((14.125, 1.875, 0.25))
    assert math.isnan(found.rater.value)


def test_variance_components_of_a_balanced_table_are_those_of_a_mixed_model() -> None:
    scores, task, attempt = balanced(12, 4, 3)
    found = cal.variance_components(scores, task, attempt)
    data = pd.DataFrame({"score": scores, "task": task, "attempt": attempt})
    model = MixedLM.from_formula(
        "score ~ 1", data, groups="task", re_formula="1", vc_formula={"attempt": "0 + C(attempt)"}
    )
    fit = model.fit(reml=True)
    assert found.task.value == pytest.approx(float(np.asarray(fit.cov_re)[0, 0]), rel=1e-3)
    assert found.attempt.value == pytest.approx(float(fit.vcomp[0]), rel=1e-3)
    assert found.repeat.value == pytest.approx(float(fit.scale), rel=1e-3)
    assert found.task.low < 4 < found.task.high


def test_variance_components_with_raters_and_gaps_are_unbiased() -> None:
    rng = np.random.default_rng(5)
    totals = np.zeros(4)
    task, attempt, rater = (index.ravel() for index in np.indices((15, 3, 4)))
    for _ in range(100):
        effects = (
            rng.normal(size=15)[task] + 0.7 * rng.normal(size=45)[task * 3 + attempt] + 0.8 * rng.normal(size=4)[rater]
        )
        scores = effects + 0.5 * rng.normal(size=len(task))
        scores[rng.random(len(scores)) < 0.2] = np.nan
        found = cal.variance_components(scores, task, attempt, rater)
        totals += [found.task.value, found.attempt.value, found.rater.value, found.repeat.value]
    assert totals / 100 == pytest.approx([1, 0.49, 0.64, 0.25], rel=0.15)


def test_variance_components_cut_what_is_negative_and_refuse_one_task() -> None:
    found = cal.variance_components([0, 10, 0, 10, 0, 10], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 0, 0])
    assert found.task.value == 0
    assert "negative" in found.notes[0]
    with pytest.raises(Uninformative, match="1 task"):
        cal.variance_components([1, 2, 3], [0, 0, 0], [0, 1, 2])
