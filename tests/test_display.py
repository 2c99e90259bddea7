"""What a cell returns, in all its forms, for runs whose every text is hostile."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from sample_runs import HOSTILE, LONG, asking_run, hostile_run, long_run, sample_run
from sanitizer import read
from test_charts import contrast

from pge_nb import display, views
from pge_nb.columns import columns_of
from pge_nb.display import Code, Fold, Mark, Picture, Table, Verbatim, View, Words
from pge_nb.run import Run
from pge_nb.views.work import Side

RUNS = {"sample": sample_run(), "hostile": hostile_run(), "long": long_run(3, 4), "asking": asking_run()}
VIEWS = {
    "run": views.run_view,
    "plan": views.plan_view,
    "contract": views.contract_view,
    "evaluations": views.evaluations_view,
    "all evaluations": lambda run: views.evaluations_view(run, 1),
    "trajectory": views.trajectory_view,
    "decisions": views.decisions_view,
    "cost": views.cost_view,
}


@functools.cache
def html_of(view: View) -> str:
    """Drawing takes a while; a view is a value, so once is enough."""
    return view.html()


every_view = pytest.mark.parametrize(
    "view",
    [pytest.param(draw(run), id=f"{what} of {name}") for name, run in RUNS.items() for what, draw in VIEWS.items()],
)


@every_view
def test_html_survives_the_sanitizer_whole(view: View) -> None:
    assert read(html_of(view)).stripped == []


@every_view
def test_no_text_of_an_agent_becomes_markup(view: View) -> None:
    html = html_of(view)
    assert "<script" not in html
    assert "onerror=alert(2)>" not in html
    rendered = MarkdownIt("commonmark").enable("table").render(view.markdown())
    assert "<script" not in rendered
    assert "<img" not in rendered


MATHEMATICS = (
    "likely $0.12, at most $0.50",
    "$x$",
    "$$y$$",
    r"\(z\)",
    r"\[z\]",
    r"\begin{align}q\end{align}",
    r"see \eqref{a} and \ref{b}",
    "a\n$b\nc$",
)


@pytest.mark.parametrize("said", MATHEMATICS)
def test_jupyterlab_takes_no_text_for_mathematics(said: str) -> None:
    table = Table(caption=said, heads=(said,), rows=((said,), (Mark(said),), (said + "x" * 400,)))
    fold = Fold(summary=said, blocks=(Verbatim(label=said, text=said),))
    view = View(title=said, blocks=(Words(said), table, fold), notes=(said,), foot=said)
    found = Strings(view.html())
    assert not [text for text in found.texts if display.MATHEMATICS.search(text)]
    assert read(view.html()).stripped == []
    assert "".join(found.texts).count(said.split("\n", maxsplit=1)[0]) >= 8
    picture = Picture(draw=lambda: b"", alt=said)
    assert read(View(title="t", blocks=(picture,)).html()).alts == [said]


class Strings(HTMLParser):
    """The texts of a page as MathJax reads them: each ends at a tag, and those in code are left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.code = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.code += tag in {"pre", "code"}

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in {"pre", "code"}

    def handle_data(self, data: str) -> None:
        if not self.code:
            self.texts.append(data)


@every_view
def test_nothing_unseen_reaches_a_terminal_or_turns_the_text_around(view: View) -> None:
    for text in (view.plain(), view.markdown(), html_of(view)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


@every_view
def test_one_next_action_is_the_last_line_before_the_foot(view: View) -> None:
    *_, action, foot = view.plain().split("\n")
    assert re.fullmatch(r"Next: %pge [a-z-]+( [\w.-]+)*", action)
    assert foot.startswith("run 0123456789abcdef · ")
    assert html_of(view).rindex("Next:") > max(html_of(view).rfind("</table>"), html_of(view).rfind("</details>"))


@every_view
def test_simulated_and_not_isolated_have_lines_of_their_own(view: View) -> None:
    for text in (view.plain(), view.markdown()):
        assert any(line.startswith("Practice model") and "simulated" in line for line in text.split("\n"))
        assert any(line.startswith("Not isolated:") for line in text.split("\n"))
    assert "<div>Not isolated:" in html_of(view)


def test_the_foot_says_run_section_head_time_and_rater() -> None:
    run = sample_run()
    foot = views.foot(run)
    assert (
        foot
        == f"run 0123456789abcdef · 24 sections · head {run.head[:12]} · 2026-11-30 10:23 UTC · rater rater-4f2a9c01"
    )


def test_the_first_output_shows_five_nouns_and_folds_the_rest() -> None:
    view = views.run_view(sample_run())
    html = view.html()
    shown = html[: html.index("<details")]
    for word in ("Slugs from titles", "Step", "Checks met", "Attempts", "Verdict"):
        assert word in shown
    assert shown.count("<table") == 1
    assert view.plain().count("%pge show") == 5


def test_a_view_holds_its_frame() -> None:
    assert len(views.evaluations_view(sample_run(), 1, 1).df) == 5  # type: ignore[arg-type]
    assert len(views.plan_view(sample_run()).df) == 2  # type: ignore[arg-type]


def test_a_view_that_was_given_no_frame_has_that_of_its_tables() -> None:
    heads = ("What it is", "Size (bytes)", "Mark")
    first = Table(caption="One", heads=heads, rows=((Code("a"), 1, Mark("pass")), ("b\ud800", None, None)))
    other = Table(caption="Other", heads=("x",), rows=(("y",),))
    frame = View(title="t", blocks=(Words("w"), first, other)).df
    assert frame is not None
    assert list(frame.columns) == ["what_it_is", "size_bytes", "mark"]
    assert frame["what_it_is"].tolist() == ["a", "b\\ud800"]
    assert frame["size_bytes"].isna().tolist() == [False, True]
    assert frame.loc[0, "mark"] == "pass"
    stacked = View(title="t", blocks=(first, replace(first, caption="Two"))).df
    assert stacked is not None
    assert stacked["table"].tolist() == ["One", "One", "Two", "Two"]
    assert View(title="t", blocks=(Fold(summary="s", blocks=(first,)),)).df is None


def test_replayed_evidence_says_that_it_was_not_run_here() -> None:
    text = views.evaluations_view(sample_run(), 1, 3).html()
    assert "e1 (command, replayed, not run here)" in text


def test_weak_evidence_says_so() -> None:
    assert "e3 (file, weak)" in views.evaluations_view(sample_run(), 1, 1).html()


def test_what_a_judge_said_is_kept_where_it_could_not_be_used() -> None:
    assert "I cannot rate this." in views.evaluations_view(sample_run(), 1, 2).html()


def test_a_paused_run_shows_its_question_and_how_to_answer() -> None:
    view = views.run_view(asking_run())
    assert "What now? Answers: retry, keep, stop." in view.plain()
    assert view.next == "%pge answer retry"


def test_a_running_run_is_to_be_resumed() -> None:
    run = Run(sample_run().sections[:8])
    assert views.run_view(run).next == "%pge resume"


def test_the_picture_carries_the_numbers_as_its_alt_text() -> None:
    [alt] = read(views.trajectory_view(sample_run()).html()).alts
    assert "Step 1 attempt 1: fail, overall 4.9" in alt


def test_a_long_text_is_cut_folded_and_its_size_told() -> None:
    view = View(title="t", blocks=(Table(caption="c", heads=("h",), rows=((LONG,),)),))
    assert f"all {len(LONG):,} characters" in view.html()
    assert len(LONG) > 1_000
    endless = View(title="t", blocks=(Table(caption="c", heads=("h",), rows=(("x" * 50_000,),)),))
    assert "first 4,000 of 50,000 characters" in endless.html()
    assert len(endless.html()) < 6_000


def test_the_words_of_a_picture_are_whole_in_html_and_cut_with_their_size_told_in_text() -> None:
    view = views.trajectory_view(long_run(30, 4))
    [alt] = read(view.html()).alts
    assert len(alt) > 4_000
    assert alt.endswith("then kept.")
    for text in (view.plain(), view.markdown().replace("\\", "")):
        assert f"(first 4,000 of {len(alt):,} characters)" in text


def test_badges_have_the_contrast_that_reading_takes() -> None:
    for ground in (*display.GROUNDS.values(), display.PLAIN_GROUND):
        assert contrast("#ffffff", ground) >= 7


def test_text_inherits_its_colour_so_that_any_theme_can_be_read() -> None:
    html = views.run_view(sample_run()).html()
    for style in re.findall(r'style="([^"]*)"', html):
        has_colour = re.search(r"(^|;)color:", style)
        assert not has_colour or "background-color" in style


THEMES = ("#ffffff", "#111111")
"""The grounds of a page in JupyterLab's light and dark theme."""
BESIDE = views.beside_view([Side(run=RUNS["sample"], root=Path(), step=1, attempt=number) for number in (1, 4)])


@pytest.mark.parametrize("view", [BESIDE, *(draw(run) for run in RUNS.values() for draw in VIEWS.values())])
def test_every_inline_colour_can_be_read_in_both_themes(view: View) -> None:
    for style in re.findall(r'style="([^"]*)"', html_of(view)):
        rules = dict(rule.split(":", 1) for rule in style.split(";"))
        grounds = [rules["background-color"]] if "background-color" in rules else THEMES
        if "color" in rules:
            assert all(contrast(rules["color"], ground) >= 4.5 for ground in grounds), style
        for line in re.findall(r"border[^:;]*:[^;]*(#[0-9a-f]{6})", style):
            assert all(contrast(line, ground) >= 3 for ground in THEMES), style


@every_view
def test_every_table_has_a_caption_and_heads_of_columns_and_rows(view: View) -> None:
    html = html_of(view)
    count = html.count("<table")
    assert html.count("<caption") == count
    assert html.count('<thead><tr><th scope="col"') == count
    assert html.count('<tr><th scope="row"') == html.count("<tr>") - count


@every_view
def test_every_meter_has_its_number_beside_it(view: View) -> None:
    html = html_of(view)
    assert html.count("<meter") == len(re.findall(r"</meter> &lt;?\d+ %|</meter> \d+ %", html))


def test_a_verdict_is_a_word_beside_its_colour() -> None:
    for word in ("pass", "fail", "unmeasured"):
        assert f"{display.SIGNS[word]} {word}" in View(title="t", mark=word).html()


def test_the_bundle_is_json_of_every_form() -> None:
    bundle = views.run_view(hostile_run())._repr_mimebundle_(include=None, exclude=None)
    assert set(json.loads(json.dumps(bundle))) == {"text/html", "text/markdown", "text/latex", "text/plain"}
    for text in bundle.values():
        text.encode("utf-8")


def test_a_table_fits_a_terminal_and_loses_no_word() -> None:
    table = Table(caption="c", heads=("a", "b", "c"), rows=(("word " * 30, Mark("pass"), "你好 " * 20),))
    lines = View(title="t", blocks=(table,)).plain().split("\n")
    assert max(columns_of(line) for line in lines) <= 100
    assert sum(line.count("word") for line in lines) == 30
    assert sum(line.count("你好") for line in lines) == 20


def test_what_is_verbatim_stays_so_in_every_form() -> None:
    text = "line 1\n  line 2 ``` <b>\n" + HOSTILE
    view = View(title="t", blocks=(Verbatim(label="sent", text=text),))
    assert "line 1\n  line 2 ``` <b>" in "".join(read(view.html()).words)
    tokens = MarkdownIt("commonmark").parse(view.markdown())
    [fence] = [token.content for token in tokens if token.type == "fence"]
    assert fence.startswith("line 1\n  line 2 ``` <b>\n<script>")


def test_a_fold_keeps_its_content_in_markdown_and_names_its_command_in_plain_text() -> None:
    view = View(title="t", blocks=(Fold(summary="More", blocks=(Words("inside"),), see="%pge show plan"),))
    assert "inside" in view.markdown()
    assert "+ More (%pge show plan)" in view.plain()
    assert "inside" not in view.plain()


def test_code_with_a_bar_breaks_no_markdown_table() -> None:
    view = View(title="t", blocks=(Table(caption="c", heads=("h", "i"), rows=((Code("a|b"), "`x` | y\nz"),)),))
    rendered = MarkdownIt("commonmark").enable("table").render(view.markdown())
    assert rendered.count("<td>") == 2
