"""Hidden inputs of the task `table`, with outcomes worked out by hand."""

from __future__ import annotations

from ..values import Oracle, case, pairs, refuses

PRICES = "item,price\nbread,3\ncake,12\n"

ORACLES = (
    Oracle(
        name="table/parse",
        call="reading.parse",
        cases=(
            *pairs(
                ("", []),
                ("a", [["a"]]),
                ("a,b", [["a", "b"]]),
                ("a,b\n", [["a", "b"]]),
                ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
                ("a,b\nc,d\n", [["a", "b"], ["c", "d"]]),
                ("a\r\nb\r\n", [["a"], ["b"]]),
                ("a,,c", [["a", "", "c"]]),
                (",", [["", ""]]),
                ("\n", [[""]]),
                ("a\n\nb", [["a"], [""], ["b"]]),
                ("a,b\nc", [["a", "b"], ["c"]]),
                ('"a,b",c', [["a,b", "c"]]),
                ('"a","b"', [["a", "b"]]),
                ('"one\ntwo",c', [["one\ntwo", "c"]]),
                ('x,"1\n2\n3"\ny,z\n', [["x", "1\n2\n3"], ["y", "z"]]),
                ('"say ""hi"""', [['say "hi"']]),
                ('"a""b",c', [['a"b', "c"]]),
                ('""', [[""]]),
                ('"",x', [["", "x"]]),
                ('5" pipe,x', [['5" pipe', "x"]]),
                (" a , b \n", [[" a ", " b "]]),
                ("\u00e4,\u00f6", [["\u00e4", "\u00f6"]]),
                ("a;b", [["a;b"]]),
            ),
            case("a;b;c,d", ";", returns=[["a", "b", "c,d"]]),
            case("a\tb", "\t", returns=[["a", "b"]]),
            case('"a;b";c\n', separator=";", returns=[["a;b", "c"]]),
            *refuses("ValueError", '"a', 'a,"b\nc,d\n'),
        ),
    ),
    Oracle(
        name="table/write",
        call="writing.write",
        cases=(
            *pairs(
                ([], ""),
                ([["a"]], "a\n"),
                ([["a", "b"]], "a,b\n"),
                ([["a", "b"], ["c", "d"]], "a,b\nc,d\n"),
                ([["", ""]], ",\n"),
                ([["a,b", "c"]], '"a,b",c\n'),
                ([['say "hi"']], '"say ""hi"""\n'),
                ([["1\n2", "x"]], '"1\n2",x\n'),
                ([["1\r2"]], '"1\r2"\n'),
                ([["a;b"]], "a;b\n"),
                ([[" a "]], " a \n"),
                ([["a"], ["b", "c"]], "a\nb,c\n"),
                ([["\u00e4"]], "\u00e4\n"),
            ),
            case([["a", "b"]], ";", returns="a;b\n"),
            case([["a;b", "c,d"]], ";", returns='"a;b";c,d\n'),
        ),
    ),
    Oracle(
        name="table/column",
        call="writing.column",
        cases=(
            case(PRICES, "item", returns=["bread", "cake"]),
            case(PRICES, "price", returns=["3", "12"]),
            case("a,b\n1\n2,3\n", "b", returns=["", "3"]),
            case("a,b\n\n2,3\n", "b", returns=["", "3"]),
            case("a,b\n1\n2,3\n", "a", returns=["1", "2"]),
            case("a\n", "a", returns=[]),
            case('"a,b",c\n1,2\n', "a,b", returns=["1"]),
            case('a,b\n"x\ny",2\n', "b", returns=["2"]),
            case("a,a\n1,2\n", "a", returns=["1"]),
            case(PRICES, "Price", raises="KeyError"),
            case("a\n", "b", raises="KeyError"),
            case("", "a", raises="KeyError"),
        ),
    ),
)
