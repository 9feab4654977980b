# SPDX-License-Identifier: Apache-2.0
"""Time `pellucid.decompile` against depyf's decompiler on the 85 syntax functions, in one process.

The functions are those of the list given as the argument (each file defines one function). For
each function and each tool the best of several runs counts; the figure is the ratio of the sums,
over the functions that both decompile. `make bench` installs what this needs.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from types import FunctionType
from typing import Any, Callable, Dict, List, Optional

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "judge" / "corpora" / "depyf85.list"


def functions_of(listing: Path) -> Dict[str, Any]:
    """Return the function of each file of the list, by file name."""
    found = {}
    for line in listing.read_text(encoding="utf-8").split():
        path = listing.parent / line
        scope: Dict[str, Any] = {"__name__": path.stem}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
        functions = [value for value in scope.values() if isinstance(value, FunctionType)]
        found[path.stem] = functions[-1]
    return found


def best_time(
    decompile: Callable[[Any], str], function: Any, runs: int, forget: Callable[[], None]
) -> Optional[float]:
    """Return the least of `runs` times in seconds, or None if the tool fails.

    `forget` runs before each, off the clock: depyf remembers every code object that it has seen.
    """
    best = None
    for _ in range(runs):
        forget()
        start = time.perf_counter()
        try:
            decompile(function)
        except Exception:
            return None
        spent = time.perf_counter() - start
        best = spent if best is None or spent < best else best
    return best


def main() -> int:
    """Print each tool's times and the ratio; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("listing", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    if not arguments.listing.exists():
        print(f"bench: skipped: no list of functions at {arguments.listing}")
        return 0
    import depyf
    import pellucid
    from depyf.decompiler import Decompiler

    functions = functions_of(arguments.listing)
    tools: Dict[str, Callable[[Any], str]] = {
        "pellucid": pellucid.decompile,
        "depyf": depyf.decompile,
    }
    times: Dict[str, Dict[str, float]] = {name: {} for name in tools}
    for name, function in functions.items():
        for tool, decompile in tools.items():
            spent = best_time(decompile, function, arguments.runs, Decompiler.decompile.cache_clear)
            if spent is not None:
                times[tool][name] = spent
    return report(times, len(functions))


def report(times: Dict[str, Dict[str, float]], total: int) -> int:
    """Print the figures; return 1 if pellucid failed on a function."""
    both = sorted(set(times["pellucid"]) & set(times["depyf"]))
    for tool, by_name in times.items():
        spent: List[float] = [by_name[name] * 1e6 for name in both]
        middle = statistics.median(spent) if spent else float("nan")
        print(
            f"{tool:9} {len(by_name)}/{total} decompiled, on the {len(both)} that both do: "
            f"median {middle:.0f} us, sum {sum(spent) / 1e3:.2f} ms"
        )
    if both:
        ours = sum(times["pellucid"][name] for name in both)
        theirs = sum(times["depyf"][name] for name in both)
        version = "{}.{}".format(*sys.version_info[:2])
        each = statistics.median(times["depyf"][name] / times["pellucid"][name] for name in both)
        print(
            f"ratio     {theirs / ours:.1f} times depyf's speed over all, "
            f"{each:.1f} times on the median function (Python {version})"
        )
    return 0 if len(times["pellucid"]) == total else 1


if __name__ == "__main__":
    sys.exit(main())
