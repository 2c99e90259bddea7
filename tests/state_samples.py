"""Records for tests of the state file: one of every kind, any value of every kind, and the file they make."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Union

from hypothesis import strategies as st

from pge_nb import records as r
from pge_nb import study_records as study
from pge_nb.errors import PgeError
from pge_nb.state import StateFile

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HASH = "5e" * 32
CALL = r.Call(
    id="generator/2#0:aa",
    role="generator",
    model="claude-x",
    usage=r.Usage(input_tokens=1_200, output_tokens=340),
    dollars=0.0123,
    stop_reason="end_turn",
    seconds=4.2,
    source="live",
)
FILE = r.FileRef(path="slug.py", mode=0o644, sha256=HASH, size=1_234)
CHECKS = (
    r.Check(id="c1", says="slug.py can be imported", method="file", args={"path": "slug.py"}),
    r.Check(id="c2", says="an empty title raises ValueError"),
)
EVIDENCE = r.Evidence(
    id="e1",
    method="command",
    on="c1",
    says="python -c 'import slug' exited 0",
    body=r.Body(text="ok\n```\nstill output", size=90_000, sha256=HASH),
    strength="weak",
)
FINDINGS = (
    r.Finding(on="c1", about="check", verdict="pass", why="It imports.", by="file", evidence=("e1",), quote="ok"),
    r.Finding(on="clarity", about="criterion", verdict="fail", why="Names | say_nothing.", by="judge", score=4.5),
)
ONE_OF_EACH: tuple[r.Record, ...] = (
    r.Record(
        payload=r.Task(prompt="Make slugs\nfrom titles.", run="0123456789abcdef", settings={"max_steps": 3, "a": None}),
        by="person",
    ),
    r.Record(
        payload=r.Plan(
            title="Slugs",
            scope="Two functions.",
            steps=(
                r.Step(number=1, description="Slug of a title", success=("empty titles raise",)),
                r.Step(number=2, description="Make slugs unique", depends_on=(1,)),
            ),
            deliverables=("slug.py",),
            criteria=(r.Criterion(name="clarity", description="Reads at first sight.", weight="low", threshold=6.5),),
            notes=("Cut to 2 steps.",),
            calls=(CALL,),
        ),
        by="planner",
    ),
    r.Record(payload=r.Proposal(deliverables=("slug.py",), checks=CHECKS), by="generator", step=1),
    r.Record(payload=r.Response(agreed=False, reason="c2 is vague.", checks=CHECKS), by="evaluator", step=1),
    r.Record(
        payload=r.StepContract(deliverables=("slug.py",), checks=CHECKS, agreed=True, origin="agreed in round 2"),
        by="harness",
        step=1,
    ),
    r.Record(payload=r.Withheld(count=3, sha256="9" * 64, calls=(CALL,)), by="evaluator", step=1),
    r.Record(
        payload=r.Attempt(
            approach="refine",
            why="Scores rise.",
            base=1,
            files=(FILE,),
            hash=r.attempt_hash((FILE,)),
            log=r.text_body("Wrote slug.py.\r\nRan it."),
            missing=("tests.py",),
            refused=(r.Refusal(path="../x", reason="outside the tree"),),
            calls=(CALL, CALL),
        ),
        by="generator",
        step=1,
        attempt=2,
    ),
    r.Record(
        payload=r.EvaluationReport(
            rater="9f" * 8,
            attempt_hash=r.attempt_hash((FILE,)),
            verdict="fail",
            overall=4.5,
            findings=FINDINGS,
            evidence=(EVIDENCE,),
            isolation="landlock and seccomp",
            unusable=r.text_body("I think it's fine"),
        ),
        by="evaluator",
        step=1,
        attempt=2,
        purpose="gate",
    ),
    r.Record(
        payload=r.Decision(action="keep", reason="retries are used up", attempt=2, numbers={"weakest": 5.5, "of": 3}),
        by="harness",
        step=1,
    ),
    r.Record(payload=r.Amendment(limits={"max_retries_per_step": 4}, text="two more"), by="person"),
    r.Record(payload=r.Question(text="Keep it?", choices=("keep", "retry")), by="harness", step=2),
    r.Record(payload=r.Answer(choice="retry", text="Mind the hyphens."), by="person", step=2),
    r.Record(payload=r.Interruption(reason="KeyboardInterrupt", phase="generate"), by="harness"),
    r.Record(payload=r.Note(text="A kernel died."), by="harness"),
    r.Record(payload=r.Receipt(outcome="degraded", calls=7, tokens=12_345, dollars=None, unfinished=1), by="harness"),
    r.Record(payload=r.Redaction(of=HASH, sections=14, removed={"paths": 3, "prompts": 1}), by="harness"),
    r.Record(
        payload=study.Rater(
            id="r-9f9f9f9f9f",
            who="judge",
            name="strict",
            model="claude-x",
            mode="fresh",
            prompt="Every check starts\nas FAIL.",
            examples=(
                study.Example(
                    item="0123456789abcdef:1:5e5e5e5e5e5e/c2",
                    says="an empty title raises ValueError",
                    shown="def slug(title):\n    return title",
                    verdict="fail",
                    why="It returns | the empty title.",
                ),
            ),
            edited_from="r-8e8e8e8e8e",
        ),
        by="person",
    ),
    r.Record(
        payload=study.Label(
            rater="ada",
            run="0123456789abcdef",
            step=1,
            attempt_hash=HASH,
            on="c2",
            verdict="fail",
            note="Seen\nby hand.",
        ),
        by="person",
        step=1,
    ),
    r.Record(payload=study.Split(train=("slugs",), development=(), test=("sums",), seed=7), by="person"),
    r.Record(payload=study.Look(number=1, level=0.975, raters=("r-9f9f9f9f9f",), why="Before the card."), by="person"),
    r.Record(payload=study.Study(study="regrade", asked={"repeats": 3}, units=40, failed=1, sha256=HASH), by="harness"),
    r.Record(payload=study.Card(rater="r-9f9f9f9f9f", sentence="It passes bad work 18 %.", sha256=HASH), by="harness"),
)


def note(text: str = "Seen.") -> r.Record:
    """A small record."""
    return r.Record(payload=r.Note(text=text), by="harness")


def proposal(number: int = 0, step: int = 1) -> r.Record:
    """A small record that belongs to a step."""
    return r.Record(payload=r.Proposal(deliverables=(f"{number}.py",), checks=()), by="generator", step=step)


def written(directory: Path, *records: r.Record, at_once: bool = False) -> Path:
    """A state file with these records, and the note beside it."""
    path = directory / "shared_state.md"
    state = StateFile(path, clock=lambda: NOON)
    if at_once:
        state.append(*records)
    else:
        for record in records:
            state.append(record)
    return path


def two_lines(error: PgeError) -> list[str]:
    """The error as a notebook shows it."""
    lines = str(error).split("\n")
    assert len(lines) == 2
    assert all(line.endswith(".") for line in lines)
    return lines


HOSTILE = (
    "```",
    "````json\n{}\n````",
    "\n~~~\n",
    "\n# H\n",
    "\n## X: PASS\n",
    "\n===\n",
    "\n---\n",
    "---",
    ":--",
    "| a | b |\n|---|---|\n| c | d |",
    "|",
    "\\|",
    "\\",
    "\n> q\n",
    "> ",
    "- ",
    "1. ",
    "1) ",
    "# ",
    "+ ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
    "-->",
    "\n<!-- /pge seq=0 sha256=" + "0" * 64 + " -->\n\n<!-- pge/1 seq=1 len=3",
    "<!--",
    "<script>x</script>",
    "</details>",
    "<br>",
    "<a href=x>",
    "[x](http://e)",
    "![i](j)",
    "[r]: http://e\n",
    "[^1]",
    "<http://e>",
    "https://e.com/a_b_c",
    "www.e.com",
    "a@b.co",
    "*",
    "**b**",
    "_",
    "__u__",
    "~~s~~",
    "~",
    "$x$",
    "$$",
    "`",
    "``",
    "`c`",
    "&lt;",
    "&",
    "&#35;",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "\u202e",
    "\u2066",
    "\u2028",
    "\u2029",
    "\u200f",
    "\ufeff",
    "\ud83d",
    "\ude00",
    "\u00a0",
    "\U0001f600",
    "x",
    " ",
)
texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=4)), max_size=6).map("".join)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a declared type, with hostile text in every string of it."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if arm is type(None) else values(arm) for arm in args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping) and args[1] is int:
        return st.dictionaries(texts, values(int), max_size=2)
    if origin is not None and issubclass(origin, Mapping):
        numbers = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.just(1.5))
        return st.dictionaries(texts, st.one_of(texts, numbers, st.lists(texts, max_size=2)), max_size=2)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: values(hints[field.name]) for field in dataclasses.fields(kind)})
    plain = {str: texts, int: st.integers(0, 10**6), float: st.floats(0, 10), bool: st.booleans()}
    return plain[kind]


def records() -> st.SearchStrategy[r.Record]:
    """Any record of any kind."""
    numbers = st.none() | st.integers(1, 3)
    return st.one_of(
        *(
            st.builds(
                r.Record,
                payload=values(kind),
                by=st.sampled_from(("planner", "harness", "person")),
                step=numbers,
                attempt=numbers,
                round=numbers,
                purpose=st.sampled_from((None, *typing.get_args(r.Purpose))),
            )
            for kind in r.KINDS.values()
        )
    )
