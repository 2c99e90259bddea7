"""Practice task: quantities with their units, read and converted."""

from __future__ import annotations

from .oracles.units import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_judge, by_oracle, criterion, planned

UNITS = r'''"""Quantities with their units: lengths, masses, volumes and temperatures."""

import re

QUANTITY = re.compile(r"\s*([-+]?[0-9]+(?:[.,][0-9]+)?)\s*([A-Za-z]+)\s*")

# Unit -> what it measures, and how many of the first unit of its kind it is.
UNITS = {
    "m": ("length", 1.0),
    "mm": ("length", 0.001),
    "cm": ("length", 0.01),
    "km": ("length", 1000.0),
    "in": ("length", 0.0254),
    "ft": ("length", 0.3048),
    "mi": ("length", 1609.344),
    "g": ("mass", 1.0),
    "kg": ("mass", 1000.0),
    "oz": ("mass", 28.349523125),
    "lb": ("mass", 453.59237),
    "l": ("volume", 1.0),
    "ml": ("volume", 0.001),
    "c": ("temperature", 1.0),
    "f": ("temperature", 5 / 9),
}
ZERO = {"f": 32.0}  # Where 0 Celsius lies on this scale.


def convert(value: float, unit: str, to: str) -> float:
    """Convert a value from one unit to another, rounded to 6 decimals. Units may be written in either case.

    Raises KeyError for an unknown unit, and ValueError for units of different kinds.
    """
    unit, to = unit.lower(), to.lower()
    (kind, size), (wanted, step) = UNITS[unit], UNITS[to]
    if kind != wanted:
        raise ValueError(f"{unit} is a {kind} and {to} a {wanted}")
    return round((value - ZERO.get(unit, 0.0)) * size / step + ZERO.get(to, 0.0), 6)


def read(text: str) -> tuple[float, str]:
    """Read a quantity such as "2.5 km": its value, and its unit in lower case. A comma may stand for the point.

    Raises KeyError for an unknown unit, and ValueError for what is no quantity.
    """
    found = QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError(f"no quantity: {text!r}")
    number, unit = found[1].replace(",", "."), found[2].lower()
    if unit not in UNITS:
        raise KeyError(unit)
    return float(number), unit
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("units.py",),
    checks=(
        by_oracle("convert gives every quantity in every unit of its kind and refuses the others.", "units/convert"),
        by_oracle("read takes quantities as people type them.", "units/read"),
        by_command(
            "A kilometre there and back is a kilometre.",
            "python",
            "-c",
            "from units import convert; print(convert(convert(1, 'km', 'cm'), 'cm', 'km') == 1)",
            prints="True",
        ),
        by_judge("The docstring of convert says to how many decimals it rounds."),
        by_judge("The units stand in one table, and adding one takes one line."),
    ),
    first_checks=(0, 1, 2, 3),
    objection="There will be more units: add a check that adding one takes one line.",
    solution={"units.py": UNITS},
    defects=(
        Defect(
            id="upside-down",
            says="convert divides where it should multiply.",
            path="units.py",
            old="* size / step +",
            new="* step / size +",
            breaks=("c1",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="zero-forgotten",
            says="convert takes 0 Fahrenheit for 0 Celsius.",
            path="units.py",
            old='ZERO = {"f": 32.0}',
            new="ZERO: dict[str, float] = {}",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="whole-units",
            says="convert rounds to whole units.",
            path="units.py",
            old="+ ZERO.get(to, 0.0), 6)",
            new="+ ZERO.get(to, 0.0))",
            breaks=("c1",),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="round-ounce",
            says="An ounce is taken for 30 grams.",
            path="units.py",
            old="28.349523125",
            new="30.0",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="nautical-mile",
            says="A mile is taken for a nautical one.",
            path="units.py",
            old="1609.344",
            new="1852.0",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="kinds-mixed",
            says="convert turns kilograms into metres without an error.",
            path="units.py",
            old='    if kind != wanted:\n        raise ValueError(f"{unit} is a {kind} and {to} a {wanted}")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="capitals-unknown",
            says="convert does not know units that are written in capitals.",
            path="units.py",
            old="    unit, to = unit.lower(), to.lower()\n",
            new="",
            breaks=("c1",),
            costs={"robustness": 2.5},
        ),
        Defect(
            id="comma-unknown",
            says="read refuses a comma for the point.",
            path="units.py",
            old="(?:[.,][0-9]+)?",
            new="(?:[.][0-9]+)?",
            breaks=("c2",),
            costs={"robustness": 2.0},
        ),
        Defect(
            id="unit-unchecked",
            says="read takes any word for a unit.",
            path="units.py",
            old="    if unit not in UNITS:\n        raise KeyError(unit)\n",
            new="",
            breaks=("c2",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="decimals-undocumented",
            says="The docstring of convert is silent about rounding.",
            path="units.py",
            old=" to another, rounded to 6 decimals.",
            new=" to another.",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
        Defect(
            id="two-tables",
            says="The temperatures are a second table, so a new unit has two places where it might stand.",
            path="units.py",
            old='    "ml": ("volume", 0.001),\n',
            new='    "ml": ("volume", 0.001),\n} | {\n',
            breaks=("c5",),
            costs={"clarity": 1.5},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="units",
    title="Quantities and their units",
    prompt=(
        "My recipes and my maps mix ounces, grams, miles, kilometres and degrees of both kinds."
        " Write a Python module that reads quantities such as 2,5 km or 350 F and converts them to a unit that I name,"
        " with an error where that makes no sense."
    ),
    plan={
        "title": "Quantities and their units",
        "scope": "One Python module on the standard library alone: a table of units, a conversion and a reader of quantities.",
        "deliverables": ["units.py"],
        "steps": [planned("Convert and read quantities.", STEP_1, skill="conversion")],
        "criteria": [
            criterion("correctness", "The right value in every unit, to six decimals.", "high"),
            criterion("clarity", "Reads well: one table, names, docstrings that tell the edges."),
            criterion("robustness", "Takes what people type, refuses what makes no sense.", threshold=6.0),
        ],
    },
    steps=(STEP_1,),
    oracles=ORACLES,
)
