"""The rows of calls and cost: those that records rest on, and those of the call log that none does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..phases import phase_of
from ..records import Attempt, Call, EvaluationReport, Plan, Proposal, Response, Section
from ..run import Run
from .rows import Row

if TYPE_CHECKING:
    from ..models.ledger import Ledger


def calls_rows(run: Run) -> Iterator[Row]:
    """The rows of ``calls``."""
    for section, call in _settled(run):
        record = section.record
        where = (_phase(section), call.role, record.step, record.attempt, record.round, record.purpose)
        yield *where, *_call(call), True
    yield from _unused(run)


def _phase(section: Section) -> str | None:
    phase = phase_of(section)
    return phase.name if phase else None


def _unused(run: Run) -> Iterator[Row]:
    """The rows of calls in the call log that no record rests on; their keys say what they were for."""
    cited = {call.id for _, call in _settled(run)}
    ledger = _ledger(run)
    for call in ledger.calls if ledger else ():
        if call.id not in cited:
            yield *_address(call.id), *_call(call), False
    for lost in ledger.open.values() if ledger else ():
        usage = lost.usage
        tokens = (
            (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
            if usage
            else (None,) * 4
        )
        yield *_address(lost.key), lost.model, lost.key, *tokens, lost.dollars, None, lost.why, None, False


def _ledger(run: Run) -> Ledger | None:
    path = run.root / ".pge" / "calls.jsonl" if run.root else None
    if path is None or not path.is_file():
        return None
    from ..models.calllog import CallLog
    from ..models.ledger import Ledger

    ledger = Ledger()
    for span, line in CallLog(path).new_lines():
        ledger.add(span, line)
    return ledger


def _address(key: str) -> Row:
    """Phase, role, step, attempt, round and purpose from a call's key."""
    role, phase, step, attempt, purpose, turn = [
        None if part == "-" else part for part in key.split("#", 1)[0].split("/")[:6]
    ]
    return phase, role, *(int(part) if part else None for part in (step, attempt, turn)), purpose


def _call(call: Call) -> Row:
    usage = call.usage
    tokens = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return call.model, call.id, *tokens, call.dollars, call.seconds, call.stop_reason, call.source


def _settled(run: Run) -> Iterator[tuple[Section, Call]]:
    for section in run.sections:
        payload = section.payload
        if isinstance(payload, Plan | Proposal | Response | Attempt | EvaluationReport):
            for call in payload.calls:
                yield section, call


def cost_rows(run: Run) -> Iterator[Row]:
    """The rows of ``cost``."""
    groups: dict[Row, list[Call]] = {}
    seconds: dict[Row, float] = {}
    for section in run.sections:
        payload, record = section.payload, section.record
        if not isinstance(payload, Plan | Proposal | Response | Attempt | EvaluationReport):
            continue
        turn = record.attempt if isinstance(payload, Attempt | EvaluationReport) else record.round
        roles: set[str] = {call.role for call in payload.calls}
        for role in sorted(roles or {record.by}):
            key: Row = (_phase(section), role, record.step, turn)
            groups.setdefault(key, []).extend(call for call in payload.calls if call.role == role)
            seconds[key] = seconds.get(key, 0.0) + payload.seconds
    for key, made in groups.items():
        yield (
            *key,
            *_sums(made),
            seconds[key],
            _names(call.model for call in made),
            _names(call.source for call in made),
        )
    if unused := list(_unused(run)):
        yield _total_unused(unused)


def _total_unused(rows: Sequence[Row]) -> Row:
    """One row of cost from rows of calls; what is not known of one is not known of all."""
    models, _, *amounts, seconds, _, sources, _ = [[row[i] for row in rows] for i in range(6, len(rows[0]))]
    sums = [None if None in amount else sum(amount) for amount in (*amounts, seconds)]  # type: ignore[arg-type]
    named = _names(str(source) for source in sources if source)
    return "unfinished", None, None, None, len(rows), *sums, _names(map(str, models)), named


def _sums(made: Sequence[Call]) -> Row:
    usages = [call.usage for call in made]
    return (
        len(made),
        sum(usage.input_tokens for usage in usages),
        sum(usage.output_tokens for usage in usages),
        sum(usage.cache_read_tokens for usage in usages),
        sum(usage.cache_write_tokens for usage in usages),
        dollars_of(made),
    )


def dollars_of(made: Iterable[Call]) -> float | None:
    """What calls cost together; None where one of them has no price."""
    dollars = [call.dollars for call in made]
    return None if None in dollars else sum(price for price in dollars if price is not None)


def _names(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))
