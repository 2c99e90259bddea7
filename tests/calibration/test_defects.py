"""Planted defects and sham edits: one place is changed, the rest stays to the byte, and a sham changes nothing that is done."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

import pytest

from pge_nb import bank
from pge_nb.calibration import defects
from pge_nb.calibration.defects import Planted, defects_of, drawn, shams_of, untouched

CODE = '''\
"""A shop — with a café."""

RATE = 2
NAMES = {}


def total(items, most=10):  # é
    """Add up. Stops at most items. An empty list gives 0.

    Raises ValueError where most is negative.
    """
    found = 0
    seen = []
    if most < 0 or (items is None):
        raise ValueError("é")
    for number in range(len(items)):
        if not items[number]:
            continue
        elif number >= most:
            break
        found += items[number] * RATE
    try:
        found = found - 0
    except TypeError:
        found = None
    return f"{found + 1}" if "x" in NAMES and found == 3 else found


def test_total():
    assert total([1]) == 2
    assert total([]) == 0


@staticmethod
def test_other():
    assert total([2]) == 4
'''
TEXT = """\
# Guide

The shop is open from 9 to 17. See [the map](map.md) for 12.5 km of ways. It can be seen from afar.

```
not prose. 3
```

Call us. We are here.
"""


def by_kind(sites: tuple[Planted, ...]) -> dict[str, list[Planted]]:
    found: dict[str, list[Planted]] = {}
    for site in sites:
        found.setdefault(site.kind, []).append(site)
    return found


def solutions() -> Iterator[tuple[str, str]]:
    for task in bank.tasks():
        for step in task.steps:
            yield from step.solution.items()


def is_splice(text: str, site: Planted) -> bool:
    """Whether the text with ``before`` replaced by ``after`` in one place is what was made."""
    alike = (at for at, (old, new) in enumerate(zip(text, site.text, strict=False)) if old != new)
    lead = next(alike, min(len(text), len(site.text)))
    return any(
        text[:at] + site.after + text[at + len(site.before) :] == site.text
        for at in range(max(0, lead - len(site.before) - len(site.after)), lead + 1)
        if text.startswith(site.before, at)
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_kind_of_defect_is_found_and_only_its_place_changes(end: str) -> None:
    text = CODE.replace("\n", end)
    found = by_kind(defects_of("shop.py", text))
    assert set(found) == {*defects.BEHAVIOUR, "deleted test", "fact removed"}
    for site in (one for listed in found.values() for one in listed):
        assert is_splice(text, site), site
        assert ast.dump(ast.parse(site.text)) != ast.dump(ast.parse(text))
        assert site.text.count(end) == site.text.count("\n")
    told = {(site.before, site.after) for site in found["operator"]}
    assert {("or", "and"), ("*", "+"), ("not ", ""), ("is", "is not"), ("in", "not in"), ("==", "!=")} <= told
    assert {(site.before, site.after) for site in found["boundary"]} == {("<", "<="), (">=", ">")}
    assert (" - 1") in [site.after for site in found["off by one"]]
    assert {site.after for site in found["swallowed error"]} == {"return", "pass"}
    assert {site.before.split()[0] for site in found["dropped branch"]} == {"if", "elif"}
    assert [site.before.split("(")[0].split()[-1] for site in found["deleted test"] if "def" in site.before] == [
        "test_total",
        "test_other",
    ]
    removed = " ".join(site.before for site in found["fact removed"])
    assert "An empty list gives 0." in removed
    assert "Raises ValueError" in removed
    assert "Add up" not in removed
    assert any(site.where.endswith("in total") for site in found["boundary"])


def test_a_sham_edit_leaves_the_program_as_it_was() -> None:
    found = by_kind(shams_of("shop.py", CODE))
    assert set(found) == set(defects.SHAM)
    for site in found["comment"] + found["blank line"]:
        assert ast.dump(ast.parse(site.text)) == ast.dump(ast.parse(CODE))
    outcomes = []
    for text in (CODE, *(site.text for site in found["renamed local"] + found["reordered lines"])):
        names: dict[str, object] = {}
        exec(compile(text, "shop.py", "exec"), names)
        outcomes.append([names["total"](items) for items in ([], [1, 2], [0, 3], [1] * 12)])  # type: ignore[operator]
    assert len(outcomes) > 3
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_the_shams_of_the_banks_solutions_are_python_and_change_no_behaviour_that_a_tree_can_show() -> None:
    met = 0
    for path, text in solutions():
        if path.endswith(".py"):
            for site in shams_of(path, text):
                met += 1
                assert is_splice(text, site)
                assert len(list(ast.walk(ast.parse(site.text)))) == len(list(ast.walk(ast.parse(text))))
    assert met > 500


def test_a_local_that_another_scope_may_see_keeps_its_name() -> None:
    texts = (
        "def f():\n    x = 1\n    return lambda: x\n",
        "def f():\n    x = 1\n    return locals()\n",
        "def f():\n    global x\n    x = 1\n",
        "def f(x):\n    x = x + 1\n    return x\n",
        "def f():\n    x = 1\n    return f'{x}'\n",
    )
    assert [site for text in texts for site in shams_of("a.py", text) if site.kind == "renamed local"] == []


def test_a_text_loses_facts_and_numbers_and_gains_contradictions_and_dead_links() -> None:
    found = by_kind(defects_of("guide.md", TEXT))
    assert set(found) == {"fact removed", "number changed", "contradiction", "dead link"}
    assert all(is_splice(TEXT, site) for listed in found.values() for site in listed)
    assert [(site.before, site.after) for site in found["number changed"]] == [
        ("9", "1"), ("17", "27"), ("12.5", "22.5"),
    ]  # fmt: skip
    assert [site.after for site in found["dead link"]] == ["map-gone.md"]
    assert " The shop is not open from 9 to 17." in [site.after for site in found["contradiction"]]
    assert all("not prose" not in site.before for site in found["fact removed"])
    assert {site.kind for site in shams_of("guide.md", TEXT)} == {"comment", "blank line"}


def test_a_notebook_is_written_as_its_clean_copy_is() -> None:
    (text,) = [text for path, text in solutions() if path.endswith(".ipynb")]
    loose = json.dumps(json.loads(text))
    book = json.loads(text)
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    code[0]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["12 of 30\n"]}]
    found = by_kind(defects_of("report.ipynb", json.dumps(book)))
    assert {"stale output", "cell out of order"} <= set(found)
    assert "22 of 30\n" in [site.after for site in found["stale output"]]
    clean = untouched("report.ipynb", json.dumps(book))
    for site in (one for listed in found.values() for one in listed):
        lines = set(clean.split("\n")) ^ set(site.text.split("\n"))
        assert untouched("report.ipynb", site.text) == site.text
        assert lines or site.kind == "cell out of order", site
    assert untouched("report.ipynb", loose) == untouched("report.ipynb", text)
    assert untouched("a.py", "x = 1\r\n") == "x = 1\r\n"
    assert all(json.loads(site.text)["nbformat"] == 4 for site in shams_of("report.ipynb", text))


@pytest.mark.parametrize("text", ["", "def f(:\n", "\ud83d", "x" * 10, "\0", "(" * 5_000])
@pytest.mark.parametrize("path", ["a.py", "a.md", "a.ipynb", "a.bin"])
def test_what_cannot_be_read_has_no_sites_or_harmless_ones(path: str, text: str) -> None:
    for site in (*defects_of(path, text), *shams_of(path, text)):
        assert site.text != text


def test_kinds_take_turns_in_a_draw_and_the_seed_decides() -> None:
    sites = defects_of("shop.py", CODE)
    kinds = {site.kind for site in sites}
    assert {site.kind for site in drawn(sites, len(kinds), 1)} == kinds
    assert drawn(sites, 5, 1) == drawn(sites, 5, 1)
    assert len({drawn(sites, 5, seed) for seed in range(10)}) > 5
    assert set(drawn(sites, 10_000, 1)) == set(sites)
