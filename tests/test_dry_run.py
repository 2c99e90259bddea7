"""``--dry-run``: what is shown is, to the byte, what is sent next; and nothing at all comes of looking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted
from IPython.core.error import UsageError
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell

from pge_nb.commands.here import Here
from pge_nb.completing import Around, offered
from pge_nb.display import Verbatim, View
from pge_nb.errors import ModelFailed
from pge_nb.models import NONCE
from pge_nb.state import open_run

PRACTICE = "%pge run --practice stats --seed 2"
LIVE = f"%%pge run --model {scripted.MODEL}"
TASK = f"{LIVE}\n{scripted.PROMPT}"
DRY = f"{LIVE} --dry-run\n{scripted.PROMPT}"


def everything(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a directory with its bytes and its time, every directory with none."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes() if path.is_file() else b"", path.lstat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.suffix != ".lock" and path.name not in {".pge", "earlier"}  # looking takes the lock that reading takes
    }


def cut_at(root: Path, offset: int) -> None:
    """Leave a state file as it was before the section at ``offset``: its process was killed there."""
    state = root / "shared_state.md"
    state.write_bytes(state.read_bytes()[:offset])
    for note in (root / ".pge").glob("*head*"):
        note.unlink()


def texts(view: View) -> dict[str, str]:
    """The verbatim texts of a view by what follows "role, phase: " in their labels."""
    return {
        block.label.partition(": ")[2]: block.text
        for block in view.blocks
        if isinstance(block, Verbatim) and block.text
    }


def of_system(request: dict[str, Any]) -> str:
    system = request["system"]
    return system if isinstance(system, str) else "".join(block["text"] for block in system)


def same_as_sent(view: View, request: dict[str, Any]) -> bool:
    """Whether a view shows the system prompt and the one message that were sent, with PGE-NONCE for the nonce."""
    shown, (message,) = texts(view), request["messages"]
    first, *rest = re.escape(shown["user"]).split(re.escape(NONCE))
    pattern = first + "(\\w+)" + "\\1".join(rest) if rest else first
    return shown["system"] == of_system(request) and re.fullmatch(pattern, message["content"]) is not None


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    with MessagesStub(scripted.scripted(), count=lambda _: 4321) as opened:
        for name, value in opened.environ.items():
            monkeypatch.setenv(name, value)
        yield opened


# A run that is not begun


def test_the_planners_request_is_shown_and_is_the_one_that_is_sent_then(
    shell: Shell, stub: MessagesStub, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("mine")
    before = everything(tmp_path)
    view = shell.cell(DRY).view
    assert stub.requests == stub.counted == []
    assert everything(tmp_path) == before
    assert "notes.txt (4 bytes)" in texts(view)["user"]
    assert "This task is not begun" in view.plain()
    assert shell.cell(TASK).error is None
    assert same_as_sent(view, stub.requests[0])
    request = next(call for call in open_run(tmp_path).calls if call.role == "planner")
    assert f"hash {request.id.rpartition(':')[2]}" in view.plain()


def test_a_named_task_gets_no_place_and_commands_stay_about_the_other(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{PRACTICE};")
    title = shell.cell("%pge").view.title
    view = shell.cell("%pge run roman --practice roman --dry-run").view
    assert "Roman" in texts(view)["user"]
    assert view.next == "%pge run roman --practice roman"
    assert not (tmp_path / "roman").exists()
    assert shell.cell("%pge").view.title == title


def test_where_another_task_stands_nothing_moves_and_its_files_are_not_taken_for_this_ones(
    shell: Shell, tmp_path: Path
) -> None:
    shell.cell(f"{PRACTICE};")
    before = everything(tmp_path)
    assert list((tmp_path / "work").iterdir())
    view = shell.cell("%pge run --practice roman --dry-run").view
    assert everything(tmp_path) == before
    assert "would move whole to earlier/" in view.plain()
    assert "Files in the working directory" not in texts(view)["user"]
    shell.cell("%pge run --practice roman;")
    shown = texts(shell.cell("%pge show prompt planner").view)
    assert shown == texts(view)


def test_what_could_not_be_begun_is_refused_as_it_would_be(shell: Shell, tmp_path: Path) -> None:
    ran = shell.cell("%%pge run --dry-run --model practice\nWrite a compiler.")
    assert "only plays the tasks of its bank" in ran.text
    assert list(tmp_path.iterdir()) == []


# A run that is begun


@pytest.mark.parametrize("calls", range(1, 9))
def test_at_every_stop_the_next_request_is_the_one_that_is_shown(
    shell: Shell, stub: MessagesStub, tmp_path: Path, calls: int
) -> None:
    shell.cell(f"%config PGE.max_calls = {calls}")
    shell.cell(TASK)
    assert len(stub.requests) == calls
    before = everything(tmp_path)
    view = shell.cell("%pge resume --dry-run").view
    assert everything(tmp_path) == before
    assert len(stub.requests) == calls
    shell.cell("%config PGE.max_calls = 100")
    shell.cell("%pge resume;")
    assert same_as_sent(view, stub.requests[calls])
    ids = [call.id for call in open_run(tmp_path).calls]
    assert f"hash {ids[calls].rpartition(':')[2]}" in view.plain()


def test_neither_what_reviews_see_for_it_nor_a_limit_that_it_would_raise_is_written(
    shell: Shell, tmp_path: Path
) -> None:
    for line in ("%pge plan --practice stats --seed 2;", "%pge contract 1;", "%pge generate 1;"):
        assert shell.cell(line).error is None
    before = everything(tmp_path)
    view = shell.cell("%pge resume --dry-run --max-retries 7").view
    assert "evaluator, evaluate 1.1: model" in view.plain()
    assert everything(tmp_path) == before
    shell.cell("%pge resume;")
    asked = [call for call in open_run(tmp_path).calls if call.role == "evaluator" and "/evaluate/1/1/" in call.id]
    assert f"hash {asked[0].id.rpartition(':')[2]}" in view.plain()


def test_a_run_in_earlier_is_met_and_stays_there(shell: Shell, stub: MessagesStub, tmp_path: Path) -> None:
    shell.cell("%config PGE.max_calls = 2")
    shell.cell(TASK)
    shell.cell("%pge run --practice roman;")
    before, sent = everything(tmp_path), len(stub.requests)
    view = shell.cell(DRY).view
    assert everything(tmp_path) == before
    assert "stands in @1, and would be reopened from there" in view.plain()
    assert "evaluator, respond 1: model" in view.plain()
    assert len(stub.requests) == sent


def test_a_finished_run_would_ask_nobody(shell: Shell) -> None:
    shell.cell(f"{PRACTICE};")
    for line in ("%pge resume --dry-run", f"{PRACTICE} --dry-run"):
        assert "Nobody would be asked" in shell.cell(line).view.plain()


def test_a_reply_that_is_in_the_log_already_is_said_to_be_unpaid(
    shell: Shell, stub: MessagesStub, tmp_path: Path
) -> None:
    shell.cell("%config PGE.max_calls = 1")
    shell.cell(TASK)
    view = shell.cell("%pge resume --dry-run").view
    assert "unpaid" not in view.plain()
    plan = next(section for section in open_run(tmp_path).sections if section.record.kind == "plan")
    cut_at(tmp_path, plan.offset)
    view = shell.cell("%pge resume --dry-run").view
    assert "planner, plan: model" in view.plain()
    assert "taken from there, unpaid" in view.plain()


@pytest.mark.parametrize("kind", ["contract", "decision"])
def test_what_the_harness_does_by_itself_before_it_asks_is_done_for_the_look(
    shell: Shell, tmp_path: Path, kind: str
) -> None:
    shell.cell(f"{PRACTICE};")
    run = open_run(tmp_path)
    cut = next(section for section in run.sections if section.record.kind == kind)
    asked = next(made[0].id for s in run.sections[cut.seq :] if (made := getattr(s.payload, "calls", ())))
    (tmp_path / ".pge" / "calls.jsonl").unlink()
    cut_at(tmp_path, cut.offset)
    before = everything(tmp_path)
    assert f"hash {asked.rpartition(':')[2]}" in shell.cell("%pge resume --dry-run").view.plain()
    assert everything(tmp_path) == before


# Counting


def test_counting_asks_the_server_with_what_would_be_sent_and_costs_nothing(
    shell: Shell, stub: MessagesStub, tmp_path: Path
) -> None:
    view = shell.cell(DRY.replace("--dry-run", "--dry-run=count")).view
    assert "The server counts 4,321 tokens of input" in view.plain()
    assert stub.requests == []
    assert list(tmp_path.iterdir()) == []
    shell.cell(TASK)
    wanted = {name: value for name, value in stub.requests[0].items() if name not in {"max_tokens", "stream"}}
    assert stub.counted == [wanted]


def test_what_counting_cost_in_dollars_is_told_where_there_is_a_price(shell: Shell, stub: MessagesStub) -> None:
    view = shell.cell(f"%%pge run --model claude-sonnet-5-5 --dry-run=count\n{scripted.PROMPT}").view
    assert "tokens of input, 0.0" in view.plain()
    assert len(stub.counted) == 1


def test_an_extra_that_the_counting_refuses_is_left_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(request: dict[str, Any]) -> StubReply | int:
        if not isinstance(request["system"], str):
            return StubReply(status=400, error="invalid_request_error", message="cache_control is not known")
        return 7

    with MessagesStub(count=picky) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        assert "counts 7 tokens" in shell.cell(DRY.replace("--dry-run", "--dry-run=count")).view.plain()
        assert len(stub.counted) == 2


@pytest.mark.parametrize("answer", [None, lambda _: StubReply(raw=b"{}")])
def test_a_server_that_does_not_count_says_so_in_two_lines(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    with MessagesStub(count=answer) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        error = shell.cell(DRY.replace("--dry-run", "--dry-run=count")).error
    assert isinstance(error, ModelFailed)
    assert "counts no tokens for stub-model" in error.fact
    assert error.next_move.startswith("--dry-run")


def test_without_a_server_the_bound_by_bytes_is_told(shell: Shell, stub: MessagesStub) -> None:
    recording = Path(__file__).parents[1] / "examples" / "recordings" / "basket.jsonl"
    for line in (
        f"{PRACTICE} --dry-run=count",
        f"%%pge run --model recording:{recording} --dry-run=count\n{basket(recording)}",
    ):
        shown = shell.cell(line).view.plain()
        assert "bytes of input and at most" in shown
        assert "There is no server that counts tokens" in shown
    assert stub.counted == []


def basket(recording: Path) -> str:
    from pge_nb.models.replay import Replay

    return str(Replay(recording).header["prompt"])


# The flag


def test_the_flag_alone_takes_no_word_and_another_value_stands_after_the_sign(shell: Shell) -> None:
    error = shell.cell("%pge run --practice stats --dry-run=all").error
    assert isinstance(error, UsageError)
    assert "show, count" in str(error)
    assert "--dry-run[=show|count]" in shell.cell("%pge help run").view.plain()
    view = shell.cell("%pge run --dry-run other --practice stats").view  # the word after it is the name of the task
    assert view.next == "%pge run other --practice stats"
    around = Around(here=Here(directory=Path.cwd()), variables={}, hidden={})
    assert offered("run --dry-run=", around) == ["--dry-run=show", "--dry-run=count"]
    assert "roman" in offered("run --dry-run --practice r", around)


def test_nothing_is_left_in_the_temporary_directory(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(place))
    shell.cell(f"{PRACTICE} --dry-run;")
    assert list(place.iterdir()) == []
