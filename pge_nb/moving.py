"""Moving a run whole from one directory to another of its place, so that a crash in the middle loses nothing.

What is on its way stands in ``earlier/moving.json`` before the first part moves. Every part is renamed, so that it is in the
one directory or the other; whoever comes next moves those that were left.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from .disk import sync_directory
from .errors import BadInput, PgeError, StateBusy, StateDamaged
from .payloads import decode
from .state import StateFile
from .workspace import write_whole

EARLIER = "earlier"
NOTE = "moving.json"
HOUSE = ".pge"
PATIENCE = 30.0
"""Seconds to wait for another process that is moving; a move takes milliseconds."""
TRACES = frozenset({"run.lock", "run.pid", "state.lock", "detached.lock", "detached.pid", "detached.log"})
"""Files in ``.pge/`` that tell nothing once nobody holds them."""


def move(state: Path, to: Path, *, root: Path) -> None:
    """Move the run of ``state`` into the directory ``to``. One of the two is ``root``, the other stands in its ``earlier/``.

    ``StateBusy`` where another process runs it: then nothing has moved. ``BadInput`` where there is nothing to move.
    """
    with _alone(root):
        _finish(root)
        if not belongings(state):
            raise BadInput(f"Nothing was begun at {state}.", "%pge runs lists the runs that are here.")
        with StateFile(state).running():
            _write_note(root, [(part, to / part.relative_to(state.parent)) for part in belongings(state)])
            _carry(_on_the_way(root)[:-1])
        _finish(root)  # .pge/ moves last, when the lock in it is no longer held


def take_in(renames: Sequence[tuple[Path, Path]], *, root: Path) -> None:
    """Move parts that stand below ``root`` to other places below it: all of them, by the next `finish` after a crash."""
    with _alone(root):
        _finish(root)
        _write_note(root, renames)
        _finish(root)


def finish(root: Path) -> None:
    """End a move that was cut off; where none was, this changes nothing."""
    if unfinished(root):
        with _alone(root):
            _finish(root)


def unfinished(root: Path) -> bool:
    """Whether a run is on its way from or to this directory."""
    return (root / EARLIER / NOTE).exists()


def belongings(state: Path) -> list[Path]:
    """What a run consists of: its state file, its working directory, and last ``.pge/``. What is not there is left out."""
    root = state.parent
    files = sorted(part for part in root.iterdir() if part.name.startswith(state.name)) if root.is_dir() else []
    return [part for part in (*files, _work(state)) if part.exists()] + _house(root)


def _house(root: Path) -> list[Path]:
    house = root / HOUSE
    return [house] if house.is_dir() and any(part.name not in TRACES for part in house.iterdir()) else []


def _work(state: Path) -> Path:
    """The working directory where it stands below the state file's directory; that of a file that cannot be read: ``work/``."""
    run = None
    with contextlib.suppress(PgeError):
        run = StateFile(state).read()
    said = str(run.task.settings.get("working_directory")) if run and run.of("task") else "work"
    place = Path(os.path.normpath(state.parent / said))
    return place if state.parent in place.parents else state.parent / "work"


def _write_note(root: Path, renames: Sequence[tuple[Path, Path]]) -> None:
    told = [[str(part.relative_to(root)) for part in pair] for pair in renames]
    write_whole(root / EARLIER / NOTE, json.dumps(told).encode())
    sync_directory(root / EARLIER)


def _on_the_way(root: Path) -> list[tuple[Path, Path]]:
    note = root / EARLIER / NOTE
    try:
        told = decode(tuple[tuple[str, ...], ...], json.loads(note.read_bytes()), NOTE)
        renames = [(root / source, root / target) for source, target in told]
    except (ValueError, RecursionError):
        raise StateDamaged(
            f"{note} does not tell what is being moved.", "Delete it; what is in earlier/ stays, whole."
        ) from None
    for part in (part for pair in told for part in pair):
        # Nothing else says that it is ours: an agent's file, or one out of a zip, may be called like it.
        if Path(part).is_absolute() or ".." in Path(part).parts:
            raise StateDamaged(
                f"{note} names {part!r:.80}, which is outside of {root}.",
                "Delete it: no move of ours wrote it.",
            )
    return renames


def _carry(renames: Sequence[tuple[Path, Path]]) -> None:
    for source, target in renames:
        if target.name == HOUSE:
            _remove_traces(target.parent)
        # A target that is there was moved already; what has the source's name now belongs to somebody else.
        if source.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)
            sync_directory(target.parent)
            sync_directory(source.parent)


def _finish(root: Path) -> None:
    if not unfinished(root):
        return
    renames = _on_the_way(root)
    _carry(renames)
    (root / EARLIER / NOTE).unlink()
    sync_directory(root / EARLIER)
    for left in {source.parent for source, _ in renames} - {root}:
        _remove_if_empty(left)


def _remove_traces(place: Path) -> None:
    house = place / HOUSE
    if house.is_dir() and not _house(place):
        for trace in house.iterdir():
            trace.unlink()
        house.rmdir()


def _remove_if_empty(place: Path) -> None:
    _remove_traces(place)
    if place.is_dir() and not any(place.iterdir()):
        place.rmdir()


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Hold ``earlier/.lock``: it stands in no directory that moves."""
    (root / EARLIER).mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(root / EARLIER / ".lock", timeout=PATIENCE):
            yield
    except Timeout:
        raise StateBusy(
            f"Another process is moving the run in {root}.", "Wait for it, or end it; then run this again."
        ) from None
