"""Words, signs and colours that every form of a view shares, and what is cut where a text is too long."""

from __future__ import annotations

import math
import urllib.parse
from collections.abc import Mapping

from ..step_looks import STEP_LOOKS
from .blocks import Link, Mark, Share

SHORT, WHOLE = 280, 4_000
"""Characters of a cell that are shown at once, and at most once it is unfolded."""
SIGNS: Mapping[str, str] = {"pass": "✓", "fail": "✗", "unmeasured": "?"}
GROUNDS: Mapping[str, str] = {  # white on each of them has a contrast of 7 to 1 or more
    **{state: look.ground for state, look in STEP_LOOKS.items()},
    **dict.fromkeys(("pass", "passed", "agreed"), STEP_LOOKS["accepted"].ground),
    **dict.fromkeys(("fail", "stopped", "broken"), STEP_LOOKS["failed"].ground),
    **dict.fromkeys(("unmeasured", "degraded"), STEP_LOOKS["kept"].ground),
    "running": STEP_LOOKS["working"].ground,
    "paused": STEP_LOOKS["asking"].ground,
}
"""What is like a state of a step has its colour."""
PLAIN_GROUND = "#4a4a4a"


def number(value: float | None, digits: int = 1) -> str:
    """A number with at most so many digits after the point; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{round(value, digits):,}".removesuffix(".0")


def signed(word: str) -> str:
    """The word with its sign before it, where it has one."""
    return f"{SIGNS[word]} {word}" if word in SIGNS else word


def scored(mark: Mark) -> str:
    """The word of a mark with its sign, and the score where there is one."""
    return signed(mark.word) if mark.score is None else f"{signed(mark.word)} {number(mark.score)}"


def percentage(share: Share) -> str:
    """The share in hundredths; what is more than nothing is never told as 0."""
    return "<1 %" if 0 < share.value < 0.005 else f"{share.value:.0%}".replace("%", " %")


def one_line(text: str) -> str:
    """The text with its white space folded."""
    return " ".join(text.split())


def shortened(text: str, limit: int) -> str:
    """The text's beginning, ended between two words where there are words."""
    head = text[:limit].rstrip()
    between = head.rfind(" ")
    return head[:between] if between > limit // 2 else head


def cut(text: str, limit: int) -> str:
    """The text; of a longer one the beginning, and how much of it that is."""
    return text if len(text) <= limit else f"{text[:limit].rstrip()} ... (first {limit:,} of {len(text):,} characters)"


def address(link: Link) -> str:
    """The place as a relative URL; what could be a scheme or leave this server is quoted away."""
    return "./" + urllib.parse.quote(link.place, errors="surrogatepass")
