"""The picture of a trajectory is drawn once for the numbers that it shows."""

from __future__ import annotations

from dataclasses import replace

from sample_runs import sample_run

from pge_nb import frames
from pge_nb.records import EvaluationReport, Section
from pge_nb.run import Run
from pge_nb.views.trajectories import chart


def picture(run: Run) -> bytes:
    return chart(run, frames.trajectory(run)).draw()


def changed(run: Run, **fields: float) -> Run:
    """The run with other fields in its first evaluation."""
    first = next(section for section in run.sections if isinstance(section.payload, EvaluationReport))

    def of(section: Section) -> Section:
        payload = section.payload
        if section is not first or not isinstance(payload, EvaluationReport):
            return section
        return replace(section, record=replace(section.record, payload=replace(payload, **fields)))

    return Run(map(of, run.sections))


def test_what_took_longer_is_not_drawn_again_and_other_scores_are() -> None:
    run = sample_run()
    drawn = picture(run)
    assert picture(changed(run, seconds=99.0)) is drawn
    other = picture(changed(run, overall=1.0))
    assert other != drawn
    assert picture(run) is drawn
