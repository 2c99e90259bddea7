"""Blocks as HTML that survives the sanitizers of JupyterLab and GitHub.

Literal inline styles; no ``<style>``, ``<svg>``, CSS variables or aria attributes. Colours are inherited from the theme, or
stand on a ground of their own. All text is escaped here: it may be an agent's, and an agent's text is hostile.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Mapping

from ..markdown import visible
from ..step_looks import CARD, STEP_LOOKS
from .blocks import Block, Cell, Code, Diff, Fold, Link, Mark, Opening, Picture, Share, Table, Verbatim, Words
from .looks import (
    GROUNDS,
    PLAIN_GROUND,
    SHORT,
    WHOLE,
    address,
    cut,
    number,
    one_line,
    percentage,
    shortened,
    signed,
)

MATHEMATICS = re.compile(r"\$.*\$|\\[(\[]|\\(?:begin|ref|eqref)\{", re.DOTALL)
"""What MathJax looks for; it never looks beyond the tags around a text."""
MATHEMATICAL = re.compile(r"[$\\]")
SIGNED: Mapping[str, str] = {state: f"{look.sign} {state}" for state, look in STEP_LOOKS.items()}
"""A state with its sign, as its box in the panel has it."""
DIFF_GROUNDS: Mapping[str, str] = {"+": GROUNDS["pass"], "-": GROUNDS["fail"]}
CELL_STYLE = "text-align:left;vertical-align:top;padding:3px 4px;border-bottom:1px solid #8a8a8a"
TABLE_STYLE = "border-collapse:collapse;table-layout:auto;margin:2px 0 6px 0;font-size:0.86em"
CAPTION_STYLE = "caption-side:top;text-align:left;font-weight:bold;padding:2px 0"
STAYS_WHOLE, LONG_WORD = 12, 16
"""Characters of a cell that has one line, and of a word beyond which it may be broken."""
PRE_STYLE = "white-space:pre-wrap;word-break:normal;overflow:auto;border:1px solid #8a8a8a;padding:6px"
HIGH = "420px"
"""The height of a box of text, which scrolls beyond it."""
OPEN_STYLE = "min-width:200px;max-width:380px;padding:4px 0"


def html_of(block: Block) -> str:
    """One block as HTML."""
    return _HTML[type(block)](block)


def text_of(text: str) -> str:
    """The text between tags. JupyterLab takes what stands between two dollar signs for mathematics, so they are kept apart."""
    escaped = _escaped(text)
    return MATHEMATICAL.sub(r"<span>\g<0></span>", escaped) if MATHEMATICS.search(escaped) else escaped


def _escaped(text: str) -> str:
    """The text in an attribute, or where nobody looks for mathematics: in code."""
    return html.escape(visible(text))


def badge(word: str) -> str:
    """A word on a ground of its own; empty for none."""
    if not word:
        return ""
    ground = GROUNDS.get(word, PLAIN_GROUND)
    style = f"background-color:{ground};color:#ffffff;padding:1px 4px;border-radius:3px;white-space:nowrap"
    return f'<span style="{style}">{text_of(SIGNED.get(word) or signed(word))}</span>'


def code_of(text: str) -> str:
    """Something to be typed."""
    return f'<code style="white-space:pre-wrap">{_escaped(text)}</code>'


def pre_of(text: str, *, high: str = HIGH) -> str:
    """A text line by line in a box of at most that height, which scrolls."""
    return f'<pre dir="auto" style="{PRE_STYLE};max-height:{high}">{_escaped(text)}</pre>'


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int | float):
        return text_of(number(cell))
    if not isinstance(cell, str):
        return _CELLS[type(cell)](cell)
    if len(cell) <= SHORT:
        return text_of(cell)
    rest = f'<div style="white-space:pre-wrap">{text_of(cut(cell, WHOLE))}</div>'
    head = text_of(shortened(one_line(cell), SHORT - 40))
    return f"{head} ...<details><summary>all {len(cell):,} characters</summary>{rest}</details>"


def _mark(mark: Mark) -> str:
    if mark.score is None:
        return badge(mark.word)
    return f'<span style="white-space:nowrap">{badge(mark.word)} {number(mark.score)}</span>'


def _opening(cell: Opening) -> str:
    inner = "".join(map(html_of, cell.blocks))
    summary = f'<summary style="white-space:nowrap">{_mark(cell.mark)}</summary>'
    return f'<details>{summary}<div style="{OPEN_STYLE}">{inner}</div></details>'


def _share(share: Share) -> str:
    value = f"{share.value:.3f}"
    return f'<meter min="0" max="1" value="{value}">{percentage(share)}</meter> {text_of(percentage(share))}'


def _table(table: Table) -> str:
    heads = "".join(f'<th scope="col" style="{CELL_STYLE}">{text_of(head)}</th>' for head in table.heads)
    rows = "".join(map(_row, table.rows))
    caption = f'<caption style="{CAPTION_STYLE}">{text_of(table.caption)}</caption>'
    body = f"{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>"
    return f'<div style="overflow-x:auto"><table style="{TABLE_STYLE}">{body}</table></div>'


def _row(row: tuple[Cell, ...]) -> str:
    head, *rest = row
    first = f'<th scope="row"{_held(head, "font-weight:normal")}>{_cell(head)}</th>'
    return f"<tr>{first}{''.join(f'<td{_held(cell)}>{_cell(cell)}</td>' for cell in rest)}</tr>"


def _held(cell: Cell, *more: str) -> str:
    """The attributes of what holds a cell: a short one stays whole, a long one wraps, and none widens the page."""
    style = ";".join([CELL_STYLE, *more])
    if not isinstance(cell, str):
        return f' style="{style}"'
    if len(cell) <= STAYS_WHOLE:
        return f' style="{style};white-space:nowrap"'
    least = ";min-width:70px" if len(cell) > 24 else ""
    # Where any word may be broken a column is squeezed to a letter: only a word that has no room breaks.
    breaks = ";word-break:break-word" if max(map(len, cell.split()), default=0) > LONG_WORD else ""
    # Words of people and agents run in their own direction.
    return f' dir="auto" style="{style}{least}{breaks}"'


def _fold(fold: Fold) -> str:
    inner = "".join(map(html_of, fold.blocks))
    return f'<details style="margin:2px 0"><summary>{text_of(fold.summary)}</summary>{inner}</details>'


def _label(block: Verbatim | Diff) -> str:
    return f"<div><b>{text_of(block.label)}</b></div>" if block.label else ""


def _verbatim(block: Verbatim) -> str:
    return _label(block) + pre_of(block.text)


def _diff(block: Diff) -> str:
    lines = "\n".join(map(_diff_line, block.text.removesuffix("\n").split("\n")))
    return f'{_label(block)}<pre style="{PRE_STYLE};max-height:{HIGH}">{lines}</pre>'


def _diff_line(line: str) -> str:
    ground = DIFF_GROUNDS.get(line[:1], "")
    return (
        f'<span style="background-color:{ground};color:#ffffff">{_escaped(line)}</span>' if ground else _escaped(line)
    )


def _picture(picture: Picture) -> str:
    held = base64.b64encode(picture.draw()).decode("ascii")
    style = f"max-width:100%;background-color:{CARD};border-radius:6px"
    return f'<img alt="{_escaped(picture.alt)}" src="data:image/png;base64,{held}" width="800" style="{style}">'


_CELLS: Mapping[type, Callable[..., str]] = {
    Mark: _mark,
    Code: lambda code: code_of(code.text),
    Link: lambda link: f'<a href="{_escaped(address(link))}">{text_of(link.text)}</a>',
    Share: _share,
    Opening: _opening,
}
_HTML: Mapping[type, Callable[..., str]] = {
    Table: _table,
    Words: lambda words: f'<div dir="auto">{text_of(words.text)}</div>',
    Verbatim: _verbatim,
    Diff: _diff,
    Picture: _picture,
    Fold: _fold,
}
