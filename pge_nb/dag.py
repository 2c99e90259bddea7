"""Steps that wait for one another: who comes before whom, and the path where that goes in a circle."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .errors import BadInput
from .records import Step

LONGEST_TOLD = 12
"""Steps of a path that are told; of a longer one its two ends."""


def circle(steps: Iterable[Step]) -> tuple[int, ...]:
    """The first circle of dependencies, from a step back to itself: 1, 3, 1 where each depends on the next. Empty: none."""
    return next(circles(steps), ())


def circles(steps: Iterable[Step]) -> Iterator[tuple[int, ...]]:
    """Circles one after another, each as if the last dependency of those before were gone; without all of these there is none."""
    needs = {step.number: step.depends_on for step in steps}
    sound: set[int] = set()
    for start in needs:
        path: dict[int, int] = {}
        ways: list[Iterator[int]] = [iter((start,))]
        while ways:
            number = next(ways[-1], None)
            if number is None:
                ways.pop()
                if path:
                    sound.add(path.popitem()[0])
            elif number in path:
                yield (*list(path)[path[number] :], number)
            elif number in needs and number not in sound:
                path[number] = len(path)
                ways.append(iter(needs[number]))


def fault(steps: Sequence[Step]) -> str:
    """What is wrong with the dependencies, the first thing, with its path; empty where they can be followed."""
    known = {step.number for step in steps}
    for step in steps:
        if unknown := [need for need in step.depends_on if need not in known]:
            there = ", ".join(map(str, sorted(known)))
            return f"step {step.number} depends on {unknown[0]}, which is no step of the plan; its steps are {there}"
    if path := circle(steps):
        return f"step {path[0]} would wait for itself: {told(path)}"
    return ""


def told(path: Iterable[int]) -> str:
    """A path from each step to the one that it depends on; the middle of a long one is only counted."""
    names = list(map(str, path))
    if (more := len(names) - LONGEST_TOLD) > 0:
        names[LONGEST_TOLD // 2 : -LONGEST_TOLD // 2] = [f"({more} more)"]
    return " -> ".join(names)


def check(steps: Sequence[Step]) -> None:
    """``BadInput`` where the steps of a plan would wait for what never comes."""
    if why := fault(steps):
        raise BadInput(f"The plan cannot be carried out: {why}.", "Mend what its steps depend on.")


def in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, each after all that it depends on, otherwise in the order in which they came.

    Where a circle keeps all that are left waiting, the first of them comes next all the same.
    """
    places = {step.number: place for place, step in enumerate(steps)}
    missing: list[int] = []
    behind: dict[int, list[int]] = defaultdict(list)
    for place, step in enumerate(steps):
        needs = places.keys() & set(step.depends_on)
        missing.append(len(needs))
        for need in needs:
            behind[need].append(place)
    free = [place for place, count in enumerate(missing) if count == 0]
    left = iter(range(len(steps)))
    found: dict[int, Step] = {}
    while len(found) < len(places):
        place = heapq.heappop(free) if free else next(left)
        step = steps[place]
        if step.number in found:
            continue
        found[step.number] = step
        for other in behind[step.number]:
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(free, other)
    return tuple(found.values())


def ancestors(steps: Iterable[Step], number: int) -> frozenset[int]:
    """All that a step depends on, directly or by way of others."""
    needs = {step.number: step.depends_on for step in steps}
    found: set[int] = set()
    waiting = list(needs.get(number, ()))
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needs.get(one, ())
    return frozenset(found)


def depths(steps: Sequence[Step]) -> Mapping[int, int]:
    """How many steps, one after another, must be done before each one: 0 for one that depends on none."""
    found: dict[int, int] = {}
    for step in in_order(steps):
        found[step.number] = max((found[need] + 1 for need in step.depends_on if need in found), default=0)
    return found
