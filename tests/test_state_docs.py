"""`docs/state-file.md` tells the truth: its tables, its example, and its reader."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union

import pytest
from state_samples import ONE_OF_EACH, written

from pge_nb import records as r
from pge_nb import study_records
from pge_nb.framing import MAX_BODY, Frame, Place, walk
from pge_nb.sections import section_of
from pge_nb.state import open_run

PAGE = Path(__file__).parents[1] / "docs" / "state-file.md"
TEXT = PAGE.read_text(encoding="utf-8")
PARTS = (
    *(r.Step, r.Replan, r.Criterion, r.Check, r.FileRef, r.Body, r.Refusal, r.Finding, r.Evidence, r.Call, r.Usage),
    *(r.Input, r.Column),
    *(study_records.Example,),
)


def type_in_words(kind: Any) -> str:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("null" if arm is type(None) else type_in_words(arm) for arm in args)
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in args)
    if origin is tuple:
        return f"list of {type_in_words(args[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return "object"
    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[kind]


def default_in_words(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "`{}`"
    if field.default is dataclasses.MISSING:
        return "-"
    if isinstance(field.default, str):
        return f'`"{field.default}"`'
    known: Sequence[tuple[object, str]] = [(None, "null"), ((), "[]"), (False, "false"), (True, "true")]
    return f"`{next((word for value, word in known if field.default is value), repr(field.default))}`"


def rows_of(name: str) -> list[tuple[str, str, str]]:
    """(field, type, default) as the page tells them; every row has a meaning."""
    part = re.split(r"\n#{2,3} ", TEXT.split(f"\n### {name}\n", 1)[1])[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \|$", part, re.MULTILINE)
    assert all(meaning.strip() for *_, meaning in rows)
    return [(field, kind, default) for field, kind, default, _ in rows]


@pytest.mark.parametrize(("name", "cls"), [*r.KINDS.items(), *((part.__name__, part) for part in PARTS)], ids=str)
def test_the_table_of_a_payload_is_its_dataclass(name: str, cls: type) -> None:
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    assert rows_of(name) == [
        (field.name, type_in_words(hints[field.name]), default_in_words(field)) for field in fields
    ]


def test_every_part_of_a_payload_has_a_table() -> None:
    payloads_and_parts = {*r.KINDS.values(), *PARTS, r.Record, r.Section}
    named = {**vars(study_records), **vars(r)}.values()
    there = {cls for cls in named if isinstance(cls, type) and dataclasses.is_dataclass(cls)}
    assert there == payloads_and_parts


def test_the_example_is_a_valid_file() -> None:
    example = TEXT.split("`````text\n", 1)[1].split("`````", 1)[0].encode()
    frames = list(walk(lambda offset, count: example[offset : offset + count], Place(), len(example)))
    assert all(isinstance(one, Frame) for one in frames)
    assert [section_of(one).record.kind for one in frames if isinstance(one, Frame)] == ["task", "decision"]


def test_the_limits_on_the_page_are_the_limits_of_the_code() -> None:
    assert f"`len` is at most {MAX_BODY:,}." in TEXT
    assert all(f"`{purpose}`" in TEXT for purpose in typing.get_args(r.Purpose))


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """The independent reader that stands in the document."""
    code = TEXT.split("## Verify it without us", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    assert len(code.splitlines()) <= 22
    script = tmp_path / "reader.py"
    script.write_text(code, encoding="utf-8")
    return script


def run_reader(reader: Path, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", reader, path], capture_output=True, text=True, check=False)


def test_the_reader_on_the_page_reads_a_file_with_every_kind(reader: Path, tmp_path: Path) -> None:
    path = written(tmp_path, *ONE_OF_EACH, at_once=True)
    done = run_reader(reader, path)
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines[:-1]] == list(r.KINDS)
    assert lines[-1] == f"head {open_run(path).head}"


def test_the_reader_on_the_page_names_a_damaged_section(reader: Path, tmp_path: Path) -> None:
    path = written(tmp_path, *ONE_OF_EACH, at_once=True)
    path.write_bytes(path.read_bytes().replace(b"Mind the hyphens", b"Mind no hyphens!"))
    done = run_reader(reader, path)
    assert done.returncode == 1
    assert done.stderr.strip() == "section 11 is not what was written"
