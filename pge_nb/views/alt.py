"""What a chart shows, in words: the numbers. Needs no drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..run import DONE

if TYPE_CHECKING:
    from pandas import DataFrame, Series


def alt_text(trajectory: DataFrame, decisions: DataFrame | None = None) -> str:
    """The numbers of a trajectory chart, in words, for whoever cannot see it."""
    told = ["Scores from 0 to 10 by attempt."]
    for (step, attempt), rows in trajectory.groupby(["step", "attempt"], sort=True):
        scores = ", ".join(_in_words(row) for _, row in rows.iterrows() if row["about"] != "overall")
        overall = rows[rows["about"] == "overall"]
        verdict = overall["verdict"].iloc[0] if len(overall) else "unmeasured"
        score = f", overall {_number(overall['score'].iloc[0])}" if len(overall) else ""
        told.append(f"Step {step} attempt {attempt}: {verdict}{score}; {scores}{_then(decisions, step, attempt)}.")
    return " ".join(told)


def _in_words(row: Series) -> str:
    from pandas import notna

    against = f" against {_number(row['threshold'])}" if notna(row["threshold"]) else ""
    return f"{row['on']} {_number(row['score'])}{against} {row['verdict']}"


def _number(value: Any) -> str:
    from pandas import isna

    return "not measured" if isna(value) else f"{round(float(value), 1):g}"


def _then(decisions: DataFrame | None, step: object, attempt: object) -> str:
    if decisions is None:
        return ""
    made = decisions[(decisions["step"] == step) & (decisions["attempt"] == attempt)]["action"]
    return "; then " + ", ".join(DONE.get(action, action) for action in made) if len(made) else ""
