"""Accepted modules in the kernel's own namespace: laid out from the objects, never from what stands in the working directory."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import types
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import BadInput
from ..records import FileRef
from ..workspace import Objects, write_whole

LOADED = Path(".pge", "loaded")
LAID = re.compile(r"[/\\]\.pge[/\\]loaded[/\\][0-9a-f]{16}(?![^/\\])")
"""Where in a path the directory of what was loaded ends."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A module, and the file that it came from."""

    name: str
    file: FileRef


def module_name(path: str) -> str | None:
    """The dotted name under which a file can be imported; None for one that is no module, and for tests."""
    place = PurePosixPath(path)
    if place.suffix != ".py":
        return None
    parts = list(place.with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    tests = not parts or parts[-1].startswith("test_") or parts[-1].endswith("_test") or parts[-1] == "conftest"
    return None if tests or not all(part.isidentifier() for part in parts) else ".".join(parts)


def load_modules(
    wanted: Sequence[FileRef], tree: Sequence[FileRef], root: Path, names: MutableMapping[str, object]
) -> list[Loaded]:
    """Import the modules among ``wanted`` out of ``tree`` and give them their names; what is in the way is refused."""
    modules = [Loaded(name, file) for file in wanted if (name := module_name(file.path))]
    for one in modules:
        top = one.name.partition(".")[0]
        if top in names and not isinstance(names[top], types.ModuleType):
            raise BadInput(f"The name {top} is taken in this notebook.", f"Rename it, or: del {top}")
    place = _laid_out(tree, root)
    _forget()
    sys.path.append(str(place))  # last: a deliverable must not stand in for a module of Python's own
    importlib.invalidate_caches()
    for one in modules:
        _import(one, place)
    names.update({top: sys.modules[top] for top in (one.name.partition(".")[0] for one in modules)})
    return modules


def _laid_out(tree: Sequence[FileRef], root: Path) -> Path:
    """A directory of these very contents, named by them."""
    objects = Objects(root)
    listed = "\n".join(sorted(f"{file.path} {file.sha256}" for file in tree))
    place = root / LOADED / hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    try:
        for file in tree:
            path = place / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, objects.get(file.sha256), file.mode | 0o400)
    except OSError as error:
        raise BadInput(
            f"The files cannot be laid out in {root / LOADED}: {error.strerror or error}.",
            "Make room for them there, or use the files themselves: %pge files links them.",
        ) from None
    return place


def _forget() -> None:
    """Let go of what was loaded before, of whichever run, so that another attempt is not mistaken for it."""
    sys.path[:] = [entry for entry in sys.path if not LAID.search(entry)]
    for name, module in list(sys.modules.items()):
        if any(LAID.search(place) for place in _places(module)):
            del sys.modules[name]


def _places(module: object) -> list[str]:
    """The files and directories that a module is from."""
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return [place for place in places if isinstance(place, str)]


def _is_from(module: object, directory: Path) -> bool:
    return any(Path(place).is_relative_to(directory) for place in _places(module))


def _import(one: Loaded, place: Path) -> None:
    try:
        module = importlib.import_module(one.name)
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{one.file.path} was accepted, and importing it here gives {type(error).__name__}: {error}",
            "Import what it needs first, or use the file itself: %pge files links it.",
        ) from error
    if not _is_from(module, place):
        theirs = getattr(module, "__file__", None) or "Python itself"
        raise BadInput(
            f"{one.name} is the name of another module here, from {theirs}.",
            "Restart the kernel where that is yours; else use the file itself: %pge files links it.",
        )
