"""What JupyterLab's sanitizer lets through, as far as a view may use it (read from JupyterLab 4.6, apputils)."""

from __future__ import annotations

from html.parser import HTMLParser

TAGS = {"a", "b", "br", "caption", "code", "details", "div", "img", "meter", "pre", "span", "summary"}
TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
ATTRIBUTES = {"*": {"dir", "style"}, "a": {"href"}, "img": {"alt", "src", "width"}, "th": {"scope"}}
ATTRIBUTES |= {"meter": {"max", "min", "value"}}
STYLES = {"background-color", "border", "border-bottom", "border-collapse", "border-radius", "caption-side", "color"}
STYLES |= {
    "font-size",
    "font-weight",
    "line-height",
    "margin",
    "margin-bottom",
    "margin-top",
    "max-height",
    "max-width",
    "min-width",
}
STYLES |= {
    "overflow",
    "overflow-x",
    "padding",
    "table-layout",
    "text-align",
    "vertical-align",
    "white-space",
    "word-break",
}
VOID = frozenset({"br", "img"})


class Strict(HTMLParser):
    """Collects all that would be stripped, and whether every element is closed in its turn."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stripped: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.alts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.stripped.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES["*"] | ATTRIBUTES.get(tag, set()):
                self.stripped.append(f"{tag} {name}")
            if name == "style":
                self._style(value or "")
            if name == "src" and not (value or "").startswith("data:image/png;base64,"):
                self.stripped.append(f"src {value}")
            if name == "href" and not (value or "").startswith("./"):
                self.stripped.append(f"href {value}")
            if name == "alt":
                self.alts.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.stripped.append(f"</{tag}> out of turn")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _style(self, style: str) -> None:
        for rule in style.split(";"):
            name, colon, value = rule.partition(":")
            if name not in STYLES or not colon or "var(" in value or "url(" in value or "(" in value:
                self.stripped.append(f"style {rule}")


def read(html: str) -> Strict:
    parser = Strict()
    parser.feed(html)
    parser.close()
    parser.stripped += [f"<{tag}> is never closed" for tag in parser.open]
    return parser
