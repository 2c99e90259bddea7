"""Text set in the columns of a terminal, where a character may take two or none."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

JOINED = frozenset("\u200b\u200c\u200d\u2060").union(map(chr, range(0x1160, 0x1200)))
"""Joiners without a width, and the vowels and finals of a Hangul syllable that is written letter by letter."""


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for one that joins another."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me") or char in JOINED:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrapped(text: str, size: int, most: int = 5) -> list[str]:
    """The text in lines of at most ``size`` columns; what does not fit into ``most`` lines is cut, and told."""
    lines = [""]
    for word in text.split():
        if lines[-1] and columns_of(lines[-1]) + 1 + columns_of(word) <= size:
            lines[-1] += " " + word
            continue
        if lines[-1]:
            lines.append("")
        rest = word
        while len(lines) <= most and rest:
            lines[-1] = _fitting(rest, size)
            rest = rest[len(lines[-1]) :]
            lines += [""] if rest else []
        if len(lines) > most:
            return [*lines[: most - 1], _fitting(lines[most - 1], size - 1) + "…"]
    return lines


def fitted(widths: Sequence[int], room: int, *, least: int = 12) -> list[int]:
    """The widths of a table's columns, two blanks between them: the widest gives way until they fit, down to ``least``."""
    fitting = list(widths)
    while sum(fitting) + 2 * len(fitting) > room and max(fitting) > least:
        fitting[fitting.index(max(fitting))] -= 1
    return fitting


def _fitting(text: str, size: int) -> str:
    """As much of the beginning as fits into ``size`` columns; one character at least."""
    taken = 0
    for index, char in enumerate(text):
        taken += columns_of(char)
        if taken > size and index:
            return text[:index]
    return text


def padded(text: str, size: int) -> str:
    """The text with blanks up to ``size`` columns."""
    return text + " " * (size - columns_of(text))
