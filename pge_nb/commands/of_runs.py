"""RUNS in a command: which runs are meant by names, patterns and directories; by nothing all of the notebook's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import BadInput
from ..nearness import nearest
from ..notebook import begun
from ..notebook import runs as runs_in
from ..run import Run
from ..runs import Runs
from ..state import FILE_NAME, open_run, open_runs
from .addresses import WHOSE, run_named
from .here import UNNAMED, Here, path_of

RUNS = "names, NAME@N, patterns or directories; none: every run of this notebook"
"""What is said of the words in help."""


def runs_of(here: Here, words: Sequence[str] = ()) -> Runs:
    """The runs that ``words`` name, each once, in the order of the words; without a word all runs here, earlier ones too.

    A word is a task's name, ``NAME@N`` or ``@N`` for a run that made room, ``.`` for the unnamed task's, a pattern of names or
    of paths, a state file, or a directory, of which every run is taken. ``BadInput`` names what there is where nothing is meant,
    and a file that is damaged: a figure must not silently leave it out.
    """
    named = [run for word in words for run in _named(here, word)] if words else list(_all(here))
    if not named:
        raise BadInput(f"No run is in {here.directory}.", "Begin with %%pge run, or name a directory that holds runs.")
    once: dict[str, Run] = {}
    for run in named:
        once.setdefault(run.head, run)
    return Runs(once.values())


def _all(here: Here) -> Iterator[Run]:
    yield from _in(here.directory)
    if here.state and (run := begun(here.state)):
        yield run


def _in(directory: Path) -> Iterator[Run]:
    """Every run of a notebook's directory; a damaged one raises, a file without a task is none."""
    for kept in runs_in(directory):
        if run := kept.run or begun(kept.state):
            yield run


def _named(here: Here, word: str) -> list[Run]:
    whose = WHOSE.fullmatch(word)
    if whose and word and (whose[2] or word == UNNAMED or whose[1] in here.names()):
        return [run_named(word, here).needs_run()]
    if any(char in word for char in "*?["):
        return _matched(here, word)
    place = here.directory / path_of(word)
    if place.is_file():
        return [open_run(place)]
    if place.is_dir() and (found := list(_in(place))):
        return found
    there = _addresses(here)
    near = nearest(word, there)
    listed = ", ".join(there) or "none here"
    raise BadInput(f"There is no run {word!r:.80}.", f"Did you mean {near}?" if near else f"There are: {listed}.")


def _matched(here: Here, pattern: str) -> list[Run]:
    """The runs whose addresses match; where none does, those at the paths that match, seen from the notebook."""
    addressed = [kept for kept in runs_in(here.directory) if fnmatchcase(kept.address or UNNAMED, pattern)]
    if runs := [run for kept in addressed if (run := kept.run or begun(kept.state))]:
        return runs
    try:
        return list(open_runs(str(here.directory / path_of(pattern))))
    except BadInput as error:
        listed = ", ".join(_addresses(here)) or "none here"
        if error.fact.startswith("No state file matches"):
            raise BadInput(
                f"No run matches {pattern!r:.80}.", f"There are: {listed}. A path looks like 'runs/*/{FILE_NAME}'."
            ) from None
        raise


def _addresses(here: Here) -> list[str]:
    return [kept.address or UNNAMED for kept in runs_in(here.directory)]
