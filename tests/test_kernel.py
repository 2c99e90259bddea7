"""Over all of its runs a kernel spends at most 20 dollars, but for runs that were given a limit of their own."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb.config import HarnessConfig
from pge_nb.errors import LimitReached, ModelFailed
from pge_nb.harness import PGEHarness
from pge_nb.models import About, CallBroken, Reply, Request, kernel, text_reply
from pge_nb.models.kernel import KERNEL_DOLLARS
from pge_nb.models.limits import Bound, Limits, Prices
from pge_nb.models.recording import Recording
from pge_nb.models.replay import Replay
from pge_nb.records import Usage

PRICES = Prices.load()
MODEL = "claude-opus-5-5"
DOLLARS = 0.9
TOKENS = int(DOLLARS / 20 * 1e6)  # 20 dollars per million tokens of output
ABOUT = About(role="generator", phase="generate", step=1, attempt=1, round=1)


class Dear:
    """Each reply costs ninety cents and a little."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls, self.error = 0, error

    def reply(self, request: Request, **_: object) -> Reply:
        self.calls += 1
        if self.error:
            raise self.error
        return text_reply("done", usage=Usage(input_tokens=10, output_tokens=TOKENS))


def asked(number: int, model: str = MODEL) -> Request:
    message = {"role": "user", "content": f"question {number}"}
    return Request(model=model, system="", messages=(message,), about=ABOUT, max_tokens=TOKENS)


def recording(path: Path, model: object, limits: Limits | None = None) -> Recording:
    return Recording(path / "calls.jsonl", model, limits=limits)  # type: ignore[arg-type]


def spend(place: Path, model: Dear, runs: int, calls: int) -> None:
    """So many runs, each of so many calls, until a limit ends it."""
    for run in range(runs):
        log = recording(place / str(run), model)
        for number in range(calls):
            log.reply(asked(number))


def test_runs_together_stop_before_a_call_that_could_pass_the_limit(tmp_path: Path) -> None:
    model = Dear()
    with pytest.raises(LimitReached, match="20 dollars that the runs of one kernel may cost") as stopped:
        spend(tmp_path, model, runs=9, calls=5)
    most = Bound.of(asked(0), PRICES).dollars or 0.0
    assert kernel.HERE.dollars <= KERNEL_DOLLARS < kernel.HERE.dollars + most
    assert model.calls == 22, "each costs 0.90004"
    assert "--budget 5" in stopped.value.next_move


def test_a_run_with_a_limit_of_its_own_goes_on_and_counts(tmp_path: Path) -> None:
    model = Dear()
    log = recording(tmp_path, model, Limits(max_dollars=100))
    for number in range(30):
        log.reply(asked(number))
    assert kernel.HERE.dollars == pytest.approx(30 * 0.90004)
    with pytest.raises(LimitReached):
        recording(tmp_path / "next", model).reply(asked(0))


def test_the_limit_holds_over_threads(tmp_path: Path) -> None:
    model = Dear()

    def run(number: int) -> None:
        log = recording(tmp_path / str(number), model)
        try:
            for call in range(5):
                log.reply(asked(call))
        except LimitReached:
            pass

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 18 < kernel.HERE.dollars <= KERNEL_DOLLARS


def test_what_is_refused_costs_nothing_and_what_broke_counts_in_full(tmp_path: Path) -> None:
    most = Bound.of(asked(0), PRICES).dollars
    with pytest.raises(ModelFailed):
        recording(tmp_path, Dear(ModelFailed("no", "ask again"))).reply(asked(0))
    assert kernel.HERE.dollars == pytest.approx(0)
    with pytest.raises(CallBroken):
        recording(tmp_path, Dear(CallBroken("broke", "ask again"))).reply(asked(1))
    assert kernel.HERE.dollars == pytest.approx(most)
    with pytest.raises(KeyboardInterrupt):
        recording(tmp_path, Dear(KeyboardInterrupt())).reply(asked(2))  # type: ignore[arg-type]
    assert kernel.HERE.dollars == pytest.approx(2 * (most or 0))


def test_recordings_known_calls_and_models_without_a_price_do_not_count(tmp_path: Path) -> None:
    log = recording(tmp_path, Dear())
    log.reply(asked(0))
    before = kernel.HERE.dollars
    log.reply(asked(0))
    recording(tmp_path / "again", Replay(tmp_path / "calls.jsonl")).reply(asked(0))
    recording(tmp_path / "unpriced", Dear()).reply(asked(0, "a-model-of-ones-own"))
    assert kernel.HERE.dollars == before


def test_a_run_is_not_begun_when_nothing_is_left_unless_it_has_a_budget(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    kernel.HERE.lend(KERNEL_DOLLARS, lambda: None)
    refused = shell.cell(f"%%pge run --model {MODEL}\nWrite a module for the hours of a shop.")
    assert isinstance(refused.error, LimitReached)
    assert "--budget 5" in refused.text
    assert not (tmp_path / "shared_state.md").exists()
    assert shell.cell("%pge run --practice stats").view.mark in {"passed", "degraded"}
    config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "own" / "shared_state.md", max_dollars=1)
    (tmp_path / "own").mkdir()
    assert PGEHarness(config).start("Write a module for the hours of a shop.").of("task")


def test_what_was_lent_to_another_process_counts_in_full_until_that_has_ended() -> None:
    came: list[float] = []
    kernel.HERE.lend(5.0, lambda: came[0] if came else None)
    assert kernel.HERE.dollars == 5.0
    with pytest.raises(LimitReached):
        kernel.HERE.check_room(15.01, Limits())
    kernel.HERE.check_room(15.01, Limits(max_dollars=20))
    came.append(0.5)
    assert kernel.HERE.dollars == 0.5
    came[0] = 99.0
    assert kernel.HERE.dollars == 0.5, "it is asked once"
