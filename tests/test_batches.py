"""Message Batches over real HTTP, against a loopback stub that is slow, busy and drops lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from batches_stub import BatchesStub, errored

from pge_nb import HarnessConfig, PGEHarness, bank, open_run
from pge_nb.agents.raters import judge
from pge_nb.errors import BadInput, LimitReached
from pge_nb.models import About, CallBroken, CallStopped, Listen, ModelFailed, NotNow, Reply, Request, Stop, batches
from pge_nb.models.batches import Batches, BatchRecording, Patience, custom_id, lines_of
from pge_nb.models.claude import Claude
from pge_nb.models.limits import Limits, Prices
from pge_nb.models.practice import Practice
from pge_nb.records import Usage
from pge_nb.studies import replaying
from pge_nb.studies.study import open_study

KEY = "sk-ant-0123456789abcdef"
MODEL = "claude-opus-5-5"
QUICK = Patience(first=0.01, longest=0.02, failures=4)
NUMBERS = range(5)


class Nobody:
    """A model that must not be asked by itself."""

    def reply(self, request: Request, *, listen: Listen | None = None, stop: Stop | None = None) -> Reply:
        raise AssertionError("asked one by one")


def request(number: int, **fields: Any) -> Request:
    about = About(role="evaluator", phase="evaluate", step=number)
    message = {"role": "user", "content": f"What is {number}?"}
    return Request(model=MODEL, system="Be brief.", messages=(message,), about=about, max_tokens=1_000, **fields)


ASKED = [request(number) for number in NUMBERS]


@contextmanager
def service(stub: BatchesStub) -> Iterator[Batches]:
    """Batches before a stub. The SDK's own retries are off: they wait."""
    with stub, anthropic.Anthropic(api_key=KEY, base_url=stub.url, max_retries=0, timeout=5.0) as client:
        yield Batches(Claude(client=client), QUICK)


def log(path: Path, **fields: Any) -> BatchRecording:
    return BatchRecording(path / "calls.jsonl", Nobody(), **fields)


def answered(custom: str, params: dict[str, Any]) -> str:
    assert custom in {custom_id(one.key) for one in ASKED}
    return f"To {params['messages'][0]['content']}"


def check_all(path: Path) -> None:
    """Every reply stands in the log, each to its own request, and nothing is open."""
    kept = log(path)
    assert [kept.reply(one).text for one in ASKED] == [f"To What is {number}?" for number in NUMBERS]
    assert kept.unfinished() == ()
    assert len(kept.calls()) == len(ASKED)


def test_replies_in_any_order_reach_their_requests_at_half_the_price(tmp_path: Path) -> None:
    stub = BatchesStub(answered, looks=2)
    with service(stub) as many:
        assert log(tmp_path).reply_many(ASKED, many) == {}
        assert log(tmp_path).reply_many(ASKED, many) == {}  # they are there
    assert len(stub.batches) == 1
    check_all(tmp_path)
    whole = Prices.load().cost(MODEL, Usage(input_tokens=1_000, output_tokens=100))
    assert whole
    assert log(tmp_path).spent().dollars == pytest.approx(len(ASKED) * whole / 2)


@pytest.mark.parametrize(
    ("trouble", "batches_taken"),
    [
        ({"create": [429, 529, 500]}, 1),
        ({"look": [429, "drop", 529]}, 1),
        ({"look": [None, "cut"]}, 1),
        ({"replies": ["drop", "cut", 529]}, 1),
        ({"create": [529], "look": [529, None, "drop"], "replies": ["cut"]}, 1),
    ],
)
def test_what_passes_is_waited_for_and_nothing_is_sent_twice(
    tmp_path: Path, trouble: dict[str, list[Any]], batches_taken: int
) -> None:
    stub = BatchesStub(answered, looks=1, trouble=trouble)
    with service(stub) as many:
        assert log(tmp_path).reply_many(ASKED, many) == {}
    assert len(stub.batches) == batches_taken
    check_all(tmp_path)


def test_after_a_restart_the_batch_is_asked_for_by_its_id(tmp_path: Path) -> None:
    stub = BatchesStub(answered, looks=3)
    with service(stub) as many:
        with pytest.raises(CallStopped):
            log(tmp_path).reply_many(ASKED, many, stop=lambda: bool(stub.looked))
        assert len(log(tmp_path).unfinished()) == len(ASKED)
        assert log(tmp_path).reply_many(ASKED, many) == {}
    assert len(stub.batches) == 1
    check_all(tmp_path)


def test_what_came_before_the_line_dropped_for_good_is_kept(tmp_path: Path) -> None:
    stub = BatchesStub(answered, trouble={"replies": ["cut"] * QUICK.failures})
    with service(stub) as many:
        with pytest.raises(CallBroken):
            log(tmp_path).reply_many(ASKED, many)
        there = len(log(tmp_path).calls())
        assert 0 < there < len(ASKED)
        assert log(tmp_path).reply_many(ASKED, many) == {}
    assert len(stub.batches) == 1
    check_all(tmp_path)


def test_expired_canceled_and_overloaded_ones_are_sent_again_and_cost_nothing(tmp_path: Path) -> None:
    tries: dict[str, int] = {}
    once = {0: {"type": "expired"}, 1: {"type": "canceled"}, 2: errored("overloaded_error")}

    def answer(custom: str, params: dict[str, Any]) -> str | dict[str, Any]:
        tries[custom] = tries.get(custom, 0) + 1
        number = next(n for n, one in enumerate(ASKED) if custom_id(one.key) == custom)
        return once[number] if number in once and tries[custom] == 1 else answered(custom, params)

    stub = BatchesStub(answer)
    with service(stub) as many:
        assert log(tmp_path).reply_many(ASKED, many) == {}
    assert [len(requests) for requests in stub.batches.values()] == [5, 3]
    check_all(tmp_path)


def test_what_expires_every_time_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    stub = BatchesStub(
        lambda custom, params: {"type": "expired"} if custom == custom_id(ASKED[0].key) else answered(custom, params)
    )
    with service(stub) as many:
        missed = log(tmp_path).reply_many(ASKED, many)
    assert list(missed) == [ASKED[0].key]
    assert "expired" in missed[ASKED[0].key].fact
    assert len(stub.batches) == batches.ROUNDS
    assert log(tmp_path).unfinished() == ()


def test_a_request_that_is_refused_is_told_once_and_not_sent_again(tmp_path: Path) -> None:
    stub = BatchesStub(lambda *_: errored("invalid_request_error", "messages: too few"))
    with service(stub) as many:
        missed = log(tmp_path).reply_many(ASKED[:1], many)
    assert "status 400" in missed[ASKED[0].key].fact
    assert "too few" in missed[ASKED[0].key].fact
    assert len(stub.batches) == 1
    assert log(tmp_path).spent().dollars == 0


def test_what_a_model_refuses_is_left_out(tmp_path: Path) -> None:
    one = request(0, effort="high")

    def answer(custom: str, params: dict[str, Any]) -> str | dict[str, Any]:
        said = errored("invalid_request_error", "output_config.effort: not supported")
        return said if params.get("output_config") else "fine"

    stub = BatchesStub(answer)
    with service(stub) as many:
        assert log(tmp_path).reply_many([one], many) == {}
    sent = [requests[0]["params"] for requests in stub.batches.values()]
    assert [bool(params.get("output_config")) for params in sent] == [True, False]
    assert all(isinstance(params["system"], list) for params in sent)  # the cache mark was not blamed


def test_one_that_the_batch_says_nothing_of_counts_in_full_and_is_sent_again(tmp_path: Path) -> None:
    tries: list[str] = []

    def answer(custom: str, params: dict[str, Any]) -> str | None:
        tries.append(custom)
        lost = custom == custom_id(ASKED[0].key) and tries.count(custom) == 1
        return None if lost else answered(custom, params)

    with service(BatchesStub(answer)) as many:
        assert log(tmp_path).reply_many(ASKED, many) == {}
    assert len(log(tmp_path).unfinished()) == 1
    assert len(log(tmp_path).calls()) == len(ASKED)


def test_a_create_whose_answer_is_lost_counts_in_full(tmp_path: Path) -> None:
    stub = BatchesStub(answered, trouble={"create": ["cut"]})
    with service(stub) as many:
        missed = log(tmp_path).reply_many(ASKED, many)
    assert len(log(tmp_path).unfinished()) == len(ASKED)
    assert len(stub.batches) == 1
    assert len(missed) == len(ASKED)
    assert all(isinstance(why, CallBroken) for why in missed.values())


def test_a_service_without_batches_says_so(tmp_path: Path) -> None:
    with service(BatchesStub(answered, trouble={"create": [404]})) as many:
        missed = log(tmp_path).reply_many(ASKED, many)
    assert {why.fact for why in missed.values()} == {"The service takes no batches."}
    assert log(tmp_path).unfinished() == ()


def test_one_that_stays_busy_ends_it_with_nothing_reserved(tmp_path: Path) -> None:
    stub = BatchesStub(answered, trouble={"create": [529] * QUICK.failures})
    with service(stub) as many, pytest.raises(NotNow):
        log(tmp_path).reply_many(ASKED, many)
    assert stub.calls == ["create"] * QUICK.failures
    assert log(tmp_path).unfinished() == ()


def test_a_batch_that_is_gone_counts_in_full(tmp_path: Path) -> None:
    stub = BatchesStub(answered, looks=3)
    with service(stub) as many:
        with pytest.raises(CallStopped):
            log(tmp_path).reply_many(ASKED, many, stop=lambda: bool(stub.looked))
        stub.batches.clear()
        missed = log(tmp_path).reply_many(ASKED, many)
    assert all("gone" in why.fact for why in missed.values())
    assert len(missed) == len(log(tmp_path).unfinished()) == len(ASKED)


def test_batches_are_within_the_service_s_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_REQUESTS", 2)
    stub = BatchesStub(answered)
    with service(stub) as many:
        assert log(tmp_path / "by number").reply_many(ASKED, many) == {}
    assert [len(requests) for requests in stub.batches.values()] == [2, 2, 1]
    monkeypatch.setattr(batches, "MOST_REQUESTS", 100)
    monkeypatch.setattr(batches, "MOST_BYTES", 1_500)
    stub = BatchesStub(answered)
    with service(stub) as many:
        assert log(tmp_path / "by bytes").reply_many(ASKED, many) == {}
    assert len(stub.batches) > 1
    check_all(tmp_path / "by bytes")


def test_a_limit_sends_what_fits_and_tells_of_the_rest(tmp_path: Path) -> None:
    stub = BatchesStub(answered)
    with service(stub) as many:
        missed = log(tmp_path, limits=Limits(max_calls=2)).reply_many(ASKED, many)
    assert len(log(tmp_path).calls()) == 2
    assert len(missed) == 3
    assert all(isinstance(why, LimitReached) for why in missed.values())


def test_only_a_newline_ends_a_line() -> None:
    assert list(lines_of([b'{"a": "x\xe2\x80', b'\xa8y"}\n\n{"b"', b": 1}"])) == [
        '{"a": "x\u2028y"}'.encode(),
        b'{"b": 1}',
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    config = HarnessConfig(
        model="practice:skill=0.4,seed=0",
        on_exhausted=("keep", "advance"),
        shared_state_path=root / "shared_state.md",
    )
    PGEHarness(config).run(bank.practice_task("textkit").prompt)
    return root


def test_gradings_come_out_of_batches_and_nobody_is_asked_one_by_one(home: Path, tmp_path: Path) -> None:
    asked = replaying.asked_of([open_run(home)], [judge(MODEL)])
    requests = [one.frozen.request(one.rater, one.sample) for one in asked if one.frozen.docket.ids]
    said = {custom_id(one.key): Practice("practice").reply(one).text for one in requests}
    stub = BatchesStub(lambda custom, _: said[custom], looks=1)
    with service(stub) as many:
        done = replaying.regrade(open_study(tmp_path), asked, model=Nobody(), batches=many)
    assert len(done.graded) == len(asked)
    assert not done.failed
    assert [len(requests) for requests in stub.batches.values()] == [len(said)]
    one_by_one = replaying.regrade(open_study(home), asked, model=Practice("practice"))
    assert [one.report.verdict for one in done.graded] == [one.report.verdict for one in one_by_one.graded]


def test_a_batch_that_fails_is_told_and_no_judge_is_asked_at_the_whole_price(home: Path, tmp_path: Path) -> None:
    asked = replaying.asked_of([open_run(home)], [judge(MODEL)])
    with service(BatchesStub(lambda *_: errored("invalid_request_error"))) as many:
        done = replaying.regrade(open_study(tmp_path), asked, model=Nobody(), batches=many)
    assert done.failed
    assert all("refused the request" in why for _, why in done.failed)


def test_a_practice_judge_takes_no_batches(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="takes no batches"):
        replaying.regrade_runs(open_run(home), judge("practice"), directory=tmp_path, batch=True)


def test_no_failure_shows_the_key(tmp_path: Path) -> None:
    with service(BatchesStub(answered, trouble={"create": [413]})) as many:
        missed = log(tmp_path).reply_many(ASKED, many)
    assert all(isinstance(why, ModelFailed) and KEY not in str(why) for why in missed.values())
