"""A person's word on the plan, or on each contract, where the run is to pause for it: what is asked, and what was said."""

from __future__ import annotations

from .phases import takes_part
from .prose import counted
from .records import Choice, Plan, Question, Record, StepContract
from .run import Run


def asked(run: Run, record: Record) -> tuple[Record, ...]:
    """The record, and the question about it where this run pauses for it; appended together, they cannot be torn apart."""
    payload = record.payload
    if run.settings.get("approve") != record.kind or not isinstance(payload, Plan | StepContract):
        return (record,)
    if isinstance(payload, Plan) and payload.replan is not None and not payload.replan.by:
        return (record,)  # the plan is the one that was approved
    question = Question(text=_text(payload, record.step), choices=_choices(run, payload))
    return (record, Record(payload=question, by="harness", step=record.step))


def _text(payload: Plan | StepContract, step: int | None) -> str:
    if isinstance(payload, Plan):
        return f"The plan has {counted(len(payload.steps), 'step')}: %pge show plan. Is it to be carried out?"
    checks = counted(len(payload.checks), "check")
    return f"The contract of step {step} has {checks}: %pge show contract {step}. Is the work to be done by it?"


def _choices(run: Run, payload: Plan | StepContract) -> tuple[Choice, ...]:
    """What was made without a model is not made again otherwise, nor is a plan in which a step was cut."""
    if isinstance(payload, Plan):
        again = takes_part(run.settings, "planner") and payload.replan is None
    else:
        again = takes_part(run.settings, "contract")
    return ("approve", "retry", "stop") if again else ("approve", "stop")
