"""Starting ``python -c pass`` in the sandbox, against a bare subprocess.

    python benchmarks/b10_spawn.py [--pairs 20]

The two take turns, so that what else the machine does falls on both; medians, and their ratio, which is to be at most 2.5. Both
are given the same environment, the same empty directory and three pipes. ``--pairs`` is the number of turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pge_nb.sandbox import environment, run, standing


def timed(start: Callable[[], object]) -> float:
    began = time.perf_counter()
    start()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    pairs = parser.parse_args().pairs
    rung = standing()
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        bare = lambda: subprocess.run(  # noqa: E731
            [sys.executable, "-c", "pass"], cwd=here, env=environment(here), input=b"", capture_output=True, check=True
        )
        confined = lambda: run(["python", "-c", "pass"], here, seconds=30, rung=rung)  # noqa: E731
        bare(), confined()  # the files are in memory from here on
        turns = [(timed(bare), timed(confined)) for _ in range(pairs)]
    plain, boxed = (statistics.median(column) for column in zip(*turns, strict=True))
    print(
        json.dumps(
            {
                "benchmark": "B10",
                "layers": list(rung.layers) if rung else [],
                "pairs": pairs,
                "bare_ms": round(1e3 * plain, 2),
                "sandbox_ms": round(1e3 * boxed, 2),
                "ratio": round(boxed / plain, 2),
                "target": 2.5,
            }
        )
    )


main()
