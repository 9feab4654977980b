# SPDX-License-Identifier: Apache-2.0
"""Ask a capture which guard failed, from a program: session.json without reading files."""

import tempfile

import pellucid
import torch
from pellucid import Break, Recompile


@torch.compile(backend="eager", dynamic=False)
def scale(x, factor):
    return x * factor


def main():
    with pellucid.prepare_debug(tempfile.mkdtemp()) as session:
        for factor in (2, 3, 4):
            scale(torch.ones(3), factor)
        scale(torch.ones(4), 4)
    for event in session.of(Recompile):
        print(f"[{event.key}]", *event.reasons, sep="\n    ")
    print(f"{len(session.of(Break))} graph breaks")


if __name__ == "__main__":
    main()
