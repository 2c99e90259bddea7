"""A run in one zip: whole, byte for byte, and gone on with elsewhere; or without what somebody else must not see."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import MODEL, PROMPT, scripted
from state_samples import ONE_OF_EACH

from pge_nb import records as r
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, StateDamaged
from pge_nb.exports import archive
from pge_nb.exports.bundle import bundle, called
from pge_nb.exports.redacted import Eraser, chosen, redaction_of
from pge_nb.harness import PGEHarness
from pge_nb.payloads import compact
from pge_nb.records import Redaction, attempt_hash
from pge_nb.run import Run
from pge_nb.state import StateFile, open_run
from pge_nb.workspace import Objects

RUN = "%pge run --practice textkit --seed 1"
DOCS = Path(__file__).parents[1] / "docs" / "state-file.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which textkit has passed, with a retry; to be copied, not changed."""
    place = tmp_path_factory.mktemp("made")
    from pge_nb.bank import practice_task

    config = HarnessConfig(model="practice:seed=1", shared_state_path=place / "shared_state.md")
    PGEHarness(config).run(practice_task("textkit").prompt)
    return place


@pytest.fixture
def there(made: Path, tmp_path: Path) -> Path:
    """A copy of it in the notebook's directory."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def held(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def files(place: Path) -> dict[str, bytes]:
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and not path.name.endswith(".lock")
    }


# Whole


def test_a_bundle_holds_the_state_file_byte_for_byte_what_it_names_and_the_log(shell: Shell, there: Path) -> None:
    stray = Objects(there).put(b"named by nothing")
    view = shell.cell("%pge export bundle").view
    inside = held(there / "exports" / "textkit.zip")
    assert inside["shared_state.md"] == (there / "shared_state.md").read_bytes()
    assert inside[".pge/calls.jsonl"] == (there / ".pge" / "calls.jsonl").read_bytes()
    objects = {path.name for path in (there / ".pge" / "objects").rglob("*") if path.is_file()} - {stray}
    assert {name.rpartition("/")[2] for name in inside if "/objects/" in name} == objects
    assert "%pge open textkit.zip" in inside["README.txt"].decode()
    assert "./exports/textkit.zip" in view.html()
    assert set(inside) - {f".pge/objects/{name[:2]}/{name}" for name in objects} == {
        "pge.json",
        "README.txt",
        "shared_state.md",
        ".pge/head",
        ".pge/calls.jsonl",
    }


def test_the_same_run_gives_the_same_bytes(shell: Shell, there: Path) -> None:
    shell.cell("%pge export bundle")
    before = (there / "exports" / "textkit.zip").read_bytes()
    shell.cell("%pge export bundle --to other/textkit.zip")
    assert (there / "other" / "textkit.zip").read_bytes() == before


def test_it_opens_in_another_directory_and_run_again_it_asks_nobody(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(made)
    content = bundle(run, made / "shared_state.md", frozenset(), "kit").content
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kit.zip").write_bytes(content)
    shell = Shell()
    opened = shell.cell("%pge open kit.zip").view
    assert opened.title == "kit: Text kit for a blog's newsletter"
    assert opened.mark == "passed"
    assert "kit.zip was laid out as kit/." in opened.plain()
    before = files(tmp_path / "kit")
    again = shell.cell(RUN.replace("run", "run kit")).view
    assert "nobody was asked, nothing was paid" in again.plain()
    assert {name: content for name, content in files(tmp_path / "kit").items() if name in before} == before
    assert (tmp_path / "kit" / "work" / "textkit.py").read_bytes() == (made / "work" / "textkit.py").read_bytes()
    assert shell.cell("%pge verify kit").view.mark == "intact"
    shell.close()


def test_a_run_with_a_model_goes_on_elsewhere_without_one(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MessagesStub(scripted()) as stub:
        for name, value in stub.environ.items():
            monkeypatch.setenv(name, value)
        shell.cell(f"%%pge run calc --model {MODEL}\n{PROMPT}")
        assert shell.cell("%pge export bundle calc").error is None
        asked = stub.tally.requests
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(tmp_path / "calc" / "exports" / "calc.zip", elsewhere)
        monkeypatch.chdir(elsewhere)
        other = Shell()
        other.cell("%pge open calc.zip")
        assert other.cell(f"%%pge run calc --model {MODEL}\n{PROMPT}").view.mark == "passed"
        assert other.cell("%pge model recording:calc/.pge/calls.jsonl").error is None
        assert other.cell(f"%%pge run replayed\n{PROMPT}").view.mark == "passed"
        assert stub.tally.requests == asked
        assert len(open_run(elsewhere / "replayed").calls) == asked
        other.close()


def test_opened_twice_the_same_is_fine_and_something_else_is_not(shell: Shell, there: Path) -> None:
    shell.cell("%pge export bundle")
    shell.cell("%pge open exports/textkit.zip")
    before = files(there / "textkit")
    assert "had been laid out already" in shell.cell("%pge open exports/textkit.zip").view.plain()
    (there / "textkit" / "shared_state.md").write_bytes(b"mine")
    told = shell.cell("%pge open exports/textkit.zip").text
    assert told.startswith("BadInput: textkit/ is here already, and holds something else than textkit.zip.\n")
    assert files(there / "textkit") == before | {"shared_state.md": b"mine"}


def test_an_earlier_run_and_a_named_one_are_bundled_under_their_names(shell: Shell, there: Path) -> None:
    shell.cell("%pge new;")
    assert shell.cell("%pge export bundle @1").error is None
    assert (there / "exports" / "1" / "textkit.zip").is_file()
    shell.cell("%pge run mine_2 --practice stats --seed 2;")
    assert shell.cell("%pge export bundle mine_2").error is None
    assert held(there / "mine_2" / "exports" / "mine_2.zip")["shared_state.md"]


def test_a_state_file_of_any_name_is_called_as_all_are_in_its_bundle(shell: Shell, there: Path) -> None:
    (there / "shared_state.md").rename(there / "kit.md")
    (there / ".pge" / "head").rename(there / ".pge" / "kit.head")
    shell.cell(f"{RUN} --state kit.md;")
    assert shell.cell("%pge export bundle --to x.zip").error is None
    assert held(there / "x.zip")["shared_state.md"] == (there / "kit.md").read_bytes()
    assert shell.cell("%pge open x.zip").view.mark == "passed"


def test_a_torn_tail_is_no_part_of_a_bundle(made: Path, there: Path) -> None:
    state = there / "shared_state.md"
    whole = state.read_bytes()
    state.write_bytes(whole + b"<!-- pge/1 seq=%d len=4" % len(open_run(made).sections))
    content = bundle(open_run(there), state, frozenset(), "x").content
    assert zipfile.ZipFile(io.BytesIO(content)).read("shared_state.md") == whole


def test_an_object_that_was_changed_is_told_before_anything_is_written(shell: Shell, there: Path) -> None:
    changed = next(path for path in (there / ".pge" / "objects").rglob("*") if path.is_file())
    changed.write_bytes(b"changed")
    assert "has been changed" in shell.cell("%pge export bundle").text
    assert not (there / "exports").exists()


def test_a_file_of_a_persons_own_is_never_overwritten(shell: Shell, there: Path) -> None:
    (there / "mine.zip").write_bytes(b"mine")
    assert "is not what an export wrote" in shell.cell("%pge export bundle --to mine.zip").text
    assert (there / "mine.zip").read_bytes() == b"mine"


def test_what_a_bundle_is_called_can_be_the_name_of_a_task() -> None:
    def titled(title: str, practice: str | None = None) -> Run:
        records = [
            r.Record(payload=r.Task(prompt="p", run="0123456789abcdef", settings={}, practice=practice), by="person"),
            r.Record(payload=r.Plan(title=title, scope="", steps=()), by="planner"),
        ]
        return Run(r.Section(record=one, seq=n, prev="", sha256="", at="", offset=0) for n, one in enumerate(records))

    assert called(titled("x"), "mine", redacted=True) == "mine-redacted"
    assert called(titled("x", "stats"), "", redacted=False) == "stats"
    assert called(titled("3 Slugs, from  TITLES/../ and more"), "", redacted=False) == "slugs-from-titles-and"
    assert called(titled("标题 到 别名"), "", redacted=False) == "标题-到-别名"
    assert called(titled("!!!"), "", redacted=False) == "run-01234567"


# Redacted

HOME = "/home/ann/secret project"
PATHS = {
    "see /data/ann/x.py, line 3": "see [removed: path], line 3",
    'File "/srv/My Docs/x.py", line 3': 'File "[removed: path]", line 3',
    "file:///srv/ann/x and sqlite:////var/db": "file:[removed: path] and sqlite:[removed: path]",
    "recording:/data/ann/calls.jsonl": "recording:[removed: path]",
    "PATH=/usr/bin:/srv/bin": "PATH=[removed: path]:[removed: path]",
    "~/notes/x or ~ann/y.": "[removed: path] or [removed: path].",
    r"C:\Users\ann\x.txt and D:/data": "[removed: path] and [removed: path]",
    r'{"p":"C:\\Users\\ann"}': '{"p":"[removed: path]"}',
    r"\\server\share\x": "[removed: path]",
    f"in {HOME}/a/b, that is": "in [removed: path], that is",
    "/root is home. See /tmp.": "[removed: path] is home. See [removed: path].",
    r"'out:\n/srv/ann/x'": r"'out:\n[removed: path]'",
    r"\/srv\/ann\/x": "[removed: path]",
    "路径 /数据/文件.csv 结束": "路径 [removed: path] 结束",
}
NO_PATHS = (
    "https://example.org/a/b?c=/d and 3/4, 12/31/2026, and/or",
    "</div> <br/> // a comment",
    "generator/generate/2/1/-/1/0#0:0f3a",
    "work/a/b ./a/b ../a/b a~b/c",
    r"(\d+)/(\d+) '\\bword\\b' a:\n b",
    "x = a / b / c",
)


@pytest.mark.parametrize(("text", "without"), PATHS.items())
def test_what_looks_like_a_path_is_taken_out_and_counted(text: str, without: str) -> None:
    eraser = Eraser({"paths"}, [], [HOME])
    assert eraser.text(text) == without
    assert eraser.removed["paths"] == without.count("[removed: path]")
    assert Eraser({"prompts", "calls"}, [], [HOME]).text(text) == text


@pytest.mark.parametrize("text", NO_PATHS)
def test_what_only_holds_a_slash_stays(text: str) -> None:
    assert Eraser({"paths"}, [], [HOME]).text(text) == text


def test_hostile_text_takes_no_time_to_look_through() -> None:
    eraser = Eraser({"paths"}, [], [HOME])
    for part in ('"/a', "/a/", "~a/", "C:", "\\\\", "\\/a", "/" * 9, '"/a/b' + "x" * 50):
        eraser.text(part * 20_000)


def secretive(place: Path) -> Path:
    """A run that names paths and its prompt wherever a run can, in objects and in its log too."""
    prompt = "Write a module for the payroll of Ann's bakery.\nUse /data/ann/wages.csv."
    objects = Objects(place)
    code = objects.file("pay.py", f"# {prompt.splitlines()[0]}\nopen('/data/ann/wages.csv')\n".encode())
    plain, binary = objects.file("plain.py", b"x = 1\n"), objects.file("b.bin", b"\xff/data/ann/x")
    trace = objects.body("Traceback in /data/ann/pay.py\n" * 400)
    assert trace.sha256
    state = StateFile(place / "shared_state.md")
    settings = {
        "models": {"planner": "m", "generator": "m", "evaluator": "m"},
        "recording": "recording:/data/a/c.jsonl",
    }
    made = r.Attempt(
        approach="first",
        why="",
        base=None,
        files=(binary, code, plain),
        hash=attempt_hash((binary, code, plain)),
        log=r.text_body(f"I was asked: {prompt}"),
        refused=(r.Refusal(path="/etc/passwd", reason="no"),),
    )
    report = r.EvaluationReport(
        rater="r",
        attempt_hash=made.hash,
        verdict="fail",
        overall=None,
        findings=(r.Finding(on="c1", about="check", verdict="fail", why="see /data/ann/pay.py", by="command"),),
        evidence=(r.Evidence(id="e1", method="command", on="c1", says="ran", body=trace),),
    )
    state.append(
        r.Record(payload=r.Task(prompt=prompt, run="0123456789abcdef", settings=settings), by="person"),
        r.Record(payload=r.Plan(title="Payroll", scope="", steps=(r.Step(number=1, description="d"),)), by="planner"),
        *(replace(one, payload=made) if one.kind == "attempt" else one for one in ONE_OF_EACH if one.kind == "attempt"),
        r.Record(payload=report, by="evaluator", step=1, attempt=2, purpose="gate"),
        r.Record(payload=r.Note(text=f"/data/ann/x held something else; that is {plain.sha256}."), by="harness"),
        r.Record(payload=r.Answer(choice="retry", text="Mind the 13th salary."), by="person", step=1),
    )
    log = [
        {"line": "opening", "format": "pge-calls/1", "header": {"settings": {"x": "/data/ann/s"}}},
        {"line": "reserved", "n": 1, "key": "k", "model": "m", "tokens": 1, "dollars": None, "at": "t"},
        {
            "line": "settled",
            "n": 1,
            "key": "planner/plan/-/-/-/1/0#0:0f",
            "role": "planner",
            "address": "planner/plan/-/-/-/1/0",
            "sample": 0,
            "request": {"messages": [{"role": "user", "content": prompt}]},
            "content": [{"type": "text", "text": f"You said: {prompt} I read /data/ann/wages.csv"}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1},
            "dollars": None,
            "seconds": 1.0,
            "source": "live",
            "at": "t",
        },
        {
            "line": "observed",
            "key": "o",
            "address": "a",
            "method": "m",
            "args": ["/data/ann/a"],
            "tree": "t",
            "seen": {"/data/ann/b": 1},
            "at": "t",
        },
    ]
    (place / ".pge" / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log), encoding="utf-8")
    return state.path


def redacted_copy(state: Path, hide: str, to: Path) -> Run:
    """The run that a bundle of it holds, laid out."""
    content = bundle(open_run(state), state, chosen(hide), "x").content
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        packed.extractall(to)
    return open_run(to)


def test_hidden_paths_are_nowhere_in_it_and_every_name_still_fits(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    state = secretive(tmp_path / "a")
    run = redacted_copy(state, "paths", tmp_path / "b")
    left = {name for name, content in files(tmp_path / "b").items() if b"/data/ann" in content}
    [binary] = [file for file in run.attempts(1)[2].files if file.path == "b.bin"]
    assert left == {f".pge/objects/{binary.sha256[:2]}/{binary.sha256}"}, "what is no text is told, not changed"
    objects = Objects(tmp_path / "b")
    for file in run.attempts(1)[2].files:
        assert len(objects.get(file.sha256)) == file.size
    report = run.evaluation(1, 2)
    assert report
    assert run.attempts(1)[2].hash == attempt_hash(run.attempts(1)[2].files) == report.attempt_hash
    whole = objects.whole(report.evidence[0].body)
    assert whole == "Traceback in [removed: path]\n" * 400
    assert whole.startswith(report.evidence[0].body.text)
    assert report.evidence[0].body.size == len(whole)
    assert objects.get(re.findall(r"[0-9a-f]{64}", compact(run.of("note")[0].payload))[0]) == b"x = 1\n"
    assert run.task.prompt.startswith("Write a module for the payroll of Ann's bakery.\nUse [removed: path].")


def test_hidden_prompts_are_nowhere_in_it_nor_is_a_copy_of_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    run = redacted_copy(secretive(tmp_path / "a"), "prompts", tmp_path / "b")
    for name, content in files(tmp_path / "b").items():
        assert b"payroll of Ann" not in content, name
        assert b"13th salary" not in content, name
    assert run.task.prompt == "[removed: prompt]"
    assert run.task.settings["recording"] == "recording:/data/a/c.jsonl", "only what was named is hidden"
    lines = [json.loads(line) for line in (tmp_path / "b" / ".pge" / "calls.jsonl").read_text().splitlines()]
    assert lines[2]["request"] == {"removed": "[removed: prompt]"}
    assert lines[2]["content"][0]["text"] == "You said: [removed: prompt] I read /data/ann/wages.csv"
    assert [line["line"] for line in lines] == ["opening", "reserved", "settled", "observed"]


def test_what_was_taken_out_is_counted_in_the_view_and_in_the_file(shell: Shell, tmp_path: Path) -> None:
    secretive(tmp_path)
    whole = open_run(tmp_path)
    view = shell.cell("%pge export bundle --hide prompts,paths,calls").view
    assert view.df is not None
    place = tmp_path / "exports" / "payroll-redacted.zip"
    inside = held(place)
    assert ".pge/calls.jsonl" not in inside
    text = b"".join(content for name, content in inside.items() if not name.endswith(".json")).decode(
        "utf-8", "replace"
    )
    shell.cell("%pge open exports/payroll-redacted.zip")
    run = open_run(tmp_path / "payroll-redacted")
    [section] = run.of("redaction")
    told = section.payload
    assert isinstance(told, Redaction)
    assert section.seq == 0
    assert (told.of, told.sections) == (whole.head, len(whole.sections))
    assert told.removed["calls"] == 2, "one call and one observation"
    # An object's beginning stands in its section as well, and every payload twice: for people, and as JSON.
    assert 0 < told.removed["prompts"] <= text.count("[removed: prompt]")
    assert 400 < told.removed["paths"] <= text.count("[removed: path]")
    for what in ("prompts", "paths", "calls"):
        assert re.search(rf"{what} +{told.removed[what]}\n", view.plain())
    assert "1 file is no text and in it as they were" in view.plain()
    assert "read it before you hand it on" in view.plain()


def test_verify_says_of_what_it_is_an_export_and_not_that_it_was_edited(shell: Shell, there: Path) -> None:
    head = open_run(there).head
    shell.cell("%pge export bundle --hide prompts,paths")
    opened = shell.cell("%pge open exports/textkit-redacted.zip").view
    assert f"Redacted export of head {head[:12]}. Taken out: paths (" in opened.plain()
    for line in ("textkit-redacted", "textkit-redacted/shared_state.md", "textkit-redacted/"):
        view = shell.cell(f"%pge verify {line}").view
        assert view.mark == "intact"
        assert f"redacted export of head {head[:12]}" in view.plain()
        assert "prompts (" in view.plain()
        assert "paths (" in view.plain()
        assert "edited" not in view.plain()
    assert "redacted" not in shell.cell("%pge verify").view.plain()


def changed(state: bytes) -> bytes:
    return state.replace(b'"verdict":"fail"', b'"verdict":"pass"', 1)


def without_last_section(state: bytes) -> bytes:
    return state[: state.rindex(b"<!-- pge/1 ")]


@pytest.mark.parametrize("edit", [changed, without_last_section])
@pytest.mark.parametrize("with_head", [True, False])
def test_a_redacted_export_that_was_edited_is_told_as_edited(
    shell: Shell, there: Path, edit: object, with_head: bool
) -> None:
    shell.cell("%pge export bundle --hide prompts")
    shell.cell("%pge open exports/textkit-redacted.zip;")
    state = there / "textkit-redacted" / "shared_state.md"
    state.write_bytes(edit(state.read_bytes()))  # type: ignore[operator]
    if not with_head:
        (state.parent / ".pge" / "head").unlink()
    view = shell.cell("%pge verify textkit-redacted").view
    assert view.mark == "broken"
    assert "redacted export of head" in view.plain()
    assert "It was edited after it was exported." in view.plain()


def test_what_says_that_it_is_redacted_cannot_be_taken_off(there: Path) -> None:
    state = there / "r" / "shared_state.md"
    redacted_copy(there / "shared_state.md", "prompts", state.parent)
    data = state.read_bytes()
    state.write_bytes(data[data.index(b"<!-- pge/1 seq=1 ") :])
    (state.parent / ".pge" / "head").unlink()
    assert not StateFile(state).verify().intact


def test_a_reader_that_knows_only_the_format_reads_it(there: Path) -> None:
    code = (
        DOCS.read_text(encoding="utf-8")
        .split("## Verify it without us", 1)[1]
        .split("```python\n", 1)[1]
        .split("```", 1)[0]
    )
    run = redacted_copy(there / "shared_state.md", "prompts,paths,calls", there / "r")
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, there / "r" / "shared_state.md"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("0 redaction ")
    assert lines[-1] == f"head {run.head}"
    assert len(lines) == len(open_run(there).sections) + 2


def test_everything_else_in_a_redacted_export_is_as_it_was(there: Path) -> None:
    whole, run = open_run(there), redacted_copy(there / "shared_state.md", "prompts,calls", there / "r")
    kept = [
        (left.record, right.record)
        for left, right in zip(whole.sections, run.sections[1:], strict=True)
        if left.record != right.record
    ]
    assert [left.kind for left, _ in kept] == ["task"]
    assert [section.at for section in run.sections[1:]] == [section.at for section in whole.sections]


def test_a_redacted_run_that_has_not_ended_is_looked_at_and_not_gone_on_with(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.cell(f"{RUN} --max-tokens-total 20000;")
    shell.cell("%pge export bundle --hide calls")
    shell.cell("%pge open exports/textkit-redacted.zip")
    assert shell.cell("%pge textkit-redacted").view.mark == "stopped"
    before = files(tmp_path / "textkit-redacted")
    told = shell.cell("%pge resume --max-tokens-total 9000000").text
    assert told.startswith("BadInput: This is a redacted export")
    again = files(tmp_path / "textkit-redacted")
    assert ".pge/calls.jsonl" not in again
    assert again[".pge/head"] != before[".pge/head"], "only the raised limit was written down"


def test_the_pages_of_a_redacted_run_are_drawn(shell: Shell, there: Path) -> None:
    shell.cell("%pge export bundle --hide prompts,paths,calls")
    shell.cell("%pge open exports/textkit-redacted.zip")
    shell.cell("%pge textkit-redacted")
    for what in ("plan", "contract", "evaluations", "trajectory", "decisions", "cost"):
        assert "Redacted export of head" in shell.cell(f"%pge show {what}").view.plain(), what
    assert shell.cell("%pge files").error is None
    assert shell.cell("%pge export csv").error is None


@pytest.mark.parametrize(("hide", "near"), [("prompt", "prompts"), ("paths,call", "calls"), ("PATHS", "paths")])
def test_what_cannot_be_hidden_names_the_nearest(hide: str, near: str) -> None:
    with pytest.raises(BadInput, match=f"Did you mean {near}"):
        chosen(hide)
    assert chosen("paths, calls") == {"paths", "calls"}


def test_only_a_bundle_hides(shell: Shell, there: Path) -> None:
    assert "%pge export bundle --hide paths" in shell.cell("%pge export csv --hide paths").text
    assert not (there / "exports").exists()


def test_a_damaged_log_is_told_with_what_leaves_it_out(there: Path) -> None:
    (there / ".pge" / "calls.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(StateDamaged, match="--hide calls leaves the whole log out"):
        bundle(open_run(there), there / "shared_state.md", chosen("prompts"), "x")


def test_another_file_says_nothing_of_being_redacted(made: Path, tmp_path: Path) -> None:
    assert redaction_of(made / "shared_state.md") is None
    (tmp_path / "x.md").write_bytes(b"")
    assert redaction_of(tmp_path / "x.md") is None


# Zips of strangers


def a_zip(path: Path, *entries: tuple[str, bytes], manifest: object = None, kind: int = stat.S_IFREG) -> Path:
    told = {"format": "pge-bundle/1", "name": "x"} if manifest is None else manifest
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("pge.json", json.dumps(told))
        for name, content in entries:
            info = zipfile.ZipInfo("x" * len(name))
            info.filename, info.external_attr, info.compress_type = name, (kind | 0o644) << 16, zipfile.ZIP_DEFLATED
            packed.writestr(info, content)
    return path


NAMES = (
    "../evil.txt",
    "/tmp/evil.txt",
    "a/../../evil.txt",
    "a/./b",
    "a//b",
    "a\\b",
    "C:/evil.txt",
    "a/con.txt",
    "a/.git/config",
    "a/.pge/.pge/x",
    "~/x",
    "a\nb",
    "a/\u202eb",
    "a/b ",
    "/".join("a" * 30),
    "a/" + "b" * 300,
)


@pytest.fixture
def opened(shell: Shell) -> Iterator[object]:
    """Opens x.zip and gives what was said; nothing may have changed but for what is looked at."""

    def opens(place: Path) -> str:
        before = files(place)
        done = shell.cell("%pge open x.zip")
        assert isinstance(done.error, BadInput), done.text
        assert len(done.text.strip().split("\n")) == 2, done.text
        assert files(place) == before
        assert not list(place.glob(".pge-*"))
        return done.text

    return opens  # type: ignore[return-value]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_could_lead_elsewhere_is_refused(opened: object, tmp_path: Path, name: str) -> None:
    for kind in ("pge-bundle/1", "pge-saved/1"):
        a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"), (name, b"evil"), manifest={"format": kind})
        assert ", and it" in opened(tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK, stat.S_IFDIR])
def test_what_is_no_plain_file_is_refused(opened: object, tmp_path: Path, kind: int) -> None:
    a_zip(tmp_path / "x.zip", ("shared_state.md", b"/etc/passwd"), kind=kind)
    assert "a link or no plain file" in opened(tmp_path)  # type: ignore[operator]


def test_a_name_that_stands_there_twice_is_refused(opened: object, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"), ("shared_state.md", b"y"))
    assert "it stands there twice" in opened(tmp_path)  # type: ignore[operator]
    a_zip(tmp_path / "x.zip", ("a", b"x"), ("a/b", b"y"))
    assert "it stands there twice" in opened(tmp_path)  # type: ignore[operator]


def test_a_zip_of_something_else_is_told_so(opened: object, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.writestr("a.txt", "x")
    assert "no run is in it" in opened(tmp_path)  # type: ignore[operator]
    a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"), manifest=["no", "object"])
    assert "no run is in it" in opened(tmp_path)  # type: ignore[operator]
    a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"), manifest={"format": "pge-bundle/2"})
    assert "Install a newer pge_nb" in opened(tmp_path)  # type: ignore[operator]
    a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"), ("other.md", b"y"))
    assert "belongs to no bundle" in opened(tmp_path)  # type: ignore[operator]
    a_zip(tmp_path / "x.zip", (".pge/head", b"x"))
    assert "holds no shared_state.md" in opened(tmp_path)  # type: ignore[operator]


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_zip_is_told_so(opened: object, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    opened(tmp_path)  # type: ignore[operator]


def test_a_zip_that_is_cut_anywhere_or_has_a_changed_byte_lays_nothing_out(made: Path, tmp_path: Path) -> None:
    whole = bundle(open_run(made), made / "shared_state.md", frozenset(), "x").content
    place = tmp_path / "x.zip"
    from pge_nb.exports.bundle import lay_out

    for cut in range(0, len(whole), len(whole) // 40):
        place.write_bytes(whole[:cut])
        with pytest.raises(BadInput):
            lay_out(archive.look(place), tmp_path / "x")
    for at in range(7, len(whole), len(whole) // 60):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            lay_out(archive.look(place), tmp_path / "x")
        except BadInput:
            assert not (tmp_path / "x").exists()
        else:  # a byte that tells nothing, such as a date
            assert files(tmp_path / "x")["shared_state.md"] == (made / "shared_state.md").read_bytes()
            shutil.rmtree(tmp_path / "x")
        assert [path.name for path in tmp_path.iterdir()] == ["x.zip"]


def test_a_bundle_whose_run_was_edited_is_not_laid_out(opened: object, made: Path, tmp_path: Path) -> None:
    state = (made / "shared_state.md").read_bytes()
    a_zip(tmp_path / "x.zip", ("shared_state.md", changed(state)))
    assert "was changed" in opened(tmp_path)  # type: ignore[operator]
    name = hashlib.sha256(b"x").hexdigest()
    a_zip(tmp_path / "x.zip", ("shared_state.md", state), (f".pge/objects/{name[:2]}/{name}", b"y"))
    assert "was changed" in opened(tmp_path)  # type: ignore[operator]


def test_a_zip_that_unpacks_to_too_much_is_refused_by_what_it_says_and_by_what_it_does(
    opened: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1_000_000)
    a_zip(tmp_path / "x.zip", ("shared_state.md", b"0" * 2_000_000))
    assert "more than is unpacked here" in opened(tmp_path)  # type: ignore[operator]
    with pytest.raises(BadInput, match="more than is unpacked here"):
        archive.look(tmp_path / "x.zip")
    # It says that it is small: only so much is ever read.
    place = a_zip(tmp_path / "x.zip", ("shared_state.md", b"0" * 2_000_000))
    place.write_bytes(place.read_bytes().replace(struct.pack("<L", 2_000_000), struct.pack("<L", 10)))
    opened(tmp_path)  # type: ignore[operator]
    monkeypatch.setattr(archive, "MAX_ENTRIES", 3)
    a_zip(tmp_path / "x.zip", *((f"{n}.md", b"") for n in range(4)))
    assert "more than is unpacked here" in opened(tmp_path)  # type: ignore[operator]


def test_an_encrypted_zip_is_told_so(opened: object, tmp_path: Path) -> None:
    place = a_zip(tmp_path / "x.zip", ("shared_state.md", b"x"))
    data = bytearray(place.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    place.write_bytes(bytes(data))
    assert "is encrypted" in opened(tmp_path)  # type: ignore[operator]


def test_the_stem_of_the_zip_becomes_a_name_that_a_task_can_have(shell: Shell, there: Path) -> None:
    shell.cell("%pge export bundle")
    for stem, name in (
        ("textkit (1)", "textkit-1"),
        ("2026 run", "run-2026-run"),
        ("mein täglicher lauf", "mein-täglicher-lauf"),
    ):
        shutil.copy(there / "exports" / "textkit.zip", there / f"{stem}.zip")
        assert shell.cell(f"%pge open '{stem}.zip'").view.title.startswith(f"{name}: ")
        assert shell.cell(f"%pge {name}").view.mark == "passed"
    shutil.copy(there / "exports" / "textkit.zip", there / "work.zip")
    assert "cannot be the name of a task" in shell.cell("%pge open work.zip").text


def test_what_is_gone_from_the_objects_is_told_wherever_a_run_is_taken_along(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    assert shell.cell("%pge verify").view.mark == "intact"
    assert "Incomplete" not in shell.cell("%pge save").view.plain()
    shutil.rmtree(tmp_path / ".pge" / "objects")
    assert shell.cell("%pge verify").view.mark == "incomplete"
    for line in ("%pge verify", "%pge save", "%pge export bundle"):
        assert "gone from .pge/objects/" in shell.cell(line).view.plain(), line


@pytest.mark.parametrize("hide", ["''", "' , '"])
def test_a_flag_that_hides_nothing_hands_nothing_out(shell: Shell, tmp_path: Path, hide: str) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    assert "--hide names nothing" in shell.cell(f"%pge export bundle --hide {hide}").text
    assert not list(tmp_path.rglob("exports/*.zip"))
    assert "--in names nothing" in shell.cell("%pge run two --practice stats --in ''").text
