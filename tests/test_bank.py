"""The bank says what is so: every solution, defect, oracle and truth is run for real, in child processes."""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from pge_nb import bank
from pge_nb.bank import Defect, PracticeStep, PracticeTask
from pge_nb.errors import BadInput
from pge_nb.records import FileRef, attempt_hash

CHILD = r"""
import importlib, json, pathlib, sys, tempfile
sys.dont_write_bytecode = True
variants, calls = json.load(sys.stdin)
answers = []
for files in variants:
    with tempfile.TemporaryDirectory() as place:
        for path, text in files.items():
            pathlib.Path(place, path).write_text(text, encoding="utf-8")
            sys.modules.pop(pathlib.PurePath(path).stem, None)
        sys.path.insert(0, place)
        importlib.invalidate_caches()
        outcomes = []
        for module, function, cases in calls:
            for args, kwargs in cases:
                try:
                    outcomes.append({"returns": getattr(importlib.import_module(module), function)(*args, **kwargs)})
                except Exception as error:
                    outcomes.append({"raises": type(error).__name__})
        answers.append(outcomes)
        sys.path.remove(place)
json.dump(answers, sys.stdout)
"""

STEPS = [(task, step) for task in bank.tasks() for step in task.steps]
each_step = pytest.mark.parametrize(("task", "step"), STEPS, ids=[f"{t.name}-{s.number}" for t, s in STEPS])
each_task = pytest.mark.parametrize("task", bank.tasks(), ids=lambda task: task.name)


def tree(task: PracticeTask, step: PracticeStep, defects: Iterable[Defect]) -> dict[str, str]:
    """All of a task's modules: the others sound, this step's with the defects."""
    sound = {path: text for other in task.steps for path, text in other.solution.items()}
    return sound | dict(bank.render(step, defects))


def oracles(step: PracticeStep) -> dict[str, bank.Oracle]:
    """A step's oracles by the id of the check that asks for them."""
    return {
        f"c{i}": bank.oracle(str(check["args"]["oracle"]))  # type: ignore[index,call-overload]
        for i, check in enumerate(step.checks, 1)
        if check["method"] == "oracle"
    }


def missed(task: PracticeTask, step: PracticeStep, variants: list[tuple[Defect, ...]]) -> list[dict[str, float]]:
    """For every variant, the share of hidden inputs that fail, by check."""
    asked = oracles(step)
    calls = [
        (*own.call.split("."), [(list(case.args), dict(case.kwargs)) for case in own.cases]) for own in asked.values()
    ]
    child = subprocess.run(
        [sys.executable, "-I", "-c", CHILD],
        input=json.dumps([[tree(task, step, defects) for defects in variants], calls]),
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    wanted = [
        {"raises": case.raises} if case.raises else {"returns": case.returns}
        for own in asked.values()
        for case in own.cases
    ]
    shares = []
    for outcomes in json.loads(child.stdout):
        # Compared as text: 1, 1.0 and true are three values here.
        wrong = iter([json.dumps(was) != json.dumps(want) for was, want in zip(outcomes, wanted, strict=True)])
        shares.append(
            {id_: sum(itertools.islice(wrong, len(own.cases))) / len(own.cases) for id_, own in asked.items()}
        )
    return shares


@functools.cache
def alone(task_name: str, number: int) -> list[dict[str, float]]:
    """`missed` for the solution and then for each defect by itself."""
    task = bank.practice_task(task_name)
    step = bank.practice_step(task, number)
    return missed(task, step, [(), *((defect,) for defect in step.defects)])


def looked_at(task: PracticeTask, step: PracticeStep, defects: tuple[Defect, ...]) -> dict[str, bool]:
    """What the step's file and command checks say, run for real."""
    met = {}
    with tempfile.TemporaryDirectory() as place:
        for path, text in tree(task, step, defects).items():
            Path(place, path).write_text(text, encoding="utf-8")
        for i, check in enumerate(step.checks, 1):
            args = check["args"]
            assert isinstance(args, dict)
            if check["method"] == "file":
                text = Path(place, str(args["path"])).read_text(encoding="utf-8")
                met[f"c{i}"] = str(args.get("contains", "")) in text and bool(
                    re.search(str(args.get("matches", "")), text)
                )
            if check["method"] == "command":
                met[f"c{i}"] = ran(args, place)
    return met


def ran(args: Mapping[str, object], place: str) -> bool:
    command = args["run"]
    assert isinstance(command, list)
    assert command[0] == "python"
    done = subprocess.run(
        [sys.executable, "-B", *command[1:]], cwd=place, capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode == args.get("exit", 0) and str(args.get("prints", "")) in done.stdout


@each_step
def test_the_solution_meets_every_oracle(task: PracticeTask, step: PracticeStep) -> None:
    assert oracles(step)
    assert set(alone(task.name, step.number)[0].values()) == {0.0}


@each_step
def test_the_solution_meets_every_file_and_command_check(task: PracticeTask, step: PracticeStep) -> None:
    met = looked_at(task, step, ())
    assert met
    assert all(met.values()), met


@each_step
def test_a_defect_breaks_exactly_the_checks_that_it_says(task: PracticeTask, step: PracticeStep) -> None:
    for defect, shares in zip(step.defects, alone(task.name, step.number)[1:], strict=True):
        met = {id_: share == 0 for id_, share in shares.items()} | looked_at(task, step, (defect,))
        assert {id_ for id_, good in met.items() if not good} == set(defect.breaks) & set(met), defect.id


@each_step
def test_no_combination_of_defects_hides_one_from_the_oracles(task: PracticeTask, step: PracticeStep) -> None:
    every = [chosen for size in range(len(step.defects) + 1) for chosen in itertools.combinations(step.defects, size)]
    for defects, shares in zip(every, missed(task, step, every), strict=True):
        found = bank.truth(task.name, attempt_hash(bank.files(bank.render(step, defects))))
        assert found is not None
        assert found.defects == tuple(defect.id for defect in defects)
        assert {id_: share == 0 for id_, share in shares.items()} == {id_: found.met[id_] for id_ in shares}, defects


@each_step
def test_file_and_command_checks_agree_with_the_truth_of_a_sample(task: PracticeTask, step: PracticeStep) -> None:
    rng = random.Random(f"{task.name} {step.number}")
    for _ in range(2):
        defects = tuple(defect for defect in step.defects if rng.random() < 0.5)
        found = bank.truth(task.name, attempt_hash(bank.files(bank.render(step, defects))))
        assert found is not None
        met = looked_at(task, step, defects)
        assert met == {id_: found.met[id_] for id_ in met}, found.defects


@each_step
def test_a_step_is_whole(task: PracticeTask, step: PracticeStep) -> None:
    methods = [check["method"] for check in step.checks]
    assert set(step.deliverables) == set(step.solution)
    assert 1 <= methods.count("oracle") <= 2
    assert {"file", "command"} & set(methods)
    assert "judge" in methods
    assert all(set(check) == {"says", "method", "args"} for check in step.checks)
    assert set(step.first_checks) <= set(range(len(step.checks)))
    assert bool(step.objection) == (len(step.first_checks) < len(step.checks))
    for path, text in step.solution.items():
        assert text.endswith("\n")
        assert "\r" not in text
        if path.endswith(".py"):
            compile(text, path, "exec")


@each_step
def test_a_step_has_three_to_seven_defects_that_go_together(task: PracticeTask, step: PracticeStep) -> None:
    assert 3 <= len(step.defects) <= 7
    ids = {f"c{i}" for i in range(1, len(step.checks) + 1)}
    broken = {id_ for defect in step.defects for id_ in defect.breaks}
    judged = {f"c{i}" for i, check in enumerate(step.checks, 1) if check["method"] == "judge"}
    assert judged <= broken, "a judge that is never tested"
    for defect in step.defects:
        assert step.solution[defect.path].count(defect.old) == 1, defect.id
        assert defect.old != defect.new
        assert set(defect.breaks) <= ids
        assert defect.costs
        assert all(0 < points <= bank.SOUND for points in defect.costs.values())
        if defect.path.endswith(".py"):
            compile(bank.render(step, [defect])[defect.path], defect.path, "exec")
    assert bank.render(step, reversed(step.defects)) == bank.render(step, step.defects)


@each_task
def test_a_task_is_whole(task: PracticeTask) -> None:
    names = {entry["name"] for entry in task.plan["criteria"]}  # type: ignore[index,union-attr,call-overload]
    costed = {name for step in task.steps for defect in step.defects for name in defect.costs}
    assert costed <= names
    assert 2 <= len(names) <= 3
    assert [step.number for step in task.steps] == list(range(1, len(task.steps) + 1))
    assert 2 <= len(task.steps) <= 3
    assert sum(len(step.defects) for step in task.steps) >= 5
    asked = [own.name for step in task.steps for own in oracles(step).values()]
    assert sorted(asked) == sorted(own.name for own in task.oracles)


@each_task
def test_a_prompt_has_one_to_four_sentences(task: PracticeTask) -> None:
    assert 1 <= len(re.findall(r"[.?!](?=\s|$)", task.prompt)) <= 4


@each_task
def test_a_later_step_imports_what_it_depends_on(task: PracticeTask) -> None:
    steps = task.plan["steps"]
    assert isinstance(steps, list)
    for step, listed in zip(task.steps, steps, strict=True):
        imported = set(re.findall(r"^(?:from|import) (\w+)", "\n".join(step.solution.values()), re.MULTILINE))
        needed = {
            other.number
            for other in task.steps
            if other is not step and imported & {Path(path).stem for path in other.solution}
        }
        assert isinstance(listed, dict)
        assert listed["depends_on"] == sorted(needed)
    assert any(entry["depends_on"] for entry in steps)


def test_an_oracle_has_12_to_30_inputs_of_json() -> None:
    for task in bank.tasks():
        for own in task.oracles:
            assert 12 <= len(own.cases) <= 30, own.name
            keys = [json.dumps([case.args, dict(case.kwargs)], allow_nan=False) for case in own.cases]
            assert len(set(keys)) == len(keys), own.name


def test_names_are_unique() -> None:
    for names in (
        [task.name for task in bank.tasks()],
        [own.name for task in bank.tasks() for own in task.oracles],
        [f"{task.name} {defect.id}" for task in bank.tasks() for step in task.steps for defect in step.defects],
        [path for task in bank.tasks() for step in task.steps for path in step.deliverables],
    ):
        assert len(set(names)) == len(names)


def test_a_prompt_is_met_whatever_its_white_space_and_case() -> None:
    task = bank.tasks()[0]
    assert bank.match(f"\n  {task.prompt.upper()}".replace(" ", "\n ")) is task
    assert bank.match(task.prompt + " Be quick.") is None


@each_task
def test_the_nearest_task_to_a_part_of_a_prompt_is_its_own(task: PracticeTask) -> None:
    words = task.prompt.split()
    assert bank.nearest(" ".join(words[len(words) // 4 :])) is task
    assert bank.nearest(task.title) is task


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("slug maker", "textkit"),
        ("Write a function that merges overlapping meetings.", "intervals"),
        ("parse dollars", "money"),
        ("Compute the 90th quantile of reaction times", "stats"),
        ("A converter for Roman years", "roman"),
    ],
)
def test_the_nearest_task_to_other_words_is_about_the_same_thing(prompt: str, name: str) -> None:
    assert bank.nearest(prompt).name == name


def test_an_unknown_task_or_oracle_names_the_nearest() -> None:
    with pytest.raises(BadInput, match="textkit"):
        bank.practice_task("textkid")
    with pytest.raises(BadInput, match="textkit/slugify"):
        bank.oracle("textkit/slug")
    with pytest.raises(BadInput, match="no step 9"):
        bank.practice_step(bank.tasks()[0], 9)


def test_an_attempt_changed_by_hand_has_no_known_truth() -> None:
    task = bank.tasks()[0]
    texts = {path: text + "\n" for path, text in task.steps[0].solution.items()}
    assert bank.truth(task.name, attempt_hash(bank.files(texts))) is None
    one = FileRef(path="a", mode=0o644, sha256="0" * 64, size=0)
    assert bank.truth(task.name, attempt_hash((one,))) is None


def test_the_truth_of_a_solution_is_that_all_is_met() -> None:
    task = bank.tasks()[0]
    found = bank.truth(task.name, attempt_hash(bank.files(task.steps[0].solution)))
    assert found is not None
    assert found.step == 1
    assert not found.defects
    assert all(found.met.values())
    assert set(found.quality.values()) == {bank.SOUND}
