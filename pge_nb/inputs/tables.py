"""A DataFrame as a file that gives it back exactly, and as the one text by which its content is known.

The text is CSV of our own writing: the same on every version of pandas, NumPy and Python, of every value with all its digits.
Its hash, with names and dtypes, is the content's; the first lines of it are what agents are shown; and where no Parquet can be
written it is the file. No part of the content: ``attrs``, the name of the columns' axis, a frequency, and which of None, NaN
and NA a column writes for nothing.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import BadInput
from ..payloads import Json, compact
from ..records import Column, Input
from ..workspace import INPUTS, MAX_FILE_BYTES
from .forms import CSV, PARQUET, Form, Written, cut, gathered, too_large

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Cells = pd.Series[Any]
    Dates = np.ndarray[tuple[int], np.dtype[np.datetime64[Any]]]

CHUNK = 50_000
"""Rows that are written at a time."""
LONGEST_LINE = 1_000
"""Characters of a line of Python that reads a table; a longer one takes what it needs from the file beside it."""
WHOLE = frozenset(
    {"bool", "boolean", *(f"{sign}nt{size}" for sign in ("i", "I", "ui", "UI") for size in (8, 16, 32, 64))}
)
REAL = frozenset({"float16", "float32", "float64", "Float32", "Float64"})
TEXT = frozenset({"str", "string", "object"})
SPECIAL = re.compile('[",\r\n]')
HALF = re.compile("[\ud800-\udfff]")
MOVES = {
    "boolean": 'astype("boolean")',
    "integer": 'astype("Int64")',
    "floating": "astype(float)",
    "mixed-integer-float": "astype(float)",
    "decimal": "astype(float)",
}
"""What of the values in a column of objects makes a column with a type of its own; else they can be made text."""

Unit = Literal["D", "s", "ms", "us", "ns"]
Texts = Callable[["Cells"], list[str]]
"""The cells of a part of one column."""
Index = tuple[tuple[str, bool], ...]
"""The columns that are the index, and whether each has its name from there."""


def table(name: str, frame: pd.DataFrame, form: Form, *, rows: int, shown: int) -> Written:
    """The DataFrame as ``inputs/NAME.parquet`` or ``.csv``, with ``NAME.dtypes.json`` beside it.

    An index other than the default one is written as columns, and set again by the line that reads. ``BadInput`` says what
    cannot be written: no columns, names that are no text or stand twice, types without a form here.
    """
    flat, index = _flat(name, frame)
    _check_names(name, flat)
    sheet = _Sheet.of(name, flat)
    smaller = f"Give fewer rows or columns, as in {name}.head(100_000)"
    path = f"{INPUTS}/{name}.{form}"
    digest = hashlib.sha256(sheet.head(index).encode())
    if form == PARQUET:
        content, kept = _parquet(name, flat, smaller)
        for part in sheet.parts():
            digest.update(part)
        reading = Reading(form=form, read={}, cast={one: kind for one, kind in sheet.kinds.items() if one not in kept})
    else:
        content = gathered(name, sheet.parts(), f"{smaller}; or: pip install pyarrow, whose files are smaller.")
        digest.update(content)
        reading = sheet.reading()
    beside = f"{INPUTS}/{name}.dtypes.json"
    nulls = flat.isna().sum()
    told = Input(
        name=name,
        kind="DataFrame",
        files=(),
        content=digest.hexdigest(),
        read=reading.line(path, beside, index),
        rows=len(flat),
        columns=tuple(Column(name=one, dtype=str(flat[one].dtype), nulls=int(nulls[one])) for one in flat.columns),
        index=tuple(column for column, _ in index),
        shown=cut(sheet.first(min(rows, shown)), shown) if rows else "",
    )
    return Written(told=told, files={path: content, beside: reading.beside()})


def _flat(name: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, Index]:
    """The frame with its index as columns, unless it is the default one; and which those are."""
    import pandas as pd

    usual = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    if frame.columns.nlevels > 1:
        raise BadInput(
            f"{name} has columns of {frame.columns.nlevels} levels.",
            f'Join their names: {name}.columns = ["_".join(map(str, one)) for one in {name}.columns]',
        )
    if not len(frame.columns):
        raise BadInput(f"{name} has no columns.", "Give a DataFrame with one at least.")
    if usual and frame.index.name is None:
        flat, levels = frame.copy(deep=False), 0
    else:
        try:
            flat, levels = frame.reset_index(), frame.index.nlevels
        except ValueError as error:
            raise BadInput(
                f"The index of {name} cannot be written as a column: {error}.", f"Rename it: {name}.rename_axis(...)"
            ) from None
    flat.attrs = {}
    return flat, tuple(
        (column, name is not None) for column, name in zip(flat.columns[:levels], frame.index.names, strict=False)
    )


def _check_names(name: str, flat: pd.DataFrame) -> None:
    for column in flat.columns:
        if not isinstance(column, str):
            raise BadInput(
                f"{name} has a column or an index named {column!r:.80}, which is no text.",
                f"Rename them: {name} = {name}.rename(columns=str)",
            )
        if not column.strip() or not column.isprintable():
            raise BadInput(
                f"{name} has a column named {column!r:.80}, which a file cannot keep.",
                f"Rename it: {name}.rename(columns=...)",
            )
    if twice := [*flat.columns[flat.columns.duplicated()]]:
        raise BadInput(f"{name} has two columns named {twice[0]!r:.80}.", "Rename one of them, or leave it out.")


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The text of a table: its columns, how the cells of each are written, and the dtype that each has when it is read."""

    flat: pd.DataFrame
    null: str
    texts: Mapping[str, Texts]
    kinds: Mapping[str, Json]

    @classmethod
    def of(cls, name: str, flat: pd.DataFrame) -> _Sheet:
        """``BadInput`` names the column whose type has no form here."""
        kinds = {one: _kind(name, one, flat[one]) for one in flat.columns}
        null = _unused(flat)
        return cls(flat, null, {one: _texts(flat[one], null, f"{name}[{one!r}]") for one in flat.columns}, kinds)

    def head(self, index: Index) -> str:
        """What the content is beside its cells."""
        return compact([self.null, [*self.kinds.items()], [*index]]) + "\n"

    def parts(self) -> Iterator[bytes]:
        """The whole of it, piece by piece."""
        yield _line(map(_quoted, self.texts)).encode()
        for start in range(0, len(self.flat), CHUNK):
            yield self._rows(self.flat.iloc[start : start + CHUNK]).encode()

    def first(self, count: int) -> str:
        """The names and the first rows."""
        return _line(map(_quoted, self.texts)) + self._rows(self.flat.iloc[:count])

    def _rows(self, part: pd.DataFrame) -> str:
        return "".join(map(_line, zip(*(texts(part[one]) for one, texts in self.texts.items()), strict=True)))

    def reading(self) -> Reading:
        """How the text is read so that every value and every dtype is what it was."""
        plain = {one: _plain_kind(kind) for one, kind in self.kinds.items()}
        read: dict[str, Json] = {"dtype": plain, "keep_default_na": False, "na_values": [self.null]}
        if not _reads_exactly() and any(kind in REAL for kind in plain.values()):
            read["float_precision"] = "round_trip"
        cast = {one: kind for one, kind in self.kinds.items() if kind != plain[one]}
        return Reading(form=CSV, read=read, cast=cast)


def _reads_exactly() -> bool:
    """Whether pandas reads a float as it was written without being told to, as it does from 3.1 on."""
    import pandas as pd

    return tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader has to be told: the arguments of ``pd.read_csv``, and the columns that get their dtype afterwards."""

    form: Form
    read: Mapping[str, Json]
    cast: Mapping[str, Json]

    def beside(self) -> bytes:
        """The same for a program, as the file beside the table."""
        return (json.dumps({"read": self.read, "astype": self.cast}, ensure_ascii=False, indent=1) + "\n").encode()

    def line(self, path: str, beside: str, index: Index) -> str:
        """The expression that gives the DataFrame back, with ``import pandas as pd``."""
        again = ""
        if index:
            again = f".set_index({[column for column, _ in index]!r})"
            if not all(named for _, named in index):
                again += f".rename_axis({[column if named else None for column, named in index]!r})"
        args = "".join(f", {name}={value!r}" for name, value in self.read.items())
        cast = ", ".join(f"{one!r}: {_in_python(kind)}" for one, kind in self.cast.items())
        text = f'pd.read_{self.form}("{path}"{args})' + (f".astype({{{cast}}})" if cast else "") + again
        # Categories are values of the data, which are told to nobody who did not ask for rows.
        if len(text) <= LONGEST_LINE and not any(isinstance(kind, Mapping) for kind in self.cast.values()):
            return text
        told = f'json.loads(Path("{beside}").read_text(encoding="utf-8"))'
        kinds = '{one: pd.CategoricalDtype(**kind) if isinstance(kind, dict) else kind for one, kind in told["astype"].items()}'
        return f'(lambda told: pd.read_{self.form}("{path}", **told["read"]).astype({kinds}){again})({told})'


def _in_python(kind: Json) -> str:
    if isinstance(kind, Mapping):
        return f"pd.CategoricalDtype({kind['categories']!r}, ordered={kind['ordered']!r})"
    return repr(kind)


# What a column is


def _kind(name: str, column: str, values: Cells) -> Json:
    """The dtype as the reader is told it: its name, or the categories; ``BadInput`` where it has no form here."""
    import pandas as pd

    dtype, which = values.dtype, f"The column {column!r:.80} of {name}"
    kind = str(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        listed = dtype.categories.tolist()
        plain = str(dtype.categories.dtype) in WHOLE | REAL | TEXT and all(
            isinstance(one, str | int | float) for one in listed
        )
        if not plain or pd.CategoricalDtype(listed, dtype.ordered) != dtype:
            raise BadInput(
                f"{which} has categories of type {dtype.categories.dtype}.",
                f'Make them text: {name}[{column!r}].astype(str).astype("category")',
            )
        return {"categories": listed, "ordered": bool(dtype.ordered)}
    if kind == "object":
        _check_objects(name, column, values, which)
    elif kind.startswith("datetime64["):
        _check_years(values, which)
    elif kind not in WHOLE | REAL | TEXT and not kind.startswith("timedelta64["):
        raise BadInput(
            f"{which} has dtype {kind}, which is not written.", f"Give it another, as in {name}[{column!r}].astype(str)"
        )
    return kind


def _check_objects(name: str, column: str, values: Cells, which: str) -> None:
    """Objects are texts, or nothing; a column of others does not say what it is."""
    from pandas.api.types import infer_dtype

    held = infer_dtype(values, skipna=True)
    if held in ("string", "empty"):
        return
    types = sorted({type(one).__name__ for one in values[values.notna()].head(10_000)})
    where = f"{name}[{column!r}]"
    move = (
        f"pd.to_datetime({where})"
        if held in ("date", "datetime", "datetime64")
        else f"{where}.{MOVES.get(held, 'astype(str)')}"
    )
    raise BadInput(
        f"{which} holds objects of type {', '.join(types[:4])}.", f"Give it a type of its own: {where} = {move}"
    )


def _check_years(values: Cells, which: str) -> None:
    import numpy as np

    years = _utc(values).astype("datetime64[Y]")
    known = years[~np.isnat(years)]
    if known.size and not (np.datetime64("0001") <= known.min() and known.max() <= np.datetime64("9999")):
        raise BadInput(
            f"{which} holds dates outside the years 1 to 9999.", "Put nothing in their place, or leave them out."
        )


def _plain_kind(kind: Json) -> Json:
    """The dtype that a reader of CSV can be asked for; the column gets its own afterwards."""
    if isinstance(kind, Mapping):
        first = kind["categories"][0] if kind["categories"] else ""  # type: ignore[index]
        return {str: "str", bool: "boolean", int: "Int64"}.get(type(first), "float64")
    if kind == "float16":
        return "float32"
    return "Int64" if str(kind).startswith("timedelta64[") else "str" if str(kind).startswith("datetime64[") else kind


# What its cells are


def _texts(values: Cells, null: str, where: str) -> Texts:
    """How the cells of a column are written."""
    kind = str(values.dtype)
    if kind == "category":
        categories = values.cat.categories
        listed = [
            *_texts(categories.to_series(), null, where)(categories.to_series()),
            null,
        ]  # the last is -1: no category
        return lambda part: [listed[code] for code in part.cat.codes.tolist()]
    if kind.startswith("datetime64["):
        return _date_texts(values, null)
    if kind.startswith("timedelta64["):
        return lambda part: _cells(part.to_numpy().astype("int64").tolist(), part, null, repr)
    written = repr if kind not in TEXT else _text_of(where)
    return lambda part: _cells(part.tolist(), part, null, written)


def _cells(values: Sequence[object], part: Cells, null: str, written: Callable[[object], str]) -> list[str]:
    return [null if gone else written(one) for one, gone in zip(values, part.isna().tolist(), strict=True)]


def _text_of(where: str) -> Callable[[object], str]:
    def written(one: object) -> str:
        text = str(one)
        if "\0" in text or HALF.search(text):
            raise BadInput(
                f"{where:.200} holds a character that no text file can hold.", f"Take it out of {text!r:.60}."
            )
        return _quoted(text)

    return written


def _quoted(text: str) -> str:
    """A text as CSV has it; an empty one in quotes, so that a line is never empty."""
    return '"' + text.replace('"', '""') + '"' if not text or SPECIAL.search(text) else text


def _line(cells: object) -> str:
    return ",".join(cells) + "\n"  # type: ignore[arg-type]


def _date_texts(values: Cells, null: str) -> Texts:
    """Dates as ISO 8601 with as many digits as the column needs, those of a time zone in UTC."""
    import numpy as np

    whole, zone = _utc(values), "Z" if getattr(values.dtype, "tz", None) is not None else ""
    known = whole[~np.isnat(whole)]
    units: tuple[Unit, ...] = ("s", "ms", "us", "ns") if zone else ("D", "s", "ms", "us", "ns")
    unit = next(one for one in units if (known == known.astype(f"datetime64[{one}]")).all())
    return lambda part: [
        null if text == "NaT" else text + zone for text in np.datetime_as_string(_utc(part), unit=unit).tolist()
    ]


def _utc(values: Cells) -> Dates:
    if getattr(values.dtype, "tz", None) is not None:
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    return values.to_numpy()


def _unused(flat: pd.DataFrame) -> str:
    """What stands for nothing: no text of the table is the same."""
    texts: list[Any] = [flat[one] for one in flat.columns if str(flat[one].dtype) in TEXT]
    texts += [flat[one].cat.categories for one in flat.columns if str(flat[one].dtype) == "category"]
    number, null = 1, "<NA>"
    while any(one.isin([null]).any() for one in texts):
        number, null = number + 1, f"<NA{number + 1}>"
    return null


# Parquet


def _parquet(name: str, flat: pd.DataFrame, smaller: str) -> tuple[bytes, set[str]]:
    """The file, and the columns that come back with the dtype that they had."""
    import pandas as pd

    whole = io.BytesIO()
    try:
        flat.to_parquet(whole, engine="pyarrow", index=False)
    except (ValueError, TypeError, ArithmeticError) as error:  # those of pyarrow are among them
        raise BadInput(f"{name} cannot be written as Parquet: {error}", "Mend the column that it names.") from None
    if whole.tell() > MAX_FILE_BYTES:
        raise too_large(name, smaller)
    read = pd.read_parquet(io.BytesIO(whole.getvalue()), engine="pyarrow").dtypes
    return whole.getvalue(), {one for one in flat.columns if read[one] == flat[one].dtype}
