"""Reader of the task `notice`: what a text says, and where."""

import re
from pathlib import Path

FENCED = re.compile(r"(?ms)^```.*?(?:^```$|\Z)")


def states(heading: str, phrase: str) -> bool:
    """Whether a phrase stands under a heading of the notice; what is in a code fence does not count."""
    text = FENCED.sub("", Path("notice.md").read_text(encoding="utf-8"))
    parts = re.split(r"(?m)^#+ +(.*)$", text)
    under = dict(zip(parts[1::2], parts[2::2], strict=True))
    return folded(phrase) in folded(under.get(heading, ""))


def says(path: str, phrase: str) -> bool:
    """Whether a phrase stands anywhere in a text."""
    return folded(phrase) in folded(Path(path).read_text(encoding="utf-8"))


def fits(path: str, least: int, most: int, of: str) -> bool:
    """Whether a text has so many words, characters, or characters beyond ASCII."""
    text = Path(path).read_text(encoding="utf-8").strip()
    foreign = [sign for sign in text if not sign.isascii()]
    counts = {"words": len(re.findall(r"\w[\w.:@'-]*", text)), "characters": len(text), "foreign": len(foreign)}
    return least <= counts[of] <= most


def folded(text: str) -> str:
    """The text without its emphasis, in lower case, with single spaces."""
    return " ".join(text.replace("*", "").split()).casefold()


def limits(question: str, *rest: str | int) -> bool:
    """`says` or `fits`, by name, of the notice."""
    return asked("notice.md", question, *rest)


def message(question: str, *rest: str | int) -> bool:
    """`says` or `fits`, by name, of the message."""
    return asked("message.txt", question, *rest)


def asked(path: str, question: str, *rest: str | int) -> bool:
    """One question about one text."""
    if question == "says":
        return says(path, str(rest[0]))
    return fits(path, int(rest[0]), int(rest[1]), question)
