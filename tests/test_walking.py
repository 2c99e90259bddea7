"""Walks of a tree that somebody changes meanwhile: nothing outside is read or written, nothing blocks or fills the memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pge_nb import walking, workspace
from pge_nb.errors import BadInput
from pge_nb.records import FileRef
from pge_nb.walking import MOST_DEPTH, Content, Folder, NotPlain, TooMuch, opened, parent, read, walk
from pge_nb.workspace import MAX_FILE_BYTES, MAX_FILES, Objects, place, snapshot

pytestmark = pytest.mark.skipif(not walking.HOLDS, reason="nothing is held open here")
OUTSIDE = b"of another place"


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder elsewhere with a file of the name that the walks look for."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(OUTSIDE)
    return tmp_path / "outside"


def every(folder: Path) -> dict[str, bytes]:
    with opened(folder) as root:
        return {path: content.bytes for path, content in walk(root, most=1_000, leave_out=lambda _name, _folder: False)}


@contextlib.contextmanager
def swapping(name: Path, target: Path) -> Iterator[Callable[[], int]]:
    """A thread that puts a folder and a link to another folder under one name, in turn, as fast as it can; its turns so far."""
    done, turns = threading.Event(), [0]
    real, link = name.with_name(f"{name.name}-real"), name.with_name(f"{name.name}-link")
    name.rename(real)
    link.symlink_to(target)

    def swap() -> None:
        while not done.is_set():
            for one in (real, link):
                # In the gap between the two, who is put off the walk may have made a folder of that name.
                with contextlib.suppress(OSError):
                    one.rename(name)
                    name.rename(one)
                    turns[0] += 1
                if name.is_dir() and not name.is_symlink() and real.exists():
                    shutil.rmtree(name, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield lambda: turns[0]
    finally:
        done.set()
        thread.join()
        link.unlink()
        shutil.rmtree(name, ignore_errors=True)
        real.rename(name)


def for_a_while(act: Callable[[], object], seconds: float = 0.7) -> int:
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        act()
        count += 1
    return count


def test_a_folder_that_becomes_a_link_while_it_is_walked_is_not_followed(work: Path, outside: Path) -> None:
    (work / "sub").mkdir()
    (work / "sub" / "file").write_bytes(b"of this one")
    seen: set[bytes] = set()
    with swapping(work / "sub", outside) as turns:
        for_a_while(lambda: seen.update(every(work).values()))
        assert turns() > 10
    assert seen <= {b"of this one"}


def test_a_folder_that_becomes_a_link_while_a_file_is_put_there_is_not_written_through(
    work: Path, outside: Path, objects: Objects
) -> None:
    (work / "sub").mkdir()
    files = [objects.file("sub/file", b"accepted"), objects.file("sub/other", b"accepted too")]
    refused, displaced = [], []

    def put() -> None:
        try:
            displaced.extend(place(files, work, objects, []))
        except BadInput as error:
            refused.append(error.fact)

    with swapping(work / "sub", outside) as turns:
        for_a_while(put)
        assert turns() > 10
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"file": OUTSIDE}
    assert all(objects.get(one.sha256) != OUTSIDE for one in displaced), "nor is anything of there taken over"


def test_what_is_held_open_stays_what_it_was_when_its_name_is_given_to_a_link(work: Path, outside: Path) -> None:
    """The swap between the look and the use, with no luck in it."""
    (work / "sub").mkdir()
    (work / "sub" / "file").write_bytes(b"of this one")
    with opened(work) as root, parent(root, "sub/file") as (folder, name):
        (work / "sub").rename(work / "moved")
        (work / "sub").symlink_to(outside)
        assert folder.read(name, 100) == Content(b"of this one", 0o644)
        folder.write(name, b"new", 0o600, prefix=".t-")
    assert (work / "moved" / "file").read_bytes() == b"new"
    assert (outside / "file").read_bytes() == OUTSIDE


def test_a_link_in_the_place_of_a_file_is_neither_read_nor_written_through(work: Path, outside: Path) -> None:
    (work / "file").symlink_to(outside / "file")
    (work / "none").symlink_to(outside / "none")
    with opened(work) as root:
        for name in ("file", "none"):
            with pytest.raises(NotPlain):
                root.read(name, 100)
            root.write(name, b"new", 0o644, prefix=".t-")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"file": OUTSIDE}
    assert every(work) == {"file": b"new", "none": b"new"}


def test_a_tree_of_an_evaluation_gives_no_text_of_what_a_link_leads_to(
    work: Path, outside: Path, objects: Objects
) -> None:
    tree = workspace.Tree(work, (objects.file("file", b"laid"), objects.file("sub/file", b"laid")))
    (work / "file").symlink_to(outside / "file")
    (work / "sub").symlink_to(outside)
    assert tree.text("file") is None
    assert tree.text("sub/file") is None
    assert read(outside, "file", 100) == Content(OUTSIDE, 0o644)
    assert read(outside, "file", len(OUTSIDE) - 1) is None


def test_what_is_no_plain_file_blocks_nothing_and_is_left_out(work: Path, objects: Objects) -> None:
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(work):
        listening.bind("socket")
        (work / "link").symlink_to("/dev/zero")
        (work / "endless").symlink_to("endless")
        with contextlib.suppress(PermissionError):
            os.mknod(work / "device", 0o20644, os.makedev(1, 5))
        (work / "file").write_bytes(b"x")
        started = time.monotonic()
        assert [one.path for one in snapshot(work, objects)] == ["file"]
        for name in ("pipe", "socket", "link", "endless", *(["device"] if (work / "device").exists() else [])):
            assert read(work, name, 100) is None
            with pytest.raises(BadInput, match=f"{name} in the working directory is no plain file"):
                place([objects.file(name, b"x")], work, objects, [])
        assert time.monotonic() - started < 2


def test_a_pipe_that_takes_a_files_place_after_the_look_does_not_block(work: Path) -> None:
    (work / "a").write_bytes(b"x")
    (work / "b").write_bytes(b"y")
    with opened(work) as root:
        found = walk(root, most=100, leave_out=lambda _name, _folder: False)
        assert next(found)[0] == "a"
        (work / "b").unlink()
        os.mkfifo(work / "b")
        assert list(found) == []


def held_open() -> int:
    return len(list(Path("/dev/fd").iterdir())) if Path("/dev/fd").is_dir() else 0


def sparse(path: Path, size: int) -> None:
    try:
        with path.open("wb") as file:
            file.truncate(size)
    except OSError:
        pytest.skip("no file of that size here")


def test_a_sparse_file_of_20_gigabytes_is_refused_unread(work: Path, objects: Objects) -> None:
    (work / "sub").mkdir()
    sparse(work / "sub" / "huge", 20 * 10**9)
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="stopped at 'sub/huge'"):
            snapshot(work, objects)
        with pytest.raises(BadInput, match="sub/huge in the working directory is larger than 20 MB"):
            place([objects.file("sub/huge", b"x")], work, objects, [])
        assert tracemalloc.get_traced_memory()[1] < MAX_FILE_BYTES
    finally:
        tracemalloc.stop()
    assert (work / "sub" / "huge").stat().st_size == 20 * 10**9


def test_ten_thousand_files_are_refused_before_all_are_read(work: Path, objects: Objects) -> None:
    for number in range(10_000):
        (work / f"{number:05}").touch()
    with pytest.raises(BadInput, match=rf"stopped at '{MAX_FILES:05}'") as raised:
        snapshot(work, objects)
    assert "2000 files" in str(raised.value)


def test_names_without_end_are_refused_whatever_they_name(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MOST_NAMES", 20)
    for number in range(30):
        (work / f"link-{number}").symlink_to("nowhere")
    with pytest.raises(TooMuch) as raised:
        every(work)
    assert raised.value.limit == "names"


def test_two_hundred_folders_within_each_other_are_refused_and_leave_nothing_open(work: Path, objects: Objects) -> None:
    deep = work.joinpath(*["d"] * 200)
    deep.mkdir(parents=True)
    before = held_open()
    with pytest.raises(BadInput) as raised:
        snapshot(work, objects)
    assert "at most 64 folders deep" in str(raised.value)
    assert held_open() == before
    assert every(work.joinpath(*["d"] * (200 - MOST_DEPTH))) == {}


def test_names_of_any_characters_are_kept_as_they_are(work: Path, objects: Objects) -> None:
    names = ["line\nbreak", "\ttab", " blank ", "-rf", "*", "quo'te\"", "back\\slash", "\u202eright", "..."]
    for name in names:
        (work / name).write_text(name)
    kept = snapshot(work, objects)
    assert {one.path: objects.get(one.sha256).decode() for one in kept} == {name: name for name in names}


def test_a_name_with_a_line_break_makes_no_second_line_in_a_message(work: Path, objects: Objects) -> None:
    sparse(work / "a\nUse instead: b", 10**8)
    with pytest.raises(BadInput) as raised:
        snapshot(work, objects)
    assert "\n" not in raised.value.fact


def test_what_goes_away_while_it_is_walked_is_left_out(work: Path) -> None:
    for name in ("a", "b", "c/d"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes(name.encode())
    with opened(work) as root:
        found = walk(root, most=100, leave_out=lambda _name, _folder: False)
        assert next(found)[0] == "a"
        (work / "b").unlink()
        (work / "c" / "d").unlink()
        (work / "c").rmdir()
        assert list(found) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_cannot_be_read_is_told_and_not_left_out(work: Path, objects: Objects) -> None:
    (work / "shut").mkdir(mode=0)
    with pytest.raises(BadInput, match="shut in the working directory cannot be read"):
        snapshot(work, objects)


def test_a_write_that_fails_leaves_nothing_beside_the_old_file(work: Path) -> None:
    (work / "folder").mkdir()
    with opened(work) as root:
        with pytest.raises(OSError):
            root.write("folder", b"x", 0o644, prefix=".t-")
        with pytest.raises(TypeError):
            root.write("file", "no bytes", 0o644, prefix=".t-")  # type: ignore[arg-type]
    assert [path.name for path in work.iterdir()] == ["folder"]


def test_where_nothing_can_be_held_open_names_are_looked_at_first(
    work: Path, outside: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "HOLDS", False)
    (work / "link").symlink_to(outside)
    (work / "link-to-file").symlink_to(outside / "file")
    accepted: list[FileRef] = [objects.file("sub/a.py", b"x", 0o755), objects.file("b.py", b"y")]
    assert place(accepted, work, objects, []) == ()
    assert snapshot(work, objects) == (accepted[1], accepted[0])
    with pytest.raises(BadInput, match="no plain folder"):
        place([objects.file("link/file", b"x")], work, objects, [])
    with opened(work) as root, pytest.raises(NotPlain):
        root.read("link-to-file", 100)
    assert root == Folder(work, None)
    assert (outside / "file").read_bytes() == OUTSIDE
