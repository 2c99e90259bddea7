"""Hidden inputs of the task `grid`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..values import Oracle, case, pairs, refuses

BLINKER: Json = [".....", ".....", ".###.", ".....", "....."]
TURNED: Json = [".....", "..#..", "..#..", "..#..", "....."]
BLOCK: Json = ["....", ".##.", ".##.", "...."]
GLIDER: Json = [".#...", "..#..", "###..", ".....", "....."]
FULL: Json = ["###", "###", "###"]
RING: Json = ["###", "#.#", "###"]

ORACLES = (
    Oracle(
        name="grid/step",
        call="life.step",
        cases=(
            *pairs(
                ([], []),
                (["."], ["."]),
                (["#"], ["."]),
                (["##"], [".."]),
                (["###"], [".#."]),
                (["#", "#", "#"], [".", "#", "."]),
                (["##", "##"], ["##", "##"]),
                (["##", "#."], ["##", "##"]),
                (["#.", ".#"], ["..", ".."]),
                (BLINKER, TURNED),
                (TURNED, BLINKER),
                (BLOCK, BLOCK),
                (GLIDER, [".....", "#.#..", ".##..", ".#...", "....."]),
                (FULL, ["#.#", "...", "#.#"]),
                (RING, ["#.#", "...", "#.#"]),
                (["#.#", "...", "#.#"], ["...", "...", "..."]),
                ([".#.", "###", ".#."], ["###", "#.#", "###"]),
                (["#..#", "....", "#..#"], ["....", "....", "...."]),
            ),
            *refuses("ValueError", ["##", "#"], ["#.", "..", "."], ["#x"], [" #"]),
        ),
    ),
    Oracle(
        name="grid/neighbours",
        call="life.neighbours",
        cases=(
            case(FULL, 1, 1, returns=8),
            case(FULL, 0, 0, returns=3),
            case(FULL, 0, 1, returns=5),
            case(FULL, 2, 2, returns=3),
            case(RING, 1, 1, returns=8),
            case(BLINKER, 2, 2, returns=2),
            case(BLINKER, 1, 2, returns=3),
            case(BLINKER, 0, 0, returns=0),
            case(BLOCK, 1, 1, returns=3),
            case(BLOCK, 0, 0, returns=1),
            case(["#"], 0, 0, returns=0),
            case(["##"], 0, 1, returns=1),
        ),
    ),
    Oracle(
        name="grid/regions",
        call="regions.regions",
        cases=(
            *pairs(
                ([], []),
                (["..."], []),
                (["#"], [1]),
                (["##", "##"], [4]),
                (["#.", ".#"], [1, 1]),
                (["#.#", ".#.", "#.#"], [1, 1, 1, 1, 1]),
                (["##.#"], [2, 1]),
                (["#.##"], [2, 1]),
                (["###", "#.#", "###"], [8]),
                (["###", "...", "##."], [3, 2]),
                (["#...", "##.#", "..##"], [3, 3]),
                (["#", "###"], [4]),
                (["###", "#"], [4]),
                (["#" * 60] * 40, [2400]),
            ),
            case(["aab", "abb"], "a", returns=[3]),
            case(["aab", "abb"], "b", returns=[3]),
            case(["aba"], sign="a", returns=[1, 1]),
        ),
    ),
    Oracle(
        name="grid/border",
        call="regions.border",
        cases=(
            *pairs(
                ([], 0),
                (["."], 0),
                (["#"], 4),
                (["##"], 6),
                (["##", "##"], 8),
                (["#.", ".#"], 8),
                (["...", ".#.", "..."], 4),
                (["###", "#.#", "###"], 16),
                (["#", "##"], 8),
                (["#.#"], 8),
            ),
            case(["aab"], "a", returns=6),
            case(["aab"], "b", returns=4),
        ),
    ),
)
