"""`reference`: a file is compared with a reference: its numbers within a tolerance, its structure, or its words."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from ..payloads import Json, encode
from ..records import Check
from ..sandbox import run
from ..workspace import INPUTS, Tree, misplaced
from . import Outcome, args_of, misfit

CHILD = Path(__file__).with_name("reference_child.py")
SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceArgs:
    """The file, what of it is compared, and with what: a path below ``inputs/``, or the value itself.

    ``tolerance`` is relative and ``absolute`` is absolute, as in `math.isclose`; ``at_least`` is a likeness from 0 to 1.
    """

    path: str
    kind: Literal["number", "structure", "text"]
    reference: Json = None
    tolerance: float = 1e-6
    absolute: float = 1e-9
    at_least: float = 0.8

    @property
    def plain(self) -> str:
        """The path as the tree has it."""
        return self.path.strip().removeprefix("./")

    @property
    def source(self) -> str | None:
        """The path of the reference; None where it is a value."""
        named = self.reference.strip().removeprefix("./") if isinstance(self.reference, str) else ""
        return named if named.startswith(f"{INPUTS}/") and "\n" not in named else None


class Reference:
    """Compares one file with a reference, in a child that takes at most ``seconds``."""

    name: ClassVar[str] = "reference"
    help: ClassVar[str] = (
        'a file agrees with a reference: {"path": "out.csv", "kind": "number", "reference": "inputs/expected.csv", '
        '"tolerance": 0.001}, {"path": "out.json", "kind": "structure", "reference": {"name": "", "count": 0}}, '
        '{"path": "out.txt", "kind": "text", "reference": "the text", "at_least": 0.8}'
    )
    Args: ClassVar[type[Any]] = ReferenceArgs

    def __init__(self, seconds: float = SECONDS, *, allow_unsafe: bool = False) -> None:
        self.seconds = min(seconds, SECONDS)
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse paths outside the tree and limits that are none. No reference at all is left to the judge."""
        if fault := misfit(ReferenceArgs, check):
            return fault
        args = args_of(ReferenceArgs, check)
        for path in filter(None, (args.plain or " ", args.source)):
            if why := misplaced(path):
                return f"the path {path!r:.80}: {why}"
        if not (math.isfinite(args.tolerance) and args.tolerance >= 0 and args.absolute >= 0):
            return "tolerance and absolute are numbers of at least 0"
        if not 0 < args.at_least <= 1:
            return f"at_least is {args.at_least:g}, not a number above 0 and at most 1"
        if args.kind == "number" and isinstance(args.reference, str) and args.source is None:
            return f"the reference {args.reference!r:.60} is neither a number nor a file below {INPUTS}/"
        return None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the file agrees; undecided where there is no reference, or none that can be used."""
        args = args_of(ReferenceArgs, check)
        says = f"compared {args.plain} with {args.source or 'the reference in the check'}"
        if args.reference is None:
            return Outcome(met=None, says=f"opened {args.plain}", saw="not compared: the check gives no reference")
        if args.source is not None and tree.text(args.source) is None:
            return Outcome(met=None, says=says, saw=f"not compared: {args.source} is not there")
        if tree.text(args.plain) is None:
            return Outcome(met=False, says=says, saw=f"{args.plain} is not there")
        asked = {
            "path": args.plain,
            "kind": args.kind,
            "from": args.source,
            "reference": encode(args.reference),
            "tolerance": args.tolerance,
            "absolute": args.absolute,
            "at_least": args.at_least,
        }
        argv = [sys.executable, "-I", str(CHILD)]
        stdin = json.dumps(asked).encode()
        ran = run(argv, tree.root, seconds=self.seconds, stdin=stdin, allow_unsafe=self.allow_unsafe)
        if ran.exit != 0:
            why = f"it was given up after {self.seconds:g} s" if ran.timed_out else f"it broke off (exit {ran.exit})"
            return Outcome(met=None, says=says, saw=f"not compared: {why}")
        met, saw = json.loads(ran.out)
        return Outcome(met=met, says=says, saw=saw)
