# SPDX-License-Identifier: Apache-2.0
"""Programs that are written at random: all statements around each other, on spies.

Each defines `f`, a function, generator, coroutine or asynchronous generator of three arguments. The
same generator of random numbers writes the same text on each version that has its syntax.
"""

import random
import sys
from typing import Callable, List

VERSION = sys.version_info[:2]
NAMES = "abcdeuvw"
USED = "aaaaabbbbbcccccdeuvw"
ENDINGS = ("break", "continue", "return {}", "raise KeyError", "return", "raise")


class Writer:
    """Writes one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kind = rng.choice(("def", "def", "def", "def", "gen", "async", "agen"))
        self.lines: List[str] = []
        self.loops = 0
        self.left = rng.choice((3, 5, 8, 12))  # statements
        self.inner = 0

    def program(self) -> str:
        """Return the text."""
        word = "async def" if self.kind in ("async", "agen") else "def"
        self.put(0, f"{word} f(a, b, c):")
        self.body(1)
        if self.kind in ("gen", "agen"):
            self.put(1, "yield a")
        elif self.rng.random() < 0.5:
            self.put(1, f"return {self.rng.choice((self.value(), 'list(locals())'))}")
        return "\n".join(self.lines) + "\n"

    def put(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def name(self) -> str:
        return self.rng.choice(USED)

    def value(self, depth: int = 0) -> str:
        """Return an expression."""
        if depth > 2 or self.rng.random() < 0.35:
            return self.rng.choice((self.name(), self.name(), "Spy()", "None", "1", "()"))
        x, y, z = (self.value(depth + 1) for _ in range(3))
        forms = [
            *(f"{x}.meet({y})", f"{self.name()}.part", f"{self.name()}({x}, k={y})"),
            *(f"({x} + {y})", f"({x} and {y})", f"({x} or {y})", f"({x} if {y} else {z})"),
            *(f"(not {x})", f"({x}, {y})", f"[{x}, {y}]", f"({x} == {y})", f"({x} is {y})"),
            *(
                f"({x} < {y} < {z})",
                f"({x} in {y})",
                f"{self.name()}[{x}]",
                f"f'{{{self.name()}}}'",
            ),
            *(f"f'{{{self.name()}!r:>{{{self.name()}}}}}'", f"{{'k': {x}, 'l': {y}}}"),
            *(f"[w for w in {x} if {y}]", f"(lambda u: ({self.name()}, u))({x})", f"[*{x}, {y}]"),
            *(f"{self.name()}(*{x}, **{{}})", "list(locals())", f"({self.name()} := {x})"),
            *(f"any(u for u in {x})", f"(1, {x})[1]", f"{self.name()}[{x}:{y}]", f"({x} is None)"),
        ]
        if self.kind in ("async", "agen"):
            forms += [f"(await {x})", f"[v async for v in {x}]"]
        if self.kind in ("gen", "agen"):
            forms += [f"(yield {x})"]
        if self.kind == "gen":
            forms += [f"(yield from {x})"]
        chosen = self.rng.choice(forms)
        inside = ("yield" in chosen or "await" in chosen or ":=" in chosen) and (
            chosen.startswith(("[w", "(lambda", "any")) or "[v async" in chosen
        )
        return self.name() if inside else chosen

    def body(self, depth: int) -> None:
        """Write one to three statements."""
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self.left -= 1
        if depth > 5 or self.left < 0:
            return self.simple(depth)
        kinds: List[Callable[[int], None]] = [
            *(self.simple, self.simple, self.simple, self.end, self.a_try, self.a_try, self.a_try),
            *(self.an_if, self.an_if, self.a_for, self.a_while, self.a_with, self.a_with),
            *(self.a_function, self.a_class),
        ]
        if VERSION >= (3, 10):
            kinds.append(self.a_match)
        return self.rng.choice(kinds)(depth)

    def simple(self, depth: int) -> None:
        x = self.value()
        forms = (
            *(f"{self.name()} = {x}", f"{self.name()} = {x}", x, f"del {self.name()}", "pass"),
            *(f"{self.name()}, {self.name()} = {x}", f"{self.name()}[{self.name()}] = {x}"),
            *(f"{self.name()} = {self.name()} = {x}", f"{self.name()} += {x}"),
            *(f"{self.name()}, {self.name()} = {x}, {self.name()}", f"assert {x}"),
            *(f"{self.name()}, *{self.name()} = {x}", "note('here')"),
        )
        self.put(depth, self.rng.choice(forms))

    def end(self, depth: int) -> None:
        """Leave the body, mostly in the midst of it."""
        ending = self.rng.choice(ENDINGS)
        value = "" if self.kind == "agen" else self.value(1)
        if not self.loops and ending in ("break", "continue"):
            ending = "return {}"
        if self.rng.random() < 0.6:
            self.put(depth, f"if {self.value(1)}:")
            depth += 1
        self.put(depth, ending.format(value))

    def word(self, plain: str) -> str:
        is_async = self.kind in ("async", "agen") and self.rng.random() < 0.4
        return f"async {plain}" if is_async else plain

    def an_if(self, depth: int) -> None:
        self.put(depth, f"if {self.value()}:")
        self.body(depth + 1)
        while self.rng.random() < 0.3:
            self.put(depth, f"elif {self.value()}:")
            self.body(depth + 1)
        if self.rng.random() < 0.4:
            self.put(depth, "else:")
            self.body(depth + 1)

    def loop(self, depth: int, head: str) -> None:
        self.put(depth, head)
        self.put(depth + 1, "note('again')")
        self.loops += 1
        self.body(depth + 1)
        self.loops -= 1
        if self.rng.random() < 0.3:
            self.put(depth, "else:")
            self.body(depth + 1)

    def a_for(self, depth: int) -> None:
        target = self.rng.choice((self.name(), self.name(), f"{self.name()}, {self.name()}"))
        self.loop(depth, f"{self.word('for')} {target} in {self.value(1)}:")

    def a_while(self, depth: int) -> None:
        self.loop(depth, f"while {self.rng.choice((self.value(1), 'True'))}:")

    def a_with(self, depth: int) -> None:
        name = self.rng.choice(("", f" as {self.name()}", f" as ({self.name()}, {self.name()})"))
        more = self.rng.choice(("", "", f", {self.value(1)} as {self.name()}"))
        self.put(depth, f"{self.word('with')} {self.value(1)}{name}{more}:")
        self.body(depth + 1)

    def a_try(self, depth: int) -> None:
        self.put(depth, "try:")
        self.body(depth + 1)
        clauses = self.rng.choice((0, 1, 1, 2))
        for left in range(clauses, 0, -1):
            types = self.rng.choice(("Stop", "KeyError", "(Stop, TypeError)", "Exception"))
            bare = left == 1 and self.rng.random() < 0.3
            name = self.rng.choice(("", "", f" as {self.name()}"))
            self.put(depth, "except:" if bare else f"except {types}{name}:")
            self.body(depth + 1)
        if clauses and self.rng.random() < 0.3:
            self.put(depth, "else:")
            self.body(depth + 1)
        if not clauses or self.rng.random() < 0.4:
            self.put(depth, "finally:")
            self.body(depth + 1)

    def a_function(self, depth: int) -> None:
        self.inner += 1
        name = f"g{self.inner}"
        used = self.rng.choice("abc")
        self.put(depth, f"def {name}(x, y={self.value(1)}):")
        if self.rng.random() < 0.5:
            self.put(depth + 1, f"nonlocal {used}")
            self.put(depth + 1, f"{used} = x")
        self.put(depth + 1, f"return {used}, y")
        self.put(depth, f"{self.name()} = {name}({self.value(1)})")

    def a_class(self, depth: int) -> None:
        self.inner += 1
        self.put(depth, f"class C{self.inner}(metaclass=Prepared):")
        self.put(depth + 1, f"x = {self.rng.choice(NAMES)}")
        self.put(depth + 1, "y = lambda self: x")
        self.put(depth + 1, f"z = x, {self.rng.choice(NAMES)}")

    def a_match(self, depth: int) -> None:
        self.put(depth, f"match {self.value(1)}:")
        patterns = ("None", "1 | 2", f"[{self.name()}, *_]", "Spy(number=1)", "{'k': e}", "(u, v)")
        for pattern in self.rng.sample(patterns, self.rng.choice((1, 2, 3))):
            guard = self.rng.choice(("", f" if {self.value(1)}"))
            self.put(depth + 1, f"case {pattern}{guard}:")
            self.body(depth + 2)


class Endless(Writer):
    """Writes a function that nothing but a signal ends: no statement has an effect."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.kind = "def"

    def value(self, depth: int = 0) -> str:
        return self.rng.choice(("a is None", "a is not None", "u is None", "True", "not a is b"))

    def simple(self, depth: int) -> None:
        self.put(depth, self.rng.choice(("pass", "u = a", "u = b", "u, v = a, u")))

    def statement(self, depth: int) -> None:
        self.left -= 1
        if depth > 5 or self.left < 0:
            return self.simple(depth)
        kinds = (self.simple, self.end, self.a_try, self.a_try, self.an_if, self.a_while)
        return self.rng.choice(kinds)(depth)

    def loop(self, depth: int, head: str) -> None:
        self.put(depth, head)
        self.loops += 1
        self.body(depth + 1)
        self.loops -= 1

    def program(self) -> str:
        """Return the text."""
        self.put(0, "def f(a=None, b=None, u=None):")
        self.body(1)
        self.put(1, "while True: pass")
        return "\n".join(self.lines) + "\n"


def written(seed: str, is_endless: bool = False) -> str:
    """Return the first program of a seed that this version compiles."""
    rng = random.Random(seed)
    while True:
        text = (Endless if is_endless else Writer)(rng).program()
        try:
            compile(text, "written", "exec")
        except (SyntaxError, ValueError):
            continue
        return text
