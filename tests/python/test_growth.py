"""No construct takes time or memory that grows with the square of its number.

Two sizes of the same program run in turn, by processor time and the least of several runs: four
times the program may take eight times as long (a walk over the whole for each part takes 16). Where
that is more, as it may be on a machine that others use, valgrind counts instructions, if it is
there: they say the same each time.
`make bench` fits the exponents. What is proven of a few is proven of as many as a compiler takes.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Sequence

import pytest
from needs import ROOT, need

sys.path.insert(0, str(ROOT / "bench"))

from bench_growth import instructions, peak
from growth_bytecode import SHAPES, assemble
from growth_programs import FAMILIES, compile_sources

SMALL = 1000
# Arms, and what is skipped, nest: thousands may become a loop over a state, after both attempts.
NESTED = ["elif", "if-continue", "try-in-loop", "if-continue-in-with", "if-return-in-with",
          "try-as-return"]  # fmt: skip
# From some 4000 on the decompiler gives up on two of these shapes: linear before and after.
SHAPED = {**dict.fromkeys(SHAPES, 2000), "nested-tests": 5000, "wide-unpackings": 5000}
SHAPED["chained-jumps"] = 20000  # a jump takes next to no time
SMALL_OF = {**dict.fromkeys(NESTED, 400), "comparisons": 8000, **SHAPED}
MOST = 8.0
MOST_COUNTED = 5.0

# Compilers allow few levels: too few for a clock, and for more than what each of them adds.
NESTS = [("nest-if", []), ("nest-for", ["--verify"]), ("nest-lambda", [])]
MOST_NESTED = 4.8

# Compilers recurse into each `elif`: four times as many would be too many.
MOST_DOUBLED = 2.1

# Each block takes over the stack of those before it, up to a number beyond which code is refused.
SQUARE = "high-stacks"

# Those whose size may be anything, and that are linear so far.
ROWS = ["statements", "calls", "imports", "if", "if-else", "elif", "ternary", "and-value",
        "chain", "for", "while", "while-true", "loop-in-loop", "if-continue", "try-in-loop",
        "if-continue-in-with", "if-return-in-with", "try-as-return", "with", "with-return",
        "async-for", "async-with", "try-except", "try-bare", "while-pass", "try-except-as",
        "try-finally",
        "try-finally-return", "try-all", "except-clauses", "if-in-try", "operands-and",
        "operands-or", "comparisons", "unpack", "arguments", "dict-display", "comprehensions",
        "functions", "globals", "globals-nested"]  # fmt: skip

# The proof looks at what changed, not at all that is known.
VERIFIED = ["statements", "if-continue", "try-in-loop", "if-continue-in-with", "try-as-return",
            "if", "if-else", "for", "try-except", "own-statements", "own-if", "own-if-read",
            "own-for", "own-with", "own-try"]  # fmt: skip

# Peak memory, less that of an empty file, is the same each time: a copy of all that follows, made
# for each statement, takes 8 to 14 times as much. Up to 3.10 lines decide what an `else` was.
FILLED = 2000
MOST_FILLED = 6.0
JUMPS = ["if-raise", "if-return", "if-raise-then"]
OWN_NAMES = ["own-for", "own-with", "own-try"]  # as many names as blocks


def spent(command: Sequence[str]) -> float:
    """Return the processor time of a command."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("family", ROWS)
def test_four_times_the_program_takes_about_four_times_as_long(family: str, tmp_path: Path) -> None:
    compare_sizes(family, [], tmp_path)


@pytest.mark.parametrize("family", VERIFIED)
def test_the_proof_of_four_times_the_program_takes_about_as_much_longer(
    family: str, tmp_path: Path
) -> None:
    compare_sizes(family, ["--verify"], tmp_path)


# What is looked up for each function costs little beside the function, but not for long.
@pytest.mark.parametrize("family", ["functions", "functions-inside"])
def test_loops_over_a_state_take_four_times_as_long_for_four_times_as_many(
    family: str, tmp_path: Path
) -> None:
    compare_sizes(family, ["--unstructured"], tmp_path)


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize(("family", "options"), NESTS)
def test_four_times_the_depth_takes_about_four_times_as_many_instructions(
    family: str, options: Sequence[str], tmp_path: Path
) -> None:
    python = str(need("python3.11"))
    command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", *options]
    most = FAMILIES[family].sizes[-1]
    sources = {tmp_path / f"{n}.pyc": FAMILIES[family].source(n) for n in (most // 4, most)}
    sources[tmp_path / "empty.pyc"] = ""
    paths = compile_sources(python, sources)
    assert len(paths) == 3
    few, many, none = (instructions([*command, str(path)]) for path in paths)
    assert (many - none) / (few - none) <= MOST_NESTED


# As many type parameters are evaluated at once, each of them a name as well.
@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize("options", [[], ["--verify"]], ids=["plain", "verified"])
def test_four_times_the_type_parameters_take_about_four_times_as_many_instructions(
    options: Sequence[str], tmp_path: Path
) -> None:
    source = FAMILIES["type-parameters"].source
    sources = {tmp_path / f"{n}.pyc": source(n) for n in (1, 1000, 4000)}
    paths = compile_sources(str(need("python3.12")), sources)
    command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1", *options]
    none, few, many = (instructions([*command, str(path)]) for path in paths)
    assert (many - none) / (few - none) <= MOST_COUNTED


# Up to 3.13, what is captured is rotated to its place by as many swaps: their number is n² / 2.
@pytest.mark.usefixtures("valgrind")
def test_the_proof_of_twice_the_captures_takes_no_more_than_their_swaps_do(tmp_path: Path) -> None:
    source = FAMILIES["captures"].source
    sources = {tmp_path / f"{n}.pyc": source(n) for n in (1, 80, 160)}
    paths = compile_sources(str(need("python3.11")), sources)
    command = [str(need("native")), "decompile", "--verify", "--jobs", "1"]
    none, few, many = (instructions([*command, str(path)]) for path in paths)
    assert (many - none) / (few - none) <= MOST_COUNTED


@pytest.mark.usefixtures("valgrind")
@pytest.mark.parametrize("version", ["3.9", "3.11"])
def test_twice_the_arms_that_raise_take_about_twice_as_many_instructions(
    version: str, tmp_path: Path
) -> None:
    source = FAMILIES["elif-raise"].source
    sources = {tmp_path / f"{n}.pyc": source(n) for n in (0, 900, 1800)}
    paths = compile_sources(str(need(f"python{version}")), sources)
    assert len(paths) == 3
    command = [str(need("native")), "decompile", "--no-verify", "--jobs", "1"]
    none, few, many = (instructions([*command, str(path)]) for path in paths)
    assert (many - none) / (few - none) <= MOST_DOUBLED


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("version", ["3.9", "3.11"])
@pytest.mark.parametrize("family", JUMPS)
def test_four_times_the_program_takes_about_four_times_as_much_memory(
    family: str, version: str, tmp_path: Path
) -> None:
    compare_memory(family, version, ["--no-verify"], tmp_path)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("family", OWN_NAMES)
def test_the_proof_of_four_times_the_names_takes_about_four_times_as_much_memory(
    family: str, tmp_path: Path
) -> None:
    compare_memory(family, "3.13", ["--verify"], tmp_path)


@pytest.mark.usefixtures("valgrind")
def test_four_times_the_statements_take_about_four_times_as_many_instructions_to_link() -> None:
    links = str(Path(need("native")).with_name("pellucid_web_links"))
    none, few, many = (instructions([links, str(n)]) for n in (0, 1000, 4000))
    assert (many - none) / (few - none) <= MOST_COUNTED


@pytest.mark.parametrize("options", [[], ["--verify"]], ids=["plain", "verified"])
@pytest.mark.parametrize("shape", sorted(set(SHAPES) - {SQUARE}))
def test_four_times_what_no_compiler_makes_takes_about_four_times_as_long(
    shape: str, options: Sequence[str], tmp_path: Path
) -> None:
    few = SMALL_OF[shape]
    sizes = {tmp_path / f"{n}.pyc": n for n in (few, 4 * few)}
    assemble(str(need("python3.8")), shape, sizes)
    compare_times(shape, [*options, "--jobs", "1"], *sizes)


# A crash leaves no peak to be read, and memory that grows with the square would be gigabytes.
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("shape", SHAPES)
def test_what_no_compiler_makes_has_no_size_that_breaks_the_decompiler(
    shape: str, tmp_path: Path
) -> None:
    path = tmp_path / "large.pyc"
    assemble(str(need("python3.8")), shape, {path: 20000})
    for tier in ("--no-verify", "--verify"):
        command = [str(need("native")), "decompile", "--jobs", "1", tier]
        used = peak(command, str(path), tmp_path)
        assert used is not None and used < 512 * 1024


@pytest.mark.parametrize("family", [name for name in FAMILIES if FAMILIES[name].since <= 11])
def test_the_largest_of_a_family_is_proven(family: str, tmp_path: Path) -> None:
    python = str(need("python3.11"))
    path = tmp_path / "largest.pyc"
    most = max(size for size in FAMILIES[family].sizes if size <= 2000)
    assert compile_sources(python, {path: FAMILIES[family].source(most)}) == [path]
    command = [str(need("native")), "decompile", "--verify", "-o", str(tmp_path), str(path)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def compare_memory(family: str, version: str, options: Sequence[str], tmp_path: Path) -> None:
    source = FAMILIES[family].source
    sources = {tmp_path / f"{n}.pyc": source(n) for n in (FILLED, 4 * FILLED)}
    sources[tmp_path / "empty.pyc"] = ""
    paths = compile_sources(str(need(f"python{version}")), sources)
    assert len(paths) == 3
    command = [str(need("native")), "decompile", *options, "--jobs", "1"]
    few, many, none = (peak(command, str(path), tmp_path) or 0 for path in paths)
    assert (many - none) / max(few - none, 1) <= MOST_FILLED


def compare_sizes(family: str, options: Sequence[str], tmp_path: Path) -> None:
    python = str(need("python3.11"))
    few = SMALL_OF.get(family, SMALL)
    source = FAMILIES[family].source
    sources = {tmp_path / f"{n}.pyc": source(n) for n in (few, 4 * few)}
    assert compile_sources(python, sources) == list(sources)
    compare_times(family, options, *sources)


def compare_times(name: str, options: Sequence[str], small: Path, large: Path) -> None:
    """Fail if a file takes much more than four times what one of a quarter of its size takes."""
    command = [str(need("native")), "decompile", "--no-verify", *options]
    ratio = 0.0
    # One look is mostly enough.
    for times in (1, 3, 3):
        few = min(spent([*command, *[str(small)] * 4]) for _ in range(times)) / 4
        many = min(spent([*command, str(large)]) for _ in range(times))
        ratio = many / max(few, 1e-3)
        if ratio <= MOST:
            return
    if shutil.which("valgrind"):
        fewer, more = (instructions([*command, str(path)]) for path in (small, large))
        ratio = more / fewer
        if ratio <= MOST_COUNTED:
            return
    pytest.fail(f"{name}: {ratio:.1f} times as long")
