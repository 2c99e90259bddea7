"""The views of what a run made: its files, and how those of two attempts differ."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from ..display import Block, Cell, Code, Diff, Link, Table, View, Words
from ..records import FileRef
from ..results import working_directory
from ..run import Run
from ..workspace import Objects
from .ends import caveats, foot, title

At = tuple[int, int]
"""A step and one of its attempts."""
LONGEST = 4_000
"""Lines of a diff that are shown."""
COLUMNS = ("step", "attempt", "path", "size", "sha256", "in_work")


def files_view(run: Run, root: Path, chosen: Sequence[At], beside: Path) -> View:
    """The deliverables of the attempts, with links for those in the working directory, relative to ``beside``."""
    work = working_directory(run, root)
    listed = [(step, attempt, file) for step, attempt in chosen for file in run.attempts(step)[attempt].files]
    seen = [_in_work(work, file) for *_, file in listed]
    rows = [
        (f"{step}.{attempt}", _named(file, work, beside, said), file.size, Code(file.sha256[:12]), said)
        for (step, attempt, file), said in zip(listed, seen, strict=True)
    ]
    table = Table(caption="Files", heads=("Attempt", "File", "Bytes", "Hash", f"In {work.name}/"), rows=tuple(rows))
    frame = pd.DataFrame(
        [
            (step, attempt, file.path, file.size, file.sha256, said)
            for (step, attempt, file), said in zip(listed, seen, strict=True)
        ],
        columns=pd.Index(COLUMNS),
    )
    python = any(file.path.endswith(".py") and run.state(step) == "accepted" for step, _, file in listed)
    return View(
        title=f"{title(run)}: files",
        blocks=(table if rows else Words("No files were made yet."),),
        notes=tuple(caveats(run)),
        next="%pge load" if python else "%pge show evaluations",
        foot=foot(run),
        df=frame,
    )


def _in_work(work: Path, file: FileRef) -> str:
    path = work / file.path
    if path.is_symlink() or not path.is_file():
        return "not there"
    same = path.stat().st_size == file.size and hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
    return "the same" if same else "another content"


def _named(file: FileRef, work: Path, beside: Path, said: str) -> Cell:
    there = os.path.relpath(work / file.path, beside).replace(os.sep, "/")
    return Code(file.path) if said == "not there" else Link(file.path, there)


def diff_view(run: Run, root: Path, old: At, new: At) -> View:
    """What changed in the deliverables from one attempt to another, file by file."""
    objects = Objects(root)
    before, after = ({file.path: file for file in run.attempts(step)[attempt].files} for step, attempt in (old, new))
    compared = [(path, *_changes(objects, before.get(path), after.get(path))) for path in sorted({*before, *after})]
    names = tuple(f"{step}.{attempt}" for step, attempt in (old, new))
    table = Table(
        caption=f"From attempt {names[0]} to attempt {names[1]}",
        heads=("File", "What", "Lines added", "Lines removed"),
        rows=tuple((Code(path), what, *_counted(lines)) for path, what, lines in compared),
    )
    said = Words(f"Lines that begin with - are in {names[0]} alone, those with + in {names[1]} alone.")
    diffs = [Diff(label=path, text=_shown(lines)) for path, _, lines in compared if lines]
    blocks: list[Block] = [table, *([said] if diffs else []), *diffs] if compared else [Words("Neither made a file.")]
    return View(
        title=f"{title(run)}: {names[0]} to {names[1]}",
        blocks=tuple(blocks),
        notes=tuple(caveats(run)),
        next=f"%pge show evaluations {names[1]}",
        foot=foot(run),
        df=pd.DataFrame(table.rows, columns=pd.Index(("file", "what", "added", "removed"))).assign(
            file=[path for path, *_ in compared]
        ),
    )


def _changes(objects: Objects, old: FileRef | None, new: FileRef | None) -> tuple[str, list[str]]:
    """What became of a file, in words, and the lines of its diff; none where it is the same or no text."""
    what = "added" if old is None else "removed" if new is None else "changed"
    if old and new and old.sha256 == new.sha256:
        return "the same" if old.mode == new.mode else "other permissions", []
    try:
        texts = [objects.get(file.sha256).decode("utf-8") if file else "" for file in (old, new)]
    except UnicodeDecodeError:
        return f"{what}, not text", []
    return what, list(difflib.unified_diff(_lines(texts[0]), _lines(texts[1]), lineterm=""))


def _lines(text: str) -> list[str]:
    """The lines; the last one says where it does not end, and a carriage return is not mistaken for an end."""
    *lines, rest = text.replace("\r", "\\u000d").split("\n")
    return [*lines, f"{rest}  (no line end at the end of the file)"] if rest else lines


def _counted(lines: Sequence[str]) -> Iterator[int]:
    """How many lines a diff adds, and how many it removes; its first two are a heading."""
    for sign in "+-":
        yield sum(line.startswith(sign) for line in lines[2:])


def _shown(lines: Sequence[str]) -> str:
    more = [f"... {len(lines) - LONGEST:,} more lines"] if len(lines) > LONGEST else []
    return "\n".join([*lines[2 : LONGEST + 2], *more])
