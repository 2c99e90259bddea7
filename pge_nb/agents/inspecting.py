"""The evaluator's look with tools: each outcome is evidence of this evaluation, with an id that a finding may cite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..models import NONCE, About
from ..records import FileRef
from ..reviews.command import WEAK
from ..workspace import EvidenceBook
from .desk import LIST, READ, RUN, SEARCH, Desk
from .equipment import Equipment
from .judging import Docket, neutral, shared_out
from .loop import LONGEST_OUTCOME, ToolCall

TOOLS = (READ, LIST, SEARCH, RUN)
LONGEST_SEEN = LONGEST_OUTCOME - 1_000
"""Characters of an outcome, so that the marks around it are never cut off."""


class Inspection(Desk):
    """One evaluation's look at an attempt's tree, beyond what was laid before the judge."""

    def __init__(
        self, equipment: Equipment, about: About, files: Sequence[FileRef], book: EvidenceBook, *, seconds: float
    ) -> None:
        super().__init__(equipment, about, files, seconds=seconds)
        self._book = book
        self._shown: dict[str, str] = {}

    def use(self, turn: int, call: ToolCall) -> str:
        """Carry out a call, and lay its outcome before the judge as evidence, between marks, as all the rest of it is."""
        saw = self.look(turn, call)[:LONGEST_SEEN]
        given = " ".join(str(value) for value in call.input.values())[:200]
        evidence = self._book.issue(
            method=call.name,
            on=given,
            says=f"{call.name} {given}".strip(),
            text=saw,
            strength=WEAK if call.name == RUN.name else "strong",
        )
        self._shown[evidence.id] = saw
        of = neutral(given).replace('"', "'")
        return f'<evidence id="{evidence.id}" of="{of}" mark="{NONCE}">\n{neutral(saw).rstrip()}\n</evidence mark="{NONCE}">'

    def seen(self, docket: Docket) -> Docket:
        """The docket with what was seen since: only what was shown can be cited and quoted."""
        return replace(docket, evidence=self._book.issued, texts={**docket.texts, **shared_out(self._shown)})
