"""The tests on the Pythons that are promised, and on the oldest versions of the dependencies that pyproject.toml allows.

    python benchmarks/versions.py [NAME ...] [-- PYTEST_ARGUMENT ...]

Names: 3.11, 3.12, 3.13 (newest dependencies that pip finds), oldest (3.11 with every dependency at its lower bound); none: all.
Each gets a fresh environment and a fresh clone of what is committed. A Python that is not to be had is told and left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = ("3.11", "3.12", "3.13", "oldest")
LOWER = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9][0-9.]*)")


def python_of(version: str) -> str | None:
    """An interpreter of the version: on the PATH, or one of pyenv's."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for one in (shutil.which(f"python{version}"), *map(str, reversed(kept))):
        if one and subprocess.run([one, "-c", ""], capture_output=True, check=False).returncode == 0:
            return one
    return None


def lower_bounds() -> list[str]:
    """Every dependency pinned to the oldest version that is allowed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["browser"],
        *project["optional-dependencies"]["text"],
    ]
    return [f"{match[1]}=={match[2]}" for one in wanted if (match := LOWER.match(one))]


def tried(name: str, arguments: list[str]) -> str:
    """Install and test; how it went, in words."""
    python = python_of("3.11" if name == "oldest" else name)
    if python is None:
        return "no such Python here"
    with tempfile.TemporaryDirectory() as made:
        clone, env = Path(made, "clone"), Path(made, "env")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run([python, "-m", "venv", str(env)], check=True)
        pins = clone / "oldest.txt"
        pins.write_text("\n".join(lower_bounds()) if name == "oldest" else "")
        own = str(env / "bin" / "python")
        install = [own, "-m", "pip", "install", "--quiet", "--constraint", str(pins), ".[test]"]
        if subprocess.run(install, cwd=clone, check=False).returncode:
            return "cannot be installed"
        version = subprocess.run([own, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        run = [own, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *arguments]
        ran = subprocess.run(run, cwd=clone, env=environ, capture_output=True, text=True, check=False)
        failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        last = ran.stdout.strip().splitlines()[-1] if ran.stdout.strip() else ran.stderr[-400:]
        return "\n  ".join([f"{version}: {last}", *failed])


def main() -> int:
    said, _, rest = " ".join(sys.argv[1:]).partition("--")
    bad = 0
    for name in said.split() or NAMES:
        told = tried(name, rest.split())
        bad += "FAILED" in told or "ERROR" in told or "cannot" in told
        print(f"{name}: {told}", flush=True)
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
