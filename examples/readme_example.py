# SPDX-License-Identifier: Apache-2.0
"""See what torch.compile makes of a function, and step through it.

python examples/readme_example.py           # capture, then a pdb prompt
python examples/readme_example.py < /dev/null    # capture only
"""

import pellucid
import torch


@torch.compile
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def main():
    # Wrap the calls that compile, not the decorator: compiling happens at the first call.
    with pellucid.prepare_debug("pellucid_toy"):
        for _ in range(100):
            toy_example(torch.randn(10), torch.randn(10))
    # At the prompt: `b FILE:LINE` for one of the files that are listed, then `c`.
    with pellucid.debug():
        toy_example(torch.randn(10), torch.randn(10))
    print("start reading at pellucid_toy/index.md")


if __name__ == "__main__":
    main()
