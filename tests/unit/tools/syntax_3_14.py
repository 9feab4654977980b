# SPDX-License-Identifier: Apache-2.0
"""What 3.12 to 3.14 added to the syntax; read by test_print.py, never run."""

type Alias = int
type Generic[T: (int, str) = int, *Ts = *tuple[int, ...], **P = [int, str]] = list[T]


class Box[T](list[T], metaclass=type):
    """A class with a type parameter.

    Its docstring has two paragraphs.
    """

    def get[S: int](self, *args: *tuple[S, ...], key: S = 0, **kwargs: T) -> S:
        return self[key]


name = "x"
templates = [
    t"",
    t"plain {{ }}",
    t"{name}",
    t'{name!r:>{len(name)}} and {name + "y":{{}}x}',
    t"{(a, b)} { {1, 2} } {lambda_(lambda: 1)} {t'{name}'}",
    t"{name}{f'{name}'}",
    f"{name!r:{name}}" f"{'nested' + f'{"quotes"}'}\n",
    f"{'\n'.join(name)}{ {1: 2}[1] }",
]


def subscripts(x, a, b):
    x[*a], x[a:b, *b], x[1:2, ::3], x[(1, 2)], x[1:2]
    try:
        pass
    except* (ValueError, TypeError) as group:
        raise group from None
    try:
        pass
    except ValueError, TypeError:
        pass


match name:
    case [1, -1, 1.5, -1 + 2j, "s", b"b", None, True, *rest] | (_ as other) if rest:
        pass
    case {"k": 1, -1: [x, y], Box.key: _, **others}:
        pass
    case Box(1, key=Box(), other=[*_]) | Alias.value as whole:
        pass
    case (1 | 2) | 3 | ((4 | 5) as number):
        pass
