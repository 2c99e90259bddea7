"""What follows from an evaluation, with its reason in numbers: a function of the file alone."""

from __future__ import annotations

import pytest
from hand_runs import Hand
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb import records as r
from pge_nb.decisions import best_attempt, decide, standing_scores
from pge_nb.payloads import Json

many = settings(deadline=None, max_examples=60)


def decision(hand: Hand, attempt: int) -> r.Decision:
    made, question = decide(hand.run, 1, attempt)
    assert (question is not None) == (made.action == "ask")
    assert made.reason
    return made


def after(*scores: float | None, pivots: tuple[int, ...] = (), **limits: Json) -> r.Decision:
    """The decision after attempts with these scores, retries left."""
    return decision(Hand((), **({"max_retries_per_step": 20} | limits)).tried(*scores, pivots=pivots), len(scores))


def test_a_pass_is_accepted_also_on_the_last_attempt_and_after_better_scores() -> None:
    for scores in ((8.0,), (6.0, 6.5, 7.0)):
        made = after(*scores, max_retries_per_step=2)
        assert (made.action, made.attempt) == ("accept", len(scores))


def test_an_attempt_that_was_not_evaluated_is_no_ground_for_a_decision() -> None:
    with pytest.raises(ValueError, match="has not been evaluated"):
        decide(Hand(()).contract().attempt(1).run, 1, 1)


# Refine or pivot


@pytest.mark.parametrize(
    ("scores", "action"),
    [
        ((5,), "refine"),
        ((5, 6), "refine"),
        ((5, 5), "refine"),
        ((5, 4), "refine"),
        ((5, 5, 5), "pivot"),
        ((5, 4, 3), "pivot"),
        ((5, 5.5, 5.5), "pivot"),
        ((5, 5.6, 5.6), "refine"),
        ((3, 5, 4, 5.2), "pivot"),
        ((3, 5, 4, 5.6), "refine"),
        ((5, 4, 5.6, 5.6), "refine"),
        ((1, 2, 3, 4, 5, 6), "refine"),
        # Rising is against the best before it, so a slow recovery from a fall is none.
        ((6, 2, 3, 4), "pivot"),
        # What was not measured is no point of the trajectory.
        ((5, None, 5), "refine"),
        ((5, None, 5, None, 5), "pivot"),
    ],
)
def test_refine_while_it_rises_and_pivot_when_it_was_flat_or_falling_twice(
    scores: tuple[float | None, ...], action: str
) -> None:
    made = after(*scores)
    assert (made.action, made.attempt) == (action, None)


def test_a_pivot_begins_a_new_trajectory() -> None:
    assert after(6, 5, 5, 2, pivots=(4,)).action == "refine"
    assert after(6, 5, 5, 2, 2, pivots=(4,)).action == "refine"
    assert after(6, 5, 5, 2, 2, 2, pivots=(4,)).action == "pivot"


def test_noise_decides_what_counts_as_rising() -> None:
    assert after(5, 5.3, 5.6).action == "pivot"
    assert after(5, 5.3, 5.6, noise=0.2).action == "refine"


def test_the_reason_is_in_numbers() -> None:
    made = after(5, 5.4, 5.2)
    assert "flat or falling 2 times, changes within 0.5 counted as flat" in made.reason
    assert made.numbers == {
        "attempts": 3,
        "attempts_allowed": 21,
        "overall": 5.2,
        "weakest": 5.2,
        "noise": 0.5,
        "flat_or_falling": 2,
    }


# The best attempt


def test_the_best_attempt_is_the_highest_then_the_one_with_most_checks_then_the_earliest() -> None:
    def best(*tried: tuple[float | None, tuple[r.Verdict, ...]]) -> int | None:
        hand = Hand(()).contract()
        for number, (score, checks) in enumerate(tried, 1):
            hand.attempt(number).evaluate(number, score, *checks)
        return best_attempt(hand.run, 1)

    all_pass: tuple[r.Verdict, ...] = ("pass", "pass")
    assert best() is None
    assert best((5, all_pass), (6, all_pass), (5.5, all_pass)) == 2
    assert best((5, ("fail", "pass")), (5, all_pass), (5, ("fail", "fail"))) == 2
    assert best((5, all_pass), (5, all_pass)) == 1
    assert best((None, all_pass), (0, ("fail", "fail"))) == 2
    assert best((None, ("fail", "pass")), (None, all_pass)) == 2


def test_an_attempt_without_an_evaluation_is_the_best_only_where_there_is_no_other() -> None:
    hand = Hand(()).contract().attempt(1)
    assert best_attempt(hand.run, 1) == 1
    assert best_attempt(hand.attempt(2).evaluate(2, 0, "fail", "fail").run, 1) == 2


def test_only_the_last_evaluation_at_the_gate_counts() -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, None).evaluate(1, 5).evaluate(1, 9, purpose="noise")
    hand.attempt(2).evaluate(2, 6)
    assert best_attempt(hand.run, 1) == 2
    assert standing_scores(hand.run, 1) == [(1, 5.0), (2, 6.0)]


def test_scores_that_are_not_known_stay_unknown() -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, None).attempt(2)
    assert standing_scores(hand.run, 1) == [(1, None), (2, None)]


# Retries used up


def used_up(*scores: float | None, **limits: Json) -> r.Decision:
    return after(*scores, **{"max_retries_per_step": len(scores) - 1, **limits})


def test_the_best_attempt_is_kept_and_not_the_last() -> None:
    made = used_up(5.5, 6.5, 6.0)
    assert (made.action, made.attempt) == ("keep", 2)
    assert made.numbers["weakest"] == 6.5
    assert made.numbers["floor"] == 5


def test_one_attempt_is_all_there_is_without_retries() -> None:
    assert used_up(5.5).action == "keep"
    assert used_up(4.5).action == "ask"


def test_nothing_below_the_floor_is_kept() -> None:
    assert used_up(4.9, 4.8, 4.7).action == "ask"
    assert used_up(4.9, 4.8, 4.7, degrade_floor=4.9).action == "keep"
    assert used_up(5.0).action == "keep"


def test_the_floor_is_for_the_weakest_score_and_checks_count_as_scores() -> None:
    hand = Hand((), max_retries_per_step=0).contract().attempt(1).evaluate(1, 9, "pass", "fail")
    assert decision(hand, 1).action == "keep"  # 10 times the half of the checks
    hand = Hand((), max_retries_per_step=0).contract().attempt(1).evaluate(1, 9, "fail", "fail")
    assert decision(hand, 1).action == "ask"


def test_a_score_without_evidence_is_kept_for_nothing() -> None:
    hand = Hand((), max_retries_per_step=0).contract().attempt(1)
    claimed = r.Finding(on="quality", about="criterion", verdict="fail", why="no evidence", by="judge", score=9)
    report = r.EvaluationReport(rater="r", attempt_hash="1", verdict="fail", overall=None, findings=(claimed,))
    made = decision(hand.add(report, 1, 1, "gate"), 1)
    assert made.action == "ask"
    assert made.numbers["weakest"] is None


@pytest.mark.parametrize(
    ("ways", "action", "attempt"),
    [
        (["keep", "ask"], "ask", None),
        (["ask", "keep"], "ask", None),
        (["advance"], "advance", 1),
        (["keep", "advance", "ask"], "advance", 1),
        (["keep"], "stop", None),
        ([], "stop", None),
    ],
)
def test_the_first_way_that_applies_is_taken(ways: list[Json], action: str, attempt: int | None) -> None:
    made = used_up(4, 3, on_exhausted=ways)
    assert (made.action, made.attempt) == (action, attempt)


def test_a_question_names_the_step_and_every_answer() -> None:
    _, question = decide(Hand((), max_retries_per_step=0).tried(4).run, 1, 1)
    assert question is not None
    assert question.text.startswith("Step 1: the only attempt failed")
    assert question.choices == ("retry", "keep", "advance", "stop")


def test_retries_may_be_raised_by_an_amendment() -> None:
    hand = Hand(()).tried(4, 4.2, 4.1)
    assert decision(hand, 3).action == "ask"
    assert decision(hand.add(r.Amendment(limits={"max_retries_per_step": 3})), 3).action == "pivot"


# Not measured


def test_what_could_not_be_measured_asks_and_uses_no_retry() -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, None).evaluate(1, None).evaluate(1, None)
    made = decision(hand, 1)
    assert made.action == "ask"
    assert made.reason == "attempt 1 could not be measured, 3 times"
    assert made.numbers["overall"] is None
    assert made.numbers["weakest"] is None


# Answers


@pytest.mark.parametrize(
    ("choice", "action", "attempt"),
    [("retry", "refine", None), ("keep", "keep", 2), ("advance", "advance", 2), ("stop", "stop", None)],
)
def test_an_answer_decides_with_the_best_attempt(choice: r.Choice, action: str, attempt: int | None) -> None:
    hand = Hand(()).tried(3, 4, 3.5).decided("ask", 3).answer(choice)
    made = decision(hand, 3)
    assert (made.action, made.attempt) == (action, attempt)
    assert repr(choice) in made.reason


def test_an_answer_is_used_once() -> None:
    hand = Hand(()).tried(3, 4, 3.5).decided("ask", 3).answer("retry").decided("refine", 3)
    assert decision(hand.attempt(4).evaluate(4, 3), 4).action == "ask"


def test_a_measurement_after_the_answer_decides_by_itself() -> None:
    hand = Hand(()).contract().attempt(1)
    for _ in range(3):
        hand.evaluate(1, None)
    hand.decided("ask", 1).answer("retry").evaluate(1, 9)
    assert decision(hand, 1).action == "accept"


# Whatever the scores were

SCORES = st.lists(st.one_of(st.none(), st.floats(0, 10)), min_size=1, max_size=8)


@many
@given(SCORES, st.integers(0, 8))
def test_only_a_pass_is_accepted_and_only_a_measured_attempt_is_kept(scores: list[float | None], retries: int) -> None:
    hand = Hand((), max_retries_per_step=retries).tried(*scores)
    made = decision(hand, len(scores))
    last = scores[-1]
    assert (made.action == "accept") == (last is not None and last >= 7)
    if made.action == "keep":
        assert made.attempt is not None
        kept = scores[made.attempt - 1]
        assert kept == max(score for score in scores if score is not None)
        assert kept is not None
        assert kept >= 5
    if made.action in {"refine", "pivot"}:
        assert len(scores) <= retries


@many
@given(SCORES)
def test_the_same_file_gives_the_same_decision(scores: list[float | None]) -> None:
    assert decision(Hand(()).tried(*scores), len(scores)) == decision(Hand(()).tried(*scores), len(scores))
