"""`notebook`: a notebook is executed from top to bottom in a fresh kernel, in the sandbox; each cell must run."""

from __future__ import annotations

import json
import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import SandboxUnavailable
from ..prose import counted
from ..records import Check
from ..sandbox import Bounds, Ran, run, scratch
from ..workspace import Tree, misplaced
from . import Outcome, args_of, misfit
from .command import WEAK, normalised
from .loopback import free_ports

CHILD = Path(__file__).with_name("notebook_child.py")
KERNEL_TAKES = 4
"""A notebook has so many times the seconds of a command: a kernel and its libraries take their time to start."""
GRACE = 20.0
"""Seconds more for the client itself, so that it can say at which cell the time was over."""
CHANNELS = 5
BOUNDS = Bounds(memory=4 << 30, processes=128)
ENDED = {
    "late": "was not done when the time was over",
    "died": "ended the kernel",
    "loud": "was stopped: its outputs are too much to keep",
    "broken": "could not be carried out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookArgs:
    """The notebook's path, whether its outputs must be those that it was saved with, and texts that must be among them."""

    path: str
    compare: bool = False
    shows: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The path as the tree has it."""
        return self.path.strip().removeprefix("./")


class Notebook:
    """Executes a notebook for at most ``KERNEL_TAKES`` times ``seconds``."""

    name: ClassVar[str] = "notebook"
    help: ClassVar[str] = 'a notebook runs from top to bottom: {"path": "report.ipynb", "shows": ["some output"]}'
    Args: ClassVar[type[Any]] = NotebookArgs

    def __init__(self, seconds: float, *, allow_unsafe: bool = False) -> None:
        self.seconds = seconds * KERNEL_TAKES
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse paths that leave the tree or name no notebook, and empty texts."""
        if fault := misfit(NotebookArgs, check):
            return fault
        args = args_of(NotebookArgs, check)
        if why := misplaced(args.plain):
            return f"the path {args.path!r:.80}: {why}"
        if not args.plain.endswith(".ipynb"):
            return f"the path {args.path!r:.80} is no notebook's: it does not end in .ipynb"
        return "a text in shows is empty" if any(not text.strip() for text in args.shows) else None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when every cell ran, the texts were shown, and, to be compared, the outputs are the saved ones."""
        args = args_of(NotebookArgs, check)
        says = f"executed {args.plain} in a fresh kernel"
        if tree.text(args.plain) is None:
            return Outcome(met=False, says=says, saw=f"{args.plain} is not there")
        with scratch() as place:
            untouched = Tree(place / "tree", tree.files)
            if args.compare:
                shutil.copytree(tree.root, untouched.root)
            try:
                met, saw = self._executed(args, tree)
                if met and args.compare:
                    says += ", and compared its outputs with the saved ones"
                    met, told = self._compared(args, untouched)
                    saw = f"{told}\n{saw}"
            except SandboxUnavailable as error:
                if not error.fact.startswith("Programs that need the network"):
                    raise
                return Outcome(met=None, says=says, saw=f"not run: {error.fact}")
        return Outcome(met=met, says=says, saw=saw, strength=WEAK)

    def _executed(self, args: NotebookArgs, tree: Tree) -> tuple[bool | None, str]:
        ran, said = self._asked(args, tree, compare=False)
        if said is None or "cells" not in said:
            return _unexecuted(args, ran, said)
        cells = counted(said["cells"], "code cell")
        outputs = f"outputs:\n{normalised(said['outputs'], tree)}" if said["outputs"] else "no output that can be read"
        if "error" in said or "ended" in said:
            return False, f"{_told_of(said, tree)}\n{outputs}"
        lines = [f"every cell ran: {cells}" if said["cells"] else "it holds no code cell"]
        for text, held in zip(args.shows, said["held"], strict=True):
            lines.append(f"the outputs {'hold' if held else 'do not hold'} {text!r}")
        return bool(said["cells"]) and all(said["held"]), "\n".join([*lines, outputs])

    def _compared(self, args: NotebookArgs, tree: Tree) -> tuple[bool | None, str]:
        ran, said = self._asked(args, tree, compare=True)
        if said is not None and "missing" in said:
            return None, f"its outputs were not compared: {said['missing']} is not installed"
        if said is None or "compared" not in said:
            return _unexecuted(args, ran, said)
        if "error" in said:
            return False, f"its saved outputs are others: {_told_of(said, tree)}"
        if not said["compared"]:
            return False, "it was saved without having been run, so there is no output to compare"
        return True, f"nbval compared {counted(said['compared'], 'code cell')}: the saved outputs are what comes out"

    def _asked(self, args: NotebookArgs, tree: Tree, *, compare: bool) -> tuple[Ran, Mapping[str, Any] | None]:
        """Have the child execute the notebook; what it says, None where it could say nothing."""
        ports, token = free_ports(CHANNELS), secrets.token_hex(16)
        asked = {"path": args.plain, "shows": args.shows, "seconds": self.seconds, "ports": ports}
        ran = run(
            [sys.executable, "-I", str(CHILD)],
            tree.root,
            seconds=self.seconds + GRACE,
            stdin=json.dumps(asked | {"token": token, "compare": compare}).encode(),
            ports=ports,
            bounds=BOUNDS,
            allow_unsafe=self.allow_unsafe,
        )
        try:
            given, said = json.loads(ran.out)
        except (ValueError, TypeError):
            return ran, None
        return ran, said if given == token else None


def _unexecuted(args: NotebookArgs, ran: Ran, said: Mapping[str, Any] | None) -> tuple[bool | None, str]:
    """Why nothing was executed, as far as can be said."""
    if said is not None and "fault" in said:
        return False, f"{args.plain} is no valid notebook: {said['fault']}"
    if said is not None and "language" in said:
        return None, f"not executed: {args.plain} is in {said['language']}, and only Python is run here"
    if ran.full:
        return False, "killed for writing too much"
    ended = (said or {}).get("broken", f"exit {ran.exit}")
    last = ran.err.strip().rsplit("\n", 1)[-1][:300] if said is None else ""
    return (False, "killed at its time limit") if ran.timed_out else (None, f"no kernel could be used: {last or ended}")


def _told_of(said: Mapping[str, Any], tree: Tree) -> str:
    """The cell at which it ended, by number and first line, and why."""
    where = f"code cell {said['cell']} ({said['line']})" if said.get("cell") else "the notebook"
    what = ENDED.get(said.get("ended", ""), "")
    error = normalised(said["error"], tree) if "error" in said else ""
    at = f", at {said['on']}" if said.get("on") and said["on"] != said["line"] else ""
    return " ".join(filter(None, [where, what])) + (f": {error}{at}" if error else "")
