"""Graph files run by themselves, on inputs of the shapes that torch compiled for."""

import subprocess
import sys

import pellucid
import pytest
from pellucid.dump.model.events import Graph
from pellucid.dump.model.needs import needs_of_text
from pellucid.report import page_of
from pellucid.torch import dump_graph, prepare_debug
from pellucid.torch.text.graph_main import main_text
from support import run_env, torch_version, warm_python


@pytest.fixture
def graphs(program, dynamo):
    return program("graphs")


RUN_ALL = """
import runpy, sys
for path in sys.argv[1:]:
    print("==", path)
    runpy.run_path(path, run_name="__main__")
"""


def run_all(session, python=None):
    """Run the graph files in another process; return what each stage printed."""
    # torch's own script that reproduces a compile is run by torch's own tests.
    graphs = {
        str(session.path(graph.file)): graph.stage
        for graph in session.of(Graph)
        if not graph.is_program and graph.stage != "fx_graph_runnable"
    }
    # A Python that has just started has no pellucid, unless it is installed.
    environment = {k: v for k, v in run_env().items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [python or warm_python(), "-W", "ignore", "-c", RUN_ALL, *graphs],
        capture_output=True,
        text=True,
        env=environment,
        cwd=str(session.directory),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = {}
    for line in done.stdout.splitlines():
        if line.startswith("== "):
            stage = printed.setdefault(graphs[line[3:]], [])
        else:
            stage.append(line)
    return printed


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_every_stage_of_a_model_runs_by_itself(graphs, torch, tmp_path, backend):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.Net(), backend=backend)
        compiled(torch.ones(3, 4)).sum().backward()
    printed = run_all(session, sys.executable)
    assert set(printed) >= {"captured", "joint", "forward", "backward"}
    assert printed["captured"] == ["torch.float32 [3, 2]"]
    assert printed["forward"][0] == "torch.float32 [3, 2]"
    assert "torch.float32 [6, 4]" in printed["backward"]


def test_symbolic_sizes_get_the_numbers_that_torch_compiled_for(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.scaled, backend="aot_eager", dynamic=True)
        compiled(torch.ones(7, 2), 5)
    assert run_all(session)["captured"] == ["torch.float32 [7, 2]"]


def test_indices_masks_and_constants_are_in_range(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.indexed, backend="aot_eager")
        compiled(torch.ones(4, 4).t(), torch.tensor([1, 3]), torch.ones(4, 2) > 0)
    printed = run_all(session)
    assert printed["captured"] == ["torch.float32 [4, 2]"]
    # torch 2.4 does not show the graph without gradients.
    assert "inference" in printed or torch_version() < (2, 13)
    assert printed.get("inference", printed["captured"]) == ["torch.float32 [4, 2]"]


def test_graph_inside_a_graph_runs(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.checkpointed, backend="aot_eager")
        compiled(torch.ones(3, requires_grad=True))
    shown = any("class wrap_body_0" in graph.text for graph in session.of(Graph))
    if not shown and torch_version() < (2, 13):
        pytest.skip("this torch does not print the graphs inside a graph")
    assert run_all(session)["captured"] == ["torch.float32 [3]"]


def test_a_view_of_what_was_computed_may_be_written_to(graphs, torch, tmp_path):
    computed = torch.ones(2, 3, requires_grad=True) * 2
    with prepare_debug(tmp_path) as session:
        torch.compile(graphs.written_to, backend="eager")(computed)
        torch.compile(graphs.written_to, backend="eager")(torch.ones(6, 2).t()[:, ::2])
    assert run_all(session)["captured"] == ["torch.float32 []"] * 2


def test_an_operator_on_graphs_is_registered_by_the_file(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.hooked, backend="aot_eager")
        compiled(torch.ones(2, requires_grad=True)).backward()
    if not any("higher_order" in graph.text for graph in session.of(Graph)):
        pytest.skip("this torch has no operator for it")
    assert run_all(session)["captured"] == ["torch.float32 []"]


def test_functions_of_numpy_are_those_of_torch(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        torch.compile(graphs.flipped, backend="eager")(torch.ones(2, 3))
    assert run_all(session)["captured"] == ["torch.float32 [2, 3]"]


def test_an_operator_of_the_programs_own_is_named(graphs, torch, dynamo, tmp_path):
    library = graphs.register_own_operator()
    with prepare_debug(tmp_path) as session:
        torch.compile(graphs.own_operator, backend="aot_eager")(torch.ones(3))
    del library
    for graph in session.of(Graph):
        run = [warm_python(), "-W", "ignore", str(session.path(graph.file))]
        done = subprocess.run(run, capture_output=True, text=True, env=run_env(), check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("torch.ops.pellucid_tests.twice cannot be called: ")


def test_what_lacks_is_told_at_once():
    body = "class CompiledAutograd0(torch.nn.Module):\n"
    body += "    def forward(self, inputs, hooks):\n        return []\n"
    needs = needs_of_text(body, {})
    assert needs is not None
    text = main_text(body, needs)
    assert text.count("raise SystemExit") == 1
    for name in ("inputs", "hooks"):
        assert (
            f"{name} cannot be built: compiled autograd generates it for one backward pass" in text
        )


def test_text_alone_tells_inputs_and_lists():
    text = (
        "class GraphModule(torch.nn.Module):\n"
        '    def forward(self, a: "Sym(s0)", b: "bf16[2*s0, 4][4, 1]cuda:0", c: "Sym(u0)"):\n'
        '        m: "i64[3]" = self.mask\n'
        "        return (b,)\n"
    )
    needs = needs_of_text(text, {"s0": 3})
    a, b, c = needs.inputs
    assert a.literal == "3"
    assert (b.tensor.shape, b.tensor.dtype, b.tensor.device) == ((6, 4), "bfloat16", "cuda:0")
    assert "u0" in c.lacking
    assert [(value.name, value.tensor.shape) for value in needs.constants] == [("mask", (3,))]


@pytest.mark.parametrize(
    "size, value",
    [
        ("24*Max(1, (s0//16))", 72),
        ("Min(s0, 7) - Mod(s0, 4)", 5),
        ("ModularIndexing(s0, 4, 5)", 50 // 4 % 5),
        ("CeilToInt(IntTrueDiv(s0, 4))", 13),
        ("PowByNatural(2, s0 - 47)", 8),
        ("s0/2", 25),
    ],
)
def test_sizes_are_what_torch_computes(size, value):
    text = (
        "class GraphModule(torch.nn.Module):\n"
        f'    def forward(self, a: "f32[{size}, 2][2, {size}]cpu"):\n'
        "        return (a,)\n"
    )
    (a,) = needs_of_text(text, {"s0": 50}).inputs
    assert (a.tensor.shape, a.tensor.stride) == ((value, 2), (2, value))


@pytest.mark.parametrize("size", ["s0/4", "Max(", "Unknown(s0)", "s0//0", "Max()", "2**s0**s0"])
def test_a_size_that_nobody_can_tell_is_lacking(size):
    text = (
        "class GraphModule(torch.nn.Module):\n"
        f'    def forward(self, a: "f32[{size}]cpu"):\n'
        "        return (a,)\n"
    )
    (a,) = needs_of_text(text, {"s0": 50}).inputs
    assert a.tensor is None and "is not recorded" in a.lacking


def test_graph_of_a_third_party_is_dumped_under_its_compile(graphs, torch, tmp_path):
    files = []

    def backend(graph, inputs):
        files.append(dump_graph("after fusion", graph))
        return graph.forward

    with prepare_debug(tmp_path):
        torch.compile(graphs.scaled, backend=backend)(torch.ones(2), 3)
    assert [file.name for file in files] == ["__compiled_fn_0_0.after_fusion.py"]
    assert "relu" in files[0].read_text()
    assert dump_graph("nowhere", torch.fx.symbolic_trace(torch.nn.ReLU())) is None


def test_graphs_of_one_stage_are_told_apart_by_their_metadata(graphs, torch, tmp_path):
    files = []

    def backend(graph, inputs):
        for sizes in ([1, 16], [17, 512]):
            files.append(dump_graph("fused", graph, metadata={"range": sizes, "pass": "fusion"}))
        return graph.forward

    with prepare_debug(tmp_path) as session:
        torch.compile(graphs.scaled, backend=backend)(torch.ones(2), 3)
    names = [f"__compiled_fn_0_0.fused_range_{n}_pass_fusion.py" for n in ("1_16", "17_512")]
    assert [file.name for file in files] == names
    assert '# range: [17, 512]\n# pass: "fusion"\n' in files[1].read_text()
    for graph in (session.of(Graph), pellucid.load(tmp_path).of(Graph)):
        told = [event.metadata for event in graph if event.stage == "fused"]
        assert told == [{"range": n, "pass": "fusion"} for n in ([1, 16], [17, 512])]
    assert '(range [17, 512], pass "fusion")' in (tmp_path / "index.md").read_text()
    nodes = pellucid.load(tmp_path).nodes(names[1])
    lines = files[1].read_text().split("\n")
    assert [node.name in lines[node.line - 1] for node in nodes[:-1]] == [True] * (len(nodes) - 1)
    ((view,),) = [page_of([tmp_path]).views]
    assert 'fused (range [1, 16], pass "fusion")' in [file.stage for file in view.files.files]
    for wrong in ({"range": object()}, {1: 2}):
        with pytest.raises(TypeError):
            dump_graph("fused", None, metadata=wrong)


def test_nodes_carry_the_path_of_their_module(graphs, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(graphs.Net(), backend="aot_eager")
        compiled(torch.ones(3, 4)).sum().backward()
    # The nodes of backward graphs have no module before torch 2.6.
    for stage in ("captured", "forward", "backward")[: 3 if torch_version() >= (2, 6) else 2]:
        (graph,) = [g for g in session.of(Graph) if g.stage == stage]
        text = session.path(graph.file).read_text()
        assert "        # in self.rest.0 (LayerNorm)\n" in text
        assert "#   self.rest (Sequential)\n#     self.rest." in text
