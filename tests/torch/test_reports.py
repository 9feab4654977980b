"""Programs remade after public reports: the finding that answers stands in the first ten lines.

Each report asks a question; EXPECTED says which finding answers it: its kind, its line (None where
it has none, or the line is a library's) and a word of its cause.
"""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from needs import need
from pellucid.dump.store.load import load_all
from pellucid.findings import find_all
from pellucid.findings.text import explanation
from support import run_env, torch_version, warm_python
from views import disagreements

RUNNER = Path(__file__).with_name("run_reports.py")

# Those that may share a process, in groups of about the same cost.
GROUPS = {
    "breaks": ("t01", "t02", "t03", "t14", "t15", "t25", "t33", "t35"),
    "recompiles": ("t04", "t05", "t06", "t17", "t18", "t21", "t23", "t29"),
    "failures": ("t09", "t10", "t12", "t20", "t26", "t30", "t43"),
    "others": ("t27", "t32", "t34", "t41", "t49", "t51"),
}

EXPECTED = {
    "t01": [("break", 21, "print"), ("break", 23, "logging"), ("break", 25, "warn")],
    "t02": [("break", 18, "item"), ("break", 21, "tolist"), ("break", 21, "bincount")],
    "t03": [("limit", 13, "recompile_limit"), ("break", 13, "tensor's values")],
    "t04": [("limit", 17, "recompile_limit"), ("recompile", 17, "self.seen")],
    "t05": [("recompile", 15, "how"), ("recompile", 21, "scale"), ("recompile", 10, "keys")],
    "t06": [("recompile", None, "lr")],
    "t09": [("failed", 22, "fake kernel")],
    "t10": [("hook", 17, "forward hook"), ("hook", 19, "backward hook")],
    "t12": [("stance", 24, "raised"), ("stance", 21, "force_eager"), ("stance", 19, "uncompiled")],
    "t14": [("failed", 46, "view"), ("break", 35, "try")],
    "t15": [("eager", 32, "generator")],
    "t17": [("cached", 12, "lru_cache"), ("recompile", 14, "BUILT")],
    "t18": [("break", 25, "print"), ("break", 25, "uncompiled")],
    "t20": [("failed", 18, "fixed to 8")],
    "t21": [("recompile", 31, "ids.size(1)"), ("recompile", 31, "cache.keys[0].size(1)")],
    "t23": [("recompile", None, "x.size(0)")],
    "t25": [("failed", None, "aot_eager"), ("recompile", None, "same tensor")],
    "t26": [("nan", 18, "backward"), ("nan", 30, "softmax")],
    "t27": [("precision", 12, "rounds")],
    "t29": [("limit", 17, "recompile_limit"), ("recompile", 17, "layer.kind")],
    "t30": [("failed", 35, "print"), ("failed", 27, "tensor's values")],
    "t32": [("recompile", None, "x.size(0)")],
    "t33": [("break", 15, "random"), ("break", 18, "clock")],
    "t34": [("recompile", None, "type of `fn`")],
    "t35": [("break", 21, "print")],
    "t41": [("recompile", 17, "cache")],
    "t43": [("failed", 19, "no cumsum")],
    "t49": [("limit", 28, "recompile_limit"), ("break", 12, "graph_break")],
    "t51": [("break", 20, "backward"), ("recompile", None, "shape")],
}


def shared(name: str) -> Path:
    found = sorted((need("shared") / "torch" / "reports").glob(f"{name}_*.py"))
    if not found:
        pytest.skip(f"needs the program {name}")
    return found[0]


def answer(directory: Path) -> "tuple[list[str], list]":
    """The first ten lines of `pellucid explain`, and the findings that stand in them."""
    captures = load_all(directory)
    findings = find_all(captures)
    lines = explanation(captures, findings).splitlines()[:10]
    shown = [f for n, f in enumerate(findings, 1) if any(re.match(rf"{n}\. ", x) for x in lines)]
    return lines, shown


def missing(directory: Path, expected) -> "list[str]":
    """What is expected and not there."""
    lines, shown = answer(directory)
    absent = []
    for kind, line, word in expected:
        fits = (
            f
            for f in shown
            if f.kind == kind
            and word in f.cause
            and (line is None or (f.place is not None and f.place.line == line))
        )
        if next(fits, None) is None:
            absent.append(f"{directory.name}: no {kind} at {line} with {word!r} in {lines}")
    return absent


# It traces random numbers, and does not guard what a cached function has read.
SINCE_2_15 = {"t17": [("cached", 12, "lru_cache")]}


@pytest.mark.parametrize("group", list(GROUPS))
def test_the_answer_stands_in_the_first_ten_lines(group, torch, tmp_path):
    names = GROUPS[group]
    programs = [str(shared(name)) for name in names]
    command = [warm_python(), str(RUNNER), str(tmp_path), *programs]
    subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, check=True, timeout=550)
    wanted = {**EXPECTED, **(SINCE_2_15 if torch_version() >= (2, 15) else {})}
    absent = [x for name in names for x in missing(tmp_path / name, wanted.get(name, []))]
    assert absent == []
    assert disagreements([tmp_path / name for name in names], tmp_path / "views") == []
    for name in names:
        for finding in answer(tmp_path / name)[1]:
            assert finding.cause and (finding.remedy or finding.sure or finding.quoted)


def environment(tmp_path, **more):
    """The environment of a program that makes its captures itself."""
    kept = {**run_env(), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("LAB_BACKEND", "PELLUCID_DUMP", "RANK", "WORLD_SIZE"):
        kept.pop(name, None)
    return {**kept, **more}


def run(*command, env, tmp_path):
    done = subprocess.run(
        [warm_python(), *map(str, command)],
        env=env,
        cwd=tmp_path,
        timeout=550,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def test_a_second_process_that_hits_the_cache_is_told(torch, tmp_path):
    dumps = [tmp_path / "first", tmp_path / "second"]
    env = environment(tmp_path, LAB_DUMPS=":".join(map(str, dumps)))
    out = run(shared("t37"), env=env, tmp_path=tmp_path)
    assert missing(dumps[1], [("cache", None, "hit")]) == [], out


def test_forked_workers_are_told_together(torch, tmp_path):
    dump = tmp_path / "dump"
    command = ("-m", "pellucid", "run", "--out", dump, shared("t38"))
    out = run(*command, env=environment(tmp_path), tmp_path=tmp_path)
    assert len(load_all(dump)) > 1, out
    assert missing(dump, [("break", 12, "graph_break")]) == [], out


def test_a_capture_of_a_test_of_pytests_is_told(torch, tmp_path):
    env = environment(tmp_path, LAB_DUMPED="1", TMPDIR=str(tmp_path))
    out = run(shared("t40"), env=env, tmp_path=tmp_path)
    dumps = [index.parent for index in tmp_path.rglob("index.md") if "test_clip_0_5" in str(index)]
    assert len(dumps) == 1, out
    assert missing(dumps[0], [("break", 13, "tensor's values")]) == []


def test_blocks_that_fsdp_keeps_from_compiling_are_told(torch, tmp_path):
    dump = tmp_path / "dump"
    out = run(shared("t45"), env=environment(tmp_path, LAB_DUMP=str(dump)), tmp_path=tmp_path)
    assert missing(dump, [("nothing", None, "FSDP")]) == [], out


def test_ranks_that_differ_are_told_by_the_first_difference(torch, tmp_path):
    dump = tmp_path / "dump"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [warm_python(), "-m", "pellucid", "run", "--out", str(dump), str(shared("t47"))]
    running = [
        subprocess.Popen(
            command,
            env=environment(tmp_path, RANK=rank, LOCAL_RANK=rank, GLOO_SOCKET_IFNAME="lo", **job),
            stdout=subprocess.DEVNULL,
        )
        for rank in "01"
    ]
    assert [process.wait(timeout=300) for process in running] == [0, 0]
    assert missing(dump, [("ranks", 21, "graph break"), ("recompile", None, "x.size(0)")]) == []


def test_explain_needs_no_torch_and_says_with_its_status_what_was_found(torch, tmp_path):
    program = shared("t30")
    env = run_env()
    subprocess.run([warm_python(), str(RUNNER), str(tmp_path), str(program)], env=env, check=True)
    directory = str(tmp_path / "t30")
    blocked = "import sys; sys.modules['torch'] = None; from pellucid.__main__ import main; "
    for options, status in (
        ([directory], 0),
        ([directory, "--fail-on", "failed,limit"], 1),
        ([directory, "--fail-on", "nan"], 0),
        ([directory, "--json"], 0),
        ([str(tmp_path / "none")], 2),
    ):
        code = f"{blocked}sys.exit(main(['explain', *{options!r}]))"
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert len(done.stderr.splitlines()) == (1 if status == 2 else 0)
    assert os.listdir(directory)
