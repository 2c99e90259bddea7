"""Frozen values to JSON and back, strictly: a payload that does not fit its type is refused by name, never bent into it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, Union

from .errors import BadInput

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
T = TypeVar("T")


class Misfit(ValueError):
    """A JSON value that does not fit the declared type; says where."""


def encode(value: object) -> Json:
    """The JSON form of a frozen value: dataclasses become objects, tuples arrays, mappings objects with sorted keys."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadInput(f"{value} cannot be stored.", "Use None for a number that is not known.")
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def decode(kind: type[T], value: object, where: str = "") -> T:
    """The value of type ``kind`` that ``value`` (parsed JSON) stands for.

    Fields with a default may be absent; unknown fields, wrong types and numbers given as text are a ``Misfit``.
    """
    return typing.cast("T", _decode(kind, value, where or kind.__name__))


def compact(value: object) -> str:
    """One line of JSON, keys in their given order; the same value always gives the same text."""
    return json.dumps(encode(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@functools.cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: (
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    }


def _decode(kind: Any, value: object, where: str) -> object:
    origin = typing.get_origin(kind)
    if kind is object or kind is Any or _is_json(kind):
        return value
    if origin in (Union, types.UnionType):
        return _decode_union(kind, value, where)
    if origin is Literal:
        if value not in typing.get_args(kind) or isinstance(value, bool):
            raise Misfit(f"{where} is {value!r}, not one of {', '.join(map(repr, typing.get_args(kind)))}")
        return value
    if origin is tuple:
        if not isinstance(value, list):
            raise Misfit(f"{where} is not a list")
        return tuple(_decode(typing.get_args(kind)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise Misfit(f"{where} is not an object")
        return {key: _decode(typing.get_args(kind)[1], item, f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_fields(kind, value, where)
    return _decode_plain(kind, value, where)


def _is_json(kind: Any) -> bool:
    """`Json` itself, also once ``get_type_hints`` has made another object of it: the one union here with a sequence in it."""
    return any(typing.get_origin(arm) is Sequence for arm in typing.get_args(kind))


def _decode_union(kind: Any, value: object, where: str) -> object:
    arms = typing.get_args(kind)
    if value is None and type(None) in arms:
        return None
    rest = [arm for arm in arms if arm is not type(None)]
    for arm in rest[:-1]:
        try:
            return _decode(arm, value, where)
        except Misfit:
            continue
    return _decode(rest[-1], value, where)


def _decode_fields(kind: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise Misfit(f"{where} is not an object")
    fields = _fields(kind)
    if unknown := sorted(set(value) - set(fields)):
        raise Misfit(f"{where} has an unknown field {unknown[0]!r}")
    if missing := [name for name, (_, required) in fields.items() if required and name not in value]:
        raise Misfit(f"{where} lacks {missing[0]!r}")
    return kind(**{name: _decode(fields[name][0], item, f"{where}.{name}") for name, item in value.items()})


def _decode_plain(kind: Any, value: object, where: str) -> object:
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number):
            return number
    elif (kind in (int, str) and isinstance(value, kind) and not isinstance(value, bool)) or (
        kind is bool and isinstance(value, bool)
    ):
        return value
    raise Misfit(f"{where} is {value!r:.60}, not {getattr(kind, '__name__', kind)}")
