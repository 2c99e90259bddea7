"""The contract that a negotiation comes to: a pure function of the state file."""

from __future__ import annotations

from dataclasses import replace

from .records import Check, Proposal, Response, StepContract
from .run import Run
from .verdict import JUDGE


def settled(run: Run, step: int) -> StepContract:
    """The version agreed, else the evaluator's last one, else the proposal; with the checks that files of earlier steps carry.

    A step that goes on in a file of an earlier step may not break it: what was checked there by a review is checked again.
    """
    contract = _negotiated(run, step)
    carried = _carried(run, step, contract)
    if not carried:
        return contract
    origin = f"{contract.origin}; {len(carried)} of the checks come from earlier steps that share its files"
    return replace(contract, checks=(*contract.checks, *carried), origin=origin)


def _negotiated(run: Run, step: int) -> StepContract:
    proposal = run.of("proposal", step)[-1].payload
    responses = [section.payload for section in run.of("response", step)]
    last = responses[-1]
    if not isinstance(proposal, Proposal) or not isinstance(last, Response):
        raise TypeError("a negotiation holds proposals and responses")
    if last.agreed:
        origin = f"agreed in round {len(responses)}"
        return StepContract(deliverables=proposal.deliverables, checks=proposal.checks, agreed=True, origin=origin)
    for response in reversed(responses):
        if isinstance(response, Response) and response.checks and response.deliverables:
            origin = f"not agreed in {len(responses)} rounds; the evaluator's last version stands"
            return StepContract(deliverables=response.deliverables, checks=response.checks, agreed=False, origin=origin)
    origin = f"not agreed in {len(responses)} rounds; the evaluator gave no version, so the last proposal stands"
    return StepContract(deliverables=proposal.deliverables, checks=proposal.checks, agreed=False, origin=origin)


def _carried(run: Run, step: int, contract: StepContract) -> tuple[Check, ...]:
    """The checks of earlier steps that share a deliverable with this one and that a review decides, each once."""
    known = {(check.method, check.says) for check in contract.checks}
    carried: list[Check] = []
    for earlier in run.steps:
        before = run.contract(earlier.number)
        if earlier.number >= step or before is None or run.accepted(earlier.number) is None:
            continue
        if not set(before.deliverables) & set(contract.deliverables):
            continue
        for check in before.checks:
            if check.method != JUDGE and (check.method, check.says) not in known:
                known.add((check.method, check.says))
                carried.append(replace(check, id=f"c{len(contract.checks) + len(carried) + 1}"))
    return tuple(carried)
