"""Practice task: tables as CSV, read with their quotes and written with no more than they need."""

from __future__ import annotations

from .oracles.table import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

READING = r'''"""Tables out of CSV texts, as spreadsheets write them."""


def parse(text: str, separator: str = ",") -> list[list[str]]:
    """Read rows of fields.

    A field in double quotes may hold separators and line ends; two quotes in it stand for one. White space belongs to the
    field. Lines end in \n or \r\n, the last one with or without. An empty line is a row with one empty field.
    Raises ValueError where a quote is not closed.
    """
    rows: list[list[str]] = []
    row: list[str] = []
    field, quoted, place = "", False, 0
    text = text.replace("\r\n", "\n")
    while place < len(text):
        sign = text[place]
        place += 1
        if quoted and sign == '"' and text[place : place + 1] == '"':
            field += sign
            place += 1
        elif sign == '"' and (quoted or not field):
            quoted = not quoted
        elif quoted or sign not in (separator, "\n"):
            field += sign
        else:
            row.append(field)
            field = ""
            if sign == "\n":
                rows.append(row)
                row = []
    if quoted:
        raise ValueError("a quote is not closed")
    if text and not text.endswith("\n"):
        rows.append([*row, field])
    return rows
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("reading.py",),
    checks=(
        by_oracle("parse reads every table as a spreadsheet would, whatever its quotes hold.", "table/parse"),
        by_file("reading.py imports nothing.", "reading.py", matches=r"\A(?![\s\S]*^(?:import|from) )"),
        by_command(
            "parse takes other separators.",
            "python",
            "-c",
            "from reading import parse; print(parse('a;b', ';') == [['a', 'b']])",
            prints="True",
        ),
        by_judge("The docstring of parse says what becomes of white space around a field."),
    ),
    first_checks=(0, 1, 3),
    objection="Half of Europe separates with semicolons: add a check of other separators.",
    solution={"reading.py": READING},
    defects=(
        Defect(
            id="two-quotes-dropped",
            says="Two quotes in a quoted field are dropped instead of standing for one.",
            path="reading.py",
            old="            field += sign\n            place += 1\n",
            new="            place += 1\n",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="windows-line-ends-kept",
            says="Lines that end in \\r\\n keep their \\r.",
            path="reading.py",
            old='    text = text.replace("\\r\\n", "\\n")\n',
            new="",
            breaks=("c1",),
            costs={"correctness": 2.0, "robustness": 2.0},
        ),
        Defect(
            id="lines-cut-in-quotes",
            says="A line end within quotes ends the row.",
            path="reading.py",
            old="elif quoted or sign not in (separator",
            new='elif (quoted and sign != "\\n") or sign not in (separator',
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="open-quote-taken",
            says="A quote that is not closed takes the rest of the text, without an error.",
            path="reading.py",
            old='    if quoted:\n        raise ValueError("a quote is not closed")\n',
            new="",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="last-row-lost",
            says="The last row is lost where no line end follows it.",
            path="reading.py",
            old='    if text and not text.endswith("\\n"):\n        rows.append([*row, field])\n',
            new="",
            breaks=("c1", "c3"),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="fields-stripped",
            says="White space around fields is taken away.",
            path="reading.py",
            old="            row.append(field)\n",
            new="            row.append(field.strip())\n",
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="space-undocumented",
            says="The docstring of parse is silent about white space.",
            path="reading.py",
            old=" White space belongs to the\n    field. Lines end",
            new="\n    Lines end",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

WRITING = r'''"""Tables into CSV texts, and what one wants of a table."""

from reading import parse


def write(rows: list[list[str]], separator: str = ",") -> str:
    """Write rows so that parse gives them back; a field has quotes only where it needs them. No rows give ""."""
    return "".join(separator.join(quoted(field, separator) for field in row) + "\n" for row in rows)


def quoted(field: str, separator: str) -> str:
    """Put quotes around a field that holds the separator, a quote or a line end."""
    if any(sign in field for sign in (separator, '"', "\n", "\r")):
        return '"' + field.replace('"', '""') + '"'
    return field


def column(text: str, name: str) -> list[str]:
    """Give a column of a CSV text by its name in the first row.

    A row that is too short has "" there. Raises KeyError where there is no such column.
    """
    heads, *rows = parse(text) or [[]]
    if name not in heads:
        raise KeyError(name)
    place = heads.index(name)
    return [row[place] if place < len(row) else "" for row in rows]
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("writing.py",),
    checks=(
        by_oracle("write puts quotes where they are needed and nowhere else.", "table/write"),
        by_oracle("column gives a column by its name.", "table/column"),
        by_command(
            "What is written is read back as it was.",
            "python",
            "-c",
            "from reading import parse; from writing import write; rows = [['a,b', 'say \"x\"'], ['1\\n2', '']];"
            " print(parse(write(rows)) == rows)",
            prints="True",
        ),
        by_judge("column reads the text with parse and splits nothing by itself."),
        by_judge("The docstring of column says what a row has that is too short."),
    ),
    first_checks=(0, 1, 2, 3),
    objection="Real tables have ragged rows: add a check that the docstring of column tells what it does with them.",
    solution={"writing.py": WRITING},
    defects=(
        Defect(
            id="quotes-not-doubled",
            says="write leaves quotes within a field as they are.",
            path="writing.py",
            old="""'"' + field.replace('"', '""') + '"'""",
            new="""'"' + field + '"'""",
            breaks=("c1", "c3"),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="line-ends-bare",
            says="write puts no quotes around a field with a line end.",
            path="writing.py",
            old='(separator, \'"\', "\\n", "\\r")',
            new="(separator, '\"')",
            breaks=("c1", "c3"),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="everything-quoted",
            says="write puts quotes around every field.",
            path="writing.py",
            old="        return '\"' + field",
            new="        pass\n    return '\"' + field",
            breaks=("c1",),
            costs={"correctness": 2.0, "clarity": 1.0},
        ),
        Defect(
            id="last-line-open",
            says="write ends the last line without a line end.",
            path="writing.py",
            old='+ "\\n" for row in rows)',
            new='+ "\\n" for row in rows).removesuffix("\\n")',
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="short-row-crashes",
            says="column raises IndexError for a row that is too short.",
            path="writing.py",
            old='row[place] if place < len(row) else ""',
            new="row[place]",
            breaks=("c2",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="head-in-column",
            says="column gives the column's name as its first value.",
            path="writing.py",
            old="for row in rows]",
            new="for row in [heads, *rows]]",
            breaks=("c2",),
            costs={"correctness": 3.5},
        ),
        Defect(
            id="missing-column-is-empty",
            says="column gives an empty list where there is no such column.",
            path="writing.py",
            old="        raise KeyError(name)\n",
            new="        return []\n",
            breaks=("c2",),
            costs={"robustness": 2.5},
        ),
        Defect(
            id="lines-split-by-hand",
            says="column splits its text by itself where there are no quotes.",
            path="writing.py",
            old="parse(text) or [[]]",
            new="""(parse(text) if '"' in text else [line.split(",") for line in text.splitlines()]) or [[]]""",
            breaks=("c4",),
            costs={"clarity": 2.0},
            form=True,
        ),
        Defect(
            id="short-row-undocumented",
            says="The docstring of column is silent about short rows.",
            path="writing.py",
            old='    A row that is too short has "" there. Raises',
            new="    Raises",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="table",
    title="CSV tables with quotes",
    prompt=(
        "We exchange spreadsheets as CSV, and home-made scripts keep choking on quoted fields with commas and line breaks in"
        " them. Write a parser and a writer for CSV in plain Python, without the csv module, because our machines run a cut-down"
        " Python."
        " I also want a single column by its name."
    ),
    plan={
        "title": "CSV tables with quotes",
        "scope": "Two Python modules without any import from outside: one reads CSV, one writes it and picks a column.",
        "deliverables": ["reading.py", "writing.py"],
        "steps": [
            planned("Read CSV with its quotes.", STEP_1, skill="parsing"),
            planned("Write CSV, and pick a column by name.", STEP_2, skill="parsing", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Reads and writes what spreadsheets do, and gives back what was written.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Stands ragged rows and broken quotes.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
