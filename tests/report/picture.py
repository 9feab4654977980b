"""Make docs/page.png: the page of `pellucid demo`, as a reader of the README first sees it.

Run it as `python tests/report/picture.py [DUMP]`; without a dump the demo is run. It needs a
browser on PATH. Where the demo was run is not in the picture.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "page.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ELSEWHERE = "/home/you/project"


def moved(dump: Path, to: Path) -> Path:
    """Copy a dump as if the demo's model lay somewhere else."""
    import pellucid.torch.api as api

    here = os.path.dirname(str(api.__file__)).encode()
    shutil.copytree(dump, to)
    for file in to.iterdir():
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.compress(gzip.decompress(data).replace(here, ELSEWHERE.encode()))
        file.write_bytes(data.replace(here, ELSEWHERE.encode()))
    return to


def take(page_file: Path, picture: Path) -> None:
    """Write the picture of a page."""
    browser_file = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1360, "height": 780}, color_scheme="light")
        page.goto(page_file.as_uri() + "#graph=spine")
        page.wait_for_selector("html.ready", state="attached")
        page.wait_for_timeout(300)
        page.screenshot(path=str(picture))
        browser.close()


def main() -> None:
    """Run the demo unless a dump is given, and take the picture of its page."""
    from pellucid.report import report

    with tempfile.TemporaryDirectory() as folder:
        dump = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "demo"
        if len(sys.argv) == 1:
            command = [sys.executable, "-m", "pellucid", "demo", "--out", str(dump)]
            subprocess.run(command, check=True)
        page = report(moved(dump, Path(folder) / "moved"))
        take(page, PICTURE)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
