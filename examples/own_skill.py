"""Skills of one's own: one is a few words to the generator, one a function that does its steps without any model.

    PGEHarness(HarnessConfig(skills=skills)).run("A guide to tea in guide.md, and a table of contents.")

The planner picks among them by what their descriptions say; what the function returns is judged like any other attempt.
"""

from pge_nb import Skill


def headings(_told, tree):
    lines = []
    for file in tree.files:
        text = tree.text(file.path) or "" if file.path.endswith(".md") else ""
        lines += [f"- {line.lstrip('# ')} ({file.path})" for line in text.split("\n") if line.startswith("#")]
    return {"contents.md": "\n".join(lines) + "\n"}


skills = {
    "writing": Skill(description="texts in Markdown", prompt="Short sentences. A heading over every part."),
    "contents": Skill(description="a table of contents of the texts that are there, as contents.md", does=headings),
}
