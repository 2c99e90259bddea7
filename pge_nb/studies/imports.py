"""Labels from a CSV file: each line checked against the runs, and nothing kept unless every line can be read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadInput
from ..run import Run
from ..study_records import Label, Rater
from .items import WHOLE, Item, items
from .labelling import as_score, check_person, check_score, read_said, same
from .study import StudyFile

KEYED, PLAIN = ("item",), ("run", "step", "attempt_hash", "on")
COLUMNS = (*KEYED, *PLAIN, "verdict", "score", "note", "repeat")
MOST_BYTES = 50_000_000
MOST_REPEATS = 1_000
MOST_DIGITS = 9
"""Of a number that counts; with thousands of them Python itself refuses to read one."""
LEAST_HEX = 12
"""Of an attempt's hash, so many characters at least are needed to tell attempts apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of a file: labels that are new, that were there already, and lines whose attempt is not that run's."""

    added: tuple[Label, ...] = ()
    there: int = 0
    refused: tuple[tuple[int, str], ...] = ()


def import_labels(study: StudyFile, path: Path, runs: Iterable[Run], *, rater: str) -> Imported:
    """Take over the labels of a CSV file, as those of one person.

    Columns: ``run, step, attempt_hash, on`` or ``item`` (run:step:hash/on, as `ratings` names it); ``verdict``; maybe ``score``,
    ``note``, ``repeat``. ``on`` empty or "*" is the whole attempt. A line whose attempt hash is not among that run's step is
    refused and counted. Any other line that cannot be read is an error that names it, and nothing of the file is kept. The same
    labels again add nothing.
    """
    known = list({item.key: item for item in items(list(runs))}.values())
    found: dict[tuple[str, int], Label] = {}
    refused: list[tuple[int, str]] = []
    for number, row in _rows(path):
        item = _item(row, known, number)
        if isinstance(item, str):
            refused.append((number, item))
            continue
        label = _label(row, item, rater, number, path.name)
        key = (item.key, label.repeat)
        if key in found and not same(found[key], label):
            raise BadInput(
                f"Line {number}: another verdict on the same item stands above it.", "Give a repeat, or one line."
            )
        found[key] = label
    check_person(study.read(), rater)
    before = {
        (label.run, label.step, label.attempt_hash, label.on, label.repeat): label
        for label in study.read().labels
        if label.rater == rater
    }
    new = [
        label
        for label in found.values()
        if (old := before.get((label.run, label.step, label.attempt_hash, label.on, label.repeat))) is None
        or not same(old, label)
    ]
    if new:
        study.keep(Rater(id=rater, who="person", name=rater))
        study.add(*new)
    return Imported(added=tuple(new), there=len(found) - len(new), refused=tuple(refused))


def _rows(path: Path) -> Iterable[tuple[int, Mapping[str, str]]]:
    """Line number -> row, its columns known."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{path} is larger than {MOST_BYTES:,} bytes.", "Split it.")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror or error}.", "Name a CSV file.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no UTF-8 text.", "Save it as CSV UTF-8.") from None
    except ValueError:  # a zero or half a character in the name
        raise BadInput(f"{str(path)!r:.200} can be no file's name.", "Name a CSV file.") from None
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        if "verdict" not in names or not (set(KEYED) <= set(names) or set(PLAIN) <= set(names)):
            raise BadInput(
                f"{path} has the columns {', '.join(names) or 'none'}.",
                "It needs run, step, attempt_hash, on, verdict (or item, verdict); score, note and repeat may stand there too.",
            )
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise BadInput(f"Line {reader.line_num}: it has not {len(names)} columns.", "Quote what holds a comma.")
            rows.append((reader.line_num, {name.strip(): (value or "").strip() for name, value in row.items()}))
    except csv.Error as error:
        raise BadInput(f"Line {reader.line_num}: {error}.", "Mend the line.") from None
    return rows


def _item(row: Mapping[str, str], known: Iterable[Item], number: int) -> Item | str:
    """The item of a line; in words why not where the attempt, or the run, is none of those."""
    run, step, digest, on = _address(row, number)
    of_run = [item for item in known if item.run == run]
    if not of_run:
        return f"run {run} is not among these runs"
    of_step = [item for item in of_run if item.step == step]
    of_attempt = [item for item in of_step if item.attempt_hash.startswith(digest)]
    if not of_attempt:
        return f"step {step} of run {run} has no attempt {digest[:LEAST_HEX]}"
    found = next((item for item in of_attempt if item.on == on), None)
    if found is None:
        there = ", ".join(item.on or WHOLE for item in of_attempt)
        raise BadInput(f"Line {number}: there is no check or criterion {on!r:.60} there.", f"There are {there}.")
    return found


def _address(row: Mapping[str, str], number: int) -> tuple[str, int, str, str]:
    if row.get("item"):
        head, _, on = row["item"].partition("/")
        parts = head.split(":")
        if len(parts) != 3:
            raise BadInput(
                f"Line {number}: {row['item']!r:.80} is no item.", "Write run:step:hash/on, or run:step:hash/*."
            )
        run, step, digest = parts
    else:
        run, step, digest, on = (row.get(name, "") for name in PLAIN)
    if not counts(step):
        raise BadInput(f"Line {number}: step {step!r:.40} is no number.", "Write the step's number.")
    if len(digest) < LEAST_HEX or any(char not in "0123456789abcdef" for char in digest):
        raise BadInput(
            f"Line {number}: {digest!r:.40} is no attempt hash.", f"Give {LEAST_HEX} hex characters of it, or all."
        )
    return run, int(step), digest, "" if on == WHOLE else on


def counts(text: str) -> bool:
    """Whether it is a number that something can be counted with."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _score(text: str) -> float | None:
    score = as_score(text) if text else None
    if text and score is None:
        raise BadInput(f"{text!r:.40} is no score.", "Give a number from 0 to 10, or leave it empty.")
    return score


def _repeat(text: str) -> int:
    if not counts(text) or not 1 <= int(text) <= MOST_REPEATS:
        raise BadInput(f"{text!r:.40} is no repeat.", f"They are counted from 1, to {MOST_REPEATS}.")
    return int(text)


def _label(row: Mapping[str, str], item: Item, rater: str, number: int, file: str) -> Label:
    try:
        said = read_said(item, "", row["verdict"])
        score, repeat = _score(row.get("score", "")), _repeat(row.get("repeat") or "1")
        check_score(item, said.verdict, score)
    except BadInput as error:
        raise BadInput(f"Line {number}: {error.fact}", error.next_move) from None
    return Label(
        rater=rater,
        run=item.run,
        step=item.step,
        attempt_hash=item.attempt_hash,
        on=item.on,
        verdict=said.verdict,
        score=score,
        note=row.get("note", ""),
        repeat=repeat,
        origin=f"import {file}",
    )
