"""The views of a plan, of evaluations, of scores, of cost and of a difference: what each of them says of a run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hand_runs import Hand
from notebook_shell import Shell
from sample_runs import (
    attempt,
    contract,
    decided,
    long_run,
    opening,
    replanned_run,
    report,
    sample_records,
    sample_run,
    sections,
    tried,
)
from sanitizer import read

from pge_nb import frames, views
from pge_nb import records as r
from pge_nb.display import Diff, Fold, Mark, Opening, Picture, Share, Table, View, Words
from pge_nb.run import Run
from pge_nb.views.work import GLANCE, LONGEST, Side, diff_view
from pge_nb.workspace import Objects


def tables(view: View) -> list[Table]:
    return [block for block in view.blocks if isinstance(block, Table)]


def words(view: View) -> list[str]:
    return [block.text for block in view.blocks if isinstance(block, Words)]


def marks(row: tuple[object, ...]) -> list[str]:
    shown = [cell.mark if isinstance(cell, Opening) else cell for cell in row]
    return [f"{cell.word} {cell.score}" for cell in shown if isinstance(cell, Mark)]


# Plan


def test_the_plan_is_drawn_with_its_needs_and_states_in_words() -> None:
    [picture] = [block for block in views.plan_view(sample_run()).blocks if isinstance(block, Picture)]
    assert picture.draw().startswith(b"\x89PNG")
    assert picture.alt == (
        "A plan of 2 steps. Step 1 (accepted): Turn a title into a slug. Step 2 (accepted, needs 1): Make slugs unique."
    )


def test_a_replanned_step_and_those_in_its_place_are_told() -> None:
    view = views.plan_view(replanned_run())
    assert any("it asked for two things at once" in said for said in words(view))
    [steps] = [table for table in tables(view) if table.caption == "Steps"]
    assert steps.heads[-1] == "Replaced by"
    assert [row[0] for row in steps.rows if row[-1] == "4, 5"] == [2]
    assert "Step 2 (replanned, needs 1, replaced by 4, 5)" in view.plain()
    assert "replanned" in views.run_view(replanned_run()).plain()


def test_a_plan_of_one_step_is_no_picture() -> None:
    view = views.plan_view(long_run(1, 1))
    assert not [block for block in view.blocks if isinstance(block, Picture)]


def test_criteria_stand_with_weight_and_threshold() -> None:
    [criteria] = [table for table in tables(views.plan_view(sample_run())) if "Criteria" in table.caption]
    assert [row[:3] for row in criteria.rows] == [("correctness", "high", 7.0), ("clarity", "low", 6.0)]


# Evaluations


def test_evaluations_are_a_table_a_step_with_a_column_an_evaluation() -> None:
    first, second = tables(views.evaluations_view(sample_run()))
    assert first.heads == ("Check or criterion", "Threshold", "1.1", "1.2", "1.2, round 2", "1.3", "1.4")
    assert second.heads == ("Check or criterion", "Threshold", "2.1")
    scores = {str(row[0]).split(":")[0]: marks(row) for row in first.rows}
    assert scores["correctness"] == ["fail 4.0", "unmeasured None", "fail 3.5", "pass 8.5", "pass 9.0"]
    assert scores["c2"] == ["fail None", "pass None", "fail None", "pass None", "pass None"]
    assert [mark.split()[0] for mark in scores["All of it"]] == ["fail", "unmeasured", "fail", "fail", "pass"]


def test_a_cell_opens_to_finding_evidence_and_quote() -> None:
    html = views.evaluations_view(sample_run(), 1).html()
    cell = re.search(
        r"<td[^>]*><details><summary[^>]*>(?:(?!</summary>).)*fail</span> 4</span></summary>(.*?)</details>", html
    )
    assert cell is not None
    for said in ("4 against 7. correctness, looked at", "Decided by judge.", "e4 (file)", "“def slug(title):”"):
        assert said in cell[1]
    assert read(html).stripped == []


def test_what_cannot_open_says_the_findings_below() -> None:
    view = views.evaluations_view(sample_run(), 1)
    for text in (view.plain(), view.markdown()):
        assert "The findings of attempt 1.3: fail, overall 7.8" in text
        assert "replayed, not run here" in text


def test_only_what_has_a_verdict_is_shown_where_one_is_asked_for() -> None:
    view = views.evaluations_view(sample_run(), verdict="unmeasured")
    assert words(view)[0] == "Only what is unmeasured: 1 finding in 1 attempt."
    [table] = tables(view)
    assert [row[0] for row in table.rows] == ["correctness"]
    assert view.df is not None
    assert view.df[["step", "attempt", "on", "verdict"]].values.tolist() == [[1, 2, "correctness", "unmeasured"]]
    whole = views.evaluations_view(sample_run(), 1, 1, verdict="fail")
    assert [str(row[0]).split(":")[0] for row in tables(whole)[0].rows] == ["c2", "c3", "correctness"]


def test_attempts_by_another_contract_have_rows_of_their_own() -> None:
    other = replace(contract(1), checks=(r.Check(id="c1", says="slug.py is typed"), *contract(1).checks[1:]))
    again = [r.Record(payload=other, by="harness", step=1)]
    run = Run(sections([*sample_records()[:8], *again, *sample_records()[8:]]))
    rows = {row[0]: marks(row) for row in tables(views.evaluations_view(run))[0].rows}
    assert rows["c1: slug.py can be imported"] == ["pass None"]
    assert len(rows["c1: slug.py is typed"]) == 4
    assert "c1: slug.py can be imported" in views.evaluations_view(run, 1, 1).html()
    assert "c1: slug.py is typed" in views.evaluations_view(run, 1, 4).html()


def test_many_evaluations_stand_in_several_tables() -> None:
    view = views.evaluations_view(long_run(1, 14))
    assert [table.caption.rpartition(", ")[2] for table in tables(view)] == [
        f"evaluations {part} of 14" for part in ("1 to 6", "7 to 12", "13 to 14")
    ]


def test_many_steps_are_folded_below_a_table_of_their_verdicts() -> None:
    view = views.evaluations_view(long_run(12, 3))
    [table] = tables(view)
    assert [row[0] for row in table.rows] == list(range(1, 13))
    assert len(marks(table.rows[0])) == 3
    folds = [block.summary for block in view.blocks if isinstance(block, Fold)]
    assert table.heads == ("Step", "Attempt 1", "Attempt 2", "Attempt 3")
    assert folds[2] == "Step 3: Part 3 of the whole: fail after 3 attempts"
    assert "%pge show evaluations 3" in view.plain()


def test_the_table_of_verdicts_has_the_last_attempts_and_the_fresh_grade() -> None:
    records = [section.record for section in long_run(7, 8).sections]
    fresh = r.Record(payload=report(8, (5.0, 7.5)), by="evaluator", step=3, attempt=8, round=1, purpose="kept")
    [table] = tables(views.evaluations_view(Run(sections([*records, fresh]))))
    assert table.heads == ("Step", *(f"Attempt {number}" for number in range(3, 9)), "Graded again")
    assert table.caption.endswith("of the last 6")
    assert [marks(row)[-1] for row in table.rows if row[0] == 3] == ["fail 5.625"]
    assert [row[-1] for row in table.rows if row[0] != 3] == [None] * 6


def test_of_many_steps_the_first_view_has_the_findings_of_those_that_did_not_pass() -> None:
    view = views.run_view(long_run(12, 2))
    [fold] = [block for block in view.blocks if isinstance(block, Fold) and block.summary.startswith("Findings")]
    assert "what did not pass in" in fold.summary
    captions = [block.caption for block in fold.blocks if isinstance(block, Table)]
    assert captions
    assert all(": fail" in caption for caption in captions)
    assert len(captions) == len([block for block in fold.blocks if not isinstance(block, Words)])
    assert "Nothing was evaluated" not in views.run_view(Run(long_run(12, 2).sections[:7])).html()
    passed = views.run_view(long_run(7, 9))
    [fold] = [block for block in passed.blocks if isinstance(block, Fold) and block.summary.startswith("Findings")]
    assert fold.blocks == (Words("Every check and every threshold holds in what was judged last of each step."),)


def test_what_was_graded_again_since_it_was_kept_is_a_column_and_what_measures_the_judge_is_none() -> None:
    records = [
        *opening(),
        r.Record(payload=contract(1), by="harness", step=1),
        r.Record(payload=report(1, (9.0, 9.0)), by="evaluator", step=1, attempt=1, round=1, purpose="canary"),
        *tried(1, 1, attempt(1, "first"), report(1, (6.0, 7.5))),
        decided(1, 1, "keep", "retries are used up", 1),
        r.Record(payload=report(1, (5.0, 7.5)), by="evaluator", step=1, attempt=1, round=1, purpose="kept"),
    ]
    run = Run(sections(records))
    [table] = tables(views.evaluations_view(run))
    assert table.heads[2:] == ("1.1", "1.1, graded again")
    whole = [table.caption for table in tables(views.evaluations_view(run, 1, 1))]
    assert whole == [
        "Step 1, attempt 1 (canary): pass, overall 9",
        "Step 1, attempt 1: fail, overall 6.4",
        "Step 1, attempt 1 (kept): fail, overall 5.6",
    ]


def sides(run: Run, *places: tuple[int, int]) -> list[Side]:
    return [Side(run=run, root=Path(), step=step, attempt=number) for step, number in places]


def test_side_by_side_the_changes_are_words() -> None:
    view = views.beside_view(sides(sample_run(), (1, 1), (1, 4)))
    [table] = tables(view)
    assert {str(row[0]).split(":")[0]: row[-1] for row in table.rows} == {
        "c1": "the same",
        "c2": "fail to pass",
        "c3": "fail to pass",
        "correctness": "fail to pass, 4 to 9",
        "clarity": "7.5 to 8",
        "All of it": "fail to pass, 4.9 to 8.8",
    }
    assert words(view) == ["3 of 5 checks and criteria changed their verdict."]
    assert view.next == "%pge diff 1.1 1.4"
    assert view.df is not None
    assert len(view.df) == 10


def test_side_by_side_other_raters_and_other_terms_are_told() -> None:
    other = replace(report(1, (8.0, 8.0)), rater="anna")
    run = Run(sections([*sample_records()[:-3], *tried(2, 1, attempt(1, "first"), other)]))
    told = words(views.beside_view(sides(run, (1, 4), (2, 1))))
    assert "They were judged by different raters (rater-4f2a9c01, anna): a change may be the rater's." in told
    assert any("different contracts" in one for one in told) is False
    changed = replace(contract(2), checks=(r.Check(id="c1", says="unique.py is short"), *contract(2).checks[1:]))
    records = [*sample_records()[:-3], r.Record(payload=changed, by="harness", step=2), *sample_records()[-3:]]
    told = words(views.beside_view(sides(Run(sections(records)), (1, 4), (2, 1))))
    assert any("different contracts" in one for one in told)


def test_the_command_takes_several_addresses_and_a_verdict(shell: Shell) -> None:
    shell.cell("%pge run --practice textkit --seed 1;")
    beside = shell.cell("%pge show evaluations 1.1 1.3").view
    assert tables(beside)[0].heads == ("Check or criterion", "Threshold", "1.1", "1.3", "Change")
    failed = shell.cell("%pge show evaluations --verdict fail").view
    assert failed.df is not None
    assert set(failed.df["verdict"]) == {"fail"}
    assert "--verdict is of evaluations alone" in shell.cell("%pge show plan --verdict fail").text
    assert "The nearest is 1.3" in shell.cell("%pge show evaluations 1.1 1.9").text
    earlier = shell.cell("%pge show evaluations 1.1 --at 12").view
    assert "as of section 12" in earlier.title


# Trajectory


def test_the_words_of_the_chart_tell_noise_cost_and_a_new_contract() -> None:
    again = [r.Record(payload=contract(1), by="harness", step=1)]
    run = Run(sections([*sample_records()[:8], *again, *sample_records()[8:]]))
    [alt] = read(views.trajectory_view(run).html()).alts
    assert "Changes within 0.5 count as no trend." in alt
    assert "Step 1 attempt 2 (new contract): fail" in alt
    assert alt.count("(new contract)") == 1
    assert "; 3,102 tokens; then refine." in alt


def test_of_many_steps_those_that_were_attempted_once_are_told_and_not_drawn() -> None:
    records = [record.record for record in long_run(12, 2).sections]
    once = [one for one in records if not (one.step in {3, 4, 5, 9} and one.attempt == 2)]
    view = views.trajectory_view(Run(sections(once)))
    [alt] = read(view.html()).alts
    assert "Step 4" not in alt
    assert "Step 6 attempt 2" in alt
    assert "Steps that were attempted once are not drawn: 3 to 5, 9." in words(view)
    assert view.df is not None
    assert set(view.df["step"]) == set(range(1, 13))


# Cost


def test_cost_stands_by_phase_role_and_round_and_shares_are_numbers_too() -> None:
    view = views.cost_view(sample_run())
    by_phase, by_role = tables(view)
    for table in (by_phase, by_role):
        shares = [row[-1].value for row in table.rows if isinstance(row[-1], Share)]
        assert sum(shares) == pytest.approx(1)
        assert table.heads[-1] == "Share of tokens"
    assert [row[0] for row in by_role.rows] == ["planner", "generator", "evaluator", "together"]
    assert by_role.rows[-1][2] == 16
    html = view.html()
    assert re.search(r'<meter min="0" max="1" value="0\.\d{3}">(\d+ %)</meter> \1<', html)
    assert read(html).stripped == []


def test_shares_are_of_dollars_where_every_call_has_a_price() -> None:
    records = sample_records()
    plan = records[1].payload
    assert isinstance(plan, r.Plan)
    priced = replace(plan, calls=(replace(plan.calls[0], dollars=0.5),))
    run = Run(sections([records[0], r.Record(payload=priced, by="planner"), *records[2:]]))
    [by_phase, _] = tables(views.cost_view(run))
    assert by_phase.heads[-1] == "Share of dollars"
    assert by_phase.rows[0][-1] == Share(1.0)
    assert frames.cost(run)["dollars"].sum() == 0.5


# Diff


def compared(root: Path, old: dict[str, str], new: dict[str, str]) -> View:
    hand, objects = Hand(()), Objects(root)
    hand.contract()
    for number, files in ((1, old), (2, new)):
        refs = tuple(objects.file(path, text.encode()) for path, text in files.items())
        hand.add(r.Attempt(approach="first", why="", base=None, files=refs, hash="", log=r.text_body("")), 1, number)
    one, other = (Side(run=hand.run, root=root, step=1, attempt=number) for number in (1, 2))
    return diff_view(one, other)


def test_a_diff_says_in_a_sentence_how_much_changed(tmp_path: Path) -> None:
    view = compared(tmp_path, {"a": "1\n2\n", "b": "1\n", "c": "1\n"}, {"a": "1\n3\n", "b": "1\n", "d": "1\n"})
    assert words(view)[0] == "4 files: 1 changed, 1 the same, 1 removed, 1 added; 2 lines added, 2 removed."
    assert view.next == "%pge show evaluations 1.1 1.2"


def test_a_long_diff_is_folded_and_cut_with_its_size_told(tmp_path: Path) -> None:
    lines = [f"{number}\n" for number in range(2 * LONGEST)]
    view = compared(tmp_path, {"a": "", "b": "x\n"}, {"a": "".join(lines), "b": "y\n"})
    folds = [block for block in view.blocks if isinstance(block, Fold)]
    assert [fold.summary for fold in folds] == ["a: 2,000 lines added, 0 removed", "b: 1 line added, 1 removed"]
    [diff] = folds[0].blocks
    assert isinstance(diff, Diff)
    assert diff.text.endswith(f"... (first {LONGEST:,} of {2 * LONGEST + 1:,} lines)")
    assert len(diff.text.split("\n")) == LONGEST + 1
    few = compared(tmp_path, {"a": ""}, {"a": "".join(lines[: GLANCE - 5])})
    assert [block for block in few.blocks if isinstance(block, Diff)]


def test_a_diff_tells_how_the_verdict_went(tmp_path: Path, shell: Shell) -> None:
    shell.cell("%pge run --practice textkit --seed 1;")
    assert "The verdict went from fail (6.6) to pass (9.1)." in words(shell.cell("%pge diff 1.1 1.3").view)
    assert not [one for one in words(compared(tmp_path, {"a": "1"}, {"a": "2"})) if "verdict" in one]


def test_a_row_says_why_a_step_stands_so_though_its_checks_are_met(shell: Shell) -> None:
    view = shell.cell("%pge run --practice stats --seed 4 --skill 0.8 --leniency -1.5 --max-retries 1").view
    steps = next(block for block in view.blocks if isinstance(block, Table) and block.caption == "Steps")
    low, kept = steps.rows
    assert (low[2], low[4]) == ("4 of 4", Mark("fail"))
    assert str(low[5]).endswith(", too low: correctness")
    assert (kept[2], kept[4]) == ("4 of 4", Mark("pass"))
    assert str(kept[5]).endswith(", failed at the gate")


def test_the_plan_tells_of_steps_that_were_cut_into_others(shell: Shell) -> None:
    shell.cell("%config PGE.on_exhausted = ['replan', 'advance']")
    view = shell.cell("%pge run --practice textkit --seed 3 --skill 0 --max-retries 0").view
    assert "+ Plan: 6 steps and 3 that were cut into others, 3 criteria" in view.plain()
