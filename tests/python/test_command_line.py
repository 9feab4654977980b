"""The command line: what it prints where, what it writes, and its exit code."""

import importlib.util
import json
import marshal
import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, List

import pytest
from case_pycs import unpack
from commands import PELLUCID, run
from needs import ROOT, need
from pellucid.__main__ import make_parser
from pellucid.command_parser import GROUPS

SOURCE = "import os\n\ndef f(x):\n    return os.path.join(x, 'y')\n"


def ask(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return run(*PELLUCID, *arguments)


@pytest.fixture
def pyc(tmp_path: Path) -> Path:
    path = tmp_path / "tree" / "deep" / "small.pyc"
    path.parent.mkdir(parents=True)
    code = compile(SOURCE, "small.py", "exec", dont_inherit=True)
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    return path


def test_the_source_goes_to_standard_output(pyc: Path) -> None:
    done = ask("decompile", pyc)
    assert (done.returncode, done.stderr) == (0, "")
    assert "return os.path.join(x, 'y')" in done.stdout


def test_verify_says_the_verdict(pyc: Path) -> None:
    done = ask("decompile", pyc, "--verify")
    assert done.returncode == 0, done.stderr
    assert done.stderr in (f"pellucid: {pyc}: identical\n", f"pellucid: {pyc}: equivalent\n")


def test_a_folder_is_mirrored(pyc: Path, tmp_path: Path) -> None:
    done = ask("decompile", tmp_path / "tree", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "def f(x):" in (tmp_path / "out" / "deep" / "small.py").read_text()
    assert [p.name for p in (tmp_path / "out" / "deep").iterdir()] == ["small.py"]


def test_quiet_prints_what_is_wrong_and_no_summary(pyc: Path, tmp_path: Path) -> None:
    pyc.with_name("bad.pyc").write_bytes(b"")
    for arguments in (["-q", "decompile"], ["decompile", "--quiet"]):
        done = ask(*arguments, tmp_path / "tree", "-o", tmp_path / "out")
        assert done.returncode == 1 and done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"pellucid: {pyc.with_name('bad.pyc')}: ")


def test_a_bad_file_among_good_ones_costs_only_itself(pyc: Path, tmp_path: Path) -> None:
    bad = pyc.with_name("bad.pyc")
    bad.write_bytes(b"")
    done = ask("decompile", tmp_path / "tree", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.count("pellucid: ") == 1
    assert str(bad) in done.stderr.splitlines()[0]
    assert (tmp_path / "out" / "deep" / "small.py").exists()


def test_json_has_a_line_a_file(pyc: Path) -> None:
    done = ask("decompile", pyc, "--json", "--verify")
    (line,) = done.stdout.splitlines()
    said = json.loads(line)
    assert said["file"] == str(pyc)
    assert said["error"] is None
    assert said["verdict"] in ("identical", "equivalent")
    assert "def f(x):" in said["source"]


def test_dis_shows_blocks(pyc: Path) -> None:
    done = ask("dis", pyc)
    assert done.returncode == 0, done.stderr
    assert "os" in done.stdout


def test_a_reader_that_leaves_early_causes_no_traceback(pyc: Path) -> None:
    script = f"{sys.executable} -m pellucid dis {' '.join([str(pyc)] * 50)} | head -1"
    done = subprocess.run(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False
    )
    assert b"Traceback" not in done.stderr


def test_wrong_usage_is_status_two() -> None:
    assert ask("nonsense").returncode == 2
    assert ask().returncode == 2
    assert subprocess.call(PELLUCID, stderr=subprocess.DEVNULL) == 2, "as a process too"


def test_the_overview_lists_each_command_once_below_its_heading() -> None:
    parser = make_parser()
    (below,) = parser._subparsers._group_actions  # type: ignore[union-attr]
    rows = [line for line in ask("--help").stdout.splitlines() if re.match(r" {4}[a-z]", line)]
    assert sorted(line.split()[0] for line in rows) == sorted(below.choices)  # type: ignore
    assert all(len(line) <= 90 for line in rows), "one line each"
    assert set(sum(GROUPS.values(), ())) <= set(below.choices)  # type: ignore


def test_run_without_a_script_shows_its_usage() -> None:
    done = ask("run")
    assert (done.returncode, done.stdout) == (2, "")
    usage, _, error = done.stderr.splitlines()
    assert usage.startswith("usage: pellucid run ")
    assert error == "pellucid run: error: the following arguments are required: SCRIPT"


@pytest.mark.skipif(bool(os.environ.get("PELLUCID_HOST")), reason="runs in the main environment")
def test_a_capture_needs_a_directory_that_can_be_made(tmp_path: Path) -> None:
    need("torch")
    script = tmp_path / "script.py"
    script.write_text("print('runs')\n")
    done = ask("run", "--out", script, script)
    said = f"pellucid: run: --out {script} cannot be created: file exists. Pass a different "
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith(said)


def test_what_is_no_capture_is_said_with_what_to_pass(tmp_path: Path) -> None:
    for directory in (tmp_path, Path(__file__)):
        for command in (("explain",), ("report",), ("diff", directory)):
            done = ask(*command, directory)
            assert done.returncode and done.stderr.count("\n") == 1
            assert done.stderr.endswith("Pass the directory given to --out\n")


def test_what_is_misspelled_is_suggested() -> None:
    for given, said in (
        (["decompil"], "pellucid: error: unknown command: decompil. Did you mean decompile?"),
        (["xyz"], "pellucid: error: unknown command: xyz"),
        (["dis", "x", "--colour=never"], "dis: error: unknown argument: --colour. Did you mean "),
        (["decompile", "x", "--verify=stric"], "Did you mean --verify=strict?"),
        (["decompile", "x", "--force=1"], "unknown argument: --force=1. Did you mean --force?"),
        (["--quit"], "pellucid: error: unknown argument: --quit. Did you mean --quiet?"),
        (["help", "explan"], "help: error: unknown command: explan. Did you mean explain?"),
    ):
        done = ask(*given)
        usage, error = done.stderr.splitlines()[0], done.stderr.splitlines()[-1]
        assert (done.returncode, said in error) == (2, True), error
        name = given[0] if len(given) > 1 else "[-h]"
        assert usage.startswith(f"usage: pellucid {name}")


def test_help_is_a_command_and_what_nothing_is_answered_with() -> None:
    overview = ask("--help").stdout
    assert ask("help").stdout == overview and "decompile" in overview
    bare = ask()
    assert (bare.returncode, bare.stdout, bare.stderr) == (2, "", overview)
    assert ask("help", "dis").stdout == ask("dis", "--help").stdout != overview


def test_colours_are_chosen_by_option_and_environment(pyc: Path) -> None:
    def shown(*options: str, **environment: str) -> bool:
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        command = [*PELLUCID, *options, "decompile", str(pyc)]
        done = subprocess.run(command, stdout=subprocess.PIPE, env={**kept, **environment})
        return b"\x1b[" in done.stdout

    assert not shown() and shown("--color=always") and shown(FORCE_COLOR="1")
    assert shown("--color=always", NO_COLOR="1") and not shown("--color=never", FORCE_COLOR="1")
    assert not shown(FORCE_COLOR="1", NO_COLOR="1")


def test_the_version_is_said() -> None:
    import pellucid

    assert ask("--version").stdout == f"pellucid {pellucid.__version__}\n"


def test_nothing_of_a_pyc_is_executed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    code = compile(f"open({os.fspath(trace)!r}, 'w')", "evil.py", "exec")
    path = tmp_path / "evil.pyc"
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    assert ask("decompile", path, "--verify").returncode == 0
    assert not trace.exists()


# --- folders, archives, and where things go; the native binary does the same ------------------


@pytest.fixture(params=["python", "native"])
def command(request: pytest.FixtureRequest) -> "List[str]":
    if request.param == "python":
        return PELLUCID
    if os.environ.get("PELLUCID_HOST"):
        pytest.skip("the native binary is the same for every Python")
    return [str(need("native"))]


def files_below(folder: Path) -> "List[str]":
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def package(pyc: Path, tmp_path: Path) -> Path:
    """A folder with the files that a user meets."""
    folder = tmp_path / "package"
    data = pyc.read_bytes()
    for name in [
        "top.pyc",
        "sub/__pycache__/alone.cpython-311.pyc",
        "sub/__pycache__/twice.cpython-38.pyc",
        "sub/__pycache__/twice.cpython-39.opt-1.pyc",
        "readme.txt",
    ]:
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"Read me first.\n" if name == "readme.txt" else data)
    return folder


PLACES = [
    "sub/alone.py",
    "sub/twice.cpython-38.py",
    "sub/twice.cpython-39.opt-1.py",
    "top.py",
]


def test_sources_go_beside_pycache_without_their_tags(
    command: "List[str]", package: Path, tmp_path: Path
) -> None:
    done = run(*command, "decompile", package, "-o", tmp_path / "out", "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert files_below(tmp_path / "out") == PLACES
    assert "def f(x):" in (tmp_path / "out" / "sub" / "alone.py").read_text()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_is_mirrored(
    command: "List[str]", package: Path, tmp_path: Path, method: int
) -> None:
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w", method) as archive:
        for path in sorted(package.rglob("*.pyc")):
            archive.write(path, path.relative_to(package))
        archive.write(package / "top.pyc", "../../outside.pyc")
    done = run(*command, "decompile", wheel, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files_below(tmp_path / "out") == sorted([*PLACES, "outside.py"])


def test_several_folders_keep_apart(command: "List[str]", package: Path, tmp_path: Path) -> None:
    other = package.with_name("other")
    package.rename(other)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "top.pyc").write_bytes((other / "top.pyc").read_bytes())
    done = run(*command, "decompile", other, package, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files_below(tmp_path / "out") == sorted(
        [*(f"other/{p}" for p in PLACES), "package/top.py"]
    )


def test_files_of_one_name_do_not_overwrite_each_other(
    command: "List[str]", pyc: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again" / pyc.name
    again.parent.mkdir()
    again.write_bytes(pyc.read_bytes())
    done = run(*command, "decompile", pyc, again, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert files_below(tmp_path / "out") == ["small.py", "small~2.py"]


def test_a_damaged_archive_is_one_error(
    command: "List[str]", package: Path, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(package / "top.pyc", "a.pyc")
        archive.write(package / "top.pyc", "b.pyc")
    data = bytearray(good.read_bytes())
    data[60] ^= 0xFF  # inside what a.pyc was packed into
    bad.write_bytes(data)
    done = run(*command, "decompile", bad, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith(f"pellucid: {bad}/a.pyc: ")
    assert done.stderr.count("pellucid: ") == 1
    assert files_below(tmp_path / "out") == ["b.py"]
    bad.write_bytes(good.read_bytes()[:-30])
    done = run(*command, "decompile", bad)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


def test_inputs_that_hold_nothing_are_named(command: "List[str]", tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(*command, "decompile", empty, tmp_path / "absent.pyc")
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith(f"pellucid: {empty}: no compiled Python in it")
    assert second.startswith(f"pellucid: {tmp_path / 'absent.pyc'}: no such file or directory")


def test_source_is_told_from_compiled_code(command: "List[str]", tmp_path: Path) -> None:
    # In the second a "c" stands where marshalled code would begin with one.
    for number, text in enumerate(("x = 1\n", "import sys\nfrom collections import abc\n")):
        source = tmp_path / f"m{number}.py"
        source.write_text(text)
        done = run(*command, "decompile", source)
        assert done.returncode == 1
        reason = "not compiled Python (from byte 0x0 on, this is a text file)"
        assert done.stderr == f"pellucid: {source}: {reason}\n"


CARVE = ". To search it for code, pass --carve"
AGAIN = ". Get the file again, as binary data"
PYC = b"\xcb\r\r\n" + bytes(12) + b"\xe3" + bytes(30)


def test_other_files_are_named_for_what_they_are(command: "List[str]", tmp_path: Path) -> None:
    for data, kind, advice in (
        (b"\x7fELF\x02\x01\x01", "an ELF program or library", CARVE),
        (b"MZ\x90\0", "a Windows program or library", CARVE),
        (bytes(257) + b"ustar\0", "a tar archive", ". Unpack it first"),
        (b"M\x06\0\x1fg.", "bytecode of MicroPython", ". MicroPython's own mpy-tool.py shows it"),
        (PYC.replace(b"\n", b"\r\n"), "a .pyc whose line feeds became CR LF", AGAIN),
        (PYC.replace(b"\r\n", b"\n"), "a .pyc whose CR LF became line feeds", AGAIN),
        (
            PYC.decode("latin-1").encode(),
            "a .pyc that was saved as text in UTF-8",
            ". If nothing was lost, decode it as UTF-8 and encode it as Latin-1",
        ),
        (marshal.dumps([1, "two"]), "marshalled data that is not a code object", CARVE),
    ):
        path = tmp_path / "given"
        path.write_bytes(data.ljust(400, b"\0"))
        done = run(*command, "decompile", path)
        reason = f"not compiled Python (from byte 0x0 on, this is {kind}){advice}"
        assert (done.returncode, done.stderr) == (1, f"pellucid: {path}: {reason}\n")
    path.write_bytes(b"7c" * 200)
    assert "a text of hexadecimal digits). Convert" in run(*command, "decompile", path).stderr
    path.write_bytes(b"4wAAAA+/" * 50)
    assert "a text in base 64). Decode" in run(*command, "decompile", path).stderr
    path.write_bytes(bytes(range(1, 60)) * 9)
    assert "no kind of file that pellucid knows" in run(*command, "decompile", path).stderr


def test_bytecode_of_pypy_is_named_and_read_if_asked_for(
    command: "List[str]", pyc: Path, tmp_path: Path
) -> None:
    path = tmp_path / "given.pyc"
    path.write_bytes(struct.pack("<H", 336) + pyc.read_bytes()[2:])
    done = run(*command, "decompile", path)
    assert done.returncode == 1
    assert "magic number 336 of PyPy 3.9, whose bytecode is not CPython's" in done.stderr
    version = "{}.{}".format(*sys.version_info)
    assert run(*command, "decompile", path, "--python-version", version).returncode == 0


def test_what_was_edited_is_not_overwritten(
    command: "List[str]", pyc: Path, tmp_path: Path
) -> None:
    out = tmp_path / "small.py"
    assert run(*command, "decompile", pyc, "-o", out).returncode == 0
    assert run(*command, "decompile", pyc, "-o", out).returncode == 0  # nothing would change
    text = out.read_text()
    for edited in (text.replace("y", "z"), text + "# mine\n"):
        out.write_text(edited)
        done = run(*command, "decompile", pyc, "-o", out)
        said = f"pellucid: {pyc}: {out} already exists. Pass --force to overwrite it\n"
        assert (done.returncode, done.stderr, out.read_text()) == (1, said, edited)
    assert run(*command, "decompile", pyc, "-o", out, "--force").returncode == 0
    assert out.read_text() == text


def test_an_absent_file_has_no_bytes(command: "List[str]", tmp_path: Path) -> None:
    done = run(*command, "decompile", tmp_path / "absent.pyc")
    assert done.stderr == f"pellucid: {tmp_path / 'absent.pyc'}: no such file or directory\n"


def test_json_tells_of_every_input(command: "List[str]", package: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.zip").write_bytes(b"PK")
    bad = [tmp_path / "empty", tmp_path / "absent.pyc", tmp_path / "cut.zip", tmp_path / "text.pyc"]
    bad[-1].write_text("print('a text, but no bytecode')")
    done = run(*command, "decompile", "--json", *bad, package)
    assert (done.returncode, done.stderr) == (1, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    errors = {each["file"]: each["error"] for each in said if each["outcome"] == "error"}
    assert sorted(errors) == sorted(map(str, bad))
    assert all(errors.values())
    assert len(said) == len(bad) + 4


@pytest.mark.skipif(sys.platform != "linux", reason="names elsewhere are text")
def test_json_is_text_whatever_the_name(command: "List[str]", tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/n\xff\xc3\xa4\n.pyc"
    Path(os.fsdecode(path)).write_bytes(b"")
    done = subprocess.run(
        [*command, "decompile", "--json", path], stdout=subprocess.PIPE, check=False
    )
    assert json.loads(done.stdout)["file"] == os.fsdecode(path)


def test_a_place_that_cannot_be_written_is_named(command: "List[str]", package: Path) -> None:
    place = package / "top.pyc" / "out.py"  # below a file
    done = run(*command, "decompile", package / "top.pyc", "-o", place)
    assert done.returncode == 1
    assert f"{place} cannot be written: " in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_output_that_cannot_be_written_is_one_complaint(
    command: "List[str]", package: Path, options: "List[str]"
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*command, "decompile", str(package / "top.pyc"), *options],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"pellucid: standard output: cannot be written\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device without an end")
def test_what_has_no_end_is_refused(command: "List[str]") -> None:
    done = run(*command, "decompile", "/dev/zero")
    assert done.returncode == 1
    assert done.stderr.startswith("pellucid: /dev/zero: larger than 256 MiB at byte ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_to_its_end(command: "List[str]", package: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.pyc"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [*command, "decompile", str(pipe)], stdout=subprocess.PIPE, text=True
    ) as process:
        pipe.write_bytes((package / "top.pyc").read_bytes())
        assert process.stdout is not None
        assert "def f(x):" in process.stdout.read()
    assert process.returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_written_and_stays(command: "List[str]", pyc: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "named.py"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            done = run(*command, "decompile", pyc, "-o", pipe)
            assert (done.returncode, pipe.is_fifo()) == (0, True), done.stderr
            assert "def f(x):" in reader.communicate(timeout=60)[0]
        finally:
            reader.kill()


@pytest.mark.parametrize("exists", [True, False])
def test_what_a_link_leads_to_is_written(
    command: "List[str]", pyc: Path, tmp_path: Path, exists: bool
) -> None:
    target, link = tmp_path / "elsewhere" / "target.py", tmp_path / "link.py"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link.symlink_to(Path("elsewhere") / "target.py")
    done = run(*command, "decompile", pyc, "-o", link, "--force")
    assert (done.returncode, link.is_symlink()) == (0, True), done.stderr
    assert "def f(x):" in target.read_text()
    assert [path.name for path in target.parent.iterdir()] == ["target.py"]


def test_no_name_is_no_folder(command: "List[str]") -> None:
    done = run(*command, "decompile", "")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no such file or directory" in done.stderr


def test_several_files_need_a_folder(command: "List[str]", package: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    done = run(*command, "decompile", package, "-o", target)
    assert done.returncode == 2
    assert target.read_text() == "mine"


def test_json_has_the_same_fields_everywhere(command: "List[str]", package: Path) -> None:
    done = run(*command, "decompile", package, "--no-verify", "--json", "--jobs", 3)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(said) == 4
    assert {each["outcome"] for each in said} == {"decompiled"}
    assert all("def f(x):" in each["source"] for each in said)
    wanted = ["diagnostics", "error", "file", "notes", "out", "outcome", "python"]
    assert sorted(said[0]) == [*wanted, "reason", "renamed", "source", "tier", "verdict"]


DOUBTED = '''\
def outer():
    """A docstring."""
    def inner():
        return t"{1 / 0.3}"
    return inner, lambda: t"{2 / 0.3}"
'''


def test_what_is_not_proven_is_marked_where_it_stands(command: "List[str]", tmp_path: Path) -> None:
    # The text of an expression in a template string is not always known to mean it.
    pyc = tmp_path / "doubted.pyc"
    source = tmp_path / "doubted.py"
    source.write_text(DOUBTED)
    compiling = f"import py_compile; py_compile.compile({str(source)!r}, {str(pyc)!r})"
    subprocess.run([str(need("python3.14")), "-c", compiling], check=True)
    done = run(*command, "decompile", pyc, "--verify=relowered")
    assert done.returncode == 3
    lines = [line.strip() for line in done.stdout.splitlines()]
    marks = {line: lines[at + 1] for at, line in enumerate(lines) if line.startswith("# unproven")}
    why = "relowering: the text of an expression in a template string is not known to mean it"
    assert marks == {
        f"# unproven: <module>/outer/<lambda>: {why} at byte 0x0": '"""A docstring."""',
        f"# unproven: <module>/outer/inner: {why} at byte 0x0": "return t'{1 / 0.3}'",
    }
    said = f"pellucid: {pyc}: unproven: <module>/outer/inner: {why} at byte 0x0, and 1 more\n"
    assert done.stderr == said
    kept = run(*command, "decompile", pyc, "--keep-lines", "--verify=relowered").stdout
    bare = run(*command, "decompile", pyc, "--keep-lines", "--no-verify")
    assert (bare.returncode, bare.stderr) == (0, "")
    assert kept.startswith(bare.stdout)
    assert sorted(kept[len(bare.stdout) :].splitlines()) == sorted(marks)


def test_lines_are_kept(command: "List[str]", pyc: Path) -> None:
    done = run(*command, "decompile", pyc, "--keep-lines")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[3].strip() == "return os.path.join(x, 'y')"


def test_dis_has_lines_and_offsets(command: "List[str]", pyc: Path) -> None:
    done = run(*command, "dis", pyc)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^    line 4$", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^ +\d+  LoadGlobal os", done.stdout, re.MULTILINE), done.stdout


STAGES = ["module", "raw", "stream", "flow", "ir", "structure", "structure:conditions", "ast"]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_be_dumped(command: "List[str]", pyc: Path, stage: str) -> None:
    done = run(*command, "dump", f"--stage={stage}", pyc)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert run(*command, "dump", "--stage=other", pyc).returncode == 2


def test_steps_are_told_with_what_they_changed(command: "List[str]", tmp_path: Path) -> None:
    path = tmp_path / "steps.pyc"
    code = compile("def f(a, b):\n    return a and b\n", "steps.py", "exec")
    path.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    told = run(*command, "dump", "--stage=structure", path).stdout.splitlines()
    assert told[0] == "code f" and told[1].startswith("attempt: ")
    assert any(line.startswith("  conditions: ") for line in told), told
    assert told[-1] == "  succeeds"
    before, after = (
        run(*command, "dump", f"--stage=structure:{step}", path).stdout
        for step in ("handlers", "conditions")
    )
    assert " = And " not in before and " -> b" in before
    assert " = And " in after


def test_an_attempt_that_fails_says_why(command: "List[str]") -> None:
    path = ROOT / "tests" / "regress" / "comprehension_in_a_body_without_structure.pyc"
    told = run(*command, "dump", "--stage=structure", path).stdout
    assert re.search(r"^attempt: .*\n(?:  .*\n)*  fails: .* at byte \d+$", told, re.MULTILINE), told
    assert "attempt: a loop over a state\n  succeeds\n" in told


def test_help_says_what_exit_codes_mean(command: "List[str]") -> None:
    done = run(*command, "decompile", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: pellucid decompile")
    assert "exit code:" in done.stdout
    for option in ("--keep-lines", "--jobs", "--json", "-o"):
        assert option in done.stdout


def test_wrong_usage_is_status_two_everywhere(command: "List[str]", pyc: Path) -> None:
    for words in ([], ["nonsense"], ["decompile"], ["decompile", pyc, "--nonsense"]):
        assert run(*command, *words).returncode == 2
    assert run(*command, "decompile", pyc, "--jobs", "0").returncode == 2


def test_standard_input_is_read(command: "List[str]", pyc: Path) -> None:
    done = subprocess.run(
        [*command, "decompile", "-"], input=pyc.read_bytes(), stdout=subprocess.PIPE, check=False
    )
    assert done.returncode == 0
    assert b"def f(x):" in done.stdout


def test_an_unproven_file_is_status_three(tmp_path: Path, pyc: Path) -> None:
    # There is no interpreter of that version below the folder, and none else is looked for.
    (case,) = unpack("3.8", tmp_path, "slices/slices_of_every_form")
    script = (
        "import sys; from pellucid import interpreters, __main__\n"
        "interpreters.find_interpreter = lambda version: None\n"
        f"sys.exit(__main__.main(['decompile', {str(case)!r}, '--verify']))"
    )
    if sys.version_info[:2] == (3, 8):
        pytest.skip("this Python is the interpreter")
    done = run(sys.executable, "-c", script)
    assert done.returncode in (0, 3), done.stderr  # 0 where it is proven without an interpreter
    assert (done.returncode == 0) == (": unproven" not in done.stderr)


def test_a_program_that_calls_main_goes_on_whatever_threads_it_has(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        "from pellucid.__main__ import main\n"
        "print(main(['decompile', 'nothing.pyc']), 'and on')\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert done.stdout == b"1 and on\n"
