"""Three days in the life of the notebook, each carried out by a real kernel: what every cell shows stands in its metadata."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
import sales_task
import scripted
from messages_stub import MessagesStub
from nbclient import NotebookClient

from pge_nb import open_run

ROOT = Path(__file__).parents[1]
DAYS = Path(__file__).parent / "days"
NOBODY: Mapping[str, str] = {"PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "0"}
"""A machine without key and server."""


def carried_out(notebook: Path, environ: Mapping[str, str]) -> list[str]:
    """Run All, in the notebook's own directory; what each code cell shows as text."""
    read = nbformat.read(notebook, as_version=4)
    client = NotebookClient(read, timeout=300, resources={"metadata": {"path": str(notebook.parent)}})
    client.execute(env={**os.environ, **environ})
    return [shown(cell) for cell in read.cells if cell.cell_type == "code"]


def shown(cell: Any) -> str:
    """The text of all outputs of a cell; of a view its Markdown, which breaks no words."""
    parts = []
    for output in cell.outputs:
        if output.output_type == "error":
            parts.append("\n".join(output.traceback))
        else:
            held = output.get("data", {})
            parts.append(output.get("text") or held.get("text/markdown", held.get("text/plain", "")))
    return "\n".join(parts)


def expected(notebook: Path) -> list[list[str]]:
    """What stands in each code cell's metadata."""
    return [cell.metadata["shows"] for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]


def compared(notebook: Path, told: list[str]) -> None:
    """Every cell shows what it says; one that says nothing shows nothing."""
    for number, (wanted, text) in enumerate(zip(expected(notebook), told, strict=True), 1):
        assert wanted or not text, f"cell {number} of {notebook.name} shows {text!r}"
        for words in wanted:
            assert words in text, f"cell {number} of {notebook.name} does not show {words!r}:\n{text}"
        assert "Traceback" not in text, f"cell {number} of {notebook.name}"


def test_a_student_without_a_key_sees_a_task_carried_out_in_five_minutes(tmp_path: Path) -> None:
    notebook = Path(shutil.copy(DAYS / "1_student.ipynb", tmp_path))
    compared(notebook, carried_out(notebook, NOBODY))


def live(stub: MessagesStub) -> dict[str, str]:
    """A machine with a key and a server."""
    return {
        **NOBODY,
        "ANTHROPIC_BASE_URL": stub.url,
        "ANTHROPIC_API_KEY": "sk-of-the-author",
        "PGE_NB_MODEL": scripted.MODEL,
    }


def without_news(text: str) -> str:
    """The text without what only the first carrying out says, and what only the later ones say."""
    news = ("Estimate, from", "All of this was in")
    return "\n".join(line for line in text.split("\n") if line and not line.startswith(news))


@pytest.fixture(scope="module")
def monday(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The notebook of a colleague as it was carried out once, with a model, and what its cells showed."""
    notebook = Path(shutil.copy(DAYS / "2_colleague.ipynb", tmp_path_factory.mktemp("monday")))
    with MessagesStub(scripted.scripted()) as stub:
        told = carried_out(notebook, live(stub))
        assert len(stub.requests) == 9
    compared(notebook, told)
    return notebook, told


@pytest.mark.parametrize("place", ["here", "moved"])
def test_a_colleague_next_tuesday_presses_run_all_and_sees_the_same_for_nothing(
    monday: tuple[Path, list[str]], tmp_path: Path, place: str
) -> None:
    notebook, told = monday
    before = (notebook.parent / "shared_state.md").read_bytes()
    at = notebook.parent if place == "here" else notebook.parent.rename(tmp_path / "another machine")
    try:
        tuesday = carried_out(at / notebook.name, NOBODY)
        compared(at / notebook.name, tuesday)
        assert [without_news(text) for text in tuesday] == [without_news(text) for text in told]
        assert (at / "shared_state.md").read_bytes() == before
        assert open_run(at / "shared_state.md").outcome == "passed"
    finally:
        at.rename(notebook.parent)


def test_somebody_with_a_table_gets_a_module_its_tests_and_a_report_from_one_cell(tmp_path: Path) -> None:
    notebook = Path(shutil.copy(DAYS / "3_frames.ipynb", tmp_path))
    with MessagesStub(sales_task.script) as stub:
        told = carried_out(notebook, live(stub))
        sent = "".join(str(request["messages"]) for request in stub.requests)
    compared(notebook, told)
    assert "10,50" in sent, "two rows were asked for"
    assert "3,25" not in sent, "the fourth row was not"
    report = tmp_path / "sales_report" / "work" / "report.ipynb"
    read = nbformat.read(report, as_version=4)
    NotebookClient(read, timeout=120, resources={"metadata": {"path": str(report.parent)}}).execute()
    assert "10.25" in read.cells[-1].outputs[0].data["text/plain"]
    exported = list(tmp_path.rglob("exports/*.ipynb"))
    assert len(exported) == 1
    nbformat.validate(nbformat.read(exported[0], as_version=4))
    with MessagesStub(sales_task.script) as silent:
        again = carried_out(notebook, {**live(silent)})
        assert not silent.requests, "Run All again pays nothing"
    assert [without_news(text) for text in again[3:9]] == [without_news(text) for text in told[3:9]]
