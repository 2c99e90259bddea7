"""Where the steps of a plan stand when they are drawn, and the ways of the lines between them. Draws nothing.

Steps stand in rows from top to bottom, each below all that it needs; steps that follow one another alone stand side by side.
A need that follows from others (3 needs 2, and 2 needs 1) has no line of its own, and many steps with the same needs and the
same dependents share a frame and its lines. A line that passes a row goes through a gap between its boxes. A place across is
in widths of a box with its gap, 0 the middle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

Needs = Mapping[int, Sequence[int]]
"""Step -> the steps that it needs."""
IN_A_ROW = 4
"""Boxes that stand side by side at most: five would be too narrow for their words."""
WIDE = 0.86
"""The part of its column that a box takes."""
SWEEPS = 4
PORT, PORTS_WIDE = 0.08, 0.34
"""How far apart lines end at one box, and how far from its middle at most."""
LANE, ROOM, ASIDE = 0.04, 0.12, 0.04
"""How far apart lines pass a row, how much of a gap they take, and how far from the outermost box they pass beside it."""
CROWDED, FREE = 0.2, 3
"""How far aside a line goes for each line that is in a gap beyond those that have room there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a box stands: its row, counted from above, and its middle across."""

    row: int
    across: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Around many steps with the same needs and the same dependents: its first and last row, and how many columns it takes."""

    steps: tuple[int, ...]
    first: int
    last: int
    columns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """From a step, or the frame around it, to one that needs it: rows and places across of both ends.

    ``passes`` are the places at which it passes each row between. ``beside``: the two stand side by side.
    """

    start: int
    end: int
    leaves: Place = Place(0, 0.0)
    arrives: Place = Place(0, 0.0)
    passes: tuple[float, ...] = ()
    beside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Step -> its place; frames and lines; how many rows there are, and how many boxes the widest of them has."""

    places: Mapping[int, Place]
    frames: tuple[Frame, ...]
    lines: tuple[Line, ...]
    rows: int
    columns: int


def layout(needs: Needs) -> Layout:
    """Places and lines for the steps. Needs of steps that are not there, and those that close a circle, are left out."""
    whole = without_implied(_acyclic(needs))
    groups = _groups(whole)
    parents = _merged(whole, groups)
    blocks = list(_blocks(_layers(parents), parents, groups))
    places: dict[int, Place] = {}
    spans: dict[int, tuple[int, int]] = {}  # a step, or the first of a group -> its first and last row
    frames: list[Frame] = []
    rows: list[list[int]] = []
    for block in blocks:
        first = len(rows)
        rows += block
        for row, steps in enumerate(block, first):
            places |= {step: Place(row, index - (len(steps) - 1) / 2) for index, step in enumerate(steps)}
        if block[0][0] in groups:
            spans[block[0][0]] = (first, len(rows) - 1)
            frames.append(
                Frame(steps=groups[block[0][0]], first=first, last=len(rows) - 1, columns=max(map(len, block)))
            )
        else:
            spans |= {step: (row, row) for row, steps in enumerate(block, first) for step in steps}
    middles = {step: replace(places[step], across=0.0) if step in groups else places[step] for step in parents}
    framed = {row for frame in frames for row in range(frame.first, frame.last + 1)}
    gaps = [_gaps(len(steps), framed=row in framed) for row, steps in enumerate(rows)]
    return Layout(
        places=places,
        frames=tuple(frames),
        lines=tuple(_lines(parents, middles, spans, gaps)),
        rows=len(rows),
        columns=max(map(len, rows), default=0),
    )


def _acyclic(needs: Needs) -> dict[int, list[int]]:
    """The needs among the steps; one that would close a circle is left out, so that anything can be drawn."""
    kept: dict[int, list[int]] = {step: [] for step in needs}
    for step in needs:
        for other in dict.fromkeys(needs[step]):
            if other in kept and other != step and step not in ancestors(kept, other):
                kept[step].append(other)
    return kept


def ancestors(needs: Needs, step: int) -> set[int]:
    """All that a step needs, directly or not."""
    found: set[int] = set()
    ahead = list(needs[step])
    while ahead:
        other = ahead.pop()
        if other not in found:
            found.add(other)
            ahead += needs[other]
    return found


def without_implied(needs: Needs) -> dict[int, list[int]]:
    """The needs that do not follow from others."""
    return {
        step: [one for one in mine if not any(one in ancestors(needs, other) for other in mine if other != one)]
        for step, mine in needs.items()
    }


# Groups


def _groups(parents: Needs) -> dict[int, tuple[int, ...]]:
    """Steps with the same needs and the same dependents, more than stand in a row: the first of them -> all of them."""
    children = _children(parents)
    alike: dict[tuple[frozenset[int], frozenset[int]], list[int]] = defaultdict(list)
    for step in sorted(parents):
        if parents[step] or children[step]:
            alike[frozenset(parents[step]), frozenset(children[step])].append(step)
    return {steps[0]: tuple(steps) for steps in alike.values() if len(steps) > IN_A_ROW}


def _merged(parents: Needs, groups: Mapping[int, tuple[int, ...]]) -> dict[int, list[int]]:
    """The needs with each group as one step: its first."""
    first = {step: steps[0] for steps in groups.values() for step in steps}
    return {
        step: list(dict.fromkeys(first.get(other, other) for other in mine))
        for step, mine in parents.items()
        if first.get(step, step) == step
    }


def _children(parents: Needs) -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = {step: [] for step in parents}
    for step, mine in parents.items():
        for other in mine:
            found[other].append(step)
    return found


# Rows


def _layers(parents: Needs) -> list[list[int]]:
    """The steps by the length of the longest way to them, in the order of their numbers or one in which fewer lines cross."""
    depth: dict[int, int] = {}
    for step in sorted(parents, key=lambda one: len(ancestors(parents, one))):
        depth[step] = 1 + max((depth[other] for other in parents[step]), default=-1)
    layers = [
        [step for step in sorted(parents) if depth[step] == at] for at in range(max(depth.values(), default=-1) + 1)
    ]
    best, children = [list(layer) for layer in layers], _children(parents)
    for sweep in range(SWEEPS):
        near = children if sweep % 2 else parents
        for layer in reversed(layers[:-1]) if sweep % 2 else layers[1:]:
            _untangle(layer, near, _shares(layers))
        if _crossings(layers, parents) < _crossings(best, parents):
            best = [list(layer) for layer in layers]
    return best


def _shares(layers: Sequence[Sequence[int]]) -> dict[int, float]:
    """Where each step stands in its layer, from 0 to 1."""
    return {step: (index + 0.5) / len(layer) for layer in layers for index, step in enumerate(layer)}


def _untangle(layer: list[int], near: Needs, shares: Mapping[int, float]) -> None:
    """Order a layer by the mean place of its neighbours."""

    def place(step: int) -> tuple[float, int]:
        places = [shares[other] for other in near[step]]
        return (sum(places) / len(places) if places else shares[step]), step

    layer.sort(key=place)


def _crossings(layers: Sequence[Sequence[int]], parents: Needs) -> int:
    """How many pairs of lines cross, their ends taken as they stand in their layers."""
    shares = _shares(layers)
    ways = [(shares[other], shares[step]) for step, mine in parents.items() for other in mine]
    return sum((a - c) * (b - d) < 0 for index, (a, b) in enumerate(ways) for c, d in ways[:index])


def _blocks(
    layers: Sequence[Sequence[int]], parents: Needs, groups: Mapping[int, tuple[int, ...]]
) -> Iterator[list[list[int]]]:
    """Layers as blocks of rows: a wide one takes several, single steps in a line share one, a group has rows of its own."""
    chain: list[int] = []
    for layer in layers:
        alone = [step for step in layer if step not in groups]
        if layer == alone[:1] and chain and chain[-1] in parents[layer[0]] and len(chain) < IN_A_ROW:
            chain += layer
            continue
        if chain:
            yield [chain]
        chain = alone if len(layer) == 1 else []
        for group in (step for step in layer if step in groups):
            yield _parts(groups[group])
        if alone and not chain:
            yield _parts(alone)
    if chain:
        yield [chain]


def _parts(steps: Sequence[int]) -> list[list[int]]:
    """Steps in rows of like length."""
    count = -(-len(steps) // IN_A_ROW)
    size, longer = divmod(len(steps), count)
    ends = [(part + 1) * size + min(part + 1, longer) for part in range(count)]
    return [list(steps[begin:end]) for begin, end in zip([0, *ends], ends, strict=False)]


def _gaps(boxes: int, *, framed: bool) -> list[float]:
    """Where lines may pass a row of so many boxes: between them, unless they stand in a frame, and on either side."""
    side = (boxes - 1 + WIDE) / 2 + (2 * ASIDE if framed else ASIDE)
    return [-side, *([] if framed else [index - boxes / 2 for index in range(1, boxes)]), side]


# Lines


def _lines(
    parents: Needs, middles: Mapping[int, Place], spans: Mapping[int, tuple[int, int]], gaps: Sequence[Sequence[float]]
) -> Iterator[Line]:
    pairs = [(other, step) for step, mine in parents.items() for other in mine]
    apart = [pair for pair in pairs if spans[pair[0]] != spans[pair[1]]]
    for start, end in sorted(set(pairs) - set(apart)):
        yield Line(start=start, end=end, leaves=middles[start], arrives=middles[end], beside=True)
    leaving, arriving = _ports(apart, middles, end=0), _ports(apart, middles, end=1)
    drawn = [
        Line(
            start=pair[0],
            end=pair[1],
            leaves=Place(spans[pair[0]][1], leaving[pair]),
            arrives=Place(spans[pair[1]][0], arriving[pair]),
        )
        for pair in sorted(apart, key=lambda pair: (spans[pair[0]], spans[pair[1]], leaving[pair]))
    ]
    yield from _beside_one_another(drawn, gaps)


def _ports(pairs: Sequence[tuple[int, int]], middles: Mapping[int, Place], *, end: int) -> dict[tuple[int, int], float]:
    """Where each line leaves (``end`` 0) or arrives (1): side by side, ordered by where its other end is."""
    found: dict[tuple[int, int], float] = {}
    at: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for pair in pairs:
        at[pair[end]].append(pair)
    for step, mine in at.items():
        mine.sort(key=lambda pair: (middles[pair[1 - end]].across, pair))
        apart = min(PORT, 2 * PORTS_WIDE / max(1, len(mine) - 1))
        for index, pair in enumerate(mine):
            found[pair] = middles[step].across + (index - (len(mine) - 1) / 2) * apart
    return found


def _beside_one_another(lines: Sequence[Line], gaps: Sequence[Sequence[float]]) -> Iterator[Line]:
    """The lines with the places at which they pass rows: those in one gap side by side, in an order in which few cross."""
    crowd: dict[tuple[int, float], int] = defaultdict(int)
    ways = [_way(line, gaps, crowd) for line in lines]
    through: dict[tuple[int, float], list[int]] = defaultdict(list)
    for index, (line, way) in enumerate(zip(lines, ways, strict=True)):
        for row, gap in enumerate(way, line.leaves.row + 1):
            through[row, gap].append(index)
    places: dict[tuple[int, int], float] = {}
    widest = max(map(max, gaps), default=0.0)
    for (row, gap), mine in through.items():
        mine.sort(key=lambda index: _course(lines[index], ways[index], row))
        for index, aside in zip(mine, _lanes(len(mine), gap, max(gaps[row]), widest), strict=True):
            places[index, row] = gap + aside
    for index, (line, way) in enumerate(zip(lines, ways, strict=True)):
        yield replace(line, passes=tuple(places[index, row] for row, _ in enumerate(way, line.leaves.row + 1)))


def _way(line: Line, gaps: Sequence[Sequence[float]], crowd: dict[tuple[int, float], int]) -> list[float]:
    """The gaps in which a line passes the rows between: near its straight way on, and not where many lines are already."""
    way: list[float] = []
    at = line.leaves.across
    for row in range(line.leaves.row + 1, line.arrives.row):
        straight = at + (line.arrives.across - at) / (line.arrives.row - row + 1)
        at = min(gaps[row], key=lambda gap: (abs(gap - straight) + CROWDED * max(0, crowd[row, gap] - FREE), gap))
        crowd[row, at] += 1
        way.append(at)
    return way


def _course(line: Line, way: Sequence[float], row: int) -> tuple[float, float, int, int]:
    """What lines in one gap are ordered by: from where they come and where they go, in the next rows and in the end."""
    places = [line.leaves.across, *way, line.arrives.across]
    at = row - line.leaves.row
    return places[at - 1] + places[at + 1], line.leaves.across + line.arrives.across, line.start, line.end


def _lanes(count: int, gap: float, outermost: float, widest: float) -> list[float]:
    """How far from a gap's middle so many lines pass, side by side from the left; beside a row only away from it."""
    if abs(gap) < outermost:
        apart = min(LANE, ROOM / max(1, count - 1))
        return [(index - (count - 1) / 2) * apart for index in range(count)]
    apart = min(LANE, (ROOM + widest - outermost) / max(1, count - 1))  # beside a narrow row there is more room
    return [(index if gap > 0 else index - count + 1) * apart for index in range(count)]
