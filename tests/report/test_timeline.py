"""When the parts of the compiler worked: the flame, its sums, and the trace for Perfetto."""

import json
from pathlib import Path
from typing import Any, List

import pytest
from dumps import TOY, write
from pellucid import load
from pellucid.dump.model.events import CompileKey, Metrics, Place, Span, Started
from pellucid.dump.model.phases import OWNERS
from pellucid.dump.store.session import Session
from pellucid.report import write_trace
from pellucid.report.timeline import compiles_of, flame_of, sums_of, trace_of
from pellucid.torch.capture.spans import take

RECORDED = [
    ("B", "inductor_compile", {}),
    ("B", "mm_template_autotuning", {"autotune_shape": "64x32, 32x8"}),
    ("B", "benchmark", {}),  # an exception ends it without a word
    (
        "E",
        "mm_template_autotuning",
        {
            "autotune_shape": "64x32, 32x8",
            "autotune_choices_stats": json.dumps(
                {"num_choices": 20, "best_kernel": "triton_mm_7", "best_time": 0.0061}
            ),
        },
    ),
    ("E", "inductor_compile", {}),
    ("B", "CUDAGraphNode.record", {"compile_id": "0/0"}),
    ("E", "CUDAGraphNode.record", {"compile_id": "0/0"}),
    ("B", "compile_file", {"compile_id": "None"}),
    ("E", "compile_file", {"compile_id": "None"}),
]


def test_recorded_events_say_what_was_measured_and_for_which_compile(tmp_path: Path) -> None:
    session = Session(tmp_path)
    for number, (phase, name, given) in enumerate(RECORDED):
        event = {"name": name, "ph": phase, "ts": (session.opened + number) * 1e6, "args": given}
        key = CompileKey("0/0" if number < 5 else None)
        take(session, key, json.dumps(event) if number % 2 else event, 0)
    found = {span.name: span for span in session.of(Span)}
    assert list(found) == [
        *("mm_template_autotuning", "inductor_compile", "CUDAGraphNode.record", "compile_file")
    ]
    about = "64x32, 32x8: triton_mm_7 is the best of 20 candidates, 0.0061 ms"
    assert found["mm_template_autotuning"].about == about
    assert found["CUDAGraphNode.record"].key == CompileKey("0/0")
    assert found["compile_file"].key == CompileKey(None)
    capture = session.snapshot()
    assert any(row[6].endswith(about) for row in flame_of(capture))
    assert about in json.dumps(trace_of([("", capture)]))


def spans(*rows: tuple) -> List[Span]:
    return [
        Span(CompileKey(key), name, at, seconds, thread) for key, name, at, seconds, thread in rows
    ]


def timed(tmp_path: Path, **more: object) -> Any:
    """A capture of two compiles with an hour between, of which one was begun twice."""
    parts = spans(
        ("0/0", "dynamo", 1.0, 4.0, 0),
        ("0/0", "compile_attempt_0", 1.0, 1.0, 0),
        ("0/0", "compile_attempt_1", 2.0, 3.0, 0),
        ("0/0", "build_guards", 4.0, 0.5, 0),
        (None, "compile_file", 2.0, 1.0, 1),
        ("1/0", "dynamo", 3600.0, 1.0, 0),
    )
    started = Started(CompileKey("0/0"), Place(TOY, 1, "toy"))
    again = Metrics(CompileKey("0/0"), {"restart_reasons": ["a list was changed"]})
    return load(write(tmp_path, [started, again], {}, spans=tuple(parts), **more))


def test_times_of_parts_add_up_and_idle_time_is_left_out(tmp_path: Path) -> None:
    capture = timed(tmp_path)
    rows = {row[1]: row for row in flame_of(capture)}
    assert rows["builds the guards"][2:6] == [3.0, 0.5, 2, OWNERS.index("Dynamo")]
    assert rows["[1/0]"][2] == 4.0  # not an hour later
    assert rows["runs the C++ compiler"][4] == 3  # below the rows of the other thread
    assert rows["[0/0] :1 toy"][6].endswith("(dynamo), 4.000 s, 0.000 s without its parts")
    sums = {row["does"]: row for row in sums_of(capture)}
    assert sum(row["seconds"] for row in sums.values()) == pytest.approx(5.0)
    assert sums["builds the guards"]["seconds"] == 0.5 and "runs the C++ compiler" not in sums
    first, second = compiles_of(capture)
    assert (first["seconds"], first["again"], first["lost"]) == (4.0, 1, 1.0)
    assert first["why"] == "a list was changed" and second["again"] == 0


def test_trace_is_what_perfetto_reads(tmp_path: Path) -> None:
    one, two = timed(tmp_path / "rank_0", rank=0), timed(tmp_path / "rank_1", rank=1)
    path = write_trace([tmp_path], tmp_path / "trace.json")
    assert json.loads(path.read_text()) == trace_of([("rank 0", one), ("rank 1", two)])
    events = json.loads(path.read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    assert len(complete) == 12 and {event["pid"] for event in complete} == {0, 1}
    guards = next(event for event in complete if event["name"] == "build_guards")
    assert (guards["ts"], guards["dur"], guards["pid"]) == (4e6, 0.5e6, 0)
    assert guards["args"]["line"] == f"{TOY}:1" and guards["args"]["frame"].startswith("[0/0] toy")
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names[0, guards["tid"]] == "[0/0] toy (toy.py:1)"
    assert {(event["pid"], event["tid"]) for event in complete} == set(names)
    titles = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert titles == ["rank 0", "rank 1"]
    for event in complete:  # what overlaps in a thread is nested, or Perfetto drops it
        for other in complete:
            if (event["pid"], event["tid"]) == (other["pid"], other["tid"]):
                first, last = sorted([event, other], key=lambda e: (e["ts"], -e["dur"]))
                end = first["ts"] + first["dur"]
                assert last["ts"] >= end or last["ts"] + last["dur"] <= end
