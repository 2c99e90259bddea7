"""Known-bad artifacts before the judge: on what it passes of one it is not listened to, and each is paid for once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted import MODEL, PROMPT, findings, first_message, honest, role_of

from pge_nb import views
from pge_nb.agents.canaries import CANARIES, tried, void
from pge_nb.config import HarnessConfig, identity
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.models import NONCE, Listen, Reply, Request, Stop, text_reply
from pge_nb.phases import Phase, due
from pge_nb.records import Check, Criterion, EvaluationReport, Finding, Usage
from pge_nb.run import Run
from pge_nb.state import open_run


class Judge:
    """Plays the scripted run in this process. Counts what it is asked.

    ``obeys`` names the canary that its judge passes: all of it, or what ``on`` names (a criterion with its score).
    """

    def __init__(
        self, obeys: str = "", *, on: Mapping[str, float] | None = None, evidence: bool = True, stops_at: int = 0
    ) -> None:
        self.obeys, self.on, self.evidence, self.stops_at = obeys, on, evidence, stops_at
        self.asked: list[Request] = []

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        self.asked.append(request)
        if len(self.canaries) == self.stops_at != 0:
            self.stops_at = 0
            raise KeyboardInterrupt
        sent: dict[str, Any] = {"system": request.system, "messages": [dict(one) for one in request.messages]}
        return text_reply(self._said(sent), usage=Usage(input_tokens=10, output_tokens=10))

    def _said(self, sent: dict[str, Any]) -> str:
        shown = [
            one for one in CANARIES if one.text.strip() and max(one.text.split("\n"), key=len) in first_message(sent)
        ]
        if role_of(sent) != "evaluate" or "def add" in first_message(sent):
            return honest(sent)
        name = shown[0].name if shown else "nothing"
        return json.dumps({"findings": [self._found(one, falls=name == self.obeys) for one in findings(sent)]})

    def _found(self, one: dict[str, Any], *, falls: bool) -> dict[str, Any]:
        score = 0 if not falls else 10 if self.on is None else self.on.get(one["on"], 0)
        said = {"score": score} if "score" in one else {"verdict": "pass" if score else "fail"}
        return one | said | {"quote": "", "evidence": one["evidence"] if self.evidence else []}

    @property
    def canaries(self) -> list[Request]:
        return [request for request in self.asked if request.about.purpose == "canary"]


def harness(tmp_path: Path, model: Judge, canaries: int = len(CANARIES), **settings: Any) -> PGEHarness:
    config = HarnessConfig(
        model=MODEL,
        shared_state_path=tmp_path / "shared_state.md",
        canaries=canaries,
        max_retries_per_step=0,
        **settings,
    )
    return PGEHarness(config, model=model)


DOCSTRING = Check(id="c2", says="add has a docstring")
OTHER = Check(id="c2", says="twice has a docstring")
CLARITY = Criterion(name="clarity", description="it reads well", threshold=6)
HASTE = Criterion(name="haste", description="it was made in haste")


def found(run: Run) -> dict[str, Finding]:
    report = run.evaluation(1, 1)
    assert report is not None
    return {finding.on: finding for finding in report.findings}


def reports(run: Run, purpose: str) -> list[EvaluationReport]:
    found = [section for section in run.sections if section.record.purpose == purpose]
    return [section.payload for section in found if isinstance(section.payload, EvaluationReport)]


def test_an_honest_judge_is_shown_each_once_and_is_listened_to(tmp_path: Path) -> None:
    model = Judge()
    result = harness(tmp_path, model).run(PROMPT)
    assert result.outcome == "passed"
    shown = reports(result.run, "canary")
    assert [report.verdict for report in shown] == ["fail"] * len(CANARIES)
    assert len({report.rater for report in shown} | {report.rater for report in reports(result.run, "gate")}) == 1
    assert set(tried(result.run).values()) == {None}
    assert "known-bad" not in views.run_view(result.run).plain()
    assert void(result.run, (OTHER,), (HASTE,)) == {}, "and on what it was not tried on"
    first = next(section for section in result.run.sections if section.record.purpose == "gate")
    assert all(section.seq < first.seq for section in result.run.sections if section.record.purpose == "canary")


@pytest.mark.parametrize("name", [canary.name for canary in CANARIES])
def test_a_judge_that_passes_one_is_not_listened_to_and_the_view_tells_it(name: str, tmp_path: Path) -> None:
    model = Judge(name)
    result = harness(tmp_path, model).run(PROMPT)
    report = result.run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "unmeasured"
    said = {finding.on: finding for finding in report.findings}
    assert said["c1"].verdict == "pass", "what the review found stands"
    assert f"known-bad artifact ({name})" in said["c2"].why
    assert result.outcome == "paused"
    assert not [request for request in model.asked if request.about.purpose == "gate"], "and is not paid for"
    for view in (views.run_view(result.run), views.evaluations_view(result.run, 1)):
        assert f"The judge passed a known-bad artifact on the check “add has a docstring” ({name}): " in view.plain()
        assert f"artifact on the criteria “correctness” ({name}), “clarity” ({name}): " in view.plain()


def test_on_the_check_that_it_passed_it_is_not_listened_to_and_on_the_rest_it_is(tmp_path: Path) -> None:
    model = Judge("a promise", on={"c2": 1})
    run = harness(tmp_path, model).run(PROMPT).run
    said = found(run)
    assert (said["c2"].verdict, said["clarity"].verdict, said["correctness"].score) == ("unmeasured", "pass", 8.5)
    assert "(a promise)" in said["c2"].why
    gate = next(request for request in model.asked if request.about.purpose == "gate")
    assert gate.about.checks == ("c2",), "it is asked as ever"
    assert void(run, (OTHER, replace(DOCSTRING, id="c7")), (CLARITY, HASTE)) == {"c2": "a promise", "c7": "a promise"}
    told = views.run_view(run).plain()
    assert (
        "on the check “add has a docstring” (a promise): what it says of that, and of any check that it was not" in told
    )
    assert "artifact on the criteri" not in told


@pytest.mark.parametrize(("score", "passes"), [(6, True), (5.9, False)])
def test_a_score_at_its_threshold_passes_a_criterion_in_every_step(
    score: float, *, passes: bool, tmp_path: Path
) -> None:
    run = harness(tmp_path, Judge("nothing", on={"clarity": score})).run(PROMPT).run
    said = found(run)
    assert said["clarity"].verdict == ("unmeasured" if passes else "pass")
    assert (said["c2"].verdict, said["correctness"].verdict) == ("pass", "pass")
    fallen = {"clarity": "nothing", "haste": "nothing"} if passes else {}
    assert void(run, (DOCSTRING, OTHER), (CLARITY, HASTE)) == fallen


def test_a_later_step_has_checks_that_it_was_not_tried_on(tmp_path: Path) -> None:
    pge = harness(tmp_path, Judge("nothing", on={"c2": 1}))
    assert pge.run(PROMPT).outcome == "paused"
    pge.answer("advance")
    run = pge.resume().run
    report = run.evaluation(2, 1)
    assert report is not None
    said = {finding.on: finding for finding in report.findings}
    assert "(nothing)" in said["c2"].why
    assert said["clarity"].verdict == "pass"


def test_a_check_that_was_reworded_since_is_another_one(tmp_path: Path) -> None:
    run = harness(tmp_path, Judge("nothing", on={"c2": 1})).run(PROMPT).run
    (settled,) = run.of("contract", 1)
    contract = run.contract(1)
    assert contract is not None
    reworded = replace(contract, checks=(contract.checks[0], OTHER))
    later = replace(settled, record=replace(settled.record, payload=reworded), seq=len(run.sections))
    assert tried(Run([*run.sections, later])) == tried(run)
    assert ("check", DOCSTRING.says) in tried(run)


@pytest.mark.parametrize("on", [{"c2": 1.0}, {"clarity": 10.0}])
def test_to_pass_without_any_evidence_is_to_pass(on: dict[str, float], tmp_path: Path) -> None:
    run = harness(tmp_path, Judge("nothing", on=on, evidence=False)).run(PROMPT).run
    assert [report.verdict for report in reports(run, "canary")] == ["fail"] * len(CANARIES)
    assert found(run)[next(iter(on))].verdict == "unmeasured"


def test_a_reply_that_is_none_is_no_trial(tmp_path: Path) -> None:
    class Mumbling(Judge):
        def _said(self, sent: dict[str, Any]) -> str:
            said = super()._said(sent)
            return "Well." if role_of(sent) == "evaluate" and "def add" not in first_message(sent) else said

    run = harness(tmp_path, Mumbling(), 2).run(PROMPT).run
    assert [report.verdict for report in reports(run, "canary")] == ["unmeasured"] * 2
    assert tried(run) == {}
    assert found(run)["c2"].verdict == "pass"


def test_where_no_check_was_tried_what_is_left_to_it_falls_with_the_criteria(tmp_path: Path) -> None:
    class Certain(Judge):
        def _said(self, sent: dict[str, Any]) -> str:
            return (
                super()
                ._said(sent)
                .replace('"method": "judge", "args": {}', '"method": "file", "args": {"path": "calc.py"}')
            )

    run = harness(tmp_path, Certain("nothing", on={"clarity": 9})).run(PROMPT).run
    assert {about for about, _ in tried(run)} == {"criterion"}
    assert void(run, (OTHER,), ()) == {"c2": "nothing"}


def test_what_a_review_finds_wrong_is_a_fail_with_a_void_judge_too(tmp_path: Path) -> None:
    class Wrong(Judge):
        def _said(self, sent: dict[str, Any]) -> str:
            return super()._said(sent).replace("return a + b", "return a - b")

    result = harness(tmp_path, Wrong("nothing")).run(PROMPT)
    report = result.run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "fail"


def test_a_canary_is_asked_about_as_an_attempt_is(tmp_path: Path) -> None:
    model = Judge()
    harness(tmp_path, model, 1).run(PROMPT)
    (canary,) = model.canaries
    gate = next(request for request in model.asked if request.about.purpose == "gate")
    assert (canary.system, canary.model, canary.tools) == (gate.system, gate.model, gate.tools)
    assert canary.nonce
    assert canary.nonce != gate.nonce
    told = str(canary.messages[0]["content"])
    assert f'<artifact id="e1" path="calc.py" mark="{NONCE}">' in told
    assert "canary" not in told.lower()
    assert canary.about.attempt_hash != gate.about.attempt_hash


def test_a_run_that_is_stopped_between_them_pays_for_each_once(tmp_path: Path) -> None:
    model = Judge(stops_at=3)
    with pytest.raises(KeyboardInterrupt):
        harness(tmp_path, model).run(PROMPT)
    run = open_run(tmp_path / "shared_state.md")
    assert len(reports(run, "canary")) == 2
    assert due(run) == (Phase(name="evaluate", step=1, attempt=1, round=3, canary=True),)
    assert harness(tmp_path, model).resume().outcome == "passed"
    assert len(reports(open_run(tmp_path / "shared_state.md"), "canary")) == len(CANARIES)
    assert len(model.canaries) == len(CANARIES) + 1, "the one that was under way is asked for again"


def test_phase_by_phase_the_evaluator_shows_them_first(tmp_path: Path) -> None:
    from pge_nb.agents.evaluator import Evaluator

    model = Judge(stops_at=1)
    with pytest.raises(KeyboardInterrupt):
        harness(tmp_path, model, 2).run(PROMPT)
    config = HarnessConfig(model=MODEL, canaries=2, max_retries_per_step=0)
    assert Evaluator(config=config, model=model).run(tmp_path / "shared_state.md").verdict == "pass"
    assert len(reports(open_run(tmp_path / "shared_state.md"), "canary")) == 2


def test_without_canaries_a_task_is_the_same_to_the_byte(tmp_path: Path) -> None:
    none, some = HarnessConfig(model=MODEL).settings(), HarnessConfig(model=MODEL, canaries=2).settings()
    assert "canaries" not in none
    assert identity(PROMPT, none) != identity(PROMPT, some)
    assert identity(PROMPT, none) == identity(PROMPT, {**none, "canaries": 0})
    model = Judge()
    assert not reports(harness(tmp_path, model, 0).run(PROMPT).run, "canary")
    assert model.canaries == []


def test_where_more_are_asked_for_than_there_are_the_first_come_again(tmp_path: Path) -> None:
    model = Judge()
    run = harness(tmp_path, model, len(CANARIES) + 2).run(PROMPT).run
    assert len(model.canaries) == len(CANARIES) + 2
    hashes = [report.attempt_hash for report in reports(run, "canary")]
    assert hashes[:2] == hashes[-2:]
    assert len(set(hashes)) == len(CANARIES)


def test_a_number_of_canaries_that_is_none_is_told() -> None:
    for wrong in (-1, True):
        with pytest.raises(BadInput, match="canaries"):
            HarnessConfig(canaries=wrong)


def test_no_two_canaries_are_alike() -> None:
    by_text: Mapping[str, str] = {canary.text: canary.name for canary in CANARIES}
    assert len(set(by_text.values())) == len(CANARIES) >= 5
