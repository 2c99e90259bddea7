"""Opening a task: its state file, its frozen settings, and the equipment that they ask for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from .. import bank, moving
from ..config import UNSAID, HarnessConfig, check_end, identity, limits_in, of_then, uses_practice
from ..errors import BadInput, ModelFailed, StateBusy
from ..inputs import RECORDED, Given
from ..models import Listen, Model, Stop, kernel
from ..models.choose import ByName, models_in, recorded_at
from ..models.limits import Prices
from ..models.recording import Recording
from ..models.replay import Replay
from ..payloads import Json, encode
from ..records import Note, Record, Task
from ..redaction import Redactor
from ..reviews import shipped
from ..run import Run
from ..skills.keeping import hints_of, registry_of
from ..state import StateFile
from ..tracing import Trace
from ..workspace import Objects, snapshot
from .equipment import Equipment, isolation_of

CALLS = Path(".pge", "calls.jsonl")


def open_state(path: Path | str) -> StateFile:
    """The state file at ``path``, with secrets kept out of what is written. A move that was cut off there is ended first."""
    moving.finish(Path(path).absolute().parent)
    redactor = Redactor()
    return StateFile(Path(path).absolute(), redact=redactor.text, redact_own=redactor.sentence)


def begin(state: StateFile, prompt: str, config: HarnessConfig) -> Run:
    """The run of this task: opened again where the file holds it, else begun with a task section.

    ``BadInput`` where the file holds another task: another prompt, or other settings that change the outcome.
    """
    prompt = prompt.strip()
    if not prompt:
        raise BadInput("The prompt is empty.", "Say in 1 to 4 sentences what is to be made.")
    if moving.unfinished(state.root):
        raise StateBusy(f"A run is being moved from or to {state.root}.", "Run this again in a moment.")
    run = state.read()
    settings = config.settings()
    given = config.inputs
    name = identity(prompt, settings, given.identity)
    if run.of("task"):
        if run.task.run not in {name, identity(prompt, of_then(settings, run.task.settings), given.identity)}:
            raise _another(run, prompt, settings, given)
        return run
    practice = check(prompt, settings, config)
    objects = Objects(state.root)
    files = given.beside(snapshot(config.work, objects))
    given.keep(objects)
    hints, notes = _hints(settings, config.registry)
    task = Task(
        prompt=prompt,
        run=name,
        settings={**settings, **hints},
        files=files,
        practice=practice,
        isolation=isolation_of(settings),
        inputs=given.inputs,
        rows=given.rows,
    )
    state.append(Record(payload=task, by="person"), *(Record(payload=note, by="harness") for note in notes))
    return state.read()


def _hints(settings: Mapping[str, Json], registry: Path | str | None) -> tuple[dict[str, Json], tuple[Note, ...]]:
    """What the planner is told of how skills did, as a setting: so that it stays what it was told, whatever comes later.

    A registry that cannot be read stands in nobody's way: a note tells of it.
    """
    try:
        hints = hints_of(settings, registry_of(settings, registry))
    except BadInput as error:
        return {}, (Note(text=f"{error.fact} The planner is told nothing of earlier work."),)
    return ({"skill_hints": hints} if hints else {}), ()


def check(prompt: str, settings: Mapping[str, Json], config: HarnessConfig) -> str | None:
    """Raise what stands in the way of beginning this task; the practice task that it is."""
    models, prices = models_in(settings), Prices.load()
    config.limits.check_models(models, prices)
    check_end(settings)
    if config.trace_path is not None:
        Trace(config.trace_path, "")  # refuses a file that holds something else
    kernel.HERE.check(models, config.limits, prices)
    return _practice(prompt, settings)


def _practice(prompt: str, settings: Mapping[str, Json]) -> str | None:
    """The practice task that the prompt is; the practice model cannot do any other, and says so before anything is begun."""
    task = bank.match(prompt)
    if task is not None:
        return task.name
    if uses_practice(settings):
        nearest = bank.nearest(prompt)
        raise ModelFailed(
            "The practice model only plays the tasks of its bank, and this prompt is none of them.",
            f"%pge run --practice {nearest.name} is the nearest; for prompts of your own set a key with %pge key.",
        )
    return None


def _another(run: Run, prompt: str, settings: Mapping[str, Json], given: Given) -> BadInput:
    if run.task.prompt != prompt:
        fact = f"This place already holds another task: {run.task.prompt[:80]!r}."
    elif Given(inputs=run.task.inputs, rows=run.task.rows).identity != given.identity:
        fact = "This task was begun with other inputs, or other rows of them to be shown."
    else:
        was, now = ({**UNSAID, **either} for either in (run.task.settings, settings))
        changed = sorted(name for name, value in now.items() if was.get(name) != value and name != "prompts")
        fact = f"This task was begun with other settings ({', '.join(changed)})."
    return BadInput(
        fact, "%pge new moves it whole to earlier/ and makes room; %%pge run NAME gives a task a place of its own."
    )


def equip(
    run: Run,
    root: Path,
    *,
    model: Model | None = None,
    config: HarnessConfig | None = None,
    listen: Listen | None = None,
    stop: Stop | None = None,
) -> Equipment:
    """The equipment for a run, from its frozen settings. ``model`` stands in for every role's model."""
    settings = run.settings
    recorded = settings.get("recording")
    if model is None:
        model = Replay(recorded_at(str(recorded))) if recorded else ByName()
    seconds = settings.get("review_seconds")
    own = config.review_methods if config else {}
    # Who goes on with a run elsewhere may allow there what was not needed where it began.
    unsafe = settings.get("allow_unsafe") is True or (config is not None and config.allow_unsafe)
    return Equipment(
        model=Recording(
            root / CALLS,
            model,
            limits=limits_in(settings),
            header=_header(run),
        ),
        objects=Objects(root),
        reviews={
            **shipped(seconds=float(seconds) if isinstance(seconds, int | float) else 30.0, allow_unsafe=unsafe),
            **own,
        },
        listen=listen,
        stop=stop,
        allow_unsafe=unsafe,
        skills=config.skills if config else {},
        closed=frozenset() if run.task.rows else frozenset(file.path for file in run.task.input_files),
    )


def _header(run: Run) -> dict[str, Json]:
    """What the first line of the call log tells of the run, so that a replay can begin the same one."""
    task = run.task
    header: dict[str, Json] = {"run": task.run, "prompt": task.prompt, "settings": dict(task.settings)}
    return header | ({RECORDED: encode(task.inputs)} if task.inputs else {})


@contextlib.contextmanager
def opened(
    shared_state_path: Path | str,
    *,
    prompt: str | None = None,
    config: HarnessConfig | None = None,
    model: Model | None = None,
) -> Iterator[tuple[StateFile, Equipment]]:
    """The state file, locked for running, and the equipment of its run; begun with ``prompt`` where that is given."""
    state = open_state(shared_state_path)
    with state.running():
        if prompt is not None:
            begin(state, prompt, config or HarnessConfig(shared_state_path=os.fspath(shared_state_path)))
        yield state, equip(state.read(), state.root, model=model, config=config)
