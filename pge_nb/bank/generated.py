"""Practice tasks of any size, made when they are asked for: ``generated:steps=30,dag=random,seed=7``.

Each step delivers one small module with a function of one number; it imports the modules of the steps that it depends on, which
no defect touches. The same name is the same task everywhere.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import BadInput
from .values import (
    Defect,
    Oracle,
    PracticeStep,
    PracticeTask,
    by_file,
    by_judge,
    by_oracle,
    case,
    criterion,
    planned,
    refuses,
)

PREFIX = "generated:"
NAME = re.compile(rf"{PREFIX}[a-z]+=\w+(?:,[a-z]+=\w+)*")
MOST_STEPS = 500
Shape = Literal["chain", "diamond", "fan", "random", "free"]
"""chain: each step on the one before. fan: all on the first. diamond: so, and the last on all of those. free: on none."""
REACH, MOST_NEEDS, ROOTS = 8, 3, 0.2
"""random: a step depends on at most 3 of the 8 steps before it; one in five on none."""
INPUTS = 36
NEGATIVE = (-1, -7, -40)
REFUSAL = '    if n < 0:\n        raise ValueError(f"negative: {n}")\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a name asks for."""

    steps: int = 10
    dag: Shape = "random"
    seed: int = 0

    @property
    def name(self) -> str:
        """The task's name, everything said in it."""
        return f"{PREFIX}steps={self.steps},dag={self.dag},seed={self.seed}"

    @classmethod
    def parse(cls, name: str) -> Order:
        """What a name such as ``generated:steps=30,dag=random,seed=7`` asks for; what is left out is as above."""
        given: dict[str, str] = {}
        for part in filter(None, name.removeprefix(PREFIX).split(",")):
            key, _, value = part.partition("=")
            if key in given or key not in cls.__dataclass_fields__:
                raise _not_so(name, f"{part!r:.40} is nothing that can be asked for, or is there twice")
            given[key] = value
        steps, seed = (_whole(name, key, given.get(key, default)) for key, default in (("steps", "10"), ("seed", "0")))
        shape = next((one for one in get_args(Shape) if one == given.get("dag", "random")), None)
        if shape is None or not 1 <= steps <= MOST_STEPS:
            raise _not_so(name, f"steps go from 1 to {MOST_STEPS}, and dag is one of {', '.join(get_args(Shape))}")
        return cls(steps=steps, dag=shape, seed=seed)


def _whole(name: str, key: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise _not_so(name, f"{key} is no whole number")
    return int(value)


def _not_so(name: str, why: str) -> BadInput:
    return BadInput(f"{name!r:.80} is no practice task: {why}.", f"Write {Order(steps=30, seed=7).name}, say.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a function computes below its limit: in words, as code, as it is, and how it is got badly wrong."""

    words: str
    code: str
    wrong: str
    value: Callable[[int], int]
    wrong_value: Callable[[int], int]


def _rule(draw: random.Random) -> Rule:
    """One of five kinds of rule, with numbers of its own."""
    a, b, m = draw.randint(2, 9), draw.randint(1, 20), draw.randint(3, 7)
    rules = (
        Rule(
            words=f"{a} times n and {b} more",
            code=f"{a} * n + {b}",
            wrong=f"{a} * n - {b}",
            value=lambda n: a * n + b,
            wrong_value=lambda n: a * n - b,
        ),
        Rule(
            words=f"the square of n and {b} more",
            code=f"n * n + {b}",
            wrong=f"n + n + {b}",
            value=lambda n: n * n + b,
            wrong_value=lambda n: n + n + b,
        ),
        Rule(
            words=f"the sum of the numbers up to n and {b} more",
            code=f"n * (n + 1) // 2 + {b}",
            wrong=f"n * (n - 1) // 2 + {b}",
            value=lambda n: n * (n + 1) // 2 + b,
            wrong_value=lambda n: n * (n - 1) // 2 + b,
        ),
        Rule(
            words=f"the ones in n's binary form, {a} for each, and {b} more",
            code=f"{a} * n.bit_count() + {b}",
            wrong=f"{a} * len(bin(n)) + {b}",
            value=lambda n: a * n.bit_count() + b,
            wrong_value=lambda n: a * len(bin(n)) + b,
        ),
        Rule(
            words=f"what is left of n over the multiples of {m}, and {b} more",
            code=f"n % {m} + {b}",
            wrong=f"n // {m} + {b}",
            value=lambda n: n % m + b,
            wrong_value=lambda n: n // m + b,
        ),
    )
    return draw.choice(rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One step of a task: what it depends on, and its function, which from ``limit`` on gives ``cap``."""

    number: int
    width: int
    needs: tuple[int, ...]
    rule: Rule
    limit: int
    cap: int

    @property
    def module(self) -> str:
        """The name of its module."""
        return self.of(self.number)

    def of(self, number: int) -> str:
        """The name of a step's module."""
        return f"part_{number:0{self.width}}"

    def value(self, n: int) -> int:
        """What its function gives for a number that is not negative."""
        return self.cap if n >= self.limit else self.rule.value(n)

    @property
    def source(self) -> str:
        """Its module, without a defect."""
        imports = "".join(f"from {self.of(need)} import NAME as {self.of(need).upper()}\n" for need in self.needs)
        built_on = ", ".join(self.of(need).upper() for need in self.needs) + ("," if len(self.needs) == 1 else "")
        return (
            f'"""Part {self.number}: {self.rule.words}."""\n\n{imports}{chr(10) if imports else ""}'
            f'NAME = "{self.module}"\nBUILT_ON: tuple[str, ...] = ({built_on})\n\n\n'
            "def value(n: int) -> int:\n"
            f'    """Give {self.rule.words}; from {self.limit} on {self.cap}. Raises ValueError for a negative n."""\n'
            f"{REFUSAL}"
            f"    if n >= {self.limit}:\n        return {self.cap}\n"
            f"    return {self.rule.code}\n"
        )


def task_of(name: str) -> PracticeTask:
    """The task of this name; ``BadInput`` where it asks for what there is not."""
    order = Order.parse(name)
    parts = _parts(order)
    steps = tuple(_step(order.name, part) for part in parts)
    return PracticeTask(
        name=order.name,
        title=f"{order.steps} small modules that build on one another",
        prompt=(
            f"Write {order.steps} small Python modules, each with a function of one number, some of which build on others,"
            f" as the practice task {order.name} lays them out."
        ),
        plan={
            "title": f"{order.steps} small modules",
            "scope": "One Python module a step, on the standard library alone.",
            "deliverables": [f"{part.module}.py" for part in parts],
            "steps": [
                planned(f"Write {part.module}.py: {part.rule.words}.", step, skill="arithmetic", depends_on=part.needs)
                for part, step in zip(parts, steps, strict=True)
            ],
            "criteria": [
                criterion("correctness", "The right value for every number.", "high"),
                criterion("clarity", "Reads well: names, and a docstring that tells the edges."),
                criterion("robustness", "Refuses what makes no sense.", threshold=6.0),
            ],
        },
        steps=steps,
        oracles=tuple(
            Oracle(
                name=_oracle(order.name, part),
                call=f"{part.module}.value",
                cases=(
                    *(case(n, returns=part.value(n)) for n in range(INPUTS)),
                    *refuses("ValueError", *NEGATIVE),
                ),
            )
            for part in parts
        ),
    )


def counts(name: str) -> Mapping[str, tuple[int, int]]:
    """Defect -> hidden inputs that it alone makes fail, and hidden inputs in all."""
    found: dict[str, tuple[int, int]] = {}
    for part in _parts(Order.parse(name)):
        below = [n for n in range(INPUTS) if n < part.limit]
        missed = {
            "wrong-rule": sum(part.rule.value(n) != part.rule.wrong_value(n) for n in below),
            "cap-off": INPUTS - len(below),
            "limit-late": 1,
            "negative-taken": len(NEGATIVE),
            "error-undocumented": 0,
        }
        found |= {f"{part.module}-{defect}": (count, INPUTS + len(NEGATIVE)) for defect, count in missed.items()}
    return found


@functools.cache
def _parts(order: Order) -> tuple[Part, ...]:
    draw = random.Random(order.name)  # noqa: S311 - a simulation
    found = []
    for number in range(1, order.steps + 1):
        limit = draw.randint(24, 30)
        found.append(
            Part(
                number=number,
                width=max(2, len(str(order.steps))),
                needs=_needs(order, number, draw),
                rule=_rule(draw),
                limit=limit,
                cap=draw.randint(5_000, 9_999),
            )
        )
    return tuple(found)


def _needs(order: Order, number: int, draw: random.Random) -> tuple[int, ...]:
    if number == 1 or order.dag == "free":
        return ()
    if order.dag == "chain":
        return (number - 1,)
    if order.dag == "random":
        before = range(max(1, number - REACH), number)
        count = 0 if draw.random() < ROOTS else draw.randint(1, MOST_NEEDS)
        return tuple(sorted(draw.sample(before, min(count, len(before)))))
    ends = order.dag == "diamond" and number == order.steps and order.steps > 2
    return tuple(range(2, number)) if ends else (1,)


def _oracle(task: str, part: Part) -> str:
    return f"{task}/{part.module}"


def _defects(part: Part) -> Iterator[Defect]:
    """What may be wrong with a part: gross, partial, slight twice, and something that no input tells."""

    def defect(name: str, says: str, change: tuple[str, str], **costs: float) -> Defect:
        form = "clarity" in costs
        return Defect(
            id=f"{part.module}-{name}",
            says=says,
            path=f"{part.module}.py",
            old=change[0],
            new=change[1],
            breaks=("c3" if form else "c1",),
            costs=costs,
            form=form,
        )

    rule, cap, limit = part.rule, part.cap, part.limit
    yield defect(
        "wrong-rule",
        f"value gives {rule.wrong} where it should give {rule.code}.",
        (f"    return {rule.code}\n", f"    return {rule.wrong}\n"),
        correctness=5.0,
    )
    yield defect(
        "cap-off",
        "What stands from the limit on is one too high.",
        (f"        return {cap}\n", f"        return {cap + 1}\n"),
        correctness=2.5,
    )
    yield defect(
        "limit-late",
        "The limit itself is not counted as reached.",
        (f"    if n >= {limit}:\n", f"    if n > {limit}:\n"),
        correctness=1.5,
    )
    yield defect("negative-taken", "value takes negative numbers.", (REFUSAL, ""), robustness=2.5)
    yield defect(
        "error-undocumented",
        "The docstring of value is silent about the error.",
        (" Raises ValueError for a negative n.", ""),
        clarity=1.5,
    )


def _step(task: str, part: Part) -> PracticeStep:
    path = f"{part.module}.py"
    argued = part.number % 3 == 0
    return PracticeStep(
        number=part.number,
        deliverables=(path,),
        checks=(
            by_oracle("value gives the right number, and refuses negative ones.", _oracle(task, part)),
            by_file("The module says its name.", path, contains=f'NAME = "{part.module}"'),
            by_judge("The docstring of value says when it raises ValueError."),
        ),
        first_checks=(0, 2) if argued else (0, 1, 2),
        objection="Other modules import the name: add a check that it is there." if argued else "",
        solution={path: part.source},
        defects=tuple(_defects(part)),
    )
