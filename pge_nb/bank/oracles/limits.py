"""Hidden inputs of the task `limits`, with outcomes worked out by hand."""

from __future__ import annotations

from ..readers import source
from ..values import Case, Oracle, case


def cached(size: int, calls: str, *answers: str | None, keys: str) -> Case:
    """A cache of this size, the calls, what the reads among them give, and the keys in the end."""
    return case(size, list(calls.split(", ")) if calls else [], returns=[*answers, list(keys.split())])


def allowed(limit: int, seconds: float, requests: str, answers: str) -> Case:
    """Requests such as "a1 b2.5" (who and when), and y or n for each."""
    return case(
        limit,
        seconds,
        [[one[0], float(one[1:])] for one in requests.split()],
        returns=[sign == "y" for sign in answers],
    )


def waits(limit: int, seconds: float, requests: str, answer: float) -> Case:
    """Requests, and how long the last of them waits."""
    return case(limit, seconds, [[one[0], float(one[1:])] for one in requests.split()], returns=answer)


ORACLES = (
    Oracle(
        name="limits/cache",
        call="limits.cached",
        reader=source("limits"),
        cases=(
            cached(2, "", keys=""),
            cached(2, "a=1", keys="a"),
            cached(2, "a=1, a", "1", keys="a"),
            cached(2, "a", None, keys=""),
            cached(2, "a or 5", "5", keys=""),
            cached(2, "a=1, a or 5, b or 6", "1", "6", keys="a"),
            cached(2, "a=1, b=2", keys="a b"),
            cached(2, "a=1, b=2, c=3", keys="b c"),
            cached(2, "a=1, b=2, c=3, a, c", None, "3", keys="b c"),
            cached(2, "a=1, b=2, a, c=3", "1", keys="a c"),
            cached(2, "a=1, b=2, a=9, c=3, a", "9", keys="c a"),
            cached(1, "a=1, b=2", keys="b"),
            cached(1, "a=1, a=2, a", "2", keys="a"),
            cached(1, "a=1, b=2, a, b", None, "2", keys="b"),
            cached(3, "a=1, b=2, c=3, d=4", keys="b c d"),
            cached(3, "a=1, b=2, c=3, a, d=4, b", "1", None, keys="c a d"),
            cached(3, "a=1, b=2, c=3, b=7, d=4, e=5", keys="b d e"),
            cached(3, "a=1, b=2, a or 9", "1", keys="b a"),
            cached(2, "a=1, b=2, x, c=3", None, keys="b c"),
            cached(2, "a=1, b=2, c=3, d=4, e=5", keys="d e"),
            cached(2, "a=1, b=2, c=3, c", "3", keys="b c"),
            cached(1, "a=1, b=2, c=3, c", "3", keys="c"),
            case(0, [], raises="ValueError"),
            case(-3, [], raises="ValueError"),
        ),
    ),
    Oracle(
        name="limits/allowed",
        call="limits.allowed",
        reader=source("limits"),
        cases=(
            allowed(2, 10, "a0", "y"),
            allowed(2, 10, "a0 a1", "yy"),
            allowed(2, 10, "a0 a1 a2", "yyn"),
            allowed(2, 10, "a0 b1 a2 b3", "yyyy"),
            allowed(2, 10, "a0 a1 b2 a3 b4 b5", "yyynyn"),
            allowed(2, 10, "a0 a1 a10", "yyy"),
            allowed(2, 10, "a0 a1 a9.5", "yyn"),
            allowed(2, 10, "a0 a1 a10 a10.5", "yyyn"),
            allowed(2, 10, "a0 a1 a10 a11", "yyyy"),
            allowed(1, 5, "a0 a1 a2 a3 a5", "ynnny"),
            allowed(1, 5, "a0 a4 a8 a12", "ynyn"),
            allowed(1, 5, "a0 b0 c0 a1", "yyyn"),
            allowed(3, 60, "a0 a20 a40 a59 a60", "yyyny"),
            allowed(0, 10, "a0 a20", "nn"),
            case(2, 10, [["a", 5.0], ["a", 4.0]], raises="ValueError"),
            case(2, 10, [["a", 5.0], ["b", 4.0]], raises="ValueError"),
        ),
    ),
    Oracle(
        name="limits/waits",
        call="limits.waits",
        reader=source("limits"),
        cases=(
            waits(2, 10, "a0", 0),
            waits(2, 10, "a0 a1", 0),
            waits(2, 10, "a0 a1 a2", 8),
            waits(2, 10, "a0 a4 a9.5", 0.5),
            waits(2, 10, "a0 a1 b2", 0),
            waits(2, 10, "a0 a1 a12", 0),
            waits(1, 5, "a0 a0", 5),
            waits(1, 5, "a0 a3", 2),
            waits(1, 5, "a0 a7", 0),
            waits(1, 5, "a0 b1 b4", 2),
            waits(3, 60, "a0 a20 a40 a50", 10),
            waits(3, 60, "a0 a20 a40 a61", 0),
        ),
    ),
)
