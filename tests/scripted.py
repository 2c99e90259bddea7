"""A model that plays a small honest run over the loopback stub, with any of its replies replaced.

The task: `calc.py` with `add`, then `twice`. Two steps, an oracle check and a judge-decided check each, two criteria.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

PROMPT = "Write calc.py with add(a, b), then twice(x) that uses it."
MODEL = "stub-model"

PLAN = {
    "title": "A small calculator",
    "scope": "calc.py",
    "deliverables": ["calc.py"],
    "steps": [
        {"description": "add", "depends_on": [], "success": ["add(2, 3) returns 5"]},
        {"description": "twice", "depends_on": [1], "success": ["twice(4) returns 8"]},
    ],
    "criteria": [
        {"name": "correctness", "weight": "high", "description": "it is right", "threshold": 7},
        {"name": "clarity", "weight": "low", "description": "it reads well", "threshold": 6},
    ],
}
CHECKS = {
    1: [
        {"says": "add(2, 3) returns 5", "method": "oracle", "args": {"call": "calc.add", "args": [2, 3], "returns": 5}},
        {"says": "add has a docstring", "method": "judge", "args": {}},
    ],
    2: [
        {"says": "twice(4) returns 8", "method": "oracle", "args": {"call": "calc.twice", "args": [4], "returns": 8}},
        {"says": "twice has a docstring", "method": "judge", "args": {}},
    ],
}
ADD = 'def add(a, b):\n    """The sum."""\n    return a + b\n'
TWICE = '\n\ndef twice(x):\n    """Two times x."""\n    return add(x, x)\n'
CODE = {1: ADD, 2: ADD + TWICE}

Request = dict[str, Any]


def fenced(value: object) -> str:
    return f"```json\n{json.dumps(value)}\n```"


def role_of(request: Request) -> str:
    """planner, replan, propose, respond, withhold, generate or evaluate, from the system prompt."""
    system = request["system"]
    text = system if isinstance(system, str) else "".join(block["text"] for block in system)
    if "One step of your plan failed" in text:
        return "replan"
    if "You are the planner" in text:
        return "planner"
    if "you propose its contract" in text:
        return "propose"
    if "Before anything is written for a step, you think of further inputs" in text:
        return "withhold"
    if "proposes a contract" in text:
        return "respond"
    return "generate" if "You are the generator" in text else "evaluate"


def first_message(request: Request) -> str:
    content = request["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def step_of(request: Request) -> int:
    """Which step a request is about."""
    text = first_message(request)
    match = re.search(r"Step (\d)", text)
    return int(match.group(1)) if match else 2 if "twice" in text else 1


def findings(request: Request, *, score: Any = 8.5, verdict: Any = "pass") -> list[dict[str, Any]]:
    """What an honest judge finds: everything holds, with evidence and quotes that are there."""
    text = first_message(request)
    match = re.search(r'<artifact id="(e\d+)"', text)
    name = match.group(1) if match else "e1"
    cite = {"evidence": [name], "quote": "def add(a, b):", "says": "it is there"}
    asked = re.search(r"Give a finding on each of: (.*)\.", text)
    ids = asked.group(1).split(", ") if asked else []
    return [
        {"on": on, "verdict": verdict} | cite if re.fullmatch(r"c\d+", on) else {"on": on, "score": score} | cite
        for on in ids
    ]


def honest(request: Request) -> str:
    """The honest reply to any request of the run."""
    role = role_of(request)
    if role == "planner":
        return fenced(PLAN)
    if role == "replan":
        return fenced({"reason": "one function cannot be cut", "steps": []})
    step = step_of(request)
    if role == "propose":
        return fenced({"deliverables": ["calc.py"], "checks": CHECKS[step]})
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate":
        return f"Approach: plain functions.\n\n```python calc.py\n{CODE[step]}```\n"
    return fenced({"findings": findings(request)})


def scripted(**replaced: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """A script for the stub: the honest run, with the replies of some roles replaced (None: honest after all)."""

    def script(request: Request) -> Any:
        role = role_of(request)
        other = replaced[role](request) if role in replaced else None
        return honest(request) if other is None else other

    return script
