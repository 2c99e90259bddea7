"""Practice tasks that were carried out, a directory each, for tests of what is studied in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pge_nb import HarnessConfig, PGEHarness, bank


def practice_runs(root: Path, tasks: Iterable[str], settings: str = "skill=0.4") -> Path:
    """Carry the tasks out below ``root``, with one seed more for each; what fails is kept or gone on with. Gives ``root``."""
    for seed, name in enumerate(tasks):
        (root / name).mkdir()
        config = HarnessConfig(
            model=f"practice:{settings},seed={seed}",
            on_exhausted=("keep", "advance"),
            shared_state_path=root / name / "shared_state.md",
        )
        PGEHarness(config).run(bank.practice_task(name).prompt)
    return root
