"""The child of the oracle review: reads inputs from stdin, calls the artifact, writes one answer a line.

It runs alone (``python -I``), imports nothing of the package, and is given no wanted value. What it needs is imported before
the artifact's directory is on the path, so that a planted ``json.py`` is not ours.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable


def plain(value: object) -> object:
    """The value as JSON has it; a tuple is a list, anything else that JSON lacks is its type's name, which equals nothing."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return {"not JSON": f"{type(value).__name__}: {value!r:.200}"}


def raiser(error: BaseException) -> Callable[..., object]:
    """A function that raises ``error`` whatever it is called with."""

    def function(*_: object, **__: object) -> object:
        raise error

    return function


def main() -> None:
    """Answer every input, in order, each as soon as it is known."""
    asked = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # What the artifact prints must not stand among the answers.
    sys.path.insert(0, asked["root"])
    module, _, name = asked["call"].rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except BaseException as error:  # whatever an import of generated code raises is every call's answer
        function = raiser(error)
    for index, given in enumerate(asked["inputs"]):
        try:
            answer = {"returns": plain(function(*given["args"], **given["kwargs"]))}
        except BaseException as error:  # so is whatever it raises when called
            answer = {"raises": [cls.__name__ for cls in type(error).__mro__[:-2]], "says": str(error)[:300]}
        answers.write(json.dumps([index, answer]) + "\n")
        answers.flush()


main()
