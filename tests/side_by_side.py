"""A model in this process that plays a plan of any shape, each step over files of its own choice, for tests of parallel steps."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from pge_nb.errors import ModelFailed
from pge_nb.models import CallStopped, Listen, Reply, Request, Stop, text_reply
from pge_nb.payloads import Json
from pge_nb.records import Usage

MODEL = "side-by-side"
Needs = Mapping[int, Sequence[int]]


class Player:
    """Plays a plan: step -> what it depends on. ``files``: step -> its deliverables; else one of its own.

    ``seconds`` is how long a call takes, drawn anew for each by ``timing``; ``slow``: phase -> how long its calls take.
    ``bad``: step -> attempts that fail before one passes. ``checks`` are in every contract. ``before`` is called with each
    request, in the thread that asks.
    """

    def __init__(
        self,
        needs: Needs,
        *,
        files: Mapping[int, Sequence[str]] | None = None,
        seconds: float = 0.0,
        timing: int | None = None,
        slow: Mapping[str, float] | None = None,
        bad: Mapping[int, int] | None = None,
        checks: Sequence[Json] = (),
        before: Callable[[Request], None] = lambda _: None,
    ) -> None:
        self.needs = needs
        self.files = {step: tuple((files or {}).get(step, (f"own_{step}.txt",))) for step in needs}
        self.seconds = seconds
        self.slow = slow or {}
        self.bad = bad or {}
        self.checks = checks
        self.before = before
        self.asked: list[Request] = []
        self.most_at_once = 0
        self._at_once = 0
        self._draw = random.Random(timing)
        self._timed = timing is not None
        self._lock = threading.Lock()

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        with self._lock:
            self.asked.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            seconds = self.slow.get(request.about.phase, self.seconds * (self._draw.random() if self._timed else 1.0))
        try:
            self.before(request)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if stop is not None and stop():
                    raise CallStopped("The call was stopped.", "again", Usage(input_tokens=1))
                time.sleep(min(0.01, max(0.0, end - time.monotonic())))
            text = self._text(request)
        finally:
            with self._lock:
                self._at_once -= 1
        if listen is not None:
            listen(text)
        return text_reply(text, usage=Usage(input_tokens=7, output_tokens=3))

    def _text(self, request: Request) -> str:
        about = request.about
        step = about.step or 0
        if about.phase == "plan":
            paths = sorted({path for files in self.files.values() for path in files})
            steps = [self._step(n) for n in self.needs]
            return _json({"title": "t", "scope": "s", "deliverables": list(paths), "steps": steps, "criteria": []})
        if about.phase == "propose":
            return _json(
                {
                    "deliverables": list(self.files[step]),
                    "checks": [_check(f"The file reads 'good step {step}'."), *self.checks],
                }
            )
        if about.phase == "respond":
            return _json({"agreed": True, "reason": "complete"})
        if about.phase == "generate":
            good = (about.attempt or 1) > self.bad.get(step, 0)
            word = "good" if good else "bad"
            return "".join(f"```text {path}\n{word} step {step}\n```\n" for path in self.files[step])
        if about.phase == "evaluate":
            artifact = next(one for one in about.evidence if one.partition(":")[2] in self.files[step])
            good = (about.attempt or 1) > self.bad.get(step, 0)
            return _json(
                {"findings": [self._finding(on, artifact, good=good) for on in (*about.checks, *about.criteria)]}
            )
        raise ModelFailed(f"no answer to {about.phase}", "again")

    def _step(self, number: int) -> Json:
        return {"description": f"step number {number}", "depends_on": list(self.needs[number])}

    @staticmethod
    def _finding(on: str, artifact: str, *, good: bool) -> Json:
        cited: dict[str, Json] = {"evidence": [artifact.partition(":")[0]], "quote": "", "says": "seen"}
        return {"on": on, "verdict": "pass" if good else "fail", **cited}


def _check(says: str) -> Json:
    return {"says": says, "method": "judge", "args": {}}


def _json(value: Json) -> str:
    return json.dumps(value)
