"""Text of unknown origin inside Markdown, so that it can neither pose as ours nor hide from the reader."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from .columns import columns_of, wrapped

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control, bidi, byte order mark, line and paragraph separator, lone surrogate: all but tab and newline."""
SPECIAL = re.compile(r"[\\`*\[\]<~&$#|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=\w)://|(?<=[Ww]{3})\.")
ENTITIES = {"|": "&#124;", "<": "&lt;", "&": "&amp;"}
WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff]")
"""Letters and marks of Chinese, Japanese and Korean, which leave no blanks between words: a line may end after any."""
LEADING = re.compile(r"^(?:[-+>]|\d{1,9}[.)](?!\S))")
RULER = re.compile(r"^[-=:\s]+$")


def visible(text: str) -> str:
    r"""The text with every character that a reader would not see, or that reorders others, written as ``\uXXXX``."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def dotted(text: str, most: int) -> str:
    """The text on one line; of one that is longer the beginning, and three dots: ``most`` characters in all."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3].rstrip()}..."


def inline(text: str, limit: int = 600) -> str:
    """The text as plain words within a line or a cell: white space folded, every mark escaped; cut with "..." at ``limit``."""
    escaped = SPECIAL.sub(_escape, dotted(visible(text), limit))
    if RULER.match(escaped):
        return re.sub(r"[-=:]", r"\\\g<0>", escaped)
    return LEADING.sub(lambda match: match[0][:-1] + "\\" + match[0][-1], escaped)


def _escape(match: re.Match[str]) -> str:
    mark = match[0]
    if mark == "://":
        return "\\://"
    return ENTITIES.get(mark, "\\" + mark)


def fence(text: str, info: str = "text") -> list[str]:
    """The text in a fence that nothing inside it can close."""
    shown = visible(text)
    ticks = ticks_around(shown)
    return [ticks + info, *shown.removesuffix("\n").split("\n"), ticks]


def ticks_around(text: str) -> str:
    """The fence for a text: three backticks, or one more than the longest run of them inside it."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def said(text: str, width: int = 110) -> list[str]:
    """Prose of somebody else in a fence, its long lines wrapped: a fence does not wrap by itself."""
    lines = []
    for line in visible(text).split("\n"):
        lines += _wrapped(line, width) or [line]
    return fence("\n".join(lines))


def _wrapped(line: str, width: int) -> list[str]:
    if WIDE.search(line) and columns_of(line) > width:
        return wrapped(line, width, most=len(line))
    if len(line) <= width:
        return []
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of cells that are escaped already; a column headed with a trailing ``:`` is set to the right."""
    titles = [title.removesuffix(":") for title in header]
    rulers = ["---:" if title.endswith(":") else "---" for title in header]
    return [_row(titles), _row(rulers), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
