"""Keep keys out of everything that is written down, and home paths out of what the harness itself says about places.

Exact values are replaced, never patterns: a text that merely looks like a key stays as it is. What agents and checks wrote
keeps its home paths, since a file or a wanted value may rest on them; so does a prompt, and a setting that names a file. A
value of the environment that is made of letters and underscores alone reads like a word or a name of code and is left alone,
although it may be somebody's password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from .payloads import DEEPEST, TOO_DEEP

REDACTED = "[redacted]"
SHORTEST = 12
"""Shorter values are left alone: they turn up in ordinary text."""

T = TypeVar("T")
SECRET_NAME = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)S?(?![A-Z])|(?<!^)(?<!^OLD)PWD$|(?<![A-Z])(PASS|AUTH)$"
)


class Redactor:
    """Replaces the secret values that were known when it was made; in `sentence` also the home directory's path, by ``~``.

    ``environ`` and ``home`` default to those of this process. ``keys`` are further secrets, such as a key that was handed
    over at run time.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, *, home: str | None = None, keys: Iterable[str] = ()
    ) -> None:
        found = {*secrets_in(os.environ if environ is None else environ), *keys}
        values = {form for value in found for form in forms(value) if len(form) >= SHORTEST}
        # The longest first: a key that begins with another one would else leave its tail behind.
        self._secrets = any_of(re.escape(value) for value in sorted(values, key=len, reverse=True))
        self._home = home_pattern(own_home() if home is None else home)

    def text(self, text: str) -> str:
        """The text without secrets. Paths stay: in a file that an agent wrote they may be what matters."""
        return self._secrets.sub(REDACTED, text) if self._secrets else text

    def sentence(self, text: str) -> str:
        """A sentence of our own, without secrets and home paths."""
        text = self.text(text)
        return self._home.sub("~", text) if self._home else text

    def json(self, value: T) -> T:
        """The same JSON value without secrets in any string of it, names of fields too."""
        return self._json(value)  # type: ignore[return-value]

    def _json(self, value: object, deepest: int = 2 * DEEPEST) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping | list | tuple) and not deepest:
            return TOO_DEEP
        if isinstance(value, Mapping):
            return {
                self.text(name) if isinstance(name, str) else name: self._json(item, deepest - 1)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._json(item, deepest - 1) for item in value]
        if isinstance(value, tuple):
            return tuple([self._json(item, deepest - 1) for item in value])
        return value


def secrets_in(environ: Mapping[str, str]) -> Iterator[str]:
    """The secret values of an environment: of telling names, of URLs with credentials, of Anthropic's custom headers."""
    for name, value in environ.items():
        if SECRET_NAME.search(name.upper()) and not is_word(value):
            yield value
        if "://" in value:
            yield from secrets_in_url(value, whole=name == "ANTHROPIC_BASE_URL")
    for line in environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"):
        value = line.partition(":")[2].strip()
        yield value
        yield from value.split()[1:]  # what stands after "Bearer"


def is_word(value: str) -> bool:
    """Whether a value is made of letters and underscores alone, as words and the names of code are, and keys are not."""
    return value.strip().replace("_", "").isalpha()


def secrets_in_url(url: str, *, whole: bool) -> Iterator[str]:
    """The password of a URL; where it is ``whole`` ours to hide, its user name and the values of its query as well."""
    try:
        parts = urlsplit(url.strip())
        password, user = parts.password, parts.username
    except ValueError:
        return
    yield password or ""
    if whole:
        yield user or ""
        yield from (value for _, value in parse_qsl(parts.query))


def forms(value: str) -> Iterator[str]:
    """The ways in which a value is met: as it is, without white space around it, and in a URL."""
    stripped = value.strip()
    yield from (value, stripped, unquote(stripped), quote(stripped, safe=""))


def any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """One pattern that matches any of them, the first that fits; None where there are none."""
    joined = "|".join(patterns)
    return re.compile(joined) if joined else None


def own_home() -> str:
    """This person's home directory; empty where the system knows of none, as in a container with a made-up user."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


def home_pattern(home: str) -> re.Pattern[str] | None:
    """Matches a home directory's path where a path begins, and not inside a longer name (``/root`` in ``/rooted``)."""
    home = home.rstrip("/\\")
    resolved = os.path.realpath(home) if home else ""
    paths = sorted({path for path in (home, resolved) if len(path) > 1}, key=len, reverse=True)
    return any_of(rf"(?<![\w.~-]){re.escape(path)}(?![\w-]|\.\w)" for path in paths)
