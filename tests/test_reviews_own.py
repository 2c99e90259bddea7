"""The review method in ``examples/own_review.py`` works through the whole harness, and is as short as the README says."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from messages_stub import MessagesStub
from scripted import MODEL, Request, fenced, findings, first_message, role_of

from pge_nb import HarnessConfig, PGEHarness
from pge_nb.records import Check, EvaluationReport
from pge_nb.reviews import Outcome, Review
from pge_nb.workspace import Tree

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_review.py"
PLAN = {
    "title": "A verse",
    "scope": "one text",
    "deliverables": ["verse.md"],
    "steps": [{"description": "the verse", "depends_on": [], "success": ["no line is longer than 20 characters"]}],
    "criteria": [{"name": "clarity", "weight": "low", "description": "it reads well", "threshold": 6}],
}
CHECK = {"says": "no line is longer than 20 characters", "method": "lines", "args": {"path": "verse.md", "most": 20}}


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_review", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verse(request: Request) -> str:
    """The first verse is too wide."""
    role, told = role_of(request), first_message(request)
    if role == "planner":
        return fenced(PLAN)
    if role == "propose":
        return fenced({"deliverables": ["verse.md"], "checks": [CHECK]})
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate":
        text = "short lines\nare easy\n" if "This is attempt 2" in told else "a line that is longer than that\n"
        return f"Approach: words.\n\n```markdown verse.md\n{text}```\n"
    judged = findings(request)
    for finding in judged:
        finding["quote"] = ""
    return fenced({"findings": judged})


def test_the_example_decides_through_the_whole_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with MessagesStub(verse) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        harness = PGEHarness(HarnessConfig(model=MODEL, review_methods={"lines": example().Lines()}))
        assert harness.run("A verse in narrow lines.").outcome == "passed"
        run = harness.state.read()
    told = [first for first in map(str, stub.requests) if "you propose its contract" in first]
    assert "no line of a file is longer" in told[0]
    seen = [
        (section.payload.verdict, section.payload.evidence[0].body.text)
        for section in run.of("evaluation", 1)
        if isinstance(section.payload, EvaluationReport)
    ]
    assert seen == [
        ("fail", "the longest line has 31 characters, at most 20 are wanted"),
        ("pass", "the longest line has 11 characters, at most 20 are wanted"),
    ]


class Raises(Review):
    name = "lines"
    help = "{}"
    Args = dict

    def vet(self, check: Check) -> None:
        return None

    def look(self, check: Check, tree: Tree) -> Outcome:
        raise KeyError("a fault of its own")


class Returns(Raises):
    def look(self, check: Check, tree: Tree) -> Outcome:
        return True  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("review", "says", "saw"),
    [
        (Raises(), "lines broke off", "it raised KeyError: 'a fault of its own'"),
        (Returns(), "lines gave no outcome", "it returned True"),
    ],
)
def test_a_review_that_fails_itself_is_told_and_the_judge_decides(
    review: Review, says: str, saw: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with MessagesStub(verse) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        harness = PGEHarness(HarnessConfig(model=MODEL, review_methods={"lines": review}))
        assert harness.run("A verse in narrow lines.").outcome == "passed"
        report = harness.state.read().of("evaluation", 1)[0].payload
    assert isinstance(report, EvaluationReport)
    assert (report.evidence[0].says, report.evidence[0].body.text) == (says, saw)
    assert [finding.by for finding in report.findings if finding.on == "c1"] == ["judge"]


def test_args_that_do_not_fit_are_sent_back_without_a_line_of_ones_own() -> None:
    check = Check(id="c1", says="", method="lines", args={"path": "a", "most": "many"})
    assert "args.most" in (example().Lines().vet(check) or "")


def test_it_is_under_twenty_lines_and_stands_in_the_readme() -> None:
    body = ast.parse(EXAMPLE.read_text(encoding="utf-8")).body[1:]
    code = "\n".join(map(ast.unparse, body))
    assert len([line for line in code.split("\n") if line.strip()]) < 20
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert code in [
        "\n".join(map(ast.unparse, ast.parse(block).body[: len(body)])) for block in blocks if "class Lines" in block
    ]
