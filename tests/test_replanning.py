"""A step whose retries are used up is cut into smaller ones; the others, and the work on them, stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hand_runs import Hand
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import (
    ADD,
    CHECKS,
    MODEL,
    PLAN,
    PROMPT,
    TWICE,
    Request,
    fenced,
    findings,
    first_message,
    role_of,
    scripted,
)

from pge_nb import bank, frames, views
from pge_nb import records as r
from pge_nb.agents.frozen import freeze
from pge_nb.agents.planner import Planner
from pge_nb.agents.raters import rater_of
from pge_nb.agents.replanning import brief, in_place, read_cut
from pge_nb.agents.replies import Unusable
from pge_nb.config import HarnessConfig
from pge_nb.exports.handoff import files as handoff
from pge_nb.exports.history import commits
from pge_nb.harness import PGEHarness
from pge_nb.models.practice import Practice
from pge_nb.phases import Phase, due
from pge_nb.results import result_of
from pge_nb.run import Run, same
from pge_nb.skills import Skill
from pge_nb.state import open_run
from pge_nb.studies.items import items, truth_of
from pge_nb.workspace import Objects

WRONG = "def add(a, b):\n    return a - b\n"
MINUS = '\n\ndef minus(a, b):\n    """The difference."""\n    return a - b\n'
PIECES = [
    {"description": "the sum", "skill_type": "code", "task_type": "function", "success": ["add(2, 3) returns 5"]},
    {"description": "the difference", "skill_type": "code", "depends_on": [1], "success": ["minus(3, 1) returns 2"]},
]
CUT = {"reason": "sum and difference are two things", "steps": PIECES}
OF_MINUS = [
    {"says": "minus(3, 1) returns 2", "method": "oracle", "args": {"call": "calc.minus", "args": [3, 1], "returns": 2}}
]


def step_in(request: Request) -> int:
    found = re.search(r"Step (\d+)", first_message(request))
    return int(found[1]) if found else 0


def played(wrong: Callable[[int], bool], cut: Any = CUT, **replaced: Any) -> MessagesStub:
    """The scripted run whose step 1, and what it is cut into, is done wrong where ``wrong`` says so, with low scores."""

    def propose(request: Request) -> Any:
        step = step_in(request)
        checks = CHECKS[2] if step == 2 else CHECKS[1] if step % 2 else OF_MINUS
        return fenced({"deliverables": ["calc.py"], "checks": checks})

    def generate(request: Request) -> Any:
        step = step_in(request)
        code = WRONG if wrong(step) else ADD + (MINUS if step % 2 == 0 else "") + (TWICE if step == 2 else "")
        return f"Approach: plain.\n\n```python calc.py\n{code}```\n"

    def evaluate(request: Request) -> Any:
        right = "return a + b" in first_message(request)
        return fenced({"findings": findings(request, score=8.5 if right else 3.0)})

    def replan(request: Request) -> Any:
        return cut(request) if callable(cut) else fenced(cut)

    roles: Any = {"propose": propose, "generate": generate, "evaluate": evaluate, "replan": replan, **replaced}
    return MessagesStub(scripted(**roles))


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Carries the task out against such a stub; the run."""

    def carry(stub: MessagesStub, where: str = "one", **settings: Any) -> Run:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        given = {"max_retries_per_step": 1, "model": MODEL, "max_tokens_total": 4_000_000, **settings}
        return (
            PGEHarness(HarnessConfig(shared_state_path=tmp_path / where / "shared_state.md", **given)).run(PROMPT).run
        )

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    return carry


def actions(run: Run, step: int) -> list[str]:
    return [s.payload.action for s in run.of("decision", step) if isinstance(s.payload, r.Decision)]


def first_alone(step: int) -> bool:
    return step == 1


# A run


def test_a_step_that_fails_is_cut_and_its_pieces_carry_the_run_to_its_end(carried: Callable[..., Run]) -> None:
    with played(first_alone) as stub:
        run = carried(stub)
    assert run.outcome == "passed"
    assert actions(run, 1) == ["refine", "replan"]
    plan = run.plan
    assert plan is not None
    assert plan.replan == r.Replan(step=1, by=(3, 4), why="sum and difference are two things")
    assert [(step.number, step.depends_on) for step in run.steps] == [(3, ()), (4, (3,)), (2, (4,))]
    assert [(step.number, run.state(step.number)) for step in run.every_step] == [
        (1, "replanned"),
        (3, "accepted"),
        (4, "accepted"),
        (2, "accepted"),
    ]
    decision = run.decision(1)
    assert decision is not None
    assert decision.reason == "both attempts failed; it is to be cut into smaller steps, replan 1 of at most 1"
    assert decision.numbers["replans"] == 1
    assert sorted(run.attempts(1)) == [1, 2]
    # What steps behind the replanned one start from are the pieces' files, whatever their numbers.
    assert run.root is not None
    assert "def twice" in (run.root / "work" / "calc.py").read_text()
    contract = run.contract(2)
    assert contract is not None
    assert {check.says for check in contract.checks} >= {"minus(3, 1) returns 2", "add(2, 3) returns 5"}


def test_the_planner_is_told_the_step_its_contract_what_was_tried_and_what_is_done(carried: Callable[..., Run]) -> None:
    with played(lambda step: step == 2) as stub:
        run = carried(stub, on_exhausted=("replan", "advance"))
        sent = [first_message(request) for request in stub.requests if role_of(request) == "replan"]
    (text,) = sent
    assert "Step 2, to be cut (skill_type 'general'): twice" in text
    assert "- 1 (accepted): add -> calc.py" in text
    assert "- 2 (to be cut, needs 1): twice" in text
    assert "- c1: twice(4) returns 8 [oracle]" in text
    assert "What was tried: 2 attempts; the best is attempt 1." in text
    assert "- attempt 2 (refine): overall 3.0; Approach: plain." in text
    assert "- c1: fail: not met" in text
    asked = next(at for at, section in enumerate(run.sections) if section.record.kind == "plan" and at > 1)
    assert brief(Run(run.sections[:asked], root=run.root), 2) == text
    assert [step.number for step in run.steps] == [1, 3, 4]


def test_what_the_planner_was_sent_is_shown_and_costs_are_counted_by_the_phase(
    carried: Callable[..., Run], tmp_path: Path
) -> None:
    with played(first_alone) as stub:
        run = carried(stub)
        harness = PGEHarness(HarnessConfig(shared_state_path=tmp_path / "one" / "shared_state.md"))
        shown = harness.request("planner", 1)
        assert shown.messages[0]["content"] in [first_message(request) for request in stub.requests]
        assert shown.about.phase == "replan"
    calls = frames.calls(run)
    assert list(calls[calls["role"] == "planner"]["phase"]) == ["plan", "replan"]
    cost = frames.cost(run)
    assert set(cost[cost["role"] == "planner"]["phase"]) == {"plan", "replan"}


def test_a_step_that_cannot_be_cut_goes_the_next_way_and_the_reason_is_told(carried: Callable[..., Run]) -> None:
    with played(first_alone, {"reason": "one sum is one sum", "steps": []}) as stub:
        run = carried(stub)
    assert run.outcome == "paused"
    assert actions(run, 1) == ["refine", "replan", "ask"]
    plan, decision = run.plan, run.decision(1)
    assert plan is not None
    assert decision is not None
    assert plan.replan == r.Replan(step=1, by=(), why="one sum is one sum")
    assert decision.reason == (
        "both attempts failed; the planner could not cut it into smaller steps (one sum is one sum)"
    )
    assert [step.number for step in run.steps] == [1, 2]
    assert run.state(1) == "asking"


@pytest.mark.parametrize(
    ("cut", "why"),
    [
        (lambda _: "I would rather not.", "the planner's reply could not be used"),
        ({"reason": "", "steps": PIECES[:1]}, "the planner gave one step in place of one"),
        ({"reason": "many", "steps": [{"description": f"{n}"} for n in range(5)]}, "the step was cut into 5"),
    ],
)
def test_a_cut_that_is_none_is_sent_back_once_and_then_not_taken(
    carried: Callable[..., Run], cut: Any, why: str
) -> None:
    with played(first_alone, cut) as stub:
        run = carried(stub)
        assert sum(role_of(request) == "replan" for request in stub.requests) == 2
    plan = run.plan
    assert plan is not None
    assert plan.replan is not None
    assert plan.replan.by == ()
    assert plan.replan.why.startswith(why)
    assert plan.notes[0].startswith("sent back: ")
    assert len(plan.calls) == 2


def test_after_max_replans_the_next_way_applies(carried: Callable[..., Run]) -> None:
    with played(lambda step: step in {1, 3}) as stub:
        run = carried(stub)
    assert actions(run, 3) == ["refine", "ask"]
    decision = run.decision(3)
    assert decision is not None
    assert decision.reason == "both attempts failed; step 1 was cut already"
    assert run.outcome == "paused"


def test_no_replan_where_none_is_allowed(carried: Callable[..., Run]) -> None:
    with played(first_alone) as stub:
        run = carried(stub, max_replans=0)
        assert not any(role_of(request) == "replan" for request in stub.requests)
    assert actions(run, 1) == ["refine", "ask"]


def test_two_replans_in_a_row_with_the_same_skill_that_fail_are_infeasible(carried: Callable[..., Run]) -> None:
    with played(lambda step: step != 2) as stub:
        run = carried(stub, max_replans=5)
        assert sum(role_of(request) == "replan" for request in stub.requests) == 2
    assert run.outcome == "infeasible"
    assert run.line(5) == (1, 3, 5)
    assert run.part(5) == "1.1.1"
    states = {step.number: run.state(step.number) for step in run.every_step}
    assert states == {1: "replanned", 3: "replanned", 5: "infeasible", 6: "blocked", 4: "blocked", 2: "blocked"}
    decision = run.decision(5)
    assert decision is not None
    assert decision.action == "stop"
    assert decision.reason == (
        "both attempts failed; two replans in a row used the skill 'code' and failed: "
        "infeasible with the skills at hand"
    )
    assert decision.numbers["replans"] == 2
    assert "infeasible with the skills at hand" in views.run_view(run).plain()
    assert result_of(run, Path()).summary.startswith("infeasible; step 1 replanned after 2 attempt(s)")


def test_another_skill_in_the_second_replan_is_no_end(carried: Callable[..., Run]) -> None:
    cuts: Iterator[str] = iter(["code", "algebra"])

    def cut(_: Request) -> str:
        skill = next(cuts)
        return fenced({"reason": "so", "steps": [piece | {"skill_type": skill} for piece in PIECES]})

    with played(lambda step: step != 2, cut) as stub:
        run = carried(stub, max_replans=2)
    assert run.outcome == "paused"
    assert actions(run, 5) == ["refine", "ask"]


def test_a_cut_may_name_the_skills_of_the_run_alone(carried: Callable[..., Run]) -> None:
    """One that there is not is sent back, and then one that there is stands in, told."""
    skills = {"code": Skill(description="writes code"), "prose": Skill(description="writes prose")}
    plan = PLAN | {"steps": [step | {"skill_type": "code"} for step in PLAN["steps"]]}  # type: ignore[attr-defined]
    wrong = {"reason": "so", "steps": [piece | {"skill_type": "algebra"} for piece in PIECES]}
    with played(first_alone, wrong, planner=lambda _: fenced(plan)) as stub:
        run = carried(stub, skills=skills)
        (text, *_) = [first_message(request) for request in stub.requests if role_of(request) == "replan"]
    assert "- prose: writes prose" in text
    changed = run.plan
    assert changed is not None
    assert changed.notes[0].startswith("sent back: step 1 has the skill 'algebra', and there are code, prose")
    assert [step.skill_type for step in run.steps] == ["code"] * 3
    assert changed.notes[-1] == "step 4: there is no skill 'algebra'; 'code' stands in"


# Where steps are listed


def test_a_replanned_step_stays_wherever_steps_are_listed(carried: Callable[..., Run]) -> None:
    with played(first_alone) as stub:
        run = carried(stub)
    plan = frames.plan(run)
    assert list(plan["step"]) == [1, 3, 4, 2]
    assert list(plan["state"]) == ["replanned", "accepted", "accepted", "accepted"]
    assert plan["replaced_by"][0] == "3, 4"
    shown = views.plan_view(run).plain()
    assert "replanned" in shown
    assert (
        "Steps 3 and 4 stand in place of step 1. Both attempts failed; it is to be cut into smaller steps, "
        "replan 1 of at most 1. The planner: sum and difference are two things"
    ) in shown
    assert "replanned" in views.run_view(run).plain()
    assert {1, 3, 4, 2} == set(frames.evaluations(run)["step"]) == set(frames.checks(run)["step"])
    logs = result_of(run, run.root or Path()).step_logs
    assert [(log.step, log.state, len(log.tried)) for log in logs[:2]] == [(1, "replanned", 2), (3, "accepted", 1)]
    assert "replanned" in handoff(run)["progress.md"].decode()
    assert "Steps 3 and 4 stand in place of step 1" in handoff(run)["artifacts/plan.md"].decode()
    assert {"step-1-attempt-2", "step-3-attempt-1"} <= {one.branch for one in commits(run)}
    text = (run.root / "shared_state.md").read_text() if run.root else ""
    assert "## Steps 3 and 4 stand in place of step 1\n" in text


def test_commands_find_a_replanned_step(shell: Shell) -> None:
    shell.cell("%config PGE.degrade_floor = 9.0")
    shell.cell("%pge run --practice textkit --skill 0.3 --seed 3 --max-retries 1")
    run = open_run("shared_state.md")
    (replan, *_) = run.replans
    assert run.state(replan.step) == "replanned"
    ran = shell.cell(f"%pge show evaluations {replan.step}.1")
    assert "FAIL" in ran.view.plain() or "fail" in ran.view.plain()
    assert "replanned" in shell.cell("%pge show plan").view.plain()
    assert f"Step {replan.step}" in shell.cell(f"%pge show contract {replan.step}").view.plain()


def test_the_planner_by_itself_cuts_the_step_that_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "shared_state.md"
    with played(first_alone) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        harness = PGEHarness(HarnessConfig(shared_state_path=state, model=MODEL, max_retries_per_step=0))
        harness.start(PROMPT)
        for section in harness.records():
            if isinstance(section.payload, r.Decision):
                break
        Planner(config=harness.config).run(PROMPT, state)
    run = open_run(state)
    assert [replan.by for replan in run.replans] == [(3, 4)]
    assert run.state(1) == "replanned"


# As often as it is interrupted, in whatever order


def test_stopping_after_any_section_gives_the_same_file(
    carried: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with played(first_alone) as stub:
        whole = carried(stub)
    with played(first_alone) as stub:
        state = tmp_path / "two" / "shared_state.md"
        given = {"max_retries_per_step": 1, "model": MODEL, "max_tokens_total": 4_000_000}
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        PGEHarness(HarnessConfig(shared_state_path=state, **given)).start(PROMPT)  # type: ignore[arg-type]
        for _ in range(len(whole.sections)):
            for _section in PGEHarness(HarnessConfig(shared_state_path=state, **given)).records():  # type: ignore[arg-type]
                break
    assert same(open_run(state), whole)


def test_side_by_side_a_replan_waits_for_the_others_and_the_end_is_the_same(tmp_path: Path) -> None:
    prompt = bank.practice_task("textkit").prompt

    def ended(where: str, *, broken: bool) -> Run:
        state = tmp_path / where / "shared_state.md"
        state.parent.mkdir()
        settings: Any = {
            "max_parallel": 3,
            "max_retries_per_step": 1,
            "degrade_floor": 9.5,
            "on_exhausted": ("replan", "advance"),
        }
        config = HarnessConfig(shared_state_path=state, model="practice:skill=0.2,seed=3,delay=0.01", **settings)
        PGEHarness(config).start(prompt)
        if broken:
            for _ in range(20):
                for _section in PGEHarness(config).records():
                    break
        PGEHarness(config).resume()
        return open_run(state)

    one, other = ended("whole", broken=False), ended("broken", broken=True)
    assert len(one.replans) >= 2
    assert same(one, other)


def test_the_bank_knows_what_is_so_of_the_pieces_and_a_replay_asks_about_them(tmp_path: Path) -> None:
    settings: Any = {"max_retries_per_step": 1, "degrade_floor": 9.5, "on_exhausted": ("replan", "advance")}
    config = HarnessConfig(
        shared_state_path=tmp_path / "shared_state.md", model="practice:skill=0.2,seed=3", **settings
    )
    run = PGEHarness(config).run(bank.practice_task("textkit").prompt).run
    pieces = [step.number for step in run.steps if run.part(step.number)]
    assert len(pieces) > 1
    assert {one.step for one in items(run)} == {step.number for step in run.every_step}
    for step in pieces:
        report = run.evaluation(step, 1)
        assert report is not None
        assert truth_of(run, step, report, {})
        asked = freeze(run, step, 1, Objects(tmp_path)).request(rater_of(run.settings), 0)
        assert "not of the practice bank" not in Practice("practice:seed=5").reply(asked).text


# Pure parts


def plan_of(*needs: tuple[int, ...]) -> r.Plan:
    steps = tuple(r.Step(number=n, description=f"{n}", depends_on=on) for n, on in enumerate(needs, 1))
    return r.Plan(title="t", scope="s", steps=steps)


def cut_into(*needs: tuple[int, ...]) -> tuple[r.Step, ...]:
    return tuple(r.Step(number=n, description=f"piece {n}", depends_on=on) for n, on in enumerate(needs, 1))


def test_pieces_stand_in_the_steps_place_and_what_built_on_it_builds_on_their_ends() -> None:
    plan = in_place(plan_of((), (1,), (2,), (1,)), 2, cut_into((), (), (1, 2)), above=7)
    assert [(step.number, step.depends_on) for step in plan.steps] == [
        (1, ()),
        (8, (1,)),
        (9, (1,)),
        (10, (1, 8, 9)),
        (3, (10,)),
        (4, (1,)),
    ]


def test_where_no_piece_rests_on_another_all_are_ends() -> None:
    plan = in_place(plan_of((), (1,)), 1, cut_into((), ()), above=2)
    assert [(step.number, step.depends_on) for step in plan.steps] == [(3, ()), (4, ()), (2, (3, 4))]


def test_without_pieces_the_plan_is_the_same() -> None:
    assert in_place(plan_of((), (1,)), 1, (), above=2) == plan_of((), (1,))


def test_a_reply_needs_steps_or_a_reason() -> None:
    with pytest.raises(Unusable, match="neither steps nor a reason"):
        read_cut({}, [], strict=True)
    assert read_cut({}, []) == ((), "the planner gave no steps, and no reason")
    assert read_cut({"steps": [], "reason": " too small "}, [], strict=True) == ((), "too small")
    with pytest.raises(Unusable, match="are no list"):
        read_cut({"steps": "two"}, [])
    with pytest.raises(Unusable, match="1 -> 2 -> 1"):
        read_cut(
            {"steps": [{"description": "a", "depends_on": [2]}, {"description": "b", "depends_on": [1]}]},
            [],
            strict=True,
        )


def replanned(hand: Hand, step: int, *by: int, needs: tuple[int, ...] = (), skill: str = "code") -> Hand:
    """The step cut into these, each of which builds on the one before."""
    plan = hand.run.plan
    assert plan is not None
    pieces = tuple(
        r.Step(number=number, description="", skill_type=skill, depends_on=by[place - 1 : place] if place else needs)
        for place, number in enumerate(by)
    )
    steps = tuple(one for old in plan.steps for one in (pieces if by and old.number == step else (old,)))
    return hand.add(
        r.Plan(title="t", scope="s", steps=steps, criteria=plan.criteria, replan=r.Replan(step=step, by=by, why="w"))
    )


def test_a_replan_is_due_after_its_decision_and_decided_on_again_where_it_could_not_cut() -> None:
    hand = Hand((), on_exhausted=["replan", "ask"]).tried(3.0, 3.0, 3.0).decided("replan", 3)
    assert due(hand.run) == (Phase(name="replan", step=1, attempt=3, round=2),)
    assert hand.run.state(1) == "working"
    hand = replanned(hand, 1)
    assert due(hand.run) == (Phase(name="decide", step=1, attempt=3, round=2),)


def test_numbers_and_lines_of_cuts_of_cuts() -> None:
    hand = replanned(replanned(Hand((), (1,)), 1, 3, 4), 3, 5, 6)
    run = hand.run
    assert [step.number for step in run.every_step] == [1, 3, 5, 6, 4, 2]
    assert [step.number for step in run.before(4)] == [1, 3, 5, 6]
    assert [run.line(number) for number in (2, 4, 6)] == [(2,), (1, 4), (1, 3, 6)]
    assert [run.part(number) for number in (2, 4, 6)] == ["", "1.2", "1.1.2"]
    assert run.same_skill(6) == "code"
    assert run.same_skill(4) == ""


def test_a_plan_that_was_made_anew_has_no_steps_of_the_one_before() -> None:
    hand = replanned(Hand((), (1,)), 1, 3, 4)
    hand.add(plan_of((), ()))
    assert [step.number for step in hand.run.every_step] == [1, 2]
    assert hand.run.highest == 4, "no number is used for another step"
    assert hand.run.replans == ()
    assert hand.run.part(1) == ""
