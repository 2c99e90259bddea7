"""Arrays as users have them -> codes, weights and groups; what is missing is seen here and nowhere else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pge_nb.calibration.estimate import CalibrationWarning
from pge_nb.errors import BadInput

Values: TypeAlias = "Sequence[Any] | NDArray[Any] | pd.Series[Any]"
Matrix: TypeAlias = "Sequence[Sequence[Any]] | NDArray[Any] | pd.DataFrame"
Interval: TypeAlias = Literal["default", "analytic", "bootstrap"]
Rng: TypeAlias = np.random.Generator | int | None
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

# np.array(["pass", np.nan]) silently holds the word "nan": these words are missing values, never labels.
MISSING_WORDS = frozenset({"nan", "NaN", "NA", "<NA>"})
FEW_GROUPS = 10
EQUAL = 1e-12  # weights with mean 1 that differ by less are equal


def column(values: Values, name: str = "values") -> NDArray[Any]:
    """One dimension, numbers as they are, everything else as objects.

    Raises:
        BadInput: when it has two dimensions.
    """
    array = np.asarray(values) if getattr(values, "dtype", None) is not None else np.asarray(values, dtype=object)
    if array.dtype.kind not in "biuf":
        array = np.asarray(values, dtype=object)
    if array.ndim != 1:
        raise BadInput(f"{name} has {array.ndim} dimensions.", "Give one value an item, in one dimension.")
    return array


def is_missing(array: NDArray[Any]) -> BoolArray:
    """True where a value is None, nan, NaT, pandas.NA or one of the words NA, nan."""
    empty = np.asarray(pd.isna(array), dtype=bool)
    if array.dtype.kind == "O":
        words = (isinstance(value, str) and value in MISSING_WORDS for value in array.ravel())
        empty = empty | np.fromiter(words, dtype=bool, count=array.size).reshape(array.shape)
    return empty


def columns(*pairs: tuple[str, Values]) -> list[NDArray[Any]]:
    """Several columns of one length.

    Raises:
        BadInput: when their lengths differ.
    """
    arrays = [column(values, name) for name, values in pairs]
    if len({len(array) for array in arrays}) > 1:
        sizes = ", ".join(f"{name} {len(array)}" for (name, _), array in zip(pairs, arrays, strict=True))
        raise BadInput(f"The lengths differ: {sizes}.", "Give one value an item in each, in the same order.")
    return arrays


def numbers(values: Values, name: str) -> FloatArray:
    """Floats with nan where missing.

    Raises:
        BadInput: for values that are not numbers, and for infinite ones.
    """
    array = column(values, name)
    try:
        out = np.where(is_missing(array), np.nan, array).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{name} holds something that is not a number.", "Give numbers; leave missing ones as nan."
        ) from error
    if np.isinf(out).any():
        raise BadInput(
            f"{name} holds an infinite number.", "Replace it by nan, or by the largest score that is possible."
        )
    return out


def is_scalar(value: object) -> bool:
    """Whether it is one number: an int, a float, a numpy scalar, an ``Estimate``."""
    return hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0


def scalar(value: Any, name: str) -> float:
    """One number as a float.

    Raises:
        BadInput: for anything else, and for nan.
    """
    number = float(value) if is_scalar(value) else math.nan
    if math.isnan(number):
        raise BadInput(f"{name} is {value!r}.", "Give one number.")
    return number


def whole(value: Any, name: str) -> int:
    """One whole number, 3.0 too.

    Raises:
        BadInput: for anything else.
    """
    number = scalar(value, name)
    if not number.is_integer():
        raise BadInput(f"{name} is {value!r}.", "Give a whole number.")
    return int(number)


def share_of(value: Any, name: str) -> float:
    """A probability or correlation.

    Raises:
        BadInput: when it lies outside 0..1.
    """
    if not 0 <= (share := scalar(value, name)) <= 1:
        raise BadInput(f"{name} is {share:g}: outside 0 to 1.", "Give a number between 0 and 1.")
    return share


def ratings_matrix(ratings: Matrix) -> NDArray[Any]:
    """Items x raters as objects (or numbers), missing kept.

    Raises:
        BadInput: when it has not two dimensions or fewer than two raters.
    """
    array = np.asarray(ratings, dtype=object)
    if array.ndim != 2 or array.shape[1] < 2:
        raise BadInput(
            f"ratings has the shape {array.shape}.", "Give items x raters, two raters at least; ratings_from makes it."
        )
    if array.shape[0] < array.shape[1]:
        warnings.warn(
            f"ratings has {array.shape[0]} rows and {array.shape[1]} columns: rows are items, columns are raters "
            "(krippendorff.alpha wants the transpose)",
            CalibrationWarning,
            stacklevel=3,
        )
    return array


@dataclass(frozen=True, slots=True)
class Coded:
    """Ratings as positions in ``labels``; -1 where missing. ``declared``: the labels' order came from the caller."""

    codes: IntArray
    labels: tuple[Any, ...]
    declared: bool

    @property
    def ordered(self) -> bool:
        """Whether the positions mean an order: declared, or numbers."""
        return self.declared or all(isinstance(label, (int, float, np.number)) for label in self.labels)


def declared(labels: Sequence[Any] | None, *given: Any) -> Sequence[Any] | None:
    """The labels' order as the caller gave it: in ``labels``, or as the categories of an ordered pandas Categorical.

    Raises:
        BadInput: when two ordered Categoricals differ in their categories.
    """
    if labels is not None:
        return labels
    parts = [
        part for one in given for part in ([one[name] for name in one] if isinstance(one, pd.DataFrame) else [one])
    ]
    kinds = [getattr(part, "dtype", None) for part in parts]
    orders = [list(kind.categories) for kind in kinds if isinstance(kind, pd.CategoricalDtype) and kind.ordered]
    if any(order != orders[0] for order in orders):
        raise BadInput("The raters' ordered categories differ.", "Give one order, in labels=[...].")
    return orders[0] if orders else None


def code(ratings: NDArray[Any], labels: Sequence[Any] | None) -> Coded:
    """Replace labels by their positions.

    Undeclared labels are those that occur, sorted. 1, 1.0 and True are one label; 1 and "1" are two.

    Raises:
        BadInput: when a rating is not among the declared labels, or one of these is declared twice.
    """
    flat = ratings.ravel().tolist()
    gap = is_missing(ratings).ravel()
    seen = {value for value, empty in zip(flat, gap, strict=True) if not empty}
    order = sorted(seen, key=sort_key) if labels is None else list(labels)
    positions = {label: position for position, label in enumerate(order)}
    if len(positions) < len(order):
        raise BadInput(f"The declared labels {order!r} hold one twice.", "Name each label once, in their order.")
    if unknown := [value for value in seen if value not in positions]:
        raise BadInput(
            f"{unknown[0]!r} is not among the declared labels {order!r}.",
            "Add it to labels, or make it missing; a verdict that cannot be parsed is best a label of its own.",
        )
    codes = [-1 if empty else positions[value] for value, empty in zip(flat, gap, strict=True)]
    return Coded(np.array(codes, dtype=np.int64).reshape(ratings.shape), tuple(order), labels is not None)


def sort_key(value: object) -> tuple[int, float, str]:
    """Numbers by size, then everything else by its text: mixed labels must sort too."""
    return (0, float(value), "") if isinstance(value, (int, float, np.number)) else (1, 0.0, str(value))


def check_labels_meet(a: NDArray[Any], b: NDArray[Any]) -> None:
    """Numbers against text never agree: that is a mistake in reading the data, not disagreement.

    Raises:
        BadInput: when one rater has only numbers and the other only text.
    """
    kinds = [{isinstance(value, str) for value in array[~is_missing(array)].tolist()} for array in (a, b)]
    if kinds in ([{True}, {False}], [{False}, {True}]):
        raise BadInput(
            "One rater's labels are text and the other's are numbers, so that they can never agree.",
            "Give both in one form, e.g. with .astype(str).",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How items were drawn: weights with mean 1, groups as codes, and what the caller wants of the interval."""

    weights: FloatArray
    groups: IntArray | None
    level: float
    interval: Interval
    rng: Rng
    weighted: bool

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.weights)

    @property
    def count(self) -> int | None:
        """Number of groups, None when items are independent."""
        return None if self.groups is None else int(self.groups.max(initial=-1)) + 1

    @property
    def units(self) -> int:
        """Independent units: groups where there are any, else items."""
        return self.n if self.count is None else self.count

    @property
    def kish(self) -> float:
        """Items that equal weights would need for the same precision, (sum w)^2 / sum w^2 (Kish 1965)."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum()) if self.weighted else float(self.n)

    def keep(self, mask: BoolArray) -> Design:
        """The design of the items under the mask."""
        weights = self.weights[mask]
        if self.weighted and weights.sum() > 0:
            weights = weights / weights.mean()
        groups = None if self.groups is None else np.unique(self.groups[mask], return_inverse=True)[1].astype(np.int64)
        return Design(
            weights=weights,
            groups=groups,
            level=self.level,
            interval=self.interval,
            rng=self.rng,
            weighted=self.weighted,
        )

    def total(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows (items x features) -> weighted sums a unit (units x features)."""
        weighted = rows * self.weights[:, None] if self.weighted else rows
        if self.groups is None:
            return weighted
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(self.units))
        return np.add.reduceat(weighted[order], starts, axis=0) if self.n else weighted

    def generator(self) -> np.random.Generator:
        """The caller's random generator.

        Raises:
            BadInput: when none was given.
        """
        if self.rng is None:
            raise BadInput(
                "A bootstrap interval is random and rng is missing.", "Give rng=numpy.random.default_rng(1), or a seed."
            )
        return np.random.default_rng(self.rng)


def design(
    n: int, *, level: float, groups: Values | None, item_weights: Values | None, interval: Interval, rng: Rng
) -> Design:
    """Read the common tail of every statistic.

    Raises:
        BadInput: for a level outside (0, 1), an unknown interval, weights that are missing or not above 0, and groups
            that are missing or of another length.
    """
    if not 0 < (level := scalar(level, "level")) < 1:
        raise BadInput(f"level is {level}.", "Give a number between 0 and 1, such as .95.")
    if interval not in ("default", "analytic", "bootstrap"):
        raise BadInput(f"interval is {interval!r}.", 'Give "default", "analytic" or "bootstrap".')
    codes = None if groups is None else group_codes(groups, n)
    weights = np.ones(n) if item_weights is None else checked_weights(item_weights, n)
    # Equal weights are none, and so get the same intervals.
    weighted = bool(n) and float(np.ptp(weights)) > EQUAL
    weights = weights if weighted else np.ones(n)
    return Design(weights=weights, groups=codes, level=level, interval=interval, rng=rng, weighted=weighted)


def group_codes(groups: Values, n: int) -> IntArray:
    """Groups as 0, 1, ..., one an item."""
    array = column(groups, "groups")
    if len(array) != n:
        raise BadInput(f"groups has {len(array)} values for {n} items.", "Give one group an item.")
    if is_missing(array).any():
        raise BadInput("An item has no group.", "Give it one (its task, its run), or leave the item out.")
    return pd.factorize(array)[0].astype(np.int64)


def checked_weights(item_weights: Values, n: int) -> FloatArray:
    """Weights with mean 1."""
    weights = numbers(item_weights, "item_weights")
    if len(weights) != n:
        raise BadInput(f"item_weights has {len(weights)} values for {n} items.", "Give one weight an item.")
    if np.isnan(weights).any() or (weights <= 0).any():
        raise BadInput(
            "item_weights must be above 0, and none missing.",
            "Give 1 / propensity, as next_to_label logs it, and leave out items that count for nothing.",
        )
    return np.asarray(weights / weights.mean(), dtype=np.float64) if len(weights) else weights


def warn_few_groups(count: int | None) -> tuple[str, ...]:
    """Warn, and give the note, when groups are too few for their variance to be known well."""
    if count is None or count >= FEW_GROUPS:
        return ()
    note = f"only {count} group{'s' * (count != 1)}: fewer than {FEW_GROUPS} cannot show well how much they differ"
    warnings.warn(note, CalibrationWarning, stacklevel=4)
    return (note,)


def ratings_from(frame: pd.DataFrame, item: str, rater: str, label: str) -> pd.DataFrame:
    """Long data (a row a rating) -> items x raters, missing where a rater skipped an item.

    Args:
        frame: one row a rating.
        item: column that names the item.
        rater: column that names the rater.
        label: column that holds the rating.

    Raises:
        BadInput: when a column is not there, or a rater rated one item twice.
    """
    if absent := [name for name in (item, rater, label) if name not in frame.columns]:
        raise BadInput(f"The frame has no column {absent[0]!r}.", f"It has {', '.join(map(str, frame.columns))}.")
    twice = frame.duplicated([item, rater])
    if twice.any():
        row = frame.loc[twice].iloc[0]
        raise BadInput(
            f"Rater {row[rater]!r} rated item {row[item]!r} more than once.",
            "Choose one repeat first (e.g. frame[frame.repeat == 0]), or make the repeat part of the rater's name.",
        )
    return frame.pivot(index=item, columns=rater, values=label)
