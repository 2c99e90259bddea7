"""`command`: a command is run in a throwaway copy of the tree; its exit status and output decide."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any, ClassVar

from ..records import Check
from ..sandbox import Ran, run
from ..workspace import Tree
from . import Outcome, args_of, misfit

SHOWN = 6_000
DURATION = re.compile(r"\b\d+(?:\.\d+)?\s?(?:s|ms|sec|seconds|µs|us)\b")
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

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def vet(self, check: Check) -> str | None:
        """Refuse an empty command, and a line that only a shell could run."""
        if fault := misfit(CommandArgs, check):
            return fault
        try:
            argv = args_of(CommandArgs, check).argv
        except ValueError as error:
            return f"the command line cannot be split: {error}"
        if not argv or any("\0" in word for word in argv):
            return "the command is empty"
        if shell := {"|", "&&", "||", ";", ">", "<", ">>"} & set(argv):
            return f"{min(shell)} needs a shell, and there is none"
        return None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the exit status is the wanted one and the text was printed, to stdout or stderr."""
        args = args_of(CommandArgs, check)
        ran = run(args.argv, tree.root, seconds=self.seconds)
        printed = args.prints is None or args.prints in ran.out or args.prints in ran.err
        says = "ran " + shlex.join(args.argv)
        return Outcome(met=ran.exit == args.exit and printed, says=says, saw=seen(ran, tree), strength=WEAK)


def seen(ran: Ran, tree: Tree) -> str:
    """What a command printed and how it ended, without what differs from run to run."""
    ended = (
        "killed at its time limit"
        if ran.timed_out
        else "killed for printing too much"
        if ran.cut
        else f"exit {ran.exit}"
    )
    parts = [ended]
    parts += [
        f"{name}:\n{_shown(text, tree)}" for name, text in (("stdout", ran.out), ("stderr", ran.err)) if text.strip()
    ]
    return "\n".join(parts)


def _shown(text: str, tree: Tree) -> str:
    text = text.replace(str(tree.root), ".").replace(str(tree.root.parent), "..")
    text = ADDRESS.sub("0x...", DURATION.sub("... s", text)).strip()
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n[cut: {len(text) - SHOWN} more characters]"
