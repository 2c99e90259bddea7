"""Every practice task is carried out by the real harness, its commands and hidden inputs in the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.models.practice import PracticeSettings


@pytest.mark.parametrize("name", bank.NAMES)
def test_a_run_comes_to_its_end_and_its_looks_find_what_is_so(name: str, tmp_path: Path) -> None:
    model = PracticeSettings(skill=0.5, seed=1 + bank.NAMES.index(name) % 2).model_name
    ended = PGEHarness(HarnessConfig(model=model, shared_state_path=tmp_path / "shared_state.md")).run(
        bank.practice_task(name).prompt
    )
    assert ended.outcome in ("passed", "degraded", "paused")
    # A later step's looks meet the modules that were accepted, flaws and all; its truth takes them as sound.
    for step in (step for step in ended.run.steps if not step.depends_on):
        assert ended.run.attempts(step.number)
        for number, attempt in ended.run.attempts(step.number).items():
            found = bank.truth(name, attempt.hash)
            report = ended.run.evaluation(step.number, number)
            assert found is not None
            assert report is not None
            looked = {
                one.on: one.verdict == "pass" for one in report.findings if one.by in ("oracle", "command", "file")
            }
            assert looked
            assert looked == {id_: found.met[id_] for id_ in looked}, found.defects
