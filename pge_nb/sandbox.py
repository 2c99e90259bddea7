"""Run a command of a tree as a child process: a time limit, bounded output, a scrubbed environment, its group killed whole.

It is no isolation: the child is this user, with this user's files and network. A run says so wherever it rests on one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ISOLATION = "not isolated: generated code ran as this user, within a time limit and with a scrubbed environment only"
MAX_OUTPUT = 1_000_000
CHUNK = 65_536
SCRATCH = "pge-"
"""How the name of a scratch directory begins; the process and eight characters more follow."""
A_DAY = 86_400
KEPT = ("LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended. ``exit`` is None when it had to be killed; outputs are cut at ``MAX_OUTPUT`` bytes each."""

    exit: int | None
    out: str
    err: str
    timed_out: bool = False
    cut: bool = False


def run(argv: Sequence[str], cwd: Path, *, seconds: float, stdin: bytes = b"") -> Ran:
    """Run ``argv`` in ``cwd``. A program that is not there gives exit 127 and says so, as a shell would."""
    with scratch() as home:
        try:
            child = subprocess.Popen(
                _own_python(argv),
                cwd=cwd,
                env=_environment(home),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            return Ran(exit=127, out="", err=f"{argv[0]}: {error.strerror}")
        except (ValueError, OSError) as error:
            return Ran(exit=126, out="", err=f"this command cannot be started: {error}")
        with child:
            try:
                return _watch(child, stdin, time.monotonic() + seconds)
            except BaseException:
                kill_group(child)
                raise


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and all that it started in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary directory, gone afterwards whatever was left in it. Its name tells whose it is, should that be killed."""
    _sweep()
    path = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))
    try:
        yield path
    finally:
        _remove(path)


@functools.cache
def _sweep() -> None:
    """Once in a process: remove what processes that were killed have left behind, a day or longer ago."""
    if os.name != "posix":
        return
    for path in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*"):
        named = re.fullmatch(rf"{SCRATCH}([1-9][0-9]{{0,8}})-\w{{8}}", path.name)
        with contextlib.suppress(OSError):
            facts = path.lstat()
            own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if named and own and time.time() - facts.st_mtime > A_DAY and not _runs(int(named[1])):
                _remove(path)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # It is another user's.
        pass
    return True


def _remove(path: Path) -> None:
    _open_up(path)
    shutil.rmtree(path, ignore_errors=True)


def _open_up(path: Path) -> None:
    """Give back the right to look into every directory below: what was run may have taken it away."""
    with contextlib.suppress(OSError):
        path.chmod(0o700)
    for folder, folders, _ in os.walk(path):
        for inner in (Path(folder, name) for name in folders):
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)


def _own_python(argv: Sequence[str]) -> list[str]:
    # "python" is this interpreter: the one whose packages the notebook has.
    if argv[0] in {"python", "python3"}:
        return [sys.executable, *argv[1:]]
    if argv[0] == "pytest":
        return [sys.executable, "-m", "pytest", *argv[1:]]
    return list(argv)


def _environment(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(home),
        "TMPDIR": str(home),
        "MPLBACKEND": "agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "PYTHONUTF8": "1",
    }


def _watch(child: subprocess.Popen[bytes], stdin: bytes, deadline: float) -> Ran:
    """Feed and drain the child until it ends, is late, or says too much."""
    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise TypeError("the child must have three pipes")
    taken = {child.stdout: bytearray(), child.stderr: bytearray()}
    pending, late, cut = memoryview(stdin), False, False
    with selectors.DefaultSelector() as selector:
        for stream in taken:
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        os.set_blocking(child.stdin.fileno(), False)
        selector.register(child.stdin, selectors.EVENT_WRITE)
        while len(selector.get_map()) > 0 and not (late or cut):
            ended = child.poll() is not None
            for key, _ in selector.select(0 if ended else min(0.05, max(0.0, deadline - time.monotonic()))):
                if key.fileobj is child.stdin:
                    pending = _feed(child.stdin.fileno(), pending)
                    if not pending:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                elif not _drain(key.fd, taken[key.fileobj]):  # type: ignore[index]
                    selector.unregister(key.fileobj)
            if ended:
                # What the child left running may hold the pipes open for ever.
                for stream, got in taken.items():
                    _drain(stream.fileno(), got)
                break
            late = time.monotonic() >= deadline
            cut = any(len(got) > MAX_OUTPUT for got in taken.values())
    # Also of a child that ended while its last output was taken: the same output always ends the same.
    cut = any(len(got) > MAX_OUTPUT for got in taken.values())
    if not (late or cut):
        late = not _ends(child, deadline)
    kill_group(child)
    code = child.wait()
    out, err = (bytes(got[:MAX_OUTPUT]).decode("utf-8", "backslashreplace") for got in taken.values())
    return Ran(exit=None if late or cut else code, out=out, err=err, timed_out=late, cut=cut)


def _ends(child: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _feed(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending[:CHUNK]) :] if pending else pending
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return memoryview(b"")  # The child does not read its input; that is its own affair.


def _drain(fd: int, into: bytearray) -> bool:
    """Take what is there; False at the end of the stream."""
    while len(into) <= MAX_OUTPUT:
        try:
            got = os.read(fd, CHUNK)
        except BlockingIOError:
            return True
        if not got:
            return False
        into += got
    return True
