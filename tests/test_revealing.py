"""Play the evaluator: a person's words and how sure they were, beside judges, and what is so."""

from __future__ import annotations

from pathlib import Path

import pytest
from practice_runs import practice_runs

from pge_nb import open_run, studies
from pge_nb.agents.raters import judge
from pge_nb.errors import BadInput
from pge_nb.run import Run
from pge_nb.studies.items import ORACLE, items
from pge_nb.studies.ratings import ratings
from pge_nb.studies.revealing import REVEALED, reveal, sure_of
from pge_nb.studies.study import open_study
from pge_nb.study_records import Label

TASKS = ("stats", "money")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    home = practice_runs(tmp_path_factory.mktemp("game"), TASKS, "skill=0.4,miss=0.5,leniency=2")
    return [open_run(home / name) for name in TASKS]


def labelled(runs: list[Run], place: Path, word: str, note: str) -> int:
    """Ann labels every attempt with the true word ("true"), the other one ("false"), or ``word``."""
    truth = {
        row["item"]: row["label"]
        for row in ratings(runs).to_dict("records")
        if (row["rater"], row["about"]) == (ORACLE, "attempt")
    }
    other = {"pass": "fail", "fail": "pass"}
    whole = [item for item in items(runs) if item.about == "attempt"]
    for item in whole:
        so = truth[item.key]
        said = so if word == "true" else other[so] if word == "false" else word
        open_study(place).add(
            Label(
                rater="ann",
                run=item.run,
                step=item.step,
                attempt_hash=item.attempt_hash,
                on="",
                verdict=said,
                note=note,
                verdict_shown=False,
            )
        )
    return len(whole)


@pytest.mark.parametrize(
    ("word", "note", "brier", "share"),
    [
        ("true", "100", 0.0, 1),
        ("false", "100", 1.0, 0),
        ("true", "80 rather sure", 0.04, 1),
        ("false", "80", 0.64, 0),
        ("true", "no number", 0.25, 1),
        ("unclear", "90", 0.25, 0),
        ("true", "400", 0.0, 1),
    ],
)
def test_the_brier_score_is_what_a_person_said_and_how_sure(
    runs: list[Run], tmp_path: Path, word: str, note: str, brier: float, share: int
) -> None:
    n = labelled(runs, tmp_path, word, note)
    frame = reveal(runs, "ann", directory=tmp_path)
    assert list(frame.columns) == list(REVEALED)
    (row,) = frame.to_dict("records")
    assert (row["rater"], row["items"], row["right"]) == ("ann", n, n * share)
    assert row["brier"] == pytest.approx(brier)
    assert row["bad_passed"] + row["good_failed"] == (n if word == "false" else 0)


def test_judges_stand_beside_the_person_on_the_same_items(runs: list[Run], tmp_path: Path) -> None:
    n = labelled(runs, tmp_path, "pass", "70")
    kind, strict = (
        judge(f"practice:leniency={points},seed=1", mode="alone", name=name)
        for name, points in (("kind", 6), ("strict", -6))
    )
    frame = studies.reveal(runs, "ann", [kind, strict], directory=tmp_path).set_index("rater")
    assert list(frame.index) == ["ann", "kind", "strict"]
    assert set(frame["items"]) == {n}
    assert frame.loc["strict", "good_failed"] > frame.loc["kind", "good_failed"]
    assert frame.loc["kind", "bad_passed"] > frame.loc["strict", "bad_passed"] == 0
    bad = n - int(frame.loc["ann", "right"])
    assert frame.loc["ann", "bad_passed"] == bad > 0


def test_who_labelled_nothing_is_told_how(runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ann labelled no attempt") as told:
        reveal(runs, "ann", directory=tmp_path)
    assert told.value.next_move == "%pge label --as ann --about attempt"


def test_a_word_of_a_person_is_a_chance() -> None:
    def one(verdict: str, note: str) -> Label:
        return Label(
            rater="a", run="r", step=1, attempt_hash="0" * 64, on="", verdict=verdict, note=note, verdict_shown=False
        )

    assert sure_of(one("pass", "62.5")) == 0.625
    assert sure_of(one("fail", " 90 since it leaks")) == pytest.approx(0.1)
    assert sure_of(one("unclear", "99")) == 0.5
