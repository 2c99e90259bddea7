"""Crashes, full disks, damage, and several writers: no acknowledged section is lost, nothing wrong is accepted."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from memory_disk import Crash, MemoryDisk
from state_samples import NOON, note, proposal, written

import pge_nb
from pge_nb import records as r
from pge_nb.errors import PgeError, StateDamaged
from pge_nb.state import StateFile, open_run

ENVIRON = {**os.environ, "PYTHONPATH": str(Path(pge_nb.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
SMALL = (note("a"), proposal(1), note("c"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[int], list[bytes]]:
    """A file of three sections: its bytes, where each section ends, and the note after each append."""
    directory = tmp_path_factory.mktemp("small")
    ends, heads = [], [b""]
    for count in range(1, len(SMALL) + 1):
        (directory / str(count)).mkdir()
        path = written(directory / str(count), *SMALL[:count])
        ends.append(path.stat().st_size)
        heads.append((path.parent / ".pge" / "head").read_bytes())
    return path.read_bytes(), ends, heads


def on(data: bytes, head: bytes = b"") -> StateFile:
    return StateFile("shared_state.md", disk=MemoryDisk(data, head), clock=lambda: NOON)


@pytest.mark.parametrize("zeros", [0, 1, 600])
def test_every_prefix_cut_recovers_and_goes_on(small: tuple[bytes, list[int], list[bytes]], zeros: int) -> None:
    data, ends, heads = small
    for cut in range(len(data) + 1):
        whole = sum(end <= cut for end in ends)
        torn = cut + zeros - (ends[whole - 1] if whole else 0)
        state = on(data[:cut] + b"\0" * zeros, heads[whole])
        assert len(state.read().sections) == whole
        assert (state.verify().intact, state.verify().torn) == (True, torn)
        state.append(note("after"))
        kinds = [section.record.payload for section in state.read().sections][whole:]
        assert len(kinds) == (2 if torn else 1)
        assert kinds[-1] == r.Note(text="after")
        assert isinstance(state.disk, MemoryDisk)
        assert [len(aside) for aside in state.disk.asides] == ([torn] if torn else [])
        assert state.verify().intact


def test_every_cut_of_what_was_acknowledged_is_damage(small: tuple[bytes, list[int], list[bytes]]) -> None:
    data, ends, heads = small
    for cut in range(len(data)):
        with pytest.raises(StateDamaged) as error:
            on(data[:cut], heads[-1]).read()
        assert error.value.fact.startswith(f"Section {sum(end <= cut for end in ends)} of ")


@pytest.mark.parametrize("acknowledged", [0, 2, 3], ids=["no note", "lagging", "current"])
def test_every_flipped_bit_is_damage_and_no_value_is_changed(
    small: tuple[bytes, list[int], list[bytes]], acknowledged: int
) -> None:
    data, ends, heads = small
    sections = list(on(data).read().sections)
    for index in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[index] ^= 1 << bit
            state = on(bytes(flipped), heads[acknowledged])
            with pytest.raises(PgeError):
                state.read()
            damaged = sum(end <= index for end in ends)
            assert list(state._run.sections) == sections[:damaged]


def test_real_files_recover_from_cuts_and_zeros(tmp_path: Path, small: tuple[bytes, list[int], list[bytes]]) -> None:
    data, ends, _ = small
    for cut in range(0, len(data), 37):
        directory = tmp_path / str(cut)
        directory.mkdir()
        path = directory / "shared_state.md"
        path.write_bytes(data[:cut] + b"\0" * (cut % 3))
        StateFile(path).append(note("after"))
        run = open_run(path)
        assert run.sections[-1].payload == r.Note(text="after")
        assert StateFile(path).verify().intact
        whole = ends[sum(end <= cut for end in ends) - 1] if cut >= ends[0] else 0
        assert path.read_bytes().startswith(data[:whole])
        asides = list((directory / ".pge").glob("torn-*.md"))
        assert [aside.read_bytes() for aside in asides] == (
            [data[whole:cut] + b"\0" * (cut % 3)] if cut % 3 or cut > whole else []
        )


# A limit on the size of files, in a child of its own


LIMITED = """
import resource, sys
from pge_nb.records import Note, Record
from pge_nb.state import StateFile
from pge_nb.errors import PgeError
state = StateFile(sys.argv[1])
size = state.path.stat().st_size
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + int(sys.argv[2]), hard))
try:
    state.append(Record(payload=Note(text="x" * 9_000), by="harness"))
except PgeError as error:
    print(error)
assert state.path.stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
state.append(Record(payload=Note(text="after"), by="harness"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on Windows")
@pytest.mark.parametrize("room", [0, 1, 5_000])
def test_a_limit_on_file_sizes_leaves_nothing_half_written(tmp_path: Path, room: int) -> None:
    path = written(tmp_path, note("before"))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, str(room)], capture_output=True, text=True, check=False, env=ENVIRON
    )
    assert (done.returncode, done.stderr) == (0, "")
    fact, move = done.stdout.strip().split("\n")
    assert "could not be extended" in fact
    assert "goes on from the last section" in move
    texts = [section.payload for section in open_run(path).sections]
    assert texts == [r.Note(text="before"), r.Note(text="after")]


# Several processes


WRITER = """
import os, sys, time
from pge_nb.records import Proposal, Record
from pge_nb.state import StateFile
state, step, count = StateFile(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.write(1, b"ready\\n")
os.read(0, 1)
for number in range(count):
    group = [Record(payload=Proposal(deliverables=(f"{number}.{part}",), checks=()), by="generator", step=step)
             for part in range(number % 3 + 1)]
    for section in state.append(*group):
        os.write(1, f"{section.seq} {section.sha256}\\n".encode())
    time.sleep(0.002)  # as between two phases: the lock is not fair to one who asks again at once
"""


def start_writers(path: Path, count: int) -> list[subprocess.Popen[bytes]]:
    """Two of them, which begin at the same moment."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(step), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRON,
            bufsize=0,
        )
        for step in (1, 2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.read(6) == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"!")
    return writers


def acknowledged(writer: subprocess.Popen[bytes]) -> list[tuple[int, str]]:
    output, _ = writer.communicate()
    lines = output.decode().split("\n")[:-1]  # the last one may be cut, or is empty
    return [(int(line.split()[0]), line.split()[1]) for line in lines]


def test_two_kernels_interleave_whole_sections_and_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "shared_state.md"
    writers = start_writers(path, 60)
    told = [acknowledged(writer) for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0]
    run = open_run(path)
    assert sorted(told[0] + told[1]) == [(section.seq, section.sha256) for section in run.sections]
    for step in (1, 2):
        assert [section.record.round for section in run.of("proposal", step)] == list(range(1, len(told[0]) + 1))
    steps = [section.record.step for section in run.sections]
    assert sum(left != right for left, right in itertools.pairwise(steps)) > 2


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_writers_killed_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "shared_state.md"
    moments = random.Random(5)
    told: list[tuple[int, str]] = []
    for _ in range(5):
        writers = start_writers(path, 10**6)
        for writer in writers:
            time.sleep(moments.uniform(0, 0.15))
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            told += acknowledged(writer)
        run = open_run(path)
        there = {(section.seq, section.sha256) for section in run.sections}
        assert set(told) <= there
        assert StateFile(path).verify().intact
    assert len(told) > 20


# Everything that can happen to a disk, in any order


class Machine(RuleBasedStateMachine):
    """Two kernels on one file, on a disk that fails and loses power."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk()
        self.count = 0
        self.sure: list[str] = []

    @initialize()
    def open(self) -> None:
        self.kernels = [self.kernel(), self.kernel()]

    def kernel(self) -> StateFile:
        return StateFile("shared_state.md", disk=self.disk, clock=lambda: NOON)

    def batch(self, sizes: list[int]) -> tuple[list[r.Record], list[str]]:
        names = [f"{self.count + number}{'x' * size}" for number, size in enumerate(sizes)]
        self.count += len(names)
        records = [
            r.Record(payload=r.Proposal(deliverables=(name,), checks=()), by="generator", step=1) for name in names
        ]
        return records, names

    @staticmethod
    def told(state: StateFile) -> list[str]:
        found = [section.payload for section in state.read().of("proposal", 1)]
        return [payload.deliverables[0] for payload in found if isinstance(payload, r.Proposal)]

    sizes = st.lists(st.integers(0, 900), min_size=1, max_size=3)
    who = st.integers(0, 1)

    @rule(who=who, sizes=sizes)
    def append(self, who: int, sizes: list[int]) -> None:
        records, names = self.batch(sizes)
        assert len(self.kernels[who].append(*records)) == len(names)
        self.sure += names

    @rule(who=who)
    def read(self, who: int) -> None:
        assert self.told(self.kernels[who]) == self.sure

    @rule(who=who, sizes=sizes, room=st.integers(0, 900))
    def append_to_a_full_disk(self, who: int, sizes: list[int], room: int) -> None:
        records, names = self.batch(sizes)
        self.disk.room = room
        try:
            self.kernels[who].append(*records)
        except PgeError:
            pass
        else:
            self.sure += names
        self.disk.room = None

    @rule(who=who, sizes=sizes)
    def append_with_a_sync_that_fails(self, who: int, sizes: list[int]) -> None:
        self.disk.fsync_fails = True
        with pytest.raises(PgeError):
            self.kernels[who].append(*self.batch(sizes)[0])
        self.disk.fsync_fails = False

    points = st.sampled_from(
        [
            "before the write",
            "after the write",
            "after the write",
            "after the write",
            "after the sync",
            "before the cut",
            "after the cut",
            "before setting aside",
            "after setting aside",
        ]
    )

    def crash(self, who: int, sizes: list[int], point: str) -> list[str]:
        """What was under way when the kernel ended."""
        records, names = self.batch(sizes)
        self.disk.crash_at = point
        try:
            self.kernels[who].append(*records)
        except Crash:
            return names
        self.disk.crash_at = None
        self.sure += names
        return []

    def take_stock(self, under_way: list[str]) -> None:
        """Of what was under way any beginning may have survived; of what was sure, all."""
        now = self.told(self.kernels[0])
        assert now[: len(self.sure)] == self.sure
        rest = now[len(self.sure) :]
        assert rest == under_way[: len(rest)]
        self.sure = now

    @rule(who=who, sizes=sizes, point=points)
    def kill_a_kernel(self, who: int, sizes: list[int], point: str) -> None:
        under_way = self.crash(who, sizes, point)
        self.kernels[who] = self.kernel()
        self.take_stock(under_way)
        self.disk.durable = bytes(self.disk.seen)  # the system lives on and writes back in time

    @rule(
        who=who,
        sizes=sizes,
        point=points,
        lost=st.lists(st.booleans(), max_size=8),
        size=st.one_of(st.just(1.0), st.floats(0, 1)),
        head=st.integers(0, 10**6),
    )
    def lose_power(self, who: int, sizes: list[int], point: str, lost: list[bool], size: float, head: int) -> None:
        under_way = self.crash(who, sizes, point)
        self.disk.lose_power(lost, size, head)
        self.kernels = [self.kernel(), self.kernel()]
        self.take_stock(under_way)

    @rule(who=who)
    def verify(self, who: int) -> None:
        assert self.kernels[who].verify().intact


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=250, stateful_step_count=25, deadline=None)
