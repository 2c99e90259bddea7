"""Frozen values, one for each kind of section of ``study.md``: what is known of raters across runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .payloads import Json

Labelled = Literal["pass", "fail", "unclear", "withdrawn"]
Part = Literal["train", "development", "test"]
StudyKind = Literal["regrade", "exam", "probe", "drift", "improve", "ablate", "sweep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A few-shot example that a judge is shown: what lay before it, and how a person judged it.

    ``item`` is the item that it was taken from, ``says`` the sentence of the check or the criterion's description, ``shown`` the
    part of the artifact. ``score`` is None for a check.
    """

    item: str
    says: str
    shown: str
    verdict: Literal["pass", "fail"]
    why: str
    score: float | None = None


ALONE = "alone"
"""The mode of a judge that decides every check from the artifacts, what reviews found kept from it: in studies, at no gate."""
WITH_LOG = "with-log"
"""The mode of a judge that is told what was made and found at the step before: in studies, at no gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rater:
    """Who gives verdicts. A judge's ``id`` is a hash of model, prompt, examples and mode; a person's is the name.

    ``edited_from``: the id that an edited judge comes from.
    """

    id: str
    who: Literal["judge", "person", "oracle"]
    name: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    prompt: str = ""
    examples: tuple[Example, ...] = ()
    edited_from: str = ""

    @property
    def alone(self) -> bool:
        """Whether it decides every check from the artifacts."""
        return self.mode.startswith(ALONE)

    @property
    def logged(self) -> bool:
        """Whether it is told what was made and found before."""
        return self.mode.endswith(WITH_LOG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's (or an oracle's) verdict on one item. ``on``: a check's id, a criterion's name, or empty for the whole attempt.

    ``repeat`` counts from 1 how often this rater labelled the item; a later label of the same repeat replaces an earlier one, and
    "withdrawn" takes it back. ``verdict_shown``: the evaluator's verdict on this attempt had been displayed before. ``weight`` is
    1 / probability of having been chosen; ``origin`` tells how the label came in, ``seconds`` how long the person took.
    """

    rater: str
    run: str
    step: int
    attempt_hash: str
    on: str
    verdict: Labelled
    score: float | None = None
    note: str = ""
    repeat: int = 1
    verdict_shown: bool = False
    weight: float = 1.0
    origin: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Which tasks are for learning from, for trying out, and for the one last test. Made once, with ``seed``."""

    train: tuple[str, ...]
    development: tuple[str, ...]
    test: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the test part. The ``number``-th may use ``level`` = 1 - 0.05 / 2^number, so that all together keep to 5 %."""

    number: int
    level: float
    raters: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study that was carried out: what was asked of which raters, over how many units, and where these are kept.

    ``units`` counts those that are kept, ``failed`` those of them that ended in an error; ``sha256`` is the hash of their sorted
    names and contents.
    """

    study: StudyKind
    asked: Mapping[str, Json] = field(default_factory=dict)
    units: int = 0
    failed: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A calibration card that was made: its first sentence, and the hash of its JSON form."""

    rater: str
    sentence: str
    sha256: str


STUDY_KINDS: Mapping[str, type] = {
    "rater": Rater,
    "label": Label,
    "split": Split,
    "look": Look,
    "study": Study,
    "card": Card,
}
