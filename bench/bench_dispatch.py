# SPDX-License-Identifier: Apache-2.0
"""What the guards of a compiled model cost, and what is left of it when they are passed by.

A serving engine runs one model at a few known batch sizes.  `torch.compile` makes a version for
each, and at every call checks the guards of one after the other until one fits; a subclass of
`TorchCompileWrapperWithCustomDispatcher` knows which one it wants.  Both ways are timed in turns in
one process, each figure is the median over the rounds, and both compute the same.
"""

import argparse
import statistics
import time
from typing import Callable, Dict, List

import torch
from pellucid.optimization import TorchCompileWrapperWithCustomDispatcher


class Layer(torch.nn.Module):
    """One operation, and attributes that decide what it does, as configurations do."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((8,), 1.0 + number / 100))
        self.config = {"residual": number % 4 != 0, "factor": 0.5, "norm": None}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.config["residual"] or self.config["norm"] is not None:
            return x
        return torch.addcmul(x, x, self.scale, value=self.config["factor"])


class Layers(torch.nn.Module):
    """What there is to compute is little, what there is to guard is not."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(map(Layer, range(depth)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Server(TorchCompileWrapperWithCustomDispatcher):
    """One model, one compiled version a batch size."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.versions: Dict[int, int] = {}
        super().__init__(torch.compile(self.forward, backend="eager", dynamic=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        version = self.versions.get(len(x))
        if version is None:
            result = self.compiled_callable(x)
            self.versions[len(x)] = len(self.compiled_codes) - 1
            return result
        with self.dispatch_to_code(version):
            return self.forward(x)


def microseconds(call: Callable[..., object], batch: torch.Tensor, repeat: int) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    for _ in range(repeat):
        call(batch)
    return (time.perf_counter() - start) / repeat * 1e6


def main() -> None:
    """Print the time of a call with and without guards, a batch size a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", type=int, default=24, help="layers of the model")
    parser.add_argument("--sizes", type=int, default=8, help="batch sizes")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=50, help="calls in a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ratios: List[float] = []
    with torch.no_grad():
        server = Server(Layers(options.depth))
        batches = [torch.randn(1 << n, 8) for n in range(options.sizes)]
        for batch in batches:
            server(batch)
        print(f"{options.depth} layers, {options.sizes} batch sizes, backend eager")
        print("batch   guards us   dispatch us   ratio")
        for batch in batches:
            assert torch.equal(server(batch), server.compiled_callable(batch))
            times: Dict[str, List[float]] = {"guards": [], "dispatch": []}
            for _ in range(options.rounds):
                for way, call in (("guards", server.compiled_callable), ("dispatch", server)):
                    times[way].append(microseconds(call, batch, options.repeat))
            guarded, free = statistics.median(times["guards"]), statistics.median(times["dispatch"])
            ratios.append(guarded / free)
            print(f"{len(batch):5} {guarded:11.1f} {free:13.1f} {ratios[-1]:7.2f}")
    print(f"guards cost {statistics.median(ratios):.2f} times the call without (median)")


if __name__ == "__main__":
    main()
