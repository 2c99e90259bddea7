"""A reply as far as it has come in: blocks and usage, put together from the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..payloads import TOO_DEEP, Json, is_deep
from ..records import Usage

MALFORMED = "malformed_input"
"""Holds the text of a tool call's input that is no JSON object (cut, badly written, nested too deep); ``input`` is then empty."""

MOST_TOKENS = 10**9
"""A count above this is a server's mistake: no call has so many tokens, and no sum of costs could be kept with it."""
USAGE_NAMES = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


class Gathered:
    """Takes events in; nothing in it depends on the stream having ended well.

    The SDK's own accumulation gives up, and the usage with it, at a tool call whose input is no JSON.
    """

    def __init__(self) -> None:
        self.begun = False
        self.stopped = False
        self.stop_reason: str | None = None
        self._blocks: dict[int, dict[str, Json]] = {}
        self._inputs: dict[int, str] = {}
        self._told: dict[str, int] = {}
        self._counted_at_end = False

    def take(self, event: Mapping[str, Json]) -> str:
        """Take in an event; the text that it adds."""
        match event.get("type"):
            case "message_start":
                self.begun = True
                self._take_usage(fields(event.get("message")).get("usage"))
            case "content_block_start":
                self.begun = True
                self._blocks[number(event.get("index"))] = dict(fields(event.get("content_block")))
            case "content_block_delta":
                return self._take_delta(number(event.get("index")), fields(event.get("delta")))
            case "message_delta":
                self._take_reason(fields(event.get("delta")).get("stop_reason"))
                self._take_usage(event.get("usage"), at_end=True)
            case "message_stop":
                self.stopped = True
        return ""

    def take_message(self, message: Mapping[str, Json]) -> str:
        """Take in a whole message, from a server that does not stream; its text."""
        self.begun = self.stopped = True
        blocks = message.get("content")
        self._blocks = dict(enumerate(dict(fields(block)) for block in (blocks if isinstance(blocks, list) else [])))
        self._take_reason(message.get("stop_reason"))
        self._take_usage(message.get("usage"), at_end=True)
        return "".join(str(block.get("text", "")) for block in self._blocks.values() if block.get("type") == "text")

    @property
    def whole(self) -> bool:
        """Whether the reply came to its end."""
        return self.begun and (self.stopped or self.stop_reason is not None)

    @property
    def content(self) -> tuple[dict[str, Json], ...]:
        """The blocks, with the inputs of tool calls parsed."""
        return tuple({**shallow(block), **self._input(index)} for index, block in sorted(self._blocks.items()))

    def usage(self) -> Usage | None:
        """The tokens that were told; None where nothing was."""
        told = {ours: self._told[theirs] for ours, theirs in USAGE_NAMES.items() if theirs in self._told}
        return Usage(**told) if told else None

    def usage_or_most(self, input_bytes: int) -> Usage:
        """The tokens of a whole reply; bytes stand in, as an upper bound, for each count that the server did not tell.

        A count of 0 is none where there must have been some, and neither is what the start of a stream says of the output,
        before there was any.
        """
        content = json.dumps(self.content, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
        told = self.usage() or Usage()
        cached = told.cache_read_tokens + told.cache_write_tokens
        is_counted = self._counted_at_end and (told.output_tokens > 0 or not self.content)
        all_cached = cached > 0 and "input_tokens" in self._told
        return Usage(
            input_tokens=told.input_tokens or (0 if all_cached else max(input_bytes - cached, 0)),
            output_tokens=told.output_tokens if is_counted else max(len(content), told.output_tokens),
            cache_read_tokens=told.cache_read_tokens,
            cache_write_tokens=told.cache_write_tokens,
        )

    def _take_delta(self, index: int, delta: Mapping[str, Json]) -> str:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        self.begun = True
        for name, value in delta.items():
            if name == "partial_json":
                self._inputs[index] = self._inputs.get(index, "") + str(value)
            elif name == "citation":
                cited = block.get("citations")
                block["citations"] = [*(cited if isinstance(cited, list) else []), value]
            elif name != "type" and isinstance(value, str):
                block[name] = str(block.get(name) or "") + value
        return str(delta.get("text", "")) if block.get("type") == "text" else ""

    def _input(self, index: int) -> dict[str, Json]:
        text = self._inputs.get(index)
        if not text:
            return {}
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            parsed = None
        return {"input": parsed} if isinstance(parsed, dict) and not is_deep(parsed) else {"input": {}, MALFORMED: text}

    def _take_reason(self, reason: Json) -> None:
        if isinstance(reason, str):
            self.stop_reason = reason

    def _take_usage(self, usage: Json, *, at_end: bool = False) -> None:
        """Counts are cumulative: a later one replaces an earlier one. What is no count, or can be none, is left out."""
        for name in USAGE_NAMES.values():
            count = fields(usage).get(name)
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS:
                self._told[name] = count
                self._counted_at_end |= at_end and name == "output_tokens"


def fields(value: Json) -> Mapping[str, Json]:
    """The value where it is an object, else an empty one: servers send what they like."""
    return value if isinstance(value, dict) else {}


def shallow(block: Mapping[str, Json]) -> dict[str, Json]:
    """The block, but for what is nested too deep to be worked with."""
    return {name: TOO_DEEP if is_deep(value) else value for name, value in block.items()}


def number(value: Json) -> int:
    """The value where it is a whole number, else 0."""
    return value if isinstance(value, int) else 0
