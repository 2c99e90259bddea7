"""What a role works with, and the one way in which it asks a model: once, and once more to repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from ..config import WITH_TOOLS, HarnessConfig
from ..errors import BadInput
from ..models import Listen, Model, Reply, Request, Stop
from ..models.recording import Recording, call_of
from ..payloads import Json
from ..phases import number, takes_part
from ..records import Call, Role
from ..reviews import Review
from ..sandbox import isolation
from ..skills import Skill
from ..tracing import Span
from ..workspace import Objects
from .replies import Unusable

T = TypeVar("T")
REPAIR_SHOWN = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """The recorded model, the object store, the review methods, and who listens or may stop a call.

    ``allow_unsafe``: generated code may be run where no sandbox holds. ``closed`` are paths of the person's data, whose text is
    not shown to an agent that asks for it. ``skills`` are a person's own, for their functions: all else of them is in the file.
    ``trace`` is what the phases stand below in a trace.
    """

    model: Recording
    objects: Objects
    reviews: Mapping[str, Review]
    listen: Listen | None = None
    stop: Stop | None = None
    allow_unsafe: bool = False
    closed: frozenset[str] = frozenset()
    skills: Mapping[str, Skill] = field(default_factory=dict)
    trace: Span = field(default_factory=Span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Generic[T]):
    """What came of asking: ``value`` is None when neither the reply nor its repair could be used.

    ``reasons`` holds why, in order; ``calls`` every call made, ``text`` the last reply's raw text, ``cut`` whether that one,
    used or not, reached the limit on its length.
    """

    value: T | None
    reasons: tuple[str, ...]
    calls: tuple[Call, ...]
    text: str
    cut: bool = False


class Agent:
    """What the three roles share: equipment, or the means to open one when a role is used by itself.

    ``config`` and ``model`` matter to `run` alone: the harness hands the equipment in.
    """

    def __init__(
        self,
        equipment: Equipment | None = None,
        *,
        config: HarnessConfig | None = None,
        model: Model | None = None,
    ) -> None:
        self._equipment = equipment
        self.config = config
        self.model = model

    @property
    def equipment(self) -> Equipment:
        """The equipment; ``BadInput`` for a role that was given none and is not running."""
        if self._equipment is None:
            raise BadInput(
                f"This {type(self).__name__} has no equipment.",
                "Call its run(), or hand it the one that equip() gives.",
            )
        return self._equipment


def ask(
    equipment: Equipment,
    request: Request,
    read: Callable[[Reply], T],
    repaired: Callable[[Reply], T] | None = None,
    *,
    reply: Reply | None = None,
) -> Asked[T]:
    """Ask, and where ``read`` finds the reply unusable ask once more with the reason; ``repaired`` reads that second reply.

    ``reply`` is one to ``request`` that came already, the last of several turns: it is not asked for, nor among the calls.
    """
    calls: list[Call] = []
    reasons: list[str] = []
    if reply is None:
        reply = equipment.model.reply(request, listen=equipment.listen, stop=equipment.stop)
        calls.append(call_of(request, reply))
    try:
        return Asked(value=_read(reply, read), reasons=(), calls=tuple(calls), text=reply.text, cut=reply.cut)
    except Unusable as error:
        reasons.append(_reason(error, reply))
        again = repair(request, reply, f"{reasons[0]}.\n{error.again}")
    second = equipment.model.reply(again, listen=equipment.listen, stop=equipment.stop)
    calls.append(call_of(again, second))
    try:
        value: T | None = _read(second, repaired or read)
    except Unusable as error:
        reasons.append(_reason(error, second))
        value = None
    return Asked(value=value, reasons=tuple(reasons), calls=tuple(calls), text=second.text, cut=second.cut)


def _read(reply: Reply, read: Callable[[Reply], T]) -> T:
    """What a reply says; a refusal says nothing, whatever text it carries."""
    if reply.stop_reason == "refusal":
        raise Unusable("the model refused to reply")
    return read(reply)


def repair(request: Request, reply: Reply, reason: str) -> Request:
    """The one repair request: what was asked, what came, and why it could not be used."""
    # A service refuses an empty turn, and a weak model repeats a long one.
    came = reply.text.strip()[:REPAIR_SHOWN] or "(an empty reply)"
    said = f"Your reply could not be used: {reason}"
    messages = (*request.messages, {"role": "assistant", "content": came}, {"role": "user", "content": said})
    return replace(request, messages=messages, about=replace(request.about, turn=request.about.turn + 1))


def _reason(error: Unusable, reply: Reply) -> str:
    return f"{error} (it reached the limit on its length)" if reply.cut else str(error)


def isolation_of(settings: Mapping[str, Json], *, allow_unsafe: bool = False) -> str:
    """What keeps generated code from doing harm, in words; empty for a recording, of which nothing is run.

    ``SandboxUnavailable`` where nothing does, and nobody allowed that.
    """
    if settings.get("recording"):
        return ""
    return isolation(allow_unsafe=allow_unsafe or settings.get("allow_unsafe") is True)


def with_tools(settings: Mapping[str, Json], role: Role) -> bool:
    """Whether a role works with tools; a run that was begun before there were any does not."""
    return settings.get(WITH_TOOLS[role]) == "on"


def whole_of(settings: Mapping[str, Json]) -> Literal["", "contract", "prompt"]:
    """Whether the task is one step, and what its checks are then: for the practice model."""
    if takes_part(settings, "planner"):
        return ""
    return "contract" if takes_part(settings, "contract") else "prompt"


def turn_limits(settings: Mapping[str, Json]) -> dict[str, int]:
    """The limits of a phase with tools, as `loop.turns` takes them."""
    return {
        "most_turns": int(number(settings, "max_turns")),
        "most_tokens": int(number(settings, "max_context_tokens")),
    }


def model_of(settings: Mapping[str, Json], role: Role) -> str:
    """The model that a role uses."""
    models = settings["models"]
    if not isinstance(models, dict):
        raise TypeError("the setting models is no table of roles")
    return str(models[role])


def effort_of(settings: Mapping[str, Json], role: Role) -> str | None:
    """The effort that a role's calls ask for; None: the model's own default."""
    efforts = settings.get("effort")
    effort = efforts.get(role) if isinstance(efforts, dict) else None
    return str(effort) if effort is not None else None
