"""Sweeps: the same table on any executor and after anything that dies, and no unit made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from messages_stub import MessagesStub, StubReply

from pge_nb import studies
from pge_nb.agents.raters import judge
from pge_nb.errors import BadInput, StateBusy
from pge_nb.studies import sweeping
from pge_nb.studies.study import open_study
from pge_nb.studies.sweeping import SWEEP, Standing, Swept, sweep

TASKS = ["generated:steps=1,seed=1", "generated:steps=1,seed=2"]
CONFIGS = {"weak": {"model": "practice:skill=0.4"}, "strong": {"model": "practice:skill=0.9", "contract": False}}
LENIENT = judge("practice:leniency=2.0")
SEEDS = (1, 2)
CLAUDE = "claude-sonnet-5-5"


def unseen(_: Standing) -> None:
    """Draws nothing."""


def swept(directory: Path, **given: Any) -> Swept:
    return sweep(TASKS, CONFIGS, [LENIENT], SEEDS, directory=directory, **{"told": unseen, **given})


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return swept(tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster


def same_to_the_byte(one: Swept, other: Swept, tmp_path: Path) -> bool:
    files = [
        swept.save(tmp_path / f"{side}{kind}").read_bytes()
        for kind in (".csv", ".parquet")
        for side, swept in (("one", one), ("other", other))
    ]
    return files[0] == files[1] and files[2] == files[3]


def test_the_grid_in_its_order_and_with_its_columns(usual: Swept) -> None:
    frame = usual.frame()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(SWEEP)
    assert len(frame) == len(TASKS) * len(CONFIGS) * len(SEEDS) * 2
    assert list(dict.fromkeys(frame["task"])) == TASKS
    assert list(frame["rater"][:2]) == ["gate", LENIENT.id]
    assert frame["error"].isna().all()
    assert not usual.stopped
    gate, other = (frame[frame["rater"] == rater].reset_index() for rater in ("gate", LENIENT.id))
    assert gate["attempts"].equals(other["attempts"])
    assert (other["passed"] >= gate["passed"]).all()
    assert other["flipped"].sum() > 0
    assert (gate[gate["config"] == "weak"]["attempts"].sum()) > (gate[gate["config"] == "strong"]["attempts"].sum())
    assert len(usual.seconds()) == len(frame)


def test_processes_give_the_same_table_to_the_byte(usual: Swept, tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        assert same_to_the_byte(swept(tmp_path, executor=pool), usual, tmp_path)


def test_two_dask_workers_give_the_same_table_to_the_byte(usual: Swept, tmp_path: Path, cluster: Any) -> None:
    with cluster.get_client() as client, client.get_executor() as pool:
        assert same_to_the_byte(swept(tmp_path, executor=pool), usual, tmp_path)


def test_a_dask_worker_that_is_killed_changes_nothing(usual: Swept, tmp_path: Path, cluster: Any) -> None:
    with cluster.get_client() as client, client.get_executor() as pool:
        killed: list[int] = []

        def kill(standing: Standing) -> None:
            if standing.done >= 3 and not killed:
                killed.extend(list(client.run(os.getpid).values())[:1])
                os.kill(killed[0], signal.SIGKILL)

        done = swept(tmp_path, executor=pool, told=kill)
    assert killed
    assert same_to_the_byte(done, usual, tmp_path)


class Reversed(Executor):
    """Ends what it is given last first."""

    def __init__(self) -> None:
        self.ended = False
        self._given: list[tuple[Future[Any], Any]] = []
        self._pool = ThreadPoolExecutor(1)
        self._pool.submit(self._work)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._given.append((future, lambda: fn(*args, **kwargs)))
        return future

    def _work(self) -> None:
        while not self.ended:
            time.sleep(0.05)
            while self._given:
                future, call = self._given.pop()
                future.set_result(call())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.ended = True
        self._pool.shutdown(wait)


def test_the_order_of_completion_changes_nothing(usual: Swept, tmp_path: Path) -> None:
    with Reversed() as pool:
        assert same_to_the_byte(swept(tmp_path, executor=pool), usual, tmp_path)


def test_a_pool_that_breaks_stops_the_sweep_and_the_same_call_goes_on(
    usual: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProcessPoolExecutor(2) as pool:
        killed: list[int] = []

        def kill(standing: Standing) -> None:
            if standing.done == 3 and not killed:
                killed.append(next(iter(pool._processes)))
                os.kill(killed[0], signal.SIGKILL)

        broken = swept(tmp_path, executor=pool, told=kill)
    assert "executor is lost" in broken.stopped
    assert 3 <= len(broken.came) < len(usual.came)
    kept = {unit.name for unit, _ in broken.came}
    made = remembered(monkeypatch)
    assert same_to_the_byte(swept(tmp_path), usual, tmp_path)
    assert not kept & set(made)
    assert len(made) == len(set(made)) == len(usual.came) - len(kept)


def test_a_scheduler_that_goes_stops_the_sweep_and_the_same_call_goes_on(usual: Swept, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as mine:
        client = mine.get_client()
        pool = client.get_executor()

        def end(standing: Standing) -> None:
            if standing.done == 2:
                client.close()

        gone = swept(tmp_path, executor=pool, told=end, parallel=3)
    assert gone.stopped
    assert same_to_the_byte(swept(tmp_path), usual, tmp_path)


DRIVER = """
import sys
sys.path[:0] = [{tests!r}, {house!r}]
from test_sweeping import CONFIGS, LENIENT, SEEDS, TASKS
from pge_nb.studies import sweep
sweep(TASKS, CONFIGS, [LENIENT], SEEDS, directory={directory!r}, told=lambda standing: print(standing.done, flush=True))
"""


def test_a_driver_that_is_killed_loses_only_what_was_under_way(
    usual: Swept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Path(__file__).parent
    source = DRIVER.format(tests=str(here), house=str(here.parent), directory=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if int(line) == 5:
                with pytest.raises(StateBusy):
                    swept(tmp_path)
                driver.kill()
                break
        driver.wait()
    kept = {path.stem for path in (tmp_path / ".pge/studies/sweep").glob("*/*.zip")}
    assert 5 <= len(kept) < len(usual.came)
    made = remembered(monkeypatch)
    assert same_to_the_byte(swept(tmp_path), usual, tmp_path)
    assert sorted(made) == sorted({unit.name for unit, _ in usual.came} - kept)


def remembered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the units that are made from now on in this process."""
    made: list[str] = []
    really = sweeping.carried

    def carried(unit: sweeping.Unit, *args: Any, **kwargs: Any) -> bytes:
        made.append(unit.name)
        return really(unit, *args, **kwargs)

    monkeypatch.setattr(sweeping, "carried", carried)
    return made


def test_a_whole_sweep_is_told_once_in_the_study_file_and_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sweep(["stats"], CONFIGS, directory=tmp_path, told=unseen)
    made = remembered(monkeypatch)
    pd.testing.assert_frame_equal(sweep(["stats"], CONFIGS, directory=tmp_path, told=unseen).frame(), first.frame())
    assert made == []
    assert [(one.study, one.units) for one in open_study(tmp_path).read().studies] == [("sweep", 2)]
    more = sweep(["stats"], {**CONFIGS, "again": CONFIGS["weak"]}, directory=tmp_path, told=unseen)
    assert made == [], "a configuration by another name is the same work"
    assert len(more.frame()) == 3


def test_a_run_comes_back_whole(usual: Swept, tmp_path: Path) -> None:
    run = usual.run(TASKS[0], "weak", 1, tmp_path / "back")
    assert (
        run.task.run
        == usual.frame().set_index(["task", "config", "seed", "rater"]).loc[(TASKS[0], "weak", 1, "gate")]["run"]
    )
    assert run.calls
    assert (tmp_path / "back" / ".pge" / "objects").is_dir()
    with pytest.raises(BadInput, match="no finished run"):
        usual.run("stats", "weak", 7, tmp_path / "other")


def test_a_failure_is_a_row_with_its_error_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really, ill = sweeping._run, [True]

    def sometimes(unit: sweeping.Unit, *args: Any) -> sweeping.Came:
        if ill and unit.seed == 2:
            raise ZeroDivisionError("by chance")
        return really(unit, *args)

    monkeypatch.setattr(sweeping, "_run", sometimes)
    frame = sweep(["stats"], {"plain": {}}, seeds=SEEDS, directory=tmp_path, told=unseen).frame()
    assert list(frame["outcome"]) == [frame["outcome"][0], "failed"]
    assert list(frame["error"].fillna("")) == ["", "ZeroDivisionError: by chance"]
    ill.clear()
    assert sweep(["stats"], {"plain": {}}, seeds=SEEDS, directory=tmp_path, told=unseen).frame()["error"].isna().all()


def test_a_limit_on_units_makes_so_many_and_the_next_call_goes_on(tmp_path: Path) -> None:
    def more() -> Swept:
        return sweep(["stats"], {"plain": {}}, seeds=range(5), directory=tmp_path, limit=2, told=unseen)

    assert [len(more().came) for _ in range(3)] == [2, 4, 5]
    assert more().stopped == ""


def test_progress_tells_how_long_it_will_last(tmp_path: Path) -> None:
    told: list[Standing] = []
    sweep(["stats"], {"plain": {}}, seeds=range(3), directory=tmp_path, told=told.append)
    assert [one.done for one in told] == [1, 2, 3]
    assert told[0].left is not None
    assert told[0].left > 0
    assert str(told[-1]) == "3 of 3 units"
    assert str(Standing(done=1, total=9_000, failed=2, left=600.0)) == "1 of 9,000 units, 2 failed, about 10 min left"


def test_a_budget_holds_over_all_calls_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"dear": {"model": CLAUDE, "max_dollars": 1.0}}
    with MessagesStub(lambda _: "no plan") as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        first = sweep(["stats"], config, seeds=range(4), directory=tmp_path, budget=2.5, parallel=4, told=unseen)
        asked = len(stub.requests)
        frame = first.frame()
        assert len(frame) == 4, "what is reserved is given back when a unit costs less"
        assert (frame["outcome"] == "paused").all()
        assert (frame["dollars"] > 0).all()
        again = sweep(["stats"], config, seeds=range(4), directory=tmp_path, budget=2.5, told=unseen)
        assert len(stub.requests) == asked, "what is finished is not asked again"
        pd.testing.assert_frame_equal(again.frame(), frame)
        less = sweep(["stats"], config, seeds=(9,), directory=tmp_path, budget=0.5, told=unseen)
        assert "could cost 1.00 dollars" in less.stopped
        assert less.came == ()
    with pytest.raises(BadInput, match="no price is known"):
        sweep(["stats"], {"x": {"model": "unheard-of"}}, directory=tmp_path, budget=1.0)


def test_a_unit_that_failed_is_gone_on_with_and_what_it_paid_for_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def once(directory: Path, answers: int | None) -> tuple[int, pd.DataFrame]:
        refused = StubReply(status=401, error="authentication_error", message="no such key")
        with MessagesStub(
            ["no plan"] * answers + [refused] * 9 if answers is not None else lambda _: "no plan"
        ) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            frame = sweep(["stats"], {"dear": {"model": CLAUDE}}, directory=directory, told=unseen).frame()
        return len(stub.requests), frame

    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    whole, _ = once(tmp_path / "whole", None)
    asked, failed = once(tmp_path / "broken", 3)
    assert asked == 4
    assert list(failed["outcome"]) == ["failed"]
    assert failed["error"].notna().all()
    assert (failed["calls"] == 3).all()
    assert (failed["dollars"] > 0).all()
    rest, done = once(tmp_path / "broken", None)
    assert rest == whole - 3
    assert done["error"].isna().all()


def test_what_a_killed_driver_had_under_way_counts_in_full(tmp_path: Path) -> None:
    config = {"dear": {"model": CLAUDE, "max_dollars": 1.0}}
    works = sweeping.Works(tmp_path, "sweep")
    works.begin("0" * 64, 2.0)
    done = sweep(["stats"], config, directory=tmp_path, budget=2.5, told=unseen)
    assert "2.00 of 2.5 are spent or reserved" in done.stopped


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((["nothing"], {"a": {}}), "There is no practice task"),
        ((["stats"], {"a": {"depth": 3}}), "depth"),
        ((["stats"], {"a": {"registry": object()}}), "cannot be sent"),
        (([], {"a": {}}), "needs tasks"),
    ],
)
def test_bad_input_says_what_is_wrong(given: tuple[Any, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=told):
        studies.sweep(*given, directory=tmp_path)


def test_only_parquet_and_csv_are_written(usual: Swept, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="neither Parquet nor CSV"):
        usual.save(tmp_path / "table.xlsx")
