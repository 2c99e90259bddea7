"""Records to framed bytes and back: which header names they take, how their rounds are counted, what is redacted."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast, get_args

from .errors import BadInput
from .framing import Broken, Frame, Place, frame
from .payloads import Json, Misfit, decode, encode
from .prose import body, payload_of
from .records import KIND_OF, KINDS, Payload, Purpose, Record, Section

NUMBER = re.compile(r"[0-9]{1,9}")
HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class NotUnderstood(Broken):
    """A section that is what was written, but not by this version."""

    PREFIX = "is whole, but not understood: "


def framed(place: Place, record: Record, now: datetime) -> Frame:
    """The section of a record, at its place in the file. ``BadInput`` says what cannot stand in one."""
    numbers = {"step": record.step, "attempt": record.attempt, "round": record.round}
    names = {name: str(number) for name, number in numbers.items() if number is not None}
    names |= {"by": record.by, "at": now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    if record.purpose is not None:
        names["purpose"] = record.purpose
    try:
        return frame(place, record.kind, names, body(record))
    except ValueError as error:
        raise BadInput(f"A section of kind {record.kind} cannot be written: {error}.", "Change that value.") from None


def section_of(one: Frame) -> Section:
    """The section that a whole frame holds."""
    try:
        record = Record(
            payload=payload_of(one.kind, one.body),
            by=one.names.get("by", ""),
            step=_number(one, "step"),
            attempt=_number(one, "attempt"),
            round=_number(one, "round"),
            purpose=_purpose(one),
        )
    except (Misfit, UnicodeDecodeError) as error:
        raise NotUnderstood(one.place.seq, f"{NotUnderstood.PREFIX}{error}.") from None
    at, place = one.names.get("at", ""), one.place
    return Section(record=record, seq=place.seq, prev=place.prev, sha256=one.sha256, at=at, offset=place.offset)


def readable(one: Frame) -> Section:
    """The section of a frame that is about to be written. ``BadInput`` for one that could never be read again."""
    try:
        return section_of(one)
    except NotUnderstood as error:
        raise BadInput(
            f"A section of kind {one.kind} cannot be written: it {error.why}", "Change that value."
        ) from None


def round_key(record: Record) -> tuple[object, ...]:
    """Records with the same one are counted, from round 1."""
    return record.kind, record.step, record.attempt, record.purpose


def redacted(payload: Payload, redact: Callable[[str], str]) -> Payload:
    """The payload as it will be read again, every string in it redacted, names of settings too."""

    def clean(text: str) -> str:
        # Two halves of one character would come back from JSON as that character.
        return redact(text if text.isascii() else HALVES.sub(_joined, text))

    def clean_all(value: Json) -> Json:
        if isinstance(value, str):
            return clean(value)
        if isinstance(value, list):
            return [clean_all(item) for item in value]
        if isinstance(value, dict):
            return {clean(name): clean_all(item) for name, item in value.items()}
        return value

    fields = cast("dict[str, Json]", encode(payload))
    cleaned = {name: clean_all(item) for name, item in fields.items()}
    kind = KIND_OF[type(payload)]
    try:
        return cast("Payload", decode(KINDS[kind], cleaned))
    except Misfit as error:
        raise BadInput(f"A {kind} cannot be written: {error}.", "Give every field a value of its type.") from None


def _joined(halves: re.Match[str]) -> str:
    return halves[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _number(one: Frame, name: str) -> int | None:
    value = one.names.get(name)
    if value is None:
        return None
    if not NUMBER.fullmatch(value):
        raise Misfit(f"its {name} is {value!r}")
    return int(value)


def _purpose(one: Frame) -> Purpose | None:
    value = one.names.get("purpose")
    if value is not None and value not in get_args(Purpose):
        raise Misfit(f"its purpose is {value!r}")
    return cast("Purpose | None", value)
