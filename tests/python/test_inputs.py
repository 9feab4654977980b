"""Inputs are known by their bytes: headers that are wrong or missing, containers of every kind."""

import importlib.util
import json
import marshal
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from archives import KINDS, code_only, container, program, pyz, small_pyc, zipped
from case_pycs import pycs_of
from commands import run
from needs import ROOT, VERSIONS, missing, need
from pellucid import DecompileError, decompile_pyc
from pellucid.decompilation import prove_pyc
from pellucid.result import Decompilation

FINAL = {
    "3.8": 3413,
    "3.9": 3425,
    "3.10": 3439,
    "3.11": 3495,
    "3.12": 3531,
    "3.13": 3571,
    "3.14": 3627,
    "3.15": 3666,
}


def pair(version: str) -> "tuple[int, int]":
    return 3, int(version.split(".")[1])


def samples(version: str) -> "List[bytes]":
    """Return the largest case files of a version: small ones fit others as well."""
    return sorted(pycs_of(version).values(), key=len)[:-21:-1]


def is_right(found: Decompilation, version: str) -> bool:
    """Return true if the version was found, or one for which it says that both fit."""
    return found.version == pair(version) or any(
        f"though {version} would fit as well" in note for note in found.notes
    )


# --- headers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_is_found_without_a_header(version: str) -> None:
    for data in samples(version):
        found = decompile_pyc(data[16:])
        assert is_right(found, version), found.notes
        assert found.notes[0].startswith("no header; read as CPython 3.")
        assert found.source == decompile_pyc(data).source


@pytest.mark.parametrize("version", ["3.8", "3.9"])
def test_the_lines_of_a_comprehension_tell_3_8_and_3_9_apart(version: str) -> None:
    data = pycs_of(version)["comprehensions/comprehensions_of_every_kind"]
    assert decompile_pyc(data[16:]).version == pair(version)


HEADERS: "Dict[str, Any]" = {
    "zeros": lambda data: bytes(16) + data[16:],
    "twelve zeros": lambda data: bytes(12) + data[16:],
    "four zeros": lambda data: bytes(4) + data[16:],
    "a magic number alone": lambda data: data[:4] + data[16:],
    "the header of 3.6": lambda data: data[:12] + data[16:],
    "an unknown magic number": lambda data: struct.pack("<H", 3496) + data[2:],
    "flags that nobody knows": lambda data: data[:4] + b"\xff" * 12 + data[16:],
    "another version": lambda data: (
        struct.pack("<H", 3531 if data[:2] != struct.pack("<H", 3531) else 3495) + data[2:]
    ),
}


@pytest.mark.parametrize("what", HEADERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_header_of(what: str, version: str) -> None:
    data = samples(version)[0]
    found, verdict = prove_pyc(HEADERS[what](data), "relowered")
    assert is_right(found, version), found.notes
    assert found.source == decompile_pyc(data).source
    assert found.notes, "it is said"
    assert verdict.status == prove_pyc(data, "relowered")[1].status


def test_a_good_header_needs_no_word() -> None:
    for version in VERSIONS:
        for data in samples(version):
            assert decompile_pyc(data).notes == ()


def test_a_magic_number_of_another_format_is_never_proven() -> None:
    data = samples("3.13")[0]
    found, verdict = prove_pyc(struct.pack("<H", 3568) + data[2:], "relowered")
    assert verdict.status == "unproven"
    assert "pre-release of CPython 3.13" in verdict.reason
    wanted, verdict = prove_pyc(struct.pack("<H", 3568) + data[2:], "relowered", version=(3, 13))
    assert wanted.source == found.source
    assert verdict.status == "equivalent"


def test_pre_releases_of_the_same_format_are_read_with_a_note() -> None:
    data = samples("3.14")[0]
    found = decompile_pyc(struct.pack("<H", 3625) + data[2:])
    assert found.version == (3, 14)
    assert any("pre-release" in note for note in found.notes)


def test_what_fits_two_versions_that_differ_is_unproven() -> None:
    # 3.12 and later have an opcode for it, 3.8 to 3.10 lay code objects out otherwise: what 3.8 and
    # 3.9 both run is the same program, and may be proven.
    code = samples("3.9")[0]
    marshalled = code[16:]
    found, verdict = prove_pyc(marshalled, "relowered")
    assert verdict.status in ("equivalent", "unproven")
    if found.version != (3, 9):
        assert found.source == decompile_pyc(code).source


def test_the_user_decides() -> None:
    data = samples("3.11")[0]
    assert decompile_pyc(data[16:], version=(3, 11)).version == (3, 11)
    with pytest.raises(DecompileError):
        decompile_pyc(data[16:], version=(3, 9))


@pytest.mark.parametrize("native", [True, False])
def test_the_command_line_says_the_version(native: bool, tmp_path: Path) -> None:
    path = tmp_path / "dumped"
    path.write_bytes(samples("3.12")[0][16:])
    program = [str(need("native"))] if native else [sys.executable, "-m", "pellucid"]
    done = run(*program, "decompile", path, "--verify=relowered")
    assert done.returncode == 0, done.stderr
    assert "no header; read as CPython 3.12, the version that fits" in done.stderr
    done = run(*program, "decompile", path, "--python-version", "3.12", "--json")
    assert json.loads(done.stdout)["python"] == "3.12"
    assert run(*program, "decompile", path, "--python-version=3.7").returncode == 2


# --- roots that are no module ------------------------------------------------------------------

ROOTS = """
def plain(a, b=2, *c, d, e=5, **f):
    "doc"
    return [a, b, c, d, e, f]
def outer(y):
    def inner(x):
        return x + y
    def again(n):
        return again(n - 1) if n else y
    class Local:
        z = y
        def m(self):
            return super().m() + self.__private
    return inner, again, Local, (lambda q: q + y), comprehensions(y)
def comprehensions(y):
    return [i * y for i in y], {i for i in y}, {i: y for i in y}
class C:
    "class doc"
    attr = 1
    class D(object):
        def deep(self):
            return super().deep()
        x: int = 3
    def method(self, v: int) -> str:
        self.v = v
        return super().method()
    @property
    def p(self):
        return self._p
async def co(x):
    async with x as y:
        await y
    return [i async for i in x]
async def agen(x):
    async for i in x:
        yield i
    g = (j async for j in x)
def gen(n):
    for i in range(n):
        yield from (k for k in gen(i) if k)
k = lambda *a, **b: (a, b)
"""

_WALK = """
import marshal, sys, types
def walk(code):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from walk(const)
root = compile(sys.stdin.read(), "roots.py", "exec", dont_inherit=True)
found = [(code.co_name, marshal.dumps(code)) for code in walk(root)]
sys.stdout.buffer.write(marshal.dumps(found, 2))
"""


def roots(version: str) -> "List[tuple[str, bytes]]":
    done = subprocess.run(
        [str(need(f"python{version}")), "-c", _WALK],
        input=ROOTS.encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    return list(marshal.loads(done.stdout))


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_root_is_proven_as_what_it_is(version: str) -> None:
    for name, data in roots(version):
        if name == "__annotate__":
            continue  # of a method: it has a flag that only its class gives it
        for tier in ("relowered", "recompiled"):
            found, verdict = prove_pyc(data, tier)
            assert verdict.at_least("equivalent"), (name, tier, str(verdict), found.source)
        assert any("the code is that of the" in note for note in found.notes)
        words = {"<lambda>": "lambda ", "<listcomp>": " for ", "<genexpr>": " for "}
        assert words.get(name, name.strip("<>") if name[0] != "<" else "for") in found.source


def test_a_header_does_not_make_a_module_of_a_function() -> None:
    def area(w: int, h: int) -> int:
        return w * h

    header = importlib.util.MAGIC_NUMBER + bytes(12)
    found = decompile_pyc(header + marshal.dumps(area.__code__))
    assert "def area(w, h):" in found.source
    assert found.verdict.at_least("equivalent"), str(found.verdict)


# --- containers --------------------------------------------------------------------------------


@pytest.fixture(params=["python", "native"])
def command(request: pytest.FixtureRequest) -> "List[str]":
    if request.param == "python":
        return [sys.executable, "-m", "pellucid"]
    return [str(need("native"))]


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("name", ["thing.jar", "thing", "thing.pyc"])
def test_a_container_is_known_by_its_bytes(
    what: str, name: str, command: "List[str]", tmp_path: Path
) -> None:
    data, places = container(what)
    (tmp_path / name).write_bytes(data)
    done = run(*command, "decompile", tmp_path / name, "-o", tmp_path / "out", "--verify")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    found = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert found == places
    assert all("os.sep + x" in (out / place).read_text() for place in places)


def test_a_folder_shows_what_its_files_are(command: "List[str]", tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "main").write_bytes(small_pyc())
    (folder / "dumped.bin").write_bytes(code_only())
    (folder / "app").write_bytes(container("a program")[0])
    (folder / "readme").write_text("class of text\n")
    done = run(*command, "decompile", folder, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    found = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert found == sorted(
        ["main.py", "dumped.py", *("app/" + place for place in container("a program")[1])]
    )


def test_what_pyinstaller_encrypted_is_named(command: "List[str]", tmp_path: Path) -> None:
    archive = bytearray(pyz(code_only()))
    archive[17:40] = bytes(range(100, 123))
    entries = [
        ("pyimod00_crypto_key", b"m", small_pyc(), True),
        ("PYZ-00.pyz", b"z", bytes(archive), False),
    ]
    path = tmp_path / "app"
    path.write_bytes(program(entries))
    done = run(*command, "decompile", path, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "app/PYZ-00.pyz/pkg/__init__.pyc: encrypted by PyInstaller" in done.stderr
    assert (tmp_path / "out" / "other.py").exists()


def damaged() -> "Iterator[bytes]":
    for what in ("a pyz", "a program", "a zip", "a large zip"):
        data = container(what)[0]
        for at in range(0, len(data), max(1, len(data) // 40)):
            changed = bytearray(data)
            changed[at] ^= 0xFF
            yield bytes(changed)
            yield data[:at]


def test_damaged_containers_are_errors(command: "List[str]", tmp_path: Path) -> None:
    paths = []
    for number, data in enumerate(damaged()):
        paths.append(tmp_path / f"d{number}")
        paths[-1].write_bytes(data)
    done = run(*command, "decompile", *paths, "--json")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    for line in done.stdout.splitlines():
        assert not (json.loads(line)["error"] or "").startswith("internal"), line


def test_a_zip_bomb_is_refused(command: "List[str]", tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big.pyc", bytes(257 << 20))
    done = run(*command, "decompile", path)
    assert done.returncode == 1
    assert "larger than 256 MiB" in done.stderr


def test_archives_nest_no_deeper_than_four(command: "List[str]", tmp_path: Path) -> None:
    data = zipped({"a.pyc": small_pyc()})
    for level in range(6):
        data = zipped({f"in{level}.zip": data, f"at{level}.pyc": small_pyc()})
    path = tmp_path / "deep.zip"
    path.write_bytes(data)
    done = run(*command, "decompile", path, "--json")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 5


# --- files that are code and an archive --------------------------------------------------------


def holding(constant: bytes) -> bytes:
    """Return marshalled code, without a header, that has a constant."""
    return marshal.dumps(compile(f"import os\nDATA = {constant!r}\n", "held.py", "exec"))


def names_of(data: bytes, command: "List[str]", tmp_path: Path) -> "List[str]":
    """Return the names of the code that is found in a file, without the file's."""
    path = tmp_path / "given"
    path.write_bytes(data)
    done = run(*command, "decompile", path, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["file"][len(str(path)) :] for line in done.stdout.splitlines()]


def test_code_with_the_signature_of_a_zip_is_code(command: "List[str]", tmp_path: Path) -> None:
    for constant in (b"PK\5\6" + bytes(18), b"PK\5\6", b"MEI\014\013\012\013\016" + bytes(80)):
        assert names_of(holding(constant), command, tmp_path) == [""]
        assert names_of(small_pyc()[:16] + holding(constant), command, tmp_path) == [""]


def test_code_comes_before_the_archive_in_it_or_after_it(
    command: "List[str]", tmp_path: Path
) -> None:
    archive = zipped({"a.pyc": small_pyc()})
    for data in (holding(archive), small_pyc() + archive):
        assert names_of(data, command, tmp_path) == ["", "/a.pyc"]
    nested = zipped({"data": holding(archive), "mod.pyc": small_pyc()})
    assert names_of(nested, command, tmp_path) == ["/data", "/data/a.pyc", "/mod.pyc"]


def test_code_of_an_old_format_of_marshal_is_found(command: "List[str]", tmp_path: Path) -> None:
    code = marshal.dumps(marshal.loads(code_only()), 2)  # it begins with 0x63, not with 0xe3
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "dumped").write_bytes(code)
    (tmp_path / "folder" / "notes").write_text("class of text, which begins like code\n")
    done = run(*command, "decompile", tmp_path / "folder", "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert names_of(zipped({"dumped": code}), command, tmp_path) == ["/dumped"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_of_a_zip_is_unpacked_by_python(method: int, tmp_path: Path) -> None:
    path = tmp_path / "packed.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.pyc", small_pyc())
        archive.writestr("bare", code_only())
        archive.writestr("inner.zip", zipped({"b.pyc": small_pyc()}))
    done = run(sys.executable, "-m", "pellucid", "decompile", path, "--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    done = run(need("native"), "decompile", path)
    assert done.returncode == 1
    assert "which this program cannot unpack" in done.stderr


# --- what PyInstaller makes --------------------------------------------------------------------


def pyinstaller(version: str) -> "List[str]":
    """Return the command that runs PyInstaller under a version of Python."""
    hosts = [Path(sys.executable)] if version == "{}.{}".format(*sys.version_info) else []
    hosts.append(ROOT / "build" / "hosts" / version / "bin" / "python")
    for host in hosts:
        command = [str(host), "-m", "PyInstaller"]
        if host.exists() and run(*command, "--version").returncode == 0:
            return command
    missing(f"PyInstaller on Python {version}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "mode"),
    [
        ("3.11", "onedir"),
        ("3.13", "onefile"),
        pytest.param("3.11", "onefile", marks=pytest.mark.thorough),
        pytest.param("3.13", "onedir", marks=pytest.mark.thorough),
    ],
)
def test_a_real_program_is_proven(version: str, mode: str, tmp_path: Path) -> None:
    made = pyinstaller(version)
    package = tmp_path / "src" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("NAME = 'pkg'\n")
    (package / "helper.py").write_text("from . import NAME\n\ndef greet(n):\n    return NAME + n\n")
    entry = tmp_path / "src" / "main.py"
    entry.write_text("import json, sys\nfrom pkg import helper\nprint(helper.greet(sys.argv[0]))\n")
    options = ["--log-level", "ERROR", f"--{mode}", "--name", "app"]
    for option in ("dist", "work", "spec"):
        options += [f"--{option}path", str(tmp_path / option)]
    done = run(*made, *options, entry)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "dist" / "app"
    for command in ([sys.executable, "-m", "pellucid"], [str(need("native"))]):
        given = path if mode == "onefile" else path / "app"
        done = run(*command, "decompile", given, "--verify", "--json")
        assert done.returncode == 0, done.stderr
        files = {}
        for line in done.stdout.splitlines():
            said = json.loads(line)
            assert said["verdict"] in ("identical", "equivalent"), said
            files[said["file"][len(str(given)) + 1 :]] = said["source"]
        assert "helper.greet(sys.argv[0])" in files["main"]
        assert "return NAME + n" in files["PYZ.pyz/pkg/helper.pyc"]
        assert {"PYZ.pyz/pkg/__init__.pyc", "PYZ.pyz/json/decoder.pyc"} <= set(files)
