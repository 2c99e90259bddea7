"""Bad input and odd places: each gives an error of two lines with the next move, or works; none a traceback of ours."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output
from messages_stub import MessagesStub, StubReply
from notebook_shell import Ran, Shell
from pandas import DataFrame

from pge_nb import __main__ as main
from pge_nb.commands.here import Here, notebook_directory, path_of, working_directory
from pge_nb.commands.standing import ELSEWHERE, ENDED
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, PgeError
from pge_nb.harness import PGEHarness
from pge_nb.state import StateFile, at_work, open_run

ROOT = Path(__file__).parents[1]
RUN = "%pge run --practice stats --seed 2"
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
PLAIN = ("setpriv", "--bounding-set=-all") if IS_ROOT else ()
"""Before a command: root without its powers, whom permissions bind as they bind anybody."""


def told(done: Ran) -> list[str]:
    """The lines of an error: one or two, and no traceback."""
    assert isinstance(done.error, PgeError | UsageError), done.text
    assert "Traceback" not in done.text
    lines = done.text.strip().split("\n")
    assert 1 <= len(lines) <= 2, done.text
    return lines


def in_a_process(code: str, *before: str, typed: str = "") -> str:
    """What a shell in a process of its own printed, on a machine without a home; ``code`` calls ``cell``."""
    opening = "import os, sys\nfrom notebook_shell import Shell\nshell = Shell()\n"
    does = "def cell(line):\n    done = shell.cell(line)\n    print(type(done.error).__name__, done.text, sep='\\n')\n"
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "IPYTHONDIR": "/nonexistent",
        "PYTHONWARNINGS": "ignore",
        "PGE_NB_LIVE": "0",
        "HOME": "",
    }
    done = subprocess.run(
        [*before, sys.executable, "-c", opening + does + code],
        env=environment,
        cwd=ROOT / "tests",
        input=typed,
        start_new_session=True,  # so that there is no terminal to ask at
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout


# Names and paths


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{RUN} --seed 3", "--seed is given twice."),
        (f"{RUN} --raise --raise", "--raise is given twice."),
        ("%pge tasks -o a -o b", "-o is given twice"),
        ("%pge tasks -o", "-o takes the name of a variable."),
        ("%pge tasks -o class", "not 'class'"),
        ("%pge tasks -o None", "not 'None'"),
        ("%pge tasks -o a.b", "not 'a.b'"),
        ("%pge tasks -o get_ipython", "would hide a name"),
        ("%pge tasks -o list", "would hide a name"),
        ("%pge tasks -o Out", "would hide a name"),
        ("%pge tasks -o _", "would hide a name"),
        ("%pge tasks -o _i3", "would hide a name"),
        ("%pge run afile --practice stats", "afile is no directory"),
        ("%pge run --state afile/x/s.md --practice stats", "afile is no directory"),
        ("%pge run --state adir --practice stats", "is a directory, not a state file"),
        ("%pge run --state '~nobody_of_that_name/s.md' --practice stats", "There is no home directory"),
        (f"%pge run --state {'a' * 300}/s.md --practice stats", "too long"),
        (f"%pge run --state {'字' * 100}.md --practice stats", "too long"),
        ("%pge run --state 'a\0b' --practice stats", "no path should have"),
        ("%pge run --state 'a\x1b[31mb' --practice stats", "no path should have"),
        (f"%pge run {'a' * 65} --practice stats", "cannot be the name of a task"),
        ("%pge run con --practice stats", "cannot be the name of a task"),
        ("%pge run LPT1 --practice stats", "cannot be the name of a task"),
        ("%pge run Work --practice stats", "cannot be the name of a task"),
        ("%pge run .. --practice stats", "cannot be the name of a task"),
        ("%pge run a/b --practice stats", "cannot be the name of a task"),
        ("%pge run ~ --practice stats", "cannot be the name of a task"),
        ("%pge run dangling --practice stats", "cannot be made"),
        ("%pge run full --practice stats", "is a directory, not a state file.\nMove it away"),
        ("%pge run --steps 0 --practice stats", "max_steps is 0"),
        ("%pge run --budget nan --practice stats", "--budget takes a number, not 'nan'"),
        ("%pge run --budget -1 --practice stats", "-1"),
        (f"%pge run --steps {'9' * 5_000} --practice stats", "--steps takes a whole number"),
        ("%pge run --practice textki", "Did you mean textkit?"),
        ("%pge run --model --seed 2", "--model takes a value"),
        (f"%pge {'x' * 5_000}", "There is no %pge xxx"),
        ("%pge \0", "There is no %pge"),
    ],
)
def test_odd_words_are_told_in_two_lines_and_leave_nothing_behind(
    shell: Shell, tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "afile").write_text("mine")
    (tmp_path / "adir").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "full" / "shared_state.md").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    lines = told(shell.cell(line))
    assert said in "\n".join(lines)
    assert max(map(len, lines)) < 600
    assert sorted(tmp_path.rglob("*")) == before
    assert shell.cell("%pge tasks").error is None


@pytest.mark.parametrize(
    "path",
    ["with blanks/a file.md", 'it\'s/"quoted".md', "日本/状态.md", "~/under home.md", "déjà/vu.md", "-dash/-s.md"],
)
def test_a_path_may_be_any_that_a_file_system_takes(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shell.names["path"] = path
    assert shell.cell("%pge run --state={{path}} --practice stats --seed 2").view.mark == "passed"
    assert (tmp_path / path.replace("~", ".")).is_file()
    assert shell.cell("%pge show plan").error is None


def test_a_notebook_directory_may_be_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "link")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "link" / "a.ipynb"))
    opened = Shell()
    try:
        for line in (RUN, "%pge run mine --practice stats --seed 2", "%pge run --practice roman", "%pge open @1"):
            assert opened.cell(line).view.mark == "passed"
    finally:
        opened.close()
    assert (tmp_path / "real" / "earlier" / "1" / "shared_state.md").is_file()


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert working_directory() is None
    with pytest.raises(BadInput, match="is gone"):
        notebook_directory({}, {}, None)
    said = {"JPY_SESSION_NAME": str(tmp_path / "a.ipynb")}
    assert notebook_directory(said, {}, None) == tmp_path
    printed = in_a_process(
        "import tempfile\nwhere = tempfile.mkdtemp()\nos.chdir(where)\nos.rmdir(where)\n"
        "cell('%pge')\ncell('%pge run --practice stats')\nos.chdir('/')"
    )
    assert printed.count("BadInput: The working directory of this kernel is gone.") == 2


def test_a_directory_that_is_taken_away_later_is_not_made_again(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    shutil.rmtree(tmp_path)
    for line in (RUN, "%pge run mine --practice stats", "%pge show plan", "%pge runs", "%pge new"):
        told(shell.cell(line))
    assert not tmp_path.exists()
    tmp_path.mkdir()


@pytest.mark.skipif(IS_ROOT and not shutil.which("setpriv"), reason="permissions do not bind root")
def test_a_directory_without_permission_is_told_in_two_lines(tmp_path: Path) -> None:
    locked, open_to_read, mine = tmp_path / "locked", tmp_path / "read_only", tmp_path / "mine"
    for place in (locked, open_to_read, mine):
        place.mkdir()
    config = HarnessConfig(model="practice:seed=2", shared_state_path=open_to_read / "shared_state.md")
    PGEHarness(config).start(main_prompt())
    locked.chmod(0o000)
    for path in (*open_to_read.rglob("*"), open_to_read):
        path.chmod(0o555 if path.is_dir() else 0o444)
    refused = [
        f"%pge run --state {locked}/s.md --practice stats",
        f"%pge run --state {locked}/deeper/s.md --practice stats",
        f"%pge run --state {open_to_read}/deeper/s.md --practice stats",
        f"%pge run --state {open_to_read}/other.md --practice stats",
        f"%pge run --state {open_to_read}/shared_state.md --practice stats --seed 2",
    ]
    cells = "\n".join(f"cell({line!r})" for line in refused)
    printed = in_a_process(f"os.chdir({str(mine)!r})\n{cells}\ncell({RUN + ';'!r})", *PLAIN)
    shown = in_a_process(f"os.chdir({str(open_to_read)!r})\ncell('%pge')\ncell('%pge runs')\ncell('%pge new')", *PLAIN)
    locked.chmod(0o755)
    assert printed.count("BadInput\nBadInput: ") == len(refused), printed
    assert printed.endswith("NoneType\n\n")
    assert open_run(mine).outcome == "passed"
    assert shown.count("NoneType\n") == 2, shown
    assert shown.count("BadInput\nBadInput: ") == 1, shown


def test_a_machine_without_a_home_works(tmp_path: Path) -> None:
    code = "import pwd\n"
    code += f"os.environ.pop('HOME')\npwd.getpwuid = lambda number: {{}}[number]\nos.chdir({str(tmp_path)!r})\n"
    printed = in_a_process(f"{code}cell({RUN + ';'!r})\ncell('%pge run --state ~/s.md --practice stats')")
    assert printed.startswith("NoneType\n\nBadInput\nBadInput: There is no home directory for '~/s.md'."), printed
    assert open_run(tmp_path).outcome == "passed"


def main_prompt() -> str:
    from pge_nb.bank import practice_task

    return practice_task("stats").prompt


def test_a_path_of_a_person_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert path_of("~/a b") == Path("/somewhere/a b")


def test_what_could_not_be_begun_takes_away_every_directory_that_was_made_for_it(tmp_path: Path) -> None:
    here = Here(directory=tmp_path, state=tmp_path / "a" / "b" / "c" / "s.md")
    with pytest.raises(RuntimeError), here.made():
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir()
    with pytest.raises(RuntimeError), here.made():
        raise RuntimeError
    assert list((tmp_path / "a").iterdir()) == []


# Cells


@pytest.mark.parametrize(
    "above", ["# Exercise 3\n", "\n\n", "#| label: run\n\n  # indented\n", "# %%pge run\n", "# %% a cell\n"]
)
def test_comments_and_blank_lines_may_stand_above_a_cell_magic(shell: Shell, tmp_path: Path, above: str) -> None:
    assert shell.cell(f"{above}%%pge run\n{main_prompt()}").view.mark == "passed"
    assert open_run(tmp_path).task.prompt == main_prompt()
    again = shell.cell(f"%%pge run\n{main_prompt()}").view
    assert "nobody was asked" in again.plain()


def test_what_is_a_comment_stays_one_and_other_cells_stay_as_they_are(shell: Shell) -> None:
    assert shell.cell("# %%pge run\n").value is None
    assert shell.cell("text = '''\n%%pge run\n'''\ntext").value == "\n%%pge run\n"
    assert shell.cell("# comment\n1 + 1").value == 2
    assert isinstance(shell.cell("# the magics of others are IPython's\n%%html\n<b>").error, SyntaxError)
    with capture_output():
        assert shell.cell("%%pgex run\nx").error is not None
    assert "There is no prompt." in shell.cell("# above\n%%pge run").text
    assert "There is no prompt." in shell.cell("# above\n%%pge run\n\n  \n").text


@pytest.mark.parametrize("line", ["%pge?", "pge?", "?%pge", "%%pge?", "# above\n%pge?"])
def test_a_question_mark_tells_how_to_begin(shell: Shell, line: str) -> None:
    done = shell.cell(line)
    assert done.error is None
    assert "%pge run --practice textkit" in done.text
    assert "%pge help" in done.text


# Whether anybody is at work

KILLED = """
import os, signal, sys
from pathlib import Path
from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
harness = PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=Path(sys.argv[1])))
harness.start(practice_task("stats").prompt)
for number, section in enumerate(harness.records()):
    if number == 4 and sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        print("here", flush=True)
        sys.stdin.read()
        os._exit(0)
"""


def frame(done: Ran) -> DataFrame:
    assert done.view.df is not None
    return done.view.df


def process(state: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(state), what],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_run_whose_process_was_killed_is_not_called_running(shell: Shell, tmp_path: Path) -> None:
    with process(tmp_path / "shared_state.md", "kill") as killed:
        assert killed.wait(timeout=60) == -signal.SIGKILL
    assert (tmp_path / ".pge" / "run.pid").exists()
    for line in ("%pge", "%pge show", "%pge show run"):
        view = shell.cell(line).view
        assert (view.mark, view.next) == (ENDED, "%pge resume")
    assert ENDED in set(frame(shell.cell("%pge runs"))["outcome"])
    assert shell.cell("%pge resume").view.mark == "passed"
    assert shell.cell("%pge").view.mark == "passed"


def test_a_run_that_another_process_is_at_is_said_to_be_running_there(shell: Shell, tmp_path: Path) -> None:
    with process(tmp_path / "shared_state.md", "stay") as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "here\n"
        for line in ("%pge", "%pge show run"):
            view = shell.cell(line).view
            assert view.mark.startswith(f"{ELSEWHERE} (pid {other.pid}, on ")
            assert view.next == "%pge"
        assert ELSEWHERE in set(frame(shell.cell("%pge runs"))["outcome"])
        assert f"Process {other.pid} is running" in "\n".join(told(shell.cell("%pge resume")))
        other.stdin.close()
        other.wait(timeout=60)
    assert shell.cell("%pge").view.mark == ENDED


def test_a_run_that_this_process_is_at_is_running(shell: Shell, tmp_path: Path) -> None:
    state = StateFile(tmp_path / "shared_state.md")
    assert at_work(state.path) == ""
    assert not (tmp_path / ".pge").exists()
    PGEHarness(HarnessConfig(model="practice:seed=2", shared_state_path=state.path)).start(main_prompt())
    with state.running():
        assert at_work(state.path) == "This process"
        assert shell.cell("%pge").view.mark == "running"
    assert at_work(state.path) == ""


# The key and the model


def test_a_key_is_asked_for_only_where_it_is_not_shown(shell: Shell) -> None:
    assert "Nobody can be asked for a key here" in told(shell.cell("%pge key"))[0]
    assert "ANTHROPIC_API_KEY" not in os.environ
    printed = in_a_process("cell('%pge key')\nprint('ANTHROPIC_API_KEY' in os.environ)", typed="sk-canary-0123456789\n")
    assert printed.startswith("BadInput\n")
    assert printed.endswith("\nFalse\n")


def test_a_key_that_is_typed_is_taken_and_never_shown(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = ["sk-canary-0123456789\n"]
    monkeypatch.setattr("getpass.getpass", lambda _: typed.pop())
    done = shell.cell("%pge key")
    assert os.environ.pop("ANTHROPIC_API_KEY") == "sk-canary-0123456789"
    assert "sk-canary" not in done.text
    assert "Binder" not in done.text
    for wrong in ("", "export KEY=sk-canary", "sk-canary-é", "sk-\x1b[31m"):
        typed.append(wrong)
        lines = told(shell.cell("%pge key"))
        assert "canary" not in "\n".join(lines)
    assert "ANTHROPIC_API_KEY" not in os.environ


def test_on_a_public_machine_whose_it_is_is_said_before_a_key_is_asked_for(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINDER_LAUNCH_HOST", "https://mybinder.org/")
    asked: list[str] = []
    monkeypatch.setattr("getpass.getpass", lambda prompt: print("asked") or asked.append(prompt) or "sk-canary-0123")
    done = shell.cell("%pge key")
    os.environ.pop("ANTHROPIC_API_KEY")
    first, second = done.text.split("\n")[:2]
    assert "https://mybinder.org/" in first
    assert "small limit" in first
    assert "revoke it" in first
    assert second == "asked"


def test_without_a_front_end_that_can_ask_the_key_is_an_error_of_two_lines(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext pge_nb", "%pge key")]
    cells[1].metadata["tags"] = ["raises-exception"]
    notebook = nbformat.v4.new_notebook(cells=cells)
    ran = nbformat.reads(main.execute(nbformat.writes(notebook), tmp_path), as_version=4)
    [output] = ran.cells[1].outputs
    assert (output.output_type, output.ename) == ("error", "BadInput")
    assert len(output.traceback) == 2


@pytest.mark.parametrize("word", ["sk-canary-0123456789", "sk-canary-0123456789-and-more"])
@pytest.mark.parametrize(
    "line",
    [
        "%pge {}",
        "%pge key {}",
        "%pge model {}",
        "%pge tasks {}",
        "%pge answer {}",
        "%pge model x {}",
        "%pge tasks -o {}",
    ],
)
def test_what_looks_like_a_key_is_repeated_nowhere(shell: Shell, line: str, word: str) -> None:
    done = shell.cell(line.format(word))
    assert "canary" not in "\n".join(told(done))


def test_a_model_that_is_not_known_is_taken_and_told_with_the_nearest(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = shell.cell("%pge model claude-sonet-5-5").view
    assert view.title == "Model: claude-sonet-5-5"
    assert "claude-sonet-5-5 has no price here; the service may know it" in view.plain()
    assert "The nearest known name is claude-sonnet-5-5." in view.plain()
    assert "There is no API key yet" in view.plain()
    assert "nearest known name is practice" in shell.cell("%pge model practise").view.plain()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    view = shell.cell("%pge model qwen2.5-1.5b").view
    assert "the server at ANTHROPIC_BASE_URL may know it" in view.plain()
    assert "API key" not in view.plain()
    for known in ("claude-sonnet-5-5", "practice", "practice:seed=2"):
        assert "has no price" not in shell.cell(f"%pge model {known}").view.plain()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("'two words'", "cannot be the name of a model"),
        ("'a\x1b[31m'", "cannot be the name of a model"),
        ("recording:nowhere", "There is no recording at nowhere."),
        ("recording:.", "There is no recording"),
        ("recording:~nobody_of_that_name/calls.jsonl", "There is no home directory"),
        ("practice:skil=1", "skil"),
    ],
)
def test_a_model_that_can_be_none_changes_nothing(shell: Shell, name: str, said: str) -> None:
    shell.cell("%pge model practice:seed=7;")
    assert said in "\n".join(told(shell.cell(f"%pge model {name}")))
    assert shell.cell("%pge model").view.title == "Model: practice:seed=7"


def test_a_missing_key_says_what_to_do_before_anybody_is_asked(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge model claude-sonnet-5-5;")
    done = shell.cell("%%pge run\nWrite a haiku.")
    assert "There is no API key for Claude.\n%pge key asks for one" in done.text
    assert "Traceback" not in done.text


def test_a_server_that_does_not_know_the_model_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = StubReply(status=404, error="not_found_error", message="model: bogus")
    with MessagesStub(lambda _: answer) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        shell.cell("%pge model bogus;")
        done = shell.cell("%%pge run\nWrite a haiku.")
    assert "has no model bogus" in done.text
    assert "%pge model NAME chooses another one." in done.text


def test_new_that_cannot_be_done_turns_to_no_other_task(shell: Shell) -> None:
    shell.cell(f"{RUN};")
    told(shell.cell("%pge new nothing"))
    assert shell.cell("%pge show plan").error is None
    shell.cell("%pge run mine --practice stats --seed 2;")
    shell.cell(f"{RUN};")
    view = shell.cell("%pge new mine").view
    assert view.next == "%%pge run mine"
    assert "%pge open mine@1" in view.plain()


# Loading and unloading


def state_of(shell: Shell) -> dict[str, object]:
    """All that an extension can have left in a shell."""
    inner = shell.shell
    return {
        "magics": {kind: sorted(names) for kind, names in inner.magics_manager.magics.items()},
        "registry": sorted(inner.magics_manager.registry),
        "configurables": [type(one).__name__ for one in inner.configurables],
        "cleanup": [getattr(one, "__name__", type(one).__name__) for one in inner.input_transformers_cleanup],
        "post": len(inner.input_transformers_post),
        "lines": len(inner.input_transformer_manager.line_transforms),
        "matchers": len(inner.Completer.custom_matchers),
        "hooks": {name: len(one.strs) + len(one.regexs) for name, one in inner.strdispatchers.items()},
        "events": {name: len(callbacks) for name, callbacks in inner.events.callbacks.items()},
        "names": sorted(name for name in inner.user_ns if not name.startswith("_")),
        "exceptions": (inner.custom_exceptions, inner.CustomTB is not None),
        "builtins": sorted(vars(sys.modules["builtins"])),
    }


def test_unloading_leaves_nothing_behind_however_often_it_was_loaded(shell: Shell) -> None:
    loaded = state_of(shell)
    shell.cell("%unload_ext pge_nb")
    bare = state_of(shell)
    assert loaded != bare
    for line in (
        *("%load_ext pge_nb", "%load_ext pge_nb", "%reload_ext pge_nb", "%reload_ext pge_nb"),
        *("%pge tasks;", "import pge_nb\n%reload_ext pge_nb", "del pge_nb"),
    ):
        assert shell.cell(line).error is None
    assert state_of(shell) == loaded
    shell.cell("%unload_ext pge_nb")
    assert state_of(shell) == bare
    shell.cell("%unload_ext pge_nb")
    assert state_of(shell) == bare


def test_modules_that_are_loaded_anew_do_not_break_it(tmp_path: Path) -> None:
    printed = in_a_process(
        f"import importlib\nos.chdir({str(tmp_path)!r})\n"
        f"cell({RUN + ';'!r})\n"
        "import pge_nb, pge_nb.magic, pge_nb.completing, pge_nb.commands.use_it, pge_nb.commands\n"
        "for one in (pge_nb.completing, pge_nb.magic, pge_nb.commands.use_it, pge_nb.commands, pge_nb):\n"
        "    importlib.reload(one)\n"
        "cell('%pge show plan;')\ncell('%reload_ext pge_nb')\ncell('%pge show plan;')\n"
        "print(len(shell.shell.Completer.custom_matchers), len(shell.shell.input_transformers_cleanup))\n"
        "cell('%load_ext autoreload')\ncell('%autoreload 2')\ncell('%pge tasks;')\ncell('%pge nothing')\n"
        "cell('%unload_ext pge_nb')\nprint(len(shell.shell.Completer.custom_matchers))"
    )
    assert printed.count("NoneType\n\n") == 8, printed
    assert "\n1 " in printed
    assert "UsageError: There is no %pge nothing." in printed
    assert printed.endswith("\n0\n")
