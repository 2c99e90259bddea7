"""The child of the reference review: compares a file with a reference, by its numbers, its structure or its words.

It runs alone (``python -I``), inside the sandbox, and imports nothing of the package: what an agent wrote may take for ever to
be read or to be compared. The working directory is the tree.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LISTED = 3
SAID = 80
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
PARTS = re.compile(r"[\s,;]+")
TABLES = {".csv": ",", ".tsv": "\t"}
Told = tuple[bool | None, str]


class Unreadable(Exception):
    """A text that is not what it should be; says why."""


def main() -> None:
    """Write whether the file agrees (null: that cannot be said), and what was compared."""
    asked = json.load(sys.stdin)
    try:
        wanted = asked["reference"] if asked["from"] is None else read(asked["from"], asked["kind"])
    except Unreadable as error:
        told: Told = None, f"the reference cannot be used: {error}"
    else:
        try:
            told = KINDS[asked["kind"]](wanted, read(asked["path"], asked["kind"]), asked)
        except (Unreadable, RecursionError) as error:
            told = False, f"{asked['path']} cannot be compared: {error}"
    json.dump(told, sys.stdout)


def read(path: str, kind: str) -> Any:
    """What a file holds, as that kind of comparison takes it."""
    text = Path(path).read_bytes().decode("utf-8-sig", "replace")
    suffix = Path(path).suffix.lower()
    if kind == "text":
        return text
    if suffix == ".json":
        return json_of(text)
    if suffix in TABLES:
        return columns(text, TABLES[suffix])
    if kind == "structure":
        return headings(text)
    return numbers(text)


def json_of(text: str) -> Any:
    """JSON; NaN stands for itself, since programs write it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON ({error})") from None


def columns(text: str, between: str) -> dict[str, list[Any]]:
    """A table with a head as columns; cells that are numbers are such, empty ones are null."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=between) if row]
    except csv.Error as error:
        raise Unreadable(f"it is no table ({error})") from None
    if not rows:
        raise Unreadable("it is empty")
    head, *rest = rows
    if ragged := next((number for number, row in enumerate(rest, 2) if len(row) != len(head)), None):
        raise Unreadable(f"row {ragged} has {len(rest[ragged - 2])} cells, the first has {len(head)}")
    return {name.strip(): [cell_of(row[index]) for row in rest] for index, name in enumerate(head)}


def cell_of(text: str) -> Any:
    """A cell as a number where it is one."""
    text = text.strip()
    try:
        return float(text) if text else None
    except ValueError:
        return text


def numbers(text: str) -> Any:
    """The numbers of a plain text, a single one by itself."""
    try:
        found = [float(part) for part in PARTS.split(text.strip()) if part]
    except ValueError as error:
        raise Unreadable(f"it holds more than numbers ({error})") from None
    if not found:
        raise Unreadable("it holds no number")
    return found[0] if len(found) == 1 else found


def headings(text: str) -> list[str]:
    """The headings of a Markdown text, with their marks."""
    return [f"{found[1]} {found[2]}" for found in HEADING.finditer(FENCE.sub("", text))]


# Numbers


def by_number(wanted: Any, got: Any, asked: dict[str, Any]) -> Told:
    """Every number of the reference stands at its place, within the tolerance; what else the file holds does not matter."""
    compared = [0, 0.0]

    def same(left: Any, right: Any) -> bool:
        if not _is_number(left) or not _is_number(right):
            return bool(left == right) and isinstance(left, bool) is isinstance(right, bool)
        compared[0] += 1
        if left == right or (left != left and right != right):  # noqa: PLR0124 - only NaN is not itself
            return True
        try:
            apart = abs(float(left) - float(right))
        except OverflowError:
            return False
        compared[1] = max(compared[1], apart)
        return math.isclose(left, right, rel_tol=asked["tolerance"], abs_tol=asked["absolute"])

    faults = list(differences(wanted, got, "", same))
    if not compared[0] and not faults:
        return None, "the reference cannot be used: it holds no number"
    within = f"relative tolerance {asked['tolerance']:g}, absolute {asked['absolute']:g}"
    if faults:
        return False, f"{len(faults)} differ ({within}): {listed(faults)}"
    return True, f"{compared[0]} numbers agree, the largest difference is {compared[1]:.3g} ({within})"


def differences(wanted: Any, got: Any, place: str, same: Callable[[Any, Any], bool]) -> Iterator[str]:
    """Where the file differs from the reference: lists are as long, objects have the keys, the rest is the same."""
    at = place or "the value"
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            yield f"{at} is {type_of(got)}, not an object"
            return
        for key, value in wanted.items():
            inner = f"{place}.{key}" if place else str(key)
            if key in got:
                yield from differences(value, got[key], inner, same)
            else:
                yield f"{inner} is not there"
    elif isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            found = f"{len(got)} items" if isinstance(got, list) else type_of(got)
            yield f"{at} has {found}, wanted {len(wanted)} items"
            return
        for number, (left, right) in enumerate(zip(wanted, got, strict=True)):
            yield from differences(left, right, f"{place}[{number}]", same)
    elif not same(wanted, got):
        yield f"{at} is {shown(got)}, wanted {shown(wanted)}"


# Structure


def by_structure(wanted: Any, got: Any, asked: dict[str, Any]) -> Told:
    """The keys and types of a JSON value, the columns of a table, or the headings of a text in their order."""
    if Path(asked["path"]).suffix.lower() in {".json", *TABLES}:
        if isinstance(wanted, list) and isinstance(got, dict) and all(isinstance(name, str) for name in wanted):
            missing = [name for name in wanted if name not in got]
            count = len(wanted)
        else:
            missing, count = list(misshapen(wanted, got, "")), len(list(places(wanted)))
        if missing:
            return False, f"not as in the reference: {listed(missing)}"
        return True, f"{count} keys or columns are there, each of its type"
    sought = headings(wanted) if isinstance(wanted, str) else wanted
    if not isinstance(sought, list) or not sought or any(not isinstance(one, str) for one in sought):
        return None, "the reference cannot be used: it holds no headings"
    rest = iter([folded(one) for one in got])
    missing = [one for one in sought if folded(one) not in rest]
    if missing:
        return False, f"headings missing, or out of order: {listed(missing)}"
    return True, f"{len(sought)} headings are there in their order, of {len(got)}"


def misshapen(wanted: Any, got: Any, place: str) -> Iterator[str]:
    """Where the file's value has another shape: a list is of items like the reference's first."""
    at = place or "the value"
    if type_of(wanted) != type_of(got):
        yield f"{at} is {type_of(got)}, wanted {type_of(wanted)}"
    elif isinstance(wanted, dict):
        for key, value in wanted.items():
            inner = f"{place}.{key}" if place else str(key)
            if key in got:
                yield from misshapen(value, got[key], inner)
            else:
                yield f"{inner} is not there"
    elif isinstance(wanted, list) and wanted:
        for number, item in enumerate(got):
            yield from misshapen(wanted[0], item, f"{place}[{number}]")


def places(value: Any) -> Iterator[str]:
    """The keys of a reference, at every depth; the value itself where it has none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            if isinstance(inner, dict):
                yield from places(inner)
    else:
        yield "the value"


# Text


def by_text(wanted: Any, got: str, asked: dict[str, Any]) -> Told:
    """The texts are alike, white space and form of writing aside: 1 is the same, 0 has nothing in common."""
    if not isinstance(wanted, str) or not wanted.strip():
        return None, "the reference cannot be used: it is no text"
    ratio, by = likeness(folded(wanted), folded(got))
    return ratio >= asked["at_least"], f"the likeness is {ratio:.3f} by {by}, wanted at least {asked['at_least']:g}"


def likeness(left: str, right: str) -> tuple[float, str]:
    """How alike two texts are, from 0 to 1, and by which measure: rapidfuzz where it is installed, else difflib."""
    try:
        from rapidfuzz.fuzz import ratio
    except ImportError:
        from difflib import SequenceMatcher

        return SequenceMatcher(None, left, right, autojunk=False).ratio(), "difflib.SequenceMatcher.ratio"
    return float(ratio(left, right)) / 100, "rapidfuzz.fuzz.ratio"


def folded(text: str) -> str:
    """The text in NFC with every run of white space as one blank."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def type_of(value: object) -> str:
    """A JSON value's type, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def shown(value: object) -> str:
    """A value on one line, and not all of it."""
    return repr(value)[:SAID]


def listed(items: list[str]) -> str:
    """The first of some items."""
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return "; ".join(items[:LISTED]) + more


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


KINDS: dict[str, Callable[[Any, Any, dict[str, Any]], Told]] = {
    "number": by_number,
    "structure": by_structure,
    "text": by_text,
}

if __name__ == "__main__":
    main()
