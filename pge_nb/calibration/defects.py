"""Defects to be planted in sound work, and sham edits that change nothing that it does: text in, text out. Nothing is run.

A Python file is read as a syntax tree and changed by a splice of its text, so that all else of it stays as it was, to the byte. A
notebook is read and written again, and so is its clean copy (`untouched`): how it is written tells nothing.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
import json
import random
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

BEHAVIOUR = (
    "operator",
    "boundary",
    "off by one",
    "dropped branch",
    "swallowed error",
    "hard-coded answer",
)
"""Kinds of defects that change what code does; where no input tells one from sound code, it is none."""
FORM = (
    "deleted test",
    "fact removed",
    "number changed",
    "contradiction",
    "dead link",
    "stale output",
    "cell out of order",
)
"""Kinds of defects that are there whether or not any input shows them."""
SHAM = ("renamed local", "reordered lines", "comment", "blank line")
"""Kinds of edits that change nothing that the work does."""

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "+"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "/"),
    ast.Mod: (r"%", "//"),
    ast.And: (r"\band\b", "or"),
    ast.Or: (r"\bor\b", "and"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
BOUNDARIES: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
}
ANSWERS = {"str": '""', "int": "1", "float": "1.0", "bool": "True", "list": "[]", "dict": "{}", "tuple": "()"}
"""Type, as an annotation begins -> an answer that is always the same."""
COMMENT = "# As above."
NOTE = "<!-- as above -->"
LARGEST = 2**31
SENTENCE = re.compile(r"[^\s.!?][^.!?]*(?:[.!?](?=\S)[^.!?]*)*[.!?](?=\s|$)")
NUMBER = re.compile(r"(?<![\w.,/#=\"'&-])\d+(?:[.,]\d+)*(?![\w/=\"'])")
LINK = re.compile(r"(?:(?<=\]\()|(?<=href=\"))(?P<to>[^\s)\"]+)")
VERB = re.compile(r"\b(is|are|was|were|can|will|must|may|should)\b(?! not\b)")
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
NOT_PROSE = ("#", "|", "<", "    ", "\t", "[", "---", "===")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A text that was changed in one place: ``before``, at ``where``, became ``after``; ``text`` is all of it now."""

    kind: str
    where: str
    before: str
    after: str
    text: str


def defects_of(path: str, text: str) -> tuple[Planted, ...]:
    """Every defect that can be planted in a file, in the order of their places; empty where its form is not known."""
    return tuple(_planter(path, _FORMS)(text))


def shams_of(path: str, text: str) -> tuple[Planted, ...]:
    """Every sham edit of a file, in the order of their places."""
    return tuple(_planter(path, _SHAMS)(text))


def untouched(path: str, text: str) -> str:
    """A file as a copy of it is written in which nothing was changed: itself; a notebook as one that is read and written."""
    book = _book(text) if path.endswith(".ipynb") else None
    return text if book is None else _written(book)


def drawn(sites: Sequence[Planted], number: int, seed: int | str) -> tuple[Planted, ...]:
    """At most ``number`` of the sites in an order that the seed decides: kinds take turns, so that rare ones are not left out."""
    rng = random.Random(f"{seed}")  # noqa: S311 - a draw, no secret
    kinds = sorted({site.kind for site in sites})
    rng.shuffle(kinds)
    by_kind = {kind: [site for site in sites if site.kind == kind] for kind in kinds}
    for listed in by_kind.values():
        rng.shuffle(listed)
    turns = itertools.zip_longest(*by_kind.values())
    return tuple(site for turn in turns for site in turn if site is not None)[:number]


def _planter(path: str, forms: dict[str, Callable[[str], Iterable[Planted]]]) -> Callable[[str], Iterable[Planted]]:
    return forms.get(path.rpartition(".")[2].lower(), lambda _: ())


# Python


class _Source:
    """A Python text with its tree; places of the tree as places in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = _parsed(text)
        self.lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        self.starts = [0, *itertools.accumulate(map(len, self.lines))]
        self.end = "\r\n" if "\r\n" in text else "\n"

    def at(self, line: int, column: int) -> int:
        """The place of a line (from 1) and a column in bytes of UTF-8."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))

    def span(self, node: Any) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def of(self, node: Any) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def gap(self, left: Any, right: Any) -> tuple[int, str]:
        """Where the text between two nodes begins, and that text with its comments blanked out."""
        start, end = self.span(left)[1], self.span(right)[0]
        return start, re.sub(r"#[^\r\n]*", lambda found: " " * len(found[0]), self.text[start:end])

    def whole_lines(self, start: int, end: int) -> tuple[int, int] | None:
        """The lines that a piece of text has for itself, their ends included; None where it shares one."""
        first = max(at for at in self.starts if at <= start)
        after = min((at for at in self.starts if at >= end), default=len(self.text))
        if end in self.starts and end > start:
            after = end
        alone = not self.text[first:start].strip() and not self.text[end:after].strip()
        return (first, after) if alone else None


@dataclass(frozen=True, slots=True)
class _Edit:
    """One change to a Python text. ``line`` and ``inside`` tell where it is."""

    kind: str
    line: int
    inside: str
    start: int
    end: int
    new: str


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, "planted", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def _python(text: str) -> Iterator[Planted]:
    yield from _spliced(text, _defects, functools.partial(_fits, False))


def _python_shams(text: str) -> Iterator[Planted]:
    for alike, kinds in ((True, ("comment", "blank line")), (False, ("renamed local", "reordered lines"))):
        yield from _spliced(text, functools.partial(_shams_of_kind, kinds), functools.partial(_fits, alike))


def _shams_of_kind(kinds: Sequence[str], source: _Source) -> Iterator[_Edit]:
    return (edit for edit in _shams(source) if edit.kind in kinds)


def _fits(alike: bool, before: ast.Module, after: ast.Module) -> bool:
    return (ast.dump(before) == ast.dump(after)) == alike


def _spliced(
    text: str, edits: Callable[[_Source], Iterable[_Edit]], fits: Callable[[ast.Module, ast.Module], bool]
) -> Iterator[Planted]:
    """What the edits make of a text, where that is Python still, and differs from it as it should."""
    try:
        source = _Source(text)
    except UnicodeError:  # half a character, which no Python file can hold
        return
    if source.tree is None:
        return
    for edit in sorted(edits(source), key=lambda edit: (edit.start, edit.kind, edit.new)):
        new = text[: edit.start] + edit.new + text[edit.end :]
        tree = _parsed(new)
        if tree is not None and fits(source.tree, tree):
            where = f"line {edit.line}" + (f", in {edit.inside}" if edit.inside else "")
            yield Planted(kind=edit.kind, where=where, before=text[edit.start : edit.end], after=edit.new, text=new)


def _defects(source: _Source) -> Iterator[_Edit]:
    for node, inside, block in _nodes(source.tree):
        for kind, start, end, new in _of_node(source, node, inside, block):
            yield _Edit(kind, _line(source, start), inside, start, end, new)


def _line(source: _Source, at: int) -> int:
    return sum(start <= at for start in source.starts)


def _nodes(tree: ast.AST | None) -> Iterator[tuple[ast.AST, str, Sequence[ast.stmt]]]:
    """Every node, the function or class that it is in, and for a statement its block. The insides of f-strings are left out."""

    def walk(node: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str, Sequence[ast.stmt]]]:
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        within = ".".join(filter(None, (inside, node.name))) if named else inside  # type: ignore[attr-defined]
        for _, value in ast.iter_fields(node):
            listed = value if isinstance(value, list) else [value]
            block = [one for one in listed if isinstance(one, ast.stmt)]
            for child in listed:
                # Where in an f-string a value stands, Python 3.11 does not tell.
                if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                    continue
                yield child, within, block
                yield from walk(child, within)

    if tree is not None:
        yield from walk(tree, "")


Change = tuple[str, int, int, str]
"""Kind, where it begins and ends in the text, and what stands there from then on."""


def _of_node(source: _Source, node: ast.AST, inside: str, block: Sequence[ast.stmt]) -> Iterator[Change]:
    yield from _of_expression(source, node)
    if isinstance(node, ast.If):
        yield from _without_branch(source, node, block)
    elif isinstance(node, ast.Raise):
        yield "swallowed error", *source.span(node), "return" if inside else "pass"
    elif isinstance(node, ast.ExceptHandler):
        if not (len(node.body) == 1 and isinstance(node.body[0], ast.Raise | ast.Pass)):
            yield "swallowed error", source.span(node.body[0])[0], source.span(node.body[-1])[1], "pass"
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _hard_coded(source, node)
        yield from _without_test(source, node, block)
        yield from _without_fact(source, node)
    elif isinstance(node, ast.Assert) and inside.rpartition(".")[2].startswith("test"):
        yield from _removed(source, "deleted test", node, block)


def _of_expression(source: _Source, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp):
        yield from _swapped(source, node.left, node.right, node.op)
    elif isinstance(node, ast.AugAssign):
        yield from _swapped(source, node.target, node.value, node.op)
    elif isinstance(node, ast.BoolOp):
        for left, right in itertools.pairwise(node.values):
            yield from _swapped(source, left, right, node.op)
    elif isinstance(node, ast.Compare):
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            yield from _swapped(source, left, right, op)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start = source.span(node)[0]
        word = re.match(r"not\s*", source.text[start:])
        if word:
            yield "operator", start, start + word.end(), ""
    elif isinstance(node, ast.Constant):
        yield from _next_number(source, node)
    elif isinstance(node, ast.Call):
        yield from _shorter_range(source, node)


def _swapped(source: _Source, left: ast.AST, right: ast.AST, op: ast.AST) -> Iterator[Change]:
    """Another operator between two operands."""
    kind, table = ("boundary", BOUNDARIES) if type(op) in BOUNDARIES else ("operator", OPERATORS)
    if type(op) not in table:
        return
    pattern, new = table[type(op)]
    start, gap = source.gap(left, right)
    if found := re.search(pattern, gap):
        yield kind, start + found.start(), start + found.end(), new


def _next_number(source: _Source, node: ast.Constant) -> Iterator[Change]:
    if type(node.value) is int and node.value < LARGEST and source.of(node).isdecimal():
        yield "off by one", *source.span(node), str(node.value + 1)


def _shorter_range(source: _Source, node: ast.Call) -> Iterator[Change]:
    """``range(n)`` ends one earlier."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range" and node.args and not node.keywords):
        return
    stop = node.args[0] if len(node.args) == 1 else node.args[1]
    if isinstance(stop, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
        end = source.span(stop)[1]
        yield "off by one", end, end, " - 1"


def _without_branch(source: _Source, node: ast.If, block: Sequence[ast.stmt]) -> Iterator[Change]:
    start, end = source.span(node)
    is_elif = source.text.startswith("elif", start)
    if not node.orelse:
        if is_elif:
            lines = source.whole_lines(start, end)
            if lines:
                yield "dropped branch", *lines, ""
        else:
            yield from _removed(source, "dropped branch", node, block)
    elif not (isinstance(node.orelse[0], ast.If) and source.text.startswith("elif", source.span(node.orelse[0])[0])):
        yield "dropped branch", source.span(node.body[-1])[1], end, ""


def _removed(source: _Source, kind: str, node: ast.stmt, block: Sequence[ast.stmt]) -> Iterator[Change]:
    """A statement that is gone with its lines; ``pass`` in its place where it is alone or shares a line."""
    decorators = getattr(node, "decorator_list", [])
    start, end = source.span(node)
    if decorators:
        start = source.text.rindex("@", 0, source.span(decorators[0])[0])
    lines = source.whole_lines(start, end)
    if lines is None or len(block) < 2:
        yield kind, start, end, "pass"
    else:
        yield kind, *lines, ""


def _hard_coded(source: _Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if not [name for name in names if name not in ("self", "cls")] and not node.args.vararg and not node.args.kwarg:
        return
    for inner in _own(node):
        if isinstance(inner, ast.Return) and inner.value is not None and not isinstance(inner.value, ast.Constant):
            yield "hard-coded answer", *source.span(inner.value), _answer(inner.value, node.returns)


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions and classes in it."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own(child)


def _answer(value: ast.expr, annotation: ast.expr | None) -> str:
    told = ast.unparse(annotation).strip("\"'").partition("[")[0] if annotation is not None else ""
    if told in ANSWERS:
        return ANSWERS[told]
    kinds: dict[type[ast.AST], str] = {
        ast.JoinedStr: "str",
        ast.List: "list",
        ast.ListComp: "list",
        ast.Dict: "dict",
        ast.DictComp: "dict",
        ast.Tuple: "tuple",
        ast.Compare: "bool",
        ast.BinOp: "int",
    }
    return ANSWERS.get(kinds.get(type(value), ""), "None")


def _without_test(
    source: _Source, node: ast.FunctionDef | ast.AsyncFunctionDef, block: Sequence[ast.stmt]
) -> Iterator[Change]:
    if node.name.startswith("test"):
        yield from _removed(source, "deleted test", node, block)


def _without_fact(source: _Source, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    """A docstring less one of its sentences; the first one, its summary, stays."""
    first = node.body[0]
    if not (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        return
    start, end = source.span(first)
    quote = re.match(r"[rRuU]*(\"\"\"|'''|\"|')", source.text[start:end])
    if quote is None:
        return
    inner, last = start + quote.end(), end - len(quote[1])
    for sentence in list(SENTENCE.finditer(source.text[inner:last]))[1:]:
        yield "fact removed", *_with_its_space(source.text, inner + sentence.start(), inner + sentence.end()), ""


def _with_its_space(text: str, start: int, end: int) -> tuple[int, int]:
    """A sentence with its lines where it has them for itself, else with the blanks before it."""
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        newline = re.match(r"[ \t]*\r?\n", text[end:])
        return (line, end + newline.end()) if newline else (start, end + len(re.match(r"[ \t]*", text[end:])[0]))  # type: ignore[index]
    return start - len(text[:start]) + len(text[:start].rstrip(" \t")), end


def _shams(source: _Source) -> Iterator[_Edit]:
    for node, inside, block in _nodes(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _renamed(source, node, f"{inside}.{node.name}".strip("."))
        if not isinstance(node, ast.stmt):
            continue
        start, end = source.span(node)
        first = source.starts[_line(source, start) - 1]
        follows = block[block.index(node) + 1] if node in block[:-1] else None
        if follows is not None and _free(node) and _free(follows) and not _touch(node, follows):
            after = source.span(follows)
            new = source.text[slice(*after)] + source.text[end : after[0]] + source.text[start:end]
            yield _Edit("reordered lines", node.lineno, inside, start, after[1], new)
        if source.text[first:start].strip() or source.text[:first].rstrip("\r\n").endswith("\\"):
            continue
        indent = source.text[first:start]
        yield _Edit("comment", node.lineno, inside, first, first, f"{indent}{COMMENT}{source.end}")
        if inside:
            yield _Edit("blank line", node.lineno, inside, first, first, source.end)


def _free(node: ast.stmt) -> bool:
    """Whether a statement only gives a name to a value that is made of nothing but constants."""
    quiet = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.Load, ast.UnaryOp, ast.USub)
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and not node.targets[0].id.startswith("__")
        and all(isinstance(inner, quiet) for inner in ast.walk(node.value))
    )


def _touch(one: ast.stmt, other: ast.stmt) -> bool:
    return bool(
        {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
        & {n.id for n in ast.walk(other) if isinstance(n, ast.Name)}
    )


def _renamed(source: _Source, node: ast.FunctionDef | ast.AsyncFunctionDef, inside: str) -> Iterator[_Edit]:
    """A local of a function under another name, wherever it stands in it. Functions that could see the name are left alone."""
    inner = [one for one in ast.walk(node) if one is not node]
    closed = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal, ast.Match)
    called = {one.func.id for one in inner if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    if any(isinstance(one, closed) for one in inner) or called & {"locals", "vars", "eval", "exec", "dir"}:
        return
    bound = {id(name) for one in inner if isinstance(one, ast.comprehension) for name in ast.walk(one.target)}
    names = [one for one in inner if isinstance(one, ast.Name)]
    taken = {arg.arg for arg in inner if isinstance(arg, ast.arg)}
    taken |= {one.name for one in inner if isinstance(one, ast.ExceptHandler) and one.name}
    taken |= {(one.asname or one.name).partition(".")[0] for one in inner if isinstance(one, ast.alias)}
    taken |= {n.id for one in inner if isinstance(one, ast.JoinedStr) for n in ast.walk(one) if isinstance(n, ast.Name)}
    local = dict.fromkeys(one.id for one in names if isinstance(one.ctx, ast.Store) and id(one) not in bound)
    for name in local:
        new = f"{name}_here"
        if name in taken or name.startswith("__") or new in source.text:
            continue
        places = sorted(source.span(one) for one in names if one.id == name)
        start, end = places[0][0], places[-1][1]
        parts, at = [], start
        for left, right in places:
            parts += [source.text[at:left], new]
            at = right
        yield _Edit("renamed local", _line(source, start), inside, start, end, "".join(parts))


# Texts


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of a text and where they begin; headings, tables, code and marks are left out."""
    fences = [found.span() for found in FENCED.finditer(text)]
    for found in re.finditer(r"(?:[^\n]*\S[^\n]*(?:\n|$))+", text):
        inside = any(start <= found.start() < end for start, end in fences)
        if not inside and not found[0].startswith(NOT_PROSE):
            yield found.start(), found[0]


def _text(text: str) -> Iterator[Planted]:
    changes: list[Change] = []
    for at, paragraph in _prose(text):
        sentences = [(at + one.start(), at + one.end(), one[0]) for one in SENTENCE.finditer(paragraph)]
        for start, end, said in sentences:
            changes.append(("fact removed", *_with_its_space(text, start, end), ""))
            denied = VERB.sub(r"\1 not", said, count=1)
            if denied != said:
                changes.append(("contradiction", end, end, f" {denied.lstrip('-*+ ')}"))
        changes += [
            ("number changed", at + one.start(), at + one.end(), _other_number(one[0]))
            for one in NUMBER.finditer(paragraph)
        ]
    changes += [("dead link", one.start(), one.end(), _dead(one["to"])) for one in LINK.finditer(text)]
    yield from _changed(text, changes)


def _text_shams(text: str, note: str = "") -> Iterator[Planted]:
    gaps = [found.end() for found in re.finditer(r"\n[ \t]*\n", text)]
    fences = [found.span() for found in FENCED.finditer(text)]
    changes: list[Change] = []
    for at in gaps:
        if not any(start < at < end for start, end in fences):
            changes.append(("blank line", at, at, "\n"))
            if note:
                changes.append(("comment", at, at, f"{note}\n\n"))
    if not changes and text.strip():
        changes.append(("blank line", len(text), len(text), "\n"))
    yield from _changed(text, changes)


def _changed(text: str, changes: Iterable[Change]) -> Iterator[Planted]:
    for kind, start, end, new in sorted(changes, key=lambda change: (change[1], change[0])):
        if text[start:end] != new:
            where = f"line {text.count(chr(10), 0, start) + 1}"
            whole = text[:start] + new + text[end:]
            yield Planted(kind=kind, where=where, before=text[start:end], after=new, text=whole)


def _other_number(number: str) -> str:
    return str(int(number[0]) % 9 + 1) + number[1:]


def _dead(target: str) -> str:
    head, dot, tail = target.rpartition(".")
    return f"{head}-gone.{tail}" if dot and re.fullmatch(r"\w{1,5}", tail) and head else f"{target}-gone"


# Notebooks


def _book(text: str) -> dict[str, Any] | None:
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    return book if isinstance(cells, list) and all(isinstance(cell, dict) for cell in cells) else None


def _written(book: dict[str, Any]) -> str:
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def _source_of(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def _with_source(book: dict[str, Any], number: int, source: str) -> str:
    changed = copy.deepcopy(book)
    changed["cells"][number]["source"] = source.splitlines(keepends=True)
    return _written(changed)


def _notebook(text: str) -> Iterator[Planted]:
    book = _book(text)
    if book is None:
        return
    cells = book["cells"]
    code = [number for number, cell in enumerate(cells) if cell.get("cell_type") == "code"]
    for number, cell in enumerate(cells):
        forms = {"code": _python, "markdown": _text}.get(str(cell.get("cell_type")), lambda _: iter(()))
        for site in forms(_source_of(cell)):
            where = f"cell {number + 1}, {site.where}"
            yield replace(site, where=where, text=_with_source(book, number, site.text))
    for number in code:
        yield from _stale(book, number)
    for one, other in itertools.pairwise(code):
        changed = copy.deepcopy(book)
        changed["cells"][one], changed["cells"][other] = changed["cells"][other], changed["cells"][one]
        before, after = _source_of(cells[one]), _source_of(cells[other])
        if before != after:
            where = f"cells {one + 1} and {other + 1}"
            yield Planted(kind="cell out of order", where=where, before=before, after=after, text=_written(changed))


def _stale(book: dict[str, Any], number: int) -> Iterator[Planted]:
    """Outputs with another number in them than the cell gives; where a cell that prints was never run, one of an old run."""
    cell = book["cells"][number]
    for place, output in enumerate(cell.get("outputs") or ()):
        holder, key = (output, "text") if "text" in output else (output.get("data") or {}, "text/plain")
        said = holder.get(key, "")
        said = "".join(map(str, said)) if isinstance(said, list) else str(said)
        found = re.search(r"\d+", said)
        if found is None:
            continue
        changed = copy.deepcopy(book)
        new = said[: found.start()] + _other_number(found[0]) + said[found.end() :]
        there = changed["cells"][number]["outputs"][place]
        (there if key == "text" else there["data"])[key] = new.splitlines(keepends=True)
        where = f"cell {number + 1}, output {place + 1}"
        yield Planted(kind="stale output", where=where, before=said, after=new, text=_written(changed))
    if not cell.get("outputs") and re.search(r"\bprint\(", _source_of(cell)):
        changed = copy.deepcopy(book)
        old = {"name": "stdout", "output_type": "stream", "text": ["0\n"]}
        changed["cells"][number] |= {"outputs": [old], "execution_count": 1}
        yield Planted(
            kind="stale output", where=f"cell {number + 1}, output 1", before="", after="0\n", text=_written(changed)
        )


def _notebook_shams(text: str) -> Iterator[Planted]:
    book = _book(text)
    for number, cell in enumerate(book["cells"] if book else ()):
        if cell.get("cell_type") == "code":
            for site in _python_shams(_source_of(cell)):
                # A name of one cell may be read in another.
                if site.kind != "renamed local" or ", in " in site.where:
                    where = f"cell {number + 1}, {site.where}"
                    yield replace(site, where=where, text=_with_source(book or {}, number, site.text))


_FORMS: dict[str, Callable[[str], Iterable[Planted]]] = {
    "py": _python,
    "md": _text,
    "txt": _text,
    "rst": _text,
    "html": _text,
    "ipynb": _notebook,
}
_SHAMS: dict[str, Callable[[str], Iterable[Planted]]] = {
    "py": _python_shams,
    "md": lambda text: _text_shams(text, NOTE),
    "txt": _text_shams,
    "rst": _text_shams,
    "html": lambda text: _text_shams(text, NOTE),
    "ipynb": _notebook_shams,
}
