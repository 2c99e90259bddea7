"""Practice task: a notice for a library's door, with facts that must stand in it, and the same as a text message."""

from __future__ import annotations

from .oracles.notice import ORACLES
from .values import Defect, PracticeStep, PracticeTask, by_command, by_file, by_judge, by_oracle, criterion, planned

NOTICE = """# The library closes for a new roof

## When

The town library is closed from Monday 3 March to Monday 24 March 2025. It opens again on Tuesday 25 March at 10:00.

## What stays open

- The book drop at the side door is open day and night.
- The mobile library stands on Market Square every Wednesday from 14:00 to 17:00.
- E-books can be borrowed as always, with your library card.

## Your loans

All loans are extended to 31 March. No fines are charged while we are closed.
Books that you have reserved are kept until 5 April.

## Questions

Call us at 555 0142 on weekdays, or write to library@example.org.
We are sorry for the trouble and look forward to seeing you under a dry roof.
"""

STEP_1 = PracticeStep(
    number=1,
    deliverables=("notice.md",),
    checks=(
        by_oracle("Every fact of the brief stands in the notice, under its heading.", "notice/facts"),
        by_oracle("The notice claims nothing that the brief does not say, and keeps to its length.", "notice/limits"),
        by_file("The notice begins with its title as a heading.", "notice.md", matches=r"\A# \S"),
        by_judge("The notice keeps a friendly tone and blames nobody."),
    ),
    first_checks=(0, 1, 2),
    objection="It hangs on the door of a library: add a check of its tone.",
    solution={"notice.md": NOTICE},
    defects=(
        Defect(
            id="in-a-fence",
            says="The notice stands in a code fence, so a page shows it as code.",
            path="notice.md",
            old="# The library closes for a new roof\n",
            new="```markdown\n# The library closes for a new roof\n",
            breaks=("c1", "c3"),
            costs={"facts": 4.0, "style": 3.0},
        ),
        Defect(
            id="last-day-wrong",
            says="The notice has the library closed to 23 March, a Sunday that the brief does not name.",
            path="notice.md",
            old="to Monday 24 March 2025.",
            new="to Sunday 23 March 2025.",
            breaks=("c1", "c2"),
            costs={"facts": 3.0},
        ),
        Defect(
            id="hour-left-out",
            says="The notice does not say at what time the library opens again.",
            path="notice.md",
            old="Tuesday 25 March at 10:00.",
            new="Tuesday 25 March.",
            breaks=("c1",),
            costs={"facts": 2.0},
        ),
        Defect(
            id="mobile-library-vague",
            says='The notice has the mobile library "nearby once a week": no place, no day, no time.',
            path="notice.md",
            old="stands on Market Square every Wednesday from 14:00 to 17:00.",
            new="is nearby once a week.",
            breaks=("c1",),
            costs={"facts": 4.0},
        ),
        Defect(
            id="loans-date-swapped",
            says="The notice extends loans to the day until which reserved books are kept.",
            path="notice.md",
            old="All loans are extended to 31 March.",
            new="All loans are extended to 5 April.",
            breaks=("c1",),
            costs={"facts": 3.0},
        ),
        Defect(
            id="fines-promised-away",
            says="The notice says that all fines are waived, which nobody has decided.",
            path="notice.md",
            old="No fines are charged while we are closed.",
            new="No fines are charged while we are closed, and all fines from before are waived.",
            breaks=("c2",),
            costs={"facts": 3.5},
        ),
        Defect(
            id="books-sent",
            says="The notice promises to send reserved books home.",
            path="notice.md",
            old="Books that you have reserved are kept until 5 April.",
            new="Books that you have reserved are kept until 5 April or delivered to your home.",
            breaks=("c2",),
            costs={"facts": 3.0},
        ),
        Defect(
            id="contact-under-loans",
            says="The notice has no heading for questions, so its address stands among the loans.",
            path="notice.md",
            old="## Questions\n\n",
            new="",
            breaks=("c1",),
            costs={"style": 2.5},
        ),
        Defect(
            id="padded",
            says="The notice goes on about roofs until it is longer than a page on a door may be.",
            path="notice.md",
            old="We are sorry for the trouble and",
            new=(
                "A roof is more than slates and beams: it is the promise of every library that what is read today can be"
                " read tomorrow, by you, by your children and by theirs, in every season and in every weather. Our own has"
                " kept that promise for sixty years, through storms and snow, and it has earned its rest many times over."
                " Skilled hands will now give us a new one. We are sorry for the trouble and"
            ),
            breaks=("c2",),
            costs={"style": 3.0},
        ),
        Defect(
            id="builders-blamed",
            says="The notice blames the builders of the old roof.",
            path="notice.md",
            old="with your library card.",
            new="with your library card. None of this would be needed if the last builders had done their work.",
            breaks=("c4",),
            costs={"style": 2.0},
            form=True,
        ),
    ),
)

MESSAGE = (
    "Town library closed 3 to 24 March: new roof. Open again Tue 25 March, 10:00."
    " Loans extended to 31 March, no fines. Questions: 555 0142\n"
)

STEP_2 = PracticeStep(
    number=2,
    deliverables=("message.txt",),
    checks=(
        by_oracle("The message has the dates, the loans and the number, and fits one text message.", "notice/message"),
        by_command(
            "The message is one line.",
            "python",
            "-c",
            "print(len(open('message.txt', encoding='utf-8').read().splitlines()))",
            prints="1\n",
        ),
        by_judge("The message says whose it is before anything else."),
    ),
    first_checks=(0, 1, 2),
    solution={"message.txt": MESSAGE},
    defects=(
        Defect(
            id="too-long-to-send",
            says="The message is longer than 160 characters, so it is sent as two.",
            path="message.txt",
            old="Questions: 555 0142",
            new="If you have any questions, please do not hesitate to call 555 0142",
            breaks=("c1",),
            costs={"style": 2.0},
        ),
        Defect(
            id="dash-of-print",
            says="The message has a dash that old telephones cannot show.",
            path="message.txt",
            old="3 to 24 March",
            new="3\u201324 March",
            breaks=("c1",),
            costs={"style": 2.0},
        ),
        Defect(
            id="day-off-by-one",
            says="The message has the library open again on 24 March, a day too early.",
            path="message.txt",
            old="Tue 25 March",
            new="Mon 24 March",
            breaks=("c1",),
            costs={"facts": 4.0},
        ),
        Defect(
            id="loans-left-out",
            says="The message does not say what becomes of loans.",
            path="message.txt",
            old=" Loans extended to 31 March, no fines.",
            new="",
            breaks=("c1",),
            costs={"facts": 3.5},
        ),
        Defect(
            id="two-lines",
            says="The message is broken into two lines.",
            path="message.txt",
            old=" Open again",
            new="\nOpen again",
            breaks=("c2",),
            costs={"style": 2.0},
        ),
        Defect(
            id="sender-left-out",
            says="The message does not say whose it is.",
            path="message.txt",
            old="Town library closed",
            new="Closed",
            breaks=("c1", "c3"),
            costs={"facts": 2.5},
        ),
    ),
)

TASK = PracticeTask(
    name="notice",
    title="A notice for the library's door",
    prompt=(
        "Write a notice in Markdown for our town library, which gets a new roof: closed from Monday 3 March to Monday 24 March"
        " 2025, open again on Tuesday 25 March at 10:00; the book drop at the side door stays open, the mobile library is on"
        " Market Square on Wednesdays from 14:00 to 17:00, e-books as always; loans run to 31 March, no fines meanwhile,"
        " reserved books are kept until 5 April; questions to 555 0142 or library@example.org."
        " Use the headings When, What stays open, Your loans and Questions, 100 to 150 words, and promise nothing that I have"
        " not said. Then the same as a text message of at most 160 plain characters."
    ),
    plan={
        "title": "A notice for the library's door",
        "scope": "A notice of 100 to 150 words with four headings, and a text message of one line with the same dates.",
        "deliverables": ["notice.md", "message.txt"],
        "steps": [
            planned("Write the notice with every fact under its heading.", STEP_1, skill="writing", kind="text"),
            planned("Write the text message.", STEP_2, skill="writing", kind="text", depends_on=(1,)),
        ],
        "criteria": [
            criterion("facts", "Says what the brief says, all of it, and nothing else.", "high"),
            criterion("style", "Short, friendly and in order; fits where it is shown."),
        ],
    },
    steps=(STEP_1, STEP_2),
    oracles=ORACLES,
)
