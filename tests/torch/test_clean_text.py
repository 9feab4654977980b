"""decompile() of Dynamo's code gives the text of a dump's file, wherever the code is come by."""

import marshal
import re
import types
import warnings

import pytest
from pellucid import Decompiler, decompile, decompile_ex, prepare_debug
from pellucid.dump.model.events import Frame
from pellucid.torch.dynamo.closures import unwrap
from support import torch_version

warnings.simplefilter("ignore")


def reversed_items(x, items):
    y = x.sin()
    items.append(y)
    print(end="")
    for a, b in zip(items, items):
        y = y + a * b
    return y


class Holder:
    def __init__(self):
        self.d = {}

    def forward(self, x, tmp_1=2):
        self.d.update(x=x)
        graph_out_0 = x * tmp_1
        print(end="")
        self.count = tmp_1
        return graph_out_0


def managed(x):
    import torch

    with torch.no_grad():
        y = x * 2
        print(end="")
    try:
        y = y + x
        print(end="")
    finally:
        y = y * 3
    return y


def closing(x):
    n = 2

    def add(y):
        nonlocal n
        n += 1
        return y + n

    y = add(x)
    print(end="")
    return add(y), n


def listed(x):
    return [v * 2 for v in x[0].tolist()], x + 1


def conditional(x, flag):
    if x.sum() > 0:
        return x + 1 if flag else x - 1
    return -x


PROGRAMS = {
    "items": (reversed_items, lambda torch: (torch.ones(2, 2), [])),
    "attributes": (Holder().forward, lambda torch: (torch.ones(2),)),
    "contexts": (managed, lambda torch: (torch.ones(2),)),
    "cells": (closing, lambda torch: (torch.ones(2),)),
    "functions": (listed, lambda torch: (torch.ones(2, 2),)),
    "branches": (conditional, lambda torch: (torch.ones(2), True)),
}


class Seen:
    """A bytecode hook that decompiles what it is given."""

    def __init__(self, torch):
        self.codes, self.texts = [], []
        self._remove = torch._dynamo.convert_frame.register_bytecode_hook(self).remove

    def __call__(self, original, code):
        self.codes.append((original, code))
        self.texts.append(decompile(code))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._remove()


def body(text):
    """A file without its head, what only a capture knows, and numbers of the process."""
    text = re.sub(r"(__resume_at_\d+)_\d+", r"\1", unwrap(text))
    return [line for line in text.splitlines() if line.strip() and not is_comment(line)]


def is_comment(line):
    return line.lstrip().startswith("#")


@pytest.fixture(params=PROGRAMS)
def run(request, torch, dynamo):
    function, arguments = PROGRAMS[request.param]

    def call():
        dynamo.reset()
        torch.compile(function, backend="eager")(*arguments(torch))

    return call


def entries(torch, code):
    found = torch._dynamo.eval_frame._debug_get_cache_entry_list(code)
    return [entry.code for entry in found if entry.code is not None]


def test_a_hook_and_a_debugger_get_the_text_of_the_file(run, torch, tmp_path):
    with Seen(torch) as seen:
        run()
    reached = [code for original, _ in seen.codes for code in entries(torch, original)]
    assert sorted(map(decompile, reached)) == sorted(seen.texts)
    found = [decompile_ex(code) for _, code in seen.codes]
    with prepare_debug(tmp_path) as session:
        run()
    frames = session.of(Frame)
    assert [body(text) for text in seen.texts] == [
        body((tmp_path / frame.file).read_text()) for frame in frames
    ]
    assert [each.source for each in found] == seen.texts
    assert [each.verdict.status for each in found] == [frame.verdict.status for frame in frames]


def test_what_runs_from_a_file_gives_that_file(run, torch, tmp_path):
    with prepare_debug(tmp_path) as session, Seen(torch) as seen:
        run()
        running = [code for original, _ in seen.codes for code in entries(torch, original)]
    assert {code.co_filename for code in running} == {
        str(tmp_path / frame.file) for frame in session.of(Frame)
    }
    for text, (_, code) in zip(seen.texts, seen.codes):
        with open(code.co_filename) as file:
            assert text.strip() in unwrap(file.read())
    assert {decompile(code) for code in running} == {*seen.texts}


def test_code_that_is_compiled_of_the_text_runs_in_its_place(run, torch):
    def replaced(original, code):
        made = decompile_ex(code)
        assert made.verdict.at_least("equivalent")
        assert {*made.renamed.values()} <= {*code.co_names, *code.co_varnames}
        return made.compile()

    handle = torch._dynamo.convert_frame.register_bytecode_hook(replaced)
    try:
        run()
    finally:
        handle.remove()


def test_lines_are_those_of_the_text(torch, dynamo):
    with Seen(torch) as seen:
        torch.compile(reversed_items, backend="eager")(torch.ones(2, 2), [])
    found = decompile_ex(seen.codes[0][1])
    assert any(map(is_comment, found.source.splitlines()))
    lines = found.source.splitlines()
    named = [lines[entry.line - 1] for entry in found.line_map]
    assert named and not any(map(is_comment, named))


def test_the_decompiler_class_gives_the_same(torch, dynamo):
    with Seen(torch) as seen:
        torch.compile(listed, backend="eager")(torch.ones(2, 2))
    for text, (_, code) in zip(seen.texts, seen.codes):
        assert Decompiler(code).decompile() == text
        renamed = Decompiler(code).decompile(overwite_fn_name=f"{code.co_name[:-1]}_")
        assert renamed == text.replace(f"def {code.co_name}(", f"def {code.co_name[:-1]}_(", 1)


@pytest.mark.skipif(
    torch_version() < (2, 1), reason="this torch keeps no table of resume functions"
)
def test_resume_functions_have_no_prologue(torch, dynamo):
    with Seen(torch) as seen:
        torch.compile(managed, backend="eager")(torch.ones(2))
    resumed = {id(original): original for original, _ in seen.codes}.values()
    names = [code.co_name for code in resumed if code.co_name.startswith("torch_dynamo_resume")]
    assert names
    for code in resumed:
        assert "__is_tracing_resume_prologue" not in decompile(code)


@pytest.mark.skipif(torch_version() < (2, 12), reason="this torch saves no compiled function")
def test_functions_compiled_ahead_of_time_are_known(torch, dynamo, tmp_path):
    def scale(x, items):
        y = x.sin()
        items[0] = y
        return y + 1

    with Seen(torch) as seen:
        torch.compile(scale, backend="eager")(torch.ones(2), [1])
    ahead = torch.compile(scale, fullgraph=True, backend="inductor").aot_compile(
        ((torch.ones(2), [1]), {})
    )
    ahead.save_compiled_function(str(tmp_path / "scale"))
    with open(tmp_path / "scale", "rb") as file:
        loaded = torch.compiler.load_compiled_function(file)
    number = re.compile(r"__compiled_fn_\w+")
    wanted = number.sub("graph", seen.texts[0])
    for function in (ahead, loaded):
        assert number.sub("graph", decompile(function)) == wanted
        assert decompile(function.fn.__code__) == decompile(function)
        assert decompile_ex(function).verdict.at_least("equivalent")


LIKE_DYNAMOS = """
def toy(a):
    tmp_1 = __compiled_fn_0_11111111_2222_3333_4444_555555555555
    graph_out_0 = tmp_1(a)
    del tmp_1
    return __import_torch.f(graph_out_0[0])
"""


def test_code_that_only_looks_like_dynamos_is_anybodys(torch, dynamo):
    scope = {}
    exec(LIKE_DYNAMOS, scope)
    toy = scope["toy"]
    found = decompile_ex(toy)
    assert "__compiled_fn_0_11111111" in found.source and "__import_torch.f" in found.source
    assert found._facts is None and found.renamed == {}
    with Seen(torch) as seen:
        torch.compile(reversed_items, backend="eager")(torch.ones(2, 2), [])
    # Nothing in a file says that Dynamo made it.
    copy = marshal.loads(marshal.dumps(seen.codes[-1][1]))
    assert decompile_ex(copy)._facts is None


@pytest.mark.parametrize("own", [False, True])
def test_nothing_is_assumed_of_what_a_hook_puts_in_the_place_of_dynamos(own, torch, dynamo):
    """Of an object that is kept alive on purpose a proof may not say that it may go earlier."""

    def double(x):
        kept = x * 2
        return kept.tolist()

    def other(x):
        kept = object()
        y = x.tolist()
        del kept
        return y

    def replaced(original, code):
        return original.replace() if own else other.__code__

    handle = torch._dynamo.convert_frame.register_bytecode_hook(replaced)
    try:
        assert torch.compile(double, backend="eager")(torch.ones(1)) == [1.0 + own]
    finally:
        handle.remove()
    (code,) = entries(torch, double.__code__)
    found = decompile_ex(code)
    assert found._facts is None and found.source == decompile(types.FunctionType(code, {}))
    assert "kept" in found.source
