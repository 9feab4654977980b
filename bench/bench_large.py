# SPDX-License-Identifier: Apache-2.0
"""Show that large captures grow linearly: deep models, many compiled functions, many ranks.

Each size runs in a process of its own, once without a capture and once with one. A row has the
seconds of both, the seconds that closing the capture took (they are part of the second), the peak
memory of both, the size of the capture, and the size of its page with the seconds to write it.
The last column is the time from opening the page to its first paint, if Chromium and Playwright
are installed. Sizes are four times apart: a square would show as sixteen times the seconds.
"""

import argparse
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, List, NamedTuple, Optional

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def layers(number: int) -> None:
    """Compile a Transformer encoder of that many layers, one graph, with Inductor."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, number, enable_nested_tensor=False).eval()
    with torch.no_grad():
        torch.compile(model)(torch.randn(2, 8, 32))


def functions(number: int) -> None:
    """Compile that many functions, each of which breaks once, as a suite of tests does."""
    import torch

    source = (
        "def test_{0}(x):\n    y = x * {0}\n    torch._dynamo.graph_break()\n    return y + 1\n"
    )
    names: Dict[str, Any] = {"torch": torch}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "suite.py")
        path.write_text("\n".join(source.format(each) for each in range(number)))
        exec(compile(path.read_text(), str(path), "exec"), names)
        x = torch.ones(2)
        for each in range(number):
            torch.compile(names[f"test_{each}"], backend="eager")(x)
            torch._dynamo.reset()


class Measured(NamedTuple):
    """What a process measured: seconds, seconds of closing, and its peak memory in MiB."""

    seconds: float
    closing: float
    peak: float


def one(family: str, number: int, directory: Optional[str]) -> Measured:
    """Compile in this process, under a capture if there is a directory."""
    import torch

    torch.set_num_threads(1)
    context: ContextManager[Any] = contextlib.nullcontext()
    if directory is not None:
        import pellucid

        context = pellucid.prepare_debug(directory)
    started = time.perf_counter()
    with context:
        FAMILIES[family](number)
        worked = time.perf_counter()
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(ended - started, ended - worked, peak)


FAMILIES: Dict[str, Callable[[int], None]] = {"layers": layers, "functions": functions}


def measure(family: str, number: int, directory: Optional[Path]) -> Measured:
    """Measure in a fresh process with an Inductor cache of its own."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--one", family, str(number)]
        command += [str(directory)] if directory else []
        environment = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        done = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in environment.items()), *command],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


def first_paint(page: Path) -> Optional[float]:
    """Return the milliseconds from opening a page to its first paint, or None without a browser."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.goto(page.as_uri())
        paint = "performance.getEntriesByName('first-contentful-paint')[0]"
        opened.wait_for_function(paint)
        found: float = opened.evaluate(f"{paint}.startTime")
        browser.close()
    return found


def mebibytes(path: Path) -> float:
    """Return the size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20


def row(label: str, parts: List[str]) -> None:
    """Print a row of the table."""
    print(f"{label:16}" + "".join(f"{part:>12}" for part in parts), flush=True)


def paged(directory: Path) -> List[str]:
    """Write the page of a capture; return its size, the seconds that took, and its first paint."""
    import pellucid

    started = time.perf_counter()
    page = pellucid.report(directory)
    seconds = time.perf_counter() - started
    paint = first_paint(page)
    return [
        f"{mebibytes(page):.2f} MiB",
        f"{seconds:.1f} s",
        "-" if paint is None else f"{paint:.0f} ms",
    ]


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--layers", default="18,70", help="sizes, with commas between them")
    parser.add_argument("--functions", default="1250,5000", help="sizes, with commas between them")
    parser.add_argument("--ranks", default="2,8", help="sizes, with commas between them")
    options = parser.parse_args()
    if options.one:
        family, number, *directory = options.one
        print(json.dumps(one(family, int(number), directory[0] if directory else None)))
        return 0
    row("", ["without", "captured", "closing", "memory", "captured", "capture", "page", "written",
             "first paint"])  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for family in FAMILIES:
            for number in filter(None, getattr(options, family).split(",")):
                directory = Path(folder, family + number)
                bare = measure(family, int(number), None)
                with_it = measure(family, int(number), directory)
                row(f"{number} {family}", [
                    f"{bare.seconds:.1f} s", f"{with_it.seconds:.1f} s", f"{with_it.closing:.1f} s",
                    f"{bare.peak:.0f} MiB", f"{with_it.peak:.0f} MiB",
                    f"{mebibytes(directory):.1f} MiB", *paged(directory),
                ])  # fmt: skip
        for number in filter(None, options.ranks.split(",")):
            directory = Path(folder, "ranks" + number)
            measure("layers", 4, directory / "rank_0")
            for rank in range(1, int(number)):
                shutil.copytree(directory / "rank_0", directory / f"rank_{rank}")
                session = directory / f"rank_{rank}" / "session.json"
                data = json.loads(session.read_text())
                data.update(rank=rank, world_size=int(number))
                session.write_text(json.dumps(data))
            row(
                f"{number} ranks",
                ["-"] * 5 + [f"{mebibytes(directory):.1f} MiB", *paged(directory)],
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
