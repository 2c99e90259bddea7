"""Hidden inputs of the task `intervals`, with outcomes worked out by hand."""

from __future__ import annotations

from ...payloads import Json
from ..values import Oracle, case, pairs, refuses

DAY: Json = [540, 1020]  # nine to five, in minutes

ORACLES = (
    Oracle(
        name="intervals/merge",
        call="intervals.merge",
        cases=(
            *pairs(
                ([], []),
                ([[1, 2]], [[1, 2]]),
                ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
                ([[3, 4], [1, 2]], [[1, 2], [3, 4]]),
                ([[1, 3], [2, 4]], [[1, 4]]),
                ([[2, 4], [1, 3]], [[1, 4]]),
                ([[1, 2], [2, 3]], [[1, 3]]),
                ([[1, 2], [2, 3], [3, 4]], [[1, 4]]),
                ([[1, 2], [1, 2]], [[1, 2]]),
                ([[1, 9], [2, 3]], [[1, 9]]),
                ([[1, 9], [2, 3], [4, 5]], [[1, 9]]),
                ([[1, 9], [2, 3], [8, 12]], [[1, 12]]),
                ([[1, 1]], []),
                ([[1, 1], [2, 3]], [[2, 3]]),
                ([[-5, -3], [-4, 0]], [[-5, 0]]),
                ([[0, 10], [20, 30], [5, 25]], [[0, 30]]),
                ([[10, 20], [9, 11], [30, 40], [15, 18], [41, 42]], [[9, 20], [30, 40], [41, 42]]),
            ),
            *refuses("ValueError", [[2, 1]], [[1, 2], [9, 4]]),
            case([[100, 200], [0, 50], [60, 110]], returns=[[0, 50], [60, 200]]),
            case([[5, 6], [1, 2], [3, 4]], returns=[[1, 2], [3, 4], [5, 6]]),
        ),
    ),
    Oracle(
        name="intervals/subtract",
        call="intervals.subtract",
        cases=(
            case([], [[1, 2]], returns=[]),
            case([[1, 9]], [], returns=[[1, 9]]),
            case([[1, 9]], [[3, 5]], returns=[[1, 3], [5, 9]]),
            case([[1, 9]], [[7, 12]], returns=[[1, 7]]),
            case([[5, 9]], [[1, 6]], returns=[[6, 9]]),
            case([[5, 9]], [[1, 3]], returns=[[5, 9]]),
            case([[1, 5]], [[7, 9]], returns=[[1, 5]]),
            case([[1, 5]], [[0, 9]], returns=[]),
            case([[1, 5]], [[1, 5]], returns=[]),
            case([[1, 5]], [[1, 3]], returns=[[3, 5]]),
            case([[1, 5]], [[3, 5]], returns=[[1, 3]]),
            case([[1, 9]], [[2, 3], [5, 6]], returns=[[1, 2], [3, 5], [6, 9]]),
            case([[1, 9]], [[5, 6], [2, 3]], returns=[[1, 2], [3, 5], [6, 9]]),
            case([[1, 4], [6, 9]], [[3, 7]], returns=[[1, 3], [7, 9]]),
            case([[6, 9], [1, 4]], [[3, 7]], returns=[[1, 3], [7, 9]]),
            case([[1, 4], [6, 9]], [[2, 3]], returns=[[1, 2], [3, 4], [6, 9]]),
        ),
    ),
    Oracle(
        name="intervals/first_slot",
        call="freetime.first_slot",
        cases=(
            case(DAY, [], 60, returns=[540, 600]),
            case(DAY, [[540, 600]], 30, returns=[600, 630]),
            case(DAY, [[570, 600]], 60, returns=[600, 660]),
            case(DAY, [[570, 600]], 30, returns=[540, 570]),
            case(DAY, [[600, 700], [720, 1020]], 20, returns=[540, 560]),
            case(DAY, [[540, 700], [720, 1020]], 20, returns=[700, 720]),
            case(DAY, [[540, 700], [720, 1020]], 21, returns=None),
            case(DAY, [DAY], 1, returns=None),
            case(DAY, [[0, 1440]], 5, returns=None),
            case(DAY, [], 480, returns=[540, 1020]),
            case(DAY, [], 481, returns=None),
            case(DAY, [[900, 960], [540, 600]], 45, returns=[600, 645]),
            case(DAY, [[540, 700], [600, 800]], 60, returns=[800, 860]),
            case(DAY, [[0, 100], [1100, 1200]], 10, returns=[540, 550]),
            case(DAY, [], 0, raises="ValueError"),
            case(DAY, [], -30, raises="ValueError"),
        ),
    ),
    Oracle(
        name="intervals/booked",
        call="freetime.booked",
        cases=(
            case(DAY, [], returns=0),
            case(DAY, [[540, 600]], returns=60),
            case(DAY, [[600, 630], [700, 745]], returns=75),
            case(DAY, [[700, 745], [600, 630]], returns=75),
            case(DAY, [DAY], returns=480),
            case(DAY, [[600, 660], [630, 690]], returns=90),
            case(DAY, [[600, 660], [600, 660]], returns=60),
            case(DAY, [[600, 700], [620, 640]], returns=100),
            case(DAY, [[500, 600]], returns=60),
            case(DAY, [[1000, 1100]], returns=20),
            case(DAY, [[0, 1440]], returns=480),
            case(DAY, [[0, 100]], returns=0),
            case(DAY, [[600, 600]], returns=0),
        ),
    ),
)
