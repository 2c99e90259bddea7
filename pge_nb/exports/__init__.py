"""A run as files for others: tables for a paper, frames for a spreadsheet, a page, a notebook. Nothing here changes a run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadInput
from ..workspace import TEMPORARY, write_whole

EXPORTS = "exports"
"""The directory beside the state file where exports go unless a person says otherwise."""
RECORD = ".written.json"
"""In ``exports/``: path of each file that was exported -> sha256 of what was written, to tell it from a person's."""


def put(files: Mapping[Path, bytes], exports: Path, *, whole: Path | None = None) -> tuple[Path, ...]:
    """Write all of the files, each whole, or none; ``exports`` is the directory that keeps the record of them.

    A file that is there already is replaced only where it is what an earlier export wrote; ``BadInput`` names the one that is
    somebody's own. ``whole``: a directory that the files are all of; what else an earlier export wrote there is taken away.
    """
    written = _record(exports)
    stale = [path for path in _written_below(whole, written, exports) if path not in files] if whole else []
    for path, content in [*files.items(), *((path, None) for path in stale)]:
        if path.is_symlink() or (path.exists() and not _ours(path, content, written.get(_name(path, exports)))):
            raise BadInput(
                f"{path} is there, and is not what an export wrote.",
                "Nothing was written. Move it away, or give another place with --to PATH.",
            )
    try:
        _carry(files)
        for path in stale:
            path.unlink(missing_ok=True)
            written.pop(_name(path, exports), None)
        known = {_name(path, exports): _hash(content) for path, content in files.items()}
        exports.mkdir(parents=True, exist_ok=True)
        write_whole(exports / RECORD, json.dumps(written | known, indent=1, sort_keys=True).encode())
    except OSError as error:
        raise BadInput(
            f"{error.filename or exports} cannot be written: {error.strerror or error}.",
            "Give another place with --to PATH.",
        ) from None
    return tuple(files)


def _written_below(directory: Path, written: Mapping[str, str], exports: Path) -> list[Path]:
    """The files that earlier exports wrote below a directory and that are there."""
    named = (Path(os.path.normpath(exports / name)) for name in written)
    top = Path(os.path.normpath(directory))
    return [path for path in named if path.is_relative_to(top) and (path.is_symlink() or path.exists())]


def _ours(path: Path, content: bytes | None, known: str | None) -> bool:
    if not path.is_file():
        return False
    there = path.read_bytes()
    return there == content or _hash(there) == known


def _carry(files: Mapping[Path, bytes]) -> None:
    """Put every file beside its place first: what does not fit on the disk is found out before anything is replaced."""
    with contextlib.ExitStack() as staged:
        ready = []
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
            staged.callback(Path(temporary).unlink, missing_ok=True)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            ready.append((Path(temporary), path))
        for source, path in ready:
            source.replace(path)


def _record(exports: Path) -> dict[str, str]:
    try:
        told = json.loads((exports / RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}  # without it every file that differs is taken for a person's
    return told if isinstance(told, dict) else {}


def _name(path: Path, exports: Path) -> str:
    return os.path.relpath(path, exports).replace(os.sep, "/")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
