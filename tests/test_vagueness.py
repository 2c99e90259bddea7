"""Vague sentences: the rule against labelled ones, with its rates; what it must leave alone; what it may cost."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pge_nb import bank
from pge_nb.vagueness import testable as could_be_seen
from pge_nb.vagueness import vague

ROOT = Path(__file__).parents[1]
LABELLED = [
    line.split("\t")
    for line in (ROOT / "tests/cases/vague_sentences.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
MISSES, FALSE_ALARMS = 1, 0
"""Of all labelled sentences. They are told in docs/vague-checks.md."""


def labelled(label: str, half: str = "") -> list[str]:
    return [sentence for said, part, sentence in LABELLED if said == label and half in ("", part)]


def test_the_two_sentences_of_the_design() -> None:
    assert vague("implement login") == "implement"
    assert vague("POST /login returns 401 for a wrong password") == ""
    assert could_be_seen("POST /login returns 401 for a wrong password")


def test_there_are_as_many_sentences_of_one_kind_as_of_the_other_in_many_scripts() -> None:
    assert len(LABELLED) == len({sentence for *_, sentence in LABELLED}) >= 200
    assert 0.8 < len(labelled("vague")) / len(labelled("testable")) < 1.25
    scripts = {char for sentence in labelled("testable") for char in sentence if ord(char) > 0x370}
    for char in "яをר密한खλง":
        assert char in scripts, char


def test_the_rates_on_the_labelled_sentences_are_those_that_are_told() -> None:
    missed = [sentence for sentence in labelled("vague") if not vague(sentence)]
    alarms = [sentence for sentence in labelled("testable") if vague(sentence)]
    assert (len(missed), len(alarms)) == (MISSES, FALSE_ALARMS), (missed, alarms)
    told = (ROOT / "docs/vague-checks.md").read_text("utf-8")
    for half in ("seen", "kept"):
        vague_ones, others = labelled("vague", half), labelled("testable", half)
        missed = [sentence for sentence in vague_ones if not vague(sentence)]
        alarms = [sentence for sentence in others if vague(sentence)]
        row = f"{len(missed)} of {len(vague_ones)} | {len(alarms)} of {len(others)}"
        assert f"| {half} | {row} |" in told


def test_nothing_vague_is_taken_for_testable() -> None:
    assert [sentence for sentence in labelled("vague") if could_be_seen(sentence)] == []
    recognised = [sentence for sentence in labelled("testable") if could_be_seen(sentence)]
    assert len(recognised) > 0.75 * len(labelled("testable"))


def test_what_is_written_in_another_language_is_never_called_vague() -> None:
    unread = labelled("unread")
    assert len(unread) >= 10
    assert [sentence for sentence in unread if vague(sentence) or could_be_seen(sentence)] == []


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("All 3 endpoints are implemented", "are implemented"),  # a number of what there is shows nothing
        ("Step 1 works correctly", "works correctly"),  # nor does one that only names
        ("The login works; a wrong password is answered with 401", ""),
        ("Implement add(a, b) so that add(2, 3) returns 5", ""),
        ("Returns the expected output", "returns the expected output"),
        ("Returns the expected value 5", ""),
        ("write puts quotes where they are needed and nowhere else.", ""),  # the name of a function
        ("document.py knows in one place alone what a heading is.", ""),
        ("What is written is read back as it was.", ""),
        ("main.py runs successfully", ""),  # an exit status tells
        ("Files are loaded successfully", "successfully"),
        ("- Implement login", "implement"),
        ("Error handling", "error handling"),
        ("", ""),
    ],
)
def test_what_makes_a_sentence_vague(sentence: str, words: str) -> None:
    assert vague(sentence) == words


def test_no_sentence_of_the_bank_and_of_the_shipped_recording_is_vague() -> None:
    """Else their runs would be sent back, and a recording would not replay."""
    said = [str(check["says"]) for task in bank.tasks() for step in task.steps for check in step.checks]
    for line in (ROOT / "examples/recordings/basket.jsonl").read_text("utf-8").splitlines():
        for block in json.loads(line).get("content", []):
            said += [piece for piece in block.get("text", "").split('"') if " returns " in piece or " raises " in piece]
    assert len(said) > 140
    assert [sentence for sentence in said if vague(sentence)] == []


def test_hardly_any_claim_of_this_projects_own_tests_is_called_vague() -> None:
    """Sentences that nobody wrote with the rule in mind: the names of its tests."""
    names = {
        node.name.removeprefix("test_").replace("_", " ")
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    claims = [name for name in names if len(name.split()) > 4]
    assert len(claims) > 1_000
    assert sum(bool(vague(claim)) for claim in claims) < len(claims) / 100


@given(st.text())
def test_any_text_is_read_and_none_is_both(sentence: str) -> None:
    assert not (vague(sentence) and could_be_seen(sentence))


@pytest.mark.parametrize("piece", ["works a ", "tests ", "is very ", "`'\"(", "implement ", "é", "returns the "])
def test_a_long_text_takes_no_longer(piece: str) -> None:
    begun = time.perf_counter()
    vague(piece * 20_000)
    could_be_seen(piece * 20_000)
    assert time.perf_counter() - begun < 0.5
