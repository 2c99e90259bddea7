"""Skills: the ways in which a step can be carried out. The planner picks one for each step, by its name.

A skill gives the generator words, tools or a model of its own, or it is a function of the person's that does the step without
any model. Such a function is the person's own code: it runs in this very process, as the notebook's cells do, and in no
sandbox. What it returns is judged like any other attempt.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
import re
import textwrap
import types
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..errors import BadInput, quoted
from ..interrupts import Cut, look_up
from ..models.choose import RECORDING
from ..payloads import Json, decode, encode, mended
from ..workspace import MAX_FILE_BYTES, Tree, composed

LOOKING = ("read", "list", "search", "run")
"""The tools that a skill may allow or leave out; `write` and `done` go with any of them."""
LONGEST_NAME = 60
LONGEST_SHOWN = 200
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

Does = Callable[[str, Tree], Mapping[str, str | bytes]]
"""Takes what a generator would be told and a throwaway copy of the files; gives the deliverables, path -> text or bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One way to carry out a step.

    ``description`` is what the planner picks it by. ``prompt`` is told to the generator beside the step, while it proposes the
    contract and while it makes attempts. ``tools``: True for all, False for none, or the names of those that look (``read``,
    ``list``, ``search``, ``run``); None: as ``generator_tools`` says. ``model`` makes the attempts in place of the generator's.
    ``does`` makes them without any model; it may be called from several threads at once, and what it raises is an attempt that
    delivered nothing.
    """

    description: str
    prompt: str = ""
    tools: bool | tuple[str, ...] | None = None
    model: str | None = None
    does: Does | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenSkill:
    """A skill as the task section holds it: what it comes to, and of a function the hash of its source.

    ``tools`` are the names of those that look, None: the generator writes files in its reply. ``model`` is empty for the
    generator's, ``code`` for a skill without a function.
    """

    description: str
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    model: str = ""
    code: str = ""

    @classmethod
    def of(cls, skill: Skill, *, with_tools: bool) -> FrozenSkill:
        """The skill, for freezing; ``with_tools``: what its tools are where it says nothing of them."""
        tools = with_tools if skill.tools is None else skill.tools
        if skill.does is not None:
            tools = False
        return cls(
            description=skill.description.strip(),
            prompt=skill.prompt.strip(),
            tools=None if tools is False else LOOKING if tools is True else tools,
            model=(skill.model or "").strip(),
            code=source_hash(skill.does) if skill.does else "",
        )


def freeze(skills: Mapping[str, FrozenSkill]) -> Json:
    """The skills as the setting that holds them, in the order of their names."""
    return encode({composed(name): skill for name, skill in skills.items()})


def frozen_in(settings: Mapping[str, Json]) -> dict[str, FrozenSkill]:
    """The skills of a run by name; empty for a run that has none."""
    held = settings.get("skills")
    return {name: decode(FrozenSkill, one, name) for name, one in held.items()} if isinstance(held, Mapping) else {}


def hints_in(settings: Mapping[str, Json]) -> str:
    """What the planner of a run is told of earlier work; empty where nothing is known."""
    return str(settings.get("skill_hints") or "")


# What can be used


def check_skills(skills: object) -> None:
    """``BadInput`` says which skill cannot be used, and why."""
    if not isinstance(skills, Mapping):
        raise BadInput(f"skills is {skills!r:.80}.", 'Give a dict: skills={"sql": Skill(description="...")}.')
    for name, skill in skills.items():
        if fault := _misnamed(name):
            raise BadInput(f"The skill {name!r:.80} {fault}.", "Name it in a word or two, as in 'sql'.")
        if not isinstance(skill, Skill):
            raise BadInput(f"The skill {name!r} is {skill!r:.80}.", 'Give a Skill: Skill(description="...").')
        for fault, move in _faults(**{one.name: getattr(skill, one.name) for one in fields(skill)}):
            raise BadInput(f"The skill {name!r} {fault}.", move)


def _misnamed(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or name != name.strip():
        return "has no name, or blanks around it"
    if len(name) > LONGEST_NAME:
        return f"has a name of {len(name)} characters"
    unseen = any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in name)
    return "has a line break or a control character in its name" if unseen else ""


def _faults(
    *, description: object, prompt: object, tools: object, model: object, does: object
) -> Iterator[tuple[str, str]]:
    """What is wrong with the fields of a skill, and what to do about it."""
    if not isinstance(description, str) or not description.strip():
        yield "has no description", "Say in a sentence what it is for: the planner picks it by that."
    if not isinstance(prompt, str):
        yield f"has the prompt {prompt!r:.80}", "Give a text."
    if not isinstance(tools, bool | tuple | list | None):
        yield f"has the tools {tools!r:.80}", "Give True, False or names, as in ('read', 'run')."
    elif not isinstance(tools, bool) and (unknown := [one for one in tools or () if one not in LOOKING]):
        yield f"names the tool {unknown[0]!r:.40}", f"There are {', '.join(LOOKING)}; write goes with any."
    if model is not None and (not isinstance(model, str) or not model.strip()):
        yield f"has the model {model!r:.80}", "Give the name of a model, or leave it out."
    elif isinstance(model, str) and model.strip().startswith(RECORDING):
        yield "has a recording for its model", "A recording is a model of the whole run: %pge model."
    if does is not None and not callable(does):
        yield f"has for its function {does!r:.80}", "Give a function of (told, tree)."
    elif does is not None and (model or tools):
        yield "has a function, which asks no model, and tools or a model beside it", "Leave those out."


# A function of the person's own


def source_hash(does: Callable[..., Any]) -> str:
    """16 hex of the sha256 of a function's own source; of its code where no source can be found.

    What it calls or closes over is not looked at. A `functools.partial` is its function and arguments, an object its class.
    """
    return hashlib.sha256(_source(does).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _source(does: Any) -> str:
    if isinstance(does, functools.partial):
        return "\n".join([_source(does.func), _shown(does.args), _shown(sorted(does.keywords.items()))])
    function = inspect.unwrap(getattr(does, "__func__", does))
    plain = isinstance(function, types.FunctionType | types.BuiltinFunctionType | type)
    thing = function if plain else type(function)
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        code = getattr(function if plain else type(function).__call__, "__code__", None)
        return "\n".join(_instructions(code)) if code else f"{thing.__module__}.{thing.__qualname__}"


def _instructions(code: types.CodeType) -> list[str]:
    """A function that was typed where nothing keeps its source: its instructions and what they name, nested ones too."""
    constants = ["\n".join(_instructions(one)) if isinstance(one, types.CodeType) else one for one in code.co_consts]
    return [code.co_code.hex(), _shown(constants), _shown(code.co_names)]


def _shown(value: object) -> str:
    """A value as text that is the same in another process: no addresses, and no order of a set."""
    if isinstance(value, tuple | list):
        return "\n".join(map(_shown, value))
    if isinstance(value, frozenset | set):
        return "\n".join(sorted(map(_shown, value)))
    return ADDRESS.sub("", repr(value))


def carried_out(does: Does, told: str, tree: Tree) -> Json:
    """What a function made of a step: ``files``, path -> {"text": ...} or {"base64": ...}; else its ``fault``, in words.

    Ctrl-C goes through, and so does the end that was asked of what is under way; whatever else it raises is a fault, and so is
    what its value raises when it is looked at.
    """
    try:
        return _made(does(told, tree))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, Cut):
            look_up()
        return {
            "fault": mended(f"it raised {type(error).__name__}: {quoted(error, LONGEST_SHOWN, str)}".removesuffix(": "))
        }


def _made(made: object) -> Json:
    """The value as it is kept; nothing of its own, a method of a text's subclass say, is called after this."""
    if not isinstance(made, Mapping) or not all(isinstance(path, str) for path in made):
        return {"fault": mended(f"it returned {quoted(made, LONGEST_SHOWN)}, no mapping from paths to text or bytes")}
    files: dict[str, str | bytes] = {}
    for path, content in made.items():
        if not isinstance(content, str | bytes):
            return {"fault": mended(f"what it returned for {quoted(path, LONGEST_SHOWN)} is neither text nor bytes")}
        files[str.__str__(path)] = str.__str__(content) if isinstance(content, str) else bytes(memoryview(content))
    if sum(map(len, files.values())) > MAX_FILE_BYTES:
        return {"fault": f"it returned more than {MAX_FILE_BYTES // 10**6} MB"}
    return {"files": {mended(path): _content(content) for path, content in files.items()}}


def _content(content: str | bytes) -> Json:
    if isinstance(content, str):
        return {"text": mended(content)}
    return {"base64": base64.b64encode(content).decode("ascii")}


def contents(made: Json) -> dict[str, bytes]:
    """Path -> content of what `carried_out` gave; empty for a fault."""
    files = made.get("files") if isinstance(made, Mapping) else None
    found: dict[str, bytes] = {}
    for path, held in files.items() if isinstance(files, Mapping) else ():
        if isinstance(held, Mapping):
            text, coded = held.get("text"), held.get("base64")
            found[path] = text.encode() if isinstance(text, str) else base64.b64decode(str(coded))
    return found
