"""Work out of the notebook: a run as tables, pages and files for others."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from ..display import Block, Cell, Code, Link, Table, View
from ..errors import BadInput
from ..exports import EXPORTS, put
from ..moving import EARLIER
from ..prose import counted
from ..run import Run
from ..views.ends import caveats, foot, title
from .addresses import run_named
from .here import Here, path_of

Name = Literal["latex", "csv", "html", "notebook", "bundle", "handoff", "git"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written: the run of a state file, at ``place``. ``exports`` keeps the record of what was exported.

    ``name`` is how the task is called, ``hide`` what is to be left out of it.
    """

    run: Run
    state: Path
    name: str
    place: Path
    exports: Path
    hide: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written, and what a person is to be told of it."""

    files: Sequence[Path]
    notes: Sequence[str] = ()
    blocks: Sequence[Block] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form that a run is exported in.

    ``place`` is where below ``exports/`` it goes unless a person says otherwise; a directory ends in "/".
    """

    place: str
    write: Callable[[Wanted], Written]


def export(
    here: Here,
    form: Annotated[
        Name,
        "tables and chart for a paper; every frame; one page; a notebook that needs no kernel; one zip that %pge open lays "
        "out elsewhere; what is done and what is not, for whoever takes over; a repository of all attempts",
    ],
    run: Annotated[str, "another run: NAME, NAME@N or @N; none: this one"] = "",
    /,
    *,
    to: Annotated[str, "a file or a directory, instead of exports/ beside the state file"] = "",
    hide: Annotated[str | None, "left out of a bundle: prompts, paths, calls, with commas"] = None,
) -> View:
    """Write a run out for others. A file of yours that is in the way is never overwritten."""
    there = run_named(run, here) if run else here
    if hide is not None and not hide.strip(" ,"):
        raise BadInput(
            "--hide names nothing, and all would be handed out.", "It takes prompts, paths, calls, with commas."
        )
    if hide and form != "bundle":
        raise BadInput(f"Nothing can be hidden in the form {form}.", f"%pge export bundle --hide {hide}")
    held, exports = there.needs_run(), _exports(there.path.parent)
    chosen = FORMS[form]
    place = _place(chosen, to, here, exports)
    wanted = Wanted(run=held, state=there.path, name=there.place.name, place=place, exports=exports, hide=hide or "")
    written = chosen.write(wanted)
    rows = tuple(
        (_named(path, here.directory), path.stat().st_size if path.is_file() else None) for path in written.files
    )
    return View(
        title=f"{title(held)}: exported as {form}",
        blocks=(Table(caption="Files", heads=("File", "Bytes"), rows=rows), *written.blocks),
        notes=(*written.notes, *caveats(held)),
        next="%pge verify",
        foot=foot(held),
    )


def _exports(root: Path) -> Path:
    """Where the exports of a run go; those of an earlier run stand at its place, under its number."""
    return root.parents[1] / EXPORTS / root.name if root.parent.name == EARLIER else root / EXPORTS


def _place(form: Form, to: str, here: Here, exports: Path) -> Path:
    if not to:
        return exports / form.place
    place = here.directory / path_of(to)
    return place / form.place if place.is_dir() and not form.place.endswith("/") else place


def _named(path: Path, beside: Path) -> Cell:
    """A link where the notebook's server can reach the file."""
    if beside not in path.parents:
        return Code(str(path))
    name = os.path.relpath(path, beside).replace(os.sep, "/")
    return Link(name, name)


def _csv(wanted: Wanted) -> Written:
    from ..exports.tables import csv_files

    return _all(wanted, csv_files(wanted.run))


def _latex(wanted: Wanted) -> Written:
    from ..exports.tables import latex_files

    return _all(wanted, latex_files(wanted.run))


def _all(wanted: Wanted, files: Mapping[str, bytes]) -> Written:
    return Written(files=put({wanted.place / name: content for name, content in files.items()}, wanted.exports))


def _html(wanted: Wanted) -> Written:
    from ..exports.report import page

    return Written(files=put({wanted.place: page(wanted.run)}, wanted.exports))


def _notebook(wanted: Wanted) -> Written:
    from ..exports.report import notebook

    return Written(files=put({wanted.place: notebook(wanted.run)}, wanted.exports))


def _bundle(wanted: Wanted) -> Written:
    from ..exports.bundle import bundle, called
    from ..exports.redacted import chosen

    hide = chosen(wanted.hide)
    name = called(wanted.run, wanted.name, redacted=bool(hide))
    place = wanted.place if wanted.place.suffix == ".zip" else wanted.place / f"{name}.zip"
    made = bundle(wanted.run, wanted.state, hide, place.stem)
    files = put({place: made.content}, wanted.exports)
    if made.redaction is None:
        return Written(files=files, notes=made.notes)
    rows = tuple((what, places) for what, places in made.redaction.removed.items())
    return Written(
        files=files,
        notes=(f"Redacted export of head {made.redaction.of[:12]}: a file and a chain of its own.", *made.notes),
        blocks=(Table(caption="Taken out", heads=("What", "Places"), rows=rows),),
    )


def _handoff(wanted: Wanted) -> Written:
    from ..exports.handoff import STATUS, features, files

    made = {wanted.place / name: content for name, content in files(wanted.run).items()}
    written = put(made, wanted.exports, whole=wanted.place)
    statuses = [one.status for one in features(wanted.run)]
    rows = tuple((status, statuses.count(status)) for status in STATUS.values())
    return Written(
        files=written,
        notes=(
            "These files are read by people and agents, never by pge_nb: an edit in them changes nothing in the run.",
        ),
        blocks=(Table(caption="Features", heads=("Status", "Features"), rows=rows),),
    )


def _git(wanted: Wanted) -> Written:
    from ..exports.history import write

    made = write(wanted.run, wanted.state.parent, wanted.place)
    rows = (
        (Code("git log --graph --oneline --all"), "every attempt, and what became of it"),
        (Code("git log --first-parent main"), "the decisions: each is a merge of the attempt that stands"),
        (Code("git show step-1-attempt-1"), "an attempt: why, what it changed, verdict and scores"),
        (Code("git diff step-1-attempt-1 main"), "what came of it in the end"),
        (Code("git branch --no-merged main"), "the attempts that came to nothing"),
    )
    notes = [] if made.new else ["The very same history was there already."]
    notes += [f"{name} is not in it: git keeps such names for itself." for name in made.left_out]
    read = Table(caption=f"To read the {counted(made.commits, 'commit')}", heads=("Line", "What it shows"), rows=rows)
    return Written(files=(made.place,), notes=notes, blocks=(read,))


FORMS: Mapping[Name, Form] = {
    "latex": Form(place="latex/", write=_latex),
    "csv": Form(place="csv/", write=_csv),
    "html": Form(place="report.html", write=_html),
    "notebook": Form(place="report.ipynb", write=_notebook),
    "bundle": Form(place="./", write=_bundle),
    "handoff": Form(place="handoff/", write=_handoff),
    "git": Form(place="git/", write=_git),
}
