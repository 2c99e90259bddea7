"""The programs that a rung may put around the launcher: bubblewrap on Linux, Seatbelt on macOS."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from .hiding import PACKAGE, copies
from .orders import DEVICES, SYSTEM, children, own_places
from .rungs import Rung


def wrapped(launch: Sequence[str], rung: Rung, *, cwd: Path, place: Path, ports: bool) -> list[str]:
    """The launcher's command line with what goes around it. ``place`` holds its orders, and the home of what is run."""
    if rung.bubblewrap:
        return [rung.bubblewrap, *_namespaces(cwd, place, ports=ports), "--", *launch]
    if rung.seatbelt:
        return [rung.seatbelt, "-p", profile(cwd, place), *launch]
    return list(launch)


def _namespaces(cwd: Path, place: Path, *, ports: bool) -> Iterator[str]:
    yield from ("--unshare-all", "--die-with-parent", *(("--share-net",) if ports else ()))
    for path in (*SYSTEM, *own_places()):
        if not path.startswith(("/dev", "/proc")):
            yield from ("--ro-bind-try", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev")
    # Over this package, which holds the cases that oracles keep hidden, an empty directory with what runs inside alone.
    for copy in filter(os.path.isdir, copies()):
        yield from ("--tmpfs", copy)
    if os.path.isdir(PACKAGE):  # noqa: PTH112
        for script in children():
            yield from ("--ro-bind", script, script)
    for writable in (cwd, place / "home"):
        yield from ("--bind", os.fspath(writable), os.fspath(writable))
    yield from ("--ro-bind", os.fspath(place / "orders"), os.fspath(place / "orders"))


def profile(cwd: Path, place: Path) -> str:
    """The Seatbelt profile: written after Apple's format, and not tested on a Mac yet."""
    reads = [
        *SYSTEM,
        "/System",
        "/Library/Frameworks",
        "/private/etc",
        "/private/var/db/timezone",
        *own_places(),
        *children(),
    ]
    readable = "".join(f"(subpath {_quoted(path)})" for path in reads)
    writable = "".join(f"(subpath {_quoted(os.path.realpath(path))})" for path in (cwd, place))
    devices = "".join(f"(literal {_quoted(path)})" for path in DEVICES)
    hidden = " ".join(f"(subpath {_quoted(os.path.join(copy, 'bank'))})" for copy in copies())  # noqa: PTH118
    return (
        "(version 1)(deny default)(allow process-fork)(allow process-exec)(allow sysctl-read)(allow mach-lookup)"
        "(allow signal (target same-sandbox))(allow file-read-metadata)"
        f"(allow file-read* {readable}{writable}{devices})(allow file-write* {writable}{devices})"
        f"(deny file-read-data {hidden})(deny network*)"
    )


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
