"""How a judge does from attempt to attempt: by attempt, by retries, by choosing the best, with a margin, and as it drifts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from notebook_shell import Shell

from pge_nb import HarnessConfig, PGEHarness, bank, open_run, studies
from pge_nb.agents.frozen import freeze
from pge_nb.agents.raters import judge
from pge_nb.errors import BadInput
from pge_nb.models import About, Request
from pge_nb.models.practice import Draws, PracticeSettings
from pge_nb.run import Run
from pge_nb.studies.by_attempt import ALL, SURVIVORS, Attempts, attempts, rho
from pge_nb.studies.drifting import drift, logged, timed_of
from pge_nb.studies.replaying import asked_of
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.verdict import raised
from pge_nb.workspace import Objects

JUDGE = "practice:skill=0.5,miss=0.3,false_alarm=0.2,noise=0.6"


def made(root: Path, tasks: int, model: str = JUDGE, **settings: object) -> list[Run]:
    runs = []
    for seed in range(tasks):
        state = root / f"t{seed}" / "shared_state.md"
        state.parent.mkdir()
        config = HarnessConfig(
            model=f"{model},seed={seed}",
            registry="off",
            on_exhausted=("advance",),
            regrade_kept=False,
            shared_state_path=state,
            **settings,  # type: ignore[arg-type]
        )
        PGEHarness(config).run(bank.practice_task(f"generated:steps=1,seed={seed + 1}").prompt)
        runs.append(open_run(state))
    return runs


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("attempts")
    made(root, 24, keep_going=4)
    return root


@pytest.fixture
def runs(home: Path) -> list[Run]:
    return [open_run(home / f"t{seed}") for seed in range(24)]


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return open_study(tmp_path)


def simulated(steps: int, *, going: bool) -> Attempts:
    """A judge that does not change at all, over sound attempts: TPR .9, verdicts of one step as alike as rho .3 makes them."""
    settings = PracticeSettings.parse("practice:false_alarm=0.1,rho=0.3")
    rows: list[tuple[object, ...]] = []
    for step in range(steps):
        about = About(role="evaluator", phase="evaluate", task=f"t{step}", step=1)
        request = Request(model="practice", system="", messages=(), about=about)
        draws = Draws(f"t{step}", request, settings)
        rate = draws.alike(settings.alarm_rate(), "alarm")
        for attempt in range(1, 4):
            passes = draws.of(f"{attempt}").random() >= rate
            among = ALL if going else SURVIVORS
            rows.append((f"r{step}", f"t{step}", 1, attempt, among, "pass" if passes else "fail", 8.0, "pass", 0.0))
            if passes and not going:
                break
    return Attempts(rows=tuple(rows), level=0.95)


def test_with_nothing_changing_the_apparent_tpr_of_survivors_falls_and_that_of_all_attempts_does_not() -> None:
    def tpr(found: Attempts) -> list[float]:
        frame = found.by_attempt()
        return [round(value, 2) for value in frame[frame["figure"] == "tpr"]["value"]]

    assert tpr(simulated(6_000, going=False)) == pytest.approx([0.90, 0.63, 0.49], abs=0.04)
    assert tpr(simulated(6_000, going=True)) == pytest.approx([0.90, 0.90, 0.90], abs=0.02)
    assert set(simulated(50, going=False).by_attempt()["among"]) == {"survivors only"}


def test_by_attempt_counts_every_attempt_by_what_is_so(runs: list[Run]) -> None:
    found = attempts(runs, judge(JUDGE).id)
    assert set(found.seen["among"]) == {ALL}
    assert len(found.seen) == sum(len(run.attempts(1)) for run in runs) == 24 * 4
    by = found.by_attempt().set_index(["figure", "attempt"])
    for attempt in range(1, 5):
        some = found.seen[found.seen["attempt"] == attempt]
        bad = some[some["truth"] == "fail"]
        if len(bad):
            assert by.loc[("tnr", attempt), "value"] == pytest.approx(float((bad["verdict"] != "pass").mean()))
            assert by.loc[("tnr", attempt), "n"] == len(bad)
    assert found.seen["too_high"].notna().all()


def test_what_retries_let_through_is_counted_and_predicted_side_by_side(runs: list[Run]) -> None:
    found = attempts(runs, judge(JUDGE).id).retried()
    accepted = found[found["figure"] == "accepted"]
    assert list(accepted["retries"]) == [0, 1, 2, 3]
    assert accepted["measured"].is_monotonic_increasing
    firsts = [
        min((n for n, report in run.evaluations(1).items() if report.verdict == "pass"), default=9) for run in runs
    ]
    assert list(accepted["measured"]) == pytest.approx([sum(n <= most for n in firsts) / 24 for most in (1, 2, 3, 4)])
    assert ((found["predicted"] >= found["low"]) & (found["predicted"] <= found["high"])).all()


def test_how_alike_verdicts_of_one_step_are() -> None:
    alike = [[("fail", True)] * 3, [("fail", False)] * 3]
    assert rho(alike, "fail") == 1.0
    assert rho([[("fail", True), ("fail", False)]] * 4, "fail") == 0.0
    assert rho([], "fail") == rho(alike, "pass") == 0.0


def test_the_best_of_more_attempts_has_a_score_that_is_further_too_high(runs: list[Run]) -> None:
    found = attempts(runs, judge(JUDGE).id).best_of()
    assert list(found["n"]) == [1, 2, 3, 4]
    assert list(found["steps"]) == [24] * 4
    assert found["too_high"].iloc[3] > found["too_high"].iloc[0]


# A pass that noise does not make


def test_a_pass_may_have_to_lie_above_its_threshold(tmp_path: Path) -> None:
    (plain,) = made(tmp_path, 1, "practice:skill=1,noise=0.0", max_retries_per_step=0)
    (tmp_path / "strict").mkdir()
    (strict,) = made(tmp_path / "strict", 1, "practice:skill=1,noise=0.0", max_retries_per_step=0, pass_margin=2.5)
    assert plain.evaluations(1)[1].verdict == "pass"
    report = strict.evaluations(1)[1]
    assert report.verdict == "fail"
    assert any("9 is below 9.5" in finding.why for finding in report.findings)
    assert [one.threshold for one in strict.plan.criteria] == [one.threshold for one in plain.plan.criteria]
    frozen = freeze(strict, 1, 1, Objects(strict.root or tmp_path))
    assert {one.threshold for one in frozen.docket.criteria} == {one.threshold + 2.5 for one in strict.plan.criteria}
    assert raised(strict.plan.criteria, 5.0)[0].threshold == 10.0
    with pytest.raises(BadInput, match="pass_margin is 11"):
        HarnessConfig(pass_margin=11)


# Drift


def test_first_attempts_are_graded_at_once_and_then_after_each_retry_and_only_the_log_grows(runs: list[Run]) -> None:
    timed = timed_of(runs[:1], judge(JUDGE), repeats=3)
    fresh, log = ([one for one in timed if one.asked.rater.logged == with_log] for with_log in (False, True))
    assert [one.after for one in fresh] == [one.after for one in log] == [1, 1, 1, 2, 3, 4]
    assert len({one.asked.sample for one in fresh}) == len({one.asked.name for one in fresh}) == 6
    assert len({one.asked.frozen.brief for one in fresh}) == 1
    assert {one.asked.frozen.attempt_hash for one in timed} == {runs[0].attempts(1)[1].hash}
    gate = runs[0].evaluations(1)
    for one in log:
        told = one.asked.frozen.brief
        for attempt in range(1, 5):
            assert (f"Attempt {attempt}. Its author wrote:" in told) is (attempt <= one.after and one.after > 1)
        assert (f"You found: {gate[1].verdict}." in told) is (one.after > 1)


def test_a_judge_that_drifts_is_found_out_with_the_log_and_its_control_is_flat(
    runs: list[Run], study: StudyFile
) -> None:
    rater = judge("practice:drift=0.5,noise=0.4,miss=0.2,leniency=-3.0")  # far from 10, where scores end
    done = drift(study, runs, rater)
    slopes = done.slopes().set_index(["mode", "of"])
    log, control = slopes.loc[("with-log", "score")], slopes.loc[("fresh", "score")]
    assert log["low"] <= 0.5 <= log["high"]
    assert log["low"] > 0
    assert control["low"] <= 0 <= control["high"]
    assert (log["steps"], log["tasks"], log["gradings"]) == (24, 24, 24 * 6)
    assert slopes.loc[("with-log", "passes"), "slope"] > slopes.loc[("fresh", "passes"), "slope"]
    kept = [one for one in study.read().studies if one.study == "drift"]
    assert len(kept) == 1
    assert kept[0].asked["figures"]["with-log"]["score"]["slope"] == pytest.approx(log["slope"], abs=1e-6)
    drift(study, runs, rater)
    assert len([one for one in study.read().studies if one.study == "drift"]) == 1


def test_what_cannot_tell_of_drift_is_refused(tmp_path: Path, runs: list[Run]) -> None:
    with pytest.raises(BadInput, match="repeats is 2"):
        timed_of(runs, judge("practice"), repeats=2)
    with pytest.raises(BadInput, match="has the log already"):
        timed_of(runs, logged(judge("practice", name="j")))
    with pytest.raises(BadInput, match="own turns"):
        timed_of(runs, judge("practice", mode="self"))
    single = made(tmp_path, 1, "practice:skill=1", max_retries_per_step=0)
    with pytest.raises(BadInput, match="No step has a second attempt"):
        timed_of(single, judge("practice"))


def test_a_judge_with_the_log_is_for_studies(runs: list[Run]) -> None:
    with pytest.raises(BadInput, match="cannot judge a run"):
        HarnessConfig(rater=logged(judge("practice")))
    asked = asked_of(runs[:1], [logged(judge("practice"))])
    assert ["Attempt 1. Its author wrote" in one.frozen.brief for one in asked] == [False, True, True, True]
    alone = logged(judge("practice", mode="alone"))
    assert (alone.mode, alone.alone, alone.logged) == ("alone, with-log", True, True)


# In a notebook


def test_in_a_notebook_by_attempt_with_retries_margin_escalation_and_drift(shell: Shell, home: Path) -> None:
    import shutil

    shutil.copytree(home, Path(), dirs_exist_ok=True)
    shell.cell("%pge rater soft --model practice:drift=0.8,miss=0.2,noise=0.5,leniency=0.5")
    shell.cell("%pge regrade 't*' --rater soft --repeats 2")
    drifted = shell.cell("%pge drift 't*' --rater soft").view
    assert "with the log scores rise (+" in drifted.title
    assert "passes" in drifted.title
    assert isinstance(drifted.df, pd.DataFrame)
    view = shell.cell("%pge calibrate 't*' --rater soft").view
    text = view.plain()
    for words in (
        "1, all attempts",
        "Steps where that one is bad, by retries",
        "What choosing the best by score does to it",
        "(pass_margin)",
        "Risk against coverage",
    ):
        assert words in text
    card = shell.cell("%pge card 't*' --rater soft").view.plain()
    assert "drift of its scores, with-log" in card
    contents = json.loads(Path("exports/card/card.json").read_text())
    assert [one["retries"] for one in contents["retries"]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert contents["drift"]["drift of its scores, with-log"]["low"] > 0
    assert len(contents["margin"]) == 4
    assert set(contents["alike"]) == {"good", "bad"}
    for one in contents["alike"].values():
        assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1
    # Predictions stand with their intervals, as what was counted does.
    bad = next(one for one in contents["retries"] if one["figure"] == "bad_accepted" and one["retries"] == 3)
    cell = f"{100 * bad['predicted']:.0f} % [{100 * bad['predicted_low']:.0f} %, {100 * bad['predicted_high']:.0f} %]"
    assert cell in text
    assert cell in card


def test_a_run_that_ended_with_a_pass_says_that_it_shows_survivors_only(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --seed 2;")
    assert "survivors only" in shell.cell("%pge calibrate").view.plain()
    assert studies.attempts is attempts
