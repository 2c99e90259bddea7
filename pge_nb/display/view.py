"""`View`: what a cell returns, as HTML, Markdown, LaTeX and plain text, each of which stands by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import latex as tex
from .. import markdown as md
from ..errors import BadInput
from ..markdown import visible
from . import as_html, as_markdown
from .as_html import html_of
from .as_latex import latex_of, rows_of
from .as_markdown import markdown_of
from .as_plain import plain_of
from .blocks import Block, Cell, Code, Link, Mark, Opening, Share, Table, tables
from .looks import SHORT, cut, one_line

if TYPE_CHECKING:
    from pandas import DataFrame

LABEL = re.compile(r"[A-Za-z0-9:._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a cell returns.

    ``.df`` is its main table as a data frame: the one that was given, else the tables that are seen at once and have the heads
    of the first (a column ``table`` tells them apart where there are several); None where there is no table. ``notes`` are
    the lines that a reader must not miss (simulated, not isolated), ``next`` the one next action, ``foot`` says of what the
    view was drawn.
    """

    title: str
    mark: str = ""
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""
    foot: str = ""
    df: DataFrame | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen = [block for block in self.blocks if isinstance(block, Table)]
        if self.df is None and seen:
            object.__setattr__(self, "df", _frame([table for table in seen if table.heads == seen[0].heads]))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        bundle = {"text/html": self.html(), "text/markdown": self.markdown(), "text/plain": self.plain()}
        # A notebook shows HTML where it can; it is on its way to a PDF that LaTeX is taken, and tables need it there.
        return bundle | ({"text/latex": self.latex()} if self.has_tables else {})

    def __str__(self) -> str:
        return self.plain()

    def __repr__(self) -> str:
        """One line, for a view in a list or a table; all of it is what `print` and a cell show."""
        mark = f" [{self.mark}]" if self.mark else ""
        return visible(f"<View: {cut(one_line(self.title), SHORT // 2)}{mark}>")

    @property
    def has_tables(self) -> bool:
        """Whether there is a table in it, a folded one too."""
        return any(tables(self.blocks))

    def html(self) -> str:
        """The view as HTML."""
        title = f'<b dir="auto">{as_html.text_of(self.title)}</b> {as_html.badge(self.mark)}'
        parts = [f'<div style="font-size:1.1em;margin-bottom:4px">{title}</div>']
        parts += map(html_of, self.blocks)
        parts += [f"<div>{as_html.text_of(note)}</div>" for note in self.notes]
        if self.next:
            parts.append(f'<div style="margin-top:6px"><b>Next:</b> {as_html.code_of(self.next)}</div>')
        if self.foot:
            parts.append(f'<div style="font-size:0.85em;margin-top:4px">{as_html.text_of(self.foot)}</div>')
        return '<div style="max-width:960px;line-height:1.4">' + "\n".join(parts) + "</div>"

    def markdown(self) -> str:
        """The view as Markdown."""
        mark = f" ({md.inline(self.mark)})" if self.mark else ""
        parts = [f"**{md.inline(self.title)}**{mark}", *map(markdown_of, self.blocks)]
        parts += [md.inline(note) for note in self.notes]
        if self.next:
            parts.append(f"**Next:** {as_markdown.code_of(self.next)}")
        if self.foot:
            parts.append(md.inline(self.foot))
        return "\n\n".join(part for part in parts if part)

    def plain(self) -> str:
        """The view as text of at most 100 or so columns."""
        mark = f" [{self.mark}]" if self.mark else ""
        parts = [visible(f"{one_line(self.title)}{mark}"), *map(plain_of, self.blocks)]
        parts += [visible(note) for note in self.notes]
        parts += [visible(f"Next: {self.next}")] if self.next else []
        parts += [visible(self.foot)] if self.foot else []
        return "\n".join(part for part in parts if part)

    def latex(self) -> str:
        """The view as LaTeX, in the flow of a page; it needs the packages booktabs and longtable."""
        mark = f" ({tex.text(self.mark)})" if self.mark else ""
        parts = [tex.paragraph(tex.text(self.title) + mark, r"\bfseries"), *map(latex_of, self.blocks)]
        parts += [tex.paragraph(tex.text(note)) for note in self.notes]
        if self.next:
            parts.append(tex.paragraph(rf"\textbf{{Next:}} {tex.code(self.next)}"))
        if self.foot:
            parts.append(tex.paragraph(tex.text(self.foot), r"\footnotesize"))
        return "\n\n".join(parts)

    def to_latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""The tables for a paper: each floats, with what the reader must not miss in small letters below it.

        They are the tables that are seen at once; where there are none, those that are folded. ``caption`` is that of the
        first, ``label`` too, the others' end in -2, -3 and so on. It needs the package booktabs, and longtable for a table
        of more than a page. Chinese, Arabic and the like stand as they are: XeLaTeX or LuaLaTeX set them. ``BadInput`` where
        there is no table.
        """
        chosen = [block for block in self.blocks if isinstance(block, Table)] or list(tables(self.blocks))
        if not chosen:
            raise BadInput(f"{self.title} holds no table.", "View.latex() gives the whole view.")
        if label and not LABEL.fullmatch(label):
            raise BadInput(f"{label!r} cannot be a label.", "Write letters, digits and : . _ - alone.")
        notes = [*self.notes, *([self.foot] if self.foot else [])]
        return "\n\n".join(
            tex.floating(
                caption if caption is not None and number == 1 else table.caption,
                table.heads,
                rows_of(table),
                label=f"{label}-{number}" if label and number > 1 else label or "",
                notes=notes,
            )
            for number, table in enumerate(chosen, 1)
        )


def _frame(shown: Sequence[Table]) -> DataFrame:
    """Tables of the same heads as one data frame; its columns are the heads in small letters, with _ for what is none."""
    from pandas import DataFrame

    names = [re.sub(r"\W+", "_", head.lower()).strip("_") for head in shown[0].heads]
    rows = [[table.caption, *map(_value, row)] for table in shown for row in table.rows]
    frame = DataFrame(rows, columns=["table", *names]).convert_dtypes()
    return frame if len(shown) > 1 else frame.drop(columns="table")


def _value(cell: Cell) -> str | int | float | None:
    """The cell without its looks. A lone surrogate is spelled out: not every storage of text takes it."""
    if isinstance(cell, Opening):
        cell = cell.mark
    bare = cell.word if isinstance(cell, Mark) else cell.text if isinstance(cell, Code | Link) else cell
    if isinstance(bare, Share):
        return bare.value
    return bare.encode("utf-8", "backslashreplace").decode() if isinstance(bare, str) else bare
