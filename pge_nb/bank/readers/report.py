"""Reader of the task `report`: a notebook's cells, and what its functions give once all of them have run."""

import functools
import json
from pathlib import Path
from typing import Any


@functools.cache
def cells() -> list[dict[str, Any]]:
    """The notebook's cells, the source of each in one text."""
    whole = json.loads(Path("report.ipynb").read_text(encoding="utf-8"))
    return [cell | {"source": "".join(cell["source"])} for cell in whole["cells"]]


@functools.cache
def names() -> dict[str, Any]:
    """What is defined once all code cells have run, in order; raises what a cell raises."""
    defined: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells():
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], "cell", "exec"), defined)  # noqa: S102 - that is what a notebook is for
    return defined


def gives(function: str, *args: Any, **kwargs: Any) -> Any:
    """What one of the notebook's functions gives."""
    return names()[function](*args, **kwargs)


def part(question: str, what: str) -> Any:
    """A fact of the notebook: how often a "heading" is there, what a "value" is, or how many "cells" of a type it has."""
    if question == "heading":
        return sum(cell["cell_type"] == "markdown" and what in cell["source"].split("\n") for cell in cells())
    if question == "cells":
        return sum(cell["cell_type"] == what for cell in cells())
    month, _, product = what.partition(" ")
    return sum(amount for when, which, amount in names()["SALES"] if (when, which) == (month, product))
