"""Stepping with debugpy, over its protocol: every kind of file that runs takes breakpoints."""

import ast
import re
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple

import pytest
from dap import debugged
from needs import need
from support import PROGRAMS, run_env

PROGRAM = PROGRAMS / "trained.py"


class Stop(NamedTuple):
    """Where to stop: at the first line of a function's body that matches; what it then makes."""

    file: str
    function: str
    at: str
    expression: str
    value: str


# In the order in which they run.  `result` is what the program prints at its end.
STOPS: Dict[str, List[Stop]] = {
    "eager": [
        Stop("__transformed_code_0_0_for_scaled.py", "scaled", "", "a[0].item()", "2.0"),
        Stop(
            "__compiled_fn_0_0.captured.py",
            "forward",
            r"(\w+).*= .* \* 2\b",
            "{0}[0].item()",
            "4.0",
        ),
    ],
    "aot_eager": [
        Stop(
            "__compiled_fn_0_0.forward.py",
            "forward",
            r"(\w+).*= .*\bmul\b.*, 2\)",
            "{0}[0].item()",
            "4.0",
        ),
        Stop(
            "__compiled_fn_0_0.backward.py",
            "forward",
            r"(\w+).*= .*\bmul\b.*, 2\)",
            "{0}[0].item()",
            "result",
        ),
    ],
    "inductor": [
        Stop(
            "__compiled_fn_0_0.inductor_forward.py",
            "call",
            r"(\w+), .*= args",
            "{0}[0].item()",
            "2.0",
        ),
        Stop(
            "__compiled_fn_0_0.inductor_backward.py",
            "call",
            r".* = args",
            "args[-1][0].item() * 2",
            "result",
        ),
    ],
}


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(name, marks=pytest.mark.thorough if name != "inductor" else ())
        for name in STOPS
    ],
)
def test_debugpy_stops_in_every_kind_of_file(backend, torch, tmp_path):
    need("debugpy")
    expected, shown = [], []
    # Files, not pipes: debugpy's own process would hold a pipe open for longer than the program.
    output, errors = tmp_path / "stdout.txt", tmp_path / "stderr.txt"
    with output.open("w") as stdout, errors.open("w") as stderr, debugged(
        [str(PROGRAM), str(tmp_path), backend],
        cwd=str(tmp_path),
        env={**run_env(), "TORCHINDUCTOR_COMPILE_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
    ) as (client, process):
        client.attach()
        thread, stack = client.stopped()  # where debug() pauses
        assert stack[0][0] == str(PROGRAM), "it stops in the user's frame, not in ours"
        assert "directory" in client.variables(stack[0][2])
        for stop in STOPS[backend]:
            file = tmp_path / stop.file
            line, then, names = place(file, stop)
            assert client.breakpoints(file, [line]) == [line]
            expected.append((stop, file, line, then, stop.expression.format(*names)))
        places = [(str(file), line) for _, file, line, *_ in expected]
        for number, (stop, file, line, then, expression) in enumerate(expected):
            if stack[0][:2] != places[number]:
                client.request("continue", threadId=thread)
                thread, stack = client.stopped()
            assert stack[0][:2] == places[number]
            client.request("next", threadId=thread)
            thread, stack = client.stopped()
            frame = stack[0]
            if frame[:2] in places[number + 1 : number + 2]:
                # In older torch the first line already calls the graph, which stops as well.
                frame = next(each for each in stack if each[:2] == (str(file), line))
            else:
                assert frame[:2] == (str(file), then), "a step goes to the next line of the file"
            assert client.variables(frame[2]), "an editor lists the locals"
            shown.append((stop.value, client.evaluate(expression, frame[2])))
        client.request("continue", threadId=thread)
        client.event("terminated")
        process.wait(timeout=60)
    assert process.returncode == 0, errors.read_text()
    result = re.findall(r"^result (\S+)$", output.read_text(), re.MULTILINE)
    assert len(result) == 1, output.read_text()
    assert [value for _, value in shown] == [
        result[0] if value == "result" else value for value, _ in shown
    ]
    for _, file, *_ in expected:
        assert str(file) in errors.read_text(), "debug() says which files take breakpoints"


def place(file: Path, stop: Stop):
    """The line to stop at, the line that a step leads to, and the names that the first matched."""
    text = file.read_text(encoding="utf-8")
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == stop.function
    ]
    assert functions, f"{file.name} defines no {stop.function}"
    starts = sorted({statement.lineno for statement in functions[-1].body})
    lines = text.splitlines()
    for line, then in zip(starts, starts[1:]):
        found = re.match(stop.at, lines[line - 1].strip())
        if found:
            return line, then, found.groups()
    raise AssertionError(f"no line like {stop.at!r} in {file.name}:\n{text}")
