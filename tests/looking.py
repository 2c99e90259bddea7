"""Looking at one check of a tree that is made of texts, as an evaluator does."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Mapping

import pytest

from pge_nb.payloads import Json, decode, encode
from pge_nb.records import Check
from pge_nb.reviews import Outcome, Review, shipped
from pge_nb.reviews.browser import BROWSERS
from pge_nb.workspace import Objects, laid

SECONDS = 20.0
needs_browser = pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)) or importlib.util.find_spec("playwright") is None,
    reason="no Chromium, or no playwright (the extra browser)",
)


def look(
    objects: Objects,
    method: str | Review,
    args: Mapping[str, Json],
    files: Mapping[str, str],
    *,
    seconds: float = SECONDS,
) -> Outcome:
    """The outcome of one check over a tree of these files, after the review has vetted it."""
    review: Review = shipped(seconds=seconds)[method] if isinstance(method, str) else method
    check = Check(id="c1", says="it holds", method=review.name, args=args)
    assert review.vet(check) is None
    with laid([objects.file(path, text.encode()) for path, text in files.items()], objects) as tree:
        outcome = review.look(check, tree)
        assert str(tree.root) not in outcome.says + outcome.saw
    assert decode(Outcome, encode(outcome)) == outcome
    return outcome


def vetted(method: str | Review, args: Mapping[str, Json], says: str = "it holds") -> str | None:
    """Why a check's args cannot be used; None where they can."""
    review: Review = shipped(seconds=SECONDS)[method] if isinstance(method, str) else method
    return review.vet(Check(id="c1", says=says, method=review.name, args=args))
