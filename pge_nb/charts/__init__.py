"""Frames as pictures: matplotlib figures made through the object API, so that nothing global is touched or left open."""

from .calibrated import coverage_chart, rates_chart, reliability_chart, threshold_chart
from .plan import plan_chart
from .saving import pdf, png, save
from .style import (
    COLOURS,
    DASHES,
    GROUND,
    INK,
    MARKERS,
    NARROW,
    PALE,
    WIDTH,
    WIDTHS,
    Style,
    Width,
    drawable,
    series_styles,
)
from .trajectory import MANY_IN_A_COLUMN, trajectory_chart

__all__ = [
    "COLOURS",
    "DASHES",
    "GROUND",
    "INK",
    "MANY_IN_A_COLUMN",
    "MARKERS",
    "NARROW",
    "PALE",
    "WIDTH",
    "WIDTHS",
    "Style",
    "Width",
    "coverage_chart",
    "drawable",
    "pdf",
    "plan_chart",
    "png",
    "rates_chart",
    "reliability_chart",
    "save",
    "series_styles",
    "threshold_chart",
    "trajectory_chart",
]
