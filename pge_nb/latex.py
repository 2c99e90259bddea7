r"""Text of unknown origin inside LaTeX, and tables with the rules of booktabs.

What is made here needs ``\usepackage{booktabs}``, and ``longtable`` where a table flows over pages. Letters of other scripts
than Latin stand as they are: XeLaTeX and LuaLaTeX set them, in a font that has them (``fontspec``; ``xeCJK`` or ``luatexja``
break lines of Chinese and Japanese as well); pdfLaTeX stops at them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .columns import columns_of, fitted
from .markdown import visible

ESCAPES = {mark: "\\" + mark for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # At the head of a row these would belong to the command that ended the row before.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
LIGATURE = re.compile(r"([-',])(?=\1)")
"""Pairs that TeX draws as one sign: a flag's two hyphens are not a dash."""
JOINTS = "/_.:=\\"
LONG_WORD = 16
"""A word of more characters may be broken after one of ``JOINTS``: paths and names would stick out of their column."""

FIGURE = re.compile(r"-?\$?[0-9][0-9,]*(\.[0-9]+)?")

LINE = 75
"""Characters of \\small text on a line, of an article's width."""
SIZES = {r"\small": 1.0, r"\footnotesize": 0.9, r"\scriptsize": 0.8, (SMALLEST := r"\tiny"): 0.6}
"""Sizes of letters, and how wide they are: a table of many columns takes the largest in which it fits."""
LEAST = 10
"""Characters of a line that a column of words has at least."""
ONE_PAGE = 40
"""Lines of a table that fit on one page; what has more cannot float."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A cell that is set already: its LaTeX, how many characters of a line it takes, and whether it is a figure."""

    tex: str
    width: int
    figure: bool = False


NOTHING = Piece("--", 2, figure=True)


def text(said: str, limit: int = 600) -> str:
    """The text as plain words: white space folded, every character that TeX would act on escaped; cut with "..." at ``limit``."""
    words = " ".join(visible(said).split())
    if len(words) > limit:
        words = words[: limit - 3].rstrip() + "..."
    return " ".join(map(_word, words.split()))


def _word(word: str) -> str:
    joints = JOINTS if len(word) > LONG_WORD else ""
    escaped = "".join(ESCAPES.get(char, char) + (r"\allowbreak{}" if char in joints else "") for char in word)
    return LIGATURE.sub(r"\1{}", escaped)


def code(said: str) -> str:
    """The text as plain words, in letters of one width."""
    return rf"\texttt{{{text(said)}}}"


def words(said: str, limit: int = 600) -> Piece:
    """A cell of text; what is a number or an amount of money is set as one, with a minus that is one."""
    shown = " ".join(visible(said).split())
    if FIGURE.fullmatch(shown):
        return Piece(("$-$" if shown[0] == "-" else "") + text(shown.removeprefix("-")), len(shown), figure=True)
    return Piece(text(shown, limit), min(columns_of(shown), limit))


def paragraph(tex: str, how: str = "") -> str:
    """A paragraph of LaTeX, not indented; ``how`` says the size or weight of its letters."""
    return rf"{{{how}\noindent {tex}\par}}"


def verbatim(said: str) -> str:
    r"""The text line by line, in letters of one width. Not in an environment that its own words could end."""
    lines = [_spaced(line) or r"\mbox{}" for line in visible(said).expandtabs(4).split("\n")]
    return "\n".join([r"{\ttfamily\small\raggedright", *(rf"\noindent {line}\par" for line in lines), "}"])


def _spaced(line: str) -> str:
    """The line with its blanks kept: TeX would fold them."""
    return r"\ ".join(map(_word, line.split(" ")))


def floating(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Piece]],
    *,
    label: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A table that floats, its notes below it; one that is longer than a page flows over pages instead."""
    shape = _Shape.of(heads, rows)
    below = [rf"\par\smallskip{{\raggedright\footnotesize {text(note)}\par}}" for note in notes]
    if sum(map(shape.lines, rows)) > ONE_PAGE:
        return "\n".join([_long(heads, rows, _captioned(caption, label)), *below])
    return "\n".join(
        [
            r"\begin{table}[tbp]",
            rf"\centering{shape.size}",
            _captioned(caption, label),
            rf"\begin{{tabular}}{{{shape.columns}}}",
            *shape.head(heads),
            *map(shape.row, rows),
            r"\bottomrule",
            r"\end{tabular}",
            *below,
            r"\end{table}",
        ]
    )


def flowing(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Piece]]) -> str:
    r"""A table that stands where it is and goes on on the next page; its caption is a line above: nbconvert swallows \caption."""
    return "\n".join([paragraph(text(caption), r"\small\itshape"), r"\nopagebreak", _long(heads, rows)])


def _long(heads: Sequence[str], rows: Sequence[Sequence[Piece]], caption: str = "") -> str:
    """A table of any length, its heads repeated on every page."""
    shape = _Shape.of(heads, rows)
    return "\n".join(
        [
            rf"{{{shape.size}",
            rf"\begin{{longtable}}{{{shape.columns}}}",
            *([rf"{caption} \tabularnewline"] if caption else []),
            *shape.head(heads),
            r"\endfirsthead",
            *shape.head(heads),
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *map(shape.row, rows),
            r"\end{longtable}",
            "}",
        ]
    )


def _captioned(caption: str, label: str) -> str:
    return rf"\caption{{{text(caption)}}}" + (rf"\label{{{label}}}" if label else "")


def _shared(natural: Sequence[int], widths: Sequence[int]) -> list[int]:
    """The widths, with the room of the columns that gave way shared by what they hold: so that a row takes fewer lines."""
    wide = [i for i, width in enumerate(widths) if width < natural[i]]
    room = sum(widths[i] - LEAST for i in wide)
    asked = sum(natural[i] for i in wide)
    return [LEAST + room * natural[i] // asked if i in wide else width for i, width in enumerate(widths)]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The columns of a table: figures to the right, words as wide as they need or as wide as is left for them.

    ``widths`` are in characters, ``specs`` what LaTeX is told of each column, ``size`` that of the letters.
    """

    widths: Sequence[int]
    specs: Sequence[str]
    size: str

    @classmethod
    def of(cls, heads: Sequence[str], rows: Sequence[Sequence[Piece]]) -> _Shape:
        natural = [max([len(head), *(row[i].width for row in rows)]) for i, head in enumerate(heads)]
        widths = _shared(natural, fitted(natural, LINE))
        taken = sum(widths) + 2 * len(widths)
        size = next((size for size in SIZES if taken * SIZES[size] <= LINE), SMALLEST)
        specs = [
            "r"
            if rows and all(row[i].figure for row in rows)
            else "l"
            if width == natural[i]
            else rf"p{{{width * SIZES[size] / LINE:.2f}\linewidth}}"
            for i, width in enumerate(widths)
        ]
        return cls(widths, specs, rf"{size}\setlength{{\tabcolsep}}{{4pt}}")

    @property
    def columns(self) -> str:
        """What the environment is told."""
        return f"@{{}}{''.join(self.specs)}@{{}}"

    def lines(self, row: Sequence[Piece]) -> int:
        """How many lines a row takes, about."""
        return max(math.ceil(max(piece.width, 1) / width) for piece, width in zip(row, self.widths, strict=True))

    def head(self, heads: Sequence[str]) -> list[str]:
        """The heads between their rules."""
        return [r"\toprule", self.row([words(head) for head in heads]), r"\midrule"]

    def row(self, row: Sequence[Piece]) -> str:
        r"""A row; ended by \tabularnewline, since \raggedright takes \\ for itself."""
        ragged = [r"\raggedright " if spec.startswith("p") else "" for spec in self.specs]
        return " & ".join(how + piece.tex for how, piece in zip(ragged, row, strict=True)) + r" \tabularnewline"
