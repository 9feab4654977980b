"""What a dump says is documented, and a dump of the first schema is still read and still runs."""

import subprocess
from pathlib import Path

import gen_schema
import pellucid
import pytest
from pellucid.dump.model.events import Break, CompileKey, Frame, Graph, Place, Recompile
from support import run_env, warm_python

OLD = Path(__file__).resolve().parent / "schema_1"


def test_every_field_is_documented():
    assert gen_schema.undocumented() == []


def test_document_is_what_the_classes_say():
    written = gen_schema.DOCUMENT.read_text(encoding="utf-8")
    assert written == gen_schema.document(), "run python tools/gen_schema.py"


def test_dump_of_the_first_schema_is_read():
    capture = pellucid.load(OLD)
    assert capture.schema == 1 and capture.rank is None and capture.spans == ()
    first = capture.of(Frame)[0]
    assert (first.key, first.place) == (CompileKey("0/0"), Place("/home/me/toy.py", 4, "toy"))
    assert first.links == () and first.parent == ""
    assert len(capture.of(Recompile)) == 2 and len(capture.times) == 4
    assert "Data-dependent branching" in capture.of(Break)[0].title
    assert [entry.key.id for entry in capture.caches[0]] == ["0/1", "0/0"]
    guards = [guard for entry in capture.caches[0] for guard in entry.guards]
    assert Place("/home/me/toy.py", 5, "toy") in {guard.place for guard in guards}


def test_nodes_of_the_first_schema_are_read_from_the_text():
    capture = pellucid.load(OLD)
    (graph,) = [g for g in capture.of(Graph) if g.key.id == "0/0"]
    nodes = {node.name: node for node in capture.nodes(graph.file)}
    assert nodes["x"].args == ("l_a_", "add") and nodes["x"].target == "operator.truediv"
    assert nodes["x"].place == Place("/home/me/toy.py", 5, "toy")
    assert nodes["l_a_"].op == "placeholder" and nodes["l_a_"].shape == ("3",)
    line = capture.text(graph.file).split("\n")[nodes["x"].line - 1]
    assert line.strip().startswith('x: "f32[3][1]cpu" = l_a_ / add')


@pytest.mark.parametrize("path", sorted(OLD.glob("*.py")), ids=lambda path: path.name)
def test_file_of_the_first_schema_still_runs(path, torch):
    code = "import runpy, sys; runpy.run_path(sys.argv[1])"
    done = subprocess.run(
        [warm_python(), "-c", code, str(path)], env=run_env(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
