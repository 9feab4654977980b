"""`pellucid diff` reports the one thing that differs, and nothing for equal runs."""

import importlib.util
import json
import os
import random
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from pellucid.comparison.compare import compare
from pellucid.comparison.sides import folded, rows_of
from pellucid.errors import NotADump
from pellucid.torch import find_nan, prepare_debug
from support import run_env, torch_version

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None and torch_version() < (2, 13),
    reason="the words of breaks and guards are those of newer torch",
)

PROGRAM = """\
import torch

SCALE = 2.5

class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g / 2

def step(x, flag):
    y = x * 2
    z = y.sin() - x
    z = Half.apply(z)
    if flag:
        z = z + SCALE
    return z.sum(-1)

def other(x):
    return x.cos()

def calls(x, run):
    run(step)(x, True).sum().backward()
    run(other)(x)
"""
CACHE = "TORCHINDUCTOR_CACHE_DIR"


def capture(torch, folder, text=PROGRAM, x=None, backend="aot_eager", inside=None, extra=""):
    """Capture one run of the program; its file is the same for all runs."""
    path = folder.parent / "program" / "program.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + extra)
    scope = {"__name__": "program", "__file__": str(path)}
    torch._dynamo.reset()
    exec(compile(path.read_text(), str(path), "exec"), scope)
    x = torch.arange(24.0).reshape(4, 6) if x is None else x
    x = x.detach().requires_grad_() if x.is_floating_point() else x
    with inside or nullcontext(), prepare_debug(folder):
        scope["calls"](x, lambda function: torch.compile(function, backend=backend))
    return folder


def edited(*pairs):
    text = PROGRAM
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return {"text": text}


# Each: how the second capture is made, the kind, and what its text has to say.
MORE = "def more(x):\n    return x + 7\n\ndef calls"
LONE = """\
def lone(x):
    try:
        return x.sum().item()
    except ValueError:
        return 0

def calls"""
TWICE = "    run(other)(x)\n    run(other)(x[:2, :3])\n"
PRINTS = "    print(end='')\n    z = y.sin"
ONE_CHANGE = {
    "a constant": (edited(("x * 2", "x * 3")), "graph", ["x_ * 2", "x_ * 3"]),
    "an operation": (edited(("y.sin()", "y.tanh()")), "graph", ["y.sin()", "y.tanh()"]),
    "one more operation": (edited(("y = x * 2", "y = (x * 2).abs()")), "graph", ["abs()"]),
    "one operation less": (edited((".sin() - x", ".sin()")), "graph", ["sin - l_x_"]),
    "edges": (edited(("y.sin() - x", "x - y.sin()")), "graph", ["sin - l_x_", "l_x_ - sin"]),
    "a number of a call": (edited(("sum(-1)", "sum(0)")), "graph", ["sum(-1)", "sum(0)"]),
    "only the backward pass": (edited(("return g / 2", "return g / 3")), "graph", ["/ 2", "/ 3"]),
    "a flag": (edited(("(x, True)", "(x, False)")), "guard", ["L['flag'] == True", "False"]),
    "a global": (edited(("SCALE = 2.5", "SCALE = 3.5")), "guard", ["G['SCALE'] == 3.5"]),
    "one break": (edited(("    z = y.sin", PRINTS)), "break", ["print"]),
    "another function": (
        edited(("run(other)(x)", "run(other)(x); run(more)(x)"), ("def calls", MORE)),
        "frame",
        ["more (program.py:", "second capture only"],
    ),
    "a function less": (edited(("    run(other)(x)\n", "")), "frame", ["other (program.py:"]),
    "one recompile": (
        edited(("    run(other)(x)\n", TWICE)),
        "recompile",
        ["other (program.py:", "recompiled it", "size"],
    ),
    "one frame left alone": (
        edited(("run(other)(x)", "run(other)(x); run(lone)(x)"), ("def calls", LONE)),
        "skipped",
        ["lone (program.py:", "uncompiled"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def base(torch, tmp_path_factory):
    return capture(torch, tmp_path_factory.mktemp("base") / "dump")


@pytest.mark.parametrize("name", ONE_CHANGE)
def test_a_change_of_the_program_is_told_and_nothing_else(name, base, torch, dynamo):
    how, kind, words = ONE_CHANGE[name]
    found = compare(base, capture(torch, base.parent / "dump_2", **how))
    assert [change.kind for change in found.changes] == [kind], str(found)
    for word in words:
        assert word in str(found)


@pytest.mark.parametrize("what", ["shape", "dtype", "stride"])
def test_a_change_of_the_input_is_told_once(what, base, torch, dynamo):
    x = {
        "shape": torch.arange(32.0).reshape(4, 8),
        "dtype": torch.arange(24.0).reshape(4, 6).double(),
        "stride": torch.arange(24.0).reshape(6, 4).t(),
    }[what]
    found = compare(base, capture(torch, base.parent / "dump_2", x=x))
    (change,) = found.changes
    assert change.kind == "graph" and "the captured graph" in change.words
    assert change.lines[0].text.startswith("l_x_: float32[4, 6] cpu")
    assert "its guards" in change.follows and change.also[0].startswith("other (program.py:")


def test_a_change_of_a_setting_is_told_and_nothing_else(base, torch, dynamo):
    import torch._dynamo.config as settings

    inside = settings.patch(recompile_limit=77)
    (change,) = compare(base, capture(torch, base.parent / "dump_2", inside=inside)).changes
    assert (change.kind, change.where) == ("setting", "torch._dynamo.config.recompile_limit")
    assert [(line.sign, line.text) for line in change.lines] == [("+", "77")]


def test_a_change_of_grad_mode_is_told_as_guards_of_all(base, torch, dynamo):
    text = PROGRAM.replace(".sum().backward()", "")
    one = capture(torch, base.parent / "dump_2", text=text)
    two = capture(torch, base.parent / "dump_3", text=text, inside=torch.no_grad())
    (change,) = compare(one, two).changes
    assert change.kind == "guard" and change.also[0].startswith("other (program.py:")
    assert [line.text for line in change.lines] == ["grad_mode: true", "grad_mode: false"]


def rewritten(base, folder, change):
    """A copy of a capture, its record changed."""
    folder.mkdir()
    for file in base.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    record = json.loads((folder / "session.json").read_text())
    change(record)
    (folder / "session.json").write_text(json.dumps(record))
    return folder


def test_another_release_is_told(base, tmp_path):
    two = rewritten(base, tmp_path / "two", lambda record: record["versions"].update(torch="9.9"))
    (change,) = compare(base, two).changes
    assert (change.kind, change.where) == ("version", "torch")
    assert change.lines[1].text == "9.9"


def test_another_process_is_told(base, tmp_path):
    one = rewritten(base, tmp_path / "one", lambda record: None)
    two = rewritten(base, tmp_path / "two", lambda record: None)
    rewritten(base, one / "rank_0", lambda record: None)
    rewritten(base, two / "rank_0", lambda record: None)
    assert not compare(one, two)
    rewritten(base, two / "rank_1", lambda record: None)
    (change,) = compare(one, two).changes
    assert (change.kind, change.where) == ("process", "rank_1")


def test_what_one_rank_has_names_the_rank(base, tmp_path):
    one = rewritten(base, tmp_path / "one", lambda record: None)
    two = rewritten(base, tmp_path / "two", lambda record: None)
    rewritten(base, one / "rank_1", lambda record: None)
    rewritten(base, two / "rank_1", lambda record: record["versions"].update(torch="9.9"))
    found = compare(one, two)
    assert [(c.kind, c.process) for c in found.changes] == [("version", "rank 1")]
    assert "version (rank 1): torch" in str(found)


def test_a_finding_is_told(torch, dynamo, tmp_path):
    def log(x):
        return x.log()

    for name, value in (("one", 1.0), ("two", -1.0)):
        torch._dynamo.reset()
        with prepare_debug(tmp_path / name):
            find_nan(log, torch.full((3,), value))
    (change,) = compare(tmp_path / "one", tmp_path / "two").changes
    assert change.kind == "finding" and "aten.log.default" in change.words


def test_kernels_alone_and_keys_of_caches(program, torch, dynamo, tmp_path):
    import torch._inductor.config as settings

    wrong = program("partings").kernel("cos", "({0} * {0})")()
    text = PROGRAM.replace("    run(step)(x, True).sum().backward()\n", "")
    with settings.patch(fx_graph_cache=False):
        runs = {
            name: capture(torch, tmp_path / name, text, None, "inductor", inside)
            for name, inside in (("one", None), ("again", None), ("two", wrong))
        }
    assert not compare(runs["one"], runs["again"])
    (change,) = compare(runs["one"], runs["two"]).changes
    assert change.kind == "kernel" and "cpp_fused_cos_0" in change.lines[0].text


def test_a_part_of_a_cache_key_is_told(base, tmp_path):
    def with_key(value):
        def change(record):
            key = next(e["key"] for e in record["events"] if e["event"] == "Frame")
            use = {"cache": "fx_graph_cache", "result": "miss", "reason": "", "cache_key": value}
            record["events"].append({"event": "CacheUse", "key": key, **use})

        return change

    import gzip

    folders = []
    for name in ("one", "two"):
        folder = rewritten(base, tmp_path / name, with_key(name))
        table = {"lines": ["[a] fx_gm: g", f"[{name}] device: {name}"], "keys": {name: [0, 1]}}
        (folder / "cache_keys.json.gz").write_bytes(gzip.compress(json.dumps(table).encode()))
        folders.append(folder)
    (change,) = compare(*folders).changes
    assert change.kind == "cache key"
    assert [(c.sign, c.text) for c in change.lines] == [
        ("-", "[one] device: one"),
        ("+", "[two] device: two"),
    ]


RENAMED = PROGRAM.replace("y = x * 2", "\n\n    first = x * 2").replace("y.sin", "first.sin")
SAME = {
    "names and lines": {"text": RENAMED},
    "comments": {"text": "# a comment\n" + PROGRAM},
    "more that is not compiled": {"extra": "\nUNUSED = 1\n"},
    "nothing": {},
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_equal_runs_give_nothing(name, base, torch, dynamo):
    found = compare(base, capture(torch, base.parent / "dump_2", **SAME[name]))
    assert not found and str(found) == "", str(found)


@pytest.mark.parametrize("name", ["Perceptron", "Attention", "Branching", "Counting", "Step"])
def test_two_runs_of_a_model_are_equal(name, program, torch, dynamo, tmp_path):
    models = program("small_models").MODELS
    for folder in ("one", "two"):
        torch._dynamo.reset()
        random.seed(0)
        model, args = models[name]()
        with prepare_debug(tmp_path / folder):
            torch.compile(model, backend="aot_eager")(*args)
    found = compare(tmp_path / "one", tmp_path / "two")
    assert not found, str(found)


def command(*arguments):
    program = "import sys; sys.modules['torch'] = None; from pellucid.__main__ import main; "
    return subprocess.run(
        [sys.executable, "-c", f"{program}sys.exit(main())", "diff", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=run_env(),
        timeout=60,
    )


def test_command_line_needs_no_torch(base, tmp_path):
    two = rewritten(base, tmp_path / "two", lambda record: record["versions"].update(torch="9.9"))
    done = command(base, base)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = command(base, two)
    assert done.returncode == 1 and "1. version: torch" in done.stdout
    done = command(base, two, "--json")
    plain = json.loads(done.stdout)
    assert plain["different"] and plain["changes"][0]["kind"] == "version"
    done = command(base, tmp_path / "nowhere")
    assert done.returncode == 2 and "nowhere: no such directory" in done.stderr


def shown_lines(rows):
    return [tuple(side.text if side else None for side in (r.first, r.second)) for r in rows]


def test_lines_side_by_side():
    rows = rows_of("a\nb = f_1\nc\nsame", "a\nb = f_2\nd\ne\nsame", starts=(1, 11))
    assert shown_lines(rows) == [
        *(("a", "a"), ("b = f_1", "b = f_2"), ("c", "d"), (None, "e"), ("same", "same"))
    ]
    assert [row.differs for row in rows] == [False, True, True, True, False]
    assert rows[-1].first.number == 4 and rows[-1].second.number == 15
    told = rows_of("a\nb = f_1\nc", "a\nb = f_2\nd", told=({3}, {3}))
    assert [row.differs for row in told] == [False, False, True]


def test_equal_lines_far_from_a_difference_are_folded():
    text = [str(i) + "x" for i in range(40)]
    rows = rows_of("\n".join(text), "\n".join([*text[:20], "new", *text[20:]]))
    runs = list(folded(rows))
    assert [(run.folded, len(run.rows)) for run in runs] == [(True, 17), (False, 7), (True, 17)]
    assert [row for run in runs for row in run.rows] == rows
    many = "\n".join(["x"] * 5000)
    (run,) = folded(rows_of(many, many))
    assert run.folded and run.left_out == 5000 and not run.rows


def test_the_page_shows_both_sides(base, torch, dynamo, tmp_path):
    hostile = edited(("x * 2", "x * 3  # </style><script>alert(1)</script>"))
    two = capture(torch, base.parent / "dump_2", **hostile)
    page = tmp_path / "page.html"
    done = command(base, two, "-o", page)
    assert done.returncode == 1, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "<h2>Graph: step (program.py:14) [0/0]</h2>" in text
    assert "<script" not in text and "&lt;script&gt;" in text and "default-src 'none'" in text
    assert text.count("__compiled_fn_0_0.captured.py, side by side") == 1
    minus, plus = (
        re.findall(rf'class="side {sign}"><i>\d*</i><code>(.*?)</code>', text)
        for sign in ("minus", "plus")
    )
    assert any("* 2" in line for line in minus) and not any("* 3" in line for line in minus)
    assert any("* 3" in line for line in plus) and not any("* 2" in line for line in plus)
    assert "captured operations" in text and "Your code" in text
    assert command(base, base, "-o", page).returncode == 0
    assert "The captures are equal." in page.read_text(encoding="utf-8")
    done = command(base, two, "-o", tmp_path / "no" / "page.html")
    assert done.returncode == 2 and "no such file" in done.stderr and not done.stdout


def test_what_is_no_capture_is_an_error(base, tmp_path):
    with pytest.raises(NotADump):
        compare(base, tmp_path)
    assert os.listdir(tmp_path) == []
    assert Path(base).is_dir()
