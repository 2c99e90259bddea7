"""Practice task: a Markdown parser for headings and bold."""

from __future__ import annotations

from .oracles.markup import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

INLINE = r'''"""What stands within a line of Markdown."""

import html
import re

BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")


def inline(text: str) -> str:
    """Turn the bold parts of a text into <strong> and escape &, < and > in all of it.

    Stars with white space inside them, as in "2 ** 3 ** 4", and stars without a partner stay as they are.
    """
    escaped = html.escape(text, quote=False)
    return BOLD.sub(r"<strong>\1</strong>", escaped)
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("inline.py",),
    checks=(
        by_oracle("inline makes bold what stands between double stars, and escapes everything.", "markup/inline"),
        by_command(
            "A script in a text stays text.",
            "python",
            "-c",
            "from inline import inline; print(inline('<script>'))",
            prints="&lt;script&gt;",
        ),
        by_judge("The docstring of inline says what becomes of stars without a partner."),
    ),
    first_checks=(0, 2),
    objection="What visitors write is shown to others: add a check that a script stays text.",
    solution={"inline.py": INLINE},
    defects=(
        Defect(
            id="nothing-escaped",
            says="inline escapes nothing, so a script in a text would run.",
            path="inline.py",
            old="html.escape(text, quote=False)",
            new="text",
            breaks=("c1", "c2"),
            costs={"safety": 6.0},
        ),
        Defect(
            id="bold-too-far",
            says="inline makes everything bold from the first stars of a line to the last.",
            path="inline.py",
            old="(.+?)",
            new="(.+)",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="lonely-stars-open",
            says="inline lets stars open a bold part although white space follows them.",
            path="inline.py",
            old=r"(?=\S)",
            new="",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="lonely-stars-close",
            says="inline lets stars close a bold part although white space stands before them.",
            path="inline.py",
            old=r"(?<=\S)",
            new="",
            breaks=("c1",),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="tag-of-old",
            says="inline writes <b> where the page's styles wait for <strong>.",
            path="inline.py",
            old=r"<strong>\1</strong>",
            new=r"<b>\1</b>",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="stars-undocumented",
            says="The docstring of inline is silent about stars that are not bold.",
            path="inline.py",
            old='    Stars with white space inside them, as in "2 ** 3 ** 4", and stars without a partner stay as they are.\n',
            new="",
            breaks=("c3",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

DOCUMENT = r'''"""A whole text in Markdown: its headings and its paragraphs."""

import re

from inline import inline

HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")


def to_html(text: str) -> str:
    """Turn a text into HTML: headings of six levels, and paragraphs; a line for each.

    An empty line or a heading ends a paragraph. A heading needs a space behind its signs; "#5" begins a paragraph.
    An empty text gives "".
    """
    blocks: list[str] = []
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        heading = HEADING.fullmatch(line)
        if lines and (heading or not line.strip()):
            blocks.append(f"<p>{inline(' '.join(lines))}</p>")
            lines = []
        if heading:
            level = len(heading[1])
            blocks.append(f"<h{level}>{inline(heading[2])}</h{level}>")
        elif line.strip():
            lines.append(line.strip())
    return "\n".join(blocks)


def contents(text: str) -> list[str]:
    """Give the headings of a text as they were written, indented by two spaces for each level below the first."""
    found = filter(None, map(HEADING.fullmatch, text.splitlines()))
    return ["  " * (len(heading[1]) - 1) + heading[2] for heading in found]
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("document.py",),
    checks=(
        by_oracle("to_html gives headings and paragraphs, wherever one ends.", "markup/to_html"),
        by_oracle("contents lists the headings by level.", "markup/contents"),
        by_file(
            "document.py leaves what stands within a line to inline.",
            "document.py",
            matches=r"(?m)^from inline import inline$",
        ),
        by_judge("document.py knows in one place alone what a heading is."),
        by_judge("The docstring of to_html says what ends a paragraph."),
    ),
    first_checks=(0, 1, 2, 4),
    objection="Two ideas of a heading will drift apart: add a check that document.py has one.",
    solution={"document.py": DOCUMENT},
    defects=(
        Defect(
            id="space-not-needed",
            says='to_html takes "#5" for a heading.',
            path="document.py",
            old=r"(#{1,6})[ \t]+",
            new=r"(#{1,6})[ \t]*",
            breaks=("c1", "c2"),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="closing-signs-kept",
            says="The signs behind a heading stay in it.",
            path="document.py",
            old=r"(?:[ \t]+#+)?",
            new="",
            breaks=("c1", "c2"),
            costs={"correctness": 1.5},
        ),
        Defect(
            id="heading-in-paragraph",
            says="A heading right behind a paragraph comes before it.",
            path="document.py",
            old="if lines and (heading or not line.strip()):",
            new="if lines and not line.strip():",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="last-paragraph-lost",
            says="A paragraph at the end of the text is lost, unless an empty line follows it.",
            path="document.py",
            old='[*text.splitlines(), ""]',
            new="text.splitlines()",
            breaks=("c1",),
            costs={"correctness": 4.5},
        ),
        Defect(
            id="plain-headings",
            says="What is bold in a heading stays in its stars, and nothing in a heading is escaped.",
            path="document.py",
            old="{inline(heading[2])}",
            new="{heading[2]}",
            breaks=("c1",),
            costs={"correctness": 2.0, "safety": 3.0},
        ),
        Defect(
            id="lines-glued",
            says="The lines of a paragraph are put together without a space.",
            path="document.py",
            old="{inline(' '.join(lines))}",
            new="{inline(''.join(lines))}",
            breaks=("c1",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="contents-too-deep",
            says="contents indents headings of the first level as well.",
            path="document.py",
            old="(len(heading[1]) - 1)",
            new="len(heading[1])",
            breaks=("c2",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="heading-found-by-hand",
            says="contents looks for headings by their first sign as well, although HEADING knows them.",
            path="document.py",
            old="map(HEADING.fullmatch, text.splitlines())",
            new='map(HEADING.fullmatch, [line for line in text.splitlines() if line.startswith("#")])',
            breaks=("c4",),
            costs={"clarity": 1.5},
            form=True,
        ),
        Defect(
            id="paragraph-undocumented",
            says="The docstring of to_html is silent about what ends a paragraph.",
            path="document.py",
            old="    An empty line or a heading ends a paragraph. A heading",
            new="    A heading",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="markup",
    title="A Markdown parser for headings and bold",
    prompt=(
        "I need a small Markdown parser in Python: headings and **bold**, paragraphs, nothing else, as HTML."
        " Visitors write the texts, so everything else has to be escaped. A list of a text's headings would be handy too."
    ),
    plan={
        "title": "A Markdown parser for headings and bold",
        "scope": "Two Python modules without dependencies: what stands within a line, and the document with its headings.",
        "deliverables": ["inline.py", "document.py"],
        "steps": [
            planned("Turn bold into HTML and escape the rest.", STEP_1, skill="parsing"),
            planned("Turn whole texts into headings and paragraphs.", STEP_2, skill="parsing", depends_on=(1,)),
        ],
        "criteria": [
            criterion("correctness", "Reads Markdown as its writers mean it, edges among them.", "high"),
            criterion("safety", "Nothing that a visitor writes becomes markup of its own.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
