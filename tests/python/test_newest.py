"""`make newest` says why it cannot bring an interpreter, and is in nobody's way."""

import shutil
import sys
from pathlib import Path

import newest
import pytest


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(newest, "WORK", tmp_path)
    monkeypatch.setattr(newest, "LOG", tmp_path / "log.txt")
    monkeypatch.setattr(newest, "STAMP", tmp_path / ".stamp")
    return tmp_path


def brought(monkeypatch: pytest.MonkeyPatch, *versions: str) -> int:
    monkeypatch.setattr(sys, "argv", ["newest.py", *versions])
    return newest.main()


def test_a_system_without_debians_tools_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(newest.shutil, "which", lambda *_, **__: None)
    assert brought(monkeypatch, "3.99") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "no Python 3.99: this is no Debian system: it has no apt-get" in said.err


@pytest.mark.skipif(
    not (shutil.which("apt-get") and newest.KEYS.exists()), reason="this is no Debian system"
)
def test_a_mirror_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    monkeypatch.setattr(newest, "patchelf", lambda: "patchelf")
    monkeypatch.setenv("DEBIAN_MIRROR", "http://127.0.0.1:1/debian")
    assert brought(monkeypatch, "3.99") == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "no Python 3.99: apt-get failed: " in said.err
    assert str(folder / "log.txt") in said.err
    assert not (folder / "root").exists()


def test_what_is_there_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert brought(monkeypatch, "{}.{}".format(*sys.version_info[:2])) == 0
    assert capsys.readouterr() == ("", "")
    made = newest.STAMP.stat().st_mtime_ns
    assert brought(monkeypatch, "{}.{}".format(*sys.version_info[:2])) == 0
    assert newest.STAMP.stat().st_mtime_ns == made
    assert [path.name for path in folder.iterdir()] == [".stamp"]
