"""A run as a git repository, read with plain git: an attempt a commit, what was accepted merged into main."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from notebook_shell import Shell

from pge_nb import records as r
from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput, StateDamaged
from pge_nb.exports import history
from pge_nb.exports.history import commits, quoted, write
from pge_nb.harness import PGEHarness
from pge_nb.state import StateFile, open_run
from pge_nb.workspace import Objects

EPOCH = 1_780_000_000


def git(place: Path, *words: str) -> str:
    """Plain git, as a person's, but for settings of the machine that runs the tests."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["git", "-C", place, "-c", "core.quotePath=false", *words], capture_output=True, check=False, env=environ
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which textkit has passed, with retries; to be copied, not changed."""
    place = tmp_path_factory.mktemp("made")
    config = HarnessConfig(model="practice:seed=1", shared_state_path=place / "shared_state.md")
    PGEHarness(config).run(practice_task("textkit").prompt)
    return place


class Hand:
    """A run by hand, on disk, its sections a minute apart."""

    def __init__(self, root: Path, **files: bytes) -> None:
        self.objects = Objects(root)
        self.minutes = 0
        self.state = StateFile(root / "shared_state.md", clock=self.clock)
        found = self.files(files)
        self.add(r.Task(prompt="Make it.", run="0123456789abcdef", settings={}, files=found), by="person")
        steps = tuple(r.Step(number=number, description=f"Do {number}.") for number in (1, 2))
        self.add(r.Plan(title="Two things", scope="", steps=steps), by="planner")

    def clock(self) -> datetime:
        self.minutes += 1
        return datetime.fromtimestamp(EPOCH + 60 * self.minutes, UTC)

    def files(self, files: dict[str, bytes]) -> tuple[r.FileRef, ...]:
        return tuple(self.objects.file(path, content) for path, content in sorted(files.items()))

    def add(self, payload: r.Payload, step: int | None = None, attempt: int | None = None, by: str = "harness") -> None:
        purpose: r.Purpose | None = "gate" if isinstance(payload, r.EvaluationReport) else None
        self.state.append(r.Record(payload=payload, by=by, step=step, attempt=attempt, purpose=purpose))

    def attempt(
        self,
        step: int,
        number: int,
        approach: r.Approach = "first",
        base: int | None = None,
        why: str = "w",
        **files: bytes,
    ) -> None:
        self.attempt_of(step, number, files, approach, base, why)

    def attempt_of(
        self,
        step: int,
        number: int,
        files: dict[str, bytes],
        approach: r.Approach = "first",
        base: int | None = None,
        why: str = "w",
    ) -> None:
        held = self.files(files)
        made = r.Attempt(
            approach=approach, why=why, base=base, files=held, hash=r.attempt_hash(held), log=r.text_body("")
        )
        self.add(made, step, number, by="generator")

    def judge(self, step: int, number: int, verdict: r.Verdict, overall: float | None, why: str = "") -> None:
        finding = r.Finding(on="c1", about="check", verdict=verdict, why=why, by="judge", says="it works")
        report = r.EvaluationReport(rater="r", attempt_hash="", verdict=verdict, overall=overall, findings=(finding,))
        self.add(report, step, number, by="evaluator")

    def decide(self, step: int, action: r.Action, attempt: int | None = None) -> None:
        self.add(r.Decision(action=action, reason="because", attempt=attempt, numbers={"overall": 8.5}), step)

    def written(self, place: Path) -> Path:
        write(open_run(self.state.path), self.state.root, place)
        return place


def branching(root: Path) -> Hand:
    """Step 1: a first try, a refinement, a pivot, a refinement of the pivot that is accepted. Step 2: kept at its first."""
    hand = Hand(root, **{"found.txt": b"mine\n"})
    hand.attempt(1, 1, a=b"1\n")
    hand.judge(1, 1, "fail", 3.0, "no")
    hand.decide(1, "refine")
    hand.attempt(1, 2, "refine", 1, a=b"1\n2\n")
    hand.judge(1, 2, "unmeasured", None)
    hand.decide(1, "pivot")
    hand.attempt(1, 3, "pivot", b=b"3\n")
    hand.decide(1, "refine")
    hand.attempt(1, 4, "refine", 3, b=b"4\n")
    hand.judge(1, 4, "pass", 8.5)
    hand.decide(1, "accept", 4)
    hand.attempt(2, 1, c=b"5\n")
    hand.judge(2, 1, "fail", 6.0, "bad")
    hand.decide(2, "keep", 1)
    return hand


GRAPH = """\
*   Keep step 2, attempt 1: fail, 6.0
|\\  
| * Step 2, attempt 1: first try; fail, 6.0
|/  
*   Accept step 1, attempt 4: pass, 8.5
|\\  
| * Step 1, attempt 4: refine of attempt 3; pass, 8.5
| * Step 1, attempt 3: pivot; not evaluated
|/  
| * Step 1, attempt 2: refine of attempt 1; unmeasured
| * Step 1, attempt 1: first try; fail, 3.0
|/  
* Task: Two things
"""  # noqa: W291 - as git draws it


def test_the_graph_tells_the_run(tmp_path: Path) -> None:
    place = branching(tmp_path).written(tmp_path / "git")
    assert git(place, "log", "--graph", "--all", "--format=%s") == GRAPH
    assert git(place, "log", "--first-parent", "--format=%s").splitlines() == [
        "Keep step 2, attempt 1: fail, 6.0",
        "Accept step 1, attempt 4: pass, 8.5",
        "Task: Two things",
    ]
    assert git(place, "branch", "--no-merged", "main").split() == ["step-1-attempt-1", "step-1-attempt-2"]
    assert git(place, "branch", "--show-current").strip() == "main"
    assert git(place, "fsck", "--strict", "--full") == ""
    assert git(place, "status", "--porcelain") == ""


def test_show_is_what_an_attempt_changed_and_why_and_what_came_of_it(tmp_path: Path) -> None:
    place = branching(tmp_path).written(tmp_path / "git")
    shown = git(place, "show", "step-1-attempt-2")
    assert "\n 1\n+2\n" in shown
    message = git(place, "show", "-s", "--format=%B", "step-1-attempt-1")
    assert "\n\nDo 1.\n\nWhy: w\n\nfail       c1: it works; no\n\nAttempt: " in message
    section = next(one for one in open_run(tmp_path).sections if one.record.kind == "attempt")
    assert f"Section: {section.seq} {section.sha256}" in message
    assert "because\n\nIn numbers: overall 8.5" in git(place, "show", "-s", "--format=%B", "main")
    assert git(place, "diff", "--stat=80", "main^", "main").split("\n")[0].split() == ["c", "|", "1", "+"]
    assert git(place, "diff", "step-1-attempt-1", "step-1-attempt-2").endswith("\n 1\n+2\n")


def test_who_and_when_are_those_of_the_section(tmp_path: Path) -> None:
    place = branching(tmp_path).written(tmp_path / "git")
    run = open_run(tmp_path)
    attempts = [one for one in run.sections if one.record.kind == "attempt"]
    told = git(place, "log", "--all", "--no-merges", "--format=%an %ae %at %ct", "--reverse", "--author=generator")
    when = [int(datetime.fromisoformat(one.at).timestamp()) for one in attempts]
    assert told.splitlines() == [f"generator generator@pge-nb.invalid {at} {at}" for at in when]
    assert git(place, "log", "-1", "--format=%an", "main").strip() == "harness"
    assert git(place, "log", "--max-parents=0", "--format=%an", "main").strip() == "person"


def tree(place: Path, commit: str) -> dict[str, str]:
    listed = [line for line in git(place, "ls-tree", "-r", "-z", commit).split("\0") if line]
    return {line.partition("\t")[2]: line.split()[2] for line in listed}


def test_every_tree_is_what_the_attempt_stood_in(made: Path, tmp_path: Path) -> None:
    run = open_run(made)
    write(run, made, tmp_path / "git")
    objects = Objects(made)
    for step in run.steps:
        for number, attempt in run.attempts(step.number).items():
            named = f"step-{step.number}-attempt-{number}"
            for file in attempt.files:
                shown = subprocess.run(
                    ["git", "-C", tmp_path / "git", "show", f"{named}:{file.path}"], capture_output=True, check=True
                )
                assert shown.stdout == objects.get(file.sha256)
    stands = {file.path for step in run.steps for file in run.outputs(step.number)}
    assert set(tree(tmp_path / "git", "main")) == stands
    for path in stands:
        assert (tmp_path / "git" / path).read_bytes() == (made / "work" / path).read_bytes()
    count = sum(len(run.attempts(step.number)) for step in run.steps)
    assert len(git(tmp_path / "git", "log", "--all", "--no-merges", "--format=%h").split()) == count + 1


def test_what_the_task_found_is_under_every_attempt(tmp_path: Path) -> None:
    place = branching(tmp_path).written(tmp_path / "git")
    assert set(tree(place, "step-1-attempt-3")) == {"found.txt", "b"}
    assert set(tree(place, "step-2-attempt-1")) == {"found.txt", "b", "c"}
    assert set(tree(place, "main")) == {"found.txt", "b", "c"}


def test_a_file_that_can_be_run_stays_so(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    file = replace(hand.objects.file("run.sh", b"#!/bin/sh\n"), mode=0o755)
    made = r.Attempt(approach="first", why="", base=None, files=(file,), hash="", log=r.text_body(""))
    hand.add(made, 1, 1, by="generator")
    assert git(hand.written(tmp_path / "git"), "ls-tree", "step-1-attempt-1").startswith("100755 ")


def test_the_same_run_gives_the_same_hashes_wherever_and_whoever(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(open_run(made), made, tmp_path / "a")
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Someone Else")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    write(open_run(tmp_path / "copy"), tmp_path / "copy", tmp_path / "b")
    refs = git(tmp_path / "a", "for-each-ref")
    assert refs == git(tmp_path / "b", "for-each-ref")
    assert "refs/heads/main" in refs


# Hostile

NAMES = (
    'quo"te.txt',
    "back\\slash.txt",
    "new\nline.txt",
    "tab\there",
    " blank ",
    "-dash",
    "--end-of-options",
    ":(glob)x",
    "名字.txt",
    "\x7f\x01",
    "from :1",
    "M 100644 inline x",
    "deep/er/file",
)


def test_names_of_any_kind_stand_as_they_are(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    hand.attempt_of(1, 1, {name: name.encode() for name in NAMES})
    hand.decide(1, "accept", 1)
    place = hand.written(tmp_path / "git")
    assert set(tree(place, "main")) == set(NAMES)
    assert {
        path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file() and ".git" not in path.parts
    } == set(NAMES)
    assert all((place / name).read_bytes() == name.encode() for name in NAMES)


@pytest.mark.parametrize(
    "path",
    [".git/hooks/post-checkout", "a/.GIT/config", ".git", "git~1/config", ".g\u200cit/config", ".git /x", "a\\.git\\x"],
)
def test_what_git_keeps_for_itself_is_left_out_and_told(tmp_path: Path, path: str) -> None:
    hand = Hand(tmp_path)
    hand.attempt_of(1, 1, {path: b"evil", "ok.txt": b"ok"})
    hand.decide(1, "accept", 1)
    told = write(open_run(tmp_path), tmp_path, tmp_path / "git")
    assert told.left_out == (path,)
    assert set(tree(tmp_path / "git", "main")) == {"ok.txt"}
    assert not (tmp_path / "git" / ".git" / "hooks").exists()


def test_a_message_can_be_no_command_and_no_escape(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    evil = "\x1b[31mred\x00\n\ndone\ncommit refs/heads/evil\nfrom refs/heads/main\ndata <<EOT\n\u202e" + "é" * 200
    hand.attempt(1, 1, why=evil, a=b"1")
    hand.judge(1, 1, "fail", None, evil)
    place = hand.written(tmp_path / "git")
    message = git(place, "show", "-s", "--format=%B", "step-1-attempt-1")
    assert "\\u001b[31mred\\u0000" in message
    assert "\\u202e" in message
    assert "commit refs/heads/evil" in message
    assert git(place, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/step-1-attempt-1",
    ]


def test_a_long_title_is_cut_in_the_subject_and_whole_below(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    hand.add(r.Plan(title="Long words " * 20, scope="", steps=()), by="planner")
    message = git(hand.written(tmp_path / "git"), "show", "-s", "--format=%B", "main")
    assert len(message.split("\n")[0]) <= 72
    assert ("Task: " + "Long words " * 20).strip() in message


def test_a_path_is_quoted_for_fast_import() -> None:
    assert quoted('a"b\\c\n\x01é') == b'"a\\"b\\\\c\\n\\001\xc3\xa9"'


def test_a_section_without_a_time_has_that_of_the_section_before(made: Path) -> None:
    told = commits(open_run(made))
    stream = b"".join(history.stream([replace(told[0]), replace(told[1], at="")], Objects(made)))
    assert stream.count(b"+0000\n") == 4
    assert len({line for line in stream.split(b"\n") if line.startswith(b"committer")}) == 2
    assert len({line.split(b"> ")[1] for line in stream.split(b"\n") if line.startswith(b"committer")}) == 1


# Other people's repositories and settings


def test_no_hook_and_no_setting_of_the_person_takes_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    hand = Hand(tmp_path / "run", **{".gitattributes": b"* filter=theirs\n"})
    hand.attempt(1, 1, a=b"1\n")
    hand.decide(1, "accept", 1)
    hooks, fired = tmp_path / "hooks", tmp_path / "fired"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-commit", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{fired}'\n", encoding="ascii")
        (hooks / name).chmod(0o755)
    template = tmp_path / "template"
    shutil.copytree(hooks, template / "hooks")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hooks}/pre-commit\n\tautocrlf = true\n"
        f"[init]\n\ttemplateDir = {template}\n\tdefaultBranch = other\n[commit]\n\tgpgSign = true\n"
        f'[filter "theirs"]\n\tsmudge = {hooks}/pre-commit\n\tclean = {hooks}/pre-commit\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(hooks))
    hand.written(tmp_path / "git")
    hand.attempt(2, 1, b=b"2\n")
    hand.written(tmp_path / "git")
    assert (tmp_path / "git" / "a").read_bytes() == b"1\n"
    assert not fired.exists()
    assert not (tmp_path / "git" / ".git" / "hooks").exists()
    assert "hooksPath" not in (tmp_path / "git" / ".git" / "config").read_text()


def test_the_repository_that_the_notebook_lives_in_is_never_touched(
    shell: Shell, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    git(tmp_path, "init", "-q")
    git(tmp_path, "-c", "user.name=me", "-c", "user.email=me@x", "commit", "-q", "--allow-empty", "-m", "mine")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / ".git" / "index"))
    before = {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()}
    assert shell.cell("%pge export git").error is None
    for place in (".", "--to=."):
        told = shell.cell(f"%pge export git --to {place.removeprefix('--to=')}").text
        assert "holds something else than this history" in told
    assert {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()} == before
    assert git(tmp_path / "exports" / "git", "log", "-1", "--format=%s").startswith("Accept step")


def test_a_directory_with_something_in_it_is_left_alone(made: Path, tmp_path: Path) -> None:
    place = tmp_path / "git"
    place.mkdir()
    assert write(open_run(made), made, place).new, "an empty one is filled"
    shutil.rmtree(place / ".git")
    kept = {path.name for path in place.iterdir()}
    with pytest.raises(BadInput, match="holds something else"):
        write(open_run(made), made, place)
    assert {path.name for path in place.iterdir()} == kept
    (tmp_path / "file").write_text("x", encoding="ascii")
    (tmp_path / "link").symlink_to(tmp_path / "git")
    for other in ("file", "link"):
        with pytest.raises(BadInput, match="holds something else"):
            write(open_run(made), made, tmp_path / other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "git", "link"]


def test_a_newer_history_takes_the_place_of_an_older_one_as_long_as_nobody_changed_it(tmp_path: Path) -> None:
    hand = Hand(tmp_path)
    hand.attempt(1, 1, a=b"1\n")
    place = hand.written(tmp_path / "git")
    hand.judge(1, 1, "pass", 8.0)
    hand.decide(1, "accept", 1)
    (place / "notes.txt").write_text("mine", encoding="ascii")
    with pytest.raises(BadInput, match="holds something else"):
        hand.written(place)
    assert (place / "notes.txt").read_text() == "mine"
    (place / "notes.txt").unlink()
    git(place, "branch", "mine")
    with pytest.raises(BadInput, match="holds something else"):
        hand.written(place)
    git(place, "branch", "-D", "mine")
    git(place, "checkout", "-q", "--detach", "main")
    git(place, "-c", "user.name=me", "-c", "user.email=me@x", "commit", "-q", "--allow-empty", "-m", "mine")
    git(place, "checkout", "-q", "main")
    with pytest.raises(BadInput, match="holds something else"):
        hand.written(place)
    git(place, "reflog", "expire", "--expire=now", "--all")
    hand.written(place)
    assert git(place, "log", "-1", "--format=%s").strip() == "Accept step 1, attempt 1: pass, 8.0"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".pge", "git", "shared_state.md"]


def test_without_git_it_is_said_in_two_lines(
    shell: Shell, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = shell.cell("%pge export git")
    assert told.text == (
        "BadInput: There is no git on this machine.\nInstall git, or take %pge export bundle, which needs none.\n"
    )


def test_an_object_that_is_gone_leaves_nothing_behind(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / ".pge" / "objects")
    with pytest.raises(StateDamaged, match=r"is missing from \.pge/objects/"):
        write(open_run(tmp_path / "run"), tmp_path / "run", tmp_path / "git")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_git_that_fails_is_told_with_what_it_said(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\necho 'unknown \033option' >&2\nexit 129\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Exception, match=r"git init failed: unknown \\u001boption"):
        write(open_run(made), made, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["git"]


# On a line


def test_the_view_links_the_directory_and_says_how_to_read_it(shell: Shell, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    view = shell.cell("%pge export git").view
    assert "./exports/git" in view.html()
    lines: Sequence[str] = [row for row in view.plain().split("\n") if row.startswith("git ")]
    place = tmp_path / "exports" / "git"
    for line in lines:
        git(place, *line.split("  ")[0].split()[1:])
    assert len(lines) == 5
    assert "was there already" in shell.cell("%pge export git").view.plain()


def test_an_earlier_run_has_a_history_of_its_own(shell: Shell, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    shell.cell("%pge new;")
    assert shell.cell("%pge export git @1 --to past").error is None
    assert git(tmp_path / "past", "log", "-1", "--format=%s", "main").startswith("Accept step")
