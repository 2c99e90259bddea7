"""What generated code may try, each in a child, on every rung that there is here, and again where namespaces are forbidden."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pge_nb import sandbox
from pge_nb.sandbox import Bounds, Ran, confined, hiding, run
from pge_nb.sandbox.probe import ATTEMPTS, QUICK, attempt
from pge_nb.sandbox.rungs import landlock_version, rungs

ROOT = Path(__file__).parents[1]
RUNGS = list(rungs())
EVERY = tuple(name for names in ATTEMPTS.values() for name in names)
linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
if sys.platform == "linux" and not RUNGS:
    pytest.fail("this Linux has neither Landlock nor bubblewrap, so that nothing here can be tried", pytrace=False)


def code(text: str, cwd: Path, *, seconds: float = 30, **more: object) -> Ran:
    return run(["python", "-c", text], cwd, seconds=seconds, **more)  # type: ignore[arg-type]


# The list


@linux
@pytest.mark.parametrize("what", ATTEMPTS)
def test_nothing_gets_out_of_the_rung_that_stands_here(what: str) -> None:
    rung = sandbox.standing()
    assert rung is not None
    found = attempt(rung, ATTEMPTS[what])
    assert (found.failed, found.escapes) == ("", {})


@linux
@pytest.mark.parametrize("version", range(1, landlock_version() + 1))
def test_older_kernels_hold_as_well(version: int) -> None:
    """An older Landlock refuses less; the filter must refuse the rest."""
    for rung in RUNGS:
        found = attempt(replace(rung, landlock=version), QUICK)
        assert (found.failed, found.escapes) == ("", {})


CONTAINER = """
import ctypes, struct, sys
steps = [(0x20, 0, 0, 0)]
for number in {numbers}:
    steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050001)]
steps += [(0x15, 0, 3, {clone}), (0x20, 0, 0, 16), (0x45, 0, 1, 0x7e020080), (0x06, 0, 0, 0x00050001)]
steps += [(0x06, 0, 0, 0x7fff0000)]
laid = b"".join(struct.pack("=HBBI", *step) for step in steps)
room = ctypes.create_string_buffer(laid, len(laid))
library = ctypes.CDLL(None, use_errno=True)
if {unprivileged}:
    assert library.prctl(38, 1, 0, 0, 0) == 0
assert library.prctl(22, 2, struct.pack("@HP", len(steps), ctypes.addressof(room)), 0, 0) == 0
assert library.unshare(0x10000000) == -1
"""
"""Puts on the filter of a container: no unshare, no setns, no mount, no clone into a namespace; clone3 is not there."""


def in_a_container(program: str, *, unprivileged: bool) -> str:
    """What a program prints that runs under a container's filter, as a notebook on Binder does."""
    numbers, clone = (
        ([272, 308, 165, 166, 155, 435], 56) if platform.machine() == "x86_64" else ([97, 268, 40, 39, 41, 435], 220)
    )
    begun = CONTAINER.format(numbers=numbers, clone=clone, unprivileged=unprivileged)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ANTHROPIC_API_KEY": "sk-secret"}
    done = subprocess.run(
        [sys.executable, "-c", begun + program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@linux
@pytest.mark.parametrize("unprivileged", [True, False])
def test_nothing_gets_out_in_a_container_that_forbids_namespaces(unprivileged: bool) -> None:
    if not unprivileged and os.geteuid() != 0:
        pytest.skip("only root can put on a filter without giving up new privileges")
    program = (
        "import json\n"
        "from pge_nb import sandbox\n"
        "from pge_nb.sandbox.probe import attempt\n"
        "rung = sandbox.standing()\n"
        f"found = attempt(rung, {EVERY!r})\n"
        "print(json.dumps([bool(rung.bubblewrap), found.failed, found.escapes]))\n"
    )
    assert json.loads(in_a_container(program, unprivileged=unprivileged)) == [False, "", {}]


@linux
def test_daemons_floods_and_time_limits_end_the_same_way_in_such_a_container() -> None:
    these = [
        "tests/test_sandbox.py::test_a_daemon_does_not_outlive_its_run[pass-pass]",
        "tests/test_sandbox.py::test_a_command_that_ignores_signals_is_killed",
        "tests/test_sandbox.py::test_a_command_that_closes_its_outputs_is_still_limited",
        "tests/test_sandbox.py::test_output_without_end_is_cut_and_the_command_killed[stdout]",
        "tests/test_sandbox.py::test_a_command_that_writes_too_much_is_killed_and_that_is_told[many files]",
    ]
    program = f"import os, pytest\nos.chdir({str(ROOT)!r})\nassert pytest.main({['-q', *these]!r}) == 0\n"
    assert "5 passed" in in_a_container(program, unprivileged=True)


@linux
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can become an ordinary user")
def test_nothing_gets_out_for_an_ordinary_user(tmp_path: Path) -> None:
    """The interpreter may lie where no other user looks, so that right is kept; else it is a user like any."""
    program = (
        "import ctypes, json, os, struct, tempfile\n"
        "library = ctypes.CDLL(None, use_errno=True)\n"
        "library.prctl(8, 1, 0, 0, 0)\n"
        f"os.chown({str(tmp_path)!r}, 54321, 54321)\n"
        "os.setgroups([]); os.setresgid(54321, 54321, 54321); os.setresuid(54321, 54321, 54321)\n"
        "head, bit = struct.pack('=Ii', 0x20080522, 0), 1 << 2\n"
        "number = 126 if os.uname().machine == 'x86_64' else 91\n"
        "assert library.syscall(number, head, struct.pack('=6I', bit, bit, bit, 0, 0, 0)) == 0\n"
        "assert library.prctl(47, 2, 2, 0, 0) == 0\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "from pge_nb import sandbox\n"
        "from pge_nb.sandbox.probe import attempt\n"
        "rung = sandbox.standing()\n"
        f"found = attempt(rung, {EVERY!r})\n"
        "print(json.dumps([rung.other_user, os.getuid(), found.failed, found.escapes]))\n"
    )
    assert json.loads(in_a_container(program, unprivileged=True)) == [False, 54321, "", {}]


@linux
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_bubblewrap_stands_where_it_works_and_holds_without_landlock() -> None:
    for rung in (one for one in RUNGS if one.bubblewrap):
        for version in (rung.landlock, 0):
            found = attempt(replace(rung, landlock=version), QUICK)
            assert found.failed or found.escapes == {}


# Each of them by itself, looked at from outside


@linux
def test_no_key_is_in_the_environment_nor_in_that_of_the_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    text = (
        "import os\nfrom pathlib import Path\n"
        "print(dict(os.environ))\n"
        "for place in Path('/proc').glob('[0-9]*/environ'):\n"
        "    try: print(place.read_bytes())\n"
        "    except OSError as error: pass\n"
        "print('done')\n"
    )
    ran = code(text, tmp_path)
    assert "done" in ran.out
    assert "secret" not in ran.out


@linux
def test_a_signal_to_everybody_reaches_nobody_outside(tmp_path: Path) -> None:
    got: list[int] = []
    before = signal.signal(signal.SIGURG, lambda number, _: got.append(number))
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for rung in RUNGS:
            for version in (1, rung.landlock):
                text = (
                    "import os, signal\n"
                    f"for target in (-1, {os.getpid()}, {bystander.pid}, os.getppid()):\n"
                    "    try: os.kill(target, signal.SIGURG)\n"
                    "    except OSError: pass\n"
                    "print('done')\n"
                )
                assert code(text, tmp_path, rung=replace(rung, landlock=version)).out == "done\n"
    finally:
        signal.signal(signal.SIGURG, before)
        bystander.kill()
        bystander.wait()
    assert got == []


@linux
def test_what_is_run_can_end_its_own_children(tmp_path: Path) -> None:
    text = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "child.kill()\n"
        "print(child.wait(10))\n"
    )
    assert code(text, tmp_path).out == "-9\n"


@linux
def test_a_busy_loop_ends_with_its_processor_time_whatever_it_ignores(tmp_path: Path) -> None:
    text = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass"
    ran = code(text, tmp_path, seconds=1)
    assert (ran.exit, ran.timed_out) == (None, True)


@linux
def test_bounds_are_those_that_were_asked_for(tmp_path: Path) -> None:
    text = "import resource as r; print([r.getrlimit(n) for n in (r.RLIMIT_AS, r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CORE)])"
    ran = code(text, tmp_path, bounds=Bounds(memory=1 << 30, descriptors=99, file=1 << 20))
    assert ran.out == f"{[(1 << 30, 1 << 30), (99, 99), (1 << 20, 1 << 20), (0, 0)]}\n"


@linux
def test_what_is_planted_in_the_working_directory_is_not_ours(tmp_path: Path) -> None:
    """Neither our launcher nor a review's child imports from the directory that it looks at."""
    planted = "import os; os.write(1, b'planted'); os._exit(0)"
    for name in (
        "json",
        "os",
        "sys",
        "struct",
        "resource",
        "marshal",
        "_signal",
        "stat",
        "re",
        "encodings",
        "site",
        "sitecustomize",
    ):
        (tmp_path / f"{name}.py").write_text(planted)
    (tmp_path / "encodings").mkdir()
    (tmp_path / "encodings" / "__init__.py").write_text(planted)
    child = ROOT / "pge_nb" / "reviews" / "file_child.py"
    asked = json.dumps({"pattern": "b+", "text": "abbc"}).encode()
    assert run([sys.executable, "-I", str(child)], tmp_path, seconds=20, stdin=asked).out == '"bb"'
    assert run(["/bin/echo", "ours"], tmp_path, seconds=20).out == "ours\n"


@linux
def test_permissions_and_times_are_left_alone_and_copies_succeed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "a").chmod(0o600)
    text = "import os, shutil\nos.chmod('a', 0o644); os.utime('a', (1, 1)); shutil.copy2('a', 'b'); print(open('b').read())"
    assert code(text, tmp_path).out == "a\n"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a").stat().st_mtime > 1


@linux
@pytest.mark.parametrize("version", sorted({1, 2, 3, landlock_version()}))
def test_what_may_be_read_cannot_be_emptied(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before version 3 Landlock lets a file be truncated by whoever may read it, and so would empty a person's own packages."""
    library, inside = tmp_path / "library", tmp_path / "inside"
    for place in (library, inside):
        place.mkdir()
    (library / "file").write_text("whole")
    (library / "file").chmod(0o666)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    text = (
        f"import os\nplace = {str(library / 'file')!r}\nprint(open(place).read())\n"
        "for act in (lambda: os.open(place, os.O_TRUNC), lambda: os.truncate(place, 0), lambda: open(place, 'a')):\n"
        "    try: print(act())\n"
        "    except OSError as error: print(type(error).__name__)\n"
    )
    for rung in RUNGS:
        ran = code(text, inside, rung=replace(rung, landlock=version))
        assert ran.out.split() == ["whole", *["PermissionError"] * 3], ran.err
    assert (library / "file").read_text() == "whole"


@linux
def test_what_was_made_can_be_read_and_removed_and_run_upon_again(tmp_path: Path) -> None:
    text = "import os\nos.umask(0o777)\nos.makedirs('d/e')\nopen('f', 'w').write('x')"
    assert (
        code(
            "import os; os.mkdir('d', 0o700); open(os.open('d/f', os.O_CREAT | os.O_WRONLY, 0o600), 'w').write('x')",
            tmp_path,
        ).exit
        == 0
    )
    assert (tmp_path / "d" / "f").read_text() == "x"
    (tmp_path / "d" / "g").write_text("y")
    assert code("print(open('d/f').read() + open('d/g').read()); open('d/g', 'a').write('z')", tmp_path).out == "xy\n"
    with sandbox.scratch() as place:
        code(text, place)
    assert not place.exists()


@linux
def test_a_file_with_a_second_name_outside_keeps_its_owner(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    inside = tmp_path / "inside"
    inside.mkdir()
    os.link(tmp_path / "outside", inside / "linked")
    (inside / "link").symlink_to(tmp_path / "outside")
    assert code("pass", inside).exit == 0
    assert (tmp_path / "outside").stat().st_uid == os.getuid()


@linux
def test_this_package_cannot_be_read_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden cases are in it. Another package stands for it here, since this one need not be installed."""
    import packaging

    monkeypatch.setattr(hiding, "PACKAGE", Path(packaging.__file__).parent)
    text = "import pytest, numpy\ntry: import packaging.version\nexcept OSError as error: print(type(error).__name__)"
    assert code("import numpy\n" + text.split("\n", 1)[1], tmp_path).out == "PermissionError\n"
    with confined(["python", "-c", text.split("\n", 1)[1]], tmp_path, seconds=20) as made:
        done = subprocess.run(made.argv, env=made.env, capture_output=True, text=True, check=False)
    assert (made.descriptors, done.stdout) == ((), "PermissionError\n")
