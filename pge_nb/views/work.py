"""The views of what a run made: its files, and how those of two attempts differ."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..display import Block, Cell, Code, Diff, Fold, Link, Table, View, Words, number
from ..prose import counted
from ..records import FileRef
from ..results import working_directory
from ..run import Run
from ..workspace import Objects
from .ends import caveats, foot, title

At = tuple[int, int]
"""A step and one of its attempts."""
GLANCE, LONGEST = 80, 1_000
"""Lines of all diffs that are shown unfolded, and of one that are shown at all."""
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
    """What changed in the deliverables from one attempt to another, be it of another run, file by file.

    A sentence says how much; of many or long changes each file is folded; of a very long one the beginning is shown.
    """
    from pandas import DataFrame

    before, after = old.files, new.files
    paths = sorted({*before, *after})
    compared = [(path, *_changes(old, new, before.get(path), after.get(path))) for path in paths]
    told: list[tuple[str, int, int]] = [(what, *_counted(lines)) for _, what, lines in compared]
    table = Table(
        caption=f"From attempt {old} to attempt {new}",
        heads=("File", "What", "Lines added", "Lines removed"),
        rows=tuple((Code(path), *row) for path, row in zip(paths, told, strict=True)),
    )
    diffs = tuple(_diffs([(path, lines) for path, _, lines in compared if lines]))
    said = Words(f"Lines that begin with - are in {old} alone, those with + in {new} alone.")
    blocks: list[Block] = [Words(_in_short(told)), *_verdicts(old, new), table, *([said] if diffs else []), *diffs]
    return View(
        title=f"{title(new.run)}: {old} to {new}",
        blocks=tuple(blocks) if compared else (Words("Neither made a file."),),
        notes=tuple(dict.fromkeys([*caveats(old.run), *caveats(new.run)])),
        next=f"%pge show evaluations {old} {new}",
        foot=foot(new.run),
        df=DataFrame([(path, *row) for path, row in zip(paths, told, strict=True)], columns=list(DIFF_COLUMNS)),
    )


def _in_short(told: Sequence[tuple[str, int, int]]) -> str:
    """How many files of which kind, and how many lines."""
    kinds = Counter(what.split(",")[0] for what, *_ in told)
    files = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    lines = f"{counted(sum(row[1] for row in told), 'line')} added, {sum(row[2] for row in told):,} removed"
    return f"{counted(len(told), 'file')}: {files}; {lines}."


def _verdicts(old: Side, new: Side) -> Iterator[Words]:
    """How each was judged, where both were."""
    reports = [side.run.evaluation(side.step, side.attempt) for side in (old, new)]
    said = [f"{report.verdict} ({number(report.overall)})" for report in reports if report]
    if len(said) == len(reports):
        yield Words(f"The verdict went from {said[0]} to {said[1]}.")


def _diffs(changed: Sequence[tuple[str, list[str]]]) -> Iterator[Block]:
    """The diff of each file; folded where all of them are more than is read at a glance."""
    folded = sum(len(lines) for _, lines in changed) > GLANCE
    for path, lines in changed:
        diff = Diff(label="" if folded else path, text=_shown(lines))
        added, removed = _counted(lines)
        summary = f"{path}: {counted(added, 'line')} added, {removed:,} removed"
        yield Fold(summary=summary, blocks=(diff,)) if folded else diff


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


def _counted(lines: Sequence[str]) -> tuple[int, int]:
    """How many lines a diff adds, and how many it removes; its first two are a heading."""
    return sum(line.startswith("+") for line in lines[2:]), sum(line.startswith("-") for line in lines[2:])


def _shown(lines: Sequence[str]) -> str:
    """The hunks without their heading; of a long one the beginning, and how much of it that is."""
    hunks = lines[2:]
    more = [f"... (first {LONGEST:,} of {len(hunks):,} lines)"] if len(hunks) > LONGEST else []
    return "\n".join([*hunks[:LONGEST], *more])
