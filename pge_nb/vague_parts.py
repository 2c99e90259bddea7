"""What is vague in the plan and the contracts of a run, and whether anybody looks for it there.

A run that was begun before there was a rule goes on without it, and a recording of one replays as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .models.choose import is_practice
from .payloads import Json
from .prose import counted
from .records import Check, Step
from .run import Run
from .vagueness import vague
from .verdict import JUDGE

SECOND_LOOK = "second_look"
MOST_SAID = 5
"""Vague sentences that are named when they are sent back."""


def is_looked_for(settings: Mapping[str, Json]) -> bool:
    """Whether vague sentences are looked for in a run: in each whose prompts hold that of the second look."""
    prompts = settings.get("prompts")
    return isinstance(prompts, Mapping) and SECOND_LOOK in prompts


def looks_twice(settings: Mapping[str, Json]) -> bool:
    """Whether the planner may look at its plan once more: as it was set, else where its model is a live one."""
    chosen, models = settings.get(SECOND_LOOK), settings.get("models")
    if isinstance(chosen, bool):
        return chosen
    planner = str(models.get("planner", "")) if isinstance(models, Mapping) else ""
    return is_looked_for(settings) and not is_practice(planner)


def vague_steps(steps: Iterable[Step], settings: Mapping[str, Json]) -> str:
    """What is vague in the success criteria of steps, for whoever is asked again; empty where nothing is."""
    if not is_looked_for(settings):
        return ""
    return _told([(f"in step {step.number}, ", sentence) for step in steps for sentence in step.success])


def vague_checks(checks: Iterable[Check], settings: Mapping[str, Json], known: Collection[str] = ()) -> str:
    """What is vague in the checks that the judge decides, but for ``known`` sentences: each is sent back once."""
    if not is_looked_for(settings):
        return ""
    return _told([("", check.says) for check in checks if check.method == JUDGE and check.says not in known])


def _told(sentences: list[tuple[str, str]]) -> str:
    found = [(where, sentence, words) for where, sentence in sentences if (words := vague(sentence))]
    if not found:
        return ""
    said = [f'{where}"{sentence:.120}" is vague ("{words:.60}")' for where, sentence, words in found[:MOST_SAID]]
    more = [f"and {counted(len(found) - MOST_SAID, 'more sentence')}"] if len(found) > MOST_SAID else []
    example = '"POST /login returns 401 for a wrong password", not "implement login"'
    return f"{'; '.join([*said, *more])}: say what a test could prove wrong, such as {example}"


def left_vague(sentences: Iterable[str], settings: Mapping[str, Json]) -> tuple[str, ...]:
    """Notes on the sentences that came back as vague as they were, and stand."""
    if not is_looked_for(settings):
        return ()
    return tuple(f"vague, and kept: {sentence:.120}" for sentence in sentences if vague(sentence))


def earlier_checks(run: Run, step: int) -> frozenset[str]:
    """The sentences of a step's checks in all versions so far: what is vague in them has been sent back."""
    versions = (section.payload for kind in ("proposal", "response") for section in run.of(kind, step))
    return frozenset(check.says for version in versions for check in getattr(version, "checks", None) or ())
