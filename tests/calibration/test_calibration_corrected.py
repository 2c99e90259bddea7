from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from pge_nb import calibration as cal
from pge_nb.calibration.corrected import Measured, lang_reiczigel
from pge_nb.errors import BadInput, Uninformative

FEW = settings(max_examples=40, deadline=None)
Z = 1.959963984540054


def items(tp: int, fn: int, tn: int, fp: int) -> tuple[list[int], list[int]]:
    return [1] * (tp + fn) + [0] * (tn + fp), [1] * tp + [0] * fn + [0] * tn + [1] * fp


def test_rogan_gladen_by_hand() -> None:
    # TPR .9, TNR .8, observed .55: (.55 + .8 - 1) / (.9 + .8 - 1) = .5.
    labels, verdicts = items(90, 10, 80, 20)
    found = cal.corrected_rate(labels, verdicts, [1] * 55 + [0] * 45)
    assert found.value == pytest.approx(0.5, abs=1e-12)
    assert found.low < 0.5 < found.high
    assert found.notes == ("assumes the rates carry over",)


def test_lang_reiczigel_by_hand() -> None:
    # Their formulas worked through: q' = (55 + z^2/2) / (100 + z^2), se' = 91 / 102, sp' = 81 / 102.
    z2 = Z * Z
    q, se, sp = (55 + z2 / 2) / (100 + z2), 91 / 102, 81 / 102
    j = se + sp - 1
    p = (q + sp - 1) / j
    spread = [q * (1 - q) / (100 + z2), se * (1 - se) / 102, sp * (1 - sp) / 102]
    half = Z * math.sqrt(spread[0] + spread[1] * p**2 + spread[2] * (1 - p) ** 2) / j
    shift = 2 * z2 * (p * spread[1] - (1 - p) * spread[2])
    three = (Measured(0.55, 100, None), Measured(0.9, 100, None), Measured(0.8, 100, None))
    assert lang_reiczigel(three, Z) == pytest.approx((p + shift - half, p + shift + half), abs=1e-12)


@FEW
@given(st.integers(30, 60), st.integers(0, 10), st.integers(30, 60), st.integers(0, 10), st.integers(0, 80))
def test_calling_good_bad_turns_the_rate_round(tp: int, fn: int, tn: int, fp: int, passes: int) -> None:
    labels, verdicts = items(tp, fn, tn, fp)
    unlabelled = [1] * passes + [0] * (80 - passes)
    one = cal.corrected_rate(labels, verdicts, unlabelled)
    turned = cal.corrected_rate(*(1 - np.array(values) for values in (labels, verdicts, unlabelled)))
    assert one.value == pytest.approx(1 - turned.value, abs=1e-9)
    assert (one.low, one.high) == pytest.approx((1 - turned.high, 1 - turned.low), abs=1e-9)
    assert 0 <= one.low <= one.value <= one.high <= 1


def test_a_perfect_evaluator_leaves_the_rate_as_it_is() -> None:
    found = cal.corrected_rate([1] * 50 + [0] * 50, [1] * 50 + [0] * 50, [1] * 30 + [0] * 70)
    assert found.value == pytest.approx(0.3)


def test_an_evaluator_that_says_nothing_is_refused() -> None:
    with pytest.raises(Uninformative, match="cannot be told from 1"):
        cal.corrected_rate(*items(20, 10, 12, 18), [1, 0] * 20)
    with pytest.raises(Uninformative, match="below 1"):
        cal.corrected_rate(*items(2, 48, 3, 47), [1, 0] * 20)
    with pytest.raises(Uninformative, match="labels are the same"):
        cal.corrected_rate([1] * 20, [1] * 20, [1, 0])
    with pytest.raises(Uninformative, match="no unlabelled"):
        cal.corrected_rate(*items(20, 1, 20, 1), [])


def test_unmeasured_verdicts_do_not_pass_in_either_sample() -> None:
    labels, verdicts = items(90, 10, 80, 20)
    unmeasured = [None if verdict == 0 else 1 for verdict in verdicts]
    found = cal.corrected_rate(labels, unmeasured, [1] * 55 + [None] * 45)
    assert found.value == pytest.approx(0.5)
    assert "45 unlabelled items are unmeasured" in found.notes[0]


def test_groups_and_weights_widen() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 10)
    easy = np.repeat(rng.beta(4, 1, 40), 10)
    labels = np.repeat(rng.random(40) < 0.5, 10)
    verdicts = np.where(rng.random(400) < easy, labels, ~labels)
    unlabelled = np.repeat(rng.random(40) < 0.5, 10)
    alone = cal.corrected_rate(labels, verdicts, unlabelled)
    together = cal.corrected_rate(labels, verdicts, unlabelled, groups=groups, groups_unlabelled=groups)
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert "effective sizes" in together.method
    with pytest.warns(cal.CalibrationWarning, match="only one of the two samples has groups"):
        cal.corrected_rate(labels, verdicts, unlabelled, groups=groups)
    weighted = cal.corrected_rate(labels, verdicts, unlabelled, item_weights=np.where(labels, 1.0, 5.0))
    assert weighted.value == pytest.approx(alone.value)  # weights equal within a class change no rate given the class


@pytest.mark.parametrize("interval", ["analytic", "bootstrap"])
def test_the_other_intervals(interval: str) -> None:
    labels, verdicts = items(90, 10, 80, 20)
    found = cal.corrected_rate(labels, verdicts, [1] * 550 + [0] * 450, interval=interval, rng=1)
    # Delta method: sqrt(.2475 / 1000 + .09 / 100 * .25 + .16 / 100 * .25) / .7 = .0422.
    assert (found.high - found.low) / 2 / Z == pytest.approx(0.0422, rel=0.02 if interval == "analytic" else 0.1)


def test_label_errors_that_are_known() -> None:
    # Truth: half good; evaluator TPR .9, TNR .8. Labels wrong on .1 of bad and .2 of good items. Expected counts of 10,000:
    # P(L, V) good: .8 * .9, .8 * .1, .2 * .9, .2 * .1; bad: .1 * .2, .1 * .8, .9 * .2, .9 * .8; halves.
    counts = {(1, 1): 3700, (1, 0): 800, (0, 1): 1800, (0, 0): 3700}
    labels = np.concatenate([[label] * n for (label, _), n in counts.items()])
    verdicts = np.concatenate([[verdict] * n for (_, verdict), n in counts.items()])
    # A population of which .7 is good shows .7 * .9 + .3 * .2 = .69 passes.
    unlabelled = [1] * 690 + [0] * 310
    found = cal.corrected_rate(labels, verdicts, unlabelled, label_error=(0.1, 0.2))
    assert found.value == pytest.approx(0.7, abs=1e-9)
    assert found.low < 0.7 < found.high
    believed = cal.corrected_rate(labels, verdicts, unlabelled)
    assert believed.value - 0.7 > 0.03
    assert cal.corrected_rate(labels, verdicts, unlabelled, label_error=0.0) == believed
    with pytest.raises(BadInput, match="label_error"):
        cal.corrected_rate(labels, verdicts, unlabelled, label_error=0.5)


def sample(n: int, seed: int, rate: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < rate
    return labels.astype(int), (rng.random(n) < np.where(labels, 0.9, 0.2)).astype(int)


def test_ppi_is_that_of_ppi_python() -> None:
    labels, verdicts = sample(150, 1)
    _, unlabelled = sample(900, 2)
    found = cal.corrected_rate(labels, verdicts, unlabelled, "ppi++", same_population=True, interval="analytic")
    as_floats = [values.astype(float) for values in (labels, verdicts, unlabelled)]
    assert found.value == pytest.approx(float(np.squeeze(ppi_mean_pointestimate(*as_floats))), abs=1e-9)
    low, high = ppi_mean_ci(*as_floats, alpha=0.05)
    assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])), abs=1e-9)


def test_ppi_refuses_and_warns() -> None:
    labels, verdicts = sample(150, 1)
    _, other = sample(900, 2, rate=0.3)
    with pytest.raises(BadInput, match="same_population=True"):
        cal.corrected_rate(labels, verdicts, other, "ppi++")
    with pytest.raises(Uninformative, match="99 labels"):
        cal.corrected_rate(labels[:99], verdicts[:99], other, "ppi++", same_population=True)
    with pytest.warns(cal.CalibrationWarning, match="may not be one population"):
        cal.corrected_rate(labels, verdicts, other, "ppi++", same_population=True)
    with pytest.raises(BadInput, match="neither carry nor label_error"):
        cal.corrected_rate(labels, verdicts, other, "ppi++", same_population=True, label_error=0.1)
    with pytest.raises(BadInput, match="method"):
        cal.corrected_rate(labels, verdicts, other, "judgy")


def test_ppi_of_verdicts_that_never_vary_is_the_mean_of_the_labels() -> None:
    labels, _ = sample(150, 1)
    found = cal.corrected_rate(labels, [1] * 150, [1] * 500, "ppi++", same_population=True)
    assert found.value == pytest.approx(labels.mean())


def test_ppi_by_group_and_bootstrap() -> None:
    labels, verdicts = sample(200, 3)
    _, unlabelled = sample(900, 4)
    same = {"same_population": True}
    grouped = cal.corrected_rate(
        labels, verdicts, unlabelled, "ppi++", groups=np.arange(200) // 5, groups_unlabelled=np.arange(900) // 9, **same
    )
    booted = cal.corrected_rate(labels, verdicts, unlabelled, "ppi++", interval="bootstrap", rng=1, **same)
    plain = cal.corrected_rate(labels, verdicts, unlabelled, "ppi++", **same)
    assert grouped.groups == 40
    assert booted.value == plain.value
    assert booted.high - booted.low == pytest.approx(plain.high - plain.low, rel=0.1)


# Whether rates carry over.


def test_carries_differs_cannot_tell() -> None:
    big = items(9000, 1000, 8000, 2000)
    assert cal.carries_over(*big, *items(9010, 990, 8020, 1980)).verdict == "carries"
    assert cal.carries_over(*big, *items(9000, 1000, 6000, 4000)).verdict == "differs"
    assert cal.carries_over(*items(18, 2, 16, 4), *items(18, 2, 16, 4)).verdict == "cannot tell"
    # A difference that is real and smaller than the margin does no harm.
    assert cal.carries_over(*big, *items(9150, 850, 8000, 2000)).verdict == "carries"


def test_differences_are_b_less_a_with_newcombes_interval() -> None:
    # TPR 56 of 70 in b and 48 of 80 in a: .2, Newcombe (1998) .0524 to .3339.
    found = cal.carries_over(*items(48, 32, 10, 1), *items(56, 14, 10, 1))
    assert found.tpr_difference.value == pytest.approx(0.2)
    assert (found.tpr_difference.low, found.tpr_difference.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@FEW
@given(st.tuples(*[st.integers(1, 30)] * 4), st.tuples(*[st.integers(1, 30)] * 4))
def test_carrying_mirrors(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    there, back = cal.carries_over(*items(*a), *items(*b)), cal.carries_over(*items(*b), *items(*a))
    assert there.verdict == back.verdict
    assert there.tnr_difference.low == pytest.approx(-back.tnr_difference.high, abs=1e-12)


def test_groups_that_both_places_share_are_paired() -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(50), 8)
    labels = np.tile([1, 1, 1, 1, 0, 0, 0, 0], 50)
    right = np.repeat(rng.random(50) < 0.8, 8)
    verdicts = np.where(right, labels, 1 - labels)
    shared = cal.carries_over(labels, verdicts, labels, verdicts, groups_a=groups, groups_b=groups)
    apart = cal.carries_over(labels, verdicts, labels, verdicts, groups_a=groups, groups_b=groups + 100)
    assert shared.tpr_difference.high < 0.4 * apart.tpr_difference.high
    with pytest.raises(BadInput, match="Only one of the two places"):
        cal.carries_over(labels, verdicts, labels, verdicts, groups_a=groups)


def test_what_carries_over_says_goes_into_the_estimate() -> None:
    labels, verdicts = items(90, 10, 80, 20)
    unlabelled = [1] * 55 + [0] * 45
    carries = cal.carries_over(*items(9000, 1000, 8000, 2000), *items(9010, 990, 8020, 1980))
    assert cal.corrected_rate(labels, verdicts, unlabelled, carry=carries).notes == (
        "the rates carry over within 0.05",
    )
    differs = cal.carries_over(*items(900, 100, 800, 200), *items(900, 100, 700, 300))
    notes = cal.corrected_rate(labels, verdicts, unlabelled, carry=differs).notes
    assert notes[0] == "assumes the rates carry over"
    # TNR lower by .06 to .14 and TPR by up to .03 either way: at TNR .66, TPR .93 (.55 - .34) / .59 = .36; at .74, .87 .48.
    assert "differs; over the intervals of the differences the rate is 0.36" in notes[1]
    assert math.isnan(cal.carries_over([1], [1], [0], [0]).tpr_difference.value)
