from __future__ import annotations

import importlib
import math
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

from pge_nb import calibration as cal
from pge_nb.errors import BadInput

ESTIMATE = cal.Estimate(
    value=0.5, low=-0.25, high=0.75, level=0.9, method="a & b <i>", n=12, groups=3, missing=2, notes=("50 % of _x_",)
)


def test_an_estimate_is_a_number_and_unpacks() -> None:
    value, low, high = ESTIMATE
    assert (value, low, high) == (0.5, -0.25, 0.75)
    assert float(ESTIMATE) == 0.5
    with pytest.raises(AttributeError):
        ESTIMATE.value = 1.0  # type: ignore[misc]


def test_an_estimate_shows_itself_as_text() -> None:
    assert str(ESTIMATE).splitlines() == [
        "0.500 (90 % interval -0.250 to 0.750; a & b <i>; n = 12, 3 groups, 2 missing)",
        "  50 % of _x_",
    ]
    assert "not measurable" in str(cal.Estimate(value=math.nan, low=0, high=1, level=0.95, method="", n=0))


def test_a_shell_shows_the_text_and_not_the_fields() -> None:
    from IPython.lib.pretty import pretty

    assert pretty(ESTIMATE) == str(ESTIMATE)
    rates = cal.verdict_rates([1, 0, 1, 1], [1, 0, None, 0])
    assert pretty(rates) == str(rates)
    assert "measured.tpr: 0.500" in str(rates)
    assert "good and unmeasured 1" in str(rates)


def test_html_has_literal_styles_only_and_escapes() -> None:
    rates = cal.verdict_rates([1, 0, 1, 1], [1, 0, None, 0])
    for html in (ESTIMATE._repr_html_(), rates._repr_html_()):
        assert not re.search(r"<style|<svg|<script|var\(|aria-|class=", html)
        assert set(re.findall(r"</?([a-z]+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td", "b", "p"}
        # An untrusted HTML block keeps its balance.
        assert MarkdownIt().render(html)
        assert html.count("<td") == html.count("</td>")
    assert "&lt;i&gt;" in ESTIMATE._repr_html_()


def test_latex_escapes_what_would_be_a_command() -> None:
    latex = ESTIMATE._repr_latex_()
    assert r"a \& b $<$i$>$" in latex
    assert r"50 \% of \_x\_." in latex
    assert "$-0.250$" in latex
    table = cal.verdict_rates([1, 0, 1], [1, 0, 0])._repr_latex_()
    assert r"false\_pass &" in table
    assert table.startswith(r"\begin{tabular}")


def test_a_table_for_a_paper_has_value_interval_basis_and_how_each_interval_was_made() -> None:
    rates = cal.verdict_rates([1, 0, 1, 0] * 10, [1, 0, 0, 1] * 10)
    latex = rates._repr_latex_()
    assert re.findall(r"\\(toprule|midrule|bottomrule)", latex) == ["toprule", "midrule", "bottomrule"]
    rows = re.findall(r"(?m)^(.* & .*) \\\\$", latex)
    assert len(rows) == 1 + len(rates.estimates())
    assert {row.count(" & ") for row in rows} == {4}
    assert r"tpr & $0.500$ & " in latex
    assert " & n = 20 " in latex
    below = latex.partition(r"\end{tabular}")[2]
    for name, estimate in rates.estimates().items():
        how = next(line for line in below.split("\n") if name.replace("_", r"\_") in line)
        assert estimate.method in how.replace("\\", "")
        assert r"95 \% interval" in how


def test_one_group_is_not_said_in_the_plural() -> None:
    assert replace(ESTIMATE, groups=1).basis.count("1 group") == 1
    assert "groups" not in replace(ESTIMATE, groups=1).basis
    assert "2 groups" in replace(ESTIMATE, groups=2).basis


def test_public_names_live_where_the_table_says() -> None:
    assert sorted(cal.HOME) == sorted(cal.__all__)
    for name, module in cal.HOME.items():
        home = importlib.import_module(f"pge_nb.calibration.{module}")
        assert getattr(cal, name) is getattr(home, name)
        assert not hasattr(sys.modules.get(f"pge_nb.calibration.{name}"), "__path__")
    with pytest.raises(AttributeError, match="nothing"):
        cal.nothing  # noqa: B018


def test_import_is_light_until_a_name_is_used() -> None:
    script = "import sys, pge_nb.calibration; print([m for m in ('scipy', 'sklearn', 'pandas', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_ratings_from_long_data() -> None:
    frame = pd.DataFrame({"item": [1, 1, 2, 2, 3], "who": list("ababa"), "said": ["x", "y", "x", "x", "y"]})
    wide = cal.ratings_from(frame, "item", "who", "said")
    assert wide.shape == (3, 2)
    assert wide.loc[2].tolist() == ["x", "x"]
    assert cal.krippendorff_alpha(wide).missing == 1
    with pytest.raises(BadInput, match="more than once"):
        cal.ratings_from(pd.concat([frame, frame.iloc[:1]]), "item", "who", "said")
    with pytest.raises(BadInput, match="no column"):
        cal.ratings_from(frame, "item", "rater", "said")


@pytest.mark.parametrize(
    ("tail", "fact"),
    [
        ({"level": 95}, "level is 95"),
        ({"interval": "wald"}, "interval is 'wald'"),
        ({"groups": [1, 2]}, "groups has 2 values"),
        ({"groups": [1, None, 2, 2]}, "has no group"),
        ({"item_weights": [1, -1, 1, 1]}, "above 0"),
        ({"item_weights": [1, 1]}, "item_weights has 2"),
        ({"item_weights": ["a", 1, 1, 1]}, "not a number"),
    ],
)
def test_a_tail_that_cannot_be_used_is_named(tail: dict[str, object], fact: str) -> None:
    with pytest.raises(BadInput, match=re.escape(fact)):
        cal.percent_agreement([0, 1, 0, 1], [0, 1, 1, 1], **tail)


def test_lengths_that_differ_are_named() -> None:
    with pytest.raises(BadInput, match="a 2, b 3"):
        cal.cohen_kappa([0, 1], [0, 1, 1])
    with pytest.raises(BadInput, match="dimensions"):
        cal.cohen_kappa(np.zeros((2, 2)), [0, 1])


def test_a_wider_level_gives_a_wider_interval() -> None:
    a, b = [0, 1] * 20, [0, 1, 1, 1] * 10
    narrow, wide = (cal.cohen_kappa(a, b, level=level) for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
