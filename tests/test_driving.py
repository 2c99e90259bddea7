"""Steps side by side: time decides nothing, one thread appends, a failed step stops its dependents alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from side_by_side import MODEL, Needs, Player

from pge_nb.agents.generator import base_tree
from pge_nb.clock import worked
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, ModelFailed
from pge_nb.harness import PGEHarness
from pge_nb.models import Request
from pge_nb.records import Interruption, Receipt
from pge_nb.run import Run, compared, same
from pge_nb.state import open_run
from pge_nb.views import run_view

PROMPT = "Make some files."
DIAMOND: Needs = {1: (), 2: (1,), 3: (1,), 4: (2, 3)}
WILD: Needs = {1: (), 2: (), 3: (1,), 4: (2,), 5: (3,), 6: (), 7: (4, 6), 8: (2,), 9: (8, 5)}
SHARED = {
    2: ("both.txt", "own_2.txt"),
    3: ("both.txt",),
    4: ("pack/__init__.py",),
    6: ("pack.py",),
    7: ("both.txt",),
    8: ("pack/inner.py",),
}


def harness(place: Path, model: Player, **settings: Any) -> PGEHarness:
    place.mkdir(exist_ok=True)
    settings = {
        "max_parallel": 3,
        "max_retries_per_step": 1,
        "on_exhausted": (),
        "max_steps": 12,
        "model": MODEL,
    } | settings
    return PGEHarness(HarnessConfig(shared_state_path=place / "shared_state.md", **settings), model=model)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pge_nb")]


def states(run: Run) -> dict[int, str]:
    return {step.number: run.state(step.number) for step in run.steps}


def keys(place: Path) -> set[str]:
    lines = [json.loads(line) for line in (place / ".pge" / "calls.jsonl").read_text().split("\n") if line]
    return {line["key"] for line in lines if line["line"] == "settled"}


# What a run comes to


@pytest.mark.parametrize("files", [{}, SHARED], ids=["own files", "shared files"])
def test_whatever_the_timing_a_run_asks_the_same_and_comes_to_the_same(tmp_path: Path, files: dict[int, Any]) -> None:
    found: list[Run] = []
    asked: list[set[str]] = []
    for timing in range(4):
        model = Player(WILD, files=files, seconds=0.03, timing=timing, bad={3: 1, 6: 1, 8: 9})
        run = harness(tmp_path / str(timing), model).run(PROMPT).run
        assert model.most_at_once > 1
        assert max(threads(), default="") == ""
        found.append(run)
        asked.append(keys(tmp_path / str(timing)))
    assert states(found[0]) == {**dict.fromkeys(WILD, "accepted"), 8: "failed", 9: "blocked"}
    for run, sent in zip(found[1:], asked[1:], strict=True):
        assert compared(run) == compared(found[0])
        assert sent == asked[0], "no brief depends on how far the others were"


def test_cut_after_any_section_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    """Prefixes of a finished file, as a crash leaves them; the call log lost as well."""
    bad = {3: 1, 8: 9}
    whole = harness(tmp_path / "whole", Player(WILD, files=SHARED, seconds=0.01, timing=0, bad=bad)).run(PROMPT).run
    content = (tmp_path / "whole" / "shared_state.md").read_bytes()
    for section in whole.sections[1::6]:
        place = tmp_path / f"cut{section.seq}"
        made = harness(place, Player(WILD, files=SHARED, seconds=0.005, timing=section.seq, bad=bad))
        made.state.path.write_bytes(content[: section.offset])
        shutil.copytree(tmp_path / "whole" / ".pge" / "objects", place / ".pge" / "objects")
        assert same(whole, made.run(PROMPT).run), f"cut before section {section.seq}"


def test_the_middle_of_a_diamond_is_made_all_at_once(tmp_path: Path) -> None:
    """Phase for phase the four steps are asked together: each call waits until the other three were made."""
    together = threading.Barrier(4)

    def meet(request: Request) -> None:
        if request.about.step in {2, 3, 4, 5}:
            together.wait(20)

    needs: Needs = {1: (), 2: (1,), 3: (1,), 4: (1,), 5: (1,), 6: (2, 3, 4, 5)}
    model = Player(needs, before=meet)
    assert harness(tmp_path, model, max_parallel=4).run(PROMPT).outcome == "passed"
    assert model.most_at_once == 4
    assert len(model.asked) == 1 + 6 * 4


def test_with_more_or_fewer_at_once_it_comes_to_the_same(tmp_path: Path) -> None:
    runs = [
        harness(tmp_path / f"{most}", Player(WILD, files=SHARED, seconds=0.01, timing=1), max_parallel=most)
        .run(PROMPT)
        .run
        for most in (2, 9)
    ]
    left, right = ({address: told for address, told in compared(run).items() if address[1] != "task"} for run in runs)
    assert left == right
    assert runs[0].task.run == runs[1].task.run, "the number is no part of the identity"


def test_a_tree_holds_what_its_step_builds_on_and_nothing_else(tmp_path: Path) -> None:
    run = harness(tmp_path, Player(WILD, files=SHARED, seconds=0.01, timing=3)).run(PROMPT).run
    trees = {step: {file.path for file in base_tree(run, step)} for step in WILD}
    assert trees[1] == set()
    assert trees[5] == {"own_1.txt", "both.txt"}
    assert trees[9] >= {"pack/inner.py", "own_5.txt"}
    assert "own_5.txt" not in trees[7]
    assert trees[3] == {"own_1.txt", "both.txt", "own_2.txt"}, "step 2 shares a file and was settled before"
    (both,) = [file for file in base_tree(run, 7) if file.path == "both.txt"]
    (third,) = [file for file in run.outputs(3) if file.path == "both.txt"]
    assert both.sha256 == third.sha256, "of two that wrote it, the later"


def test_checks_of_a_shared_file_are_carried_over_from_the_step_before(tmp_path: Path) -> None:
    run = harness(tmp_path, Player(WILD, files=SHARED, seconds=0.01, timing=4)).run(PROMPT).run
    contract = run.contract(7)
    assert contract is not None
    assert [check.says for check in contract.checks] == [f"The file reads 'good step {step}'." for step in (7, 2, 3)]
    alone = run.contract(5)
    assert alone is not None
    assert len(alone.checks) == 1


def test_a_failed_step_blocks_those_that_need_it_and_the_others_go_on(tmp_path: Path) -> None:
    result = harness(tmp_path, Player(DIAMOND | {5: ()}, bad={2: 9})).run(PROMPT)
    assert states(result.run) == {1: "accepted", 2: "failed", 3: "accepted", 4: "blocked", 5: "accepted"}
    assert result.outcome == "blocked"
    assert "step 4 blocked by step 2" in result.summary
    assert [log.blocked_by for log in result.step_logs] == [(), (), (), (2,), ()]
    assert "Step 4 is blocked: it builds on step 2, which failed." in run_view(result.run).plain()


def test_one_at_a_time_is_as_it_ever_was(tmp_path: Path) -> None:
    model = Player(WILD, seconds=0.001)
    run = harness(tmp_path, model, max_parallel=1).run(PROMPT).run
    assert model.most_at_once == 1
    assert "max_parallel" not in run.task.settings
    order = [section.record.step for section in run.sections if section.record.kind == "decision"]
    assert order == sorted(WILD), "the steps in the order of the plan"
    assert {file.path for file in base_tree(run, 6)} == {f"own_{n}.txt" for n in range(1, 6)}


def test_a_run_that_was_begun_one_after_another_is_not_made_parallel(tmp_path: Path) -> None:
    begun = harness(tmp_path, Player(DIAMOND), max_parallel=1)
    begun.start(PROMPT)
    with pytest.raises(BadInput, match="one step after another"):
        begun.amend(max_parallel=3)
    begun.amend(max_parallel=1)


def test_fewer_at_once_may_be_said_later(tmp_path: Path) -> None:
    model = Player(WILD, seconds=0.01)
    made = harness(tmp_path, model)
    made.start(PROMPT)
    made.amend(max_parallel=1)
    assert made.resume().outcome == "passed"
    assert model.most_at_once == 1


# Who appends


def test_only_the_driving_thread_appends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = harness(tmp_path, Player(WILD, seconds=0.01))
    plain, names = made.state.append, set()

    def append(*records: Any) -> Any:
        names.add(threading.current_thread().name)
        return plain(*records)

    monkeypatch.setattr(made.state, "append", append)
    assert made.run(PROMPT).outcome == "passed"
    assert names == {threading.current_thread().name}


# How it ends


def test_when_a_limit_is_reached_those_under_way_end_their_phase_and_are_appended(tmp_path: Path) -> None:
    model = Player({1: (), 2: (), 3: ()}, seconds=0.05)
    made = harness(tmp_path, model, max_calls=8)
    result = made.run(PROMPT)
    last = result.run.sections[-1].payload
    assert isinstance(last, Receipt)
    assert (last.calls, last.unfinished) == (8, 0)
    cited = {call.id for call in result.run.calls}
    assert cited == keys(tmp_path), "whatever was paid stands in a section"
    made.amend(max_calls=99)
    whole = harness(tmp_path / "whole", Player({1: (), 2: (), 3: ()}), max_calls=99).run(PROMPT).run
    came = made.resume()
    assert came.outcome == "passed"
    kept = {address: told for address, told in compared(came.run).items() if address[1] not in {"amendment", "task"}}
    assert kept == {address: told for address, told in compared(whole).items() if address[1] != "task"}


def test_when_a_model_fails_the_others_end_their_phase_and_the_error_is_raised(tmp_path: Path) -> None:
    def fail(request: Request) -> None:
        if request.about.step == 2 and request.about.phase == "generate":
            raise ModelFailed("it cannot be asked", "again")

    made = harness(tmp_path, Player({1: (), 2: ()}, seconds=0.05, before=fail))
    with pytest.raises(ModelFailed, match="cannot be asked"):
        made.run(PROMPT)
    run = open_run(tmp_path)
    last = run.sections[-1].payload
    assert isinstance(last, Interruption)
    assert last.phase == "generate 2.1"
    assert {call.id for call in run.calls} == keys(tmp_path)


def press_when(model: Player, phase: str, times: int) -> list[float]:
    """Ctrl-C, once so many calls of a phase were made; the moment at which it was pressed."""
    pressed: list[float] = []

    def press() -> None:
        while sum(one.about.phase == phase for one in list(model.asked)) < times:
            time.sleep(0.01)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    return pressed


def test_ctrl_c_ends_parallel_calls_at_once_with_a_section_that_names_them(tmp_path: Path) -> None:
    needs: Needs = {1: (), 2: (), 3: ()}
    model = Player(needs, slow={"generate": 30.0})
    made = harness(tmp_path, model)
    pressed = press_when(model, "generate", 3)
    with pytest.raises(KeyboardInterrupt):
        made.run(PROMPT)
    assert time.monotonic() - pressed[0] < 2
    assert threads() == []
    run = open_run(tmp_path)
    last = run.sections[-1].payload
    assert isinstance(last, Interruption)
    assert last.phase == "generate 1.1, generate 2.1, generate 3.1"
    model.slow = {}
    came = made.resume().run
    assert same(came, harness(tmp_path / "whole", Player(needs)).run(PROMPT).run)


def test_ctrl_c_cuts_commands_of_reviews_too(tmp_path: Path) -> None:
    """A child in the sandbox is ended with the thread that watches it."""
    checks = {"says": "it ends", "method": "command", "args": {"run": ["python", "-c", "import time; time.sleep(60)"]}}
    needs: Needs = {1: (), 2: ()}
    model = Player(needs, checks=[checks])
    made = harness(tmp_path, model)

    def press() -> None:
        while len(open_run(tmp_path).sections if made.state.path.exists() else ()) < 10:
            time.sleep(0.05)
        time.sleep(0.5)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    pressed: list[float] = []
    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        made.run(PROMPT)
    assert time.monotonic() - pressed[0] < 2
    assert threads() == []
    seen = (tmp_path / ".pge" / "calls.jsonl").read_text()
    assert '"line":"observed"' not in seen, "what was cut is no observation"


def test_who_only_looks_at_some_sections_leaves_no_thread_behind(tmp_path: Path) -> None:
    made = harness(tmp_path, Player({1: (), 2: (), 3: ()}, slow={"generate": 30.0}))
    made.start(PROMPT)
    began = time.monotonic()
    with contextlib.closing(made.records()) as sections:  # type: ignore[type-var]
        for section in sections:
            if section.record.kind == "contract":
                break
    assert time.monotonic() - began < 3
    assert threads() == []
    before = len(open_run(tmp_path).sections)
    time.sleep(0.3)
    assert len(open_run(tmp_path).sections) == before


def test_the_phases_of_one_step_alone(tmp_path: Path) -> None:
    made = harness(tmp_path, Player(DIAMOND))
    made.start(PROMPT)
    next(made.records())
    for _ in made.records(1):
        pass
    run = open_run(tmp_path)
    assert states(run) == {1: "accepted", 2: "waiting", 3: "waiting", 4: "waiting"}
    assert run.sections[-1].record.kind == "decision"


def test_a_contract_that_is_asked_for_out_of_turn_is_told_to_wait(tmp_path: Path) -> None:
    made = harness(tmp_path, Player({1: (), 2: ()}))
    made.start(PROMPT)
    next(made.records())
    with pytest.raises(BadInput, match="waits for other steps"):
        made._negotiate_contract(2)
    assert made._negotiate_contract(1).agreed
    assert made._negotiate_contract(2).agreed
    assert made.resume().outcome == "passed"


# Time


def test_a_run_stops_when_its_time_is_over_and_goes_on_with_more(tmp_path: Path) -> None:
    needs: Needs = {1: (), 2: (), 3: ()}
    made = harness(tmp_path, Player(needs, slow={"evaluate": 30.0}), max_seconds=1.5)
    began = time.monotonic()
    result = made.run(PROMPT)
    assert time.monotonic() - began < 5
    last = result.run.sections[-1].payload
    assert isinstance(last, Receipt)
    assert last.outcome.startswith("stopped: This run may be at work for 1.5 seconds, and was for ")
    assert last.unfinished >= 1, "what was cut counts in full"
    assert run_view(result.run).next == "%pge resume --max-seconds 3"
    again = harness(tmp_path, Player(needs), max_seconds=1.5)
    again.amend(max_seconds=60)
    assert again.resume().outcome == "passed"


@pytest.mark.parametrize("most", [1, 3])
def test_time_counts_over_all_resumes(tmp_path: Path, most: int) -> None:
    needs: Needs = {1: (), 2: (), 3: ()}
    made = harness(tmp_path, Player(needs, seconds=0.1), max_parallel=most, max_seconds=0.5)
    made.start(PROMPT)
    stops = 0
    while open_run(tmp_path).last is None or not isinstance(open_run(tmp_path).sections[-1].payload, Receipt):
        stops += 1
        with contextlib.closing(made.records()) as sections:  # type: ignore[type-var]
            next(sections, None)
        assert stops < 20
    assert 2 <= stops <= 8, "each resume went on where the clock stood"
    assert 0.3 < worked(open_run(tmp_path)) < 1, "written one after another, what ended together counts a little more"


def test_what_several_did_at_once_counts_once(tmp_path: Path) -> None:
    needs: Needs = {1: (), 2: (), 3: ()}
    began = time.monotonic()
    run = harness(tmp_path, Player(needs, seconds=0.1)).run(PROMPT).run
    took = time.monotonic() - began
    alone = sum(getattr(section.payload, "seconds", 0.0) for section in run.sections)
    assert 0.4 < worked(run) <= took
    assert alone > 1.3 * worked(run)
