"""Work out of the notebook: tables, frames, a page and a notebook of a run, and a person's files left alone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import latex_reader
import nbformat
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from nbclient import NotebookClient
from notebook_shell import Shell
from sample_runs import asking_run, hostile_run, long_run, opening, sample_run, sections

from pge_nb.display import Link, Table
from pge_nb.errors import BadInput
from pge_nb.exports import EXPORTS, RECORD, put
from pge_nb.exports.report import notebook, page
from pge_nb.exports.tables import FRAMES, csv_files, latex_files, read_csv
from pge_nb.frames.columns import TEXT
from pge_nb.run import Run

RUN = "%pge run --practice stats --seed 2"
RUNS = {
    "sample": sample_run(),
    "hostile": hostile_run(),
    "long": long_run(5, 4),
    "asking": asking_run(),
    "planned": Run(sections(opening())),
    "begun": Run(sections(opening()[:1])),
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
FORMULAS = ("=1+1", '=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "'=1", "''=1")  # noqa: RUF001


# CSV


@every_run
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_that_was_exported_reads_back_as_it_was(run: Run, name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.csv").write_bytes(csv_files(run)[f"{name}.csv"])
    pd.testing.assert_frame_equal(read_csv(tmp_path / f"{name}.csv"), without_empty_texts(FRAMES[name](run)))


@pytest.mark.parametrize(
    "said", [*FORMULAS, "'quoted'", "NA", "nan", "a\r\nb\rc", '"', " lead", "a\x00b", "\ud800", "写"]
)
def test_any_text_reads_back_as_it_was(said: str, tmp_path: Path) -> None:
    run = sample_run(said)
    (tmp_path / "tasks.csv").write_bytes(csv_files(run)["tasks.csv"])
    back = read_csv(tmp_path / "tasks.csv")
    assert back.loc[0, "prompt"] == said.encode("utf-8", "backslashreplace").decode()
    pd.testing.assert_frame_equal(back, without_empty_texts(FRAMES["tasks"](run)))


@pytest.mark.parametrize("said", FORMULAS)
def test_no_spreadsheet_runs_what_an_agent_wrote(said: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_bytes(csv_files(sample_run(said))["tasks.csv"])
    cells = pd.read_csv(tmp_path / "tasks.csv", dtype="str", keep_default_na=False)  # as a spreadsheet would split it
    assert cells.loc[0, "prompt"] == f"'{said}"


def test_a_file_of_another_name_is_no_frame(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not the name of a frame"):
        read_csv(tmp_path / "mine.csv")


def without_empty_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """An empty text and a missing one are one in a CSV."""
    return frame.assign(**{name: frame[name].replace("", pd.NA) for name in frame if frame[name].dtype == TEXT})


# LaTeX


@every_run
def test_the_tables_are_latex_that_tex_takes_and_the_report_holds_them_all(run: Run) -> None:
    files = latex_files(run)
    report = files.pop("report.tex").decode()
    assert re.findall(r"\\input\{(.*?)\}", report) == [name[:-4] for name in files if name.endswith(".tex")]
    assert ("trajectory.pdf" in files) == (r"\includegraphics{trajectory.pdf}" in report) == bool(run.evaluations(1))
    for name, content in files.items():
        if name.endswith(".tex"):
            first, rest = content.decode().split("\n", 1)
            assert first.startswith("% Written by pge_nb")
            latex_reader.read(rest)


def test_a_paper_says_that_a_run_was_simulated() -> None:
    for name, content in latex_files(sample_run()).items():
        if name not in {"report.tex", "trajectory.pdf"}:
            assert b"simulated, no language model wrote or judged" in content


@pytest.mark.skipif(shutil.which("xelatex") is None, reason="TeX is not here; the reader stands in for it")
def test_tex_sets_the_report(tmp_path: Path) -> None:
    for name, content in latex_files(hostile_run()).items():
        (tmp_path / name).write_bytes(content)
    ran = subprocess.run(
        ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2_000:]


# A page


class Page(HTMLParser):
    """What a page would fetch or run, its headings, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.reaches: list[str] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "action", "srcset", "poster", "data"} or name.startswith("on"):
                self.reaches.append(f"{tag} {name}={(value or '')[:22]}")

    def handle_data(self, data: str) -> None:
        self.words += data


@every_run
def test_the_page_runs_nothing_and_fetches_nothing(run: Run) -> None:
    read = Page(page(run).decode())
    assert set(read.reaches) <= {"img src=data:image/png;base64,"}
    assert not {"script", "link", "iframe", "object", "form"} & set(read.tags)
    assert b"default-src 'none'" in page(run)


def test_the_page_has_all_of_the_run_and_ends_with_its_foot() -> None:
    text = page(sample_run()).decode()
    read = Page(text)
    for said in (
        "Slugs from titles: degraded",
        "Criteria (scores 0 to 10)",
        "Step 1: agreed in round 1",
        "refine",
        "$0",
    ):
        assert said in read.words, said
    assert re.findall("<h2>(.*?)</h2>", text) == [
        *("Plan", "Contracts", "Evaluations", "Trajectory", "Decisions", "Cost"),
    ]
    assert "Every evaluation of step 1" in read.words
    assert read.tags.count("img") == 2  # the plan and the scores
    assert "simulated, no language model wrote or judged" in read.words
    assert read.words.rstrip().endswith("rater rater-4f2a9c01")
    assert "Next:" not in read.words


def test_the_page_takes_its_ground_and_letters_from_a_light_or_a_dark_reader() -> None:
    text = page(sample_run()).decode()
    assert "color-scheme: light dark" in text
    for style in re.findall(r'style="([^"]*)"', text):
        assert not re.search(r"(^|;)color:", style) or "background-color" in style
    assert page(sample_run()) == page(sample_run())


# A notebook


@every_run
def test_the_notebook_is_valid_and_holds_its_outputs(run: Run) -> None:
    made = nbformat.reads(notebook(run).decode(), as_version=4)
    nbformat.validate(made)
    shown = [cell for cell in made.cells if cell.cell_type == "code"]
    drawn = bool(run.plan)  # the plan's graph, and after it what four views showed
    assert [len(cell.outputs) > 0 for cell in shown] == [True] * (4 + drawn)
    assert all(cell.source.startswith("#") and "\n" not in cell.source for cell in shown)
    pictures = [output for cell in shown for output in cell.outputs if "image/png" in output.data]
    assert len(pictures) == bool(run.evaluations(1)) + drawn
    read = MarkdownIt("commonmark").enable("table")
    assert "<script" not in "".join(read.render(cell.source) for cell in made.cells if cell.cell_type == "markdown")
    assert notebook(run) == notebook(run)


@pytest.mark.parametrize("sanitized", [False, True])
def test_the_notebook_is_read_where_this_package_is_not(sanitized: bool, tmp_path: Path) -> None:
    (tmp_path / "report.ipynb").write_bytes(notebook(sample_run()))
    code = (
        "import sys; sys.modules['pge_nb'] = None\n"
        "import nbformat; from nbconvert import HTMLExporter\n"
        "made = nbformat.read('report.ipynb', as_version=4)\n"
        f"print(HTMLExporter(sanitize_html={sanitized}).from_notebook_node(made)[0])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    for said in ("Slugs from titles", "Check or criterion", "Cost by phase", "rater-4f2a9c01"):
        assert said in shown, said
    opened = "&lt;img" if sanitized else "<img"  # nbconvert's own sanitizer shows as text what it does not know
    graph, chart = re.findall(f'{opened} alt="([^"]*)" src="data:image/png;base64,', shown)
    assert graph.startswith("A plan of ")
    assert chart.startswith("Scores from 0 to 10 by attempt. ")
    assert "Step 1 attempt 1: fail, overall 4.9" in chart


def test_a_kernel_without_this_package_or_a_key_runs_the_notebook_and_its_outputs_stay(tmp_path: Path) -> None:
    made = nbformat.reads(notebook(sample_run()).decode(), as_version=4)
    code = "import sys; sys.modules['pge_nb'] = None; print(6 * 7)"
    made.cells.insert(0, nbformat.v4.new_code_cell(code))
    before = [cell.outputs for cell in made.cells[1:] if cell.cell_type == "code"]
    NotebookClient(made, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert made.cells[0].outputs[0].text == "42\n"  # it was run
    assert [cell.outputs for cell in made.cells[1:] if cell.cell_type == "code"] == before
    nbformat.validate(made)
    assert list(tmp_path.iterdir()) == []


# A person's files


def two(first: bytes = b"1", second: bytes = b"2") -> Mapping[str, bytes]:
    return {"a.txt": first, "b.txt": second}


def put_into(place: Path, files: Mapping[str, bytes]) -> None:
    put({place / name: content for name, content in files.items()}, place / EXPORTS)


def test_a_persons_file_is_never_overwritten_and_then_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"mine")
    with pytest.raises(BadInput, match=re.escape(str(tmp_path / "b.txt"))) as caught:
        put_into(tmp_path, two())
    assert "--to" in caught.value.next_move
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt"]
    assert (tmp_path / "b.txt").read_bytes() == b"mine"


def test_what_an_export_wrote_is_replaced_and_what_was_changed_since_is_not(tmp_path: Path) -> None:
    put_into(tmp_path, two())
    put_into(tmp_path, two(b"new"))
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    (tmp_path / "a.txt").write_bytes(b"edited by hand")
    with pytest.raises(BadInput, match=r"a\.txt is there"):
        put_into(tmp_path, two(b"newer"))
    assert (tmp_path / "a.txt").read_bytes() == b"edited by hand"


def test_the_same_content_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1")
    put_into(tmp_path, two())
    assert (tmp_path / "b.txt").read_bytes() == b"2"


@pytest.mark.parametrize("damaged", [b"", b"[]", b"{", b"\xff"])
def test_without_a_record_everything_is_a_persons(damaged: bytes, tmp_path: Path) -> None:
    put_into(tmp_path, two())
    (tmp_path / EXPORTS / RECORD).write_bytes(damaged)
    with pytest.raises(BadInput):
        put_into(tmp_path, two(b"new"))
    put_into(tmp_path, two())


def test_a_link_and_a_directory_in_the_way_are_a_persons(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"theirs")
    (tmp_path / "a.txt").symlink_to(tmp_path / "other")
    with pytest.raises(BadInput):
        put_into(tmp_path, two())
    assert (tmp_path / "other").read_bytes() == b"theirs"
    (tmp_path / "a.txt").unlink()
    (tmp_path / "b.txt").mkdir()
    with pytest.raises(BadInput):
        put_into(tmp_path, two())
    assert not (tmp_path / "a.txt").exists()


def test_what_cannot_be_written_leaves_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(BadInput, match="cannot be written") as caught:
        put({tmp_path / "a.txt": b"1", tmp_path / "file" / "b.txt": b"2"}, tmp_path / EXPORTS)
    assert "--to" in caught.value.next_move
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


# The command


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("latex", ["latex/cost.tex", "latex/report.tex", "latex/trajectory.pdf"]),
        ("csv", [f"csv/{name}.csv" for name in FRAMES]),
        ("html", ["report.html"]),
        ("notebook", ["report.ipynb"]),
    ],
)
def test_an_export_lists_its_files_with_links_and_sizes(
    form: str, expected: list[str], shell: Shell, tmp_path: Path
) -> None:
    shell.cell(f"{RUN};")
    view = shell.cell(f"%pge export {form}").view
    assert view.df is not None
    written = {path.removeprefix("exports/"): size for path, size in view.df.itertuples(index=False)}
    assert set(expected) <= set(written)
    for path, size in written.items():
        assert (tmp_path / EXPORTS / path).stat().st_size == size > 0
    [table] = [block for block in view.blocks if isinstance(block, Table)]
    assert all(isinstance(row[0], Link) for row in table.rows)
    assert view.next == "%pge verify"
    assert view.foot.startswith("run ")
    assert shell.cell(f"%pge export {form}").error is None


def test_an_export_goes_where_it_is_told_and_refuses_what_is_a_persons(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    (tmp_path / "paper").mkdir()
    shell.cell("%pge export html --to paper")
    assert (tmp_path / "paper" / "report.html").is_file()
    shell.cell("%pge export html --to paper/run.html")
    assert (tmp_path / "paper" / "run.html").is_file()
    shell.cell("%pge export csv --to paper")
    assert (tmp_path / "paper" / "cost.csv").is_file()
    (tmp_path / "paper" / "cost.tex").write_text("mine")
    told = shell.cell("%pge export latex --to paper")
    assert isinstance(told.error, BadInput)
    assert "cost.tex is there" in told.text
    assert "--to PATH" in told.text
    assert not (tmp_path / "paper" / "plan.tex").exists()
    outside = tmp_path.parent / f"{tmp_path.name}-outside.html"
    view = shell.cell(f"%pge export html --to {outside}").view
    assert str(outside) in view.plain()
    assert "href" not in view.html()
    outside.unlink()


def test_an_earlier_run_is_exported_under_its_number_and_an_edited_prompt_stops_no_export(
    shell: Shell, tmp_path: Path
) -> None:
    shell.cell(f"{RUN};")
    shell.cell("%pge export html;")
    shell.cell("%pge run --practice roman;")
    assert "Roman" in shell.cell("%pge export html").view.title
    earlier = shell.cell("%pge export html @1").view
    assert "Roman" not in earlier.title
    assert (tmp_path / EXPORTS / "1" / "report.html").is_file()
    assert sorted(path.name for path in (tmp_path / "earlier" / "1").iterdir()) == [".pge", "shared_state.md", "work"]


def test_a_task_has_its_exports_beside_its_state_file_and_cannot_be_called_exports(
    shell: Shell, tmp_path: Path
) -> None:
    shell.cell("%pge run mine --practice stats --seed 2;")
    assert 'href="./mine/exports/report.html"' in shell.cell("%pge export html").view.html()
    assert "cannot be the name of a task" in shell.cell("%pge run exports --practice stats").text
    told = json.loads((tmp_path / "mine" / EXPORTS / RECORD).read_bytes())
    assert list(told) == ["report.html"]


def test_before_a_run_there_is_nothing_to_export(shell: Shell, tmp_path: Path) -> None:
    assert isinstance(shell.cell("%pge export csv").error, BadInput)
    assert "Did you mean latex?" in shell.cell("%pge export latec").text
    assert list(tmp_path.iterdir()) == []
