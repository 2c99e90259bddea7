"""Do the intervals of the calibration figures keep their promise, on a judge whose errors are known?

    python benchmarks/calibration_proof.py [SEEDS]

A seed is a study: 40 tasks, 3 attempts each, one simulated judge with a miss rate, false alarms, leniency, drift, differences
between tasks and errors that are alike within steps, and a person whose labels are wrong at a known rate. Verdicts come from the
practice model itself, by the very calls that a run makes (`same_as_in_runs` shows that on whole runs), and figures from what
`%pge calibrate`, `%pge drift`, `%pge exam` and `%pge improve` compute. Of 200 seeds each interval must hold the truth in at least
182; without drift at most 18 may report it; of examples that teach nothing at least 190 trials must find nothing.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from pge_nb import HarnessConfig, PGEHarness, bank, calibration, open_run
from pge_nb.agents.raters import judge
from pge_nb.calibration.estimate import CalibrationWarning
from pge_nb.models import About, Flaw, Request
from pge_nb.models.practice import Practice, PracticeSettings
from pge_nb.records import attempt_hash
from pge_nb.studies.figures import figures_of
from pge_nb.studies.improving import PRIMARY, compared_of
from pge_nb.studies.replaying import asked_of, regrade
from pge_nb.studies.study import open_study
from pge_nb.study_records import ALONE

TASKS = [f"generated:steps=1,seed={seed}" for seed in range(1, 41)]
CHECKS, CRITERIA = ("c1", "c2", "c3"), ("correctness", "clarity", "robustness")
JUDGE = "practice:miss=0.2,false_alarm=0.05,leniency=-1.0,noise=0.5,by_task=0.15,rho=0.15"
DRIFTING, STEADY = (f"practice:miss=0.2,leniency=-2.0,noise=0.5,by_task=0.15,rho=0.15,drift={by}" for by in (0.2, 0.0))
USELESS = "practice:miss=0.3,by_task=0.15,rho=0.15,taught=0.0"
WRONG_LABELS = 0.05
ATTEMPTS, REPEATS, RETRIES = 3, 3, 3
EXAMPLES = "Judge.\n\n" + "\n\n".join(f"Example {n}. Asked: is it so?\n    x\nJudged: fail." for n in (1, 2, 3))


def request(model: str, task: str, attempt: int, texts: dict[str, str], *, sample: int = 0, **more: Any) -> Request:
    """The judge call of an attempt, as a replay by a judge alone makes it."""
    system = more.pop("system", "Judge.")
    about = About(
        role="evaluator",
        phase="evaluate",
        step=1,
        attempt=attempt,
        task=task,
        attempt_hash=attempt_hash(bank.files(texts)),
        checks=CHECKS,
        criteria=CRITERIA,
        evidence=(f"e1:{next(iter(texts))}",),
        **more,
    )
    message = {"role": "user", "content": "The attempt."}
    return Request(model=model, system=system, messages=(message,), about=about, sample=sample)


def findings(asked: Request) -> dict[str, dict[str, Any]]:
    """What the judge says, by check and criterion."""
    text = Practice(asked.model).reply(asked).text
    return {one["on"]: one for one in json.loads(text.split("```json\n")[1].split("\n```")[0])["findings"]}


def attempts_of(seed: int) -> Iterator[tuple[str, int, dict[str, str], bank.Truth]]:
    """Task, attempt, files and what is so: each defect is there with probability .3."""
    chance = random.Random(seed)
    for task in TASKS:
        step = bank.practice_task(task).steps[0]
        for attempt in range(1, ATTEMPTS + 1):
            texts = dict(bank.render(step, [one for one in step.defects if chance.random() < 0.3]))
            known = bank.truth(task, attempt_hash(bank.files(texts)))
            assert known is not None
            yield task, attempt, texts, known


def overall(found: dict[str, dict[str, Any]]) -> float:
    return sum(float(found[name]["score"]) for name in CRITERIA) / len(CRITERIA)


def judged(seed: int) -> dict[str, tuple[float, float, float]]:
    """Figure -> low, high, truth: rates against people whose labels are wrong now and then, scores against what is so, noise."""
    chance, name = random.Random(-seed - 1), f"{JUDGE},seed={seed}"
    settings = PracticeSettings.parse(name)
    miss, alarm = settings.miss_rate(), settings.alarm_rate()
    rows, good, bad = [], 0, 0
    for task, attempt, texts, known in attempts_of(seed):
        item = f"{task}/{attempt}"
        for sample in range(REPEATS if attempt == 1 else 1):
            found = findings(request(name, task, attempt, texts, sample=sample))
            if attempt == 1:
                rows.append(row(task, item, "*", "attempt", "j", "fail", overall(found), sample + 1, "regrade"))
            if sample:
                continue
            for on in CHECKS:
                truth = known.met.get(on, not known.defects)
                good, bad = good + truth, bad + (not truth)
                label = truth != (chance.random() < WRONG_LABELS)
                rows.append(row(task, f"{item}/{on}", on, "check", "j", found[on]["verdict"], None))
                rows.append(row(task, f"{item}/{on}", on, "check", "ann", "pass" if label else "fail", None))
            for on in CRITERIA:
                at = (task, f"{item}/{on}", on, "criterion")
                rows.append(row(*at, "j", "pass", float(found[on]["score"])))
                rows.append(row(*at, "oracle", "pass", known.quality[on]))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    checks = figures_of(frame[frame["about"] != "criterion"], "j", "people")
    scores = figures_of(frame[frame["about"] == "criterion"], "j", "oracle")
    wrong, n = WRONG_LABELS, good + bad
    said_good, said_bad = good * (1 - wrong) + bad * wrong, bad * (1 - wrong) + good * wrong
    passed, bad_passed = good * (1 - alarm) + bad * miss, bad * (1 - wrong) * miss + good * wrong * (1 - alarm)
    truths = {
        "false_pass": bad_passed / said_bad,
        "tpr": (passed - bad_passed) / said_good,
        "bad_given_accepted": bad_passed / passed,
        "leniency": (passed - said_good) / n,
        "agreement": (passed - bad_passed + said_bad - bad_passed) / n,
    }
    told = {figure: (checks.one(figure, "judge"), truth) for figure, truth in truths.items()}
    told["signed_error"] = (scores.one("signed_error", "judge"), settings.leniency)
    told["noise"] = (checks.one("noise"), settings.noise / math.sqrt(len(CRITERIA)))
    return {figure: (_end(one.low), _end(one.high), truth) for figure, (one, truth) in told.items()}


def _end(value: float | None) -> float:
    """An end of an interval; of none NaN, which holds nothing: what was not measured does not count as right."""
    return math.nan if value is None else value


COLUMNS = (
    *("run", "task", "step", "step_kind", "attempt", "item", "on", "about", "kind", "rater", "who", "label"),
    *("score", "threshold", "repeat", "purpose", "by", "verdict_shown", "weight"),
)
WHO = {"j": "judge", "ann": "person", "oracle": "oracle"}


def row(
    task: str, item: str, on: str, about: str, rater: str, label: str, score: float | None, *more: Any
) -> tuple[Any, ...]:
    """A row of `studies.ratings`."""
    repeat, purpose = more or (1, "regrade" if rater == "j" else "label")
    by = "judge" if rater == "j" and about != "attempt" else "gate"
    return (
        task,
        task,
        1,
        "code",
        1,
        item,
        on,
        about,
        about,
        rater,
        WHO[rater],
        label,
        score,
        7.0,
        repeat,
        purpose,
        by,
        False,
        1.0,
    )


def drifted(seed: int, model: str) -> tuple[float, float, float]:
    """Low, high and truth of the slope of first attempts' scores, graded again after each retry."""
    name = f"{model},seed={seed}"
    values, at, steps = [], [], []
    for task, attempt, texts, _ in attempts_of(seed):
        if attempt == 1:
            for sample, after in enumerate([1] * REPEATS + list(range(2, RETRIES + 2))):
                values.append(overall(findings(request(name, task, after, texts, sample=sample))))
                at.append(after)
                steps.append(task)
    found = calibration.within_slope(values, at, steps, groups=steps)
    return found.low, found.high, PracticeSettings.parse(name).drift


def examined(seed: int) -> tuple[float, float, float]:
    """Low, high and truth of the catch rate of planted defects, three copies of each clean artifact."""
    chance, name = random.Random(seed), f"{JUDGE},seed={seed}"
    settings = PracticeSettings.parse(name)
    passed, sources, caught = [], [], []
    for task in TASKS:
        texts = dict(bank.render(bank.practice_task(task).steps[0], ()))
        for copy in range(3):
            flaw = Flaw(planted=True, breaks=("c1",), size=chance.choice(("slight", "partial", "gross")))
            asked = request(name, task, copy + 1, texts, flaw=flaw)
            passed.append(findings(asked)["c1"]["verdict"] == "pass")
            sources.append(task)
            caught.append(1 - settings.miss_of(flaw.size) * (1 - settings.alarm_rate()))
    found = calibration.verdict_rates([False] * len(passed), passed, groups=sources).tnr
    return found.low, found.high, sum(caught) / len(caught)


def taught(seed: int, tasks: int = 12) -> str:
    """What a trial on a sealed test part finds of examples that teach nothing."""
    name = f"{USELESS},seed={seed}"
    rows = []
    for task, attempt, texts, known in attempts_of(seed):
        if task not in TASKS[:tasks]:
            continue
        old = findings(request(name, task, attempt, texts))
        new = findings(request(name, task, attempt, texts, system=EXAMPLES))
        for on in CHECKS:
            truth = "pass" if known.met.get(on, not known.defects) else "fail"
            rows.append(
                (
                    f"{task}/{attempt}/{on}",
                    task,
                    "check",
                    "judge",
                    truth,
                    old[on]["verdict"],
                    new[on]["verdict"],
                    "judge",
                )
            )
    pairs = pd.DataFrame(rows, columns=["item", "task", "about", "by_old", "truth", "old", "new", "by_new"])
    compared, _ = compared_of(pairs, 0.975)
    one = compared[PRIMARY]
    return "nothing" if one.p_value >= 0.025 else "better" if one.difference.value > 0 else "worse"


def same_as_in_runs(seeds: int = 5) -> int:
    """Findings of whole runs, replayed by the judge alone, that are those of the calls above; raises where one differs."""
    same = 0
    for seed in range(seeds):
        task = TASKS[seed]
        with tempfile.TemporaryDirectory() as place:
            state = Path(place, "shared_state.md")
            config = HarnessConfig(
                model=f"practice:skill=0.4,leniency=-9.0,seed={seed}",
                shared_state_path=state,
                registry="off",
                on_exhausted=("advance",),
                regrade_kept=False,
            )
            PGEHarness(config).run(bank.practice_task(task).prompt)
            run = open_run(state)
            rater = judge(f"{JUDGE},seed={seed}", mode=ALONE)
            asked = asked_of([run], [rater])
            done = regrade(open_study(Path(place)), asked, parallel=1)
            reports = {one.attempt: one.report for one in done.graded}
            for one in asked:
                sent = one.frozen.request(rater, 0)
                step = bank.practice_task(task).steps[0]
                known = bank.truth(task, one.frozen.attempt_hash)
                assert known is not None
                texts = dict(bank.render(step, [defect for defect in step.defects if defect.id in known.defects]))
                mine = findings(request(rater.model, task, one.frozen.attempt, texts, run=sent.about.run))
                for finding in reports[one.frozen.attempt].findings:
                    said = mine[finding.on]
                    assert (said.get("verdict"), said.get("score")) in (
                        (finding.verdict, None),
                        (None, finding.score),
                    ), (task, finding)
                    same += 1
    return same


def prove(seeds: int) -> dict[str, tuple[int, int, str]]:
    """Figure -> seeds in which it held, the least (or most) that may, and what was counted."""
    held: dict[str, int] = {}

    def count(name: str, low: float, high: float, truth: float) -> None:
        held[name] = held.get(name, 0) + (low <= truth <= high)

    false_drift = nothing = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        for seed in range(seeds):
            for name, ends in judged(seed).items():
                count(name, *ends)
            count("drift", *drifted(seed, DRIFTING))
            count("exam catch rate", *examined(seed))
            low, high, _ = drifted(seed, STEADY)
            false_drift += not low <= 0 <= high
            nothing += taught(seed) == "nothing"
    least = math.ceil(0.91 * seeds)
    told = {name: (many, least, f"intervals that hold the truth, at least {least}") for name, many in held.items()}
    most, none = math.floor(0.09 * seeds), math.ceil(0.95 * seeds)
    told["drift that is not there"] = (false_drift, most, f"seeds that report it, at most {most}")
    told["examples that teach nothing"] = (nothing, none, f"trials that find nothing, at least {none}")
    return told


def holds(name: str, many: int, bound: int) -> bool:
    return many <= bound if name == "drift that is not there" else many >= bound


def main() -> int:
    seeds, began = int(sys.argv[1]) if len(sys.argv) > 1 else 200, time.monotonic()
    told = prove(seeds)
    for name, (many, bound, what) in told.items():
        print(f"{name:<28} {many:>4} of {seeds}  {'holds' if holds(name, many, bound) else 'FAILS'}  ({what})")
    print(f"{same_as_in_runs()} findings of whole runs of 5 seeds are the same")
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if all(holds(name, many, bound) for name, (many, bound, _) in told.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
