# SPDX-License-Identifier: Apache-2.0
"""Drop library modules of each version on the page, and compare every text with the native one.

`python tests/web/check_library.py [--sample 200] [VERSION...]`, after `make web`, prints a line a
version: how many texts are equal byte for byte, and how long the page and the native binary with
one thread took. It exits with 1 if a text differs or is missing.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any, Dict, List

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "lib")]

import corpus  # noqa: E402
import oracle  # noqa: E402
from browsing import ARGUMENTS, BROWSERS  # noqa: E402
from dropping import PAGE, Opened  # noqa: E402
from pythons import VERSIONS  # noqa: E402

NATIVE = ROOT / "build" / "make" / "pellucid"


def archive_of(version: str, sample: int, folder: Path) -> bytes:
    """Compile modules of a library; return them in a zip."""
    python = oracle.interpreter(version)
    if python is None:
        raise SystemExit(f"needs Python {version}")
    root = corpus.standard_library(python)
    corpus.compiled(python, root, corpus.sources(root, sample or None, seed=0), folder)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path in sorted(folder.rglob("*.pyc")):
            archive.write(path, path.relative_to(folder))
    return out.getvalue()


def native_texts(path: Path, out: Path) -> Dict[str, bytes]:
    """Return what the native binary writes for an archive."""
    command = [str(NATIVE), "decompile", str(path), "-o", str(out), "--jobs", "1"]
    subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.py")}


def page_texts(browser: Any, page: Path, data: bytes) -> Dict[str, bytes]:
    """Return what the page makes of an archive."""
    context = browser.new_context(accept_downloads=True)
    opened = Opened(context.new_page(), page.as_uri())
    opened.page.goto(page.as_uri())
    opened.page.wait_for_selector("html.ready", state="attached")
    opened.drop(("library.zip", data))
    opened.all_done()
    with zipfile.ZipFile(opened.saved("z")) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    texts.pop("pellucid.json")
    context.close()
    if opened.asked or opened.said:
        raise SystemExit(f"the page asked for {opened.asked} and said {opened.said}")
    return texts


def check(browser: Any, page: Path, version: str, sample: int) -> int:
    """Compare one version; print what came of it, and return how many texts differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = archive_of(version, sample, folder / "pyc")
        (folder / "library.zip").write_bytes(data)
        start = time.monotonic()
        native = native_texts(folder / "library.zip", folder / "out")
        between = time.monotonic()
        shown = page_texts(browser, page, data)
        end = time.monotonic()
    wrong = sorted(
        path for path in native.keys() | shown.keys() if native.get(path) != shown.get(path)
    )
    print(
        f"{version:5} {len(native):5} texts, {len(native) - len(wrong)} equal, page "
        f"{end - between:.1f} s, native {between - start:.1f} s",
        flush=True,
    )
    for path in wrong[:10]:
        print(f"      {path} differs")
    return len(wrong)


def main() -> int:
    """Compare, and return the exit code."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    parser.add_argument("--sample", type=int, default=200, help="modules of each (0: all)")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page, built")
    asked = parser.parse_args()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        wrong: List[int] = [
            check(browser, asked.page.resolve(), v, asked.sample) for v in asked.versions
        ]
        browser.close()
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
