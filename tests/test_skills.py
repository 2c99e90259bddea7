"""Skills through the whole harness: the planner picks among them, and each carries out its steps in its own way."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hand_runs import Hand
from messages_stub import MessagesStub, StubReply
from notebook_shell import Shell
from scripted import CODE, MODEL, PLAN, PROMPT, Request, fenced, first_message, role_of, scripted, step_of

from pge_nb import HarnessConfig, PGEHarness, Skill, SkillRegistry
from pge_nb.agents.bench import TOOLS
from pge_nb.bank import practice_task
from pge_nb.config import identity
from pge_nb.errors import BadInput
from pge_nb.estimates import Estimate, estimate
from pge_nb.exports.redacted import redacted
from pge_nb.interrupts import Cut, may_be_cut
from pge_nb.models.limits import Prices
from pge_nb.records import Attempt, Plan
from pge_nb.run import Run
from pge_nb.skills import LOOKING, Does, carried_out, contents, source_hash
from pge_nb.state import open_run
from pge_nb.workspace import Tree

ROOT = Path(__file__).parents[1]
WORDS = Skill(description="for texts", prompt="Write short sentences.")
SUMS = Skill(description="for sums", prompt="Mind the\nrounding.", model="another-model")


def plan_with(*skills: str) -> str:
    steps = [dict(step) for step in PLAN["steps"]]  # type: ignore[attr-defined]
    for step, skill in zip(steps, skills, strict=True):
        step["skill_type"] = skill
    return fenced({**PLAN, "steps": steps})


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., MessagesStub]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")

    def serve(**replaced: Callable[[Request], Any]) -> MessagesStub:
        return MessagesStub(scripted(**replaced))

    return serve


def carried(
    stub: MessagesStub, monkeypatch: pytest.MonkeyPatch, skills: Mapping[str, Skill], **settings: Any
) -> tuple[Run, PGEHarness]:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
    harness = PGEHarness(HarnessConfig(model=MODEL, skills=skills, **settings))
    harness.run(PROMPT)
    return harness.state.read(), harness


def sent(stub: MessagesStub, role: str) -> list[Request]:
    return [request for request in stub.requests if role_of(request) == role]


def plan_of(run: Run) -> Plan:
    assert run.plan is not None
    return run.plan


def attempt(run: Run, step: int) -> Attempt:
    return run.attempts(step)[1]


# The planner


def test_a_run_without_skills_tells_nobody_of_any(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with live() as stub:
        run, _ = carried(stub, monkeypatch, {})
    assert "kill" not in json.dumps([first_message(request) for request in stub.requests])
    assert "skills" not in run.task.settings
    assert attempt(run, 1).notes == ()


def test_the_planner_picks_among_the_skills_and_the_generator_is_told_of_its_own(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live(planner=lambda _: plan_with("Words", "sums")) as stub:
        run, _ = carried(stub, monkeypatch, {"words": WORDS, "sums": SUMS})
    (asked,) = sent(stub, "planner")
    assert "letter by letter:\n- sums: for sums\n- words: for texts" in first_message(asked)
    assert [step.skill_type for step in run.steps] == ["words", "sums"]
    assert plan_of(run).notes == ()
    first, second = sent(stub, "generate")
    told = "This step is carried out with the skill 'words': for texts\nWrite short sentences.\n\n"
    assert told in first_message(first)
    assert all(told in first_message(one) for one in sent(stub, "propose")[:1])
    assert "with the skill 'sums': for sums\nMind the\nrounding.\n\n" in first_message(second)
    assert (first["model"], second["model"]) == (MODEL, "another-model")
    assert {one["model"] for one in sent(stub, "propose")} == {MODEL}
    assert attempt(run, 2).notes == ("made with the skill 'sums'",)
    assert attempt(run, 2).calls[0].model == "another-model"
    assert "skill" not in json.dumps([first_message(one) for one in sent(stub, "evaluate")])


def test_a_skill_that_there_is_not_is_sent_back_once_with_the_nearest(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([plan_with("word", "sums"), plan_with("words", "sums")])
    with live(planner=lambda _: next(said)) as stub:
        run, _ = carried(stub, monkeypatch, {"words": WORDS, "sums": SUMS})
    again = sent(stub, "planner")[1]["messages"][-1]["content"]
    reason = "step 1 has the skill 'word', and there are sums, words (did you mean words?)"
    assert reason in json.dumps(again)
    assert plan_of(run).notes == (f"sent back: {reason}",)
    assert [step.skill_type for step in run.steps] == ["words", "sums"]


@pytest.mark.parametrize(("others", "stands_in"), [({}, "sums"), ({"aunt": WORDS, "general": WORDS}, "general")])
def test_a_skill_that_is_unknown_twice_is_replaced_and_told(
    others: dict[str, Skill], stands_in: str, live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live(planner=lambda _: plan_with("magic", "sums")) as stub:
        run, _ = carried(stub, monkeypatch, {"words": WORDS, "sums": SUMS} | others)
    assert len(sent(stub, "planner")) == 2
    assert [step.skill_type for step in run.steps] == [stands_in, "sums"]
    assert plan_of(run).notes[-1] == f"step 1: there is no skill 'magic'; {stands_in!r} stands in"


def test_a_plan_made_of_the_prompt_alone_has_a_skill_that_there_is(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with live(planner=lambda _: "no plan") as stub:
        run, _ = carried(stub, monkeypatch, {"sums": SUMS}, max_calls=3)
    assert [step.skill_type for step in run.steps] == ["sums"]


# Tools


def test_a_skill_allows_the_generator_some_tools_and_says_which_are_not_there(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate(request: Request) -> Any:
        if step_of(request) == 1:
            calls = [("write", {"path": "calc.py", "content": CODE[1]}), ("done", {"says": "written"})]
            blocks = [
                {"type": "tool_use", "id": f"t{n}", "name": name, "input": given}
                for n, (name, given) in enumerate(calls)
            ]
            return StubReply(blocks=blocks, stop_reason="tool_use")
        return None

    few = Skill(description="careful", tools=("read",))
    with live(planner=lambda _: plan_with("few", "none"), generate=generate) as stub:
        run, _ = carried(
            stub, monkeypatch, {"few": few, "none": Skill(description="plain", tools=False)}, generator_tools="on"
        )
    first, second = sent(stub, "generate")
    assert [tool["name"] for tool in first["tools"]] == ["read", "write", "done"]
    assert "With this skill there is no tool list or search or run." in first_message(first)
    assert "tools" not in second
    assert "Write each file whole, in a block like this:" in first_message(second)
    assert run.outcome == "passed"


def test_what_a_skill_leaves_open_is_as_the_generator_has_it() -> None:
    def tools(skill: Skill, **settings: Any) -> Any:
        return HarnessConfig(skills={"s": skill}, model=MODEL, **settings).settings()["skills"]["s"]["tools"]  # type: ignore[index,call-overload]

    plain = Skill(description="d")
    assert tools(plain) is None
    assert tools(plain, generator_tools="on") == list(LOOKING)
    assert tools(Skill(description="d", tools=True)) == list(LOOKING)
    assert tools(Skill(description="d", tools=False), generator_tools="on") is None
    assert tools(Skill(description="d", model="claude-sonnet-5-5")) == list(LOOKING)
    assert tools(Skill(description="d", tools=())) == []
    assert set(LOOKING) == {tool.name for tool in TOOLS} - {"write", "done"}


# A function


def adds(told: str, tree: Tree) -> Mapping[str, str | bytes]:
    """The first step by a function."""
    assert "Step 1 of 2 (0 done): add" in told
    assert "c1: add(2, 3) returns 5" in told
    assert tree.text("start.txt") == "there\n"
    (tree.root / "start.txt").write_text("scribbled on")
    return {"calc.py": CODE[1].encode(), "elsewhere.py": "x = 1\n"}


def with_function(
    does: Does, stub: MessagesStub, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[Run, PGEHarness]:
    return carried(stub, monkeypatch, {"adder": Skill(description="adds", does=does), "sums": SUMS}, **settings)


def test_a_function_carries_out_a_step_and_no_model_is_asked(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("work").mkdir()
    Path("work/start.txt").write_text("there\n")
    with live(planner=lambda _: plan_with("adder", "sums")) as stub:
        run, harness = with_function(adds, stub, monkeypatch)
        assert run.outcome == "passed"
    (asked,) = sent(stub, "generate")
    assert step_of(asked) == 2
    made = attempt(run, 1)
    assert made.calls == ()
    assert made.notes == ("made with the skill 'adder'",)
    assert "written: calc.py" in made.log.text
    assert [(one.path, one.reason[:19]) for one in made.refused] == [("elsewhere.py", "it is no deliverabl")]
    assert Path("work/start.txt").read_text() == "there\n"
    with pytest.raises(BadInput, match=r"Step 1 is done by the function of the skill 'adder'"):
        harness.request("generator", 1, 1)
    assert harness.request("generator", 1).about.phase == "propose"


def test_a_function_is_no_call_in_an_estimate_and_the_dearest_model_counts() -> None:
    def ahead(skill: Skill) -> tuple[Estimate, Estimate]:
        settings = HarnessConfig(model="claude-sonnet-5-5", skills={"s": skill}).settings()
        hand = Hand((), (), **settings)
        before = estimate(hand.run.settings, Run(hand.run.sections[:1]), Prices.load())
        steps = tuple(replace(step, skill_type="s") for step in hand.run.steps)
        hand.add(Plan(title="t", scope="s", steps=steps))
        return before, estimate(hand.run.settings, hand.run, Prices.load())

    def calls(found: Estimate) -> int:
        (one,) = [phase for phase in found.phases if phase.phase == "generate"]
        return one.likely

    plain, function = ahead(Skill(description="d")), ahead(Skill(description="d", does=adds))
    assert [calls(found) for found in (*plain, *function)] == [6, 4, 6, 0]
    dear = ahead(Skill(description="d", model="claude-opus-5"))[0].dollars
    assert dear is not None
    assert plain[0].dollars is not None
    assert dear > plain[0].dollars
    assert ahead(Skill(description="d", model="no-such-price"))[0].dollars is None


def raises(told: str, tree: Tree) -> Mapping[str, str | bytes]:
    raise KeyError("gone")


def exits(told: str, tree: Tree) -> Mapping[str, str | bytes]:
    sys.exit(3)


@pytest.mark.parametrize(
    ("does", "fault"),
    [
        (raises, "it raised KeyError: 'gone'"),
        (exits, "it raised SystemExit: 3"),
        (lambda told, tree: None, "it returned None, no mapping from paths to text or bytes"),
        (lambda told, tree: {"calc.py": 3}, "what it returned for 'calc.py' is neither text nor bytes"),
        (lambda told, tree: {1: "x"}, "it returned {1: 'x'}, no mapping from paths to text or bytes"),
        (lambda told, tree: {"calc.py": "x" * 20_000_001}, "it returned more than 20 MB"),
    ],
)
def test_a_function_that_fails_is_an_attempt_that_delivered_nothing(
    does: Does, fault: str, live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with live(planner=lambda _: plan_with("adder", "sums")) as stub:
        run, _ = with_function(does, stub, monkeypatch, max_retries_per_step=0, on_exhausted=("ask",))
    made = attempt(run, 1)
    assert (made.files, made.missing) == ((), ("calc.py",))
    assert made.notes[-1] == f"the function of the skill 'adder': {fault}"
    report = run.evaluation(1, 1)
    assert report is not None
    assert report.verdict == "fail"
    assert run.outcome == "paused"


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


class OddText(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:  # type: ignore[override]
        raise RuntimeError("no bytes")

    def __len__(self) -> int:
        return 10**30


class OddMapping(dict[str, str]):
    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no names")


class OddError(Exception):
    def __str__(self) -> str:
        raise GeneratorExit


def throws(error: BaseException) -> Does:
    def does(told: str, tree: Tree) -> Mapping[str, str | bytes]:
        raise error

    return does


@pytest.mark.parametrize(
    ("does", "fault"),
    [
        (lambda told, tree: Odd(), "it returned a Odd that cannot be shown, no mapping from paths to text or bytes"),
        (lambda told, tree: OddMapping(a="b"), "it raised RuntimeError: no names"),
        (throws(KeyError(Odd())), "it raised KeyError: a KeyError that cannot be shown"),
        (throws(CancelledError()), "it raised CancelledError"),
        (throws(GeneratorExit()), "it raised GeneratorExit"),
        (throws(Cut()), "it raised Cut"),
        (throws(BaseException("base")), "it raised BaseException: base"),
        (throws(OddError()), "it raised OddError: a OddError that cannot be shown"),
    ],
)
def test_whatever_a_function_throws_or_returns_is_a_fault_of_its_attempt(does: Does, fault: str) -> None:
    assert carried_out(does, "", Tree(Path(), ())) == {"fault": fault}


def test_a_text_with_methods_of_its_own_is_kept_as_plain_text() -> None:
    made = carried_out(lambda told, tree: {OddText("a.txt"): OddText("kept")}, "", Tree(Path(), ()))
    assert json.dumps(made) == '{"files": {"a.txt": {"text": "kept"}}}'


def test_a_cut_that_was_asked_for_ends_a_function() -> None:
    with may_be_cut(lambda: True), pytest.raises(Cut):
        carried_out(throws(Cut()), "", Tree(Path(), ()))


def test_an_interruption_in_a_function_is_the_persons() -> None:
    def waits(told: str, tree: Tree) -> Mapping[str, str | bytes]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried_out(waits, "", Tree(Path(), ()))


def test_what_a_function_returns_comes_back_from_the_log_as_it_was() -> None:
    given = {"a.txt": "Ångström\r\n", "b.bin": b"\x00\xff", "c.txt": "half \ud800"}
    made = json.loads(json.dumps(carried_out(lambda told, tree: given, "", Tree(Path(), ()))))
    assert contents(made) == {"a.txt": "Ångström\r\n".encode(), "b.bin": b"\x00\xff", "c.txt": "half \ufffd".encode()}
    assert contents({"fault": "it raised"}) == {}


def test_a_function_is_called_once_for_an_attempt_and_a_run_that_lacks_it_says_so(
    live: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def counts(told: str, tree: Tree) -> Mapping[str, str | bytes]:
        called.append(told)
        return {"calc.py": CODE[1]}

    with live(planner=lambda _: plan_with("adder", "sums")) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        skills = {"adder": Skill(description="adds", does=counts), "sums": SUMS}
        harness = PGEHarness(HarnessConfig(model=MODEL, skills=skills))
        harness.start(PROMPT)
        with pytest.raises(BadInput, match="The skill 'adder' is a function of yours") as caught:
            PGEHarness(HarnessConfig()).resume()
        assert "PGEHarness(HarnessConfig(skills=...)).resume()" in caught.value.next_move
        changed = {"adder": Skill(description="adds", does=adds), "sums": SUMS}
        with pytest.raises(BadInput, match="is another than when this run was begun"):
            PGEHarness(HarnessConfig(model=MODEL, skills=changed)).resume()
        with pytest.raises(BadInput, match=r"begun with other settings \(skills\)"):
            PGEHarness(HarnessConfig(model=MODEL, skills=changed)).run(PROMPT)
        assert called == []
        # The attempt was made and not appended, as when the process is killed between the two.
        monkeypatch.setattr(harness.state, "append", _dies_at_an_attempt(harness.state.append))
        with pytest.raises(KeyboardInterrupt):
            harness.resume()
        assert len(called) == 1
        again = PGEHarness(HarnessConfig(model=MODEL, skills=skills))
        assert again.resume().outcome == "passed"
    assert len(called) == 1


def _dies_at_an_attempt(append: Callable[..., Any]) -> Callable[..., Any]:
    def appended(*records: Any) -> Any:
        if any(record.kind == "attempt" for record in records):
            raise KeyboardInterrupt
        return append(*records)

    return appended


def test_a_recorded_run_replays_without_its_functions(
    live: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("work").mkdir()
    Path("work/start.txt").write_text("there\n")
    with live(planner=lambda _: plan_with("adder", "sums")) as stub:
        run, _ = with_function(adds, stub, monkeypatch)
    (tmp_path / "again" / "work").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "again")
    Path("work/start.txt").write_text("there\n")
    replay = PGEHarness(HarnessConfig(model=f"recording:{tmp_path / '.pge' / 'calls.jsonl'}"))
    assert replay.run(PROMPT).outcome == "passed"
    assert attempt(replay.state.read(), 1).hash == attempt(run, 1).hash
    assert replay.state.read().task.run == run.task.run


def test_a_recording_brings_its_own_skills_or_none(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with live() as stub:
        carried(stub, monkeypatch, {})
    replay = HarnessConfig(model="recording:.pge/calls.jsonl", skills={"words": WORDS}).settings()
    assert "skills" not in replay


def test_functions_of_steps_side_by_side_are_called_in_threads(live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=20)

    def waits(told: str, tree: Tree) -> Mapping[str, str | bytes]:
        both.wait()  # for the other step's: one after another, this would fail
        return {"calc.py" if "Step 1 of 2" in told else "twice.py": CODE[2]}

    def propose(request: Request) -> str:
        path, call = ("calc.py", "calc.add") if "Step 1 of 2" in first_message(request) else ("twice.py", "twice.add")
        check = {"says": "it adds", "method": "oracle", "args": {"call": call, "args": [2, 3], "returns": 5}}
        return fenced({"deliverables": [path], "checks": [check]})

    apart = {**PLAN, "deliverables": ["calc.py", "twice.py"]}
    apart["steps"] = [{**step, "depends_on": [], "skill_type": "adder"} for step in PLAN["steps"]]  # type: ignore[attr-defined]
    with live(planner=lambda _: fenced(apart), propose=propose) as stub:
        run, _ = with_function(waits, stub, monkeypatch, max_parallel=2)
    assert run.outcome == "passed"
    assert [attempt(run, step).notes for step in (1, 2)] == [("made with the skill 'adder'",)] * 2


# Practice


def test_practice_takes_the_models_of_skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = practice_task("textkit")
    able = Skill(description="able", model="practice:skill=1.0,seed=5")
    unable = Skill(description="unable", model="practice:skill=0.0,seed=5")
    outcomes = []
    for name, skills in (("one", {"able": able}), ("other", {"unable": unable})):
        config = HarnessConfig(
            model="practice:seed=5,miss=0,false_alarm=0", skills=skills, shared_state_path=f"{name}/s.md"
        )
        Path(name).mkdir()
        PGEHarness(config).run(task.prompt)
        run = open_run(f"{name}/s.md")
        assert {step.skill_type for step in run.steps} == set(skills)
        outcomes.append([attempt(run, 1).calls[0].model, run.evaluation(1, 1).verdict])  # type: ignore[union-attr]
    assert outcomes == [["practice:skill=1.0,seed=5", "pass"], ["practice:skill=0.0,seed=5", "fail"]]


def test_practice_keeps_a_skill_of_its_own_name_and_draws_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = practice_task("textkit")

    def chosen(*names: str, seed: int = 1) -> list[str]:
        place = f"{'-'.join(names)}{seed}"
        Path(place).mkdir()
        skills = {name: Skill(description=name) for name in names}
        harness = PGEHarness(
            HarnessConfig(model=f"practice:seed={seed}", skills=skills, shared_state_path=f"{place}/s.md")
        )
        harness.start(task.prompt)
        for _ in harness.records():
            if harness.state.read().plan:
                break
        return [step.skill_type for step in harness.state.read().steps]

    own = {step["skill_type"] for step in task.plan["steps"]}  # type: ignore[index,union-attr,call-overload]
    assert set(chosen(*own, "zz")) == own
    drawn = [chosen("x", "y", seed=seed) for seed in range(1, 6)]
    assert {name for names in drawn for name in names} == {"x", "y"}


# What a task is


def test_skills_are_part_of_the_task_where_there_are_any() -> None:
    def run_id(**skills: Skill) -> str:
        return identity(PROMPT, HarnessConfig(model=MODEL, skills=skills).settings())

    def other(told: str, tree: Tree) -> Mapping[str, str | bytes]:
        return {}

    ways = [
        {},
        {"a": Skill(description="d")},
        {"b": Skill(description="d")},
        {"a": Skill(description="e")},
        {"a": Skill(description="d", prompt="p")},
        {"a": Skill(description="d", tools=True)},
        {"a": Skill(description="d", tools=("read",))},
        {"a": Skill(description="d", model="m")},
        {"a": Skill(description="d", does=adds)},
        {"a": Skill(description="d", does=other)},
    ]
    assert len({run_id(**way) for way in ways}) == len(ways)
    assert run_id(a=Skill(description="d"), b=WORDS) == run_id(b=WORDS, a=Skill(description=" d ", tools=False))
    assert run_id() == identity(PROMPT, HarnessConfig(model=MODEL).settings())


def test_a_redacted_export_hides_what_a_person_says_of_skills(
    live: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    skills = {"words": Skill(description="my own words on it", prompt="Mention our client."), "sums": SUMS}
    registry = SkillRegistry("kept.sqlite3")
    for _ in range(3):
        registry.record("sums", "another client", 5)
    with live(planner=lambda _: plan_with("words", "sums")) as stub:
        run, _ = carried(stub, monkeypatch, skills, registry=str(registry.path))
    assert "another client" in plan_of(run).hints
    hidden = redacted(tmp_path / "shared_state.md", frozenset({"prompts"}))
    held = b"\n".join(member.content or b"" for member in hidden.members if member.name == "shared_state.md")
    assert b"another client" not in held
    assert b"my own words" not in held
    assert b"Mention our client" not in held
    assert held.count(b"[removed: prompt]") > 5
    assert b'"sums"' in held


class Adder:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, told: str, tree: Tree) -> Mapping[str, str | bytes]:
        return {"a": str(self.by)}

    def method(self, told: str, tree: Tree) -> Mapping[str, str | bytes]:
        return {}


def scaled(by: int, told: str, tree: Tree) -> Mapping[str, str | bytes]:
    return {"a": str(by)}


def test_a_function_is_known_by_its_source() -> None:
    typed: dict[str, Any] = {}
    exec("def f(told, tree):\n    return {'a': 'x'}\ndef g(told, tree):\n    return {'a': 'y'}", typed)
    hashes = [
        source_hash(adds),
        source_hash(Adder(1)),
        source_hash(Adder(1).method),
        source_hash(functools.partial(scaled, 1)),
        source_hash(functools.partial(scaled, 2)),
        source_hash(typed["f"]),
        source_hash(typed["g"]),
        source_hash(print),
        source_hash(len),
    ]
    assert len(set(hashes)) == len(hashes)
    assert source_hash(Adder(1)) == source_hash(Adder(2))
    assert source_hash(functools.partial(scaled, by={Adder(1)})) == source_hash(
        functools.partial(scaled, by={Adder(1)})
    )


def test_a_function_without_source_has_the_same_hash_in_every_process() -> None:
    code = (
        "from pge_nb.skills import source_hash\n"
        "names = {}\n"
        'exec(\'def f(told, tree):\\n    return {w: w for w in told.split() if w in {"a", "b", "c", "d"}}\', names)\n'
        "print(source_hash(names['f']))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }
    assert len(seen) == 1


# What can be used


@pytest.mark.parametrize(
    ("skills", "fact"),
    [
        (["sql"], "skills is ['sql']."),
        ({"": WORDS}, "The skill '' has no name, or blanks around it."),
        ({" a": WORDS}, "The skill ' a' has no name, or blanks around it."),
        ({"a\nb": WORDS}, "The skill 'a\\nb' has a line break or a control character in its name."),
        ({"a" * 61: WORDS}, f"The skill '{'a' * 61}' has a name of 61 characters."),
        ({3: WORDS}, "The skill 3 has no name, or blanks around it."),
        ({"a": "for texts"}, "The skill 'a' is 'for texts'."),
        ({"a": Skill(description=" ")}, "The skill 'a' has no description."),
        ({"a": Skill(description="d", prompt=None)}, "The skill 'a' has the prompt None."),  # type: ignore[arg-type]
        ({"a": Skill(description="d", tools="read")}, "The skill 'a' has the tools 'read'."),  # type: ignore[arg-type]
        ({"a": Skill(description="d", tools=("red",))}, "The skill 'a' names the tool 'red'."),
        ({"a": Skill(description="d", model=" ")}, "The skill 'a' has the model ' '."),
        ({"a": Skill(description="d", model="recording:x")}, "The skill 'a' has a recording for its model."),
        ({"a": Skill(description="d", does="f")}, "The skill 'a' has for its function 'f'."),  # type: ignore[arg-type]
        (
            {"a": Skill(description="d", does=adds, model="m")},
            "The skill 'a' has a function, which asks no model, and tools or a model beside it.",
        ),
    ],
)
def test_a_skill_that_cannot_be_used_is_named(skills: Any, fact: str) -> None:
    with pytest.raises(BadInput) as caught:
        HarnessConfig(skills=skills)
    assert caught.value.fact == fact
    assert caught.value.next_move.endswith((".", '"...")'))


def test_a_model_of_a_skill_counts_where_models_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    skills = {"a": Skill(description="d", model="practice")}
    with pytest.raises(Exception, match="The practice model only plays the tasks of its bank"):
        PGEHarness(HarnessConfig(model=MODEL, skills=skills)).start("Anything else.")
    with pytest.raises(BadInput, match="no-such-price"):
        PGEHarness(
            HarnessConfig(
                model="claude-sonnet-5-5", max_dollars=1, skills={"a": Skill(description="d", model="no-such-price")}
            )
        ).start(PROMPT)


# In a notebook


def test_a_cell_names_the_skills_and_the_run_goes_on_with_their_functions(
    live: Any, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    define = (
        "from pge_nb import Skill\n"
        "def adds(told, tree):\n"
        "    global called\n"
        "    called += 1\n"
        f"    return {{'calc.py': {CODE[1]!r}}}\n"
        "called = 0\n"
        "ways = {'adder': Skill(description='adds', does=adds), 'sums': Skill(description='for sums')}"
    )
    cell = f"%%pge run --model {MODEL} --skills ways\n{PROMPT}"
    with live(planner=lambda _: plan_with("adder", "sums")) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        error = shell.cell(cell).error
        assert isinstance(error, BadInput)
        assert error.fact == "--skills: there is no variable 'ways' in this notebook."
        shell.cell("ways = ['adder']")
        assert isinstance(shell.cell(cell).error, BadInput)
        assert not Path("shared_state.md").exists()
        shell.cell(define)
        assert "no variable 'way'" in str(shell.cell(cell.replace("ways", "way")).error)
        assert "Did you mean ways?" in str(shell.cell(cell.replace("ways", "way")).error)
        error = shell.cell(cell.replace("ways", "ways --detach")).error
        assert isinstance(error, BadInput)
        assert "a process of its own does not have it" in error.fact
        assert "the function of the skill" not in shell.cell(f"{cell}\n".replace("run", "run --dry-run")).text
        shell.cell(f"%%pge plan --model {MODEL} --skills ways\n{PROMPT}")
        shell.cell("%pge contract 1")
        shown = shell.cell("%pge resume --dry-run").error
        assert isinstance(shown, BadInput)
        assert "is done by the function of the skill 'adder'" in shown.fact
        assert shell.cell("%pge resume").view.mark == "passed"
        assert shell.names["called"] == 1
        again = shell.cell(cell)
        without = shell.cell(cell.replace(" --skills ways", ""))
    assert "nobody was asked" in str(again.view)
    assert "Another task stood here (another skills" in str(without.view)


def test_every_view_names_the_practice_models_of_skills(shell: Shell) -> None:
    skills = {"able": Skill(description="able", model="practice:skill=1.0")}
    PGEHarness(HarnessConfig(model="practice:seed=2", skills=skills)).run(practice_task("stats").prompt)
    assert "Practice model (practice:seed=2, practice:skill=1.0): simulated" in str(shell.cell("%pge").view)
