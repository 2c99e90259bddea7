"""What every input is made into: its files, and what may be told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..errors import BadInput
from ..records import Input
from ..workspace import MAX_FILE_BYTES

Form = Literal["parquet", "csv"]
PARQUET: Form = "parquet"
CSV: Form = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An input and its files: path in the tree -> content. ``told.files`` is left to whoever keeps them."""

    told: Input
    files: Mapping[str, bytes]


def gathered(name: str, parts: Iterable[bytes], move: str) -> bytes:
    """The parts as one file; ``BadInput`` with the move as soon as they are more than a run takes in."""
    whole = bytearray()
    for part in parts:
        whole += part
        if len(whole) > MAX_FILE_BYTES:
            raise too_large(name, move)
    return bytes(whole)


def too_large(name: str, move: str) -> BadInput:
    """The error for an input whose file would be larger than a run takes in."""
    return BadInput(
        f"{name} takes more than {MAX_FILE_BYTES // 10**6} MB as a file, which is more than a run takes in.", move
    )


def cut(text: str, budget: int) -> str:
    """The text, cut to the budget with the cut marked."""
    return text if len(text) <= budget else f"{text[:budget]}\n[cut: the rest is in the file]"
