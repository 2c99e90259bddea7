"""Phase cells: a lesson of bare ones walks through a run and draws the same after a restart; bodies are a person's words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from notebook_shell import Shell

from pge_nb import open_run
from pge_nb.errors import BadInput
from pge_nb.payloads import compact
from pge_nb.records import Amendment
from pge_nb.run import Run, same

BEGIN = "%pge plan --practice stats --seed 2 --skill 0.3"
LESSON = ["%pge contract", "%pge generate", "%pge evaluate"]


def walked(shell: Shell, begin: str = BEGIN, cells: int = 40) -> list[str]:
    """What each cell of a lesson shows: plan, then the cell that each view names as the next, until the run has ended."""
    shown = [shell.cell(begin).view]
    for _ in range(cells):
        if shown[-1].next not in LESSON:
            break
        shown.append(shell.cell(shown[-1].next).view)
    return [view.plain() for view in shown]


def state(directory: Path) -> Run:
    return open_run(directory / "shared_state.md")


def amendments(run: Run) -> list[tuple[str, str]]:
    return [(s.payload.phase, s.payload.text) for s in run.sections if isinstance(s.payload, Amendment)]


def test_a_lesson_of_bare_cells_makes_the_run_that_one_cell_makes(shell: Shell, tmp_path: Path) -> None:
    walked(shell)
    whole = shell.cell("%pge run other --practice stats --seed 2 --skill 0.3")
    assert whole.error is None
    assert state(tmp_path).outcome in {"passed", "degraded", "paused"}
    assert same(state(tmp_path), state(tmp_path / "other"))
    assert state(tmp_path).last
    assert state(tmp_path).sections[-1].record.kind == "receipt"


def test_a_lesson_shows_the_same_after_a_restart_and_appends_nothing(shell: Shell, tmp_path: Path) -> None:
    first = walked(shell)
    assert any(".2" in text.split("\n")[0] for text in first), "no second attempt: the lesson shows too little"
    before = (tmp_path / "shared_state.md").read_bytes()
    shell.cell("%unload_ext pge_nb")
    shell.cell("%load_ext pge_nb")
    assert walked(shell) == first
    assert walked(shell) == first, "run from the top once more, in the same kernel"
    assert (tmp_path / "shared_state.md").read_bytes() == before


@pytest.mark.parametrize(
    ("floor", "task", "said"),
    [
        ("9.5", "stats", "stand in place of step"),
        ("9.5", "calculator", "could not be cut into smaller ones"),
        ("0.0", "stats", "(kept): "),
    ],
)
def test_an_evaluations_cell_carries_out_what_its_decision_has_done_at_once(
    floor: str, task: str, said: str, shell: Shell, tmp_path: Path
) -> None:
    """A step is cut, or cannot be; what was kept is graded again. The lesson is the run that one cell makes, as ever."""
    shell.cell(f"%config PGE.degrade_floor = {floor}")
    flags = f"--practice {task} --seed 2 --skill 0.2 --max-retries 1"
    first = walked(shell, f"%pge plan {flags}")
    assert any(said in text for text in first)
    shell.cell(f"%pge run other {flags}")
    assert same(state(tmp_path), state(tmp_path / "other"))
    shell.cell("%pge .")
    before = (tmp_path / "shared_state.md").read_bytes()
    shell.cell("%unload_ext pge_nb")
    shell.cell("%load_ext pge_nb")
    shell.cell(f"%config PGE.degrade_floor = {floor}")
    assert walked(shell, f"%pge plan {flags}") == first
    assert walked(shell, f"%pge plan {flags}") == first, "run from the top once more, in the same kernel"
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_bare_cells_walk_through_a_run_that_one_cell_made(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --skill 0.3")
    before = (tmp_path / "shared_state.md").read_bytes()
    assert shell.cell("%pge contract").view.title.endswith("contract")
    assert "1.1" in shell.cell("%pge generate").view.title
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_a_cell_that_is_not_due_names_what_comes_first(shell: Shell) -> None:
    nothing = shell.cell("%pge contract")
    assert isinstance(nothing.error, BadInput)
    assert "Begin with" in nothing.text
    shell.cell(BEGIN)
    early = shell.cell("%pge evaluate")
    assert isinstance(early.error, BadInput)
    assert early.text.strip().split("\n") == [
        "BadInput: %pge evaluate: contract of 1 comes first.",
        "%pge contract does that.",
    ]


def test_an_address_chooses_what_is_shown_and_what_is_made(shell: Shell, tmp_path: Path) -> None:
    for cell in (BEGIN, "%pge contract 1", "%pge generate 1.1", "%pge evaluate 1.1"):
        assert shell.cell(cell).error is None, cell
    made = state(tmp_path)
    assert shell.cell("%pge generate 1.1").view.title.endswith("attempt 1.1")
    assert len(state(tmp_path).sections) == len(made.sections)
    wrong = shell.cell("%pge generate 1.9")
    assert isinstance(wrong.error, BadInput)
    assert "The nearest is 1.1." in wrong.text
    assert isinstance(shell.cell("%pge generate 9").error, BadInput)
    assert "a check" in shell.cell("%pge evaluate 1.1/c1").text


def test_the_lines_of_a_contract_cell_are_checks_that_stand(shell: Shell, tmp_path: Path) -> None:
    shell.cell(BEGIN)
    view = shell.cell("%%pge contract\nEvery function has a docstring.\n- No line is longer than 79 characters.").view
    contract = state(tmp_path).contract(1)
    assert contract is not None
    assert [check.says for check in contract.checks[-2:]] == [
        "Every function has a docstring.",
        "No line is longer than 79 characters.",
    ]
    assert "2 checks added by a person" in contract.origin
    assert "longer than 79" in view.plain()
    assert len({check.id for check in contract.checks}) == len(contract.checks)
    again = shell.cell("%%pge contract\nEvery function has a docstring.\n- No line is longer than 79 characters.")
    assert again.view.plain() == view.plain()
    assert len(amendments(state(tmp_path))) == 1


def test_a_changed_contract_cell_has_it_negotiated_again_and_the_attempt_evaluated_by_it(
    shell: Shell, tmp_path: Path
) -> None:
    for cell in (BEGIN, "%pge contract", "%pge generate", "%pge evaluate"):
        shell.cell(cell)
    run = state(tmp_path)
    first = run.contract(1)
    assert first is not None
    assert run.state(1) == "working"
    shell.cell("%%pge contract\nThe module has no import.")
    run = state(tmp_path)
    second = run.contract(1)
    assert second is not None
    assert len(second.checks) == len(first.checks) + 1
    assert run.evaluations(1) == {}, "an evaluation by another contract is none by this one"
    view = shell.cell("%pge evaluate").view
    assert "evaluations" in view.title
    run = state(tmp_path)
    assert [s.record.round for s in run.of("evaluation", 1, 1)] == [1, 2]
    report = run.evaluation(1, 1)
    assert report is not None
    assert second.checks[-1].id in {finding.on for finding in report.findings}
    shell.cell("%unload_ext pge_nb")
    shell.cell("%load_ext pge_nb")
    shell.cell(BEGIN)
    assert "no import" not in shell.cell("%pge contract").view.plain()
    shell.cell("%pge generate")
    assert "no import" in shell.cell("%%pge contract\nThe module has no import.").view.plain()
    assert len(state(tmp_path).sections) == len(run.sections)


@pytest.mark.parametrize(
    ("cell", "phase", "role"), [("generate", "generate", "generator"), ("evaluate", "evaluate", "evaluator")]
)
def test_the_words_of_a_cell_reach_their_agent_and_nobody_else(
    shell: Shell, tmp_path: Path, cell: str, phase: str, role: str
) -> None:
    words = "Mind the empty list; nobody else does."
    for line in (BEGIN, *LESSON[: LESSON.index(f"%pge {cell}")]):
        shell.cell(line)
    assert shell.cell(f"%%pge {cell}\n{words}").error is None
    if cell == "generate":
        shell.cell("%pge evaluate")
    assert amendments(state(tmp_path)) == [(phase, words)]
    sent = {
        line["role"]: compact(line["request"]["messages"])
        for line in logged(tmp_path)
        if re.match(r"\w+/(generate|evaluate)/1/", line["address"])
    }
    assert words in sent.pop(role)
    assert sent
    assert all(words not in text for text in sent.values())


def logged(directory: Path) -> list[dict[str, Any]]:
    """The settled lines of the call log."""
    lines = (directory / ".pge" / "calls.jsonl").read_text("utf-8").strip().split("\n")
    return [line for line in map(json.loads, lines) if line["line"] == "settled"]


def test_words_to_a_step_that_is_done_are_refused(shell: Shell, tmp_path: Path) -> None:
    walked(shell, "%pge plan --practice stats --seed 2 --skill 1")
    before = len(state(tmp_path).sections)
    late = shell.cell("%%pge contract 1\nOne check more.")
    assert isinstance(late.error, BadInput)
    assert late.text.strip().split("\n")[0] == (
        "BadInput: %pge contract: nobody was told these words, and nothing is due: the run is passed."
    )
    assert len(state(tmp_path).sections) == before


def test_two_phases_in_a_place_of_its_own_and_an_earlier_run_is_only_looked_at(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge plan mine --practice stats --seed 2")
    shell.cell("%pge plan mine --practice stats --seed 3")
    assert (tmp_path / "mine" / "earlier" / "1" / "shared_state.md").is_file()
    earlier = shell.cell("%pge contract mine@1:1")
    assert isinstance(earlier.error, BadInput)
    assert len(open_run(tmp_path / "mine" / "earlier" / "1" / "shared_state.md").sections) == 2
    assert shell.cell("%pge contract mine:1").error is None
    assert state(tmp_path / "mine").contract(1) is not None
    assert shell.cell("%pge generate mine:1.1").error is None
    assert "The nearest is mine:1.1." in shell.cell("%pge generate mine:1.9").text


def test_a_line_that_says_a_call_and_what_comes_of_it_is_run(shell: Shell, tmp_path: Path) -> None:
    shell.cell(BEGIN)
    shell.cell("%%pge contract\nEvery function has a docstring.\nmean([1, 3]) == 2\n`mean([])` raises ValueError")
    contract = state(tmp_path).contract(1)
    assert contract is not None
    judged, returns, raises = contract.checks[-3:]
    assert (judged.method, judged.args) == ("judge", {})
    assert (returns.method, returns.args) == ("oracle", {"call": "stats.mean", "args": [[1, 3]], "returns": 2})
    assert (raises.method, raises.args) == ("oracle", {"call": "stats.mean", "args": [[]], "raises": "ValueError"})
    assert "oracle" in shell.cell("%pge show contract 1").view.plain()
    shell.cell("%pge generate")
    shell.cell("%pge evaluate")
    report = state(tmp_path).evaluation(1, 1)
    assert report is not None
    by = {one.on: one.by for one in report.findings}
    assert {by[returns.id], by[raises.id]} == {"oracle"}
