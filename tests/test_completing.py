"""What a person is offered at the tab key, in a real shell and by a real kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from IPython.core.completer import provisionalcompleter
from jupyter_client.manager import start_new_kernel
from notebook_shell import Shell

from pge_nb import completing
from pge_nb.commands import COMMANDS, Here
from pge_nb.completing import LARGEST, LINE, MATCHER, Around, typed
from pge_nb.models.choose import DEFAULT_CLAUDE

HEAVY = ("anthropic", "pandas", "matplotlib", "ipywidgets", "nbformat", "scipy", "sklearn")


def offered(shell: Shell, line: str) -> list[str]:
    """What the kernel answers with: whole words, from the one that is begun."""
    with provisionalcompleter():
        found = list(shell.shell.Completer.completions(line, len(line)))
    return whole(line, [(one.start, one.text) for one in found])


def whole(line: str, found: list[tuple[int, str]]) -> list[str]:
    """The words that the line would end in."""
    ours = LINE.match(line)
    raw = typed(line[ours.end() :])[2] if ours else line.rpartition(" ")[2]
    return [(line[:start] + text)[len(line) - len(raw) :] for start, text in found]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """An unnamed task, an earlier run of it, and a task of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))
        patch.setenv("PGE_NB_LIVE", "0")
        opened = Shell()
        for line in ("run --practice stats --seed 2", "run mine --practice roman", "run --practice roman"):
            assert opened.cell(f"%pge {line};").error is None
        Path("two words.zip").write_bytes(b"")
        Path("bundle.zip").write_bytes(b"")
        Path("notes.md").write_bytes(b"")
        Path("table.csv").write_bytes(b"")
        yield opened
        opened.close()


def test_subcommands_are_offered_after_line_and_cell_magic(shell: Shell) -> None:
    assert set(COMMANDS) <= set(offered(shell, "%pge "))
    assert offered(shell, "%pge sho") == ["show"]
    assert offered(shell, "%%pge ru")[0] == "run"


def test_the_older_way_to_ask_gives_the_same(shell: Shell) -> None:
    with pytest.warns(PendingDeprecationWarning):
        assert shell.shell.complete("sho", "%pge sho", 8) == ("sho", ["show"])


def test_a_view_that_is_assigned_is_completed_as_well(shell: Shell) -> None:
    assert offered(shell, "kept = %pge sho") == ["show"]
    assert "show" not in offered(shell, "%other sho")
    assert "show" not in offered(shell, "%pgesho")


def test_only_the_line_that_the_cursor_is_in_counts(shell: Shell) -> None:
    cell = "%%pge ru\nWrite a module."
    with provisionalcompleter():
        assert "run" in [one.text for one in shell.shell.Completer.completions(cell, len("%%pge ru"))]
    assert "show" not in offered(shell, "%%pge run\nsho")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%pge show traj", ["trajectory"]),
        ("%pge run --prac", ["--practice"]),
        ("%pge run --practice text", ["textkit"]),
        ("%pge run --practice=text", ["--practice=textkit"]),
        ("%pge run --model prac", ["practice"]),
        (f"%pge model {DEFAULT_CLAUDE[:15]}", [DEFAULT_CLAUDE]),
        ("%pge model recording", ["recording:"]),
        ("%pge answer adv", ["advance"]),
        ("%pge help esti", ["estimate"]),
        ("%pge run --practice textkit --see", ["--seed"]),
        ("%pge show plan -", ["-o", "--help"]),
        ("%pge --h", ["--help"]),
        ("%pge show prompt eval", ["evaluator"]),
    ],
)
def test_what_a_subcommand_takes_is_offered(shell: Shell, line: str, expected: list[str]) -> None:
    found = offered(shell, line)
    assert set(expected) <= set(found)
    assert all(word.startswith(line.rpartition(" ")[2]) for word in found)


def test_a_flag_is_not_offered_twice_nor_where_a_value_belongs(shell: Shell) -> None:
    for line in ("%pge run --seed 1 --", "%pge run --seed=1 --"):
        found = offered(shell, line)
        assert "--budget" in found
        assert "--seed" not in found
    assert "--budget" not in offered(shell, "%pge run --seed ")
    assert not {"run", "plan", "--help"} & set(offered(shell, "%pge show -o "))


# Addresses


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%pge files ", {"1", "1.1", "@1:", "mine:"}),
        ("%pge files 1.", {"1.1"}),
        ("%pge files mi", {"mine:"}),
        ("%pge files mine:", {"mine:1", "mine:1.1"}),
        ("%pge files mine:1.", {"mine:1.1"}),
        ("%pge files @", {"@1:"}),
        ("%pge files @1", {"@1:"}),
        ("%pge files @1:2.", {"@1:2.1"}),
        ("%pge diff @1:1.1 1.", {"1.1"}),
        ("%pge show evaluations 1.1/c", {"1.1/c1", "1.1/c2"}),
        ("%pge show evaluations 1/", {"1/c1", "1/correctness"}),
        ("%pge show evaluations @1:1.1/c", {"@1:1.1/c1"}),
        ("%pge restore 1", {"1", "1.1"}),
        ("%pge load mine:", {"mine:1"}),
        ("%pge show prompt generator 1", {"1.1"}),
        ("%pge estimate ", {"@1", "mine"}),
        ("%pge open ", {"@1", "mine", "bundle.zip", "notes.md", '"two words.zip"'}),
        ('%pge open "two w', {'"two words.zip"'}),
        ("%pge open mine/", {"mine/shared_state.md"}),
        ("%pge model recording:.pge/", {"recording:.pge/calls.jsonl"}),
        ("%pge model recording:", {"recording:.pge/"}),
        ("%pge mi", {"mine"}),
        ("%pge verify mi", {"mine"}),
        ("%pge run --state mine/", {"mine/shared_state.md"}),
    ],
)
def test_runs_steps_attempts_checks_and_files_are_offered(runs: Shell, line: str, expected: set[str]) -> None:
    found = offered(runs, line)
    assert expected <= set(found)
    assert len(set(found)) == len(found)
    assert all(word.startswith(typed(line)[2]) for word in found), found


def test_what_is_offered_for_an_address_is_an_address(runs: Shell) -> None:
    for command in ("files", "show evaluations"):
        for word in offered(runs, f"%pge {command} "):
            if not word.startswith("-"):
                done = runs.cell(f"%pge {command} {word}")
                assert done.error is None or "Nothing stands for" in done.text, word


def test_nothing_is_offered_where_no_run_is_named(runs: Shell) -> None:
    around = Around(here=Here(directory=Path.cwd()), variables={})
    assert completing.offered("files mine:1.", around) == ["mine:1.1", "mine:1.2", "mine:1.3"]
    for text in (
        "files no:",
        "files @9:",
        "files 9/",
        "open no/such/",
        "model recording:no/",
        "open ~nobody_x/",
        "no ",
    ):
        assert completing.offered(text, around) == [], text
    assert "table.csv" not in completing.offered("open ", around)


def test_variables_that_a_task_can_take_are_offered_one_after_another(shell: Shell) -> None:
    shell.cell("import pandas; frame = pandas.DataFrame(); number = 1; words = ['a']; _own = 1; made = object()")
    assert offered(shell, "%pge run --in ") == ["frame", "number", "words"]
    assert offered(shell, "%pge run --in frame,nu") == ["frame,number"]
    assert offered(shell, "%pge run --in=frame,") == ["--in=frame,number", "--in=frame,words"]


def test_dicts_of_skills_are_offered(shell: Shell) -> None:
    shell.cell(
        "from pge_nb import Skill; ways = {'a': Skill(description='b')}; _own = ways; empty = {}; words = {'a': 'b'}"
    )
    assert offered(shell, "%pge run --skills ") == ["ways"]


# It never raises, never waits, and imports nothing heavy


@pytest.mark.parametrize(
    "content", [b"not one of ours\n", b"\xff\x00", b"", b"<!-- pge/1 seq=0", b"0" * (LARGEST + 1)], ids=len
)
def test_a_state_file_that_cannot_be_read_gives_no_error_at_the_tab_key(
    shell: Shell, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "shared_state.md").write_bytes(content)
    assert "1" not in offered(shell, "%pge files ")
    assert "-o" in offered(shell, "%pge files ")


def test_the_tab_key_waits_for_nobody(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2;")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "shared_state.md")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    with FileLock(tmp_path / ".pge" / "state.lock"):
        began = time.monotonic()
        assert "1.1" in offered(shell, "%pge files ")
        assert "fifo:1" not in offered(shell, "%pge files fifo:")
        with (tmp_path / "shared_state.md").open("ab") as file:
            file.truncate(100_000_000)
        assert "1.1" not in offered(shell, "%pge files ")
        assert time.monotonic() - began < 5
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_a_directory_that_is_gone_gives_no_error_at_the_tab_key(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"""
import os, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.completer import provisionalcompleter
shell = InteractiveShell.instance()
shell.Completer.use_jedi = False  # it raises there itself
os.chdir({str(gone)!r})
os.rmdir({str(gone)!r})
shell.run_line_magic("load_ext", "pge_nb")
with provisionalcompleter():
    for line in ("%pge ", "%pge files ", "%pge open a", "%pge model recording:"):
        print("1.1" in [one.text for one in shell.Completer.completions(line, len(line))])
os.chdir("/")
"""
    assert in_a_process(code) == "False\n" * 4


def test_the_tab_key_imports_nothing_heavy_before_the_first_command(tmp_path: Path) -> None:
    code = f"""
import os, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.completer import provisionalcompleter
os.chdir({str(tmp_path)!r})
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic("load_ext", "pge_nb")
with provisionalcompleter():
    for line in ("%pge sho", "%pge files ", "%pge run --model prac", "%pge open ", "%pge run --practice tex"):
        print(len(list(shell.Completer.completions(line, len(line)))) > 0)
print([name for name in {HEAVY!r} if name in set(sys.modules) - before])
"""
    assert in_a_process(code) == "True\n" * 5 + "[]\n"


def in_a_process(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "IPYTHONDIR": "/nonexistent"}
    environment["PYTHONWARNINGS"] = "ignore"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")  # IPython prints what a matcher raises
    return done.stdout


def test_a_kernel_answers_a_complete_request_with_them(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    manager, client = start_new_kernel(cwd=str(tmp_path), env=environment)
    try:
        client.execute_interactive("%load_ext pge_nb\n%pge run mine --practice stats --seed 2;", timeout=60)
        for line, expected in (
            ("%pge sho", ["show"]),
            ("%pge files mine:1.", ["mine:1.1"]),
            ("%pge run --practice rom", ["roman"]),
        ):
            reply = client.complete(line, reply=True, timeout=30)["content"]
            words = [line[: reply["cursor_start"]] + match for match in reply["matches"]]
            assert reply["status"] == "ok"
            assert [word.rpartition(" ")[2] for word in words][: len(expected)] == expected
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# Loading and unloading


def matchers(shell: Shell) -> list[str]:
    return [getattr(one, "matcher_identifier", "") for one in shell.shell.Completer.custom_matchers]


def test_unloading_takes_completion_away_and_reloading_brings_it_once(shell: Shell) -> None:
    shell.cell("%reload_ext pge_nb")
    assert matchers(shell) == [MATCHER]
    shell.cell("%unload_ext pge_nb")
    assert matchers(shell) == []
    assert "show" not in offered(shell, "%pge sho")
    shell.cell("%load_ext pge_nb")
    assert offered(shell, "%pge sho") == ["show"]


def test_help_on_a_near_miss_says_which(shell: Shell) -> None:
    assert "Did you mean show?" in shell.cell("%pge help shwo").text
