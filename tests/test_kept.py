"""An attempt that was chosen as the best of several is graded once more, and that score is the one reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hand_runs import Hand
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import MODEL, PROMPT, Request, fenced, findings, first_message, role_of, scripted

from pge_nb import frames, views
from pge_nb import records as r
from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.exports.handoff import files as handoff
from pge_nb.exports.history import commits
from pge_nb.harness import PGEHarness
from pge_nb.phases import Phase, due
from pge_nb.results import HarnessResult, graded_again, result_of
from pge_nb.run import same
from pge_nb.state import open_run

NONCE = re.compile("[0-9a-f]{16}")
REFUSAL = "I will not say."


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., HarnessResult]:
    """Carries the scripted task out with these scores for correctness at step 1 (a text: the whole reply); all else is good."""

    def carry(*scores: float | str, **settings: Any) -> HarnessResult:
        given: Iterator[float | str] = iter(scores)

        def judge(request: Request) -> Any:
            if "twice" in first_message(request):
                return None
            score = next(given)
            if isinstance(score, str):
                return score
            found = [one | {"score": score} if one["on"] == "correctness" else one for one in findings(request)]
            return fenced({"findings": found})

        with MessagesStub(scripted(evaluate=judge)) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "shared_state.md", **settings)
            result = PGEHarness(config).run(PROMPT)
            assert next(given, None) is None
            sent = [NONCE.sub("", first_message(one)) for one in stub.requests if role_of(one) == "evaluate"]
            # The judge is asked the same as at the gate, and once more than there are attempts.
            asked = [text for text in sent if "twice" not in text]
            assert asked[-1] == asked[(result.run.accepted(1) or 0) - 1]
            again = result.run.regrade(1)
            assert len(asked) == len(result.run.attempts(1)) + (len(again.calls) if again else 0)
        return result

    return carry


def overall(correctness: float) -> float:
    """With 8.5 for clarity, which weighs a third as much."""
    return (3 * correctness + 8.5) / 4


def test_the_score_that_is_reported_is_that_of_the_second_grade(judged: Callable[..., HarnessResult]) -> None:
    result = judged(5.5, 6.9, 5.2, 6.1)
    run = result.run
    (kept,) = run.of("evaluation", 1, purpose="kept")
    assert (kept.record.attempt, kept.record.round) == (2, 1)
    assert kept.seq == run.of("decision", 1)[-1].seq + 1
    log = result.step_logs[0]
    assert (log.score, log.gate_score) == (pytest.approx(overall(6.1)), pytest.approx(overall(6.9)))
    assert log.scores == tuple(pytest.approx(overall(score)) for score in (5.5, 6.9, 5.2))
    said = "graded again: 6.7 (7.3 when it was chosen)"
    assert f"step 1 kept after 3 attempt(s), {said}" in result.summary
    assert f"attempt 2 kept, {said}" in views.run_view(run).html()
    plan = frames.plan(run)
    assert plan["score"][0] == pytest.approx(overall(6.1))
    assert plan["gate_score"][0] == pytest.approx(overall(6.9))
    assert said in handoff(run)["progress.md"].decode()
    message = next(one.message for one in commits(run) if one.message.startswith("Keep step 1"))
    assert message.startswith("Keep step 1, attempt 2: fail, 6.7\n")
    assert said in message.lower()
    assert run.outcome == "degraded"


def test_it_decides_nothing_else(judged: Callable[..., HarnessResult]) -> None:
    """Neither a better nor a worse score changes what stands, and the trajectory is that of the gate."""
    result = judged(5.5, 6.9, 5.2, 9.5)
    run = result.run
    assert run.regrade(1) is not None
    assert (run.state(1), run.accepted(1), result.outcome) == ("kept", 2, "degraded")
    trajectory = frames.trajectory(run)
    scores = trajectory[(trajectory["step"] == 1) & (trajectory["on"] == "overall")]["score"]
    assert list(scores) == [pytest.approx(overall(score)) for score in (5.5, 6.9, 5.2)]
    assert len(run.of("decision", 1)) == 3


def test_where_it_could_not_be_measured_no_number_is_invented(judged: Callable[..., HarnessResult]) -> None:
    result = judged(5.5, 6.9, 5.2, REFUSAL, REFUSAL)
    run = result.run
    assert len(run.of("evaluation", 1, purpose="kept")) == 1
    log = result.step_logs[0]
    assert (log.score, log.gate_score) == (None, pytest.approx(overall(6.9)))
    said = "graded again: not measured (7.3 when it was chosen)"
    assert said in result.summary
    assert said in views.run_view(run).html()
    assert frames.plan(run)["score"].isna()[0]
    assert result.outcome == "degraded"


def test_the_best_that_a_run_advances_with_was_chosen_too(judged: Callable[..., HarnessResult]) -> None:
    result = judged(2.5, 3.5, 3.0, 2.0, on_exhausted=("keep", "advance"))
    assert result.step_logs[0].state == "advanced"
    assert result.step_logs[0].score == pytest.approx(overall(2.0))


@pytest.mark.parametrize(
    ("scores", "settings", "state"),
    [
        ((5.5,), {"max_retries_per_step": 0}, "kept"),
        ((5.5, 8.0), {}, "accepted"),
        ((5.5, 6.0, 5.8), {"regrade_kept": False}, "kept"),
    ],
)
def test_what_was_not_chosen_among_several_is_not_graded_again(
    judged: Callable[..., HarnessResult], scores: tuple[float, ...], settings: dict[str, Any], state: str
) -> None:
    result = judged(*scores, **settings)
    log = result.step_logs[0]
    assert log.state == state
    assert result.run.of("evaluation", 1, purpose="kept") == []
    assert log.score == log.gate_score == pytest.approx(overall(max(scores)))
    assert "graded again" not in result.summary


def test_a_run_that_was_begun_before_there_was_a_second_grade_has_none() -> None:
    hand = Hand(()).tried(5, 6).decided("keep", 2)
    assert due(hand.run) == ()
    assert hand.run.outcome == "degraded"
    reported = hand.run.reported(1)
    assert reported is not None
    assert reported.overall == 6


def test_it_is_due_before_anything_that_rests_on_the_step_and_the_run_goes_on_until_then() -> None:
    hand = Hand((), (1,), regrade_kept=True).tried(5, 6).decided("keep", 2)
    phase = Phase(name="evaluate", step=1, attempt=2, round=1, kept=True)
    assert due(hand.run)[0] == phase
    assert phase.purpose == "kept"
    assert hand.run.outcome == "running"
    assert Hand((), regrade_kept=True).tried(5, 6).decided("keep", 2).run.outcome == "running"
    assert hand.run.reported(1) is None
    assert graded_again(hand.run, 1) == "to be graded again"
    hand.evaluate(2, 5.5, purpose="kept")
    assert due(hand.run) == (Phase(name="propose", step=2),)
    assert due(Hand((), regrade_kept=True).tried(5, 6).decided("keep", 2).evaluate(2, 5.5, purpose="kept").run) == ()


def test_a_limit_that_stops_before_it_leaves_it_due(tmp_path: Path) -> None:
    """Practice: the run stops at its limit of calls with the second grade ahead, and goes on with it."""

    def config(**limits: Any) -> HarnessConfig:
        return HarnessConfig(
            model="practice:skill=0.2,seed=3",
            shared_state_path=tmp_path / "shared_state.md",
            max_retries_per_step=1,
            degrade_floor=1.0,
            **limits,
        )

    whole = PGEHarness(config()).run(practice_task("textkit").prompt).run
    first = next(section for section in whole.sections if section.record.purpose == "kept")
    calls = sum(len(getattr(section.payload, "calls", ())) for section in whole.sections[: first.seq])
    (tmp_path / "shared_state.md").rename(tmp_path / "whole.md")
    for name in ("calls.jsonl", "head"):
        (tmp_path / ".pge" / name).unlink()
    harness = PGEHarness(config(max_calls=calls))
    assert harness.run(practice_task("textkit").prompt).outcome == "stopped"
    assert due(harness.state.read())[0].kept
    harness.amend(max_calls=1_000)
    harness.resume()
    again = open_run(tmp_path / "shared_state.md")
    kept = [section.payload for section in again.sections if section.record.purpose == "kept"]
    assert kept
    assert all(isinstance(one, r.EvaluationReport) for one in kept)
    assert not same(again, whole)  # the amendment alone
    assert result_of(again, tmp_path).step_logs[0].score == result_of(whole, tmp_path).step_logs[0].score


def test_a_cell_shows_it_beside_the_score_at_the_gate(shell: Shell) -> None:
    shell.cell("%config PGE.degrade_floor = 1.0")
    ran = shell.cell("%pge run --practice textkit --skill 0.2 --seed 3 --max-retries 1")
    assert "when it was chosen)" in ran.view.plain()
    assert "graded again" in shell.cell("%pge show evaluations 1").view.plain()
