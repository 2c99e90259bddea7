"""How far an evaluator can be trusted: agreement, error rates, corrected pass rates, noise, planning.

Pure functions over arrays that return an ``Estimate``. They share one tail: ``level``, ``groups`` (items of one task or run
resemble each other), ``item_weights`` (1 / probability of having been chosen), ``interval`` ("default" is the one that simulation
showed to keep its promise, see docs/coverage.md; "analytic" the textbook one; "bootstrap") and ``rng``, which only a random
interval needs. A module is imported when one of its names is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pge_nb.calibration.agreement import cohen_kappa, fleiss_kappa, gwet_ac, krippendorff_alpha, percent_agreement
    from pge_nb.calibration.annotators import AlternativeAnnotator, alternative_annotator_test
    from pge_nb.calibration.auditing import Audit, Finding, audit
    from pge_nb.calibration.carrying import CarryOver, carries_over
    from pge_nb.calibration.comparing import Comparison, compare_raters
    from pge_nb.calibration.corrected import corrected_rate
    from pge_nb.calibration.curves import Roc, roc
    from pge_nb.calibration.estimate import CalibrationWarning, Estimate
    from pge_nb.calibration.inputs import ratings_from
    from pge_nb.calibration.intraclass import icc
    from pge_nb.calibration.looping import Retries, pass_after_retries, threshold_after_retries
    from pge_nb.calibration.noise import NoiseFloor, VarianceComponents, noise_floor, variance_components
    from pge_nb.calibration.people import HumanCeiling, human_ceiling
    from pge_nb.calibration.planning import LabelPlan, next_to_label, sample_size
    from pge_nb.calibration.probabilities import (
        Brier,
        Reliability,
        ReliabilityBin,
        brier,
        calibration_error,
        reliability,
    )
    from pge_nb.calibration.ranking import rank_correlation
    from pge_nb.calibration.recalibrating import Recalibration, recalibrate
    from pge_nb.calibration.replicates import resampled_agreement
    from pge_nb.calibration.resampling import bootstrap, resample_indices
    from pge_nb.calibration.scoring import signed_error, spread_ratio
    from pge_nb.calibration.slopes import within_slope
    from pge_nb.calibration.thresholds import Threshold, threshold_by_cost, threshold_for_false_pass
    from pge_nb.calibration.verdicts import Rates, VerdictRates, verdict_rates

HOMES = {
    "agreement": ("cohen_kappa", "fleiss_kappa", "gwet_ac", "krippendorff_alpha", "percent_agreement"),
    "annotators": ("AlternativeAnnotator", "alternative_annotator_test"),
    "auditing": ("Audit", "Finding", "audit"),
    "carrying": ("CarryOver", "carries_over"),
    "comparing": ("Comparison", "compare_raters"),
    "corrected": ("corrected_rate",),
    "curves": ("Roc", "roc"),
    "estimate": ("CalibrationWarning", "Estimate"),
    "inputs": ("ratings_from",),
    "intraclass": ("icc",),
    "looping": ("Retries", "pass_after_retries", "threshold_after_retries"),
    "noise": ("NoiseFloor", "VarianceComponents", "noise_floor", "variance_components"),
    "people": ("HumanCeiling", "human_ceiling"),
    "planning": ("LabelPlan", "next_to_label", "sample_size"),
    "probabilities": (
        "Brier",
        "Reliability",
        "ReliabilityBin",
        "brier",
        "calibration_error",
        "reliability",
    ),
    "ranking": ("rank_correlation",),
    "recalibrating": ("Recalibration", "recalibrate"),
    "replicates": ("resampled_agreement",),
    "resampling": ("bootstrap", "resample_indices"),
    "scoring": ("signed_error", "spread_ratio"),
    "slopes": ("within_slope",),
    "thresholds": ("Threshold", "threshold_by_cost", "threshold_for_false_pass"),
    "verdicts": ("Rates", "VerdictRates", "verdict_rates"),
}
HOME = {name: module for module, names in HOMES.items() for name in names}

__all__ = [
    "AlternativeAnnotator",
    "Audit",
    "Brier",
    "CalibrationWarning",
    "CarryOver",
    "Comparison",
    "Estimate",
    "Finding",
    "HumanCeiling",
    "LabelPlan",
    "NoiseFloor",
    "Rates",
    "Recalibration",
    "Reliability",
    "ReliabilityBin",
    "Retries",
    "Roc",
    "Threshold",
    "VarianceComponents",
    "VerdictRates",
    "alternative_annotator_test",
    "audit",
    "bootstrap",
    "brier",
    "calibration_error",
    "carries_over",
    "cohen_kappa",
    "compare_raters",
    "corrected_rate",
    "fleiss_kappa",
    "gwet_ac",
    "human_ceiling",
    "icc",
    "krippendorff_alpha",
    "next_to_label",
    "noise_floor",
    "pass_after_retries",
    "percent_agreement",
    "rank_correlation",
    "ratings_from",
    "recalibrate",
    "reliability",
    "resample_indices",
    "resampled_agreement",
    "roc",
    "sample_size",
    "signed_error",
    "spread_ratio",
    "threshold_after_retries",
    "threshold_by_cost",
    "threshold_for_false_pass",
    "variance_components",
    "verdict_rates",
    "within_slope",
]


def __getattr__(name: str) -> Any:
    """Import the module that a public name lives in."""
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
