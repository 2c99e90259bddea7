"""Turns with tools: what is called is carried out within limits, resumed at its turn, and only deliverables are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pge_nb.agents.bench import TOOLS, Bench
from pge_nb.agents.equipment import Equipment
from pge_nb.agents.loop import MOST_CALLS, Turns, tool_calls, turns
from pge_nb.models import About, Listen, Reply, Request, Stop, text_reply
from pge_nb.models.recording import Recording
from pge_nb.records import FileRef, Usage
from pge_nb.workspace import Objects

KNOWN = {tool.name: tool for tool in TOOLS}
ABOUT = About(role="generator", phase="generate", step=1, attempt=1)
ASKED = Request(
    model="m",
    system="s",
    messages=({"role": "user", "content": "go"},),
    tools=tuple(tool.spec() for tool in TOOLS),
    about=ABOUT,
)


class Said:
    """A model that says one thing after another, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[Request] = []

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        self.asked.append(request)
        return self.replies.pop(0)


def calling(*calls: tuple[str, dict[str, Any]], text: str = "", usage: Usage | None = None) -> Reply:
    """A reply with tool calls, as the service sends them."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": f"t{n}", "name": name, "input": given} for n, (name, given) in enumerate(calls)
    ]
    return Reply(content=tuple(blocks), stop_reason="tool_use", usage=usage or Usage(input_tokens=10, output_tokens=5))


def worked(
    tmp_path: Path, model: Said, *, files: Sequence[FileRef] = (), most_turns: int = 8, most_tokens: int = 10_000
) -> tuple[Turns, Bench]:
    equipment = Equipment(model=Recording(tmp_path / "calls.jsonl", model), objects=Objects(tmp_path), reviews={})
    bench = Bench(equipment, ABOUT, files, deliverables=("calc.py",), there=[file.path for file in files], seconds=20)
    return turns(equipment, ASKED, TOOLS, bench.use, most_turns=most_turns, most_tokens=most_tokens), bench


def outcome(request: Request, number: int = 0) -> str:
    """What the model was told of a call of its last turn."""
    content = request.messages[-1]["content"]
    assert isinstance(content, list)
    block = content[number]
    assert isinstance(block, dict)
    return str(block["content"])


ADD = "def add(a, b):\n    return a + b\n"
WRITE = ("write", {"path": "calc.py", "content": ADD})
DONE = ("done", {"says": "add is there"})


def test_what_is_called_is_carried_out_and_answered_until_the_model_has_finished(tmp_path: Path) -> None:
    model = Said(
        calling(WRITE, text="Approach: a function."),
        calling(("run", {"command": "python -c 'import calc; print(calc.add(2, 3))'"})),
        calling(DONE),
    )
    ended, bench = worked(tmp_path, model)
    assert ended.ended == "done"
    assert ended.said == "Approach: a function."
    assert len(ended.calls) == 3
    assert bench.written["calc.py"].size == len(ADD)
    assert outcome(model.asked[1]).startswith("written: calc.py")
    assert "exit 0" in outcome(model.asked[2])
    assert "5" in outcome(model.asked[2])
    assert model.asked[1].messages[1]["content"] == [
        dict(block) for block in calling(WRITE, text="Approach: a function.").content
    ]
    assert [tool["name"] for tool in model.asked[0].tools] == list(KNOWN)
    assert [request.about.turn for request in model.asked] == [0, 1, 2]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("other.py", "no deliverable of the contract"),
        ("../calc.py", "it holds '.', '..'"),
        ("/etc/passwd", "not relative"),
        (".git/hooks/pre-commit", "a directory that the harness or a tool owns"),
    ],
)
def test_a_write_elsewhere_is_refused_and_the_model_is_told_why(tmp_path: Path, path: str, reason: str) -> None:
    model = Said(calling(("write", {"path": path, "content": "x"})), calling(WRITE, DONE))
    _, bench = worked(tmp_path, model)
    assert outcome(model.asked[1]).startswith("refused: ")
    assert reason in outcome(model.asked[1])
    assert [(one.path, reason in one.reason) for one in bench.refusals] == [(path, True)]
    assert list(bench.written) == ["calc.py"]


def test_a_command_sees_the_files_and_only_what_it_makes_of_a_deliverable_is_kept(tmp_path: Path) -> None:
    base = Objects(tmp_path).file("table.csv", b"a,b\n1,2\n")
    script = (
        "import pathlib; pathlib.Path('calc.py').write_text('N = ' + open('table.csv').read()[0:1].upper() + 'x'); "
        "pathlib.Path('more.py').write_text('1')"
    )
    model = Said(calling(("run", {"command": f'python -c "{script}"'})), calling(("list", {})), calling(DONE))
    _, bench = worked(tmp_path, model, files=[base])
    assert "taken over: calc.py" in outcome(model.asked[1])
    assert outcome(model.asked[2]).split("\n") == ["calc.py  6 bytes", "table.csv  8 bytes"]
    assert Objects(tmp_path).get(bench.written["calc.py"].sha256) == b"N = Ax"


def test_files_are_read_listed_and_searched(tmp_path: Path) -> None:
    long = Objects(tmp_path).file("docs/long.txt", "\n".join(f"line {n}" for n in range(1, 1_001)).encode())
    model = Said(
        calling(
            ("read", {"path": "docs/long.txt"}),
            ("read", {"path": "docs/long.txt", "start": 999}),
            ("read", {"path": "no"}),
        ),
        calling(("search", {"text": "LINE 77"}), ("list", {"under": "doc"}), ("search", {"text": " "})),
        calling(DONE),
    )
    worked(tmp_path, model, files=[long])
    first = outcome(model.asked[1], 0)
    assert first.startswith("line 1\n")
    assert first.endswith("[600 more lines: start=401]")
    assert outcome(model.asked[1], 1) == "line 999\nline 1000"
    assert outcome(model.asked[1], 2).startswith("there is no file 'no'")
    assert outcome(model.asked[2], 0).split("\n")[0] == "docs/long.txt:77: line 77"
    assert outcome(model.asked[2], 1) == "no file"
    assert outcome(model.asked[2], 2) == "there is nothing to search for"


def test_a_loop_that_was_killed_goes_on_at_its_turn(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    class Dies(Said):
        def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
            if not self.replies:
                raise Killed
            return super().reply(request)

    run = ("run", {"command": "python -c 'import time; print(time.time_ns())'"})
    with pytest.raises(Killed):
        worked(tmp_path, Dies(calling(WRITE), calling(run)))
    model = Said(calling(DONE))
    ended, bench = worked(tmp_path, model)
    assert ended.ended == "done"
    assert [request.about.turn for request in model.asked] == [2]
    assert "calc.py" in bench.written


@pytest.mark.parametrize(
    ("limits", "how", "turns_taken"), [({"most_turns": 3}, "turns", 3), ({"most_tokens": 14}, "context", 1)]
)
def test_a_loop_ends_at_its_limits(tmp_path: Path, limits: dict[str, int], how: str, turns_taken: int) -> None:
    model = Said(*[calling(("list", {})) for _ in range(9)])
    ended, _ = worked(tmp_path, model, **limits)
    assert ended.ended == how
    assert len(model.asked) == turns_taken
    if how == "turns":
        assert model.asked[-1].messages[-1]["content"][-1] == {
            "type": "text",
            "text": "This is your last turn: finish.",
        }  # type: ignore[index]


WRITTEN: dict[str, Callable[[dict[str, Any]], str]] = {
    "in a fence": lambda call: f"I write it.\n```json\n{json.dumps(call)}\n```\n\n\n",
    "bare": json.dumps,
    "two in one list": lambda call: f"```\n[{json.dumps(call)}]\n```",
    "tool and input": lambda call: f"```json\n{json.dumps({'tool': call['name'], 'input': call['arguments']})}\n```",
    "arguments as text": lambda call: json.dumps({"name": call["name"], "arguments": json.dumps(call["arguments"])}),
    "inputs beside the name": lambda call: json.dumps({"tool": call["name"], **call["arguments"]}),
    "a function": lambda call: json.dumps({"type": "function", "function": call}),
}


@pytest.mark.parametrize("form", WRITTEN)
def test_calls_that_are_written_as_text_are_read(tmp_path: Path, form: str) -> None:
    text = WRITTEN[form]({"name": "write", "arguments": {"path": "calc.py", "content": ADD}})
    model = Said(text_reply(text), text_reply('```json\n{"name": "done", "arguments": {}}\n```'))
    ended, bench = worked(tmp_path, model)
    assert ended.ended == "done"
    assert "calc.py" in bench.written
    assert "write gave:\nwritten: calc.py" in str(model.asked[1].messages[-1]["content"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am done.",
        '{"name": "no_tool", "arguments": {}}',
        "```json\n{broken\n```",
        "[" * 5_000,
        '{"name": ["write"]}',
    ],
)
def test_what_is_no_call_ends_the_loop(tmp_path: Path, text: str) -> None:
    ended, bench = worked(tmp_path, Said(text_reply(text)))
    assert ended.ended == "silent"
    assert not bench.written


def test_a_turn_that_is_cut_off_before_its_call_is_no_finish(tmp_path: Path) -> None:
    model = Said(calling(("write", {"path": "calc.py", "content": ADD})), text_reply("Now I", stop_reason="max_tokens"))
    ended, bench = worked(tmp_path, model)
    assert ended.ended == "cut"
    assert "calc.py" in bench.written


def test_calls_that_cannot_be_carried_out_are_answered_with_the_reason(tmp_path: Path) -> None:
    malformed = {"type": "tool_use", "id": "t1", "name": "write", "input": {}, "malformed_input": '{"path": "ca'}
    model = Said(
        Reply(content=(malformed,), stop_reason="tool_use"),
        calling(
            ("write", {"path": "calc.py"}),
            ("format_disk", {}),
            ("run", {"command": "ls | wc"}),
            ("run", {"command": ""}),
        ),
        calling(DONE),
    )
    worked(tmp_path, model)
    assert outcome(model.asked[1]).startswith("the input is no JSON object")
    told = [outcome(model.asked[2], number) for number in range(4)]
    assert told[0] == "write needs content"
    assert told[1].startswith("there is no tool 'format_disk'")
    assert told[2].startswith("not run: | needs a shell")
    assert told[3].startswith("not run: the command is empty")


def test_a_flood_of_calls_is_answered_and_not_carried_out() -> None:
    flood = calling(*[("list", {})] * (MOST_CALLS + 3))
    found = tool_calls(flood, KNOWN)
    assert len(found) == MOST_CALLS + 3
    assert [call.fault for call in found[MOST_CALLS:]] == [f"only {MOST_CALLS} calls of a turn are carried out"] * 3


def test_a_refusal_calls_nothing() -> None:
    refusal = Reply(content=calling(WRITE).content, stop_reason="refusal")
    assert tool_calls(refusal, KNOWN) == []
