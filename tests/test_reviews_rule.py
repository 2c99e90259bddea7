"""Rules decide about a file's text: those of the package, and a person's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from looking import look, vetted

from pge_nb.payloads import Json
from pge_nb.reviews import Outcome
from pge_nb.reviews.rule import Rule
from pge_nb.reviews.rule_child import RULES, anchors_of, begins_a_word, compiles, folded, length, required_terms
from pge_nb.workspace import Objects

GUIDE = """# The guide

See [usage](docs/usage.md#second-part), [the same](#the-guide), ![a chart](img/chart%201.png "A chart") and [out](https://example.com/x).

```
[not a link](nowhere.md)
```

`[nor this](nowhere.md)` <a href="page.html#here">a page</a> [ref][one]

[one]: docs/usage.md
"""
TREE = {
    "guide.md": GUIDE,
    "docs/usage.md": "# Usage\n\n## Second part\n\n## Second part\n\n[up](../guide.md) [top](/guide.md)\n",
    "img/chart 1.png": "PNG",
    "page.html": '<h1 id="here">x</h1><a name="old"></a><img src="img/chart 1.png"><a href="mailto:a@b.c">m</a>',
}


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def held(objects: Objects, rule: str, files: Mapping[str, str], path: str, **args: Json) -> Outcome:
    return look(objects, Rule(), {"rule": rule, "path": path, **args}, files)


# Each rule, in its child in the sandbox


@pytest.mark.parametrize(
    ("rule", "text", "args", "met", "saw"),
    [
        ("length", "one two three\n", {"words": [2, 3]}, True, "3 words (wanted 2 to 3)"),
        (
            "required_terms",
            "The mean.",
            {"terms": ["Mean", "variance"]},
            False,
            "1 of 2 terms are there (50%, wanted 100%); missing: variance",
        ),
        (
            "json_schema",
            '{"a": "1"}',
            {"schema": {"properties": {"a": {"type": "number"}}}},
            False,
            "it does not fit the schema: $.a: '1' is not of type 'number'",
        ),
        ("json_schema", "[1]", {"schema": {"type": "array"}}, True, "it fits the schema"),
        ("json_schema", "[NaN]", {"schema": True}, False, "it is no JSON: NaN is no JSON"),
        ("compiles", "def f(:\n", {}, False, "it does not compile: line 1, invalid syntax"),
        ("links_resolve", "[a](b.md)", {}, False, "1 of 1 relative links lead nowhere: b.md (there is no such file)"),
    ],
)
def test_a_rule_of_the_package_says_whether_it_holds_and_why(
    rule: str, text: str, args: dict[str, Json], met: bool, saw: str, objects: Objects
) -> None:
    outcome = held(objects, rule, {"a.txt": text}, "./a.txt", **args)
    assert outcome == Outcome(met=met, says=f"the rule {rule} on a.txt", saw=saw)


def test_a_file_that_is_not_there_fails(objects: Objects) -> None:
    assert held(objects, "compiles", {}, "a.py").saw == "a.py is not there"


@pytest.mark.parametrize(
    ("rule", "text", "args"),
    [
        ("json_schema", '"' + "a" * 5_000 + '!"', {"schema": {"pattern": "^(a+)+$"}}),
        ("compiles", "(" * 5_000_000, {}),
        ("json_schema", "[" * 1_000_000, {"schema": True}),
    ],
)
def test_a_text_that_a_rule_cannot_cope_with_does_not_hold_the_harness(
    rule: str, text: str, args: dict[str, Json], objects: Objects
) -> None:
    review = Rule(1.0)
    outcome = look(objects, review, {"rule": rule, "path": "a", **args}, {"a": text})
    assert outcome.met is not True


def test_a_schema_that_refers_to_another_place_is_not_looked_up_and_left_to_the_judge(objects: Objects) -> None:
    outcome = held(objects, "json_schema", {"a": "1"}, "a", schema={"$ref": "http://127.0.0.1:9/schema.json"})
    assert outcome.met is None
    assert "refers to something outside it" in outcome.saw


# Length


@pytest.mark.parametrize(
    ("text", "args", "met"),
    [
        ("a b c", {"words": [3, 3]}, True),
        ("a b c", {"words": [4, None]}, False),
        ("a b c", {"words": [None, 3]}, True),
        (" ab\n", {"characters": [2, 2]}, True),
        ("a\nb\n", {"lines": [2, 2]}, True),
        ("\n\n", {"lines": [0, 0], "words": [0, 0]}, True),
        ("a\u2028b\x0cc", {"lines": [1, 1]}, True),
        ("a b c", {"words": [1, 9], "lines": [2, 3]}, False),
    ],
)
def test_length_counts_words_characters_and_lines(text: str, args: dict[str, Any], met: bool) -> None:
    assert length(text, **args)[0] is met


# Required terms


@pytest.mark.parametrize(
    ("term", "text", "there"),
    [
        ("mean", "The MEAN of it", True),
        ("variance", "variances", True),
        ("art", "the start", False),
        ("art", "the start of art", True),
        ("confidence interval", "a confidence\n  interval", True),
        ("Größe", "GRO\u0308SSE", True),
        ("Straße", "STRASSE", True),
        ("é", "e\u0301", True),
        ("均值", "样本均值为三", True),
        ("كتاب", "الكتاب", True),
        ("3", "13", False),
        ("-1", "x = -1", True),
    ],
)
def test_a_term_is_found_where_a_word_begins_whatever_its_case_and_form(term: str, text: str, there: bool) -> None:
    assert begins_a_word(folded(term), folded(text)) is there


def test_a_share_of_the_terms_can_be_enough() -> None:
    assert required_terms("mean and median", terms=["mean", "median", "mode"], share=0.6)[0] is True
    assert required_terms("mean and median", terms=["mean", "median", "mode"], share=0.7)[0] is False


# Compiles


@pytest.mark.parametrize(
    ("source", "met", "saw"),
    [
        ("def f():\n    return 1\n", True, "1 function, none of them a stub"),
        ("TABLE = {1: 2}\n", True, "0 functions"),
        ("print('\\d')\n", True, "0 functions"),
        ("", False, "nothing is in it"),
        ('"""A module."""\nimport os\npass\n...\n', False, "nothing is in it"),
        ("def f():\n    ...\n", False, "without a body of their own: f"),
        ('def f():\n    """Later."""\n', False, "without a body of their own: f"),
        ("def f(x):\n    raise NotImplementedError\n", False, "f"),
        ("class A:\n    def g(self):\n        '''G.'''\n        raise NotImplementedError('later')\n", False, "g"),
        ("def f():\n    def g(): ...\n    return g\n", False, "g"),
        ("class A:\n    def close(self):\n        pass\n", True, "1 function"),
        ("class E(Exception):\n    pass\n", True, "0 functions"),
        (
            "from abc import abstractmethod\nclass A:\n    @abstractmethod\n    def f(self): ...\n    def g(self): return 1\n",
            True,
            "1 function",
        ),
        ("import typing\nclass P(typing.Protocol):\n    def f(self): ...\n", True, "0 functions"),
        ("def f():\n    raise ValueError\n", True, "1 function"),
        ("return 1\n", False, "line 1, 'return' outside function"),
        ("a\0b", False, "does not compile"),
    ],
)
def test_python_must_compile_and_do_something(source: str, met: bool, saw: str) -> None:
    told = compiles(source)
    assert told[0] is met
    assert saw in told[1]


# Links


@pytest.mark.parametrize("path", ["guide.md", "docs/usage.md", "page.html"])
def test_links_images_and_anchors_that_lead_somewhere_hold(path: str, objects: Objects) -> None:
    outcome = held(objects, "links_resolve", TREE, path)
    assert outcome.met is True, outcome.saw
    assert "nowhere" not in outcome.saw


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("a.md", "[x](docs/usage.md#third-part)", "docs/usage.md#third-part (there is no such anchor)"),
        ("a.md", "[x](#gone)", "#gone (there is no such anchor)"),
        ("a.md", "[x](../../etc/passwd)", "../../etc/passwd (it leaves the deliverables)"),
        ("a.md", "![x](<img/chart 2.png>)", "img/chart 2.png (there is no such file)"),
        ("a.md", "[![x](img/no.png)](guide.md)", "img/no.png (there is no such file)"),
        ("a.md", "[x]: gone.md", "gone.md"),
        ("docs/a.md", "[x](guide.md)", "guide.md"),
        ("a.md", "<img src='gone.png'>", "gone.png"),
        ("a.html", "<a href='page.html#young'>x</a>", "page.html#young (there is no such anchor)"),
        ("a.html", "<script src=gone.js></script>", "gone.js"),
    ],
)
def test_a_link_that_leads_nowhere_is_named(path: str, text: str, why: str, objects: Objects) -> None:
    outcome = held(objects, "links_resolve", TREE | {path: text}, path)
    assert outcome.met is False
    assert why in outcome.saw


def test_a_text_without_links_holds(objects: Objects) -> None:
    assert held(objects, "links_resolve", {"a.md": "`[x](y)`"}, "a.md").saw == "it has no relative link"


def test_headings_make_anchors_as_github_does() -> None:
    text = "# A *b* & `c`\n\nUnder\n-----\n\n## A *b* & `c` ##\n\n### [link](x.md) é {#own}\n```\n# no\n```\n"
    assert list(anchors_of(text, "a.md")) == ["own", "a-b--c", "a-b--c-1", "link-é", "under"]


# A person's own


def no_tabs(text: str, *, most: int = 0) -> tuple[bool, str]:
    """At most so many tabs."""
    return text.count("\t") <= most, f"{text.count(chr(9))} tabs"


def fails(text: str) -> bool:
    raise KeyError("a fault of its own")


OWN = Rule(rules={"no_tabs": no_tabs, "fails": fails, "short": lambda text: len(text) < 3, "odd": lambda text: "yes"})


@pytest.mark.parametrize(
    ("args", "met", "saw"),
    [
        ({"rule": "no_tabs"}, False, "1 tabs"),
        ({"rule": "no_tabs", "most": 1}, True, "1 tabs"),
        ({"rule": "no_tabs", "args": {"most": 1}}, True, "1 tabs"),
        ({"rule": "short"}, True, "it holds"),
        ({"rule": "fails"}, None, "the rule raised KeyError: 'a fault of its own'"),
        ({"rule": "odd"}, None, "the rule returned 'yes', neither true or false nor that and a text"),
    ],
)
def test_a_rule_of_a_persons_own_decides(args: dict[str, Json], met: bool | None, saw: str, objects: Objects) -> None:
    outcome = look(objects, OWN, {"path": "a", **args}, {"a": "\t"})
    assert (outcome.met, outcome.saw) == (met, saw)


def test_a_rule_of_a_persons_own_is_told_to_the_models_beside_those_of_the_package() -> None:
    assert OWN.help.startswith(Rule().help)
    assert '{"rule": "no_tabs", "path": "a.md"} (At most so many tabs.)' in OWN.help
    assert all(f'"rule": "{name}"' in Rule().help for name in RULES)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"rule": "nope", "path": "a"}, "'nope' is no rule; there are length, required_terms"),
        ({"rule": "compiles", "path": "../a"}, "'..'"),
        ({"rule": "compiles"}, "lacks 'path'"),
        ({"rule": "compiles", "path": "a", "args": 3}, "not an object"),
        ({"rule": "compiles", "path": "a", "args": 3, "words": 2}, "unknown field 'words'"),
        ({"rule": "compiles", "path": "a", "words": 2}, "'words'"),
        ({"rule": "length", "path": "a"}, 'wants "words"'),
        ({"rule": "length", "path": "a", "words": 3}, "not [least, most]"),
        ({"rule": "length", "path": "a", "words": [3]}, "not [least, most]"),
        ({"rule": "length", "path": "a", "words": [True, 3]}, "not [least, most]"),
        ({"rule": "length", "path": "a", "words": [4, 3]}, "no number lies between"),
        ({"rule": "required_terms", "path": "a", "terms": []}, "a list of texts"),
        ({"rule": "required_terms", "path": "a", "terms": "mean"}, "a list of texts"),
        ({"rule": "required_terms", "path": "a", "terms": ["a"], "share": 1.5}, "share is 1.5"),
        ({"rule": "required_terms", "path": "a"}, "'terms'"),
        ({"rule": "json_schema", "path": "a", "schema": {"type": "nope"}}, "the schema is none"),
        ({"rule": "json_schema", "path": "a", "schema": [1]}, "not an object"),
    ],
)
def test_args_that_say_nothing_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted(Rule(), args) or "")
    assert vetted(OWN, {"rule": "no_tabs", "path": "a", "least": 1}) is not None
