"""Which PyTorch an environment gets: one that is there, or else one that suits the machine."""

import http.server
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator, List, Tuple

import get_torch
import pytest

PYTHON, WANTED = "the/python", "torch==2.15.0"


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def index() -> Iterator[str]:
    """The address of an index that answers."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/cpu"
        server.shutdown()


def asked_of_pip(failing: str = "") -> Tuple[List[List[str]], List[str]]:
    """Install with commands that are only noted; return them, without how pip is called."""
    commands: List[List[str]] = []
    said: List[str] = []

    def run(*command: str) -> None:
        assert command[:3] == (PYTHON, "-m", "pip")
        commands.append([each for each in command[5:] if each != "--quiet"])
        if failing and failing in command:
            raise SystemExit("it failed")

    get_torch.install(PYTHON, WANTED, run, said.append)
    return commands, said


@pytest.fixture
def hollow(monkeypatch: pytest.MonkeyPatch) -> List[str]:
    """What is installed without the libraries of CUDA."""
    found: List[str] = []
    monkeypatch.setattr(get_torch.sys, "platform", "linux")
    monkeypatch.setattr(get_torch.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(get_torch, "install_hollow", lambda p, wanted, run: found.append(wanted))
    return found


def test_a_gpu_gets_the_build_for_it(monkeypatch: pytest.MonkeyPatch, hollow: List[str]) -> None:
    monkeypatch.setattr(get_torch, "has_gpu", lambda: True)
    assert asked_of_pip()[0] == [[WANTED, "numpy"]]
    assert hollow == []


def test_no_gpu_gets_the_build_for_the_cpu(
    monkeypatch: pytest.MonkeyPatch, hollow: List[str], index: str
) -> None:
    monkeypatch.setattr(get_torch, "has_gpu", lambda: False)
    monkeypatch.setattr(get_torch, "INDEX", index)
    commands, said = asked_of_pip()
    assert commands == [["--index-url", index, WANTED], ["numpy"]]
    assert len(said) == 1 and "as there is no GPU" in said[0]
    assert hollow == []


def test_a_release_without_such_a_build_comes_without_cuda(
    monkeypatch: pytest.MonkeyPatch, hollow: List[str], index: str
) -> None:
    monkeypatch.setattr(get_torch, "has_gpu", lambda: False)
    monkeypatch.setattr(get_torch, "INDEX", index)
    assert asked_of_pip(failing=index)[0] == [["--index-url", index, WANTED]]
    assert hollow == [WANTED]


def test_without_that_index_nothing_of_cuda_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, hollow: List[str]
) -> None:
    monkeypatch.setattr(get_torch, "has_gpu", lambda: False)
    monkeypatch.setattr(get_torch, "INDEX", "http://127.0.0.1:1/cpu")
    commands, said = asked_of_pip()
    assert commands == [] and hollow == [WANTED]
    assert len(said) == 1 and "without the libraries of CUDA" in said[0]


@pytest.mark.parametrize("version, lent", [("2.9.0+cpu", True), ("2.3.1", False)])
def test_a_torch_of_the_given_python_is_lent(version: str, lent: bool, tmp_path: Path) -> None:
    for name in ("given", "made"):
        command = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / name)]
        subprocess.run(command, check=True)
    given, made = (str(tmp_path / name / "bin" / "python") for name in ("given", "made"))
    site = next((tmp_path / "given").glob("lib/python*/site-packages"))
    (site / "torch.py").write_text(f"__version__ = {version!r}\n")
    assert get_torch.version_of(made) is None
    assert get_torch.lend(given, made) is lent
    assert get_torch.version_of(made) == (version if lent else None)
    left = list((tmp_path / "made").rglob("torch_of_the_given_python.pth"))
    assert bool(left) is lent
