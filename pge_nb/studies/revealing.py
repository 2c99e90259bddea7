"""The reveal: a person who judged attempts, and said how sure, beside judges that read the same ones, and what is so."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..calibration.estimate import CalibrationWarning
from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, NUMBER, TEXT, Columns
from ..models import Model
from ..run import Run
from ..study_records import Label, Rater
from .items import ORACLE, item_key
from .ratings import ratings
from .replaying import regrade_runs
from .study import open_study

if TYPE_CHECKING:
    from pandas import DataFrame

REVEALED: Columns = {
    "rater": TEXT,
    "items": COUNT,
    "right": COUNT,
    "bad_passed": COUNT,
    "good_failed": COUNT,
    "brier": NUMBER,
}
"""The columns of `reveal`."""
GUESS = 50.0
"""How sure a person is, in percent, who did not say."""


def reveal(
    runs: Run | Iterable[Run],
    person: str,
    judges: Sequence[Rater] = (),
    *,
    directory: Path | str = ".",
    model: Model | None = None,
) -> DataFrame:
    """A row for the person and one for each judge, on the whole attempts that the person labelled and the oracle knows.

    ``right``, ``bad_passed`` and ``good_failed`` count items; ``brier`` is the mean squared distance between how sure they were
    that an item is good and what is so: 0 is perfect, 0.25 a coin's (Brier 1950). A person's note begins with how sure they are
    of their word, in percent (50 where it does not; *unclear* is 50); a judge's overall score of 10 is read as certain that it is
    good. What judges did not grade yet they are asked (`regrade`). ``BadInput`` where the person labelled nothing that the oracle
    knows.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    study = open_study(Path(directory))
    graded = regrade_runs(several, judges, directory=directory, model=model).graded if judges else ()
    mine = {
        item_key(one.run, one.step, one.attempt_hash, one.on): one
        for one in study.read().labels
        if one.rater == person and not one.on and one.repeat == 1
    }
    frame = ratings(several, study.read(), graded)
    whole = frame[(frame["about"] == "attempt") & frame["item"].isin(mine)].drop_duplicates(["item", "rater"])
    said: dict[str, dict[str, tuple[str, float]]] = {}
    for row in whole.to_dict("records"):
        said.setdefault(row["rater"], {})[row["item"]] = row["label"], row["score"]
    if ORACLE not in said:
        raise BadInput(
            f"{person} labelled no attempt of these runs that the oracle knows.",
            f"%pge label --as {person} --about attempt",
        )
    truth = {item: label == "pass" for item, (label, _) in said[ORACLE].items()}
    chances = {person: {item: sure_of(mine[item]) for item in truth}}
    names = {person: person} | {judge.id: judge.name or judge.id for judge in judges}
    rows = []
    for rater, name in names.items():
        theirs = said.get(rater, {})
        by_score = {item: score / 10 for item, (_, score) in theirs.items()}
        words = {item: label for item, (label, _) in theirs.items()}
        rows.append(_row(name, truth, words, chances.get(rater, by_score)))
    return frame_of(REVEALED, rows)


def sure_of(label: Label) -> float:
    """How likely a person holds an item to be good, 0 to 1, by their word and the percentage that begins their note."""
    told = re.match(r"\s*(\d+(?:\.\d+)?)", label.note)
    share = min(float(told[1]) if told else GUESS, 100.0) / 100
    return share if label.verdict == "pass" else 1 - share if label.verdict == "fail" else GUESS / 100


def _row(
    name: str, truth: Mapping[str, bool], labels: Mapping[str, str], chances: Mapping[str, float]
) -> tuple[object, ...]:
    from ..calibration import brier

    words = [(is_good, labels.get(item)) for item, is_good in truth.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        score = brier(list(truth.values()), [chances.get(item) for item in truth]).score.value
    return (
        *(name, len(words), sum(word == ("pass" if is_good else "fail") for is_good, word in words)),
        *(words.count((False, "pass")), words.count((True, "fail")), score),
    )
