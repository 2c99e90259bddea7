"""`%pge doctor` tries to get out, and says what holds, what each layer blocks, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import sandbox

ROOT = Path(__file__).parents[1]


def test_the_layers_that_hold_are_told_within_five_seconds(shell: Shell) -> None:
    started = time.monotonic()
    view = shell.cell("%pge doctor").view
    assert time.monotonic() - started < 5
    rung = sandbox.standing()
    assert rung is not None
    assert view.mark == "holds"
    assert view.df is not None
    on = [row.layer for row in view.df.itertuples() if row.here.startswith("on")]
    assert on == [*rung.layers, "resource limits"]
    assert f"{rung.says[1:]}." in view.plain()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is tried")
def test_every_kind_of_attempt_is_shown_with_what_came_of_it(shell: Shell) -> None:
    text = shell.cell("%pge doctor").view.plain()
    told = [line for line in text.split("\n") if "blocked, all" in line]
    assert len(told) == 9
    assert "let through" not in text


def doctored(begun: str) -> str:
    """What is told where this machine is made to be another one first."""
    ended = (
        "from pge_nb.commands.doctor import doctor\nview = doctor(None)\nprint(view.plain(), *view.blocks[0].rows)\n"
    )
    program = f"{begun}\n{ended}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is tried")
def test_a_machine_without_any_layer_says_so_and_what_to_do() -> None:
    text = doctored(
        "from pge_nb.commands import doctor as d\nfrom pge_nb.sandbox import rungs as r\n"
        "r.landlock_version = d.landlock_version = lambda: 0\n"
        "r.shutil.which = lambda name: None"
    )
    assert text.startswith("Sandbox [broken]")
    assert "Linux 5.13 or newer" in text
    assert "no layer is there" in text
    assert "HarnessConfig(allow_unsafe=True)" in text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is tried")
def test_a_layer_that_lets_something_through_is_named_and_not_used() -> None:
    """The filter is left out, as if its system calls were refused nowhere."""
    text = doctored(
        "import pge_nb.sandbox.orders as o\n"
        "import struct\n"
        "o.program = lambda machine, **_: struct.pack('=HBBI', 6, 0, 0, 0x7FFF0000)\n"
        "from pge_nb import sandbox\n"
        "assert sandbox.standing() is None"
    )
    assert text.startswith("Sandbox [broken]")
    assert "let through" in text
    assert "UDP" in text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is tried")
def test_a_bubblewrap_that_does_not_start_is_told_where_it_would_be_used(tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    text = doctored(
        f"import os\nos.environ['PATH'] = {str(tmp_path)!r} + os.pathsep + os.environ['PATH']\n"
        "os.geteuid = lambda: 1000"
    )
    assert text.startswith("Sandbox [holds]")
    assert "does not start here" in text
    assert "No permissions to create a new namespace" in text
