"""The notebook review executes a deliverable in the sandbox, and names the cell at which it ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from looking import look, vetted
from messages_stub import MessagesStub
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from scripted import MODEL, Request, fenced, findings, first_message, role_of
from test_sandbox_escapes import in_a_container

from pge_nb import HarnessConfig, PGEHarness
from pge_nb.payloads import Json
from pge_nb.records import EvaluationReport
from pge_nb.reviews import Outcome
from pge_nb.reviews.command import WEAK
from pge_nb.reviews.notebook import Notebook
from pge_nb.sandbox.rungs import landlock_version
from pge_nb.workspace import Objects

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or landlock_version() < 4,
    reason="a kernel needs ports, and they need Landlock 4 to be told apart",
)
BY = "report.ipynb"


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def notebook(*codes: str, **metadata: Any) -> str:
    cells = [new_markdown_cell("# A report"), *(new_code_cell(code) for code in codes)]
    return str(nbformat.writes(new_notebook(cells=cells, metadata=metadata)))


def saved(*cells: tuple[str, str]) -> str:
    """A notebook that was run: each cell's code, and what it printed."""
    codes = [
        new_code_cell(
            code, execution_count=number, outputs=[new_output("stream", name="stdout", text=text)] if text else []
        )
        for number, (code, text) in enumerate(cells, 1)
    ]
    return str(nbformat.writes(new_notebook(cells=codes)))


def executed(
    objects: Objects, text: str, *, seconds: float = 20, files: dict[str, str] | None = None, **args: Json
) -> Outcome:
    return look(objects, Notebook(seconds), {"path": BY, **args}, {BY: text, **(files or {})})


def test_a_notebook_that_runs_is_met_and_its_outputs_are_told(objects: Objects) -> None:
    text = notebook("import helper, json\nvalue = helper.six() * 7", "print(value)", "value / 0", "1")
    right = text.replace("value / 0", "value / 2")
    files = {"helper.py": "def six():\n    return 6\n", "json.py": "raise SystemExit('planted')\n"}
    outcome = executed(objects, right, files=files, shows=["42", "21.0"])
    assert outcome == Outcome(
        met=True,
        says="executed report.ipynb in a fresh kernel",
        saw="every cell ran: 4 code cells\nthe outputs hold '42'\nthe outputs hold '21.0'\n"
        "outputs:\n[code cell 2] 42\n[code cell 3] 21.0\n[code cell 4] 1",
        strength=WEAK,
    )
    again = executed(objects, right, files=files, shows=["42", "21.0", "43"])
    assert again.met is False
    assert again.saw == outcome.saw.replace("'21.0'\n", "'21.0'\nthe outputs do not hold '43'\n", 1)


def test_a_cell_that_fails_is_named_by_number_first_line_and_error(objects: Objects) -> None:
    text = notebook("print('before')", "\n# the second\ntotal = 1\ntotal / 0", "print('after')")
    outcome = executed(objects, text)
    assert outcome.met is False
    assert outcome.saw.split("\n") == [
        "code cell 2 (# the second): ZeroDivisionError: division by zero, at total / 0",
        "outputs:",
        "[code cell 1] before",
    ]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os\nos._exit(0)", "code cell 1 (import os) ended the kernel"),
        ("name = input('who?')", "StdinNotImplementedError"),
        (
            "print('x' * 100_000_000)",
            "code cell 1 (print('x' * 100_000_000)) was stopped: its outputs are too much to keep",
        ),
        ("import socket\nsocket.create_connection(('127.0.0.1', 80))", "PermissionError"),
    ],
)
def test_what_a_cell_may_do_instead_fails_and_says_so(code: str, told: str, objects: Objects) -> None:
    outcome = executed(objects, notebook(code), shows=["x"])
    assert outcome.met is False
    assert told in outcome.saw.split("\n")[0]
    assert len(outcome.saw) < 8_000


def test_a_cell_without_an_end_is_stopped_and_named(objects: Objects) -> None:
    outcome = executed(objects, notebook("print('begun')", "while True: pass"), seconds=1)
    assert outcome.met is False
    assert outcome.saw.startswith("code cell 2 (while True: pass) was not done when the time was over")


@pytest.mark.parametrize(
    ("text", "met", "told"),
    [
        ("{no json", False, "no valid notebook"),
        ("[" * 100_000, False, "no valid notebook"),
        (
            json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}),
            False,
            "missing",
        ),
        (
            notebook(kernelspec={"name": "ir", "language": "R", "display_name": "R"}),
            None,
            "is in r, and only Python is run",
        ),
        (notebook(), False, "it holds no code cell"),
    ],
    ids=["no JSON", "too deep", "half a cell", "R", "no code"],
)
def test_what_is_no_notebook_to_run_is_told(text: str, met: bool | None, told: str, objects: Objects) -> None:
    outcome = executed(objects, text)
    assert outcome.met is met
    assert told in outcome.saw


def test_a_notebook_that_is_not_there_fails(objects: Objects) -> None:
    assert look(objects, Notebook(5), {"path": BY}, {}) == Outcome(
        met=False, says="executed report.ipynb in a fresh kernel", saw="report.ipynb is not there"
    )


@pytest.mark.parametrize(
    ("text", "met", "told"),
    [
        (saved(("print(1)", "1\n"), ("open('new.txt', 'x').close()", "")), True, "nbval compared 2 code cells"),
        (
            saved(("print(1)", "1\n"), ("print(2)", "3\n")),
            False,
            "its saved outputs are others: code cell 2 (print(2))",
        ),
        (notebook("print(1)"), False, "saved without having been run"),
    ],
    ids=["the same", "another", "never run"],
)
def test_outputs_are_compared_with_those_that_were_saved(text: str, met: bool, told: str, objects: Objects) -> None:
    outcome = executed(objects, text, compare=True)
    assert outcome.met is met
    assert told in outcome.saw
    assert outcome.says.endswith("and compared its outputs with the saved ones")


def test_where_a_kernel_cannot_be_kept_to_its_ports_the_judge_decides(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from pge_nb import sandbox
    from pge_nb.sandbox import probe

    rung = sandbox.standing()
    assert rung is not None
    monkeypatch.setattr(probe, "standing", lambda: replace(rung, landlock=3))
    outcome = executed(objects, notebook("1"))
    assert outcome.met is None
    assert "Landlock 4" in outcome.saw


def test_a_report_with_pandas_and_matplotlib_runs_in_a_container_that_forbids_namespaces(tmp_path: Path) -> None:
    text = notebook(
        "import pandas as pd\nimport matplotlib.pyplot as plt\nframe = pd.DataFrame({'a': [1, 2, 39]})\nframe.a.sum()",
        "frame.plot()\nplt.savefig('a.png')\nopen('a.png', 'rb').read(4)",
    )
    (tmp_path / BY).write_text(text)
    program = (
        "from pathlib import Path\n"
        "from pge_nb.records import Check\n"
        "from pge_nb.reviews.notebook import Notebook\n"
        "from pge_nb.workspace import Objects, laid\n"
        f"objects = Objects(Path({str(tmp_path)!r}))\n"
        f"check = Check(id='c1', says='', method='notebook', args={{'path': {BY!r}, 'shows': ['42', 'PNG']}})\n"
        f"with laid([objects.file({BY!r}, Path({str(tmp_path / BY)!r}).read_bytes())], objects) as tree:\n"
        "    outcome = Notebook(25).look(check, tree)\n"
        "print(outcome.met, outcome.saw)\n"
    )
    assert in_a_container(program, unprivileged=True).startswith("True every cell ran: 2 code cells")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"path": "../a.ipynb"}, "'..'"),
        ({"path": "report.py"}, "does not end in .ipynb"),
        ({"path": BY, "shows": ["  "]}, "empty"),
        ({"path": BY, "shows": "x"}, "not a list"),
        ({"path": BY, "cells": 3}, "unknown field"),
        ({}, "lacks 'path'"),
    ],
)
def test_args_that_cannot_be_used_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted(Notebook(5), args) or "")


# Through the whole harness

PLAN = {
    "title": "A report",
    "scope": "one notebook",
    "deliverables": [BY],
    "steps": [{"description": "the report", "depends_on": [], "success": ["it shows the sum 42"]}],
    "criteria": [{"name": "clarity", "weight": "low", "description": "it reads well", "threshold": 6}],
}
CHECK = {"says": "it shows the sum 42", "method": "notebook", "args": {"path": BY, "shows": ["42"]}}


def report(request: Request) -> str:
    """The notebook of the first attempt uses a name that is not there."""
    role, told = role_of(request), first_message(request)
    if role == "planner":
        return fenced(PLAN)
    if role == "propose":
        return fenced({"deliverables": [BY], "checks": [CHECK]})
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate":
        name = "values" if "NameError" in told else "value"
        return f"Approach: two cells.\n\n````json {BY}\n{notebook('values = [40, 2]', f'sum({name})')}\n````\n"
    judged = findings(request)
    for finding in judged:
        finding["quote"] = ""
    return fenced({"findings": judged})


def test_a_notebook_is_executed_and_graded_through_the_whole_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with MessagesStub(report) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        harness = PGEHarness(HarnessConfig(model=MODEL, review_seconds=20))
        assert harness.run("A notebook that sums 40 and 2.").outcome == "passed"
        run = harness.state.read()
    reports = [one.payload for one in run.of("evaluation", 1) if isinstance(one.payload, EvaluationReport)]
    assert [one.verdict for one in reports] == ["fail", "pass"]
    first, second = (one.evidence[0] for one in reports)
    assert first.body.text.startswith("code cell 2 (sum(value)): NameError: name 'value' is not defined")
    assert second.body.text.startswith("every cell ran: 2 code cells\nthe outputs hold '42'")
    assert second.strength == WEAK
    assert reports[0].isolation.startswith("isolated")
