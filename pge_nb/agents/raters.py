"""Judges as raters: what makes one, what it is told, and the id that stands on each of its evaluations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..models.choose import is_practice
from ..models.practice import judge_of
from ..payloads import Json, compact, decode
from ..prompts import fill
from ..records import Attempt, Role
from ..study_records import ALONE, WITH_LOG, Example, Rater
from .equipment import effort_of, model_of, with_tools

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "fresh": ("evaluator",),
    "fresh, tools": ("evaluator", "looking"),
    "self": ("evaluator",),
    "self, tools": ("evaluator", "looking"),
    ALONE: ("evaluator",),
    WITH_LOG: ("evaluator",),
    f"{ALONE}, {WITH_LOG}": ("evaluator",),
}
"""How a judge works -> the prompts that it is told by."""


def rater_of(settings: Mapping[str, Json]) -> Rater:
    """The judge of a run: the one that was chosen for it, else its evaluator's model with the prompt that is shipped."""
    chosen = settings.get("rater")
    if chosen is not None:
        return decode(Rater, chosen)
    role: Role = "generator" if settings.get("evaluator") == "self" else "evaluator"
    return judge(model_of(settings, role), mode=mode_of(settings), effort=effort_of(settings, role) or "")


def mode_of(settings: Mapping[str, Json]) -> str:
    """How the judge works: in a fresh context or in the generator's turns, and with tools or without."""
    where = "self" if settings.get("evaluator") == "self" else "fresh"
    return f"{where}, tools" if with_tools(settings, "evaluator") else where


def of_attempt(settings: Mapping[str, Json], made: Attempt) -> Rater:
    """The judge of one attempt: one that judges itself is the model that made it, and fresh where none did."""
    rater = rater_of(settings)
    if not rater.mode.startswith("self"):
        return rater
    if not made.calls:
        return rater_of({**settings, "evaluator": "fresh"})
    return judge(made.calls[-1].model, mode=rater.mode, effort=rater.effort)


def judge(
    model: str,
    *,
    mode: str = "fresh",
    effort: str = "",
    prompt: str = "",
    examples: Sequence[Example] = (),
    name: str = "",
    edited_from: str = "",
) -> Rater:
    """A judge with its id: another model, prompt, example, mode or effort is another rater. No prompt: the shipped one."""
    told = prompt or "\n\n".join(fill(name) for name in PROMPTS[mode])
    made_of: dict[str, Json] = {"model": judge_of(model) if is_practice(model) else model, "prompt": told, "mode": mode}
    made_of |= {"examples": [compact(example) for example in examples]} if examples else {}
    made_of |= {"effort": effort} if effort else {}
    return Rater(
        id=f"r-{hashlib.sha256(compact(made_of).encode('utf-8', 'surrogatepass')).hexdigest()[:10]}",
        who="judge",
        name=name,
        model=model,
        mode=mode,
        effort=effort,
        prompt=told,
        examples=tuple(examples),
        edited_from=edited_from,
    )


def edited(
    rater: Rater,
    *,
    name: str = "",
    model: str | None = None,
    mode: str | None = None,
    prompt: str | None = None,
    examples: Sequence[Example] | None = None,
) -> Rater:
    """The judge with another model, mode, prompt or examples: a new rater, with a new id. The same one where nothing differs."""
    new = judge(
        rater.model if model is None else model,
        mode=rater.mode if mode is None else mode,
        effort=rater.effort,
        prompt=rater.prompt if prompt is None else prompt.strip(),
        examples=rater.examples if examples is None else examples,
    )
    return replace(new, name=name or rater.name, edited_from="" if new.id == rater.id else rater.id)


def system_of(rater: Rater) -> str:
    """The judge's system prompt: what it is told, then its examples."""
    if not rater.examples:
        return rater.prompt
    shown = [_shown(number, example) for number, example in enumerate(rater.examples, 1)]
    return "\n\n".join((rater.prompt, "Examples of how a person judged, of other work than that before you:", *shown))


def _shown(number: int, example: Example) -> str:
    score = "" if example.score is None else f", score {example.score:g}"
    artifact = "\n".join(f"    {line}" for line in example.shown.rstrip().split("\n"))
    return (
        f"Example {number}. Asked: {example.says}\n{artifact}\nJudged: {example.verdict}{score}. {example.why.strip()}"
    )
