"""What a section says: a part for people, made from the record alone, and the same as one line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, cast

from .markdown import UNSEEN, fence, inline, said, table, visible
from .payloads import Json, Misfit, compact, decode
from .records import (
    KINDS,
    Amendment,
    Answer,
    Attempt,
    Body,
    Call,
    Check,
    Decision,
    EvaluationReport,
    Evidence,
    FileRef,
    Finding,
    Input,
    Interruption,
    Note,
    Payload,
    Plan,
    Proposal,
    Question,
    Receipt,
    Record,
    Redaction,
    Replan,
    Response,
    StepContract,
    Task,
    Withheld,
)
from .study_prose import STUDY_WRITERS

Lines = list[str]
COLUMNS_SHOWN = 50
"""Columns of an input that the part for people lists; the payload has them all."""
MOST_NOTES = 30


def few(listed: Sequence[str], most: int = MOST_NOTES) -> tuple[str, ...]:
    """What is kept of things said that a reply could have made many: the first ones, and how many more there were."""
    more = len(listed) - most
    return (*listed[:most], f"and {more:,} more") if more > 0 else tuple(listed)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, in the plural where it needs one; ``plural`` where that is not the noun with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def body(record: Record) -> bytes:
    """The body of the record's section."""
    return ("\n".join([*for_people(record), *fence(one_line(record.payload), "json")]) + "\n").encode()


def for_people(record: Record) -> Lines:
    """The section's heading and its part for people, in Markdown."""
    write = cast("Callable[[Any], Lines]", WRITERS[type(record.payload)])
    return [f"## {heading(record)}", "", *write(record.payload)]


def one_line(payload: Payload) -> str:
    """The payload as JSON on one line; characters that a reader would not see stand as JSON escapes."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", compact(payload))


def payload_of(kind: str, text: bytes) -> Payload:
    """The payload in a section's body: the line before the last. A ``Misfit`` says what does not fit."""
    if kind not in KINDS:
        raise Misfit(f"there is no kind {kind!r}")
    lines = text.decode().rsplit("\n", 4)
    if len(lines) < 4 or set(lines[-2]) != {"`"} or lines[-4] != lines[-2] + "json" or lines[-1]:
        raise Misfit("it does not end in a payload of one line")
    try:
        value = json.loads(lines[-3], parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Misfit(f"its payload is not JSON: {error}") from None
    return cast("Payload", decode(KINDS[kind], value))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def heading(record: Record) -> str:
    """The heading of the record's section; an evaluation's ends in its verdict."""
    payload = record.payload
    place = f"Step {record.step}" if record.step is not None else ""
    if record.attempt is not None:
        place += f", attempt {record.attempt}" if place else f"Attempt {record.attempt}"
    what = _title(payload)
    if record.purpose not in (None, "gate"):
        what = f"{what} ({record.purpose})"
    if record.round not in (None, 1) and not (isinstance(payload, Plan) and payload.replan):
        what = f"{what}, round {record.round}"
    if isinstance(payload, EvaluationReport):
        what = f"{what} {payload.verdict.upper()}"
    return f"{place}: {what}" if place else what[0].upper() + what[1:]


def _title(payload: Payload) -> str:
    if isinstance(payload, Task):
        return f"task {inline(payload.run, 40)}"
    if isinstance(payload, Plan):
        return f"plan: {inline(payload.title, 200)}" if payload.replan is None else replanned_in_words(payload.replan)
    if isinstance(payload, Attempt):
        return "first try" if payload.approach == "first" else payload.approach + _of(payload.base)
    if isinstance(payload, Decision):
        return payload.action
    if isinstance(payload, EvaluationReport):
        return "evaluation"
    if isinstance(payload, StepContract):
        return "contract"
    return type(payload).__name__.lower()


def _of(base: int | None) -> str:
    return "" if base is None else f" of attempt {base}"


# Parts that several kinds share


def _sentence(text: str) -> str:
    return inline(text).removesuffix(".") + "."


def _size(count: int) -> str:
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _number(value: Json) -> str:
    if isinstance(value, float):
        return f"{round(value, 2):g}"
    return inline(value if isinstance(value, str) else compact(value), 200)


def _files(files: Iterable[FileRef]) -> Lines:
    rows = [
        (inline(file.path), _size(file.size), f"{file.mode & 0o7777:o}", f"`{_hex(file.sha256)}`") for file in files
    ]
    return [*table(("File", "Size:", "Mode:", "sha256"), rows), ""] if rows else []


def _hex(digest: str) -> str:
    """A short hash; what is not one is shown as nothing that could end the code around it."""
    return "".join(char for char in digest[:12] if char in "0123456789abcdef") or "?"


def _bullets(label: str, texts: Sequence[str]) -> Lines:
    if not texts:
        return []
    return [f"**{label}**", "", *(f"- {inline(text)}" for text in texts), ""]


def _checks(checks: Sequence[Check] | None) -> Lines:
    if not checks:
        return []
    return ["**Checks**", "", *map(_check, checks), ""]


def _check(check: Check) -> str:
    how = inline(check.method, 40)
    if check.args:
        how += ": " + inline(compact(check.args), 200)
    return f"- **{inline(check.id, 40)}** {inline(check.says)} *({how})*"


def _mapping(titles: tuple[str, str], values: Mapping[str, Json]) -> Lines:
    rows = [
        (inline(name), inline(value if isinstance(value, str) else compact(value), 400))
        for name, value in values.items()
    ]
    return [*table(titles, rows), ""] if rows else []


def _text(label: str, text: str) -> Lines:
    return [f"**{label}**", "", *said(text), ""] if visible(text).strip() else []


def _body(label: str, long: Body) -> Lines:
    return [f"**{label}**{_rest_of(long)}", "", *_shown(long)] if visible(long.text).strip() else []


def _rest_of(long: Body) -> str:
    if long.sha256 is None:
        return ""
    return f" (the first lines of {_size(long.size)}; the whole is `.pge/objects/{_hex(long.sha256)}`...)"


def _shown(long: Body) -> Lines:
    return [*fence(long.text), ""] if visible(long.text).strip() else []


def _calls(calls: Sequence[Call]) -> Lines:
    if not calls:
        return []
    read = sum(call.usage.total - call.usage.output_tokens for call in calls)
    written = sum(call.usage.output_tokens for call in calls)
    prices = [call.dollars for call in calls if call.dollars is not None]
    cost = f"${sum(prices):.4f}".replace("$", "\\$") if len(prices) == len(calls) else "no price"
    models = ", ".join(dict.fromkeys(f"{inline(call.model, 80)} ({call.source})" for call in calls))
    number = counted(len(calls), "call")
    seconds = sum(call.seconds for call in calls)
    return [f"{number} to {models}: {read:,} tokens in, {written:,} out, {cost}, {seconds:.1f} s.", ""]


# One for each kind


def _task(task: Task) -> Lines:
    lines = _text("Prompt", task.prompt)
    if task.practice is not None:
        lines += [f"Practice task: {_sentence(task.practice)}", ""]
    if task.isolation:
        lines += [f"Isolation: {_sentence(task.isolation)}", ""]
    if task.files:
        lines += ["**Files at the start**", "", *_files(task.files)]
    for one in task.inputs:
        lines += _input(one)
    return lines + _mapping(("Setting", "Value"), task.settings)


def _input(one: Input) -> Lines:
    many = "" if one.rows is None else f", {counted(one.rows, 'row' if one.kind == 'DataFrame' else 'item')}"
    lines = [f"**Input {inline(one.name, 80)}** ({inline(one.kind, 40)}{many})", "", *_files(one.files)]
    rows = [(inline(column.name, 80), inline(column.dtype, 80), f"{column.nulls:,}") for column in one.columns]
    if rows:
        lines += [*table(("Column", "Type", "Nulls:"), rows[:COLUMNS_SHOWN]), ""]
    if len(rows) > COLUMNS_SHOWN:
        lines += [f"And {counted(len(rows) - COLUMNS_SHOWN, 'more column', 'more columns')}.", ""]
    return lines + _text("What agents may see of it", one.shown)


def replanned_in_words(replan: Replan) -> str:
    """What came of a replan, on a line."""
    if not replan.by:
        return f"step {replan.step} could not be cut into smaller ones"
    *most, last = map(str, replan.by)
    named = f"steps {', '.join(most)} and {last} stand" if most else f"step {last} stands"
    return f"{named} in place of step {replan.step}"


def _plan(plan: Plan) -> Lines:
    steps = [
        (
            str(step.number),
            inline(step.description),
            ", ".join(map(str, step.depends_on)) or "-",
            inline(step.skill_type, 60),
            inline(step.task_type, 60),
            inline("; ".join(step.success)),
        )
        for step in plan.steps
    ]
    criteria = [
        (inline(one.name, 80), one.weight, f"{one.threshold:g}", inline(one.description)) for one in plan.criteria
    ]
    lines = _text("Why", plan.replan.why) if plan.replan else []
    lines += _text("Scope", plan.scope) + _bullets("Deliverables", plan.deliverables)
    lines += [*table(("Step:", "What", "Needs", "Skill", "Task", "Done when"), steps), ""]
    if criteria:
        lines += [*table(("Criterion", "Weight", "Threshold:", "Means"), criteria), ""]
    return lines + _text("What was known of skills", plan.hints) + _bullets("Notes", plan.notes) + _calls(plan.calls)


def _proposal(proposal: Proposal) -> Lines:
    lines = _bullets("Deliverables", proposal.deliverables) + _checks(proposal.checks)
    return lines + _bullets("Notes", proposal.notes) + _calls(proposal.calls)


def _response(response: Response) -> Lines:
    own = response.checks is not None or response.deliverables is not None
    answer = (
        "Agreed."
        if response.agreed
        else "Not agreed; its own version:"
        if own
        else "Not agreed, and no version of its own."
    )
    lines = [answer, "", *_text("Reason", response.reason)]
    lines += _bullets("Deliverables", response.deliverables or ()) + _checks(response.checks)
    return lines + _bullets("Notes", response.notes) + _calls(response.calls)


def _contract(contract: StepContract) -> Lines:
    origin = contract.origin or ("agreed" if contract.agreed else "not agreed")
    return [
        _sentence(origin[0].upper() + origin[1:]),
        "",
        *_bullets("Deliverables", contract.deliverables),
        *_checks(contract.checks),
    ]


def _withheld(withheld: Withheld) -> Lines:
    confirmed = ", confirmed by a person" if withheld.confirmed else ""
    lines = [f"{counted(withheld.count, 'hidden input')} of the evaluator's own{confirmed}.", ""]
    lines += _text("Their file under .pge/withheld/", withheld.sha256)
    return lines + _bullets("Notes", withheld.notes) + _calls(withheld.calls)


def _attempt(attempt: Attempt) -> Lines:
    lines = _text("Why", attempt.why)
    lines += _files(attempt.files) or ["No files.", ""]
    if attempt.files:
        lines += [f"Hash of the attempt: `{_hex(attempt.hash)}`.", ""]
    lines += _bullets("Promised and missing", attempt.missing)
    lines += _bullets("Not written", [f"{one.path}: {one.reason}" for one in attempt.refused])
    return lines + _body("Work log", attempt.log) + _bullets("Notes", attempt.notes) + _calls(attempt.calls)


def _evaluation(report: EvaluationReport) -> Lines:
    overall = "not measured" if report.overall is None else f"{report.overall:.3g} of 10"
    lines = [f"Overall {overall}, by rater {inline(report.rater, 120)}.", ""]
    columns = ("On", "Score:", "Verdict", "Evidence", "Quote", "Why", "By")
    lines += [*table(columns, map(_finding, report.findings)), ""] if report.findings else ["No findings.", ""]
    if report.isolation:
        lines += [f"Isolation: {_sentence(report.isolation)}", ""]
    if report.unusable is not None:
        lines += _body("What the rater replied, and could not be used", report.unusable)
    lines += _folded(report.evidence)
    return lines + _bullets("Notes", report.notes) + _calls(report.calls)


def _finding(finding: Finding) -> Sequence[str]:
    why = f"{finding.why}. {finding.says}" if finding.says else finding.why
    return (
        f"**{inline(finding.on, 80)}**",
        "" if finding.score is None else f"{finding.score:g}",
        finding.verdict.upper(),
        inline(", ".join(finding.evidence), 200),
        inline(finding.quote, 200),
        inline(why),
        inline(finding.by, 80),
    )


def _folded(evidence: Sequence[Evidence]) -> Lines:
    """What was opened, folded away: it is long, and the findings above cite it by id."""
    if not evidence:
        return []
    number = counted(len(evidence), "piece of evidence", "pieces of evidence")
    opening = f"<details><summary>What the evaluator opened: {number}</summary>"
    return [opening, "", *(line for one in evidence for line in _evidence(one)), "</details>", ""]


def _evidence(one: Evidence) -> Lines:
    kind = "" if one.strength == "strong" else f", {inline(one.strength, 40)}"
    again = ", replayed, not run here" if one.replayed else ""
    how = f"{inline(one.method, 40)}{kind}{again}"
    title = f"**{inline(one.id, 40)}** on {inline(one.on, 80)}: {inline(one.says, 200)} ({how})"
    return [f"{title}{_rest_of(one.body)}", "", *_shown(one.body)]


def _decision(decision: Decision) -> Lines:
    which = "" if decision.attempt is None else f" attempt {decision.attempt}"
    numbers = ", ".join(f"{inline(name, 80)} {_number(value)}" for name, value in decision.numbers.items())
    sentence = f"{decision.action.capitalize()}{which}: {_sentence(decision.reason)}"
    return [sentence, "", *([f"In numbers: {numbers}.", ""] if numbers else [])]


def _amendment(amendment: Amendment) -> Lines:
    whom = {
        "": "In words",
        "contract": "To the contract",
        "generate": "To the generator",
        "evaluate": "To the evaluator",
    }
    return _mapping(("Limit", "New value"), amendment.limits) + _text(whom[amendment.phase], amendment.text)


def _question(question: Question) -> Lines:
    return [*said(question.text), "", f"Choices: {', '.join(question.choices)}.", ""]


def _answer(answer: Answer) -> Lines:
    return [f"**{answer.choice.capitalize()}**", "", *_text("Hint", answer.text)]


def _interruption(interruption: Interruption) -> Lines:
    phase = f" during {inline(interruption.phase)}" if interruption.phase else ""
    how = f"Paused until {inline(interruption.until, 40)}" if interruption.until else "Stopped"
    return [f"{how}{phase}: {_sentence(interruption.reason)}", ""]


def _note(note: Note) -> Lines:
    return [*said(note.text), ""]


def _receipt(receipt: Receipt) -> Lines:
    cost = "no price" if receipt.dollars is None else f"\\${receipt.dollars:.4f}"
    open_ones = f", {receipt.unfinished:,} unfinished" if receipt.unfinished else ""
    amounts = f"{counted(receipt.calls, 'call')}, {counted(receipt.tokens, 'token')}, {cost}{open_ones}"
    return [f"{inline(receipt.outcome)}: {amounts}.", ""]


def _redaction(redaction: Redaction) -> Lines:
    of = f"A redacted export of head `{_hex(redaction.of)}`, which has {counted(redaction.sections, 'section')}."
    return [of, "", f"Taken out: {inline(removed_in_words(redaction))}.", ""]


def removed_in_words(redaction: Redaction) -> str:
    """What was taken out, and how much."""
    said = [f"{what} ({counted(places, 'place')})" for what, places in redaction.removed.items()]
    return ", ".join(said) or "nothing"


WRITERS: Mapping[type, Callable[..., Lines]] = {
    Task: _task,
    Plan: _plan,
    Proposal: _proposal,
    Response: _response,
    StepContract: _contract,
    Withheld: _withheld,
    Attempt: _attempt,
    EvaluationReport: _evaluation,
    Decision: _decision,
    Amendment: _amendment,
    Question: _question,
    Answer: _answer,
    Interruption: _interruption,
    Note: _note,
    Receipt: _receipt,
    Redaction: _redaction,
    **STUDY_WRITERS,
}
