"""The part for people of the sections of ``study.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .markdown import fence, inline, said, table, visible
from .payloads import compact
from .study_records import Card, Example, Label, Look, Rater, Split, Study

Lines = list[str]


def _rater(rater: Rater) -> Lines:
    if rater.who != "judge":
        return [f"A {rater.who}: {inline(rater.id, 80)}.", ""]
    called = f", called {inline(rater.name, 80)}" if rater.name else ""
    edited = f" Edited from {inline(rater.edited_from, 80)}." if rater.edited_from else ""
    lines = [f"Judge {inline(rater.id, 80)}{called}: {inline(rater.model, 120)}, {inline(rater.mode, 80)}.{edited}", ""]
    if visible(rater.prompt).strip():
        lines += ["**Prompt**", "", *fence(rater.prompt), ""]
    return lines + [line for example in rater.examples for line in _example(example)]


def _example(example: Example) -> Lines:
    score = "" if example.score is None else f", {example.score:g} of 10"
    head = f"**Example** {inline(example.item, 200)}: {inline(example.says)} {example.verdict.upper()}{score}"
    return [head, "", *fence(example.shown), "", *said(example.why), ""]


def _label(label: Label) -> Lines:
    score = "" if label.score is None else f", {label.score:g} of 10"
    on = inline(label.on, 80) if label.on else "the whole attempt"
    where = f"run {inline(label.run, 40)}, step {label.step}, attempt `{_hex(label.attempt_hash)}`"
    again = f", repeat {label.repeat}" if label.repeat > 1 else ""
    shown = " The evaluator's verdict had been shown before." if label.verdict_shown else ""
    verdict = f"**{label.verdict.upper()}**{score} on {on} of {where}, by {inline(label.rater, 80)}{again}.{shown}"
    return [verdict, "", *([*said(label.note), ""] if visible(label.note).strip() else [])]


def _hex(digest: str) -> str:
    return "".join(char for char in digest[:12] if char in "0123456789abcdef") or "?"


def _split(split: Split) -> Lines:
    parts = {"train": split.train, "development": split.development, "test": split.test}
    rows = [(inline(task, 120), part) for part, tasks in parts.items() for task in tasks]
    return [f"Drawn with seed {split.seed}.", "", *table(("Task", "Part"), rows), ""]


def _look(look: Look) -> Lines:
    raters = ", ".join(inline(rater, 80) for rater in look.raters)
    why = f" {inline(look.why)}" if look.why else ""
    return [f"Look {look.number} at the test part, at level {look.level:g}: {raters}.{why}", ""]


def _study(study: Study) -> Lines:
    failed = f", {study.failed:,} of them failed" if study.failed else ""
    rows = [
        (inline(name, 80), inline(value if isinstance(value, str) else compact(value), 400))
        for name, value in study.asked.items()
    ]
    asked = [*table(("Asked", "Value"), rows), ""] if rows else []
    return [f"{study.study.capitalize()} over {study.units:,} units{failed}.", "", *asked]


def _card(card: Card) -> Lines:
    return [f"Card of rater {inline(card.rater, 80)}: {inline(card.sentence)}", ""]


STUDY_WRITERS: Mapping[type, Callable[[Any], Lines]] = {
    Rater: _rater,
    Label: _label,
    Split: _split,
    Look: _look,
    Study: _study,
    Card: _card,
}
