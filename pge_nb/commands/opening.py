"""A run or a file that a person names: one of this notebook, one somewhere else, or a zip that holds some."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated

from ..display import View, Words
from ..errors import BadInput, PgeError
from ..exports.archive import Archive, is_zip, look
from ..nearness import nearest
from ..notebook import begun
from ..run import Run
from ..state import FILE_NAME, check_kind
from ..workspace import Objects
from .addresses import WHOSE, run_named
from .earlier import of, runs
from .here import Here, path_of
from .saving import spelled
from .standing import run_view

MOST = 2_000
"""Files that are looked through for the nearest."""


def open_(
    here: Here,
    run: Annotated[
        str, "NAME@N or @N, as %pge runs lists them; NAME; a state file; a zip of %pge save or export bundle"
    ],
    /,
) -> View:
    """Look at any run, here or in a file: commands go on to be about the task that they were about. A zip is laid out first."""
    found = resolved(run, here)
    if isinstance(found, Here):
        there = found.needs_run()
        here.shows_verdicts(there)
        view, address = run_view(there, found.path), address_of(found)
        return of(address, view) if address else view
    return _of_zip(here, found) if is_zip(found) else _of_file(here, found)


def resolved(text: str, here: Here) -> Here | Path:
    """The place of a run of this notebook, or the path of another file; ``BadInput`` names the nearest of what there is.

    The name of a task goes before that of a file.
    """
    match = WHOSE.fullmatch(text)
    if match and text and (not match[1] or match[1] in here.names()):
        return run_named(text, here)
    path = here.directory / path_of(text)
    if path.is_dir():
        if not (path / FILE_NAME).is_file():
            raise BadInput(f"No {FILE_NAME} is in {path}.", _hint(text, here) or "%pge runs lists the runs here.")
        path /= FILE_NAME
    if path.is_file():
        return next((one for one in _places(here) if one.path == path), path)
    check_kind(path)
    hint = _hint(text, here)
    if not hint and "/" not in text and path.suffix.lower() not in {".zip", ".md"}:
        return run_named(text, here)  # which says what an address looks like
    raise BadInput(f"There is no run and no file {text}.", hint or "%pge runs lists the runs here.")


def _places(here: Here) -> Iterator[Here]:
    """All places of this notebook at which a run can stand."""
    for name in ("", *here.names()):
        there = here.elsewhere(name)
        yield there
        for state in there.place.earlier().values():
            yield replace(there, state=state)


def _hint(text: str, here: Here) -> str:
    near = nearest(text, _files(here.directory), cutoff=0.6) or nearest(text, here.names())
    return f"The nearest is {near}." if near else ""


def _files(directory: Path) -> Iterable[str]:
    found = (path for pattern in ("*.zip", "*/*.zip", f"*/{FILE_NAME}", "*.md") for path in directory.glob(pattern))
    for path in islice(found, MOST):
        if not path.name.startswith("."):
            yield path.relative_to(directory).as_posix()


def _of_file(here: Here, path: Path) -> View:
    """A run that stands somewhere else: what is shown of it changes nothing there."""
    run = begun(path)
    if run is None:
        raise BadInput(f"{path} holds no task yet.", "%pge runs lists the runs here.")
    view = run_view(run, path)
    here.shows_verdicts(run)
    return replace(view, title=f"{path}: {view.title}", next=f"%pge verify {spelled(str(path))}")


def _of_zip(here: Here, path: Path) -> View:
    from ..exports import bundle, saved

    archive = look(path)
    if archive.format == bundle.FORMAT:
        return _bundle(here, archive)
    if archive.format == saved.FORMAT:
        return _saved(here, archive)
    raise BadInput(f"{path.name} is of the format {archive.format:.40}.", "Install a newer pge_nb to open it.")


def _bundle(here: Here, archive: Archive) -> View:
    from ..exports.bundle import lay_out

    stem = re.sub(r"\W+", "-", archive.path.stem).strip("-_")
    name = stem if re.match(r"[^\W\d_]", stem) else f"run-{stem}".rstrip("-")
    there = here.elsewhere(name[:64])
    new = lay_out(archive, there.directory / there.name)
    run = there.needs_run()
    here.shows_verdicts(run)
    view = of(there.name, run_view(run, there.path))
    said = f"{archive.path.name} {'was laid out' if new else 'had been laid out already'} as {there.name}/."
    return replace(view, notes=(*view.notes, said, *_gone(run, there.path)))


def _saved(here: Here, archive: Archive) -> View:
    from ..exports.saved import lay_out, told

    laid = lay_out(archive, here.directory)
    view, names = runs(here), here.names()
    first = "%pge" if (here.directory / FILE_NAME).is_file() or not names else f"%pge {names[0]}"
    notes = [f"Another {name} is here; the saved one is {to}." for name, to in laid.renamed.items()]
    for name in sorted(info.filename for info in archive.files if Path(info.filename).name == FILE_NAME):
        with contextlib.suppress(PgeError):  # a damaged one is told of by whatever looks at it
            notes += _gone(begun(here.directory / name), here.directory / name, name)
    return replace(
        view,
        title=f"Opened {archive.path.name}",
        blocks=(Words(told(laid)), *view.blocks),
        notes=(*notes, *view.notes),
        next=first,
    )


def _gone(run: Run | None, state: Path, name: str = "") -> tuple[str, ...]:
    """What a run rests on and did not come along."""
    from ..exports.snapshot import lacking, said_lacking

    return said_lacking(lacking(run, Objects(state.parent)), name) if run else ()


def address_of(here: Here) -> str:
    """How a place is named: NAME, NAME@N or @N; empty for the unnamed task, and for a file that is no run of this notebook."""
    number = f"@{here.path.parent.name}" if here.place.is_earlier else ""
    return f"{here.name}{number}"
