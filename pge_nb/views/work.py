"""The views of what a run made: its files, and how those of two attempts differ."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..display import Block, Cell, Code, Diff, Link, Table, View, Words
from ..prose import counted
from ..records import FileRef
from ..results import working_directory
from ..run import Run
from ..workspace import Objects
from .ends import caveats, foot, title

At = tuple[int, int]
"""A step and one of its attempts."""
LONGEST = 4_000
"""Lines of a diff that are shown."""
DIFF_COLUMNS = ("file", "what", "added", "removed")
COLUMNS = ("step", "attempt", "path", "size", "sha256", "in_work")


def files_view(run: Run, root: Path, chosen: Sequence[At], beside: Path, work: Path | None = None) -> View:
    """The deliverables of the attempts, with links for those in a working directory (the run's own), relative to ``beside``."""
    from pandas import DataFrame

    work = work or working_directory(run, root)
    listed = [(step, attempt, file) for step, attempt in chosen for file in run.attempts(step)[attempt].files]
    seen = [_in_work(work, file) for *_, file in listed]
    rows = [
        (f"{step}.{attempt}", _named(file, work, beside, said), file.size, Code(file.sha256[:12]), said)
        for (step, attempt, file), said in zip(listed, seen, strict=True)
    ]
    table = Table(caption="Files", heads=("Attempt", "File", "Bytes", "Hash", f"In {work.name}/"), rows=tuple(rows))
    told = [(step, n, file.path, file.size, file.sha256) for step, n, file in listed]
    frame = DataFrame(
        [(*row, said) for row, said in zip(told, seen, strict=True)],
        columns=list(COLUMNS),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: an attempt. ``root`` is its run's directory; ``whose`` names the run, "": the one at hand."""

    run: Run
    root: Path
    step: int
    attempt: int
    whose: str = ""

    def __str__(self) -> str:
        return f"{self.whose}:{self.step}.{self.attempt}" if self.whose else f"{self.step}.{self.attempt}"

    @property
    def files(self) -> Mapping[str, FileRef]:
        """Path -> file."""
        return {file.path: file for file in self.run.attempts(self.step)[self.attempt].files}

    def text(self, file: FileRef | None) -> str:
        """A file's text, empty for none; ``UnicodeDecodeError`` where it is no text."""
        return Objects(self.root).get(file.sha256).decode("utf-8") if file else ""


def diff_view(old: Side, new: Side) -> View:
    """What changed in the deliverables from one attempt to another, be it of another run, file by file."""
    from pandas import DataFrame

    before, after = old.files, new.files
    paths = sorted({*before, *after})
    compared = [(path, *_changes(old, new, before.get(path), after.get(path))) for path in paths]
    told: list[tuple[Cell, ...]] = [(what, *_counted(lines)) for _, what, lines in compared]
    table = Table(
        caption=f"From attempt {old} to attempt {new}",
        heads=("File", "What", "Lines added", "Lines removed"),
        rows=tuple((Code(path), *row) for path, row in zip(paths, told, strict=True)),
    )
    said = Words(f"Lines that begin with - are in {old} alone, those with + in {new} alone.")
    diffs = [Diff(label=path, text=_shown(lines)) for path, _, lines in compared if lines]
    blocks: list[Block] = [table, *([said] if diffs else []), *diffs] if compared else [Words("Neither made a file.")]
    return View(
        title=f"{title(new.run)}: {old} to {new}",
        blocks=tuple(blocks),
        notes=tuple(dict.fromkeys([*caveats(old.run), *caveats(new.run)])),
        next=f"%pge show evaluations {new}",
        foot=foot(new.run),
        df=DataFrame([(path, *row) for path, row in zip(paths, told, strict=True)], columns=list(DIFF_COLUMNS)),
    )


def _changes(old: Side, new: Side, before: FileRef | None, after: FileRef | None) -> tuple[str, list[str]]:
    """What became of a file, in words, and the lines of its diff; none where it is the same or no text."""
    what = "added" if before is None else "removed" if after is None else "changed"
    if before and after and before.sha256 == after.sha256:
        return "the same" if before.mode == after.mode else "other permissions", []
    try:
        texts = old.text(before), new.text(after)
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
    more = [f"... {counted(len(lines) - LONGEST, 'more line')}"] if len(lines) > LONGEST else []
    return "\n".join([*lines[2 : LONGEST + 2], *more])
