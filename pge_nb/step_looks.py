"""How the states of a step look, wherever they are shown: in tables, in the panel of a run, and in the plan's chart.

One table, so that a state has the same hue, mark and word everywhere. And the ground of a chart: a light grey one, which reads
on a light page and is no glaring slab on a dark one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .run import StepState

CARD = "#dde1e6"
"""The ground of a chart in a notebook. One in a paper is white."""
BLUE, VERMILION, GREEN, PURPLE, ORANGE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#8a8a8a"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLook:
    """A state's sign in text; the ground of its badge, a dark one, below white letters; and how its box is drawn.

    ``dash`` is that of the edge, ``marker`` stands in the box, hollow unless ``filled``.
    """

    sign: str
    ground: str
    colour: str
    dash: str = "-"
    marker: str = "o"
    filled: bool = False


STEP_LOOKS: Mapping[StepState, StepLook] = {
    "accepted": StepLook(sign="✓", ground="#00563f", colour=GREEN, filled=True),
    "kept": StepLook(sign="~", ground="#6b3f00", colour=ORANGE, marker="D", filled=True),
    "advanced": StepLook(sign="»", ground="#5c4700", colour=ORANGE, dash="--", marker=">"),
    "failed": StepLook(sign="✗", ground="#8c1d18", colour=VERMILION, marker="X"),
    "infeasible": StepLook(sign="⊘", ground="#781f3a", colour=VERMILION, dash=":", marker="X"),
    "blocked": StepLook(sign="■", ground="#75331c", colour=VERMILION, dash="--", marker="s"),
    "asking": StepLook(sign="?", ground="#6a2c57", colour=PURPLE, marker="$?$", filled=True),
    "working": StepLook(sign="…", ground="#0b4a7a", colour=BLUE, marker="P", filled=True),
    "negotiating": StepLook(sign="↔", ground="#1f5560", colour=BLUE, dash="--", marker="^"),
    "waiting": StepLook(sign="○", ground="#4a4a4a", colour=GREY),
    "replanned": StepLook(sign="↻", ground="#3d4657", colour=GREY, dash=":", marker="h"),
}
