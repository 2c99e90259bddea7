"""What a run has cost, as words and tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..display import Cell, Share, Table
from ..prose import counted
from ..readings import TOKENS

if TYPE_CHECKING:
    from pandas import DataFrame


def cost_table(frame: DataFrame) -> Table:
    """By phase and role, steps and rounds together."""
    rows = [
        (
            str(phase),
            str(group["role"].iloc[0]) if phase != "unfinished" else None,
            *_amounts(group),
            _share(group, frame),
        )
        for phase, group in frame.groupby("phase", sort=False)
    ]
    return Table(caption="Cost by phase", heads=("Phase", "Role", *AMOUNTS, _shared(frame)), rows=tuple(rows))


def roles_table(frame: DataFrame) -> Table:
    """By role and model, with the sum of all."""
    known = frame[frame["role"].notna()]
    rows: list[tuple[Cell, ...]] = [
        (str(role), ", ".join(dict.fromkeys(group["model"])), *_amounts(group), _share(group, frame))
        for role, group in known.groupby("role", sort=False)
    ]
    if len(frame) > len(known):
        rest = frame[frame["role"].isna()]
        rows.append(("unfinished", None, *_amounts(rest), _share(rest, frame)))
    rows.append(("together", None, *_amounts(frame), None))
    return Table(caption="Cost by role", heads=("Role", "Model", *AMOUNTS, _shared(frame)), rows=tuple(rows))


AMOUNTS = ("Calls", "Tokens in", "Tokens out", "Cached", "Dollars", "Seconds")


def _amounts(group: DataFrame) -> Iterable[Cell]:
    for name in ("calls", "tokens_in", "tokens_out", "tokens_cached"):
        yield int(group[name].sum()) if group[name].notna().all() else None
    yield _dollars(group) or "no price"
    yield f"{group['seconds'].sum():,.1f}"


def _in_dollars(frame: DataFrame) -> bool:
    """Whether shares are of dollars: of tokens where a price is not known, or nothing cost."""
    return bool(frame["dollars"].notna().all() and frame["dollars"].sum() > 0)


def _shared(frame: DataFrame) -> str:
    return "Share of dollars" if _in_dollars(frame) else "Share of tokens"


def _share(group: DataFrame, frame: DataFrame) -> Cell:
    columns = ["dollars"] if _in_dollars(frame) else TOKENS
    part, whole = (float(one[columns].sum().sum()) for one in (group, frame))
    return Share(part / whole) if whole else None


def _dollars(group: DataFrame) -> str | None:
    if group["dollars"].isna().any():
        return None
    total = group["dollars"].sum()
    return "$0" if total == 0 else f"${total:.4f}" if total < 0.1 else f"${total:.2f}"


def rounds_table(frame: DataFrame) -> Table:
    """A row a step, phase, role and round."""
    rows: list[tuple[Cell, ...]] = []
    for label, row in frame.iterrows():
        where = (str(row["phase"]), or_none(row["role"]), or_none(row["step"]), or_none(row["round"]))
        rows.append((*where, *_amounts(frame.loc[[label]])))
    return Table(caption="Cost by step and round", heads=("Phase", "Role", "Step", "Round", *AMOUNTS), rows=tuple(rows))


def bill(frame: DataFrame) -> str:
    """The whole cost in one line."""
    tokens = int(frame[TOKENS].sum().sum())
    calls = int(frame["calls"].sum())
    dollars = _dollars(frame) or "no price known"
    unfinished = int(frame.loc[frame["phase"] == "unfinished", "calls"].sum())
    more = f", {unfinished} of them unfinished" if unfinished else ""
    return (
        f"Cost: {counted(calls, 'call')}{more}, {counted(tokens, 'token')}, {dollars}, {frame['seconds'].sum():,.1f} s"
    )


def or_none(value: Any) -> Cell:
    """The value as a cell; None where a frame has none."""
    from pandas import isna

    return None if isna(value) else value if isinstance(value, str) else int(value)
