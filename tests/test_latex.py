"""Views as LaTeX: in the flow of a page, and their tables for a paper. Every text in them may be an attack."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import latex_reader
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_reader import NotLatex
from nbconvert import HTMLExporter, LatexExporter
from sample_runs import HOSTILE, hostile_run
from test_display import RUNS, VIEWS

from pge_nb import latex, views
from pge_nb.display import Code, Diff, Fold, Link, Mark, Picture, Table, Verbatim, View, Words
from pge_nb.errors import BadInput
from pge_nb.markdown import visible

ATTACKS = (
    r"\input{/etc/passwd}",
    r"\end{tabular}\write18{rm -rf /}",
    "100 % of $x_1^2$ & #1 ~ {a} \\\\ [2ex]",
    "[t] *",
    "a\n\nb \\par",
    "^^5cinput",
    "--budget ''x'' ,,y'' <<z>> ?` !`",
    "\x1b[31m \u202e \u2028 \ud800",
    HOSTILE,
)
TABULAR = (
    "\\begin{{tabular}}{{@{{}}ll@{{}}}}\n\\toprule\n{} \\tabularnewline\n\\midrule\n"
    "{} \\tabularnewline\n\\bottomrule\n\\end{{tabular}}"
)
every_view = pytest.mark.parametrize(
    "view",
    [pytest.param(draw(run), id=f"{what} of {name}") for name, run in RUNS.items() for what, draw in VIEWS.items()],
)


def document(*parts: str) -> str:
    packages = r"\usepackage{fontspec}\usepackage{booktabs,longtable}"
    return "\n\n".join([rf"\documentclass{{article}}{packages}\begin{{document}}", *parts, r"\end{document}"])


# Text


@pytest.mark.parametrize("said", ATTACKS)
@pytest.mark.parametrize("write", [latex.text, latex.code, latex.verbatim], ids=["text", "code", "verbatim"])
def test_an_attack_is_only_words(said: str, write: object) -> None:
    printed = latex_reader.read(write(said))  # type: ignore[operator]
    assert printed.split() == visible(said).split()


@given(st.text(max_size=80))
def test_any_text_is_printed_as_it_is(said: str) -> None:
    words = visible(said).split()
    assert latex_reader.read(latex.text(said)) == " ".join(words)
    assert latex_reader.read(latex.verbatim(said)).split() == words


def test_what_a_reader_would_not_see_is_spelled_out() -> None:
    assert latex_reader.read(latex.text("a\u202eb\x1b")) == "a\\u202eb\\u001b"


def test_other_scripts_stand_as_they_are() -> None:
    assert latex.text("写函数 اكتب 🙂") == "写函数 اكتب 🙂"


def test_two_hyphens_are_no_dash_and_a_minus_is_one() -> None:
    assert latex.text("--raise") == "-{}-raise"
    assert latex.words("-0.25").tex == "$-$0.25"
    assert latex.words("-$0.25").tex == r"$-$\$0.25"
    assert latex.words("-o NAME").tex == "-o NAME"


def test_a_long_word_may_be_broken_at_its_joints_and_a_short_one_is_left_alone() -> None:
    assert latex.text("a/b") == "a/b"
    assert latex.text("src/package/module.py") == r"src/\allowbreak{}package/\allowbreak{}module.\allowbreak{}py"


def test_a_long_text_is_cut_and_the_cut_is_shown() -> None:
    assert latex_reader.read(latex.text("word " * 400, 100)).endswith("word wo...")
    assert len(latex.words("word " * 400, 100).tex) == 100


def test_verbatim_keeps_lines_and_blanks_and_ends_with_no_word_of_its_own() -> None:
    written = latex.verbatim("if x:\n    y\n\n\\end{verbatim}")
    assert r"\noindent if\ x:\par" in written
    assert r"\noindent \ \ \ \ y\par" in written
    assert r"\mbox{}\par" in written
    assert r"\textbackslash{}end\{verbatim\}" in written


# Views


@every_view
def test_every_view_is_latex_that_tex_takes_and_no_text_of_an_agent_is_a_command(view: View) -> None:
    latex_reader.read(view.latex())
    if "text/latex" in view._repr_mimebundle_():
        latex_reader.read(view.to_latex(label="tab:one"))


@every_view
def test_latex_says_what_markdown_says(view: View) -> None:
    printed = latex_reader.read(view.latex())
    for said in (view.title, *view.notes, view.foot):
        assert " ".join(visible(said).split())[:500] in printed


def test_only_a_view_with_a_table_has_latex_in_its_bundle_and_html_comes_first() -> None:
    table = Table(caption="c", heads=("h",), rows=(("x",),))
    assert "text/latex" not in View(title="t", blocks=(Words("w"), Verbatim(text="v")))._repr_mimebundle_()
    assert "text/latex" in View(title="t", blocks=(Fold(summary="s", blocks=(table,)),))._repr_mimebundle_()
    assert next(iter(View(title="t", blocks=(table,))._repr_mimebundle_())) == "text/html"


def test_a_page_takes_the_html_and_a_pdf_the_latex() -> None:
    bundle = views.run_view(hostile_run())._repr_mimebundle_()
    output = nbformat.v4.new_output("execute_result", data=bundle, execution_count=1)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%pge", execution_count=1, outputs=[output])])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "Checks met</th>" in page
    assert "tabularnewline" not in page
    paper, _ = LatexExporter().from_notebook_node(notebook)
    assert r"Step & Work & Checks met" in re.sub(r"\\raggedright ", "", paper)
    assert {"booktabs", "longtable"} <= set(re.findall(r"\\usepackage\{(\w+)\}", paper))


def test_every_kind_of_cell_and_block_has_its_latex() -> None:
    table = Table(
        caption="50 % of all",
        heads=("Word", "Number", "Nothing", "Mark", "Code", "Link", "Money"),
        rows=(("a & b", -1234.5, None, Mark("pass"), Code("%pge show"), Link("a_b.py", "x/a_b.py"), "$0.02"),),
    )
    picture = Picture(draw=lambda: b"", alt="Step 1 attempt 1: pass.")
    view = View(title="t", blocks=(table, picture, Diff(text="+x = {1}\n-x", label="a_b.py"), Verbatim(text="\\x")))
    assert r"a \& b & $-$1,234.5 & -- & pass & \texttt{\%pge show} & a\_b.py & \$0.02 \tabularnewline" in view.latex()
    assert r"\begin{longtable}{@{}lrrlllr@{}}" in view.latex()
    assert r"\itshape\noindent 50 \% of all\par}" in view.latex()
    assert r"\caption" not in view.latex()
    assert r"\emph{Chart:} Step 1 attempt 1: pass." in view.latex()
    assert r"\noindent +x\ =\ \{1\}\par" in view.latex()
    latex_reader.read(view.latex())


# Tables for a paper


def test_a_table_for_a_paper_floats_and_says_below_it_what_a_reader_must_not_miss() -> None:
    written = views.plan_view(RUNS["sample"]).to_latex("The plan of run #1", "tab:plan")
    assert written.count(r"\begin{table}") == 2
    assert r"\caption{The plan of run \#1}\label{tab:plan}" in written
    assert r"\caption{Criteria (scores 0 to 10)}\label{tab:plan-2}" in written
    assert written.count("simulated, no language model wrote or judged") == 2
    assert written.count("rater rater-4f2a9c01") == 2
    assert "Next:" not in written


def test_folded_tables_are_for_a_paper_only_where_no_other_is_there() -> None:
    seen = Table(caption="seen", heads=("h",), rows=(("x",),))
    folded = Fold(summary="s", blocks=(Table(caption="folded", heads=("h",), rows=(("x",),)),))
    assert "folded" not in View(title="t", blocks=(seen, folded)).to_latex()
    assert "folded" in View(title="t", blocks=(folded,)).to_latex()


def test_a_table_of_more_than_a_page_flows_since_a_float_cannot_break() -> None:
    def written(rows: int) -> str:
        table = Table(caption="c", heads=("h",), rows=tuple((f"row {n}",) for n in range(rows)))
        return View(title="t", blocks=(table,), notes=("simulated",)).to_latex(label="long")

    assert r"\begin{table}" in written(latex.ONE_PAGE)
    longer = written(latex.ONE_PAGE + 1)
    assert r"\begin{table}" not in longer
    assert r"\label{long}" in longer
    assert latex_reader.read(longer).rstrip().endswith("simulated")


def test_a_label_that_tex_would_act_on_and_a_view_without_a_table_are_refused() -> None:
    table = Table(caption="c", heads=("h",), rows=(("x",),))
    with pytest.raises(BadInput, match="cannot be a label"):
        View(title="t", blocks=(table,)).to_latex(label=r"a}\input{b")
    with pytest.raises(BadInput, match="holds no table"):
        View(title="t").to_latex()


def test_a_table_of_many_columns_takes_smaller_letters_until_it_fits() -> None:
    def written(columns: int) -> str:
        heads = tuple(f"Column {n}" for n in range(columns))
        return View(title="t", blocks=(Table(caption="c", heads=heads, rows=(heads,)),)).to_latex()

    sizes = [re.search(r"\\centering(\\[a-z]+)", written(columns))[1] for columns in (3, 8, 9, 12)]  # type: ignore[index]
    assert sizes == [r"\small", r"\footnotesize", r"\scriptsize", r"\tiny"]


def test_the_column_that_holds_most_has_most_of_the_room() -> None:
    row = ("c1", "a sentence of about forty characters in it", "evidence " * 30)
    written = View(title="t", blocks=(Table(caption="c", heads=("a", "b", "c"), rows=(row,)),)).to_latex()
    middle, last = map(float, re.findall(r"p\{([\d.]+)", written))
    assert 0.1 < middle < last
    assert middle + last < 1


# The reader itself, and TeX


def test_the_reader_takes_what_is_whole() -> None:
    assert latex_reader.read(TABULAR.format("a & b", "c & d")).split() == ["a", "&", "b", "c", "&", "d"]


@pytest.mark.parametrize(
    "broken",
    [
        r"\input{x}",
        "100 % of",
        "a_b",
        "a & b",
        "{a",
        "a}",
        r"\begin{tabular}{@{}l@{}}",
        r"\begin{verbatim}x\end{verbatim}",
        r"\\",
        "[x]",
        TABULAR.format("a & b", "a"),
        TABULAR.format("a & b", "* & b"),
        "\\begin{tabular}{@{}l@{}}\na \\tabularnewline\n\\end{tabular}",
        "\u202ea",
    ],
)
def test_the_reader_refuses_what_is_broken(broken: str) -> None:
    with pytest.raises(NotLatex):
        latex_reader.read(broken)


@pytest.mark.skipif(shutil.which("xelatex") is None, reason="TeX is not here; the reader stands in for it")
def test_tex_sets_all_of_it(tmp_path: Path) -> None:
    attacks = Table(caption=ATTACKS[1], heads=("[h]", "*"), rows=tuple((said, Code(said)) for said in ATTACKS))
    shown = [View(title=HOSTILE, blocks=(attacks, *(Verbatim(text=said) for said in ATTACKS)))]
    shown += [draw(RUNS["hostile"]) for what, draw in VIEWS.items() if what != "all evaluations"]
    parts = [part for view in shown for part in (view.latex(), view.to_latex(label="t"))]
    (tmp_path / "paper.tex").write_text(document(*parts), encoding="utf-8")
    ran = subprocess.run(
        ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2_000:]
    assert "Overfull \\hbox (" not in re.sub(
        r"Overfull \\hbox \(\d{1,2}\.\d+pt too wide\) in paragraph", "", ran.stdout
    )
