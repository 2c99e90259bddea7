"""The contract that a negotiation comes to: a pure function of the state file."""

from __future__ import annotations

from dataclasses import replace

from .abreast import shared_with
from .payloads import compact
from .phases import takes_part
from .prose import counted
from .records import Check, Proposal, Response, StepContract
from .run import Run
from .sentences import module_of, said_case
from .verdict import JUDGE


def settled(run: Run, step: int) -> StepContract:
    """The version agreed, else the evaluator's last one, else the proposal; with a person's checks, and those carried over.

    A step that goes on in a file of an earlier step may not break it: what was checked there by a review is checked again.
    """
    if not takes_part(run.settings, "contract"):
        return _with_amendments(_of_the_plan(run, step), run, step)
    contract = _with_amendments(_negotiated(run, step), run, step)
    carried = _carried(run, step, contract)
    if not carried:
        return contract
    origin = f"{contract.origin}; {len(carried)} of the checks come from earlier steps that share its files"
    return replace(contract, checks=(*contract.checks, *carried), origin=origin)


def _of_the_plan(run: Run, step: int) -> StepContract:
    """Without contracts: what the plan says of a step is for the judge, in the files that the plan names, if it names any."""
    planned = run.step(step)
    says = planned.success or (planned.description,)
    return StepContract(
        deliverables=run.plan.deliverables if run.plan else (),
        checks=tuple(Check(id=f"c{n}", says=sentence) for n, sentence in enumerate(says, 1)),
        agreed=False,
        origin="made of the plan, without negotiation: contracts are off",
    )


def _with_amendments(contract: StepContract, run: Run, step: int) -> StepContract:
    """The contract with what a person asked for: what no check says yet is one more check, a line each."""
    known = {_folded(check.says) for check in contract.checks}
    asked = [line.strip().lstrip("-* ") for text in run.amendments(step, "contract") for line in text.split("\n")]
    lines = [line for line in dict.fromkeys(asked) if line and _folded(line) not in known]
    if not lines:
        return contract
    module = module_of(contract.deliverables)
    first = len(contract.checks) + 1
    added = tuple(_asked(f"c{n}", line, module) for n, line in enumerate(lines, first))
    origin = f"{contract.origin}; {counted(len(added), 'check')} added by a person"
    return replace(contract, checks=(*contract.checks, *added), origin=origin)


def _asked(name: str, line: str, module: str | None) -> Check:
    """A check in a person's words: one that says a call and what comes of it, as ``f(1) == 2``, is run; else it is judged."""
    case = said_case(line, module) if module else None
    return Check(id=name, says=line, method="oracle", args=case) if case else Check(id=name, says=line)


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).rstrip(".")


def _negotiated(run: Run, step: int) -> StepContract:
    proposals, answers = run.talk(step)
    proposal, responses = proposals[-1].payload, [section.payload for section in answers]
    last = responses[-1]
    if not isinstance(proposal, Proposal) or not isinstance(last, Response):
        raise TypeError("a negotiation holds proposals and responses")
    if last.agreed:
        origin = f"agreed in round {len(responses)}"
        return StepContract(deliverables=proposal.deliverables, checks=proposal.checks, agreed=True, origin=origin)
    for response in reversed(responses):
        if isinstance(response, Response) and response.checks and response.deliverables:
            origin = f"not agreed in {counted(len(responses), 'round')}; the evaluator's last version stands"
            return StepContract(deliverables=response.deliverables, checks=response.checks, agreed=False, origin=origin)
    origin = (
        f"not agreed in {counted(len(responses), 'round')}; the evaluator gave no version, so the last proposal stands"
    )
    return StepContract(deliverables=proposal.deliverables, checks=proposal.checks, agreed=False, origin=origin)


def _carried(run: Run, step: int, contract: StepContract) -> tuple[Check, ...]:
    """The checks of earlier steps whose files this one could break, each once; those for the judge where a file is shared."""
    known = {_same(check) for check in contract.checks}
    carried: list[Check] = []
    for before in shared_with(run, step, contract.deliverables):
        shared = bool(set(before.deliverables) & set(contract.deliverables))
        for check in before.checks:
            if (shared or check.method != JUDGE) and _same(check) not in known:
                known.add(_same(check))
                carried.append(replace(check, id=f"c{len(contract.checks) + len(carried) + 1}"))
    return tuple(carried)


def _same(check: Check) -> tuple[str, str, str]:
    return check.method, check.says, compact(dict(check.args))
