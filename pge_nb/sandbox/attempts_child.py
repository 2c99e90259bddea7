"""Tries to get out of the sandbox: each attempt either raises, which is being held, or tells what it could do.

It runs alone (``python -I``), reads which attempts to make and on what from stdin, and writes a JSON object: attempt -> null
where it was held, else what it did. The parent looks from outside as well, since a child can be told lies.
"""

# ruff: noqa: D103 - what an attempt is, its name and its last line say

from __future__ import annotations

import ctypes
import errno
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ON: dict[str, Any] = json.load(sys.stdin)
"""What there is to reach: ``secret`` and ``outside`` (a directory), ``parent``, ``tcp``, ``udp``, ``unix``, ``abstract``."""
LIBRARY = ctypes.CDLL(None, use_errno=True)
OUTSIDE = Path(ON.get("outside", "/"))
MPTCP = 262


def called(function: Callable[..., int], *args: object) -> int:
    """What a C function returned; ``OSError`` where that is an error."""
    got = function(*args)
    if got < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return got


def write_outside() -> str:
    (OUTSIDE / "made").write_text("escaped")
    return "made a file"


def change_outside() -> str:
    with (OUTSIDE / "kept").open("a") as file:
        file.write("escaped")
    return "wrote to a file"


def truncate_outside() -> str:
    os.truncate(OUTSIDE / "kept", 0)
    return "truncated a file"


def truncate_by_reading() -> str:
    os.close(os.open(OUTSIDE / "kept", os.O_RDONLY | os.O_TRUNC))
    return "truncated a file on opening it"


def rename_outside() -> str:
    (OUTSIDE / "kept").rename(OUTSIDE / "renamed")
    return "renamed a file"


def move_in() -> str:
    (OUTSIDE / "kept").rename("taken")
    return "moved a file in"


def hard_link() -> str:
    os.link(OUTSIDE / "kept", "linked")
    return "linked a file of outside"


def symlink_outside() -> str:
    (OUTSIDE / "link").symlink_to("/")
    return "made a link outside"


def write_through_symlink() -> str:
    Path("way_out").symlink_to(OUTSIDE)
    Path("way_out", "made").write_text("escaped")
    return "wrote through a link"


def remove_outside() -> str:
    (OUTSIDE / "kept").unlink()
    return "removed a file"


def read_secret() -> str:
    return f"read {Path(ON['secret']).read_text()[:20]!r}"


def list_outside() -> str:
    return f"listed {os.listdir(OUTSIDE)[:3]}"  # noqa: PTH208


def change_mode() -> str:
    before = OUTSIDE.stat().st_mode
    OUTSIDE.chmod(0o777)
    (OUTSIDE / "kept").chmod(0o777)
    held = OUTSIDE.stat().st_mode == before
    return _unless(held, "changed a mode")


def change_times() -> str:
    before = (OUTSIDE / "kept").stat().st_mtime
    os.utime(OUTSIDE / "kept", (1, 1))
    os.utime(OUTSIDE / "kept")
    return _unless((OUTSIDE / "kept").stat().st_mtime == before, "changed a time")


def change_owner() -> str:
    before = (OUTSIDE / "kept").stat()
    os.chown(OUTSIDE / "kept", os.getuid(), os.getgid())
    after = (OUTSIDE / "kept").stat()
    return _unless((before.st_uid, before.st_gid) == (after.st_uid, after.st_gid), "changed an owner")


def tcp() -> str:
    with socket.create_connection(("127.0.0.1", ON["tcp"]), timeout=2):
        return "connected"


def tcp_fastopen() -> str:
    with socket.socket() as one:
        one.sendto(b"x", 0x20000000, ("127.0.0.1", ON["tcp"]))
        return "connected by sending"


def mptcp() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as one:
        one.settimeout(2)
        one.connect(("127.0.0.1", ON["tcp"]))
        return "connected by MPTCP"


def udp() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"escaped", ("127.0.0.1", ON["udp"]))
        return "sent a datagram"


def listen_tcp() -> str:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return f"listens on {one.getsockname()[1]}"


def raw_socket() -> str:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    return "has a raw socket"


def netlink() -> str:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()
    return "has a netlink socket"


def unix_socket() -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.connect(ON["unix"])
        return "connected to a socket with a path"


def unix_abstract() -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.connect("\0" + ON["abstract"])
        return "connected to an abstract socket"


def unix_by_pair() -> str:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"escaped", ON["unix_datagram"])
    return "sent a datagram through half a pair"


def environment() -> str:
    keys = [name for name in os.environ if "KEY" in name or "TOKEN" in name]
    return _unless(not keys, f"sees {keys}")


def parent_environment() -> str:
    return f"read {len(Path('/proc', str(ON['parent']), 'environ').read_bytes())} bytes of the parent's environment"


def parent_memory() -> str:
    Path(f"/proc/{ON['parent']}/mem").open("rb").close()
    return "opened the parent's memory"


def trace_parent() -> str:
    called(LIBRARY.ptrace, 16, ON["parent"], None, None)
    return "traces the parent"


def read_parent() -> str:
    room = ctypes.create_string_buffer(8)
    local = (ctypes.c_void_p * 2)(ctypes.addressof(room), 8)
    called(LIBRARY.process_vm_readv, ON["parent"], local, 1, local, 1, 0)
    return "read the parent's memory"


def signal_parent() -> str:
    os.kill(ON["parent"], 0)
    return "may signal the parent"


def signal_by_owner() -> str:
    import fcntl

    reading, writing = os.pipe()
    fcntl.fcntl(reading, 8, ON["parent"])
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    got = fcntl.fcntl(reading, 9)
    os.close(writing)
    return _unless(got != ON["parent"], "set the parent up for a signal")


def limit_parent() -> str:
    import resource

    resource.prlimit(ON["parent"], resource.RLIMIT_CORE)
    return "reached the parent's limits"


def slow_parent() -> str:
    os.setpriority(os.PRIO_PROCESS, ON["parent"], 5)
    return "changed the parent's priority"


def pin_parent() -> str:
    before = os.sched_getaffinity(ON["parent"])
    os.sched_setaffinity(ON["parent"], {min(before)})
    held = os.sched_getaffinity(ON["parent"]) == before
    os.sched_setaffinity(ON["parent"], before)
    return _unless(held, "chose the parent's processors")


def new_session() -> str:
    if (child := os.fork()) == 0:
        try:
            os.setsid()
        except OSError:
            os._exit(0)
        os._exit(1)
    return _unless(os.waitpid(child, 0)[1] == 0, "left the session")


def new_group() -> str:
    if (child := os.fork()) == 0:
        try:
            os.setpgid(0, 0)
        except OSError:
            os._exit(0)
        os._exit(1)
    return _unless(os.waitpid(child, 0)[1] == 0, "left the process group")


def namespace() -> str:
    called(LIBRARY.unshare, 0x10000000)
    return "has a user namespace"


def namespace_by_clone() -> str:
    child = called(LIBRARY.syscall, 56 if os.uname().machine == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "cloned into a user namespace"


def mount() -> str:
    called(LIBRARY.mount, b"none", b".", b"tmpfs", 0, None)
    return "mounted"


def keyring() -> str:
    called(LIBRARY.syscall, 250 if os.uname().machine == "x86_64" else 219, 0, -4, 1)
    return "reached a keyring"


def io_uring() -> str:
    called(LIBRARY.syscall, 425, 2, ctypes.create_string_buffer(120))
    return "has an io_uring"


def bpf() -> str:
    called(LIBRARY.syscall, 321 if os.uname().machine == "x86_64" else 280, 0, ctypes.create_string_buffer(128), 128)
    return "called bpf"


def shared_memory() -> str:
    called(LIBRARY.shmget, 0, 4096, 0o1600)
    return "has shared memory"


def memory_file() -> str:
    os.close(os.memfd_create("x"))
    return "has memory that no limit counts"


def device_node() -> str:
    os.mknod("node", 0o020666, os.makedev(1, 3))
    return "made a device"


def become_root() -> str:
    os.setuid(0)
    return "is root"


def many_processes() -> str:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
    return "started 200 processes"


def much_memory() -> str:
    return f"has {len(bytearray(3 << 30))} bytes"


def many_descriptors() -> str:
    held = []
    try:
        held = [os.open(".", os.O_RDONLY) for _ in range(500)]
    finally:
        for one in held:
            os.close(one)
    return "opened 500 files"


def large_file() -> str:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Path("large").open("wb") as file:
        file.writelines(bytes(1 << 20) for _ in range(100))
    return "wrote 100 MB into a file"


def _unless(held: bool, escaped: str) -> str:
    if held:
        raise OSError(errno.EPERM, "held")
    return escaped


def main() -> None:
    """Make the attempts that were asked for, in order."""
    told: dict[str, str | None] = {}
    for name in ON["attempts"]:
        try:
            told[name] = globals()[name]()
        except (OSError, MemoryError):
            told[name] = None
    json.dump(told, sys.stdout)


main()
