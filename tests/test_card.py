"""The card and the view of figures: through a real shell, over runs that are really made."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from notebook_shell import Shell
from sanitizer import read

from pge_nb import HarnessConfig, PGEHarness, bank, charts
from pge_nb.state import open_run
from pge_nb.studies.carding import json_of
from pge_nb.studies.figures import CURVE, FIGURES
from pge_nb.studies.study import open_study
from pge_nb.views.calibrated import HOW_CALLED, card_view

DOC = (Path(__file__).parents[1] / "docs" / "card.md").read_text(encoding="utf-8")
FORMS = ("html", "md", "tex", "json")


@pytest.fixture
def begun(shell: Shell, tmp_path: Path) -> Shell:
    """A notebook beside which three tasks were carried out under one judge."""
    for seed, name in enumerate(("notice", "stats", "textkit")):
        ran(tmp_path / name, name, f"practice:skill=0.4,leniency=2,seed={seed}")
    return shell


def ran(place: Path, task: str, model: str) -> None:
    place.mkdir()
    config = HarnessConfig(model=model, on_exhausted=("keep", "advance"), shared_state_path=place / "shared_state.md")
    PGEHarness(config).run(bank.practice_task(task).prompt)


def card(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "exports/card/card.json").read_text(encoding="utf-8"))
    return found


def test_the_card_begins_with_how_often_bad_work_is_passed_and_is_four_files(begun: Shell, tmp_path: Path) -> None:
    view = begun.cell("%pge card").view
    told = card(tmp_path)
    rate = told["gate"]["false_pass"]
    ends = f"{100 * rate['value']:.0f} % [{100 * rate['low']:.0f}, {100 * rate['high']:.0f}]"
    assert told["sentence"] == f"This evaluator passes bad work {ends} of the time." == view.title
    for form in FORMS:
        text = (tmp_path / f"exports/card/card.{form}").read_text(encoding="utf-8")
        assert "This evaluator passes bad work" in text
    html = (tmp_path / "exports/card/card.html").read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert read(card_view(told).html()).words
    assert told["hashes"]["runs"] == [[run.task.run, run.head] for run in map(open_run, _states(tmp_path))]


def _states(place: Path) -> list[Path]:
    return sorted(path.parent for path in place.glob("*/shared_state.md"))


def test_made_again_it_is_the_same_to_the_byte_and_put_down_once(begun: Shell, tmp_path: Path) -> None:
    begun.cell("%pge card")
    first = {form: (tmp_path / f"exports/card/card.{form}").read_bytes() for form in FORMS}
    begun.cell("%pge card --to again")
    assert {form: (tmp_path / f"again/card.{form}").read_bytes() for form in FORMS} == first
    cards = open_study(tmp_path).read().cards
    assert [one.sentence for one in cards] == [json.loads(first["json"])["sentence"]]
    assert json_of(json.loads(first["json"])).encode() == first["json"]
    begun.cell("%%pge rater other\nJudge.")
    begun.cell("%pge card")
    assert (tmp_path / "exports/card/card.json").read_bytes() != first["json"]


def test_a_card_of_the_test_part_made_again_is_one_look_and_the_same(begun: Shell, tmp_path: Path) -> None:
    begun.cell("%pge label --split")
    begun.cell("%pge card --part test")
    first = (tmp_path / "exports/card/card.json").read_bytes()
    begun.cell("%pge card --part test")
    assert (tmp_path / "exports/card/card.json").read_bytes() == first
    told = card(tmp_path)
    assert [one["number"] for one in told["looks"]] == [1]
    assert told["on"]["level"] == 0.975
    assert "97.5 %" in " ".join(told["remarks"])


def test_the_exam_of_the_judge_stands_in_its_card(begun: Shell, tmp_path: Path) -> None:
    begun.cell("%pge card")
    assert card(tmp_path)["exam"] is None
    ran(tmp_path / "sound", "intervals", "practice:skill=0.95,leniency=2")
    gate = card(tmp_path)["rater"]["id"]
    begun.cell(f"%pge exam sound --rater {gate} --sample 4 --no-injection")
    begun.cell(f"%pge card textkit stats notice --rater {gate}")
    exam = card(tmp_path)["exam"]
    assert exam["catch"]["n"] > 0
    assert 0 <= exam["catch"]["low"] <= exam["catch"]["value"] <= exam["catch"]["high"] <= 1
    assert "planted defects caught" in (tmp_path / "exports/card/card.md").read_text(encoding="utf-8")


def test_calibrate_shows_tables_and_charts_that_stand_without_a_front_end(begun: Shell) -> None:
    view = begun.cell("%pge calibrate").view
    assert view.df is not None
    assert list(view.df.columns) == list(FIGURES)
    html = view.html()
    page = read(html)
    assert "If the gate accepted from a score up" in "".join(page.words)
    alts = re.findall(r'<img alt="([^"]*)"', html)
    assert len(alts) == 4
    assert "How often bad work is passed" in alts[0]
    assert all(re.search(r"\d+ %", alt) for alt in alts)


def test_runs_of_two_judges_need_one_to_be_named(begun: Shell, tmp_path: Path) -> None:
    ran(tmp_path / "other", "intervals", "practice:leniency=5")
    told = begun.cell("%pge calibrate").text
    assert "These runs have 2 gates" in told
    assert "--rater r-" in told


def test_a_run_without_an_evaluation_gives_told_gaps(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%%pge plan --practice stats")
    view = shell.cell("%pge card").view
    assert view.title == "How often this evaluator passes bad work is not measurable: nothing was labelled."
    assert card(tmp_path)["gate"]["false_pass"]["value"] is None
    assert "not measurable" in shell.cell("%pge calibrate").view.plain()


def test_labels_of_checks_alone_say_that_whole_attempts_are_wanted(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run a --practice stats --seed 2;")
    listed = shell.cell("%pge label --as ann --sample 3 --about check --list").view
    names = re.findall(r"^(q[0-9a-f]{8}) ", listed.plain(), re.MULTILINE)
    done = shell.cell("%%pge label --as ann --sample 3 --about check\n" + "\n".join(f"{name} pass" for name in names))
    assert done.view.next == "%pge calibrate"
    view = shell.cell("%pge calibrate").view
    assert view.title.endswith(
        "checks and criteria were labelled, and no whole attempt (%pge label --as NAME --about attempt)."
    )
    assert "Label whole attempts (%pge label --as NAME --about attempt)" in view.plain()
    assert shell.cell("%pge card").view.title == view.title


def test_charts_are_drawn_of_nothing_and_the_same_twice() -> None:
    from pge_nb.frames import frame_of

    empty = frame_of(CURVE, [])
    some = frame_of(CURVE, [(5.0, 0.8, 0.4, 0.9, 1.0, 2.0, False, False), (9.0, 0.0, 0.0, 0.3, 0.7, 0.3, True, True)])
    drawn = charts.threshold_chart(some, max_false_pass=0.1)
    labels = [text.get_text() for text in drawn.axes[0].get_legend().get_texts()]
    assert "guaranteed: 9.0" in labels
    # A threshold between two scores passes what the higher one does.
    assert {line.get_drawstyle() for line in drawn.axes[0].lines[:2]} == {"steps-pre"}
    pictures = [charts.png(charts.threshold_chart(one, max_false_pass=0.1)) for one in (some, some, empty)]
    assert pictures[0] == pictures[1] != pictures[2]
    assert charts.png(charts.rates_chart(frame_of(FIGURES, []))).startswith(b"\x89PNG")


def test_every_number_of_the_card_is_told_in_the_documentation(begun: Shell, tmp_path: Path) -> None:
    begun.cell("%pge card")
    named = set(re.findall(r"`([a-z_0-9]+)`", DOC))
    assert set(card(tmp_path)) <= named
    assert set(HOW_CALLED) <= named
    told = card(tmp_path)
    assert set(told["gate"]["false_pass"]) <= named
    shown = {name for part in ("gate", "judge", "people", "noise") for name in told[part]}
    # These runs end with a pass, so nothing tells how alike the verdicts on several attempts are.
    shown |= {one["figure"] for one in told["attempts"]} | {"rho"}
    assert shown | {name for name in told["thresholds"] if name.endswith("threshold")} == set(HOW_CALLED)


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", DOC, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "docs/card.md", "exec"), names)
    assert "bad work" in names["found"].sentence
