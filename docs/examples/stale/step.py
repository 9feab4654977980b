import pellucid
import torch


class Layer(torch.nn.Module):
    gain = 1.0

    def forward(self, x):
        return torch.sin(x) * self.gain


def only_tensors(guards):
    return [guard.guard_type == "TENSOR_MATCH" for guard in guards]


layer = Layer()
compiled = torch.compile(layer, backend="aot_eager", options={"guard_filter_fn": only_tensors})


def step(x):
    layer.gain = 1.0
    first = compiled(x)
    layer.gain = 2.0
    return first + compiled(x)


print(pellucid.find_difference(step, torch.linspace(0, 1, 4)))
