from __future__ import annotations

import pytest

from pge_nb.records import Check
from pge_nb.reviews import shipped
from pge_nb.sentences import said_call, said_case


@pytest.mark.parametrize(
    ("sentence", "args", "kwargs"),
    [
        ("total([1, 2, 3]) returns 6", ([1, 2, 3],), {}),
        ("basket.total(1, 2) is 3", (1, 2), {}),
        ("calling `total('a)b', n=2)` gives ''", ("a)b",), {"n": 2}),
        ("total() raises TypeError", (), {}),
    ],
)
def test_the_call_of_a_sentence_is_read_with_its_arguments(sentence: str, args: object, kwargs: object) -> None:
    said = said_call(sentence, "basket.total")
    assert said is not None
    as_lists = tuple(list(arg) if isinstance(arg, list | tuple) else arg for arg in said.args)
    assert (as_lists, said.kwargs) == (args, kwargs)


@pytest.mark.parametrize(
    "sentence",
    [
        "the total is right",
        "subtotal([1]) returns 1",
        "total([1]) equals total([1, 0])",
        "total(prices) adds them up",
        "total({1, 2}) returns 3",
        "total(b'x') raises TypeError",
        "total(*xs) works",
        "total(1e999) is infinite",
        "total(" + "(" * 400,
        "total([1, 2",
    ],
)
def test_where_no_single_literal_call_stands_nothing_is_read(sentence: str) -> None:
    assert said_call(sentence, "basket.total") is None


def test_args_that_do_another_call_than_the_sentence_says_are_refused() -> None:
    oracle = shipped(seconds=5)["oracle"]

    def vetted(args: list[object]) -> str | None:
        given = {"call": "basket.total", "args": args, "returns": 6}
        return oracle.vet(Check(id="c1", says="total([1, 2, 3]) returns 6", method="oracle", args=given))

    assert vetted([[1, 2, 3]]) is None
    assert (
        vetted([1, 2, 3]) == 'the sentence calls total([1, 2, 3]) and the args do not; that call is "args": [[1, 2, 3]]'
    )


@pytest.mark.parametrize(
    ("sentence", "args"),
    [
        ("total([1, 2, 3]) returns 6", {"call": "basket.total", "args": [[1, 2, 3]], "returns": 6}),
        ("`discount(100, 0.1)` should return 90.00.", {"call": "basket.discount", "args": [100, 0.1], "returns": 90.0}),
        ("total([-1]) raises a ValueError", {"call": "basket.total", "args": [[-1]], "raises": "ValueError"}),
        ("basket.total([]) == 0", {"call": "basket.total", "args": [[]], "returns": 0}),
        (
            "wrap('a b', width=2) gives ['a', 'b']",
            {"call": "basket.wrap", "cases": [{"args": ["a b"], "kwargs": {"width": 2}, "returns": ["a", "b"]}]},
        ),
        ("total([1, 2, 3]) returns the sum", None),
        ("total([1]) returns 1 and total([2]) returns 2", None),
        ("total(prices) returns 6", None),
        ("total([1, 2]) is fast", None),
        ("nothing is called here", None),
    ],
)
def test_a_sentence_that_says_all_of_a_case_makes_the_args(sentence: str, args: object) -> None:
    assert said_case(sentence, "basket") == args
