"""The places of a state file: directories, notes beside it, and the lock of a run in progress."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from state_samples import note, two_lines, written

import pge_nb
from pge_nb.errors import BadInput, StateBusy, StateDamaged
from pge_nb.state import StateFile, open_run, open_runs

SOURCE = str(Path(pge_nb.__file__).parents[1])


def test_a_directory_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        StateFile(tmp_path / "nowhere" / "shared_state.md")
    assert two_lines(error.value)[0] == f"There is no directory {tmp_path / 'nowhere'}."


def test_a_path_that_is_a_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        StateFile(tmp_path)
    assert two_lines(error.value)[0] == f"{tmp_path} is a directory, not a state file."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_path_that_is_a_pipe_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "shared_state.md")
    with pytest.raises(BadInput, match="is not a regular file"):
        StateFile(tmp_path / "shared_state.md")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
def test_a_directory_that_cannot_be_written_is_told() -> None:
    state = StateFile("/proc/self/shared_state.md")
    assert state.read().sections == []
    for act in (lambda: state.append(note()), lambda: state.running().__enter__()):
        with pytest.raises(BadInput) as error:
            act()
        assert two_lines(error.value)[0].startswith("/proc/self cannot be written: ")


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    path = written(tmp_path, note())
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "shared_state.md"
    copy.write_bytes(path.read_bytes())
    assert len(open_run(copy).sections) == 1
    assert StateFile(copy).verify().intact
    assert list((tmp_path / "copy").iterdir()) == [copy]


def test_a_study_beside_a_run_has_its_own_notes(tmp_path: Path) -> None:
    StateFile(tmp_path / "shared_state.md").append(note("a"), note("b"))
    StateFile(tmp_path / "study.md").append(note("c"))
    assert len(open_run(tmp_path).sections) == 2
    assert len(open_run(tmp_path / "study.md").sections) == 1
    assert {"head", "study.head"} <= {path.name for path in (tmp_path / ".pge").iterdir()}


def test_open_run_says_when_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(f"There is no state file {tmp_path / 'shared_state.md'}")):
        open_run(tmp_path)


def test_open_runs_takes_files_and_directories_in_order_and_each_once(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, note(name))
    (tmp_path / "empty").mkdir()
    for pattern in ("*", "*/shared_state.md", "**"):
        runs = open_runs(str(tmp_path / pattern))
        assert [run.root for run in runs] == [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(BadInput) as error:
        open_runs(str(tmp_path / "c*"))
    two_lines(error.value)


def test_open_runs_leaves_out_what_a_wildcard_happens_to_match_and_is_no_run(tmp_path: Path) -> None:
    """Else a notebook beside the runs would end the call with the advice to begin anew."""
    (tmp_path / "a").mkdir()
    written(tmp_path / "a", note("a"))
    StateFile(tmp_path / "other.md").append(note("b"))
    StateFile(tmp_path / "study.md").append(note("c"))
    (tmp_path / "notes.md").write_text("# Notes")
    (tmp_path / "book.ipynb").write_text("{}")
    (tmp_path / "empty.txt").touch()
    texts = [run.sections[0].payload for run in open_runs(str(tmp_path / "*"))]
    assert texts == [note("a").payload, note("b").payload]
    with pytest.raises(StateDamaged):
        open_runs(str(tmp_path / "notes.md"))  # asked for by its name
    (tmp_path / "a" / "shared_state.md").write_text("not what was written")
    with pytest.raises(StateDamaged):
        open_runs(str(tmp_path / "*"))


# A run in progress


def test_a_run_in_progress_is_busy_for_other_processes_which_may_still_append(tmp_path: Path) -> None:
    path = written(tmp_path, note())
    script = (
        "import sys; from pge_nb.state import StateFile\n"
        "with StateFile(sys.argv[1]).running():\n    print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"up\n"
        state = StateFile(path)
        with pytest.raises(StateBusy) as error, state.running():
            pass
        said = two_lines(error.value)[0]
        assert said.startswith(f"Process {child.pid} is running {path} (on {socket.gethostname()}, since 20")
        state.append(note("an answer"))
        child.stdin.close()
    with state.running():
        assert (tmp_path / ".pge" / "run.pid").read_text().split()[0] == str(os.getpid())
    assert len(open_run(path).sections) == 2


def test_a_run_whose_process_was_killed_is_not_busy(tmp_path: Path) -> None:
    path = written(tmp_path, note())
    script = (
        "import os, sys; from pge_nb.state import StateFile\n"
        "StateFile(sys.argv[1]).running().__enter__()\nos.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", script, path], check=False, env={**os.environ, "PYTHONPATH": SOURCE})
    assert killed.returncode == -9
    with StateFile(path).running():
        assert (tmp_path / ".pge" / "run.pid").read_text().split()[0] == str(os.getpid())


def test_this_process_may_not_run_it_twice(tmp_path: Path) -> None:
    path = written(tmp_path, note())
    with StateFile(path).running():
        with pytest.raises(StateBusy, match="This process is running"), StateFile(path).running():
            pass
        StateFile(path).append(note())
    with StateFile(path).running():
        pass
