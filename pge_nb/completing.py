"""Completion after ``%pge`` and ``%%pge``: subcommands, what each takes, addresses, tasks, models, files and variables.

A key press is no place for an error or for waiting: whatever goes wrong, nothing is offered; no lock is waited for, no large
file read, and pandas not imported.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from .errors import PgeError
from .interrupts import held_back

if TYPE_CHECKING:
    from .commands import Command, Here
    from .commands.grammar import Argument
    from .run import Run

MATCHER = "pge_nb"
LINE = re.compile(r"(?:[^=%]+=)?\s*%%?pge\s")
"""A line of ours, also one whose view is assigned to a name."""
LARGEST = 4_000_000
"""Bytes of a state file that is read for its addresses: a tenth of a second or so."""
MOST_ENTRIES = 2_000
"""Entries of a directory that are looked through."""
JSON_KINDS = (bool, int, float, str, list, tuple, dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a completion may know: the place, and the variables of the notebook."""

    here: Here
    variables: Mapping[str, object]
    hidden: Collection[str] = ()
    """Names that IPython itself put there."""


def register(shell: Any, here: Callable[[], Here]) -> None:
    """Complete lines of the shell; ``here`` gives the place when it is first needed."""

    @context_matcher(identifier=MATCHER)  # type: ignore[untyped-decorator]
    def match(context: CompletionContext) -> SimpleMatcherResult:
        found: list[str] = []
        line, raw = context.text_until_cursor, ""
        if ours := LINE.match(line):
            _, _, raw = typed(line[ours.end() :])
            with contextlib.suppress(Exception):
                around = Around(here=here(), variables=shell.user_ns, hidden=shell.user_ns_hidden)
                found = offered(line[ours.end() :], around)
        return SimpleMatcherResult(
            completions=[SimpleCompletion(text=word, type="pge") for word in found],
            matched_fragment=raw,
            suppress=True,  # what Python would offer there, a pge line cannot take
            ordered=True,
        )

    shell.Completer.custom_matchers.append(match)


def unregister(shell: Any) -> None:
    """Complete them no more."""
    matchers = shell.Completer.custom_matchers
    matchers[:] = [one for one in matchers if getattr(one, "matcher_identifier", "") != MATCHER]


def offered(text: str, around: Around) -> list[str]:
    """What the last word of ``text``, which follows %pge, may become."""
    words, begun, raw = typed(text)
    found = dict.fromkeys(candidates(words, begun, around))
    return [quoted(word, raw) for word in found if word.startswith(begun)]


def typed(text: str) -> tuple[list[str], str, str]:
    """The words that are whole, the one that is begun, and this one as it stands there, with its quotes."""
    words: list[str] = []
    word, raw, quote = "", "", ""
    for char in text:
        if char.isspace() and not quote:
            words += [word] if raw else []
            word, raw = "", ""
            continue
        raw += char
        if char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        else:
            word += char
    return words, word, raw


def quoted(word: str, raw: str) -> str:
    """The word as it is to be written after ``raw``, the beginning of it that is there."""
    quote = raw[0] if raw[:1] in ("'", '"') else "'" if '"' in word else '"'
    return (
        f"{quote}{word}{quote}" if raw[:1] == quote or any(char.isspace() or char in "\"'" for char in word) else word
    )


def candidates(words: Sequence[str], begun: str, around: Around) -> list[str]:
    """What may stand after ``words``, where ``begun`` is already there of it."""
    with held_back():
        from .commands import COMMANDS

    if not words:
        return [*COMMANDS, *around.here.names(), "--help"]
    if words[0] not in COMMANDS or words[-1] == "-o":
        return []
    return list(_of_command(words[0], COMMANDS[words[0]], words[1:], begun, around))


def _of_command(name: str, command: Command, words: Sequence[str], begun: str, around: Around) -> Iterator[str]:
    from .commands.grammar import arguments

    known = arguments(command)
    flags = {argument.flag: argument for argument in known if argument.flag}
    flag, equals, value = begun.partition("=")
    if equals and flag in flags:
        yield from (f"{flag}={one}" for one in values(name, flags[flag], (), value, around))
        return
    last = flags.get(words[-1]) if words else None
    if last is not None and last.takes_word:
        yield from values(name, last, (), begun, around)
        return
    plain = _plain(words, flags)
    places = [argument for argument in known if not argument.flag]
    if not begun.startswith("-") and places and (len(plain) < len(places) or places[-1].many):
        yield from values(name, places[min(len(plain), len(places) - 1)], plain, begun, around)
    if begun.startswith("-") or not begun:
        given = {word.partition("=")[0] for word in words}
        yield from (flag for flag in (*flags, "-o", "--help") if flag not in given)


def _plain(words: Sequence[str], flags: Mapping[str, Argument]) -> list[str]:
    """The words that are neither flags nor their values."""
    takes_value = {flag for flag, argument in flags.items() if argument.takes_word} | {"-o"}
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith("-") and before not in takes_value
    ]


def values(command: str, argument: Argument, before: Sequence[str], begun: str, around: Around) -> Iterator[str]:
    """The same, as far as it can be told: a file that cannot be read takes away nothing but what it would have told."""
    with contextlib.suppress(PgeError, OSError, ValueError):
        yield from _values(command, argument, before, begun, around)


def _values(command: str, argument: Argument, before: Sequence[str], begun: str, around: Around) -> Iterator[str]:
    """What an argument may be, as far as that is known; ``before`` are the plain words that stand before it."""
    from . import bank
    from .commands import COMMANDS
    from .commands.every_day import ROLES

    if argument.choices:
        yield from argument.choices
    elif argument.flag == "--practice":
        yield from bank.NAMES
    elif argument.flag == "--model" or command == "model":
        yield from _models(begun)
    elif argument.flag == "--in":
        yield from _variables(begun, around)
    elif argument.flag == "--skills":
        yield from (name for name, value in around.here.variables.items() if _are_skills(value) and name[0] != "_")
    elif argument.flag == "--state":
        yield from _paths(begun, around.here.directory, (".md",))
    elif argument.name == "command":
        yield from COMMANDS
    elif argument.name == "name":
        yield from around.here.names()
    elif argument.name == "run":
        yield from _runs(around.here)
        if command in {"open", "verify"}:
            yield from _paths(begun, around.here.directory, (".zip", ".md"))
    elif argument.name in {"at", "old", "new"}:
        if tuple(before) == ("prompt",):
            yield from ROLES
        yield from _addresses(begun, around.here)


def _are_skills(value: object) -> bool:
    from .skills import Skill

    return isinstance(value, Mapping) and bool(value) and all(isinstance(one, Skill) for one in value.values())


def _models(begun: str) -> Iterator[str]:
    from .models.choose import RECORDING
    from .models.limits import Prices

    if begun.startswith(RECORDING):
        yield from (f"{RECORDING}{path}" for path in _paths(begun.removeprefix(RECORDING), Path(), (".jsonl",)))
        return
    yield from ("practice", RECORDING, *sorted(Prices.load().models))


def _variables(begun: str, around: Around) -> Iterator[str]:
    """After a comma the next one; frames, and what can be written as JSON as far as its type tells."""
    chosen, comma, _ = begun.rpartition(",")
    frame = getattr(sys.modules.get("pandas"), "DataFrame", ())
    for name, value in list(around.variables.items()):
        own = name.startswith("_") or name in around.hidden or name in chosen.split(",")
        if not own and isinstance(value, (*JSON_KINDS, frame) if frame else JSON_KINDS):
            yield f"{chosen}{comma}{name}"


def _paths(begun: str, base: Path, endings: tuple[str, ...]) -> Iterator[str]:
    """Files with these endings, and directories, at the path that is begun."""
    from .commands.here import path_of

    folder, slash, name = begun.rpartition("/")
    with os.scandir(base / path_of(f"{folder}{slash}")) as entries:
        for entry in itertools.islice(entries, MOST_ENTRIES):
            if entry.name.startswith(".") and entry.name != ".pge" and not name.startswith("."):
                continue
            if entry.is_dir() or entry.name.endswith(endings):
                yield f"{folder}{slash}{entry.name}{'/' if entry.is_dir() else ''}"


# Addresses


def _runs(here: Here) -> Iterator[str]:
    """How the runs here are named, without the one that stands beside the notebook."""
    for name in ("", *here.names()):
        yield from [name] if name else []
        yield from (f"{name}@{number}" for number in here.elsewhere(name).place.earlier())


def _addresses(begun: str, here: Here) -> Iterator[str]:
    from .commands.addresses import run_named

    head, colon, where = begun.partition(":")
    if colon:
        place = run_named(head, here) if head else here
        yield from (f"{head}:{one}" for one in _places(where, glance(place.path)))
    else:
        yield from _places(begun, glance(here.path))
        yield from (f"{run}:" for run in _runs(here))


def _places(begun: str, run: Run | None) -> Iterator[str]:
    """Steps and attempts; after a slash, the checks of the step and the criteria."""
    at, slash, _ = begun.partition("/")
    for step in run.every_step if run else ():
        attempts = [f"{step.number}.{attempt}" for attempt in run.attempts(step.number)] if run else []
        if not slash:
            yield from (str(step.number), *attempts)
        elif run and at in (str(step.number), *attempts):
            contract = run.contract(step.number)
            yield from (f"{at}/{check.id}" for check in (contract.checks if contract else ()))
            yield from (f"{at}/{criterion.name}" for criterion in (run.plan.criteria if run.plan else ()))


def glance(path: Path) -> Run | None:
    """The run of a state file as it stands this moment, without a lock; None where there is none, or it is large."""
    from .disk import UnlockedDisk
    from .state import StateFile

    if not path.is_file() or path.stat().st_size > LARGEST:
        return None
    return StateFile(path, disk=UnlockedDisk(path)).read()
