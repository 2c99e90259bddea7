from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb.framing import (
    MAX_BODY,
    SECTOR,
    START,
    Broken,
    Frame,
    Missing,
    Place,
    Tail,
    footer,
    frame,
    is_torn,
    take,
    walk,
)

BODIES = (b"## One\n", b"## Two\n\n<!-- /pge seq=1 sha256=" + b"0" * 64 + b" -->\n\n", b"\xff\n\n", b"## Four\n")


def chained(*bodies: bytes) -> list[Frame]:
    place, frames = Place(), []
    for body in bodies:
        frames.append(frame(place, "note", {"by": "harness"}, body))
        place = frames[-1].after
    return frames


FRAMES = chained(*BODIES)
FILE = b"".join(one.data for one in FRAMES)
ENDS = [one.after.offset for one in FRAMES]


def read_from(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, count: data[offset : offset + count]


def walked(data: bytes) -> tuple[list[Frame], Tail | None]:
    found = list(walk(read_from(data), Place(), len(data)))
    if found and isinstance(found[-1], Tail):
        return found[:-1], found[-1]  # type: ignore[return-value]
    return found, None  # type: ignore[return-value]


def test_a_section_is_framed_to_the_byte() -> None:
    one = frame(Place(), "evaluation", {"step": "2", "attempt": "1", "by": "evaluator"}, b"## X\n")
    header = f"<!-- pge/1 seq=0 len=5 prev={'0' * 64} kind=evaluation step=2 attempt=1 by=evaluator -->\n".encode()
    digest = hashlib.sha256(header + b"## X\n").hexdigest()
    assert one.data == header + b"## X\n" + f"<!-- /pge seq=0 sha256={digest} -->\n\n".encode()
    assert one.after == Place(offset=len(one.data), seq=1, prev=digest)


def test_a_walk_gives_the_frames_that_were_written() -> None:
    assert walked(FILE) == (FRAMES, None)
    assert walked(b"") == ([], None)


def test_a_walk_goes_on_from_any_place() -> None:
    found = list(walk(read_from(FILE), FRAMES[1].after, len(FILE)))
    assert found == FRAMES[2:]


@pytest.mark.parametrize("zeros", [0, 1, 7, SECTOR, 5_000])
def test_every_cut_is_a_torn_tail_after_the_sections_that_are_whole(zeros: int) -> None:
    for cut in range(len(FILE) + 1):
        frames, tail = walked(FILE[:cut] + b"\0" * zeros)
        assert len(frames) == sum(end <= cut for end in ENDS)
        if cut in (0, *ENDS) and not zeros:
            assert tail is None
        else:
            assert tail is not None
            assert tail.broken is None
            assert tail.size == cut + zeros - tail.place.offset


def test_every_flipped_bit_is_damage_in_the_section_that_holds_it() -> None:
    for index in range(len(FILE)):
        for bit in range(8):
            flipped = bytearray(FILE)
            flipped[index] ^= 1 << bit
            frames, tail = walked(bytes(flipped))
            assert frames == FRAMES[: sum(end <= index for end in ENDS)]
            assert tail is not None
            assert tail.broken is not None, f"bit {bit} of byte {index}"
            assert tail.broken.seq == len(frames)


@given(data=st.data())
def test_an_edit_is_damage_and_never_a_torn_tail(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(FILE) - 1))
    gone = data.draw(st.integers(0, 3))
    put = data.draw(st.binary(max_size=3).filter(lambda new: b"\0" not in new))
    edited = FILE[:at] + put + FILE[at + gone :]
    frames, tail = walked(edited)
    if FILE.startswith(edited):
        assert tail is None or tail.broken is None
    elif edited.startswith(FILE):  # something was added at the end: it may be the beginning of a section
        assert frames == FRAMES
    else:
        assert tail is not None
        assert tail.broken is not None


@given(lost=st.sets(st.integers(0, 8)), length=st.integers(1, 4_000), before=st.integers(0, 2))
def test_sectors_that_never_reached_the_disk_are_a_torn_tail(lost: set[int], length: int, before: int) -> None:
    frames = chained(*[b"x" * 300 + b"\n"] * before, b"y" * length + b"\n")
    whole = bytearray(b"".join(one.data for one in frames))
    start = frames[-1].place.offset
    for sector in lost:
        first, last = max(start, sector * SECTOR), min(len(whole), (sector + 1) * SECTOR)
        whole[first:last] = b"\0" * max(0, last - first)
    found, tail = walked(bytes(whole))
    assert len(found) >= before
    assert tail is None or tail.broken is None


def test_zeros_inside_a_sector_are_an_edit() -> None:
    (one,) = chained(b"x" * 2_000 + b"\n")
    data = one.data[:700] + b"\0" * 50 + one.data[750:]
    _, tail = walked(data)
    assert tail is not None
    assert tail.broken is not None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (FILE.replace(b"\n", b"\r\n"), "the line ends of Windows"),
        (b"\xef\xbb\xbf" + FILE, "a byte order mark"),
        (FILE.replace(b"pge/1", b"pge/2"), "in the format pge/2"),
        (b"# My notes\n" * 300, "does not begin with a valid header"),
        (b"x" * 5_000, "does not begin with a valid header"),
        (FILE[ENDS[0] :], "says that it is number 1"),
        (FILE[: ENDS[0]] + FILE[ENDS[1] :], "says that it is number 2"),
        (FILE[: ENDS[0]] + chained(b"other\n", BODIES[1])[1].data, "does not follow section 0"),
        (FILE.replace(b"prev=" + b"0" * 64, b"prev=" + b"1" * 64), "is not the first one"),
        (FILE.replace(b"## One", b"## Won"), "was changed: its content does not fit its hash"),
        (FILE.replace(b"len=7 ", b"len=6 ", 1), "is not as long as its header says"),
        (FILE.replace(b"len=7 ", b"len=900 ", 1), "is not as long as its header says"),
        (FILE.replace(b"len=7 ", b"len=0 ", 1), "does not begin with a valid header"),
        (FILE.replace(b"len=7 ", b"len=07 ", 1), "does not begin with a valid header"),
        (FILE.replace(b"len=7 ", b"len=99999999999999 ", 1), "more than any section has"),
        (FILE.replace(b"by=harness", b"by=a by=b"), "names something twice"),
        (FILE.replace(b"by=harness", b"seq=1"), "names something twice"),
        (FILE.replace(b"by=harness", b"by=a b"), "does not begin with a valid header"),
    ],
)
def test_damage_says_which_section_and_in_what_way(changed: bytes, why: str) -> None:
    _, tail = walked(changed)
    assert tail is not None
    assert tail.broken is not None
    assert why in tail.broken.why
    assert tail.broken.seq == tail.place.seq


def test_another_version_is_told_by_its_name() -> None:
    _, tail = walked(FILE.replace(b"pge/1", b"pge/2"))
    assert tail is not None
    assert tail.broken is not None
    assert tail.broken.version == "pge/2"


def test_a_section_that_is_moved_or_copied_breaks_the_chain() -> None:
    parts = [one.data for one in FRAMES]
    for order in ([1, 0, 2, 3], [0, 2, 1, 3], [0, 0, 1, 2], [0, 1, 3]):
        _, tail = walked(b"".join(parts[i] for i in order))
        assert tail is not None
        assert tail.broken is not None


def test_a_length_that_lies_asks_for_no_more_than_the_file_has() -> None:
    asked: list[int] = []
    lying = FILE.replace(b"len=7 ", b"len=%d " % MAX_BODY, 1)

    def read(offset: int, count: int) -> bytes:
        asked.append(offset + count)
        return lying[offset : offset + count]

    assert list(walk(read, Place(), len(lying)))
    assert max(asked) <= len(lying)


@pytest.mark.parametrize("count", [1, 12])
def test_a_header_has_up_to_twelve_names(count: int) -> None:
    names = {"abcdefghijkl"[i]: "v" * 80 for i in range(count)}
    one = frame(Place(), "note", names, b"x\n")
    assert take(one.data, Place()) == one
    for cut in range(len(one.data)):
        assert isinstance(take(one.data[:cut], Place()), Missing)


@pytest.mark.parametrize(
    ("kind", "names", "body"),
    [
        ("note", {"abcdefghijklm"[i]: "v" for i in range(13)}, b"x\n"),
        ("note", {"by": ""}, b"x\n"),
        ("note", {"by": "a b"}, b"x\n"),
        ("note", {"by": "a>"}, b"x\n"),
        ("note", {"by": "v" * 81}, b"x\n"),
        ("note", {"by": "a\n"}, b"x\n"),
        ("note", {"By": "a"}, b"x\n"),
        ("note", {"seq": "1"}, b"x\n"),
        ("note", {}, b"x"),
        ("note", {}, b""),
        ("Note", {}, b"x\n"),
        ("n" * 25, {}, b"x\n"),
        ("", {}, b"x\n"),
    ],
)
def test_what_the_format_does_not_allow_is_not_written(kind: str, names: dict[str, str], body: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        frame(Place(), kind, names, body)


@settings(max_examples=50)
@given(bodies=st.lists(st.binary(max_size=300).map(lambda body: body + b"\n"), max_size=4))
def test_any_bytes_may_stand_in_a_body(bodies: list[bytes]) -> None:
    frames = chained(*bodies)
    assert walked(b"".join(one.data for one in frames)) == (frames, None)


def test_a_body_that_holds_a_whole_section_is_one_body() -> None:
    inner = frame(Place(seq=1, prev=FRAMES[0].sha256), "note", {}, b"forged\n").data
    frames = chained(b"## One\n", inner, b"## Three\n")
    assert walked(b"".join(one.data for one in frames)) == (frames, None)
    for cut in range(frames[1].place.offset + 1, frames[1].after.offset):
        _, tail = walked(b"".join(one.data for one in frames)[:cut])
        assert tail is not None
        assert tail.broken is None


def test_a_file_that_is_cut_while_it_is_read_ends_in_a_torn_tail() -> None:
    _, tail = walked(FILE)
    assert tail is None
    *frames, last = walk(read_from(FILE[:-10]), Place(), len(FILE))
    assert len(frames) == len(FRAMES) - 1
    assert isinstance(last, Tail)
    assert last.broken is None


def test_a_long_file_is_read_in_windows() -> None:
    frames = chained(*(bytes([65 + i % 26]) * (i * 997 % 70_000) + b"\n" for i in range(60)))
    assert walked(b"".join(one.data for one in frames)) == (frames, None)


def test_bytes_that_begin_no_section_are_never_torn() -> None:
    assert is_torn(b"\0" * 10, Place())
    assert not is_torn(b"hello\n", Place())
    assert footer(0, START).endswith(b" -->\n\n")
    with pytest.raises(Broken):
        take(b"hello\n", Place())
