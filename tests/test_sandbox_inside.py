"""What ordinary programs need works inside, and a program that serves is kept to the ports that were chosen for it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pge_nb.errors import SandboxUnavailable
from pge_nb.sandbox import Bounds, confined, run
from pge_nb.sandbox.rungs import landlock_version, rungs

RUNGS = list(rungs())
linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")

PROGRAMS = {
    "numpy": "import numpy as np\nprint(np.linalg.inv(np.eye(200)).sum())",
    "pandas": "import pandas as pd\npd.DataFrame({'a': [100, 100]}).to_csv('f.csv')\nprint(float(pd.read_csv('f.csv').a.sum()))",
    "matplotlib": (
        "import os, matplotlib.pyplot as p\np.plot([1, 2])\np.savefig('f.png')\nprint(200.0 if os.path.getsize('f.png') else 0)"
    ),
    "subprocess": (
        "import subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(200.0)'], capture_output=True, text=True).stdout.strip())"
    ),
    "asyncio": (
        "import asyncio\nasync def f():\n"
        "    p = await asyncio.create_subprocess_exec('echo', '200.0', stdout=-1)\n"
        "    return (await p.communicate())[0]\n"
        "print(asyncio.run(f()).decode().strip())"
    ),
    "threads": "from concurrent.futures import ThreadPoolExecutor as T\nprint(sum(T(8).map(float, [25] * 8)))",
    "sqlite3": "import sqlite3\nc = sqlite3.connect('x.db')\nc.execute('create table t (a)')\nc.commit()\nprint(200.0)",
    "zip": "import shutil\nopen('a', 'w').write('x')\nshutil.make_archive('z', 'zip', '.', 'a')\nprint(200.0)",
    "tar": (
        "import tarfile\nopen('a', 'w').write('x')\n"
        "with tarfile.open('t.tar', 'w') as t: t.add('a')\n"
        "with tarfile.open('t.tar') as t: t.extractall('o', filter='data')\nprint(200.0)"
    ),
    "which": "import shutil\nprint(200.0 if shutil.which('python') else 0)",
    "a program of one's own": (
        "import os, subprocess\n"
        "with open(os.open('run', os.O_CREAT | os.O_WRONLY, 0o755), 'w') as f: f.write('#!/bin/sh\\necho 200.0')\n"
        "print(subprocess.check_output(['./run'], text=True).strip())"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ordinary_programs_work_inside(name: str, tmp_path: Path) -> None:
    ran = run(["python", "-c", PROGRAMS[name]], tmp_path, seconds=60)
    assert (ran.exit, ran.out.strip()) == (0, "200.0"), ran.err


def test_pytest_works_inside_with_its_temporary_directories(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import subprocess, sys\n"
        "def test_one(tmp_path, capsys):\n"
        "    (tmp_path / 'a').write_text('x')\n"
        "    assert subprocess.check_output([sys.executable, '-c', 'print(1)']) == b'1\\n'\n"
    )
    ran = run(["pytest", "-q"], tmp_path, seconds=60)
    assert (ran.exit, "1 passed" in ran.out) == (0, True), ran.out + ran.err


# Ports


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


needs_ports = pytest.mark.skipif(landlock_version() < 4, reason="ports cannot be told apart before Landlock 4")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one


@linux
@needs_ports
def test_a_server_reaches_its_own_port_and_no_other(tmp_path: Path, listener: socket.socket) -> None:
    (port,) = free_ports(1)
    text = (
        "import json, socket, sys\n"
        f"own, other, mptcp = {port}, {listener.getsockname()[1]}, 262\n"
        "def tried(act):\n"
        "    try: act(); return 'done'\n"
        "    except OSError as error: return type(error).__name__\n"
        "def fast():\n"
        "    with socket.socket() as one: one.sendto(b'x', 0x20000000, ('127.0.0.1', other))\n"
        "server = socket.create_server(('127.0.0.1', own))\n"
        "print(json.dumps([\n"
        "    tried(lambda: socket.create_connection(('127.0.0.1', own)).close()),\n"
        "    tried(lambda: socket.create_connection(('127.0.0.1', other)).close()),\n"
        "    tried(lambda: socket.create_server(('127.0.0.1', 0))),\n"
        "    tried(fast),\n"
        "    tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, mptcp)),\n"
        "    tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),\n"
        "    tried(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)),\n"
        "]))\n"
    )
    ran = run(["python", "-c", text], tmp_path, seconds=30, ports=[port])
    assert json.loads(ran.out) == ["done", *["PermissionError"] * 5, "OSError"], ran.err


@linux
@needs_ports
def test_a_development_server_is_reached_from_outside_and_ended_whole(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>here")
    (port,) = free_ports(1)
    serve = ["python", "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    with confined(serve, tmp_path, seconds=60, ports=[port]) as made:
        server = subprocess.Popen(made.argv, env=made.env, start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            assert b"<p>here" in fetched(port)
        finally:
            server.terminate()
        assert server.wait(10) in (-9, 137)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def fetched(port: int) -> bytes:
    for _ in range(200):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as one:
                one.sendall(b"GET /index.html HTTP/1.0\r\n\r\n")
                return b"".join(iter(lambda: one.recv(4096), b""))
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError("nobody answers")


CHANNELS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")


@linux
@needs_ports
def test_a_kernel_runs_on_its_five_ports(tmp_path: Path) -> None:
    for _ in range(3):  # Another program may take one of the ports first.
        if (said := asked_of_a_kernel(tmp_path)) is not None:
            break
    assert said == "42\nPermissionError\n"


def asked_of_a_kernel(place: Path) -> str | None:
    """What a kernel in the sandbox prints; None where it did not start."""
    from jupyter_client.blocking.client import BlockingKernelClient

    ports = dict(zip(CHANNELS, free_ports(len(CHANNELS)), strict=True))
    connection = {"ip": "127.0.0.1", "transport": "tcp", "key": "k" * 32, "signature_scheme": "hmac-sha256", **ports}
    (place / "kernel.json").write_text(json.dumps(connection))
    start = ["python", "-m", "ipykernel_launcher", "-f", str(place / "kernel.json")]
    code = (
        "import socket\nprint(6 * 7)\n"
        "try: socket.create_connection(('127.0.0.1', 1))\nexcept OSError as error: print(type(error).__name__)"
    )
    said: list[str] = []
    with confined(start, place, seconds=60, ports=[*ports.values()], bounds=Bounds(memory=4 << 30)) as made:
        kernel = subprocess.Popen(made.argv, env=made.env, start_new_session=True, stderr=subprocess.DEVNULL)
        client = BlockingKernelClient()
        client.load_connection_info(connection)
        client.start_channels()
        try:
            client.wait_for_ready(timeout=40)
            client.execute_interactive(
                code, timeout=40, output_hook=lambda message: said.append(message["content"].get("text", ""))
            )
        except (RuntimeError, TimeoutError):
            return None
        finally:
            client.stop_channels()
            kernel.terminate()
            kernel.wait(10)
    return "".join(said)


@linux
def test_ports_are_refused_where_they_cannot_be_told_apart(tmp_path: Path) -> None:
    rung = replace(RUNGS[-1], landlock=3)
    with pytest.raises(SandboxUnavailable, match="Landlock 4"):
        run(["python", "-c", "pass"], tmp_path, seconds=5, ports=[8000], rung=rung)
