from __future__ import annotations

import pytest
from hand_runs import Hand

from pge_nb import records as r
from pge_nb.clock import Clock, worked
from pge_nb.run import Run


def run_of(*spans: tuple[str, float], parallel: int = 1) -> Run:
    """Sections that were appended at these times of a day, each after so many seconds of work."""
    made = Hand(()).run
    sections = [r.Section(record=one.record, seq=one.seq, prev="", sha256="", at="", offset=0) for one in made.sections]
    for seq, (at, seconds) in enumerate(spans, len(sections)):
        payload = r.Proposal(deliverables=("a.py",), checks=(), seconds=seconds)
        record = r.Record(payload=payload, by="generator", step=1)
        sections.append(r.Section(record=record, seq=seq, prev="", sha256="", at=f"2026-12-01T{at}Z", offset=0))
    run = Run(sections)
    if parallel > 1:
        run.add(amended(run, max_parallel=parallel))
    return run


def amended(run: Run, **limits: float) -> r.Section:
    record = r.Record(payload=r.Amendment(limits=limits), by="person")
    return r.Section(record=record, seq=len(run.sections), prev="", sha256="", at="", offset=0)


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ((), 0.0),
        ((("10:00:10.000", 10.0),), 10.0),
        ((("10:00:10.000", 10.0), ("12:00:05.500", 5.5)), 15.5),  # hours in between count for nothing
        ((("10:00:10.000", 10.0), ("10:00:12.000", 8.0)), 12.0),  # from 0 to 10 and from 4 to 12
        ((("10:00:20.000", 20.0), ("10:00:21.000", 2.0), ("10:00:25.000", 1.0)), 22.0),  # 0-20, 19-21, 24-25
        ((("10:00:12.000", 8.0), ("10:00:30.000", 30.0)), 30.0),
    ],
)
def test_what_several_did_at_once_counts_once_and_idle_time_not_at_all(
    spans: tuple[tuple[str, float], ...], seconds: float
) -> None:
    assert worked(run_of(*spans, parallel=4)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "times",
    [
        ("10:00:10.000", "09:00:15.000", "08:00:20.000"),
        ("10:00:10.000", "10:00:10.000", "10:00:10.000"),
        ("10:00:10.000", "10:00:11.000", "10:00:12.000"),
    ],
    ids=["set back", "stands", "slow"],
)
def test_a_clock_that_is_set_while_a_run_works_makes_it_work_no_longer(times: tuple[str, ...]) -> None:
    spans = [(at, 10.0) for at in times]
    assert worked(run_of(*spans)) == pytest.approx(30.0)
    assert worked(run_of(*spans, parallel=2)) >= 15.0


def test_a_clock_goes_on_where_the_run_stood() -> None:
    run = run_of(("10:00:10.000", 10.0))
    run.add(amended(run, max_seconds=10.5))
    clock = Clock.of(run)
    assert 10.0 <= clock.seconds < 10.4
    assert not clock.over
    assert Clock(most=10.5, before=10.5).over
    assert not Clock(before=1e9).over
    assert "--max-seconds 21" in clock.reached().next_move
