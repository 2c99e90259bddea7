"""What repo2docker does with ``binder/``, in a fresh environment, and what a visitor then meets; JSON on standard output.

    python benchmarks/binder.py [--only 1_quickstart.ipynb]

The committed files are cloned, requirements.txt is installed with the Python of runtime.txt (else with the one that runs
this, said so), postBuild is run. Then the page that opens first, the seconds to the first chart, and each lesson: seconds and
the most memory of its kernel and all that it started. Fails (exit status 1) where a lesson raises, takes over 30 seconds, or
takes over 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIRST_PAGE = "examples/index.ipynb"
MOST_SECONDS = 30.0
MOST_BYTES = 1_000_000_000
CHART = ("%load_ext pge_nb", "%pge run first --practice textkit --seed 1", "%pge show trajectory first")
EXECUTE = """
import json, sys, threading, time
from pathlib import Path

import nbformat, psutil
from nbclient import NotebookClient

place = Path(sys.argv[1])
most, done = 0, threading.Event()

def held():
    total = 0
    for one in psutil.Process().children(recursive=True):
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            pass
    return total

def watch():
    global most
    while not done.wait(0.1):
        most = max(most, held())

watcher = threading.Thread(target=watch)
watcher.start()
began = time.perf_counter()
try:
    NotebookClient(
        nbformat.read(place, as_version=4), timeout=300, resources={"metadata": {"path": str(place.parent)}}
    ).execute()
finally:
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
print(json.dumps({"seconds": round(seconds, 1), "bytes": most}))
"""


def interpreter(wanted: str) -> str:
    """The Python that ``runtime.txt`` names, where it is to be had and runs; else the one that runs this."""
    places = [shutil.which(f"python{wanted}"), *map(str, Path.home().glob(f".pyenv/versions/{wanted}.*/bin/python"))]
    for place in filter(None, places):
        if subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    print(f"Python {wanted} is not to be had here: {sys.version.split()[0]} in its place.", file=sys.stderr)
    return sys.executable


def built(place: Path, clean: dict[str, str]) -> tuple[Path, dict[str, str]]:
    """The clone, and the environment variables with which its Python is found first."""
    clone = place / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    wanted = (clone / "binder" / "runtime.txt").read_text(encoding="ascii").strip().removeprefix("python-")
    subprocess.run([interpreter(wanted), "-m", "venv", str(place / "env")], check=True)
    there = {**clean, "PATH": f"{place / 'env' / 'bin'}{os.pathsep}{clean['PATH']}", "HOME": str(place)}
    install = ["python", "-m", "pip", "install", "--quiet", "-r", "binder/requirements.txt"]
    for step in (install, ["binder/postBuild"]):
        subprocess.run(step, cwd=clone, env=there, check=True, stdout=sys.stderr)
    return clone, there


def opens(clone: Path, there: dict[str, str]) -> bool:
    """JupyterLab answers at the address that the badge leads to, and the notebook is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    flags = ("--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}")
    with subprocess.Popen(
        ["jupyter-lab", *flags, f"--IdentityProvider.token={token}"], cwd=clone, env=there, stderr=subprocess.DEVNULL
    ) as server:
        try:
            return all(answers(f"http://127.0.0.1:{port}/{page}?token={token}") for page in pages())
        finally:
            server.terminate()


def pages() -> tuple[str, str]:
    return f"lab/tree/{FIRST_PAGE}", f"api/contents/{FIRST_PAGE}"


def answers(address: str) -> bool:
    for _ in range(100):
        try:
            with urllib.request.urlopen(address, timeout=5) as reply:
                return bool(reply.status == 200)
        except urllib.error.HTTPError:
            return False
        except OSError:  # it has not begun to listen
            time.sleep(0.3)
    return False


def executed(notebook: Path, there: dict[str, str]) -> dict[str, Any]:
    ran = subprocess.run(
        ["python", "-c", EXECUTE, str(notebook)], env=there, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        return {"raised": ran.stderr.strip().splitlines()[-1][:300]}
    figures: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return figures


def first_chart(clone: Path, there: dict[str, str]) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "id": f"c{at}", "source": line, "metadata": {}, "outputs": [], "execution_count": None}
        for at, line in enumerate(CHART)
    ]
    place = clone / "chart" / "first.ipynb"
    place.parent.mkdir()
    place.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="ascii")
    return executed(place, there)


def good(figures: dict[str, Any]) -> bool:
    return "raised" not in figures and figures["seconds"] <= MOST_SECONDS and figures["bytes"] <= MOST_BYTES


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--only", help="one lesson, and no other")
    only = asked.parse_args().only
    clean = {
        name: os.environ[name] for name in ("PATH", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE") if name in os.environ
    }
    with tempfile.TemporaryDirectory() as fresh:
        began = time.perf_counter()
        clone, there = built(Path(fresh), clean)
        told: dict[str, Any] = {"build_seconds": round(time.perf_counter() - began, 1)}
        version = subprocess.run(["python", "--version"], env=there, capture_output=True, text=True, check=True)
        told["python"] = version.stdout.split()[1]
        told["opens"] = opens(clone, there)
        told["first_chart"] = first_chart(clone, there)
        lessons = sorted(path for path in (clone / "examples").glob("*.ipynb") if re.fullmatch(only or ".*", path.name))
        told["lessons"] = {path.name: executed(path, there) for path in lessons}
    print(json.dumps(told, indent=1))
    return 0 if told["opens"] and all(map(good, (told["first_chart"], *told["lessons"].values()))) else 1


if __name__ == "__main__":
    sys.exit(main())
