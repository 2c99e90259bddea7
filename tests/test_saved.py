"""*Save my work*: everything of a notebook in one zip, laid out whole in another directory, where it all goes on for nothing."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from notebook_shell import Shell
from test_bundle import a_zip

from pge_nb import moving
from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, StateDamaged
from pge_nb.exports import archive, saved
from pge_nb.exports.archive import look
from pge_nb.exports.saved import lay_out, save
from pge_nb.harness import PGEHarness
from pge_nb.notebook import Place, runs
from pge_nb.records import Note, Record, Task
from pge_nb.redaction import Redactor
from pge_nb.state import FILE_NAME, StateFile, open_run
from pge_nb.workspace import Objects

KEY = "sk-ant-api03-0123456789abcdef"
TEXTKIT, STATS = ("%pge run --practice textkit --seed 1", "%pge run --practice stats --seed 2")
MINE = STATS.replace("run", "run mine")


def carried_out(directory: Path, name: str, task: str, seed: int) -> None:
    state = directory / name / FILE_NAME
    state.parent.mkdir(exist_ok=True)
    PGEHarness(HarnessConfig(model=f"practice:seed={seed}", shared_state_path=state)).run(practice_task(task).prompt)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook's directory: an unnamed run and the one that made room for it, a named run, the notebook, a study."""
    place = tmp_path_factory.mktemp("notebook")
    carried_out(place, "", "stats", 2)
    Place(state=place / FILE_NAME).move_away()
    carried_out(place, "", "textkit", 1)
    carried_out(place, "mine", "stats", 2)
    (place / "lesson.ipynb").write_text("{}", encoding="ascii")
    study = StateFile(place / "study.md")
    study.append(Record(payload=Note(text="a label"), by="person"))
    return place


@pytest.fixture
def there(notebook: Path, tmp_path: Path) -> Path:
    """A copy of it in the directory of the shell."""
    shutil.copytree(notebook, tmp_path, dirs_exist_ok=True)
    return tmp_path


def content(place: Path) -> dict[str, bytes]:
    """All that tells something, file by file."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and path.name not in moving.TRACES
        and not path.name.endswith((".lock", ".zip"))
        and not path.relative_to(place).parts[0].startswith(".pge-")
    }


def all_saved(place: Path, to: str = "all.zip", redactor: Redactor | None = None) -> saved.Saved:
    return save(place, [one.state for one in runs(place)], place / to, redactor=redactor)


# Saved


def test_everything_of_the_notebook_is_in_the_zip_and_nothing_else(shell: Shell, there: Path) -> None:
    (there / "other.txt").write_text("not the run's", encoding="ascii")
    (there / ".pge" / "run.pid").write_text("1", encoding="ascii")
    (there / "work" / ".pge-half").write_text("half", encoding="ascii")
    (there / "work" / "own.txt").write_text("a file of mine", encoding="ascii")
    before = content(there)
    view = shell.cell("%pge save").view
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    with zipfile.ZipFile(there / f"textkit-{day}.zip") as packed:
        inside = {name: packed.read(name) for name in packed.namelist()}
    del before["other.txt"], before["work/.pge-half"]
    assert {name: text for name, text in inside.items() if name not in {"pge.json", "README.txt"}} == before
    assert f'<a href="./textkit-{day}.zip">' in view.html()
    assert view.next == f"%pge open textkit-{day}.zip"
    assert "3 runs" in view.title
    assert view.df is not None
    assert view.df["bytes"][0] == (there / f"textkit-{day}.zip").stat().st_size


def test_saved_again_it_is_another_zip_that_does_not_hold_the_first(shell: Shell, there: Path) -> None:
    shell.cell("%pge save")
    view = shell.cell("%pge save").view
    first, second = sorted(there.glob("*.zip"), key=lambda path: len(path.name))
    assert second.name == f"{first.stem}-2.zip"
    assert view.next == f"%pge open {second.name}"
    assert sorted(zipfile.ZipFile(first).namelist()) == sorted(zipfile.ZipFile(second).namelist())


def test_another_place_may_be_given_and_nothing_there_is_overwritten(shell: Shell, there: Path) -> None:
    (there / "out").mkdir()
    assert shell.cell("%pge save --to out").error is None
    [in_directory] = (there / "out").iterdir()
    view = shell.cell("%pge save --to 'out/my work'").view
    assert (there / "out" / "my work.zip").is_file()
    assert view.next == f'%pge open "{there}/out/my work.zip"'
    told = shell.cell("%pge save --to 'out/my work.zip'")
    assert "is there already.\n" in told.text
    assert "There is no directory" in shell.cell("%pge save --to nowhere/x.zip").text
    assert sorted((there / "out").iterdir()) == sorted([in_directory, there / "out" / "my work.zip"])


def test_where_nothing_was_begun_there_is_nothing_to_save(shell: Shell, tmp_path: Path) -> None:
    assert "No run is in" in shell.cell("%pge save").text
    assert list(tmp_path.iterdir()) == []


def test_a_run_in_progress_is_saved_up_to_its_last_whole_section(
    there: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state, done = StateFile(there / FILE_NAME), threading.Event()
    objects = Objects(there)

    def write_on() -> None:
        number = 0
        while not done.is_set():
            name = objects.put(f"text {number}".encode())
            state.append(Record(payload=Note(text=f"kept as the object {name}"), by="harness"))
            number += 1

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        for number in range(5):
            all_saved(there, f"{number}.zip")
    finally:
        done.set()
        writer.join()
    for number in range(5):
        place = tmp_path_factory.mktemp("opened")
        lay_out(look(there / f"{number}.zip"), place)
        assert StateFile(place / FILE_NAME).verify().intact
        kept = Objects(place)
        for section in open_run(place).of("note"):
            assert isinstance(section.payload, Note)
            kept.get(section.payload.text[-64:])


def test_a_torn_state_file_and_log_are_saved_up_to_what_is_whole(
    there: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = content(there)
    (there / FILE_NAME).write_bytes(whole[FILE_NAME] + b"<!-- pge/1 seq=%d len=7" % len(open_run(there).sections))
    (there / ".pge" / "calls.jsonl").write_bytes(whole[".pge/calls.jsonl"] + b'{"line":"settl')
    all_saved(there)
    place = tmp_path_factory.mktemp("opened")
    lay_out(look(there / "all.zip"), place)
    assert content(place) == whole


def test_a_damaged_run_is_saved_as_it_is_and_still_told_to_be_damaged(
    there: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    state = there / "mine" / FILE_NAME
    state.write_bytes(state.read_bytes().replace(b'"verdict":"fail"', b'"verdict":"pass"', 1))
    short = there / FILE_NAME
    short.write_bytes(short.read_bytes()[: short.read_bytes().rindex(b"<!-- pge/1 ")])
    (there / "earlier" / "1" / ".pge" / "head").unlink()
    all_saved(there)
    place = tmp_path_factory.mktemp("opened")
    lay_out(look(there / "all.zip"), place)
    assert (place / "mine" / FILE_NAME).read_bytes() == state.read_bytes()
    assert not StateFile(place / "mine" / FILE_NAME).verify().intact
    assert StateFile(place / "earlier" / "1" / FILE_NAME).verify().intact


def test_links_and_what_no_other_system_takes_are_left_out_and_told(shell: Shell, there: Path) -> None:
    work = there / "work"
    (there / "secret").write_text("secret", encoding="ascii")
    (work / "link").symlink_to(there / "secret")
    (work / "folder").symlink_to(there)
    (work / "aux.txt").write_text("x", encoding="ascii")
    os.mkfifo(work / "pipe")
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("x", encoding="ascii")
    text = shell.cell("%pge save --to x.zip").view.plain()
    for name in ("link", "folder", "aux.txt", "pipe"):
        assert f"work/{name} is not in it: " in text
    inside = zipfile.ZipFile(there / "x.zip").namelist()
    assert not [name for name in inside if ".git" in name or "secret" in name or "link" in name or "aux" in name]


def test_no_key_leaves_the_machine(
    shell: Shell, there: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (there / "lesson.ipynb").write_text(f'{{"key": "{KEY}"}}', encoding="ascii")
    (there / "work" / "blob.bin").write_bytes(b"\xff" + KEY.encode() + b"\xfe")
    kept = Objects(there).put(f"key={KEY}".encode())
    log = there / ".pge" / "calls.jsonl"
    log.write_bytes(log.read_bytes().replace(b"textkit.py", KEY.encode(), 1))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    text = shell.cell("%pge save --to x.zip").view.plain()
    with zipfile.ZipFile(there / "x.zip") as packed:
        assert not [name for name in packed.namelist() if KEY.encode() in packed.read(name)]
        assert packed.read("work/blob.bin") == b"\xff[redacted]\xfe"
        assert not [name for name in packed.namelist() if kept in name]
    for name in ("lesson.ipynb", "work/blob.bin", ".pge/calls.jsonl"):
        assert f"A key that stood in {name} is not in the zip." in text
    assert f".pge/objects/{kept[:2]}/{kept} is not in it: it holds a key" in text
    assert (there / "lesson.ipynb").read_text() == f'{{"key": "{KEY}"}}', "what is here stays as it is"


def test_a_key_in_a_state_file_is_refused_since_it_could_not_be_taken_out(there: Path) -> None:
    StateFile(there / "mine" / FILE_NAME).append(Record(payload=Note(text=KEY), by="person"))
    with pytest.raises(BadInput, match=r"mine/shared_state\.md holds a key of this environment"):
        all_saved(there, redactor=Redactor({"MY_API_KEY": KEY}))
    assert list(there.glob("*.zip")) == list(there.glob(".pge-*")) == []


def test_a_disk_that_is_full_leaves_nothing(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from pge_nb.exports.saved import save; from pge_nb.notebook import runs\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); place = Path(sys.argv[1])\n"
        "save(place, [one.state for one in runs(place)], place / 'all.zip')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, there],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BadInput" in done.stderr
    assert "could not be saved: File too large" in done.stderr
    assert list(there.glob("*.zip")) == list(there.glob(".pge-*")) == []


def test_more_than_can_be_opened_again_is_not_saved(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 10)
    with pytest.raises(BadInput, match="more than one zip takes"):
        all_saved(there)
    assert list(there.glob("*.zip")) == list(there.glob(".pge-*")) == []


# Opened


def test_in_a_new_directory_everything_goes_on_and_nobody_is_asked(
    shell: Shell, there: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, told = content(there), shell.cell("%pge runs").view.plain().split("\n", 1)[1]
    shell.cell("%pge save --to work.zip")
    place = tmp_path_factory.mktemp("binder")
    shutil.copy(there / "work.zip", place)
    monkeypatch.chdir(place)
    other = Shell()
    view = other.cell("%pge open work.zip").view
    assert view.title == "Opened work.zip"
    assert view.next == "%pge"
    assert content(place) == before
    assert other.cell("%pge runs").view.plain().split("\n", 1)[1] == told
    for line in ("%pge", TEXTKIT, "%pge resume", MINE, "%pge mine", "%pge resume", "%pge verify", "%pge open @1"):
        done = other.cell(line)
        assert done.view.mark in {"passed", "intact"}, line
    assert "nobody was asked, nothing was paid" in other.cell(TEXTKIT).view.plain()
    assert content(place) == before
    other.close()


def test_run_all_in_a_kernel_after_opening_draws_the_same_for_nothing(
    there: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    all_saved(there)
    place = tmp_path_factory.mktemp("binder")
    shutil.copy(there / "all.zip", place)
    cells = ["%load_ext pge_nb", "%pge open all.zip", TEXTKIT, MINE]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(place)}}).execute()
    for cell in notebook.cells[2:]:
        text = cell.outputs[-1]["data"]["text/plain"]
        assert "[passed]" in text
        assert "nobody was asked" in text


def test_a_run_that_was_stopped_goes_on_elsewhere_to_the_same_end(
    shell: Shell, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.cell(f"{TEXTKIT} --max-tokens-total 20000;")
    logged = len(content(tmp_path)[".pge/calls.jsonl"].splitlines())
    shell.cell("%pge save --to x.zip")
    place = tmp_path_factory.mktemp("binder")
    shutil.copy(tmp_path / "x.zip", place)
    monkeypatch.chdir(place)
    other = Shell()
    other.cell("%pge open x.zip")
    assert other.cell("%pge resume --max-tokens-total 9000000").view.mark == "passed"
    log = content(place)[".pge/calls.jsonl"].splitlines()
    assert log[:logged] == content(tmp_path)[".pge/calls.jsonl"].splitlines()
    assert len(log) > logged
    other.close()


def test_opened_again_the_same_is_fine(shell: Shell, there: Path) -> None:
    shell.cell("%pge save --to x.zip")
    before = content(there)
    view = shell.cell("%pge open x.zip").view
    assert f"0 files were laid out; {len(before)} files were here already." in view.plain()
    assert content(there) == before


def test_only_what_is_missing_is_laid_out(there: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    all_saved(there)
    whole = content(there)
    shutil.rmtree(there / "mine")
    shutil.rmtree(there / "earlier" / "1" / "work")
    (there / ".pge" / "calls.jsonl").unlink()
    laid = lay_out(look(there / "all.zip"), there)
    assert content(there) == whole
    assert laid.same == len(whole) - len(laid.new)
    assert set(laid.new) == {
        name for name in whole if name.startswith(("mine/", "earlier/1/work/")) or name == ".pge/calls.jsonl"
    }


@pytest.mark.parametrize(
    "name", [FILE_NAME, "mine/work/statkit.py", ".pge/calls.jsonl", "study.md", "earlier/1/shared_state.md"]
)
def test_what_is_there_and_differs_refuses_the_whole_by_its_name(there: Path, name: str) -> None:
    all_saved(there)
    name = name if (there / name).exists() else next(n for n in content(there) if n.startswith("mine/work/"))
    shutil.rmtree(there / ".pge" / "objects")
    (there / name).write_bytes(b"mine, and other")
    before = content(there)
    with pytest.raises(BadInput, match=rf"^\('?{name} is here already, and is not what all.zip holds|{name} is here"):
        lay_out(look(there / "all.zip"), there)
    assert content(there) == before
    assert not list(there.glob(".pge-*"))


@pytest.mark.parametrize("way", ["link", "file", "dangling", "folder"])
def test_nothing_is_laid_out_through_what_stands_in_the_way(
    there: Path, tmp_path_factory: pytest.TempPathFactory, way: str
) -> None:
    all_saved(there)
    outside, place = tmp_path_factory.mktemp("outside"), tmp_path_factory.mktemp("place")
    if way == "link":
        (place / "mine").symlink_to(outside)
    elif way == "dangling":
        (place / FILE_NAME).symlink_to(outside / "new")
    elif way == "file":
        (place / "work").write_text("x", encoding="ascii")
    else:
        (place / FILE_NAME).mkdir()
    with pytest.raises(BadInput, match="is here already"):
        lay_out(look(there / "all.zip"), place)
    assert list(outside.iterdir()) == []
    assert len(list(place.iterdir())) == 1


def test_another_notebook_of_the_same_name_stays_and_the_saved_one_stands_beside_it(shell: Shell, there: Path) -> None:
    shell.cell("%pge save --to x.zip")
    for number, other in (("", "{1}"), ("-2", "{2}")):
        (there / "lesson.ipynb").write_text(other, encoding="ascii")
        text = shell.cell("%pge open x.zip").view.plain()
        assert f"Another lesson.ipynb is here; the saved one is lesson-saved{number}.ipynb." in text
        assert (there / "lesson.ipynb").read_text() == other
        assert (there / f"lesson-saved{number}.ipynb").read_text() == "{}"
        (there / f"lesson-saved{number}.ipynb").write_text("changed since", encoding="ascii")


def test_permissions_stay(there: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = there / "work" / "run.sh"
    script.write_text("#!/bin/sh\n", encoding="ascii")
    script.chmod(0o750)
    given = there / "work" / "inputs" / "sales.csv"
    given.parent.mkdir()
    given.write_text("a\n1\n", encoding="ascii")
    given.chmod(0o444)
    all_saved(there)
    place = tmp_path_factory.mktemp("place")
    lay_out(look(there / "all.zip"), place)
    assert stat.S_IMODE((place / "work" / "run.sh").stat().st_mode) == 0o750
    assert stat.S_IMODE((place / "work" / "inputs" / "sales.csv").stat().st_mode) == 0o444
    assert stat.S_IMODE((place / ".pge" / "calls.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "entry",
    ["evil.py", "sitecustomize.py", "numpy/__init__.py", "json/__init__.pyc", "a.pth", "mine.zip", "../x.ipynb"],
)
def test_a_zip_can_plant_no_module_and_nothing_that_belongs_to_no_run(shell: Shell, tmp_path: Path, entry: str) -> None:
    a_zip(tmp_path / "x.zip", (FILE_NAME, b"x"), (entry, b"evil"), manifest={"format": "pge-saved/1"})
    done = shell.cell("%pge open x.zip")
    assert isinstance(done.error, BadInput)
    assert len(done.text.strip().split("\n")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def written_into(place: Path, working_directory: str) -> bytes:
    """The state file of a run that has its files there."""
    state = StateFile(place / "made.md")
    settings = {"working_directory": working_directory}
    state.append(Record(payload=Task(prompt="p", run="0" * 16, settings=settings), by="person"))
    content = state.path.read_bytes()
    state.path.unlink()
    shutil.rmtree(place / ".pge")
    return content


@pytest.mark.parametrize("work", ["../out", "/tmp/out", "a/../../b", ".pge/x", "earlier/1", "numpy", "json"])
@pytest.mark.parametrize("name", ["", "mine/"])
def test_a_run_that_would_write_outside_of_its_place_is_not_laid_out(
    shell: Shell, tmp_path: Path, work: str, name: str
) -> None:
    state = written_into(tmp_path, work)
    a_zip(tmp_path / "x.zip", (f"{name}{FILE_NAME}", state), manifest={"format": "pge-saved/1"})
    done = shell.cell("%pge open x.zip")
    if name and work in {"numpy", "json"}:
        assert done.error is None, "nothing is imported from there"
        return
    assert "which is no place for its files" in done.text
    assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]
    if work not in {"numpy", "json"}:
        a_zip(tmp_path / "x.zip", (FILE_NAME, state))
        assert "outside of its place" in shell.cell("%pge open x.zip").text
        assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def test_a_run_whose_files_stand_outside_of_its_place_is_not_saved_and_that_is_told(shell: Shell, there: Path) -> None:
    (there / "far").mkdir()
    carried_out(there, "far", "stats", 3)
    state = there / "far" / FILE_NAME
    state.unlink()
    shutil.rmtree(state.parent / ".pge")
    state.write_bytes(written_into(there / "work", "../out"))
    text = shell.cell("%pge save --to x.zip").view.plain()
    assert f"far/{FILE_NAME} is not in it: its files are in ../out, outside of its place." in text
    assert not [name for name in zipfile.ZipFile(there / "x.zip").namelist() if name.startswith("far/")]


def test_a_note_of_a_move_comes_out_of_no_zip_and_leads_nowhere_else(shell: Shell, there: Path) -> None:
    note = json.dumps([["/etc/hostname", "work/x"]]).encode()
    for entry in ("earlier/moving.json", "mine/earlier/moving.json", "work/earlier/moving.json"):
        a_zip(there / "x.zip", (entry, note), manifest={"format": "pge-saved/1"})
        assert "belongs to no run" in shell.cell("%pge open x.zip").text
    # An agent's file is no note of ours either.
    (there / "work" / "earlier" / "1").mkdir(parents=True)
    (there / "work" / "earlier" / "1" / FILE_NAME).write_bytes((there / FILE_NAME).read_bytes())
    (there / "work" / "earlier" / "moving.json").write_bytes(note)
    assert "work" not in set(shell.cell("%pge runs").view.df["name"])  # type: ignore[index]
    (there / "earlier" / "moving.json").write_bytes(b'[["../secret", "work/x"]]')
    assert "which is outside of" in shell.cell("%pge").text
    assert (there / "work" / "earlier" / "moving.json").read_bytes() == note


@pytest.mark.parametrize(
    "note", [b"", b"{", b"{}", b"3", b'"ab"', b'[["a"]]', b'[["a", 3]]', b'["ab"]', b"[" * 10**6, b"\xff", b"null"]
)
def test_a_note_of_a_move_that_cannot_be_read_is_told_in_two_lines(shell: Shell, there: Path, note: bytes) -> None:
    (there / "earlier").mkdir(exist_ok=True)
    (there / "earlier" / "moving.json").write_bytes(note)
    ran = shell.cell("%pge")
    assert isinstance(ran.error, StateDamaged)
    assert "does not tell what is being moved" in ran.text
    (there / "earlier" / "moving.json").unlink()
    assert shell.cell("%pge").error is None


def test_a_package_of_the_runs_own_is_no_such_thing(there: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (there / "work" / "__init__.py").write_text("", encoding="ascii")
    all_saved(there)
    place = tmp_path_factory.mktemp("place")
    lay_out(look(there / "all.zip"), place)
    assert (place / "work" / "__init__.py").is_file()


# Files that are named


def test_a_state_file_is_shown_wherever_it_stands_and_nothing_there_changes(
    shell: Shell, there: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("else where")
    shutil.copytree(there / "mine", place / "run")
    before = content(place)
    for path in (place / "run", place / "run" / FILE_NAME):
        view = shell.cell(f"%pge open '{path}'").view
        assert view.mark == "passed"
        assert view.title == f"{place / 'run' / FILE_NAME}: Centre, spread and outliers"
        assert shell.cell(view.next).view.mark == "intact"
    assert content(place) == before
    assert shell.cell("%pge").view.title == "Text kit for a blog's newsletter", "commands are about the same task"


def test_a_path_to_a_run_of_this_notebook_is_that_run(shell: Shell, there: Path) -> None:
    runs_of = {"": (FILE_NAME, "./"), "mine": ("mine/shared_state.md", "mine/", "mine"), "@1": ("earlier/1", "@1")}
    for address, texts in runs_of.items():
        for text in texts:
            view = shell.cell(f"%pge open {text}").view
            assert view.next == f"%pge show trajectory {address}".rstrip()
            assert shell.cell(view.next).error is None
    for path in ("mine/shared_state.md", "mine/", "mine"):
        assert shell.cell(f"%pge verify {path}").view.next == "%pge mine"
    assert shell.cell(f"%pge verify {FILE_NAME}").view.next == "%pge"
    assert shell.cell("%pge verify earlier/1").view.next == "%pge open @1"
    assert shell.cell("%pge verify @1").view.next == "%pge open @1"
    assert shell.cell("%pge show plan").view.title.startswith("Text kit")


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("%pge open works.zip", "work.zip"),
        ("%pge open exports/kit.zip", "exports/kit2.zip"),
        ("%pge open mine/shared_stat.md", "mine/shared_state.md"),
        ("%pge verify mine/shared-state.md", "mine/shared_state.md"),
        ("%pge open mien", "mine"),
        ("%pge verify mien@1", "mine"),
    ],
)
def test_a_file_that_is_not_there_names_the_nearest(shell: Shell, there: Path, line: str, near: str) -> None:
    (there / "exports").mkdir()
    for name in ("work.zip", "exports/kit2.zip"):
        (there / name).write_bytes(b"")
    done = shell.cell(line)
    assert isinstance(done.error, BadInput)
    assert done.text.endswith(f"The nearest is {near}.\n")


@pytest.mark.parametrize("name", ["mine", "@1", "copy/shared_state.md", ""])
def test_what_is_said_of_a_damaged_file_names_a_line_that_works(shell: Shell, there: Path, name: str) -> None:
    shutil.copytree(there / "mine", there / "copy" / "in", dirs_exist_ok=True)
    shutil.move(there / "copy" / "in", there / "copy2")
    shutil.rmtree(there / "copy")
    shutil.move(there / "copy2", there / "copy")
    state = {"mine": there / "mine", "@1": there / "earlier" / "1", "": there}.get(name, there / "copy") / FILE_NAME
    state.write_bytes(state.read_bytes().replace(b'"verdict":"fail"', b'"verdict":"pass"', 1))
    view = shell.cell(f"%pge verify {name}").view
    assert view.mark == "broken"
    assert f"Put back a copy of {state}" in view.plain()
    done = shell.cell(view.next)
    assert done.error is None, view.next
    if name in {"mine", ""}:
        assert view.next == f"%pge new {name}".rstrip()
        assert "Ready for a new task" in done.view.title
    else:
        assert view.next in {"%pge runs", "%pge new copy"}


def test_a_damaged_run_names_itself_in_the_error(shell: Shell, there: Path) -> None:
    for state in (there / "mine" / FILE_NAME, there / "earlier" / "1" / FILE_NAME):
        state.write_bytes(state.read_bytes().replace(b'"verdict":"fail"', b'"verdict":"pass"', 1))
    assert "begin again with %pge new mine." in shell.cell("%pge open mine").text
    assert "Put back a copy of it; %pge verify @1 tells what is whole." in shell.cell("%pge open @1").text


def test_an_older_copy_that_was_put_back_names_the_note_to_delete(shell: Shell, there: Path) -> None:
    state = there / "mine" / FILE_NAME
    state.write_bytes(state.read_bytes()[: state.read_bytes().rindex(b"<!-- pge/1 ")])
    note = there / "mine" / ".pge" / "head"
    assert f"delete {note}" in shell.cell("%pge verify mine").view.plain()
    assert f"delete {note}" in shell.cell("%pge mine").text
    note.unlink()
    assert shell.cell("%pge verify mine").view.mark == "intact"


def test_a_zip_is_opened_before_it_is_verified(shell: Shell, there: Path) -> None:
    shell.cell("%pge save --to 'x y.zip'")
    told = shell.cell("%pge verify 'x y.zip'").text
    assert 'x y.zip is a zip.\n%pge open "x y.zip" lays it out' in told


# Killed in the middle

KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from pge_nb import moving
from pge_nb.exports import archive, saved
from pge_nb.notebook import Place, runs
from pge_nb.state import FILE_NAME
sys.path.insert(0, sys.argv[4])

made, base, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def tree(place):
    return {
        str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*")
        if path.is_file() and not path.name.endswith(".lock") and path.name != "all.zip"
        and not any(part.startswith(".pge-") for part in path.relative_to(place).parts)
    }

def die_after(count):
    left = count
    for name in ("open", "rename", "replace", "unlink", "mkdir", "rmdir"):
        def one(*args, real=getattr(Path, name), **kwargs):
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return real(*args, **kwargs)
        setattr(Path, name, one)

def child(count, work):
    pid = os.fork()
    if pid == 0:
        die_after(count)
        work()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL, status
    return status != 0

whole = tree(made)
states = lambda place: [one.state for one in runs(place)]
for count in range(3_000):
    place = base / str(count)
    if what == "save":
        shutil.copytree(made, place)
        was_killed = child(count, lambda: saved.save(place, states(place), place / "new.zip"))
        if (place / "new.zip").exists():
            assert {info.filename for info in archive.look(place / "new.zip").files} == set(whole)
        elif not was_killed:
            sys.exit("not saved")
        assert {name: text for name, text in tree(place).items() if name != "new.zip"} == whole
    else:
        place.mkdir()
        lay = lambda: saved.lay_out(archive.look(made / "all.zip"), place)
        was_killed = child(count, lay)
        Place(state=place / FILE_NAME).run()  # as %pge does, or any other command
        assert tree(place) in ({}, whole), sorted(tree(place))
        assert tree(place) or was_killed
        lay()
        assert tree(place) == whole
    shutil.rmtree(place)
    if not was_killed:
        print(count)
        sys.exit()
sys.exit("it never ended")
"""


def small(place: Path) -> Path:
    """A notebook of two runs with few files, since it is laid out and saved a great many times."""
    for name, task in (("", "one"), ("mine", "two")):
        state = place / name / FILE_NAME
        (state.parent / "work" / "deep").mkdir(parents=True)
        (state.parent / "work" / "deep" / "a.txt").write_text(task, encoding="ascii")
        kept = Objects(state.parent).put(task.encode())
        StateFile(state).append(Record(payload=Note(text=kept), by="person"))
    all_saved(place)
    return place


def kills(tmp_path: Path, what: str) -> int:
    base = tmp_path / "base"
    base.mkdir()
    made = tmp_path / "made"
    made.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, small(made), base, what, Path(__file__).parent],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_killed_anywhere_in_an_opening_there_is_nothing_or_everything(tmp_path: Path) -> None:
    assert kills(tmp_path, "open") > 40


def test_killed_anywhere_in_saving_there_is_a_whole_zip_or_none(tmp_path: Path) -> None:
    assert kills(tmp_path, "save") > 5


def test_what_an_opening_that_was_cut_off_left_is_laid_out_by_the_next_however_late(
    there: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    all_saved(there)
    place = tmp_path_factory.mktemp("place")
    staged = place / ".pge-opening-x" / "unpacked" / "other.ipynb"
    staged.parent.mkdir(parents=True)
    staged.write_text("half laid", encoding="ascii")
    (place / "earlier").mkdir()
    note = [[".pge-opening-x/unpacked/other.ipynb", "other.ipynb"]]
    (place / "earlier" / moving.NOTE).write_text(json.dumps(note), encoding="ascii")
    os.utime(place / ".pge-opening-x", (0, 0))
    lay_out(look(there / "all.zip"), place)
    assert (place / "other.ipynb").read_text() == "half laid"
    assert not moving.unfinished(place)


def test_what_a_killed_process_left_is_swept_a_day_later(there: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    all_saved(there)
    place = tmp_path_factory.mktemp("place")
    old: Sequence[Path] = (place / ".pge-opening-x", place / ".pge-abc")
    new = place / ".pge-opening-y"
    for folder in (old[0], new):
        (folder / "unpacked").mkdir(parents=True)
    old[1].write_bytes(b"half a zip")
    for path in old:
        os.utime(path, (0, 0))
    lay_out(look(there / "all.zip"), place)
    assert [path.exists() for path in (*old, new)] == [False, False, True]
