"""What docs/calibration.md says runs, one block after the other, as a reader would run it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "calibration.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, "docs/calibration.md", "exec"), names)
    assert "retries_added" in capsys.readouterr().out
    assert eval("set(frame.rater) >= {'ann', 'oracle'}", names)
