"""Work out of the notebook: a run as tables, pages and files for others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from ..display import Cell, Code, Link, Table, View
from ..exports import EXPORTS, put
from ..moving import EARLIER
from ..run import Run
from ..views.ends import caveats, foot, title
from .addresses import run_named
from .here import Here

Name = Literal["latex", "csv", "html", "notebook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form that a run is exported in.

    ``place`` is where below ``exports/`` it goes unless a person says otherwise; a directory ends in "/". ``write`` takes the
    run, the place and ``exports/`` itself, and gives the files that it wrote.
    """

    place: str
    write: Callable[[Run, Path, Path], Sequence[Path]]


def export(
    here: Here,
    form: Annotated[Name, "tables and chart for a paper; every frame; one page; a notebook that needs no kernel"],
    run: Annotated[str, "another run: NAME, NAME@N or @N; none: this one"] = "",
    /,
    *,
    to: Annotated[str, "a file or a directory, instead of exports/ beside the state file"] = "",
) -> View:
    """Write a run out for others. A file of yours that is in the way is never overwritten."""
    there = run_named(run, here) if run else here
    held, exports = there.needs_run(), _exports(there.path.parent)
    chosen = FORMS[form]
    files = chosen.write(held, _place(chosen, to, here, exports), exports)
    rows = tuple((_named(path, here.directory), path.stat().st_size) for path in files)
    return View(
        title=f"{title(held)}: exported as {form}",
        blocks=(Table(caption="Files", heads=("File", "Bytes"), rows=rows),),
        notes=tuple(caveats(held)),
        next="%pge verify",
        foot=foot(held),
    )


def _exports(root: Path) -> Path:
    """Where the exports of a run go; those of an earlier run stand at its place, under its number."""
    return root.parents[1] / EXPORTS / root.name if root.parent.name == EARLIER else root / EXPORTS


def _place(form: Form, to: str, here: Here, exports: Path) -> Path:
    if not to:
        return exports / form.place
    place = here.directory / Path(to).expanduser()
    return place / form.place if place.is_dir() and not form.place.endswith("/") else place


def _named(path: Path, beside: Path) -> Cell:
    """A link where the notebook's server can reach the file."""
    if beside not in path.parents:
        return Code(str(path))
    name = os.path.relpath(path, beside).replace(os.sep, "/")
    return Link(name, name)


def _csv(run: Run, place: Path, exports: Path) -> Sequence[Path]:
    from ..exports.tables import csv_files

    return put({place / name: content for name, content in csv_files(run).items()}, exports)


def _latex(run: Run, place: Path, exports: Path) -> Sequence[Path]:
    from ..exports.tables import latex_files

    return put({place / name: content for name, content in latex_files(run).items()}, exports)


def _html(run: Run, place: Path, exports: Path) -> Sequence[Path]:
    from ..exports.report import page

    return put({place: page(run)}, exports)


def _notebook(run: Run, place: Path, exports: Path) -> Sequence[Path]:
    from ..exports.report import notebook

    return put({place: notebook(run)}, exports)


FORMS: Mapping[Name, Form] = {
    "latex": Form(place="latex/", write=_latex),
    "csv": Form(place="csv/", write=_csv),
    "html": Form(place="report.html", write=_html),
    "notebook": Form(place="report.ipynb", write=_notebook),
}
