"""The evaluation that goes on in the generator's own turns: the one exception to a fresh context.

What the judge call is sent is the conversation in which the attempt was made, as the call log kept it, its last reply, and
then the evaluation as one more turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..models import Message, Request
from ..models.calllog import Settled, plain
from ..payloads import Json
from ..records import Attempt
from .equipment import Equipment


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The turns in which an attempt was made: what was sent last, the reply to it, and the tools that it had."""

    messages: tuple[Message, ...]
    reply: tuple[Mapping[str, Json], ...]
    tools: tuple[Mapping[str, Json], ...] = ()

    def then(self, said: str) -> tuple[Message, ...]:
        """The messages with one more turn behind them."""
        return (*self.messages, *_answered(self.reply, said))


def conversation_of(line: Settled) -> Conversation:
    """The turns that a line of a call log tells of."""
    messages, tools = line.request.get("messages"), line.request.get("tools")
    return Conversation(
        messages=tuple(messages) if isinstance(messages, list) else (),
        reply=tuple(dict(block) for block in line.content),  # type: ignore[arg-type]
        tools=tuple(tools) if isinstance(tools, list) else (),
    )


def goes_on(equipment: Equipment, made: Attempt, request: Request) -> Request:
    """The judge's request as the next turn of the conversation in which an attempt was made; its system prompt comes with it.

    Model, system prompt and effort are those of the conversation, and its tools where the judge brings none: a service takes
    turns with tools only together with them. ``BadInput`` where the call log does not hold the conversation.
    """
    line = equipment.model.settled(made.calls[-1].id)
    sent, turns = line.request, conversation_of(line)
    said = "\n\n".join((request.system, str(request.messages[-1]["content"])))
    effort = sent.get("effort")
    return replace(
        request,
        model=str(sent["model"]),
        system=str(sent["system"]),
        effort=None if effort is None else str(effort),
        messages=turns.then(said),
        tools=request.tools or turns.tools,
    )


def _answered(blocks: Sequence[Mapping[str, Json]], said: str) -> tuple[Message, Message]:
    """The generator's last reply as it came, and the evaluation behind what its open calls of tools are answered with."""
    results: list[Json] = [
        {"type": "tool_result", "tool_use_id": str(block.get("id", "")), "content": "(the work has ended)"}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    content: Json = [*results, {"type": "text", "text": said}] if results else said
    return {"role": "assistant", "content": _sendable(blocks)}, {"role": "user", "content": content}


def _sendable(blocks: Sequence[Mapping[str, Json]]) -> Json:
    """The blocks of a reply; text alone as text. A service refuses an empty turn."""
    if all(block.get("type") == "text" for block in blocks):
        return "".join(str(block.get("text", "")) for block in blocks).strip() or "(an empty reply)"
    return [plain(block) for block in blocks]
