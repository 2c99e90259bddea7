"""What is told of a run's cost before it is paid."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hand_runs import Hand
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from sample_runs import call

from pge_nb import records as r
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.estimates import TYPICAL, costs_money, estimate
from pge_nb.models.limits import Price, Prices
from pge_nb.payloads import Json
from pge_nb.run import Run

MODELS: dict[str, Json] = {"models": dict.fromkeys(("planner", "generator", "evaluator"), "m")}
SETTINGS = {**HarnessConfig(model="m").settings(), "max_steps": 4, "max_retries_per_step": 2, "max_contract_rounds": 3}
PRICED = Prices(models={"m": Price(input=1.0, output=2.0, cache_read=0.1, cache_write=1.25)})


def test_before_a_plan_the_calls_go_from_one_step_passed_at_once_to_all_that_may_be() -> None:
    told = estimate(SETTINGS, Run(), PRICED)
    # Least: plan; then of one step propose, respond, generate, evaluate. Likely: 3 steps with 2 attempts each.
    # Most: 4 steps of 3 rounds x 2 agents x 2 + 3 attempts x (2 + 2 x 3) + the grade of what is kept, twice; each is cut, by a
    # call that is made twice, into 4 such steps; and the plan and a second look at it, twice each.
    step = 12 + 24 + 2
    assert told.calls == (5, 1 + 3 * (2 + 4), 4 + 4 * (step + 2 + 4 * step))


@pytest.mark.parametrize(
    ("changed", "steps", "replans"),
    [
        ({"max_replans": 0}, 1, 0),
        ({"on_exhausted": ["keep", "ask"]}, 1, 0),
        ({"max_replans": 2}, 1 + 4 + 16, 1 + 4),
    ],
)
def test_replans_are_counted_as_far_as_they_may_go(changed: dict[str, Json], steps: int, replans: int) -> None:
    told = estimate({**SETTINGS, "max_steps": 1, **changed}, Run(), PRICED)
    assert told.calls == (5, 1 + 6, 4 + 38 * steps + 2 * replans)
    by_phase = {one.phase: one for one in told.phases}
    assert (by_phase["replan"].likely, by_phase["replan"].most) == (0, 2 * replans)


@pytest.mark.parametrize(
    ("changed", "calls"),
    [
        # One step of propose, respond, generate, evaluate, with a second attempt likely; at most 12 + 24 + 2 calls.
        ({"planner": False}, (4, 6, 38)),
        # The plan, then generate and evaluate alone: likely 3 steps.
        ({"contract": False, "max_steps": 4}, (3, 1 + 3 * 4, 4 + 4 * 26)),
        # The plan, then propose, respond and one attempt a step; nothing is graded, kept or cut.
        ({"evaluator": "off", "max_steps": 4, "canaries": 2, "hidden_cases": 2}, (4, 1 + 3 * 3, 4 + 4 * (12 + 2))),
        ({"evaluator": "self", "max_steps": 4}, (5, 1 + 3 * 6, 4 + 4 * 38)),
        ({"second_look": False, "max_steps": 1}, (5, 7, 2 + 38)),
        ({"planner": False, "contract": False, "evaluator": "off"}, (1, 1, 2)),
    ],
)
def test_who_takes_no_part_is_asked_nothing(changed: dict[str, Json], calls: tuple[int, int, int]) -> None:
    without = {**SETTINGS, "max_replans": 0, **changed}
    assert estimate(without, Run(), PRICED).calls == calls
    begun = Hand(**{**MODELS, "max_replans": 0, **changed})
    assert estimate(without, begun.run, PRICED).calls == calls


def test_who_judges_itself_is_the_generators_model_and_reads_its_turns_again() -> None:
    models: dict[str, Json] = {"models": {"planner": "m", "generator": "dear", "evaluator": "m"}}
    prices = Prices(models={**PRICED.models, "dear": Price(input=9.0, output=9.0, cache_read=1.0, cache_write=9.0)})
    fresh, own = (
        {one.phase: one for one in estimate({**SETTINGS, **models, "evaluator": mode}, Run(), prices).phases}[
            "evaluate"
        ]
        for mode in ("fresh", "self")
    )
    assert own.tokens == fresh.tokens + TYPICAL["generate"].total
    assert own.dollars is not None
    assert fresh.dollars is not None
    assert own.dollars > 5 * fresh.dollars


def test_a_step_that_was_cut_is_cut_no_more() -> None:
    hand = Hand((), **MODELS, on_exhausted=["keep", "replan", "ask"]).tried(4.0, 4.0, 4.0).decided("replan", 3)
    steps = (r.Step(number=2, description="one"), r.Step(number=3, description="two", depends_on=(2,)))
    hand.add(r.Plan(title="t", scope="s", steps=steps, replan=r.Replan(step=1, by=(2, 3), why="")))
    told = estimate(SETTINGS, hand.run, PRICED)
    assert told.calls[2] == 2 * 38
    assert {one.phase: one.most for one in told.phases}["replan"] == 0


def test_the_grade_of_what_was_kept_is_ahead_until_it_is_given() -> None:
    hand = Hand((), **MODELS, regrade_kept=True).tried(5.0, 6.0).decided("keep", 2)
    assert estimate(SETTINGS, hand.run, PRICED).calls == (1, 1, 2)
    assert estimate(SETTINGS, hand.evaluate(2, 5.5, purpose="kept").run, PRICED).calls == (0, 0, 0)


def test_hidden_inputs_and_canaries_take_calls_too() -> None:
    plain = {**SETTINGS, "max_steps": 1, "max_replans": 0}
    told = estimate({**plain, "hidden_cases": 3, "canaries": 5}, Run(), PRICED)
    least, likely, most = estimate(plain, Run(), PRICED).calls
    assert told.calls == (least, likely + 1 + 5, most + 2 + 10)
    assert {one.phase: one.likely for one in told.phases}["withhold"] == 1


def test_until_all_is_met_only_a_limit_is_the_most() -> None:
    told = estimate({**SETTINGS, "until_met": True, "max_dollars": 3.0}, Run(), PRICED)
    assert "5 calls and more, until all is met" in str(told)
    assert str(told).endswith("at most $3.00 (the run's limit).")
    tokens = estimate({**SETTINGS, "until_met": True, "max_tokens_total": 70_000}, Run(), Prices())
    assert str(tokens).endswith("at most 70,000 tokens (the run's limit).")


def test_a_run_that_has_ended_has_nothing_ahead() -> None:
    hand = Hand((), **MODELS).tried(8.0).decided("accept", 1)
    assert estimate(SETTINGS, hand.run, PRICED).calls == (0, 0, 0)


def test_what_was_done_is_not_counted_again() -> None:
    hand = Hand((), **MODELS).propose()
    assert estimate(SETTINGS, hand.run, PRICED).calls[0] == 3  # respond, generate, evaluate
    assert estimate(SETTINGS, hand.respond(agreed=True).run, PRICED).calls[0] == 2
    assert estimate(SETTINGS, hand.contract().attempt(1).run, PRICED).calls == (1, 3, 2 * 2 + 3 * 6 + 2 + 2 + 4 * 38)


def test_tokens_and_dollars_are_those_of_the_runs_own_calls() -> None:
    hand = Hand(**MODELS)
    own = replace(call("planner", 1), id="planner/plan/-/-/-/1/0#0:ab", usage=r.Usage(input_tokens=10, output_tokens=5))
    hand.add(r.Plan(title="t", scope="s", steps=(r.Step(number=1, description="d"),), calls=(own,)))
    told = estimate(SETTINGS, hand.run, PRICED)
    assert told.tokens == 15 * told.calls[1]
    assert told.dollars == pytest.approx((10 * 1 + 5 * 2) / 1e6 * told.calls[1])
    assert "from this run's own 1 call:" in str(told)
    assert "from typical calls" in str(estimate(SETTINGS, Run(), PRICED))


def test_at_most_is_never_more_than_the_limit_and_says_so() -> None:
    told = estimate({**SETTINGS, "max_dollars": 0.5}, Run(), PRICED)
    assert told.most_dollars == 0.5
    assert str(told).endswith("at most $0.50 (the run's limit).")
    small = estimate({**SETTINGS, "max_steps": 1, "max_dollars": 1_000}, Run(), PRICED)
    assert small.most_dollars is not None
    assert small.most_dollars < 1_000
    assert "limit" not in str(small)


def test_without_a_price_it_is_told_in_tokens() -> None:
    told = estimate(SETTINGS, Run(), Prices())
    assert told.dollars is None
    assert "$" not in str(told)
    assert f"likely {told.tokens:,} tokens, at most 2,000,000 tokens (the run's limit)" in str(told)


def test_every_phase_of_an_agent_has_a_typical_call() -> None:
    assert all(usage.total > 0 for usage in TYPICAL.values())


def test_practice_and_recordings_cost_nothing() -> None:
    assert costs_money(SETTINGS)
    assert not costs_money(HarnessConfig(model="practice:seed=3").settings())
    assert not costs_money({**SETTINGS, "recording": "recording:a.jsonl"})


def test_a_run_of_a_live_model_is_estimated_in_one_line_before_it_asks(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MessagesStub(lambda _: StubReply(status=401, error="authentication_error", message="no")) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        view = shell.cell("%pge estimate").view
        assert "Estimate, from typical calls: " in view.plain()
        assert stub.requests == []
        text = shell.cell("%%pge run\nWrite a haiku.").text
    first = text.strip().split("\n")[0]
    assert re.fullmatch(r"Estimate, from typical calls: 5 to [\d,]+ calls, likely 19; likely .*, at most .*\.", first)


def test_a_practice_run_is_not_estimated(shell: Shell) -> None:
    ran = shell.cell("%pge run --practice stats --seed 2")
    assert "Estimate" not in ran.text
    assert "Nothing is ahead" in shell.cell("%pge estimate").view.plain()
    assert "costs nothing" in _new(shell)


def _new(shell: Shell) -> str:
    shell.cell("%pge new;")
    return shell.cell("%pge estimate").view.plain()


MOST = {
    "max_steps": 10**9,
    "max_retries_per_step": 10**9,
    "max_contract_rounds": 10**9,
    "max_tokens": 10**9,
    "max_replans": 8,
    "canaries": 10**9,
    "keep_going": 10**9,
    "max_calls": 10**12,
    "max_tokens_total": 10**12,
    "max_dollars": 10**12,
    "max_seconds": 10**9,
}


def test_the_most_that_may_be_set_can_be_told() -> None:
    largest = HarnessConfig(model="m", **MOST)  # type: ignore[arg-type]
    assert "calls" in str(estimate(largest.settings(), Run(), PRICED))


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("value", [10**400, 10**5_000], ids=["no float", "no text"])
def test_more_is_refused(name: str, value: int) -> None:
    with pytest.raises(BadInput, match=rf"^{name} is "):
        HarnessConfig(model="m", **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["max_calls", "max_tokens_total", "max_dollars"])
def test_a_limit_that_is_no_number_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match=rf"^{name} is '5'"):
        HarnessConfig(model="m", **{name: "5"})  # type: ignore[arg-type]
