"""Public tables of raters, read where they are at hand and never shipped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

BESIDE = Path(__file__).parents[2] / ".." / "shared"


@pytest.fixture(scope="session")
def public_table() -> Callable[[str], pd.DataFrame]:
    def read(name: str) -> pd.DataFrame:
        path = Path(os.environ.get("PGE_NB_SHARED", BESIDE)) / "data" / "calibration" / name
        if not path.exists():
            pytest.skip(f"{name} is not at hand; PGE_NB_SHARED names the directory that holds data/calibration")
        return pd.read_csv(path)

    return read


@pytest.fixture(scope="session")
def devai(public_table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Verdicts of people and of a judge on 366 requirements for each of three agents (Zhuge et al. 2024)."""
    return public_table("devai_judgments.csv")


@pytest.fixture(scope="session")
def pandalm(public_table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Three people and two judges on which of two replies is better (Wang et al. 2023)."""
    table = public_table("pandalm_testset.csv")
    names = ["annotator1", "annotator2", "annotator3", "gpt_result", "pandalm_result"]
    return table[names].astype(str)


@pytest.fixture(scope="session")
def hanna(public_table: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Three people on the faults of 100 explanations (Chhun et al. 2024)."""
    return public_table("hanna_explanation_issues.csv")
