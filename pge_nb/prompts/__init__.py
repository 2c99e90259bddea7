"""What the agents are told: Markdown files, filled by `string.Template` (JSON braces are safe, a missing name raises)."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources
from string import Template

NAMES = (
    "planner",
    "second_look",
    "replan",
    "propose",
    "respond",
    "withhold",
    "generator",
    "bench",
    "evaluator",
    "looking",
)


@functools.cache
def source(name: str) -> str:
    """A prompt file's text as it is shipped."""
    return resources.files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def fill(name: str, **values: str) -> str:
    """A prompt with its names filled in; ``KeyError`` for one that has no value."""
    return Template(source(name)).substitute(values).strip()


def hashes() -> dict[str, str]:
    """Prompt name -> first 16 hex of its sha256, to tell which prompts a recording was made with."""
    return {name: hashlib.sha256(source(name).encode()).hexdigest()[:16] for name in NAMES}
