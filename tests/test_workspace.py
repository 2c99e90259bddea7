"""Files keep their bytes, their places and their owners: nothing leaves its tree, and nothing of a person's is lost."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb import workspace
from pge_nb.errors import BadInput, StateDamaged
from pge_nb.records import INLINE_BYTES, FileRef, attempt_hash
from pge_nb.workspace import (
    HEAD_CHARACTERS,
    MAX_DEPTH,
    EvidenceBook,
    Objects,
    clash,
    laid,
    layered,
    place,
    refused,
    snapshot,
    write_whole,
)

many = settings(deadline=None, max_examples=60)


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def everything(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


# Names


@pytest.mark.parametrize(
    "path",
    [
        "", " ", "/", "/etc/passwd", "~/x", "~root/x", "C:/x", "c:x.py", "a/b:stream", "..", "../x", "a/../b", "a/..", "./a",
        "a/./b", ".", "a//b", "a/", "a\\b", "..\\x", "a\0b", "a\nb", "a\tb", "\x7f", "a\x85b", "a\u2028b", "a\u202eb",
        "a\u2066b", "\ufeffa", "a\ud800b", " a", "a ", "a/b ", "a /b", "a./b", "a.", "con", "CON.py", "a/nul.txt", "Aux",
        "com1", "lpt9.md", "con .txt", ".git/config", ".GIT/config", "a/.pge/x", ".Pge/objects/x", "a/__pycache__/b.pyc",
        ".pge-x1", "x" * 201, "a/" + "x" * 201, "/".join("a" * (MAX_DEPTH + 1)), "/".join(["x" * 150] * 8), "\u20ac" * 70,
    ],
)  # fmt: skip
def test_a_name_that_could_do_harm_somewhere_is_refused_with_a_reason(path: str) -> None:
    assert refused(path)


@pytest.mark.parametrize(
    "path",
    [
        "a", "a.py", "src/pkg/__init__.py", "my notes.txt", "caf\u00e9.md", "\u4f60\u597d/\u4e16\u754c.txt", ".gitignore", "a..b",
        "a.b.c", "...a", "-x", "console.py", "coma.py", "x" * 200, "/".join("a" * MAX_DEPTH), "a'b\"c.txt",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.txt",
    ],
)  # fmt: skip
def test_an_ordinary_name_is_taken(path: str, tmp_path: Path) -> None:
    assert refused(path) is None
    target = tmp_path / path
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, b"x")
    assert everything(tmp_path) == {path: b"x"}


@many
@given(st.text(alphabet=st.sampled_from("ab./\\~: \0\n\u202e\ud800C"), max_size=12))
def test_a_name_that_is_taken_stays_inside_its_tree(path: str) -> None:
    if refused(path) is None:
        assert os.path.normpath(f"/tree/{path}") == f"/tree/{path}"
        path.encode()


def test_a_path_clashes_with_what_would_be_its_directory_or_lie_in_it() -> None:
    assert clash("a", ["b", "a/b"]) == "a/b"
    assert clash("a/b/c", ["a/b"]) == "a/b"
    assert clash("a/b", ["a/b", "a/bc", "ab", "a.b"]) is None


# Objects


def test_an_object_is_named_by_its_hash_and_read_back(objects: Objects) -> None:
    name = objects.put(b"\x00\xff")
    assert name == hashlib.sha256(b"\x00\xff").hexdigest()
    assert objects.put(b"\x00\xff") == name
    assert objects.get(name) == b"\x00\xff"
    assert len(everything(objects.directory)) == 1


def test_a_lost_or_changed_object_is_told(objects: Objects) -> None:
    name = objects.put(b"content")
    path = objects.directory / name[:2] / name
    path.write_bytes(b"forged!")
    with pytest.raises(StateDamaged, match="has been changed"):
        objects.get(name)
    path.unlink()
    with pytest.raises(StateDamaged, match="missing"):
        objects.get(name)


def test_an_object_that_a_crash_left_short_is_written_again(objects: Objects) -> None:
    name = objects.put(b"content")
    (objects.directory / name[:2] / name).write_bytes(b"con")
    assert objects.get(objects.put(b"content")) == b"content"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_whole(target, "no bytes")  # type: ignore[arg-type]
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_whole(tmp_path / "folder", b"new")
    assert everything(tmp_path) == {"file": b"old"}


def test_a_reader_sees_the_old_file_or_the_new_one_and_never_a_part(tmp_path: Path) -> None:
    target, contents = tmp_path / "file", [b"a" * 300_000, b"b" * 300_000]
    write_whole(target, contents[0])
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            write_whole(target, contents[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(target.read_bytes())
    writer.join()
    assert seen <= set(contents)


def test_a_body_is_whole_where_it_is_short_and_an_object_where_it_is_long(objects: Objects) -> None:
    short, long = "x" * INLINE_BYTES, "\u20ac" * INLINE_BYTES
    assert objects.body(short).sha256 is None
    body = objects.body(long)
    assert (body.text, body.size) == (long[:HEAD_CHARACTERS], 3 * INLINE_BYTES)
    assert objects.whole(body) == long
    assert objects.whole(objects.body("\ud800" * 9_000)) == "\ud800" * 9_000


# The working directory as it is found


def test_a_snapshot_holds_every_plain_file_with_its_mode_and_no_link_or_tool_directory(
    tmp_path: Path, objects: Objects
) -> None:
    work = tmp_path / "work"
    for path in ("a.py", "sub/b.txt", ".git/config", "sub/__pycache__/c.pyc", ".hidden", ".pge-half"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(path)
    (work / "a.py").chmod(0o755)
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "folder-link").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    files = snapshot(work, objects)
    assert [file.path for file in files] == [".hidden", "a.py", "sub/b.txt"]
    assert files[1].mode == 0o755
    assert objects.get(files[2].sha256) == b"sub/b.txt"
    assert files[2].size == 9


def test_a_directory_that_is_not_there_is_an_empty_one(tmp_path: Path, objects: Objects) -> None:
    assert snapshot(tmp_path / "none", objects) == ()


def test_a_working_directory_above_the_caps_is_refused_with_the_file_where_it_stopped(
    tmp_path: Path, objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in "abc":
        (work / name).write_bytes(b"x" * 10)
    assert len(snapshot(work, objects)) == 3
    for cap, value in (("MAX_FILES", 2), ("MAX_TREE_BYTES", 29), ("MAX_FILE_BYTES", 9)):
        with monkeypatch.context() as patched:
            patched.setattr(workspace, cap, value)
            with pytest.raises(BadInput, match="stopped at"):
                snapshot(work, objects)


def test_a_file_name_that_is_no_text_is_told_and_not_lost(tmp_path: Path, objects: Objects) -> None:
    work = tmp_path / "work"
    work.mkdir()
    try:
        (work / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(BadInput, match="not Unicode text"):
        snapshot(work, objects)


# Trees


def ref(objects: Objects, path: str, text: str = "", mode: int = 0o644) -> FileRef:
    return objects.file(path, (text or path).encode(), mode)


def test_a_later_layer_stands_for_an_earlier_one(objects: Objects) -> None:
    first, second = [ref(objects, "a", "1"), ref(objects, "b", "1")], [ref(objects, "b", "2")]
    assert [(f.path, objects.get(f.sha256)) for f in layered(first, second)] == [("a", b"1"), ("b", b"2")]
    assert layered() == ()
    assert layered([], first, []) == layered(first)


def test_a_file_takes_the_place_of_a_directory_between_layers_and_the_other_way_round(objects: Objects) -> None:
    nested, plain = [ref(objects, "a/b/c"), ref(objects, "a/d"), ref(objects, "ab")], [ref(objects, "a/b")]
    for layers, wanted in (
        ((nested, plain), ["a/b", "a/d", "ab"]),
        ((plain, nested), ["a/b/c", "a/d", "ab"]),
        ((nested, [ref(objects, "a")]), ["a", "ab"]),
        (([ref(objects, "a")], nested, plain), ["a/b", "a/d", "ab"]),
        (([ref(objects, "a"), ref(objects, "a/b")],), ["a/b"]),
    ):
        files = layered(*layers)
        assert [file.path for file in files] == wanted
        with laid(files, objects) as tree:
            assert sorted(everything(tree.root)) == wanted


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map("/".join)


@many
@given(st.lists(st.lists(PATHS, max_size=5, unique=True), max_size=4))
def test_layers_can_always_be_laid_and_the_last_one_stands_whole(layers: list[list[str]]) -> None:
    refs = [
        [FileRef(path=path, mode=0o644, sha256=f"{number}", size=1) for path in layer]
        for number, layer in enumerate(layers)
    ]
    files = layered(*refs)
    paths = [file.path for file in files]
    assert not any(clash(path, paths) for path in paths)
    assert len(set(paths)) == len(paths)
    if layers and not any(clash(path, layers[-1]) for path in layers[-1]):
        assert set(refs[-1]) <= set(files)


def test_layers_of_many_files_take_no_time(objects: Objects) -> None:
    base = [FileRef(path=f"d{n % 40}/f{n}", mode=0o644, sha256="0", size=1) for n in range(20_000)]
    assert len(layered(base, base[:100])) == 20_000


def test_a_tree_is_a_throwaway_copy(objects: Objects) -> None:
    files = (ref(objects, "a.py", "x = 1"), ref(objects, "run.sh", mode=0o755), ref(objects, "sealed", mode=0))
    with laid(files, objects) as tree:
        (tree.root / "a.py").write_text("changed")
        assert os.access(tree.root / "run.sh", os.X_OK)
        assert (tree.root / "sealed").read_text() == "sealed"
        root = tree.root
    assert not root.exists()
    with laid(files, objects) as tree:
        assert tree.text("a.py") == "x = 1"
        assert tree.text("b.py") is None
        assert tree.text("../a.py") is None


@pytest.mark.parametrize("path", ["../x", "/tmp/x", "a/../../x", "", ".."])
def test_a_state_file_that_names_a_path_outside_writes_nothing(path: str, tmp_path: Path, objects: Objects) -> None:
    hostile = (ref(objects, path, "x"),)
    with pytest.raises(StateDamaged, match="lies in no tree"), laid(hostile, objects):
        pass
    with pytest.raises(StateDamaged, match="lies in no tree"):
        place(hostile, tmp_path / "deep" / "work", objects, [])
    assert set(everything(tmp_path)) == {f"home/{p}" for p in everything(tmp_path / "home")}


# Acceptance


def test_accepted_files_are_put_in_place_with_their_mode(tmp_path: Path, objects: Objects) -> None:
    work = tmp_path / "work"
    files = (ref(objects, "a.py", "new"), ref(objects, "sub/deep/run.sh", "run", 0o755))
    assert place(files, work, objects, []) == ()
    assert everything(work) == {"a.py": b"new", "sub/deep/run.sh": b"run"}
    assert (work / "sub/deep/run.sh").stat().st_mode & 0o777 == 0o755
    assert place(files, work, objects, []) == ()


def test_what_a_person_had_there_is_kept_as_an_object_and_told(tmp_path: Path, objects: Objects) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.py").write_text("my own work")
    (work / "known.py").write_text("an earlier attempt")
    (work / "other.txt").write_text("not touched")
    known = hashlib.sha256(b"an earlier attempt").hexdigest()
    displaced = place((ref(objects, "known.py", "x"), ref(objects, "mine.py", "y")), work, objects, [known])
    assert [file.path for file in displaced] == ["mine.py"]
    assert objects.get(displaced[0].sha256) == b"my own work"
    assert everything(work) == {"mine.py": b"y", "known.py": b"x", "other.txt": b"not touched"}


def test_a_working_directory_that_is_a_link_is_neither_read_nor_written(tmp_path: Path, objects: Objects) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.txt").write_text("theirs")
    for name, target in (("work", outside), ("dangling", tmp_path / "none")):
        work = tmp_path / name
        work.symlink_to(target)
        with pytest.raises(BadInput, match="symbolic link"):
            snapshot(work, objects)
        with pytest.raises(BadInput, match="symbolic link"):
            place((ref(objects, "a.py", "new"),), work, objects, [])
    assert [path.name for path in outside.iterdir()] == ["theirs.txt"]
    assert not (tmp_path / "none").exists()


def test_a_link_above_the_working_directory_is_none_of_its(tmp_path: Path, objects: Objects) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home-link").symlink_to(tmp_path / "real")
    place((ref(objects, "a.py", "new"),), tmp_path / "home-link" / "work", objects, [])
    assert [file.path for file in snapshot(tmp_path / "home-link" / "work", objects)] == ["a.py"]


def test_nothing_is_written_through_a_link(tmp_path: Path, objects: Objects) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("kept")
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").symlink_to(outside / "a.py")
    (work / "sub").symlink_to(outside)
    (work / "dangling").symlink_to(outside / "none")
    for path in ("a.py", "sub/a.py", "sub/new/b.py", "dangling"):
        with pytest.raises(BadInput) as told:
            place((ref(objects, path, "new"),), work, objects, [])
        assert "no plain" in told.value.fact
        assert "Move it away" in told.value.next_move
    assert everything(outside) == {"a.py": b"kept"}


def test_what_is_no_plain_file_or_folder_is_told_and_stays(tmp_path: Path, objects: Objects) -> None:
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    (work / "folder" / "mine").write_text("mine")
    (work / "file").write_text("mine")
    os.mkfifo(work / "pipe")
    for path in ("folder", "file/inside.py", "pipe"):
        with pytest.raises(BadInput, match="no plain"):
            place((ref(objects, path, "new"),), work, objects, [])
    assert everything(work) == {"folder/mine": b"mine", "file": b"mine"}


def test_a_working_directory_that_is_a_file_is_told(tmp_path: Path, objects: Objects) -> None:
    (tmp_path / "work").write_text("mine")
    with pytest.raises(BadInput, match="cannot be written into work/"):
        place((ref(objects, "a", "new"),), tmp_path / "work", objects, [])
    assert (tmp_path / "work").read_text() == "mine"


# Evidence


def test_evidence_has_ids_in_the_order_in_which_it_was_issued(objects: Objects) -> None:
    book = EvidenceBook(objects)
    long = "y" * 10_000
    first = book.issue(method="file", on="c1", says="opened", text="x")
    book.issue(method="command", on="c2", says="ran", text=long, strength="weak", replayed=True)
    assert [evidence.id for evidence in book.issued] == ["e1", "e2"]
    assert first.body.text == "x"
    assert book.texts == {"e1": "x", "e2": long}
    book.texts["e3"] = "forged"
    assert list(book.texts) == ["e1", "e2"]


def test_the_hash_of_an_attempt_is_that_of_its_sorted_files(objects: Objects) -> None:
    one, two = ref(objects, "a"), ref(objects, "b")
    assert attempt_hash((one, two)) == attempt_hash((two, one))
    assert len({attempt_hash(f) for f in ((one,), (two,), (one, two), (), (ref(objects, "a", mode=0o755),))}) == 5
