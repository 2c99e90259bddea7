"""Which registry a run is kept in: the one that was named, else, for a run that asks live models, the person's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadInput
from ..models.choose import is_practice, models_in
from ..payloads import Json
from ..records import Note
from ..run import Run
from . import frozen_in
from .registry import SkillRegistry

OFF = "off"
VARIABLE = "PGE_NB_REGISTRY"
FILE = Path("pge_nb", "skills.sqlite3")


def registry_of(
    settings: Mapping[str, Json], chosen: Path | str | None, environ: Mapping[str, str] = os.environ
) -> SkillRegistry | None:
    """The registry in which a run with these settings is kept; None where it is kept in none.

    ``chosen`` is its file or "off"; None: what the environment says, else the file in the person's data directory, and that for
    runs that ask live models alone. What a recording tells is somebody's earlier work, and what a generator says of itself is no
    score: both are kept nowhere.
    """
    if settings.get("recording") or settings.get("evaluator", "fresh") != "fresh":
        return None
    place = chosen or environ.get(VARIABLE, "").strip()
    if str(place) == OFF:
        return None
    if place:
        return SkillRegistry(_expanded(Path(place)))
    return SkillRegistry(data_directory(environ) / FILE) if is_live(settings) else None


def told_on(chosen: Path | str | None) -> dict[str, str]:
    """The variable that tells another process, in another directory, of the registry that was chosen here."""
    if chosen is None:
        return {}
    return {VARIABLE: OFF if str(chosen) == OFF else str(_expanded(Path(chosen)).absolute())}


class Keeper:
    """Keeps how the skills of one run did, whichever thread asks for it; where that cannot be, the run goes on without it."""

    def __init__(self, chosen: Path | str | None) -> None:
        self._chosen = chosen
        self._since = 0
        self._broken = False

    def keep(self, run: Run) -> tuple[Note, ...]:
        """Record the evaluations of the run that are not in its registry yet; where that fails, a note, once a run."""
        if self._broken:
            return ()
        seen = len(run.sections)
        try:
            if registry := registry_of(run.settings, self._chosen):
                registry.take(run, self._since)
        except BadInput as error:
            self._broken = True  # to wait for it again at each decision would help nobody
            note = Note(text=f"{error.fact} How the skills of this run do is not kept.")
            return () if any(section.payload == note for section in run.of("note")) else (note,)
        self._since = seen
        return ()


def hints_of(settings: Mapping[str, Json], registry: SkillRegistry | None) -> str:
    """What the planner of a run that is to begin is told of earlier work; nothing where no live model is asked."""
    return registry.get_hints(frozen_in(settings)) if registry and is_live(settings) else ""


def is_live(settings: Mapping[str, Json]) -> bool:
    """Whether every model of a run is asked in earnest: none is simulated, and none replayed."""
    models = models_in(settings)
    return bool(models) and not settings.get("recording") and not any(is_practice(name) for name in models)


def data_directory(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The directory in which this system keeps a person's data. ``BadInput`` on a machine without a home directory."""
    given = environ.get("XDG_DATA_HOME", "")
    if given and Path(given).is_absolute():  # the specification has others ignored
        return Path(given)
    if platform == "win32" and (local := environ.get("LOCALAPPDATA")):
        return Path(local)
    homes = {"darwin": ("Library", "Application Support"), "win32": ("AppData", "Local")}
    return _expanded(Path("~", *homes.get(platform, (".local", "share"))))


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise BadInput(
            f"There is no home directory for {path}.", "Name the registry: registry=PATH, or 'off' for none."
        ) from None
