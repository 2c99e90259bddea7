"""Labels as people really give them: not all of the same items, all alike, in odd files, many at once, from two kernels."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_shell import Shell
from practice_runs import practice_runs

from pge_nb import open_run
from pge_nb.errors import BadInput, PgeError
from pge_nb.studies import open_study
from pge_nb.studies.items import Item, items
from pge_nb.study_records import Label

TASKS = ("textkit", "roman")
HEAD = "run,step,attempt_hash,on,verdict,repeat\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return practice_runs(tmp_path_factory.mktemp("odd_labels"), TASKS)


@pytest.fixture
def notebook(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    shutil.copytree(home, tmp_path / "notebook")
    monkeypatch.chdir(tmp_path / "notebook")
    shell = Shell()
    yield shell
    shell.close()


@pytest.fixture
def every(home: Path) -> tuple[Item, ...]:
    return tuple(items([open_run(home / name) for name in TASKS]))


def line(item: Item, verdict: str, *, step: str = "", repeat: str = "1") -> str:
    return f"{item.run},{step or item.step},{item.attempt_hash},{item.on or '*'},{verdict},{repeat}\n"


def test_people_who_did_not_label_the_same_items_are_compared_where_they_did(
    notebook: Shell, every: tuple[Item, ...]
) -> None:
    whole = [item for item in every if not item.on]
    told = {"ann": [*whole, every[0]], "bob": whole[:-1]}
    for name, some in told.items():
        lines = (line(item, "pass" if n % 2 or name == "bob" else "fail") for n, item in enumerate(some))
        Path("labels.csv").write_text(HEAD + "".join(lines), encoding="utf-8")
        assert notebook.cell(f"%pge import labels labels.csv --as {name}").error is None
    done = notebook.cell("%pge calibrate")
    assert done.error is None, done.text
    assert "of the time" in done.view.title


@pytest.mark.parametrize(("column", "fact"), [("step", "is no number"), ("repeat", "is no repeat")])
def test_a_number_that_no_machine_reads_is_named_by_its_line(
    notebook: Shell, every: tuple[Item, ...], column: str, fact: str
) -> None:
    odd = line(every[0], "pass", **{column: "9" * 5000})
    Path("labels.csv").write_text(HEAD + line(every[1], "pass") + odd, encoding="utf-8")
    done = notebook.cell("%pge import labels labels.csv --as ann")
    assert isinstance(done.error, BadInput), done.text
    assert done.error.fact.startswith("Line 3: ")
    assert fact in done.error.fact
    assert len(done.text.strip().splitlines()) == 2
    assert not open_study(Path()).read().labels


@pytest.mark.parametrize("verdict", ["pass", "fail", "unclear"])
def test_labels_that_are_all_alike_and_of_one_task_give_figures_that_say_so(
    notebook: Shell, every: tuple[Item, ...], verdict: str
) -> None:
    one = [item for item in every if item.run == every[0].run]
    Path("labels.csv").write_text(HEAD + "".join(line(item, verdict) for item in one), encoding="utf-8")
    assert notebook.cell("%pge import labels labels.csv --as ann").error is None
    done = notebook.cell(f"%pge calibrate {TASKS[0]}")
    assert done.error is None, done.text
    told = done.view.title + " ".join(map(str, done.view.notes))
    expected = {"pass": "No attempt with a label is bad", "fail": "No attempt with a label is good"}
    assert expected.get(verdict, "not measurable") in told


def damaged(notebook: Shell, move: str) -> None:
    """Each command that needs the study file refuses in two lines, and leaves the file as it is."""
    before = Path("study.md").read_bytes() if Path("study.md").is_file() else None
    for cell in (
        "%pge rater",
        "%pge calibrate",
        "%pge card",
        "%pge import labels labels.csv --as bob",
        "%%pge rater strict\nBe strict.",
    ):
        done = notebook.cell(cell)
        assert isinstance(done.error, PgeError), (cell, done.text)
        first, second = done.text.strip().splitlines()
        assert "study.md" in first
        assert move in second, cell
    assert (Path("study.md").read_bytes() if Path("study.md").is_file() else None) == before


def test_a_damaged_study_file_tells_what_to_do_about_that_file_and_is_left_alone(
    notebook: Shell, every: tuple[Item, ...]
) -> None:
    study, note = Path("study.md"), Path(".pge/study.head")
    Path("labels.csv").write_text(HEAD + line(every[0], "pass"), encoding="utf-8")
    assert notebook.cell("%pge import labels labels.csv --as ann").error is None
    whole = study.read_bytes()
    for torn, move in (
        (b"# My notes\n", "move it and .pge/study.head away."),
        (whole + b"\nmy own note\n", "move it and .pge/study.head away."),
        (whole.replace(b"ann", b"bob", 1), "move it and .pge/study.head away."),
        (whole[:-40], "delete .pge/study.head."),
        (b"", "delete .pge/study.head."),
    ):
        study.write_bytes(torn)
        damaged(notebook, move)
    study.unlink()
    damaged(notebook, "delete .pge/study.head.")
    note.rename("study.head")
    assert notebook.cell("%pge import labels labels.csv --as ann").error is None, "both are away: it is begun anew"
    assert study.read_bytes().startswith(b"<!-- pge/1 seq=0 ")
    study.unlink()
    study.mkdir()
    damaged(notebook, "Move it away.")


GIVES = """
import sys
from pathlib import Path
from pge_nb.studies import open_study
from pge_nb.study_records import Label, Rater
study, name = open_study(Path(sys.argv[1])), sys.argv[2]
for n in range(40):
    study.keep(Rater(id=name, who="person", name=name))
    study.add(Label(rater=name, run="r", step=1, attempt_hash=f"{n:064x}", on="", verdict="pass"))
"""


def test_two_kernels_that_label_at_once_lose_none_of_their_labels(tmp_path: Path) -> None:
    both = [subprocess.Popen([sys.executable, "-c", GIVES, str(tmp_path), name]) for name in ("ann", "bob")]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    view = open_study(tmp_path).read()
    for name in ("ann", "bob"):
        assert sum(label.rater == name for label in view.labels) == 40
        assert name in view.raters


def test_ten_thousand_labels_are_kept_and_read_in_seconds(tmp_path: Path) -> None:
    study = open_study(tmp_path)
    many = [
        Label(rater="ann", run=f"r{n % 100}", step=1, attempt_hash=f"{n:064x}", on="", verdict="pass")
        for n in range(10_000)
    ]
    began = time.process_time()
    study.add(*many)
    assert len(open_study(tmp_path).read().labels) == 10_000
    assert time.process_time() - began < 20
