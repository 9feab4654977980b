"""What a capture has of each compile beside its frames: every stage, kernels, caches, reasons."""

import json
import subprocess
import sys

import pytest
from pellucid import load
from pellucid.dump.model.events import (
    CacheUse,
    Graph,
    GraphRun,
    KernelFile,
    Problem,
    Recompile,
    Skipped,
    Times,
)
from pellucid.torch import prepare_debug
from support import run_env, torch_version


@pytest.fixture
def several(program, dynamo):
    return program("several")


def train(torch, function, *inputs):
    result = torch.compile(function)(*inputs)
    result.sum().backward()


BEFORE_CHECKS = "pre_insert_deferred_runtime_asserts"


def version_of(torch):
    return tuple(map(int, torch.__version__.split(".")[:2]))


def stages_of(session):
    return {graph.stage for graph in session.of(Graph)}


def test_training_shows_every_stage_and_a_cache_hit_shows_the_output(
    several, torch, dynamo, tmp_path, valid_python
):
    def first(x, n):
        return (x * n).sin().relu() @ x

    captures = []
    for name in ("cold", "cached"):
        dynamo.reset()
        with prepare_debug(tmp_path / name) as session:
            train(torch, first, torch.ones(7, 7, requires_grad=True), 3)
        assert session.of(Problem) == []
        assert valid_python(tmp_path / name) == []
        captures.append(session)
    cold, cached = captures
    directions = ("forward", "backward")
    always = {"captured", "joint", "forward", "backward"}
    always |= {f"inductor_{d}" for d in directions}
    passes = {f"after_post_grad_{d}" for d in directions}
    caches = [{use.result for use in session.of(CacheUse)} for session in captures]
    if version_of(torch) >= (2, 8):  # those before it send less, and have their caches off
        passes |= {f"before_post_grad_{d}" for d in directions}
        passes |= {"before_pre_grad", "after_pre_grad", "tensorify_python_scalars"}
        assert caches == [{"miss"}, {"hit"}]
        indexes = [(session.directory / "index.md").read_text() for session in captures]
        assert ["other stages are not listed" in index for index in indexes] == [False, True]
    assert stages_of(cold) >= always | passes
    assert always <= stages_of(cached) <= stages_of(cold), "a hit names its stages like a miss"
    for session in captures:
        programs = {g.file: g.text for g in session.of(Graph) if g.is_program}
        assert set(programs) <= {graph.file for graph in session.running_graphs()}
        kernels = session.of(KernelFile)
        assert kernels and {kernel.program for kernel in kernels} == set(programs)
        for kernel in kernels:
            assert kernel.name in programs[kernel.program]
            assert "extern" in session.path(kernel.file).read_text()
        times = json.loads((session.directory / "times.json").read_text())["times"]
        assert len(times) == len(session.of(Times)) >= 1
        assert times[0]["seconds"]["backend_compile_time"] > 0
    texts = [{g.stage: g.text for g in session.of(Graph)} for session in captures]
    assert texts[0]["joint"] == texts[1]["joint"]


def test_graph_that_a_third_party_formats_is_a_stage(several, torch, tmp_path):
    from torch._dynamo.utils import lazy_format_graph_code

    code = lazy_format_graph_code.__code__

    def backend(graph, inputs):
        text = str(lazy_format_graph_code("after Fusion Pass", graph))
        assert "after Fusion Pass" in text and "sin" in text
        return graph.forward

    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend=backend)(torch.ones(2))
    assert stages_of(session) - {BEFORE_CHECKS} == {"captured", "after_Fusion_Pass"}
    assert "sin" in (tmp_path / "__compiled_fn_0_0.after_Fusion_Pass.py").read_text()
    assert lazy_format_graph_code.__code__ is code


def test_graph_before_its_checks_of_sizes_is_a_stage(torch, dynamo, tmp_path, valid_python):
    def sized_by_data(x):
        n = x.item()
        torch._check(n >= 2)
        return torch.zeros(n) + 1

    with dynamo.config.patch(capture_scalar_outputs=True), prepare_debug(tmp_path) as session:
        torch.compile(sized_by_data, backend="eager", fullgraph=True)(torch.tensor(3))
    texts = {graph.stage: graph.text for graph in session.of(Graph)}
    # Each is named by what it is, and by its compile instead of by Dynamo's name of the function.
    assert set(texts) <= {BEFORE_CHECKS, "captured"} and "captured" in texts
    if version_of(torch) >= (2, 8):  # older releases do not format it
        assert "_assert" not in texts[BEFORE_CHECKS] and "_assert" in texts["captured"]
    assert session.of(Problem) == [] and valid_python(tmp_path) == []


def test_frames_left_alone_have_their_reason(several, torch, dynamo, tmp_path):
    def caught(x):
        try:
            raise ValueError(x.sum().item())
        except ValueError:
            return x + 1

    def numbered(x, n):
        return x * n

    limit = "recompile_limit" if hasattr(dynamo.config, "recompile_limit") else "cache_size_limit"
    with dynamo.config.patch({limit: 2}), prepare_debug(tmp_path) as session:
        torch.compile(caught, backend="eager")(torch.ones(3))
        compiled = torch.compile(numbered, backend="eager", dynamic=False)
        for number in range(4):
            compiled(torch.ones(2), number)
    left = {event.place.function: event.reason for event in session.of(Skipped)}
    item = "Tensor.item()" if torch_version() >= (2, 8) else "Tensor.item"
    assert item in left["caught"]
    if torch_version() >= (2, 6):  # older releases do not say what they leave alone past the limit
        assert "limit" in left["numbered"]
    reasons = [event.reasons[0] for event in session.of(Recompile)]
    if torch_version() >= (2, 6):
        assert reasons and all("n == " in reason for reason in reasons)
    index = (tmp_path / "index.md").read_text()
    assert "## Skipped frames" in index and item in index


def test_configuration_and_versions_are_recorded(several, torch, dynamo, tmp_path):
    with dynamo.config.patch(accumulated_cache_size_limit=7), prepare_debug(tmp_path):
        torch.compile(several.plain, backend="eager")(torch.ones(2))
    record = json.loads((tmp_path / "session.json").read_text())
    assert record["versions"]["torch"] == torch.__version__
    assert "7" in record["configuration"].values(), record["configuration"]


def test_source_is_in_torchs_own_trace_once(torch, tmp_path):
    script = (
        "import sys, torch, pellucid\n"
        "def work(x):\n    torch._dynamo.graph_break()\n    return x + 1\n"
        "with pellucid.prepare_debug(sys.argv[1]), pellucid.prepare_debug(sys.argv[2]) as inner:\n"
        "    torch.compile(work, backend='eager')(torch.ones(2))\n"
        "from pellucid.dump.model.events import Graph\n"
        f"assert {{g.stage for g in inner.of(Graph)}} - {{'{BEFORE_CHECKS}'}} == {{'captured'}}\n"
    )
    trace, dump = tmp_path / "trace", tmp_path / "dump"
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "outer"), str(dump)],
        env={**run_env(), "TORCH_TRACE": str(trace)},
        check=True,
        timeout=300,
    )
    (log,) = trace.iterdir()
    lines = log.read_text().splitlines()
    sent = {}
    for number, line in enumerate(lines):
        metadata = json.loads(line[line.index("{") :]) if line.startswith("V") else {}
        name = metadata.get("artifact", {}).get("name", "")
        if name.startswith("pellucid_"):
            assert metadata["artifact"]["encoding"] == "string" and "frame_id" in metadata
            size = next((n for n, x in enumerate(lines[number + 1 :]) if not x.startswith("\t")), 0)
            payload = lines[number + 1 :][: size or None]
            assert name not in sent
            sent[name] = "\n".join(text[1:] for text in payload).strip()
    files = {
        f"pellucid_{path.stem.strip('_')}": path.read_text().strip()
        for path in dump.glob("__transformed_code_*.py")
    }
    assert len(files) == 2 and sent == files


@pytest.mark.skipif(torch_version() < (2, 15), reason="torch.compiler.precompile is newer")
def test_what_precompile_writes_and_loads_runs_from_its_file(torch, dynamo, tmp_path):
    def work(model, x):
        return model(x).relu() + 1

    precompile, paths = torch.compiler.precompile, (tmp_path / "work.py", tmp_path / "work.cache")
    model, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
    with torch.no_grad(), prepare_debug(tmp_path / "dump"):
        captured = precompile.capture(
            work, artifact_path=paths[0], cache_path=paths[1], backend="eager"
        )
        with captured as capture:
            expected = capture(model, x)
        loaded = precompile.load(*paths)
        assert torch.equal(loaded(model, x), expected)
    dump = load(tmp_path / "dump")
    written = {(str(graph.key), graph.file) for graph in dump.of(Graph) if graph.is_program}
    names = [f"__compiled_fn_{kind}0_0.precompiled.py" for kind in "PL"]
    assert written == {("P0/0", names[0]), ("L0/0", names[1])}
    assert [(run.file, run.runs) for run in dump.of(GraphRun)] == [(name, True) for name in names]
    forward = loaded._loaded_forward
    assert forward.__code__.co_filename == str(tmp_path / "dump" / names[1])
    text = (tmp_path / "dump" / names[1]).read_text()
    assert text.splitlines()[forward.__code__.co_firstlineno - 1].startswith("def forward(")
