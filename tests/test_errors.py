"""An error's two lines: whatever they quote, a terminal carries nothing of it out, and its words stand in order."""

from __future__ import annotations

import pytest
from notebook_shell import Shell

from pge_nb.errors import BadInput


@pytest.mark.parametrize("mark", ["\x1b[31m", "\x07", "\x9b", "\u202e", "\u2066", "\ud800", "\x00"])
def test_characters_that_command_are_told_and_not_carried_out(mark: str) -> None:
    error = BadInput(f"The file says {mark}.", f"Mend {mark}.")
    for text in (str(error), *error._render_traceback_()):
        assert mark not in text
        assert f"\\u{ord(mark[0]):04x}" in text
    assert len(str(error).split("\n")) == 2
    assert error.fact == f"The file says {mark}."


def test_words_of_any_script_stay_as_they_are() -> None:
    fact = "“Ångström” 正确性 العربية 🚀, a\u0301\u00a0b"
    assert str(BadInput(fact, "x")) == f"{fact}\nx"


def test_a_cell_shows_them_so(shell: Shell) -> None:
    shell.cell("def wrong():\n    from pge_nb.errors import BadInput\n    raise BadInput('It said \\x1b[2J.', 'Look.')")
    text = shell.cell("wrong()").text
    assert "It said \\u001b[2J." in text
    assert "\x1b[2J" not in text
