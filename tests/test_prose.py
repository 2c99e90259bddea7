from __future__ import annotations

import dataclasses
import json
from typing import Any

import mistune
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from state_samples import ONE_OF_EACH, records, texts

from pge_nb import records as r
from pge_nb import study_records
from pge_nb.markdown import UNSEEN, WIDE, dotted, fence, inline, said, table, visible
from pge_nb.payloads import Misfit, compact, decode, encode
from pge_nb.prose import body, counted, one_line, payload_of

GFM = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MISTUNE = mistune.create_markdown(renderer=None, plugins=["table", "strikethrough", "url", "footnotes", "math"])
Tree = list[Any]


def tree_of_markdown_it(text: str) -> Tree:
    """What a page is made of, without its words."""
    found: Tree = []
    for token in GFM.parse(text):
        inner = [(child.type, child.tag) for child in token.children or () if not child.type.startswith("text")]
        raw = token.content if token.type in ("html_block", "html_inline") else ""
        found.append((token.type, token.tag, token.level, token.info, raw, inner))
    return found


def tree_of_mistune(text: str) -> Tree:
    def bare(node: dict[str, Any]) -> Any:
        raw = node.get("raw") if node["type"] in ("block_html", "inline_html") else None
        inner = [bare(child) for child in node.get("children", ()) if child["type"] not in ("text", "blank_line")]
        return node["type"], node.get("attrs"), raw, inner

    return [bare(node) for node in MISTUNE(text) if node["type"] != "blank_line"]


def words_of_markdown_it(text: str) -> list[str]:
    return [
        "".join(child.content for child in token.children or () if child.type != "softbreak")
        for token in GFM.parse(text)
        if token.type == "inline"
    ]


FIELDS = {
    field.name
    for kind in (*vars(r).values(), *vars(study_records).values())
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
    for field in dataclasses.fields(kind)
}
CLOSED = {
    "verdict",
    "phase",
    "action",
    "choice",
    "choices",
    "approach",
    "weight",
    "about",
    "role",
    "source",
    "who",
    "study",
}


def tame(value: Any) -> Any:
    """The same shape with an "x" for every text that shows."""
    if isinstance(value, str):
        return "x" if visible(value).strip() else value
    if isinstance(value, list):
        return [tame(item) for item in value]
    if isinstance(value, dict):
        return {
            name if name in FIELDS or not visible(name).strip() else f"x{index}": item if name in CLOSED else tame(item)
            for index, (name, item) in enumerate(value.items())
        }
    return value


def tamed(record: r.Record) -> r.Record:
    return dataclasses.replace(record, payload=decode(type(record.payload), tame(encode(record.payload))))


@pytest.mark.parametrize("tree", [tree_of_markdown_it, tree_of_mistune])
@settings(max_examples=150, deadline=None)
@given(record=records())
def test_no_text_changes_what_a_section_is_made_of(tree: Any, record: r.Record) -> None:
    hostile, plain = body(record).decode(), body(tamed(record)).decode()
    assert tree(hostile) == tree(plain)


@settings(max_examples=150, deadline=None)
@given(record=records())
def test_a_payload_comes_back_from_its_body_as_it_was(record: r.Record) -> None:
    merged = json.loads(json.dumps(encode(record.payload)))  # two halves of a character are one character
    assert encode(payload_of(record.kind, body(record))) == merged


@settings(max_examples=150, deadline=None)
@given(record=records())
def test_a_body_holds_nothing_that_a_reader_would_not_see(record: r.Record) -> None:
    text = body(record).decode()
    assert not UNSEEN.search(text)
    assert text.endswith("`\n")
    assert len(text.rsplit("\n", 3)[1].splitlines()) == 1


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_inline_text_shows_exactly_its_words(text: str) -> None:
    words = " ".join(visible(text).split())
    shown = inline(text, 10_000)
    page = f"## {shown}x\n\n- x{shown}\n\n{chr(10).join(table(('x', 'y'), [(shown + 'x', 'x' + shown)]))}\n"
    assert words_of_markdown_it(page) == [f"{words}x".strip(), f"x{words}", "x", "y", f"{words}x", f"x{words}"]


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_a_fence_holds_exactly_its_text(text: str) -> None:
    tokens = GFM.parse("\n".join(fence(text)) + "\n")
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content == visible(text).removesuffix("\n") + "\n"


@given(text=texts)
def test_wrapping_prose_keeps_every_word(text: str) -> None:
    lines, words = said(text * 20)[1:-1], visible(text * 20).split()
    assert "".join("".join(lines).split()) == "".join(words)
    assert WIDE.search(text) or " ".join(lines).split() == words


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=lambda record: record.kind)
def test_every_kind_has_a_heading_a_part_for_people_and_one_payload(record: r.Record) -> None:
    text = body(record).decode()
    tokens = GFM.parse(text)
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h2"]
    assert tokens[0].type == "heading_open"
    assert [token.content for token in tokens if token.info == "json"] == [one_line(record.payload) + "\n"]
    assert tokens[-1].info == "json"
    assert len(tokens) > 4


@pytest.mark.parametrize("verdict", ["pass", "fail", "unmeasured"])
def test_the_heading_of_an_evaluation_ends_in_its_verdict(verdict: r.Verdict) -> None:
    report = r.EvaluationReport(rater="a", attempt_hash="b", verdict=verdict, overall=None, findings=())
    record = r.Record(payload=report, by="evaluator", step=2, attempt=1, purpose="drift", round=3)
    first = body(record).decode().split("\n", 1)[0]
    assert first == f"## Step 2, attempt 1: evaluation (drift), round 3 {verdict.upper()}"


def shown(kind: str) -> str:
    return next(body(record).decode() for record in ONE_OF_EACH if record.kind == kind)


def test_a_plan_is_a_table_of_steps_and_one_of_criteria() -> None:
    assert "| 2 | Make slugs unique | 1 | general | general |  |" in shown("plan")
    assert "| clarity | low | 6.5 | Reads at first sight. |" in shown("plan")


def test_a_contract_lists_its_checks() -> None:
    assert '- **c1** slug.py can be imported *(file: {"path":"slug.py"})*' in shown("contract")


def test_an_evaluation_is_a_table_with_a_row_for_each_finding() -> None:
    assert "| **c1** |  | PASS | e1 | ok | It imports. | file |" in shown("evaluation")
    assert "| **clarity** | 4.5 | FAIL |  |  | Names &#124; say_nothing. | judge |" in shown("evaluation")


def test_an_attempt_shows_files_sizes_hashes_and_the_work_log() -> None:
    assert "| slug.py | 1.2 kB | 644 | `5e5e5e5e5e5e` |" in shown("attempt")
    assert "```text\nWrote slug.py.\nRan it.\n```" in shown("attempt")


def test_a_decision_is_a_sentence_with_its_numbers() -> None:
    assert "Keep attempt 2: retries are used up.\n\nIn numbers: weakest 5.5, of 3." in shown("decision")


def test_a_long_body_says_where_the_whole_of_it_is() -> None:
    assert "(the first lines of 90.0 kB; the whole is `.pge/objects/5e5e5e5e5e5e`...)" in shown("evaluation")


@pytest.mark.parametrize(
    "text",
    [
        b"## X\n\n```json\n{}\n```\n",
        b'## X\n\n```json\n{"text":1}\n```\n',
        b'## X\n\n```json\n{"text":NaN}\n```\n',
        b'## X\n\n```json\n{"text":"a","more":1}\n```\n',
        b"## X\n\n```json\n" + b"[" * 100_000 + b"\n```\n",
        b'## X\n\n```json\n{"text":"a"}\n````\n',
        b'```\n{"text":"a"}\n```\n',
        b"\n",
        b"",
    ],
)
def test_a_body_that_holds_no_payload_of_its_kind_is_a_misfit(text: bytes) -> None:
    with pytest.raises(Misfit):
        payload_of("note", text)


def test_a_kind_that_is_not_known_is_a_misfit() -> None:
    with pytest.raises(Misfit, match="no kind 'poem'"):
        payload_of("poem", body(ONE_OF_EACH[0]))


def test_one_line_is_plain_json_where_nothing_is_unseen() -> None:
    assert one_line(r.Note(text="añ😀\n")) == compact(r.Note(text="añ😀\n")) == '{"text":"añ😀\\n"}'


@given(text=st.text())
def test_visible_text_is_what_it_was_where_nothing_is_unseen(text: str) -> None:
    if not UNSEEN.search(text):
        assert visible(text) == text


@pytest.mark.parametrize(
    ("number", "noun", "plural", "said"),
    [
        (0, "call", "", "0 calls"),
        (1, "call", "", "1 call"),
        (2, "call", "", "2 calls"),
        (1_234, "call", "", "1,234 calls"),
        (1, "criterion", "criteria", "1 criterion"),
        (3, "criterion", "criteria", "3 criteria"),
    ],
)
def test_one_of_a_kind_is_not_said_in_the_plural(number: int, noun: str, plural: str, said: str) -> None:
    assert counted(number, noun, plural) == said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("short", "short"),
        ("a" * 20, "a" * 20),
        ("a" * 21, "a" * 17 + "..."),
        ("word " * 9, "word word word wo..."),
        ("文" * 30, "文" * 17 + "..."),
    ],
)
def test_a_text_that_is_cut_says_so_with_dots(text: str, told: str) -> None:
    assert dotted(text, 20) == told
    assert len(dotted(text, 20)) <= 20
