"""Make the pictures of the documentation.

docs/page.png is the page of `pellucid demo`, as a reader of the README first sees it; those in
docs/images are of the capture that docs/tour.md walks through. Run it as
`python tests/report/picture.py [DEMO TOUR]`; without the two dumps both are made. It needs a
browser on PATH. Where the programs were run is not in the pictures.
"""

import gzip
import html
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "page.png"
IMAGES = ROOT / "docs" / "images"
TOUR = ROOT / "docs" / "examples" / "model" / "train.py"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ELSEWHERE = "/home/you/project"
NOTEBOOK = ROOT / "docs" / "examples" / "notebook" / "session.ipynb"
LINE = f"#pin={ELSEWHERE}/train.py:12&stage=forward"


def moved(dump: Path, here: Path, to: Path) -> Path:
    """Copy a dump as if the program that lies `here` lay somewhere else."""
    old, new = str(here).encode(), ELSEWHERE.encode()
    shutil.copytree(dump, to)
    for file in to.iterdir():
        data = file.read_bytes()
        if file.suffix == ".gz":
            data = gzip.compress(gzip.decompress(data).replace(old, new))
        file.write_bytes(data.replace(old, new))
    return to


def take(page_file: Path, pictures: Dict[Path, str], width: int = 1360, height: int = 780) -> None:
    """Write pictures of a page: each file with what follows `#` in the address."""
    browser_file = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_file, args=["--no-sandbox", "--disable-gpu"]
        )
        for picture, anchor in pictures.items():
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, color_scheme="light")
            page.goto(page_file.as_uri() + anchor)
            page.wait_for_selector("html.ready", state="attached")
            page.wait_for_timeout(500)
            page.screenshot(path=str(picture))
            page.close()
        browser.close()
    for picture in pictures:
        smaller(picture)
        print(f"{picture}: {picture.stat().st_size} bytes")


def of_notebook(folder: Path) -> Path:
    """Execute the notebook of the documentation; return the output of its last cell as a page."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4)
    path = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, resources=path).execute()
    source = html.escape(notebook.cells[-1].source)
    value, session = notebook.cells[-1].outputs
    shown = session.data["text/html"].replace("<details>", "<details open>", 2)
    shown = shown.replace(str(folder), ELSEWHERE)
    body = f"<pre class=cell>{source}</pre><pre>{value.data['text/plain']}</pre>{shown}"
    style = "body{font-family:sans-serif;margin:12px}.cell{background:#f2f2f2;padding:8px}"
    file = folder / "cell.html"
    ready = "<script>document.documentElement.className='ready'</script>"
    file.write_text(f"<style>{style}</style>{body}{ready}", encoding="utf-8")
    return file


def smaller(picture: Path) -> None:
    """Save a picture with 256 colours, which is more than a page has."""
    if importlib.util.find_spec("PIL") is not None:
        from PIL import Image

        with Image.open(picture) as image:
            image.convert("RGB").quantize(256).save(picture, optimize=True)


def main() -> None:
    """Make the captures unless they are given, and take the pictures of their pages."""
    import pellucid.torch.api as api
    from pellucid.report import report

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo, tour = folder / "demo", folder / "tour"
        if len(sys.argv) > 2:
            demo, tour = map(Path, sys.argv[1:3])
        else:
            pellucid = [sys.executable, "-m", "pellucid"]
            subprocess.run([*pellucid, "demo", "--out", str(demo)], check=True)
            subprocess.run([*pellucid, "run", "--out", str(tour), str(TOUR)], check=True)
        page = report(moved(demo, Path(os.path.dirname(str(api.__file__))), folder / "moved_demo"))
        take(page, {PICTURE: "#graph=spine"})
        page = report(moved(tour, TOUR.parent, folder / "moved_tour"))
        IMAGES.mkdir(exist_ok=True)
        take(of_notebook(folder), {IMAGES / "notebook.png": ""}, 860, 620)
        take(page, {IMAGES / "tour-page.png": "", IMAGES / "tour-line.png": LINE})


if __name__ == "__main__":
    main()
