"""The columns of every frame, with their types. They are a promise: notebooks rest on them."""

from __future__ import annotations

from collections.abc import Mapping

Columns = Mapping[str, str]

TEXT, NUMBER, COUNT, FLAG, TIME = "string", "float64", "Int64", "boolean", "datetime64[us, UTC]"

TASKS: Columns = {
    "run": TEXT,
    "prompt": TEXT,
    "practice": TEXT,
    "outcome": TEXT,
    "isolation": TEXT,
    "steps": COUNT,
    "sections": COUNT,
    "head": TEXT,
    "started": TIME,
    "last": TIME,
}
PLAN: Columns = {
    "run": TEXT,
    "step": COUNT,
    "description": TEXT,
    "skill_type": TEXT,
    "task_type": TEXT,
    "depends_on": TEXT,
    "success": TEXT,
    "state": TEXT,
    "replaced_by": TEXT,
    "checks": COUNT,
    "attempts": COUNT,
    "accepted": COUNT,
    "score": NUMBER,
    "gate_score": NUMBER,
}
CRITERIA: Columns = {"run": TEXT, "criterion": TEXT, "weight": TEXT, "threshold": NUMBER, "description": TEXT}
CHECKS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "check": TEXT,
    "says": TEXT,
    "method": TEXT,
    "args": TEXT,
    "agreed": FLAG,
    "origin": TEXT,
}
ATTEMPTS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "approach": TEXT,
    "base": COUNT,
    "why": TEXT,
    "files": COUNT,
    "bytes": COUNT,
    "missing": TEXT,
    "hash": TEXT,
    "verdict": TEXT,
    "overall": NUMBER,
    "accepted": FLAG,
    "seconds": NUMBER,
    "at": TIME,
}
EVALUATIONS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "contract": COUNT,
    "round": COUNT,
    "purpose": TEXT,
    "on": TEXT,
    "about": TEXT,
    "score": NUMBER,
    "threshold": NUMBER,
    "weight": TEXT,
    "verdict": TEXT,
    "why": TEXT,
    "says": TEXT,
    "evidence": TEXT,
    "saw": TEXT,
    "quote": TEXT,
    "strength": TEXT,
    "replayed": FLAG,
    "rater": TEXT,
    "by": TEXT,
    "at": TIME,
}
TRAJECTORY: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "contract": COUNT,
    "approach": TEXT,
    "on": TEXT,
    "about": TEXT,
    "score": NUMBER,
    "threshold": NUMBER,
    "weight": TEXT,
    "verdict": TEXT,
}
DECISIONS: Columns = {
    "run": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "action": TEXT,
    "stands": COUNT,
    "reason": TEXT,
    "numbers": TEXT,
    "at": TIME,
}
CALLS: Columns = {
    "run": TEXT,
    "phase": TEXT,
    "role": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "round": COUNT,
    "purpose": TEXT,
    "model": TEXT,
    "call": TEXT,
    "tokens_in": COUNT,
    "tokens_out": COUNT,
    "tokens_cached": COUNT,
    "tokens_to_cache": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "stop_reason": TEXT,
    "source": TEXT,
    "settled": FLAG,
}
COST: Columns = {
    "run": TEXT,
    "phase": TEXT,
    "role": TEXT,
    "step": COUNT,
    "round": COUNT,
    "calls": COUNT,
    "tokens_in": COUNT,
    "tokens_out": COUNT,
    "tokens_cached": COUNT,
    "tokens_to_cache": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "model": TEXT,
    "source": TEXT,
}
