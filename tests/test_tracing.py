"""A trace is a whole tree, adds up to the receipt, tells no secrets, and stops no run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import ADD, MODEL, PROMPT, scripted
from test_tools import looks, works

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, ModelFailed
from pge_nb.harness import PGEHarness
from pge_nb.records import Note, Receipt
from pge_nb.run import Run
from pge_nb.state import open_run
from pge_nb.tracing import CURRENT, UNTRACED, Trace, span

Line = dict[str, Any]
DOCS = Path(__file__).parents[1] / "docs" / "trace.md"
USAGE = {
    "input_tokens": 40,
    "output_tokens": 9,
    "cache_read_input_tokens": 300,
    "cache_creation_input_tokens": 20,
}


def lines_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tokens(lines: Iterable[Line]) -> int:
    """What docs/trace.md says is to be added up."""
    return sum(
        line["gen_ai.usage.input_tokens"] + line["gen_ai.usage.output_tokens"]
        for line in lines
        if line.get("pge.replayed") is False and line.get("pge.source") in {"live", "practice"}
    )


def receipt(run: Run) -> Receipt:
    [*_, last] = (section.payload for section in run.sections if isinstance(section.payload, Receipt))
    return last


def assert_tree(lines: list[Line]) -> None:
    """Every line stands below another that is there and that was going on; tops are runs; a line that ends first comes first."""
    by_id = {line["span_id"]: line for line in lines}
    assert len(by_id) == len(lines)
    assert len({line["trace_id"] for line in lines}) == 1
    for at, line in enumerate(lines):
        if line["parent_span_id"] is None:
            assert line["gen_ai.operation.name"] == "invoke_workflow"
            continue
        parent = by_id[line["parent_span_id"]]
        assert lines.index(parent) > at
        assert parent["start_time"] <= line["start_time"] <= line["end_time"] <= parent["end_time"]
        assert datetime.fromisoformat(line["start_time"]).utcoffset() is not None
        for name in ("pge.step", "pge.attempt"):
            if name in parent and "pge.phase" in parent and "pge.phase" in line:
                assert line[name] == parent[name]


def kinds(lines: list[Line]) -> Counter[str]:
    return Counter(line["name"].split(" ")[0] for line in lines)


def practice(directory: Path, **settings: Any) -> HarnessConfig:
    fields = {"model": "practice:seed=2", "trace": str(directory / "trace.jsonl"), **settings}
    return HarnessConfig(shared_state_path=directory / "shared_state.md", **fields)


STATS = bank.practice_task("stats").prompt


# The tree


def test_the_trace_of_a_run_is_a_tree_that_adds_up_to_the_receipt(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --trace trace.jsonl;")
    lines, run = lines_of(tmp_path / "trace.jsonl"), open_run(tmp_path / "shared_state.md")
    assert_tree(lines)
    assert tokens(lines) == receipt(run).tokens > 0
    assert kinds(lines)["run"] == 1
    made = Counter(section.record.kind for section in run.sections)
    phases = Counter(line["pge.phase"] for line in lines if "pge.outcome" in line and "pge.phase" in line)
    assert phases["generate"] == made["attempt"]
    assert phases["evaluate"] == made["evaluation"]
    assert phases["decide"] == made["decision"]
    assert phases["plan"] == 1
    assert kinds(lines)["look"] > 0
    assert {line["pge.outcome"] for line in lines if line["name"] == "invoke_agent evaluator"} <= {
        "pass",
        "fail",
        "unmeasured",
        "agreed",
        "not agreed",
    }
    assert lines[-1]["pge.outcome"] == run.outcome
    assert lines[-1]["pge.run"] == run.task.run


@pytest.fixture
def at_stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    def begun(**replaced: Any) -> MessagesStub:
        stub = MessagesStub(scripted(**replaced)).start()
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        return stub

    return begun


def test_turns_with_tools_and_what_they_run_stand_below_their_phase(tmp_path: Path, at_stub: Any) -> None:
    stub = at_stub(generate=works, evaluate=looks)
    config = practice(tmp_path, model=MODEL, generator_tools="on", evaluator_tools="on")
    PGEHarness(config).run(PROMPT)
    stub.close()
    lines = lines_of(tmp_path / "trace.jsonl")
    assert_tree(lines)
    by_id = {line["span_id"]: line for line in lines}
    ran = [line for line in lines if line["name"] == "execute_tool run"]
    assert {by_id[line["parent_span_id"]]["name"] for line in ran} == {
        "invoke_agent generator",
        "invoke_agent evaluator",
    }
    below = [by_id[line["parent_span_id"]]["name"] for line in lines if line["name"] == "look run"]
    assert set(below) == {"execute_tool run"}
    assert {line["pge.turn"] for line in lines if line["name"].startswith("execute_tool")} == {0, 1, 2, 3}
    assert tokens(lines) == stub.tally.tokens == receipt(open_run(tmp_path / "shared_state.md")).tokens


def test_tokens_of_the_cache_are_told_apart_and_counted_once(tmp_path: Path, at_stub: Any) -> None:
    stub = at_stub(generate=lambda _: StubReply(f"```python calc.py\n{ADD}```\n", usage=USAGE))
    PGEHarness(practice(tmp_path, model=MODEL, max_retries_per_step=0, on_exhausted=("ask",))).run(PROMPT)
    stub.close()
    lines = lines_of(tmp_path / "trace.jsonl")
    made = next(line for line in lines if line["name"].startswith("chat") and line["pge.phase"] == "generate")
    assert made["gen_ai.usage.input_tokens"] == 360
    assert made["gen_ai.usage.cache_read.input_tokens"] == 300
    assert made["gen_ai.usage.cache_creation.input_tokens"] == 20
    assert made["gen_ai.provider.name"] == "anthropic"
    assert made["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert tokens(lines) == stub.tally.tokens


def test_steps_side_by_side_write_whole_lines_below_their_own_phases(tmp_path: Path) -> None:
    name = "generated:steps=6,dag=free,seed=3"
    prompt = bank.practice_task(name).prompt
    config = practice(tmp_path, model="practice:seed=2,delay=0.02", max_parallel=4)
    PGEHarness(config).run(prompt)
    lines, run = lines_of(tmp_path / "trace.jsonl"), open_run(tmp_path / "shared_state.md")
    assert_tree(lines)
    assert tokens(lines) == receipt(run).tokens
    phases = [line for line in lines if line["name"] == "invoke_agent generator"]
    together = [
        (one["pge.step"], other["pge.step"])
        for one in phases
        for other in phases
        if one["start_time"] < other["start_time"] < one["end_time"]
    ]
    assert together  # else nothing was tried here
    assert all(one != other for one, other in together)


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace.jsonl", "run")

    def write(number: int) -> None:
        for at in range(100):
            with trace.begin("top", {}).child(f"{number}.{at}", {"long": "x" * 5_000}):
                pass

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {line["name"] for line in lines_of(trace.path)} == {f"{n}.{at}" for n in range(8) for at in range(100)}
    assert trace.fault == ""


def test_a_run_that_goes_on_is_traced_on_and_counts_no_call_twice(tmp_path: Path) -> None:
    config = practice(tmp_path, max_calls=4)
    PGEHarness(config).run(STATS)
    harness = PGEHarness(config)
    harness.amend(max_calls=500)
    harness.resume()
    lines, run = lines_of(tmp_path / "trace.jsonl"), open_run(tmp_path / "shared_state.md")
    assert_tree(lines)
    assert kinds(lines)["run"] == 2
    assert [line["pge.outcome"] for line in lines if line["name"].startswith("run")] == ["stopped", run.outcome]
    assert "error.type" in next(line for line in lines if line["name"].startswith("chat") and "pge.source" not in line)
    assert tokens(lines) == receipt(run).tokens
    for path in (tmp_path / "shared_state.md", tmp_path / ".pge" / "head"):
        path.unlink()  # much is asked for again, and answered from the log
    again = PGEHarness(practice(tmp_path)).run(STATS).run
    lines = lines_of(tmp_path / "trace.jsonl")
    assert any(line.get("pge.replayed") and "pge.source" in line for line in lines)
    assert tokens(lines) == receipt(again).tokens


def test_what_goes_wrong_is_told_by_its_name(tmp_path: Path, at_stub: Any) -> None:
    stub = at_stub(generate=lambda _: StubReply(status=401, error="authentication_error", message="secret words"))
    with pytest.raises(ModelFailed):
        PGEHarness(practice(tmp_path, model=MODEL)).run(PROMPT)
    stub.close()
    failed = [line for line in lines_of(tmp_path / "trace.jsonl") if "error.type" in line]
    assert [line["name"].split(" ")[0] for line in failed] == ["chat", "invoke_agent", "run"]
    assert {line["error.type"] for line in failed} == {"ModelFailed"}
    assert "secret words" not in (tmp_path / "trace.jsonl").read_text()


# What it tells, and what it does not


def test_no_text_and_no_key_is_in_it(tmp_path: Path, at_stub: Any) -> None:
    secret = "a reply that nobody else may read"
    stub = at_stub(planner=lambda _: None, generate=lambda _: f"{secret}\n```python calc.py\n{ADD}```\n")
    PGEHarness(practice(tmp_path, model=MODEL, max_retries_per_step=0)).run(PROMPT)
    stub.close()
    told = (tmp_path / "trace.jsonl").read_text()
    for text in (secret, PROMPT, "def add", "add has a docstring", stub.environ["ANTHROPIC_API_KEY"], str(tmp_path)):
        assert text not in told, text


def test_the_page_tells_every_field(tmp_path: Path, at_stub: Any) -> None:
    stub = at_stub(generate=works, evaluate=looks)
    PGEHarness(practice(tmp_path, model=MODEL, generator_tools="on", evaluator_tools="on")).run(PROMPT)
    stub.close()
    written = {name for line in lines_of(tmp_path / "trace.jsonl") for name in line}
    page = DOCS.read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([a-z_.]+)` \|", page, re.MULTILINE))
    assert told == written | {"error.type", "pge.dollars"}  # this model has no price
    [example] = re.findall(r"^```json\n(.*)\n```$", page, re.MULTILINE)
    assert set(json.loads(example)) <= told


def test_without_being_asked_for_there_is_none_and_no_task_tells_of_it(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    PGEHarness(practice(tmp_path / "a", trace=None)).run(STATS)
    PGEHarness(practice(tmp_path / "b")).run(STATS)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".pge", "shared_state.md", "work"]
    runs = [open_run(tmp_path / name / "shared_state.md") for name in "ab"]
    assert runs[0].task == runs[1].task
    assert "trace" not in runs[1].task.settings
    with span("nobody asked", {}) as told:
        told.tell({"more": 1})
    assert told is CURRENT.get() is UNTRACED
    assert UNTRACED.fields == {}


# Through the notebook


def test_a_trace_can_be_asked_for_later_and_by_setting(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --max-tokens-total 1500;")
    assert not (tmp_path / "trace.jsonl").exists()
    shell.cell("%pge resume --max-tokens-total 3000 --trace trace.jsonl;")
    assert kinds(lines_of(tmp_path / "trace.jsonl"))["run"] == 1
    shell.cell("%config PGE.trace = 'other.jsonl'")
    shell.cell("%pge resume --max-tokens-total 900000;")
    assert kinds(lines_of(tmp_path / "other.jsonl"))["run"] == 1
    assert shell.cell("%pge show").error is None


def test_a_detached_run_is_traced_where_this_one_was_asked_to(shell: Shell, tmp_path: Path) -> None:
    from pge_nb import detached

    shell.cell("%pge run --practice stats --seed 2 --detach --trace trace.jsonl;")
    for child in detached._CHILDREN:
        child.wait(60)
    lines = lines_of(tmp_path / "trace.jsonl")
    assert_tree(lines)
    assert tokens(lines) == receipt(open_run(tmp_path / "shared_state.md")).tokens


# What stands in the way


@pytest.mark.parametrize(
    ("trace", "fact"),
    [
        ("shared_state.md", "holds no trace"),
        ("notes.txt", "holds no trace"),
        ("work/trace.jsonl", "working directory"),
        ("work/../work/trace.jsonl", "working directory"),
        (".", "no plain file"),
    ],
)
def test_a_trace_is_not_written_into_what_is_something_else(
    trace: str, fact: str, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    shell.cell("%pge run --practice stats --seed 2 --max-tokens-total 1500;")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "run.pid"}
    told = shell.cell(f"%pge resume --max-tokens-total 900000 --trace {trace}")
    assert isinstance(told.error, BadInput)
    assert fact in told.text
    after = {path: path.read_bytes() for path in before}
    changed = [path.name for path in before if after[path] != before[path]]
    assert changed in ([], ["shared_state.md", "head"], ["head", "shared_state.md"])  # the amendment, and nothing else
    assert open_run(tmp_path / "shared_state.md").last is not None  # whole
    assert shell.cell("%pge verify").error is None


def test_a_trace_that_is_refused_leaves_no_run_begun(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "holds no trace" in shell.cell("%pge run --practice stats --trace notes.txt").text
    assert not (tmp_path / "shared_state.md").exists()
    assert shell.cell("%pge run --practice stats").view.mark == "passed"


def test_a_trace_that_cannot_be_written_stops_nothing_and_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    result = PGEHarness(practice(tmp_path, trace=str(tmp_path / "file" / "trace.jsonl"))).run(STATS)
    notes = [section.payload for section in result.run.sections if isinstance(section.payload, Note)]
    assert result.outcome == "passed"
    assert [("cannot be written" in note.text, "goes on without it" in note.text) for note in notes] == [(True, True)]


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are of POSIX")
def test_a_full_disk_tears_a_line_at_most_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(
        b'{"trace_id":"an earlier one"}\n' + b" " * 40_000_000
    )  # the end of the file is at the limit, soon
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000_500, 40_000_500))
from pathlib import Path
from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
config = HarnessConfig(model="practice:seed=2", shared_state_path={str(tmp_path / "shared_state.md")!r}, trace={str(path)!r})
print(PGEHarness(config).run(bank.practice_task("stats").prompt).outcome)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.stdout.strip() == "passed", ran.stderr[-2_000:]
    run = open_run(tmp_path / "shared_state.md")
    assert len(run.of("note")) == 1


def test_a_line_after_a_torn_one_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(b'{"trace_id":"to')
    trace = Trace(tmp_path / "trace.jsonl", "run")
    trace.begin("next", {}).end()
    torn, whole = (tmp_path / "trace.jsonl").read_text().splitlines()
    assert torn == '{"trace_id":"to'
    assert json.loads(whole)["name"] == "next"
