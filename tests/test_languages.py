"""Whole runs in Chinese, Spanish and Arabic: what people and models write in their own language is what counts.

Agents write in the prompt's language; keys, ids and verdict words stay English. Each run is sent through the real client by
a loopback server whose model writes as models do: a name in another Unicode form, a mark of direction lost, a comma of its
own script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from messages_stub import MessagesStub
from notebook_shell import Shell
from scripted import MODEL, fenced, first_message, role_of

from pge_nb.agents.judging import Docket, read_claims
from pge_nb.agents.replies import files_in
from pge_nb.agents.terms import read_terms
from pge_nb.columns import columns_of, padded, wrapped
from pge_nb.display import Table, View
from pge_nb.markdown import said
from pge_nb.records import Check, Criterion
from pge_nb.reviews import shipped
from pge_nb.sentences import said_call, said_case
from pge_nb.state import open_run
from pge_nb.verdict import Claim, folded, grade

RLM, LRM, TATWEEL = "\u200f", "\u200e", "\u0640"


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class Language:
    """A task in a language, and how its model writes what it was told: names, ids, quotes and paths."""

    name: str
    prompt: str
    title: str
    step: str
    success: str
    judged: str
    docstring: str
    path: str
    criteria: tuple[str, str]
    says: str
    named: Callable[[str], str] = str
    quoted: Callable[[str], str] = str
    written: Callable[[str], str] = str
    citing: str = "{0}"

    @property
    def code(self) -> str:
        return f'def add(a, b):\n    """{self.docstring}"""\n    return a + b\n'

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py")

    def answer(self, request: dict[str, Any]) -> str:
        role = role_of(request)
        if role == "planner":
            return fenced(self.plan())
        if role == "propose":
            oracle = {"call": f"{self.module}.add", "args": [2, 3], "returns": 5}
            checks = [{"says": self.success, "method": "oracle", "args": oracle}, {"says": self.judged}]
            return fenced({"deliverables": [self.path], "checks": checks})
        if role == "respond":
            return fenced({"agreed": True, "reason": self.says})
        if role == "generate":
            return f"{self.says}\n\n```python {self.written(self.path)}\n{self.code}```\n"
        return fenced({"findings": self.findings(first_message(request))})

    def plan(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "scope": self.says,
            "deliverables": [self.path],
            "steps": [{"description": self.step, "depends_on": [], "success": [self.success]}],
            "criteria": [
                {"name": name, "weight": weight, "description": self.says, "threshold": 7}
                for name, weight in zip(self.criteria, ("high", "low"), strict=True)
            ],
        }

    def findings(self, text: str) -> list[dict[str, Any]]:
        artifact = re.search(r'<artifact id="(e\d+)"', text)
        assert artifact is not None
        cite = {"evidence": self.citing.format(artifact[1]), "quote": self.quoted(self.docstring), "says": self.says}
        checks = [
            {"on": on, "verdict": "pass"} | cite for on in ("c1", "c2") if f"\n- {on}:" in text.partition("These")[0]
        ]
        return [*checks, *({"on": self.named(name), "score": 8.5} | cite for name in self.criteria)]


CHINESE = Language(
    name="中文",
    prompt="写一个 Python 模块 计算.py，里面有函数 add(a, b)，返回两个数的和，并附中文说明。",
    title="加法模块",
    step="函数 add(a, b)",
    success="调用add(2, 3)应返回 5",
    judged="函数的说明用中文写成，说清楚返回什么",
    docstring="返回两个数的和；\u3000输入可以是整数或小数。",
    path="计算.py",
    criteria=("正确性", "可读性（说明）"),
    says="做法：直接用加号，先求和，再返回。",
    quoted=lambda quote: quote.replace("\u3000", " "),
    citing="{0}、e1",
)
SPANISH = Language(
    name="Español",
    prompt="Escribe un módulo cálculo.py con la función add(a, b); la documentación, en español: ¿qué devuelve?",
    title="Módulo de cálculo",
    step="la función add(a, b)",
    success="add(2, 3) devuelve 5",
    judged="la función lleva una explicación en español",
    docstring="Devuelve la suma de a y b; también con números pequeños o añadidos.",
    path="cálculo.py",
    criteria=("precisión", "documentación en español"),
    says="Sí: una función sencilla, con su explicación.",
    named=lambda name: nfd(name).capitalize(),
    quoted=nfd,
    written=nfd,
    citing="{0}; e1",
)
ARABIC = Language(
    name="العربية",
    prompt="اكتب وحدة بايثون حساب.py فيها الدالة add(a, b) التي تعيد مجموع عددين، مع شرح بالعربية.",
    title="وحدة الجمع",
    step="الدالة add(a, b)",
    success="الدالة add(2, 3) تعيد 5",
    judged="شرح الدالة مكتوب بالعربية",
    docstring=f"تعيد مجمـــوع العددين {RLM}a{RLM} و b دائماً.",
    path="حساب.py",
    criteria=("الدقـة", "الوضوح"),
    says="الطريقة: جمع مباشر ثم إعادة النتيجة.",
    named=lambda name: f"{RLM}{name.replace(TATWEEL, '')}{LRM}",
    quoted=lambda quote: quote.replace(RLM, "").replace(TATWEEL, ""),
    citing="{0}، e1",
)
LANGUAGES = [pytest.param(language, id=language.name) for language in (CHINESE, SPANISH, ARABIC)]


@pytest.fixture
def carry_out(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Carries the task of a language out in the shell; the view, and what the model was sent."""

    def run(language: Language, name: str = "") -> tuple[View, list[dict[str, Any]]]:
        with MessagesStub(language.answer) as stub:
            for variable, value in stub.environ.items():
                monkeypatch.setenv(variable, value)
            return shell.cell(f"%%pge run {name} --model {MODEL}\n{language.prompt}").view, stub.requests

    return run


# Whole runs


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_run_passes_in_its_language(language: Language, carry_out: Any, shell: Shell) -> None:
    view, requests = carry_out(language)
    run = open_run("shared_state.md")
    assert run.outcome == "passed"
    assert len(requests) == 5  # nothing had to be asked again
    assert view.mark == "passed"
    assert Path("work", language.path).read_text(encoding="utf-8") == language.code
    report = run.evaluation(1, 1)
    assert report is not None
    assert [(finding.on, finding.verdict, finding.by) for finding in report.findings] == [
        ("c1", "pass", "oracle"),
        ("c2", "pass", "judge"),
        *((nfc(name), "pass", "judge") for name in language.criteria),
    ]
    for line in (
        "%pge show plan",
        "%pge show contract 1",
        "%pge show evaluations",
        "%pge",
        "%pge files",
        "%pge show cost",
    ):
        shown = shell.cell(line).view
        assert str(shown)
        assert shown.html().count("<") == shown.html().count(">")
    assert language.title in str(shell.cell("%pge show plan").view)
    assert language.title in Path("shared_state.md").read_text(encoding="utf-8")
    assert "nobody was asked" in str(carry_out(language)[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_agents_are_told_to_write_in_the_prompts_language_and_sent_its_letters(
    language: Language, carry_out: Any
) -> None:
    _, requests = carry_out(language)
    for request in requests:
        system = request["system"]
        told = system if isinstance(system, str) else "".join(block["text"] for block in system)
        assert re.search(r"in the language of the (prompt|contract)", told)
    assert language.prompt in first_message(requests[0])
    assert language.success in first_message(requests[1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_address_may_end_in_a_name_of_the_language(language: Language, carry_out: Any, shell: Shell) -> None:
    carry_out(language)
    name = language.criteria[0]
    for written in (name, nfd(name), language.named(name)):
        ran = shell.cell(f'%pge show evaluations "1.1/{written}"')
        assert ran.error is None, ran.text
        assert nfc(name).replace(TATWEEL, "") in str(ran.view).replace(TATWEEL, "")
    error = shell.cell(f"%pge show evaluations 1.1/{name[:-1]}x").error
    assert error is not None
    assert nfc(name) in str(error)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tab_key_offers_the_names_of_the_language(language: Language, carry_out: Any, shell: Shell) -> None:
    carry_out(language)
    name = nfc(language.criteria[0])
    line = f"%pge show evaluations 1.1/{name[:2]}"
    with provisionalcompleter():
        matches = [one.text for one in shell.shell.Completer.completions(line, len(line))]
    assert any(name in match for match in matches), matches


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_task_may_be_named_in_the_language(language: Language, carry_out: Any, shell: Shell) -> None:
    carry_out(language, language.name)
    assert open_run(f"{nfc(language.name)}/shared_state.md").outcome == "passed"
    for line in (
        f"%pge {language.name}",
        f"%pge show plan {language.name}:",
        f"%pge {nfd(language.name)}",
        "%pge runs",
    ):
        ran = shell.cell(line)
        assert ran.error is None, ran.text
    assert language.name in str(shell.cell("%pge runs").view)


@pytest.mark.parametrize(
    "name", ["名前", "задача", "año", nfd("año"), "हिंदी", "ที่หนึ่ง", "שם", "ＡＢＣ", "가나다", nfd("가나다")], ids=ascii
)
def test_a_name_may_hold_the_letters_and_marks_of_any_script(name: str, shell: Shell) -> None:
    assert shell.cell(f"%pge run {name} --practice roman;").error is None
    assert [path.name for path in Path().iterdir() if path.is_dir()] == [nfc(name)]
    assert shell.cell(f"%pge {nfd(name)}").error is None


@pytest.mark.parametrize("name", [f"a{RLM}b", "a\u200bb", "́a", "1名", "名/前", "名 前"], ids=ascii)
def test_a_name_with_what_nobody_sees_is_refused(name: str, shell: Shell) -> None:
    assert shell.cell(f'%pge run "{name}" --practice roman').error is not None
    assert [path for path in Path().iterdir() if path.is_dir()] == []


def test_an_expression_may_be_of_any_script(shell: Shell) -> None:
    shell.cell("任务 = 'roman'\nnúmero = 2\nحد = 3")
    ran = shell.cell("%pge run --practice {{任务}} --seed {{número}} --max-retries {{حد}}")
    assert ran.error is None
    assert open_run("shared_state.md").settings["max_retries_per_step"] == 3
    assert "任務" in str(shell.cell("%pge run --practice {{任務}}").error)


def test_a_wide_blank_between_words_is_a_blank(shell: Shell) -> None:
    assert "textkit" in str(shell.cell("%pge tasks").view)
    assert shell.cell("%pge run\u3000--practice roman\u3000--seed\u00a02").error is None
    assert open_run("shared_state.md").outcome


# Quotes and names


@pytest.mark.parametrize(
    ("evidence", "quote"),
    [
        ("la función añade números", nfd("función añade")),
        (nfd("la función añade números"), "función añade"),
        ("返回\u3000两个数\n的和", "返回 两个数 的和"),
        ("한글 문서", nfd("한글")),
        (f"تعيد {RLM}مجموع{LRM} العددين", "تعيد مجموع العددين"),
        ("تعيد مجموع", f"{RLM}تعيد مجموع{RLM}"),
        ("تعيد مجمـــوع", "تعيد مجموع"),
        ("a\u00a0b\u2003c", "a b c"),
    ],
    ids=ascii,
)
def test_a_quote_is_found_whatever_the_form_of_its_characters(evidence: str, quote: str) -> None:
    claim = Claim(on="c1", by="judge", met=True, evidence=("e1",), quote=quote)
    (finding,) = grade([Check(id="c1", says="x")], (), [claim], {"e1": evidence})
    assert finding.verdict == "pass"


@pytest.mark.parametrize(
    ("evidence", "quote"),
    [
        ("返回两个数的和", "返回三个数的和"),
        ("la función anade", "la función añade"),
        ("ﬁle", "file"),  # another character, not another form of it
        ("الدقة", "الدقه"),
    ],
    ids=ascii,
)
def test_a_quote_of_other_letters_is_not_found(evidence: str, quote: str) -> None:
    claim = Claim(on="c1", by="judge", met=True, evidence=("e1",), quote=quote)
    (finding,) = grade([Check(id="c1", says="x")], (), [claim], {"e1": evidence})
    assert finding.verdict == "fail"


def test_folding_leaves_ordinary_text_as_it_is() -> None:
    assert folded("  a\tb\n c ") == "a b c"
    assert folded(folded(ARABIC.docstring)) == folded(ARABIC.docstring)


@pytest.mark.parametrize("citing", ["e1、e2", "e1，e2", "e1；e2", "e1، e2", "e1؛e2", "e1, e2", "「e1」、「e2」"])
def test_ids_are_told_apart_by_the_commas_of_any_script(citing: str) -> None:
    docket = Docket(checks=(Check(id="c1", says="x"),), criteria=(), evidence=(), texts={"e1": "a", "e2": "b"})
    (claim,) = read_claims(fenced({"findings": [{"on": "c1", "verdict": "pass", "evidence": citing}]}), docket)
    assert claim.evidence == ("e1", "e2")


@pytest.mark.parametrize(
    "said_name", [nfd("Precisión"), "PRECISIÓN", f"{RLM}precisión", "precisión\u3000", " precisión "]
)
def test_a_criterion_is_known_in_any_form_of_its_name(said_name: str) -> None:
    docket = Docket(checks=(), criteria=(Criterion(name="precisión", description=""),), evidence=(), texts={})
    (claim,) = read_claims(fenced({"findings": [{"on": said_name, "score": 8}]}), docket)
    assert claim.on == "precisión"


# Files


@pytest.mark.parametrize("path", ["cálculo.py", "计算/模块.py", "حساب.md", "हिंदी.txt", "résumé final.md"], ids=ascii)
@pytest.mark.parametrize("form", [nfc, nfd], ids=["nfc", "nfd"])
def test_a_file_is_known_in_either_form_of_its_name(path: str, form: Callable[[str], str]) -> None:
    terms = read_terms({"deliverables": [form(path)], "checks": ["x"]}, {}, strict=True)
    assert terms.deliverables == (nfc(path),)
    for other in (nfc, nfd):
        assert list(files_in(f"``` {other(path)}\nx\n```\n", terms.deliverables).files) == [nfc(path)]
        assert list(files_in(f"{other(path)}\n```\nx\n```\n", terms.deliverables).files) == [nfc(path)]
    twice = read_terms({"deliverables": [nfc(path), nfd(path)], "checks": ["x"]}, {}, strict=True)
    assert twice.deliverables == (nfc(path),)


@pytest.mark.parametrize(
    "line", ["文件：计算.py", "这是「计算.py」的内容：", "الملف: حساب.py،", "¿El archivo? «cálculo.py»:"], ids=ascii
)
def test_a_block_is_known_by_the_line_above_it_in_any_script(line: str) -> None:
    paths = ("计算.py", "حساب.py", "cálculo.py", "other.py")
    found = files_in(f"{line}\n```python\nx = 1\n```\n\nother.py\n```python\ny = 1\n```\n", paths).files
    assert found.pop("other.py") == "y = 1\n"
    (path,) = found
    assert path in line


# Sentences


@pytest.mark.parametrize(
    ("sentence", "args"),
    [
        ("调用add(2, 3)应返回 5", (2, 3)),
        ("add(2, 3)返回5", (2, 3)),
        ("الدالة add(2, 3) تعيد 5", (2, 3)),
        ("¿add(2, 3) devuelve 5?", (2, 3)),
        ("关数add('汉字', 3)は5を返す", ("汉字", 3)),
    ],
    ids=ascii,
)
def test_the_call_in_a_sentence_is_known_in_any_script(sentence: str, args: tuple[Any, ...]) -> None:
    said_here = said_call(sentence, "calc.add")
    assert said_here is not None
    assert said_here.args == args


@pytest.mark.parametrize("sentence", ["readd(2, 3) returns 5", "größeadd(2, 3)", "_add(2, 3)", "add2(2, 3)"])
def test_a_longer_name_is_no_call_of_the_function(sentence: str) -> None:
    assert said_call(sentence, "calc.add") is None


def test_a_name_in_another_script_is_known_as_a_whole() -> None:
    assert said_call("加(2, 3) 返回 5", "计算.加") is not None
    assert said_call("相加(2, 3) 返回 5", "计算.加") is None
    assert said_case("größe(2) returns 3", "maß") == {"call": "maß.größe", "args": [2], "returns": 3}


def test_a_check_whose_call_is_another_than_its_sentence_says_is_sent_back_in_any_script() -> None:
    oracle = {"call": "calc.add", "args": [4, 4], "returns": 8}
    check = Check(id="c1", says="调用add(2, 3)应返回 5", method="oracle", args=oracle)
    fault = shipped(seconds=5.0)["oracle"].vet(check)
    assert fault is not None
    assert "add(2, 3)" in fault


# Shown


WIDE = (
    "正确性",
    "précision",
    nfd("précision"),
    "हिंदी",
    "ที่หนึ่ง",
    "الدقـة",
    "👩\u200d💻 ok",
    "가나",
    "ｱｲｳ",
    "a\u200db",
    "☕\ufe0f",
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("正确性", 6),
        (nfd("é"), 1),
        ("ที่", 1),
        ("हु", 1),
        ("ｱ", 1),
        ("가", 2),
        (nfd("가"), 2),
        ("a\u200db", 2),
        ("الدقـة", 6),
    ],
    ids=ascii,
)
def test_a_text_takes_the_columns_that_a_terminal_gives_it(text: str, columns: int) -> None:
    assert columns_of(text) == columns


def test_a_plain_table_is_straight_with_any_script() -> None:
    table = Table(caption="表", heads=("名", "值"), rows=tuple((name, number) for number, name in enumerate(WIDE)))
    _, _, *lines = View(title="x", blocks=(table,)).plain().splitlines()
    starts = {columns_of(line[: line.rindex("  ") + 2]) for line in lines[2:]}
    assert len(starts) == 1
    for text in WIDE:
        assert columns_of(padded(text, 20)) == 20
        assert all(columns_of(line) <= 4 for line in wrapped(text * 3, 4, most=50))
        assert "".join(wrapped(text * 3, 4, most=50)).replace(" ", "") == (text * 3).replace(" ", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_run_in_their_own_direction_and_marks_of_direction_are_spelled_out(
    language: Language, carry_out: Any, shell: Shell
) -> None:
    carry_out(replace(language, says=f"{language.says} \u202eevil\u202c"))
    html = shell.cell("%pge show evaluations 1.1").view.html()
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f") & set(html)
    cells = re.findall(r"<td([^>]*)>([^<]*)", html)
    words = [attributes for attributes, text in cells if language.says[:12] in text]
    assert words
    assert all('dir="auto"' in attributes for attributes in words)


def test_long_lines_without_blanks_are_wrapped_in_the_state_file() -> None:
    text = "返回两个数的和。" * 60
    lines = said(text)[1:-1]
    assert "".join(lines) == text
    assert max(map(columns_of, lines)) <= 110
    code = "x" * 300
    assert said(code)[1:-1] == [code]  # a long word may be a path or a hash: it stays whole


def test_evidence_is_laid_before_the_judge_in_the_letters_that_it_has(carry_out: Any) -> None:
    _, requests = carry_out(ARABIC)
    assert ARABIC.docstring in first_message(requests[-1])
