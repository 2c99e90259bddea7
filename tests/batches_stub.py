"""A loopback stub of the Message Batches API, which can be slow, busy, and drop lines.

    with BatchesStub(lambda custom_id, params: "PASS", looks=2, trouble={"create": [529]}) as stub:
        ...
    stub.batches  # the requests of every batch that was taken

``looks``: so often a batch is in progress when it is looked at. ``trouble``: what befalls the next calls of a kind (create, look,
replies): a status, "drop" (the line drops before an answer), "cut" (in the middle of it) or None. Replies come last first.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KINDS = {429: "rate_limit_error", 529: "overloaded_error", 404: "not_found_error", 413: "request_too_large"}
Trouble = int | str | None
Answer = Callable[[str, dict[str, Any]], "str | dict[str, Any] | None"]


class BatchesStub:
    """``answer`` gives a text, a whole outcome, or None for a request that the replies leave out."""

    def __init__(
        self, answer: Answer, *, looks: int = 0, trouble: Mapping[str, Sequence[Trouble]] | None = None
    ) -> None:
        self._answer = answer
        self._looks = looks
        self._trouble = {kind: list(those) for kind, those in (trouble or {}).items()}
        self._lock = threading.Lock()
        self.batches: dict[str, list[dict[str, Any]]] = {}
        self.looked: dict[str, int] = {}
        self.calls: list[str] = []
        self.replies: dict[str, list[bytes]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"stub": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def befalls(self, kind: str) -> Trouble:
        with self._lock:
            self.calls.append(kind)
            those = self._trouble.get(kind) or []
            return those.pop(0) if those else None

    def take(self, body: bytes) -> dict[str, Any]:
        requests = json.loads(body)["requests"]
        names = [one["custom_id"] for one in requests]
        assert len(set(names)) == len(names)
        with self._lock:
            batch = f"msgbatch_{len(self.batches) + 1}"
            self.batches[batch] = requests
            lines = [(one["custom_id"], self._answer(one["custom_id"], one["params"])) for one in requests]
            self.replies[batch] = [
                json.dumps({"custom_id": name, "result": outcome(said)}, ensure_ascii=False).encode() + b"\n"
                for name, said in reversed(lines)
                if said is not None
            ]
        return self.shown(batch)

    def look(self, batch: str) -> dict[str, Any]:
        with self._lock:
            self.looked[batch] = self.looked.get(batch, 0) + 1
        return self.shown(batch)

    def shown(self, batch: str) -> dict[str, Any]:
        is_over = self.looked.get(batch, 0) > self._looks
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        return {
            "id": batch,
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "request_counts": counts,
            "created_at": "2026-12-01T00:00:00Z",
            "expires_at": "2026-12-02T00:00:00Z",
            "ended_at": None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{self.url}/v1/messages/batches/{batch}/results" if is_over else None,
        }


def outcome(said: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(said, dict):
        return said
    message = {
        "id": "msg_stub",
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": [{"type": "text", "text": said}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1_000, "output_tokens": 100},
    }
    return {"type": "succeeded", "message": message}


def errored(kind: str, message: str = "the reason") -> dict[str, Any]:
    return {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": message}}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: BatchesStub

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.partition("?")[0] != "/v1/messages/batches":
            self._refuse(404)
            return
        trouble = self.stub.befalls("create")
        if trouble == "cut":  # it was taken, and nobody was told
            self.stub.take(body)
            trouble = "drop"
        self._send(trouble, lambda: json.dumps(self.stub.take(body)).encode())

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].removeprefix("/v1/messages/batches/").split("/")
        if parts[0] not in self.stub.batches:
            self._refuse(404)
        elif len(parts) == 1:
            self._send(self.stub.befalls("look"), lambda: json.dumps(self.stub.look(parts[0])).encode())
        else:
            self._send(self.stub.befalls("replies"), lambda: b"".join(self.stub.replies[parts[0]]))

    def _refuse(self, status: int) -> None:
        kind = KINDS.get(status, "api_error")
        body = json.dumps({"type": "error", "error": {"type": kind, "message": "as scripted"}}).encode()
        self._write(status, body, len(body))

    def _send(self, trouble: Trouble, body: Callable[[], bytes]) -> None:
        if isinstance(trouble, int):
            self._refuse(trouble)
        elif trouble == "drop":
            self._hang_up()
        else:
            sent = body()
            self._write(200, sent if trouble is None else sent[: len(sent) * 2 // 3], len(sent))
            if trouble == "cut":
                self._hang_up()

    def _write(self, status: int, body: bytes, length: int) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
