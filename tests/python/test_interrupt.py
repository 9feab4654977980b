"""On a terminal: progress is seen, only text is paged, and Ctrl-C ends a command at once."""

import os
import pty
import re
import select
import shutil
import sys
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

    def __init__(self, *arguments, **environment):
        kept = {k: v for k, v in os.environ.items() if k not in ("PAGER", "LESS", "NO_COLOR")}
        kept.update({"TERM": "xterm", **environment})
        command = [sys.executable, "-m", "pellucid", *map(str, arguments)]
        self.shown = ""
        self.process, self._handle = pty.fork()
        if self.process == 0:
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
        """Return the exit status, and the seconds since the last key."""
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
