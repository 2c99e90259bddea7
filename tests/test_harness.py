"""The harness as its callers use it: start, run, resume, limits, questions, roles by themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from scripted import CHECKS, MODEL, PROMPT, Request, fenced, findings, first_message, role_of, scripted

from pge_nb import bank
from pge_nb.agents.evaluator import Evaluator
from pge_nb.agents.generator import Generator
from pge_nb.agents.judging import shared_out
from pge_nb.agents.planner import Planner
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, LimitReached, ModelFailed, StateBusy
from pge_nb.frames import cost
from pge_nb.harness import PGEHarness
from pge_nb.models import Reply
from pge_nb.models import Request as ModelRequest
from pge_nb.records import EvaluationReport, Interruption, Receipt
from pge_nb.run import same
from pge_nb.state import open_run

TEXTKIT = bank.practice_task("textkit").prompt


@pytest.fixture
def at_stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A context: the environment points at a stub that plays the scripted run, some replies replaced."""

    class At:
        def __init__(self, **replaced: Any) -> None:
            self.stub = MessagesStub(scripted(**replaced))

        def __enter__(self) -> MessagesStub:
            stub = self.stub.__enter__()
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            return stub

        def __exit__(self, *error: object) -> None:
            self.stub.__exit__(*error)  # type: ignore[arg-type]

    return At


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(**{"model": MODEL, "shared_state_path": tmp_path / "shared_state.md", **settings})


def practice(tmp_path: Path, **settings: Any) -> PGEHarness:
    return PGEHarness(config(tmp_path, **{"model": "practice:seed=1", **settings}))


# A run and its result


def test_a_practice_run_ends_in_checked_files_and_a_result_that_tells_all(tmp_path: Path) -> None:
    result = practice(tmp_path).run(TEXTKIT)
    assert result.outcome == "passed"
    assert result.output_path == tmp_path / "work" / "textkit.py"
    assert [log.state for log in result.step_logs] == ["accepted"] * 3
    assert any(log.retries > 0 for log in result.step_logs)
    assert all(log.contract is not None and log.contract.checks for log in result.step_logs)
    assert all(log.tried[-1].verdict == "pass" for log in result.step_logs)
    assert result.total_cost == 0
    assert result.total_duration > 0
    assert result.summary.startswith("passed; step 1 accepted after")


def test_running_again_calls_nobody_and_appends_nothing(tmp_path: Path) -> None:
    practice(tmp_path).run(TEXTKIT)
    before = (tmp_path / "shared_state.md").read_bytes()
    calls = (tmp_path / ".pge" / "calls.jsonl").read_bytes()
    assert practice(tmp_path).run(TEXTKIT).outcome == "passed"
    assert (tmp_path / "shared_state.md").read_bytes() == before
    assert (tmp_path / ".pge" / "calls.jsonl").read_bytes() == calls


def test_an_edited_prompt_over_an_existing_run_is_refused_with_the_next_move(tmp_path: Path) -> None:
    practice(tmp_path).run(TEXTKIT)
    before = (tmp_path / "shared_state.md").read_bytes()
    with pytest.raises(BadInput, match=r"already holds another task") as caught:
        practice(tmp_path).run(bank.practice_task("money").prompt)
    assert "%pge new" in caught.value.next_move
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_other_settings_over_an_existing_run_are_refused_by_name(tmp_path: Path) -> None:
    practice(tmp_path).start(TEXTKIT)
    with pytest.raises(BadInput, match=r"other settings \(noise\)"):
        practice(tmp_path, noise=2.0).start(TEXTKIT)


def test_limits_are_no_part_of_the_identity(tmp_path: Path) -> None:
    first = practice(tmp_path, max_retries_per_step=1).start(TEXTKIT).task.run
    assert practice(tmp_path, max_retries_per_step=4, max_calls=500).start(TEXTKIT).task.run == first


def test_a_prompt_outside_the_bank_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ModelFailed, match="none of them") as caught:
        practice(tmp_path).run("Write me a compiler for a slug language.")
    assert "%pge key" in caught.value.next_move
    assert not (tmp_path / "shared_state.md").exists()


def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="empty"):
        practice(tmp_path).run("  \n ")


def test_a_state_file_inside_the_working_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="would hold the state file"):
        practice(tmp_path, working_directory=".").start(TEXTKIT)


def test_two_runs_of_one_task_do_not_run_at_once(tmp_path: Path) -> None:
    records = practice(tmp_path)
    records.start(TEXTKIT)
    running = records.records()
    next(running)
    with pytest.raises(StateBusy):
        practice(tmp_path).resume()
    running.close()
    assert practice(tmp_path).resume().outcome == "passed"


def test_stopping_after_any_record_and_going_on_is_the_same_as_not_stopping(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "halting").mkdir()
    whole = practice(tmp_path / "whole").run(TEXTKIT).run
    practice(tmp_path / "halting").start(TEXTKIT)
    for _ in range(200):
        running = practice(tmp_path / "halting").records()
        if next(running, None) is None:
            break
        running.close()
    halting = open_run(tmp_path / "halting" / "shared_state.md")
    assert halting.outcome == "passed"
    assert same(whole, halting)


# Money


def test_the_cost_of_a_run_equals_the_tally_of_the_server(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        result = PGEHarness(config(tmp_path)).run(PROMPT)
    receipt = result.run.sections[-1].payload
    assert isinstance(receipt, Receipt)
    assert receipt.calls == stub.tally.requests == len(result.run.calls)
    assert receipt.tokens == stub.tally.tokens == sum(call.usage.total for call in result.run.calls)
    assert receipt.dollars is None, "the model has no price"
    assert result.total_cost is None
    assert [(cost.kind, cost.step, cost.calls) for cost in result.costs[:3]] == [
        ("plan", None, 1),
        ("proposal", 1, 1),
        ("response", 1, 1),
    ]
    assert sum(cost.calls for cost in result.costs) == stub.tally.requests
    table = cost(result.run)
    assert table["calls"].sum() == stub.tally.requests
    assert table[["tokens_in", "tokens_out"]].to_numpy().sum() == stub.tally.tokens


def test_a_limit_on_calls_stops_the_run_whole_and_more_lets_it_go_on(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        harness = PGEHarness(config(tmp_path, max_calls=4))
        stopped = harness.run(PROMPT)
        assert stopped.outcome == "stopped"
        assert stub.tally.requests == 4
        assert "stopped: This run may make 4 calls" in stopped.summary
        harness.amend(max_calls=50)
        assert harness.resume().outcome == "passed"
        assert stub.tally.requests == 9, "nothing was asked twice"


def test_a_limit_on_tokens_is_reserved_before_the_call(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        result = PGEHarness(config(tmp_path, max_tokens_total=6_000, max_tokens=1_000)).run(PROMPT)
        assert result.outcome == "stopped"
        assert 0 < stub.tally.tokens <= 6_000


def test_a_limit_in_dollars_is_refused_where_a_model_has_no_price(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no price is known for stub-model"):
        PGEHarness(config(tmp_path, max_dollars=1.0)).start(PROMPT)
    assert not (tmp_path / "shared_state.md").exists()


def test_only_limits_can_be_amended(tmp_path: Path) -> None:
    harness = practice(tmp_path)
    harness.start(TEXTKIT)
    with pytest.raises(BadInput, match="'noise' is no limit"):
        harness.amend(noise=9.0)
    with pytest.raises(BadInput, match="max_retries_per_step is -1"):
        harness.amend(max_retries_per_step=-1)


# Interruptions


def test_ctrl_c_in_a_call_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    class Interrupted:
        def reply(self, request: ModelRequest, **_: Any) -> Reply:
            raise KeyboardInterrupt

    harness = practice(tmp_path)
    harness.start(TEXTKIT)
    with pytest.raises(KeyboardInterrupt):
        PGEHarness(harness.config, model=Interrupted()).resume()
    run = open_run(tmp_path / "shared_state.md")
    assert isinstance(run.sections[-1].payload, Interruption)
    assert run.sections[-1].payload.phase == "plan"
    assert run.outcome == "stopped"
    assert practice(tmp_path).resume().outcome == "passed"


def test_a_server_that_refuses_is_told_recorded_and_nothing_is_lost(tmp_path: Path, at_stub: Any) -> None:
    def no_more(request: Request) -> Any:
        return StubReply(status=401, error="authentication_error", message="bad key")

    with at_stub(generate=no_more), pytest.raises(ModelFailed):
        PGEHarness(config(tmp_path)).run(PROMPT)
    run = open_run(tmp_path / "shared_state.md")
    assert isinstance(run.sections[-1].payload, Interruption)
    assert run.contract(1) is not None
    with at_stub() as stub:
        assert PGEHarness(config(tmp_path)).run(PROMPT).outcome == "passed"
        assert "planner" not in [role_of(request) for request in stub.requests]


# Questions


def always_failing(request: Request) -> str:
    return fenced({"findings": findings(request, score=3)})


def test_exhausted_retries_ask_and_every_answer_is_carried_out(tmp_path: Path, at_stub: Any) -> None:
    with at_stub(evaluate=always_failing):
        for choice, outcome in (("advance", "paused"), ("keep", "paused"), ("stop", "blocked")):
            place = tmp_path / choice
            place.mkdir()
            harness = PGEHarness(config(place, max_retries_per_step=1))
            result = harness.run(PROMPT)
            assert result.outcome == "paused"
            assert len(result.step_logs[0].tried) == 2
            harness.answer(choice)  # type: ignore[arg-type]
            assert harness.resume().outcome == outcome


def test_a_retry_gives_one_more_attempt_and_the_hint_is_in_its_brief(tmp_path: Path, at_stub: Any) -> None:
    with at_stub(evaluate=always_failing) as stub:
        harness = PGEHarness(config(tmp_path, max_retries_per_step=0))
        harness.run(PROMPT)
        harness.answer("retry", "mind the sign")
        result = harness.resume()
    assert len(result.step_logs[0].tried) == 2
    assert "mind the sign" in first_message([r for r in stub.requests if role_of(r) == "generate"][-1])


def test_an_answer_to_nothing_says_so(tmp_path: Path) -> None:
    harness = practice(tmp_path)
    harness.run(TEXTKIT)
    with pytest.raises(BadInput, match="No question is open"):
        harness.answer("keep")


def test_the_best_attempt_is_kept_not_the_last_and_graded_once_more(tmp_path: Path, at_stub: Any) -> None:
    scores = iter([5.5, 6.9, 5.2, 6.1])

    def judge(request: Request) -> Any:
        score = next(scores) if "step" in first_message(request) or "twice" not in first_message(request) else 9
        return fenced(
            {"findings": [f | {"score": score} if f["on"] == "correctness" else f for f in findings(request)]}
        )

    with at_stub(evaluate=judge):
        result = PGEHarness(config(tmp_path, max_retries_per_step=2)).run(PROMPT)
    assert result.outcome == "degraded"
    decision = result.step_logs[0].decision
    assert decision is not None
    assert (decision.action, decision.attempt) == ("keep", 2)
    assert "weakest score 6.9 reaches the floor 5" in decision.reason
    assert [section.record.attempt for section in result.run.of("evaluation", 1, purpose="kept")] == [2]
    assert result.step_logs[0].score == pytest.approx((3 * 6.1 + 8.5) / 4)
    assert result.step_logs[0].gate_score == pytest.approx((3 * 6.9 + 8.5) / 4)


# What agents see


def test_the_judge_sees_contract_criteria_and_artifacts_and_never_the_plan_or_the_work_log(
    tmp_path: Path, at_stub: Any
) -> None:
    with at_stub() as stub:
        PGEHarness(config(tmp_path)).run(PROMPT)
    judged = [json.dumps(request) for request in stub.requests if role_of(request) == "evaluate"]
    assert len(judged) == 2
    for text in judged:
        assert "add has a docstring" in text or "twice has a docstring" in text
        assert "def add(a, b)" in text
        assert "A small calculator" not in text, "the plan's prose"
        assert "plain functions" not in text, "the work log"
        assert "threshold" not in text


def test_the_nonce_is_fresh_in_what_is_sent_and_a_placeholder_in_what_is_logged(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        PGEHarness(config(tmp_path)).run(PROMPT)
    sent = [first_message(request) for request in stub.requests if role_of(request) == "evaluate"]
    marks = {text.split('mark="')[1].split('"')[0] for text in sent}
    assert len(marks) == 2
    assert "PGE-NONCE" not in "".join(sent)
    logged = (tmp_path / ".pge" / "calls.jsonl").read_text()
    assert "PGE-NONCE" in logged
    assert not any(mark in logged for mark in marks)


def test_what_an_agent_was_sent_can_be_shown_to_the_byte(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        harness = PGEHarness(config(tmp_path))
        harness.run(PROMPT)
    keys = {call.id for call in harness.state.read().calls}
    for role, step in (("planner", None), ("generator", 1), ("evaluator", 2)):
        request = harness.request(role, step)  # type: ignore[arg-type]
        assert request.key in keys
    assert harness.request("generator", 2, 1).messages[0]["content"] in [first_message(r) for r in stub.requests]


# Files of a person's own


def test_a_file_of_the_persons_own_is_not_lost_when_a_deliverable_takes_its_place(tmp_path: Path) -> None:
    harness = practice(tmp_path)
    harness.start(TEXTKIT)
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work" / "textkit.py").write_text("# mine\n")
    result = harness.resume()
    notes = [section.payload.text for section in result.run.of("note", 1)]  # type: ignore[union-attr]
    assert "textkit.py held something else" in notes[0]
    name = notes[0].split("object ")[1].split()[0]
    assert (tmp_path / ".pge" / "objects" / name[:2] / name).read_text() == "# mine\n"


def test_a_deleted_working_directory_is_made_again_and_an_edited_file_is_left_alone(tmp_path: Path) -> None:
    practice(tmp_path).run(TEXTKIT)
    work = tmp_path / "work"
    before = {path.name: path.read_bytes() for path in work.iterdir()}
    (work / "textkit.py").unlink()
    (work / "wrapping.py").write_text("# edited by hand\n")
    practice(tmp_path).run(TEXTKIT)
    assert (work / "textkit.py").read_bytes() == before["textkit.py"]
    assert (work / "wrapping.py").read_text() == "# edited by hand\n"


# The roles by themselves


def test_each_role_carries_out_one_phase_and_appends_it(tmp_path: Path, at_stub: Any) -> None:
    path = tmp_path / "shared_state.md"
    with at_stub():
        settings = config(tmp_path)
        Planner(config=settings).run(PROMPT, path)
        assert len(open_run(path).steps) == 2
        contract = PGEHarness(settings)._negotiate_contract(1)
        assert contract.agreed
        assert Generator().run(path, step=1) == path
        report = Evaluator().run(path, step=1)
    assert isinstance(report, EvaluationReport)
    assert report.verdict == "pass"
    with pytest.raises(BadInput, match="No attempt waits"):
        Evaluator().run(path)


def test_a_plan_that_is_too_long_is_sent_back_once_then_cut_and_told(tmp_path: Path, at_stub: Any) -> None:
    with at_stub() as stub:
        plan = PGEHarness(config(tmp_path, max_steps=1)).run(PROMPT).plan
    assert plan is not None
    assert len(plan.steps) == 1
    assert any("sent back: the plan has 2 steps, and at most 1" in note for note in plan.notes)
    assert any("cut to 1 step; left out: 2. twice" in note for note in plan.notes)
    assert [role_of(request) for request in stub.requests].count("planner") == 2


def test_a_reached_limit_is_no_exception_but_the_amended_number_must_be_one(tmp_path: Path, at_stub: Any) -> None:
    with at_stub():
        harness = PGEHarness(config(tmp_path, max_calls=0))
        try:
            result = harness.run(PROMPT)
        except LimitReached:  # pragma: no cover
            pytest.fail("a limit ends a run, it does not raise")
    assert result.run.plan is None
    assert result.outcome == "stopped"


def test_a_step_that_goes_on_in_an_earlier_file_may_not_break_it(tmp_path: Path, at_stub: Any) -> None:
    def forgetful(request: Request) -> Any:
        text = first_message(request)
        if "Step 2" in text and "This is attempt" not in text:
            return "Approach: only what is new.\n\n```python calc.py\ndef twice(x):\n    return 2 * x\n```\n"
        return None

    with at_stub(generate=forgetful):
        result = PGEHarness(config(tmp_path)).run(PROMPT)
    contract, report = result.run.contract(2), result.run.evaluation(2, 1)
    assert contract is not None
    assert report is not None
    assert [check.says for check in contract.checks][-2:] == ["add(2, 3) returns 5", "add has a docstring"]
    assert "2 of the checks come from earlier steps" in contract.origin
    assert [finding.verdict for finding in report.findings if finding.on == "c3"] == ["fail"]
    assert result.outcome == "passed", "the second attempt keeps add"
    assert "def add" in result.output_path.read_text()


def test_a_copied_placeholder_is_no_file(tmp_path: Path, at_stub: Any) -> None:
    def copying(request: Request) -> Any:
        return None if len(request["messages"]) == 3 else "```python calc.py\n<all of calc.py>\n```\n"

    with at_stub(generate=copying):
        result = PGEHarness(config(tmp_path)).run(PROMPT)
    assert result.outcome == "passed"
    assert "holds the placeholder" in result.run.attempts(1)[1].notes[0]


# What a later step, a missing file or a refusal must not get past


def test_a_deliverable_that_is_missing_fails_the_attempt(tmp_path: Path, at_stub: Any) -> None:
    def promising(request: Request) -> Any:
        step = 1 if "Step 1" in first_message(request) else 2
        return fenced({"deliverables": ["calc.py", "README.md"], "checks": CHECKS[step]})

    with at_stub(propose=promising):
        result = PGEHarness(config(tmp_path, max_retries_per_step=0)).run(PROMPT)
    report = result.run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "fail"
    assert [f.why for f in report.findings if f.by == "harness"] == ["README.md was not delivered"]
    assert result.outcome != "passed"


def test_a_check_with_the_same_sentence_does_not_take_an_earlier_one_away(tmp_path: Path, at_stub: Any) -> None:
    def cunning(request: Request) -> Any:
        if "Step 2" not in first_message(request):
            return None
        args = {"call": "calc.twice", "args": [1], "returns": 2}
        return fenced({"deliverables": ["calc.py"], "checks": [{**CHECKS[1][0], "args": args}]})

    def breaking(request: Request) -> Any:
        if "Step 2" not in first_message(request):
            return None
        return "```python calc.py\ndef add(a, b):\n    return 99\n\n\ndef twice(x):\n    return 2 * x\n```\n"

    with at_stub(propose=cunning, generate=breaking):
        result = PGEHarness(config(tmp_path, max_retries_per_step=0)).run(PROMPT)
    assert result.run.state(2) != "accepted"
    assert "return a + b" in (tmp_path / "work" / "calc.py").read_text() or result.outcome != "passed"


def test_a_package_that_stands_in_the_way_of_an_earlier_module_is_checked_by_its_checks(
    tmp_path: Path, at_stub: Any
) -> None:
    def package(request: Request) -> Any:
        if "Step 2" not in first_message(request):
            return None
        return fenced({"deliverables": ["calc/__init__.py"], "checks": [CHECKS[2][0]]})

    def shadowing(request: Request) -> Any:
        if "Step 2" not in first_message(request):
            return None
        return "```python calc/__init__.py\ndef twice(x):\n    return 2 * x\n```\n"

    with at_stub(propose=package, generate=shadowing):
        result = PGEHarness(config(tmp_path, max_retries_per_step=0)).run(PROMPT)
    assert result.run.state(1) == "accepted"
    assert result.run.state(2) != "accepted"


def test_a_judged_check_of_a_shared_file_is_judged_again(tmp_path: Path, at_stub: Any) -> None:
    with at_stub():
        contract = PGEHarness(config(tmp_path)).run(PROMPT).run.contract(2)
    assert contract is not None
    assert "add has a docstring" in [check.says for check in contract.checks]


def test_a_file_where_an_earlier_step_has_a_folder_is_refused_and_told(tmp_path: Path, at_stub: Any) -> None:
    def inside(request: Request) -> Any:
        if "Step 2" not in first_message(request):
            return None
        return fenced({"deliverables": ["calc.py/twice.py"], "checks": [CHECKS[2][1]]})

    def writing(request: Request) -> Any:
        return "```python calc.py/twice.py\nx = 1\n```\n" if "Step 2" in first_message(request) else None

    with at_stub(propose=inside, generate=writing):
        result = PGEHarness(config(tmp_path, max_retries_per_step=0)).run(PROMPT)
    assert "cannot stand beside calc.py" in result.run.attempts(2)[1].refused[0].reason
    assert result.run.state(2) != "accepted"


@pytest.mark.parametrize("role", ["evaluate", "respond"])
def test_a_refusal_that_carries_json_is_still_a_refusal(role: str, tmp_path: Path, at_stub: Any) -> None:
    def refusing(request: Request) -> Any:
        text = fenced({"findings": findings(request)}) if role == "evaluate" else '{"agreed": true}'
        return StubReply(text, stop_reason="refusal")

    with at_stub(**{role: refusing}):
        run = PGEHarness(config(tmp_path)).run(PROMPT).run
    report, contract = run.evaluation(1, 1), run.contract(1)
    assert contract is not None
    assert (report is not None and report.verdict == "unmeasured") if role == "evaluate" else not contract.agreed


def test_a_quote_that_is_no_text_is_a_fault(tmp_path: Path, at_stub: Any) -> None:
    def listed(request: Request) -> str:
        return fenced({"findings": [f | {"quote": ["def subtract"]} for f in findings(request)]})

    with at_stub(evaluate=listed):
        report = PGEHarness(config(tmp_path)).run(PROMPT).run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "unmeasured"


def test_a_long_file_does_not_push_another_out_of_the_judges_sight() -> None:
    shown = shared_out({"e1": "a" * 500_000, "e2": "def add(): ...", "e3": "b" * 500_000})
    assert shown["e2"] == "def add(): ..."
    assert all(len(text) > 50_000 for name, text in shown.items() if name != "e2")
    assert sum(map(len, shown.values())) < 130_000
    assert list(shown) == ["e1", "e2", "e3"]
