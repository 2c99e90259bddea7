"""Generator and evaluator with tools, through the harness and a service on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from scripted import ADD, CODE, MODEL, PROMPT, Request, fenced, findings, role_of, scripted, step_of

from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.records import Attempt, EvaluationReport
from pge_nb.results import HarnessResult
from pge_nb.run import Run, same

SUM = "python -c 'import calc; print(calc.add(20, 22))'"


def calling(*calls: tuple[str, dict[str, Any]]) -> StubReply:
    blocks = [
        {"type": "tool_use", "id": f"t{n}", "name": name, "input": given} for n, (name, given) in enumerate(calls)
    ]
    return StubReply(blocks=blocks, stop_reason="tool_use")


def turn_of(request: Request) -> int:
    return sum(message["role"] == "assistant" for message in request["messages"])


def works(request: Request) -> StubReply:
    """A generator at its bench: it tries a forbidden write, writes, runs, and is done."""
    step = step_of(request)
    return [
        calling(("list", {}), ("write", {"path": "notes.md", "content": "mine"})),
        calling(("write", {"path": "calc.py", "content": CODE[step]})),
        calling(("run", {"command": SUM})),
        calling(("done", {"says": "it adds"})),
    ][turn_of(request)]


def looks(request: Request) -> StubReply | str:
    """An evaluator that runs the code before it judges, and quotes what it saw."""
    if turn_of(request) == 0:
        return calling(("run", {"command": SUM}), ("read", {"path": "calc.py"}))
    seen = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    name = str(seen[-1][0]["content"]).split('id="', 1)[1].split('"', 1)[0]
    judged = findings(request)
    for finding in judged:
        finding |= {"evidence": [name], "quote": "42"}
    return json.dumps({"findings": judged})


class At:
    """A run at a stub in a directory, with both roles' tools on unless said otherwise."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tmp_path.mkdir(exist_ok=True)
        self.directory, self._monkeypatch = tmp_path, monkeypatch
        self.requests: list[Request] = []

    def __call__(
        self, generate: Callable[[Request], Any] = works, evaluate: Callable[[Request], Any] = looks, **settings: Any
    ) -> HarnessResult:
        chosen = {"generator_tools": "on", "evaluator_tools": "on", **settings}
        most = chosen.pop("most_calls", None)
        config = HarnessConfig(model=MODEL, shared_state_path=self.directory / "shared_state.md", **chosen)
        with MessagesStub(scripted(generate=generate, evaluate=evaluate)) as stub:
            for name, value in stub.environ.items():
                self._monkeypatch.setenv(name, value)
            try:
                harness = PGEHarness(config)
                harness.start(PROMPT)
                if most is not None:
                    harness.amend(max_calls=most)
                return harness.resume()
            finally:
                self.requests = stub.requests

    @property
    def run(self) -> Run:
        return PGEHarness(HarnessConfig(shared_state_path=self.directory / "shared_state.md")).state.read()

    def sent(self, role: str) -> list[str]:
        return [json.dumps(request) for request in self.requests if role_of(request) == role]


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> At:
    return At(tmp_path, monkeypatch)


def attempt(run: Run, step: int = 1) -> Attempt:
    return run.attempts(step)[1]


def report(run: Run, step: int = 1) -> EvaluationReport:
    found = run.evaluation(step, 1)
    assert found is not None
    return found


def test_a_generator_writes_runs_and_is_done_and_its_refused_write_is_told(at: At) -> None:
    result = at()
    assert result.outcome == "passed"
    made = attempt(at.run)
    assert [file.path for file in made.files] == ["calc.py"]
    assert [refusal.path for refusal in made.refused] == ["notes.md"]
    assert len(made.calls) == 4
    assert not (at.directory / "work" / "notes.md").exists()
    assert "run python -c" in made.log.text
    refused = [text for text in at.sent("generate") if "refused: it is no deliverable" in text]
    assert refused, "the model sees the refusal"


def test_what_the_evaluator_saw_with_tools_is_evidence_that_its_findings_cite(at: At) -> None:
    at()
    judged = report(at.run)
    ran = next(evidence for evidence in judged.evidence if evidence.method == "run")
    assert ran.on == SUM
    assert "42" in ran.body.text
    assert ran.strength.startswith("weak")
    assert {finding.evidence for finding in judged.findings if finding.by == "judge"} == {(ran.id,)}
    assert judged.verdict == "pass"
    assert judged.isolation


def test_a_quote_that_no_outcome_holds_does_not_pass(at: At) -> None:
    def lies(request: Request) -> StubReply | str:
        said = looks(request)
        return said.replace('"42"', '"43"') if isinstance(said, str) else said

    at(evaluate=lies, max_retries_per_step=0)
    assert report(at.run).verdict != "pass"


def test_an_evaluator_is_told_nothing_of_plan_and_work_log(at: At) -> None:
    at()
    sent = at.sent("evaluate")
    assert len(sent) == 4
    for text in sent:
        assert "it adds" not in text
        assert "A small calculator" not in text


def test_a_run_with_tools_is_another_task_and_another_rater(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at()
    plain = At(tmp_path / "plain", monkeypatch)
    plain(generate=lambda _: None, evaluate=lambda _: None, generator_tools="off", evaluator_tools="off")
    assert at.run.task.run != plain.run.task.run
    assert report(at.run).rater != report(plain.run).rater


def test_a_model_that_writes_its_calls_as_text_works_too(at: At) -> None:
    def talks(request: Request) -> str:
        write = {"name": "write", "arguments": {"path": "calc.py", "content": CODE[step_of(request)]}}
        return fenced([write, {"name": "done", "arguments": {}}][turn_of(request)]) + "\n\n\n"

    assert at(generate=talks).outcome == "passed"


def test_a_model_that_ignores_its_tools_and_writes_files_is_taken_at_its_files(at: At) -> None:
    def files(request: Request) -> str:
        return f"Approach: plain.\n\n```python calc.py\n{CODE[step_of(request)]}```\n"

    assert at(generate=files).outcome == "passed"
    assert attempt(at.run).log.text.startswith("Approach: plain.")


def test_a_model_that_only_talks_is_asked_once_more_and_then_nothing_is_there(at: At) -> None:
    at(generate=lambda _: "I have done it all.", max_retries_per_step=0)
    made = attempt(at.run)
    assert made.missing == ("calc.py",)
    assert len(made.calls) == 2
    assert made.notes[0].startswith("sent back: ")


def test_limits_on_turns_end_the_phase_and_are_told(at: At) -> None:
    def never(request: Request) -> StubReply:
        return calling(("write", {"path": "calc.py", "content": ADD}), ("list", {}))

    at(generate=never, max_turns=3, max_retries_per_step=0)
    made = attempt(at.run)
    assert len(made.calls) == 3
    assert made.notes == ("ended by the limit on turns",)
    assert [file.path for file in made.files] == ["calc.py"]


def test_an_evaluator_that_never_stops_looking_is_asked_for_its_findings(at: At) -> None:
    def staring(request: Request) -> StubReply | str:
        if "could not be used" in str(request["messages"][-1]["content"]):
            return fenced({"findings": findings(request)})
        return calling(("list", {}))

    assert at(evaluate=staring, max_turns=2).outcome == "passed"
    assert len(report(at.run).calls) == 3


def test_a_phase_that_was_stopped_between_turns_pays_for_the_rest_alone(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = At(tmp_path / "unbroken", monkeypatch)
    unbroken()
    whole = len(unbroken.requests)
    asked: list[Request] = []
    for most in range(1, whole + 1):
        result = at(most_calls=most)
        asked += at.requests
    assert result.outcome == "passed"
    assert len(asked) == whole, "no turn is paid twice"
    told = [section.record for section in at.run.sections if section.record.kind != "amendment"]
    assert same(told, unbroken.run)


def test_the_notes_of_a_person_in_the_working_directory_reach_the_generator_and_not_the_evaluator(at: At) -> None:
    (at.directory / "work").mkdir()
    (at.directory / "work" / "AGENTS.md").write_text("Use tabs, never blanks.\n")
    at()
    assert all("Use tabs, never blanks." in text for text in at.sent("generate"))
    assert all("Use tabs, never blanks." not in text for text in at.sent("evaluate"))
