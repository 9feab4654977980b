"""The demo writes its model for the user, shows what it promises, and says where to read on."""

from pellucid import load
from pellucid.findings import find
from pellucid.torch.api import demo
from support import torch_version

MODEL = "demo_model.py"


def test_demo_shows_what_it_promises(torch, dynamo, tmp_path, monkeypatch, capsys, valid_python):
    # Without a C++ compiler the demo takes the backend that needs none, which is also the fast one.
    monkeypatch.setattr(demo.shutil, "which", lambda _: None)
    folder = tmp_path / "pellucid_demo"
    assert demo.main(str(folder)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 15
    # A path may be of any length.
    assert all(len(line) <= 100 for line in lines if folder.name not in line)
    assert "backend aot_eager" in lines[0] and MODEL in lines[0]
    output = "\n".join(lines)
    counts = "1 function in 2 versions, 4 graphs, 8 of 8 lines compiled"
    assert f"Compiled    {counts}: `forward` (demo_model.py:29)" in output
    assert "Decompiled  4 frames (2 resume after a graph break), all proven equivalent; " in output
    assert "; these files are what ran\n" in output
    assert "Found       1 graph break, 1 recompile\n" in output
    assert "1. graph break  demo_model.py:32   if x.abs().mean() > self.limit:" in output
    assert "2. recompile    demo_model.py:29" in output
    if torch_version() >= (2, 6):  # older traces do not say why
        assert "`forward` was recompiled: `x.size(1)` changed from 8 to 12." in output
        assert "torch.where" in output and "mark_dynamic(x, 1)" in output
    assert str(folder / "index.md") in output and lines[-1].endswith(f" {folder}/page.html")
    assert (folder / "page.html").exists() and (folder / MODEL).exists()
    assert list(folder.glob("__compiled_fn_0_0.backward.py"))
    assert valid_python(folder) == []
    capture = load(folder)
    assert {finding.place.file for finding in find(capture)} == {str(folder / MODEL)}
    assert not any("librar" in finding.cause for finding in find(capture))


def test_a_model_that_the_user_edited_is_never_overwritten(tmp_path):
    name = str(tmp_path / "pellucid_demo")
    first, second, *_ = (path for path, _ in zip(demo.numbered(name), range(2)))
    assert demo._may_write(first)
    file = demo._with_model(first)
    (first / "page.html").write_text("of an earlier run")
    assert demo._may_write(first)
    file.write_text(file.read_text() + "# mine\n")
    assert not demo._may_write(first) and demo._may_write(second)
    second.mkdir()
    (second / "notes.txt").write_text("mine")
    assert not demo._may_write(second)
