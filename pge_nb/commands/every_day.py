"""Every day: run a task, look at it, answer, go on."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import Annotated, Literal

from .. import bank, views
from ..config import LIMITS, HarnessConfig
from ..display import Code, Table, View, Words
from ..errors import BadInput, PgeError
from ..harness import PGEHarness
from ..models import Request
from ..models.choose import default_model, is_practice
from ..models.practice import PracticeSettings
from ..notebook import make_room
from ..payloads import Json, compact
from ..prose import counted
from ..records import Choice, Role
from ..run import Run
from .addresses import Address, located
from .earlier import of
from .estimating import ahead
from .here import Here

What = Literal["run", "plan", "contract", "evaluations", "trajectory", "decisions", "cost", "prompt"]
ROLES: tuple[Role, ...] = ("planner", "generator", "evaluator")


def status(here: Here, name: Annotated[str, "the task; none: the unnamed one, beside the notebook"] = "", /) -> View:
    """What is here, and the one next action."""
    if name:
        here.turn_to(name)
    run = here.run()
    if run is None and not name and not here.state and len(names := here.names()) == 1:
        here.turn_to(names[0])
        run = here.run()
    if run is None:
        return nothing_here(here)
    view = views.run_view(run)
    rows = [("Directory", str(here.directory)), ("State file", str(here.path))]
    where = Table(caption="Here", heads=("What", "Where"), rows=tuple(rows))
    return replace(view, blocks=(*view.blocks, where))


def run(
    here: Here,
    name: Annotated[str, "a place of its own for this task, below the notebook"] = "",
    /,
    *,
    body: str = "",
    practice: Annotated[str, "a practice task instead of a prompt of your own"] = "",
    model: Annotated[str, "the model of every role"] = "",
    effort: Annotated[str, "how hard the model thinks, where it can be told"] = "",
    state: Annotated[str, "the state file's path, in place of a name"] = "",
    steps: Annotated[int | None, "at most so many steps"] = None,
    max_retries: Annotated[int | None, "so many attempts after a step's first"] = None,
    budget: Annotated[float | None, "at most so many dollars"] = None,
    max_tokens_total: Annotated[int | None, "at most so many tokens"] = None,
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
    skill: Annotated[float | None, "practice: 0 to 1, how good the generator is"] = None,
    leniency: Annotated[float | None, "practice: points that the evaluator adds"] = None,
    noise: Annotated[float | None, "practice: spread of the evaluator's scores"] = None,
    drift: Annotated[float | None, "practice: points that each attempt adds"] = None,
    seed: Annotated[int | None, "practice: another seed, other draws"] = None,
) -> View:
    """Carry a task to its end; the body of the cell is its prompt. Run again, it goes on or shows what is done."""
    prompt = _prompt(body, practice)
    place = here.elsewhere(name, state)
    simulated = {"skill": skill, "leniency": leniency, "noise": noise, "drift": drift, "seed": seed}
    chosen = model or ("practice" if practice else here.model) or ""
    limits = _limits(max_retries=max_retries, budget=budget, max_tokens_total=max_tokens_total)
    settings: dict[str, Json] = {**limits, **({} if steps is None else {"max_steps": steps})}
    config = HarnessConfig(
        model=_with_settings(chosen, simulated),
        effort=effort or None,
        shared_state_path=place.path,
        **settings,  # type: ignore[arg-type]
    )
    with place.made():
        room = make_room(place.place, prompt, config)
        harness = PGEHarness(room.config)
        begun = harness.start(prompt)
    here.turn_to(name, state)
    _amend(harness, begun, limits)
    return carry_on(here, harness, raise_=raise_, said=room.says(name))


def show(
    here: Here,
    what: Annotated[What, "what to look at"] = "run",
    /,
    *at: Annotated[str, "STEP[.ATTEMPT][/CHECK], after NAME@N: for another run; for a prompt, a role before it"],
) -> View:
    """Look at a run: its plan, contracts, evaluations, trajectory, decisions, cost, or what an agent was sent."""
    role = at[0] if what == "prompt" and at and at[0] in ROLES else ""
    text = " ".join(at[1:] if role else at)
    there, run, place = located(text, here)
    view = prompt(there, run, role, place) if what == "prompt" else _shown(run, what, place)
    return view if there is here else of(text.partition(":")[0], view)


def _shown(run: Run, what: What, place: Address) -> View:
    if what == "contract":
        return views.contract_view(run, place.step, place.check)
    if what == "evaluations":
        return views.evaluations_view(run, place.step, place.attempt, place.check)
    if what == "trajectory":
        return views.trajectory_view(run, place.step)
    if what == "decisions":
        return views.decisions_view(run, place.step)
    if what == "cost":
        return views.cost_view(run, place.step, place.attempt)
    return {"run": views.run_view, "plan": views.plan_view}[what](run)


def answer(
    here: Here,
    choice: Annotated[Choice, "what to do with the step that asks"],
    /,
    *hint: Annotated[str, "words that the next attempt is given"],
    body: str = "",
    step: Annotated[int | None, "the step, where several ask"] = None,
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
) -> View:
    """Answer the open question, and go on."""
    run = here.needs_run()
    harness = _harness(here, run)
    harness.answer(choice, body.strip() or " ".join(hint), step)
    return carry_on(here, harness, raise_=raise_)


def resume(
    here: Here,
    *,
    max_retries: Annotated[int | None, "so many attempts after a step's first"] = None,
    budget: Annotated[float | None, "at most so many dollars, over the whole run"] = None,
    max_tokens_total: Annotated[int | None, "at most so many tokens, over the whole run"] = None,
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
) -> View:
    """Go on where the run stopped; limits may be raised."""
    run = here.needs_run()
    harness = _harness(here, run)
    _amend(harness, run, _limits(max_retries=max_retries, budget=budget, max_tokens_total=max_tokens_total))
    return carry_on(here, harness, raise_=raise_)


def carry_on(here: Here, harness: PGEHarness, *, raise_: bool = False, said: str = "") -> View:
    """Take the run to its end, to a question or to a limit, telling of it meanwhile; ``said`` is told as well."""
    run, progress = harness.state.read(), here.progress()
    before = len(run.sections)
    if cost := ahead(run):
        print(cost)  # noqa: T201 - also where progress is silent, and before anything is paid
    try:
        with contextlib.closing(harness.records()) as sections:  # type: ignore[type-var]
            for section in sections:
                progress.tell(section, run)
    except KeyboardInterrupt:
        raise Interrupted(run) from None
    finally:
        progress.close()
    view = views.run_view(run)
    met = "All of this was in the state file: nobody was asked, nothing was paid."
    told = filter(None, (said, met if len(run.sections) == before else ""))
    view = replace(view, notes=(*view.notes, *told))
    if raise_ and run.outcome != "passed":
        raise NotPassed(view, run)
    return view


class NotPassed(PgeError):
    """A run that ended and did not pass, where ``--raise`` asked for an error."""

    def __init__(self, view: View, run: Run) -> None:
        super().__init__(f"The run ended {run.outcome}.", "%pge show evaluations tells why.")
        self.view = view


class Interrupted(KeyboardInterrupt):
    """A run that a person stopped; the file is whole."""

    def __init__(self, run: Run) -> None:
        super().__init__(
            f"Interrupted; {counted(len(run.sections), 'section is', 'sections are')} whole in the state file."
        )

    def _render_traceback_(self) -> list[str]:
        return [str(self), "Go on with %pge resume."]


def prompt(here: Here, run: Run, role: str, place: Address) -> View:
    """What an agent was sent at a place, or is to be sent next: one role, or all that were sent something there."""
    harness = _harness(here, run)
    requests: list[Request] = []
    refusal: PgeError | None = None
    for one in ROLES:
        if role in ("", one):
            try:
                requests.append(harness.request(one, place.step, place.attempt))
            except BadInput as error:
                refusal = error
    if not requests and refusal:
        raise refusal
    return views.prompt_view(run, [part for request in requests for part in _parts(request)])


def _parts(request: Request) -> list[tuple[str, str]]:
    about = request.about
    at = "" if about.step is None else f" {about.step}" if about.attempt is None else f" {about.step}.{about.attempt}"
    who = f"{about.role}, {about.phase}{at}"
    return [
        (f"{who}: model {request.model}, hash {request.hash[:16]}, at most {request.input_bytes:,} tokens in", ""),
        (f"{who}: system", request.system),
        *((f"{who}: {message['role']}", _text(message["content"])) for message in request.messages),
        *([(f"{who}: schema", compact(request.schema))] if request.schema is not None else []),
    ]


def _text(content: Json) -> str:
    return content if isinstance(content, str) else compact(content)


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


def _with_settings(model: str, simulated: dict[str, float | int | None]) -> str | None:
    """The model's name with the practice settings that were given as flags."""
    given = {name: value for name, value in simulated.items() if value is not None}
    if not given:
        return model or None
    name = model or default_model(os.environ)
    if not is_practice(name):
        raise BadInput(
            f"--{min(given)} is a setting of the practice model, and the model is {name}.",
            "Add --practice TASK or --model practice.",
        )
    settings = PracticeSettings.parse(name)
    known = {field: getattr(settings, field) for field in PracticeSettings.__dataclass_fields__}
    return PracticeSettings(**{**known, **given}).model_name


def _limits(*, max_retries: int | None, budget: float | None, max_tokens_total: int | None) -> dict[str, Json]:
    given = {"max_retries_per_step": max_retries, "max_dollars": budget, "max_tokens_total": max_tokens_total}
    return {name: value for name, value in given.items() if value is not None}


def _amend(harness: PGEHarness, run: Run, limits: dict[str, Json]) -> None:
    changed = {name: value for name, value in limits.items() if run.settings.get(name) != value}
    if changed:
        harness.amend("", **changed)


def _harness(here: Here, run: Run) -> PGEHarness:
    """The harness over a run that was begun: its settings are in the file, only the limits are taken from there."""
    limits = {name: run.settings[name] for name in LIMITS if name in run.settings}
    return PGEHarness(HarnessConfig(shared_state_path=here.path, **limits))  # type: ignore[arg-type]


def nothing_here(here: Here) -> View:
    """The place before anything was begun."""
    model = here.model or default_model(os.environ)
    blocks = [
        Words(
            "A planner, a generator and an evaluator carry a task of yours to a checked result, in a file that you can read."
        )
    ]
    rows: list[tuple[str, str | Code]] = [("Directory", str(here.directory)), ("Model", model)]
    rows += [("Task", Code(f"%pge {name}")) for name in here.names()]
    table = Table(caption="Here", heads=("What", "Which"), rows=tuple(rows))
    first = f"%pge run --practice {bank.tasks()[0].name}" if is_practice(model) else "%%pge run"
    return View(title="pge_nb: nothing was begun here yet", blocks=(*blocks, table), next=first)
