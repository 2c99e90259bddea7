"""What follows from an evaluation, with its reason in numbers: a function of the file alone."""

from __future__ import annotations

import pytest
from hand_runs import Hand
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb import records as r
from pge_nb.decisions import best_attempt, decide, leading, standing_scores
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


# Cut into smaller steps


def cut(hand: Hand, step: int, *by: int, skill: str = "code") -> Hand:
    """The step replaced by these, each building on the one before; without any it could not be cut."""
    plan = hand.run.plan
    assert plan is not None
    pieces = tuple(
        r.Step(number=number, description="", skill_type=skill, depends_on=by[at - 1 : at] if at else ())
        for at, number in enumerate(by)
    )
    steps = tuple(one for old in plan.steps for one in (pieces if by and old.number == step else (old,)))
    replan = r.Replan(step=step, by=by, why="it hangs together")
    return hand.add(r.Plan(title="t", scope="s", steps=steps, criteria=plan.criteria, replan=replan))


def failed(step: int, hand: Hand) -> r.Decision:
    """What is decided when the only attempt at a step has failed."""
    hand.contract(step).attempt(1, step).evaluate(1, 3, step=step)
    made, _ = decide(hand.run, step, 1)
    hand.add(made, step, 1)
    return made


WAYS: Json = ["keep", "replan", "ask"]


def test_a_step_is_cut_where_nothing_is_kept_and_before_anybody_is_asked() -> None:
    made = used_up(4, 3, on_exhausted=WAYS)
    assert (made.action, made.attempt) == ("replan", None)
    assert made.reason == "both attempts failed; it is to be cut into smaller steps, replan 1 of at most 1"
    assert (made.numbers["replans"], made.numbers["max_replans"]) == (1, 1)
    assert used_up(5.5, 3, on_exhausted=WAYS).action == "keep"
    assert used_up(4, 3, on_exhausted=["ask", "replan"]).action == "ask"
    assert used_up(4, 3, on_exhausted=WAYS, max_replans=0).action == "ask"


def test_where_there_is_no_planner_nothing_is_cut() -> None:
    assert used_up(4, 3, on_exhausted=WAYS, planner=False).action == "ask"


@pytest.mark.parametrize(("most", "actions"), [(1, ["replan", "ask"]), (2, ["replan", "replan", "ask"])])
def test_a_step_and_what_it_was_cut_into_are_cut_so_often(most: int, actions: list[str]) -> None:
    hand = Hand((), max_retries_per_step=0, on_exhausted=WAYS, max_replans=most)
    found = []
    for step, by, skill in ((1, (2, 3), "code"), (2, (4, 5), "prose"), (4, (6, 7), "code")):
        made = failed(step, hand)
        found.append(made.action)
        if made.action != "replan":
            assert made.reason.endswith(f"; step 1 was cut {'' if most == 1 else '2 times '}already")
            break
        cut(hand, step, *by, skill=skill)
    assert found == actions


def test_another_step_may_be_cut_as_often() -> None:
    hand = Hand((), (), max_retries_per_step=0, on_exhausted=WAYS)
    assert failed(1, hand).action == "replan"
    cut(hand, 1, 3, 4)
    assert failed(2, hand).action == "replan"


def test_two_replans_in_a_row_with_one_skill_that_failed_end_the_step() -> None:
    hand = Hand((), max_retries_per_step=0, on_exhausted=WAYS, max_replans=9)
    failed(1, hand)
    cut(hand, 1, 2, 3)
    assert failed(2, hand).action == "replan"
    cut(hand, 2, 4, 5)
    made = failed(4, hand)
    assert made.action == "stop"
    assert made.reason.endswith(
        "two replans in a row used the skill 'code' and failed: infeasible with the skills at hand"
    )
    assert hand.run.state(4) == "infeasible"
    assert hand.run.state(5) == "blocked"
    # The last of the first cut may still be tried where it does not wait for the one that failed.
    assert hand.run.same_skill(3) == ""


def test_a_change_of_skill_is_no_row() -> None:
    hand = Hand((), max_retries_per_step=0, on_exhausted=WAYS, max_replans=9)
    failed(1, hand)
    cut(hand, 1, 2, 3, skill="code")
    failed(2, hand)
    cut(hand, 2, 4, 5, skill="prose")
    assert failed(4, hand).action == "replan"
    cut(hand, 4, 6, 7, skill="prose")
    assert failed(6, hand).action == "stop"


def test_what_could_not_be_cut_is_not_asked_for_again() -> None:
    hand = Hand((), max_retries_per_step=0, on_exhausted=WAYS)
    assert failed(1, hand).action == "replan"
    made, question = decide(cut(hand, 1).run, 1, 1)
    assert (made.action, question is not None) == ("ask", True)
    assert made.reason == (
        "the only attempt failed; the planner could not cut it into smaller steps (it hangs together)"
    )
    hand.decided("ask", 1).answer("retry").decided("refine", 1).attempt(2).evaluate(2, 3)
    assert decide(hand.run, 1, 2)[0].action == "ask"


# No progress


@pytest.mark.parametrize(
    ("scores", "action"),
    [
        ((4, 4), "refine"),
        ((4, 4, 4), "pivot"),
        ((4, 4, 4, 4), "ask"),
        ((4, 3, 4.4, 2), "ask"),
        ((4, 4, 4, 4.6), "refine"),
        ((4, 4.4, 4.6, 4.6), "pivot"),
        # What was not measured is no attempt without progress.
        ((4, 4, None, 4, None, 4), "ask"),
        ((4, 4, None, None, 4), "pivot"),
    ],
)
def test_so_many_attempts_in_a_row_without_progress_use_the_retries_up(
    scores: tuple[float | None, ...], action: str
) -> None:
    assert after(*scores, max_flat=3).action == action


def test_a_pivot_does_not_begin_the_count_of_no_progress_anew() -> None:
    assert after(4, 4, 4, 2, pivots=(4,), max_flat=3).action == "ask"
    assert after(4, 4, 4, 2, pivots=(4,)).action == "refine"


def test_no_progress_says_so_in_numbers_and_takes_the_ways_of_retries_used_up() -> None:
    made = after(5.2, 5.4, 5.1, max_flat=2)
    assert (made.action, made.attempt) == ("keep", 2)
    assert made.reason == (
        "2 attempts in a row did not rise above the best before, 5.2, by more than 0.5; "
        "the best, attempt 2, is kept: its weakest score 5.4 reaches the floor 5"
    )
    assert {name: made.numbers[name] for name in ("flat_or_falling", "max_flat", "noise", "best")} == {
        "flat_or_falling": 2,
        "max_flat": 2,
        "noise": 0.5,
        "best": 5.2,
    }
    assert after(4, 4, 4, max_flat=2, on_exhausted=["replan"]).action == "replan"


def test_scores_under_an_earlier_contract_are_no_lack_of_progress() -> None:
    hand = Hand((), max_retries_per_step=20, max_flat=2).tried(4, 4)
    hand.add(r.Amendment(limits={}, text="more", phase="contract"), 1).contract().evaluate(2, 4)
    assert decide(hand.run, 1, 2)[0].action == "refine"


# Until all is met


def test_until_all_is_met_no_retries_are_used_up() -> None:
    made = after(*[4.0] * 30, max_retries_per_step=0, until_met=True)
    assert made.action == "pivot"
    assert made.numbers["attempts_allowed"] is None
    assert after(8, max_retries_per_step=0, until_met=True).action == "accept"
    assert after(4, 4, 4, max_retries_per_step=0, until_met=True, max_flat=2).action == "ask"


def test_the_next_attempt_goes_first_for_the_first_check_that_is_not_met() -> None:
    hand = Hand((), until_met=True).contract()
    assert leading(hand.run, 1) == "c1"
    hand.attempt(1).evaluate(1, 9, "pass", "fail")
    assert leading(hand.run, 1) == "c2"
    made = decision(hand, 1)
    assert made.reason == "there is no trajectory yet; until all is met, the next attempt goes first for c2"
    assert made.numbers["goes_for"] == "c2"
    hand.decided("refine", 1).attempt(2).evaluate(2, 6, "pass", "pass")
    assert leading(hand.run, 1) == "quality"
    hand.decided("refine", 2).attempt(3).evaluate(3, 6, "fail", "fail")
    assert leading(hand.run, 1) == "c1"


def test_without_it_nothing_leads() -> None:
    hand = Hand(()).contract().attempt(1).evaluate(1, 9, "pass", "fail")
    assert leading(hand.run, 1) == ""
    assert "goes_for" not in decision(hand, 1).numbers
