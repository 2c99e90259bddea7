"""Scores over attempts, as a picture and as numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import frames
from ..display import Block, Cell, Fold, Mark, Picture, Table, Words
from ..interrupts import held_back
from ..run import Run
from .alt import alt_text

if TYPE_CHECKING:
    from pandas import DataFrame

MANY_STEPS = 9
"""Steps beyond which those that were attempted once are not drawn: a point is no trajectory."""


def trajectory_blocks(run: Run, step: int | None = None) -> Iterator[Block]:
    """The chart, and the numbers below it; words where nothing was evaluated."""
    frame = at(frames.trajectory(run), step)
    if frame.empty:
        yield Words("No attempt was evaluated yet.")
        return
    drawn = worth_drawing(frame)
    yield chart(run, drawn)
    if once := sorted(set(frame["step"]) - set(drawn["step"])):
        yield Words(f"Steps that were attempted once are not drawn: {_ranges(once)}.")
    yield Fold(summary="The numbers", blocks=(scores_table(frame),))


def worth_drawing(frame: DataFrame) -> DataFrame:
    """The rows that are drawn: all of a few steps, of many those that were attempted more than once."""
    if frame["step"].nunique() <= MANY_STEPS:
        return frame
    again = frame.groupby("step")["attempt"].transform("nunique") > 1
    return frame[again] if again.any() else frame


def chart(run: Run, trajectory: DataFrame) -> Picture:
    """The picture of a trajectory, with the decisions and the cost of its steps."""
    steps = set(trajectory["step"])
    made = (frames.decisions(run), frames.cost(run), frames.plan(run))
    decisions, cost, plan = (frame[frame["step"].isin(steps)] for frame in made)

    numbers = Numbers.of(trajectory, decisions, cost, plan)
    return Picture(draw=lambda: _drawn(numbers), alt=alt_text(trajectory, decisions, cost, plan))


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a chart is drawn from; equal where ``told``, the frames as text, is."""

    told: tuple[str, ...]
    frames: tuple[DataFrame, ...] = field(compare=False, repr=False)

    @classmethod
    def of(cls, *frames: DataFrame) -> Numbers:
        """The frames, and their text without how long anything took: that is not drawn."""
        return cls(tuple(frame.drop(columns="seconds", errors="ignore").to_csv() for frame in frames), frames)


@functools.lru_cache(maxsize=32)
def _drawn(numbers: Numbers) -> bytes:
    """The picture. It takes half a second, and views of a run are asked for again and again."""
    with held_back():
        from .. import charts

        return charts.png(charts.trajectory_chart(*numbers.frames))


def _ranges(numbers: list[int]) -> str:
    """Numbers in few words: 1 to 3, 5."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]} to {part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts)


def scores_table(frame: DataFrame) -> Table:
    """The scores, a row an attempt."""
    series = list(dict.fromkeys(frame["on"]))
    rows: list[tuple[Cell, ...]] = []
    for (step, attempt), group in frame.groupby(["step", "attempt"], sort=True):
        scores = dict(zip(group["on"], group["score"], strict=True))
        verdict = dict(zip(group["on"], group["verdict"], strict=True)).get("overall", "unmeasured")
        rows.append((f"{step}.{attempt}", *(scores.get(name) for name in series), Mark(str(verdict))))
    return Table(caption="Scores, 0 to 10", heads=("Attempt", *series, "Verdict"), rows=tuple(rows))


def at(frame: DataFrame, step: int | None, attempt: int | None = None) -> DataFrame:
    """The rows of a step, of one attempt at it, or all."""
    if step is not None:
        frame = frame[frame["step"] == step]
    return frame[frame["attempt"] == attempt] if attempt is not None else frame
