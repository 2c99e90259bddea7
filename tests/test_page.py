"""What a person sees and does in a real JupyterLab: quickstart, the panel and its button, labels by keys, what is saved."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import lab
import nbformat
import pytest

from pge_nb import open_run

pytestmark = pytest.mark.skipif(bool(lab.lacking()), reason=lab.lacking())

QUICKSTART = nbformat.read(lab.ROOT / "pge_nb" / "quickstart.ipynb", as_version=4)
SILENT_AND_SLOW = """
import time
from pge_nb.models.practice import Practice

def reply(self, request, *, listen=None, stop=None):
    listen("Let me think. ")
    time.sleep(60)

Practice.reply = reply
"""
LABELS = """
import json
from pathlib import Path
from pge_nb.widgets.label import ToLabel, label

kept = []
def give(one):
    kept.append(one)
    Path("labels.json").write_text(json.dumps([[each.id, each.verdict, each.note] for each in kept]))

def take_back(id):
    kept[:] = [one for one in kept if one.id != id]

items = [ToLabel(id=f"i{n}", question=f"Is {n} even?", text=f"It is {n}.\\n<b>Believe me.</b>") for n in range(10)]
shown = label(items, give, take_back, title="Ten labels")
"""
OWN = [SILENT_AND_SLOW, "%pge run slow --practice intervals", "after = 1", LABELS]
FIRST_OF_OWN = len(QUICKSTART.cells)
SLOW, STOPPED, QUEUED, LABELLED = range(FIRST_OF_OWN, FIRST_OF_OWN + len(OWN))


def index_of(source: str) -> int:
    """The quickstart's cell that begins so."""
    return next(number for number, cell in enumerate(QUICKSTART.cells) if cell.source.startswith(source))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page")
    own = [nbformat.v4.new_code_cell(source.strip()) for source in OWN]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[*QUICKSTART.cells, *own], metadata={"kernelspec": kernel})
    nbformat.write(notebook, place / "page.ipynb")
    return place


@pytest.fixture(scope="module")
def notebook(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.Notebook]:
    """The quickstart with cells of ours below it, all of the quickstart run."""
    settings = tmp_path_factory.mktemp("settings")
    with lab.server(directory, settings) as address, lab.browser(settings / "chromium") as page:
        opened = lab.Notebook(page, address, "page.ipynb")
        opened.connect()
        for number, cell in enumerate(QUICKSTART.cells):
            if cell.cell_type == "code":
                opened.run(number)
        yield opened


def test_the_quickstart_leaves_outputs_that_stand_by_themselves(notebook: lab.Notebook) -> None:
    kinds = {number: notebook.kinds(number) for number, one in enumerate(QUICKSTART.cells) if one.cell_type == "code"}
    run = index_of("%pge run --practice")
    assert kinds[run] == ["text/html", "text/html"], "what was told, folded, and the run"
    assert "passed" in notebook.cell(run).inner_text()
    shown = {kind for each in kinds.values() for kind in each}
    assert shown <= {"text/html", "text/plain", "application/vnd.jupyter.stdout"}
    assert notebook.page.locator(".jp-Notebook .jupyter-widgets").count() == 0


def test_an_evaluation_opens(notebook: lab.Notebook) -> None:
    cell = notebook.cell(index_of("%pge show evaluations 1.1"))
    folded = cell.locator("details").first
    assert folded.evaluate("one => one.open") is False
    folded.locator("summary").first.click()
    assert folded.evaluate("one => one.open && one.offsetHeight > one.querySelector('summary').offsetHeight")


def test_the_button_stops_within_two_seconds_what_waits_for_a_silent_model(
    notebook: lab.Notebook, directory: Path
) -> None:
    notebook.run(SLOW)
    notebook.start(STOPPED)
    notebook.start(QUEUED)
    cell = notebook.cell(STOPPED)
    button = cell.get_by_role("button", name="Stop")
    button.wait_for(timeout=20_000)
    cell.get_by_text("Planning").wait_for(timeout=5_000)
    pressed = time.monotonic()
    button.click()
    notebook.wait(STOPPED, seconds=10)
    assert time.monotonic() - pressed < 2
    cell.get_by_text("Go on with %pge resume.").wait_for(timeout=5_000)
    assert notebook.kinds(STOPPED) == ["text/html", "text/html", "application/vnd.jupyter.stderr"]
    assert "Go on with %pge resume." in cell.inner_text()
    assert cell.locator(".jupyter-widgets").count() == 0
    assert notebook.cell(QUEUED).locator(".jp-InputPrompt").inner_text().strip() in {"[ ]:", "[]:"}, "it was not run"
    run = open_run(directory / "slow")
    assert run.sections[-1].record.kind == "interruption"


def test_ten_items_are_labelled_with_keys_alone_and_no_cell_is_touched(notebook: lab.Notebook, directory: Path) -> None:
    before = notebook.sources()
    notebook.run(LABELLED)
    cell, keys = notebook.cell(LABELLED), notebook.page.keyboard
    notebook.page.wait_for_function("document.activeElement?.closest('.widget-text') !== null")
    assert "<b>Believe me.</b>" in cell.inner_text()
    # Letters that delete, add or cut cells where the notebook is given them; then a note, a word that is none, and undo.
    lines = ["dd", "p", "f", "u a b x", "p", "undo", "f", "p it is even", "f", "p", "f", "p"]
    done = iter([0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8, 9])
    for line in lines:
        keys.type(line)
        keys.press("Enter")
        cell.get_by_text(f"{next(done)} of 10").wait_for(timeout=5_000)
        if line == "dd":
            cell.get_by_text("is none of p, f, u").wait_for(timeout=5_000)
            keys.press("Control+a")
            keys.press("Delete")
    keys.type("f")
    keys.press("Enter")
    cell.get_by_text("10 of 10 labelled").wait_for(timeout=5_000)
    assert notebook.sources() == before
    assert cell.locator(".jupyter-widgets").count() == 0, "a table has its place"
    kept = json.loads((directory / "labels.json").read_text())
    assert [verdict for _, verdict, _ in kept] == [
        "pass",
        "fail",
        "unclear",
        "fail",
        "pass",
        "fail",
        "pass",
        "fail",
        "pass",
        "fail",
    ]
    assert [item for item, _, _ in kept] == [f"i{number}" for number in range(10)]
    assert [note for _, _, note in kept if note] == ["a b x", "it is even"]


def test_saved_and_reopened_untrusted_no_widget_is_left(notebook: lab.Notebook, directory: Path) -> None:
    notebook.save()
    saved = nbformat.read(directory / "page.ipynb", as_version=4)
    assert "widgets" not in saved.metadata
    outputs = [output for cell in saved.cells for output in cell.get("outputs", [])]
    assert not [one for one in outputs if "application/vnd.jupyter.widget-view+json" in one.get("data", {})]
    saved.cells.append(nbformat.v4.new_markdown_cell("Signed by nobody: it is another notebook."))
    nbformat.write(saved, directory / "stranger.ipynb")
    stranger = notebook.other("stranger.ipynb")
    cells = stranger.page.evaluate(
        "() => jupyterapp.shell.currentWidget.content.widgets.map(one => one.model.type === 'code' && one.model.trusted)"
    )
    assert len(cells) == len(saved.cells)
    assert not any(cells), "else it is not what a stranger sees"
    assert stranger.page.locator(".jp-Notebook .jupyter-widgets").count() == 0
    text = stranger.page.locator(".jp-Notebook").inner_text()
    assert "Error displaying widget" not in text
    assert "Loading widget" not in text
    assert "Ten labels: 10 of 10 labelled" in stranger.cell(LABELLED).inner_text()
    assert "passed" in stranger.cell(index_of("%pge run --practice")).inner_text()
    assert "Go on with %pge resume." in stranger.cell(STOPPED).inner_text()
