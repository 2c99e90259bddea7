"""The commands on real runs of the practice model, in a real shell and in a real kernel."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbconvert import HTMLExporter
from notebook_shell import Shell
from sanitizer import read

from pge_nb import __main__ as main
from pge_nb.commands.every_day import NotPassed
from pge_nb.commands.here import notebook_directory
from pge_nb.config import HarnessConfig
from pge_nb.errors import BadInput
from pge_nb.harness import PGEHarness
from pge_nb.records import Amendment, Interruption
from pge_nb.state import StateFile, open_run

RUN = "%pge run --practice stats --seed 2"
FAILS = "%pge run --practice stats --seed 1 --skill 0 --max-retries 0"


# A run, looked at in every way


def test_a_practice_run_ends_in_one_view_with_files_beside_the_notebook(shell: Shell, tmp_path: Path) -> None:
    view = shell.cell(RUN).view
    assert (view.mark, view.next) == ("passed", "%pge show trajectory")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".pge", "shared_state.md", "work"]
    assert (tmp_path / "work" / "statkit.py").is_file() or list((tmp_path / "work").glob("*.py"))


def test_every_view_of_a_run_can_be_shown_and_survives_the_sanitizer(shell: Shell) -> None:
    shell.cell(f"{RUN};")
    for what in (
        "",
        "run",
        "plan",
        "contract",
        "contract 2",
        "evaluations",
        "evaluations 1",
        "evaluations 1.1",
        "trajectory",
        "trajectory 1",
        "decisions",
        "decisions 2",
        "cost",
        "prompt",
        "prompt 1",
        "prompt 1.1",
        "prompt generator",
        "prompt planner",
        "prompt evaluator 1.1",
    ):
        view = shell.cell(f"%pge show {what}").view
        assert read(view.html()).stripped == [], what
        assert view.next.startswith("%pge ")
        assert view.foot.startswith("run ")


def test_the_tour_of_next_actions_runs_as_it_is_written(shell: Shell) -> None:
    view, seen = shell.cell(RUN).view, []
    while view.next not in seen:
        seen.append(view.next)
        view = shell.cell(view.next).view
    assert len(seen) >= 4


def test_the_prompt_that_is_shown_is_the_one_that_was_sent(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    text = "".join(read(shell.cell("%pge show prompt evaluator 1.1").view.html()).words)
    request = PGEHarness(HarnessConfig(shared_state_path=tmp_path / "shared_state.md")).request("evaluator", 1, 1)
    assert request.system in text
    assert all(str(message["content"]) in text for message in request.messages)
    assert request.hash[:16] in text
    logged = (tmp_path / ".pge" / "calls.jsonl").read_text(encoding="utf-8")
    assert request.hash[:16] in logged


def test_running_again_asks_nobody_and_says_so(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    before = (tmp_path / "shared_state.md").read_bytes()
    view = shell.cell(RUN).view
    assert "nobody was asked, nothing was paid" in view.plain()
    assert (tmp_path / "shared_state.md").read_bytes() == before


def test_a_named_run_has_its_three_places_below_its_name_and_can_be_turned_to(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    shell.cell("%pge run second --practice roman;")
    assert sorted(path.name for path in (tmp_path / "second").iterdir()) == [".pge", "shared_state.md", "work"]
    assert "Roman" in shell.cell("%pge show plan").view.title
    shell.cell(f"{RUN};")
    assert "Roman" not in shell.cell("%pge").view.title
    assert "Roman" in shell.cell("%pge second").view.title


def test_what_could_not_be_begun_leaves_nothing_and_changes_nothing(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    assert "only plays the tasks of its bank" in shell.cell("%%pge run other\nWrite a compiler.").text
    assert not (tmp_path / "other").exists()
    assert shell.cell("%pge show plan").error is None


def test_an_edited_prompt_moves_the_old_run_and_one_line_says_how_to_open_it(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    head = open_run(tmp_path).head
    view = shell.cell("%pge run --practice roman").view
    assert view.mark == "passed"
    assert "its run is whole in earlier/1: %pge open @1 shows it." in view.plain()
    assert open_run(tmp_path / "earlier" / "1").head == head
    again = shell.cell(RUN).view
    assert "reopened from earlier/1" in again.plain()
    assert "nobody was asked, nothing was paid" in again.plain()
    assert open_run(tmp_path).head == head


def test_new_moves_the_run_whole_and_makes_room(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    head = open_run(tmp_path).head
    view = shell.cell("%pge new").view
    assert view.next == "%%pge run"
    assert "%pge open @1" in view.plain()
    assert open_run(tmp_path / "earlier" / "1").head == head
    assert (tmp_path / "earlier" / "1" / "work").is_dir()
    assert isinstance(shell.cell("%pge new").error, BadInput)
    assert shell.cell("%pge run --practice roman").view.mark == "passed"
    shell.cell("%pge new")
    assert (tmp_path / "earlier" / "2" / "shared_state.md").is_file()


def test_new_makes_room_where_the_file_is_damaged(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    state = tmp_path / "shared_state.md"
    state.write_bytes(state.read_bytes().replace(b'"verdict":"fail"', b'"verdict":"pass"', 1))
    assert "begin again with %pge new" in shell.cell(RUN).text
    shell.cell("%pge new")
    assert shell.cell(RUN).view.mark == "passed"


def test_a_failed_run_is_a_value_and_with_raise_an_error_after_its_view(shell: Shell) -> None:
    assert shell.cell(FAILS).view.mark in {"degraded", "paused", "stopped"}
    raised = shell.cell(f"{FAILS} --raise")
    assert isinstance(raised.error, NotPassed)
    assert "Steps" in raised.text
    assert "Traceback" not in raised.text


def test_a_question_is_shown_answered_and_gone_on_from(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%config PGE.max_replans = 0")
    view = shell.cell(FAILS).view
    assert view.mark == "paused"
    assert "Question:" in view.plain()
    assert view.next == "%pge answer retry"
    after = shell.cell("%pge answer retry mind the empty list").view
    assert len(open_run(tmp_path).attempts(1)) == 2
    assert after.mark in {"paused", "passed", "degraded"}
    assert shell.cell("%pge answer advance").error is None


def test_a_limit_stops_the_run_whole_and_resume_raises_it(shell: Shell, tmp_path: Path) -> None:
    view = shell.cell(f"{RUN} --max-tokens-total 20000").view
    assert view.mark == "stopped"
    assert view.next == "%pge resume --max-tokens-total 40000"
    assert shell.cell("%pge resume --max-tokens-total 2000000").view.mark == "passed"
    assert [s.payload for s in open_run(tmp_path).of("amendment")] == [
        Amendment(limits={"max_tokens_total": 2_000_000})
    ]


def test_verify_names_the_section_that_was_changed(shell: Shell, tmp_path: Path) -> None:
    shell.cell(f"{RUN};")
    assert shell.cell("%pge verify").view.mark == "intact"
    state = tmp_path / "shared_state.md"
    state.write_bytes(state.read_bytes().replace(b'"verdict":"fail"', b'"verdict":"pass"', 1))
    view = shell.cell("%pge verify").view
    assert view.mark == "broken"
    assert "was changed" in view.plain()
    assert "StateDamaged" in shell.cell("%pge show plan").text


def test_the_model_is_chosen_for_the_runs_to_come(shell: Shell, tmp_path: Path) -> None:
    assert shell.cell("%pge model practice:skill=0.9,seed=3").view.title == "Model: practice:skill=0.9,seed=3"
    shell.cell("%%pge run\n" + _prompt("roman"))
    assert set(open_run(tmp_path).task.settings["models"].values()) == {"practice:skill=0.9,seed=3"}  # type: ignore[union-attr]
    assert (
        "is a setting of the practice model"
        in shell.cell("%pge run x --practice roman --model some-model --skill 1").text
    )


def _prompt(name: str) -> str:
    from pge_nb.bank import practice_task

    return practice_task(name).prompt


def test_the_tasks_of_the_bank_are_listed_with_the_line_to_type(shell: Shell) -> None:
    view = shell.cell("%pge tasks").view
    assert view.next == "%pge run --practice textkit"
    assert "intervals" in view.plain()


def test_lines_are_told_while_a_run_goes_on_in_a_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGE_NB_LIVE")
    text = shell.cell(f"{RUN};").text
    assert "Step 1, attempt 1: evaluation" in text
    assert text.split("\n")[-2].startswith("Receipt: passed, ")


@pytest.mark.parametrize(
    ("environ", "names", "expected"),
    [
        ({"JPY_SESSION_NAME": "{here}/a.ipynb"}, {"__vsc_ipynb_file__": "/tmp/b.ipynb"}, "{here}"),
        ({}, {"__vsc_ipynb_file__": "{here}/b.ipynb"}, "{here}"),
        ({"JPY_SESSION_NAME": "relative.ipynb"}, {}, "/fallback"),
        ({"JPY_SESSION_NAME": "/no/such/place/a.ipynb"}, {}, "/fallback"),
        ({}, {}, "/fallback"),
    ],
)
def test_the_notebooks_directory_is_what_jupyter_then_vs_code_then_the_process_says(
    tmp_path: Path, environ: dict[str, str], names: dict[str, object], expected: str
) -> None:
    def filled(given: dict[str, Any]) -> dict[str, Any]:
        return {key: value.format(here=tmp_path) for key, value in given.items()}

    assert notebook_directory(filled(environ), filled(names), Path("/fallback")) == Path(expected.format(here=tmp_path))


# In a real kernel


def executed(
    cells: list[str], directory: Path, monkeypatch: pytest.MonkeyPatch, *, live: bool
) -> nbformat.NotebookNode:
    monkeypatch.setenv("PGE_NB_LIVE", "1" if live else "0")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return nbformat.reads(main.execute(nbformat.writes(notebook), directory), as_version=4)


def test_in_a_kernel_every_output_is_in_its_own_cell_and_progress_is_one_folded_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = executed(["%load_ext pge_nb", RUN, "1 + 1", "%pge show trajectory"], tmp_path, monkeypatch, live=True)
    outputs = [cell["outputs"] for cell in ran.cells]
    assert outputs[0] == []
    assert [output["output_type"] for output in outputs[1]] == ["display_data", "execute_result"]
    assert "sections were written" in outputs[1][0]["data"]["text/plain"]
    assert read(outputs[1][0]["data"]["text/html"]).stripped == []
    assert [output["data"]["text/plain"] for output in outputs[2]] == ["2"]
    html, _ = HTMLExporter(sanitize_html=True).from_notebook_node(ran)
    assert "data:image/png;base64," in html
    assert "attempt 1: fail" in html


def test_without_live_displays_a_cell_ends_in_one_final_display(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = executed(["%load_ext pge_nb", RUN], tmp_path, monkeypatch, live=False)
    assert [output["output_type"] for output in ran.cells[1]["outputs"]] == ["execute_result"]


def test_an_interrupt_leaves_the_file_whole_and_says_the_next_move(tmp_path: Path) -> None:
    manager, client = start_new_kernel(cwd=str(tmp_path), env=main.environment())
    try:
        client.execute_interactive("%load_ext pge_nb", timeout=30)
        told: list[str] = []

        def hook(message: dict[str, Any]) -> None:
            if message["msg_type"] == "error":
                told.extend(message["content"]["traceback"])

        state = tmp_path / "shared_state.md"
        sent = client.execute("%pge run --practice textkit --seed 1")
        deadline = time.monotonic() + 20
        while not (state.exists() and state.stat().st_size > 20_000) and time.monotonic() < deadline:
            time.sleep(0.005)
        manager.interrupt_kernel()
        while (message := client.get_iopub_msg(timeout=20))["parent_header"].get("msg_id") != sent or not (
            message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
        ):
            hook(message)
        assert told[1:] == ["Go on with %pge resume."]
        found = StateFile(state).verify()
        assert found.intact
        assert found.torn == 0
        run = open_run(tmp_path)
        assert run.outcome in {"stopped", "running"}
        assert isinstance(run.sections[-1].payload, Interruption) or told
        reply = client.execute_interactive("%pge resume", timeout=60, output_hook=hook)
        assert reply["content"]["status"] == "ok"
        assert open_run(tmp_path).outcome == "passed"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# From a terminal


def test_the_quickstart_runs_twice_and_says_where_everything_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "pge-demo"
    assert main.main(["--directory", str(place)]) == 0
    first = capsys.readouterr().out
    assert "Check or criterion" in first
    for path in (place / "quickstart.ipynb", place / "shared_state.md", place / "work" / "textkit.py"):
        assert path.is_file()
        assert str(path) in first
    states = open_run(place)
    assert any(len(states.attempts(step.number)) > 1 for step in states.steps)
    head = states.head
    assert main.main(["--directory", str(place)]) == 0
    assert "nobody was asked, nothing was paid" in capsys.readouterr().out
    assert open_run(place).head == head
    executed = nbformat.read(place / "quickstart.ipynb", as_version=4)
    assert not [o for cell in executed.cells for o in cell.get("outputs", []) if o["output_type"] == "error"]


def test_resume_from_a_terminal_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.main(["resume", "mine"]) == 1
    assert "Nothing was begun" in capsys.readouterr().err
    (tmp_path / "mine").mkdir()
    harness = PGEHarness(
        HarnessConfig(model="practice:seed=2", shared_state_path=tmp_path / "mine" / "shared_state.md")
    )
    harness.start(_prompt("stats"))
    assert main.main(["resume", "mine"]) == 0
    assert open_run(tmp_path / "mine").outcome == "passed"
