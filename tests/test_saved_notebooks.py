"""Notebooks as they are saved under ``examples/``: nothing in them that a reader must not meet."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").rglob("*.ipynb"))
MOST_BYTES = 500_000
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|tmp|Users|work|var|private)/[\w.-]+")
KEY = re.compile(r"sk-[A-Za-z0-9_-]{16,}|ANTHROPIC_API_KEY\s*=\s*[\"']?\w{8,}")


def faults(path: Path) -> list[str]:
    """What is wrong with a saved notebook."""
    text = path.read_text(encoding="utf-8")
    notebook: dict[str, Any] = json.loads(text)
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    told = [f"{path.stat().st_size:,} bytes"] if path.stat().st_size > MOST_BYTES else []
    told += [f"an error was saved: {output['ename']}" for output in outputs if output["output_type"] == "error"]
    told += [f"a path of a machine: {found[0]}" for found in MACHINE.finditer(text)]
    told += ["what looks like a key" for _ in KEY.finditer(text)]
    if "widgets" in notebook["metadata"] or "application/vnd.jupyter.widget-view+json" in text:
        told.append("the state of widgets that are gone")
    return told


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_saved_without_errors_paths_keys_dead_widgets_or_bulk(path: Path) -> None:
    assert faults(path) == []


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        (
            {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []},
            "an error was saved: ValueError",
        ),
        ({"output_type": "stream", "name": "stdout", "text": "in /home/ann/x"}, "a path of a machine: /home/ann"),
        ({"output_type": "stream", "name": "stdout", "text": "sk-ant-" + "a" * 20}, "what looks like a key"),
        ({"output_type": "stream", "name": "stdout", "text": "x" * MOST_BYTES}, "bytes"),
        (
            {"output_type": "display_data", "data": {"application/vnd.jupyter.widget-view+json": {}}, "metadata": {}},
            "the state of widgets that are gone",
        ),
    ],
)
def test_each_of_these_is_found(tmp_path: Path, output: dict[str, Any], fault: str) -> None:
    cell = {"cell_type": "code", "source": "", "metadata": {}, "outputs": [output], "execution_count": 1}
    place = tmp_path / "x.ipynb"
    place.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert any(fault in one for one in faults(place))
