"""Hidden inputs of the task `page`, with outcomes worked out by hand."""

from __future__ import annotations

from ..readers import source
from ..values import Case, Oracle, case

MISSING = "Please give length, width and height."
NO_COAT = "Please give at least one coat."


def room(length: str, width: str, height: str, openings: str = "", coats: str = "2", *, shows: str) -> Case:
    """A room that is typed in, and what the page shows."""
    fields = {"length": length, "width": width, "height": height, "openings": openings, "coats": coats}
    return Case(args=(), kwargs=fields, returns=shows)


def paint(litres: str, tins: int) -> str:
    """The answer to a whole room."""
    return f"{litres} litres, that is {tins} tin{'' if tins == 1 else 's'} of 2.5 litres."


ORACLES = (
    Oracle(
        name="page/answer",
        call="page.answer",
        reader=source("page"),
        cases=(
            room("4", "3", "2.5", shows=paint("7.0", 3)),
            room("4", "3", "2.5", "5", shows=paint("6.0", 3)),
            room("4", "3", "2.5", "5", "1", shows=paint("3.0", 2)),
            room("4", "3", "2.5", "", "1", shows=paint("3.5", 2)),
            room("5", "5", "2.5", shows=paint("10.0", 4)),
            room("5", "5", "2.5", "0", "1", shows=paint("5.0", 2)),
            room("6", "4", "3", "10", shows=paint("10.0", 4)),
            room("6", "4", "3", shows=paint("12.0", 5)),
            room("2", "2", "2.5", "7.5", "1", shows=paint("1.3", 1)),
            room("2", "3", "2.5", "0", "1", shows=paint("2.5", 1)),
            room("2", "2", "2", "1", "1", shows=paint("1.5", 1)),
            room("10", "8", "3", "20", shows=paint("17.6", 8)),
            room("10", "8", "3", "20", "3", shows=paint("26.4", 11)),
            room("3", "3", "2.4", "2", shows=paint("5.4", 3)),
            room("1", "1", "2", "9", shows=paint("0.0", 0)),
            room("1", "1", "1", "100", "1", shows=paint("0.0", 0)),
            room("", "3", "2.5", shows=MISSING),
            room("4", "", "2.5", shows=MISSING),
            room("4", "3", "", shows=MISSING),
            room("0", "3", "2.5", shows=MISSING),
            room("4", "3", "0", shows=MISSING),
            room("", "", "", "", "", shows=MISSING),
            room("4", "3", "2.5", "", "0", shows=NO_COAT),
            room("4", "3", "2.5", "", "", shows=NO_COAT),
        ),
    ),
    Oracle(
        name="page/form",
        call="page.form",
        reader=source("page"),
        cases=(
            case("lang", returns="en"),
            case("label", "length", returns="Length of the room in metres"),
            case("label", "width", returns="Width of the room in metres"),
            case("label", "height", returns="Height of the walls in metres"),
            case("label", "openings", returns="Doors and windows in square metres"),
            case("label", "coats", returns="Coats"),
            case("type", "length", returns="number"),
            case("type", "width", returns="number"),
            case("type", "height", returns="number"),
            case("type", "openings", returns="number"),
            case("type", "coats", returns="number"),
            case("min", "length", returns="0"),
            case("min", "height", returns="0"),
            case("min", "coats", returns="1"),
            case("value", "coats", returns="2"),
            case("type", "work", returns="submit"),
            case("role", "answer", returns="status"),
        ),
    ),
)
