"""The settings of a run. Those that change its outcome are frozen in the task section and make its identity."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from .errors import BadInput, quoted
from .inputs import Given
from .models.choose import RECORDING, default_model, is_practice, models_in, recorded_at
from .models.limits import Limits, Prices
from .models.replay import Replay
from .payloads import Json, compact, encode
from .prompts import hashes
from .records import Role
from .reviews import Review
from .settable import Approved, Judging, OnExhausted, Settable, Tools
from .skills import FrozenSkill, Skill, check_skills, freeze
from .state import FILE_NAME
from .study_records import Rater
from .verdict import JUDGE

IDENTITY = (
    "models",
    "effort",
    "default_thresholds",
    "max_steps",
    "max_tokens",
    "on_exhausted",
    "degrade_floor",
    "noise",
    "review_methods",
    "review_seconds",
)
"""The settings that change what a run comes to. Retries, rounds and limits may be raised by an amendment."""
WITH_TOOLS: Mapping[Role, str] = {"generator": "generator_tools", "evaluator": "evaluator_tools"}
"""The settings that tell which roles work with tools; part of the identity where one does."""
TOOLS_MODE = ", tools"
"""Ends the mode of a judge that works with tools."""
COUNTED = ("hidden_cases", "canaries", "keep_going", "pass_margin")
"""Settings that are part of the identity where they are not 0."""
LIMITS = (
    "max_retries_per_step",
    "max_contract_rounds",
    "max_replans",
    "max_flat",
    "until_met",
    "max_parallel",
    "max_calls",
    "max_tokens_total",
    "max_dollars",
    "max_seconds",
)
ROLES = ("planner", "contract", "evaluator", "approve", "second_look", "feedback", "first_stands")
"""Who takes part in a run; part of the identity where it is not the default."""
UNSAID: Mapping[str, Json] = {
    "planner": True,
    "contract": True,
    "evaluator": "fresh",
    "approve": None,
    "second_look": None,
    "canaries": 0,
    "keep_going": 0,
    "feedback": True,
    "first_stands": True,
    "pass_margin": 0.0,
    "rater": None,
    "max_replans": 1,
    "max_flat": None,
    "until_met": False,
    "regrade_kept": False,
    "max_parallel": 1,
    "max_seconds": None,
}
"""Setting -> the value at which it is left out of a task: such a run is the same to the byte as before there was the setting."""
MOST_REPLANS = 8
"""One step may become four with each: with so many, 65,536."""
ENDS_A_RUN = ("max_calls", "max_tokens_total", "max_dollars", "max_seconds")
"""The limits of which ``until_met`` needs one."""
FORMER: Mapping[str, Json] = {"on_exhausted": ["keep", "ask"]}
"""Setting -> what its default was before there were replans."""


@dataclass(frozen=True, kw_only=True)
class HarnessConfig(Settable):
    """What a run may do and how. Every default works.

    ``model`` is used by every role that ``models`` does not name; None: chosen by the environment (a key or a base URL ->
    Claude, else the practice model). ``effort`` is passed on to models that take it. ``max_retries_per_step=2`` allows three
    attempts. ``working_directory`` is relative to the state file's directory. ``default_thresholds`` (criterion -> least
    score) stand in for a plan that names no criteria. ``on_exhausted``: the first that applies when the retries are used
    up. ``degrade_floor``: the least that the weakest score of a kept attempt must reach. ``noise``: a change of score within
    it is no trend. ``planner=False``: the prompt is the only step. ``contract=False``: the plan's success criteria are checks for
    the judge. ``evaluator``: "self" judges in the generator's own turns; with False or "off" nothing is measured, and no such run
    is passed. ``approve``: the run pauses after the plan, or after each contract, until a person has answered. ``second_look``:
    one more call of the planner where a success criterion names nothing that could be seen (None: with live models).
    ``max_tokens``: the output of one call. ``max_dollars=None`` is 5 for models with a price. Limits are for
    the whole run, over all resumes. ``generator_tools`` and ``evaluator_tools``: turns with tools, within ``max_turns`` and
    ``max_context_tokens`` (what one turn reads and writes); "auto": for models with a known price, which all take tools.
    ``hidden_cases``: inputs that the evaluator makes for each oracle check that shows its own; the generator never sees them.
    ``max_replans``: how often a step, and what it was cut into, may be cut into smaller ones. ``max_flat``: after so many
    attempts in a row without progress the retries count as used up. ``until_met``: as many retries as it takes, within the
    limits, of which there must be one. For studies: ``feedback=False``, retries are told nothing of what was found and begin anew
    each time; ``keep_going``, so many attempts at each step, or at each in turn, whatever the verdicts; the first that passed
    stands, or with ``first_stands=False`` the best that did. ``pass_margin``: a score passes only so many points above its
    threshold, since it is noisy. ``regrade_kept``: an attempt that was chosen as the best of several is graded once more, and
    that score is the one reported.
    ``max_parallel``: so many steps that do not depend on one another, nor share files, are worked on at once; with more than one
    each step's tree holds what it builds on alone, which is part of the identity. ``max_seconds``: time in which anything was
    carried out, over all resumes; what is under way when it is over is cut.
    ``canaries``: known-bad artifacts that the judge is shown first; on what it passes there it is not listened to in this run.
    ``review_seconds`` limits each command of a review; ``review_methods`` adds the user's own.
    ``skills`` are those that the planner picks among, by name; the file in which it is kept how they did is ``registry`` ("off":
    in none; None: in the person's data directory, and only where live models are asked), which is no part of the task.
    ``allow_unsafe``: where no sandbox holds, run generated code all the same, as this user and with this user's files; only a
    person says so in Python, and no file beside a notebook can.
    ``rater``: another judge than the evaluator's model with the prompt that is shipped, as `pge_nb.studies` keeps them.
    ``inputs`` are those that `pge_nb.inputs.given` makes; no setting, but part of the task.
    ``unchosen`` names the settings that nobody chose for this task, but the machine or the default: they yield to those of a
    run that was begun.
    """

    working_directory: Path | str = "work"
    shared_state_path: Path | str = FILE_NAME
    review_methods: Mapping[str, Review] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    allow_unsafe: bool = False
    rater: Rater | None = None
    inputs: Given = field(default_factory=Given)
    unchosen: Collection[str] = ()

    def __post_init__(self) -> None:
        given: object = self.evaluator
        if given is False:
            object.__setattr__(self, "evaluator", "off")
        _among("evaluator", [self.evaluator], get_args(Judging))
        _among("approve", [] if self.approve is None else [self.approve], get_args(Approved))
        for name in ("planner", "contract"):
            _either(name, getattr(self, name))
        if self.second_look is not None:
            _either("second_look", self.second_look)
        _whole("max_steps", self.max_steps, least=1)
        _whole("max_retries_per_step", self.max_retries_per_step, least=0)
        _whole("max_contract_rounds", self.max_contract_rounds, least=1)
        _whole("max_tokens", self.max_tokens, least=16)
        _whole("hidden_cases", self.hidden_cases, least=0)
        _whole("canaries", self.canaries, least=0)
        _check_counts("keep_going", self.keep_going)
        _whole("max_replans", self.max_replans, least=0, most=MOST_REPLANS)
        if self.max_flat is not None:
            _whole("max_flat", self.max_flat, least=1)
        for name in ("until_met", "regrade_kept", "feedback", "first_stands"):
            _either(name, getattr(self, name))
        _whole("max_parallel", self.max_parallel, least=1)
        if self.max_seconds is not None:
            _between("max_seconds", self.max_seconds, 0, 10**9)
        _whole("max_turns", self.max_turns, least=1)
        _whole("max_context_tokens", self.max_context_tokens, least=1_000)
        for name in WITH_TOOLS.values():
            _among(name, [getattr(self, name)], get_args(Tools))
        _between("degrade_floor", self.degrade_floor, 0, 10)
        _between("noise", self.noise, 0, 10)
        _between("pass_margin", self.pass_margin, 0, 10)
        _between("review_seconds", self.review_seconds, 0.1, 3_600)
        for name, threshold in self.default_thresholds.items():
            _between(f"the threshold of {name}", threshold, 0, 10)
        _among("on_exhausted", self.on_exhausted, get_args(OnExhausted))
        _among("models", self.models, get_args(Role))
        _either("allow_unsafe", self.allow_unsafe)
        if JUDGE in self.review_methods:
            raise BadInput(
                f"A review method cannot be named {JUDGE!r}: that is the judge call.", "Give it another name."
            )
        check_skills(self.skills)
        if self.rater is not None:
            _check_rater(self.rater, self.evaluator)
        if self.registry is not None and not str(self.registry).strip():
            raise BadInput("The registry is an empty path.", "Give the path of a file, or 'off'.")
        if self.trace is not None and not str(self.trace).strip():
            raise BadInput("The trace is an empty path.", "Give the path of a file, as in trace='trace.jsonl'.")
        self.limits  # noqa: B018 - says what is wrong with a limit

    @property
    def limits(self) -> Limits:
        """The limits on calls, tokens and dollars."""
        return Limits(max_calls=self.max_calls, max_tokens_total=self.max_tokens_total, max_dollars=self.max_dollars)

    @property
    def state_path(self) -> Path:
        """The state file, absolute."""
        return Path(self.shared_state_path).absolute()

    @property
    def work(self) -> Path:
        """The working directory, absolute. ``BadInput`` if it would hold the state file."""
        directory = self.state_path.parent / self.working_directory
        if self.state_path.resolve().is_relative_to(directory.resolve()):
            raise BadInput(
                f"The working directory {self.working_directory} would hold the state file.",
                "Give a directory beside or below it, as in working_directory='work'.",
            )
        return directory

    @property
    def trace_path(self) -> Path | None:
        """The file of the trace, absolute; None: there is none. ``BadInput`` where it would stand among what is made."""
        if self.trace is None:
            return None
        path = Path(os.path.normpath(Path(self.trace).expanduser().absolute()))
        if path.resolve().is_relative_to(self.work.resolve()):
            raise BadInput(f"The trace {path} would stand in the working directory.", "Name a file elsewhere.")
        return path

    def settings(self) -> dict[str, Json]:
        """The settings as the task section freezes them, with the models' names resolved.

        A recording brings its own: models and settings are those of the run that was recorded.
        """
        settings: dict[str, Json] = {
            "models": {role: self._model(role) for role in get_args(Role)},
            "effort": self._efforts(),
            "working_directory": os.path.relpath(self.work, self.state_path.parent).replace(os.sep, "/"),
            "review_methods": sorted(self.review_methods),
            "prompts": dict(hashes()),
        }
        taken = {
            "model",
            "models",
            "effort",
            "shared_state_path",
            "working_directory",
            "review_methods",
            "skills",
            "registry",
            "trace",
            "unchosen",
            "inputs",
        }
        for item in fields(self):
            if item.name not in taken:
                settings[item.name] = encode(getattr(self, item.name))
        settings |= {name: self._with_tools(role, name) for role, name in WITH_TOOLS.items()}
        for name, value in UNSAID.items():
            if settings[name] == value:
                del settings[name]
        if self.skills:
            settings["skills"] = freeze({name: self._frozen(skill) for name, skill in self.skills.items()})
        if self.rater is not None:
            settings["evaluator_tools"] = "on" if self.rater.mode.endswith(TOOLS_MODE) else "off"
        if machine := self._of_the_machine():
            settings["unchosen"] = machine
        if self.model and self.model.startswith(RECORDING):
            settings.pop("regrade_kept", None)  # a call that an older recording does not hold
            settings.pop("skills", None)
            settings.pop("rater", None)
            for name in set(ROLES) - {"approve"}:
                settings.pop(name, None)  # those that took part are those that were recorded
            settings |= self._recorded(self.model)
        return dict(sorted(settings.items()))

    def _model(self, role: Role) -> str:
        return (self.models.get(role) or self.model or default_model(os.environ)).strip()

    def _with_tools(self, role: Role, name: str) -> Tools:
        return self._tools_with(self._model(role), getattr(self, name))

    def _frozen(self, skill: Skill) -> FrozenSkill:
        model = (skill.model or self._model("generator")).strip()
        return FrozenSkill.of(skill, with_tools=self._tools_with(model, self.generator_tools) == "on")

    @staticmethod
    def _tools_with(model: str, chosen: Tools) -> Tools:
        """What "auto" comes to with a model."""
        if chosen != "auto":
            return chosen
        return "on" if not is_practice(model) and Prices.load().of(model) else "off"

    def _of_the_machine(self) -> list[str]:
        """Those of the unchosen settings that have another value than the default: so this machine alone gave them."""
        usual = HarnessConfig()
        own = {"registry", "trace"}  # where it is kept how skills did, and what is traced, is the machine's own affair
        return sorted(name for name in set(self.unchosen) - own if getattr(self, name) != getattr(usual, name))

    def _efforts(self) -> Json:
        if self.effort is None or isinstance(self.effort, str):
            return None if self.effort is None else dict.fromkeys(get_args(Role), self.effort)
        return dict(sorted(self.effort.items()))

    def _recorded(self, model: str) -> dict[str, Json]:
        header = Replay(recorded_at(model)).header
        recorded = header.get("settings")
        if not isinstance(recorded, dict):
            raise BadInput(f"{model} does not say with which settings it was made.", "Use a calls.jsonl of a run.")
        return {name: value for name, value in recorded.items() if name != "working_directory"} | {"recording": model}


def identity(prompt: str, settings: Mapping[str, Json], inputs: Mapping[str, Json] = MappingProxyType({})) -> str:
    """The run id: the first 16 hex of the sha256 of prompt, inputs and the settings that change the outcome."""
    tools = {name: "on" for name in WITH_TOOLS.values() if settings.get(name) == "on"}
    counts = {name: settings[name] for name in COUNTED if settings.get(name)}
    skills = {"skills": settings["skills"]} if settings.get("skills") else {}
    apart = {"apart": True} if "max_parallel" in settings else {}
    roles = {name: settings[name] for name in ROLES if settings.get(name, UNSAID[name]) != UNSAID[name]}
    rater = settings.get("rater")
    judge = {"rater": rater["id"]} if isinstance(rater, Mapping) else {}
    made_of = {
        "prompt": prompt,
        **{name: settings.get(name) for name in IDENTITY},
        **inputs,
        **tools,
        **counts,
        **skills,
        **apart,
        **roles,
        **judge,
    }
    return hashlib.sha256(compact(made_of).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def of_then(settings: Mapping[str, Json], frozen: Mapping[str, Json]) -> dict[str, Json]:
    """The settings with the defaults that held when the run with the ``frozen`` ones was begun."""
    prompts, usual = frozen.get("prompts"), HarnessConfig()
    if isinstance(prompts, Mapping) and "replan" in prompts:
        return dict(settings)
    was = {name: value for name, value in FORMER.items() if settings.get(name) == encode(getattr(usual, name))}
    return {**settings, **was}


def check_end(settings: Mapping[str, Json]) -> None:
    """``BadInput`` where a run would retry until all is met and has no limit that is sure to end it.

    A limit ends it where every retry uses some of what is limited, whoever makes the attempt: dollars where somebody is asked
    who costs any, calls and tokens where a model is asked at all.
    """
    if not settings.get("until_met"):
        return
    asked, prices = _asked_at_every_retry(settings), Prices.load()
    binding = {
        "max_seconds": True,
        "max_dollars": any(prices.bind(any_of) and all(prices.bind([one]) for one in any_of) for any_of in asked),
        **dict.fromkeys(("max_calls", "max_tokens_total"), any(all(any_of) for any_of in asked)),
    }
    if not any(settings.get(name) is not None and binding[name] for name in ENDS_A_RUN):
        none = [name.split("_")[1] for name in ENDS_A_RUN if settings.get(name) is not None]
        free = f" (a retry may use no {' and no '.join(none)})" if none else ""
        able = [name for name in ENDS_A_RUN if binding[name]]
        flag = "--max-tokens-total 400000" if binding["max_tokens_total"] else "--max-seconds 600"
        raise BadInput(
            f"until_met retries without end, and no limit that was set would end it{free}.",
            f"Set {'one of ' if len(able) > 1 else ''}{', '.join(able)} too, as in {flag}.",
        )


def _asked_at_every_retry(settings: Mapping[str, Json]) -> list[list[str]]:
    """The models of which one is asked at each attempt, and at each evaluation; an empty name where it may be none."""
    models, skills, rater = settings.get("models"), settings.get("skills"), settings.get("rater")
    of_roles = {role: str(name) for role, name in models.items()} if isinstance(models, Mapping) else {}
    makes = [of_roles.get("generator", "")]
    for skill in skills.values() if isinstance(skills, Mapping) else ():
        if isinstance(skill, Mapping):
            makes.append("" if skill.get("code") else str(skill.get("model") or makes[0]))
    if settings.get("evaluator") in (False, "off"):
        return [makes]
    judge = str(rater.get("model")) if isinstance(rater, Mapping) else of_roles.get("evaluator", "")
    return [makes, [makes[0] if settings.get("evaluator") == "self" else judge]]


def uses_practice(settings: Mapping[str, Json]) -> bool:
    """Whether any role, or a skill, is played by the practice model."""
    return any(map(is_practice, models_in(settings)))


def limits_in(settings: Mapping[str, Json]) -> Limits:
    """The limits that stand in a run's settings, amendments applied."""
    values = {name: settings.get(name) for name in ("max_calls", "max_tokens_total", "max_dollars")}
    return Limits(**values)  # type: ignore[arg-type]


def _check_counts(name: str, value: int | tuple[int, ...]) -> None:
    """A count for all, which may be 0, or one for each in turn."""
    for count in value if isinstance(value, tuple) else ():
        _whole(name, count, least=1)
    if not isinstance(value, tuple):
        _whole(name, value, least=0)


def _check_rater(rater: Rater, evaluator: str) -> None:
    if rater.who != "judge" or not rater.prompt or rater.mode.startswith("self") or rater.alone or rater.logged:
        raise BadInput(
            f"{rater.id} cannot judge a run: only a fresh judge with a prompt of its own can.",
            "%pge rater lists them.",
        )
    if evaluator != "fresh":
        raise BadInput(f"A rater was chosen, and evaluator is {evaluator!r}.", "Give one of them.")


def _whole(name: str, value: object, *, least: int, most: int = 10**9) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise BadInput(f"{name} is {quoted(value)}.", f"Give a whole number of at least {least}.")
    if value > most:
        raise BadInput(f"{name} is {quoted(value)}.", f"Give a whole number of at most {most:,}.")


def _either(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise BadInput(f"{name} is {value!r}.", "Give True or False.")


def _between(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInput(f"{name} is {quoted(value)}.", f"Give a number from {least:g} to {most:g}.")


def _among(name: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    if unknown := set(given) - set(known):
        raise BadInput(f"{name} names {min(unknown)!r}.", f"There are {', '.join(known)}.")
