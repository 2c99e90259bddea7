"""A plan that does not fit into one reply is no plan: one step in its stead could pass, and say nothing of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import MODEL, PROMPT, Request, honest, role_of, scripted

from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.run import Run
from pge_nb.state import open_run
from pge_nb.views import run_view

Carried = Callable[..., Run]
KINDS = {"propose": "proposal", "respond": "response", "evaluate": "evaluation", "generate": "attempt"}


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Carried:
    """Carries a run out at the stub, with the replies of some roles replaced; any further word is a setting."""

    def run_of(**given: Any) -> Run:
        replaced = {role: given.pop(role) for role in ("planner", *KINDS) if callable(given.get(role))}
        state = tmp_path / "shared_state.md"
        with MessagesStub(scripted(**replaced)) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            off = {"generator_tools": "off", "evaluator_tools": "off", "registry": "off"}
            PGEHarness(HarnessConfig(model=MODEL, shared_state_path=state, **off, **given)).run(PROMPT)
        return open_run(state)

    return run_of


def test_a_plan_that_is_cut_off_twice_ends_the_run_with_what_to_do(tmp_path: Path) -> None:
    config = HarnessConfig(model="practice:seed=1", registry="off", shared_state_path=tmp_path / "shared_state.md")
    for _ in range(2):  # the second time nobody is asked: both replies were paid for
        ended = PGEHarness(config).run(practice_task("generated:steps=120").prompt)
        assert ended.outcome == "stopped"
        assert "does not fit into one reply (max_tokens is 8,192)" in ended.summary
        assert "--max-tokens 32768" in ended.summary
    run = open_run(tmp_path)
    assert run.plan is None
    assert len([one for one in run.sections if one.record.kind == "receipt"]) == 2
    assert run_view(run).next == "%pge new"


def test_with_more_room_it_is_the_whole_plan(tmp_path: Path) -> None:
    config = HarnessConfig(
        model="practice:seed=1",
        registry="off",
        max_tokens=32_768,
        max_steps=200,
        max_calls=1,
        shared_state_path=tmp_path / "shared_state.md",
    )
    PGEHarness(config).run(practice_task("generated:steps=120").prompt)
    plan = open_run(tmp_path).plan
    assert plan is not None
    assert len(plan.steps) == 120


def test_words_without_a_plan_that_run_into_the_limit_are_still_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weak model that talks on and on has not planned more than fits; its run goes on, and tells so."""
    talk = scripted()

    def script(request: dict[str, Any]) -> StubReply | str:
        if role_of(request) == "planner":
            return StubReply("I would begin with the opening hours. " * 40, stop_reason="max_tokens")
        return talk(request)

    with MessagesStub(script) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        state = tmp_path / "shared_state.md"
        PGEHarness(HarnessConfig(model=MODEL, registry="off", shared_state_path=state)).run(PROMPT)
    plan = open_run(state).plan
    assert plan is not None
    assert [one.number for one in plan.steps] == [1]
    assert any("the prompt itself is the only step" in note for note in plan.notes)


def test_in_a_cell_the_next_line_can_be_followed(shell: Shell) -> None:
    shown = shell.cell("%pge run --practice generated:steps=120").view
    assert "does not fit into one reply" in shown.plain()
    assert shown.next == "%pge new"


def test_a_draft_before_a_plan_that_is_cut_off_is_not_the_plan(carried: Carried) -> None:
    def planner(request: Request) -> StubReply:
        whole = honest(request)
        draft = whole.replace("A small calculator", "A draft")
        return StubReply(f"{draft}\nNow better:\n{whole[:-40]}", stop_reason="max_tokens")

    run = carried(planner=planner)
    assert run.outcome == "stopped"
    assert run.plan is None


def test_files_that_a_cut_reply_lacks_are_asked_for_once_and_told(carried: Carried) -> None:
    """Where neither plan nor contract names the files, a cut reply is never taken as all of them."""

    def generate(request: Request) -> StubReply:
        return StubReply(f"{honest(request)}\nAnd then", stop_reason="max_tokens")

    run = carried(generate=generate, contract=False, planner=False)
    attempt = run.attempts(1)[1]
    assert [file.path for file in attempt.files] == ["calc.py"]
    assert len(attempt.calls) == 2
    assert attempt.notes[0].startswith("sent back: it was cut off")
    assert attempt.notes[-1].startswith("the reply reached the limit on its length")


def test_a_cut_reply_that_holds_every_file_is_taken_and_told(carried: Carried) -> None:
    run = carried(generate=lambda request: StubReply(f"{honest(request)}\nAnd", stop_reason="max_tokens"))
    attempt = run.attempts(1)[1]
    assert len(attempt.calls) == 1
    assert [file.path for file in attempt.files] == ["calc.py"]
    assert attempt.notes == ("the reply reached the limit on its length: what it lacks may have been meant to follow",)


@pytest.mark.parametrize("role", [role for role in KINDS if role != "generate"])
def test_a_contract_or_a_judgement_that_is_cut_off_is_not_taken(role: str, carried: Carried) -> None:
    run = carried(**{role: lambda request: StubReply(honest(request)[:-20], stop_reason="max_tokens")})
    (made, *_) = [one for one in run.sections if one.record.kind == KINDS[role]]
    assert len(made.payload.calls) == 2
    if role == "evaluate":
        assert made.payload.verdict == "unmeasured"
        assert made.payload.unusable is not None
    else:
        assert "it reached the limit on its length" in made.payload.notes[0]
    if role == "respond":
        assert not made.payload.agreed
    if role == "propose":
        assert any("no usable proposal was given" in note for note in made.payload.notes)
