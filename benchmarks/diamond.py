"""B13: the wall time of a diamond plan, its middle steps side by side, against its critical path; JSON on standard output.

    python benchmarks/diamond.py [--width 4] [--seconds 0.4]

A diamond is one step, so many that build on it, and one that builds on all of these. Every step is the same work: four calls
that each take ``--seconds``, and one look by an oracle in the sandbox. The critical path is measured, not reckoned: three such
steps as a chain, one after another. Fails (exit status 1) where the diamond takes more than 1.1 times as long.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.models import Listen, Reply, Request, Stop
from pge_nb.models.practice import Practice

MOST = 1.1
MODEL = "practice:skill=1.0,miss=0.0,false_alarm=0.0,noise=0.0"


class Slow:
    """The practice model, each call of which takes the same time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls = 0

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        self.calls += 1
        time.sleep(self.seconds)
        return Practice(MODEL).reply(request, listen=listen, stop=stop)


def wall(task: str, seconds: float, most: int) -> tuple[float, int, str]:
    """Seconds that a run of a practice task takes, its calls and its outcome."""
    model = Slow(seconds)
    with tempfile.TemporaryDirectory() as place:
        state = Path(place, "shared_state.md")
        # One round, so that no step's contract takes longer than another's.
        config = HarnessConfig(
            model=MODEL, shared_state_path=state, max_steps=100, max_parallel=most, max_contract_rounds=1
        )
        began = time.perf_counter()
        came = PGEHarness(config, model=model).run(bank.practice_task(task).prompt)
        return time.perf_counter() - began, model.calls, came.outcome


def measured(width: int, seconds: float) -> dict[str, object]:
    wall("generated:steps=1,dag=chain", 0.0, 1)  # what is imported and probed once
    path, on_path, first = wall("generated:steps=3,dag=chain", seconds, 1)
    diamond, calls, second = wall(f"generated:steps={width + 2},dag=diamond", seconds, width)
    return {
        "benchmark": "B13",
        "width": width,
        "seconds_a_call": seconds,
        "calls": calls,
        "calls_on_the_path": on_path,
        "outcomes": [first, second],
        "critical_path_seconds": round(path, 3),
        "wall_seconds": round(diamond, 3),
        "ratio": round(diamond / path, 3),
        "most_ratio": MOST,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.4)
    given = parser.parse_args()
    told = measured(given.width, given.seconds)
    print(json.dumps(told, indent=2))
    raise SystemExit(float(str(told["ratio"])) > MOST)
