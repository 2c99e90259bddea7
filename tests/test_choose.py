from __future__ import annotations

import subprocess
import sys

import pytest

from pge_nb.errors import BadInput
from pge_nb.models import About, Request, text_reply
from pge_nb.models.choose import ByName, default_model, is_practice, open_model
from pge_nb.models.claude import Claude
from pge_nb.models.practice import Practice
from pge_nb.models.recording import Recording
from pge_nb.models.replay import Replay
from pge_nb.redaction import Redactor


@pytest.mark.parametrize(
    ("environ", "begins"),
    [
        ({}, "practice"),
        ({"ANTHROPIC_API_KEY": ""}, "practice"),
        ({"ANTHROPIC_API_KEY": "k"}, "claude-"),
        ({"ANTHROPIC_AUTH_TOKEN": "k"}, "claude-"),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, "claude-"),
        ({"ANTHROPIC_API_KEY": "k", "PGE_NB_MODEL": "qwen"}, "qwen"),
        ({"PGE_NB_MODEL": "practice:seed=3"}, "practice:seed=3"),
    ],
)
def test_the_environment_decides_where_nobody_chose(environ, begins):
    assert default_model(environ).startswith(begins)


def test_practice_needs_no_key():
    assert isinstance(open_model("practice"), Practice)
    assert is_practice("practice:seed=1")
    assert not is_practice("practice-makes-perfect")


def test_any_other_name_is_one_for_the_messages_api():
    assert isinstance(open_model("qwen2.5-coder-1.5b"), Claude)


def test_an_empty_name_is_refused():
    with pytest.raises(BadInput, match="empty"):
        open_model(" ")


def test_a_recording_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match="no recording"):
        open_model("recording:none/calls.jsonl")


class Once:
    def reply(self, request, *, listen=None, stop=None):
        return text_reply("once")


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "calls.jsonl"
    asked = Request(model="qwen", system="", messages=(), about=About(role="planner", phase="plan"))
    Recording(path, Once(), redact=Redactor({}, home="")).reply(asked)
    return path


def test_a_recording_is_asked_under_the_name_that_was_recorded(recorded):
    assert isinstance(open_model(f"recording:{recorded}"), Replay)
    assert Replay(recorded).models == {"planner": "qwen"}


def test_each_request_goes_to_the_model_that_it_names(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    models = ByName()
    practice, again = models.model_of("practice"), models.model_of("practice")
    assert isinstance(practice, Practice)
    assert practice is again
    assert models.model_of("claude-a") is models.model_of("claude-b")


def test_opening_claude_imports_no_sdk():
    code = """if True:
        import sys
        from pge_nb.models.choose import open_model
        open_model("claude-opus-5-5")
        print("anthropic" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
