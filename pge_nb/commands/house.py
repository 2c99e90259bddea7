"""House: the model, the key, starting over, and whether the file is what was written."""

from __future__ import annotations

import getpass
import os
import warnings
from collections.abc import Iterator
from typing import Annotated

from ..display import Code, Table, View, Words
from ..errors import BadInput, PgeError
from ..models.choose import CREDENTIALS, RECORDING, is_practice, open_model
from ..models.limits import Prices
from ..nearness import nearest
from ..settings import Given
from ..views.ends import foot
from ..workspace import Objects
from .here import Here, path_of


def model(
    here: Here, name: Annotated[str, "practice[:SETTINGS], recording:PATH, or a model of the Messages API"] = "", /
) -> View:
    """The model of new runs: show it, or choose another. A run that was begun keeps its own."""
    if name:
        _check_name(name)
        open_model(name)
        here.configured["model"] = name
    found = here.settings()
    given = found.given["model"]
    chosen = str(given.value)
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
    return View(
        title=f"Model: {chosen}",
        blocks=(Words(f"It is {_whence(given)}."), table),
        notes=(*_doubts(chosen), *found.doubts),
        next=first,
    )


def _whence(given: Given) -> str:
    if given.source == "%config":
        return "chosen in this kernel"
    return "the default, without a key" if given.source == "default" else f"from {given.place}"


def _check_name(name: str) -> None:
    if name.startswith("sk-"):
        raise BadInput(
            "That looks like a key, not like the name of a model.",
            "%pge key asks for a key without showing it; revoke one that was written into a cell.",
        )
    if name.startswith(RECORDING):
        path_of(name.removeprefix(RECORDING))
    elif not name.isprintable() or any(char.isspace() for char in name):
        raise BadInput(f"{name!r:.80} cannot be the name of a model.", "%pge model shows what may stand there.")


def _doubts(name: str) -> Iterator[str]:
    """What speaks against a model. Nobody is asked: a service may well know names that stand in no table here."""
    if is_practice(name) or name.startswith(RECORDING):
        return
    prices = Prices.load()
    if prices.of(name) is None:
        near = nearest(name, ("practice", *prices.models))
        hint = f" The nearest known name is {near}." if near else ""
        who = "server at ANTHROPIC_BASE_URL" if os.environ.get("ANTHROPIC_BASE_URL") else "service"
        yield f"{name} has no price here; the {who} may know it, and tokens limit its runs, not dollars.{hint}"
    if not any(os.environ.get(variable) for variable in CREDENTIALS):
        yield "There is no API key yet: %pge key asks for one."


def key(here: Here) -> View:
    """Ask for an API key without showing it, for this kernel alone: it is written nowhere."""
    if host := os.environ.get("BINDER_LAUNCH_HOST"):
        print(  # noqa: T201 - before anything is typed
            f"This machine belongs to {host}: its operators can read what is typed here. "
            "Use a key with a small limit, and revoke it afterwards."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # a terminal that would show it
            given = getpass.getpass("ANTHROPIC_API_KEY (not shown, not stored): ").strip()
    except (EOFError, NotImplementedError, OSError, getpass.GetPassWarning):
        raise BadInput(
            "Nobody can be asked for a key here without showing it.", "Set ANTHROPIC_API_KEY before the kernel starts."
        ) from None
    if not given:
        raise BadInput("No key was given.", "%pge run --practice textkit needs none.")
    if not given.isascii() or not given.isprintable() or " " in given:
        raise BadInput("That holds characters that no key has.", "%pge key asks again: paste the key alone.")
    os.environ["ANTHROPIC_API_KEY"] = given
    return View(
        title="The key is set for this kernel", next="%pge model" if "model" in here.configured else "%%pge run"
    )


def new(here: Here, name: Annotated[str, "the task; none: the one that commands are about"] = "", /) -> View:
    """Start over: the old run moves whole to earlier/, nothing is lost."""
    from ..exports.snapshot import lacking, said_lacking

    there = here.elsewhere(name) if name else here
    place, run, is_damaged = there.place, None, False
    if not place.state.is_file():
        there.needs_run()
    try:
        run = there.run()
    except PgeError:  # it has no foot, and moves all the same
        is_damaged = True
    gone = said_lacking(lacking(run, Objects(place.state.parent))) if run else ()
    number = place.move_away()
    there.forget()
    if name:
        here.turn_to(name)
    address = f"{place.name}@{number}"
    if is_damaged:
        said = f"The old run stands in earlier/{number} as it was, which is damaged: %pge verify {address} tells where."
    else:
        said = f"The old run is {'as it was' if gone else 'whole'} in earlier/{number}: %pge open {address} shows it."
    return View(
        title="Ready for a new task",
        blocks=(Words(said),),
        notes=gone,
        next=f"%%pge run {name}".rstrip(),
        foot=foot(run) if run else "",
    )
