"""Vague sentences are sent back once, with the reason; the planner looks once more only where that can help."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import CHECKS, MODEL, PLAN, PROMPT, Request, fenced, first_message, role_of, scripted, step_of

from pge_nb import bank
from pge_nb.agents.opening import open_state
from pge_nb.config import HarnessConfig, identity
from pge_nb.harness import PGEHarness
from pge_nb.records import Plan, Proposal, Record, Response, Task
from pge_nb.run import Run, same
from pge_nb.state import open_run
from pge_nb.vague_parts import SECOND_LOOK, is_looked_for

ROOT = Path(__file__).parents[1]
VAGUE = "add works correctly"
SHARP = "add(2, 3) returns 5"


def planned(*first: str) -> dict[str, Any]:
    """The scripted plan with other success criteria for its first step."""
    steps: list[Any] = list(PLAN["steps"])  # type: ignore[call-overload]
    return {**PLAN, "steps": [{**steps[0], "success": list(first)}, steps[1]]}


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(**{"model": MODEL, "shared_state_path": tmp_path / "shared_state.md", **settings})


Served = Callable[..., Any]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """A stub that plays the scripted run with the replies of some roles replaced; ``look`` answers the second look."""

    @contextmanager
    def context(
        look: Callable[[Request], Any] = lambda _: fenced({"vague": []}), **replaced: Any
    ) -> Iterator[MessagesStub]:
        def script(request: Request) -> Any:
            return look(request) if is_look(request) else scripted(**replaced)(request)

        with MessagesStub(script) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            yield stub

    return context


def is_look(request: Request) -> bool:
    return "look once more at what decides" in json.dumps(request["system"])


def looks(stub: MessagesStub) -> list[Request]:
    return [one for one in stub.requests if is_look(one)]


def plan_of(run: Run) -> Plan:
    assert run.plan is not None
    return run.plan


def in_turn(*replies: Any) -> Callable[[Request], Any]:
    """The replies one after another, the last one again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


# The rule


def test_a_vague_success_criterion_is_sent_back_once_with_the_reason(served: Served, tmp_path: Path) -> None:
    with served(planner=in_turn(fenced(planned(VAGUE)), fenced(planned(SHARP)))) as stub:
        run = PGEHarness(config(tmp_path)).run(PROMPT).run
    asked = [one for one in stub.requests if role_of(one) == "planner"]
    assert len(asked) == 2
    said = asked[1]["messages"][-1]["content"]
    assert 'in step 1, "add works correctly" is vague ("works correctly")' in str(said)
    assert "say what a test could prove wrong" in str(said)
    assert plan_of(run).steps[0].success == (SHARP,)
    (note,) = plan_of(run).notes
    assert note.startswith('sent back: in step 1, "add works correctly" is vague ("works correctly")')
    assert looks(stub) == []
    assert run.outcome == "passed"


def test_what_comes_back_as_vague_stands_and_is_told(served: Served, tmp_path: Path) -> None:
    with served(planner=lambda _: fenced(planned(VAGUE))) as stub:
        run = PGEHarness(config(tmp_path, second_look=False)).run(PROMPT).run
    assert len([one for one in stub.requests if role_of(one) == "planner"]) == 2
    assert plan_of(run).steps[0].success == (VAGUE,)
    assert plan_of(run).notes[-1] == f"vague, and kept: {VAGUE}"
    assert run.of("attempt", 1)


def test_a_vague_check_of_the_judge_is_sent_back_to_whoever_wrote_it(served: Served, tmp_path: Path) -> None:
    """The generator's proposal, and the evaluator's own version; what a review decides is exact, whatever its words."""
    by_oracle = {**CHECKS[1][0], "says": "add works correctly for small numbers"}
    vague = {"says": "The docstring is good", "method": "judge", "args": {}}
    clear = {"says": "add has a docstring", "method": "judge", "args": {}}
    other = {"says": "The code is readable", "method": "judge", "args": {}}

    def terms(*checks: dict[str, Any], **more: Any) -> str:
        return fenced({"deliverables": ["calc.py"], "checks": checks, **more})

    first = {
        "propose": in_turn(terms(by_oracle, vague), terms(by_oracle, clear)),
        "respond": in_turn(
            terms(by_oracle, clear, other, agreed=False, reason="more"),
            terms(by_oracle, clear, agreed=False, reason="more"),
        ),
    }

    def of_first(role: str) -> Callable[[Request], Any]:
        return lambda request: None if step_of(request) == 2 else first[role](request)

    with served(propose=of_first("propose"), respond=of_first("respond")) as stub:
        harness = PGEHarness(config(tmp_path, max_contract_rounds=1))
        harness.start(PROMPT)
        for section in harness.records():
            if section.record.kind == "contract":
                break
    run = open_run(tmp_path / "shared_state.md")
    proposal, response = run.of("proposal", 1)[0].payload, run.of("response", 1)[0].payload
    assert isinstance(proposal, Proposal)
    assert isinstance(response, Response)
    assert 'sent back: "The docstring is good" is vague ("is good")' in proposal.notes[0]
    assert 'sent back: "The code is readable" is vague ("is readable")' in response.notes[0]
    assert "small numbers" not in str(proposal.notes + response.notes)
    contract = run.contract(1)
    assert contract is not None
    assert [check.says for check in contract.checks] == [by_oracle["says"], clear["says"]]
    assert len([one for one in stub.requests if role_of(one) == "propose"]) == 2


def test_a_sentence_is_sent_back_once_in_all_rounds(served: Served, tmp_path: Path) -> None:
    vague = {"deliverables": ["calc.py"], "checks": [{"says": "The code is good", "method": "judge", "args": {}}]}
    own = {**vague, "agreed": False, "reason": "I insist"}
    with served(
        propose=lambda request: fenced(vague) if step_of(request) == 1 else None,
        respond=lambda request: fenced(own) if step_of(request) == 1 else None,
    ) as stub:
        harness = PGEHarness(config(tmp_path, max_contract_rounds=3))
        harness.start(PROMPT)
        for section in harness.records():
            if section.record.kind == "contract":
                break
    asked = [one for one in stub.requests if role_of(one) in {"propose", "respond"}]
    assert len(asked) == 6 + 1
    run = open_run(tmp_path / "shared_state.md")
    notes = [note for kind in ("proposal", "response") for s in run.of(kind, 1) for note in s.payload.notes]  # type: ignore[union-attr]
    assert sum(note.startswith("sent back") for note in notes) == 1
    assert notes.count("vague, and kept: The code is good") == 6


def test_the_smaller_steps_that_a_step_is_cut_into_are_read_by_the_rule_too(served: Served, tmp_path: Path) -> None:
    def cut(*second: str) -> str:
        piece = {"skill_type": "code", "task_type": "code", "depends_on": []}
        pieces = [
            {**piece, "description": "one", "success": [SHARP]},
            {**piece, "description": "two", "success": second},
        ]
        return fenced({"reason": "too much at once", "steps": pieces})

    cuts = in_turn(cut("The rest is implemented"), cut("add(0, 0) returns 0"))
    settings = {"max_retries_per_step": 0, "on_exhausted": ("replan",)}
    with served(replan=cuts, generate=lambda _: "```python calc.py\nx = 1\n```\n"):
        harness = PGEHarness(config(tmp_path, **settings))
        harness.start(PROMPT)
        for _ in harness.records():
            if len((run := open_run(tmp_path / "shared_state.md")).of("plan")) == 2:
                break
    assert run.plans[-1].replan is not None
    assert [step.success for step in run.plans[1].steps if step.description == "two"] == [("add(0, 0) returns 0",)]
    assert any("is implemented" in note and note.startswith("sent back: ") for note in run.plans[1].notes)


# The planner's look


def test_the_planner_looks_once_more_where_the_rule_sees_nothing_that_could_be_seen(
    served: Served, tmp_path: Path
) -> None:
    german = "Die Funktion addiert richtig"
    instead = {"vague": [{"at": "1.1", "instead": "add(2, 3) gibt 5 zurück"}, {"at": "9.9", "instead": "x"}]}
    with served(planner=lambda _: fenced(planned(german, SHARP)), look=lambda _: fenced(instead)) as stub:
        run = PGEHarness(config(tmp_path)).run(PROMPT).run
    (asked,) = looks(stub)
    told = first_message(asked)
    assert PROMPT in told
    assert told.endswith("Look at 1.1.")
    assert f"- 1.2: {SHARP}" in told
    assert plan_of(run).steps[0].success == ("add(2, 3) gibt 5 zurück", SHARP)
    assert plan_of(run).notes == (f"second look: in step 1, {german!r} became 'add(2, 3) gibt 5 zurück'",)
    assert [call.id.split("/")[:2] for call in plan_of(run).calls] == [["planner", "plan"], ["planner", SECOND_LOOK]]
    text = (tmp_path / "shared_state.md").read_text("utf-8")
    assert "second look: in step 1" in text


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        (fenced({"vague": []}), "second look: none of 1 criterion is vague"),
        (fenced({"vague": [{"at": "1.1", "instead": "It works well"}]}), "second look: none of 1 criterion is vague"),
        (
            fenced({"vague": [{"at": "1.1", "instead": " "}, 3, {"at": None}]}),
            "second look: none of 1 criterion is vague",
        ),
        ("I see nothing.", "second look: the reply could not be used (there is no JSON object in the reply; "),
        (fenced({"vague": "1.1"}), 'second look: the reply could not be used (there is no list "vague"; '),
    ],
)
def test_a_look_that_finds_nothing_usable_leaves_the_plan_as_it_is(
    reply: str, note: str, served: Served, tmp_path: Path
) -> None:
    with served(planner=lambda _: fenced(planned("add takes numbers")), look=lambda _: reply):
        run = PGEHarness(config(tmp_path)).run(PROMPT).run
    assert plan_of(run).steps[0].success == ("add takes numbers",)
    assert len(plan_of(run).notes) == 1
    assert plan_of(run).notes[0].startswith(note)


def test_no_call_is_made_for_a_plan_whose_criteria_can_all_be_seen_nor_where_it_is_off(
    served: Served, tmp_path: Path
) -> None:
    for name, first, settings in (("seen", SHARP, {}), ("off", "add takes numbers", {"second_look": False})):
        (place := tmp_path / name).mkdir()
        with served(planner=lambda _, first=first: fenced(planned(first))) as stub:
            run = PGEHarness(config(place, **settings)).run(PROMPT).run
        assert looks(stub) == []
        assert plan_of(run).notes == ()
        assert plan_of(run).steps[0].success == (first,)


def test_practice_is_looked_at_no_second_time_unless_it_is_asked_for(tmp_path: Path) -> None:
    grid = bank.practice_task("units").prompt
    for name, settings, expected in (("plain", {}, 1), ("asked", {"second_look": True}, 2)):
        (place := tmp_path / name).mkdir()
        run = PGEHarness(config(place, model="practice", **settings)).run(grid).run
        assert len(plan_of(run).calls) == expected


def test_a_run_that_is_stopped_after_the_look_asks_nobody_twice(served: Served, tmp_path: Path) -> None:
    """The look is in the call log: a run that was killed before the plan was written goes on from there, unpaid."""
    script: dict[str, Any] = {
        "planner": lambda _: fenced(planned("add takes numbers")),
        "look": lambda _: fenced({"vague": [{"at": "1.1", "instead": SHARP}]}),
    }
    for name in ("whole", "again"):
        (tmp_path / name).mkdir()
    with served(**script) as stub:
        whole = PGEHarness(config(tmp_path / "whole")).run(PROMPT).run
        harness = PGEHarness(config(tmp_path / "again"))
        harness.run(PROMPT)
        before = len(stub.requests)
        state = harness.state.path
        first = next(section for section in open_run(state).sections if section.record.kind == "plan")
        data = state.read_bytes()[: first.offset]
        state.write_bytes(data)
        (state.parent / ".pge" / "head").unlink()
        again = PGEHarness(config(tmp_path / "again")).resume().run
        assert len(stub.requests) == before
    assert same(whole, again)


# Runs from before, and what is shown


def test_a_run_that_was_begun_without_the_look_goes_on_without_it(served: Served, tmp_path: Path) -> None:
    """Neither the rule nor the call: what its agents are sent is what they were sent then."""
    settings = config(tmp_path).settings()
    assert is_looked_for(settings)
    prompts = {name: value for name, value in settings["prompts"].items() if name != SECOND_LOOK}  # type: ignore[union-attr]
    old = {**settings, "prompts": prompts}
    task = Task(prompt=PROMPT, run=identity(PROMPT, old), settings=old)
    open_state(tmp_path / "shared_state.md").append(Record(payload=task, by="person"))
    vague = {"deliverables": ["calc.py"], "checks": [{"says": "The code is good", "method": "judge", "args": {}}]}
    with served(planner=lambda _: fenced(planned(VAGUE, "add takes numbers")), propose=lambda _: fenced(vague)) as stub:
        run = PGEHarness(config(tmp_path)).run(PROMPT).run
    assert looks(stub) == []
    assert len([one for one in stub.requests if role_of(one) == "planner"]) == 1
    assert len([one for one in stub.requests if role_of(one) == "propose"]) == 2
    assert plan_of(run).notes == ()
    proposal = run.of("proposal", 1)[0].payload
    assert isinstance(proposal, Proposal)
    assert proposal.notes == ()


def test_the_shipped_recording_is_from_before() -> None:
    first = (ROOT / "examples/recordings/basket.jsonl").read_text("utf-8").split("\n", 1)[0]
    assert not is_looked_for(json.loads(first)["header"]["settings"])


def test_what_was_sent_back_is_shown_with_the_plan_and_with_the_contract(
    shell: Shell, served: Served, tmp_path: Path
) -> None:
    vague = {"deliverables": ["calc.py"], "checks": [{"says": "The code is good", "method": "judge", "args": {}}]}
    good = {"deliverables": ["calc.py"], "checks": CHECKS[1]}
    proposals = in_turn(fenced(vague), fenced(good))
    with served(
        planner=in_turn(fenced(planned(VAGUE)), fenced(planned(SHARP))),
        propose=lambda request: proposals(request) if step_of(request) == 1 else None,
    ):
        shell.cell(f"%%pge run --model {MODEL}\n{PROMPT}")
        plan = shell.cell("%pge show plan").view.plain()
        contract = shell.cell("%pge show contract 1").view.plain()
    assert 'sent back: in step 1, "add works correctly" is vague' in " ".join(plan.split())
    assert 'Round 1, generator: sent back: "The code is good" is vague ("is good")' in " ".join(contract.split())
