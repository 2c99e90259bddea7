"""Figures of a rater: against counts made here, over files that real practice runs left."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from practice_runs import practice_runs

from pge_nb import open_run, studies
from pge_nb.agents.raters import judge, rater_of
from pge_nb.errors import BadInput
from pge_nb.run import Run
from pge_nb.studies import replaying
from pge_nb.studies.carding import card
from pge_nb.studies.figures import BINS, CURVE, FIGURES, Figures, calibrate
from pge_nb.studies.items import ORACLE, items
from pge_nb.studies.measuring import Figure, paired, passing_of, people_of, shrink, thresholds_of
from pge_nb.studies.ratings import ratings
from pge_nb.studies.splits import split
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.study_records import Label

TASKS = ("textkit", "stats", "notice", "intervals")
JUDGE = "skill=0.4,miss=0.5,leniency=2"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return practice_runs(tmp_path_factory.mktemp("figures"), TASKS, JUDGE)


@pytest.fixture(scope="module")
def runs(home: Path) -> list[Run]:
    return [open_run(home / name) for name in TASKS]


@pytest.fixture(scope="module")
def gate(runs: list[Run]) -> str:
    return rater_of(runs[0].settings).id


@pytest.fixture(scope="module")
def found(runs: list[Run], gate: str, tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return calibrate(runs, gate, open_study(tmp_path_factory.mktemp("study")))


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return open_study(tmp_path)


def counted_by_hand(runs: list[Run], gate: str, about: str, **only: str) -> Counter[tuple[str, str]]:
    """(truth, verdict) -> how many items, from the rows one by one."""
    rows = ratings(runs).to_dict("records")
    truth = {row["item"]: row["label"] for row in rows if row["rater"] == ORACLE}
    first: dict[str, str] = {}
    for row in rows:
        of_gate = row["rater"] == gate and row["purpose"] == "gate" and row["about"] == about
        if of_gate and all(row[name] == value for name, value in only.items()):
            first.setdefault(row["item"], row["label"])
    return Counter((truth[item], verdict) for item, verdict in first.items() if item in truth)


def test_the_figures_of_the_gate_are_those_that_counting_gives(found: Figures, runs: list[Run], gate: str) -> None:
    n = counted_by_hand(runs, gate, "attempt")
    bad, good = n["fail", "pass"] + n["fail", "fail"], n["pass", "pass"] + n["pass", "fail"]
    assert bad >= 5 <= good + bad
    total = sum(n.values())
    assert found.one("false_pass").value == pytest.approx(n["fail", "pass"] / bad)
    assert found.one("tnr").value == pytest.approx(n["fail", "fail"] / bad)
    assert found.one("tpr").value == pytest.approx(n["pass", "pass"] / good)
    assert found.one("agreement").value == pytest.approx((n["pass", "pass"] + n["fail", "fail"]) / total)
    assert found.one("leniency").value == pytest.approx((n["fail", "pass"] - n["pass", "fail"]) / total)
    accepted = n["fail", "pass"] + n["pass", "pass"]
    assert found.one("bad_given_accepted").value == pytest.approx(n["fail", "pass"] / accepted)
    assert found.one("pass_rate").value == pytest.approx(good / total)
    assert (found.one("false_pass").n, found.one("false_pass").bad, found.one("false_pass").tasks) == (bad, bad, 4)
    chance = (accepted * good + (total - accepted) * bad) / total**2
    observed = (n["pass", "pass"] + n["fail", "fail"]) / total
    assert found.one("kappa").value == pytest.approx((observed - chance) / (1 - chance))


@pytest.mark.parametrize(("by", "column", "about"), [("check kind", "kind", "check"), ("criterion", "on", "criterion")])
def test_the_figures_by_kind_are_those_that_counting_gives(
    by: str, column: str, about: str, found: Figures, runs: list[Run], gate: str
) -> None:
    kinds = {row.of for row in found.rows if row.by == by}
    assert len(kinds) >= 3
    for kind in kinds:
        n = counted_by_hand(runs, gate, about, **{column: kind})
        rate = found.one("false_pass", by, kind)
        bad = n["fail", "pass"] + n["fail", "fail"]
        assert rate.bad == bad
        if bad:
            assert rate.value == pytest.approx(n["fail", "pass"] / bad)
        else:
            assert rate.value is None
            assert "is bad" in rate.note


def test_every_interval_holds_its_value_and_few_tasks_make_it_wide(found: Figures, runs: list[Run], gate: str) -> None:
    for row in found.rows:
        if row.value is not None and row.low is not None and row.high is not None:
            assert row.low - 1e-9 <= row.value <= row.high + 1e-9
    rate = found.one("false_pass")
    assert rate.low is not None
    assert rate.high is not None
    assert rate.high - rate.low > 0.2


def test_a_kind_with_few_is_drawn_to_the_others(found: Figures) -> None:
    rows = [row for row in found.rows if row.by == "criterion" and row.figure == "agreement"]
    mean = sum((row.value or 0) * row.n for row in rows) / sum(row.n for row in rows)
    for row in rows:
        assert row.pooled is not None
        assert row.value is not None
        assert min(row.value, mean) - 1e-9 <= row.pooled <= max(row.value, mean) + 1e-9


def test_pooling_by_hand() -> None:
    # N = 20, m = .5, S = 2 * 10 * .16 = 3.2; 3.2 / .25 - 1 = 11.8; room = 20 - 10 - 1 = 9; g = 1: they stay.
    assert shrink([0.1, 0.9], [10, 10]) == pytest.approx((0.1, 0.9))
    # S = 2 * 10 * .01 = .2, so (.8 - 1) / 9 < 0 and g = 0: both get the mean.
    assert shrink([0.4, 0.6], [10, 10]) == pytest.approx((0.5, 0.5))
    # S = 2 * 10 * .0625 = 1.25; g = (5 - 1) / 9 = 4/9; b = (40/9) / (40/9 + 5/9) = 8/9.
    assert shrink([0.25, 0.75], [10, 10]) == pytest.approx((0.5 - 2 / 9, 0.5 + 2 / 9))
    assert shrink([0.0, 1.0], [1, 1]) == pytest.approx((0.5, 0.5))
    assert shrink([1.0, 1.0], [3, 4]) == pytest.approx((1.0, 1.0))


def test_the_frames_have_the_columns_that_are_declared(found: Figures) -> None:
    assert list(found.frame().columns) == list(FIGURES)
    assert list(found.curve().columns) == list(CURVE)
    assert list(found.bins().columns) == list(BINS)
    curve = found.curve()
    assert curve["false_pass"].is_monotonic_decreasing
    assert curve["tpr"].is_monotonic_decreasing


def test_the_threshold_that_is_guaranteed_needs_enough_bad_work(found: Figures) -> None:
    safe = found.one("threshold")
    assert safe.value is None
    assert "failing labels" in safe.note
    assert not found.curve()["guaranteed"].any()


def test_noise_comes_from_repeats(runs: list[Run], gate: str, study: StudyFile) -> None:
    noisy = judge("practice:noise=1.0")
    before = calibrate(runs, noisy.id, study, against=ORACLE)
    assert before.one("noise").value is None
    replaying.regrade(study, replaying.asked_of(runs, [noisy], repeats=3))
    after = calibrate(runs, noisy.id, study)
    frame = ratings(runs, study.read(), replaying.kept(study))
    scores = frame[(frame["rater"] == noisy.id) & (frame["about"] == "attempt")].groupby("item")["score"]
    n, variance = scores.count(), scores.var()
    pooled = math.sqrt(float(((n - 1) * variance).sum() / (n - 1).sum()))
    assert after.one("noise").value == pytest.approx(pooled)
    # Repeats are no further items: each attempt counts once.
    assert after.one("agreement").n == frame[frame["about"] == "attempt"]["item"].nunique()


def labelled(runs: list[Run], study: StudyFile, people: dict[str, str], shown: bool = False) -> None:
    """Each person says the same of every attempt; "truth" says what is so."""
    truth = {row["item"]: row["label"] for row in ratings(runs).to_dict("records") if row["rater"] == ORACLE}
    for item in items(runs):
        if item.about == "attempt" and item.key in truth:
            for name, says in people.items():
                said = truth[item.key] if says == "truth" else says
                at = {"run": item.run, "step": item.step, "attempt_hash": item.attempt_hash, "on": item.on}
                study.add(Label(rater=name, verdict=said, verdict_shown=shown and item.step == 1, **at))  # type: ignore[arg-type]


def test_people_are_the_reference_by_majority_and_a_tie_is_left_out(
    runs: list[Run], gate: str, study: StudyFile, found: Figures
) -> None:
    labelled(runs, study, {"ann": "truth", "bob": "truth", "cid": "pass"}, shown=True)
    people = calibrate(runs, gate, study)
    assert people.against == "people"
    assert people.one("false_pass").value == found.one("false_pass").value
    seen, unseen = people.one("agreement", "verdict shown before"), people.one("agreement", "verdict not shown")
    assert seen.n + unseen.n == people.one("agreement").n
    assert min(seen.n, unseen.n) > 0
    alone = calibrate(runs, gate, study, against="cid")
    assert alone.one("false_pass").value is None
    assert "No attempt with a label is bad." in alone.remarks
    labelled(runs, study, {"dan": "pass"})
    tied = paired(ratings(runs, study.read()), gate, "people")
    whole = tied[tied["about"] == "attempt"]
    # Two say what is so, two say pass: of bad work that is a tie.
    assert set(whole["truth"].dropna()) == {"pass"}
    assert whole["truth"].isna().sum() == found.one("tnr").n


def test_with_few_people_the_ceiling_is_not_measurable_and_with_three_it_is(
    runs: list[Run], gate: str, study: StudyFile
) -> None:
    labelled(runs, study, {"ann": "truth"})
    one = calibrate(runs, gate, study)
    assert one.one("human_ceiling", "people").note == "not measurable with 1 person"
    labelled(runs, study, {"bob": "truth"})
    two = calibrate(runs, gate, study)
    assert two.one("human_ceiling", "people").value == pytest.approx(1.0)
    assert two.one("judge_with_people", "people").value == pytest.approx(two.one("agreement").value)
    assert two.one("alternative_annotator", "people").note == "not measurable with 2 people"


def test_the_test_part_is_left_out_until_it_is_looked_at_and_each_look_is_put_down(
    runs: list[Run], gate: str, study: StudyFile
) -> None:
    with pytest.raises(BadInput, match="no split"):
        calibrate(runs, gate, study, part="test")
    made = split(study, runs)
    usual = calibrate(runs, gate, study)
    assert "Tasks of the test part are left out." in usual.remarks
    assert usual.one("agreement").tasks == 3
    assert calibrate(runs, gate, study, part="development").one("agreement").tasks == len(made.development)
    assert study.read().looks == ()
    first = calibrate(runs, gate, study, part="test")
    assert (first.level, first.one("agreement").level, first.one("agreement").tasks) == (0.975, 0.975, 1)
    assert calibrate(runs, gate, study, part="test") == first
    assert len(study.read().looks) == 1
    other = judge("practice:leniency=-3")
    replaying.regrade(study, replaying.asked_of(runs, [other]))
    assert calibrate(runs, other.id, study, part="test").level == 0.9875
    assert [look.number for look in study.read().looks] == [1, 2]


@pytest.mark.parametrize(
    ("settings", "remark"),
    [("skill=1.0", "No attempt with a label is bad."), ("skill=0.0", "No attempt with a label is good.")],
)
def test_all_good_and_all_bad_give_told_gaps(settings: str, remark: str, tmp_path: Path) -> None:
    practice_runs(tmp_path, ("stats",), settings)
    runs = [open_run(tmp_path / "stats")]
    found = calibrate(runs, rater_of(runs[0].settings).id, open_study(tmp_path))
    assert remark in found.remarks
    assert any("of one task" in one for one in found.remarks)
    told = found.one("false_pass" if settings == "skill=1.0" else "tpr")
    assert told.value is None
    assert "labelled item" in told.note
    assert found.one("threshold").value is None
    if settings == "skill=1.0":
        assert found.sentence.startswith("How often this evaluator passes bad work is not measurable")
        assert "harder tasks" in found.advice


def test_nothing_and_nothing_but_unmeasured_give_told_gaps(runs: list[Run], gate: str, study: StudyFile) -> None:
    nobody = calibrate(runs, "r-nobody", study)
    assert nobody.remarks == ("The rater judged nothing of these runs.",)
    assert all(row.value is None and row.note for row in nobody.rows)
    assert calibrate([], gate, study).one("false_pass").value is None
    labelled(runs, study, {"ann": "unclear"})
    unclear = calibrate(runs, gate, study)
    assert unclear.against == "people"
    assert unclear.one("false_pass").value is None
    turned = calibrate(runs, "ann", study, against=ORACLE)
    assert turned.one("agreement").value is None
    assert turned.one("unmeasured").value == 1.0


def test_a_reference_that_is_not_there_is_refused(runs: list[Run], gate: str, study: StudyFile) -> None:
    with pytest.raises(BadInput, match="'eve'"):
        calibrate(runs, gate, study, against="eve")
    with pytest.raises(BadInput, match="false-pass rate"):
        calibrate(runs, gate, study, max_false_pass=0)


@pytest.mark.parametrize("leniency", ["9", "-9"])
def test_a_judge_that_scores_too_high_or_low_is_told_by_how_much(
    leniency: str, runs: list[Run], study: StudyFile
) -> None:
    one = judge(f"practice:leniency={leniency},noise=0")
    replaying.regrade(study, replaying.asked_of(runs, [one]))
    error = calibrate(runs, one.id, study).one("signed_error", "judge").value
    assert error is not None
    assert (error > 0) == (leniency == "9")


def test_too_lenient_or_too_strict_is_what_the_interval_tells(found: Figures) -> None:
    def leaning(low: float, high: float) -> Figures:
        made = Figure(figure="leniency", value=(low + high) / 2, low=low, high=high)
        return replace(found, rows=(made, *(row for row in found.rows if (row.figure, row.by) != ("leniency", "gate"))))

    assert leaning(0.01, 0.2).lean == "too lenient"
    assert found.weakest in leaning(0.01, 0.2).advice
    assert leaning(-0.2, -0.01).lean == "too strict"
    assert "fails good work" in leaning(-0.2, -0.01).advice
    assert leaning(-0.1, 0.1).lean == "cannot tell"
    assert "Label more" in leaning(-0.1, 0.1).advice


def test_it_is_found_from_studies() -> None:
    assert studies.calibrate is calibrate
    assert studies.card is card


def test_the_pass_rate_of_unlabelled_attempts_is_corrected_for_the_errors_on_the_labelled() -> None:
    # On 40 tasks, one in eight bad attempts passes and one in eight good ones fails: TPR = TNR = 7/8. Of the rest 5 in 8 pass.
    rows = []
    for n in range(640):
        good, wrong = n % 2 == 0, (n // 2) % 8 == 0
        rows.append({"task": f"t{(n // 16) % 40}", "truth": "pass" if good else "fail", "weight": 1.0})
        rows[-1]["label"] = "pass" if good != wrong else "fail"
        rows.append(
            {"task": f"t{(n // 16) % 40}", "truth": None, "weight": 1.0, "label": "pass" if n % 8 < 5 else "fail"}
        )
    found = passing_of(pd.DataFrame(rows), 0.95)
    assert found.value == pytest.approx((5 / 8 + 7 / 8 - 1) / (7 / 8 + 7 / 8 - 1))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_where_the_errors_are_hardly_known_there_is_no_corrected_pass_rate_and_the_note_says_why(
    runs: list[Run], gate: str, study: StudyFile
) -> None:
    labelled(runs[:3], study, {"ann": "truth"})
    found = calibrate(runs, gate, study).one("pass_rate")
    assert found.value is None
    assert "TPR" in found.note


def many(good_at: float, tasks: int = 40, attempts: int = 6) -> pd.DataFrame:
    """Attempts with distinct scores, good from a score up, as they would stand in a paired frame."""
    scores = [round(10 * n / (tasks * attempts), 4) for n in range(tasks * attempts)]
    return pd.DataFrame(
        {
            "task": [f"task {n % tasks}" for n in range(len(scores))],
            "score": scores,
            "truth": ["pass" if score >= good_at else "fail" for score in scores],
            "label": "pass",
            "weight": 1.0,
        }
    )


def test_with_enough_bad_work_a_threshold_is_guaranteed_and_marked() -> None:
    whole = many(8.0)
    rows, points = thresholds_of(whole, 0.95, 0.1, 5.0)
    safe = next(row for row in rows if row.figure == "threshold")
    assert safe.value is not None
    # It lets less than a tenth of the bad pass on these items too, since it must hold with 95 % confidence.
    bad = whole[whole["truth"] == "fail"]["score"]
    assert 0 < (bad >= safe.value).mean() < 0.1
    assert [at for at, *_, guaranteed, _ in points if guaranteed] == [safe.value]
    cheapest = next(row for row in rows if row.figure == "cheapest_threshold")
    assert cheapest.value == 8.0


def test_three_people_tell_whether_the_judge_may_stand_in_for_one() -> None:
    rows = []
    for n in range(60):
        truth = "pass" if n % 3 else "fail"
        for rater in ("judge", "ann", "bob", "cid"):
            who = "judge" if rater == "judge" else "person"
            rows.append(
                {"item": f"i{n}", "task": f"t{n % 12}", "rater": rater, "who": who, "label": truth, "repeat": 1}
            )
    frame = pd.DataFrame(rows)
    mine = frame[frame["rater"] == "judge"].assign(truth=frame["label"])
    told = {row.figure: row for row in people_of(frame, mine, "judge", 0.95)}
    assert told["human_ceiling"].value == told["judge_with_people"].value == 1.0
    assert told["alternative_annotator"].value == 1.0
    assert "it may stand in for a person" in told["alternative_annotator"].note
