"""Turns with tools: the model calls, the harness carries out and answers, within limits. Nothing outlives the phase.

Every turn is one call in the log, and its address holds the number of the turn: a loop that was killed goes through its
turns again from the log, unpaid, and goes on where it was. Tool calls that a model writes as fenced JSON are read as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..models import Message, Reply, Request
from ..models.gathered import MALFORMED
from ..models.recording import call_of
from ..payloads import Json
from ..records import Call
from ..tracing import span
from .equipment import Equipment
from .fences import fences
from .replies import Unusable, json_object

NAMES = ("name", "tool", "tool_name", "function")
INPUTS = ("input", "arguments", "parameters", "args")
MOST_CALLS = 16
"""Tool calls of one turn that are carried out."""
LONGEST_OUTCOME = 20_000
"""Characters of an outcome that the model is shown."""
Ended = Literal["done", "silent", "cut", "turns", "context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What a model may call: its name, what it does, and its inputs, each as a JSON schema; those that it needs."""

    name: str
    description: str
    inputs: Mapping[str, Json]
    needs: tuple[str, ...] = ()

    def spec(self) -> dict[str, Json]:
        """The tool as the Messages API takes it."""
        schema: dict[str, Json] = {"type": "object", "properties": dict(self.inputs), "required": list(self.needs)}
        return {"name": self.name, "description": self.description, "input_schema": schema}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that a model made. ``id`` is empty where it was written as text; ``fault`` says why it cannot be carried out."""

    name: str
    input: Mapping[str, Json]
    id: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What came of a loop: all that the model said, the calls made, its last turn, and how it ended.

    ``ended``: by the tool that ends it, by a turn without a call, by one that was cut off before it called anything, by the limit
    on turns, or by that on the context.
    """

    said: str
    calls: tuple[Call, ...]
    request: Request
    reply: Reply
    ended: Ended


Use = Callable[[int, ToolCall], str | None]
"""Carries out a call of a turn and gives its outcome; None: the model has finished."""


def turns(
    equipment: Equipment, request: Request, tools: Sequence[Tool], use: Use, *, most_turns: int, most_tokens: int
) -> Turns:
    """Ask, carry out what is called, answer, and ask again, until the model has finished or a limit is reached.

    The request tells of the tools. ``most_tokens`` bounds what one turn reads and writes: the whole of the phase so far.
    """
    known = {tool.name: tool for tool in tools}
    said: list[str] = []
    calls: list[Call] = []

    def ended(how: Ended) -> Turns:
        text = "\n\n".join(filter(None, said))
        return Turns(said=text, calls=tuple(calls), request=request, reply=reply, ended=how)

    for turn in range(most_turns):
        reply = equipment.model.reply(request, listen=equipment.listen, stop=equipment.stop)
        calls.append(call_of(request, reply))
        said.append(reply.text.strip())
        wanted = tool_calls(reply, known)
        outcomes: list[tuple[ToolCall, str]] = []
        for call in wanted:
            outcome = call.fault or _used(use, turn, call)
            if outcome is None:
                return ended("done")
            outcomes.append((call, _cut(outcome)))
        if not wanted:
            return ended("cut" if reply.cut else "silent")
        if reply.usage.total >= most_tokens:
            return ended("context")
        left = most_turns - turn - 1
        request = replace(
            request,
            messages=(*request.messages, *_answered(reply, outcomes, left)),
            about=replace(request.about, turn=request.about.turn + 1),
        )
    return ended("turns")


def _used(use: Use, turn: int, call: ToolCall) -> str | None:
    traced: Mapping[str, Json] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id[:100] or None,
        "pge.turn": turn,
    }
    with span(f"execute_tool {call.name}", traced):
        return use(turn, call)


def tool_calls(reply: Reply, known: Mapping[str, Tool]) -> list[ToolCall]:
    """The calls of a reply: as blocks of the service, else as JSON in the text, fenced or bare."""
    if reply.stop_reason == "refusal":
        return []
    native = [block for block in reply.content if block.get("type") == "tool_use"]
    found = [_native(block, known) for block in native] if native else list(_written(reply.text, known))
    kept = found[:MOST_CALLS]
    late = [replace(call, fault=f"only {MOST_CALLS} calls of a turn are carried out") for call in found[MOST_CALLS:]]
    # Every call of the service must be answered, or it refuses the next turn.
    return [*kept, *(call for call in late if call.id)]


def _native(block: Mapping[str, Json], known: Mapping[str, Tool]) -> ToolCall:
    given = block.get("input")
    call = ToolCall(
        name=str(block.get("name", "")), input=given if isinstance(given, dict) else {}, id=str(block.get("id", ""))
    )
    if MALFORMED in block:
        return replace(call, fault="the input is no JSON object; was it cut? Call again with less in it")
    return replace(call, fault=_fault(call, known))


def _written(text: str, known: Mapping[str, Tool]) -> Iterator[ToolCall]:
    """The calls that a model wrote as text: JSON objects that name a tool, and its inputs in them or beside the name."""
    blocks = [block.text for block in fences(text)[0] if block.closed]
    for candidate in blocks or [text]:
        if not candidate.strip().startswith(("{", "[")):
            continue
        try:
            value: Json = json_object(f'{{"calls": {candidate.strip()}}}', loose=True)["calls"]
        except Unusable:
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and (call := _read(one, known)):
                yield replace(call, fault=_fault(call, known))


def _read(value: Mapping[str, Json], known: Mapping[str, Tool]) -> ToolCall | None:
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), None)
    if name not in known:
        return None
    given = next((value[key] for key in INPUTS if key in value), None)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None
    if not isinstance(given, dict):
        given = {key: item for key, item in value.items() if key not in NAMES}
    return ToolCall(name=str(name), input=given)


def _fault(call: ToolCall, known: Mapping[str, Tool]) -> str:
    tool = known.get(call.name)
    if tool is None:
        return f"there is no tool {call.name!r:.60}; there are {', '.join(known)}"
    if lacking := [name for name in tool.needs if name not in call.input]:
        return f"{tool.name} needs {', '.join(lacking)}"
    return ""


def _answered(reply: Reply, outcomes: Sequence[tuple[ToolCall, str]], left: int) -> tuple[Message, Message]:
    """The turn as it came, and the outcomes of its calls. A call written as text is answered by text."""
    last = "This is your last turn: finish." if left == 1 else ""
    if outcomes[0][0].id:
        blocks: list[Json] = [
            {"type": "tool_result", "tool_use_id": call.id, "content": outcome or "(nothing)"}
            for call, outcome in outcomes
        ]
        blocks += [{"type": "text", "text": last}] if last else []
        return {"role": "assistant", "content": [dict(block) for block in reply.content]}, {
            "role": "user",
            "content": blocks,
        }
    told = [f"{call.name} gave:\n{outcome or '(nothing)'}" for call, outcome in outcomes]
    answer = "\n\n".join([*told, last] if last else told)
    return {"role": "assistant", "content": reply.text.strip()}, {"role": "user", "content": answer}


def _cut(outcome: str) -> str:
    over = len(outcome) - LONGEST_OUTCOME
    return outcome if over <= 0 else f"{outcome[:LONGEST_OUTCOME]}\n[cut: {over:,} more characters]"
