"""Finished work by value: the files of a run as the bytes of one archive, and the store that keeps one for each unit."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from ..payloads import Json, compact
from ..workspace import write_whole
from .units import Store

ROW = "row.json"
"""What the unit came to, in the archive beside the files of the run, which stand under `FILES`."""
FILES = "files/"
UNREADABLE = (OSError, ValueError, KeyError, RecursionError, zipfile.BadZipFile)
WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that equal work is equal bytes."""


def packed(root: Path, row: Json, only: Sequence[Path] = ()) -> bytes:
    """The files of a run's directory (locks left out; of some directories in it ``only``) and what it came to."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(ROW), compact(row).encode("utf-8", "surrogatepass"))
        for path in sorted(path for part in only or (Path(),) for path in (root / part).rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix != ".lock":
                archive.writestr(_entry(FILES + path.relative_to(root).as_posix()), path.read_bytes())
    return held.getvalue()


def row_of(work: bytes | Path) -> Json:
    """What a unit came to, of its work or of the file that holds it."""
    with zipfile.ZipFile(io.BytesIO(work) if isinstance(work, bytes) else work) as archive:
        return cast("Json", json.loads(archive.read(ROW)))


def unpacked(work: bytes, root: Path) -> None:
    """Lay the files of the run out under ``root``."""
    with zipfile.ZipFile(io.BytesIO(work)) as archive:
        for name in archive.namelist():
            parts = PurePosixPath(name).parts
            if name.startswith(FILES) and ".." not in parts:
                path = root.joinpath(*parts[1:])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class Works(Store):
    """The work of finished units, as archives."""

    ending, what, mode = ".zip", "The work of a unit", 0o644

    def get(self, name: str) -> bytes | None:
        """The work of a unit; None where there is none that can be read."""
        try:
            work = self.place(name).read_bytes()
            row_of(work)
        except UNREADABLE:
            return None
        return work

    def row(self, name: str) -> Json:
        """What a unit came to, without its files being read; None where there is none that can be read."""
        try:
            return row_of(self.place(name))
        except UNREADABLE:
            return None

    def put(self, name: str, work: bytes) -> None:
        """Keep the work of a unit."""
        self.write(name, work)

    # What a unit that is under way may cost stands in a note, so that it counts where the driver was killed.

    def begin(self, name: str, dollars: float) -> None:
        """Note what a unit that begins may cost at most."""
        place = self._note(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, repr(float(dollars)).encode())

    def end(self, name: str) -> None:
        """Take the note away: what it cost is known."""
        self._note(name).unlink(missing_ok=True)

    def begun(self) -> Iterator[tuple[str, float]]:
        """The units that were under way, and what each may have cost."""
        for note in sorted((self.folder / "begun").glob("*")):
            try:
                yield note.name, float(note.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue

    def _note(self, name: str) -> Path:
        return self.folder / "begun" / name
