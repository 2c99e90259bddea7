"""Runs as data frames."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from sample_runs import contract, hostile_run, long_run, replanned_run, sample_records, sample_run, sections

from pge_nb import frames
from pge_nb.exports import tables
from pge_nb.frames import columns
from pge_nb.models import About, CallBroken, Reply, Request, text_reply
from pge_nb.models.recording import Recording
from pge_nb.records import Record, Usage
from pge_nb.run import Run
from pge_nb.runs import Runs
from pge_nb.state import StateFile

NAMES = ("tasks", "plan", "criteria", "checks", "attempts", "evaluations", "trajectory", "decisions", "calls", "cost")
RUNS = {"empty": Run(), "sample": sample_run(), "hostile": hostile_run(), "long": long_run(3, 4)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_columns_and_types_are_those_declared_also_when_empty(name: str, run: Run) -> None:
    frame = getattr(frames, name)(run)
    assert {column: str(kind) for column, kind in frame.dtypes.items()} == dict(getattr(columns, name.upper()))
    assert frame.columns[0] == "run"


@pytest.mark.parametrize("name", NAMES)
def test_many_runs_give_one_frame_with_all_rows(name: str) -> None:
    run, draw = sample_run(), getattr(frames, name)
    both = draw([run, long_run(2, 2)])
    assert len(both) == len(draw(run)) + len(draw(long_run(2, 2)))
    assert both["run"].notna().all()


def test_a_finding_is_a_row_with_its_place_score_threshold_verdict_and_evidence() -> None:
    frame = frames.evaluations(sample_run())
    row = frame[(frame["step"] == 1) & (frame["attempt"] == 1) & (frame["on"] == "correctness")].iloc[0]
    assert (row["score"], row["threshold"], row["weight"], row["verdict"]) == (4.0, 7.0, "high", "fail")
    assert (row["evidence"], row["by"], row["purpose"], row["rater"]) == ("e4", "judge", "gate", "rater-4f2a9c01")
    assert len(frame) == 6 * 5  # six evaluations of three checks and two criteria


def test_an_unmeasured_score_is_missing_and_never_zero() -> None:
    frame = frames.evaluations(sample_run())
    unmeasured = frame[frame["verdict"] == "unmeasured"]
    assert len(unmeasured) == 1
    assert unmeasured["score"].isna().all()


def test_replayed_and_weak_evidence_are_told() -> None:
    frame = frames.evaluations(sample_run())
    assert frame.loc[frame["replayed"].fillna(value=False), ["attempt", "on"]].values.tolist() == [[3, "c1"]]
    assert set(frame.loc[frame["on"] == "c3", "strength"]) == {"weak"}


def test_the_trajectory_has_every_criterion_the_checks_and_the_overall_score_of_each_attempt() -> None:
    frame = frames.trajectory(sample_run())
    second = frame[(frame["step"] == 1) & (frame["attempt"] == 2)].set_index("on")
    assert second["score"].round(3).to_dict() == {"correctness": 3.5, "clarity": 7.0, "checks": 6.667, "overall": 4.375}
    assert second.loc["overall", "verdict"] == "fail"
    assert list(frame[frame["on"] == "overall"]["attempt"]) == [1, 2, 3, 4, 1]


def test_decisions_tell_what_followed_and_what_stands() -> None:
    frame = frames.decisions(sample_run())
    assert list(frame["action"]) == ["refine", "pivot", "refine", "accept", "accept"]
    assert list(frame["stands"].dropna()) == [4, 1]


def test_cost_adds_up_to_the_calls_that_records_rest_on() -> None:
    run = sample_run()
    cost, calls = frames.cost(run), frames.calls(run)
    for column in ("tokens_in", "tokens_out", "tokens_cached", "tokens_to_cache"):
        assert cost[column].sum() == calls[column].sum()
    assert cost["calls"].sum() == len(calls) == len(run.calls)
    assert set(cost["phase"]) == {"plan", "propose", "respond", "generate", "evaluate"}


def test_a_call_without_a_price_makes_the_dollars_of_its_group_unknown() -> None:
    from dataclasses import replace

    records = sample_records()
    plan = records[1].payload
    unpriced = replace(plan, calls=(replace(plan.calls[0], dollars=None),))  # type: ignore[union-attr,type-var]
    run = Run(sections([records[0], Record(payload=unpriced, by="planner"), *records[2:]]))  # type: ignore[arg-type]
    frame = frames.cost(run).set_index("phase")
    assert pd.isna(frame.loc["plan", "dollars"])
    assert frame.loc["generate", "dollars"].notna().all()


class TwoCalls:
    """Answers once, then breaks off in the middle of the second reply."""

    def __init__(self) -> None:
        self.asked = 0

    def reply(self, request: Request, **_: object) -> Reply:
        self.asked += 1
        if self.asked > 1:
            raise CallBroken("The stream broke off.", "Try again.", Usage(input_tokens=7, output_tokens=3))
        return text_reply("a plan", usage=Usage(input_tokens=11, output_tokens=5))


def test_calls_that_no_record_rests_on_are_unfinished_and_counted(tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    state.append(*sample_records()[:2])
    model = Recording(tmp_path / ".pge" / "calls.jsonl", TwoCalls())
    model.reply(_request("generate"))
    with pytest.raises(CallBroken):
        model.reply(_request("evaluate"))
    run = state.read()
    unfinished = frames.cost(run).set_index("phase").loc["unfinished"]
    assert (unfinished["calls"], unfinished["tokens_in"], unfinished["tokens_out"]) == (2, 18, 8)
    calls = frames.calls(run)
    assert calls[~calls["settled"]][["phase", "step", "attempt"]].values.tolist() == [
        ["generate", 1, 2],
        ["evaluate", 1, 2],
    ]


def _request(phase: str) -> Request:
    about = About(role="generator" if phase == "generate" else "evaluator", phase=phase, step=1, attempt=2)
    return Request(model="stub", system="s", messages=({"role": "user", "content": "u"},), about=about)


def test_a_lone_surrogate_from_an_agent_is_shown_and_breaks_nothing() -> None:
    run = sample_run("lone \ud800 surrogate")
    assert frames.tasks(run)["prompt"].iloc[0] == "lone \\ud800 surrogate"


# What is promised of them

FRAMES_DOC = (Path(__file__).parents[1] / "docs" / "frames.md").read_text(encoding="utf-8")
KINDS = {
    "text": columns.TEXT,
    "number": columns.NUMBER,
    "count": columns.COUNT,
    "flag": columns.FLAG,
    "time": columns.TIME,
}


def documented() -> dict[str, dict[str, str]]:
    """Frame -> column -> type, as the table of docs/frames.md tells them."""
    told: dict[str, dict[str, str]] = {}
    for frame, column, kind, holds in re.findall(
        r"^\| (.*?) \| `(\w+)` \| (\w+) \| (.+) \|$", FRAMES_DOC, re.MULTILINE
    ):
        if frame.strip():
            name, row = re.match(r"`(\w+)`: (.+)", frame).groups()  # type: ignore[union-attr]
            assert row
            told[name] = {}
        assert holds
        told[name][column] = KINDS[kind]
    return told


@pytest.mark.parametrize("run", [*RUNS.values(), Runs(), Runs([sample_run(), sample_run()])])
def test_the_document_the_declaration_and_the_frames_say_the_same(run: Run | Runs) -> None:
    told = documented()
    assert tuple(told) == NAMES
    for name, held in told.items():
        assert list(held.items()) == list(getattr(columns, name.upper()).items())
        frame = getattr(frames, name)(run)
        assert list(held.items()) == [(column, str(kind)) for column, kind in frame.dtypes.items()]


def test_no_frame_is_left_out_of_the_names() -> None:
    declared = {name.lower() for name, held in vars(columns).items() if name.isupper() and isinstance(held, dict)}
    assert declared == set(NAMES) == set(tables.FRAMES)


def test_runs_of_one_id_are_told_apart() -> None:
    twice = Runs([sample_run(), Run(), sample_run()])
    assert twice.names == ("0123456789abcdef", None, "0123456789abcdef~2")
    frame = frames.plan(twice)
    assert frame["run"].value_counts().to_dict() == {"0123456789abcdef": 2, "0123456789abcdef~2": 2}


def test_runs_are_a_sequence_whose_parts_are_runs_too() -> None:
    three = Runs([Run(), sample_run(), Run()])
    assert isinstance(three[1:], Runs)
    assert [run.outcome for run in three[:2]] == ["empty", "degraded"]
    assert len(three) == 3
    assert repr(three).split("\n") == [
        "3 runs",
        "no task yet  empty",
        "0123456789abcdef  degraded",
        "no task yet  empty",
    ]


def test_a_run_says_which_it_is_and_how_it_ended_in_a_line() -> None:
    assert [repr(run) for run in (Run(), sample_run())] == [
        "<Run without a task: empty, 0 sections>",
        "<Run 0123456789abcdef: degraded, 24 sections>",
    ]


def test_an_evaluation_belongs_to_the_contract_that_stood_when_it_was_made() -> None:
    again = [Record(payload=contract(1), by="harness", step=1)]
    run = Run(sections([*sample_records()[:8], *again, *sample_records()[8:]]))
    first = frames.trajectory(run).query("step == 1").groupby("attempt")["contract"].unique()
    assert [list(map(int, one)) for one in first] == [[1], [2], [2], [2]]
    assert set(frames.evaluations(run).query("step == 1 and attempt == 1")["contract"]) == {1}


def test_a_replanned_step_stands_before_those_in_its_place() -> None:
    frame = frames.plan(replanned_run())
    assert frame[["step", "state"]].values.tolist() == [
        [1, "accepted"],
        [2, "replanned"],
        [4, "working"],
        [5, "waiting"],
        [3, "waiting"],
    ]
    assert frame["replaced_by"].dropna().tolist() == ["4, 5"]
