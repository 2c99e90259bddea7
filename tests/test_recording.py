from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pge_nb.errors import BadInput, LimitReached, ModelFailed, PgeError, StateDamaged
from pge_nb.models import About, CallBroken, CallStopped, Reply, Request, text_reply
from pge_nb.models.calllog import KINDS
from pge_nb.models.limits import Limits, Prices
from pge_nb.models.recording import Recording, call_of
from pge_nb.models.replay import Replay
from pge_nb.records import Usage
from pge_nb.redaction import Redactor

KEY = "sk-ant-0123456789abcdef"
REDACT = Redactor({"ANTHROPIC_API_KEY": KEY}, home="/home/ada")
ABOUT = About(role="generator", phase="generate", step=1, attempt=2, round=1)
PRICES = Prices.load()


def request(text: str = "hi", model: str = "claude-opus-5-5", **fields: object) -> Request:
    message = {"role": "user", "content": text}
    return Request(
        model=model, system="Be brief.", messages=(message,), **{"about": ABOUT, "max_tokens": 100, **fields}
    )  # type: ignore[arg-type]


class Scripted:
    """Answers in order; an exception is raised, a callable asked. Counts its calls."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def reply(self, request, *, listen=None, stop=None):
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer


def told(text: str = "done", **fields: object) -> Reply:
    return text_reply(text, **{"usage": Usage(input_tokens=30, output_tokens=20), "seconds": 1.5, **fields})


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / ".pge" / "calls.jsonl"


def recording(path: Path, model: object, **fields: object) -> Recording:
    return Recording(path, model, **{"redact": REDACT, "prices": PRICES, **fields})  # type: ignore[arg-type]


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# A call is reserved, settled, and made once


def test_the_first_line_is_the_header_then_each_call_is_reserved_before_it_is_settled(path):
    log = recording(path, Scripted(told()), header={"models": {"generator": "claude-opus-5-5"}})
    asked = request()
    log.reply(asked)
    opening, reserved, settled = lines(path)
    assert (opening["line"], opening["format"]) == ("opening", "pge-calls/1")
    assert opening["header"] == {"models": {"generator": "claude-opus-5-5"}} == log.header
    assert (reserved["line"], reserved["key"]) == ("reserved", asked.key)
    assert reserved["tokens"] == asked.input_bytes + 1_000 + 100
    assert (settled["line"], settled["n"]) == ("settled", reserved["n"])
    assert settled["request"] == asked.sent()
    assert settled["content"] == [{"type": "text", "text": "done"}]
    assert settled["usage"]["output_tokens"] == 20


def test_the_reservation_is_on_disk_before_the_model_is_asked(path):
    seen = []
    recording(path, Scripted(lambda _: seen.append([line["line"] for line in lines(path)]) or told())).reply(request())
    assert seen == [["opening", "reserved"]]


def test_a_known_key_is_answered_from_the_file_and_says_so(path):
    model = Scripted(told())
    first = recording(path, model).reply(request())
    again = recording(path, model).reply(request())
    assert len(model.asked) == 1
    assert (first.source, again.source) == ("live", "recording")
    assert first.id == request().key
    # 30 x 4 + 20 x 20 dollars per million
    assert first.dollars == pytest.approx(0.00052)
    assert replace(again, source="live") == first


def test_a_practice_reply_stays_one_when_it_is_met_again(path):
    log = recording(path, Scripted(told(source="practice")))
    asked = request(model="practice:seed=1")
    assert [log.reply(asked).source for _ in range(2)] == ["practice", "practice"]
    assert log.reply(asked).dollars == 0.0


@pytest.mark.parametrize(
    "other",
    [
        {"text": "ho"},
        {"sample": 1},
        {"max_tokens": 99},
        {"about": replace(ABOUT, turn=1)},
        {"about": replace(ABOUT, attempt=3)},
    ],
)
def test_another_request_or_address_or_sample_is_another_call(path, other):
    model = Scripted(told())
    log = recording(path, model)
    log.reply(request())
    log.reply(request(**other))
    assert len(model.asked) == 2


def test_what_is_only_for_the_practice_model_does_not_make_another_call(path):
    model = Scripted(told())
    log = recording(path, model)
    log.reply(request())
    log.reply(request(about=replace(ABOUT, checks=("c1",), task="roman", attempt_hash="ab")))
    assert len(model.asked) == 1


def test_blocks_come_back_in_the_order_and_form_in_which_they_came(path):
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"z": 1, "a": [None, 2.5, "ü"]}}
    log = recording(path, Scripted(told(content=(block,))))
    first, again = log.reply(request()), log.reply(request())
    assert json.dumps(first.content) == json.dumps(again.content) == json.dumps([block])


def test_half_a_character_in_a_reply_is_replaced_before_it_is_kept(path):
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"a\udc00": ["half \ud83d", "whole \ud83d\ude00"]}}
    log = recording(path, Scripted(told(content=({"type": "text", "text": "half \ud83d"}, block))))
    first, again = log.reply(request()), log.reply(request())
    assert first.text == again.text == "half \ufffd"
    assert first.content[1]["input"] == again.content[1]["input"] == {"a\ufffd": ["half \ufffd", "whole 😀"]}


@pytest.mark.parametrize("levels", [900, 100_000])
def test_a_reply_nested_too_deep_does_not_lose_a_billed_call(path, levels):
    deep: object = "x"
    for _ in range(levels):
        deep = [deep]
    log = recording(path, Scripted(told(content=({"type": "tool_use", "id": "t", "name": "f", "input": deep},))))
    first, again = log.reply(request()), log.reply(request())
    assert first.content == again.content
    assert "nested deeper than 200" in json.dumps(first.content)
    assert REDACT.json(deep) != deep


def test_a_number_that_json_lacks_does_not_lose_a_billed_reply(path):
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {"x": float("nan")}}
    log = recording(path, Scripted(told(content=(block,))))
    log.reply(request())
    assert log.reply(request()).content[0]["input"] == {"x": "nan"}


def test_keys_never_reach_the_file(path):
    log = recording(path, Scripted(told(f"{KEY} in /home/ada/x")), header={"key": KEY})
    reply = log.reply(request(f"use {KEY}"))
    log.observe(ABOUT, "command", {"run": f"echo {KEY}"}, "tree", lambda: {"out": f"{KEY} /home/ada"})
    assert reply.text == "[redacted] in /home/ada/x"
    assert KEY not in path.read_text()


def test_home_paths_stay_in_requests_replies_and_observations(path):
    log = recording(path, Scripted(told("open('/home/ada/x')")))
    asked = request("read /home/ada/x")
    assert log.reply(asked).text == "open('/home/ada/x')"
    seen, _ = log.observe(ABOUT, "oracle", {"returns": "/home/ada/x"}, "tree", lambda: {"out": "/home/ada/x"})
    assert seen == {"out": "/home/ada/x"}
    assert lines(path)[2]["request"] == asked.sent()


def test_home_paths_do_not_stay_in_why_a_call_failed(path):
    log = recording(path, Scripted(ModelFailed("no file /home/ada/x", "x")))
    with pytest.raises(ModelFailed):
        log.reply(request())
    assert lines(path)[2]["why"] == "no file ~/x"


def test_a_citation_says_what_the_settled_line_says(path):
    log = recording(path, Scripted(told()))
    asked = request()
    call = call_of(asked, log.reply(asked))
    assert log.calls() == (call,)
    assert (call.id, call.role, call.model, call.seconds) == (asked.key, "generator", "claude-opus-5-5", 1.5)


# What was not settled


def test_a_call_that_could_not_be_made_costs_nothing(path):
    log = recording(path, Scripted(ModelFailed(f"no {KEY}", "x"), told()))
    with pytest.raises(ModelFailed):
        log.reply(request())
    assert (log.unfinished(), log.spent().tokens, log.calls()) == ((), 0, ())
    assert KEY not in path.read_text()
    assert log.reply(request()).text == "done"


def test_a_broken_call_counts_its_input_as_told_and_all_the_output_it_was_allowed(path):
    broken = CallBroken("cut", "x", Usage(input_tokens=30, output_tokens=1))
    log = recording(path, Scripted(broken))
    with pytest.raises(CallBroken):
        log.reply(request())
    (call,) = log.unfinished()
    assert (call.tokens, call.usage, call.why) == (130, Usage(input_tokens=30, output_tokens=1), "cut")
    assert call.dollars == pytest.approx((30 * 4 + 100 * 20) / 10**6)
    assert (log.spent().tokens, log.spent().unfinished, log.spent().calls) == (130, 1, 0)


def test_a_call_of_which_nothing_was_told_counts_in_full(path):
    log = recording(path, Scripted(CallBroken("gone", "x")))
    with pytest.raises(CallBroken):
        log.reply(request())
    assert log.spent().tokens == request().input_bytes + 1_000 + 100


def test_an_error_of_our_own_leaves_the_call_unfinished(path):
    log = recording(path, Scripted(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        log.reply(request())
    assert [call.key for call in log.unfinished()] == [request().key]


def test_a_stop_before_the_call_reserves_nothing(path):
    log = recording(path, Scripted(told()))
    with pytest.raises(CallStopped):
        log.reply(request(), stop=lambda: True)
    assert not path.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from pge_nb.models import About, Request
from pge_nb.models.recording import Recording
class Killed:
    def reply(self, request, *, listen=None, stop=None):
        os.kill(os.getpid(), signal.SIGKILL)
about = About(role="generator", phase="generate", step=1, attempt=2, round=1)
message = {"role": "user", "content": "hi"}
asked = Request(model="claude-opus-5-5", system="Be brief.", messages=(message,), about=about, max_tokens=100)
Recording(Path(sys.argv[1]), Killed()).reply(asked)
"""


def test_a_call_whose_kernel_was_killed_counts_in_full_and_is_made_again(path):
    child = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert child.returncode == -signal.SIGKILL
    model = Scripted(told())
    log = recording(path, model)
    full = request().input_bytes + 1_000 + 100
    assert [(call.key, call.tokens) for call in log.unfinished()] == [(request().key, full)]
    log.reply(request())
    assert len(model.asked) == 1
    assert (log.spent().calls, log.spent().unfinished, log.spent().tokens) == (1, 1, full + 50)


# The file after a crash


def two_calls(path: Path) -> bytes:
    log = recording(path, Scripted(told()))
    log.reply(request("one"))
    log.reply(request("two"))
    return path.read_bytes()


def test_a_file_cut_anywhere_in_its_last_line_is_read_and_continued(path):
    whole = two_calls(path)
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(start, len(whole), 7):
        path.write_bytes(whole[:cut])
        log = recording(path, Scripted(told("again")))
        assert len(log.calls()) == 1
        assert len(log.unfinished()) == 1
        log.reply(request("two"))
        assert [line["line"] for line in lines(path)][-2:] == ["reserved", "settled"]
        assert [aside.read_bytes() for aside in log.torn] == ([whole[start:cut]] if cut > start else [])


def test_a_log_that_is_taken_away_meanwhile_keeps_what_is_paid_from_then_on(path):
    log = recording(path, Scripted(told("one"), told("two"), told("again")))
    log.reply(request("one"))
    path.unlink()
    assert log.reply(request("two")).text == "two"
    assert log.spent().calls == 2
    later = Scripted(told("new"))
    again = recording(path, later)
    assert again.reply(request("two")).text == "two"
    assert later.asked == []
    assert not again.torn


def test_a_log_that_is_cut_meanwhile_is_not_written_to(path):
    log = recording(path, Scripted(told("one"), told("two")))
    log.reply(request("one"))
    os.truncate(path, path.stat().st_size - 9)
    before = path.read_bytes()
    with pytest.raises(StateDamaged, match="shorter than it was"):
        log.reply(request("two"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("tail", [b"\0" * 40, b"\0" * 40 + b"\n", b'{"line":"sett\n'])
def test_a_tail_of_rubbish_is_moved_aside(path, tail):
    whole = two_calls(path)
    path.write_bytes(whole + tail)
    log = recording(path, Scripted(told()))
    log.reply(request("three"))
    assert path.read_bytes().startswith(whole)
    assert [aside.read_bytes() for aside in log.torn] == [tail]
    assert len(recording(path, Scripted(told())).calls()) == 3


def test_reading_alone_leaves_a_torn_file_as_it_is(path):
    torn = two_calls(path)[:-9]
    path.write_bytes(torn)
    log = recording(path, Scripted(told()))
    assert (len(log.calls()), len(log.unfinished())) == (1, 1)
    assert path.read_bytes() == torn


@pytest.mark.parametrize("rubbish", [b"\0\0\0", b"[]", b'{"line":"dream"}', b'{"line":"reserved","n":"1"}'])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(path, rubbish):
    split = two_calls(path).split(b"\n")
    split[2] = rubbish
    path.write_bytes(b"\n".join(split))
    with pytest.raises(StateDamaged, match="Line 3 of"):
        recording(path, Scripted(told()))


def test_a_file_of_another_format_is_not_read_as_this_one(path):
    path.parent.mkdir()
    path.write_text('{"line":"opening","format":"pge-calls/9","header":{}}\n')
    with pytest.raises(BadInput, match="pge-calls/9"):
        recording(path, Scripted(told()))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_call_whose_reply_may_find_no_room_is_not_made(path):
    whole = two_calls(path)
    model = Scripted(told())
    with files_of_at_most(len(whole) + 3_000), pytest.raises(PgeError, match="could not be extended"):
        recording(path, model).reply(request("three"))
    assert (model.asked, path.read_bytes()) == ([], whole)
    recording(path, model).reply(request("three"))
    assert len(recording(path, model).calls()) == 3


def test_a_reply_that_found_no_room_is_not_asked_for_again(path):
    two_calls(path)
    model = Scripted(told("long " * 20_000))
    with files_of_at_most(path.stat().st_size + 9_000):
        for _ in range(2):
            with pytest.raises(PgeError, match="could not be extended"):
                recording(path, model).reply(request("three"))
            assert [line["line"] for line in lines(path)][-2:] == ["settled", "reserved"]
    log = recording(path, model)
    reply = log.reply(request("three"))
    assert (reply.text, reply.source, len(model.asked)) == ("long " * 20_000, "live", 1)
    assert (len(log.calls()), log.unfinished()) == (3, ())
    assert log.torn == ()


def test_threads_never_interleave_lines_and_lose_none(path):
    model = Scripted(lambda asked: time.sleep(0.001) or told(str(asked.messages) * 50))
    log = recording(path, model, limits=Limits(max_dollars=100))
    threads = [
        threading.Thread(target=lambda i=i: [log.reply(request(f"{i}-{j}")) for j in range(6)]) for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(log.calls()) == len(recording(path, model).calls()) == 36
    assert len({line["n"] for line in lines(path) if line["line"] == "settled"}) == 36


def test_two_recordings_of_one_file_see_each_other_s_bill(path):
    one, two = recording(path, Scripted(told())), recording(path, Scripted(told()), limits=Limits(max_calls=1))
    one.reply(request("one"))
    with pytest.raises(LimitReached):
        two.reply(request("two"))
    assert len(lines(path)) == 3


# Limits


def test_a_limit_is_said_before_the_call(path):
    model = Scripted(told())
    log = recording(path, model, limits=Limits(max_dollars=0.0001))
    with pytest.raises(LimitReached, match="dollars"):
        log.reply(request())
    assert (model.asked, path.exists()) == ([], False)


def test_what_is_answered_from_the_file_is_bound_by_no_limit(path):
    recording(path, Scripted(told())).reply(request())
    log = recording(path, Scripted(told()), limits=Limits(max_calls=0, max_tokens_total=0, max_dollars=0))
    assert log.reply(request()).text == "done"


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["claude-opus-5-5", "claude-haiku-5-5", "unpriced"]),
        st.integers(0, 400),  # characters of the prompt
        st.integers(0, 2_000),  # max_tokens
        st.floats(0, 1),  # share of the bound that is used
        st.sampled_from(["settled", "refused", "broken", "lost", "crashed"]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS, limits=st.tuples(st.integers(0, 8), st.integers(0, 20_000), st.floats(0, 0.1)))
def test_no_sequence_of_calls_passes_a_limit(tmp_path_factory, calls, limits):
    most = Limits(max_calls=limits[0], max_tokens_total=limits[1], max_dollars=limits[2])
    path = tmp_path_factory.mktemp("run") / "calls.jsonl"
    billed_calls, billed_tokens, billed_dollars = 0, 0, 0.0
    for number, (name, length, max_tokens, share, fate) in enumerate(calls):
        asked = request(f"{number} " + "x" * length, model=name, max_tokens=max_tokens)
        used = Usage(input_tokens=int(asked.input_bytes * share), output_tokens=int(max_tokens * share))
        answers = {
            "settled": told(usage=used),
            "refused": ModelFailed("no", "x"),
            "broken": CallBroken("cut", "x", replace(used, output_tokens=0)),
            "lost": CallBroken("gone", "x"),
            "crashed": KeyError(),
        }
        try:
            recording(path, Scripted(answers[fate]), limits=most).reply(asked)
        except LimitReached:
            continue
        except (ModelFailed, KeyError):
            pass
        if fate != "refused":  # a service bills what it did, whether or not it could be heard
            billed_calls += 1
            billed_tokens += used.total
            billed_dollars += PRICES.cost(name, used) or 0.0
    spent = recording(path, Scripted(told())).spent()
    assert billed_calls <= most.max_calls
    assert billed_tokens <= spent.tokens <= most.max_tokens_total
    assert billed_dollars <= spent.dollars + 1e-9
    assert spent.dollars <= most.max_dollars + 1e-9


# Observations


def test_an_observation_is_made_once_and_told_as_replayed_after_that(path):
    looks = []
    log = recording(path, Scripted(told()))
    look = lambda: looks.append(1) or {"exit": 0}  # noqa: E731
    assert log.observe(ABOUT, "command", {"run": "ls"}, "tree", look) == ({"exit": 0}, False)
    assert log.observe(ABOUT, "command", {"run": "ls"}, "tree", look) == ({"exit": 0}, True)
    assert recording(path, Scripted(told())).observe(ABOUT, "command", {"run": "ls"}, "tree", look) == (
        {"exit": 0},
        True,
    )
    assert len(looks) == 1


@pytest.mark.parametrize(
    "other", [{"method": "file"}, {"args": {"run": "pwd"}}, {"tree": "tree2"}, {"about": replace(ABOUT, step=2)}]
)
def test_another_place_method_argument_or_tree_is_another_observation(path, other):
    log = recording(path, Scripted(told()))
    same = {"about": ABOUT, "method": "command", "args": {"run": "ls"}, "tree": "tree"}
    log.observe(*same.values(), lambda: 1)
    assert log.observe(*{**same, **other}.values(), lambda: 2) == (2, False)


def test_a_look_that_fails_is_not_logged(path):
    log = recording(path, Scripted(told()))
    with pytest.raises(ZeroDivisionError):
        log.observe(ABOUT, "command", None, "tree", lambda: 1 // 0)
    assert log.observe(ABOUT, "command", None, "tree", lambda: 3) == (3, False)


# Replay


def test_a_recording_replays_with_no_model_in_another_directory(path, tmp_path):
    log = recording(path, Scripted(told()), header={"models": {"generator": "claude-opus-5-5"}})
    asked = request()
    first = log.reply(asked)
    log.observe(ABOUT, "command", {"run": "ls"}, "tree", lambda: "seen")
    shipped = path.read_bytes()
    replay = Replay(path)
    there = recording(tmp_path / "elsewhere" / "calls.jsonl", replay, limits=Limits(max_calls=0, max_dollars=0))
    again = there.reply(asked)
    assert replace(again, source="live") == first
    assert again.source == "recording"
    assert there.observe(ABOUT, "command", {"run": "ls"}, "tree", lambda: 1 // 0) == ("seen", True)
    assert there.observe(ABOUT, "command", {"run": "pwd"}, "tree", lambda: "live") == ("live", False)
    assert [replace(call, source="live") for call in there.calls()] == list(log.calls())
    assert (there.spent().dollars, there.spent().tokens, there.unfinished()) == (0.0, 0, ())
    assert (replay.models, path.read_bytes()) == ({"generator": "claude-opus-5-5"}, shipped)


def test_a_changed_request_at_a_known_address_shows_what_differs(path):
    recording(path, Scripted(told())).reply(request("first\nsecond\nthird"))
    with pytest.raises(ModelFailed) as caught:
        Replay(path).reply(request("first\nchanged\nthird"))
    assert ABOUT.address in caught.value.fact
    assert "-second\n+changed" in caught.value.fact
    assert "Be brief." not in caught.value.fact


def test_a_long_difference_is_cut(path):
    recording(path, Scripted(told())).reply(request("\n".join(map(str, range(500)))))
    with pytest.raises(ModelFailed, match="lines more") as caught:
        Replay(path).reply(request("\n".join(map(str, range(500, 1000)))))
    assert caught.value.fact.count("\n") < 30


def test_an_unknown_address_says_that_the_recording_ends_before_it(path):
    recording(path, Scripted(told())).reply(request())
    with pytest.raises(ModelFailed, match="ends before"):
        Replay(path).reply(request(about=replace(ABOUT, turn=7)))


def test_a_replayed_run_that_asks_for_more_leaves_no_unfinished_call(path, tmp_path):
    recording(path, Scripted(told())).reply(request())
    there = recording(tmp_path / "calls.jsonl", Replay(path))
    with pytest.raises(ModelFailed):
        there.reply(request("more"))
    assert there.unfinished() == ()


def test_the_fields_of_every_line_stand_in_the_documentation():
    documented = (Path(__file__).parents[1] / "docs" / "call-log.md").read_text()
    rows = {row.split("|")[1].strip(): row for row in documented.split("\n") if row.startswith("| `")}
    for name, kind in KINDS.items():
        for field in fields(kind):
            assert f"`{field.name}`" in rows[f"`{name}`"], (name, field.name)
