"""Frozen values, one for each kind of section of a state file; and `Run`, the read-only view over them.

Values store what was said and done; ``seconds`` is the wall time of the phase that made a record, replays included. What can be
computed from it (trend, status, trajectory) is computed, never stored; the one exception is an evaluation's verdict, which the
file tells its reader in words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from .payloads import Json, compact
from .study_records import STUDY_KINDS, Card, Label, Look, Rater, Split, Study

Role = Literal["planner", "generator", "evaluator"]
Purpose = Literal["gate", "kept", "drift", "noise", "canary"]
Verdict = Literal["pass", "fail", "unmeasured"]
Weight = Literal["high", "standard", "low"]
Approach = Literal["first", "refine", "pivot"]
Action = Literal["accept", "refine", "pivot", "keep", "replan", "ask", "advance", "stop"]
Choice = Literal["retry", "keep", "advance", "stop", "approve"]
Amended = Literal["contract", "generate", "evaluate"]
Source = Literal["live", "recording", "practice"]

WEIGHTS: Mapping[str, int] = {"high": 3, "standard": 2, "low": 1}
INLINE_BYTES = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """Text that may be long. ``text`` is the whole of it where ``sha256`` is None, else its first lines.

    ``size`` is in bytes of UTF-8; the whole of a long one is the object named ``sha256`` under ``.pge/objects/``.
    """

    text: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A file of a tree: its path relative to it, permission bits, content hash, and size in bytes."""

    path: str
    mode: int
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call, as the service counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens, read or written, cached or not."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A settled line of the call log that a record rests on.

    ``dollars`` is None where the model has no price. ``seconds`` and ``source`` tell where the reply came from and are left
    out when two files are compared.
    """

    id: str
    role: Role
    model: str
    usage: Usage
    dollars: float | None
    stop_reason: str
    seconds: float
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One testable sentence that decides "done", and the review method that looks (``judge``: the judge call decides)."""

    id: str
    says: str
    method: str = "judge"
    args: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """A quality scored from 0 to 10; below ``threshold`` fails, whatever its weight."""

    name: str
    description: str
    weight: Weight = "standard"
    threshold: float = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node of the plan. ``depends_on`` holds step numbers."""

    number: int
    description: str
    skill_type: str = "general"
    task_type: str = "general"
    depends_on: tuple[int, ...] = ()
    success: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a DataFrame, or a key of the dicts in a value: its type, and how often it holds nothing."""

    name: str
    dtype: str
    nulls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A variable of the person's notebook as read-only files. ``files`` begins with the one that holds it.

    ``content`` is a hash of the data, whatever form their file has; ``read`` the line of Python that gives them back;
    ``rows`` counts rows or items (None: it has none). ``index`` names the columns that are its index. ``shown`` are the rows
    that agents may see.
    """

    name: str
    kind: str
    files: tuple[FileRef, ...]
    content: str
    read: str
    rows: int | None = None
    columns: tuple[Column, ...] = ()
    index: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The person's prompt and the settings frozen for the run. ``run`` is the first 16 hex of the task's identity.

    ``rows``: so many of each input are shown to agents.
    """

    prompt: str
    run: str
    settings: Mapping[str, Json]
    files: tuple[FileRef, ...] = ()
    practice: str | None = None
    isolation: str = ""
    inputs: tuple[Input, ...] = ()
    rows: int = 0

    @property
    def input_files(self) -> tuple[FileRef, ...]:
        """The files of all inputs."""
        return tuple(file for one in self.inputs for file in one.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan:
    """What came of cutting one step into smaller ones: the numbers of those that take its place, and why.

    ``by`` is empty where the planner could not cut it; ``why`` is the planner's own word.
    """

    step: int
    by: tuple[int, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Scope, deliverables, steps and criteria. ``notes`` tell what was sent back, mended or cut.

    ``replan``: this plan is the one before with one step replaced, or not even that; None for a plan of its own.
    ``hints`` are what the planner was told of how skills did at earlier work.
    """

    title: str
    scope: str
    steps: tuple[Step, ...]
    deliverables: tuple[str, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    replan: Replan | None = None
    hints: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The generator's version of a step's contract."""

    deliverables: tuple[str, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The evaluator's answer to a proposal: agreed, or its own version (None where it gave none that is usable)."""

    agreed: bool
    reason: str
    deliverables: tuple[str, ...] | None = None
    checks: tuple[Check, ...] | None = None
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContract:
    """What one step must deliver and the checks that decide "done". ``origin`` tells how it came to stand."""

    deliverables: tuple[str, ...]
    checks: tuple[Check, ...]
    agreed: bool
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """Hidden inputs that the evaluator made for a contract: how many, and the hash of the file that holds them.

    ``sha256`` names a file under ``.pge/withheld/``; empty where none were made. ``confirmed``: a person has looked at them,
    and these are left.
    """

    count: int
    sha256: str
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    confirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A write that was not carried out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at a step. ``hash`` is the sha256 over the sorted (path, mode, sha256) of its deliverables."""

    approach: Approach
    why: str
    base: int | None
    files: tuple[FileRef, ...]
    hash: str
    log: Body
    missing: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Something that the harness itself opened or ran during one evaluation; ``id`` is issued by the harness.

    ``strength`` is "weak" where the generator could have made the outcome. ``replayed``: met again from the call log, not
    run here. ``picture`` names an object, a PNG of what was seen.
    """

    id: str
    method: str
    on: str
    says: str
    body: Body
    strength: str = "strong"
    replayed: bool = False
    picture: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rater's verdict on one check or criterion. ``score`` is None for a check, and where no usable score was given."""

    on: str
    about: Literal["check", "criterion"]
    verdict: Verdict
    why: str
    by: str
    score: float | None = None
    evidence: tuple[str, ...] = ()
    quote: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationReport:
    """One rater's verdict on one attempt. ``overall`` (0 to 10) is None unless everything was measured.

    ``unusable`` keeps the judge's raw text where it could not be used, even after the one repair request.
    """

    rater: str
    attempt_hash: str
    verdict: Verdict
    overall: float | None
    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...] = ()
    isolation: str = ""
    unusable: Body | None = None
    notes: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the harness does after an evaluation. ``attempt`` is the one accepted, kept or advanced with."""

    action: Action
    reason: str
    attempt: int | None = None
    numbers: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """What a person changes while a run goes on: limits that do not alter the task's identity, or words for one step.

    ``phase`` is empty for limits; else whom the words are for: the step's contract, its generator, or its evaluator.
    """

    limits: Mapping[str, Json]
    text: str = ""
    phase: Literal["", "contract", "generate", "evaluate"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the harness asks a person; the run pauses until it is answered."""

    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A person's answer to the last question of a step, or about the plan; ``text`` is told to whoever does it again."""

    choice: Choice
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """The run was stopped from outside, or by an error, in the middle of ``phase``.

    ``until``: a pause, since a service did not answer; from this time on (ISO 8601, UTC) it may be asked again.
    """

    reason: str
    phase: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that a reader should know and that decides nothing."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was spent up to here. ``unfinished`` counts calls that were reserved and never settled."""

    outcome: str
    calls: int
    tokens: int
    dollars: float | None
    unfinished: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What was taken out of a file when it was exported; its first section, so that it cannot be taken off.

    ``of`` is the head of the whole file, ``sections`` how many it had. ``removed``: kind of thing -> number of places.
    """

    of: str
    sections: int
    removed: Mapping[str, int]


Payload = (
    Task
    | Plan
    | Proposal
    | Response
    | StepContract
    | Withheld
    | Attempt
    | EvaluationReport
    | Decision
    | Amendment
    | Question
    | Answer
    | Interruption
    | Note
    | Receipt
    | Redaction
    | Rater
    | Label
    | Split
    | Look
    | Study
    | Card
)
KINDS: Mapping[str, type] = {
    "task": Task,
    "plan": Plan,
    "proposal": Proposal,
    "response": Response,
    "contract": StepContract,
    "withheld": Withheld,
    "attempt": Attempt,
    "evaluation": EvaluationReport,
    "decision": Decision,
    "amendment": Amendment,
    "question": Question,
    "answer": Answer,
    "interruption": Interruption,
    "note": Note,
    "receipt": Receipt,
    "redaction": Redaction,
    **STUDY_KINDS,
}
KIND_OF: Mapping[type, str] = {cls: kind for kind, cls in KINDS.items()}
assert set(KIND_OF) == set(get_args(Payload))  # noqa: S101 - a table that lacks a kind must not be imported


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A payload and where it belongs; what is handed to the state file to be appended."""

    payload: Payload
    by: str
    step: int | None = None
    attempt: int | None = None
    round: int | None = None
    purpose: Purpose | None = None

    @property
    def kind(self) -> str:
        """The section's kind, from the payload's type."""
        return KIND_OF[type(self.payload)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A record as it stands in the file: its number, hash and the time it was appended (ISO 8601, UTC)."""

    record: Record
    seq: int
    prev: str
    sha256: str
    at: str
    offset: int

    @property
    def payload(self) -> Payload:
        """The record's payload."""
        return self.record.payload


def attempt_hash(files: tuple[FileRef, ...]) -> str:
    """Sha256 (hex) over the sorted (path, mode, sha256) of the deliverables."""
    listed = sorted((file.path, file.mode, file.sha256) for file in files)
    return hashlib.sha256(compact(listed).encode()).hexdigest()


def text_body(text: str) -> Body:
    """A `Body` that holds all of a short text. For one that may be long use the object store's ``body``."""
    return Body(text=text, size=len(text.encode("utf-8", "surrogatepass")))
