"""A run in a process of its own: it goes on whatever becomes of the kernel and the tab that started it.

The process is ``python -m pge_nb resume --state FILE`` in a session of its own. It holds the run's lock like any other, and
what it prints goes to ``.pge/detached.log``. A key comes to it by the environment alone. ``.pge/detached.pid`` tells its
number and when it was born, since a number may be given again; it is gone where another process has gone on with the run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from filelock import FileLock, Timeout

from .errors import BadInput, StateBusy
from .redaction import Redactor
from .state import holder

SECONDS_TO_END = 10.0
"""How long a process is given to end by itself, after each signal."""
BIRTH_TELLS = 2.0
"""Seconds by which two processes of one number are born apart at least; clocks that are set move the time by less."""
LINES = 8
How = Literal["interrupted", "terminated", "killed"]
WAYS: tuple[tuple[How, signal.Signals], ...] = (
    (("interrupted", signal.SIGINT), ("terminated", signal.SIGTERM), ("killed", signal.SIGKILL))
    if sys.platform != "win32"
    else (("terminated", signal.SIGTERM),)  # there is no other way to end one without a console
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A process that was started for a run: its number, when it was born, and how many bytes the state file had then."""

    pid: int
    born: float
    bytes: int

    @classmethod
    def of(cls, state: Path) -> Child | None:
        """The one that was started last, whatever became of it; None where none was, or another went on since."""
        try:
            pid, born, size = _note(state).read_text("ascii").split()
            return cls(pid=int(pid), born=float(born), bytes=int(size))
        except (OSError, ValueError):
            return None

    def lives(self) -> bool:
        """Whether this very process is there: not a later one of its number, and not the entry of one that has ended."""
        import psutil

        _CHILDREN[:] = [child for child in _CHILDREN if child.poll() is None]
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            found = psutil.Process(self.pid)
            is_it = abs(found.create_time() - self.born) < BIRTH_TELLS
            return bool(is_it and found.status() != psutil.STATUS_ZOMBIE)
        return False


_CHILDREN: list[subprocess.Popen[bytes]] = []
"""Those that this process started: asked now and then, they leave no dead entry behind when they end."""


def start(state: Path, trace: Path | None = None, told: Mapping[str, str] = MappingProxyType({})) -> int:
    """Start a process that goes on with the run of a state file, traced where a file is named for that; its number.

    ``told`` are further variables of its environment. ``StateBusy`` where one is at it already.
    """
    import psutil

    with _alone(state):
        if who := busy(state):
            raise StateBusy(f"{who} is at work on {state}.", "%pge shows it; %pge stop ends it.")
        with _log(state).open("wb") as log:
            child = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "pge_nb",
                    "resume",
                    "--state",
                    str(state),
                    *(["--trace", str(trace)] if trace else []),
                ],
                cwd=state.parent,
                env={**environment(), **told},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
            )
        _CHILDREN.append(child)
        born = time.time()
        with contextlib.suppress(psutil.NoSuchProcess):
            born = psutil.Process(child.pid).create_time()
        _note(state).write_text(f"{child.pid} {born:.2f} {state.stat().st_size}\n", encoding="ascii")
        return child.pid


@contextlib.contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Nobody else starts a process for this run inside this block, so that there are never two."""
    try:
        with FileLock(state.parent / ".pge" / "detached.lock", timeout=SECONDS_TO_END):
            yield
    except Timeout:
        raise StateBusy(f"Another process is starting one for {state}.", "Look again in a moment: %pge") from None


def environment() -> dict[str, str]:
    """This process's environment, without what would tell another that it belongs to this notebook."""
    package = str(Path(__file__).resolve().parents[1])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    kept = {name: value for name, value in os.environ.items() if name != "JPY_SESSION_NAME"}
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def starting(state: Path) -> int:
    """The number of a process that was started for a run and has not come to work on it yet; 0 where there is none."""
    child = Child.of(state)
    return child.pid if child and child.pid != os.getpid() and child.lives() and not holder(state) else 0


def busy(state: Path) -> str:
    """Who is at work on a run, or is about to be; empty where nobody is."""
    if who := holder(state):
        return str(who)
    return f"Process {pid}" if (pid := starting(state)) else ""


def take_over(state: Path) -> None:
    """This process goes on with a run: what one that was started earlier said is past. ``StateBusy`` where that lives."""
    child = Child.of(state)
    if child is None or child.pid == os.getpid():
        return
    if child.lives():
        raise StateBusy(f"Process {child.pid} is at work on {state}.", "%pge shows it; %pge stop ends it.")
    with contextlib.suppress(OSError):
        _note(state).unlink()


def stop(state: Path) -> How | None:
    """End the process of a run that was detached; how it ended, None where none is at work.

    It is interrupted first: the file is whole then, and holds an interruption. ``BadInput`` where somebody else is at it.
    """
    child, who = Child.of(state), holder(state)
    if who and not (child and who.pid in {0, child.pid} and who.here and child.lives()):
        raise BadInput(f"{who} is running {state}, and was not detached.", "Interrupt it where it was started.")
    if child is None or not child.lives():
        return None
    for how, number in WAYS:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, number)
        end = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < end:
            if not child.lives():
                return how
            time.sleep(0.02)
    raise BadInput(f"Process {child.pid} does not end.", "End it by the means of the system.")


def last_words(state: Path) -> tuple[str, ...]:
    """The last lines that a detached process printed, without secrets; none where no such process went on with it last."""
    if Child.of(state) is None:
        return ()
    try:
        text = _log(state).read_bytes()[-20_000:].decode("utf-8", "replace")
    except OSError:
        return ()
    lines = [line for line in text.split("\n") if line.strip()]
    return tuple(Redactor().sentence(line) for line in lines[-LINES:])


def came_to_nothing(state: Path) -> bool:
    """Whether the process that was started last for a run has ended without a single section."""
    child = Child.of(state)
    return child is not None and not child.lives() and state.is_file() and state.stat().st_size == child.bytes


def _note(state: Path) -> Path:
    return state.parent / ".pge" / "detached.pid"


def _log(state: Path) -> Path:
    return state.parent / ".pge" / "detached.log"
