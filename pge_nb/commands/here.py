"""Where a command is carried out: the notebook's directory, the task it is about, and the model that was chosen."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import BadInput
from ..notebook import Place, names
from ..run import Run
from ..state import FILE_NAME
from .live import Progress, Quiet

NAME = re.compile(r"[^\W\d_][\w-]{0,63}")
NOT_NAMES = frozenset({"work", "earlier", "exports"})


@dataclass(slots=True, kw_only=True)
class Here:
    """What one kernel knows between two commands; the state file knows the rest.

    ``name`` is the task that commands are about ("": the unnamed one, beside the notebook), ``state`` a state file that was
    given by its path instead. ``model`` is the person's choice for new runs; None: left to the environment. ``progress``
    tells of a run while it goes on.
    """

    directory: Path
    name: str = ""
    state: Path | None = None
    model: str | None = None
    progress: Callable[[], Progress] = field(default=Quiet)

    @property
    def path(self) -> Path:
        """The state file of the task that commands are about."""
        return self.state or self.directory / self.name / FILE_NAME

    def turn_to(self, name: str = "", state: str = "") -> None:
        """Make another task the one that commands are about."""
        if name and state:
            raise BadInput(f"Both a name ({name}) and --state were given.", "Give one of them.")
        if name and (not NAME.fullmatch(name) or name in NOT_NAMES):
            raise BadInput(
                f"{name!r} cannot be the name of a task.",
                "Begin with a letter, then letters, digits, - and _; not work, earlier, exports.",
            )
        self.name = name
        self.state = self.directory / Path(state).expanduser() if state else None

    def elsewhere(self, name: str = "", state: str = "") -> Here:
        """The same, about another task."""
        other = replace(self)
        other.turn_to(name, state)
        return other

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Make the task's directory; where nothing is begun in it, it is taken away again."""
        place = self.path.parent
        is_new = not place.exists()
        place.mkdir(parents=True, exist_ok=True)
        try:
            yield
        except BaseException:
            if is_new and not self.path.exists():
                shutil.rmtree(place)
            raise

    @property
    def place(self) -> Place:
        """The place of the task that commands are about, with the runs that made room in it."""
        return Place(state=self.path, name="" if self.state else self.name)

    def names(self) -> list[str]:
        """The tasks that have a place of their own below the notebook's directory."""
        return names(self.directory)

    def run(self) -> Run | None:
        """The run at the place that commands are about; None where nothing was begun there."""
        return self.place.run()

    def needs_run(self) -> Run:
        """The run; ``BadInput`` names what there is where nothing was begun."""
        run = self.run()
        if run is None:
            others = ", ".join(f"%pge {name}" for name in self.names())
            raise BadInput(
                f"Nothing was begun at {self.path}.",
                f"Look at another task: {others}." if others else "Begin with %%pge run.",
            )
        return run


def notebook_directory(environ: Mapping[str, str], names: Mapping[str, object], fallback: Path) -> Path:
    """The directory of the notebook: what Jupyter says, then what VS Code says, then the working directory."""
    for said in (environ.get("JPY_SESSION_NAME"), names.get("__vsc_ipynb_file__")):
        if isinstance(said, str) and said and (place := Path(said)).is_absolute() and place.parent.is_dir():
            return place.parent
    return fallback
