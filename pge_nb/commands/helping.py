"""Help, made from the commands' own signatures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from ..display import Code, Table, View, Words
from ..errors import BadInput
from ..nearness import nearest
from .grammar import Argument, arguments, summary, takes_body
from .here import Here

if TYPE_CHECKING:
    from . import Command

BARE = "%pge [NAME]"
EXAMPLES: Mapping[str, str] = {
    "run": "%pge run --practice textkit --seed 2",
    "show": "%pge show evaluations 2.1",
    "resume": "%pge resume --budget 10",
    "stop": "%pge stop",
    "answer": "%pge answer retry mind the empty list",
    "help": "%pge help run",
    "load": "%pge load 2",
    "files": "%pge files 1.2",
    "diff": "%pge diff 1.1 1.2",
    "restore": "%pge restore 1.1",
    "runs": "%pge runs",
    "open": "%pge open @1",
    "save": "%pge save",
    "tasks": "%pge tasks",
    "estimate": "%pge estimate",
    "plan": "%%pge plan",
    "contract": "%pge contract 1",
    "generate": "%pge generate 1",
    "evaluate": "%pge evaluate 1",
    "confirm": "%pge confirm 1 --strike 2,3",
    "label": "%pge label --as ann --sample 20 --repeats 4",
    "import": "%pge import labels labels.csv --as ann",
    "rater": "%%pge rater strict",
    "raters": "%pge raters gate strict",
    "regrade": "%pge regrade --rater gate,strict --repeats 3",
    "calibrate": "%pge calibrate --against people",
    "card": "%pge card",
    "exam": "%pge exam --sample 20 --minimum 0.8",
    "improve": "%pge improve taught --test",
    "probe": "%pge probe --only self,padding",
    "drift": "%pge drift --repeats 5",
    "model": "%pge model practice:skill=0.8,seed=3",
    "key": "%pge key",
    "new": "%pge new",
    "verify": "%pge verify",
    "doctor": "%pge doctor",
    "export": "%pge export csv",
    "config": "%pge config",
}
"""A line of each subcommand, as it may be written."""


def help_(here: Here, command: Annotated[str, "a subcommand; none: all of them"] = "", /) -> View:  # noqa: ARG001
    """What there is to write after %pge, or what one subcommand takes."""
    from . import COMMANDS

    if command and command not in COMMANDS:
        near = nearest(command, COMMANDS)
        move = f"Did you mean {near}? " if near else ""
        raise BadInput(f"There is no %pge {command}.", f"{move}%pge help lists what there is.")
    return _of(command) if command else _all()


def usage(name: str) -> str:
    """How a subcommand is written, on one line."""
    from . import COMMANDS

    command = COMMANDS[name]
    percent = "%%pge" if takes_body(command) and name == "run" else "%pge"
    return " ".join([percent, name, *(argument.usage for argument in arguments(command) if not argument.flag)])


def line_of(command: Command) -> str:
    """The same, of a command that is there to be called; that without a name of its own is ``%pge [NAME]``."""
    from . import COMMANDS

    return next((usage(name) for name, one in COMMANDS.items() if one is command), BARE)


def _all() -> View:
    from . import GROUPS

    tables: list[Table] = []
    for group, commands in GROUPS.items():
        rows = [(Code(usage(name)), summary(command)) for name, command in commands.items()]
        if not tables:
            rows.insert(0, (Code(BARE), "What is here, and the one next action."))
        tables.append(Table(caption=group[0].upper() + group[1:], heads=("Line", "What it does"), rows=tuple(rows)))
    say = Words(
        "-o NAME keeps what a line shows; a trailing ; silences it; {{expression}} stands for a value of the notebook."
    )
    return View(title="What to write after %pge", blocks=(*tables, say), next="%pge help run")


def _of(name: str) -> View:
    from . import COMMANDS

    command = COMMANDS[name]
    rows = tuple((Code(_written(argument)), argument.says) for argument in arguments(command))
    blocks: list[Words | Table] = [Words(summary(command))]
    if rows:
        blocks.append(Table(caption="Arguments", heads=("Argument", "What it is"), rows=rows))
    blocks += [Words(f"Example: {EXAMPLES[name]}")] if name in EXAMPLES else []
    return View(title=usage(name), blocks=tuple(blocks), next="%pge help")


def _written(argument: Argument) -> str:
    return argument.usage[1:-1] if argument.flag else "|".join(argument.choices) or argument.name.upper()
