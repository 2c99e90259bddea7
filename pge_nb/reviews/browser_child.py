"""The child of the browser review: opens a page as a person would, carries out steps, and says what was to be seen.

It runs alone (``python -I``) and imports nothing of the package. The page's files are served from here, on a port that was
given; the browser may go to that one origin, everything else is refused and told.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import os
import sys
import threading
import time
import unicodedata
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

HOST = "127.0.0.1"
CLOSED_WITHIN = 3.0
PATIENCE = 3.0
"""Seconds that a text has to appear, or a thing to be there: pages do some of their work later."""
BLINK = 0.05
SAID = 300
LISTED = 20
TOLD = 6_000
PICTURE = 400_000
"""Bytes of a picture of what was seen; a larger one is not kept."""
SIZE = {"width": 1024, "height": 768}
KINDS = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
    ".html": "text/html; charset=utf-8",
}


def main() -> None:
    """Write the token that was given and what was seen, as one line of JSON."""
    asked = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        said: dict[str, Any] = {"missing": str(error.name)}
    else:
        if not asked["serving"]:
            server = ThreadingHTTPServer((HOST, asked["port"]), Files)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        driver = sync_playwright().start()
        said = Visit(asked).seen(driver)
    answers.write(json.dumps([asked["token"], said]))
    answers.flush()
    # A page that never rests keeps its browser from closing; then it ends with this process.
    threading.Timer(CLOSED_WITHIN, os._exit, [0]).start()
    if "missing" not in said:
        driver.stop()
    os._exit(0)


class Files(SimpleHTTPRequestHandler):
    """The files of this directory, with the types that browsers insist on, whatever this machine calls them."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | KINDS

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Visit:
    """One visit to one page. What it comes to is a dict of plain values, since it is sent on as JSON."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.origin = f"http://{HOST}:{asked['port']}"
        self.until = time.monotonic() + float(asked["seconds"])
        self.said: dict[str, Any] = {
            "refused": [],
            "errors": [],
            "dialogs": [],
            "downloads": [],
            "text": "",
            "sandboxed": False,
        }

    def seen(self, driver: Any) -> dict[str, Any]:
        """Open the page and look; ``missing`` where no browser starts, ``failed`` where the page gives nothing to look at."""
        from playwright.sync_api import Error

        try:
            browser = self._started(driver)
        except Error as error:
            return {"missing": "browser that starts", "why": first(error)}
        self.until = time.monotonic() + float(self.asked["seconds"])
        context = browser.new_context(
            viewport=SIZE,
            accept_downloads=False,
            service_workers="block",
            locale="en-US",
            timezone_id="UTC",
            reduced_motion="reduce",
        )
        context.route("**/*", self._pass_or_refuse)
        context.route_web_socket("**/*", self._refuse_socket)
        page = context.new_page()
        self._listen(page)
        try:
            self._look(page)
        except Error as error:
            self.said["failed"] = first(error)
        return self.said

    def _started(self, driver: Any) -> Any:
        """A browser with a profile of its own; without Chromium's own sandbox where that cannot be: for root, in a container."""
        from playwright.sync_api import Error

        started = functools.partial(
            driver.chromium.launch,
            executable_path=self.asked["browser"],
            args=ARGUMENTS,
            # Whatever does not go through the handler below ends at a port that nobody listens to.
            proxy={
                "server": f"http://{HOST}:{self.asked['nobody']}",
                "bypass": f"<-loopback>,{HOST}:{self.asked['port']}",
            },
            timeout=1e3 * self.asked["starts"],
        )
        if os.geteuid() != 0:
            with contextlib.suppress(Error):
                browser = started(chromium_sandbox=True)
                self.said["sandboxed"] = True
                return browser
        return started(chromium_sandbox=False)

    def _look(self, page: Any) -> None:
        response = page.goto(
            f"{self.origin}/{quote(self.asked['path'], safe='/?&=#%')}", wait_until="load", timeout=self._left()
        )
        if response is None or response.status >= 400:
            self.said["failed"] = f"status {response.status}" if response else "no page"
            return
        self.said["see"] = self._appear(page, self.asked["see"])
        for number, step in enumerate(self.asked["do"] if all(self.said["see"]) else [], 1):
            if why := self._carried_out(page, step):
                self.said |= {"step": number, "why": why}
                break
        else:
            self.said["then"] = self._appear(page, self.asked["then"]) if all(self.said["see"]) else []
        self.said["text"] = text_of(page)[:TOLD]
        picture = page.screenshot(type="png", animations="disabled", caret="hide", timeout=1e3 * PATIENCE)
        if len(picture) <= PICTURE:
            self.said["picture"] = base64.b64encode(picture).decode()

    def _appear(self, page: Any, texts: list[str]) -> list[bool]:
        """Whether each text is visible, now or soon."""
        until = min(self.until, time.monotonic() + PATIENCE)
        wanted = [folded(text) for text in texts]
        while True:
            there = folded(text_of(page))
            found = [text in there for text in wanted]
            if all(found) or time.monotonic() > until:
                return found
            page.wait_for_timeout(1e3 * BLINK)

    def _carried_out(self, page: Any, step: dict[str, str]) -> str:
        """Do one thing that a person does; why it could not be done, empty where it was."""
        from playwright.sync_api import Error

        if "press" in step:
            page.keyboard.press(step["press"])
            return ""
        what = step.get("click") or step.get("fill") or ""
        target = self._found(page, what, field="fill" in step)
        if target is None:
            return f"nothing visible is called {what!r}"
        try:
            if "click" in step:
                target.click(timeout=1e3 * PATIENCE)
            elif target.evaluate("element => element.tagName") == "SELECT":
                target.select_option(label=step["with"], timeout=1e3 * PATIENCE)
            else:
                target.fill(step["with"], timeout=1e3 * PATIENCE)
        except Error as error:
            return first(error)
        return ""

    def _found(self, page: Any, what: str, *, field: bool) -> Any:
        """The first visible thing that a CSS selector, else a label or a text, stands for; None where there is none."""
        from playwright.sync_api import Error

        until = min(self.until, time.monotonic() + PATIENCE)
        named = [page.get_by_label(what), page.get_by_placeholder(what)] if field else []
        if not field:
            named += [page.get_by_role(role, name=what, exact=True) for role in ("button", "link")]
            named += [page.get_by_text(what, exact=True), page.get_by_label(what), page.get_by_text(what)]
        while time.monotonic() < until:
            for locator in (page.locator(f"css={what}"), *named):
                with contextlib.suppress(Error):  # it is no selector
                    visible = locator.filter(visible=True)
                    if visible.count():
                        return visible.first
            page.wait_for_timeout(1e3 * BLINK)
        return None

    def _listen(self, page: Any) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._note("errors", str(error)))
        page.on("dialog", self._dismiss)
        page.on("download", lambda download: self._note("downloads", download.suggested_filename))
        page.on("popup", lambda popup: popup.close())

    def _console(self, message: Any) -> None:
        # What was refused is told by itself.
        if message.type == "error" and "ERR_BLOCKED_BY_CLIENT" not in message.text:
            loading = message.text.startswith("Failed to load resource")
            self._note("errors", f"{message.text} {message.location['url']}" if loading else message.text)

    def _dismiss(self, dialog: Any) -> None:
        self._note("dialogs", dialog.message)
        dialog.dismiss()

    def _pass_or_refuse(self, route: Any) -> None:
        if route.request.url.startswith(f"{self.origin}/") or route.request.url.startswith(("data:", "blob:")):
            route.continue_()
        else:
            self._note("refused", route.request.url)
            route.abort("blockedbyclient")

    def _refuse_socket(self, route: Any) -> None:
        if route.url.startswith(self.origin.replace("http://", "ws://") + "/"):
            route.connect_to_server()
        else:
            self._note("refused", route.url)
            route.close()

    def _note(self, kind: str, text: str) -> None:
        line = cut(text.replace(self.origin, ""))
        if line not in self.said[kind] and len(self.said[kind]) < LISTED:
            self.said[kind].append(line)

    def _left(self) -> float:
        """The milliseconds that are left."""
        return max(1.0, 1e3 * float(self.until - time.monotonic()))


ARGUMENTS = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-background-networking",
]


def first(error: Any) -> str:
    """The first line of an error of Playwright's: the log of its calls comes after it."""
    return cut(str(error.message).split("\n")[0])


def text_of(page: Any) -> str:
    """What a person can read on the page."""
    return str(page.locator("body").inner_text(timeout=1e3 * PATIENCE))


def folded(text: str) -> str:
    """The text in NFC, without case, every run of white space one blank: a style sheet changes case and breaks lines."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def cut(text: str) -> str:
    """The text on one line, and not all of it where it is long."""
    return " ".join(text.split())[:SAID]


main()
