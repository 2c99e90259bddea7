"""Runs written by hand, section after section, for tests of what follows from a state file."""

from __future__ import annotations

from pge_nb import records as r
from pge_nb.payloads import Json
from pge_nb.run import Run
from pge_nb.verdict import overall, verdict_of

QUALITY = (r.Criterion(name="quality", description="good", threshold=7),)
SETTINGS: dict[str, Json] = {
    "max_retries_per_step": 2,
    "max_contract_rounds": 2,
    "on_exhausted": ["keep", "ask"],
    "degrade_floor": 5.0,
    "noise": 0.5,
}
CHECKS = (r.Check(id="c1", says="one"), r.Check(id="c2", says="two"))


class Hand:
    """Adds one section at a time; `run` is the run that they make."""

    def __init__(self, *needs: tuple[int, ...], criteria: tuple[r.Criterion, ...] = QUALITY, **settings: Json) -> None:
        """A run whose steps depend on those listed: ``Hand((), (1,))`` has step 1, and step 2 that needs it."""
        self.run = Run()
        self.add(r.Task(prompt="p", run="0" * 16, settings=SETTINGS | settings))
        if needs:
            steps = tuple(r.Step(number=n, description=f"step {n}", depends_on=on) for n, on in enumerate(needs, 1))
            self.add(r.Plan(title="t", scope="s", steps=steps, criteria=criteria))

    def add(
        self,
        payload: r.Payload,
        step: int | None = None,
        attempt: int | None = None,
        purpose: r.Purpose | None = None,
    ) -> Hand:
        """Append a section."""
        seq = len(self.run.sections)
        record = r.Record(payload=payload, by="test", step=step, attempt=attempt, purpose=purpose)
        self.run.add(r.Section(record=record, seq=seq, prev="", sha256=f"{seq}", at="", offset=0))
        return self

    def propose(self, step: int = 1) -> Hand:
        """The generator's version of the contract."""
        return self.add(r.Proposal(deliverables=("a.py",), checks=CHECKS), step)

    def respond(self, step: int = 1, *, agreed: bool) -> Hand:
        """The evaluator's answer to it."""
        return self.add(r.Response(agreed=agreed, reason=""), step)

    def contract(self, step: int = 1) -> Hand:
        """A contract, however it came to stand."""
        return self.add(r.StepContract(deliverables=("a.py",), checks=CHECKS, agreed=True, origin="by hand"), step)

    def attempt(self, number: int, step: int = 1, approach: r.Approach = "refine") -> Hand:
        """An attempt at a step."""
        made = r.Attempt(approach=approach, why="", base=None, files=(), hash=f"{number}", log=r.text_body(""))
        return self.add(made, step, number)

    def evaluate(
        self,
        attempt: int,
        score: float | None,
        *checks: r.Verdict,
        step: int = 1,
        purpose: r.Purpose = "gate",
    ) -> Hand:
        """An evaluation with a score for the criterion (None: not measured) and verdicts on the checks (all pass)."""
        findings = tuple(
            r.Finding(on=f"c{n}", about="check", verdict=verdict, why="", by="judge")
            for n, verdict in enumerate(checks or ("pass", "pass"), 1)
        )
        verdict: r.Verdict = "unmeasured" if score is None else "pass" if score >= 7 else "fail"
        findings += (r.Finding(on="quality", about="criterion", verdict=verdict, why="", by="judge", score=score),)
        report = r.EvaluationReport(
            rater="r",
            attempt_hash=f"{attempt}",
            verdict=verdict_of(findings),
            overall=overall(findings, QUALITY),
            findings=findings,
        )
        return self.add(report, step, attempt, purpose)

    def decided(self, action: r.Action, attempt: int, step: int = 1) -> Hand:
        """A decision on an attempt; with a question where one is asked."""
        stands = attempt if action in {"accept", "keep", "advance"} else None
        self.add(r.Decision(action=action, reason="by hand", attempt=stands), step, attempt)
        return self.add(r.Question(text="?", choices=("retry", "stop")), step) if action == "ask" else self

    def answer(self, choice: r.Choice, step: int = 1) -> Hand:
        """A person's answer."""
        return self.add(r.Answer(choice=choice), step)

    def tried(self, *scores: float | None, step: int = 1, pivots: tuple[int, ...] = ()) -> Hand:
        """A contract and attempts with these scores, decided on as far as the next attempt needs it; the last one is open."""
        self.contract(step)
        for number, score in enumerate(scores, 1):
            approach: r.Approach = "first" if number == 1 else "pivot" if number in pivots else "refine"
            self.attempt(number, step, approach).evaluate(number, score, step=step)
            if number < len(scores):
                self.decided("pivot" if number + 1 in pivots else "refine", number, step)
        return self
