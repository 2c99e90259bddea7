"""The recorded real judge of the lessons: attempts at 45 tasks, graded by a small local model under two raters. Resumable.

    ANTHROPIC_BASE_URL=http://127.0.0.1:8090 ANTHROPIC_API_KEY=local python benchmarks/real_judge.py DIRECTORY

1. Attempts: the practice generator's at 15 tasks of the bank and 30 generated ones, and the local model's own at four; the gate
   fails everything, so that none is left out because it passed. What is so of each the bank knows, or its hidden inputs find out.
2. Rater "plain": the prompt that is shipped, alone (without what reviews found), on all of them.
3. Tasks are split; four of plain's errors in train, worded by hand, become examples: rater "taught", tried on development, then
   on test.
4. "taught" on all the others too, so that both raters have judged every attempt.
5. Of "plain": probes (the author's turns before the judge, and a default of pass), an exam of planted defects, and drift.
6. Everything but study.md is packed: examples/recordings/judge.tar.xz.
"""

from __future__ import annotations

import sys
import tarfile
import time
from pathlib import Path

from pge_nb import HarnessConfig, PGEHarness, bank, open_run, studies
from pge_nb.agents.raters import judge
from pge_nb.run import Run
from pge_nb.studies import probing
from pge_nb.studies.drifting import drift
from pge_nb.studies.examining import examine
from pge_nb.studies.improving import candidates, taught, trial, worded
from pge_nb.studies.planting import plant
from pge_nb.studies.replaying import asked_of, kept, regrade

MODEL = "qwen2.5-coder-1.5b"
LEFT_OUT = ("report", "page", "notice")
"""Tasks whose artifacts are long, or no code."""
OWN = ("stats", "textkit", "markup", "money")
PICKED = {
    "d8116f0": "A negative number is computed like any other; the sentence asks that it is refused.",
    "d7eb2b0": "The docstring names no error, so it does not say when ValueError is raised.",
    "da5c0ae": "It raises ValueError below 0 and gives what its docstring says, at the limit too.",
    "d2ffeaa": "NAME holds the name of the module.",
}
"""Candidate -> why, in the words of the person who picked them; that person labelled nothing."""
PROBED = (*(f"local-{name}" for name in ("markup", "money", "stats", "textkit")), *(f"made-{n}" for n in range(1, 8)))
DRIFTED = tuple(f"made-{n}" for n in range(8, 24))
ARCHIVE = Path(__file__).parents[1] / "examples" / "recordings" / "judge.tar.xz"


def attempts(root: Path) -> None:
    of_bank = [task.name for task in bank.tasks() if task.name not in LEFT_OUT]
    made = [f"generated:steps=1,seed={seed}" for seed in range(1, 31)]
    for seed, name in enumerate([*of_bank, *made]):
        place = root / name.replace("generated:steps=1,seed=", "made-")
        if name in of_bank:
            shape = {"on_exhausted": ("advance",), "max_retries_per_step": 1, "max_tokens": 560}
            model = f"practice:skill=0.8,leniency=-9.0,seed={seed}"
        else:
            shape = {"planner": False, "default_thresholds": {"correctness": 7.0}, "on_exhausted": ("ask",)}
            shape |= {"max_retries_per_step": 3, "max_tokens": 360}
            model = f"practice:skill=0.6,leniency=-9.0,seed={seed}"
        run(place, name, {"model": model, **shape})
    for seed, name in enumerate(OWN):
        roles = {
            "planner": f"practice:seed={seed}",
            "generator": MODEL,
            "evaluator": f"practice:leniency=-9.0,seed={seed}",
        }
        shape = {
            "keep_going": 2,
            "on_exhausted": ("ask",),
            "max_tokens": 560,
            "generator_tools": "off",
            "max_retries_per_step": 1,
        }
        run(root / f"local-{name}", name, {"models": roles, **shape})


def run(place: Path, name: str, shape: dict[str, object]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    state = place / "shared_state.md"
    config = HarnessConfig(
        shared_state_path=state,
        max_contract_rounds=1,
        registry="off",
        regrade_kept=False,
        **shape,  # type: ignore[arg-type]
    )
    PGEHarness(config).run(bank.practice_task(name).prompt)


def runs_in(root: Path) -> list[Run]:
    return [open_run(state.parent) for state in sorted(root.glob("*/shared_state.md"))]


def told(done: int, of: int) -> None:
    print(f"{time.strftime('%H:%M:%S')} {done}/{of}", flush=True)


def grade(root: Path) -> None:
    runs, study = runs_in(root), studies.open_study(root)
    plain = judge(MODEL, mode="alone", name="plain")
    print(regrade(study, asked_of(runs, [plain]), parallel=2, told=told).effects().to_string())
    if study.read().split is None:
        studies.split(study, runs, seed=1)
    found = {one.id: one for one in candidates(runs, plain, study.read(), kept(study), against="oracle")}
    new = taught(study, runs, plain, [worded(found[name], why) for name, why in PICKED.items()], name="taught", by="bo")
    print(trial(study, runs, plain, new, part="development", against="oracle", parallel=2).sentence)
    print(trial(study, runs, plain, new, part="test", against="oracle", parallel=2).sentence)
    print(regrade(study, asked_of(runs, [plain, new]), parallel=2, told=told).effects().to_string())


def look_further(root: Path) -> None:
    study, plain = studies.open_study(root), judge(MODEL, mode="alone", name="plain")
    probed = probing.asked_of([open_run(root / name) for name in PROBED], plain, probes=("self",))
    print(probing.probe(study, probed, plain, probes=("self",), parallel=2, told=told).sentence)
    planted = plant(study, runs_in(root), sample=16, parallel=2)
    print(examine(study, planted, [plain], parallel=2, told=told).sentence(plain.id, plain.name))
    print(drift(study, [open_run(root / name) for name in DRIFTED], plain, parallel=2).slopes().to_string())


def pack(root: Path) -> None:
    """What a notebook needs: the runs, every grading, and every call, but no study file: it is written in the lesson."""
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for path in sorted(root.rglob("*")):
            local = path.relative_to(root)
            if (
                not path.is_file()
                or path.name.endswith(".lock")
                or "work" in local.parts
                or path.name in ("study.md", "study.head")
            ):
                continue
            entry = archive.gettarinfo(path, local.as_posix())
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            with path.open("rb") as file:
                archive.addfile(entry, file)
    print(f"{ARCHIVE.name}: {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    attempts(place)
    grade(place)
    look_further(place)
    pack(place)
