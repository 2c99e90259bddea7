"""A loopback stub of the Messages API, to send replies of any kind, hostile ones too, through the real client.

    with MessagesStub(lambda request: StubReply("PASS")) as stub:
        ...  # ANTHROPIC_BASE_URL=stub.url, any key
    stub.requests  # the body of every request
    stub.tally     # what it billed

A script is a callable that is given each request's JSON and returns a `StubReply` or a text, or a sequence of these, used
one after another (then status 500). It runs in a thread; an exception in it is raised again when the stub is closed.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class StubReply:
    """What the stub answers with.

    ``blocks`` (Messages-API content blocks) instead of ``text``. ``usage`` overrides the counted tokens (a field set to
    None is left out of the reply, as some servers do). ``status`` 400 and more answers with an error of type ``error``.
    ``delay`` is in seconds before the reply's first byte, ``pause`` between the events of a stream. The connection is
    dropped ``cut_after_bytes`` or ``cut_after_events`` into the body. ``raw`` is sent as the body, whatever it is.
    ``piece`` is the length of a text delta in characters.
    """

    text: str = ""
    _: KW_ONLY
    blocks: Sequence[Mapping[str, Any]] | None = None
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, Any] | None = None
    status: int = 200
    error: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    cut_after_bytes: int | None = None
    cut_after_events: int | None = None
    raw: bytes | None = None
    piece: int = 12

    @property
    def content(self) -> list[dict[str, Any]]:
        if self.blocks is not None:
            return [dict(block) for block in self.blocks]
        return [{"type": "text", "text": self.text}]


Script = Callable[[dict[str, Any]], "StubReply | str"] | Sequence["StubReply | str"]


@dataclass
class Tally:
    """What the stub billed: replies that a client could read the usage of, and the tokens in it.

    A stream that was cut bills the usage that it had told until then; nothing before ``message_start`` was out.
    """

    requests: int = 0
    billed: int = 0
    cut: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


class MessagesStub:
    """Serves ``POST /v1/messages`` on a free port of 127.0.0.1, as a stream or as plain JSON, until it is closed.

    ``POST /v1/messages/count_tokens`` is answered with ``count`` of the request, and kept apart, in ``counted``.
    """

    def __init__(
        self, script: Script = "ok", *, port: int = 0, count: Callable[[dict[str, Any]], StubReply | int] | None = None
    ) -> None:
        self._script = script
        self._count = count
        self.counted: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.tally = Tally()
        self.failures: list[BaseException] = []
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """The variables that lead the anthropic client here."""
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "stub-key-not-a-secret"}

    def start(self) -> Self:
        self._thread.start()
        return self

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.drop_connections()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *rest: object) -> None:
        self.close()
        if self.failures and kind is None:
            raise self.failures[0]

    def answer(self, request: dict[str, Any], headers: dict[str, str]) -> StubReply:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            self.headers.append(headers)
            self.tally.requests += 1
        try:
            reply = self._next(request, number)
        except Exception as error:  # told to the test, which would else only see a status
            self.failures.append(error)
            return StubReply(status=500, error="api_error", message=f"the script failed: {error!r}")
        return StubReply(reply) if isinstance(reply, str) else reply

    def count(self, request: dict[str, Any]) -> StubReply:
        with self._lock:
            self.counted.append(request)
        if self._count is None:
            return StubReply(status=404, error="not_found_error", message="no count_tokens here")
        said = self._count(request)
        return StubReply(raw=json.dumps({"input_tokens": said}).encode()) if isinstance(said, int) else said

    def _next(self, request: dict[str, Any], number: int) -> StubReply | str:
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, str):
            return self._script
        if number < len(self._script):
            return self._script[number]
        return StubReply(status=500, error="api_error", message="the script is used up")

    def bill(self, usage: Mapping[str, Any] | None, *, cut: bool = False, error: bool = False) -> None:
        with self._lock:
            self.tally.errors += error
            self.tally.cut += cut
            if usage is not None:
                self.tally.billed += 1
                self.tally.input_tokens += usage.get("input_tokens") or 0
                self.tally.output_tokens += usage.get("output_tokens") or 0
                self.tally.cache_read_tokens += usage.get("cache_read_input_tokens") or 0
                self.tally.cache_write_tokens += usage.get("cache_creation_input_tokens") or 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    stub: MessagesStub

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        for connection in list(self._open):
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what many tests are about; it is no error here."""


class _Cut(Exception):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            request = json.loads(body)
            self._answer(request, self.server.stub.count(request))
            return
        if path != "/v1/messages":
            self._send(404, _error("not_found_error", f"no {self.path} here"), {})
            return
        request = json.loads(body)
        reply = self.server.stub.answer(request, {name.lower(): value for name, value in self.headers.items()})
        time.sleep(reply.delay)
        try:
            self._answer(request, reply)
        except _Cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, request: dict[str, Any], reply: StubReply) -> None:
        bill = self.server.stub.bill
        if reply.status >= 400:
            bill(None, error=True)
            self._send(reply.status, _error(reply.error or "api_error", reply.message or "as scripted"), reply.headers)
        elif reply.raw is not None:
            self._send(reply.status, reply.raw, reply.headers)
        elif request.get("stream"):
            self._stream(reply, _usage(request, reply))
        else:
            usage = _usage(request, reply)
            cut = reply.cut_after_bytes is not None
            bill(None if cut else usage, cut=cut)
            message = {**_message(request, usage), "content": reply.content, "stop_reason": reply.stop_reason}
            self._send(200, json.dumps(message).encode(), reply.headers, cut=reply.cut_after_bytes)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], *, cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])
        if cut is not None:
            raise _Cut

    def _stream(self, reply: StubReply, usage: dict[str, Any]) -> None:
        self.send_response(200)
        for name, value in {
            "content-type": "text/event-stream",
            "transfer-encoding": "chunked",
            **reply.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self._told: dict[str, Any] | None = None
        try:
            whole = self._send_events(reply, usage)
        except OSError:  # the client went away
            whole = False
        self.server.stub.bill(self._told, cut=not whole)
        if not whole:
            raise _Cut

    def _send_events(self, reply: StubReply, usage: dict[str, Any]) -> bool:
        """Send the events until the end or the cut; whether all went out."""
        left = float("inf") if reply.cut_after_bytes is None else reply.cut_after_bytes
        for count, event in enumerate(_events(reply, usage)):
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            if count == reply.cut_after_events or left < len(data):
                if 0 < left < len(data):  # an empty chunk would be a proper end
                    self._chunk(data[: int(left)])
                return False
            self._chunk(data)
            left -= len(data)
            self._told = _told(self._told, event)
            time.sleep(reply.pause)
        self._chunk(b"")
        return True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _told(told: dict[str, Any] | None, event: dict[str, Any]) -> dict[str, Any] | None:
    """The usage that a client knows after this event."""
    if event["type"] == "message_start":
        return dict(event["message"]["usage"])
    if event["type"] == "message_delta":
        return {**(told or {}), **event["usage"]}
    return told


def _usage(request: dict[str, Any], reply: StubReply) -> dict[str, Any]:
    counted = {
        "input_tokens": max(1, len(json.dumps([request.get("system"), request.get("messages")])) // 4),
        "output_tokens": max(1, len(json.dumps(reply.content)) // 4),
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }
    merged = {**counted, **(reply.usage or {})}
    return {name: value for name, value in merged.items() if value is not None}


def _message(request: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "stub"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": dict(usage),
    }


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def _events(reply: StubReply, usage: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at_start = {**usage, "output_tokens": 1} if "output_tokens" in usage else usage
    yield {"type": "message_start", "message": _message({}, at_start)}
    yield {"type": "ping"}
    for index, block in enumerate(reply.content):
        empty, deltas = _deltas(block, reply.piece)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    at_end = {"output_tokens": usage["output_tokens"]} if "output_tokens" in usage else {}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reply.stop_reason, "stop_sequence": None},
        "usage": at_end,
    }
    yield {"type": "message_stop"}


def _deltas(block: dict[str, Any], size: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts in a stream, and what is added to it."""
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _pieces(block["text"], size)]
    if block["type"] == "tool_use":
        parts = _pieces(json.dumps(block["input"]), size)
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    if block["type"] == "thinking":
        thoughts = [{"type": "thinking_delta", "thinking": part} for part in _pieces(block["thinking"], size)]
        signed = {"type": "signature_delta", "signature": block.get("signature", "")}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
    return block, []


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
