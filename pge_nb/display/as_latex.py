"""Blocks as LaTeX, in the flow of a page; all text is escaped in `latex`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .. import latex as tex
from ..columns import columns_of
from .as_plain import one_cell
from .blocks import Block, Cell, Code, Diff, Fold, Link, Mark, Opening, Picture, Table, Verbatim, Words
from .looks import SHORT, WHOLE, number


def latex_of(block: Block) -> str:
    """One block as LaTeX, in the flow of a page."""
    return _LATEX[type(block)](block)


def rows_of(table: Table) -> list[list[tex.Piece]]:
    """The cells of a table, set."""
    return [[_cell(cell) for cell in row] for row in table.rows]


def _cell(cell: Cell) -> tex.Piece:
    if cell is None:
        return tex.NOTHING
    if isinstance(cell, Code):
        return tex.Piece(tex.code(cell.text), columns_of(one_cell(cell)) + 1)
    if isinstance(cell, int | float):
        return tex.words(number(cell))
    return tex.words(cell if isinstance(cell, str) else _bare(cell), SHORT)


def _bare(cell: Cell) -> str:
    """The cell in words, without the sign before a verdict: not every font has it."""
    if isinstance(cell, Opening):
        cell = cell.mark
    if isinstance(cell, Mark):
        return cell.word if cell.score is None else f"{cell.word} {number(cell.score)}"
    return cell.text if isinstance(cell, Link) else one_cell(cell)


def _verbatim(block: Verbatim | Diff) -> str:
    label = [tex.paragraph(tex.text(block.label))] if block.label else []
    return "\n".join([*label, tex.verbatim(block.text)])


def _fold(fold: Fold) -> str:
    return "\n\n".join([tex.paragraph(tex.text(fold.summary), r"\bfseries"), *map(latex_of, fold.blocks)])


_LATEX: Mapping[type, Callable[..., str]] = {
    Table: lambda table: tex.flowing(table.caption, table.heads, rows_of(table)),
    Words: lambda words: tex.paragraph(tex.text(words.text, WHOLE)),
    Verbatim: _verbatim,
    Diff: _verbatim,
    Picture: lambda picture: tex.paragraph(rf"\emph{{{picture.kind}:}} {tex.text(picture.alt, WHOLE)}"),
    Fold: _fold,
}
