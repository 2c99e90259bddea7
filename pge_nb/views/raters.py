"""Raters as they are shown: all of them, one, and how two differ."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..display import Block, Cell, Code, Diff, Fold, Table, Verbatim, View, Words
from ..prose import counted
from ..study_records import Example, Rater

HEADS = ("Rater", "Name", "Who", "Model", "Mode", "Examples", "Gate of", "Evaluations", "Labels")
COLUMNS = (
    "rater",
    "name",
    "who",
    "model",
    "mode",
    "effort",
    "examples",
    "gate_of",
    "evaluations",
    "labels",
    "edited_from",
)


def raters_view(
    listed: Sequence[tuple[Rater, Sequence[str], int, int]], *, notes: Sequence[str] = (), next_: str = ""
) -> View:
    """Each rater with the runs whose gate it is, how many evaluations are its own, and how many labels."""
    from pandas import DataFrame

    rows = [
        (
            *(Code(rater.id), rater.name or None, rater.who, rater.model or None, rater.mode or None),
            *(len(rater.examples) or None, ", ".join(gates) or None, evaluations or None, labels or None),
        )
        for rater, gates, evaluations, labels in listed
    ]
    told = [
        (
            *(rater.id, rater.name, rater.who, rater.model, rater.mode, rater.effort, len(rater.examples)),
            *(", ".join(gates), evaluations, labels, rater.edited_from),
        )
        for rater, gates, evaluations, labels in listed
    ]
    return View(
        title=counted(len(rows), "rater"),
        blocks=(Table(caption="Raters", heads=HEADS, rows=tuple(rows)),),
        notes=tuple(notes),
        next=next_,
        df=DataFrame(told, columns=list(COLUMNS)),
    )


def rater_view(rater: Rater, *, old: Rater | None = None, notes: Sequence[str] = (), next_: str = "") -> View:
    """One judge: what it is, its prompt and its examples; where it comes from ``old``, what changed in the prompt first."""
    changed = [] if old is None or old.id == rater.id else _changes(old, rater)
    prompt = Verbatim(text=rater.prompt)
    blocks: list[Block] = [_table([rater]), *changed]
    blocks.append(
        Fold(summary="Prompt", blocks=(prompt,), see=f"%pge rater {rater.name or rater.id}") if changed else prompt
    )
    if rater.examples:
        blocks.append(Fold(summary=counted(len(rater.examples), "example"), blocks=(_examples(rater.examples),)))
    return View(title=f"Rater {_called(rater)}", blocks=tuple(blocks), notes=tuple(notes), next=next_)


def pair_view(old: Rater, new: Rater, *, next_: str = "") -> View:
    """How two raters differ: the prompt line by line, model, mode, effort, and which examples only one of them has."""
    blocks: list[Block] = [_table([old, new]), *_changes(old, new)]
    for one, other in ((old, new), (new, old)):
        if only := [example for example in one.examples if example not in other.examples]:
            blocks += [Words(f"Examples of {_called(one)} alone:"), _examples(only)]
    if old.id == new.id:
        blocks.append(Words("They are one and the same rater."))
    return View(title=f"{_called(old)} and {_called(new)}", blocks=tuple(blocks), next=next_)


def _called(rater: Rater) -> str:
    return f"{rater.name} ({rater.id})" if rater.name else rater.id


def _table(raters: Sequence[Rater]) -> Table:
    whats: list[tuple[str, list[Cell]]] = [
        ("Id", [Code(rater.id) for rater in raters]),
        ("Name", [rater.name or None for rater in raters]),
        ("Model", [rater.model or None for rater in raters]),
        ("Mode", [rater.mode or None for rater in raters]),
        ("Effort", [rater.effort or None for rater in raters]),
        ("Examples", [len(rater.examples) for rater in raters]),
        ("Edited from", [rater.edited_from or None for rater in raters]),
    ]
    heads = ("What", *(["Value"] if len(raters) == 1 else ["First", "Second"]))
    return Table(
        caption="Judge" if len(raters) == 1 else "Judges", heads=heads, rows=tuple((w, *cs) for w, cs in whats)
    )


def _changes(old: Rater, new: Rater) -> list[Block]:
    """The hunks of the prompts' unified diff."""
    lines = list(difflib.unified_diff(old.prompt.split("\n"), new.prompt.split("\n"), n=2, lineterm=""))[2:]
    if not lines:
        return [Words("The prompt is the same.")]
    said = Words(f"Prompt: lines that begin with - are in {_called(old)} alone, those with + in {_called(new)} alone.")
    return [said, Diff(text="\n".join(lines))]


def _examples(examples: Sequence[Example]) -> Table:
    rows = tuple(
        (example.item, example.says, example.verdict, example.score, example.why, example.shown) for example in examples
    )
    return Table(caption="Examples", heads=("Item", "Asked", "Verdict", "Score", "Why", "Shown"), rows=rows)
