"""Practice task: working days, months and the days on which bills are due."""

from __future__ import annotations

from .oracles.workdays import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

WORKDAYS = r'''"""Working days: Monday to Friday, without holidays. Days are written as in 2024-12-31."""

from collections.abc import Collection
from datetime import date, timedelta


def is_workday(day: date, holidays: Collection[str] = ()) -> bool:
    """Tell whether one works on a day."""
    return day.weekday() < 5 and day.isoformat() not in holidays


def add_workdays(day: str, count: int, holidays: Collection[str] = ()) -> str:
    """Give the day that is so many working days after a day, or before it where `count` is negative.

    The day itself does not count, and 0 gives it back even if it is none. Raises ValueError for what is no day.
    """
    found = date.fromisoformat(day)
    left = abs(count)
    one = timedelta(days=1 if count > 0 else -1)
    while left > 0:
        found += one
        if is_workday(found, holidays):
            left -= 1
    return found.isoformat()


def workdays_between(start: str, end: str, holidays: Collection[str] = ()) -> int:
    """Count the working days from `start` up to, and without, `end`. Raises ValueError where `end` comes first."""
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    if last < first:
        raise ValueError(f"{end} comes before {start}")
    days = (first + timedelta(days=n) for n in range((last - first).days))
    return sum(is_workday(day, holidays) for day in days)
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("workdays.py",),
    checks=(
        by_oracle("add_workdays counts forward and back, over weekends and holidays.", "workdays/add_workdays"),
        by_oracle(
            "workdays_between counts from the first day up to the last, without it.", "workdays/workdays_between"
        ),
        by_command(
            "Without holidays named there are none.",
            "python",
            "-c",
            "from workdays import add_workdays; print(add_workdays('2024-12-24', 1))",
            prints="2024-12-25",
        ),
        by_judge("The docstring of workdays_between says whether the last day counts."),
    ),
    first_checks=(0, 1, 2),
    objection="Whether the last day counts is where such code goes wrong: add a check that the docstring says it.",
    solution={"workdays.py": WORKDAYS},
    defects=(
        Defect(
            id="saturdays-worked",
            says="Saturday counts as a working day.",
            path="workdays.py",
            old="day.weekday() < 5",
            new="day.weekday() < 6",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="holidays-ignored",
            says="workdays_between counts holidays as working days.",
            path="workdays.py",
            old="sum(is_workday(day, holidays) for",
            new="sum(is_workday(day) for",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="never-back",
            says="add_workdays goes forward for negative counts as well.",
            path="workdays.py",
            old="days=1 if count > 0 else -1",
            new="days=1",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="last-day-counted",
            says="workdays_between counts the last day as well.",
            path="workdays.py",
            old="range((last - first).days)",
            new="range((last - first).days + 1)",
            breaks=("c2",),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="backwards-is-none",
            says="workdays_between gives 0 where the last day comes first.",
            path="workdays.py",
            old='    if last < first:\n        raise ValueError(f"{end} comes before {start}")\n',
            new="",
            breaks=("c2",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="day-for-readers",
            says="add_workdays writes the day for readers, as in 31.12.2024, and not in the way that it takes.",
            path="workdays.py",
            old="return found.isoformat()",
            new='return found.strftime("%d.%m.%Y")',
            breaks=("c1", "c3"),
            costs={"correctness": 4.0, "clarity": 1.0},
        ),
        Defect(
            id="last-day-undocumented",
            says="The docstring of workdays_between is silent about the last day.",
            path="workdays.py",
            old="from `start` up to, and without, `end`.",
            new="between two days.",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TERMS = r'''"""When bills are due."""

from calendar import monthrange
from collections.abc import Collection
from datetime import date, timedelta

from workdays import add_workdays, is_workday


def add_months(day: str, count: int) -> str:
    """Give the same day so many months later; a month that is too short gives its last day."""
    start = date.fromisoformat(day)
    years, month = divmod(start.month - 1 + count, 12)
    year = start.year + years
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(start.day, last)).isoformat()


def due(billed: str, days: int = 30, holidays: Collection[str] = ()) -> str:
    """Give the day on which a bill is due: so many days later, or on the next working day where that is none."""
    day = (date.fromisoformat(billed) + timedelta(days=days)).isoformat()
    return day if is_workday(date.fromisoformat(day), holidays) else add_workdays(day, 1, holidays)
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("terms.py",),
    checks=(
        by_oracle("add_months gives the same day of another month, or its last one.", "workdays/add_months"),
        by_oracle("due gives the day of payment, never on a day without work.", "workdays/due"),
        by_file("terms.py takes working days from workdays.", "terms.py", matches=r"(?m)^from workdays import "),
        by_judge("terms.py leaves the search for the next working day to add_workdays."),
        by_judge("The docstring of add_months says what becomes of the 31st."),
    ),
    first_checks=(0, 1, 2, 4),
    objection="There should be one search for working days: add a check that terms.py has none of its own.",
    solution={"terms.py": TERMS},
    defects=(
        Defect(
            id="short-month-crashes",
            says="add_months raises ValueError where the month is too short.",
            path="terms.py",
            old="min(start.day, last)",
            new="start.day",
            breaks=("c1",),
            costs={"correctness": 2.0, "robustness": 3.0},
        ),
        Defect(
            id="february-always-28",
            says="add_months gives February 28 days in leap years as well.",
            path="terms.py",
            old="last = monthrange(year, month + 1)[1]",
            new="last = monthrange(2023, month + 1)[1]",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="year-stays",
            says="add_months stays in the year in which it began.",
            path="terms.py",
            old="year = start.year + years",
            new="year = start.year",
            breaks=("c1",),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="due-on-weekends",
            says="due gives days on which nobody works.",
            path="terms.py",
            old="return day if is_workday(date.fromisoformat(day), holidays) else add_workdays(day, 1, holidays)",
            new="return day",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="a-day-late",
            says="due counts the day after the bill as day 0, so all payments are due a day late.",
            path="terms.py",
            old="timedelta(days=days)",
            new="timedelta(days=days + 1)",
            breaks=("c2",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="month-counted-twice",
            says="add_months goes one month too far.",
            path="terms.py",
            old="divmod(start.month - 1 + count, 12)",
            new="divmod(start.month + count, 12)",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="second-search",
            says="terms.py has a search for working days of its own, which nothing uses.",
            path="terms.py",
            old='"""When bills are due."""\n',
            new='"""When bills are due."""\n\n\ndef _next_workday(day, holidays=()):\n'
            "    while day.weekday() > 4 or day.isoformat() in holidays:\n        day += timedelta(days=1)\n    return day\n",
            breaks=("c4",),
            costs={"clarity": 2.0},
            form=True,
        ),
        Defect(
            id="short-month-undocumented",
            says="The docstring of add_months is silent about months that are too short.",
            path="terms.py",
            old="so many months later; a month that is too short gives its last day.",
            new="so many months later.",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="workdays",
    title="Working days and terms of payment",
    prompt=(
        "For our invoices I need dates in Python: add working days to a date, count working days between two dates,"
        " add months, and say when a bill is due."
        " Weekends and a list of holidays are no working days; a due date that falls on one moves to the next working day."
    ),
    plan={
        "title": "Working days and terms of payment",
        "scope": "Two Python modules on the standard library alone: working days, and on top of them months and due dates.",
        "deliverables": ["workdays.py", "terms.py"],
        "steps": [
            planned("Add and count working days.", STEP_1, skill="dates"),
            planned("Add months and say when bills are due.", STEP_2, skill="dates", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "The right day for every date, over months, years and leap days.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Refuses what makes no sense, with the right exception.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
