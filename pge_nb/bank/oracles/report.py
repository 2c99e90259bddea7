"""Hidden inputs of the task `report`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..readers import source
from ..values import Oracle, case

MIXED: Json = [["2023-11", "a", 10], ["2023-12", "b", 20], ["2023-11", "b", 5], ["2023-12", "a", 30]]
BACKWARD: Json = [["2024-02", "a", 7], ["2024-01", "a", 3], ["2023-12", "a", 1]]
TIED: Json = [["2024-01", "rye", 50], ["2024-01", "buns", 50], ["2024-01", "cake", 60]]
FOUR: Json = [["2024-01", "d", 4], ["2024-01", "c", 3], ["2024-01", "b", 2], ["2024-01", "a", 1]]

ORACLES = (
    Oracle(
        name="report/functions",
        call="report.gives",
        reader=source("report"),
        cases=(
            case("by_month", [], returns=[]),
            case("by_month", [["2024-01", "a", 5]], returns=[["2024-01", 5]]),
            case("by_month", MIXED, returns=[["2023-11", 15], ["2023-12", 50]]),
            case("by_month", BACKWARD, returns=[["2023-12", 1], ["2024-01", 3], ["2024-02", 7]]),
            case("by_month", TIED, returns=[["2024-01", 160]]),
            case("by_month", FOUR, returns=[["2024-01", 10]]),
            case("by_month", [["2024-01", "a", 0]], returns=[["2024-01", 0]]),
            case("by_month", [["2024-01", "a", 5], ["2024-01", "a", -2]], returns=[["2024-01", 3]]),
            case("growth", [], returns=[]),
            case("growth", [["2024-01", 80]], returns=[["2024-01", None]]),
            case("growth", [["a", 100], ["b", 150]], returns=[["a", None], ["b", 50.0]]),
            case("growth", [["a", 100], ["b", 80], ["c", 80]], returns=[["a", None], ["b", -20.0], ["c", 0.0]]),
            case("growth", [["a", 3], ["b", 4]], returns=[["a", None], ["b", 33.3]]),
            case("growth", [["a", 0], ["b", 5], ["c", 10]], returns=[["a", None], ["b", None], ["c", 100.0]]),
            case("growth", [["a", 8], ["b", 0]], returns=[["a", None], ["b", -100.0]]),
            case("growth", [["a", 8], ["b", 0], ["c", 4]], returns=[["a", None], ["b", -100.0], ["c", None]]),
            case("growth", [["a", 160], ["b", 161]], returns=[["a", None], ["b", 0.6]]),
            case("best", [], returns=[]),
            case("best", MIXED, returns=["a", "b"]),
            case("best", TIED, returns=["cake", "buns"]),
            case("best", TIED, count=1, returns=["cake"]),
            case("best", TIED, count=3, returns=["cake", "buns", "rye"]),
            case("best", FOUR, returns=["d", "c"]),
            case("best", FOUR, count=4, returns=["d", "c", "b", "a"]),
            case("best", FOUR, count=9, returns=["d", "c", "b", "a"]),
            case("best", BACKWARD, returns=["a"]),
        ),
    ),
    Oracle(
        name="report/parts",
        call="report.part",
        reader=source("report"),
        cases=(
            case("heading", "## Sales", returns=1),
            case("heading", "## Months", returns=1),
            case("heading", "## Products", returns=1),
            case("heading", "## What the numbers say", returns=1),
            case("cells", "code", returns=4),
            *(
                case("value", f"2024-{month} {product}", returns=amount)
                for month, amounts in (("01", (1200, 300, 500)), ("02", (1100, 450, 450)), ("03", (1300, 700, 400)))
                for product, amount in zip(("bread", "cake", "rolls"), amounts, strict=True)
            ),
        ),
    ),
)
