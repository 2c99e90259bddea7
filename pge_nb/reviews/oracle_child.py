"""The child of the oracle review: reads inputs from stdin, calls the artifact, writes one answer a line.

It runs alone (``python -I``), imports nothing of the package, and is given no wanted value. What it needs is imported before
the artifact's directory is on the path, so that a planted ``json.py`` is not ours.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

SAID = 300


def plain(value: object) -> object:
    """The value as JSON has it; a tuple is a list, anything else that JSON lacks is its type's name, which equals nothing."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except BaseException:  # also what a conversion that the artifact wrote raises: it is no answer of the function
        return {"not JSON": f"{type(value).__name__}: {text_of(repr, value)}"}


def text_of(form: Callable[[object], str], value: object) -> str:
    """``form(value)``, cut; the artifact may have written that too, and it may fail."""
    try:
        return str(form(value))[:SAID]
    except BaseException as error:  # whatever it raises
        return f"(it has no text: {type(error).__name__})"


def found(call: str, root: str) -> Callable[..., object]:
    """The function that ``call`` names, from a file of the tree and from nowhere else."""
    module, _, name = call.rpartition(".")
    top = module.partition(".")[0]
    if Path(root, top).exists() or Path(root, f"{top}.py").exists():
        for loaded in [key for key in sys.modules if key == top or key.startswith(f"{top}.")]:
            del sys.modules[loaded]
    sys.path.insert(0, root)
    imported = importlib.import_module(module)
    place = getattr(imported, "__file__", None)
    if place is None or not Path(place).resolve().is_relative_to(Path(root).resolve()):
        raise ImportError(f"{module} is no module of the deliverables")
    function = getattr(imported, name)
    if not callable(function):
        raise TypeError(f"{call} is no function")
    return function  # type: ignore[no-any-return]


def reading(call: str, root: str, source: str) -> Callable[..., object]:
    """The function that ``call`` names, of a reader that came with the inputs: it looks at the files of the tree."""
    name, _, function = call.rpartition(".")
    reader = ModuleType(name)
    sys.path.insert(0, root)
    exec(compile(source, name, "exec"), reader.__dict__)  # noqa: S102 - the bank's own source, sent by the review
    return getattr(reader, function)  # type: ignore[no-any-return]


def outcome(function: Callable[..., object], given: dict[str, Any]) -> dict[str, object]:
    """What one call came to."""
    try:
        value = function(*given["args"], **given["kwargs"])
    except BaseException as error:  # whatever generated code raises is its answer
        return raised("raises", error)
    return {"returns": plain(value)}


def raised(what: str, error: BaseException) -> dict[str, object]:
    """An error by the names of its classes, the nearest first."""
    return {what: [cls.__name__ for cls in type(error).__mro__[:-2]], "says": text_of(str, error)}


def high(descriptor: int) -> int:
    """A copy of a descriptor under a number that is hard to guess, closed in what is started from here."""
    for _ in range(20):
        number = 100 + int.from_bytes(os.urandom(4)) % 150
        try:
            os.fstat(number)
        except OSError:
            try:
                return os.dup2(descriptor, number, inheritable=False)
            except OSError:
                continue  # It lies beyond the limit.
    return os.dup(descriptor)


def main() -> None:
    """Answer every input, in order, each as soon as it is known."""
    asked = json.load(sys.stdin)
    token = asked.pop("token")
    # What the artifact prints must not stand among the answers, and what it writes to every low descriptor not either.
    answers = os.fdopen(high(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    missing: dict[str, object] | None = None
    try:
        call, root, reader = asked["call"], asked["root"], asked["reader"]
        function = found(call, root) if reader is None else reading(call, root, reader)
    except BaseException as error:  # a function that is not there has not raised anything
        missing = raised("missing", error)
    for index, given in enumerate(asked["inputs"]):
        answers.write(json.dumps([token, index, missing or outcome(function, given)]) + "\n")
        answers.flush()
    os._exit(0)  # Threads that the artifact left must not use up the time.


main()
