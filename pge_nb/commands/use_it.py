"""Use it: the files that were made, how they differ, and the accepted ones at work; what there is to practise on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from .. import bank
from ..config import HarnessConfig
from ..display import Code, Table, View, Words
from ..errors import BadInput
from ..harness import PGEHarness
from ..records import FileRef
from ..results import working_directory
from ..run import Run
from ..state import StateFile
from ..workspace import layered
from .addresses import Address, located, parted
from .earlier import of
from .here import Here
from .loading import Loaded, load_modules

if TYPE_CHECKING:
    from ..views.work import Side

At = Annotated[str, "STEP: what stands for it; or STEP.ATTEMPT; after NAME@N: for another run"]


def files(
    here: Here,
    at: Annotated[str, "STEP or STEP.ATTEMPT, after NAME@N: for another run; none: what stands for each step"] = "",
    /,
) -> View:
    """The files that were made: size, hash, and a link to each that is in the working directory."""
    from ..views.work import files_view

    there, run, place = located(at, here)
    view = files_view(run, there.path.parent, _attempts(run, place, _whose(at)), here.directory)
    return of(_whose(at), view) if _whose(at) else view


def diff(here: Here, old: At, new: At, /) -> View:
    """What changed in the files from one attempt to another, line by line; each may be of another run."""
    from ..views.work import diff_view

    sides = side_of(here, old), side_of(here, new)
    for side in sides:
        here.shows_verdicts(side.run, side.step, side.attempt)
    return diff_view(*sides)


def restore(here: Here, at: At, /) -> View:
    """Put an attempt's files, of whichever run, into the working directory; a file of yours in the way is kept as an object."""
    from ..views.work import files_view

    side = side_of(here, at)
    own = here.needs_run()
    other = StateFile(located(at, here)[0].path) if side.whose else None
    displaced = PGEHarness(HarnessConfig(shared_state_path=here.path)).restore(side.step, side.attempt, out_of=other)
    work = working_directory(own, here.path.parent)
    view = files_view(side.run, side.root, [(side.step, side.attempt)], here.directory, work)
    notes = [f"{file.path} held something else; that is kept as the object {file.sha256[:12]}." for file in displaced]
    stands = own.accepted(side.step)
    if not side.whose and stands not in (None, side.attempt):
        notes.append(
            f"What stands for step {side.step} is still attempt {side.step}.{stands}: %pge restore {side.step}"
        )
    said = Words(f"The files of attempt {side} were put into {work}.")
    return replace(view, blocks=(said, *view.blocks), notes=(*notes, *view.notes))


def load(
    here: Here,
    at: Annotated[str, "STEP or STEP.ATTEMPT, after NAME@N: for another run; none: every accepted step"] = "",
    /,
) -> View:
    """Import accepted modules into this notebook. From then on they run outside the limits of their review."""
    from IPython.core.getipython import get_ipython

    there, run, place = located(at, here)
    chosen = _accepted(run, place, _whose(at))
    shell = get_ipython()
    if shell is None:
        raise BadInput("There is no notebook to load into.", "Import the file from the working directory instead.")
    wanted = layered(*(run.attempts(step)[attempt].files for step, attempt in chosen))
    loaded = load_modules(wanted, _tree(run, wanted), there.path.parent, shell.user_ns)
    if not loaded:
        raise BadInput("There is no Python module among the accepted files.", "%pge files lists them.")
    return _loaded_view(run, loaded)


def _loaded_view(run: Run, loaded: list[Loaded]) -> View:
    from ..views.ends import foot

    rows = tuple((Code(one.name), one.file.path, one.file.size, Code(one.file.sha256)) for one in loaded)
    table = Table(caption="Now in this notebook", heads=("Module", "File", "Bytes", "Sha256"), rows=rows)
    note = "Loaded code runs in this kernel, as you: the limits on time and environment of its review do not hold here."
    return View(
        title=f"Loaded: {', '.join(one.name for one in loaded)}",
        blocks=(table,),
        notes=(note,),
        next="%pge files",
        foot=foot(run),
    )


def tasks(here: Here) -> View:  # noqa: ARG001 - every command is given the place
    """The practice tasks: small real tasks, each with known defects, for which no key is needed."""
    rows = tuple((Code(task.name), len(task.steps), len(task.oracles), task.prompt) for task in bank.tasks())
    table = Table(caption="Small and real, with known defects", heads=("Task", "Steps", "Oracles", "Prompt"), rows=rows)
    note = "--practice generated:steps=30,dag=random,seed=7 makes one of any size; dag is chain, fan, diamond, random or free."
    return View(title="Practice tasks", blocks=(table,), notes=(note,), next=f"%pge run --practice {bank.NAMES[0]}")


# Which attempts an address means


def _whose(at: str) -> str:
    """How an address names its run; empty where it does not."""
    return parted(at)[0]


def side_of(here: Here, at: str) -> Side:
    """The one attempt that is named, or that stands for the step."""
    from ..views.work import Side

    there, run, place = located(at, here)
    if place.step is None:
        raise BadInput(f"{at} is a whole run.", f"Add a step of it: {_whose(at)}:1, or {_whose(at)}:1.1.")
    [(step, attempt)] = _attempts(run, place, _whose(at))
    return Side(run=run, root=there.path.parent, step=step, attempt=attempt, whose=_whose(at))


def _attempts(run: Run, place: Address, whose: str = "") -> list[tuple[int, int]]:
    """The attempt that is named, or the one that stands for the step; without an address, for every step."""
    if place.step is None:
        standing = [(step.number, run.accepted(step.number)) for step in run.steps]
        return [(step, attempt) for step, attempt in standing if attempt is not None]
    before = f"{whose}:" if whose else ""
    if place.check is not None:
        raise BadInput(
            f"Files belong to an attempt, and {place.check} is a check or criterion.",
            f"%pge show evaluations {before}{place} shows it.",
        )
    attempt = place.attempt or run.accepted(place.step)
    if attempt is None:
        last = max(run.attempts(place.step), default=0)
        move = f"Its last attempt: {before}{place.step}.{last}." if last else "It was not attempted yet: %pge resume"
        raise BadInput(f"Nothing stands for step {place.step}.", move)
    return [(place.step, attempt)]


def _accepted(run: Run, place: Address, whose: str) -> list[tuple[int, int]]:
    """The same, of what was accepted; ``BadInput`` says why where it was not."""
    before = f"{whose}:" if whose else ""
    chosen = _attempts(run, place, whose)
    if place.step is None:
        chosen = [(step, attempt) for step, attempt in chosen if run.state(step) == "accepted"]
    for step, attempt in chosen:
        if run.accepted(step) != attempt:
            raise BadInput(f"Attempt {before}{step}.{attempt} is not the one that stands.", f"%pge load {before}{step}")
        if run.state(step) != "accepted":
            at = f"{before}{step}"
            raise BadInput(
                f"Attempt {at}.{attempt} was {run.state(step)}, not accepted: not every check held.",
                f"%pge show evaluations {at}.{attempt} tells which; %pge files {at} links the files.",
            )
    if not chosen:
        raise BadInput("No step was accepted yet.", f"%pge show run {whose}".rstrip() + " tells where the run stands.")
    return chosen


def _tree(run: Run, wanted: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
    """All that was accepted, under what is wanted: a module may import one of another step."""
    standing = [(step.number, run.accepted(step.number)) for step in run.steps if run.state(step.number) == "accepted"]
    return layered(*(run.attempts(step)[attempt].files for step, attempt in standing if attempt), wanted)
