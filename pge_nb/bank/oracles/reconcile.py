"""Hidden inputs of the task `reconcile`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..values import Oracle, case


def entries(*told: tuple[int, int]) -> list[Json]:
    """Entries of May 2024: day and amount."""
    return [{"day": f"2024-05-{day:02}", "amount": amount} for day, amount in told]


NONE = entries()
RENT, WAGES = entries((1, -80000)), entries((28, 250000))
TWINS = entries((2, 500), (4, 500))

ORACLES = (
    Oracle(
        name="reconcile/match",
        call="matching.match",
        cases=(
            case(NONE, NONE, returns=[]),
            case(RENT, NONE, returns=[]),
            case(NONE, RENT, returns=[]),
            case(RENT, RENT, returns=[[0, 0]]),
            case(RENT, WAGES, returns=[]),
            case(entries((1, 100)), entries((1, -100)), returns=[]),
            case(entries((5, 100)), entries((8, 100)), returns=[[0, 0]]),
            case(entries((5, 100)), entries((9, 100)), returns=[]),
            case(entries((8, 100)), entries((5, 100)), returns=[[0, 0]]),
            case(entries((9, 100)), entries((5, 100)), returns=[]),
            case(entries((5, 100)), entries((6, 100)), 0, returns=[]),
            case(entries((5, 100)), entries((5, 100)), 0, returns=[[0, 0]]),
            case(entries((5, 100)), entries((12, 100)), 7, returns=[[0, 0]]),
            case(entries((5, 100)), entries((6, 101)), returns=[]),
            case(entries((5, 7), (5, 8), (6, 9)), entries((5, 9), (6, 8)), returns=[[1, 1], [2, 0]]),
            case(entries((5, 7), (6, 8), (7, 9)), entries((7, 9), (6, 8), (5, 7)), returns=[[0, 2], [1, 1], [2, 0]]),
            case(entries((5, 7), (6, 8)), entries((6, 1), (6, 8), (5, 7)), returns=[[0, 2], [1, 1]]),
            case(entries((4, 500)), TWINS, returns=[[0, 1]]),
            case(entries((3, 500)), TWINS, returns=[[0, 0]]),
            case(entries((5, 500), (5, 500)), TWINS, returns=[[0, 1], [1, 0]]),
            case(TWINS, TWINS, returns=[[0, 0], [1, 1]]),
            case(TWINS, entries((3, 500)), returns=[[0, 0]]),
            case(entries((2, 5), (2, 5), (2, 5)), entries((2, 5), (2, 5)), returns=[[0, 0], [1, 1]]),
            case(entries((9, 5), (2, 6)), entries((2, 6), (9, 5)), returns=[[0, 1], [1, 0]]),
            case(entries((9, 5), (8, 5)), entries((8, 5)), returns=[[0, 0]]),
        ),
    ),
    Oracle(
        name="reconcile/unmatched",
        call="balance.unmatched",
        cases=(
            case(NONE, NONE, returns={"bank": [], "books": []}),
            case(RENT, RENT, returns={"bank": [], "books": []}),
            case(RENT, NONE, returns={"bank": RENT, "books": []}),
            case(NONE, RENT, returns={"bank": [], "books": RENT}),
            case(RENT, WAGES, returns={"bank": RENT, "books": WAGES}),
            case(TWINS, entries((3, 500)), returns={"bank": entries((4, 500)), "books": []}),
            case(entries((3, 500)), TWINS, returns={"bank": [], "books": entries((4, 500))}),
            case(
                entries((1, 1), (2, 2)),
                entries((2, 2), (3, 3)),
                returns={"bank": entries((1, 1)), "books": entries((3, 3))},
            ),
            case(entries((1, 1), (2, 2)), NONE, returns={"bank": entries((1, 1), (2, 2)), "books": []}),
            case(entries((1, 1)), entries((6, 1)), 5, returns={"bank": [], "books": []}),
            case(entries((1, 1)), entries((2, 1)), 0, returns={"bank": entries((1, 1)), "books": entries((2, 1))}),
            case(TWINS, TWINS, returns={"bank": [], "books": []}),
        ),
    ),
    Oracle(
        name="reconcile/summary",
        call="balance.summary",
        cases=(
            case(NONE, NONE, returns="All 0 agree."),
            case(RENT, RENT, returns="All 1 agree."),
            case(TWINS, TWINS, returns="All 2 agree."),
            case(RENT, NONE, returns="0 agree, 1 missing in the books, 0 missing at the bank, difference -80000."),
            case(NONE, RENT, returns="0 agree, 0 missing in the books, 1 missing at the bank, difference +80000."),
            case(RENT, WAGES, returns="0 agree, 1 missing in the books, 1 missing at the bank, difference -330000."),
            case(
                TWINS,
                entries((3, 500)),
                returns="1 agree, 1 missing in the books, 0 missing at the bank, difference +500.",
            ),
            case(
                entries((3, 500)),
                TWINS,
                returns="1 agree, 0 missing in the books, 1 missing at the bank, difference -500.",
            ),
            case(
                entries((1, 5)),
                entries((9, 5)),
                returns="0 agree, 1 missing in the books, 1 missing at the bank, difference +0.",
            ),
            case(entries((1, 5)), entries((9, 5)), 8, returns="All 1 agree."),
            case(TWINS, NONE, returns="0 agree, 2 missing in the books, 0 missing at the bank, difference +1000."),
            case(NONE, TWINS, returns="0 agree, 0 missing in the books, 2 missing at the bank, difference -1000."),
        ),
    ),
)
