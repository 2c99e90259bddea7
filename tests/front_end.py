"""A client of a real kernel that does what a page does: says which cell it runs, shows widgets, presses buttons."""

from __future__ import annotations

import os
import queue
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).parents[1]
VIEW = "application/vnd.jupyter.widget-view+json"
ONE_THREAD = """
from ipykernel.kernelapp import IPKernelApp

class OneThread(IPKernelApp):
    def init_control(self, context):
        super().init_control(context)
        self.shell_channel_thread = None

OneThread.launch_instance()
"""
"""A kernel whose cells and messages share a thread, as in ipykernel 6; ipykernel 7 can still be told to."""


@dataclass(kw_only=True)
class Ran:
    """What came of one cell. ``seconds`` is how long after the button was pressed it ended."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    seconds: float | None = None

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The contents of its messages of one type."""
        return [message["content"] for message in self.messages if message["msg_type"] == kind]

    @property
    def text(self) -> str:
        """What it printed."""
        return "".join(content["text"] for content in self.of("stream"))


class FrontEnd:
    """``shows``: whether it draws the widgets that it is sent."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager, self.client = manager, client
        self.shows = True
        self.models: dict[str, dict[str, Any]] = {}

    def send(self, code: str, *, cell: str | None = "c1") -> str:
        """Ask for a cell to be run; ``cell`` None: as who has no cells. The id of the request."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        message = self.client.session.msg("execute_request", {**content, "allow_stdin": False, "stop_on_error": True})
        message["metadata"] = {"cellId": cell} if cell else {}
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def tell(self, comm: str, data: Mapping[str, Any]) -> None:
        """Send a message to a widget."""
        self.client.shell_channel.send(self.client.session.msg("comm_msg", {"comm_id": comm, "data": dict(data)}))

    def named(self, model: str) -> list[str]:
        """The widgets of that kind that are open."""
        return [comm for comm, state in self.models.items() if state.get("_model_name") == model]

    def result(
        self,
        sent: str,
        *,
        press_after: float | None = None,
        meanwhile: Callable[[], None] = lambda: None,
        within: float = 60,
    ) -> Ran:
        """What came of a request.

        ``press_after``: the stop button is pressed so many seconds after the panel came; ``meanwhile`` is called when it came.
        """
        ran, shown, pressed = Ran(), None, None
        ends = time.monotonic() + within
        while time.monotonic() < ends:
            if shown and not pressed and press_after is not None and time.monotonic() - shown >= press_after:
                pressed = time.monotonic()
                self.tell(self.named("ButtonModel")[0], {"method": "custom", "content": {"event": "click"}})
            try:
                message = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == sent:
                ran.messages.append(message)
            content = message["content"]
            if message["msg_type"] == "comm_open":
                self.models[content["comm_id"]] = content["data"]["state"]
            elif message["msg_type"] == "comm_close":
                self.models.pop(content["comm_id"], None)
            elif message["msg_type"] == "display_data" and VIEW in content["data"]:
                shown = time.monotonic()
                meanwhile()
                if self.shows:
                    count = {"method": "update", "state": {"_view_count": 1}, "buffer_paths": []}
                    self.tell(content["data"][VIEW]["model_id"], count)
            elif content.get("execution_state") == "idle" and message["parent_header"].get("msg_id") == sent:
                ran.seconds = time.monotonic() - pressed if pressed else None
                return ran
        raise TimeoutError(f"a cell did not end in {within} s: {[one['msg_type'] for one in ran.messages]}")

    def run(self, code: str, *, cell: str | None = "c1", press_after: float | None = None, within: float = 60) -> Ran:
        """Run a cell to its end."""
        return self.result(self.send(code, cell=cell), press_after=press_after, within=within)


@contextmanager
def front_end(directory: Path, *, one_thread: bool = False, live: bool = True) -> Iterator[FrontEnd]:
    """A kernel in a directory, with the extension loaded, and a page that looks at it."""
    manager = KernelManager()
    start = ["-c", ONE_THREAD] if one_thread else ["-m", "ipykernel_launcher"]
    argv = [sys.executable, *start, "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name="Python 3", language="python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PGE_NB_LIVE": "1" if live else "0"}
    manager.start_kernel(cwd=str(directory), env=environment)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        opened = FrontEnd(manager, client)
        opened.run("%load_ext pge_nb")
        yield opened
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
