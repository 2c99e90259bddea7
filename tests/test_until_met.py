"""Retries until all is met, within the limits; every brief goes first for one check that is not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import MODEL, PROMPT, Request, first_message, role_of, scripted

from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig, check_end
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.skills import Skill
from pge_nb.state import open_run

TEXTKIT = practice_task("textkit").prompt
TRIES = 6


def wrong_at_first(request: Request) -> Any:
    """Step 1 is done wrong so many times, and without a docstring half of them."""
    text = first_message(request)
    tried = re.search(r"This is attempt (\d+)", text)
    attempt = int(tried[1]) if tried else 1
    if "Step 2" in text or attempt > TRIES:
        return None
    return "Approach: plain.\n\n```python calc.py\ndef add(a, b):\n    return a - b\n```\n"


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    given = {"model": MODEL, "until_met": True, "max_retries_per_step": 0, **settings}
    return HarnessConfig(shared_state_path=tmp_path / "shared_state.md", **given)


def test_it_retries_until_all_is_met_and_each_brief_is_led_by_one_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MessagesStub(scripted(generate=wrong_at_first)) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        result = PGEHarness(config(tmp_path, max_tokens_total=4_000_000)).run(PROMPT)
        briefs = [first_message(one) for one in stub.requests if role_of(one) == "generate"]
    assert result.outcome == "passed"
    assert len(result.step_logs[0].tried) == TRIES + 1
    assert len(briefs) == TRIES + 2
    for brief in briefs[:-1]:
        assert brief.startswith("First of all make this hold: c1: add(2, 3) returns 5\nKeep what holds already.\n\n")
    assert briefs[-1].startswith("First of all make this hold: c1: twice(4) returns 8\n")
    reasons = [section.payload.reason for section in result.run.of("decision", 1)]  # type: ignore[union-attr]
    assert all("until all is met, the next attempt goes first for c1" in reason for reason in reasons[:-1])


def test_without_it_a_brief_is_led_by_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MessagesStub(scripted(generate=wrong_at_first)) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        PGEHarness(config(tmp_path, until_met=False, on_exhausted=("advance",))).run(PROMPT)
        assert not any("First of all" in first_message(request) for request in stub.requests)


def test_a_limit_ends_it_with_a_receipt(tmp_path: Path) -> None:
    result = PGEHarness(config(tmp_path, model="practice:skill=0,false_alarm=1,seed=1", max_calls=26, noise=0.0)).run(
        TEXTKIT
    )
    assert result.outcome == "stopped"
    assert len(result.step_logs[0].tried) > 5
    assert result.run.last is not None
    assert "This run may make 26 calls" in str(result.run.last.payload)


def test_no_progress_ends_it_too(tmp_path: Path) -> None:
    result = PGEHarness(
        config(tmp_path, model="practice:skill=0,false_alarm=1,noise=0,seed=1", max_calls=260, max_flat=4)
    ).run(TEXTKIT)
    assert result.outcome == "paused"
    assert "4 attempts in a row did not rise" in str(result.run.decision(1))


@pytest.mark.parametrize(
    ("model", "settings", "fact"),
    [
        (MODEL, {}, "no limit that was set would end it."),
        ("practice:seed=1", {"max_dollars": 2.0}, "no limit that was set would end it (a retry may use no dollars"),
    ],
)
def test_it_is_refused_without_a_limit_that_ends_it(
    tmp_path: Path, model: str, settings: dict[str, Any], fact: str
) -> None:
    with pytest.raises(BadInput) as caught:
        PGEHarness(config(tmp_path, model=model, **settings)).start(TEXTKIT)
    assert fact in caught.value.fact
    assert "Set one of max_calls, max_tokens_total, max_seconds" in caught.value.next_move
    assert not (tmp_path / "shared_state.md").exists()


def _done(told: str, tree: object) -> str:
    return "nothing"


PRICED = "claude-mythos-5-1"
ROLES = {"planner": "practice", "generator": "practice", "evaluator": "practice"}


@pytest.mark.parametrize(
    ("settings", "free"),
    [
        ({"models": {**ROLES, "planner": PRICED}, "max_dollars": 2.0}, "dollars"),
        ({"models": {**ROLES, "evaluator": PRICED}, "evaluator": "off", "max_dollars": 2.0}, "dollars"),
        ({"models": {**ROLES, "evaluator": PRICED}, "evaluator": "self", "max_dollars": 2.0}, "dollars"),
        (
            {
                "models": ROLES,
                "evaluator": "off",
                "skills": {"own": Skill(description="does it", does=_done)},
                "max_tokens_total": 9_000,
            },
            "tokens",
        ),
        ({"models": ROLES, "skills": {"dear": Skill(description="x", model=PRICED)}, "max_dollars": 2.0}, "dollars"),
    ],
)
def test_a_limit_on_what_a_retry_may_not_use_ends_nothing(settings: dict[str, Any], free: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_end(HarnessConfig(until_met=True, **settings).settings())
    assert f"(a retry may use no {free})" in caught.value.fact


@pytest.mark.parametrize(
    "settings",
    [
        {"models": {**ROLES, "generator": PRICED}, "max_dollars": 2.0},
        {"models": {**ROLES, "evaluator": PRICED}, "max_dollars": 2.0},
        {"models": ROLES, "max_calls": 20},
        {"models": ROLES, "evaluator": "off", "max_seconds": 20.0},
    ],
)
def test_a_limit_on_what_every_retry_uses_ends_it(settings: dict[str, Any]) -> None:
    check_end(HarnessConfig(until_met=True, **settings).settings())


def test_a_run_that_was_begun_is_gone_on_with_until_all_is_met(shell: Shell) -> None:
    shell.cell("%config PGE.on_exhausted = ['ask']")
    shell.cell("%pge run --practice textkit --skill 0.3 --seed 3 --max-retries 0")
    assert open_run("shared_state.md").outcome == "paused"
    error = shell.cell("%pge resume --until-met").error
    assert isinstance(error, BadInput)
    assert "would end it" in error.fact
    shell.cell("%pge resume --until-met --max-tokens-total 2000000")
    for step in (1, 2):
        assert shell.cell(f"%pge answer retry --step {step}").error is None
    run = open_run("shared_state.md")
    assert run.settings["until_met"] is True
    assert run.outcome == "passed"
    assert max(run.attempts(1)) > 2


def test_the_flag_begins_one_in_a_cell(shell: Shell) -> None:
    error = shell.cell("%pge run --practice textkit --until-met").error
    assert isinstance(error, BadInput)
    assert "no limit that was set would end it" in error.fact
    shell.cell(
        "%pge run --practice textkit --skill 0.3 --seed 3 --max-retries 0 --until-met --max-tokens-total 3000000"
    )
    assert open_run("shared_state.md").outcome == "passed"


def test_what_is_configured_later_raises_it_for_a_run_that_was_begun(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --seed 2 --skill 0.3 --max-retries 0 --max-tokens-total 3000000")
    assert {"until_met", "max_replans"}.isdisjoint(open_run("shared_state.md").settings)
    shell.cell("%config PGE.until_met = True")
    shell.cell("%config PGE.max_replans = 2")
    shell.cell("%pge resume")
    settings = open_run("shared_state.md").settings
    assert (settings["until_met"], settings["max_replans"]) == (True, 2)
