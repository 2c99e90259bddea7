"""Which phase is due follows from the state file alone: stop anywhere, and the same phase is due again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hand_runs import SETTINGS, Hand

from pge_nb import records as r
from pge_nb.decisions import decide
from pge_nb.phases import GATE_EVALUATIONS, Phase, due, fresh_answer, negotiation, number, standing
from pge_nb.run import Run


def only(hand: Hand) -> Phase:
    """The one phase that is due."""
    (phase,) = due(hand.run)
    return phase


def test_nothing_is_due_in_an_empty_file() -> None:
    assert due(Run()) == ()


def test_a_task_is_planned_first() -> None:
    phase = only(Hand())
    assert (phase.name, phase.round, phase.role, phase.step) == ("plan", 1, "planner", None)


# The contract


def test_a_negotiation_goes_from_proposal_to_response_to_the_contract() -> None:
    hand = Hand(())
    assert only(hand) == Phase(name="propose", step=1, round=1)
    assert only(hand.propose()) == Phase(name="respond", step=1, round=1)
    assert only(hand.respond(agreed=False)) == Phase(name="propose", step=1, round=2)
    assert only(hand.propose()) == Phase(name="respond", step=1, round=2)
    assert only(hand.respond(agreed=True)) == Phase(name="settle", step=1)
    assert only(hand.contract()) == Phase(name="generate", step=1, attempt=1)


def test_agreement_in_the_first_round_settles_it() -> None:
    assert only(Hand(()).propose().respond(agreed=True)).name == "settle"


def test_without_agreement_the_rounds_end_at_their_limit() -> None:
    hand = Hand(()).propose().respond(agreed=False).propose().respond(agreed=False)
    assert only(hand).name == "settle"
    assert negotiation(hand.run, 1).name == "settle"
    hand = Hand((), max_contract_rounds=3).propose().respond(agreed=False).propose().respond(agreed=False)
    assert only(hand) == Phase(name="propose", step=1, round=3)


# Attempts


def test_an_attempt_is_evaluated_then_decided_on() -> None:
    hand = Hand(()).contract().attempt(1)
    assert only(hand) == Phase(name="evaluate", step=1, attempt=1, round=1)
    assert only(hand).purpose == "gate"
    assert only(hand.evaluate(1, 5)) == Phase(name="decide", step=1, attempt=1, round=1)
    assert only(hand).role is None


@pytest.mark.parametrize("action", ["refine", "pivot"])
def test_a_failed_attempt_is_followed_by_the_next(action: r.Action) -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, 5).decided(action, 1)
    assert only(hand) == Phase(name="generate", step=1, attempt=2)
    assert only(hand.attempt(2)) == Phase(name="evaluate", step=1, attempt=2, round=1)


@pytest.mark.parametrize("action", ["accept", "keep", "advance", "stop"])
def test_a_step_that_is_done_has_nothing_due(action: r.Action) -> None:
    assert due(Hand(()).contract().attempt(1).evaluate(1, 8).decided(action, 1).run) == ()


def test_an_evaluation_that_measured_nothing_is_made_again_at_most_twice() -> None:
    hand = Hand(()).contract().attempt(1)
    for round_ in range(1, GATE_EVALUATIONS + 1):
        assert only(hand) == Phase(name="evaluate", step=1, attempt=1, round=round_)
        hand.evaluate(1, None)
    assert only(hand).name == "decide"
    decision, question = decide(hand.run, 1, 1)
    assert (decision.action, question is not None) == ("ask", True)


def test_one_that_measured_something_ends_the_repeating() -> None:
    assert only(Hand(()).contract().attempt(1).evaluate(1, None).evaluate(1, 5)).name == "decide"


def test_an_evaluation_for_another_purpose_decides_nothing() -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, 9, purpose="noise").evaluate(1, 9, purpose="canary")
    assert only(hand) == Phase(name="evaluate", step=1, attempt=1, round=1)


# Questions


def asked(score: float | None) -> Hand:
    """A step that asks: three attempts that failed, or one that could not be measured."""
    if score is None:
        hand = Hand(()).contract().attempt(1)
        for _ in range(GATE_EVALUATIONS):
            hand.evaluate(1, None)
        return hand.decided("ask", 1)
    return Hand(()).tried(score, score, score).decided("ask", 3)


@pytest.mark.parametrize("score", [4.0, None])
def test_an_open_question_waits(score: float | None) -> None:
    hand = asked(score)
    assert due(hand.run) == ()
    assert hand.run.outcome == "paused"


@pytest.mark.parametrize("choice", ["keep", "advance", "stop"])
@pytest.mark.parametrize("score", [4.0, None])
def test_an_answer_that_ends_the_step_is_decided_at_once(choice: r.Choice, score: float | None) -> None:
    hand = asked(score).answer(choice)
    attempt = 3 if score else 1
    assert only(hand) == Phase(name="decide", step=1, attempt=attempt, round=2)
    decision, _ = decide(hand.run, 1, attempt)
    assert decision.action == choice


def test_retry_after_failures_makes_one_more_attempt_and_asks_again() -> None:
    hand = asked(4.0).answer("retry")
    assert only(hand) == Phase(name="decide", step=1, attempt=3, round=2)
    hand.decided("refine", 3)
    assert only(hand) == Phase(name="generate", step=1, attempt=4)
    hand.attempt(4).evaluate(4, 4)
    assert only(hand) == Phase(name="decide", step=1, attempt=4, round=1)
    assert decide(hand.run, 1, 4)[0].action == "ask"


def test_retry_after_no_measurement_evaluates_the_same_attempt_once_more() -> None:
    hand = asked(None)
    for time in range(1, 3):
        hand.answer("retry")
        assert only(hand) == Phase(name="evaluate", step=1, attempt=1, round=GATE_EVALUATIONS + time)
        hand.evaluate(1, None)
        assert only(hand) == Phase(name="decide", step=1, attempt=1, round=1 + time)
        assert decide(hand.run, 1, 1)[0].action == "ask"
        hand.decided("ask", 1)


def test_an_answer_is_fresh_until_something_follows_it() -> None:
    hand = asked(4.0)
    assert fresh_answer(hand.run, 1, 3) is None
    assert fresh_answer(hand.answer("keep").run, 1, 3) == r.Answer(choice="keep")
    assert fresh_answer(hand.decided("keep", 3).run, 1, 3) is None


def test_a_decision_stands_until_an_evaluation_or_an_answer_follows_it() -> None:
    hand = Hand(()).tried(4)
    assert standing(hand.run, 1, 1) is None
    assert standing(hand.decided("refine", 1).run, 1, 1) == "refine"
    assert standing(hand.evaluate(1, 9, purpose="drift").run, 1, 1) == "refine"
    assert standing(hand.evaluate(1, 9).run, 1, 1) is None
    assert only(hand).name == "decide"


# Several steps


def test_a_step_waits_for_those_that_it_needs() -> None:
    hand = Hand((), (1,), ())
    assert only(hand).step == 1
    hand.contract(1).attempt(1).evaluate(1, 8).decided("accept", 1)
    assert only(hand) == Phase(name="propose", step=2, round=1)


def test_what_depends_on_a_step_that_was_given_up_is_blocked_and_the_rest_goes_on() -> None:
    hand = Hand((), (1,), (2,), ())
    hand.contract(1).attempt(1).evaluate(1, 3).decided("stop", 1)
    assert [hand.run.state(step) for step in (1, 2, 3, 4)] == ["failed", "blocked", "blocked", "waiting"]
    assert only(hand) == Phase(name="propose", step=4, round=1)
    hand.contract(4).attempt(1, step=4).evaluate(1, 8, step=4).decided("accept", 1, step=4)
    assert due(hand.run) == ()
    assert hand.run.outcome == "blocked"


def test_what_does_not_need_a_step_that_asks_goes_on() -> None:
    hand = Hand((), (1,), ())
    hand.tried(4, 4, 4).decided("ask", 3)
    assert only(hand).step == 3
    hand.contract(3).attempt(1, step=3).evaluate(1, 8, step=3).decided("accept", 1, step=3)
    assert due(hand.run) == ()
    assert hand.run.outcome == "paused"


@pytest.mark.parametrize("action", ["accept", "keep", "advance"])
def test_what_needs_a_step_that_stands_goes_on_with_it(action: r.Action) -> None:
    hand = Hand((), (1,)).contract(1).attempt(1).evaluate(1, 8).decided(action, 1)
    assert only(hand).step == 2


# Anywhere


def whole_run() -> Hand:
    hand = Hand((), (1,)).propose().respond(agreed=False).propose().respond(agreed=True).contract()
    hand.attempt(1).evaluate(1, None).evaluate(1, 4).decided("refine", 1).attempt(2).evaluate(2, 4).decided("refine", 2)
    hand.attempt(3).evaluate(3, 4).decided("ask", 3).answer("retry").decided("refine", 3).attempt(4).evaluate(4, 9)
    hand.decided("accept", 4).propose(2).respond(2, agreed=True).contract(2)
    return hand.attempt(1, step=2).evaluate(1, 9, step=2).decided("accept", 1, step=2)


def test_interruptions_notes_and_receipts_change_nothing_that_is_due() -> None:
    payloads: tuple[Callable[[], r.Payload], ...] = (
        lambda: r.Interruption(reason="a person"),
        lambda: r.Note(text="a note"),
        lambda: r.Receipt(outcome="running", calls=1, tokens=1, dollars=None),
    )
    sections = whole_run().run.sections
    for end in range(1, len(sections) + 1):
        plain = due(Run(sections[:end]))
        for payload in payloads:
            hand = Hand()
            hand.run = Run(sections[:end])
            assert due(hand.add(payload()).run) == plain


def test_every_section_of_a_run_is_made_by_the_phase_that_was_due() -> None:
    names = {
        "plan": "plan",
        "proposal": "propose",
        "response": "respond",
        "contract": "settle",
        "attempt": "generate",
        "evaluation": "evaluate",
        "decision": "decide",
    }
    sections = whole_run().run.sections
    made = [(end, section) for end, section in enumerate(sections) if section.record.kind in names]
    for end, section in made:
        (phase,) = due(Run(sections[:end]))
        record = section.record
        assert (phase.name, phase.step) == (names[record.kind], record.step)
        assert phase.attempt == record.attempt
    assert due(Run(sections)) == ()
    assert len(made) > 20


def test_a_phase_is_named_by_its_step_and_attempt() -> None:
    assert str(Phase(name="plan")) == "plan"
    assert str(Phase(name="propose", step=2)) == "propose 2"
    assert str(Phase(name="evaluate", step=2, attempt=3)) == "evaluate 2.3"


@pytest.mark.parametrize("value", [True, "3", None, []])
def test_a_setting_that_is_no_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(TypeError, match="noise"):
        number(SETTINGS | {"noise": value}, "noise")  # type: ignore[dict-item]
