"""Practice task: a bank statement held against the books."""

from __future__ import annotations

from .oracles.reconcile import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

MATCHING = r'''"""Which entry of a bank statement belongs to which entry of the books."""

from datetime import date
from typing import TypedDict


class Entry(TypedDict):
    """A payment: its day as in 2024-12-31, and its amount in cents, below 0 where it went out."""

    day: str
    amount: int


def match(statement: list[Entry], books: list[Entry], days: int = 3) -> list[tuple[int, int]]:
    """Give pairs of places, statement first: entries of equal amount that lie so many days apart at most.

    Each entry of the statement, in its order, gets the entry of the books that is nearest in time and still free, and of two
    equally near ones the earlier in the list. Entries without a partner are left out.
    """
    pairs = []
    free = set(range(len(books)))
    for place, entry in enumerate(statement):
        near = [
            (apart(entry, books[other]), other)
            for other in free
            if books[other]["amount"] == entry["amount"] and apart(entry, books[other]) <= days
        ]
        if near:
            other = min(near)[1]
            free.remove(other)
            pairs.append((place, other))
    return pairs


def apart(one: Entry, other: Entry) -> int:
    """Give the days between two entries."""
    return abs((date.fromisoformat(one["day"]) - date.fromisoformat(other["day"])).days)
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("matching.py",),
    checks=(
        by_oracle("match pairs entries of equal amount that are near in time, each at most once.", "reconcile/match"),
        by_command(
            "match leaves the statement and the books as they were.",
            "python",
            "-c",
            "from matching import match; a = [{'day': '2024-05-02', 'amount': 5}, {'day': '2024-05-01', 'amount': 5}]; b = a[:];"
            " match(a, b); print([entry['day'][-1] for entry in a + b])",
            prints="['2', '1', '2', '1']",
        ),
        by_judge("The docstring of match says which of two equally near entries is taken."),
    ),
    first_checks=(0, 2),
    objection="The lists are the accountant's: add a check that match leaves them as they were.",
    solution={"matching.py": MATCHING},
    defects=(
        Defect(
            id="taken-twice",
            says="match gives one entry of the books to several of the statement.",
            path="matching.py",
            old="            free.remove(other)\n",
            new="",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="sign-ignored",
            says="match pairs a payment with one of the same amount in the other direction.",
            path="matching.py",
            old='books[other]["amount"] == entry["amount"]',
            new='abs(books[other]["amount"]) == abs(entry["amount"])',
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="last-day-excluded",
            says="match leaves out entries that lie exactly so many days apart.",
            path="matching.py",
            old="apart(entry, books[other]) <= days",
            new="apart(entry, books[other]) < days",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="first-not-nearest",
            says="match takes the first entry that fits, not the nearest.",
            path="matching.py",
            old="other = min(near)[1]",
            new="other = min(place for _, place in near)",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="earlier-alone",
            says="match pairs no entry with one of the books that is earlier.",
            path="matching.py",
            old='return abs((date.fromisoformat(one["day"]) - date.fromisoformat(other["day"])).days)',
            new='gap = (date.fromisoformat(other["day"]) - date.fromisoformat(one["day"])).days\n'
            "    return gap if gap >= 0 else 10_000",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="books-first",
            says="match gives the place in the books first.",
            path="matching.py",
            old="pairs.append((place, other))",
            new="pairs.append((other, place))",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="amounts-alone",
            says="match gives amounts instead of places, from which nobody can tell which entry is meant.",
            path="matching.py",
            old="    return pairs\n",
            new='    return [(statement[place]["amount"], books[other]["amount"]) for place, other in pairs]\n',
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="statement-sorted-in-place",
            says="match sorts the caller's own statement.",
            path="matching.py",
            old="    pairs = []\n",
            new='    statement.sort(key=lambda entry: entry["day"])\n    pairs = []\n',
            breaks=("c1", "c2"),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="ties-undocumented",
            says="The docstring of match is silent about entries that are equally near.",
            path="matching.py",
            old="nearest in time and still free, and of two\n    equally near ones the earlier in the list. Entries",
            new="nearest in time and still\n    free. Entries",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

BALANCE = r'''"""What a bank statement and the books do not agree on."""

from matching import Entry, match


def unmatched(statement: list[Entry], books: list[Entry], days: int = 3) -> dict[str, list[Entry]]:
    """Give the entries without a partner, in their order: those of the "bank", and those of the "books"."""
    pairs = match(statement, books, days)
    bank, own = {place for place, _ in pairs}, {place for _, place in pairs}
    return {
        "bank": [entry for place, entry in enumerate(statement) if place not in bank],
        "books": [entry for place, entry in enumerate(books) if place not in own],
    }


def summary(statement: list[Entry], books: list[Entry], days: int = 3) -> str:
    """Give one line: how many entries agree, how many are missing where, and by how many cents the two differ.

    The difference is the statement's total less that of the books. Where nothing is missing the line is "All 3 agree.", say.
    """
    missing = unmatched(statement, books, days)
    agree = len(statement) - len(missing["bank"])
    if not missing["bank"] and not missing["books"]:
        return f"All {agree} agree."
    difference = sum(entry["amount"] for entry in statement) - sum(entry["amount"] for entry in books)
    return (
        f"{agree} agree, {len(missing['bank'])} missing in the books, {len(missing['books'])} missing at the bank, "
        f"difference {difference:+d}."
    )
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("balance.py",),
    checks=(
        by_oracle("unmatched gives what has no partner, on either side.", "reconcile/unmatched"),
        by_oracle("summary counts what agrees and what is missing, and tells the difference.", "reconcile/summary"),
        by_file("balance.py pairs entries with match.", "balance.py", matches=r"(?m)^from matching import .*match"),
        by_judge("summary counts on unmatched and pairs nothing a second time."),
        by_judge("The docstring of summary says which total is taken from which."),
    ),
    first_checks=(0, 1, 2, 3),
    objection="A difference without a direction helps nobody: add a check that the docstring tells it.",
    solution={"balance.py": BALANCE},
    defects=(
        Defect(
            id="sides-swapped",
            says="unmatched gives the entries of the bank as those of the books, and the other way round.",
            path="balance.py",
            old="""        "bank": [entry for place, entry in enumerate(statement) if place not in bank],
        "books": [entry for place, entry in enumerate(books) if place not in own],
""",
            new="""        "books": [entry for place, entry in enumerate(statement) if place not in bank],
        "bank": [entry for place, entry in enumerate(books) if place not in own],
""",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="days-not-passed-on",
            says="unmatched always allows three days.",
            path="balance.py",
            old="pairs = match(statement, books, days)",
            new="pairs = match(statement, books)",
            breaks=("c1", "c2"),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="difference-turned",
            says="summary takes the statement's total from that of the books.",
            path="balance.py",
            old='sum(entry["amount"] for entry in statement) - sum(entry["amount"] for entry in books)',
            new='sum(entry["amount"] for entry in books) - sum(entry["amount"] for entry in statement)',
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="books-not-counted",
            says="summary says that all agree where entries of the books alone are missing.",
            path="balance.py",
            old='if not missing["bank"] and not missing["books"]:',
            new='if not missing["bank"]:',
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="plus-left-out",
            says="summary writes a difference above 0 without its sign.",
            path="balance.py",
            old="{difference:+d}",
            new="{difference}",
            breaks=("c2",),
            costs={"clarity": 2.0},
        ),
        Defect(
            id="paired-again",
            says="summary pairs all entries a second time to count those that agree.",
            path="balance.py",
            old='len(statement) - len(missing["bank"])',
            new="len(match(statement, books, days))",
            breaks=("c4",),
            costs={"clarity": 1.5},
            form=True,
        ),
        Defect(
            id="direction-undocumented",
            says="The docstring of summary is silent about which total is taken from which.",
            path="balance.py",
            old="    The difference is the statement's total less that of the books. Where",
            new="    Where",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="reconcile",
    title="A bank statement against the books",
    prompt=(
        "Every month I tick off our bank statement against the books with a ruler."
        " Write Python that pairs entries of equal amount which lie at most three days apart, each only once,"
        " lists what is left over on either side, and sums it up in one line with the difference in cents."
    ),
    plan={
        "title": "A bank statement against the books",
        "scope": "Two Python modules on the standard library alone: pairs of entries, and what remains without a partner.",
        "deliverables": ["matching.py", "balance.py"],
        "steps": [
            planned("Pair the entries of a statement with those of the books.", STEP_1, skill="matching"),
            planned("Say what is left over and sum it up.", STEP_2, skill="accounting", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Every entry finds its partner or is listed; no cent is lost.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Leaves its input alone and stands empty lists.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
