# SPDX-License-Identifier: Apache-2.0
"""The decompiler's page as a test handles it: files go in, texts come out."""

import base64
import importlib.util
import marshal
from pathlib import Path
from types import CodeType
from typing import Any, Callable, List, Tuple, Union

from pythons import ROOT

PAGE = ROOT / "build" / "web" / "page" / "index.html"

DROP = """files => {
  const data = new DataTransfer();
  for (const [name, text] of files) {
    data.items.add(new File([Uint8Array.from(atob(text), c => c.charCodeAt(0))], name));
  }
  for (const type of ['dragenter', 'dragover', 'drop']) {
    document.body.dispatchEvent(
      new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
  }
}"""

PASTE = """text => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  document.body.dispatchEvent(
    new ClipboardEvent('paste', {bubbles: true, cancelable: true, clipboardData: data}));
}"""


class Opened:
    """The page in the browser, and what it did that it must not do."""

    def __init__(self, page: Any, home: str) -> None:
        self.page = page
        self.home = home
        self.said: List[str] = []
        """Messages on the console, and errors of scripts."""
        self.asked: List[str] = []
        """Addresses that were requested, beside that of the page itself."""
        self.workers: List[Any] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", self._requested)
        page.on("worker", lambda worker: self.workers.append(worker))

    def _requested(self, request: Any) -> None:
        address = request.url.split("#")[0]
        # A worker of the page's own text is no request: nothing leaves the page for it.
        if address != self.home and not address.startswith("blob:"):
            self.asked.append(request.url)

    def drop(self, *files: Tuple[str, bytes]) -> None:
        """Drop files, and wait until the first module of them is shown."""
        self.hand_over(*files)
        self.ready()

    def hand_over(self, *files: Tuple[str, bytes]) -> None:
        """Drop files."""
        self.page.evaluate(DROP, [[n, base64.b64encode(d).decode()] for n, d in files])

    def ready(self) -> None:
        """Wait until a module is shown, with its links and its bytecode."""
        self.page.locator("#bytecode .row.head").first.wait_for(state="attached", timeout=60_000)
        self.page.locator("#source .row").first.wait_for(state="attached")

    def all_done(self) -> None:
        """Wait until all modules have been decompiled."""
        self.page.locator(".work progress").wait_for(state="hidden", timeout=300_000)

    def paste(self, text: str) -> None:
        """Paste text."""
        self.page.evaluate(PASTE, text)

    def saved(self, key: str) -> Path:
        """Press a key that saves something; return the file."""
        with self.page.expect_download() as download:
            self.page.keyboard.press(key)
        return Path(download.value.path())

    def source(self) -> bytes:
        """Return the text of the module that is shown."""
        return self.saved("s").read_bytes()

    def rows(self, pane: str, kind: str = "") -> List[str]:
        """Return the texts of the rows of a pane that are drawn, or of those of a class."""
        script = "s => [...document.querySelectorAll(s)].map(row => row.innerText)"
        found: List[str] = self.page.evaluate(script, f"#{pane} .row{kind}")
        return [" ".join(text.split()) for text in found]


def pyc_of(code: Union[str, CodeType]) -> bytes:
    """Return what the running Python would write for a source or its code."""
    if isinstance(code, str):
        code = compile(code, "m.py", "exec")
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def halve(open_page: Callable[..., Any], **options: Any) -> Any:
    """Open the page with the function of the walk-through."""
    opened = open_page(**options)
    data = (ROOT / "docs" / "walkthrough" / "halve.pyc").read_bytes()
    opened.drop(("halve.pyc", data))
    return opened
