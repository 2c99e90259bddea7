"""Reviews look at a throwaway tree and decide by what they saw there; what the artifact does to be believed does not help it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from pge_nb.bank import render, tasks
from pge_nb.payloads import Json, decode, encode
from pge_nb.records import Check
from pge_nb.reviews import Outcome, Review, shipped
from pge_nb.reviews.command import WEAK
from pge_nb.reviews.file import File
from pge_nb.reviews.oracle import NOT_HIDDEN, OPEN_CASES, equal
from pge_nb.workspace import Objects, laid, snapshot

SECONDS = 20.0
ADD: dict[str, Json] = {"call": "calc.add", "cases": [{"args": [1, 2], "returns": 3}, {"args": [5, 7], "returns": 12}]}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def look(
    objects: Objects, method: str, args: Mapping[str, Json], files: Mapping[str, str], *, seconds: float = SECONDS
) -> Outcome:
    """The outcome of one check over a tree of these files, after the review has vetted it."""
    review: Review = shipped(seconds=seconds)[method]
    check = Check(id="c1", says="it holds", method=method, args=args)
    assert review.vet(check) is None
    with laid([objects.file(path, text.encode()) for path, text in files.items()], objects) as tree:
        outcome = review.look(check, tree)
        assert str(tree.root) not in outcome.says + outcome.saw
    assert decode(Outcome, encode(outcome)) == outcome
    return outcome


def vetted(method: str, args: Mapping[str, Json], says: str = "it holds") -> str | None:
    return shipped(seconds=SECONDS)[method].vet(Check(id="c1", says=says, method=method, args=args))


def add(objects: Objects, source: str, *, seconds: float = SECONDS, **more: str) -> Outcome:
    return look(objects, "oracle", ADD, {"calc.py": source, **more}, seconds=seconds)


# Oracle


def test_a_right_function_meets_every_case(objects: Objects) -> None:
    outcome = add(objects, "def add(a, b):\n    print('working on', a, b)\n    return a + b\n")
    assert (outcome.met, outcome.saw) == (True, "2 of 2 inputs gave what is wanted")
    assert outcome.strength == OPEN_CASES


def test_a_wrong_function_is_told_one_input_that_failed(objects: Objects) -> None:
    outcome = add(objects, "def add(a, b):\n    return 3\n")
    assert outcome.met is False
    assert outcome.saw == "1 of 2 inputs gave what is wanted; one that did not: add(5, 7) gave 3, wanted 12"


CHEATS = {
    "leaves at import": "import os\nos._exit(0)\n",
    "leaves in the call": "import os\ndef add(a, b):\n    os._exit(0)\n",
    "raises SystemExit at import": "raise SystemExit(0)\n",
    "raises SystemExit in the call": "def add(a, b):\n    raise SystemExit(0)\n",
    "raises KeyboardInterrupt": "def add(a, b):\n    raise KeyboardInterrupt\n",
    "equals everything": (
        "class Yes(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def add(a, b):\n    return Yes(99)\n"
    ),
    "equals everything, as no number": (
        "class Yes:\n    def __eq__(self, other): return True\n    __hash__ = None\ndef add(a, b):\n    return Yes()\n"
    ),
    "prints what looks like answers": (
        "import sys\n"
        "for n in (0, 1):\n    print('[%d, {\"returns\": 3}]' % n)\n    print('[%d, {\"returns\": 12}]' % n)\n"
        "sys.stdout.flush()\ndef add(a, b):\n    return None\n"
    ),
    "writes what looks like answers to every descriptor": (
        "import os\n"
        "for fd in range(20):\n"
        "    try: os.write(fd, b'[0, {\"met\": true}]\\n[1, {\"met\": true}]\\n[2]\\n{}\\nnull\\n[true, {}]\\n')\n"
        "    except OSError: pass\n"
        "def add(a, b):\n    return None\n"
    ),
    "writes deep and endless numbers": (
        "import os\n"
        "for fd in range(3, 12):\n"
        "    try: os.write(fd, b'[' * 40_000 + b'\\n' + b'[0, ' + b'9' * 9_000 + b']\\n')\n"
        "    except OSError: pass\n"
        "def add(a, b):\n    return None\n"
    ),
    "returns NaN": "def add(a, b):\n    return float('nan')\n",
    "returns what JSON lacks": "def add(a, b):\n    return {a, b}\n",
    "returns a true that equals one": "def add(a, b):\n    return True\n",
    "returns text": "def add(a, b):\n    return str(a + b)\n",
    "returns a function": "def add(a, b):\n    return add\n",
    "returns an endless integer": "def add(a, b):\n    return 10 ** 20_000\n",
    "returns a value that contains itself": "def add(a, b):\n    x = []\n    x.append(x)\n    return x\n",
    "returns a deep value": "def add(a, b):\n    x = []\n    for _ in range(900):\n        x = [x]\n    return x\n",
    "has a text that fails": (
        "class Bad:\n    def __repr__(self): raise ValueError\ndef add(a, b):\n    return Bad()\n"
    ),
    "raises an error without a text": (
        "class Bad(Exception):\n    def __str__(self): raise ValueError\ndef add(a, b):\n    raise Bad\n"
    ),
    "recurses without end": "def add(a, b):\n    return add(a, b)\n",
    "ends by a fault of the machine": "import ctypes\ndef add(a, b):\n    ctypes.string_at(0)\n",
    "prints without end": "while True:\n    print('x' * 10_000)\n",
    "takes the child's own functions away": (
        "import json, sys, __main__\njson.dumps = lambda *a, **k: '[0, {\"returns\": 3}]'\n"
        "__main__.plain = lambda value: 3\ndef add(a, b):\n    return None\n"
    ),
    "is no function": "add = 3\n",
    "is not there": "x = 1\n",
    "is no Python": "def add(a, b) return a + b\n",
    "is empty": "",
}  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_does_not_meet_the_check(cheat: str, objects: Objects) -> None:
    started = time.monotonic()
    outcome = add(objects, CHEATS[cheat])
    assert outcome.met is False
    assert "one that did not: add(" in outcome.saw
    assert len(outcome.saw) < 2_000
    assert time.monotonic() - started < SECONDS


@pytest.mark.parametrize("source", ["while True: pass\n", "def add(a, b):\n    while True: pass\n"])
def test_an_endless_loop_ends_at_the_time_limit(source: str, objects: Objects) -> None:
    started = time.monotonic()
    outcome = add(objects, source, seconds=1.0)
    assert outcome.met is False
    assert "its time was over" in outcome.saw
    assert time.monotonic() - started < 6


def test_threads_that_are_left_running_do_not_use_up_the_time(objects: Objects) -> None:
    source = (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\ndef add(a, b): return a + b\n"
    )
    started = time.monotonic()
    assert add(objects, source).met is True
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "planted", ["json.py", "os.py", "sitecustomize.py", "usercustomize.py", "encodings/__init__.py"]
)
def test_modules_planted_beside_the_artifact_are_not_the_childs(planted: str, objects: Objects) -> None:
    forged = "raise SystemExit('planted')\n"
    assert add(objects, "def add(a, b):\n    return a - b\n", **{planted: forged}).met is False
    assert add(objects, "def add(a, b):\n    return a + b\n", **{planted: forged}).met is True


def test_a_module_that_shares_its_name_with_one_of_python_is_the_artifacts(objects: Objects) -> None:
    args: dict[str, Json] = {"call": "json.dumps", "args": [[1]], "returns": "mine"}
    assert look(objects, "oracle", args, {"json.py": "def dumps(x):\n    return 'mine'\n"}).met is True


def test_a_function_that_the_artifact_does_not_bring_is_none_of_its(objects: Objects) -> None:
    outcome = look(objects, "oracle", {"call": "math.gcd", "args": [4, 6], "returns": 2}, {"calc.py": ""})
    assert outcome.met is False
    assert "math is no module of the deliverables" in outcome.saw


def test_modules_in_packages_and_their_own_imports_are_found(objects: Objects) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/calc.py": "from .base import plus as add\n",
        "pkg/base.py": "plus = int.__add__\n",
    }
    assert look(objects, "oracle", {**ADD, "call": "pkg.calc.add"}, files).met is True


@pytest.mark.parametrize(
    "wanted", ["ImportError", "ModuleNotFoundError", "AttributeError", "SyntaxError", "Exception", "TypeError"]
)
@pytest.mark.parametrize("source", ["x = 1\n", "def add(a, b) return\n", "import no_such_module\n", "add = 3\n", None])
def test_a_function_that_is_not_there_has_raised_nothing(source: str | None, wanted: str, objects: Objects) -> None:
    files = {"other.py": ""} if source is None else {"calc.py": source}
    outcome = look(objects, "oracle", {"call": "calc.add", "args": [1, 2], "raises": wanted}, files)
    assert outcome.met is False
    assert "cannot be called" in outcome.saw


@pytest.mark.parametrize(
    ("source", "wanted", "met"),
    [
        ("raise ValueError('no')", "ValueError", True),
        ("raise ValueError('no')", "Exception", True),
        ("raise ValueError('no')", "TypeError", False),
        ("raise UnicodeError('no')", "ValueError", True),
        ("raise Exception('no')", "ValueError", False),
        ("return 3", "ValueError", False),
        ("return 10 ** 20_000", "ValueError", False),
        ("return {1: {2, 3}}", "TypeError", False),
    ],
)
def test_an_error_is_wanted_by_the_name_of_its_class_or_of_one_above(
    source: str, wanted: str, met: bool, objects: Objects
) -> None:
    args: dict[str, Json] = {"call": "calc.add", "args": [1, 2], "raises": wanted}
    assert look(objects, "oracle", args, {"calc.py": f"def add(a, b):\n    {source}\n"}).met is met


def test_every_solution_of_the_bank_meets_its_hidden_inputs_and_they_are_not_shown(objects: Objects) -> None:
    task = tasks()[0]
    step = task.steps[0]
    named = [check for check in step.checks if check.get("method") == "oracle"]
    assert named
    for check in named[:2]:
        args = check["args"]
        assert isinstance(args, Mapping)
        outcome = look(objects, "oracle", args, render(step, ()))
        assert outcome.met is True
        assert outcome.strength == (NOT_HIDDEN if "oracle" in args else OPEN_CASES)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "needs a function"),
        ({"call": "add", "args": [1], "returns": 1}, "not module.function"),
        ({"call": "calc.add; import os", "args": [1], "returns": 1}, "not module.function"),
        ({"call": "..add", "args": [1], "returns": 1}, "not module.function"),
        ({"call": "calc.add"}, "at least one case"),
        ({"call": "calc.add", "args": [1]}, "neither returns nor raises"),
        ({"call": "calc.add", "args": []}, "neither returns nor raises"),
        ({"call": "calc.add", "cases": [{"args": [1]}]}, "neither returns nor raises"),
        ({"call": "calc.add", "args": 3, "returns": 3}, "not a list"),
        ({"call": "calc.add", "cases": [{"returns": 3}]}, "lacks 'args'"),
        ({"oracle": "no/such"}, "There is no oracle"),
        ({"call": "calc.add", "args": [1], "raises": 3}, "args.raises"),
    ],
)  # fmt: skip
def test_oracle_args_that_ask_nothing_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted("oracle", args) or "")


def test_null_may_be_wanted_where_it_is_said(objects: Objects) -> None:
    args: dict[str, Json] = {"call": "calc.add", "args": [], "returns": None}
    assert vetted("oracle", args) is None
    assert look(objects, "oracle", args, {"calc.py": "def add(): pass\n"}).met is True


@pytest.mark.parametrize(
    ("says", "fits"),
    [
        ("add(1, 2) is 3", True),
        ("calc.add(1, 2) is 3", True),
        ("add([1, 2]) is 3", False),
        ("add(1, 2, c=3) is 3", False),
        ("add(1, 2) is add(2, 1)", True),
        ("add({1, 2}) is 3", True),
        ("add(x) is 3", True),
        ("sums are right", True),
        ("add(" * 200, True),
    ],
)
def test_a_case_must_be_the_call_that_its_sentence_says(says: str, fits: bool) -> None:
    assert (vetted("oracle", {"call": "calc.add", "args": [1, 2], "returns": 3}, says) is None) is fits


def test_values_are_equal_as_json_has_them() -> None:
    alike: list[tuple[Json, Json]] = [
        (1, 1.0),
        (0.1 + 0.2, 0.3),
        ([1, {"a": 2}], [1, {"a": 2.0}]),
        (None, None),
        ("", ""),
    ]
    other: list[tuple[Json, Json]] = [
        (True, 1), (1, True), (0, False), (None, False), (None, 0), ("1", 1), ([1], [1, 2]), ({"a": 1}, {"b": 1}),
        (1.0, 1.00001), ([], {}), ("a", ["a"]), (float("nan"), float("nan")), ([1, 2], [2, 1]),
    ]  # fmt: skip
    assert all(equal(left, right) and equal(right, left) for left, right in alike)
    assert not any(equal(left, right) or equal(right, left) for left, right in other)


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
    look(objects, "file", {"path": "notes.md", "matches": pattern}, NOTES)


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
    assert list(methods) == ["oracle", "command", "file"]
    assert all(name == method.name and "{" in method.help for name, method in methods.items())
