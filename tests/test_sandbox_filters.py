"""The numbers of the system calls are those of the kernel's own headers, and every machine has a filter that is well-formed."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from pge_nb.sandbox.filters import CALLS, MACHINES, NETWORK, OWN, REFUSED, RETURN, program

HEADERS = {
    0: (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+)\s+(\d+)"),
    1: (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}


@pytest.mark.parametrize("column", HEADERS)
def test_the_numbers_are_those_of_the_headers(column: int) -> None:
    path, form = HEADERS[column]
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    numbers = {name: int(number) for name, number in re.findall(form, path.read_text())}
    # Headers may be older than the newest calls, which have one number everywhere.
    told = {name: pair[column] for name, pair in CALLS.items() if name in numbers}
    assert told == {name: numbers[name] for name in told}
    assert all(pair[0] == pair[1] for name, pair in CALLS.items() if name not in numbers and pair[column] is not None)


def test_every_call_that_is_refused_has_a_number() -> None:
    named = {name for names in REFUSED.values() for name in names.split()} | {"socket", *NETWORK.split()}
    assert named <= set(CALLS)
    assert len(named) == sum(len(names.split()) for names in REFUSED.values()) + 1 + len(NETWORK.split())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("landlock", [1, 3, 6])
@pytest.mark.parametrize("ports", [True, False])
def test_a_filter_jumps_forward_within_itself_and_ends_in_a_return(machine: str, landlock: int, ports: bool) -> None:
    steps = list(struct.iter_unpack("=HBBI", program(machine, landlock=landlock, ports=ports)))
    assert steps[-1][0] == RETURN
    assert len(steps) <= 4_096
    for place, (code, then, otherwise, _) in enumerate(steps):
        if code & 7 == 5:  # a jump
            assert place + 1 + max(then, otherwise) < len(steps)


@pytest.mark.parametrize("landlock", [1, 7])
def test_what_stands_for_the_process_is_found_where_it_is_meant_alone(landlock: int) -> None:
    laid = program("x86_64", landlock=landlock)
    meant = sum(step[3] == OWN for step in struct.iter_unpack("=HBBI", laid))
    assert laid.count(struct.pack("=I", OWN)) == meant > 0
