"""What people do in IPython every day, done with ``%pge``: in a shell, in a kernel, by a script, from a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from notebook_shell import Shell

from pge_nb.display import View

ROOT = Path(__file__).parents[1]
RUN = "%pge run --practice roman --seed 2"
HEAVY = ("anthropic", "pandas", "matplotlib", "ipywidgets", "nbformat", "scipy", "sklearn", "httpx2", "numpy")


@pytest.fixture
def begun(shell: Shell) -> Shell:
    """A shell beside a run."""
    shell.cell(RUN + ";")
    return shell


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "0", "IPYTHONDIR": str(home / "ipython")}


def executed(directory: Path, *cells: str) -> list[list[Any]]:
    """The outputs of each cell, carried out by a real kernel in ``directory``."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in ("%load_ext pge_nb", *cells)]
    )
    client = NotebookClient(notebook, timeout=180, resources={"metadata": {"path": str(directory)}})
    client.execute(env=environment(directory))
    return [cell.outputs for cell in notebook.cells[1:]]


# Silence, names and captures


@pytest.mark.parametrize("cell", ["%pge show plan;", "%pge show plan ;", f"%{RUN};\n", f"%{RUN} ; \n"])
def test_a_trailing_semicolon_silences(begun: Shell, cell: str) -> None:
    ran = begun.cell(cell)
    assert (ran.value, ran.error, ran.text.strip()) == (None, None, "")


def test_a_line_may_be_assigned_and_gives_a_view_with_its_frame(begun: Shell) -> None:
    begun.cell("r = %pge show plan")
    view = begun.names["r"]
    assert isinstance(view, View)
    assert list(view.df["step"]) == list(range(1, len(view.df) + 1))
    assert begun.cell("(lambda: get_ipython().run_line_magic('pge', 'show plan'))()").view == view


def test_capture_takes_the_view_of_a_line_and_of_a_cell(begun: Shell) -> None:
    assert begun.cell("%%capture out\n%pge show plan").text == ""
    (captured,) = begun.names["out"].outputs
    assert {"text/html", "text/markdown", "text/latex", "text/plain"} <= set(captured.data)
    begun.cell(f"%%capture out\n%{RUN}\n")
    assert len(begun.names["out"].outputs) == 1


@pytest.mark.parametrize(
    "cell",
    [
        "%time %pge show plan",
        "%time v = %pge show plan",
        "%%time\n%pge show plan",
        f"%%time\n%{RUN}\n",
        "%timeit -n1 -r1 %pge show plan",
    ],
)
def test_time_measures_a_line_and_a_cell(begun: Shell, cell: str) -> None:
    ran = begun.cell(cell)
    assert ran.error is None
    assert "time:" in ran.text or "per loop" in ran.text


def test_a_magic_below_pge_is_the_body_and_told_to_whom_it_means_nothing(begun: Shell) -> None:
    assert "reads no cell body" in str(begun.cell("%%pge show plan\n%time").error)


# Loops and containers


def test_a_loop_draws_each_view_that_is_displayed(begun: Shell) -> None:
    ran = begun.cell("for n in (1, 2):\n    display(get_ipython().run_line_magic('pge', f'show contract {n}'))")
    assert [ran.text.count(f"Step {n}:") for n in (1, 2)] == [1, 1]
    ran = begun.cell("for n in (1, 2):\n    v = %pge show contract {{n}}\n    display(v)")
    assert [ran.text.count(f"Step {n}:") for n in (1, 2)] == [1, 1]


def test_print_shows_all_and_a_container_one_line_for_each(begun: Shell) -> None:
    begun.cell("v = %pge show plan")
    view = begun.names["v"]
    assert begun.cell("print(v)").text == view.plain() + "\n"
    assert begun.cell("f'{v}'").value == str(view) == view.plain()
    assert view.plain() in begun.cell("v").text
    shown = " ".join(begun.cell("[v, v]").text.partition(": ")[2].split())
    assert shown == f"[<View: {view.title}>, <View: {view.title}>]"
    shown = " ".join(begun.cell("{'plan': v}").text.partition(": ")[2].split())
    assert shown == f"{{'plan': <View: {view.title}>}}"


def test_the_one_line_is_one_and_short_whatever_the_title() -> None:
    told = repr(View(title="a\nb\u202e" + "x" * 4_000, mark="pass"))
    assert "\n" not in told
    assert "\u202e" not in told
    assert len(told) < 250
    assert told.endswith("[pass]>")


# Asynchronous cells and threads


def test_a_cell_that_awaits_may_hold_lines(begun: Shell) -> None:
    ran = begun.cell("import asyncio\nawait asyncio.sleep(0)\nv = %pge show plan\nawait asyncio.sleep(0)\nv")
    assert ran.error is None
    assert ran.view.title == begun.names["v"].title


def test_a_kernel_with_its_loop_running_carries_out_lines_cells_threads_and_loops(tmp_path: Path) -> None:
    cells = (
        f"%{RUN}\n",
        "import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0)\nv = %pge show plan\nv.title",
        "def look():\n    return get_ipython().run_line_magic('pge', 'show contract 1').title\n"
        "await asyncio.to_thread(look)",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n    titles = set(pool.map(lambda _: look(), range(8)))\ntitles",
        "for n in (1, 2):\n    display(get_ipython().run_line_magic('pge', f'show contract {n}'))",
        "[v]",
        "%pge show plan;",
        "%%capture kept\n%pge show plan",
        "len(kept.outputs), list(v.df.columns)[:2]",
    )
    run, awaited, thread, pool, loop, container, silent, captured, kept = executed(tmp_path, *cells)
    assert {"text/html", "text/plain", "text/markdown"} <= set(run[-1]["data"])
    assert "plan" in awaited[0]["data"]["text/plain"]
    assert "contract" in thread[0]["data"]["text/plain"]
    assert pool[0]["data"]["text/plain"].count("contract") == 1
    assert [output["output_type"] for output in loop] == ["display_data", "display_data"]
    assert all("text/html" in output["data"] for output in loop)
    assert container[0]["data"]["text/plain"].startswith("[<View: ")
    assert (silent, captured) == ([], [])
    assert kept[0]["data"]["text/plain"] == "(1, ['run', 'step'])"


# Scripts and terminals


def test_a_script_may_hold_lines_and_cells(begun: Shell) -> None:
    Path("day.ipy").write_text("v = %pge show plan\nprint(v.title)\n%pge show contract 1\nw = get_ipython()\n")
    ran = begun.cell("%run day.ipy")
    assert ran.error is None
    assert begun.names["v"].title in ran.text


def test_a_terminal_shows_plain_text_and_tells_of_a_run_by_lines(tmp_path: Path) -> None:
    lines = f"%load_ext pge_nb\n{RUN}\n%pge show plan\nexit\n"
    environ = {name: value for name, value in environment(tmp_path).items() if name != "PGE_NB_LIVE"}
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        input=lines,
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Step 1, attempt 1: first try (1 of 3)\n" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "Next: %pge show" in done.stdout


def test_one_command_of_a_terminal_shows_the_view(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "IPython",
            "--colors=NoColor",
            "--InteractiveShellApp.extensions=pge_nb",
            "-c",
            "%pge tasks",
        ],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "textkit" in done.stdout
    assert done.stderr == ""


def test_nbconvert_executes_a_notebook_and_what_it_saved_stands_by_itself(tmp_path: Path) -> None:
    cells = ["%load_ext pge_nb", f"%{RUN}\n", "%pge show plan", "v = %pge show cost\nv.df"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "day.ipynb")
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "day.ipynb"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        timeout=240,
        check=True,
    )
    saved = json.loads((tmp_path / "day.ipynb").read_text(encoding="utf-8"))["cells"]
    assert saved[0]["outputs"] == []
    assert ["text/html" in cell["outputs"][-1]["data"] for cell in saved[1:]] == [True, True, True]
    assert (tmp_path / "shared_state.md").is_file()


# Loading


def test_loading_prints_nothing_connects_to_nothing_and_imports_nothing_heavy(tmp_path: Path) -> None:
    """Pandas and numpy are what IPython itself may import: only what is new counts."""
    code = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
shell.run_cell("pass")
before = set(sys.modules)
seen = []
watched = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.mkdir", "os.rename", "os.remove")
def watch(event, args):
    if event.startswith(watched) or (event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
                                     and ".pyc" not in str(args[0])):
        seen.append((event, args))
sys.addaudithook(watch)
done = shell.run_cell("%load_ext pge_nb")
assert done.success
heavy = [name for name in {HEAVY!r} if name in set(sys.modules) - before]
print("END", heavy, seen)
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("END [] []\n", "")
    assert [path.name for path in tmp_path.iterdir() if path.name != "ipython"] == []
