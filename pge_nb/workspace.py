"""Files: objects by hash, the working directory, the attempts' trees, and the evidence that a tree issues."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .errors import BadInput, StateDamaged
from .records import INLINE_BYTES, Body, Evidence, FileRef
from .sandbox import scratch

HEAD_CHARACTERS = 1_500
MAX_FILES = 2_000
MAX_TREE_BYTES = 200_000_000
MAX_FILE_BYTES = 20_000_000
MAX_DEPTH = 16
SKIPPED = frozenset(
    {".git", ".pge", ".ipynb_checkpoints", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


class Objects:
    """Bytes under ``.pge/objects/``, named by their sha256. Written whole or not at all, before a section names them."""

    def __init__(self, root: Path) -> None:
        self.directory = root / ".pge" / "objects"

    def put(self, content: bytes) -> str:
        """Keep ``content``; the name it has from now on."""
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        return name

    def get(self, name: str) -> bytes:
        """The bytes of an object; ``StateDamaged`` where they are gone or are not what the name says."""
        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            raise StateDamaged(
                f"The object {name[:12]} is missing from .pge/objects/.", "Copy .pge/ along with shared_state.md."
            ) from None
        if hashlib.sha256(content).hexdigest() != name:
            raise StateDamaged(f"The object {name[:12]} has been changed.", "Restore .pge/objects/ from a copy.")
        return content

    def body(self, text: str) -> Body:
        """``text`` as a `Body`: whole where it is short, else an object with its first lines."""
        content = text.encode("utf-8", "surrogatepass")
        if len(content) <= INLINE_BYTES:
            return Body(text=text, size=len(content))
        return Body(text=text[:HEAD_CHARACTERS], size=len(content), sha256=self.put(content))

    def whole(self, body: Body) -> str:
        """All of a body's text."""
        return body.text if body.sha256 is None else self.get(body.sha256).decode("utf-8", "surrogatepass")

    def file(self, path: str, content: bytes, mode: int = 0o644) -> FileRef:
        """Keep a file's bytes and give its reference."""
        return FileRef(path=path, mode=mode, sha256=self.put(content), size=len(content))

    def _path(self, name: str) -> Path:
        return self.directory / name[:2] / name


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file so that a crash leaves the old one, the new one, or none: never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".pge-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def refused(path: str) -> str | None:
    """Why a relative path from a model cannot be used; None where it can."""
    parts = PurePosixPath(path).parts
    if not parts or path != path.strip() or path.endswith("/"):
        return "it names no file"
    if "\\" in path or any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "it holds a backslash or a control character"
    if path.startswith(("/", "~")) or ":" in parts[0]:
        return "it is not relative to the working directory"
    if ".." in parts or "." in path.split("/") or "//" in path:
        return "it holds '.', '..' or an empty part"
    if any(part in SKIPPED for part in parts):
        return "it lies in a directory that the harness or a tool owns"
    if any(part.split(".")[0].lower() in DEVICE_NAMES or part.endswith((" ", ".")) for part in parts):
        return "it is a name that some systems reserve"
    if len(parts) > MAX_DEPTH or len(path.encode("utf-8", "surrogatepass")) > 1_000:
        return "it is too long or too deep"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "it is not Unicode text"
    return None


def snapshot(directory: Path, objects: Objects) -> tuple[FileRef, ...]:
    """Every regular file under a directory, kept as objects. Links, devices and tool directories are left out.

    ``BadInput`` when there are more than the caps allow.
    """
    if not directory.is_dir():
        return ()
    found: list[FileRef] = []
    total = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            path = Path(folder, name)
            facts = path.lstat()
            if not stat.S_ISREG(facts.st_mode):
                continue
            total += facts.st_size
            if len(found) >= MAX_FILES or total > MAX_TREE_BYTES or facts.st_size > MAX_FILE_BYTES:
                raise BadInput(
                    f"The working directory {directory.name}/ holds more than a run takes in (stopped at {path.name}).",
                    f"Keep it under {MAX_FILES} files and {MAX_TREE_BYTES // 10**6} MB, {MAX_FILE_BYTES // 10**6} MB a file.",
                )
            relative = path.relative_to(directory).as_posix()
            found.append(objects.file(relative, path.read_bytes(), facts.st_mode & 0o777))
    return tuple(found)


def layered(*layers: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Files of several layers as one tree, a later layer's file standing for an earlier one's of the same path."""
    files = {file.path: file for layer in layers for file in layer}
    return tuple(files[path] for path in sorted(files))


@dataclass(frozen=True, slots=True)
class Tree:
    """A throwaway copy of the files that an evaluation looks at."""

    root: Path
    files: tuple[FileRef, ...]

    def text(self, path: str) -> str | None:
        """A file's text as the harness laid it; None where the tree has no such file."""
        if not any(file.path == path for file in self.files):
            return None
        return (self.root / path).read_bytes().decode("utf-8", "replace")


@contextlib.contextmanager
def laid(files: Sequence[FileRef], objects: Objects) -> Iterator[Tree]:
    """Lay a tree out in a temporary directory of its own, gone afterwards."""
    with scratch() as home:
        root = home / "tree"
        root.mkdir()
        for file in files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(objects.get(file.sha256))
            path.chmod(file.mode | 0o400)
        yield Tree(root, tuple(files))


def place(files: Sequence[FileRef], directory: Path, objects: Objects, known: Iterable[str]) -> tuple[FileRef, ...]:
    """Copy accepted deliverables into the working directory; the files of a person's own that had to give way.

    ``known`` are hashes of contents that the run knows anyway; any other content in the way is kept as an object first.
    Never writes through a symbolic link.
    """
    displaced: list[FileRef] = []
    expected = set(known)
    for file in files:
        path = directory / file.path
        _real_parents(directory, path)
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise BadInput(
                f"{file.path} in the working directory is no plain file, so the accepted one cannot be put there.",
                "Move it away, then %pge resume.",
            )
        if path.exists():
            there = objects.file(file.path, path.read_bytes(), path.stat().st_mode & 0o777)
            if there.sha256 == file.sha256:
                continue
            if there.sha256 not in expected:
                displaced.append(there)
        write_whole(path, objects.get(file.sha256), file.mode)
    return tuple(displaced)


def _real_parents(directory: Path, path: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    folder = directory
    for part in path.relative_to(directory).parts[:-1]:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BadInput(
                f"{folder.name} in the working directory is no plain folder.", "Move it away, then %pge resume."
            )
        folder.mkdir(exist_ok=True)


class EvidenceBook:
    """Issues the evidence of one evaluation: ids e1, e2, ... in the order in which things were opened or run."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._texts: dict[str, str] = {}
        self._issued: list[Evidence] = []

    def issue(
        self, *, method: str, on: str, says: str, text: str, strength: str = "strong", replayed: bool = False
    ) -> Evidence:
        """Issue the next id for something that the harness has just looked at."""
        evidence = Evidence(
            id=f"e{len(self._issued) + 1}",
            method=method,
            on=on,
            says=says,
            body=self._objects.body(text),
            strength=strength,
            replayed=replayed,
        )
        self._issued.append(evidence)
        self._texts[evidence.id] = text
        return evidence

    @property
    def issued(self) -> tuple[Evidence, ...]:
        """All evidence, in order."""
        return tuple(self._issued)

    @property
    def texts(self) -> dict[str, str]:
        """Id -> the whole text, for checking quotes."""
        return dict(self._texts)
