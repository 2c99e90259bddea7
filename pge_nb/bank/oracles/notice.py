"""Hidden inputs of the task `notice`: what must stand in the texts, what must not, and how long they may be."""

from __future__ import annotations

from ..readers import source
from ..values import Case, Oracle, case

WHEN, OPEN, LOANS, QUESTIONS = "When", "What stays open", "Your loans", "Questions"


def states(heading: str, *phrases: str) -> tuple[Case, ...]:
    """Facts that must stand under a heading."""
    return tuple(case(heading, phrase, returns=True) for phrase in phrases)


def never(*phrases: str) -> tuple[Case, ...]:
    """Claims that must stand nowhere."""
    return tuple(case("says", phrase, returns=False) for phrase in phrases)


def says(*phrases: str) -> tuple[Case, ...]:
    """Facts that must stand somewhere."""
    return tuple(case("says", phrase, returns=True) for phrase in phrases)


ORACLES = (
    Oracle(
        name="notice/facts",
        call="notice.states",
        reader=source("notice"),
        cases=(
            *states(WHEN, "closed", "Monday 3 March", "Monday 24 March", "2025", "Tuesday 25 March", "10:00"),
            *states(OPEN, "book drop", "side door", "mobile library", "Market Square", "Wednesday", "14:00", "17:00"),
            *states(OPEN, "e-books"),
            *states(LOANS, "31 March", "no fines", "5 April", "reserved"),
            *states(QUESTIONS, "555 0142", "library@example.org"),
        ),
    ),
    Oracle(
        name="notice/limits",
        call="notice.limits",
        reader=source("notice"),
        cases=(
            *never("Sunday", "waived", "delivered", "posted to you", "discount", "free of charge", "permanently"),
            *never("22 March", "26 March", "1 April", "asbestos"),
            case("words", 100, 150, returns=True),
            case("foreign", 0, 0, returns=True),
        ),
    ),
    Oracle(
        name="notice/message",
        call="notice.message",
        reader=source("notice"),
        cases=(
            *says("library", "closed", "3 to 24 March", "roof", "25 March", "10:00", "Tue", "again"),
            *says("loans", "31 March", "extended", "no fines", "555 0142"),
            *never("#", "http", "!!", "5 April", "Sunday", "waived", "23 March"),
            case("characters", 60, 160, returns=True),
            case("foreign", 0, 0, returns=True),
        ),
    ),
)
