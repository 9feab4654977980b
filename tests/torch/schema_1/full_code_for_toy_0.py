# toy · /home/me/toy.py:4 · 2 compiled versions
#   [0/1] __transformed_code_0_1_for_toy.py: equivalent, runs from its file
#   [0/0] __transformed_code_0_0_for_toy.py: equivalent, runs from its file
# Compiled again because:
#   [0/1] 0/0: tensor 'a' size mismatch at index 0. expected 3, actual 4


from __future__ import annotations

import torch
import torch._dynamo.utils as dynamo_utils
from pellucid.torch.guard_checks import (
    DEFAULT_DEVICE,
    DIMENSION_DYNAMIC_MARKING_GUARD,
    GLOBAL_STATE,
    Guards,
    ID_MATCH,
    LEAF_GUARD,
    NO_TENSOR_ALIASING,
    SHAPE_GUARD,
    TENSOR_MATCH,
    TORCH_FUNCTION_MODE_STACK,
    VALUES,
    objects,
)
from pellucid.torch.siblings import graph, resumed

__compiled_fn_0_0 = graph(globals(), '__compiled_fn_0_0.captured.py')
__compiled_fn_0_1 = graph(globals(), '__compiled_fn_0_1.captured.py')
__resume_at_112_3 = resumed(globals(), 'full_code_for_torch_dynamo_resume_in_toy_at_6_1.py', 'torch_dynamo_resume_in_toy_at_6')
__resume_at_112_9 = resumed(globals(), 'full_code_for_torch_dynamo_resume_in_toy_at_6_1.py', 'torch_dynamo_resume_in_toy_at_6')
# Only the program has: __resume_at_102_2, __resume_at_102_8


kept_0_1 = objects(globals(), "0_1")  # what this process knows by identity


@Guards
def guards_0_1(L, G):
    """Decide the 14 guards of [0/1] in torch's order; 2 only where they were captured."""
    # _dynamo/output_graph.py:1135 in init_ambient_guards
    yield LEAF_GUARD('LAMBDA_GUARD', L, kept_0_1[0], 'torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None')
    yield GLOBAL_STATE({'allow_bf16_reduce': 0, 'allow_fp16_reduce': 0, 'allow_tf32': False, 'autocast_state': {'cached_enabled': True, 'dtype': [15, 5, 5, 15, 5, 5, 15, 15, 5, 5], 'enabled': [False, False, False, False, False, False, False, False, False, False]}, 'default_dtype': 6, 'deterministic_algorithms': False, 'deterministic_algorithms_warn_only': False, 'grad_mode': True, 'num_threads': 2, 'torch_function': True, 'torch_function_all_disabled': False})
    yield TORCH_FUNCTION_MODE_STACK(kept_0_1[1])
    # _dynamo/output_graph.py:1122 in init_ambient_guards
    yield DEFAULT_DEVICE(None)
    yield VALUES  # from here on torch calls no torch function or mode
    a = L['a']
    # x = a / (torch.abs(a) + 1)  # home/me/toy.py:5 in toy
    yield TENSOR_MATCH(a, 'torch.Tensor', kept_0_1[2], dtype='torch.float32', device=None, requires_grad=False, size=[None], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(a)
    tensors = []
    yield NO_TENSOR_ALIASING(a, tensors)
    b = L['b']
    # if b.sum() < 0:  # home/me/toy.py:6 in toy
    yield TENSOR_MATCH(b, 'torch.Tensor', kept_0_1[3], dtype='torch.float32', device=None, requires_grad=False, size=[None], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(b)
    yield NO_TENSOR_ALIASING(b, tensors)
    torch_ = G['torch']
    # x = a / (torch.abs(a) + 1)  # home/me/toy.py:5 in toy
    yield ID_MATCH(torch_, 'module', kept_0_1[4])
    abs_ = torch_.abs  # G['torch'].abs
    yield ID_MATCH(abs_, 'builtin_function_or_method', kept_0_1[5])
    # x = a / (torch.abs(a) + 1)  # home/me/toy.py:5 in toy (user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))
    yield SHAPE_GUARD(2 <= L['a'].size()[0])
    # if b.sum() < 0:  # home/me/toy.py:6 in toy (user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))
    yield SHAPE_GUARD(2 <= L['b'].size()[0])


# __transformed_code_0_1_for_toy.py: equivalent, runs from its file
def __transformed_code_0_1_for_toy(a, b):
    # PyTorch's own marks for its profiler
    dynamo_utils.record_pregraph_bytecode_exit(dynamo_utils.record_pregraph_bytecode_enter())
    # toy.py:5-6  x = a / (torch.abs(a) + 1); if b.sum() < 0:
    condition, x = __compiled_fn_0_1(
        dynamo_utils.call_size(a, 0),
        a,
        dynamo_utils.call_size(b, 0),
        b,
    )[:2]
    if condition:
        del condition
        return __resume_at_102_8([], [], b, x)  # toy.py:7  b = b * -1
    del condition
    return __resume_at_112_9([], [], b, x)  # toy.py:8  return x * b


kept_0_0 = objects(globals(), "0_0")  # what this process knows by identity


@Guards
def guards_0_0(L, G):
    """Decide the 12 guards of [0/0] in torch's order; 2 only where they were captured."""
    # _dynamo/output_graph.py:1135 in init_ambient_guards
    yield LEAF_GUARD('LAMBDA_GUARD', L, kept_0_0[0], 'torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None')
    yield GLOBAL_STATE({'allow_bf16_reduce': 0, 'allow_fp16_reduce': 0, 'allow_tf32': False, 'autocast_state': {'cached_enabled': True, 'dtype': [15, 5, 5, 15, 5, 5, 15, 15, 5, 5], 'enabled': [False, False, False, False, False, False, False, False, False, False]}, 'default_dtype': 6, 'deterministic_algorithms': False, 'deterministic_algorithms_warn_only': False, 'grad_mode': True, 'num_threads': 2, 'torch_function': True, 'torch_function_all_disabled': False})
    yield TORCH_FUNCTION_MODE_STACK(kept_0_0[1])
    # _dynamo/output_graph.py:1122 in init_ambient_guards
    yield DEFAULT_DEVICE(None)
    yield VALUES  # from here on torch calls no torch function or mode
    a = L['a']
    # x = a / (torch.abs(a) + 1)  # home/me/toy.py:5 in toy
    yield TENSOR_MATCH(a, 'torch.Tensor', kept_0_0[2], dtype='torch.float32', device=None, requires_grad=False, size=[3], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(a)
    tensors = []
    yield NO_TENSOR_ALIASING(a, tensors)
    b = L['b']
    # if b.sum() < 0:  # home/me/toy.py:6 in toy
    yield TENSOR_MATCH(b, 'torch.Tensor', kept_0_0[3], dtype='torch.float32', device=None, requires_grad=False, size=[3], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(b)
    yield NO_TENSOR_ALIASING(b, tensors)
    torch_ = G['torch']
    # x = a / (torch.abs(a) + 1)  # home/me/toy.py:5 in toy
    yield ID_MATCH(torch_, 'module', kept_0_0[4])
    abs_ = torch_.abs  # G['torch'].abs
    yield ID_MATCH(abs_, 'builtin_function_or_method', kept_0_0[5])


# __transformed_code_0_0_for_toy.py: equivalent, runs from its file
def __transformed_code_0_0_for_toy(a, b):
    # PyTorch's own marks for its profiler
    dynamo_utils.record_pregraph_bytecode_exit(dynamo_utils.record_pregraph_bytecode_enter())
    # toy.py:5-6  x = a / (torch.abs(a) + 1); if b.sum() < 0:
    condition, x = __compiled_fn_0_0(a, b)[:2]
    if condition:
        del condition
        return __resume_at_102_2([], [], b, x)  # toy.py:7  b = b * -1
    del condition
    return __resume_at_112_3([], [], b, x)  # toy.py:8  return x * b


# /home/me/toy.py:4
def __original_toy(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def toy(a, b):
    L = {'a': a, 'b': b}
    if guards_0_1(L, kept_0_1.globals(globals())):
        return kept_0_1.transformed(__transformed_code_0_1_for_toy)(a, b)
    if guards_0_0(L, kept_0_0.globals(globals())):
        return kept_0_0.transformed(__transformed_code_0_0_for_toy)(a, b)
    # No version fits: torch compiles another, or past its limit runs the original.
    return kept_0_1.original(__original_toy)(a, b)
