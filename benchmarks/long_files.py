"""State files of 10 to 100,000 sections: what an append and a read of what was appended take; JSON on standard output.

    python benchmarks/long_files.py [LARGEST]

Sections are notes of 1,000 characters. Seconds are medians of twenty appends and twenty reads; the first read, of the whole file,
is made once in a process of its own, whose peak of memory is told with it. Files lie in the directory for temporary files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from pge_nb import records as r
from pge_nb.state import StateFile

SIZES = (10, 100, 1_000, 10_000, 100_000)
TIMES = 20
TOGETHER = 1_000
"""So many sections are appended in one go until the file is as long as it is to be."""


def note(number: int) -> r.Record:
    return r.Record(payload=r.Note(text=f"{number:>1000}"), by="harness")


def seconds_of(work: object) -> float:
    began = time.perf_counter()
    assert callable(work)
    work()
    return time.perf_counter() - began


def measured(directory: Path, sections: int) -> dict[str, float]:
    """What a file of so many sections takes. The writer is the one that made it, the reader another that has read it once."""
    path = directory / "shared_state.md"
    writer, reader = StateFile(path), StateFile(path)
    for start in range(0, sections, TOGETHER):
        writer.append(*map(note, range(start, min(start + TOGETHER, sections))))
    reader.read()
    appends, reads = [], []
    for number in range(TIMES):
        appends.append(seconds_of(lambda number=number: writer.append(note(number))))
        reads.append(seconds_of(reader.read))
    first = subprocess.run([sys.executable, __file__, "--read", path], capture_output=True, text=True, check=True)
    return {
        "sections": sections,
        "bytes": path.stat().st_size,
        "append_ms": round(1_000 * median(appends), 2),
        "read_on_ms": round(1_000 * median(reads), 2),
        **json.loads(first.stdout),
    }


def first_read(path: Path) -> dict[str, float]:
    """Seconds and memory (MB above what the imports take) of a first read."""
    before = peak_kb()
    seconds = seconds_of(StateFile(path).read)
    more = peak_kb() - before
    return {"first_read_s": round(seconds, 3), "first_read_mb": round(more / 1_024, 1)}


def peak_kb() -> int:
    """The most memory that this process has held, from Linux: what `resource` tells is that of a parent as well."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def main(largest: int) -> None:
    for sections in (size for size in SIZES if size <= largest):
        with tempfile.TemporaryDirectory() as directory:
            print(json.dumps(measured(Path(directory), sections)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(first_read(Path(sys.argv[2]))))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else SIZES[-1])
