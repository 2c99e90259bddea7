"""A model that makes the cleaning task of the third day over the loopback stub: a module, its tests, a report notebook.

Its first clean.py leaves duplicates in, and its own tests find that.
"""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from scripted import Request, fenced, findings, first_message, role_of

PLAN = {
    "title": "Clean sales",
    "scope": "a module, its tests, a report",
    "deliverables": ["clean.py", "test_clean.py", "report.ipynb"],
    "steps": [
        {"description": "the module and its tests", "depends_on": [], "success": ["the tests pass"]},
        {"description": "the report", "depends_on": [1], "success": ["the report sums each month"]},
    ],
    "criteria": [{"name": "clarity", "weight": "standard", "description": "it reads well", "threshold": 6}],
}
TERMS: dict[int, dict[str, Any]] = {
    1: {
        "deliverables": ["clean.py", "test_clean.py"],
        "checks": [
            {
                "says": "the tests pass on the data",
                "method": "command",
                "args": {"run": "python -m pytest -q test_clean.py"},
            },
            {"says": "clean has a docstring", "method": "judge", "args": {}},
        ],
    },
    2: {
        "deliverables": ["report.ipynb"],
        "checks": [
            {
                "says": "the report reads the data",
                "method": "file",
                "args": {"path": "report.ipynb", "contains": "inputs/"},
            }
        ],
    },
}
CLEAN = '''"""Cleaning of the sales table."""

import pandas as pd


def clean(frame):
    """The rows that have a day, each once; shops in lower case, amounts as numbers."""
    frame = frame.dropna(subset=["day"]){once}
    return frame.assign(
        day=pd.to_datetime(frame["day"]),
        shop=frame["shop"].str.strip().str.lower(),
        amount=frame["amount"].str.replace(",", ".").astype(float),
    )
'''
TESTS = """import json
from pathlib import Path

import pandas as pd

from clean import clean

tidy = clean({read})


def test_no_duplicates():
    assert len(tidy) == 3


def test_shops():
    assert set(tidy["shop"]) == {{"north", "south"}}


def test_amounts():
    assert tidy["amount"].sum() >= 20.75
"""


def reading(request: Request) -> str:
    """How the brief says that the data are read."""
    found = re.search(r"```python\n(.*?)\n```", first_message(request), re.DOTALL)
    assert found is not None, "the brief does not say how to read the data"
    return found[1].partition("=")[2].strip() if re.match(r"sales\s*=", found[1]) else found[1]


def report(read: str) -> str:
    """The notebook, as the model writes it: never run."""
    code = (
        f"from pathlib import Path\nimport json\nimport pandas as pd\nfrom clean import clean\n\ntidy = clean({read})"
    )
    sums = 'tidy.groupby(tidy["day"].dt.month)["amount"].sum()'
    cells = [new_markdown_cell("# Sales by month"), new_code_cell(code), new_code_cell(sums)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return str(nbformat.writes(new_notebook(cells=cells)))


def script(request: Request) -> str:
    """The reply to any request of the run."""
    role, told = role_of(request), first_message(request)
    if role == "planner":
        return fenced(PLAN)
    step = 2 if "Step 2" in told else 1
    if role == "propose":
        return fenced(TERMS[step])
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate" and step == 2:
        return f"Approach: three cells.\n\n````json report.ipynb\n{report(reading(request))}\n````\n"
    if role == "generate":
        code = CLEAN.format(once=".drop_duplicates()" if "This is attempt 2" in told else "")
        tests = TESTS.format(read=reading(request))
        return f"Approach: pandas.\n\n```python clean.py\n{code}```\n\n```python test_clean.py\n{tests}```\n"
    judged = findings(request)
    for finding in judged:
        finding["quote"] = ""
    return json.dumps({"findings": judged})
