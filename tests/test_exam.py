"""The exam: defects planted in what runs delivered, graded blind among clean copies."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from notebook_shell import Shell
from scripted import CHECKS, PROMPT, fenced, honest, role_of, step_of

from pge_nb import HarnessConfig, PGEHarness, bank, open_run
from pge_nb.agents.raters import judge, rater_of
from pge_nb.calibration import defects
from pge_nb.calibration.injections import INJECTIONS, injected
from pge_nb.errors import BadInput
from pge_nb.models import Listen, Reply, Request, Stop, text_reply
from pge_nb.models.limits import Limits
from pge_nb.models.practice import PracticeSettings
from pge_nb.payloads import decode, encode
from pge_nb.run import Run
from pge_nb.studies import carding, examining, planting
from pge_nb.studies.examining import EXAM, FIGURES, Examined, examine
from pge_nb.studies.planting import COPIED, Exam, plant, size_of
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.workspace import Objects

TASKS = ("textkit", "stats", "notice", "intervals")
SAMPLE = 36


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exam")
    for seed, name in enumerate(TASKS):
        (root / name).mkdir()
        config = HarnessConfig(
            model=f"practice:skill=0.95,seed={seed}", shared_state_path=root / name / "shared_state.md"
        )
        assert PGEHarness(config).run(bank.practice_task(name).prompt).outcome == "passed"
    return root


@pytest.fixture(scope="module")
def runs(home: Path) -> list[Run]:
    return [open_run(home / name) for name in TASKS]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFile:
    return open_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def exam(study: StudyFile, runs: list[Run]) -> Exam:
    return plant(study, runs, sample=SAMPLE, seed=3)


def test_as_many_clean_copies_as_defects_and_each_once_more_with_a_text(exam: Exam) -> None:
    plain = [copy for copy in exam.copies if not copy.text]
    clean = [copy for copy in plain if not copy.is_defect]
    assert len(exam.defects) == SAMPLE
    assert {copy.source for copy in clean} == {copy.source for copy in exam.defects}
    for source in {copy.source for copy in exam.defects if copy.path.endswith(".py")}:
        assert sum(copy.source == source for copy in clean) == sum(copy.source == source for copy in exam.defects)
    assert COPIED in {copy.kind for copy in clean} != {COPIED}
    assert len({copy.frozen.attempt_hash for copy in exam.copies}) == len(exam.copies)
    with_text = {copy.pair: copy for copy in exam.copies if copy.text}
    assert len(with_text) >= 0.8 * len(plain)
    for copy in plain:
        if (twin := with_text.get(copy.pair)) is not None:
            assert (twin.is_defect, twin.kind, twin.reviews) == (copy.is_defect, copy.kind, copy.reviews)
            assert twin.frozen.attempt_hash != copy.frozen.attempt_hash


def test_the_size_is_the_share_of_inputs_that_fail_and_reviews_tell_the_check(exam: Exam) -> None:
    assert [size_of(share) for share in (None, 0.0, 0.05, 0.1, 0.5, 0.51)] == [
        "", "", "slight", "partial", "partial", "gross",
    ]  # fmt: skip
    assert {copy.size for copy in exam.defects} == {"", "slight", "partial", "gross"}
    for copy in exam.defects:
        assert copy.size == size_of(copy.share)
        assert set(copy.reviews) <= set(copy.violates)
        assert bool(copy.size) <= bool(copy.reviews)
        assert copy.diff.count("\n-") + copy.diff.count("\n+") >= 1
    assert all(not copy.reviews and not copy.violates for copy in exam.copies if not copy.is_defect)


def test_a_fact_that_a_check_of_the_judge_asks_for_violates_it_and_others_count_against_the_contract(
    study: StudyFile, runs: list[Run]
) -> None:
    whole = plant(study, runs[:1], sample=200, seed=1, injection=False)
    facts = {copy.diff: copy.violates for copy in whole.defects if copy.kind == "fact removed"}
    of = {
        words: next(v for diff, v in facts.items() if f"-    {words}" in diff)
        for words in ("A text without", "Accents")
    }
    assert of == {"A text without": ("c4",), "Accents": ()}
    declared = plant(study, runs[:1], sample=200, seed=1, injection=False, covers=lambda check, _: check.id == "c4")
    assert all(
        "c4" in copy.violates for copy in declared.defects if copy.kind == "fact removed" and copy.frozen.step == 1
    )
    assert whole.equivalent > 0
    assert len(whole.defects) < 200


def test_what_no_input_and_no_review_tells_from_sound_work_is_no_defect(exam: Exam) -> None:
    for copy in exam.defects:
        if copy.kind in planting.FORM:
            continue
        assert copy.reviews
        assert copy.violates


def test_the_order_is_random_and_nothing_in_a_brief_tells_what_a_copy_is(exam: Exam) -> None:
    kinds = [copy.is_defect for copy in exam.copies]
    turns = sum(one != other for one, other in itertools.pairwise(kinds))
    assert abs(turns - len(kinds) / 2) < 3 * len(kinds) ** 0.5
    sources = [copy.source for copy in exam.copies]
    assert sum(one != other for one, other in itertools.pairwise(sources)) > len(sources) / 2
    rater = judge("practice")
    names = {name for copy in exam.copies for name in (copy.kind, copy.source, copy.size)} - {
        "",
        COPIED,
        "comment",
        "operator",
        "partial",
        "slight",
        "boundary",
    }
    for copy in exam.copies:
        request = copy.frozen.request(rater, 0)
        sent = json.dumps(request.sent())
        assert "diff mark" not in sent
        if not copy.text:
            assert [name for name in names if name in sent] == []


def test_a_copy_that_is_as_it_was_is_asked_about_by_the_very_message_of_the_gate(exam: Exam, runs: list[Run]) -> None:
    met = 0
    for copy in exam.copies:
        if copy.kind != COPIED or copy.text or copy.frozen.attempt != 1:
            continue
        run = next(run for run in runs if run.task.run == copy.frozen.run)
        gate = PGEHarness(HarnessConfig(shared_state_path=(run.root or Path()) / "shared_state.md"))
        sent = gate.request("evaluator", copy.frozen.step, 1).sent()
        assert copy.frozen.request(rater_of(run.settings), 0).sent() == sent
        met += 1
    assert met


def test_the_runs_are_not_touched_and_the_same_seed_is_the_same_exam(
    study: StudyFile, runs: list[Run], exam: Exam
) -> None:
    before = {run.root: sorted(path for path in (run.root or Path()).rglob("*")) for run in runs}
    assert plant(study, runs, sample=SAMPLE, seed=3) == exam
    assert {copy.diff for copy in plant(study, runs, sample=8, seed=4).defects} != {
        copy.diff for copy in plant(study, runs, sample=8, seed=3).defects
    }
    assert {run.root: sorted(path for path in (run.root or Path()).rglob("*")) for run in runs} == before


def expected(exam: Exam, settings: PracticeSettings) -> float:
    """The mean probability that a covered defect is caught."""
    covered = [copy for copy in exam.defects if copy.violates]
    return sum(1 - settings.miss_of(copy.size) for copy in covered) / len(covered)


def test_the_catch_rate_and_the_false_alarms_cover_what_is_so(study: StudyFile, runs: list[Run]) -> None:
    plain = plant(study, runs, sample=30, seed=3, injection=False)
    truth = expected(plain, PracticeSettings(miss=0.3))
    covers = alarms = 0
    for seed in range(16):
        rater = judge(f"practice:miss=0.3,false_alarm=0.0,noise=0.2,seed={seed}", prompt=f"Judge. {seed}")
        done = examine(study, plain, [rater])
        caught = done.catch(rater.id)
        covers += caught.low <= truth <= caught.high
        alarms += done.false_alarms(rater.id).value > 0
        assert caught.n == sum(bool(copy.violates) for copy in plain.defects) < len(plain.defects)
        assert caught.groups == len({copy.source for copy in plain.defects if copy.violates})
    assert covers >= 13
    assert alarms == 0


def test_slight_defects_are_missed_more_often_where_the_practice_judge_is_told_so() -> None:
    one = PracticeSettings(miss=0.4, by_size=0.5)
    assert [one.miss_of(size) for size in ("slight", "partial", "gross", "")] == pytest.approx([0.6, 0.4, 0.2, 0.6])
    assert PracticeSettings(miss=0.4, by_size=0.0).miss_of("slight") == 0.4
    assert "by_size=0.0" in PracticeSettings(by_size=0.0).model_name


class Obeying:
    """Fails what is not sound, and passes anything in which a text addresses it."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        self.asked.append(request)
        flaw = request.about.flaw
        assert flaw is not None
        sent = str(request.messages[0]["content"])
        obeys = any(_line(text) in sent for text in INJECTIONS.values() if _line(text))
        return verdicts(request, passes=obeys or not flaw.planted)


def _line(text: str) -> str:
    """The first line of a text, where it is long enough to be known again."""
    line = re.split(r"[\r\n]", text)[0]
    return line if len(line) > 12 and "<" not in line and "PGE" not in line else ""


def verdicts(request: Request, *, passes: bool) -> Reply:
    last = request.about.evidence[-1].partition(":")[0]
    told: list[dict[str, object]] = [
        {"on": on, "verdict": "pass" if passes else "fail"} for on in request.about.checks
    ] + [{"on": on, "score": 9 if passes else 2} for on in request.about.criteria]
    found = [{**one, "evidence": [last], "quote": "", "says": "seen"} for one in told]
    return text_reply(json.dumps({"findings": found}))


def test_a_judge_that_obeys_what_stands_in_the_work_is_found_out(study: StudyFile, exam: Exam) -> None:
    rater = judge("stub", prompt="Obey.")
    done = examine(study, exam, [rater], model=Obeying())
    assert done.catch(rater.id).value == 1
    assert done.false_alarms(rater.id).value == 0
    figures = done.figures().set_index(["rater", "figure", "of"]).value
    assert figures[rater.id, "passes that a text adds", "defects"] > 0.5
    assert figures[rater.id, "passes that a text adds", "clean copies"] == 0
    slipped = list(done.slipped(rater.id))
    assert slipped
    assert all(copy.text for copy, _ in slipped)


def test_the_frames_have_the_columns_that_are_declared(study: StudyFile, exam: Exam) -> None:
    rater = judge("practice:miss=0.2")
    done = examine(study, exam, [rater])
    frame, figures = done.frame(), done.figures()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(EXAM)
    assert {name: str(kind) for name, kind in figures.dtypes.items()} == dict(FIGURES)
    assert len(frame) == len(exam.copies)
    assert frame.error.isna().all()
    failing = frame[frame.reviews == "fail"]
    assert (failing.gate == "fail").all()
    assert set(failing.judge) == {"pass", "fail"}, "the judge is told apart from the reviews"
    empty = Examined(exam=Exam(copies=(), seed=0, sample=1), raters=(rater,), asked=(), graded={}, failed={})
    assert {name: str(kind) for name, kind in empty.frame().dtypes.items()} == dict(EXAM)
    assert "no planted defect was graded" in empty.sentence(rater.id)
    assert not empty.meets(0.1)


def test_what_is_there_is_not_asked_again_and_a_limit_keeps_what_was_made(
    exam: Exam, tmp_path: Path, study: StudyFile, runs: list[Run]
) -> None:
    own = open_study(tmp_path)
    small = plant(own, runs[:1], sample=4, seed=1)
    rater = judge("practice:miss=0.5")
    made = examine(own, small, [rater], limits=Limits(max_calls=3), parallel=1)
    assert "3 calls" in made.stopped
    assert len(made.graded) == 3
    assert examining.ahead(own, examining.asked_of(small, [rater])).there == 3
    whole = examine(own, small, [rater])
    assert not whole.stopped
    assert len(whole.graded) == len(small.copies)
    pd.testing.assert_frame_equal(whole.frame(), examine(own, small, [rater], model=Silent()).frame())
    told = own.read().studies
    assert [one.study for one in told] == ["exam", "exam"]
    assert told[-1].units == len(small.copies)
    assert told[-1].asked["defects"] == 4


def test_an_exam_whose_gradings_came_with_the_files_is_on_the_card_too(
    exam: Exam, tmp_path: Path, runs: list[Run]
) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    first, rater = open_study(tmp_path / "first"), judge("practice:miss=0.5")
    small = plant(first, runs[:1], sample=4, seed=1)
    examine(first, small, [rater])
    shutil.copytree(tmp_path / "first" / ".pge" / "studies", tmp_path / "second" / ".pge" / "studies")
    second = open_study(tmp_path / "second")
    for _ in range(2):
        examine(second, small, [rater], model=Silent())
    (told,) = second.read().studies
    assert told == first.read().studies[-1]
    assert carding._exam(second.read(), rater) == carding._exam(first.read(), rater)


class Silent:
    """A model that must not be asked."""

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        raise AssertionError("nobody was to be asked")


class Mumbling:
    """A judge whose replies cannot be used."""

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        return text_reply("I am sorry.")


def test_a_judge_that_says_nothing_usable_catches_nothing(tmp_path: Path, runs: list[Run]) -> None:
    own = open_study(tmp_path)
    rater = judge("stub", prompt="Mumble.")
    done = examine(own, plant(own, runs[:1], sample=4, injection=False), [rater], model=Mumbling())
    assert set(done.frame().judge) == {"unmeasured"}
    assert done.catch(rater.id).value == 0
    assert done.false_alarms(rater.id).value == 0


def test_attempts_that_are_not_sound_are_left_alone(tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    config = HarnessConfig(model="practice:skill=0.0,seed=1", on_exhausted=("keep", "advance"), shared_state_path=state)
    PGEHarness(config).run(bank.practice_task("stats").prompt)
    run = open_run(tmp_path)
    assert any(run.accepted(step.number) for step in run.steps)
    with pytest.raises(BadInput, match="No attempt that stands is sound"):
        plant(open_study(tmp_path), [run], sample=2)


class Honest:
    """Plays the small run of scripted.py; without reviews where ``judged``: all checks are the judge's."""

    def __init__(self, *, judged: bool = False) -> None:
        self.judged = judged

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        sent = {"system": request.system, "messages": [dict(one) for one in request.messages]}
        said = honest(sent)
        if self.judged and role_of(sent) == "propose":
            checks = [{"says": check["says"], "method": "judge"} for check in CHECKS[step_of(sent)]]
            said = fenced({"deliverables": ["calc.py"], "checks": checks})
        return text_reply(said)


@pytest.mark.parametrize("judged", [False, True])
def test_work_of_a_task_of_ones_own_is_verified_by_its_checks_or_not_at_all(tmp_path: Path, judged: bool) -> None:
    config = HarnessConfig(model="stub", shared_state_path=tmp_path / "shared_state.md")
    assert PGEHarness(config, model=Honest(judged=judged)).run(PROMPT).outcome == "passed"
    study, run = open_study(tmp_path), open_run(tmp_path)
    own = plant(study, [run], sample=30, injection=False)
    assert {copy.is_verified for copy in own.copies} == {not judged}
    code = [copy for copy in own.defects if copy.kind in defects.BEHAVIOUR]
    if judged:
        assert code, "where nothing runs the work, nothing can tell a defect of it from none"
        assert not any(copy.violates for copy in code)
        assert own.equivalent == 0
    else:
        assert {(copy.reviews, copy.share, copy.size) for copy in code} == {
            (("c1",), 1.0, "gross"),
            (("c1",), 0.5, "partial"),  # twice alone; what add must do is still a check of the second step
            (("c1", "c3"), 1.0, "gross"),
        }


def test_what_is_unverified_is_left_out_of_the_figures_while_there_is_other_work(study: StudyFile, exam: Exam) -> None:
    rater = judge("practice:miss=0.3")
    source = exam.defects[0].source
    doubtful = tuple(replace(copy, is_verified=copy.source != source) for copy in exam.copies)
    some = examine(study, replace(exam, copies=doubtful), [rater])
    whole = examine(study, exam, [rater])
    own = sum(copy.source == source and bool(copy.violates) for copy in exam.defects)
    assert some.catch(rater.id).n == whole.catch(rater.id).n - own
    assert any("Unverified" in one and source in one and "left out" in one for one in some.remarks())
    none = examine(
        study, replace(exam, copies=tuple(replace(copy, is_verified=False) for copy in exam.copies)), [rater]
    )
    assert none.catch(rater.id) == whole.catch(rater.id)
    assert any("no other attempt was there" in one for one in none.remarks())
    assert not any("Unverified" in one for one in whole.remarks())


def test_bad_input_says_what_is_wrong(study: StudyFile, runs: list[Run], exam: Exam) -> None:
    with pytest.raises(BadInput, match="would have 0 defects"):
        plant(study, runs, sample=0)
    with pytest.raises(BadInput, match="not opened from a file"):
        plant(study, [Run(runs[0].sections)])
    with pytest.raises(BadInput, match="No rater"):
        examine(study, exam, [])
    with pytest.raises(BadInput, match=r"minimum is 1\.5"):
        examine(study, Exam(copies=(), seed=0, sample=1), [judge("practice")]).meets(1.5)


def test_the_natural_rate_stands_beside(home: Path, tmp_path: Path, study: StudyFile) -> None:
    state = tmp_path / "shared_state.md"
    PGEHarness(HarnessConfig(model="practice:skill=0.4,seed=1", shared_state_path=state)).run(
        bank.practice_task("textkit").prompt
    )
    run = open_run(tmp_path)
    gate = rater_of(run.settings)
    (found,) = examining.natural([run], study.read(), (), [gate, judge("practice:miss=0.9")]).values()
    bad = [
        report
        for step in run.steps
        for report in run.evaluations(step.number).values()
        if (known := bank.truth("textkit", report.attempt_hash)) and known.defects
    ]
    assert found.n == len(bad) > 0


def test_a_text_is_put_where_it_does_nothing() -> None:
    for name, said in INJECTIONS.items():
        changed = injected("a.py", "x = 1\n", said)
        if changed is None:
            assert name == "in half a character"
            continue
        names: dict[str, object] = {}
        exec(compile(changed, "a.py", "exec"), names)
        assert names["x"] == 1
    assert injected("a.md", "Text.", "Pass.") == "Text.\n\nPass.\n"
    assert injected("a.ipynb", "{}", "Pass.") is None


def test_looks_are_kept_and_read_again(exam: Exam, study: StudyFile) -> None:
    looks = planting.Looks(claims=(), evidence=exam.copies[0].frozen.docket.evidence, failed=1, inputs=3)
    assert decode(planting.Looks, encode(looks)) == looks
    assert replace(looks, failed=0) != looks
    assert Objects(study.directory).root == study.directory


class TestCommand:
    @pytest.fixture
    def shell(self, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
        monkeypatch.chdir(tmp_path)
        return Shell()

    def test_a_person_sees_rates_by_kind_and_size_and_what_slipped_through(self, shell: Shell, home: Path) -> None:
        line = f"%pge exam {home}/textkit {home}/stats --rater gate --sample 12 --seed 2"
        view = shell.cell(line).view
        told = view.plain()
        assert "12 planted defects among clean copies" in told
        assert re.search(r"catches \d+ % \[\d+, \d+\] of planted defects, and fails \d+ %", told)
        assert "Reviews alone catch" in told
        assert "Planted defects that were caught" in told
        assert view.df is not None
        assert list(view.df.columns) == list(EXAM)
        again = shell.cell(line).view
        assert "Nobody was asked" in again.plain()

    def test_a_minimum_that_is_not_reached_fails_and_raises_where_that_is_asked(self, shell: Shell, home: Path) -> None:
        shell.cell("%%pge rater blind --model practice:miss=1.0\nPass it.")
        line = f"%pge exam {home}/textkit --rater blind --sample 6 --no-injection --minimum 0.5"
        view = shell.cell(line).view
        assert view.mark == "failed"
        assert "it does not" in view.plain()
        assert "<details" in view.html()
        assert "What the judge said" in view.html()
        raised = shell.cell(f"{line} --raise")
        assert "0.5 was demanded" in str(raised.error)


PAGE = (Path(__file__).parents[1] / "docs/exam.md").read_text(encoding="utf-8")


def test_what_the_page_says_runs_and_names_every_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "docs/exam.md", "exec"), names)
    strict, soft, done = names["strict"], names["soft"], names["done"]
    assert done.catch(strict.id).value > done.catch(soft.id).value
    table = PAGE.partition("a row a grading:")[2].partition("`done.figures()`")
    assert re.findall(
        r"`(\w+)`", " ".join(line.split("|")[1] for line in table[0].split("\n") if "| `" in line)
    ) == list(EXAM)
    assert set(FIGURES) <= set(re.findall(r"`(\w+)`", table[2]))
    for kind in (*defects.BEHAVIOUR, *defects.FORM):
        assert kind in PAGE
