"""Completion after ``%pge`` and ``%%pge``: subcommands, what each takes, tasks, models and addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import PgeError

if TYPE_CHECKING:
    from .commands import Command, Here
    from .commands.grammar import Argument

HOOK = "complete_command"
KEYS = ("%pge", "%%pge")
ADDRESSES = frozenset({"at", "old", "new"})


def register(shell: Any, here: Callable[[], Here]) -> None:
    """Complete lines of the shell; ``here`` gives the place when it is first needed."""

    def complete(_: object, event: Any) -> list[str]:
        words = event.text_until_cursor.split("\n")[-1].split()
        begun = words[1:-1] if event.symbol and words[-1].endswith(event.symbol) else words[1:]
        return candidates(begun, event.symbol, here())

    for key in KEYS:
        shell.set_hook(HOOK, complete, str_key=key)


def unregister(shell: Any) -> None:
    """Complete them no more."""
    for key in KEYS:
        shell.strdispatchers[HOOK].strs.pop(key, None)


def candidates(words: Sequence[str], begun: str, here: Here) -> list[str]:
    """What may stand after ``words``, where ``begun`` is already there of it."""
    from .commands import COMMANDS

    if not words:
        found = [*COMMANDS, *here.names()]
    elif words[0] not in COMMANDS:
        found = []
    else:
        found = _of_command(words[0], COMMANDS[words[0]], words[1:], begun, here)
    return [word for word in found if word.startswith(begun)]


def _of_command(name: str, command: Command, words: Sequence[str], begun: str, here: Here) -> list[str]:
    from .commands.grammar import arguments

    known = arguments(command)
    flags = {argument.flag: argument for argument in known if argument.flag}
    last = flags.get(words[-1]) if words else None
    if last is not None and last.kind is not bool:
        return _values(name, last, here)
    unused = [*(flag for flag in flags if flag not in words), "-o"]
    if begun.startswith("-"):
        return unused
    plain = _plain(words, flags)
    places = [argument for argument in known if not argument.flag]
    at = places[min(len(plain), len(places) - 1)] if places and (len(plain) < len(places) or places[-1].many) else None
    return (_values(name, at, here) if at else []) or unused


def _plain(words: Sequence[str], flags: dict[str, Argument]) -> list[str]:
    """The words that are neither flags nor their values."""
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and not (before in flags and flags[before].kind is not bool)
    ]


def _values(command: str, argument: Argument, here: Here) -> list[str]:
    """What an argument may be, as far as that is known."""
    from . import bank
    from .commands import COMMANDS

    if argument.choices:
        return list(argument.choices)
    if argument.flag == "--practice":
        return [task.name for task in bank.tasks()]
    if argument.flag == "--model" or command == "model":
        return _models()
    if argument.name == "command":
        return list(COMMANDS)
    if argument.name == "name":
        return here.names()
    return _addresses(here) if argument.name in ADDRESSES else []


def _models() -> list[str]:
    from .models.limits import Prices

    return ["practice", "recording:", *sorted(Prices.load().models)]


def _addresses(here: Here) -> list[str]:
    """The steps and attempts of the run here; none where it cannot be read: a key press is no place for an error."""
    try:
        run = here.run()
    except PgeError:
        return []
    steps = [step.number for step in run.steps] if run else []
    attempts = [f"{step}.{attempt}" for step in steps if run for attempt in run.attempts(step)]
    return [*map(str, steps), *attempts]
