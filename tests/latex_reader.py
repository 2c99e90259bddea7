"""A reader of LaTeX that accepts what a view may write, and nothing else; where there is no TeX, it stands in for one."""

from __future__ import annotations

import re

COMMANDS = {"begin", "end", "caption", "label", "textbf", "texttt", "emph", "noindent", "par", "mbox", "setlength"}
COMMANDS |= {
    "bfseries",
    "ttfamily",
    "small",
    "footnotesize",
    "scriptsize",
    "tiny",
    "tabcolsep",
    "linewidth",
    "smallskip",
}
COMMANDS |= {"toprule", "midrule", "bottomrule", "endfirsthead", "endhead", "endfoot", "tabularnewline", "centering"}
COMMANDS |= {"raggedright", "allowbreak", "textbackslash", "textasciitilde", "textasciicircum", "textasciigrave"}
COMMANDS |= {"textless", "textgreater", "textbar", "itshape", "nopagebreak"}
ENVIRONMENTS = {"table", "tabular", "longtable"}
LETTERS = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textasciigrave": "`"}
LETTERS |= {"textless": "<", "textgreater": ">", "textbar": "|"}
TOKEN = re.compile(r"\\([A-Za-z]+)|\\(.)|(\$-\$)|(.)", re.DOTALL)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class NotLatex(AssertionError):
    """What TeX would stop at, or act on."""


def read(text: str) -> str:
    """The words of the LaTeX as they would be printed. ``NotLatex`` names what is not allowed."""
    if unseen := UNSEEN.search(text):
        raise NotLatex(f"{unseen[0]!r} is not seen")
    _structure(text)
    for environment, spec, body in re.findall(
        r"\\begin\{(tabular|longtable)\}\{(@\{\}.*?@\{\})\}\n(.*?)\\end\{\1\}", text, re.DOTALL
    ):
        _table(environment, spec, body)
    return _printed(text)


def _structure(text: str) -> None:
    """Groups and environments end in their turn, every command is known, and no character is left that TeX would act on."""
    open_: list[str] = []
    for match in TOKEN.finditer(text):
        command, escaped, _, char = match.groups()
        if command and command not in COMMANDS:
            raise NotLatex(f"\\{command}")
        if command in {"begin", "end"}:
            name = re.match(r"\{([a-z]+)\}", text[match.end() :])
            if not name or name[1] not in ENVIRONMENTS:
                raise NotLatex(f"\\{command} of {text[match.end() : match.end() + 20]!r}")
            if command == "begin":
                open_.append(name[1])
            elif not open_ or open_.pop() != name[1]:
                raise NotLatex(f"\\end{{{name[1]}}} out of turn")
        if escaped and escaped not in "&%$#_{} ":
            raise NotLatex(f"\\{escaped}")
        if char and char in "%$#_^~":
            raise NotLatex(f"{char} unescaped, in {text[max(0, match.start() - 20) : match.end() + 20]!r}")
        if (
            char in ("[", "*")
            and text[match.start() - 1] != "{"
            and not text[: match.start()].endswith(r"\begin{table}")
        ):
            raise NotLatex(f"{char} could belong to the command before it")
        if char == "&" and not {"tabular", "longtable"} & set(open_):
            raise NotLatex("& outside of a table")
        if char == "{":
            open_.append("{")
        if char == "}" and (not open_ or open_.pop() != "{"):
            raise NotLatex(f"}} out of turn, in {text[max(0, match.start() - 40) : match.end()]!r}")
    if open_:
        raise NotLatex(f"{open_} is not ended")


def _table(environment: str, spec: str, body: str) -> None:
    """Every row has as many cells as there are columns, and the rules of booktabs stand where they belong."""
    columns = len(re.findall(r"[lr]|p\{0?\.?\d[.\d]*\\linewidth\}", spec))
    if re.sub(r"[lr]|p\{\d\.\d\d\\linewidth\}", "", spec) != "@{}@{}":
        raise NotLatex(f"columns {spec}")
    share = sum(map(float, re.findall(r"p\{([\d.]+)", spec)))
    if share > 1:
        raise NotLatex(f"columns of {share:.2f} times the line")
    rules = re.findall(r"\\(toprule|midrule|bottomrule|endfirsthead|endhead|endfoot)\b", body)
    head = ["toprule", "midrule"]
    expected = [*head, "endfirsthead", *head, "endhead", "bottomrule", "endfoot"]
    if rules != (expected if environment == "longtable" else [*head, "bottomrule"]):
        raise NotLatex(f"rules {rules}")
    for line in body.strip().split("\n"):
        if line.startswith((r"\caption", r"\toprule", r"\midrule", r"\bottomrule", r"\end")):
            continue
        if not line.endswith(r" \tabularnewline"):
            raise NotLatex(f"a row that does not end: {line!r}")
        cells = re.findall(r"(?<!\\)&", line)
        if len(cells) + 1 != columns:
            raise NotLatex(f"{len(cells) + 1} cells in {columns} columns: {line!r}")
        if re.match(r"[*\[]", line):
            raise NotLatex(f"the head of a row belongs to the command before it: {line!r}")


def _printed(text: str) -> str:
    """Without commands and groups."""
    shown = []
    text = re.sub(r"\\begin\{(table\}\[tbp\]|(tabular|longtable)\}\{@\{\}.*?@\{\}\})", "", text)
    text = re.sub(r"\\(begin|end|label|setlength|tabcolsep|linewidth)\b(\{[^{}]*\})*", "", text)
    for command, escaped, minus, char in TOKEN.findall(text):
        shown.append(LETTERS.get(command, "") if command else escaped or ("-" if minus else char.strip("{}")))
    return re.sub(r"[ \n]+", " ", "".join(shown))
