"""What holds for the view of every command: what it ends with, and the frame that its table has."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_shell import Ran, Shell
from sanitizer import read

from pge_nb.commands import COMMANDS
from pge_nb.commands.every_day import What
from pge_nb.display import Table
from pge_nb.state import open_run

RUN = "%pge run --practice stats --seed 2"
OF_A_RUN = {
    "run": RUN,
    "resume": "%pge resume",
    "load": "%pge load",
    "files": "%pge files",
    "diff": "%pge diff 1.1 1",
    "restore": "%pge restore 1",
    "plan": "%pge plan --practice stats --seed 2",
    "contract": "%pge contract 1",
    "generate": "%pge generate 1",
    "evaluate": "%pge evaluate 1",
    "config": "%pge config",
    "runs": "%pge runs",
    "save": "%pge save",
    "estimate": "%pge estimate",
    "verify": "%pge verify",
    "export": "%pge export csv",
    **{f"show {what}": f"%pge show {what}" for what in What.__args__},
    "status": "%pge",
}
"""Command -> a line of it that shows the run; more than one where its views differ."""
UNRATED = {"plan", "contract", "generate"}
"""They show the run as it stood before anything was evaluated."""
ELSEWHERE = {"answer", "open", "new", "stop", "confirm", "import", "improve", "drift"}
"""They need another run than the one that passed, and have a test of their own below."""
OF_NO_RUN = {
    "help": "%pge help",
    "tasks": "%pge tasks",
    "model": "%pge model",
    "key": "",
    "doctor": "%pge doctor",
    "rater": "%pge rater",
    "raters": "%pge raters gate gate",
    "regrade": "%pge regrade",
    "exam": "%pge exam --sample 2 --no-injection",
    "label": "%pge label --as ann --list",
    "calibrate": "%pge calibrate",
    "card": "%pge card",
    "probe": "%pge probe --only own",
}
"""Command -> a line; it shows no run, so it has no foot."""
COLUMNS = {
    "%pge help": ["table", "line", "what_it_does"],
    "%pge help run": ["argument", "what_it_is"],
    "%pge tasks": ["task", "steps", "oracles", "prompt"],
    "%pge model": ["line", "what_it_does"],
    "%pge doctor": ["layer", "here", "what_it_blocks", "what_to_do"],
    "%pge load": ["module", "file", "bytes", "sha256"],
    "%pge export csv": ["file", "bytes"],
    "%pge runs": ["run", "name", "number", "task", "outcome", "attempts", "cost", "when", "head"],
}


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Ran]]:
    """Line -> what it gave, in one notebook in which a run has passed."""
    before, place, paths = Path.cwd(), tmp_path_factory.mktemp("notebook"), list(sys.path)
    os.chdir(place)
    shell = Shell()
    try:
        yield {line: shell.cell(line) for line in (*OF_A_RUN.values(), *OF_NO_RUN.values(), "%pge help run") if line}
    finally:
        shell.close()
        os.chdir(before)
        sys.path[:] = paths
        for name in [
            name for name, module in sys.modules.items() if str(place) in str(getattr(module, "__file__", ""))
        ]:
            del sys.modules[name]


def test_every_command_is_among_those_that_are_tried_here() -> None:
    tried = {name.split()[0] for name in (*OF_A_RUN, *OF_NO_RUN)} | ELSEWHERE
    assert set(COMMANDS) <= tried, "give the new command a line above"


FOOT = re.compile(r"run [0-9a-f]{16} · \d+ sections · head [0-9a-f]{12} · \d{4}-\d\d-\d\d \d\d:\d\d UTC( · rater \S+)?")


def ends_with_the_run(ran: Ran, *, whole: bool = True, says: str = "") -> None:
    view = ran.view
    assert (FOOT.fullmatch(view.foot.removeprefix("newest: ")) is not None) == whole, view.foot
    assert says in view.foot
    assert view.plain().split("\n")[-1] == view.foot
    assert view.markdown().split("\n\n")[-1].replace("\\", "") == view.foot
    assert "".join(read(view.html()).words).rstrip().endswith(view.foot)


@pytest.mark.parametrize("command", OF_A_RUN)
def test_every_view_of_a_run_ends_with_run_section_head_time_and_rater(command: str, views: dict[str, Ran]) -> None:
    ends_with_the_run(views[OF_A_RUN[command]], says="" if command in UNRATED else " · rater ")


def test_a_view_of_no_run_has_no_foot_but_that_of_a_rater(views: dict[str, Ran]) -> None:
    footed = [line for line in OF_NO_RUN.values() if line and views[line].view.foot]
    assert footed == ["%pge calibrate", "%pge card", "%pge probe --only own"]
    assert all(views[line].view.foot.startswith("rater r-") for line in footed)


def test_a_paused_an_earlier_and_a_damaged_run_end_in_the_same_way(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 1 --skill 0 --max-retries 0")
    ends_with_the_run(shell.cell("%pge answer stop"))
    told, head = open_run(tmp_path).task.run, open_run(tmp_path).head[:12]
    ends_with_the_run(shell.cell("%pge new"), says=f"run {told}")
    ends_with_the_run(shell.cell("%pge open @1"), says=f"run {told}")
    ends_with_the_run(shell.cell("%pge runs"), says=f"head {head}")
    shell.cell(f"{RUN};")
    state = tmp_path / "shared_state.md"
    state.write_bytes(state.read_bytes().replace(b'"verdict":"pass"', b'"verdict":"fail"', 1))
    ends_with_the_run(shell.cell("%pge verify"), whole=False, says=" sections · head ")
    assert shell.cell("%pge new").view.foot == ""
    ends_with_the_run(shell.cell("%pge runs"), says=f"run {told}")


def test_every_view_with_a_table_has_a_frame(views: dict[str, Ran]) -> None:
    for line, ran in views.items():
        if any(isinstance(block, Table) for block in ran.view.blocks):
            assert ran.view.df is not None, line
            assert len(ran.view.df), line
            assert all(column == column.lower() and column.isidentifier() for column in ran.view.df.columns), line


@pytest.mark.parametrize("line", COLUMNS)
def test_the_columns_of_a_frame_stay_as_they_are(line: str, views: dict[str, Ran]) -> None:
    frame = views[line].view.df
    assert frame is not None
    assert list(frame.columns) == COLUMNS[line]


def test_the_frame_of_help_has_every_command(views: dict[str, Ran]) -> None:
    frame = views["%pge help"].view.df
    assert frame is not None
    assert {line.split()[1] for line in frame["line"]} >= set(COMMANDS)
