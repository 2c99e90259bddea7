from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from state_samples import CALL, CHECKS, ONE_OF_EACH, note, written

from pge_nb import bank
from pge_nb import records as r
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.run import Run, compared, same
from pge_nb.state import StateFile, open_run

TASK = r.Record(payload=r.Task(prompt="p", run="0" * 16, settings={"max_steps": 3, "retries": 2}), by="person")


def plan(*needs: tuple[int, ...], first: int = 1) -> r.Record:
    """Steps ``first``, ``first`` + 1, ...; each with the steps it depends on."""
    steps = tuple(
        r.Step(number=first + index, description=f"s{index}", depends_on=need) for index, need in enumerate(needs)
    )
    return r.Record(payload=r.Plan(title="t", scope="s", steps=steps), by="planner")


def decided(step: int, action: r.Action, attempt: int | None = None) -> r.Record:
    return r.Record(payload=r.Decision(action=action, reason="", attempt=attempt), by="harness", step=step)


def attempted(step: int, attempt: int = 1, why: str = "") -> r.Record:
    payload = r.Attempt(approach="first", why=why, base=None, files=(), hash="", log=r.text_body(""))
    return r.Record(payload=payload, by="generator", step=step, attempt=attempt)


def rated(step: int, attempt: int, verdict: r.Verdict, purpose: r.Purpose = "gate") -> r.Record:
    report = r.EvaluationReport(rater="x", attempt_hash="", verdict=verdict, overall=None, findings=())
    return r.Record(payload=report, by="evaluator", step=step, attempt=attempt, purpose=purpose)


ASKED = r.Record(payload=r.Question(text="?", choices=("keep", "stop")), by="harness", step=1)
ANSWERED = r.Record(payload=r.Answer(choice="keep"), by="person", step=1)
PROPOSED = r.Record(payload=r.Proposal(deliverables=(), checks=CHECKS), by="generator", step=1)
CONTRACTED = r.Record(
    payload=r.StepContract(deliverables=(), checks=CHECKS, agreed=True, origin=""), by="harness", step=1
)
INTERRUPTED = r.Record(payload=r.Interruption(reason="Ctrl-C"), by="harness")
SPENT = r.Record(payload=r.Receipt(outcome="stopped", calls=0, tokens=0, dollars=None), by="harness")


def run_of(*records: r.Record) -> Run:
    return Run(
        r.Section(record=record, seq=seq, prev="", sha256=f"{seq:064}", at="", offset=0)
        for seq, record in enumerate(records)
    )


def test_an_empty_file_has_no_head_no_task_and_no_steps() -> None:
    run = run_of()
    assert (run.head, run.outcome, run.plan, run.steps) == ("0" * 64, "empty", None, ())
    with pytest.raises(BadInput, match="holds no task yet"):
        _ = run.task


def test_the_last_plan_is_in_force() -> None:
    run = run_of(TASK, plan(()), plan((), (2,), first=2))
    assert [step.number for step in run.steps] == [2, 3]
    with pytest.raises(BadInput, match="There is no step 1; the plan's steps are 2, 3"):
        run.step(1)


def test_amendments_change_settings_the_last_one_winning() -> None:
    amendments = [r.Record(payload=r.Amendment(limits={"retries": n, f"x{n}": n}), by="person") for n in (4, 5)]
    assert run_of(TASK, *amendments).settings == {"max_steps": 3, "retries": 5, "x4": 4, "x5": 5}


def test_sections_are_found_by_kind_step_attempt_and_purpose() -> None:
    run = run_of(TASK, plan(()), rated(1, 1, "fail"), rated(1, 2, "pass"), rated(1, 2, "fail", "drift"), note())
    assert [section.seq for section in run.of("evaluation", 1)] == [2, 3, 4]
    assert [section.seq for section in run.of("evaluation", 1, 2)] == [3, 4]
    assert [section.seq for section in run.of("evaluation", 1, purpose="gate")] == [2, 3]
    assert [section.seq for section in run.of("note")] == [5]
    assert run.of("evaluation") == []


def test_only_evaluations_at_the_gate_count_and_the_last_of_an_attempt() -> None:
    run = run_of(rated(1, 1, "unmeasured"), rated(1, 1, "pass"), rated(1, 1, "fail", "drift"), rated(1, 2, "fail"))
    assert {attempt: report.verdict for attempt, report in run.evaluations(1).items()} == {1: "pass", 2: "fail"}
    one = run.evaluation(1, 1)
    assert one is not None
    assert one.verdict == "pass"
    assert run.evaluation(1, 3) is None


def test_calls_are_those_of_every_phase_in_file_order() -> None:
    calls = [dataclasses.replace(CALL, id=str(number)) for number in range(3)]
    first, later = plan(()).payload, attempted(1).payload
    assert isinstance(first, r.Plan)
    assert isinstance(later, r.Attempt)
    run = run_of(
        r.Record(payload=dataclasses.replace(first, calls=(calls[0],)), by="planner"),
        r.Record(payload=dataclasses.replace(later, calls=(calls[1], calls[2])), by="generator", step=1, attempt=1),
    )
    assert run.calls == calls


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([], "waiting"),
        ([PROPOSED], "negotiating"),
        ([CONTRACTED], "negotiating"),
        ([CONTRACTED, attempted(1)], "working"),
        ([attempted(1), decided(1, "refine")], "working"),
        ([attempted(1), decided(1, "pivot")], "working"),
        ([attempted(1), decided(1, "ask"), ASKED], "asking"),
        ([attempted(1), decided(1, "ask"), ASKED, ANSWERED], "working"),
        ([attempted(1), decided(1, "ask"), ASKED, ANSWERED, ASKED], "asking"),
        ([attempted(1), decided(1, "accept", 1)], "accepted"),
        ([attempted(1), decided(1, "keep", 1)], "kept"),
        ([attempted(1), decided(1, "advance", 1)], "advanced"),
        ([attempted(1), decided(1, "stop")], "failed"),
        ([attempted(1), decided(1, "stop"), decided(1, "refine")], "working"),
    ],
)
def test_the_state_of_a_step_follows_from_what_was_appended(records: list[r.Record], state: str) -> None:
    assert run_of(TASK, plan(()), *records).state(1) == state


def test_a_failed_step_blocks_all_that_rest_on_it() -> None:
    run = run_of(TASK, plan((), (1,), (2,), ()), decided(1, "stop"))
    assert [run.state(number) for number in (1, 2, 3, 4)] == ["failed", "blocked", "blocked", "waiting"]


def test_the_state_of_a_large_plan_takes_no_time() -> None:
    run = run_of(TASK, plan(*(tuple(range(1, number)) for number in range(1, 61))))
    assert {run.state(number) for number in range(1, 61)} == {"waiting"}
    assert run.outcome == "running"


def test_a_plan_that_goes_in_circles_or_names_no_step_still_has_states() -> None:
    run = run_of(TASK, plan((2,), (1,), (99,)))
    assert [run.state(number) for number in (1, 2, 3)] == ["waiting"] * 3


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        (("accept", "accept"), "passed"),
        (("accept", "keep"), "degraded"),
        (("advance", "accept"), "degraded"),
        (("accept", "stop"), "stopped"),
        (("stop",), "blocked"),
        (("accept",), "running"),
        (("accept", "ask"), "paused"),
        ((), "running"),
    ],
)
def test_the_outcome_follows_from_the_states(actions: tuple[r.Action, ...], outcome: str) -> None:
    decisions = [decided(number, action) for number, action in enumerate(actions, 1)]
    assert run_of(TASK, plan((), (1,)), *decisions).outcome == outcome


@pytest.mark.parametrize("last", [INTERRUPTED, SPENT])
def test_a_run_that_was_interrupted_is_stopped_until_it_goes_on(last: r.Record) -> None:
    assert run_of(TASK, plan(()), last).outcome == "stopped"
    assert run_of(TASK, plan(()), last, PROPOSED).outcome == "running"
    assert run_of(TASK, plan(()), decided(1, "accept", 1), last).outcome == "passed"


@pytest.mark.parametrize("action", ["accept", "keep", "advance"])
def test_the_attempt_that_stands_is_the_one_decided_for(action: r.Action) -> None:
    run = run_of(TASK, plan(()), attempted(1, 1), attempted(1, 2), decided(1, action, 1))
    assert run.accepted(1) == 1
    assert list(run.attempts(1)) == [1, 2]


@pytest.mark.parametrize("action", ["refine", "stop", "ask"])
def test_no_attempt_stands_before_it_is_decided_for(action: r.Action) -> None:
    assert run_of(TASK, plan(()), attempted(1), decided(1, action, 1)).accepted(1) is None


# What "same" is


def test_a_run_is_the_same_as_its_copy_with_other_times_and_interruptions() -> None:
    again = [
        dataclasses.replace(record, payload=dataclasses.replace(record.payload, seconds=9.0))
        if isinstance(record.payload, r.Plan | r.Attempt)
        else record
        for record in ONE_OF_EACH
    ]
    assert same(run_of(*ONE_OF_EACH), run_of(INTERRUPTED, *again, note("more"), SPENT))


def replayed(value: object) -> object:
    """The same, as a replay tells it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: replayed(getattr(value, field.name)) for field in dataclasses.fields(value)}
        fields |= {"source": "recording", "seconds": 0.0} if isinstance(value, r.Call) else {}
        fields |= {"replayed": True} if isinstance(value, r.Evidence) else {}
        return type(value)(**fields)
    return tuple(map(replayed, value)) if isinstance(value, tuple) else value


def test_where_a_reply_came_from_does_not_matter() -> None:
    again = [dataclasses.replace(record, payload=replayed(record.payload)) for record in ONE_OF_EACH]  # type: ignore[arg-type]
    assert again != list(ONE_OF_EACH)
    assert same(ONE_OF_EACH, again)


def test_a_setting_that_is_named_like_such_a_field_matters() -> None:
    tasks = [r.Record(payload=r.Task(prompt="", run="", settings={"seconds": n}), by="person") for n in (1, 2)]
    assert not same(tasks[:1], tasks[1:])


def differing() -> Iterable[tuple[r.Record, r.Record]]:
    one = attempted(1)
    yield one, attempted(1, why="other")
    yield one, attempted(2)
    yield one, attempted(1, 2)
    yield rated(1, 1, "pass"), rated(1, 1, "pass", "kept")
    yield dataclasses.replace(one, round=1), dataclasses.replace(one, round=2)


@pytest.mark.parametrize(("left", "right"), list(differing()))
def test_another_payload_or_another_place_is_not_the_same(left: r.Record, right: r.Record) -> None:
    assert not same([left], [right])
    assert not same([left], [])
    assert same([left], [left])


def test_records_of_one_place_are_all_compared() -> None:
    one, other = attempted(1, why="a"), attempted(1, why="b")
    assert not same([one, one, other], [one, other, other])
    assert not same([one, other], [other])


def test_the_order_of_steps_that_ran_side_by_side_does_not_matter() -> None:
    assert compared([attempted(1), attempted(2)]) == compared([attempted(2), attempted(1)])
    assert same([attempted(1), attempted(2)], [attempted(2), attempted(1)])


def test_stopping_after_any_section_gives_the_same_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    whole = open_run(written(tmp_path_factory.mktemp("whole"), *ONE_OF_EACH, at_once=True))
    for stop in range(len(ONE_OF_EACH)):
        directory = tmp_path_factory.mktemp(str(stop))
        path = written(directory, *ONE_OF_EACH[:stop], INTERRUPTED)
        StateFile(path).append(*ONE_OF_EACH[stop:])
        assert same(open_run(path), whole)


def test_a_run_that_lacks_a_file_of_its_plan_has_not_passed(tmp_path: Path) -> None:
    prompt = bank.practice_task("textkit").prompt
    whole = PGEHarness(HarnessConfig(model="practice:seed=1", shared_state_path=tmp_path / "shared_state.md")).run(
        prompt
    )
    assert whole.outcome == "passed"
    plan = whole.run.plan
    assert plan is not None
    promising = replace(plan, deliverables=(*plan.deliverables, "manual.md"))
    sections = [
        replace(section, record=replace(section.record, payload=promising))
        if section.record.kind == "plan"
        else section
        for section in whole.run.sections
    ]
    run = Run(sections)
    assert run.undelivered == ("manual.md",)
    assert run.outcome == "degraded"
