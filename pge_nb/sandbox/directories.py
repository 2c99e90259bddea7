"""Temporary directories that are gone afterwards, whatever was left in them."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SCRATCH = "pge-"
"""How the name of a scratch directory begins; the process and eight characters more follow."""
A_DAY = 86_400


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary directory, gone afterwards whatever was left in it. Its name tells whose it is, should that be killed."""
    _sweep()
    path = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))
    try:
        yield path
    finally:
        _remove(path)


@functools.cache
def _sweep() -> None:
    """Once in a process: remove what processes that were killed have left behind, a day or longer ago."""
    if os.name != "posix":
        return
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*"):
        named = re.fullmatch(rf"{SCRATCH}([1-9][0-9]{{0,8}})-\w{{8}}", path.name)
        with contextlib.suppress(OSError):
            facts = path.lstat()
            own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if named and own and time.time() - facts.st_mtime > A_DAY and not _runs(int(named[1])):
                _remove(path)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # It is another user's.
        pass
    return True


def _remove(path: Path) -> None:
    _open_up(path)
    shutil.rmtree(path, ignore_errors=True)


def _open_up(path: Path) -> None:
    """Give back the right to look into every directory below: what was run may have taken it away."""
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for folder, folders, _ in os.walk(path):
        for inner in (Path(folder, name) for name in folders):
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
