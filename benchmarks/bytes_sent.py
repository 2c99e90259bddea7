"""B8: bytes sent to a model over the attempts of one step and over the steps of one run; JSON on standard output.

    python benchmarks/bytes_sent.py

What is sent must grow with the work, not with its square: over 32 retries at most 2.1 times that over 16, and over 100 steps at
most 2.1 times that over 50. Counted are the bytes of the Messages API's request bodies as the client makes them. What a service
may cache, the system text and the tools of a role's phase, must be the same bytes in every call of a run. Fails (exit status 1)
where either does not hold.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pge_nb import bank
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness
from pge_nb.models import Listen, Reply, Request, Stop
from pge_nb.models.claude import body
from pge_nb.models.practice import Practice

MOST = 2.1
SOUND = "practice:skill=1.0,miss=0.0,false_alarm=0.0,noise=0.0"
HOPELESS = "practice:skill=0.0,noise=0.0,seed=2"


@dataclass
class Counting:
    """The practice model, with a count of what a server would have been sent, by role and phase."""

    name: str
    calls: int = 0
    sent: int = 0
    prefixes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        sent: dict[str, Any] = body(request, {"cache"})
        self.calls += 1
        self.sent += len(json.dumps(sent, ensure_ascii=False).encode())
        prefix = json.dumps({name: sent.get(name) for name in ("system", "tools")}, ensure_ascii=False)
        self.prefixes[f"{request.about.role} {request.about.phase}"].add(prefix)
        return Practice(self.name).reply(request, listen=listen, stop=stop)


def counted(task: str, model: str, **settings: Any) -> Counting:
    """What a run of a practice task sends."""
    counting = Counting(model)
    with tempfile.TemporaryDirectory() as place:
        config = HarnessConfig(
            model=model, shared_state_path=Path(place, "shared_state.md"), on_exhausted=(), **settings
        )
        PGEHarness(config, model=counting).run(bank.practice_task(task).prompt)
    return counting


def retried(retries: int) -> Counting:
    """One step of the bank, a module of some sixty lines, that is never good enough."""
    return counted("units", HOPELESS, max_retries_per_step=retries)


def stepped(steps: int) -> Counting:
    """So many steps in a row, each good at once."""
    # A plan of a hundred steps is a long reply.
    return counted(
        f"generated:steps={steps},dag=chain", SOUND, max_steps=steps, max_retries_per_step=0, max_tokens=40_000
    )


def grown(less: Counting, more: Counting) -> dict[str, object]:
    """How much more was sent, and in how many ways the calls of a phase began in one run."""
    return {
        "calls": [less.calls, more.calls],
        "bytes": [less.sent, more.sent],
        "ratio": round(more.sent / less.sent, 3),
        "prefixes_by_phase": {
            phase: max(len(one.prefixes[phase]) for one in (less, more)) for phase in sorted(more.prefixes)
        },
    }


def measured() -> dict[str, Any]:
    return {
        "benchmark": "B8",
        "retries_16_and_32": grown(retried(16), retried(32)),
        "steps_50_and_100": grown(stepped(50), stepped(100)),
        "most_ratio": MOST,
    }


def holds(told: dict[str, Any]) -> bool:
    return all(
        told[name]["ratio"] <= MOST and set(told[name]["prefixes_by_phase"].values()) == {1}
        for name in ("retries_16_and_32", "steps_50_and_100")
    )


if __name__ == "__main__":
    found = measured()
    print(json.dumps(found, indent=2))
    raise SystemExit(not holds(found))
