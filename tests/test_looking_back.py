"""``%pge show --at N``: a run as it stood after any of its sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebook_shell import Shell
from sanitizer import read

from pge_nb.errors import BadInput
from pge_nb.state import open_run

RUN = "%pge run --practice stats --seed 2"


@pytest.fixture
def ran(shell: Shell) -> Shell:
    assert shell.cell(f"{RUN};").error is None
    return shell


def first(tmp_path: Path, kind: str) -> int:
    """The number of the first section of a kind."""
    return next(section.seq for section in open_run(tmp_path).sections if section.record.kind == kind)


def test_a_run_is_shown_as_it_stood_and_says_so(ran: Shell, tmp_path: Path) -> None:
    run = open_run(tmp_path)
    last = len(run.sections) - 1
    at = first(tmp_path, "attempt")
    view = ran.cell(f"%pge show run --at {at}").view
    assert view.title.endswith(f", as of section {at} of {last}")
    assert view.mark == "running"
    assert f"{at + 1} sections · head {run.sections[at].sha256[:12]}" in view.foot
    assert view.next == f"%pge show run --at {at + 1}"
    assert read(view.html()).stripped == []


def test_before_the_plan_there_is_the_prompt_and_after_the_last_section_all_of_it(ran: Shell, tmp_path: Path) -> None:
    last = len(open_run(tmp_path).sections) - 1
    assert "There is no plan yet." in ran.cell("%pge show plan --at 0").view.plain()
    now, then = ran.cell("%pge show run").view, ran.cell(f"%pge show run --at {last}").view
    assert (then.blocks[0], then.mark, then.foot, then.next) == (now.blocks[0], now.mark, now.foot, now.next)


def test_following_the_next_action_walks_to_the_end_of_the_run(ran: Shell, tmp_path: Path) -> None:
    last = len(open_run(tmp_path).sections) - 1
    view, feet = ran.cell("%pge show evaluations --at 0").view, []
    while "--at" in view.next:
        view = ran.cell(view.next).view
        feet.append(view.foot)
    assert len(feet) == len(set(feet)) == last


def test_an_evaluation_that_came_later_is_not_there_yet(ran: Shell, tmp_path: Path) -> None:
    at = first(tmp_path, "evaluation")
    assert "Nothing was evaluated there yet." in ran.cell(f"%pge show evaluations 1.1 --at {at - 1}").view.plain()
    assert "Step 1, attempt 1" in ran.cell(f"%pge show evaluations 1.1 --at={at}").view.plain()


def test_a_prompt_at_a_section_is_the_one_that_was_sent_last_by_then_or_was_due(ran: Shell, tmp_path: Path) -> None:
    attempts = [section for section in open_run(tmp_path).sections if section.record.kind == "attempt"]
    early, late = attempts[0], attempts[-1]
    assert early.record.step != late.record.step
    view = ran.cell(f"%pge show prompt generator --at {early.seq}").view
    assert f"generator, generate {early.record.step}.1" in view.plain()
    assert f"generator, generate {late.record.step}." not in view.plain()
    assert "planner, plan" in ran.cell("%pge show prompt planner --at 0").view.plain()


def test_an_earlier_run_is_looked_back_on_by_its_address(ran: Shell, tmp_path: Path) -> None:
    ran.cell("%pge run --practice roman;")
    at = first(tmp_path / "earlier" / "1", "attempt")
    view = ran.cell(f"%pge show contract @1:1 --at {at}").view
    assert view.title.startswith("@1: ")
    assert view.next == f"%pge show contract @1:1 --at {at + 1}"
    assert ran.cell(view.next).view.title.startswith("@1: ")


@pytest.mark.parametrize("number", ["-1", "1000"])
def test_a_section_that_does_not_exist_names_the_last(ran: Shell, tmp_path: Path, number: str) -> None:
    last = len(open_run(tmp_path).sections) - 1
    error = ran.cell(f"%pge show run --at {number}").error
    assert isinstance(error, BadInput)
    assert error.fact == f"There is no section {number}."
    assert f"from 0 to {last}" in error.next_move


def test_looking_back_writes_nothing(ran: Shell, tmp_path: Path) -> None:
    def bytes_of() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before, last = bytes_of(), len(open_run(tmp_path).sections) - 1
    for number in (0, first(tmp_path, "attempt"), last):
        for what in ("run", "plan", "contract", "evaluations", "trajectory", "decisions", "cost", "prompt"):
            assert ran.cell(f"%pge show {what} --at {number};").error is None, (what, number)
    assert bytes_of() == before


def test_the_cost_of_then_counts_no_call_that_was_made_later(ran: Shell, tmp_path: Path) -> None:
    for section in open_run(tmp_path).sections[:-1]:
        frame = ran.cell(f"%pge show cost --at {section.seq}").view.df
        made = [len(getattr(one.payload, "calls", ())) for one in open_run(tmp_path).sections[: section.seq + 1]]
        assert frame["calls"].sum() == sum(made)
        assert "unfinished" not in set(frame["phase"])


def test_a_verdict_that_nothing_has_is_told_as_such(ran: Shell, tmp_path: Path) -> None:
    assert (
        "Nothing that was found there is unmeasured"
        in ran.cell("%pge show evaluations --verdict unmeasured").view.plain()
    )
    assert "Nothing that was found there is unmeasured; it was evaluated 1 time." in (
        ran.cell("%pge show evaluations 1.1 --verdict unmeasured").view.plain()
    )
