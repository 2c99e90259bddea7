"""Whether a judge gets kinder from retry to retry."""

from __future__ import annotations

from typing import Annotated

from ..display import View
from ..models.choose import is_practice
from ..models.limits import Limits
from ..prose import counted
from ..studies.drifting import LEAST_REPEATS, timed_of
from ..studies.drifting import drift as measured
from ..studies.replaying import ahead
from ..studies.study import open_study
from ..views.drifted import drifted_view
from .here import Here
from .of_runs import RUNS, runs_of
from .raters import judge_named


def drift(
    here: Here,
    /,
    *runs: Annotated[str, RUNS],
    rater: Annotated[str, "the judge; gate: the judge of the run here"] = "gate",
    repeats: Annotated[
        int, "so many gradings of a first attempt at once, where drift is measured from"
    ] = LEAST_REPEATS,
    budget: Annotated[float | None, "at most so many dollars, over all studies of this notebook"] = None,
    parallel: Annotated[int, "so many gradings are made at once"] = 4,
) -> View:
    """Grade first attempts again as the judge sees them after each retry: whether it gets kinder, beside a fresh control."""
    chosen, study = runs_of(here, runs), open_study(here.directory)
    judge = judge_named(here, rater, chosen)
    timed = timed_of(chosen, judge, repeats=repeats)
    if not is_practice(judge.model) and (before := ahead(study, [one.asked for one in timed])).units:
        print(before)  # noqa: T201 - told before anything is paid
    done = measured(study, chosen, judge, repeats=repeats, limits=Limits(max_dollars=budget), parallel=parallel)
    stopped, failed = done.regraded.stopped, len(done.regraded.failed)
    notes = [f"It ended early: {stopped} The same line goes on from there."] if stopped else []
    notes += [f"{counted(failed, 'grading')} could not be made: the same line asks for them again."] if failed else []
    return drifted_view(
        done.slopes(), done.frame(), judge.name or judge.id, level=done.level, notes=notes, next_="%pge card"
    )
