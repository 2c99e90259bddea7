"""Generated practice tasks: any number of steps over a plan of a given shape, the same everywhere, their truth known."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from bank_runs import alone, combinations, missed, oracles
from notebook_shell import Shell

from pge_nb import bank, dag
from pge_nb.agents.planner import read_plan
from pge_nb.bank import generated
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.models import About, CallStopped, Request
from pge_nb.models.practice import Practice, PracticeSettings
from pge_nb.records import attempt_hash

SMALL = "generated:steps=5,dag=random,seed=3"


def needs(name: str) -> list[list[int]]:
    return [step["depends_on"] for step in bank.practice_task(name).plan["steps"]]  # type: ignore[union-attr,index,call-overload,misc]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ("chain", [[], [1], [2], [3]]),
        ("fan", [[], [1], [1], [1]]),
        ("diamond", [[], [1], [1], [2, 3]]),
        ("free", [[], [], [], []]),
    ],
)
def test_a_plan_has_the_shape_that_was_asked_for(shape: str, wanted: list[list[int]]) -> None:
    assert needs(f"generated:steps=4,dag={shape}") == wanted


def test_a_random_plan_is_a_graph_without_circles_and_another_seed_another_plan() -> None:
    every = [needs(f"generated:steps=60,dag=random,seed={seed}") for seed in range(3)]
    for seed in range(3):
        plan = read_plan(dict(bank.practice_task(f"generated:steps=60,seed={seed}").plan), (), strict=True)
        assert dag.fault(plan.steps) == ""
        assert any(len(step.depends_on) > 1 for step in plan.steps)
    assert every[0] != every[1] != every[2]


def test_a_name_is_the_same_task_however_it_is_written_and_its_prompt_names_it() -> None:
    task = bank.practice_task("generated:seed=3,steps=5")
    assert task.name == SMALL
    assert task == bank.practice_task(SMALL)
    assert bank.match(task.prompt) == task
    assert bank.match(f"{task.prompt} And more.") is None
    assert bank.oracle(f"{SMALL}/part_04") == task.oracles[3]


@pytest.mark.parametrize(
    "name", ["generated:steps=0", "generated:steps=501", "generated:dag=round", "generated:x=1", "generated:steps=a"]
)
def test_what_cannot_be_made_is_told_with_a_name_that_can(name: str) -> None:
    with pytest.raises(BadInput, match="generated:steps=30,dag=random,seed=7"):
        bank.practice_task(name)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_every_combination_of_defects_breaks_what_the_bank_says(number: int) -> None:
    task = bank.practice_task(SMALL)
    step = bank.practice_step(task, number)
    every = combinations(task, step)
    for defects, failed in zip(every, missed(task, step, every), strict=True):
        truth = bank.truth(task.name, attempt_hash(bank.files(bank.render(step, defects))))
        assert truth is not None
        assert truth.defects == tuple(defect.id for defect in defects)
        assert truth.met["c1"] == (failed["c1"] == 0), truth.defects
    assert set(oracles(step)) == {"c1"}


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_the_grade_of_a_defect_is_the_share_of_inputs_that_really_fail(number: int) -> None:
    step = bank.practice_step(bank.practice_task(SMALL), number)
    for defect, failed in zip(step.defects, alone(SMALL, number)[1:], strict=True):
        assert bank.inputs_missed(SMALL, defect.id) == (failed["c1"], 39)
    assert [bank.grade(SMALL, defect.id) for defect in step.defects] == ["gross", "partial", "slight", "slight", None]


def test_every_rule_of_many_tasks_has_defects_of_every_grade() -> None:
    for seed in range(20):
        name = f"generated:steps=40,seed={seed}"
        grades = [bank.grade(name, defect) for defect in generated.counts(name)]
        assert grades == ["gross", "partial", "slight", "slight", None] * 40


def test_a_module_imports_what_its_step_depends_on() -> None:
    task = bank.practice_task(SMALL)
    for step, before in zip(task.steps, needs(SMALL), strict=True):
        (text,) = step.solution.values()
        assert [int(line[10:12]) for line in text.split("\n") if line.startswith("from part_")] == before


def test_it_is_run_by_its_name_with_as_many_steps_as_it_has(shell: Shell, tmp_path: Path) -> None:
    ran = shell.cell("%pge run --practice generated:steps=9,dag=free,seed=1 --skill 1 --parallel 3")
    assert ran.error is None, ran.text
    assert ran.view.mark in {"passed", "degraded"}
    assert len(list((tmp_path / "work").glob("part_0*.py"))) == 9


# Calls that take a while


def request(step: int = 1) -> Request:
    return Request(
        model="practice",
        system="",
        messages=({"role": "user", "content": "x"},),
        about=About(role="generator", phase="propose", step=step, round=1, task=SMALL),
    )


def test_a_delay_is_that_of_the_call_between_a_tenth_of_it_and_all_of_it() -> None:
    model = Practice("practice:delay=0.05")
    took = [model.reply(request(step)).seconds for step in (1, 2, 3, 4, 5)]
    assert all(0.005 <= seconds <= 0.05 for seconds in took)
    assert len(set(took)) == 5
    assert took == [Practice("practice:delay=0.05").reply(request(step)).seconds for step in (1, 2, 3, 4, 5)]


def test_a_delay_changes_nothing_of_a_reply() -> None:
    slow, quick = PracticeSettings(delay=0.05), PracticeSettings()
    assert [slow.for_role(role) for role in ("generator", "evaluator")] == [
        quick.for_role(role) for role in ("generator", "evaluator")
    ]
    assert slow.model_name == "practice:delay=0.05"


def test_a_wait_is_cut_short() -> None:
    began = time.monotonic()
    with pytest.raises(CallStopped):
        Practice("practice:delay=60").reply(request(), stop=lambda: time.monotonic() - began > 0.1)
    assert time.monotonic() - began < 1


def test_a_run_of_it_in_python(tmp_path: Path) -> None:
    config = HarnessConfig(
        model="practice:skill=1.0,miss=0.0,false_alarm=0.0,noise=0.0", shared_state_path=tmp_path / "shared_state.md"
    )
    came = PGEHarness(config).run(bank.practice_task(SMALL).prompt)
    assert came.outcome == "passed"
    assert came.run.task.practice == SMALL
