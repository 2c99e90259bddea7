"""What the README says is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb.commands import COMMANDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell()


def test_the_help_in_the_readme_is_the_help_there_is(shell: Shell) -> None:
    told = re.search(r"<!-- help -->\n```\n(.*?)\n```\n<!-- /help -->", README, re.DOTALL)
    assert told is not None
    assert told.group(1) == shell.cell("%pge help").view.plain().strip()


def test_every_command_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"%pge ([a-z]+)", README))
    assert named <= set(COMMANDS)
    assert {"run", "show", "tasks", "new", "model", "key"} <= named


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "%" not in block]
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert eval("result.outcome", names) == "passed"
    assert str(eval("cal.cohen_kappa(people, judge)", names)).startswith("0.583")


def test_every_link_to_a_file_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
