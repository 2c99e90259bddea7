"""A judge is taught by examples of where it was wrong in train, and tried on other tasks: what is known to help is found."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import HarnessConfig, PGEHarness, bank, open_run, studies
from pge_nb.agents.raters import edited, judge
from pge_nb.errors import BadInput
from pge_nb.run import Run
from pge_nb.studies.improving import PRIMARY, Candidate, ahead_of_test, candidates, interleaved, taught, trial, worded
from pge_nb.studies.items import items, task_of
from pge_nb.studies.replaying import asked_of, kept, regrade
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.study_records import ALONE, Example, Label, Rater

TASKS = [f"generated:steps=1,seed={seed}" for seed in range(1, 29)]
HELPED, USELESS = "practice:miss=0.6,taught=0.7", "practice:miss=0.6,taught=0.0"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks enough for seven in the test part, three attempts at each: a judge that fails everything was the gate."""
    root = tmp_path_factory.mktemp("improve")
    for seed, name in enumerate(TASKS):
        config = HarnessConfig(
            model=f"practice:skill=0.3,leniency=-9.0,seed={seed}",
            max_retries_per_step=2,
            on_exhausted=("ask",),
            registry="off",
            shared_state_path=root / f"t{seed}" / "shared_state.md",
        )
        (root / f"t{seed}").mkdir()
        PGEHarness(config).run(bank.practice_task(name).prompt)
    return root


@pytest.fixture
def runs(home: Path) -> list[Run]:
    return [open_run(home / f"t{seed}") for seed in range(len(TASKS))]


@pytest.fixture
def study(tmp_path: Path, runs: list[Run]) -> StudyFile:
    study = open_study(tmp_path)
    studies.split(study, runs)
    return study


def graded(study: StudyFile, runs: list[Run], name: str) -> Rater:
    """A judge alone that has graded everything in train."""
    rater = judge(name, mode=ALONE, name="plain")
    view = study.read()
    regrade(study, asked_of([run for run in runs if view.part(task_of(run)) == "train"], [rater]))
    return rater


def picked(study: StudyFile, runs: list[Run], rater: Rater, many: int = 3) -> list[Example]:
    return [one.example() for one in candidates(runs, rater, study.read(), kept(study))[:many]]


def test_what_it_was_wrong_about_in_train_is_offered_bad_work_that_it_passed_first(
    study: StudyFile, runs: list[Run]
) -> None:
    rater, view = graded(study, runs, HELPED), study.read()
    found = candidates(runs, rater, view, kept(study))
    assert {view.part(one.item.task) for one in found} == {"train"}
    assert [one.said for one in found] == sorted((one.said for one in found), reverse=True)
    assert all(one.said != one.verdict for one in found)
    firsts = [one.item.task for one in found if one.said == "pass"]
    assert len(set(firsts[:4])) == 4, "a task at a time"
    bad = next(one for one in found if one.said == "pass")
    defects = [defect.says for step in bank.practice_task(bad.item.task).steps for defect in step.defects]
    assert any(says in bad.why for says in defects)
    assert "def value" in bad.shown


def test_examples_that_are_known_to_help_are_found_to_help_on_development_and_then_on_test(
    study: StudyFile, runs: list[Run]
) -> None:
    old = graded(study, runs, HELPED)
    new = taught(study, runs, old, picked(study, runs, old), name="taught", by="ann")
    assert (new.edited_from, len(new.examples)) == (old.id, 3)
    with pytest.raises(BadInput, match="not tried on development"):
        trial(study, runs, old, new, part="test")
    first = trial(study, runs, old, new)
    assert (first.part, first.level) == ("development", 0.95)
    assert not study.read().looks
    last = trial(study, runs, old, new, part="test")
    assert last.level == 0.975
    assert last.found == "better", last.sentence
    assert last.compared["judge", "tnr"].difference.value > 0.2
    frame = last.frame()
    assert (frame.iloc[0]["of"], frame.iloc[0]["metric"]) == PRIMARY
    assert frame.iloc[0]["n"] > 20
    assert last.detectable is not None
    assert f"{100 * last.detectable:.0f} points or more would likely be seen" in last.sentence
    assert [one.raters for one in study.read().looks] == [(old.id, new.id)]
    trial(study, runs, old, new, part="test")
    assert len(study.read().looks) == 1, "the same verdicts again are no other look"


def test_examples_that_teach_nothing_are_not_found_to_help(study: StudyFile, runs: list[Run]) -> None:
    old = graded(study, runs, USELESS)
    new = taught(study, runs, old, picked(study, runs, old), name="taught", by="ann")
    trial(study, runs, old, new)
    last = trial(study, runs, old, new, part="test")
    assert last.found == "no difference found"
    assert last.compared[PRIMARY].only_a + last.compared[PRIMARY].only_b > 0, "they had luck of their own"
    gap = last.compared[PRIMARY].difference
    assert gap.low < 0 < gap.high
    assert f"[{100 * gap.low:+.0f}, {100 * gap.high:+.0f}] points" in last.sentence


def test_both_judges_are_asked_in_turn_and_neither_is_always_first(runs: list[Run]) -> None:
    old, new = judge(HELPED), judge(USELESS)
    asked = interleaved(runs[:2], old, new)
    firsts = [asked[place].rater.id for place in range(0, len(asked), 2)]
    assert firsts[:4] == [old.id, new.id, old.id, new.id]
    assert all(asked[at].frozen.attempt_hash == asked[at + 1].frozen.attempt_hash for at in range(0, len(asked), 2))


def test_who_labelled_in_test_may_not_choose_and_examples_come_from_train(study: StudyFile, runs: list[Run]) -> None:
    old, view = graded(study, runs, HELPED), study.read()
    by_part = {view.part(task_of(run)): run for run in runs}
    item = items(by_part["test"])[0]
    label = Label(rater="bob", run=item.run, step=item.step, attempt_hash=item.attempt_hash, on=item.on, verdict="fail")
    study.add(Rater(id="bob", who="person", name="bob"), label)
    examples = picked(study, runs, old)
    with pytest.raises(BadInput, match="bob labelled in the test part"):
        taught(study, runs, old, examples, name="taught", by="bob")
    leaked = Example(item=item.key, says=item.says, shown="x", verdict="fail", why="it is wrong")
    with pytest.raises(BadInput, match="test part: no example may come from it"):
        taught(study, runs, old, [leaked], name="taught", by="ann")
    with pytest.raises(BadInput, match="No example was picked"):
        taught(study, runs, old, [], name="taught", by="ann")
    with pytest.raises(BadInput, match="13 examples"):
        taught(study, runs, edited(old, examples=examples * 4), examples[:1], name="taught", by="ann")
    assert "taught" not in {rater.name for rater in study.read().raters.values()}


def test_an_example_says_why_in_ones_own_words_or_in_those_of_the_reference(study: StudyFile, runs: list[Run]) -> None:
    one = candidates(runs, graded(study, runs, HELPED), study.read(), kept(study))[0]
    assert worded(one, "").why == one.why
    assert worded(one, "  It is\toff by one. ").why == "It is off by one."
    silent = Candidate(id="d1", item=one.item, said="pass", verdict="fail", score=None, why="", shown="x")
    with pytest.raises(BadInput, match="says no why"):
        worded(silent, "")


def test_so_few_tasks_that_nothing_could_be_found_are_told_before(study: StudyFile, runs: list[Run]) -> None:
    view = study.read()
    few = [run for run in runs if view.part(task_of(run)) != "test"]
    few += [run for run in runs if view.part(task_of(run)) == "test"][:4]
    old = graded(study, runs, HELPED)
    new = taught(study, runs, old, picked(study, runs, old), name="taught", by="ann")
    trial(study, few, old, new)
    assert ahead_of_test(study, few, old, new) == math.inf
    last = trial(study, few, old, new, part="test")
    assert last.found == "no difference found"
    assert "so few tasks show no difference, however large" in last.sentence


def test_in_a_notebook_from_a_list_to_the_sealed_test(shell: Shell, home: Path) -> None:
    shutil.copytree(home, Path(), dirs_exist_ok=True)
    assert shell.cell("%pge label 't*' --split").error is None
    shell.cell(f"%pge rater plain --model {HELPED} --alone")
    shell.cell("%pge regrade 't*' --rater plain")
    listed = shell.cell("%pge improve --rater plain").view
    assert "passed that should fail" in listed.title
    ids = re.findall(r"\bd[0-9a-f]{6}\b", listed.plain())[:2]
    body = f"{ids[0]}\n{ids[1]} It counts one too many.\n"
    assert "Who picked" in shell.cell(f"%%pge improve taught --rater plain\n{body}").error.fact
    assert "is no candidate" in shell.cell("%%pge improve taught --rater plain --as ann\nd000000 no\n").error.fact
    tried = shell.cell(f"%%pge improve taught --rater plain --as ann\n{body}").view
    assert tried.title.startswith("taught against plain, development part: ")
    assert "points or more would likely be seen" in tried.plain()
    assert tried.next == "%pge improve taught --test"
    assert not open_study(Path()).read().looks
    opened = shell.cell(tried.next).view
    assert re.match(r"taught against plain, test part: (better|no difference found); right on \d+ % of", opened.title)
    rater = open_study(Path()).read().rater("taught")
    assert rater.examples[1].why == "It counts one too many."
    assert len(open_study(Path()).read().looks) == 1
    assert [study.study for study in open_study(Path()).read().studies if study.study == "improve"] == ["improve"] * 2
    assert "was not tried on development" in shell.cell("%pge improve plain --test").error.fact, "it was edited too"
    assert "was not made of another judge" in shell.cell("%pge improve gate --test").error.fact
