"""Does a rung hold? Things of our own are laid out to be reached, a child tries to reach them, and both sides are looked at."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SandboxUnavailable
from . import Bounds, run
from .directories import scratch
from .rungs import Rung, rungs
from .watching import Ran

CHILD = Path(__file__).with_name("attempts_child.py")
SECONDS = 20.0
KEPT = "kept"
LAID = {KEPT, "secret", "unix", "unix_datagram"}
LOCK = threading.Lock()

ATTEMPTS: Mapping[str, tuple[str, ...]] = {
    "Files outside": (
        *("write_outside", "change_outside", "truncate_outside", "truncate_by_reading", "rename_outside", "move_in"),
        *("hard_link", "symlink_outside", "write_through_symlink", "remove_outside", "device_node"),
    ),
    "Secrets": ("read_secret", "list_outside", "environment", "parent_environment", "parent_memory"),
    "Permissions, owners and times": ("change_mode", "change_times", "change_owner"),
    "The network": ("tcp", "tcp_fastopen", "mptcp", "udp", "listen_tcp", "raw_socket", "netlink"),
    "Sockets of this machine": ("unix_socket", "unix_abstract", "unix_by_pair"),
    "Other processes": (
        *("trace_parent", "read_parent", "signal_parent", "signal_by_owner"),
        *("limit_parent", "slow_parent", "pin_parent", "shared_memory"),
    ),
    "Outliving the run": ("new_session", "new_group"),
    "The kernel": ("namespace", "namespace_by_clone", "mount", "keyring", "io_uring", "bpf", "memory_file"),
    "Bounds": ("much_memory", "many_descriptors", "large_file", "many_processes"),
}
"""What is tried, by what it would reach. The last are no escapes but too much of something."""
QUICK = tuple(name for what, names in ATTEMPTS.items() if what != "Bounds" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of trying: ``escapes`` attempt -> what it did; ``failed`` why no attempt could be made, else empty."""

    rung: Rung
    escapes: Mapping[str, str]
    failed: str = ""

    @property
    def holds(self) -> bool:
        """Whether a child ran, and nothing got out of it."""
        return not self.failed and not self.escapes


def standing() -> Rung | None:
    """The best rung that holds on this machine; None where none does. Tried once in a process."""
    with LOCK:
        return _standing()


@functools.cache
def _standing() -> Rung | None:
    return next((rung for rung in rungs() if attempt(rung, QUICK).holds), None)


def attempt(rung: Rung, names: Sequence[str]) -> Found:
    """Make these attempts in a child on a rung."""
    with scratch() as outside, _reachable(outside) as there:
        asked = json.dumps({**there, "attempts": list(names)}).encode()
        with scratch() as inside:
            try:
                ran = run(
                    [sys.executable, "-I", os.fspath(CHILD)],
                    inside,
                    seconds=SECONDS,
                    stdin=asked,
                    bounds=Bounds(memory=1 << 30),
                    rung=rung,
                )
            except SandboxUnavailable as error:
                return Found(rung=rung, escapes={}, failed=error.fact)
        escapes = _told(ran)
        if isinstance(escapes, str):
            return Found(rung=rung, escapes={}, failed=escapes)
        if {path.name for path in outside.iterdir()} != LAID or (outside / KEPT).read_text() != KEPT:
            escapes["seen from outside"] = "files outside were changed"
        return Found(rung=rung, escapes=escapes)


def _told(ran: Ran) -> dict[str, str] | str:
    """What the child says it did; a text where it could say nothing."""
    try:
        told = json.loads(ran.out)
    except ValueError:
        last = ran.err.strip().rsplit("\n", 1)[-1]
        return f"no Python starts inside it (exit {ran.exit}{f': {last}' if last else ''})"
    return {name: did for name, did in told.items() if did is not None}


@contextlib.contextmanager
def _reachable(outside: Path) -> Iterator[dict[str, object]]:
    """Things that a child must not reach: files, sockets of every kind, and this process."""
    (outside / KEPT).write_text(KEPT)
    (outside / "secret").write_text("a secret")
    with contextlib.ExitStack() as opened:
        tcp = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        there: dict[str, object] = {
            "outside": os.fspath(outside),
            "secret": os.fspath(outside / "secret"),
            "parent": os.getpid(),
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
        }
        for name, kind in (("unix", socket.SOCK_STREAM), ("unix_datagram", socket.SOCK_DGRAM)):
            there[name] = os.fspath(outside / name)
            opened.enter_context(_unix_server(kind, outside / name))
        if sys.platform == "linux":
            there["abstract"] = f"pge-{secrets.token_hex(8)}"
            opened.enter_context(_unix_server(socket.SOCK_STREAM, f"\0{there['abstract']}"))
        yield there


def _unix_server(kind: int, address: Path | str) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(os.fspath(address))
    if kind == socket.SOCK_STREAM:
        server.listen()
    return server
