"""Reading what models write: JSON alone or in a fence, files in fenced blocks. Strict where a verdict rests on it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NoReturn

from ..payloads import Json, all_mended, mended
from ..workspace import composed
from .fences import Fence, fences

MAX_REPLY = 4_000_000
MAX_JSON = 2_000_000
MAX_DEPTH = 60
MAX_DIGITS = 300
LONGEST_LINE = 300
"""Characters of a line that may name a file."""
CLOSING_FENCE = re.compile(r"\n`{3,}\Z")
TRAILING_COMMA = re.compile(r",(?=\s*[\]}])")
REST_OF_STRING = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
BETWEEN_WORDS = re.compile(r"[\s：，。、；「」『』（）《》“”«»¿¡،؛؟]+")  # noqa: RUF001 - marks of other scripts
PATH = re.compile(r"[\w./~-]+\.[^\W\d]\w{0,7}")
LABEL = re.compile(r"(?:\d+[.)]\s+)?(?:(?:file ?name|file|path)(?:\s\d+)?\s*[:=]|file\s)?", re.IGNORECASE)
WRITE_FILE = re.compile(r'\{[^{}]{0,200}"write_file"')
COMMENTS = (("#", ""), ("//", ""), ("<!--", "-->"), ("/*", "*/"), ("--", ""), ("%", ""), (";", ""))
LANGUAGES = {
    ".py": {"python", "py"},
    ".md": {"markdown", "md", "text", "txt"},
    ".txt": {"text", "txt", "plaintext", "plain"},
    ".csv": {"csv", "text", "txt"},
    ".json": {"json", "jsonc"},
    ".ipynb": {"json"},
    ".html": {"html", "xml"},
    ".css": {"css"},
    ".js": {"javascript", "js", "jsx"},
    ".ts": {"typescript", "ts", "tsx"},
    ".sh": {"bash", "sh", "shell", "zsh", "console"},
    ".sql": {"sql"},
    ".tex": {"latex", "tex"},
    ".toml": {"toml"},
    ".yaml": {"yaml", "yml"},
    ".yml": {"yaml", "yml"},
}
"""Suffix -> what a block of such a file calls its language."""


class Unusable(ValueError):
    """A reply that cannot be used: the reason that a repair request gives, and how to reply ``again``."""

    def __init__(
        self, reason: str, *, again: str = "Reply again, whole, in exactly the shape that was asked for."
    ) -> None:
        super().__init__(reason)
        self.again = again


# JSON


def json_alone(text: str) -> dict[str, Json]:
    """The JSON object that is the whole reply, bare or in one fence; one that is closed and was never opened is none.

    With text around it the reply is unusable: prose may quote somebody else's verdict, and nobody can tell it from the
    rater's own.
    """
    bare = _stripped(text)
    if not bare.startswith("{"):
        blocks, outside = fences(bare)
        if len(blocks) > 1 or (blocks and outside.strip()):
            raise Unusable("there is text beside the JSON; reply with the JSON object alone")
        bare = blocks[0].text if blocks else bare
    return json_object(CLOSING_FENCE.sub("", bare))


def json_somewhere(text: str) -> dict[str, Json]:
    """The JSON object of a reply, in the last fence that holds one, or from the first brace to the last.

    For plans and contracts: line breaks inside a string are taken as they stand. Where the last fence was not closed, an
    earlier one stands only if it says the same: else it would be a draft, and what was meant was cut off.
    """
    bare = _stripped(text)
    blocks = [block for block in fences(bare)[0] if block.text.strip().startswith("{")]
    candidates = [block.text for block in blocks][::-1]
    if blocks and not blocks[-1].closed and not any(text.startswith(candidates[0]) for text in candidates[1:]):
        candidates = candidates[:1]
    if not candidates and "{" in bare:
        candidates = [bare[bare.index("{") : bare.rfind("}") + 1]]
    if not candidates:
        raise Unusable("there is no JSON object in the reply" if bare else "the reply is empty")
    reason: Unusable | None = None
    for candidate in candidates:
        try:
            return json_object(candidate, loose=True)
        except Unusable as error:
            reason = reason or error
    raise reason or Unusable("there is no JSON object in the reply")


def _stripped(text: str) -> str:
    bare = text.strip("\ufeff \t\r\n")
    if len(bare) > MAX_REPLY:
        raise Unusable(f"the reply is longer than {MAX_REPLY} characters")
    return bare


def json_object(text: str, *, loose: bool = False) -> dict[str, Json]:
    """The JSON object that the text is; ``Unusable`` says why it is none. ``loose``: line breaks inside a string stand."""
    if not text.strip():
        raise Unusable("the reply is empty")
    if len(text) > MAX_JSON:
        raise Unusable(f"the JSON is longer than {MAX_JSON} characters")
    if _depth(text) > MAX_DEPTH:
        raise Unusable(f"the JSON is nested deeper than {MAX_DEPTH}")
    mended = "".join(piece if string else TRAILING_COMMA.sub("", piece) for string, piece in _pieces(text)).strip()
    try:
        value, end = (LOOSE if loose else STRICT).raw_decode(mended)
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unusable(f"the reply is not JSON ({error})") from None
    # A weak model closes one bracket too many; after a whole value that can mean nothing else.
    if mended[end:].strip("]} \n\r\t"):
        raise Unusable("there is text behind the JSON")
    if not isinstance(value, dict):
        raise Unusable("the JSON is not an object")
    return all_mended(value)  # type: ignore[no-any-return]


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """The text cut at its JSON strings: (is it a string, the piece). An open string goes on to the end."""
    position = 0
    while (quote := text.find('"', position)) >= 0:
        yield False, text[position:quote]
        match = REST_OF_STRING.match(text, quote + 1)
        position = match.end() if match else len(text)
        yield True, text[quote:position]
    yield False, text[position:]


def _depth(text: str) -> int:
    depth = deepest = 0
    for string, piece in _pieces(text):
        for char in "" if string else piece:
            if char in "[{":
                depth += 1
                deepest = max(deepest, depth)
            elif char in "]}":
                depth -= 1
    return deepest


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value: dict[str, Json] = {}
    for name, item in pairs:
        key = mended(name)  # An escape may stand for half a character.
        if key in value:
            raise Unusable(f"the key {key!r:.80} stands twice in one object")
        value[key] = item
    return value


def _no_constant(name: str) -> NoReturn:
    raise Unusable(f"{name} is not a number that JSON has")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Unusable(f"a number in it has {len(digits)} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unusable(f"the number {digits:.40} is too large")
    return number


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_whole, parse_float=_fraction, strict=strict
    )


STRICT, LOOSE = _decoder(strict=True), _decoder(strict=False)


# Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a generator's reply holds: path -> text, the prose around, and what was said but is no usable file."""

    files: dict[str, str]
    prose: str
    faults: tuple[str, ...] = ()


def files_in(text: str, deliverables: tuple[str, ...]) -> Files:
    """The files that a reply carries as fenced blocks, or as ``write_file`` calls written in fenced JSON.

    The path is taken from the block's info string, else from the line before it, else from its first line. Where a
    deliverable is still missing, an unnamed block stands for it that is introduced by its name, or, if it is the only
    deliverable, the longest one in its language. A block that was cut off is no file. Paths are as the model wrote them.
    """
    text = text.strip("\ufeff\r\n")
    if len(text) > MAX_REPLY:
        return Files(files={}, prose=text, faults=(f"the reply is longer than {MAX_REPLY} characters",))
    blocks, prose = fences(text)
    if not blocks and WRITE_FILE.match(text.strip()):
        blocks, prose = [Fence(info="json", text=text.strip(), before="", closed=True)], ""
    files: dict[str, str] = {}
    faults: list[str] = []
    unnamed: list[Fence] = []
    for block in blocks:
        try:
            call = _written(block)
        except Unusable as error:
            faults.append(f"the write_file call cannot be read: {error}")
            continue
        path, content = call or (_path_of(block, deliverables), block.text)
        if not block.closed and call is None:
            faults.append(f"the file {path or 'in the last block'} was cut off before its end")
        elif path is None:
            unnamed.append(block)
        elif path in files and content.strip() and files[path] != _ended(content, path):
            faults.append(f"the file {path} stands in two blocks that differ")
        elif path not in files or content.strip():
            files[path] = _ended(content, path)
    if not faults:
        files |= _supplied([path for path in deliverables if path not in files], unnamed, deliverables)
    return Files(files=files, prose=prose.strip(), faults=tuple(faults))


def _ended(content: str, path: str = "") -> str:
    first, _, rest = content.partition("\n")
    if path and composed(first.strip()) == composed(path):
        content = rest  # The path stood on the block's first line, where no language has one.
    return content if content.endswith("\n") or not content else content + "\n"


def _supplied(missing: list[str], unnamed: list[Fence], deliverables: tuple[str, ...]) -> dict[str, str]:
    """Missing deliverable -> the text of the unnamed block that can only be meant for it."""
    found: dict[str, str] = {}
    for path in missing:
        meant = [block for block in unnamed if _mentioned(block.before, deliverables) == {path}]
        meant = meant or (unnamed if len(deliverables) == 1 else [])
        # A model that explains itself adds examples of use and their output; the file is the longest block.
        fitting = [block for block in meant if _fit(block, path) > 0]
        if fitting:
            found[path] = _ended(max(fitting, key=lambda block: (_fit(block, path), len(block.text))).text, path)
    return found


def _mentioned(line: str, deliverables: tuple[str, ...]) -> set[str]:
    words = {word.strip("`*\"'():;,").removesuffix(".") for word in BETWEEN_WORDS.split(line)}
    return {path for path in deliverables if not {path, composed(path)}.isdisjoint({*words, *map(composed, words)})}


def _fit(block: Fence, path: str) -> int:
    """2: the block's language is that of the file; 1: it has none, or nothing is known of it; 0: it is another."""
    said = block.info.split(maxsplit=1)[0].strip("{}.").lower().rstrip("0123456789.") if block.info else ""
    wanted = LANGUAGES.get(PurePosixPath(path).suffix.lower())
    if wanted is None or not any(said in names for names in LANGUAGES.values()):
        return 1
    return 2 if said in wanted else 0


def _path_of(block: Fence, deliverables: tuple[str, ...]) -> str | None:
    first = block.text.split("\n", 1)[0]
    known = {composed(path): path for path in deliverables}
    for names in (_info_names(block.info), _line_names(block.before), _comment_names(first)):
        plain = [composed(name.removeprefix("./")) for name in names]
        for name in plain:
            if name in known:
                return known[name]
        for name in plain:
            if PATH.fullmatch(name):
                return name
    return None


def _info_names(info: str) -> list[str]:
    """What in an info string may be a path: each word, what stands behind = or : in it, and all behind the language."""
    if len(info) > LONGEST_LINE:
        return []
    names: list[str] = []
    for word in re.split(r"[\s,;]+", info):
        names += [word, *word.split("=", 1)[1:], *word.split(":", 1)[1:]]
    names += [info, *info.split(maxsplit=1)[1:], *info.split("=", 1)[1:]]
    return [name.strip("\"'`{}()[]<>:") for name in names]


def _line_names(line: str) -> list[str]:
    """The path that is the whole of a line, but for marks of Markdown and a label."""
    if len(line) > LONGEST_LINE:
        return []
    bare = line.strip(" \t#*`>:-\"'_")
    label = LABEL.match(bare)
    return [bare[label.end() if label else 0 :].strip(" \t*`:\"'")]


def _comment_names(line: str) -> list[str]:
    line = line.strip()
    for opening, closing in COMMENTS:
        if line.startswith(opening) and len(line) <= LONGEST_LINE:
            return _line_names(line.removeprefix(opening).removesuffix(closing))
    return []


def _written(block: Fence) -> tuple[str, str] | None:
    """(path, content) of a block that holds a ``write_file`` call as JSON; ``Unusable`` where it is one that cannot be read."""
    if not WRITE_FILE.match(block.text.strip()):
        return None
    call = json_object(block.text, loose=True)
    if call.get("name", call.get("tool")) != "write_file":
        return None
    given = next((call[key] for key in ("arguments", "input", "parameters", "args") if key in call), call)
    if isinstance(given, str):
        given = json_object(given, loose=True)
    path, content = (given.get("path"), given.get("content")) if isinstance(given, dict) else (None, None)
    if not isinstance(path, str) or not isinstance(content, str):
        raise Unusable("it lacks a path or a content")
    return composed(path.strip().removeprefix("./")), content
