"""Studies of raters, over the runs of one or many notebooks. What each is about stands with it; all are found from here."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ablating import ablate as ablate
    from .by_attempt import attempts as attempts
    from .carding import card as card
    from .drifting import drift as drift
    from .examining import exam_runs
    from .figures import calibrate as calibrate
    from .imports import import_labels as import_labels
    from .improving import candidates as candidates
    from .improving import taught as taught
    from .improving import trial as trial
    from .labelling import labels as labels
    from .probing import probe_runs
    from .replaying import kept, regrade_runs
    from .revealing import reveal as reveal
    from .splits import look as look
    from .splits import split as split
    from .study import open_study as open_study
    from .sweeping import sweep as sweep

    exam = exam_runs
    graded = kept
    probe = probe_runs
    regrade = regrade_runs

# Imported when they are first asked for. A module here must not have the name of one of these: importing it would hide it.
_PLACES = {
    "ablate": (".ablating", "ablate"),
    "attempts": (".by_attempt", "attempts"),
    "drift": (".drifting", "drift"),
    "calibrate": (".figures", "calibrate"),
    "candidates": (".improving", "candidates"),
    "card": (".carding", "card"),
    "graded": (".replaying", "kept"),
    "import_labels": (".imports", "import_labels"),
    "labels": (".labelling", "labels"),
    "look": (".splits", "look"),
    "exam": (".examining", "exam_runs"),
    "open_study": (".study", "open_study"),
    "probe": (".probing", "probe_runs"),
    "regrade": (".replaying", "regrade_runs"),
    "reveal": (".revealing", "reveal"),
    "split": (".splits", "split"),
    "sweep": (".sweeping", "sweep"),
    "taught": (".improving", "taught"),
    "trial": (".improving", "trial"),
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, called = _PLACES[name]
    return getattr(importlib.import_module(module, __name__), called)


def __dir__() -> list[str]:
    return sorted(_PLACES)
