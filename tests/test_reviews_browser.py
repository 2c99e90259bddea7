"""The browser review opens a page as a person would, in a real browser that reaches nothing but that page."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest
from looking import look, needs_browser, vetted
from messages_stub import MessagesStub
from scripted import MODEL, Request, fenced, findings, first_message, role_of

from pge_nb import HarnessConfig, PGEHarness
from pge_nb.display import View
from pge_nb.payloads import Json
from pge_nb.records import EvaluationReport
from pge_nb.reviews import Outcome
from pge_nb.reviews.browser import Browser
from pge_nb.run import Run
from pge_nb.sandbox.rungs import landlock_version
from pge_nb.views.findings import findings_tables
from pge_nb.workspace import Objects

needs_ports = pytest.mark.skipif(
    sys.platform != "linux" or landlock_version() < 4,
    reason="a server needs a port, and that needs Landlock 4 to be told apart",
)
PAGE = """<!doctype html><meta charset="utf-8"><h1>A   till</h1><p hidden>hidden</p>
<label>Price <input id="price"></label> <button onclick="setTimeout(add, 200)">Add</button>
<label>Tax <select id="tax"><option>none<option>ten</select></label> <p id="sum"></p>
<script>
function add() {
  const rate = document.getElementById("tax").value === "ten" ? 1.1 : 1;
  document.getElementById("sum").textContent = "Sum " + (document.getElementById("price").value * rate).toFixed(2);
}
</script><script type="module" src="part.mjs"></script>
"""
PART = 'document.getElementById("sum").textContent = "Ready"; console.error("an error of its own"); alert("a dialog");'


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "home")


def opened(
    objects: Objects, page: str, *, seconds: float = 15, files: dict[str, str] | None = None, **args: Json
) -> Outcome:
    return look(objects, Browser(seconds), args, {"index.html": page, **(files or {})})


@needs_browser
def test_a_page_is_used_as_a_person_uses_it_and_read(objects: Objects) -> None:
    steps: list[Json] = [
        {"fill": "Price", "with": "12"},
        {"fill": "#tax", "with": "ten"},
        {"click": "Add"},
    ]
    outcome = opened(objects, PAGE, files={"part.mjs": PART}, see=["A till", "Ready"], do=steps, then=["Sum 13.20"])
    assert outcome.met is True
    assert outcome.says == "opened index.html in a browser"
    assert outcome.strength == "strong"
    content = b64decode(outcome.picture)
    assert content.startswith(b"\x89PNG")
    assert outcome.saw.split("\nto be read at the end:\n")[0].split("\n")[:7] == [
        "shows 'A till'",
        "shows 'Ready'",
        "did this: fill 'Price' with '12', fill '#tax' with 'ten', click 'Add'",
        "then shows 'Sum 13.20'",
        "errors on the console: an error of its own",
        "dialogs, dismissed: a dialog",
        f"screenshot: PNG, {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}",
    ]
    assert outcome.saw.endswith("Sum 13.20")


@needs_browser
def test_a_key_is_pressed_and_a_selector_clicked(objects: Objects) -> None:
    page = (
        "<input autofocus onkeydown=\"if (event.key === 'Enter') o.textContent += 'entered '\">"
        "<b onclick=\"o.textContent += 'bold'\">b</b><p id=o>"
    )
    outcome = opened(objects, page, do=[{"press": "Enter"}, {"click": "b"}], then=["Entered\nBOLD"])
    assert outcome.met is True, outcome.saw


@needs_browser
@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"see": ["A till", "hidden"]}, "shows 'A till'\ndoes not show 'hidden'\n"),
        (
            {"do": [{"press": "Tab"}, {"click": "Remove"}]},
            "step 2, click 'Remove', could not be done: nothing visible is called",
        ),
    ],
)
def test_what_is_not_to_be_seen_or_done_fails_and_is_named(args: dict[str, Json], told: str, objects: Objects) -> None:
    outcome = opened(objects, PAGE, **args)
    assert outcome.met is False
    assert told in outcome.saw


@needs_browser
@pytest.mark.parametrize(
    "page",
    [
        "<script>while (true);</script>",
        "<script>while (true) alert(1);</script>",
        "<button onclick='while (true);'>A</button>x",
    ],
    ids=["never loads", "dialogs without end", "busy after a click"],
)
def test_a_page_without_an_end_is_stopped_and_nothing_of_it_is_left(page: str, objects: Objects) -> None:
    started = time.monotonic()
    outcome = opened(objects, page, seconds=5, do=[{"click": "A"}], then=["y"])
    assert outcome.met is False
    assert "Timeout ... s exceeded" in outcome.saw
    assert time.monotonic() - started < 30
    until = time.monotonic() + 5
    while left() and time.monotonic() < until:
        time.sleep(0.1)
    assert left() == []


def left() -> list[str]:
    """The command lines of browsers that were started from this process and run still."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"/pge-{os.getpid()}-" in line:
            lines.append(line)
    return lines


@pytest.fixture
def listener() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine that is none of the page's business, and who came to it."""
    came: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    other, _ = server.accept()
                except OSError:
                    return
                with other:
                    other.settimeout(2)
                    try:
                        came.append(other.recv(100).decode(errors="replace"))
                    except OSError:
                        came.append("")

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)


WAYS_OUT = """<!doctype html><link rel="preconnect" href="http://127.0.0.1:{port}"><link rel="dns-prefetch" href="//example.com">
<link rel="prefetch" href="http://127.0.0.1:{port}/prefetch"><img src="http://127.0.0.1:{port}/img">
<iframe src="http://127.0.0.1:{port}/frame"></iframe><iframe src="file:///etc/passwd"></iframe><p id="o">begun</p>
<form id="f" action="http://127.0.0.1:{port}/form" target="other" method="post"></form><a id="a" href="a.bin" download>d</a>
<script>
const out = "http://127.0.0.1:{port}/";
fetch(out + "fetch", {{mode: "no-cors"}}).catch(() => 0);
fetch("http://localhost:{port}/name", {{mode: "no-cors"}}).catch(() => 0);
navigator.sendBeacon(out + "beacon", "x");
new WebSocket("ws://127.0.0.1:{port}/socket");
new EventSource(out + "events");
const turn = {{urls: "turn:127.0.0.1:{port}?transport=tcp", username: "a", credential: "b"}};
const peer = new RTCPeerConnection({{iceServers: [turn]}});
peer.createDataChannel("x");
peer.createOffer().then(offer => peer.setLocalDescription(offer));
new Worker(URL.createObjectURL(new Blob([`fetch("${{out}}worker", {{mode: "no-cors"}})`])));
document.getElementById("f").submit();
document.getElementById("a").click();
window.open(out + "popup");
setTimeout(() => document.getElementById("o").textContent = "tried", 1500);
</script>
"""


@needs_browser
def test_a_page_reaches_no_other_address(objects: Objects, listener: tuple[int, list[str]]) -> None:
    port, came = listener
    outcome = opened(objects, WAYS_OUT.format(port=port), files={"a.bin": "x"}, see=["tried"])
    assert outcome.met is True, outcome.saw
    assert came == []
    assert f"http://127.0.0.1:{port}/fetch" in outcome.saw
    assert "root:" not in outcome.saw


APP = """import os, socket
from http.server import BaseHTTPRequestHandler, HTTPServer

try:
    socket.create_connection(("127.0.0.1", {other}))
    found = "reached"
except OSError as error:
    found = type(error).__name__


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"<p>page {{self.path}}, others {{found}}".encode())


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Page).serve_forever()
"""


@needs_browser
@needs_ports
def test_a_server_of_the_deliverables_runs_in_the_sandbox_on_its_port(
    objects: Objects, listener: tuple[int, list[str]]
) -> None:
    port, came = listener
    files = {"app.py": APP.format(other=port)}
    outcome = opened(
        objects, "", files=files, serve="python app.py", path="/a?b=1", see=["page /a?b=1, others PermissionError"]
    )
    assert outcome.met is True, outcome.saw
    assert outcome.says == "opened a?b=1 in a browser, served by python app.py"
    assert came == []


@needs_browser
@needs_ports
@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("raise SystemExit('no such table')", "the server does not answer: exit 1\nno such table"),
        ("import time\ntime.sleep(60)", "the server does not answer: it did not listen to its port in time"),
    ],
)
def test_a_server_that_does_not_answer_fails_with_what_it_said(source: str, told: str, objects: Objects) -> None:
    outcome = opened(objects, "", seconds=2, files={"app.py": source}, serve="python app.py {port}", see=["x"])
    assert outcome.met is False
    assert outcome.saw.startswith(told)


@needs_browser
@needs_ports
def test_a_server_that_writes_too_much_is_ended(objects: Objects) -> None:
    source = "import time\nfor n in range(40):\n    open(f'f{n}', 'wb').write(b'x' * (5 << 20))\ntime.sleep(60)"
    outcome = opened(objects, "", seconds=8, files={"app.py": source}, serve="python app.py", see=["x"])
    assert (outcome.met, outcome.saw) == (False, "the server does not answer: killed for writing too much")


def test_a_page_that_is_not_there_fails(objects: Objects) -> None:
    outcome = opened(objects, "x", path="other.html", see=["x"])
    assert (outcome.met, outcome.saw) == (False, "other.html is not there")


def test_without_a_browser_or_its_driver_the_judge_decides(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = opened(objects, "x", see=["x"])
    assert (outcome.met, outcome.saw) == (None, "not opened: there is no browser: Chromium or Chrome")
    chromium = tmp_path / "chromium"
    chromium.write_text("#!/bin/sh\nexit 1\n")
    chromium.chmod(0o755)
    monkeypatch.setitem(sys.modules, "playwright", None)
    outcome = opened(objects, "x", see=["x"])
    assert (outcome.met, outcome.saw) == (None, "not opened: there is no playwright: pge_nb[browser]")


@needs_browser
def test_a_browser_that_does_not_start_leaves_it_to_the_judge(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chromium = tmp_path / "chromium"
    chromium.write_text("#!/bin/sh\nexit 1\n")
    chromium.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    outcome = opened(objects, "x", see=["x"])
    assert (outcome.met, outcome.saw) == (None, "not opened: there is no browser that starts")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"path": "../index.html"}, "'..'"),
        ({"path": "https://example.com/x"}, "not relative"),
        ({"path": "https://example.com/", "serve": "python app.py"}, "leaves the page's own address"),
        ({"serve": "cd app && flask run"}, "serve: && needs a shell"),
        ({"serve": ""}, "serve: the command is empty"),
        ({"see": [""]}, "empty"),
        ({"then": ["  "]}, "empty"),
        ({"do": [{"click": ""}]}, "names nothing"),
        ({"do": [{"fill": "#a"}]}, "is none of"),
        ({"do": [{"type": "a"}]}, "is none of"),
        ({"do": [{"click": "a", "press": "b"}]}, "is none of"),
        ({"do": ["click"]}, "not an object"),
        ({"url": "index.html"}, "unknown field"),
    ],
)
def test_args_that_cannot_be_used_are_sent_back(args: dict[str, Json], why: str) -> None:
    assert why in (vetted(Browser(5), args) or "")


# Through the whole harness

PLAN = {
    "title": "A till",
    "scope": "one page",
    "deliverables": ["index.html"],
    "steps": [{"description": "the page", "depends_on": [], "success": ["12 at ten per cent is 13.20"]}],
    "criteria": [{"name": "clarity", "weight": "low", "description": "it reads well", "threshold": 6}],
}
CHECK = {
    "says": "with 12 as the price and ten as the tax, Add shows 13.20",
    "method": "browser",
    "args": {
        "path": "index.html",
        "see": ["Price"],
        "do": [{"fill": "#price", "with": "12"}, {"fill": "#tax", "with": "ten"}, {"click": "Add"}],
        "then": ["Sum 13.20"],
    },
}


def till(request: Request) -> str:
    """The page of the first attempt forgets the tax."""
    role, told = role_of(request), first_message(request)
    if role == "planner":
        return fenced(PLAN)
    if role == "propose":
        return fenced({"deliverables": ["index.html"], "checks": [CHECK]})
    if role == "respond":
        return fenced({"agreed": True, "reason": "complete"})
    if role == "generate":
        page = PAGE.replace('<script type="module" src="part.mjs"></script>', "")
        page = page if "This is attempt 2" in told else page.replace("1.1", "1.0")
        return f"Approach: one page.\n\n```html index.html\n{page}```\n"
    judged = findings(request)
    for finding in judged:
        finding["quote"] = ""
    return fenced({"findings": judged})


@needs_browser
def test_a_web_page_is_graded_by_a_real_browser_through_the_whole_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with MessagesStub(till) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        config = HarnessConfig(model=MODEL, review_seconds=15)
        harness = PGEHarness(config)
        assert harness.run("A page with a till that adds the tax.").outcome == "passed"
        run = harness.state.read()
    verdicts = [section.payload for section in run.of("evaluation", 1)]
    assert [one.verdict for one in verdicts if isinstance(one, EvaluationReport)] == ["fail", "pass"]
    evidence = verdicts[1].evidence[0]
    assert "then shows 'Sum 13.20'" in evidence.body.text
    picture = Objects(tmp_path).get(evidence.picture)
    assert f"sha256 {hashlib.sha256(picture).hexdigest()}" in evidence.body.text
    assert_the_picture_is_shown(run, tmp_path)


def assert_the_picture_is_shown(run: Run, root: Path) -> None:
    view = View(title="", blocks=tuple(findings_tables(run, 1, standing=False)))
    assert view.html().count("data:image/png") == 2
    assert "*Screenshot:* e1 (browser): opened index" in view.markdown()
    shutil.rmtree(root / ".pge" / "objects")
    gone = View(title="", blocks=tuple(findings_tables(run, 1, standing=False)))
    assert gone.html().count("Its screenshot cannot be shown.") == 2
