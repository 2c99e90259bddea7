"""Do the intervals of the calibration figures keep their promise, on judges whose errors are known?

    python benchmarks/calibration_proof.py [SEEDS]

A seed is a study: 40 tasks with 3 attempts each that a person labelled, 20 more that nobody did, and two simulated judges, one
lenient and one strict. Each has everything at once: a miss rate that depends on a planted defect's size, false alarms, leniency,
drift from attempt to attempt, noise, differences between tasks, and errors that are alike within steps; the person's labels are
wrong at a known rate. Verdicts come from the practice model itself, by the very calls that a run makes (`same_as_in_runs` shows
that on whole runs), and figures from what `%pge calibrate`, `%pge drift`, `%pge exam` and `%pge improve` compute.

What is so is known in three ways. Rates of single checks, score errors, noise, drift and catch rate follow exactly from the
parameters, attempt by attempt (`exact`); what a whole gate does comes from `SIMULATED` steps drawn by the same law in numpy
(`simulated`), with a standard error that is printed; the share of good work among what nobody labelled is counted.

Of 200 seeds each interval must hold the truth in at least 182; without drift at most 18 may report it; of examples that teach
nothing at least 190 trials must find nothing.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from pge_nb import HarnessConfig, PGEHarness, bank, calibration, open_run
from pge_nb.agents.raters import judge
from pge_nb.calibration.estimate import CalibrationWarning
from pge_nb.models import About, Flaw, Request
from pge_nb.models.practice import Practice, PracticeSettings
from pge_nb.records import attempt_hash
from pge_nb.studies.by_attempt import ALL, Attempts
from pge_nb.studies.improving import PRIMARY, compared_of
from pge_nb.studies.measuring import LEVEL, escalation_of, noise_of, paired, passing_of, rates_of
from pge_nb.studies.replaying import asked_of, regrade
from pge_nb.studies.study import open_study
from pge_nb.study_records import ALONE

TASKS = [f"generated:steps=1,seed={seed}" for seed in range(1, 61)]
LABELLED = 40
RATES = ("agreement", "tpr", "tnr", "false_pass", "bad_given_accepted", "leniency")
CHECKS, CRITERIA = ("c1", "c2", "c3"), ("correctness", "clarity", "robustness")
COMMON = "miss=0.2,false_alarm=0.05,noise=0.5,by_size=0.4,by_task=0.15,rho=0.15"
JUDGES: Mapping[str, str] = {
    "lenient": f"practice:{COMMON},leniency=0.5,drift=0.2",
    "strict": f"practice:{COMMON},leniency=-1.0,drift=0.2",
}
STEADY = f"practice:{COMMON},leniency=-1.0"
USELESS = f"{JUDGES['lenient']},taught=0.0"
WRONG_LABELS = 0.05
DEFECTIVE = 0.3
"""The probability of each defect of an attempt."""
ATTEMPTS, REPEATS, RETRIES = 3, 3, 3
MARGIN = 1.0
"""What scores within this of 7 goes to a person."""
SIMULATED = 10_000
EXAMPLES = "Judge.\n\n" + "\n\n".join(f"Example {n}. Asked: is it so?\n    x\nJudged: fail." for n in (1, 2, 3))
NO_DRIFT, NOTHING = "drift that is not there", "examples that teach nothing"

Findings = dict[str, dict[str, Any]]
Floats = NDArray[np.float64]


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


def findings(asked: Request) -> Findings:
    """What the judge says, by check and criterion."""
    text = Practice(asked.model).reply(asked).text
    return {one["on"]: one for one in json.loads(text.split("```json\n")[1].split("\n```")[0])["findings"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An attempt of a study, what is so about it, and what the person says of it and of each of its checks."""

    task: str
    attempt: int
    texts: dict[str, str]
    met: tuple[bool, ...]
    quality: tuple[float, ...]
    labels: tuple[bool, ...]
    label: bool

    @property
    def good(self) -> bool:
        return is_good(self.met, self.quality)


def is_good(met: tuple[bool, ...], quality: tuple[float, ...]) -> bool:
    return all(met) and min(quality) >= 7.0


def attempts_of(seed: int) -> Iterator[Made]:
    """The attempts of a study: each defect is there with probability `DEFECTIVE`, each label wrong with `WRONG_LABELS`."""
    chance = random.Random(seed)
    for task in TASKS:
        step = bank.practice_task(task).steps[0]
        for attempt in range(1, ATTEMPTS + 1):
            texts = dict(bank.render(step, [one for one in step.defects if chance.random() < DEFECTIVE]))
            met, quality = what_is_so(task, texts)
            said = [good != (chance.random() < WRONG_LABELS) for good in (*met, is_good(met, quality))]
            labels, label = tuple(said[:-1]), said[-1]
            yield Made(task=task, attempt=attempt, texts=texts, met=met, quality=quality, labels=labels, label=label)


def what_is_so(task: str, texts: dict[str, str]) -> tuple[tuple[bool, ...], tuple[float, ...]]:
    """Which checks files meet, and how good they are by each criterion."""
    known = bank.truth(task, attempt_hash(bank.files(texts)))
    assert known is not None
    return tuple(known.met.get(on, not known.defects) for on in CHECKS), tuple(known.quality[on] for on in CRITERIA)


# What a judge says


def overall(found: Findings) -> float:
    return sum(float(found[name]["score"]) for name in CRITERIA) / len(CRITERIA)


def passes(found: Findings) -> bool:
    return all(found[on]["verdict"] == "pass" for on in CHECKS) and all(found[on]["score"] >= 7.0 for on in CRITERIA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Studied:
    """A judge (a model name), a study's attempts, and its findings on each; of first attempts also its repeats and later looks.

    ``again``: task -> (after which attempt, overall score), all of the first attempt.
    """

    judge: str
    made: tuple[Made, ...]
    found: tuple[Findings, ...]
    again: Mapping[str, tuple[tuple[int, float], ...]]

    @property
    def settings(self) -> PracticeSettings:
        return PracticeSettings.parse(self.judge)

    @property
    def labelled(self) -> tuple[tuple[Made, Findings], ...]:
        told = set(TASKS[:LABELLED])
        return tuple(pair for pair in zip(self.made, self.found, strict=True) if pair[0].task in told)


def studied(seed: int, model: str) -> Studied:
    name, made, again = f"{model},seed={seed}", tuple(attempts_of(seed)), {}
    found = tuple(findings(request(name, one.task, one.attempt, one.texts)) for one in made)
    for one, first in zip(made, found, strict=True):
        if one.attempt == 1 and one.task in TASKS[:LABELLED]:
            times = [1] * (REPEATS - 1) + list(range(2, RETRIES + 2))
            later = [
                (after, overall(findings(request(name, one.task, after, one.texts, sample=sample))))
                for sample, after in enumerate(times, 1)
            ]
            again[one.task] = ((1, overall(first)), *later)
    return Studied(judge=name, made=made, found=found, again=again)


# What is so


def passing(settings: PracticeSettings, attempt: int, good: bool) -> float:
    """The probability that a check passes."""
    return 1 - settings.alarm_rate(attempt) if good else settings.miss_rate(attempt)


def shared_deviation(settings: PracticeSettings) -> float:
    """Standard deviation of what the scores of a task and step have in common, in points."""
    shares = (settings.by_task, settings.rho)
    return settings.noise * math.sqrt(sum(share / (1 - share) for share in shares))


def clipped(mean: float, deviation: float) -> float:
    """Mean of a normal score that is cut to 0..10."""
    low, high = (0.0 - mean) / deviation, (10.0 - mean) / deviation
    inside = float(stats.norm.cdf(high) - stats.norm.cdf(low))
    bent = float(stats.norm.pdf(low) - stats.norm.pdf(high))
    return mean * inside + deviation * bent + 10.0 * float(stats.norm.sf(high))


@functools.cache
def expected_score(settings: PracticeSettings, quality: float, attempt: int) -> float:
    """Mean score over the judge's luck."""
    spread = math.hypot(settings.noise, shared_deviation(settings))
    return clipped(quality + settings.shift(attempt), spread)


@functools.cache
def repeat_variance(settings: PracticeSettings, quality: float) -> float:
    """Variance of repeated scores of a first attempt, over what its task and step have in common (Gauss-Hermite)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    fine = np.linspace(-8, 8, 2001)
    mass = stats.norm.pdf(fine) / stats.norm.pdf(fine).sum()
    total = 0.0
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        mean = quality + settings.shift() + shared_deviation(settings) * node
        scores = np.round(np.clip(mean + settings.noise * fine, 0.0, 10.0), 1)
        total += float(weight) * float(mass @ scores**2 - (mass @ scores) ** 2)
    return total


def exact(of: Studied) -> dict[str, float]:
    """Figure -> what it is, given the attempts, over the judge's and the person's luck."""
    settings, wrong = of.settings, WRONG_LABELS
    passed = said_good = good_passed = n = 0.0
    gaps = []
    for one, _ in of.labelled:
        for met in one.met:
            pass_, label = passing(settings, one.attempt, met), 1 - wrong if met else wrong
            passed, said_good, good_passed, n = passed + pass_, said_good + label, good_passed + pass_ * label, n + 1
        gaps += [expected_score(settings, quality, one.attempt) - quality for quality in one.quality]
    firsts = [one for one, _ in of.labelled if one.attempt == 1]
    variances = [sum(repeat_variance(settings, q) for q in one.quality) / len(CRITERIA) ** 2 for one in firsts]
    return {
        "false_pass": (passed - good_passed) / (n - said_good),
        "tnr": 1 - (passed - good_passed) / (n - said_good),
        "tpr": good_passed / said_good,
        "bad_given_accepted": (passed - good_passed) / passed,
        "leniency": (passed - said_good) / n,
        "agreement": (2 * good_passed + n - passed - said_good) / n,
        "score error": sum(gaps) / len(gaps),
        "noise": math.sqrt(sum(variances) / len(variances)),
        "drift": slope_of(settings, firsts),
    }


def slope_of(settings: PracticeSettings, firsts: list[Made]) -> float:
    """What the slope of the mean scores is, at the times at which first attempts are graded."""
    times = np.array([1] * REPEATS + list(range(2, RETRIES + 2)), dtype=float)
    means = [
        sum(expected_score(settings, quality, int(at)) for one in firsts for quality in one.quality) for at in times
    ]
    return float(np.polyfit(times, np.array(means) / len(firsts) / len(CRITERIA), 1)[0])


@functools.cache
def possible(task: str) -> tuple[tuple[float, tuple[bool, ...], tuple[float, ...]], ...]:
    """What an attempt can be: probability, checks that it meets, quality."""
    step = bank.practice_task(task).steps[0]
    return tuple(
        (
            DEFECTIVE ** len(there) * (1 - DEFECTIVE) ** (len(step.defects) - len(there)),
            *what_is_so(task, dict(bank.render(step, list(there)))),
        )
        for many in range(len(step.defects) + 1)
        for there in itertools.combinations(step.defects, many)
    )


def alike(rate: float, shares: tuple[float, float], streams: tuple[int, int]) -> float:
    """A rate in one task and step, as `Draws.alike` has it: the same luck whatever the attempt."""
    for share, stream in zip(shares, streams, strict=True):
        if 0.0 < rate < 1.0:
            spread = (1.0 - share) / share
            rate = random.Random(stream).betavariate(rate * spread, (1.0 - rate) * spread)
    return rate


@functools.cache
def simulated(model: str, steps: int = SIMULATED) -> dict[str, tuple[float, float]]:
    """Figure of the whole gate -> what it is, and the standard error of that, from steps drawn by the judge's law."""
    settings, rng = PracticeSettings.parse(model), np.random.default_rng(8)
    shares = (settings.by_task, settings.rho)
    kinds = possible(TASKS[0])
    assert all(sorted(possible(task)) == sorted(kinds) for task in TASKS[:LABELLED]), "tasks differ in what they can be"
    drawn = rng.choice(len(kinds), size=(steps, ATTEMPTS), p=[kind[0] for kind in kinds])
    met = np.array([kind[1] for kind in kinds])[drawn]
    quality = np.array([kind[2] for kind in kinds])[drawn]
    rates = np.empty((2, steps, ATTEMPTS))
    for kind, rate_of in enumerate((settings.alarm_rate, settings.miss_rate)):
        for step in range(steps):
            streams = (4 * step + 2 * kind, 4 * step + 2 * kind + 1)
            rates[kind, step] = [alike(rate_of(at), shares, streams) for at in range(1, ATTEMPTS + 1)]
    pass_check = np.where(met, 1 - rates[0][:, :, None], rates[1][:, :, None])
    checks = rng.random(met.shape) < pass_check
    shift = np.array([settings.shift(at) for at in range(1, ATTEMPTS + 1)])[None, :, None]
    common = rng.normal(0.0, shared_deviation(settings), (steps, 1, len(CRITERIA)))
    noise = rng.normal(0.0, settings.noise, quality.shape)
    scores = np.round(np.clip(quality + shift + common + noise, 0.0, 10.0), 1)
    passed = checks.all(axis=2) & (scores >= 7.0).all(axis=2)
    good = met.all(axis=2) & (quality >= 7.0).all(axis=2)
    label = good != (rng.random(good.shape) < WRONG_LABELS)
    return gate_figures(passed, label, scores.mean(axis=2), (scores - quality).mean(axis=2))


def gate_figures(passed: Any, label: Any, score: Floats, too_high: Floats) -> dict[str, tuple[float, float]]:
    """The figures of steps x attempts, each with the standard error of a ratio of sums over steps (linearised)."""
    told: dict[str, tuple[float, float]] = {}

    def ratio(name: str, top: Any, bottom: Any) -> None:
        above, below = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
        above, below = (some.reshape(len(passed), -1).sum(axis=1) for some in (above, below))
        value = float(above.sum() / below.sum())
        told[name] = (value, float(np.std(above - value * below) / below.mean() / math.sqrt(len(passed))))

    every = np.ones_like(passed)
    ratio("gate false_pass", passed & ~label, ~label)
    ratio("gate tnr", ~passed & ~label, ~label)
    ratio("gate tpr", passed & label, label)
    ratio("gate bad_given_accepted", passed & ~label, passed)
    ratio("gate leniency", passed.astype(float) - label, every)
    ratio("gate agreement", passed == label, every)
    far = np.abs(score - 7.0).round(2) >= MARGIN
    ratio("risk past the margin", far & (passed != label), far)
    ratio("coverage past the margin", far, every)
    first = passed & (np.cumsum(passed, axis=1) == 1)
    ratio("accepted", first.any(axis=1), every[:, 0])
    ratio("bad accepted", (first & ~label).any(axis=1), every[:, 0])
    best = np.take_along_axis(too_high, score.argmax(axis=1)[:, None], axis=1)
    ratio("best of 3 too high", best[:, 0], every[:, 0])
    for name, kind in (("rho of good", label), ("rho of bad", ~label)):
        mean = float((passed & kind).sum() / kind.sum())
        apart = np.where(kind, passed - mean, 0.0)
        pairs = kind.sum(axis=1) * (kind.sum(axis=1) - 1) / 2
        ratio(name, (apart.sum(axis=1) ** 2 - (apart**2).sum(axis=1)) / 2 / (mean * (1 - mean)), pairs)
    return told


# What the package tells

Ends = tuple[float, float]


def ends_of(low: float | None, high: float | None) -> Ends:
    """An interval; without one NaN, which holds nothing: what was not measured does not count as right."""
    return (math.nan if low is None else low, math.nan if high is None else high)


COLUMNS = (
    *("run", "task", "step", "step_kind", "attempt", "item", "on", "about", "kind", "rater", "who", "label"),
    *("score", "threshold", "repeat", "purpose", "by", "verdict_shown", "weight"),
)
WHO = {"j": "judge", "ann": "person", "oracle": "oracle"}


def row(  # a row's columns, in their order
    one: Made, on: str, about: str, rater: str, label: str, score: float | None = None, repeat: int = 1
) -> tuple[Any, ...]:
    """A row of `studies.ratings`."""
    purpose = "regrade" if rater == "j" else "label"
    by = "judge" if rater == "j" and about != "attempt" else "gate"
    item = f"{one.task}/{one.attempt}/{on}"
    at = (one.task, one.task, 1, "code", one.attempt, item, on, about, about)
    return (*at, rater, WHO[rater], label, score, 7.0, repeat, purpose, by, False, 1.0)


def word(good: bool) -> str:
    return "pass" if good else "fail"


def told_of_checks(of: Studied) -> dict[str, Ends]:
    """Figures of single checks against the person's labels, and of scores against the true ones."""
    checks, scores = [], []
    for one, found in of.labelled:
        for on, label in zip(CHECKS, one.labels, strict=True):
            checks.append(row(one, on, "check", "j", found[on]["verdict"]))
            checks.append(row(one, on, "check", "ann", word(label)))
        for on, quality in zip(CRITERIA, one.quality, strict=True):
            scores.append(row(one, on, "criterion", "j", "pass", float(found[on]["score"])))
            scores.append(row(one, on, "criterion", "oracle", "pass", quality))
    pairs = paired(pd.DataFrame(checks, columns=list(COLUMNS)), "j", "people")
    told = {one.figure: one for one in rates_of("judge", "all", pairs, LEVEL) if one.figure in RATES}
    pairs = paired(pd.DataFrame(scores, columns=list(COLUMNS)), "j", "oracle")
    (told["score error"],) = (one for one in rates_of("judge", "all", pairs, LEVEL) if one.figure == "signed_error")
    return {name: ends_of(one.low, one.high) for name, one in told.items()}


def told_of_gate(of: Studied) -> dict[str, Ends]:
    """Figures of the gate against the person's labels, those of unlabelled work, of repeats, and of close work."""
    rows, labelled = [], set(TASKS[:LABELLED])
    for one, found in zip(of.made, of.found, strict=True):
        rows.append(row(one, "*", "attempt", "j", word(passes(found)), overall(found)))
        if one.task in labelled:
            rows.append(row(one, "*", "attempt", "ann", word(one.label)))
        if one.attempt == 1:
            repeated = [score for after, score in of.again.get(one.task, ()) if after == 1][1:]
            rows += [row(one, "*", "attempt", "j", "fail", score, n) for n, score in enumerate(repeated, 2)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    pairs = paired(frame, "j", "people")
    known = pairs[pairs["truth"].notna()]
    told = {f"gate {one.figure}": one for one in rates_of("gate", "all", known, LEVEL) if one.figure in RATES}
    told |= {"noise": next(noise_of(frame, "j", LEVEL)), "corrected pass rate": passing_of(pairs, LEVEL)}
    left = next(point for point in escalation_of(known, LEVEL) if point[0] >= MARGIN)
    return {name: ends_of(one.low, one.high) for name, one in told.items()} | {"risk past the margin": left[3:5]}


def told_by_attempt(of: Studied) -> dict[str, Ends]:
    """What retries let through, counted and predicted, how alike verdicts are, and what choosing the best does."""
    rows = []
    for one, found in of.labelled:
        too_high = [float(found[on]["score"]) - true for on, true in zip(CRITERIA, one.quality, strict=True)]
        at = (one.task, one.task, 1, one.attempt, ALL, word(passes(found)), overall(found), word(one.label))
        rows.append((*at, sum(too_high) / len(too_high)))
    tried = Attempts(rows=tuple(rows), level=0.95)
    best = tried.best_of().set_index("n").loc[ATTEMPTS]
    told = {"best of 3 too high": (best["low"], best["high"])}
    retried = tried.retried()
    for figure, name in (("accepted", "accepted"), ("bad_accepted", "bad accepted")):
        last = retried[(retried["figure"] == figure) & (retried["retries"] == ATTEMPTS - 1)].iloc[0]
        told[name] = (last["low"], last["high"])
        told[f"{name}, predicted"] = (last["predicted_low"], last["predicted_high"])
    for name, truth in (("rho of good", "pass"), ("rho of bad", "fail")):
        alike_ = tried.alike(truth)  # type: ignore[arg-type]  # the two words
        told[name] = (alike_.low, alike_.high)
    return told


def drifted(of: Mapping[str, tuple[tuple[int, float], ...]]) -> Ends:
    """Interval of the slope of first attempts' scores, graded again after each retry."""
    steps = [task for task, times in of.items() for _ in times]
    at, values = zip(*(pair for times in of.values() for pair in times), strict=True)
    found = calibration.within_slope(values, at, steps, groups=steps)
    return found.low, found.high


def steady(seed: int) -> Ends:
    """The same of a judge that does not drift."""
    again = {}
    for one in attempts_of(seed):
        if one.attempt == 1 and one.task in TASKS[:LABELLED]:
            times = [1] * REPEATS + list(range(2, RETRIES + 2))
            name = f"{STEADY},seed={seed}"
            asked = (request(name, one.task, after, one.texts, sample=sample) for sample, after in enumerate(times))
            again[one.task] = tuple((after, overall(findings(call))) for after, call in zip(times, asked, strict=True))
    return drifted(again)


def examined(seed: int, model: str) -> tuple[float, float, float]:
    """Low, high and truth of the catch rate of planted defects, three copies of each clean artifact."""
    chance, name = random.Random(seed), f"{model},seed={seed}"
    settings = PracticeSettings.parse(name)
    passed, sources, caught = [], [], []
    for task in TASKS[:LABELLED]:
        texts = dict(bank.render(bank.practice_task(task).steps[0], ()))
        for copy in range(3):
            flaw = Flaw(planted=True, breaks=("c1",), size=chance.choice(("slight", "partial", "gross")))
            asked = request(name, task, copy + 1, texts, flaw=flaw)
            passed.append(findings(asked)["c1"]["verdict"] == "pass")
            sources.append(task)
            caught.append(1 - settings.miss_of(flaw.size) * (1 - settings.alarm_rate()))
    found = calibration.verdict_rates([False] * len(passed), passed, groups=sources).tnr
    return found.low, found.high, sum(caught) / len(caught)


def judged(seed: int, model: str) -> dict[str, tuple[float, float, float]]:
    """Figure -> low, high, truth, of one judge in one study."""
    of = studied(seed, model)
    told = told_of_checks(of) | told_of_gate(of) | told_by_attempt(of) | {"drift": drifted(of.again)}
    rest = [one for one in of.made if one.task in TASKS[LABELLED:]]
    share = sum(one.good for one in rest) / len(rest)
    truths = exact(of) | {name: value for name, (value, _) in simulated(model).items()}
    truths |= {f"{name}, predicted": truths[name] for name in ("accepted", "bad accepted")}
    # What the person would say of them, wrong now and then, is what is estimated.
    truths["corrected pass rate"] = share * (1 - WRONG_LABELS) + (1 - share) * WRONG_LABELS
    return {name: (*ends, truths[name]) for name, ends in told.items()} | {"exam catch rate": examined(seed, model)}


def taught(seed: int, tasks: int = 12) -> str:
    """What a trial on a sealed test part finds of examples that teach nothing."""
    name = f"{USELESS},seed={seed}"
    rows = []
    for one in attempts_of(seed):
        if one.task not in TASKS[:tasks]:
            continue
        old = findings(request(name, one.task, one.attempt, one.texts))
        new = findings(request(name, one.task, one.attempt, one.texts, system=EXAMPLES))
        for on, label in zip(CHECKS, one.labels, strict=True):
            verdicts = (old[on]["verdict"], new[on]["verdict"])
            rows.append((f"{one.task}/{one.attempt}/{on}", one.task, "check", "judge", word(label), *verdicts, "judge"))
    pairs = pd.DataFrame(rows, columns=["item", "task", "about", "by_old", "truth", "old", "new", "by_new"])
    compared, _ = compared_of(pairs, 0.975)
    found = compared[PRIMARY]
    return "nothing" if found.p_value >= 0.025 else "better" if found.difference.value > 0 else "worse"


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
            rater = judge(f"{JUDGES['strict']},seed={seed}", mode=ALONE)
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


def prove(seeds: int, first: int = 0) -> dict[str, tuple[int, int, str]]:
    """Figure -> seeds in which it held, the least (or most) that may, and what was counted."""
    held: dict[str, int] = {}
    false_drift = nothing = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        for seed in range(first, first + seeds):
            for kind, model in JUDGES.items():
                for figure, (low, high, truth) in judged(seed, model).items():
                    name = f"{kind}: {figure}"
                    held[name] = held.get(name, 0) + (low <= truth <= high)
            low, high = steady(seed)
            false_drift += not low <= 0 <= high
            nothing += taught(seed) == "nothing"
    least = math.ceil(0.91 * seeds)
    told = {name: (many, least, f"intervals that hold the truth, at least {least}") for name, many in held.items()}
    most, none = math.floor(0.09 * seeds), math.ceil(0.95 * seeds)
    told[NO_DRIFT] = (false_drift, most, f"seeds that report it, at most {most}")
    told[NOTHING] = (nothing, none, f"trials that find nothing, at least {none}")
    return told


def holds(name: str, many: int, bound: int) -> bool:
    return many <= bound if name == NO_DRIFT else many >= bound


def main() -> int:
    seeds, began = int(sys.argv[1]) if len(sys.argv) > 1 else 200, time.monotonic()
    told = prove(seeds)
    for name, (many, bound, what) in told.items():
        print(f"{name:<38} {many:>4} of {seeds}  {'holds' if holds(name, many, bound) else 'FAILS'}  ({what})")
    for kind, model in JUDGES.items():
        known = ", ".join(f"{name} {value:.3f} ({error:.4f})" for name, (value, error) in simulated(model).items())
        print(f"Simulated with its standard error, {kind}: {known}.")
    print(f"{same_as_in_runs()} findings of whole runs of 5 seeds are the same")
    print(f"{time.monotonic() - began:.0f} s")
    return 0 if all(holds(name, many, bound) for name, (many, bound, _) in told.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
