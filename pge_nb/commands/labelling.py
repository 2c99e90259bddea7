"""Labels: a person judges blind what the evaluator judged, here or in a file of their own; and the split of the tasks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from IPython.core.getipython import get_ipython

from ..display import Block, Code, Fold, Mark, Table, Verbatim, View, Words
from ..errors import BadInput
from ..prose import counted
from ..run import Run
from ..runs import Runs
from ..studies.imports import import_labels
from ..studies.labelling import (
    Question,
    answered,
    check_person,
    finding_at,
    label_of,
    questions,
    read_said,
    same,
    text_of,
)
from ..studies.splits import split
from ..studies.study import StudyFile, open_study
from ..study_records import Label, Rater, Split
from ..widgets.label import Label as Typed
from ..widgets.label import ToLabel
from ..widgets.label import label as ask
from .here import Here, path_of
from .of_runs import RUNS, runs_of
from .saving import save

About = Literal["check", "criterion", "attempt"]
SAMPLE = 20
NEXT = "%pge calibrate"
"""What labels are for."""


def label(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    body: str = "",
    as_: Annotated[str, "who labels: a name; each person has labels of their own"] = "",
    sample: Annotated[int, "so many items, drawn at random"] = SAMPLE,
    seed: Annotated[int, "another seed, other items in another order"] = 1,
    repeats: Annotated[int, "so many of them are asked a second time, for your own consistency"] = 0,
    about: Annotated[About | None, "only these; none: all three"] = None,
    active: Annotated[bool, "choose where a label teaches most; never in the test part"] = False,
    evidence: Annotated[bool, "show what the reviews saw as well"] = False,
    reveal: Annotated[bool, "tell what the evaluator said, once you have"] = False,
    list_: Annotated[
        bool,
        "list the items, for lines ITEM VERDICT [NOTE] in a cell's body; a criterion takes a score too",
    ] = False,
    split: Annotated[bool, "share the tasks out into train, development and test, once"] = False,
) -> View:
    """Judge, blind, what the evaluator judged; what you said is kept in study.md, and you go on where you stopped."""
    chosen, study = runs_of(here, runs), open_study(here.directory)
    if split:
        return split_view(study, chosen, seed)
    if not as_:
        raise BadInput("Whose labels are they?", "%pge label --as NAME")
    asked = questions(
        chosen, study.read(), rater=as_, sample=sample, seed=seed, repeats=repeats, about=about, active=active
    )
    check_person(study.read(), as_)
    session = Session(here, study, chosen, as_, asked, reveal=reveal)
    if body.strip():
        return session.told(body)
    if not list_ and live():
        return session.by_keys(evidence=evidence)
    return session.listed(evidence=evidence)


def live() -> bool:
    """Whether there is a front end in which one can type."""
    return hasattr(get_ipython(), "kernel") and os.environ.get("PGE_NB_LIVE") != "0"


class Session:
    """One person among the questions of one labelling."""

    def __init__(
        self, here: Here, study: StudyFile, runs: Runs, rater: str, asked: Sequence[Question], *, reveal: bool
    ) -> None:
        self.here, self.study, self.runs, self.rater, self.asked, self.reveal = here, study, runs, rater, asked, reveal
        self.by_id = {question.id: question for question in asked}

    @property
    def answers(self) -> dict[str, Label]:
        """What was answered up to now: question -> label."""
        return answered(self.asked, self.study.read(), self.rater)

    def text(self, question: Question, *, evidence: bool) -> str:
        """What is shown of a question's item."""
        run = next(run for run in self.runs if run.task.run == question.item.run and _holds(run, question))
        return text_of(run, question.item, evidence=evidence)

    def by_keys(self, *, evidence: bool) -> View:
        """The questions one after the other, in the page."""
        shown = [ToLabel(id=one.id, question=one.asks, text=self.text(one, evidence=evidence)) for one in self.asked]
        given = {name: label.verdict for name, label in self.answers.items() if label.verdict != "withdrawn"}
        under_way = ask(shown, self.give, self.take_back, save=self.save, given=given, title=f"Labels of {self.rater}")
        if isinstance(under_way, View):
            return under_way
        return View(title=f"Labels of {self.rater} go to study.md as they are given", next=NEXT)

    def give(self, typed: Typed) -> str | None:
        """Keep one label; what the evaluator had said, where that was asked for."""
        question = self.by_id[typed.id]
        said = replace(read_said(question.item, typed.note, typed.verdict), seconds=typed.seconds)
        self.keep(label_of(question, self.rater, said, shown=self.shown(question)))
        return self.revealed(question) if self.reveal else None

    def take_back(self, name: str) -> None:
        """Take one label back: it stays in the file, and counts no more."""
        question = self.by_id[name]
        said = read_said(question.item, "", "withdrawn")
        self.keep(label_of(question, self.rater, said, shown=self.shown(question)))

    def save(self) -> str:
        """*Save my work*, from inside of the page's field."""
        saved = save(self.here)
        return f"{saved.title}. In a new place: {saved.next}"

    def keep(self, *labels: Label) -> None:
        """Put labels down, all in one append, and before the first of them whose they are."""
        self.study.keep(Rater(id=self.rater, who="person", name=self.rater))
        self.study.add(*labels)

    def shown(self, question: Question) -> bool:
        """Whether the evaluator's verdict on that attempt was displayed in this kernel."""
        return (question.item.run, question.item.attempt_hash) in self.here.judged

    def revealed(self, question: Question) -> str:
        """What the gate had said; from then on it has been shown."""
        self.here.judged.add((question.item.run, question.item.attempt_hash))
        found = finding_at(self.runs, question.item)
        if found is None:
            return "the evaluator said nothing of it"
        score = "" if found[1] is None else f", {found[1]:.1f}"
        return f"the evaluator said {found[0]}{score}"

    def listed(self, *, evidence: bool) -> View:
        """The questions that are open, with all that is to be judged; the same for everyone who looks, so blind."""
        answers = self.answers
        left = [question for question in self.asked if question.id not in answers]
        rows = tuple((Code(one.id), one.item.about, one.asks) for one in left)
        folds: list[Block] = [
            Fold(summary=f"{one.id}: {one.asks}", blocks=(Verbatim(text=self.text(one, evidence=evidence)),))
            for one in left
        ]
        scored = any(one.item.about == "criterion" for one in left)
        how = Words(
            "In a cell: %%pge label with the same flags, below it a line each: ITEM pass, fail or unclear, [NOTE]"
            + (" (of a criterion [SCORE] [NOTE], the score from 0 to 10)." if scored else ".")
        )
        blocks = [Table(caption="To be judged", heads=("Item", "About", "Question"), rows=rows), how, *folds]
        return View(
            title=f"Labels of {self.rater}: {len(answers)} of {len(self.asked)} labelled",
            blocks=tuple(blocks) if left else (Words("Nothing is left to label."),),
            next="%pge help label" if left else NEXT,
        )

    def told(self, body: str) -> View:
        """Labels by lines, all of them or none."""
        answers, new = self.answers, []
        told: dict[str, Label] = {}
        for number, line in enumerate(body.splitlines(), 1):
            if line.strip():
                question, made = self._read(number, line.strip())
                if question.id in told and not same(told[question.id], made):
                    raise BadInput(
                        f"Line {number}: {question.id} stands above it with another verdict.", "Keep one of them."
                    )
                told[question.id] = made
                old = answers.get(question.id)
                if (old is None and made.verdict != "withdrawn") or (old is not None and not same(old, made)):
                    new.append(made)
        if new:
            self.keep(*new)
        heads = ("Item", "Question", "Verdict", "Score", "Note")
        rows = []
        for name, one in told.items():
            question = self.by_id[name]
            said = (self.revealed(question),) if self.reveal else ()
            rows.append((Code(name), question.asks, Mark(one.verdict), one.score, one.note or None, *said))
        table = Table(caption="Labels", heads=(*heads, "Evaluator") if self.reveal else heads, rows=tuple(rows))
        done = len(self.answers)
        notes = () if new else ("All of these were there already.",)
        return View(
            title=f"Labels of {self.rater}: {done} of {len(self.asked)} labelled",
            blocks=(table,),
            notes=notes,
            next=NEXT if done == len(self.asked) else f"%pge label --as {self.rater} --list",
        )

    def _read(self, number: int, line: str) -> tuple[Question, Label]:
        name, _, rest = line.partition(" ")
        question = self.by_id.get(name)
        if question is None:
            raise BadInput(
                f"Line {number}: {name[:40]!r} is no item of this labelling.",
                "The same runs, --sample, --seed and --repeats list them: %pge label --as NAME --list",
            )
        try:
            said = read_said(question.item, rest)
        except BadInput as error:
            raise BadInput(f"Line {number}: {error.fact}", error.next_move) from None
        return question, label_of(question, self.rater, said, shown=self.shown(question))


def _holds(run: Run, question: Question) -> bool:
    report = run.evaluations(question.item.step).get(question.item.attempt)
    return report is not None and report.attempt_hash == question.item.attempt_hash


def split_view(study: StudyFile, runs: Runs, seed: int) -> View:
    """Make the split, and show it."""
    made: Split = split(study, runs, seed=seed)
    parts = (("train", made.train), ("development", made.development), ("test", made.test))
    rows = tuple((task, part) for part, tasks in parts for task in tasks)
    return View(
        title=f"The split of {counted(len(rows), 'task')}, sealed",
        blocks=(Table(caption=f"Drawn with seed {made.seed}", heads=("Task", "Part"), rows=rows),),
        notes=("Examples come from train alone; each look at test is put down, and makes the next interval wider.",),
        next="%pge label --as NAME --list",
    )


def import_(
    here: Here,
    what: Annotated[Literal["labels"], "what is imported"],
    file: Annotated[str, "a CSV file: run, step, attempt_hash, on (or item), verdict; score, note, repeat"],
    /,
    *runs: Annotated[str, RUNS],
    as_: Annotated[str, "whose labels they are"] = "",
) -> View:
    """Take over labels that a person gave elsewhere; a line of another attempt than this run's is refused and counted."""
    if not as_:
        raise BadInput("Whose labels are they?", f"%pge import labels {file} --as NAME")
    done = import_labels(open_study(here.directory), here.directory / path_of(file), runs_of(here, runs), rater=as_)
    counts = (("new", len(done.added)), ("there already", done.there), ("refused", len(done.refused)))
    blocks: list[Block] = [Table(caption=f"{what} of {file}", heads=("What", "Lines"), rows=counts)]
    if done.refused:
        rows = tuple((number, why) for number, why in done.refused)
        refused = Table(caption="Refused: no such attempt in these runs", heads=("Line", "Why"), rows=rows)
        blocks.append(refused)
    return View(
        title=f"Labels of {as_}: {counted(len(done.added), 'new one')}, {counted(len(done.refused), 'line')} refused",
        blocks=tuple(blocks),
        next=NEXT,
    )
