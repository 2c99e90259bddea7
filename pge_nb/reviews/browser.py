"""`browser`: a page of the deliverables is opened in a real browser, used as a person would use it, and read.

The page comes from a loopback address, and the browser reaches that one origin. It is no generated program and cannot live
in the sandbox, which gives no Unix sockets: it has a fresh profile, no downloads, and is ended with all that it started. A
development server of the deliverables' own does run in the sandbox.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import secrets
import shlex
import shutil
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import SandboxUnavailable
from ..records import Check
from ..sandbox import Bounds, Ran, Rung, run
from ..workspace import Tree, misplaced
from . import Outcome, args_of, misfit
from .command import Command, normalised
from .loopback import HOST, free_ports, serving

CHILD = Path(__file__).with_name("browser_child.py")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
STARTS = 30.0
"""Seconds more for a browser to start and to close."""
BOUNDS = Bounds(disk=500 << 20)
STEPS = ({"click"}, {"fill", "with"}, {"press"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserArgs:
    """The page, texts to be seen at first, steps of a person, texts to be seen then, and the command of a server of its own.

    ``path`` None is index.html, or the server's first page. A step is {"click": selector or text}, {"fill": selector or label,
    "with": text} or {"press": key}. Case and white space of a text decide nothing. Without ``serve`` the files of the tree are
    served as they are.
    """

    path: str | None = None
    see: tuple[str, ...] = ()
    do: tuple[Mapping[str, str], ...] = ()
    then: tuple[str, ...] = ()
    serve: str | None = None

    @property
    def page(self) -> str:
        """The path as a URL has it after the origin."""
        if self.path is None:
            return "" if self.serve else "index.html"
        return self.path.strip().removeprefix("./").removeprefix("/")

    @property
    def argv(self) -> list[str]:
        """The server's command as a list."""
        return shlex.split(self.serve or "")


class Browser:
    """Opens a page for at most ``seconds``, and the time that a browser takes to start."""

    name: ClassVar[str] = "browser"
    help: ClassVar[str] = (
        'a page shows and does this: {"path": "index.html", "see": ["Price"], '
        '"do": [{"fill": "#price", "with": "12"}, {"click": "Add"}], "then": ["12.00"]}'
    )
    Args: ClassVar[type[Any]] = BrowserArgs

    def __init__(self, seconds: float, *, allow_unsafe: bool = False) -> None:
        self.seconds = seconds
        self.allow_unsafe = allow_unsafe

    def vet(self, check: Check) -> str | None:
        """Refuse pages outside the tree, steps that are none, empty texts, and servers that only a shell could start."""
        if fault := misfit(BrowserArgs, check):
            return fault
        args = args_of(BrowserArgs, check)
        if args.serve is not None:
            server = Check(id=check.id, says="", method="command", args={"run": args.serve})
            if fault := Command(self.seconds).vet(server):
                return f"serve: {fault}"
        elif why := misplaced(args.page):
            return f"the path {args.path!r:.80}: {why}"
        if "://" in args.page or "\n" in args.page:
            return f"the path {args.path!r:.80} leaves the page's own address"
        if any(not text.strip() for text in (*args.see, *args.then)):
            return "a text to be seen is empty"
        return _bad_step(args.do)

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Met when the page opens, shows the texts, lets the steps be done, and then shows the other texts."""
        args = args_of(BrowserArgs, check)
        says = f"opened {args.page or 'the first page'} in a browser"
        if args.serve is not None:
            says += f", served by {args.serve}"
        elif tree.text(args.page) is None:
            return Outcome(met=False, says=says, saw=f"{args.page} is not there")
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None or importlib.util.find_spec("playwright") is None:
            lacking = "no browser: Chromium or Chrome" if browser is None else "no playwright: pge_nb[browser]"
            return Outcome(met=None, says=says, saw=f"not opened: there is {lacking}")
        if args.serve is None:
            return self._visited(args, tree, says, browser, free_ports(1)[0])
        seconds = 2 * self.seconds + STARTS
        try:
            with serving(args.argv, tree.root, seconds=seconds, allow_unsafe=self.allow_unsafe) as server:
                if server.answers(self.seconds):
                    return self._visited(args, tree, says, browser, server.port)
                printed = normalised(server.printed.replace(str(server.port), "PORT"), tree)
                ended = server.ended or "it did not listen to its port in time"
                return Outcome(met=False, says=says, saw=f"the server does not answer: {ended}\n{printed}".rstrip())
        except SandboxUnavailable as error:
            if not error.fact.startswith("Programs that need the network"):
                raise
            return Outcome(met=None, says=says, saw=f"not opened: {error.fact}")

    def _visited(self, args: BrowserArgs, tree: Tree, says: str, browser: str, port: int) -> Outcome:
        token = secrets.token_hex(16)
        asked = {
            "path": args.page,
            "see": args.see,
            "do": [dict(step) for step in args.do],
            "then": args.then,
            "serving": args.serve is not None,
            "browser": browser,
            "port": port,
            "nobody": free_ports(1)[0],
            "seconds": self.seconds,
            "starts": STARTS,
            "token": token,
        }
        ran = run(
            [sys.executable, "-I", str(CHILD)],
            tree.root,
            seconds=self.seconds + STARTS,
            stdin=json.dumps(asked).encode(),
            bounds=BOUNDS,
            rung=Rung(),  # a program of ours, and a browser
        )
        said = _said(ran, token)
        if said is None:
            return Outcome(met=False if ran.timed_out else None, says=says, saw=_unsaid(ran))
        if "missing" in said:
            return Outcome(met=None, says=says, saw=f"not opened: there is no {said['missing']}")
        for name in said.keys() & {"failed", "why"}:
            said[name] = normalised(said[name], tree)  # a browser's own words tell its durations
        saw = "\n".join(_lines(args, said)).replace(f"{HOST}:{port}", "the page's own address")
        return Outcome(met=_met(said), says=says, saw=saw, picture=said.get("picture", ""))


def _bad_step(steps: Sequence[Mapping[str, str]]) -> str | None:
    for step in steps:
        if set(step) not in STEPS:
            return f'the step {dict(step)!r:.80} is none of {{"click": ...}}, {{"fill": ..., "with": ...}}, {{"press": ...}}'
        if any(not text.strip() for name, text in step.items() if name != "with"):
            return f"the step {dict(step)!r:.80} names nothing"
    return None


def _said(ran: Ran, token: str) -> dict[str, Any] | None:
    """What the child says; None where it could say nothing."""
    try:
        given, said = json.loads(ran.out)
    except (ValueError, TypeError):
        return None
    return said if given == token and isinstance(said, dict) else None


def _unsaid(ran: Ran) -> str:
    if ran.timed_out:
        return "the page kept the browser busy until the time was over"
    return "the browser filled the disk" if ran.full else f"the browser broke off: {ran.err.strip()[-300:]}"


def _met(said: Mapping[str, Any]) -> bool:
    shown = all(said.get("see", ())) and all(said.get("then", ()))
    return shown and "failed" not in said and "step" not in said


def _lines(args: BrowserArgs, said: Mapping[str, Any]) -> Iterator[str]:
    """What a visit came to, a line for each thing."""
    if "failed" in said:
        yield f"the page could not be used: {said['failed']}"
    yield from _shown(args.see, said.get("see", ()))
    if "step" in said:
        yield f"step {said['step']}, {_step(args.do[said['step'] - 1])}, could not be done: {said['why']}"
    elif args.do and "then" in said:
        yield "did this: " + ", ".join(map(_step, args.do))
    yield from (f"then {line}" for line in _shown(args.then, said.get("then", ())))
    for name, told in LISTED.items():
        if said[name]:
            yield f"{told}: {'; '.join(said[name])}"
    if picture := said.get("picture"):
        content = b64decode(picture)
        yield f"screenshot: PNG, {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}"
    if not said["sandboxed"]:
        yield "the browser ran without a sandbox of its own"
    yield f"to be read at the end:\n{said['text']}"


LISTED = {
    "refused": "it asked for other addresses, which were refused",
    "errors": "errors on the console",
    "dialogs": "dialogs, dismissed",
    "downloads": "downloads, refused",
}


def _shown(texts: Sequence[str], found: Sequence[bool]) -> Iterator[str]:
    return (f"{'shows' if there else 'does not show'} {text!r}" for text, there in zip(texts, found, strict=False))


def _step(step: Mapping[str, str]) -> str:
    (name, what), *rest = sorted(step.items())
    return f"{name} {what!r}" + "".join(f" with {text!r}" for _, text in rest)
