"""Before paying: what a run may take, told without asking anybody."""

from __future__ import annotations

from typing import Annotated

from ..display import Block, Table, View, Words
from ..errors import BadInput
from ..estimates import Estimate, costs_money
from ..estimates import estimate as estimated
from ..inputs import said_of
from ..models.limits import Prices
from ..payloads import Json
from ..phases import due
from ..run import Run
from ..views.ends import foot
from .addresses import located, parted
from .here import Here


def estimate(here: Here, run: Annotated[str, "NAME or NAME@N; none: the task that commands are about"] = "", /) -> View:
    """What a run, or one that is to begin here, may still take: calls, tokens, dollars. Nobody is asked for it."""
    return _told(here, _whole(here, run) if run else here.run())


def _whole(here: Here, address: str) -> Run:
    _, run, place = located(address, here)
    if place.step is not None:
        raise BadInput(
            "An estimate is of a whole run.", f"Leave the step out: %pge estimate {parted(address)[0]}".rstrip()
        )
    return run


def _told(here: Here, run: Run | None) -> View:
    settings = dict(run.settings) if run else here.settings().config(here.path).settings()
    if run and not due(run):
        blocks: list[Block] = [Words("Nothing is ahead: the run has ended, or waits for an answer.")]
    elif not costs_money(settings):
        blocks = [Words("It costs nothing: no live model is asked.")]
    else:
        told = estimated(settings, run or Run(), Prices.load())
        blocks = [Words(str(told)), _table(told)]
    if run and (seen := said_of(run.task.inputs, run.task.rows)):
        blocks.append(Words(seen))
    return View(
        title="Estimate of what is ahead",
        blocks=tuple(blocks),
        next="%pge show cost" if run else "%%pge run",
        foot=foot(run) if run else "",
    )


def ahead(run: Run) -> str:
    """What is told before a run that may cost money; empty where it cannot, or has nothing left to do."""
    settings: dict[str, Json] = dict(run.settings)
    if not due(run) or not costs_money(settings):
        return ""
    cost = str(estimated(settings, run, Prices.load()))
    return " ".join(filter(None, (cost, said_of(run.task.inputs, run.task.rows))))


def _table(told: Estimate) -> Table:
    rows = tuple((one.phase, one.least, one.likely, one.most, one.tokens, _dollars(one.dollars)) for one in told.phases)
    heads = ("Phase", "Calls from", "Likely", "To", "Tokens a call", "Dollars a call")
    return Table(caption="By phase, estimated", heads=heads, rows=rows)


def _dollars(amount: float | None) -> str:
    return "no price" if amount is None else f"${amount:.4f}"
