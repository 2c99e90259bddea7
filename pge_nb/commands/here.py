"""Where a command is carried out: the notebook's directory, the task it is about, and the model that was chosen."""

from __future__ import annotations

import contextlib
import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from ..errors import BadInput
from ..nearness import nearest
from ..notebook import Place, names
from ..records import EvaluationReport
from ..run import Run
from ..settings import Settings, Sources
from ..skills import Skill
from ..state import FILE_NAME, check_kind
from ..widgets.progress import Progress, Quiet
from ..workspace import DEVICE_NAMES, MAX_NAME_BYTES, composed
from .since import Seen, since_last_look

LONGEST_NAME = 64
NoWidgets = Annotated[bool, "lines of text in place of the live panel"]
NONE_GIVEN: Mapping[str, object] = MappingProxyType({})
UNNAMED = "."
"""How the unnamed task is written where a name is wanted: it stands in the notebook's own directory."""
NOT_NAMES = frozenset({"work", "earlier", "exports"}) | DEVICE_NAMES


@dataclass(slots=True, kw_only=True)
class Here:
    """What one kernel knows between two commands; the state file knows the rest. ``variables`` are the notebook's own.

    ``name`` is the task that commands are about ("": the unnamed one, beside the notebook), ``state`` a state file that was
    given by its path instead. ``configured`` are the settings that were chosen in this kernel, ``profile`` those of the
    IPython profile. ``skills`` are those that were named last. ``progress`` tells of a run while it goes on. ``shown`` holds the
    hashes of the sections that phase cells have shown, ``seen`` what the state files were like when they were last shown,
    ``judged`` the attempts (run id, attempt hash) whose verdict was shown here: labels are told apart by it.
    """

    directory: Path
    name: str = ""
    state: Path | None = None
    configured: MutableMapping[str, object] = field(default_factory=dict)
    profile: Mapping[str, object] = field(default_factory=dict)
    progress: Callable[[bool], Progress] = field(default=lambda _: Quiet())
    variables: Mapping[str, object] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)
    seen: dict[Path, Seen] = field(default_factory=dict)
    judged: set[tuple[str, str]] = field(default_factory=set)

    @property
    def path(self) -> Path:
        """The state file of the task that commands are about."""
        return self.state or self.directory / self.name / FILE_NAME

    @property
    def registry(self) -> str | None:
        """The registry of skills that the settings name; None: the person's own, where there is one to be kept."""
        named = self.settings().given["registry"].value
        return None if named is None else str(named)

    @property
    def trace(self) -> str | None:
        """The file of the trace that the settings name; None: there is none."""
        named = self.settings().given["trace"].value
        return None if named is None else str(named)

    def turn_to(self, name: str = "", state: str = "") -> None:
        """Make another task the one that commands are about."""
        if name and state:
            raise BadInput(f"Both a name ({name}) and --state were given.", "Give one of them.")
        name = "" if name == UNNAMED else composed(name)
        if name and (not _is_name(name) or name.casefold() in NOT_NAMES):
            raise BadInput(
                f"{name!r:.80} cannot be the name of a task.",
                "Begin with a letter, then letters, digits, - and _, 64 at most; not work, earlier, exports, nor one that "
                "Windows gives to a device.",
            )
        # What is asked for next is found first: a path that is none must not change which task commands are about.
        self.name, self.state = name, self.directory / path_of(state) if state else None

    def elsewhere(self, name: str = "", state: str = "") -> Here:
        """The same, about another task."""
        other = replace(self)
        other.turn_to(name, state)
        return other

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Make the task's directory; where nothing is begun in it, it is taken away again.

        ``BadInput`` where it cannot be made. The notebook's own directory is never made: one that is gone was taken away.
        """
        if not self.directory.is_dir():
            raise BadInput(
                f"The notebook's directory {self.directory} is gone.", "Restart the kernel where the notebook is now."
            )
        place = self.path.parent
        lacking = [folder for folder in (place, *place.parents) if not os.path.lexists(folder)]
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            there = place if os.path.lexists(place) else place.parent
            why = (
                f"{there} is no directory"
                if isinstance(error, FileExistsError | NotADirectoryError)
                else error.strerror
            )
            raise BadInput(
                f"The directory {place} cannot be made: {why}.", "Give the task another name or place."
            ) from None
        try:
            yield
        except BaseException:
            if lacking and not self.path.exists():
                shutil.rmtree(lacking[-1], ignore_errors=True)
            raise

    def settings(self, flags: Mapping[str, object] = NONE_GIVEN) -> Settings:
        """The settings of a new run here, ``flags`` among them, each with its source."""
        return Sources(
            directory=self.directory,
            flags=flags,
            configured=self.configured,
            profile=self.profile,
            environ=os.environ,
        ).settings()

    @property
    def place(self) -> Place:
        """The place of the task that commands are about, with the runs that made room in it."""
        return Place(state=self.path, name="" if self.state else self.name)

    def names(self) -> list[str]:
        """The tasks that have a place of their own below the notebook's directory."""
        return names(self.directory)

    def others(self) -> list[str]:
        """How the tasks here are named that commands are not about: by name, the unnamed one by `UNNAMED`."""
        unnamed = [UNNAMED] if (self.name or self.state) and (self.directory / FILE_NAME).is_file() else []
        return [*unnamed, *(name for name in self.names() if name != self.name)]

    def run(self) -> Run | None:
        """The run at the place that commands are about; None where nothing was begun there."""
        return self.place.run()

    def shows_verdicts(self, run: Run, step: int | None = None, attempt: int | None = None) -> None:
        """Verdicts on attempts of the run are shown now: on all, on those at a step, or on one."""
        for section in run.sections:
            report, record = section.payload, section.record
            here = step in (None, record.step) and attempt in (None, record.attempt)
            if here and isinstance(report, EvaluationReport):
                self.judged.add((run.task.run, report.attempt_hash))

    def news(self, run: Run) -> tuple[str, ...]:
        """What is told of the file of ``run``, which is shown now, where it changed since it was last shown."""
        told = since_last_look(self.seen, self.path, run)
        return (told,) if told else ()

    def forget(self) -> None:
        """The file was moved at a person's word: what stands at its place now is no news."""
        self.seen.pop(self.path.resolve(), None)

    def needs_run(self) -> Run:
        """The run; ``BadInput`` names what there is where nothing was begun."""
        run = self.run()
        if run is None:
            check_kind(self.path)
            near = nearest(self.name, there := self.others())
            others = ", ".join(f"%pge {name}" for name in ([near] if near else there))
            raise BadInput(
                f"Nothing was begun at {self.path}.",
                f"Look at another task: {others}" if others else "Begin with %%pge run.",
            )
        return run


def _is_name(name: str) -> bool:
    """A letter first, then letters, digits, - and _ of any script, with the marks that some scripts put on a letter."""
    inner = (char.isalnum() or char in "-_" or unicodedata.category(char) in ("Mn", "Mc") for char in name)
    return name[0].isalpha() and len(name) <= LONGEST_NAME and all(inner)


def path_of(text: str) -> Path:
    """The path that a person wrote, ``~`` and all; ``BadInput`` where it can be none."""
    if any(not char.isprintable() for char in text):
        raise BadInput(f"{text!r:.80} holds characters that no path should have.", "Write it without them.")
    if any(len(part.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES for part in Path(text).parts):
        raise BadInput(f"{text!r:.80} holds a name that is too long.", f"Take one of at most {MAX_NAME_BYTES} bytes.")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise BadInput(f"There is no home directory for {text!r:.80}.", "Write the path without ~.") from None


def notebook_directory(environ: Mapping[str, str], names: Mapping[str, object], fallback: Path | None) -> Path:
    """The directory of the notebook: what Jupyter says, then what VS Code says, then the working directory, if there is one."""
    for said in (environ.get("JPY_SESSION_NAME"), names.get("__vsc_ipynb_file__")):
        if isinstance(said, str) and said and (place := Path(said)).is_absolute() and place.parent.is_dir():
            return place.parent
    if fallback is None:
        raise BadInput("The working directory of this kernel is gone.", "Restart the kernel where the notebook is now.")
    return fallback


def working_directory() -> Path | None:
    """The process's own; None where it was taken away."""
    try:
        return Path.cwd()
    except OSError:
        return None
