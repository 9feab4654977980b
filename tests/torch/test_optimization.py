"""The dispatcher runs compiled code past its guards, for one instance at a time."""

import gc

import pytest


@pytest.fixture
def scaled(torch, dynamo):
    from pellucid.optimization import TorchCompileWrapperWithCustomDispatcher

    class Scaled(TorchCompileWrapperWithCustomDispatcher):
        def __init__(self, scale):
            self.scale = torch.tensor(scale)
            super().__init__(torch.compile(self.forward, backend="eager", dynamic=False))

        def forward(self, x, bonus=0):
            return x * self.scale + x.shape[0] + bonus

        def __call__(self, x, index=None):
            if index is None:
                return self.compiled_callable(x)
            with self.dispatch_to_code(index):
                return self.forward(x)

    return Scaled


def test_each_instance_keeps_its_own_versions(scaled, torch):
    one, two = scaled(1.0), scaled(2.0)
    one(torch.ones(2))
    one(torch.ones(3))
    two(torch.ones(2))
    assert (len(one.compiled_codes), len(two.compiled_codes)) == (2, 0)  # guards let `two` share


def test_dispatch_goes_past_the_guards(scaled, torch):
    model = scaled(1.0)
    model(torch.ones(2))
    assert model(torch.ones(4)).tolist() == [5.0] * 4
    assert model(torch.ones(4), index=0).tolist() == [3.0] * 4, "the version for 2 rows ran"
    assert "forward" not in vars(model)


def test_dispatch_ends_when_the_code_raises(scaled, torch):
    model = scaled(1.0)
    model(torch.ones(2))
    with pytest.raises(TypeError), model.dispatch_to_code(0):
        model.forward(None)
    assert "forward" not in vars(model)
    with pytest.raises(IndexError), model.dispatch_to_code(7):
        pass


def test_an_instance_that_is_dropped_takes_its_hook_along(scaled, torch):
    from torch._dynamo.convert_frame import _bytecode_hooks

    gc.collect()
    before = len(_bytecode_hooks)
    model = scaled(1.0)
    assert len(_bytecode_hooks) == before + 1
    del model
    gc.collect()
    assert len(_bytecode_hooks) == before
