"""Runs as data frames: tidy, with columns and types that are declared here and are the same for an empty run.

Every function takes one run or several and gives one row a thing. Unknown is missing (NaN or NA), never 0 or "". Every frame
has ``run``, the run's id, as its first column; among several runs, ``Runs`` tells those of the same id apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..run import Run
from ..runs import Runs
from .columns import (
    ATTEMPTS,
    CALLS,
    CHECKS,
    COST,
    CRITERIA,
    DECISIONS,
    EVALUATIONS,
    PLAN,
    TASKS,
    TEXT,
    TIME,
    TRAJECTORY,
    Columns,
)
from .costs import calls_rows, cost_rows
from .rows import (
    Row,
    attempts_rows,
    checks_rows,
    criteria_rows,
    decisions_rows,
    evaluations_rows,
    plan_rows,
    task_rows,
    trajectory_rows,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def tasks(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a run: its prompt, practice task (missing: none), outcome, isolation, and how far its state file has come."""
    return _frame(TASKS, runs, task_rows)


def plan(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a step of the plan, one that was replanned before those in its place.

    ``depends_on`` lists step numbers, ``success`` the success criteria (one a line), ``state`` tells where the step stands,
    ``replaced_by`` lists the steps in the place of one that was replanned, ``accepted`` is the attempt whose deliverables
    stand for it. ``score`` is that attempt's: where it was chosen as the best of several, what it got when it was graded once
    more; ``gate_score`` is what it had before.
    """
    return _frame(PLAN, runs, plan_rows)


def criteria(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a criterion of the plan in force; scores run 0 to 10 and below ``threshold`` fails, whatever the weight."""
    return _frame(CRITERIA, runs, criteria_rows)


def checks(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a check of the contract in force of each step; ``args`` is JSON, ``method`` the review that looks."""
    return _frame(CHECKS, runs, checks_rows)


def attempts(runs: Run | Iterable[Run]) -> DataFrame:
    """A row an attempt, with the verdict and overall score (0 to 10) of its last evaluation at the gate.

    ``base`` is the attempt that a refine started from, ``bytes`` the size of its deliverables, ``missing`` the deliverables
    that it did not make, ``accepted`` whether it stands for the step, ``seconds`` the wall time of making it.
    """
    return _frame(ATTEMPTS, runs, attempts_rows)


def evaluations(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a finding: one rater's verdict on one check or criterion of one attempt.

    ``contract`` counts the contracts of the step from 1: findings by different ones are of different terms. ``on`` is the
    check's id or the criterion's name; ``score`` and ``threshold`` are missing for checks. ``evidence`` lists
    the cited ids, ``saw`` what the harness did there, ``strength`` that of the strongest (weak: the generator could have
    made all of it), ``replayed`` is true where it was met again from the call log and not run here. ``by`` is the review
    method, or judge.
    """
    return _frame(EVALUATIONS, runs, evaluations_rows)


def trajectory(runs: Run | Iterable[Run]) -> DataFrame:
    """Scores over a step's attempts: a row for each criterion, one for all ``checks``, one for the ``overall`` score.

    The score of ``checks`` is 10 times the share met, its threshold 10, since every check must hold; the overall row carries
    the evaluation's verdict and no threshold. The last evaluation at the gate counts, made by the contract that ``contract``
    counts from 1. A score is missing where it was not measured.
    """
    return _frame(TRAJECTORY, runs, trajectory_rows)


def decisions(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a decision of the harness: what it did after ``attempt``; ``stands`` is the attempt it accepted or kept.

    ``numbers`` (JSON) holds what it was computed from.
    """
    return _frame(DECISIONS, runs, decisions_rows)


def calls(runs: Run | Iterable[Run]) -> DataFrame:
    """A row a model call. ``settled`` is false for calls that no record rests on: cut off, or answered and never used.

    ``tokens_cached`` were read from the service's cache, ``tokens_to_cache`` written to it; ``dollars`` is missing where the
    model has no price; ``source`` is live, recording or practice.
    """
    return _frame(CALLS, runs, calls_rows)


def cost(runs: Run | Iterable[Run]) -> DataFrame:
    """Calls, tokens, dollars and time by step, phase, role and round, over all resumes.

    ``round`` is the round of negotiation for propose and respond, the attempt for generate and evaluate. ``seconds`` is the
    wall time of the phase. ``dollars`` is missing where any call of the group has no price. The phase ``unfinished`` holds
    the calls that were billed, or may have been, and that no record rests on.
    """
    return _frame(COST, runs, cost_rows)


def _frame(columns: Columns, runs: Run | Iterable[Run], rows_of: Callable[[Run], Iterable[Row]]) -> DataFrame:
    several = Runs([runs] if isinstance(runs, Run) else runs)
    named = zip(several.names, several, strict=True)
    return frame_of(columns, [(name, *row) for name, run in named for row in rows_of(run)])


def frame_of(columns: Columns, rows: Sequence[Row]) -> DataFrame:
    """The frame with these columns, declared as name -> dtype; a row holds a value for each."""
    from pandas import DataFrame

    return DataFrame(
        {name: _column([row[i] for row in rows], dtype) for i, (name, dtype) in enumerate(columns.items())}
    )


def _column(values: list[object], dtype: str) -> Series:
    from pandas import Series

    if dtype == TEXT:
        # Storages of text that are UTF-8 inside refuse a lone surrogate, and an agent may well write one.
        values = [
            value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in values
        ]
    if dtype == TIME:
        values = [datetime.fromisoformat(value) if isinstance(value, str) else None for value in values]
    return Series(values, dtype=dtype)
