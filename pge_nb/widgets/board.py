"""What the panel of a run shows: words and numbers kept as the run goes on, and the HTML of each part of the panel.

Every part is bounded: a run of 200 attempts draws no more than one of two.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..display import cut
from ..display.as_html import badge, text_of
from ..markdown import dotted, visible
from ..phases import Phase, PhaseName, due
from ..prose import counted
from ..records import Call, Section
from ..run import Run, StepState
from ..step_looks import STEP_LOOKS

DOING: Mapping[PhaseName, str] = {
    "plan": "planning",
    "propose": "proposing the contract",
    "respond": "reviewing the contract",
    "settle": "settling the contract",
    "withhold": "making hidden inputs",
    "generate": "generating",
    "evaluate": "evaluating",
    "decide": "deciding",
    "replan": "cutting the step into smaller ones",
    "one_step": "taking the task as one step",
}
LINES_SHOWN, LINE_CHARACTERS = 8, 200
PHASES_SHOWN, STEPS_SHOWN = 6, 40
TAIL = 1_500
"""Characters of what is streamed that are shown: the last ones."""
ERRORS_SHOWN = 3
DONE: frozenset[StepState] = frozenset({"accepted", "kept", "advanced"})


@dataclass(slots=True, kw_only=True)
class Board:
    """The state of a run as its panel tells it. ``began`` and every ``at`` are seconds of one monotonic clock."""

    began: float
    doing: dict[str, float] = field(default_factory=dict)
    steps: Sequence[tuple[int, str, StepState]] = ()
    calls: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    characters: int = 0
    tail: str = ""

    def take_in(self, run: Run, section: Section | None, at: float) -> None:
        """Take in the newest section; None: a run that goes on from here."""
        calls = run.calls if section is None else getattr(section.payload, "calls", ())
        self._count(calls if isinstance(calls, Sequence) else ())  # a receipt has their number
        self.steps = [(step.number, step.description, run.state(step.number)) for step in run.every_step]
        self.doing = {(words := _in_words(phase)): self.doing.get(words, at) for phase in due(run)}

    def hear(self, text: str) -> None:
        """Take in a piece of what an agent is writing."""
        self.characters += len(text)
        self.tail = (self.tail + text)[-TAIL:]

    def _count(self, calls: Sequence[Call]) -> None:
        for call in calls:
            usage = call.usage
            self.calls += 1
            self.tokens += usage.total
            self.dollars = None if self.dollars is None or call.dollars is None else self.dollars + call.dollars

    # As HTML

    def head(self, at: float) -> str:
        """What is being done, and what it has taken so far."""
        doing = [f"<div><b>{text_of(words)}</b>, {_clock(at - since)}</div>" for words, since in self.doing.items()]
        more = len(doing) - PHASES_SHOWN
        shown = [*doing[:PHASES_SHOWN], *([f"<div>and {more} more</div>"] if more > 0 else [])]
        return "".join([*(shown or ["<div><b>beginning</b></div>"]), f"<div>{text_of(self._spent(at))}</div>"])

    def _spent(self, at: float) -> str:
        dollars = "no price known" if self.dollars is None else f"${self.dollars:.4f}" if self.dollars else "$0"
        parts = [counted(self.calls, "call"), counted(self.tokens, "token"), dollars, _clock(at - self.began)]
        if self.steps:
            states = [state for _, _, state in self.steps if state != "replanned"]
            done = sum(state in DONE for state in states)
            parts.insert(0, f"{done} of {counted(len(states), 'step')} done")
        return " · ".join(parts)

    def progress(self) -> str:
        """A box a step, and how many steps are in each state: in words, and with the sign that its boxes have."""
        if not self.steps:
            return ""
        boxes = " ".join(_box(*step) for step in self.steps[:STEPS_SHOWN])
        left = len(self.steps) - STEPS_SHOWN
        more = f", boxes of {counted(left, 'more step')} not drawn" if left > 0 else ""
        states = Counter(state for _, _, state in self.steps)
        words = " ".join(f"{count} {badge(state)}" for state, count in states.items())
        return f'<div style="color:#ffffff">{boxes}</div><div style="margin-top:2px">{words}{more}</div>'

    def writing(self) -> str:
        """The end of what the agents are writing."""
        if not self.characters:
            return "<div>Nothing was streamed yet.</div>"
        cut = "the last of " if self.characters > TAIL else ""
        style = "white-space:pre-wrap;word-break:break-word;max-height:220px;overflow:auto;margin:0"
        told = f"<div>{cut}{counted(self.characters, 'character')}</div>"
        return f'{told}<pre dir="auto" style="{style}">{text_of(self.tail)}</pre>'


def log(lines: Sequence[str]) -> str:
    """The last lines."""
    left = len(lines) - LINES_SHOWN
    above = f"<div>{counted(left, 'line')} above</div>" if left > 0 else ""
    return above + "".join(
        f'<div dir="auto">{text_of(cut(one, LINE_CHARACTERS))}</div>' for one in lines[-LINES_SHOWN:]
    )


def trouble(errors: Sequence[str]) -> str:
    """What went wrong in telling; empty where nothing did."""
    return "".join(
        f"<div>The run goes on; its panel failed: {text_of(cut(one, LINE_CHARACTERS))}</div>"
        for one in errors[-ERRORS_SHOWN:]
    )


def _in_words(phase: Phase) -> str:
    where = "" if phase.step is None else f"Step {phase.step}"
    where += "" if phase.attempt is None else f", attempt {phase.attempt}"
    doing = DOING[phase.name]
    return f"{where}: {doing}" if where else doing[0].upper() + doing[1:]


def _box(number: int, description: str, state: StepState) -> str:
    style = f"background-color:{STEP_LOOKS[state].ground};padding:0 5px;border-radius:3px;white-space:nowrap"
    title = html.escape(visible(f"{state}: {dotted(description, 60)}"))
    return f'<span title="{title}" style="{style}">{number} {STEP_LOOKS[state].sign}</span>'


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
