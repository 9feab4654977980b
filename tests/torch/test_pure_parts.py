"""The parts that need no torch: names, guards, dumps; their doctests, and their corner cases."""

import ast
import dis
import doctest
import gc
import importlib
import logging
import struct
import sys
import time
from pathlib import Path

import pytest
from pellucid.dump.model import names
from pellucid.dump.model.capture import Capture
from pellucid.dump.model.events import Break, CacheUse, CompileKey, Frame, Place, Verdict
from pellucid.dump.model.origin import Origin
from pellucid.dump.store.session import Session, write_atomic
from pellucid.findings.source import Program
from pellucid.torch.capture.connection import collector_at_rest
from pellucid.torch.dynamo import local_names
from pellucid.torch.dynamo.rewrite import disassembly, rewrite, same_instructions
from pellucid.torch.dynamo.user_lines import annotate, resumed_codes, resumed_line
from pellucid.torch.taps import compat
from pellucid.torch.taps.trace import UNREADABLE, Listeners, TraceHandler, parse_trace
from pellucid.torch.text.dump import is_python, valid
from pellucid.torch.text.full_code import _signature, full_code_text
from pellucid.torch.text.full_code_names import names_of
from pellucid.torch.text.index import index_text

MODULES = [
    "dump.model.dynamo_names",
    "dump.model.expressions",
    "dump.model.memory",
    "dump.model.names",
    "dump.model.phases",
    "dump.model.program_flow",
    "dump.model.saved",
    "dump.model.stages",
    "torch.capture.metrics",
    "torch.capture.spans",
    "torch.dynamo.closures",
    "torch.dynamo.counting",
    "torch.dynamo.generated",
    "torch.dynamo.local_names",
    "torch.dynamo.rewrite",
    "torch.dynamo.terms",
    "torch.dynamo.user_lines",
    "torch.guards.checks",
    "torch.guards.kinds",
    "torch.taps.compat",
    "torch.taps.fx_meta",
    "torch.taps.guard_ways",
    "torch.taps.operators",
    "torch.taps.trace",
    "torch.text.dump",
    "torch.text.full_code",
    "torch.text.full_code_names",
    "torch.text.graph_main",
]


@pytest.mark.parametrize("module", MODULES)
def test_doctests(module):
    failed, tried = doctest.testmod(importlib.import_module(f"pellucid.{module}"))
    assert tried and not failed


def test_stable_names_are_one_to_one():
    uuid = "bfd0a77c_ce1c_411a_b1af_d05db5785f3c"
    dynamo = [
        f"__compiled_fn_1_{uuid}",
        f"__compiled_fn_3_{uuid}",
        "___module_iter_140330457142016_c1",
    ]
    shown = names.stable_globals(dynamo, ["__compiled_fn_0_0"], "0_0")
    assert len(set(shown.values())) == 3
    assert "__compiled_fn_0_0" not in shown.values()
    assert shown["___module_iter_140330457142016_c1"] == "___module_iter_c1"


def test_a_comment_cannot_be_left_by_a_control_character():
    text = names.as_comment("a\x0cb\x85c\u2028d\re")
    assert len(text.splitlines()) == 1
    assert is_python(text)


def test_what_is_no_python_becomes_a_comment():
    assert is_python(valid("def f(:\n  pass"))
    assert valid("x = 1\n") == "x = 1\n"


def test_full_code_without_cache_entries_is_valid():
    def f(a, /, b, *rest, c=1, **more):
        return a

    text = full_code_text(Place("a.py", 1, "f"), f.__code__, [], {})
    assert is_python(text)
    assert "no cache entry" in text
    assert "has released the function" in full_code_text(Place("a.py", 1, "f"), None, [], {})
    assert _signature(f.__code__, {n: n for n in f.__code__.co_varnames}) == (
        "a, /, b, *rest, c, **more"
    )


def test_full_code_of_a_lambda_is_a_function_of_another_name():
    code = (lambda a: a).__code__
    text = full_code_text(Place("x.py", 1, "<lambda>"), code, [], {})
    assert "def lambda_(a):" in text
    assert "not valid Python" not in text


def test_constants_do_not_swell_a_disassembly():
    code = (lambda: 1).__code__.replace(co_consts=(None, {"k": "v" * 10**6}, print))
    assert len(disassembly(code)) < 2000


def test_same_instructions_tells_types_of_constants_apart():
    one, true = (compile(f"x = {v}", "f", "exec") for v in ("1", "True"))
    zero, minus = (compile(f"x = {v}", "f", "exec") for v in ("0.0", "-0.0"))
    assert not same_instructions(one, true)
    assert not same_instructions(zero, minus)
    assert same_instructions(one, compile("\n\nx = 1", "g", "exec"))


NAN, OTHER_NAN = (struct.unpack(">d", bytes.fromhex(f"7ff800000000000{n}"))[0] for n in "01")


def load(constant):
    return compile("", "f", "exec").replace(co_consts=(constant,))


def test_constants_are_the_same_if_the_language_says_so():
    # Each is made twice, so that no object is met again.
    def kinds():
        nan, other = (struct.unpack("d", struct.pack("d", n))[0] for n in (NAN, OTHER_NAN))
        plain = [1, True, 1.0, 1 + 0j, 0.0, -0.0, complex(0, -0.0), complex(-0.0, 0), "1", b"1"]
        plain += [10**30, 10**30 + 1, "a b", nan, -nan, other, complex(nan, 1), complex(1, nan)]
        plain += [None, ..., False, 0]
        tuples = [(each,) for each in plain] + [((each, 2),) for each in plain]
        sets = [frozenset([each]) for each in plain + tuples]
        sets += [frozenset([nan, other]), frozenset([nan, -nan]), frozenset([nan, 2])]
        slices = [slice(each, each, 2) for each in [*plain, (1000,), (1000.0,)]]
        if sys.version_info >= (3, 14):
            return [*plain, *tuples, *sets, *slices, (slices[0],), (slices[1],)]
        return [*plain, *tuples, *sets]

    first, second = kinds(), kinds()
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            assert same_instructions(load(one), load(other)) == (i == j), (one, other)


def test_an_object_that_is_no_constant_is_the_same_as_itself_alone():
    class Equal(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    a = (lambda: None).__code__
    for make in (list, dict, bytearray, object, lambda: Equal(1), lambda: range(3)):
        one = make()
        for wrap in (lambda each: each, lambda each: (each, 1), lambda each: ((each,),)):
            assert same_instructions(load(wrap(one)), load(wrap(one)))
            assert not same_instructions(load(wrap(one)), load(wrap(make())))
    assert same_instructions(load((NAN, a)), load((NAN, a)))
    assert not same_instructions(load(frozenset([NAN, float(str(NAN))])), load(frozenset([NAN])))


def test_trace_records_without_an_event_are_ignored():
    assert parse_trace({"rank": 0, "stack": []}, None) is None
    record = parse_trace({"artifact": {"name": "n"}, "compiled_autograd_id": 2}, "p")
    assert record is not None
    assert (record.kind, record.compile_id, record.payload) == ("artifact:n", "!2", "p")


def test_unwanted_events_are_not_made_unless_another_handler_listens():
    seen = []
    log = logging.Logger("trace")
    handler = TraceHandler(lambda record: seen.append((record.kind, record.compile_id)))
    log.handlers = Listeners([handler], lambda given: {"frame_id": 0, "frame_compile_id": 1})

    def trace_structured(name, metadata_fn=dict, *, payload_fn=lambda: None):
        if log.handlers:
            metadata = {name: metadata_fn(), "frame_id": 0, "frame_compile_id": 0}
            log.debug("", extra={"metadata": metadata, "payload": payload_fn()})

    made = []
    trace_structured("dynamo_start")
    trace_structured("describe_tensor", payload_fn=lambda: made.append(1))
    trace_structured("artifact", lambda: {"name": "f_ORIGINAL_BYTECODE"})
    trace_structured("artifact", lambda: {"name": "mine"})
    trace_structured("nobody_knows_it", payload_fn=lambda: made.append(1))
    trace_structured("graph_dump", payload_fn=lambda: 1 / 0)
    assert seen == [("dynamo_start", "0/1"), ("artifact:mine", "0/1"), (UNREADABLE, None)]
    assert not made
    log.addHandler(logging.NullHandler())
    trace_structured("describe_tensor", payload_fn=lambda: made.append(1))
    assert made and bool(log.handlers)


def test_graph_break_title():
    text = "Graph break in user code at a.py:6\nGraph Break Reason: Data-dependent branching\n"
    stop = Break(CompileKey("0/0"), text)
    assert stop.title == "Data-dependent branching — Graph break in user code at a.py:6"


def test_graph_break_that_came_of_another_one_is_named_by_it():
    text = (
        "Graph break in user code at a.py:6\n"
        "Graph Break Reason: Skipping the function. Graph break encountered:\n\n"
        "Failed to trace builtin operator\n  Explanation: none\n\n"
        "Traceback (most recent call last):\n  File 'torch/x.py', line 1\n"
    )
    stop = Break(CompileKey("0/0"), text)
    assert stop.title.startswith("Failed to trace builtin operator — ")
    assert stop.explanation.endswith("Explanation: none"), "torch's own frames are left out"


def test_resume_function_goes_on_where_its_prologue_leads():
    # What Dynamo puts before the original's code: a jump over the part that ran before.
    lines = ["def original(x):", "  if x:", "    x = 1", "  else:", "    x = 2"]
    lines += ["  y = x + 1", "  z = y * 2 + x", "  return y + z - x"]
    space = {}
    exec("\n".join(lines), space)
    assert resumed_line(space["original"].__code__) == 6


def test_atomic_write_leaves_no_part_behind(tmp_path):
    target = tmp_path / "file.py"
    write_atomic(target, "x = '\ud800'\n")
    assert target.read_text() == "x = '\\ud800'\n"
    with pytest.raises(AttributeError):
        write_atomic(target, None)
    assert [p.name for p in tmp_path.iterdir()] == ["file.py"]


def test_locals_are_named_by_where_they_go_and_where_they_come_from():
    source = """def f(a):
    temp_1 = brk
    temp_2, temp_3 = __compiled_fn_0_0(a)[:2]
    temp_4 = a.modules['weight']
    result_5 = temp_1()
    if not temp_2:
        return temp_4
    for tmp_6, tmp_7 in a.items():
        temp_8 = tmp_7[tmp_6]
    return __resume_at_10_2([], [], [result_5, temp_8], temp_3)"""
    parameters = {10: [("few",), ("__nested_resume_fns", "__nested_frame_values", "xs", "y")]}
    assert local_names.named(source, ["tmp_6", "tmp_7"], parameters).split("\n") == [
        "def f(a):",
        "    brk_before = brk",
        "    condition, y = __compiled_fn_0_0(a)[:2]",
        "    weight = a.modules['weight']",
        "    xs_0 = brk_before()",
        "    if not condition:",
        "        return weight",
        "    for key, value in a.items():",
        "        xs_1 = value[key]",
        "    return __resume_at_10_2([], [], [xs_0, xs_1], y)",
    ]


def test_parts_of_a_module_are_named_by_where_they_stand():
    source = """def f(s, x):
    tmp_1 = s._modules
    tmp_2 = tmp_1['norm']._parameters
    tmp_3 = tmp_2['weight']
    tmp_4 = tmp_1['blocks']._modules['0']._buffers['count']
    tmp_5 = tmp_1['blocks']._modules
    tmp_6 = tmp_5['1']
    tmp_7 = tmp_6._parameters
    tmp_8 = s._parameters['scale']
    tmp_9 = s._modules['0']
    tmp_10 = s.layout['weight']
    tmp_11 = utils.call_size(x, 1)
    tmp_12 = utils.record_pregraph_bytecode_enter()"""
    known = [f"tmp_{n}" for n in range(1, 13)]
    shown = local_names.named(source, known, {}).split("\n")
    assert [line.split(" = ")[0].strip() for line in shown[1:]] == [
        "modules",
        "norm_parameters",
        "norm_weight",
        "blocks_0_count",
        "blocks_modules",
        "blocks_1",
        "blocks_1_parameters",
        "scale",
        "module_0",
        "weight",
        "x_size_1",
        "profiler_mark",
    ]


def test_resume_functions_are_shown_without_their_mark():
    def resumed(a, b):
        __is_tracing_resume_prologue = True
        __is_tracing_resume_prologue = False
        return a * b

    code = resumed.__code__.replace(co_name="torch_dynamo_resume_in_f_at_1")
    shown = rewrite(code, Origin(code))
    assert shown.source == "def torch_dynamo_resume_in_f_at_1(a, b):\n    return a * b\n"
    assert shown.verdict.proven


def test_a_name_in_use_is_given_to_nothing_else():
    source = """def f(value, len):
    temp_1 = len()
    temp_2 = -temp_1
    return temp_1, temp_2, len_result"""
    shown = local_names.named(source, [], {}).split("\n")
    assert shown[1:3] == ["    len_result_2 = len()", "    value_2 = -len_result_2"]


def test_iterators_and_cells_are_called_so():
    source = """def f(a):
    result_1 = ___module_iter_c3(___module_range_c3(0, 2))
    temp_2 = (lambda: i).__closure__[0], (lambda: k).__closure__[0]
    temp_3 = ___module_sorted_c5(a)
    return g(result_1, temp_2, temp_3)"""
    shown = local_names.named(source, [], {}).split("\n")
    assert [line.split(" = ")[0].strip() for line in shown[1:4]] == [
        "iterator",
        "cells",
        "sorted_result",
    ]


def test_four_times_as_many_locals_are_named_in_about_four_times_the_time():
    def spent(count):
        lines = [f"    tmp_{n} = a.weight\n    f(tmp_{n})" for n in range(count)]
        source = "def forward(a):\n" + "\n".join(lines)
        temporaries = [f"tmp_{n}" for n in range(count)]
        seconds = []
        for _ in range(3):
            begun = time.process_time()
            made = local_names.named(source, temporaries, {})
            seconds.append(time.process_time() - begun)
        assert f"weight_{count} = a.weight" in made
        return min(seconds)

    ratios = []
    while len(ratios) < 3 and (not ratios or ratios[-1] > 8):
        ratios.append(spent(2000) / spent(500))
    assert ratios[-1] <= 8


def test_user_lines_are_told_where_code_resumes_and_where_a_graph_runs():
    code = compile("a = 1\nb = 2\n", "toy.py", "exec")
    offset = max(start for start, line in dis.findlinestarts(code) if line == 2)
    source = f"x = __compiled_fn_0_0(a)\nz = __resume_at_{offset}_2(x)\ny = 1"
    backward = "# Backward of forward node: File: /u/toy.py:6 in f, code: b"
    graph = f"# File: /u/toy.py:5 in f, code: a\n{backward}"
    assert annotate(source, code, [graph]).split("\n") == [
        "# toy.py:5-6",
        "x = __compiled_fn_0_0(a)",
        f"z = __resume_at_{offset}_2(x)  # toy.py:2",
        "y = 1",
    ]
    inside = f"text = '''\n__resume_at_{offset}_2\n'''"
    assert annotate(inside, code, [graph]) == inside


def test_user_lines_are_told_where_a_function_goes_on_that_the_frame_makes():
    name = "torch_dynamo_resume_in_f_at_4"
    # Its first jump goes where the frame was left, as it does after Dynamo's prologue.
    function = f"def {name}(x):\n  if x: y()\n  else: z()\n  y(x); z(x)\n  return x\n"
    code = compile(function, "toy.py", "exec")
    source = f"{function}a = {name}(b)\nb = another(a)"
    resumed = resumed_codes(code, {})
    assert annotate(source, code, (), resumed) == source.replace("(b)", "(b)  # toy.py:4")
    assert annotate(source, code) == source


def test_user_lines_are_told_by_the_function_that_goes_on_not_by_its_name():
    # Torch counts the instructions of 3.14 otherwise than CPython, so the name's number is near.
    source = "a = __resume_at_0_1(b)"
    frame = compile(source, "frame.py", "exec")
    space = {}
    function = "def goes_on(x):\n  if x: y()\n  else: z()\n  y(x); z(x)\n  return x\n"
    exec(compile(function, "toy.py", "exec"), space)
    space["__resume_at_0_1"] = space["goes_on"]
    resumed = resumed_codes(frame, space)
    original = space["goes_on"].__code__
    assert annotate(source, original) == f"{source}  # toy.py:1"
    assert annotate(source, original, (), resumed) == f"{source}  # toy.py:4"
    assert resumed_codes(frame, {"__resume_at_0_1": len}) == {}


def test_each_capability_has_a_name_of_its_own():
    names = [row.name for row in compat.TABLE]
    assert sorted(names) == sorted(set(names))


def test_asking_whether_torch_has_something_does_not_count_it_as_missed(monkeypatch):
    absent = compat.Capability("absent", ("no_such_module:x",), "nothing")
    present = compat.Capability("present", ("no_such_module:x", "math:pi"), "nothing")
    monkeypatch.setattr(compat, "_BY_NAME", {row.name: row for row in (absent, present)})
    told = []
    probe = compat.Probe(told.append)
    assert (probe.has("absent"), probe.has("present")) == (False, True)
    assert told == [] and probe.missing == ()
    assert probe.get("absent") is None
    assert told == [absent] and probe.missing == (absent,)


def test_the_index_tells_the_caches_by_what_they_had(tmp_path):
    session = Session(tmp_path)
    for compile_id, result in (("0/0", "miss"), ("1/0", "hit"), ("2/0", "miss"), ("2/0", "miss")):
        session.record(CacheUse(CompileKey(compile_id), "fx_graph_cache", result))
    lines = index_text(session, {}).splitlines()
    assert [line for line in lines if "cache: " in line] == [
        "- fx graph cache: miss (0/0, 2/0)",
        "- fx graph cache: hit (1/0)",
    ]


def test_a_name_that_a_function_imports_is_none_of_the_files():
    source = "def f(x):\n from a import b\n try:\n  return b(c)\n except E as e:\n  return e"
    assert names_of(source).used == {"c", "E"}
    assert names_of(source).bound == {"f"}


def test_the_collector_rests_only_while_a_capture_ends():
    for was_on in (True, False):
        (gc.enable if was_on else gc.disable)()
        try:
            with collector_at_rest():
                assert not gc.isenabled()
            assert gc.isenabled() == was_on
        finally:
            gc.enable()


def test_code_of_a_file_keeps_its_lines_when_it_is_moved_there():
    def original(a):
        return a + 1

    made = rewrite(original.__code__, Origin(original.__code__))
    text = f"# one\n# two\n\n{made.source}"
    code = made.compile(text, "there.py")
    lines = {line for _, line in dis.findlinestarts(code) if line is not None}
    assert code.co_filename == "there.py"
    assert {text.split("\n")[line - 1].strip() for line in lines} <= {
        "def original(a):",
        "return a + 1",
    }
    assert 5 in lines
    with pytest.raises(ValueError, match="proven"):
        made.compile(text.replace("+ 1", "+ 2"), "there.py")


def test_functions_of_one_name_have_headings_of_their_own(tmp_path):
    session = Session(tmp_path)
    full = {}
    for number, name in enumerate(("forward", "forward", "other")):
        key = CompileKey(f"{number}/0")
        place = Place("m.py", 3, name)
        frame = Frame(key, number, place, "", Verdict("equivalent"), f"{number}.py", True)
        session.record(frame)
        full[f"full_code_for_{name}_{number}.py"] = [frame]
    lines = index_text(session, full).splitlines()
    assert [line for line in lines if line.startswith("## ")][:3] == [
        "## `forward`, frame 0",
        "## `forward`, frame 1",
        "## `other`",
    ]


def test_a_break_that_comes_again_is_explained_once(tmp_path):
    session = Session(tmp_path)
    text = "Graph break in user code at m.py:3\nGraph Break Reason: Branching\n"
    text += "\nUser code traceback:\n"
    for compile_id, way in (("0/0", "line 1"), ("0/1", "line 2")):
        session.record(Break(CompileKey(compile_id), f"{text}  {way}"))
    session.record(Break(CompileKey("1/0"), text.replace("m.py:3", "m.py:9")))
    lines = index_text(session, {}).splitlines()
    assert [line for line in lines if line.startswith("**")] == [
        "**[0/0], [0/1]** Branching — Graph break in user code at m.py:3",
        "**[1/0]** Branching — Graph break in user code at m.py:9",
    ]


def test_the_page_of_the_capture_before_goes_with_it(tmp_path):
    session = Session(tmp_path)
    session.write("record.txt", "")
    (tmp_path / "session.json").write_text('{"tool": "pellucid", "files": ["record.txt"]}')
    page = tmp_path / "page.html"
    page.write_text('<!DOCTYPE html>\n<meta name="generator" content="pellucid 1.0">\n')
    (tmp_path / "findings.json").write_text('{\n "schema": 1,\n "tool": "pellucid"\n}\n')
    Session(tmp_path)
    assert not page.exists() and not (tmp_path / "findings.json").exists()
    page.write_text("<p>a page of somebody else's</p>")
    (tmp_path / "session.json").write_text('{"tool": "pellucid", "files": []}')
    Session(tmp_path)
    assert page.exists()


def test_the_innermost_function_and_statement_of_a_line_are_found():
    program = Program(Capture(Path(), 0, {}, {}, (), {}))
    text = Path(dis.__file__).read_text(encoding="utf-8") + "\nx = (1,\n2); y = 3; z = [\n4]; x\n"
    program.memory["tree", "f.py"] = tree = ast.parse(text)
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    functions = [node for node in statements if isinstance(node, ast.FunctionDef)]
    for line in range(text.count("\n") + 3):
        for nodes, found in ((statements, program.statement), (functions, program.function)):
            around = [node for node in nodes if first(node) <= line <= node.end_lineno]
            # Of those that begin last, the last one of a walk from outside.
            assert found(Place("f.py", line, "")) is max(
                reversed(around), key=first, default=None
            ), line


def first(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
