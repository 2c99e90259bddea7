"""approve: the run pauses after the plan, or after each contract, until a person has said a word on it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import CHECKS, MODEL, PLAN, PROMPT, Request, fenced, first_message, role_of, scripted, step_of

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.records import Answer, Question, Receipt, Record
from pge_nb.run import Run, same
from pge_nb.state import open_run
from pge_nb.views import run_view

STATS = bank.practice_task("stats").prompt
GOOD = "practice:skill=1,miss=0,false_alarm=0,noise=0"


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(**{"model": GOOD, "shared_state_path": tmp_path / "shared_state.md", **settings})


def harness(tmp_path: Path, **settings: Any) -> PGEHarness:
    return PGEHarness(config(tmp_path, **settings))


def kinds(run: Run) -> list[str]:
    return [section.record.kind for section in run.sections]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    with MessagesStub(scripted()) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        yield served


def sent(stub: MessagesStub, role: str) -> list[Request]:
    return [one for one in stub.requests if role_of(one) == role]


# The plan


def test_after_the_plan_the_run_pauses_and_a_word_lets_it_go_on(tmp_path: Path) -> None:
    paused = harness(tmp_path, approve="plan").run(STATS)
    assert paused.outcome == "paused"
    assert kinds(paused.run) == ["task", "plan", "question", "receipt"]
    question = paused.run.approval()
    assert isinstance(question, Question)
    assert question.text == "The plan has 2 steps: %pge show plan. Is it to be carried out?"
    assert question.choices == ("approve", "retry", "stop")
    before = (tmp_path / "shared_state.md").read_bytes()
    assert harness(tmp_path, approve="plan").resume().outcome == "paused"
    assert (tmp_path / "shared_state.md").read_bytes() == before
    harness(tmp_path).answer("approve")
    done = harness(tmp_path).resume()
    assert done.outcome == "passed"
    assert kinds(done.run).count("question") == 1


def test_a_plan_that_is_sent_back_is_made_again_with_the_words_and_asked_about_again(
    stub: MessagesStub, tmp_path: Path
) -> None:
    mine = harness(tmp_path, approve="plan", model=MODEL)
    mine.run(PROMPT)
    for number, words in enumerate(["One step is enough.", "Name subtract too."], 2):
        mine.answer("retry", words)
        run = mine.resume().run
        assert run.outcome == "paused"
        assert [section.record.round for section in run.of("plan")] == list(range(1, number + 1))
    *_, second, third = sent(stub, "planner")
    assert "One step is enough." in first_message(second)
    assert '"title":"A small calculator"' in first_message(second)
    assert "One step is enough.\n- Name subtract too." in first_message(third)
    assert "sends it back" not in first_message(sent(stub, "planner")[0])
    told = mine.request("planner")
    assert str(told.messages[0]["content"]) == first_message(third)
    mine.answer("approve")
    assert mine.resume().outcome == "passed"
    assert len(sent(stub, "planner")) == 3


def test_a_plan_that_is_stopped_ends_the_run_with_nothing_asked(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="plan")
    mine.run(STATS)
    mine.answer("stop")
    ended = mine.resume()
    assert ended.outcome == "stopped"
    assert [log.state for log in ended.step_logs] == ["blocked", "blocked"]
    assert "proposal" not in kinds(ended.run)
    with pytest.raises(BadInput, match="No question is open"):
        mine.answer("approve")


def test_a_word_must_be_one_that_the_question_takes_and_sending_back_needs_words(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="plan")
    mine.run(STATS)
    before = (tmp_path / "shared_state.md").read_bytes()
    with pytest.raises(BadInput, match="'keep' is no answer to this") as caught:
        mine.answer("keep")
    assert caught.value.next_move == "Answer one of approve, retry, stop."
    with pytest.raises(BadInput, match="Nothing says what is to be otherwise"):
        mine.answer("retry", "  ")
    with pytest.raises(BadInput, match="Step 1 asks nothing"):
        mine.answer("approve", step=1)
    with pytest.raises(BadInput, match="The plan waits for your word"):
        mine.say("contract", 1, "One more check.")
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_a_question_of_another_kind_takes_no_approval(tmp_path: Path) -> None:
    mine = harness(tmp_path, model="practice:skill=0,miss=0", max_retries_per_step=0, on_exhausted=("ask",))
    mine.run(STATS)
    with pytest.raises(BadInput, match="'approve' is no answer to this"):
        mine.answer("approve")


# The contracts


def test_after_each_contract_the_run_pauses(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="contract")
    for step in (1, 2):
        run = mine.run(STATS).run if step == 1 else mine.resume().run
        assert run.outcome == "paused"
        assert run.state(step) == "asking"
        question = run.approval(step)
        assert isinstance(question, Question)
        assert question.text.startswith(f"The contract of step {step} has 4 checks: %pge show contract {step}.")
        mine.answer("approve")
    assert mine.resume().outcome == "passed"


def test_a_contract_that_is_sent_back_is_negotiated_again_with_the_words(stub: MessagesStub, tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="contract", model=MODEL)
    first = mine.run(PROMPT).run.contract(1)
    mine.answer("retry", "Check add(0, 0) as well, and drop nothing.")
    run = mine.resume().run
    assert run.outcome == "paused"
    assert len(run.of("contract", 1)) == 2
    assert run.attempts(1) == {}
    for role in ("propose", "respond"):
        before, after = (first_message(one) for one in sent(stub, role))
        assert "Check add(0, 0) as well" not in before
        assert "A person sent the contract back:\n- Check add(0, 0) as well, and drop nothing." in after
    second = run.contract(1)
    assert first is not None
    assert second is not None
    assert [check.says for check in second.checks] == [check.says for check in first.checks], (
        "no check is the word itself"
    )
    mine.answer("approve", "Mind the docstring.")
    assert mine.resume().run.contract(2) is not None
    assert "Mind the docstring." in first_message(sent(stub, "generate")[0])
    assert "Mind the docstring." not in str(sent(stub, "evaluate"))


def test_a_contract_that_is_stopped_gives_the_step_up_and_blocks_those_that_need_it(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="contract")
    mine.run(STATS)
    mine.answer("stop")
    run = mine.resume().run
    assert (run.state(1), run.state(2), run.outcome) == ("failed", "blocked", "blocked")
    decision = run.decision(1)
    assert decision is not None
    assert (decision.action, decision.reason) == ("stop", "a person answered 'stop' to its contract")
    assert run.of("decision", 1)[0].record.attempt is None


def test_what_no_model_made_is_not_made_again(tmp_path: Path) -> None:
    for name, settings in (("plan", {"planner": False}), ("contract", {"contract": False})):
        (place := tmp_path / name).mkdir()
        run = harness(place, approve=name, **settings).run(STATS).run
        question = run.approval(None if name == "plan" else 1)
        assert isinstance(question, Question)
        assert question.choices == ("approve", "stop")


def test_an_amended_contract_is_asked_about_again(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="contract")
    mine.run(STATS)
    mine.answer("approve")
    running = mine.records()
    for section in running:
        if section.record.kind == "attempt":
            break
    running.close()
    mine.say("contract", 1, "The module has no import.")
    run = mine.resume().run
    assert run.state(1) == "asking"
    mine.answer("approve")
    run = mine.resume().run
    assert run.state(1) == "accepted"
    assert run.state(2) == "asking"


def test_a_run_that_pauses_is_another_task_and_stopping_anywhere_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "halting").mkdir()
    whole = harness(tmp_path / "whole", approve="contract")
    whole.run(STATS)
    halting = harness(tmp_path / "halting", approve="contract")
    halting.start(STATS)
    for _ in range(60):
        running = harness(tmp_path / "halting").records()
        stopped = next(running, None) is not None
        running.close()
        run = open_run(tmp_path / "halting" / "shared_state.md")
        if not stopped or (run.last and run.last.record.kind == "receipt"):
            break
    assert same(open_run(tmp_path / "whole" / "shared_state.md"), run)
    assert run.task.run != harness(tmp_path).start(STATS).task.run


# In the notebook


def test_the_view_of_a_paused_run_says_what_is_asked_and_the_one_next_action(shell: Shell, tmp_path: Path) -> None:
    view = shell.cell("%pge run --practice stats --approve plan").view
    for shown in (view, shell.cell("%pge resume").view, shell.cell("%pge").view):
        assert shown.mark == "paused"
        assert (
            "Question: The plan has 2 steps: %pge show plan. Is it to be carried out? Answers: approve, retry, stop."
            in (" ".join(shown.plain().split()))
        )
        assert shown.next == "%pge answer approve"
    assert "Open: the question about the plan." in shell.cell("%pge answer approve --step 1").text
    assert "%pge answer retry, and your words behind it." in shell.cell("%pge answer retry").text
    again = shell.cell("%pge answer retry Two functions a step at most.").view
    assert again.mark == "paused"
    run = open_run(tmp_path / "shared_state.md")
    assert len(run.of("plan")) == 2
    assert [s.payload for s in run.of("answer")] == [Answer(choice="retry", text="Two functions a step at most.")]
    assert shell.cell("%pge answer approve").view.mark in {"passed", "degraded", "paused"}


def test_answers_resume_the_run_at_once_with_the_words_of_line_or_body(shell: Shell, tmp_path: Path) -> None:
    """Issue 5: `%pge answer` resumes; what a person says is a new section."""
    shell.cell("%config PGE.on_exhausted = ['ask']")
    shell.cell("%pge run --practice stats --skill 0 --max-retries 0")
    for number, cell in enumerate(["%pge answer retry Mind the median.", "%%pge answer retry\nMind the quartiles."], 2):
        assert shell.cell(cell).error is None
        run = open_run(tmp_path / "shared_state.md")
        assert max(run.attempts(1)) == number
    assert [s.payload.text for s in run.of("answer", 1)] == ["Mind the median.", "Mind the quartiles."]  # type: ignore[union-attr]
    told = shell.cell("%pge show prompt generator 1.3").view.plain()
    assert "Mind the quartiles." in told


def test_phase_cells_pause_and_go_on_with_an_answer(shell: Shell, tmp_path: Path) -> None:
    begin = "%pge plan --practice stats --approve contract --skill 1"
    assert shell.cell(begin).view.next == "%pge contract"
    view = shell.cell("%pge contract").view
    assert view.next == "%pge answer approve"
    held = shell.cell("%pge generate")
    assert isinstance(held.error, BadInput)
    assert "a question is open: The contract of step 1 has" in held.text
    assert "%pge answer approve" in held.text


def test_a_stopped_contract_is_shown_among_the_decisions(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --approve contract")
    view = shell.cell("%pge answer stop").view
    assert view.mark == "blocked"
    view = shell.cell("%pge show decisions").view
    assert "a person answered 'stop' to its contract" in view.plain()
    assert "nan" not in view.plain().lower()
    assert "<NA>" not in view.plain()


def test_a_detached_run_pauses_as_well(tmp_path: Path) -> None:
    harness(tmp_path, approve="plan").start(STATS)
    root = Path(__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-m", "pge_nb", "resume", "--state", str(tmp_path / "shared_state.md")],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    run = open_run(tmp_path / "shared_state.md")
    assert (run.outcome, kinds(run)[-2:]) == ("paused", ["question", "receipt"]), ran.stdout + ran.stderr


def test_a_step_that_needs_no_other_goes_on_while_one_waits_for_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = {**PLAN, "steps": [PLAN["steps"][0], {**PLAN["steps"][1], "depends_on": []}]}  # type: ignore[index]
    script = scripted(planner=lambda _: fenced(plan), propose=lambda request: fenced(_proposal(step_of(request))))
    with MessagesStub(script) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        run = harness(tmp_path, approve="contract", model=MODEL).run(PROMPT).run
    assert [run.state(1), run.state(2)] == ["asking", "asking"]
    mine = harness(tmp_path)
    with pytest.raises(BadInput, match="Questions are open for steps 1, 2"):
        mine.answer("approve")
    assert isinstance(mine.answer("stop", step=2).approval(1), Question)


def _proposal(step: int) -> dict[str, Any]:
    return {"deliverables": [f"part{step}.py"], "checks": CHECKS[step][1:]}


def test_a_word_costs_no_call(tmp_path: Path) -> None:
    (plain := tmp_path / "plain").mkdir()
    (asked := tmp_path / "asked").mkdir()
    calls = len(harness(plain).run(STATS).run.calls)
    mine = harness(asked, approve="plan")
    mine.run(STATS)
    mine.answer("approve")
    assert len(mine.resume().run.calls) == calls


def test_a_plan_in_which_a_step_was_cut_is_asked_about_and_one_that_stayed_is_not(tmp_path: Path) -> None:
    poor = "practice:skill=0,miss=0,false_alarm=0,noise=0"
    mine = harness(tmp_path, approve="plan", model=poor, max_retries_per_step=0, on_exhausted=("replan", "ask"))
    mine.run(STATS)
    mine.answer("approve")
    run = mine.resume().run
    assert run.plan is not None
    assert run.plan.replan is not None
    assert run.plan.replan.by
    question = run.approval()
    assert isinstance(question, Question)
    assert question.choices == ("approve", "stop")
    (other := tmp_path / "other").mkdir()
    mine = harness(other, approve="plan", model=poor, max_retries_per_step=0, on_exhausted=("replan", "ask"))
    mine.run(bank.practice_task("notice").prompt)
    mine.answer("approve")
    run = mine.resume().run
    assert run.plan is not None
    assert run.plan.replan is not None
    assert run.plan.replan.by == ()
    assert run.approval() is None
    assert run.state(1) == "asking"


def test_words_that_nobody_would_be_told_are_refused(tmp_path: Path) -> None:
    mine = harness(tmp_path, approve="plan")
    mine.run(STATS)
    before = mine.state.path.read_bytes()
    with pytest.raises(BadInput, match="nobody would be told these words"):
        mine.answer("approve", "Leave out the second step.")
    assert mine.state.path.read_bytes() == before


def test_that_practice_reads_no_hints_is_told_where_one_was_given(shell: Shell) -> None:
    told = "It plays its task whatever it is told"
    notes = shell.cell("%pge run --practice stats --approve plan").view.notes
    assert not any(told in note for note in notes)
    notes = shell.cell("%pge answer retry Leave out the second step.").view.notes
    assert any(told in note for note in notes)


def test_a_notebook_with_answers_is_run_again_from_its_top(shell: Shell, tmp_path: Path) -> None:
    """After a restart, and in the same kernel: each answer is met again, in order, and nobody is asked anything."""
    cells = (
        "%pge run --practice stats --approve contract",
        "%pge answer approve",
        "%pge answer retry Say where the result is rounded.",
        "%pge answer approve",
    )
    views = [shell.cell(cell).view for cell in cells]
    assert views[0].mark == "paused"
    written = (tmp_path / "shared_state.md").read_bytes()
    for again in (shell, Shell()):
        for cell in cells:
            ran = again.cell(cell)
            assert ran.error is None, ran.text
        assert (tmp_path / "shared_state.md").read_bytes() == written
        assert any("This was answered before, in section" in note for note in ran.view.notes)


def answers(place: Path) -> int:
    return sum(isinstance(section.payload, Answer) for section in open_run(place).sections)


def test_an_answer_of_before_can_be_given_again_to_a_new_question(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%config PGE.on_exhausted = ['ask']")
    shell.cell("%pge run --practice stats --seed 2 --skill 0 --max-retries 0")
    shell.cell("%pge answer retry")
    assert shell.cell("%pge answer retry").error is None  # this kernel has met the first: it is a new one
    assert answers(tmp_path) == 2
    other = Shell()
    for more in (0, 0, 1):  # a new kernel meets the two of before first, and says so
        notes = other.cell("%pge answer retry").view.notes
        assert answers(tmp_path) == 2 + more
        assert any("The same line answers the question that is open now." in note for note in notes) is (more == 0)


def test_all_questions_of_a_kind_are_answered_in_one_line(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%config PGE.on_exhausted = ['ask']")
    shell.cell("%pge run --practice generated:steps=4,dag=free,seed=3 --seed 2 --skill 0 --max-retries 0 --parallel 4")
    run = open_run(tmp_path)
    asking = [step.number for step in run.steps if run.state(step.number) == "asking"]
    assert len(asking) > 1
    told = shell.cell("%pge answer advance")
    assert isinstance(told.error, BadInput)
    assert f"--step {asking[0]}, or answer all of them with --all." in told.error.next_move
    assert "No open question has the answer 'approve'" in shell.cell("%pge answer approve --all").text
    assert "Both --step and --all" in shell.cell(f"%pge answer advance --all --step {asking[0]}").text
    assert answers(tmp_path) == 0
    shell.cell("%pge answer advance --all")
    assert answers(tmp_path) == len(asking)
    assert all(open_run(tmp_path).state(step) == "advanced" for step in asking)


def test_where_a_limit_stops_a_run_that_asks_the_answer_comes_first(tmp_path: Path) -> None:
    mine = harness(tmp_path, model="practice:skill=0,miss=0", max_retries_per_step=0, on_exhausted=("ask",))
    mine.run(STATS)
    receipt = Receipt(
        outcome="stopped: This run may be at work for 1 seconds, and was for 1.2.", calls=1, tokens=1, dollars=0.0
    )
    mine.state.append(Record(payload=receipt, by="harness"))
    view = run_view(mine.state.read())
    text = view.plain()
    assert "\nAfter the answer: stopped: This run may be at work for 1 seconds" in text
    assert text.index("Question: ") < text.index("After the answer")
    assert view.next == "%pge answer retry"
    mine.answer("retry", "shorter")
    assert "After the answer" not in run_view(mine.state.read()).plain()
