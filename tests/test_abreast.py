"""Who waits for whom where steps are worked on side by side: each rule by itself, on runs written by hand."""

from __future__ import annotations

import pytest
from hand_runs import CHECKS, Hand

from pge_nb import records as r
from pge_nb.abreast import apart, at_once, blocked_by, builds_on, overlap
from pge_nb.phases import due


def hand(*needs: tuple[int, ...], most: int = 4, **settings: object) -> Hand:
    return Hand(*needs, max_parallel=most, **settings)  # type: ignore[arg-type]


def now(made: Hand) -> list[str]:
    return [str(phase) for phase in due(made.run)]


def agreed(made: Hand, step: int, *paths: str) -> Hand:
    """Negotiated, and still to be settled."""
    made.add(r.Proposal(deliverables=paths, checks=CHECKS), step)
    return made.respond(step, agreed=True)


def settled(made: Hand, step: int, *paths: str) -> Hand:
    agreed(made, step, *paths)
    return made.add(r.StepContract(deliverables=paths, checks=CHECKS, agreed=True, origin=""), step)


def done(made: Hand, step: int, action: r.Action = "accept") -> Hand:
    return made.attempt(1, step).evaluate(1, 9, step=step).decided(action, 1, step)


def test_ready_steps_are_due_in_the_order_of_the_plan_one_phase_each_and_no_more_than_may_be() -> None:
    made = hand((), (), (1,), (), most=2)
    assert now(made) == ["propose 1", "propose 2"]
    made = hand((), (), (1,), (), most=9)
    assert now(made) == ["propose 1", "propose 2", "propose 4"]


def test_with_one_at_once_the_first_is_due_alone() -> None:
    assert now(Hand((), ())) == ["propose 1"]
    made = hand((), ())
    made.add(r.Amendment(limits={"max_parallel": 1}))
    assert apart(made.run)
    assert at_once(made.run) == 1
    assert now(made) == ["propose 1"]


def test_an_amendment_does_not_make_a_run_parallel_that_was_not_begun_so() -> None:
    made = Hand((), ())
    made.add(r.Amendment(limits={"max_parallel": 4}))
    assert now(made) == ["propose 1"]


def test_a_contract_waits_for_those_before_it_to_be_settled() -> None:
    made = agreed(hand((), ()), 2, "b.py")
    assert now(made) == ["propose 1"]
    agreed(made, 1, "a.py")
    assert now(made) == ["settle 1"], "then 2, whose files are its own"
    made.add(r.StepContract(deliverables=("a.py",), checks=CHECKS, agreed=True, origin=""), 1)
    assert now(made) == ["generate 1.1", "settle 2"]


def test_what_is_deeper_in_the_plan_is_settled_later_whatever_its_place() -> None:
    """Steps 1, 2 on 1, 3 on nothing: 3 does not wait for 2, and 2 waits for 3."""
    made = done(settled(hand((), (1,), ()), 1, "a.py"), 1)
    agreed(made, 2, "b.py")
    assert now(made) == ["propose 3"]
    agreed(made, 3, "c.py")
    assert now(made) == ["settle 3"]


@pytest.mark.parametrize("path", ["a.py", "a/__init__.py", "a/b.py"])
def test_a_contract_waits_until_those_that_share_its_files_are_done(path: str) -> None:
    made = agreed(settled(hand((), ()), 1, "a.py"), 2, path)
    assert now(made) == ["generate 1.1"]
    made.attempt(1).evaluate(1, 9)
    assert now(made) == ["decide 1.1"]
    made.decided("accept", 1)
    assert now(made) == ["settle 2"]


def test_a_file_that_was_named_and_dropped_in_the_negotiation_counts_as_shared() -> None:
    made = settled(hand((), ()), 1, "a.py")
    made.add(r.Proposal(deliverables=("a.py",), checks=CHECKS), 2)
    made.add(r.Response(agreed=False, reason="", deliverables=("b.py",), checks=CHECKS), 2)
    agreed(made, 2, "b.py")
    assert now(made) == ["generate 1.1"]


@pytest.mark.parametrize("deliverables", [(), ("a.py", "b.py")], ids=["any file", "files of the plan"])
def test_without_contracts_steps_go_one_after_another(deliverables: tuple[str, ...]) -> None:
    made = hand(contract=False)
    steps = tuple(r.Step(number=n, description=f"step {n}") for n in (1, 2))
    made.add(r.Plan(title="t", scope="s", deliverables=deliverables, steps=steps))
    assert now(made) == ["settle 1"]
    made.add(r.StepContract(deliverables=deliverables, checks=CHECKS, agreed=False, origin=""), 1)
    assert now(made) == ["generate 1.1"]
    done(made, 1)
    assert now(made) == ["settle 2"]
    made.add(r.StepContract(deliverables=deliverables, checks=CHECKS, agreed=False, origin=""), 2)
    assert builds_on(made.run, 2, deliverables) == (1,)


def test_nobody_waits_for_one_that_can_get_no_contract() -> None:
    made = settled(hand((), (1,), ()), 1, "a.py")
    agreed(made, 3, "c.py")
    assert now(made) == ["generate 1.1", "settle 3"]
    made = done(settled(hand((), (), (1,), (2,)), 1, "a.py"), 1, "stop")
    done(settled(made, 2, "b.py"), 2)
    agreed(made, 4, "d.py")
    assert now(made) == ["settle 4"], "step 3 is blocked for good"


def test_nobody_waits_for_one_that_waits_for_a_person_but_those_that_share_its_files() -> None:
    made = settled(hand((), (), (1,), (2,), (2,)), 1, "a.py")
    made.attempt(1).evaluate(1, None).decided("ask", 1)
    done(settled(made, 2, "b.py"), 2)
    agreed(agreed(made, 4, "d.py"), 5, "a.py")
    assert now(made) == ["settle 4"]
    made.add(r.StepContract(deliverables=("d.py",), checks=CHECKS, agreed=True, origin=""), 4)
    assert now(made) == ["generate 4.1"], "5 goes on in the file of the step that asks"


def test_a_contract_that_is_negotiated_again_is_waited_for_again_and_two_of_them_do_not_wait_for_each_other() -> None:
    made = settled(settled(hand((), ()), 1, "a.py"), 2, "b.py")
    for step in (1, 2):
        made.add(r.Amendment(limits={}, text="more", phase="contract"), step)
    agreed(made, 2, "b.py")
    assert now(made) == ["propose 1"]
    agreed(made, 1, "b.py")
    assert now(made) == ["settle 1"]
    made.add(r.StepContract(deliverables=("b.py",), checks=CHECKS, agreed=True, origin=""), 1)
    assert now(made) == ["generate 1.1"]


def test_a_new_plan_is_made_when_all_else_rests() -> None:
    made = settled(settled(hand((), (), on_exhausted=["replan"]), 1, "a.py"), 2, "b.py")
    made.attempt(1).evaluate(1, 2).decided("replan", 1)
    assert now(made) == ["generate 2.1"]
    done(made, 2)
    assert now(made) == ["replan 1.1"]


def test_known_bad_work_is_shown_before_any_attempt_is_judged() -> None:
    """The first step of the plan shows it; others wait until it was judged, so that what the judge passed is known to all."""
    made = settled(settled(hand((), (), canaries=1), 1, "a.py"), 2, "b.py")
    made.attempt(1, 2)
    assert now(made) == ["generate 1.1"]
    made.attempt(1, 1)
    assert now(made) == ["evaluate 1.1"]
    made.evaluate(1, 9, step=1, purpose="canary")
    assert now(made) == ["evaluate 1.1"]
    made.evaluate(1, 9, step=1)
    assert now(made) == ["decide 1.1", "evaluate 2.1"]


# On what a step rests


def test_a_step_builds_on_what_it_depends_on_and_on_what_was_settled_before_in_its_files() -> None:
    made = done(settled(hand((), (1,), (2,), (), (), ()), 1, "a.py"), 1)
    done(settled(made, 4, "x.py"), 4)
    done(settled(made, 5, "y.py"), 5)
    done(settled(made, 2, "b.py"), 2)
    settled(made, 3, "c.py", "x.py")
    settled(made, 6, "x.py")
    assert builds_on(made.run, 3, ("c.py", "x.py")) == (1, 4, 2), "in the order in which they were done"
    assert set(builds_on(made.run, 6, ("x.py",))) == {3, 4}
    assert builds_on(made.run, 5, ("y.py",)) == ()


def test_one_after_another_a_step_builds_on_all_before_it() -> None:
    assert builds_on(Hand((), (), (1,)).run, 3, ("a.py",)) == (1, 2)


@pytest.mark.parametrize(
    ("left", "right", "meet"),
    [
        (["a.py"], ["a.py"], True),
        (["a.py"], ["b.py"], False),
        (["a/b.py"], ["a/c.py"], False),
        (["a.py"], ["a/c.py"], True),
        (["a/__init__.py"], ["a/c.py"], True),
        (["a/__init__.py"], ["a.py"], True),
        (["a"], ["a/b/c.md"], True),
        (["doc.md"], ["doc.txt"], False),
        (["ab.py"], ["a/b.py"], False),
        (["__init__.py"], ["b.py"], False),
    ],
)
def test_when_files_touch(left: list[str], right: list[str], meet: bool) -> None:
    assert overlap(left, right) is overlap(right, left) is meet


def test_a_blocked_step_names_all_that_failed_above_it() -> None:
    made = hand((), (), (1,), (3, 2))
    for step in (1, 2):
        done(settled(made, step, f"{step}.py"), step, "stop")
    assert blocked_by(made.run, 4) == (1, 2)
    assert blocked_by(made.run, 1) == ()
