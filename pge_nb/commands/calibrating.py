"""What a rater is worth: its figures against people or the oracle, and the card on one page."""

from __future__ import annotations

import html
from typing import Annotated, Literal

from ..display import View
from ..errors import BadInput
from ..frames import frame_of
from ..run import Run
from ..runs import Runs
from ..studies.by_attempt import BEST_OF, RETRIED
from ..studies.carding import card as contents_of
from ..studies.carding import json_of, keep
from ..studies.figures import COST, MAX_FALSE_PASS, Figures
from ..studies.figures import calibrate as figures_of
from ..studies.items import ORACLE
from ..studies.measuring import PEOPLE
from ..studies.replaying import gate_raters
from ..studies.study import StudyFile, open_study
from ..study_records import Rater
from ..views.calibrated import Tables, Told, calibrated_view, card_view
from .here import Here, path_of
from .of_runs import RUNS, runs_of
from .raters import judge_named, judges_here

Part = Literal["development", "test"]
RATER = "a judge's id or name; gate: the judge of these runs"
AGAINST = "people, oracle, or a rater; none: people where they labelled, else the oracle"
PART = "of the split; none: all but the test part. A look at test is put down, and makes the intervals wider"
CARD = "card"
PAGE = (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
    '<body style="background-color:#ffffff;color:#1a1a1a;font-family:sans-serif;margin:24px">\n{body}\n</body>\n</html>\n'
)


def calibrate(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, RATER] = "gate",
    against: Annotated[str, AGAINST] = "",
    part: Annotated[Part | None, PART] = None,
    max_false_pass: Annotated[
        float, "of bad work at most this share may pass the guaranteed threshold"
    ] = MAX_FALSE_PASS,
    cost: Annotated[float, "of a bad one accepted, where a good one rejected costs 1"] = COST,
) -> View:
    """How far a judge can be trusted: bad work that it passes, by kind, with intervals by task; thresholds; what to do."""
    _, _, judge, found = _measured(here, runs, rater, against, part, max_false_pass=max_false_pass, cost=cost)
    told = Told(
        sentence=found.sentence,
        rater=f"{judge.id} ({judge.name})" if judge.name else judge.id,
        against=found.against,
        level=found.level,
        lean=found.lean,
        advice=found.advice,
        weakest=found.weakest,
        remarks=found.remarks,
        max_false_pass=max_false_pass,
    )
    tables = Tables(
        figures=found.frame(),
        curve=found.curve(),
        bins=found.bins(),
        escalation=found.escalation(),
        retried=found.tried.retried() if found.tried else frame_of(RETRIED, []),
        best_of=found.tried.best_of() if found.tried else frame_of(BEST_OF, []),
    )
    return calibrated_view(tables, told, next_="%pge card")


def card(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, RATER] = "gate",
    against: Annotated[str, AGAINST] = "",
    part: Annotated[Part | None, PART] = None,
    to: Annotated[str, "a directory for the files, instead of exports/card/"] = "",
) -> View:
    """The calibration card: what the judge is worth, on one page, as HTML, Markdown, LaTeX and JSON; made again, the same."""
    from ..exports import EXPORTS, put

    chosen, study, judge, found = _measured(here, runs, rater, against, part)
    contents = contents_of(found, judge, chosen, study.read())
    page, exports = card_view(contents), here.directory / EXPORTS
    place = here.directory / path_of(to) if to else exports / CARD
    forms = {
        "html": PAGE.format(title=html.escape(page.title), body=page.html()),
        "md": page.markdown() + "\n",
        "tex": page.latex() + "\n",
        "json": json_of(contents),
    }
    written = put(
        {place / f"{CARD}.{form}": text.encode("utf-8", "backslashreplace") for form, text in forms.items()}, exports
    )
    keep(study, contents)
    beside = [
        path.relative_to(here.directory).as_posix() if path.is_relative_to(here.directory) else str(path)
        for path in written
    ]
    return card_view(contents, files=beside, next_="%pge calibrate")


def _measured(
    here: Here,
    words: tuple[str, ...],
    rater: str,
    against: str,
    part: Part | None,
    *,
    max_false_pass: float = MAX_FALSE_PASS,
    cost: float = COST,
) -> tuple[Runs, StudyFile, Rater, Figures]:
    chosen, study = runs_of(here, words), open_study(here.directory)
    judge = _judge(here, rater, chosen)
    reference = id_of(here, against, chosen)
    found = figures_of(
        chosen, judge.id, study, against=reference, part=part or "", max_false_pass=max_false_pass, cost=cost
    )
    return chosen, study, judge, found


def _judge(here: Here, said: str, chosen: Runs) -> Rater:
    """The judge that is meant; ``gate`` is that of the runs, where they have one in common."""
    if said != "gate":
        return judge_named(here, said, chosen)
    gates = gate_raters(chosen)
    if len(gates) == 1:
        return gates[0]
    listed = ", ".join(one.name or one.id for one in gates)
    raise BadInput(
        f"These runs have {len(gates)} gates: {listed}.", f"Name one: --rater {gates[0].name or gates[0].id}"
    )


def id_of(here: Here, said: str, chosen: Runs) -> str:
    """The id of the rater that is the reference; a name that nobody has is left as it is, and refused where it is looked for."""
    if said in ("", PEOPLE, ORACLE):
        return said
    known: list[Run] = list(chosen)
    return next((one.rater.id for one in judges_here(here, known) if said in (one.rater.id, one.rater.name)), said)
