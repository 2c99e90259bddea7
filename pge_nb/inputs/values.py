"""A value of plain Python as JSON that gives it back as it was: a silent change would make other data of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..errors import BadInput
from ..payloads import DEEPEST
from ..records import Column, Input
from ..workspace import INPUTS, MAX_FILE_BYTES
from .forms import Written, cut, gathered, too_large

MAX_KEYS = 200
"""Keys of dicts that are told."""
SMALLER = "Give a part of it, or put a file into the working directory."
OTHERWISE = "Give a DataFrame, or what JSON can hold: dict, list, str, int, float, bool, None."
MOVES = {
    "Series": 'Give a DataFrame of it: {0}.to_frame("values")',
    "Index": "Give a DataFrame of it: {0}.to_frame(index=False)",
    "ndarray": "Give {0}.tolist(), or pd.DataFrame({0}).",
    "DataFrame": "--in takes pandas DataFrames, by their own names: a dict or a list holds none, and others have to_pandas().",
    "LazyFrame": "Give a pandas DataFrame: {0}.collect().to_pandas()",
    "Table": "Give a pandas DataFrame: {0}.to_pandas()",
    "set": "Give it as a list: sorted({0})",
    "bytes": "Give text, or put a file into the working directory.",
    "Decimal": "Give it as text or as a number: str({0}) or float({0})",
}

Place = tuple[object, ...]
"""The name of the variable, and the keys and positions that lead to a value in it."""


def plain(name: str, value: object, *, rows: int, shown: int) -> Written:
    """The value as ``inputs/NAME.json``. A tuple becomes a list; what would not come back as it was is a ``BadInput``."""
    path = f"{INPUTS}/{name}.json"
    value = _Plain().of(value, (name,), ())
    try:
        content = gathered(name, _parts(value), SMALLER)
    except UnicodeEncodeError:
        raise BadInput(
            f"{name} holds half a character, which no file can hold.", "Mend the text that it is in."
        ) from None
    told = Input(
        name=name,
        kind=type(value).__name__,
        files=(),
        content=hashlib.sha256(content).hexdigest(),
        read=f'json.loads(Path("{path}").read_text(encoding="utf-8"))',
        rows=len(value) if isinstance(value, list | dict) else None,
        columns=_keys(value),
        shown=cut(json.dumps(_first(value, rows), ensure_ascii=False), shown) if rows else "",
    )
    return Written(told=told, files={path: content})


def _parts(value: object) -> Iterator[bytes]:
    """The JSON piece by piece, so that what is far too large is given up early."""
    pieces = json.JSONEncoder(ensure_ascii=False, allow_nan=False).iterencode(value)
    while piece := "".join(islice(pieces, 10_000)):
        yield piece.encode()
    yield b"\n"


class _Plain:
    """Makes one value plain, and says what in it cannot be."""

    def __init__(self) -> None:
        self.size = 0  # no more bytes than it takes; what is held in many places is written, and counted, in each
        self._deepest = 0
        self._made: dict[int, tuple[object, int, int]] = {}
        """Id of what holds others -> it as plain, its size, and its levels: what is held in many places is walked once."""

    def of(self, value: object, at: Place, above: tuple[int, ...]) -> object:
        """The value with tuples as lists and numbers of NumPy as Python's; ``above`` are the ids of what holds it."""
        value = _native(value)
        self._grow(len(value) + 2 if isinstance(value, str) else 2, at)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int | float):
            return _number(value, at)
        if not isinstance(value, dict | list | tuple):
            raise _no_json(value, at)
        if id(value) in above:
            raise BadInput(f"{_where(at)} holds itself.", "Give what has an end.")
        plain, size, levels = self._made.get(id(value)) or self._held(value, at, above)
        if len(above) + levels > DEEPEST:
            raise BadInput(f"{at[0]} is nested deeper than {DEEPEST} levels.", "Give a flatter value.")
        self._deepest = max(self._deepest, len(above) + levels)
        self._grow(size, at)
        return plain

    def _held(
        self, value: dict[object, object] | list[object] | tuple[object, ...], at: Place, above: tuple[int, ...]
    ) -> tuple[object, int, int]:
        """What a dict or list holds, as plain; the size of that, and how many levels it has."""
        if len(above) >= DEEPEST:
            raise BadInput(f"{at[0]} is nested deeper than {DEEPEST} levels.", "Give a flatter value.")
        before, outside = self.size, self._deepest
        self._deepest = len(above) + 1
        within = (*above, id(value))
        plain: object
        if isinstance(value, dict):
            plain = {_key(key, at): self.of(item, (*at, key), within) for key, item in value.items()}
        else:
            plain = [self.of(item, (*at, n), within) for n, item in enumerate(value)]
        made = (plain, self.size - before, self._deepest - len(above))
        self.size, self._deepest = before, outside
        self._made[id(value)] = made
        return made

    def _grow(self, size: int, at: Place) -> None:
        self.size += size
        if self.size > MAX_FILE_BYTES:
            raise too_large(str(at[0]), SMALLER)


def _native(value: object) -> object:
    """A number of NumPy as Python's own; anything else as it is."""
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value


def _number(value: int | float, at: Place) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BadInput(f"{_where(at)} is {value}, for which JSON has no word.", "Put None or a text in its place.")
        return float(value)
    try:
        str(value)
    except ValueError:
        raise BadInput(
            f"{_where(at)} is a number of thousands of digits.", "Give it as text: hex() writes it."
        ) from None
    return int(value)


def _key(key: object, at: Place) -> str:
    if not isinstance(key, str):
        where = _where(at)
        raise BadInput(
            f"{where} has the key {key!r:.40}, of type {type(key).__name__}: keys of JSON are text.",
            f"Make them text: {{str(key): item for key, item in {where}.items()}}",
        )
    return str(key)


def _no_json(value: object, at: Place) -> BadInput:
    kind, where = type(value).__name__, _where(at)
    return BadInput(
        f"{where} is of type {kind}, which is not written as an input.", MOVES.get(kind, OTHERWISE).format(where)
    )


def _where(at: Place) -> str:
    """A place as Python writes it, the middle of a long one left out."""
    text = f"{at[0]}{''.join(f'[{key!r:.40}]' for key in at[1:])}"
    return text if len(text) <= 160 else f"{text[:80]}...{text[-80:]}"


def _first(value: object, count: int) -> object:
    if isinstance(value, list):
        return value[:count]
    return dict(islice(value.items(), count)) if isinstance(value, dict) else value


def _keys(value: object) -> tuple[Column, ...]:
    """The keys of a dict, or of the dicts that a list consists of, with their types and how often they hold nothing."""
    listed = [value] if isinstance(value, dict) else value
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return ()
    records: Sequence[Mapping[str, object]] = listed
    kinds: dict[str, set[str]] = {}
    held: dict[str, int] = {}
    for record in records:
        for key, item in record.items():
            if key in kinds or len(kinds) < MAX_KEYS:
                kinds.setdefault(key, set()).update(() if item is None else (type(item).__name__,))
                held[key] = held.get(key, 0) + (item is not None)
    return tuple(
        Column(name=key, dtype=" or ".join(sorted(kinds[key])) or "None", nulls=len(records) - held[key])
        for key in kinds
    )
