"""``study.md``: what is known of raters across the runs of one directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..errors import BadInput
from ..nearness import nearest
from ..records import Record
from ..run import Run
from ..state import STUDY_NAME, StateFile
from ..study_records import Card, Label, Look, Part, Rater, Split, Study

P = TypeVar("P", Rater, Label, Split, Look, Study, Card)
Labelled = tuple[str, str, int, str, str, int]
"""What one label is of: rater, run, step, attempt hash, on, repeat."""


def open_study(directory: Path) -> StudyFile:
    """The study file of a directory; it is made by the first thing that is added to it."""
    return StudyFile(StateFile(directory / STUDY_NAME))


@dataclass(frozen=True, slots=True)
class StudyFile:
    """The study file: to be read as it stands now, and to be added to."""

    state: StateFile

    @property
    def directory(self) -> Path:
        """Where it stands, beside the state files that it is about."""
        return self.state.root

    def read(self) -> StudyView:
        """What it holds now."""
        return StudyView(self.state.read())

    def add(self, *payloads: Rater | Label | Split | Look | Study | Card, by: str = "person") -> None:
        """Append; on return they are durable."""
        self.state.append(*(Record(payload=payload, by=by) for payload in payloads))

    def keep(self, *raters: Rater) -> None:
        """Put raters down that are not in it yet."""
        known = self.read().raters
        new = {rater.id: rater for rater in raters if rater.id not in known}
        if new:
            self.add(*new.values(), by="harness")


class StudyView:
    """What a study file holds, computed from its sections."""

    def __init__(self, sections: Run) -> None:
        self._sections = sections

    @property
    def head(self) -> str:
        """Hash of the last section."""
        return self._sections.head

    @property
    def basis(self) -> str:
        """Hash of the last section that is not a card: what a card rests on, so that it is the same when it is made again."""
        return next((one.sha256 for one in reversed(self._sections.sections) if one.record.kind != "card"), "")

    def _all(self, kind: str, cls: type[P]) -> list[P]:
        return [one.payload for one in self._sections.of(kind) if isinstance(one.payload, cls)]

    @property
    def raters(self) -> Mapping[str, Rater]:
        """Id -> rater, in the order in which they were last put down; the last name that was given to one holds."""
        found: dict[str, Rater] = {}
        for rater in self._all("rater", Rater):
            found.pop(rater.id, None)
            found[rater.id] = rater
        return found

    def rater(self, said: str) -> Rater:
        """The rater with this id or name (of two with one name the later). ``BadInput`` names those there are."""
        raters = self.raters
        named = {rater.name: rater for rater in raters.values() if rater.name}
        found = raters.get(said) or named.get(said)
        if found is None:
            near = nearest(said, [*raters, *named])
            there = ", ".join(f"{rater.name or rater.id}" for rater in raters.values()) or "none yet"
            raise BadInput(f"There is no rater {said!r}.", f"Did you mean {near}?" if near else f"There are: {there}.")
        return found

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels that stand: the last one of each rater, item and repeat, those that were withdrawn left out."""
        last: dict[Labelled, Label] = {}
        for label in self._all("label", Label):
            last[label.rater, label.run, label.step, label.attempt_hash, label.on, label.repeat] = label
        return tuple(label for label in last.values() if label.verdict != "withdrawn")

    @property
    def split(self) -> Split | None:
        """The split; the first one that was made is sealed and stands."""
        return next(iter(self._all("split", Split)), None)

    def part(self, task: str) -> Part | None:
        """The part that a task is in; None where there is no split, or it came later."""
        split = self.split
        if split is None:
            return None
        parts: tuple[tuple[Part, tuple[str, ...]], ...] = (
            ("train", split.train),
            ("development", split.development),
            ("test", split.test),
        )
        return next((part for part, tasks in parts if task in tasks), None)

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks at the test part, in order."""
        return tuple(self._all("look", Look))

    @property
    def studies(self) -> tuple[Study, ...]:
        """The studies that were carried out, in order."""
        return tuple(self._all("study", Study))

    @property
    def cards(self) -> tuple[Card, ...]:
        """The cards that were made, in order."""
        return tuple(self._all("card", Card))
