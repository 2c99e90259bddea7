"""A file is compared with a reference: its numbers, its structure, its words; without one the judge decides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from looking import look, vetted

from pge_nb.payloads import Json
from pge_nb.reviews import Outcome
from pge_nb.reviews.reference import Reference
from pge_nb.reviews.reference_child import by_number, by_structure, by_text, columns, headings, likeness, numbers
from pge_nb.workspace import Objects

CLOSE = {"tolerance": 1e-6, "absolute": 1e-9}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def compared(
    objects: Objects, files: Mapping[str, str], path: str, kind: str, reference: Json, **more: Json
) -> Outcome:
    return look(objects, Reference(), {"path": path, "kind": kind, "reference": reference, **more}, files)


# In the child, in the sandbox


@pytest.mark.parametrize(
    ("path", "text", "kind", "reference", "met", "saw"),
    [
        ("pi.txt", "3.14159266\n", "number", 3.14159265, True, "1 numbers agree, the largest difference is 1e-08"),
        ("a.json", '{"mean": 2.5, "n": 4}', "number", {"mean": 2.4}, False, "1 differ"),
        ("a.csv", "month,sum\n1,10.0\n2,20.0\n", "number", "inputs/expected.csv", True, "2 numbers agree"),
        ("a.csv", "month,sum\n1,10.0\n2,21.0\n", "number", "inputs/expected.csv", False, "sum[1] is 21.0, wanted 20.0"),
        ("a.json", '[{"name": "x", "n": 1}]', "structure", [{"name": "", "n": 0}], True, "each of its type"),
        ("a.md", "# A\n\n## C\n", "structure", "# A\n## B\n", False, "headings missing, or out of order: ## B"),
        ("a.txt", "The quick  brown fox\n", "text", "The quick brown fox", True, "the likeness is 1.000"),
        ("a.txt", "Entirely different", "text", "inputs/expected.txt", False, "wanted at least 0.8"),
        ("a.json", "{no", "number", 1, False, "a.json cannot be compared: it is no JSON"),
        ("a.json", "[" * 100_000, "number", 1, False, "a.json cannot be compared: it is no JSON"),
        ("a.txt", "three", "number", 3, False, "it holds more than numbers"),
        (
            "a.txt",
            "3",
            "number",
            "inputs/expected.txt",
            None,
            "the reference cannot be used: it holds more than numbers",
        ),
    ],
)
def test_a_file_is_compared_and_what_was_compared_is_told(
    path: str, text: str, kind: str, reference: Json, met: bool | None, saw: str, objects: Objects
) -> None:
    inputs = {"inputs/expected.csv": "sum\n10\n20\n", "inputs/expected.txt": "The quick brown fox"}
    outcome = compared(objects, {path: text, **inputs}, path, kind, reference)
    assert outcome.met is met
    assert saw in outcome.saw


@pytest.mark.parametrize(
    ("args", "saw"),
    [
        ({}, "not compared: the check gives no reference"),
        ({"reference": "inputs/gone.csv"}, "not compared: inputs/gone.csv is not there"),
    ],
)
def test_without_a_reference_the_judge_decides_and_that_is_said(
    args: dict[str, Json], saw: str, objects: Objects
) -> None:
    outcome = look(objects, Reference(), {"path": "a.csv", "kind": "number", **args}, {"a.csv": "a\n1\n"})
    assert (outcome.met, outcome.saw) == (None, saw)


def test_a_file_that_is_not_there_fails(objects: Objects) -> None:
    assert compared(objects, {}, "a.csv", "number", [1]).saw == "a.csv is not there"


def test_what_takes_too_long_is_given_up(objects: Objects) -> None:
    import importlib.util

    if importlib.util.find_spec("rapidfuzz"):
        pytest.skip("rapidfuzz is too fast for this")
    text = "ab" * 200_000
    outcome = look(objects, Reference(1.0), {"path": "a", "kind": "text", "reference": text[1:]}, {"a": text})
    assert (outcome.met, outcome.saw) == (None, "not compared: it was given up after 1 s")


# Numbers


@pytest.mark.parametrize(
    ("wanted", "got", "met"),
    [
        (1.0, 1 + 1e-7, True),
        (1.0, 1 + 1e-5, False),
        (0, 1e-10, True),
        (0, 1e-8, False),
        (float("nan"), float("nan"), True),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e308, False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 2, 3], False),
        ([1, 2], 1, False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 9}], "d": 0}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1, "name": "x"}, {"a": 1, "name": "y"}, False),
        ({"a": 1, "ok": True}, {"a": 1, "ok": 1}, False),
        (1, True, False),
        (1, None, False),
        (10**400, 10**400, True),
        (10**400, 1.0, False),
        ("x", "x", None),
    ],
)
def test_numbers_agree_within_the_tolerance_at_their_places(wanted: Any, got: Any, met: bool | None) -> None:
    assert by_number(wanted, got, CLOSE)[0] is met


def test_the_tolerance_is_the_one_that_was_given() -> None:
    assert by_number(100, 101, {"tolerance": 0.02, "absolute": 0})[0] is True
    assert by_number(100, 101, {"tolerance": 0, "absolute": 0.5})[0] is False


def test_differences_are_named_by_their_places_and_counted() -> None:
    told = by_number({"a": [1, 2, 3, 4], "b": 0}, {"a": [9, 9, 9, 9]}, CLOSE)[1]
    assert "5 differ" in told
    assert told.endswith("a[0] is 9, wanted 1; a[1] is 9, wanted 2; a[2] is 9, wanted 3 and 2 more")


def test_tables_and_plain_texts_are_read_as_numbers() -> None:
    assert columns('a,"b, c"\n1,x\n,2e3\n', ",") == {"a": [1.0, None], "b, c": ["x", 2000.0]}
    assert numbers("1, 2;3\n4") == [1, 2, 3, 4]
    with pytest.raises(Exception, match="row 3 has 1 cells, the first has 2"):
        columns("a,b\n1,2\n3\n", ",")


# Structure


@pytest.mark.parametrize(
    ("path", "wanted", "got", "met"),
    [
        ("a.json", {"name": "", "tags": [""]}, {"name": "x", "tags": ["a", "b"], "more": 1}, True),
        ("a.json", {"name": "", "tags": [""]}, {"name": "x", "tags": ["a", 3]}, False),
        ("a.json", {"name": ""}, {"title": "x"}, False),
        ("a.json", {"n": 0}, {"n": True}, False),
        ("a.json", {"n": 0.5}, {"n": 3}, True),
        ("a.json", {"n": None}, {"n": 3}, False),
        ("a.json", ["name", "n"], {"n": 1, "name": "x"}, True),
        ("a.json", [{"n": 0}], [], True),
        ("a.csv", ["month", "sum"], {"sum": [1.0], "month": [2.0]}, True),
        ("a.csv", ["month", "total"], {"sum": [1.0], "month": [2.0]}, False),
        ("a.md", ["# A", "## B"], ["# A", "## X", "## B"], True),
        ("a.md", ["## B", "# A"], ["# A", "## B"], False),
        ("a.md", ["# B"], ["## B"], False),
        ("a.md", 3, ["# A"], None),
        ("a.md", [], ["# A"], None),
    ],
)
def test_structure_is_keys_and_types_columns_or_headings_in_order(
    path: str, wanted: Any, got: Any, met: bool | None
) -> None:
    assert by_structure(wanted, got, {"path": path})[0] is met


def test_a_heading_in_a_block_of_code_is_none() -> None:
    assert headings("# A #\n```\n# no\n```\n  ## B\n#hashtag\n") == ["# A", "## B"]


# Text


def test_the_likeness_of_texts_is_a_number_and_names_its_measure() -> None:
    assert likeness("abcd", "abcd")[0] == 1
    assert likeness("abcd", "bcde")[0] == pytest.approx(0.75)  # 2 * 3 of 8 characters, by either measure
    met, told = by_text("abcd", "bcde", {"at_least": 0.75})
    assert met is True
    assert "0.750 by " in told
    assert by_text("e\u0301t\u00e9 ", "\u00e9t\u00e9\n", {"at_least": 1})[0] is True
    assert by_text(3, "3", {"at_least": 1})[0] is None


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"path": "../a", "kind": "number", "reference": 1}, "'..'"),
        ({"path": "", "kind": "number", "reference": 1}, "names no file"),
        ({"path": "a", "kind": "number", "reference": "inputs/../../x"}, "'..'"),
        ({"path": "a", "kind": "number", "reference": "three"}, "neither a number nor a file"),
        ({"path": "a", "kind": "numbers", "reference": 1}, "not one of"),
        ({"path": "a", "kind": "number", "reference": 1, "tolerance": -1}, "at least 0"),
        ({"path": "a", "kind": "text", "reference": "a", "at_least": 80}, "at_least is 80"),
        ({"path": "a", "reference": 1}, "lacks 'kind'"),
    ],
)
def test_args_that_cannot_be_used_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted(Reference(), args) or "")
