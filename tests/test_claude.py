"""The Messages API over real HTTP, against a loopback stub."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anthropic
import pytest
from messages_stub import MessagesStub, Script, StubReply

from pge_nb.errors import ModelFailed
from pge_nb.models import NONCE, About, CallBroken, CallStopped, NotNow, Request
from pge_nb.models.claude import Claude
from pge_nb.models.failures import wait_asked
from pge_nb.models.gathered import MALFORMED
from pge_nb.models.recording import Recording
from pge_nb.models.replay import Replay
from pge_nb.records import Usage

KEY = "sk-ant-0123456789abcdef"
ABOUT = About(role="planner", phase="plan")
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


def request(text: str = "hi", **fields: object) -> Request:
    message = {"role": "user", "content": text}
    return Request(model="claude-opus-5-5", system="Be brief.", messages=(message,), about=ABOUT, **fields)  # type: ignore[arg-type]


@contextmanager
def asked(script: Script, *, retries: int = 0, timeout: float = 5.0) -> Iterator[tuple[Claude, MessagesStub]]:
    """Claude before a stub. Retries are off, unless they are what is tested: they wait."""
    with (
        MessagesStub(script) as stub,
        anthropic.Anthropic(api_key=KEY, base_url=stub.url, max_retries=retries, timeout=timeout) as client,
    ):
        yield Claude(client=client), stub


def failed(script: Script, **fields: object) -> ModelFailed:
    with asked(script, **fields) as (claude, _), pytest.raises(ModelFailed) as caught:  # type: ignore[arg-type]
        claude.reply(request())
    assert KEY not in str(caught.value)
    return caught.value


def error(status: int, kind: str = "", message: str = "the reason", **fields: object) -> StubReply:
    return StubReply(status=status, error=kind, message=message, **fields)  # type: ignore[arg-type]


# A reply


def test_a_reply_streams_to_the_listener_and_comes_back_whole_with_its_usage():
    with asked([StubReply("a reply of some length", usage={"input_tokens": 11, "output_tokens": 7})]) as (claude, stub):
        heard: list[str] = []
        reply = claude.reply(request(), listen=heard.append)
    assert "".join(heard) == reply.text == "a reply of some length"
    assert len(heard) > 1
    assert (reply.stop_reason, reply.usage) == ("end_turn", Usage(input_tokens=11, output_tokens=7))
    assert (reply.source, reply.dollars, reply.id) == ("live", None, "")
    assert stub.tally.tokens == reply.usage.total


def test_cached_tokens_are_counted_apart():
    told = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}
    with asked([StubReply("x", usage=told)]) as (claude, _):
        usage = claude.reply(request()).usage
    assert usage == Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4)


def test_blocks_come_back_as_they_came():
    blocks = [
        {"type": "thinking", "thinking": "let me see, let me see", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "open", "input": {"path": "z.py", "lines": [1, 2]}},
        {"type": "block_of_the_future", "anything": {"goes": 1}},
    ]
    with asked([StubReply(blocks=blocks, stop_reason="tool_use")]) as (claude, _):
        reply = claude.reply(request())
    assert list(reply.content) == blocks
    assert reply.text == "I look."
    assert reply.stop_reason == "tool_use"


@pytest.mark.parametrize("count", [10**12, 10**30, 10**400, -1, 1.5, "7", None, True])
def test_a_count_that_no_call_can_have_is_as_good_as_none(count):
    with asked([StubReply("x", usage={"input_tokens": count, "output_tokens": count})]) as (claude, _):
        usage = claude.reply(request()).usage
    assert 0 < usage.output_tokens < 1_000
    assert usage.total < 10_000


@pytest.mark.parametrize("text", ['{"path": "z', "[1]", "not json"])
def test_a_tool_call_whose_input_is_no_object_keeps_its_text_and_the_usage(text):
    events = (
        'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n'
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
        '{"type":"tool_use","id":"t","name":"open","input":{}}}\n\n'
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        f'{{"type":"input_json_delta","partial_json":{_quoted(text)}}}}}\n\n'
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},'
        '"usage":{"output_tokens":9}}\n\n'
        'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    )
    raw = StubReply(raw=events.encode(), headers={"content-type": "text/event-stream"})
    with asked([raw]) as (claude, _):
        reply = claude.reply(request())
    assert reply.content == ({"type": "tool_use", "id": "t", "name": "open", "input": {}, "malformed_input": text},)
    assert reply.usage == Usage(input_tokens=5, output_tokens=9)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.mark.parametrize("levels", [201, 900, 3_000, 200_000])
def test_a_tool_call_whose_input_is_nested_too_deep_keeps_its_text_and_is_settled(levels, tmp_path):
    text = '{"a":' + "[" * levels + "]" * levels + "}"
    with asked([_tool_call(text)]) as (claude, stub):
        log = Recording(tmp_path / "calls.jsonl", claude)
        first, again = log.reply(request()), log.reply(request())
    assert first.content == again.content == Replay(tmp_path / "calls.jsonl").reply(request()).content
    assert (first.content[0]["input"], first.content[0][MALFORMED]) == ({}, text)
    assert stub.tally.requests == len(log.calls()) == 1


def test_a_tool_call_as_deep_as_is_kept_comes_back_as_it_came(tmp_path):
    text = '{"a":' + "[" * 190 + "]" * 190 + "}"
    with asked([_tool_call(text)]) as (claude, _):
        log = Recording(tmp_path / "calls.jsonl", claude)
        replies = log.reply(request()), log.reply(request())
    assert [reply.content[0]["input"] for reply in replies] == [json.loads(text)] * 2


def _tool_call(text: str) -> StubReply:
    """A tool call with this text for its input, as the events of a stream."""
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "w"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 50}},
        {"type": "message_stop"},
    ]
    data = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return StubReply(raw=data.encode(), headers={"content-type": "text/event-stream"})


def test_what_we_add_to_a_malformed_tool_call_is_not_sent_back():
    turn = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}, "malformed_input": "x"}],
    }
    with asked(["ok"]) as (claude, stub):
        claude.reply(Request(model="m", system="", messages=(turn,), about=ABOUT))
    assert stub.requests[0]["messages"][0]["content"] == [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]


def test_a_server_that_does_not_stream_is_understood():
    body = b'{"content":[{"type":"text","text":"whole"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}'
    with asked([StubReply(raw=body)]) as (claude, _):
        heard: list[str] = []
        reply = claude.reply(request(), listen=heard.append)
    assert (reply.text, heard, reply.usage) == ("whole", ["whole"], Usage(input_tokens=3, output_tokens=2))


def test_a_server_that_counts_no_cached_tokens_is_understood():
    told = {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}
    with asked([StubReply("x", usage=told)]) as (claude, _):
        assert claude.reply(request()).usage == Usage(input_tokens=5, output_tokens=6)


@pytest.mark.parametrize("count", [None, "many", -1, True, 2.5])
def test_tokens_that_a_server_does_not_count_are_bounded_and_never_zero(count):
    usage = {"input_tokens": count, "output_tokens": count}
    for name in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        usage[name] = None
    script = StubReply(raw=_json_reply("é" * 50, usage))
    with asked([script]) as (claude, _):
        reply = claude.reply(request())
    assert reply.usage.input_tokens == request().input_bytes
    assert reply.usage.output_tokens >= 100


def _stream(start: dict[str, object], end: dict[str, object], text: str = "é" * 50) -> StubReply:
    events = [
        {"type": "message_start", "message": {"usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return StubReply(raw=body.encode(), headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(
    ("start", "end", "tokens_in", "least_out"),
    [
        ({"input_tokens": None, "cache_read_input_tokens": 0, "output_tokens": 1}, {"output_tokens": 30}, None, 30),
        ({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}, {"output_tokens": 30}, None, 30),
        ({"input_tokens": 7, "output_tokens": 1}, {}, 7, 100),
        ({"input_tokens": 7, "output_tokens": 1}, {"output_tokens": 0}, 7, 100),
        ({"input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 1}, {"output_tokens": 30}, 0, 30),
        ({}, {"input_tokens": 7, "output_tokens": 30}, 7, 30),
    ],
)
def test_what_a_server_does_not_count_is_counted_at_the_most_that_it_can_be(start, end, tokens_in, least_out):
    """The start of a stream says that a token has come out; where nothing is said at its end, that is no count."""
    with asked([_stream(start, end)]) as (claude, _):
        usage = claude.reply(request()).usage
    assert usage.input_tokens == (request().input_bytes if tokens_in is None else tokens_in)
    assert usage.output_tokens == least_out if least_out == 30 else usage.output_tokens >= least_out


def _json_reply(text: str, usage: dict[str, object]) -> bytes:
    told = {name: value for name, value in usage.items() if value is not None}
    return json.dumps({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": told}).encode()


def test_the_nonce_is_filled_in_at_sending_and_put_back_in_the_reply():
    with asked(lambda sent: sent["messages"][0]["content"].replace("say", "said")) as (claude, stub):
        reply = claude.reply(request(f"say {NONCE} twice: {NONCE}", nonce="f00dfeed"))
    assert stub.requests[0]["messages"][0]["content"] == "say f00dfeed twice: f00dfeed"
    assert reply.text == f"said {NONCE} twice: {NONCE}"


# What is sent


def test_schema_and_effort_and_cache_marks_are_sent():
    with asked(["ok"]) as (claude, stub):
        claude.reply(request(schema=SCHEMA, effort="low", tools=({"name": "f", "input_schema": {"type": "object"}},)))
    (sent,) = stub.requests
    assert sent["output_config"]["effort"] == "low"
    assert sent["output_config"]["format"]["schema"]["required"] == ["score"]
    assert sent["system"] == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert sent["tools"][0]["name"] == "f"
    assert (sent["stream"], sent["max_tokens"]) == (True, 8192)


def test_what_was_not_asked_for_is_not_sent():
    with asked(["ok"]) as (claude, stub):
        claude.reply(Request(model="m", system="", messages=({"role": "user", "content": "hi"},), about=ABOUT))
    assert set(stub.requests[0]) == {"model", "max_tokens", "messages", "stream"}


@pytest.mark.parametrize(
    "open_part", [{"type": "object"}, {"type": "object", "additionalProperties": {"type": "string"}}, {}]
)
def test_a_schema_with_an_open_object_is_not_sent_since_it_could_only_come_back_empty(open_part):
    schema = {"type": "object", "properties": {"args": open_part}, "required": ["args"]}
    with asked(["ok"]) as (claude, stub):
        claude.reply(request(schema=schema))
    assert "output_config" not in stub.requests[0]


def refusing(*words: str) -> Callable[[dict], StubReply]:
    """A server that answers 400 to any request that holds one of these fields."""

    def script(sent: dict) -> StubReply:
        found = [word for word in words if f"'{word}'" in str(sent)]
        return (
            error(400, "invalid_request_error", f"{found[0]}: Extra inputs are not permitted")
            if found
            else StubReply("ok")
        )

    return script


def test_a_server_that_refuses_output_config_is_asked_without_it_and_remembered():
    with asked(refusing("output_config")) as (claude, stub):
        claude.reply(request(schema=SCHEMA))
        claude.reply(request(schema=SCHEMA))
    assert [("output_config" in sent) for sent in stub.requests] == [True, False, False]
    assert all("cache_control" in str(sent) for sent in stub.requests)


def test_a_model_that_takes_no_effort_keeps_its_schema():
    with asked(refusing("effort")) as (claude, stub):
        claude.reply(request(schema=SCHEMA, effort="high"))
    assert "effort" not in stub.requests[-1]["output_config"]
    assert "format" in stub.requests[-1]["output_config"]


def test_a_refusal_that_names_nothing_drops_all_that_can_be_done_without():
    def script(sent: dict) -> StubReply:
        plain = isinstance(sent["system"], str) and "output_config" not in sent
        return StubReply("ok") if plain else error(422, "", "unprocessable")

    with asked(script) as (claude, stub):
        assert claude.reply(request(schema=SCHEMA, effort="low")).text == "ok"
    assert len(stub.requests) == 2


def test_a_refusal_for_another_reason_is_told_and_nothing_is_remembered():
    with asked([error(400, "", "prompt is too long"), error(400, "", "prompt is too long"), "ok"]) as (claude, stub):
        with pytest.raises(ModelFailed, match="prompt is too long"):
            claude.reply(request(schema=SCHEMA))
        claude.reply(request(schema=SCHEMA))
    assert "output_config" in stub.requests[2]


def test_the_refusal_of_one_schema_does_not_drop_another():
    other = {**SCHEMA, "properties": {"score": {"type": "integer"}}}
    with asked(refusing("number")) as (claude, stub):
        claude.reply(request(schema=SCHEMA))
        claude.reply(request(schema=other))
    assert "output_config" in stub.requests[-1]


# What goes wrong


@pytest.mark.parametrize(
    ("reply", "fact", "move"),
    [
        (error(401, "authentication_error", "invalid x-api-key"), "does not accept the key", "%pge key"),
        (error(403, "permission_error"), "may not use claude-opus-5-5", "%pge model"),
        (error(402, "billing_error"), "no credit", "Add credit"),
        (error(400, "invalid_request_error", "Your credit balance is too low"), "no credit", "Add credit"),
        (error(400, "invalid_request_error"), "refused the request", "%pge resume"),
        (error(404, "not_found_error", "model: claude-opus-5-5"), "has no model claude-opus-5-5", "%pge model"),
        (StubReply(status=404, raw=b"<html>Not here</html>"), "no Messages API", "ANTHROPIC_BASE_URL"),
        (error(413, "request_too_large"), "too large", "Shorten"),
        (error(429, "rate_limit_error", headers={"retry-after": "7"}), "asks to wait 7 seconds", "%pge resume"),
        (error(500, "api_error"), "failed", "%pge resume"),
        (error(529, "overloaded_error"), "overloaded", "%pge resume"),
    ],
)
def test_a_refusal_is_told_in_plain_words_with_a_next_move(reply, fact, move):
    told = failed(lambda _: reply)
    assert fact in told.fact
    assert move in told.next_move
    assert not isinstance(told, CallBroken)


def test_words_of_a_service_that_quote_the_key_are_redacted():
    assert "[redacted]" in failed([error(401, "authentication_error", f"the key {KEY} is wrong")]).fact


def test_the_sdk_retries_what_was_not_billed():
    script = [error(529, "overloaded_error", headers={"retry-after": "0.01"}), "ok"]
    with asked(script, retries=1) as (claude, stub):
        assert claude.reply(request()).text == "ok"
    assert stub.tally.requests == 2


def test_a_service_that_asks_for_a_long_wait_is_not_waited_for():
    began = time.monotonic()
    told = failed([error(429, "rate_limit_error", headers={"retry-after": "3600"})], retries=2)
    assert "3600" in told.fact
    assert time.monotonic() - began < 5


def test_a_request_that_may_have_been_billed_is_not_sent_again():
    late = [StubReply("x", delay=1.0)]
    with asked(late, retries=2, timeout=0.2) as (claude, stub), pytest.raises(CallBroken, match="in time") as caught:
        claude.reply(request())
    assert (stub.tally.requests, caught.value.usage) == (1, None)


def test_a_stream_that_is_cut_tells_the_usage_that_was_known():
    cut = [StubReply("a long reply " * 9, cut_after_events=6, usage={"input_tokens": 40})]
    with asked(cut) as (claude, stub), pytest.raises(CallBroken, match="broke off") as caught:
        claude.reply(request())
    assert caught.value.usage == Usage(input_tokens=40, output_tokens=1)
    assert stub.tally.tokens == caught.value.usage.total


def test_a_stream_that_is_cut_anywhere_is_never_taken_for_a_whole_one():
    whole = 1_900  # bytes of the stream, about
    for cut in range(0, whole - 200, 150):
        told = failed([StubReply("a long reply " * 9, cut_after_bytes=cut)])
        assert isinstance(told, CallBroken)


def test_a_stream_that_stalls_is_broken_off_with_its_usage():
    told = failed([StubReply("a long reply " * 9, pause=0.5)], timeout=0.3)
    assert isinstance(told, CallBroken)
    assert told.usage is not None


def test_an_error_in_the_middle_of_a_stream_is_a_broken_call():
    start = (
        b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n'
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
    told = failed([StubReply(raw=start, headers={"content-type": "text/event-stream"})])
    assert isinstance(told, CallBroken)
    assert told.usage == Usage(input_tokens=5, output_tokens=1)
    assert "Overloaded" in told.fact


def test_a_stream_that_begins_with_an_error_was_not_billed():
    start = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    told = failed([StubReply(raw=start, headers={"content-type": "text/event-stream"})])
    assert "overloaded" in told.fact
    assert not isinstance(told, CallBroken)


@pytest.mark.parametrize(
    "body", [b"", b"data: nonsense\n\n", b"event: message_start\ndata: {nonsense\n\n", b"event: x\ndata: 3\n\n"]
)
def test_a_stream_of_nonsense_is_a_broken_call(body):
    assert isinstance(failed([StubReply(raw=body, headers={"content-type": "text/event-stream"})]), CallBroken)


@pytest.mark.parametrize(
    "body", ["null", "[]", "{}", "3", '"words"', '{"content": null}', '{"content": "words"}', "<html>Hi</html>"]
)
@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=utf-8"])
def test_an_answer_that_is_no_message_is_no_empty_reply(body, kind, tmp_path):
    script = [StubReply(raw=body.encode(), headers={"content-type": kind})]
    with asked(script) as (claude, _), pytest.raises(CallBroken, match="gave no readable answer") as caught:
        log = Recording(tmp_path / "calls.jsonl", claude)
        log.reply(request())
    assert "ANTHROPIC_BASE_URL" in caught.value.next_move
    assert not caught.value.passing  # the same page would come again
    assert [call.why for call in log.unfinished()] == [caught.value.fact]  # it may have been billed, and counts in full
    assert log.calls() == ()


def test_a_reply_without_any_text_is_one_all_the_same():
    with asked([StubReply(raw=b'{"content":[],"stop_reason":"end_turn"}')]) as (claude, _):
        assert claude.reply(request()).text == ""


def test_an_error_that_comes_with_status_200_is_what_it_says():
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    assert isinstance(failed([StubReply(raw=body)]), NotNow)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_passes_by_itself_says_so(status):
    told = failed([error(status, headers={"retry-after": "7"})])
    assert isinstance(told, NotNow)
    assert (told.after, told.met) == (7.0, True)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_what_a_person_must_change_is_not_for_later(status):
    told = error(status, "invalid_request_error", headers={"retry-after": "7"})
    assert not isinstance(failed(lambda _: told), NotNow)


def test_an_account_without_credit_is_not_for_later_whatever_its_status():
    said = "Your credit balance is too low"
    for told in (error(400, "invalid_request_error", said), error(429, "billing_error", said)):
        assert not isinstance(failed(lambda _, told=told: told), NotNow)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0.0),
        ("2.5", 2.5),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 99999999 07:28:00 GMT", None),
        ("9" * 5_000, None),
        ("\u0663", 3.0),
        ("1e300", 30 * 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 30 * 86_400.0),
    ],
)
def test_a_time_to_wait_is_read_or_left_out(said, seconds):
    assert wait_asked({"retry-after": said}) == seconds


def test_a_time_to_wait_may_come_in_milliseconds_or_as_a_date():
    assert wait_asked({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert wait_asked({"retry-after": at}) == pytest.approx(90, abs=5)
    assert wait_asked({}) is None


@pytest.mark.parametrize("said", ["-1", "nan", "inf", "soon", "Wed, 21 Oct 99999999 07:28:00 GMT", "1e300"])
def test_an_absurd_time_to_wait_neither_fails_nor_keeps_the_sdk(said):
    began = time.monotonic()
    told = failed([error(429, "rate_limit_error", headers={"retry-after": said})] * 2, retries=1)
    assert isinstance(told, NotNow)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("reply", "passing"),
    [
        (StubReply("a long reply " * 9, cut_after_events=4), True),
        (StubReply("a long reply " * 9, cut_after_bytes=40), True),
        (StubReply(raw=b'{"content":[{"type":"text","te', headers={"content-length": "5000"}), True),
        (StubReply(raw=b'{"content":[{"type":"text","te'), False),
    ],
)
def test_a_reply_that_was_lost_on_the_way_may_be_asked_for_again(reply, passing):
    told = failed([reply], timeout=1.0)
    assert isinstance(told, CallBroken)
    assert told.passing == passing


def test_a_server_that_is_not_there_is_told():
    with MessagesStub("ok") as gone:
        url = gone.url
    with (
        anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0) as client,
        pytest.raises(ModelFailed, match="cannot be reached") as caught,
    ):
        Claude(client=client).reply(request())
    assert "ANTHROPIC_BASE_URL" in caught.value.next_move
    assert isinstance(caught.value, NotNow)
    assert not caught.value.met


# Stopping


def test_a_stop_in_the_middle_of_a_stream_ends_the_call_and_the_connection():
    heard: list[str] = []
    with asked([StubReply("word " * 400, pause=0.02)]) as (claude, stub):
        with pytest.raises(CallStopped) as caught:
            claude.reply(request(), listen=heard.append, stop=lambda: len(heard) >= 3)
        assert len(heard) == 3
        assert caught.value.usage is not None
        assert eventually(lambda: stub.tally.cut == 1)


def test_a_stop_before_the_first_byte_does_not_wait_for_it():
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with asked([StubReply("late", delay=2.0)]) as (claude, _):
        with pytest.raises(CallStopped):
            claude.reply(request(), stop=stop.is_set)
        assert time.monotonic() - began < 1.5


def test_a_call_that_is_not_stopped_ends_as_without_it():
    with asked(["a whole reply"]) as (claude, _):
        assert claude.reply(request(), stop=lambda: False).text == "a whole reply"


def test_an_error_reaches_the_caller_also_where_it_could_be_stopped():
    with asked([error(401, "authentication_error")]) as (claude, _), pytest.raises(ModelFailed, match="key"):
        claude.reply(request(), stop=lambda: False)


def eventually(claim: Callable[[], bool], seconds: float = 3.0) -> bool:
    until = time.monotonic() + seconds
    while not claim() and time.monotonic() < until:
        time.sleep(0.01)
    return claim()


# Keys


@pytest.fixture
def no_profile(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("no_profile")
def test_without_a_key_it_is_said_before_any_call_what_to_do():
    with pytest.raises(ModelFailed, match="no API key") as caught:
        Claude().reply(request())
    for move in ("%pge key", "ANTHROPIC_API_KEY", "practice"):
        assert move in caught.value.next_move
    with pytest.raises(ModelFailed, match="no API key"):
        Claude().ready()


@pytest.mark.usefixtures("no_profile")
def test_a_server_of_one_s_own_needs_no_key(monkeypatch):
    with MessagesStub("ok") as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        claude = Claude()
        assert claude.reply(request()).text == "ok"
        claude.close()


def test_a_key_handed_over_is_used_and_never_shown(monkeypatch):
    with MessagesStub("ok") as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        claude = Claude(key=KEY + "\n")
        claude.reply(request())
        claude.close()
    assert KEY in str(stub.headers[0])
    assert KEY not in repr(claude)


def test_half_a_character_in_a_text_is_sent_as_a_replacement_character():
    with asked(["ok"]) as (claude, stub):
        assert claude.reply(request("half \ud83d, whole \ud83d\ude00", nonce=None)).text == "ok"
    assert stub.requests[0]["messages"][0]["content"] == "half \ufffd, whole 😀"


def test_a_key_that_cannot_be_sent_is_told_without_showing_it(monkeypatch):
    with MessagesStub("ok") as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        claude = Claude(key="sk-ant-0123456789\nabcdef")
        with pytest.raises(ModelFailed, match="cannot be sent") as caught:
            claude.reply(request())
        claude.close()
    assert "0123456789" not in str(caught.value)
    assert not isinstance(caught.value, CallBroken)


# The bill


def test_the_log_bills_what_the_service_did_and_its_bound_covers_what_was_lost(tmp_path):
    """Refusals, retries, a cut stream, a stop: the settled calls cost what the stub billed for them, to the token."""
    cut = StubReply("a long reply " * 9, cut_after_events=8)
    script = [
        error(529, "overloaded_error", headers={"retry-after": "0.01"}),
        "first",
        error(401, "authentication_error"),
        "second",
        cut,
        StubReply("third", usage={"cache_read_input_tokens": 500, "cache_creation_input_tokens": 70}),
    ]
    with asked(script, retries=1) as (claude, stub):
        log = Recording(tmp_path / "calls.jsonl", claude)
        for number in range(5):
            with suppress(ModelFailed):
                log.reply(request(f"call {number}"))
        again = Recording(tmp_path / "calls.jsonl", claude)
        assert [again.reply(request(f"call {number}")).text for number in (0, 2, 4)] == ["first", "second", "third"]
    (broken,) = log.unfinished()
    assert broken.usage is not None
    assert sum(call.usage.total for call in log.calls()) + broken.usage.total == stub.tally.tokens
    assert (len(log.calls()), stub.tally.requests, stub.tally.cut) == (3, 6, 1)
    assert stub.tally.tokens <= log.spent().tokens
