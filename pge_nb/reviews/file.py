"""`file`: a file is there, and holds or matches what the check says."""

from __future__ import annotations

import json
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..prose import counted
from ..records import Check
from ..sandbox import run
from ..workspace import Tree, misplaced
from . import Outcome, args_of, misfit

CHILD = Path(__file__).with_name("file_child.py")
MAX_PATTERN = 500
MAX_SEARCHED = 200_000
SEARCH_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileArgs:
    """The path, and text that the file must contain or a regular expression that it must match (multi-line)."""

    path: str
    contains: str | None = None
    matches: str | None = None

    @property
    def plain(self) -> str:
        """The path as the tree has it."""
        return self.path.strip().removeprefix("./")


class File:
    """Opens one file of the tree; a search for a pattern takes at most ``seconds``."""

    name: ClassVar[str] = "file"
    help: ClassVar[str] = 'a file is there: {"path": "notes.md", "contains": "some text"}'
    Args: ClassVar[type[Any]] = FileArgs

    def __init__(self, seconds: float = SEARCH_SECONDS, *, allow_unsafe: bool = False) -> None:
        self.seconds = min(seconds, SEARCH_SECONDS)
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse paths that leave the tree, and patterns that are none."""
        if fault := misfit(FileArgs, check):
            return fault
        args = args_of(FileArgs, check)
        if why := misplaced(args.plain):
            return f"the path {args.path!r:.80}: {why}"
        return _bad_pattern(args.matches)

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the file is there and holds and matches what is asked; undecided when the search takes too long."""
        args = args_of(FileArgs, check)
        says = f"opened {args.plain}"
        text = tree.text(args.plain)
        if text is None:
            return Outcome(met=False, says=says, saw=f"{args.plain} is not there")
        lines = [f"{args.plain} is there, {counted(len(text), 'character')}"]
        held = args.contains is None or args.contains in text
        if args.contains is not None:
            lines.append(f"{'contains' if held else 'does not contain'} {args.contains!r}")
        matched: bool | None = True
        if args.matches is not None:
            matched, told = self._search(args.matches, text, tree)
            lines.append(told)
        met = False if not held else matched
        return Outcome(met=met, says=says, saw="\n".join(lines))

    def _search(self, pattern: str, text: str, tree: Tree) -> tuple[bool | None, str]:
        """Whether the text matches, and what is told of it. In a child: Python's matcher cannot be stopped."""
        asked = json.dumps({"pattern": pattern, "text": text[:MAX_SEARCHED]}).encode()
        argv = [sys.executable, "-I", str(CHILD)]
        ran = run(argv, tree.root, seconds=self.seconds, stdin=asked, allow_unsafe=self.allow_unsafe)
        if ran.exit != 0:
            return None, f"the search for {pattern!r} was given up after {self.seconds:g} s"
        found = json.loads(ran.out)
        return found is not None, f"no match of {pattern!r}" if found is None else f"matches {pattern!r}: {found!r}"


def _bad_pattern(pattern: str | None) -> str | None:
    if pattern is None:
        return None
    if len(pattern) > MAX_PATTERN:
        return f"the pattern is longer than {MAX_PATTERN} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern does not compile: {error}"
    return None
