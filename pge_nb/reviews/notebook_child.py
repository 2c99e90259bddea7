"""The child of the notebook review: executes a notebook in a kernel of its own, and says how that went.

It runs alone (``python -I``) and imports nothing of the package. Kernel and client are both inside the sandbox, which lets them
bind and reach five ports, and lets nothing leave the session that the review ends.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

SAID = 500
FIRST_LINE = 80
LOUD = 5_000_000
"""Characters of a notebook's outputs; one that makes more is stopped."""
TOLD = 6_000
"""Characters of text outputs that are told."""
KERNEL = "import sys; sys.path.remove(''); from ipykernel.kernelapp import launch_new_instance; launch_new_instance()"
"""Starts a kernel that takes nothing beside the notebook for a module that it needs itself; its cells find what lies there."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
ARROW = re.compile(r"^-+> *\d+ (.*)$", re.MULTILINE)
READABLE = ("text/plain", "text/markdown", "text/latex", "text/html")


def main() -> None:
    """Write the token that was given and what there is to say, as one line of JSON."""
    asked = json.load(sys.stdin)
    # What a kernel prints past its client must not stand beside the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    said = told(asked)
    answers.write(json.dumps([asked["token"], said]))
    answers.flush()
    os._exit(0)  # Threads of the client must not use up the time.


def told(asked: dict[str, Any]) -> dict[str, Any]:
    """How the notebook fared: ``fault`` (it is none), ``language`` (not Python), else what `executed` or `compared` say."""
    import nbformat

    try:
        notebook: Any = nbformat.reads(Path(asked["path"]).read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validator.normalize(notebook)
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        place = "".join(f"[{part!r}]" for part in error.absolute_path)
        return {"fault": cut(f"{place}: {error.message}" if place else str(error.message))}
    except Exception as error:  # whatever it holds instead
        return {"fault": cut(f"{error}") or type(error).__name__}
    if (language := language_of(notebook)) != "python":
        return {"language": language}
    keep_to(asked["ports"])
    return compared(asked, notebook) if asked["compare"] else executed(asked, notebook)


def language_of(notebook: Any) -> str:
    """The language that the notebook says it is in; Python where it says none."""
    named = notebook.metadata.get("kernelspec", {}), notebook.metadata.get("language_info", {})
    said = named[0].get("language") or named[1].get("name") or "python"
    plain = str(said).casefold()[:FIRST_LINE]
    return "python" if plain in {"python", "ipython", "python3"} else plain


def keep_to(ports: list[int]) -> None:
    """Have the kernels that are started from here stay in this session, and bind these ports instead of any."""
    from jupyter_client.connect import LocalPortCache
    from jupyter_client.provisioning.local_provisioner import LocalProvisioner

    cache: Any = LocalPortCache
    local: Any = LocalProvisioner
    left = iter(ports)

    async def launch(provisioner: Any, command: list[str], **options: Any) -> Any:
        argv = [sys.executable, "-c", KERNEL, *command[command.index("-f") :]]
        started = Popen(
            argv, cwd=options.get("cwd"), env=options.get("env"), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        provisioner.process, provisioner.pid, provisioner.pgid = started, started.pid, None
        return provisioner.connection_info

    cache.find_available_port = lambda *_: next(left)
    local.launch_kernel = launch


def executed(asked: dict[str, Any], notebook: Any) -> dict[str, Any]:
    """Run every cell: ``cells`` is how many hold code; where one failed ``cell``, ``line`` and ``error`` tell of it."""
    from nbclient.client import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    until = time.monotonic() + asked["seconds"]
    size = 0

    class Client(NotebookClient):
        """Stops a notebook that says too much: all of it would have to be held in memory."""

        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            nonlocal size
            size += len(json.dumps(msg["content"], default=str))
            if size > LOUD:
                manager: Any = self.km
                manager.provisioner.process.kill()
                return None
            return super().process_message(msg, cell, cell_index)

    at: list[int] = []
    # The outputs that it was saved with are no outputs of this run.
    codes = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    for index in codes:
        notebook.cells[index].outputs = []
    client = Client(
        notebook,
        kernel_name="python3",
        timeout_func=lambda _: max(0.1, until - time.monotonic()),
        iopub_timeout=10,
        on_cell_execute=lambda cell, cell_index: at.append(cell_index),  # noqa: ARG005 - nbclient gives both by name
        resources={"metadata": {"path": str(Path(asked["path"]).parent)}},
    )
    said: dict[str, Any] = {"cells": len(codes)}
    try:
        client.execute()
    except CellExecutionError as error:
        said |= {"error": cut(f"{error.ename}: {error.evalue}"), "on": failing_line(error.traceback)}
    except CellTimeoutError:
        said |= {"ended": "late"}
    except DeadKernelError:
        said |= {"ended": "loud" if size > LOUD else "died"}
    except Exception as error:
        said |= {"ended": "broken", "error": cut(f"{type(error).__name__}: {error}")}
    if len(said) > 1 and at:
        said |= {"cell": codes.index(at[-1]) + 1, "line": first_line(notebook.cells[at[-1]].source)}
    outputs = list(texts(notebook, codes))
    whole = folded("\n".join(text for _, text in outputs))
    return said | {"held": [folded(text) in whole for text in asked["shows"]], "outputs": shown(outputs)}


def compared(asked: dict[str, Any], notebook: Any) -> dict[str, Any]:
    """Run every cell under nbval: ``compared`` cells; where one gives something else ``cell``, ``line`` and ``error``."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        import nbval.plugin as nbval  # type: ignore[import-untyped]
        import pytest
    except ImportError as error:
        return {"missing": str(error.name)}

    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if all(cell.execution_count is None for cell in codes):
        return {"compared": 0}
    reports: list[Any] = []

    class Reports:
        """Keeps how each cell fared."""

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.failed:
                reports.append(report)

    here, seconds = os.getcwd(), max(1, int(asked["seconds"]))  # noqa: PTH109
    options = ["--noconftest", "-q", "--color=no", "-p", "no:cacheprovider", "-c", os.devnull]
    options += ["--rootdir", here, "--confcutdir", here]  # else it would list the directories above
    options += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", str(seconds)]
    ended = pytest.main([*options, asked["path"]], plugins=[nbval, Reports()])
    if failed := next((report for report in reports if report.failed), None):
        number = int(failed.nodeid.rpartition(" ")[2])
        text = COLOURS.sub("", str(failed.longreprtext)).partition("Traceback:")[2].strip()
        told_of = {"cell": number + 1, "line": first_line(codes[number].source)}
        return {"compared": len(reports), **told_of, "error": text[:TOLD] or cut(failed.longreprtext)}
    if ended != 0:
        return {"broken": f"pytest ended with {int(ended)}"}
    return {"compared": sum(report.passed for report in reports)}


def texts(notebook: Any, codes: list[int]) -> Iterator[tuple[int, str]]:
    """The number of each code cell that said something, and what can be read of it."""
    for number, index in enumerate(codes, 1):
        for output in notebook.cells[index].get("outputs", []):
            if output.output_type == "stream":
                yield number, str(output.text)
            elif output.output_type in {"execute_result", "display_data"}:
                yield from ((number, str(output.data[kind])) for kind in READABLE if kind in output.data)


def shown(outputs: list[tuple[int, str]]) -> str:
    """The outputs as they are told, each under its cell; HTML is left out, it says in marks what plain text says."""
    lines = [f"[code cell {number}] {text.strip()}" for number, text in outputs if not text.lstrip().startswith("<")]
    text = COLOURS.sub("", "\n".join(lines))
    return text if len(text) <= TOLD else f"{text[:TOLD]}\n[cut: {len(text) - TOLD} more characters]"


def failing_line(traceback: str) -> str:
    """The line of the cell at which the error came out, as IPython marks it first."""
    found = ARROW.search(COLOURS.sub("", traceback))
    return cut(found[1].strip())[:FIRST_LINE] if found else ""


def first_line(source: str) -> str:
    """The first line of a cell that holds something."""
    return next((line.strip()[:FIRST_LINE] for line in source.split("\n") if line.strip()), "")


def folded(text: str) -> str:
    """The text in NFC with every run of white space as one blank, so that a line break decides nothing."""
    import unicodedata

    return " ".join(unicodedata.normalize("NFC", text).split())


def cut(text: str) -> str:
    """The text on one line, and not all of it where it is long."""
    return " ".join(COLOURS.sub("", text).split())[:SAID]


main()
