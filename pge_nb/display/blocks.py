"""What a view is made of: blocks, and the cells of tables. Values; how they look in each form stands beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict, state or outcome: a word, the colour of the badge around it, and the score that goes with it."""

    word: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """Something to be typed, or a name from code."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A file beside the notebook: its name, and where it is relative to the notebook."""

    text: str
    place: str


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole, from 0 to 1: a bar with its percentage beside it."""

    value: float


@dataclass(frozen=True, slots=True)
class Opening:
    """A mark that opens, in place, to what stands behind it. What cannot open shows the mark alone."""

    mark: Mark
    blocks: tuple[Block, ...] = field(repr=False)


Cell = str | int | float | Mark | Code | Link | Share | Opening | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells under heads; the first of a row is its head. None is shown as a dash."""

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

    draw: Callable[[], bytes] = field(repr=False, compare=False)
    alt: str
    kind: str = "Chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What is shown only when it is asked for. Plain text cannot unfold: there ``see`` names the command that shows it."""

    summary: str
    blocks: tuple[Block, ...]
    see: str = ""


Block = Table | Words | Verbatim | Diff | Picture | Fold


def tables(blocks: Sequence[Block]) -> Iterator[Table]:
    """All tables, the folded ones too."""
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Fold):
            yield from tables(block.blocks)
