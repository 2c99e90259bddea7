"""Runs made of values alone, for tests of what is drawn from a run: no file, no model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pge_nb import records as r
from pge_nb.payloads import compact
from pge_nb.run import Run
from pge_nb.sandbox import NOT_ISOLATED
from pge_nb.verdict import overall, verdict_of

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)> | ``` \x1b[31mred\x1b[0m \u202ereversed &amp; "quoted"'
LONG = "The function returns None for an empty list where the contract asks for a ValueError. " * 12
PRACTICE_MODEL = "practice:skill=0.6,seed=1"
CRITERIA = (
    r.Criterion(name="correctness", description="Every input gives the right answer.", weight="high"),
    r.Criterion(name="clarity", description="A reader follows it at first sight.", weight="low", threshold=6.0),
)


def sections(records: Iterable[r.Record]) -> Iterator[r.Section]:
    """The records as they would stand in a file, a minute apart."""
    prev = "0" * 64
    for seq, record in enumerate(records):
        sha256 = hashlib.sha256((prev + record.kind + compact(record.payload)).encode("utf-8", "replace")).hexdigest()
        at = (datetime(2026, 11, 30, 10, tzinfo=UTC) + timedelta(minutes=seq)).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield r.Section(record=record, seq=seq, prev=prev, sha256=sha256, at=at, offset=seq * 1000)
        prev = sha256


def call(role: r.Role, number: int, *, model: str = PRACTICE_MODEL, dollars: float | None = 0.0) -> r.Call:
    return r.Call(
        id=f"{role}/{number}#0:{number:016x}",
        role=role,
        model=model,
        usage=r.Usage(input_tokens=1_000 + number, output_tokens=200, cache_read_tokens=300, cache_write_tokens=50),
        dollars=dollars,
        stop_reason="end_turn",
        seconds=1.5,
        source="practice" if model.startswith("practice") else "live",
    )


def plan(title: str = "Slugs from titles", criteria: tuple[r.Criterion, ...] = CRITERIA) -> r.Plan:
    return r.Plan(
        title=title,
        scope="Two functions and their edge cases.",
        deliverables=("slug.py", "unique.py"),
        steps=(
            r.Step(
                number=1, description="Turn a title into a slug", skill_type="code", success=("empty titles raise",)
            ),
            r.Step(number=2, description="Make slugs unique", skill_type="code", depends_on=(1,)),
        ),
        criteria=criteria,
        calls=(call("planner", 1),),
        seconds=2.0,
    )


def contract(step: int) -> r.StepContract:
    return r.StepContract(
        deliverables=("slug.py",) if step == 1 else ("unique.py",),
        checks=(
            r.Check(id="c1", says="slug.py can be imported", method="command", args={"run": "python -c 'import slug'"}),
            r.Check(id="c2", says="hidden titles give the expected slugs", method="oracle"),
            r.Check(id="c3", says="Chinese titles such as 你好 世界 keep their characters"),
        ),
        agreed=True,
        origin="agreed in round 1",
    )


def finding(on: str, verdict: r.Verdict, *, by: str = "command", quote: str = "", why: str = "") -> r.Finding:
    return r.Finding(
        on=on,
        about="check",
        verdict=verdict,
        why=why or ("met" if verdict == "pass" else "not met"),
        by=by,
        evidence=(f"e{on[1:]}",),
        quote=quote,
        says=f"{on} was looked at",
    )


def scored(on: str, score: float | None, threshold: float) -> r.Finding:
    verdict: r.Verdict = "unmeasured" if score is None else "pass" if score >= threshold else "fail"
    why = "no usable score was given" if score is None else f"{score:g} against {threshold:g}"
    return r.Finding(
        on=on,
        about="criterion",
        verdict=verdict,
        why=why,
        by="judge",
        score=score,
        evidence=("e4",),
        quote="def slug(title):",
        says=f"{on}, looked at",
    )


def report(
    attempt: int,
    scores: tuple[float | None, ...],
    checks: tuple[r.Verdict, ...] = ("pass", "pass", "pass"),
    *,
    criteria: tuple[r.Criterion, ...] = CRITERIA,
    quote: str = "",
    replayed: bool = False,
    isolation: str = "",
) -> r.EvaluationReport:
    findings = tuple(finding(f"c{i}", verdict, quote=quote) for i, verdict in enumerate(checks, 1)) + tuple(
        scored(criterion.name, score, criterion.threshold) for criterion, score in zip(criteria, scores, strict=True)
    )
    return r.EvaluationReport(
        rater="rater-4f2a9c01",
        attempt_hash=f"{attempt:064x}",
        verdict=verdict_of(findings),
        overall=overall(findings, criteria),
        findings=findings,
        evidence=(
            r.Evidence(
                id="e1", method="command", on="c1", says="exit status 0", body=r.text_body("ok"), replayed=replayed
            ),
            r.Evidence(id="e2", method="oracle", on="c2", says="12 of 12 agree", body=r.text_body("12 of 12")),
            r.Evidence(
                id="e3",
                method="file",
                on="c3",
                says="slug.py, opened",
                body=r.text_body("def slug(title):"),
                strength="weak",
            ),
            r.Evidence(id="e4", method="file", on="", says="slug.py, opened", body=r.text_body("def slug(title):")),
        ),
        isolation=isolation,
        calls=(call("evaluator", attempt),),
        seconds=3.0,
    )


def attempt(number: int, approach: r.Approach, base: int | None = None, log: str = "Wrote slug.py.") -> r.Attempt:
    file = r.FileRef(path="slug.py", mode=0o644, sha256=f"{number:064x}", size=400 + number)
    return r.Attempt(
        approach=approach,
        why="the findings say that empty titles pass" if approach != "first" else "",
        base=base,
        files=(file,),
        hash=f"{number:064x}",
        log=r.text_body(log),
        calls=(call("generator", number),),
        seconds=4.0,
    )


def task(prompt: str = "Write slug(title) and unique(slugs) with tests.", **fields: object) -> r.Task:
    whole = r.Task(
        prompt=prompt,
        run="0123456789abcdef",
        settings={
            "models": dict.fromkeys(("planner", "generator", "evaluator"), PRACTICE_MODEL),
            "max_retries_per_step": 3,
        },
        practice="slugs",
        isolation=NOT_ISOLATED,
    )
    return replace(whole, **fields)  # type: ignore[arg-type]


def decided(step: int, number: int, action: r.Action, reason: str, kept: int | None = None) -> r.Record:
    return r.Record(
        payload=r.Decision(action=action, reason=reason, attempt=kept, numbers={"noise": 0.5}),
        by="harness",
        step=step,
        attempt=number,
    )


def opening(prompt: str | None = None, *, the_plan: r.Plan | None = None, **fields: object) -> list[r.Record]:
    return [
        r.Record(payload=task(**fields) if prompt is None else task(prompt, **fields), by="person"),
        r.Record(payload=the_plan or plan(), by="planner"),
    ]


def negotiated(step: int) -> list[r.Record]:
    stands = contract(step)
    proposal = r.Proposal(
        deliverables=stands.deliverables, checks=stands.checks[:2], calls=(call("generator", 90 + step),)
    )
    response = r.Response(
        agreed=False,
        reason="add a check on Chinese titles",
        deliverables=stands.deliverables,
        checks=stands.checks,
        calls=(call("evaluator", 90 + step),),
    )
    return [
        r.Record(payload=proposal, by="generator", step=step, round=1),
        r.Record(payload=response, by="evaluator", step=step, round=1),
        r.Record(payload=stands, by="harness", step=step),
    ]


def tried(step: int, number: int, made: r.Attempt, judged: r.EvaluationReport) -> list[r.Record]:
    return [
        r.Record(payload=made, by="generator", step=step, attempt=number),
        r.Record(payload=judged, by="evaluator", step=step, attempt=number, round=1, purpose="gate"),
    ]


def sample_records(prompt: str | None = None, *, quote: str = "12 of 12", **fields: object) -> list[r.Record]:
    """Two steps: fail, unmeasured then fail, fail, pass in the first (refine, pivot, refine, accept); a pass in the second."""
    return [
        *opening(prompt, **fields),
        *negotiated(1),
        *tried(1, 1, attempt(1, "first"), report(1, (4.0, 7.5), ("pass", "fail", "fail"), quote=quote)),
        decided(1, 1, "refine", "first attempt"),
        *tried(
            1, 2, attempt(2, "refine", 1), replace(report(2, (None, 7.0)), unusable=r.text_body("I cannot rate this."))
        ),
        r.Record(
            payload=report(2, (3.5, 7.0), ("pass", "fail", "pass"), quote=quote),
            by="evaluator",
            step=1,
            attempt=2,
            round=2,
            purpose="gate",
        ),
        decided(1, 2, "pivot", "3.5 is not above 4.0 by more than 0.5"),
        *tried(1, 3, attempt(3, "pivot"), report(3, (8.5, 5.5), quote=quote, replayed=True)),
        decided(1, 3, "refine", "rising"),
        *tried(1, 4, attempt(4, "refine", 3), report(4, (9.0, 8.0), quote=quote)),
        decided(1, 4, "accept", "passed", 4),
        *negotiated(2),
        *tried(2, 1, attempt(1, "first"), report(1, (8.0, 8.0))),
        decided(2, 1, "accept", "passed", 1),
    ]


def sample_run(prompt: str | None = None, **fields: object) -> Run:
    return Run(sections(sample_records(prompt, **fields)))


def hostile_run() -> Run:
    """Every text that an agent may choose is an attack, a right-to-left language, Chinese, or far too long."""
    criteria = (replace(CRITERIA[0], name="正确性"), replace(CRITERIA[1], name="الوضوح <b>x</b>"))
    stands = replace(
        contract(1),
        checks=(r.Check(id="c1", says=HOSTILE), r.Check(id="c2", says="الرمز يعمل"), r.Check(id="c3", says=LONG)),
    )
    return Run(
        sections(
            [
                *opening("写两个函数。 " + HOSTILE, the_plan=plan(HOSTILE, criteria)),
                r.Record(payload=stands, by="harness", step=1),
                *tried(
                    1,
                    1,
                    attempt(1, "first", log=HOSTILE),
                    report(1, (4.0, 7.5), ("fail", "pass", "pass"), criteria=criteria, quote=HOSTILE),
                ),
                decided(1, 1, "pivot", HOSTILE),
                *tried(
                    1,
                    2,
                    attempt(2, "pivot", log=LONG),
                    report(2, (5.0, 7.5), ("pass", "pass", "pass"), criteria=criteria, quote=LONG),
                ),
                decided(1, 2, "keep", "retries are used up", 2),
            ]
        )
    )


def long_run(steps: int = 12, attempts: int = 6) -> Run:
    """Many steps with many attempts each; every third step is kept below its thresholds."""
    whole = replace(
        plan(), steps=tuple(r.Step(number=n, description=f"Part {n} of the whole") for n in range(1, steps + 1))
    )
    records = opening(the_plan=whole)
    for step in range(1, steps + 1):
        records.append(r.Record(payload=contract(step), by="harness", step=step))
        for number in range(1, attempts + 1):
            score = min(10.0, 2.0 + number * (1.0 if step % 3 else 0.4) + step % 4)
            made = attempt(number, "first" if number == 1 else "refine", number - 1 or None)
            records += tried(step, number, made, report(number, (score, 6.0 + number % 3)))
            last = number == attempts
            action: r.Action = ("accept" if step % 3 else "keep") if last else "pivot" if number == 3 else "refine"
            records.append(decided(step, number, action, "made for a test", number if last else None))
    return Run(sections(records))


def asking_run() -> Run:
    """Paused: the first step's retries are used up and a question is open."""
    question = r.Question(text="Step 1 failed 2 attempts. What now?", choices=("retry", "keep", "stop"))
    return Run(
        sections(
            [
                *opening(),
                *negotiated(1),
                *tried(1, 1, attempt(1, "first"), report(1, (2.0, 3.0), ("fail", "fail", "fail"))),
                decided(1, 1, "ask", "retries used up"),
                r.Record(payload=question, by="harness", step=1),
            ]
        )
    )


def replanned_run() -> Run:
    """Step 2 of three failed and was cut into steps 4 and 5, of which the first was attempted once."""
    numbers = {1: (), 2: (1,), 3: (2,)}
    first = replace(
        plan(), steps=tuple(r.Step(number=n, description=f"Part {n}", depends_on=on) for n, on in numbers.items())
    )
    smaller = (
        r.Step(number=4, description="The first half of part 2", depends_on=(1,)),
        r.Step(number=5, description="The second half of part 2", depends_on=(4,)),
    )
    steps = (first.steps[0], *smaller, replace(first.steps[2], depends_on=(4, 5)))
    cut = replace(first, steps=steps, replan=r.Replan(step=2, by=(4, 5), why="it asked for two things at once"))
    return Run(
        sections(
            [
                *opening(the_plan=first),
                *negotiated(1),
                *tried(1, 1, attempt(1, "first"), report(1, (8.0, 8.0))),
                decided(1, 1, "accept", "passed", 1),
                *negotiated(2),
                *tried(2, 1, attempt(1, "first"), report(1, (2.0, 3.0), ("fail", "fail", "pass"))),
                decided(2, 1, "replan", "all attempts failed"),
                r.Record(payload=cut, by="planner"),
                *negotiated(4),
                *tried(4, 1, attempt(1, "first"), report(1, (6.0, 8.0))),
                decided(4, 1, "refine", "first attempt"),
            ]
        )
    )
