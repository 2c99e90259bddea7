"""The one way in which a judge is heard: its reply, one repair of what is faulty in it, and the claims that stand."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import Reply, Request
from ..records import Call
from ..verdict import Claim
from .equipment import Equipment, ask
from .judging import Docket, faulty, merged, read_claims, sent_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a judge said. ``unusable`` is its last raw text where something in it still could not be used."""

    claims: tuple[Claim, ...]
    unusable: str | None
    notes: tuple[str, ...]
    calls: tuple[Call, ...]


def hear(equipment: Equipment, request: Request, docket: Docket, *, reply: Reply | None = None) -> Heard:
    """Ask the judge about the docket. ``reply`` is one to ``request`` that came already, the last of several turns."""
    first: list[Claim] = []
    found: dict[str, str] = {}

    def read(reply: Reply) -> list[Claim]:
        first.extend(read_claims(reply.text, docket))
        found.update(faulty(first, docket))
        if found:
            raise sent_back(found, docket)
        return first

    def repaired(reply: Reply) -> list[Claim]:
        again = read_claims(reply.text, docket)
        return merged(first, again, found) if found else again

    asked = ask(equipment, request, read, repaired, reply=reply)
    claims = asked.value if asked.value is not None else first
    return Heard(
        claims=tuple(claims),
        unusable=asked.text if asked.value is None or faulty(claims, docket) else None,
        notes=tuple(f"sent back: {reason}" for reason in asked.reasons),
        calls=asked.calls,
    )
