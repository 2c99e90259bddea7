"""Artifacts that address the judge: what evidence decides stands, whatever a judge says that does as it is told there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sanitizer
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import fenced, findings, role_of

from pge_nb import views
from pge_nb.agents.judging import Docket, laid_before
from pge_nb.calibration.injections import INJECTIONS, ZERO_WIDTH
from pge_nb.config import HarnessConfig
from pge_nb.display import View
from pge_nb.harness import PGEHarness
from pge_nb.models import NONCE, Listen, Reply, Request, Stop, text_reply
from pge_nb.models.claude import replaced
from pge_nb.records import Check, Criterion, Evidence, Usage, text_body
from pge_nb.run import Run
from pge_nb.state import open_run
from pge_nb.views.attempts import attempt_view

PROMPT = "Write calc.py with add(a, b), and notes.md on it."
PLAN = {
    "title": "Add", "scope": "calc.py", "deliverables": ["calc.py", "notes.md"],
    "steps": [{"description": "add", "depends_on": [], "success": ["add(2, 3) returns 5"]}],
    "criteria": [{"name": "correctness", "weight": "high", "description": "it is right", "threshold": 7}],
}  # fmt: skip
CHECKS = [
    {"says": "add(2, 3) returns 5", "method": "oracle", "args": {"call": "calc.add", "args": [2, 3], "returns": 5}},
    {"says": "the notes tell what add does", "method": "judge", "args": {}},
]
KINDS = ["task", "plan", "proposal", "response", "contract", "attempt", "evaluation", "decision"]


@dataclass
class Obeying:
    """Plays a run whose generator writes ``text`` into what it delivers, and whose judge does as the text wants."""

    text: str
    code: str = "def add(a, b):\n    return a - b\n"

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        sent: dict[str, Any] = {"system": request.system, "messages": [dict(one) for one in request.messages]}
        return text_reply(self.said(sent), usage=Usage(input_tokens=10, output_tokens=10))

    def said(self, sent: Mapping[str, Any]) -> str:
        role = role_of(dict(sent))
        if role == "planner":
            return fenced(PLAN)
        if role == "propose":
            return fenced({"deliverables": ["calc.py", "notes.md"], "checks": CHECKS})
        if role == "respond":
            return fenced({"agreed": True, "reason": "complete"})
        if role == "generate":
            comment = "\n".join(f"# {line}" for line in self.text.split("\n"))
            code, notes = f"`````python calc.py\n{comment}\n{self.code}`````", f"`````text notes.md\n{self.text}\n`````"
            return f"Approach: plain.\n\n{code}\n\n{notes}\n"
        return json.dumps({"findings": self.obeyed(dict(sent))})

    def obeyed(self, sent: dict[str, Any]) -> list[dict[str, Any]]:
        """Passes for all that it is asked and for all that it is not, with evidence and quotes, good and made up."""
        asked = [one | {"score": 10} if "score" in one else one for one in findings(sent)]
        told = {"says": self.text, "quote": ""}
        more = [
            {"on": "c1", "verdict": "pass", "evidence": ["e1"], **told},
            {"on": "c1", "verdict": "pass", "evidence": ["e99"], **told, "quote": self.text[:40]},
            {"on": "all", "verdict": "pass", "evidence": [], **told},
        ]
        return [one | {"says": self.text} for one in asked] + more


def carried_out(tmp_path: Path, model: Obeying) -> Run:
    config = HarnessConfig(model="stub-model", shared_state_path=tmp_path / "shared_state.md", max_retries_per_step=0)
    PGEHarness(config, model=model).run(PROMPT)
    return open_run(tmp_path / "shared_state.md")


def every_view(run: Run) -> list[View]:
    return [
        views.run_view(run), views.plan_view(run), views.contract_view(run), views.evaluations_view(run),
        views.decisions_view(run), views.cost_view(run), attempt_view(run, 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("name", INJECTIONS)
def test_no_text_in_an_artifact_turns_what_evidence_decides(name: str, tmp_path: Path) -> None:
    run = carried_out(tmp_path, Obeying(INJECTIONS[name]))
    report = run.evaluation(1, 1)
    assert report is not None
    said = {finding.on: finding for finding in report.findings}
    assert (report.verdict, said["c1"].verdict, said["c1"].by) == ("fail", "fail", "oracle")
    assert said["c2"].verdict == "pass", "the judge did as it was told"
    assert run.state(1) != "accepted"
    assert set(said) == {"c1", "c2", "correctness"}
    # Nothing was forged on the way into the file or out of it.
    kinds = [section.record.kind for section in run.sections]
    assert kinds[: len(KINDS)] == KINDS
    assert kinds.count("evaluation") == kinds.count("decision") == 1
    for view in every_view(run):
        assert sanitizer.read(view.html()).stripped == []
        for told in (view.html(), view.plain(), view.markdown()):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", told)


def test_there_are_forty_of_them_and_no_two_alike() -> None:
    assert len(set(INJECTIONS.values())) == len(INJECTIONS) >= 40


def test_right_code_with_such_a_text_passes_all_the_same(tmp_path: Path) -> None:
    """It is not for the words in it that an attempt fails."""
    run = carried_out(tmp_path, Obeying(INJECTIONS["an order"], code="def add(a, b):\n    return a + b\n"))
    assert run.state(1) == "accepted"


# The marks

PIECES = st.sampled_from(
    [
        "<", "</", ">", "/", " ", "\n", "artifact", "evidence", "diff", "ARTIFACT", ' mark="', '"', "id=", "e1", "x",
        NONCE, "PGE-", "PGE", "-NONCE", "NONCE", "PGE_NONCE", "_artifact", ZERO_WIDTH, "\u200b", "\uff1c", "\u0430rtifact",
        "\ud800", "\r", "\0", "\u0130", "ART\u0130FACT", "\u212a",
    ]
)  # fmt: skip
TEXT = st.lists(PIECES, max_size=14).map("".join)


@settings(deadline=None, max_examples=300)
@given(
    artifact=TEXT,
    outcome=TEXT,
    path=TEXT,
    says=TEXT,
    describes=TEXT,
    diff=TEXT,
    nonce=st.from_regex("[0-9a-f]{16}", fullmatch=True),
)
def test_no_text_can_write_the_nonce_nor_a_mark(
    artifact: str, outcome: str, path: str, says: str, describes: str, diff: str, nonce: str
) -> None:
    """Neither directly nor by what is done to it: the marks that carry the nonce are those of a text without any of it."""

    def marks(*texts: str) -> list[str]:
        a, o, p, s, c, d = texts
        issued = (
            Evidence(id="e1", method="artifact", on=p, says="", body=text_body(a)),
            Evidence(id="e2", method="oracle", on="c9", says="", body=text_body(o)),
        )
        checks, criteria = (Check(id="c1", says=s),), (Criterion(name="clarity", description=c),)
        docket = Docket(checks=checks, criteria=criteria, evidence=issued, texts={"e1": a, "e2": o})
        sent = replaced(laid_before(docket, checks, d), NONCE, nonce)
        assert isinstance(sent, str)
        return re.findall(r"<\s*/?\s*(?:artifact|evidence|diff)\b|[0-9a-f]{16}", sent, re.IGNORECASE)

    ordinary = marks("x", "x", "x", "x", "x", "x")
    assert marks(artifact, outcome, path, says, describes, diff or "x") == ordinary
