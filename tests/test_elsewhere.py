"""A run that another process is at: what can be done here is done, and what is refused has written nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb.errors import StateBusy
from pge_nb.records import Answer
from pge_nb.state import open_run

ROOT = Path(__file__).parents[1]
HOLD = (
    "import sys; from pge_nb.state import StateFile\n"
    "with StateFile('shared_state.md').running():\n    print('up', flush=True); sys.stdin.read()"
)


@contextmanager
def held(place: Path) -> Iterator[None]:
    """Another process is at the run of the directory."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=place,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        yield
        assert child.stdin is not None
        child.stdin.close()


@pytest.mark.parametrize(
    "cell",
    [
        "%pge resume --max-seconds 9",
        "%pge resume --max-tokens-total 90000",
        "%%pge contract\nThe module has no import.",
        "%%pge contract 1\nThe module has no import.",
    ],
)
def test_what_is_refused_has_written_nothing(shell: Shell, tmp_path: Path, cell: str) -> None:
    shell.cell("%pge run --practice stats --seed 2 --max-tokens-total 14000")
    before = (tmp_path / "shared_state.md").read_bytes()
    with held(tmp_path):
        assert isinstance(shell.cell(cell).error, StateBusy)
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_the_next_line_of_a_view_can_be_carried_out_here(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --max-tokens-total 14000")
    assert shell.cell("%pge show plan").view.next.startswith("%pge resume")
    with held(tmp_path):
        for line in ("%pge", "%pge show plan", "%pge show contract", "%pge show cost", "%pge show"):
            assert shell.cell(line).view.next == "%pge", line
        assert "running in another process" in shell.cell("%pge").view.mark


def test_an_answer_is_taken_and_left_to_the_process_that_is_at_work(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --approve plan")
    with held(tmp_path):
        view = shell.cell("%pge answer approve").view
        assert any("the process that is at work goes on with it" in note for note in view.notes)
    run = open_run(tmp_path)
    assert isinstance(run.sections[-1].payload, Answer)
    assert shell.cell("%pge resume").view.mark == "passed"
