"""Claude, or any server that speaks the Messages API at ``ANTHROPIC_BASE_URL``, through the anthropic SDK.

Replies are streamed. What a server or model does not take (a schema, an effort, cache marks) is left out after its first
refusal, which costs nothing, and stays left out. The SDK retries only what cannot have been billed, so that one
reservation covers every try: an answer with an error, or a connection that never came about.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Generator, Mapping, Set
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import ModelFailed
from ..payloads import Json, all_mended, compact
from ..redaction import Redactor
from . import NONCE, CallBroken, CallStopped, Listen, Reply, Request, Stop
from .failures import UNREADABLE, ErrorEvent, Lost, explain, no_key, unsendable, wait_asked
from .gathered import MALFORMED, Gathered, fields
from .polled import StopAsked, hang_up, polled

if TYPE_CHECKING:
    import anthropic

LONGEST_WAIT = 60.0
"""A service that asks to wait longer than this, in seconds, is not waited for within a call: the run pauses instead."""

FRESH = {"connection": "close"}
"""A connection for each call: one that was kept may have been closed, which looks like a call that was lost."""

Extra = tuple[str, str, str]
"""Something that a request can do without: its name (effort, schema, cache), the model, and which schema."""


class Claude:
    """Asks the Messages API. The SDK is imported and the client made on the first call.

    ``client`` is an ``anthropic.Anthropic`` of one's own, which the caller closes; ``key`` an API key handed over at run
    time. Else the environment's credentials are used.
    """

    def __init__(self, *, client: anthropic.Anthropic | None = None, key: str | None = None) -> None:
        self._given = client
        self._key = key.strip() if key else None
        self._client: anthropic.Anthropic | None = None
        self._redact: Redactor | None = None
        self._refused: set[Extra] = set()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "Claude()"  # The default one of a client would show its key.

    def close(self) -> None:
        """Close the connections of a client that was made here."""
        if self._client is not None and self._given is None:
            self._client.close()
            self._client = None

    def ready(self) -> None:
        """``ModelFailed`` where there is no key; asks nobody."""
        self.connected()

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        """One streamed turn. ``ModelFailed`` costs nothing; ``CallBroken`` and ``CallStopped`` carry the usage so far."""
        client = self.connected()
        began = time.monotonic()
        got = Gathered()
        opened: list[Any] = []
        try:
            for event in polled(self._events(client, request, opened), stop, lambda: hang_up(opened)):
                text = got.take_message(event) if event.get("type") == "message" else got.take(event)
                if text and listen is not None:
                    listen(text)
        except StopAsked:
            raise CallStopped("The call was stopped.", "%pge resume asks again.", got.usage()) from None
        except Exception as error:
            raise self.explained(error, request, got) from None
        if not got.begun:
            raise self.explained(Lost(UNREADABLE, passing=False), request, got)
        if not got.whole:
            raise CallBroken(
                f"The reply of {self._place(client)} ended in the middle.",
                "%pge resume asks again.",
                got.usage(),
                passing=True,
            )
        return whole_reply(got, request, time.monotonic() - began)

    def count(self, request: Request) -> int:
        """The tokens of a request's input, as the service counts them. Nothing is asked of the model, and it costs nothing.

        ``ModelFailed`` where the service does not count.
        """
        client, sdk = self.connected(), import_sdk()

        def ask(sent: dict[str, Any]) -> Any:
            return client.messages.count_tokens(**sent, extra_headers=FRESH)

        try:
            counted = getattr(self._taken(request, ask, without={"max_tokens"}), "input_tokens", None)
        except sdk.NotFoundError:
            counted = None
        except Exception as error:
            raise self.explained(error, request) from None
        if not isinstance(counted, int):
            raise ModelFailed(
                f"{self._place(client)} counts no tokens for {request.model}.",
                "--dry-run alone tells how many bytes it is.",
            )
        return counted

    # The client

    def connected(self) -> anthropic.Anthropic:
        """The client, made at the first call. ``ModelFailed`` where there is no key."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> anthropic.Anthropic:
        sdk = import_sdk()
        try:
            client = self._given or (sdk.Anthropic(api_key=self._key) if self._key else sdk.Anthropic())
        except (sdk.AnthropicError, ValueError) as error:
            raise ModelFailed(
                f"The settings for Claude cannot be used: {Redactor().sentence(str(error))}",
                "Check the ANTHROPIC_ variables of the environment.",
            ) from None
        if not has_credentials(client):
            if client.base_url.host == "api.anthropic.com":
                client.close()
                raise no_key()
            client = client.with_options(api_key="none")  # A server of one's own may want none; the SDK wants one.
        self._redact = Redactor(keys=[secret for secret in (client.api_key, client.auth_token) if secret])
        return client.with_middleware(retry_only_unbilled(sdk))

    def explained(self, error: Exception, request: Request, got: Gathered | None = None) -> ModelFailed:
        """The failure that an exception stands for; ``got`` is what had come of the reply."""
        assert self._client is not None  # noqa: S101 - there was a call
        assert self._redact is not None  # noqa: S101 - made with the client
        return explain(
            error,
            model=request.model,
            place=self._place(self._client),
            redact=self._redact,
            begun=got is not None and got.begun,
            usage=got.usage() if got else None,
        )

    @staticmethod
    def _place(client: anthropic.Anthropic) -> str:
        """The server's name, without any credentials that its URL may hold."""
        url = client.base_url
        return url.host if url.port is None else f"{url.host}:{url.port}"

    # One call

    def _events(
        self, client: anthropic.Anthropic, request: Request, opened: list[Any]
    ) -> Generator[dict[str, Json], None, None]:
        """The events of the reply; a whole message where the server does not stream. The stream is put into ``opened``."""
        import httpx2

        with self._opened(client, request) as stream:
            opened.append(stream)
            try:
                if "json" in stream.response.headers.get("content-type", ""):
                    yield message_in(stream.response.read())
                    return
                for event in stream.raw_events(stream.response):
                    if event.data:
                        yield told(event.data)
            except httpx2.TimeoutException:
                raise Lost("stopped in the middle of its answer") from None
            except (httpx2.HTTPError, httpx2.StreamError):
                raise Lost("closed the connection in the middle of its answer") from None
            except (ValueError, RecursionError):
                raise Lost(UNREADABLE, passing=False) from None

    def _opened(self, client: anthropic.Anthropic, request: Request) -> Any:
        """The stream of a request that the server took."""
        return self._taken(request, lambda sent: client.messages.create(**sent, stream=True, extra_headers=FRESH))

    def _taken(self, request: Request, ask: Callable[[dict[str, Any]], Any], without: Set[str] = frozenset()) -> Any:
        """What ``ask`` gives for a request that the server took, without what it refuses. ``without``: arguments not to give."""
        sdk = import_sdk()
        extras = [extra for extra in extras_of(request) if extra not in self._refused]
        while True:
            sent = body(request, {name for name, _, _ in extras})
            try:
                given = ask({name: value for name, value in sent.items() if name not in without})
            except (sdk.BadRequestError, sdk.UnprocessableEntityError) as error:
                refused = blamed(str(error), extras)
                if not refused:
                    raise
                extras = [extra for extra in extras if extra not in refused]
            else:
                # Only now is it known that they were what was wrong.
                self._refused |= {extra for extra in extras_of(request) if extra not in extras}
                return given


def whole_reply(got: Gathered, request: Request, seconds: float = 0.0) -> Reply:
    """The reply to a request that has come in whole; ``seconds`` is what it took, where that is known."""
    return Reply(
        content=tuple(replaced(block, request.nonce, NONCE) for block in got.content),
        stop_reason=got.stop_reason or "unknown",
        usage=got.usage_or_most(request.input_bytes),
        seconds=seconds,
    )


def message_in(body: bytes) -> dict[str, Json]:
    """The whole message of a server that does not stream. Without content it is none, and no empty reply either."""
    message = told(body)
    if not isinstance(message.get("content"), list):
        raise Lost(UNREADABLE, passing=False)
    return {**message, "type": "message"}


def told(data: str | bytes) -> dict[str, Json]:
    """An event, as it was sent: the SDK's own types would drop what they do not know. ``ErrorEvent`` where it is one."""
    event = json.loads(data)
    if not isinstance(event, dict):
        raise Lost(UNREADABLE, passing=False)
    if event.get("type") == "error":
        error = fields(event.get("error"))
        raise ErrorEvent(str(error.get("type", "")), str(error.get("message", "")))
    return event


def import_sdk() -> ModuleType:
    """The anthropic SDK, which takes a second or two to import."""
    import anthropic

    return anthropic


def has_credentials(client: anthropic.Anthropic) -> bool:
    """Whether a client has anything to authenticate with. One without is made gladly and fails obscurely at the call."""
    headers = {name.lower() for name, value in client.default_headers.items() if isinstance(value, str) and value}
    found = client.api_key or client.auth_token or client.credentials
    return bool(found) or bool(headers & {"authorization", "x-api-key"})


def retry_only_unbilled(sdk: ModuleType) -> Callable[..., Any]:
    """Middleware for each try: keep the SDK from a retry after a loss that may have been billed, and from long waits."""
    import httpx2

    def once(request: Any, call_next: Callable[[Any], Any]) -> Any:
        try:
            response = call_next(request)
        except (UnicodeError, httpx2.LocalProtocolError):
            raise unsendable() from None
        except sdk.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.LocalProtocolError | UnicodeError):
                raise unsendable() from None
            if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
                raise
            is_late = isinstance(error, sdk.APITimeoutError)
            raise Lost("did not answer in time" if is_late else "closed the connection without an answer") from None
        headers = response.http_response.headers
        after = wait_asked(headers)
        if after is None:
            for name in ("retry-after", "retry-after-ms"):  # the SDK fails at a date that is none
                headers.pop(name, None)
        elif after > LONGEST_WAIT:
            headers["x-should-retry"] = "false"
        return response

    return once


def extras_of(request: Request) -> list[Extra]:
    """What a request holds that a server may refuse."""
    extras: list[Extra] = []
    if request.effort:
        extras.append(("effort", request.model, request.effort))
    if request.schema is not None and constraint(request.schema) is not None:
        digest = hashlib.sha256(compact(dict(request.schema)).encode()).hexdigest()
        extras.append(("schema", request.model, digest))
    if request.system:
        extras.append(("cache", request.model, ""))
    return extras


def blamed(message: str, extras: list[Extra]) -> list[Extra]:
    """The extras that a refusal names; all of them where it names none."""
    words = {"effort": ("effort",), "schema": ("output_config", "format", "schema", "structured"), "cache": ("cache",)}
    message = message.lower()
    named = [extra for extra in extras if any(word in message for word in words[extra[0]])]
    return named or extras


def constraint(schema: Mapping[str, Json]) -> dict[str, Any] | None:
    """The schema in the form that the API takes; None where it cannot be said in it."""
    if not is_closed(dict(schema)):
        return None
    try:
        form: dict[str, Any] = import_sdk().transform_schema(dict(schema))
    except ValueError:
        return None
    return form


def is_closed(schema: Json) -> bool:
    """Whether a schema says the fields of every object in it.

    The API constrains a reply to the fields that are said: an object left open could only come back empty.
    """
    if isinstance(schema, list):
        return all(is_closed(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and (not schema.get("properties") or schema.get("additionalProperties")):
        return False
    return all(is_closed(item) for item in schema.values())


def body(request: Request, extras: set[str]) -> Any:
    """The arguments of ``messages.create``, the nonce filled in. Half a character, which has no UTF-8, is sent as U+FFFD."""
    sent: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [replaced(sendable(message), NONCE, request.nonce) for message in request.messages],
    }
    if request.system:
        block = {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
        sent["system"] = [block] if "cache" in extras else request.system
    if request.tools:
        sent["tools"] = [dict(tool) for tool in request.tools]
    config: dict[str, Any] = {"effort": request.effort} if "effort" in extras else {}
    if "schema" in extras and request.schema is not None:
        config["format"] = {"type": "json_schema", "schema": constraint(request.schema)}
    return all_mended({**sent, "output_config": config} if config else sent)


def sendable(value: Any) -> Any:
    """A message without the field that `Gathered` adds to a tool call whose input was no JSON."""
    if isinstance(value, Mapping):
        return {name: sendable(item) for name, item in value.items() if name != MALFORMED}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def replaced(value: Any, old: str | None, new: str | None) -> Any:
    """The JSON value with ``old`` replaced in every string; as it is where either is None."""
    if not old or new is None:
        return value
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, Mapping):
        return {name: replaced(item, old, new) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(item, old, new) for item in value]
    return value
