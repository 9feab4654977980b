"""The demo shows a graph break, a backward graph and a recompile, and says where to read on."""

from pellucid.torch.api import demo
from pellucid.torch.store.session import INDEX
from support import torch_version


def test_demo_shows_what_it_promises(torch, dynamo, tmp_path, monkeypatch, capsys, valid_python):
    # Without a C++ compiler the demo takes the backend that needs none, which is also the fast one.
    monkeypatch.setattr(demo.shutil, "which", lambda _: None)
    assert demo.main(str(tmp_path)) == 0
    output = capsys.readouterr().out
    assert "backend aot_eager" in output
    branch = "Data-dependent branching" if torch_version() >= (2, 6) else "generic_jump"
    assert f"graph break: {branch}" in output
    if torch_version() >= (2, 6):  # older traces do not say why
        assert "compiling again: 0/0: tensor 'x' size mismatch" in output
    assert "4 frames, 4 proven, 4 run from their files" in output.replace("\n", " ")
    assert "2 graph breaks; 2 recompiles" in output.replace("\n", " ")
    assert INDEX in output.split("Start reading here:")[1]
    assert list(tmp_path.glob("__compiled_fn_0_0.backward.py"))
    assert valid_python(tmp_path) == []
