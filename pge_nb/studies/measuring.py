"""What each figure of a rater is made of: items that it and a reference judged, and the statistics over them, by task."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..calibration.estimate import CalibrationWarning, Estimate
from ..errors import BadInput, PgeError
from ..prose import counted
from .items import ORACLE

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PEOPLE: Final = "people"
GATE: Final = "gate"
FIRST = ("gate", "regrade", "label")
"""The purposes of gradings that figures are drawn from; those that are made for drift and noise, and of the kept, are others."""
REPEATED = ("gate", "regrade", "noise")
EPSILON = 0.15
"""How much worse than a trained person a judge may be in the alternative annotator test, as its authors take it."""
LEVEL = 0.95
THRESHOLD = 7.0
ONE_SIDED = 1.645
"""Standard deviations below a score that its true value seldom (5 %) lies."""
UNLABELLED = "nothing was labelled"
NO_WHOLE = "checks and criteria were labelled, and no whole attempt (%pge label --as NAME --about attempt)"
POOLED = ("agreement", "tpr", "tnr", "false_pass", "bad_given_accepted")
"""The figures that are pooled over the kinds of one family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure. ``value`` is None where it cannot be measured, and ``note`` says why.

    ``pooled`` is the value drawn to the mean of its family.
    ``by`` is gate (whole attempts), judge (what the judge itself decided), check kind, criterion or step kind, ``of`` which.
    ``n``, ``tasks`` and ``bad`` are the items it rests on, their tasks, and how many of them the reference calls bad.
    """

    figure: str
    by: str = GATE
    of: str = "all"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    pooled: float | None = None
    n: int = 0
    tasks: int = 0
    bad: int = 0
    note: str = ""


# What was judged twice: by the rater, and by the reference


def paired(frame: DataFrame, rater: str, against: str) -> DataFrame:
    """The rater's items, a row each, with ``truth`` and ``true_score`` (missing: not known), ``shown`` and the label's weight."""
    import pandas as pd

    mine = frame[(frame["rater"] == rater) & frame["purpose"].isin(FIRST)]
    mine = mine.sort_values("repeat", kind="stable").drop_duplicates("item").sort_index()
    others = reference_rows(frame, against)
    others = others[others["rater"] != rater]
    known = dict(iter(others.groupby("item", sort=True)))
    truth = pd.Series(
        [majority(known[item]["label"]) if item in known else None for item in mine["item"]],
        mine.index,
        dtype="object",
    )
    weights = [float(known[item]["weight"].mean()) if item in known else 1.0 for item in mine["item"]]
    scores = [float(known[item]["score"].mean()) if item in known else math.nan for item in mine["item"]]
    shown = [
        bool(known[item]["verdict_shown"].fillna(False).any()) if item in known else False for item in mine["item"]
    ]
    return mine.assign(truth=truth, true_score=scores, shown=shown, weight=weights)


def reference_of(frame: DataFrame, against: str, rater: str) -> str:
    """The reference: without ``against`` people where any labelled, else the oracle. ``BadInput`` where it judged nothing."""
    who = frame[frame["who"] == "person"]
    if not against:
        return PEOPLE if len(who[who["rater"] != rater]) else ORACLE
    there = {str(name) for name in frame["rater"].unique()} | ({PEOPLE} if len(who) else set())
    if against in there or against == ORACLE:
        return against
    listed = ", ".join(sorted(there)) or "none"
    raise BadInput(f"Nothing of these runs was judged by {against!r:.80}.", f"There are: {listed}.")


def reference_rows(frame: DataFrame, against: str) -> DataFrame:
    """What the reference said first of each item: people, each once, or one rater."""
    others = frame[frame["who"] == "person"] if against == PEOPLE else frame[frame["rater"] == against]
    others = others[others["purpose"].isin(FIRST)]
    return others.sort_values("repeat", kind="stable").drop_duplicates(["item", "rater"])


def majority(labels: Series) -> str | None:
    """What most of them say; None where they are split, or none says pass or fail."""
    passes, fails = int((labels == "pass").sum()), int((labels == "fail").sum())
    return None if passes == fails else "pass" if passes > fails else "fail"


# The statistics


def _estimated(make: Callable[[], Estimate | None], nothing: str) -> Estimate | str:
    """An estimate, or in words why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            found = make()
    except PgeError as error:
        return error.fact.rstrip(".")
    return nothing if found is None or math.isnan(found.value) else found


def _tail(pairs: DataFrame, level: float) -> dict[str, Any]:
    weights = pairs["weight"].to_numpy(dtype=float)
    weighted = {} if (weights == 1).all() else {"item_weights": weights}
    return {"level": level, "groups": list(pairs["task"])} | weighted


def _as_flags(labels: Series) -> list[bool | None]:
    return [{"pass": True, "fail": False}.get(str(label)) for label in labels]


def _row(
    name: str, where: tuple[str, str], pairs: DataFrame, level: float, found: Estimate | str, *, n: int | None = None
) -> Figure:
    bad = int((pairs["truth"] == "fail").sum())
    told = Figure(figure=name, by=where[0], of=where[1], level=level, n=len(pairs) if n is None else n, bad=bad)
    told = replace(told, tasks=int(pairs["task"].nunique()))
    if isinstance(found, str):
        return replace(told, note=found)
    value = found.value
    ends = (found.low, found.high)
    low, high = ends if all(map(math.isfinite, ends)) else (None, None)
    return replace(told, value=value, low=low, high=high, n=found.n, note="; ".join(found.notes))


def rates_of(by: str, of: str, pairs: DataFrame, level: float, why: str = UNLABELLED) -> Iterator[Figure]:
    """Agreement, then the rates of verdicts, then what was not measured. ``why`` there is nothing, where nothing is there."""
    from ..calibration import cohen_kappa, gwet_ac, signed_error, verdict_rates

    yield agreement_of(by, of, pairs, level, why)
    if not len(pairs):
        names = ("kappa", "ac1", "tpr", "tnr", "false_pass", "bad_given_accepted", "leniency", "unmeasured")
        for name in names:
            yield _row(name, (by, of), pairs, level, why)
        return
    some = pairs[pairs["label"] != "unmeasured"]
    truth, said = list(some["truth"]), list(some["label"])
    tail = _tail(some, level)
    nothing = "nothing was measured" if not len(some) else "only one word was ever said"
    kappa = _estimated(lambda: cohen_kappa(truth, said, **tail) if truth else None, nothing)
    yield _row("kappa", (by, of), some, level, kappa)
    ac1 = _estimated(lambda: gwet_ac(list(zip(truth, said, strict=True)), **tail) if truth else None, nothing)
    yield _row("ac1", (by, of), some, level, ac1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            rates = verdict_rates(_as_flags(pairs["truth"]), _as_flags(pairs["label"]), **_tail(pairs, level))
    except PgeError as error:
        for name in ("tpr", "tnr", "false_pass", "bad_given_accepted", "leniency", "unmeasured"):
            yield _row(name, (by, of), pairs, level, error.fact.rstrip("."))
        return
    total = f"none of {counted(len(pairs), 'labelled item')}"
    for name, none, count in (
        ("tpr", f"{total} is good", int((pairs["truth"] == "pass").sum())),
        ("tnr", f"{total} is bad", int((pairs["truth"] == "fail").sum())),
        ("false_pass", f"{total} is bad", int((pairs["truth"] == "fail").sum())),
        ("bad_given_accepted", f"{total} was passed", int((pairs["label"] == "pass").sum())),
        ("leniency", UNLABELLED, len(pairs)),
        ("unmeasured", UNLABELLED, len(pairs)),
    ):
        estimate: Estimate = getattr(rates, name)
        yield _row(name, (by, of), pairs, level, _estimated(lambda one=estimate: one, none), n=count)  # type: ignore[misc]
    scored = pairs[pairs["true_score"].notna() & pairs["score"].notna() & (pairs["about"] == "criterion")]
    if len(scored):
        error_of = _estimated(
            lambda: signed_error(list(scored["true_score"]), list(scored["score"]), **_tail(scored, level)),
            "nothing was scored twice",
        )
        yield _row("signed_error", (by, of), scored, level, error_of)


def agreement_of(by: str, of: str, pairs: DataFrame, level: float, why: str = UNLABELLED) -> Figure:
    """Share of measured items on which both say the same."""
    from ..calibration import percent_agreement

    some = pairs[pairs["label"] != "unmeasured"]
    found = _estimated(
        lambda: (
            percent_agreement(list(some["truth"]), list(some["label"]), **_tail(some, level)) if len(some) else None
        ),
        "nothing was measured" if len(pairs) else why,
    )
    return _row("agreement", (by, of), some, level, found)


def family_of(family: Sequence[Figure], name: str) -> Iterator[Figure]:
    """The rows of one figure, with what partial pooling makes of each."""
    rows = [row for row in family if row.figure == name]
    known = [row for row in rows if row.value is not None and row.n]
    if name not in POOLED or len(known) < 2:
        yield from rows
        return
    shrunk = shrink([row.value or 0.0 for row in known], [row.n for row in known])
    told = {id(row): value for row, value in zip(known, shrunk, strict=True)}
    yield from (replace(row, pooled=told.get(id(row))) for row in rows)


def shrink(rates: Sequence[float], counts: Sequence[int]) -> tuple[float, ...]:
    """Rates of kinds, each drawn to the mean of all by how little it rests on: mean + b (rate - mean).

    Beta-binomial by moments (Kleinman 1973): with N = sum n, mean m = sum n p / N and S = sum n (p - m)^2, the correlation
    within kinds is g = (S / (m (1 - m)) - (k - 1)) / (N - sum n^2 / N - (k - 1)), cut to 0..1, and
    b = n g / (n g + 1 - g). Where kinds differ no more than chance would have it g is 0, and each gets the mean. Items of a
    kind are taken as independent.
    """
    total, kinds = sum(counts), len(rates)
    mean = sum(n * p for n, p in zip(counts, rates, strict=True)) / total
    spread = sum(n * (p - mean) ** 2 for n, p in zip(counts, rates, strict=True))
    room = total - sum(n * n for n in counts) / total - (kinds - 1)
    if mean in (0.0, 1.0) or room <= 0:
        return (mean,) * kinds
    within = min(max((spread / (mean * (1 - mean)) - (kinds - 1)) / room, 0.0), 1.0)
    return tuple(
        mean + (n * within / (n * within + 1 - within)) * (p - mean) for n, p in zip(counts, rates, strict=True)
    )


def noise_of(frame: DataFrame, rater: str, level: float) -> Iterator[Figure]:
    """The spread of repeated overall scores of one attempt, and how often they fall on both sides of 7."""
    from ..calibration import noise_floor

    mine = frame[(frame["rater"] == rater) & (frame["about"] == "attempt") & frame["purpose"].isin(REPEATED)]
    mine = mine[mine["score"].notna()]
    mine = mine.assign(turn=mine.groupby("item").cumcount(), truth=None)
    table = mine.pivot(index="item", columns="turn", values="score")
    twice = table[table.notna().sum(axis=1) > 1] if len(table) else table
    names = {"noise": "sd", "flip_rate": "flip_rate"}
    task_of = dict(zip(mine["item"], mine["task"], strict=True))
    few = f"{counted(len(twice), 'attempt')} graded twice: %pge regrade --repeats 3"
    for name, field in names.items():

        def make(field: str = field) -> Estimate | None:
            if len(twice) < 2:
                return None
            found = noise_floor(twice.to_numpy(dtype=float), level=level, groups=[task_of[one] for one in twice.index])
            return getattr(found, field)  # type: ignore[no-any-return]

        yield _row(
            name, (GATE, "all"), mine[mine["item"].isin(twice.index)], level, _estimated(make, few), n=len(twice)
        )


def margins_of(whole: DataFrame, sd: float | None, level: float) -> Iterator[Figure]:
    """What passes at 7, and where the score must lie so far above that noise alone seldom lifts it there (1.645 sd, 95 %)."""
    from ..calibration import verdict_rates

    scored = whole[whole["score"].notna()]
    truth = _as_flags(scored["truth"])
    if sd is None or True not in truth or False not in truth:
        return
    for margin in (0.0, ONE_SIDED * sd):
        said = [float(score) - margin >= THRESHOLD for score in scored["score"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            rates = verdict_rates(truth, said, **_tail(scored, level))
        for name in ("false_pass", "tpr"):
            yield _row(name, ("margin", f"{margin:.2f}"), scored, level, getattr(rates, name))


def escalation_of(whole: DataFrame, level: float) -> tuple[tuple[float, float, float, float, float, int], ...]:
    """What is left to the judge when the work nearest to 7 goes to a person: margin, coverage, risk with its interval, n.

    ``risk``: the share of what is left that the judge decides wrongly.
    """
    from ..calibration import percent_agreement

    scored = whole[whole["score"].notna() & (whole["label"] != "unmeasured")]
    if not len(scored):
        return ()
    apart = (scored["score"].astype(float) - THRESHOLD).abs().round(2)
    points = []
    for margin in sorted({0.0, *apart}):
        left = scored[apart >= margin]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            right = percent_agreement(list(left["truth"]), list(left["label"]), **_tail(left, level))
        share = float((apart >= margin).mean())
        points.append((margin, share, 1 - right.value, 1 - right.high, 1 - right.low, len(left)))
    return tuple(points)


def passing_of(pairs: DataFrame, level: float, why: str = UNLABELLED) -> Figure:
    """The share of good attempts among those of the runs that have no label, corrected for the rater's errors."""
    from ..calibration import corrected_rate, percent_agreement

    known, others = pairs[pairs["truth"].notna()], pairs[pairs["truth"].isna()]
    if not len(others):
        found = _estimated(
            lambda: (
                percent_agreement(list(known["truth"]), ["pass"] * len(known), **_tail(known, level))
                if len(known)
                else None
            ),
            why,
        )
        made = _row("pass_rate", (GATE, "all"), known, level, found)
        return replace(
            made, note="; ".join(filter(None, ("every attempt has a label: counted, not corrected", made.note)))
        )
    tail = _tail(known, level)
    weights = {"item_weights": tail["item_weights"]} if "item_weights" in tail else {}
    found = _estimated(
        lambda: (
            corrected_rate(
                _as_flags(known["truth"]),
                _as_flags(known["label"]),
                _as_flags(others["label"]),
                groups=tail["groups"],
                groups_unlabelled=list(others["task"]),
                level=level,
                **weights,
            )
            if len(known)
            else None
        ),
        why,
    )
    return _row("pass_rate", (GATE, "all"), known, level, found)


def people_of(frame: DataFrame, pairs: DataFrame, rater: str, level: float) -> Iterator[Figure]:
    """How well people agree with one another, the judge with the same people, and whether it may stand in for one."""
    from ..calibration import alternative_annotator_test, human_ceiling

    labels = frame[(frame["who"] == "person") & (frame["rater"] != rater)]
    labels = labels[labels["label"].isin(["pass", "fail"])].sort_values("repeat", kind="stable")
    labels = labels.drop_duplicates(["item", "rater"])
    table = labels.pivot(index="item", columns="rater", values="label")
    mine = pairs[pairs["item"].isin(table.index)]
    people = table.shape[1]
    table = table.loc[list(mine["item"])] if people else table
    # What one of them did not label is a missing value of pandas, which cannot be asked what it equals.
    matrix = [[cell if isinstance(cell, str) else None for cell in row] for row in table.to_numpy(dtype=object)]
    judged = [None if label == "unmeasured" else str(label) for label in mine["label"]]
    groups, few = list(mine["task"]), f"not measurable with {people} {'person' if people == 1 else 'people'}"

    def ceiling(field: str) -> Estimate | None:
        if people < 2 or not matrix:
            return None
        found = human_ceiling(matrix, judged, "accuracy", level=level, groups=groups)
        return getattr(found, field)  # type: ignore[no-any-return]

    for name, field in (("human_ceiling", "people"), ("judge_with_people", "judge")):
        yield _row(name, (PEOPLE, "all"), mine, level, _estimated(lambda field=field: ceiling(field), few))  # type: ignore[misc]

    def stand_in() -> Estimate | None:
        if people < 3 or not matrix:
            return None
        found = alternative_annotator_test(matrix, judged, EPSILON, level=level, groups=groups)
        word = "it may stand in for a person" if found.passes else "it may not stand in for a person"
        return found.advantage.with_notes(
            f"{word} (wins over {100 * found.winning_rate:.0f} % of them, epsilon {EPSILON:g})"
        )

    yield _row("alternative_annotator", (PEOPLE, "all"), mine, level, _estimated(stand_in, few))


def thresholds_of(
    whole: DataFrame, level: float, max_rate: float, cost: float
) -> tuple[list[Figure], tuple[tuple[object, ...], ...]]:
    """The threshold with a guarantee, the one of least cost, and what each score would do as one."""
    from ..calibration import threshold_by_cost, threshold_for_false_pass, verdict_rates

    scored = whole[whole["score"].notna()]
    truth, scores = _as_flags(scored["truth"]), [float(score) for score in scored["score"]]
    tail, bad = _tail(scored, level), sum(label is False for label in truth)
    good, names = len(truth) - bad, ("threshold", "cheapest_threshold")
    if not bad or not good:
        why = f"none of {counted(len(truth), 'scored attempt')} is {'bad' if not bad else 'good'}"
        return [_row(name, (GATE, "all"), scored, level, why) for name in names], ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        safe = threshold_for_false_pass(truth, scores, max_rate, **tail)
        cheap = threshold_by_cost(truth, scores, false_pass=cost, **tail)
        points = []
        for at in sorted(set(scores)):
            rates = verdict_rates(truth, [score >= at for score in scores], **tail)
            price = (cost * bad * rates.false_pass.value + good * (1 - rates.tpr.value)) / len(truth)
            points.append((at, *rates.false_pass, rates.tpr.value, price, at == safe.value, at == cheap.value))
    rows = []
    for name, found, said in (
        ("threshold", safe, f"lets at most {100 * max_rate:.0f} % of bad work pass, with 95 % confidence"),
        (
            "cheapest_threshold",
            cheap,
            f"where a bad one accepted costs {cost:g}, a good one rejected 1; on the same items",
        ),
    ):
        made = _row(name, (GATE, "all"), scored, level, "; ".join(("accept nothing", *found.notes)))
        if math.isfinite(found.value):
            everything = ("accept everything",) if found.value <= min(scores) else ()
            made = replace(made, value=found.value, note="; ".join((*everything, said, *found.notes)))
        rows.append(made)
    return rows, tuple(points)


def bins_of(whole: DataFrame, level: float) -> tuple[tuple[object, ...], ...]:
    """Share of good attempts by overall score, which is read as a share of 10."""
    from ..calibration import reliability

    scored = whole[whole["score"].notna()]
    if not len(scored):
        return ()
    shares = [min(max(float(score) / 10, 0.0), 1.0) for score in scored["score"]]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            found = reliability(_as_flags(scored["truth"]), shares, 5, **_tail(scored, level))
    except PgeError:
        return ()
    return tuple((one.low, one.high, one.mean_probability, *one.observed, one.observed.n) for one in found.bins)
