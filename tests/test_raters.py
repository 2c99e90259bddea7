"""Raters in a notebook: listed, edited, compared, and asked about attempts that are there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import HarnessConfig, open_run
from pge_nb.agents.raters import judge, rater_of
from pge_nb.config import identity
from pge_nb.errors import BadInput
from pge_nb.models.choose import models_in
from pge_nb.studies import open_study, regrade
from pge_nb.study_records import Label, Rater

RUN = "%pge run --practice stats --seed 2;"
ROOT = Path(__file__).parents[1]


@pytest.fixture
def made(shell: Shell) -> Shell:
    assert shell.cell(RUN).error is None
    return shell


def test_before_a_run_the_judge_of_new_ones_is_listed(shell: Shell) -> None:
    frame = shell.cell("%pge rater").view.df
    assert frame is not None
    assert list(frame.rater) == [judge("practice").id]
    assert list(frame.gate_of) == ["new runs"]
    assert not Path("study.md").exists()


def test_a_body_is_a_new_rater_and_the_old_one_is_kept(made: Shell) -> None:
    first = made.cell("%%pge rater strict\nJudge harshly.").view
    second = made.cell("%%pge rater strict\nJudge harshly.\nName the line.").view
    assert "-Judge harshly." not in second.plain()
    assert "+Name the line." in second.plain()
    known = open_study(Path()).read().raters
    gate = judge("practice:seed=2").id
    assert gate in known
    assert [known[one].edited_from for one in known] == ["", gate, list(known)[1]]
    assert open_study(Path()).read().rater("strict").prompt == "Judge harshly.\nName the line."
    assert "strict" in first.title
    before = Path("study.md").read_bytes()
    again = made.cell("%%pge rater strict\nJudge harshly.\nName the line.").view
    assert "it is the same rater" in again.plain()
    assert Path("study.md").read_bytes() == before


def test_a_name_is_that_of_the_last_edit_also_back_to_an_older_prompt(made: Shell) -> None:
    made.cell("%%pge rater strict\nOne.")
    made.cell("%%pge rater strict\nTwo.")
    made.cell("%%pge rater strict\nOne.")
    assert open_study(Path()).read().rater("strict").prompt == "One."
    assert made.cell("%pge rater strict").view.plain().count("One.") == 1
    assert len(open_study(Path()).read().raters) == 3


def test_another_model_and_another_beginning(made: Shell) -> None:
    made.cell("%%pge rater strict\nOne.")
    made.cell("%pge rater soft --from strict --model practice:leniency=3.0")
    soft = open_study(Path()).read().rater("soft")
    assert (soft.prompt, soft.model) == ("One.", "practice:leniency=3.0")
    told = made.cell("%pge raters strict soft").view.plain()
    assert "The prompt is the same." in told
    assert "practice:leniency=3.0" in told
    assert "one and the same rater" in made.cell("%pge raters soft soft").view.plain()


def test_a_judge_alone_is_for_studies_and_no_gate(made: Shell) -> None:
    made.cell("%pge rater bare --alone")
    bare = open_study(Path()).read().rater("bare")
    assert bare.mode == "alone"
    assert "alone" in made.cell("%pge rater bare").view.plain()
    assert "bare" in made.cell("%pge regrade --rater gate,bare").view.plain()
    failed = made.cell("%pge run --practice textkit --rater bare")
    assert isinstance(failed.error, BadInput)
    assert "cannot judge a run" in failed.error.fact


def test_the_list_has_gates_people_and_the_oracle(made: Shell) -> None:
    run = open_run("shared_state.md")
    report = run.evaluations(1)[1]
    label = Label(rater="ann", run=run.task.run, step=1, attempt_hash=report.attempt_hash, on="", verdict="pass")
    open_study(Path()).add(label)
    frame = made.cell("%pge rater").view.df
    assert frame is not None
    rows = frame.set_index("rater")
    gate = judge("practice:seed=2").id
    assert rows.loc[gate, "gate_of"] == "."
    assert rows.loc[gate, "evaluations"] == sum(len(run.evaluations(step.number)) for step in run.every_step)
    assert (rows.loc["ann", "who"], rows.loc["ann", "labels"]) == ("person", 1)
    assert rows.loc["oracle", "who"] == "oracle"


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("%pge rater stict", "There is no rater 'stict'."),
        ("%pge rater oracle", "oracle is no judge"),
        ("%%pge rater\nJudge.", "The new judge has no name."),
        ("%%pge rater a,b\nJudge.", "'a,b' cannot be the name of a rater."),
        ("%%pge rater gate\nJudge.", "'gate' cannot be the name of a rater."),
        ("%pge rater soft --model practice:lenience=3", "lenience"),
        ("%pge regrade --rater ,", "No rater was named."),
        ("%pge regrade --repeats 0", "repeats is 0."),
        ("%pge regrade nowhere", "There is no run 'nowhere'."),
    ],
)
def test_what_cannot_be_is_told_in_two_lines_and_nothing_is_written(made: Shell, line: str, fact: str) -> None:
    made.cell("%%pge rater strict\nOne.")
    before = Path("study.md").read_bytes()
    error = made.cell(line).error
    assert isinstance(error, BadInput), error
    assert fact in error.fact
    assert error.next_move
    assert Path("study.md").read_bytes() == before


def test_a_replay_tells_what_it_turned_over_and_asks_nobody_twice(made: Shell) -> None:
    head = open_run("shared_state.md").head
    made.cell("%pge rater harsh --model practice:leniency=-9.0")
    line = "%pge regrade --rater gate,harsh --repeats 2"
    view = made.cell(line).view
    frame = view.df
    assert frame is not None
    harsh = frame[frame.rater == judge("practice:leniency=-9.0").id]
    assert set(harsh.verdict) == {"fail"}
    assert set(harsh.repeat) == {1, 2}
    assert "Turned over" in view.plain()
    assert "harsh" in view.html()
    assert "Nobody was asked" not in view.plain()
    again = made.cell(line).view
    assert "Nobody was asked: all of these gradings were there." in again.plain()
    assert again.df is not None
    assert again.df.equals(frame)
    assert open_run("shared_state.md").head == head
    assert len(open_study(Path()).read().studies) == 1


def test_the_same_in_python(made: Shell) -> None:
    run = open_run("shared_state.md")
    told = regrade(run, judge("practice:leniency=-9.0"), repeats=2)
    assert set(told.frame().verdict) == {"fail"}
    assert open_study(Path()).read().studies[0].units == len(told.graded)


def test_a_chosen_judge_is_the_gate_of_a_run_and_part_of_its_task(made: Shell) -> None:
    before = open_run("shared_state.md").task.run
    made.cell("%pge rater harsh --model practice:leniency=-9.0")
    view = made.cell("%pge run --practice stats --seed 2 --rater harsh --max-retries 0").view
    run = open_run("shared_state.md")
    harsh = judge("practice:leniency=-9.0").id
    assert run.task.run != before
    assert run.evaluations(1)[1].rater == harsh
    assert run.evaluations(1)[1].verdict == "fail"
    assert "another rater" in view.plain()
    assert made.cell("%pge rater gate").view.title == f"Rater harsh ({harsh})"
    again = made.cell("%pge run --practice stats --seed 2 --rater harsh --max-retries 0").view
    assert "nobody was asked" in again.plain()
    frame = made.cell("%pge rater").view.df
    assert frame is not None
    assert frame.set_index("rater").loc[harsh, "gate_of"] == "."
    assert "reopened from earlier/1" in made.cell("%pge run --practice stats --seed 2").view.plain()


def test_a_judge_that_cannot_judge_a_run_is_refused() -> None:
    own = judge("practice", mode="self")
    with pytest.raises(BadInput, match="cannot judge a run"):
        HarnessConfig(rater=own)
    with pytest.raises(BadInput, match="cannot judge a run"):
        HarnessConfig(rater=Rater(id="ann", who="person"))
    with pytest.raises(BadInput, match="evaluator is 'off'"):
        HarnessConfig(rater=judge("practice"), evaluator="off")


def test_a_chosen_judge_brings_its_model_and_its_tools() -> None:
    plain, chosen = HarnessConfig(model="practice"), HarnessConfig(model="practice", rater=judge("claude-sonnet-5-5"))
    assert "rater" not in plain.settings()
    assert models_in(chosen.settings()).count("claude-sonnet-5-5") == 1
    tools = judge("practice", mode="fresh, tools")
    told = HarnessConfig(model="practice", rater=tools).settings()
    assert told["evaluator_tools"] == "on"
    assert rater_of(told) == tools
    ids = {identity("p", config.settings()) for config in (plain, chosen, HarnessConfig(model="practice", rater=tools))}
    assert len(ids) == 3
    named = replace(tools, name="other")
    assert identity("p", HarnessConfig(model="practice", rater=named).settings()) == identity("p", told)


def test_before_a_paid_replay_a_line_tells_what_it_may_cost(made: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    made.cell("%pge rater sonnet --model claude-sonnet-5-5")
    ran = made.cell("%pge regrade --rater sonnet")
    assert "gradings to make, likely" in ran.text
    assert "$" in ran.text.split("\n")[0]
    assert "gradings to make" not in made.cell("%pge regrade").text


def test_an_interrupted_replay_keeps_what_was_made(made: Shell, tmp_path: Path) -> None:
    """A real process, a real signal: the gradings take a while, and those that were made are on disk."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from notebook_shell import Shell\n"
        "shell = Shell()\n"
        "shell.cell('%pge rater slow --model practice:delay=1.0')\n"
        "print('begun', flush=True)\n"
        "ran = shell.cell('%pge regrade --rater slow --repeats 20 --parallel 2')\n"
        "print(ran.text, type(ran.error).__name__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(ROOT / "tests")], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    process.stdout.readline()
    units = tmp_path / ".pge" / "studies" / "regrade"
    until = time.monotonic() + 60
    while not list(units.glob("*/*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=60)
    kept = len(list(units.glob("*/*.json")))
    assert "BrokenOff" in told
    assert "gradings are kept." in told
    assert "The same line goes on from there." in told
    assert 0 < kept < 20 * 3
