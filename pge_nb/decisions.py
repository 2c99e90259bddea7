"""The decision after an evaluation: a pure function of the state file, with its reason in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from .payloads import Json
from .phases import attempts_allowed, fresh_answer, goes_on_for, number, takes_part, tells_findings
from .prose import counted
from .records import Answer, Decision, EvaluationReport, Question
from .run import Run
from .verdict import share_met, trend, weakest

FLAT_BEFORE_PIVOT = 2
MOST_PIECES = 4
"""Smaller steps that one step may be cut into."""


def best_attempt(run: Run, step: int) -> int | None:
    """The attempt with the highest overall score, then the most checks met, then the earliest; None without any."""
    attempts = run.attempts(step)
    if not attempts:
        return None
    reports = run.evaluations(step)

    def standing(attempt: int) -> tuple[float, float, int]:
        report = reports.get(attempt)
        if report is None:
            return (-1.0, -1.0, -attempt)
        share = share_met(report.findings)
        # Not measured orders below every score, and is never stored as one.
        return (-1.0 if report.overall is None else report.overall, -1.0 if share is None else share, -attempt)

    return max(attempts, key=standing)


def decide(run: Run, step: int, attempt: int) -> tuple[Decision, Question | None]:
    """What follows from the last evaluation of an attempt, or from a person's answer; a question where one is asked."""
    word = run.approval(step)
    if isinstance(word, Answer) and word.choice == "stop":
        numbers = _numbers(run, step, attempt or None)
        return Decision(action="stop", reason="a person answered 'stop' to its contract", numbers=numbers), None
    if answer := fresh_answer(run, step, attempt):
        return _answered(run, step, attempt, answer), None
    report = run.evaluation(step, attempt)
    if not takes_part(run.settings, "evaluator"):
        reason = "the evaluator is off: nothing was measured"
        return Decision(action="advance", attempt=attempt, reason=reason, numbers=_numbers(run, step, attempt)), None
    if report is None:
        raise ValueError(f"attempt {step}.{attempt} has not been evaluated")
    if attempt < goes_on_for(run.settings, step):
        return _whatever(run, step, attempt, report), None
    if (passed := _first_passed(run, step)) is not None:
        if run.settings.get("first_stands", True) is False:
            return _best_passed(run, step), None
        reason = f"attempt {passed} was the first that passed; more were made to learn from, whatever the verdicts"
        return Decision(action="accept", attempt=passed, reason=reason, numbers=_numbers(run, step, passed)), None
    if report.verdict == "pass":
        reason = "every check and every threshold holds"
        return Decision(action="accept", attempt=attempt, reason=reason, numbers=_numbers(run, step, attempt)), None
    if report.verdict == "unmeasured":
        return _ask(run, step, attempt, f"attempt {attempt} could not be measured, {_times(run, step, attempt)}")
    if stuck := _without_progress(run, step):
        return _exhausted(run, step, attempt, *stuck)
    if run.settings.get("until_met") or attempt < attempts_allowed(run.settings, step):
        return _again(run, step, attempt), None
    few = {1: "the only attempt failed", 2: "both attempts failed"}
    return _exhausted(run, step, attempt, few.get(attempt, f"all {attempt} attempts failed"))


def _whatever(run: Run, step: int, attempt: int, report: EvaluationReport) -> Decision:
    """Another attempt, where so many are made whatever the verdicts; with what the gate would have done in its numbers."""
    most, passed = goes_on_for(run.settings, step), _first_passed(run, step)
    would = "accept" if report.verdict == "pass" else "ask" if report.verdict == "unmeasured" else "retry"
    numbers = _numbers(run, step, attempt) | {"keep_going": most, "gate_would": would, "first_passed": passed}
    return Decision(
        action="refine" if tells_findings(run.settings) else "pivot",
        reason=f"{counted(most, 'attempt')} are made, whatever the verdicts",
        numbers=numbers,
    )


def _first_passed(run: Run, step: int) -> int | None:
    """The first attempt that passed, where more were made whatever the verdicts."""
    if not goes_on_for(run.settings):
        return None
    return next((n for n, report in run.evaluations(step).items() if report.verdict == "pass"), None)


def _best_passed(run: Run, step: int) -> Decision:
    """The highest score of those that passed stands, the earlier of two with one."""
    passed = [n for n, report in run.evaluations(step).items() if report.verdict == "pass"]
    best = max(passed, key=lambda n: (run.evaluations(step)[n].overall or 0.0, -n))
    made = len(run.attempts(step))
    reason = f"attempt {best} is the best of {len(passed)} that passed, of {made} that were made"
    return Decision(action="accept", attempt=best, reason=reason, numbers=_numbers(run, step, best))


def _again(run: Run, step: int, attempt: int) -> Decision:
    """Refine while the trajectory rises or has been flat only once; pivot when it was flat or falling twice."""
    if not tells_findings(run.settings):
        reason = "retries are told nothing of what was found, so each begins anew"
        return Decision(action="pivot", reason=reason, numbers=_numbers(run, step, attempt))
    scores = _since_pivot(run, step)
    noise = number(run.settings, "noise")
    flat = _flat(scores, noise)
    numbers = _numbers(run, step, attempt) | {"noise": noise, "flat_or_falling": flat}
    first = leading(run, step)
    goes_for = f"; until all is met, the next attempt goes first for {first}" if first else ""
    numbers |= {"goes_for": first} if first else {}
    if flat >= FLAT_BEFORE_PIVOT:
        reason = f"the score was flat or falling {flat} times, changes within {noise:g} counted as flat"
        return Decision(action="pivot", reason=reason + goes_for, numbers=numbers)
    if len(scores) < 2:
        reason = "there is no trajectory yet"
    elif flat:
        reason = f"the score was flat or falling once, within {noise:g} counted as flat"
    else:
        reason = f"the score rises by more than {noise:g}"
    return Decision(action="refine", reason=reason + goes_for, numbers=numbers)


def leading(run: Run, step: int) -> str:
    """What the next attempt goes for first where a run retries until all is met; empty where it does not.

    The first check, in the contract's order, that the last evaluation did not find met; else the first criterion below its
    threshold. Before there is an evaluation under the contract, its first check.
    """
    contract = run.contract(step)
    if not run.settings.get("until_met") or contract is None:
        return ""
    reports = run.evaluations(step)
    if not reports:
        return contract.checks[0].id if contract.checks else ""
    return next((one.on for one in reports[max(reports)].findings if one.verdict != "pass"), "")


def _flat(scores: Sequence[float], noise: float) -> int:
    """How many scores at the end, in a row, do not rise above the best before them by more than the noise."""
    flat = 0
    for index in range(len(scores) - 1, 0, -1):
        if trend(scores[index], max(scores[:index]), noise) == "rising":
            break
        flat += 1
    return flat


def _without_progress(run: Run, step: int) -> tuple[str, dict[str, Json]] | None:
    """Why a step's retries count as used up before they are, and in numbers; None where they do not.

    None of ``max_flat`` attempts in a row, pivots included, rose above the best before all of them by more than the noise: a
    rise that is slow and goes on is progress.
    """
    limit, noise = run.settings.get("max_flat"), number(run.settings, "noise")
    scores = [report.overall for report in run.evaluations(step).values() if report.overall is not None]
    flat = 0
    while flat + 1 < len(scores) and trend(max(scores[-flat - 1 :]), max(scores[: -flat - 1]), noise) != "rising":
        flat += 1
    if not isinstance(limit, int) or flat < limit:
        return None
    best = max(scores[:-flat])
    flat_ones = counted(flat, "attempt")
    reason = f"{flat_ones} in a row did not rise above the best before, {round(best, 2):g}, by more than {noise:g}"
    return reason, {"noise": noise, "flat_or_falling": flat, "max_flat": limit, "best": round(best, 4)}


def _since_pivot(run: Run, step: int) -> list[float]:
    """The overall scores of the attempts since the last pivot; attempts without one are left out."""
    scores: list[float] = []
    reports = run.evaluations(step)
    for attempt, tried in run.attempts(step).items():
        if tried.approach == "pivot":
            scores = []
        report = reports.get(attempt)
        if report is not None and report.overall is not None:
            scores.append(report.overall)
    return scores


def _exhausted(
    run: Run, step: int, attempt: int, spent: str, why: Mapping[str, Json] = MappingProxyType({})
) -> tuple[Decision, Question | None]:
    """The first of ``on_exhausted`` that applies; a step for which none does is given up.

    ``spent`` says in what way the retries are used up, ``why`` the same in numbers.
    """
    decision, question = _first_way(run, step, attempt, spent)
    return replace(decision, numbers={**decision.numbers, **why}), question


def _first_way(run: Run, step: int, attempt: int, spent: str) -> tuple[Decision, Question | None]:
    ways = run.settings["on_exhausted"]
    for way in ways if isinstance(ways, list) else []:
        if way == "keep" and (kept := _keep(run, step, spent)):
            return kept, None
        if way == "replan" and takes_part(run.settings, "planner"):
            if decision := _replan(run, step, attempt, spent):
                return decision, None
            spent += _not_again(run, step)
        if way == "advance":
            best = best_attempt(run, step)
            return Decision(
                action="advance",
                attempt=best,
                reason=f"{spent}; the run goes on with attempt {best}, which did not pass",
                numbers=_numbers(run, step, best),
            ), None
        if way == "ask":
            return _ask(run, step, attempt, spent)
    reason = f"{spent}, and no way to go on applies"
    return Decision(action="stop", reason=reason, numbers=_numbers(run, step, attempt)), None


def _replan(run: Run, step: int, attempt: int, spent: str) -> Decision | None:
    """Cut the step into smaller ones; give it up where two replans in a row used its skill; None where it was cut enough."""
    cuts, most = len(run.line(step)) - 1, most_replans(run.settings)
    numbers = _numbers(run, step, attempt) | {"replans": cuts, "max_replans": most}
    if skill := run.same_skill(step):
        reason = (
            f"{spent}; two replans in a row used the skill {skill!r} and failed: infeasible with the skills at hand"
        )
        return Decision(action="stop", reason=reason, numbers=numbers)
    if run.replan(step) is not None or cuts >= most or not takes_part(run.settings, "planner"):
        return None
    reason = f"{spent}; it is to be cut into smaller steps, replan {cuts + 1} of at most {most}"
    return Decision(action="replan", reason=reason, numbers=numbers | {"replans": cuts + 1})


def _not_again(run: Run, step: int) -> str:
    """Why a step is not cut into smaller ones, to be added to what else is told; empty where nobody expects it."""
    tried, line = run.replan(step), run.line(step)
    if tried is not None:
        return f"; the planner could not cut it into smaller steps ({tried.why})"
    often = "" if len(line) == 2 else f"{len(line) - 1} times "
    return f"; step {line[0]} was cut {often}already" if len(line) > 1 else ""


def most_replans(settings: Mapping[str, Json]) -> int:
    """How often a step, and what it was cut into, may be cut."""
    most = settings.get("max_replans", 1)
    return most if isinstance(most, int) else 1


def _keep(run: Run, step: int, spent: str) -> Decision | None:
    best = best_attempt(run, step)
    report = run.evaluation(step, best) if best is not None else None
    least = _weakest(run, report)
    floor = number(run.settings, "degrade_floor")
    if least is None or least < floor:
        return None
    reason = (
        f"{spent}; the best, attempt {best}, is kept: its weakest score {round(least, 2):g} reaches the floor {floor:g}"
    )
    return Decision(action="keep", attempt=best, reason=reason, numbers=_numbers(run, step, best) | {"floor": floor})


def _ask(run: Run, step: int, attempt: int, why: str) -> tuple[Decision, Question]:
    question = Question(text=f"Step {step}: {why}. What now?", choices=("retry", "keep", "advance", "stop"))
    return Decision(action="ask", reason=why, numbers=_numbers(run, step, attempt)), question


def _answered(run: Run, step: int, attempt: int, answer: Answer) -> Decision:
    best = best_attempt(run, step)
    said = f"a person answered {answer.choice!r}"
    if answer.choice == "retry":
        return Decision(action="refine", reason=said, numbers=_numbers(run, step, attempt))
    if answer.choice == "approve":
        raise ValueError("that answers a question about the plan or a contract")
    if answer.choice == "stop":
        return Decision(action="stop", reason=said, numbers=_numbers(run, step, attempt))
    return Decision(
        action=answer.choice, attempt=best, reason=f"{said}: attempt {best}", numbers=_numbers(run, step, best)
    )


def _numbers(run: Run, step: int, attempt: int | None) -> dict[str, Json]:
    report = run.evaluation(step, attempt) if attempt is not None else None
    endless = bool(run.settings.get("until_met"))
    return {
        "attempts": len(run.attempts(step)),
        "attempts_allowed": None if endless else attempts_allowed(run.settings, step),
        "overall": _rounded(report.overall if report else None),
        "weakest": _rounded(_weakest(run, report)),
    }


def _weakest(run: Run, report: EvaluationReport | None) -> float | None:
    return weakest(report.findings, run.plan.criteria if run.plan else ()) if report else None


def _rounded(value: float | None) -> Json:
    return None if value is None else round(value, 4)


def _times(run: Run, step: int, attempt: int) -> str:
    count = len(run.of("evaluation", step, attempt, "gate"))
    return "once" if count == 1 else f"{count} times"


def standing_scores(run: Run, step: int) -> Sequence[tuple[int, float | None]]:
    """(attempt, overall score) of a step, in order; None where it was not measured."""
    reports = run.evaluations(step)
    return [(attempt, reports[attempt].overall if attempt in reports else None) for attempt in run.attempts(step)]
