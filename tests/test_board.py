"""What the panel of a run says is being done."""

from __future__ import annotations

from typing import get_args

from pge_nb.phases import PhaseName
from pge_nb.widgets.board import DOING


def test_every_phase_has_words_on_the_panel() -> None:
    assert set(DOING) == set(get_args(PhaseName))
