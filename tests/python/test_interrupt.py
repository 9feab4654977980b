"""On a terminal: progress is seen, only text is paged, and Ctrl-C ends a command at once."""

import fcntl
import os
import pty
import py_compile
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from case_pycs import unpack
from needs import ROOT

ARCHIVES = ROOT / "tests" / "cases" / "pyc"  # compiled cases of all versions
PATIENCE = 60


@pytest.fixture(scope="module")
def pyc(tmp_path_factory):
    (path,) = unpack("3.12", tmp_path_factory.mktemp("case"), "loops/while_after_a_condition")
    return path


@pytest.fixture(params=["all is read", "more is to come"])
def inputs(request, pyc):
    """Return the inputs of a command that has read them all before it is ended, or has not."""
    return [pyc] * 9 if request.param == "all is read" else [ARCHIVES]


class Terminal:
    """A command of pellucid on a terminal of its own, with what it has shown so far."""

    def __init__(self, *arguments, columns=80, **environment):
        others = ("PAGER", "LESS", "NO_COLOR", "COLUMNS", "LINES")
        kept = {k: v for k, v in os.environ.items() if k not in others}
        kept.update({"TERM": "xterm", **environment})
        command = [sys.executable, "-m", "pellucid", *map(str, arguments)]
        self.shown = ""
        self.process, self._handle = pty.fork()
        if self.process == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            os.execve(sys.executable, command, kept)

    def press(self, keys):
        os.write(self._handle, keys)
        self.pressed = time.monotonic()

    def read_until(self, pattern):
        """Read until what is shown matches; without a pattern, until the command ends."""
        end = time.monotonic() + PATIENCE
        while pattern is None or not re.search(pattern, self.shown):
            assert time.monotonic() < end, self.shown
            if select.select([self._handle], [], [], 0.1)[0]:
                try:
                    part = os.read(self._handle, 65536)
                except OSError:  # the other end is closed
                    part = b""
                if not part:
                    assert pattern is None, self.shown
                    return
                self.shown += part.decode("utf-8", "replace").replace("\r\n", "\n")

    def end(self):
        """Return the exit code, and the seconds since the last key."""
        self.read_until(None)
        _, status = os.waitpid(self.process, 0)
        seconds = time.monotonic() - self.pressed if hasattr(self, "pressed") else 0.0
        os.close(self._handle)
        assert os.WIFEXITED(status), status
        return os.WEXITSTATUS(status), seconds

    def left(self):
        """Return the processes of the terminal that are still there."""
        if not Path("/proc/self/stat").exists():
            return []
        end = time.monotonic() + 5
        while True:
            found = []
            for file in Path("/proc").glob("[0-9]*/stat"):
                try:
                    after_name = file.read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                if int(after_name[3]) == self.process and after_name[0] != "Z":
                    found.append(file)
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.1)


def test_a_folder_that_is_written_shows_progress_and_ends_with_ctrl_c(tmp_path):
    terminal = Terminal("decompile", ARCHIVES, "-o", tmp_path / "out", "--jobs", 2)
    terminal.read_until(r"[1-9]\d*/\d+.* files ")
    terminal.press(b"\x03")
    status, seconds = terminal.end()
    assert status == 130 and seconds < 3
    assert "pellucid: interrupted after " in terminal.shown
    assert "Traceback" not in terminal.shown
    assert terminal.shown.rstrip().endswith(" files") and "\x1b[?25h" in terminal.shown
    assert terminal.left() == []
    assert list((tmp_path / "out").rglob(".*")) == []


@pytest.mark.parametrize(
    "command", [["decompile", ARCHIVES, "--json"], ["inspect", ARCHIVES, "--json"]]
)
def test_json_is_not_paged_and_ends_with_ctrl_c(command):
    terminal = Terminal(*command, PELLUCID_PAGER="sed 's/^/> /'")
    terminal.read_until(r'\n\{"file"')
    terminal.press(b"\x03")
    status, seconds = terminal.end()
    assert status == 130 and seconds < 3
    assert terminal.shown.startswith('{"file"') and "Traceback" not in terminal.shown
    assert terminal.left() == []


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
@pytest.mark.parametrize("options", [{}, {"LESS": "-R"}], ids=["ours", "the user's"])
def test_ctrl_c_in_the_pager_ends_both(inputs, options):
    terminal = Terminal("decompile", *inputs, PELLUCID_PAGER="less", **options)
    terminal.read_until("import|while")
    time.sleep(1)
    terminal.press(b"\x03")
    status, seconds = terminal.end()
    assert status == 130 and seconds < 3 and "Traceback" not in terminal.shown
    assert terminal.left() == []


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
def test_quitting_the_pager_is_no_error(inputs):
    terminal = Terminal("dis", *inputs, PELLUCID_PAGER="less")
    terminal.read_until(r"\x1b\[K")
    terminal.press(b"q")
    status, seconds = terminal.end()
    assert status == 0 and seconds < 3 and "Traceback" not in terminal.shown
    assert terminal.left() == []


@pytest.mark.skipif(shutil.which("less") is None, reason="needs less")
def test_what_fits_the_screen_is_printed(pyc):
    terminal = Terminal("decompile", pyc, PELLUCID_PAGER="less", LINES="60", COLUMNS="120")
    assert terminal.end()[0] == 0 and "while" in terminal.shown


@pytest.fixture
def many(tmp_path):
    """A folder of files that have no source, and of some that take long to compare."""
    folder = tmp_path / "many"
    for name in ("large", "small"):
        (folder / name).mkdir(parents=True)
    unpack("3.12", folder / "small", "loops/*")
    text = "".join(f"def f{i}(x):\n    return [x + {i} for x in x if x]\n" for i in range(3000))
    for number in range(9):
        path = folder / "large" / f"m{number}.py"
        path.write_text(text)
        py_compile.compile(str(path))
    return folder


def test_results_are_printed_above_the_progress(many):
    terminal = Terminal("match", many / "small", "--jobs", 1)
    assert terminal.end()[0] == 3
    lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.shown).replace("\r", "\n").splitlines()
    places = [line for line in lines if "no source: " in line]
    assert places and all(line.startswith("no source: ") for line in places)
    assert any(line.startswith("comparing ") for line in lines)


@pytest.mark.parametrize("wanted", [{}, {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}])
def test_ctrl_c_ends_a_comparison_at_once(many, wanted):
    if not wanted:
        terminal = Terminal("match", many, "--jobs", 2)
        terminal.read_until(r"[1-9]\d*/\d+.* files ")
        terminal.press(b"\x03")
        status, seconds = terminal.end()
        said = terminal.shown
        assert terminal.left() == []
    else:
        command = [sys.executable, "-m", "pellucid", "match", str(many), "--jobs", "2"]
        process = subprocess.Popen(command, start_new_session=True, encoding="utf-8", **wanted)
        assert process.stdout.readline().startswith("no source: ")
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does, to each process of it
        said = process.communicate(timeout=PATIENCE)[1]
        status, seconds = process.returncode, time.monotonic() - start
    assert status == 130 and seconds < 3
    assert "pellucid: interrupted after " in said and "Traceback" not in said


@pytest.mark.parametrize("columns", [70, 80])
def test_explanation_and_help_have_the_width_of_the_terminal(columns):
    capture = ROOT / "tests" / "torch" / "schema_1"
    commands = [["--help"], ["decompile", "--help"], ["match", "--help"], ["explain", capture]]
    for command in commands:
        terminal = Terminal(*command, columns=columns, PELLUCID_PAGER="cat -u")
        assert terminal.end()[0] == 0
        lines = re.sub(r"\x1b\[[\d;]*m", "", terminal.shown).splitlines()
        laid_out = [line for line in lines if "   | " not in line]  # rather than quoted
        assert max(map(len, laid_out)) <= columns, terminal.shown
