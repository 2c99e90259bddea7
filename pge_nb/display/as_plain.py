"""Blocks as text of at most 100 or so columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

from ..columns import columns_of, fitted, padded, wrapped
from ..markdown import visible
from .blocks import Block, Cell, Code, Diff, Fold, Link, Mark, Opening, Picture, Share, Table, Verbatim, Words
from .looks import WHOLE, cut, number, one_line, percentage, scored

WIDTH = 100


def plain_of(block: Block) -> str:
    """One block as plain text."""
    return _PLAIN[type(block)](block)


def one_cell(cell: Cell) -> str:
    """A cell on one line."""
    if isinstance(cell, Opening):
        cell = cell.mark
    if isinstance(cell, Mark):
        return scored(cell)
    if isinstance(cell, Code):
        return cell.text
    if isinstance(cell, Share):
        return percentage(cell)
    if isinstance(cell, Link):
        cell = cell.text
    return one_line(visible(cell)) if isinstance(cell, str) else number(cell)


def _table(table: Table) -> str:
    """Columns as wide as they need, the widest giving way until the table fits."""
    rows = [[one_cell(cell) for cell in row] for row in table.rows]
    widths = fitted([max(map(columns_of, column)) for column in zip(table.heads, *rows, strict=True)], WIDTH)
    lines = [*_row(table.heads, widths), *_row(["-" * size for size in widths], widths)]
    lines += [line for row in rows for line in _row(row, widths)]
    return "\n".join([visible(table.caption), *lines])


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of a row: as many as its longest cell needs."""
    columns = [wrapped(cell, size) for cell, size in zip(cells, widths, strict=True)]
    return ["  ".join(map(padded, parts, widths)).rstrip() for parts in zip_longest(*columns, fillvalue="")]


def _verbatim(block: Verbatim | Diff) -> str:
    return visible(f"{block.label}\n{block.text}".strip("\n"))


def _fold(fold: Fold) -> str:
    if fold.see:
        return visible(f"+ {fold.summary} ({fold.see})")
    return "\n".join([f"+ {visible(fold.summary)}", *map(plain_of, fold.blocks)])


_PLAIN: Mapping[type, Callable[..., str]] = {
    Table: _table,
    Words: lambda words: visible(words.text),
    Verbatim: _verbatim,
    Diff: _verbatim,
    Picture: lambda picture: f"{picture.kind}: {visible(cut(picture.alt, WHOLE))}",
    Fold: _fold,
}
