"""The evaluation that goes on in the generator's own turns: the one exception to a fresh context.

What the judge call is sent is the conversation in which the attempt was made, as the call log kept it, its last reply, and
then the evaluation as one more turn.
"""

from __future__ import annotations

from dataclasses import replace

from ..models import Message, Request
from ..models.calllog import plain
from ..payloads import Json
from ..records import Attempt
from .equipment import Equipment


def goes_on(equipment: Equipment, made: Attempt, request: Request) -> Request:
    """The judge's request as the next turn of the conversation in which an attempt was made; its system prompt comes with it.

    Model, system prompt and effort are those of the conversation, and its tools where the judge brings none: a service takes
    turns with tools only together with them. ``BadInput`` where the call log does not hold the conversation.
    """
    line = equipment.model.settled(made.calls[-1].id)
    sent, blocks = line.request, [dict(block) for block in line.content]
    said = "\n\n".join((request.system, str(request.messages[-1]["content"])))
    messages = sent.get("messages")
    effort = sent.get("effort")
    return replace(
        request,
        model=str(sent["model"]),
        system=str(sent["system"]),
        effort=None if effort is None else str(effort),
        messages=(*(messages if isinstance(messages, list) else ()), *_answered(blocks, said)),
        tools=request.tools or tuple(sent.get("tools") or ()),  # type: ignore[arg-type]
    )


def _answered(blocks: list[dict[str, object]], said: str) -> tuple[Message, Message]:
    """The generator's last reply as it came, and the evaluation behind what its open calls of tools are answered with."""
    results: list[Json] = [
        {"type": "tool_result", "tool_use_id": str(block.get("id", "")), "content": "(the work has ended)"}
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    content: Json = [*results, {"type": "text", "text": said}] if results else said
    return {"role": "assistant", "content": _sendable(blocks)}, {"role": "user", "content": content}


def _sendable(blocks: list[dict[str, object]]) -> Json:
    """The blocks of a reply; text alone as text. A service refuses an empty turn."""
    if all(block.get("type") == "text" for block in blocks):
        return "".join(str(block.get("text", "")) for block in blocks).strip() or "(an empty reply)"
    return [plain(block) for block in blocks]
