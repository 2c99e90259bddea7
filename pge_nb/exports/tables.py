"""The frames of a run as CSV, and its tables and its chart for a paper."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .. import frames, views
from ..display import View
from ..errors import BadInput
from ..frames import columns as declared
from ..interrupts import held_back
from ..run import Run

if TYPE_CHECKING:
    from pandas import DataFrame

FRAMES: Mapping[str, Callable[[Run], DataFrame]] = {
    "tasks": frames.tasks,
    "plan": frames.plan,
    "criteria": frames.criteria,
    "checks": frames.checks,
    "attempts": frames.attempts,
    "evaluations": frames.evaluations,
    "trajectory": frames.trajectory,
    "decisions": frames.decisions,
    "calls": frames.calls,
    "cost": frames.cost,
}
FORMULA = re.compile("'*[=+\\-@\t\r＝＋－＠]")  # noqa: RUF001 - some spreadsheets take the wide signs for the narrow ones
"""What a spreadsheet would take for a formula, or for one that is marked as text already."""


def csv_files(run: Run) -> dict[str, bytes]:
    """Name -> content of one CSV file a frame, in UTF-8, with the columns that `frames` declares.

    A text that a spreadsheet would run as a formula (it begins with = + - @, a tab or a carriage return) has an apostrophe put
    before it, and so has one that begins with apostrophes and then one of these; numbers are left alone. `read_csv` takes it
    away again. Missing and empty texts are both an empty cell.
    """
    return {f"{name}.csv": _csv(frame_of(run)) for name, frame_of in FRAMES.items()}


def _csv(frame: DataFrame) -> bytes:
    held = frame.copy()
    for name, dtype in frame.dtypes.items():
        if dtype == declared.TEXT:
            held[name] = held[name].map(_marked, na_action="ignore")
    # The line ends of RFC 4180: with others, Python before 3.13 leaves a carriage return in a text unquoted.
    return held.to_csv(index=False, lineterminator="\r\n").encode("utf-8")


def _marked(text: str) -> str:
    return "'" + text if FORMULA.match(text) else text


def read_csv(path: Path | str) -> DataFrame:
    """The frame that was exported to a file, with its declared types; the file's name says which. Missing texts are missing."""
    path = Path(path)
    if path.stem not in FRAMES:
        raise BadInput(f"{path.name} is not the name of a frame.", f"There are {', '.join(FRAMES)}, each with .csv.")
    columns: declared.Columns = getattr(declared, path.stem.upper())
    text = path.read_bytes().decode("utf-8")
    held = pd.read_csv(io.StringIO(text, newline=""), dtype="string", keep_default_na=False, na_values=[""])
    return pd.DataFrame({name: _typed(held[name], dtype) for name, dtype in columns.items()})


def _typed(column: Any, dtype: str) -> Any:
    if dtype == declared.TIME:
        return pd.to_datetime(column, utc=True, format="ISO8601").astype(dtype)
    if dtype == declared.FLAG:
        return column.map({"True": True, "False": False}).astype(dtype)
    if dtype != declared.TEXT:
        return pd.to_numeric(column).astype(dtype)
    return column.map(_unmarked, na_action="ignore").astype(dtype)


def _unmarked(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


# For a paper

TABLES: Mapping[str, Callable[[Run], View]] = {
    "plan": views.plan_view,
    "contract": views.contract_view,
    "evaluations": views.evaluations_view,
    "scores": views.trajectory_view,
    "decisions": views.decisions_view,
    "cost": views.cost_view,
}
CHART = "trajectory.pdf"
MOST_IN_A_COLUMN = 3
"""Steps whose panels fit below one another; the chart of more is as wide as a page."""
PAPER = r"""% Written by pge_nb. XeLaTeX and LuaLaTeX set every script, in a font that has it; pdfLaTeX sets Latin alone.
\documentclass{article}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\else\usepackage{fontspec}\fi
\usepackage{booktabs,longtable,graphicx}
\begin{document}
"""
FIGURE = r"""\begin{figure}[tbp]
\centering
\includegraphics{trajectory.pdf}
\caption{Scores from 0 to 10 by attempt}\label{fig:trajectory}
\end{figure}
"""
FIRST_LINE = "% Written by pge_nb; it needs \\usepackage{booktabs,longtable}. To have it in your paper: \\input{"


def latex_files(run: Run) -> dict[str, bytes]:
    """Name -> content: a ``.tex`` for each view with a table, the trajectory as a PDF, and ``report.tex`` that holds all."""
    files = {name: view.to_latex(label=f"tab:{name}") for name, of in TABLES.items() if (view := of(run)).has_tables}
    body = "".join(rf"\input{{{name}}}" + "\n" for name in files)
    chart = _chart(run)
    paper = "".join([PAPER, body, FIGURE if chart else "", "\\end{document}\n"])
    written = {f"{name}.tex": f"{FIRST_LINE}{name}}}\n{text}\n".encode() for name, text in files.items()}
    return {**written, **chart, "report.tex": paper.encode()}


def _chart(run: Run) -> dict[str, bytes]:
    """The trajectory's PDF; nothing where no attempt was evaluated yet."""
    with held_back():
        from .. import charts

    trajectory = frames.trajectory(run)
    if trajectory.empty:
        return {}
    width: charts.Width = "column" if len(run.steps) <= MOST_IN_A_COLUMN else "page"
    figure = charts.trajectory_chart(trajectory, frames.decisions(run), plan=frames.plan(run), width=width)
    return {CHART: charts.pdf(figure, width)}
