"""`oracle`: inputs are sent to a function of the artifact, in a child process; the values that come out are compared here.

The child is told the inputs and never the wanted values, so nothing that it runs can know what would pass. Each answer must
carry a token that the child was given: what else the artifact writes is none. Code that hunts for the token in the child's
memory can find it, and has nothing to gain: in the sandbox it cannot look the wanted values up.
"""

from __future__ import annotations

import importlib.machinery
import json
import math
import re
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..bank import Case, Oracle
from ..bank import oracle as bank_oracle
from ..errors import BadInput
from ..payloads import Json, encode
from ..records import Check
from ..sandbox import Ran, run, standing
from ..sentences import said_call
from ..workspace import Tree
from . import Outcome, args_of, misfit

CHILD = Path(__file__).with_name("oracle_child.py")
OPEN_CASES = "strong for the inputs shown: they stand in the contract, so an artifact can be fitted to them"
OPEN_AND_UNSAFE = f"{OPEN_CASES}, or without isolation forge the answers"
NOT_HIDDEN = "strong, but not hidden: without isolation the artifact could look the cases up, or forge the answers"
KINDS = frozenset({"returns", "raises", "missing"})
"""What an answer may be: a value, an error of the call, an error before it."""
MISS = "; one that did not: "
"""Stands between how many inputs gave what is wanted, and the one that is told."""
COUNTED = re.compile(r"(\d+) of (\d+) (?:hidden )?inputs? gave what is wanted")
SHOWN = 300
"""Characters of what came back that a finding shows."""
TWO_ANSWERS: dict[str, Json] = {"two": "answers that differ"}
"""Stands for the answers to an input where not all are the same: at most one of them is the child's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleArgs:
    """Either the name of an oracle of the bank, or a function (``module.function``) with cases, or with one case."""

    oracle: str | None = None
    call: str | None = None
    cases: tuple[Case, ...] = ()
    args: tuple[Json, ...] | None = None
    returns: Json = None
    raises: str | None = None

    def resolve(self) -> Oracle:
        """The oracle that these args name; ``BadInput`` where they name none."""
        if self.oracle is not None:
            return bank_oracle(self.oracle)
        cases = self.cases
        if self.args is not None:
            cases = (*cases, Case(args=self.args, returns=self.returns, raises=self.raises))
        if not self.call or not cases:
            raise BadInput("An oracle check needs a function and at least one case.", "Give call, args and returns.")
        if not all(part.isidentifier() for part in self.call.split(".")) or "." not in self.call:
            raise BadInput(f"{self.call!r} is not module.function.", "Give call as in textkit.slugify.")
        return Oracle(name="", call=self.call, cases=cases)


class OracleReview:
    """Calls a function of the artifact in a child process, for at most ``seconds`` in all."""

    name: ClassVar[str] = "oracle"
    help: ClassVar[str] = (
        'a call gives a value or raises: {"call": "shapes.area", "args": [2, 3], "returns": 6} '
        'or {"call": "shapes.area", "args": [-1, 3], "raises": "ValueError"}'
    )
    Args: ClassVar[type[Any]] = OracleArgs

    def __init__(self, seconds: float, *, allow_unsafe: bool = False) -> None:
        self.seconds = seconds
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse args that name no oracle and no case."""
        if fault := misfit(OracleArgs, check):
            return fault
        args = args_of(OracleArgs, check)
        try:
            oracle = args.resolve()
        except BadInput as error:
            return error.fact
        if (fault := _unreachable(oracle)) is not None and args.oracle is None:
            return fault
        if _unsaid(check):
            return 'a case says neither returns nor raises; where nothing is returned give "returns": null'
        return _otherwise(check.says, oracle) if args.args is not None else None

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when every case gives the wanted value, or raises the wanted error. At most one miss is told."""
        args = args_of(OracleArgs, check)
        oracle = args.resolve()
        ran, answers = _ask(oracle, tree, self.seconds, allow_unsafe=self.allow_unsafe)
        misses = [
            _told(oracle, case, answers.get(index), ran)
            for index, case in enumerate(oracle.cases)
            if not agrees(case, answers.get(index))
        ]
        hidden = args.oracle is not None
        kind = "hidden input" if hidden else "input"
        count = f"{len(oracle.cases) - len(misses)} of {len(oracle.cases)} {kind}s gave what is wanted"
        saw = count if not misses else f"{count}{MISS}{misses[0]}"
        return Outcome(
            met=not misses,
            says=f"called {oracle.call} with {len(oracle.cases)} {kind}{'s' if len(oracle.cases) > 1 else ''}",
            saw=saw,
            strength=_strength(hidden=hidden, isolated=standing() is not None),
        )


def inputs_failed(outcome: Outcome) -> tuple[int, int]:
    """How many inputs did not give what is wanted, and of how many; 0 of 0 where an outcome tells of none."""
    found = COUNTED.match(outcome.saw)
    return (int(found[2]) - int(found[1]), int(found[2])) if found else (0, 0)


def _strength(*, hidden: bool, isolated: bool) -> str:
    if hidden:
        return "strong" if isolated else NOT_HIDDEN
    return OPEN_CASES if isolated else OPEN_AND_UNSAFE


def _unreachable(oracle: Oracle) -> str | None:
    """Why a module cannot be the deliverables' own, whatever file they hold: Python has one that comes before any file."""
    module = oracle.call.partition(".")[0]
    if module in sys.builtin_module_names or importlib.machinery.FrozenImporter.find_spec(module) is not None:
        return f"the module {module} is built into Python, so no {module}.py can be called; give the file another name"
    return None


def _unsaid(check: Check) -> bool:
    """Whether a case leaves out what is wanted: it would want None, which nobody said."""
    listed = check.args.get("cases")
    cases = [
        *(listed if isinstance(listed, list | tuple) else ()),
        *([check.args] if check.args.get("args") is not None else []),
    ]
    return any(isinstance(case, Mapping) and case.keys().isdisjoint({"returns", "raises"}) for case in cases)


def _otherwise(sentence: str, oracle: Oracle) -> str | None:
    """How the one case differs from the call in the check's sentence: f([1, 2]) is not f(1, 2)."""
    said = said_call(sentence, oracle.call)
    case = oracle.cases[-1]
    try:
        spoken = None if said is None else (encode(said.args), encode(said.kwargs))
    except (TypeError, BadInput):  # a set, say, which no args can hold
        return None
    if (
        said is None
        or spoken is None
        or (equal(spoken[0], encode(case.args)) and equal(spoken[1], encode(case.kwargs)))
    ):
        return None
    return f'the sentence calls {said.text} and the args do not; that call is "args": {json.dumps(spoken[0], ensure_ascii=False)}'


def _ask(oracle: Oracle, tree: Tree, seconds: float, *, allow_unsafe: bool) -> tuple[Ran, dict[int, dict[str, Json]]]:
    """Send the inputs, take the answers: case index -> {"returns": value} or {"raises": name, "says": text}."""
    inputs = [{"args": encode(case.args), "kwargs": encode(case.kwargs)} for case in oracle.cases]
    token = secrets.token_hex(16)
    told = {"call": oracle.call, "inputs": inputs, "root": str(tree.root), "token": token, "reader": oracle.reader}
    asked = json.dumps(told)
    argv = [sys.executable, "-I", str(CHILD)]
    ran = run(argv, tree.root, seconds=seconds, stdin=asked.encode(), allow_unsafe=allow_unsafe)
    answers: dict[int, dict[str, Json]] = {}
    for line in ran.out.split("\n"):
        try:
            said, index, answer = json.loads(line)
            if said == token and type(index) is int and isinstance(answer, dict):
                answers[index] = answer if answers.get(index, answer) == answer else TWO_ANSWERS
        except (ValueError, TypeError, RecursionError):
            continue  # The artifact can write here too; only what carries the token is an answer.
    return ran, answers


def agrees(case: Case, answer: dict[str, Json] | None) -> bool:
    """Whether an answer is the one wanted: the same JSON value (floats to 1e-9), or the same error by name.

    It is of one kind: code that forges answers without knowing what is wanted would else say value and error at once.
    """
    if answer is None or len(answer.keys() & KINDS) != 1:
        return False
    if case.raises is not None:
        names = answer.get("raises")
        return isinstance(names, list) and case.raises in names
    return "returns" in answer and equal(encode(case.returns), answer["returns"])


def equal(left: Json, right: Json) -> bool:
    """Equality of JSON values: true is not 1, integers are exact, other numbers agree to a relative 1e-9 (absolute 1e-12)."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right or ((isinstance(left, float) or isinstance(right, float)) and _close(left, right))
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


def _close(left: float, right: float) -> bool:
    try:
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    except OverflowError:  # an integer that no float can hold, so it is far from any
        return False


def _told(oracle: Oracle, case: Case, answer: dict[str, Json] | None, ran: Ran) -> str:
    shown = [repr(value) for value in encode(case.args)]  # type: ignore[union-attr]
    shown += [f"{name}={value!r}" for name, value in case.kwargs.items()]
    call = f"{oracle.call.rsplit('.', 1)[-1]}({', '.join(shown)})"
    wanted = f"raise {case.raises}" if case.raises is not None else repr(encode(case.returns))
    if answer is None:
        ended = "its time was over" if ran.timed_out else "the child ended early"
        last = ran.err.strip().rsplit("\n", 1)[-1][:SHOWN]
        return f"{call} gave no answer, {ended}{f' ({last})' if last else ''}; wanted {wanted}"
    if answer is TWO_ANSWERS:
        return f"{call} gave two answers that differ, so none counts; wanted {wanted}"
    if len(answer.keys() & KINDS) != 1:
        return f"{call} gave an answer of no one kind, so it is none; wanted {wanted}"
    if "returns" in answer:
        return f"{call} gave {_repr(answer['returns'])}, wanted {wanted}"
    what = "raises" if "raises" in answer else "missing"
    names = answer.get(what)
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else "an error"
    error = f"{_line(name)}: {_line(answer.get('says'))}"
    if what == "missing":
        return f"{call} cannot be called, {error}; wanted {wanted}"
    return f"{call} raised {error}; wanted {wanted}"


def _line(text: Json) -> str:
    """A text of the artifact's own making on one line, cut; empty where it is none."""
    return " ".join(text.split())[:SHOWN] if isinstance(text, str) else ""


def _repr(value: Json) -> str:
    try:
        return f"{value!r:.{SHOWN}}"
    except (RecursionError, ValueError):  # nested too deep, or an integer of too many digits
        return "a value that cannot be shown"
