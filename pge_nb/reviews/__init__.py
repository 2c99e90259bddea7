"""How an evaluator looks at an attempt: one small class for each review method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from ..errors import PgeError
from ..payloads import Misfit, decode
from ..records import Check
from ..workspace import Tree

A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a look at one check found. ``met`` None: it could not be decided, so the judge decides.

    ``says`` is what was looked at, ``saw`` what was there (the evidence's text), ``strength`` how easily the generator could
    have made it up: "strong", or "weak" with the reason. ``picture`` is a PNG of what was seen, in base64; empty: there is none.
    """

    met: bool | None
    says: str
    saw: str
    strength: str = "strong"
    picture: str = ""


class Review(Protocol):
    """A review method. ``Args`` is a frozen dataclass, the form of the check's ``args``.

    One of a person's own is a subclass with `look`, given to ``HarnessConfig.review_methods`` by its name.
    """

    name: ClassVar[str]
    Args: ClassVar[type[Any]]

    @property
    def help(self) -> str:
        """Its use, with args to copy."""
        ...

    def look(self, check: Check, tree: Tree) -> Outcome:
        """Look at a throwaway copy of the tree. Never raises for what the tree holds: that is an outcome."""
        ...

    def vet(self, check: Check) -> str | None:
        """Why the check's args cannot be used; None where they can. A subclass that says no more has them fit `Args`."""
        return misfit(self.Args, check)


def args_of(cls: type[A], check: Check) -> A:
    """The check's args as the method's `Args`; ``Misfit`` where they do not fit."""
    return decode(cls, dict(check.args), "args")


def misfit(cls: type[Any], check: Check) -> str | None:
    """Why the check's args do not fit ``cls``; None where they do."""
    try:
        args_of(cls, check)
    except Misfit as error:
        return str(error)
    return None


def looked(review: Review, check: Check, tree: Tree) -> Outcome:
    """What a review sees; undecided where it fails itself, as one of a person's own may."""
    try:
        outcome: object = review.look(check, tree)
    except PgeError:  # of this machine, as where no sandbox holds
        raise
    except Exception as error:
        return Outcome(met=None, says=f"{check.method} broke off", saw=f"it raised {type(error).__name__}: {error}")
    if not isinstance(outcome, Outcome):
        return Outcome(met=None, says=f"{check.method} gave no outcome", saw=f"it returned {outcome!r:.200}")
    return outcome


def shipped(*, seconds: float, allow_unsafe: bool = False) -> Mapping[str, Review]:
    """The review methods that come with the package, by name.

    ``seconds`` limits each command; ``allow_unsafe``: one may be run where no sandbox holds.
    """
    # Imported here since each of them builds on this module.
    from .browser import Browser
    from .command import Command
    from .file import File
    from .notebook import Notebook
    from .oracle import OracleReview
    from .reference import Reference
    from .rule import Rule

    methods: tuple[Review, ...] = (
        OracleReview(seconds, allow_unsafe=allow_unsafe),
        Command(seconds, allow_unsafe=allow_unsafe),
        File(seconds, allow_unsafe=allow_unsafe),
        Notebook(seconds, allow_unsafe=allow_unsafe),
        Browser(seconds, allow_unsafe=allow_unsafe),
        Rule(seconds, allow_unsafe=allow_unsafe),
        Reference(seconds, allow_unsafe=allow_unsafe),
    )
    return {method.name: method for method in methods}
