"""The settings of a run that a person may give it from a notebook, each with its type, its words and its default.

They stand by themselves, since ``%load_ext`` needs them for ``%config`` and must not wait for what a run needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from .records import Role

OnExhausted = Literal["keep", "replan", "ask", "advance"]
Tools = Literal["auto", "on", "off"]
Judging = Literal["fresh", "self", "off"]
Approved = Literal["plan", "contract"]


@dataclass(frozen=True, kw_only=True)
class Settable:
    """What is said of them at length, and what they must be, stands with `HarnessConfig`."""

    model: Annotated[str | None, "the model of every role that has none of its own"] = None
    models: Annotated[Mapping[Role, str], "models by role: planner, generator, evaluator"] = field(default_factory=dict)
    effort: Annotated[
        Mapping[Role, str] | str | None, "how hard the model thinks, where it can be told; or by role"
    ] = None
    planner: Annotated[bool, "whether a planner makes the plan; without one the prompt is the only step"] = True
    contract: Annotated[
        bool, "whether contracts are negotiated; else the plan's success criteria are checks for the judge"
    ] = True
    evaluator: Annotated[
        Judging, "who judges: a fresh context, the generator in its own turns (self), or nobody (off)"
    ] = "fresh"
    approve: Annotated[Approved | None, "pause for a person's word on the plan, or on each contract"] = None
    second_look: Annotated[
        bool | None, "whether the planner looks once more for vague success criteria; none: with live models"
    ] = None
    max_steps: Annotated[int, "at most so many steps in a plan, before any is cut"] = 8
    max_retries_per_step: Annotated[int, "so many attempts after a step's first"] = 2
    max_contract_rounds: Annotated[int, "so many rounds in which a contract may be negotiated"] = 3
    default_thresholds: Annotated[Mapping[str, float], "criteria and their thresholds for a plan that names none"] = (
        field(default_factory=dict)
    )
    on_exhausted: Annotated[
        tuple[OnExhausted, ...], "what to do when the retries are used up: the first that applies"
    ] = (
        "keep",
        "replan",
        "ask",
    )
    max_replans: Annotated[int, "so often a step, and what it was cut into, may be cut into two to four"] = 1
    max_flat: Annotated[
        int | None, "after so many attempts in a row without progress the retries of a step count as used up"
    ] = None
    until_met: Annotated[
        bool, "retry until every check is met, within the limits; each attempt goes first for one that is not"
    ] = False
    regrade_kept: Annotated[
        bool, "grade an attempt that was chosen as the best of several once more, and report that score"
    ] = True
    feedback: Annotated[
        bool, "whether retries are told what was found; without, each begins anew and knows nothing. For studies"
    ] = True
    pass_margin: Annotated[
        float, "points that a score must lie above its threshold to pass, for the evaluator's noise"
    ] = 0.0
    keep_going: Annotated[
        int | tuple[int, ...],
        "so many attempts at each step, or at each in turn, whatever the verdicts; the first that passed stands. For studies",
    ] = 0
    first_stands: Annotated[
        bool,
        "whether of attempts made whatever the verdicts the first that passed stands; else the best that did. For studies",
    ] = True
    degrade_floor: Annotated[float, "the least that the weakest score of a kept attempt must reach"] = 5.0
    noise: Annotated[float, "a change of score within it is no trend"] = 0.5
    max_tokens: Annotated[int, "at most so many tokens in the output of one call"] = 8_192
    max_calls: Annotated[int | None, "at most so many calls, over the whole run"] = None
    max_tokens_total: Annotated[int | None, "at most so many tokens, over the whole run"] = None
    max_dollars: Annotated[
        float | None, "at most so many dollars, over the whole run; none: 5 for models with a price"
    ] = None
    max_seconds: Annotated[float | None, "at most so many seconds at work, over the whole run"] = None
    max_parallel: Annotated[int, "so many steps are worked on at once, where they need not wait for one another"] = 1
    review_seconds: Annotated[float, "at most so many seconds for each command of a review"] = 30.0
    hidden_cases: Annotated[
        int, "so many hidden inputs that the evaluator makes for each oracle check that shows its own"
    ] = 0
    canaries: Annotated[
        int,
        "at most so many known-bad artifacts that the judge is shown first; what it passes there is void in this run",
    ] = 0
    generator_tools: Annotated[
        Tools, "whether the generator works with tools; auto: with Claude models, others write files in their reply"
    ] = "auto"
    evaluator_tools: Annotated[
        Tools, "whether the evaluator may look with tools before it judges; auto: Claude models"
    ] = "auto"
    max_turns: Annotated[int, "at most so many turns with tools in one phase"] = 16
    max_context_tokens: Annotated[int, "a phase with tools ends when one turn reads and writes so many tokens"] = (
        120_000
    )
    registry: Annotated[
        str | None,
        "the file in which it is kept how skills did; off: in none; none: in your data directory, for live models",
    ] = None
    trace: Annotated[
        str | None, "the file to which a line of JSON is appended for each phase, call, tool and look; none: no trace"
    ] = None
