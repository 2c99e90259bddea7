"""Files: objects by hash, the working directory, the attempts' trees, and the evidence that a tree issues."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from . import walking
from .disk import sync_directory
from .errors import BadInput, StateDamaged
from .records import INLINE_BYTES, Body, Evidence, FileRef
from .sandbox import scratch

HEAD_CHARACTERS = 1_500
MAX_FILES = 2_000
MAX_TREE_BYTES = 200_000_000
MAX_FILE_BYTES = 20_000_000
MAX_DEPTH = 16
MAX_NAME_BYTES = 200
"""Of one part of a path: file systems take 255, and a temporary name beside it is longer."""
MAX_PATH_BYTES = 1_000
CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
SKIPPED = frozenset(
    {".git", ".pge", ".ipynb_checkpoints", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)
TEMPORARY = ".pge-"
"""How the name of a file begins that is being written."""
INPUTS = "inputs"
"""The directory of a tree in which the person's data stand."""
DEVICE_NAMES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


class Objects:
    """Bytes under ``.pge/objects/``, named by their sha256. Written whole or not at all, before a section names them.

    ``house`` names another directory under ``.pge/``, for what no tree may ever hold.
    """

    def __init__(self, root: Path, house: str = "objects") -> None:
        self.root = root
        self.directory = root / ".pge" / house

    def put(self, content: bytes) -> str:
        """Keep ``content``, durably; the name it has from now on."""
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        # A file of another size is what a crash of the machine left.
        if not path.is_file() or path.stat().st_size != len(content):
            new = not path.parent.is_dir()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
            sync_directory(path.parent)
            if new:
                sync_directory(self.directory)
        return name

    def get(self, name: str) -> bytes:
        """The bytes of an object; ``StateDamaged`` where they are gone or are not what the name says."""
        try:
            content = self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
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
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
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
    """Why a model cannot write at a relative path; None where it can."""
    if path.partition("/")[0].casefold() == INPUTS:
        return f"{INPUTS}/ is for the person's data, which are only read"
    return misplaced(path)


def misplaced(path: str) -> str | None:
    """Why a relative path from a model names no file of a tree; None where it does."""
    parts = path.split("/")
    if not path or path != path.strip() or path.endswith("/"):
        return "it names no file"
    if "\\" in path or any(unicodedata.category(char) in CONTROLS or char in BIDI for char in path):
        return "it holds a backslash or a control character"
    if path.startswith(("/", "~")) or ":" in parts[0]:
        return "it is not relative to the working directory"
    if not {"", ".", ".."}.isdisjoint(parts):
        return "it holds '.', '..' or an empty part"
    if any(part.lower() in SKIPPED or part.lower().startswith(TEMPORARY) for part in parts):
        return "it lies in a directory that the harness or a tool owns"
    if any(_reserved(part) for part in parts):
        return "it is a name that some systems reserve"
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    if len(parts) > MAX_DEPTH or max(sizes) > MAX_NAME_BYTES or sum(sizes) > MAX_PATH_BYTES:
        return "it is too long or too deep"
    return None


def composed(path: str) -> str:
    """The path in NFC: a letter with its accent is one character in some models' replies and two in others', and one file."""
    return unicodedata.normalize("NFC", path)


def _reserved(part: str) -> bool:
    return part.partition(".")[0].rstrip().lower() in DEVICE_NAMES or part.endswith((" ", ".")) or ":" in part


def clash(path: str, others: Iterable[str]) -> str | None:
    """One of ``others`` that cannot be in one tree with ``path``, since one of them is a directory of the other."""
    for other in others:
        if path.startswith(f"{other}/") or other.startswith(f"{path}/"):
            return other
    return None


def snapshot(directory: Path, objects: Objects) -> tuple[FileRef, ...]:
    """Every regular file under a directory, kept as objects. Links, devices and tool directories are left out.

    ``BadInput`` when there are more than the caps allow, and where the directory is itself a link.
    """
    found: list[FileRef] = []
    total = 0
    try:
        with walking.opened(directory) as root:
            for path, content in walking.walk(root, most=MAX_FILE_BYTES, leave_out=_left_out):
                if not _is_text(path):
                    raise BadInput(
                        f"The name {path!r} in the working directory is not Unicode text.", "Rename that file."
                    )
                total += len(content.bytes)
                if len(found) >= MAX_FILES or total > MAX_TREE_BYTES:
                    raise _beyond(directory, path)
                found.append(objects.file(path, content.bytes, content.mode))
    except FileNotFoundError:
        return ()
    except walking.NotPlain:
        raise _no_folder(directory) from None
    except walking.TooMuch as error:
        raise _beyond(directory, error.path, error.limit) from None
    except OSError as error:
        raise BadInput(
            f"{error.filename or directory.name!s:.200} in the working directory cannot be read: {error.strerror}.",
            "Change its permissions or move it away, then %pge resume.",
        ) from None
    return tuple(found)


def _left_out(name: str, is_folder: bool) -> bool:
    return name in SKIPPED if is_folder else name.startswith(TEMPORARY)


def _beyond(directory: Path, path: str, limit: walking.Limit = "bytes") -> BadInput:
    caps = {
        "bytes": f"under {MAX_FILES} files and {MAX_TREE_BYTES // 10**6} MB, {MAX_FILE_BYTES // 10**6} MB a file",
        "names": f"under {walking.MOST_NAMES:,} files and folders",
        "depth": f"at most {walking.MOST_DEPTH} folders deep",
    }
    where = path.encode("utf-8", "backslashreplace").decode()
    where = where if len(where) <= 200 else f"...{where[-200:]}"
    return BadInput(
        f"The working directory {directory.name}/ holds more than a run takes in (stopped at {where!r}).",
        f"Keep it {caps[limit]}.",
    )


def _no_folder(directory: Path) -> BadInput:
    """Why a working directory is not used: files would be read and written somewhere else."""
    what = "a symbolic link, and links are never followed" if directory.is_symlink() else "no directory"
    return BadInput(
        f"The working directory {directory.name}/ is {what}.", "Put a real directory in its place, then %pge resume."
    )


def _is_text(name: str) -> bool:
    return not any(unicodedata.category(char) == "Cs" for char in name)


def layered(*layers: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Files of several layers as one tree, a later layer's file standing for an earlier one's of the same path.

    A file also stands for what would be in its way: the earlier file that is a directory of its own path, or the earlier
    files under a directory of its name.
    """
    files: dict[str, FileRef] = {}
    folders: set[str] = set()
    for layer in reversed(layers):
        for file in reversed(list(layer)):
            above = [str(parent) for parent in PurePosixPath(file.path).parents]
            if file.path not in files and file.path not in folders and files.keys().isdisjoint(above):
                files[file.path] = file
                folders.update(above)
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
        content = walking.read(self.root, path, MAX_FILE_BYTES)
        return None if content is None else content.bytes.decode("utf-8", "replace")


def _inside(path: str) -> str:
    """The path; ``StateDamaged`` where it would leave its tree, as only a file that was made by hand can say."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or (os.sep == "\\" and "\\" in path):
        raise StateDamaged(f"The state file names {path!r:.80}, which lies in no tree.", "Do not use this state file.")
    return path


@contextlib.contextmanager
def laid(files: Sequence[FileRef], objects: Objects) -> Iterator[Tree]:
    """Lay a tree out in a temporary directory of its own, gone afterwards."""
    with scratch() as home:
        root = home / "tree"
        root.mkdir()
        for file in files:
            path = root / _inside(file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(objects.get(file.sha256))
            path.chmod(file.mode | 0o400)
        yield Tree(root, tuple(files))


def place(files: Sequence[FileRef], directory: Path, objects: Objects, known: Iterable[str]) -> tuple[FileRef, ...]:
    """Copy accepted deliverables into the working directory; the files of a person's own that had to give way.

    ``known`` are hashes of contents that the run knows anyway; any other content in the way is kept as an object first.
    Never writes through a symbolic link, nor into a directory that is one.
    """
    displaced: list[FileRef] = []
    expected = set(known)
    for file in files:
        try:
            with _place_of(directory, _inside(file.path)) as (folder, name):
                there = _in_the_way(folder, name, file.path, objects)
                if there is not None and there.sha256 == file.sha256:
                    continue
                if there is not None and there.sha256 not in expected:
                    displaced.append(there)
                folder.write(name, objects.get(file.sha256), file.mode, prefix=TEMPORARY)
        except OSError as error:
            raise BadInput(
                f"{file.path} cannot be written into {directory.name}/: {error.strerror}.",
                "Make room for it, then %pge resume.",
            ) from None
    return tuple(displaced)


@contextlib.contextmanager
def _place_of(directory: Path, path: str) -> Iterator[tuple[walking.Folder, str]]:
    """The folder of the working directory in which a file is to stand, made where it is missing, and the file's name in it."""
    if not directory.is_symlink():
        directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            root = held.enter_context(walking.opened(directory))
        except walking.NotPlain:
            raise _no_folder(directory) from None
        try:
            place = held.enter_context(walking.parent(root, path, make=True))
        except walking.NotPlain as error:
            raise BadInput(
                f"{error.name} in the working directory is no plain folder, and {PurePosixPath(path).name} belongs into it.",
                "Move it away, then %pge resume.",
            ) from None
        yield place


def _in_the_way(folder: walking.Folder, name: str, path: str, objects: Objects) -> FileRef | None:
    """What stands at a path now, kept as an object; None where nothing does."""
    try:
        content = folder.read(name, MAX_FILE_BYTES)
    except FileNotFoundError:
        return None
    except walking.NotPlain:
        raise BadInput(
            f"{path} in the working directory is no plain file, so the accepted one cannot be put there.",
            "Move it away, then %pge resume.",
        ) from None
    except walking.TooMuch:
        raise BadInput(
            f"{path} in the working directory is larger than {MAX_FILE_BYTES // 10**6} MB, so it cannot be kept.",
            "Move it away, then %pge resume.",
        ) from None
    return objects.file(path, content.bytes, content.mode)


def bring(files: Iterable[FileRef], source: Objects, target: Objects) -> None:
    """Keep the contents of another run's files here as well; ``BadInput``, before any is kept, where one has no place here.

    A run that was made elsewhere may name anything; what an agent could not have written is not taken over either.
    """
    files = list(files)
    for file in files:
        if why := refused(file.path):
            raise BadInput(f"{file.path!r:.80} is not put into a working directory: {why}.", "Nothing was changed.")
    for file in files:
        target.put(source.get(file.sha256))


class EvidenceBook:
    """Issues the evidence of one evaluation: ids e1, e2, ... in the order in which things were opened or run."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._texts: dict[str, str] = {}
        self._issued: list[Evidence] = []

    def issue(
        self,
        *,
        method: str,
        on: str,
        says: str,
        text: str,
        strength: str = "strong",
        replayed: bool = False,
        picture: bytes = b"",
    ) -> Evidence:
        """Issue the next id for something that the harness has just looked at; ``picture`` is a PNG of it."""
        evidence = Evidence(
            id=f"e{len(self._issued) + 1}",
            method=method,
            on=on,
            says=says,
            body=self.objects.body(text),
            strength=strength,
            replayed=replayed,
            picture=self.objects.put(picture) if picture else None,
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
