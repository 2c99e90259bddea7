"""Splits: which tasks are for learning from, for trying out, and for the one last test; and the looks at that test."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from random import Random

from ..errors import BadInput
from ..prose import counted
from ..run import Run
from ..study_records import Look, Split
from .items import task_of
from .study import StudyFile, StudyView

SHARES = (0.5, 0.25, 0.25)
"""Of the tasks, for train, development and test."""
ALPHA = 0.05


def split(
    study: StudyFile, runs: Run | Iterable[Run], *, shares: tuple[float, float, float] = SHARES, seed: int = 1
) -> Split:
    """Share the tasks of the runs out, once: whole tasks, at random by ``seed``, at least one to each part.

    ``BadInput`` where a split is there already (it is sealed: another one would let the test part be learnt from), and for fewer
    than three tasks.
    """
    if study.read().split is not None:
        raise BadInput(
            "The split was made and is sealed.",
            "Runs of new tasks are in no part of it; another study has a directory of its own.",
        )
    if min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise BadInput(
            f"The shares are {shares}.", "Give three numbers above 0 that sum to 1, as in (0.5, 0.25, 0.25)."
        )
    tasks = sorted({task_of(run) for run in ([runs] if isinstance(runs, Run) else runs)})
    if len(tasks) < 3:
        raise BadInput(
            f"The runs are of {counted(len(tasks), 'task')}, and each part needs one of its own.",
            "Run more tasks first.",
        )
    Random(seed).shuffle(tasks)  # noqa: S311 - an order, no secret
    development, test = (max(1, int(share * len(tasks) + 0.5)) for share in shares[1:])
    while development + test > len(tasks) - 1:
        development, test = (development - 1, test) if development > test else (development, test - 1)
    cut = len(tasks) - development - test
    made = Split(
        train=tuple(sorted(tasks[:cut])),
        development=tuple(sorted(tasks[cut : cut + development])),
        test=tuple(sorted(tasks[cut + development :])),
        seed=seed,
    )
    study.add(made)
    return made


def look(study: StudyFile, raters: Sequence[str], why: str = "") -> Look:
    """Put down that the test part is looked at, before its figures are drawn; the level that this look may use is in it.

    The j-th look has level 1 - .05 / 2^j, so that all looks together are wrong at most 5 % of the time.
    """
    view = study.read()
    if view.split is None:
        raise BadInput("There is no split yet, so no test part.", "%pge label --split makes it, once.")
    number = len(view.looks) + 1
    made = Look(number=number, level=1 - ALPHA / 2**number, raters=tuple(raters), why=why)
    study.add(made)
    return made


def check_examples(study: StudyView, tasks: Collection[str]) -> None:
    """``BadInput`` where a few-shot example is to come from a task that is not in the train part."""
    for task in tasks:
        part = study.part(task)
        if part != "train":
            where = f"in the {part} part" if part else "in no part of the split"
            raise BadInput(
                f"Task {task} is {where}: no example may come from it.", "Take examples from the train part."
            )
