"""The C++ library as a program outside of this tree sees it: an install tree and two headers."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator, Tuple

import pytest
from commands import run
from needs import ROOT, missing, need

_TREE = ROOT / "build" / "make"
_HEADERS = ("pellucid.h", "result.h")
# Written anew where UPDATE_GOLDEN is set.
_NAMES = ROOT / "tests" / "python" / "library_names.txt"


def _cmake() -> str:
    """The cmake that made the build tree."""
    cache = _TREE / "CMakeCache.txt"
    if not cache.exists():
        missing("the core in build/make")
    found = re.search(r"^CMAKE_COMMAND:INTERNAL=(.*)$", cache.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library, installed as its users do it."""
    cmake, prefix = _cmake(), tmp_path_factory.mktemp("library")
    for command in (
        ("--build", _TREE, "--target", "libpellucid", "-j", "2"),
        ("--install", _TREE, "--component", "library", "--prefix", prefix),
    ):
        done = run(cmake, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return prefix


@pytest.fixture(scope="module")
def example(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built with nothing of this tree but its own folder."""
    cmake, build = _cmake(), tmp_path_factory.mktemp("example")
    source = ROOT / "examples" / "library"
    for command in (
        ("-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={installed}"),
        ("--build", build),
    ):
        done = run(cmake, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    return build / "decompile"


def test_nothing_but_the_public_headers_and_the_archive_is_installed(installed: Path) -> None:
    found = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    headers = {path for path in found if path.suffix == ".h"}
    assert headers == {Path("include", "pellucid", name) for name in _HEADERS}
    others = {path.name for path in found - headers}
    assert {"libpellucid.a", "pellucid-config.cmake", "pellucid-config-version.cmake"} <= others
    for header in headers:
        included = set(re.findall(r'#include "([^"]+)"', (installed / header).read_text()))
        assert included <= {f"pellucid/{name}" for name in _HEADERS}, header


@pytest.mark.parametrize("version", [(3, 8), (3, 11), (3, 14)])
def test_the_example_says_what_the_binary_says(
    example: Path, tmp_path: Path, version: Tuple[int, int]
) -> None:
    python = need(f"python{version[0]}.{version[1]}")
    (tmp_path / "a.py").write_text(
        "def f(a):\n    try:\n        return a[0]\n    except E:\n        pass\n"
    )
    subprocess.run(
        [str(python), "-c", "import py_compile; py_compile.compile('a.py', 'a.pyc')"],
        cwd=tmp_path,
        check=True,
    )
    own = run(example, tmp_path / "a.pyc")
    assert own.returncode == 0, own.stderr
    assert own.stdout == run(need("native"), "decompile", tmp_path / "a.pyc").stdout
    expected = f"CPython {version[0]}.{version[1]}\n<module>: equivalent\n<module>/f: equivalent\n"
    assert own.stderr == expected


def test_the_example_says_what_is_wrong_with_its_input(example: Path, tmp_path: Path) -> None:
    (tmp_path / "a.pyc").write_bytes(b"no code\n" * 8)
    own = run(example, tmp_path / "a.pyc")
    assert (own.returncode, own.stdout) == (1, "")
    assert own.stderr.startswith("decompile: ") and own.stderr.count("\n") == 1


def _declared(header: str) -> Iterator[str]:
    """Yield the types and enumerators that a header declares, with the fields of each."""
    text = re.sub(r"//.*", "", (ROOT / "include" / "pellucid" / header).read_text())
    for kind, name, body in re.findall(
        r"^(struct|class(?: \[\[nodiscard\]\])?|enum class) (\w+)(?: : \w+)? \{(.*?)^\}",
        text,
        re.MULTILINE | re.DOTALL,
    ):
        public = body.split(" private:")[0]
        yield f"{kind.split()[0]} {name}: {' '.join(public.split())}"
    yield from sorted(re.findall(r"#define (\w+)", text))


def _exported(archive: Path) -> Iterator[str]:
    """Yield the functions of the library that a program can link to."""
    done = run("nm", "--demangle", "--defined-only", "--extern-only", archive)
    assert done.returncode == 0, done.stderr
    headers = "".join((ROOT / "include" / "pellucid" / name).read_text() for name in _HEADERS)
    for line in sorted(set(done.stdout.replace("[abi:cxx11]", "").splitlines())):
        found = re.match(r"\w+ T pellucid::((?:\w+::)?(\w+))\(", line)
        if found is not None and re.search(rf"\b{found[2]}\(", headers):
            outer = found[1].split("::")[0]
            if outer == found[2] or re.search(rf"\bclass {outer}\b", headers):
                yield found[1]


def names(archive: Path) -> str:
    """Return everything that a program can use of the library, a line each."""
    declared = [line for header in _HEADERS for line in _declared(header)]
    return "\n".join([*declared, *sorted({f"{name}()" for name in _exported(archive)}), ""])


@pytest.mark.skipif(sys.platform != "linux", reason="names are mangled otherwise elsewhere")
def test_what_a_program_can_use_is_what_it_was(installed: Path) -> None:
    (archive,) = installed.rglob("libpellucid.a")
    found = names(archive)
    if os.environ.get("UPDATE_GOLDEN"):
        _NAMES.write_text(found)
    assert found == _NAMES.read_text(), (
        "the interface has changed: if that is meant, run this test with UPDATE_GOLDEN=1"
    )
