"""A dump that is read back says what the session knew when it was written."""

import dataclasses
import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pellucid
import pytest
from pellucid.dump.model import events
from pellucid.dump.model.capture import NODES
from pellucid.dump.model.events import (
    CacheUse,
    Frame,
    Graph,
    Recompile,
    Source,
    Span,
    Started,
    Times,
    Unknown,
)
from pellucid.dump.model.nodes import Node, nodes_from_bytes, nodes_to_bytes
from pellucid.dump.store.load import captures_below, load_all
from pellucid.dump.store.record import RECORD, record_text, times_text
from pellucid.dump.store.values import value_of
from pellucid.torch import prepare_debug
from pellucid.torch.capture.spans import SpanReader
from support import run_env


def kinds():
    """Every class of which an event is or consists."""
    found = [kind for kind in vars(events).values() if dataclasses.is_dataclass(kind)]
    return sorted(found, key=lambda kind: kind.__name__)


def write(directory, **changes):
    """Write a record that has no events, with changes."""
    record = {"tool": "pellucid", "schema": 2, "events": [], "caches": [], "files": [RECORD]}
    directory.mkdir(exist_ok=True, parents=True)
    (directory / RECORD).write_text(json.dumps({**record, **changes}), encoding="utf-8")
    return directory


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_field_can_be_read(kind):
    with pytest.raises(ValueError, match=kind.__name__):
        value_of(kind, [])  # what reads its fields is made all the same


def without_files(value):
    """The same value, or table of values, where what lies in files is as it is when read back."""
    if isinstance(value, (tuple, list)):
        return tuple(map(without_files, value))
    if not dataclasses.is_dataclass(value):
        return value
    changes = {}
    for field in dataclasses.fields(value):
        if not field.metadata.get("in_file"):
            changes[field.name] = without_files(getattr(value, field.name))
        elif field.default is not dataclasses.MISSING:
            changes[field.name] = field.default
        else:
            changes[field.name] = "" if field.type == "str" else None
    return dataclasses.replace(value, **changes)


def test_what_is_loaded_is_what_the_session_knew(program, dynamo, torch, tmp_path):
    several = program("several")
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(several.sized, backend="aot_eager", dynamic=False)
        compiled(torch.ones(3, requires_grad=True)).sum().backward()
        compiled(torch.ones(4))
        torch.compile(several.closes(torch.ones(2)), backend="eager")(torch.ones(2))
    known, found = session.snapshot(), pellucid.load(tmp_path)
    assert {type(event) for event in found.events} >= {Frame, Graph, Recompile}
    kept = ("text", "components")  # these are put back
    for one, other in zip(known.events, found.events):
        for name in kept:
            if name in {f.name for f in dataclasses.fields(one)} and not isinstance(one, Graph):
                assert getattr(one, name) == getattr(other, name)
        assert without_files(one) == without_files(other)
    assert len(known.events) == len(found.events)
    assert without_files(found.times) == known.times != ()
    for caches in (known.caches, found.caches):
        assert {n: without_files(e) for n, e in caches.items()} == {
            n: without_files(e) for n, e in found.caches.items()
        }
    guards = [g for entries in found.caches.values() for entry in entries for g in entry.guards]
    assert guards == [g for entries in known.caches.values() for e in entries for g in e.guards]
    check_guards(found)
    for name in ("directory", "schema", "versions", "configuration", "files", "rank", "process"):
        assert getattr(known, name) == getattr(found, name), name
    assert found.schema == 2 and found.rank is None
    assert record_text(found) == record_text(known) == (tmp_path / RECORD).read_text()
    assert times_text(found) == times_text(known)
    graph = found.of(Graph)[0]
    assert found.text(graph.file) == (tmp_path / graph.file).read_text() != ""
    assert found.text("../secret") == found.text("gone.py") == ""
    assert Times not in {type(event) for event in found.events}


def check_guards(capture):
    """Each guard stands on its line of the full code, and those of the user's lead to them."""
    frames = {frame.function: frame for frame in capture.of(Frame)}
    placed = 0
    for function, entries in capture.caches.items():
        name = f"full_code_for_{frames[function].place.function}_{function}.py"
        lines = capture.text(name).split("\n")
        for guard in (guard for entry in entries for guard in entry.guards):
            assert lines[guard.line - 1].strip().startswith("yield "), guard
            assert guard.expression is None or guard.expression in lines[guard.line - 1]
            placed += guard.place is not None
            if guard.place is not None:
                assert guard.place.file == frames[function].place.file
                assert f"{guard.place.line} in {guard.place.function}" in guard.user_line
    assert placed


def test_lines_of_a_transformed_file_lead_to_graphs_to_what_goes_on_and_to_the_break(
    program, dynamo, torch, tmp_path
):
    several = program("several")
    with prepare_debug(tmp_path):
        torch.compile(several.closes(torch.ones(2)), backend="eager")(torch.ones(2))
    capture = pellucid.load(tmp_path)
    first, second = capture.of(Frame)
    lines = capture.text(first.file).split("\n")
    links = {link.kind: link for link in first.links}
    (called,) = [link for link in second.links if link.kind == "graph"]
    assert capture.text(called.target).startswith("# compile [1/0]")
    assert "__compiled_fn_1_0(" in capture.text(second.file).split("\n")[called.line - 1]
    assert links["resume"].target == second.file and second.parent == "0/0"
    assert "__resume_at_" in lines[links["resume"].line - 1]
    assert first.parent == ""
    file, _, line = links["user"].target.rpartition(":")
    assert "graph_break" in Path(file).read_text().split("\n")[int(line) - 1]
    sources = {source.file: source for source in capture.of(Source)}
    assert sources.keys() == {several.__file__, __file__}  # the calls that led there are here
    source = sources[several.__file__]
    assert source.text == Path(several.__file__).read_text() and source.file == several.__file__
    assert source.sha256 == hashlib.sha256(source.text.encode()).hexdigest()
    assert {started.stack[-1].file for started in capture.of(Started)} == {several.__file__}
    # Of the first torch cuts the call.
    assert __file__ in {place.file for place in capture.of(Started)[1].stack}


def test_of_a_large_file_the_functions_are_kept_that_were_compiled(dynamo, torch, tmp_path):
    padding = "\n".join(f"UNUSED_{number} = {number}" for number in range(12_000))
    code = f"def small(x):\n    return x + 1\n{padding}\ndef other(x):\n    return x\n"
    path = tmp_path / "large.py"
    path.write_text(code)
    space = {"__name__": "large"}
    exec(compile(code, str(path), "exec"), space)
    with prepare_debug(tmp_path / "dump"):
        torch.compile(space["small"], backend="eager")(torch.ones(2))
    sources = pellucid.load(tmp_path / "dump").of(Source)
    (large,) = [source for source in sources if source.file == str(path)]
    assert (large.first, large.text) == (1, "def small(x):\n    return x + 1\n")
    assert large.sha256 == hashlib.sha256(code.encode()).hexdigest()


def test_loading_needs_no_torch(tmp_path):
    write(tmp_path)
    code = "import sys, pellucid; pellucid.load(sys.argv[1]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=run_env())


def test_a_newer_schema_is_read_as_far_as_it_is_known(tmp_path):
    place = {"file": "f.py", "line": 3, "function": "f", "column": 7}
    started = {"event": "Started", "key": {"id": "0/0", "epoch": 0}, "place": place, "mood": "good"}
    dream = {"event": "Dream", "of": ["sheep", {"electric": True}]}
    found = pellucid.load(write(tmp_path, schema=9, events=[started, dream], weather="fine"))
    key = events.CompileKey("0/0")
    assert found.events == (
        events.Started(key, events.Place("f.py", 3, "f")),
        Unknown("Dream", {"of": ["sheep", {"electric": True}]}),
    )
    assert found.schema == 9
    assert '{"event": "Dream", "of": ["sheep", {"electric": true}]}' in record_text(found)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[" * 100_000, "not JSON: "),
        ("[]", "not written by pellucid"),
        ('{"tool": "pylint", "schema": 1}', "not written by pellucid"),
        ('{"tool": "pellucid"}', "it has no schema version"),
        ('{"tool": "pellucid", "schema": 1}', "TypeError: "),
        ('{"tool": "pellucid", "schema": 1, "events": [{}]}', "KeyError: 'event'"),
        (
            '{"tool": "pellucid", "schema": 1, "events": [{"event": "GraphRun", "file": 3}]}',
            "event 0: GraphRun.file: 3 is not of type str",
        ),
        (
            '{"tool": "pellucid", "schema": 1, "events": [{"event": "Started"}]}',
            "event 0: Started.key is missing",
        ),
    ],
)
def test_what_is_no_dump_is_refused_in_one_line(tmp_path, text, reason):
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(pellucid.NotADump) as caught:
        pellucid.load(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / RECORD}: {reason}")
    assert "\n" not in str(caught.value)


def test_where_there_is_no_dump_the_error_says_what_there_is(tmp_path):
    with pytest.raises(pellucid.NotADump, match="missing: no such directory"):
        pellucid.load(tmp_path / "missing")
    with pytest.raises(pellucid.NotADump, match=r"not a capture: no session\.json\. Pass "):
        pellucid.load(tmp_path)
    for name in ("rank_10", "rank_2", "rank_2/process_1", "unrelated/deep", "job/fork"):
        write(tmp_path / name)
    write(tmp_path / "job")
    expected = ("job", "job/fork", "rank_2", "rank_2/process_1", "rank_10")
    assert captures_below(tmp_path) == expected
    with pytest.raises(pellucid.NotADump, match=r"There are captures in job, job/fork, rank_2, "):
        pellucid.load(tmp_path)
    assert [c.directory for c in load_all(tmp_path)] == [tmp_path / name for name in expected]
    write(tmp_path)
    assert pellucid.load(tmp_path / RECORD).others == expected
    assert len(load_all(tmp_path)) == 6


def test_nodes_are_read_back_and_take_the_same_bytes_each_time(tmp_path):
    linear = (("self.a", "Linear"), ("self.a.b", "ReLU"))
    place = events.Place("/home/f.py", 7, "forward")
    nodes = {
        "g.py": (
            Node("x", "placeholder", "x", 8, None, ("s0", "4"), "float32", "cpu", ("4", "1")),
            Node("add", "call_function", "operator.add", 9, place, args=("x",), module=linear),
        ),
        "empty.py": (),
    }
    data = nodes_to_bytes(nodes)
    assert nodes_from_bytes(data) == nodes
    assert data == nodes_to_bytes(dict(nodes))
    (write(tmp_path) / NODES).write_bytes(data)
    assert pellucid.load(tmp_path).nodes("g.py") == nodes["g.py"]
    for broken in (b"", data[:20], gzip.compress(b"[]"), gzip.compress(b'{"places": 3}')):
        with pytest.raises(ValueError):
            nodes_from_bytes(broken)
        (tmp_path / NODES).write_bytes(broken)
        assert pellucid.load(tmp_path).nodes("g.py") == ()


def test_spans_are_paired_by_name_and_thread():
    reader, key = SpanReader(1000.0), events.CompileKey("0/0")

    def event(name, phase, second, thread=70):
        return reader.take(key, {"name": name, "ph": phase, "ts": (1000 + second) * 1e6}, thread)

    assert [event("a", "B", 1), event("b", "B", 2), event("c", "B", 3)] == [None] * 3
    assert event("b", "E", 4) == Span(key, "b", 2.0, 2.0)  # c ended with an exception
    assert event("c", "E", 5) is event("i", "i", 5) is None
    assert event("a", "E", 6.5) == Span(key, "a", 1.0, 5.5)
    assert event("a", "B", 7) is event("a", "B", 8, thread=71) is None
    assert event("a", "E", 9, thread=71) == Span(key, "a", 8.0, 1.0, thread=1)
    assert event("a", "E", 10) == Span(key, "a", 7.0, 3.0)
    assert reader.take(key, '{"name": "a"}', 70) is None


def test_a_capture_tells_when_each_part_was_compiled_and_how_it_used_the_caches(
    program, dynamo, torch, tmp_path
):
    several = program("several")
    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain)(torch.ones(3))
    capture = pellucid.load(tmp_path)
    spans = {span.name: span for span in capture.spans}
    whole, part = spans["dynamo"], spans["backend_compile"]
    assert whole.start <= part.start
    assert part.start + part.seconds <= whole.start + whole.seconds + 0.01
    assert {span.key.id for span in capture.spans} <= {"0/0", None}
    (use,) = [use for use in capture.of(CacheUse) if use.cache == "fx_graph_cache"]
    assert len(use.cache_key) > 20
    if use.result == "miss":
        assert any("] gm: " in line for line in use.components)
    assert capture.of(CacheUse) == session.of(CacheUse)
    assert Span not in {type(event) for event in capture.events}
