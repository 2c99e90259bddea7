"""A plan is a graph without circles: what is wrong with one is told with its path, refused, or mended and told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages_stub import MessagesStub
from scripted import MODEL, PLAN, PROMPT, Request, fenced, scripted

from pge_nb import dag
from pge_nb.agents.planner import read_plan
from pge_nb.agents.replies import Unusable
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.payloads import Json
from pge_nb.records import Plan, Record, Step
from pge_nb.state import StateFile


def steps(*needs: tuple[int, ...]) -> tuple[Step, ...]:
    """Steps 1, 2, ... that depend on those listed."""
    return tuple(Step(number=n, description=f"step {n}", depends_on=on) for n, on in enumerate(needs, 1))


def reply(*needs: Json) -> dict[str, Json]:
    return {"steps": [{"description": f"step {n}", "depends_on": on} for n, on in enumerate(needs, 1)]}


@pytest.mark.parametrize(
    ("needs", "path"),
    [
        (((), (1,), (1, 2)), ()),
        (((1,),), (1, 1)),
        (((3,), (), (1,)), (1, 3, 1)),
        (((2,), (3,), (4, 2), ()), (2, 3, 2)),
        (((), (1, 4), (2,), (3,)), (2, 4, 3, 2)),
    ],
)
def test_a_circle_is_told_by_its_path(needs: tuple[tuple[int, ...], ...], path: tuple[int, ...]) -> None:
    assert dag.circle(steps(*needs)) == path
    if path:
        assert dag.fault(steps(*needs)) == f"step {path[0]} would wait for itself: {dag.told(path)}"


graphs = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.integers(1, n), max_size=3).map(tuple), min_size=n, max_size=n)
)


@given(graphs)
def test_there_is_a_circle_exactly_where_no_order_exists(needs: list[tuple[int, ...]]) -> None:
    made = steps(*needs)
    place = {step.number: at for at, step in enumerate(dag.in_order(made))}
    follows = all(place[need] < place[step.number] for step in made for need in step.depends_on)
    assert follows == (dag.circle(made) == ())
    assert sorted(place) == [step.number for step in made]


@given(graphs)
def test_a_reply_is_mended_into_a_plan_that_can_be_carried_out(needs: list[tuple[int, ...]]) -> None:
    plan = read_plan(reply(*map(list, needs)), ())
    assert dag.fault(plan.steps) == ""
    assert plan.steps == dag.in_order(plan.steps)
    lost = sum(len(set(one)) for one in needs) - sum(len(step.depends_on) for step in plan.steps)
    assert lost == len(plan.notes)


def test_an_order_that_holds_is_left_as_it_came() -> None:
    made = steps((), (1,), (), (2, 3))
    assert dag.in_order(made) == made


def test_a_step_may_depend_on_one_that_was_written_behind_it() -> None:
    plan = read_plan(reply([2], [], [1]), (), strict=True)
    assert [step.number for step in plan.steps] == [2, 1, 3]
    assert plan.notes == ()


def test_ancestors_and_depths() -> None:
    made = steps((), (1,), (), (2, 3))
    assert dag.ancestors(made, 4) == {1, 2, 3}
    assert dag.ancestors(made, 1) == frozenset()
    assert dag.depths(made) == {1: 0, 2: 1, 3: 0, 4: 2}


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (([3], [], [1]), "step 1 would wait for itself: 1 -> 3 -> 1"),
        (([], [2]), "step 2 would wait for itself: 2 -> 2"),
        (([], [9]), "step 2 depends on 9, which is no step of the plan; its steps are 1, 2"),
    ],
)
def test_a_reply_with_a_fault_is_sent_back_once_with_the_path_then_mended_and_told(
    tmp_path: Path, needs: tuple[list[int], ...], reason: str
) -> None:
    with pytest.raises(Unusable, match=reason):
        read_plan(reply(*needs), (), strict=True)  # type: ignore[arg-type]
    asked: list[Request] = []

    def stubborn(request: Request) -> str:
        asked.append(request)
        return fenced({**PLAN, **reply(*needs)})  # type: ignore[arg-type]

    with MessagesStub(scripted(planner=stubborn)) as stub, pytest.MonkeyPatch.context() as patch:
        for name, value in stub.environ.items():
            patch.setenv(name, value)
        config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "shared_state.md", max_calls=2)
        plan = PGEHarness(config).run(PROMPT).plan
    assert plan is not None
    assert dag.fault(plan.steps) == ""
    assert len(asked) == 2
    assert reason in json.dumps(asked[1])
    assert plan.notes[0] == f"sent back: {reason}"
    assert plan.notes[1].endswith("left out")


def test_a_plan_with_a_fault_is_never_written(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    plan = Plan(title="t", scope="s", steps=steps((2,), (1,)))
    with pytest.raises(BadInput, match="1 -> 2 -> 1"):
        state.append(Record(payload=plan, by="person"))
    assert not state.path.exists()


# Large plans


@pytest.mark.parametrize(
    ("needs", "count", "most_notes"),
    [
        (lambda number: [number], 3_000, 31),
        (lambda number: [number % 3_000 + 1], 3_000, 1),
        (lambda number: [number + 1] if number < 3_000 else [], 3_000, 0),
        (lambda number: [(number - 1 ^ 1) + 1], 3_000, 31),
        (lambda _: list(range(1, 151)), 150, 31),
    ],
    ids=["themselves", "one circle", "backwards", "pairs", "everyone"],
)
def test_a_plan_of_thousands_of_circles_is_mended_soon_and_told_in_few_words(
    needs: Callable[[int], list[Json]], count: int, most_notes: int
) -> None:
    """The bound is ten times what it takes; to go over all steps again for each circle takes minutes."""
    began = time.process_time()
    plan = read_plan(reply(*(needs(number) for number in range(1, count + 1))), ())
    assert time.process_time() - began < 3
    assert len(plan.steps) == count
    assert dag.fault(plan.steps) == ""
    done: set[int] = set()
    for step in plan.steps:
        assert done.issuperset(step.depends_on)
        done.add(step.number)
    assert len(plan.notes) <= most_notes
    assert sum(map(len, plan.notes)) < 8_000


@given(st.lists(st.lists(st.integers(1, 6), max_size=4, unique=True), min_size=6, max_size=6))
def test_circles_are_those_that_are_found_anew_when_each_has_lost_its_last_dependency(needs: list[list[int]]) -> None:
    left, anew = [list(one) for one in needs], []
    while path := dag.circle(steps(*map(tuple, left))):
        anew.append(path)
        left[path[-2] - 1].remove(path[-1])
    assert list(dag.circles(steps(*map(tuple, needs)))) == anew
