"""Practice task: the pieces of an arithmetic expression, and its value."""

from __future__ import annotations

from .oracles.calculator import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

TOKENS = r'''"""The pieces of an arithmetic expression."""

import re

PIECE = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]*)?|\.[0-9]+)|([-+*/()]))")


def tokens(text: str) -> list[float | str]:
    """Split an expression into numbers and the signs + - * / ( ), in order.

    "2." and ".5" are numbers; a minus is a sign by itself. White space around the pieces is ignored.
    Raises ValueError for everything else and names the place where it stands.
    """
    text = text.rstrip()
    found: list[float | str] = []
    place = 0
    while place < len(text):
        piece = PIECE.match(text, place)
        if piece is None:
            raise ValueError(f"cannot read on at {place}: {text!r}")
        number, sign = piece.groups()
        found.append(float(number) if number else sign)
        place = piece.end()
    return found
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("tokens.py",),
    checks=(
        by_oracle(
            "tokens splits any expression into its numbers and signs and refuses what is none.", "calculator/tokens"
        ),
        by_command(
            "The error names the place of what cannot be read.",
            "python",
            "-c",
            "from tokens import tokens\ntry:\n    tokens('12$')\nexcept ValueError as error:\n    print(error)",
            prints=" at 2",
        ),
        by_judge("The docstring of tokens says that a minus is a sign by itself."),
    ),
    first_checks=(0, 2),
    objection="Who types a long expression must find the slip: add a check that the error names its place.",
    solution={"tokens.py": TOKENS},
    defects=(
        Defect(
            id="minus-glued",
            says="tokens takes the minus of a subtraction for a part of the number behind it.",
            path="tokens.py",
            old="([0-9]+(?:",
            new="(-?[0-9]+(?:",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="bare-point-refused",
            says='tokens refuses "2.", a number whose decimals were left out.',
            path="tokens.py",
            old=r"\.[0-9]*",
            new=r"\.[0-9]+",
            breaks=("c1",),
            costs={"correctness": 1.0, "robustness": 2.5},
        ),
        Defect(
            id="leading-point-refused",
            says='tokens refuses ".5".',
            path="tokens.py",
            old=r"|\.[0-9]+)",
            new=")",
            breaks=("c1",),
            costs={"correctness": 1.5, "robustness": 2.5},
        ),
        Defect(
            id="tabs-refused",
            says="tokens takes spaces between the pieces and no other white space.",
            path="tokens.py",
            old=r'r"\s*(?:',
            new='r" *(?:',
            breaks=("c1",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="rest-dropped",
            says="tokens stops at what it cannot read and gives what came before, without an error.",
            path="tokens.py",
            old='            raise ValueError(f"cannot read on at {place}: {text!r}")\n',
            new="            break\n",
            breaks=("c1", "c2"),
            costs={"robustness": 4.0},
        ),
        Defect(
            id="pieces-as-text",
            says="tokens leaves the numbers as text.",
            path="tokens.py",
            old="float(number) if number else sign",
            new="number or sign",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="minus-undocumented",
            says="The docstring of tokens is silent about the minus.",
            path="tokens.py",
            old=" are numbers; a minus is a sign by itself.",
            new=" are numbers.",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

CALCULATOR = r'''"""A calculator for expressions with the four functions and parentheses."""

from tokens import tokens

Pieces = list[float | str]


def evaluate(text: str) -> float:
    """Give the value of an expression such as "2 + 3 * (4 - 1)".

    * and / go before + and -; signs of one kind go from left to right. A number or a parenthesis may have a sign of its own.
    Raises ValueError for what is no expression, and ZeroDivisionError where something is divided by zero.
    """
    value, rest = total(tokens(text))
    if rest:
        raise ValueError(f"cannot go on at {rest[0]!r}")
    return value


def total(pieces: Pieces) -> tuple[float, Pieces]:
    """Read a sum: its value, and what stands behind it."""
    value, rest = product(pieces)
    while rest and rest[0] in ("+", "-"):
        sign, (term, rest) = rest[0], product(rest[1:])
        value = value + term if sign == "+" else value - term
    return value, rest


def product(pieces: Pieces) -> tuple[float, Pieces]:
    """Read a product: its value, and what stands behind it."""
    value, rest = factor(pieces)
    while rest and rest[0] in ("*", "/"):
        sign, (by, rest) = rest[0], factor(rest[1:])
        value = value * by if sign == "*" else value / by
    return value, rest


def factor(pieces: Pieces) -> tuple[float, Pieces]:
    """Read a number or a parenthesis, with its sign: its value, and what stands behind it."""
    if not pieces:
        raise ValueError("the expression ends too early")
    first, rest = pieces[0], pieces[1:]
    if isinstance(first, float):
        return first, rest
    if first in ("+", "-"):
        value, rest = factor(rest)
        return (-value if first == "-" else value), rest
    if first != "(":
        raise ValueError(f"{first!r} where a number should be")
    value, rest = total(rest)
    if rest[:1] != [")"]:
        raise ValueError("a parenthesis is not closed")
    return value, rest[1:]
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("calculator.py",),
    checks=(
        by_oracle("evaluate gives the value of every expression and refuses what is none.", "calculator/evaluate"),
        by_file("calculator.py does not use eval.", "calculator.py", matches=r"\A(?![\s\S]*\beval\()"),
        by_judge("calculator.py leaves the reading of text to tokens and changes none of it beforehand."),
        by_judge("The docstring of evaluate says which errors it raises, and when."),
    ),
    first_checks=(0, 1, 3),
    objection="There should be one reader of text: add a check that calculator.py leaves it to tokens.",
    solution={"calculator.py": CALCULATOR},
    defects=(
        Defect(
            id="right-to-left",
            says="evaluate works sums from right to left, so 10 - 3 - 2 is 9.",
            path="calculator.py",
            old="rest[0], product(rest[1:])",
            new="rest[0], total(rest[1:])",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="whole-quotients",
            says="evaluate cuts quotients to whole numbers.",
            path="calculator.py",
            old="else value / by",
            new="else value // by",
            breaks=("c1",),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="open-parenthesis-taken",
            says="evaluate takes a parenthesis that is never closed.",
            path="calculator.py",
            old='    if rest[:1] != [")"]:\n        raise ValueError("a parenthesis is not closed")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="rest-ignored",
            says="evaluate ignores what stands behind the expression.",
            path="calculator.py",
            old='    if rest:\n        raise ValueError(f"cannot go on at {rest[0]!r}")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="plus-refused",
            says="evaluate refuses a plus before a number.",
            path="calculator.py",
            old='    if first in ("+", "-"):\n        value, rest = factor',
            new='    if first == "-":\n        value, rest = factor',
            breaks=("c1",),
            costs={"robustness": 2.5},
        ),
        Defect(
            id="value-as-text",
            says="evaluate gives the value as text.",
            path="calculator.py",
            old="    return value\n",
            new='    return f"{value:g}"\n',
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="spaces-removed-first",
            says="evaluate removes all spaces beforehand, so 1 2 becomes 12.",
            path="calculator.py",
            old="total(tokens(text))",
            new='total(tokens(text.replace(" ", "")))',
            breaks=("c1", "c3"),
            costs={"robustness": 2.0, "clarity": 2.0},
        ),
        Defect(
            id="errors-undocumented",
            says="The docstring of evaluate is silent about its errors.",
            path="calculator.py",
            old="    Raises ValueError for what is no expression, and ZeroDivisionError where something is divided by zero.\n",
            new="",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="calculator",
    title="A four-function calculator",
    prompt=(
        "Please write me a four-function calculator in Python that takes a whole expression as text, such as 2 + 3 * (4 - 1)."
        " It should know parentheses, negative numbers and which sign goes first, and say clearly when an expression is wrong."
        " No eval, please."
    ),
    plan={
        "title": "A four-function calculator",
        "scope": "Two Python modules without dependencies: one splits an expression into its pieces, one works out its value.",
        "deliverables": ["tokens.py", "calculator.py"],
        "steps": [
            planned("Split an expression into numbers and signs.", STEP_1, skill="parsing"),
            planned("Work out the value of an expression.", STEP_2, skill="parsing", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Gives the value that mathematics gives, for every expression.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Refuses what is no expression, with the right exception.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
