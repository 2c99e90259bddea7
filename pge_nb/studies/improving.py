"""Few-shot examples from where a judge was wrong in train, and what they gained: on development, then once on the sealed test.

Both judges are asked about the same attempts, in turn, and compared item by item. What is tested is named beforehand: the share
of items that the judge itself decided on which it is right.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from .. import bank
from ..agents.raters import edited
from ..calibration.estimate import CalibrationWarning
from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, NUMBER, TEXT, Columns
from ..models import Model
from ..models.limits import Limits
from ..payloads import Json
from ..prose import counted
from ..run import Run
from ..study_records import Example, Look, Rater, Study
from ..verdict import JUDGE
from .items import Item, items, task_of
from .labelling import text_of
from .measuring import paired, reference_of
from .raters import check_name
from .ratings import ratings
from .replaying import Asked, Regraded, asked_of, kept, regrade
from .splits import check_examples, look
from .study import StudyFile, StudyView

if TYPE_CHECKING:
    from pandas import DataFrame

    from ..calibration import Comparison

KIND: Final = "improve"
SHOWN = 1_200
"""Characters of an artifact that an example shows."""
MOST_EXAMPLES = 12
POWER = 0.8
Compared = tuple[Literal["judge", "gate"], Literal["accuracy", "tpr", "tnr"]]
PRIMARY: Final[Compared] = ("judge", "accuracy")
"""What the test is of. The other comparisons tell where it comes from."""
COMPARED: Final[tuple[Compared, ...]] = (
    PRIMARY,
    ("judge", "tpr"),
    ("judge", "tnr"),
    ("gate", "accuracy"),
    ("gate", "tpr"),
    ("gate", "tnr"),
)
COMPARISONS: Columns = {
    "of": TEXT,
    "metric": TEXT,
    "old": NUMBER,
    "new": NUMBER,
    "difference": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "level": NUMBER,
    "p": NUMBER,
    "only_old": COUNT,
    "only_new": COUNT,
    "n": COUNT,
    "tasks": COUNT,
}
"""The columns of `Improved.frame`. ``old`` and ``new`` are shares of items on which that judge is right."""
Found = Literal["better", "worse", "no difference found", "not measurable"]


# Where it was wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An item of the train part on which a judge and the reference differ. ``why`` is what the reference said of it."""

    id: str
    item: Item
    said: str
    verdict: Literal["pass", "fail"]
    score: float | None
    why: str
    shown: str

    def example(self, why: str = "") -> Example:
        """The example that a judge is shown, with a why of one's own."""
        return Example(
            item=self.item.key,
            says=self.item.says,
            shown=self.shown,
            verdict=self.verdict,
            why=why.strip() or self.why,
            score=self.score,
        )


def candidates(
    runs: Run | Iterable[Run], rater: Rater, study: StudyView, graded: Iterable[Any] = (), *, against: str = ""
) -> tuple[Candidate, ...]:
    """Where the judge itself was wrong in train, by the reference: bad work that it passed first, a task at a time.

    Without ``against`` the reference is people where they labelled, else the oracle. ``BadInput`` where there is no split:
    examples may come from its train part alone.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    if study.split is None:
        raise BadInput("There is no split yet, so no train part.", "%pge label --split makes it, once.")
    frame = ratings(several, study, tuple(graded))
    frame = frame[frame["task"].map(lambda task: study.part(task) == "train")]
    pairs = paired(frame, rater.id, reference_of(frame, against, rater.id))
    wrong = pairs[(pairs["by"] == JUDGE) & (pairs["about"] != "attempt") & pairs["truth"].notna()]
    wrong = wrong[(wrong["label"] != "unmeasured") & (wrong["label"] != wrong["truth"])]
    known = {item.key: item for item in items(several)}
    by_run = {run.task.run: run for run in several}
    notes = {(label.run, label.step, label.attempt_hash, label.on): label.note for label in study.labels if label.note}
    found = []
    for row in wrong.to_dict("records"):
        item = known[row["item"]]
        run = by_run[item.run]
        why = notes.get((item.run, item.step, item.attempt_hash, item.on), "") or _defects(run, item)
        score = float(row["true_score"])
        found.append(
            Candidate(
                id=f"d{hashlib.sha256(item.key.encode()).hexdigest()[:6]}",
                item=item,
                said=row["label"],
                verdict=row["truth"],
                score=None if item.about == "check" or math.isnan(score) else score,
                why=why,
                shown=_cut(text_of(run, item)),
            )
        )
    return tuple(_a_task_at_a_time(found))


def _a_task_at_a_time(found: Sequence[Candidate]) -> Iterator[Candidate]:
    """False passes before false fails; among each the first of every task, then the second, and so on."""
    for said in ("pass", "fail"):
        by_task: dict[str, list[Candidate]] = {}
        for one in found:
            if one.said == said:
                by_task.setdefault(one.item.task, []).append(one)
        for place in range(max(map(len, by_task.values()), default=0)):
            yield from (mine[place] for mine in by_task.values() if place < len(mine))


def _defects(run: Run, item: Item) -> str:
    """What the bank says of the attempt; nothing where it does not know it."""
    task = run.task.practice
    known = bank.truth(task, item.attempt_hash, run.part(item.step)) if task is not None else None
    if task is None or known is None:
        return ""
    step = bank.practice_step(bank.practice_task(task), known.step, run.part(item.step))
    told = [
        one.says for one in step.defects if one.id in known.defects and (item.about != "check" or item.on in one.breaks)
    ]
    return " ".join(told) or "Nothing is wrong with it."


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n... {len(text) - SHOWN:,} more characters"


# The new judge


def taught(
    study: StudyFile,
    runs: Iterable[Run],
    rater: Rater,
    examples: Sequence[Example],
    *,
    name: str,
    by: str,
) -> Rater:
    """The judge with these examples behind those it has: a new rater, put down under ``name``.

    ``BadInput`` where an example is not from train, and where ``by``, who picked and worded them, labelled in the test part: what
    that person knows of it would be in the examples.
    """
    check_name(name)
    view = study.read()
    if not examples:
        raise BadInput("No example was picked.", "%pge improve lists what there is to pick from.")
    if len(rater.examples) + len(examples) > MOST_EXAMPLES:
        raise BadInput(
            f"That would be {len(rater.examples) + len(examples)} examples.", f"Keep to {MOST_EXAMPLES} in all."
        )
    tasks = {item.key: item.task for item in items(list(runs))}
    gone = [one.item for one in examples if one.item not in tasks]
    if gone:
        raise BadInput(f"{gone[0]} is no item of these runs.", "%pge improve lists those there are.")
    check_examples(view, [tasks[one.item] for one in examples])
    seen = {label.run for label in view.labels if label.rater == by}
    in_test = sorted({task_of(run) for run in runs if run.task.run in seen and view.part(task_of(run)) == "test"})
    if in_test:
        raise BadInput(
            f"{by} labelled in the test part ({', '.join(in_test[:3])}), and may not choose the examples.",
            "Let somebody else pick them: --as NAME.",
        )
    new = edited(rater, name=name, examples=(*rater.examples, *examples))
    study.keep(rater)
    study.add(new)
    return new


# What it gained


@dataclass(frozen=True, slots=True, kw_only=True)
class Improved:
    """Two judges on the same attempts.

    ``detectable`` is the least difference of the primary comparison that would likely be found (power .8), told before the test
    part is opened; None where development does not tell it.
    """

    old: Rater
    new: Rater
    part: str
    level: float
    against: str
    compared: Mapping[Compared, Comparison]
    sizes: Mapping[Compared, tuple[int, int]]
    detectable: float | None
    regraded: Regraded

    @property
    def found(self) -> Found:
        """What the primary comparison says, at its level."""
        one = self.compared.get(PRIMARY)
        if one is None or math.isnan(one.difference.value):
            return "not measurable"
        if one.p_value >= 1 - self.level:
            return "no difference found"
        return "better" if one.difference.value > 0 else "worse"

    @property
    def sentence(self) -> str:
        """What came out, with the interval and what could have been seen."""
        one = self.compared.get(PRIMARY)
        names = f"{self.new.name or self.new.id} against {self.old.name or self.old.id}"
        if one is None or self.found == "not measurable":
            return f"{names}: nothing on which both can be compared."
        gap = one.difference
        said = (
            f"right on {100 * one.a.value:.0f} % of what it decides, before {100 * one.b.value:.0f} %; "
            f"difference {_points(gap.value)} [{_points(gap.low)}, {_points(gap.high)}] points, p = {one.p_value:.3f} "
            f"(found would be under {1 - self.level:g})"
        )
        least = "" if self.detectable is None else f"; {least_told(self.detectable)}"
        return f"{names}, {self.part} part: {self.found}; {said}{least}."

    def frame(self) -> DataFrame:
        """A row a comparison, the one that is tested first."""
        rows = [
            (
                *key,
                *(one.b.value, one.a.value, one.difference.value, one.difference.low, one.difference.high),
                *(self.level, one.p_value, one.only_b, one.only_a, *self.sizes[key]),
            )
            for key, one in self.compared.items()
        ]
        return frame_of(COMPARISONS, rows)


def least_told(detectable: float) -> str:
    """The minimal detectable difference in words."""
    if math.isinf(detectable):
        return "so few tasks show no difference, however large"
    return f"{100 * detectable:.0f} points or more would likely be seen"


def _points(share: float) -> str:
    return f"{100 * share:+.0f}"


def trial(
    study: StudyFile,
    runs: Run | Iterable[Run],
    old: Rater,
    new: Rater,
    *,
    part: Literal["development", "test"] = "development",
    against: str = "",
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
) -> Improved:
    """Both judges on every attempt of a part, asked in turn, and compared. What is graded already is not asked again.

    ``part="test"`` is one look for both; what was compared there before is the same look again. ``BadInput`` where development
    was not tried first: without it nobody can say what the test part would show.
    """
    several = [runs] if isinstance(runs, Run) else list(runs)
    view = study.read()
    if view.split is None:
        raise BadInput("There is no split yet, so no parts.", "%pge label --split makes it, once.")
    if old.id == new.id:
        raise BadInput(f"{old.id} is both judges.", "Name two.")
    before = _last(view, old, new, "development")
    if part == "test" and before is None:
        raise BadInput(
            f"{new.name or new.id} was not tried on development yet.",
            f"%pge improve {new.name or new.id}, then --test.",
        )
    mine = [run for run in several if view.part(task_of(run)) == part]
    if not mine:
        raise BadInput(f"No run is of a task in the {part} part.", "%pge label --split tells the parts.")
    regraded = regrade(study, interleaved(mine, old, new), model=model, limits=limits, parallel=parallel)
    pairs = _both(ratings(mine, study.read(), kept(study)), old, new, against)
    level = _look(study, old, new, pairs).level if part == "test" else 0.95
    compared, sizes = compared_of(pairs, level)
    detectable = detectable_of(_both(_frame_of(study, several, "development"), old, new, against), pairs, level)
    done = Improved(
        old=old,
        new=new,
        part=part,
        level=level,
        against=against,
        compared=compared,
        sizes=sizes,
        detectable=detectable,
        regraded=regraded,
    )
    put = Study(study=KIND, asked=_asked(done), units=len(regraded.graded), failed=len(regraded.failed))
    if not regraded.stopped and put not in view.studies:
        study.add(put, by="harness")
    return done


def ahead_of_test(study: StudyFile, runs: Iterable[Run], old: Rater, new: Rater, *, against: str = "") -> float | None:
    """The least difference that the test part would likely show, from development and the test part's number of tasks alone."""
    view = study.read()
    several = list(runs)
    pairs = _both(_frame_of(study, several, "development"), old, new, against)
    tasks = len({task_of(run) for run in several if view.part(task_of(run)) == "test"})
    return _least(pairs, tasks, 1 - 0.05 / 2 ** (len(view.looks) + 1))


def interleaved(runs: Sequence[Run], old: Rater, new: Rater) -> tuple[Asked, ...]:
    """Every attempt by both judges; who is asked first changes from one attempt to the next, so that time favours neither."""
    one_by_one = asked_of(runs, [old, new])
    pairs = [one_by_one[place : place + 2] for place in range(0, len(one_by_one), 2)]
    return tuple(one for place, pair in enumerate(pairs) for one in (pair if place % 2 == 0 else pair[::-1]))


def _frame_of(study: StudyFile, runs: Sequence[Run], part: str) -> DataFrame:
    view = study.read()
    mine = [run for run in runs if view.part(task_of(run)) == part]
    return ratings(mine, view, kept(study))


def _both(frame: DataFrame, old: Rater, new: Rater, against: str) -> DataFrame:
    """A row an item that both judges gave a verdict on and the reference knows: ``truth``, ``old``, ``new``."""
    reference = reference_of(frame, against, old.id)
    first, second = paired(frame, old.id, reference), paired(frame, new.id, reference)
    columns = ["item", "task", "about", "by", "truth", "label"]
    both = first[columns].merge(second[["item", "label", "by"]], on="item", suffixes=("_old", "_new"))
    return both[both["truth"].notna()].rename(columns={"label_old": "old", "label_new": "new"})


def _among(pairs: DataFrame, of: str) -> DataFrame:
    if of == "gate":
        return pairs[pairs["about"] == "attempt"]
    return pairs[(pairs["about"] != "attempt") & (pairs["by_old"] == JUDGE) & (pairs["by_new"] == JUDGE)]


def compared_of(pairs: DataFrame, level: float) -> tuple[dict[Compared, Comparison], dict[Compared, tuple[int, int]]]:
    """The comparisons of two judges, new against old, over items that both judged; and items and tasks of each."""
    from ..calibration import compare_raters

    compared: dict[Compared, Comparison] = {}
    sizes: dict[Compared, tuple[int, int]] = {}
    for of, metric in COMPARED:
        some = _among(pairs, of)
        if metric != "accuracy":
            some = some[some["truth"] == ("pass" if metric == "tpr" else "fail")]
        if not len(some):
            continue
        # An unmeasured verdict is none: it decides nothing, so it is wrong.
        truth, now, before = ([_flag(str(label)) for label in some[name]] for name in ("truth", "new", "old"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)  # how many tasks it rests on stands beside it
            compared[of, metric] = compare_raters(
                truth, now, before, metric=metric, level=level, groups=list(some["task"])
            )
        sizes[of, metric] = (len(some), int(some["task"].nunique()))
    return compared, sizes


def _flag(label: str) -> bool | None:
    return {"pass": True, "fail": False}.get(label)


def detectable_of(development: DataFrame, pairs: DataFrame, level: float) -> float | None:
    """As `ahead_of_test`, with the tasks that the part turned out to have."""
    return _least(development, int(_among(pairs, "judge")["task"].nunique()), level)


def _least(development: DataFrame, tasks: int, level: float) -> float | None:
    """The minimal detectable difference of the primary comparison (Bloom 1995): (t_a + t_b) s / sqrt(tasks).

    s is the spread of the tasks' mean differences in development; None where that has under two tasks, or both judges said the
    same everywhere; infinite where the tasks are too few for any difference to be found.
    """
    from scipy import stats

    some = _among(development, "judge")
    if tasks and 2.0 ** (1 - tasks) >= 1 - level:
        return math.inf  # so few tasks all agree by chance too often: no difference could be told from it
    if not len(some):
        return None
    gaps = (some["new"] == some["truth"]).astype(float) - (some["old"] == some["truth"]).astype(float)
    by_task = gaps.groupby(some["task"]).mean()
    if len(by_task) < 2 or by_task.std(ddof=1) == 0:
        return None
    steps = stats.t.ppf([1 - (1 - level) / 2, POWER], tasks - 1).sum()
    return float(steps * by_task.std(ddof=1) / math.sqrt(tasks))


def _look(study: StudyFile, old: Rater, new: Rater, pairs: DataFrame) -> Look:
    """One look for both. The same verdicts looked at again are no other look."""
    seen = hashlib.sha256(pairs.to_csv(index=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    why = f"{new.name or new.id} against {old.name or old.id}, verdicts {seen}."
    known = next((one for one in study.read().looks if one.raters == (old.id, new.id) and one.why == why), None)
    return known or look(study, [old.id, new.id], why)


def _asked(done: Improved) -> dict[str, Json]:
    one = done.compared.get(PRIMARY)
    gap = None if one is None else one.difference
    numbers: dict[str, float | None] = {
        "old_right": one.b.value if one else None,
        "new_right": one.a.value if one else None,
        "difference": gap.value if gap else None,
        "low": gap.low if gap else None,
        "high": gap.high if gap else None,
        "p": one.p_value if one else None,
        "detectable": done.detectable,
    }
    told: dict[str, Json] = {
        "old": done.old.id,
        "new": done.new.id,
        "part": done.part,
        "against": done.against,
        "level": done.level,
        "found": done.found,
    }
    finite = {name: value if value is not None and math.isfinite(value) else None for name, value in numbers.items()}
    n, tasks = done.sizes.get(PRIMARY, (0, 0))
    return (
        told
        | {name: None if value is None else round(value, 6) for name, value in finite.items()}
        | {"n": n, "tasks": tasks}
    )


def _last(view: StudyView, old: Rater, new: Rater, part: str) -> Study | None:
    """The last trial of these two on a part."""
    mine = (one for one in view.studies if one.study == KIND and one.asked.get("part") == part)
    return next(
        (one for one in reversed(list(mine)) if (one.asked.get("old"), one.asked.get("new")) == (old.id, new.id)), None
    )


def parent_of(rater: Rater, known: Mapping[str, Rater]) -> Rater:
    """The judge that one was edited from; ``BadInput`` where it is none that was, or that is not known."""
    base = known.get(rater.edited_from)
    if base is None:
        raise BadInput(
            f"{rater.name or rater.id} was not made of another judge.", "%pge improve lists examples to make one with."
        )
    return base


def counted_by_kind(found: Sequence[Candidate]) -> str:
    """How many of them are bad work that was passed, and good work that was failed."""
    passed = sum(one.said == "pass" for one in found)
    return f"{counted(passed, 'item')} passed that should fail, {len(found) - passed} failed that should pass"


def worded(picked: Candidate, why: str) -> Example:
    """The example of a candidate; one that has no why of its own must get one."""
    example = picked.example(why)
    if not example.why:
        raise BadInput(f"{picked.id} says no why.", f"Write it behind the id: {picked.id} what is wrong with it")
    return replace(example, why=" ".join(example.why.split()))
