"""Ports of this machine's loopback address, and a server of the deliverables that answers on one of them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..interrupts import look_up
from ..sandbox import Bounds, confined
from ..sandbox.watching import BREATH, Meter, end

HOST = "127.0.0.1"
SAID = 2_000
BOUNDS = Bounds(memory=4 << 30)


def free_ports(count: int) -> tuple[int, ...]:
    """So many different ports that nothing listens to now."""
    with contextlib.ExitStack() as held:
        return tuple(held.enter_context(socket.create_server((HOST, 0))).getsockname()[1] for _ in range(count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A command that runs in the sandbox and is to answer on one port."""

    port: int
    _child: subprocess.Popen[bytes]
    _printed: IO[bytes]
    _full: threading.Event = field(default_factory=threading.Event)

    def answers(self, seconds: float) -> bool:
        """Whether somebody listens to the port within that time; False at once where the command has ended."""
        until = time.monotonic() + seconds
        while self._child.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
                return True
            look_up()
            time.sleep(BREATH)
        return False

    @property
    def ended(self) -> str:
        """How it ended, in words; empty while it runs."""
        if self._full.is_set():
            return "killed for writing too much"
        code = self._child.poll()
        return "" if code is None else f"exit {code}"

    @property
    def printed(self) -> str:
        """The end of what it printed."""
        self._printed.seek(max(0, os.fstat(self._printed.fileno()).st_size - SAID))
        return self._printed.read(SAID).decode("utf-8", "backslashreplace")


@contextlib.contextmanager
def serving(argv: Sequence[str], cwd: Path, *, seconds: float, allow_unsafe: bool = False) -> Iterator[Server]:
    """Run a server in ``cwd``, a throwaway directory, in the sandbox, for the time of the block; then end it whole.

    It is told its port in the variable PORT, and by ``{port}`` in its command. ``SandboxUnavailable`` as `confined` says.
    """
    (port,) = free_ports(1)
    command = [word.replace("{port}", str(port)) for word in argv]
    with (
        confined(
            command, cwd, seconds=seconds, ports=(port,), bounds=BOUNDS, allow_unsafe=allow_unsafe, dies=True
        ) as made,
        tempfile.TemporaryFile() as printed,
    ):
        child = subprocess.Popen(
            made.argv,
            cwd="/" if made.rung.layers else cwd,
            env={**made.env, "PORT": str(port)},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
            pass_fds=made.descriptors,
        )
        server = Server(port=port, _child=child, _printed=printed)
        meter = Meter(directories=(cwd, made.home), disk=BOUNDS.disk, files=BOUNDS.files, session=child.pid)
        done = threading.Event()
        watch = threading.Thread(target=_metered, args=(server, meter, made.rung.supervised, done), daemon=True)
        watch.start()
        try:
            yield server
        finally:
            done.set()
            watch.join()
            end(child, supervised=made.rung.supervised)


def _metered(server: Server, meter: Meter, supervised: bool, done: threading.Event) -> None:
    """End a server that writes too much."""
    while not done.wait(BREATH):
        if meter.over():
            server._full.set()
            end(server._child, supervised=supervised)
            return
