"""Addresses, and the runs that they lead to: every form finds its place, and what does not exist names the nearest."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebook_shell import Shell
from sample_runs import sample_run
from sanitizer import read

from pge_nb.commands.addresses import Address, address
from pge_nb.errors import BadInput
from pge_nb.state import open_run

RUN = "%pge run --practice stats --seed 2"


@pytest.fixture
def three_runs(shell: Shell) -> Shell:
    """An unnamed task that made room for another, and a task of its own."""
    for line in (f"{RUN};", "%pge run --practice roman;", "%pge run second --practice roman;", "%pge runs;"):
        assert shell.cell(line).error is None
    return shell


def test_every_form_of_an_address_in_a_run() -> None:
    run = sample_run()
    step = run.steps[0].number
    contract, plan = run.contract(step), run.plan
    assert contract
    assert plan
    check, criterion = contract.checks[0].id, plan.criteria[0].name
    assert address("", run) == Address()
    assert address(f"{step}", run) == Address(step)
    assert address(f"{step}.1", run) == Address(step, 1)
    assert address(f"{step}.1/{check}", run) == Address(step, 1, check)
    assert address(f"{step}/{criterion}", run) == Address(step, None, criterion)


@pytest.mark.parametrize(
    ("text", "fact", "move"),
    [
        ("9", "There is no step 9.", "The nearest is 2."),
        ("0", "There is no step 0.", "The nearest is 1."),
        ("1.9", "There is no attempt 1.9.", "The nearest is 1.4."),
        ("1.1/C9", "Step 1 has no check or criterion C9.", "The nearest is c"),
        ("one", "'one' is no address.", "Write STEP"),
        ("1.1.1", "'1.1.1' is no address.", "Write STEP"),
        ("1/", "'1/' is no address.", "Write STEP"),
    ],
)
def test_an_address_that_does_not_exist_names_the_nearest(text: str, fact: str, move: str) -> None:
    with pytest.raises(BadInput) as caught:
        address(text, sample_run())
    assert caught.value.fact == fact
    assert caught.value.next_move.startswith(move)


def test_an_address_reaches_into_another_task_and_into_an_earlier_run(three_runs: Shell, tmp_path: Path) -> None:
    head = open_run(tmp_path / "earlier" / "1").head
    three_runs.cell("%pge second;")
    for line, title in (
        ("%pge show evaluations second:1.1", "second: "),
        ("%pge show plan second", "second: "),
        ("%pge show contract second:1", "second: "),
    ):
        assert three_runs.cell(line).view.title.startswith(title)
    three_runs.cell("%pge run --practice roman;")  # the unnamed task is the one that commands are about again
    for what in (
        "run",
        "plan",
        "contract",
        "evaluations",
        "trajectory",
        "decisions",
        "cost",
        "prompt",
        "prompt planner",
    ):
        for where in ("@1", "@1:", "@1:1", "@1:1.1"):
            if what == "prompt planner" and ":1" in where:
                continue
            view = three_runs.cell(f"%pge show {what} {where}").view
            assert view.title.startswith("@1: ")
            assert head[:12] in view.foot
            assert three_runs.cell(view.next).error is None, view.next


def test_one_check_is_shown_alone(three_runs: Shell, tmp_path: Path) -> None:
    three_runs.cell("%pge run --practice roman;")
    contract = open_run(tmp_path).contract(1)
    assert contract
    first, second = contract.checks[0].id, contract.checks[1].id
    view = three_runs.cell(f"%pge show evaluations 1.1/{first}").view
    assert view.df is not None
    assert set(view.df["on"]) == {first}
    assert f"{first}: " in view.plain()
    assert f"{second}: " not in view.plain()
    shown = "".join(read(three_runs.cell(f"%pge show contract 1/{second}").view.html()).words)
    assert contract.checks[1].says in shown
    assert contract.checks[0].says not in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%pge show plan @4", "There is no run @4.\nThe nearest is @1."),
        ("%pge show plan secnd:1", "There is no task secnd here.\nThe nearest is second."),
        ("%pge open second@1", "There is no run second@1.\nNo run made room here yet."),
        ("%pge open 1.2", "'1.2' is no address."),
    ],
)
def test_a_run_that_does_not_exist_names_the_nearest(three_runs: Shell, line: str, said: str) -> None:
    three_runs.cell("%pge run --practice roman;")
    assert said in three_runs.cell(line).text


def test_runs_lists_every_run_with_the_line_that_shows_it(three_runs: Shell) -> None:
    view = three_runs.cell("%pge runs").view
    assert view.df is not None
    assert list(view.df["name"]) == ["", "", "second"]
    assert list(view.df["number"].fillna(0)) == [0, 1, 0]
    assert list(view.df["outcome"]) == ["passed"] * 3
    assert (view.df["attempts"] >= 2).all()
    for line in ("%pge open @1", "%pge second"):
        assert line in view.plain()
        assert three_runs.cell(line).view.mark == "passed"
    assert read(view.html()).stripped == []


def test_runs_tells_of_a_damaged_file_and_of_an_empty_directory(shell: Shell, tmp_path: Path) -> None:
    assert "No run is in" in shell.cell("%pge runs").text
    shell.cell(f"{RUN};")
    (tmp_path / "shared_state.md").write_text("no state file")
    assert "broken" in shell.cell("%pge runs").view.plain()


def test_open_shows_an_earlier_run_and_moves_nothing(three_runs: Shell, tmp_path: Path) -> None:
    three_runs.cell("%pge run --practice roman;")

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}

    before = files()
    view = three_runs.cell("%pge open @1").view
    assert view.title.startswith("@1: ")
    assert view.next == "%pge show trajectory @1"
    assert files() == before
    assert "@1" not in three_runs.cell("%pge show plan").view.title
