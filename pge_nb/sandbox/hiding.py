"""Keeping this package from being read inside, where it is installed among what must be readable: it holds hidden cases.

Landlock grants and never takes back, so what is granted is all that stands beside the way to the package: one rule for each
package that is installed. Made anew for each run that would take longer than everything else, and so a ruleset is made once,
kept open, and put on beside the run's own.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
READ_FILE, REFER = 1 << 2, 1 << 13
CREATE_RULESET, ADD_RULE, BENEATH = 444, 445, 1

MOST_KEPT = 64
"""Rulesets that are kept open; an older one is of a moment that no run starts from any more."""

_made: dict[tuple[object, ...], int] = {}
_making = threading.Lock()


def copies() -> tuple[str, ...]:
    """Every copy of the package that an import could find: a checkout may stand beside one that is installed."""
    return _copies(PACKAGE, tuple(sys.path))


@functools.cache
def _copies(package: Path, path: tuple[str, ...]) -> tuple[str, ...]:
    found = (os.path.join(place or os.curdir, package.name) for place in path)  # noqa: PTH118 - entries may be anything
    others = (os.path.realpath(place) for place in found if os.path.isfile(os.path.join(place, "__init__.py")))  # noqa: PTH113, PTH118
    return tuple(dict.fromkeys([os.path.realpath(package), *others]))


def is_within(places: tuple[str, ...]) -> bool:
    """Whether a copy of the package lies in one of these places."""
    return _is_within(places, copies())


@functools.cache
def _is_within(places: tuple[str, ...], hidden: tuple[str, ...]) -> bool:
    return any(one.startswith(os.path.realpath(place).rstrip("/") + "/") for place in places for one in hidden)


def handled(version: int) -> int:
    """The rights that such a ruleset is about. Moving between directories is refused by each ruleset that is silent on it."""
    return READ_FILE | (REFER if version >= 2 else 0)


def beside(shown: Sequence[str]) -> Iterator[str]:
    """All that stands beside the ways from the root to the package, and what of it is to be seen all the same."""
    folders = _ancestors()
    way = {*folders, *copies()}
    for folder in folders:
        # What may not be listed holds nothing that is of use here; what a link leads to has a place of its own.
        with contextlib.suppress(PermissionError), os.scandir(folder) as entries:
            yield from (entry.path for entry in entries if entry.path not in way and not entry.is_symlink())
    yield from shown


def ruleset(version: int, shown: Sequence[str]) -> int:
    """A descriptor of that ruleset, kept open by this process; another one where something was installed in between."""
    key = (version, *shown, *((folder, os.stat(folder).st_mtime_ns) for folder in _ancestors()))  # noqa: PTH116
    with _making:
        if key not in _made:
            _made[key] = _new_ruleset(version, shown)
            # Where the package stands below the temporary directory, each scratch directory is something new beside its way.
            while len(_made) > MOST_KEPT:
                os.close(_made.pop(next(iter(_made))))
        return _made[key]


def _ancestors() -> list[str]:
    return list(dict.fromkeys(os.fspath(folder) for copy in copies() for folder in Path(copy).parents))


def _new_ruleset(version: int, shown: Sequence[str]) -> int:
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall

    def call(number: int, *args: object) -> int:
        got = int(syscall(ctypes.c_long(number), *args))
        if got < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return got

    made = call(CREATE_RULESET, struct.pack("=Q", handled(version)), ctypes.c_size_t(8), ctypes.c_long(0))
    for path in beside(shown):
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # It has gone, or this user may not look at it anyway.
        try:
            rights = handled(version) if stat.S_ISDIR(os.fstat(place).st_mode) else READ_FILE
            call(
                ADD_RULE,
                ctypes.c_long(made),
                ctypes.c_long(BENEATH),
                struct.pack("=Qi", rights, place),
                ctypes.c_long(0),
            )
        finally:
            os.close(place)
    return made
