"""`decompile` shows the user's function where `torch.compile` returned a wrapper."""

import functools

import pellucid
import pytest


def double(x):
    return x * 2


@pytest.fixture
def model(torch):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1

    return Model()


def test_a_compiled_function_is_the_users(torch):
    compiled = torch.compile(double, backend="eager")
    assert pellucid.decompile(compiled) == pellucid.decompile(double)
    found = pellucid.decompile_ex(compiled)
    assert found.source == pellucid.decompile(double)
    assert found.notes == ("this is what torch.compile was given, not the wrapper it returned",)
    assert pellucid.decompile_ex(double).notes == ()
    disabled = torch.compiler.disable(compiled)
    assert pellucid.decompile(disabled) == pellucid.decompile(double)


def test_a_compiled_module_is_its_forward(torch, model):
    found = pellucid.decompile_ex(torch.compile(model, backend="eager"), unstructured=True)
    assert found.source == pellucid.decompile(type(model).forward) and len(found.notes) == 1


def test_a_decorator_around_a_compiled_function_is_itself(torch):
    compiled = torch.compile(double, backend="eager")

    @functools.wraps(compiled)
    def outer(x):
        return compiled(x) + 5

    assert "+ 5" in pellucid.decompile(outer)
