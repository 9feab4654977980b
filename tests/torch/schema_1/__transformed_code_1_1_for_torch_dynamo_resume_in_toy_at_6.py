# toy, resumed after line 6 · /home/me/toy.py:8 · compile [1/1] · proven equivalent
# This file is what runs: breakpoints set in it are hit.

def torch_dynamo_resume_in_toy_at_6(__nested_resume_fns, __nested_frame_values, b, x):
    # PyTorch's own marks for its profiler
    dynamo_utils.record_pregraph_bytecode_exit(dynamo_utils.record_pregraph_bytecode_enter())
    # toy.py:8  return x * b
    return __compiled_fn_1_1(dynamo_utils.call_size(x, 0), x, b)[0]
