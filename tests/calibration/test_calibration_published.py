"""Figures that others published, from their own tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from pge_nb import calibration as cal
from pge_nb.errors import BadInput

AGENTS = ("GPT-Pilot", "MetaGPT", "OpenHands")
PEOPLE = ("annotator1", "annotator2", "annotator3")


def majority(table: pd.DataFrame) -> pd.Series:
    return table[list(PEOPLE)].mode(axis=1)[0]


@pytest.mark.parametrize(("agent", "percent"), [("MetaGPT", 92.08), ("GPT-Pilot", 86.61), ("OpenHands", 90.16)])
def test_devai_agreement_of_each_agent(devai: pd.DataFrame, agent: str, percent: float) -> None:
    part = devai[devai.agent == agent]
    assert 100 * cal.percent_agreement(part.human, part.judge).value == pytest.approx(percent, abs=0.005)


def test_devai_kappa_rates_and_leniency(devai: pd.DataFrame) -> None:
    assert cal.cohen_kappa(devai.human, devai.judge).value == pytest.approx(0.7777241102536145, abs=1e-12)
    rates = cal.verdict_rates(devai.human, devai.judge)
    assert rates.tpr.value == pytest.approx(0.8753, abs=5e-5)
    assert rates.tnr.value == pytest.approx(0.9082, abs=5e-5)
    assert rates.leniency.value == pytest.approx(0.0128, abs=5e-5)


def test_devai_standard_error_of_agreement_clustered_and_naive(devai: pd.DataFrame) -> None:
    clustered = cal.percent_agreement(devai.human, devai.judge, groups=devai.task_no, interval="analytic")
    naive = cal.percent_agreement(devai.human, devai.judge, interval="analytic")
    assert (clustered.high - clustered.value) / 2.0048793 == pytest.approx(0.01135, abs=5e-6)  # t(54) at .975
    assert (naive.high - naive.value) / 1.9599640 == pytest.approx(0.00921, abs=5e-6)
    assert clustered.groups == 55


def corrected(devai: pd.DataFrame, agent: str, clustered: bool) -> cal.Estimate:
    target, rest = devai[devai.agent == agent], devai[devai.agent != agent]
    groups = {"groups": rest.task_no, "groups_unlabelled": target.task_no} if clustered else {}
    return cal.corrected_rate(rest.human, rest.judge, target.judge, **groups)


@pytest.mark.parametrize(
    ("agent", "low", "high", "truth"),
    [("GPT-Pilot", 0.419, 0.559, 0.445), ("MetaGPT", 0.092, 0.225, 0.221), ("OpenHands", 0.372, 0.518, 0.429)],
)
def test_devai_pass_rate_corrected_with_the_labels_of_the_other_agents(
    devai: pd.DataFrame, agent: str, low: float, high: float, truth: float
) -> None:
    estimate = corrected(devai, agent, clustered=False)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=5e-4)
    assert estimate.low <= truth <= estimate.high
    assert "assumes the rates carry over" in estimate.notes


# The figures hold to three digits with the normal quantile; t(G - 1), which is the rule, reaches .0026 further at each end.
@pytest.mark.parametrize(
    ("agent", "low", "high"), [("GPT-Pilot", 0.386, 0.592), ("MetaGPT", 0.067, 0.253), ("OpenHands", 0.343, 0.550)]
)
def test_devai_pass_rate_corrected_by_task(devai: pd.DataFrame, agent: str, low: float, high: float) -> None:
    estimate = corrected(devai, agent, clustered=True)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.004)
    assert estimate.low < low + 5e-4
    assert estimate.high > high - 5e-4


def test_devai_rates_do_not_carry_between_gpt_pilot_and_metagpt(devai: pd.DataFrame) -> None:
    a, b = (devai[devai.agent == agent] for agent in ("GPT-Pilot", "MetaGPT"))
    found = cal.carries_over(a.human, a.judge, b.human, b.judge)
    assert found.verdict != "carries"
    assert found.tnr_difference.low > 0  # 175 of 203 against 268 of 285
    by_task = cal.carries_over(a.human, a.judge, b.human, b.judge, groups_a=a.task_no, groups_b=b.task_no)
    assert by_task.verdict != "carries"
    with_carry = cal.corrected_rate(a.human, a.judge, b.judge, carry=found)
    assert any("over the intervals of the differences" in note for note in with_carry.notes)


@pytest.mark.parametrize("agent", AGENTS)
def test_devai_ppi_refuses_another_agents_labels(devai: pd.DataFrame, agent: str) -> None:
    target, rest = devai[devai.agent == agent], devai[devai.agent != agent]
    with pytest.raises(BadInput, match="same_population=True"):
        cal.corrected_rate(rest.human, rest.judge, target.judge, "ppi++")
    with pytest.warns(cal.CalibrationWarning, match="may not be one population"):
        wrong = cal.corrected_rate(rest.human, rest.judge, target.judge, "ppi++", same_population=True)
    assert not wrong.low <= target.human.mean() <= wrong.high


def test_pandalm_kappa_of_the_pairs_of_people(pandalm: pd.DataFrame) -> None:
    pairs = [("annotator1", "annotator2"), ("annotator1", "annotator3"), ("annotator2", "annotator3")]
    found = [round(cal.cohen_kappa(pandalm[a], pandalm[b]).value, 2) for a, b in pairs]
    assert found == [0.85, 0.88, 0.86]


def test_pandalm_an_unparsable_verdict_is_a_category_of_its_own(pandalm: pd.DataFrame) -> None:
    truth, parsed = majority(pandalm), pandalm.gpt_result != "garbage"
    assert cal.cohen_kappa(truth, pandalm.gpt_result).value == pytest.approx(0.476, abs=5e-4)
    assert cal.cohen_kappa(truth[parsed], pandalm.gpt_result[parsed]).value == pytest.approx(0.493, abs=5e-4)


def test_pandalm_mcnemar_of_the_two_judges(pandalm: pd.DataFrame) -> None:
    found = cal.compare_raters(majority(pandalm), pandalm.gpt_result, pandalm.pandalm_result)
    assert found.p_value == pytest.approx(0.0719, abs=5e-5)
    assert (found.only_a, found.only_b) == (145, 115)
    assert found.difference.low < 0 < found.difference.high


def test_pandalm_alternative_annotator_advantage(pandalm: pd.DataFrame) -> None:
    people, parsed = pandalm[list(PEOPLE)], pandalm.gpt_result != "garbage"
    for judge, advantage in (("gpt_result", 0.741), ("pandalm_result", 0.715)):
        found = cal.alternative_annotator_test(people, pandalm[judge], epsilon=0.15)
        assert found.advantage.value == pytest.approx(advantage, abs=5e-4)
    beside = cal.alternative_annotator_test(people[parsed], pandalm.gpt_result[parsed], epsilon=0.15)
    assert beside.advantage.value == pytest.approx(0.758, abs=5e-4)


@pytest.mark.parametrize(
    ("fault", "value", "low", "high"),
    [
        ("guidelines", 0.90, 0.85, 0.96),
        ("syntax", 0.97, 0.93, 1.00),
        ("superfluous", 0.66, 0.55, 0.78),
        ("unsubstantiated", 0.60, 0.47, 0.74),
        ("incoherence", 0.81, 0.73, 0.89),
    ],
)
def test_hanna_ac1(hanna: pd.DataFrame, fault: str, value: float, low: float, high: float) -> None:
    ratings = cal.ratings_from(hanna, "item", "rater", fault)
    estimate = cal.gwet_ac(ratings, interval="analytic")
    assert tuple(estimate) == pytest.approx((value, low, high), abs=0.00501)


def test_hanna_the_paradox_is_told(hanna: pd.DataFrame) -> None:
    ratings = cal.ratings_from(hanna, "item", "rater", "syntax")
    assert cal.fleiss_kappa(ratings).value == pytest.approx(-0.02, abs=0.005)
    found = [finding for finding in cal.audit(hanna, "item", "rater", "syntax") if finding.kind == "kappa paradox"]
    assert found
    assert "AC1" in found[0].remedy
    # All three people found no error in any explanation: nothing can be said of kappa.
    nothing = cal.fleiss_kappa(cal.ratings_from(hanna, "item", "rater", "incorrectness"))
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (-1, 1)


def test_devai_audit_finds_tasks_spelt_in_more_than_one_way(devai: pd.DataFrame) -> None:
    frame = devai.assign(item=np.arange(len(devai))).melt(
        id_vars=["item", "task"], value_vars=["human", "judge"], var_name="rater", value_name="verdict"
    )
    kinds = {finding.kind: finding for finding in cal.audit(frame, "item", "rater", "verdict", "task")}
    assert kinds["near-duplicate ids"].count == 3  # 13_Style_Transfer_Perceptual_Loss_CustomImages_D, _DL and _DL.json
    assert "clusters ignored" in kinds
