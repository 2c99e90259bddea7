"""``%pge show prompt`` is what the service received for that call, to the byte, with the nonce and secrets marked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted
from messages_stub import MessagesStub
from notebook_shell import Shell
from test_tools import looks, works

from pge_nb.commands.sent import parts
from pge_nb.display import Verbatim, View
from pge_nb.models import NONCE, About, Request
from pge_nb.models.claude import Claude
from pge_nb.payloads import compact
from pge_nb.phases import PHASE_OF, ROLE_OF
from pge_nb.redaction import REDACTED
from pge_nb.state import open_run

TASK = f"%%pge run --model {scripted.MODEL}\n{scripted.PROMPT}"
TOOLS = '%config PGE.generator_tools = "on"\n%config PGE.evaluator_tools = "on"'
CANARY = "sk-canary-8c41d0ffe7"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    with MessagesStub(scripted.scripted()) as opened:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", opened.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        yield opened


def shown(view: View) -> dict[str, str]:
    """The texts of one request in a view, by what they are: system, user, schema, tool NAME."""
    return {
        block.label.partition(": ")[2]: block.text
        for block in view.blocks
        if isinstance(block, Verbatim) and block.text
    }


def received(request: dict[str, Any]) -> dict[str, str]:
    """The same of a request as the service got it."""
    system = request["system"]
    return {
        "system": system if isinstance(system, str) else "".join(block["text"] for block in system),
        **{message["role"]: message["content"] for message in request["messages"]},
        **{f"tool {tool['name']}": compact(tool) for tool in request.get("tools", ())},
    }


def marked(sent: dict[str, str], like: dict[str, str]) -> dict[str, str]:
    """What was sent, with the nonce marked where ``like`` marks one, and the key of this environment."""
    first, *rest = re.escape(like["user"]).split(re.escape(NONCE))
    if rest and (found := re.fullmatch(first + "([0-9a-f]{16})" + r"\1".join(rest), sent["user"])):
        sent = {**sent, "user": sent["user"].replace(found[1], NONCE)}
    return {name: text.replace(CANARY, REDACTED) for name, text in sent.items()}


def first_calls(tmp_path: Path) -> list[tuple[int, str, int | None, int]]:
    """Of each section that an agent made: its number, role and step, and which of all calls its phase began with."""
    found, calls = [], 0
    for section in open_run(tmp_path).sections:
        if (phase := PHASE_OF.get(section.record.kind)) and (made := getattr(section.payload, "calls", ())):
            found.append((section.seq, ROLE_OF[phase], section.record.step, calls))
            calls += len(made)
    return found


@pytest.mark.parametrize("tools", [False, True])
def test_what_is_shown_of_every_call_is_what_the_service_received(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tools: bool
) -> None:
    script = scripted.scripted(generate=works, evaluate=looks) if tools else scripted.scripted()
    with MessagesStub(script) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        if tools:
            shell.cell(TOOLS)
        assert shell.cell(TASK).value.mark == "passed"
    calls = first_calls(tmp_path)
    assert len(calls) == 9
    seen_tools = set()
    for seq, role, step, number in calls:
        view = shell.cell(f"%pge show prompt {role} {step or ''} --at {seq}").view
        texts, sent = shown(view), stub.requests[number]
        assert texts == marked(received(sent), texts), (seq, role)
        assert f"model {sent['model']}, hash" in view.plain()
        seen_tools |= {name for name in texts if name.startswith("tool ")}
    assert ("tool write" in seen_tools) is ("tool run" in seen_tools) is tools


def test_a_key_in_a_file_that_agents_are_told_is_marked_and_all_the_rest_is_as_it_was_sent(
    shell: Shell, stub: MessagesStub, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "CLAUDE.md").write_text(f"Use the key {CANARY}. No tabs.")
    assert shell.cell(TASK).value.mark == "passed"
    seq, _, step, number = next(
        call for call in first_calls(tmp_path) if stub.requests[call[3]]["messages"][0]["content"].count("No tabs")
    )
    view = shell.cell(f"%pge show prompt generator {step} --at {seq}").view
    texts = shown(view)
    assert texts == marked(received(stub.requests[number]), texts)
    assert f"Use the key {REDACTED}. No tabs." in texts["user"]
    assert CANARY not in view.html() + view.markdown() + view.plain()


def test_a_schema_is_shown_as_it_is_asked_for(stub: MessagesStub) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    request = Request(
        model=scripted.MODEL,
        system="You are the planner",
        messages=({"role": "user", "content": "n?"},),
        schema=schema,
        about=About(role="planner", phase="plan"),
    )
    claude = Claude()
    claude.reply(request)
    claude.close()
    asked = stub.requests[0]["output_config"]["format"]["schema"]
    assert ("planner, plan: schema", compact(asked)) in parts(request)
