"""Hidden inputs of the task `registration`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..readers import source
from ..values import Oracle, case, pairs

NAME, EMAIL = "3 to 20 letters, digits or _", "no address"
SHORT, MIXED, WITHOUT = "at least 8 characters", "a letter and a digit", "without the name"


def form(name: str = "ada", email: str = "ada@example.org", word: str = "engine 1843") -> dict[str, Json]:
    """A sound form, but for what is said."""
    return {"name": name, "email": email, "password": word}


ADA = form()
BOB = form("Bob", "bob@example.org", "tables 2024")
CLEO = form("cleo_7", "cleo@example.org", "asp or 2 asps")

ORACLES = (
    Oracle(
        name="registration/faults",
        call="rules.faults",
        cases=pairs(
            (ADA, {}),
            (BOB, {}),
            (CLEO, {}),
            (form("a_1"), {}),
            (form("x" * 20), {}),
            (form("x" * 21), {"name": NAME}),
            (form("ab"), {"name": NAME}),
            (form(""), {"name": NAME}),
            (form("ada lovelace"), {"name": NAME}),
            (form("ada!"), {"name": NAME}),
            (form("\u00c4nne"), {"name": NAME}),
            (form("  ada "), {}),
            (form(email=" ada@example.org\n"), {}),
            (form(email="ada.l+x@mail.example.co.uk"), {}),
            (form(email="ada"), {"email": EMAIL}),
            (form(email="@example.org"), {"email": EMAIL}),
            (form(email="ada@@example.org"), {"email": EMAIL}),
            (form(email="ada@localhost"), {"email": EMAIL}),
            (form(email="ada@example."), {"email": EMAIL}),
            (form(email="ada love@example.org"), {"email": EMAIL}),
            (form(word="engine1"), {"password": SHORT}),
            (form(word="engine 1"), {}),
            (form(word=""), {"password": SHORT}),
            (form(word="analytical"), {"password": MIXED}),
            (form(word="18431852"), {"password": MIXED}),
            (form(word="ada 18431852"), {"password": WITHOUT}),
            (form(word="xxADAxx1843"), {"password": WITHOUT}),
            ({}, {"name": NAME, "email": EMAIL, "password": SHORT}),
            ({"name": "ada"}, {"email": EMAIL, "password": SHORT}),
            (form("a", "b", "c"), {"name": NAME, "email": EMAIL, "password": SHORT}),
        ),
    ),
    Oracle(
        name="registration/register",
        call="club.registered",
        reader=source("club"),
        cases=pairs(
            ([], []),
            ([ADA], ["stored"]),
            ([ADA, BOB, CLEO], ["stored"] * 3),
            ([ADA, ADA], ["stored", {"name": "taken", "email": "taken"}]),
            ([ADA, form("ADA", "other@example.org")], ["stored", {"name": "taken"}]),
            ([form("Ada"), form("ada", "other@example.org")], ["stored", {"name": "taken"}]),
            ([BOB, form("bOB", "other@example.org")], ["stored", {"name": "taken"}]),
            ([ADA, form("other")], ["stored", {"email": "taken"}]),
            ([ADA, form("other", "ADA@example.org")], ["stored", {"email": "taken"}]),
            ([form(email="Ada@Example.org"), form("other")], ["stored", {"email": "taken"}]),
            ([ADA, form("other", " ada@example.org ")], ["stored", {"email": "taken"}]),
            ([form("x"), ADA], [{"name": NAME}, "stored"]),
            ([form(word="short"), ADA], [{"password": SHORT}, "stored"]),
            ([ADA, form("other", word="short")], ["stored", {"password": SHORT, "email": "taken"}]),
            ([ADA, form("ada", "bob", "tables 2024")], ["stored", {"email": EMAIL, "name": "taken"}]),
            ([form(" ada "), ADA], ["stored", {"name": "taken", "email": "taken"}]),
            ([{}, {}], [{"name": NAME, "email": EMAIL, "password": SHORT}] * 2),
        ),
    ),
    Oracle(
        name="registration/log_in",
        call="club.opened",
        reader=source("club"),
        cases=(
            case([ADA], "ada", "engine 1843", returns=True),
            case([ADA, BOB], "bob", "tables 2024", returns=True),
            case([ADA, BOB], "Bob", "tables 2024", returns=True),
            case([ADA, BOB], " ada ", "engine 1843", returns=True),
            case([BOB], "BOB", "tables 2024", returns=True),
            case([ADA], "ada", "engine 1844", returns=False),
            case([ADA], "ada", "Engine 1843", returns=False),
            case([ADA], "ada", "engine 1843 ", returns=False),
            case([ADA], "ada", "", returns=False),
            case([ADA, BOB], "ada", "tables 2024", returns=False),
            case([], "ada", "engine 1843", returns=False),
            case([ADA], "eve", "engine 1843", returns=False),
            case([ADA], "", "engine 1843", returns=False),
            case([form(word="short")], "ada", "short", returns=False),
        ),
    ),
)
