"""Gradings that a study asks for: what is there is not made again, what is made is kept, and a limit ends all with that kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from ..agents.equipment import Equipment
from ..agents.frozen import Frozen, grade_again
from ..errors import LimitReached, PgeError
from ..models import CallBroken, CallStopped, Model, NotNow
from ..models.batches import Batches, BatchRecording
from ..models.choose import ByName
from ..models.limits import Limits
from ..payloads import encode
from ..study_records import Rater, StudyKind
from ..workspace import Objects
from .pool import carried_out
from .study import StudyFile
from .units import FOLDER, Graded, Units, graded_of

CALLS = FOLDER / "calls.jsonl"
"""Beside ``study.md``: every call of its studies, kept as those of a run are."""


class Grading(Protocol):
    """One grading to be made, by the name of its unit: all that the reply depends on is in it."""

    @property
    def name(self) -> str:
        """The unit's name."""

    @property
    def frozen(self) -> Frozen:
        """What the rater is asked."""

    @property
    def rater(self) -> Rater:
        """Who is asked."""

    @property
    def sample(self) -> int:
        """Which repeat, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradings:
    """What became of gradings, by the names of their units. ``new`` counts those made now; ``stopped``: why it ended early."""

    graded: Mapping[str, Graded]
    failed: Mapping[str, str]
    new: int
    stopped: str = ""


def graded_all(
    study: StudyFile,
    kind: StudyKind,
    asked: Sequence[Grading],
    *,
    model: Model | None = None,
    limits: Limits | None = None,
    parallel: int = 4,
    told: Callable[[int, int], None] | None = None,
    batches: Batches | None = None,
) -> Gradings:
    """Make the gradings that are not there yet, up to ``parallel`` at a time.

    ``model`` stands in for every rater's. ``limits`` bind all calls of the studies of this directory together. ``told`` is given
    how many are done, and of how many. A limit, or an interruption (which is raised), ends it with what was made kept; the same
    call goes on from there. ``batches``: the judges are asked in batches first, at half the price; what they are asked after that
    (a reply that cannot be used) is asked one by one.
    """
    study.keep(*{one.rater.id: one.rater for one in asked}.values())
    units, ended = Units(study.directory, kind), Event()
    recording = BatchRecording(study.directory / CALLS, model or ByName(), limits=limits, header={"study": kind})
    equipment = Equipment(
        model=recording,
        objects=Objects(study.directory),
        reviews={},
        stop=ended.is_set,
    )
    graded = {one.name: found for one in asked if (found := graded_of(units.get(one.name))) is not None}
    failed: dict[str, str] = {}
    stopped, before = "", len(graded)

    def make(one: Grading) -> Graded:
        made = Graded(
            run=one.frozen.run,
            step=one.frozen.step,
            attempt=one.frozen.attempt,
            rater=one.rater.id,
            sample=one.sample,
            report=grade_again(equipment, one.frozen, one.rater, one.sample),
        )
        units.put(one.name, encode(made))
        return made

    waiting = [one for one in asked if one.name not in graded]
    if batches is not None:
        waiting, failed, stopped = in_batches(recording, batches, waiting)
    for one, outcome in carried_out(waiting, make, parallel=parallel, ended=ended):
        if isinstance(outcome, Graded):
            graded[one.name] = outcome
        elif isinstance(outcome, LimitReached | CallStopped):
            stopped = stopped or outcome.fact
        else:
            failed[one.name] = outcome.fact
        if told is not None:
            told(len(graded), len(asked))
    return Gradings(graded=graded, failed=failed, new=len(graded) - before, stopped=stopped)


def in_batches(
    recording: BatchRecording, batches: Batches, waiting: Sequence[Grading]
) -> tuple[list[Grading], dict[str, str], str]:
    """Have the replies of the judges put into the log: what can be graded from it, why not the rest, and why it ended early."""
    requests = {one.name: one.frozen.request(one.rater, one.sample) for one in waiting if one.frozen.docket.ids}
    stopped = ""
    missed: Mapping[str, PgeError] = {}
    try:
        missed = recording.reply_many(requests.values(), batches)
    except (NotNow, CallBroken) as error:
        stopped = error.fact
    failed = {}
    for name, request in requests.items():
        why = missed.get(request.key)
        if isinstance(why, LimitReached):
            stopped = stopped or why.fact
        elif why is not None:
            failed[name] = why.fact
    ready = [one for one in waiting if one.name not in requests or recording.has(requests[one.name])]
    return ready, failed, stopped
