"""A real IPython shell in this process, in a directory of its own."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from pge_nb.display import View


@dataclass(frozen=True)
class Ran:
    """What a cell gave: its value, the error it raised, and what it printed."""

    value: Any
    error: BaseException | None
    text: str

    @property
    def view(self) -> View:
        assert isinstance(self.value, View), self.text
        return self.value


class Shell:
    """A shell with the extension loaded; ``cell`` runs one as a notebook would."""

    def __init__(self) -> None:
        InteractiveShell.clear_instance()
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        self.shell = InteractiveShell.instance(config=config)
        self.cell("%load_ext pge_nb")

    def cell(self, code: str) -> Ran:
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            done = self.shell.run_cell(code, store_history=True)
        return Ran(value=done.result, error=done.error_before_exec or done.error_in_exec, text=printed.getvalue())

    @property
    def names(self) -> dict[str, Any]:
        return self.shell.user_ns

    def close(self) -> None:
        self.cell("%unload_ext pge_nb")
        InteractiveShell.clear_instance()
