"""From a line to a command's arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.error import UsageError
from notebook_shell import Shell

from pge_nb import magic
from pge_nb.commands import COMMANDS, GROUPS
from pge_nb.commands.beginning import TaskFlags
from pge_nb.commands.grammar import arguments
from pge_nb.commands.helping import usage
from pge_nb.display import View
from pge_nb.errors import BadInput


def test_a_bare_line_says_what_is_here_and_what_to_do(shell: Shell) -> None:
    view = shell.cell("%pge").view
    assert view.next == "%pge run --practice textkit"
    assert str(Path.cwd()) in view.plain()


def test_a_value_of_the_notebook_stands_in_line_and_body_alike(shell: Shell) -> None:
    shell.names.update(task="textkit", words="two words")
    assert magic.split("run --practice {{task}} {{words}} '{{ words.upper() }}'", shell.names) == [
        "run",
        "--practice",
        "textkit",
        "two words",
        "TWO WORDS",
    ]
    assert (
        magic.interpolated("make {{task}} and {{ {'a': {'b': 1}}['a'] }}", shell.names) == "make textkit and {'b': 1}"
    )


def test_single_braces_and_dollars_are_left_alone(shell: Shell) -> None:
    text = "f'{x}' costs $5 and {\"json\": {1: 2} }"
    assert magic.interpolated(text, {}) == text
    assert shell.cell("%pge help {task}").text.startswith("BadInput: There is no %pge {task}.")


def test_a_missing_name_is_an_error_that_says_it(shell: Shell) -> None:
    shell.names["frames_in"] = 1
    done = shell.cell("%%pge run\nclean {{frame_in}}")
    assert isinstance(done.error, BadInput)
    assert (
        done.text == "BadInput: {{frame_in}}: there is no name 'frame_in' in this notebook.\nDid you mean frames_in?\n"
    )


def test_an_expression_that_fails_or_never_ends_says_so(shell: Shell) -> None:
    assert "ZeroDivisionError" in shell.cell("%pge help {{1/0}}").text
    assert "does not end" in shell.cell("%pge help {{1 +").text


def test_every_mistake_is_told_in_two_lines_without_a_traceback(shell: Shell) -> None:
    for line in (
        "%pge shwo",
        "%pge show plam",
        "%pge run --practise x",
        "%pge run --steps x",
        "%pge run --practice no",
        "%pge answer",
        "%pge show plan 1 2 3",
        "%pge answer it's",
        "%pge run --model",
        "%pge run --raise=1",
        "%pge show plan -o 1x",
        "%pge show plan",
        "%pge verify",
        "%pge new",
        "%pge resume",
        "%pge model recording:no",
        "%%pge tasks\nbody",
        "%%pge\nbody",
    ):
        done = shell.cell(line)
        assert done.error is not None, line
        assert "Traceback" not in done.text
        assert 1 <= len(done.text.strip().split("\n")) <= 2, done.text


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("%pge shwo", "Did you mean show?"),
        ("%pge show trajektory", "Did you mean trajectory?"),
        ("%pge run --practise textkit", "Did you mean --practice?"),
        ("%pge run --practice textki", "Did you mean textkit?"),
    ],
)
def test_a_near_miss_is_met_with_did_you_mean(shell: Shell, line: str, hint: str) -> None:
    assert hint in shell.cell(line).text


def test_a_mistake_in_the_arguments_is_a_plain_usage_error(shell: Shell) -> None:
    for line in ("%pge shwo", "%pge run --steps x", "%pge answer maybe"):
        assert type(shell.cell(line).error) is UsageError


def test_o_keeps_the_view_assignment_works_and_a_semicolon_silences(shell: Shell) -> None:
    assert shell.cell("%pge tasks -o kept;").value is None
    assert isinstance(shell.names["kept"], View)
    assert shell.cell("r = %pge tasks").value is None
    assert shell.names["r"] == shell.names["kept"]
    assert shell.cell("%pge tasks").value == shell.names["kept"]


def test_an_empty_body_gets_a_hint_in_place_of_a_refusal(shell: Shell) -> None:
    for cell in ("%%pge run", "%%pge run\n", "%%pge run\n   \n"):
        done = shell.cell(cell)
        assert isinstance(done.error, BadInput)
        assert done.text.split("\n")[0] == "BadInput: There is no prompt."
    assert shell.cell("%%pge tasks").view.title == "Practice tasks"


def test_backslashes_stay_and_quotes_hold_blanks(shell: Shell) -> None:
    assert magic.split(r"model recording:C:\runs\one 'a b' \"c\"", {})[1:3] == [r"recording:C:\runs\one", "a b"]


def test_words_become_the_types_of_the_signature() -> None:
    args, kwargs = magic.parsed(COMMANDS["run"], ["mine", "--steps", "3", "--budget=2.5", "--raise", "--seed", "4"])
    assert args == ["mine"]
    assert kwargs == {"flags": TaskFlags(steps=3, budget=2.5, seed=4), "raise_": True}
    args, _ = magic.parsed(COMMANDS["answer"], ["retry", "use", "a", "dict"])
    assert args == ["retry", "use", "a", "dict"]


def test_help_names_every_subcommand_and_every_argument(shell: Shell) -> None:
    text = shell.cell("%pge help").view.html()
    for name in COMMANDS:
        assert f"pge {name}" in text
        page = shell.cell(f"%pge help {name}").view.plain()
        assert usage(name) in page
        for argument in arguments(COMMANDS[name]):
            assert argument.says, f"{name} {argument.name} is not explained"
            assert argument.flag in page


def test_every_line_of_usage_parses() -> None:
    for command in COMMANDS.values():
        for argument in arguments(command):
            if argument.flag and argument.takes_word:
                value = argument.choices[0] if argument.choices else {int: "1", float: "1.5", str: "x"}[argument.kind]
                required = [one.choices[0] if one.choices else "x" for one in arguments(command) if one.required]
                _, given = magic.parsed(command, [*required, argument.flag, value])
                held = getattr(given[argument.group], argument.name) if argument.group else given[argument.name]
                assert held == argument.kind(value)


def test_no_subcommand_stands_in_two_groups() -> None:
    assert sum(len(group) for group in GROUPS.values()) == len(COMMANDS)


def test_the_extension_loads_twice_and_unloads_for_good(shell: Shell) -> None:
    before = len(shell.shell.input_transformers_cleanup)
    assert (
        shell.cell("%load_ext pge_nb").text
        == "The pge_nb extension is already loaded. To reload it, use:\n  %reload_ext pge_nb\n"
    )
    assert shell.cell("%reload_ext pge_nb").error is None
    assert len(shell.shell.input_transformers_cleanup) == before
    assert shell.cell("%pge tasks").error is None
    shell.cell("%unload_ext pge_nb")
    assert len(shell.shell.input_transformers_cleanup) == before - 1
    assert "not found" in shell.cell("%pge").text
    assert "not found" in shell.cell("%%pge run\nx").text
    shell.cell("%load_ext pge_nb")
    assert shell.cell("%pge tasks").error is None


def test_a_key_in_the_line_is_not_repeated_in_the_output(shell: Shell) -> None:
    ran = shell.cell("%pge key sk-canary-0123456789")
    assert "sk-canary" not in ran.text
    assert "never write one into a cell" in ran.text


def test_help_is_also_a_flag(shell: Shell) -> None:
    assert shell.cell("%pge run --help").view.plain() == shell.cell("%pge help run").view.plain()
    assert shell.cell("%pge --help").view.plain() == shell.cell("%pge help").view.plain()
