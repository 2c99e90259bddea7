"""RUNS in a command: which runs names, patterns and directories mean, over runs that real lines made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb.commands.here import Here
from pge_nb.commands.of_runs import runs_of
from pge_nb.errors import BadInput, StateDamaged

LINES = (
    "%pge run --practice stats --seed 1",
    "%pge run --practice stats --seed 2",
    "%pge run alpha --practice stats --seed 3",
    "%pge run alps --practice stats --seed 4",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        shell = Shell()
        for line in LINES:
            assert shell.cell(f"{line};").error is None
        shell.close()
    return place


@pytest.fixture
def here(made: Path) -> Here:
    return Here(directory=made)


def places(here: Here, *words: str) -> list[str]:
    roots = [run.root for run in runs_of(here, words)]
    return [str(root.relative_to(here.directory)) for root in roots if root]


def test_nothing_said_is_every_run_of_the_notebook_the_earlier_ones_too(here: Here) -> None:
    assert places(here) == [".", "earlier/1", "alpha", "alps"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["alpha"], ["alpha"]),
        (["."], ["."]),
        (["@1"], ["earlier/1"]),
        (["al*"], ["alpha", "alps"]),
        (["alps", "al*", "alps"], ["alps", "alpha"]),
        (["*/shared_state.md"], ["alpha", "alps"]),
        (["alpha/shared_state.md"], ["alpha"]),
        (["earlier/1"], ["earlier/1"]),
        (["./"], [".", "earlier/1", "alpha", "alps"]),
    ],
)
def test_a_word_names_runs_and_each_is_taken_once(here: Here, words: list[str], found: list[str]) -> None:
    assert places(here, *words) == found


def test_a_copy_of_a_run_is_the_same_run(here: Here, tmp_path: Path) -> None:
    shutil.copytree(here.directory, tmp_path / "copy")
    copy = tmp_path / "copy" / "alpha"
    assert places(here, "alpha", str(copy)) == ["alpha"]


@pytest.mark.parametrize(
    ("word", "fact", "move"),
    [
        ("alpah", "There is no run 'alpah'.", "Did you mean alpha?"),
        ("zzz", "There is no run 'zzz'.", "There are: ., @1, alpha, alps."),
        ("z*", "No run matches 'z*'.", "There are: ., @1, alpha, alps."),
        ("alpha@7", "There is no run alpha@7.", "No run made room here yet."),
    ],
)
def test_a_word_that_means_nothing_names_what_there_is(here: Here, word: str, fact: str, move: str) -> None:
    with pytest.raises(BadInput) as caught:
        runs_of(here, [word])
    assert caught.value.fact == fact
    assert caught.value.next_move.startswith(move)


def test_no_run_and_a_damaged_one_are_told(here: Here, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No run is in"):
        runs_of(Here(directory=tmp_path))
    place = tmp_path / "copy"
    shutil.copytree(here.directory, place)
    state = place / "alps" / "shared_state.md"
    state.write_bytes(state.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))
    for words in ([], ["alps"], ["al*"]):
        with pytest.raises(StateDamaged):
            runs_of(Here(directory=place), words)
    assert len(runs_of(Here(directory=place), ["alpha"])) == 1
