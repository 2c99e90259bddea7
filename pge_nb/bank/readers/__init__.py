"""Readers: small modules that look at deliverables which are no function to be called. A review runs them in its child."""

from __future__ import annotations

from pathlib import Path


def source(name: str) -> str:
    """The source of a reader."""
    return Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
