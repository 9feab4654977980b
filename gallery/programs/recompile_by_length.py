# SPDX-License-Identifier: Apache-2.0
"""A list of tensors that grows, as a cache of keys does: its length is a guard.

Look at the guards `len(L['cache']) == 1`, then 2, then 3: one version for each token.
"""

import torch

FAMILY = "recompile"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def attend(query, cache):
    keys = torch.stack(cache)
    return torch.softmax(keys @ query, 0) @ keys


def main():
    torch.manual_seed(0)
    cache, outputs = [], []
    for _ in range(3):
        cache.append(torch.randn(4))
        outputs.append(attend(torch.randn(4), cache))
    return {"outputs": outputs}
