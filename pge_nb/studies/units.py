"""Units of work of a study: each carries its input by value and gives its outcome by value, so any executor may carry it out.

A finished unit is one file, named by the hash of its input and written whole or not at all; one that is there is not made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from ..errors import BadInput
from ..payloads import Json, Misfit, compact, decode
from ..records import EvaluationReport
from ..workspace import write_whole

T = TypeVar("T")
FOLDER = Path(".pge") / "studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One grading of an attempt that was made outside its run; ``sample`` counts repeats from 0."""

    run: str
    step: int
    attempt: int
    rater: str
    sample: int
    report: EvaluationReport


class Store:
    """What finished units of one kind of study came to, a file each, under ``.pge/studies/KIND/`` beside ``study.md``."""

    ending: ClassVar[str]
    what: ClassVar[str]
    """What cannot be kept, in an error."""
    mode: ClassVar[int]

    def __init__(self, directory: Path, kind: str) -> None:
        self.folder = directory / FOLDER / kind

    def place(self, name: str) -> Path:
        """The file of a unit."""
        return self.folder / name[:2] / f"{name}{self.ending}"

    def write(self, name: str, content: bytes) -> None:
        """Keep the content of a unit's file in place of what there was: durable, and whole or not at all."""
        place = self.place(name)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, content, self.mode)
        except OSError as error:
            raise BadInput(
                f"{self.what} cannot be kept at {place.parent}: {error.strerror or error}.",
                "Free some space or change the permissions, then run this again: finished units are not made again.",
            ) from error


class Units(Store):
    """What units came to, as JSON."""

    ending, what, mode = ".json", "A unit of the study", 0o600

    def get(self, name: str) -> Json | None:
        """What a unit came to; None where it is not finished. One that cannot be read counts as not finished."""
        try:
            value = json.loads(self.place(name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return cast("Json", value)

    def put(self, name: str, outcome: Json) -> None:
        """Keep what a unit came to."""
        self.write(name, (compact(outcome) + "\n").encode("utf-8", "surrogatepass"))

    def names(self) -> list[str]:
        """The names of the finished units, sorted."""
        return sorted(file.stem for file in self.folder.glob("*/*.json"))

    def __iter__(self) -> Iterator[tuple[str, Json]]:
        for name in self.names():
            outcome = self.get(name)
            if outcome is not None:
                yield name, outcome

    def sha256(self) -> str:
        """Hash of the sorted names and contents of all finished units."""
        digest = hashlib.sha256()
        for name, outcome in self:
            digest.update(f"{name}\n{compact(outcome)}\n".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def name_of(asked: object) -> str:
    """The name of a unit: sha256 (hex) of its input."""
    return hashlib.sha256(compact(asked).encode("utf-8", "surrogatepass")).hexdigest()


def read_as(kind: type[T], kept: Json | None) -> T | None:
    """What was kept as a value of ``kind``; None where there is none, or none that this version can read."""
    try:
        return decode(kind, kept) if isinstance(kept, dict) else None
    except Misfit:
        return None


def graded_of(outcome: Json) -> Graded | None:
    """The grading that a finished unit holds; None for one that failed, or that this version cannot read."""
    return read_as(Graded, outcome if isinstance(outcome, dict) and "report" in outcome else None)
