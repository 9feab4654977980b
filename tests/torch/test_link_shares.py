"""Guards, nodes and kernels lead back to the program's lines, also where less is told of them."""

from link_shares import reached, shares
from pellucid import load
from pellucid.dump.model.events import CacheUse, KernelFile
from pellucid.report.model import view_of
from pellucid.report.pool import Pool
from pellucid.torch import prepare_debug


def test_guards_of_a_librarys_lines_lead_to_the_programs(torch, dynamo, tmp_path):
    layer = torch.nn.Linear(3, 3)

    def two(x):
        x = x.sin()
        return layer(x)

    with prepare_debug(tmp_path):
        torch.compile(two, backend="eager")(torch.ones(2, 3))
    line = two.__code__.co_firstlineno + 2
    (entries,) = load(tmp_path).caches.values()
    of_layer = [g for g in entries[0].guards if "linear.py" in g.user_line]
    assert of_layer and {(g.place.line, g.place.function) for g in of_layer} == {(line, "two")}
    view = view_of(load(tmp_path), Pool())
    of, led, _ = shares(view)
    assert of["guards"] == led["guards"] > len(of_layer)
    assert of["nodes of captured"] == led["nodes of captured"] == 2


def test_kernels_from_a_cache_lead_to_the_lines_that_they_compute(
    torch, dynamo, tmp_path, monkeypatch
):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    torch.manual_seed(0)
    conv, norm = torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3)

    def net(x):
        x = conv(x)
        x = norm(x)
        return x.relu()

    for name in ("first", "second"):
        dynamo.reset()
        with prepare_debug(tmp_path / name):
            torch.compile(net)(torch.ones(2, 2, 8, 8)).sum().backward()
    capture = load(tmp_path / "second")
    assert "hit" in {use.result for use in capture.of(CacheUse)}
    kernels = capture.of(KernelFile)
    silent = [kernel for kernel in kernels if not kernel.nodes and not kernel.exact]
    assert silent  # what Inductor does not tell is found by what the kernels are given
    view = view_of(capture, Pool())
    of, led, lost = shares(view)
    assert of["kernels"] == led["kernels"] == sum(len(kernel.calls) for kernel in kernels), lost
    assert reached(view)
