"""What a trace tells of a call: its place in the run and what it used, never what was said."""

from __future__ import annotations

from ..payloads import Json
from . import Reply, Request
from .choose import is_practice


def asked_fields(request: Request) -> dict[str, Json]:
    """What is known before the reply."""
    about = request.about
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "pge_nb" if is_practice(request.model) else "anthropic",
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.agent.name": about.role,
        "pge.phase": about.phase,
        "pge.step": about.step,
        "pge.attempt": about.attempt,
        "pge.round": about.round,
        "pge.purpose": about.purpose,
        "pge.turn": about.turn,
        "pge.call": request.key,
    }


def reply_fields(reply: Reply, *, replayed: bool) -> dict[str, Json]:
    """What the reply tells. ``replayed``: it had come earlier, and was billed then.

    By the conventions all that was read counts as input, from the cache or not.
    """
    usage = reply.usage
    return {
        "gen_ai.response.finish_reasons": [reply.stop_reason],
        "gen_ai.usage.input_tokens": usage.total - usage.output_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "pge.dollars": reply.dollars,
        "pge.source": reply.source,
        "pge.replayed": replayed,
    }
