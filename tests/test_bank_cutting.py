"""The pieces of the bank's steps: each is sound by itself, and each defect of a piece does what it says."""

from __future__ import annotations

import re

import pytest
from bank_runs import missed

from pge_nb import bank
from pge_nb.bank import PracticeStep, PracticeTask
from pge_nb.records import attempt_hash

CUT = [(task, step) for task in bank.tasks() for step in task.steps if bank.pieces(task, step)]
PIECES = [(task, step, place) for task, step in CUT for place in (1, 2)]


def named(value: object) -> str | None:
    return (
        value.name
        if isinstance(value, PracticeTask)
        else str(value.number)
        if isinstance(value, PracticeStep)
        else None
    )


def test_more_than_half_of_the_steps_can_be_cut_and_the_others_say_so() -> None:
    steps = [(task, step) for task in bank.tasks() for step in task.steps]
    assert len(CUT) > len(steps) / 2
    whole = bank.practice_task("calculator")
    assert bank.pieces(whole, whole.steps[0]) == ()


@pytest.mark.parametrize(("task", "step"), CUT, ids=named)
def test_the_pieces_have_every_check_and_every_defect_once_and_end_in_the_steps_files(
    task: PracticeTask, step: PracticeStep
) -> None:
    first, last = (piece.step for piece in bank.pieces(task, step))
    says = [check["says"] for check in (*first.checks, *last.checks)]
    assert sorted(map(str, says)) == sorted(str(check["says"]) for check in step.checks)
    assert sorted(one.id for one in (*first.defects, *last.defects)) == sorted(one.id for one in step.defects)
    assert last.solution == step.solution
    assert last.deliverables == step.deliverables
    assert set(first.deliverables) < {*step.deliverables, ""} or first.solution != step.solution
    assert first.checks
    assert last.checks
    later = {line.split("(")[0] for line in str(last.solution).split("def ")[1:]}
    later -= {line.split("(")[0] for line in str(first.solution).split("def ")[1:]}
    assert not any(set(re.findall(r"\w+", str(check["says"]))) & later for check in first.checks)
    assert all(len(piece.first_checks) == len(piece.checks) for piece in (first, last))
    for piece in (first, last):
        ids = {f"c{number}" for number in range(1, len(piece.checks) + 1)}
        assert all(set(defect.breaks) <= ids for defect in piece.defects)


@pytest.mark.parametrize(("task", "step", "place"), PIECES, ids=named)
def test_a_piece_is_sound_and_its_defects_break_what_they_say(
    task: PracticeTask, step: PracticeStep, place: int
) -> None:
    """By running the hidden inputs, with the sound files of the other steps."""
    piece = bank.pieces(task, step)[place - 1].step
    sound, *flawed = missed(task, piece, [(), *((defect,) for defect in piece.defects)])
    assert set(sound.values()) <= {0}
    for defect, by_check in zip(piece.defects, flawed, strict=True):
        assert {check for check, count in by_check.items() if count} == set(defect.breaks) & by_check.keys(), defect.id


def test_the_truth_of_a_piece_is_by_its_own_checks() -> None:
    task = bank.practice_task("stats")
    first = bank.practice_step(task, 1, "1.1")
    whole = attempt_hash(bank.files(task.steps[0].solution))
    sound = attempt_hash(bank.files(first.solution))
    assert bank.truth("stats", sound) is None
    assert bank.truth("stats", whole, "1.1") is None
    for part, attempt in (("1.1", sound), ("1.2", whole)):
        known = bank.truth("stats", attempt, part)
        assert known is not None
        assert known.defects == ()
        assert len(known.met) == len(bank.practice_step(task, 1, part).checks)


def test_a_piece_is_named_by_its_part() -> None:
    task = bank.practice_task("textkit")
    assert bank.practice_step(task, 7, "2.1") == bank.pieces(task, task.steps[1])[0].step
    assert bank.practice_step(task, 2) == task.steps[1]
    assert bank.pieces(task, bank.practice_step(task, 7, "2.1")) == ()
