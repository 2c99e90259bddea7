"""Practice task: slugs, word counts and wrapped text for a blog's newsletter."""

from __future__ import annotations

from .oracles.textkit import ORACLES
from .values import (
    Defect,
    PracticeStep,
    PracticeTask,
    by_command,
    by_file,
    by_judge,
    by_oracle,
    criterion,
    planned,
)

TEXTKIT = r'''"""Slugs and word counts for blog posts."""

import re
import unicodedata


def slugify(text: str) -> str:
    """Turn a title into a slug: lower-case ASCII letters and digits, the words joined by single hyphens.

    Accents are dropped: "Café" gives "cafe". No hyphen stands at either end.
    A text without letters or digits gives "".
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def word_count(text: str) -> int:
    """Count the words of a text: what stands between white space and holds a letter or a digit.

    "Salt & well-known pepper" has 3 words; an empty text has 0.
    """
    return sum(any(map(str.isalnum, piece)) for piece in text.split())
'''

STEP_1 = PracticeStep(
    number=1,
    deliverables=("textkit.py",),
    checks=(
        by_oracle("slugify gives the right slug for titles with punctuation, accents and digits.", "textkit/slugify"),
        by_oracle("word_count counts words across any white space and skips lone punctuation.", "textkit/word_count"),
        by_file(
            "slugify declares that it takes and gives text.", "textkit.py", contains="def slugify(text: str) -> str:"
        ),
        by_judge("The docstring of slugify says what a text without letters or digits gives."),
    ),
    first_checks=(0, 1, 2),
    objection="Nothing checks the documented edge: the docstring of slugify must say what a title of mere punctuation gives.",
    solution={"textkit.py": TEXTKIT},
    defects=(
        Defect(
            id="accents-lost",
            says="slugify drops accented letters whole instead of their accents.",
            path="textkit.py",
            old='unicodedata.normalize("NFKD", text)',
            new="text",
            breaks=("c1",),
            costs={"correctness": 3.0, "robustness": 2.0},
        ),
        Defect(
            id="hyphens-repeated",
            says="slugify gives a hyphen for every odd character instead of one for a run of them.",
            path="textkit.py",
            old='r"[^a-z0-9]+"',
            new='r"[^a-z0-9]"',
            breaks=("c1",),
            costs={"correctness": 4.0},
        ),
        Defect(
            id="punctuation-counted",
            says="word_count counts a lone ampersand or dash as a word.",
            path="textkit.py",
            old="any(map(str.isalnum, piece))",
            new="len(piece) > 0",
            breaks=("c2",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="one-space-only",
            says="word_count splits at single spaces, so tabs and new lines join words.",
            path="textkit.py",
            old="text.split()",
            new='text.split(" ")',
            breaks=("c2",),
            costs={"correctness": 2.0, "robustness": 3.0},
        ),
        Defect(
            id="types-left-out",
            says="slugify does not declare its types.",
            path="textkit.py",
            old="def slugify(text: str) -> str:",
            new="def slugify(text):",
            breaks=("c3",),
            costs={"clarity": 1.0},
        ),
        Defect(
            id="edge-undocumented",
            says="The docstring of slugify is silent about a title without letters or digits.",
            path="textkit.py",
            old='    A text without letters or digits gives "".\n',
            new="",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

WRAPPING = r'''"""Plain text at a width of one's own."""


def wrap(text: str, width: int = 72) -> list[str]:
    """Break a text into lines of at most `width` characters, between words.

    Any run of white space counts as one space. A word longer than `width` stands whole on a line of its own.
    An empty text gives no lines. Raises ValueError where `width` is below 1.
    """
    if width < 1:
        raise ValueError("width must be at least 1")
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
    if line:
        lines.append(line)
    return lines


def excerpt(text: str, words: int = 20) -> str:
    """Give the first words of a text, with " ..." behind them where some were left out."""
    found = text.split()
    rest = " ..." if len(found) > words else ""
    return " ".join(found[:words]) + rest
'''

STEP_2 = PracticeStep(
    number=2,
    deliverables=("wrapping.py",),
    checks=(
        by_oracle("wrap breaks texts at the width, also where words are longer than it.", "textkit/wrap"),
        by_oracle("excerpt gives the first words and marks only what was cut.", "textkit/excerpt"),
        by_command(
            "wrap needs no width: a line then has at most 72 characters.",
            "python",
            "-c",
            "from wrapping import wrap; print(max(map(len, wrap('word ' * 90))) in range(60, 73))",
            prints="True",
        ),
        by_judge("The docstring of wrap says what becomes of a word longer than the width."),
    ),
    first_checks=(0, 1, 2, 3),
    solution={"wrapping.py": WRAPPING},
    defects=(
        Defect(
            id="line-too-long",
            says="wrap forgets the space between two words, so a line may be one character too long.",
            path="wrapping.py",
            old="len(line) + 1 + len(word)",
            new="len(line) + len(word)",
            breaks=("c1",),
            costs={"correctness": 3.0},
        ),
        Defect(
            id="empty-line-first",
            says="wrap puts an empty line before a first word that fills the width.",
            path="wrapping.py",
            old="if line and len(line)",
            new="if len(line)",
            breaks=("c1",),
            costs={"correctness": 2.0, "robustness": 2.0},
        ),
        Defect(
            id="zero-width-taken",
            says="wrap takes a width of 0.",
            path="wrapping.py",
            old="if width < 1:",
            new="if width < 0:",
            breaks=("c1",),
            costs={"robustness": 3.5},
        ),
        Defect(
            id="cut-mark-too-early",
            says="excerpt marks a cut where the text has exactly the wanted number of words.",
            path="wrapping.py",
            old="len(found) > words",
            new="len(found) >= words",
            breaks=("c2",),
            costs={"correctness": 2.5},
        ),
        Defect(
            id="long-word-undocumented",
            says="The docstring of wrap is silent about words longer than the width.",
            path="wrapping.py",
            old=" A word longer than `width` stands whole on a line of its own.\n",
            new="\n",
            breaks=("c4",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

NEWSLETTER = r'''"""A plain-text newsletter made from blog posts."""

from textkit import slugify, word_count
from wrapping import excerpt, wrap


def entry(post: dict[str, str], width: int = 72) -> str:
    """Give one post as text: its title, its length and link, and the first 20 words of its body.

    A post without a title is called "Untitled"; one without a body has no third part.
    """
    title = post.get("title") or "Untitled"
    body = post.get("body", "")
    count = word_count(body)
    unit = "word" if count == 1 else "words"
    return "\n".join([title, f"{count} {unit}, /{slugify(title)}", *wrap(excerpt(body), width)])


def newsletter(posts: list[dict[str, str]], width: int = 72) -> str:
    """Put posts together, the newest first, with an empty line between them.

    Posts of one day keep the order in which they were given. `posts` itself is left as it is. No posts give "".
    """
    newest = sorted(posts, key=lambda post: post["date"], reverse=True)
    return "\n\n".join(entry(post, width) for post in newest)
'''

STEP_3 = PracticeStep(
    number=3,
    deliverables=("newsletter.py",),
    checks=(
        by_oracle("entry gives title, length, link and wrapped excerpt of a post.", "textkit/entry"),
        by_oracle("newsletter puts the newest post first and keeps the order within a day.", "textkit/newsletter"),
        by_command(
            "newsletter leaves the list of posts as it was given.",
            "python",
            "-c",
            "from newsletter import newsletter; posts = [{'title': 'x', 'date': d} for d in '213'];"
            " newsletter(posts); print([post['date'] for post in posts])",
            prints="['2', '1', '3']",
        ),
        by_judge("newsletter.py takes slugs, counts and wrapping from the other two modules and repeats none of it."),
        by_judge("The docstring of newsletter says in which order posts of one day come."),
    ),
    first_checks=(0, 1, 2, 3),
    objection="The order within a day is promised and must be documented: add a check of newsletter's docstring.",
    solution={"newsletter.py": NEWSLETTER},
    defects=(
        Defect(
            id="untitled-crashes",
            says="entry raises KeyError for a post without a title.",
            path="newsletter.py",
            old='post.get("title") or "Untitled"',
            new='post["title"]',
            breaks=("c1",),
            costs={"robustness": 4.0},
        ),
        Defect(
            id="one-words",
            says='entry writes "1 words".',
            path="newsletter.py",
            old='"word" if count == 1 else "words"',
            new='"words"',
            breaks=("c1",),
            costs={"correctness": 2.0},
        ),
        Defect(
            id="oldest-first",
            says="newsletter puts the oldest post first.",
            path="newsletter.py",
            old=", reverse=True)",
            new=")",
            breaks=("c2",),
            costs={"correctness": 5.0},
        ),
        Defect(
            id="posts-sorted-in-place",
            says="newsletter sorts the caller's own list.",
            path="newsletter.py",
            old="newest = sorted(posts, key=",
            new="newest = posts\n    newest.sort(key=",
            breaks=("c3",),
            costs={"robustness": 3.0},
        ),
        Defect(
            id="slug-by-hand",
            says="entry makes the slug of a title by hand as well, although textkit has it.",
            path="newsletter.py",
            old="/{slugify(title)}",
            new="/{slugify('-'.join(title.lower().split()))}",
            breaks=("c4",),
            costs={"clarity": 1.5},
            form=True,
        ),
        Defect(
            id="order-undocumented",
            says="The docstring of newsletter is silent about the order within a day.",
            path="newsletter.py",
            old="    Posts of one day keep the order in which they were given. `posts` itself",
            new="    `posts` itself",
            breaks=("c5",),
            costs={"clarity": 1.0},
            form=True,
        ),
    ),
)

TASK = PracticeTask(
    name="textkit",
    title="Text kit for a blog's newsletter",
    prompt=(
        "I run a small blog and want to send its posts as a plain-text newsletter."
        " I need slugs for the titles, word counts, and text wrapped at a width that I choose, then the newsletter itself."
        " Please write it in plain Python with docstrings that I can read."
    ),
    plan={
        "title": "Text kit for a blog's newsletter",
        "scope": "Three small Python modules without dependencies: slugs and counts, wrapping, and the newsletter on top.",
        "deliverables": ["textkit.py", "wrapping.py", "newsletter.py"],
        "steps": [
            planned("Slugs and word counts for posts.", STEP_1, skill="text"),
            planned("Wrap plain text at a width and cut excerpts.", STEP_2, skill="text"),
            planned("Put posts together as a newsletter.", STEP_3, skill="composition", depends_on=(1, 2)),
        ],
        "criteria": [
            criterion("correctness", "Gives the right text for everything that a blog may hold.", "high"),
            criterion("clarity", "Reads well: names, docstrings that tell the edges, nothing repeated."),
            criterion("robustness", "Stands empty, odd and foreign input, and leaves its input alone.", threshold=6.0),
        ],
    },
    steps=(STEP_1, STEP_2, STEP_3),
    oracles=ORACLES,
)
