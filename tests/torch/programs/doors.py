"""Programs whose compiled code arrives in several ways, mixed with others; DOORS has them by name.

Each takes the backend for what does not have to be saved.
"""

import os
import tempfile
import threading

import torch

DOORS = {}


def door(program):
    DOORS[program.__name__] = program
    return program


def poly(x, scale=2):
    return (x * x + 3 * x - scale).relu()


def ahead(function, *arguments, backend="inductor", **options):
    compiled = torch.compile(function, fullgraph=True, backend=backend, **options)
    return compiled.aot_compile((arguments, {}))


def saved(function, *arguments, **options):
    """Save a compiled function; return what loads it."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "saved.aot")
    ahead(function, *arguments, **options).save_compiled_function(path)

    def load():
        with open(path, "rb") as stream:
            return torch.compiler.load_compiled_function(stream, f_globals=globals())

    return load


@door
def ahead_inside_an_ordinary_function(backend):
    inner = ahead(poly, torch.ones(6), backend=backend)

    @torch.compile(backend=backend)
    def outer(x):
        y = x + 1
        torch._dynamo.graph_break()
        return inner(y) * 2

    return outer(torch.ones(6))


@door
def loaded_in_a_thread(backend):
    load, results = saved(poly, torch.ones(6)), []
    thread = threading.Thread(target=lambda: results.append(load()(torch.ones(6))))
    thread.start()
    thread.join()
    torch.compile(poly, backend=backend)(torch.ones(6))
    return results


@door
def two_saved_functions(backend):
    loads = [saved(poly, torch.ones(n)) for n in (5, 6)]
    return [load()(torch.ones(n)) for load, n in zip(loads, (5, 6))]


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 2)

    def scaled(self, x):
        return self.inner(x).sum(-1) * 2

    def forward(self, x):
        return self.inner(x).relu()


@door
def a_method(backend):
    model = Scaled()
    return ahead(model.scaled, torch.ones(3, 4), backend=backend)(torch.ones(3, 4)), model


@door
def a_module_in_two_versions(backend):
    from torch._dynamo.aot_compile import ModelInput

    model = torch.compile(Scaled(), fullgraph=True, backend=backend)
    model._aot_compile([ModelInput((torch.ones(n, 4),), {}, []) for n in (2, 3)])
    return model(torch.ones(2, 4)), model(torch.ones(3, 4))


@door
def called_by_a_generator(backend):
    compiled = ahead(poly, torch.ones(6), backend=backend)

    def values():
        for number in range(3):
            yield compiled(torch.ones(6) * number)

    return list(values())


@door
def sizes_that_vary(backend):
    compiled = ahead(poly, torch.ones(6), backend=backend, dynamic=True)
    return [compiled(torch.ones(n)) for n in (6, 7, 8)]


@door
def trained(backend):
    weight = torch.ones(6, requires_grad=True)
    compiled = ahead(lambda x, w: (x * w).sin(), torch.ones(6), weight, backend="aot_eager")
    compiled(torch.ones(6), weight).sum().backward()
    return weight.grad


@door
def a_backend_that_compiles_again(backend):
    def twice(graph, inputs):
        inner = torch.compile(graph, backend=backend)
        return lambda *values: inner(*values)

    return torch.compile(poly, backend=twice)(torch.ones(6))


@door
def loaded_and_compiled_again(backend):
    loaded = saved(poly, torch.ones(6))()
    results = [loaded(torch.ones(6))]
    compiled = torch.compile(poly, backend=backend)
    results += [compiled(torch.ones(n)) for n in (6, 7)]
    try:
        loaded(torch.ones(7))
    except RuntimeError as error:
        results.append(type(error).__name__)
    return results


@door
def exported_and_compiled(backend):
    program = torch.export.export(Scaled(), (torch.ones(2, 4),), strict=True)
    return torch.compile(program.module(), backend=backend)(torch.ones(2, 4))
