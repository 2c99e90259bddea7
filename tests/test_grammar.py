"""Every line that we tell a person to write can be written, and every other is refused in a sentence that names the nearest."""

from __future__ import annotations

import ast
import difflib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from notebook_shell import Shell

from pge_nb import bank, magic
from pge_nb.commands import COMMANDS, GROUPS
from pge_nb.commands.grammar import Argument, arguments, takes_body
from pge_nb.commands.helping import EXAMPLES
from pge_nb.models.limits import Prices

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "binder").rglob("*.md")])
NOTEBOOKS = sorted([*(ROOT / "examples").rglob("*.ipynb"), *(ROOT / "pge_nb").rglob("*.ipynb")])
SOURCES = sorted((ROOT / "pge_nb").rglob("*.py"))
HOLE = "\ue010"
"""Stands in a text for what is put into it when it is shown."""
GAP = re.compile(rf"{HOLE}|\b[A-Z][A-Z_]*\b")
"""A hole, or a word in capitals that stands for another."""
OURS = re.compile(r"(?<![\w%`'\"])[`'\"]*(%%?)pge(?![\w(?])")
ADDRESS = re.compile(r"(@?\w+(@\w+)?:)?\d+(\.\d+)?(/\w+)?|@\d+")
AFTER_BARE = frozenset({"shows", "needs", "may", "what", "or", "and"})
"""Words of a sentence that may follow ``%pge`` alone."""
CLAUSE = re.compile(rf"[.,:;)](?=\s|$)|(?<=[a-z])[.](?={HOLE})")
"""Where a clause of a sentence ends."""
GUIDES = frozenset({"next", "see"})
"""Keyword arguments that hold a whole line and nothing else."""


# Lines in texts


@dataclass(frozen=True)
class Line:
    """A line that a text tells: ``whole`` where nothing but it stands there, else a sentence may go on behind it."""

    percent: str
    text: str
    whole: bool

    @property
    def words(self) -> list[str]:
        """As they would be typed; of a sentence up to where its clause ends."""
        text = self.text if self.whole else CLAUSE.split(self.text)[0]
        return [word.strip("[]").split("|")[0] for word in text.split() if word != "..."]

    @property
    def wrong(self) -> str | None:
        """Why it cannot be written; None where it can."""
        name, *rest = self.words or [""]
        if name not in COMMANDS:
            stands_alone = (
                not GAP.sub("", name).strip(".@:") or name == "--help" or (name in AFTER_BARE and not self.whole)
            )
            return None if stands_alone else f"no command {name}"
        if self.percent == "%%" and not takes_body(COMMANDS[name]):
            return f"{name} reads no body"
        given = rest if self.whole else list(_arguments_in(name, rest))
        if near := _near_miss(name, rest[len(given) :]):
            return f"{rest[len(given)]} looks like {near}"
        return None if _parses(name, given) or not (given or self.whole) else "it is not parsed"


def _arguments_in(name: str, words: Sequence[str]) -> Iterator[str]:
    """The words behind a command that are arguments, as far as one can tell, up to where a sentence goes on."""
    known = arguments(COMMANDS[name])
    values = {argument.flag for argument in known if argument.flag and argument.takes_word} | {"-o"}
    before = ""
    for word in words:
        of_ours = word in WORDS or word.startswith("-") or ":" in word or GAP.search(word) or ADDRESS.fullmatch(word)
        if not of_ours and before not in values:
            return
        yield word
        before = word


def _near_miss(name: str, words: Sequence[str]) -> str:
    """What the next word of the sentence looks like, should it be a mistyped argument."""
    near = difflib.get_close_matches(words[0], _choices(name), n=1, cutoff=0.74) if words else []
    return near[0] if near else ""


def _choices(name: str) -> list[str]:
    return [choice for argument in arguments(COMMANDS[name]) for choice in argument.choices]


WORDS = frozenset(
    [
        "practice",
        *(task.name for task in bank.tasks()),
        *Prices.load().models,
        *itertools.chain(*map(_choices, COMMANDS)),
    ]
)
"""Values that are known to us."""
FILLERS = ("1", "1.1", "x", *dict.fromkeys(itertools.chain(*map(_choices, COMMANDS))))


def _parses(name: str, words: Sequence[str]) -> bool:
    """Whether our grammar takes the words, with something or other in the gaps."""
    gaps = sorted({gap for word in words for gap in GAP.findall(word)})
    for fillers in itertools.product(FILLERS, repeat=len(gaps)):
        filled = dict(zip(gaps, fillers, strict=True))
        try:
            left, _ = magic.taken_out([GAP.sub(lambda match: filled[match[0]], word) for word in words])  # noqa: B023
            magic.parsed(COMMANDS[name], left)
        except UsageError:
            continue
        return True
    return False


def lines_in(text: str, *, whole: bool = False) -> Iterator[Line]:
    """The lines of ours in a text. What stands between backticks is whole; else it ends at the latest where a gap does."""
    for match in OURS.finditer(text):
        rest = re.split(r"\n|  |\x00", text[match.end() :], maxsplit=1)[0]
        quoted = "`" in match[0] or (match.start() and text[match.start()] == "`")
        if quoted and "`" in rest:
            text = rest.partition("`")[0].strip()
            yield Line(match[1], f" {text}", whole=" " in text)  # a subcommand alone is its name in a sentence
        else:
            rest = re.split(r"[`;]| — ", rest, maxsplit=1)[0]
            yield Line(match[1], rest, whole=whole)


def in_markdown(text: str) -> Iterator[Line]:
    """Between fences a line is whole."""
    for number, part in enumerate(re.split(r"^```.*$", text, flags=re.MULTILINE)):
        yield from lines_in(part, whole=number % 2 == 1 and "What to write" not in part.split("\n")[1])


def in_notebook(path: Path) -> Iterator[Line]:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield from in_markdown(source)
        else:
            for match in re.finditer(r"^(?:\w+ = )?(%%?)pge(.*?);?$", source, flags=re.MULTILINE):
                # {{expression}} is the kernel's to fill in.
                yield Line(match[1], re.sub(r"\{\{.*?\}\}", HOLE, match[2]).partition("#")[0], whole=True)


def in_source(path: Path) -> Iterator[Line]:
    """The lines in the strings of a module; those that are handed on as a next action, or as code, are whole."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    whole = {id(part) for node in ast.walk(tree) for part in _handed_on(node)}
    inside = {id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in node.values}
    for node in ast.walk(tree):
        text = _text(node)
        if text and id(node) not in inside:
            yield from lines_in(text.replace("``", "`"), whole=id(node) in whole)


def _handed_on(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.keyword) and node.arg in GUIDES:
        yield from ast.walk(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Code":
        yield from ast.walk(node)
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
        name = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(name, ast.Name) and name.id in {"TOUR", "EXAMPLES"}:
            yield from ast.walk(node.value)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else HOLE for v in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def complaints(lines: Iterator[Line]) -> list[str]:
    return [f"{line.percent}pge{line.text}: {line.wrong}" for line in lines if line.wrong]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_line_in_the_documents_can_be_written(path: Path) -> None:
    assert complaints(in_markdown(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_line_in_the_notebooks_can_be_written(path: Path) -> None:
    assert len(list(in_notebook(path))) > 3
    assert complaints(in_notebook(path)) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "pge_nb")))
def test_every_line_that_the_code_tells_can_be_written(path: Path) -> None:
    assert complaints(in_source(path)) == []


def test_the_lines_are_found() -> None:
    found = [line for path in SOURCES for line in in_source(path)]
    assert len(found) > 100
    assert sum(line.whole for line in found) > 40
    assert len([line for path in TEXTS for line in in_markdown(path.read_text(encoding="utf-8"))]) > 50


@pytest.mark.parametrize(
    "text",
    [
        "Look: `%pge shwo plan`.",
        "Look: `%pge show plna`.",
        "`%pge diff 1.1`",
        "`%pge files --bogus`",
        "`%pge tasks 1`",
        "`%pge run --seed many`",
        "`%%pge tasks`",
        "`%pge run --seed 1 --seed 2`",
        "%pge shwo tells why.",
        "%pge show evalautions tells why.",
        "%pge show plna lists them.",
        "%pge resume --bugdet 3",
        "%pge answer retyr, and go on.",
        "%pge run --seed N --seed N",
        "%pge restore STEP STEP STEP",
        "```\n%pge show plan               %pge shwo contract 2\n```",
    ],
)
def test_a_line_that_cannot_be_written_is_noticed(text: str) -> None:
    assert complaints(in_markdown(text)) != []


@pytest.mark.parametrize(
    "text",
    [
        "%pge shows where the run stands.",
        "%pge show evaluations 2.1 tells why.",
        "%pge files lists them.",
        "%%pge run NAME gives a task a place of its own.",
        "`%pge run --practice TASK`",
        "`%pge open NAME@N`",
        "`%pge model recording:PATH`",
        f"%pge files {HOLE} lists those; %pge resume",
        "```\n%pge show [WHAT] [AT ...]    Look\n```",
    ],
)
def test_a_line_that_can_be_written_is_let_pass(text: str) -> None:
    assert complaints(in_markdown(text)) == []


# Help


def test_every_subcommand_has_an_example_that_is_one_of_its_lines() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    for name in COMMANDS:
        example = EXAMPLES[name]
        percent, words = example.partition("pge")[0], magic.split(example.partition("pge")[2], {})
        assert words[0] == name
        assert percent == "%" or takes_body(COMMANDS[name])
        magic.parsed(COMMANDS[name], magic.taken_out(words[1:])[0])


def test_help_shows_arguments_flags_and_the_example(shell: Shell) -> None:
    for name in COMMANDS:
        page = shell.cell(f"%pge help {name}").view.plain()
        assert f"Example: {EXAMPLES[name]}" in page
        assert shell.cell(f"%pge {name} --help").view.plain() == page
        assert shell.cell(f"%pge {name} -h").view.plain() == page
        for argument in arguments(COMMANDS[name]):
            assert argument.flag or argument.choices or argument.name.upper().rstrip("_") in page
            assert all(word in page for word in (argument.flag, *argument.choices))


def test_the_groups_stand_in_the_order_in_which_they_are_needed() -> None:
    order = ["every day", "use it", "phases", "judge the judge", "house"]
    assert [name for name in order if name in GROUPS] == list(GROUPS)
    assert all(GROUPS.values())


# Everything else is refused


def required(name: str) -> list[str]:
    """What has to stand after a subcommand."""
    return [_value(argument) for argument in arguments(COMMANDS[name]) if not argument.flag and argument.required]


def _value(argument: Argument) -> str:
    return argument.choices[0] if argument.choices else {int: "1", float: "1.5", str: "x", bool: ""}[argument.kind]


def mistyped(word: str) -> str:
    """The word with two letters exchanged, or one more."""
    middle = len(word) // 2
    swapped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return swapped if swapped != word else f"{word}q"


def wrong_lines() -> Iterator[tuple[str, str]]:
    """A line, and what its error has to say."""
    for name, command in COMMANDS.items():
        known, needs = arguments(command), " ".join(required(name))
        base = f"{name} {needs}".strip()
        flags = [argument for argument in known if argument.flag]
        places = [argument for argument in known if not argument.flag]
        yield f"{base} --bogus_flag", "There is no flag --bogus_flag here."
        yield f"{base} -z", "There is no flag -z here."
        yield f"{base} -o a -o b", "-o is given twice"
        yield f"{base} -o", "-o takes the name of a variable"
        if not any(argument.many for argument in places):
            yield f"{name} {' '.join(_value(one) for one in places)} surplus", ""
        if needs:
            yield f"{name} {' '.join(required(name)[:-1])}".strip(), "is missing"
        for argument in flags:
            value = f" {_value(argument)}" if argument.takes_word else ""
            yield f"{base} {argument.flag}{value} {argument.flag}{value}", f"{argument.flag} is given twice."
            others = [flag.flag for flag in flags if flag is not argument]
            if mistyped(argument.flag) not in (*others, "-o"):
                yield f"{base} {mistyped(argument.flag)}{value}", "Did you mean -"
            if argument.kind is bool:
                yield f"{base} {argument.flag}=1", "takes no value"
            elif argument.bare:
                yield f"{base} {argument.flag}={mistyped(argument.bare)}", f"Did you mean {argument.bare}?"
            else:
                yield f"{base} {argument.flag}", f"{argument.flag} takes a value"
            if argument.kind in (int, float):
                kind = "a whole number" if argument.kind is int else "a number"
                for wrong in ("many", "''", "nan", "1,5", *(["1.5"] if argument.kind is int else [])):
                    yield f"{base} {argument.flag} {wrong}", f"{argument.flag} takes {kind}"
        for place, argument in enumerate(places):
            if argument.choices:
                before = [_value(one) for one in places[:place]]
                wrong = mistyped(argument.choices[0])
                yield f"{name} {' '.join([*before, wrong])}", f"Did you mean {argument.choices[0]}?"
    for name in COMMANDS:
        if len(name) > 3:
            yield mistyped(name), f"Did you mean {name}?"


def words_of(line: str) -> list[str]:
    return magic.split(line, {})


@pytest.mark.parametrize("line", [pytest.param(line, id=line[0]) for line in wrong_lines()])
def test_a_wrong_line_is_refused_in_one_line_that_names_the_nearest(kept: Shell, line: tuple[str, str]) -> None:
    text, said = line
    done = kept.cell(f"%pge {text}")
    assert type(done.error) is UsageError, done.text
    assert said in done.text
    assert 1 <= len(done.text.strip().split("\n")) <= 2


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nothing"))
        opened = Shell()
        yield opened
        assert list(Path.cwd().iterdir()) == []
        opened.close()


def test_a_body_where_none_is_read_is_refused(kept: Shell) -> None:
    for name, command in COMMANDS.items():
        if not takes_body(command):
            done = kept.cell(f"%%pge {' '.join([name, *required(name)])}\nbody")
            assert type(done.error) is UsageError, name
            assert f"%pge {name} reads no cell body: write it as a line, with one %." in done.text


def test_what_is_required_alone_is_enough() -> None:
    for name, command in COMMANDS.items():
        args, _ = magic.parsed(command, required(name))
        assert len(args) == len(required(name))


def test_every_flag_takes_its_value_behind_it_or_behind_an_equals_sign() -> None:
    for name, command in COMMANDS.items():
        for argument in arguments(command):
            if argument.bare:
                told = magic.parsed(command, [*required(name), f"{argument.flag}={argument.bare}"])
                assert magic.parsed(command, [*required(name), argument.flag]) == told
            elif argument.flag and argument.kind is not bool:
                value = _value(argument)
                behind = magic.parsed(command, [*required(name), argument.flag, value])
                assert behind == magic.parsed(command, [*required(name), f"{argument.flag}={value}"])


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("answer retry - mind the 'empty list' -1", ["retry", "-", "mind", "the", "empty list", "-1"]),
        ("answer retry '--foo is wrong'", ["retry", "--foo is wrong"]),
        ('answer retry "it\'s"', ["retry", "it's"]),
    ],
)
def test_a_dash_a_number_below_zero_and_words_in_quotes_are_no_flags(words: str, given: list[str]) -> None:
    name, *rest = words_of(words)
    assert magic.parsed(COMMANDS[name], rest)[0] == given
