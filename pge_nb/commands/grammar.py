"""What a subcommand takes, read from its signature: the parser, the help and the completion all rest on this."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Kind = type[str] | type[int] | type[float] | type[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a subcommand. ``flag`` is empty for one that is told by its position; ``many`` takes all that is left.

    ``group`` is the parameter that holds it where several flags come as one value. ``bare`` is the value of a flag that may be
    given without one; another is given after ``=``.
    """

    name: str
    flag: str
    kind: Kind
    choices: tuple[str, ...]
    says: str
    required: bool
    many: bool = False
    group: str = ""
    bare: str = ""

    @property
    def takes_word(self) -> bool:
        """Whether the word after the flag is its value."""
        return self.kind is not bool and not self.bare

    @property
    def usage(self) -> str:
        """How it is written in a line of usage."""
        few = 0 < len(self.choices) <= 4
        value = "|".join(self.choices) if few else self.name.upper().rstrip("_")
        if self.bare:
            return f"[{self.flag}[={'|'.join(self.choices)}]]"
        if self.flag:
            return f"[{self.flag}]" if self.kind is bool else f"[{self.flag} {value if few else _VALUES[self.kind]}]"
        return value if self.required else f"[{value}{' ...' if self.many else ''}]"


_VALUES: dict[Kind, str] = {str: "TEXT", int: "N", float: "X", bool: ""}


@functools.cache
def arguments(command: Callable[..., object]) -> tuple[Argument, ...]:
    """The arguments of a command, in their order, without the place and the body of the cell.

    A parameter whose type is a dataclass stands for the flags that are its fields. A second text in ``Annotated`` is what a flag
    stands for that is given without a value.
    """
    parameters = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    return tuple(argument for parameter in parameters if parameter.name != "body" for argument in _of(parameter))


def grouped(command: Callable[..., object], given: Mapping[str, Any]) -> dict[str, Any]:
    """The flags that were given, by argument name, as the command takes them: those of a group as one value."""
    groups = {argument.name: argument.group for argument in arguments(command) if argument.group}
    taken = {name: value for name, value in given.items() if name not in groups}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if flags := {name: value for name, value in given.items() if groups.get(name) == parameter.name}:
            taken[parameter.name] = parameter.annotation(**flags)
    return taken


def takes_body(command: Callable[..., object]) -> bool:
    """Whether the command reads the body of a cell."""
    return "body" in inspect.signature(command).parameters


def summary(command: Callable[..., object]) -> str:
    """What the command does, from its docstring."""
    return inspect.getdoc(command) or ""


def _of(parameter: inspect.Parameter) -> Iterator[Argument]:
    if not (isinstance(parameter.annotation, type) and dataclasses.is_dataclass(parameter.annotation)):
        yield _argument(parameter)
        return
    for flag in inspect.signature(parameter.annotation, eval_str=True).parameters.values():
        yield dataclasses.replace(_argument(flag), group=parameter.name)


def _argument(parameter: inspect.Parameter) -> Argument:
    annotation, says, bare = parameter.annotation, "", ""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, says, bare = (*typing.get_args(annotation), "")[:3]
    kind, choices = _kind(annotation)
    named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return Argument(
        name=parameter.name,
        flag="--" + parameter.name.rstrip("_").replace("_", "-") if named else "",
        kind=kind,
        choices=choices,
        says=says,
        required=parameter.default is inspect.Parameter.empty and not many,
        many=many,
        bare=bare,
    )


def _kind(annotation: object) -> tuple[Kind, tuple[str, ...]]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        annotation = next(arm for arm in typing.get_args(annotation) if arm is not types.NoneType)
    if typing.get_origin(annotation) is typing.Literal:
        return str, typing.get_args(annotation)
    if annotation is not str and annotation is not int and annotation is not float and annotation is not bool:
        raise TypeError(f"a command cannot take {annotation}")
    return annotation, ()
