"""Reading what models write: JSON alone or in a fence, files in fenced blocks. Strict where a verdict rests on it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from ..payloads import Json
from ..workspace import refused

MAX_JSON = 2_000_000
MAX_DEPTH = 60
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$")
TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[\]}])')
PATH_LINE = re.compile(r"^[#*\s`>-]*(?:file(?:name)?|path)?[:\s*`]*([\w./-]+\.\w{1,8})[`*:\s]*$", re.IGNORECASE)
COMMENT_PATH = re.compile(
    r"^\s*(?:#|//|<!--|/\*)\s*(?:file(?:name)?:\s*|path:\s*)?([\w./-]+\.\w{1,8})\s*(?:-->|\*/)?\s*$"
)


class Unusable(ValueError):
    """A reply that cannot be used: the reason that a repair request gives, and how to reply ``again``."""

    def __init__(
        self, reason: str, *, again: str = "Reply again, whole, in exactly the shape that was asked for."
    ) -> None:
        super().__init__(reason)
        self.again = again


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block: its info string, its text, the line before it, and whether it was closed."""

    info: str
    text: str
    before: str
    closed: bool


def fences(text: str) -> tuple[list[Fence], str]:
    """The fenced blocks of a Markdown text, and the text outside them."""
    found: list[Fence] = []
    outside: list[str] = []
    opened: tuple[str, str] | None = None
    inside: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = FENCE.match(line)
        if opened is None:
            if mark:
                opened, inside = (mark.group(1), mark.group(2).strip()), []
            else:
                outside.append(line)
        elif (
            mark
            and mark.group(1)[0] == opened[0][0]
            and len(mark.group(1)) >= len(opened[0])
            and not mark.group(2).strip()
        ):
            found.append(Fence(info=opened[1], text="\n".join(inside), before=_last_line(outside), closed=True))
            opened = None
        else:
            inside.append(line)
    if opened is not None:
        found.append(Fence(info=opened[1], text="\n".join(inside), before=_last_line(outside), closed=False))
    return found, "\n".join(outside)


def _last_line(lines: list[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def json_alone(text: str) -> dict[str, Json]:
    """The JSON object that is the whole reply, bare or in one fence.

    With text around it the reply is unusable: prose may quote somebody else's verdict, and nobody can tell it from the
    rater's own.
    """
    bare = text.strip()
    blocks, outside = fences(bare)
    if blocks and not bare.startswith("{"):
        if len(blocks) > 1 or outside.strip():
            raise Unusable("there is text beside the JSON; reply with the JSON object alone")
        bare = blocks[0].text
    return _object(bare)


def json_somewhere(text: str) -> dict[str, Json]:
    """The JSON object of a reply, in the last fence that holds one, or from the first brace to the last."""
    bare = text.strip()
    candidates = [block.text for block in fences(bare)[0] if block.closed and block.text.strip().startswith("{")][::-1]
    if not candidates and "{" in bare:
        candidates = [bare[bare.index("{") : bare.rfind("}") + 1]]
    if not candidates:
        raise Unusable("there is no JSON object in the reply" if bare else "the reply is empty")
    reason: Unusable | None = None
    for candidate in candidates:
        try:
            return _object(candidate)
        except Unusable as error:
            reason = reason or error
    raise reason or Unusable("there is no JSON object in the reply")


def _object(text: str) -> dict[str, Json]:
    if not text.strip():
        raise Unusable("the reply is empty")
    if len(text) > MAX_JSON:
        raise Unusable(f"the reply is longer than {MAX_JSON} characters")
    if _depth(text) > MAX_DEPTH:
        raise Unusable(f"the JSON is nested deeper than {MAX_DEPTH}")
    mended = TRAILING_COMMA.sub(lambda match: match.group(1) or "", text).strip()
    try:
        value, end = DECODER.raw_decode(mended)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unusable(f"the reply is not JSON ({error})") from None
    except ValueError as error:  # Python refuses integers of more than 4,300 digits
        raise Unusable(str(error)) from None
    # A weak model closes one bracket too many; after a whole value that can mean nothing else.
    if mended[end:].strip("]} \n\r\t"):
        raise Unusable("there is text behind the JSON")
    if not isinstance(value, dict):
        raise Unusable("the JSON is not an object")
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value: dict[str, Json] = {}
    for key, item in pairs:
        if key in value:
            raise Unusable(f"the key {key!r} stands twice in one object")
        value[key] = item
    return value


def _no_constant(name: str) -> NoReturn:
    raise Unusable(f"{name} is not a number that JSON has")


DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a generator's reply holds: path -> text, the prose around, and what was said but is no usable file."""

    files: dict[str, str]
    prose: str
    faults: tuple[str, ...] = ()


def files_in(text: str, deliverables: tuple[str, ...]) -> Files:
    """The files that a reply carries as fenced blocks, or as ``write_file`` calls written in fenced JSON.

    The path is taken from the block's info string, else from the line before it, else from its first line; a single block
    without any belongs to a single deliverable. A block that was cut off is no file.
    """
    blocks, prose = fences(text)
    files: dict[str, str] = {}
    faults: list[str] = []
    unnamed: list[Fence] = []
    for block in blocks:
        call = _written(block)
        path, content = call or (_path_of(block, deliverables), block.text)
        if not block.closed:
            faults.append(f"the file {path or 'in the last block'} was cut off before its end")
        elif path is None:
            unnamed.append(block)
        else:
            files[path] = content if content.endswith("\n") or not content else content + "\n"
    if len(deliverables) == 1 and not files and not faults and unnamed:
        # A model that explains itself may add examples of use; the module is the longest block.
        longest = max(unnamed, key=lambda block: len(block.text))
        files[deliverables[0]] = longest.text + "\n"
    return Files(files=files, prose=prose.strip(), faults=tuple(faults))


def _path_of(block: Fence, deliverables: tuple[str, ...]) -> str | None:
    words = re.split(r"[\s,]+", block.info)
    named = [word.split("=", 1)[-1].strip("\"'`{}()") for word in words]
    named += [word.split(":", 1)[1] for word in words if ":" in word and not word.startswith(":")]
    for name in named:
        if name in deliverables:
            return name
    for name in named[1:]:
        if "." in name and refused(name) is None:
            return name
    if named[0] and "." in named[0][1:] and refused(named[0]) is None:
        return named[0]
    for line, pattern in ((block.before, PATH_LINE), (block.text.split("\n", 1)[0], COMMENT_PATH)):
        if match := pattern.match(line):
            return match.group(1)
    return None


def _written(block: Fence) -> tuple[str, str] | None:
    """(path, content) of a block that holds a ``write_file`` call as JSON."""
    if '"write_file"' not in block.text[:200]:
        return None
    try:
        call = _object(block.text)
    except Unusable:
        return None
    given = call.get("arguments", call.get("input"))
    if call.get("name") != "write_file" or not isinstance(given, dict):
        return None
    path, content = given.get("path"), given.get("content")
    return (path, content) if isinstance(path, str) and isinstance(content, str) else None
