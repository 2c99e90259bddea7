"""Zips that hold runs: written whole or not at all, and read as what a stranger may have made.

Beside what it holds, each has two entries of its own: `MANIFEST`, one JSON object that tells which kind of zip it is, and
`README` for whoever opens it with something else.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from ..disk import sync_directory
from ..errors import BadInput
from ..payloads import Json
from ..workspace import INPUTS, TEMPORARY, refused

MANIFEST = "pge.json"
README = "README.txt"
MAX_ENTRIES = 100_000
MAX_BYTES = 2_000_000_000
"""Of all entries together, unpacked."""
MAX_DEPTH = 24
MAX_NAME = 1_000
MAX_MANIFEST = 100_000
CHUNK = 1 << 20
HOUSE = ".pge"
STAGED = f"{TEMPORARY}opening-"
"""How the name of a directory begins in which a zip is unpacked."""
A_DAY = 86_400
AGAIN = "Copy or download it again; nothing was laid out."


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file that goes into a zip: its name there, with ``/``, its bytes and its permission bits."""

    name: str
    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A zip of ours that was looked at and not unpacked: what its manifest tells, and the files in it."""

    path: Path
    manifest: Mapping[str, Json]
    files: tuple[zipfile.ZipInfo, ...]

    @property
    def format(self) -> str:
        """Which kind of zip it is, such as ``pge-bundle/1``."""
        return str(self.manifest.get("format"))


def refusal(name: str) -> str | None:
    """Why a file of this name can neither go into a zip nor come out of one; None where it can.

    It is as with the paths of a model, but for the directories that are ours: ``.pge``, once, and ``inputs``.
    """
    parts = name.split("/")
    if len(parts) > MAX_DEPTH or len(name.encode("utf-8", "surrogatepass")) > MAX_NAME:
        return "it is too long or too deep"
    if HOUSE in parts[:-1]:
        parts.remove(HOUSE)
    return next((why for part in parts if part != INPUTS and (why := refused(part))), None)


# Writing


def pack(file: IO[bytes], manifest: Mapping[str, Json], readme: str, members: Iterable[Member], at: datetime) -> None:
    """Write a zip; every entry has the date ``at``. ``BadInput`` where it would hold more than is ever unpacked again."""
    own = (
        Member(name=MANIFEST, content=json.dumps(manifest, ensure_ascii=False, indent=1).encode() + b"\n"),
        Member(name=README, content=readme.encode()),
    )
    count = size = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in itertools.chain(own, members):
            count, size = count + 1, size + len(member.content)
            if count > MAX_ENTRIES or size > MAX_BYTES:
                raise BadInput(
                    f"There is more than one zip takes: {MAX_ENTRIES:,} files, {MAX_BYTES // 10**6:,} MB.",
                    "Nothing was written. Move what is large out of the working directories first.",
                )
            info = zipfile.ZipInfo(member.name, max(at.timetuple()[:6], (1980, 1, 1, 0, 0, 0)))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (stat.S_IFREG | member.mode) << 16
            archive.writestr(info, member.content)


@contextlib.contextmanager
def written(place: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name once it is whole and on disk; a crash before leaves nothing of that name."""
    sweep(place.parent)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        Path(temporary).replace(place)
        sync_directory(place.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sweep(directory: Path) -> None:
    """Remove what a process that was killed while it wrote or unpacked a zip has left here, a day or longer ago."""
    for left in directory.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):
            facts = left.lstat()
            if time.time() - facts.st_mtime < A_DAY:
                continue
            if stat.S_ISREG(facts.st_mode):
                left.unlink()
            elif stat.S_ISDIR(facts.st_mode) and left.name.startswith(STAGED):
                shutil.rmtree(left)


# Reading


def is_zip(path: Path) -> bool:
    """Whether a file is a zip, or is called one."""
    if path.suffix.lower() == ".zip" or not path.is_file():
        return path.suffix.lower() == ".zip"
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except OSError:
        return False


def look(path: Path) -> Archive:
    """Look at a zip without unpacking it; ``BadInput`` where it is none of ours, or holds what no zip of ours does."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            _check_size(path, infos)
            files = tuple(info for info in infos if not _is_folder(path, info))
            manifest = _manifest(path, archive)
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.", "%pge save makes one.") from None
    except _BROKEN as error:
        raise _unreadable(path, error) from None
    held = tuple(info for info in files if info.filename not in {MANIFEST, README})
    _check_names(path, held)
    return Archive(path=path, manifest=manifest, files=held)


_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What `zipfile` raises for files that are no zip, are cut off, are damaged, encrypted, or packed in ways that we do not use."""


@contextlib.contextmanager
def unpacked(archive: Archive, beside: Path) -> Iterator[Path]:
    """All files of a zip, durable, in a directory below ``beside`` that is gone afterwards; none of them is a link."""
    sweep(beside)
    try:
        home = Path(tempfile.mkdtemp(dir=beside, prefix=STAGED))
    except OSError as error:
        raise BadInput(
            f"{beside} cannot be written: {error.strerror or error}.", "Open it in a directory of yours."
        ) from None
    try:
        # A level deeper than a run stands, so that what is on its way is not taken for a task of this notebook.
        root = home / "unpacked"
        root.mkdir()
        try:
            _unpack(archive, root)
        except _BROKEN as error:
            raise _unreadable(archive.path, error) from None
        yield root
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _unpack(archive: Archive, root: Path) -> None:
    left = MAX_BYTES
    with zipfile.ZipFile(archive.path) as source:
        for info in archive.files:
            target = root / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open(info) as packed, target.open("xb") as file:
                while part := packed.read(CHUNK):
                    left -= len(part)
                    if left < 0:
                        raise _too_large(archive.path)
                    file.write(part)
                file.flush()
                os.fchmod(
                    file.fileno(), (info.external_attr >> 16) & 0o777 | 0o400 if info.external_attr >> 16 else 0o644
                )
                os.fsync(file.fileno())
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        sync_directory(folder)


def _check_size(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > MAX_ENTRIES or sum(info.file_size for info in infos) > MAX_BYTES:
        raise _too_large(path)


def _too_large(path: Path) -> BadInput:
    return BadInput(
        f"{path.name} holds more than is unpacked here: {MAX_ENTRIES:,} files, {MAX_BYTES // 10**6:,} MB.",
        "Nothing was laid out. Ask for a smaller one.",
    )


def _is_folder(path: Path, info: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(info.external_attr >> 16)
    folder = info.is_dir()
    if kind not in ({0, stat.S_IFDIR} if folder else {0, stat.S_IFREG}):
        raise BadInput(
            f"{path.name} holds {info.filename!r:.80}, which is a link or no plain file.",
            "Nothing was laid out. Do not use this zip.",
        )
    if info.flag_bits & 1:
        raise BadInput(f"{path.name} is encrypted.", "Nothing was laid out. Unpack it and zip it without a password.")
    return folder


def _check_names(path: Path, files: tuple[zipfile.ZipInfo, ...]) -> None:
    names = [info.filename for info in files]
    folders = {name[:place] for name in names for place, char in enumerate(name) if char == "/"}
    seen: set[str] = set()
    for info in files:
        name = info.filename
        why = refusal(name)
        if info.orig_filename not in (name, name.replace("/", os.sep)):
            why = "its name holds a zero byte"
        elif name in seen or name in folders:
            why = "it stands there twice"
        if why:
            raise BadInput(
                f"{path.name} holds {info.orig_filename!r:.80}, and {why}.",
                "Nothing was laid out. Do not use this zip.",
            )
        seen.add(name)


def _manifest(path: Path, archive: zipfile.ZipFile) -> Mapping[str, Json]:
    strange = BadInput(
        f"{path.name} is a zip, but no run is in it that was saved or exported here.",
        "Give one that %pge save or %pge export bundle made.",
    )
    try:
        if archive.getinfo(MANIFEST).file_size > MAX_MANIFEST:
            raise strange
        told = json.loads(archive.read(MANIFEST))
    except (KeyError, RecursionError):
        raise strange from None
    if not isinstance(told, dict):
        raise strange
    return told


def _unreadable(path: Path, error: Exception) -> BadInput:
    if isinstance(error, OSError):
        return BadInput(
            f"{path.name} cannot be unpacked: {error.strerror or error}.", "Make room, or look at the permissions."
        )
    why = str(error).rstrip(".") or "it ends too early"
    return BadInput(f"{path.name} is no whole zip: {why[:1].lower()}{why[1:]}.", AGAIN)
