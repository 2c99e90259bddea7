"""Frozen values to JSON and back, strictly: a payload that does not fit its type is refused by name, never bent into it."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
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
    read: Reader = _reader(typing.cast("Any", kind))
    return typing.cast("T", read(value, where or kind.__name__))


def compact(value: object) -> str:
    """One line of JSON, keys in their given order; the same value always gives the same text."""
    return json.dumps(encode(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


DEEPEST = 200
"""Levels of nesting that are kept of what came from outside: some more, and to read it again is too much for Python."""
TOO_DEEP = f"(nested deeper than {DEEPEST} levels)"


def is_deep(value: object) -> bool:
    """Whether a JSON value is nested deeper than is kept."""
    level = [value]
    for _ in range(DEEPEST + 1):
        held = [
            item.values() if isinstance(item, Mapping) else item
            for item in level
            if isinstance(item, Mapping | list | tuple)
        ]
        if not held:
            return False
        level = [inner for items in held for inner in items]
    return True


def mended(text: str) -> str:
    """The text with the two halves of a character joined, and U+FFFD for a half alone: it has no UTF-8, so none can be sent."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def all_mended(value: Any) -> Any:
    """The JSON value with every string in it `mended`, names of fields too."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, Mapping):
        return {all_mended(name): all_mended(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [all_mended(item) for item in value]
    return value


Reader = Callable[[object, str], object]
"""Takes a parsed JSON value and the name of its place; gives the value of one declared type, or a `Misfit`."""


@functools.cache  # looking at the types takes longer than reading a value by them
def _reader(kind: Any) -> Reader:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is object or kind is Any or _is_json(args):
        return lambda value, where: value  # noqa: ARG005
    if origin in (Union, types.UnionType):
        return _union_reader(args)
    if origin is Literal:
        return _word_reader(args)
    if origin is tuple:
        return _list_reader(_reader(args[0]))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_reader(_reader(args[1]))
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _fields_reader(kind)
    return _plain_reader(kind)


def _is_json(arms: tuple[Any, ...]) -> bool:
    """`Json` itself, also once ``get_type_hints`` has made another object of it: the one union with a sequence in it."""
    return any(typing.get_origin(arm) is Sequence for arm in arms)


def _union_reader(arms: tuple[Any, ...]) -> Reader:
    optional = type(None) in arms
    *others, last = [_reader(arm) for arm in arms if arm is not type(None)]

    def read(value: object, where: str) -> object:
        if value is None and optional:
            return None
        for other in others:
            try:
                return other(value, where)
            except Misfit:
                continue
        return last(value, where)

    return read


def _word_reader(words: tuple[Any, ...]) -> Reader:
    def read(value: object, where: str) -> object:
        if value not in words or isinstance(value, bool):
            raise Misfit(f"{where} is {value!r}, not one of {', '.join(map(repr, words))}")
        return value

    return read


def _list_reader(item_reader: Reader) -> Reader:
    def read(value: object, where: str) -> object:
        if not isinstance(value, list):
            raise Misfit(f"{where} is not a list")
        return tuple([item_reader(item, f"{where}[{index}]") for index, item in enumerate(value)])

    return read


def _mapping_reader(item_reader: Reader) -> Reader:
    def read(value: object, where: str) -> object:
        if not isinstance(value, dict):
            raise Misfit(f"{where} is not an object")
        return {key: item_reader(item, f"{where}.{key}") for key, item in value.items()}

    return read


def _fields_reader(kind: type[Any]) -> Reader:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields}
    missing = dataclasses.MISSING
    needed = [field.name for field in fields if field.default is missing and field.default_factory is missing]

    def read(value: object, where: str) -> object:
        if not isinstance(value, dict):
            raise Misfit(f"{where} is not an object")
        if unknown := sorted(value.keys() - readers.keys()):
            raise Misfit(f"{where} has an unknown field {unknown[0]!r}")
        for name in needed:
            if name not in value:
                raise Misfit(f"{where} lacks {name!r}")
        return kind(**{name: readers[name](item, f"{where}.{name}") for name, item in value.items()})

    return read


def _plain_reader(kind: Any) -> Reader:
    def read(value: object, where: str) -> object:
        if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            if abs(value) <= sys.float_info.max:  # not so for nan, nor for whole numbers beyond it
                return float(value)
        elif isinstance(value, kind) and isinstance(value, bool) is (kind is bool):
            return value
        raise Misfit(f"{where} is {value!r:.60}, not {getattr(kind, '__name__', kind)}")

    return read
