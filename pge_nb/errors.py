"""What can go wrong, each with the fact and the next move.

PgeError
├── BadInput         an argument, a setting or a file that cannot be used as it is
├── StateDamaged     a state file whose chain of hashes is broken
├── StateBusy        another process is running this task
├── ModelFailed      a model could not be asked: no key, refused, unreachable
├── SandboxUnavailable   nothing here can keep generated code in
├── LimitReached     the next call would pass a limit on calls, tokens or dollars
└── Uninformative    a statistic that these data cannot give
"""

from __future__ import annotations

import re
from collections.abc import Callable

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal would carry out, or that reorder others; a fact may quote a file, a reply or an exception."""


class PgeError(Exception):
    """An error that a person can act on.

    ``fact`` says what is so, ``next_move`` what to do about it; a notebook shows these two lines and no traceback.
    """

    def __init__(self, fact: str, next_move: str) -> None:
        super().__init__(fact, next_move)
        self.fact = fact
        self.next_move = next_move

    def __str__(self) -> str:
        return _harmless(f"{self.fact}\n{self.next_move}")

    def _render_traceback_(self) -> list[str]:
        return [_harmless(f"{type(self).__name__}: {self.fact}"), _harmless(self.next_move)]


class BadInput(PgeError):
    """An argument, a setting or a file that cannot be used as it is."""


class StateDamaged(PgeError):
    """A state file whose chain of hashes is broken."""


class StateBusy(PgeError):
    """Another process is running this task."""


class ModelFailed(PgeError):
    """A model could not be asked: no key, refused, unreachable."""


class SandboxUnavailable(PgeError):
    """Nothing on this machine can keep generated code in, or not as it was asked for."""


class LimitReached(PgeError):
    """The next call would pass a limit on calls, tokens or dollars."""


class Uninformative(PgeError):
    """A statistic that these data cannot give."""


class Stopped(KeyboardInterrupt):
    """A person pressed Ctrl-C. An interrupt like any other, shown in two lines."""

    def __str__(self) -> str:
        return "\n".join(self._render_traceback_())

    def _render_traceback_(self) -> list[str]:
        return ["Stopped.", "%pge shows where the run stands, and %pge resume goes on from there."]


def quoted(value: object, most: int = 40, shown: Callable[[object], str] = repr) -> str:
    """A value as a fact quotes it, cut; its type where it cannot be shown, as a number of 5,000 digits cannot."""
    try:
        return shown(value)[:most]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return f"a {type(value).__name__} that cannot be shown"


def _harmless(text: str) -> str:
    return COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
