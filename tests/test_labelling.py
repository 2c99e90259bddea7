"""Labels of people: blind, in the same order again, by lines or by keys or from a file; and the split of the tasks."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_end import VIEW, front_end
from notebook_shell import Shell
from practice_runs import practice_runs

from pge_nb import open_run
from pge_nb.commands.here import Here
from pge_nb.commands.labelling import Session
from pge_nb.errors import BadInput
from pge_nb.runs import Runs
from pge_nb.studies import labels, look, open_study, split
from pge_nb.studies.items import items, task_of
from pge_nb.studies.labelling import LABELS, Question, questions
from pge_nb.studies.ratings import ratings
from pge_nb.studies.splits import check_examples
from pge_nb.studies.study import StudyFile
from pge_nb.study_records import Label, Split
from pge_nb.widgets.label import Label as Typed

TASKS = ("textkit", "stats", "roman", "quotes", "notice")
ASK = "--as ann --sample 8 --repeats 2 --seed 3"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return practice_runs(tmp_path_factory.mktemp("labels"), TASKS[:3])


@pytest.fixture
def runs(home: Path) -> Runs:
    return Runs(open_run(home / name) for name in TASKS[:3])


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return open_study(tmp_path)


@pytest.fixture
def notebook(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A shell among runs that were made elsewhere: none of them was shown in it."""
    shutil.copytree(home, tmp_path / "notebook")
    monkeypatch.chdir(tmp_path / "notebook")
    shell = Shell()
    yield shell
    shell.close()


def asked(runs: Runs, study: StudyFile, **given: object) -> tuple[Question, ...]:
    told = {"rater": "ann", "sample": 12, "seed": 1, **given}
    return questions(runs, study.read(), **told)  # type: ignore[arg-type]


# Which questions, and in which order


def test_the_same_seed_asks_the_same_and_another_one_asks_other_things(runs: Runs, study: StudyFile) -> None:
    first = asked(runs, study)
    assert first == asked(runs, study)
    assert first != asked(runs, study, seed=2)
    assert len(first) == 12
    assert [one.item.key for one in first] != sorted(one.item.key for one in first)


def test_a_sample_stands_for_all_by_its_weights(runs: Runs, study: StudyFile) -> None:
    everything = Counter((item.about, item.step_kind) for item in items(runs))
    sample = asked(runs, study, sample=20)
    for stratum, size in everything.items():
        mine = [one for one in sample if (one.item.about, one.item.step_kind) == stratum]
        assert mine
        assert sum(one.weight for one in mine) == pytest.approx(size)
    whole = asked(runs, study, sample=10_000)
    assert {one.item.key for one in whole} == {item.key for item in items(runs)}
    assert {one.weight for one in whole} == {1.0}


def test_repeats_are_mixed_in_behind_their_first_time(runs: Runs, study: StudyFile) -> None:
    several = asked(runs, study, repeats=4)
    assert len(several) == 16
    again = [one for one in several if one.repeat == 2]
    assert len(again) == 4
    for one in again:
        first = next(n for n, other in enumerate(several) if other.item == one.item and other.repeat == 1)
        assert several.index(one) > first + 1
    assert len({one.id for one in several}) == 16


def test_nothing_that_is_shown_tells_the_verdict_the_attempt_or_the_run(notebook: Shell, runs: Runs) -> None:
    view = notebook.cell(f"%pge label {ASK} --list").view
    told = view.plain()
    for run in runs:
        assert run.task.run not in told
        for step in run.every_step:
            for report in run.evaluations(step.number).values():
                assert report.attempt_hash[:12] not in told
                assert report.rater not in told
    assert not any(word in told for word in ("attempt 1", "attempt 2", "✓", "✗", "r-"))
    assert view.foot == ""
    assert not Path("study.md").exists()


def test_only_one_kind_where_that_is_asked_for(runs: Runs, study: StudyFile) -> None:
    for about in ("check", "criterion", "attempt"):
        assert {one.item.about for one in asked(runs, study, about=about)} == {about}


@pytest.mark.parametrize("given", [{"sample": 0}, {"repeats": -1}, {"sample": 2, "repeats": 3}])
def test_sizes_that_make_no_sense_are_refused(runs: Runs, study: StudyFile, given: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="sample is"):
        asked(runs, study, **given)


# By lines


def ids(notebook: Shell, flags: str = ASK) -> list[str]:
    frame = notebook.cell(f"%pge label {flags} --list").view.df
    assert frame is not None
    return list(frame["item"])


def test_labels_by_lines_are_kept_gone_on_with_and_put_down_once(notebook: Shell, runs: Runs) -> None:
    names = ids(notebook)
    cell = f"%%pge label {ASK}\n{names[0]} pass it is there\n\n{names[1]} f\n"
    assert notebook.cell(cell).view.title == "Labels of ann: 2 of 10 labelled"
    assert ids(notebook) == names[2:]
    before = Path("study.md").read_bytes()
    assert "All of these were there already." in notebook.cell(cell).view.plain()
    assert Path("study.md").read_bytes() == before
    kept = open_study(Path()).read().labels
    assert [(one.verdict, one.note, one.verdict_shown) for one in kept] == [
        ("pass", "it is there", False),
        ("fail", "", False),
    ]
    notebook.cell(f"%%pge label {ASK}\n{names[1]} withdrawn")
    assert len(open_study(Path()).read().labels) == 1
    assert ids(notebook, ASK.replace("ann", "bob")) == names
    frame = ratings(runs, open_study(Path()).read())
    assert list(frame[frame.rater == "ann"].label) == ["pass"]


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("{0} maybe", "Line 2: 'maybe' is no verdict."),
        ("q00000000 pass", "Line 2: 'q00000000' is no item of this labelling."),
        ("{0} fail", "Line 2: {0} stands above it with another verdict."),
    ],
)
def test_a_line_that_cannot_be_read_keeps_nothing_of_the_cell(notebook: Shell, line: str, fact: str) -> None:
    names = ids(notebook)
    error = notebook.cell(f"%%pge label {ASK}\n{names[0]} pass\n{line.format(names[0])}").error
    assert isinstance(error, BadInput)
    assert error.fact == fact.format(names[0])
    assert not Path("study.md").exists()


def test_a_score_goes_with_a_criterion_and_must_not_contradict(notebook: Shell) -> None:
    flags = "--as ann --sample 4 --about criterion"
    name = ids(notebook, flags)[0]
    error = notebook.cell(f"%%pge label {flags}\n{name} pass 2").error
    assert isinstance(error, BadInput)
    assert "says the opposite" in error.fact
    notebook.cell(f"%%pge label {flags}\n{name} pass 9 clear")
    label = open_study(Path()).read().labels[0]
    assert (label.score, label.note) == (9.0, "clear")


def test_what_was_shown_before_is_told_apart(notebook: Shell) -> None:
    flags = "--as ann --sample 200 --about attempt"
    question = ids(notebook, flags)
    notebook.cell("%pge show evaluations stats:1.1")
    body = "\n".join(f"{name} pass" for name in question)
    notebook.cell(f"%%pge label {flags}\n{body}")
    shown = [label for label in open_study(Path()).read().labels if label.verdict_shown]
    run = open_run("stats")
    assert [(one.run, one.step, one.attempt_hash) for one in shown] == [
        (run.task.run, 1, run.evaluations(1)[1].attempt_hash)
    ]


@pytest.mark.parametrize(
    ("cell", "seen"),
    [
        ("%%capture\n%pge show run stats:", False),
        ("%%capture --no-stderr kept\n%pge show run stats:", True),
        ("%%capture --no-display\n%pge show run stats:", True),
        ("%pge show run stats:;", False),
        ("%pge show run stats: -o kept;", True),
    ],
)
def test_a_verdict_that_nobody_can_have_seen_was_not_shown(notebook: Shell, cell: str, *, seen: bool) -> None:
    flags = "--as ann --sample 200 --about attempt"
    body = "\n".join(f"{name} pass" for name in ids(notebook, flags))
    assert notebook.cell(cell).error is None
    notebook.cell(f"%%pge label {flags}\n{body}")
    assert any(label.verdict_shown for label in open_study(Path()).read().labels) is seen


def test_a_run_that_is_told_of_while_it_goes_on_has_shown_its_verdicts_behind_a_semicolon(
    notebook: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = {}
    for live, task in (("0", "textkit"), ("1", "roman")):
        monkeypatch.setenv("PGE_NB_LIVE", live)
        notebook.cell(f"%pge run live{live} --practice {task};")
        flags = f"live{live} --as ann --sample 200 --about attempt"
        body = "\n".join(f"{name} pass" for name in ids(notebook, flags))
        notebook.cell(f"%%pge label {flags}\n{body}")
        run = open_run(f"live{live}").task.run
        seen[live] = {label.verdict_shown for label in open_study(Path()).read().labels if label.run == run}
    assert seen == {"0": {False}, "1": {True}}


def test_a_score_is_asked_for_where_one_is_taken(notebook: Shell) -> None:
    asks = {
        about: notebook.cell(f"%pge label --as ann --about {about} --list").view.plain()
        for about in ("attempt", "criterion")
    }
    assert {about: "[SCORE]" in text for about, text in asks.items()} == {"attempt": False, "criterion": True}


@pytest.mark.parametrize(
    "line", ["%pge stats", "%pge show run stats:", "%pge show decisions stats:", "%pge open stats"]
)
def test_every_view_that_tells_a_verdict_marks_it(notebook: Shell, line: str) -> None:
    flags = "--as ann --sample 200 --about attempt"
    names = ids(notebook, flags)
    notebook.cell("%pge show contract stats:")
    notebook.cell("%pge show cost stats:")
    notebook.cell(f"%%pge label {flags}\n{names[0]} pass")
    assert not open_study(Path()).read().labels[0].verdict_shown
    notebook.cell(line)
    notebook.cell(f"%%pge label {flags}\n" + "\n".join(f"{name} fail" for name in names))
    kept = open_study(Path()).read().labels
    assert {label.run for label in kept if label.verdict_shown} == {open_run("stats").task.run}


def test_the_evaluator_is_told_only_when_it_was_asked_for_and_after(notebook: Shell) -> None:
    names = ids(notebook)
    quiet = notebook.cell(f"%%pge label {ASK}\n{names[0]} pass").view.plain()
    assert "the evaluator said" not in quiet
    told = notebook.cell(f"%%pge label {ASK} --reveal\n{names[1]} pass").view.plain()
    assert "evaluator said" in told
    assert not open_study(Path()).read().labels[1].verdict_shown


def test_evidence_is_shown_on_request_alone(notebook: Shell, runs: Runs) -> None:
    flags = "--as ann --sample 200 --list"
    methods = {
        e.method for run in runs for s in run.every_step for r in run.evaluations(s.number).values() for e in r.evidence
    }
    method = next(one for one in sorted(methods) if one != "artifact")
    assert f"--- {method}: " not in notebook.cell(f"%pge label {flags}").view.plain()
    assert f"--- {method}: " in notebook.cell(f"%pge label {flags} --evidence").view.plain()


def test_nobody_labels_under_the_name_of_a_judge(notebook: Shell) -> None:
    notebook.cell("%%pge rater strict\nOne.")
    for name, fact in (("strict", "strict is a judge."), ("oracle", "'oracle' cannot be"), ("", "Whose labels")):
        error = notebook.cell(f"%pge label --as {name} --list" if name else "%pge label --list").error
        assert isinstance(error, BadInput)
        assert fact in error.fact


# By keys


def test_a_typed_label_is_kept_with_its_seconds_and_can_be_taken_back(runs: Runs, study: StudyFile) -> None:
    one = asked(runs, study, about="criterion")[0]
    session = Session(Here(directory=study.directory), study, runs, "ann", [one], reveal=True)
    said = session.give(Typed(id=one.id, verdict="pass", note="8 fine", seconds=2.5))
    assert said is not None
    assert said.startswith("the evaluator said")
    [label] = study.read().labels
    assert (label.verdict, label.score, label.note, label.seconds) == ("pass", 8.0, "fine", 2.5)
    session.take_back(one.id)
    assert study.read().labels == ()
    assert session.answers == {}
    assert not label.verdict_shown
    session.give(Typed(id=one.id, verdict="fail"))
    assert study.read().labels[0].verdict_shown, "it was told the first time"


def test_in_a_page_items_are_labelled_by_keys_saved_and_gone_on_with_here_and_elsewhere(
    home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home, tmp_path / "notebook")
    line = "%pge label --as ann --sample 3 --about check"
    with front_end(tmp_path / "notebook") as page:
        opened = page.run(line)
        assert VIEW in opened.of("display_data")[0]["data"]
        for text in ("p fine", "f", "save"):
            [field] = page.named("TextModel")
            page.tell(field, {"method": "custom", "content": {"event": "submit"}})
            page.tell(field, {"method": "update", "state": {"value": text}, "buffer_paths": []})
        told = "from pge_nb.studies import open_study; from pathlib import Path\n"
        told += "print(*(f'{one.verdict} {one.note}'.strip() for one in open_study(Path()).read().labels), sep=', ')"
        assert page.run(told).text.strip() == "pass fine, fail"
        again = page.run(
            "v = get_ipython().run_line_magic('pge', 'label --as ann --sample 3 --about check --list'); print(v.title)"
        )
        assert again.text.strip() == "Labels of ann: 2 of 3 labelled"
    (saved,) = (tmp_path / "notebook").glob("*.zip")
    (tmp_path / "fresh").mkdir()
    shutil.copy(saved, tmp_path / "fresh")
    with front_end(tmp_path / "fresh") as page:
        page.run(f"%pge open {saved.name}")
        there = page.run(
            "v = get_ipython().run_line_magic('pge', 'label --as ann --sample 3 --about check --list'); print(v.title)"
        )
        assert there.text.strip() == "Labels of ann: 2 of 3 labelled"


# From a file


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rows_of(runs: Runs, n: int = 3) -> list[dict[str, object]]:
    chosen = [item for item in items(runs) if item.about == "check"][:n]
    return [
        {
            "run": one.run,
            "step": one.step,
            "attempt_hash": one.attempt_hash,
            "on": one.on,
            "verdict": "pass",
            "note": "a, b",
        }
        for one in chosen
    ]


def test_an_import_is_whole_safe_to_repeat_and_refuses_other_attempts(
    notebook: Shell, runs: Runs, tmp_path: Path
) -> None:
    rows = rows_of(runs)
    rows[1]["attempt_hash"] = "0" * 64
    path = tmp_path / "labels.csv"
    write(path, rows)
    view = notebook.cell(f"%pge import labels {path} --as ann").view
    assert view.title == "Labels of ann: 2 new ones, 1 line refused"
    assert "has no attempt 000000000000" in view.plain()
    before = Path("study.md").read_bytes()
    again = notebook.cell(f"%pge import labels {path} --as ann").view
    assert again.title == "Labels of ann: 0 new ones, 1 line refused"
    assert Path("study.md").read_bytes() == before
    assert [one.note for one in open_study(Path()).read().labels] == ["a, b", "a, b"]


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"verdict": "good"}, "Line 3: 'good' is no verdict."),
        ({"step": "one"}, "Line 3: step 'one' is no number."),
        ({"on": "c99"}, "Line 3: there is no check or criterion 'c99' there."),
        ({"attempt_hash": "xyz"}, "Line 3: 'xyz' is no attempt hash."),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_kept(
    notebook: Shell, runs: Runs, tmp_path: Path, change: dict[str, object], fact: str
) -> None:
    rows = rows_of(runs)
    rows[1] |= change
    write(tmp_path / "labels.csv", rows)
    error = notebook.cell(f"%pge import labels {tmp_path / 'labels.csv'} --as ann").error
    assert isinstance(error, BadInput)
    assert error.fact == fact
    assert not Path("study.md").exists()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (b"", "has the columns none"),
        (b"run,verdict\n1,pass\n", "has the columns run, verdict"),
        (b"item,verdict\nx,pass\n", "'x' is no item."),
        (b"item,verdict\na,pass,b\n", "it has not 2 columns."),
        (b"\xff\xfe", "is no UTF-8 text."),
    ],
)
def test_a_file_that_is_none_is_told(notebook: Shell, tmp_path: Path, text: bytes, fact: str) -> None:
    (tmp_path / "x.csv").write_bytes(text)
    error = notebook.cell(f"%pge import labels {tmp_path / 'x.csv'} --as ann").error
    assert isinstance(error, BadInput)
    assert fact in error.fact


def test_items_are_read_as_ratings_name_them(notebook: Shell, runs: Runs, tmp_path: Path) -> None:
    keys = [item.key for item in items(runs)][:4]
    write(tmp_path / "x.csv", [{"item": key, "verdict": "f"} for key in keys])
    notebook.cell(f"%pge import labels {tmp_path / 'x.csv'} --as ann")
    frame = ratings(runs, open_study(Path()).read())
    assert set(frame[frame.rater == "ann"].item) == set(keys)
    told = labels(open_study(Path()))
    assert {name: str(kind) for name, kind in told.dtypes.items()} == dict(LABELS)
    assert list(told.verdict) == ["fail"] * 4
    assert set(told.origin) == {"import x.csv"}


# The split


def test_a_split_is_by_task_whole_and_sealed(notebook: Shell, runs: Runs) -> None:
    view = notebook.cell("%pge label --split --seed 5").view
    made = open_study(Path()).read().split
    assert made is not None
    assert sorted([*made.train, *made.development, *made.test]) == sorted(task_of(run) for run in runs)
    assert min(map(len, (made.train, made.development, made.test))) == 1
    assert "test" in view.plain()
    error = notebook.cell("%pge label --split --seed 6").error
    assert isinstance(error, BadInput)
    assert "sealed" in error.fact
    assert open_study(Path()).read().split == made


def test_few_tasks_and_shares_that_do_not_sum_are_refused(runs: Runs, study: StudyFile) -> None:
    with pytest.raises(BadInput, match="of 2 tasks"):
        split(study, runs[:2])
    with pytest.raises(BadInput, match="The shares are"):
        split(study, runs, shares=(0.5, 0.5, 0.5))
    assert study.read().split is None


def test_each_look_at_the_test_part_is_put_down_and_has_a_level_of_its_own(runs: Runs, study: StudyFile) -> None:
    with pytest.raises(BadInput, match="no split yet"):
        look(study, ["a"])
    split(study, runs)
    made = [look(study, ["a", "b"], why="the first card").level, look(study, ["a"]).level, look(study, ["a"]).level]
    assert made == pytest.approx([0.975, 0.9875, 0.99375])
    assert sum(1 - level for level in made) < 0.05
    assert [one.number for one in study.read().looks] == [1, 2, 3]


def test_active_choice_never_touches_the_test_part(runs: Runs, study: StudyFile) -> None:
    with pytest.raises(BadInput, match="forbidden in the test part"):
        asked(runs, study, active=True)
    tasks = [task_of(run) for run in runs]
    study.add(Split(train=(tasks[0],), development=(tasks[1],), test=(tasks[2],), seed=1))
    chosen = asked(runs, study, active=True)
    assert {one.item.task for one in chosen} <= set(tasks[:2])
    assert min(one.weight for one in chosen) >= 1
    assert len({one.weight for one in chosen}) > 1
    first = chosen[0]
    study.add(
        Label(
            rater="ann",
            run=first.item.run,
            step=first.item.step,
            attempt_hash=first.item.attempt_hash,
            on=first.item.on,
            verdict="pass",
            origin=first.origin,
        )
    )
    assert asked(runs, study, active=True) == chosen, "it is gone on with"
    with pytest.raises(BadInput, match="in the test part"):
        asked(Runs([runs[2]]), study, active=True)


def test_examples_come_from_train_alone(runs: Runs, study: StudyFile) -> None:
    tasks = [task_of(run) for run in runs]
    study.add(Split(train=(tasks[0],), development=(tasks[1],), test=(tasks[2],), seed=1))
    check_examples(study.read(), tasks[:1])
    for task, fact in ((tasks[1], "development"), (tasks[2], "test"), ("other", "no part")):
        with pytest.raises(BadInput, match=fact):
            check_examples(study.read(), [task])


def test_a_run_that_was_never_evaluated_has_nothing_to_label(study: StudyFile) -> None:
    with pytest.raises(BadInput, match="nothing to label"):
        asked(Runs(), study)
