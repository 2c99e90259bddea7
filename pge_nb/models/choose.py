"""Which model answers to a name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import BadInput
from ..payloads import Json
from . import Listen, Model, Reply, Request, Stop

RECORDING = "recording:"
DEFAULT_CLAUDE = "claude-sonnet-5-5"
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")


def default_model(environ: Mapping[str, str]) -> str:
    """The model that is used where nobody chose one.

    ``PGE_NB_MODEL``, else a Claude model where the environment has a key, a token or a base URL, else the practice model.
    """
    if chosen := environ.get("PGE_NB_MODEL", "").strip():
        return chosen
    return DEFAULT_CLAUDE if any(environ.get(name) for name in CREDENTIALS) else "practice"


def is_practice(name: str) -> bool:
    """Whether a name, with its settings or without, is that of the practice model."""
    return name == "practice" or name.startswith("practice:")


def models_in(settings: Mapping[str, Json]) -> list[str]:
    """Every model that a run with these settings may ask: those of the roles, of its skills, and of a judge that was chosen."""
    models, skills = settings.get("models"), settings.get("skills")
    names = list(models.values()) if isinstance(models, Mapping) else []
    names += (
        [one.get("model") for one in skills.values() if isinstance(one, Mapping)] if isinstance(skills, Mapping) else []
    )
    rater = settings.get("rater")
    names += [rater.get("model")] if isinstance(rater, Mapping) else []
    return [str(name) for name in names if name]


def recorded_at(name: str) -> Path:
    """Where the recording of a model's name ``recording:PATH`` is."""
    path = name.removeprefix(RECORDING)
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadInput(f"There is no home directory for {path!r:.80}.", "Write the path without ~.") from None


def open_model(name: str, *, key: str | None = None) -> Model:
    """The model of this name: ``practice[:settings]``, ``recording:PATH``, else one that the Messages API knows.

    Nothing is called and nothing slow imported yet. ``key`` is an API key handed over at run time.
    """
    name = name.strip()
    if not name:
        raise BadInput("The name of the model is empty.", "%pge model practice is one that needs no key.")
    if is_practice(name):
        from .practice import Practice

        return Practice(name)
    if name.startswith(RECORDING):
        from .replay import Replay

        return Replay(recorded_at(name))
    from .claude import Claude

    return Claude(key=key)


def check_key(names: Iterable[str]) -> None:
    """``ModelFailed`` where a live model among these could not be asked for want of a key; nobody is called."""
    if any(not is_practice(name) and not name.startswith(RECORDING) for name in names):
        from .claude import Claude

        Claude().ready()


class ByName:
    """Each request goes to the model that it names; each is opened when it is first asked. For roles with unlike models."""

    def __init__(self, *, key: str | None = None) -> None:
        self._key = key
        self._open: dict[str, Model] = {}
        self._lock = threading.Lock()

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        """The reply of the model that ``request.model`` names."""
        return self.model_of(request.model).reply(request, listen=listen, stop=stop)

    def model_of(self, name: str) -> Model:
        """The model of this name. One client serves all names of the Messages API."""
        kept = name if is_practice(name) or name.startswith(RECORDING) else ""
        with self._lock:
            if kept not in self._open:
                self._open[kept] = open_model(name, key=self._key)
            return self._open[kept]
