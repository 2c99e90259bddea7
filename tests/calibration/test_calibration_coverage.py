"""Whether 95 % intervals hold the truth, in short. benchmarks/coverage.py has all cells."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from pge_nb import calibration as cal

RUNS, FEWEST = 400, 364  # at .95, 364 or more of 400 in all but one of two thousand such tests

path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
assert spec is not None
assert spec.loader is not None
coverage = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = coverage
spec.loader.exec_module(coverage)


@pytest.mark.parametrize(
    ("setting", "n"), [((0.37, 0.88, 0.91), 50), ((0.8, 0.95, 0.7), 50), ((0.37, 0.88, 0.91, 20, 0.2), 200)]
)
def test_default_intervals_hold_the_truth(setting: tuple[float, ...], n: int) -> None:
    wanted, truth = set(coverage.STATISTICS), coverage.truths(*setting[:3])
    hits, tries = dict.fromkeys(wanted, 0), dict.fromkeys(wanted, 0)
    rng = np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cal.CalibrationWarning)
        for _ in range(RUNS):
            for name, estimate in coverage.estimates(coverage.draw(setting, n, rng), wanted, "default", grouped=True):
                hits[name] += estimate.low <= truth[name] <= estimate.high
                tries[name] += 1
    for name in wanted:
        # A correction that is refused has no interval; those that are left are held to the same share.
        assert hits[name] >= FEWEST / RUNS * tries[name], (name, hits[name], tries[name])
        assert tries[name] > 0.9 * RUNS


@pytest.mark.parametrize(
    "name",
    [
        "fleiss_kappa, 3 raters",
        "krippendorff_alpha, interval",
        "icc(A,1)",
        "spearman",
        "somers",
        "auc",
        "spread_ratio",
        "noise_floor, sd",
        "human_ceiling, people",
    ],
)
def test_other_default_intervals_hold_the_truth(name: str) -> None:
    truth, function = coverage.more()[name]
    rng = np.random.default_rng(12)
    hits = sum(low <= truth <= high for _, low, high in (function(50, rng) for _ in range(RUNS)))
    assert hits >= FEWEST


def test_a_textbook_interval_fails_where_the_default_holds() -> None:
    # So that the tests above can fail: Wald's interval of TPR at 50 items covers well under .95.
    rng, truth = np.random.default_rng(13), 0.95
    hits = 0
    for _ in range(RUNS):
        sample = coverage.draw((0.8, 0.95, 0.7), 50, rng)
        low, high = list(cal.verdict_rates(sample.labels, sample.verdicts, interval="analytic").tpr)[1:]
        hits += low <= truth <= high
    assert hits < FEWEST
