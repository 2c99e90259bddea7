"""Places and identity: a run makes room whole, comes back for nothing, and survives a kill in the middle of a move."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import bank, moving
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, ModelFailed, PgeError, StateBusy
from pge_nb.harness import PGEHarness
from pge_nb.notebook import Place, Room, make_room, names, runs
from pge_nb.state import FILE_NAME, StateFile, open_run

STATS, ROMAN, MONEY = (bank.practice_task(name).prompt for name in ("stats", "roman", "money"))


def place_in(directory: Path, name: str = "") -> Place:
    return Place(state=directory / name / FILE_NAME, name=name)


def carried_out(place: Place, prompt: str, **settings: object) -> Room:
    """The prompt, run at its place as a cell does it."""
    config = HarnessConfig(**{"model": "practice:seed=2", **settings}, shared_state_path=place.state)  # type: ignore[arg-type]
    place.root.mkdir(exist_ok=True)
    room = make_room(place, prompt, config)
    PGEHarness(room.config).run(prompt)
    return room


def tree(root: Path) -> dict[str, bytes]:
    """What a run consists of, file by file, without locks."""
    parts = [root / name for name in (FILE_NAME, "work", ".pge")]
    files = [file for part in parts for file in ([part] if part.is_file() else sorted(part.rglob("*")))]
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in files
        if file.is_file() and file.name not in moving.TRACES
    }


def test_an_edited_prompt_moves_the_old_run_whole(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    assert carried_out(place, STATS).says() == ""
    before = tree(tmp_path)
    room = carried_out(place, ROMAN)
    assert tree(tmp_path / "earlier" / "1") == before
    assert (
        room.says() == "Another task stood here (another prompt); its run is whole in earlier/1: %pge open @1 shows it."
    )
    assert "work/statkit.py" not in tree(tmp_path) or "work/statkit.py" not in before
    assert StateFile(place.at(1)).verify().intact
    assert StateFile(place.state).verify().intact


def test_an_identity_met_again_is_reopened_and_nobody_is_asked(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    before = tree(tmp_path)
    carried_out(place, ROMAN)
    other = tree(tmp_path)
    room = carried_out(place, STATS)
    assert (room.reopened, room.moved) == (1, 2)
    assert tree(tmp_path) == before
    assert tree(tmp_path / "earlier" / "2") == other
    assert "reopened from earlier/1" in room.says()


def test_a_run_that_comes_back_keeps_its_number(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    carried_out(place, ROMAN)
    carried_out(place, STATS)
    assert list(place.earlier()) == [2]
    assert carried_out(place, MONEY).moved == 1
    assert carried_out(place, ROMAN).moved == 3
    assert {number: open_run(state).task.prompt for number, state in place.earlier().items()} == {1: STATS, 3: MONEY}
    assert sorted(part.name for part in (tmp_path / "earlier").iterdir()) == [".lock", "1", "3"]


def test_another_setting_that_changes_the_outcome_is_another_task(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    assert carried_out(place, STATS, max_steps=3).moved == 1
    assert carried_out(place, STATS, max_retries_per_step=1, max_steps=3).moved is None
    assert carried_out(place, STATS).reopened == 1


def test_a_model_that_nobody_chose_is_no_part_of_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_in(tmp_path)
    monkeypatch.setenv("PGE_NB_MODEL", "a-model-of-my-server")
    PGEHarness(HarnessConfig(shared_state_path=place.state)).start("Write a compiler.")
    monkeypatch.setenv("PGE_NB_MODEL", "practice")
    room = make_room(place, "Write a compiler.", HarnessConfig(shared_state_path=place.state))
    assert PGEHarness(room.config).start("Write a compiler.").settings["models"] == dict.fromkeys(
        ("planner", "generator", "evaluator"), "a-model-of-my-server"
    )


def test_a_simulated_run_is_not_taken_for_one_by_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS, model=None)
    monkeypatch.setenv("PGE_NB_MODEL", "a-model-of-my-server")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert make_room(place, STATS, HarnessConfig(shared_state_path=place.state)).moved == 1


def test_what_cannot_be_begun_moves_nothing(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    before = tree(tmp_path)
    with pytest.raises(ModelFailed):
        carried_out(place, "Write a compiler.")
    assert tree(tmp_path) == before
    assert place.earlier() == {}


def test_a_run_that_is_running_does_not_make_room(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    before = tree(tmp_path)
    with StateFile(place.state).running(), pytest.raises(StateBusy, match="is running"):
        carried_out(place, ROMAN)
    assert tree(tmp_path) == before
    carried_out(place, ROMAN)
    now = tree(tmp_path)
    with StateFile(place.at(1)).running(), pytest.raises(StateBusy):
        carried_out(place, STATS)
    assert tree(tmp_path) == now


def test_a_run_with_a_broken_file_can_make_room_and_comes_back_for_nobody(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    place.state.write_bytes(place.state.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))
    with pytest.raises(PgeError, match="was changed"):
        carried_out(place, STATS)
    assert place.move_away() == 1
    assert carried_out(place, STATS).reopened is None
    assert [kept.run is None for kept in runs(tmp_path)] == [False, True]


def test_a_working_directory_of_another_name_moves_along(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS, working_directory="out/data")
    assert any((tmp_path / "out" / "data").iterdir())
    place.move_away()
    assert any((tmp_path / "earlier" / "1" / "out" / "data").iterdir())
    assert not (tmp_path / "out" / "data").exists()


def test_what_was_left_without_a_run_makes_room_too(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    carried_out(place, ROMAN)
    place.state.unlink()
    (tmp_path / "work" / "mine.txt").write_text("not the run's")
    room = carried_out(place, STATS)
    assert room.moved == 2
    assert (tmp_path / "earlier" / "2" / "work" / "mine.txt").read_text() == "not the run's"
    assert open_run(tmp_path).task.prompt == STATS


# Killed in the middle

KILLED = """
import os, signal, sys
from pathlib import Path
from pge_nb.notebook import Place
left = int(sys.argv[2])
def counted(name):
    real = getattr(Path, name)
    def one(self, *args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(self, *args, **kwargs)
    setattr(Path, name, one)
for name in ("rename", "replace", "unlink", "mkdir", "rmdir"):
    counted(name)
place = Place(state=Path(sys.argv[1]))
print(place.move_away() if sys.argv[3] == "away" else place.reopen(1))
"""


def killed_after(count: int, place: Place, what: str) -> bool:
    """Whether a process that moves was killed before its file operation number ``count``; False where it has ended."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(place.state), str(count), what],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
        capture_output=True,
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode != 0


def test_killed_anywhere_in_a_move_away_the_next_call_finishes_it(tmp_path: Path) -> None:
    made = place_in(tmp_path, "made")
    carried_out(made, STATS)
    before = tree(made.root)
    for count in range(100):
        place = place_in(tmp_path, str(count))
        shutil.copytree(made.root, place.root)
        was_killed = killed_after(count, place, "away")
        here = place.run()
        assert tree(place.root if here else place.at(1).parent) == before
        assert list(place.earlier()) == ([] if here else [1])
        assert not moving.unfinished(place.root)
        if not was_killed:
            return
    pytest.fail("the move never ended")


def test_killed_anywhere_in_a_reopening_both_runs_are_whole(tmp_path: Path) -> None:
    made = place_in(tmp_path, "made")
    carried_out(made, STATS)
    first = tree(made.root)
    carried_out(made, ROMAN)
    second = tree(made.root)
    for count in range(100):
        place = place_in(tmp_path, str(count))
        shutil.copytree(made.root, place.root)
        was_killed = killed_after(count, place, "back")
        place.run()
        carried_out(place, STATS)
        assert tree(place.root) == first
        assert [tree(state.parent) for state in place.earlier().values()] == [second]
        if not was_killed:
            return
    pytest.fail("the reopening never ended")


def test_the_harness_in_python_finishes_a_move_before_it_opens_the_file(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    before = tree(tmp_path)
    count = next(count for count in range(100) if killed_after(count, place, "away") and moving.unfinished(tmp_path))
    assert count
    PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=place.state)).run(ROMAN)
    assert tree(tmp_path / "earlier" / "1") == before
    assert open_run(tmp_path).task.prompt == ROMAN


def test_the_harness_in_python_begins_nothing_while_a_run_is_on_its_way(tmp_path: Path) -> None:
    harness = PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=tmp_path / FILE_NAME))
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / moving.NOTE).write_text(json.dumps([[FILE_NAME, f"earlier/1/{FILE_NAME}"]]))
    with pytest.raises(StateBusy, match="being moved"):
        harness.start(STATS)


def test_the_harness_in_python_refuses_an_edited_prompt(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    carried_out(place, STATS)
    with pytest.raises(BadInput, match="%pge new moves it whole to earlier/"):
        PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=place.state)).run(ROMAN)


# All runs of a notebook


def test_every_run_of_a_notebook_is_listed_with_how_it_is_named(tmp_path: Path) -> None:
    assert list(runs(tmp_path)) == []
    carried_out(place_in(tmp_path), STATS)
    carried_out(place_in(tmp_path), ROMAN)
    carried_out(place_in(tmp_path, "second"), ROMAN)
    carried_out(place_in(tmp_path, "second"), STATS)
    carried_out(place_in(tmp_path, "third"), STATS)
    place_in(tmp_path, "third").move_away()
    assert [kept.address for kept in runs(tmp_path)] == ["", "@1", "second", "second@1", "third@1"]
    assert names(tmp_path) == ["second", "third"]


def test_an_earlier_run_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    place = place_in(tmp_path, "mine")
    place.root.mkdir()
    with pytest.raises(BadInput, match="No run made room here yet"):
        place.at(3)
    carried_out(place, STATS)
    place.move_away()
    with pytest.raises(BadInput, match="The nearest is mine@1"):
        place.at(3)
    assert place.at(None) == place.state


def test_a_run_that_could_not_be_paid_for_moves_nothing(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    before = (tmp_path / "shared_state.md").read_bytes()
    refused = shell.cell("%pge run --practice stats --model claude-sonnet-5-5")
    assert "There is no API key" in refused.text
    assert (tmp_path / "shared_state.md").read_bytes() == before
    assert not (tmp_path / "earlier").exists()
