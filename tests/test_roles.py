"""Roles off: planner, contract and evaluator by themselves and together; who is asked how often, and what with."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import CODE, MODEL, PROMPT, Request, findings, role_of, scripted

from pge_nb import bank
from pge_nb.agents.raters import rater_of
from pge_nb.agents.replies import json_somewhere
from pge_nb.bank.whole import whole_step, whole_truth
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.models import About
from pge_nb.models import Request as ModelRequest
from pge_nb.models.practice import Practice
from pge_nb.records import EvaluationReport, attempt_hash
from pge_nb.run import Run, same
from pge_nb.skills import Skill
from pge_nb.state import open_run
from pge_nb.workspace import Tree

ROOT = Path(__file__).parents[1]
STATS = bank.practice_task("stats").prompt


def config(tmp_path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(**{"model": MODEL, "shared_state_path": tmp_path / "shared_state.md", **settings})


def phases(run: Run) -> dict[str, int]:
    """How often each phase called a model."""
    return dict(Counter(call.id.split("/")[1] for call in run.calls))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesStub]:
    """The scripted run over loopback, whose judge also answers at the end of a conversation."""
    with MessagesStub(answer) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        yield served


def last_text(request: Request) -> str:
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def answer(request: Request) -> Any:
    last = last_text(request)
    if "You are the evaluator" in last:
        return json.dumps({"findings": findings({**request, "messages": [{"role": "user", "content": last}]})})
    if role_of(request) == "generate" and "whatever files it takes" in last:
        return f"All at once.\n\n```python calc.py\n{CODE[2]}```\n"
    return scripted()(request)


def judge_requests(stub: MessagesStub) -> list[Request]:
    return [one for one in stub.requests if "Give a finding on each of" in last_text(one)]


# All together, with the practice model


@pytest.mark.parametrize(
    ("planner", "contract", "evaluator"),
    list(itertools.product([True, False], [True, False], ["fresh", "self", "off"])),
)
def test_every_combination_runs_to_its_end_and_says_who_took_part(
    planner: bool, contract: bool, evaluator: Any, tmp_path: Path
) -> None:
    settings = {"planner": planner, "contract": contract, "evaluator": evaluator}
    harness = PGEHarness(config(tmp_path, model="practice:skill=0.9,seed=2", **settings))
    outcome = harness.run(STATS)
    run = outcome.run
    assert run.outcome == "degraded" if evaluator == "off" else run.outcome in {"passed", "degraded", "paused"}
    made = phases(run)
    assert made.get("plan", 0) == planner
    assert len(run.steps) == (2 if planner else 1)
    assert ("propose" in made, "respond" in made) == (contract, contract)
    assert ("evaluate" in made) == (evaluator != "off")
    usual = {"planner": True, "contract": True, "evaluator": "fresh"}
    said = {name: value for name, value in run.task.settings.items() if name in usual}
    assert said == {name: value for name, value in settings.items() if value != usual[name]}
    assert (
        run.task.run
        == PGEHarness(config(tmp_path, model="practice:skill=0.9,seed=2", **settings)).start(STATS).task.run
    )
    before = harness.state.path.read_bytes()
    assert PGEHarness(config(tmp_path, model="practice:skill=0.9,seed=2", **settings)).run(STATS).outcome == run.outcome
    assert harness.state.path.read_bytes() == before


def test_each_combination_is_a_task_of_its_own(tmp_path: Path) -> None:
    ids = set()
    for number, (planner, contract, evaluator) in enumerate(
        itertools.product([True, False], [True, False], ["fresh", "self", "off"])
    ):
        (place := tmp_path / str(number)).mkdir()
        given = config(place, model="practice", planner=planner, contract=contract, evaluator=evaluator)
        ids.add(PGEHarness(given).start(STATS).task.run)
    assert len(ids) == 12
    plain = PGEHarness(config(tmp_path, model="practice")).start(STATS).task
    assert plain.run in ids
    assert {"planner", "contract", "evaluator", "approve", "second_look"}.isdisjoint(plain.settings)


def test_false_stands_for_off_and_nothing_else_does(tmp_path: Path) -> None:
    assert config(tmp_path, evaluator=False).evaluator == "off"
    assert config(tmp_path, evaluator=False).settings()["evaluator"] == "off"
    for wrong in ({"evaluator": True}, {"evaluator": "no"}, {"planner": "no"}, {"contract": 0}, {"approve": "all"}):
        with pytest.raises(BadInput):
            config(tmp_path, **wrong)


# Alone, over loopback


def test_without_a_planner_the_prompt_is_the_only_step(stub: MessagesStub, tmp_path: Path) -> None:
    run = PGEHarness(config(tmp_path, planner=False, default_thresholds={"clarity": 6})).run(PROMPT).run
    assert phases(run) == {"propose": 1, "respond": 1, "generate": 1, "evaluate": 1}
    assert run.plan is not None
    assert [step.description for step in run.steps] == [PROMPT]
    assert [(one.name, one.threshold) for one in run.plan.criteria] == [("clarity", 6.0)]
    assert run.of("plan")[0].record.by == "harness"
    assert run.plan.calls == ()
    assert "planner" not in {role_of(one) for one in stub.requests}


def test_without_contracts_the_success_criteria_are_checks_for_the_judge(stub: MessagesStub, tmp_path: Path) -> None:
    run = PGEHarness(config(tmp_path, contract=False)).run(PROMPT).run
    assert phases(run) == {"plan": 1, "generate": 2, "evaluate": 2}
    contract = run.contract(2)
    assert contract is not None
    assert [(check.id, check.says, check.method) for check in contract.checks] == [
        ("c1", "twice(4) returns 8", "judge")
    ]
    assert contract.deliverables == ("calc.py",)
    assert (contract.agreed, contract.origin) == (False, "made of the plan, without negotiation: contracts are off")
    assert run.outcome == "passed"
    assert "contracts are off" in (tmp_path / "shared_state.md").read_text("utf-8")


def test_without_an_evaluator_nothing_is_measured_and_no_run_passes(stub: MessagesStub, tmp_path: Path) -> None:
    run = PGEHarness(config(tmp_path, evaluator=False, hidden_cases=2, canaries=2)).run(PROMPT).run
    assert phases(run) == {"plan": 1, "propose": 2, "respond": 2, "generate": 2}
    assert run.of("evaluation", 1) == []
    assert [run.decision(step).action for step in (1, 2)] == ["advance", "advance"]  # type: ignore[union-attr]
    assert run.outcome == "degraded"
    assert (tmp_path / "work" / "calc.py").read_text("utf-8") == CODE[2]


def test_who_judges_itself_is_asked_in_its_own_turns(stub: MessagesStub, tmp_path: Path) -> None:
    harness = PGEHarness(config(tmp_path, evaluator="self"))
    run = harness.run(PROMPT).run
    assert run.outcome == "passed"
    assert phases(run) == {"plan": 1, "propose": 2, "respond": 2, "generate": 2, "evaluate": 2}
    made = [one for one in stub.requests if role_of(one) == "generate" and "Give a finding" not in last_text(one)]
    judged = judge_requests(stub)
    assert (len(made), len(judged)) == (2, 2)
    for step, (before, after) in enumerate(zip(made, judged, strict=True), 1):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert after["messages"][1]["role"] == "assistant"
        assert CODE[step].rstrip() in last_text({"messages": [after["messages"][1]]})
        assert [one["role"] for one in after["messages"]] == ["user", "assistant", "user"]
        assert after["system"] == before["system"]
        assert "You are the evaluator" in last_text(after)
    told = harness.request("evaluator", 2, 1)
    assert [dict(one) for one in told.messages[:2]] == judged[1]["messages"][:2]


def test_a_fresh_judge_sees_nothing_of_the_generators_turns(stub: MessagesStub, tmp_path: Path) -> None:
    PGEHarness(config(tmp_path)).run(PROMPT)
    for one in judge_requests(stub):
        assert [message["role"] for message in one["messages"]] == ["user"]
        assert "Approach: plain functions." not in json.dumps(one)


def test_the_reviews_run_whoever_judges(stub: MessagesStub, tmp_path: Path) -> None:
    run = PGEHarness(config(tmp_path, evaluator="self")).run(PROMPT).run
    report = run.evaluation(1, 1)
    assert report is not None
    by = {finding.on: finding.by for finding in report.findings}
    assert by["c1"] == "oracle"
    assert by["c2"] == "judge"


def test_who_judges_itself_is_another_rater_and_the_generators_model(stub: MessagesStub, tmp_path: Path) -> None:
    raters = {}
    for mode in ("fresh", "self"):
        (place := tmp_path / mode).mkdir()
        models = {"evaluator": "another-model"}
        run = PGEHarness(config(place, evaluator=mode, models=models)).run(PROMPT).run
        (raters[mode],) = {s.payload.rater for s in run.sections if isinstance(s.payload, EvaluationReport)}
        calls = [call for call in run.calls if call.id.split("/")[1] == "evaluate"]
        assert {call.model for call in calls} == {"another-model" if mode == "fresh" else MODEL}
        assert raters[mode] == rater_of(run.settings).id
    assert raters["fresh"] != raters["self"]


def test_turns_with_tools_are_gone_on_with_as_they_came(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every open call of a tool is answered before the evaluation, and the tools are sent along: a service insists on both."""

    def script(request: Request) -> Any:
        if "You are the evaluator" in last_text(request) or role_of(request) != "generate":
            return answer(request)
        step = 2 if "twice" in str(request["messages"][0]["content"]).split("Checks:")[1] else 1
        write = {"type": "tool_use", "id": "w", "name": "write", "input": {"path": "calc.py", "content": CODE[step]}}
        done = {"type": "tool_use", "id": "d", "name": "done", "input": {"says": "it is done"}}
        return StubReply(blocks=[{"type": "text", "text": "I write and end."}, write, done], stop_reason="tool_use")

    with MessagesStub(script) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        run = PGEHarness(config(tmp_path, evaluator="self", generator_tools="on")).run(PROMPT).run
    assert run.outcome == "passed"
    judged = judge_requests(served)
    assert judged
    for one in judged:
        *_, reply, evaluation = one["messages"]
        asked = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in evaluation["content"] if block["type"] == "tool_result"]
        assert asked == answered == ["w", "d"]
        assert {tool["name"] for tool in one["tools"]} >= {"write", "done"}


def test_a_run_without_roles_that_is_stopped_after_any_section_is_the_same_as_one_that_is_not(tmp_path: Path) -> None:
    settings: Mapping[str, Any] = {"model": "practice:skill=0.5,seed=4", "planner": False, "evaluator": "self"}
    for name in ("whole", "halting"):
        (tmp_path / name).mkdir()
    whole = PGEHarness(config(tmp_path / "whole", **settings)).run(STATS).run
    PGEHarness(config(tmp_path / "halting", **settings)).start(STATS)
    for _ in range(100):
        running = PGEHarness(config(tmp_path / "halting", **settings)).records()
        if next(running, None) is None:
            break
        running.close()
    assert same(whole, open_run(tmp_path / "halting" / "shared_state.md"))


# Without planner and contract


def test_without_planner_and_contract_the_generator_writes_the_files_that_it_takes(
    stub: MessagesStub, tmp_path: Path
) -> None:
    run = PGEHarness(config(tmp_path, planner=False, contract=False)).run(PROMPT).run
    assert phases(run) == {"generate": 1, "evaluate": 1}
    assert run.outcome == "passed"
    assert [file.path for file in run.attempts(1)[1].files] == ["calc.py"]
    assert (tmp_path / "work" / "calc.py").is_file()


@pytest.mark.parametrize("path", ["../calc.py", "inputs/calc.py", "/calc.py", ".git/hook.py"])
def test_with_every_file_allowed_none_outside_the_tree_is(
    path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def script(request: Request) -> Any:
        if role_of(request) == "generate":
            return f"```python {path}\n{CODE[2]}```\n\n```python good.py\n{CODE[2]}```\n"
        return answer(request)

    with MessagesStub(script) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        run = PGEHarness(config(tmp_path, planner=False, contract=False, evaluator=False)).run(PROMPT).run
    made = run.attempts(1)[1]
    assert [file.path for file in made.files] == ["good.py"]
    assert [one.path for one in made.refused] == [path]


def test_a_step_without_a_contract_is_about_some_of_the_plans_files(tmp_path: Path) -> None:
    run = (
        PGEHarness(config(tmp_path, model="practice:skill=1,miss=0,false_alarm=0,noise=0", contract=False))
        .run(STATS)
        .run
    )
    assert [file.path for file in run.attempts(1)[1].files] == ["stats.py"]
    assert run.attempts(1)[1].missing == ()
    assert run.outcome == "passed"
    assert run.undelivered == ()


# The practice tasks as one step


@pytest.mark.parametrize("name", bank.NAMES)
def test_a_practice_task_is_known_as_a_whole(name: str) -> None:
    step, task = whole_step(name), bank.practice_task(name)
    assert len(step.checks) == sum(len(one.checks) for one in task.steps)
    assert len({defect.id for defect in step.defects}) == len(step.defects)
    sound = whole_truth(name, bank.files(bank.render(step, ())))
    assert sound is not None
    assert all(sound.met.values())
    assert len(sound.met) == len(step.checks)
    for defect in (step.defects[0], step.defects[-1]):
        flawed = whole_truth(name, bank.files(bank.render(step, (defect,))))
        assert flawed is not None
        assert flawed.defects == (defect.id,)
        assert {on for on, met in flawed.met.items() if not met} == set(defect.breaks)
    assert whole_truth(name, bank.files({**step.solution, "more.py": "x = 1\n"})) is None


def test_a_sound_practice_model_passes_without_a_planner(tmp_path: Path) -> None:
    model = "practice:skill=1,miss=0,false_alarm=0,noise=0"
    run = PGEHarness(config(tmp_path, model=model, planner=False)).run(STATS).run
    assert run.outcome == "passed"
    report = run.evaluation(1, 1)
    assert report is not None
    assert len([one for one in report.findings if one.about == "check"]) == 8
    assert sorted(file.path for file in run.attempts(1)[1].files) == ["spread.py", "stats.py"]


def test_a_poor_practice_model_fails_the_one_check_that_is_the_prompt(tmp_path: Path) -> None:
    model = "practice:skill=0,miss=0,false_alarm=0,noise=0"
    run = PGEHarness(config(tmp_path, model=model, planner=False, contract=False)).run(STATS).run
    report = run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "fail"


# In the notebook


def test_flags_and_settings_turn_roles_off_and_views_say_so(shell: Shell, tmp_path: Path) -> None:
    view = shell.cell("%pge run --practice stats --no-planner --no-contract --evaluator off").view
    text = view.plain()
    assert view.mark == "degraded"
    assert "The planner is off" in text or "the planner is off" in text
    assert "Contracts are off" in text
    assert "The evaluator is off: nothing is measured, so the run cannot pass." in text
    assert shell.cell("%pge show contract").view.plain().count("Contracts are off") == 1
    assert open_run(tmp_path / "shared_state.md").task.settings["planner"] is False
    shell.cell("%config PGE.evaluator = 'self'")
    text = shell.cell("%pge run other --practice stats").view.plain()
    assert "The generator judges its own work, in its own turns." in text
    row = shell.cell("%pge config").view.df.set_index("setting").loc["evaluator"]
    assert (row["value"], row["from"]) == ("self", "%config PGE.evaluator")


def test_phase_cells_walk_through_a_run_without_roles_and_draw_the_same_again(shell: Shell, tmp_path: Path) -> None:
    cells = [
        "%pge plan --practice stats --no-planner --evaluator off",
        "%pge contract",
        "%pge generate",
        "%pge evaluate",
    ]
    first = [shell.cell(cell).view.plain() for cell in cells]
    before = (tmp_path / "shared_state.md").read_bytes()
    assert open_run(tmp_path / "shared_state.md").outcome == "degraded"
    shell.cell("%unload_ext pge_nb")
    shell.cell("%load_ext pge_nb")
    assert [shell.cell(cell).view.plain() for cell in cells] == first
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_a_dry_run_shows_the_first_that_would_be_asked(shell: Shell, tmp_path: Path) -> None:
    text = shell.cell("%pge run --practice stats --no-planner --no-contract --dry-run").view.plain()
    assert "You are the generator" in text
    assert not (tmp_path / "shared_state.md").exists()


# What else holds


def test_a_judge_in_its_own_turns_that_calls_a_tool_is_asked_again_for_findings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without `evaluator_tools` it has none: its generator's were sent along, since a service wants them, and stay unused."""

    def script(request: Request) -> Any:
        if "You are the evaluator" in last_text(request):
            read = {"type": "tool_use", "id": "r", "name": "read", "input": {"path": "calc.py"}}
            return StubReply(blocks=[read], stop_reason="tool_use")
        if "could not be used" in last_text(request):
            asked = {**request, "messages": request["messages"][:-2]}
            return answer({**request, "messages": [{"role": "user", "content": last_text(asked)}]})
        if role_of(request) != "generate":
            return answer(request)
        write = {"type": "tool_use", "id": "w", "name": "write", "input": {"path": "calc.py", "content": CODE[2]}}
        return StubReply(blocks=[write, {"type": "tool_use", "id": "d", "name": "done", "input": {}}])

    with MessagesStub(script) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        run = PGEHarness(config(tmp_path, evaluator="self", generator_tools="on")).run(PROMPT).run
    report = run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "pass"
    assert len(report.calls) == 2
    assert "read" not in {evidence.method for evidence in report.evidence}


def test_a_persons_words_are_checks_without_contracts_too(tmp_path: Path) -> None:
    harness = PGEHarness(config(tmp_path, model="practice:skill=1,miss=0,false_alarm=0,noise=0", contract=False))
    harness.start(STATS)
    next(harness.records())
    harness.say("contract", 1, "The module has no import.")
    contract = harness.resume().run.contract(1)
    assert contract is not None
    assert contract.checks[-1].says == "The module has no import."
    assert contract.origin.endswith("; 1 check added by a person")


def test_a_step_without_a_contract_that_writes_nothing_has_delivered_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with MessagesStub(scripted(generate=lambda _: "I thought about it.")) as served:
        for name, value in served.environ.items():
            monkeypatch.setenv(name, value)
        settings = {"contract": False, "max_retries_per_step": 0, "on_exhausted": ("ask",)}
        run = PGEHarness(config(tmp_path, **settings)).run(PROMPT).run
    assert run.attempts(1)[1].missing == ("calc.py",)
    report = run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "fail"
    assert "deliverable calc.py" in {finding.on for finding in report.findings}


def test_a_recording_brings_those_who_took_part(tmp_path: Path) -> None:
    model = f"recording:{ROOT / 'examples/recordings/basket.jsonl'}"
    plain = config(tmp_path, model=model).settings()
    roles = {"planner": False, "contract": False, "evaluator": "off", "second_look": True}
    assert config(tmp_path, model=model, **roles).settings() == plain
    assert config(tmp_path, model=model, approve="plan").settings() == {**plain, "approve": "plan"}


def test_canaries_are_shown_whatever_files_the_generator_chose(tmp_path: Path) -> None:
    settings = {"planner": False, "contract": False, "canaries": 1}
    model = "practice:skill=1,miss=0,false_alarm=0,noise=0"
    run = PGEHarness(config(tmp_path, model=model, **settings)).run(STATS).run
    shown = [s.payload for s in run.sections if s.record.purpose == "canary"]
    assert [one.verdict for one in shown if isinstance(one, EvaluationReport)] == ["fail"]
    artifacts = [e.on for one in shown if isinstance(one, EvaluationReport) for e in one.evidence]
    assert sorted(artifacts) == ["spread.py", "stats.py"]


def test_what_a_run_left_out_of_its_task_is_shown_as_the_default_that_it_is(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --evaluator off")
    rows = shell.cell("%pge config").view.df.set_index("setting")
    assert rows.loc[["planner", "contract", "approve", "canaries"], "in_this_run"].isna().all()
    assert rows.loc["evaluator", "in_this_run"] == "off"


def test_the_line_that_says_that_room_was_made_names_the_role(shell: Shell) -> None:
    shell.cell("%pge run --practice stats")
    said = " ".join(shell.cell("%pge run --practice stats --no-planner").view.plain().split())
    assert "Another task stood here (another planner: False, not True);" in said
    said = " ".join(shell.cell("%pge run --practice stats").view.plain().split())
    assert "another planner: True, not False" in said
    assert "reopened from earlier/1" in said


def test_what_a_function_made_is_judged_afresh(stub: MessagesStub, tmp_path: Path) -> None:
    """There is no conversation to go on with."""

    def does(told: str, tree: Tree) -> Mapping[str, str]:
        del told, tree
        return {"calc.py": CODE[2]}

    skills = {"general": Skill(description="writes calc.py", does=does)}
    settings = {"planner": False, "contract": False, "evaluator": "self", "skills": skills}
    run = PGEHarness(config(tmp_path, **settings)).run(PROMPT).run
    report = run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "pass"
    assert [message["role"] for message in judge_requests(stub)[0]["messages"]] == ["user"]
    assert report.rater == rater_of({**run.settings, "evaluator": "fresh"}).id != rater_of(run.settings).id


@pytest.mark.parametrize(("whole", "verdict"), [("prompt", "fail"), ("contract", "pass")])
def test_the_prompt_as_the_only_check_is_unmet_by_any_defect(whole: Any, verdict: str) -> None:
    step = whole_step("stats")
    files = bank.files(bank.render(step, (step.defects[-1],)))
    assert "c1" not in step.defects[-1].breaks
    about = About(
        role="evaluator",
        phase="evaluate",
        step=1,
        attempt=1,
        task="stats",
        attempt_hash=attempt_hash(files),
        checks=("c1",),
        whole=whole,
        files=files,
    )
    practice = Practice("practice:miss=0,false_alarm=0,noise=0")
    reply = practice.reply(
        ModelRequest(model="practice", system="", messages=({"role": "user", "content": ""},), about=about)
    )
    (finding,) = json_somewhere(reply.text)["findings"]  # type: ignore[misc,union-attr]
    assert finding["verdict"] == verdict  # type: ignore[index,call-overload]


def test_a_whole_is_as_good_as_its_worst_part() -> None:
    step = whole_step("stats")
    costly = next(defect for defect in step.defects if defect.costs)
    known = whole_truth("stats", bank.files(bank.render(step, (costly,))))
    assert known is not None
    for name, points in costly.costs.items():
        assert known.quality[name] == bank.SOUND - points
