"""The view of one attempt, as it was when it had just been made: what was tried, why, and the files."""

from __future__ import annotations

from collections.abc import Iterator

from ..display import Block, Code, Fold, Table, Verbatim, View, Words, cut
from ..records import Attempt, FileRef
from ..run import Run
from ..workspace import Objects
from .ends import caveats, foot, next_move, title

SHOWN = 20_000
"""Characters of a file that are shown."""


def attempt_view(run: Run, step: int, attempt: int) -> View:
    """What the generator made: approach and reason, the files whole, the work log."""
    from .. import frames

    made = run.attempts(step)[attempt]
    frame = frames.attempts(run)
    return View(
        title=f"{title(run)}: attempt {step}.{attempt}",
        blocks=tuple(_blocks(run, made)),
        notes=(*caveats(run), *made.notes),
        next=next_move(run, "evaluations"),
        foot=foot(run),
        df=frame[(frame["step"] == step) & (frame["attempt"] == attempt)],
    )


def _blocks(run: Run, made: Attempt) -> Iterator[Block]:
    said = made.approach if made.base is None else f"{made.approach} of attempt {made.base}"
    yield Words(f"{said[0].upper()}{said[1:]}: {made.why}.")
    rows = tuple((Code(file.path), file.size, Code(file.sha256[:12])) for file in made.files)
    if rows:
        yield Table(caption="Files", heads=("File", "Bytes", "Hash"), rows=rows)
    else:
        yield Words("No file was made.")
    if made.missing:
        yield Words(f"Not written, though the contract asks for it: {', '.join(made.missing)}")
    if made.refused:
        refusals = tuple((Code(one.path), one.reason) for one in made.refused)
        yield Table(caption="Refused", heads=("Path", "Why"), rows=refusals)
    objects = Objects(run.root) if run.root else None
    for file in made.files if objects else ():
        yield Fold(summary=f"{file.path}, whole", blocks=(Verbatim(text=_text(objects, file)),), see="%pge files")
    if objects and (log := objects.whole(made.log).strip()):
        yield Fold(summary="What the generator said of it", blocks=(Verbatim(text=cut(log, SHOWN)),))


def _text(objects: Objects | None, file: FileRef) -> str:
    content = objects.get(file.sha256) if objects else b""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return f"{file.path} is no text: {file.size:,} bytes"
    return cut(text, SHOWN)
