# SPDX-License-Identifier: Apache-2.0
"""One version for each key, until the limit: from the ninth on calls run uncompiled.

Look at the finding of kind limit: which guard failed each time, and how to make one version of all.
"""

import torch

FAMILY = "eager"
BACKEND = "aot_eager"


@torch.compile(backend=BACKEND)
def scaled(x, how):
    return x * len(how["name"]) + how["shift"]


def main():
    torch.manual_seed(0)
    x = torch.randn(4)
    names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    return {"outputs": [scaled(x, {"name": name, "shift": 1}) for name in names]}
