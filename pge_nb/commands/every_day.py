"""Every day: run a task, look at it, answer, go on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from .. import bank, views
from ..detached import take_over
from ..display import Code, Table, View, Words
from ..errors import BadInput, PgeError
from ..harness import PGEHarness
from ..models import Request
from ..models.choose import is_practice
from ..phases import due
from ..prose import counted
from ..records import Answer, Choice, Role, Section, Verdict
from ..run import Run
from ..skills import frozen_in
from ..views.ends import open_questions
from ..views.hidden import hidden_view
from ..views.skilled import skills_view
from ..widgets.progress import Quiet
from .addresses import Address, located
from .away import send_away
from .beginning import TRACE, LimitFlags, TaskFlags, amend_limits, begun, harness_over
from .earlier import of
from .estimating import ahead
from .here import Here, NoWidgets
from .rehearsing import DryRun, rehearsed, rehearsed_further
from .sent import parts
from .standing import ELSEWHERE, at_hand, outcome, run_view
from .use_it import side_of

What = Literal[
    "run", "plan", "contract", "evaluations", "trajectory", "decisions", "cost", "prompt", "hidden", "skills"
]
WITHOUT_VERDICTS = frozenset({"contract", "cost", "skills"})
"""What is shown of a run without telling how any attempt was judged."""
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
    view = run_view(run, here.path)
    here.shows_verdicts(run)
    rows = [("Directory", str(here.directory)), ("State file", str(here.path))]
    rows += [("Task", here.name)] if here.name else []
    where = Table(caption="Here", heads=("What", "Where"), rows=tuple(rows))
    return replace(view, blocks=(*view.blocks, where), notes=(*view.notes, *here.news(run)))


def run(
    here: Here,
    name: Annotated[str, "a place of its own for this task, below the notebook"] = "",
    /,
    flags: TaskFlags = TaskFlags(),
    *,
    body: str = "",
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
    detach: Annotated[bool, "go on in a process of its own: the kernel is free at once"] = False,
    no_widgets: NoWidgets = False,
    dry_run: DryRun = None,
) -> View:
    """Carry a task to its end; the body of the cell is its prompt. Run again, it goes on or shows what is done."""
    if dry_run:
        return rehearsed(here, name, body, flags, dry_run)
    harness, said = begun(here, name, body, flags)
    return carry_on(here, harness, raise_=raise_, detach=detach, widgets=not no_widgets, said=said)


def show(
    here: Here,
    what: Annotated[What, "what to look at"] = "run",
    /,
    *at: Annotated[
        str,
        "STEP[.ATTEMPT][/CHECK], after NAME@N: for another run; for a prompt, a role before it; several evaluations side by side",
    ],
    at_: Annotated[int | None, "as it stood after this section; they are counted from 0"] = None,
    verdict: Annotated[Verdict | None, "of the evaluations only what has this verdict"] = None,
) -> View:
    """Look at a run: its plan, contracts, evaluations, trajectory, decisions, cost, or what an agent was sent."""
    if verdict and what != "evaluations":
        raise BadInput("--verdict is of evaluations alone.", f"%pge show evaluations --verdict {verdict}")
    if what == "evaluations" and len(at) > 1 and at_ is None:
        sides = [side_of(here, one) for one in at]
        for side in sides:
            here.shows_verdicts(side.run, side.step, side.attempt)
        return views.beside_view(sides, verdict)
    role = at[0] if what == "prompt" and at and at[0] in ROLES else ""
    text = " ".join(at[1:] if role else at)
    there, run, place = located(text, here)
    then = run if at_ is None else as_of(run, at_)
    if what == "cost" and len(then.sections) < len(run.sections):
        then = Run(then.sections)  # the call log does not tell which calls were not made yet
    if what == "prompt":
        view = prompt(there, then, role, place)
    elif what == "run":
        view = run_view(run, there.path) if at_ is None else views.run_view(then)
    elif what == "skills":
        view = skills_view(then, there.registry)
    else:
        view = _shown(then, what, place, verdict)
    if what not in WITHOUT_VERDICTS:
        here.shows_verdicts(then, place.step, place.attempt)
    view = at_hand(view, run, there.path) if there is here else of(text.partition(":")[0], view)
    if at_ is not None:
        if what == "cost" and len(then.sections) < len(run.sections):
            view = replace(
                view, notes=(*view.notes, "Of sections alone: calls that no section rests on are not counted here.")
            )
        return _dated(view, at_, len(run.sections) - 1, " ".join(("%pge show", what, *at)))
    return replace(view, notes=(*view.notes, *there.news(run)))


def as_of(run: Run, number: int) -> Run:
    """The run as it stood after a section; ``BadInput`` names the last where there is no such section."""
    last = len(run.sections) - 1
    if not 0 <= number <= last:
        raise BadInput(f"There is no section {number}.", f"They go from 0 to {last}: --at {last} is how it stands now.")
    return Run(run.sections[: number + 1], root=run.root)


def _dated(view: View, number: int, last: int, line: str) -> View:
    """The view of a run as it stood: what was next then is past, so the next action is to look one section further."""
    further = f"{line} --at {number + 1}" if number < last else view.next
    return replace(view, title=f"{view.title}, as of section {number} of {last}", next=further)


def _shown(run: Run, what: What, place: Address, verdict: Verdict | None) -> View:
    if what == "contract":
        return views.contract_view(run, place.step, place.check)
    if what == "evaluations":
        return views.evaluations_view(run, place.step, place.attempt, place.check, verdict=verdict)
    if what == "trajectory":
        return views.trajectory_view(run, place.step)
    if what == "decisions":
        return views.decisions_view(run, place.step)
    if what == "cost":
        return views.cost_view(run, place.step, place.attempt)
    if what == "hidden":
        return hidden_view(run, place.step)
    return views.plan_view(run)


def answer(
    here: Here,
    choice: Annotated[
        Choice, "what to do: of a plan or a contract approve, retry or stop; else retry, keep, advance or stop"
    ],
    /,
    *hint: Annotated[str, "words for whoever is to do it again: planner, those who negotiate, or generator"],
    body: str = "",
    step: Annotated[int | None, "the step, where several ask"] = None,
    all_: Annotated[bool, "every question that is open and has this choice"] = False,
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
    detach: Annotated[bool, "go on in a process of its own: the kernel is free at once"] = False,
    no_widgets: NoWidgets = False,
) -> View:
    """Answer the open question (approve, retry, keep, advance or stop), and go on."""
    run = here.needs_run()
    harness = harness_over(here, run)
    words = body.strip() or " ".join(hint)
    if (given := _given(here, run, Answer(choice=choice, text=words), step)) is not None:
        here.shown.add(given.sha256)
        told = f"This was answered before, in section {given.seq}: nobody was told it again."
        again = "The same line answers the question that is open now." if open_questions(run) else ""
        return _noted(here, run, " ".join(filter(None, (told, again))))
    for one in _asking(run, choice, step) if all_ else [step]:
        here.shown.update(section.sha256 for section in _answers(harness.answer(choice, words, one))[-1:])
    run = harness.state.read()
    if outcome(run, here.path) == ELSEWHERE:
        return _noted(here, run, "Your answer is in the file: the process that is at work goes on with it.")
    return carry_on(here, harness, raise_=raise_, detach=detach, widgets=not no_widgets)


def _noted(here: Here, run: Run, note: str) -> View:
    """The run as it stands, which is shown now, with a note."""
    here.shows_verdicts(run)
    view = run_view(run, here.path)
    return replace(view, notes=(*view.notes, note))


def _given(here: Here, run: Run, answer: Answer, step: int | None) -> Section | None:
    """The same answer of before, where the notebook is run again from its top: the oldest that this kernel has not met.

    One that it has met is meant anew where a question is open.
    """
    same = [one for one in _answers(run) if one.payload == answer and step in (None, one.record.step)]
    unmet = [one for one in same if one.sha256 not in here.shown]
    return next(iter(unmet), None if open_questions(run) or not same else same[-1])


def _asking(run: Run, choice: Choice, step: int | None) -> list[int | None]:
    """The steps whose questions have the choice; ``BadInput`` where there is none."""
    if step is not None:
        raise BadInput("Both --step and --all were given.", "Give one of them.")
    asking = [number for number, question in open_questions(run) if choice in question.choices]
    if not asking:
        raise BadInput(f"No open question has the answer {choice!r}.", "%pge shows what is asked.")
    return asking


def _answers(run: Run) -> list[Section]:
    return [section for section in run.sections if isinstance(section.payload, Answer)]


def resume(
    here: Here,
    flags: LimitFlags = LimitFlags(),
    *,
    raise_: Annotated[bool, "an error where the run does not pass, for CI"] = False,
    detach: Annotated[bool, "go on in a process of its own: the kernel is free at once"] = False,
    no_widgets: NoWidgets = False,
    trace: Annotated[str, TRACE] = "",
    dry_run: DryRun = None,
) -> View:
    """Go on where the run stopped; limits may be raised."""
    if dry_run:
        return rehearsed_further(here, flags, dry_run)
    run = here.needs_run()
    harness = harness_over(here, run, trace)
    amend_limits(harness, run, flags, here.configured)
    return carry_on(here, harness, raise_=raise_, detach=detach, widgets=not no_widgets)


def carry_on(
    here: Here,
    harness: PGEHarness,
    *,
    raise_: bool = False,
    detach: bool = False,
    widgets: bool = True,
    said: str = "",
) -> View:
    """Take the run to its end, to a question or to a limit, telling of it meanwhile; ``said`` is told as well.

    ``detach``: a process of its own does that. What has nothing left to do is shown at once.
    """
    run = harness.state.read()
    before = len(run.sections)
    if detach and raise_:
        raise BadInput("--raise needs the end of the run, and --detach does not wait for it.", "Give one of them.")
    if detach and due(run):
        if names := [name for name, skill in frozen_in(run.settings).items() if skill.code]:
            raise BadInput(
                f"The skill {names[0]!r} is a function of this notebook, and a process of its own does not have it.",
                "Leave out --detach.",
            )
        print_ahead(run)
        return send_away(harness, run, said, *here.news(run))
    run = carried(here, harness, widgets=widgets)
    view = views.run_view(run)
    here.shows_verdicts(run)
    met = "All of this was in the state file: nobody was asked, nothing was paid."
    told = filter(None, (said, met if len(run.sections) == before else ""))
    view = replace(view, notes=(*view.notes, *told, *here.news(run)))
    if raise_ and run.outcome != "passed":
        raise NotPassed(view, run)
    return view


def carried(
    here: Here,
    harness: PGEHarness,
    enough: Callable[[Run], bool] = lambda _: False,
    *,
    step: int | None = None,
    widgets: bool = True,
) -> Run:
    """Go on to the end, to a question, to a limit, or until there is ``enough``, telling of it meanwhile; the run.

    ``step``: with this one alone. ``widgets``: it may be told in the live panel.
    """
    run = harness.state.read()
    if due(run):
        take_over(harness.state.path)
    print_ahead(run)
    progress = here.progress(widgets) if due(run) else Quiet()
    harness.listen, harness.stop = progress.listen, progress.stop
    try:
        progress.begin(run)
        with contextlib.closing(harness.records(step)) as sections:  # type: ignore[type-var]
            for section in sections:
                progress.tell(section, run)
                if enough(run):
                    break
    except KeyboardInterrupt:
        raise Interrupted(run) from None
    finally:
        progress.close()
    if harness.stop is not None and harness.stop() and due(run):
        raise Interrupted(run)  # It did not end: a notebook that is run whole must not go on below it.
    return run


def print_ahead(run: Run) -> None:
    """Print what is ahead of a run that may cost money."""
    if cost := ahead(run):
        print(cost)  # noqa: T201 - also where progress is silent, and before anything is paid


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
        self.run = run

    @property
    def view(self) -> View:
        """How far it is, and why it goes no further."""
        return views.stopped_view(self.run)

    @property
    def lines(self) -> list[str]:
        """The fact and the next move."""
        return [str(self), "Go on with %pge resume."]

    def _render_traceback_(self) -> list[str]:
        return self.lines


def prompt(here: Here, run: Run, role: str, place: Address) -> View:
    """What an agent was sent at a place, or is to be sent next: one role, or all that were sent something there."""
    harness = harness_over(here, run)
    requests: list[Request] = []
    refusal: PgeError | None = None
    for one in ROLES:
        if role in ("", one):
            try:
                requests.append(harness.request(one, place.step, place.attempt, of=run))
            except BadInput as error:
                refusal = error
    if not requests and refusal:
        raise refusal
    return views.prompt_view(run, [part for request in requests for part in parts(request)])


def nothing_here(here: Here) -> View:
    """The place before anything was begun."""
    found = here.settings()
    model = str(found.given["model"].value)
    blocks = [
        Words(
            "A planner, a generator and an evaluator carry a task of yours to a checked result, in a file that you can read."
        )
    ]
    rows: list[tuple[str, str | Code]] = [("Directory", str(here.directory)), ("Model", model)]
    rows += [("Task", Code(f"%pge {name}")) for name in here.others()]
    table = Table(caption="Here", heads=("What", "Which"), rows=tuple(rows))
    first = f"%pge run --practice {bank.NAMES[0]}" if is_practice(model) else "%%pge run"
    return View(title="pge_nb: nothing was begun here yet", blocks=(*blocks, table), notes=found.doubts, next=first)
