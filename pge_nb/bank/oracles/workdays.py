"""Hidden inputs of the task `workdays`, with outcomes looked up in a calendar."""

from __future__ import annotations

from ...payloads import Json
from ..values import Oracle, case

YEAR_END: Json = ["2024-12-25", "2024-12-26", "2025-01-01"]
MAY_DAY: Json = ["2024-05-01"]

ORACLES = (
    Oracle(
        name="workdays/add_workdays",
        call="workdays.add_workdays",
        cases=(
            case("2024-06-03", 1, returns="2024-06-04"),
            case("2024-06-03", 4, returns="2024-06-07"),
            case("2024-06-03", 5, returns="2024-06-10"),
            case("2024-06-07", 1, returns="2024-06-10"),
            case("2024-06-08", 1, returns="2024-06-10"),
            case("2024-06-09", 2, returns="2024-06-11"),
            case("2024-06-03", 10, returns="2024-06-17"),
            case("2024-06-03", 0, returns="2024-06-03"),
            case("2024-06-08", 0, returns="2024-06-08"),
            case("2024-06-10", -1, returns="2024-06-07"),
            case("2024-06-05", -2, returns="2024-06-03"),
            case("2024-06-09", -1, returns="2024-06-07"),
            case("2024-04-30", 1, MAY_DAY, returns="2024-05-02"),
            case("2024-05-02", -1, MAY_DAY, returns="2024-04-30"),
            case("2024-12-24", 1, YEAR_END, returns="2024-12-27"),
            case("2024-12-24", 5, YEAR_END, returns="2025-01-03"),
            case("2024-02-28", 1, returns="2024-02-29"),
            case("2023-02-28", 1, returns="2023-03-01"),
            case("2024-06-31", 1, raises="ValueError"),
            case("today", 1, raises="ValueError"),
        ),
    ),
    Oracle(
        name="workdays/workdays_between",
        call="workdays.workdays_between",
        cases=(
            case("2024-06-03", "2024-06-03", returns=0),
            case("2024-06-03", "2024-06-04", returns=1),
            case("2024-06-03", "2024-06-08", returns=5),
            case("2024-06-07", "2024-06-10", returns=1),
            case("2024-06-08", "2024-06-10", returns=0),
            case("2024-06-03", "2024-06-17", returns=10),
            case("2024-04-29", "2024-05-03", MAY_DAY, returns=3),
            case("2024-12-23", "2025-01-03", YEAR_END, returns=6),
            case("2024-12-25", "2024-12-27", YEAR_END, returns=0),
            case("2024-02-26", "2024-03-02", returns=5),
            case("2024-06-04", "2024-06-03", raises="ValueError"),
            case("2025-01-01", "2024-01-01", raises="ValueError"),
        ),
    ),
    Oracle(
        name="workdays/add_months",
        call="terms.add_months",
        cases=(
            case("2024-01-15", 1, returns="2024-02-15"),
            case("2024-01-15", 2, returns="2024-03-15"),
            case("2024-03-01", 0, returns="2024-03-01"),
            case("2024-03-15", 6, returns="2024-09-15"),
            case("2024-01-31", 1, returns="2024-02-29"),
            case("2023-01-31", 1, returns="2023-02-28"),
            case("2024-03-31", 1, returns="2024-04-30"),
            case("2024-11-15", 1, returns="2024-12-15"),
            case("2024-12-15", 1, returns="2025-01-15"),
            case("2024-10-10", 5, returns="2025-03-10"),
            case("2024-02-29", 12, returns="2025-02-28"),
            case("2024-06-15", -2, returns="2024-04-15"),
            case("2024-02-15", -3, returns="2023-11-15"),
            case("2024-06-01", 3, returns="2024-09-01"),
        ),
    ),
    Oracle(
        name="workdays/due",
        call="terms.due",
        cases=(
            case("2024-06-03", returns="2024-07-03"),
            case("2024-06-03", 1, returns="2024-06-04"),
            case("2024-06-03", 14, returns="2024-06-17"),
            case("2024-06-03", 5, returns="2024-06-10"),
            case("2024-06-03", 6, returns="2024-06-10"),
            case("2024-06-03", 0, returns="2024-06-03"),
            case("2024-06-08", 0, returns="2024-06-10"),
            case("2024-04-24", 7, MAY_DAY, returns="2024-05-02"),
            case("2024-12-11", 14, YEAR_END, returns="2024-12-27"),
            case("2024-12-20", 12, YEAR_END, returns="2025-01-02"),
            case("2024-02-27", 2, returns="2024-02-29"),
            case("2024-01-29", returns="2024-02-28"),
        ),
    ),
)
