from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import samplesize_confint_proportion

from pge_nb import calibration as cal
from pge_nb.calibration.annotators import benjamini_yekutieli
from pge_nb.calibration.auditing import families
from pge_nb.errors import BadInput, Uninformative

FEW = settings(max_examples=40, deadline=None)


def people(n: int, count: int = 3, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """A truth, and people who are right in .85 of items."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    wrong = (truth[:, None] + rng.integers(1, 3, (n, count))) % 3
    return truth, np.where(rng.random((n, count)) < 0.85, truth[:, None], wrong)


def test_ceiling_by_hand() -> None:
    # Two people agree on 3 of 4. The judge agrees with the first on 2 and with the second on 3: mean 5/8.
    ratings = [[1, 1], [0, 0], [1, 1], [1, 0]]
    found = cal.human_ceiling(ratings, [1, 0, 0, 0], "accuracy")
    assert (found.people.value, found.judge.value) == (0.75, 0.625)
    assert found.difference.value == pytest.approx(-0.125)


def test_ceiling_compares_judge_and_person_on_the_same_panel_and_items() -> None:
    truth, ratings = people(120)
    table = ratings.astype(object)
    table[:20, 0] = None
    found = cal.human_ceiling(table, truth, "kappa")
    starts = {(0, 1): 20, (0, 2): 20, (1, 2): 0}
    kappas = [metrics.cohen_kappa_score(ratings[s:, a], ratings[s:, b]) for (a, b), s in starts.items()]
    assert found.people.value == pytest.approx(np.mean(kappas))
    # Over each person left out: the judge against the two others, on the items that all three have.
    judge = [
        metrics.cohen_kappa_score(truth[start:], ratings[start:, other])
        for left_out in range(3)
        for other in range(3)
        if other != left_out
        for start in [20 if 0 in (left_out, other) else 0]
    ]
    assert found.judge.value == pytest.approx(np.mean(judge))
    assert found.difference.low > 0  # the truth itself is a better judge than a person


def test_ceiling_takes_a_function_groups_and_bootstrap() -> None:
    truth, ratings = people(90)
    share = lambda a, b: float(np.mean(a == b))  # noqa: E731
    by_function = cal.human_ceiling(ratings, truth, share)
    by_name = cal.human_ceiling(ratings, truth, "accuracy")
    assert by_function == by_name
    grouped = cal.human_ceiling(ratings, truth, "accuracy", groups=np.arange(90) // 3)
    booted = cal.human_ceiling(ratings[:, :2], truth, "accuracy", interval="bootstrap", rng=1)
    for found in (grouped, booted):
        assert found.judge.low < found.judge.value < found.judge.high
    with pytest.raises(BadInput, match="statistic"):
        cal.human_ceiling(ratings, truth, "alpha")


def test_ceiling_honours_weights_and_counts_a_silent_judge() -> None:
    truth, ratings = people(60)
    weights = 1 + np.arange(60) % 3
    for statistic in ("accuracy", "kappa"):
        weighted = cal.human_ceiling(ratings, truth, statistic, item_weights=weights)
        repeated = cal.human_ceiling(np.repeat(ratings, weights, axis=0), np.repeat(truth, weights), statistic)
        assert weighted.judge.value == pytest.approx(repeated.judge.value, abs=1e-9)
        assert weighted.people.value == pytest.approx(repeated.people.value, abs=1e-9)
    silent = cal.human_ceiling(ratings, [None, *truth[1:]], "accuracy")
    assert silent.judge.missing == 1


def test_not_measurable_with_too_few_people() -> None:
    with pytest.raises(Uninformative, match="not measurable with 1 person"):
        cal.human_ceiling([[1], [0]], [1, 0])
    with pytest.raises(Uninformative, match="not measurable with 2 people"):
        cal.alternative_annotator_test([[1, 1]] * 40, [1] * 40, 0.1)
    with pytest.raises(Uninformative, match="29 items"):
        cal.alternative_annotator_test([[1, 1, 1]] * 29, [1] * 29, 0.1)


def test_alternative_annotator_by_hand() -> None:
    # 30 items; all three people say 1, but on 6 items the first says 0; the judge says 1 except on 3 of the other 24.
    # Against person 1: the judge's share agreed with (2, 3) is 1 on 27 items and person 1's on 24: judge >= on 27 of 30.
    # Against persons 2 and 3: on the 6 items both have one half, or 1/2 against 1/2; on the 3 the judge has 0: 27 of 30.
    ratings = np.ones((30, 3), dtype=int)
    ratings[:6, 0] = 0
    judge = np.ones(30, dtype=int)
    judge[10:13] = 0
    found = cal.alternative_annotator_test(ratings, judge, 0.1)
    assert [one.value for one in found.people] == pytest.approx([0.9, 0.9, 0.9])
    # Person 1 >= judge on 24; lag 24/30 - 27/30 = -.1, one-sided t against .1: differences -1 on 6, 1 on 3, 0 on 21.
    lags = np.array([-1] * 6 + [1] * 3 + [0] * 21)
    assert found.p_values[0] == pytest.approx(stats.ttest_1samp(lags, 0.1, alternative="less").pvalue, abs=1e-9)
    lags = np.array([1] * 3 + [0] * 27)
    booted = cal.alternative_annotator_test(ratings, judge, 0.1, interval="bootstrap", rng=1).advantage
    assert booted.low < 0.9 < booted.high
    assert found.p_values[1] == pytest.approx(stats.ttest_1samp(lags, 0.1, alternative="less").pvalue, abs=1e-9)


def test_a_judge_that_is_the_truth_passes_and_a_coin_does_not() -> None:
    truth, ratings = people(200)
    good = cal.alternative_annotator_test(ratings, truth, 0.1)
    assert good.passes
    assert good.winning_rate == 1
    coin = cal.alternative_annotator_test(ratings, np.random.default_rng(2).integers(0, 3, 200), 0.1)
    assert not coin.passes
    assert coin.winning_rate == 0
    silent = cal.alternative_annotator_test(ratings, [None] * 200, 0.1)
    assert silent.advantage.value == 0


def test_alternative_annotator_with_scores_gaps_and_groups() -> None:
    rng = np.random.default_rng(3)
    truth = rng.normal(7, 1, 120)
    ratings = truth[:, None] + rng.normal(size=(120, 3))
    ratings[:30, 2] = np.nan
    near = truth + 0.1 * rng.normal(size=120)
    by_name = cal.alternative_annotator_test(ratings, near, 0.1, "neg_rmse")
    by_function = cal.alternative_annotator_test(
        ratings, near, 0.1, lambda label, others: -math.sqrt(np.mean((label - np.array(others)) ** 2))
    )
    assert by_name.advantage.value == pytest.approx(by_function.advantage.value)
    assert by_name.people[2].n == 90
    assert by_name.passes
    grouped = cal.alternative_annotator_test(ratings, near, 0.1, "neg_rmse", groups=np.arange(120) // 4)
    assert grouped.advantage.groups == 30
    assert grouped.p_values != by_name.p_values


@FEW
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.5))
def test_benjamini_yekutieli_is_that_of_statsmodels(p_values: list[float], q: float) -> None:
    assert benjamini_yekutieli(p_values, q).tolist() == multipletests(p_values, q, method="fdr_by")[0].tolist()


# Planning.


def test_sample_size_of_a_rate() -> None:
    # 1.95996^2 * .25 / .05^2 = 384.15.
    assert cal.sample_size(rate=0.5, half_width=0.05) == 385
    assert cal.sample_size(rate=0.5, half_width=0.05) == math.ceil(samplesize_confint_proportion(0.5, 0.05))
    # Groups of 11 with correlation .1 double it.
    assert cal.sample_size(rate=0.5, half_width=0.05, icc=0.1, per_group=11) == 769


@FEW
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.3))
def test_so_many_items_are_enough_for_wilson(rate: float, half_width: float) -> None:
    n = cal.sample_size(rate=rate, half_width=half_width)
    z = 1.959963984540054
    interval = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert interval <= half_width + 1e-9
    assert n >= samplesize_confint_proportion(rate, half_width) - 1e-6


def test_sample_size_of_a_paired_difference_reaches_its_power() -> None:
    # Connor (1987): (1.95996 sqrt(.2) + .84162 sqrt(.2 - .01))^2 / .01 = 154.5.
    n = cal.sample_size(discordant=0.2, difference=0.1)
    assert n == 155
    rng = np.random.default_rng(4)
    counts = rng.multinomial(n, [0.15, 0.05, 0.8], size=4000)
    more, less = counts[:, 0], counts[:, 1]
    power = np.mean(np.abs(more - less) / np.sqrt(np.maximum(more + less, 1)) > 1.959963984540054)
    assert power == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"rate": 0.5},
        {"discordant": 0.1, "difference": 0.2},
        {"rate": 0, "half_width": 0.1},
        {"rate": 0.5, "half_width": 0.1, "icc": 2},
    ],
)
def test_an_incomplete_question_is_refused(question: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        cal.sample_size(**question)


def test_labels_are_chosen_with_the_probabilities_that_are_logged() -> None:
    rng = np.random.default_rng(5)
    scores = rng.uniform(0, 10, 40)
    verdicts = (scores >= 7).astype(int)
    times = np.zeros(40)
    for seed in range(4000):
        plan = cal.next_to_label(12, scores=scores, verdicts=verdicts, rng=seed)
        assert len(plan.chosen) == 12
        times[plan.chosen] += 1
    assert plan.propensity.sum() == pytest.approx(12)
    assert times / 4000 == pytest.approx(plan.propensity, abs=0.035)
    assert plan.weights == pytest.approx(1 / plan.propensity[plan.chosen])
    near = np.argmin(np.abs(scores - 7))
    assert plan.propensity[near] > 2 * np.median(plan.propensity)


@FEW
@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.integers(1, 40), st.floats(0.05, 1))
def test_every_item_may_be_chosen(priority: list[float], n: int, explore: float) -> None:
    plan = cal.next_to_label(n, priority=priority, explore=explore, rng=1)
    assert (plan.propensity > 0).all()
    assert (plan.propensity <= 1).all()
    assert len(set(plan.chosen.tolist())) == min(n, len(priority)) == len(plan.chosen)


def test_items_that_have_a_label_are_not_offered() -> None:
    plan = cal.next_to_label(5, priority=[1] * 10, labelled=[True] * 6 + [False] * 4, rng=1)
    assert plan.chosen.tolist() == [6, 7, 8, 9]
    assert plan.propensity[:6].tolist() == [0] * 6
    with pytest.raises(BadInput, match="rng is missing"):
        cal.next_to_label(5, priority=[1] * 10, rng=None)
    with pytest.raises(BadInput, match="Nothing to choose by"):
        cal.next_to_label(5, rng=1)


def test_weights_of_such_a_choice_give_back_the_rates() -> None:
    rng = np.random.default_rng(6)
    labels = rng.random(5000) < 0.7
    scores = np.where(labels, rng.normal(8, 1, 5000), rng.normal(5, 2, 5000))
    verdicts = scores >= 7
    found, plain = [], []
    for seed in range(60):
        plan = cal.next_to_label(300, scores=scores, verdicts=verdicts.astype(int), rng=seed)
        chosen = (labels[plan.chosen], verdicts[plan.chosen])
        found.append(cal.verdict_rates(*chosen, item_weights=plan.weights).tpr.value)
        plain.append(cal.verdict_rates(*chosen).tpr.value)
    truth = (labels & verdicts).sum() / labels.sum()
    assert np.mean(found) == pytest.approx(truth, abs=0.02)
    assert abs(np.mean(plain) - truth) > 0.05


# Audit.


def frame(**raters: list[object]) -> pd.DataFrame:
    wide = pd.DataFrame({name: pd.Series(labels, dtype=object) for name, labels in raters.items()})
    return wide.rename_axis("item").reset_index().melt(id_vars="item", var_name="rater", value_name="label")


def kinds(table: pd.DataFrame, **more: object) -> tuple[str, ...]:
    return cal.audit(table, "item", "rater", "label", **more).kinds()


def test_nothing_is_found_in_sound_data() -> None:
    _, ratings = people(60)
    table = frame(a=ratings[:, 0].tolist(), b=ratings[:, 1].tolist()).assign(
        task=lambda t: "task " + (t["item"] % 12).astype(str)
    )
    assert cal.audit(table, "item", "rater", "label", "task").findings == ()
    assert str(cal.audit(table, "item", "rater", "label")) == "nothing found"


def test_label_sets_that_do_not_meet() -> None:
    found = cal.audit(frame(a=[1, 2, 2, 1], b=[0, 1, 1, 0]), "item", "rater", "label")
    assert "label sets differ" in found.kinds()
    assert "{1, 2} against {0, 1}" in str(found)
    assert "starts at 0" in found.findings[0].remedy
    assert "labels in two forms" in kinds(frame(a=[0, 1, 1], b=["0", "1", "1"]))
    assert "label sets differ" not in kinds(frame(a=[0, 1, 1, 2], b=[0, 1, 1, 0]))
    assert "label sets differ" not in kinds(frame(a=[1, 2, 4, 5], b=[1, 2, 3, 5]))
    continuous = np.random.default_rng(7).normal(7, 1, (50, 2))
    assert kinds(frame(a=continuous[:, 0].tolist(), b=continuous[:, 1].tolist())) == ()
    assert "label sets differ" in kinds(frame(a=["good", "bad"] * 3, b=["pass", "fail"] * 3))


def test_an_unparsable_verdict_is_counted_with_the_parsed_beside() -> None:
    found = cal.audit(frame(a=["1", "2"] * 20, b=[*(["1", "2"] * 19), "garbage", "2"]), "item", "rater", "label")
    (odd,) = [one for one in found if one.kind == "unparsable verdict"]
    assert (odd.count, odd.where) == (1, "b")
    assert "mean agreement 0.975 with it, 1.000 among the parsed" in odd.fact
    assert "unparsable verdict" in kinds(frame(a=["1", "2"] * 20, b=[*(["1", "2"] * 19), "the second is better", "2"]))


def test_ids_that_differ_only_in_spelling() -> None:
    table = frame(a=[1, 0, 1, 0], b=[1, 0, 1, 1]).assign(
        task=lambda t: t["item"].map(
            {0: "Task 07: Parser", 1: "task-7 parser", 2: "Task 8: Parser", 3: "Task 9: Solver"}
        )
    )
    (odd,) = [one for one in cal.audit(table, "item", "rater", "label", "task") if one.kind == "near-duplicate ids"]
    assert odd.fact == "'Task 07: Parser', 'task-7 parser'"
    assert odd.where == "task"


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (["a_long_name_D", "a_long_name_DL", "a_long_name_DL.json"], 1),
        (["sentiment analysis", "sentimant analysis"], 1),
        (["summary version a", "summary version b"], 0),
        (["question 11", "question 12", "question 13"], 0),
        (["short", "shorts"], 0),
        ([f"item number {k}" for k in range(3000)], 0),
    ],
)
def test_only_spellings_are_taken_for_one_id(ids: list[str], found: int) -> None:
    assert len(families(ids)) == found


def test_scores_that_meet_the_threshold_up_to_rounding() -> None:
    table = frame(a=[0.1 + 0.2, 0.3, 0.5], b=[0.3, 0.3, 0.4])
    (odd,) = [one for one in cal.audit(table, "item", "rater", "label", threshold=0.3) if one.kind.startswith("ties")]
    assert odd.count == 1
    assert "3 exactly" in odd.fact


def test_one_class_one_rater_and_two_ratings() -> None:
    table = frame(a=[1, 1, 1, 1, 1], b=[1, 0, 1, 0, None])
    assert {"one class only", "rated once"} <= set(kinds(table))
    assert "rated twice" in kinds(pd.concat([table, table.iloc[:1]]))


def test_groups_that_matter_are_told() -> None:
    same = np.repeat([1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1], 6)
    a = np.tile([0, 1], 36)
    table = frame(a=a.tolist(), b=np.where(same, a, 1 - a).tolist()).assign(task=lambda t: t["item"] // 6)
    (odd,) = [one for one in cal.audit(table, "item", "rater", "label", "task") if one.kind == "clusters ignored"]
    # All items of a task alike: six times the variance, by 12/11 (G / (G - 1)).
    assert "6.5 times" in odd.fact


def test_the_paradox_is_told_and_html_is_plain() -> None:
    found = cal.audit(frame(a=[1] * 46 + [0] * 2, b=[1] * 44 + [0] * 2 + [1] * 2), "item", "rater", "label")
    assert found.kinds() == ("kappa paradox",)
    assert "<style" not in found._repr_html_()
    assert "AC1" in found._repr_html_()


def test_an_audit_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="no column"):
        kinds(pd.DataFrame({"item": [1]}))
    with pytest.raises(BadInput, match="no rows"):
        kinds(pd.DataFrame({"item": [], "rater": [], "label": []}))
