"""The practice model: a simulated planner, generator and evaluator over the bank, with errors at rates that the user sets.

It answers in the same JSON and fences as any model. Its files are real; how often its generator errs and how far its evaluator
can be trusted are numbers, so what the harness measures can be held against what is so.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import random
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .. import bank
from ..bank import Defect, PracticeStep, PracticeTask, Truth
from ..bank.whole import whole_step, whole_truth
from ..errors import BadInput, ModelFailed
from ..payloads import Json, compact
from ..records import Usage
from . import About, CallStopped, Flaw, Listen, Reply, Request, Stop, text_reply

NEW_DEFECT = 0.1
"""A refine brings in one new defect with this probability times (1 - skill)."""
CHANCE_REPAIR = 0.1
"""A refine repairs a defect that nothing reported with this probability."""
LENIENCY_MISS = 0.1
"""Each point of leniency adds this to the miss rate; each point of severity to the false alarms."""
PLANTED_COST: Mapping[str, float] = {"": 4.0, "slight": 4.0, "partial": 5.0, "gross": 6.0}
"""Points that a planted defect of this size takes off every criterion where the evaluator sees it."""
UNKNOWN_QUALITY = 2.0
"""The quality of an attempt that the bank cannot have made; all its checks count as unmet."""

RANGES: Mapping[str, tuple[float, float]] = {
    "skill": (0.0, 1.0),
    "miss": (0.0, 1.0),
    "false_alarm": (0.0, 1.0),
    "leniency": (-10.0, 10.0),
    "noise": (0.0, 5.0),
    "drift": (-5.0, 5.0),
    "seed": (0, 2**53),
    "delay": (0.0, 60.0),
    "by_size": (0.0, 1.0),
    "by_task": (0.0, 0.9),
    "rho": (0.0, 0.9),
    "taught": (0.0, 1.0),
    "vain": (-10.0, 10.0),
}
EXAMPLE = re.compile(r"^Example \d+\. Asked: ", re.MULTILINE)
"""How a few-shot example begins in what an evaluator is told."""
SHORTEST_DELAY = 0.1
"""Of ``delay``: what the shortest call takes."""
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class PracticeSettings:
    """How good the simulated generator and evaluator are.

    ``skill``: a first attempt has each defect with probability 1 - skill. ``miss``: the evaluator passes a bad check.
    ``false_alarm``: it fails a good one. ``leniency``: points added to every score (and it raises ``miss``). ``noise``: the
    standard deviation of its scores. ``drift``: points that every further attempt adds; they raise ``miss`` as those of leniency
    do. ``delay``: the seconds that a call takes at most; each its own, from a tenth of it on. ``by_size``: in an exam a slight
    defect is missed so much more often than a partial one, a gross one so much less: 0.5 makes it 1.5 and 0.5 times ``miss``.
    ``by_task`` and ``rho``: how alike its errors are within a task and, beyond that, within a step, as intraclass correlations;
    over all tasks the rates stay what they are. ``taught``: each few-shot example takes this share off ``miss`` and
    ``false_alarm``. ``vain``: points that are added, as those of leniency are, where it judges in the author's own turns.
    """

    skill: float = 0.6
    miss: float = 0.1
    false_alarm: float = 0.05
    leniency: float = 0.0
    noise: float = 0.5
    drift: float = 0.0
    seed: int = 0
    delay: float = 0.0
    by_size: float = 0.5
    by_task: float = 0.0
    rho: float = 0.0
    taught: float = 0.0
    vain: float = 0.0

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise BadInput(
                    f"The practice setting {name} is {getattr(self, name)}.", f"It may be {low:g} to {high:g}."
                )

    @property
    def model_name(self) -> str:
        """``practice``, and behind a colon the settings that differ from the defaults, in their order."""
        return ":".join(filter(None, ["practice", self._told(RANGES)]))

    def for_role(self, role: str) -> str:
        """The settings that this role's draws depend on: a more lenient evaluator meets the same generator."""
        others = [name for name in RANGES if name not in {"skill", "delay"}]
        return self._told(("skill", "seed") if role == "generator" else others)

    def shift(self, attempt: int = 1) -> float:
        """The points that are added to every score of an attempt: leniency, and what it has drifted."""
        return self.leniency + self.drift * (attempt - 1)

    def in_turns(self, messages: int) -> PracticeSettings:
        """The settings of a judge that is sent so many messages: more than one are the turns in which the work was made."""
        return dataclasses.replace(self, leniency=self.leniency + self.vain, vain=0.0) if messages > 1 else self

    def miss_rate(self, attempt: int = 1, examples: int = 0) -> float:
        """The probability that a bad check passes, leniency and drift included."""
        rate = self.miss * (1.0 - self.taught) ** examples
        return min(1.0, rate + LENIENCY_MISS * max(0.0, self.shift(attempt)))

    def miss_of(self, size: str, examples: int = 0) -> float:
        """The probability that a planted defect of this size is missed; one that no input shows counts as slight."""
        factor = {"partial": 1.0, "gross": 1.0 - self.by_size}.get(size, 1.0 + self.by_size)
        return min(1.0, self.miss_rate(examples=examples) * factor)

    def alarm_rate(self, attempt: int = 1, examples: int = 0) -> float:
        """The probability that a good check fails, severity (points below 0) included."""
        rate = self.false_alarm * (1.0 - self.taught) ** examples
        return min(1.0, rate + LENIENCY_MISS * max(0.0, -self.shift(attempt)))

    def _told(self, names: Iterable[str]) -> str:
        own = {field.name: field for field in dataclasses.fields(self)}
        told = ((name, getattr(self, name)) for name in names if getattr(self, name) != own[name].default)
        return ",".join(f"{name}={int(value) if name == 'seed' else float(value)!r}" for name, value in told)

    @classmethod
    def parse(cls, name: str) -> PracticeSettings:
        """The settings in a model name such as ``practice:skill=0.8,seed=3``."""
        head, _, rest = name.partition(":")
        if head != "practice":
            raise BadInput(f"{name!r} is not a practice model.", "Write practice:skill=0.8,seed=3, say.")
        given: dict[str, float] = {}
        for part in rest.split(",") if rest else ():
            key, _, value = part.partition("=")
            if key not in RANGES or key in given:
                raise BadInput(f"{part!r} is not a practice setting, or is there twice.", f"Use {', '.join(RANGES)}.")
            given[key] = _number(key, value)
        return cls(**given)  # type: ignore[arg-type]


def _number(key: str, value: str) -> float:
    try:
        return int(value) if key == "seed" else float(value)
    except ValueError:
        raise BadInput(f"The practice setting {key} is {value!r}, not a number.", f"Write {key}=1, say.") from None


def judge_of(name: str) -> str:
    """The simulated evaluator of a model name without its luck and the generator's skill: the same judge has the same one."""
    usual = PracticeSettings()
    return dataclasses.replace(PracticeSettings.parse(name), skill=usual.skill, seed=usual.seed).model_name


WORDS = ((8.5, "Very good."), (7.0, "Sound."), (5.0, "Some weak spots."), (0.0, "Real faults."))
"""Least score -> what the evaluator says beside it; nothing that a threshold could contradict."""


class Practice:
    """The practice model of one name. A reply depends on the settings, the task and the call's address and about alone."""

    def __init__(self, name: str = "practice") -> None:
        self.settings = PracticeSettings.parse(name)

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        """Answer, at once or after a delay. ``ModelFailed`` where the prompt is not one of the bank's."""
        text = self._text(request)
        seconds = self._wait(request, stop)
        stop_reason, whole = "end_turn", text.encode()
        if len(whole) > request.max_tokens * 4:
            stop_reason, text = "max_tokens", whole[: request.max_tokens * 4].decode(errors="ignore")
        if listen is not None:
            listen(text)
        usage = Usage(input_tokens=request.input_bytes // 4, output_tokens=len(text.encode()) // 4)
        return text_reply(text, stop_reason=stop_reason, usage=usage, source="practice", dollars=0.0, seconds=seconds)

    def _wait(self, request: Request, stop: Stop | None) -> float:
        """Take as long as this call takes; the seconds. ``CallStopped`` where ``stop`` ends it."""
        if not self.settings.delay:
            return 0.0
        draw = Draws(request.about.task or "", request, self.settings).of("delay")
        seconds = self.settings.delay * draw.uniform(SHORTEST_DELAY, 1.0)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if stop is not None and stop():
                raise CallStopped("The call was stopped.", "%pge resume asks again.")
            time.sleep(min(POLL_SECONDS, left))
        return seconds

    def _text(self, request: Request) -> str:
        about = request.about
        if about.task is None:
            raise _not_in_bank(request)
        task = bank.practice_task(about.task)
        if about.phase == "plan":
            return fenced(planned(task, about.skills, Draws(task.name, request, self.settings)))
        if about.phase == "second_look":
            return fenced({"vague": []})
        step = whole_step(task.name) if about.whole else bank.practice_step(task, about.step or 0, about.part)
        if about.phase == "replan":
            return replan(task, step, about, Draws(task.name, request, self.settings))
        if about.phase == "propose":
            return propose(step, about.round or 1)
        if about.phase == "respond":
            return respond(step, about.round or 1)
        draws = Draws(task.name, request, self.settings)
        if about.phase == "generate":
            return generate(task, step, about, self.settings.skill, draws)
        if about.phase == "evaluate":
            return evaluate(task, step, about, self.settings.in_turns(len(request.messages)), draws)
        raise ModelFailed(f"The practice model has no answer to {about.phase!r}.", "Use another model: `%pge model`.")


def _not_in_bank(request: Request) -> ModelFailed:
    task = bank.nearest(" ".join(_said(message.get("content")) for message in request.messages))
    return ModelFailed(
        "The practice model knows the tasks of its bank alone, and this prompt is not one of them.",
        f"Nearest: `%pge run --practice {task.name}` ({task.title}). For a prompt of your own set a key: `%pge key`.",
    )


def _said(content: Json) -> str:
    if isinstance(content, list):
        return " ".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return str(content)


@dataclass(frozen=True, slots=True)
class Draws:
    """Chance, as a function of task, address, sample and settings: the same call meets the same luck in any process."""

    task: str
    request: Request
    settings: PracticeSettings

    def of(self, what: str) -> random.Random:
        """A stream for one thing to be decided, whatever else is decided beside it."""
        about = self.request.about
        told: list[Json] = [self.task, about.address, self.request.sample, self.settings.for_role(about.role), what]
        # Who is told other examples has luck of its own, also where they teach nothing.
        return _stream([*told, self.examples] if self.examples else told)

    @property
    def examples(self) -> int:
        """How many few-shot examples the call is told."""
        return len(EXAMPLE.findall(self.request.system))

    def alike(self, rate: float, what: str) -> float:
        """A rate as it is in this task and step: drawn about ``rate``, once for all calls there, as alike as the settings say."""
        if not 0.0 < rate < 1.0:
            return rate
        for place, share in self._shared(what):
            if share and 0.0 < rate < 1.0:
                spread = (1.0 - share) / share
                rate = _stream(place).betavariate(rate * spread, (1.0 - rate) * spread)
        return rate

    def common(self, what: str) -> float:
        """The points that this task and step have in common on a criterion, beside the noise of each score."""
        return sum(
            _stream(place).gauss(0.0, self.settings.noise * math.sqrt(share / (1.0 - share)))
            for place, share in self._shared(what)
            if share
        )

    def _shared(self, what: str) -> tuple[tuple[list[Json], float], tuple[list[Json], float]]:
        about, settings = self.request.about, self.settings
        told: list[Json] = [self.task, settings.for_role(about.role), what]
        return (told, settings.by_task), ([*told, about.step, about.part], settings.rho)


def _stream(told: list[Json]) -> random.Random:
    return random.Random(hashlib.sha256(compact(told).encode()).digest())  # noqa: S311 - a simulation


def fenced(value: Json, language: str = "json") -> str:
    """JSON in a fence, as models like to give it."""
    return f"```{language}\n{json.dumps(value, ensure_ascii=False, indent=2)}\n```\n"


def planned(task: PracticeTask, skills: tuple[str, ...], draws: Draws) -> dict[str, Any]:
    """The task's plan; where there are skills to pick among, each step has its own, if it is among them, else one by chance."""
    plan, steps = dict(task.plan), task.plan["steps"]
    if skills and isinstance(steps, list):
        chance = draws.of("skills")
        named = [
            {**step, "skill_type": chance.choice(skills)} if step.get("skill_type") not in skills else step
            for step in steps
        ]
        return {**plan, "steps": named}
    return plan


def replan(task: PracticeTask, step: PracticeStep, about: About, draws: Draws) -> str:
    """The planner's cut of a step: in two where the bank knows two, with the step's own skill; else it says that it cannot."""
    smaller = bank.pieces(task, step)
    if not smaller:
        why = f"The bank knows nothing smaller than this: {' and '.join(step.deliverables)} hangs together."
        return fenced({"reason": why, "steps": []})
    whole = planned(task, about.skills, draws)["steps"][step.number - 1]
    listed: list[Json] = [
        {
            "description": piece.description,
            "skill_type": whole["skill_type"],
            "task_type": whole["task_type"],
            "depends_on": list(range(1, place)),
            "success": [check["says"] for check in piece.step.checks],
        }
        for place, piece in enumerate(smaller, 1)
    ]
    why = f"{smaller[0].description} can be made and tried out before {smaller[1].description}."
    return fenced({"reason": f"{why[0].upper()}{why[1:]}", "steps": listed})


def propose(step: PracticeStep, turn: int) -> str:
    """The generator's contract: its own checks first, then what the evaluator demanded."""
    wanted = range(len(step.checks)) if turn > 1 else step.first_checks
    return fenced({"deliverables": list(step.deliverables), "checks": [dict(step.checks[i]) for i in wanted]})


def respond(step: PracticeStep, turn: int) -> str:
    """The evaluator's answer: it demands what the first proposal lacks, and agrees to the whole."""
    if turn > 1 or len(step.first_checks) == len(step.checks):
        return fenced({"agreed": True, "reason": "Every deliverable has a check that can fail, edges among them."})
    whole: dict[str, Json] = {
        "deliverables": list(step.deliverables),
        "checks": [dict(check) for check in step.checks],
    }
    return fenced({"agreed": False, "reason": step.objection, **whole})


def generate(task: PracticeTask, step: PracticeStep, about: About, skill: float, draws: Draws) -> str:
    """The generator's attempt: a work log, then each deliverable in a fence that names its path."""
    base = _known(task, about, about.base_hash)
    if about.approach == "refine" and base is not None and base.step == step.number:
        failed = tuple(base.met) if about.whole == "prompt" else about.failed
        defects = tuple(refined(step, base, failed, skill, draws))
    else:
        defects = tuple(defect for defect in step.defects if draws.of(defect.id).random() >= skill)
    texts = bank.render(step, defects)
    return work_log(step, about) + "".join(deliverable(path, texts[path]) for path in step.deliverables)


def refined(step: PracticeStep, base: Truth, failed: tuple[str, ...], skill: float, draws: Draws) -> Iterator[Defect]:
    """The defects after a refine: what was reported is mostly repaired, the rest mostly stays, one may come in."""
    repair = 1 - (1 - skill) ** 2  # A reported defect is looked at twice.
    absent = [defect for defect in step.defects if defect.id not in base.defects]
    luck = draws.of("new")
    new = luck.choice(absent) if absent and luck.random() < NEW_DEFECT * (1 - skill) else None
    for defect in step.defects:
        if defect.id in base.defects:
            reported = set(failed) & {*defect.breaks, *defect.costs}
            if draws.of(defect.id).random() >= (repair if reported else CHANCE_REPAIR):
                yield defect
        elif defect is new:
            yield defect


def work_log(step: PracticeStep, about: About) -> str:
    """What the generator says that it did; nothing in it tells which defects are there."""
    names = " and ".join(step.deliverables)
    approach = about.approach or "first"
    failed = ", ".join(about.failed) or "nothing in particular"
    why, did = {
        "refine": (
            f"the best attempt so far is close, and the evaluation named what to mend: {failed}",
            f"I went through {names} at the places that these findings name and left the rest as it was.",
        ),
        "pivot": (
            "the last attempts did not get better",
            f"I set the earlier code aside and wrote {names} anew, from the contract's sentences alone.",
        ),
    }.get(
        approach,
        (
            "nothing is there yet",
            f"I wrote {names} along the contract's {len(step.checks)} checks and read it again with empty input in mind.",
        ),
    )
    return f"Approach: {approach}, because {why}.\n\n{did}\n\n"


def deliverable(path: str, text: str) -> str:
    """A file in a fence that is longer than any run of backticks in it."""
    runs = re.findall(r"`{3,}", text)
    fence = "`" * max(3, *(len(run) + 1 for run in runs), 3)
    language = {"py": "python", "md": "markdown"}.get(path.rpartition(".")[2], "text")
    return f"{fence}{language} {path}\n{text}{fence}\n\n"


def evaluate(task: PracticeTask, step: PracticeStep, about: About, settings: PracticeSettings, draws: Draws) -> str:
    """The evaluator's findings. Of an attempt that the bank cannot have made it says so, and fails everything."""
    if about.flaw is not None:
        return fenced({"findings": [*examined(about, about.flaw, settings, draws)]})
    known = _known(task, about, about.attempt_hash)
    if known is None or known.step != step.number:
        return fenced({"findings": [_unknown(on, about) for on in (*about.checks, *about.criteria)]})
    judge = Judge(step=step, known=known, about=about, settings=settings, draws=draws)
    checks: list[Json] = [judge.check(on) for on in about.checks]
    scores: list[Json] = [judge.criterion(on) for on in about.criteria]
    return fenced({"findings": checks + scores})


def examined(about: About, flaw: Flaw, settings: PracticeSettings, draws: Draws) -> list[dict[str, Json]]:
    """The findings on a copy in an exam: the defect is seen or missed whole, at the rate of its size, and seen it costs points.

    A clean copy is failed as often as a sound attempt. Each copy has luck of its own.
    """
    copied = f"{about.attempt_hash} "
    missed = draws.alike(settings.miss_of(flaw.size, draws.examples), "miss")
    alarm = draws.alike(settings.alarm_rate(examples=draws.examples), "alarm")
    seen = flaw.planted and draws.of(f"{copied}seen").random() >= missed
    findings: list[dict[str, Json]] = []
    for on in about.checks:
        fails = (seen and on in flaw.breaks) or (not seen and draws.of(copied + on).random() < alarm)
        says = "This does not hold any more." if fails else "Holds, as the quoted line shows."
        findings.append({"on": on, "verdict": "fail" if fails else "pass", "says": says})
    for on in about.criteria:
        points = PLANTED_COST[flaw.size] if seen else 0.0
        noise = draws.common(on) + draws.of(copied + on).gauss(0.0, settings.noise)
        score = round(min(10.0, max(0.0, bank.SOUND - points + settings.leniency + noise)), 1)
        findings.append({"on": on, "score": score, "says": next(words for least, words in WORDS if score >= least)})
    last = about.evidence[-1].partition(":")[0] if about.evidence else ""  # the artifacts come last
    shown: dict[str, Json] = {"evidence": [last], "quote": ""}
    return [finding | shown for finding in findings]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The simulated evaluator before one attempt: it knows the truth and tells it with errors at the set rates."""

    step: PracticeStep
    known: Truth
    about: About
    settings: PracticeSettings
    draws: Draws

    def check(self, on: str) -> Json:
        """The finding on a check; one that a person added is met by an attempt without defects."""
        says = {f"c{i}": str(check["says"]) for i, check in enumerate(self.step.checks, 1)}.get(on, on)
        alone = self.about.whole == "prompt"  # the only check is the prompt itself
        good = not self.known.defects if alone else self.known.met.get(on, not self.known.defects)
        at = (self.about.attempt or 1, self.draws.examples)
        if good:
            rate = self.draws.alike(self.settings.alarm_rate(*at), "alarm")
        else:
            rate = self.draws.alike(self.settings.miss_rate(*at), "miss")
        passes = good != (self.draws.of(on).random() < rate)
        seen = " ".join(defect.says for defect in self._defects() if on in defect.breaks)
        reason = "Holds, as the quoted line shows." if passes else seen or "I cannot see that this holds."
        return {"on": on, "verdict": "pass" if passes else "fail", **self._cited(says), "says": reason}

    def criterion(self, on: str) -> Json:
        """The score on a criterion; one that the plan did not name is as good as the others are together."""
        quality = self.known.quality.get(on, sum(self.known.quality.values()) / len(self.known.quality))
        shift = self.settings.shift(self.about.attempt or 1) + self.draws.common(on)
        noise = self.draws.of(on).gauss(0.0, self.settings.noise)
        score = round(min(10.0, max(0.0, quality + shift + noise)), 1)
        words = next(words for least, words in WORDS if score >= least)
        return {"on": on, "score": score, **self._cited(on), "says": words}

    def _defects(self) -> list[Defect]:
        return [defect for defect in self.step.defects if defect.id in self.known.defects]

    def _cited(self, says: str) -> dict[str, Json]:
        return cited(says, bank.render(self.step, self._defects()), self.about.evidence)


def _known(task: PracticeTask, about: About, attempt: str | None) -> Truth | None:
    """What is so about an attempt; None for none, and for one that the bank cannot have made."""
    if not attempt:
        return None
    return whole_truth(task.name, about.files) if about.whole else bank.truth(task.name, attempt, about.part)


def _unknown(on: str, about: About) -> Json:
    verdict: dict[str, Json] = {"score": UNKNOWN_QUALITY} if on in about.criteria else {"verdict": "fail"}
    says = (
        "These files are not of the practice bank (edited by hand?), so the practice evaluator can vouch for nothing."
    )
    return {"on": on, **verdict, "evidence": [], "quote": "", "says": says}


def cited(says: str, texts: Mapping[str, str], evidence: tuple[str, ...]) -> dict[str, Json]:
    """The line of an offered artifact that has most words in common with a sentence, and the id of that artifact."""
    wanted = set(_words(says))
    lines = (
        (len(wanted & set(_words(line))), id_, line.strip())
        for id_, _, path in (entry.partition(":") for entry in evidence)
        for line in texts.get(path, "").split("\n")
        if len(line.strip()) > 3
    )
    best = max(lines, key=lambda found: found[0], default=None)
    return {"evidence": [], "quote": ""} if best is None else {"evidence": [best[1]], "quote": best[2]}


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]{3,}", text.casefold())
