"""Text set in the columns of a terminal, where a character may take two or none."""

from __future__ import annotations

import unicodedata


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide character, none for a combining one."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrapped(text: str, size: int, most: int = 5) -> list[str]:
    """The text in lines of at most ``size`` columns; what does not fit into ``most`` lines is cut, and told."""
    lines = [""]
    for word in text.split():
        if lines[-1] and columns_of(lines[-1]) + 1 + columns_of(word) <= size:
            lines[-1] += " " + word
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = word
        while columns_of(lines[-1]) > size:
            head = _fitting(lines[-1], size)
            lines[-1:] = [head, lines[-1][len(head) :]]
    return lines if len(lines) <= most else [*lines[: most - 1], _fitting(lines[most - 1], size - 1) + "…"]


def _fitting(text: str, size: int) -> str:
    while columns_of(text) > size and len(text) > 1:
        text = text[:-1]
    return text


def padded(text: str, size: int) -> str:
    """The text with blanks up to ``size`` columns."""
    return text + " " * (size - columns_of(text))
