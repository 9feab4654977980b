"""Transformed frames read without knowing torch: names, constants and bodies are explained."""

import functools
import sysconfig

import pytest
from pellucid.dump.model.events import Frame
from pellucid.torch import prepare_debug
from pellucid.torch.dynamo.terms import described, stack_values, terms
from pellucid.torch.dynamo.user_lines import annotate
from support import torch_version

NUMBERED = ("temp_", "tmp_", "result_1", ":=")


@pytest.fixture
def reading(program, dynamo):
    return program("reading")


def frames_of(torch, tmp_path, function, *arguments, dynamic=None):
    """Compile and call; the text of each file, all of which are proven and run."""
    torch._dynamo.reset()
    with prepare_debug(tmp_path) as session:
        compiled = torch.compile(function, backend="eager", dynamic=dynamic)
        for given in arguments:
            compiled(*given)
    frames = session.of(Frame)
    assert frames and all(frame.swapped for frame in frames)
    return {frame.file: (tmp_path / frame.file).read_text() for frame in frames}


def test_what_a_frame_prints_and_logs_reads_as_statements(reading, torch, tmp_path):
    given = [(torch.ones(2, 6),), (torch.ones(5, 6),)]
    texts = list(frames_of(torch, tmp_path, reading.reports, *given).values())
    for text in texts:
        assert not any(word in text for word in NUMBERED), text
    assert any(".format('sizes ', " in text for text in texts)


def test_what_lay_on_the_stack_is_told_by_what_gave_it(reading, torch, tmp_path):
    texts = frames_of(torch, tmp_path, reading.asks, (torch.ones(3),))
    resumed = [text for file, text in texts.items() if "resume" in file]
    assert resumed
    assert "# ___stack0: " in resumed[0] and ".tolist()" in resumed[0]
    assert " in [0/0]\n" in resumed[0]


def test_built_in_functions_are_called_by_their_names(reading, torch, tmp_path):
    if torch_version() >= (2, 15):
        pytest.skip("2.15 leaves these functions as they are")
    for number, function in enumerate((reading.stops, reading.gives_a_generator)):
        texts = frames_of(torch, tmp_path / str(number), function, (torch.ones(3),))
        assert not any("___module_" in text for text in texts.values())
        if torch_version() >= (2, 13):
            assert any("iter(" in text.replace("___", "") for text in texts.values())


def test_a_built_in_name_that_the_module_has_is_not_taken(reading, torch, tmp_path):
    reading.iter = None
    (text,) = frames_of(torch, tmp_path, reading.gives_a_generator, (torch.ones(3),)).values()
    assert " iter(" not in text and "(iter(" not in text


def test_a_function_that_a_frame_makes_stands_in_its_file(reading, torch, tmp_path):
    (text,) = frames_of(torch, tmp_path, reading.makes, (torch.ones(3),)).values()
    assert "#     def scale(z, by=2):\n#         return z * by + y\n" in text
    assert "_const_Size: torch.Size([2, 3])" in text or torch_version() < (2, 13)


def test_what_torch_wraps_has_its_own_name(reading, torch, tmp_path):
    compiled = {
        "Tool": reading.Tool(),
        "Sequential": torch.nn.Sequential(torch.nn.Linear(3, 2)),
        "plus": functools.partial(reading.plus, y=1),
    }
    for name, function in compiled.items():
        files = frames_of(torch, tmp_path / name, function, (torch.ones(2, 3),))
        assert not any("inner" in file for file in files)
        if torch_version() >= (2, 13):
            assert [file for file in files if file.endswith(f"_for_{name}.py")]


def test_a_graph_of_nothing_is_told_as_one(reading, torch, tmp_path):
    given = [(torch.ones(2),), (torch.ones(5),), (torch.ones(3),)]
    texts = frames_of(torch, tmp_path, reading.decides, *given)
    alone = [t for t in texts.values() if "    __compiled_fn_" in t and "_()\n" not in t]
    called = [t for t in alone if any(line.endswith("()") for line in t.split("\n"))]
    for text in called:
        assert "# a graph of nothing: " in text


def test_the_users_files_come_before_torchs():
    code = compile("a = 1\n", "/u/model.py", "exec")
    torch_file = f"{sysconfig.get_paths()['purelib']}/torch/nn/modules/none.py"
    graph = "".join(
        f"# File: {file}:{line} in f, code: x\n"
        for file, line in ((torch_file, 7), ("/u/other.py", 3), ("/u/model.py", 9))
    )
    shown = annotate("x = __compiled_fn_0_0(a)", code, [graph])
    assert shown.split("\n")[0] == "# model.py:9 | other.py:3 | none.py:7"


def test_constants_are_described_without_running_anything_of_theirs():
    class Loud:
        def __repr__(self):
            raise AssertionError("it was asked")

        __class__ = property(__repr__)

    assert described(Loud()) == "an object of the class Loud"
    assert described([Loud()]) == "an object of the class list"
    assert described(vars(__import__("json"))) == "the globals of the module json"
    assert terms("x = 1", {"_const_list": []}, {}) == []


def test_devices_and_types_are_described_as_expressions(torch):
    for value in (torch.device("cpu"), torch.device("cuda", 1), torch.bfloat16):
        assert eval(described(value), {"torch": torch}) == value


def test_a_stack_that_nobody_is_known_to_have_left_is_told_as_one():
    def resumed(___stack0):
        return ___stack0

    assert stack_values(resumed.__code__, "", resumed.__code__, "0/0") == {}
    assert terms("f(___stack0)", {}, {}) == [
        "___stack0: a value on Python's stack at the graph break"
    ]
