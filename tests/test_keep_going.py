"""So many attempts at each step whatever the verdicts, with what the gate would have done beside each."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import HarnessConfig, PGEHarness, bank, open_run
from pge_nb.config import identity
from pge_nb.errors import BadInput
from pge_nb.records import Decision
from pge_nb.run import Run


def made(place: Path, model: str, **settings: object) -> Run:
    state = place / "shared_state.md"
    config = HarnessConfig(model=model, shared_state_path=state, registry="off", **settings)  # type: ignore[arg-type]
    PGEHarness(config).run(bank.practice_task("textkit").prompt)
    return open_run(state)


def decisions(run: Run, step: int) -> list[Decision]:
    return [section.payload for section in run.of("decision", step) if isinstance(section.payload, Decision)]


def test_every_step_has_so_many_attempts_and_the_first_that_passed_stands(tmp_path: Path) -> None:
    run = made(tmp_path, "practice:skill=0.9,seed=2", keep_going=4)
    assert run.outcome == "passed"
    for step in run.steps:
        verdicts = [report.verdict for report in run.evaluations(step.number).values()]
        assert len(verdicts) == 4
        assert run.accepted(step.number) == 1 + verdicts.index("pass")
        made_of = decisions(run, step.number)
        assert [one.action for one in made_of] == ["refine"] * 3 + ["accept"]
        would = [one.numbers["gate_would"] for one in made_of[:3]]
        assert would == ["accept" if verdict == "pass" else "retry" for verdict in verdicts[:3]]
    assert any(len({r.verdict for r in run.evaluations(step.number).values()}) > 1 for step in run.steps)


def test_what_stands_is_what_later_steps_build_on(tmp_path: Path) -> None:
    run = made(tmp_path, "practice:skill=0.9,seed=2", keep_going=3)
    for step in run.steps:
        stands = run.attempts(step.number)[run.accepted(step.number) or 0]
        for file in stands.files:
            assert (tmp_path / "work" / file.path).read_bytes() == (
                tmp_path / ".pge" / "objects" / file.sha256[:2] / file.sha256
            ).read_bytes()


def test_where_none_passed_the_ways_to_go_on_are_those_that_were_set(tmp_path: Path) -> None:
    run = made(tmp_path, "practice:leniency=-9.0", keep_going=3, on_exhausted=("advance",), max_retries_per_step=0)
    last = decisions(run, 1)[-1]
    assert (last.action, len(run.attempts(1))) == ("advance", 3)
    assert last.reason.startswith("all 3 attempts failed")


def test_it_is_part_of_the_task_and_absent_by_default() -> None:
    plain = HarnessConfig(model="practice").settings()
    assert "keep_going" not in plain
    assert identity("p", plain) != identity("p", HarnessConfig(model="practice", keep_going=3).settings())
    with pytest.raises(BadInput, match="keep_going is -1"):
        HarnessConfig(keep_going=-1)


def test_in_a_cell(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --skill 1 --keep-going 3;")
    run = open_run("shared_state.md")
    assert [len(run.attempts(step.number)) for step in run.steps] == [3] * len(run.steps)
    assert "3 attempts are made, whatever the verdicts" in shell.cell("%pge show decisions").view.plain()


def test_each_step_may_have_a_count_of_its_own(tmp_path: Path) -> None:
    run = made(
        tmp_path, "practice:skill=0.5,seed=2", keep_going=(3, 1), on_exhausted=("advance",), max_retries_per_step=0
    )
    assert len(run.steps) > 2
    assert [len(run.attempts(step.number)) for step in run.steps] == [3] + [1] * (len(run.steps) - 1)
    with pytest.raises(BadInput, match="keep_going is 0"):
        HarnessConfig(model="practice", keep_going=(2, 0))


def test_the_best_that_passed_stands_where_that_is_asked(tmp_path: Path) -> None:
    run = made(tmp_path, "practice:skill=0.9,noise=1.0,seed=2", keep_going=4, first_stands=False)
    later = 0
    for step in run.steps:
        reports = run.evaluations(step.number)
        passed = {n: report.overall or 0.0 for n, report in reports.items() if report.verdict == "pass"}
        assert run.accepted(step.number) == max(passed, key=lambda n: (passed[n], -n))
        later += run.accepted(step.number) != min(passed)
    assert later, "somewhere it was not the first"
