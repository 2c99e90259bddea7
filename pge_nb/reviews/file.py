"""`file`: a file is there, and holds or matches what the check says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from ..records import Check
from ..workspace import Tree, refused
from . import Outcome, args_of, misfit

MAX_PATTERN = 500
MAX_SEARCHED = 200_000
# A pattern with a repeat inside a repeat can take exponential time, and Python's matcher cannot be stopped.
NESTED_REPEAT = re.compile(r"[*+}][^()]*\)\s*[*+{]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileArgs:
    """The path, and text that the file must contain or a regular expression that it must match (multi-line)."""

    path: str
    contains: str | None = None
    matches: str | None = None


class File:
    """Opens one file of the tree."""

    name: ClassVar[str] = "file"
    help: ClassVar[str] = 'a file is there: {"path": "notes.md", "contains": "some text"}'
    Args: ClassVar[type[Any]] = FileArgs

    def vet(self, check: Check) -> str | None:
        """Refuse paths that leave the tree and patterns that are none, or that could run for ever."""
        if fault := misfit(FileArgs, check):
            return fault
        args = args_of(FileArgs, check)
        if why := refused(args.path):
            return f"the path {args.path!r}: {why}"
        return _bad_pattern(args.matches)

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the file is there and holds and matches what is asked."""
        args = args_of(FileArgs, check)
        text = tree.text(args.path)
        if text is None:
            return Outcome(met=False, says=f"opened {args.path}", saw=f"{args.path} is not there")
        lines = [f"{args.path} is there, {len(text)} characters"]
        met = True
        if args.contains is not None:
            held = args.contains in text
            met &= held
            lines.append(f"{'contains' if held else 'does not contain'} {args.contains!r}")
        if args.matches is not None:
            match = re.search(args.matches, text[:MAX_SEARCHED], re.MULTILINE)
            met &= match is not None
            lines.append(
                f"matches {args.matches!r}: {match.group(0)!r:.200}" if match else f"no match of {args.matches!r}"
            )
        return Outcome(met=met, says=f"opened {args.path}", saw="\n".join(lines))


def _bad_pattern(pattern: str | None) -> str | None:
    if pattern is None:
        return None
    if len(pattern) > MAX_PATTERN or NESTED_REPEAT.search(pattern):
        return "the pattern is too long, or repeats a repeat"
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern does not compile: {error}"
    return None
