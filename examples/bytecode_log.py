# SPDX-License-Identifier: Apache-2.0
"""Read decompiled source in torch's own log:

TORCH_LOGS=+bytecode python examples/bytecode_log.py
"""

import pellucid
import torch


@torch.compile(backend="eager")
def f(x):
    return x.sin() + x.cos()


if __name__ == "__main__":
    pellucid.install()
    f(torch.ones(3))
    pellucid.uninstall()
