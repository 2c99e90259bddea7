from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notebook_shell import Shell

from pge_nb.errors import BadInput, LimitReached
from pge_nb.models import About, Request
from pge_nb.models.limits import Bound, Limits, Prices, Spent
from pge_nb.records import Usage

PRICES = Prices.load()


def request(model: str = "claude-opus-5-5", text: str = "hi", **fields: object) -> Request:
    about = About(role="planner", phase="plan")
    return Request(model=model, system="s", messages=({"role": "user", "content": text},), about=about, **fields)  # type: ignore[arg-type]


def test_the_price_table_has_a_date_and_a_source():
    assert isinstance(PRICES.date, date)
    assert PRICES.source.startswith("https://")


def test_a_dated_name_has_the_price_of_its_model():
    assert PRICES.of("claude-haiku-4-5-20251001") == PRICES.of("claude-haiku-4-5") is not None


@pytest.mark.parametrize("model", ["qwen2.5-coder-1.5b", "", "claude", "claude-opus-5-5-turbo"])
def test_a_model_that_is_not_in_the_table_has_no_price(model):
    assert PRICES.of(model) is None
    assert PRICES.cost(model, Usage(input_tokens=1)) is None


@pytest.mark.parametrize("model", ["practice", "practice:skill=0.7,seed=1"])
def test_practice_costs_nothing(model):
    assert PRICES.cost(model, Usage(input_tokens=10**6, output_tokens=10**6)) == 0.0
    assert Bound.of(request(model), PRICES).dollars == 0.0


def test_each_kind_of_token_has_its_rate():
    # 4 + 20 + 0.2 + 5 dollars for a million of each
    usage = Usage(input_tokens=10**6, output_tokens=10**6, cache_read_tokens=10**6, cache_write_tokens=10**6)
    assert PRICES.cost("claude-opus-5-5", usage) == pytest.approx(29.2)


def test_a_long_prompt_pays_the_long_rates_on_every_token():
    short = Usage(input_tokens=60_000, cache_read_tokens=40_000, output_tokens=1_000)
    # 60,000 x 0.1 + 40,000 x 0.01 + 1,000 x 0.5, per million
    assert PRICES.cost("claude-haiku-5-5", short) == pytest.approx(0.0069)
    # one token more: 60,001 x 0.5 + 40,000 x 0.05 + 1,000 x 2.5
    longer = Usage(input_tokens=60_001, cache_read_tokens=40_000, output_tokens=1_000)
    assert PRICES.cost("claude-haiku-5-5", longer) == pytest.approx(0.0345005)


def test_a_mapping_of_prices_wins_over_the_table():
    mine = Prices.load({"mine": {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0}})
    assert mine.cost("mine", Usage(input_tokens=10**6)) == 1.0
    assert mine.of("claude-opus-5-5") == PRICES.of("claude-opus-5-5")


def test_a_toml_file_of_prices_wins_over_the_table(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("date = 2030-01-01\n[models.claude-opus-5-5]\ninput=1\noutput=2\ncache_read=0\ncache_write=0\n")
    mine = Prices.load(path)
    assert (mine.date, mine.cost("claude-opus-5-5", Usage(output_tokens=10**6))) == (date(2030, 1, 1), 2.0)


@pytest.mark.parametrize(
    "rates",
    [
        {"input": "1", "output": 2, "cache_read": 0, "cache_write": 0},
        {"input": -1, "output": 2, "cache_read": 0, "cache_write": 0},
        {"input": 1, "output": 2},
        {"input": 1, "output": 2, "cache_read": 0, "cache_write": 0, "cache_refresh": 0},
        3,
    ],
)
def test_prices_that_do_not_fit_are_refused(rates):
    with pytest.raises(BadInput, match="mine"):
        Prices.load({"mine": rates})


def test_a_file_of_prices_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        Prices.load(tmp_path / "none.toml")


def test_a_bound_is_bytes_and_a_thousand_and_all_the_output_at_the_dearest_rates():
    asked = request(text="é" * 100, max_tokens=500)
    bound = Bound.of(asked, PRICES)
    assert bound.tokens == asked.input_bytes + 1_000 + 500
    # the whole input could be written to the cache, at 5 dollars rather than 4
    assert bound.dollars == pytest.approx(((asked.input_bytes + 1_000) * 5 + 500 * 20) / 10**6)


def test_a_bound_that_could_be_a_long_prompt_takes_the_long_rates():
    bound = Bound.of(request("claude-haiku-5-5", text="x" * 100_000, max_tokens=0), PRICES)
    assert bound.dollars == pytest.approx((bound.tokens * 0.625) / 10**6)


@given(
    st.sampled_from(["claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-1"]),
    st.integers(0, 300_000),
    st.integers(0, 50_000),
    st.data(),
)
def test_no_usage_within_a_bound_costs_more_than_it(model, tokens_in, tokens_out, data):
    read = data.draw(st.integers(0, tokens_in))
    written = data.draw(st.integers(0, tokens_in - read))
    usage = Usage(
        input_tokens=tokens_in - read - written,
        output_tokens=tokens_out,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    price = PRICES.of(model)
    assert price is not None
    assert price.cost(usage) <= price.most(tokens_in, tokens_out) * (1 + 1e-12)


def test_the_last_call_that_fits_is_let_through_and_the_next_is_not():
    bound = Bound(tokens=100, dollars=0.5)
    limits = Limits(max_calls=2, max_tokens_total=200, max_dollars=1.0)
    limits.check(Spent(calls=1, tokens=100, dollars=0.5), bound)
    for spent in (Spent(calls=2), Spent(unfinished=2), Spent(tokens=101), Spent(dollars=0.51)):
        with pytest.raises(LimitReached):
            limits.check(spent, bound)


@pytest.mark.parametrize(
    ("limits", "spent", "move"),
    [
        (Limits(max_dollars=1.0), Spent(dollars=0.9), "%pge resume --budget 1.4"),
        (Limits(max_tokens_total=1_000), Spent(tokens=950), "%pge resume --max-tokens-total 1100"),
        (Limits(max_calls=3), Spent(calls=3), "max_calls"),
    ],
)
def test_a_limit_that_is_reached_says_what_would_be_enough(limits, spent, move):
    with pytest.raises(LimitReached) as caught:
        limits.check(spent, Bound(tokens=100, dollars=0.5))
    assert move in caught.value.next_move
    assert "call" in caught.value.fact


def test_a_limit_of_tokens_tells_what_is_left_below_what_a_call_could_use():
    with pytest.raises(LimitReached, match="could use 100 tokens, and 50 are left: 950 of the 1,000 tokens"):
        Limits(max_tokens_total=1_000).check(Spent(tokens=950), Bound(tokens=100, dollars=0.5))


def test_unless_told_otherwise_a_run_costs_at_most_five_dollars():
    with pytest.raises(LimitReached, match="5 dollars"):
        Limits().check(Spent(dollars=4.8), Bound(tokens=1, dollars=0.3))


def test_the_default_in_dollars_does_not_bind_what_costs_nothing():
    Limits().check(Spent(dollars=4.99), Bound(tokens=10**6, dollars=0.0))


def test_a_model_without_a_price_gets_two_million_tokens_unless_told_otherwise():
    unpriced = Bound(tokens=1_000, dollars=None)
    Limits().check(Spent(tokens=10**7, unpriced_tokens=1_999_000), unpriced)
    with pytest.raises(LimitReached, match="2,000,000"):
        Limits().check(Spent(unpriced_tokens=1_999_001), unpriced)
    Limits(max_tokens_total=10**7).check(Spent(tokens=5 * 10**6, unpriced_tokens=5 * 10**6), unpriced)


def test_a_limit_in_dollars_is_refused_for_a_model_without_a_price():
    models = ["claude-opus-5-5", "qwen", "practice:seed=1"]
    with pytest.raises(BadInput, match="qwen"):
        Limits(max_dollars=3).check_models(models, PRICES)
    Limits().check_models(models, PRICES)
    Limits(max_dollars=3).check_models(["claude-opus-5-5", "practice"], PRICES)


@pytest.mark.parametrize("fields", [{"max_calls": -1}, {"max_dollars": math.nan}, {"max_dollars": math.inf}])
def test_limits_that_are_no_numbers_are_refused(fields):
    with pytest.raises(BadInput):
        Limits(**fields)


@pytest.mark.parametrize("limit", [10, 5_000, 14_000])
def test_the_next_line_of_a_stopped_run_lets_the_next_call_be_made(shell: Shell, limit: int) -> None:
    view = shell.cell(f"%pge run --practice stats --seed 2 --max-tokens-total {limit}").view
    made = view.df["calls"].sum() if "calls" in view.df else 0
    assert view.mark == "stopped"
    shell.cell(view.next)
    assert shell.cell("%pge show cost").view.df["calls"].sum() > made
