"""What a chart shows, in words: the numbers. Needs no drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..prose import counted
from ..readings import Bills, graded_again, noise_of
from ..run import DONE

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def plan_in_words(plan: DataFrame) -> str:
    """The steps of a plan with their states, what each needs, and what took its place."""
    from pandas import isna

    said = [f"A plan of {counted(len(plan), 'step')}."]
    for row in plan.to_dict("records"):
        needs = f", needs {row['depends_on']}" if row["depends_on"] else ""
        instead = "" if isna(row["replaced_by"]) else f", replaced by {row['replaced_by']}"
        said.append(f"Step {row['step']} ({row['state']}{needs}{instead}): {row['description'].rstrip('.')}.")
    return " ".join(said)


def alt_text(
    trajectory: DataFrame,
    decisions: DataFrame | None = None,
    cost: DataFrame | None = None,
    plan: DataFrame | None = None,
) -> str:
    """The numbers of a trajectory chart, in words, for whoever cannot see it."""
    told = ["Scores from 0 to 10 by attempt."]
    bills = None if cost is None else Bills.of(cost)
    if decisions is not None and (noise := noise_of(decisions)) is not None:
        told.append(f"Changes within {noise:g} count as no trend.")
    contract: dict[object, object] = {}
    for (step, attempt), rows in trajectory.groupby(["step", "attempt"], sort=True):
        scores = ", ".join(_in_words(row) for _, row in rows.iterrows() if row["about"] != "overall")
        overall = rows[rows["about"] == "overall"]
        verdict = overall["verdict"].iloc[0] if len(overall) else "unmeasured"
        score = f", overall {_number(overall['score'].iloc[0])}" if len(overall) else ""
        terms = rows["contract"].iloc[0]
        new = " (new contract)" if contract.get(step, terms) != terms else ""
        contract[step] = terms
        bill = _bill(bills, step, attempt)
        told.append(
            f"Step {step} attempt {attempt}{new}: {verdict}{score}; {scores}{bill}{_then(decisions, step, attempt)}."
        )
    told += [
        f"Step {step} attempt {attempt} was kept, and graded again: {_number(score)}."
        for step, (attempt, score) in graded_again(plan).items()
    ]
    return " ".join(told)


def _in_words(row: Series) -> str:
    from pandas import notna

    against = f" against {_number(row['threshold'])}" if notna(row["threshold"]) else ""
    return f"{row['on']} {_number(row['score'])}{against} {row['verdict']}"


def _number(value: Any) -> str:
    from pandas import isna

    return "not measured" if isna(value) else f"{round(float(value), 1):g}"


def _bill(bills: Bills | None, step: Any, attempt: Any) -> str:
    amount = bills.amounts.get((int(step), int(attempt))) if bills else None
    return "" if amount is None or bills is None else f"; {bills.told(amount)} {bills.unit}".replace(" dollars", "")


def _then(decisions: DataFrame | None, step: object, attempt: object) -> str:
    if decisions is None:
        return ""
    made = decisions[(decisions["step"] == step) & (decisions["attempt"] == attempt)]["action"]
    return "; then " + ", ".join(DONE.get(action, action) for action in made) if len(made) else ""
