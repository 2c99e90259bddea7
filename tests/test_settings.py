"""Settings: the order of their sources, errors that name the source, and that what a machine says is no part of a task."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from notebook_shell import Ran, Shell

from pge_nb.bank import practice_task
from pge_nb.config import IDENTITY, LIMITS, ROLES, WITH_TOOLS, HarnessConfig, identity
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.notebook import Place, Room, make_room
from pge_nb.records import Record, Task
from pge_nb.settings import AS_FLAGS, Setting, Source, Sources, known, told
from pge_nb.state import StateFile, open_run
from pge_nb.traits import configurable

TEXTKIT = practice_task("textkit").prompt
ROOT = Path(__file__).parents[1]
VALUES: Mapping[str, tuple[Any, Any]] = {
    "model": ("practice:seed=4", "practice:seed=5"),
    "models": ({"evaluator": "practice:seed=4"}, {"planner": "practice:seed=5"}),
    "effort": ("low", {"evaluator": "high"}),
    "planner": (False, False),
    "contract": (False, False),
    "evaluator": ("self", "off"),
    "approve": ("plan", "contract"),
    "second_look": (True, False),
    "max_steps": (3, 4),
    "max_retries_per_step": (1, 4),
    "max_contract_rounds": (1, 2),
    "default_thresholds": ({"correctness": 8.0}, {"clarity": 6.5}),
    "on_exhausted": (("ask",), ("keep", "advance")),
    "max_replans": (0, 2),
    "max_flat": (3, 4),
    "until_met": (True, True),
    "regrade_kept": (False, False),
    "feedback": (False, False),
    "pass_margin": (0.5, 1.0),
    "keep_going": (3, 4),
    "first_stands": (False, False),
    "degrade_floor": (4.0, 6.5),
    "noise": (0.0, 1.5),
    "max_tokens": (512, 1024),
    "max_calls": (30, 40),
    "max_tokens_total": (10_000, 20_000),
    "max_dollars": (1.0, 2.5),
    "max_seconds": (60.0, 90.0),
    "max_parallel": (2, 3),
    "review_seconds": (10.0, 20.0),
    "hidden_cases": (2, 5),
    "canaries": (2, 5),
    "generator_tools": ("on", "off"),
    "evaluator_tools": ("on", "off"),
    "max_turns": (4, 8),
    "max_context_tokens": (20_000, 40_000),
    "registry": ("kept.sqlite3", "off"),
    "trace": ("trace.jsonl", "other.jsonl"),
}
"""Two values of each setting, neither of them its default."""


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + "}"
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def project(directory: Path, **values: object) -> None:
    lines = "\n".join(f"{name} = {toml(value)}" for name, value in values.items())
    (directory / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.pge_nb]\n{lines}\n', encoding="utf-8")


def variable(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def row(view: Any, name: str) -> dict[str, Any]:
    (found,) = view.df[view.df["setting"] == name].to_dict("records")
    return dict(found)


# What there is


def test_every_setting_has_values_to_be_tested_with() -> None:
    assert set(VALUES) == set(known())
    for name, values in VALUES.items():
        assert known()[name].default not in values


def test_a_setting_is_a_field_of_the_configuration_and_has_its_default() -> None:
    plain = HarnessConfig()
    for name, setting in known().items():
        assert getattr(plain, name) == setting.default
        assert setting.says
    left = {field.name for field in fields(HarnessConfig)} - set(known())
    assert {"shared_state_path", "working_directory", "review_methods", "unchosen"} <= left
    assert set(LIMITS) <= set(known())
    assert set(IDENTITY) - {"review_methods"} <= set(known())


def test_every_setting_is_a_trait_with_its_words() -> None:
    traits = configurable().class_traits(config=True)
    assert set(traits) == set(known())
    for name, setting in known().items():
        assert setting.says in traits[name].help


# The order of the sources


@pytest.mark.parametrize("setting", known().values(), ids=list(known()))
def test_the_first_source_that_says_a_setting_counts(setting: Setting, tmp_path: Path) -> None:
    name = setting.name
    weak, strong = VALUES[name]
    said: dict[str, Any] = {"flags": {}, "configured": {}, "profile": {}, "environ": {}}
    # From the weakest to the strongest, each says another thing than the one before.
    sources: list[tuple[Source, str]] = [
        ("environment", "environ"),
        ("profile", "profile"),
        ("pyproject.toml", "file"),
        ("%config", "configured"),
        ("flag", "flags"),
    ]
    assert [source for source, _ in sources[::-1]] == list(get_args(Source))[:-1]
    for number, (source, where) in enumerate(sources):
        value = (weak, strong)[number % 2]
        if where == "file":
            project(tmp_path, **{name: value})
        elif where == "environ":
            said[where] = {setting.variable: variable(value)}
        else:
            said[where] = {name: value}
        found = Sources(directory=tmp_path, **said).settings()
        assert found.faults == ()
        assert (found.given[name].value, found.given[name].source) == (value, source)
        others = {one: given for one, given in found.given.items() if one not in {name, "model"}}
        assert {given.source for given in others.values()} == {"default"}


def test_nothing_said_is_the_default(tmp_path: Path) -> None:
    found = Sources(directory=tmp_path).settings()
    assert {given.source for given in found.given.values()} == {"default"}
    assert found.given["model"].value == "practice"
    config = found.config(tmp_path / "shared_state.md")
    assert config.settings() == HarnessConfig(shared_state_path=tmp_path / "shared_state.md").settings()


def test_a_model_for_every_role_gives_way_to_no_weaker_word_on_a_single_one(tmp_path: Path) -> None:
    project(tmp_path, model="practice:seed=1", models={"evaluator": "practice:seed=2"})
    both = Sources(directory=tmp_path).settings().config(tmp_path / "s.md").settings()["models"]
    assert both == {"planner": "practice:seed=1", "generator": "practice:seed=1", "evaluator": "practice:seed=2"}
    flag = (
        Sources(directory=tmp_path, flags={"model": "practice:seed=3"}).settings().config(tmp_path / "s.md").settings()
    )
    assert set(flag["models"].values()) == {"practice:seed=3"}  # type: ignore[union-attr]


def test_the_words_of_flags_are_understood_in_a_file_and_in_the_environment(tmp_path: Path) -> None:
    project(tmp_path, **{word: VALUES[name][0] for word, name in AS_FLAGS.items()})
    environ = {f"PGE_NB_{word.upper()}": variable(VALUES[name][1]) for word, name in AS_FLAGS.items()}
    of_file = Sources(directory=tmp_path).settings()
    of_environment = Sources(directory=tmp_path / "elsewhere", environ=environ).settings()
    for name in AS_FLAGS.values():
        assert of_file.given[name].value == VALUES[name][0]
        assert of_environment.given[name].value == VALUES[name][1]
    project(tmp_path, budget=3, max_dollars=4)
    assert "it is max_dollars, which is said there too" in Sources(directory=tmp_path).settings().faults[0].fact


def test_only_the_file_beside_the_notebook_is_read(tmp_path: Path) -> None:
    project(tmp_path, max_steps=3)
    (tmp_path / "notebooks").mkdir()
    assert Sources(directory=tmp_path / "notebooks").settings().given["max_steps"].value == 8


def test_an_empty_variable_says_nothing_and_a_list_may_be_words_with_commas(tmp_path: Path) -> None:
    environ = {"PGE_NB_MAX_STEPS": " ", "PGE_NB_ON_EXHAUSTED": "keep, advance", "PGE_NB_LIVE": "0", "PGE_NB_OTHER": "x"}
    found = Sources(directory=tmp_path, environ=environ).settings()
    assert found.faults == ()
    assert found.given["max_steps"].value == 8
    assert found.given["on_exhausted"].value == ("keep", "advance")


# What cannot be used


@pytest.mark.parametrize(
    ("name", "value", "fact", "move"),
    [
        ("max_steps", "three", "max_steps: 'three' is not a whole number.", "Give a whole number there."),
        ("max_steps", 0, "max_steps: max_steps is 0.", "Give a whole number of at least 1."),
        ("max_steps", True, "max_steps: True is not a whole number.", "Give a whole number there."),
        ("noise", "x", "noise: 'x' is not a number.", "Give a number there."),
        ("noise", 11.5, "noise: noise is 11.5.", "Give a number from 0 to 10."),
        ("model", 3, "model: 3 is not a text.", "Give a text there."),
        (
            "models",
            {"judge": "practice"},
            "models: models names 'judge'.",
            "There are planner, generator, evaluator.",
        ),
        (
            "models",
            ["practice"],
            "models: ['practice'] is not a table from planner, generator, evaluator to a text.",
            "Give a table from planner, generator, evaluator to a text there.",
        ),
        (
            "on_exhausted",
            ["give up"],
            "on_exhausted: ['give up'] is not a list of keep, replan, ask, advance.",
            "Give a list of keep, replan, ask, advance there.",
        ),
        (
            "default_thresholds",
            {"clarity": "high"},
            "default_thresholds: {'clarity': 'high'} is not a table from names to numbers.",
            "Give a table from names to numbers there.",
        ),
        ("max_replans", 9, "max_replans: max_replans is 9.", "Give a whole number of at most 8."),
        (
            "max_steps",
            10**9 + 1,
            "max_steps: max_steps is 1000000001.",
            "Give a whole number of at most 1,000,000,000.",
        ),
        ("max_dollars", -1, "max_dollars: max_dollars is -1.", "Give a number from 0 to 1,000,000,000,000."),
    ],
)
def test_a_value_that_does_not_fit_names_its_source(
    name: str, value: object, fact: str, move: str, tmp_path: Path
) -> None:
    project(tmp_path, **{name: value})
    with pytest.raises(BadInput) as caught:
        Sources(directory=tmp_path).settings().config(tmp_path / "s.md")
    assert caught.value.fact.replace("-1.0", "-1") == f"pyproject.toml beside the notebook, [tool.pge_nb] {fact}"
    assert caught.value.next_move == move
    environ = {known()[name].variable: variable(value)}
    if not isinstance(value, int) or name != "model":  # there every variable is a text
        with pytest.raises(BadInput, match=rf"^the environment, {known()[name].variable}: "):
            Sources(directory=tmp_path / "other", environ=environ).settings().config(tmp_path / "s.md")
    with pytest.raises(BadInput, match=rf"^%config PGE\.{name}: "):
        Sources(directory=tmp_path / "other", configured={name: value}).settings().config(tmp_path / "s.md")


def test_a_value_that_is_overruled_is_not_in_the_way(tmp_path: Path) -> None:
    project(tmp_path, max_steps="three")
    found = Sources(directory=tmp_path, flags={"max_steps": 2}).settings()
    assert (found.faults, found.given["max_steps"].value) == ((), 2)


@pytest.mark.parametrize(
    ("text", "fact", "move"),
    [
        ("[tool.pge_nb\n", "cannot be read: Expected ']'", "Mend it, or move it away."),
        (
            "[tool.pge_nb]\nmax_step = 3\n",
            "[tool.pge_nb] max_step: there is no such setting.",
            "Did you mean max_steps? ",
        ),
        ("[tool.pge_nb]\nbudgets = 3\n", "[tool.pge_nb] budgets: there is no such setting.", "Did you mean budget? "),
        ("[tool.pge_nb]\nqqq = 3\n", "[tool.pge_nb] qqq: there is no such setting.", "%pge config lists"),
        ("[tool]\npge_nb = 3\n", "cannot be read: tool.pge_nb is no table.", "Mend it"),
        ("[tool.pge_nb]\nmax_steps = 2026-01-01\n", "is not a whole number.", "Give a whole number there."),
        ("[tool.pge_nb]\nnoise = nan\n", "nan is not a number.", "Give a number there."),
        ("x = " + "[" * 5_000 + "]" * 5_000, "cannot be read: ", "Mend it"),
        ("#" * 1_000_001, "it is larger than 1,000,000 bytes", "Mend it"),
        (b"\xff\xfe\x00", "cannot be read: ", "Mend it"),
    ],
)
def test_a_file_that_cannot_be_used_stops_a_run_and_is_told_in_every_view(
    text: str | bytes, fact: str, move: str, shell: Shell
) -> None:
    Path("pyproject.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    for line in ("%pge run --practice textkit", "%pge estimate"):
        ran = shell.cell(line)
        assert isinstance(ran.error, BadInput)
        assert ran.error.fact.startswith("pyproject.toml beside the notebook")
        assert fact in ran.error.fact
        assert move in ran.error.next_move
        assert "Traceback" not in ran.text
    assert not Path("shared_state.md").exists()
    for line in ("%pge", "%pge config", "%pge model"):
        assert fact in str(shell.cell(line).view), line
    assert shell.cell("%pge config").view.mark == "broken"


@pytest.mark.parametrize(
    "text", ["", "[project]\nname = 'x'\n", "[tool.ruff]\nline-length = 100\n", "\ufeff[tool.pge_nb]\n"]
)
def test_a_file_that_says_nothing_of_settings_is_in_nobodys_way(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert Sources(directory=tmp_path).settings().faults == ()


def test_a_misspelt_variable_does_not_lose_a_limit(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGE_NB_MAX_DOLLAR", "1")
    error = shell.cell("%pge run --practice textkit").error
    assert isinstance(error, BadInput)
    assert error.args == (
        "the environment, PGE_NB_MAX_DOLLAR: there is no such setting.",
        "Did you mean PGE_NB_MAX_DOLLARS?",
    )


# In the notebook


def test_config_lists_says_shows_and_takes_back(shell: Shell) -> None:
    listed = shell.cell("%config PGE").text
    for name, setting in known().items():
        assert f"PGE.{name}=" in listed
        assert setting.says.split(";")[0][:40] in " ".join(listed.split())
    assert shell.cell("%config PGE.max_steps = 3").error is None
    assert shell.cell("%config PGE.max_steps").value == 3
    shell.names["rounds"] = 2
    shell.cell("%config PGE.max_contract_rounds = rounds")
    shell.cell("%config PGE.on_exhausted = ['ask']")
    shell.cell("%config PGE.effort = {'evaluator': 'high'}")
    view = shell.cell("%pge config").view
    assert row(view, "max_steps")["value"] == 3
    assert row(view, "max_contract_rounds")["value"] == 2
    assert row(view, "on_exhausted")["value"] == "ask"
    assert row(view, "effort")["value"] == "evaluator=high"
    assert row(view, "max_steps")["from"] == "%config PGE.max_steps"
    shell.cell("%config PGE.max_steps = None")
    assert row(shell.cell("%pge config").view, "max_steps")["from"] == "default"


def test_config_of_another_class_leaves_ours_alone(shell: Shell) -> None:
    shell.cell("%config PGE.max_steps = 3")
    shell.cell("%config HistoryManager.enabled = False")
    assert row(shell.cell("%pge config").view, "max_steps")["value"] == 3


def test_a_wrong_type_is_told_by_config_itself_and_a_wrong_value_when_a_run_begins(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    shell.cell("%config PGE.max_steps = 'three'")
    assert "The 'max_steps' trait of a PGE instance expected an int" in caplog.text
    shell.cell("%config PGE.max_step = 3")
    assert "Config option `max_step` not recognized by `PGE`" in caplog.text
    shell.cell("%config PGE.max_steps = 0")
    error = shell.cell("%pge run --practice textkit").error
    assert isinstance(error, BadInput)
    assert error.fact == "%config PGE.max_steps: max_steps is 0."


def test_model_and_config_are_one_choice_and_the_last_word_counts(shell: Shell) -> None:
    shell.cell("%config PGE.model = 'practice:seed=1'")
    assert shell.cell("%pge model").view.title == "Model: practice:seed=1"
    shell.cell("%pge model practice:seed=2")
    assert shell.cell("%config PGE.model").value == "practice:seed=2"
    shell.cell("%config PGE.model = 'practice:seed=1'")
    assert shell.cell("%pge model").view.title == "Model: practice:seed=1"
    assert "chosen in this kernel" in str(shell.cell("%pge model").view)
    shell.cell("%pge run --practice textkit")
    assert set(open_run("shared_state.md").settings["models"].values()) == {"practice:seed=1"}  # type: ignore[union-attr]


def test_the_model_of_a_file_is_told_with_its_source_and_used(shell: Shell) -> None:
    project(Path(), model="practice:seed=6")
    assert "It is from pyproject.toml beside the notebook, [tool.pge_nb] model." in str(shell.cell("%pge model").view)
    assert "practice:seed=6" in str(shell.cell("%pge").view)
    shell.cell("%pge run --practice textkit")
    assert set(open_run("shared_state.md").settings["models"].values()) == {"practice:seed=6"}  # type: ignore[union-attr]


def test_a_key_in_the_environment_is_where_the_model_is_from(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key-at-all")
    model = row(shell.cell("%pge config").view, "model")
    assert (model["value"], model["from"]) == ("claude-sonnet-5-5", "the environment, ANTHROPIC_API_KEY")
    assert "not-a-key-at-all" not in str(shell.cell("%pge config").view)


def test_a_begun_run_shows_what_it_was_frozen_with_where_that_is_another(shell: Shell) -> None:
    shell.cell("%pge run --practice textkit --steps 4 --max-retries 1")
    shell.cell("%config PGE.noise = 1.0")
    view = shell.cell("%pge config").view
    assert (row(view, "max_steps")["value"], row(view, "max_steps")["in_this_run"]) == (8, 4)
    assert (row(view, "noise")["value"], row(view, "noise")["in_this_run"]) == (1.0, 0.5)
    assert row(view, "max_retries_per_step")["in_this_run"] == 1
    assert row(view, "max_tokens")["in_this_run"] is None
    assert "run " in view.foot


def test_the_line_that_says_that_room_was_made_names_what_changed(shell: Shell) -> None:
    shell.cell("%pge run --practice textkit")
    shell.cell("%config PGE.max_steps = 4")
    shell.cell("%config PGE.default_thresholds = {'clarity': 6}")
    said = str(shell.cell("%pge run --practice textkit").view)
    assert (
        "Another task stood here (another default_thresholds: clarity=6.0, not None, another max_steps: 4, not 8);"
        in said
    )
    shell.cell("%config PGE.max_steps = None")
    shell.cell("%config PGE.default_thresholds = None")
    said = str(shell.cell("%pge run --practice textkit").view)
    assert "reopened from earlier/1. Another task stood here (another default_thresholds" in said
    said = str(shell.cell("%pge run --practice roman").view)
    assert "Another task stood here (another prompt);" in said
    said = str(shell.cell("%pge run --practice roman --seed 9").view)
    assert "Another task stood here (another models: practice:seed=9, not practice);" in said


def test_a_limit_that_is_configured_later_raises_that_of_a_begun_run_and_never_lowers_one(shell: Shell) -> None:
    shell.cell("%pge run --practice textkit --max-retries 1")
    shell.cell("%config PGE.max_retries_per_step = 3")
    shell.cell("%pge resume")
    assert open_run("shared_state.md").settings["max_retries_per_step"] == 3
    shell.cell("%config PGE.max_retries_per_step = 2")
    shell.cell("%pge resume")
    assert open_run("shared_state.md").settings["max_retries_per_step"] == 3


def test_unload_takes_the_settings_away_and_load_brings_them_once(shell: Shell) -> None:
    def ours() -> int:
        return sum(type(one).__name__ == "PGE" for one in shell.shell.configurables)

    assert ours() == 1
    shell.cell("%load_ext pge_nb")
    assert ours() == 1
    shell.cell("%reload_ext pge_nb")
    assert ours() == 1
    shell.cell("%unload_ext pge_nb")
    assert ours() == 0
    shell.cell("%load_ext pge_nb")
    assert ours() == 1


# Another machine


def asked(ran: Ran) -> bool:
    """Whether the run went on: else it was shown from the file."""
    return "nobody was asked, nothing was paid" not in str(ran.view)


def met(directory: Path, begun_with: Mapping[str, str], again_with: Mapping[str, str], **flags: object) -> Room:
    """What is done for a task that was begun with one environment and is run again with another."""
    place = Place(state=directory / "shared_state.md")
    first, second = (
        Sources(directory=directory, environ=environ, flags=given).settings().config(place.state)
        for environ, given in ((begun_with, {}), (again_with, flags))
    )
    PGEHarness(make_room(place, TEXTKIT, first).config).start(TEXTKIT)
    room = make_room(place, TEXTKIT, second)
    PGEHarness(room.config).start(TEXTKIT)
    return room


@pytest.mark.parametrize("name", sorted({*IDENTITY, *WITH_TOOLS.values(), *ROLES, "model"} & set(known())))
def test_what_the_environment_says_is_no_part_of_the_task(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where the notebook was run with it, nor where it is run again with it, nor with something else."""
    monkeypatch.setenv("PGE_NB_MODEL", "practice")  # the model is left to the process's own environment
    weak, strong = ({known()[name].variable: variable(value)} for value in VALUES[name])
    for number, (first, second) in enumerate([(weak, {}), ({}, weak), (weak, strong)]):
        (place := tmp_path / str(number)).mkdir()
        assert met(place, first, second).moved is None
    if name not in {"model", "models"}:  # a model that was taken from a run stays, whoever chose it there
        (place := tmp_path / "flag").mkdir()
        assert met(place, weak, {}, **{name: known()[name].default or VALUES[name][1]}).moved == 1


def test_what_the_notebook_says_is_part_of_the_task_whatever_the_machine_says(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.cell("%pge run --practice textkit")
    assert asked(shell.cell("%pge run --practice textkit --steps 4"))
    assert open_run("shared_state.md").settings["max_steps"] == 4
    monkeypatch.setenv("PGE_NB_MAX_STEPS", "5")
    assert not asked(shell.cell("%pge run --practice textkit --steps 4"))
    # The flag was taken away: that is another cell, and the run that was begun without it comes back.
    assert "reopened from earlier/1" in str(shell.cell("%pge run --practice textkit").view)
    assert open_run("shared_state.md").settings["max_steps"] == 8


def test_a_notebook_that_is_shipped_with_its_pyproject_is_the_same_everywhere(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(Path(), max_steps=3, noise=0.25, max_retries=1, model="practice:seed=6")
    assert asked(shell.cell("%pge run --practice textkit"))
    before = Path("shared_state.md").read_bytes()
    shutil.copytree(tmp_path, tmp_path.parent / "colleague")
    monkeypatch.setenv("PGE_NB_MAX_STEPS", "5")
    monkeypatch.setenv("PGE_NB_NOISE", "2")
    monkeypatch.setenv("PGE_NB_MODEL", "practice:seed=7")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key-at-all")
    monkeypatch.chdir(tmp_path.parent / "colleague")
    theirs = Shell()
    assert not asked(theirs.cell("%pge run --practice textkit"))
    assert Path("shared_state.md").read_bytes() == before
    Path("pyproject.toml").unlink()  # without it, it is another notebook
    said = str(theirs.cell("%pge run --practice textkit --model practice:seed=6").view)
    assert "another max_steps: 5, not 3" in said
    theirs.close()


def test_the_profile_is_the_machines_and_a_cell_overrules_it(tmp_path: Path) -> None:
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_config.py").write_text(
        "c = get_config()\nc.InteractiveShellApp.extensions = ['pge_nb']\nc.PGE.noise = 1.5\nc.PGE.max_steps = 5\n"
    )
    work = tmp_path / "work"
    work.mkdir()
    project(work, max_steps=4)
    lines = [
        "view = get_ipython().run_line_magic('pge', 'config')",
        "print(view.df.set_index('setting').loc[['noise', 'max_steps'], ['value', 'from']].values.tolist())",
        "get_ipython().run_line_magic('config', 'PGE.noise = 0.75')",
        "view = get_ipython().run_line_magic('pge', 'config')",
        "print(view.df.set_index('setting').loc[['noise'], ['value', 'from']].values.tolist())",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--HistoryManager.enabled=False", "--colors=NoColor", "-c", "\n".join(lines)],
        cwd=work,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first, second = done.stdout.strip().splitlines()[-2:]
    assert first == (
        "[[1.5, 'the IPython profile, c.PGE.noise'], "
        "[4, 'pyproject.toml beside the notebook, [tool.pge_nb] max_steps']]"
    )
    assert second == "[[0.75, '%config PGE.noise']]"


def test_values_are_told_as_a_person_reads_them() -> None:
    assert told({"planner": "a", "generator": "a", "evaluator": "a"}) == "a"
    assert told({"planner": "a", "generator": "b", "evaluator": "a"}) == "evaluator=a, generator=b, planner=a"
    assert told({"clarity": 7}) == "clarity=7"
    assert told(("keep", "ask")) == "keep, ask"
    assert (told(None), told({}), told(())) == (None, None, None)


# A run that was begun before there was a setting


def begun_before_replans(state: Path, **settings: Any) -> Mapping[str, Any]:
    """The settings of a task section as it was written before there were replans and a second grade."""
    now = HarnessConfig(shared_state_path=state, model="practice", **settings).settings()
    was = {name: value for name, value in now.items() if name != "regrade_kept"}
    was["prompts"] = {name: value for name, value in now["prompts"].items() if name != "replan"}  # type: ignore[union-attr]
    task = Task(prompt=TEXTKIT, run=identity(TEXTKIT, was), settings=was, practice="textkit")
    StateFile(state).append(Record(payload=task, by="person"))
    return was


def test_it_is_the_same_task_and_keeps_its_own_ways(tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    was = begun_before_replans(state, on_exhausted=("keep", "ask"))
    config = Sources(directory=tmp_path).settings().config(state)
    assert config.on_exhausted == ("keep", "replan", "ask")
    room = make_room(Place(state=state), TEXTKIT, config)
    assert (room.moved, room.config.on_exhausted) == (None, ("keep", "ask"))
    run = PGEHarness(HarnessConfig(shared_state_path=state, model="practice")).run(TEXTKIT).run
    assert run.task.settings == was
    assert run.settings["on_exhausted"] == ["keep", "ask"]
    assert not any(section.record.purpose == "kept" for section in run.sections)


def test_what_was_chosen_otherwise_is_another_task(tmp_path: Path) -> None:
    state = tmp_path / "shared_state.md"
    begun_before_replans(state, on_exhausted=("advance",))
    with pytest.raises(BadInput, match="on_exhausted"):
        PGEHarness(HarnessConfig(shared_state_path=state, model="practice")).start(TEXTKIT)
    place = Place(state=state)
    assert make_room(place, TEXTKIT, Sources(directory=tmp_path).settings().config(state)).moved == 1


def test_settings_at_their_defaults_are_left_out_of_a_new_task() -> None:
    plain = HarnessConfig(model="practice").settings()
    assert {"max_replans", "max_flat", "until_met"}.isdisjoint(plain)
    assert plain["regrade_kept"] is True
    assert "regrade_kept" not in HarnessConfig(model="practice", regrade_kept=False).settings()
    assert identity("p", plain) == identity("p", HarnessConfig(model="practice", max_replans=3, max_flat=2).settings())
