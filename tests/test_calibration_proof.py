"""The proof on known truth in small: a dozen simulated studies; the whole one is benchmarks/calibration_proof.py."""

from __future__ import annotations

import sys
from pathlib import Path

from pge_nb.models.practice import PracticeSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import calibration_proof as proof

SEEDS = 12
LEAST = 9
"""An interval that holds the truth 95 % of the time holds it in fewer of 12 seeds once in 500 times."""
CHECKED = ("agreement", "tpr", "tnr", "false_pass", "bad_given_accepted", "leniency")


def test_intervals_of_every_figure_hold_what_is_known_to_be_so() -> None:
    told = proof.prove(SEEDS)
    figures = {
        *CHECKED,
        *(f"gate {name}" for name in CHECKED),
        *("score error", "noise", "drift", "exam catch rate", "corrected pass rate", "risk past the margin"),
        *("accepted", "accepted, predicted", "bad accepted", "bad accepted, predicted", "best of 3 too high"),
        *("rho of good", "rho of bad"),
    }
    judges = {f"{judge}: {figure}" for judge in ("lenient", "strict") for figure in figures}
    assert set(told) == judges | {proof.NO_DRIFT, proof.NOTHING}
    assert told.pop(proof.NO_DRIFT)[0] <= SEEDS - LEAST
    for name, (held, *_) in told.items():
        assert held >= LEAST, name


def test_every_parameter_of_the_judges_is_there_at_once() -> None:
    lenient, strict = (PracticeSettings.parse(model) for model in proof.JUDGES.values())
    assert strict.leniency < 0 < lenient.leniency
    for judge in (lenient, strict):
        assert all((judge.miss, judge.false_alarm, judge.noise, judge.by_size, judge.by_task, judge.rho, judge.drift))
    assert proof.WRONG_LABELS


def test_the_calls_of_the_proof_are_those_of_whole_runs() -> None:
    assert proof.same_as_in_runs(2) > 10


def test_a_judge_that_misses_more_than_is_claimed_is_found_out() -> None:
    honest = proof.JUDGES["lenient"]
    claimed = proof.exact(proof.studied(1, honest))["false_pass"]
    low, high, truth = proof.judged(1, honest.replace("miss=0.2", "miss=0.6"))["false_pass"]
    assert low <= truth <= high
    assert not low <= claimed <= high
