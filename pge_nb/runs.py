"""`Runs`: several runs, as `open_runs` gives them, each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import overload

from .run import Run


class Runs(Sequence[Run]):
    """Several runs in order; every frame takes them as it takes one."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Runs: ...
    def __getitem__(self, place: int | slice) -> Run | Runs:
        return Runs(self._runs[place]) if isinstance(place, slice) else self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        """A line a run: its name, how it ended, and where it stands."""
        told = [
            f"{name or 'no task yet'}  {run.outcome}  {run.root or ''}".rstrip()
            for name, run in zip(self.names, self, strict=True)
        ]
        return "\n".join([f"{len(self)} {'run' if len(self) == 1 else 'runs'}", *told])

    @property
    def names(self) -> tuple[str | None, ...]:
        """What the frames call each run: its id; the second of the same id (a task carried out again) has ~2 behind it.

        None for a run without a task.
        """
        met: Counter[str] = Counter()
        names: list[str | None] = []
        for run in self:
            name = run.task.run if run.of("task") else None
            if name is not None:
                met[name] += 1
                name = f"{name}~{met[name]}" if met[name] > 1 else name
            names.append(name)
        return tuple(names)
