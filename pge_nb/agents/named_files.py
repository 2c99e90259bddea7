"""The files that a person's prompt names: a plan that promises others may well have missed what was asked for."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from ..run import Run
from ..workspace import composed, refused
from .replies import LANGUAGES

SUFFIXES = frozenset({*LANGUAGES, ".tsv"})
"""What a name must end in to be that of a file; ``statistics.mean`` is none."""
NAME = re.compile(r"(?<![\w./:@-])(?:[\w-]+/)*[\w-]+(?:\.[\w-]+)*\.[a-z]{1,5}(?![\w/])")
MOST_NAMED = 20


def named_in(prompt: str) -> tuple[str, ...]:
    """The files that a prompt names, each once, in its order."""
    found = (composed(match[0]) for match in NAME.finditer(prompt))
    paths = (path for path in found if PurePosixPath(path).suffix in SUFFIXES and refused(path) is None)
    return tuple(dict.fromkeys(paths))[:MOST_NAMED]


def unpromised(run: Run, deliverables: Collection[str]) -> tuple[str, ...]:
    """The files that the prompt names, that are not there yet, and that a plan does not promise."""
    there = {file.path for file in (*run.task.files, *run.task.input_files)}
    names = {PurePosixPath(path).name for path in (*deliverables, *there)}
    return tuple(
        path for path in named_in(run.task.prompt) if path not in there and PurePosixPath(path).name not in names
    )


def told_of(paths: Collection[str]) -> str:
    """What is said of them."""
    return f"the prompt names {', '.join(paths)}, which the plan does not promise" if paths else ""
