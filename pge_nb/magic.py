"""``%pge`` and ``%%pge``: from a line to a command's arguments, by the commands' own signatures; nothing else."""

from __future__ import annotations

import builtins
import contextlib
import keyword
import math
import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display

from . import completing
from .errors import BadInput, Stopped
from .interrupts import held_back
from .nearness import nearest

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .commands import Command, Here
    from .commands.grammar import Argument
    from .display import View
    from .traits import NotebookSettings
    from .widgets.progress import Progress

PLACE = re.compile("\ue000(\\d+)\ue001")
"""Stands for a value while a line is split, so that a value with blanks or quotes stays one word."""
FLAG = re.compile(r"--?[^\W\d][^\s=]*(=|$)")
"""A word that is a flag, or means to be one. A dash, a number below zero and words in quotes are none."""
OURS = re.compile(r"%%pge(\s|$)")
CAPTURED = re.compile(r"\s*%%capture[^\S\n]*(\n|$)")
"""A cell whose output goes nowhere: neither onto the page, nor into a variable that can be shown later."""
LONGEST_SHOWN = 60
HELP = frozenset({"--help", "-h"})
IPYTHONS_OWN = re.compile(r"_+|_i{1,3}|_i?\d+|_[iod]h|In|Out|get_ipython|exit|quit")


@magics_class
class PgeMagics(Magics):
    """The magic, and what the kernel knows between two lines of it."""

    shell: InteractiveShell
    settings: NotebookSettings
    _here: Here | None = None
    _tells = False
    """Whether the command that is carried out tells of a run while it goes on."""

    @no_var_expand
    @line_cell_magic
    def pge(self, line: str, cell: str | None = None) -> View | None:
        """Carry a task through plan, contracts, attempts and evaluations, and look at what was done.

        %pge                           what is here, and the one next action
        %pge tasks                     small practice tasks, with simulated agents: no key, no cost
        %pge run --practice textkit    carry one of them out
        %%pge run                      carry out a task of your own: the body of the cell is its prompt
        %pge show plan                 look at it: also contract, evaluations, trajectory, decisions, cost, prompt
        %pge help                      all that there is; %pge help run tells what one subcommand takes
        """
        silent = line.rstrip().endswith(";")
        body = None if cell is None or not cell.strip() else interpolated(cell, self.shell.user_ns)
        words = split(line.rstrip().removesuffix(";"), self.shell.user_ns)
        words, kept_as = taken_out(words)
        with held_back():
            import_commands()
        try:
            with self._judged_where_seen(silent=silent and not kept_as):
                view = self._carried_out(words, body)
        except KeyboardInterrupt as error:
            raise (error if hasattr(error, "_render_traceback_") else Stopped()) from None
        except OSError as error:
            if error.filename is None:
                raise
            raise unusable(error) from error
        if kept_as:
            self.shell.user_ns[kept_as] = view
        return None if silent else view

    @property
    def here(self) -> Here:
        """The place; found when it is first asked for, since that takes imports."""
        from .commands import Here, notebook_directory
        from .commands.here import working_directory
        from .traits import InKernel

        if self._here is None:
            directory = notebook_directory(os.environ, self.shell.user_ns, working_directory())
            self._here = Here(
                directory=directory,
                configured=InKernel(self.settings),
                profile=self.settings.profile,
                progress=self._progress,
                variables=self.shell.user_ns,
            )
        return self._here

    def _progress(self, widgets: bool) -> Progress:
        self._tells = os.environ.get("PGE_NB_LIVE") != "0"
        return progress_for(self.shell, widgets=widgets)

    @contextlib.contextmanager
    def _judged_where_seen(self, *, silent: bool) -> Iterator[None]:
        """Verdicts count as shown where a person can see them: not behind a ``;``, nor in a cell whose output goes nowhere."""
        here, self._tells = self.here, False
        before = frozenset(here.judged)
        yield
        if (silent and not self._tells) or goes_nowhere(self.shell):
            here.judged &= before

    def _carried_out(self, words: list[str], body: str | None) -> View:
        from .commands.every_day import Interrupted, NotPassed

        command, rest = chosen(words, self.here)
        args, kwargs = parsed(command, rest)
        if body is not None:
            kwargs["body"] = checked_body(words, command, body)
        try:
            return command(self.here, *args, **kwargs)
        except (NotPassed, Interrupted) as error:
            with held_back():
                display(error.view)  # type: ignore[no-untyped-call]
            raise


def import_commands() -> None:
    """Import what the first command needs; none of it when the extension is loaded, pandas not even at the tab key."""
    import pandas  # noqa: F401, ICN001

    from . import commands, views  # noqa: F401


def unusable(error: OSError) -> BadInput:
    """What a file system refused. It may refuse anything anywhere, so that it is put into words where all calls end."""
    move = "Mend that, or take another place; what is in the state file stays."
    return BadInput(f"{error.filename} cannot be used: {error.strerror or error}.", move)


def goes_nowhere(shell: InteractiveShell) -> bool:
    """Whether what the running cell shows is captured, and kept in no variable."""
    cells = shell.history_manager.input_hist_raw if shell.history_manager else [""]
    return isinstance(shell.display_pub, CapturingDisplayPublisher) and bool(CAPTURED.match(cells[-1]))


def progress_for(shell: InteractiveShell, *, widgets: bool) -> Progress:
    """How a run is told of while it goes on: in place in a notebook, by lines in a terminal, not at all on request."""
    from .widgets.live import progress_in
    from .widgets.progress import Lines, Quiet

    if os.environ.get("PGE_NB_LIVE") == "0":
        return Quiet()
    return progress_in(shell.kernel, shell.user_ns, widgets=widgets) if hasattr(shell, "kernel") else Lines()


# Words


def split(line: str, names: Mapping[str, object]) -> list[str]:
    """The words of a line, quotes respected, backslashes left alone, ``{{expression}}`` replaced by its value."""
    values: list[str] = []

    def put_aside(value: str) -> str:
        values.append(value)
        return f"\ue000{len(values) - 1}\ue001"

    lexer = shlex.shlex(interpolated(line, names, put_aside), posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    # The blank of a Chinese or Japanese keyboard, and the one that comes with a line of a web page.
    lexer.whitespace += "\u3000\u00a0"
    try:
        words = list(lexer)
    except ValueError:
        raise UsageError("A quotation mark is not closed; put words with ' inside into double quotes.") from None
    return [
        PLACE.sub(lambda match: values[int(match[1])] if int(match[1]) < len(values) else "", word) for word in words
    ]


def interpolated(text: str, names: Mapping[str, object], put: Callable[[str], str] = str) -> str:
    """The text with every ``{{expression}}`` replaced by its value; single braces and ``$`` are left alone."""
    parts, start = [], 0
    while (opening := text.find("{{", start)) >= 0:
        code, end = _expression(text, opening)
        parts += [text[start:opening], put(_value(code, names))]
        start = end
    return "".join([*parts, text[start:]])


def _expression(text: str, opening: int) -> tuple[str, int]:
    """The first expression that is whole, and where it ends: a dict in it may end in two braces as well."""
    closing = text.find("}}", opening)
    while closing >= 0:
        code = text[opening + 2 : closing].strip()
        try:
            compile(code, "{{...}}", "eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            closing = text.find("}}", closing + 1)
        else:
            return code, closing + 2
    shown = text[opening : opening + 30].partition("\n")[0]
    raise BadInput(
        f"{shown!r} opens an expression that does not end, or is none.", "To write two braces: {{'{{'}} and {{'}}'}}."
    )


def _value(code: str, names: Mapping[str, object]) -> str:
    try:
        return str(eval(code, dict(names)))  # noqa: S307 - a person's own expression, in their own kernel
    except NameError as error:
        near = nearest(str(error.name), [name for name in names if not name.startswith("_")], cutoff=0.6)
        move = f"Did you mean {near}?" if near else "Set it in a cell above, and run that first."
        raise BadInput(f"{{{{{code}}}}}: there is no name {error.name!r} in this notebook.", move) from None
    except Exception as error:
        raise BadInput(f"{{{{{code}}}}} gives {type(error).__name__}: {error}.", "Mend the expression.") from error


def taken_out(words: Sequence[str]) -> tuple[list[str], str]:
    """The words without ``-o NAME``, and the name."""
    left, names, rest = [], [], iter(words)
    for word in rest:
        if word == "-o" or word.startswith("-o="):
            names.append(word[3:] or next(rest, ""))
        else:
            left.append(word)
    if len(names) > 1:
        raise UsageError("-o is given twice; one variable keeps what a line shows.")
    return left, variable(names[0]) if names else ""


def variable(name: str) -> str:
    """The name, as Python reads it; a ``UsageError`` where it can be none, or would hide what Python or IPython needs."""
    if not name:
        raise UsageError("-o takes the name of a variable.")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"-o takes the name of a variable, not {shown(name)}.")
    if hasattr(builtins, name) or IPYTHONS_OWN.fullmatch(name):
        raise UsageError(f"-o {name} would hide a name that Python or IPython needs; take another one.")
    return unicodedata.normalize("NFKC", name)


def shown(word: str) -> str:
    """A word as a message repeats it: in quotes, cut where it is long, and left out where it looks like a key."""
    cut = word if len(word) <= LONGEST_SHOWN else f"{word[: LONGEST_SHOWN - 3]}..."
    return "'...'" if word.startswith("sk-") else repr(cut)


def bare(word: str) -> str:
    """The same without the quotes."""
    return shown(word)[1:-1]


# Commands


def chosen(words: Sequence[str], here: Here) -> tuple[Command, list[str]]:
    """The command that the first word names, and the words after it. No word, or the name of a task: the status."""
    from .commands import COMMANDS
    from .commands.every_day import status
    from .commands.here import UNNAMED
    from .workspace import composed

    if not words:
        return status, []
    if words[0] in COMMANDS:
        rest = list(words[1:])
        return (COMMANDS[words[0]], rest) if HELP.isdisjoint(rest) else (COMMANDS["help"], [words[0]])
    if words[0] in HELP:
        return COMMANDS["help"], []
    # A task may not take a command's word away, whatever directory lies about.
    if words[0] == UNNAMED or composed(words[0]) in here.names():
        return status, list(words)
    hint = did_you_mean(words[0], [*COMMANDS, *here.names()])
    raise UsageError(f"There is no %pge {bare(words[0])}.{hint} %pge help lists what there is.")


def parsed(command: Command, words: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """The words as arguments of the command."""
    from .commands.grammar import arguments, grouped

    known = arguments(command)
    flags = {argument.flag: argument for argument in known if argument.flag}
    plain: list[str] = []
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if not FLAG.match(word):
            plain.append(word)
            continue
        flag, equals, value = word.partition("=")
        if flag not in flags:
            hint = did_you_mean(flag, [*flags, "-o"]) or f" Flags: {', '.join([*flags, '-o'])}."
            raise UsageError(f"There is no flag {bare(flag)} here.{hint}")
        if flags[flag].name in given:
            raise UsageError(f"{flag} is given twice.")
        given[flags[flag].name] = _flag_value(flags[flag], value if equals else None, rest)
    return _positions(command, [argument for argument in known if not argument.flag], plain), grouped(command, given)


def _flag_value(argument: Argument, value: str | None, rest: Iterator[str]) -> object:
    if argument.kind is bool:
        if value is not None:
            raise UsageError(f"{argument.flag} takes no value.")
        return True
    if value is None and argument.bare:
        return argument.bare
    if value is None:
        value = next(rest, None)
        if value is None or FLAG.match(value):
            raise UsageError(f"{argument.flag} takes a value: {argument.usage.strip('[]')}.")
    return converted(argument, value)


def converted(argument: Argument, word: str) -> object:
    """The word as the argument's type; a ``UsageError`` says what it takes."""
    name = argument.flag or argument.name.upper()
    if argument.choices and word not in argument.choices:
        raise UsageError(
            f"{name} is one of {', '.join(argument.choices)}, not {shown(word)}.{did_you_mean(word, argument.choices)}"
        )
    try:
        value = argument.kind(word)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        kind = "a whole number" if argument.kind is int else "a number"
        raise UsageError(f"{name} takes {kind}, not {shown(word)}.")
    return value


def _positions(command: Command, known: Sequence[Argument], words: Sequence[str]) -> list[Any]:
    from .commands.helping import line_of

    single = [argument for argument in known if not argument.many]
    many = next((argument for argument in known if argument.many), None)
    if len(words) > len(single) and many is None:
        raise UsageError(_too_many(line_of(command), single, words))
    filled = [*single, *([many] * (len(words) - len(single)) if many else [])]
    given = [converted(argument, word) for argument, word in zip(filled, words, strict=False)]
    if lacking := [argument for argument in single[len(words) :] if argument.required]:
        raise UsageError(f"{lacking[0].usage} is missing: {line_of(command)}")
    return given


def _too_many(line: str, single: Sequence[Argument], words: Sequence[str]) -> str:
    if line == "%pge key":
        # Not repeated: it may be a key, and an output is saved with the notebook.
        return "No word is wanted here. A key is asked for without showing it: never write one into a cell."
    if not single:
        return f"{line} takes no words, and {shown(words[0])} is one."
    return f"{shown(words[len(single)])} is one word too many; words with blanks go into quotes: {line}"


def checked_body(words: Sequence[str], command: Command, body: str) -> str:
    """The body, where the command reads one."""
    from .commands.grammar import takes_body

    if not words:
        raise UsageError("%%pge needs a subcommand: %%pge run begins a task with the cell's body as its prompt.")
    if not takes_body(command):
        raise UsageError(f"%pge {words[0]} reads no cell body: write it as a line, with one %.")
    return body


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest of what is known; empty where nothing is near."""
    near = nearest(word, known)
    return f" Did you mean {near}?" if near else ""


# The extension


def first_line_of_a_cell(lines: list[str]) -> list[str]:
    """Lets ``%%pge`` be the first line of its cell, below comments and with an empty body too.

    IPython takes a cell magic from the very first line alone, and refuses one without a body before it is asked. What people
    and tools (Quarto, jupytext, nbgrader) write above it are comments; to leave them out asks for nothing else than the cell
    does, where a refusal would ask for the comment to be deleted. With an empty line as its body the magic can say what to do.
    """
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None or not OURS.match(lines[first]):
        return lines
    return [lines[first].rstrip("\n") + "\n", *(lines[first + 1 :] or ["\n"])]


def load(shell: InteractiveShell) -> None:
    """Register the magic, and the settings for ``%config PGE``; again, it changes nothing."""
    from .traits import configurable

    if "pge" not in shell.magics_manager.magics["line"]:
        magics = PgeMagics(shell)
        magics.settings = configurable()(parent=shell)
        shell.configurables.append(magics.settings)  # type: ignore[arg-type]  # typed too narrowly there
        shell.register_magics(magics)
        completing.register(shell, lambda: magics.here)
        shell.input_transformers_cleanup.append(first_line_of_a_cell)


def unload(shell: InteractiveShell) -> None:
    """Take away all that `load` brought, also by another version of this module: so everything is known by its name."""
    completing.unregister(shell)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("pge", None)
    shell.magics_manager.registry.pop(PgeMagics.__name__, None)
    ours = {PgeMagics.__name__, "PGE"}
    shell.configurables[:] = [one for one in shell.configurables if type(one).__name__ not in ours]
    shell.input_transformers_cleanup[:] = [
        one for one in shell.input_transformers_cleanup if getattr(one, "__name__", "") != first_line_of_a_cell.__name__
    ]
