"""Fenced blocks of Markdown as models write them: nested ones held together, each with the line that introduces it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MARK = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block: its info string, its text, the line of prose before it, and whether it was closed."""

    info: str
    text: str
    before: str
    closed: bool


@dataclass(slots=True, kw_only=True)
class _Open:
    """A block that is being read; ``lengths`` are those of the fences that are open in it, the outermost first."""

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
        if mark and mark[0][0] == self.char and len(mark[0]) >= self.lengths[0]:
            if mark[1]:
                self.lengths.append(len(mark[0]))
            elif len(mark[0]) >= self.lengths[-1]:
                self.lengths.pop()
                if not self.lengths:
                    return True
        self.lines.append(line)
        return False

    def block(self, *, closed: bool) -> Fence:
        """The block as it was read."""
        return Fence(info=self.info, text="\n".join(self.lines), before=self.before, closed=closed)


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
            opened = _Open(char=mark[0][0], info=mark[1], before=before, lengths=[len(mark[0])])
            before = ""  # A line introduces one block: the next one may be its output.
        else:
            outside.append(line)
            before = line.strip() or before
    if opened is not None:
        found.append(opened.block(closed=False))
    return found, "\n".join(outside)


def _mark(line: str) -> tuple[str, str] | None:
    """(fence, info string) of a line that is one; a fence of backticks has none in its info string."""
    match = MARK.match(line)
    if match is None or (match.group(1)[0] == "`" and "`" in match.group(2)):
        return None
    return match.group(1), match.group(2).strip()
