"""Practice task: read amounts of money, split a bill to the cent, and say who owes what."""

from __future__ import annotations

from .oracles.money import ORACLES
from .values import (
    Defect,
    PracticeStep,
    PracticeTask,
    by_command,
    by_file,
    by_judge,
    by_oracle,
    criterion,
    planned,
)

MONEY = r'''"""Amounts of money as whole cents, so that nothing is lost in rounding."""

import re

AMOUNT = re.compile(r"(-?)\$?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.([0-9]{1,2}))?")


def parse_amount(text: str) -> int:
    """Read an amount such as "$1,234.50" and give it in cents.

    The dollar sign, the commas between thousands and the cents may be left out; "12.5" is 12 dollars 50.
    A minus sign comes first. White space around the amount is ignored.
    Raises ValueError for everything else, such as "1,23", "12.345" or "".
    """
    found = AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not an amount: {text!r}")
    sign, dollars, cents = found.groups()
    amount = int(dollars.replace(",", "")) * 100 + int((cents or "").ljust(2, "0"))
    return -amount if sign else amount


def format_amount(cents: int) -> str:
    """Write cents as an amount: 123450 gives "$1,234.50" and -5 gives "-$0.05"."""
    dollars, rest = divmod(abs(cents), 100)
    sign = "-" if cents < 0 else ""
    return f"{sign}${dollars:,}.{rest:02}"
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("money.py",),
    checks=(
        by_oracle("parse_amount reads amounts in every allowed spelling and refuses all others.", "money/parse_amount"),
        by_oracle("format_amount writes any number of cents, negative ones too.", "money/format_amount"),
        by_command(
            "parse_amount gives whole cents, as an int.",
            "python",
            "-c",
            "from money import parse_amount; print(repr(parse_amount('0.29')))",
            prints="29\n",
        ),
        by_judge("The docstring of parse_amount says what it raises, with an example."),
    ),
    first_checks=(0, 1, 2),
    objection="A caller must know what happens to a typing error: check that the docstring of parse_amount tells it.",
    solution={"money.py": MONEY},
    defects=(
        Defect(
            id="cents-misread",
            says='parse_amount reads "12.5" as 12 dollars 5.',
            path="money.py",
            old='int((cents or "").ljust(2, "0"))',
            new='int(cents or "0")',
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="minus-lost",
            says="parse_amount drops the minus sign.",
            path="money.py",
            old="return -amount if sign else amount",
            new="return amount",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="rest-ignored",
            says="parse_amount takes a text that only begins like an amount.",
            path="money.py",
            old="AMOUNT.fullmatch(",
            new="AMOUNT.match(",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="wrong-exception",
            says="parse_amount raises AttributeError where it should raise ValueError.",
            path="money.py",
            old='    if found is None:\n        raise ValueError(f"not an amount: {text!r}")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.0, "clarity": 1.0},
        ),
        Defect(
            id="zero-dropped",
            says='format_amount writes 5 cents as "$0.5".',
            path="money.py",
            old="{rest:02}",
            new="{rest}",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="negative-garbled",
            says='format_amount writes -5 cents as "-$-1.95".',
            path="money.py",
            old="divmod(abs(cents), 100)",
            new="divmod(cents, 100)",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="error-undocumented",
            says="The docstring of parse_amount is silent about what it raises.",
            path="money.py",
            old='    Raises ValueError for everything else, such as "1,23", "12.345" or "".\n',
            new="",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

BILL = r'''"""Who pays what of a bill."""

from money import format_amount, parse_amount


def split(cents: int, people: int) -> list[int]:
    """Split an amount into shares that add up to it and differ by one cent at most.

    The first in line pay the odd cents. Raises ValueError for less than one person.
    """
    if people < 1:
        raise ValueError("a bill needs at least one person")
    share, odd = divmod(cents, people)
    return [share + 1] * odd + [share] * (people - odd)


def statement(total: str, names: list[str], tip: int = 0) -> list[str]:
    """Give a line for each person, in the given order, such as "Ann owes $3.34".

    `tip` is in percent of the total; half a cent is rounded up.
    """
    cents = parse_amount(total)
    cents += (cents * tip + 50) // 100
    shares = split(cents, len(names))
    return [f"{name} owes {format_amount(share)}" for name, share in zip(names, shares)]
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("bill.py",),
    checks=(
        by_oracle("split gives shares that add up to the amount, odd cents first.", "money/split"),
        by_oracle("statement tells each person's share, with the tip rounded to the cent.", "money/statement"),
        by_file(
            "bill.py reads amounts with the money module.", "bill.py", matches=r"(?m)^from money import .*parse_amount"
        ),
        by_judge("statement writes every amount through format_amount."),
        by_judge("The docstring of split says who pays the odd cents."),
    ),
    first_checks=(0, 1, 2, 4),
    objection="Amounts must look alike everywhere: add a check that statement writes them through format_amount.",
    solution={"bill.py": BILL},
    defects=(
        Defect(
            id="odd-cents-lost",
            says="split loses the cents that do not divide evenly.",
            path="bill.py",
            old="[share + 1] * odd + [share] * (people - odd)",
            new="[share] * people",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="negative-people-taken",
            says="split refuses no people, but takes a negative number of them.",
            path="bill.py",
            old="if people < 1:",
            new="if people == 0:",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="tip-cut-off",
            says="statement cuts the tip off at the cent instead of rounding it.",
            path="bill.py",
            old="(cents * tip + 50) // 100",
            new="cents * tip // 100",
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="names-sorted",
            says="statement sorts the names, so the odd cents go to others than promised.",
            path="bill.py",
            old="in zip(names, shares)",
            new="in zip(sorted(names), shares)",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="own-format",
            says="statement writes amounts by itself, without commas, although money has format_amount.",
            path="bill.py",
            old="{format_amount(share)}",
            new="${share / 100:.2f}",
            breaks=("c2", "c4"),
            costs={"correctness": 2.0, "clarity": 3.0},
        ),
        Defect(
            id="odd-cents-undocumented",
            says="The docstring of split is silent about who pays the odd cents.",
            path="bill.py",
            old="The first in line pay the odd cents. Raises",
            new="Raises",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="money",
    title="Split a bill to the cent",
    prompt=(
        "Four of us share a flat, and somebody always ends up a cent short."
        ' Write Python functions that read amounts as we type them ("$1,234.50", "12.5"),'
        " split a bill so that no cent is lost, add a tip in percent, and tell each of us what to pay."
    ),
    plan={
        "title": "Split a bill to the cent",
        "scope": "Two Python modules: amounts as whole cents, and on top of them a bill split fairly with its tip.",
        "deliverables": ["money.py", "bill.py"],
        "steps": [
            planned("Read and write amounts of money as whole cents.", STEP_1, skill="parsing"),
            planned("Split a bill with its tip and say who owes what.", STEP_2, skill="arithmetic", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "No cent is lost or invented, whatever the amount.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Refuses what it cannot read, with the right exception.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
