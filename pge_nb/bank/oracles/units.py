"""Hidden inputs of the task `units`, with outcomes worked out by hand."""

from __future__ import annotations

from ..values import Oracle, case, pairs, refuses

ORACLES = (
    Oracle(
        name="units/convert",
        call="units.convert",
        cases=(
            case(1, "km", "m", returns=1000),
            case(1, "m", "m", returns=1),
            case(250, "cm", "m", returns=2.5),
            case(1.5, "m", "mm", returns=1500),
            case(3, "km", "cm", returns=300000),
            case(1, "in", "cm", returns=2.54),
            case(10, "ft", "m", returns=3.048),
            case(1, "ft", "in", returns=12),
            case(1, "mi", "km", returns=1.609344),
            case(26.2, "mi", "m", returns=42164.8128),
            case(2, "kg", "g", returns=2000),
            case(1, "lb", "g", returns=453.59237),
            case(1, "lb", "oz", returns=16),
            case(8, "oz", "g", returns=226.796185),
            case(5, "mi", "ft", returns=26400),
            case(2, "lb", "kg", returns=0.907185),
            case(50, "mm", "cm", returns=5),
            case(6, "in", "mm", returns=152.4),
            case(500, "g", "kg", returns=0.5),
            case(1, "l", "ml", returns=1000),
            case(330, "ml", "l", returns=0.33),
            case(100, "c", "f", returns=212),
            case(32, "f", "c", returns=0),
            case(350, "f", "c", returns=176.666667),
            case(-40, "c", "f", returns=-40),
            case(20, "c", "c", returns=20),
            case(98.6, "f", "f", returns=98.6),
            case(0, "km", "mi", returns=0),
            case(5, "KM", "m", returns=5000),
            case(5, "kg", "G", returns=5000),
            case(1, "kg", "m", raises="ValueError"),
            case(1, "c", "km", raises="ValueError"),
            case(1, "parsec", "m", raises="KeyError"),
            case(1, "m", "", raises="KeyError"),
        ),
    ),
    Oracle(
        name="units/read",
        call="units.read",
        cases=(
            *pairs(
                ("5 km", [5, "km"]),
                ("5km", [5, "km"]),
                ("2.5 km", [2.5, "km"]),
                ("2,5 km", [2.5, "km"]),
                ("350 F", [350, "f"]),
                ("-40 C", [-40, "c"]),
                ("+3 l", [3, "l"]),
                (" 7 oz ", [7, "oz"]),
            ),
            *refuses("ValueError", "", "km", "5", "5 km 3"),
            *refuses("KeyError", "5 parsec", "5 x"),
        ),
    ),
)
