"""The generator's workbench: one attempt's tree in memory, and the tools that read, write, search and run in it.

Only the contract's deliverables can be written; a write elsewhere is refused, and the model is told why. A command runs in
the sandbox, in a throwaway copy; what it made of a deliverable is taken over, all else that it wrote is not.
"""

from __future__ import annotations

import base64
import hashlib
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..models import About
from ..payloads import Json
from ..records import Check, FileRef, Refusal, attempt_hash
from ..reviews.command import Command, CommandArgs, seen
from ..sandbox import run
from ..workspace import MAX_FILE_BYTES, clash, laid, layered, refused
from .equipment import Equipment
from .loop import Tool, ToolCall

LINES = 400
"""Lines of a file that one call reads."""
MATCHES = 100
MOST_TAKEN = 2_000_000
"""Bytes of a deliverable that a command may make."""
TEXT: Json = {"type": "string"}
TOOLS = (
    Tool(
        name="read",
        description=f"Read a text file, {LINES} lines from line `start` (the first is 1).",
        inputs={"path": TEXT, "start": {"type": "integer"}},
        needs=("path",),
    ),
    Tool(
        name="write",
        description="Write a deliverable of the contract, whole. No other path can be written.",
        inputs={"path": TEXT, "content": TEXT},
        needs=("path", "content"),
    ),
    Tool(name="list", description="List the files and their sizes, those below `under` alone.", inputs={"under": TEXT}),
    Tool(
        name="search",
        description="Find the lines that hold a text (no pattern; upper and lower case are the same).",
        inputs={"text": TEXT, "under": TEXT},
        needs=("text",),
    ),
    Tool(
        name="run",
        description='Run a command without a shell in a throwaway copy of the files: "python -m pytest -q".',
        inputs={"command": TEXT},
        needs=("command",),
    ),
    Tool(name="done", description="Say that every deliverable is written, and what you did.", inputs={"says": TEXT}),
)


class Bench:
    """One attempt being made. ``files`` is what it starts from; ``there`` the paths that stand beside its deliverables."""

    def __init__(
        self,
        equipment: Equipment,
        about: About,
        files: Sequence[FileRef],
        *,
        deliverables: tuple[str, ...],
        there: Sequence[str],
        seconds: float,
    ) -> None:
        self._equipment = equipment
        self._about = about
        self._files = {file.path: file for file in files}
        self._deliverables = deliverables
        self._there = there
        self._command = Command(seconds)
        self.written: dict[str, FileRef] = {}
        self.refusals: list[Refusal] = []
        self.log: list[str] = []

    def use(self, turn: int, call: ToolCall) -> str | None:
        """Carry out a call; its outcome. None: the model has finished."""
        if call.name == "done":
            self.log.append(f"done: {call.input.get('says') or ''}".strip())
            return None
        text = {name: str(value) for name, value in call.input.items()}
        if call.name == "read":
            outcome = self._read(text["path"], text.get("start", "1"))
        elif call.name == "write":
            outcome = self.write(text["path"], text["content"])
        elif call.name == "list":
            outcome = self._list(text.get("under", ""))
        elif call.name == "search":
            outcome = self._search(text["text"], text.get("under", ""))
        else:
            outcome = self._run(turn, text["command"])
        shown = {name: value for name, value in text.items() if name != "content"}
        first = outcome.split("\n", 1)[0]
        self.log.append(f"{call.name} {' '.join(shown.values())}: {first[:200]}".replace("\n", " "))
        return outcome

    # Files

    def write(self, path: str, text: str) -> str:
        """Write a deliverable; the reason where that is refused."""
        path = path.strip().removeprefix("./")
        content = text.encode("utf-8", "backslashreplace")
        reason = self._reason(path, len(content))
        if reason:
            self.refusals.append(Refusal(path=path[:200], reason=reason))
            return f"refused: {reason}"
        self._keep(self._equipment.objects.file(path, content))
        return f"written: {path}, {len(content):,} bytes"

    def _reason(self, path: str, size: int) -> str:
        if path not in self._deliverables:
            return refused(path) or f"it is no deliverable of the contract; those are {', '.join(self._deliverables)}"
        if other := clash(path, self._there):
            return f"it cannot stand beside {other}, which is there already"
        return f"it is larger than {MAX_FILE_BYTES // 10**6} MB" if size > MAX_FILE_BYTES else ""

    def _keep(self, file: FileRef) -> None:
        self.written[file.path] = file
        self._files = {one.path: one for one in layered(self._files.values(), [file])}

    def _text(self, path: str) -> str | None:
        file = self._files.get(path.strip().removeprefix("./"))
        return None if file is None else self._equipment.objects.get(file.sha256).decode("utf-8", "replace")

    def _read(self, path: str, start: str) -> str:
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
        listed = [file for path, file in sorted(self._files.items()) if _is_below(path, under)]
        return "\n".join(f"{file.path}  {file.size:,} bytes" for file in listed) or "no file"

    def _search(self, text: str, under: str) -> str:
        wanted = text.casefold()
        if not wanted.strip():
            return "there is nothing to search for"
        found = [
            f"{path}:{number}: {line.strip()[:200]}"
            for path in sorted(self._files)
            if _is_below(path, under)
            for number, line in enumerate((self._text(path) or "").split("\n"), 1)
            if wanted in line.casefold()
        ]
        more = [f"[{len(found) - MATCHES:,} more]"] if len(found) > MATCHES else []
        return "\n".join([*found[:MATCHES], *more]) or "no line holds it"

    # Commands

    def _run(self, turn: int, command: str) -> str:
        check = Check(id="run", says="", method="command", args={"run": command})
        if fault := self._command.vet(check):
            return f"not run: {fault}"
        files = tuple(self._files.values())
        about = replace(self._about, turn=turn)
        saw, _ = self._equipment.model.observe(
            about, "run", {"run": command}, attempt_hash(files), lambda: self._ran(command, files)
        )
        return self._taken_over(saw)

    def _ran(self, command: str, files: Sequence[FileRef]) -> Json:
        """What a command printed, and the deliverables that it changed, by path."""
        with laid(files, self._equipment.objects) as tree:
            ran = run(CommandArgs(run=command).argv, tree.root, seconds=self._command.seconds)
            left = {path: self._left(tree.root / path, path) for path in self._deliverables}
            changed: dict[str, Json] = {path: content for path, content in left.items() if content is not None}
            return {"text": seen(ran, tree), "changed": changed}

    def _left(self, place: Path, path: str) -> str | None:
        """A deliverable that a command changed, in base64: the log must be enough to replay it. None where nothing is kept."""
        if any(parent.is_symlink() for parent in place.parents) or self._reason(path, 0):
            return None
        try:
            facts = place.lstat()
            content = place.read_bytes() if stat.S_ISREG(facts.st_mode) and facts.st_size <= MOST_TAKEN else None
        except OSError:
            return None
        before = self._files.get(path)
        if content is None or (before and before.sha256 == hashlib.sha256(content).hexdigest()):
            return None
        return base64.b64encode(content).decode("ascii")

    def _taken_over(self, saw: Json) -> str:
        found: Mapping[str, Json] = saw if isinstance(saw, dict) else {}
        changed = found.get("changed")
        lines = [str(found.get("text", ""))]
        for path, held in changed.items() if isinstance(changed, dict) else ():
            content = base64.b64decode(str(held))
            self._keep(self._equipment.objects.file(path, content))
            lines.append(f"taken over: {path}, {len(content):,} bytes")
        return "\n".join(lines)


def _is_below(path: str, under: str) -> bool:
    under = under.strip().removeprefix("./").rstrip("/")
    return under in {"", "."} or path == under or path.startswith(f"{under}/")
