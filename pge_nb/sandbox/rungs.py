"""The rungs of the ladder: which layers can stand between generated code and this machine, the safest first."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from .filters import supported

NOT_ISOLATED = "not isolated: generated code ran as this user, within a time limit and with a scrubbed environment only"
RULESET, ASK_VERSION = 444, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """The layers that are put on together. ``landlock`` is the version of its rules that is used, 0 where there is none.

    ``other_user``: root becomes a user that nobody else is. ``bubblewrap`` and ``seatbelt`` are the programs' paths.
    """

    landlock: int = 0
    seccomp: bool = False
    other_user: bool = False
    bubblewrap: str = ""
    seatbelt: str = ""

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers, outermost first."""
        there = {
            "Seatbelt": bool(self.seatbelt),
            "bubblewrap": bool(self.bubblewrap),
            "a user id of its own": self.other_user,
            "Landlock": self.landlock > 0,
            "seccomp": self.seccomp,
        }
        return tuple(name for name, held in there.items() if held)

    @property
    def supervised(self) -> bool:
        """Whether the launcher stays beside the program, to end and to bury all that it started."""
        return self.landlock > 0 and not self.bubblewrap

    @property
    def says(self) -> str:
        """What keeps generated code from doing harm, in words: how state file and views tell it."""
        if not self.layers:
            return NOT_ISOLATED
        return (
            "isolated: generated code wrote in its own directory alone, read no files of this user, and reached neither the "
            f"network nor another process ({', '.join(self.layers)} and resource limits)"
        )


def rungs() -> Iterator[Rung]:
    """The rungs that this machine may have, best first. Whether one holds is found out by trying (`pge_nb.sandbox.probe`)."""
    if sys.platform == "linux":
        version, seccomp = landlock_version(), supported(platform.machine())
        root = os.geteuid() == 0
        # Inside bubblewrap root stays root to the kernel, for whom no limit on processes holds.
        wrapper = None if root else shutil.which("bwrap")
        if wrapper and seccomp:
            yield Rung(landlock=version, seccomp=True, bubblewrap=wrapper)
        if version and seccomp:
            yield from (
                Rung(landlock=version, seccomp=True, other_user=other)
                for other in ((True, False) if root else (False,))
            )
    elif sys.platform == "darwin" and (wrapper := shutil.which("sandbox-exec")):
        yield Rung(seatbelt=wrapper)


@functools.cache
def landlock_version() -> int:
    """The version of Landlock's rules that this kernel has; 0 where it has none, or a container forbids it."""
    import ctypes

    answer = ctypes.CDLL(None, use_errno=True).syscall(
        ctypes.c_long(RULESET), None, ctypes.c_size_t(0), ctypes.c_long(ASK_VERSION)
    )
    return max(0, int(answer))
