"""A child is fed, drained, limited and ended; what it leaves behind in its group and its directory goes with it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pge_nb.sandbox import MAX_OUTPUT, Bounds, Ran, hiding, run, scratch
from pge_nb.sandbox.rungs import landlock_version


def python(code: str, cwd: Path, *, seconds: float = 20, stdin: bytes = b"") -> Ran:
    return run(["python", "-c", code], cwd, seconds=seconds, stdin=stdin)


def alive(pid: int) -> bool:
    """Whether a process still runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


def test_a_command_runs_in_its_directory_and_gives_exit_status_and_both_outputs(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd()); print('worse', file=sys.stderr); sys.exit(3)"
    ran = python(code, tmp_path)
    assert ran == Ran(exit=3, out=f"{tmp_path}\n", err="worse\n")


def test_python_is_the_interpreter_that_runs_this(tmp_path: Path) -> None:
    for name in ("python", "python3"):
        assert (
            run([name, "-c", "import sys; print(sys.executable)"], tmp_path, seconds=20).out.strip() == sys.executable
        )


def test_pytest_is_that_of_this_interpreter(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
    ran = run(["pytest", "-q", "-p", "no:cacheprovider"], tmp_path, seconds=60)
    assert (ran.exit, "1 passed" in ran.out) == (0, True)


@pytest.mark.parametrize("argv", [["no-such-program-here"], ["./nothing"], ["/"], ["."]])
def test_a_program_that_is_not_there_is_a_status_and_no_error(argv: list[str], tmp_path: Path) -> None:
    ran = run(argv, tmp_path, seconds=5)
    assert ran.exit == 127
    assert argv[0] in ran.err


@pytest.mark.parametrize("word", ["a\0b", "\ud800", "x" * 3_000_000])
def test_a_command_that_no_system_starts_is_a_status_and_no_error(word: str, tmp_path: Path) -> None:
    ran = run(["python", "-c", word], tmp_path, seconds=5)
    assert ran.exit == 126
    assert "cannot be started" in ran.err


def test_no_shell_reads_the_words(tmp_path: Path) -> None:
    ran = run(["python", "-c", "import sys; print(sys.argv[1:])", "$HOME", ";", "ls", "*"], tmp_path, seconds=20)
    assert ran.out == "['$HOME', ';', 'ls', '*']\n"


def test_the_environment_holds_no_key_and_no_home_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("MY_TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", "/secret")
    ran = python("import os, json; print(json.dumps(dict(os.environ)))", tmp_path)
    assert "secret" not in ran.out
    assert str(Path.home()) not in ran.out.replace(sys.prefix, "")


def test_the_temporary_directory_is_its_own_and_gone_afterwards(tmp_path: Path) -> None:
    code = "import tempfile, os; p = tempfile.mkstemp()[1]; print(p); print(os.path.expanduser('~'))"
    file, home = python(code, tmp_path).out.split()
    assert Path(file).parent == Path(home)
    assert not Path(home).exists()


def test_a_command_is_killed_at_its_time_limit_and_what_it_said_is_kept(tmp_path: Path) -> None:
    started = time.monotonic()
    ran = python("import time; print('begun', flush=True); time.sleep(60)", tmp_path, seconds=0.7)
    assert (ran.exit, ran.timed_out, ran.out) == (None, True, "begun\n")
    assert time.monotonic() - started < 5


def test_a_command_that_closes_its_outputs_is_still_limited(tmp_path: Path) -> None:
    started = time.monotonic()
    ran = python("import os, time; os.close(1); os.close(2); time.sleep(60)", tmp_path, seconds=0.7)
    assert (ran.exit, ran.timed_out) == (None, True)
    assert time.monotonic() - started < 5


def test_a_command_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    code = "import signal\nfor n in (15, 2, 1): signal.signal(n, signal.SIG_IGN)\nwhile True: pass"
    assert python(code, tmp_path, seconds=0.7).timed_out


@linux
def test_children_die_with_the_group(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
    )
    for ending, seconds in (("", 20), ("time.sleep(60)", 1.0)):
        started = time.monotonic()
        ran = python(code + ending, tmp_path, seconds=seconds)
        assert ran.timed_out is bool(ending)
        assert gone(int(ran.out))
        assert time.monotonic() - started < 10


DAEMON = """
import os, sys, time
def leave(call):
    try: call()
    except OSError as error: print(call.__name__, type(error).__name__, file=sys.stderr)
if os.fork() == 0:
    leave(os.setsid)
    leave(lambda: os.setpgid(0, 0))
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        HOLDS
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(0.3)
"""


@linux
@pytest.mark.parametrize("holds", ["pass", "[os.close(n) for n in range(3)]"])
@pytest.mark.parametrize("ending", ["pass", "time.sleep(60)", "os.kill(os.getpid(), 9)"])
def test_a_daemon_does_not_outlive_its_run(holds: str, ending: str, tmp_path: Path) -> None:
    started = time.monotonic()
    ran = python(DAEMON.replace("HOLDS", holds) + ending, tmp_path, seconds=1.5)
    assert not alive(int(ran.out))
    assert "setsid PermissionError" in ran.err
    assert (ran.exit, ran.timed_out) == {"pass": (0, False), "time.sleep(60)": (None, True)}.get(ending, (-9, False))
    assert time.monotonic() - started < 10


@linux
def test_nobody_is_left_unburied(tmp_path: Path) -> None:
    """Where the first process of a container buries nobody, the dead would fill up the limit on processes."""
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    for _ in range(5):\n"
        "        if os.fork() == 0: os._exit(0)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(os.getsid(0))\n"
    )
    session = python(code, tmp_path).out.strip()
    left = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            left.append(place.read_text())
    assert [line for line in left if line.rsplit(")", 1)[1].split()[3] == session] == []


@linux
def test_a_harness_that_is_killed_takes_its_children_along(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom pge_nb.sandbox import run\n"
        'inner = \'import os, time; open("pid", "w").write(str(os.getpid())); time.sleep(60)\'\n'
        "run(['python', '-c', inner], Path(sys.argv[1]), seconds=60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    harness = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment)
    written = tmp_path / "pid"
    for _ in range(500):
        if written.exists() and written.read_text():
            break
        time.sleep(0.02)
    harness.kill()
    harness.wait()
    assert gone(int(written.read_text()))


@linux
def test_an_interrupt_ends_the_run_at_once(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); open('pid', 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    started = time.monotonic()
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        python(code, tmp_path, seconds=60)
    thread.join()
    assert not alive(int((tmp_path / "pid").read_text()))
    assert time.monotonic() - started < 10


def test_several_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    def one(number: int) -> Ran:
        place = tmp_path / str(number)
        place.mkdir()
        return python(f"open('x', 'w').write('{number}'); print(open('x').read())", place)

    with ThreadPoolExecutor(8) as pool:
        assert [ran.out for ran in pool.map(one, range(16))] == [f"{number}\n" for number in range(16)]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_without_end_is_cut_and_the_command_killed(stream: str, tmp_path: Path) -> None:
    ran = python(f"import sys\nwhile True: sys.{stream}.write('x' * 10_000)", tmp_path)
    assert (ran.exit, ran.cut, ran.timed_out) == (None, True, False)
    assert len(ran.out if stream == "stdout" else ran.err) == MAX_OUTPUT


@pytest.mark.parametrize("more", [0, 1, 40_000])
def test_how_much_is_too_much_does_not_depend_on_when_it_is_read(more: int, tmp_path: Path) -> None:
    code = f"import sys; sys.stdout.write('x' * {MAX_OUTPUT + more}); sys.stdout.flush()"
    for _ in range(3):
        ran = python(code, tmp_path)
        assert (ran.cut, ran.exit) == ((True, None) if more else (False, 0))
        assert len(ran.out) == MAX_OUTPUT


WRITES = {
    "at once": "import os\nfor n in range(2): os.posix_fallocate(os.open(f'f{n}', os.O_CREAT | os.O_RDWR), 0, 60 << 20)",
    "many files": "for n in range(40): open(f'f{n}', 'wb').write(bytes(5 << 20))",
    "in the temporary directory": (
        "import tempfile\nfor n in range(40): tempfile.NamedTemporaryFile(delete=False).write(bytes(5 << 20))"
    ),
    "and slowly": (
        "import time\nfor n in range(40):\n    open(f'f{n}', 'wb').write(bytes(5 << 20))\n    time.sleep(0.02)\ntime.sleep(20)"
    ),
    "files without a name": (
        "import os, time\nheld = []\n"
        "for n in range(40):\n"
        "    held.append(open('f', 'wb', 0))\n    os.unlink('f')\n    held[-1].write(bytes(5 << 20))\n    time.sleep(0.05)\n"
        "time.sleep(20)\n"
    ),
    "too many files": "for n in range(600): open(f'f{n}', 'w').close()",
}


@linux
@pytest.mark.parametrize("how", WRITES)
def test_a_command_that_writes_too_much_is_killed_and_that_is_told(how: str, tmp_path: Path) -> None:
    ran = run(["python", "-c", WRITES[how]], tmp_path, seconds=30, bounds=Bounds(files=500))
    assert (ran.exit, ran.full, ran.timed_out, ran.cut) == (None, True, False, False)


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    for name in range(3):
        (tmp_path / f"large{name}").write_bytes(bytes(50 << 20))
    assert python("open('x', 'w').write('x')", tmp_path).exit == 0


def test_output_of_any_bytes_becomes_text(tmp_path: Path) -> None:
    ran = python("import os; os.write(1, b'a\\xff\\xfe\\x00\\xed\\xa0\\x80 \\xe2\\x82\\xac')", tmp_path)
    assert ran.out == "a\\xff\\xfe\0\\xed\\xa0\\x80 \u20ac"


def test_input_is_fed_whole_while_output_is_taken(tmp_path: Path) -> None:
    sent = b"x" * 900_000
    ran = python(
        "import sys\nfor part in iter(lambda: sys.stdin.read(1000), ''): sys.stdout.write(part)", tmp_path, stdin=sent
    )
    assert (ran.exit, ran.out) == (0, sent.decode())


def test_a_command_that_asks_for_input_meets_the_end_of_it(tmp_path: Path) -> None:
    ran = python("input('name? ')", tmp_path)
    assert ran.exit == 1
    assert "EOFError" in ran.err


@pytest.mark.parametrize("code", ["pass", "import os, time; os.close(0); time.sleep(0.3)"])
def test_a_command_that_does_not_read_its_input_ends_by_itself(code: str, tmp_path: Path) -> None:
    ran = python(code, tmp_path, stdin=b"x" * 2_000_000)
    assert (ran.exit, ran.timed_out) == (0, False)


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert python("import os; os.kill(os.getpid(), 9)", tmp_path).exit == -9


def test_nothing_is_left_open(tmp_path: Path) -> None:
    def open_now() -> int:
        return len(os.listdir("/dev/fd")) - len(hiding._made)  # noqa: PTH208 - those are kept, and never more than so many

    python("pass", tmp_path)
    before = open_now()
    for code in ("pass", "import os; os.close(1)", "import time; time.sleep(60)"):
        python(code, tmp_path, seconds=0.5)
    assert open_now() == before


def test_rulesets_that_are_kept_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hiding, "MOST_KEPT", 2)
    package = tmp_path / "site" / "pge_nb"
    package.mkdir(parents=True)
    monkeypatch.setattr(hiding, "PACKAGE", package)
    version = landlock_version()
    if version < 1:
        pytest.skip("there is no Landlock here")
    for number in range(5):
        (tmp_path / str(number)).mkdir()
        os.utime(tmp_path, ns=(number, number))
        os.fstat(hiding.ruleset(version, ()))
        assert len(hiding._made) <= 2


# The temporary directory


def test_a_scratch_directory_is_gone_whatever_was_left_in_it() -> None:
    with scratch() as path:
        inner = path / "a" / "b"
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        (inner / "file").chmod(0)
        (path / "loop").symlink_to(path)
        inner.chmod(0)
        inner.parent.chmod(0o500)
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become nobody")
def test_a_scratch_directory_is_gone_also_for_a_user_who_is_not_root(tmp_path: Path) -> None:
    code = (
        "import os, sys, tempfile\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "import pge_nb.sandbox as sandbox\n"
        "os.setuid(65534)\n"
        "with sandbox.scratch() as path:\n"
        "    (path / 'a' / 'b').mkdir(parents=True)\n"
        "    (path / 'a' / 'b' / 'c').write_text('x')\n"
        "    (path / 'a' / 'b').chmod(0)\n"
        "    (path / 'a').chmod(0)\n"
        "    path.chmod(0)\n"
        "print(path.exists())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "False\n"


def test_what_a_killed_process_left_is_removed_a_day_later_and_nothing_else(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old, new = time.time() - 100_000, time.time() - 80_000
    left = {
        f"pge-{ended.pid}-abcdefgh": old,
        f"pge-{ended.pid}-newdir__": new,
        f"pge-{os.getpid()}-living__": old,
        "pge-demo": old,
        "pge-demo-abcdefgh": old,
        f"pge-{ended.pid}-longer-name": old,
    }
    for name, at in left.items():
        (tmp_path / name / "tree").mkdir(parents=True)
        os.utime(tmp_path / name, (at, at))
    (tmp_path / f"pge-{ended.pid}-a_link__").symlink_to(tmp_path / "pge-demo")
    code = "from pge_nb.sandbox import scratch\nwith scratch() as path: print(path.name)\n"
    name = subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, text=True)
    stays = {*left, f"pge-{ended.pid}-a_link__"} - {f"pge-{ended.pid}-abcdefgh"}
    assert {path.name for path in tmp_path.iterdir()} == stays
    assert re.fullmatch(r"pge-\d+-\w{8}\n", name)


def test_links_out_of_a_scratch_directory_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    outside.chmod(0o750)
    with scratch() as path:
        (path / "link").symlink_to(outside)
    assert (outside / "kept").read_text() == "kept"
    assert outside.stat().st_mode & 0o777 == 0o750


def test_a_scratch_directory_is_gone_after_an_error() -> None:
    with pytest.raises(RuntimeError), scratch() as path:
        raise RuntimeError
    assert not path.exists()
