"""`command`: a command is run in a throwaway copy of the tree; its exit status and output decide."""

from __future__ import annotations

import re
import shlex
import tempfile
from dataclasses import dataclass
from typing import Any, ClassVar

from ..records import Check
from ..sandbox import HOME, SCRATCH, Ran, run
from ..workspace import Tree
from . import Outcome, args_of, misfit

SHOWN = 6_000
DURATION = re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)?\s?(?:s|ms|ns|sec|secs|second|seconds|min|\u00b5s|\u03bcs|us)\b")
SHELL = frozenset("|&;<>()")
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
WEAK = "weak: the attempt's own code made this outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandArgs:
    """The command (a list, or one line without a shell), the exit status that is wanted, and text that it must print."""

    run: tuple[str, ...] | str
    exit: int = 0
    prints: str | None = None

    @property
    def argv(self) -> list[str]:
        """The command as a list."""
        return shlex.split(self.run) if isinstance(self.run, str) else list(self.run)


class Command:
    """Runs a command as a child process, for at most ``seconds``."""

    name: ClassVar[str] = "command"
    help: ClassVar[str] = (
        'a command ends well: {"run": ["python", "-m", "pytest", "-q"], "exit": 0, "prints": "passed"}'
    )
    Args: ClassVar[type[Any]] = CommandArgs

    def __init__(self, seconds: float, *, allow_unsafe: bool = False) -> None:
        self.seconds = seconds
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse an empty command, and a line that only a shell could run."""
        if fault := misfit(CommandArgs, check):
            return fault
        args = args_of(CommandArgs, check)
        try:
            argv = args.argv
        except ValueError as error:
            return f"the command line cannot be split: {error}"
        if not argv or not argv[0].strip() or any("\0" in word for word in argv):
            return "the command is empty"
        if shell := _needs_shell(args.run):
            return f"{shell} needs a shell, and there is none"
        return None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the exit status is the wanted one and the text was printed, to stdout or stderr."""
        args = args_of(CommandArgs, check)
        ran = run(args.argv, tree.root, seconds=self.seconds, allow_unsafe=self.allow_unsafe)
        printed = args.prints is None or args.prints in ran.out or args.prints in ran.err
        says = "ran " + shlex.join(args.argv)
        return Outcome(met=ran.exit == args.exit and printed, says=says, saw=seen(ran, tree), strength=WEAK)


def _needs_shell(command: tuple[str, ...] | str) -> str | None:
    """What in a command only a shell understands; None where there is nothing."""
    if isinstance(command, str):
        if "\n" in command.strip():
            return "a second line"
        lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(SHELL))
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer)
        if quoted := [mark for mark in ("$(", "`") if mark in command and any(mark in word for word in words)]:
            return quoted[0]
        if "=" in words[0].partition("/")[0]:
            return "a variable before the command"
    else:
        words = [word for word in command if len(word) <= 2]
    return next((word for word in words if word and set(word) <= SHELL), None)


def seen(ran: Ran, tree: Tree) -> str:
    """What a command printed and how it ended, without what differs from run to run."""
    ended = (
        "killed at its time limit"
        if ran.timed_out
        else "killed for printing too much"
        if ran.cut
        else "killed for writing too much"
        if ran.full
        else f"exit {ran.exit}"
    )
    parts = [ended]
    parts += [
        f"{name}:\n{normalised(text, tree)}"
        for name, text in (("stdout", ran.out), ("stderr", ran.err))
        if text.strip()
    ]
    return "\n".join(parts)


def normalised(text: str, tree: Tree) -> str:
    """What a program printed, cut, without what differs from run to run: places, addresses, durations."""
    text = text.replace(str(tree.root), ".").replace(str(tree.root.parent), "..")
    text = re.sub(rf"{re.escape(tempfile.gettempdir())}/{SCRATCH}\d+-\w{{8}}(/{HOME})?", "/tmp", text)  # noqa: S108 - it is shown, not used
    text = ADDRESS.sub("0x...", DURATION.sub("... s", text)).strip()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n[cut: {len(text) - SHOWN} more characters]"
