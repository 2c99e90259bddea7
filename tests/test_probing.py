"""Probes: the same attempts graded with one thing changed. What is known to move a judge is found, and nothing else is."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import HarnessConfig, PGEHarness, bank, open_run
from pge_nb.agents.raters import edited, judge
from pge_nb.errors import BadInput
from pge_nb.models import Listen, Reply, Request, Stop
from pge_nb.models.limits import Limits
from pge_nb.models.practice import Practice
from pge_nb.prompts import source
from pge_nb.run import Run
from pge_nb.studies.probing import (
    AUTHORITY,
    BY_ITSELF,
    CONDITIONS,
    EFFECTS,
    PADDING,
    PROBES,
    STARTS_FAILED,
    STARTS_PASSED,
    Asked,
    Effect,
    Probed,
    asked_of,
    probe,
    probe_runs,
    probes_named,
)
from pge_nb.studies.study import StudyFile, open_study
from pge_nb.study_records import ALONE, Rater

TASKS = [f"generated:steps=1,seed={seed}" for seed in range(1, 15)]
PLAIN = "practice:miss=0.3,false_alarm=0.1"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three attempts at each task, good and bad: the gate failed everything."""
    root = tmp_path_factory.mktemp("probe")
    for seed, name in enumerate(TASKS):
        (root / f"t{seed}").mkdir()
        config = HarnessConfig(
            model=f"practice:skill=0.5,leniency=-9.0,seed={seed}",
            max_retries_per_step=2,
            on_exhausted=("ask",),
            registry="off",
            shared_state_path=root / f"t{seed}" / "shared_state.md",
        )
        PGEHarness(config).run(bank.practice_task(name).prompt)
    return root


@pytest.fixture(scope="module")
def runs(home: Path) -> list[Run]:
    return [open_run(home / f"t{seed}") for seed in range(len(TASKS))]


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return open_study(tmp_path)


@dataclasses.dataclass(frozen=True)
class Swayed:
    """A judge whose errors depend on what it is shown: a practice judge for each word that it meets in a request, else PLAIN."""

    by: dict[str, str]

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        told = request.system + " ".join(str(message) for message in request.messages)
        name = next((name for word, name in self.by.items() if word in told), PLAIN)
        return Practice(name).reply(request, listen=listen, stop=stop)


TURNS = "'role': 'assistant'"
SPARES = "practice:miss=1.0,false_alarm=0.1,leniency=10.0"
"""It passes all bad work, and fails good work as often as the other."""


def alone(prompt: str = "") -> Rater:
    return judge(PLAIN, mode=ALONE, name="plain", prompt=prompt)


def probed(study: StudyFile, runs: list[Run], only: str, by: dict[str, str], repeats: int = 2) -> Probed:
    names = probes_named(only)
    asked = asked_of(runs, alone(), probes=names, repeats=repeats)
    return probe(study, asked, alone(), probes=names, model=Swayed(by))


def effect(done: Probed, name: str, rate: str) -> Effect:
    return next(one for one in done.measured if (one.effect, one.rate) == (name, rate))


def of(asked: tuple[Asked, ...], condition: str) -> Asked:
    return next(one for one in asked if one.condition == condition)


def test_a_condition_changes_one_thing_and_leaves_the_rest_as_it_is(runs: list[Run]) -> None:
    asked = asked_of(runs[:1], alone())
    assert "evidence backwards" not in {one.condition for one in asked}, "a judge alone has one file to look at"
    sent = {name: of(asked, name) for name in CONDITIONS if name != "evidence backwards"}
    plain = sent["as it is"].frozen.brief
    turns = sent["conversation"].frozen.request(alone(), 0).messages
    assert [message["role"] for message in turns] == ["user", "assistant", "user"]
    assert "Step 1" in str(turns[0]["content"])
    assert "Approach: first" in str(turns[1]["content"])
    assert turns[-1]["content"] == plain
    assert sent["conversation"].rater.id == alone().id
    assert sent["starts passed"].rater.prompt == alone().prompt.replace(STARTS_FAILED, STARTS_PASSED)
    assert sent["starts passed"].frozen == sent["as it is"].frozen
    assert sent["conversation, starts passed"].rater == sent["starts passed"].rater
    padded, named = sent["padding"].frozen.brief, sent["authority"].frozen.brief
    assert padded.count(PADDING) >= 2
    assert named.replace(f"# {AUTHORITY}\n", "") == plain
    backwards = sent["criteria backwards"].frozen
    assert sorted(backwards.docket.ids) == sorted(sent["as it is"].frozen.docket.ids)
    assert backwards.docket.ids != sent["as it is"].frozen.docket.ids
    gate = asked_of(runs[:1], judge(PLAIN), probes=["evidence"])
    first, upside = of(gate, "as it is").frozen, of(gate, "evidence backwards").frozen
    assert upside.docket.evidence == first.docket.evidence[::-1]
    assert sorted(upside.brief) == sorted(first.brief)
    assert upside.brief != first.brief
    assert sent["made by itself"].frozen.brief == f"{BY_ITSELF}\n\n{plain}"


def test_the_line_that_is_turned_round_stands_in_the_prompt_that_is_shipped() -> None:
    assert STARTS_FAILED in source("evaluator")


@pytest.mark.parametrize(("vain", "found"), [(4, True), (0, False)])
def test_a_vain_practice_judge_is_kinder_in_the_authors_turns_and_only_there(
    study: StudyFile, runs: list[Run], vain: int, found: bool
) -> None:
    rater = judge(f"practice:miss=0.2,vain={vain}", mode=ALONE)
    done = probe(study, asked_of(runs, rater, probes=["self"], repeats=2), rater, probes=["self"])
    assert effect(done, "conversation", "tnr").is_found == found
    assert not effect(done, "starts passed", "tnr").is_found
    fresh = effect(done, "conversation", "tnr").without
    assert fresh is not None
    assert fresh > 0.7


def test_a_judge_that_spares_its_own_work_is_found_by_what_it_misses_and_not_by_what_it_passes(
    study: StudyFile, runs: list[Run]
) -> None:
    done = probed(study, runs, "self", {TURNS: SPARES})
    misses = effect(done, "conversation", "tnr")
    assert misses.is_found
    assert misses.without is not None
    assert misses.without > 0.6
    assert misses.with_ is not None
    assert misses.with_ < 0.2
    assert not effect(done, "conversation", "tpr").is_found
    assert not effect(done, "starts passed", "tnr").is_found
    assert not effect(done, "conversation x starts passed", "tnr").is_found
    assert "conversation, bad work that it fails: -" in done.sentence
    assert "1 of 6 effects found" in done.sentence


def test_two_changes_that_do_more_together_interact(study: StudyFile, runs: list[Run]) -> None:
    asked = asked_of(runs, alone(), probes=["self"], repeats=2)

    class Together(Swayed):
        def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
            swayed = len(request.messages) > 1 and "starts as passed" in request.system
            return Practice(SPARES if swayed else PLAIN).reply(request, listen=listen, stop=stop)

    done = probe(study, asked, alone(), probes=["self"], model=Together({}))
    crossed = effect(done, "conversation x starts passed", "tnr")
    assert crossed.is_found
    assert crossed.difference is not None
    assert crossed.difference < -0.6
    assert crossed.without is None
    assert not effect(done, "conversation x starts passed", "tpr").is_found


@pytest.mark.parametrize(
    ("only", "word", "changed"),
    [
        ("padding", PADDING, "padding"),
        ("authority", AUTHORITY, "authority"),
        ("own", BY_ITSELF, "made by itself"),
    ],
)
def test_what_a_judge_is_swayed_by_is_found(
    study: StudyFile, runs: list[Run], only: str, word: str, changed: str
) -> None:
    done = probed(study, runs, only, {word: "practice:miss=0.9,false_alarm=0.0,leniency=3.0"})
    assert effect(done, changed, "tnr").is_found
    assert (effect(done, changed, "tnr").difference or 0) < -0.4
    assert (effect(done, changed, "tpr").difference or 0) > 0, "kinder to good work too, by less"


def test_where_nothing_sways_it_the_pairs_differ_by_luck_and_nothing_is_found(
    study: StudyFile, runs: list[Run]
) -> None:
    done = probed(study, runs, "", {}, repeats=1)
    there = [one for one in done.measured if one.items]
    assert {one.probe for one in there} == {*PROBES} - {"evidence"}
    assert all(one.up or one.down for one in there if one.up is not None), "each grading had luck of its own"
    assert not [str(one) for one in done.measured if one.is_found]
    assert "no effect found among" in done.sentence
    assert all((one.q or 0) >= (one.p or 0) for one in there)
    assert list(done.effects()) == list(EFFECTS)
    assert {(one.items, one.note) for one in done.measured if one.probe == "evidence"} == {
        (0, "nothing was graded both ways")
    }


def test_gradings_are_kept_and_a_limit_ends_with_what_was_made(study: StudyFile, runs: list[Run]) -> None:
    asked = asked_of(runs[:3], alone(), probes=["own"])
    first = probe(study, asked[:4], alone(), probes=["own"], model=Swayed({}))
    assert first.gradings.new == 4
    stopped = probe(study, asked, alone(), probes=["own"], model=Swayed({}), limits=Limits(max_tokens_total=1))
    assert stopped.gradings.stopped
    assert (len(stopped.gradings.graded), stopped.gradings.new) == (4, 0)
    whole = probe(study, asked, alone(), probes=["own"], model=Swayed({}))
    assert whole.gradings.new == len(asked) - 4
    again = probe(study, asked, alone(), probes=["own"], model=Swayed({}))
    assert (again.gradings.new, again.measured) == (0, whole.measured)
    kept = [one for one in study.read().studies if one.study == "probe"]
    assert len(kept) == 2, "the same again is no other study"
    assert kept[-1].asked["rater"] == alone().id


def test_which_condition_comes_first_changes_from_attempt_to_attempt(runs: list[Run]) -> None:
    asked = asked_of(runs[:2], alone(), probes=["own"])
    firsts = [one.condition for one in asked[::2]]
    assert firsts[:4] == ["made by another", "made by itself"] * 2


def test_an_attempt_whose_call_log_is_gone_is_left_out_of_that_probe_alone(
    study: StudyFile, home: Path, tmp_path: Path
) -> None:
    shutil.copytree(home / "t0", tmp_path / "run")
    (tmp_path / "run" / ".pge" / "calls.jsonl").unlink()
    runs = [open_run(tmp_path / "run"), open_run(home / "t1")]
    done = probe(study, asked_of(runs, alone(), probes=["self"]), alone(), probes=["self"], model=Swayed({}))
    gone = len({report.attempt_hash for report in runs[0].evaluations(1).values()})
    assert done.left_out == {"conversation": gone, "conversation, starts passed": gone}
    assert effect(done, "starts passed", "tpr").tasks == 2
    assert effect(done, "conversation", "tpr").tasks == 1


def test_bad_input_is_told_in_two_lines(runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no probe 'paddin'") as told:
        probes_named("paddin")
    assert "padding" in told.value.next_move
    with pytest.raises(BadInput, match="repeats is 0"):
        asked_of(runs, alone(), repeats=0)
    with pytest.raises(BadInput, match="does not have every check start as failed"):
        asked_of(runs, alone("Judge it."))
    assert asked_of(runs[:1], alone("Judge it."), probes=["own"])
    with pytest.raises(BadInput, match="in the generator's own turns"):
        asked_of(runs, edited(alone(), mode="self"))
    with pytest.raises(BadInput, match="has a truth that is known"):
        probe_runs([], alone(), directory=tmp_path)


def test_in_a_notebook(shell: Shell, home: Path) -> None:
    shutil.copytree(home, Path(), dirs_exist_ok=True)
    shell.cell(f"%pge rater plain --model {PLAIN} --alone")
    view = shell.cell("%pge probe 't*' --rater plain --only own,authority").view
    assert "no effect found among 4" in view.title
    text = view.plain()
    assert "made by itself" in text
    assert "TNR" in text
    assert list(view.df) == list(EFFECTS)
    again = shell.cell("%pge probe 't*' --rater plain --only own,authority").view
    assert any("Nobody was asked" in note for note in again.notes)
    assert again.df.equals(view.df)
