"""The settings of a notebook: what each is, and from which source it has its value.

The first source that says a setting counts: a flag, ``%config PGE`` (or ``%pge model``), ``[tool.pge_nb]`` in the pyproject.toml
beside the notebook, the IPython profile, the environment, the default. The first three belong to the notebook and travel with
it. The others belong to the machine: what they say is no part of the task, so that a colleague who runs the notebook without
them meets the same run.
"""

from __future__ import annotations

import functools
import json
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .errors import BadInput
from .models.choose import CREDENTIALS, DEFAULT_CLAUDE, default_model
from .nearness import nearest
from .payloads import Json, Misfit, compact, decode, encode
from .records import Role
from .settable import Settable

if TYPE_CHECKING:
    from .config import HarnessConfig

Source = Literal["flag", "%config", "pyproject.toml", "profile", "environment", "default"]
OF_THE_NOTEBOOK: tuple[Source, ...] = ("flag", "%config", "pyproject.toml")
PROJECT: Source = "pyproject.toml"
PREFIX = "PGE_NB_"
AS_FLAGS: Mapping[str, str] = {
    "budget": "max_dollars",
    "steps": "max_steps",
    "max_retries": "max_retries_per_step",
    "parallel": "max_parallel",
}
"""The settings that a flag calls by another word, by that word: it is understood in a file and in the environment too."""
MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting, from a field of `Settable`."""

    name: str
    kind: Any
    default: object
    says: str

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return PREFIX + self.name.upper()

    @property
    def takes(self) -> str:
        """What may be given, in words."""
        return " or ".join(_takes(arm) for arm in arms(self.kind))


@functools.cache
def known() -> Mapping[str, Setting]:
    """Every setting by its name, in the order of the fields."""
    hints = typing.get_type_hints(Settable, include_extras=True)
    found = {}
    for item in fields(Settable):
        kind, says = typing.get_args(hints[item.name])
        default = item.default if item.default_factory is MISSING else item.default_factory()
        found[item.name] = Setting(name=item.name, kind=kind, default=default, says=says)
    return found


def arms(kind: Any) -> tuple[Any, ...]:
    """The types that a setting may have, without None."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(arm for arm in typing.get_args(kind) if arm is not types.NoneType)
    return (kind,)


def _takes(kind: Any) -> str:
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    if kind in words:
        return words[kind]
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return ", ".join(inner)
    if typing.get_origin(kind) is tuple:
        return f"a list of {_takes(inner[0])}"
    if typing.get_origin(inner[0]) is Literal:
        return f"a table from {_takes(inner[0])} to {_takes(inner[1])}"
    return f"a table from names to {_takes(inner[1]).removeprefix('a ')}s"


# From the sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The value of a setting and where it is from. ``place`` says it so that a person finds it."""

    value: object
    source: Source = "default"
    place: str = ""

    @property
    def chosen(self) -> bool:
        """Whether the notebook says it: then it is part of the task."""
        return self.source in OF_THE_NOTEBOOK


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting's value, by name. ``faults`` are what stands in the way of using them, the first to be told first."""

    given: Mapping[str, Given]
    faults: Sequence[BadInput] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """The faults, a line each, for a view that does not need the settings."""
        return tuple(f"{fault.fact} {fault.next_move}" for fault in self.faults)

    def value(self, name: str) -> object:
        """The value of a setting; raises the first fault, whichever setting it is of."""
        for fault in self.faults:
            raise fault
        return self.given[name].value

    def config(self, state: Path) -> HarnessConfig:
        """The configuration of a run whose state file is ``state``; raises the first fault."""
        from .config import HarnessConfig

        values = {name: self.value(name) for name in self.given}
        if self.given["model"].source in ("environment", "default"):
            values["model"] = None  # left to the environment, which may have another model when the run goes on
        unchosen = [name for name, one in self.given.items() if not one.chosen]
        return HarnessConfig(shared_state_path=state, unchosen=unchosen, **values)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where settings may be said. ``directory`` is the notebook's own; the pyproject.toml of no other is read."""

    directory: Path
    flags: Mapping[str, object] = field(default_factory=dict)
    configured: Mapping[str, object] = field(default_factory=dict)
    profile: Mapping[str, object] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> Settings:
        """Every setting with its value and source; nothing is raised here."""
        faults: list[BadInput] = []
        said = self._said(faults)
        given = {name: _first(setting, said, faults) for name, setting in known().items()}
        given["model"] = _model(given["model"], self.environ)
        _one_model(given)
        return Settings(given=given, faults=tuple(faults))

    def _said(self, faults: list[BadInput]) -> list[dict[str, Given]]:
        """What each source says, the strongest first."""
        return [
            {name: Given(value=value, source="flag") for name, value in self.flags.items()},
            {
                name: Given(value=value, source="%config", place=f"%config PGE.{name}")
                for name, value in self.configured.items()
            },
            _in_project(self.directory / PROJECT, faults),
            {
                name: Given(value=value, source="profile", place=f"the IPython profile, c.PGE.{name}")
                for name, value in self.profile.items()
            },
            _in_environment(self.environ, faults),
        ]


def _first(setting: Setting, said: Sequence[Mapping[str, Given]], faults: list[BadInput]) -> Given:
    """What the strongest source says, as the setting's type; a fault where it cannot be that."""
    given = next((one[setting.name] for one in said if setting.name in one), Given(value=setting.default))
    if given.source == "default":
        return given
    from .config import HarnessConfig

    try:
        value = decode(setting.kind, _as_json(given.value), setting.name)
        HarnessConfig(**{setting.name: value})  # says what is wrong with it
    except (Misfit, TypeError):
        faults.append(
            BadInput(f"{given.place}: {given.value!r:.60} is not {setting.takes}.", f"Give {setting.takes} there.")
        )
    except BadInput as error:
        faults.append(BadInput(f"{given.place}: {error.fact}".removeprefix(": "), error.next_move))
    else:
        return Given(value=value, source=given.source, place=given.place)
    return given


def _as_json(value: object) -> Json:
    try:
        return encode(value)
    except BadInput as error:  # a number that is none
        raise Misfit(error.fact) from None


def _model(given: Given, environ: Mapping[str, str]) -> Given:
    """Where nobody chose a model, the one that the environment leads to."""
    if given.source not in ("environment", "default"):
        return given
    name = default_model(environ)
    if given.source == "default" and name == DEFAULT_CLAUDE:
        variable = next(variable for variable in CREDENTIALS if environ.get(variable))
        return Given(value=name, source="environment", place=f"the environment, {variable}")
    return Given(value=name, source=given.source, place=given.place)


def _one_model(given: dict[str, Given]) -> None:
    """A model that a stronger source names is every role's: what a weaker one says of single roles gives way."""
    rank = typing.get_args(Source).index
    if given["model"].chosen and rank(given["model"].source) < rank(given["models"].source):
        given["models"] = Given(value=known()["models"].default)


# pyproject.toml


def _in_project(path: Path, faults: list[BadInput]) -> dict[str, Given]:
    """What ``[tool.pge_nb]`` says. A file that cannot be read is a fault: nobody can tell what it would have said."""
    where = f"{PROJECT} beside the notebook"
    try:
        table = _table(path)
    except (OSError, ValueError, RecursionError) as error:
        why = f"{error.strerror}" if isinstance(error, OSError) else f"{error}".partition("\n")[0]
        faults.append(BadInput(f"{where} cannot be read: {why}.", "Mend it, or move it away."))
        return {}
    found: dict[str, Given] = {}
    for word, value in table.items():
        place = f"{where}, [tool.pge_nb] {word}"
        if name := _named(word, place, found, faults):
            found[name] = Given(value=value, source=PROJECT, place=place)
    return found


def _table(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return {}
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {MAX_FILE_BYTES:,} bytes")
    tool = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("tool", {})
    table = tool.get("pge_nb", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ValueError("tool.pge_nb is no table")  # noqa: TRY004 - of the file's content, as all that is caught here
    return table


def _named(word: str, place: str, found: Mapping[str, Given], faults: list[BadInput]) -> str:
    """The setting that a word means; empty where there is none, or it was said already."""
    name = AS_FLAGS.get(word, word)
    if name not in known():
        near = nearest(word, [*known(), *AS_FLAGS])
        hint = f"Did you mean {near}? " if near else ""
        faults.append(BadInput(f"{place}: there is no such setting.", f"{hint}%pge config lists what there is."))
        return ""
    if name in found:
        faults.append(BadInput(f"{place}: it is {name}, which is said there too.", "Say it once."))
        return ""
    return name


# The environment


def _in_environment(environ: Mapping[str, str], faults: list[BadInput]) -> dict[str, Given]:
    """What variables say. One that is empty says nothing; one that is almost the name of a setting is a fault."""
    words = {PREFIX + word.upper(): word for word in (*known(), *AS_FLAGS)}
    found: dict[str, Given] = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and environ[name].strip()):
        place = f"the environment, {variable}"
        if variable not in words:
            # Others begin alike and are no settings; but a limit that was misspelt must not be lost.
            if near := nearest(variable, words, cutoff=0.9):
                faults.append(BadInput(f"{place}: there is no such setting.", f"Did you mean {near}?"))
        elif name := _named(words[variable], place, found, faults):
            value = _read(known()[name], environ[variable].strip())
            found[name] = Given(value=value, source="environment", place=place)
    return found


def _read(setting: Setting, text: str) -> object:
    """The value that a variable's text stands for: a text as it is, words with commas for a list of them, else JSON."""
    possible = arms(setting.kind)
    if str in possible and not text.startswith("{"):
        return text
    worded = [arm for arm in possible if typing.get_origin(arm) is tuple and int not in typing.get_args(arm)]
    if worded and not text.startswith("["):
        return [word.strip() for word in text.split(",")]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # refused by its type, with the words that it has


# As they are shown


def told(value: object) -> str | int | float | None:
    """A value as a person reads it; None where there is none. A table that says the same of all roles is that one thing."""
    if isinstance(value, Mapping):
        if set(value) == set(typing.get_args(Role)) and len(set(map(compact, value.values()))) == 1:
            return told(value["planner"])
        return ", ".join(f"{name}={told(value[name])}" for name in sorted(value)) or None
    if isinstance(value, tuple | list):
        return ", ".join(str(told(one)) for one in value) or None
    return value if isinstance(value, str | int | float) else None
