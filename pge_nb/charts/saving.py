"""Figures as bytes: PNG for a notebook, PDF for a paper. The same figure always gives the same."""

from __future__ import annotations

import functools
import io
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from PIL import Image, ImageColor

from ..step_looks import CARD
from .style import COLOURS, GROUND, INK, PALE, PLAIN, Width, inches_of, scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HIGH = 8.0
"""Inches beyond which a picture is saved with as many dots as it is shown with, and no more: its bytes go with its height."""


def png(figure: Figure, *, dpi: float | None = None) -> bytes:
    """The picture's bytes, in the chart's own colours and their blends with a light grey ground: a third of the size.

    The same figure always gives the same bytes. ``dpi``: 150, and 110 for a high one.
    """
    drawn, held = io.BytesIO(), io.BytesIO()
    dpi = dpi or (150 if figure.get_figheight() <= HIGH else 110)
    with mpl.rc_context(PLAIN):
        figure.savefig(drawn, format="png", dpi=dpi)
    with Image.open(drawn) as picture:
        shown = picture.convert("RGB").quantize(palette=_palette(GROUND), dither=Image.Dither.NONE)
        shown.putpalette(_blends(CARD))  # the same blends, with the ground of a notebook's charts
        shown.save(held, format="png", optimize=True)
    return held.getvalue()


def save(figure: Figure, path: Path | str, width: Width = "column") -> Path:
    """Write the figure as a PDF of that width, its fonts in it as TrueType; the path.

    A figure that was drawn wider is made smaller as a whole, its letters as well, so draw one for its width:
    ``trajectory_chart(frame, width="column")``.
    """
    path = Path(path)
    path.write_bytes(pdf(figure, width))
    return path


def pdf(figure: Figure, width: Width = "column") -> bytes:
    """The bytes that `save` writes; the same figure always gives the same."""
    held, (wide, high) = io.BytesIO(), map(float, figure.get_size_inches())
    factor = inches_of(width) / wide
    figure.set_size_inches(wide * factor, high * factor)
    scale(figure, factor)
    try:
        with mpl.rc_context({**PLAIN, "pdf.fonttype": 42}):
            figure.savefig(held, format="pdf", metadata={"CreationDate": None})
    finally:
        scale(figure, 1 / factor)
        figure.set_size_inches(wide, high)
    return held.getvalue()


@functools.cache
def _palette(ground: str) -> Image.Image:
    held = Image.new("P", (1, 1))
    held.putpalette(_blends(ground))
    return held


def _blends(ground: str) -> list[int]:
    """Each colour in 16 steps to the ground. A palette found by counting would merge the colours of thin lines."""
    steps = 15
    return [
        round(part + (white - part) * step / steps)
        for colour in (INK, PALE, *COLOURS)
        for step in range(steps + 1)
        for part, white in zip(ImageColor.getrgb(colour), ImageColor.getrgb(ground), strict=True)
    ]
