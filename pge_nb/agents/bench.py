"""The generator's workbench: a desk at which the deliverables of one attempt are also written.

Only the contract's deliverables can be; a write elsewhere is refused, and the model is told why. Where no contract and no plan
names any, whatever files it takes can. What a command made of a deliverable is taken over, all else that it wrote is not.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from .. import walking
from ..models import About
from ..payloads import Json
from ..records import FileRef, Refusal
from ..workspace import MAX_FILE_BYTES, Tree, clash, composed, layered, refused
from .desk import LIST, READ, RUN, SEARCH, TEXT, Desk
from .equipment import Equipment
from .loop import Tool, ToolCall

MOST_TAKEN = 2_000_000
"""Bytes of a deliverable that a command may make."""
WRITE = Tool(
    name="write",
    description="Write a deliverable of the contract, whole. No other path can be written.",
    inputs={"path": TEXT, "content": TEXT},
    needs=("path", "content"),
)
DONE = Tool(name="done", description="Say that every deliverable is written, and what you did.", inputs={"says": TEXT})
TOOLS = (READ, WRITE, LIST, SEARCH, RUN, DONE)


class Bench(Desk):
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
        super().__init__(equipment, about, files, seconds=seconds)
        self.deliverables = deliverables
        self._there = there
        self.written: dict[str, FileRef] = {}
        self.refusals: list[Refusal] = []
        self.log: list[str] = []

    def use(self, turn: int, call: ToolCall) -> str | None:
        """Carry out a call; its outcome. None: the model has finished."""
        if call.name == DONE.name:
            self.log.append(f"done: {call.input.get('says') or ''}".strip())
            return None
        if call.name == WRITE.name:
            outcome = self.write(str(call.input["path"]), str(call.input["content"]))
        else:
            outcome = self.look(turn, call)
        given = " ".join(str(value) for name, value in call.input.items() if name != "content")
        first = outcome.split("\n", 1)[0]
        self.log.append(f"{call.name} {given[:200]}: {first[:200]}".replace("\n", " "))
        return outcome

    def write(self, path: str, text: str | bytes) -> str:
        """Write a deliverable; the reason where that is refused."""
        path = composed(path.strip().removeprefix("./"))
        content = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
        if reason := self._reason(path, len(content)):
            self.refusals.append(Refusal(path=path[:200], reason=reason))
            return f"refused: {reason}"
        self._keep(path, content)
        return f"written: {path}, {len(content):,} bytes"

    def _reason(self, path: str, size: int) -> str:
        if not self.deliverables:
            if reason := refused(path):
                return reason
        elif path not in self.deliverables:
            return refused(path) or f"it is no deliverable of the contract; those are {', '.join(self.deliverables)}"
        if other := clash(path, [*self._there, *self.written]):
            return f"it cannot stand beside {other}, which is there already"
        return f"it is larger than {MAX_FILE_BYTES // 10**6} MB" if size > MAX_FILE_BYTES else ""

    def _keep(self, path: str, content: bytes) -> None:
        self.written[path] = self.equipment.objects.file(path, content)
        self.files = {one.path: one for one in layered(self.files.values(), [self.written[path]])}

    def _left(self, tree: Tree) -> Json:
        left = {path: self._changed(tree, path) for path in self.deliverables or self.written}
        return {path: content for path, content in left.items() if content is not None}

    def _changed(self, tree: Tree, path: str) -> str | None:
        """A deliverable that a command changed, in base64: the log must be enough to replay it. None where nothing is kept."""
        left = None if self._reason(path, 0) else walking.read(tree.root, path, MOST_TAKEN)
        before = self.files.get(path)
        if left is None or (before and before.sha256 == hashlib.sha256(left.bytes).hexdigest()):
            return None
        return base64.b64encode(left.bytes).decode("ascii")

    def _taken_over(self, left: Json) -> list[str]:
        lines: list[str] = []
        for path, held in left.items() if isinstance(left, dict) else ():
            content = base64.b64decode(str(held))
            self._keep(path, content)
            lines.append(f"taken over: {path}, {len(content):,} bytes")
        return lines
