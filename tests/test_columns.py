from __future__ import annotations

import time

import pytest

from pge_nb.columns import columns_of, wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("", [""]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("ab abcdefghijkl cd", ["ab", "abcdefgh", "ijkl cd"]),
        ("漢字漢字漢字", ["漢字漢字", "漢字"]),
    ],
)
def test_a_text_is_wrapped_at_its_blanks_and_a_long_word_anywhere(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8) == lines


def test_what_does_not_fit_is_cut_and_told() -> None:
    assert wrapped("x" * 100, 8, most=2) == ["xxxxxxxx", "xxxxxxx…"]
    assert wrapped("one two three four five", 5, most=2) == ["one", "two…"]


def test_a_very_long_word_takes_no_time() -> None:
    started = time.perf_counter()
    lines = wrapped("漢" * 200_000, 40)
    assert time.perf_counter() - started < 1
    assert all(columns_of(line) <= 40 for line in lines)
