"""Practice task: the shortest way over a network of roads, and an order for jobs that wait for each other."""

from __future__ import annotations

from .oracles.routes import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

ROUTES = r'''"""Ways over a network of roads."""

import heapq

Roads = list[tuple[str, str, float]]


def shortest(roads: Roads, start: str, end: str) -> list[str] | None:
    """Give the places of the shortest way, start and end among them; None where there is no way.

    Roads run both ways. Of ways of equal length the one counts that comes first in the alphabet, place by place.
    A way from a place to itself is that place. Raises ValueError for a road of negative length.
    """
    ways = neighbours(roads)
    waiting: list[tuple[float, list[str]]] = [(0, [start])]
    done = set()
    while waiting:
        length, way = heapq.heappop(waiting)
        place = way[-1]
        if place == end:
            return way
        if place in done:
            continue
        done.add(place)
        for far, there in ways.get(place, []):
            heapq.heappush(waiting, (length + far, [*way, there]))
    return None


def length(roads: Roads, way: list[str]) -> float:
    """Give the length of a way, by the shortest road from each place to the next.

    Raises ValueError where there is no road.
    """
    ways = neighbours(roads)
    total = 0.0
    for here, there in zip(way, way[1:]):
        found = [far for far, place in ways.get(here, []) if place == there]
        if not found:
            raise ValueError(f"no road from {here} to {there}")
        total += min(found)
    return total


def neighbours(roads: Roads) -> dict[str, list[tuple[float, str]]]:
    """Give the roads from every place: how far, and where to."""
    ways: dict[str, list[tuple[float, str]]] = {}
    for here, there, far in roads:
        if far < 0:
            raise ValueError(f"a road of negative length: {here} to {there}")
        ways.setdefault(here, []).append((far, there))
        ways.setdefault(there, []).append((far, here))
    return ways
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("routes.py",),
    checks=(
        by_oracle("shortest gives the shortest way, and of equal ones the first.", "routes/shortest"),
        by_oracle("length adds up the roads of a way.", "routes/length"),
        by_command(
            "A chain of twelve squares, with two ways around each, is searched in less than 1,000 steps.",
            "python",
            "-c",
            "import heapq; from routes import shortest; push = heapq.heappush; pushed = [];"
            " heapq.heappush = lambda heap, entry: (pushed.append(1), push(heap, entry));"
            " roads = [(a, b, 1) for n in range(12) for side in 'xy'"
            " for a, b in ((f'{n}', f'{n}{side}'), (f'{n}{side}', f'{n + 1}'))];"
            " shortest(roads, '0', '12'); print('quick' if len(pushed) < 1000 else 'slow')",
            prints="quick",
        ),
        by_judge("The docstring of shortest says which of several shortest ways it gives."),
    ),
    first_checks=(0, 1, 3),
    objection="A search that goes along every way never ends in a town: add a check with many ways.",
    solution={"routes.py": ROUTES},
    defects=(
        Defect(
            id="one-way-streets",
            says="Roads run one way alone.",
            path="routes.py",
            old="        ways.setdefault(there, []).append((far, here))\n",
            new="",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="fewest-places",
            says="shortest gives the way over the fewest places, however long its roads are.",
            path="routes.py",
            old="(length + far, [*way, there])",
            new="(length + 1, [*way, there])",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="no-way-is-empty",
            says="shortest gives an empty list where there is no way.",
            path="routes.py",
            old="    return None\n",
            new="    return []\n",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="start-left-out",
            says="shortest leaves the start out of the way.",
            path="routes.py",
            old="            return way\n",
            new="            return way[1:]\n",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="negative-taken",
            says="Roads of negative length are taken.",
            path="routes.py",
            old='        if far < 0:\n            raise ValueError(f"a road of negative length: {here} to {there}")\n',
            new="",
            breaks=("c1", "c2"),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="first-road-taken",
            says="length takes the first of several roads between two places, not the shortest.",
            path="routes.py",
            old="total += min(found)",
            new="total += found[0]",
            breaks=("c2",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="gap-ignored",
            says="length passes over places that no road connects.",
            path="routes.py",
            old='            raise ValueError(f"no road from {here} to {there}")\n',
            new="            continue\n",
            breaks=("c2",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="every-way-searched",
            says="shortest goes along every way to every place, which never ends in a town.",
            path="routes.py",
            old="        done.add(place)\n        for far, there in ways.get(place, []):\n            heapq",
            new="        for far, there in ways.get(place, []):\n            if there not in way:\n                heapq",
            breaks=("c3",),
            costs={"robustness": 4.0},
        ),
        Defect(
            id="ties-undocumented",
            says="The docstring of shortest is silent about ways of equal length.",
            path="routes.py",
            old=" Of ways of equal length the one counts that comes first in the alphabet, place by place.\n",
            new="\n",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

ORDER = r'''"""An order for jobs that wait for each other."""


def in_order(jobs: dict[str, list[str]]) -> list[str]:
    """Give the jobs in an order in which none comes before one that it waits for.

    `jobs` tells what each job waits for. Of jobs that may come next the first in the alphabet does. A job that others wait
    for need not be listed itself. Raises ValueError for jobs that wait for each other in a circle.
    """
    open_jobs = {job: set(before) for job, before in jobs.items()}
    for before in jobs.values():
        for job in before:
            open_jobs.setdefault(job, set())
    order: list[str] = []
    while open_jobs:
        ready = [job for job, before in open_jobs.items() if not before.intersection(open_jobs)]
        if not ready:
            raise ValueError("in a circle: " + ", ".join(sorted(open_jobs)))
        order.append(min(ready))
        del open_jobs[order[-1]]
    return order
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("order.py",),
    checks=(
        by_oracle(
            "in_order puts every job behind those that it waits for, the first in the alphabet first.",
            "routes/in_order",
        ),
        by_file("order.py imports nothing.", "order.py", matches=r"\A(?![\s\S]*^(?:import|from) )"),
        by_judge("The docstring of in_order says what becomes of a circle."),
    ),
    first_checks=(0, 1, 2),
    solution={"order.py": ORDER},
    defects=(
        Defect(
            id="last-first",
            says="in_order gives the order backwards.",
            path="order.py",
            old="    return order\n",
            new="    return order[::-1]\n",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="as-listed",
            says="in_order takes the job next that is listed first, not the first in the alphabet.",
            path="order.py",
            old="order.append(min(ready))",
            new="order.append(ready[0])",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="unlisted-left-out",
            says="in_order leaves out jobs that others wait for and that are not listed themselves.",
            path="order.py",
            old="            open_jobs.setdefault(job, set())\n",
            new="            pass\n",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="circle-cut-off",
            says="in_order gives the jobs before a circle and leaves out the rest, without an error.",
            path="order.py",
            old='            raise ValueError("in a circle: " + ", ".join(sorted(open_jobs)))\n',
            new="            break\n",
            breaks=("c1",),
            costs={"robustness": 4.0},
        ),
        Defect(
            id="circle-undocumented",
            says="The docstring of in_order is silent about circles.",
            path="order.py",
            old=" Raises ValueError for jobs that wait for each other in a circle.\n",
            new="\n",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="routes",
    title="Shortest ways and an order of jobs",
    prompt=(
        "I plan the rounds of a delivery van by hand and would like two Python functions instead of a map and a pencil:"
        " the shortest path between two places over a list of roads, and an order for jobs of which some have to wait for others."
        " Where several answers are equally good I want the same one every day."
    ),
    plan={
        "title": "Shortest ways and an order of jobs",
        "scope": "Two Python modules on the standard library alone: ways over roads, and jobs in order.",
        "deliverables": ["routes.py", "order.py"],
        "steps": [
            planned("Find the shortest way over roads.", STEP_1, skill="graphs"),
            planned("Put jobs in an order.", STEP_2, skill="graphs"),
        ],
        "criteria": [
            criterion("correctness", "The shortest way and a possible order, the same one every time.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Says what cannot be done, and ends in a town of real size.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
