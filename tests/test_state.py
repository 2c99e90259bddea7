from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from memory_disk import MemoryDisk
from state_samples import HASH, NOON, ONE_OF_EACH, note, proposal, two_lines, written

from pge_nb import records as r
from pge_nb.errors import BadInput, PgeError, StateDamaged
from pge_nb.framing import MAX_BODY
from pge_nb.state import Head, StateFile, open_run

# Appending and reading


def test_what_was_appended_is_what_another_reader_finds(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    appended = [section for record in ONE_OF_EACH for section in state.append(record)]
    assert list(state.read().sections) == appended
    assert list(open_run(tmp_path).sections) == appended
    assert [section.record.kind for section in appended] == list(r.KINDS)


def test_a_payload_is_kept_as_it_was_given(tmp_path: Path) -> None:
    run = open_run(written(tmp_path, *ONE_OF_EACH, at_once=True))
    for section, record in zip(run.sections, ONE_OF_EACH, strict=True):
        assert section.payload == record.payload


def test_the_same_run_grows(tmp_path: Path) -> None:
    state, other = StateFile(tmp_path / "shared_state.md"), StateFile(tmp_path / "shared_state.md")
    run = state.read()
    assert run.sections == []
    other.append(note("a"))
    assert state.read() is run
    state.append(note("b"))
    other.append(note("c"))
    assert [section.payload for section in state.read().sections] == [r.Note(text=text) for text in "abc"]
    assert state.read() is run
    assert run.root == tmp_path


def test_an_append_takes_in_first_what_others_appended(tmp_path: Path) -> None:
    state, other = StateFile(tmp_path / "shared_state.md"), StateFile(tmp_path / "shared_state.md")
    for number in range(6):
        (section,) = (state, other)[number % 2].append(proposal(number))
        assert section.seq == number
        assert section.record.round == number + 1
    assert other.verify().sections == 6
    assert other.verify().head == other.read().head


def test_several_records_are_appended_in_one_write(tmp_path: Path) -> None:
    disk = MemoryDisk()
    StateFile(tmp_path / "shared_state.md", disk=disk).append(note("a"), note("b"), proposal())
    assert len(disk.heads) == 2


def test_appending_nothing_makes_no_file(tmp_path: Path) -> None:
    assert StateFile(tmp_path / "shared_state.md").append() == ()
    assert not (tmp_path / "shared_state.md").exists()


def test_rounds_count_sections_of_equal_kind_step_attempt_and_purpose(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    report = ONE_OF_EACH[6].payload

    def rated(attempt: int, purpose: r.Purpose) -> r.Record:
        return r.Record(payload=report, by="evaluator", step=1, attempt=attempt, purpose=purpose)

    records = [proposal(), note(), proposal(), proposal(step=2), rated(1, "gate"), rated(1, "gate"), rated(1, "kept")]
    records += [rated(2, "gate"), note()]
    rounds = [section.record.round for section in state.append(*records)]
    assert rounds == [1, 1, 2, 1, 1, 2, 1, 1, 2]
    (again,) = StateFile(tmp_path / "shared_state.md").append(proposal())
    assert again.record.round == 3


def test_a_round_that_is_given_is_kept(tmp_path: Path) -> None:
    record = r.Record(payload=r.Note(text="x"), by="harness", round=7)
    (section,) = StateFile(tmp_path / "shared_state.md").append(record)
    assert section.record == record
    assert open_run(tmp_path).sections[0].record == record


def test_the_time_is_utc_whatever_the_clock_says(tmp_path: Path) -> None:
    tokyo = datetime(2026, 12, 1, 9, 30, tzinfo=timezone(timedelta(hours=9)))
    (section,) = StateFile(tmp_path / "shared_state.md", clock=lambda: tokyo).append(note())
    assert section.at == "2026-12-01T00:30:00.000Z"
    assert datetime.fromisoformat(section.at).astimezone(UTC) == tokyo


def test_every_string_is_redacted_before_it_is_written(tmp_path: Path) -> None:
    secret = "sk-very-secret-0001"
    state = StateFile(tmp_path / "shared_state.md", redact=lambda text: text.replace(secret, "[redacted]"))
    settings: dict[str, object] = {secret: [secret, {"deep": f"x {secret}"}], "n": 1}
    task = r.Task(prompt=f"use {secret}", run="0" * 16, settings=settings)  # type: ignore[arg-type]
    (section,) = state.append(r.Record(payload=task, by="person"))
    assert secret.encode() not in (tmp_path / "shared_state.md").read_bytes()
    assert section.payload == open_run(tmp_path).sections[0].payload
    assert isinstance(section.payload, r.Task)
    assert section.payload.settings == {"[redacted]": ["[redacted]", {"deep": "x [redacted]"}], "n": 1}


def test_only_what_the_harness_says_itself_is_redacted_as_such(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md", redact_own=lambda text: text.replace("/home/ada", "~"))
    task = r.Task(prompt="read /home/ada/x", run="0" * 16, settings={})
    stopped = r.Interruption(reason="/home/ada/x could not be read.")
    for payload in (task, stopped):
        state.append(r.Record(payload=payload, by="harness"))
    first, last = open_run(tmp_path).sections
    assert first.payload == task
    assert last.payload == r.Interruption(reason="~/x could not be read.")


def test_halves_of_characters_come_back_as_they_are_told(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    (section,) = state.append(note("\ud83d\ude00 \ud83d \ude00"))
    assert section.payload == r.Note(text="😀 \ud83d \ude00") == open_run(tmp_path).sections[0].payload


@pytest.mark.parametrize(
    "record",
    [
        r.Record(payload=r.Note(text="x"), by="two words"),
        r.Record(payload=r.Note(text="x"), by=""),
        r.Record(payload=r.Note(text="x"), by="harness", step=-1),
        r.Record(payload=r.Note(text=None), by="harness"),  # type: ignore[arg-type]
        r.Record(payload=r.Decision(action="win", reason=""), by="harness"),  # type: ignore[arg-type]
        r.Record(payload=r.Decision(action="keep", reason="", numbers={"x": float("nan")}), by="harness"),
        r.Record(payload=r.Note(text="x" * (MAX_BODY // 2)), by="harness"),
    ],
    ids=["by", "empty by", "step", "type", "word", "nan", "long"],
)
def test_a_record_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path, record: r.Record) -> None:
    path = written(tmp_path, note())
    before = path.read_bytes()
    with pytest.raises(BadInput) as error:
        StateFile(path).append(note("first"), record)
    two_lines(error.value)
    assert path.read_bytes() == before


def test_appending_costs_the_same_in_a_short_file_and_in_a_long_one(tmp_path: Path) -> None:
    disk = MemoryDisk()
    state = StateFile(tmp_path / "shared_state.md", disk=disk)
    costs = []
    for size in (10, 5_000):
        state.append(*(proposal(step=number) for number in range(size)))
        read, wrote = disk.bytes_read, disk.bytes_written
        state.append(proposal(step=10_000 + size))
        costs.append((disk.bytes_read - read, disk.bytes_written - wrote))
    assert costs[0][0] == costs[1][0] == 0
    assert costs[1][1] - costs[0][1] <= 8  # numbers have more digits


def test_reading_again_reads_only_what_was_appended(tmp_path: Path) -> None:
    disk = MemoryDisk()
    state, other = (StateFile(tmp_path / "shared_state.md", disk=disk) for _ in range(2))
    state.append(*(proposal(step=number) for number in range(500)))
    other.read()
    size, read = disk.size(), disk.bytes_read
    state.append(note())
    other.read()
    assert disk.bytes_read - read == disk.size() - size
    other.read()
    assert disk.bytes_read - read == disk.size() - size


def test_threads_that_share_a_state_file_lose_nothing(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    threads = [
        threading.Thread(target=lambda step=step: [state.append(proposal(n, step=step)) for n in range(20)])
        for step in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run = open_run(tmp_path)
    for step in range(4):
        assert [section.record.round for section in run.of("proposal", step)] == list(range(1, 21))
    assert state.verify().intact


# Torn tails


def test_a_torn_tail_is_left_alone_by_readers_and_moved_aside_whole_by_a_writer(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"), note("b"))
    whole = path.read_bytes()
    torn = written_bytes(tmp_path / "elsewhere", note("c"))[:100].replace(b"seq=0", b"seq=2")
    torn = torn.replace(b"prev=" + b"0" * 64, b"prev=" + open_run(path).head.encode())
    path.write_bytes(whole + torn)
    assert len(open_run(path).sections) == 2
    assert StateFile(path).verify().torn == 100
    assert path.read_bytes() == whole + torn
    (section,) = StateFile(path).append(note("d"))
    assert section.seq == 3
    assert (tmp_path / ".pge" / "torn-1.md").read_bytes() == torn
    told = open_run(path).sections[2]
    assert told.record.by == "harness"
    assert told.payload == r.Note(
        text="The file ended in 100 bytes of a section that was never finished, as after a crash. "
        "It was moved to .pge/torn-1.md; the run goes on from the last whole section."
    )
    assert path.read_bytes().startswith(whole)
    assert StateFile(path).verify().intact


def written_bytes(directory: Path, *records: r.Record) -> bytes:
    directory.mkdir()
    return written(directory, *records).read_bytes()


def test_each_torn_tail_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "shared_state.md"
    for number in (1, 2, 3):
        with path.open("ab") as file:
            file.write(b"\0" * number)
        StateFile(path).append(note())
    assert [(tmp_path / ".pge" / f"torn-{number}.md").stat().st_size for number in (1, 2, 3)] == [1, 2, 3]
    assert StateFile(path).verify().sections == 6


def test_a_reader_goes_on_after_another_process_moved_the_tail_aside(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"))
    with path.open("ab") as file:
        file.write(b"<!-- pge/1 seq=1 ")
    reader = StateFile(path)
    assert len(reader.read().sections) == 1
    StateFile(path).append(note("b"))
    assert len(reader.read().sections) == 3


def test_a_torn_tail_is_told_even_if_the_disk_is_full_at_first(tmp_path: Path) -> None:
    disk = MemoryDisk(b"<!-- pge/1 seq=0")
    state = StateFile(tmp_path / "shared_state.md", disk=disk)
    with pytest.raises(BadInput):
        state.append(r.Record(payload=r.Note(text="x"), by="two words"))
    assert disk.asides == []
    disk.room = 0
    with pytest.raises(PgeError, match="Nothing of it was left"):
        state.append(note("a"))
    disk.room = None
    state.append(note("b"))
    assert disk.asides == [b"<!-- pge/1 seq=0"]
    assert ["16 bytes" in str(section.payload) for section in state.read().sections] == [True, False]


# Damage and the note beside the file


@pytest.mark.parametrize("beside", [True, False], ids=["with the note", "without it"])
def test_a_damaged_section_is_named_and_nothing_after_it_is_read(tmp_path: Path, beside: bool) -> None:
    path = written(tmp_path, *map(note, "abcd"))
    path.write_bytes(path.read_bytes().replace(b"\nc\n", b"\nx\n"))
    if not beside:
        (tmp_path / ".pge" / "head").unlink()
    for attempt in range(2):
        state = StateFile(path)
        with pytest.raises(StateDamaged) as error:
            state.append(note()) if attempt else state.read()
        assert two_lines(error.value)[0].startswith(f"Section 2 of {path} was changed")
    found = StateFile(path).verify()
    assert (found.sections, found.broken, found.intact) == (2, 2, False)
    assert found.why == "was changed: its content does not fit its hash."


def test_a_last_section_that_was_acknowledged_and_is_cut_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"), note("b"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StateDamaged, match=r"Section 1 of .* is cut off, though it was written whole"):
        open_run(path)
    assert StateFile(path).verify().broken == 1
    (tmp_path / ".pge" / "head").unlink()
    assert len(open_run(path).sections) == 1


def test_an_acknowledged_section_that_is_gone_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"))
    before = path.read_bytes()
    state = StateFile(path)
    state.append(note("b"))
    for older in (before, b""):
        path.write_bytes(older)
        with pytest.raises(StateDamaged, match="is gone"):
            open_run(path)
        with pytest.raises(StateDamaged, match="is gone"):
            state.read()
        found = StateFile(path).verify()
        assert "is gone" in found.why
        assert not found.intact
    path.unlink()
    with pytest.raises(StateDamaged):
        StateFile(path).read()


def test_a_file_whose_last_section_was_rewritten_whole_is_damage(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"), note("b"))
    (tmp_path / "forged").mkdir()
    path.write_bytes(written(tmp_path / "forged", note("a"), note("B")).read_bytes())
    with pytest.raises(StateDamaged, match=r"hash differs from the note in \.pge/head") as error:
        open_run(path)
    assert "delete .pge/head" in two_lines(error.value)[1]
    assert StateFile(path).verify().broken == 1


@pytest.mark.parametrize("note_beside", [b"", b"\0" * 150, b"seq=99", None, "flip"])
def test_a_note_that_lags_or_cannot_be_read_is_legal(tmp_path: Path, note_beside: bytes | str | None) -> None:
    path = written(tmp_path, note("a"))
    head = tmp_path / ".pge" / "head"
    old = head.read_bytes()
    StateFile(path).append(note("b"))
    head.write_bytes(old if note_beside is None else note_beside if isinstance(note_beside, bytes) else b"9" + old[1:])
    assert len(open_run(path).sections) == 2
    assert StateFile(path).verify().intact
    StateFile(path).append(note("c"))
    assert Head.of(head.read_bytes()) == Head(seq=2, sha256=open_run(path).head)


def test_a_flipped_bit_in_the_note_is_an_unreadable_note() -> None:
    whole = Head(seq=12, sha256=HASH).note()
    assert Head.of(whole) == Head(seq=12, sha256=HASH)
    for index in range(len(whole)):
        for bit in range(8):
            assert Head.of(whole[:index] + bytes([whole[index] ^ 1 << bit]) + whole[index + 1 :]) is None


def test_notes_are_of_equal_length() -> None:
    assert len(Head(seq=0, sha256=HASH).note()) == len(Head(seq=10**14, sha256=HASH).note())


@pytest.mark.parametrize(
    ("old", "new", "error", "fact", "move"),
    [
        (b"pge/1", b"pge/2", BadInput, "is in the format pge/2", "Install a newer pge_nb"),
        (b"\n", b"\r\n", StateDamaged, "the line ends of Windows", "Restore the file from a copy"),
        (b"kind=note", b"kind=poem", StateDamaged, "was changed", "Restore the file from a copy"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(
    tmp_path: Path, old: bytes, new: bytes, error: type[PgeError], fact: str, move: str
) -> None:
    path = written(tmp_path, note())
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(error) as raised:
        open_run(path)
    lines = two_lines(raised.value)
    assert fact in lines[0]
    assert move in lines[1]
    assert StateFile(path).verify().broken == 0


def test_a_whole_section_of_an_unknown_kind_is_not_called_damaged(tmp_path: Path) -> None:
    from pge_nb.framing import Place, frame

    path = tmp_path / "shared_state.md"
    path.write_bytes(frame(Place(), "poem", {"by": "bard"}, b"## Poem\n\n```json\n{}\n```\n").data)
    with pytest.raises(BadInput, match="is whole, but not understood: there is no kind 'poem'"):
        open_run(path)


def test_a_file_of_somebody_else_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "shared_state.md"
    path.write_text("# My own notes\n", encoding="utf-8")
    with pytest.raises(StateDamaged, match="does not begin with a valid header"):
        StateFile(path).append(note())
    assert path.read_text(encoding="utf-8") == "# My own notes\n"


# Disks that fail


@pytest.mark.parametrize("room", [0, 1, 200, 400])
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, room: int) -> None:
    disk = MemoryDisk()
    state, other = (StateFile(tmp_path / "shared_state.md", disk=disk) for _ in range(2))
    state.append(note("a"))
    before, disk.room = bytes(disk.seen), room
    with pytest.raises(PgeError, match="Nothing of it was left in the file") as error:
        state.append(note("b"), note("c"))
    assert "Free some space" in two_lines(error.value)[1]
    assert bytes(disk.seen) == disk.durable == before
    disk.room = None
    assert [section.seq for section in other.append(note("d"))] == [1]
    assert len(state.read().sections) == 2


def test_a_sync_that_fails_is_no_acknowledgement(tmp_path: Path) -> None:
    disk = MemoryDisk()
    state = StateFile(tmp_path / "shared_state.md", disk=disk)
    state.append(note("a"))
    disk.fsync_fails = True
    with pytest.raises(PgeError, match="Input/output error"):
        state.append(note("b"))
    assert len(StateFile(tmp_path / "shared_state.md", disk=disk).read().sections) == 1


def test_a_note_that_cannot_be_written_does_not_undo_an_append(tmp_path: Path) -> None:
    path = written(tmp_path, note("a"))
    head = tmp_path / ".pge" / "head"
    head.unlink()
    head.mkdir()
    assert len(StateFile(path).append(note("b"))) == 1
    assert len(open_run(path).sections) == 2


def test_the_clock_of_the_samples_is_the_one_in_the_file(tmp_path: Path) -> None:
    assert open_run(written(tmp_path, note())).sections[0].at == NOON.isoformat(timespec="milliseconds").replace(
        "+00:00", "Z"
    )
