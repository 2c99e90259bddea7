"""Labelling with keys alone: one field, a letter and Enter, and the next item.

The view knows nothing of runs or studies: it is given items, and hands on each label as soon as it is given.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..display import Mark, Table, View, Words, html_of
from ..display.as_html import pre_of, text_of
from ..errors import BadInput
from .live import VIEW, closed

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

Verdict = Literal["pass", "fail", "unclear"]
VERDICTS: Mapping[str, Verdict] = {"p": "pass", "f": "fail", "u": "unclear"}
UNDO, STOP, SAVE = "undo", "stop", "save"
KEYS = (
    "p pass, f fail, u unclear, then Enter; words behind the letter are a note. undo takes the last back, stop ends, "
    "save puts all work into a zip."
)
TEXT_HIGH = "min(65vh, 900px)"
"""The most of a page that an item's text takes; it scrolls beyond that, and the question and the field stay in sight."""
LATER = 0.3
"""Seconds in which what was typed arrives, once Enter did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToLabel:
    """What a person is to judge: the question, and the text that it is about."""

    id: str
    question: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A person's verdict on an item. ``seconds``: how long the item had been shown."""

    id: str
    verdict: Verdict
    note: str = ""
    seconds: float = 0.0


Give = Callable[[Label], str | None]
"""Keeps a label; what it returns is told to the person (what a judge had said, say). An error leaves the item unlabelled."""
TakeBack = Callable[[str], None]
"""Takes back the label of an item."""
Save = Callable[[], str]
"""Saves the person's work, to go on from elsewhere; what it returns is told to them."""


@dataclass(slots=True, kw_only=True)
class Labelling:
    """Where a person is among the items, and what each line that they type does. ``given``: labels from an earlier time."""

    items: Sequence[ToLabel]
    give: Give
    take_back: TakeBack
    save: Save | None = None
    given: Mapping[str, Verdict] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    says: str = ""
    stopped: bool = False
    shown_at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        ids = [item.id for item in self.items]
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise BadInput(f"The item {twice!r:.80} is there twice.", "Give each item an id of its own.")

    @property
    def item(self) -> ToLabel | None:
        """The item that is to be labelled; None where all are."""
        return next((item for item in self.items if item.id not in self.given and item.id not in self.labels), None)

    @property
    def over(self) -> bool:
        """Whether nothing more is asked."""
        return self.stopped or self.item is None

    @property
    def progress(self) -> str:
        """How far it is."""
        left = sum(item.id not in self.given and item.id not in self.labels for item in self.items)
        return f"{len(self.items) - left} of {len(self.items)}"

    def typed(self, line: str) -> bool:
        """Do what the line says; False leaves it in the field, to be mended. An error of a callback is told, and nothing lost."""
        word, _, rest = line.strip().partition(" ")
        try:
            if word.casefold() in VERDICTS and self.item is not None:
                self._label(self.item, VERDICTS[word.casefold()], rest.strip())
            elif word.casefold() == UNDO:
                self._undo()
            elif word.casefold() == STOP:
                self.stopped = True
            elif word.casefold() == SAVE and self.save is not None:
                self.says = self.save()
            else:
                self.says = (
                    f"{word[:40]!r} is none of p, f, u, undo, stop, save." if word else "Type p, f or u, then Enter."
                )
                return False
        except Exception as error:
            self.says = f"Nothing was changed: {type(error).__name__}: {error}"
            return False
        return True

    def _label(self, item: ToLabel, verdict: Verdict, note: str) -> None:
        seconds = round(time.monotonic() - self.shown_at, 1)
        label = Label(id=item.id, verdict=verdict, note=note, seconds=seconds)
        told = self.give(label)
        self.labels[item.id] = label
        self.says = f"{verdict}{f' ({note})' if note else ''}{f': {told}' if told else ''}"
        self.shown_at = time.monotonic()

    def _undo(self) -> None:
        if not self.labels:
            self.says = "There is nothing to take back."
            return
        last = next(reversed(self.labels))
        self.take_back(last)
        undone = self.labels.pop(last)
        self.says = f"{undone.verdict} was taken back."
        self.shown_at = time.monotonic()

    def view(self, title: str) -> View:
        """What stands in the notebook when it is over: every label of this time, in order."""
        questions = {item.id: item.question for item in self.items}
        rows = tuple(
            (label.id, questions[label.id], Mark(label.verdict), label.note or None) for label in self.labels.values()
        )
        table = Table(caption="Labels", heads=("Item", "Question", "Verdict", "Note"), rows=rows)
        notes = () if self.item is None else ("Run this cell again to go on.",)
        return View(title=f"{title}: {self.progress} labelled", blocks=(table,) if rows else (), notes=notes)


class LabelView:
    """The view of a labelling: the item, and one field. It ends by itself after the last item, or when ``stop`` is typed."""

    def __init__(self, labelling: Labelling, title: str) -> None:
        import ipywidgets as w

        self.labelling, self.title = labelling, title
        self.shown, self.says = w.HTML(), w.HTML()
        self.field = w.Text(placeholder=KEYS, continuous_update=False)
        self.field.layout.width = "100%"
        self.field._view_count = 0  # From then on the page tells when it shows the field.
        self.box = w.VBox([self.shown, self.field, self.says])
        self.box.layout.max_width = "960px"
        self._waiting: asyncio.TimerHandle | None = None
        self._draw()
        self.field.on_msg(self._on_message)
        self.field.observe(self._on_value, "value")
        self.field.observe(lambda _: self.field.focus(), "_view_count")
        self._handle = self._display()

    def _display(self) -> DisplayHandle | None:
        from IPython.display import display

        told = f"{self.title} was under way when the notebook was saved. What was labelled is kept; run the cell again to go on."
        view = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        bundle = {"text/plain": told, "text/html": f"<i>{text_of(told)}</i>", VIEW: view}
        return display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call,no-any-return]

    # The page sends Enter first and then what was typed; what was typed alone when the field is left, which enters nothing.

    def _on_message(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        if content.get("event") == "submit":
            # Nothing more arrives where the field was left and nothing typed since.
            self._waiting = asyncio.get_running_loop().call_later(LATER, self._enter)

    def _on_value(self, _: Any) -> None:
        if self._waiting is not None:
            self._enter()

    def _enter(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self.labelling.typed(self.field.value):
            self.field.value = ""
        if self.labelling.over:
            self.close()
        else:
            self._draw()
            self.field.focus()

    def _draw(self) -> None:
        item = self.labelling.item
        if item is None:
            return
        head = f"<div><b>{text_of(self.title)}</b>, {self.labelling.progress}</div>"
        parts = [head, html_of(Words(item.question)), pre_of(item.text, high=TEXT_HIGH)]
        self.shown.value = f'<div style="line-height:1.4">{"".join(parts)}</div>'
        self.says.value = f'<div style="line-height:1.4">{text_of(self.labelling.says)}</div>'

    def close(self) -> None:
        """Put what was labelled in the view's place, and close its widgets."""
        if self._handle is not None:
            self._handle.update(self.labelling.view(self.title))  # type: ignore[no-untyped-call]
        closed(self.box)


def label(
    items: Sequence[ToLabel],
    give: Give,
    take_back: TakeBack,
    *,
    save: Save | None = None,
    given: Mapping[str, Verdict] | None = None,
    title: str = "Labels",
) -> LabelView | View:
    """Ask a person for a label of each item that is not among those ``given``; a view without any field where none is left."""
    labelling = Labelling(items=items, give=give, take_back=take_back, save=save, given=given or {})
    return labelling.view(title) if labelling.over else LabelView(labelling, title)
