"""The practice model does what its settings say, no more and no less."""

from __future__ import annotations

import json
import math
import re
import statistics
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pge_nb import bank
from pge_nb.bank import PracticeStep, PracticeTask
from pge_nb.errors import BadInput, ModelFailed
from pge_nb.models import About, Reply, Request
from pge_nb.models.practice import RANGES, Draws, Practice, PracticeSettings
from pge_nb.records import attempt_hash

TASK = bank.practice_task("textkit")
STEP = TASK.steps[0]
STEPS = [(task, step) for task in bank.tasks() for step in task.steps]
each_step = pytest.mark.parametrize(("task", "step"), STEPS, ids=[f"{t.name}-{s.number}" for t, s in STEPS])


def ask(
    name: str = "practice",
    *,
    sample: int = 0,
    prompt: str = "Do it.",
    max_tokens: int = 8_192,
    system: str = "You are one of three.",
    **about: Any,
) -> Reply:
    given: dict[str, Any] = {"task": TASK.name, "step": 1, "attempt": 1} | about
    request = Request(
        model=name,
        system=system,
        messages=({"role": "user", "content": prompt},),
        about=About(**given),
        sample=sample,
        max_tokens=max_tokens,
    )
    return Practice(name).reply(request)


def attempt(name: str = "practice", **about: Any) -> dict[str, str]:
    """The files of a generated attempt, read as any reader of fences would."""
    text = ask(name, role="generator", phase="generate", **about).text
    return {path: body for _, path, body in re.findall(r"^(`{3,})\w+ (\S+)\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)}


def hash_of(texts: dict[str, str]) -> str:
    return attempt_hash(bank.files(texts))


def with_defects(step: PracticeStep, *ids: str) -> dict[str, str]:
    return dict(bank.render(step, [defect for defect in step.defects if defect.id in ids]))


def findings(name: str = "practice", *, texts: dict[str, str], **about: Any) -> dict[str, dict[str, Any]]:
    given: dict[str, Any] = {
        "checks": ("c1", "c2", "c3", "c4"),
        "criteria": ("correctness", "clarity", "robustness"),
        "evidence": ("e1:c1", "e2:c2", "e3:c3", *(f"e{i}:{path}" for i, path in enumerate(texts, 4))),
        "attempt_hash": hash_of(texts),
    }
    reply = ask(name, role="evaluator", phase="evaluate", **(given | about))
    return {finding["on"]: finding for finding in parsed(reply)["findings"]}


def parsed(reply: Reply) -> Any:
    found = re.fullmatch(r"```json\n(.*)\n```\n", reply.text, re.DOTALL)
    assert found
    return json.loads(found[1])


def near(count: int, n: int, rate: float) -> bool:
    """Within four standard deviations of what a binomial of this rate gives."""
    return abs(count - n * rate) <= 4 * math.sqrt(n * rate * (1 - rate)) + 1e-9


class TestSettings:
    @given(
        st.fixed_dictionaries(
            {},
            optional={
                key: st.integers(int(low), int(high)) if key == "seed" else st.floats(low, high)
                for key, (low, high) in RANGES.items()
            },
        )
    )
    @settings(max_examples=50, deadline=None)
    def test_a_model_name_says_its_settings_whole(self, chosen: dict[str, Any]) -> None:
        wanted = PracticeSettings(**chosen)
        assert PracticeSettings.parse(wanted.model_name) == wanted
        assert PracticeSettings.parse(wanted.model_name).model_name == wanted.model_name

    def test_a_name_tells_only_what_differs_and_in_one_order(self) -> None:
        assert PracticeSettings().model_name == "practice"
        assert PracticeSettings.parse("practice:seed=3,skill=1").model_name == "practice:skill=1.0,seed=3"
        assert PracticeSettings.parse("practice:skill=0.60,drift=-0").model_name == "practice"

    @pytest.mark.parametrize(
        "name",
        [
            "claude",
            "practice2",
            "practice:charm=1",
            "practice:skill",
            "practice:skill=",
            "practice:skill=high",
            "practice:skill=1.1",
            "practice:skill=nan",
            "practice:noise=-1",
            "practice:noise=inf",
            "practice:seed=1.5",
            "practice:seed=-1",
            "practice:skill=0.5,skill=0.6",
            "practice:,",
        ],
    )
    def test_an_unknown_or_senseless_setting_is_refused(self, name: str) -> None:
        with pytest.raises(BadInput):
            Practice(name)


class TestAnyReply:
    def test_a_reply_depends_on_the_request_and_the_settings_alone(self) -> None:
        about: dict[str, Any] = {"role": "generator", "phase": "generate"}
        assert ask(**about) == ask(**about)
        assert ask(**about).text == ask(**about, prompt="Other words.", max_tokens=4_000).text
        code = (
            "from pge_nb.models import About, Request; from pge_nb.models.practice import Practice; import sys;"
            "r = Request(model='', system='', messages=(), about=About(role='generator', phase='generate', step=1,"
            " attempt=1, task='textkit')); sys.stdout.buffer.write(Practice('practice').reply(r).text.encode())"
        )
        elsewhere = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": "7"}
        )
        assert elsewhere.stdout.decode() == ask(**about).text

    @pytest.mark.parametrize("change", [{"sample": 1}, {"attempt": 2}, {"turn": 1}, {"name": "practice:seed=1"}])
    def test_luck_differs_by_address_sample_and_seed(self, change: dict[str, Any]) -> None:
        texts = with_defects(STEP)
        about: dict[str, Any] = {"role": "evaluator", "phase": "evaluate", "criteria": ("correctness", "clarity")}
        assert (
            ask(**about, attempt_hash=hash_of(texts)).text
            != ask(**({"name": "practice"} | about | change), attempt_hash=hash_of(texts)).text
        )

    def test_it_costs_nothing_and_says_that_it_is_practice(self) -> None:
        reply = ask(role="planner", phase="plan")
        assert (reply.source, reply.dollars, reply.seconds, reply.stop_reason) == ("practice", 0.0, 0.0, "end_turn")
        assert reply.usage.output_tokens == len(reply.text.encode()) // 4
        assert reply.usage.input_tokens > 0

    def test_a_reply_longer_than_allowed_is_cut_and_says_so(self) -> None:
        reply = ask(role="planner", phase="plan", max_tokens=10)
        assert reply.cut
        assert reply.usage.output_tokens <= 10

    def test_a_listener_hears_the_reply(self) -> None:
        heard: list[str] = []
        request = Request(model="", system="", messages=(), about=About(role="planner", phase="plan", task="money"))
        reply = Practice().reply(request, listen=heard.append)
        assert "".join(heard) == reply.text

    def test_a_prompt_outside_the_bank_is_refused_with_the_nearest_task(self) -> None:
        with pytest.raises(ModelFailed, match=r"--practice roman` .*%pge key") as caught:
            ask(role="planner", phase="plan", task=None, step=None, prompt="Convert Roman numerals to numbers, please.")
        assert "not one of them" in caught.value.fact

    def test_a_phase_that_it_does_not_know_is_refused(self) -> None:
        with pytest.raises(ModelFailed, match="sing"):
            ask(role="planner", phase="sing")


class TestPlanAndContract:
    @pytest.mark.parametrize("task", bank.tasks(), ids=lambda task: task.name)
    def test_the_plan_is_the_bank_s(self, task: PracticeTask) -> None:
        assert parsed(ask(role="planner", phase="plan", task=task.name, step=None)) == task.plan

    @each_step
    def test_a_contract_is_negotiated_until_it_is_whole(self, task: PracticeTask, step: PracticeStep) -> None:
        about: dict[str, Any] = {"task": task.name, "step": step.number}
        rounds = 1 if len(step.first_checks) == len(step.checks) else 2
        for round_ in range(1, rounds + 1):
            proposal = parsed(ask(role="generator", phase="propose", round=round_, **about))
            answer = parsed(ask(role="evaluator", phase="respond", round=round_, **about))
            assert answer["reason"]
            assert answer["agreed"] == (round_ == rounds)
            if not answer["agreed"]:
                assert len(proposal["checks"]) < len(answer["checks"])
        assert proposal == {"deliverables": list(step.deliverables), "checks": list(step.checks)}

    def test_two_rounds_are_seen_in_several_tasks(self) -> None:
        assert len({task.name for task, step in STEPS if step.objection}) >= 2


class TestGenerator:
    @each_step
    def test_full_skill_gives_the_solution(self, task: PracticeTask, step: PracticeStep) -> None:
        assert attempt("practice:skill=1", task=task.name, step=step.number) == step.solution

    @each_step
    def test_no_skill_gives_every_defect(self, task: PracticeTask, step: PracticeStep) -> None:
        texts = attempt("practice:skill=0", task=task.name, step=step.number, approach="first")
        assert texts == bank.render(step, step.defects)

    @pytest.mark.parametrize("skill", [0.3, 0.6, 0.9])
    def test_a_defect_comes_as_often_as_the_skill_says(self, skill: float) -> None:
        n = 300
        counts = dict.fromkeys((defect.id for defect in STEP.defects), 0)
        for sample in range(n):
            found = bank.truth(TASK.name, hash_of(attempt(f"practice:skill={skill}", sample=sample, approach="pivot")))
            assert found is not None
            for id_ in found.defects:
                counts[id_] += 1
        assert all(near(count, n, 1 - skill) for count in counts.values()), counts

    def test_a_refine_repairs_what_was_reported_and_little_else(self) -> None:
        base = with_defects(STEP, "hyphens-repeated", "edge-undocumented")
        n = 400
        found = [
            bank.truth(
                TASK.name, hash_of(attempt(sample=i, approach="refine", base_hash=hash_of(base), failed=("c1",)))
            )
            for i in range(n)
        ]
        kept = [set(one.defects) for one in found if one is not None]
        assert len(kept) == n
        assert near(sum("hyphens-repeated" in ids for ids in kept), n, 0.4**2)
        assert near(sum("edge-undocumented" in ids for ids in kept), n, 0.9)
        assert near(sum(bool(ids - {"hyphens-repeated", "edge-undocumented"}) for ids in kept), n, 0.1 * 0.4)

    @each_step
    def test_refining_gets_better_on_average(self, task: PracticeTask, step: PracticeStep) -> None:
        before, after = [], []
        for sample in range(20):
            about: dict[str, Any] = {"task": task.name, "step": step.number, "sample": sample}
            base = hash_of(attempt(**about, approach="first"))
            was = bank.truth(task.name, base)
            assert was is not None
            failed = (*(id_ for id_, met in was.met.items() if not met), *(n for n, q in was.quality.items() if q < 7))
            now = bank.truth(
                task.name, hash_of(attempt(**about | {"attempt": 2}, approach="refine", base_hash=base, failed=failed))
            )
            assert now is not None
            before.append(len(was.defects))
            after.append(len(now.defects))
        assert statistics.mean(after) < statistics.mean(before) / 1.5

    def test_a_refine_of_unknown_files_begins_afresh(self) -> None:
        assert attempt("practice:skill=1", approach="refine", base_hash="0" * 64) == STEP.solution

    @pytest.mark.parametrize("approach", ["first", "refine", "pivot"])
    def test_the_log_names_the_approach_and_no_defect(self, approach: str) -> None:
        text = ask("practice:skill=0", role="generator", phase="generate", approach=approach, failed=("c1",)).text
        assert text.startswith(f"Approach: {approach}, because ")
        log = text.partition("```")[0]
        assert not any(defect.id in log or defect.says in log for defect in STEP.defects)

    def test_a_lenient_judge_meets_the_same_attempts(self) -> None:
        assert attempt("practice:leniency=2,miss=0.5,seed=4") == attempt("practice:seed=4")


class TestEvaluator:
    @pytest.mark.parametrize(
        ("name", "rate"), [("practice", 0.1), ("practice:miss=0.3", 0.3), ("practice:leniency=2", 0.3)]
    )
    def test_a_bad_check_passes_as_often_as_set(self, name: str, rate: float) -> None:
        texts, n = with_defects(STEP, "edge-undocumented"), 400
        passed = sum(findings(name, texts=texts, sample=i)["c4"]["verdict"] == "pass" for i in range(n))
        assert near(passed, n, rate)

    @pytest.mark.parametrize(
        ("name", "rate"), [("practice", 0.05), ("practice:false_alarm=0.4", 0.4), ("practice:leniency=-2", 0.25)]
    )
    def test_a_good_check_fails_as_often_as_set(self, name: str, rate: float) -> None:
        texts, n = with_defects(STEP, "hyphens-repeated"), 400
        failed = sum(findings(name, texts=texts, sample=i)["c4"]["verdict"] == "fail" for i in range(n))
        assert near(failed, n, rate)

    @pytest.mark.parametrize(
        ("name", "attempt_", "shift", "noise"),
        [("practice", 1, 0, 0.5), ("practice:leniency=-1,noise=0.2", 1, -1, 0.2), ("practice:drift=0.5", 3, 1, 0.5)],
    )
    def test_scores_lie_about_the_true_quality(self, name: str, attempt_: int, shift: float, noise: float) -> None:
        texts, n = with_defects(STEP, "hyphens-repeated"), 300
        scores = [findings(name, texts=texts, sample=i, attempt=attempt_)["correctness"]["score"] for i in range(n)]
        assert abs(statistics.mean(scores) - (bank.SOUND - 4 + shift)) < 4 * noise / math.sqrt(n) + 0.01
        assert abs(statistics.stdev(scores) - noise) < 4 * noise / math.sqrt(2 * n) + 0.01

    def test_scores_stay_between_0_and_10(self) -> None:
        for name, bound in (("practice:leniency=10", 10.0), ("practice:leniency=-10", 0.0)):
            assert findings(name, texts=with_defects(STEP))["clarity"]["score"] == bound

    def test_without_errors_it_tells_the_truth(self) -> None:
        for task, step in STEPS:
            for defect in step.defects:
                texts = with_defects(step, defect.id)
                ids = tuple(f"c{i}" for i in range(1, len(step.checks) + 1))
                told = findings(
                    "practice:miss=0,false_alarm=0,noise=0",
                    texts=texts,
                    task=task.name,
                    step=step.number,
                    checks=ids,
                    criteria=tuple(defect.costs),
                )
                assert {id_ for id_ in ids if told[id_]["verdict"] == "fail"} == set(defect.breaks)
                for name, points in defect.costs.items():
                    assert told[name]["score"] == bank.SOUND - points
                assert all(told[id_]["says"] == defect.says for id_ in defect.breaks)

    @each_step
    def test_a_quote_stands_in_the_cited_artifact(self, task: PracticeTask, step: PracticeStep) -> None:
        for sample in range(4):
            texts = attempt(task=task.name, step=step.number, sample=sample)
            told = findings(texts=texts, task=task.name, step=step.number, sample=sample)
            assert len(told) == 7
            for finding in told.values():
                path = dict(zip((f"e{i}" for i in range(4, 9)), texts, strict=False))[finding["evidence"][0]]
                assert finding["quote"]
                assert finding["quote"] in texts[path]

    def test_without_an_artifact_to_cite_nothing_is_cited(self) -> None:
        told = findings(texts=with_defects(STEP), evidence=("e1:c1", "e2:elsewhere.py"))
        assert all(finding["evidence"] == [] and finding["quote"] == "" for finding in told.values())

    def test_files_edited_by_hand_are_vouched_for_in_nothing(self) -> None:
        texts = {path: text + "\n# edited\n" for path, text in STEP.solution.items()}
        told = findings(texts=texts)
        assert all(told[id_]["verdict"] == "fail" for id_ in ("c1", "c2", "c3", "c4"))
        assert all(told[name]["score"] == 2.0 for name in ("correctness", "clarity", "robustness"))
        assert all("edited by hand" in finding["says"] for finding in told.values())

    def test_an_attempt_of_another_step_is_not_vouched_for(self) -> None:
        told = findings(texts=with_defects(TASK.steps[1]))
        assert told["c1"]["verdict"] == "fail"

    def test_a_check_and_a_criterion_of_a_person_s_own_get_findings_too(self) -> None:
        exact = "practice:miss=0,false_alarm=0,noise=0"
        good = findings(exact, texts=with_defects(STEP), checks=("c9",), criteria=("charm",))
        bad = findings(exact, texts=with_defects(STEP, "hyphens-repeated"), checks=("c9",), criteria=("charm",))
        assert (good["c9"]["verdict"], good["charm"]["score"]) == ("pass", 9.0)
        assert bad["c9"]["verdict"] == "fail"
        assert bad["charm"]["score"] < 9


class TestWhatProofsNeed:
    """Errors that are alike within tasks and steps, a judge that drifts, and one that learns: at rates that are known."""

    SEEDS = 600
    BAD = with_defects(STEP, *(defect.id for defect in STEP.defects))

    def missed(self, name: str, **about: Any) -> list[bool]:
        """Whether the first check of a bad attempt passes, a judge of its own luck each time."""
        return [
            findings(f"{name},seed={seed}", texts=self.BAD, **about)["c1"]["verdict"] == "pass"
            for seed in range(self.SEEDS)
        ]

    @pytest.mark.parametrize("name", ["practice:miss=0.3,by_task=0.5", "practice:miss=0.3,rho=0.5"])
    def test_errors_that_are_alike_leave_the_rate_what_it_is(self, name: str) -> None:
        assert near(sum(self.missed(name)), self.SEEDS, 0.3)

    @pytest.mark.parametrize(("name", "alike"), [("rho=0.6", True), ("by_task=0.6", True), ("noise=0.4", False)])
    def test_within_a_step_they_are_as_alike_as_was_said(self, name: str, alike: bool) -> None:
        """Two attempts of one step: the intraclass correlation of their errors is the covariance over p (1 - p)."""
        first, second = (self.missed(f"practice:miss=0.3,{name}", attempt=number) for number in (1, 2))
        both = sum(one and other for one, other in zip(first, second, strict=True)) / self.SEEDS
        found = (both - 0.3**2) / (0.3 * 0.7)
        assert abs(found - (0.6 if alike else 0.0)) < 0.15

    def test_steps_share_what_belongs_to_the_task_and_not_what_belongs_to_the_step(self) -> None:
        def common(name: str, step: int) -> float:
            draws = Draws(TASK.name, asked(step), PracticeSettings.parse(name))
            return draws.alike(0.3, "miss") + draws.common("clarity")

        assert common("practice:by_task=0.5", 1) == common("practice:by_task=0.5", 2)
        assert common("practice:rho=0.5", 1) != common("practice:rho=0.5", 2)
        assert common("practice:rho=0.5", 1) == common("practice:rho=0.5", 1)

    def test_a_judge_that_drifts_is_kinder_in_verdicts_too(self) -> None:
        name = "practice:miss=0.1,drift=1.5"
        assert near(sum(self.missed(name, attempt=1)), self.SEEDS, 0.1)
        assert near(sum(self.missed(name, attempt=3)), self.SEEDS, 0.4)

    @pytest.mark.parametrize(("taught", "rate"), [(0.5, 0.1), (0.0, 0.4)])
    def test_examples_help_as_much_as_was_said_or_not_at_all(self, taught: float, rate: float) -> None:
        told = "You judge.\n\nExample 1. Asked: is it right?\n    x\nJudged: fail.\n\nExample 2. Asked: again\n"
        seen = self.missed(f"practice:miss=0.4,taught={taught}", system=told)
        assert near(sum(seen), self.SEEDS, rate)


def asked(step: int) -> Request:
    return Request(
        model="practice",
        system="",
        messages=(),
        about=About(role="evaluator", phase="evaluate", task=TASK.name, step=step),
    )
