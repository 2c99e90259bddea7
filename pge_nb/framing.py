"""The bytes of a state file, format ``pge/1``: one section after another, framed by length alone.

    <!-- pge/1 seq=7 len=812 prev=<64 hex> kind=evaluation step=2 attempt=1 by=evaluator -->
    <exactly len bytes of body, the last one a newline>
    <!-- /pge seq=7 sha256=<64 hex, over the header line with its newline, and the body> -->
    <empty line>

``prev`` is the sha256 of the section before (64 zeros for the first), so that no section can be changed, taken out or
moved without breaking the chain. Nothing is ever found by searching: what a body holds cannot end a section or begin one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

VERSION = b"pge/1"
START = "0" * 64
MAX_HEADER = 2_048
MAX_BODY = 1 << 26
"""A longer body is refused by writer and reader alike; what is long is an object of its own."""
SECTOR = 512
"""Disks lose what was not synced in units of this many bytes, or of a multiple of it."""
CHUNK = 1 << 18

VALUE = r"[A-Za-z0-9_.:+@/-]{1,80}"
HEADER = re.compile(
    rb"<!-- pge/1 seq=(0|[1-9][0-9]{0,14}) len=([1-9][0-9]{0,14}) prev=([0-9a-f]{64}) kind=([a-z]{1,24})"
    rb"((?: [a-z_]{1,40}=" + VALUE.encode() + rb"){0,12}) -->\n"
)
NAME = re.compile(r"(?!(?:seq|len|prev|kind)\Z)[a-z_]{1,40}")
PART_OF_PAIR = re.compile(rb"[a-z_]{0,40}|[a-z_]{1,40}=[A-Za-z0-9_.:+@/-]{0,80}")
WHOLE_PAIR = re.compile(rb"[a-z_]{1,40}=" + VALUE.encode())


class Broken(ValueError):
    """Bytes that are no part of a valid file; ``why`` completes the sentence "Section 3 ..."."""

    def __init__(self, seq: int, why: str, version: str = "") -> None:
        super().__init__(f"section {seq} {why}")
        self.seq = seq
        self.why = why
        self.version = version


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a section begins: its offset in bytes, its number, and the hash of the section before."""

    offset: int = 0
    seq: int = 0
    prev: str = START


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A whole section as bytes; ``names`` are the header's further pairs, in their order."""

    place: Place
    kind: str
    names: Mapping[str, str]
    header: bytes
    body: bytes
    sha256: str

    @property
    def data(self) -> bytes:
        """All bytes of the section."""
        return self.header + self.body + footer(self.place.seq, self.sha256)

    @property
    def after(self) -> Place:
        """Where the next section begins."""
        size = len(self.header) + len(self.body) + len(footer(self.place.seq, self.sha256))
        return Place(offset=self.place.offset + size, seq=self.place.seq + 1, prev=self.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The bytes are the beginning of a section, as far as they go; it needs at least ``count`` of them."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What stands after the last whole section: torn by a crash, or ``broken``."""

    place: Place
    size: int
    broken: Broken | None = None


def frame(place: Place, kind: str, names: Mapping[str, str], body: bytes) -> Frame:
    """The section of these parts. A ``ValueError`` says what the format does not allow."""
    if not body.endswith(b"\n") or len(body) > MAX_BODY:
        raise ValueError(f"a body ends in a newline and has at most {MAX_BODY:,} bytes")
    if len(names) > 12:
        raise ValueError("a header has at most 12 further names")
    for name, value in names.items():
        if not NAME.fullmatch(name) or not re.fullmatch(VALUE, value):
            raise ValueError(f"{name}={value!r} cannot stand in a header: 1 to 80 of A-Z a-z 0-9 _ . : + @ / -")
    pairs = "".join(f" {name}={value}" for name, value in names.items())
    header = f"<!-- pge/1 seq={place.seq} len={len(body)} prev={place.prev} kind={kind}{pairs} -->\n".encode()
    if not HEADER.fullmatch(header):
        raise ValueError(f"kind {kind!r} is not 1 to 24 of a-z")
    return Frame(place=place, kind=kind, names=names, header=header, body=body, sha256=_sha256(header, body))


def footer(seq: int, sha256: str) -> bytes:
    """The footer comment and the empty line after it."""
    return f"<!-- /pge seq={seq} sha256={sha256} -->\n\n".encode()


def take(data: bytes, place: Place, at: int = 0) -> Frame | Missing:
    """The section that begins at ``data[at]``, which is ``place`` in the file.

    ``Missing`` where the data end before the section does; ``Broken`` where they cannot be the beginning of one.
    """
    end_of_header = data.find(b"\n", at, at + MAX_HEADER) + 1
    if not end_of_header:
        start = data[at : at + MAX_HEADER]
        if len(start) == MAX_HEADER or not _may_become_header(start, place):
            raise _fault_of_header(start, place)
        return Missing(count=len(start) + 1)
    header = data[at:end_of_header]
    kind, names, length = _read_header(header, place)
    end_of_body = end_of_header + length
    size = len(header) + length + len(footer(place.seq, START))
    if len(data) < end_of_body:
        return Missing(count=size)
    body = data[end_of_header:end_of_body]
    if not body.endswith(b"\n"):
        raise Broken(place.seq, "is not as long as its header says.")
    digest = _sha256(header, body)
    expected, found = footer(place.seq, digest), data[end_of_body : at + size]
    if not expected.startswith(found):
        raise _fault_of_footer(found, place)
    if len(found) < len(expected):
        return Missing(count=size)
    return Frame(place=place, kind=kind, names=names, header=header, body=body, sha256=digest)


def walk(read: Callable[[int, int], bytes], place: Place, size: int) -> Iterator[Frame | Tail]:
    """The whole sections from ``place`` to the end of a file of ``size`` bytes; last a `Tail`, if anything stands after them.

    ``read(offset, count)`` gives the bytes; never more are asked for than the file has, whatever a header claims.
    """
    window, base, broken = b"", place.offset, None
    while place.offset < size:
        try:
            found = take(window, place, place.offset - base)
        except Broken as error:
            broken = error
            break
        if isinstance(found, Frame):
            yield found
            place = found.after
            continue
        if place.offset + found.count > size:
            break
        base = place.offset
        window = read(base, min(size - base, max(CHUNK, found.count)))
        if len(window) < found.count:  # the file was cut while it was read
            size = base + len(window)
    if place.offset < size:
        tail = read(place.offset, min(size - place.offset, MAX_HEADER + MAX_BODY))
        lost = Broken(place.seq, "is not as long as its header says.")
        yield Tail(place=place, size=size - place.offset, broken=None if is_torn(tail, place) else broken or lost)


def is_torn(tail: bytes, place: Place) -> bool:
    """Whether the bytes after the last whole section are what a crash leaves of an append.

    That is the beginning of a section, and zeros after it where the file's size reached the disk before its content did;
    or whole sectors of zeros, where a later part reached the disk before an earlier one.
    """
    solid = tail.rstrip(b"\0")
    try:
        cut = not solid or isinstance(take(solid, place), Missing)
    except Broken:
        return _has_lost_sectors(tail, place)
    return cut and not _length_lies(solid, place)


def _sha256(header: bytes, body: bytes) -> str:
    digest = hashlib.sha256(header)
    digest.update(body)
    return digest.hexdigest()


def _read_header(header: bytes, place: Place) -> tuple[str, Mapping[str, str], int]:
    match = HEADER.fullmatch(header)
    if not match:
        raise _fault_of_header(header, place)
    seq, length, prev, kind, pairs = (group.decode() for group in match.groups())
    if int(seq) != place.seq:
        raise Broken(place.seq, f"says that it is number {seq}.")
    if prev != place.prev:
        after = "is not the first one" if place.seq == 0 else f"does not follow section {place.seq - 1}"
        raise Broken(place.seq, f"{after}: it names another hash before it.")
    if int(length) > MAX_BODY:
        raise Broken(place.seq, f"claims a length of {length} bytes, more than any section has.")
    listed = [pair.split("=", 1) for pair in pairs.split()]
    names = dict(listed)
    if len(names) < len(listed) or not all(NAME.fullmatch(name) for name in names):
        raise Broken(place.seq, "names something twice in its header.")
    return kind, names, int(length)


def _fault_of_header(line: bytes, place: Place) -> Broken:
    if line.startswith(b"\xef\xbb\xbf"):
        return Broken(place.seq, "begins with a byte order mark: an editor saved the file anew.")
    if line.endswith(b"\r\n"):
        return Broken(place.seq, "has the line ends of Windows (CR LF): the file was converted.")
    other = re.match(rb"<!-- pge/([0-9]{1,9}) ", line)
    if other and other[1] != b"1":
        version = "pge/" + other[1].decode()
        return Broken(place.seq, f"is in the format {version}.", version)
    return Broken(place.seq, "does not begin with a valid header.")


def _fault_of_footer(found: bytes, place: Place) -> Broken:
    if re.match(rb"<!-- /pge seq=%d sha256=[0-9a-f]" % place.seq, found):
        return Broken(place.seq, "was changed: its content does not fit its hash.")
    return Broken(place.seq, "does not end where its header says.")


def _may_become_header(start: bytes, place: Place) -> bool:
    """Whether a line without its newline is the beginning of a valid header at this place."""
    fixed = f"<!-- pge/1 seq={place.seq} len=".encode()
    if not start.startswith(fixed):
        return fixed.startswith(start)
    digits, rest = re.fullmatch(rb"([0-9]*)(.*)", start[len(fixed) :], re.DOTALL).groups()  # type: ignore[union-attr]
    if digits and (digits.startswith(b"0") or int(digits) > MAX_BODY):
        return False
    link = f" prev={place.prev} kind=".encode()
    if not rest.startswith(link):
        return link.startswith(rest) and bool(digits or not rest)
    *whole, last = rest[len(link) :].split(b" ")
    if not whole:
        return re.fullmatch(rb"[a-z]{0,24}", last) is not None
    pairs = whole[1:]
    if not re.fullmatch(rb"[a-z]{1,24}", whole[0]) or not all(WHOLE_PAIR.fullmatch(pair) for pair in pairs):
        return False
    return b"-->".startswith(last) or (len(pairs) < 12 and PART_OF_PAIR.fullmatch(last) is not None)


def _has_lost_sectors(tail: bytes, place: Place) -> bool:
    """A body holds no zero bytes. Runs of them that fill whole sectors were never written; any other is an edit."""
    runs = [(place.offset + run.start(), place.offset + run.end()) for run in re.finditer(rb"\0+", tail)]
    end_of_file = place.offset + len(tail)
    return bool(runs) and all(
        (first % SECTOR == 0 or first == place.offset) and (last % SECTOR == 0 or last == end_of_file)
        for first, last in runs
    )


def _length_lies(cut: bytes, place: Place) -> bool:
    """Whether a section that seems cut is whole, and only its length was changed.

    The proof is a footer whose hash fits once the header holds the true length; text inside a body cannot contain one.
    """
    header, newline, rest = cut.partition(b"\n")
    marks = re.finditer(rb"(?<=\n)<!-- /pge seq=%d sha256=([0-9a-f]{64}) -->\n\n" % place.seq, rest)
    for mark, _ in zip(marks, range(64), strict=False):
        body = rest[: mark.start()]
        honest = re.sub(rb" len=[0-9]+ ", b" len=%d " % len(body), header, count=1) + newline
        if _sha256(honest, body) == mark[1].decode():
            return True
    return False
