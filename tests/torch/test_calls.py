"""How often each compiled version ran, counted where that is asked for; nothing where it is not."""

import subprocess
import threading

import pytest
from pellucid import load
from pellucid.dump.model.events import Calls, Frame, Problem
from pellucid.findings import find
from pellucid.findings.text import as_json, explanation
from pellucid.torch import prepare_debug
from support import run_env, warm_python


def stepped(x):
    y = x.sin()
    print(end="")
    return y + 1


def counts(capture):
    return {str(event.key): event.number for event in capture.of(Calls)}


def test_each_version_counts_its_calls(torch, dynamo, tmp_path):
    with prepare_debug(tmp_path, calls=True) as session:
        compiled = torch.compile(stepped, backend="eager", dynamic=False)
        results = [compiled(torch.ones(n)) for n in (2, 2, 3, 2, 3, 2)]
    compiled(torch.ones(2))  # after the capture
    assert session.of(Problem) == []
    assert all(frame.swapped and frame.verdict.proven for frame in session.of(Frame))
    assert [r.shape[0] for r in results] == [2, 2, 3, 2, 3, 2]
    capture = load(tmp_path)
    assert counts(capture) == counts(session) == {"0/0": 4, "1/0": 4, "0/1": 2, "1/1": 2}
    assert "calls that ran compiled: stepped [0/0] 4, [0/1] 2" in explanation([capture], [])
    assert '"0/1": 2' in as_json([capture], find(capture))


@pytest.mark.parametrize("calls", [False, True])
def test_the_code_is_what_it_was_but_for_the_count(calls, torch, dynamo, tmp_path):
    def closing(n):
        def inner(x, *more, k=2):
            nonlocal n
            n += 1
            if k > n:
                raise ValueError(k)
            return x * k + sum(more)

        return inner

    with prepare_debug(tmp_path, calls=calls) as session:
        compiled = torch.compile(closing(1), backend="eager")
        assert compiled(torch.ones(2), torch.ones(2)).tolist() == [3.0, 3.0]
        with pytest.raises(ValueError, match="9"):
            compiled(torch.ones(2), k=9)
    assert session.of(Problem) == []
    assert bool(session.of(Calls)) == calls
    for path in tmp_path.glob("__transformed*.py"):
        assert "__pellucid_count__" not in path.read_text()


def test_code_that_cannot_count_tells_nothing(torch, dynamo, tmp_path, monkeypatch):
    from pellucid.torch.dynamo import rewrite

    monkeypatch.setattr(rewrite, "counted", lambda text: None)
    with prepare_debug(tmp_path, calls=True) as session:
        torch.compile(stepped, backend="eager")(torch.ones(2))
    assert counts(session) == {} and all(frame.swapped for frame in session.of(Frame))


def test_calls_of_several_threads_are_all_counted(torch, dynamo, tmp_path):
    with prepare_debug(tmp_path, calls=True) as session:
        compiled = torch.compile(lambda x: x + 1, backend="eager")
        compiled(torch.ones(2))
        threads = [
            threading.Thread(target=lambda: [compiled(torch.ones(2)) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(counts(session).values()) == 201


def test_a_run_counts_on_demand(torch, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "f = torch.compile(lambda x: x + 1, backend='eager')\n"
        "for _ in range(3):\n"
        "    f(torch.ones(2))\n"
    )
    for options, known in ((["--calls"], {"0/0": 3}), ([], {})):
        out = tmp_path / f"dump{len(options)}"
        command = [warm_python(), "-m", "pellucid", "run", *options, "--out", str(out)]
        subprocess.run([*command, str(script)], env=run_env(), check=True, cwd=tmp_path)
        assert counts(load(out)) == known
