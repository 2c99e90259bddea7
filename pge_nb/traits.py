"""The settings as traits of a Configurable named PGE, so that IPython's own ``%config PGE.x = ...`` says them."""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from traitlets import Bool, Dict, Float, Int, TraitType, Tuple, Unicode, Union
from traitlets.config import Config, Configurable

from .settings import Setting, arms, known

NAME = "PGE"


class NotebookSettings(Configurable):
    """What was said of the settings in this kernel. A trait that is None leaves its setting to the sources after it."""

    def __init__(self, **given: Any) -> None:
        self.in_kernel: set[str] = set()
        super().__init__(**given)

    def update_config(self, config: Config) -> None:
        """What ``%config`` calls; from then on the setting is the notebook's, no longer the profile's."""
        super().update_config(config)
        self.in_kernel |= set(config.get(NAME, ())) & set(known())

    @property
    def profile(self) -> dict[str, object]:
        """What the IPython profile says, and no cell."""
        return {
            name: value for name in known() if name not in self.in_kernel and (value := getattr(self, name)) is not None
        }


@functools.cache
def configurable() -> type[NotebookSettings]:
    """The class ``PGE``: a trait for each setting."""
    return type(NAME, (NotebookSettings,), {setting.name: _trait(setting) for setting in known().values()})


def _trait(setting: Setting) -> TraitType[Any, Any]:
    kinds = [_of(kind) for kind in arms(setting.kind)]
    default = "" if setting.default is None else f" (default: {setting.default!r})"
    trait = kinds[0] if len(kinds) == 1 else Union(kinds, default_value=None, allow_none=True)
    trait.help = f"{setting.says}{default}"
    return trait.tag(config=True)


def _of(kind: Any) -> TraitType[Any, Any]:
    plain: Mapping[Any, type[TraitType[Any, Any]]] = {str: Unicode, int: Int, float: Float, bool: Bool}
    wide: Mapping[Any, type[TraitType[Any, Any]]] = {tuple: Tuple, Mapping: Dict, typing.Literal: Unicode}
    return (plain.get(kind) or wide[typing.get_origin(kind)])(default_value=None, allow_none=True)


class InKernel(MutableMapping[str, object]):
    """The settings that were said in this kernel, as a mapping over the traits: what is put in stands there as well."""

    def __init__(self, said: NotebookSettings) -> None:
        self._said = said

    def __getitem__(self, name: str) -> object:
        value = getattr(self._said, name) if name in self._said.in_kernel else None
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: object) -> None:
        setattr(self._said, name, value)
        self._said.in_kernel.add(name)

    def __delitem__(self, name: str) -> None:
        self[name]
        setattr(self._said, name, None)

    def __iter__(self) -> Iterator[str]:
        return (name for name in known() if name in self._said.in_kernel and getattr(self._said, name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
