"""What a run may still take, told before it is paid: calls, tokens, dollars. Nobody is asked for it.

The likely figures take two attempts a step, no replan, and the mean of the run's own calls of the same phase, else of all its
calls, else `TYPICAL`. The most is what every retry, repair, replan and repeated evaluation would take, and never more than the
run's limits leave; where a run retries until all is met, only a limit is the most.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .decisions import MOST_PIECES, most_replans
from .models.choose import is_practice, models_in
from .models.limits import DEFAULT_DOLLARS, DEFAULT_UNPRICED_TOKENS, Prices
from .payloads import Json
from .phases import (
    GATE_EVALUATIONS,
    ROLE_OF,
    PhaseName,
    attempts_allowed,
    canaries_shown,
    goes_on_for,
    negotiation,
    number,
    takes_hidden,
    takes_part,
)
from .prose import counted
from .records import Call, Record, Section, Task, Usage
from .run import ENDED, Run
from .vague_parts import looks_twice

LIKELY_STEPS, LIKELY_ATTEMPTS = 3, 2
ASKED = 2
"""A reply that cannot be used is asked for once more, so a phase takes at most so many calls."""
LONGEST_BRIEF = 100_000
"""Tokens: briefs are cut at so many characters or so."""
TYPICAL: Mapping[PhaseName, Usage] = {
    "plan": Usage(input_tokens=1_500, output_tokens=1_500),
    "replan": Usage(input_tokens=4_000, output_tokens=800),
    "propose": Usage(input_tokens=2_500, output_tokens=800),
    "respond": Usage(input_tokens=2_500, output_tokens=600),
    "withhold": Usage(input_tokens=2_500, output_tokens=800),
    "generate": Usage(input_tokens=4_000, output_tokens=3_000),
    "evaluate": Usage(input_tokens=7_000, output_tokens=1_500),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Calls of one phase that are still to come, over all steps, and what one of them likely takes."""

    phase: PhaseName
    least: int
    likely: int
    most: int
    tokens: int
    dollars: float | None  # None: the model has no price


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is ahead of a run. ``most`` is in tokens or, where every model has a price, in dollars; a limit cuts it.

    ``endless``: it retries until all is met, so that only a limit ends it.
    """

    phases: tuple[Ahead, ...]
    basis: str
    most_tokens: int
    most_dollars: float | None
    limited: bool
    endless: bool = False

    @property
    def calls(self) -> tuple[int, int, int]:
        """The least, the likely and the most calls."""
        return sum(p.least for p in self.phases), sum(p.likely for p in self.phases), sum(p.most for p in self.phases)

    @property
    def tokens(self) -> int:
        """Likely."""
        return sum(phase.likely * phase.tokens for phase in self.phases)

    @property
    def dollars(self) -> float | None:
        """Likely; None where a model has no price."""
        amounts = [None if phase.dollars is None else phase.likely * phase.dollars for phase in self.phases]
        return None if None in amounts else sum(amount for amount in amounts if amount is not None)

    def __str__(self) -> str:
        least, likely, most = self.calls
        if self.dollars is None or self.most_dollars is None:
            amounts = f"likely {self.tokens:,} tokens, at most {self.most_tokens:,} tokens"
        else:
            amounts = f"likely ${self.dollars:.2f}, at most ${self.most_dollars:.2f}"
        limit = " (the run's limit)" if self.limited else ""
        calls = f"{least:,} to {counted(most, 'call')}, likely {likely:,}"
        if self.endless:
            calls = f"{counted(least, 'call')} and more, until all is met"
        return f"Estimate, from {self.basis}: {calls}; {amounts}{limit}."


def costs_money(settings: Mapping[str, Json]) -> bool:
    """Whether a run asks a live model: none that is simulated, and no recording."""
    return not settings.get("recording") and any(not is_practice(name) for name in models_in(settings))


def estimate(settings: Mapping[str, Json], run: Run, prices: Prices) -> Estimate:
    """What is ahead of ``run`` (without sections: of a run that is to begin with these settings)."""
    counts = _counts(settings, run)
    own = _own_calls(run)
    phases = tuple(_ahead(phase, counts[phase], settings, own, prices) for phase in TYPICAL)
    tokens_most = LONGEST_BRIEF + int(number(settings, "max_tokens"))
    calls = sum(phase.most for phase in phases)
    tokens_left, dollars_left = _left(settings, run)
    dearest = [_most(settings, phase.phase, prices) for phase in phases if phase.most]
    dollars = None if None in dearest else sum(p.most for p in phases) * max((d for d in dearest if d), default=0.0)
    priced = dollars is not None
    tokens = calls * tokens_most
    endless = bool(settings.get("until_met")) and calls > 0
    if endless:
        tokens, dollars = int(min(tokens_left, sys.maxsize)), dollars_left if priced else None
    return Estimate(
        phases=phases,
        basis=f"this run's own {counted(sum(map(len, own.values())), 'call')}" if own else "typical calls",
        most_tokens=int(min(tokens, tokens_left)),
        most_dollars=min(dollars, dollars_left) if dollars is not None else None,
        limited=endless or (dollars > dollars_left if priced and dollars is not None else tokens > tokens_left),
        endless=endless,
    )


# How many calls


def _counts(settings: Mapping[str, Json], run: Run) -> dict[PhaseName, tuple[int, int, int]]:
    """Phase -> the least, likely and most calls that are still to come."""
    found: dict[PhaseName, tuple[int, int, int]] = dict.fromkeys(TYPICAL, (0, 0, 0))
    if run.plan is None:
        planned = takes_part(settings, "planner")
        most = int(number(settings, "max_steps")) if planned else 1
        times = (1, min(LIKELY_STEPS, most), most)
        for phase, calls in _step_counts(settings, _begun(settings), 0):
            found[phase] = _plus(found[phase], _times(calls, times))
        found["plan"] = (1, 1, ASKED + ASKED * looks_twice(settings)) if planned else (0, 0, 0)
        found["evaluate"] = _plus(found["evaluate"], _canaries(settings, run))
        return found
    for step in run.steps:
        if run.ungraded(step.number):
            found["evaluate"] = _plus(found["evaluate"], (1, 1, ASKED))
        elif run.state(step.number) not in ENDED:
            for phase, calls in _step_counts(settings, run, step.number):
                found[phase] = _plus(found[phase], calls)
    if any(run.state(step.number) not in ENDED for step in run.steps):
        found["evaluate"] = _plus(found["evaluate"], _canaries(settings, run))
    return found


def _canaries(settings: Mapping[str, Json], run: Run) -> tuple[int, int, int]:
    """Calls to a judge that is shown known-bad work: none where it never has anything to decide."""
    wanted = settings.get("canaries")
    wanted = wanted if takes_part(settings, "evaluator") else 0
    left = max(0, wanted - len(canaries_shown(run))) if isinstance(wanted, int) else 0
    return 0, left, left * ASKED


def _step_counts(settings: Mapping[str, Json], run: Run, step: int) -> Iterator[tuple[PhaseName, tuple[int, int, int]]]:
    """The phases of a step, and at most those of the steps that it may be cut into."""
    yield from _own_counts(settings, run, step)
    replans, pieces = _cut_into(settings, len(run.line(step)) - 1)
    yield "replan", (0, 0, replans * ASKED)
    for phase, (_, _, most) in _own_counts(settings, _begun(settings), 0) if pieces else ():
        yield phase, (0, 0, most * pieces)


def _by_function(settings: Mapping[str, Json], run: Run, step: int) -> bool:
    """Whether the skill of a step is a function, for which no model is asked."""
    skills, named = settings.get("skills"), {one.number: one.skill_type for one in run.steps}
    skill = skills.get(named.get(step, "")) if isinstance(skills, Mapping) else None
    return isinstance(skill, Mapping) and bool(skill.get("code"))


def _begun(settings: Mapping[str, Json]) -> Run:
    """A run that was only begun: each of its steps has all of its phases ahead."""
    record = Record(payload=Task(prompt="", run="", settings=settings), by="person")
    return Run([Section(record=record, seq=0, prev="", sha256="", at="", offset=0)])


def _cut_into(settings: Mapping[str, Json], cuts: int) -> tuple[int, int]:
    """How many replans may come of one step that was cut so often already, and how many smaller steps of them in all."""
    ways = settings["on_exhausted"] if takes_part(settings, "planner") and takes_part(settings, "evaluator") else []
    left = most_replans(settings) - cuts if isinstance(ways, list) and "replan" in ways else 0
    replans = sum(MOST_PIECES**depth for depth in range(left))
    return replans, replans * MOST_PIECES


def _own_counts(settings: Mapping[str, Json], run: Run, step: int) -> Iterator[tuple[PhaseName, tuple[int, int, int]]]:
    if run.contract(step) is None:
        due = negotiation(run, step).name
        rounds = 0 if due == "settle" else int(number(settings, "max_contract_rounds"))
        own, others = int(due == "propose"), int(due != "settle")
        yield "propose", (own, own, max(own, rounds - len(run.of("proposal", step))) * ASKED)
        yield "respond", (others, others, max(others, rounds - len(run.of("response", step))) * ASKED)
    judged_at_all = takes_part(settings, "evaluator")
    allowed = attempts_allowed(settings) if judged_at_all else 1
    made, judged = len(run.attempts(step)), len(run.evaluations(step))
    first = int(made == judged) if judged_at_all else int(not made)
    likely = max(min(LIKELY_ATTEMPTS, allowed), made + first, goes_on_for(settings))
    if not _by_function(settings, run, step):
        yield "generate", (first, likely - made, max(first, allowed - made) * ASKED)
    if not judged_at_all:
        return
    yield "evaluate", (1, max(1, likely - judged), max(1, allowed - judged) * ASKED * GATE_EVALUATIONS)
    if settings.get("regrade_kept") and allowed > 1:
        yield "evaluate", (0, 0, ASKED)
    if settings.get("hidden_cases") and run.withheld(step) is None:
        asked = run.contract(step) is None or takes_hidden(run, step)
        yield "withhold", (0, int(asked), int(asked) * ASKED)


def _times(calls: tuple[int, int, int], times: tuple[int, int, int]) -> tuple[int, int, int]:
    return calls[0] * times[0], calls[1] * times[1], calls[2] * times[2]


def _plus(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


# What a call takes


def _own_calls(run: Run) -> dict[str, list[Call]]:
    """Phase -> the run's own calls of it; the second part of a call's key."""
    found: dict[str, list[Call]] = {}
    for call in run.calls:
        found.setdefault(call.id.split("/")[1], []).append(call)
    return found


def _ahead(
    phase: PhaseName,
    calls: tuple[int, int, int],
    settings: Mapping[str, Json],
    own: Mapping[str, list[Call]],
    prices: Prices,
) -> Ahead:
    usages = [call.usage for call in own.get(phase) or [call for made in own.values() for call in made]]
    usage = _mean(usages) if usages else _typical(settings, phase)
    amounts = [prices.cost(model, usage) for model in _models(settings, phase)]
    return Ahead(
        phase=phase,
        least=calls[0],
        likely=calls[1],
        most=calls[2],
        tokens=usage.total,
        dollars=_dearest(amounts),
    )


def _typical(settings: Mapping[str, Json], phase: PhaseName) -> Usage:
    """What a call of a phase takes where nothing is known; who judges in the generator's turns reads them again."""
    usage, before = TYPICAL[phase], TYPICAL["generate"]
    if phase == "evaluate" and settings.get("evaluator") == "self":
        return replace(usage, input_tokens=usage.input_tokens + before.input_tokens + before.output_tokens)
    return usage


def _mean(usages: Sequence[Usage]) -> Usage:
    n = len(usages)
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages) // n,
        output_tokens=sum(usage.output_tokens for usage in usages) // n,
        cache_read_tokens=sum(usage.cache_read_tokens for usage in usages) // n,
        cache_write_tokens=sum(usage.cache_write_tokens for usage in usages) // n,
    )


def _models(settings: Mapping[str, Json], phase: PhaseName) -> list[str]:
    """The models that may be asked in a phase: the role's, or the chosen judge's; of attempts those of skills too."""
    models, skills, rater = (settings.get(name) for name in ("models", "skills", "rater"))
    if phase == "evaluate" and isinstance(rater, Mapping):
        return [str(rater.get("model", ""))]
    makes = phase == "generate" or (phase == "evaluate" and settings.get("evaluator") == "self")
    role = str(models.get("generator" if makes else ROLE_OF[phase], "")) if isinstance(models, dict) else ""
    return [role, *(models_in({"skills": skills}) if makes else [])]


def _dearest(amounts: Sequence[float | None]) -> float | None:
    """The highest of the amounts; None where one is not known."""
    return None if None in amounts else max(amount for amount in amounts if amount is not None)


def _most(settings: Mapping[str, Json], phase: PhaseName, prices: Prices) -> float | None:
    found = [prices.of(model) for model in _models(settings, phase)]
    most = int(number(settings, "max_tokens"))
    return _dearest([price.most(LONGEST_BRIEF, most) if price else None for price in found])


def _left(settings: Mapping[str, Json], run: Run) -> tuple[float, float]:
    """Tokens and dollars that the limits still allow."""
    paid = [call for call in run.calls if call.source != "recording"]
    tokens, dollars = settings.get("max_tokens_total"), settings.get("max_dollars")
    tokens_limit = tokens if isinstance(tokens, int | float) else DEFAULT_UNPRICED_TOKENS
    dollars_limit = dollars if isinstance(dollars, int | float) else DEFAULT_DOLLARS
    return (
        max(0.0, tokens_limit - sum(call.usage.total for call in paid)),
        max(0.0, dollars_limit - sum(call.dollars or 0.0 for call in paid)),
    )
