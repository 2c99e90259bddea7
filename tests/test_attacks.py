"""Ways to cheat a test of `add`: all of them pass tests of the attempt's own, and none meets a check with an oracle."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from looking import SECONDS, look

from pge_nb import sandbox
from pge_nb.bank import Case
from pge_nb.payloads import Json, encode
from pge_nb.records import Check
from pge_nb.reviews import Outcome, shipped
from pge_nb.reviews.command import WEAK
from pge_nb.reviews.oracle import TWO_ANSWERS, agrees, equal
from pge_nb.workspace import Objects, laid

CASES: dict[str, Json] = {
    "call": "calc.add",
    "cases": [
        {"args": [1, 2], "returns": 3},
        {"args": [5, 7], "returns": 12},
        {"args": ["a", 1], "raises": "TypeError"},
    ],
}
ADD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
TEST_ADD = "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(5, 7) == 12\n"
PYTEST = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--disable-plugin-autoload")


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def asked(objects: Objects, files: Mapping[str, str], *, seconds: float = SECONDS) -> Outcome:
    return look(objects, "oracle", CASES, files, seconds=seconds)


def suite(objects: Objects, files: Mapping[str, str], *, prints: str | None = None) -> Outcome:
    args: dict[str, Json] = {"run": list(PYTEST)} | ({} if prints is None else {"prints": prints})
    return look(objects, "command", args, {"test_calc.py": TEST_ADD, **files})


HOOK = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
SUITES: dict[str, dict[str, str]] = {
    "leaves at import after a summary of its own": {
        "calc.py": "import os\nos.write(1, b'.  [100%]\\n1 passed in 0.01s\\n')\nos._exit(0)\n"
    },
    "a conftest rewrites the outcomes": {
        "calc.py": WRONG,
        "conftest.py": f"{HOOK}    seen = yield\n    seen.get_result().outcome = 'passed'\n",
    },
    "a conftest deselects the test that fails": {
        "calc.py": WRONG,
        "conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if i.name != 'test_add']\n",
        "test_other.py": "def test_other(): pass\n",
    },
    "a conftest changes the exit status": {
        "calc.py": WRONG,
        "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    },
    "what it returns equals everything": {
        "calc.py": "class Yes:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
        "def add(a, b): return Yes()\n"
    },
    "the answers to the tests by heart": {"calc.py": "def add(a, b):\n    return {1: 3, 5: 12}.get(a, 0)\n"},
    "a module stands for the test runner": {"calc.py": WRONG, "pytest.py": "print('1 passed in 0.01s')\n"},
    "the test file is edited": {"calc.py": WRONG, "test_calc.py": "def test_add(): pass\n"},
    "the tests are edited while they are collected": {
        "calc.py": WRONG,
        "conftest.py": "from pathlib import Path\nPath('test_calc.py').write_text('def test_add(): pass\\n')\n",
    },
    "a plug-in takes the comparison away": {
        "calc.py": WRONG,
        "conftest.py": (
            "import builtins\ndef pytest_pycollect_makeitem(collector, name, obj):\n"
            "    if name == 'test_add': collector.obj.test_add = lambda: None\n"
            "def pytest_pyfunc_call(pyfuncitem): return True\n"
        ),
    },
    "leaves at exit with zero": {
        "calc.py": f"import atexit, os\natexit.register(lambda: os._exit(0))\n{WRONG}",
    },
    "a report in XML is written at exit": {
        "calc.py": (
            "import atexit, os\nfrom pathlib import Path\n"
            "def forge():\n    Path('report.xml').write_text('<testsuite tests=\"2\" failures=\"0\"/>')\n    os._exit(0)\n"
            f"atexit.register(forge)\n{WRONG}"
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize("cheat", SUITES)
def test_what_cheats_a_test_runner_is_weak_there_and_does_not_meet_an_oracle(cheat: str, objects: Objects) -> None:
    ran = suite(objects, SUITES[cheat])
    assert ran.met is True, "the cheat works: what follows is no test of something that fails anyway"
    assert ran.strength == WEAK
    assert asked(objects, SUITES[cheat]).met is False


@pytest.mark.parametrize(
    "source", ["def add(a, b) return a + b\n", "raise SyntaxError('no')\n", "import no_such_module\n"]
)
def test_an_error_at_collection_is_no_pass_of_either_kind(source: str, objects: Objects) -> None:
    assert suite(objects, {"calc.py": source}).met is False
    assert asked(objects, {"calc.py": source}).met is False


# What looks at its caller

CALLERS = {
    "by the stack": "import inspect\nTESTED = any(f.filename.endswith('oracle_child.py') for f in inspect.stack())\n",
    "by the command line": "import sys\nTESTED = 'oracle_child.py' in ' '.join(map(str, sys.orig_argv))\n",
    "by the main module": "import sys\nTESTED = 'plain' in vars(sys.modules['__main__'])\n",
    "by the environment": "import os\nTESTED = 'PYTEST_CURRENT_TEST' not in os.environ\n",
}  # fmt: skip


@pytest.mark.parametrize("how", CALLERS)
def test_code_that_knows_that_it_is_tested_does_not_know_what_is_wanted(how: str, objects: Objects) -> None:
    """It can tell, and has nothing to tell: hidden inputs are other than those that it was fitted to."""
    known = "{'Hello, World!': 'hello-world'}"
    source = f"{CALLERS[how]}def slugify(text):\n    assert TESTED\n    return {known}.get(text, '')\n"
    outcome = look(objects, "oracle", {"oracle": "textkit/slugify"}, {"textkit.py": source})
    assert outcome.met is False
    assert "AssertionError" not in outcome.saw


# What takes the child over: it has the token, and may answer as it likes

TAKEN = (
    "import json, os, sys\n"
    "def child():\n"
    "    frame = sys._getframe()\n"
    "    while 'token' not in frame.f_locals: frame = frame.f_back\n"
    "    return frame.f_locals\n"
    "def say(*answers):\n"
    "    held = child()\n"
    "    for n, answer in enumerate(answers):\n"
    "        os.write(held['answers'].fileno(), (json.dumps([held['token'], n, answer]) + '\\n').encode())\n"
)
BOTH = "{'returns': a + b if type(a) is type(b) else None, 'raises': ['TypeError', 'ValueError', 'Exception']}"
FORGERS = {
    "its own dumps": "import json\njson.dumps = lambda *a, **k: '[0, {\"returns\": 3}]'\ndef add(a, b): return 0\n",
    "its own loads": "import json\njson.loads = lambda text: 3\ndef add(a, b): return 0\n",
    "its own stdout": "import io, sys\nsys.stdout = sys.__stdout__ = io.StringIO()\ndef add(a, b): return 0\n",
    "its own write": "import os\nos.write = lambda *a: 0\ndef add(a, b): return 0\n",
    "its own encoder": "import json\njson.JSONEncoder.encode = lambda self, o: '[null, 0, 3]'\ndef add(a, b): return 0\n",
    "a number of another text each time": (
        "import itertools\nTURN = itertools.cycle([3, 12])\n"
        "class N(int):\n    def __repr__(self): return str(next(TURN))\n    __str__ = __repr__\n"
        "def add(a, b): return N(0)\n"
    ),
    "a list of another length each time": (
        "class L(list):\n    def __iter__(self): return iter([3])\n    def __len__(self): return 1\n"
        "def add(a, b): return L([0])\n"
    ),
    "a mapping of other items each time": (
        "class D(dict):\n    def items(self): return [('returns', 3)]\ndef add(a, b): return D(x=1)\n"
    ),
    "a thread that prints later": (
        "import os, threading, time\n"
        "def later():\n    time.sleep(0.2)\n    for n in range(300):\n"
        "        try: os.write(n, b'[\"\", 0, {\"returns\": 3}]\\n[\"\", 1, {\"returns\": 12}]\\n')\n"
        "        except OSError: pass\n"
        "threading.Thread(target=later).start()\n"
        "def add(a, b):\n    time.sleep(0.3)\n    return 0\n"
    ),
    "a fork that answers beside the child": (
        f"{TAKEN}say({{'returns': 0}}, {{'returns': 12}}, {{'raises': ['TypeError']}})\ndef add(a, b): return 0\n"
    ),
    "one answer that is a value and an error at once, in the child's place": (
        f"{TAKEN}A = [(1, 2), (5, 7), ('a', 1)]\nsay(*({BOTH} for a, b in A))\nos._exit(0)\n"
    ),
    "one answer that is a value and an error at once, from a dumps of its own": (
        "import json\nREAL = json.dumps\n"
        "def dumps(value, **more):\n"
        "    if type(value) is list and len(value) == 3 and type(value[2]) is dict:\n"
        "        value[2] = {'returns': value[2].get('returns'), 'raises': ['TypeError', 'Exception']}\n"
        "    return REAL(value, **more)\n"
        "json.dumps = dumps\n"
        "def add(a, b): return a + b if type(a) is int else 0\n"
    ),
    "an error whose class is called otherwise": (
        "class Named(type):\n    __name__ = property(lambda cls: ['TypeError'])\n"
        "class Wrong(Exception, metaclass=Named): pass\ndef add(a, b): raise Wrong\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("forger", FORGERS)
def test_an_answer_that_is_forged_meets_nothing(forger: str, objects: Objects) -> None:
    assert asked(objects, {"calc.py": FORGERS[forger]}).met is False


def test_the_right_function_meets_the_cases_that_the_cheats_do_not(objects: Objects) -> None:
    assert asked(objects, {"calc.py": ADD}).met is True


@pytest.mark.parametrize(
    "returned", ["10 ** 400", "-(10 ** 4_000)", "float('inf')", "[10 ** 400]", "{'a': [10 ** 400, 1.5]}"]
)
def test_a_number_that_no_float_can_hold_is_a_wrong_answer_and_stops_nothing(returned: str, objects: Objects) -> None:
    for wanted in (3.5, [3.5], {"a": [3.5, 1.5]}):
        args: dict[str, Json] = {"call": "calc.add", "args": [1, 2], "returns": encode(wanted)}
        outcome = look(objects, "oracle", args, {"calc.py": f"def add(a, b):\n    return {returned}\n"})
        assert outcome.met is False


def test_integers_are_compared_as_integers_where_floats_cannot_hold_them() -> None:
    assert equal(10**400, 10**400)
    assert not equal(10**400, 10**400 + 1)
    assert not equal(10**400, 1.0)
    assert not equal(1.0, 10**400)


@pytest.mark.parametrize(
    "source",
    [
        "def add(a, b):\n    raise type('E' * 100_000, (Exception,), {})\n",
        "def add(a, b):\n    return 'x' * 100_000\n",
        "def add(a, b):\n    return type('E' * 100_000, (), {})()\n",
        "raise type('E' * 100_000, (Exception,), {})\n",
        f"{TAKEN}say({{'raises': [['deep'] * 100_000]}}, {{'missing': 'x' * 100_000}})\nos._exit(0)\n",
        f"{TAKEN}say({{'raises': 3, 'says': ['x' * 100_000]}})\nos._exit(0)\n",
        f"{TAKEN}say({{'raises': ['x\\n2 of 2 inputs gave what is wanted']}})\nos._exit(0)\n",
    ],
)
def test_what_is_told_of_a_forged_answer_is_one_short_line(source: str, objects: Objects) -> None:
    outcome = asked(objects, {"calc.py": source})
    assert outcome.met is False
    assert len(outcome.saw) < 2_000
    assert "\n" not in outcome.saw


def test_an_answer_nested_beyond_all_depth_stops_nothing(objects: Objects) -> None:
    deep = "'[' * 980 + ']' * 980"
    source = (
        f"{TAKEN}held = child()\nfor _ in range(2):\n"
        f"    os.write(held['answers'].fileno(), ('[\"%s\", 0, {{\"returns\": %s}}]\\n' % (held['token'], {deep})).encode())\n"
        "os._exit(0)\n"
    )
    assert asked(objects, {"calc.py": source}).met is False


def test_an_answer_is_a_value_or_an_error_and_never_both() -> None:
    value, error = Case(args=(1,), returns=3), Case(args=(1,), raises="TypeError")
    both: dict[str, Json] = {"returns": 3, "raises": ["TypeError"]}
    assert agrees(value, {"returns": 3})
    assert agrees(error, {"raises": ["TypeError"], "says": ""})
    assert not agrees(value, both)
    assert not agrees(error, both)
    assert not agrees(value, {"returns": 3, "missing": ["ImportError"]})
    assert not agrees(error, TWO_ANSWERS)


# What looks the wanted values up

LOOKERS = {
    "from the package, imported": (
        "import sys\nsys.path[:0] = [PLACE]\nfrom pge_nb.bank import oracle\n"
        "KNOWN = {c.args[0]: c.returns for c in oracle('textkit/slugify').cases if c.args}\n"
    ),
    "from the package, read": (
        "from pathlib import Path\n"
        "BANK = Path(PLACE) / 'pge_nb/bank'\n"
        "SAID = (BANK / 'textkit.py').read_text() + (BANK / 'oracles/textkit.py').read_text()\n"
        "KNOWN = {}\nassert 'slugify' in SAID\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", LOOKERS)
def test_wanted_values_cannot_be_looked_up_on_disk(how: str, objects: Objects) -> None:
    place = str(Path(sandbox.__file__).parents[2])
    hunt = f"PLACE = {place!r}\n{LOOKERS[how]}"
    outside: dict[str, object] = {}
    exec(hunt, outside)  # the attack itself, where nothing keeps it out: there it must work
    source = (
        f"try:\n    exec({hunt!r})\nexcept BaseException as error:\n    KNOWN, WHY = {{}}, error\nelse:\n    WHY = None\n"
        "def slugify(text):\n    if text in KNOWN: return KNOWN[text]\n    raise LookupError(WHY)\n"
    )
    outcome = look(objects, "oracle", {"oracle": "textkit/slugify"}, {"textkit.py": source})
    if sandbox.standing() is not None:
        assert outcome.met is False
        assert "LookupError" in outcome.saw
        assert "Permission denied" in outcome.saw or "No module named" in outcome.saw or "No such file" in outcome.saw
    else:
        assert outcome.strength != "strong"


def test_wanted_values_cannot_be_looked_up_in_what_the_kernel_tells_of_the_parent(objects: Objects) -> None:
    """The hidden inputs' wanted values stand in this process's memory; nothing that the child can read leads there."""
    source = (
        "import os\nfrom pathlib import Path\n"
        "def found():\n"
        "    for held in ('mem', 'maps', 'environ', 'fd', 'cwd', 'root', 'cmdline'):\n"
        "        place = Path('/proc', str(os.getppid()), held)\n"
        "        try:\n            if held == 'fd': os.listdir(place)\n"
        "            elif held in ('cwd', 'root'): os.readlink(place)\n            else: place.open('rb').read(1)\n"
        "        except OSError: continue\n"
        "        yield held\n"
        "def add(a, b): return list(found())\n"
    )
    outcome = look(objects, "oracle", {"call": "calc.add", "args": [1, 2], "returns": []}, {"calc.py": source})
    if sandbox.standing() is not None:
        assert outcome.met is True, outcome.saw


def test_the_child_is_told_no_wanted_value(objects: Objects) -> None:
    """All that its memory holds, searched for a value that only the contract's case names."""
    source = (
        "import gc, sys\nWANTED = 'wanted' + '-' + 'marker'\n"
        "def add(a, b):\n"
        "    frame, held = sys._getframe(), []\n"
        "    while frame: held.append(dict(frame.f_locals)); frame = frame.f_back\n"
        "    held += [o for o in gc.get_objects() if isinstance(o, dict) and o.get('call') == 'calc.add']\n"
        "    found = any(WANTED in repr(one.get('asked', one)) for one in held if 'WANTED' not in one)\n"
        "    return WANTED if found else 'not found'\n"
    )
    args: dict[str, Json] = {"call": "calc.add", "args": [1, 2], "returns": "wanted-marker"}
    outcome = look(objects, "oracle", args, {"calc.py": source})
    assert outcome.met is False
    assert "gave 'not found'" in outcome.saw


# What it leaves in the tree


def test_what_one_check_plants_is_gone_for_the_next(objects: Objects) -> None:
    plants = (
        "from pathlib import Path\nPath('calc.py').write_text('def add(a, b): return 3 if a == 1 else 12')\n"
        "Path('planted.txt').write_text('x')\ndef add(a, b): return 0\n"
    )
    files = [objects.file("calc.py", plants.encode())]
    review = shipped(seconds=SECONDS)["oracle"]
    check = Check(id="c1", says="it adds", method="oracle", args=CASES)
    with laid(files, objects) as tree:
        assert review.look(check, tree).met is False
    with laid(files, objects) as tree:
        assert not (tree.root / "planted.txt").exists()
        assert review.look(dataclasses.replace(check, id="c2"), tree).met is False
