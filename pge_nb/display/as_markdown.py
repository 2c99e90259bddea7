"""Blocks as Markdown; all text is escaped here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import markdown as md
from ..markdown import visible
from .blocks import Block, Cell, Code, Diff, Fold, Link, Mark, Opening, Picture, Share, Table, Verbatim, Words
from .looks import SHORT, WHOLE, address, cut, number, percentage, scored


def markdown_of(block: Block) -> str:
    """One block as Markdown."""
    return _MARKDOWN[type(block)](block)


def code_of(text: str) -> str:
    """Something to be typed. A code span cannot hold a line end, and a table cell no bar: what has either is plain words."""
    plain = not set(text) & set("`|\n") and text == visible(text)
    return f"`{text}`" if plain else md.inline(text)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Opening):
        cell = cell.mark
    if isinstance(cell, Mark):
        return md.inline(scored(cell))
    if isinstance(cell, Code):
        return code_of(cell.text)
    if isinstance(cell, Link):
        return f"[{md.inline(cell.text)}](<{address(cell)}>)"
    if isinstance(cell, Share):
        return md.inline(percentage(cell))
    return md.inline(cell, SHORT) if isinstance(cell, str) else md.inline(number(cell))


def _table(table: Table) -> str:
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    return "\n".join([md.inline(table.caption), "", *md.table(table.heads, rows)])


def _fold(fold: Fold) -> str:
    return "\n\n".join([f"**{md.inline(fold.summary)}**", *map(markdown_of, fold.blocks)])


def _verbatim(block: Verbatim | Diff) -> str:
    info = "diff" if isinstance(block, Diff) else "text"
    return "\n".join([md.inline(block.label), "", *md.fence(block.text, info)])


_MARKDOWN: Mapping[type, Callable[..., str]] = {
    Table: _table,
    Words: lambda words: md.inline(words.text),
    Verbatim: _verbatim,
    Diff: _verbatim,
    Picture: lambda picture: f"*{picture.kind}:* {md.inline(cut(picture.alt, WHOLE), 2 * WHOLE)}",
    Fold: _fold,
}
