"""Ports of this machine's loopback address, for what a review lets listen there."""

from __future__ import annotations

import contextlib
import socket

HOST = "127.0.0.1"


def free_ports(count: int) -> tuple[int, ...]:
    """So many different ports that nothing listens to now."""
    with contextlib.ExitStack() as held:
        return tuple(held.enter_context(socket.create_server((HOST, 0))).getsockname()[1] for _ in range(count))
