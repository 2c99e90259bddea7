"""Hidden inputs of the task `money`, with outcomes worked out by hand."""

from __future__ import annotations

from ..values import Oracle, case, pairs, refuses

ORACLES = (
    Oracle(
        name="money/parse_amount",
        call="money.parse_amount",
        cases=(
            *pairs(
                ("12.50", 1250),
                ("$12.50", 1250),
                ("12", 1200),
                ("0", 0),
                ("0.00", 0),
                ("0.07", 7),
                ("$0.29", 29),
                ("12.5", 1250),
                ("$0.3", 30),
                ("1,234.50", 123450),
                ("$1,234,567.89", 123456789),
                ("1234567.8", 123456780),
                ("-5", -500),
                ("-$0.05", -5),
                ("-1,000.5", -100050),
                ("  7.25 ", 725),
                ("\t19.99\n", 1999),
            ),
            *refuses(
                "ValueError", "", "   ", "abc", "1,23", "12.345", "12 dollars", "1,2345", "$", "--5", ".5", "\u0663"
            ),
        ),
    ),
    Oracle(
        name="money/format_amount",
        call="money.format_amount",
        cases=pairs(
            (0, "$0.00"),
            (5, "$0.05"),
            (3, "$0.03"),
            (9, "$0.09"),
            (10, "$0.10"),
            (99, "$0.99"),
            (100, "$1.00"),
            (107, "$1.07"),
            (1250, "$12.50"),
            (99999, "$999.99"),
            (100000, "$1,000.00"),
            (123450, "$1,234.50"),
            (123456789, "$1,234,567.89"),
            (-5, "-$0.05"),
            (-100, "-$1.00"),
            (-1250, "-$12.50"),
            (-123456, "-$1,234.56"),
        ),
    ),
    Oracle(
        name="money/split",
        call="bill.split",
        cases=(
            case(1000, 3, returns=[334, 333, 333]),
            case(1000, 4, returns=[250, 250, 250, 250]),
            case(1001, 4, returns=[251, 250, 250, 250]),
            case(1003, 4, returns=[251, 251, 251, 250]),
            case(0, 2, returns=[0, 0]),
            case(1, 3, returns=[1, 0, 0]),
            case(2, 3, returns=[1, 1, 0]),
            case(7, 7, returns=[1, 1, 1, 1, 1, 1, 1]),
            case(100, 1, returns=[100]),
            case(999, 2, returns=[500, 499]),
            case(-10, 3, returns=[-3, -3, -4]),
            case(123457, 5, returns=[24692, 24692, 24691, 24691, 24691]),
            case(10, 0, raises="ValueError"),
            case(10, -1, raises="ValueError"),
        ),
    ),
    Oracle(
        name="money/statement",
        call="bill.statement",
        cases=(
            case("$10.00", ["Ann", "Bob", "Cy"], returns=["Ann owes $3.34", "Bob owes $3.33", "Cy owes $3.33"]),
            case("10", ["Ann", "Bob"], returns=["Ann owes $5.00", "Bob owes $5.00"]),
            case("9.99", ["Bob", "Ann"], returns=["Bob owes $5.00", "Ann owes $4.99"]),
            case("0", ["Ann"], returns=["Ann owes $0.00"]),
            case("20", ["Zoë", "Ann"], 10, returns=["Zoë owes $11.00", "Ann owes $11.00"]),
            case("20", ["Ann", "Bob"], tip=15, returns=["Ann owes $11.50", "Bob owes $11.50"]),
            case("9.99", ["Ann"], tip=15, returns=["Ann owes $11.49"]),  # a tip of 149.85 cents
            case("0.10", ["Ann"], tip=5, returns=["Ann owes $0.11"]),  # a tip of half a cent
            case("0.30", ["Ann"], tip=15, returns=["Ann owes $0.35"]),  # a tip of 4.5 cents
            case("10.01", ["Ann"], tip=10, returns=["Ann owes $11.01"]),  # a tip of 100.1 cents
            case("$5,000", ["Ann", "Bob"], returns=["Ann owes $2,500.00", "Bob owes $2,500.00"]),
            case("0.01", ["Ann", "Bob"], returns=["Ann owes $0.01", "Bob owes $0.00"]),
            case("100", ["Dee", "Cy", "Bob"], returns=["Dee owes $33.34", "Cy owes $33.33", "Bob owes $33.33"]),
            case("10", [], raises="ValueError"),
            case("ten", ["Ann"], raises="ValueError"),
        ),
    ),
)
