"""A browser for tests: chromedriver speaks JSON over HTTP, so the standard library will do."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)


def missing() -> str | None:
    """Why there can be no browser test; None if there can."""
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed"
    if not _chromium():
        return "chromium is not installed"
    return None


def _chromium() -> str | None:
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, found), None)


class Browser:
    """One session of chromedriver."""

    def __init__(self, address: str, profile: Path) -> None:
        self.address = address
        options = {"binary": _chromium(), "args": [*FLAGS, f"--user-data-dir={profile}"]}
        always = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        started = self._send("POST", "/session", {"capabilities": {"alwaysMatch": always}})
        self.address += f"/session/{started['sessionId']}"

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        # No proxy: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]

    def open(self, path: Path) -> None:
        self._send("POST", "/url", {"url": path.as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a JavaScript function's body."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def protocol(self, command: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def find(self, selector: str) -> str:
        found = self._send("POST", "/element", {"using": "css selector", "value": selector})
        return str(found[ELEMENT])

    def click(self, selector: str) -> None:
        self._scroll(selector)
        self._send("POST", f"/element/{self.find(selector)}/click", {})

    def hover(self, selector: str) -> None:
        self._scroll(selector)
        origin = {ELEMENT: self.find(selector)}
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": origin}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._send("POST", "/actions", {"actions": [pointer]})

    def leave(self) -> None:
        """Take the pointer off whatever an earlier step left it on."""
        move = {"type": "pointerMove", "duration": 0, "x": 0, "y": 0, "origin": "viewport"}
        pointer = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._send("POST", "/actions", {"actions": [pointer]})

    def until(self, script: str) -> bool:
        """Wait, for some seconds at most, until a function's body gives true."""
        for _ in range(50):
            if self.run(script):
                return True
            time.sleep(0.1)
        return False

    def _scroll(self, selector: str) -> None:
        self.run(
            "document.querySelector(arguments[0])"
            ".scrollIntoView({block: 'center', behavior: 'instant'})",
            selector,
        )

    def press(self, key: str) -> None:
        """One key, to whatever has the focus."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        keys = {"type": "key", "id": "keyboard", "actions": actions}
        self._send("POST", "/actions", {"actions": [keys]})

    def text(self, selector: str) -> str:
        """Words of an element that is seen, MathML included."""
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def messages(self) -> list[str]:
        """What the console says: errors of the script, requests refused."""
        log = self._send("POST", "/se/log", {"type": "browser"})
        return [str(entry["message"]) for entry in log]

    def window(self, width: int, height: int, dark: bool = False) -> None:
        self.protocol(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.protocol("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        shot = self.protocol("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._send("DELETE", "")


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start chromedriver and a session, and end both."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        session = Browser(f"http://127.0.0.1:{port}", profile)
        try:
            yield session
        finally:
            session.close()
    finally:
        driver.terminate()
        driver.wait(10)
