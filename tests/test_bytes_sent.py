"""What is sent grows with the work and not with its square, and a phase begins with the same bytes in every call."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from side_by_side import MODEL, Player

from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.payloads import compact

MOST = 2.1


def sent(place: Path, steps: int, *, retries: int = 0, parallel: int = 1) -> Player:
    place.mkdir()
    needs = {n: (n - 1,) if n > 1 and parallel == 1 else () for n in range(1, steps + 1)}
    model = Player(needs, bad={1: retries})
    config = HarnessConfig(
        model=MODEL,
        shared_state_path=place / "shared_state.md",
        max_steps=steps,
        max_retries_per_step=retries,
        max_parallel=parallel,
    )
    assert PGEHarness(config, model=model).run("Make files.").outcome == "passed"
    return model


def size(model: Player) -> int:
    return sum(request.input_bytes for request in model.asked)


def test_twice_the_retries_are_twice_the_bytes(tmp_path: Path) -> None:
    less, more = sent(tmp_path / "a", 1, retries=16), sent(tmp_path / "b", 1, retries=32)
    assert (len(less.asked), len(more.asked)) == (3 + 2 * 17, 3 + 2 * 33)
    assert size(more) <= MOST * size(less)


@pytest.mark.parametrize("parallel", [1, 8])
def test_twice_the_steps_are_twice_the_bytes(tmp_path: Path, parallel: int) -> None:
    less, more = sent(tmp_path / "a", 30, parallel=parallel), sent(tmp_path / "b", 60, parallel=parallel)
    assert (len(less.asked), len(more.asked)) == (1 + 4 * 30, 1 + 4 * 60)
    assert size(more) <= MOST * size(less)
    longest = max(request.input_bytes for request in more.asked)
    assert longest <= 1.1 * max(request.input_bytes for request in less.asked), "no single call grows"


def test_every_call_of_a_phase_begins_with_the_same_bytes(tmp_path: Path) -> None:
    model = sent(tmp_path / "a", 8, retries=3, parallel=4)
    prefixes = defaultdict(set)
    for request in model.asked:
        prefixes[request.about.role, request.about.phase].add(compact([request.system, [*map(dict, request.tools)]]))
    assert len(prefixes) == 5
    assert {phase: len(found) for phase, found in prefixes.items()} == dict.fromkeys(prefixes, 1)


def test_of_many_files_a_step_is_shown_those_that_it_names_and_the_cut_is_marked(tmp_path: Path) -> None:
    model = sent(tmp_path / "a", 30)
    (asked,) = [one for one in model.asked if one.about.phase == "propose" and one.about.step == 29]
    text = str(asked.messages[0]["content"])
    assert "[cut: 6 more]" in text
    (few,) = [one for one in sent(tmp_path / "b", 24).asked if one.about.phase == "propose" and one.about.step == 20]
    assert "[cut:" not in str(few.messages[0]["content"])
