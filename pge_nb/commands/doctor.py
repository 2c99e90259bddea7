"""What holds generated code in on this machine, found out by trying to get out."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping

from ..display import Cell, Table, View, Words
from ..sandbox.filters import supported
from ..sandbox.probe import ATTEMPTS, Found, attempt
from ..sandbox.rungs import Rung, landlock_version, rungs
from .here import Here

SAYS: Mapping[str, str] = {
    "write_outside": "make a file outside",
    "tcp": "TCP",
    "tcp_fastopen": "TCP without connecting",
    "mptcp": "MPTCP",
    "udp": "UDP",
    "listen_tcp": "serve TCP",
    "unix_socket": "a socket with a path",
    "unix_abstract": "an abstract socket",
    "unix_by_pair": "either through half a pair",
    "environment": "keys in the environment",
    "parent_environment": "the environment of the parent",
    "parent_memory": "the memory of the parent",
    "new_session": "a daemon's session",
    "new_group": "another process group",
    "io_uring": "io_uring",
    "memory_file": "memory that no limit counts",
    "many_processes": "200 processes",
    "much_memory": "3 GB of memory",
    "many_descriptors": "500 open files",
    "large_file": "a file of 100 MB",
}
"""Attempts whose names do not say it."""


def doctor(here: Here) -> View:  # noqa: ARG001
    """Try to get out of the sandbox in every way known here, and say what holds, what each layer blocks, and what to do."""
    tried = [(rung, attempt(rung, [name for names in ATTEMPTS.values() for name in names])) for rung in rungs()]
    # The same rung as is used: too much of something is no escape, and is told below.
    bounds = set(ATTEMPTS["Bounds"])
    found = next((one for _, one in tried if not one.failed and one.escapes.keys() <= bounds), None)
    heads = ("Layer", "Here", "What it blocks", "What to do")
    blocks: list[Table | Words] = [Table(caption="Layers", heads=heads, rows=tuple(_layers(found, tried)))]
    blocks += [_attempts(found)] if found else []
    return View(
        title="Sandbox",
        mark="holds" if found else "broken",
        blocks=(*blocks, Words(_summary(found, tried))),
        next="%pge tasks" if found else "%pge help run",
    )


def _summary(found: Found | None, tried: list[tuple[Rung, Found]]) -> str:
    if found:
        return f"{found.rung.says[0].upper()}{found.rung.says[1:]}."
    told = "; ".join(f"{' + '.join(rung.layers)}: {_why(one)}" for rung, one in tried) or "no layer is there"
    return (
        f"Nothing here keeps generated code in ({told}), so no task is begun. In Python, HarnessConfig(allow_unsafe=True) "
        "runs it all the same, as you and with your files; every output then says so."
    )


def _why(found: Found) -> str:
    return found.failed or f"let through {', '.join(map(_name, found.escapes))}"


def _name(attempted: str) -> str:
    return SAYS.get(attempted, attempted.replace("_", " "))


def _attempts(found: Found) -> Table:
    rows = []
    for what, names in ATTEMPTS.items():
        out = [name for name in names if name in found.escapes]
        told = f"let through: {', '.join(map(_name, out))}" if out else f"blocked, all {len(names)}"
        rows.append((what, told, ", ".join(map(_name, names))))
    return Table(caption="Tried just now, in a child", heads=("What", "What came of it", "Attempts"), rows=tuple(rows))


def _layers(found: Found | None, tried: list[tuple[Rung, Found]]) -> Iterator[tuple[Cell, ...]]:
    on = set(found.rung.layers) if found else set()
    yield from (_row(name, here, blocks, move, on) for name, here, blocks, move in _known(tried))
    yield (
        "resource limits",
        "on",
        "too much time, memory, output, disk, too many files, descriptors and processes",
        "the limit on processes does not hold here: run as another user than root"
        if found and "many_processes" in found.escapes
        else None,
    )


def _row(name: str, here: str, blocks: str, move: str | None, on: set[str]) -> tuple[Cell, ...]:
    return (name, f"on{f', {here}' if here else ''}" if name in on else here or "off", blocks, move)


def _known(tried: list[tuple[Rung, Found]]) -> Iterator[tuple[str, str, str, str | None]]:
    """Each layer of this system: its name, what is said of it here, what it blocks, what to do where it is weak."""
    if sys.platform == "darwin":
        yield (
            "Seatbelt",
            "",
            "files outside, the network, other processes",
            "It was written without a Mac to try it on.",
        )
        return
    if sys.platform != "linux":
        yield "none", "", "nothing", f"There is no sandbox for {platform.system()}; a Linux container has one."
        return
    version = landlock_version()
    yield "bubblewrap", *_bubblewrap(tried)
    yield (
        "a user id of its own",
        "" if os.geteuid() == 0 else "not needed: you are not root",
        "files and processes of others, however they are reached; too many processes",
        None,
    )
    yield "Landlock", f"version {version}" if version else "not there", _LANDLOCK, _landlock(version)
    yield (
        "seccomp",
        "" if supported(platform.machine()) else f"the system calls of {platform.machine()} are not known",
        "UDP, MPTCP and Unix sockets, namespaces and mounts, permissions and times of files, ptrace, leaving the process group",
        None,
    )


_LANDLOCK = "writing outside, reading files of yours, TCP ports that were not chosen, signals to other processes"


def _landlock(version: int) -> str | None:
    if not version:
        return "Linux 5.13 or newer, with landlock among its security modules; a container must allow its system calls."
    if version < 4:
        return "Notebook and server reviews are refused: they need version 4 (Linux 6.7)."
    if version < 6:
        return "What is run cannot signal its own children below version 6 (Linux 6.12)."
    return None


def _bubblewrap(tried: list[tuple[Rung, Found]]) -> tuple[str, str, str | None]:
    blocks = "the sight of other processes and files"
    if os.geteuid() == 0:
        return "not for root", blocks, None
    if shutil.which("bwrap") is None:
        return "not installed", blocks, "Optional: the package bubblewrap adds this layer."
    failed = next((_why(one) for rung, one in tried if rung.bubblewrap and not one.holds), None)
    return ("does not start here", blocks, f"Optional: {failed}.") if failed else ("", blocks, None)
