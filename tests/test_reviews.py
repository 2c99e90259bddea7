"""Reviews look at a throwaway tree and decide by what they saw there."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
from looking import look, vetted

from pge_nb.payloads import Json
from pge_nb.records import Check
from pge_nb.reviews import shipped
from pge_nb.reviews.command import WEAK
from pge_nb.reviews.file import File
from pge_nb.workspace import Objects, laid, snapshot


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


# Command


def test_a_command_is_met_by_its_status_and_what_it_prints_and_is_weak_evidence(objects: Objects) -> None:
    files = {"say.py": "import sys\nprint('hello')\nprint('warned', file=sys.stderr)\nsys.exit(2)\n"}
    for args, met in (
        ({"run": ["python", "say.py"], "exit": 2, "prints": "hello"}, True),
        ({"run": "python say.py", "exit": 2, "prints": "warned"}, True),
        ({"run": "python say.py"}, False),
        ({"run": "python say.py", "exit": 2, "prints": "bye"}, False),
    ):
        outcome = look(objects, "command", args, files)  # type: ignore[arg-type]
        assert outcome.met is met
        assert outcome.says == "ran python say.py"
        assert outcome.saw == "exit 2\nstdout:\nhello\nstderr:\nwarned"
        assert outcome.strength == WEAK


def test_a_program_that_is_missing_fails_and_says_so(objects: Objects) -> None:
    outcome = look(objects, "command", {"run": ["no-such-program"]}, {})
    assert outcome.met is False
    assert "exit 127" in outcome.saw


def test_a_command_that_is_killed_fails_whatever_it_printed(objects: Objects) -> None:
    files = {
        "slow.py": "import time\nprint('passed', flush=True)\ntime.sleep(60)\n",
        "loud.py": "while True: print('passed' * 999)\n",
    }
    slow = look(objects, "command", {"run": "python slow.py", "prints": "passed"}, files, seconds=1.0)
    assert (slow.met, slow.saw.split("\n")[0]) == (False, "killed at its time limit")
    loud = look(objects, "command", {"run": "python loud.py", "prints": "passed"}, files)
    assert (loud.met, loud.saw.split("\n")[0]) == (False, "killed for printing too much")
    assert len(loud.saw) < 7_000


def test_two_runs_of_one_command_tell_the_same(objects: Objects) -> None:
    source = (
        "import os, sys, tempfile, time\n"
        "print(os.getcwd(), __file__, tempfile.mkdtemp()[:-8], os.path.expanduser('~'))\n"
        "print(object(), 'took', time.time() % 100, 'seconds')\n"
        "print('Ran 3 tests in %.3fs; %d ms; %.2e s' % (time.time() % 10, time.time() % 1000, time.time() % 1 / 1e5))\n"
        "raise ValueError(hash('a'))\n"
    )
    first, second = (
        look(objects, "command", {"run": "python say.py", "exit": 1}, {"say.py": source}) for _ in range(2)
    )
    assert first == second
    assert "ValueError" in first.saw
    assert "Ran 3 tests in ... s" in first.saw


def test_pytest_tells_the_same_twice(objects: Objects) -> None:
    files = {"test_a.py": "def test_a():\n    assert 1 + 1 == 3\n"}
    start = (
        "import os, sys\nos.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'\n"
        "import pytest\nsys.exit(pytest.main(['-p', 'no:cacheprovider']))\n"
    )
    args: dict[str, Json] = {"run": ["python", "-c", start], "exit": 1, "prints": "1 failed in"}
    first, second = (look(objects, "command", args, files) for _ in range(2))
    assert first == second
    assert first.met is True


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ("", "empty"),
        ([], "empty"),
        ([""], "empty"),
        ("  ", "empty"),
        (["a\0b"], "empty"),
        ("python 'x", "cannot be split"),
        ("ls | wc", "|"),
        ("ls|wc", "|"),
        ("cd src && ls", "&&"),
        ("true; false", ";"),
        ("ls > out.txt", ">"),
        ("ls>out.txt", ">"),
        ("ls >> out", ">>"),
        ("cat < in", "<"),
        ("sleep 9 &", "&"),
        ("(ls)", "("),
        (["ls", "|", "wc"], "|"),
        ("echo $(date)", "("),
        ('echo "$(date)"', "$("),
        ("echo `date`", "`"),
        ("PYTHONPATH=. pytest", "variable"),
        ("pip install x\npytest", "second line"),
    ],
)
def test_a_command_that_only_a_shell_could_run_is_sent_back(run: Json, why: str) -> None:
    assert why in (vetted("command", {"run": run}) or "")


@pytest.mark.parametrize(
    "run",
    [
        "python -c 'print(1 > 0); print(2)'",
        'python -c "print(1)"',
        ["python", "-c", "print(1 | 2)"],
        ["grep", "-E", "a|b", "x.txt"],
        "python -m pytest -q tests/test_a.py::test_b",
        "python run.py --name=value # 3",
        "./run.sh",
    ],
)
def test_a_command_that_a_shell_is_not_needed_for_is_taken(run: Json) -> None:
    assert vetted("command", {"run": run}) is None


# File

NOTES = {"notes.md": "# Title\n\nprice: 12.50\nlast line\n"}


@pytest.mark.parametrize(
    ("args", "met", "saw"),
    [
        ({"path": "notes.md"}, True, "is there, 32 characters"),
        ({"path": "./notes.md"}, True, "is there"),
        ({"path": "other.md"}, False, "other.md is not there"),
        ({"path": "notes.md", "contains": "price"}, True, "contains 'price'"),
        ({"path": "notes.md", "contains": "cost"}, False, "does not contain 'cost'"),
        ({"path": "notes.md", "matches": r"^price: \d+\.\d\d$"}, True, "'price: 12.50'"),
        ({"path": "notes.md", "matches": r"^price: x$"}, False, "no match of"),
        ({"path": "notes.md", "contains": "price", "matches": "cost"}, False, "no match of 'cost'"),
        ({"path": "notes.md", "contains": "cost", "matches": "price"}, False, "does not contain"),
    ],
)
def test_a_file_is_opened_and_compared(args: dict[str, Json], met: bool, saw: str, objects: Objects) -> None:
    outcome = look(objects, "file", args, NOTES)
    assert outcome.met is met
    assert saw in outcome.saw
    assert outcome.strength == "strong"


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|aa)+$", r"(a|a)*b", r"a*a*a*a*a*a*b", r"(.*)(.*)(.*)(.*)(.*)x", r"(?:a?){60}a{60}b"]
)
def test_a_pattern_that_could_run_for_ever_does_not_hold_the_harness_and_goes_to_the_judge(
    pattern: str, objects: Objects
) -> None:
    check = Check(id="c1", says="", method="file", args={"path": "a.txt", "matches": pattern})
    review = File(0.4)
    assert review.vet(check) is None
    started = time.monotonic()
    with laid([objects.file("a.txt", b"a" * 5_000 + b"!")], objects) as tree:
        outcome = review.look(check, tree)
    assert time.monotonic() - started < 5
    assert outcome.met is None
    assert "was given up" in outcome.saw


def test_what_a_slow_pattern_left_open_a_missing_text_decides(objects: Objects) -> None:
    args: dict[str, Json] = {"path": "a.txt", "matches": r"(a+)+$", "contains": "b"}
    assert look(objects, "file", args, {"a.txt": "a" * 5_000 + "!"}, seconds=0.5).met is False


@pytest.mark.parametrize("pattern", [r"[[a]", r"(?i)title", r"\btitle|Title\b", "\u20ac?T"])
def test_an_ordinary_pattern_warns_nobody(pattern: str, objects: Objects) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = look(objects, "file", {"path": "notes.md", "matches": pattern}, NOTES)
    assert outcome.met is not None


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"path": "../x"}, "'..'"),
        ({"path": "/etc/passwd"}, "not relative"),
        ({"path": "a\0b"}, "control"),
        ({"path": ""}, "names no file"),
        ({"path": 3}, "args.path"),
        ({}, "lacks 'path'"),
        ({"path": "a", "matches": "("}, "does not compile"),
        ({"path": "a", "matches": "a{99999999999}"}, "does not compile"),
        ({"path": "a", "matches": "(" * 240 + ")" * 240}, ""),
        ({"path": "a", "matches": "x" * 501}, "longer than 500"),
        ({"path": "a", "holds": "x"}, "unknown field"),
    ],
)
def test_file_args_that_cannot_be_used_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted("file", args) or "")


def test_a_link_in_the_working_directory_is_no_file_of_the_tree(tmp_path: Path, objects: Objects) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (work / "link.txt").symlink_to(tmp_path / "secret.txt")
    check = Check(id="c1", says="", method="file", args={"path": "link.txt", "contains": "secret"})
    with laid(snapshot(work, objects), objects) as tree:
        outcome = File().look(check, tree)
    assert outcome.met is False
    assert outcome.saw == "link.txt is not there"


def test_a_file_that_is_no_text_is_opened_all_the_same(objects: Objects) -> None:
    check = Check(id="c1", says="", method="file", args={"path": "a.bin", "contains": "PK"})
    with laid([objects.file("a.bin", b"PK\xff\xfe\x00")], objects) as tree:
        assert File().look(check, tree).met is True


def test_methods_are_found_by_name_and_each_tells_its_use() -> None:
    methods = shipped(seconds=3)
    assert list(methods) == ["oracle", "command", "file", "notebook", "browser", "rule", "reference"]
    assert all(name == method.name and "{" in method.help for name, method in methods.items())
