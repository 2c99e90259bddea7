"""Ablation: every combination of parts, two controls, what came out by the oracle, and nothing made twice."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pge_nb import HarnessConfig, PGEHarness, bank, open_run, studies
from pge_nb.errors import BadInput
from pge_nb.records import Decision
from pge_nb.studies import ablating
from pge_nb.studies.ablating import BEST, EFFECTS, UNITS, WHOLE, YOKED, Unit, ablate, carried, cells
from pge_nb.studies.study import open_study
from pge_nb.study_records import Example

TASKS = [f"generated:steps=1,seed={seed}" for seed in range(1, 5)]
WEAK = "practice:skill=0.4,miss=0.1,false_alarm=0.02"
SHOWN = Example(item="x", says="is it right?", shown="x", verdict="fail", why="it is not")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ablate")


@pytest.fixture(scope="module")
def done(place: Path) -> ablating.Ablated:
    return ablate(TASKS, model=WEAK, seeds=(1, 2), examples=[SHOWN], directory=place)


def test_every_combination_is_carried_out_for_every_task_and_seed(done: ablating.Ablated) -> None:
    frame = done.frame()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(UNITS)
    grid = frame[~frame["condition"].isin([YOKED, BEST])]
    assert len(cells(examples=True)) == 16
    assert grid["condition"].nunique() == 16
    assert (grid.groupby("condition").size() == 8).all()
    assert (frame.groupby("condition").size().loc[[YOKED, BEST]] == 8).all()
    assert frame["error"].isna().all()
    off = grid[grid["evaluator"] == "off"]
    assert (off["attempts"] == 1).all()
    assert grid[~grid["contract"]]["calls"].mean() < grid[grid["contract"]]["calls"].mean()


def test_what_came_out_is_what_the_bank_knows_of_the_files_that_stand(done: ablating.Ablated, tmp_path: Path) -> None:
    unit, came = next(one for one in done.came if one[0].cell == WHOLE)
    config = ablating._config(unit, tmp_path / "shared_state.md")
    PGEHarness(config).run(bank.practice_task(unit.task).prompt)
    run = open_run(tmp_path)
    stands = run.accepted(1)
    known = bank.truth(unit.task, run.attempts(1)[stands].hash) if stands else None
    assert came.sound == (known is not None and not known.defects)
    assert (came.tokens, came.calls) == (sum(call.usage.total for call in run.calls), len(run.calls))


def test_an_evaluator_helps_and_costs_and_that_is_told_with_an_interval_over_tasks(done: ablating.Ablated) -> None:
    effects = done.effects()
    assert {name: str(kind) for name, kind in effects.dtypes.items()} == dict(EFFECTS)
    by = effects.set_index(["compared", "of"])
    helps, costs = by.loc[("evaluator fresh", "sound")], by.loc[("evaluator fresh", "tokens")]
    assert helps["difference"] > 0.2
    assert helps["with"] - helps["without"] == pytest.approx(helps["difference"])
    assert costs["low"] > 0
    assert (by["tasks"] == 4).all()
    assert by.loc[(f"against {YOKED}", "sound"), "difference"] > 0, "retries that are told nothing help less"
    assert {name for name, _ in by.index} >= {"planner", "contract", "evaluator self", "examples", f"against {BEST}"}


def test_controls_have_as_many_attempts_or_as_many_tokens(done: ablating.Ablated) -> None:
    frame = done.frame().set_index(["condition", "task", "seed"])
    for task in TASKS:
        for seed in (1, 2):
            whole, yoked, best = (frame.loc[(name, task, seed)] for name in (WHOLE.name, YOKED, BEST))
            assert yoked["attempts"] == whole["attempts"]
            one = best["tokens"] / best["attempts"]
            assert best["tokens"] <= whole["tokens"] + one
            assert best["tokens"] > whole["tokens"] - 2 * one or best["attempts"] == ablating.MOST_OF_N


def test_yoked_retries_are_as_many_at_each_step(tmp_path: Path) -> None:
    units = [Unit(task="textkit", seed=seed, cell=WHOLE, model="practice:skill=0.4", settings={}) for seed in (1, 2, 3)]
    wholes = [(unit, carried(unit)) for unit in units]
    assert any(len(set(came.by_step)) > 1 for _, came in wholes)
    beside = ablating._beside(open_study(tmp_path), ablating.Ablated(came=tuple(wholes), level=0.95), 1)
    yoked = [came for unit, came in beside.came if unit.cell.control == YOKED]
    assert [came.by_step for came in yoked] == [came.by_step for _, came in wholes]


def test_retries_that_are_told_nothing_begin_anew(tmp_path: Path) -> None:
    config = HarnessConfig(
        model="practice:skill=0.3,leniency=-9.0,seed=1",
        feedback=False,
        on_exhausted=("ask",),
        shared_state_path=tmp_path / "shared_state.md",
    )
    harness = PGEHarness(config)
    harness.run(bank.practice_task("stats").prompt)
    run = open_run(tmp_path)
    assert [one.approach for one in run.attempts(1).values()] == ["first", "pivot", "pivot"]
    actions = [s.payload.action for s in run.of("decision", 1) if isinstance(s.payload, Decision)]
    assert actions == ["pivot", "pivot", "ask"]
    sent = str(harness.request("generator", 1, 2).messages)
    assert "What was found" not in sent
    assert "Overall scores" not in sent


def test_nothing_is_made_twice_and_what_was_done_stands_in_the_study(
    done: ablating.Ablated, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablating, "carried", lambda _: pytest.fail("made again"))
    again = ablate(TASKS, model=WEAK, seeds=(1, 2), examples=[SHOWN], directory=place)
    pd.testing.assert_frame_equal(again.frame(), done.frame())
    assert [one.study for one in open_study(place).read().studies] == ["ablate"]


def test_a_run_that_fails_is_a_failure_and_a_row_with_its_error() -> None:
    unit = Unit(task=TASKS[0], seed=1, cell=WHOLE, model="practice", settings={"max_calls": 2})
    came = carried(unit)
    assert (came.sound, came.quality) == (False, 0.0)
    assert came.tokens > 0, "what it cost until then counts"
    broken = carried(Unit(task=TASKS[0], seed=1, cell=WHOLE, model="practice", settings={"max_steps": 0}))
    assert broken.error.startswith("max_steps is 0")
    assert not broken.sound


def test_bad_input_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no practice task"):
        studies.ablate(["nothing"], directory=tmp_path)
    with pytest.raises(BadInput, match="No task was named"):
        studies.ablate([], directory=tmp_path)
