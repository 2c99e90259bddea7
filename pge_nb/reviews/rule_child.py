"""The rules that come with the package, and the child that carries one out: it runs alone (``python -I``), inside the sandbox.

A rule is a function of a text and of its own args, which tells whether it holds and what it saw. It raises ``ValueError`` where
its args say nothing, whatever the text. Patterns, parsers and compilers may take for ever over what an agent wrote, and so
they do that in a child.
"""

from __future__ import annotations

import ast
import html
import json
import math
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

LISTED = 10
SAID = 200
Held = tuple[bool, str]


def length(text: str, *, words: Any = None, characters: Any = None, lines: Any = None) -> Held:
    """The text is as long as that: each is [least, most], either of them null. Words are what white space parts."""
    counts = {
        "words": (words, len(text.split())),
        "characters": (characters, len(text.strip())),
        "lines": (lines, len(text.strip("\n").split("\n")) if text.strip() else 0),
    }
    asked = {name: (bounds(name, given), count) for name, (given, count) in counts.items() if given is not None}
    if not asked:
        raise ValueError('length wants "words", "characters" or "lines", each [least, most]')
    held = all(least <= count <= most for (least, most), count in asked.values())
    return held, ", ".join(f"{count:,} {name} (wanted {spoken(pair)})" for name, (pair, count) in asked.items())


def bounds(name: str, given: Any) -> tuple[float, float]:
    """[least, most] as numbers; null is no bound."""
    if not isinstance(given, list) or len(given) != 2 or any(not _is_number(one) for one in given if one is not None):
        raise ValueError(f"{name} is {given!r:.60}, not [least, most]")
    least, most = (0 if given[0] is None else given[0]), (math.inf if given[1] is None else given[1])
    if least > most:
        raise ValueError(f"{name} is {given!r:.60}, and no number lies between")
    return least, most


def spoken(pair: tuple[float, float]) -> str:
    """Bounds in words."""
    return f"at least {pair[0]:,}" if math.isinf(pair[1]) else f"{pair[0]:,} to {pair[1]:,}"


def required_terms(text: str, *, terms: Any, share: Any = 1.0) -> Held:
    """At least that share of the terms is in the text, whatever their case, each at the beginning of a word."""
    if not isinstance(terms, list) or not terms or any(not isinstance(one, str) or not one.strip() for one in terms):
        raise ValueError('required_terms wants "terms", a list of texts')
    if not _is_number(share) or not 0 < share <= 1:
        raise ValueError(f"share is {share!r:.60}, not a number above 0 and at most 1")
    whole = folded(text)
    missing = [term for term in terms if not begins_a_word(folded(term), whole)]
    found = len(terms) - len(missing)
    told = f"{found} of {len(terms)} terms are there ({found / len(terms):.0%}, wanted {share:.0%})"
    return found / len(terms) >= share, told + (f"; missing: {listed(missing)}" if missing else "")


def begins_a_word(term: str, text: str) -> bool:
    """Whether a term stands in a text where a word begins; in scripts that do not part words, or join them, anywhere."""
    at = text.find(term)
    while at >= 0:
        if at == 0 or not (_parts_words(term[0]) and _parts_words(text[at - 1])):
            return True
        at = text.find(term, at + 1)
    return False


def _parts_words(char: str) -> bool:
    return char.isalnum() and unicodedata.name(char, "").split(" ")[0] in {"LATIN", "GREEK", "CYRILLIC", "DIGIT"}


def folded(text: str) -> str:
    """The text in NFC without case, with every run of white space as one blank."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def json_schema(text: str, *, schema: Any) -> Held:
    """The text is JSON that fits a JSON Schema; a schema is looked up nowhere."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    if not isinstance(schema, dict | bool):
        raise ValueError(f"schema is {schema!r:.60}, not an object")  # noqa: TRY004 - the one kind that a rule raises
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"the schema is none: {error.message:.{SAID}}") from None
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        return False, f"it is no JSON: {error}"
    try:
        faults = sorted(kind(schema, registry=REGISTRY).iter_errors(value), key=lambda fault: fault.json_path)
    except Unresolvable as error:
        raise ValueError(f"the schema refers to something outside it: {error}") from None
    if not faults:
        return True, "it fits the schema"
    return False, "it does not fit the schema: " + listed(
        [f"{one.json_path}: {one.message:.{SAID}}" for one in faults], "; "
    )


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def compiles(text: str) -> Held:
    """The text is Python that compiles, and every function in it does something, but for abstract ones."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "it", "exec", dont_inherit=True)
    except SyntaxError as error:
        return False, f"it does not compile: line {error.lineno}, {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return False, f"it does not compile: {error}"
    statements = [node for node in tree.body if not _says_nothing(node)]
    if not statements:
        return False, "it compiles, and nothing is in it"
    functions = list(functions_of(tree, abstract=False))
    stubs = [node.name for node in functions if is_stub(node.body)]
    if stubs:
        return False, f"it compiles; functions without a body of their own: {listed(stubs)}"
    count = f"{len(functions)} function{'' if len(functions) == 1 else 's'}"
    return True, f"it compiles: {count}, none of them a stub"


def functions_of(node: ast.AST, *, abstract: bool) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions below a node, without those that are abstract, overloads, or methods of a protocol."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {_last_name(mark) for mark in inner.decorator_list}
            if not abstract and marks.isdisjoint({"abstractmethod", "overload"}):
                yield inner
        is_protocol = isinstance(inner, ast.ClassDef) and "Protocol" in {_last_name(base) for base in inner.bases}
        yield from functions_of(inner, abstract=is_protocol if isinstance(inner, ast.ClassDef) else abstract)


def is_stub(body: Sequence[ast.stmt]) -> bool:
    """Whether a body is an ellipsis, a docstring or a NotImplementedError and no more. ``pass`` alone can be meant."""
    rest = [node for node in body if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant)]
    return not rest or (len(rest) == 1 and isinstance(rest[0], ast.Raise) and _raises_unfinished(rest[0]))


def _raises_unfinished(node: ast.Raise) -> bool:
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return raised is not None and _last_name(raised) == "NotImplementedError"


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass | ast.Import | ast.ImportFrom)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
INLINE = re.compile(r"\]\(\s*(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)")
DEFINED = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*(<[^<>\n]*>|\S+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
UNDERLINED = re.compile(r"^ {0,3}(\S[^\n]*)\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
NAMED = re.compile(r"\{#([\w-]+)\}")
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
PAGES = (".html", ".htm")
TEXTS = (".md", ".markdown")


def links_resolve(text: str, *, path: str = "") -> Held:
    """Every relative link and image of a Markdown or HTML file leads to a file that is there, and to an anchor in it."""
    links = list(dict.fromkeys(links_of(text, path)))
    inside = [link for link in links if link and not OUTSIDE.match(link)]
    broken = [f"{link} ({why})" for link in inside if (why := leads_nowhere(link, path, text))]
    if broken:
        return False, f"{len(broken)} of {len(inside)} relative links lead nowhere: {listed(broken)}"
    told = f"{len(inside)} relative links, each leads somewhere" if inside else "it has no relative link"
    return True, told + (f"; {len(links) - len(inside)} to other places were not followed" if links != inside else "")


def links_of(text: str, path: str) -> Iterator[str]:
    """The targets of all links and images."""
    page = Page(text if path.endswith(PAGES) else without_code(text))
    yield from page.links
    if not path.endswith(PAGES):
        for found in (*INLINE.finditer(without_code(text)), *DEFINED.finditer(without_code(text))):
            yield html.unescape(found[1].strip("<>"))


def leads_nowhere(link: str, path: str, text: str) -> str:
    """Why a relative link leads nowhere; empty where it does."""
    target, _, anchor = link.partition("#")
    target = unquote(target.partition("?")[0])
    place = (
        os.path.normpath(target.lstrip("/") if target.startswith("/") else Path(path).parent / target)
        if target
        else path
    )
    if place.startswith(".."):
        return "it leaves the deliverables"
    if target and not Path(place).exists():
        return "there is no such file"
    if not anchor or not place.endswith((*PAGES, *TEXTS)):
        return ""
    there = Path(place).read_bytes().decode("utf-8", "replace") if target else text
    return "" if unquote(anchor) in {*anchors_of(there, place), "top"} else "there is no such anchor"


def anchors_of(text: str, path: str) -> Iterator[str]:
    """The anchors of a page: its ids and names, and in Markdown those that are made of headings, as GitHub makes them."""
    plain = text if path.endswith(PAGES) else without_code(text, spans=False)
    yield from Page(plain).anchors
    if not path.endswith(PAGES):
        yield from NAMED.findall(plain)
        seen: dict[str, int] = {}
        for found in (*HEADING.finditer(plain), *UNDERLINED.finditer(plain)):
            slug = slug_of(found[1])
            yield f"{slug}-{seen[slug]}" if slug in seen else slug
            seen[slug] = seen.get(slug, 0) + 1


def slug_of(heading: str) -> str:
    """The anchor of a heading."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", NAMED.sub("", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")


def without_code(text: str, *, spans: bool = True) -> str:
    """Markdown without what is shown as code in it."""
    blocks = FENCE.sub("", text)
    return CODE.sub("", blocks) if spans else blocks


class Page(HTMLParser):
    """The links and anchors of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what a tag links to, and what it can be linked by."""
        for name, value in attrs:
            if value and name in {"href", "src", "poster"}:
                self.links.append(value.strip())
            elif value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.append(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def listed(items: Sequence[str], between: str = ", ") -> str:
    """The first of some items."""
    more = f" and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return between.join(items[:LISTED]) + more


RULES: dict[str, Callable[..., Held]] = {
    rule.__name__: rule for rule in (length, required_terms, json_schema, compiles, links_resolve)
}


def main() -> None:
    """Write whether the rule holds and what was seen; null and why where it says nothing."""
    asked = json.load(sys.stdin)
    rule, args = RULES[asked["rule"]], dict(asked["args"])
    if rule is links_resolve:
        args["path"] = asked["path"]
    try:
        said: list[Any] = list(rule(asked["text"], **args))
    except ValueError as error:
        said = [None, str(error)]
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
