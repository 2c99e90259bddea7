"""What went wrong with a call, in plain words and with the next move."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from ..errors import ModelFailed
from ..records import Usage
from ..redaction import Redactor
from . import CallBroken, NotNow

LONGEST_QUOTE = 240
AGAIN = "%pge resume asks again."
UNREADABLE = "gave no readable answer"
PASSING = frozenset({"rate_limit_error", "overloaded_error", "api_error", "timeout_error"})
"""The API's words for what passes by itself."""
PASSING_STATUS = frozenset({408, 409, 429, 529})
"""Beside all from 500 on."""
MOST_ASKED = 30 * 86_400.0
"""Seconds; more is a mistake of the server."""


class Lost(Exception):
    """A request that went out and got no readable answer; what it was billed is not known. Says it in words.

    ``passing``: the connection was lost; else what came is nothing that can be read.
    """

    def __init__(self, said: str, *, passing: bool = True) -> None:
        super().__init__(said)
        self.passing = passing


class ErrorEvent(Exception):
    """An error that came as an event of a stream. ``kind`` is the API's word for it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.api_message = message


def no_key() -> ModelFailed:
    """There is nothing to authenticate with."""
    return ModelFailed(
        "There is no API key for Claude.",
        "%pge key asks for one, or set ANTHROPIC_API_KEY before the kernel starts; %pge model practice needs none.",
    )


def unsendable() -> ModelFailed:
    """A header cannot be written. The cause is left out, since it quotes the header."""
    return ModelFailed(
        "The request could not be made: the key, or a header, holds characters that cannot be sent.",
        "%pge key asks for the key again; check ANTHROPIC_CUSTOM_HEADERS.",
    )


def explain(
    error: Exception, *, model: str, place: str, redact: Redactor, begun: bool, usage: Usage | None
) -> ModelFailed:
    """The failure that an exception of the SDK or of its transport stands for.

    ``begun``: a part of the reply had come, so that the call was billed. The exception itself is not passed on: its
    request holds the key.
    """
    import anthropic

    if isinstance(error, ModelFailed):
        return error
    words = said(error, redact)
    if begun:
        return CallBroken(f"The reply of {place} broke off{words}.", AGAIN, usage, passing=is_passing(error))
    if isinstance(error, ErrorEvent):
        status = 400 if error.kind == "invalid_request_error" else 200
        return refused(error.kind, status, words, None, model=model, place=place)
    if isinstance(error, anthropic.APIStatusError):
        after = wait_asked(error.response.headers)
        asked = words if after is None else f"{words}; it asks to wait {after:.0f} seconds"
        return refused(str(error.type or ""), error.status_code, asked, after, model=model, place=place)
    if isinstance(error, anthropic.APIConnectionError):
        why = "no connection in time" if isinstance(error, anthropic.APITimeoutError) else "no connection"
        return NotNow(
            f"{place} cannot be reached: {why}.", "Check the network and ANTHROPIC_BASE_URL; " + AGAIN, met=False
        )
    if isinstance(error, Lost):
        move = AGAIN if error.passing else "Check ANTHROPIC_BASE_URL; " + AGAIN
        return CallBroken(f"{place} {error}.", move, passing=error.passing)
    return ModelFailed(f"The request to {place} could not be made{words}.", "Check the settings of the model.")


def refused(kind: str, status: int, words: str, after: float | None, *, model: str, place: str) -> ModelFailed:
    """An answer with an error, of the API's ``kind`` where it is told. It was not billed. ``after``: see `NotNow`."""
    if is_about_money(kind, status, words):
        return ModelFailed(
            f"{place} has no credit left for this key{words}.", "Add credit to the account; then " + AGAIN
        )
    if kind == "authentication_error" or status == 401:
        return ModelFailed(f"{place} does not accept the key{words}.", "%pge key asks for another one.")
    if kind == "permission_error" or status == 403:
        return ModelFailed(f"The key may not use {model} at {place}{words}.", "%pge model NAME chooses another model.")
    if kind == "not_found_error" or (status == 404 and "model" in words.lower()):
        return ModelFailed(f"{place} has no model {model}{words}.", "%pge model NAME chooses another one.")
    if status == 404:
        return ModelFailed(
            f"{place} has no Messages API there.", "ANTHROPIC_BASE_URL is the address without /v1/messages."
        )
    if kind == "request_too_large" or status == 413:
        return ModelFailed(f"The request is too large for {place}{words}.", "Shorten the task or its files.")
    if kind == "rate_limit_error" or status == 429:
        return NotNow(f"{place} takes no more requests for now{words}.", "Wait; then " + AGAIN, after)
    if kind == "overloaded_error" or status == 529:
        return NotNow(f"{place} is overloaded{words}.", "Wait; then " + AGAIN, after)
    if kind in PASSING or status in PASSING_STATUS or status >= 500:
        return NotNow(f"{place} failed (status {status}){words}.", "Wait; then " + AGAIN, after)
    return ModelFailed(f"{place} refused the request (status {status}){words}.", "Change what it names; then " + AGAIN)


def is_passing(error: Exception) -> bool:
    """Whether what broke a reply off is gone by itself after a while."""
    if isinstance(error, ErrorEvent):
        return error.kind in PASSING
    return isinstance(error, Lost) and error.passing


def wait_asked(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, told in milliseconds, in seconds or as a date; None where it tells none.

    More than a month counts as one.
    """
    told = [(headers.get("retry-after-ms"), 1_000.0), (headers.get("retry-after"), 1.0)]
    for text, in_a_second in told:
        try:
            seconds = float(text or "") / in_a_second
        except ValueError:
            continue
        return min(seconds, MOST_ASKED) if math.isfinite(seconds) and seconds >= 0 else None
    try:
        until = parsedate_to_datetime(headers.get("retry-after") or "").timestamp()
        return min(max(0.0, until - time.time()), MOST_ASKED)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def is_about_money(kind: str, status: int, words: str) -> bool:
    """Whether an account is out of credit. The Claude API says so with status 400 and in words alone."""
    return kind == "billing_error" or status == 402 or (status in (400, 403) and "credit balance" in words.lower())


def said(error: Exception, redact: Redactor) -> str:
    """The service's own words, short and without secrets, to stand after a sentence; empty where it has none."""
    words = getattr(error, "api_message", None) or (body_text(error) if hasattr(error, "body") else "")
    words = " ".join(redact.sentence(str(words)).split()).rstrip(".")
    return f": {words[:LONGEST_QUOTE]}" if words else ""


def body_text(error: Exception) -> str:
    """The body of an answer in another form than the API's."""
    body = getattr(error, "body", None)
    return (
        body if isinstance(body, str) and "<html" not in body.lower() else str(body) if isinstance(body, dict) else ""
    )
