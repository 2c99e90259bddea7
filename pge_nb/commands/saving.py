"""*Save my work*: everything of this notebook in one visible file, to go on from elsewhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from ..display import Cell, Code, Link, Table, View, Words
from ..errors import BadInput
from ..notebook import Kept, begun, runs
from ..prose import counted
from ..views.ends import foot, title
from ..workspace import Objects
from .here import Here, path_of

NAMED = 5
"""Files that are named of those that were left out."""


def save(
    here: Here, *, to: Annotated[str, "the new zip, instead of one beside the notebook named after task and day"] = ""
) -> View:
    """Save my work: all runs here with their files, and the notebooks, in one zip; %pge open lays it out elsewhere."""
    from ..exports.saved import save as write
    from ..exports.snapshot import lacking, said_lacking

    kept = list(runs(here.directory))
    if not kept:
        raise BadInput(f"No run is in {here.directory}.", "Begin with %%pge run.")
    place = _place(here, to, kept)
    saved = write(here.directory, [one.state for one in kept], place)
    beside = place.parent == here.directory
    shown: Cell = Link(place.name, place.name) if beside else Code(str(place))
    rows = tuple((one.address or "(unnamed)", title(one.run) if one.run else None) for one in kept)
    notes = [f"{name} is not in it: {why}." for name, why in list(saved.left_out.items())[:NAMED]]
    if (more := len(saved.left_out) - NAMED) > 0:
        notes.append(f"{counted(more, 'more file is', 'more files are')} not in it, for like reasons.")
    notes += [f"A key that stood in {name} is not in the zip." for name in saved.redacted]
    if here.state and here.state not in {one.state for one in kept}:
        notes.append(
            f"{here.state.name} is not in it: it is no run of this directory. %pge export bundle takes it along."
        )
    for one in kept:
        if one.run:
            notes += said_lacking(lacking(one.run, Objects(one.state.parent)), one.address or "the unnamed run")
    run = begun(kept[0].state) if kept[0].run else None
    return View(
        title=f"Saved: {counted(len(kept), 'run')}, {counted(saved.files, 'file')}",
        blocks=(
            Table(caption="Download it", heads=("File", "Bytes"), rows=((shown, saved.bytes),)),
            Words(
                "Put it into a new directory, or a new Binder, beside a notebook, and run there the line below. Notebooks are "
                "in it as they were last saved: save this one, then run this again, to have its outputs in it."
            ),
            Table(caption="Runs in it", heads=("Run", "Task"), rows=rows),
        ),
        notes=tuple(notes),
        next=f"%pge open {spelled(place.name if beside else str(place))}",
        foot=foot(run) if run else "",
    )


def _place(here: Here, to: str, kept: list[Kept]) -> Path:
    if to:
        place = here.directory / path_of(to)
        if place.is_dir():
            place /= _name(here, kept)
        if place.exists() or place.is_symlink():
            raise BadInput(f"{place} is there already.", "Give another name: nothing is ever overwritten.")
        if not place.parent.is_dir():
            raise BadInput(f"There is no directory {place.parent}.", "Make it first, or save beside the notebook.")
        return place if place.suffix.lower() == ".zip" else place.with_name(f"{place.name}.zip")
    name, number = Path(_name(here, kept)), 1
    place = here.directory / name
    while place.exists() or place.is_symlink():
        number += 1
        place = here.directory / f"{name.stem}-{number}.zip"
    return place


def _name(here: Here, kept: list[Kept]) -> str:
    """After the task that commands are about, else the first, and the day."""
    from ..exports.bundle import called

    own = next((one for one in kept if one.state == here.path and one.run), None) or next(
        (one for one in kept if one.run), None
    )
    task = called(own.run, own.name, redacted=False) if own and own.run else "runs"
    return f"{task}-{datetime.now(UTC):%Y-%m-%d}.zip"


def spelled(path: str) -> str:
    """A path as it is to be written on a line: in quotes where it holds blanks or quotes."""
    return path if re.fullmatch(r"[^\s\"';]+", path) else f'"{path}"' if '"' not in path else f"'{path}'"
