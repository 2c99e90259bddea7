r"""A run as a git repository: an attempt a commit, and what was accepted merged into ``main``.

    *   Accept step 2, attempt 1: pass, 8.9            main
    |\\
    | * Step 2, attempt 1: first try; pass, 8.9        step-2-attempt-1
    |/
    *   Accept step 1, attempt 2: pass, 8.5
    |\\
    | * Step 1, attempt 2: refine of attempt 1; pass, 8.5
    | * Step 1, attempt 1: first try; fail, 4.0
    |/
    * Task: slugs from titles

An attempt's parent is what it began from: the attempt that it refines, else what stood then. So ``git show`` is what the
attempt changed; ``git log --first-parent main`` are the decisions, each a merge whose ``git diff main^ main`` is the whole step;
``git branch --no-merged main`` are the attempts that came to nothing. The same run gives the same hashes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..abreast import standing_outputs
from ..agents.generator import base_tree
from ..errors import BadInput, PgeError
from ..markdown import visible
from ..prose import heading
from ..records import Attempt, Decision, EvaluationReport, FileRef, Section
from ..results import graded_again
from ..run import Run
from ..workspace import TEMPORARY, Objects, layered

STANDING = frozenset({"accept", "keep", "advance"})
MAIN = "refs/heads/main"
RECORD = "pge-nb-branches"
"""In ``.git``: the branches as they were written, to tell a repository that somebody worked in."""
SUBJECT = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that is to be made. ``parents`` are numbers of commits before; ``by`` and ``at`` are those of its section."""

    branch: str
    parents: tuple[int, ...]
    tree: tuple[FileRef, ...]
    message: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Where a history was written, how many commits it has, and files that no repository may hold."""

    place: Path
    commits: int
    left_out: tuple[str, ...]
    new: bool


def write(run: Run, root: Path, place: Path) -> History:
    """Write the history of a run, whose objects stand under ``root``, as the new repository ``place``, whole or not at all.

    The same history may stand there already, and one that was written before gives way, as long as nobody has changed
    anything in it. ``BadInput`` where something else stands there, and where there is no git.
    """
    git = Git.found()
    made = commits(run)
    left_out = tuple(sorted({file.path for one in made for file in one.tree if _is_gits_own(file.path)}))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{TEMPORARY}history-"))
    except OSError as error:
        raise BadInput(
            f"{place} cannot be written: {error.strerror or error}.", "Give another place with --to."
        ) from None
    try:
        git.fill(temporary, stream(made, Objects(root)))
        new = _put(git, temporary, place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return History(place=place, commits=len(made), left_out=left_out, new=new)


def _put(git: Git, temporary: Path, place: Path) -> bool:
    temporary.chmod(0o755)
    if place.is_symlink() or (place.exists() and (not place.is_dir() or any(place.iterdir()))):
        ours = (place / ".git").is_dir() and not place.is_symlink()
        if ours and git.branches(place) == git.branches(temporary):
            return False
        if not (ours and _is_untouched(git, place)):
            raise BadInput(
                f"{place} is there, and holds something else than this history.",
                "Nothing was written. Move it away, or give a new directory with --to DIR.",
            )
        place.rename(temporary.with_name(f"{temporary.name}-old"))
    temporary.rename(place)
    shutil.rmtree(temporary.with_name(f"{temporary.name}-old"), ignore_errors=True)
    return True


def _is_untouched(git: Git, place: Path) -> bool:
    """Whether a repository is what was written here, and nobody has put anything of their own into it."""
    written = place / ".git" / RECORD
    return written.is_file() and written.read_text(encoding="utf-8") == git.branches(place) and not git.changes(place)


# Which commits


def commits(run: Run) -> list[Commit]:
    """The commits of a run, in the order of its sections; the first is what the task found."""
    told = Run(root=run.root)
    found: list[Commit] = []
    numbers: dict[tuple[int, int], int] = {}
    main = 0
    for section in run.sections:
        told.add(section)
        step, attempt = section.record.step, section.record.attempt
        payload = section.payload
        if section.record.kind == "task" and not found:
            found.append(_commit(section, "main", (), run.task.files, _about_task(run)))
        elif isinstance(payload, Attempt) and step is not None and attempt is not None and found:
            base = numbers.get((step, payload.base or 0), main)
            tree = layered(base_tree(told, step), payload.files)
            message = _about_attempt(run, section, payload, step, attempt)
            numbers[step, attempt] = len(found)
            found.append(_commit(section, f"step-{step}-attempt-{attempt}", (base,), tree, message))
        elif isinstance(payload, Decision) and step is not None and payload.action in STANDING:
            if (accepted := numbers.get((step, payload.attempt or 0))) is None:
                continue
            tree = layered(told.task.files, *standing_outputs(told))
            found.append(_commit(section, "main", (main, accepted), tree, _about_decision(run, payload, step)))
            main = len(found) - 1
    return found


def _commit(section: Section, branch: str, parents: tuple[int, ...], tree: tuple[FileRef, ...], message: str) -> Commit:
    return Commit(
        branch=branch, parents=parents, tree=tree, message=message, by=section.record.by or "harness", at=section.at
    )


def _about_task(run: Run) -> str:
    title = run.plan.title if run.plan else run.task.prompt.strip().split("\n", 1)[0]
    models = run.task.settings.get("models")
    named = [f"Model of the {role}: {name}" for role, name in models.items()] if isinstance(models, Mapping) else []
    return _message(f"Task: {title}", [run.task.prompt.strip()], [f"Run: {run.task.run}", *named])


def _about_attempt(run: Run, section: Section, attempt: Attempt, step: int, number: int) -> str:
    report = run.evaluation(step, number)
    description = next((one.description for one in run.every_step if one.number == step), "")
    parts = [description, f"Why: {attempt.why}" if attempt.why else ""]
    if report:
        parts.append("\n".join(_findings(report)))
    trailers = [f"Attempt: {attempt.hash}", f"Section: {section.seq} {section.sha256}"]
    trailers += [f"Missing: {path}" for path in attempt.missing]
    return _message(f"{heading(section.record)}; {_verdict(report)}", parts, trailers)


def _about_decision(run: Run, decision: Decision, step: int) -> str:
    report = run.regrade(step) or run.evaluation(step, decision.attempt or 0)
    numbers = ", ".join(f"{name} {value}" for name, value in decision.numbers.items())
    again = graded_again(run, step)
    parts = [decision.reason, f"In numbers: {numbers}" if numbers else "", f"{again[:1].upper()}{again[1:]}"]
    action = decision.action.capitalize()
    return _message(f"{action} step {step}, attempt {decision.attempt}: {_verdict(report)}", parts, [])


def _verdict(report: EvaluationReport | None) -> str:
    if report is None:
        return "not evaluated"
    return report.verdict if report.overall is None else f"{report.verdict}, {report.overall:.1f}"


def _findings(report: EvaluationReport) -> Iterator[str]:
    for finding in report.findings:
        said = (finding.says, finding.why if finding.verdict != "pass" else "") if finding.about == "check" else ()
        told = "; ".join(" ".join(text.split()) for text in said or (finding.why,) if text)
        yield f"{finding.verdict:<10} {finding.on}: {told}"


def _message(subject: str, parts: Sequence[str], trailers: Sequence[str]) -> str:
    """A commit message of paragraphs. Characters that a terminal would obey, or not show, are spelled out."""
    line = " ".join(visible(subject).split())
    if len(line) > SUBJECT:
        parts, line = [line, *parts], line[: SUBJECT - 3].rstrip() + "..."
    said = [visible(part).strip() for part in (line, *parts)]
    said += ["\n".join(" ".join(visible(trailer).split()) for trailer in trailers)]
    return "\n\n".join(part for part in said if part) + "\n"


# As git takes it


def stream(made: Sequence[Commit], objects: Objects) -> Iterator[bytes]:
    """The history for ``git fast-import``: every content once, then the commits."""
    blobs: dict[str, int] = {}
    yield b"feature done\n"
    for one in made:
        for file in one.tree:
            if file.sha256 not in blobs and not _is_gits_own(file.path):
                content = objects.get(file.sha256)
                blobs[file.sha256] = len(made) + len(blobs) + 1
                yield b"blob\nmark :%d\n" % blobs[file.sha256] + _counted(content)
    when = 0
    for number, one in enumerate(made):
        when = _seconds(one.at, when)
        yield b"commit refs/heads/%s\nmark :%d\n" % (one.branch.encode(), number + 1)
        yield f"author {one.by} <{one.by}@pge-nb.invalid> {when} +0000\n".encode()
        yield f"committer {one.by} <{one.by}@pge-nb.invalid> {when} +0000\n".encode()
        yield _counted(one.message.encode("utf-8", "replace"))
        for word, parent in zip(("from", "merge"), one.parents, strict=False):
            yield f"{word} :{parent + 1}\n".encode()
        yield b"deleteall\n"
        for file in one.tree:
            if not _is_gits_own(file.path):
                mode = b"100755" if file.mode & 0o100 else b"100644"
                yield b"M %s :%d %s\n" % (mode, blobs[file.sha256], quoted(file.path))
    yield b"done\n"


def _counted(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _seconds(at: str, before: int) -> int:
    """Seconds since 1970; of a section without a time, those of the section before."""
    try:
        return max(0, int(datetime.fromisoformat(at).timestamp()))
    except (ValueError, OverflowError):
        return before


def quoted(path: str) -> bytes:
    """A path as fast-import reads it, whatever it holds."""
    plain = {ord('"'): rb"\"", ord("\\"): rb"\\", ord("\n"): rb"\n"}
    held = path.encode("utf-8", "surrogateescape")
    return b'"' + b"".join(plain.get(byte, bytes([byte]) if byte >= 32 else b"\\%03o" % byte) for byte in held) + b'"'


IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that the file system of macOS leaves out of names."""


def _is_gits_own(path: str) -> bool:
    """Whether git would take a part of the path, on some file system, for its own directory; it refuses such a tree."""
    parts = (IGNORED.sub("", part).partition(":")[0].rstrip(" .").lower() for part in re.split(r"[/\\]", path))
    return any(part == ".git" or re.fullmatch(r"git~\d+", part) for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """The git of this machine, used on a repository that is named and on no other, with no settings but its own."""

    program: str
    environ: Mapping[str, str] = field(repr=False)

    @classmethod
    def found(cls) -> Git:
        """The one on the path; ``BadInput`` where there is none."""
        program = shutil.which("git")
        if program is None:
            raise BadInput(
                "There is no git on this machine.", "Install git, or take %pge export bundle, which needs none."
            )
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1", "LC_ALL": "C"}
        return cls(program=program, environ={**kept, **own, "GIT_TERMINAL_PROMPT": "0"})

    def fill(self, place: Path, history: Iterable[bytes]) -> None:
        """Make a repository in an empty directory, with this history and ``main`` checked out."""
        self._run(place, "init", "--quiet", "--template=", "--object-format=sha1")
        self._run(place, "symbolic-ref", "HEAD", MAIN)
        self._run(place, "fast-import", "--quiet", history=history)
        self._run(place, "reset", "--quiet", "--hard")
        (place / ".git" / RECORD).write_text(self.branches(place), encoding="utf-8")

    def branches(self, place: Path) -> str:
        """Every branch, and whatever else has a name, with its hash."""
        return self._run(place, "for-each-ref", "--format=%(refname) %(objectname)")

    def changes(self, place: Path) -> str:
        """What differs in the directory from what is checked out, and commits that no branch holds; empty without either."""
        lost = self._run(place, "rev-list", "--max-count=1", "--reflog", "--not", "--all")
        return lost or self._run(place, "status", "--porcelain", "--untracked-files=all", "--ignored")

    def _run(self, place: Path, *words: str, history: Iterable[bytes] = ()) -> str:
        # What a repository names to be called by itself is never called: no hooks, no watcher of files.
        guards = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false")
        with subprocess.Popen(
            [self.program, *guards, *words],
            cwd=place,
            env={**self.environ, "GIT_DIR": str(place.absolute() / ".git")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            assert child.stdin is not None  # noqa: S101
            try:
                for part in history:
                    child.stdin.write(part)
            except BrokenPipeError:
                pass  # what git says about it is told below
            except BaseException:
                child.kill()
                raise
            out, err = child.communicate()
        if child.returncode:
            said = " ".join(visible(err.decode("utf-8", "replace")).split())
            raise PgeError(f"git {words[0]} failed: {said[:300]}", "Look at git --version: 2.29 or newer is needed.")
        return out.decode("utf-8", "replace")
