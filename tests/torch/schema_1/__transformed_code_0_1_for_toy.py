# toy · /home/me/toy.py:4 · compile [0/1] · proven equivalent
# This file is what runs: breakpoints set in it are hit.
# graph break: Data-dependent branching — Graph break in user code at /home/me/toy.py:6

def toy(a, b):
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
