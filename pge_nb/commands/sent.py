"""What an agent is sent, as labelled texts: nothing is left out, and nothing is made nicer; only secrets are marked."""

from __future__ import annotations

from ..models import Request
from ..payloads import Json, compact
from ..redaction import Redactor


def parts(request: Request) -> list[tuple[str, str]]:
    """What is sent, a text each under its label; the first label, without a text, says to whom, and how much it is."""
    about = request.about
    at = "" if about.step is None else f" {about.step}" if about.attempt is None else f" {about.step}.{about.attempt}"
    who = f"{about.role}, {about.phase}{at}"
    shown = [
        (f"{who}: model {request.model}, hash {request.hash[:16]}, at most {request.input_bytes:,} tokens in", ""),
        (f"{who}: system", request.system),
        *((f"{who}: {message['role']}", _text(message["content"])) for message in request.messages),
        *([(f"{who}: schema", compact(request.schema))] if request.schema is not None else []),
        *((f"{who}: tool {tool['name']}", compact(tool)) for tool in request.tools),
    ]
    redact = Redactor()  # a view is saved with the notebook, and a file of the person's may hold a key
    return [(label, redact.text(text)) for label, text in shown]


def _text(content: Json) -> str:
    return content if isinstance(content, str) else compact(content)
