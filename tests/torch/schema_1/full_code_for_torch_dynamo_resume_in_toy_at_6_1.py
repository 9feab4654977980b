# toy, resumed after line 6 · /home/me/toy.py:8 · 2 compiled versions
#   [1/1] __transformed_code_1_1_for_torch_dynamo_resume_in_toy_at_6.py: equivalent, runs from its file
#   [1/0] __transformed_code_1_0_for_torch_dynamo_resume_in_toy_at_6.py: equivalent, runs from its file
# Compiled again because:
#   [1/1] 1/0: tensor 'b' size mismatch at index 0. expected 3, actual 4


from __future__ import annotations

import torch._dynamo.utils as dynamo_utils
from pellucid.torch.guard_checks import (
    DEFAULT_DEVICE,
    DIMENSION_DYNAMIC_MARKING_GUARD,
    GLOBAL_STATE,
    Guards,
    LEAF_GUARD,
    NO_TENSOR_ALIASING,
    SHAPE_GUARD,
    TENSOR_MATCH,
    TORCH_FUNCTION_MODE_STACK,
    VALUES,
    objects,
)
from pellucid.torch.siblings import graph

__compiled_fn_1_0 = graph(globals(), '__compiled_fn_1_0.captured.py')
__compiled_fn_1_1 = graph(globals(), '__compiled_fn_1_1.captured.py')


kept_1_1 = objects(globals(), "1_1")  # what this process knows by identity


@Guards
def guards_1_1(L, G):
    """Decide the 12 guards of [1/1] in torch's order; 2 only where they were captured."""
    # _dynamo/output_graph.py:1135 in init_ambient_guards
    yield LEAF_GUARD('LAMBDA_GUARD', L, kept_1_1[0], 'torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None')
    yield GLOBAL_STATE({'allow_bf16_reduce': 0, 'allow_fp16_reduce': 0, 'allow_tf32': False, 'autocast_state': {'cached_enabled': True, 'dtype': [15, 5, 5, 15, 5, 5, 15, 15, 5, 5], 'enabled': [False, False, False, False, False, False, False, False, False, False]}, 'default_dtype': 6, 'deterministic_algorithms': False, 'deterministic_algorithms_warn_only': False, 'grad_mode': True, 'num_threads': 2, 'torch_function': True, 'torch_function_all_disabled': False})
    yield TORCH_FUNCTION_MODE_STACK(kept_1_1[1])
    # _dynamo/output_graph.py:1122 in init_ambient_guards
    yield DEFAULT_DEVICE(None)
    yield VALUES  # from here on torch calls no torch function or mode
    b = L['b']
    # return x * b  # home/me/toy.py:8 in torch_dynamo_resume_in_toy_at_6
    yield TENSOR_MATCH(b, 'torch.Tensor', kept_1_1[2], dtype='torch.float32', device=None, requires_grad=False, size=[None], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(b)
    tensors = []
    yield NO_TENSOR_ALIASING(b, tensors)
    x = L['x']
    yield TENSOR_MATCH(x, 'torch.Tensor', kept_1_1[3], dtype='torch.float32', device=None, requires_grad=False, size=[None], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(x)
    yield NO_TENSOR_ALIASING(x, tensors)
    # (unknown var s52, please file a bug)
    yield SHAPE_GUARD(L['b'].size()[0] == L['x'].size()[0])
    # return x * b  # home/me/toy.py:8 in torch_dynamo_resume_in_toy_at_6 (user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the framework; to avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))
    yield SHAPE_GUARD(2 <= L['x'].size()[0])


# __transformed_code_1_1_for_torch_dynamo_resume_in_toy_at_6.py: equivalent, runs from its file
def __transformed_code_1_1_for_torch_dynamo_resume_in_toy_at_6(__nested_resume_fns, __nested_frame_values, b, x):
    # PyTorch's own marks for its profiler
    dynamo_utils.record_pregraph_bytecode_exit(dynamo_utils.record_pregraph_bytecode_enter())
    # toy.py:8  return x * b
    return __compiled_fn_1_1(dynamo_utils.call_size(x, 0), x, b)[0]


kept_1_0 = objects(globals(), "1_0")  # what this process knows by identity


@Guards
def guards_1_0(L, G):
    """Decide the 10 guards of [1/0] in torch's order; 2 only where they were captured."""
    # _dynamo/output_graph.py:1135 in init_ambient_guards
    yield LEAF_GUARD('LAMBDA_GUARD', L, kept_1_0[0], 'torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None')
    yield GLOBAL_STATE({'allow_bf16_reduce': 0, 'allow_fp16_reduce': 0, 'allow_tf32': False, 'autocast_state': {'cached_enabled': True, 'dtype': [15, 5, 5, 15, 5, 5, 15, 15, 5, 5], 'enabled': [False, False, False, False, False, False, False, False, False, False]}, 'default_dtype': 6, 'deterministic_algorithms': False, 'deterministic_algorithms_warn_only': False, 'grad_mode': True, 'num_threads': 2, 'torch_function': True, 'torch_function_all_disabled': False})
    yield TORCH_FUNCTION_MODE_STACK(kept_1_0[1])
    # _dynamo/output_graph.py:1122 in init_ambient_guards
    yield DEFAULT_DEVICE(None)
    yield VALUES  # from here on torch calls no torch function or mode
    b = L['b']
    # return x * b  # home/me/toy.py:8 in torch_dynamo_resume_in_toy_at_6
    yield TENSOR_MATCH(b, 'torch.Tensor', kept_1_0[2], dtype='torch.float32', device=None, requires_grad=False, size=[3], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(b)
    tensors = []
    yield NO_TENSOR_ALIASING(b, tensors)
    x = L['x']
    yield TENSOR_MATCH(x, 'torch.Tensor', kept_1_0[3], dtype='torch.float32', device=None, requires_grad=False, size=[3], stride=[1], keys='CPU, BackendSelect, ADInplaceOrView, AutogradCPU')
    yield DIMENSION_DYNAMIC_MARKING_GUARD(x)
    yield NO_TENSOR_ALIASING(x, tensors)


# __transformed_code_1_0_for_torch_dynamo_resume_in_toy_at_6.py: equivalent, runs from its file
def __transformed_code_1_0_for_torch_dynamo_resume_in_toy_at_6(__nested_resume_fns, __nested_frame_values, b, x):
    # PyTorch's own marks for its profiler
    dynamo_utils.record_pregraph_bytecode_exit(dynamo_utils.record_pregraph_bytecode_enter())
    # toy.py:8  return x * b
    return __compiled_fn_1_0(x, b)[0]


# /home/me/toy.py:6
# Decompiled from the bytecode.
def __original_torch_dynamo_resume_in_toy_at_6(__nested_resume_fns, __nested_frame_values, b, x):
    return x * b


def torch_dynamo_resume_in_toy_at_6(__nested_resume_fns, __nested_frame_values, b, x):
    L = {'__nested_resume_fns': __nested_resume_fns, '__nested_frame_values': __nested_frame_values, 'b': b, 'x': x}
    if guards_1_1(L, kept_1_1.globals(globals())):
        return kept_1_1.transformed(__transformed_code_1_1_for_torch_dynamo_resume_in_toy_at_6)(__nested_resume_fns, __nested_frame_values, b, x)
    if guards_1_0(L, kept_1_0.globals(globals())):
        return kept_1_0.transformed(__transformed_code_1_0_for_torch_dynamo_resume_in_toy_at_6)(__nested_resume_fns, __nested_frame_values, b, x)
    # No version fits: torch compiles another, or past its limit runs the original.
    return kept_1_1.original(__original_torch_dynamo_resume_in_toy_at_6)(__nested_resume_fns, __nested_frame_values, b, x)
