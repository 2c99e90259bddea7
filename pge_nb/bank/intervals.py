"""Practice task: spans of time, what is left of a day, and the first free slot."""

from __future__ import annotations

from .oracles.intervals import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_judge, by_oracle, criterion, planned

INTERVALS = r'''"""Half-open spans: [start, end] stands for everything from start up to, and without, end."""

Span = list[int]


def merge(spans: list[Span]) -> list[Span]:
    """Join the spans that overlap or touch, and give them in order.

    Empty spans are dropped. `spans` may come in any order and is left as it is.
    Raises ValueError for a span that ends before it starts.
    """
    merged: list[Span] = []
    for start, end in sorted(spans):
        if end < start:
            raise ValueError(f"a span ends before it starts: {start}, {end}")
        if start == end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def subtract(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Give what is left of the spans when the holes are taken out, merged and in order."""
    left = merge(spans)
    for hole_start, hole_end in merge(holes):
        pieces = []
        for start, end in left:
            pieces.append([start, min(end, hole_start)])
            pieces.append([max(start, hole_end), end])
        left = [[start, end] for start, end in pieces if start < end]
    return left
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("intervals.py",),
    checks=(
        by_oracle("merge joins spans that overlap, touch or lie inside one another.", "intervals/merge"),
        by_oracle("subtract takes holes out of spans, wherever they lie.", "intervals/subtract"),
        by_command(
            "merge leaves the list that it is given as it was.",
            "python",
            "-c",
            "from intervals import merge; spans = [[3, 4], [1, 2]]; merge(spans); print(spans)",
            prints="[[3, 4], [1, 2]]",
        ),
        by_judge("The docstring of merge says what becomes of spans that only touch."),
    ),
    first_checks=(0, 1, 3),
    objection="A caller keeps the list: add a check that merge leaves it as it was.",
    solution={"intervals.py": INTERVALS},
    defects=(
        Defect(
            id="touching-apart",
            says="merge keeps spans apart that touch.",
            path="intervals.py",
            old="start <= merged[-1][1]",
            new="start < merged[-1][1]",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="inner-span-cuts",
            says="merge ends a span early where a shorter one lies inside it.",
            path="intervals.py",
            old="max(merged[-1][1], end)",
            new="end",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="backward-span-taken",
            says="merge takes a span that ends before it starts.",
            path="intervals.py",
            old='        if end < start:\n            raise ValueError(f"a span ends before it starts: {start}, {end}")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="sorted-in-place",
            says="merge sorts the caller's own list.",
            path="intervals.py",
            old="    for start, end in sorted(spans):\n",
            new="    spans.sort()\n    for start, end in spans:\n",
            breaks=("c3",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="empty-pieces-left",
            says="subtract leaves empty spans where a hole begins or ends with a span.",
            path="intervals.py",
            old="in pieces if start < end]",
            new="in pieces if start <= end]",
            breaks=("c2",),
            costs={"correctness": 2.0, "robustness": 2.0},
        ),
        Defect(
            id="hole-before-widens",
            says="subtract widens a span when a hole lies before it.",
            path="intervals.py",
            old="max(start, hole_end)",
            new="hole_end",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="touching-undocumented",
            says="The docstring of merge is silent about spans that touch.",
            path="intervals.py",
            old="Join the spans that overlap or touch, and",
            new="Join spans, and",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

FREETIME = r'''"""Free time in a day full of appointments."""

from intervals import Span, subtract


def free(day: Span, busy: list[Span]) -> list[Span]:
    """Give the free spans of a day, in order; appointments may overlap and reach beyond the day."""
    return subtract([day], busy)


def booked(day: Span, busy: list[Span]) -> int:
    """Give how much of the day is taken; time that is taken twice counts once."""
    return day[1] - day[0] - sum(end - start for start, end in free(day, busy))


def first_slot(day: Span, busy: list[Span], length: int) -> Span | None:
    """Find the earliest free span of the wanted length; None where no gap is long enough.

    Raises ValueError where `length` is not above 0.
    """
    if length <= 0:
        raise ValueError("a slot needs a length above 0")
    for start, end in free(day, busy):
        if end - start >= length:
            return [start, start + length]
    return None
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("freetime.py",),
    checks=(
        by_oracle("first_slot finds the earliest gap that is long enough, or None.", "intervals/first_slot"),
        by_oracle("booked counts time that is taken twice once, and within the day only.", "intervals/booked"),
        by_command(
            "free gives the gaps of a day around its appointments.",
            "python",
            "-c",
            "from freetime import free; print(free([9, 17], [[12, 13]]))",
            prints="[[9, 12], [13, 17]]",
        ),
        by_judge("The docstring of first_slot says what is given where no gap is long enough."),
        by_judge("freetime.py leaves the work on spans to the intervals module and repeats none of it."),
    ),
    first_checks=(0, 1, 2, 3, 4),
    solution={"freetime.py": FREETIME},
    defects=(
        Defect(
            id="exact-gap-missed",
            says="first_slot passes over a gap of exactly the wanted length.",
            path="freetime.py",
            old="end - start >= length",
            new="end - start > length",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="whole-gap-given",
            says="first_slot gives the whole gap instead of a span of the wanted length.",
            path="freetime.py",
            old="[start, start + length]",
            new="[start, end]",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="zero-length-taken",
            says="first_slot takes a length of 0.",
            path="freetime.py",
            old="if length <= 0:",
            new="if length < 0:",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="booked-twice",
            says="booked adds up the appointments: overlaps count twice, and time outside the day counts too.",
            path="freetime.py",
            old="day[1] - day[0] - sum(end - start for start, end in free(day, busy))",
            new="sum(end - start for start, end in busy)",
            breaks=("c2",),
            costs={"correctness": 3.0, "robustness": 2.0},
        ),
        Defect(
            id="none-undocumented",
            says="The docstring of first_slot is silent about a day without a gap that is long enough.",
            path="freetime.py",
            old="wanted length; None where no gap is long enough.",
            new="wanted length.",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
        Defect(
            id="merging-repeated",
            says="free sorts and drops appointments by hand before it hands them on, which subtract does already.",
            path="freetime.py",
            old="    return subtract([day], busy)\n",
            new=(
                "    wanted = []\n"
                "    for span in sorted(busy):\n"
                "        if span[0] < span[1] and span not in wanted:\n"
                "            wanted.append(span)\n"
                "    return subtract([day], wanted)\n"
            ),
            breaks=("c5",),
            costs={"clarity": 1.5},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="intervals",
    title="Free time between appointments",
    prompt=(
        "I want to find free time between my appointments, which I have as pairs of start and end in minutes."
        " Please give me Python functions that merge overlapping spans and take spans out of others,"
        " and on top of them one that finds the first free slot of a given length in a day."
    ),
    plan={
        "title": "Free time between appointments",
        "scope": "Two Python modules: half-open spans that can be merged and subtracted, and the free time of a day.",
        "deliverables": ["intervals.py", "freetime.py"],
        "steps": [
            planned("Merge spans and take spans out of others.", STEP_1, skill="algorithms"),
            planned("Find free time and the first slot in a day.", STEP_2, skill="composition", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Right at every border: touching, inside, before, behind.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Refuses spans that make no sense and leaves its input alone.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
