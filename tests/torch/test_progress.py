"""The line that says what compiles now: what it says, how often, and that it changes nothing."""

import io
import subprocess
import sys
import threading
import time

import pytest
from pellucid.dump.model.events import Place
from pellucid.torch import prepare_debug
from pellucid.torch.capture.connection import CAPTURE
from pellucid.torch.capture.progress import Progress
from pellucid.torch.taps import now
from pellucid.torch.taps.trace import TraceRecord
from support import run_env

STEP = Place("/home/me/train.py", 9, "step")


class Compile:
    """A compile as torch tells of it, by a clock that the test moves."""

    def __init__(self, rewrites=False):
        self.time, self.stream = 100.0, io.StringIO()
        self.at = None
        self.progress = Progress(
            self.stream, rewrites, lambda: self.time, ticks=False, look=lambda thread: self.at
        )

    def tell(self, kind, data=None):
        self.progress.take(TraceRecord(kind, data, None, "0/0", 0), lambda _: STEP)

    def begin(self, name):
        self.tell("chromium_event", {"name": name, "ph": "B", "ts": 1})
        if name == "entire_frame_compile":
            self.tell("dynamo_start", {})

    def end(self, name):
        self.tell("chromium_event", {"name": name, "ph": "E", "ts": 1})

    def wait(self, seconds):
        for _ in range(int(seconds * 2)):
            self.time += 0.5
            self.progress.tick()

    @property
    def lines(self):
        return self.stream.getvalue().splitlines()


def test_a_phase_has_a_line_and_a_long_one_several():
    compile = Compile()
    compile.begin("entire_frame_compile")
    for _ in range(20):  # phases that are over at once are not told
        compile.begin("build_guards")
        compile.end("build_guards")
    compile.begin("inductor_compile")
    compile.begin("_recursive_post_grad_passes")
    compile.begin("pass.slow")
    compile.wait(34)
    compile.end("pass.slow")
    compile.end("inductor_compile")  # an exception has ended what was inside
    compile.end("entire_frame_compile")
    who = "pellucid: [0/0] step (/home/me/train.py:9): "
    inside = "Inductor runs a pass over the graph (pass.slow)"
    assert compile.lines[:3] == [
        f"{who}Dynamo compiles the frame",
        f"{who}{inside}",
        f"{who}{inside} for 5 s",
    ]
    assert [line.rpartition(" for ")[2] for line in compile.lines[3:-1]] == ["10 s", "20 s"]
    assert compile.lines[-1] == f"{who}done after 34 s"


def test_on_a_terminal_one_line_is_written_over_and_taken_away():
    compile = Compile(rewrites=True)
    compile.begin("entire_frame_compile")
    compile.wait(3)
    compile.end("entire_frame_compile")
    said = compile.stream.getvalue()
    assert "\n" not in said and said.endswith("\r\x1b[K")
    assert said.count("\r\x1b[K") == 5  # once at first, then each second, then nothing
    assert "\r\x1b[Kpellucid: [0/0] step (train.py:9): Dynamo compiles the frame, 3 s" in said


def test_where_torch_tells_no_parts_its_graphs_say_how_far_it_is():
    compile = Compile()
    compile.tell("dynamo_start", {})
    for kind in ("aot_joint_graph", "inductor_post_grad_graph", "inductor_output_code"):
        compile.tell(kind)
        compile.wait(1)
    compile.tell("compilation_metrics", {})
    compile.wait(9)
    assert [line.rpartition(": ")[2] for line in compile.lines] == [
        "Dynamo traces the Python code",
        "AOTAutograd decides what is saved",
        "Inductor lowers the operations",
        "Inductor loads the program",
    ]


HANG = """
import sys, time, torch, pellucid
def slow(graph, inputs):
    def waits():
        time.sleep(120)
    waits()
def helper(x):
    return x + 1
@torch.compile(backend=slow)
def step(x):
    return helper(x)
with pellucid.prepare_debug(sys.argv[1], progress=True):
    step(torch.ones(3))
"""


def test_the_last_line_names_a_hang(torch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HANG)
    process = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path / "dump")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=run_env(),
    )
    killer = threading.Timer(90, process.kill)
    killer.start()
    lines = []
    for line in process.stderr:
        lines.append(line.strip())
        if "waits" in line:
            break
    process.kill()
    killer.cancel()
    process.communicate()
    where = f"pellucid: [0/0] step ({program}:9): the backend compiles the graph"
    assert lines[-1].startswith(where) and lines[-1].endswith(f", in waits ({program}:5)")


def test_the_line_that_dynamo_traces_is_known_to_another_thread(dynamo, torch):
    found = []
    thread = threading.get_ident()

    def look():
        until = time.monotonic() + 20
        while not found and time.monotonic() < until:
            time.sleep(0.001)
            doing = now.doing(thread)
            found.extend([] if doing is None or doing.runs else [doing.place])

    looking = threading.Thread(target=look, daemon=True)

    def grow(x):
        for number in range(500):
            x = x + number  # here
        return x

    looking.start()
    torch.compile(lambda x: grow(x), backend="eager")(torch.ones(3))
    looking.join(20)
    assert found and found[0].file == __file__ and found[0].function in ("grow", "<lambda>")


@pytest.mark.parametrize("captured", [True, False])
def test_it_changes_nothing_and_goes_away(captured, dynamo, torch, observed, tmp_path, capsys):
    from torch._logging._internal import trace_log

    def run():
        dynamo.reset()
        dynamo.utils.counters.clear()
        dynamo.utils.clear_compilation_metrics()

        @torch.compile(backend="aot_eager")
        def f(x):
            y = x.sin()
            print(end="")
            return y.cos()

        x = torch.ones(3, requires_grad=True)
        f(x).sum().backward()
        f(torch.ones(5)).sum()
        return observed(), x.grad.tolist()

    before, handlers = run(), list(trace_log.handlers)
    if captured:
        with prepare_debug(tmp_path / "dump", progress=True):
            shown = run()
    else:
        hide = CAPTURE.show_progress()
        try:
            shown = run()
        finally:
            hide()
    assert shown == before
    assert "f (" in capsys.readouterr().err
    assert [thread for thread in threading.enumerate() if "pellucid" in thread.name] == []
    assert list(trace_log.handlers) == handlers
    run()
    assert capsys.readouterr().err == ""


def test_interrupt_while_the_line_is_written_leaves_the_capture_at_work(monkeypatch):
    class Interrupted:
        def take(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(CAPTURE, "_progress", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        CAPTURE._on_trace(TraceRecord("dynamo_start", {}, None, "0/0", 0))
    assert not CAPTURE._busy.now
