"""Replies that must not pass, each sent by a loopback server through the whole of ``%%pge run`` in a real IPython shell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import MODEL, PROMPT, Request, fenced, findings, scripted

from pge_nb.records import EvaluationReport
from pge_nb.results import HarnessResult, result_of
from pge_nb.state import open_run

Reply = Callable[[Request], Any]


def changed(change: Callable[[list[dict[str, Any]]], Any]) -> Reply:
    """An honest judge's reply with its findings changed in place (or replaced by what ``change`` returns)."""

    def reply(request: Request) -> str:
        found = findings(request)
        other = change(found)
        return fenced({"findings": found if other is None else other})

    return reply


def every_score(value: Any) -> Reply:
    return changed(lambda found: [f | {"score": value} if "score" in f else f for f in found])


def without(on: str) -> Reply:
    return changed(lambda found: [f for f in found if f["on"] != on])


def with_first(**fields: Any) -> Reply:
    return changed(lambda found: [found[0] | fields, *found[1:]])


def quoting(request: Request) -> str:
    return f"An earlier evaluation of this work said:\n{fenced({'findings': findings(request)})}\nI have not looked at it yet."


def not_a_number(request: Request) -> str:
    return fenced({"findings": findings(request)}).replace("8.5", "NaN")


def lowered(request: Request) -> str:
    found = [f | {"score": 3, "threshold": 1} if "score" in f else f for f in findings(request)]
    return fenced({"findings": found, "threshold": 0, "thresholds": {"correctness": 0}, "passed": True})


def truncated(request: Request) -> StubReply:
    whole = json.dumps({"findings": findings(request)})
    return StubReply(whole[: len(whole) // 2], stop_reason="max_tokens")


UNMEASURED: dict[str, Reply] = {
    "an empty reply": lambda _: "",
    "a refusal": lambda _: StubReply("I'm sorry, I can't help with that.", stop_reason="refusal"),
    "rate limit exceeded": lambda _: "Rate limit exceeded",
    "passed false": lambda _: '{"passed": false}',
    "passed true, no findings": lambda _: '{"passed": true}',
    "overall status in words": lambda _: "**Overall Status:** PASS\nOVERALL_RESULT: PASS",
    "a check left out": without("c2"),
    "a criterion left out": without("clarity"),
    "no findings in the list": changed(lambda _: []),
    "score 99": every_score(99),
    "score -1": every_score(-1),
    "score 'nine'": every_score("nine"),
    "score '**2**'": every_score("**2**"),
    "score '2/10'": every_score("2/10"),
    "score NaN": not_a_number,
    "score true": every_score(True),
    "score null": every_score(None),
    "verdict true": with_first(verdict=True),
    "duplicate findings that disagree": changed(lambda found: [*found, found[0] | {"verdict": "fail"}]),
    "duplicate scores that disagree": changed(lambda found: [*found, found[-1] | {"score": 2}]),
    "JSON in a fence in prose that quotes another evaluation": quoting,
    "truncated JSON": truncated,
    "a key twice": lambda r: json.dumps({"findings": findings(r)}).replace(
        '"verdict": "pass"', '"verdict": "fail", "verdict": "pass"'
    ),
    "a million brackets": lambda _: StubReply("[" * 1_000_000, piece=250_000),
}
FAILED: dict[str, Reply] = {
    "a threshold lowered by the reply": lowered,
    "an evidence id never issued": with_first(evidence=["e99"]),
    "a quote that is not in the evidence": with_first(quote="def add(a, b, c):"),
    "no evidence": with_first(evidence=[], quote=""),
    "evidence of another name beside a good one": with_first(evidence=["e1", "e2", "e77"]),
}


Cell = Callable[..., tuple[HarnessResult, MessagesStub]]


@pytest.fixture
def run_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    """Runs the task in a `%%pge run` cell against a stub that plays it, some replies replaced."""

    monkeypatch.chdir(tmp_path)
    shell = Shell()

    def run(**replaced: Reply) -> tuple[HarnessResult, MessagesStub]:
        with MessagesStub(scripted(**replaced)) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            ran = shell.cell(f"%%pge run --model {MODEL} --max-retries 0\n{PROMPT}")
        assert ran.error is None, ran.text
        return result_of(open_run(tmp_path / "shared_state.md"), tmp_path), stub

    yield run
    shell.close()


def first_report(result: HarnessResult) -> EvaluationReport:
    report = result.run.evaluation(1, 1)
    assert report is not None
    return report


def test_the_honest_run_passes(run_cell: Cell, tmp_path: Path) -> None:
    result, stub = run_cell()
    assert result.outcome == "passed"
    assert result.output_path.read_text().startswith("def add")
    assert stub.tally.requests == len(result.run.calls) == 9
    assert stub.tally.tokens == sum(call.usage.total for call in result.run.calls)


@pytest.mark.parametrize("name", UNMEASURED)
def test_what_cannot_be_measured_does_not_pass(name: str, run_cell: Cell, tmp_path: Path) -> None:
    result, stub = run_cell(evaluate=UNMEASURED[name])
    report = first_report(result)
    assert report.verdict == "unmeasured"
    assert result.outcome == "paused"
    assert report.unusable is not None, "the raw text is kept"
    assert len(report.calls) == 2, "one repair request, then no more"
    assert all(call.usage.total > 0 for call in report.calls), "and the cost of both"
    assert len(result.run.of("evaluation", 1)) == 3, "made again at most twice"
    assert not (tmp_path / "work").exists() or not list((tmp_path / "work").iterdir())
    repair = next(r for r in stub.requests if len(r["messages"]) == 3)
    assert "could not be used" in str(repair["messages"][-1]["content"])


@pytest.mark.parametrize("name", FAILED)
def test_what_does_not_hold_fails(name: str, run_cell: Cell) -> None:
    result, _ = run_cell(evaluate=FAILED[name])
    assert first_report(result).verdict == "fail"
    assert result.outcome != "passed"
    assert result.run.state(1) != "accepted"


AGREEMENTS: dict[str, Reply] = {
    "NOT APPROVED": lambda _: "NOT APPROVED",
    "APPROVED": lambda _: "APPROVED",
    "agreed as text": lambda _: '{"agreed": "true"}',
    "agreed 1": lambda _: '{"agreed": 1}',
    "agreed in prose around": lambda _: 'You said {"agreed": true} but I am not sure.',
    "agreed false": lambda _: '{"agreed": false, "reason": "too easy"}',
    "empty": lambda _: "",
}


@pytest.mark.parametrize("name", AGREEMENTS)
def test_only_a_plain_true_is_agreement(name: str, run_cell: Cell) -> None:
    result, _ = run_cell(respond=AGREEMENTS[name])
    contract = result.run.contract(1)
    assert contract is not None
    assert not contract.agreed
    assert contract.origin.startswith("not agreed in 3 rounds")


def test_one_repair_is_enough_where_the_judge_mends_it(run_cell: Cell) -> None:
    def mends(request: Request) -> Any:
        return None if len(request["messages"]) == 3 else without("clarity")(request)

    result, _ = run_cell(evaluate=mends)
    assert result.outcome == "passed"
    assert "clarity: no finding was given" in first_report(result).notes[0]


def test_half_a_character_in_what_agents_write_stops_nothing(run_cell: Cell) -> None:
    def proposes(request: Request) -> str:
        check = {"says": "add is there, half \ud83d an emoji", "method": "judge"}
        return fenced({"deliverables": ["calc.py"], "checks": [check]})

    def judges(request: Request) -> str:
        return fenced({"findings": [f | {"says": "half \ud83d"} for f in findings(request)]})

    result, _ = run_cell(propose=proposes, evaluate=judges)
    assert result.outcome == "passed"
    assert "half \ufffd" in str(first_report(result).findings)
