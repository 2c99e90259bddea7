"""Fenced blocks of Markdown as models write them: nested ones held together, each with the line that introduces it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MARK = re.compile(r"( {0,12})(`{3,}|~{3,})(.*)")
"""A block under a list item is indented with it, more deeply than a document's own blocks may be."""
INNER_INDENT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block: its info string, its text, the line of prose before it, and whether it was closed."""

    info: str
    text: str
    before: str
    closed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A line that is a fence: how far it is indented, its characters, and its info string."""

    indent: int
    fence: str
    info: str


@dataclass(slots=True, kw_only=True)
class _Open:
    """A block that is being read; ``lengths`` are those of the fences that are open in it, the outermost first."""

    indent: int
    char: str
    info: str
    before: str
    lengths: list[int]
    lines: list[str] = field(default_factory=list)

    def take(self, line: str) -> bool:
        """Take in a line; True where it closes the block.

        A fence with an info string that could close the block must open one inside it: a model that writes a Markdown file
        seldom makes the outer fence longer.
        """
        mark = _mark(line)
        if mark and mark.fence[0] == self.char and len(mark.fence) >= self.lengths[0] and self._reaches(mark):
            if mark.info:
                self.lengths.append(len(mark.fence))
            elif len(mark.fence) >= self.lengths[-1]:
                self.lengths.pop()
                if not self.lengths:
                    return True
        self.lines.append(line)
        return False

    def _reaches(self, mark: _Mark) -> bool:
        return mark.indent <= self.indent + INNER_INDENT

    def block(self, *, closed: bool) -> Fence:
        """The block as it was read, without the indent that all of it shares with its fence."""
        margin = " " * self.indent
        shared = all(line.startswith(margin) or not line.strip() for line in self.lines)
        lines = [line.removeprefix(margin) for line in self.lines] if shared else self.lines
        return Fence(info=self.info, text="\n".join(lines), before=self.before, closed=closed)


def fences(text: str) -> tuple[list[Fence], str]:
    """The fenced blocks of a Markdown text, in order, and the text outside them. Takes time linear in the text."""
    found: list[Fence] = []
    outside: list[str] = []
    opened: _Open | None = None
    before = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if opened is not None:
            if opened.take(line):
                found.append(opened.block(closed=True))
                opened = None
        elif mark := _mark(line):
            opened = _Open(
                indent=mark.indent, char=mark.fence[0], info=mark.info, before=before, lengths=[len(mark.fence)]
            )
            before = ""  # A line introduces one block: the next one may be its output.
        else:
            outside.append(line)
            before = line.strip() or before
    if opened is not None:
        found.append(opened.block(closed=False))
    return found, "\n".join(outside)


def _mark(line: str) -> _Mark | None:
    """The fence that a line is; one of backticks has none in its info string."""
    match = MARK.match(line)
    if match is None or (match.group(2)[0] == "`" and "`" in match.group(3)):
        return None
    return _Mark(indent=len(match.group(1)), fence=match.group(2), info=match.group(3).strip())
