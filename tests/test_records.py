from __future__ import annotations

import dataclasses
import hashlib

import pytest
from state_samples import FILE, HASH, ONE_OF_EACH

from pge_nb import records as r


def test_a_record_knows_its_kind_from_its_payload() -> None:
    assert [record.kind for record in ONE_OF_EACH] == list(r.KINDS)


def test_kinds_are_words_that_a_header_can_hold() -> None:
    assert all(kind.isascii() and kind.isalpha() and kind.islower() and len(kind) <= 24 for kind in r.KINDS)


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=lambda record: record.kind)
def test_values_are_frozen(record: r.Record) -> None:
    for value in (record, record.payload):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)


def test_the_hash_of_an_attempt_is_that_of_its_sorted_files() -> None:
    # Worked by hand: compact JSON of the sorted (path, mode, sha256); the size is not part of it.
    a, b = dataclasses.replace(FILE, path="a.py", mode=0o755), dataclasses.replace(FILE, path="b.py")
    listed = f'[["a.py",493,"{HASH}"],["b.py",420,"{HASH}"]]'
    assert r.attempt_hash((b, a)) == r.attempt_hash((a, b)) == hashlib.sha256(listed.encode()).hexdigest()
    assert r.attempt_hash((a, dataclasses.replace(b, size=0))) == r.attempt_hash((a, b))
    assert r.attempt_hash((a, dataclasses.replace(b, mode=0o600))) != r.attempt_hash((a, b))
    assert r.attempt_hash(()) == hashlib.sha256(b"[]").hexdigest()


def test_the_size_of_a_body_is_in_bytes() -> None:
    assert r.text_body("aé").size == 3
    assert r.text_body("\ud800").size == 3
    assert r.text_body("x").sha256 is None


def test_all_tokens_count_read_or_written_cached_or_not() -> None:
    assert r.Usage(input_tokens=1, output_tokens=20, cache_read_tokens=300, cache_write_tokens=4_000).total == 4_321
