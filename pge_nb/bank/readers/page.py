"""Reader of the task `page`: what its form is like, and what its script answers.

There may be no browser here, so this reads the part of JavaScript in which such a script is written: functions, constants,
if, return, arithmetic, and the few members of a page that a form needs. What it cannot read is an error, and so no answer.
"""

import functools
import math
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

PIECE = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/|(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_$][\w$]*)|(?P<text>\"[^\"\n]*\"|'[^'\n]*')"
    r"|(?P<sign>===|!==|<=|>=|&&|\|\||[-+*/%<>=!?:;,.(){}])",
    re.DOTALL,
)
LEVELS = (("||",), ("&&",), ("===", "!=="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
MATH: dict[str, Callable[..., float]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "round": lambda value: math.floor(value + 0.5),
    "max": max,
    "min": min,
}
Scope = dict[str, Any]
Meaning = Callable[[Scope], Any]


class Page(HTMLParser):
    """The elements of a page by id, the text of its labels by what they are for, and the scripts that it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: dict[str, dict[str, Any]] = {}
        self.labels: dict[str, str] = {}
        self.scripts: list[str] = []
        self.lang = ""
        self.label = ""
        self.feed(Path("index.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element in."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.elements[given["id"]] = {"tag": tag, "textContent": "", "value": "", "listeners": {}} | given
        if tag == "script" and "src" in given:
            self.scripts.append(given["src"])
        if tag == "html":
            self.lang = given.get("lang", "")
        self.label = given.get("for", "") if tag == "label" else self.label

    def handle_endtag(self, tag: str) -> None:
        """Leave a label."""
        self.label = "" if tag == "label" else self.label

    def handle_data(self, data: str) -> None:
        """Take a label's text."""
        if self.label:
            self.labels[self.label] = self.labels.get(self.label, "") + data


class Returned(Exception):
    """A function is left with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def form(question: str, id_: str = "") -> Any:
    """A fact of the form: the "label" of a field, the "lang" of the page, or an attribute of an element."""
    page = Page()
    if question == "label":
        return page.labels.get(id_, "") if id_ in page.elements else ""
    return page.lang if question == "lang" else page.elements.get(id_, {}).get(question)


def answer(**fields: str) -> str:
    """What the page shows once these fields were filled in and the form was sent; a field that is not named stays as it is."""
    page = Page()
    for id_, value in fields.items():
        page.elements[id_]["value"] = value
    for path in page.scripts:
        if Path(path).exists():
            run(Path(path).read_text(encoding="utf-8"), page)
    for listener in page.elements["room"]["listeners"].get("submit", []):
        listener({"preventDefault": lambda: None})
    return str(page.elements["answer"]["textContent"])


def run(text: str, page: Page) -> None:
    """Run a script on a page."""
    scope: Scope = {
        "Math": {name: unless_nan(of) for name, of in MATH.items()},
        "Number": number,
        "document": {"getElementById": page.elements.__getitem__},
    }
    for statement in statements(text):
        statement(scope)


@functools.cache
def statements(text: str) -> tuple[Meaning, ...]:
    """The statements of a script, read once for all inputs."""
    return tuple(Reader(text).program())


def unless_nan(of: Callable[..., float]) -> Callable[..., float]:
    """A function of numbers; where one of them is none, its value is none either."""

    def called(*given: Any) -> float:
        numbers = [number(value) for value in given]
        return math.nan if any(map(math.isnan, numbers)) else of(*numbers)

    return called


def number(value: Any) -> float:
    """A value as a number, the way that JavaScript has it."""
    if isinstance(value, str):
        try:
            return float(value.strip() or 0)
        except ValueError:
            return math.nan
    return float(value)


def written(value: Any) -> str:
    """A value as text, the way that JavaScript has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return str(int(value)) if value == int(value) else repr(value)
    return str(value)


def worked(sign: str, left: Any, right: Any) -> Any:
    """A sign between two values."""
    if sign == "+" and (isinstance(left, str) or isinstance(right, str)):
        return written(left) + written(right)
    if sign in ("===", "!=="):
        return (left == right) == (sign == "===")
    if not (sign in ("<", ">", "<=", ">=") and isinstance(left, str) and isinstance(right, str)):
        left, right = number(left), number(right)
    signs: dict[str, Callable[[], Any]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right if right else math.nan,
        "%": lambda: math.fmod(left, right) if right else math.nan,
        "<": lambda: left < right,
        ">": lambda: left > right,
        "<=": lambda: left <= right,
        ">=": lambda: left >= right,
    }
    return signs[sign]()


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals; a tie goes away from 0, and not to the even digit as in Python."""
    if not math.isfinite(value):
        return written(value)
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def member(value: Any, name: str) -> Any:
    """A member of a value: of an element, of Math, or of a number."""
    if name == "toFixed":
        if isinstance(value, str):
            raise TypeError("a text has no toFixed")
        return lambda digits: fixed(number(value), int(digits))
    if name == "addEventListener":
        return lambda event, listener: value["listeners"].setdefault(event, []).append(listener)
    return value[name]


class Reader:
    """Reads a script, statement by statement; each becomes a function of its scope."""

    def __init__(self, text: str) -> None:
        self.pieces = list(split(text))
        self.place = 0

    def program(self) -> Iterator[Meaning]:
        """All statements of a script."""
        while self.place < len(self.pieces):
            yield self.statement()

    def seen(self, *signs: str) -> str | None:
        """One of these words, if it comes next."""
        kind, text = self.pieces[self.place] if self.place < len(self.pieces) else ("end", "")
        if kind == "text" or text not in signs:
            return None
        self.place += 1
        return text

    def need(self, sign: str) -> None:
        """This word, and no other."""
        if self.seen(sign) is None:
            raise SyntaxError(f"{sign} is missing before {self.pieces[self.place : self.place + 3]}")

    def name(self) -> str:
        """A name."""
        kind, text = self.pieces[self.place]
        if kind != "name":
            raise SyntaxError(f"{text} is no name")
        self.place += 1
        return text

    def statement(self) -> Meaning:
        """One statement."""
        if self.seen("function"):
            return self.function()
        if self.seen("if"):
            return self.choice()
        if self.seen("return"):
            return self.returned()
        if self.seen("{"):
            return self.block()
        if self.seen("const", "let"):
            name = self.name()
            self.need("=")
            value = self.ended()
            return lambda scope: scope.update({name: value(scope)})
        return self.ended()

    def ended(self) -> Meaning:
        """An expression, perhaps one that is stored in a member, with its semicolon."""
        value = self.expression()
        if self.seen("="):
            stored = self.expression()
            self.need(";")
            place, name = value.__dict__["place"]
            return lambda scope: place(scope).update({name: stored(scope)})
        self.need(";")
        return value

    def block(self) -> Meaning:
        """Statements up to the closing brace."""
        listed = []
        while not self.seen("}"):
            listed.append(self.statement())
        return lambda scope: [statement(scope) for statement in listed]

    def function(self) -> Meaning:
        """A function by name."""
        name, names = self.name(), []
        self.need("(")
        while not self.seen(")"):
            names.append(self.name())
            self.seen(",")
        self.need("{")
        body = self.block()

        def called(scope: Scope, given: tuple[Any, ...]) -> Any:
            try:
                body(scope | dict(zip(names, given, strict=False)))
            except Returned as returned:
                return returned.value
            return None

        return lambda scope: scope.update({name: lambda *given: called(scope, given)})

    def choice(self) -> Meaning:
        """An if, with its else."""
        self.need("(")
        condition = self.expression()
        self.need(")")
        then = self.statement()
        other = self.statement() if self.seen("else") else None
        return lambda scope: then(scope) if truth(condition(scope)) else other(scope) if other else None

    def returned(self) -> Meaning:
        """A return."""
        value: Meaning = (lambda _: None) if self.seen(";") else self.ended()

        def leave(scope: Scope) -> None:
            raise Returned(value(scope))

        return leave

    def expression(self, level: int = 0) -> Meaning:
        """An expression; those of the first levels hold those of the later ones."""
        if level == len(LEVELS):
            return self.unary()
        left = self.expression(level + 1)
        while sign := self.seen(*LEVELS[level]):
            left = joined(sign, left, self.expression(level + 1))
        if level == 0 and self.seen("?"):
            condition, yes = left, self.expression()
            self.need(":")
            no = self.expression()
            return lambda scope: yes(scope) if truth(condition(scope)) else no(scope)
        return left

    def unary(self) -> Meaning:
        """A value with a sign of its own."""
        sign = self.seen("!", "-", "+")
        if sign is None:
            return self.value()
        of = self.unary()
        if sign == "!":
            return lambda scope: not truth(of(scope))
        return lambda scope: number(of(scope)) * (-1 if sign == "-" else 1)

    def value(self) -> Meaning:
        """A number, a text, a name or a parenthesis, with the members and calls behind it."""
        if self.seen("("):
            found = self.expression()
            self.need(")")
        else:
            found = plain(*self.pieces[self.place])
            self.place += 1
        while mark := self.seen(".", "("):
            found = of_member(found, self.name()) if mark == "." else call(found, self.given())
        return found

    def given(self) -> list[Meaning]:
        """The arguments of a call, the opening parenthesis being read."""
        listed = []
        while not self.seen(")"):
            listed.append(self.expression())
            self.seen(",")
        return listed


def split(text: str) -> Iterator[tuple[str, str]]:
    """The pieces of a script: kind and text."""
    place = 0
    while place < len(text):
        piece = PIECE.match(text, place)
        if piece is None:
            raise SyntaxError(f"cannot read {text[place : place + 20]!r}")
        if piece.lastgroup is not None:
            yield piece.lastgroup, piece[0]
        place = piece.end()


def plain(kind: str, text: str) -> Meaning:
    """A number, a text or a name."""
    if kind == "number":
        return lambda _: float(text)
    if kind == "text":
        return lambda _: text[1:-1]
    if kind != "name":
        raise SyntaxError(f"{text} where a value should be")
    return lambda scope: scope[text]


def joined(sign: str, left: Meaning, right: Meaning) -> Meaning:
    """Two expressions with a sign between them; what need not be worked out is not."""
    if sign == "&&":
        return lambda scope: right(scope) if truth(kept := left(scope)) else kept
    if sign == "||":
        return lambda scope: kept if truth(kept := left(scope)) else right(scope)
    return lambda scope: worked(sign, left(scope), right(scope))


def of_member(of: Meaning, name: str) -> Meaning:
    """A member, which remembers where it is, so that something can be stored there."""

    def found(scope: Scope) -> Any:
        return member(of(scope), name)

    found.__dict__["place"] = (of, name)
    return found


def call(function: Meaning, given: list[Meaning]) -> Meaning:
    """A call."""
    return lambda scope: function(scope)(*(one(scope) for one in given))


def truth(value: Any) -> bool:
    """Whether a value counts as true."""
    return bool(value) and value == value  # noqa: PLR0124 - NaN counts as false
