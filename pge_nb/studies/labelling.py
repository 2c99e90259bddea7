"""Labelling: which items a person is asked about, in which order, and what is kept of it. Blind, seeded, to be gone on with."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, get_args

from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..records import EvaluationReport, Finding
from ..run import Run
from ..study_records import Label, Labelled
from ..workspace import Objects
from .items import WHOLE, About, Item, items
from .raters import check_name
from .study import StudyFile, StudyView

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_TEXT: Final = 20_000
"""Characters of what was made that are shown of one file."""
GAP: Final = 5
"""Questions that stand between an item and its repeat, where there are so many."""

LABELS: Columns = {
    "rater": TEXT,
    "run": TEXT,
    "step": COUNT,
    "attempt_hash": TEXT,
    "on": TEXT,
    "verdict": TEXT,
    "score": NUMBER,
    "note": TEXT,
    "repeat": COUNT,
    "verdict_shown": FLAG,
    "weight": NUMBER,
    "origin": TEXT,
    "seconds": NUMBER,
}
"""The columns of `labels`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a person. ``id`` tells nothing of run or attempt; ``repeat`` counts from 1; ``weight``: 1 / probability."""

    id: str
    item: Item
    repeat: int = 1
    weight: float = 1.0
    origin: str = ""

    @property
    def asks(self) -> str:
        """The question in words."""
        if self.item.about == "attempt":
            return f"Is this done, by its contract and its criteria? {self.item.says}"
        if self.item.about == "criterion":
            least = f" A score from 0 to 10 may follow the verdict; from {self.item.threshold:g} on it passes."
            return (
                f"Does it hold up in {self.item.on}? {self.item.says}{least if self.item.threshold is not None else ''}"
            )
        return f"Is this met? {self.item.says}"


def questions(
    runs: Iterable[Run],
    study: StudyView,
    *,
    rater: str,
    sample: int,
    seed: int = 1,
    repeats: int = 0,
    about: About | None = None,
    active: bool = False,
) -> tuple[Question, ...]:
    """The questions of one labelling, in their order: the same for the same runs, seed and sizes, so that it can be gone on with.

    Items are drawn at random within strata of what is judged (check, criterion, attempt) and step kind, as many of each as
    its size asks for and at least one where there is room. ``active``: chosen by `calibration.next_to_label` from the gate's
    scores and verdicts instead, never from the test part. ``repeats`` of them are asked twice.
    """
    if sample < 1 or repeats < 0 or repeats > sample:
        raise BadInput(
            f"sample is {sample} and repeats {repeats}.",
            "Give --sample 20 --repeats 4, say: no more repeats than items.",
        )
    several = list(runs)
    pool = [item for item in items(several) if about in (None, item.about)]
    pool = list({item.key: item for item in pool}.values())
    if not pool:
        raise BadInput("There is nothing to label in these runs.", "Nothing was evaluated yet: %pge run first.")
    drawn = (
        _active(several, _offered(pool, study), study, rater=rater, sample=sample, seed=seed)
        if active
        else _drawn(pool, sample, seed)
    )
    return tuple(_with_repeats([_question(item, weight, seed, active=active) for item, weight in drawn], repeats, seed))


def _question(item: Item, weight: float, seed: int, *, active: bool) -> Question:
    return Question(
        id=_short(seed, item.key, 1),
        item=item,
        weight=weight,
        origin=f"{'active' if active else 'sample'}, seed {seed}",
    )


def _short(seed: int, key: str, repeat: int) -> str:
    return f"q{hashlib.sha256(f'{seed} {key} {repeat}'.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def _lot(seed: int, item: Item) -> str:
    """What orders items at random: it is the item's own, so that another run beside it changes nothing."""
    return hashlib.sha256(f"lot {seed} {item.key}".encode("utf-8", "surrogatepass")).hexdigest()


def _drawn(pool: Sequence[Item], sample: int, seed: int) -> list[tuple[Item, float]]:
    strata: dict[tuple[str, str], list[Item]] = {}
    for item in sorted(pool, key=lambda one: _lot(seed, one)):
        strata.setdefault((item.about, item.step_kind), []).append(item)
    sizes = {name: len(strata[name]) for name in sorted(strata)}
    wanted = _allotted(sizes, min(sample, len(pool)))
    chosen = [(item, sizes[name] / n) for name, n in wanted.items() for item in strata[name][:n]]
    return sorted(chosen, key=lambda one: _lot(seed, one[0]))


def _allotted(sizes: dict[tuple[str, str], int], total: int) -> dict[tuple[str, str], int]:
    """So many of each stratum: by size, at least one of each where ``total`` allows, never more than there are."""
    least = 1 if total >= len(sizes) else 0
    n = dict.fromkeys(sizes, least)
    everything = sum(sizes.values())
    while sum(n.values()) < total:
        open_ = [name for name in sizes if n[name] < sizes[name]]
        lacking = max(open_, key=lambda name: (total * sizes[name] / everything - n[name], sizes[name], name))
        n[lacking] += 1
    return {name: number for name, number in n.items() if number}


def _offered(pool: Sequence[Item], study: StudyView) -> list[Item]:
    """The items of which some may be chosen by what the gate said: none of the test part."""
    if study.split is None:
        raise BadInput(
            "Active choice is forbidden in the test part, and there is no split yet.",
            "%pge label --split makes it, once.",
        )
    offered = sorted((item for item in pool if study.part(item.task) != "test"), key=lambda one: one.key)
    if not offered:
        raise BadInput("All of these runs are in the test part, where nothing may be chosen.", "Leave out --active.")
    return offered


def _active(
    runs: Sequence[Run], offered: Sequence[Item], study: StudyView, *, rater: str, sample: int, seed: int
) -> list[tuple[Item, float]]:
    from ..calibration import next_to_label

    gate = {item.key: finding_at(runs, item) for item in offered}
    scores = [_distance(gate[item.key], item) for item in offered]
    verdicts = [_as_number(gate[item.key]) for item in offered]
    mine = f"active, seed {seed}"
    before = {
        (label.run, label.step, label.attempt_hash, label.on)
        for label in study.labels
        if label.rater == rater and label.origin != mine
    }
    labelled = [(item.run, item.step, item.attempt_hash, item.on) in before for item in offered]
    if all(labelled):
        raise BadInput("Every item that may be chosen has a label of yours.", "Leave out --active.")
    plan = next_to_label(sample, scores=scores, verdicts=verdicts, threshold=0.0, labelled=labelled, rng=seed)
    chosen = [(offered[int(place)], float(weight)) for place, weight in zip(plan.chosen, plan.weights, strict=True)]
    return sorted(chosen, key=lambda one: _lot(seed, one[0]))


def _distance(found: tuple[str, float | None] | None, item: Item) -> float:
    """How far the gate's score is from the threshold; 0 where there is none: as near as can be."""
    score = found[1] if found else None
    return 0.0 if score is None or item.threshold is None else score - item.threshold


def _as_number(found: tuple[str, float | None] | None) -> float:
    verdict = found[0] if found else ""
    return {"pass": 1.0, "fail": 0.0}.get(verdict, float("nan"))


def _with_repeats(asked: list[Question], repeats: int, seed: int) -> list[Question]:
    """The questions with some of them once more, further down."""
    rng = Random(seed)  # noqa: S311 - an order, no secret
    for question in rng.sample(asked, min(repeats, len(asked))):
        again = replace(question, id=_short(seed, question.item.key, 2), repeat=2)
        first = next(n for n, one in enumerate(asked) if one.id == question.id)
        asked.insert(rng.randint(min(first + 1 + GAP, len(asked)), len(asked)), again)
    return asked


# What is shown


def text_of(run: Run, item: Item, *, evidence: bool = False) -> str:
    """What a person is shown: the files of the attempt, cut where they are very long; the reviews' evidence only on request."""
    if run.root is None:
        raise BadInput("This run was not opened from a file.", "Open it with open_run(PATH).")
    objects = Objects(run.root)
    made = run.attempts(item.step)[item.attempt]
    parts = [f"--- {file.path}\n{_cut(objects.get(file.sha256).decode('utf-8', 'replace'))}" for file in made.files]
    parts += [f"--- {path} was not made" for path in made.missing]
    contract = run.contract(item.step)
    if item.about == "attempt" and contract:
        parts.insert(0, "\n".join(["--- the contract", *(f"{check.id}. {check.says}" for check in contract.checks)]))
    report = _report(run, item)
    if evidence and report:
        seen = [one for one in report.evidence if one.method != "artifact"]
        parts += [f"--- {one.method}: {one.says}\n{_cut(objects.whole(one.body))}" for one in seen]
    return "\n\n".join(parts)


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n... {len(text) - LONGEST_TEXT:,} more characters"


def _report(run: Run, item: Item) -> EvaluationReport | None:
    return run.evaluations(item.step).get(item.attempt)


def finding_at(runs: Iterable[Run], item: Item) -> tuple[str, float | None] | None:
    """The gate's verdict and score of an item; None where there is none."""
    for run in runs:
        if run.task.run != item.run:
            continue
        report = _report(run, item)
        if report is None or report.attempt_hash != item.attempt_hash:
            continue
        if item.about == "attempt":
            return report.verdict, report.overall
        found: Finding | None = next((one for one in report.findings if one.on == item.on), None)
        if found:
            return found.verdict, found.score
    return None


# What is kept

SHORT: dict[str, Labelled] = {"p": "pass", "f": "fail", "u": "unclear", "w": "withdrawn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person said of a question."""

    verdict: Labelled
    score: float | None = None
    note: str = ""
    seconds: float = 0.0


def read_said(item: Item, text: str, verdict: str = "") -> Said:
    """``VERDICT [SCORE] [NOTE]`` of a person; ``verdict`` where it was told apart. A score goes with a criterion alone."""
    words = text.split(None, 1) if not verdict else [verdict, text]
    told = words[0].casefold() if words else ""
    meant = SHORT.get(told, told)
    if meant not in get_args(Labelled):
        raise BadInput(f"{told[:40]!r} is no verdict.", "Write pass, fail or unclear; withdrawn takes a label back.")
    rest = words[1].strip() if len(words) > 1 else ""
    score = None
    if item.about == "criterion" and rest:
        first, _, behind = rest.partition(" ")
        score = as_score(first)
        rest = rest if score is None else behind.strip()
    check_score(item, meant, score)
    return Said(verdict=meant, score=score, note=rest)  # type: ignore[arg-type]  # it is among them


def as_score(text: str) -> float | None:
    """The number that a text is; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def check_score(item: Item, verdict: str, score: float | None) -> None:
    """``BadInput`` where a score is none, is of no criterion, or says the opposite of the verdict."""
    if score is None:
        return
    if item.about != "criterion":
        raise BadInput(f"A score goes with a criterion, and this is a {item.about}.", "Leave the score out.")
    if not 0 <= score <= 10:
        raise BadInput(f"{score:g} is no score.", "Give a number from 0 to 10.")
    if item.threshold is not None and verdict in ("pass", "fail") and (score >= item.threshold) != (verdict == "pass"):
        raise BadInput(
            f"The verdict is {verdict}, and {score:g} says the opposite: {item.on} passes from {item.threshold:g} on.",
            "Mend one of them.",
        )


def label_of(question: Question, rater: str, said: Said, *, shown: bool) -> Label:
    """The label that is kept. ``shown``: the evaluator's verdict on this attempt had been displayed before."""
    item = question.item
    return Label(
        rater=rater,
        run=item.run,
        step=item.step,
        attempt_hash=item.attempt_hash,
        on=item.on,
        verdict=said.verdict,
        score=said.score,
        note=said.note,
        repeat=question.repeat,
        verdict_shown=shown,
        weight=question.weight,
        origin=question.origin,
        seconds=said.seconds,
    )


def check_person(view: StudyView, name: str) -> None:
    """``BadInput`` where nobody can label under this name: it is none, or a judge is called so."""
    check_name(name)
    if any(rater.who != "person" for rater in view.raters.values() if name in (rater.id, rater.name)):
        raise BadInput(f"{name} is a judge.", "A person needs a name of their own: --as NAME")


def answered(asked: Collection[Question], study: StudyView, rater: str) -> dict[str, Label]:
    """The questions that this person has answered: id -> label."""
    there = {
        (label.run, label.step, label.attempt_hash, label.on, label.repeat): label
        for label in study.labels
        if label.rater == rater
    }
    keys = {one.id: (one.item.run, one.item.step, one.item.attempt_hash, one.item.on, one.repeat) for one in asked}
    return {name: there[key] for name, key in keys.items() if key in there}


def labels(study: StudyFile) -> DataFrame:
    """The labels that stand, a row each; ``on`` is "*" for the whole attempt, ``weight`` 1 / probability."""
    rows = [
        (
            *(
                one.rater,
                one.run,
                one.step,
                one.attempt_hash,
                one.on or WHOLE,
                one.verdict,
                one.score,
                one.note,
                one.repeat,
            ),
            *(one.verdict_shown, one.weight, one.origin, one.seconds),
        )
        for one in study.read().labels
    ]
    return frame_of(LABELS, rows)


def same(one: Label, other: Label) -> bool:
    """Whether two labels say the same, whenever and however they came in."""
    return (one.verdict, one.score, one.note) == (other.verdict, other.score, other.note)
