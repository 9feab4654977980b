"""The bench over a standard library takes what is there."""

import sys
from pathlib import Path

from needs import ROOT

sys.path.insert(0, str(ROOT / "bench"))

from bench_library import compiled


def test_a_source_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    library, folder = tmp_path / "library", tmp_path / "compiled"
    library.mkdir()
    folder.mkdir()
    (library / "a.py").write_text("x = 1\n", encoding="utf-8")
    (library / "b.py").symlink_to(tmp_path / "not_installed.py")
    found, _ = compiled(library, folder)
    assert [path.name for path in found] == ["0.pyc"]
