"""How skills did in earlier work: a small SQLite file of the person's, over all runs and notebooks.

Any number of threads and processes may write to it at once. It needs no server and no index: a person has thousands of
scores, not millions.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import math
import sqlite3
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import BadInput, quoted
from ..interrupts import look_up
from ..payloads import mended
from ..records import EvaluationReport
from ..run import Run

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
LEAST_SAMPLES = 3
"""A mean of fewer scores tells nothing that anybody should act on."""
HINTED_TASKS = 12
HINTED_SKILLS = 3
LONGEST_NAME = 80
"""Characters of a skill or task type that are kept; a planner may have written a paragraph there."""
SECONDS_TO_WAIT = 10.0
"""For another process that is writing."""
SECONDS_AT_ONCE = 0.2
"""SQLite waits so long by itself; what comes in between, as Ctrl-C, is heard."""
COLUMNS = ("skill_type", "task_type", "score", "reason")
HINTS = "How skills did at earlier work, by task_type (mean score from 0 to 10):"
SCHEMA = """
CREATE TABLE IF NOT EXISTS scores (
    skill_type TEXT NOT NULL,
    task_type TEXT NOT NULL,
    score REAL NOT NULL CHECK (score BETWEEN 0 AND 10),
    reason TEXT NOT NULL,
    run TEXT,           -- scores of one run resemble each other; NULL: recorded by hand
    source TEXT UNIQUE, -- what it was made of, so that nothing is taken twice; NULL: recorded by hand
    at TEXT NOT NULL
)
"""
INSERT = "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source) DO NOTHING"
USABLE = """
typeof(skill_type) = 'text' AND typeof(task_type) = 'text' AND typeof(score) IN ('real', 'integer') AND score BETWEEN 0 AND 10
"""
"""Another program may have written to the file what this one would not."""
MEANS = f"""
SELECT task_type, skill_type, AVG(score), COUNT(*) FROM scores WHERE {USABLE}
GROUP BY task_type, skill_type HAVING COUNT(*) >= ? ORDER BY AVG(score) DESC, COUNT(*) DESC, skill_type
"""  # noqa: S608 - all of it stands here
SCORES = f"SELECT skill_type, task_type, score, run FROM scores WHERE {USABLE} ORDER BY rowid"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One score of one skill. ``source`` names what it was made of; None: by hand, and counted each time."""

    skill_type: str
    task_type: str
    score: float
    reason: str = ""
    run: str | None = None
    source: str | None = None

    @classmethod
    def checked(
        cls, skill_type: object, task_type: object, score: object, reason: object = "", **origin: str
    ) -> Scored:
        """The score, with names on one line; ``BadInput`` for a score outside 0 to 10, and for a name that is none."""
        names = {"skill_type": _name(skill_type, "skill_type"), "task_type": _name(task_type, "task_type")}
        if isinstance(score, bool) or not isinstance(score, Real) or not 0 <= score <= 10:  # type: ignore[operator]
            raise BadInput(f"The score {quoted(score)} is no number from 0 to 10.", "Give such a number.")
        if not isinstance(reason, str):
            raise BadInput(f"The reason is {quoted(reason)}.", "Give a text, or leave it out.")
        return cls(**names, score=float(score), reason=mended(reason), **origin)

    def row(self, at: str) -> tuple[object, ...]:
        """The row of the table."""
        return self.skill_type, self.task_type, self.score, self.reason, self.run, self.source, at


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not folded(name):
        raise BadInput(f"The {what} is {quoted(name)}.", "Give a word or two.")
    return folded(name)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise BadInput(f"top_k is {quoted(value)}.", "Give a whole number of at least 1.")
    return int(value)


def _check_names(skills: object) -> None:
    if isinstance(skills, str) or not isinstance(skills, Collection):
        raise BadInput(f"skills is {quoted(skills)}.", "Give a list of their names, or none for all of them.")


def folded(name: str) -> str:
    """A name on one line, its blanks single, no longer than is kept."""
    return " ".join(name.encode("utf-8", "replace").decode().split())[:LONGEST_NAME].strip()


class SkillRegistry:
    """The scores in the SQLite file at ``db_path``, which is made when the first is recorded.

    Every call opens the file and closes it again: a registry may be shared by threads and handed to other processes.
    ``BadInput`` where the file can be neither read nor written, with the reason.
    """

    def __init__(self, db_path: Path | str) -> None:
        self.path = Path(db_path).absolute()

    def __repr__(self) -> str:
        return f"SkillRegistry({str(self.path)!r})"

    # Recording

    def record(self, skill_type: str, task_type: str, score: float, reason: str = "") -> None:
        """Record one score, from 0 to 10, of a skill at a type of task."""
        self._add([Scored.checked(skill_type, task_type, score, reason)])

    def take(self, run: Run, since: int = 0) -> int:
        """Record the gate evaluations of a run, from section ``since`` on; how many were not in it yet.

        One record an evaluation, however often its run is resumed, read again or moved. One that measured nothing, and one
        without an overall score, records nothing.
        """
        return self._add(list(_scores_of(run, since)))

    def seed(self, path: Path | str) -> int:
        """Take scores from a CSV file with the columns skill_type, task_type, score and, if wanted, reason; how many were new.

        All of it or nothing; the same content is taken once. ``BadInput`` names the line that is wrong.
        """
        return self._add(list(_seeds(Path(path))))

    def _add(self, scores: Iterable[Scored]) -> int:
        rows = [score.row(datetime.now(UTC).isoformat(timespec="seconds")) for score in scores]
        if not rows:
            return 0
        with self._told("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(_connected(str(self.path))) as open_:
                # At once, so that one writer waits for the other: a lock that is raised later is refused instead.
                _waited(lambda: open_.execute("BEGIN IMMEDIATE"))
                open_.execute(SCHEMA)
                before = open_.total_changes
                open_.executemany(INSERT, rows)
                open_.execute("COMMIT")
                return open_.total_changes - before

    # Asking

    def best_skill_for(self, task_type: str, top_k: int = 3) -> list[dict[str, Any]]:
        """The skills with the highest mean score at a type of task, at most ``top_k``, the best first.

        Each is ``skill_type``, ``avg_score`` (0 to 10) and ``sample_count``; those with fewer than 3 samples are left out.
        """
        most, task = _count(top_k), _name(task_type, "task_type")
        found = [row for row in self._rows(MEANS, (LEAST_SAMPLES,)) if row[0] == task]
        return [{"skill_type": skill, "avg_score": mean, "sample_count": n} for _, skill, mean, n in found[:most]]

    def get_hints(self, skills: Collection[str] = ()) -> str:
        """What a planner is told: for the 12 commonest types of task the best skills; empty where too little is known.

        ``skills``: only of these; none given: of all.
        """
        _check_names(skills)
        found: dict[str, list[tuple[str, float, int]]] = {}
        for task, *told in self._rows(MEANS, (LEAST_SAMPLES,)):
            if not skills or told[0] in skills:
                found.setdefault(task, []).append((told[0], told[1], told[2]))
        commonest = sorted(found, key=lambda task: (-sum(n for _, _, n in found[task]), task))[:HINTED_TASKS]
        lines = [
            f"- {task}: "
            + ", ".join(f"{skill} {mean:.1f} ({n} samples)" for skill, mean, n in found[task][:HINTED_SKILLS])
            for task in commonest
        ]
        return "\n".join([HINTS, *lines]) if lines else ""

    def frame(self) -> DataFrame:
        """A row a skill and type of task: mean score and its 95 % interval, by t over runs.

        ``low`` and ``high`` are 0 and 10 where nothing can be said, as after a single run.
        """
        return frame_of(self._rows(SCORES))

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query; none where nothing was recorded yet. The file is not written to, nor made."""
        with self._told("read"):
            if not self.path.exists():
                return []
            # Not to be made, but to be mended: a writer that was killed leaves something to roll back.
            with contextlib.closing(_connected(f"{self.path.as_uri()}?mode=rw")) as open_:
                made = _waited(lambda: open_.execute("SELECT 1 FROM sqlite_master WHERE name = 'scores'").fetchone())
                rows = _waited(lambda: open_.execute(query, values).fetchall()) if made else []
        return [(folded(first), folded(second), *rest) for first, second, *rest in rows]

    @contextlib.contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:  # ValueError: a path with a NUL in it
            why = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise BadInput(
                f"The skill registry {self.path} cannot be {what}: {why}.",
                "Mend it or move it away, or name another: registry=PATH, or 'off' for none.",
            ) from None


def _connected(place: str) -> sqlite3.Connection:
    opened = sqlite3.connect(place, uri=place.startswith("file:"), timeout=SECONDS_AT_ONCE, isolation_level=None)
    opened.text_factory = lambda found: found.decode("utf-8", "replace")
    return opened


def _waited(ask: Callable[[], T]) -> T:
    """What the file answers, once others have let go of it; a person who stops the run is heard meanwhile."""
    end = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            return ask()
        except sqlite3.OperationalError as error:
            if (
                error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                or time.monotonic() > end
            ):
                raise
        look_up()


def frame_of(rows: Iterable[tuple[Any, ...]]) -> DataFrame:
    """The frame of scores, each a row of skill type, task type, score and run."""
    from pandas import DataFrame

    scores: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for number, (skill, task, score, run) in enumerate(rows):
        scores.setdefault((skill, task), []).append((score, str(run) if run else f"by hand {number}"))
    found = [(*names, *_mean(given)) for names, given in scores.items()]
    found.sort(key=lambda row: (row[1], -row[2], row[0]))
    types = {"skill_type": "string", "task_type": "string", "mean": "float64", "sample_count": "Int64"}
    types |= {"low": "float64", "high": "float64"}
    return DataFrame(found, columns=list(types)).astype(types)


def _mean(scores: list[tuple[float, str]]) -> tuple[float, int, float, float]:
    """Mean, count and interval of scores, each with its run."""
    from ..calibration import CalibrationWarning, signed_error

    values, runs = [score for score, _ in scores], [run for _, run in scores]
    groups = runs if len(set(runs)) < len(runs) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # that runs are few is what a wide interval says
        mean, low, high = signed_error([0.0] * len(values), values, groups=groups)
    ends = (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 10.0)
    return mean, len(values), max(0.0, ends[0]), min(10.0, ends[1])


# From a run


def _scores_of(run: Run, since: int) -> Iterator[Scored]:
    steps = {step.number: step for step in run.every_step}
    for section in run.sections[since:]:
        record, report = section.record, section.payload
        step = steps.get(record.step or 0)
        if not isinstance(report, EvaluationReport) or record.purpose != "gate" or step is None:
            continue
        if report.overall is None or report.verdict == "unmeasured":
            continue
        # Two runs of one task have one id, and are two: what tells them apart is when they began.
        name = f"{run.task.run}:{run.of('task')[0].sha256[:16]}"
        source = f"{name}/{record.step}.{record.attempt}/{record.round or 1}"
        yield Scored.checked(step.skill_type, step.task_type, report.overall, report.verdict, run=name, source=source)


# From a file


def _seeds(path: Path) -> Iterator[Scored]:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise BadInput(f"{path} cannot be read: {why}.", "Give a CSV file in UTF-8.") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)  # lines end where a CSV file's do, not at U+2028
    name = hashlib.sha256(content).hexdigest()[:16]
    heads: list[str] | None = None
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            where = f"{path.name}, line {rows.line_num}"
            if heads is None:
                heads = _heads(row, where)
            else:
                yield _seed(row, heads, where, f"csv:{name}/{rows.line_num}")
    except csv.Error as error:
        raise BadInput(f"{path.name}, line {rows.line_num}: {error}.", "Mend it; nothing was taken.") from None
    if heads is None:
        raise BadInput(f"{path.name} is empty.", f"Begin it with the line {','.join(COLUMNS)}")


def _heads(row: list[str], where: str) -> list[str]:
    heads = [cell.strip().casefold() for cell in row]
    lacking = [name for name in COLUMNS[:3] if name not in heads]
    unknown = [name for name in heads if name not in COLUMNS]
    if lacking or unknown or len(set(heads)) < len(heads):
        fault = f"lacks {lacking[0]}" if lacking else f"names {unknown[0]!r:.40}" if unknown else "names a column twice"
        raise BadInput(
            f"{where}: the first line {fault}.", f"The columns are {', '.join(COLUMNS)}; reason may be left out."
        )
    return heads


def _seed(row: list[str], heads: list[str], where: str, source: str) -> Scored:
    if len(row) != len(heads):
        raise BadInput(
            f"{where}: it has {len(row)} cells, and the first line {len(heads)}.", "Mend it; nothing was taken."
        )
    cells: Mapping[str, str] = dict(zip(heads, row, strict=True))
    try:
        score: float | str = float(cells["score"])
    except ValueError:
        score = cells["score"]
    try:
        return Scored.checked(cells["skill_type"], cells["task_type"], score, cells.get("reason", ""), source=source)
    except BadInput as error:
        raise BadInput(f"{where}: {error.fact}", "Mend it; nothing was taken.") from None
