"""An error that torch's own code raises is torch's, with the line that it was compiling."""

import linecache
from dataclasses import replace

import pytest
from pellucid import load
from pellucid.dump.model.events import CompileKey, Place, Skipped
from pellucid.findings import find
from pellucid.findings.torchs_own import fault_of_torch, traced_line
from pellucid.torch import prepare_debug


def failed(torch, tmp_path, function, *args):
    with prepare_debug(tmp_path), pytest.raises(Exception):  # noqa: B017
        function(*args)
    (told,) = [finding for finding in find(load(tmp_path)) if finding.kind == "failed"]
    return told


def test_an_error_inside_dynamo_is_torchs(torch, dynamo, tmp_path, monkeypatch):
    """As when an assertion of Dynamo's own fails: the line is right, and runs uncompiled."""
    from torch._dynamo.variables import tensor

    known = tensor.TensorVariable.call_method

    def call_method(self, tx, name, *args, **kwargs):
        if name == "round":
            raise AssertionError("freevar has no source: this likely means a bug")
        return known(self, tx, name, *args, **kwargs)

    call_method.__code__ = call_method.__code__.replace(co_filename=tensor.__file__)
    monkeypatch.setattr(tensor.TensorVariable, "call_method", call_method)

    @torch.compile(backend="eager")
    def step(x):
        y = x + 1
        return y.round()  # LINE

    told = failed(torch, tmp_path, step, torch.ones(3))
    assert "# LINE" in linecache.getline(told.place.file, told.place.line)
    assert "PyTorch itself failed, in torch/_dynamo/variables/tensor.py:" in told.cause
    assert "freevar has no source" in told.cause and "fix the line" not in told.remedy
    assert "torch.compiler.disable" in told.remedy and "TORCHDYNAMO_VERBOSE=1" in told.remedy


def test_the_line_of_the_operation_that_a_backend_was_at_is_named():
    """The error as torch words it: after the real one, its dispatcher is broken in the process."""
    text = """backend='aot_eager' raised:
RuntimeError: Cannot set version_counter for inference tensor

While executing %detach : [num_users=1] = call_method[target=detach](args = (%mul,), kwargs = {})
Original traceback:
  File "/u/model.py", line 36, in forward
    index = self.nearest(x)
            ^^^^^^^^^^^^^^^
  File "/u/model.py", line 18, in nearest
    flat = x.detach().view(-1)
           ^^^^^^^^^^^^^^^^^^^

Use tlparse to see full graph. (https://github.com/pytorch/tlparse)
"""
    kind, place = "BackendCompilerFailed", Place("/u/model.py", 35, "forward")
    event = Skipped(CompileKey("0/0"), place, kind, text, True, inside="torch/_ops.py:3")
    assert traced_line(event) == Place("/u/model.py", 18, "nearest")
    cause, remedies = fault_of_torch(event)
    assert "PyTorch itself failed, in torch/_ops.py:3" in cause and "Original" not in cause
    assert "TORCHDYNAMO_VERBOSE=1" in remedies[-1].words
    assert fault_of_torch(replace(event, inside="")) is None


def test_an_error_of_the_programs_own_backend_is_not_torchs(torch, dynamo, tmp_path):
    def backend(graph, inputs):
        raise AssertionError("not today")

    step = torch.compile(lambda x: x + 1, backend=backend)
    assert "PyTorch itself" not in failed(torch, tmp_path, step, torch.ones(3)).cause


def test_a_call_with_wrong_shapes_is_not_torchs(torch, dynamo, tmp_path):
    step = torch.compile(lambda x: x @ torch.ones(5, 2), backend="eager")
    assert "PyTorch itself" not in failed(torch, tmp_path, step, torch.ones(2, 3)).cause
