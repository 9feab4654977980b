# SPDX-License-Identifier: Apache-2.0
"""What the sample-<version>.bin files are compiled from; see tests/stages/samples.h."""
import asyncio
from os import path as where, sep

NUMBERS = (1, -1, 2**100, -(2**63), 1.5, -0.0, 3j, True, None, ...)
TEXTS = ("plain", "d\xe9j\xe0 vu", "\U0001f40d", "\udc80", b"\x00\xff")


def arguments(a, b=2, *args, c, d=4, **kwargs):
    def inner(e):
        nonlocal b
        b += e
        return a, b, lambda: d
    return inner(1, *args, key=c, **kwargs)


def loops(items):
    out = []
    for i, item in enumerate(items):
        if item is None or not item:
            continue
        elif item in {1, 2, 3} and i < 10 <= len(items):
            out.append(f"{item!r:>{i}} {i}")
            break
    else:
        while out:
            del out[0]
    return [x for x in out if x], {k: v for k, v in zip(out, out)}, out[1:2]


def exceptions(name):
    try:
        with open(name) as file, open(name, "w") as other:
            other.write(file.read())
    except (OSError, ValueError) as error:
        raise RuntimeError("no") from error
    except KeyError:
        assert name, "a name"
    finally:
        print("done")


class Thing(Exception):
    attribute: int = 3

    def method(self):
        return super().__str__() + str(__class__)


async def waiting(things):
    async with things as entered:
        async for thing in entered:
            yield await thing
    await asyncio.sleep(0)


def generator():
    received = yield 1
    yield from range(received)
