# SPDX-License-Identifier: Apache-2.0
"""Random nested control flow: functions that must decompile, and prove to mean the same.

    python fuzz/python flow --count 200                  # on every CPython found
    python fuzz/python flow --versions 3.8 3.13 --minimise  # and cut down what fails

A seed makes one function, whatever the version (`match` and `except*` stay away from those
that lack them). Many functions share a module, so that a run costs one compilation a version.
"""

import argparse
import collections
import json
import random
import re
import subprocess
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from pellucid import _core
from pellucid.interpreters import find_interpreter
from pythons import VERSIONS

# Compiles the texts that come as JSON lines; answers with .pyc bytes in hexadecimal, or an error.
_SERVE = """
import importlib.util, json, marshal, sys
for line in sys.stdin:
    try:
        code = compile(json.loads(line), "random", "exec", dont_inherit=True, optimize=0)
        data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)
        answer = {"pyc": data.hex()}
    except Exception as error:
        answer = {"error": repr(error)}
    print(json.dumps(answer), flush=True)
"""


class Interpreter:
    """A CPython that compiles text for as long as it is asked to."""

    def __init__(self, version: str) -> None:
        major, minor = map(int, version.split("."))
        path = find_interpreter((major, minor))
        if path is None:
            raise LookupError(f"no CPython {version} on this machine")
        self._process = subprocess.Popen(
            [str(path), "-I", "-S", "-W", "ignore", "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def compile(self, source: str) -> Optional[bytes]:
        """Return the `.pyc` of a module, or None if the text is not valid."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return bytes.fromhex(answer["pyc"]) if "pyc" in answer else None

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Statement:
    """A line, or clauses of a header and a block each."""

    def __init__(self, clauses: "List[Tuple[str, Optional[List[Statement]]]]") -> None:
        self.clauses = clauses

    def lines(self, indent: str) -> Iterator[str]:
        """Yield the text."""
        for header, block in self.clauses:
            yield indent + header
            if block is not None:
                yield from lines_of(block, indent + "    ")


Block = List[Statement]


def lines_of(block: Block, indent: str) -> Iterator[str]:
    """Yield the text of a block."""
    for statement in block:
        yield from statement.lines(indent)
    if not block:
        yield indent + "pass"


def function(name: str, block: Block) -> str:
    """Return the text of a function."""
    return "\n".join([f"def {name}(x, y, z):", *lines_of(block, "    ")]) + "\n"


class Generator:
    """Makes one function out of a seed."""

    def __init__(self, seed: int, match: bool) -> None:
        self.random = random.Random(seed)
        self.match = match
        self.number = 0
        self.yields = self.random.random() < 0.15

    def function(self, depth: int) -> Block:
        """Return the body of a function whose statements nest `depth` deep at most."""
        return self.block(depth, in_loop=False, in_except=False)

    def block(self, depth: int, in_loop: bool, in_except: bool, in_finally: bool = False) -> Block:
        body = []
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            if depth > 0 and self.random.random() < 0.6:
                body.append(self.compound(depth - 1, in_loop, in_except, in_finally))
            else:
                body.append(self.simple())
        # Where it silences the exception, an end is rare.
        if self.random.random() < (0.08 if in_finally else 0.35):
            ends = ["return", f"return {self.value()}", f"raise {self.value()}"]
            if in_loop:
                ends += ["break", "continue"] * 2
            if in_except:
                ends.append("raise")
            body.append(line(self.random.choice(ends)))
        return body

    def name(self) -> str:
        return self.random.choice("xyz")

    def call(self) -> str:
        self.number += 1
        return f"f{self.number}({self.random.choice(('', 'x', 'y'))})"

    def value(self) -> str:
        pick = self.random.random()
        if pick < 0.5:
            return self.call()
        if pick < 0.7:
            return self.name()
        if pick < 0.8:
            return self.random.choice(("None", "True", "1", "'a'"))
        if pick < 0.9:
            return f"({self.call()} if {self.condition()} else {self.name()})"
        return f"({self.name()} {self.random.choice(('and', 'or'))} {self.call()})"

    def condition(self, depth: int = 2) -> str:
        pick = self.random.random()
        if depth == 0 or pick < 0.4:
            return self.random.choice((self.call, self.name))()
        if pick < 0.5:
            return f"not {self.condition(0)}"
        if pick < 0.6:
            return f"{self.name()} {self.random.choice(('is', 'is not'))} None"
        if pick < 0.66:
            return f"{self.name()} < {self.name()} <= {self.call()}"
        if pick < 0.72:
            return f"({self.name()} := {self.call()})"
        operator = self.random.choice((" and ", " or "))
        parts = [f"({self.condition(depth - 1)})" for _ in range(self.random.choice((2, 2, 3)))]
        return operator.join(parts)

    def simple(self) -> Statement:
        pick = self.random.random()
        if self.yields and pick < 0.3:
            return line(f"{self.name()} = yield {self.call()}")
        if pick < 0.6:
            return line(self.call())
        if pick < 0.85:
            return line(f"{self.name()} = {self.value()}")
        if pick < 0.93:
            return line(f"{self.name()} += {self.call()}")
        return line(f"assert {self.condition(1)}")

    def compound(self, depth: int, in_loop: bool, in_except: bool, in_finally: bool) -> Statement:
        def block(loop: bool = in_loop, handles: bool = in_except) -> Block:
            return self.block(depth, loop, handles, in_finally)

        def maybe(header: str, chance: float) -> "List[Tuple[str, Optional[Block]]]":
            return [(header, block())] if self.random.random() < chance else []

        kinds = ["if"] * 4 + ["while", "while_true", "for", "for", "try"] + ["try"] * 2
        kinds += ["with", "finally", "try_finally"]
        if self.match:
            kinds.append("match")
        kind = self.random.choice(kinds)
        if kind == "if":
            clauses = [(f"if {self.condition()}:", block())]
            for _ in range(self.random.choice((0, 0, 0, 1, 2))):
                clauses.append((f"elif {self.condition()}:", block()))
            return Statement([*clauses, *maybe("else:", 0.4)])
        if kind == "while":
            head = f"while {self.condition()}:"
            return Statement([(head, block(loop=True)), *maybe("else:", 0.2)])
        if kind == "while_true":
            return Statement([("while True:", block(loop=True))])
        if kind == "for":
            head = f"for {self.name()} in {self.call()}:"
            return Statement([(head, block(loop=True)), *maybe("else:", 0.2)])
        if kind == "with":
            names = self.random.choice(("", f" as {self.name()}"))
            managers = [f"{self.call()}{names}"]
            if self.random.random() < 0.2:
                managers.append(self.call())
            return Statement([(f"with {', '.join(managers)}:", block())])
        if kind == "match":
            return Statement([(f"match {self.call()}:", self.cases(block))])
        clauses = [("try:", block())]
        if kind != "finally":
            for _ in range(self.random.choice((1, 1, 1, 2))):
                name = self.random.choice(("", "", f" as e{self.number}"))
                clauses.append((f"except E{self.number}{name}:", block(handles=True)))
            clauses += [("except:", block(handles=True))] if self.random.random() < 0.2 else []
            clauses += maybe("else:", 0.25)
        if kind != "try":
            clauses.append(("finally:", self.block(min(depth, 2), in_loop, in_except, True)))
        return Statement(clauses)

    def cases(self, block) -> Block:  # type: ignore[no-untyped-def]
        patterns = ["1", "'a' | 'b'", "[x, y]", "{'k': z}", "C(x)", "None", "[x, *_]"]
        self.random.shuffle(patterns)
        count = self.random.choice((1, 2, 2, 3))
        cases = []
        for pattern in patterns[:count]:
            guard = f" if {self.condition(0)}" if self.random.random() < 0.3 else ""
            cases.append(Statement([(f"case {pattern}{guard}:", block())]))
        if self.random.random() < 0.4:
            cases.append(Statement([("case _:", block())]))
        return cases


def line(text: str) -> Statement:
    """Return a statement of one line."""
    return Statement([(text, None)])


def generate(seed: int, depth: int, version: str) -> Block:
    """Return the body of the function of a seed."""
    match = seed % 2 == 1 and version_of(version) >= (3, 10)
    return Generator(seed, match).function(depth)


def version_of(text: str) -> Tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(map(int, text.split(".")))


def failures(interpreter: Interpreter, functions: Dict[str, str]) -> Dict[str, str]:
    """Return what is wrong with which of the functions."""
    original = interpreter.compile("".join(functions.values()))
    if original is None:
        if len(functions) == 1:
            return {}
        return of_halves(interpreter, functions)
    try:
        result = _core.decompile_pyc(original)
    except Exception as error:
        if len(functions) == 1:
            return dict.fromkeys(functions, f"error: {error}")
        return of_halves(interpreter, functions)
    found = {}
    for path, _, message, _ in result.diagnostics:
        found[path.split("/")[1]] = message
    again = interpreter.compile(result.source)
    if again is None:
        if len(functions) == 1:
            return dict.fromkeys(functions, "does not compile")
        return of_halves(interpreter, functions)
    for status, path, reason, *_ in _core.compare_pyc(original, again[16:])[1]:
        parts = path.split("/")
        if status == "unproven" and len(parts) > 1:
            found.setdefault(parts[1], f"unproven: {reason}")
    return found


def of_halves(interpreter: Interpreter, functions: Dict[str, str]) -> Dict[str, str]:
    """Return the failures of each half."""
    names = list(functions)
    middle = len(names) // 2
    found = failures(interpreter, {name: functions[name] for name in names[:middle]})
    found.update(failures(interpreter, {name: functions[name] for name in names[middle:]}))
    return found


def smaller(block: Block) -> Iterator[Block]:
    """Yield the blocks that are one step smaller."""
    for i, statement in enumerate(block):
        before, after = block[:i], block[i + 1 :]
        yield before + after
        for header, inner in statement.clauses:
            if inner is not None and not header.startswith("match"):
                yield before + inner + after
        for k, (header, inner) in enumerate(statement.clauses):
            rest = statement.clauses[:k], statement.clauses[k + 1 :]
            if len(statement.clauses) > 1:
                yield [*before, Statement(rest[0] + rest[1]), *after]
            for plain in simpler(header):
                yield [*before, Statement([*rest[0], (plain, inner), *rest[1]]), *after]
            if inner is not None:
                for less in smaller(inner):
                    yield [*before, Statement([*rest[0], (header, less), *rest[1]]), *after]


def simpler(header: str) -> Iterator[str]:
    """Yield simpler forms of a line."""
    word = header.split()[0].rstrip(":")
    if word in ("if", "elif", "while") and header not in (f"{word} x:", f"{word} True:"):
        yield f"{word} x:"
        yield f"{word} y():"
    elif word == "for" and header != "for x in y:":
        yield "for x in y:"
    elif word == "with" and header != "with x:":
        yield "with x:"
    elif word == "except" and header != "except:":
        yield "except:"
        if header != "except E:":
            yield "except E:"
    elif word in ("return", "raise") and header not in (word, f"{word} x"):
        yield word
        yield f"{word} x"
    elif "(" in header and not header.endswith(":") and header not in ("x()", "y = x"):
        yield "x()"
        yield "y = x"


def kind_of(failure: str) -> str:
    """Return the part of a failure that minimising keeps."""
    plain = re.sub(r"\([^:]*\)|\d+", "", failure)
    return re.sub(r"[^:]*/.*", " two different things", plain)


def minimised(interpreter: Interpreter, name: str, block: Block, failure: str) -> Block:
    """Return the smallest body found that fails in the same way."""
    shrinking = True
    while shrinking:
        shrinking = False
        for candidate in smaller(block):
            found = failures(interpreter, {name: function(name, candidate)})
            if name in found and kind_of(found[name]) == kind_of(failure):
                block = candidate
                shrinking = True
                break
    return block


def run(version: str, seeds: range, depth: int, minimise: int) -> int:
    """Print what fails on one version and return how many functions do."""
    interpreter = Interpreter(version)
    found: Dict[str, str] = {}
    for start in range(seeds.start, seeds.stop, 100):
        chunk = range(start, min(start + 100, seeds.stop))
        functions = {f"seed_{s}": function(f"seed_{s}", generate(s, depth, version)) for s in chunk}
        found.update(failures(interpreter, functions))
    print(f"== {version}: {len(found)} of {len(seeds)} fail")
    for kind, count in collections.Counter(map(kind_of, found.values())).most_common():
        print(f"{count:6} {kind}")
    left: collections.Counter[str] = collections.Counter()
    for name, failure in found.items():
        left[kind_of(failure)] += 1
        if left[kind_of(failure)] > minimise:
            continue
        block = generate(int(name[5:]), depth, version)
        block = minimised(interpreter, name, block, failure)
        print(f"# {version}: {failure}\n{function(name, block)}")
    interpreter.close()
    return len(found)


def main(given: Optional[Sequence[str]] = None) -> int:
    """Print a table a version; fail if any function does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--versions", nargs="*", default=VERSIONS)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--count", type=int, default=200, help="of functions")
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument(
        "--minimise", type=int, nargs="?", const=1, default=0, help="how many of each kind"
    )
    arguments = parser.parse_args(given)
    count = 0
    for version in arguments.versions:
        count += run(
            version,
            range(arguments.seed, arguments.seed + arguments.count),
            arguments.depth,
            arguments.minimise,
        )
    return 1 if count else 0
