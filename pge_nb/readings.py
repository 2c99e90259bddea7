"""What a chart and the words beside it both read from frames, so that they cannot differ."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

TOKENS = ["tokens_in", "tokens_out", "tokens_cached", "tokens_to_cache"]


def noise_of(decisions: DataFrame) -> float | None:
    """The change of score that the last decision took for noise; None where none told."""
    told = [json.loads(numbers).get("noise") for numbers in decisions["numbers"].dropna()]
    known = [float(noise) for noise in told if isinstance(noise, int | float)]
    return known[-1] if known else None


def graded_again(plan: DataFrame | None) -> dict[int, tuple[int, float]]:
    """Step -> the attempt that was kept and the score of its second grade, where that is another than the first."""
    if plan is None:
        return {}
    graded = plan[plan["score"].notna() & plan["gate_score"].notna() & (plan["score"] != plan["gate_score"])]
    rows = zip(graded["step"], graded["accepted"], graded["score"], strict=True)
    return {int(step): (int(attempt), float(score)) for step, attempt, score in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bills:
    """(step, attempt) -> what making and judging it cost, in dollars; in tokens where a price is not known, or nothing cost."""

    unit: str
    amounts: Mapping[tuple[int, int], float]

    @classmethod
    def of(cls, cost: DataFrame) -> Bills | None:
        """The bills of the attempts, from the frame of costs; None where there are none."""
        made = cost[cost["phase"].isin(["generate", "evaluate"]) & cost["round"].notna()]
        priced = made["dollars"].notna().all() and made["dollars"].sum() > 0
        each = made["dollars"] if priced else made[TOKENS].sum(axis=1)
        amounts: dict[tuple[int, int], float] = defaultdict(float)
        for step, attempt, amount in zip(made["step"], made["round"], each, strict=True):
            amounts[int(step), int(attempt)] += float(amount)
        return cls(unit="dollars" if priced else "tokens", amounts=amounts) if any(amounts.values()) else None

    @property
    def most(self) -> float:
        """The dearest attempt's."""
        return max(self.amounts.values())

    def told(self, amount: float) -> str:
        """An amount in few letters."""
        if self.unit == "dollars":
            return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.3f}"
        return f"{amount:,.0f}" if amount < 10_000 else f"{amount / 1_000:,.0f}k"
