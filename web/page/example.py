# SPDX-License-Identifier: Apache-2.0
"""What the page shows as its example: example.ts holds this file, compiled."""

import json
from dataclasses import dataclass, field


@dataclass
class Order:
    """Some things that a person wants."""

    name: str
    lines: dict[str, int] = field(default_factory=dict)

    def add(self, what, count=1):
        if count <= 0:
            raise ValueError(f"{what!r}: {count} is too few")
        self.lines[what] = self.lines.get(what, 0) + count
        return self

    async def send(self, channel, *, tries=3):
        for attempt in range(tries):
            try:
                async with channel.open() as stream:
                    await stream.write(json.dumps(self.lines))
            except (TimeoutError, ConnectionError) as error:
                if attempt + 1 == tries:
                    raise RuntimeError("nobody listens") from error
            else:
                return attempt


def price(shape):
    match shape:
        case {"kind": "circle", "radius": float(r) | int(r)}:
            return 3.14159 * r * r
        case [width, height] if width > 0 < height:
            return width * height
        case _:
            return None


def collatz(n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


totals = {n: s for n in range(1, 20) if (s := collatz(n)) > 8}
largest = max(totals, key=lambda n: totals[n], default=None)
