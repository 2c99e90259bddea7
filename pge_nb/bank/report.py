"""Practice task: a notebook that reports a bakery's sales."""

from __future__ import annotations

from .oracles.report import ORACLES
from .values import (
    Defect,
    PracticeStep,
    PracticeTask,
    by_file,
    by_judge,
    by_notebook,
    by_oracle,
    criterion,
    in_cell,
    notebook,
    planned,
)

DATA = """# Month, product, amount in euros
SALES = [
    ("2024-01", "bread", 1200), ("2024-01", "cake", 300), ("2024-01", "rolls", 500),
    ("2024-02", "bread", 1100), ("2024-02", "cake", 450), ("2024-02", "rolls", 450),
    ("2024-03", "bread", 1300), ("2024-03", "cake", 700), ("2024-03", "rolls", 400),
]
print(f"{len(SALES)} amounts read")"""

TOTALS = '''def by_month(sales):
    """Add up the amounts of each month: pairs of month and total, in order."""
    totals = {}
    for month, _, amount in sales:
        totals[month] = totals.get(month, 0) + amount
    return sorted(totals.items())


def growth(totals):
    """Give each month's change against the month before, in percent with one decimal.

    The first month has None, and so has a month after one without sales.
    """
    changes = []
    for place, (month, total) in enumerate(totals):
        before = totals[place - 1][1] if place > 0 else 0
        changes.append((month, round(100 * (total - before) / before, 1) if before else None))
    return changes'''

BEST = '''def best(sales, count=2):
    """Give the products that brought in most, the first first; products with equal totals go by name."""
    totals = {}
    for _, product, amount in sales:
        totals[product] = totals.get(product, 0) + amount
    ranked = sorted(totals.items(), key=lambda entry: (-entry[1], entry[0]))
    return [product for product, _ in ranked[:count]]'''

SHOWN = """for month, total in by_month(SALES):
    print(month, total)
for month, change in growth(by_month(SALES)):
    print(month, "first month" if change is None else f"{change:+} %")
print("Best:", ", ".join(best(SALES)))"""

REPORT = notebook(
    ("markdown", "# Sales of the bakery, January to March 2024\n\nAmounts are in euros."),
    ("markdown", "## Sales"),
    ("code", DATA),
    ("markdown", "## Months"),
    ("code", TOTALS),
    ("markdown", "## Products"),
    ("code", BEST),
    ("markdown", "## What the numbers say"),
    ("code", SHOWN),
    ("markdown", "March was the best month: it brought in 20 % more than February, most of it by cake."),
)

STEP_1 = PracticeStep(
    number=1,
    deliverables=("report.ipynb",),
    checks=(
        by_oracle("The notebook's functions give totals, changes and best products of any sales.", "report/functions"),
        by_oracle("Every part has its heading, and the notebook's own sales are as they were given.", "report/parts"),
        by_notebook("The notebook runs from its first cell to its last.", "report.ipynb", "9 amounts read"),
        by_file("The notebook begins with a title.", "report.ipynb", matches=r'\A[\s\S]{0,160}"# Sales of the bakery'),
        by_judge("The last sentence says what the numbers say, with the percentage."),
        by_judge("The docstring of growth says what the first month has."),
    ),
    first_checks=(0, 1, 2, 3, 4),
    objection="The first month has no month before it: add a check that the docstring of growth tells what it has.",
    solution={"report.ipynb": REPORT},
    defects=(
        Defect(
            id="name-of-another-session",
            says="A cell uses SALES, but the cell above calls them sales: the notebook ran in the author's kernel alone.",
            path="report.ipynb",
            old=in_cell("SALES = ["),
            new=in_cell("sales = ["),
            breaks=("c1", "c2", "c3"),
            costs={"correctness": 5.0, "reading": 1.0},
        ),
        Defect(
            id="change-of-the-new",
            says="growth divides by the new month instead of the month before.",
            path="report.ipynb",
            old=in_cell("(total - before) / before, 1)"),
            new=in_cell("(total - before) / total, 1)"),
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="first-month-counted",
            says="growth compares the first month with the last.",
            path="report.ipynb",
            old=in_cell("totals[place - 1][1] if place > 0 else 0"),
            new=in_cell("totals[place - 1][1]"),
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="empty-month-crashes",
            says="growth raises ZeroDivisionError behind a month without sales.",
            path="report.ipynb",
            old=in_cell("if before else None"),
            new=in_cell("if place else None"),
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="months-as-they-come",
            says="by_month leaves the months in the order in which they come.",
            path="report.ipynb",
            old=in_cell("return sorted(totals.items())"),
            new=in_cell("return list(totals.items())"),
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="last-amount-counts",
            says="by_month keeps the last amount of a month instead of adding them up.",
            path="report.ipynb",
            old=in_cell("totals[month] = totals.get(month, 0) + amount"),
            new=in_cell("totals[month] = amount"),
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="ties-by-chance",
            says="best leaves products with equal totals in the order in which they come.",
            path="report.ipynb",
            old=in_cell("key=lambda entry: (-entry[1], entry[0])"),
            new=in_cell("key=lambda entry: -entry[1]"),
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="worst-first",
            says="best gives the products that brought in least.",
            path="report.ipynb",
            old=in_cell("in ranked[:count]]"),
            new=in_cell("in ranked[::-1][:count]]"),
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="amount-mistyped",
            says="The cake of February is 540 in the notebook and 450 in the brief.",
            path="report.ipynb",
            old=in_cell('"cake", 450'),
            new=in_cell('"cake", 540'),
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="headings-left-out",
            says="The part on products has no heading.",
            path="report.ipynb",
            old=in_cell("## Products"),
            new=in_cell("Now the products."),
            breaks=("c2",),
            costs={"reading": 2.0},
        ),
        Defect(
            id="no-percentage",
            says="The last sentence praises March and leaves out by how much.",
            path="report.ipynb",
            old=in_cell("it brought in 20 % more than February, most of it by cake."),
            new=in_cell("it went really well, as everybody can see."),
            breaks=("c5",),
            costs={"reading": 3.0},
            form=True,
        ),
        Defect(
            id="first-month-undocumented",
            says="The docstring of growth is silent about the first month.",
            path="report.ipynb",
            old=in_cell("The first month has None, and so has a month after one without sales."),
            new=in_cell("Months come in the order that they have."),
            breaks=("c6",),
            costs={"reading": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="report",
    title="A notebook that reports sales",
    prompt=(
        "Make me a notebook report.ipynb on our bakery's sales, which runs from top to bottom:"
        " January bread 1200, cake 300, rolls 500; February 1100, 450, 450; March 1300, 700, 400 (euros, 2024)."
        " It should have functions by_month, growth (percent against the month before) and best, print what they give,"
        " and end in one sentence that says what the numbers say."
    ),
    plan={
        "title": "A notebook that reports sales",
        "scope": "One notebook without dependencies: the sales, three functions, what they give, and a sentence in the end.",
        "deliverables": ["report.ipynb"],
        "steps": [
            planned(
                "Write the notebook so that it runs from top to bottom.", STEP_1, skill="notebooks", kind="notebook"
            )
        ],
        "criteria": [
            criterion(
                "correctness", "Runs from top to bottom and gives the right numbers, for other sales as well.", "high"
            ),
            criterion("reading", "Reads as a report: headings, one idea a cell, a last sentence that says something."),
        ],
    },
    steps=(STEP_1,),
    oracles=ORACLES,
)
