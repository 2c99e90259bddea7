"""`View`: what a cell returns, as HTML, Markdown, LaTeX and plain text, each of which stands by itself.

The HTML survives the sanitizers of JupyterLab and GitHub: literal inline styles, no ``<style>``, ``<svg>``, CSS variables or
aria attributes. Colours are inherited from the theme, or stand on a ground of their own. All text is escaped where it is
rendered: it may be an agent's, and an agent's text is hostile.
"""

from __future__ import annotations

import base64
import html
import math
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from . import latex as tex
from . import markdown as md
from .columns import columns_of, fitted, padded, wrapped
from .errors import BadInput
from .markdown import visible

if TYPE_CHECKING:
    from pandas import DataFrame

SHORT, WHOLE = 280, 4_000
"""Characters of a cell that are shown at once, and at most once it is unfolded."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict, state or outcome: a word, and the colour of the badge around it."""

    word: str


@dataclass(frozen=True, slots=True)
class Code:
    """Something to be typed, or a name from code."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A file beside the notebook: its name, and where it is relative to the notebook."""

    text: str
    place: str


Cell = str | int | float | Mark | Code | Link | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells under heads; None is shown as a dash."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim:
    """Text that is shown as it is, line by line."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The hunks of a unified diff, without its heading; its signs say what its colours say."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A PNG, drawn where it is shown, and in words what it shows: the numbers. ``kind`` is said where only words can be."""

    draw: Callable[[], bytes] = field(repr=False)
    alt: str
    kind: str = "Chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is shown only when it is asked for. Plain text cannot unfold: there ``see`` names the command that shows it."""

    summary: str
    blocks: tuple[Block, ...]
    see: str = ""


Block = Table | Words | Verbatim | Diff | Picture | Fold


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
        tables = [block for block in self.blocks if isinstance(block, Table)]
        if self.df is None and tables:
            object.__setattr__(self, "df", _frame([table for table in tables if table.heads == tables[0].heads]))

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        bundle = {"text/html": self.html(), "text/markdown": self.markdown(), "text/plain": self.plain()}
        # A notebook shows HTML where it can; it is on its way to a PDF that LaTeX is taken, and tables need it there.
        return bundle | ({"text/latex": self.latex()} if self.has_tables else {})

    def __str__(self) -> str:
        return self.plain()

    def __repr__(self) -> str:
        """One line, for a view in a list or a table; all of it is what `print` and a cell show."""
        mark = f" [{self.mark}]" if self.mark else ""
        return visible(f"<View: {_cut(_one_line(self.title), SHORT // 2)}{mark}>")

    @property
    def has_tables(self) -> bool:
        """Whether there is a table in it, a folded one too."""
        return any(_tables(self.blocks))

    def html(self) -> str:
        """The view as HTML."""
        title = f'<b dir="auto">{_text(self.title)}</b> {_badge(self.mark)}'
        parts = [f'<div style="font-size:1.1em;margin-bottom:4px">{title}</div>']
        parts += map(html_of, self.blocks)
        parts += [f"<div>{_text(note)}</div>" for note in self.notes]
        if self.next:
            parts.append(f'<div style="margin-top:6px"><b>Next:</b> {_code(self.next)}</div>')
        if self.foot:
            parts.append(f'<div style="font-size:0.85em;margin-top:4px">{_text(self.foot)}</div>')
        return '<div style="max-width:960px;line-height:1.4">' + "\n".join(parts) + "</div>"

    def markdown(self) -> str:
        """The view as Markdown."""
        mark = f" ({md.inline(self.mark)})" if self.mark else ""
        parts = [f"**{md.inline(self.title)}**{mark}", *map(markdown_of, self.blocks)]
        parts += [md.inline(note) for note in self.notes]
        if self.next:
            parts.append(f"**Next:** {_markdown_cell(Code(self.next))}")
        if self.foot:
            parts.append(md.inline(self.foot))
        return "\n\n".join(part for part in parts if part)

    def plain(self) -> str:
        """The view as text of at most 100 or so columns."""
        mark = f" [{self.mark}]" if self.mark else ""
        parts = [visible(f"{_one_line(self.title)}{mark}"), *(_PLAIN[type(block)](block) for block in self.blocks)]
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
        tables = [block for block in self.blocks if isinstance(block, Table)] or list(_tables(self.blocks))
        if not tables:
            raise BadInput(f"{self.title} holds no table.", "View.latex() gives the whole view.")
        if label and not LABEL.fullmatch(label):
            raise BadInput(f"{label!r} cannot be a label.", "Write letters, digits and : . _ - alone.")
        notes = [*self.notes, *([self.foot] if self.foot else [])]
        return "\n\n".join(
            tex.floating(
                caption if caption is not None and number == 1 else table.caption,
                table.heads,
                _latex_rows(table),
                label=f"{label}-{number}" if label and number > 1 else label or "",
                notes=notes,
            )
            for number, table in enumerate(tables, 1)
        )


def _tables(blocks: Sequence[Block]) -> Iterator[Table]:
    """All tables, the folded ones too."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Fold):
            yield from _tables(block.blocks)


def _frame(tables: Sequence[Table]) -> DataFrame:
    """Tables of the same heads as one data frame; its columns are the heads in small letters, with _ for what is none."""
    from pandas import DataFrame

    names = [re.sub(r"\W+", "_", head.lower()).strip("_") for head in tables[0].heads]
    rows = [[table.caption, *map(_value, row)] for table in tables for row in table.rows]
    frame = DataFrame(rows, columns=["table", *names]).convert_dtypes()
    return frame if len(tables) > 1 else frame.drop(columns="table")


def _value(cell: Cell) -> str | int | float | None:
    """The cell without its looks. A lone surrogate is spelled out: not every storage of text takes it."""
    bare = cell.word if isinstance(cell, Mark) else cell.text if isinstance(cell, Code | Link) else cell
    return bare.encode("utf-8", "backslashreplace").decode() if isinstance(bare, str) else bare


# Words that every form shares

SIGNS: Mapping[str, str] = {"pass": "✓", "fail": "✗", "unmeasured": "?"}
GROUNDS: Mapping[str, str] = {  # white on each of them has a contrast of 7 to 1 or more
    **dict.fromkeys(("pass", "passed", "accepted", "agreed"), "#00563f"),
    **dict.fromkeys(("fail", "failed", "blocked", "stopped", "infeasible", "broken"), "#8c1d18"),
    **dict.fromkeys(("unmeasured", "degraded", "kept", "advanced"), "#6b3f00"),
    **dict.fromkeys(("paused", "asking", "running", "working"), "#0b4a7a"),
}
PLAIN_GROUND = "#4a4a4a"
MATHEMATICS = re.compile(r"\$.*\$|\\[(\[]|\\(?:begin|ref|eqref)\{", re.DOTALL)
"""What MathJax looks for; it never looks beyond the tags around a text."""
MATHEMATICAL = re.compile(r"[$\\]")
LABEL = re.compile(r"[A-Za-z0-9:._-]+")
DIFF_GROUNDS: Mapping[str, str] = {"+": GROUNDS["pass"], "-": GROUNDS["fail"]}


def number(value: float | None, digits: int = 1) -> str:
    """A number with at most so many digits after the point; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{round(value, digits):,}".removesuffix(".0")


def _signed(word: str) -> str:
    return f"{SIGNS[word]} {word}" if word in SIGNS else word


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, limit: int) -> str:
    """The text's beginning, ended between two words where there are words."""
    head = text[:limit].rstrip()
    between = head.rfind(" ")
    return head[:between] if between > limit // 2 else head


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()} ... (first {limit:,} of {len(text):,} characters)"


# HTML


def html_of(block: Block) -> str:
    """One block as HTML."""
    return _HTML[type(block)](block)


def _text(text: str) -> str:
    """The text between tags. JupyterLab takes what stands between two dollar signs for mathematics, so they are kept apart."""
    escaped = _escaped(text)
    return MATHEMATICAL.sub(r"<span>\g<0></span>", escaped) if MATHEMATICS.search(escaped) else escaped


def _escaped(text: str) -> str:
    """The text in an attribute, or where nobody looks for mathematics: in code."""
    return html.escape(visible(text))


def _badge(word: str) -> str:
    if not word:
        return ""
    ground = GROUNDS.get(word, PLAIN_GROUND)
    style = f"background-color:{ground};color:#ffffff;padding:1px 6px;border-radius:3px;white-space:nowrap"
    return f'<span style="{style}">{_text(_signed(word))}</span>'


def _code(text: str) -> str:
    return f'<code style="white-space:pre-wrap">{_escaped(text)}</code>'


def _html_cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Mark):
        return _badge(cell.word)
    if isinstance(cell, Code):
        return _code(cell.text)
    if isinstance(cell, Link):
        return f'<a href="{_escaped(_address(cell))}">{_text(cell.text)}</a>'
    if isinstance(cell, int | float):
        return _text(number(cell))
    if len(cell) <= SHORT:
        return _text(cell)
    rest = f'<div style="white-space:pre-wrap">{_text(_cut(cell, WHOLE))}</div>'
    head = _text(_shortened(_one_line(cell), SHORT - 40))
    return f"{head} ...<details><summary>all {len(cell):,} characters</summary>{rest}</details>"


def _address(link: Link) -> str:
    """The place as a relative URL; what could be a scheme or leave this server is quoted away."""
    return "./" + urllib.parse.quote(link.place, errors="surrogatepass")


CELL_STYLE = "text-align:left;vertical-align:top;padding:3px 8px;border-bottom:1px solid #8a8a8a"
TABLE_STYLE = "border-collapse:collapse;table-layout:auto;margin:2px 0 6px 0"
CAPTION_STYLE = "caption-side:top;text-align:left;font-weight:bold;padding:2px 0"


PRE_STYLE = "white-space:pre-wrap;word-break:normal;max-height:420px;overflow:auto;border:1px solid #8a8a8a;padding:6px"


def _html_table(table: Table) -> str:
    style = f"{CELL_STYLE};white-space:nowrap"
    heads = "".join(f'<th scope="col" style="{style}">{_text(head)}</th>' for head in table.heads)
    rows = "".join("<tr>" + "".join(map(_html_data, row)) + "</tr>" for row in table.rows)
    caption = f'<caption style="{CAPTION_STYLE}">{_text(table.caption)}</caption>'
    return f'<table style="{TABLE_STYLE}">{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _html_data(cell: Cell) -> str:
    if not isinstance(cell, str) or len(cell) <= 12:
        return f'<td style="{CELL_STYLE}">{_html_cell(cell)}</td>'
    # Words of people and agents run in their own direction, and a long one must not widen the page.
    return f'<td dir="auto" style="{CELL_STYLE};word-break:break-word">{_html_cell(cell)}</td>'


def _html_fold(fold: Fold) -> str:
    inner = "".join(_HTML[type(block)](block) for block in fold.blocks)
    return f'<details style="margin:2px 0"><summary>{_text(fold.summary)}</summary>{inner}</details>'


def _html_verbatim(block: Verbatim) -> str:
    label = f"<div><b>{_text(block.label)}</b></div>" if block.label else ""
    return f'{label}<pre dir="auto" style="{PRE_STYLE}">{_escaped(block.text)}</pre>'


def _html_diff(block: Diff) -> str:
    label = f"<div><b>{_text(block.label)}</b></div>" if block.label else ""
    lines = "\n".join(map(_html_diff_line, block.text.removesuffix("\n").split("\n")))
    return f'{label}<pre style="{PRE_STYLE}">{lines}</pre>'


def _html_diff_line(line: str) -> str:
    ground = DIFF_GROUNDS.get(line[:1], "")
    return (
        f'<span style="background-color:{ground};color:#ffffff">{_escaped(line)}</span>' if ground else _escaped(line)
    )


def _html_picture(picture: Picture) -> str:
    held = base64.b64encode(picture.draw()).decode("ascii")
    style = "max-width:100%;background-color:#ffffff"
    return f'<img alt="{_escaped(picture.alt)}" src="data:image/png;base64,{held}" width="800" style="{style}">'


# Markdown


def markdown_of(block: Block) -> str:
    """One block as Markdown."""
    return _MARKDOWN[type(block)](block)


def _markdown_cell(cell: Cell) -> str:
    if isinstance(cell, Mark):
        return md.inline(_signed(cell.word))
    if isinstance(cell, Code):
        # A code span cannot hold a line end, and a table cell no bar; what has either is plain words instead.
        plain = not set(cell.text) & set("`|\n") and cell.text == visible(cell.text)
        return f"`{cell.text}`" if plain else md.inline(cell.text)
    if isinstance(cell, Link):
        return f"[{md.inline(cell.text)}](<{_address(cell)}>)"
    return md.inline(cell, SHORT) if isinstance(cell, str) else md.inline(number(cell))


def _markdown_table(table: Table) -> str:
    rows = [[_markdown_cell(cell) for cell in row] for row in table.rows]
    return "\n".join([md.inline(table.caption), "", *md.table(table.heads, rows)])


def _markdown_fold(fold: Fold) -> str:
    return "\n\n".join([f"**{md.inline(fold.summary)}**", *map(markdown_of, fold.blocks)])


def _markdown_verbatim(block: Verbatim | Diff) -> str:
    info = "diff" if isinstance(block, Diff) else "text"
    return "\n".join([md.inline(block.label), "", *md.fence(block.text, info)])


# LaTeX


def latex_of(block: Block) -> str:
    """One block as LaTeX, in the flow of a page."""
    return _LATEX[type(block)](block)


def _latex_cell(cell: Cell) -> tex.Piece:
    if cell is None:
        return tex.NOTHING
    if isinstance(cell, Code):
        return tex.Piece(tex.code(cell.text), columns_of(_plain_cell(cell)) + 1)
    if isinstance(cell, int | float):
        return tex.words(number(cell))
    return tex.words(cell if isinstance(cell, str) else cell.word if isinstance(cell, Mark) else cell.text, SHORT)


def _latex_rows(table: Table) -> list[list[tex.Piece]]:
    return [[_latex_cell(cell) for cell in row] for row in table.rows]


def _latex_verbatim(block: Verbatim | Diff) -> str:
    label = [tex.paragraph(tex.text(block.label))] if block.label else []
    return "\n".join([*label, tex.verbatim(block.text)])


def _latex_fold(fold: Fold) -> str:
    return "\n\n".join([tex.paragraph(tex.text(fold.summary), r"\bfseries"), *map(latex_of, fold.blocks)])


# Plain text


def _plain_cell(cell: Cell) -> str:
    if isinstance(cell, Mark):
        return _signed(cell.word)
    if isinstance(cell, Code):
        return cell.text
    if isinstance(cell, Link):
        cell = cell.text
    return _one_line(visible(cell)) if isinstance(cell, str) else number(cell)


def _plain_table(table: Table, width: int = 100) -> str:
    """Columns as wide as they need, the widest giving way until the table fits."""
    rows = [[_plain_cell(cell) for cell in row] for row in table.rows]
    widths = fitted([max(map(columns_of, column)) for column in zip(table.heads, *rows, strict=True)], width)
    lines = [*_plain_row(table.heads, widths), *_plain_row(["-" * size for size in widths], widths)]
    lines += [line for row in rows for line in _plain_row(row, widths)]
    return "\n".join([visible(table.caption), *lines])


def _plain_row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of a row: as many as its longest cell needs."""
    columns = [wrapped(cell, size) for cell, size in zip(cells, widths, strict=True)]
    return ["  ".join(map(padded, parts, widths)).rstrip() for parts in zip_longest(*columns, fillvalue="")]


def _plain_verbatim(block: Verbatim | Diff) -> str:
    return visible(f"{block.label}\n{block.text}".strip("\n"))


def _plain_fold(fold: Fold) -> str:
    if fold.see:
        return visible(f"+ {fold.summary} ({fold.see})")
    return "\n".join([f"+ {visible(fold.summary)}", *(_PLAIN[type(block)](block) for block in fold.blocks)])


_HTML: Mapping[type, Callable[..., str]] = {
    Table: _html_table,
    Words: lambda words: f'<div dir="auto">{_text(words.text)}</div>',
    Verbatim: _html_verbatim,
    Diff: _html_diff,
    Picture: _html_picture,
    Fold: _html_fold,
}
_MARKDOWN: Mapping[type, Callable[..., str]] = {
    Table: _markdown_table,
    Words: lambda words: md.inline(words.text),
    Verbatim: _markdown_verbatim,
    Diff: _markdown_verbatim,
    Picture: lambda picture: f"*{picture.kind}:* {md.inline(picture.alt, WHOLE)}",
    Fold: _markdown_fold,
}
_LATEX: Mapping[type, Callable[..., str]] = {
    Table: lambda table: tex.flowing(table.caption, table.heads, _latex_rows(table)),
    Words: lambda words: tex.paragraph(tex.text(words.text, WHOLE)),
    Verbatim: _latex_verbatim,
    Diff: _latex_verbatim,
    Picture: lambda picture: tex.paragraph(rf"\emph{{{picture.kind}:}} {tex.text(picture.alt, WHOLE)}"),
    Fold: _latex_fold,
}
_PLAIN: Mapping[type, Callable[..., str]] = {
    Table: _plain_table,
    Words: lambda words: visible(words.text),
    Verbatim: _plain_verbatim,
    Diff: _plain_verbatim,
    Picture: lambda picture: f"{picture.kind}: {visible(picture.alt)}",
    Fold: _plain_fold,
}
