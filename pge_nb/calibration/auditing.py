"""What arrays cannot show: traps in the data of raters, each with its remedy."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pge_nb.calibration.agreement import cohen_kappa, gwet_ac, percent_agreement
from pge_nb.calibration.estimate import CELL
from pge_nb.calibration.inputs import design, is_missing, ratings_from
from pge_nb.calibration.rates import mean_of
from pge_nb.errors import BadInput

RARE = 0.05  # a label given so seldom beside another kind of labels is taken for a reply that could not be parsed
CHANCE = 0.05
LONGEST_TAIL = 6  # characters by which one spelling may go on after the other, as in "..._D" and "..._DL.json"
MOST_LABELS = 12  # a scale; with more distinct numbers, raters of one scale differ in their extremes by chance
WORTH_TELLING = 1.2  # design effect from which ignored groups are told
UNPARSED = re.compile(r"garbage|unpars|invalid|error|unknown|n/?a|none|null|\?+|", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One trap.

    Attributes:
        kind: its name, e.g. "label sets differ".
        where: rater, column or ids it was found in.
        fact: what is so.
        remedy: what to do about it.
        count: ratings, items or ids that it touches.
    """

    kind: str
    where: str
    fact: str
    remedy: str
    count: int


@dataclass(frozen=True, slots=True)
class Audit:
    """All findings; empty where nothing was found."""

    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def kinds(self) -> tuple[str, ...]:
        """Names of what was found, each once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))

    def __str__(self) -> str:
        return "\n".join(f"{f.kind} ({f.where}): {f.fact}\n  {f.remedy}" for f in self.findings) or "nothing found"

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>"
            + "".join(f'<td style="{CELL}">{html.escape(text)}</td>' for text in (f.kind, f.where, f.fact, f.remedy))
            + "</tr>"
            for f in self.findings
        )
        heads = "".join(f'<th style="{CELL}">{head}</th>' for head in ("found", "where", "fact", "remedy"))
        return (
            f'<table style="border-collapse:collapse"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
            if rows
            else "nothing found"
        )


def audit(
    frame: pd.DataFrame,
    item: str,
    rater: str,
    label: str,
    group: str | None = None,
    *,
    threshold: float | None = None,
) -> Audit:
    """Look for what makes statistics of raters wrong without an error.

    - labels in two forms (numbers and text), and label sets that do not meet: {1, 2} against {0, 1};
    - verdicts that cannot be parsed: counted as a category of their own, agreement among the parsed ones beside;
    - ids that differ only in spelling: case, punctuation, leading zeros, or a letter or two;
    - scores on the threshold to within rounding, where 6.999999 and 7 decide differently;
    - a rater with one label only; items that one rater alone rated; an item rated twice by one rater;
    - groups ignored: the design effect of agreement where items of a group resemble each other;
    - the kappa paradox: high agreement and AC1 beside a kappa near 0, since one label is rare.

    Args:
        frame: one row a rating.
        item: column that names the item.
        rater: column that names the rater.
        label: column that holds the rating.
        group: column that names the item's group (task, run), where there is one.
        threshold: score from which an item passes, to look for ties.

    Raises:
        BadInput: when a column is not there, or the frame is empty.
    """
    names = [item, rater, label] + ([group] if group is not None else [])
    if absent := [name for name in names if name not in frame.columns]:
        raise BadInput(f"The frame has no column {absent[0]!r}.", f"It has {', '.join(map(str, frame.columns))}.")
    if frame.empty:
        raise BadInput("The frame has no rows.", "Give one row a rating.")
    frame = frame.reset_index(drop=True)  # repeated index labels, as after pandas.concat, would mix rows up
    findings = [
        *twice_rated(frame, item, rater),
        *label_sets(frame, rater, label),
        *unparsed(frame, item, rater, label),
        *near_duplicates(frame, [name for name in (item, rater, group) if name is not None]),
        *ties(frame, label, threshold),
        *one_class(frame, rater, label),
    ]
    single = frame.drop_duplicates([item, rater])
    findings += pairwise(single, item, rater, label, group)
    return Audit(tuple(findings))


def twice_rated(frame: pd.DataFrame, item: str, rater: str) -> Iterator[Finding]:
    """One rater, one item, two rows."""
    count = int(frame.duplicated([item, rater]).sum())
    if count:
        fact = f"{count} ratings repeat a rater's rating of an item"
        yield Finding(
            kind="rated twice", where=rater, fact=fact, remedy="keep one repeat, or use noise_floor on all", count=count
        )


def known_labels(frame: pd.DataFrame, label: str) -> pd.Series[Any]:
    """The ratings that are there."""
    values = frame[label].astype(object)
    return values[~is_missing(values.to_numpy(dtype=object))]


def labels_by_rater(frame: pd.DataFrame, rater: str, label: str) -> dict[str, set[Any]]:
    """The set of labels that each rater gave."""
    present = known_labels(frame, label)
    return {str(name): set(part.tolist()) for name, part in present.groupby(frame.loc[present.index, rater])}


def label_sets(frame: pd.DataFrame, rater: str, label: str) -> Iterator[Finding]:
    """Raters whose labels differ in form, or of which neither set holds the other."""
    sets = labels_by_rater(frame, rater, label)
    for (a, first), (b, second) in itertools.combinations(sets.items(), 2):
        where = f"{a}, {b}"
        if not first & second and {str(one) for one in first} & {str(one) for one in second}:
            yield Finding(
                kind="labels in two forms",
                where=where,
                fact=f"{listed(first)} against {listed(second)}: text and numbers never agree",
                remedy="read both in one form, e.g. with .astype(str)",
                count=len(first | second),
            )
        elif shifted(first, second) or shifted(second, first):
            yield Finding(
                kind="label sets differ",
                where=where,
                fact=f"{listed(first)} against {listed(second)}",
                remedy="see whether one scale starts at 0 and the other at 1, and map one onto the other",
                count=len(first ^ second),
            )
        elif not first & second and max(len(first), len(second)) <= MOST_LABELS:
            yield Finding(
                kind="label sets differ",
                where=where,
                fact=f"{listed(first)} against {listed(second)} have no label in common",
                remedy="map one set onto the other",
                count=len(first | second),
            )


def shifted(low: set[Any], high: set[Any]) -> bool:
    """Whether two scales of whole numbers begin and end at different places, the one below the other."""
    scales = (low, high)
    if max(map(len, scales)) > MOST_LABELS or not all(whole(label) for scale in scales for label in scale):
        return False
    return bool(min(low) < min(high) and max(low) < max(high))


def whole(label: Any) -> bool:
    """Whether a label is a whole number."""
    return isinstance(label, (int, float, np.number)) and float(label).is_integer()


def listed(labels: set[Any]) -> str:
    """Up to five labels, sorted by their text."""
    shown = sorted(map(repr, labels))
    return "{" + ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "") + "}"


def unparsed(frame: pd.DataFrame, item: str, rater: str, label: str) -> Iterator[Finding]:
    """Labels that look like replies that could not be read: named so, or rare text beside numbers."""
    present = known_labels(frame, label)
    shares = present.astype(str).value_counts(normalize=True)
    plain = {text for text in shares.index if as_number(text) is not None}
    odd = [
        text for text in shares.index
        if text not in plain and (UNPARSED.fullmatch(text.strip()) or (plain and shares[text] < RARE))
    ]  # fmt: skip
    for text in odd:
        rows = frame.loc[present.index][present.astype(str) == text]
        raters = ", ".join(map(str, sorted(rows[rater].astype(str).unique())))
        beside = agreement_beside(frame, item, rater, label, frame[item].isin(rows[item]))
        yield Finding(
            kind="unparsable verdict",
            where=raters,
            fact=f"{text!r} {len(rows)} times ({100 * len(rows) / len(present):.1f} % of ratings); {beside}",
            remedy="keep it as a category of its own and tell its count; show figures of the parsed ones beside, never instead",
            count=len(rows),
        )


def agreement_beside(frame: pd.DataFrame, item: str, rater: str, label: str, touched: pd.Series[bool]) -> str:
    """Mean pairwise agreement of all items and of those without such a verdict."""
    text = frame.assign(**{label: frame[label].astype(str)}).drop_duplicates([item, rater])
    shares = []
    for part in (text, text[~touched]):
        wide = ratings_from(part, item, rater, label)
        pairs = [percent_agreement(wide[a], wide[b]).value for a, b in itertools.combinations(wide.columns, 2)]
        shares.append(float(np.nanmean(pairs)) if pairs else float("nan"))
    return f"mean agreement {shares[0]:.3f} with it, {shares[1]:.3f} among the parsed"


def as_number(text: str) -> float | None:
    """The number that a text spells."""
    try:
        return float(text)
    except ValueError:
        return None


def near_duplicates(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[Finding]:
    """Ids of a column that differ only in spelling."""
    for name in names:
        ids = [one for one in frame[name].dropna().unique().tolist() if isinstance(one, str)]
        for family in families(ids):
            yield Finding(
                kind="near-duplicate ids",
                where=name,
                fact=", ".join(map(repr, family)),
                remedy="map them to one id, so that a task counts once and its items stay together",
                count=len(family),
            )


def families(ids: list[str]) -> list[list[str]]:
    """Ids that are the same after folding, or that follow each other in order and are nearly so."""
    folded: dict[str, list[str]] = {}
    for one in sorted(ids):
        folded.setdefault(fold(one), []).append(one)
    # Ids with the same numbers stand together: "task 7 ..." is never compared with "task 8 ...", nor each id with all.
    keys = sorted(folded, key=lambda key: (re.findall(r"\d+", key), key))
    merged: list[list[str]] = []
    for before, key in zip([None, *keys], keys, strict=False):
        if before is not None and alike(before, key):
            merged[-1].extend(folded[key])
        else:
            merged.append(list(folded[key]))
    return [family for family in merged if len(family) > 1]


def fold(text: str) -> str:
    """Case, punctuation and leading zeros removed."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\W_]+", " ", text.casefold()).strip())


def alike(a: str, b: str) -> bool:
    """Long texts with the same numbers, one of which only goes on a little further, or with a slip in a longer word."""
    if min(len(a), len(b)) < 8 or re.findall(r"\d+", a) != re.findall(r"\d+", b):
        return False
    if b.startswith(a) and len(b) - len(a) <= LONGEST_TAIL:
        return True
    first, second = a.split(), b.split()
    if len(first) != len(second):
        return False
    apart = [(x, y) for x, y in zip(first, second, strict=True) if x != y]
    return len(apart) == 1 and all(
        min(map(len, pair)) >= 5 and SequenceMatcher(None, *pair).ratio() >= 0.8 for pair in apart
    )


def ties(frame: pd.DataFrame, label: str, threshold: float | None) -> Iterator[Finding]:
    """Scores that meet the threshold only up to rounding."""
    values = pd.to_numeric(frame[label], errors="coerce").to_numpy(dtype=np.float64)
    near = (
        np.isclose(values, threshold, rtol=0, atol=1e-6) if threshold is not None else np.zeros(len(values), dtype=bool)
    )
    off = near & (values != threshold)
    if off.any():
        yield Finding(
            kind="ties at a float threshold",
            where=label,
            fact=f"{int(off.sum())} scores equal {threshold:g} but for rounding, {int((near & ~off).sum())} exactly",
            remedy="round scores to the scale's own step before score >= threshold",
            count=int(off.sum()),
        )


def one_class(frame: pd.DataFrame, rater: str, label: str) -> Iterator[Finding]:
    """Raters with one label only."""
    for name, labels in labels_by_rater(frame, rater, label).items():
        if len(labels) == 1:
            yield Finding(
                kind="one class only",
                where=name,
                fact=f"every rating is {next(iter(labels))!r}",
                remedy="label items of the other class: kappa, AUC and one of TPR and TNR have nothing to rest on",
                count=1,
            )


def pairwise(frame: pd.DataFrame, item: str, rater: str, label: str, group: str | None) -> Iterator[Finding]:
    """What shows in pairs of raters: no overlap, groups that matter, the paradox."""
    wide = ratings_from(frame.assign(**{label: frame[label].astype(object)}), item, rater, label)
    groups = None if group is None else frame.drop_duplicates(item).set_index(item)[group].reindex(wide.index)
    if wide.shape[1] < 2:
        return
    alone = int((wide.notna().sum(axis=1) < 2).sum())
    if alone:
        yield Finding(
            kind="rated once",
            where=item,
            fact=f"{alone} items have one rater",
            remedy="agreement leaves them out",
            count=alone,
        )
    for a, b in itertools.combinations(wide.columns, 2):
        both = np.asarray(wide[[a, b]].notna().all(axis=1), dtype=bool)
        pair = wide.loc[both, [a, b]].astype(str)
        if pair.empty:
            continue
        yield from paradox(pair, f"{a}, {b}")
        if groups is not None:
            yield from ignored_groups(pair, groups[both], f"{a}, {b}")


def paradox(pair: pd.DataFrame, where: str) -> Iterator[Finding]:
    """High agreement and AC1 beside a low kappa."""
    a, b = pair.iloc[:, 0], pair.iloc[:, 1]
    if len(pair) < 3:
        return
    agreement = float((a == b).mean())
    if agreement < 0.8:
        return
    kappa, ac = cohen_kappa(a, b, interval="analytic").value, gwet_ac(pair, interval="analytic").value
    if ac - kappa >= 0.4:
        common = pd.concat([a, b]).value_counts(normalize=True).iloc[0]
        yield Finding(
            kind="kappa paradox",
            where=where,
            fact=f"agreement {agreement:.2f}, AC1 {ac:.2f}, kappa {kappa:.2f}: {100 * common:.0f} % of labels are one label",
            remedy="show AC1 and the rates by class beside kappa, and label more of the rare class",
            count=len(pair),
        )


def ignored_groups(pair: pd.DataFrame, groups: pd.Series[Any], where: str) -> Iterator[Finding]:
    """Agreement that hangs together within groups."""
    same = (pair.iloc[:, 0] == pair.iloc[:, 1]).to_numpy().astype(np.float64)
    if groups.isna().any() or groups.nunique() < 2 or groups.nunique() == len(groups):
        return
    plan = design(len(same), level=0.95, groups=groups, item_weights=None, interval="default", rng=None)
    clustered = mean_of(same, plan).variance()
    naive = same.mean() * (1 - same.mean()) / len(same)
    # Independent items scatter too: G - 1 times the ratio is then about chi-squared with G - 1 degrees of freedom.
    count = int(groups.nunique())
    if (
        naive > 0
        and clustered / naive >= WORTH_TELLING
        and stats.chi2.sf((count - 1) * clustered / naive, count - 1) < CHANCE
    ):
        yield Finding(
            kind="clusters ignored",
            where=where,
            fact=f"the variance of agreement is {clustered / naive:.1f} times that of independent items",
            remedy="give groups= to every statistic",
            count=count,
        )
