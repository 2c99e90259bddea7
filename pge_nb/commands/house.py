"""House: the model, the key, starting over, and whether the file is what was written."""

from __future__ import annotations

import contextlib
import getpass
import os
from typing import Annotated

from ..display import Code, Table, View, Words
from ..errors import BadInput, PgeError
from ..models.choose import default_model, is_practice, open_model
from ..prose import counted
from ..state import StateFile
from ..views.ends import foot
from .here import Here


def model(
    here: Here, name: Annotated[str, "practice[:SETTINGS], recording:PATH, or a model of the Messages API"] = "", /
) -> View:
    """The model of new runs: show it, or choose another. A run that was begun keeps its own."""
    if name:
        open_model(name)
        here.model = name
    chosen = here.model or default_model(os.environ)
    why = "chosen with %pge model" if here.model else "from the environment"
    rows = (
        (
            Code("%pge model practice:skill=0.8,seed=3"),
            "simulated agents on the practice tasks; needs no key, costs nothing",
        ),
        (Code("%pge model recording:PATH"), "answers from a calls.jsonl; calls nobody"),
        (
            Code("%pge model claude-sonnet-5-5"),
            "a model of the Messages API; ANTHROPIC_BASE_URL may name another server",
        ),
    )
    table = Table(caption="To choose another", heads=("Line", "What it does"), rows=rows)
    first = "%pge tasks" if is_practice(chosen) else "%%pge run"
    return View(title=f"Model: {chosen}", blocks=(Words(f"It is {why}."), table), next=first)


def key(here: Here) -> View:
    """Ask for an API key without showing it, for this kernel alone: it is written nowhere."""
    try:
        given = getpass.getpass("ANTHROPIC_API_KEY (not shown, not stored): ").strip()
    except (EOFError, NotImplementedError):
        raise BadInput(
            "Nobody can be asked for a key here.", "Set ANTHROPIC_API_KEY before the kernel starts."
        ) from None
    if not given:
        raise BadInput("No key was given.", "%pge run --practice textkit needs none.")
    os.environ["ANTHROPIC_API_KEY"] = given
    notes = (
        ("This machine is run by mybinder.org: a key given here is in other people's hands.",)
        if os.environ.get("BINDER_LAUNCH_HOST")
        else ()
    )
    return View(
        title="The key is set for this kernel", notes=notes, next="%%pge run" if not here.model else "%pge model"
    )


def new(here: Here, name: Annotated[str, "the task; none: the one that commands are about"] = "", /) -> View:
    """Start over: the old run moves whole to earlier/, nothing is lost."""
    if name:
        here.turn_to(name)
    place, run = here.place, None
    if not place.state.is_file():
        here.needs_run()
    with contextlib.suppress(PgeError):  # a damaged one has no foot, and moves all the same
        run = here.run()
    number = place.move_away()
    said = f"The old run is whole in earlier/{number}: %pge open {place.name}@{number} shows it."
    return View(title="Ready for a new task", blocks=(Words(said),), next="%%pge run", foot=foot(run) if run else "")


def verify(here: Here, name: Annotated[str, "the task; none: the one that commands are about"] = "", /) -> View:
    """Read the state file again from its first byte, and say whether every section is what was written."""
    if name:
        here.turn_to(name)
    if not here.path.is_file():
        here.needs_run()
    found = StateFile(here.path).verify()
    said = "Every section is what was written." if found.intact else f"Section {found.broken} {found.why}"
    blocks = [
        Words(f"{counted(found.sections, 'section is', 'sections are')} whole and linked. {said}"),
        Words(f"Head: {found.head}"),
    ]
    if found.torn:
        blocks.append(
            Words(
                f"At the end, {counted(found.torn, 'byte')} of a section that was never finished, as after a crash; "
                "the next append moves it aside."
            )
        )
    run = here.run() if found.intact else None
    return View(
        title=str(found.path.name),
        mark="intact" if found.intact else "broken",
        blocks=tuple(blocks),
        next="%pge" if found.intact else "%pge new",
        foot=foot(run) if run else f"{counted(found.sections, 'section')} · head {found.head[:12]}",
    )
