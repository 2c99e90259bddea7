"""What a person is offered at the tab key, in a real shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.completer import provisionalcompleter
from notebook_shell import Shell

from pge_nb.commands import COMMANDS
from pge_nb.completing import HOOK, KEYS


def offered(shell: Shell, line: str) -> list[str]:
    """What the kernel answers with: whole words, from the one that is begun."""
    token = line.rpartition(" ")[2]
    with provisionalcompleter():
        found = list(shell.shell.Completer.completions(line, len(line)))
    starts = len(line) - len(token)
    return [line[starts : one.start] + one.text for one in found]


def test_subcommands_are_offered_after_line_and_cell_magic(shell: Shell) -> None:
    assert set(COMMANDS) <= set(offered(shell, "%pge "))
    assert offered(shell, "%pge sho") == ["show"]
    assert offered(shell, "%%pge ru")[0] == "run"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%pge show traj", ["trajectory"]),
        ("%pge run --prac", ["--practice"]),
        ("%pge run --practice text", ["textkit"]),
        ("%pge run --model prac", ["practice"]),
        ("%pge model claude-sonnet-5", ["claude-sonnet-5-5"]),
        ("%pge answer adv", ["advance"]),
        ("%pge help esti", ["estimate"]),
        ("%pge run --practice textkit --see", ["--seed"]),
    ],
)
def test_what_a_subcommand_takes_is_offered(shell: Shell, line: str, expected: list[str]) -> None:
    found = offered(shell, line)
    assert set(expected) <= set(found)
    assert all(word.startswith(line.rpartition(" ")[2]) for word in found)


def test_a_flag_is_not_offered_twice(shell: Shell) -> None:
    found = offered(shell, "%pge run --seed 1 --")
    assert "--budget" in found
    assert "--seed" not in found


def test_steps_attempts_and_tasks_of_this_place_are_offered(shell: Shell) -> None:
    shell.cell("%pge run mine --practice stats --seed 2;")
    assert {"1", "2", "1.1"} <= set(offered(shell, "%pge files "))
    assert "1.1" in offered(shell, "%pge show evaluations 1.")
    assert offered(shell, "%pge verify mi") == ["mine"]
    assert offered(shell, "%pge mi") == ["mine"]


def test_a_state_file_that_cannot_be_read_gives_no_error_at_the_tab_key(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "shared_state.md").write_text("not one of ours\n")
    assert "1" not in offered(shell, "%pge files ")


def test_unloading_takes_completion_away_and_reloading_brings_it_once(shell: Shell) -> None:
    shell.cell("%reload_ext pge_nb")
    hooks = shell.shell.strdispatchers[HOOK].strs
    assert [len(hooks[key].chain) for key in KEYS] == [1, 1]
    shell.cell("%unload_ext pge_nb")
    assert not set(KEYS) & set(hooks)
    assert "show" not in offered(shell, "%pge sho")
    shell.cell("%load_ext pge_nb")
    assert offered(shell, "%pge sho") == ["show"]


def test_help_on_a_near_miss_says_which(shell: Shell) -> None:
    assert "Did you mean show?" in shell.cell("%pge help shwo").text
