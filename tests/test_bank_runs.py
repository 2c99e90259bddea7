"""Every practice task is carried out by the real harness, its commands and hidden inputs in the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import look, needs_browser

from pge_nb import bank, views
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.models.practice import PracticeSettings
from pge_nb.run import Run, same
from pge_nb.workspace import Objects

LOOKS = ("oracle", "command", "file", "notebook", "browser")


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


@pytest.mark.parametrize("name", bank.NAMES)
def test_a_run_comes_to_its_end_and_its_looks_find_what_is_so(name: str, tmp_path: Path) -> None:
    model = PracticeSettings(skill=0.5, seed=1 + bank.NAMES.index(name) % 2).model_name
    config = HarnessConfig(
        model=model,
        shared_state_path=tmp_path / "shared_state.md",
        max_retries_per_step=1 if name in ("page", "report") else 3,  # a browser and a kernel take seconds
    )
    ended = PGEHarness(config).run(bank.practice_task(name).prompt)
    assert ended.outcome in ("passed", "degraded", "paused")
    # A later step's looks meet the modules that were accepted, flaws and all; its truth takes them as sound.
    for step in (step for step in ended.run.steps if not step.depends_on):
        assert ended.run.attempts(step.number)
        for number, attempt in ended.run.attempts(step.number).items():
            found = bank.truth(name, attempt.hash)
            report = ended.run.evaluation(step.number, number)
            assert found is not None
            assert report is not None
            looked = {one.on: one.verdict == "pass" for one in report.findings if one.by in LOOKS}
            assert looked
            assert looked == {id_: found.met[id_] for id_ in looked}, found.defects


@needs_browser
def test_a_browser_tells_the_page_with_a_tin_too_few_from_the_sound_one(objects: Objects) -> None:
    (step,) = bank.practice_task("page").steps
    (short,) = [defect for defect in step.defects if defect.id == "tins-rounded"]
    for defects in [(), (short,)]:
        outcome = look(objects, "browser", step.checks[2]["args"], dict(bank.render(step, defects)))
        assert outcome.met is not bool(defects), outcome.saw


def test_the_notebook_runs_in_a_kernel_unless_it_uses_a_name_of_another_session(objects: Objects) -> None:
    (step,) = bank.practice_task("report").steps
    (other,) = [defect for defect in step.defects if "c3" in defect.breaks]
    for defects in [(), (other,)]:
        outcome = look(objects, "notebook", step.checks[2]["args"], dict(bank.render(step, defects)))
        assert outcome.met is not bool(defects), outcome.saw


def played(place: Path) -> Run:
    place.mkdir()
    config = HarnessConfig(model="practice:skill=1.0", shared_state_path=place / "shared_state.md")
    return PGEHarness(config).run(bank.practice_task("page").prompt).run


@needs_browser
def test_a_page_that_is_looked_at_in_another_place_gives_the_same_run(tmp_path: Path) -> None:
    assert same(played(tmp_path / "one"), played(tmp_path / "two"))


def test_where_there_is_no_browser_the_check_falls_to_the_judge_and_the_evidence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    run = played(tmp_path / "run")
    report = run.evaluation(1, 1)
    assert report is not None
    by = {finding.on: (finding.by, finding.verdict) for finding in report.findings}
    assert (by["c1"], by["c3"]) == (("oracle", "pass"), ("judge", "pass"))
    (told,) = [evidence for evidence in report.evidence if evidence.method == "browser"]
    assert told.body.text == "not opened: there is no browser: Chromium or Chrome"
    assert "no browser" in views.evaluations_view(run, 1).plain()
