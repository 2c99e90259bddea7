"""What every statistic returns: a number, how far it can be trusted, and how that was found."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top"


class CalibrationWarning(UserWarning):
    """The figure stands, but a reader should know something about these data first."""


class Printer(Protocol):
    """What IPython hands to ``_repr_pretty_``."""

    def text(self, obj: str) -> None:
        """Print the text."""


def digits(number: float) -> str:
    """Three decimals, the usual precision of an agreement statistic; more only for numbers that are smaller than that."""
    if math.isnan(number):
        return "not measurable"
    return f"{number:.3f}" if number == 0 or abs(number) >= 0.001 else f"{number:.2g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A statistic with its interval.

    ``float(e)`` is the value, ``f"{e:.2f}"`` and ``round(e, 2)`` take it, and ``value, low, high = e`` unpacks it. A statistic
    that the data leave undefined has the value nan and, as its interval, the whole range of the statistic: nothing is known.

    Attributes:
        value: the statistic, in its own unit.
        low: lower end of the interval.
        high: upper end of the interval.
        level: confidence level, e.g. .95.
        method: how the interval was made.
        n: items that the value rests on.
        groups: groups that the items came in, None when they were taken as independent.
        missing: items left out because a rating was missing.
        notes: assumptions and warnings, a sentence each.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    n: int
    groups: int | None = None
    missing: int = 0
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __round__(self, places: int | None = None) -> float:
        return round(self.value, places)

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.low, self.high))

    def with_notes(self, *notes: str) -> Estimate:
        """The same estimate with further notes."""
        return dataclasses.replace(self, notes=(*self.notes, *notes))

    @property
    def basis(self) -> str:
        """What the value rests on, e.g. ``n = 1098, 55 groups, 3 missing``."""
        groups = "" if self.groups is None else f", {self.groups} group{'' if self.groups == 1 else 's'}"
        return f"n = {self.n}{groups}" + (f", {self.missing} missing" if self.missing else "")

    def __str__(self) -> str:
        interval = f"{100 * self.level:g} % interval {digits(self.low)} to {digits(self.high)}"
        lines = [f"{digits(self.value)} ({interval}; {self.method}; {self.basis})"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:  # noqa: ARG002  # IPython's signature
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return table_html({"": self})

    def _repr_latex_(self) -> str:
        interval = rf"{100 * self.level:g}\,\% interval {latex_number(self.low)} to {latex_number(self.high)}"
        text = f"{latex_number(self.value)} ({interval}; {latex_text(self.method)}; {latex_text(self.basis)})"
        return " ".join([text, *(latex_text(note) + "." for note in self.notes)])


class Shown:
    """A frozen dataclass of estimates that shows itself as a table of them; its own generated repr is to be left out."""

    __slots__ = ()

    def estimates(self) -> dict[str, Estimate]:
        """Name and estimate of each field that is one, in order; those of a nested table after its own name."""
        found: dict[str, Estimate] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if isinstance(value, Estimate):
                found[field.name] = value
            elif isinstance(value, Shown):
                found |= {f"{field.name}.{name}": estimate for name, estimate in value.estimates().items()}
        return found

    def remarks(self) -> tuple[str, ...]:
        """Sentences that belong to the whole, from a field ``notes`` where there is one."""
        return tuple(getattr(self, "notes", ()))

    def __str__(self) -> str:
        lines = [f"{name}: {estimate}" for name, estimate in self.estimates().items()]
        return "\n".join([*lines, *self.remarks()])

    def __repr__(self) -> str:
        return f"{type(self).__name__}\n{self}"

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:  # noqa: ARG002  # IPython's signature
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return table_html(self.estimates(), self.remarks())

    def _repr_latex_(self) -> str:
        """A table for a paper, with the rules of booktabs; below it how each interval was made, and what to know first."""
        found = self.estimates()
        figures = {name: " & ".join(map(latex_number, estimate)) for name, estimate in found.items()}
        rows = [rf"{latex_text(name)} & {figures[name]} & {latex_text(e.basis)} \\" for name, e in found.items()]
        head = [r"\begin{tabular}{lrrrl}", r"\toprule", r" & value & low & high & rests on \\", r"\midrule"]
        told = dict.fromkeys(note for estimate in found.values() for note in estimate.notes)
        below = [rf"\par {latex_text(note)}." for note in (*_intervals(found), *told, *self.remarks())]
        return "\n".join([*head, *rows, r"\bottomrule", r"\end{tabular}", *below])


def _intervals(found: dict[str, Estimate]) -> Iterator[str]:
    """Level and method of the intervals, each with the estimates that have it."""
    kinds = dict.fromkeys((estimate.level, estimate.method) for estimate in found.values())
    for level, method in kinds:
        names = [name for name, e in found.items() if (e.level, e.method) == (level, method)]
        yield f"{100 * level:g} % interval of {', '.join(names)}: {method}"


def table_html(rows: dict[str, Estimate], remarks: tuple[str, ...] = ()) -> str:
    """A table of estimates with literal inline styles only, so that it survives a notebook's sanitizer."""
    body = "".join(
        f'<tr><td style="{CELL}">{html.escape(name)}</td><td style="{CELL}"><b>{digits(e.value)}</b></td>'
        f'<td style="{CELL}">{digits(e.low)} to {digits(e.high)} ({100 * e.level:g} %)</td>'
        f'<td style="{CELL}">{html.escape(e.basis)}</td>'
        f'<td style="{CELL}">{html.escape("; ".join((e.method, *e.notes)))}</td></tr>'
        for name, e in rows.items()
    )
    heads = "".join(f'<th style="{CELL}">{head}</th>' for head in ("", "value", "interval", "rests on", "how"))
    notes = "".join(f'<p style="margin:2px 0">{html.escape(remark)}</p>' for remark in remarks)
    return (
        f'<table style="border-collapse:collapse"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{notes}'
    )


def latex_number(number: float) -> str:
    """The number in mathematics, so that its minus is one."""
    if math.isnan(number):
        return "not measurable"
    if math.isinf(number):
        return r"$\infty$" if number > 0 else r"$-\infty$"
    mantissa, _, power = digits(number).partition("e")
    return rf"${mantissa} \times 10^{{{int(power)}}}$" if power else f"${mantissa}$"


def latex_text(text: str) -> str:
    """Escape what LaTeX would read as a command."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$"}
    special |= {mark: "\\" + mark for mark in "&%$#_{}"}
    return "".join(special.get(mark, mark) for mark in text)
