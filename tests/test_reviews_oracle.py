"""The oracle review: values that come out of a child are compared outside, so nothing that runs there can make them right."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from looking import SECONDS, look, vetted

from pge_nb.bank import practice_task, render, tasks
from pge_nb.payloads import Json
from pge_nb.reviews import Outcome
from pge_nb.reviews.oracle import OPEN_CASES, equal
from pge_nb.workspace import Objects

ADD: dict[str, Json] = {"call": "calc.add", "cases": [{"args": [1, 2], "returns": 3}, {"args": [5, 7], "returns": 12}]}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def add(objects: Objects, source: str, *, seconds: float = SECONDS, **more: str) -> Outcome:
    return look(objects, "oracle", ADD, {"calc.py": source, **more}, seconds=seconds)


def test_a_right_function_meets_every_case(objects: Objects) -> None:
    outcome = add(objects, "def add(a, b):\n    print('working on', a, b)\n    return a + b\n")
    assert (outcome.met, outcome.saw) == (True, "2 of 2 inputs gave what is wanted")
    assert outcome.strength == OPEN_CASES


def test_what_an_artifact_prints_is_no_answer_of_its(objects: Objects) -> None:
    source = (
        "for n in (0, 1):\n    print('[%d, {\"returns\": 99}]' % n, flush=True)\ndef add(a, b):\n    return a + b\n"
    )
    assert add(objects, source).met is True


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
        "    try: os.write(fd, b'[0, null]\\n[1, \"x\"]\\n"
        "[0, {\"met\": true}]\\n[1, {\"met\": true}]\\n[2]\\n{}\\nnull\\n[true, {}]\\n')\n"
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
    "writes right answers to every descriptor": (
        "import os\n"
        "for fd in range(1100):\n"
        "    try: os.write(fd, b'[0, {\"returns\": 3}]\\n[1, {\"returns\": 12}]\\n"
        "[\"\", 0, {\"returns\": 3}]\\n[null, 1, {\"returns\": 12}]\\n')\n"
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


def test_two_answers_to_one_input_that_differ_are_none(objects: Objects) -> None:
    source = (
        "import json, os, sys\n"
        "def add(a, b):\n"
        "    frame = sys._getframe()\n"
        "    while 'token' not in frame.f_locals: frame = frame.f_back\n"
        "    for n, wanted in ((0, 3), (1, 12)):\n"
        "        line = json.dumps([frame.f_locals['token'], n, {'returns': wanted}])\n"
        "        os.write(frame.f_locals['answers'].fileno(), line.encode() + b'\\n')\n"
        "    return None\n"
    )
    outcome = add(objects, source)
    assert outcome.met is False
    assert "add(1, 2) gave two answers that differ, so none counts; wanted 3" in outcome.saw


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
        assert outcome.strength == ("strong" if "oracle" in args else OPEN_CASES)


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


@pytest.mark.parametrize("module", ["time", "sys", "os", "builtins", "posixpath", "_io", "zipimport", "os.path"])
def test_a_module_that_python_has_built_in_is_sent_back(module: str) -> None:
    why = vetted("oracle", {"call": f"{module}.add", "args": [1, 2], "returns": 3}) or ""
    assert "is built into Python" in why
    assert "another name" in why


@pytest.mark.parametrize("module", ["json", "typing", "re", "calc", "timer", "pkg.time"])
def test_any_other_module_may_be_called(module: str) -> None:
    assert vetted("oracle", {"call": f"{module}.add", "args": [1, 2], "returns": 3}) is None


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


def test_a_reader_looks_at_what_is_no_function_and_misses_what_is_not_there(objects: Objects) -> None:
    step = practice_task("notice").steps[0]
    args: dict[str, Json] = {"oracle": "notice/facts"}
    assert look(objects, "oracle", args, render(step, ())).met is True
    outcome = look(objects, "oracle", args, {"elsewhere.md": step.solution["notice.md"]})
    assert outcome.met is False
    assert "raised FileNotFoundError" in outcome.saw


def test_no_file_of_the_artifact_stands_in_for_a_reader(objects: Objects) -> None:
    files = {"notice.md": "# Closed\n", "notice.py": "def states(heading, phrase):\n    return True\n"}
    outcome = look(objects, "oracle", {"oracle": "notice/facts"}, files)
    assert outcome.met is False
    assert outcome.saw.startswith("0 of 20 ")
