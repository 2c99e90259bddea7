"""The bank says what is so: every solution, defect, oracle and truth is run for real, in child processes."""

from __future__ import annotations

import collections
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from bank_runs import RUN, alone, combinations, counts, missed, oracles, tree

from pge_nb import bank
from pge_nb.bank import Defect, PracticeStep, PracticeTask
from pge_nb.errors import BadInput
from pge_nb.records import FileRef, attempt_hash

STEPS = [(task, step) for task in bank.tasks() for step in task.steps]
each_step = pytest.mark.parametrize(("task", "step"), STEPS, ids=[f"{t.name}-{s.number}" for t, s in STEPS])
each_task = pytest.mark.parametrize("task", bank.tasks(), ids=lambda task: task.name)


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
    assert set(alone(task.name, step.number)[0].values()) == {0}


@each_step
def test_the_solution_meets_every_file_and_command_check(task: PracticeTask, step: PracticeStep) -> None:
    met = looked_at(task, step, ())
    assert met
    assert all(met.values()), met


@each_step
def test_a_defect_breaks_exactly_the_checks_that_it_says(task: PracticeTask, step: PracticeStep) -> None:
    for defect, failed in zip(step.defects, alone(task.name, step.number)[1:], strict=True):
        met = {id_: count == 0 for id_, count in failed.items()} | looked_at(task, step, (defect,))
        assert {id_ for id_, good in met.items() if not good} == set(defect.breaks) & set(met), defect.id


@each_step
def test_no_combination_of_defects_hides_one_from_the_oracles(task: PracticeTask, step: PracticeStep) -> None:
    every = combinations(task, step)[:RUN]
    for defects, failed in zip(every, missed(task, step, every), strict=True):
        found = bank.truth(task.name, attempt_hash(bank.files(bank.render(step, defects))))
        assert found is not None
        assert found.defects == tuple(defect.id for defect in defects)
        assert {id_: count == 0 for id_, count in failed.items()} == {id_: found.met[id_] for id_ in failed}, (
            found.defects
        )


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
def test_a_step_has_three_to_twelve_defects_that_go_together(task: PracticeTask, step: PracticeStep) -> None:
    assert 3 <= len(step.defects) <= 12
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
    for defects in combinations(task, step):
        texts = bank.render(step, defects)
        assert bank.truth(task.name, attempt_hash(bank.files(texts))) is not None
        assert texts == bank.render(step, reversed(defects))
        for path, text in texts.items():
            if path.endswith(".py"):
                compile(text, path, "exec")
            if path.endswith(".ipynb"):
                json.loads(text)


@each_task
def test_a_task_is_whole(task: PracticeTask) -> None:
    names = {entry["name"] for entry in task.plan["criteria"]}  # type: ignore[index,union-attr,call-overload]
    costed = {name for step in task.steps for defect in step.defects for name in defect.costs}
    assert costed <= names
    assert 2 <= len(names) <= 3
    assert [step.number for step in task.steps] == list(range(1, len(task.steps) + 1))
    assert 1 <= len(task.steps) <= 3
    assert sum(len(step.defects) for step in task.steps) >= 8
    assert all(len(step.checks) >= 3 for step in task.steps)
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
        if not all(path.endswith(".py") for path in step.solution):
            continue
        imported = set(re.findall(r"^(?:from|import) (\w+)", "\n".join(step.solution.values()), re.MULTILINE))
        needed = {
            other.number
            for other in task.steps
            if other is not step and imported & {Path(path).stem for path in other.solution}
        }
        assert isinstance(listed, dict)
        assert listed["depends_on"] == sorted(needed)


def test_most_tasks_have_steps_that_depend_on_others() -> None:
    depending = [task for task in bank.tasks() if any(entry["depends_on"] for entry in task.plan["steps"])]  # type: ignore[index,union-attr,call-overload]
    assert len(depending) > len(bank.tasks()) / 2


def test_an_oracle_has_12_to_40_inputs_of_json() -> None:
    for task in bank.tasks():
        for own in task.oracles:
            assert 12 <= len(own.cases) <= 40, own.name
            keys = [json.dumps([case.args, dict(case.kwargs)], allow_nan=False) for case in own.cases]
            assert len(set(keys)) == len(keys), own.name


@each_step
def test_a_step_has_enough_hidden_inputs_to_tell_a_slight_defect(task: PracticeTask, step: PracticeStep) -> None:
    assert sum(len(own.cases) for own in oracles(step).values()) >= 20


def test_the_inputs_that_fail_are_those_that_were_counted() -> None:
    kept = json.loads(bank.COUNTS.read_text(encoding="utf-8"))
    assert kept == counts(), "run `python tests/bank_runs.py` and look at what changed"


@each_step
def test_a_defect_that_no_look_finds_is_one_of_form(task: PracticeTask, step: PracticeStep) -> None:
    for defect in step.defects:
        looks = {str(step.checks[int(id_[1:]) - 1]["method"]) for id_ in defect.breaks} - {"judge"}
        assert defect.form != bool(looks), defect.id
        assert (bank.grade(task.name, defect.id) is not None) == ("oracle" in looks), defect.id


def test_defects_come_in_every_grade() -> None:
    grades = {
        task.name: collections.Counter(
            bank.grade(task.name, defect.id) for step in task.steps for defect in step.defects
        )
        for task in bank.tasks()
    }
    assert all(len(each.keys() - {None}) >= 2 for each in grades.values()), grades
    whole = sum(grades.values(), collections.Counter())
    assert min(whole[grade] for grade in ("slight", "partial", "gross")) >= 15, whole


@pytest.mark.parametrize("path", ["README.md", "CHANGELOG.md"])
def test_tasks_and_defects_are_as_many_as_is_said(path: str) -> None:
    text = Path(__file__).parents[1].joinpath(path).read_text(encoding="utf-8")
    defects = sum(len(step.defects) for task in bank.tasks() for step in task.steps)
    assert f"{len(bank.tasks())} practice tasks" in text
    assert f"{defects} known defects" in text


def test_a_grade_is_the_share_of_inputs_that_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = {"money": {"a": [0, 30], "b": [1, 30], "c": [2, 20], "d": [10, 20], "e": [11, 20]}}
    (tmp_path / "missed.json").write_text(json.dumps(counted))
    monkeypatch.setattr(bank, "COUNTS", tmp_path / "missed.json")
    bank.counted.cache_clear()
    grades = [bank.grade("money", id_) for id_ in "abcde"]
    bank.counted.cache_clear()
    assert grades == [None, "slight", "partial", "partial", "gross"]


def test_a_defect_that_is_none_names_the_nearest() -> None:
    with pytest.raises(BadInput, match="Did you mean minus-lost"):
        bank.grade("money", "minus-lots")


def test_tasks_are_loaded_when_they_are_asked_for() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from pge_nb import bank; import pge_nb.magic; before = set(sys.modules); bank.practice_task('money');"
            " print(*sorted(set(sys.modules) - before)); print(*[n for n in bank.NAMES if f'pge_nb.bank.{n}' in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    assert said[0].split() == ["pge_nb.bank.money", "pge_nb.bank.oracles", "pge_nb.bank.oracles.money"]
    assert said[1] == "money"


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
        ("Build me a pocket calculator", "calculator"),
        ("A sign-up form with e-mail and password", "registration"),
        ("Render Markdown headings as HTML", "markup"),
        ("Write a notice about the new opening hours of our museum", "notice"),
        ("A notebook that plots monthly sales", "report"),
        ("A web page with a form for mortgages", "page"),
        ("How many business days lie between two dates?", "workdays"),
        ("Read a CSV file with quoted fields", "table"),
        ("Dijkstra's shortest path", "routes"),
        ("Convert miles to kilometres", "units"),
        ("Reconcile my bank statement", "reconcile"),
        ("Conway's game of life", "grid"),
        ("An LRU cache class", "limits"),
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
