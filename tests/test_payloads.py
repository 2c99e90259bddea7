from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from state_samples import ONE_OF_EACH, records

from pge_nb import records as r
from pge_nb.errors import BadInput
from pge_nb.payloads import Json, Misfit, all_mended, compact, decode, encode, mended


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    number: int
    share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: str
    word: Literal["yes", "no"]
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    free: Mapping[str, Json] = field(default_factory=dict)
    sure: bool = False


WHOLE: dict[str, Any] = {
    "name": "n",
    "word": "yes",
    "inner": {"number": 1, "share": 0.25},
    "many": [{"number": 2, "share": 0.5}],
    "free": {"a": [1, {"b": None}], "z": "x"},
    "sure": True,
}


def test_a_value_comes_back_as_it_was() -> None:
    outer = decode(Outer, WHOLE)
    assert outer == Outer(
        name="n",
        word="yes",
        inner=Inner(number=1, share=0.25),
        many=(Inner(number=2),),
        free={"a": [1, {"b": None}], "z": "x"},
        sure=True,
    )
    assert encode(outer) == WHOLE


def test_fields_with_a_default_may_be_absent() -> None:
    assert decode(Outer, {"name": "n", "word": "no"}) == Outer(name="n", word="no")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": 1}, "Outer.name is 1, not str"),
        ({"name": None}, "Outer.name is None, not str"),
        ({"word": "maybe"}, "Outer.word is 'maybe', not one of 'yes', 'no'"),
        ({"word": True}, "Outer.word is True"),
        ({"sure": 1}, "Outer.sure is 1, not bool"),
        ({"inner": 3}, "Outer.inner is not an object"),
        ({"inner": {"number": "1"}}, "Outer.inner.number is '1', not int"),
        ({"inner": {"number": 1.0}}, "Outer.inner.number is 1.0, not int"),
        ({"inner": {"number": True}}, "Outer.inner.number is True, not int"),
        ({"inner": {"number": 1, "share": "0.5"}}, "Outer.inner.share is '0.5', not float"),
        ({"inner": {"number": 1, "share": float("nan")}}, "Outer.inner.share is nan"),
        ({"inner": {"number": 1, "share": float("-inf")}}, "Outer.inner.share is -inf"),
        ({"inner": {"number": 1, "share": 10**400}}, "Outer.inner.share is 1000"),
        ({"inner": {"number": 1, "share": False}}, "Outer.inner.share is False"),
        ({"inner": {}}, "Outer.inner lacks 'number'"),
        ({"many": {}}, "Outer.many is not a list"),
        ({"many": [{"number": 1}, 2]}, "Outer.many[1] is not an object"),
        ({"free": []}, "Outer.free is not an object"),
        ({"more": 1}, "Outer has an unknown field 'more'"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Misfit) as error:
        decode(Outer, WHOLE | change)
    assert str(error.value).startswith(says)


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_a_payload_that_is_no_object_is_a_misfit(value: object) -> None:
    with pytest.raises(Misfit, match="Outer is not an object"):
        decode(Outer, value)


def test_a_whole_number_stands_for_a_number() -> None:
    share = decode(Inner, {"number": 1, "share": 1}).share
    assert share == 1.0
    assert isinstance(share, float)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_cannot_be_stored(number: float) -> None:
    with pytest.raises(BadInput, match="Use None for a number that is not known"):
        encode({"a": [number]})


def test_only_values_with_a_json_form_are_stored() -> None:
    with pytest.raises(TypeError, match="set has no JSON form"):
        encode({1})


def test_compact_is_one_line_and_the_same_for_equal_values() -> None:
    assert compact({"b": 1, "a": "ü\n"}) == compact({"a": "ü\n", "b": 1}) == '{"a":"ü\\n","b":1}'


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=lambda record: record.kind)
def test_every_payload_comes_back_through_json(record: r.Record) -> None:
    assert decode(type(record.payload), json.loads(compact(record.payload))) == record.payload


@given(record=records())
def test_any_payload_comes_back_through_json(record: r.Record) -> None:
    assert encode(decode(type(record.payload), encode(record.payload))) == encode(record.payload)


@given(
    record=records(),
    junk=st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({}),
    data=st.data(),
)
def test_a_field_of_another_type_never_passes_for_the_declared_one(
    record: r.Record, junk: object, data: st.DataObject
) -> None:
    fields = encode(record.payload)
    assert isinstance(fields, dict)
    name = data.draw(st.sampled_from(sorted(fields)))
    try:
        changed = decode(type(record.payload), fields | {name: junk})
    except Misfit:
        return
    back = encode(changed)
    assert isinstance(back, dict)
    assert back[name] == junk or isinstance(junk, int | list | dict)
    assert type(back[name]) is type(junk) or (isinstance(junk, int) and isinstance(back[name], float))


@given(
    st.text(alphabet=st.characters(codec=None, categories=["L", "Cs", "So", "Nd"]) | st.sampled_from("\ud83d\ude00"))
)
def test_mended_text_has_utf_8_and_whole_characters_stay(text: str) -> None:
    clean = mended(text)
    assert mended(clean.encode().decode()) == clean
    joined = re.sub("[\ud800-\udbff][\udc00-\udfff]", lambda two: json.loads(json.dumps(two[0])), text)
    assert clean == re.sub("[\ud800-\udfff]", "\ufffd", joined)


def test_every_string_of_a_value_is_mended() -> None:
    assert all_mended({"a\ud800": ["\ud83d\ude00", 1, None, {"b": "x\ude00"}]}) == {
        "a\ufffd": ["😀", 1, None, {"b": "x\ufffd"}]
    }
