# SPDX-License-Identifier: Apache-2.0
"""A global number that the function reads is a guard: to change it is to compile again.

Look at the guard `G['TEMPERATURE'] == 1.0`; handed over as a tensor it costs no version.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"
TEMPERATURE = 1.0


@torch.compile(backend=BACKEND)
def sample(logits):
    return torch.softmax(logits / TEMPERATURE, -1)


def main():
    global TEMPERATURE
    torch.manual_seed(0)
    logits = torch.randn(2, 5, requires_grad=True)
    outputs = []
    for value in (1.0, 0.7, 0.4):
        TEMPERATURE = value
        outputs.append(sample(logits))
    sum(output.square().sum() for output in outputs).backward()
    return {"outputs": outputs, "gradient": logits.grad}
