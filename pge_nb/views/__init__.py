"""The views of a run: what ``%pge`` shows of its plan, contracts, evaluations, trajectory, decisions and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .. import frames
from ..display import Block, Cell, Fold, Mark, Table, Verbatim, View, Words
from ..pauses import clock
from ..prose import counted, few
from ..records import EvaluationReport, Interruption, Note, Proposal, Receipt, Response, Section, StepContract
from ..results import graded_again
from ..run import Run
from .costs import bill, cost_table, or_none, roles_table, rounds_table
from .ends import foot as foot
from .ends import open_questions
from .evaluations import beside_view as beside_view
from .evaluations import evaluations_view as evaluations_view
from .findings import findings_tables
from .plans import plan_blocks
from .trajectories import at, chart, trajectory_blocks, worth_drawing
from .whole import view_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series


MANY_STEPS = 6
"""Steps beyond which the findings of those that passed are left to a view of their own."""
WORTH_DRAWING = 4
"""Steps from which the plan is drawn in the view of the whole run too."""


def run_view(run: Run) -> View:
    """The whole run: a row a step with its checks, attempts and verdict; the rest folded."""
    cost = frames.cost(run)
    folds: list[Block] = [_findings(run)]
    if any(len(run.evaluations(step.number)) > 1 for step in run.every_step):
        drawn = chart(run, worth_drawing(frames.trajectory(run)))
        folds.append(Fold(summary="Scores by attempt", blocks=(drawn,), see="%pge show trajectory"))
    criteria = run.plan.criteria if run.plan else ()
    folds += [
        Fold(
            summary=f"Plan: {_steps_told(run)}, {counted(len(criteria), 'criterion', 'criteria')}",
            blocks=tuple(plan_blocks(run, drawn=len(run.every_step) >= WORTH_DRAWING)),
            see="%pge show plan",
        ),
        Fold(summary=bill(cost), blocks=(cost_table(cost),), see="%pge show cost"),
        *_noted(run),
    ]
    return view_of(run, "run", [_steps(run), *_standing(run), *(folds if run.plan else [])], frames.plan(run))


def _noted(run: Run) -> Iterator[Block]:
    """What the harness met with that stopped nothing: a registry or trace that cannot be written, a torn end of the file."""
    sections = [section for section in run.of("note") if section.record.by == "harness"]
    notes = [section.payload.text for section in sections if isinstance(section.payload, Note)]
    if notes:
        yield Fold(summary=counted(len(notes), "note"), blocks=tuple(map(Words, few(notes))))


def stopped_view(run: Run) -> View:
    """A run that was just stopped: a row a step, and why it stopped. Nothing is drawn: whoever stopped it is not to wait."""
    return view_of(run, "run", [_steps(run), *_standing(run)], frames.plan(run))


def _steps_told(run: Run) -> str:
    """How many steps the plan in force has, and how many others stand in the tables."""
    replaced = len(run.every_step) - len(run.steps)
    return counted(len(run.steps), "step") + (f" and {replaced:,} that were cut into others" if replaced else "")


def _findings(run: Run) -> Fold:
    """The findings of what stands for each step; of many steps, of those that did not pass."""
    failed = [step.number for step in run.every_step if _failed(run, step.number)]
    if len(run.every_step) <= MANY_STEPS:
        summary, blocks = "Findings", list(findings_tables(run, standing=True))
    elif failed:
        summary = f"Findings: what did not pass in {counted(len(failed), 'step')}"
        blocks = [block for step in failed for block in findings_tables(run, step, standing=True)]
    else:
        summary, blocks = (
            "Findings",
            [Words("Every check and every threshold holds in what was judged last of each step.")],
        )
    return Fold(summary=summary, blocks=tuple(blocks), see="%pge show evaluations")


def _failed(run: Run, step: int) -> bool:
    """Whether what stands for a step, or was tried last, did not pass; not where nothing was judged yet."""
    reports = [run.reported(step), *reversed(run.evaluations(step).values())]
    return next((report.verdict != "pass" for report in reports if report), False)


def plan_view(run: Run) -> View:
    """The plan drawn, its steps and criteria."""
    return view_of(run, "plan", list(plan_blocks(run)), frames.plan(run))


def contract_view(run: Run, step: int | None = None, check: str | None = None) -> View:
    """The contract of one step or of all: deliverables, checks (or one of them), and how it came to stand."""
    steps = [run.step(step).number] if step is not None else [one.number for one in run.every_step]
    blocks = [block for one in steps for block in _contract(run, one, check)]
    frame = frames.checks(run)
    blocks = blocks or [Words("No contract was negotiated yet.")]
    return view_of(run, "contract", blocks, frame[frame["step"].isin(steps)])


def trajectory_view(run: Run, step: int | None = None) -> View:
    """Scores by attempt as a picture, and as numbers."""
    return view_of(run, "trajectory", list(trajectory_blocks(run, step)), at(frames.trajectory(run), step))


def decisions_view(run: Run, step: int | None = None) -> View:
    """What the harness did after each evaluation, and why."""
    frame = at(frames.decisions(run), step)
    rows = [
        (_after(row.step, row.attempt), Mark(str(row.action)), or_none(row.stands), str(row.reason))
        for row in frame.itertuples()
    ]
    table = Table(caption="Decisions", heads=("After attempt", "Decision", "Stands", "Reason"), rows=tuple(rows))
    return view_of(run, "decisions", [table] if rows else [Words("Nothing was decided yet.")], frame)


def _after(step: object, attempt: object) -> str:
    """The attempt after which something was decided; the step alone where there was none."""
    return f"{step}" if or_none(attempt) is None else f"{step}.{attempt}"


def cost_view(run: Run, step: int | None = None, attempt: int | None = None) -> View:
    """Calls, tokens, dollars and time by phase, role and round: of the whole run, of a step, or of one attempt at it."""
    frame = at(frames.cost(run).assign(attempt=_attempt_of), step, attempt).drop(columns="attempt")
    rounds = Fold(summary="By step and round", blocks=(rounds_table(frame),))
    return view_of(run, "cost", [Words(bill(frame)), cost_table(frame), roles_table(frame), rounds], frame)


def _attempt_of(frame: DataFrame) -> Series:
    """The attempt that a row of costs belongs to; missing for the plan and the negotiation."""
    return frame["round"].where(frame["phase"].isin(["generate", "evaluate"]))


def prompt_view(run: Run, parts: Sequence[tuple[str, str]]) -> View:
    """What an agent is sent, byte for byte: labelled texts; a label without a text is a heading."""
    blocks = tuple(Verbatim(label=label, text=text) if text else Words(label) for label, text in parts)
    return view_of(run, "prompt", blocks, None)


def _standing(run: Run) -> Iterator[Block]:
    """What a run that has not ended waits for."""
    asked = open_questions(run)
    for _, question in asked:
        yield Words(f"Question: {question.text} Answers: {', '.join(question.choices)}.")
    last = run.last.payload if run.last else None
    if run.last and isinstance(last, Interruption):
        how = f"Paused until {clock(last.until, run.last.at)}," if last.until else "Interrupted"
        yield Words(f"{how} in {last.phase}: {last.reason}")
    elif isinstance(last, Receipt) and last.outcome.startswith("stopped"):
        # One thing at a time: the answer is kept, and the run then says what it needs to go on.
        yield Words(f"After the answer: {last.outcome}" if asked else last.outcome[0].upper() + last.outcome[1:])


# Blocks


def _steps(run: Run) -> Block:
    rows = []
    for step in run.every_step:
        attempts = run.attempts(step.number)
        attempt = run.accepted(step.number) or max(attempts, default=0)
        report = run.regrade(step.number) or (run.evaluation(step.number, attempt) if attempt else None)
        rows.append(
            (
                step.number,
                step.description,
                _met(run, step.number, report),
                len(attempts),
                *_stands(run, step.number, report),
            )
        )
    heads = ("Step", "Work", "Checks met", "Attempts", "Verdict", "Stands")
    if not rows:
        return Words(f"Task: {run.task.prompt}")
    return Table(caption="Steps", heads=heads, rows=tuple(rows))


def _met(run: Run, step: int, report: EvaluationReport | None) -> Cell:
    """How many checks of the contract hold; None where nothing was measured, which is another thing than none."""
    contract = run.contract(step)
    found = [one.verdict for one in report.findings if one.about == "check"] if report else []
    if contract is None or set(found) <= {"unmeasured"}:
        return None
    return f"{found.count('pass')} of {len(contract.checks)}"


def _stands(run: Run, step: int, report: EvaluationReport | None) -> tuple[Cell, Cell]:
    accepted, state = run.accepted(step), run.state(step)
    verdict = Mark(report.verdict) if report else None
    said = (f"attempt {accepted} {state}", graded_again(run, step)) if accepted else (state,)
    return verdict, ", ".join(filter(None, (*said, _though(state, report))))


def _though(state: str, report: EvaluationReport | None) -> str:
    """Why a step stands as it does though its checks, or its verdict, would let one think otherwise; empty where they do not."""
    if report is None:
        return ""
    if report.verdict == "pass":
        return "failed at the gate" if state == "kept" else ""
    if any(one.about == "check" and one.verdict != "pass" for one in report.findings):
        return ""
    low = [one.on for one in report.findings if one.verdict == "fail"]
    return f"too low: {', '.join(low)}" if low else ""


def _contract(run: Run, step: int, only: str | None = None) -> Iterator[Block]:
    contract = run.contract(step)
    if contract is None:
        yield Words(f"Step {step} has no contract yet.")
        return
    rows = tuple((check.id, check.says, check.method) for check in contract.checks if only in (None, check.id))
    yield Table(caption=f"Step {step}: {_origin(contract)}", heads=("Check", "Says", "Decided by"), rows=rows)
    yield Words("Deliverables: " + (", ".join(contract.deliverables) or "whatever files it takes"))
    rounds = tuple(_rounds_of_talk(run, step))
    if rounds:
        table = Table(caption="Negotiation", heads=("Round", "By", "What", "Checks"), rows=rounds)
        yield Fold(summary=f"Negotiation of step {step}", blocks=(table, *_notes_of_talk(run, step)))


def _origin(contract: StepContract) -> str:
    return contract.origin if contract.agreed else f"{contract.origin} (not agreed)"


def _talk(run: Run, step: int) -> list[Section]:
    return sorted([*run.of("proposal", step), *run.of("response", step)], key=lambda section: section.seq)


def _notes_of_talk(run: Run, step: int) -> Iterator[Words]:
    """What was sent back in a negotiation, and why; what was mended without asking is in the state file alone."""
    for section in _talk(run, step):
        for note in getattr(section.payload, "notes", ()):
            if note.startswith(("sent back: ", "vague, ")):
                yield Words(f"Round {section.record.round}, {section.record.by}: {note}.")


def _rounds_of_talk(run: Run, step: int) -> Iterator[tuple[Cell, ...]]:
    for section in _talk(run, step):
        payload = section.payload
        if isinstance(payload, Proposal):
            yield section.record.round, "generator", "proposal", len(payload.checks)
        elif isinstance(payload, Response):
            checks = len(payload.checks) if payload.checks is not None else None
            yield (
                section.record.round,
                "evaluator",
                f"{'agreed' if payload.agreed else 'amended'}: {payload.reason}",
                checks,
            )
