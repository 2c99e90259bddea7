"""What agents are told of a task's inputs: names, types, counts, how to read each; rows only where the person asked for it."""

from __future__ import annotations

import io

from ..inputs import brief
from ..markdown import ticks_around
from ..records import Input
from ..run import Run
from ..workspace import INPUTS
from .judging import neutral

COLUMNS_BUDGET = 8_000
"""Characters that the columns of one input may take in a brief; what is cut is marked."""

IMPORTS = {"import json": "json", "import pandas as pd": "pd", "from pathlib import Path": "Path"}


def inputs_told(run: Run) -> str:
    """All inputs as a brief tells them; empty for a task without any.

    Names of columns and cells are data, of unknown origin as the artifacts are: they stand in fences, made harmless.
    """
    if not run.task.inputs:
        return ""
    heading = (
        f"Data of the person, read-only files under {INPUTS}/ wherever the work is run and checked; checks may read them, "
        f"and no deliverable may lie there:"
    )
    return "\n".join([heading, *(_told(one, run.task.rows) for one in run.task.inputs)])


def _told(one: Input, rows: int) -> str:
    imports = [line for line, name in IMPORTS.items() if f"{name}." in one.read or f"{name}(" in one.read]
    lines = [
        f"- {brief(one)}: {one.files[0].path}, read as it is by this line ({'; '.join(imports)}):",
        *_fenced(one.read, "python"),
    ]
    if one.index:
        lines.append("Its index is written as columns, and is set again by that line.")
    if one.columns:
        head = "column,dtype,nulls" if one.kind == "DataFrame" else "key,type,nulls"
        cells = [f"{_cell(column.name)},{column.dtype},{column.nulls}" for column in one.columns]
        lines += _fenced("\n".join([head, *_within(cells)]), "csv")
    if rows:
        lines += [
            f"The first of it, at most {rows:,}:",
            *_fenced(one.shown, "csv" if one.kind == "DataFrame" else "json"),
        ]
    return "\n".join(lines)


def _within(cells: list[str]) -> list[str]:
    """As many of the lines as the budget holds."""
    left = COLUMNS_BUDGET
    for number, cell in enumerate(cells):
        left -= len(cell) + 1
        if left < 0:
            return [*cells[:number], f"[cut: {len(cells) - number:,} more]"]
    return cells


def _cell(text: str) -> str:
    import csv

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([text])
    return line.getvalue()


def _fenced(text: str, info: str) -> list[str]:
    text = neutral(text).rstrip("\n")
    ticks = ticks_around(text)
    return [f"{ticks}{info}", text, ticks]
