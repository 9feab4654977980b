"""Functions and modules whose guards are of many kinds, with calls for each."""

import collections
import enum

import torch

ONES = torch.ones(2)
SCALES = [1.0, 2.0]
TABLE = {"a": 1, ("b", 2): 2.5, torch.float32: 3}
NAN = float("nan")
Pair = collections.namedtuple("Pair", "left right")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Thing:
    def __init__(self):
        self.factor, self.color = 2, Color.RED


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        self.names = {"first": 1, "second": (2, torch.float32, None)}
        self.activation = torch.nn.functional.relu
        self.register_buffer("offset", torch.zeros(4))

    def forward(self, x, times=1):
        for layer in self.layers:
            x = self.activation(layer(x)) + self.offset
        return x * times * self.names["first"] * len(self.names["second"])


def sized(x):
    return x * x.shape[0]


def uses_thing(x, thing):
    return x * thing.factor if thing.color is Color.RED else x


def of_globals(x):
    return x * SCALES[0] + TABLE["a"] + TABLE["b", 2] + (0 if NAN != NAN else 1)


def of_containers(x, items, table, flag=True, none=None):
    for name, value in table.items():
        x = x + value + len(name)
    total = sum(items[:2]) if flag and none is None else 0
    return x + total


def of_iterators(x, items, numbers):
    for item in items:
        x = x + item
    for number in numbers:
        x = x * number
    return x


def of_two(x, y):
    x = x + 1
    torch._dynamo.graph_break()
    return x * y if x is not y else x


def of_views(x, y):
    x.add_(1)
    return x + y


def closure(scale, table):
    def inner(x, times=2, *, extra=0):
        return x * scale * times + extra + table["a"]

    return inner


def of_set(x, chosen):
    return x + (1 if "a" in chosen else 2)


def of_pair(x, pair):
    return x + pair.left * pair.right


def of_dtype(x, dtype, color):
    return x.to(dtype) * (2 if color is Color.RED else 3)


def of_numbers(x, n, f):
    return x * n + f


def marked(x):
    return x * x.shape[0]


def _marked():
    one, two = torch.ones(4, 3), torch.ones(5, 3)
    for tensor in (one, two):
        torch._dynamo.mark_dynamic(tensor, 0)
    return marked, [(one,), (two,)]


def _views():
    base = torch.zeros(6)
    other = torch.zeros(6)
    return of_views, [(base[:4], base[2:]), (other[:4], other[2:])]


def _x(*shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


PROGRAMS = {
    "sized": lambda: (sized, [(_x(2),), (_x(3),), (_x(4),)]),
    "uses_thing": lambda: (uses_thing, [(_x(2), Thing()), (_x(3), Thing())]),
    "of_globals": lambda: (of_globals, [(_x(2),), (_x(3, 2),)]),
    "of_containers": lambda: (
        of_containers,
        [(_x(2), [1, 2, 3], {"a": 1}), (_x(2), [1, 2, 3], collections.OrderedDict(b=2, a=1))],
    ),
    "of_iterators": lambda: (
        of_iterators,
        [(_x(2), iter((1, 2)), iter(range(1, 6, 2))), (_x(2), iter((1, 2)), iter(range(1, 6, 2)))],
    ),
    "of_two": lambda: (of_two, [(_x(2), _x(2)), (ONES, ONES)]),
    "of_views": _views,
    "closure": lambda: (closure(1.5, {"a": 1}), [(_x(2),), (_x(2), 3)]),
    "of_set": lambda: (of_set, [(_x(2), {"a", "b"}), (_x(2), frozenset("ab"))]),
    "of_pair": lambda: (of_pair, [(_x(2), Pair(1, _x(2))), (_x(2), Pair(1, _x(2)))]),
    "of_dtype": lambda: (
        of_dtype,
        [(_x(2), torch.float64, Color.RED), (_x(2), torch.float64, Color.BLUE)],
    ),
    "of_numbers": lambda: (of_numbers, [(_x(2), 2, 0.5), (_x(2), 3, 1.5), (_x(2), 4, 2.5)]),
    "marked": _marked,
    "layers": lambda: (Layers(), [(_x(2, 4),), (_x(3, 4), 2)]),
}
