"""Whatever stands in a file that a person gives, or that lies where one of ours should: two lines that say so, or it is read."""

from __future__ import annotations

import contextlib
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from pge_nb.errors import BadInput, PgeError, StateDamaged
from pge_nb.exports import RECORD, _record
from pge_nb.exports.archive import MANIFEST, look
from pge_nb.models.calllog import CallLog, parsed
from pge_nb.payloads import Misfit
from pge_nb.studies import open_study
from pge_nb.studies.imports import import_labels

DEEP = b"[" * 1_000_000
QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

pieces = some.one_of(
    some.text(some.characters(codec=None), max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    some.binary(max_size=40),
    some.sampled_from(
        [
            b'{"line": "settled", ',
            b'"n": NaN',
            b'"seconds": 1e999',
            b"9" * 5_000,
            b'"\\ud800"',
            b"{",
            b"}",
            b"null",
            DEEP[:9_999],
        ]
    ),
)
"""Bytes as a file may hold them: of every category of characters, halves of them, no text at all, and what looks like ours."""


@QUICK
@given(some.lists(pieces, max_size=6).map(b"".join))
def test_a_line_of_a_call_log_is_read_or_is_none(line: bytes) -> None:
    with contextlib.suppress(ValueError, Misfit, BadInput):
        parsed(line)


def test_a_line_that_is_nested_too_deep_is_damage_and_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(DEEP + b"\n")

    with pytest.raises(StateDamaged, match=r"Line 1 of .* is damaged: it is nested deeper"):
        CallLog(path).new_lines()

    assert path.read_bytes() == DEEP + b"\n"


@QUICK
@given(
    some.lists(
        some.one_of(pieces, some.sampled_from([b",", b"\n", b'"', b"\r", b"r:1:abcdef0123/*,pass"])), max_size=12
    )
)
def test_a_csv_of_labels_is_taken_over_or_named_as_what_cannot_be(tmp_path: Path, rows: list[bytes]) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"item,verdict\n" + b"".join(rows))
    study = open_study(tmp_path)
    with contextlib.suppress(PgeError):
        assert not import_labels(study, path, [], rater="ann").added
    assert not study.read().labels


@pytest.mark.parametrize("name", ["a\0b.csv", "\ud800.csv", "x" * 4_096, "/".join(["a" * 200] * 21), "CON", "NUL.csv"])
def test_a_name_that_no_file_has_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        import_labels(open_study(tmp_path), tmp_path / name, [], rater="ann")


def test_a_zip_whose_manifest_is_nested_too_deep_is_none_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MANIFEST, DEEP[:90_000])

    with pytest.raises(BadInput, match="no run is in it"):
        look(path)


def test_a_note_of_what_was_exported_that_is_nested_too_deep_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    (tmp_path / RECORD).write_bytes(DEEP)

    assert _record(tmp_path) == {}
