"""What a capture records, what it leaves alone, and what it says when there is nothing."""

import contextlib
import gc
import inspect
import json
import os
import subprocess
import sys
import threading

import pytest
from pellucid import load
from pellucid.dump.model.events import Break, Frame, Graph, Problem, Recompile, Started, Verdict
from pellucid.dump.store.session import Session
from pellucid.torch import prepare_debug
from pellucid.torch.dynamo import rewrite as rewriting
from pellucid.torch.taps import hooks
from pellucid.torch.taps.compat import Capability
from support import PROGRAMS, run_env, torch_version


@pytest.fixture
def several(program, dynamo):
    return program("several")


def line_of(function, word):
    """The line of a function's source that has the word."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if word in line)


def test_recompile_is_recorded_with_the_guard_that_failed(several, torch, tmp_path):
    compiled = torch.compile(several.sized, backend="eager", dynamic=False)
    with prepare_debug(tmp_path) as session:
        compiled(torch.ones(3))
        compiled(torch.ones(4))
    assert [frame.key.id for frame in session.of(Frame)] == ["0/0", "0/1"]
    (recompile,) = session.of(Recompile)
    if torch_version() < (2, 6):  # its trace has none
        assert "recompiled frames: 1" in session.of(Problem)[0].what
        assert recompile.reasons == ("this torch: its trace gives no reason",)
        return
    assert "size mismatch at index 0. expected 3, actual 4" in recompile.reasons[0]
    assert "expected 3, actual 4" in (tmp_path / "index.md").read_text()


def test_graph_break_is_recorded_with_its_reason(several, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        torch.compile(several.closes(torch.ones(2)), backend="eager")(torch.ones(2))
    (stop,) = session.of(Break)
    assert "torch._dynamo.graph_break()" in stop.text or "graph_break" in stop.title
    assert f"several.py:{line_of(several.closes, 'graph_break')}" in stop.title
    assert stop.key.id == "0/0"
    assert session.of(Problem) == []


def test_a_graph_break_after_which_nothing_is_left_to_do_is_recorded(
    several, torch, tmp_path, observed
):
    def returns(x):
        return several.broken(x + 1)

    with prepare_debug(tmp_path) as session:
        torch.compile(returns, backend="eager")(torch.ones(2))
        torch.compile(returns, backend="eager")(torch.ones(3))
        # Functions that torch does not look into get a frame of torch's own around them.
        torch.compile([].append, backend="eager")(torch.ones(2))
    counted = sum(observed()["graph breaks"].values())
    assert len(session.of(Break)) == counted >= 2
    assert len({stop.key for stop in session.of(Break)}) == counted


def test_exception_of_the_program_is_the_same(several, torch, tmp_path):
    def message():
        with pytest.raises(ValueError) as caught:
            torch.compile(several.raises, backend="eager")(torch.ones(2))
        return str(caught.value)

    without = message()
    torch._dynamo.reset()
    with prepare_debug(tmp_path):
        assert message() == without == "the sum is 4.0"
    assert (tmp_path / "session.json").exists()


def test_exception_of_ours_never_reaches_the_program(several, torch, tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken at 0x7f0011223344")

    monkeypatch.setattr("pellucid.torch.capture.frames.rewrite", broken)
    with pytest.warns(RuntimeWarning, match="broken at") as caught, prepare_debug(
        tmp_path
    ) as session:
        result = torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert result.tolist() == [1.0, 1.0]
    assert [p.what for p in session.of(Problem)] == ["RuntimeError: broken at 0x…"]
    assert len([w for w in caught if "pellucid" in str(w.message)]) == 1
    assert "broken at" in (tmp_path / "index.md").read_text()


def test_unproven_code_does_not_run_and_the_file_says_so(several, torch, tmp_path, monkeypatch):
    def unproven(code, tag, *context):
        return rewriting.Rewriting(
            code, "def plain(x):\n    return 3", Verdict("unproven", "a test")
        )

    monkeypatch.setattr("pellucid.torch.capture.frames.rewrite", unproven)
    with prepare_debug(tmp_path) as session:
        result = torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert result.tolist() == [1.0, 1.0]
    (frame,) = session.of(Frame)
    assert not frame.swapped
    head = (tmp_path / frame.file).read_text().splitlines()[:2]
    assert "unproven: a test" in head[0]
    assert "NOT RUNNING" in head[1]


def test_swapped_code_is_the_file_on_disk(several, torch, tmp_path):
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    (frame,) = session.of(Frame)
    assert frame.verdict.proven, frame.verdict
    (entry,) = _debug_get_cache_entry_list(several.plain.__code__)
    path = tmp_path / frame.file
    assert entry.code.co_filename == str(path)
    lines = path.read_text().splitlines()
    assert lines[entry.code.co_firstlineno - 1].startswith("def plain(x):")


def test_closure_variables_stay_cells(several, torch, tmp_path):
    y = torch.ones(2)
    with prepare_debug(tmp_path) as session:
        result = torch.compile(several.closes(y), backend="eager")(torch.ones(2))
    assert result.tolist() == [2.0, 2.0]
    assert [p for p in session.of(Problem) if p.where != "this torch"] == []


def test_code_that_assigns_to_its_closure_is_a_valid_file_and_runs(
    several, torch, tmp_path, valid_python
):
    step, calls = several.counts()
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(step, backend="eager")
        assert [compiled(torch.zeros(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    assert calls() == 3
    assert [f.verdict for f in session.of(Frame) if not f.swapped] == []
    assert valid_python(tmp_path) == []
    assert "nonlocal calls" in (tmp_path / "__transformed_code_0_0_for_step.py").read_text()
    assert "\n# def" not in (tmp_path / "__transformed_code_0_0_for_step.py").read_text()


def test_backward_inside_a_compiled_function_shows_no_frame_of_ours(several, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(several.trains, backend="aot_eager")
        assert compiled(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    places = [frame.place for frame in session.of(Frame)]
    assert places and not [p for p in places if "pellucid/torch" in p.file.replace("\\", "/")]
    assert not [p for p in places if p.file.endswith(("logging/__init__.py", "json/encoder.py"))]


def test_full_code_has_guards_that_decide(several, torch, tmp_path, valid_python):
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(several.flagged, backend="eager", dynamic=False)
        compiled(torch.ones(3))
    assert valid_python(tmp_path) == []
    names = {}
    exec((tmp_path / "full_code_for_flagged_0.py").read_text(), names)
    guards = names["guards_0_0"]
    assert guards({"x": torch.zeros(3), "flag": True, "scale": 2}, {})
    assert not guards({"x": torch.zeros(4), "flag": True, "scale": 2}, {})
    assert not guards({"x": torch.zeros(3), "flag": False, "scale": 2}, {})
    assert not guards({"x": torch.zeros(3), "flag": True, "scale": 5}, {})
    assert not guards({"x": torch.zeros(3).double(), "flag": True, "scale": 2}, {})
    assert session.of(Problem) == []


def test_nested_captures_both_get_everything(several, torch, tmp_path):
    outer_dir, inner_dir = tmp_path / "outer", tmp_path / "inner"
    with prepare_debug(outer_dir) as outer:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
        with prepare_debug(inner_dir) as inner:
            torch.compile(several.sized, backend="eager")(torch.zeros(2))
    assert [f.place.function for f in outer.of(Frame)] == ["plain", "sized"]
    (frame,) = [f for f in inner.of(Frame) if not f.before]
    assert frame.place.function == "sized"
    assert [f.swapped for f in outer.of(Frame)] == [outer.of(Frame)[0].verdict.proven, False]


def test_threads_compile_into_one_capture(several, torch, tmp_path, valid_python):
    functions = [several.plain, several.sized, several.flagged]
    results = {}

    def work(function):
        results[function.__name__] = torch.compile(function, backend="eager")(torch.ones(3))

    with prepare_debug(tmp_path) as session:
        threads = [threading.Thread(target=work, args=(function,)) for function in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {f.place.function for f in session.of(Frame)} == {"plain", "sized", "flagged"}
    assert session.of(Problem) == []
    assert valid_python(tmp_path) == []
    assert results["sized"].tolist() == [3.0, 3.0, 3.0]


def test_a_frame_that_is_looked_at_is_told_by_its_own_place(several, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        torch.compile(several.closes(torch.ones(2)), backend="eager")(torch.ones(2))
    frames = {frame.key: frame.place for frame in session.of(Frame)}
    assert len(frames) == 2
    assert {start.key: start.place for start in session.of(Started)} == frames


def test_a_version_that_torch_has_given_up_is_told_as_one(torch, tmp_path, observed):
    def kept(log, x):
        log.append(float(x.mean()))  # goes on with a bound method, which is gone after the call
        return x + 1

    with prepare_debug(tmp_path) as session:
        torch.compile(kept, backend="eager")([], torch.ones(2))
    assert [p for p in session.of(Problem) if p.where != "this torch"] == []
    frames = session.of(Frame)
    assert [frame.place.function for frame in frames] == [
        name for name, _ in observed()["compiles"]
    ]
    counted = sum(observed()["graph breaks"].values())
    assert len(session.of(Break)) == counted == len(frames) - 1
    # Older releases leave the function that goes on with the bound method at its call once more.
    first, resumed, *again = frames
    assert len(again) == (0 if torch_version() >= (2, 13) else 1)
    assert first.place.function == "kept" and "kept_at" in resumed.place.function
    if torch_version() >= (2, 13):  # which notices that the object is gone
        (full,) = tmp_path.glob("full_code_for_torch_dynamo_resume*.py")
        assert f"{resumed.file}: torch no longer has it" in full.read_text()


def test_functions_that_a_frame_makes_are_the_programs_own(torch, dynamo, tmp_path):
    def makes(x):
        y = x + 1

        def inner(z):
            return z * y

        torch._dynamo.graph_break()
        return inner, lambda z: z - y, [w * 2 for w in (y, x)]

    codes = [code for code in makes.__code__.co_consts if hasattr(code, "co_code")]
    with prepare_debug(tmp_path) as session:
        inner, subtract, doubled = torch.compile(makes, backend="eager")(torch.ones(2))
    assert any(frame.swapped for frame in session.of(Frame))
    for function in (inner, subtract):
        assert any(function.__code__ is code for code in codes)
    assert inner(2).tolist() == [4.0, 4.0] and doubled[0].tolist() == [4.0, 4.0]


def test_old_torch_knows_its_resume_functions_by_their_code(several, torch, tmp_path, observed):
    with prepare_debug(tmp_path) as session:
        step = torch.compile(several.counts_on_both_sides(), backend="eager")
        assert step(torch.ones(2)).tolist() == [3.0, 3.0]
    assert not [n for n, _ in observed()["compiles"] if n.count("torch_dynamo_resume_in") > 1]
    for graph in session.of(Graph):
        assert str(tmp_path) not in graph.text


def test_empty_capture_says_why(torch, dynamo, tmp_path):
    with pytest.warns(RuntimeWarning, match="nothing was compiled"), prepare_debug(tmp_path):
        pass
    assert "Nothing was compiled inside this capture" in (tmp_path / "index.md").read_text()


def test_capture_of_frames_that_were_left_alone_says_so(torch, dynamo, tmp_path):
    def caught(x):
        try:
            return x.log().item()
        except ValueError:
            return 0

    with pytest.warns(RuntimeWarning, match="torch skipped 1 frame"), prepare_debug(tmp_path):
        torch.compile(caught, backend="eager")(torch.ones(1))
    index = (tmp_path / "index.md").read_text()
    assert "torch skipped 1 frame, for the reason below" in index
    assert "no function under `torch.compile` was called" not in index
    assert "## Skipped frames" in index


def test_a_setting_that_was_patched_for_a_while_is_at_its_default(several, torch, dynamo, tmp_path):
    with dynamo.config.patch(accumulated_cache_size_limit=7):
        pass
    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend="eager")(torch.ones(2))
    assert not [name for name in session.configuration if "accumulated" in name]


def test_code_compiled_before_is_shown_and_marked(several, torch, tmp_path):
    compiled = torch.compile(several.plain, backend="eager")
    compiled(torch.zeros(2))
    with prepare_debug(tmp_path) as session:
        compiled(torch.zeros(2))
    (frame,) = session.of(Frame)
    assert frame.before and not frame.swapped
    assert "before the capture" in (tmp_path / frame.file).read_text()


def test_reset_inside_a_capture_keeps_both_versions_apart(several, torch, dynamo, tmp_path):
    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
        dynamo.reset()
        torch.compile(several.sized, backend="eager")(torch.zeros(2))
    files = [frame.file for frame in session.of(Frame)]
    assert files == [
        "__transformed_code_0_0_for_plain.py",
        "__transformed_code_r1_0_0_for_sized.py",
    ]


def test_guards_that_a_reset_makes_torch_forget_are_kept(several, torch, dynamo, tmp_path):
    with prepare_debug(tmp_path):
        for _ in range(2):
            torch.compile(several.plain, backend="eager")(torch.zeros(2))
            torch.compiler.reset()
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    capture = load(tmp_path)
    (entries,) = capture.caches.values()
    keys = [entry.key for entry in entries]
    assert set(keys) == {frame.key for frame in capture.of(Frame)} and len(keys) == 3
    assert len({len(entry.guards) for entry in entries}) == 1 and entries[0].guards
    assert [entry.forgotten for entry in entries] == [True, True, False]
    (file,) = tmp_path.glob("full_code_for_plain*.py")
    text = file.read_text()
    assert text.count("torch was reset since") == 2 and text.count("    if guards_") == 1


def test_next_capture_removes_its_predecessors_files_only(several, torch, dynamo, tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("keep")
    with prepare_debug(tmp_path):
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert list(tmp_path.glob("*_for_plain*"))
    dynamo.reset()
    with prepare_debug(tmp_path):
        torch.compile(several.sized, backend="eager")(torch.zeros(2))
    assert not list(tmp_path.glob("*_for_plain*"))
    assert list(tmp_path.glob("*_for_sized*"))
    assert mine.read_text() == "keep"
    assert not list(tmp_path.glob(".pellucid-*"))


def test_record_has_schema_and_every_event(several, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    record = json.loads((tmp_path / "session.json").read_text())
    assert record["schema"] == 2
    assert [c["function"] for c in record["caches"]] == [0]
    assert record["caches"][0]["entries"][0]["guards"]
    assert [e["event"] for e in record["events"]].count("Frame") == 1
    assert set(record["files"]) == {path.name for path in tmp_path.iterdir()}
    assert set(session.files()) == set(record["files"])


def test_bytecode_is_shown_on_demand(several, torch, tmp_path):
    with prepare_debug(tmp_path, log_bytecode=True) as session:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    (frame,) = session.of(Frame)
    assert "#             " in (tmp_path / frame.file).read_text()
    assert "RETURN_VALUE" in (tmp_path / frame.file).read_text()


def test_two_runs_write_the_same_files(torch, tmp_path):
    script = (
        "import sys, torch, pellucid, toy\n"
        "with pellucid.prepare_debug(sys.argv[1]):\n"
        "    toy.run('aot_eager', None, True, steps=20)\n"
    )
    dumps = [tmp_path / "one", tmp_path / "two"]
    for dump in dumps:
        subprocess.run(
            [sys.executable, "-c", script, str(dump)],
            cwd=PROGRAMS,
            env=run_env(),
            check=True,
            timeout=300,
        )
    one, two = ({p.name: p.read_bytes() for p in dump.iterdir()} for dump in dumps)
    assert one.pop("times.json") and two.pop("times.json")
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


def test_session_keeps_no_function_alive(tmp_path):
    session = Session(tmp_path)
    code = compile("def short_lived(): pass", "a.py", "exec").co_consts[0]
    other = compile("def short_lived(): pass", "a.py", "exec").co_consts[0]
    assert session.functions.number(code) == 0 == session.functions.number(code)
    assert session.functions.number(other) == 1, "equal code objects are two functions"
    del code
    gc.collect()
    assert [(n, c is None) for n, c in session.functions.all()] == [(0, True), (1, False)]


def test_fork_does_not_write_into_its_parents_capture(several, torch, tmp_path):
    with prepare_debug(tmp_path) as session:
        child = os.fork()
        if not child:
            status = 1
            with contextlib.suppress(BaseException):
                torch.compile(several.plain, backend="eager")(torch.zeros(2))
                status = len(session.of(Frame))
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        torch.compile(several.sized, backend="eager")(torch.zeros(2))
    assert [f.place.function for f in session.of(Frame)] == ["sized"]
    assert not list(tmp_path.glob("*plain*"))


def test_nothing_is_left_behind_when_no_capture_is_open(several, torch, dynamo, tmp_path):
    from torch._dynamo import convert_frame
    from torch._dynamo.utils import lazy_format_graph_code
    from torch._logging._internal import trace_log

    def installed():
        hooks = len(convert_frame._bytecode_hooks)
        handlers = [type(handler) for handler in trace_log.handlers]
        return hooks, handlers, type(trace_log.handlers), lazy_format_graph_code.__code__

    torch.compile(several.sized, backend="eager")(torch.zeros(2))
    before = installed()
    with prepare_debug(tmp_path):
        assert installed()[0] == before[0] + 1
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert installed() == before


def test_disk_that_takes_nothing_does_not_reach_the_program(several, torch, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pellucid.dump.store.session.write_atomic", full)
    with pytest.warns(RuntimeWarning, match="No space left"), prepare_debug(tmp_path) as session:
        result = torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert result.tolist() == [1.0, 1.0]
    assert not session.of(Frame), "what has no file does not run"


def test_capture_inside_a_capture_of_the_same_directory_has_its_own(several, torch, tmp_path):
    with prepare_debug(tmp_path) as outer, prepare_debug(tmp_path) as inner:
        torch.compile(several.plain, backend="eager")(torch.zeros(2))
    assert inner.directory == tmp_path / "capture_2"
    assert [len(session.of(Frame)) for session in (outer, inner)] == [1, 1]
    assert (inner.directory / "session.json").exists() and (tmp_path / "session.json").exists()


def test_what_only_a_function_of_its_own_lacks_is_not_told_by_a_capture(
    several, torch, dynamo, tmp_path, monkeypatch
):
    lost = Capability("lost", (), "this"), Capability("other", (), "that", of_captures=False)
    monkeypatch.setattr(hooks, "missing", lambda: lost)
    with pytest.warns(RuntimeWarning), prepare_debug(tmp_path) as session:
        torch.compile(several.plain, backend="eager")(torch.ones(2))
    assert [problem.what for problem in session.of(Problem)] == ["no lost: this"]
