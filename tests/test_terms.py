"""A contract's terms as models write them: mended where the meaning is plain, and told; sent back once where it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pge_nb.agents.replies import Unusable
from pge_nb.agents.terms import MAX_CHECKS, MAX_DELIVERABLES, Terms, method_lines, read_terms, shown
from pge_nb.payloads import Json
from pge_nb.records import Check
from pge_nb.reviews import Outcome, shipped
from pge_nb.workspace import Tree

REVIEWS = shipped(seconds=5)
AREA: dict[str, Json] = {"call": "shapes.area", "args": [2, 3], "returns": 6}


def read(checks: Json, deliverables: Json = ("shapes.py",), *, strict: bool = True) -> Terms:
    return read_terms(
        {"deliverables": list(deliverables) if isinstance(deliverables, tuple) else deliverables, "checks": checks},
        REVIEWS,
        strict=strict,
    )


def reason(checks: Json, deliverables: Json = ("shapes.py",), *, strict: bool = True) -> str:
    with pytest.raises(Unusable) as refused:
        read(checks, deliverables, strict=strict)
    return str(refused.value)


def test_checks_are_numbered_in_their_order_whatever_ids_they_bring() -> None:
    terms = read([{"id": "x9", "says": "one"}, {"id": "c7", "says": "two", "method": "judge", "args": {"odd": 1}}])
    assert terms.checks == (Check(id="c1", says="one"), Check(id="c2", says="two"))


@pytest.mark.parametrize(
    "check",
    [
        {"says": "area", "method": "oracle", "args": AREA},
        {"says": "area", "method": "oracle", **AREA},
        {"says": "area", "method": " Oracle ", "args": {"call": "shapes.area", "args": [2, 3]}, "returns": 6},
        {"says": "area", "method": "oracle", "args": AREA, "weight": "high", "type": "unit"},
    ],
)
def test_the_args_of_a_method_are_found_in_their_place_and_beside_it(check: Json) -> None:
    terms = read([check])
    assert terms.checks == (Check(id="c1", says="area", method="oracle", args=AREA),)
    assert terms.notes == ()


@pytest.mark.parametrize(
    "check", ["slugs are lower case", {"description": "slugs are lower case"}, {"check": "slugs are lower case"}]
)
def test_a_sentence_alone_is_a_check_for_the_judge(check: Json) -> None:
    assert read([check]).checks == (Check(id="c1", says="slugs are lower case"),)


@pytest.mark.parametrize("method", [None, "", "judge", "Judge"])
def test_no_method_means_the_judge(method: Json) -> None:
    assert read([{"says": "readable", "method": method}]).checks[0].method == "judge"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"says": "a", "method": "python", "args": {}}, "'python' is no review method"),
        ({"says": "a", "method": 7}, "'7' is no review method"),
        ({"says": "a", "method": "oracle", "args": {"call": "shapes.area"}}, "needs a function and at least one case"),
        ({"says": "a", "method": "oracle", "args": {**AREA, "wants": 6}}, "unknown field 'wants'"),
        (
            {"says": "a", "method": "oracle", "args": {"call": "a.b", "args": [2]}, "expected": 6},
            "neither returns nor raises",
        ),
        ({"says": "a", "method": "oracle", "args": "shapes.area"}, "args do not fit"),
        ({"says": "a", "method": "command", "args": {"run": "ls | wc"}}, "needs a shell"),
        ({"says": "a", "method": "command", "args": {"run": 7}}, "args do not fit"),
        ({"says": "a", "method": "file", "args": {"path": "../x"}}, "args do not fit"),
        ({"says": "a", "method": "file", "args": {"path": "x", "matches": "("}}, "does not compile"),
        ({"says": "a", "method": "file"}, "lacks 'path'"),
    ],
)
def test_what_no_review_can_use_is_sent_back_and_then_goes_to_the_judge(check: Json, why: str) -> None:
    assert why in reason([check])
    terms = read([check], strict=False)
    assert terms.checks == (Check(id="c1", says="a"),)
    assert "goes to the judge" in terms.notes[0]
    assert why in terms.notes[0]


def test_a_sentence_that_stands_twice_is_kept_once_before_anything_else_is_asked_of_it() -> None:
    terms = read(["Slugs  are lower case", {"says": "slugs are LOWER case", "method": "no such"}, "other"])
    assert [check.says for check in terms.checks] == ["Slugs  are lower case", "other"]
    assert [check.id for check in terms.checks] == ["c1", "c2"]
    assert "stood twice" in terms.notes[0]


@pytest.mark.parametrize("checks", [None, [], "one", {}, 7, [""], [{}], [{"says": ""}], [{"says": 7}, {"says": " "}]])
@pytest.mark.parametrize("strict", [True, False])
def test_a_contract_without_a_check_is_none(checks: Json, strict: bool) -> None:
    assert "check" in reason(checks, strict=strict)


@pytest.mark.parametrize("check", [7, None, ["a"], True])
def test_a_check_that_is_neither_object_nor_sentence_is_refused(check: Json) -> None:
    assert "neither an object nor a sentence" in reason([check])


def test_deliverables_may_be_paths_objects_or_one_path() -> None:
    assert read(["a"], "./shapes.py").deliverables == ("shapes.py",)
    assert read(["a"], [{"path": " src/a.py "}, "src/a.py", "b.md"]).deliverables == ("src/a.py", "b.md")


@pytest.mark.parametrize(
    "deliverables", [None, [], {}, 7, [7], [None], [{}], [""], ["../x.py"], ["/etc/passwd"], ["a\0"]]
)
@pytest.mark.parametrize("strict", [True, False])
def test_deliverables_that_cannot_be_written_are_refused(deliverables: Json, strict: bool) -> None:
    assert "deliverable" in reason(["a"], deliverables, strict=strict)


def test_a_deliverable_inside_another_is_sent_back_and_then_left_out() -> None:
    for pair in (["a", "a/b.py"], ["a/b.py", "a"]):
        assert "cannot both be written" in reason(["x"], pair)
        terms = read(["x"], pair, strict=False)
        assert terms.deliverables == (pair[0],)
        assert "left out" in terms.notes[0]
    assert read(["x"], ["a", "ab/c.py", "a.b"]).deliverables == ("a", "ab/c.py", "a.b")


def test_what_is_above_the_caps_is_left_out_and_told() -> None:
    terms = read([f"check {n}" for n in range(MAX_CHECKS + 3)], [f"f{n}.py" for n in range(MAX_DELIVERABLES + 2)])
    assert len(terms.checks) == MAX_CHECKS
    assert len(terms.deliverables) == MAX_DELIVERABLES
    assert {note.split()[0] for note in terms.notes} == {"2", "3"}


class Shout:
    """A review method of a user's own."""

    name = "Shout"
    help = "the file shouts: {}"
    Args = Check

    def look(self, check: Check, tree: Tree) -> Outcome:
        return Outcome(met=True, says="", saw="")

    def vet(self, check: Check) -> str | None:
        return None if not check.args else "it takes no args"


def test_a_method_of_ones_own_is_found_whatever_its_case() -> None:
    reviews: Mapping[str, Shout] = {"Shout": Shout()}
    value = {"deliverables": ["a.py"], "checks": [{"says": "loud", "method": "shout"}]}
    assert read_terms(value, reviews, strict=True).checks[0].method == "Shout"


def test_the_prompts_list_the_methods_that_suit_the_files_each_with_its_use() -> None:
    def names(*paths: str) -> list[str]:
        return [line.split(":")[0].removeprefix("  - ") for line in method_lines(known, paths).split("\n")]

    class Page:
        name, help, Args = "browser", "a page shows: {}", object

    known: Mapping[str, Any] = {**REVIEWS, "browser": Page(), "own": Page()}
    assert names("a.py") == ["oracle", "command", "file", "own"]
    assert names("a.py", "site/INDEX.HTML") == ["oracle", "command", "file", "browser", "rule", "own"]
    assert all("{" in line for line in method_lines(known, ["a.html"]).split("\n"))


def test_a_brief_shows_each_check_with_its_method() -> None:
    checks = read(["plain", {"says": "area", "method": "oracle", "args": AREA}]).checks
    assert shown(checks) == "- c1: plain [judge]\n- c2: area [oracle]"


def test_args_that_do_not_fit_are_made_from_a_sentence_that_says_the_case() -> None:
    value = {
        "deliverables": ["basket.py"],
        "checks": [
            {"says": "total([1, 2, 3]) returns 6", "method": "oracle", "args": [1, 2, 3], "call": "basket.total"},
            {"says": "total([-1]) raises ValueError", "method": "python", "call": "import basket"},
        ],
    }
    terms = read_terms(value, shipped(seconds=5), strict=True)
    assert [(check.method, dict(check.args)) for check in terms.checks] == [
        ("oracle", {"call": "basket.total", "args": [[1, 2, 3]], "returns": 6}),
        ("oracle", {"call": "basket.total", "args": [[-1]], "raises": "ValueError"}),
    ]
    assert all("were made from its sentence" in note for note in terms.notes)
