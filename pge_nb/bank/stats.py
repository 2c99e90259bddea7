"""Practice task: the centre and the spread of a list of numbers, and its outliers."""

from __future__ import annotations

from .oracles.stats import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

STATS = r'''"""The centre of a list of numbers."""

from math import fsum


def mean(values: list[float]) -> float:
    """Give the arithmetic mean. Raises ValueError for an empty list."""
    if not values:
        raise ValueError("the mean of no values")
    return fsum(values) / len(values)


def median(values: list[float]) -> float:
    """Give the middle value, or the mean of the two middle ones.

    `values` may come in any order and is left as it is. Raises ValueError for an empty list.
    """
    if not values:
        raise ValueError("the median of no values")
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return mean(ordered[half - 1 : half + 1])
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("stats.py",),
    checks=(
        by_oracle("mean gives the arithmetic mean and refuses an empty list.", "stats/mean"),
        by_oracle("median is right for odd and even numbers of values in any order.", "stats/median"),
        by_command(
            "median leaves the list that it is given as it was.",
            "python",
            "-c",
            "from stats import median; values = [3, 1, 2]; median(values); print(values)",
            prints="[3, 1, 2]",
        ),
        by_judge("The docstring of median says that the values may come in any order."),
    ),
    first_checks=(0, 1, 3),
    objection="A list that is sorted behind the caller's back spoils later work: add a check that median leaves it alone.",
    solution={"stats.py": STATS},
    defects=(
        Defect(
            id="mean-rounded-down",
            says="mean divides without a remainder, so it is rounded down.",
            path="stats.py",
            old="fsum(values) / len(values)",
            new="fsum(values) // len(values)",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="empty-mean-crashes",
            says="mean raises ZeroDivisionError for an empty list.",
            path="stats.py",
            old='    if not values:\n        raise ValueError("the mean of no values")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="upper-median",
            says="median gives the upper of the two middle values instead of their mean.",
            path="stats.py",
            old="ordered[half - 1 : half + 1]",
            new="ordered[half : half + 1]",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="middle-off-by-one",
            says="median takes the value before the middle one of an odd number of values.",
            path="stats.py",
            old="float(ordered[half])",
            new="float(ordered[half - 1])",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="sorted-in-place",
            says="median sorts the caller's own list.",
            path="stats.py",
            old="    ordered = sorted(values)\n",
            new="    values.sort()\n    ordered = values\n",
            breaks=("c3",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="order-undocumented",
            says="The docstring of median is silent about the order of the values.",
            path="stats.py",
            old="    `values` may come in any order and is left as it is. Raises",
            new="    Raises",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

SPREAD = r'''"""The spread of a list of numbers, and what lies outside it."""

from stats import median


def quantile(values: list[float], share: float) -> float:
    """Give the value below which a share (0 to 1) of the values lies, in a straight line between neighbours.

    Raises ValueError for an empty list and for a share outside 0 to 1.
    """
    if not values:
        raise ValueError("a quantile of no values")
    if not 0 <= share <= 1:
        raise ValueError(f"a share is 0 to 1, not {share}")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def outliers(values: list[float], reach: float = 3.0) -> list[float]:
    """List the values that are further from the median than `reach` times the median of all such distances.

    They keep their order. No values give no outliers.
    """
    if not values:
        return []
    centre = median(values)
    limit = reach * median([abs(value - centre) for value in values])
    return [value for value in values if abs(value - centre) > limit]
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("spread.py",),
    checks=(
        by_oracle("quantile gives quartiles, ends and everything between by straight lines.", "stats/quantile"),
        by_oracle("outliers finds what lies far off on either side, in the given order.", "stats/outliers"),
        by_file("spread.py takes the median from stats.", "spread.py", matches=r"(?m)^from stats import .*\bmedian\b"),
        by_judge("quantile sorts its values once, with sorted, and is no slower than that."),
    ),
    first_checks=(0, 1, 2, 3),
    solution={"spread.py": SPREAD},
    defects=(
        Defect(
            id="place-off-by-one",
            says="quantile counts places from 1 to n instead of 0 to n - 1.",
            path="spread.py",
            old="share * (len(ordered) - 1)",
            new="share * len(ordered)",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="no-line-between",
            says="quantile gives the lower neighbour instead of a value between the two.",
            path="spread.py",
            old="ordered[low] + (place - low) * (ordered[high] - ordered[low])",
            new="ordered[low]",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="share-above-one",
            says="quantile does not refuse a share above 1 with ValueError.",
            path="spread.py",
            old="if not 0 <= share <= 1:",
            new="if share < 0:",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="slow-sort",
            says="quantile looks for the smallest value again and again, which is slow for long lists.",
            path="spread.py",
            old="    ordered = sorted(values)\n",
            new="    rest = list(values)\n    ordered = [rest.pop(rest.index(min(rest))) for _ in values]\n",
            breaks=("c4",),
            costs={"clarity": 1.5},
            form=True,
        ),
        Defect(
            id="one-side-only",
            says="outliers finds no value far below the median.",
            path="spread.py",
            old="if abs(value - centre) > limit",
            new="if value - centre > limit",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="empty-crashes",
            says="outliers raises ValueError for an empty list.",
            path="spread.py",
            old="    if not values:\n        return []\n",
            new="",
            breaks=("c2",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="leftover-name",
            says="quantile has a second name for the place, x, with a to-do beside it.",
            path="spread.py",
            old="    low = int(place)\n",
            new="    x = place  # TODO: tidy up\n    low = int(x)\n",
            costs={"clarity": 1.5},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="stats",
    title="Centre, spread and outliers",
    prompt=(
        "My students measure reaction times, and I want them to read the code that sums the times up."
        " Please write short Python functions without libraries for mean, median and quantiles,"
        " and one that points out the outliers on either side."
    ),
    plan={
        "title": "Centre, spread and outliers",
        "scope": "Two short Python modules that students can read: mean and median, then quantiles and outliers.",
        "deliverables": ["stats.py", "spread.py"],
        "steps": [
            planned("Mean and median of a list of numbers.", STEP_1, skill="statistics"),
            planned("Quantiles and outliers on top of the median.", STEP_2, skill="statistics", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "The figures are right for odd, even, short and long lists.", "high"),
            criterion("clarity", "A student understands it: names, docstrings that tell the edges, no needless work."),
            criterion("robustness", "Empty lists and senseless shares are met as documented.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
