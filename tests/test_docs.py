"""The pages: every link leads somewhere, every block of Python runs, every script that is named is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from notebook_shell import Shell

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/recordings/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
RUN_BY = {
    "README.md": "test_readme.py",
    "docs/calibration.md": "test_calibration_docs.py",
    "docs/card.md": "test_card.py",
    "docs/exam.md": "test_exam.py",
    "docs/skills.md": "test_own_skill.py",
    "docs/state-file.md": "test_state_docs.py",
}
"""Pages whose Python a test of their own runs, since it looks at what came of it."""


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def said(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


OTHERS = [page for page in PAGES if blocks(page) and said(page) not in RUN_BY]


@pytest.mark.parametrize("page", PAGES, ids=said)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:", link)]
    assert [link for link in links if not (page.parent / link.partition("#")[0]).exists()] == []
    for link in links:
        place, _, heading = link.partition("#")
        if heading and place.endswith(".md"):
            heads = re.findall(r"^#+ (.*)", (page.parent / place).read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads], link


@pytest.mark.parametrize("page", PAGES, ids=said)
def test_every_script_that_is_named_is_there(page: Path) -> None:
    named = re.findall(r"(?:python|bash) ((?:benchmarks|tests|\.ci)/[\w./]+)", page.read_text(encoding="utf-8"))
    assert [one for one in named if not (ROOT / one).exists()] == []


@pytest.mark.parametrize("page", OTHERS, ids=said)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    shell = Shell()
    for block in blocks(page):
        ran = shell.cell(block)
        assert ran.error is None, ran.text


@pytest.mark.parametrize(("page", "test"), RUN_BY.items())
def test_a_page_with_a_test_of_its_own_is_run_there(page: str, test: str) -> None:
    assert blocks(ROOT / page)
    text = (ROOT / "tests" / test).read_text(encoding="utf-8")
    assert "```python" in text
    assert Path(page).name in text


def test_the_index_of_the_documentation_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    links = set(re.findall(r"\]\(([^)#]+)", index.read_text(encoding="utf-8")))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    folders = {f"{page.parent.name}/README.md" for page in (ROOT / "docs").glob("*/README.md")} - {"pictures/README.md"}
    assert pages | folders <= links


TEACHER = ROOT / "docs" / "teacher.md"


def test_the_teachers_notes_are_short_and_tell_every_lesson_with_its_minutes() -> None:
    text = TEACHER.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    told = dict(re.findall(r"^\| \[\d\]\(\.\./(examples/\S+\.ipynb)\) \| (\d+) \|", text, re.MULTILINE))
    minutes = {}
    for lesson in sorted((ROOT / "examples").glob("[0-9]_*.ipynb")):
        found = re.search(r"About (\d+) minutes", lesson.read_text(encoding="utf-8"))
        assert found is not None, lesson.name
        minutes[said(lesson)] = found[1]
    assert told == minutes


def test_the_task_that_the_notes_put_in_place_of_ours_can_be_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(r"```text\n(%pge run .*)\n```", TEACHER.read_text(encoding="utf-8"))
    shell = Shell()
    assert "passed" in shell.cell(line).view.plain()
    failed = shell.cell(
        "from pge_nb import open_run\n"
        'run = open_run("quickstart")\n'
        '[one for step in run.steps for one in run.evaluations(step.number).values() if one.verdict == "fail"]'
    )
    assert failed.value
