"""The calibration card: what a rater is worth, on one page. Made from the files alone, so made again it is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from ..payloads import Json
from ..run import Run
from ..study_records import Card, Rater
from .figures import Figures
from .items import task_of
from .measuring import PEOPLE, Figure
from .study import StudyFile, StudyView

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT: Final = "pge-card/1"
DIGITS = 6
"""Decimals of a figure in the card: libraries differ in those behind."""
WHOLE = (
    "agreement",
    "kappa",
    "ac1",
    "false_pass",
    "bad_given_accepted",
    "tpr",
    "tnr",
    "leniency",
    "unmeasured",
    "pass_rate",
)
JUDGE = ("agreement", "kappa", "ac1", "false_pass", "tpr", "leniency", "signed_error", "unmeasured")
BY = ("agreement", "false_pass", "tpr", "leniency", "signed_error", "unmeasured")
OF_PEOPLE = ("human_ceiling", "judge_with_people", "alternative_annotator")
SEEN = ("verdict shown before", "verdict not shown")
NOT_MEASURED = "not measured"


def card(figures: Figures, rater: Rater, runs: Sequence[Run], study: StudyView) -> dict[str, Json]:
    """The card in its JSON form; the other forms are made of it. ``rater`` is the one whose figures they are."""
    kinds = sorted({(row.by, row.of) for row in figures.rows if row.by in ("check kind", "criterion", "step kind")})
    return {
        "format": FORMAT,
        "sentence": figures.sentence,
        "rater": {
            "id": rater.id,
            "name": rater.name,
            "model": rater.model,
            "mode": rater.mode,
            "effort": rater.effort,
            "examples": len(rater.examples),
            "edited_from": rater.edited_from,
            "prompt_sha256": hashlib.sha256(rater.prompt.encode("utf-8", "surrogatepass")).hexdigest(),
        },
        "on": {
            "runs": len(runs),
            "tasks": sorted({task_of(run) for run in runs}),
            "against": figures.against,
            "part": figures.part,
            "level": figures.level,
        },
        "gate": {name: _told(figures.one(name)) for name in WHOLE},
        "judge": {name: _told(figures.one(name, "judge")) for name in JUDGE},
        "kinds": [
            {"by": by, "of": of}
            | {name: _told(figures.one(name, by, of)) for name in BY if _is_there(figures, name, by, of)}
            for by, of in kinds
        ],
        "weakest": figures.weakest,
        "verdict_shown": {by: _told(figures.one("agreement", by)) for by in SEEN},
        "people": {name: _told(figures.one(name, PEOPLE)) for name in OF_PEOPLE},
        "exam": _exam(study, rater),
        "improve": _improve(study, rater),
        "attempts": [
            {"of": row.of, "figure": row.figure} | cast("dict[str, Json]", _told(row))
            for row in figures.rows
            if row.by == "attempt"
        ],
        "retries": _rows(figures.tried.retried()) if figures.tried else [],
        "alike": {row.of: _told(row) for row in figures.rows if row.by == "step"},
        "best_of": _rows(figures.tried.best_of()) if figures.tried else [],
        "margin": {f"{row.figure} {row.of}": _told(row) for row in figures.rows if row.by == "margin"},
        "drift": _drift(study, rater),
        "probes": _probes(study, rater),
        "noise": {name: _told(figures.one(name)) for name in ("noise", "flip_rate")},
        "thresholds": {name: _told(figures.one(name)) for name in ("threshold", "cheapest_threshold")}
        | {"max_false_pass": figures.max_false_pass, "cost": figures.cost},
        "lean": figures.lean,
        "advice": figures.advice,
        "remarks": list(figures.remarks),
        "looks": [
            {"number": one.number, "level": one.level, "raters": list(one.raters), "why": one.why}
            for one in study.looks
        ],
        "hashes": {
            "study": study.basis,
            "runs": [[run.task.run, run.head] for run in runs],
            "together": hashlib.sha256("\n".join(run.head for run in runs).encode()).hexdigest(),
            "rater": rater.id,
        },
    }


def _is_there(figures: Figures, name: str, by: str, of: str) -> bool:
    return any((row.figure, row.by, row.of) == (name, by, of) for row in figures.rows)


def _told(one: Figure) -> Json:
    return {
        "value": _number(one.value),
        "low": _number(one.low),
        "high": _number(one.high),
        "pooled": _number(one.pooled),
        "n": one.n,
        "tasks": one.tasks,
        "bad": one.bad,
        "note": one.note,
    }


def _number(value: float | None) -> float | None:
    """Rounded, and never -0."""
    return None if value is None else round(float(value), DIGITS) + 0.0


def _exam(study: StudyView, rater: Rater) -> Json:
    """What the last exam of this rater found; None where it sat none."""
    found: Json = None
    for one in study.studies:
        figures = one.asked.get("figures") if one.study == "exam" else None
        if isinstance(figures, Mapping) and figures.get(rater.id):
            of_rater = cast("dict[str, dict[str, Any]]", figures[rater.id])
            found = {
                name: {key: _number(value) if isinstance(value, float) else value for key, value in told.items()}
                for name, told in of_rater.items()
            } | {"sha256": one.sha256}
    return found


def _rows(frame: DataFrame) -> list[Json]:
    """A frame's rows; what is missing is null."""
    return [{str(name): _cell(value) for name, value in row.items()} for row in frame.to_dict("records")]


def _cell(value: Any) -> Json:
    if isinstance(value, str):
        return value
    if value is None or value != value:  # noqa: PLR0124 - nan alone is not itself
        return None
    return int(value) if isinstance(value, int) else _number(float(value))


def _drift(study: StudyView, rater: Rater) -> dict[str, Json]:
    """The slopes of the last drift study of this rater: as it is, and with the log."""
    mine = [one for one in study.studies if one.study == "drift" and one.asked.get("rater") == rater.id]
    if not mine:
        return {"drift of its scores": _told(Figure(figure="drift", note=f"{NOT_MEASURED}: %pge drift"))}
    figures = cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", mine[-1].asked["figures"])
    return {
        f"drift of its {'scores' if of == 'score' else 'passes'}, {mode}": _told(
            Figure(
                figure="drift",
                value=one["slope"],
                low=one["low"],
                high=one["high"],
                n=one["gradings"],
                tasks=one["tasks"],
                note="" if one["slope"] is not None else NOT_MEASURED,
            )
        )
        for mode, by in figures.items()
        for of, one in by.items()
    }


def _probes(study: StudyView, rater: Rater) -> list[Json]:
    """The effects of the last probes of this rater, the last one of each effect and rate."""
    found: dict[tuple[str, str], Json] = {}
    for one in study.studies:
        if one.study == "probe" and one.asked.get("rater") == rater.id:
            for effect in cast("list[dict[str, Json]]", one.asked["effects"]):
                found[str(effect["effect"]), str(effect["rate"])] = effect
    return list(found.values())


def _improve(study: StudyView, rater: Rater) -> list[Json]:
    """The trials in which this rater was one of two, the last one of each pair and part."""
    found: dict[tuple[str, ...], Json] = {}
    for one in study.studies:
        asked = one.asked
        if one.study == "improve" and rater.id in (asked["old"], asked["new"]):
            found[tuple(str(asked[name]) for name in ("old", "new", "part"))] = dict(asked)
    return list(found.values())


def json_of(contents: Mapping[str, Json]) -> str:
    """The card as a JSON text, to the byte."""
    return json.dumps(contents, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def keep(study: StudyFile, contents: Mapping[str, Json]) -> Card:
    """Put down in ``study.md`` that the card was made, once."""
    told = cast("Mapping[str, str]", contents["rater"])
    made = Card(
        rater=told["id"],
        sentence=str(contents["sentence"]),
        sha256=hashlib.sha256(json_of(contents).encode("utf-8", "surrogatepass")).hexdigest(),
    )
    if made not in study.read().cards:
        study.add(made, by="harness")
    return made
