"""Each lesson's exercise comes out otherwise for a student who does something else in it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
LESSONS = sorted(path.name for path in (ROOT / "examples").glob("[0-9]_*.ipynb"))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What another student writes: ``new`` where ``old`` stands in the cell ``at``; the last code cell tells what came of it."""

    at: str
    old: str
    new: str


ANSWERS = {
    "1_quickstart.ipynb": Answer(at="1c13", old="skill = 0.9", new="skill = 0.3"),
    "2_state_file.ipynb": Answer(at="2c11", old='what = "stats.py"', new='what = "accept"'),
    "3_contracts.ipynb": Answer(at="3c14", old=" 60\n", new=" 100\n"),
    "4_retries.ipynb": Answer(at="4c08", old="retries = 1", new="retries = 3"),
    "5_self_or_fresh.ipynb": Answer(at="5c13", old='"made-[1-7]"', new='"made-*"'),
    "6_calibrate_the_judge.ipynb": Answer(at="c26", old="cost = 0.2", new="cost = 5"),
}


def outcome(notebook: nbformat.NotebookNode) -> str:
    """What the last code cell gave, without what is only read off a clock."""
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    said = "".join(one.get("text") or one.get("data", {}).get("text/plain", "") for one in last.outputs)
    return re.sub(r"\d\d:\d\d UTC|[0-9a-f]{64}", "", said)


def test_every_lesson_has_an_exercise_that_is_tried() -> None:
    assert set(ANSWERS) == set(LESSONS)


@pytest.mark.parametrize("name", LESSONS)
def test_another_answer_comes_out_otherwise(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "there", ignore=shutil.ignore_patterns(".*"))
    notebook = nbformat.read(tmp_path / "there" / name, as_version=4)
    saved, answer = outcome(notebook), ANSWERS[name]
    assert saved
    (cell,) = [cell for cell in notebook.cells if cell.id == answer.at]
    assert answer.old in cell.source
    cell.source = cell.source.replace(answer.old, answer.new)
    monkeypatch.setenv("PGE_NB_LIVE", "0")
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path / "there")}}).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert outcome(notebook) != saved


def test_a_lesson_that_was_saved_goes_on_in_a_fresh_place_and_kernel_for_nothing(tmp_path: Path) -> None:
    def executed(place: Path, cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
        notebook = nbformat.v4.new_notebook(cells=cells)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "0"}
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(place)}}).execute(env=env)
        return [cell for cell in notebook.cells if cell.cell_type == "code"]

    def told(cell: nbformat.NotebookNode) -> str:
        return "".join(one.get("data", {}).get("text/plain", "") for one in cell.outputs)

    binder, fresh = tmp_path / "binder", tmp_path / "fresh"
    shutil.copytree(ROOT / "examples", binder, ignore=shutil.ignore_patterns(".*", "judge.tar.xz"))
    fresh.mkdir()
    new = nbformat.v4.new_code_cell
    begun = nbformat.read(binder / "1_quickstart.ipynb", as_version=4).cells[:6]
    first = executed(binder, [*begun, new("%pge save --to work.zip")])
    shutil.copy(binder / "work.zip", fresh)
    load, *rest = [cell for cell in begun if cell.cell_type == "code"]
    again = executed(fresh, [new(load.source), new("%pge open work.zip"), *(new(cell.source) for cell in rest)])
    run, evaluations = again[2:4]
    assert "nobody was asked, nothing was paid" in told(run)
    assert told(evaluations) == told(first[2]) != ""
    assert (fresh / "quickstart/shared_state.md").read_bytes() == (binder / "quickstart/shared_state.md").read_bytes()


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_opens_with_a_question_and_shows_a_surprise_before_its_exercise(name: str) -> None:
    words = [
        cell.source for cell in nbformat.read(ROOT / "examples" / name, as_version=4).cells if cell.cell_type != "code"
    ]
    assert words[0].split("\n")[0].endswith("?")
    surprise = next(at for at, text in enumerate(words) if "**The surprise:**" in text)
    exercise = next(at for at, text in enumerate(words) if "Exercise" in text or "Play the evaluator" in text)
    assert surprise < exercise
