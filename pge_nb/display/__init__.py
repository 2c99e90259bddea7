"""What a cell returns: a `View` made of blocks, in forms that each stand by themselves."""

from .as_html import DIFF_GROUNDS, MATHEMATICS, html_of
from .as_latex import latex_of
from .as_markdown import markdown_of
from .blocks import Block, Cell, Code, Diff, Fold, Link, Mark, Opening, Picture, Share, Table, Verbatim, Words
from .looks import GROUNDS, PLAIN_GROUND, SHORT, SIGNS, WHOLE, cut, number
from .view import View

__all__ = [
    "DIFF_GROUNDS",
    "GROUNDS",
    "MATHEMATICS",
    "PLAIN_GROUND",
    "SHORT",
    "SIGNS",
    "WHOLE",
    "Block",
    "Cell",
    "Code",
    "Diff",
    "Fold",
    "Link",
    "Mark",
    "Opening",
    "Picture",
    "Share",
    "Table",
    "Verbatim",
    "View",
    "Words",
    "cut",
    "html_of",
    "latex_of",
    "markdown_of",
    "number",
]
