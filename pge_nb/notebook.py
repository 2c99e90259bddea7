"""One notebook's tasks: where they stand, which one a prompt means, and where the runs are that made room for others.

An unnamed task stands beside the notebook, a named one in a directory of its own below. A run that made room stands whole in
``earlier/N`` of its place. N is the lowest number that is free: since at most one run is ever out of ``earlier/``, a run that
comes back finds its own number again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from . import moving
from .agents.opening import check
from .config import IDENTITY, ROLES, UNSAID, WITH_TOOLS, HarnessConfig, identity, of_then, uses_practice
from .errors import BadInput, PgeError, StateDamaged
from .inputs import Given
from .models.choose import check_key, models_in
from .payloads import decode
from .run import Run
from .settings import known, told
from .state import FILE_NAME, StateFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of one task: its state file, with ``work/``, ``.pge/`` and ``earlier/`` beside it."""

    state: Path
    name: str = ""

    @property
    def root(self) -> Path:
        """The directory of the state file."""
        return self.state.parent

    @property
    def is_earlier(self) -> bool:
        """Whether the run here is one that made room."""
        return self.root.parent.name == moving.EARLIER

    def run(self) -> Run | None:
        """The run that stands here now; None where nothing was begun. A move that was cut off is ended first."""
        moving.finish(self.root)
        try:
            return begun(self.state)
        except StateDamaged as error:
            raise StateDamaged(error.fact, self._move(error.next_move)) from None

    def _move(self, said: str) -> str:
        """What to do about a damaged file, for the place where it stands: one that made room cannot begin again."""
        if self.is_earlier:
            return f"Put back a copy of it; %pge verify {self.name}@{self.root.name} tells what is whole."
        return said.replace("%pge new", f"%pge new {self.name}".rstrip()).replace(" .pge/", f" {self.root}/.pge/")

    def earlier(self) -> dict[int, Path]:
        """Number -> state file of the runs that made room, in order."""
        found = {number: self._kept(number) / self.state.name for number in self._taken()}
        return {number: state for number, state in found.items() if state.is_file()}

    def at(self, number: int | None) -> Path:
        """The state file of the run that stands here now (None) or of an earlier one; ``BadInput`` names the nearest."""
        if number is None:
            return self.state
        there = self.earlier()
        if number not in there:
            nearest = min(there, key=lambda one: abs(one - number), default=None)
            move = f"The nearest is {self.name}@{nearest}." if nearest else "No run made room here yet."
            raise BadInput(f"There is no run {self.name}@{number}.", move)
        return there[number]

    def move_away(self) -> int:
        """Move what is here whole to ``earlier/``; the number that it is kept under. ``StateBusy`` where it is running."""
        moving.finish(self.root)
        taken = self._taken()
        number = next(number for number in range(1, len(taken) + 2) if number not in taken)
        moving.move(self.state, self._kept(number), root=self.root)
        return number

    def reopen(self, number: int) -> int | None:
        """Bring an earlier run back; what is here moves away in its turn, and the number that it got is returned."""
        state = self.at(number)
        with StateFile(state).running():  # one that is running stays, and so does what would make room for it
            pass
        moved = self.move_away() if moving.belongings(self.state) else None
        moving.move(state, self.root, root=self.root)
        return moved

    def _kept(self, number: int) -> Path:
        return self.root / moving.EARLIER / str(number)

    def _taken(self) -> list[int]:
        kept = (self.root / moving.EARLIER).glob("[1-9]*")
        return sorted(int(place.name) for place in kept if place.name.isascii() and place.name.isdigit())


# Identity

OF_THE_TASK = (*IDENTITY, *WITH_TOOLS.values(), *ROLES)
LONGEST_SHOWN = 80
"""Characters of an old and a new value together that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What was done so that a task can be begun or gone on with.

    ``config`` is that of the run. ``moved`` and ``reopened`` are numbers in ``earlier/``; None: nothing was moved.
    ``changed`` says what makes this task another than the one that made room.
    """

    config: HarnessConfig
    moved: int | None = None
    reopened: int | None = None
    changed: tuple[str, ...] = ()

    def says(self, name: str = "") -> str:
        """One line for the person; empty where nothing was moved."""
        back = f"This task was met before and is reopened from earlier/{self.reopened}." if self.reopened else ""
        why = f" ({', '.join(self.changed)})" if self.changed else ""
        away = (
            f"Another task stood here{why}; its run is whole in earlier/{self.moved}: %pge open {name}@{self.moved} shows it."
            if self.moved
            else ""
        )
        return " ".join(filter(None, (back, away)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """What a prompt and a configuration mean at a place, which is only looked at.

    ``standing`` is the run that stands there now, whichever task's. ``state`` is the file of the run that is meant, None
    where it is not begun; ``number`` is its number in ``earlier/``, None where it stands there. ``config`` is that of the run.
    """

    config: HarnessConfig
    standing: Run | None = None
    state: Path | None = None
    number: int | None = None


def met(place: Place, prompt: str, config: HarnessConfig) -> Met:
    """The run that the prompt and the configuration mean: the one that stands at ``place``, an earlier one, or none yet."""
    prompt = prompt.strip()
    run = place.run()
    if run and (known := _met(run, prompt, config)):
        return Met(config=known, standing=run, state=place.state)
    for number, state in place.earlier().items():
        if (earlier := _readable(state)) and (known := _met(earlier, prompt, config)):
            return Met(config=known, standing=run, state=state, number=number)
    return Met(config=config, standing=run)


def make_room(place: Place, prompt: str, config: HarnessConfig) -> Room:
    """Make ``place`` ready for the task: the run of its identity stands there afterwards, or none.

    Nothing is moved where the task could not be begun, and nothing is ever paid.
    """
    prompt = prompt.strip()
    found = met(place, prompt, config)
    if found.state and found.number is None:
        return Room(config=found.config)
    if found.state is None:
        settings = config.settings()
        check(prompt, settings, config)
        if not settings.get("recording"):
            check_key(models_in(settings))
    changed = difference(found.standing, prompt, found.config) if found.standing else ()
    if found.number is not None:
        return Room(config=found.config, moved=place.reopen(found.number), reopened=found.number, changed=changed)
    return Room(config=config, moved=place.move_away() if found.standing else None, changed=changed)


def _met(run: Run, prompt: str, config: HarnessConfig) -> HarnessConfig | None:
    """The configuration that means this run; None where it is another task's."""
    config = _yielding(run, config)
    return config if identity(prompt, config.settings(), config.inputs.identity) == run.task.run else None


def _yielding(run: Run, config: HarnessConfig) -> HarnessConfig:
    """The configuration with what nobody chose taken from the run, where nobody chose it there either.

    What only the machine says (its key, a variable, a profile) is no part of the task: a notebook that was run with it shows
    the same on a machine without it. Only a simulated run is not taken for one by a language model.
    """
    frozen = run.task.settings
    config = _with_frozen(run, config)
    models = frozen.get("models")
    named = (config.model is not None and "model" not in config.unchosen) or (
        config.models and "models" not in config.unchosen
    )
    if not named and isinstance(models, dict):
        begun_with = replace(config, model=None, models={role: str(name) for role, name in models.items()})
        if uses_practice(config.settings()) or not uses_practice(frozen):
            return begun_with
    return config


def _with_frozen(run: Run, config: HarnessConfig) -> HarnessConfig:
    frozen, models = {**UNSAID, **run.task.settings}, run.task.settings.get("models")
    usual = {**UNSAID, **of_then(HarnessConfig(models=models if isinstance(models, dict) else {}).settings(), frozen)}
    of_a_machine = frozen.get("unchosen")
    yielding = {
        name: decode(known()[name].kind, frozen[name], name)
        for name in set(OF_THE_TASK) & set(config.unchosen) - {"models"}
        if name in frozen and (frozen[name] == usual[name] or (isinstance(of_a_machine, list) and name in of_a_machine))
    }
    return replace(config, **yielding) if yielding else config


def difference(run: Run, prompt: str, config: HarnessConfig) -> tuple[str, ...]:
    """What makes the task another than that of the run, in a few words each."""
    was, now = ({**UNSAID, **settings} for settings in (run.task.settings, _yielding(run, config).settings()))
    changed = ["another prompt"] if run.task.prompt != prompt else []
    if Given(inputs=run.task.inputs, rows=run.task.rows).identity != config.inputs.identity:
        changed.append("other data")
    for name in (*OF_THE_TASK, "skills", "rater"):
        if was.get(name, now.get(name)) != now.get(name):
            new, old = told(now.get(name)), told(was.get(name))
            values = f": {new}, not {old}" if len(f"{new}{old}") <= LONGEST_SHOWN else ""
            changed.append(f"another {name}{values}")
    return tuple(changed)


def begun(state: Path) -> Run | None:
    """The run of a state file; None where there is none, or no task in it."""
    if not state.is_file():
        return None
    run = StateFile(state).read()
    return run if run.of("task") else None


def _readable(state: Path) -> Run | None:
    try:
        return begun(state)
    except PgeError:
        return None  # damaged: it is shown as such by those who ask for it


# All runs of a notebook

NO_TASKS = frozenset({"work", moving.EARLIER, "exports"})
"""Directories of ours that no task is called like, whatever an agent has written into them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One run in the notebook's directory. ``number`` None: the one that stands at its place. ``run`` None: damaged."""

    name: str
    number: int | None
    state: Path
    run: Run | None

    @property
    def address(self) -> str:
        """How it is named: ``NAME``, ``NAME@N``, ``@N``; empty for the unnamed one."""
        return self.name if self.number is None else f"{self.name}@{self.number}"


def names(directory: Path) -> list[str]:
    """The tasks that have a place of their own below the notebook's directory, or had one."""
    held = {state.parent.name for state in directory.glob(f"*/{FILE_NAME}")}
    left = {state.parents[2].name for state in directory.glob(f"*/{moving.EARLIER}/*/{FILE_NAME}")}
    return sorted(name for name in (held | left) - NO_TASKS if not name.startswith("."))


def runs(directory: Path) -> Iterator[Kept]:
    """Every run in the notebook's directory: the unnamed task's, then the others' by name; each with its earlier ones."""
    for name in ("", *names(directory)):
        place = Place(state=directory / name / FILE_NAME, name=name)
        moving.finish(place.root)
        if place.state.is_file():
            yield Kept(name=name, number=None, state=place.state, run=_readable(place.state))
        for number, state in place.earlier().items():
            yield Kept(name=name, number=number, state=state, run=_readable(state))
