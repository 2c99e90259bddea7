"""A plan that does not promise what the prompt names is sent back, and what stays lost is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages_stub import MessagesStub
from scripted import MODEL, PLAN, PROMPT, Request, fenced, scripted

from pge_nb import HarnessConfig, PGEHarness, Plan
from pge_nb.agents.named_files import named_in


@pytest.mark.parametrize(
    ("prompt", "files"),
    [
        ("Write calc.py with add; then docs/use.md.", ("calc.py", "docs/use.md")),
        ("Take statistics.mean, e.g. of a.b, as in https://x.org/page.html or ada@x.py", ()),
        ("Use ../secret.py and /etc/passwd.txt", ()),
        ("\u5199 calc.py\uff0c\u518d\u5199 calc.py", ("calc.py",)),
        ("", ()),
    ],
)
def test_the_files_that_a_prompt_names(prompt: str, files: tuple[str, ...]) -> None:
    assert named_in(prompt) == files


@pytest.mark.parametrize(("second", "lost"), [("calc.py", ""), ("shapes.py", "the prompt names calc.py, which")])
def test_another_name_is_sent_back_once_and_one_that_stays_is_told(tmp_path: Path, second: str, lost: str) -> None:
    asked: list[Request] = []

    def copies_the_example(request: Request) -> str:
        asked.append(request)
        return fenced({**PLAN, "deliverables": ["shapes.py" if len(asked) == 1 else second]})

    with MessagesStub(scripted(planner=copies_the_example)) as stub, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_BASE_URL", stub.url)
        patch.setenv("ANTHROPIC_API_KEY", "a-key-for-loopback")
        harness = PGEHarness(HarnessConfig(model=MODEL, shared_state_path=tmp_path / "shared_state.md"))
        harness.start(PROMPT)
        plan = next(section.payload for section in harness.records() if section.record.kind == "plan")
    assert isinstance(plan, Plan)
    assert len(asked) == 2
    assert "the prompt names calc.py" in str(asked[1]["messages"][-1])
    assert plan.notes[0].startswith("sent back: the prompt names calc.py")
    assert [note for note in plan.notes[1:] if "prompt names" in note] == (
        [f"{lost} the plan does not promise"] if lost else []
    )
