"""What the reviews of an attempt find: claims on the checks that they decide, and the docket that is left to the judge."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from ..records import Check, Criterion, FileRef
from ..reviews import Outcome
from ..verdict import JUDGE, Claim
from ..workspace import EvidenceBook
from .judging import Docket, shared_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of looking at one check: whether it is met (None: the judge decides), and each look.

    A look is what was seen, and whether that was met again from the call log.
    """

    met: bool | None
    outcomes: tuple[tuple[Outcome, bool], ...]


def laid_out(
    checks: Sequence[Check],
    criteria: tuple[Criterion, ...],
    files: Sequence[FileRef],
    book: EvidenceBook,
    *,
    reviews: Container[str],
    look: Callable[[Check], Seen],
) -> tuple[tuple[Claim, ...], Docket]:
    """Look at the checks that ``reviews`` has a method for; issue what was seen, then the files, as evidence."""
    claims: list[Claim] = []
    for check in checks:
        if check.method == JUDGE or check.method not in reviews:
            continue
        seen = look(check)
        cited = tuple(_issued(book, check, outcome, replayed=replayed) for outcome, replayed in seen.outcomes)
        if seen.met is not None:
            claims.append(Claim(on=check.id, by=check.method, met=seen.met, evidence=cited))
    for file in files:
        text = book.objects.get(file.sha256).decode("utf-8", "replace")
        book.issue(method="artifact", on=file.path, says=f"opened {file.path}", text=text)
    decided = {claim.on for claim in claims}
    docket = Docket(
        checks=tuple(check for check in checks if check.id not in decided),
        criteria=criteria,
        evidence=book.issued,
        texts=shared_out(book.texts),
    )
    return tuple(claims), docket


def _issued(book: EvidenceBook, check: Check, outcome: Outcome, *, replayed: bool) -> str:
    """Issue what a review saw as evidence; its id."""
    return book.issue(
        method=check.method,
        on=check.id,
        says=outcome.says,
        text=outcome.saw,
        strength=outcome.strength,
        replayed=replayed,
        picture=b64decode(outcome.picture),
    ).id
