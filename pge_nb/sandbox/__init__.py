"""Run a command of a throwaway tree so that it can do no harm: a ladder of layers that refuses rather than pretends.

Generated code is untrusted. A child is given a time limit, bounds on what it uses and says, a scrubbed environment, and the
layers of the best rung that holds on this machine: on Linux Landlock and seccomp, with bubblewrap around them or a user of its
own where that can be; on macOS Seatbelt. Whether a rung holds is found out by trying to escape from it (`standing`). Where none
does, `SandboxUnavailable` is raised, unless the user allowed unsafe runs. Each file here is one idea: `rungs` what there is,
`probe` what holds, `orders` and `launcher` how it is put on, `filters` which system calls are refused, `watching` how a child
is fed and ended.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SandboxUnavailable
from .directories import SCRATCH, scratch
from .orders import START, Bounds, write_orders
from .rungs import NOT_ISOLATED, Rung
from .watching import MAX_OUTPUT, Meter, Ran, end, watch
from .wrappers import wrapped

__all__ = [
    "HOME",
    "MAX_OUTPUT",
    "NOT_ISOLATED",
    "SCRATCH",
    "Bounds",
    "Confined",
    "Ran",
    "Rung",
    "confined",
    "isolation",
    "run",
    "scratch",
    "standing",
]

KEPT = ("LANG", "LC_ALL", "SYSTEMROOT")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
UNSAFE = Rung()
HOME = "home"
"""The name, in a scratch directory, of the home and temporary directory of what is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """A command made safe: start ``argv`` with ``env``, as a session of its own, and end it with its process group."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    home: Path
    rung: Rung
    descriptors: tuple[int, ...] = ()
    """What it must inherit."""


def standing() -> Rung | None:
    """The best rung that holds on this machine, tried once in a process; None where none does."""
    from .probe import standing as tried

    return tried()


def isolation(*, allow_unsafe: bool = False) -> str:
    """What keeps generated code from doing harm here, in words. ``SandboxUnavailable`` as `run` raises it."""
    return _rung(allow_unsafe=allow_unsafe).says


def _rung(*, allow_unsafe: bool) -> Rung:
    if (found := standing()) is not None:
        return found
    if allow_unsafe:
        return UNSAFE
    raise SandboxUnavailable(
        "Generated code is run in a sandbox alone, and none holds on this machine.",
        "%pge doctor tells why; HarnessConfig(allow_unsafe=True) runs it all the same, as you and with your files.",
    )


@contextlib.contextmanager
def confined(
    argv: Sequence[str],
    cwd: Path,
    *,
    seconds: float,
    ports: Sequence[int] = (),
    bounds: Bounds | None = None,
    allow_unsafe: bool = False,
    rung: Rung | None = None,
    report: int | None = None,
    dies: bool = False,
) -> Iterator[Confined]:
    """The command line that runs ``argv`` in the sandbox, for whoever starts it: `run`, or what keeps a kernel or a server.

    ``cwd`` is a throwaway directory: what is run may do with it as it likes, and where root runs it the files change owner.
    ``seconds`` bounds the processor time of each process. With ``ports`` the program may make TCP sockets, and bind and connect
    to these ports alone, on whatever address: choose free ones that no service listens to. ``SandboxUnavailable`` where they
    cannot be told apart here. ``report`` and ``dies`` are as in `write_orders`.
    """
    chosen = rung or _rung(allow_unsafe=allow_unsafe)
    with scratch() as place:
        home, orders, cwd = place / HOME, place / "orders", Path(os.path.realpath(cwd))
        env = environment(home)
        home.mkdir()
        if chosen == UNSAFE or os.name != "posix":
            yield Confined(argv=tuple(own_python(argv)), env=env, home=home, rung=chosen)
            return
        try:
            descriptors = write_orders(
                orders,
                chosen,
                cwd=cwd,
                home=home,
                seconds=seconds,
                bounds=bounds or Bounds(),
                ports=ports,
                report=report,
                dies=dies,
            )
        except OSError as error:
            raise SandboxUnavailable(
                f"The sandbox could not be set up in {place.parent}: {error.strerror}.",
                "Make room there, or set TMPDIR to a place that has some before the kernel starts.",
            ) from None
        launch = [sys.executable, "-I", "-S", "-c", START, os.fspath(orders), *own_python(argv)]
        argv = tuple(wrapped(launch, chosen, cwd=cwd, place=place, ports=bool(ports)))
        yield Confined(argv=argv, env=env, home=home, rung=chosen, descriptors=descriptors)


def run(
    argv: Sequence[str],
    cwd: Path,
    *,
    seconds: float,
    stdin: bytes = b"",
    ports: Sequence[int] = (),
    bounds: Bounds | None = None,
    allow_unsafe: bool = False,
    rung: Rung | None = None,
) -> Ran:
    """Run ``argv`` in ``cwd``, a throwaway directory. A program that is not there gives exit 127 and says so, as a shell would.

    ``SandboxUnavailable`` where nothing can keep it in, unless ``allow_unsafe``. `confined` says what the rest means.
    """
    bounds = bounds or Bounds()
    reading, writing = os.pipe()
    try:
        with confined(
            argv,
            cwd,
            seconds=seconds,
            ports=ports,
            bounds=bounds,
            allow_unsafe=allow_unsafe,
            rung=rung,
            report=writing,
            dies=True,
        ) as made:
            try:
                child = _started(made, cwd)
            except (FileNotFoundError, PermissionError) as error:
                return Ran(exit=127, out="", err=f"{argv[0]}: {error.strerror}")
            except (ValueError, OSError) as error:
                return Ran(exit=126, out="", err=f"this command cannot be started: {error}")
            with child:
                try:
                    until = time.monotonic() + seconds
                    places = (cwd, made.home)
                    meter = Meter(directories=places, disk=bounds.disk, files=bounds.files, session=child.pid)
                    ran = watch(child, stdin, until, meter, supervised=made.rung.supervised)
                except BaseException:
                    end(child, supervised=made.rung.supervised)
                    raise
        os.close(writing)
        writing = -1
        _must_have_stood(reading)
        return ran
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _started(made: Confined, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        made.argv,
        # The launcher goes there by itself: what starts it must not find anything that was planted.
        cwd=cwd if made.rung == UNSAFE else "/",
        env=made.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=made.descriptors,
    )


def _must_have_stood(report: int) -> None:
    """``SandboxUnavailable`` where the launcher said that a layer could not be put on, so that nothing was run."""
    os.set_blocking(report, False)
    with contextlib.suppress(BlockingIOError):
        if why := os.read(report, 4_096):
            raise SandboxUnavailable(
                f"The sandbox could not be set up, so nothing was run: {why.decode('utf-8', 'replace')}.",
                "%pge doctor tells which layers hold here.",
            )


def own_python(argv: Sequence[str]) -> list[str]:
    """The command, with "python" as this interpreter: the one whose packages the notebook has."""
    if argv[0] in {"python", "python3"}:
        return [sys.executable, *argv[1:]]
    if argv[0] == "pytest":
        return [sys.executable, "-m", "pytest", *argv[1:]]
    return list(argv)


def environment(home: Path) -> dict[str, str]:
    """What a child is told: nothing of this process's environment but the language and where libraries are."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    # A relative place would be one in the working directory, where anything may be planted.
    libraries = [place for place in os.environ.get("LD_LIBRARY_PATH", "").split(":") if place.startswith("/")]
    if libraries:
        kept["LD_LIBRARY_PATH"] = ":".join(libraries)
    return (
        kept
        # One thread, so that the same sums come out on every machine, and memory does not grow with its processors.
        | dict.fromkeys(ONE_THREAD, "1")
        | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(home),
            "TMPDIR": str(home),
            "USER": "pge",
            "LOGNAME": "pge",
            "MPLBACKEND": "agg",
            "PYTHONDONTWRITEBYTECODE": "1",
            # This plugin, where the notebook's environment has it, opens a socket in every pytest, which is not let.
            "PYTEST_ADDOPTS": "-p no:rerunfailures",
            "PYTHONHASHSEED": "0",
            "PYTHONIOENCODING": "utf-8:backslashreplace",
            "PYTHONUTF8": "1",
        }
    )
