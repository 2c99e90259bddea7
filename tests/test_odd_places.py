"""What stands where a run is looked for, or lacks what it rests on, is told as what it is."""

from __future__ import annotations

import os
import shutil
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb.errors import BadInput
from pge_nb.exports import EXPORTS

RUN = "%pge run --practice stats --seed 2"
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@contextmanager
def soon(seconds: float = 20.0) -> Iterator[None]:
    """Fail, and not hang, where the block waits for somebody to write into a pipe."""
    late = threading.Timer(seconds, lambda: os._exit(3))
    late.start()
    try:
        yield
    finally:
        late.cancel()


# A pipe


@needs_pipes
@pytest.mark.parametrize(
    "line", ["%pge verify", "%pge show", "%pge new", RUN, "%pge export html", "%pge resume", "%pge load", "%pge files"]
)
def test_a_pipe_in_the_place_of_a_state_file_is_told_and_not_waited_for(
    line: str, shell: Shell, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "shared_state.md")
    with soon():
        told = shell.cell(line)
    assert isinstance(told.error, BadInput)
    assert "shared_state.md is not a regular file" in told.text


@needs_pipes
@pytest.mark.parametrize("name", ["other.md", "other.zip"])
@pytest.mark.parametrize("line", ["%pge verify {0}", "%pge open {0}"])
def test_a_pipe_that_is_named_is_told_and_not_waited_for(line: str, name: str, shell: Shell, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with soon():
        told = shell.cell(line.format(name))
    assert isinstance(told.error, BadInput)
    assert f"{name} is not a regular file" in told.text


# A file in the place of .pge/


def test_a_file_in_the_place_of_the_house_is_named_as_the_cause(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".pge").write_text("mine")
    told = shell.cell(RUN)
    assert isinstance(told.error, BadInput)
    assert f"{tmp_path / '.pge'} is no directory" in told.text
    assert "Move it away" in told.text
    assert (tmp_path / ".pge").read_text() == "mine"


@pytest.mark.parametrize("line", ["%pge resume", "%pge new", f"{RUN} --max-retries 5"])
def test_the_same_where_a_run_was_begun(line: str, shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    shutil.rmtree(tmp_path / ".pge")
    (tmp_path / ".pge").symlink_to(tmp_path / "nowhere")
    before = (tmp_path / "shared_state.md").read_bytes()
    assert f"{tmp_path / '.pge'} is no directory" in shell.cell(line).text
    assert (tmp_path / "shared_state.md").read_bytes() == before
    assert shell.cell("%pge verify").view.mark == "incomplete"


# A run that lacks something


def without_objects(path: Path, place: Path, count: int) -> Path:
    """The zip without so many of the objects in it."""
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(place, "w") as lacking:
        dropped = [name for name in whole.namelist() if "/objects/" in name][:count]
        assert len(dropped) == count
        for name in whole.namelist():
            if name not in dropped:
                lacking.writestr(whole.getinfo(name), whole.read(name))
    return place


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_bundle_that_lacks_objects_says_so_when_it_is_opened(count: int, shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    shell.cell("%pge export bundle;")
    without_objects(tmp_path / EXPORTS / "stats.zip", tmp_path / "taken.zip", count)
    said = shell.cell("%pge open taken.zip").view.plain()
    assert "taken.zip was laid out as taken/" in said
    assert ("Incomplete" in said) == bool(count)
    if count:
        assert f"{count} object{'s' if count > 1 else ''} that it rests on" in said


@pytest.mark.parametrize("count", [0, 2])
def test_saved_work_that_lacks_objects_says_of_which_run(count: int, shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run one --practice stats --seed 2;")
    shell.cell("%pge save --to saved.zip;")
    away = tmp_path / "away"
    away.mkdir()
    without_objects(tmp_path / "saved.zip", away / "saved.zip", count)
    os.chdir(away)
    other = Shell()
    try:
        said = other.cell("%pge open saved.zip").view.plain()
    finally:
        other.close()
        os.chdir(tmp_path)
    assert ("Incomplete: 2 objects of one/shared_state.md" in said) == bool(count)


def test_a_damaged_run_that_makes_room_is_not_called_whole(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    state = tmp_path / "shared_state.md"
    state.write_bytes(state.read_bytes().replace(b"stats", b"stots", 1))
    said = shell.cell("%pge new").view.plain()
    assert "whole" not in said
    assert "damaged: %pge verify @1 tells where" in said
    assert shell.cell("%pge verify @1").view.mark == "broken"


def test_a_run_that_lacks_objects_and_makes_room_says_so(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    next((tmp_path / ".pge" / "objects").glob("*/*")).unlink()
    said = shell.cell("%pge new").view.plain()
    assert "whole" not in said
    assert "Incomplete: 1 object that it rests on is gone" in said


def test_a_whole_run_that_makes_room_is_called_so(shell: Shell) -> None:
    shell.cell(f"{RUN};")
    assert "The old run is whole in earlier/1" in shell.cell("%pge new").view.plain()
