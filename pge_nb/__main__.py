"""``python -m pge_nb``: the quickstart notebook, run without a browser; ``python -m pge_nb resume NAME``: go on with a run."""

from __future__ import annotations

import argparse
import importlib.resources
import importlib.util
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .detached import environment
from .errors import PgeError
from .redaction import Redactor

DEMO = "pge-demo"
NOTEBOOK = "quickstart.ipynb"
SECONDS = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out what the arguments ask for; 0 where it went well."""
    parser = argparse.ArgumentParser(prog="python -m pge_nb", description=__doc__)
    parser.add_argument(
        "--directory", type=Path, default=Path(DEMO), help=f"where the quickstart runs (default: {DEMO}/)"
    )
    commands = parser.add_subparsers(dest="command", title="other than the quickstart")
    resume = commands.add_parser("resume", help="go on with a run that stopped")
    resume.add_argument("name", nargs="?", default="", help="its task; none: the unnamed one in this directory")
    resume.add_argument("--state", default="", help="its state file, in place of a name")
    resume.add_argument(
        "--trace", default="", help="a file to which a line of JSON is appended for each phase and call"
    )
    given = parser.parse_args(arguments)
    try:
        return go_on(given.name, given.state, given.trace) if given.command == "resume" else quickstart(given.directory)
    except PgeError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted before anything was done.", file=sys.stderr)
        return 130
    except Exception:  # what is printed may be kept, as in the log of a detached run: no key may stand in it
        print(Redactor().text(traceback.format_exc()), file=sys.stderr)
        return 1


def quickstart(directory: Path) -> int:
    """Run the quickstart notebook in ``directory``; print the evaluation table, and where everything is."""
    from . import views
    from .results import result_of
    from .state import FILE_NAME, open_run

    directory.mkdir(parents=True, exist_ok=True)
    state = directory / FILE_NAME
    met = state.is_file()
    print(
        f"Running the quickstart notebook in {directory}/ with the practice model (simulated; no key, no cost) ...",
        flush=True,
    )
    executed = execute(importlib.resources.files(__package__).joinpath(NOTEBOOK).read_text(encoding="utf-8"), directory)
    (directory / NOTEBOOK).write_text(executed, encoding="utf-8")
    run = open_run(state)
    if met:
        print("It had been run here before: everything was in the state file, nobody was asked, nothing was paid.")
    print()
    print(views.evaluations_view(run).plain())
    print()
    print(views.run_view(run).plain())
    print()
    for what, place in (
        ("Notebook", directory / NOTEBOOK),
        ("State file", state),
        ("Deliverable", result_of(run, directory).output_path),
    ):
        print(f"{what + ':':13}{place}")
    lab = importlib.util.find_spec("jupyterlab") is not None
    print(f"Open it:     {'' if lab else 'python -m pip install jupyterlab && '}jupyter lab {directory / NOTEBOOK}")
    return 0


def execute(notebook: str, directory: Path) -> str:
    """The notebook with its outputs, run in ``directory`` by a kernel of this Python."""
    import nbformat
    from nbclient import NotebookClient

    held = nbformat.reads(notebook, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(
        held,
        kernel_manager_class=own_kernel(),
        timeout=SECONDS,
        resources={"metadata": {"path": str(directory)}},
    )
    client.execute(env=environment())
    return str(nbformat.writes(held)) + "\n"  # type: ignore[no-untyped-call]


def own_kernel() -> Any:
    """The class of a kernel of this Python: one found by its name may belong to another, which knows nothing of us."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    line = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--IPKernelApp.log_level=40"]

    class OwnKernel(AsyncKernelManager):
        kernel_spec = KernelSpec(argv=line, display_name="Python 3", language="python")

    return OwnKernel


def go_on(name: str, state: str = "", trace: str = "") -> int:
    """Resume a run below the working directory; 0 where it passed or was kept at its best, 130 where it was interrupted."""
    from .commands import Here
    from .commands.every_day import Interrupted, resume
    from .widgets.progress import Lines

    for number in (signal.SIGINT, signal.SIGTERM):  # whoever started this may have had them ignored
        signal.signal(number, signal.default_int_handler)
    here = Here(directory=Path.cwd(), progress=lambda _: Lines())
    here.turn_to(name, state)
    try:
        view = resume(here, trace=trace)
    except Interrupted as error:
        print("\n".join(error.lines), flush=True)
        return 130
    print(view.plain())
    return 0 if view.mark in {"passed", "degraded"} else 1


if __name__ == "__main__":
    sys.exit(main())
