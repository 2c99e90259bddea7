"""A run without its prompts, its paths or its log of calls: a state file and a chain of its own, which says what it is.

Every place from which something was taken holds a mark, and every mark is counted. What agents made of a prompt (a plan, a
file) stays: only the person's words themselves, and copies of them, are taken out.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from ..errors import BadInput, StateDamaged
from ..framing import Broken, Place, frame
from ..models import calllog
from ..nearness import nearest
from ..payloads import DEEPEST, Json, Misfit, decode, encode
from ..prose import body, counted
from ..records import Amendment, Answer, Attempt, Payload, Plan, Record, Redaction, Task, attempt_hash
from ..redaction import any_of
from ..sections import framed, section_of
from ..skills import freeze, frozen_in, hints_in
from ..workspace import HEAD_CHARACTERS, Objects
from .archive import HOUSE, Member
from .snapshot import CALLS, Snapshot, log_of

Hidden = Literal["prompts", "paths", "calls"]
MARKS: Mapping[Hidden, str] = {"prompts": "[removed: prompt]", "paths": "[removed: path]"}
SHORTEST = 24
"""A person's words shorter than this are taken out where they stand, and not looked for elsewhere: they are anybody's."""
HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

END = r"[^\s/\\\"'`<>|*?(){}\[\],;:]"
"""What a part of a path is made of, as far as can be told where nothing else tells where it ends."""
BEGIN = r"(?:(?<![\w/.~\\-])|(?<=\\[nrt]))"
"""Before a path stands no part of a word, of another path or of a URL; but perhaps a line end that is spelled out."""
PATH = "|".join(
    (
        *(
            rf"(?<={quote})(?:[A-Za-z]:[/\\]|~?/)[^{quote}\n/\\]{{1,300}}[/\\][^{quote}\n]{{0,1000}}(?={quote})"
            for quote in "\"'`"
        ),
        r"(?<=:)/{3,}" + END + r"+(?:/" + END + r"*)*",  # of a file:///..., or sqlite:////...
        BEGIN + r"/(?:" + END + r"+/)+" + END + r"*",  # /home/ann/x, and no part of a URL, a ratio or a tag
        BEGIN + r"/(?:root|home|Users|tmp)(?![\w-]|\.\w)",
        r"(?<![\w/.\\-])~" + END + r"*[/\\](?:" + END + r"+[/\\]?)+",  # ~/x and ~ann/x
        r"(?<![A-Za-z0-9])(?:[A-Z]:[/\\]+|[a-z]:/|[a-z]:\\+(?i:users))(?:" + END + r"*[/\\]*)+",  # C:\Users\ann
        r"(?:\\/" + END + r"+){2,}",  # \/home\/ann, as some write JSON
        # \\server\share, or each backslash doubled; an expression such as \\bword\\b is neither
        r"(?<![\\\w])\\\\\w" + END + r"*\\(?!\\)" + END + r"+(?:\\" + END + r"+)*",
        r"(?<![\\\w])\\{4}\w" + END + r"*\\\\" + END + r"+(?:\\\\" + END + r"+)*",
    )
)


def chosen(hide: str) -> frozenset[Hidden]:
    """What ``--hide`` names; ``BadInput`` names the nearest of what there is."""
    words = [word for word in re.split(r"[\s,]+", hide) if word]
    known = get_args(Hidden)
    for word in words:
        if word not in known:
            near = nearest(word, known)
            hint = f"Did you mean {near}? " if near else ""
            raise BadInput(f"{word!r:.40} cannot be hidden.", f"{hint}--hide takes {', '.join(known)}, with commas.")
    return frozenset(cast("list[Hidden]", words))


class Eraser:
    """Puts marks in the place of what is hidden, and counts them.

    ``words`` are the person's, ``places`` directories that are known by name: these are found whatever blanks they hold.
    """

    def __init__(self, hide: Iterable[Hidden], words: Iterable[str], places: Iterable[str]) -> None:
        self.hide = frozenset(hide)
        self.removed: Counter[str] = Counter(dict.fromkeys(sorted(self.hide), 0))
        told = {form.strip() for word in words for form in (word, *word.split("\n"))}
        copies = sorted((word for word in told if len(word) >= SHORTEST), key=len, reverse=True)
        self._words = any_of(map(re.escape, copies)) if "prompts" in self.hide else None
        known = sorted({place for place in places if len(place) > 1}, key=len, reverse=True)
        named = [rf"{BEGIN}{re.escape(place)}(?![\w-])(?:[/\\]{END}*)*" for place in known]
        self._paths = any_of((*named, PATH)) if "paths" in self.hide else None

    def text(self, text: str) -> str:
        """The text with marks."""
        return self._marked(self._paths, "paths", self._marked(self._words, "prompts", text))

    def _marked(self, pattern: re.Pattern[str] | None, what: Hidden, text: str) -> str:
        if pattern is None:
            return text
        marked, places = pattern.subn(lambda found: _mark(what, found[0]), text)
        self.removed[what] += places
        return marked

    def said(self, text: str) -> str:
        """What a person said to an agent: all of it is a prompt."""
        if "prompts" not in self.hide or not text:
            return self.text(text)
        self.removed["prompts"] += 1
        return MARKS["prompts"]


def _mark(what: Hidden, text: str) -> str:
    """The mark for a text; the full stop of a sentence is no part of a path."""
    return MARKS[what] + "." if what == "paths" and text.endswith(".") else MARKS[what]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A redacted run: its files, the section that says what was taken out, and what could not be looked into."""

    members: tuple[Member, ...]
    redaction: Redaction
    opaque: int

    def notes(self) -> Sequence[str]:
        """What a person must know who is about to hand it on."""
        said = ["What agents wrote is in it, also where they retell a prompt: read it before you hand it on."]
        if self.opaque:
            said.append(f"{counted(self.opaque, 'file is', 'files are')} no text and in it as they were.")
        return said


def redacted(state: Path, hide: frozenset[Hidden], *, now: datetime | None = None) -> Redacted:
    """The run of a whole state file without what is hidden."""
    found = Snapshot.of(state)
    records = [section_of(one).record for one in found.frames]
    eraser = Eraser(hide, _words(records), _places(state))
    objects = Objects(state.parent)
    kept = Kept(eraser=eraser, objects=objects)
    for name in found.objects(objects):
        kept.take(name)
    cleaned = [replace(record, payload=kept.payload(record.payload)) for record in records]
    log = [] if "calls" in hide else [_log(log_of(state.parent / HOUSE), kept)]
    if "calls" in hide:
        lines = _lines(log_of(state.parent / HOUSE))
        eraser.removed["calls"] = sum(isinstance(line, calllog.Settled | calllog.Observed) for line in lines)
    redaction = Redaction(
        of=found.frames[-1].sha256,
        sections=len(found.frames),
        removed={name: eraser.removed[name] for name in sorted(hide)},
    )
    first = framed(Place(), Record(payload=redaction, by="harness", round=1), now or datetime.now(UTC))
    frames = [first]
    for one, record in zip(found.frames, cleaned, strict=True):
        frames.append(frame(frames[-1].after, one.kind, one.names, body(record)))
    content = b"".join(one.data for one in frames)
    whole = Snapshot(content=content, frames=tuple(frames), broken=False)
    members = [Member(name=state.name, content=content), Member(name=f"{HOUSE}/head", content=whole.head(state))]
    members += [Member(name=f"{HOUSE}/{CALLS}", content=one, mode=0o600) for one in log if one]
    members += [Member(name=f"{HOUSE}/objects/{name[:2]}/{name}", content=data) for name, data in kept.contents.items()]
    return Redacted(members=tuple(members), redaction=redaction, opaque=kept.opaque)


def _words(records: Iterable[Record]) -> Iterable[str]:
    """What a person said to agents."""
    for record in records:
        payload = record.payload
        if isinstance(payload, Task):
            yield payload.prompt
            yield hints_in(payload.settings)
            for skill in frozen_in(payload.settings).values():
                yield from (skill.description, skill.prompt)
        elif isinstance(payload, Answer | Amendment):
            yield payload.text


def _places(state: Path) -> Iterable[str]:
    """Directories of this machine that a text may name."""
    for place in (state.parent, Path.home(), Path(tempfile.gettempdir())):
        yield str(place)
        yield os.path.realpath(place)


class Kept:
    """The contents that a redacted run keeps: old name of an object -> the one that its text has without what is hidden."""

    def __init__(self, *, eraser: Eraser, objects: Objects) -> None:
        self.eraser = eraser
        self.contents: dict[str, bytes] = {}
        self.opaque = 0
        self._objects = objects
        self._names: dict[str, str] = {}

    def take(self, name: str) -> None:
        """Keep an object, changed where it must be."""
        content = self._objects.get(name)
        try:
            clean = self.eraser.text(content.decode("utf-8")).encode()
        except UnicodeDecodeError:
            clean, self.opaque = content, self.opaque + 1
        new = _sha256(clean)
        self.contents[new] = clean
        self._names[name] = new

    def payload(self, payload: Payload) -> Payload:
        """The payload with marks, naming the objects that are kept now; an attempt has the hash of its files."""
        if isinstance(payload, Task):
            payload = replace(
                payload, prompt=self.eraser.said(payload.prompt), settings=self._of_skills(payload.settings)
            )
        elif isinstance(payload, Plan):
            payload = replace(payload, hints=self.eraser.said(payload.hints))
        elif isinstance(payload, Answer | Amendment):
            payload = replace(payload, text=self.eraser.said(payload.text))
        clean = decode(type(payload), self.json(encode(payload)))
        if isinstance(clean, Attempt) and isinstance(payload, Attempt) and clean.files != payload.files:
            clean = replace(clean, hash=attempt_hash(clean.files))
            self._names[payload.hash] = clean.hash  # the evaluations that follow name it
        return clean

    def _of_skills(self, settings: Mapping[str, Json]) -> Mapping[str, Json]:
        """The settings without what a person says of skills, and what a planner is told of earlier work."""
        said = self.eraser.said
        told = {
            name: replace(skill, description=said(skill.description), prompt=said(skill.prompt))
            for name, skill in frozen_in(settings).items()
        }
        hints = {"skill_hints": said(hints_in(settings))} if hints_in(settings) else {}
        return {**settings, **({"skills": freeze(told)} if told else {}), **hints}

    def json(self, value: Json) -> Json:
        """A JSON value with marks."""
        if isinstance(value, str):
            return HASH.sub(lambda found: self._names.get(found[0], found[0]), self.eraser.text(value))
        if isinstance(value, Mapping):
            return self._fitted({self.eraser.text(name): self.json(item) for name, item in value.items()})
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return value

    def _fitted(self, value: dict[str, Json]) -> dict[str, Json]:
        """A reference to a file or a long text, with the size and the first lines of what it refers to now."""
        name, text = value.get("sha256"), value.get("text")
        if "size" not in value or "sha256" not in value:
            return value
        if isinstance(name, str) and name in self.contents:
            value["size"] = len(self.contents[name])
            if isinstance(text, str):
                value["text"] = self.contents[name].decode("utf-8", "replace")[:HEAD_CHARACTERS]
        elif name is None and isinstance(text, str):
            value["size"] = len(text.encode("utf-8", "surrogatepass"))
        return value


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _log(data: bytes, kept: Kept) -> bytes:
    """The call log with marks: no request where prompts are hidden, since requests are made of them."""
    return b"".join(calllog.line_bytes(_line(line, kept)) for line in _lines(data))


def _lines(data: bytes) -> Iterator[calllog.Line]:
    for number, one in enumerate(filter(None, data.split(b"\n")), 1):
        try:
            yield calllog.parsed(one)
        except (ValueError, Misfit) as error:
            raise StateDamaged(
                f"Line {number} of the call log is damaged: {error}.", "--hide calls leaves the whole log out."
            ) from None


def _line(line: calllog.Line, kept: Kept) -> calllog.Line:
    if isinstance(line, calllog.Settled) and "prompts" in kept.eraser.hide:
        kept.eraser.removed["prompts"] += 1
        line = replace(line, request={"removed": MARKS["prompts"]})
    told: dict[str, Any] = {name: _plain(getattr(line, name), kept.json) for name in _TOLD[type(line)]}
    return replace(line, **told)


_TOLD: Mapping[type, tuple[str, ...]] = {
    calllog.Opening: ("header",),
    calllog.Reserved: (),
    calllog.Batched: (),
    calllog.Settled: ("request", "content"),
    calllog.Refused: ("why",),
    calllog.Broken: ("why",),
    calllog.Observed: ("args", "seen"),
}
"""The fields of each kind of line that hold what somebody said or saw; the others are names, numbers and times."""


def _plain(value: object, clean: Callable[[Json], Json]) -> object:
    told = clean(calllog.plain(value, 2 * DEEPEST))
    return tuple(cast("list[object]", told)) if isinstance(value, tuple) else told


def redaction_of(state: Path) -> Redaction | None:
    """What a file says of itself, where it is a redacted export; also where a later section of it is damaged."""
    frames = Snapshot.of(state).frames
    try:
        payload = section_of(frames[0]).payload if frames else None
    except Broken:
        return None
    return payload if isinstance(payload, Redaction) else None
