"""The nearest of what there is, for a word that names nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 100
"""Characters of a word that are compared: the comparison takes their square."""


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.5) -> str:
    """The one of ``known`` that is most like ``word``, whatever its case; empty where none is as like as ``cutoff``."""
    folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(word.casefold()[:LONGEST], list(folded), n=1, cutoff=cutoff)
    return folded[near[0]] if near else ""
