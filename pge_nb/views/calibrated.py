"""Figures of a rater as they are shown, and the calibration card on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..display import Block, Cell, Code, Fold, Picture, Table, View, Words
from ..interrupts import held_back
from ..prose import counted
from .probed import HEADS as PROBED
from .probed import effect_row

if TYPE_CHECKING:
    from pandas import DataFrame

HOW_CALLED: Mapping[str, str] = {
    "agreement": "agreement",
    "kappa": "Cohen's kappa",
    "ac1": "Gwet's AC1",
    "tpr": "good work passed (TPR)",
    "tnr": "bad work not passed (TNR)",
    "false_pass": "bad work passed, P(pass | bad)",
    "bad_given_accepted": "bad among what was passed, P(bad | pass)",
    "leniency": "leniency: passes more than it should",
    "signed_error": "score less the true score, in points",
    "unmeasured": "unmeasured",
    "noise": "noise floor: spread of repeated scores (sd)",
    "flip_rate": "repeats on both sides of 7",
    "pass_rate": "good attempts, corrected",
    "human_ceiling": "people with one another",
    "judge_with_people": "the judge with the same people",
    "alternative_annotator": "advantage over a person",
    "threshold": "threshold with a guarantee",
    "cheapest_threshold": "threshold of least cost",
    "too_high": "scores above the true ones, in points",
    "rho": "how alike its verdicts are within a step (rho)",
}
"""Figure -> how it is said in tables."""
IN_NUMBERS = ("kappa", "ac1", "signed_error", "noise", "threshold", "cheapest_threshold", "too_high", "rho")
"""Figures that are no shares: they are told as numbers, the others in percent."""
HEADS = ("Figure", "Value", "From", "To", "Items", "Tasks", "Bad", "Why, or what to know")
KINDS = ("By", "Of", "Bad work passed", "Pooled", "Good work passed", "Leniency", "Agreement", "Items", "Bad")
CURVE = ("Accept from", "Bad work passed", "From", "To", "Good work passed", "Cost of one", "Marked")
POINTS = 12
"""Thresholds that a table shows at most."""
NOTE = 130
OF_ALL = ("only 1 group", *(f"only {n} groups" for n in range(2, 10)), "all items alike")
"""How notes begin that stand on nearly every figure of few tasks; frames and the JSON form keep them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a view of figures says beside its tables."""

    sentence: str
    rater: str
    against: str
    level: float
    lean: str
    advice: str
    weakest: str
    remarks: tuple[str, ...]
    max_false_pass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The frames of a rater's figures: `Figures.frame`, ``curve``, ``bins``, ``escalation``, `Attempts.retried`, ``best_of``."""

    figures: DataFrame
    curve: DataFrame
    bins: DataFrame
    escalation: DataFrame
    retried: DataFrame
    best_of: DataFrame


def calibrated_view(tables: Tables, told: Told, *, next_: str = "") -> View:
    """The sentence, the figures of the whole gate, by kind and attempt, thresholds, reliability: tables and charts.

    ``.df`` has the figures.
    """
    figures, curve, bins = tables.figures, tables.curve, tables.bins
    rows = _rows(figures)
    gate = [row for row in rows if row["by"] == "gate"]
    kinds = list(dict.fromkeys((row["by"], row["of"]) for row in rows if row["by"] in FAMILIES))
    weak = [Words(f"Weakest criterion of the gate: {told.weakest}.")] if told.weakest else []
    drawn = figures[figures["by"].isin(["gate", "judge", *FAMILIES])]
    blocks: list[Block] = [
        Words(f"Too strict or too lenient? {told.lean[0].upper()}{told.lean[1:]}. {told.advice}"),
        Table(caption=f"The whole gate against {told.against}", heads=HEADS, rows=_figures(gate)),
        *weak,
        _picture("rates_chart", drawn, _rates_alt(drawn)),
        Table(caption="By kind", heads=KINDS, rows=tuple(_kind(figures, by, of) for by, of in kinds)),
        _picture("threshold_chart", curve, _curve_alt(curve), max_false_pass=told.max_false_pass),
        Table(caption="If the gate accepted from a score up", heads=CURVE, rows=_points(curve)),
        *_by_attempt(rows, tables),
        *_to_a_person(tables.escalation),
        Fold(
            summary="Reliability of scores", blocks=(_picture("reliability_chart", bins, _bins_alt(bins)), _bins(bins))
        ),
        Fold(
            summary="The judge's own decisions, people, and labels given after the verdict was shown",
            blocks=(Table(caption="Beside the gate", heads=(HEADS[0], "Of", *HEADS[1:]), rows=_others(rows)),),
        ),
    ]
    return View(
        title=told.sentence,
        blocks=tuple(block for block in blocks if not isinstance(block, Table) or block.rows),
        notes=told.remarks,
        next=next_,
        foot=f"rater {told.rater} · intervals of {100 * told.level:g} %, grouped by task",
        df=figures,
    )


FAMILIES = ("check kind", "criterion", "step kind")
ALIKE = "step"
ATTEMPTS = ("attempt", "margin", ALIKE)
WITHIN = "How alike its verdicts are on different attempts of one step"
RETRIED = ("Retries", "Counted", "Predicted from its errors", "Steps")
RETRY_WORDS = {"accepted": "Steps with an accepted attempt", "bad_accepted": "Steps where that one is bad"}
BEST = ("Best of", "Score above the true one", "From", "To", "Steps")
MARGINS = "If a pass had to lie so far above 7 that noise seldom lifts it there (pass_margin)"
LEFT = ("Nearer to 7 than", "Left to the judge", "Wrong of these", "Attempts")


def _by_attempt(rows: Sequence[Mapping[str, Any]], tables: Tables) -> Iterator[Block]:
    """Errors by attempt; and where runs went on whatever the verdicts what retries let through, and what choosing does."""
    by = [row for row in rows if row["by"] == "attempt"]
    if by:
        told = tuple((str(row["of"]), *_figures([row])[0]) for row in by)
        heads = ("Attempt, among", *HEADS)
        survivors = any("survivors" in str(row["of"]) for row in by)
        yield Fold(
            summary="By attempt" + (" (survivors only; all of them: %pge run --keep-going 4)" if survivors else ""),
            blocks=(Table(caption="By attempt", heads=heads, rows=told),),
        )
    for name, caption in RETRY_WORDS.items():
        some = tables.retried[tables.retried["figure"] == name]
        if len(some):
            yield Table(
                caption=f"{caption}, by retries", heads=RETRIED, rows=tuple(_retried(row) for row in _rows(some))
            )
    if alike := [row for row in rows if row["by"] == ALIKE]:
        yield Table(caption=WITHIN, heads=("Attempts that are", *HEADS), rows=_alike(alike))
    if len(tables.best_of):
        lines = tuple(
            (int(row["n"]), *(said("too_high", row[key]) for key in ("too_high", "low", "high")), int(row["steps"]))
            for row in _rows(tables.best_of)
        )
        yield Table(caption="What choosing the best by score does to it", heads=BEST, rows=lines)
    if margin := [row for row in rows if row["by"] == "margin"]:
        told = tuple((f"{float(row['of']):.2f}", *_figures([row])[0]) for row in margin)
        yield Table(caption=MARGINS, heads=("Margin", *HEADS), rows=told)


def _retried(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    counted_, predicted = (
        _ranged(row["figure"], row, names)
        for names in (("measured", "low", "high"), ("predicted", "predicted_low", "predicted_high"))
    )
    return int(row["retries"]), counted_, predicted, int(row["steps"])


def _alike(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((str(row["of"]), *_figures([row])[0]) for row in rows)


ENDS = ("value", "low", "high")


def _ranged(figure: str, row: Mapping[str, Any], names: tuple[str, str, str] = ENDS) -> str | None:
    """A figure with its interval in one cell; None where it is missing."""
    value, low, high = (said(figure, row.get(name)) for name in names)
    return value if value is None or low is None or high is None else f"{value} [{low}, {high}]"


def _to_a_person(escalation: DataFrame) -> Iterator[Block]:
    """Risk against coverage."""
    rows = _rows(escalation)
    if len(rows) < 2:
        return
    every = max(1, -(-len(rows) // POINTS))
    lines = tuple(
        (f"{row['margin']:.2f}", f"{100 * row['coverage']:.0f} %", f"{100 * row['risk']:.0f} %", int(row["n"]))
        for row in rows[::every]
    )
    alt = "Wrong of what is left to the judge, by share: " + "; ".join(f"{line[1]}: {line[2]}" for line in lines) + "."
    yield Fold(
        summary="If work near 7 went to a person",
        blocks=(
            _picture("coverage_chart", escalation, alt),
            Table(caption="Risk against coverage", heads=LEFT, rows=lines),
        ),
    )


def _rows(frame: DataFrame) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", frame.to_dict("records"))


def _picture(chart: str, frame: DataFrame, alt: str, **more: float) -> Picture:
    def draw() -> bytes:
        with held_back():
            from .. import charts

            drawn: Callable[..., Any] = getattr(charts, chart)
            return charts.png(drawn(frame, **more))

    return Picture(draw=draw, alt=alt)


def _figures(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((HOW_CALLED[row["figure"]], *_told(row)) for row in rows)


def _others(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    some = [row for row in rows if row["by"] not in ("gate", *FAMILIES, *ATTEMPTS)]
    return tuple((HOW_CALLED[row["figure"]], str(row["by"]), *_told(row)) for row in some)


def _told(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    ends = (said(row["figure"], row.get(name)) for name in ("value", "low", "high"))
    return (*ends, _count(row["n"]), _count(row["tasks"]), _count(row["bad"]), _note(str(row["note"] or "")) or None)


def _note(note: str) -> str:
    """What is to be known of a figure, without what the remarks say of all of them at once; cut where it is long."""
    told = "; ".join(part for part in note.split("; ") if not part.startswith(OF_ALL))
    return told if len(told) <= NOTE else told[:NOTE] + "…"


def _count(value: Any) -> int:
    return int(value)


def said(figure: str, value: Any) -> str | None:
    """A figure as it is told; None where it is missing."""
    if value is None or value != value:  # noqa: PLR0124 - nan alone is not itself
        return None
    return f"{float(value):.2f}" if figure in IN_NUMBERS else f"{100 * float(value):.0f} %"


def _kind(figures: DataFrame, by: str, of: str) -> tuple[Cell, ...]:
    some = figures[(figures["by"] == by) & (figures["of"] == of)].set_index("figure")

    def value(name: str, column: str = "value") -> str | None:
        return said(name, some.loc[name, column]) if name in some.index else None

    passed = _ranged("false_pass", dict(some.loc["false_pass"])) if "false_pass" in some.index else None
    counts = (int(some.loc["leniency", "n"]), int(some.loc["leniency", "bad"]))  # type: ignore[arg-type]
    shares = (value("tpr"), value("leniency"), value("agreement"))
    return (by, of, passed, value("false_pass", "pooled"), *shares, *counts)


def _points(curve: DataFrame) -> tuple[tuple[Cell, ...], ...]:
    """At most so many thresholds, spread over all, with those that are marked."""
    rows = _rows(curve)
    every = max(1, -(-len(rows) // POINTS))
    shown = [row for place, row in enumerate(rows) if place % every == 0 or row["guaranteed"] or row["cheapest"]]
    return tuple(
        (
            f"{row['threshold']:.2f}",
            *(f"{100 * row[name]:.0f} %" for name in ("false_pass", "low", "high", "tpr")),
            f"{row['cost']:.2f}",
            ", ".join(word for word in ("guaranteed", "cheapest") if row[word]) or None,
        )
        for row in shown
    )


def _bins(bins: DataFrame) -> Block:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (f"{10 * row['from']:.0f} to {10 * row['to']:.0f}", f"{10 * row['score']:.1f}", *_shares(row), int(row["n"]))
        for row in _rows(bins)
    )
    if not rows:
        return Words("Not measurable: nothing with a score was labelled.")
    return Table(
        caption="Good attempts by overall score", heads=("Scores", "Mean", "Good", "From", "To", "Attempts"), rows=rows
    )


def _shares(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{100 * row[name]:.0f} %" for name in ("good", "low", "high"))


def _rates_alt(frame: DataFrame) -> str:
    told = ["How often bad work is passed, by kind."]
    for row in _rows(frame[(frame["figure"] == "false_pass") & frame["value"].notna()]):
        of = "" if row["of"] == "all" else f" {row['of']}"
        told.append(f"{row['by']}{of}: {100 * row['value']:.0f} % [{100 * row['low']:.0f}, {100 * row['high']:.0f}].")
    return " ".join(told)


def _curve_alt(curve: DataFrame) -> str:
    told = ["Work that is passed by threshold: bad, good."]
    told += [
        f"{row['threshold']:.2f}: {100 * row['false_pass']:.0f} %, {100 * row['tpr']:.0f} %"
        f"{', guaranteed' if row['guaranteed'] else ''}."
        for row in _rows(curve)
    ]
    return " ".join(told) if len(told) > 1 else "No threshold is measurable."


def _bins_alt(bins: DataFrame) -> str:
    told = [f"{10 * row['score']:.1f}: {100 * row['good']:.0f} % of {row['n']}." for row in _rows(bins)]
    return " ".join(["Good attempts by mean overall score.", *told]) if told else "No score is measurable."


# The card

TAUGHT = ("New", "Old", "Part", "Found", "Before", "Now", "Difference", "From", "To", "Would be seen", "Items", "Tasks")


def card_view(contents: Mapping[str, Any], *, files: Sequence[str] = (), next_: str = "") -> View:
    """The card as one page, made of its JSON form alone."""
    rater, on, hashes = contents["rater"], contents["on"], contents["hashes"]
    blocks: list[Block] = [
        Words(_who(rater, on)),
        Table(caption=f"The whole gate against {on['against']}", heads=HEADS, rows=_of(contents["gate"])),
        Table(caption="What the judge itself decided", heads=HEADS, rows=_of(contents["judge"])),
        Table(caption="Errors by kind", heads=KINDS, rows=tuple(_kind_of(one) for one in contents["kinds"])),
        *([Words(f"Weakest criterion of the gate: {contents['weakest']}.")] if contents["weakest"] else []),
        Table(caption="Exam, drift and noise", heads=HEADS, rows=tuple(_exam(contents))),
        Table(
            caption="By attempt",
            heads=("Attempt, among", *HEADS),
            rows=tuple((str(one["of"]), *_figures([one])[0]) for one in contents["attempts"]),
        ),
        Table(
            caption="Retry until it passes",
            heads=("What", *RETRIED),
            rows=tuple((RETRY_WORDS[one["figure"]], *_retried(one)) for one in contents["retries"]),
        ),
        Table(
            caption=WITHIN,
            heads=("Attempts that are", *HEADS),
            rows=_alike({"figure": "rho", "of": of} | row for of, row in contents["alike"].items()),
        ),
        Table(
            caption="What choosing the best by score does to it",
            heads=BEST,
            rows=tuple(
                (one["n"], *(said("too_high", one[name]) for name in ("too_high", "low", "high")), one["steps"])
                for one in contents["best_of"]
            ),
        ),
        Table(
            caption=MARGINS,
            heads=("What, at which margin", *HEADS[1:]),
            rows=tuple(
                (name, *_told({"figure": name.split()[0]} | dict(row))) for name, row in contents["margin"].items()
            ),
        ),
        Table(
            caption="Probes: what moves it that should not (q under .05: found)",
            heads=PROBED,
            rows=tuple(effect_row(one) for one in contents["probes"]),
        ),
        Table(
            caption="What examples taught", heads=TAUGHT, rows=tuple(_trial(one) for one in contents.get("improve", ()))
        ),
        Table(caption="Thresholds on the overall score", heads=HEADS, rows=_of(_marked(contents["thresholds"]))),
        Table(caption="People", heads=HEADS, rows=(*_of(contents["people"]), *_seen(contents["verdict_shown"]))),
        Words(f"Too strict or too lenient? {contents['lean'][0].upper()}{contents['lean'][1:]}. {contents['advice']}"),
        Table(
            caption="Looks at the test part",
            heads=("Look", "Level", "Raters", "Why"),
            rows=tuple(
                (one["number"], f"{one['level']:g}", ", ".join(one["raters"]), one["why"]) for one in contents["looks"]
            ),
        ),
        *([Words("Nobody looked at the test part.")] if not contents["looks"] else []),
        *(Words(remark) for remark in contents["remarks"]),
        Table(
            caption="Hashes of what this rests on (of each run: card.json)",
            heads=("What", "Hash"),
            rows=(
                ("study.md", Code(hashes["study"] or "there is none")),
                ("rater", Code(hashes["rater"])),
                ("its prompt", Code(rater["prompt_sha256"])),
                (f"heads of {counted(len(hashes['runs']), 'run')}", Code(hashes["together"])),
            ),
        ),
    ]
    return View(
        title=contents["sentence"],
        blocks=tuple(block for block in blocks if not isinstance(block, Table) or block.rows),
        notes=(f"Written: {', '.join(files)}.",) if files else (),
        next=next_,
        foot=f"rater {rater['id']} · intervals of {100 * on['level']:g} %, grouped by task · {contents['format']}",
    )


def _who(rater: Mapping[str, Any], on: Mapping[str, Any]) -> str:
    called = f", called {rater['name']}" if rater["name"] else ""
    told = f"Judge {rater['id']}{called}: {rater['model'] or 'model not known'}, {rater['mode']}"
    told += f", {counted(rater['examples'], 'example')}" if rater["examples"] else ""
    part = f", {on['part']} part" if on["part"] else ""
    return f"{told}. On {counted(on['runs'], 'run')} of {counted(len(on['tasks']), 'task')}{part}, against {on['against']}."


def _of(told: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    return _figures([{"figure": name} | dict(row) for name, row in told.items()])


def _trial(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    """Two judges compared on one part of the split; shares in per cent, differences in points."""
    shares = [None if one[name] is None else f"{100 * one[name]:.0f} %" for name in ("old_right", "new_right")]
    gaps = [None if one[name] is None else f"{100 * one[name]:+.0f}" for name in ("difference", "low", "high")]
    seen = None if one["detectable"] is None else f"{100 * one['detectable']:.0f}"
    names = (Code(one["new"]), Code(one["old"]), one["part"])
    return (*names, one["found"], *shares, *gaps, seen, one["n"], one["tasks"])


def _marked(thresholds: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return {name: row for name, row in thresholds.items() if isinstance(row, Mapping)}


def _seen(told: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple((f"agreement, {by}", *_told({"figure": "agreement"} | dict(row))) for by, row in told.items())


def _kind_of(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    def value(name: str, end: str = "value") -> str | None:
        return said(name, one[name][end]) if name in one else None

    shares = (value("tpr"), value("leniency"), value("agreement"))
    return (
        one["by"],
        one["of"],
        _ranged("false_pass", one["false_pass"]) if "false_pass" in one else None,
        value("false_pass", "pooled"),
        *shares,
        one["leniency"]["n"],
        one["leniency"]["bad"],
    )


def _exam(contents: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    exam = contents["exam"] or {}
    for name, called in (("catch", "planted defects caught"), ("false_alarms", "clean copies failed")):
        row = exam.get(name)
        if row is None:
            yield called, None, None, None, 0, 0, 0, "not measured: %pge exam"
        else:
            ends = (said(name, row[end]) for end in ("value", "low", "high"))
            yield called, *ends, row["n"], None, None, f"of {counted(row['sources'] or 0, 'source')}"
    for name, row in contents["drift"].items():
        yield name, *_told({"figure": "too_high" if "score" in name else "passes", "bad": 0} | dict(row))
    yield from _of(contents["noise"])
