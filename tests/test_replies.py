"""What models write is read where its meaning is plain, and refused with a reason where it is not: never crashed on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb.agents.fences import fences
from pge_nb.agents.judging import Docket, faulty, read_claims
from pge_nb.agents.planner import read_plan
from pge_nb.agents.replies import MAX_JSON, Unusable, files_in, json_alone, json_somewhere
from pge_nb.agents.terms import read_terms
from pge_nb.records import Check, Criterion
from pge_nb.reviews import shipped
from pge_nb.verdict import grade, verdict_of

GOOD = '{"findings": [{"on": "c1", "verdict": "pass"}]}'
FENCED = f"```json\n{GOOD}\n```"
READERS: list[Callable[[str], object]] = [json_alone, json_somewhere, lambda text: files_in(text, ("a.py",)), fences]

many = settings(deadline=None, max_examples=80)


def reason(text: str, read: Callable[[str], object] = json_alone) -> str:
    with pytest.raises(Unusable) as refused:
        read(text)
    return str(refused.value)


def tried(text: str, read: Callable[[str], object]) -> str | None:
    """Why a reader refused a text; None where it took it."""
    try:
        read(text)
    except Unusable as error:
        return str(error)
    return None


# JSON that a verdict rests on


@pytest.mark.parametrize("read", [json_alone, json_somewhere])
def test_an_escape_for_half_a_character_is_read_as_a_replacement_character(read: Callable[[str], object]) -> None:
    assert read(r'{"a": ["half \ud83d", "whole \ud83d\ude00"]}') == {"a": ["half \ufffd", "whole 😀"]}
    assert "twice" in reason(r'{"\ud800": 1, "\ud801": 2}', read)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        FENCED,
        f"\ufeff{GOOD}\r\n",
        f"```\n{GOOD}\n```",
        f"~~~json\n{GOOD}\n~~~",
        f"````json\n{GOOD}\n````",
        FENCED.replace("\n", "\r\n"),
        FENCED + "\n" * 8_000,
        "\n\n  " + FENCED,
        GOOD + "\n" * 8_000,
        f"```json\n{GOOD}\n",
        GOOD.replace("]}", "],}").replace('"pass"}', '"pass",}'),
        GOOD + "}",
    ],
)
def test_one_whole_object_alone_is_read(text: str) -> None:
    assert json_alone(text) == json.loads(GOOD)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n\t\n", "empty"),
        ("```json\n```", "empty"),
        ("I cannot help with that.", "not JSON"),
        ("Rate limit exceeded", "not JSON"),
        ("**Overall Status:** PASS", "not JSON"),
        (f"The evaluation of another attempt was:\n{FENCED}", "text beside the JSON"),
        (f"{FENCED}\nThat is my verdict.", "text beside the JSON"),
        (f"{FENCED}\n{FENCED}", "text beside the JSON"),
        (f"Here it is: {GOOD}", "not JSON"),
        (f"{GOOD}\nThat is my verdict.", "text behind the JSON"),
        (f"{GOOD}{GOOD}", "text behind the JSON"),
        (GOOD[:-4], "not JSON"),
        (FENCED[:-8], "not JSON"),
        (GOOD[:20], "not JSON"),
        ("[1, 2]", "not an object"),
        ('"pass"', "not an object"),
        ("null", "not an object"),
        ("true", "not an object"),
        ('{"findings": [], "findings": [1]}', "the key 'findings' stands twice"),
        ('{"score": NaN}', "NaN is not a number"),
        ('{"score": Infinity}', "Infinity is not a number"),
        ('{"score": -Infinity}', "-Infinity is not a number"),
        ('{"score": 1e999}', "too large"),
        ('{"score": ' + "9" * 5_000 + "}", "5000 digits"),
        ('{"score": -' + "9" * 5_000 + "}", "digits"),
        ('{"says": "a\nb"}', "not JSON"),
        ("[" * 1_000_000, "nested deeper"),
        ('{"a":' * 200_000, "nested deeper"),
        ("[" * 1_000_000 + "]" * 1_000_000, "nested deeper"),
        ("{" + " " * MAX_JSON + "}", "longer than"),
        ('{"findings": [],, }', "not JSON"),
    ],
)
def test_anything_else_is_refused_with_a_reason(text: str, why: str) -> None:
    assert why in reason(text)


def test_a_draft_does_not_stand_for_what_was_cut_off_after_it() -> None:
    draft, whole = '{"steps": ["a"]}', '{"steps": ["a", "b"]}'
    cut = f"A draft:\n```json\n{draft}\n```\nThe whole:\n```json\n{whole}"
    assert json_somewhere(cut) == json.loads(whole), "its end alone is lacking"
    assert "not JSON" in reason(cut[:-4], json_somewhere)
    assert json_somewhere(f"{cut}\n```") == json.loads(whole)
    assert json_somewhere(f"```json\n{draft}\n```\n```") == json.loads(draft), "a fence too many opens nothing"


def test_brackets_inside_a_string_are_no_nesting() -> None:
    assert json_alone(json.dumps({"says": "[" * 500})) == {"says": "[" * 500}


def test_commas_and_brackets_inside_a_string_are_left_as_they_are() -> None:
    assert json_alone('{"says": "f(a, ], b,}\\", ]", "n": [1, 2, ],}') == {"says": 'f(a, ], b,}", ]', "n": [1, 2]}


@pytest.mark.parametrize("size", [10_000_000])
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "[",
        "{",
        '"',
        '\\"',
        "\n",
        "```\n",
        "```\n\n",
        "``` ",
        "`",
        "~~~\n",
        ", ",
        '{"a":',
        "# a.py\n",
        " ",
        "*",
        "-",
    ],
)
def test_ten_megabytes_of_anything_are_read_or_refused_in_no_time(piece: str, size: int) -> None:
    text = piece * (size // len(piece))
    started = time.process_time()
    for read in (json_alone, lambda text: files_in(text, ("a.py",))):
        assert len(tried(text, read) or "") < 2_000
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "text",
    [
        "```" + " " * 300_000 + "`",
        "`" * 300_000 + "x`",
        '{"' + '\\"' * 500_000,
        "\n" * 500_000 + "```\nx\n```\n" * 20_000,
        "*" * 300_000 + "!\n```\nx\n```",
        "-" * 300_000 + "\n```\n# " + "-" * 300_000 + "\n```",
        "```" + "a=" * 200_000 + "\nx\n```",
        '{"a": 1' + ", " * 300_000 + "}",
        "```json\n{\n" * 50_000,
    ],
)
@pytest.mark.parametrize("read", READERS)
def test_what_makes_a_careless_parser_quadratic_is_read_in_linear_time(
    text: str, read: Callable[[str], object]
) -> None:
    started = time.process_time()
    assert len(tried(text, read) or "") < 2_000
    assert time.process_time() - started < 3


# Plans and contracts


def test_a_plan_may_stand_in_prose_and_the_last_whole_object_counts() -> None:
    text = 'First {"title": "draft"}:\n```json\n{"title": "one"}\n```\nBetter:\n```json\n{"title": "two"}\n```\nDone.'
    assert json_somewhere(text) == {"title": "two"}
    assert json_somewhere('Here is the plan: {"title": "bare"} Good luck!') == {"title": "bare"}
    again = '```json\n{"title": "whole"}\n```\n```json\n{"title": "wh'
    assert json_somewhere(again) == {"title": "whole"}, "what was cut off says the same again"


def test_line_breaks_inside_a_string_are_plain_in_a_plan() -> None:
    assert json_somewhere('{"title": "two\nlines"}') == {"title": "two\nlines"}


def test_a_reply_without_an_object_says_so() -> None:
    assert reason("", json_somewhere) == "the reply is empty"
    assert reason("I cannot plan this.", json_somewhere) == "there is no JSON object in the reply"
    assert "not JSON" in reason('```json\n{"title": \n```', json_somewhere)


# Whatever comes

CALL = json.dumps({"name": "write_file", "arguments": {"path": "shapes.py", "content": "x = 1"}}, indent=2)

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["```", "```python shapes.py", "````", "~~~", "\r\n", "\n", "# shapes.py", GOOD, CALL, '"', "{", "}"]
        ),
        st.text(max_size=12),
    ),
    max_size=14,
).map("\n".join)


@many
@given(st.one_of(PIECES, st.text()))
def test_no_text_crashes_a_reader(text: str) -> None:
    for read in READERS:
        assert tried(text, read) != ""


@many
@given(st.text().filter(lambda text: "\r" not in text), st.integers(3, 6))
def test_a_text_without_fences_goes_through_a_block_unchanged(text: str, length: int) -> None:
    held = text.replace("`", "'").replace("~", "-")
    blocks, _ = fences(f"{'`' * length}text notes.txt\n{held}\n{'`' * length}")
    assert [block.text for block in blocks] == [held]


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.text(), st.recursive(st.integers() | st.text() | st.booleans() | st.none(), st.lists)))
def test_every_object_that_json_can_write_is_read_back(value: dict[str, object]) -> None:
    text = json.dumps(value)
    assert (
        json_alone(text) == json_alone(f"```json\n{text}\n```") == json_somewhere(f"Here:\n```\n{text}\n```") == value
    )


# Replies of a real small model, as they came

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("cases").joinpath("local_model_replies.jsonl").read_text("utf-8").splitlines()
]


def case(role: str, number: int = 0) -> str:
    return str([one["text"] for one in CASES if one["role"] == role][number])


def test_its_plan_is_used_and_what_was_mended_is_told() -> None:
    plan = read_plan(json_somewhere(case("planner")), ())
    assert [step.number for step in plan.steps] == [1, 2]
    assert plan.steps[0].success == ("The textkit.py file is created with the necessary functions.",)
    assert [(c.name, c.weight, c.threshold) for c in plan.criteria] == [
        ("correctness", "high", 7),
        ("implementation", "standard", 6),
    ]
    assert any("'medium'" in note for note in plan.notes)


def test_its_contract_is_used_at_once_with_the_check_that_stood_three_times_kept_once() -> None:
    terms = read_terms(json_somewhere(case("generator, contract")), shipped(seconds=5), strict=True)
    assert terms.deliverables == ("textkit.py",)
    assert [(check.id, check.method) for check in terms.checks] == [("c1", "oracle")]
    assert terms.checks[0].args == {"call": "textkit.slugify", "args": ["Hello, World!"], "returns": "hello-world"}
    assert len(terms.notes) == 2


def test_its_tool_call_behind_which_blank_lines_ran_to_the_limit_is_a_file() -> None:
    given = files_in(case("generator, tool call"), ("hello.py",))
    assert given.files == {"hello.py": "print('hello')\n"}
    assert given.faults == ()


DOCKET = Docket(
    checks=(Check(id="c1", says="slugs have no final dash"), Check(id="c2", says="slugs have no first dash")),
    criteria=(Criterion(name="correctness", description=""), Criterion(name="clarity", description="")),
    evidence=(),
    texts={
        "e1": "def slugify(text): ...",
        "e2": "got 'hello-world-', wanted 'hello-world'",
        "e3": "got '-a-', wanted 'a'",
    },
)


def test_its_findings_are_read_whatever_the_case_of_their_ids_and_what_is_wrong_is_named() -> None:
    claims = read_claims(case("evaluator"), DOCKET)
    assert [(claim.on, claim.met, claim.score, claim.evidence) for claim in claims] == [
        ("c1", False, None, ("e1",)),
        ("c2", False, None, ("e3",)),
        ("correctness", None, 3.0, ("e2",)),
    ]
    assert faulty(claims, DOCKET) == {"clarity": "no finding was given"}
    assert verdict_of(grade(DOCKET.checks, DOCKET.criteria, claims, DOCKET.texts)) == "unmeasured"


def test_its_scores_in_another_shape_decide_nothing() -> None:
    assert "findings" in reason(case("evaluator", 1), lambda text: read_claims(text, DOCKET))


@pytest.mark.parametrize("one", CASES, ids=lambda one: str(one["role"]))
def test_none_of_its_replies_crashes_a_reader(one: dict[str, str]) -> None:
    for read in READERS:
        assert tried(one["text"], read) != ""
