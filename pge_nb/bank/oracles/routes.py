"""Hidden inputs of the task `routes`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..values import Oracle, case, pairs, refuses

LINE: Json = [["A", "B", 2], ["B", "C", 3], ["C", "D", 1]]
SQUARE: Json = [["A", "B", 1], ["B", "D", 1], ["A", "C", 1], ["C", "D", 1]]
DETOUR: Json = [["A", "B", 1], ["B", "C", 1], ["C", "D", 1], ["A", "D", 5]]
TWICE: Json = [["A", "B", 7], ["B", "A", 4], ["B", "C", 1]]
APART: Json = [["A", "B", 1], ["C", "D", 1]]
BACK: Json = [["C", "B", 2], ["B", "A", 2], ["C", "A", 9]]

ORACLES = (
    Oracle(
        name="routes/shortest",
        call="routes.shortest",
        cases=(
            case(LINE, "A", "D", returns=["A", "B", "C", "D"]),
            case(LINE, "D", "A", returns=["D", "C", "B", "A"]),
            case(LINE, "B", "C", returns=["B", "C"]),
            case(LINE, "A", "A", returns=["A"]),
            case(LINE, "A", "Z", returns=None),
            case(SQUARE, "A", "D", returns=["A", "B", "D"]),
            case(SQUARE, "D", "A", returns=["D", "B", "A"]),
            case(SQUARE, "B", "C", returns=["B", "A", "C"]),
            case(DETOUR, "A", "D", returns=["A", "B", "C", "D"]),
            case(DETOUR, "D", "A", returns=["D", "C", "B", "A"]),
            case(DETOUR, "A", "C", returns=["A", "B", "C"]),
            case(TWICE, "A", "C", returns=["A", "B", "C"]),
            case(APART, "A", "D", returns=None),
            case(BACK, "A", "C", returns=["A", "B", "C"]),
            case(BACK, "C", "A", returns=["C", "B", "A"]),
            case([["A", "B", 0], ["B", "C", 0]], "A", "C", returns=["A", "B", "C"]),
            case([["A", "B", 1.5], ["B", "C", 1.5], ["A", "C", 3.1]], "A", "C", returns=["A", "B", "C"]),
            case([["A", "B", 1]], "B", "A", returns=["B", "A"]),
            case([["A", "B", -1]], "A", "B", raises="ValueError"),
        ),
    ),
    Oracle(
        name="routes/length",
        call="routes.length",
        cases=(
            case(LINE, ["A", "B"], returns=2),
            case(LINE, ["A", "B", "C", "D"], returns=6),
            case(LINE, ["D", "C"], returns=1),
            case(LINE, ["A"], returns=0),
            case(LINE, [], returns=0),
            case(TWICE, ["A", "B"], returns=4),
            case(TWICE, ["C", "B", "A"], returns=5),
            case(LINE, ["A", "B", "A"], returns=4),
            case(LINE, ["A", "C"], raises="ValueError"),
            case(LINE, ["A", "B", "D"], raises="ValueError"),
            case(LINE, ["A", "Z"], raises="ValueError"),
            case([["A", "B", -2]], ["A", "B"], raises="ValueError"),
        ),
    ),
    Oracle(
        name="routes/in_order",
        call="order.in_order",
        cases=(
            *pairs(
                ({}, []),
                ({"a": []}, ["a"]),
                ({"b": [], "a": []}, ["a", "b"]),
                ({"a": ["b"], "b": []}, ["b", "a"]),
                ({"a": ["b"]}, ["b", "a"]),
                ({"a": ["c"], "b": []}, ["b", "c", "a"]),
                ({"a": [], "b": ["a"], "c": ["b"]}, ["a", "b", "c"]),
                ({"c": ["b"], "b": ["a"], "a": []}, ["a", "b", "c"]),
                ({"a": ["b", "c"], "b": [], "c": []}, ["b", "c", "a"]),
                ({"d": ["b", "c"], "c": ["a"], "b": ["a"], "a": []}, ["a", "b", "c", "d"]),
                ({"a": ["d"], "b": ["d"], "c": [], "d": []}, ["c", "d", "a", "b"]),
                (
                    {"load": ["wash"], "drive": ["load", "fuel"], "wash": [], "fuel": []},
                    ["fuel", "wash", "load", "drive"],
                ),
                ({"a": ["b", "b"], "b": []}, ["b", "a"]),
                ({"x": ["y"], "z": ["y"], "y": []}, ["y", "x", "z"]),
                ({"b": ["z"], "a": ["z"], "z": []}, ["z", "a", "b"]),
                ({"1": ["2"], "3": ["1"]}, ["2", "1", "3"]),
            ),
            *refuses(
                "ValueError",
                {"a": ["a"]},
                {"a": ["b"], "b": ["a"]},
                {"a": [], "b": ["c"], "c": ["b"]},
                {"a": ["b"], "b": ["c"], "c": ["a"], "d": []},
            ),
        ),
    ),
)
