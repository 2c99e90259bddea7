"""A run in a process of its own: it goes on whatever becomes of the kernel and the tab that started it.

The process is ``python -m pge_nb resume --state FILE`` in a session of its own. It holds the run's lock like any other, and
what it prints goes to ``.pge/detached.log``. A key comes to it by the environment alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

from .errors import BadInput, StateBusy
from .redaction import Redactor
from .state import at_work

SECONDS_TO_END = 10.0
"""How long a process is given to end by itself, after each signal."""
SECONDS_TO_BEGIN = 30.0
"""A process that has not taken the lock by then has failed."""
LINES = 8
How = Literal["interrupted", "terminated", "killed"]


def start(state: Path) -> int:
    """Start a process that goes on with the run of a state file; its number. ``StateBusy`` where one is at it already."""
    if who := at_work(state) or starting(state):
        raise StateBusy(f"{who} is at work on {state}.", "%pge shows it; %pge stop ends it.")
    place = state.parent / ".pge"
    with (place / "detached.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "pge_nb", "resume", "--state", str(state)],
            cwd=state.parent,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    (place / "detached.pid").write_text(f"{child.pid}\n", encoding="ascii")
    _CHILDREN.append(child)
    return child.pid


_CHILDREN: list[subprocess.Popen[bytes]] = []
"""Those that this process started: asked now and then, they leave no dead entry behind when they end."""


def environment() -> dict[str, str]:
    """This process's environment, without what would tell another that it belongs to this notebook."""
    package = str(Path(__file__).resolve().parents[1])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    kept = {name: value for name, value in os.environ.items() if name != "JPY_SESSION_NAME"}
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def starting(state: Path) -> str:
    """The process that was started for a run and has not come to work on it yet; empty where there is none."""
    pid, since = _noted(state)
    recent = since is not None and time.time() - since < SECONDS_TO_BEGIN
    return f"Process {pid}" if pid and recent and _lives(pid) and not at_work(state) else ""


def stop(state: Path) -> How | None:
    """End the process of a run that was detached; how it ended, None where none is at work.

    It is interrupted first: the file is whole then, and holds an interruption. ``BadInput`` where somebody else is at it.
    """
    pid, _ = _noted(state)
    who = at_work(state) or starting(state)
    if not who:
        return None
    if not pid or who != f"Process {pid}":
        raise BadInput(f"{who} is running {state}, and was not detached.", "Interrupt it where it was started.")
    ways: tuple[tuple[How, int], ...] = (
        ("interrupted", signal.SIGINT),
        ("terminated", signal.SIGTERM),
        ("killed", getattr(signal, "SIGKILL", signal.SIGTERM)),
    )
    for how, number in ways:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + SECONDS_TO_END
        while time.monotonic() < end:
            if not _lives(pid):
                return how
            time.sleep(0.05)
    raise BadInput(f"Process {pid} does not end.", "End it by the means of the system.")


def last_words(state: Path) -> tuple[str, ...]:
    """The last lines that a detached process printed, without secrets; none where it has not failed, or none was started."""
    log = state.parent / ".pge" / "detached.log"
    try:
        text = log.read_bytes()[-20_000:].decode("utf-8", "replace")
    except OSError:
        return ()
    lines = [line for line in text.split("\n") if line.strip()]
    return tuple(Redactor().text(line) for line in lines[-LINES:])


def _noted(state: Path) -> tuple[int, float | None]:
    """The number of the process that was started last for a run, and when; 0 and None where none was."""
    note = state.parent / ".pge" / "detached.pid"
    try:
        return int(note.read_text("ascii").strip() or 0), note.stat().st_mtime
    except (OSError, ValueError):
        return 0, None


def _lives(pid: int) -> bool:
    _CHILDREN[:] = [child for child in _CHILDREN if child.poll() is None]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_dead(pid)


def _is_dead(pid: int) -> bool:
    """Whether a process has ended, and only waits for whoever started it to ask (Linux tells; elsewhere it counts as alive)."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:1] == ["Z"]
    return False
