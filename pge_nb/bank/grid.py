"""Practice task: the game of life on a grid, and the regions of a map."""

from __future__ import annotations

from .oracles.grid import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

LIFE = r'''"""The game of life on a grid of text: "#" is a live cell, "." a dead one."""


def neighbours(rows: list[str], y: int, x: int) -> int:
    """Count the live cells among the eight around a cell; beyond the edge all are dead."""
    around = [(y + down, x + right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)]
    return sum(0 <= v < len(rows) and 0 <= u < len(rows[v]) and rows[v][u] == "#" for v, u in around)


def step(rows: list[str]) -> list[str]:
    """Give the next generation: a live cell lives on with 2 or 3 live neighbours, a dead one comes to life with 3.

    The grid keeps its size, and `rows` stays as it is. Raises ValueError where rows differ in length or hold other signs.
    """
    if len({len(row) for row in rows}) > 1 or set("".join(rows)) - set("#."):
        raise ValueError("rows of # and . of one length are wanted")
    return [
        "".join("#" if lives(sign == "#", neighbours(rows, y, x)) else "." for x, sign in enumerate(row))
        for y, row in enumerate(rows)
    ]


def lives(alive: bool, around: int) -> bool:
    """Tell whether a cell lives in the next generation."""
    return around == 3 or (alive and around == 2)
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("life.py",),
    checks=(
        by_oracle("step gives the next generation of any grid, its edges among them.", "grid/step"),
        by_oracle("neighbours counts the live cells around a cell, at an edge as well.", "grid/neighbours"),
        by_command(
            "A blinker is itself after two generations.",
            "python",
            "-c",
            "from life import step; rows = ['.....', '.....', '.###.', '.....', '.....']; print(step(step(rows)) == rows)",
            prints="True",
        ),
        by_judge("The docstring of neighbours says what lies beyond the edge."),
    ),
    first_checks=(0, 1, 2),
    objection="Edges are where grids go wrong: add a check that the docstring of neighbours tells what lies beyond.",
    solution={"life.py": LIFE},
    defects=(
        Defect(
            id="cell-counts-itself",
            says="neighbours counts the cell itself.",
            path="life.py",
            old=" if (down, right) != (0, 0)]",
            new="]",
            breaks=("c1", "c2", "c3"),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="edges-joined",
            says="neighbours joins the first row and column to the last.",
            path="life.py",
            old='0 <= v < len(rows) and 0 <= u < len(rows[v]) and rows[v][u] == "#"',
            new='rows[v % len(rows)][u % len(rows[0])] == "#"',
            breaks=("c1", "c2"),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="crowded-cells-live",
            says="A live cell lives on with four neighbours.",
            path="life.py",
            old="(alive and around == 2)",
            new="(alive and around in (2, 4))",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="ragged-taken",
            says="step takes rows of different lengths.",
            path="life.py",
            old='len({len(row) for row in rows}) > 1 or set("".join(rows)) - set("#.")',
            new='set("".join(rows)) - set("#.")',
            breaks=("c1",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="rows-in-pieces",
            says="step gives rows as lists of signs, not as the texts that it takes.",
            path="life.py",
            old='        "".join("#" if lives',
            new='        list("#" if lives',
            breaks=("c1", "c3"),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="edge-undocumented",
            says="The docstring of neighbours is silent about the edge.",
            path="life.py",
            old="the eight around a cell; beyond the edge all are dead.",
            new="the eight around a cell.",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

REGIONS = r'''"""The regions of a map of text: cells with the same sign that lie side by side."""


def regions(rows: list[str], sign: str = "#") -> list[int]:
    """Give the sizes of the regions of a sign, the largest first. Cells that touch at a corner alone are not connected.

    Rows may differ in length. Any size of region is counted, without a limit of Python's in the way.
    """
    left = {(y, x) for y, row in enumerate(rows) for x, found in enumerate(row) if found == sign}
    sizes = []
    while left:
        waiting = [left.pop()]
        size = 0
        while waiting:
            y, x = waiting.pop()
            size += 1
            beside = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & left
            left -= beside
            waiting.extend(beside)
        sizes.append(size)
    return sorted(sizes, reverse=True)


def border(rows: list[str], sign: str = "#") -> int:
    """Give the length of the border around all cells of a sign, in sides of cells; the edge of the map is border too."""
    cells = {(y, x) for y, row in enumerate(rows) for x, found in enumerate(row) if found == sign}
    return sum(
        beside not in cells
        for y, x in cells
        for beside in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
    )
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("regions.py",),
    checks=(
        by_oracle("regions gives the size of every region, the largest first.", "grid/regions"),
        by_oracle("border measures the border of any shape.", "grid/border"),
        by_file("regions.py imports nothing.", "regions.py", matches=r"\A(?![\s\S]*^(?:import|from) )"),
        by_judge("The docstring of regions says whether corners connect."),
    ),
    first_checks=(0, 1, 2, 3),
    solution={"regions.py": REGIONS},
    defects=(
        Defect(
            id="corners-connect",
            says="regions connects cells that touch at a corner alone.",
            path="regions.py",
            old="            beside = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & left\n",
            new="            beside = {(y + v, x + u) for v in (-1, 0, 1) for u in (-1, 0, 1)} & left\n",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="smallest-first",
            says="regions gives the smallest region first.",
            path="regions.py",
            old="return sorted(sizes, reverse=True)",
            new="return sorted(sizes)",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="first-cell-left-out",
            says="regions leaves one cell of every region out of its size.",
            path="regions.py",
            old="        sizes.append(size)\n",
            new="        sizes.append(size - 1)\n",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="edge-is-no-border",
            says="border leaves out what lies at the edge of the map.",
            path="regions.py",
            old="        beside not in cells\n",
            new="        beside not in cells and 0 <= beside[0] < len(rows) and 0 <= beside[1] < len(rows[beside[0]])\n",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="sign-fixed",
            says="border measures # whatever sign is asked for.",
            path="regions.py",
            old="    cells = {(y, x) for y, row in enumerate(rows) for x, found in enumerate(row) if found == sign}\n",
            new='    cells = {(y, x) for y, row in enumerate(rows) for x, found in enumerate(row) if found == "#"}\n',
            breaks=("c2",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="corners-undocumented",
            says="The docstring of regions is silent about corners.",
            path="regions.py",
            old=" the largest first. Cells that touch at a corner alone are not connected.\n",
            new=" the largest first.\n",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="grid",
    title="Life on a grid, and regions of a map",
    prompt=(
        "For a lesson on grids I need two things in Python: one generation of Conway's game of life on a grid of # and .,"
        " and for a map of the same kind the sizes of its connected regions and the length of their border."
        " Students will read the code, so keep it short and say what happens at the edges."
    ),
    plan={
        "title": "Life on a grid, and regions of a map",
        "scope": "Two short Python modules without imports: the game of life, and regions with their border.",
        "deliverables": ["life.py", "regions.py"],
        "steps": [
            planned("Give the next generation of a grid.", STEP_1, skill="grids"),
            planned("Measure regions and borders.", STEP_2, skill="grids"),
        ],
        "criteria": [
            criterion("correctness", "The right cells, sizes and lengths for any grid, at its edges too.", "high"),
            criterion("clarity", "Short and readable for students: names, docstrings that tell the edges."),
            criterion("robustness", "Refuses grids that are none.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
