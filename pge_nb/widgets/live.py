"""The panel of a run: one, updated in place, with a button that stops it; closed whole when the run has ended."""

from __future__ import annotations

import _thread
import contextvars
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..interrupts import held_back
from ..records import Section
from ..run import Run
from .board import Board, log, trouble
from .ear import Ear, listening
from .progress import Progress, Ticker

if TYPE_CHECKING:
    from ipywidgets import Widget

EVERY, LISTENS = 0.25, 0.05
"""Seconds between two drawings (what is drawn more often flickers, or is not kept up with), and of listening at a time."""
SHOWS_WITHIN = 6.0
"""Seconds in which a page that can draw widgets has drawn one. After that, text."""
PATIENCE = 0.6
"""Seconds that a run is given to end by itself after the button was pressed; then what it waits for is interrupted."""
VIEW = "application/vnd.jupyter.widget-view+json"
UNDER_WAY = "This run was under way when the notebook was saved. %pge shows how it stands."


def progress_in(kernel: Any, names: Mapping[str, object], *, widgets: bool = True) -> Progress:
    """How a run is told of in this kernel: by the panel where the running cell is on a page that can show it, else as text."""
    ear = listening(kernel) if widgets and on_a_page(kernel, names) else None
    return Ticker() if ear is None else LivePanel(ear)


def on_a_page(kernel: Any, names: Mapping[str, object]) -> bool:
    """Whether what is run now is the cell of a notebook that somebody looks at.

    A page says of which cell a request is; nbclient, nbval and consoles do not.
    """
    return bool((kernel.get_parent().get("metadata") or {}).get("cellId")) or "__vsc_ipynb_file__" in names


class Parts:
    """The widgets of a panel."""

    def __init__(self) -> None:
        import ipywidgets as w

        self.head, self.progress, self.log, self.trouble, self.writing = (w.HTML() for _ in range(5))
        self.button = w.Button(description="Stop", tooltip="Stop this run; %pge resume goes on", icon="stop")
        self.button.layout.flex, self.button.layout.width = "0 0 auto", "100px"
        self.head.layout.flex = "1 1 auto"
        top = w.HBox([self.head, self.button])
        folded = w.Accordion([self.writing], titles=("What is being written",))
        self.box = w.VBox([top, self.progress, self.log, folded, self.trouble])
        self.box.layout.border = "1px solid #8a8a8a"
        self.box.layout.padding = "6px 10px"
        self.box.layout.max_width = "960px"
        self.box._view_count = 0  # From then on the page tells how many views it shows.

    def show(
        self, board: Board, lines: Sequence[str], errors: Sequence[str], now: float, *, stopping: bool = False
    ) -> None:
        """Put them up to date; what has not changed is not sent."""
        drawn = (board.head(now), board.progress(), log(lines), board.writing(), trouble(errors))
        for part, told in zip((self.head, self.progress, self.log, self.writing, self.trouble), drawn, strict=True):
            part.value = f'<div style="line-height:1.45">{told}</div>' if told else ""
        if stopping and not self.button.disabled:
            self.button.disabled, self.button.description = True, "Stopping"


def closed(box: Widget) -> None:
    """Close every widget of the box, those that hold their looks too."""
    for widget in list(_all(box)):
        widget.close()


def _all(widget: Widget) -> Iterator[Widget]:
    for child in getattr(widget, "children", ()):
        yield from _all(child)
    yield widget
    for looks in ("layout", "style"):
        if widget.has_trait(looks):
            yield getattr(widget, looks)


class LivePanel(Ticker):
    """The panel. Where no page shows it within a few seconds, its place is taken by lines of text."""

    def __init__(self, ear: Ear) -> None:
        self.board = Board(began=time.monotonic())
        self.ear = ear
        self.parts: Parts | None = Parts()
        ear.own |= {widget.model_id for widget in _all(self.parts.box)}
        self.asked_at: float | None = None
        self.shown = self.interrupted = False
        super().__init__()
        self._over = threading.Event()
        # A thread of its own, for a model may be silent for minutes; in the context of the cell, so that what it sends is that
        # cell's.
        self._drawing = threading.Thread(
            target=contextvars.copy_context().run, args=(self._keep_drawn,), name="pge_nb panel", daemon=True
        )
        self._drawing.start()

    # What it is told

    def listen(self, text: str) -> None:
        """Take in what an agent is writing; from any thread."""
        with self.lock:
            self.board.hear(text)

    def stop(self) -> bool:
        """Whether the button was pressed."""
        return self.asked_at is not None

    def take_in(self, run: Run, section: Section | None = None) -> None:
        """What the panel shows from now on."""
        super().take_in(run, section)
        with self.lock:
            self.board.take_in(run, section, time.monotonic())

    def close(self) -> None:
        """Put what stands by itself in the panel's place, and close its widgets, all of them."""
        with held_back():
            self._over.set()
            self._drawing.join()
            self.ear.close()
            self._take_away(super().close)

    # What it does with it

    def draw(self) -> None:
        """Put the text up to date, where text is shown; the panel has a thread for that."""
        if self.parts is None or self.ended:
            super().draw()

    def _repr_mimebundle_(self, **given: object) -> dict[str, object]:
        if self.parts is None or self.ended:
            return super()._repr_mimebundle_(**given)
        view = {"version_major": 2, "version_minor": 0, "model_id": self.parts.box.model_id}
        # Also for whoever opens a notebook that was saved in mid-run, when its kernel is gone.
        return {"text/plain": UNDER_WAY, "text/html": f"<i>{UNDER_WAY}</i>", VIEW: view}

    def _keep_drawn(self) -> None:
        drawn = 0.0
        while not self._over.is_set():
            for comm, message in self.ear.wait(LISTENS):
                self._heard(comm, message)
            if (now := time.monotonic()) - drawn >= EVERY:
                drawn = now
                with self.kept():
                    self._look_at(now)

    def _heard(self, comm: str, message: Mapping[str, Any]) -> None:
        if self.parts is None:
            return
        if comm == self.parts.button.model_id and (message.get("content") or {}).get("event") == "click":
            self.asked_at = self.asked_at or time.monotonic()
        if comm == self.parts.box.model_id and (message.get("state") or {}).get("_view_count"):
            self.shown = True

    def _look_at(self, now: float) -> None:
        if self.asked_at and now - self.asked_at >= PATIENCE and not self.interrupted:
            self.interrupted = True
            interrupt()
        if self.parts is not None and not self.shown and now - self.began >= SHOWS_WITHIN:
            self._take_away(super().draw)
        if self.parts is not None:
            with self.lock:
                self.parts.show(self.board, self.lines, self.errors, now, stopping=self.stop())

    def _take_away(self, replace: Callable[[], None]) -> None:
        """Close the widgets once something else has their place: a view whose widget is gone says so in red."""
        parts, self.parts = self.parts, None
        replace()
        if parts is not None:
            closed(parts.box)


def interrupt() -> None:
    """What the page's own interrupt does, to the cell that runs: also in a call of the system that waits."""
    if hasattr(signal, "pthread_kill") and (main := threading.main_thread().ident) is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
