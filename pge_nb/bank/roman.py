"""Practice task: Roman numerals there and back, with tests of their own, and the numbers in an inscription."""

from __future__ import annotations

from .oracles.roman import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

ROMAN = r'''"""Roman numerals from 1 to 3999."""

SYMBOLS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def to_roman(number: int) -> str:
    """Write a number as a Roman numeral: 1994 gives "MCMXCIV".

    Raises ValueError for a number below 1 or above 3999.
    """
    if not 1 <= number <= 3999:
        raise ValueError(f"not in 1 to 3999: {number}")
    numeral = ""
    for value, symbol in SYMBOLS:
        count, number = divmod(number, value)
        numeral += symbol * count
    return numeral


def from_roman(text: str) -> int:
    """Read a Roman numeral, in capitals or small letters, with white space around it or not.

    Only the one right spelling counts: "IIII", "VX" and "" raise ValueError.
    """
    numeral = text.strip().upper()
    total, rest = 0, numeral
    for value, symbol in SYMBOLS:
        while rest.startswith(symbol):
            total += value
            rest = rest[len(symbol) :]
    if to_roman(total) != numeral:
        raise ValueError(f"not a Roman numeral: {text!r}")
    return total
'''

TEST_ROMAN = r'''"""Tests of roman.py: python -m unittest test_roman"""

import unittest

from roman import from_roman, to_roman


class RomanTest(unittest.TestCase):
    def test_there_and_back(self):
        for number in (1, 10, 1666, 1990, 2026):
            self.assertEqual(from_roman(to_roman(number)), number)

    def test_a_known_year(self):
        self.assertEqual(to_roman(1990), "MCMXC")

    def test_a_malformed_numeral_is_refused(self):
        with self.assertRaises(ValueError):
            from_roman("ABC")


if __name__ == "__main__":
    unittest.main()
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("roman.py", "test_roman.py"),
    checks=(
        by_oracle("to_roman writes every number from 1 to 3999 and refuses all others.", "roman/to_roman"),
        by_oracle("from_roman reads right spellings and refuses malformed ones.", "roman/from_roman"),
        by_command("The tests in test_roman.py pass.", "python", "-m", "unittest", "-q", "test_roman"),
        by_judge("The docstring of to_roman says which numbers it refuses."),
        by_judge("test_roman.py tests that a malformed numeral is refused."),
    ),
    first_checks=(0, 1, 2, 3, 4),
    solution={"roman.py": ROMAN, "test_roman.py": TEST_ROMAN},
    defects=(
        Defect(
            id="four-forgotten",
            says='The table of symbols lacks 4, so to_roman writes "IIII".',
            path="roman.py",
            old='    (4, "IV"),\n',
            new="",
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="zero-taken",
            says='to_roman writes 0 as "", and so from_roman reads "" as 0.',
            path="roman.py",
            old="if not 1 <= number",
            new="if not 0 <= number",
            breaks=("c1", "c2"),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="limit-too-high",
            says='to_roman takes 4000 and writes "MMMM".',
            path="roman.py",
            old="<= number <= 3999:",
            new="<= number <= 4999:",
            breaks=("c1", "c2"),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="small-letters-refused",
            says="from_roman refuses small letters.",
            path="roman.py",
            old="text.strip().upper()",
            new="text.strip()",
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="malformed-taken",
            says='from_roman reads "IIII" as 4 and "VX" as 5.',
            path="roman.py",
            old="if to_roman(total) != numeral:",
            new="if not total:",
            breaks=("c2",),
            costs={"correctness": 2.0, "robustness": 3.0},
        ),
        Defect(
            id="range-undocumented",
            says="The docstring of to_roman is silent about the numbers that it refuses.",
            path="roman.py",
            old='"MCMXCIV".\n\n    Raises ValueError for a number below 1 or above 3999.\n    """',
            new='"MCMXCIV"."""',
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
        Defect(
            id="malformed-untested",
            says="test_roman.py has no test of a malformed numeral.",
            path="test_roman.py",
            old="    def test_a_malformed_numeral_is_refused(self):\n"
            "        with self.assertRaises(ValueError):\n"
            '            from_roman("ABC")\n\n\n',
            new="\n",
            breaks=("c5",),
            costs={"robustness": 1.0, "clarity": 1.0},
            form=True,
        ),
    ),
)

INSCRIPTION = r'''"""The numbers in an inscription."""

import re

from roman import from_roman

WORD = re.compile(r"\b[IVXLCDM]+\b")


def value(word: str) -> int | None:
    """Give the number that a word in capitals stands for.

    None for what is no numeral ("DIM", "CIVIL"), and for a lone "I", which is a word more often than a number.
    """
    if word == "I":
        return None
    try:
        return from_roman(word)
    except ValueError:
        return None


def translate(text: str) -> str:
    """Replace each Roman numeral in a text by its number: "ANNO MDCCXII" gives "ANNO 1712"."""
    return WORD.sub(lambda found: str(value(found[0]) or found[0]), text)


def numbers(text: str) -> list[int]:
    """List the numbers that a text names in Roman numerals, each once, in the order in which they come up."""
    values = [value(word) for word in WORD.findall(text)]
    return list(dict.fromkeys(number for number in values if number is not None))
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("inscription.py",),
    checks=(
        by_oracle("translate replaces numerals and leaves words alone that only look like them.", "roman/translate"),
        by_oracle("numbers lists each number once, in the order of the text.", "roman/numbers"),
        by_file("inscription.py reads numerals with the roman module.", "inscription.py", contains="from roman import"),
        by_judge('The docstring of value says that a lone "I" is no number, and why.'),
    ),
    first_checks=(0, 1, 2),
    objection='That "I" stays as it is will surprise a reader: add a check that the docstring of value explains it.',
    solution={"inscription.py": INSCRIPTION},
    defects=(
        Defect(
            id="letters-inside-words",
            says="Capitals inside words are taken for numerals.",
            path="inscription.py",
            old=r'r"\b[IVXLCDM]+\b"',
            new='r"[IVXLCDM]+"',
            breaks=("c1", "c2"),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="lone-i-counted",
            says='The word "I" is taken for the number 1.',
            path="inscription.py",
            old='    if word == "I":\n        return None\n',
            new="",
            breaks=("c1", "c2"),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="look-alike-crashes",
            says="A word such as CIVIL raises ValueError, since the wrong exception is caught.",
            path="inscription.py",
            old="except ValueError:",
            new="except KeyError:",
            breaks=("c1", "c2"),
            costs={"robustness": 4.0},
        ),
        Defect(
            id="first-only",
            says="translate replaces the first numeral only.",
            path="inscription.py",
            old="or found[0]), text)",
            new="or found[0]), text, count=1)",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="numbers-repeated",
            says="numbers lists a number as often as it comes up.",
            path="inscription.py",
            old="list(dict.fromkeys(number for number in values if number is not None))",
            new="[number for number in values if number is not None]",
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="lone-i-undocumented",
            says='The docstring of value is silent about a lone "I".',
            path="inscription.py",
            old='"CIVIL"), and for a lone "I", which is a word more often than a number.',
            new='"CIVIL").',
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="roman",
    title="Roman numerals in inscriptions",
    prompt=(
        "I catalogue inscriptions and need their Roman numerals as numbers."
        " Write Python functions that convert numerals both ways and refuse malformed ones, with a few tests."
        " Then replace the numerals in a line of text by numbers, without touching words that merely look like one."
    ),
    plan={
        "title": "Roman numerals in inscriptions",
        "scope": "A Python module that converts Roman numerals both ways, with tests, and one that finds them in text.",
        "deliverables": ["roman.py", "test_roman.py", "inscription.py"],
        "steps": [
            planned("Convert Roman numerals both ways, with tests.", STEP_1, skill="parsing"),
            planned("Find and replace the numerals in a line of text.", STEP_2, skill="text", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Every numeral from 1 to 3999 is right both ways, in a text too.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, tests that say what they test."),
            criterion("robustness", "Malformed numerals and look-alikes do no harm.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
