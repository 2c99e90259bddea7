"""`View`: what a cell returns, as HTML, as Markdown and as plain text, each of which stands by itself.

The HTML survives the sanitizers of JupyterLab and GitHub: literal inline styles, no ``<style>``, ``<svg>``, CSS variables or
aria attributes. Colours are inherited from the theme, or stand on a ground of their own. All text is escaped where it is
rendered: it may be an agent's, and an agent's text is hostile.
"""

from __future__ import annotations

import base64
import html
import math
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from . import markdown as md
from .columns import columns_of, padded, wrapped
from .markdown import visible

if TYPE_CHECKING:
    from pandas import DataFrame

Form = Literal["html", "markdown", "plain"]

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
    """A PNG, drawn where it is shown, and in words what it shows: the numbers."""

    draw: Callable[[], bytes] = field(repr=False)
    alt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is shown only when it is asked for. Plain text cannot unfold: there ``see`` names the command that shows it."""

    summary: str
    blocks: tuple[Block, ...]
    see: str = ""


Block = Table | Words | Verbatim | Diff | Picture | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a cell returns. ``.df`` is its main table as a data frame; None where it has none.

    ``notes`` are the lines that a reader must not miss (simulated, not isolated), ``next`` the one next action, ``foot``
    says of what the view was drawn.
    """

    title: str
    mark: str = ""
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""
    foot: str = ""
    df: DataFrame | None = field(default=None, repr=False, compare=False)

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/markdown": self.markdown(), "text/plain": self.plain()}

    def __str__(self) -> str:
        return self.plain()

    def html(self) -> str:
        """The view as HTML."""
        title = f'<b dir="auto">{_text(self.title)}</b> {_badge(self.mark)}'
        parts = [f'<div style="font-size:1.1em;margin-bottom:4px">{title}</div>']
        parts += [_HTML[type(block)](block) for block in self.blocks]
        parts += [f"<div>{_text(note)}</div>" for note in self.notes]
        if self.next:
            parts.append(f'<div style="margin-top:6px"><b>Next:</b> {_code(self.next)}</div>')
        if self.foot:
            parts.append(f'<div style="font-size:0.85em;margin-top:4px">{_text(self.foot)}</div>')
        return '<div style="max-width:960px;line-height:1.4">' + "\n".join(parts) + "</div>"

    def markdown(self) -> str:
        """The view as Markdown."""
        mark = f" ({md.inline(self.mark)})" if self.mark else ""
        parts = [f"**{md.inline(self.title)}**{mark}", *(_MARKDOWN[type(block)](block) for block in self.blocks)]
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


# Words that every form shares

SIGNS: Mapping[str, str] = {"pass": "✓", "fail": "✗", "unmeasured": "?"}
GROUNDS: Mapping[str, str] = {  # white on each of them has a contrast of 7 to 1 or more
    **dict.fromkeys(("pass", "passed", "accepted", "agreed"), "#00563f"),
    **dict.fromkeys(("fail", "failed", "blocked", "stopped", "infeasible", "broken"), "#8c1d18"),
    **dict.fromkeys(("unmeasured", "degraded", "kept", "advanced"), "#6b3f00"),
    **dict.fromkeys(("paused", "asking", "running", "working"), "#0b4a7a"),
}
PLAIN_GROUND = "#4a4a4a"
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


def _text(text: str) -> str:
    return html.escape(visible(text))


def _badge(word: str) -> str:
    if not word:
        return ""
    ground = GROUNDS.get(word, PLAIN_GROUND)
    style = f"background-color:{ground};color:#ffffff;padding:1px 6px;border-radius:3px;white-space:nowrap"
    return f'<span style="{style}">{_text(_signed(word))}</span>'


def _code(text: str) -> str:
    return f'<code style="white-space:pre-wrap">{_text(text)}</code>'


def _html_cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Mark):
        return _badge(cell.word)
    if isinstance(cell, Code):
        return _code(cell.text)
    if isinstance(cell, Link):
        return f'<a href="{_text(_address(cell))}">{_text(cell.text)}</a>'
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
    return f'{label}<pre dir="auto" style="{PRE_STYLE}">{_text(block.text)}</pre>'


def _html_diff(block: Diff) -> str:
    label = f"<div><b>{_text(block.label)}</b></div>" if block.label else ""
    lines = "\n".join(map(_html_diff_line, block.text.removesuffix("\n").split("\n")))
    return f'{label}<pre style="{PRE_STYLE}">{lines}</pre>'


def _html_diff_line(line: str) -> str:
    ground = DIFF_GROUNDS.get(line[:1], "")
    return f'<span style="background-color:{ground};color:#ffffff">{_text(line)}</span>' if ground else _text(line)


def _html_picture(picture: Picture) -> str:
    held = base64.b64encode(picture.draw()).decode("ascii")
    style = "max-width:100%;background-color:#ffffff"
    return f'<img alt="{_text(picture.alt)}" src="data:image/png;base64,{held}" width="800" style="{style}">'


# Markdown


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
    return "\n\n".join([f"**{md.inline(fold.summary)}**", *(_MARKDOWN[type(block)](block) for block in fold.blocks)])


def _markdown_verbatim(block: Verbatim | Diff) -> str:
    info = "diff" if isinstance(block, Diff) else "text"
    return "\n".join([md.inline(block.label), "", *md.fence(block.text, info)])


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
    widths = [max(map(columns_of, column)) for column in zip(table.heads, *rows, strict=True)]
    while sum(widths) + 2 * len(widths) > width and max(widths) > 12:
        widths[widths.index(max(widths))] -= 1
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
    Picture: lambda picture: f"*Chart:* {md.inline(picture.alt, WHOLE)}",
    Fold: _markdown_fold,
}
_PLAIN: Mapping[type, Callable[..., str]] = {
    Table: _plain_table,
    Words: lambda words: visible(words.text),
    Verbatim: _plain_verbatim,
    Diff: _plain_verbatim,
    Picture: lambda picture: "Chart: " + visible(picture.alt),
    Fold: _plain_fold,
}
