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
    assert json_somewhere('```json\n{"title": "whole"}\n```\n```json\n{"title": "br') == {"title": "whole"}


def test_line_breaks_inside_a_string_are_plain_in_a_plan() -> None:
    assert json_somewhere('{"title": "two\nlines"}') == {"title": "two\nlines"}


def test_a_reply_without_an_object_says_so() -> None:
    assert reason("", json_somewhere) == "the reply is empty"
    assert reason("I cannot plan this.", json_somewhere) == "there is no JSON object in the reply"
    assert "not JSON" in reason('```json\n{"title": \n```', json_somewhere)


# Files in fences

CODE = "def area(w, h):\n    return w * h"
ONE = ("shapes.py",)
TWO = ("shapes.py", "src/solids.py")


@pytest.mark.parametrize(
    "opening",
    [
        "```python shapes.py",
        "```shapes.py",
        "``` shapes.py",
        "```python:shapes.py",
        "```python ./shapes.py",
        '```python title="shapes.py"',
        "```python filename=shapes.py",
        "```python file='shapes.py'",
        "```{.python file=shapes.py}",
        "```python {shapes.py}",
        "```py, shapes.py",
        "```python (shapes.py)",
        "```python path: shapes.py",
        "~~~python shapes.py",
        "   ```python shapes.py",
        "**shapes.py**\n```python",
        "### `shapes.py`\n\n```python",
        "File: shapes.py\n```python",
        "Filename: `shapes.py`:\n```",
        "file 1: shapes.py\n```python",
        "1. `shapes.py`\n```python",
        "> shapes.py:\n```python",
        "path: ./shapes.py\n```python",
        "Here is the file `shapes.py`:\n```python",
        "Now shapes.py.\n```python",
        "```python\n# shapes.py",
        "```python\n# File: shapes.py",
        "```python\n# path: shapes.py",
        "```\n// shapes.py",
        "```python3.11\n# shapes.py",
    ],
)
@pytest.mark.parametrize("deliverables", [ONE, TWO])
def test_a_file_is_found_by_its_path_in_every_style(opening: str, deliverables: tuple[str, ...]) -> None:
    closing = "~~~" if opening.startswith("~") else "```"
    given = files_in(f"Approach: plain.\n{opening}\n{CODE}\n{closing}\nDone.", deliverables)
    assert list(given.files) == ["shapes.py"]
    assert given.files["shapes.py"].endswith(CODE + "\n")
    assert given.faults == ()
    assert "Approach: plain." in given.prose
    assert "Done." in given.prose
    assert "def area" not in given.prose


def test_paths_without_a_suffix_or_with_a_space_are_found_where_the_contract_has_them() -> None:
    given = files_in("```make Makefile\nall:\n```\n```text my notes.txt\nhello\n```", ("Makefile", "my notes.txt"))
    assert given.files == {"Makefile": "all:\n", "my notes.txt": "hello\n"}


def test_windows_line_ends_become_plain_ones() -> None:
    given = files_in(f"```python shapes.py\n{CODE}\n```\n".replace("\n", "\r\n"), ONE)
    assert given.files == {"shapes.py": CODE + "\n"}


def test_several_files_are_told_apart() -> None:
    text = "```python shapes.py\na = 1\n```\ntext between\n```python src/solids.py\nb = 2\n```"
    assert files_in(text, TWO).files == {"shapes.py": "a = 1\n", "src/solids.py": "b = 2\n"}


def test_a_longer_fence_holds_shorter_ones() -> None:
    text = "````markdown notes.md\nUse:\n```bash\npip\n```\n````"
    assert files_in(text, ("notes.md",)).files == {"notes.md": "Use:\n```bash\npip\n```\n"}


def test_a_nested_fence_of_the_same_length_does_not_cut_the_file() -> None:
    text = "```markdown notes.md\n# Use\n```bash\npip\n```\nEnd of the file.\n```\nDone."
    given = files_in(text, ("notes.md",))
    assert given.files == {"notes.md": "# Use\n```bash\npip\n```\nEnd of the file.\n"}
    assert given.prose == "Done."


def test_a_fence_of_the_other_kind_closes_nothing() -> None:
    text = "~~~python shapes.py\na = '''\n```\n'''\n~~~"
    assert files_in(text, ONE).files == {"shapes.py": "a = '''\n```\n'''\n"}


@pytest.mark.parametrize(
    "text",
    [
        f"```python shapes.py\n{CODE}",
        f"```python\n{CODE}\n",
        f"```python shapes.py\n{CODE}\n```python src/solids.py\nb = 2\n```",
        "Sure.\n```",
    ],
)
def test_a_block_that_was_cut_off_is_told_and_is_no_file(text: str) -> None:
    given = files_in(text, ONE)
    assert given.files == {}
    assert len(given.faults) == 1
    assert "cut off" in given.faults[0]


def test_one_block_is_the_one_deliverable() -> None:
    assert files_in(f"Sure!\n```python\n{CODE}\n```\nHope it helps.", ONE).files == {"shapes.py": CODE + "\n"}
    assert files_in(f"```\n{CODE}\n```", ONE).files == {"shapes.py": CODE + "\n"}


def test_of_several_unnamed_blocks_the_longest_in_the_files_language_is_the_one_deliverable() -> None:
    output = "area(2, 3)\n" * 50
    text = (
        f"```bash\npip install {'x' * 900}\n```\n```python\n{CODE}\n```\n```python\nprint(1)\n```\n```text\n{output}```"
    )
    assert files_in(text, ONE).files == {"shapes.py": CODE + "\n"}


def test_a_block_in_another_language_is_not_taken_for_the_deliverable() -> None:
    assert files_in("Run this:\n```bash\npip install shapes\n```", ONE).files == {}
    assert files_in('```json\n{"verdict": "pass"}\n```', ONE).files == {}


def test_unnamed_blocks_are_nobodys_where_there_are_several_deliverables() -> None:
    given = files_in(f"```python\n{CODE}\n```\n```python\nb = 2\n```", TWO)
    assert given.files == {}


def test_a_line_names_one_block_and_not_the_output_behind_it() -> None:
    text = f"shapes.py\n```python\n{CODE}\n```\n\n```\n6\n```"
    assert files_in(text, ONE).files == {"shapes.py": CODE + "\n"}


def test_a_version_number_is_no_path() -> None:
    assert files_in(f"```python3.11\n# 2.0\n{CODE}\n```", ONE).files == {"shapes.py": f"# 2.0\n{CODE}\n"}


def test_another_file_beside_the_deliverable_does_not_lose_it() -> None:
    given = files_in(f"```python\n{CODE}\n```\n```python demo.py\nprint(area(2, 3))\n```", ONE)
    assert given.files == {"shapes.py": CODE + "\n", "demo.py": "print(area(2, 3))\n"}


@pytest.mark.parametrize(
    "path", ["../../etc/passwd.py", "/etc/cron.d/job.sh", "~/x.py", "a/../../b.py", ".git/hooks/x.sh"]
)
def test_a_path_that_leaves_the_tree_keeps_its_name_to_be_refused_by_it(path: str) -> None:
    """It must not become the deliverable: what was meant for elsewhere is no answer to the contract."""
    call = json.dumps({"name": "write_file", "arguments": {"path": path, "content": CODE}})
    for text in (f"```python {path}\n{CODE}\n```", f"`{path}`\n```python\n{CODE}\n```", f"```json\n{call}\n```"):
        given = files_in(text, ONE)
        assert "shapes.py" not in given.files
        assert set(given.files) <= {path}


CALL = json.dumps({"name": "write_file", "arguments": {"path": "shapes.py", "content": CODE}}, indent=2)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL}\n```",
        f"```json\n{CALL}\n```" + "\n" * 4_000,
        f"```json\n{CALL}\n" + "\n" * 4_000,
        CALL,
        f"{CALL}\n\n\n",
        f"```tool_call\n{CALL.replace('arguments', 'input')}\n```",
        f"```json\n{CALL.replace('arguments', 'parameters')}\n```",
        f"```json\n{json.dumps({'name': 'write_file', 'arguments': json.dumps(json.loads(CALL)['arguments'])})}\n```",
        f"```json\n{json.dumps({'tool': 'write_file', 'path': './shapes.py', 'content': CODE})}\n```",
        "```json\n" + CALL.replace("\\n", "\n") + "\n```",
    ],
)
@pytest.mark.parametrize("deliverables", [ONE, TWO])
def test_a_write_file_call_in_json_is_a_file(text: str, deliverables: tuple[str, ...]) -> None:
    assert files_in(text, deliverables).files == {"shapes.py": CODE + "\n"}


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL[:60]}\n```",
        f"```json\n{CALL[:60]}",
        CALL[:60],
        '```json\n{"name": "write_file", "arguments": {"path": "shapes.py", "content": """x"""}}\n```',
        '```json\n{"name": "write_file", "arguments": {"path": "shapes.py"}}\n```',
        '```json\n{"name": "write_file", "arguments": 7}\n```',
    ],
)
def test_a_write_file_call_that_cannot_be_read_is_told_and_never_written_as_the_file(text: str) -> None:
    given = files_in(text, ONE)
    assert given.files == {}
    assert "write_file call cannot be read" in given.faults[0]


def test_an_empty_block_is_an_empty_file() -> None:
    assert files_in("```python pkg/__init__.py\n```", ("pkg/__init__.py",)).files == {"pkg/__init__.py": ""}


def test_a_reply_without_a_block_is_a_work_log() -> None:
    given = files_in("I would write it like this.", ONE)
    assert (given.files, given.prose, given.faults) == ({}, "I would write it like this.", ())


# Whatever comes

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
