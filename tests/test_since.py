"""A view drawn again says what another process wrote since; what this kernel wrote itself is no news."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel
from notebook_shell import Shell

from pge_nb.bank import practice_task
from pge_nb.config import HarnessConfig
from pge_nb.harness import PGEHarness

ROOT = Path(__file__).parents[1]
RUN = "%pge run --practice stats --seed 2"
WRITE = """
import sys
from pge_nb.records import Note, Record
from pge_nb.state import StateFile
StateFile(sys.argv[1]).append(*(Record(payload=Note(text="from elsewhere"), by="person") for _ in range(int(sys.argv[2]))))
"""


def elsewhere(state: Path, sections: int) -> None:
    """Another process writes so many sections."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", WRITE, str(state), str(sections)], check=True, env=environment, timeout=60)


def news(shell: Shell, line: str) -> list[str]:
    return [note for note in shell.cell(line).view.notes if "last looked" in note]


def test_sections_of_another_process_are_counted_once_and_those_of_this_kernel_never(
    shell: Shell, tmp_path: Path
) -> None:
    state = tmp_path / "shared_state.md"
    assert news(shell, RUN) == []
    assert news(shell, "%pge show plan") == []
    elsewhere(state, 3)
    assert news(shell, "%pge show plan") == ["3 sections since you last looked, by another process."]
    assert news(shell, "%pge show plan") == []
    shell.cell("%pge restore 1.1")  # a note of this kernel's own
    elsewhere(state, 1)
    assert news(shell, "%pge") == ["1 section since you last looked, by another process."]
    elsewhere(state, 2)
    assert news(shell, RUN) == ["2 sections since you last looked, by another process."]
    elsewhere(state, 2)
    assert news(shell, "%pge show plan --at 2") == [], "the past has no news"
    assert news(shell, "%pge show") == ["2 sections since you last looked, by another process."]


def test_what_python_code_in_this_kernel_writes_is_no_news(shell: Shell, tmp_path: Path) -> None:
    config = HarnessConfig(model="practice:seed=2", shared_state_path=tmp_path / "shared_state.md")
    harness = PGEHarness(config)
    harness.start(practice_task("stats").prompt)
    assert news(shell, "%pge") == []
    harness.resume()
    assert news(shell, "%pge") == []


def test_another_kernel_on_the_same_file_is_told_of(shell: Shell, tmp_path: Path) -> None:
    shell.cell("%pge run --practice stats --seed 2 --steps 2;")
    manager, client = start_new_kernel(cwd=str(tmp_path), env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        for code in ("%load_ext pge_nb", "%pge restore 1.1", "%pge restore 1.1"):
            reply = client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
            assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert news(shell, "%pge") == ["2 sections since you last looked, by another process."]


def test_a_file_that_was_put_back_or_exchanged_is_told_of(shell: Shell, tmp_path: Path) -> None:
    state, house = tmp_path / "shared_state.md", tmp_path / ".pge"
    shell.cell(f"{RUN};")
    old, old_house = tmp_path / "old.md", tmp_path / "old-house"
    shutil.copy(state, old)
    shutil.copytree(house, old_house)
    elsewhere(state, 2)
    assert news(shell, "%pge show")
    shutil.copy(old, state)
    (house / "head").unlink()
    assert "Another file of this run stands here now" in news(shell, "%pge show")[0]
    assert news(shell, "%pge show") == []
    elsewhere(state, 3)  # longer, but not the one that was seen
    assert news(shell, "%pge show") == ["3 sections since you last looked, by another process."]
    shutil.copy(old, state)
    (house / "head").unlink()
    elsewhere(state, 4)
    assert "does not hold section" in news(shell, "%pge show")[0]
    config = HarnessConfig(model="practice:seed=3", shared_state_path=tmp_path / "new" / "shared_state.md")
    config.state_path.parent.mkdir()
    PGEHarness(config).start(practice_task("roman").prompt)
    shutil.rmtree(house)
    shutil.copytree(config.state_path.parent / ".pge", house)
    shutil.copy(config.state_path, state)
    assert "Another task's file stands here now" in news(shell, "%pge show")[0]


@pytest.mark.parametrize("how", ["run", "plan"])
def test_a_move_at_a_persons_word_is_no_news(shell: Shell, how: str) -> None:
    def begin(task: str) -> str:
        return f"%pge run --practice {task}" if how == "run" else f"%%pge plan\n{practice_task(task).prompt}"

    shell.cell(f"{RUN};")
    assert shell.cell("%pge show").view
    assert news(shell, begin("roman")) == []
    assert news(shell, "%pge show") == []
    shell.cell("%pge new;")
    assert news(shell, begin("intervals")) == []
    assert news(shell, "%pge show") == []


def test_a_notebook_run_again_from_its_top_draws_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (RUN, "%pge show plan", "%pge restore 1.1", "%pge show", "%pge", RUN, "%pge show cost")
    for _ in range(2):
        opened = Shell()
        try:
            assert [line for line in lines if news(opened, line)] == []
        finally:
            opened.close()
