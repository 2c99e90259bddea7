"""How long ``%load_ext pge_nb`` takes beyond an empty extension, in fresh interpreters; JSON on standard output.

    python benchmarks/load_extension.py [--runs 20]

Fails (exit status 1) where the median is more than 0.15 seconds over that of the empty extension.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 0.15
EMPTY = "def load_ipython_extension(shell):\n    pass\n"
CODE = """
import time
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
shell.run_cell("pass")
began = time.perf_counter()
done = shell.run_cell("%load_ext NAME")
seconds = time.perf_counter() - began
assert done.success
print(seconds)
"""


def seconds(name: str, place: str) -> float:
    """Of one load in a fresh interpreter, whose own start is left out."""
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("NAME", name)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), place])},
        timeout=120,
    )
    return float(done.stdout.strip())


def measured(runs: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as place:
        Path(place, "empty_extension.py").write_text(EMPTY)
        for name in ("empty_extension", "pge_nb"):  # the first writes the bytecode
            seconds(name, place)
        # One after the other, so that a machine that gets busy meanwhile is busy for both.
        pairs = [(seconds("empty_extension", place), seconds("pge_nb", place)) for _ in range(runs)]
    empty, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
    return {
        "runs": runs,
        "empty_seconds": round(empty, 4),
        "pge_nb_seconds": round(ours, 4),
        "over_seconds": round(ours - empty, 4),
        "most_seconds": MOST_SECONDS,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    told = measured(parser.parse_args().runs)
    print(json.dumps(told, indent=2))
    raise SystemExit(told["over_seconds"] > MOST_SECONDS)
