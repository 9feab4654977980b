"""The nodes of dumped graphs are those of the graphs, and the kernels' names lead to them."""

import operator
import shutil

import pellucid
import pytest
from pellucid.dump.model.events import ExternCall, Graph, KernelFile, Place
from pellucid.dump.model.graph_text import graph_hash, nodes_of_text
from pellucid.dump.model.program_text import add_origins, kernels_of_text
from pellucid.dump.model.provenance import resolve, resolve_by_name
from pellucid.torch import dump_graph, prepare_debug

NESTED = """\
# a file
import torch


class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 4][4, 1]cpu", s0: "Sym(s0)", dim: "i64[]"):
        l_x_ = L_x_

        # File: /home/me/f.py:7 in forward, code: return cond(x.sum() > 0, f, g, (x,))
        total: "f32[][]cpu" = torch.sum(l_x_, dim = 1)
        positive: "b8[][]cpu" = total > 0;  total = None
        true = self.true_0
        other = self.false_0
        result = torch.ops.higher_order.cond(positive, true, other, (l_x_,));  true = None
        getitem: "f32[s0, 4][4, 1]cpu" = result[0];  result = None

        # No stacktrace found for following nodes
        getitem += dim;  add_: "f32[s0, 4][4, 1]cpu" = getitem;  getitem = dim = None
        add_[0] = l_x_;  setitem = add_;  setitem = None
        text = add_.to("l_x_ in quotes", torch.float64)
        layer: "f32[4]" = self.layers.deep(text)
        numbered = getattr(self.layers, "0")(layer)
        return (numbered, s0)

    class true_0(torch.nn.Module):
        def forward(self, l_x_: "f32[s0, 4][4, 1]cpu"):
            # Backward of forward node: File: /home/me/f.py:3 in f, code: return x.sin()
            total: "f32[s0, 4][4, 1]cpu" = l_x_.sin();  l_x_ = None
            return (total,)


def example_inputs():
    x = 3
"""


def test_everything_that_the_text_says_is_read():
    nodes = {(node.graph, node.name): node for node in nodes_of_text(NESTED)}
    assert [name for graph, name in nodes if not graph] == [
        *("l_x_", "s0", "dim", "total", "positive", "true", "other", "result", "getitem"),
        *("add_", "setitem", "text", "layer", "numbered", "output"),
    ]
    told = {name: (n.op, n.target, n.args) for (graph, name), n in nodes.items() if not graph}
    assert told["l_x_"] == ("placeholder", "L_x_", ())
    assert told["total"] == ("call_function", "torch.sum", ("l_x_",))
    assert told["positive"] == ("call_function", "operator.gt", ("total",))
    assert told["true"] == ("get_attr", "true_0", ())
    assert told["result"][2] == ("positive", "true", "other", "l_x_")
    assert told["getitem"] == ("call_function", "operator.getitem", ("result",))
    assert told["add_"] == ("call_function", "operator.iadd", ("getitem", "dim"))
    assert told["setitem"] == ("call_function", "operator.setitem", ("add_", "l_x_"))
    assert told["text"] == ("call_method", "to", ("add_",))
    assert told["layer"] == ("call_module", "layers.deep", ("text",))
    assert told["numbered"] == ("call_module", "layers.0", ("layer",))
    assert told["output"] == ("output", "output", ("numbered", "s0"))
    x = nodes["", "l_x_"]
    assert (x.shape, x.stride, x.dtype, x.device) == (("s0", "4"), ("4", "1"), "float32", "cpu")
    assert nodes["", "total"].place == Place("/home/me/f.py", 7, "forward")
    assert nodes["", "add_"].place is None and nodes["", "total"].shape == ()
    inner = nodes["true_0", "total"]
    assert inner.place == Place("/home/me/f.py", 3, "f") and inner.args == ("l_x_",)
    lines = NESTED.split("\n")
    for (_, name), node in nodes.items():
        assert name in lines[node.line - 1] or name == "output"
    assert "return" in lines[nodes["", "output"].line - 1]


def test_hash_knows_operations_sizes_and_edges_but_no_names():
    def hash_of(text):
        return graph_hash(nodes_of_text(text), text.split("\n"))

    renamed = NESTED.replace("total", "sum_1").replace("f.py:7", "f.py:9")
    assert hash_of(renamed) == hash_of(NESTED)
    for old, new in [("s0, 4]", "s0, 5]"), ("torch.sum", "torch.mean"), ("> 0", "> 1")]:
        assert hash_of(NESTED.replace(old, new)) != hash_of(NESTED)
    assert hash_of(NESTED.replace("(numbered, s0)", "(layer, s0)")) != hash_of(NESTED)


def test_inputs_that_come_in_lists_are_read():
    graph = (
        "class inner_f(torch.nn.Module):\n    def forward(\n        self,\n        primals,\n"
        '        tangents,\n    ):\n        primals_1: "f32[2][1]cpu"  # PlainAOTInput(idx=0)\n'
        '        tangents_1: "f32[2][1]cpu"  # Tangent\n        primals_1, tangents_1, = '
        "fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
        '        mul: "f32[2][1]cpu" = torch.ops.aten.mul.Tensor(tangents_1, primals_1)\n'
        "        return pytree.tree_unflatten([mul, None], self._out_spec)\n"
    )
    nodes = nodes_of_text(graph)
    assert [(n.name, n.op, n.line) for n in nodes] == [
        ("primals_1", "placeholder", 7),
        ("tangents_1", "placeholder", 8),
        ("mul", "call_function", 10),
        ("output", "output", 11),
    ]
    assert nodes[2].args == ("tangents_1", "primals_1") and nodes[3].args == ("mul",)


def test_nodes_are_those_of_the_graph_module(torch, tmp_path):
    class Inner(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
            self.scale = torch.nn.Parameter(torch.ones(4))

        def forward(self, x, dim=1, *rest):
            y = self.layers(x) @ x * self.scale
            z = torch.stack([y, -y, y**2], dim=dim)
            z = torch.nn.functional.softmax(z, dim=-1)[:, None, ..., 1:]
            return {"a": z.reshape(-1), "b": operator.floordiv(z, 2), "c": z.T}

    graph = torch.fx.symbolic_trace(Inner())
    with prepare_debug(tmp_path) as session:
        session.warns_when_empty = False
        file = dump_graph("traced", graph)
    assert file is not None
    nodes, lines = pellucid.load(tmp_path).nodes(file.name), file.read_text().split("\n")
    assert [n.name for n in nodes] == [n.name for n in graph.graph.nodes]
    for node, read in zip(graph.graph.nodes, nodes):
        assert (node.op, set(map(str, node.all_input_nodes))) == (read.op, set(read.args))
        if node.op in ("call_module", "call_method", "get_attr"):
            assert read.target == node.target
        elif node.op == "call_function":
            assert read.target.rpartition(".")[2] == node.target.__name__
        assert (
            read.op == "output"
            or str(node.target).lstrip("*") in lines[read.line - 1]
            or (read.name in lines[read.line - 1])
        )


PROGRAM = '''\
# AOT ID: ['0_forward']
# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.add]
# Graph fragment:
#   %arg0_1 : Tensor "f32[4]" = PlaceHolder[target=arg0_1]
#   %add : Tensor "f32[4]" = call_function[target=torch.ops.aten.add.Tensor](args = (%arg0_1,))
triton_poi_fused_0 = async_compile.triton('triton_poi_fused_0', """
def kernel():
    extern_kernels.not_a_call(x)
""", device_str='cuda')


cpp_fused_1 = async_compile.cpp_pybinding(['float*'], r"""
int x;
""")


class Runner:
    def call(self, args):
        arg0, = args
        with torch.cuda._DeviceGuard(0):
            buf0 = empty_strided_cuda((4, ), (1, ), torch.float32)
            # Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.add]
            stream0 = get_raw_stream(0)
            triton_poi_fused_0.run(arg0, buf0, 4, stream=stream0)
            # Topologically Sorted Source Nodes: [z], Original ATen: [aten.mm]
            extern_kernels.mm(buf0, arg0, out=buf1)
            cpp_fused_1(buf1, buf2)
            cpp_fused_1(buf2, buf3)
        return (buf2, )


def benchmark_compiled_module(times=10):
    extern_kernels.mm(arg0, arg0, out=buf0)
'''


def test_kernels_are_read_with_their_calls_and_nodes():
    triton, cpp, extern = found = kernels_of_text(PROGRAM)
    assert (triton.name, triton.kind, triton.line) == ("triton_poi_fused_0", "triton", 6)
    assert (triton.calls, triton.nodes) == ([24], ["x", "y"])
    assert triton.generated_from == ["arg0_1", "add"]
    assert (cpp.kind, cpp.line, cpp.calls, cpp.nodes) == ("cpp_pybinding", 12, [27, 28], [])
    assert (extern.name, extern.calls, extern.nodes) == ("extern_kernels.mm", [26], ["z"])
    buffers = {"buf1": ("op1", ("mm",)), "buf2": ("op2", ("a", "b")), "buf3": ("op3", ("a",))}
    add_origins(found, buffers)
    assert extern.generated_from == ["mm"] and cpp.generated_from == ["a", "b"]
    assert kernels_of_text("int main() { return 0; }") == ()


@pytest.fixture(scope="module")
def demo(torch, tmp_path_factory):
    """The demo's dump, compiled without a cache, for only then Inductor tells what it knows."""
    from pellucid.torch.api.demo import main

    if not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("Inductor needs a C++ compiler")
    torch._dynamo.reset()
    directory = tmp_path_factory.mktemp("demo")
    with torch._inductor.config.patch(force_disable_caches=True):
        assert main(str(directory)) == 0
    torch._dynamo.reset()
    return pellucid.load(directory)


def test_every_name_in_the_programs_comments_leads_to_a_line_of_the_user(demo):
    calls = [*demo.of(KernelFile), *demo.of(ExternCall)]
    commented = sum(demo.text(g.file).count("Source Nodes: [") for g in demo.of(Graph))
    assert commented > 20
    assert sum(len(call.calls) for call in demo.of(KernelFile) if call.nodes) + sum(
        bool(call.nodes) for call in demo.of(ExternCall)
    ) == sum(demo.text(g.file).count("Source Nodes: [") for g in demo.of(Graph))
    for call in calls:
        found = resolve_by_name(demo, call)
        assert [one.name for one in found] == list(call.nodes)
        for one in found:
            assert one.node.place is not None and one.node.place.file.endswith("demo_model.py")
            assert one.node.name in demo.text(one.file).split("\n")[one.node.line - 1]


def test_every_call_of_a_kernel_leads_to_nodes_and_a_line_of_the_user(demo, torch):
    calls = [*demo.of(KernelFile), *demo.of(ExternCall)]
    assert len(calls) > 40
    for call in calls:
        found = resolve(demo, call)
        assert any(one.node.place for one in found), call
        for line in getattr(call, "calls", None) or (call.line,):
            assert call.name in demo.text(call.program).split("\n")[line - 1]
        if call.exact:
            assert {one.how for one in found} == {"exact"} and len(found) == len(call.exact)
    assert all(call.exact for call in calls)


def test_graphs_that_a_pass_did_not_change_have_one_hash(demo):
    hashes = {(g.key.id, g.stage): g.hash for g in demo.of(Graph)}
    assert hashes["0/0", "captured"] == hashes["0/0", "before_pre_grad"] != ""
    assert hashes["0/0", "captured"] != hashes["0/0", "joint"]
    assert {hash for (_, stage), hash in hashes.items() if stage.startswith("inductor")} == {""}
