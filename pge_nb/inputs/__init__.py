"""Data in: values of the notebook, as read-only files under ``inputs/`` of every tree, and what may be told of them.

What is told and hashed is made from the content, so the same data are the same task on another machine, whichever form
their files take there. A DataFrame is a Parquet file where pyarrow is there, else CSV; any other value is JSON.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import BadInput
from ..models.choose import RECORDING, recorded_at
from ..models.replay import Replay
from ..nearness import nearest
from ..payloads import Json, Misfit, decode
from ..prose import counted
from ..records import FileRef, Input
from ..workspace import INPUTS, MAX_TREE_BYTES, Objects, misplaced
from .forms import CSV, PARQUET, Form, Written

SHOWN_BUDGET = 24_000
"""Characters of rows that a brief shows, over all inputs; what is cut is marked."""
LONGEST_SHOWN = 6_000
"""The same for one input."""
MAX_INPUTS = 50
RECORDED = "inputs"
"""The field of a recording's first line that holds the inputs of its run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The inputs of a task that is to begin: what is told of them, their files' contents by sha256, and ``--rows``."""

    inputs: tuple[Input, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
    rows: int = 0

    @property
    def identity(self) -> dict[str, Json]:
        """What they add to the task's identity: nothing where there are none."""
        return {"inputs": {one.name: one.content for one in self.inputs}, "rows": self.rows} if self.inputs else {}

    def keep(self, objects: Objects) -> None:
        """Keep the contents of the files as objects."""
        for content in self.contents.values():
            objects.put(content)

    def beside(self, files: Iterable[FileRef]) -> tuple[FileRef, ...]:
        """The files of the working directory without those that are inputs already; ``BadInput`` where one is in their way."""
        own = {file.path: file.sha256 for one in self.inputs for file in one.files}
        files = tuple(files)
        for file in files:
            if own.get(file.path, file.sha256) != file.sha256:
                raise BadInput(
                    f"{file.path} in the working directory is a file of yours, and --in writes there.",
                    "Move it away, or give the variable another name.",
                )
        return tuple(file for file in files if file.path not in own)


def given(
    names: Sequence[str], variables: Mapping[str, object], *, rows: int = 0, recorded: Sequence[Input] = ()
) -> Given:
    """The named variables as inputs; ``BadInput`` for what is not there, cannot be written, or is too large.

    ``rows`` of each are shown to agents. ``recorded`` are the inputs of a recording that is to be replayed: where they are the
    same data, they keep the form that they had there.
    """
    if rows < 0:
        raise BadInput(f"--rows is {rows}.", "Give the number of rows that agents may see, or leave it out.")
    known = {one.name: one for one in recorded}
    made = [_input(name, variables, rows, known.get(name), of=len(names)) for name in _names(names, variables)]
    contents = {file.sha256: content for one in made for file, content in one.files}
    if sum(map(len, contents.values())) > MAX_TREE_BYTES:
        raise BadInput(
            f"The inputs take more than {MAX_TREE_BYTES // 10**6} MB together.", "Give fewer of them, or fewer rows."
        )
    return Given(inputs=tuple(one.input for one in made), contents=contents, rows=rows)


def recorded_inputs(model: str) -> tuple[Input, ...]:
    """The inputs of the run that a model replays; empty for one that replays none. ``BadInput`` where they cannot be read."""
    if not model.startswith(RECORDING):
        return ()
    header = Replay(recorded_at(model)).header
    try:
        return decode(_Recorded, {RECORDED: header.get(RECORDED, [])}).inputs
    except Misfit as error:
        raise BadInput(f"The inputs of {model} cannot be read: {error}.", "Use a calls.jsonl of a run.") from None


def said_of(inputs: Sequence[Input], rows: int) -> str:
    """What agents will see of the inputs, in one sentence; empty where there are none."""
    if not inputs:
        return ""
    seen = f"and the first {counted(rows, 'row')}" if rows else "no rows, but what commands print of them"
    return f"Agents see names, types and counts of {_listed([brief(one) for one in inputs])}; {seen}."


def brief(one: Input) -> str:
    """An input in a few words: its name and size."""
    if one.kind == "DataFrame":
        return f"{one.name} ({counted(one.rows or 0, 'row')}, {counted(len(one.columns), 'column')})"
    return f"{one.name} ({one.kind})" if one.rows is None else f"{one.name} ({one.kind}, {counted(one.rows, 'item')})"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    inputs: tuple[Input, ...]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _names(names: Sequence[str], variables: Mapping[str, object]) -> list[str]:
    """The names in one order, so that the order in which they are given makes no other task."""
    if not names or "" in names:
        raise BadInput("--in takes names of variables.", "Write them with commas and no blanks: --in sales,regions")
    if len(names) > MAX_INPUTS:
        raise BadInput(
            f"--in names {len(names)} variables.", f"Give at most {MAX_INPUTS}; a dict can hold several values."
        )
    for name in names:
        if name not in variables:
            near = nearest(name, [one for one in variables if not one.startswith("_")], cutoff=0.6)
            move = f"Did you mean {near}?" if near else "Set it in a cell above, and run that first."
            raise BadInput(f"--in: there is no name {name!r:.80} in this notebook.", move)
        if why := misplaced(f"{INPUTS}/{name}.csv"):
            raise BadInput(f"{name!r:.80} cannot be the name of a file: {why}.", "Give the value another name.")
    # Some file systems hold both for one name.
    twice = [name for name, times in Counter(name.casefold() for name in names).items() if times > 1]
    if twice:
        raise BadInput(
            f"--in names {twice[0]} twice.", "Name each variable once, and none like another but for its case."
        )
    return sorted(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    input: Input
    files: tuple[tuple[FileRef, bytes], ...]


def _input(name: str, variables: Mapping[str, object], rows: int, known: Input | None, *, of: int) -> _Made:
    """One variable as an input, in the form of the recorded one where there is that."""
    value = variables[name]
    shown = min(LONGEST_SHOWN, SHOWN_BUDGET // of)
    written = _written(name, value, _form(known), rows, shown)
    files = tuple((_ref(path, content), content) for path, content in written.files.items())
    made = replace(written.told, files=tuple(ref for ref, _ in files))
    if known and known.content == made.content:
        made = replace(made, read=known.read)
    return _Made(input=made, files=files)


def _written(name: str, value: object, form: Form, rows: int, shown: int) -> Written:
    # Whoever has a DataFrame has imported pandas, so nobody else waits for it.
    if any(f"{cls.__module__}.{cls.__name__}" in FRAMES for cls in type(value).__mro__):
        from .tables import table

        return table(name, value, form, rows=rows, shown=shown)  # type: ignore[arg-type]
    from .values import plain

    return plain(name, value, rows=rows, shown=shown)


FRAMES = frozenset({"pandas.DataFrame", "pandas.core.frame.DataFrame"})


def _form(known: Input | None) -> Form:
    """How a DataFrame is written: as the recording has it, else Parquet where that can be written."""
    can = _parquet_is_read()
    if known is None or not known.files:
        return PARQUET if can else CSV
    recorded = PARQUET if known.files[0].path.endswith(f".{PARQUET}") else CSV
    if recorded == PARQUET and not can:
        raise BadInput(
            f"The recording has {known.name} as Parquet, and pyarrow does not stand beside pandas here.",
            "pip install pyarrow",
        )
    return recorded


def _parquet_is_read() -> bool:
    """Whether Parquet can be read where generated code runs: pyarrow stands beside pandas, not only in a place of this kernel."""
    places = [spec.origin if (spec := importlib.util.find_spec(name)) else None for name in ("pandas", "pyarrow")]
    pandas, pyarrow = (Path(place).parents[1] if place else None for place in places)
    return pandas is not None and pandas == pyarrow


def _ref(path: str, content: bytes) -> FileRef:
    return FileRef(path=path, mode=0o444, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
