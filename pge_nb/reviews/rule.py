"""`rule`: a function of a file's text decides; some come with the package, a person may add others."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from ..payloads import Json
from ..records import Check
from ..sandbox import run
from ..workspace import Tree, misplaced
from . import Outcome, args_of, misfit
from .rule_child import RULES

OwnRule = Callable[..., bool | tuple[bool, str]]
"""A rule of a person's own: given the file's text and the check's other args, whether it holds, and what it saw."""
CHILD = Path(__file__).with_name("rule_child.py")
SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleArgs:
    """The rule's name, the path of the file, and the rule's own args, which may also stand beside these."""

    rule: str
    path: str
    args: Mapping[str, Json] = field(default_factory=dict)

    @property
    def plain(self) -> str:
        """The path as the tree has it."""
        return self.path.strip().removeprefix("./")


class Rule:
    """Has a rule decide about one file. The rules of the package run in a child for at most ``seconds``, ``rules`` run here."""

    name: ClassVar[str] = "rule"
    Args: ClassVar[type[Any]] = RuleArgs

    def __init__(
        self, seconds: float = SECONDS, *, rules: Mapping[str, OwnRule] | None = None, allow_unsafe: bool = False
    ) -> None:
        self.seconds = min(seconds, SECONDS)
        self.rules = dict(rules or {})
        self.allow_unsafe = allow_unsafe

    @property
    def help(self) -> str:
        """Each rule as a check names it, a person's own with the first line of its docstring."""
        own = [f'{{"rule": "{name}", "path": "a.md"}} ({_about(rule)})' for name, rule in self.rules.items()]
        return "a rule holds for a file: " + ", ".join([*EXAMPLES, *own])

    def vet(self, check: Check) -> str | None:
        """Refuse rules that there are not, and args that say nothing to them."""
        if fault := misfit(RuleArgs, gathered(check)):
            return fault
        args = _args(check)
        if why := misplaced(args.plain):
            return f"the path {args.path!r:.80}: {why}"
        if args.rule in self.rules:
            return _unbound(self.rules[args.rule], args.args)
        if args.rule not in RULES:
            return f"{args.rule!r:.40} is no rule; there are {', '.join([*RULES, *self.rules])}"
        if fault := _unbound(RULES[args.rule], args.args):
            return fault
        try:
            RULES[args.rule]("", **args.args)
        except ValueError as error:
            return str(error)
        return None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the rule says so; undecided where it fails itself."""
        args = _args(check)
        text = tree.text(args.plain)
        says = f"the rule {args.rule} on {args.plain}"
        if text is None:
            return Outcome(met=False, says=says, saw=f"{args.plain} is not there")
        met, saw = self._own(args, text) if args.rule in self.rules else self._shipped(args, text, tree)
        return Outcome(met=met, says=says, saw=saw)

    def _shipped(self, args: RuleArgs, text: str, tree: Tree) -> tuple[bool | None, str]:
        asked = json.dumps({"rule": args.rule, "args": dict(args.args), "text": text, "path": args.plain}).encode()
        argv = [sys.executable, "-I", str(CHILD)]
        ran = run(argv, tree.root, seconds=self.seconds, stdin=asked, allow_unsafe=self.allow_unsafe)
        if ran.exit != 0:
            why = f"it was given up after {self.seconds:g} s" if ran.timed_out else f"it broke off (exit {ran.exit})"
            return None, f"undecided: {why}"
        met, saw = json.loads(ran.out)
        return met, saw

    def _own(self, args: RuleArgs, text: str) -> tuple[bool | None, str]:
        """What a person's own rule says, whatever it does."""
        try:
            held: object = self.rules[args.rule](text, **args.args)
        except Exception as error:  # whatever a person's rule raises: the judge decides then
            return None, f"the rule raised {type(error).__name__}: {error}"
        met, saw = (
            held if isinstance(held, tuple) and len(held) == 2 else (held, "it holds" if held else "it does not hold")
        )
        if not isinstance(met, bool) or not isinstance(saw, str):
            return None, f"the rule returned {held!r:.80}, neither true or false nor that and a text"
        return met, saw


EXAMPLES = (
    '{"rule": "length", "path": "a.md", "words": [100, 300]}',
    '{"rule": "required_terms", "path": "a.md", "terms": ["mean"]}',
    '{"rule": "json_schema", "path": "a.json", "schema": {"type": "array"}}',
    '{"rule": "compiles", "path": "a.py"}',
    '{"rule": "links_resolve", "path": "a.md"}',
)


def gathered(check: Check) -> Check:
    """The check with a rule's own args in their place, also those that stand beside it, as weak models write them."""
    within = check.args.get("args")
    beside = {name: value for name, value in check.args.items() if name not in {"rule", "path", "args"}}
    if not beside or (within is not None and not isinstance(within, Mapping)):
        return check
    kept = {name: value for name, value in check.args.items() if name in {"rule", "path"}}
    return replace(check, args={**kept, "args": {**(within or {}), **beside}})


def _args(check: Check) -> RuleArgs:
    return args_of(RuleArgs, gathered(check))


def _unbound(rule: Callable[..., object], args: Mapping[str, Json]) -> str | None:
    """Why a rule cannot be called with these args; None where it can."""
    try:
        inspect.signature(rule).bind("", **args)
    except TypeError as error:
        return f"the rule's own args do not fit: {error}"
    return None


def _about(rule: OwnRule) -> str:
    return (inspect.getdoc(rule) or "a rule of this project").split("\n")[0]
