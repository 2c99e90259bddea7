"""A real JupyterLab in a real Chromium: what a person sees and does, on a page of this machine alone."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pge_nb.reviews.browser import BROWSERS

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
STARTS = 60.0
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def lacking() -> str:
    """What keeps a page from being opened here; empty where nothing does."""
    if CHROMIUM is None:
        return "no page is opened: there is no Chromium or Chrome"
    missing = [name for name in ("jupyterlab", "playwright") if importlib.util.find_spec(name) is None]
    return f"no page is opened: {missing[0]} is not installed" if missing else ""


@contextlib.contextmanager
def server(directory: Path, settings: Path, theme: Literal["light", "dark"] = "light") -> Iterator[str]:
    """A JupyterLab over ``directory``, with a configuration of its own below ``settings``; its address with the token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    names = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PGE_NB_LIVE"},
        **{f"JUPYTER_{name}": str(settings / place) for name, place in names.items()},
        "JUPYTERLAB_SETTINGS_DIR": str(settings / "lab"),
        "JUPYTERLAB_WORKSPACES_DIR": str(settings / "workspaces"),
        "IPYTHONDIR": str(settings / "ipython"),
        "PYTHONPATH": str(ROOT),
    }
    shades = {"theme": f"JupyterLab {theme.title()}", "adaptive-theme": False}
    _set(settings, "apputils-extension", "themes", shades)
    _set(settings, "apputils-extension", "notification", {"fetchNews": "false", "checkForUpdates": False})
    _set(settings, "notebook-extension", "tracker", {"windowingMode": "none"})  # every cell is in the page
    argv = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    argv += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    argv += [f"--ServerApp.root_dir={directory}", "--LabApp.news_url=None", "--LabApp.expose_app_in_browser=True"]
    argv += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--ServerApp.terminals_enabled=False"]
    log = settings / "server.log"
    with log.open("wb") as told:
        process = subprocess.Popen(argv, env=environment, stdout=told, stderr=told)
        try:
            _wait(f"http://127.0.0.1:{port}/api?token={token}", process, log)
            yield f"http://127.0.0.1:{port}/lab/workspaces/page/tree/{{}}?token={token}&reset"
        finally:
            process.terminate()
            process.wait(20)


def _set(settings: Path, package: str, name: str, given: dict[str, Any]) -> None:
    place = settings / "lab" / "@jupyterlab" / package / f"{name}.jupyterlab-settings"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(given))


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + STARTS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).read()
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(log.read_text()[-3000:]) from None
            time.sleep(0.2)
        else:
            return


class Notebook:
    """A notebook that is open on a page."""

    def __init__(self, page: Any, address: str, name: str) -> None:
        self.page, self.address = page, address
        page.goto(address.format(name), wait_until="domcontentloaded", timeout=60_000)
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        page.wait_for_function("name => window.jupyterapp?.shell?.currentWidget?.context?.path === name", arg=name)
        page.evaluate("async () => { await jupyterapp.shell.currentWidget.context.ready; }")

    def other(self, name: str) -> Notebook:
        """Another notebook of the same server, in this one's place."""
        return Notebook(self.page, self.address, name)

    def connect(self) -> None:
        """Wait until the kernel is there: a cell that is run earlier is not run."""
        self.page.evaluate("""async () => {
            const s = jupyterapp.shell.currentWidget.context.sessionContext;
            await s.ready;
            for (let i = 0; i < 600 && s.session?.kernel?.connectionStatus !== 'connected'; i++)
                await new Promise(done => setTimeout(done, 100));
            await s.session.kernel.info; }""")

    def start(self, index: int) -> None:
        """Run a cell, and do not wait for it."""
        self.page.evaluate(
            """index => { const notebook = jupyterapp.shell.currentWidget.content;
                          notebook.activeCellIndex = index; notebook.deselectAll();
                          jupyterapp.commands.execute('notebook:run-cell'); }""",
            index,
        )

    def wait(self, index: int, seconds: float = 60) -> None:
        """Wait until the cell has ended."""
        self.page.wait_for_function(
            """index => /^\\[\\d+\\]:$/.test(document.querySelectorAll('.jp-Notebook .jp-Cell')[index]
                                            .querySelector('.jp-InputPrompt')?.textContent.trim())""",
            arg=index,
            timeout=seconds * 1000,
        )

    def run(self, index: int, seconds: float = 60) -> None:
        """Run a cell to its end."""
        self.start(index)
        self.wait(index, seconds)

    def cell(self, index: int) -> Any:
        """The cell, as Playwright's locator."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def kinds(self, index: int) -> list[str]:
        """The MIME type that is shown of each output of a cell."""
        outputs = self.cell(index).locator(".jp-OutputArea-output").all()
        return [str(output.get_attribute("data-mime-type")) for output in outputs]

    def sources(self) -> list[str]:
        """What stands in each cell."""
        return list(
            self.page.evaluate(
                "() => jupyterapp.shell.currentWidget.content.widgets.map(one => one.model.sharedModel.getSource())"
            )
        )

    def save(self) -> None:
        """Save the notebook."""
        self.page.evaluate("async () => { await jupyterapp.commands.execute('docmanager:save'); }")


@contextlib.contextmanager
def browser(profile: Path, theme: Literal["light", "dark"] = "light") -> Iterator[Any]:
    """A page of a Chromium with a fresh profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch_persistent_context(
            str(profile),
            executable_path=CHROMIUM,
            headless=True,
            viewport={"width": 1200, "height": 900},
            color_scheme=theme,
            args=list(QUIET),
        )
        try:
            yield opened.pages[0] if opened.pages else opened.new_page()
        finally:
            opened.close()
