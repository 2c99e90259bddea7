"""Practice task: a cache that forgets what was not used, and a limit on how often one may ask."""

from __future__ import annotations

from .oracles.limits import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

CACHE = r'''"""A cache of limited size."""

from collections import OrderedDict
from typing import Any


class Cache:
    """Keeps the values of the keys that were used last, `size` of them at most; both reading and storing are use.

    Raises ValueError for a size below 1.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("a cache keeps at least one value")
        self.size = size
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def get(self, key: str, default: Any = None) -> Any:
        """Give the value of a key; `default` where it is not kept."""
        if key not in self._kept:
            return default
        self._kept.move_to_end(key)
        return self._kept[key]

    def put(self, key: str, value: Any) -> None:
        """Store a value, also None, in place of the key's own or of the key that was not used for longest."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self.size:
            self._kept.popitem(last=False)

    def keys(self) -> list[str]:
        """Give the keys, the one that was used last in the end."""
        return list(self._kept)
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("cache.py",),
    checks=(
        by_oracle(
            "The cache keeps what was used last and forgets the rest, over any sequence of calls.", "limits/cache"
        ),
        by_command(
            "Ten thousand values through a cache of ten leave ten.",
            "python",
            "-c",
            "from cache import Cache; c = Cache(10); [c.put(str(n), n) for n in range(10_000)]; print(len(c.keys()))",
            prints="10\n",
        ),
        by_judge("The docstring of Cache says what counts as use."),
    ),
    first_checks=(0, 1, 2),
    solution={"cache.py": CACHE},
    defects=(
        Defect(
            id="reading-is-no-use",
            says="Reading a value does not count as use.",
            path="cache.py",
            old="        self._kept.move_to_end(key)\n        return",
            new="        return",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="storing-again-is-no-use",
            says="Storing a key again does not count as use.",
            path="cache.py",
            old="        self._kept.move_to_end(key)\n        if len",
            new="        if len",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="newest-forgotten",
            says="A full cache forgets the value that was just stored.",
            path="cache.py",
            old="popitem(last=False)",
            new="popitem()",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="one-too-many",
            says="The cache keeps one value more than its size.",
            path="cache.py",
            old="if len(self._kept) > self.size:",
            new="if len(self._kept) > self.size + 1:",
            breaks=("c1", "c2"),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="size-zero-taken",
            says="A cache of size 0 is taken.",
            path="cache.py",
            old="if size < 1:",
            new="if size < 0:",
            breaks=("c1",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="default-ignored",
            says="get gives None, whatever default is asked for.",
            path="cache.py",
            old="            return default\n",
            new="            return None\n",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="use-undocumented",
            says="The docstring of Cache is silent about what counts as use.",
            path="cache.py",
            old="of them at most; both reading and storing are use.",
            new="of them at most.",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

LIMITER = r'''"""A limit on how often somebody may ask."""

from collections import deque


class Limiter:
    """Allows everybody `limit` requests within any `seconds` seconds; what was refused does not count.

    A request is forgotten once `seconds` seconds have passed. Times must not go back: ValueError where one does.
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self.limit = limit
        self.seconds = seconds
        self._allowed: dict[str, deque[float]] = {}
        self._last = float("-inf")

    def allow(self, who: str, at: float) -> bool:
        """Tell whether a request at this time, in seconds, is allowed, and count it if it is."""
        self._move_on(at)
        times = self._allowed.setdefault(who, deque())
        if len(times) >= self.limit:
            return False
        times.append(at)
        return True

    def wait(self, who: str, at: float) -> float:
        """Give the seconds until a request would be allowed: 0 where it would be at once."""
        self._move_on(at)
        times = self._allowed.get(who, deque())
        if len(times) < self.limit:
            return 0.0
        return times[0] + self.seconds - at

    def _move_on(self, at: float) -> None:
        """Forget what is too long ago."""
        if at < self._last:
            raise ValueError(f"{at} is before {self._last}")
        self._last = at
        for times in self._allowed.values():
            while times and at - times[0] >= self.seconds:
                times.popleft()
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("limiter.py",),
    checks=(
        by_oracle("Of any sequence of requests those within the limit are allowed.", "limits/allowed"),
        by_oracle("wait tells how long until a request is allowed.", "limits/waits"),
        by_file(
            "The limiter has no clock of its own.",
            "limiter.py",
            matches=r"\A(?![\s\S]*^(?:import|from) (?:time|datetime))",
        ),
        by_judge("What is too long ago is forgotten in one place alone."),
        by_judge("The docstring of Limiter says whether refused requests count."),
    ),
    first_checks=(0, 1, 2, 3),
    objection="Whoever is refused will try again at once: add a check that the docstring says whether that counts.",
    solution={"limiter.py": LIMITER},
    defects=(
        Defect(
            id="one-limit-for-all",
            says="All share one limit.",
            path="limiter.py",
            old="self._allowed.setdefault(who, deque())",
            new='self._allowed.setdefault("", deque())',
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="refused-counts",
            says="Refused requests count, so who keeps asking is never allowed again.",
            path="limiter.py",
            old="            return False\n        times.append(at)\n",
            new="            times.append(at)\n            return False\n        times.append(at)\n",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="one-more-allowed",
            says="One request more than the limit is allowed.",
            path="limiter.py",
            old="if len(times) >= self.limit:",
            new="if len(times) > self.limit:",
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="forgotten-too-late",
            says="A request is forgotten only after its time is over, not when it is.",
            path="limiter.py",
            old="at - times[0] >= self.seconds:",
            new="at - times[0] > self.seconds:",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="back-in-time",
            says="Times that go back are taken.",
            path="limiter.py",
            old='            raise ValueError(f"{at} is before {self._last}")\n',
            new="            return\n",
            breaks=("c1",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="waits-the-whole-time",
            says="wait gives the whole length of the limit instead of what is left of it.",
            path="limiter.py",
            old="return times[0] + self.seconds - at",
            new="return self.seconds",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="forgets-twice",
            says="wait forgets old requests a second time by itself.",
            path="limiter.py",
            old="        times = self._allowed.get(who, deque())\n",
            new="        times = self._allowed.get(who, deque())\n        while times and times[0] + self.seconds <= at:\n"
            "            times.popleft()\n",
            breaks=("c4",),
            costs={"clarity": 1.5},
            form=True,
        ),
        Defect(
            id="refused-undocumented",
            says="The docstring of Limiter is silent about refused requests.",
            path="limiter.py",
            old="any `seconds` seconds; what was refused does not count.",
            new="any `seconds` seconds.",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="limits",
    title="A cache and a limit on requests",
    prompt=(
        "My little weather service is asked the same questions again and again, by some people far too often."
        " Please write two Python classes: a cache that keeps the answers that were used last,"
        " and a limiter that allows everybody so many requests within so many seconds and tells how long to wait."
        " No threads, and the time is handed in, so that I can test it."
    ),
    plan={
        "title": "A cache and a limit on requests",
        "scope": "Two Python classes on the standard library alone: a cache of limited size, and a limiter without a clock.",
        "deliverables": ["cache.py", "limiter.py"],
        "steps": [
            planned("Keep the values that were used last.", STEP_1, skill="state"),
            planned("Limit how often somebody may ask.", STEP_2, skill="state"),
        ],
        "criteria": [
            criterion("correctness", "Right after any sequence of calls.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Refuses what makes no sense, and does not grow without end.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
