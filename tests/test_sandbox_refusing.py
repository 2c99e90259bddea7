"""Where nothing holds, nothing is run, unless a person allowed that; and then every output says so."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pge_nb.sandbox import NOT_ISOLATED, Rung
from pge_nb.sandbox.rungs import landlock_version, rungs

ROOT = Path(__file__).parents[1]


def test_a_layer_that_cannot_be_put_on_is_an_error_and_nothing_is_run(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("the launcher has no layers elsewhere")
    rung = replace([*rungs()][-1], landlock=landlock_version() or 1, bubblewrap="")
    program = (
        "import os, sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from pge_nb.errors import SandboxUnavailable\nfrom pge_nb.sandbox import run, orders\n"
        "orders.FILE_RIGHTS = dict.fromkeys(range(20), 60)\n"
        "from pge_nb.sandbox.rungs import Rung\n"
        f"try: run(['python', '-c', 'open(\"made\", \"w\")'], Path({str(tmp_path)!r}), seconds=5, rung={rung!r})\n"
        "except SandboxUnavailable as error: print(error.fact)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert "so nothing was run" in done.stdout
    assert not (tmp_path / "made").exists()


NO_SANDBOX = (
    "from pge_nb.sandbox import rungs\n"
    "rungs.landlock_version = lambda: 0\n"
    "rungs.shutil.which = lambda name: None\n"
    "from pge_nb import sandbox\n"
    "from pge_nb.errors import SandboxUnavailable\n"
    "from pathlib import Path\n"
)


def without_a_sandbox(program: str, cwd: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", NO_SANDBOX + program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_where_nothing_holds_a_command_is_refused_unless_that_is_allowed(tmp_path: Path) -> None:
    program = (
        "print(sandbox.standing())\n"
        "try: sandbox.run(['python', '-c', 'print(1)'], Path('.'), seconds=9)\n"
        "except SandboxUnavailable as error: print(error)\n"
        "print(sandbox.run(['python', '-c', 'print(1)'], Path('.'), seconds=9, allow_unsafe=True).out)\n"
        "print(sandbox.isolation(allow_unsafe=True))\n"
    )
    said = without_a_sandbox(program, tmp_path)
    assert said.startswith(
        "None\nGenerated code is run in a sandbox alone, and none holds on this machine.\n%pge doctor"
    )
    assert said.endswith(f"1\n\n{NOT_ISOLATED}\n")


def test_a_run_is_not_begun_where_nothing_holds_and_an_allowed_one_says_so(tmp_path: Path) -> None:
    program = (
        "from pge_nb import HarnessConfig, PGEHarness, open_run\n"
        "from pge_nb.bank import practice_task\n"
        "prompt = practice_task('roman').prompt\n"
        "try: PGEHarness(HarnessConfig(model='practice:seed=1', max_steps=1)).run(prompt)\n"
        "except SandboxUnavailable as error: print('refused', Path('shared_state.md').exists())\n"
        "PGEHarness(HarnessConfig(model='practice:seed=1', allow_unsafe=True)).run(prompt)\n"
        "run = open_run('shared_state.md')\n"
        "print(run.task.isolation)\n"
        "print({s.record.payload.isolation for s in run.sections if s.record.kind == 'evaluation'})\n"
    )
    said = without_a_sandbox(program, tmp_path).split("\n")
    assert said[:3] == ["refused False", NOT_ISOLATED, repr({NOT_ISOLATED})]


def test_a_full_disk_is_told_in_two_lines(tmp_path: Path) -> None:
    """A limit on the size of files stands for it: both fail at the same write."""
    if sys.platform != "linux":
        pytest.skip("nothing is written elsewhere")
    program = (
        "import resource, signal\nfrom pathlib import Path\n"
        "from pge_nb import sandbox\nfrom pge_nb.errors import SandboxUnavailable\n"
        "assert sandbox.standing()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        f"try: sandbox.run(['python', '-c', 'pass'], Path({str(tmp_path)!r}), seconds=5)\n"
        "except SandboxUnavailable as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    fact, move = done.stdout.strip().split("\n")
    assert fact.startswith("The sandbox could not be set up in ")
    assert "TMPDIR" in move


def test_the_words_name_the_layers() -> None:
    whole = Rung(landlock=7, seccomp=True, other_user=True)
    assert whole.says.startswith("isolated: ")
    assert whole.says.endswith("(a user id of its own, Landlock, seccomp and resource limits)")
    assert Rung().says == NOT_ISOLATED
