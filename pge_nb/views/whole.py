"""A view of a run, with all that every such view begins and ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..display import Block, View
from ..run import Run
from .ends import caveats, foot, next_move, title

if TYPE_CHECKING:
    from pandas import DataFrame


def view_of(run: Run, what: str, blocks: Sequence[Block], df: DataFrame | None) -> View:
    """The blocks of one aspect of a run as a view, its data frame with it."""
    return View(
        title=title(run) if what == "run" else f"{title(run)}: {what}",
        mark=run.outcome if what == "run" else "",  # beside one failed attempt, "passed" would mislead
        blocks=tuple(blocks),
        notes=tuple(caveats(run)),
        next=next_move(run, what),
        foot=foot(run),
        df=df,
    )
