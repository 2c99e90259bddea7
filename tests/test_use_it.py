"""What a run made, used: files listed and compared, put back, and loaded into the notebook."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hand_runs import Hand
from markdown_it import MarkdownIt
from notebook_shell import Shell
from sanitizer import read
from test_charts import contrast

from pge_nb import display
from pge_nb import records as r
from pge_nb.commands.loading import module_name
from pge_nb.display import Diff, Link, Table, View
from pge_nb.errors import BadInput
from pge_nb.records import Note
from pge_nb.state import StateFile, open_run
from pge_nb.views.work import Side, diff_view, files_view
from pge_nb.workspace import Objects

TWICE = "%pge run --practice textkit --seed 1"
FAILS = "%pge run --practice stats --seed 1 --skill 0 --max-retries 0"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    before, modules = list(sys.path), set(sys.modules)
    opened = Shell()
    yield opened
    opened.close()
    sys.path[:] = before
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def retried(directory: Path) -> tuple[int, int, int]:
    """A step that took several attempts, its first one, and the one that stands."""
    run = open_run(directory)
    for step in run.steps:
        standing = run.accepted(step.number)
        if standing and standing > 1:
            return step.number, 1, standing
    raise AssertionError("no step took a second attempt")


# Files


def test_files_lists_what_stands_with_a_link_to_each_file_in_work(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    view, run = shell.cell("%pge files").view, open_run(tmp_path)
    assert view.df is not None
    assert set(view.df["step"]) == {step.number for step in run.steps}
    assert '<a href="./work/textkit.py">textkit.py</a>' in view.html()
    assert read(view.html()).stripped == []
    assert view.next == "%pge load"
    standing = {file.sha256 for s in run.steps for file in run.attempts(s.number)[run.accepted(s.number) or 0].files}
    assert set(view.df["sha256"]) == standing


def test_a_link_is_relative_to_the_notebook_also_for_a_named_task(shell: Shell) -> None:
    shell.cell(f"{TWICE.replace('run', 'run mine')};")
    assert 'href="./mine/work/textkit.py"' in shell.cell("%pge files").view.html()


def test_files_of_an_attempt_say_where_work_holds_something_else(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    step, first, standing = retried(tmp_path)
    first_files = shell.cell(f"%pge files {step}.{first}").view.df
    assert first_files is not None
    assert "another content" in set(first_files["in_work"])
    (tmp_path / "work" / "textkit.py").unlink()
    frame = shell.cell(f"%pge files {step}.{standing}").view.df
    assert frame is not None
    assert "not there" in set(frame["in_work"])


def test_a_step_for_which_nothing_stands_names_its_attempt(shell: Shell) -> None:
    shell.cell(f"{FAILS};")
    assert "Its last attempt: 1.1." in shell.cell("%pge files 1").text
    assert shell.cell("%pge files 1.1").view.df is not None
    assert "No files were made yet." in shell.cell("%pge files").view.plain()


def test_a_link_can_be_no_scheme_and_no_markup() -> None:
    place = 'javascript:alert(1)//"><script>[x](y)'
    view = View(title="t", blocks=(Table(caption="c", heads=("h",), rows=((Link(place, place),),)),))
    assert "<script" not in view.html()
    assert re.findall('href="([^"]*)"', view.html()) == [
        "./javascript%3Aalert%281%29//%22%3E%3Cscript%3E%5Bx%5D%28y%29"
    ]
    rendered = MarkdownIt("commonmark").enable("table").render(view.markdown())
    assert "<script" not in rendered
    assert 'href="javascript' not in rendered


# Diff


def two_attempts(root: Path, old: dict[str, bytes], new: dict[str, bytes]) -> View:
    hand, objects = Hand(()), Objects(root)
    hand.contract()
    for number, files in ((1, old), (2, new)):
        refs = tuple(objects.file(path, content) for path, content in files.items())
        made = r.Attempt(approach="first", why="", base=None, files=refs, hash="", log=r.text_body(""))
        hand.add(made, 1, number)
    old, new = (Side(run=hand.run, root=root, step=1, attempt=attempt) for attempt in (1, 2))
    return diff_view(old, new)


def test_diff_says_in_words_and_signs_what_its_colours_say(tmp_path: Path) -> None:
    view = two_attempts(tmp_path, {"a.py": b"x = 1\ny = 2\n", "gone.py": b"1\n"}, {"a.py": b"x = 1\ny = 3\nz = 4\n"})
    assert view.df is not None
    assert view.df.values.tolist() == [["a.py", "changed", 2, 1], ["gone.py", "removed", 0, 1]]
    plain = view.plain()
    assert "-y = 2\n+y = 3\n+z = 4" in plain
    assert "Lines that begin with - are in 1.1 alone, those with + in 1.2 alone." in plain
    assert "```diff" in view.markdown()


def test_what_a_diff_holds_is_escaped_and_coloured_on_grounds_of_its_own(tmp_path: Path) -> None:
    view = two_attempts(tmp_path, {"a.html": b"<b>old</b>\n"}, {"a.html": b"<script>alert(1)</script>\n"})
    html = view.html()
    assert "<script" not in html
    assert read(html).stripped == []
    assert "+&lt;script&gt;alert(1)&lt;/script&gt;</span>" in html
    for ground in display.DIFF_GROUNDS.values():
        assert f"background-color:{ground};color:#ffffff" in html
        assert contrast("#ffffff", ground) >= 7


def test_a_line_of_code_that_begins_like_a_heading_is_still_a_change(tmp_path: Path) -> None:
    view = two_attempts(tmp_path, {"a.sql": b"-- one\n"}, {"a.sql": b"++ two\n"})
    assert view.df is not None
    assert view.df.values.tolist() == [["a.sql", "changed", 1, 1]]
    assert view.html().count("color:#ffffff") >= 2


def test_a_diff_tells_line_ends_and_what_is_no_text(tmp_path: Path) -> None:
    view = two_attempts(
        tmp_path, {"a": b"x\n", "b": b"\xff\x00", "c": b"x\n"}, {"a": b"x\r\n", "b": b"\xfe", "c": b"x"}
    )
    plain = view.plain()
    assert "-x\n+x\\u000d" in plain
    assert "changed, not text" in plain
    assert "+x  (no line end at the end of the file)" in plain


def test_attempts_that_are_the_same_have_no_diff(tmp_path: Path) -> None:
    view = two_attempts(tmp_path, {"a.py": b"x\n"}, {"a.py": b"x\n"})
    assert "the same" in view.plain()
    assert not [block for block in view.blocks if isinstance(block, Diff)]


def test_diff_of_a_run_compares_two_addresses(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    step, first, standing = retried(tmp_path)
    view = shell.cell(f"%pge diff {step}.{first} {step}").view
    assert view.title.endswith(f"{step}.{first} to {step}.{standing}")
    assert "\n+" in view.plain()
    assert "is missing" in shell.cell(f"%pge diff {step}").text
    assert "The nearest is" in shell.cell(f"%pge diff {step}.99 {step}").text


# Restore


def test_restore_puts_an_attempt_into_work_and_keeps_what_was_there(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    step, first, standing = retried(tmp_path)
    mine = tmp_path / "work" / "textkit.py"
    mine.write_text("# my own notes\n")
    view = shell.cell(f"%pge restore {step}.{first}").view
    run = open_run(tmp_path)
    [file] = [file for file in run.attempts(step)[first].files if file.path == "textkit.py"]
    assert mine.read_bytes() == Objects(tmp_path).get(file.sha256)
    assert f"%pge restore {step}" in view.plain()
    notes = [section.payload.text for section in run.of("note", step) if isinstance(section.payload, Note)]
    kept = re.search(r"textkit.py held something else; that is kept as the object (\w{64})", notes[-2])
    assert kept
    assert Objects(tmp_path).get(kept[1]) == b"# my own notes\n"
    assert notes[-1] == f"The files of attempt {step}.{first} were put into the working directory by hand."
    assert StateFile(tmp_path / "shared_state.md").verify().intact
    assert run.accepted(step) == standing


def test_restoring_changes_no_outcome_and_the_run_is_still_done(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    step, first, _ = retried(tmp_path)
    shell.cell(f"%pge restore {step}.{first};")
    sections = len(open_run(tmp_path).sections)
    view = shell.cell(TWICE).view
    assert view.mark == "passed"
    assert len(open_run(tmp_path).sections) == sections


def test_a_note_does_not_set_a_stopped_run_going(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE} --max-tokens-total 20000;")
    run = open_run(tmp_path)
    assert run.outcome == "stopped"
    tried = next(step.number for step in run.steps if run.attempts(step.number))
    shell.cell(f"%pge restore {tried}.1;")
    assert open_run(tmp_path).sections[-1].record.kind == "note"
    assert shell.cell("%pge").view.mark == "stopped"


# Load


def test_load_brings_the_accepted_module_into_the_notebook_and_tells_its_hash(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    (tmp_path / "work" / "textkit.py").write_text("raise SystemExit('not what was accepted')\n")
    view, run = shell.cell("%pge load").view, open_run(tmp_path)
    assert shell.cell("textkit.__name__").value == "textkit"
    [file] = run.attempts(1)[run.accepted(1) or 0].files
    assert file.sha256 in view.html()
    assert Path(shell.names["textkit"].__file__).read_bytes() == Objects(tmp_path).get(file.sha256)
    assert "do not hold here" in view.plain()


def test_what_is_loaded_later_takes_the_place_of_what_was_loaded_before(shell: Shell, tmp_path: Path) -> None:
    for seed in (1, 2):
        shell.cell(f"%pge run --practice roman --seed {seed};")
        shell.cell("%pge load;")
        run = open_run(tmp_path)
        [file] = [one for one in run.attempts(1)[run.accepted(1) or 0].files if one.path == "roman.py"]
        assert Path(shell.names["roman"].__file__).read_bytes() == Objects(tmp_path).get(file.sha256)
        assert shell.names["roman"] is sys.modules["roman"]
        assert sum(".pge/loaded" in entry for entry in sys.path) == 1
        shell.cell("%pge new;")


def test_an_accepted_module_finds_those_of_other_steps(shell: Shell) -> None:
    shell.cell(f"{TWICE};")
    shell.cell("%pge load 3;")
    assert "textkit" not in shell.names
    assert shell.names["newsletter"].__name__ == "newsletter"
    shell.cell("import textkit")
    assert ".pge/loaded" in shell.names["textkit"].__file__


def test_what_was_not_accepted_is_not_loaded_and_why_is_said(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{TWICE};")
    step, first, _ = retried(tmp_path)
    refused = shell.cell(f"%pge load {step}.{first}")
    assert isinstance(refused.error, BadInput)
    assert f"Attempt {step}.{first} is not the one that stands." in refused.text
    shell.cell("%pge new;")
    shell.cell(f"{FAILS};")
    assert "No step was accepted yet." in shell.cell("%pge load").text
    shell.cell("%pge answer advance;")
    assert "was advanced, not accepted" in shell.cell("%pge load 3").text  # step 1 was cut into smaller ones


def test_a_value_of_the_notebook_is_not_written_over(shell: Shell) -> None:
    shell.cell(f"{TWICE};")
    shell.cell("textkit = [1, 2]")
    assert "The name textkit is taken in this notebook." in shell.cell("%pge load").text
    assert shell.names["textkit"] == [1, 2]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a.py", "a"),
        ("pkg/__init__.py", "pkg"),
        ("pkg/b.py", "pkg.b"),
        ("test_a.py", None),
        ("a_test.py", None),
        ("conftest.py", None),
        ("a-b.py", None),
        ("a.txt", None),
        ("__init__.py", None),
    ],
)
def test_only_what_can_be_imported_and_is_no_test_is_a_module(path: str, name: str | None) -> None:
    assert module_name(path) == name


def test_files_of_no_step_are_an_empty_table_with_a_sentence(tmp_path: Path) -> None:
    assert (
        "No files were made yet." in files_view(Hand((), working_directory="work").run, tmp_path, [], tmp_path).plain()
    )
