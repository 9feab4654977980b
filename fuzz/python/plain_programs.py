# SPDX-License-Identifier: Apache-2.0
"""Random programs as people write them: statements in statements, few kinds of expressions.

pysource-codegen makes whatever the grammar allows, most of it in expressions; these programs are
about control flow: loops, `try`, `with` and `match` in each other, with jumps out of them and
something behind them. `generate(seed)` is a module of some functions, in the syntax of the Python
that it runs under. `python fuzz/python programs --plain` decompiles them.
"""

import random
import sys
from typing import Callable, List, NamedTuple, Optional, Sequence

NAMES = "abcdexyz"
HAS_MATCH = sys.version_info >= (3, 10)


class Around(NamedTuple):
    """What the statements that are being written stand in."""

    levels: int  # how many more may be nested
    is_function: bool = True
    is_async: bool = False
    is_generator: bool = False
    in_loop: bool = False


class Program:
    """Writes one program; every choice is the seed's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, share: float) -> bool:
        """Return whether something of this share of all cases is the case now."""
        return self.random.random() < share

    def any_of(self, writers: Sequence[Callable[[], str]]) -> str:
        """Write in one of these ways."""
        return self.random.choice(writers)()

    # -- expressions ------------------------------------------------------------------------------

    def name(self) -> str:
        """Write a name."""
        return self.random.choice(NAMES)

    def value(self, depth: int = 0) -> str:
        """Write an expression."""
        if depth > 2 or self.chance(0.35):
            return self.name()
        if self.chance(0.3):
            return self.random.choice(["0", "1", "3", "7", "'k'", "''", "None"])

        def inner() -> str:
            return self.value(depth + 1)

        return self.any_of(
            [
                lambda: f"{self.name()}({inner()})",
                lambda: f"{self.name()}.{self.name()}",
                lambda: f"{self.name()}[{inner()}]",
                lambda: f"{inner()} + {self.name()}",
                lambda: f"{self.name()}.{self.name()}({inner()}, {self.name()}={inner()})",
                lambda: f"({inner()} if {self.test(depth + 1)} else {inner()})",
                lambda: f"({self.test(depth + 1)})",
                lambda: f"[{inner()} for {self.name()} in {self.name()} if {self.test(depth + 1)}]",
                lambda: f"({inner()}, {inner()})",
                lambda: f"{{{self.name()}: {inner()}}}",
                lambda: f"f'{{{self.name()}}}-{{{self.name()}!r}}'",
                lambda: f"(lambda: {inner()})",
            ]
        )

    def test(self, depth: int = 0) -> str:
        """Write what is tested for its truth."""
        if depth > 2 or self.chance(0.3):
            return self.name()
        operator = self.random.choice(["==", "<", "in", "is", "!=", "not in"])
        joined = self.random.choice(["and", "or"])
        return self.any_of(
            [
                lambda: f"not {self.test(depth + 1)}",
                lambda: f"{self.name()} is not None",
                lambda: f"{self.name()} {operator} {self.value(2)}",
                lambda: f"({self.test(depth + 1)} {joined} {self.test(depth + 1)})",
                lambda: f"({self.test(depth + 1)} {joined} {self.test(depth + 1)})",
            ]
        )

    # -- statements -------------------------------------------------------------------------------

    def body(self, around: Around, most: int = 3) -> List[str]:
        """Write the lines of a body, which ends where nothing comes behind."""
        lines: List[str] = []
        for _ in range(self.random.randint(1, most)):
            statement = self.statement(around)
            lines += statement
            if statement[-1].split()[0] in ("return", "break", "continue", "raise"):
                break
        return ["    " + line for line in lines]

    def statement(self, around: Around) -> List[str]:
        """Write the lines of a statement."""
        if around.levels == 0 or self.chance(0.3):
            return [self.simple(around)]
        inner = around._replace(levels=around.levels - 1)
        compound = [self.choice] * 6 + [self.loop] * 5 + [self.attempt] * 5 + [self.manager] * 2
        return self.random.choice(compound + [self.match] * 2 * HAS_MATCH)(inner)

    def simple(self, around: Around) -> str:
        """Write a statement of one line."""
        if around.in_loop and self.chance(0.15):
            return self.random.choice(["break", "continue"])
        if around.is_function and self.chance(0.25):
            return self.random.choice(["return", f"return {self.value()}", "return True"])
        if around.is_generator and self.chance(0.2):
            return f"yield {self.value(2)}"
        if around.is_async and self.chance(0.2):
            return f"await {self.value(2)}"
        return self.any_of(
            [
                lambda: f"{self.name()} = {self.value()}",
                lambda: f"{self.name()} = {self.value()}",
                lambda: f"{self.name()}({self.value()})",
                lambda: f"{self.name()}({self.value()})",
                lambda: f"{self.name()}.{self.name()} = {self.value()}",
                lambda: f"{self.name()} += {self.value(2)}",
                lambda: f"{self.name()}, {self.name()} = {self.value()}, {self.value()}",
                lambda: f"raise {self.name()}({self.value(2)})",
                lambda: f"assert {self.test()}, {self.value(2)}",
                lambda: f"del {self.name()}",
                lambda: "pass",
            ]
        )

    def choice(self, around: Around) -> List[str]:
        """Write an `if`."""
        lines = [f"if {self.test()}:", *self.body(around)]
        while self.chance(0.3):
            lines += [f"elif {self.test()}:", *self.body(around)]
        return lines + (["else:", *self.body(around)] if self.chance(0.5) else [])

    def loop(self, around: Around) -> List[str]:
        """Write a `for` or a `while`."""
        inside = around._replace(in_loop=True)
        if self.chance(0.6):
            word = "async for" if around.is_async and self.chance(0.3) else "for"
            lines = [f"{word} {self.name()} in {self.value(1)}:", *self.body(inside)]
        else:
            test = "True" if self.chance(0.3) else self.test()
            lines = [f"while {test}:", *self.body(inside)]
        return lines + (["else:", *self.body(around)] if self.chance(0.2) else [])

    def manager(self, around: Around) -> List[str]:
        """Write a `with`."""
        word = "async with" if around.is_async and self.chance(0.3) else "with"
        target = f" as {self.name()}" if self.chance(0.6) else ""
        return [f"{word} {self.value(1)}{target}:", *self.body(around)]

    def attempt(self, around: Around) -> List[str]:
        """Write a `try`."""
        lines = ["try:", *self.body(around)]
        has_end = self.chance(0.35)
        if not has_end or self.chance(0.8):
            for number in range(self.random.choice([1, 1, 2])):
                clause = self.random.choice(["E{}", "E{} as err", "(E{}, F)"]).format(number)
                lines += [f"except {clause}:", *self.body(around)]
            if self.chance(0.2):
                lines += ["except:", *self.body(around)]
            if self.chance(0.3):
                lines += ["else:", *self.body(around)]
        if has_end:
            # Few leave by a jump in there.
            leaves = self.chance(0.1)
            inside = around._replace(
                in_loop=around.in_loop and leaves, is_function=around.is_function and leaves
            )
            lines += ["finally:", *self.body(inside)]
        return lines

    def match(self, around: Around) -> List[str]:
        """Write a `match`."""
        patterns = ["1", "'k'", "None", f"{self.name()}.{self.name()}", "[p, q]", "[p, *_]"]
        patterns += ["{'k': p}", "2 | 3", "C(p)", "C(x=1)", "(1, p) | [p]", "str() as p"]
        lines = [f"match {self.value(1)}:"]
        for _ in range(self.random.randint(1, 4)):
            guard = f" if {self.test()}" if self.chance(0.3) else ""
            case = [f"case {self.random.choice(patterns)}{guard}:", *self.body(around)]
            lines += ["    " + line for line in case]
        if self.chance(0.5):
            lines += ["    " + line for line in ["case _:", *self.body(around)]]
        return lines

    def function(self, number: int, levels: int) -> List[str]:
        """Write a function."""
        is_async, is_generator = self.chance(0.25), self.chance(0.2)
        head = f"def f{number}(a, b, c=None, *x, **y):"
        around = Around(levels, is_async=is_async, is_generator=is_generator)
        # An asynchronous generator returns no value.
        if is_async and is_generator:
            around = around._replace(is_function=False)
        return [("async " if is_async else "") + head, *self.body(around, most=5), "", ""]


def generate(seed: int, node_limit: int = 400, depth_limit: Optional[int] = None) -> str:
    """Return a module: a function for each 100 of `node_limit`, nested up to `depth_limit`."""
    program = Program(seed)
    lines: List[str] = []
    for number in range(max(1, node_limit // 100)):
        levels = program.random.randint(1, min(depth_limit or 4, 4))
        lines += program.function(number, levels)
    return "\n".join(lines)
