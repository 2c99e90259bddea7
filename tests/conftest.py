"""What every test stands on: an environment without keys, and live displays off."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from notebook_shell import Shell

# The same cases on every run in CI: what a search finds by chance must not decide whether an unrelated change lands.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may find a key, a base URL or a model of the person who runs it."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "PGE_NB_", "JPY_SESSION_NAME")) and name != "PGE_NB_SHARED":
            monkeypatch.delenv(name)
    monkeypatch.setenv("PGE_NB_LIVE", "0")
    # Nor may it read or write what the person's own skills came to.
    monkeypatch.setenv("PGE_NB_REGISTRY", "off")


@pytest.fixture(autouse=True)
def _a_kernel_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have spent must not count here."""
    from pge_nb.models import kernel

    monkeypatch.setattr(kernel, "HERE", kernel.Spending())


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stub that fails would be waited for, for minutes; tests of pauses say how long theirs are."""
    from pge_nb import pauses

    monkeypatch.setattr(pauses, "WAITS", ())


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    """A real IPython shell with the extension loaded, in a directory of its own."""
    from notebook_shell import Shell

    monkeypatch.chdir(tmp_path)
    opened = Shell()
    yield opened
    opened.close()
