"""The exam: judges grade copies with planted defects, blind among clean ones, and are told apart from the reviews.

What it measures is how a judge does on defects that were planted. How it does on what generators leave behind, its natural rate,
stands beside where that is known, and is another thing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..agents.frozen import Frozen
from ..calibration.estimate import CalibrationWarning, Estimate
from ..errors import BadInput
from ..frames import frame_of
from ..frames.columns import COUNT, FLAG, NUMBER, TEXT, Columns
from ..frames.costs import dollars_of
from ..models import Model
from ..models.limits import Limits, Prices
from ..payloads import Json
from ..prose import counted
from ..records import EvaluationReport, Usage, Verdict
from ..reviews import Review
from ..run import Run
from ..study_records import Rater, Study
from ..verdict import JUDGE
from .grading import graded_all
from .planting import Copy, Covers, Exam, asks_for, plant
from .ratings import ratings
from .study import StudyFile, StudyView, open_study
from .units import Graded, Units, name_of

if TYPE_CHECKING:
    from pandas import DataFrame

KIND: Final = "exam"
REPLY_TOKENS = 1_500
"""Of a grading, likely."""

EXAM: Columns = {
    "run": TEXT,
    "task": TEXT,
    "step": COUNT,
    "attempt": COUNT,
    "source": TEXT,
    "copy": TEXT,
    "defect": FLAG,
    "kind": TEXT,
    "path": TEXT,
    "where": TEXT,
    "size": TEXT,
    "share": NUMBER,
    "violates": TEXT,
    "covered": FLAG,
    "verified": FLAG,
    "text": TEXT,
    "rater": TEXT,
    "reviews": TEXT,
    "judge": TEXT,
    "gate": TEXT,
    "tokens": COUNT,
    "dollars": NUMBER,
    "seconds": NUMBER,
    "error": TEXT,
}
"""The columns of `Examined.frame`."""
FIGURES: Columns = {
    "rater": TEXT,
    "figure": TEXT,
    "by": TEXT,
    "of": TEXT,
    "value": NUMBER,
    "low": NUMBER,
    "high": NUMBER,
    "copies": COUNT,
    "sources": COUNT,
}
"""The columns of `Examined.figures`."""
BY_REVIEWS = "reviews"
"""Who catches what reviews find, in `Examined.figures`."""
NOT_SIZED = "no input shows it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One grading: a copy and a rater."""

    copy: Copy
    rater: Rater
    sample: int = 0

    @property
    def frozen(self) -> Frozen:
        """What the rater sees of the copy."""
        return self.copy.frozen.seen_by(self.rater)

    @property
    def name(self) -> str:
        """The unit's name: all that the reply depends on is in it."""
        one = self.frozen
        return name_of([KIND, one.run, one.step, one.attempt, self.rater.id, one.attempt_hash, one.brief])


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What an exam will take: gradings that are not there yet, likely tokens and dollars (None: a model has no price)."""

    there: int
    units: int
    tokens: int
    dollars: float | None

    def __str__(self) -> str:
        cost = "" if self.dollars is None else f", likely ${self.dollars:.2f}"
        there = f"; {self.there:,} are there already" if self.there else ""
        return f"{counted(self.units, 'grading')} to make, likely {self.tokens:,} tokens{cost}{there}."


def asked_of(exam: Exam, raters: Sequence[Rater]) -> tuple[Asked, ...]:
    """The gradings of an exam, in the random order of its copies; every rater sees each copy once."""
    if not raters:
        raise BadInput("No rater was named.", "%pge rater lists those there are.")
    return tuple(Asked(copy=copy, rater=rater) for copy in exam.copies for rater in raters)


def ahead(study: StudyFile, asked: Sequence[Asked], prices: Prices | None = None) -> Ahead:
    """What is still to be graded, and what it will likely take."""
    prices, units = prices or Prices.load(), Units(study.directory, KIND)
    missing = [one for one in asked if one.frozen.docket.ids and units.get(one.name) is None]
    tokens, dollars, unpriced = 0, 0.0, False
    for one in missing:
        sent = one.frozen.request(one.rater, 0).input_bytes // 4
        usage = Usage(input_tokens=sent, output_tokens=REPLY_TOKENS)
        cost = prices.cost(one.rater.model, usage)
        tokens, dollars, unpriced = tokens + usage.total, dollars + (cost or 0.0), unpriced or cost is None
    there = sum(units.get(one.name) is not None for one in asked)
    return Ahead(there=there, units=len(missing), tokens=tokens, dollars=None if unpriced else dollars)


def examine(
    study: StudyFile,
    exam: Exam,
    raters: Sequence[Rater],
    *,
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
    told: Callable[[int, int], None] | None = None,
) -> Examined:
    """Have raters grade the copies that they did not grade yet, each by the same call as at the gate; each is kept as it is made.

    ``model`` stands in for every rater's. ``limits`` bind all calls of the studies of this directory together. A limit or an
    interruption (which is raised) ends it with what was made kept; the same call goes on from there.
    """
    asked = asked_of(exam, raters)
    made = graded_all(study, KIND, asked, model=model, limits=limits, parallel=parallel, told=told)
    done = Examined(
        exam=exam,
        raters=tuple(raters),
        asked=asked,
        graded=made.graded,
        failed=made.failed,
        stopped=made.stopped,
    )
    put = Study(
        study=KIND,
        asked={
            "raters": sorted({rater.id for rater in raters}),
            "runs": sorted({copy.frozen.run for copy in exam.copies}),
            "defects": len(exam.defects),
            "seed": exam.seed,
            "equivalent": exam.equivalent,
            "figures": done.in_short(),
        },
        units=len(made.graded),
        failed=len(made.failed),
        sha256=Units(study.directory, KIND).sha256(),
    )
    # Gradings that somebody else made, and that were there already, are an exam like any other: the card tells of it.
    if made.graded and put not in study.read().studies:
        study.add(put, by="harness")
    return done


def word_of_judge(report: EvaluationReport) -> Verdict | None:
    """What the judge itself said of a copy, apart from reviews; None where it was left nothing to say."""
    said = [finding.verdict for finding in report.findings if finding.by == JUDGE]
    if not said:
        return None
    return "fail" if "fail" in said else "unmeasured" if "unmeasured" in said else "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What came of an exam. ``graded`` and ``failed`` (why) are by the name of the unit; ``stopped``: why it ended early."""

    exam: Exam
    raters: tuple[Rater, ...]
    asked: tuple[Asked, ...]
    graded: Mapping[str, Graded]
    failed: Mapping[str, str]
    stopped: str = ""

    def frame(self) -> DataFrame:
        """A row a grading. ``judge`` is what the judge itself said, ``reviews`` what reviews did, ``gate`` both together."""
        return frame_of(EXAM, [self._row(one) for one in self.asked])

    def _row(self, one: Asked) -> tuple[object, ...]:
        copy, frozen, graded = one.copy, one.copy.frozen, self.graded.get(one.name)
        head = (
            *(frozen.run, copy.task, frozen.step, frozen.attempt, copy.source, frozen.attempt_hash[:12]),
            *(copy.is_defect, copy.kind, copy.path or None, copy.where or None, copy.size or None, copy.share),
            *(", ".join(copy.violates) or None, bool(copy.violates) if copy.is_defect else None, copy.is_verified),
            *(copy.text or None, one.rater.id, "fail" if copy.reviews else "pass" if frozen.claims else None),
        )
        if graded is None:
            return (*head, None, None, None, None, None, self.failed.get(one.name))
        report = graded.report
        return (
            *head,
            word_of_judge(report),
            report.verdict,
            sum(call.usage.total for call in report.calls),
            dollars_of(report.calls),
            sum(call.seconds for call in report.calls),
            None,
        )

    @property
    def verified_only(self) -> bool:
        """Whether figures rest on attempts that are known to be sound alone; where none is, on what there is, unverified."""
        return any(copy.is_verified for copy in self.exam.copies)

    @property
    def uncovered(self) -> tuple[Copy, ...]:
        """The defects that no check of their contract covers: they count against the contract, and not the judge."""
        return tuple(copy for copy in self.exam.defects if not copy.violates)

    def catch(self, rater: str) -> Estimate:
        """The share of planted defects that the judge itself fails, of those that a check covers and without a text for it.

        An unmeasured verdict catches nothing. Grouped by the attempt that copies are made of.
        """
        return _caught([(copy, word) for copy, word in self._words(rater) if copy.is_defect and copy.violates])

    def false_alarms(self, rater: str) -> Estimate:
        """The share of clean copies without a text that the judge itself fails."""
        return _caught([(copy, word) for copy, word in self._words(rater) if not copy.is_defect])

    def in_short(self) -> dict[str, Json]:
        """Rater -> catch rate and false alarms with their intervals, and of how many copies: what a card tells."""
        told: dict[str, Json] = {}
        for rater in self.raters:
            found = {"catch": self.catch(rater.id), "false_alarms": self.false_alarms(rater.id)}
            told[rater.id] = {
                name: {"value": one.value, "low": one.low, "high": one.high, "n": one.n, "sources": one.groups}
                for name, one in found.items()
                if one.n
            }
        return told

    def meets(self, minimum: float) -> bool:
        """Whether the lower end of every rater's catch rate reaches ``minimum``."""
        if not 0 <= minimum <= 1:
            raise BadInput(f"The minimum is {minimum}.", "Give a share of planted defects from 0 to 1, as 0.8.")
        return all(self.catch(rater.id).low >= minimum for rater in self.raters)

    def slipped(self, rater: str) -> Iterator[tuple[Copy, EvaluationReport]]:
        """The defects, with a text or without, that the judge did not fail, with what it said."""
        for one in self.asked:
            graded = self.graded.get(one.name)
            if one.rater.id == rater and one.copy.is_defect and graded is not None:
                word = word_of_judge(graded.report)
                if word is not None and word != "fail":
                    yield one.copy, graded.report

    def sentence(self, rater: str, name: str = "") -> str:
        """What a judge catches, in words; ``name`` is how it is called."""
        caught, alarms = self.catch(rater), self.false_alarms(rater)
        name = name or rater
        if not caught.n:
            return f"{name}: no planted defect was graded that a check covers."
        return f"{name} catches {_share(caught)} of planted defects, and fails {_share(alarms)} of clean copies."

    def remarks(self) -> Iterator[str]:
        """What a reader of the figures must not miss."""
        exam = self.exam
        by_reviews = [copy for copy in exam.defects if copy.reviews]
        caught = f"{len(by_reviews)} of {counted(len(exam.defects), 'defect')}"
        yield f"Reviews alone catch {caught}; the judge is told apart from them."
        if exam.equivalent:
            yield f"{counted(exam.equivalent, 'edit')} that no input and no review tells from sound work: thrown out."
        if left := len(self.uncovered):
            yield (
                f"{counted(left, 'defect')} of {len(exam.defects)} violate no check: that counts against the contract, and is no "
                "part of the rate above."
            )
        if exam.told:
            yield f"{counted(exam.told, 'clean copy', 'clean copies')} or texts that a review tells from the rest: left out."
        if exam.flawed:
            one = exam.flawed == 1
            stands, them = ("stands and is", "it") if one else ("stand and are", "them")
            yield f"{counted(exam.flawed, 'attempt')} that {stands} not sound: nothing was planted in {them}."
        if len(exam.defects) < exam.sample:
            yield f"{counted(exam.sample, 'defect')} were wanted; no more could be planted."
        unverified = {copy.source for copy in exam.copies if not copy.is_verified}
        if unverified:
            used = "left out of the figures" if self.verified_only else "no other attempt was there"
            yield f"Unverified, since nothing knows them to be sound: {', '.join(sorted(unverified))} ({used})."
        if self.failed:
            yield f"{counted(len(self.failed), 'grading')} failed: {next(iter(self.failed.values()))}"

    def figures(self, natural: Mapping[str, Estimate] | None = None) -> DataFrame:
        """A row a figure: who catches what, by kind and size; false alarms; what a text for the judge does.

        ``natural`` is what the function of that name found: it stands beside.
        """
        rows: list[tuple[object, ...]] = []
        for rater in self.raters:
            for figure, by, of, found in self._of_rater(rater.id):
                rows.append((rater.id, figure, by, of, *found, found.n, found.groups))
            if natural and (known := natural.get(rater.id)) is not None:
                rows.append((rater.id, "natural TNR", "all", "bad attempts", *known, known.n, known.groups))
        defects = [copy for copy in self.exam.defects if copy.violates and self._counts(copy)]
        found = _caught([(copy, "fail" if copy.reviews else "pass") for copy in defects])
        rows.append((BY_REVIEWS, "catch", "all", "defects", *found, found.n, found.groups))
        return frame_of(FIGURES, rows)

    def _of_rater(self, rater: str) -> Iterator[tuple[str, str, str, Estimate]]:
        words = self._words(rater)
        covered = [(copy, word) for copy, word in words if copy.is_defect and copy.violates]
        clean = [(copy, word) for copy, word in words if not copy.is_defect]
        yield "catch", "all", "defects", self.catch(rater)
        for kind in sorted({copy.kind for copy, _ in covered}):
            yield "catch", "kind", kind, _caught([one for one in covered if one[0].kind == kind])
        for size in ("slight", "partial", "gross", ""):
            if of_size := [one for one in covered if one[0].size == size]:
                yield "catch", "size", size or NOT_SIZED, _caught(of_size)
        if self.uncovered:
            left = [one for one in words if one[0].is_defect and not one[0].violates]
            yield "catch", "cover", "no check covers it", _caught(left)
        yield "false alarm", "all", "clean copies", self.false_alarms(rater)
        for kind in sorted({copy.kind for copy, _ in clean}):
            yield "false alarm", "kind", kind, _caught([one for one in clean if one[0].kind == kind])
        for of, is_defect in (("defects", True), ("clean copies", False)):
            if pairs := self._pairs(rater, is_defect=is_defect):
                yield "passes that a text adds", "all", of, _added(pairs)

    def _counts(self, copy: Copy) -> bool:
        return copy.is_verified or not self.verified_only

    def _words(self, rater: str, *, text: bool = False) -> list[tuple[Copy, str]]:
        """What the judge said of each copy with or without a text, of those that count."""
        found: list[tuple[Copy, str]] = []
        for one in self.asked:
            graded = self.graded.get(one.name)
            if one.rater.id != rater or graded is None or bool(one.copy.text) != text or not self._counts(one.copy):
                continue
            if (word := word_of_judge(graded.report)) is not None:
                found.append((one.copy, word))
        return found

    def _pairs(self, rater: str, *, is_defect: bool) -> list[tuple[Copy, str, str]]:
        """Of each copy with and without a text: what the judge said without, and with it."""
        told = {copy.pair: word for copy, word in self._words(rater, text=True)}
        return [
            (copy, word, told[copy.pair])
            for copy, word in self._words(rater)
            if copy.is_defect == is_defect and copy.pair in told
        ]


def natural(
    runs: Iterable[Run], study: StudyView, graded: Iterable[Graded], raters: Sequence[Rater]
) -> dict[str, Estimate]:
    """Rater -> the share of attempts that are bad, as the bank knows, that its own word failed, at the gate or graded again.

    That is another thing than catching what was planted: generators leave other defects behind. Grouped by task.
    """
    from ..calibration import verdict_rates

    frame = ratings(list(runs), study, graded)
    where = ["run", "step", "attempt"]
    truth = frame[(frame["rater"] == "oracle") & (frame["about"] == "attempt")].set_index(where)["label"]
    bad = {at for at, label in truth.items() if label == "fail"}
    found: dict[str, Estimate] = {}
    for rater in raters:
        # What was graded once more because it was the best of several is chosen by its grade, and is left out.
        whole = frame["purpose"].isin(["gate", "regrade"])
        mine = frame[(frame["rater"] == rater.id) & (frame["by"] == JUDGE) & whole]
        words = [
            (str(group["task"].iloc[0]), bool((group["label"] == "fail").any()))
            for (*at, _), group in mine.groupby([*where, "repeat"])
            if tuple(at) in bad
        ]
        if words:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibrationWarning)
                found[rater.id] = verdict_rates(
                    [False] * len(words), [not failed for _, failed in words], groups=[task for task, _ in words]
                ).tnr
    return found


def _caught(words: Sequence[tuple[Copy, str]]) -> Estimate:
    """The share of copies that were failed, grouped by the attempt that they are made of."""
    return _rate([word == "fail" for _, word in words], [copy.source for copy, _ in words])


def _rate(hits: Sequence[bool], groups: Sequence[str]) -> Estimate:
    from ..calibration import verdict_rates

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # the notes of the estimate say it
        return verdict_rates([False] * len(hits), [not hit for hit in hits], groups=list(groups)).tnr


def _added(pairs: Sequence[tuple[Copy, str, str]]) -> Estimate:
    """How much more often a copy is not failed where a text asks for it: a paired difference."""
    from ..calibration import verdict_rates

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return verdict_rates(
            [without != "fail" for _, without, _ in pairs],
            [with_ != "fail" for _, _, with_ in pairs],
            groups=[copy.source for copy, _, _ in pairs],
        ).leniency


def exam_runs(
    runs: Run | Iterable[Run],
    raters: Rater | Sequence[Rater],
    *,
    sample: int = 20,
    seed: int = 0,
    injection: bool = True,
    covers: Covers = asks_for,
    reviews: Mapping[str, Review] | None = None,
    directory: Path | str = ".",
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
) -> Examined:
    """Plant defects in what stands of the runs and have raters grade it, blind among clean copies; the runs are not touched.

    ``covers`` and ``reviews`` are as in `planting.plant`, the rest as in `examine`. What is made is kept beside the ``study.md``
    of ``directory`` and never asked for again.
    """
    study = open_study(Path(directory))
    several = [runs] if isinstance(runs, Run) else list(runs)
    planted = plant(
        study,
        several,
        sample=sample,
        seed=seed,
        injection=injection,
        covers=covers,
        reviews=reviews,
        parallel=parallel,
    )
    judges = [raters] if isinstance(raters, Rater) else list(raters)
    return examine(study, planted, judges, model=model, limits=limits, parallel=parallel)


def _share(found: Estimate) -> str:
    if not found.n:
        return "an unknown share"
    return f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"
