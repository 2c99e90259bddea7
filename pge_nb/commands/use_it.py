"""Use it: the files that were made, how they differ, and the accepted ones at work; what there is to practise on."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from .. import bank
from ..config import HarnessConfig
from ..display import Code, Table, View, Words
from ..errors import BadInput
from ..harness import PGEHarness
from ..records import FileRef
from ..run import Run
from ..workspace import layered
from .addresses import address
from .here import Here
from .loading import Loaded, load_modules

At = Annotated[str, "STEP: what stands for it; or STEP.ATTEMPT"]


def files(here: Here, at: Annotated[str, "STEP or STEP.ATTEMPT; none: what stands for each step"] = "", /) -> View:
    """The files that were made: size, hash, and a link to each that is in the working directory."""
    from ..views.work import files_view

    run = here.needs_run()
    return files_view(run, here.path.parent, _attempts(run, at), here.directory)


def diff(here: Here, old: At, new: At, /) -> View:
    """What changed in the files from one attempt to another, line by line."""
    from ..views.work import diff_view

    run = here.needs_run()
    [before], [after] = _attempts(run, old), _attempts(run, new)
    return diff_view(run, here.path.parent, before, after)


def restore(here: Here, at: At, /) -> View:
    """Put an attempt's files into the working directory; a file of yours that is in the way is kept as an object first."""
    [(step, attempt)] = _attempts(here.needs_run(), at)
    harness = PGEHarness(HarnessConfig(shared_state_path=here.path))
    displaced = harness.restore(step, attempt)
    view = files(here, f"{step}.{attempt}")
    stands = here.needs_run().accepted(step)
    notes = [f"{file.path} held something else; that is kept as the object {file.sha256[:12]}." for file in displaced]
    if stands not in (None, attempt):
        notes.append(f"What stands for step {step} is still attempt {step}.{stands}: %pge restore {step}")
    return replace(view, blocks=(Words("These files were put in place."), *view.blocks), notes=(*notes, *view.notes))


def load(here: Here, at: Annotated[str, "STEP or STEP.ATTEMPT; none: every accepted step"] = "", /) -> View:
    """Import accepted modules into this notebook. From then on they run outside the limits of their review."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None:
        raise BadInput("There is no notebook to load into.", "Import the file from the working directory instead.")
    run = here.needs_run()
    chosen = _accepted(run, at)
    wanted = layered(*(run.attempts(step)[attempt].files for step, attempt in chosen))
    loaded = load_modules(wanted, _tree(run, wanted), here.path.parent, shell.user_ns)
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
    return View(title="Practice tasks", blocks=(table,), next=f"%pge run --practice {bank.tasks()[0].name}")


# Which attempts an address means


def _attempts(run: Run, at: str) -> list[tuple[int, int]]:
    """The attempt that is named, or the one that stands for the step; without an address, for every step."""
    place = address(at, run)
    if place.step is None:
        standing = [(step.number, run.accepted(step.number)) for step in run.steps]
        return [(step, attempt) for step, attempt in standing if attempt is not None]
    attempt = place.attempt or run.accepted(place.step)
    if attempt is None:
        last = max(run.attempts(place.step), default=0)
        move = f"Its last attempt: {place.step}.{last}." if last else "It was not attempted yet: %pge resume"
        raise BadInput(f"Nothing stands for step {place.step}.", move)
    return [(place.step, attempt)]


def _accepted(run: Run, at: str) -> list[tuple[int, int]]:
    """The same, of what was accepted; ``BadInput`` says why where it was not."""
    chosen = _attempts(run, at)
    if not at:
        chosen = [(step, attempt) for step, attempt in chosen if run.state(step) == "accepted"]
    for step, attempt in chosen:
        if run.accepted(step) != attempt:
            raise BadInput(f"Attempt {step}.{attempt} is not the one that stands.", f"%pge load {step}")
        if run.state(step) != "accepted":
            raise BadInput(
                f"Attempt {step}.{attempt} was {run.state(step)}, not accepted: not every check held.",
                f"%pge show evaluations {step}.{attempt} tells which; %pge files {step} links the files.",
            )
    if not chosen:
        raise BadInput("No step was accepted yet.", "%pge shows where the run stands.")
    return chosen


def _tree(run: Run, wanted: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
    """All that was accepted, under what is wanted: a module may import one of another step."""
    standing = [(step.number, run.accepted(step.number)) for step in run.steps if run.state(step.number) == "accepted"]
    return layered(*(run.attempts(step)[attempt].files for step, attempt in standing if attempt), wanted)
