"""2,000 cluster-bootstrap resamples of kappa, alpha and AC1 on 10,000 items, against a loop over other libraries.

    python benchmarks/b12_bootstrap.py [--resamples 2000] [--looped 100] [--irrcac PYTHON]

Both sides get the same items and the same indices (500 tasks of 20 items, whole tasks drawn with replacement). A loop over all
2,000 resamples takes long, so ``--looped`` of them are timed and the time is scaled; every looped value is compared.
irrCAC wants older numpy: with ``--irrcac`` an interpreter of an environment that has it does AC1; else AC1 is looped over our own
single-sample function, which says nothing about irrCAC and is labelled so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score

from pge_nb import calibration as cal

ITEMS, TASKS, SEED = 10_000, 500, 5
IRRCAC = """
import json, sys, time, warnings
import numpy as np, pandas as pd
from irrCAC.raw import CAC
warnings.simplefilter("ignore")
held = np.load(sys.argv[1])
ratings, indices = held["ratings"], held["indices"]
start = time.perf_counter()
values = [float(CAC(pd.DataFrame(ratings[rows]), digits=12).gwet()["est"]["coefficient_value"]) for rows in indices]
print(json.dumps([time.perf_counter() - start, values]))
"""


def data() -> tuple[np.ndarray, np.ndarray]:
    """Two raters on 10,000 items, three labels, tasks of unequal difficulty."""
    rng = np.random.default_rng(SEED)
    groups = np.repeat(np.arange(TASKS), ITEMS // TASKS)
    truth = rng.choice(3, ITEMS, p=[0.6, 0.3, 0.1])
    right = rng.random((ITEMS, 2)) < rng.beta(8, 2, TASKS)[groups][:, None]
    return np.where(right, truth[:, None], rng.integers(0, 3, (ITEMS, 2))), groups


def timed(function: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    values = function()
    return time.perf_counter() - start, np.asarray(values)


def by_irrcac(python: str, ratings: np.ndarray, indices: list[np.ndarray]) -> tuple[float, np.ndarray]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "indices.npz"
        np.savez(path, ratings=ratings, indices=np.array(indices))
        done = subprocess.run([python, "-c", IRRCAC, str(path)], capture_output=True, text=True, check=True)
    seconds, values = json.loads(done.stdout)
    return seconds, np.array(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--looped", type=int, default=100)
    parser.add_argument("--irrcac", default="", help="python of an environment with irrCAC")
    args = parser.parse_args()
    ratings, groups = data()
    drawing, _ = timed(lambda: cal.resample_indices(ITEMS, args.resamples, groups=groups, rng=SEED))
    indices = cal.resample_indices(ITEMS, args.resamples, groups=groups, rng=SEED)
    looped = indices[: args.looped]
    loops: dict[str, tuple[str, Callable[[], tuple[float, np.ndarray]]]] = {
        "kappa": ("scikit-learn", lambda: timed(lambda: [cohen_kappa_score(*ratings[rows].T) for rows in looped])),
        "alpha": (
            "krippendorff",
            lambda: timed(
                lambda: [krippendorff.alpha(ratings[rows].T, level_of_measurement="nominal") for rows in looped]
            ),
        ),
        "ac1": ("irrCAC", lambda: by_irrcac(args.irrcac, ratings, looped))
        if args.irrcac
        else (
            "our own function, one sample at a time",
            lambda: timed(lambda: [cal.gwet_ac(ratings[rows], interval="analytic").value for rows in looped]),
        ),
    }
    print(
        f"{ITEMS} items, {TASKS} tasks, {args.resamples} resamples; drawing the indices (both sides): {drawing:.2f} s"
    )
    print(
        "| statistic | ours, s | loop | loop, s (scaled) | times as fast | largest difference |\n|---|---|---|---|---|---|"
    )
    for name, (library, loop) in loops.items():
        ours, values = timed(lambda name=name: cal.resampled_agreement(ratings, indices, name))
        theirs, expected = loop()
        scaled = theirs * args.resamples / len(looped)
        gap = np.abs(values[: len(looped)] - expected).max()
        print(f"| {name} | {ours:.2f} | {library} | {scaled:.1f} | {scaled / ours:.0f} | {gap:.1e} |", flush=True)


if __name__ == "__main__":
    main()
