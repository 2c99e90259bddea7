"""What the launcher is to do: limits, what may be read and written, the filter, laid out so that it need only carry it out."""

from __future__ import annotations

import functools
import marshal
import math
import os
import platform
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from ..errors import SandboxUnavailable
from . import hiding
from .filters import OWN, program
from .rungs import Rung

START = (
    "import marshal,sys\nwith open(sys.argv[1],'rb') as file: code,orders=marshal.load(file)\n"
    "parts={'__name__':'launcher'}\nexec(code,parts)\nparts['main'](orders)"
)
"""All that is compiled anew at each start: it takes the launcher's code and its orders from the file named first."""
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"),
    *(
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/alternatives",
        "/etc/localtime",
        "/etc/timezone",
    ),
    *(
        "/etc/passwd",
        "/etc/group",
        "/etc/nsswitch.conf",
        "/etc/hosts",
        "/etc/host.conf",
        "/etc/services",
        "/etc/protocols",
    ),
    *("/etc/mime.types", "/etc/fonts", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/os-release"),
    *("/dev/urandom", "/dev/random", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu"),
)
"""What any user of a machine may read, and programs need; nothing in it is a secret."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
OF_A_PYTHON = ("bin", "lib", "lib64", "libexec", "include", "share", "etc", "ssl", "pyvenv.cfg")
"""The parts of a Python installation. Not all of its directory: that may be a project's, or a person's home."""

READ = 1 | 4 | 8  # execute, read a file, list a directory
DEVICE_NODES_AND_SOCKETS = 1 << 6 | 1 << 9 | 1 << 11
FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Landlock's version -> how many rights on files it knows; 16 from version 5 on."""
BIND_AND_CONNECT = 3
SCOPES = 3  # abstract Unix sockets, signals

FIRST_TENANT = 1 << 30
"""User ids from here on belong to nobody: each directory that root runs something in is given to one of them."""
NOBODY = 65_534
PASS_THROUGH = (2, 1)
"""The capability to look into others' directories; a container that lacks it has the other, and Landlock bounds both."""
SLACK = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one run may use: bytes of memory a process, bytes a file, bytes and files more than the directory had, and so on."""

    memory: int = 2 << 30
    file: int = 64 << 20
    disk: int = 100 << 20
    files: int = 20_000
    descriptors: int = 256
    processes: int = 64


def write_orders(
    path: Path,
    rung: Rung,
    *,
    cwd: Path,
    home: Path,
    seconds: float,
    bounds: Bounds,
    ports: Sequence[int] = (),
    report: int | None = None,
    dies: bool = True,
) -> tuple[int, ...]:
    """Write the launcher's orders to ``path``; the descriptors that it must be given.

    ``report`` is a descriptor for what went wrong; None: none can be given. ``dies``: the program is killed when the thread that
    started it ends.
    ``SandboxUnavailable`` where ports are asked for and the rung cannot tell one port from another.
    """
    if ports and rung.landlock < 4:
        raise SandboxUnavailable(
            "Programs that need the network cannot be kept to their own ports here: that takes Landlock 4 (Linux 6.7).",
            "Use reviews without a kernel or a server, or another machine; %pge doctor tells what holds here.",
        )
    machine = platform.machine()
    covered = None
    if rung.landlock and hiding.is_within((*SYSTEM, *own_places())):
        covered = _covered(rung.landlock, given=report is not None)
    orders = {
        "cwd": os.fspath(cwd),
        "limits": tuple(_limits(seconds, bounds, own_user=rung.other_user)),
        "linux": sys.platform == "linux",
        # In a namespace of its own the first process does that.
        "supervised": rung.supervised,
        "landlock": _landlock(rung.landlock, cwd, home, ports) if rung.landlock else None,
        "covered": covered,
        "other_user": _other_user(cwd, home) if rung.other_user else None,
        "capabilities": PASS_THROUGH if os.geteuid() == 0 else (),
        "filter": program(machine, landlock=rung.landlock, ports=bool(ports)) if rung.seccomp else b"",
        "own": struct.pack("=I", OWN),
        "report": report,
        "dies": dies,
    }
    path.write_bytes(marshal.dumps((_launcher(), orders)))
    return tuple(one for one in (report, covered) if isinstance(one, int))


@functools.cache
def _launcher() -> CodeType:
    place = Path(__file__).with_name("launcher.py")
    return compile(place.read_text(encoding="utf-8"), os.fspath(place), "exec", dont_inherit=True, optimize=2)


def _limits(seconds: float, bounds: Bounds, *, own_user: bool) -> Iterator[tuple[int, int]]:
    import resource

    yield resource.RLIMIT_CPU, math.ceil(seconds) + 1
    yield resource.RLIMIT_FSIZE, bounds.file
    yield resource.RLIMIT_NOFILE, bounds.descriptors
    yield resource.RLIMIT_CORE, 0
    if (
        sys.platform == "linux"
    ):  # Elsewhere the first is ignored, and the second counts what cannot be counted from here.
        yield resource.RLIMIT_AS, bounds.memory
        # The kernel counts all that the user runs, of whatever program.
        yield resource.RLIMIT_NPROC, bounds.processes if own_user else bounds.processes + SLACK + threads_of_this_user()


def threads_of_this_user() -> int:
    """How many threads this user has now, as far as can be seen."""
    user, count = os.getuid(), 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                try:
                    if entry.stat().st_uid == user:
                        count += len(os.listdir(f"/proc/{entry.name}/task"))  # noqa: PTH208 - names alone, and soon
                except OSError:
                    continue  # It has ended.
    return count


def _other_user(cwd: Path, home: Path) -> dict[str, object]:
    return {"first": FIRST_TENANT, "else": NOBODY, "directories": (os.fspath(cwd), os.fspath(home))}


def _landlock(version: int, cwd: Path, home: Path, ports: Sequence[int]) -> dict[str, object]:
    every = (1 << FILE_RIGHTS.get(version, 16)) - 1
    attributes = [every]
    if version >= 4:
        attributes.append(BIND_AND_CONNECT)
    if version >= 6:
        attributes.append(SCOPES)
    paths = [(os.fspath(place), every & ~DEVICE_NODES_AND_SOCKETS) for place in (cwd, home)]
    paths += [(device, every & (2 | 4 | 1 << 14)) for device in DEVICES]
    paths += [(path, READ) for path in dict.fromkeys([*SYSTEM, *own_places(), *children()])]
    return {
        "attributes": struct.pack(f"={len(attributes)}Q", *attributes),
        "paths": tuple(paths),
        "ports": tuple((port, BIND_AND_CONNECT) for port in ports),
    }


def _covered(version: int, *, given: bool) -> int | dict[str, object]:
    """The ruleset that hides this package, as a descriptor, or as orders to make one."""
    if given:
        return hiding.ruleset(version, children())
    rights = hiding.handled(version)
    paths = tuple((path, rights) for path in hiding.beside(children()))
    return {"attributes": struct.pack("=Q", rights), "paths": paths, "ports": ()}


@functools.cache
def children() -> tuple[str, ...]:
    """The scripts of this package that run inside: they hold no secret."""
    return tuple(sorted(os.fspath(path) for path in hiding.PACKAGE.rglob("*_child.py")))


def own_places() -> list[str]:
    """The parts of the Python installations that are in use here, and where the environment says that libraries are."""
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    parts = [os.path.join(prefix, part) for prefix in dict.fromkeys(prefixes) for part in OF_A_PYTHON]  # noqa: PTH118
    libraries = [place for place in os.environ.get("LD_LIBRARY_PATH", "").split(":") if place.startswith("/")]
    return [*parts, os.path.realpath(sys.executable), *libraries]
