import time

import torch
from pellucid.optimization import TorchCompileWrapperWithCustomDispatcher


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(8))
        self.config = {"bias": None, "factor": 0.5}

    def forward(self, x):
        return x * self.weight if self.config["bias"] is None else x + self.config["bias"]


class Model(torch.nn.Module):
    def __init__(self, depth=24):
        super().__init__()
        self.layers = torch.nn.ModuleList(Scale() for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Server(TorchCompileWrapperWithCustomDispatcher):
    """One compiled version for each batch size, chosen by the server and not by guards."""

    def __init__(self, model):
        self.model = model
        self.versions = {}  # batch size -> number of the compiled version
        super().__init__(torch.compile(self.forward, backend="eager", dynamic=False))

    def forward(self, x):
        return self.model(x)

    def __call__(self, x):
        version = self.versions.get(len(x))
        if version is None:
            result = self.compiled_callable(x)  # compiles, with guards
            self.versions[len(x)] = len(self.compiled_codes) - 1
            return result
        with self.dispatch_to_code(version):  # past the guards
            return self.forward(x)


def microseconds(call, batch, calls=200):
    start = time.process_time()
    for _ in range(calls):
        call(batch)
    return (time.process_time() - start) / calls * 1e6


with torch.no_grad():
    server = Server(Model())
    batches = [torch.randn(1 << n, 8) for n in range(6)]
    for batch in batches:
        server(batch)
    print("batch  guards us  past them us")
    for batch in batches:
        assert torch.equal(server(batch), server.compiled_callable(batch))
        guards, past = microseconds(server.compiled_callable, batch), microseconds(server, batch)
        print(f"{len(batch):5} {guards:10.0f} {past:13.0f}")
