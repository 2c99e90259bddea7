"""The bank's attempts run for real, in child processes; run as a program, it counts anew what each defect makes fail."""

from __future__ import annotations

import functools
import itertools
import json
import random
import subprocess
import sys
from collections.abc import Iterable

from pge_nb import bank
from pge_nb.bank import Defect, PracticeStep, PracticeTask
from pge_nb.reviews.oracle import agrees

WHOLE = 7
"""Up to so many defects in a step all of their combinations are run, beyond it a sample."""
SAMPLE = 200
RUN = 2**WHOLE
"""Up to so many combinations are run; all of the sample are rendered."""

CHILD = r"""
import copy, importlib, json, os, pathlib, sys, tempfile, types
sys.dont_write_bytecode = True
variants, calls = json.load(sys.stdin)
readers = {source: compile(source, "reader", "exec") for source, *_ in calls if source is not None}
answers, out = [], os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
for files in variants:
    with tempfile.TemporaryDirectory() as place:
        for path, text in files.items():
            pathlib.Path(place, path).write_text(text, encoding="utf-8")
            sys.modules.pop(pathlib.PurePath(path).stem, None)
        os.chdir(place)
        sys.path.insert(0, place)
        importlib.invalidate_caches()
        outcomes = []
        for reader, module, function, cases in calls:
            for args, kwargs in cases:
                try:
                    if reader is None:
                        there = importlib.import_module(module)
                    elif not outcomes or there.__name__ != module:
                        there = types.ModuleType(module)
                        exec(readers[reader], there.__dict__)
                    value = getattr(there, function)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
                    outcomes.append({"returns": json.loads(json.dumps(value))})
                except Exception as error:
                    outcomes.append({"raises": [cls.__name__ for cls in type(error).__mro__]})
        answers.append(outcomes)
        sys.path.remove(place)
        os.chdir("/")
json.dump(answers, out)
out.flush()
"""


def tree(task: PracticeTask, step: PracticeStep, defects: Iterable[Defect]) -> dict[str, str]:
    """All of a task's files: the others sound, this step's with the defects."""
    sound = {path: text for other in task.steps for path, text in other.solution.items()}
    return sound | dict(bank.render(step, defects))


def oracles(step: PracticeStep) -> dict[str, bank.Oracle]:
    """A step's oracles by the id of the check that asks for them."""
    return {
        f"c{i}": bank.oracle(str(check["args"]["oracle"]))  # type: ignore[index,call-overload]
        for i, check in enumerate(step.checks, 1)
        if check["method"] == "oracle"
    }


def missed(task: PracticeTask, step: PracticeStep, variants: list[tuple[Defect, ...]]) -> list[dict[str, int]]:
    """For every variant, how many hidden inputs fail, by check."""
    asked = oracles(step)
    calls = [
        (own.reader, *own.call.split("."), [(list(case.args), dict(case.kwargs)) for case in own.cases])
        for own in asked.values()
    ]
    child = subprocess.run(
        [sys.executable, "-I", "-c", CHILD],
        input=json.dumps([[tree(task, step, defects) for defects in variants], calls]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    cases = [case for own in asked.values() for case in own.cases]
    counts = []
    for outcomes in json.loads(child.stdout):
        wrong = iter([not agrees(case, answer) for case, answer in zip(cases, outcomes, strict=True)])
        counts.append({id_: sum(itertools.islice(wrong, len(own.cases))) for id_, own in asked.items()})
    return counts


@functools.cache
def alone(task_name: str, number: int) -> list[dict[str, int]]:
    """`missed` for the solution and then for each defect by itself."""
    task = bank.practice_task(task_name)
    step = bank.practice_step(task, number)
    return missed(task, step, [(), *((defect,) for defect in step.defects)])


def combinations(task: PracticeTask, step: PracticeStep) -> list[tuple[Defect, ...]]:
    """Every set of the step's defects, or where they are many none, all, each, and those that a seed draws."""
    if len(step.defects) <= WHOLE:
        sizes = range(len(step.defects) + 1)
        return [chosen for size in sizes for chosen in itertools.combinations(step.defects, size)]
    rng = random.Random(f"{task.name} {step.number}")
    drawn = [tuple(defect for defect in step.defects if rng.random() < 0.5) for _ in range(SAMPLE)]
    chosen = [(), step.defects, *((defect,) for defect in step.defects), *drawn]
    return list({tuple(defect.id for defect in defects): defects for defects in chosen}.values())


def counts() -> dict[str, dict[str, list[int]]]:
    """Task -> defect -> hidden inputs that fail and hidden inputs in all, for each defect alone."""
    return {
        task.name: {
            defect.id: [sum(by_check.values()), sum(len(own.cases) for own in oracles(step).values())]
            for step in task.steps
            for defect, by_check in zip(step.defects, alone(task.name, step.number)[1:], strict=True)
        }
        for task in bank.tasks()
    }


if __name__ == "__main__":
    lines = (
        f"  {json.dumps(task)}: {{\n"
        + ",\n".join(f"    {json.dumps(defect)}: {json.dumps(pair)}" for defect, pair in each.items())
        + "\n  }"
        for task, each in counts().items()
    )
    bank.COUNTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
