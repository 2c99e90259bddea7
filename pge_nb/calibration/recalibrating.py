"""Probabilities from scores, each from items of other groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from pge_nb.calibration.inputs import FloatArray, IntArray, Values, column, columns, design, numbers, sort_key, whole
from pge_nb.calibration.verdicts import binary
from pge_nb.errors import BadInput, Uninformative

Map: TypeAlias = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Logistic:
    """P(good) = 1 / (1 + exp(-(intercept + slope score)))."""

    intercept: float
    slope: float

    def __call__(self, scores: FloatArray) -> FloatArray:
        """P(good) of each score."""
        return np.asarray(special.expit(self.intercept + self.slope * scores), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibration:
    """Probabilities made from scores.

    Attributes:
        probabilities: P(good) of each item, from a map fitted without its group; nan where the score is missing.
        method: "isotonic" or "platt".
        scores: points of the map that was fitted on all labelled items.
        mapped: its values there.
        curve: the logistic curve of "platt".
    """

    probabilities: FloatArray
    method: str
    scores: FloatArray
    mapped: FloatArray
    curve: Logistic | None = None

    def __call__(self, scores: Values) -> FloatArray:
        """P(good) of new scores, from the map of all labelled items: the logistic curve, or lines between isotonic points."""
        if self.curve is not None:
            return self.curve(numbers(scores, "scores"))
        return np.asarray(np.interp(numbers(scores, "scores"), self.scores, self.mapped), dtype=np.float64)


def recalibrate(
    scores: Values,
    labels: Values,
    groups: Values,
    method: Literal["isotonic", "platt"] = "isotonic",
    *,
    folds: int = 5,
    item_weights: Values | None = None,
) -> Recalibration:
    """Turn scores into probabilities, each item's from a map that never saw its group.

    "isotonic": isotonic regression (Zadrozny & Elkan 2002); "platt": logistic regression without penalty on labels smoothed
    to (n+ + 1) / (n+ + 2) and 1 / (n- + 2) (Platt 1999). scikit-learn fits both. Groups are split into ``folds`` parts; items
    without a label get a probability from the map of all labelled ones outside their group's part.

    Args:
        scores: higher means better, one an item.
        labels: the truth, missing where unlabelled.
        groups: group (task, run) of each item.
        method: "isotonic" or "platt".
        folds: parts that the groups are split into; as many as groups where they are fewer.
        item_weights: one an item; parts hold equal numbers of rows, so that a weight of 2 is not quite the item twice.

    Raises:
        BadInput: for an unknown method, fewer than two folds, or values that cannot be read.
        Uninformative: with fewer than two groups, or where a part's other groups hold one class only.
    """
    if method not in ("isotonic", "platt"):
        raise BadInput(f"method is {method!r}.", 'Give "isotonic" or "platt".')
    values, truth, names = numbers(scores, "scores"), binary(labels, "labels"), column(groups, "groups")
    columns(("scores", values), ("labels", truth), ("groups", names))
    everyone = design(len(values), level=0.95, groups=names, item_weights=item_weights, interval="default", rng=None)
    if everyone.units < 2:
        raise Uninformative("The items come from one group.", "Label items of two groups or more.")
    if whole(folds, "folds") < 2:
        raise BadInput(f"folds is {folds}.", "Give 2 or more: an item's map must not have seen its group.")
    known = np.asarray(~np.isnan(truth) & ~np.isnan(values), dtype=bool)
    out = np.full(len(values), np.nan)
    for rest, part in GroupKFold(n_splits=min(int(folds), everyone.units)).split(values, groups=sorted_codes(names)):
        learned = rest[known[rest]]
        inside = part[~np.isnan(values[part])]
        if not len(inside):
            continue
        out[inside] = fit_map(values[learned], truth[learned], everyone.weights[learned], method)(values[inside])
    fitted = fit_map(values[known], truth[known], everyone.weights[known], method)
    grid = np.unique(values[known])
    curve = fitted if isinstance(fitted, Logistic) else None
    return Recalibration(probabilities=out, method=method, scores=grid, mapped=fitted(grid), curve=curve)


def fit_map(scores: FloatArray, truth: FloatArray, weights: FloatArray, method: str) -> Map:
    """A function from scores to probabilities.

    Raises:
        Uninformative: when the labels are of one class.
    """
    if len(np.unique(truth)) < 2:
        raise Uninformative(
            "All labels outside one part of the groups are the same.", "Label more groups, or use fewer folds."
        )
    if method == "platt":
        return platt(scores, truth, weights)
    fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, truth, sample_weight=weights)
    return lambda new: np.asarray(fit.predict(new), dtype=np.float64)


def sorted_codes(names: NDArray[Any]) -> IntArray:
    """Groups as numbers in the order of their names, so that the order of rows does not decide which part a group is in."""
    codes, distinct = pd.factorize(names)
    order = sorted(range(len(distinct)), key=lambda k: sort_key(distinct[k]))
    return np.argsort(order)[codes].astype(np.int64)


def platt(scores: FloatArray, truth: FloatArray, weights: FloatArray) -> Logistic:
    """Logistic curve through smoothed labels: each item is entered twice, as good and as bad, weighted by its target."""
    good = truth == 1
    high, low = (weights[good].sum() + 1) / (weights[good].sum() + 2), 1 / (weights[~good].sum() + 2)
    target = np.where(good, high, low)
    if np.ptp(scores) == 0:
        return Logistic(float(special.logit(np.average(target, weights=weights))), 0.0)
    centre, scale = scores.mean(), scores.std()
    twice = (np.concatenate([scores, scores])[:, None] - centre) / scale
    outcome = np.repeat([1.0, 0.0], len(scores))
    both = np.concatenate([weights * target, weights * (1 - target)])
    # Newton steps reach the optimum to rounding, where the default stops at 1e-4.
    fit = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    fit.fit(twice, outcome, sample_weight=both)
    slope = float(fit.coef_[0, 0] / scale)
    return Logistic(float(fit.intercept_[0] - slope * centre), slope)
