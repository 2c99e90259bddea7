"""Addresses, and the runs that they lead to: every form finds its place, and what does not exist names the nearest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_shell import Shell
from sample_runs import sample_run
from sanitizer import read

from pge_nb.commands.addresses import Address, address
from pge_nb.display import Code
from pge_nb.errors import BadInput
from pge_nb.records import Note
from pge_nb.state import open_run
from pge_nb.workspace import Objects, bring

RUN = "%pge run --practice stats --seed 2"


@pytest.fixture
def three_runs(shell: Shell) -> Shell:
    """An unnamed task that made room for another, and a task of its own."""
    for line in (f"{RUN};", "%pge run --practice roman;", "%pge run second --practice roman;", "%pge runs;"):
        assert shell.cell(line).error is None
    return shell


def test_every_form_of_an_address_in_a_run() -> None:
    run = sample_run()
    step = run.steps[0].number
    contract, plan = run.contract(step), run.plan
    assert contract
    assert plan
    check, criterion = contract.checks[0].id, plan.criteria[0].name
    assert address("", run) == Address()
    assert address(f"{step}", run) == Address(step)
    assert address(f"{step}.1", run) == Address(step, 1)
    assert address(f"{step}.1/{check}", run) == Address(step, 1, check)
    assert address(f"{step}/{criterion}", run) == Address(step, None, criterion)


@pytest.mark.parametrize(
    ("text", "fact", "move"),
    [
        ("9", "There is no step 9.", "The nearest is 2."),
        ("0", "There is no step 0.", "The nearest is 1."),
        ("1.9", "There is no attempt 1.9.", "The nearest is 1.4."),
        ("1.1/C9", "Step 1 has no check or criterion C9.", "The nearest is c"),
        ("one", "'one' is no address.", "Write STEP"),
        ("1.1.1", "'1.1.1' is no address.", "Write STEP"),
        ("1/", "'1/' is no address.", "Write STEP"),
    ],
)
def test_an_address_that_does_not_exist_names_the_nearest(text: str, fact: str, move: str) -> None:
    with pytest.raises(BadInput) as caught:
        address(text, sample_run())
    assert caught.value.fact == fact
    assert caught.value.next_move.startswith(move)


def test_an_address_reaches_into_another_task_and_into_an_earlier_run(three_runs: Shell, tmp_path: Path) -> None:
    head = open_run(tmp_path / "earlier" / "1").head
    three_runs.cell("%pge second;")
    for line, title in (
        ("%pge show evaluations second:1.1", "second: "),
        ("%pge show plan second", "second: "),
        ("%pge show contract second:1", "second: "),
    ):
        assert three_runs.cell(line).view.title.startswith(title)
    three_runs.cell("%pge run --practice roman;")  # the unnamed task is the one that commands are about again
    for what in (
        "run",
        "plan",
        "contract",
        "evaluations",
        "trajectory",
        "decisions",
        "cost",
        "prompt",
        "prompt planner",
    ):
        for where in ("@1", "@1:", "@1:1", "@1:1.1"):
            if what == "prompt planner" and ":1" in where:
                continue
            view = three_runs.cell(f"%pge show {what} {where}").view
            assert view.title.startswith("@1: ")
            assert head[:12] in view.foot
            assert three_runs.cell(view.next).error is None, view.next


def test_one_check_is_shown_alone(three_runs: Shell, tmp_path: Path) -> None:
    three_runs.cell("%pge run --practice roman;")
    contract = open_run(tmp_path).contract(1)
    assert contract
    first, second = contract.checks[0].id, contract.checks[1].id
    view = three_runs.cell(f"%pge show evaluations 1.1/{first}").view
    assert view.df is not None
    assert set(view.df["on"]) == {first}
    assert f"{first}: " in view.plain()
    assert f"{second}: " not in view.plain()
    shown = "".join(read(three_runs.cell(f"%pge show contract 1/{second}").view.html()).words)
    assert contract.checks[1].says in shown
    assert contract.checks[0].says not in shown


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%pge show plan @4", "There is no run @4.\nThe nearest is @1."),
        ("%pge show plan secnd:1", "There is no task secnd here.\nThe nearest is second."),
        ("%pge open second@1", "There is no run second@1.\nNo run made room here yet."),
        ("%pge open 1.2", "'1.2' is no address."),
    ],
)
def test_a_run_that_does_not_exist_names_the_nearest(three_runs: Shell, line: str, said: str) -> None:
    three_runs.cell("%pge run --practice roman;")
    assert said in three_runs.cell(line).text


def test_runs_lists_every_run_with_the_line_that_shows_it(three_runs: Shell) -> None:
    view = three_runs.cell("%pge runs").view
    assert view.df is not None
    assert list(view.df["name"]) == ["", "", "second"]
    assert list(view.df["number"].fillna(0)) == [0, 1, 0]
    assert list(view.df["outcome"]) == ["passed"] * 3
    assert (view.df["attempts"] >= 2).all()
    for line in ("%pge open @1", "%pge second"):
        assert line in view.plain()
        assert three_runs.cell(line).view.mark == "passed"
    assert read(view.html()).stripped == []


def test_runs_tells_of_a_damaged_file_and_of_an_empty_directory(shell: Shell, tmp_path: Path) -> None:
    assert "No run is in" in shell.cell("%pge runs").text
    shell.cell(f"{RUN};")
    (tmp_path / "shared_state.md").write_text("no state file")
    assert "broken" in shell.cell("%pge runs").view.plain()


def test_open_shows_an_earlier_run_and_moves_nothing(three_runs: Shell, tmp_path: Path) -> None:
    three_runs.cell("%pge run --practice roman;")

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}

    before = files()
    view = three_runs.cell("%pge open @1").view
    assert view.title.startswith("@1: ")
    assert view.next == "%pge show trajectory @1"
    assert files() == before
    assert "@1" not in three_runs.cell("%pge show plan").view.title


# Addresses in the commands that use what was made


@pytest.fixture(scope="module")
def kept_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """The three runs once, for lines that change nothing; commands are about the unnamed task."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))
        patch.setenv("PGE_NB_LIVE", "0")
        opened = Shell()
        for line in (f"{RUN};", "%pge run second --practice roman;", "%pge run --practice roman;"):
            assert opened.cell(line).error is None
        yield opened
        opened.close()


def other_content(step: int, attempt: int, directory: Path) -> dict[str, bytes]:
    """Path -> content of an attempt's files, from the objects of its run."""
    files = open_run(directory).attempts(step)[attempt].files
    return {file.path: Objects(directory).get(file.sha256) for file in files}


def test_files_of_another_run_are_those_of_that_run(kept_runs: Shell) -> None:
    for at, directory in (("second:1.1", Path("second")), ("@1", Path("earlier", "1"))):
        view = kept_runs.cell(f"%pge files {at}").view
        assert view.df is not None
        listed = {file.sha256 for files in open_run(directory).attempts(1).values() for file in files.files}
        assert listed & set(view.df["sha256"])
        assert view.title.startswith(f"{at.partition(':')[0]}: ")


def test_diff_compares_attempts_of_two_runs(kept_runs: Shell) -> None:
    view = kept_runs.cell("%pge diff @1:1.1 second:1.1").view
    assert view.title.endswith("@1:1.1 to second:1.1")
    assert view.df is not None
    assert dict(zip(view.df["file"], view.df["what"], strict=True)) == {
        "roman.py": "added",
        "test_roman.py": "added",
        "stats.py": "removed",
    }
    assert view.next == "%pge show evaluations @1:1.1 second:1.1"
    assert kept_runs.cell(view.next).error is None
    same = kept_runs.cell("%pge diff second:1.1 second:1.1").view
    assert same.df is not None
    assert set(same.df["what"]) == {"the same"}


def test_diff_with_a_whole_run_asks_for_a_step(kept_runs: Shell) -> None:
    assert (
        "second is a whole run.\nAdd a step of it: second:1, or second:1.1."
        in kept_runs.cell("%pge diff second second:1.1").text
    )


def test_restore_puts_the_files_of_another_run_into_the_working_directory_of_this_one(
    three_runs: Shell, tmp_path: Path
) -> None:
    three_runs.cell("%pge run --practice roman;")  # the unnamed task again
    earlier = tmp_path / "earlier" / "1"
    mine = tmp_path / "work" / "stats.py"
    mine.write_text("# my own\n")
    head, there = open_run(earlier).head, sorted(path.name for path in (earlier / "work").iterdir())
    view = three_runs.cell("%pge restore @1:1.1").view
    assert mine.read_bytes() == other_content(1, 1, earlier)["stats.py"]
    assert str(tmp_path / "work") in view.plain()
    assert "stats.py held something else" in view.plain()
    run = open_run(tmp_path)
    said = [section.payload.text for section in run.of("note") if isinstance(section.payload, Note)]
    assert said[-1].startswith(f"The files of attempt 1.1 of run {open_run(earlier).task.run} were put into")
    assert open_run(earlier).head == head
    assert sorted(path.name for path in (earlier / "work").iterdir()) == there
    assert run.outcome == "passed"
    assert three_runs.cell("%pge verify").view.mark == "intact"
    assert set(three_runs.cell("%pge show plan").view.df["state"]) == {"accepted"}  # type: ignore[index]


def test_restore_takes_nothing_over_that_an_agent_could_not_have_written(tmp_path: Path) -> None:
    source, target = Objects(tmp_path / "source"), Objects(tmp_path / "target")
    files = [source.file("a.py", b"1"), source.file(".git/hooks/post-checkout", b"2")]
    with pytest.raises(BadInput, match="a tool owns"):
        bring(files, source, target)
    assert not (tmp_path / "target").exists()


def test_restore_into_a_place_without_a_run_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run second --practice roman;")
    shell.cell("%pge run --practice nothing;")
    shell.cell("%reload_ext pge_nb")
    (tmp_path / "third").mkdir()
    shell.cell("%pge run third --practice stats;")
    shell.cell("%pge new;")
    assert "Nothing was begun at" in shell.cell("%pge restore second:1.1").text
    assert not (tmp_path / "third" / "work").exists()


def test_load_imports_what_another_run_accepted_in_place_of_what_was_loaded(three_runs: Shell, tmp_path: Path) -> None:
    three_runs.cell("%pge run --practice roman --seed 2;")
    three_runs.cell("%pge load;")
    loaded = Path(three_runs.names["roman"].__file__)
    assert loaded.is_relative_to(tmp_path / ".pge")
    assert three_runs.cell("%pge load second").error is None
    assert Path(three_runs.names["roman"].__file__).is_relative_to(tmp_path / "second" / ".pge")
    assert sum(".pge/loaded" in entry for entry in sys.path) == 1
    run = open_run(tmp_path / "second")
    standing = run.accepted(1) or 0
    for attempt in set(run.attempts(1)) - {standing}:
        assert "%pge load second:1\n" in three_runs.cell(f"%pge load second:1.{attempt}").text


def test_an_estimate_is_of_the_run_that_is_named(kept_runs: Shell) -> None:
    assert "Nothing is ahead" in kept_runs.cell("%pge estimate @1").view.plain()
    assert "Leave the step out: %pge estimate @1" in kept_runs.cell("%pge estimate @1:1").text


def test_the_cost_of_a_step_is_a_part_of_the_whole(kept_runs: Shell) -> None:
    whole = kept_runs.cell("%pge show cost @1").view.df
    step = kept_runs.cell("%pge show cost @1:1").view.df
    attempt = kept_runs.cell("%pge show cost @1:1.1").view.df
    assert whole is not None
    assert step is not None
    assert attempt is not None
    assert 0 < attempt["calls"].sum() < step["calls"].sum() < whole["calls"].sum()
    assert set(step["step"]) == {1}
    assert set(attempt["phase"]) == {"generate", "evaluate"}


ADDRESSED = (
    "files {}",
    "diff {} 1",
    "diff 1 {}",
    "restore {}",
    "load {}",
    "show evaluations {}",
    "show contract {}",
    "show cost {}",
    "show prompt {}",
    "estimate {}",
)


@pytest.mark.parametrize("command", ADDRESSED)
@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("@3:1", "There is no run @3.\nThe nearest is @1."),
        ("secnd:1", "There is no task secnd here.\nThe nearest is second."),
        ("9", "There is no step 9.\nThe nearest is 2."),
        ("@1:9.1", "There is no step 9.\nThe nearest is @1:2."),
        ("1.9", "There is no attempt 1.9.\nThe nearest is 1."),
        ("@1:1.9", "There is no attempt 1.9.\nThe nearest is @1:1."),
        ("1/c44", "Step 1 has no check or criterion c44.\nThe nearest is c4."),
        ("@1:one", "'one' is no address."),
        ("1.1.1", "'1.1.1' is no address."),
    ],
)
def test_every_command_names_the_nearest(kept_runs: Shell, command: str, at: str, said: str) -> None:
    done = kept_runs.cell(f"%pge {command.format(at)}")
    assert isinstance(done.error, BadInput), done.text
    assert said in done.text
    assert len(done.text.strip().split("\n")) == 2


def test_the_unnamed_task_is_reached_from_a_named_one(shell: Shell) -> None:
    shell.cell("%pge run --practice stats --seed 2")
    shell.cell("%pge run two --practice stats --seed 3")
    first = shell.cell("%pge show plan .").view
    assert shell.cell("%pge").view.foot != first.foot
    assert ("Task", "two") in shell.cell("%pge").view.blocks[-1].rows
    assert "from attempt" not in shell.cell("%pge diff .:1.1 two:1.1").text
    shell.cell("%pge new")
    assert ("Task", Code("%pge .")) in shell.cell("%pge").view.blocks[-1].rows
    assert "%pge ." in shell.cell("%pge show plan").text
    assert shell.cell("%pge .").view.foot == first.foot
    assert shell.cell("%pge show plan").view.foot == first.foot
    assert "There is no run" in shell.cell("%pge open .@7").text
