"""The proof on known truth in small: a dozen simulated studies; the whole one is benchmarks/calibration_proof.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import calibration_proof as proof

SEEDS = 12
LEAST = 9
"""An interval that holds the truth 95 % of the time holds it in fewer of 12 seeds once in 500 times."""


def test_intervals_of_every_figure_hold_what_is_known_to_be_so() -> None:
    told = proof.prove(SEEDS)
    assert set(told) == {
        *("false_pass", "tpr", "bad_given_accepted", "leniency", "agreement", "signed_error", "noise", "drift"),
        *("exam catch rate", "drift that is not there", "examples that teach nothing"),
    }
    assert told.pop("drift that is not there")[0] <= SEEDS - LEAST
    for name, (held, *_) in told.items():
        assert held >= LEAST, name


def test_the_calls_of_the_proof_are_those_of_whole_runs() -> None:
    assert proof.same_as_in_runs(2) > 10


def test_a_judge_that_misses_more_than_is_claimed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = proof.judged(1)["false_pass"][2]
    monkeypatch.setattr(proof, "JUDGE", proof.JUDGE.replace("miss=0.2", "miss=0.6"))
    low, high, truth = proof.judged(1)["false_pass"]
    assert low <= truth <= high
    assert not low <= claimed <= high
