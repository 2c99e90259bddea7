"""A plan that does not fit into one reply is no plan: one step in its stead could pass, and say nothing of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import MODEL, PROMPT, role_of, scripted

from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.state import open_run
from pge_nb.views import run_view


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
