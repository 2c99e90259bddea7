"""Steps side by side: on what each of them rests, and who waits for whom, so that time decides nothing.

Where steps may be worked on at the same time, whatever a step is told, starts from and is held to follows from the plan and
from the steps that it builds on, never from how far the others happen to be. docs/decisions/0010 has the reasons.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from . import dag
from .records import FileRef, Proposal, Response, Step, StepContract
from .run import ENDED, Run

FAILED = frozenset({"failed", "infeasible"})


def apart(run: Run) -> bool:
    """Whether each step of the run has a tree of its own. Said when the task is begun: it changes what a run comes to."""
    most = run.task.settings.get("max_parallel")
    return isinstance(most, int) and most > 1


def at_once(run: Run) -> int:
    """How many steps may be worked on at the same time now; an amendment may change it where they are `apart`."""
    most = run.settings.get("max_parallel")
    return most if isinstance(most, int) and apart(run) else 1


def builds_on(run: Run, step: int, deliverables: Collection[str]) -> tuple[int, ...]:
    """The steps whose outputs stand in a step's tree, the later one's files over the earlier one's.

    One after another: all that stand before it in the plan. Apart: those that it depends on, and those that share its files
    and had their contract before it.
    """
    if not apart(run):
        return tuple(one.number for one in run.before(step))
    since = _settled_at(run, step)
    above = dag.ancestors(run.steps, step)
    members = [
        one.number
        for one in run.steps
        if one.number in above or (one.number != step and _shares_before(run, one.number, deliverables, since))
    ]
    return tuple(sorted(members, key=lambda number: _decided_at(run, number)))


def shared_with(run: Run, step: int, deliverables: Collection[str]) -> Iterator[StepContract]:
    """The contracts of the steps before it whose outputs stand, and whose files this step's could break, in their order."""
    touch = _may_touch if apart(run) else _same_module
    for number in builds_on(run, step, deliverables):
        contract = run.contract(number)
        if contract is not None and run.accepted(number) is not None and touch(contract.deliverables, deliverables):
            yield contract


def overlap(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether two steps' files cannot be made without one another: the same file, or one in whose way the other stands.

    ``calc/__init__.py`` stands in the way of ``calc.py``, and of all in ``calc/``; ``calc/a.py`` and ``calc/b.py`` do not touch.
    """
    names = {_imported_as(path) for path in left}, {_imported_as(path) for path in right}
    return any(one[: len(other)] == other or other[: len(one)] == one for one in names[0] for other in names[1])


def _may_touch(left: Collection[str], right: Collection[str]) -> bool:
    """Whether two steps' files overlap, or may: a step that names none may write any."""
    return not left or not right or overlap(left, right)


def _imported_as(path: str) -> tuple[str, ...]:
    """The parts of what a file is imported by; of any other file, of its path."""
    parts = tuple(path.removesuffix(".py").split("/"))
    return parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts


def _same_module(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether two steps write below the same first name."""
    first = [{path.split("/", 1)[0].removesuffix(".py") for path in paths} for paths in (left, right)]
    return not first[0].isdisjoint(first[1])


def standing_outputs(run: Run) -> list[tuple[FileRef, ...]]:
    """What stands for the steps, in the order in which one's files go over another's."""
    numbers = [step.number for step in run.steps]
    if apart(run):
        numbers.sort(key=lambda number: _decided_at(run, number))
    return [run.outputs(number) for number in numbers]


def blocked_by(run: Run, step: int) -> tuple[int, ...]:
    """The steps that failed and that a step builds on, directly or by way of others: it waits in vain."""
    above = dag.ancestors(run.steps, step)
    return tuple(one.number for one in run.steps if one.number in above and run.state(one.number) in FAILED)


def may_settle(run: Run, step: int) -> bool:
    """Whether the contract of a step can be settled now: whatever is carried over into it must be certain.

    Contracts are settled in one order: by depth in the plan, then by place in it. A step waits for those before it in that
    order, unless a person is asked first; and until those that share its files are done.
    """
    depth = dag.depths(run.steps)
    place = {one.number: (depth[one.number], at) for at, one in enumerate(run.steps)}
    wanted = _wanted(run, step)
    for one in run.steps:
        if one.number == step:
            continue
        stands = _stands(run, one.number)
        if stands is None:
            if place[one.number] < place[step] and not _is_held(run, one):
                return False
        elif run.state(one.number) not in ENDED and _may_touch(stands.deliverables, wanted):
            return False
    return True


def may_be_judged(run: Run, step: int) -> bool:
    """Whether an attempt can be evaluated now where the judge is shown known-bad work first: every step before it was, once."""
    return all(run.of("evaluation", one.number, purpose="gate") or _is_held(run, one) for one in run.before(step))


def _stands(run: Run, step: int) -> StepContract | None:
    """The contract of a step, unless it is negotiated again."""
    return None if run.reopened(step) else run.contract(step)


def _is_held(run: Run, step: Step) -> bool:
    """Whether a step gets no contract as things are: it never can, or waits for a person's answer."""
    above = dag.ancestors(run.steps, step.number) | {step.number}
    return run.state(step.number) in ENDED or any(run.state(one) == "asking" for one in above)


def _wanted(run: Run, step: int) -> set[str]:
    """Every file that was named while a step's contract was negotiated; where nothing is negotiated, the plan's."""
    talk = [section.payload for sections in run.talk(step) for section in sections]
    named = {path for one in talk if isinstance(one, Proposal | Response) for path in one.deliverables or ()}
    return named if talk or run.plan is None else set(run.plan.deliverables)


def _shares_before(run: Run, step: int, deliverables: Collection[str], since: float) -> bool:
    contract = run.contract(step)
    return contract is not None and _settled_at(run, step) < since and _may_touch(contract.deliverables, deliverables)


def _settled_at(run: Run, step: int) -> float:
    contracts = run.of("contract", step)
    return contracts[-1].seq if contracts else float("inf")


def _decided_at(run: Run, step: int) -> float:
    decisions = run.of("decision", step)
    return decisions[-1].seq if decisions else float("inf")
