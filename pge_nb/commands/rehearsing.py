"""``--dry-run``: what would be sent next, seen before it is sent. Nothing is begun, moved, appended or paid.

All that is made for it (what reviews see, the state of a run that was not begun) is made in a copy that is thrown away.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from ..display import Block, Verbatim, View, Words
from ..harness import PGEHarness
from ..models import Request
from ..models.choose import is_practice
from ..models.claude import Claude
from ..models.limits import Bound, Prices
from ..models.replay import Replay
from ..moving import HOUSE, belongings
from ..notebook import met
from ..payloads import Json
from ..records import Usage
from ..run import Run
from ..state import FILE_NAME
from ..views.ends import caveats, foot, title
from .beginning import LimitFlags, TaskFlags, amend_limits, harness_over, wanted
from .here import Here
from .sent import parts

How = Literal["show", "count"]
DryRun = Annotated[
    How | None, "show what would be sent next, and send nothing; =count asks the server how many tokens it is", "show"
]


def rehearsed(here: Here, name: str, body: str, flags: TaskFlags, how: How) -> View:
    """What would be sent if this cell were run."""
    there, prompt, config = wanted(here, name, body, flags)
    found = met(there.place, prompt, config)
    line = (
        f"%pge run {name}".rstrip() + f" --practice {flags.practice}"
        if flags.practice
        else f"%%pge run {name}".rstrip()
    )
    if found.state:
        view = _of_begun(replace(there, state=found.state), flags, how, line)
        back = f"The run of this task stands in {there.place.name}@{found.number}, and would be reopened from there."
        return replace(view, notes=(*view.notes, back)) if found.number is not None else view
    with tempfile.TemporaryDirectory(prefix="pge-nb-") as folder:
        # The files there would be this task's, unless they are another's and would move with its run.
        moves = found.standing is not None and config.work in belongings(there.path)
        scratch = replace(
            config, shared_state_path=Path(folder, FILE_NAME), working_directory="work" if moves else config.work
        )
        harness = PGEHarness(scratch)
        view = _view(harness, harness.start(prompt), how, line)
    new = "This task is not begun, and was not begun now."
    away = ["Another task stands here: its run would move whole to earlier/."] if found.standing else []
    return replace(view, notes=(*view.notes, " ".join([new, *away])), foot="")


def rehearsed_further(here: Here, flags: LimitFlags, how: How) -> View:
    """What would be sent if the run here went on."""
    here.needs_run()
    return _of_begun(here, flags, how, "%pge resume")


def _of_begun(there: Here, flags: LimitFlags, how: How, line: str) -> View:
    told = foot(there.needs_run())
    with _copied(there.path) as state:
        scratch = replace(there, state=state)
        run = scratch.needs_run()
        harness = harness_over(scratch, run)
        amend_limits(harness, run, flags, there.configured)
        return replace(_view(harness, harness.state.read(), how, line), foot=told)


@contextlib.contextmanager
def _copied(state: Path) -> Iterator[Path]:
    """A copy of a run without its working directory: what agents are sent is made of the file and the objects."""
    with tempfile.TemporaryDirectory(prefix="pge-nb-") as folder:
        # The house first: a note of what was written last may lag behind the file, and not the other way round.
        if (state.parent / HOUSE).is_dir():
            shutil.copytree(state.parent / HOUSE, Path(folder, HOUSE))
        yield Path(shutil.copy(state, Path(folder, state.name)))


def _view(harness: PGEHarness, run: Run, how: How, line: str) -> View:
    request = harness.upcoming()
    if request is None:
        said = "Nobody would be asked: the run has ended, or waits for an answer."
        return View(title=f"{title(run)}: dry run", blocks=(Words(said),), next="%pge")
    log = harness.state.root / HOUSE / "calls.jsonl"
    known = log.is_file() and request.key in {call.id for call in Replay(log).calls()}
    blocks = [Words(_how_much(request, how, run.settings.get("recording")))]
    if known:
        blocks.append(Words("Its reply is in the call log already: it would be taken from there, unpaid."))
    return View(
        title=f"{title(run)}: dry run",
        blocks=(*blocks, *_texts(request)),
        notes=("Nothing was sent to a model, and nothing was written.", *caveats(run)),
        next=line,
    )


def _texts(request: Request) -> Iterator[Block]:
    for label, text in parts(request):
        yield Verbatim(label=label, text=text) if text else Words(label)


def _how_much(request: Request, how: How, recording: Json) -> str:
    """The size of the request and what the call can cost at most; its tokens where a server counts them."""
    prices = Prices.load()
    bound = Bound.of(request, prices)
    most = "" if bound.dollars is None else f", {bound.dollars:.4f} dollars"
    said = (
        f"{request.input_bytes:,} bytes of input and at most {request.max_tokens:,} tokens of output: "
        f"the call could use at most {bound.tokens:,} tokens{most}."
    )
    if how == "show":
        return said
    if recording or is_practice(request.model):
        return f"{said} There is no server that counts tokens for {'a recording' if recording else request.model}."
    return f"{said} {_counted(request, prices)}"


def _counted(request: Request, prices: Prices) -> str:
    claude = Claude()
    try:
        tokens = claude.count(request)
    finally:
        claude.close()
    dollars = prices.cost(request.model, Usage(input_tokens=tokens))
    cost = "" if dollars is None else f", {dollars:.4f} dollars before caching"
    return f"The server counts {tokens:,} tokens of input{cost}; counting cost nothing."
