"""Every rater that is known in one place: those in ``study.md``, and those that runs alone tell of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..agents.raters import edited, rater_of
from ..errors import BadInput
from ..nearness import nearest
from ..records import EvaluationReport
from ..run import Run
from ..study_records import ALONE, Rater
from .items import ORACLE
from .study import StudyFile, StudyView

GATE = "gate"
"""How the judge of the run at hand is named."""
LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A rater, and where it is met: ``gates`` are the runs whose gate it is, ``evaluations`` and ``labels`` count its own."""

    rater: Rater
    gates: tuple[str, ...] = ()
    evaluations: int = 0
    labels: int = 0


def roster(runs: Iterable[Run], study: StudyView) -> tuple[Listed, ...]:
    """The raters of the study file, then those of the runs: judges of gates, of other evaluations, people, and the oracle."""
    found = {one.id: one for one in study.raters.values()}
    gates: dict[str, list[str]] = {}
    evaluations: dict[str, int] = {}
    for run in runs:
        gate = rater_of(run.settings)
        found.setdefault(gate.id, gate)
        gates.setdefault(gate.id, []).append(run.task.run)
        for section in run.sections:
            if isinstance(section.payload, EvaluationReport):
                rater = section.payload.rater
                evaluations[rater] = evaluations.get(rater, 0) + 1
        if run.task.practice is not None:
            found.setdefault(ORACLE, Rater(id=ORACLE, who="oracle", name=ORACLE))
    for rater in evaluations:
        found.setdefault(rater, Rater(id=rater, who="judge"))
    labels: dict[str, int] = {}
    for label in study.labels:
        labels[label.rater] = labels.get(label.rater, 0) + 1
        found.setdefault(label.rater, Rater(id=label.rater, who="person", name=label.rater))
    return tuple(
        Listed(
            rater=one,
            gates=tuple(dict.fromkeys(gates.get(one.id, ()))),
            evaluations=evaluations.get(one.id, 0),
            labels=labels.get(one.id, 0),
        )
        for one in found.values()
    )


def judge_called(said: str, listed: Sequence[Listed], gate: Rater) -> Rater:
    """The judge with this id or name; ``gate`` is the one that is so called. ``BadInput`` names those there are."""
    if said == GATE:
        return gate
    judges = {one.rater.id: one.rater for one in listed if one.rater.who == "judge"}
    named = {rater.name: rater for rater in judges.values() if rater.name}
    found = judges.get(said) or named.get(said) or (gate if said == gate.id else None)
    if found is not None and not found.prompt:
        raise BadInput(
            f"Of rater {said} only the id is known: how it was told is in no file here.", "Take another: %pge rater"
        )
    if found is None:
        people = {one.rater.id for one in listed} - set(judges)
        if said in people:
            raise BadInput(f"{said} is no judge, and cannot be asked again.", "Name a judge: %pge rater lists them.")
        near = nearest(said, [*judges, *named, GATE])
        there = ", ".join([GATE, *(rater.name or rater.id for rater in judges.values())])
        raise BadInput(f"There is no rater {said!r:.80}.", f"Did you mean {near}?" if near else f"There are: {there}.")
    return found


def edit(study: StudyFile, base: Rater, *, name: str, prompt: str = "", model: str = "", alone: bool = False) -> Rater:
    """The judge with another prompt or model, put down under ``name``; the one that it comes from is kept as well.

    ``alone``: it decides every check from the artifacts, without what reviews found. The same again is the same rater:
    nothing is put down.
    """
    check_name(name)
    if base.mode.startswith("self"):
        raise BadInput(
            f"Rater {base.id} judges in the generator's own turns: it has no prompt of its own.",
            "Begin with another one: --from RATER, of those that %pge rater lists.",
        )
    new = edited(base, name=name, prompt=prompt or None, model=model or None, mode=ALONE if alone else None)
    known = study.read().raters
    if new.id in known:
        new = replace(known[new.id], name=name)
    study.keep(base)
    # The last that was put down under a name has it: one that is edited back is put down again.
    if study.read().raters.get(new.id) != new or _called(study.read(), name) != new.id:
        study.add(new)
    return new


def _called(study: StudyView, name: str) -> str:
    return {rater.name: rater.id for rater in study.raters.values() if rater.name}.get(name, "")


def check_name(name: str) -> None:
    """``BadInput`` where a rater cannot be called so."""
    plain = name.isprintable() and not any(char.isspace() or char in ",=*" for char in name)
    if not plain or not name or len(name) > LONGEST_NAME or name in (GATE, ORACLE) or name.startswith(("-", "r-")):
        raise BadInput(
            f"{name!r:.80} cannot be the name of a rater.",
            f"Take letters, digits, - and _, {LONGEST_NAME} at most; {GATE} and {ORACLE} are taken, r- begins an id.",
        )
