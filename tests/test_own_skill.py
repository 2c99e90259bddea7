"""The skills in ``examples/own_skill.py`` work through the whole harness; what ``docs/skills.md`` says runs."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from messages_stub import MessagesStub
from scripted import MODEL, Request, fenced, findings, first_message, role_of

from pge_nb import HarnessConfig, PGEHarness, Skill, SkillRegistry
from pge_nb.errors import BadInput

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "own_skill.py"
PAGE = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLAN = {
    "title": "A guide to tea",
    "scope": "a text and its table of contents",
    "deliverables": ["guide.md", "contents.md"],
    "steps": [
        {"description": "the guide", "skill_type": "writing", "success": ["guide.md has a heading"]},
        {
            "description": "its contents",
            "skill_type": "contents",
            "depends_on": [1],
            "success": ["all headings are in it"],
        },
    ],
    "criteria": [{"name": "clarity", "weight": "low", "description": "it reads well", "threshold": 6}],
}
GUIDE = "# Green tea\n\nNot too hot.\n\n## How long\n\nTwo minutes.\n"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_skill", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def guide(request: Request) -> str:
    role, second = role_of(request), "Step 2" in first_message(request)
    if role == "planner":
        return fenced(PLAN)
    path = "contents.md" if second else "guide.md"
    if role == "propose":
        args = {"path": path, "contains": "How long"}
        return fenced(
            {"deliverables": [path], "checks": [{"says": "it tells how long", "method": "file", "args": args}]}
        )
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate":
        return f"Approach: words.\n\n```markdown guide.md\n{GUIDE}```\n"
    judged = findings(request)
    for finding in judged:
        finding["quote"] = ""
    return fenced({"findings": judged})


def test_the_example_carries_out_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with MessagesStub(guide) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        harness = PGEHarness(HarnessConfig(model=MODEL, skills=example().skills))
        assert harness.run("A guide to tea in guide.md, and a table of contents.").outcome == "passed"
    assert Path("work/contents.md").read_text() == "- Green tea (guide.md)\n- How long (guide.md)\n"
    assert len([one for one in stub.requests if role_of(one) == "generate"]) == 1
    told = next(first_message(one) for one in stub.requests if role_of(one) == "planner")
    assert "- writing: texts in Markdown" in told


def test_it_is_under_twenty_lines_and_stands_in_the_readme() -> None:
    body = ast.parse(EXAMPLE.read_text(encoding="utf-8")).body[1:]
    code = "\n".join(map(ast.unparse, body))
    assert len([line for line in code.split("\n") if line.strip()]) < 20
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert code in [
        "\n".join(map(ast.unparse, ast.parse(block).body[: len(body)])) for block in blocks if "Skill(" in block
    ]


def test_what_the_page_says_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "docs/skills.md", "exec"), names)
    assert len(BLOCKS) == 4
    run = names["harness"].state.read()
    assert {step.skill_type for step in run.steps} <= {"careful", "quick"}
    assert names["config"].settings()["skills"]["numbers"]["code"]
    assert round(names["best"][0]["avg_score"], 2) == 8.17
    assert "python function: careful 8.2 (3 samples)" in names["hints"]
    assert list(names["frame"]) == ["skill_type", "task_type", "mean", "sample_count", "low", "high"]
    assert (names["taken"], names["registry"].seed("seed.csv")) == (1, 0)


def test_the_page_names_every_field_and_what_can_be_asked_of_a_registry() -> None:
    told = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert told == list(Skill.__dataclass_fields__)
    public = {name for name in vars(SkillRegistry) if not name.startswith("_")} - {"take", "path"}
    assert all(f"registry.{name}(" in PAGE for name in public)


def test_a_skill_without_a_description_says_what_to_do() -> None:
    with pytest.raises(BadInput, match="the planner picks it by that"):
        HarnessConfig(skills={"a": Skill(description="")})
