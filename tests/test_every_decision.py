"""Every kind of decision in a whole run: a section with its reason in numbers, and what it does to the working directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from messages_stub import MessagesStub
from scripted import MODEL, PROMPT, Request, fenced, findings, first_message, scripted

from pge_nb import records as r
from pge_nb.config import HarnessConfig
from pge_nb.decisions import decide
from pge_nb.harness import PGEHarness
from pge_nb.run import Run


@dataclass(frozen=True, kw_only=True)
class Course:
    """What the judge gives the attempts at step 1, and the run that comes of it."""

    scores: tuple[float, ...]
    settings: dict[str, Any]
    actions: tuple[r.Action, ...]
    reason: str
    numbers: dict[str, Any]
    stands: int | None
    state: str
    outcome: str


COURSES: dict[r.Action, Course] = {
    "accept": Course(
        scores=(8.0,),
        settings={},
        actions=("accept",),
        reason="every check and every threshold holds",
        numbers={"attempts": 1, "attempts_allowed": 3, "overall": 8.125, "weakest": 8.0},
        stands=1,
        state="accepted",
        outcome="passed",
    ),
    "refine": Course(
        scores=(4.0, 5.0, 8.0),
        settings={},
        actions=("refine", "refine", "accept"),
        reason="the score rises by more than 0.5",
        numbers={"attempts": 2, "noise": 0.5, "flat_or_falling": 0, "overall": 5.875},
        stands=3,
        state="accepted",
        outcome="passed",
    ),
    "pivot": Course(
        scores=(5.0, 5.6, 5.2, 8.0),  # overall 5.875, 6.325, 6.025: all within the noise
        settings={"max_retries_per_step": 3},
        actions=("refine", "refine", "pivot", "accept"),
        reason="the score was flat or falling 2 times, changes within 0.5 counted as flat",
        numbers={"attempts": 3, "noise": 0.5, "flat_or_falling": 2, "overall": 6.025},
        stands=4,
        state="accepted",
        outcome="passed",
    ),
    "keep": Course(
        scores=(5.5, 6.5, 5.0),
        settings={"regrade_kept": False},
        actions=("refine", "refine", "keep"),
        reason="all 3 attempts failed; the best, attempt 2, is kept: its weakest score 6.5 reaches the floor 5",
        numbers={"attempts": 3, "weakest": 6.5, "floor": 5.0},
        stands=2,
        state="kept",
        outcome="degraded",
    ),
    "replan": Course(
        scores=(3.0, 3.0, 3.0),
        settings={"on_exhausted": ("keep", "replan", "advance"), "regrade_kept": False},
        actions=("refine", "refine", "replan", "advance"),
        reason="all 3 attempts failed; it is to be cut into smaller steps, replan 1 of at most 1",
        numbers={"attempts": 3, "weakest": 3.0, "replans": 1, "max_replans": 1},
        stands=1,
        state="advanced",
        outcome="degraded",
    ),
    "ask": Course(
        scores=(3.0, 3.0, 3.0),
        settings={"on_exhausted": ("keep", "ask")},
        actions=("refine", "refine", "ask"),
        reason="all 3 attempts failed",
        numbers={"attempts": 3, "weakest": 3.0},
        stands=None,
        state="asking",
        outcome="paused",
    ),
    "advance": Course(
        scores=(2.0, 4.0, 3.0),
        settings={"on_exhausted": ("keep", "advance"), "regrade_kept": False},
        actions=("refine", "refine", "advance"),
        reason="all 3 attempts failed; the run goes on with attempt 2, which did not pass",
        numbers={"attempts": 3, "weakest": 4.0},
        stands=2,
        state="advanced",
        outcome="degraded",
    ),
    "stop": Course(
        scores=(3.0, 3.0, 3.0),
        settings={"on_exhausted": ("keep",)},
        actions=("refine", "refine", "stop"),
        reason="all 3 attempts failed, and no way to go on applies",
        numbers={"attempts": 3, "weakest": 3.0},
        stands=None,
        state="failed",
        outcome="blocked",
    ),
}


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Carries the scripted task out; each attempt at step 1 is another file, and is scored as the course says.

    ``upto_step_1``: only until step 1 has had its last decision.
    """

    def carry(course: Course, *, upto_step_1: bool = False) -> Run:
        scores, made = iter(course.scores), iter(range(1, 9))

        def generate(request: Request) -> Any:
            if "Step 2" in first_message(request):
                return None
            return f"Plain.\n\n```python calc.py\n# attempt {next(made)}\ndef add(a, b):\n    return a + b\n```\n"

        def judge(request: Request) -> Any:
            if "twice" in first_message(request):
                return None
            score = next(scores)
            return fenced(
                {
                    "findings": [
                        one | {"score": score} if one["on"] == "correctness" else one for one in findings(request)
                    ]
                }
            )

        with MessagesStub(scripted(generate=generate, evaluate=judge)) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "shared_state.md", **course.settings)
            harness = PGEHarness(config)
            harness.start(PROMPT)
            for section in harness.records():
                if section.record.kind == "decision" and section.record.step == 1 and upto_step_1:
                    decision = section.payload
                    if isinstance(decision, r.Decision) and decision.action == course.actions[-1]:
                        break
        assert next(scores, None) is None
        return harness.state.read()

    return carry


def test_every_kind_is_here() -> None:
    assert set(COURSES) == set(get_args(r.Action))


@pytest.mark.parametrize("action", COURSES)
def test_a_decision_is_a_section_with_its_reason_in_numbers_and_follows_from_the_file(
    action: r.Action, carried: Callable[..., Run]
) -> None:
    course = COURSES[action]
    run = carried(course)
    sections = run.of("decision", 1)
    decisions = [section.payload for section in sections if isinstance(section.payload, r.Decision)]
    assert tuple(one.action for one in decisions) == course.actions
    last = [one for one in decisions if one.action == action][-1]
    assert last.reason == course.reason
    assert course.numbers.items() <= dict(last.numbers).items()
    for section, made in zip(sections, decisions, strict=True):
        before = Run(run.sections[: section.seq], root=run.root)
        again, question = decide(before, 1, section.record.attempt or 0)
        assert again == made
        assert (question is not None) == (made.action == "ask")
    assert (run.accepted(1), run.state(1), run.outcome) == (course.stands, course.state, course.outcome)


@pytest.mark.parametrize("action", COURSES)
def test_the_attempt_that_stands_is_in_the_working_directory_whichever_came_last(
    action: r.Action, carried: Callable[..., Run]
) -> None:
    course = COURSES[action]
    run = carried(course, upto_step_1=True)
    assert run.root is not None
    work = run.root / "work" / "calc.py"
    if course.stands is None:
        assert not work.exists()
    else:
        assert work.read_text().startswith(f"# attempt {course.stands}\n")
