"""What begins a task, in whichever cell it is begun: the flags, the prompt, the configuration, and room at its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from .. import bank
from ..config import LIMITS, UNSAID, HarnessConfig
from ..errors import BadInput
from ..harness import PGEHarness
from ..inputs import given, recorded_inputs
from ..models.choose import is_practice
from ..models.limits import DEFAULT_DOLLARS
from ..models.practice import PracticeSettings
from ..nearness import nearest
from ..notebook import make_room
from ..payloads import Json
from ..run import Run
from ..settable import Approved, Judging
from .here import NONE_GIVEN, Here
from .raters import judge_named

TRACE = "a file to which a line of JSON is appended for each phase, call, tool and look"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFlags:
    """The flags that raise limits, at the beginning of a run or later."""

    max_retries: Annotated[int | None, "so many attempts after a step's first"] = None
    budget: Annotated[float | None, "at most so many dollars, over the whole run"] = None
    max_tokens_total: Annotated[int | None, "at most so many tokens, over the whole run"] = None
    max_seconds: Annotated[float | None, "at most so many seconds at work, over the whole run"] = None
    parallel: Annotated[int | None, "so many steps are worked on at once"] = None
    until_met: Annotated[bool, "retry until every check is met, within the limits"] = False

    def limits(self) -> dict[str, Json]:
        """Those that were given, by the names of the settings."""
        given: dict[str, Json] = {
            "max_retries_per_step": self.max_retries,
            "max_dollars": self.budget,
            "max_tokens_total": self.max_tokens_total,
            "max_seconds": self.max_seconds,
            "max_parallel": self.parallel,
            "until_met": self.until_met or None,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFlags(LimitFlags):
    """What is asked for beside the prompt."""

    practice: Annotated[str, "a practice task instead of a prompt of your own"] = ""
    model: Annotated[str, "the model of every role"] = ""
    effort: Annotated[str, "how hard the model thinks, where it can be told"] = ""
    state: Annotated[str, "the state file's path, in place of a name"] = ""
    in_: Annotated[str | None, "variables that the task is given as read-only files: a,b"] = None
    rows: Annotated[int | None, "so many rows of them are shown to agents; none without it"] = None
    skills: Annotated[str | None, "a variable: a dict of skills, among which the planner picks"] = None
    steps: Annotated[int | None, "at most so many steps"] = None
    no_planner: Annotated[bool, "without a planner: the prompt is the only step"] = False
    no_contract: Annotated[bool, "without contracts: the plan's success criteria are checks for the judge"] = False
    rater: Annotated[str, "the judge, of those that %pge rater lists: its id or name"] = ""
    evaluator: Annotated[Judging | None, "who judges: afresh, the generator in its own turns, or nobody"] = None
    keep_going: Annotated[int | None, "so many attempts at each step whatever the verdicts, for studies"] = None
    approve: Annotated[Approved | None, "pause for your word on the plan, or on each contract"] = None
    skill: Annotated[float | None, "practice: 0 to 1, how good the generator is"] = None
    leniency: Annotated[float | None, "practice: points that the evaluator adds"] = None
    noise: Annotated[float | None, "practice: spread of the evaluator's scores"] = None
    drift: Annotated[float | None, "practice: points that each attempt adds"] = None
    seed: Annotated[int | None, "practice: another seed, other draws"] = None
    delay: Annotated[float | None, "practice: seconds that a call takes at most"] = None
    trace: Annotated[str, TRACE] = ""

    def settings(self) -> dict[str, Json]:
        """The settings that were given, by their names."""
        given: dict[str, Json] = {
            "model": self.model or None,
            "effort": self.effort or None,
            "max_steps": self.steps,
            "planner": False if self.no_planner else None,
            "contract": False if self.no_contract else None,
            "evaluator": self.evaluator,
            "approve": self.approve,
            "keep_going": self.keep_going,
            "trace": self.trace or None,
        }
        return self.limits() | {name: value for name, value in given.items() if value is not None}

    def simulated(self) -> dict[str, float | int]:
        """The practice settings that were given."""
        given = {name: getattr(self, name, None) for name in PracticeSettings.__dataclass_fields__}
        return {name: value for name, value in given.items() if value is not None}


def begun(here: Here, name: str, body: str, flags: TaskFlags) -> tuple[PGEHarness, str]:
    """The harness over the task of this cell, begun or opened again, and what is to be told of it (often nothing).

    From here on commands are about it.
    """
    there, prompt, config = wanted(here, name, body, flags)
    with there.made():
        room = make_room(there.place, prompt, config)
        harness = PGEHarness(room.config)
        run = harness.start(prompt)
    here.turn_to(name, flags.state)
    here.skills = config.skills
    if room.moved or room.reopened:
        here.forget()
    amend_limits(harness, run, flags, here.configured)
    return harness, room.says(name)


def wanted(here: Here, name: str, body: str, flags: TaskFlags) -> tuple[Here, str, HarnessConfig]:
    """The place, the prompt and the configuration of the task of this cell; nothing is made, moved or begun for them."""
    prompt = _prompt(body, flags.practice)
    there = here.elsewhere(name, flags.state)
    config = _with_skills(_config(there, flags), here.variables, flags.skills)
    return there, prompt, _with_inputs(config, here.variables, flags)


def harness_over(here: Here, run: Run, trace: str = "") -> PGEHarness:
    """The harness over a run that was begun: its settings are in the file, only the limits are taken from there.

    Functions of skills are those that were named last in this kernel; where it is kept how skills did, and where the run is
    traced, is told by the settings as they are now. ``trace`` names another file for that.
    """
    limits = {name: run.settings[name] for name in LIMITS if name in run.settings}
    own = {"registry": here.registry, "trace": trace or here.trace, "skills": here.skills}
    return PGEHarness(HarnessConfig(shared_state_path=here.path, **own, **limits))  # type: ignore[arg-type]


def amend_limits(
    harness: PGEHarness, run: Run, flags: LimitFlags, configured: Mapping[str, object] = NONE_GIVEN
) -> None:
    """Set the limits that were given as flags, and raise those that ``configured`` raises; nothing is appended for no change.

    Flags stand in the line itself. What was configured earlier in the kernel must not take back what a run was given since.
    """
    raised: dict[str, Json] = {
        name: value for name in LIMITS if (value := _raised(run, name, configured.get(name))) is not None
    }
    changed = {
        name: value for name, value in flags.limits().items() if run.settings.get(name, UNSAID.get(name)) != value
    }
    if changed := raised | changed:
        with harness.state.running():  # where another process is at it, this line is refused, and so is what it says
            harness.amend("", **changed)


def _raised(run: Run, name: str, value: object) -> float | None:
    """The value where it is more than the run's limit; None where it is not, and where the run has none."""
    now = run.settings.get(name, UNSAID.get(name))
    now = DEFAULT_DOLLARS if name == "max_dollars" and now is None else now
    return value if isinstance(value, int | float) and isinstance(now, int | float) and value > now else None


def _config(there: Here, flags: TaskFlags) -> HarnessConfig:
    given = flags.settings()
    found = there.settings(given)
    model, chosen = str(found.value("model")), found.given["model"].chosen
    if flags.practice and not flags.model and not (chosen and is_practice(model)):
        given["model"] = model = "practice"
    if flags.practice and flags.steps is None:
        most = there.settings(given).value("max_steps")
        steps = len(bank.practice_task(flags.practice).steps)
        given |= {"max_steps": steps} if isinstance(most, int) and steps > most else {}
    if simulated := flags.simulated():
        given["model"] = _with_settings(model, simulated)
    config = there.settings(given).config(there.path)
    return replace(config, rater=judge_named(there, flags.rater)) if flags.rater else config


def _with_inputs(config: HarnessConfig, variables: Mapping[str, object], flags: TaskFlags) -> HarnessConfig:
    if flags.in_ is not None and not flags.in_.strip(" ,"):
        raise BadInput("--in names nothing.", "Name variables of this notebook: --in sales")
    if flags.in_ is None:
        if flags.rows is not None:
            raise BadInput("--rows shows rows of inputs, and there are none.", "Name variables too: --in sales")
        return config
    recorded = recorded_inputs(config.model or "")
    return replace(config, inputs=given(flags.in_.split(","), variables, rows=flags.rows or 0, recorded=recorded))


def _with_skills(config: HarnessConfig, variables: Mapping[str, object], name: str | None) -> HarnessConfig:
    """The configuration with the skills in a variable of the notebook."""
    if name is None:
        return config
    if name not in variables:
        near = nearest(name, [one for one, value in variables.items() if isinstance(value, Mapping) and one[0] != "_"])
        move = f"Did you mean {near}?" if near else 'Define it first: skills = {"sql": Skill(description="...")}'
        raise BadInput(f"--skills: there is no variable {name!r:.80} in this notebook.", move)
    return replace(config, skills=variables[name])  # type: ignore[arg-type]  # says what is wrong with it


def _prompt(body: str, practice: str) -> str:
    if practice and body.strip():
        raise BadInput(
            "Both a prompt and a practice task were given.", "Leave the body empty: %pge run --practice TASK."
        )
    if practice:
        return bank.practice_task(practice).prompt
    if not body.strip():
        raise BadInput("There is no prompt.", "Write it below the line %%pge run, or try %pge run --practice textkit.")
    return body


def _with_settings(name: str, given: Mapping[str, float]) -> str:
    """The model's name with the practice settings that were given as flags."""
    if not is_practice(name):
        raise BadInput(
            f"--{min(given)} is a setting of the practice model, and the model is {name}.",
            "Add --practice TASK or --model practice.",
        )
    settings = PracticeSettings.parse(name)
    known = {field: getattr(settings, field) for field in PracticeSettings.__dataclass_fields__}
    return PracticeSettings(**{**known, **given}).model_name
