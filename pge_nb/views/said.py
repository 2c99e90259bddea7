"""What people said in a run: amendments, hints and answers, in their own words."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import Block, Table
from ..records import Amendment, Answer
from ..run import Run
from ..settings import told

HEADS = ("Section", "Step", "What", "Words")
WHOM = {
    "contract": "words to the contract",
    "generate": "a hint to the generator",
    "evaluate": "words to the evaluator",
}


def said_rows(run: Run) -> Iterator[tuple[int, int | str, str, str]]:
    """Section, step ("-" for the whole run), what it is, and the words; whole, in order."""
    for section in run.sections:
        payload, step = section.payload, "-" if section.record.step is None else section.record.step
        if isinstance(payload, Answer):
            yield section.seq, step, f"answer: {payload.choice}", payload.text or "-"
        elif isinstance(payload, Amendment) and payload.phase:
            yield section.seq, step, WHOM[payload.phase], payload.text
        elif isinstance(payload, Amendment):
            limits = ", ".join(f"{name} {told(value)}" for name, value in payload.limits.items())
            yield section.seq, step, f"limits: {limits}" if limits else "words", payload.text or "-"


def hinted(run: Run) -> bool:
    """Whether a person said what asks for nothing but that an agent reads it; words to a contract are checks as well."""
    said = (section.payload for section in run.sections)
    return any(
        (isinstance(one, Answer) and one.choice in ("retry", "approve") and bool(one.text))
        or (isinstance(one, Amendment) and one.phase in ("generate", "evaluate"))
        for one in said
    )


def said_table(run: Run) -> Block | None:
    """The same as a table; None where nobody said anything."""
    rows = tuple(said_rows(run))
    return Table(caption="What people said", heads=HEADS, rows=rows) if rows else None
