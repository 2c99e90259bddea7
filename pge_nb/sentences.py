"""The call that a check's sentence speaks of, so that what is run is what was said."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import BadInput
from .payloads import Json, encode

MAX_CALL = 500
LATIN = r"A-Za-z0-9_\u00c0-\u024f"
"""What a Latin name may hold. A script without blanks between words writes its own letters right before it."""
CALL = re.compile(rf"(?<![{LATIN}])((?![0-9])[{LATIN}]+)\(")
RETURNS = re.compile(r"`?\s*(?:should |must )?(?:==|returns?|gives?|equals?|is)\s+(?:equal to )?(.+)", re.DOTALL)
RAISES = re.compile(r"`?\s*(?:should |must )?raises?\s+(?:an? )?`?([A-Z]\w*)")


@dataclass(frozen=True, slots=True)
class SaidCall:
    """A call with literal arguments, as it stands in a sentence."""

    text: str
    args: tuple[Json, ...]
    kwargs: Mapping[str, Json]


def said_call(sentence: str, function: str) -> SaidCall | None:
    """The only call of ``function`` in a sentence.

    None where there is none, where there are several, and where the arguments are no literals that JSON has.
    """
    name = function.rsplit(".", 1)[-1]
    before = LATIN if re.fullmatch(f"[{LATIN}]+", name) else r"\w"
    starts = [match.start(1) for match in re.finditer(rf"(?<![{before}])({re.escape(name)})\(", sentence)]
    if len(starts) != 1:
        return None
    rest = sentence[starts[0] : starts[0] + MAX_CALL]
    for end in (index + 1 for index, char in enumerate(rest) if char == ")"):
        try:
            call = ast.parse(rest[:end], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return _literal(rest[:end], call)
    return None


def said_case(sentence: str, module: str) -> dict[str, Json] | None:
    """The args of an oracle check that a sentence such as "total([1, 2]) returns 3" says by itself.

    None where the sentence holds no single call with literal arguments and a literal value, or the name of an error, after it.
    """
    names = {match.group(1) for match in CALL.finditer(sentence)}
    said = said_call(sentence, names.pop()) if len(names) == 1 else None
    if said is None:
        return None
    rest = sentence[sentence.index(said.text) + len(said.text) :]
    call = f"{module}.{said.text.partition('(')[0]}"
    if error := RAISES.match(rest):
        outcome: dict[str, Json] = {"raises": error.group(1)}
    elif value := RETURNS.match(rest):
        try:
            outcome = {"returns": encode(ast.literal_eval(value.group(1).strip().rstrip(".").strip("` ")))}
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, BadInput):
            return None
    else:
        return None
    if said.kwargs:
        return {"call": call, "cases": [{"args": list(said.args), "kwargs": dict(said.kwargs), **outcome}]}
    return {"call": call, "args": list(said.args), **outcome}


def module_of(deliverables: Sequence[str]) -> str | None:
    """The module that the only Python file among the deliverables makes; None where there is none, or several."""
    modules = [path[:-3].replace("/", ".") for path in deliverables if path.endswith(".py")]
    return modules[0] if len(modules) == 1 and all(part.isidentifier() for part in modules[0].split(".")) else None


def _literal(text: str, call: ast.expr) -> SaidCall | None:
    if not isinstance(call, ast.Call):
        return None
    try:
        args = tuple(encode(ast.literal_eval(arg)) for arg in call.args)
        kwargs = {word.arg: encode(ast.literal_eval(word.value)) for word in call.keywords if word.arg is not None}
    except (ValueError, TypeError, RecursionError, MemoryError, BadInput):
        return None  # no literals, or some that JSON lacks, so that no args can say them
    return SaidCall(text, args, kwargs) if len(kwargs) == len(call.keywords) else None
