"""What a call may cost, what it did cost, and the limits that are never passed.

A call is reserved before it is made, at the most that it could use: the bytes of its input and 1,000 as input tokens,
``max_tokens`` as output, at the dearest rates that could apply. What was reserved stays counted until the call is settled.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from importlib import resources
from pathlib import Path

from ..errors import BadInput, LimitReached, quoted
from ..payloads import Misfit, decode
from ..prose import counted
from ..records import Usage
from . import Request

MILLION = 1_000_000
OVERHEAD_TOKENS = 1_000
"""What a service may add to the input of its own accord: roles, a schema, the instructions for tools."""
DEFAULT_DOLLARS = 5.0
BATCH_RATE = 0.5
"""What a call in a batch costs, as a part of what it costs by itself, whatever the model."""
MOST = 10**12
DEFAULT_UNPRICED_TOKENS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, usage: Usage) -> float:
        """Dollars for these tokens."""
        return (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        ) / MILLION

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """Dollars for these tokens if the whole input were charged at the dearest of the rates for input."""
        return (tokens_in * max(self.input, self.cache_read, self.cache_write) + tokens_out * self.output) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A model's rates; those of ``long`` where the prompt, cached tokens counted, has more than ``long_from``."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int | None = None
    long: Rates | None = None

    @property
    def rates(self) -> Rates:
        """The rates of an ordinary prompt."""
        return Rates(input=self.input, output=self.output, cache_read=self.cache_read, cache_write=self.cache_write)

    @property
    def least(self) -> float:
        """The lowest of its rates."""
        sets = (self.rates, self.long) if self.long else (self.rates,)
        return min(min(rates.input, rates.output, rates.cache_read, rates.cache_write) for rates in sets)

    def cost(self, usage: Usage) -> float:
        """Dollars for one call that used these tokens."""
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long is not None and self.long_from is not None and prompt > self.long_from:
            return self.long.cost(usage)
        return self.rates.cost(usage)

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The most that one call with at most these tokens can cost, in dollars."""
        ordinary = self.rates.most(tokens_in, tokens_out)
        if self.long is None or self.long_from is None or tokens_in <= self.long_from:
            return ordinary
        return max(ordinary, self.long.most(tokens_in, tokens_out))


FREE = Price(input=0.0, output=0.0, cache_read=0.0, cache_write=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices by model name, as published on ``date``."""

    models: Mapping[str, Price] = field(default_factory=dict)
    date: date | None = None
    source: str = ""

    @classmethod
    def load(cls, override: Mapping[str, object] | Path | str | None = None) -> Prices:
        """The prices that come with the package; those in ``override`` (name -> rates, or a TOML file) win over them."""
        ours = resources.files("pge_nb.models").joinpath("prices.toml").read_text(encoding="utf-8")
        prices = prices_in(tomllib.loads(ours), "prices.toml")
        if override is None:
            return prices
        theirs = override_of(override)
        return Prices(models={**prices.models, **theirs.models}, date=theirs.date or prices.date, source=theirs.source)

    def of(self, model: str) -> Price | None:
        """The price of a model; None where it is not known. The practice model costs nothing."""
        if model == "practice" or model.startswith("practice:"):
            return FREE
        return self.models.get(model) or self.models.get(re.sub(r"-\d{8}$", "", model))

    def cost(self, model: str, usage: Usage) -> float | None:
        """Dollars for one call; None where the model has no price."""
        price = self.of(model)
        return price.cost(usage) if price else None

    def bind(self, models: Iterable[str]) -> bool:
        """Whether one of the models costs something, as far as is known."""
        return any(price.most(1, 1) > 0 for model in models if (price := self.of(model)))


def override_of(override: Mapping[str, object] | Path | str) -> Prices:
    """The prices that a person gives, as a mapping or as a TOML file."""
    if isinstance(override, Mapping):
        table = dict(override) if "models" in override else {"models": dict(override)}
        return prices_in(table, "the prices given")
    path = Path(override)
    try:
        return prices_in(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(
            f"The prices in {path} cannot be read: {error}.", "prices.toml in pge_nb shows the form."
        ) from None


def prices_in(table: Mapping[str, object], where: str) -> Prices:
    """The prices in a parsed table; ``BadInput`` names what does not fit."""
    day = table.get("date")
    try:
        found = decode(dict[str, Price], table.get("models", {}), "models")
    except Misfit as error:
        raise BadInput(f"The prices in {where} do not fit: {error}.", "prices.toml in pge_nb shows the form.") from None
    if negative := [name for name, price in found.items() if price.least < 0]:
        raise BadInput(f"The price of {negative[0]} in {where} is negative.", "Give dollars per million tokens.")
    return Prices(models=found, date=day if isinstance(day, date) else None, source=str(table.get("source", "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The most that a call can use. ``dollars`` is None where the model has no price."""

    tokens: int
    dollars: float | None

    @classmethod
    def of(cls, request: Request, prices: Prices) -> Bound:
        """The bound of a request before it is sent."""
        tokens_in, tokens_out = request.input_bytes + OVERHEAD_TOKENS, request.max_tokens
        price = prices.of(request.model)
        return cls(tokens=tokens_in + tokens_out, dollars=price.most(tokens_in, tokens_out) if price else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has used: settled calls as they were billed, unfinished ones at the most that they can have cost.

    ``dollars`` is that of the models with a price; ``unpriced_tokens`` are those of the others, counted in ``tokens`` too.
    """

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    unpriced_tokens: int = 0
    unfinished: int = 0

    def plus(self, tokens: int, dollars: float | None, *, calls: int = 0, unfinished: int = 0) -> Spent:
        """With this added; ``dollars`` None for a model without a price."""
        return Spent(
            calls=self.calls + calls,
            tokens=self.tokens + tokens,
            dollars=self.dollars + (dollars or 0.0),
            unpriced_tokens=self.unpriced_tokens + (tokens if dollars is None else 0),
            unfinished=self.unfinished + unfinished,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a run may use. None: no limit of this kind was set.

    Without ``max_dollars`` a run may use 5 dollars on models with a price, and without ``max_tokens_total`` as well
    2,000,000 tokens on models without one.
    """

    max_calls: int | None = None
    max_tokens_total: int | None = None
    max_dollars: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_tokens_total", "max_dollars"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0 <= value <= MOST):
                raise BadInput(f"{name} is {quoted(value)}.", f"Give a number from 0 to {MOST:,}.")

    @property
    def unpriced_tokens(self) -> int | None:
        """How many tokens models without a price may use in all; None where ``max_tokens_total`` says it."""
        return DEFAULT_UNPRICED_TOKENS if self.max_tokens_total is None else None

    def check_models(self, models: Iterable[str], prices: Prices) -> None:
        """``BadInput`` where a limit in dollars was set and one of the models has no price to hold it with."""
        unpriced = sorted({model for model in models if prices.of(model) is None})
        if self.max_dollars is not None and unpriced:
            raise BadInput(
                f"A limit of {self.max_dollars:g} dollars cannot be kept: no price is known for {', '.join(unpriced)}.",
                "Limit tokens instead (--max-tokens-total N), or give the model a price.",
            )

    def check(self, spent: Spent, bound: Bound) -> None:
        """``LimitReached`` where a call that uses all of ``bound`` would pass a limit."""
        if self.max_calls is not None and spent.calls + spent.unfinished + 1 > self.max_calls:
            raise LimitReached(
                f"This run may make {counted(self.max_calls, 'call')} and has made {spent.calls + spent.unfinished}.",
                "Raise max_calls in the configuration, then go on with %pge resume.",
            )
        self._check_tokens(spent, bound)
        self._check_dollars(spent, bound)

    def _check_tokens(self, spent: Spent, bound: Bound) -> None:
        used, limit, kind = spent.tokens, self.max_tokens_total, "tokens"
        if limit is None and bound.dollars is None:
            used, limit, kind = spent.unpriced_tokens, self.unpriced_tokens, "tokens on models without a price"
        if limit is not None and used + bound.tokens > limit:
            raise LimitReached(
                f"The next call could use {bound.tokens:,} tokens, and {max(limit - used, 0):,} are left: "
                f"{used:,} of the {limit:,} {kind} "
                "that this run may use are spent or reserved.",
                f"Go on with more: %pge resume --max-tokens-total {rounded_up(used + bound.tokens)}",
            )

    def _check_dollars(self, spent: Spent, bound: Bound) -> None:
        limit = DEFAULT_DOLLARS if self.max_dollars is None else self.max_dollars
        if bound.dollars and spent.dollars + bound.dollars > limit:
            raise LimitReached(
                f"The next call could cost {bound.dollars:.4f} dollars; {spent.dollars:.4f} of the {limit:g} dollars "
                "that this run may cost are spent or reserved.",
                f"Go on with more: %pge resume --budget {dollars_up(spent.dollars + bound.dollars)}",
            )


def rounded_up(tokens: int) -> int:
    """At least this many tokens, as a round number to suggest."""
    step = int(10 ** max(len(str(tokens)) - 2, 0))
    return math.ceil(tokens / step) * step


def dollars_up(dollars: float) -> str:
    """At least this many dollars, as an amount to suggest: whole ones from ten on, cents below one."""
    places = 2 if dollars < 1 else 1 if dollars < 10 else 0
    return f"{math.ceil(dollars * 10**places) / 10**places:g}"
