"""A headless Chromium for tests and benchmarks, spoken to through its debugging pipe: no package is needed for that."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds for one answer


def find_browser() -> str | None:
    """Path of a browser, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


class Browser:
    """One browser process; ``with Browser() as browser`` ends it."""

    def __init__(self) -> None:
        program = find_browser()
        if program is None:
            raise FileNotFoundError(f"no browser: none of {', '.join(BROWSERS)} is installed")
        self._profile = tempfile.mkdtemp(prefix="browser-")
        # the browser reads from 3 and writes to 4; ours lie above, so that neither overwrites the other
        theirs_in, ours_out = (_above(fd) for fd in os.pipe())
        ours_in, theirs_out = (_above(fd) for fd in os.pipe())

        def hand_over() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=hand_over,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._rest = b""
        self._messages: deque[bytes] = deque()
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            got = self._next()
            if got.get("id") == self._number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                result: dict[str, Any] = got["result"]
                return result
            self.events.append(got)

    def wait_for(self, method: str, session: str) -> None:
        """Wait for an event of a page."""
        found = any(e.get("method") == method and e.get("sessionId") == session for e in self.events)
        while not found:
            got = self._next()
            self.events.append(got)
            found = got.get("method") == method and got.get("sessionId") == session

    def open(
        self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "screen"
    ) -> Page:
        """Show a file in a window of this size, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        page = Page(self, session, target, 0.0)
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, media=media, features=[scheme])
        begin = time.perf_counter()
        self.call("Page.navigate", session, url=path.as_uri())
        self.wait_for("Page.loadEventFired", session)
        # a frame has been painted when its callback's successor is called
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.seconds = time.perf_counter() - begin
        return page

    def _next(self) -> dict[str, Any]:
        while not self._messages:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser has said nothing for {PATIENCE:g} s")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            *complete, self._rest = (self._rest + data).split(b"\0")
            self._messages.extend(complete)
        got: dict[str, Any] = json.loads(self._messages.popleft())
        return got


class Page:
    """A page that is shown; ``seconds`` is the time from the command until it was painted."""

    def __init__(self, browser: Browser, session: str, target: str, seconds: float) -> None:
        self.browser, self.session, self.target, self.seconds = browser, session, target, seconds

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.call("Emulation.setDeviceMetricsOverride", self.session, **size)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, of a promise when it is kept."""
        options = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self.browser.call("Runtime.evaluate", self.session, **options)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "error"))
        return result["result"].get("value")

    def problems(self) -> list[str]:
        """What the console complains of, errors of scripts, and dialogs."""
        found = []
        for event in self.browser.events:
            method, parameters = event.get("method"), event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if method == "Log.entryAdded" and parameters["entry"]["level"] in ("warning", "error"):
                found.append(parameters["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("warning", "error", "assert"):
                found.append(str(parameters["args"]))
            elif method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                found.append(f"{method}: {parameters}")
        return found

    def requests(self) -> list[str]:
        """Addresses of everything that the page asked for besides itself."""
        names: list[str] = self.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
        return [name for name in names if not name.startswith("data:")]

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save what is seen, or the whole page."""
        got = self.browser.call("Page.captureScreenshot", self.session, captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))

    def pdf(self, path: Path) -> None:
        """Print to a file."""
        got = self.browser.call("Page.printToPDF", self.session, preferCSSPageSize=False)
        path.write_bytes(base64.b64decode(got["data"]))

    def close(self) -> None:
        """Close it."""
        self.browser.call("Target.closeTarget", targetId=self.target)


def _above(fd: int) -> int:
    """The same pipe under a number from 10, which is not inherited."""
    other = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return other
