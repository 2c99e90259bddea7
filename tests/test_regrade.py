"""Replay: kept attempts graded again by other raters, over files that a real run made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from practice_runs import practice_runs

from pge_nb import HarnessConfig, PGEHarness, bank, open_run
from pge_nb.agents.frozen import freeze
from pge_nb.agents.raters import edited, judge, rater_of, system_of
from pge_nb.errors import BadInput, ModelFailed
from pge_nb.models import Listen, Reply, Request, Stop
from pge_nb.models.limits import Limits
from pge_nb.models.practice import Practice
from pge_nb.run import Run
from pge_nb.studies import replaying as replay
from pge_nb.studies.items import items, task_of
from pge_nb.studies.ratings import RATINGS, ratings
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.study_records import ALONE, Example
from pge_nb.workspace import Objects

TASKS = ("textkit", "stats")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return practice_runs(tmp_path_factory.mktemp("replay"), TASKS)


@pytest.fixture
def runs(home: Path) -> list[Run]:
    return [open_run(home / name) for name in TASKS]


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return open_study(tmp_path)


def test_a_replay_asks_the_very_message_of_the_gate(runs: list[Run]) -> None:
    run = runs[0]
    assert run.root is not None
    frozen = freeze(run, 1, 1, Objects(run.root))
    sent = PGEHarness(HarnessConfig(shared_state_path=run.root / "shared_state.md")).request("evaluator", 1, 1)
    assert frozen.request(rater_of(run.settings), 0).sent() == sent.sent()


def test_reviews_keep_what_they_decided_and_the_run_is_not_touched(runs: list[Run], study: StudyFile) -> None:
    before = [(run.root or Path(), (run.root or Path(), run.head)) for run in runs]
    harsh = judge("practice:leniency=-5.0", name="harsh")
    made = replay.regrade(study, replay.asked_of(runs, [harsh]))
    assert not made.failed
    gates = {(one.frozen.run, one.frozen.step, one.frozen.attempt): one.gate for one in made.asked}
    for one in made.graded:
        gate = gates[one.run, one.step, one.attempt]
        decided = [(f.on, f.verdict, f.by) for f in gate.findings if f.by != "judge"]
        assert decided == [(f.on, f.verdict, f.by) for f in one.report.findings if f.by != "judge"]
        assert one.report.rater == harsh.id != gate.rater
    assert {one.report.verdict for one in made.graded} == {"fail"}
    assert [(root, (root, open_run(root).head)) for root, _ in before] == before


def test_a_judge_alone_decides_every_check_and_sees_nothing_that_reviews_found(
    runs: list[Run], study: StudyFile
) -> None:
    with_reviews = judge("practice:miss=0.0,false_alarm=0.0")
    alone = edited(with_reviews, mode=ALONE, name="alone")
    asked = replay.asked_of(runs, [with_reviews, alone])
    for one in asked:
        methods = {evidence.method for evidence in one.frozen.docket.evidence}
        assert (methods == {"artifact"}) is (one.rater.id == alone.id)
        assert ("hidden inputs" in one.frozen.brief) is (one.rater.id == with_reviews.id)
    made = replay.regrade(study, asked)
    table = ratings(runs, study.read(), made.graded).set_index("item")
    told = table[(table.rater == alone.id) & (table.about == "check")]
    assert set(told.by) == {"judge"}
    assert set(table[(table.rater == with_reviews.id) & (table.about == "check")].by) > {"judge"}
    truth = table[table.rater == "oracle"].label
    assert (told.label == truth[told.index]).all()
    assert set(truth[told.index]) == {"pass", "fail"}


def test_what_is_there_is_not_asked_again_and_repeats_are_real_repeats(runs: list[Run], study: StudyFile) -> None:
    asked = replay.asked_of(runs, [judge("practice:noise=2.0")], repeats=3)
    counting = Counting()
    first = replay.regrade(study, asked, model=counting)
    assert counting.calls == len(asked) == replay.ahead(study, asked).there
    again = replay.regrade(study, asked, model=counting)
    assert counting.calls == len(asked)
    pd.testing.assert_frame_equal(first.frame(), again.frame())
    by_repeat = first.frame().pivot(index=["run", "step", "attempt"], columns="repeat", values="overall")
    assert (by_repeat.nunique(axis=1) > 1).all()


def test_a_call_that_fails_is_a_row_with_its_error_and_is_made_the_next_time(runs: list[Run], study: StudyFile) -> None:
    asked = replay.asked_of(runs[:1], [judge("practice")])
    made = replay.regrade(study, asked, model=Counting(fails_at=2), parallel=1)
    frame = made.frame()
    assert frame.error.notna().sum() == 1
    assert frame.error.dropna().iloc[0] == "The service is away."
    assert frame.verdict.isna().sum() == 1
    whole = replay.regrade(study, asked, model=Counting())
    assert whole.frame().error.isna().all()


def test_a_limit_ends_it_and_what_was_made_is_kept(runs: list[Run], study: StudyFile) -> None:
    asked = replay.asked_of(runs, [judge("practice")])
    made = replay.regrade(study, asked, limits=Limits(max_calls=3), parallel=2)
    assert "3 calls" in made.stopped
    assert len(made.graded) == 3
    on = replay.regrade(study, asked, limits=Limits(max_calls=len(asked)))
    assert not on.stopped
    assert len(on.graded) == len(asked)


def test_retries_that_another_rater_would_have_saved_or_added(runs: list[Run], study: StudyFile) -> None:
    soft, harsh = judge("practice:leniency=6.0"), judge("practice:leniency=-9.0")
    effects = replay.regrade(study, replay.asked_of(runs, [soft, harsh])).effects().set_index("rater")
    gate = [
        run.evaluations(step.number)[max(run.evaluations(step.number))].verdict for run in runs for step in run.steps
    ]
    assert effects.loc[harsh.id, "retries_added"] == gate.count("pass")
    assert effects.loc[harsh.id, "retries_saved"] == 0
    assert effects.loc[soft.id, "pass_to_fail"] == 0
    assert (effects.flipped == effects.pass_to_fail + effects.fail_to_pass).all()


def test_another_prompt_model_or_example_is_another_rater_and_luck_is_not() -> None:
    one = judge("practice:seed=1,skill=0.2")
    assert judge("practice:seed=2").id == one.id
    example = Example(item="a", says="it adds", shown="def add(): pass", verdict="fail", why="It does not.")
    others = [
        judge("practice:leniency=1.0"),
        judge("practice", mode="fresh, tools"),
        judge("practice", effort="high"),
        edited(one, prompt="Judge."),
        edited(one, examples=[example]),
    ]
    assert len({one.id, *(other.id for other in others)}) == 1 + len(others)
    assert edited(one, prompt="Judge.").edited_from == one.id
    assert edited(one).edited_from == ""
    told = system_of(edited(one, examples=[example]))
    assert told.startswith(one.prompt)
    assert "It does not." in told
    assert "def add" in told


def test_ratings_hold_every_verdict_with_the_truth_beside_it(runs: list[Run], study: StudyFile) -> None:
    rater = judge("practice:leniency=2.0")
    replay.regrade(study, replay.asked_of(runs, [rater], repeats=2))
    frame = ratings(runs, study.read(), replay.kept(study))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(RATINGS)
    assert set(frame.task) == set(TASKS) == {task_of(run) for run in runs}
    known = {item.key for item in items(runs)}
    truth = frame[frame.rater == "oracle"]
    assert set(truth.item) == known
    mine = frame[frame.rater == rater.id]
    assert (mine.groupby("item").repeat.max() % 2 == 0).all()  # an attempt that changed nothing is graded as well
    assert not frame.duplicated(["item", "rater", "repeat"]).any()
    assert frame[frame.about == "check"].score.isna().all()
    by_reviews = mine[(mine.about == "check") & (mine.by == "oracle")].merge(truth, on="item")
    assert len(by_reviews)
    assert (by_reviews.label_x == by_reviews.label_y).all(), "a check that hidden inputs decide is what is so"


def test_of_a_models_own_attempt_the_hidden_inputs_tell_what_is_so(tmp_path: Path) -> None:
    """The bank knows its own attempts by heart; another one's faults show where its inputs were run."""
    config = HarnessConfig(
        model="practice:skill=1.0", shared_state_path=tmp_path / "shared_state.md", max_retries_per_step=0, max_steps=2
    )
    PGEHarness(config, model=OwnWay()).run(bank.practice_task("stats").prompt)
    run = open_run(tmp_path)
    frame = ratings([run])
    truth = frame[(frame.rater == "oracle") & (frame.step == 1)].set_index("on").label
    assert dict(truth) == {"c1": "pass", "c2": "fail", "*": "fail"}
    assert dict(frame[(frame.rater != "oracle") & (frame.step == 1)].set_index("on").label)["c3"] == "pass"


def test_an_empty_frame_has_the_same_columns(study: StudyFile) -> None:
    assert {name: str(kind) for name, kind in ratings([], study.read()).dtypes.items()} == dict(RATINGS)


def test_bad_input_says_what_is_wrong(runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="repeats is 0"):
        replay.asked_of(runs, [judge("practice")], repeats=0)
    with pytest.raises(BadInput, match="No rater"):
        replay.asked_of(runs, [])
    with pytest.raises(BadInput, match="not opened from a file"):
        replay.asked_of([Run(runs[0].sections)], [judge("practice")])
    study = open_study(tmp_path)
    study.keep(judge("practice", name="strict"))
    with pytest.raises(BadInput, match="no rater 'stict'") as caught:
        study.read().rater("stict")
    assert "strict" in caught.value.next_move


def test_a_judge_that_says_nothing_usable_is_unmeasured(runs: list[Run], tmp_path: Path) -> None:
    study = open_study(tmp_path)
    made = replay.regrade(study, replay.asked_of(runs[:1], [judge("practice")]), model=Counting(says="I am sorry."))
    judged = [one.report for one in made.graded]
    assert judged
    assert all(report.verdict in ("unmeasured", "fail") for report in judged)
    assert all(report.overall is None for report in judged)
    assert all(report.unusable is not None and len(report.calls) == 2 for report in judged)


class Counting:
    """The practice model, its calls counted; it may be away once, or say something else."""

    def __init__(self, *, fails_at: int = 0, says: str = "") -> None:
        self.calls, self.fails_at, self.says = 0, fails_at, says

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        self.calls += 1
        if self.calls == self.fails_at:
            raise ModelFailed("The service is away.", "Ask again.")
        reply = Practice(request.model).reply(request)
        return Reply(content=({"type": "text", "text": self.says},), stop_reason="end_turn") if self.says else reply


class OwnWay:
    """The practice model, whose generator writes what is none of the bank's attempts: its median is wrong."""

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        reply = Practice(request.model).reply(request)
        if request.about.role != "generator" or request.about.phase != "generate":
            return reply
        return replace(
            reply, content=({"type": "text", "text": reply.text.replace("float(ordered[half])", "1 + ordered[half]")},)
        )
