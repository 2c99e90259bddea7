"""*Save my work*: all runs of a notebook's directory in one zip, and that zip laid out again in another directory."""

from __future__ import annotations

import filecmp
import importlib.util
import itertools
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..errors import BadInput
from ..moving import EARLIER, NOTE, belongings, finish, take_in
from ..prose import counted
from ..redaction import Redactor
from ..state import FILE_NAME, STUDY_NAME
from ..workspace import SKIPPED
from .archive import HOUSE, Archive, Member, pack, refusal, unpacked, written
from .snapshot import Snapshot, members, passing

FORMAT = "pge-saved/1"
NOTEBOOK = ".ipynb"
ON_TOP = frozenset({FILE_NAME, STUDY_NAME})
HEAD = f"{HOUSE}/head"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What went into a zip. ``left_out`` and ``redacted`` are names of files, with the reason in words for the first."""

    path: Path
    files: int
    bytes: int
    left_out: Mapping[str, str]
    redacted: tuple[str, ...]


@dataclass(slots=True)
class Found:
    """What is found on the way through a notebook's directory."""

    left_out: dict[str, str] = field(default_factory=dict)
    redacted: list[str] = field(default_factory=list)
    files: int = 0


def save(directory: Path, states: Sequence[Path], place: Path, *, redactor: Redactor | None = None) -> Saved:
    """Write everything of these runs, which stand in ``directory``, and its notebooks into the new zip ``place``.

    It is written whole or not at all. A run in progress is saved up to its last whole section. Keys that this process knows
    are taken out of every file in which they can be; ``BadInput`` where one stands in a state file.
    """
    found = Found()
    now = datetime.now(UTC)
    redactor = redactor or Redactor()
    manifest = {"format": FORMAT, "at": now.isoformat(timespec="seconds")}
    try:
        with written(place) as file:
            pack(file, manifest, _readme(place.name), _everything(directory, states, redactor, found), now)
    except OSError as error:
        raise BadInput(
            f"{error.filename or place} could not be saved: {error.strerror or error}.",
            "Nothing was written. Run this again; --to FILE.zip gives it another place.",
        ) from None
    return Saved(
        path=place,
        files=found.files,
        bytes=place.stat().st_size,
        left_out=found.left_out,
        redacted=tuple(found.redacted),
    )


def _readme(name: str) -> str:
    return (
        "All runs of a notebook, saved by pge_nb. To go on with them: put this file into the directory of a notebook "
        f"that holds no other run, and run there\n\n    %load_ext pge_nb\n    %pge open {name}\n"
    )


# What goes in


def _everything(directory: Path, states: Sequence[Path], redactor: Redactor, found: Found) -> Iterator[Member]:
    seen: set[str] = set()
    for member in itertools.chain(_notebooks(directory, found), _runs(directory, states, found)):
        if member.name not in seen and (clean := _without_keys(member, redactor, found)):
            seen.add(member.name)
            found.files += 1
            yield clean


def _runs(directory: Path, states: Sequence[Path], found: Found) -> Iterator[Member]:
    for state in states:
        sections = Snapshot.of(state)  # before all else: what they name was on disk before they were
        if sections.astray:
            name = state.relative_to(directory).as_posix()
            found.left_out[name] = f"its files are in {sections.astray}, outside of its place"
            continue
        yield from members(state, directory, sections)
        for part in belongings(state):
            if part.is_dir() and part.name != HOUSE:
                yield from _tree(part, directory, found)
        if (study := state.with_name(STUDY_NAME)).is_file():
            yield Member(name=study.relative_to(directory).as_posix(), content=Snapshot.of(study).content)


def _notebooks(directory: Path, found: Found) -> Iterator[Member]:
    for path in sorted(directory.glob(f"*{NOTEBOOK}")):
        yield from _file(path, directory, found)
    if (study := directory / STUDY_NAME).is_file():
        yield Member(name=STUDY_NAME, content=Snapshot.of(study).content)


def _tree(top: Path, directory: Path, found: Found) -> Iterator[Member]:
    for folder, folders, names in os.walk(top):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in SKIPPED and name not in links)
        for name in sorted([*names, *links]):
            yield from _file(Path(folder, name), directory, found)


def _file(path: Path, directory: Path, found: Found) -> Iterator[Member]:
    name = path.relative_to(directory).as_posix()
    mode = path.lstat().st_mode
    if passing(path):
        return
    if not stat.S_ISREG(mode):
        found.left_out[name] = "it is a link or no plain file"
    elif why := refusal(name):
        found.left_out[name] = why
    else:
        yield Member(name=name, content=path.read_bytes(), mode=mode & 0o777)


def _without_keys(member: Member, redactor: Redactor, found: Found) -> Member | None:
    """The member without the keys that this process knows; None where it cannot be told without them."""
    text = member.content.decode("utf-8", "surrogateescape")
    if (clean := redactor.text(text)) == text:
        return member
    name = member.name.rpartition("/")[2]
    if name in ON_TOP:
        raise BadInput(
            f"{member.name} holds a key of this environment.",
            "Nothing was saved. A key must not leave this machine: revoke it, or unset it if it is none.",
        )
    if f"{HOUSE}/objects/" in member.name:
        found.left_out[member.name] = "it holds a key, and would no longer be what its name says without it"
        return None
    found.redacted.append(member.name)
    return Member(name=member.name, content=clean.encode("utf-8", "surrogateescape"), mode=member.mode)


# Laying it out


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """What became of a zip: files that are new here, files that were here already, and notebooks that got another name."""

    new: tuple[str, ...]
    same: int
    renamed: Mapping[str, str]


def lay_out(archive: Archive, directory: Path) -> Laid:
    """Lay a saved zip out whole, or change nothing: ``BadInput`` names what stands there already and is something else.

    A notebook that is in the way is no reason to refuse, since the one that asks is there: the saved one gets another name.
    """
    finish(directory)  # what an opening that was cut off has left is not swept away, but laid out
    names = [info.filename for info in archive.files]
    _check_places(archive.path.name, names, directory)
    with unpacked(archive, directory) as root:
        for state in root.rglob(FILE_NAME):
            _check_working_directory(archive.path.name, state, root, directory)
        wanted: dict[Path, Path] = {}
        renamed: dict[str, str] = {}
        for name in names:
            target = directory / name
            if _is_notebook(name):
                target = _free(root / name, target)
                if target.name != name:
                    renamed[name] = target.name
            elif _stands(root / name, target, directory, archive.path.name):
                continue
            if not target.exists():
                wanted[root / name] = target
        take_in(_joined(wanted, root, directory), root=directory)
        new = tuple(sorted(target.relative_to(directory).as_posix() for target in wanted.values()))
    return Laid(new=new, same=len(names) - len(new), renamed=renamed)


def _is_notebook(name: str) -> bool:
    return "/" not in name and name.endswith(NOTEBOOK)


def _check_places(zip_name: str, names: Iterable[str], directory: Path) -> None:
    """A saved zip holds runs and notebooks, and nothing that Python would take for a module of this directory."""
    for name in names:
        top, slash, rest = name.partition("/")
        if name.endswith(f"{EARLIER}/{NOTE}") or (not slash and name not in ON_TOP and not _is_notebook(name)):
            raise BadInput(
                f"{zip_name} holds {name!r:.80}, which belongs to no run.", "Nothing was laid out. Do not use this zip."
            )
        if re.fullmatch(r"__init__\.\w+", rest) and _hides(top, directory):
            raise BadInput(
                f"{zip_name} holds {name!r:.80}: a directory of that name would hide the package {top} from this notebook.",
                "Nothing was laid out. Do not use this zip.",
            )


def _check_working_directory(zip_name: str, state: Path, root: Path, directory: Path) -> None:
    """The run will write into its working directory: it must stand below the run's place, and hide no package."""
    found = Snapshot.of(state)
    said = found.astray or (found.work if state.parent == root and _hides(found.work, directory) else "")
    if said:
        raise BadInput(
            f"{state.relative_to(root)} in {zip_name} would write into {said!r:.80}, which is no place for its files.",
            "Nothing was laid out. Do not use this zip.",
        )


def _hides(name: str, directory: Path) -> bool:
    """Whether a package in ``directory`` would be imported instead of one of this name from elsewhere."""
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        return True
    # A directory that is no package (without an origin) never comes before one that is.
    return spec is not None and spec.origin is not None and directory not in Path(spec.origin).parents


def _stands(source: Path, target: Path, directory: Path, zip_name: str) -> bool:
    """Whether the very same file stands there already. ``BadInput`` where something else does."""
    name = target.relative_to(directory).as_posix()
    folders = [folder for folder in target.parents if directory in folder.parents]
    if blocked := next((one for one in folders if one.is_symlink() or (one.exists() and not one.is_dir())), None):
        raise _in_the_way(blocked.relative_to(directory).as_posix(), zip_name)
    if not os.path.lexists(target):
        return False
    plain = not target.is_symlink() and target.is_file()
    # The note beside a state file may lag behind it; the state file itself is compared.
    if plain and (name.endswith(HEAD) or filecmp.cmp(source, target, shallow=False)):
        return True
    raise _in_the_way(name, zip_name)


def _in_the_way(name: str, zip_name: str) -> BadInput:
    return BadInput(
        f"{name} is here already, and is not what {zip_name} holds.",
        "Nothing was laid out. Open the zip from a notebook in a directory without that run.",
    )


def _free(source: Path, target: Path) -> Path:
    """Where a notebook goes: its place, or the first free name like it; the place where the same one stands already."""
    number = 1
    place = target
    while os.path.lexists(place) and not (
        place.is_file() and not place.is_symlink() and filecmp.cmp(source, place, shallow=False)
    ):
        place = target.with_name(f"{target.stem}-saved{'' if number == 1 else f'-{number}'}{target.suffix}")
        number += 1
    return place


def _joined(wanted: Mapping[Path, Path], root: Path, directory: Path) -> list[tuple[Path, Path]]:
    """The renames that bring every wanted file to its place: of whole directories wherever nothing of theirs is here yet."""
    renames: dict[Path, Path] = {}
    there = {directory / EARLIER}  # which every move makes, if it is not there
    for source, target in wanted.items():
        parts = source.relative_to(root).parts
        folders = [directory.joinpath(*parts[:count]) for count in range(1, len(parts))]
        new = next((folder for folder in folders if folder not in there and not os.path.lexists(folder)), None)
        if new is None:
            renames[source] = target
        else:
            renames[root / new.relative_to(directory)] = new
    return list(renames.items())


def told(laid: Laid) -> str:
    """In words."""
    already = f"; {counted(laid.same, 'file was', 'files were')} here already" if laid.same else ""
    return f"{counted(len(laid.new), 'file was', 'files were')} laid out{already}."
