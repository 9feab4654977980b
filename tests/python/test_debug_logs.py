"""`pellucid diff` of two logs of torch's DebugMode: the first operation that differs."""

import json
import time

import pytest
from pellucid.__main__ import main
from pellucid.comparison.debug_logs import compare_logs
from pellucid.errors import NotALog

EAGER = """
    # File: /home/you/train.py:8 in step, code: return norm(gelu(x))
    [nn.Mod] Net
      [nn.Mod] Net.act
        aten::gelu(t$4: f32[3, 4])  ->  t$5: f32[3, 4]  # {'hash': 3.608}
      [nn.Mod] Net.norm
        aten::native_layer_norm(t$5: f32[3, 4], [4])  ->  ('t$8: f32[3, 4]', 't$9: f32[3, 1]')\
  # {'hash': (10.23, 0.635)}
    aten::ones_like(t$11: f32[], memory_format=torch.preserve_format)  ->  t$12: f32[]\
  # {'hash': 1.0}
    aten::detach(t$15: f32[4])  ->  t$17: f32[4]  # {'hash': 9.0}
"""


def compiled(text):
    """The same run, compiled: other numbers of tensors, other modules, another operation."""
    for number in range(20, 0, -1):
        text = text.replace(f"t${number}:", f"t${number + 7}:")
    text = text.replace("[nn.Mod]", "[nn.Mod (compile)]")
    last = text.rindex("    aten::detach")
    extra = "    aten::empty_strided([3, 4], [4, 1], device=cpu)  ->  t$14: f32[3, 4]\n"
    return f"  [aot_eager region (compile)] enter\n\n{text[:last]}{extra}"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Write two logs, and return what `pellucid diff` says of them."""
    monkeypatch.chdir(tmp_path)

    def written(one, two):
        (tmp_path / "eager.log").write_text(one, encoding="utf-8")
        (tmp_path / "aot.log").write_text(two, encoding="utf-8")
        return compare_logs("eager.log", "aot.log")

    return written


def test_the_same_results_are_no_difference(logs, capsys):
    found = logs(EAGER, compiled(EAGER))
    assert not found and found.compared == 3 and found.alone == (1, 1)
    assert str(found) == (
        "no difference: 3 operations compared; "
        "1 operation only in eager.log and 1 operation only in aot.log"
    )
    assert main(["diff", "eager.log", "aot.log"]) == 0
    assert capsys.readouterr().out == ""


def test_the_first_operation_that_differs_is_named(logs, capsys):
    wrong = compiled(EAGER).replace("3.608", "3.655").replace("(10.23, 0.635)", "(10.9, 0.635)")
    found = logs(EAGER, wrong)
    assert [first.operation for first, _ in found.differ] == [
        "aten::gelu",
        "aten::native_layer_norm",
    ]
    assert main(["diff", "eager.log", "aot.log"]) == 1
    assert capsys.readouterr().out == (
        "the first operation with different results: aten::gelu\n"
        "  - eager.log:5  3.608\n"
        "  + aot.log:7  3.655\n"
        "  your line    /home/you/train.py:8 in step: return norm(gelu(x))\n"
        "  module       Net.act\n"
        "  later        aten::native_layer_norm\n"
        "  looked at    3 operations compared; "
        "1 operation only in eager.log and 1 operation only in aot.log\n"
    )
    assert main(["diff", "--json", "eager.log", "aot.log"]) == 1
    first = json.loads(capsys.readouterr().out)["differ"][0]
    assert [side["hashes"] for side in first] == [["3.608"], ["3.655"]]


@pytest.mark.parametrize(
    "kind, one, two, differs",
    [
        ("f32", "3.608", "3.60801", False),
        ("f32", "3.608", "3.61", True),
        ("f64", "3.608", "3.60801", True),
        ("bf16", "3.608", "3.61", False),
        # Mathematically zero: what is left is rounding, whatever its relative size.
        ("f32", "2.07e-06", "3.1e-06", False),
        ("f32", "nan", "nan", False),
        ("f32", "nan", "3.608", True),
        ("f32", "inf", "3.608", True),
        # A hash of the bits beside the norm, and a hash alone.
        ("f32", "(3.608, 8738174314479616)", "(3.608, 8738174314479617)", False),
        ("f32", "(3.608, 8738174314479616)", "(4.608, 8738174314479616)", True),
        ("f32", "8738174314479616", "8738174314479617", True),
        ("f64", "13825995870717345792", "13825995870717345793", True),
        # Integers are not rounded.
        ("i64", "200001.0", "200002.0", True),
        ("b8", "200001.0", "200001.0", False),
    ],
)
def test_rounding_depends_on_the_type(logs, kind, one, two, differs):
    tensor = f"t: {kind}[3, 4]"
    text = f"  aten::exp({tensor})  ->  {tensor}  # {{'input_hash': (1.0, {{}}), 'hash': "
    assert bool(logs(f"{text}{one}}}", f"{text}{two}}}")) is differs


def test_the_variant_that_writes_to_a_buffer_is_the_same_operation(logs):
    one = "  aten::mm(t: f32[2, 2], t: f32[2, 2])  ->  t: f32[2, 2]  # {'hash': 1.0}"
    two = one.replace("mm(", "mm.out(").replace("2])  ->", "2], out=t: f32[2, 2])  ->")
    assert logs(one, two.replace("1.0}", "2.0}"))


@pytest.mark.parametrize("change", [("exp1d", "exp2d"), ("[2, 2]", "[4, 4]"), ("f32", "f64")])
def test_operations_that_differ_by_a_number_are_not_compared(logs, change):
    """Neither the operations nor the shapes are the same, so their results may differ."""
    text = "  aten::exp1d(t: f32[2, 2])  ->  t: f32[2, 2]  # {'hash': 1.0}\n"
    end = "  aten::neg(t: f32[3])  ->  t: f32[3]  # {'hash': 5.0}\n"
    found = logs(end + text + end, end + text.replace(*change).replace("1.0}", "2.0}") + end)
    assert not found and found.compared == 2 and found.alone == (1, 1)


def line(operation, value, sizes="2, 2", kind="f32"):
    tensor = f"t: {kind}[{sizes}]"
    return f"    aten::{operation}({tensor})  ->  {tensor}  # {{'hash': {value}}}\n"


def test_an_operation_that_only_one_run_has_is_not_compared_with_its_neighbour(logs):
    """Of three operations of one kind, compiled code leaves out the first."""
    found = logs(line("mul", 1.5) + line("mul", 2.5) + line("mul", 0.0), line("mul", 2.50001))
    assert not found and (found.compared, found.alone) == (1, (2, 0))
    found = logs(line("mul", 5.5) + line("mul", 2.5), line("mul", 2.50001) + line("neg", 1.0))
    assert not found and (found.compared, found.alone) == (1, (1, 1))


def test_repeated_layers_are_not_shifted(logs):
    """Each layer has the same operations; compiled code leaves out some of them in every layer."""
    layers = [
        [line(f"op{k}", layer * 7.0 + k + 1, f"{k + 1}, 3") for k in range(12)]
        for layer in range(30)
    ]
    eager = "".join(text for layer in layers for text in layer)
    kept = [text for n, layer in enumerate(layers) for k, text in enumerate(layer) if (n + k) % 5]
    found = logs(eager, "".join(kept))
    assert not found and (found.compared, found.alone) == (len(kept), (360 - len(kept), 0))
    first = next(at for at, text in enumerate(kept) if at > 100 and "op7(" in text)
    wrong = [text.replace("'hash': ", "'hash': 9") for text in kept[first:]]
    found = logs(eager, "".join(kept[:first] + wrong))
    assert found.differ[0][1].line == first + 1 and found.differ[0][0].operation == "aten::op7"
    assert eager.split("\n")[found.differ[0][0].line - 1] == kept[first].rstrip("\n")


def test_huge_logs_are_compared_in_linear_time(logs):
    """All operations occur often, no result is the same, and one run lacks a tenth of them."""
    many = 20_000

    lines = [line(f"op{n % 40}", n + 1.0) for n in range(many)]
    wrong = [line(f"op{n % 40}", "nan") for n in range(many) if n % 11]
    begin = time.process_time()
    found = logs("".join(lines), "".join(wrong))
    assert time.process_time() - begin < 10 and found.compared > many * 0.8


def test_the_line_and_the_module_are_the_programs(logs):
    """Code that torch generated is not the user's, and a module ends where its lines end."""
    eager = "    # File: /home/you/net.py:3 in forward, code: y = x.exp()\n    [nn.Mod] Net\n"
    eager += "      [nn.Mod] Net.act\n    " + line("exp", 1.0) + line("neg", 2.0)
    aot = "    # File: <eval_with_key>.3:80 in forward, code: exp = torch.ops.aten.exp(x)\n"
    found = logs(eager, aot + line("exp", 3.0) + line("neg", 4.0))
    assert "  your line    /home/you/net.py:3 in forward: y = x.exp()\n" in str(found)
    assert [one.module for one, _ in found.differ] == ["Net.act", ""]
    found = logs(aot + line("exp", 3.0), aot + line("exp", 4.0))
    assert "your line" not in str(found)


def test_a_truncated_log_is_compared_as_far_as_it_goes(logs):
    for end in range(len(EAGER) // 2, len(EAGER)):
        assert not logs(EAGER, EAGER[:end])


def test_logs_without_a_common_operation_are_not_equal(logs, capsys):
    with pytest.raises(NotALog, match=r"aot\.log: no operation in common with eager\.log"):
        logs(line("exp", 1.0), line("neg", 1.0))
    assert main(["diff", "eager.log", "aot.log"]) == 2
    assert "no operation in common" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "no log\n", "    aten::t(t: f32[4])  ->  t: f32[4]\n"])
def test_what_is_no_log_is_refused(logs, capsys, text):
    with pytest.raises(NotALog, match=r"aot\.log: no .*log_tensor_hashes"):
        logs(EAGER, text)
    assert main(["diff", "eager.log", "aot.log"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    told = "log_tensor_hashes" if "aten" in text else "Pass the directory given to --out"
    assert told in error


def test_logs_have_no_page(logs, capsys):
    logs(EAGER, EAGER)
    assert main(["diff", "eager.log", "aot.log", "-o", "page.html"]) == 2
    assert capsys.readouterr().err == "pellucid: --out: logs have no page; leave it out\n"
