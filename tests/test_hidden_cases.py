"""Hidden inputs that the evaluator makes: the generator never sees them, and a miss lays the check before the judge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import ADD, MODEL, PROMPT, Request, fenced, findings, role_of, scripted, step_of

from pge_nb.agents.withholding import STRENGTH
from pge_nb.config import HarnessConfig, identity
from pge_nb.harness import PGEHarness
from pge_nb.records import EvaluationReport, Finding
from pge_nb.run import Run, same

SECRET = 48_651
"""Stands in a hidden input and in no other place."""
ADDS = {
    "cases": [
        {"on": "c1", "args": [SECRET, 1], "returns": SECRET + 1},
        {"on": "c1", "args": ["a", "b"], "returns": "ab"},
    ]
}
TWICE = {"cases": [{"on": "c1", "args": [SECRET], "returns": 2 * SECRET}]}
FITTED = 'def add(a, b):\n    """The sum."""\n    return 5\n'


def hidden(request: Request) -> str:
    return fenced(
        ADDS if "calc.add" in str(request["messages"]) and "calc.twice" not in str(request["messages"]) else TWICE
    )


class Made:
    """A run with hidden inputs: what was sent, and what came of it."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **replaced: Any) -> None:
        self.settings = {"hidden_cases": 3, "max_retries_per_step": 1, **replaced.pop("settings", {})}
        self.config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "shared_state.md", **self.settings)
        with MessagesStub(scripted(**{"withhold": hidden, **replaced})) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            self.result = PGEHarness(self.config).run(PROMPT)
            self.requests = stub.requests

    @property
    def run(self) -> Run:
        return PGEHarness(self.config).state.read()

    def report(self, attempt: int = 1) -> EvaluationReport:
        found = self.run.evaluation(1, attempt)
        assert found is not None
        return found


def test_they_are_made_for_each_step_kept_apart_and_told_by_hash_and_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(tmp_path, monkeypatch)
    assert made.result.outcome == "passed"
    withheld = made.run.withheld(1)
    assert withheld is not None
    assert withheld.count == 2
    kept = tmp_path / ".pge" / "withheld" / withheld.sha256[:2] / withheld.sha256
    assert [item["case"]["args"] for item in json.loads(kept.read_text())] == [[SECRET, 1], ["a", "b"]]
    evidence = [one for one in made.report().evidence if one.method == "oracle"]
    assert [one.says.endswith("hidden ones") for one in evidence] == [False, True]
    assert evidence[1].strength == STRENGTH
    finding = next(one for one in made.report().findings if one.on == "c1")
    assert finding.evidence == (evidence[0].id, evidence[1].id)


def test_no_request_of_the_generator_and_no_tree_holds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(tmp_path, monkeypatch)
    sent = [json.dumps(request) for request in made.requests if role_of(request) in {"propose", "generate"}]
    assert len(sent) == 4
    assert all(str(SECRET) not in text for text in sent)
    assert str(SECRET) not in (tmp_path / "shared_state.md").read_text()
    files = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
    objects = [path for path in (tmp_path / ".pge" / "objects").rglob("*") if path.is_file()]
    assert files
    assert objects
    assert all(str(SECRET).encode() not in path.read_bytes() for path in (*files, *objects))


def test_work_that_is_fitted_to_the_shown_input_is_laid_before_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(request: Request) -> str:
        return (
            f"Approach: 5.\n\n```python calc.py\n{FITTED}```\n"
            if step_of(request) == 1
            else f"```python calc.py\n{ADD}```"
        )

    def sees(request: Request) -> str:
        text = str(request["messages"][0]["content"])
        asked = "c1" in text.split("Give a finding on each of:")[1].split(".", maxsplit=1)[0]
        judged = [item | ({"verdict": "fail"} if item["on"] == "c1" else {}) for item in findings(request)]
        assert not asked or "0 of 2 inputs gave what is wanted" in text
        return fenced({"findings": judged})

    made = Made(tmp_path, monkeypatch, generate=fitted, evaluate=sees, settings={"max_retries_per_step": 0})
    finding = next(one for one in made.report().findings if one.on == "c1")
    assert finding.verdict == "fail"
    assert finding.by == "judge"
    plain = Made(
        tmp_path_of(tmp_path), monkeypatch, generate=fitted, settings={"max_retries_per_step": 0, "hidden_cases": 0}
    )
    finding = next(one for one in plain.report().findings if one.on == "c1")
    assert finding.verdict == "pass", "without hidden inputs the fitted work passes: that is what they are for"


def tmp_path_of(place: Path) -> Path:
    (place / "plain").mkdir()
    return place / "plain"


@pytest.mark.parametrize(
    "said",
    [
        "no JSON at all",
        fenced({"cases": "none"}),
        fenced({"cases": [{"on": "c9", "args": [1], "returns": 1}]}),
        fenced({"cases": [{"on": "c1", "args": [2, 3], "returns": 5}]}),
        fenced({"cases": [{"on": "c1", "args": [1, 1]}, {"on": "c1", "args": 7, "returns": 1}, "x"]}),
        fenced({"cases": [{"on": "c1", "args": [1, 1], "returns": 2, "raises": "ValueError"}]}),
    ],
    ids=["prose", "no list", "another check", "a shown input", "no outcome", "two outcomes"],
)
def test_a_reply_without_usable_inputs_leaves_the_check_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    made = Made(tmp_path, monkeypatch, withhold=lambda _: said)
    assert made.result.outcome == "passed"
    withheld = made.run.withheld(1)
    assert withheld is not None
    assert withheld.count == 0
    assert withheld.sha256 == ""


def test_no_more_than_was_asked_for_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = fenced({"cases": [{"on": "c1", "args": [n, 1], "returns": n + 1} for n in range(9)]})
    made = Made(
        tmp_path, monkeypatch, withhold=lambda request: many if "calc.twice" not in str(request) else fenced(TWICE)
    )
    withheld = made.run.withheld(1)
    assert withheld is not None
    assert withheld.count == 3


def test_they_are_part_of_the_task_only_where_they_are_wanted() -> None:
    settings = HarnessConfig(model=MODEL).settings()
    without = {name: value for name, value in settings.items() if name != "hidden_cases"}
    assert identity("x", settings) == identity("x", without)
    assert identity("x", settings | {"hidden_cases": 2}) != identity("x", settings)


def fitted(request: Request) -> str:
    code = FITTED if step_of(request) == 1 else ADD
    return f"Approach: 5.\n\n```python calc.py\n{code}```\n"


class Asked:
    """A run to its first attempt, whose hidden inputs a person looks at: a second attempt is made, and all is sent again."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch, strike: tuple[int, ...] | None) -> None:
        self.place, self.config = (
            place,
            HarnessConfig(
                model=MODEL,
                shared_state_path=place / "shared_state.md",
                hidden_cases=3,
                max_retries_per_step=1,
                max_steps=1,
            ),
        )
        self.harness = PGEHarness(self.config)
        with MessagesStub(scripted(withhold=hidden, generate=fitted, evaluate=self._judged)) as stub:
            for name, value in stub.environ.items():
                monkeypatch.setenv(name, value)
            self.harness.start(PROMPT)
            for section in self.harness.records():
                if section.record.kind == "withheld":
                    break
            if strike is not None:
                self.harness.confirm(1, strike)
            self.harness.resume()
            self.requests = stub.requests

    def _judged(self, request: Request) -> str:
        """A judge that repeats all that it has read."""
        text = str(request["messages"][0]["content"])
        miss = text.partition("one that did not: ")[2][:80]
        cited = re.findall(r'evidence id="(e\d+)" of="c1"', text)[-1:] or ["e1"]
        said: dict[str, Any] = {"verdict": "fail", "says": f"It misses {miss}", "evidence": cited, "quote": ""}
        told = [item | said for item in findings(request, score=2)]
        return fenced({"findings": told})

    def finding(self, attempt: int = 1) -> Finding:
        report = self.harness.state.read().evaluation(1, attempt)
        assert report is not None
        return next(one for one in report.findings if one.on == "c1")


def test_a_person_who_confirms_them_makes_them_decide_and_nobody_is_told_which_was_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(tmp_path, monkeypatch, ())
    run = asked.harness.state.read()
    assert (asked.finding().by, asked.finding().verdict) == ("oracle", "fail")
    report = run.evaluation(1, 1)
    assert report is not None
    (told,) = [one for one in report.evidence if one.says.endswith("hidden ones")]
    assert (told.strength, told.body.text) == ("strong", "0 of 2 inputs gave what is wanted")
    assert len(run.attempts(1)) == 2
    sent = [json.dumps(request) for request in asked.requests if role_of(request) != "withhold"]
    assert all(str(SECRET) not in text for text in sent)
    again = next(text for text in sent if "This is attempt 2" in text)
    assert "of hidden inputs: 0 of 2 inputs gave what is wanted" in again
    assert again.count("0 of 2 inputs") == 1
    held = [path for path in tmp_path.rglob("*") if path.is_file() and str(SECRET).encode() in path.read_bytes()]
    assert {path.relative_to(tmp_path).parts[:2] for path in held} <= {(".pge", "withheld"), (".pge", "calls.jsonl")}


def test_of_those_that_nobody_confirmed_the_judge_reads_the_missed_one_and_the_generator_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked(tmp_path, monkeypatch, None)
    assert (asked.finding().by, asked.finding().verdict) == ("judge", "fail")
    assert any(str(SECRET) in json.dumps(request) for request in asked.requests if role_of(request) == "evaluate")
    made = [json.dumps(request) for request in asked.requests if role_of(request) == "generate"]
    (again,) = [text for text in made if "This is attempt 2" in text]
    assert "of hidden inputs: 0 of 2 inputs gave what is wanted" in again
    assert "It misses" not in again
    assert all(str(SECRET) not in text for text in made)


def test_what_is_struck_out_is_asked_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(tmp_path, monkeypatch, (1,))
    withheld = asked.harness.state.read().withheld(1)
    assert withheld is not None
    assert (withheld.count, withheld.confirmed, withheld.notes) == (1, True, ("struck out: 1",))
    report = asked.harness.state.read().evaluation(1, 1)
    assert report is not None
    assert any(one.body.text == "0 of 1 inputs gave what is wanted" for one in report.evidence)
    (tmp_path / "all").mkdir()
    without = Asked(tmp_path / "all", monkeypatch, (1, 2))
    assert without.finding().verdict == "pass", "the shown input alone is left"


def test_a_person_looks_at_them_and_confirms_them_in_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    Asked(tmp_path, monkeypatch, None)
    before = len((tmp_path / "shared_state.md").read_bytes())
    view = shell.cell("%pge show hidden 1").view
    assert view.next == "%pge confirm 1"
    frame = view.df
    assert frame is not None
    assert list(frame["number"]) == [1, 2]
    assert list(frame["input"]) == [f"{SECRET}, 1", "'a', 'b'"]
    assert set(frame["standing"]) == {"nobody has looked at it"}
    for again in (False, True):
        view = shell.cell("%pge confirm 1 --strike 2").view
        assert view.df is not None
        assert list(view.df["standing"]) == ["confirmed", "struck out"], (
            "numbers are those that the evaluator gave them"
        )
        assert any("nothing changed" in note for note in view.notes) is again
    added = (tmp_path / "shared_state.md").read_bytes()[before:].decode()
    assert added.count("confirmed by a person") == 1
    assert str(SECRET) not in added
    view = shell.cell("%pge confirm 1").view
    assert view.df is not None
    assert list(view.df["standing"]) == ["confirmed", "confirmed"], "a person may think again"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%pge confirm 1 --strike 3", "There is no hidden input 3."),
        ("%pge confirm 1 --strike two", "'two' is no number of a hidden input."),
        ("%pge confirm 1.1", "Hidden inputs belong to a step."),
        ("%pge confirm 7", "There is no step 7"),
    ],
)
def test_what_cannot_be_confirmed_is_told(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    Asked(tmp_path, monkeypatch, None)
    before = (tmp_path / "shared_state.md").read_bytes()
    assert told in str(shell.cell(line).error)
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_where_none_were_made_there_is_nothing_to_confirm(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --seed 2;")
    assert "Step 1 has no hidden inputs" in str(shell.cell("%pge confirm 1").error)
    assert "No hidden inputs of the evaluator's stand here" in shell.cell("%pge show hidden").view.plain()


def test_a_run_killed_after_any_section_comes_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Made(tmp_path, monkeypatch)
    (tmp_path / "broken").mkdir()
    config = HarnessConfig(model=MODEL, shared_state_path=tmp_path / "broken" / "shared_state.md", **whole.settings)
    with MessagesStub(scripted(withhold=hidden)) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        PGEHarness(config).start(PROMPT)
        while PGEHarness(config).result().outcome != "passed":
            sections = PGEHarness(config).records()
            next(sections)
            sections.close()
        assert len(stub.requests) == len(whole.requests)
    assert same(PGEHarness(config).state.read(), whole.run)
