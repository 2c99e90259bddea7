"""What generator and evaluator look at with tools: one tree in memory, read, listed, searched; commands run in copies of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..models import About
from ..payloads import Json
from ..records import Check, FileRef, attempt_hash
from ..reviews.command import Command, CommandArgs, seen
from ..sandbox import run
from ..workspace import Tree, composed, laid
from .equipment import Equipment
from .loop import Tool, ToolCall

LINES = 400
"""Lines of a file that one call reads."""
MATCHES = 100
TEXT: Json = {"type": "string"}
READ = Tool(
    name="read",
    description=f"Read a text file, {LINES} lines from line `start` (the first is 1).",
    inputs={"path": TEXT, "start": {"type": "integer"}},
    needs=("path",),
)
LIST = Tool(
    name="list", description="List the files and their sizes, those below `under` alone.", inputs={"under": TEXT}
)
SEARCH = Tool(
    name="search",
    description="Find the lines that hold a text (no pattern; upper and lower case are the same).",
    inputs={"text": TEXT, "under": TEXT},
    needs=("text",),
)
RUN = Tool(
    name="run",
    description='Run a command without a shell in a throwaway copy of the files: "python -m pytest -q".',
    inputs={"command": TEXT},
    needs=("command",),
)


class Desk:
    """The files of one attempt under the eyes of one agent. ``seconds`` limits each command."""

    def __init__(self, equipment: Equipment, about: About, files: Sequence[FileRef], *, seconds: float) -> None:
        self.equipment = equipment
        self.files = {file.path: file for file in files}
        self.about = about
        self._command = Command(seconds, allow_unsafe=equipment.allow_unsafe)

    def look(self, turn: int, call: ToolCall) -> str:
        """Carry out a call of `READ`, `LIST`, `SEARCH` or `RUN`; its outcome."""
        text = {name: str(value) for name, value in call.input.items()}
        if call.name == "read":
            return self._read(text["path"], text.get("start", "1"))
        if call.name == "list":
            return self._list(text.get("under", ""))
        if call.name == "search":
            return self._search(text["text"], text.get("under", ""))
        return self._run(turn, text["command"])

    def _text(self, path: str) -> str | None:
        file = self.files.get(composed(path.strip().removeprefix("./")))
        return None if file is None else self.equipment.objects.get(file.sha256).decode("utf-8", "replace")

    def _read(self, path: str, start: str) -> str:
        if composed(path.strip().removeprefix("./")) in self.equipment.closed:
            return f"{path} is the person's data, which is not shown; what you write can read it, and so can a command"
        text = self._text(path)
        if text is None:
            return f"there is no file {path!r:.200}; `list` shows those there are"
        if "\0" in text:
            return f"{path} is no text"
        lines = text.split("\n")
        first = max(1, int(start)) if start.isascii() and start.isdigit() else 1
        shown = lines[first - 1 : first - 1 + LINES]
        more = len(lines) - (first - 1 + len(shown))
        return "\n".join([*shown, *([f"[{more:,} more lines: start={first + LINES}]"] if more > 0 else [])])

    def _list(self, under: str) -> str:
        listed = [file for path, file in sorted(self.files.items()) if _is_below(path, under)]
        return "\n".join(f"{file.path}  {file.size:,} bytes" for file in listed) or "no file"

    def _search(self, text: str, under: str) -> str:
        wanted = text.casefold()
        if not wanted.strip():
            return "there is nothing to search for"
        found = [
            f"{path}:{number}: {line.strip()[:200]}"
            for path in sorted(self.files.keys() - self.equipment.closed)
            if _is_below(path, under)
            for number, line in enumerate((self._text(path) or "").split("\n"), 1)
            if wanted in line.casefold()
        ]
        more = [f"[{len(found) - MATCHES:,} more]"] if len(found) > MATCHES else []
        return "\n".join([*found[:MATCHES], *more]) or "no line holds it"

    def _run(self, turn: int, command: str) -> str:
        check = Check(id="run", says="", method="command", args={"run": command})
        if fault := self._command.vet(check):
            return f"not run: {fault}"
        files = tuple(self.files.values())

        def look() -> Json:
            with laid(files, self.equipment.objects) as tree:
                argv = CommandArgs(run=command).argv
                ran = run(argv, tree.root, seconds=self._command.seconds, allow_unsafe=self.equipment.allow_unsafe)
                return {"text": seen(ran, tree), "left": self._left(tree)}

        about = replace(self.about, turn=turn)
        saw, _ = self.equipment.model.observe(about, "run", {"run": command}, attempt_hash(files), look)
        found: Mapping[str, Json] = saw if isinstance(saw, dict) else {}
        return "\n".join([str(found.get("text", "")), *self._taken_over(found.get("left"))])

    def _left(self, tree: Tree) -> Json:  # noqa: ARG002 - what is looked at is not changed by looking
        """What of the tree is kept after a command, as the log holds it: nothing, unless a subclass says so."""
        return None

    def _taken_over(self, left: Json) -> list[str]:  # noqa: ARG002
        """Keep what `_left` gave; a line for each thing."""
        return []


def _is_below(path: str, under: str) -> bool:
    under = under.strip().removeprefix("./").rstrip("/")
    return under in {"", "."} or path == under or path.startswith(f"{under}/")
