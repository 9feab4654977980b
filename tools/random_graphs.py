"""Random flow graphs that no compiler emits: decompile them, run them, compare.

A graph is blocks with random jumps between them (irreducible as a rule), random handler regions,
handlers within handlers, values that stay on the stack across all of it, and swaps of slots that a
handler keeps. Each is assembled into the code object of a function with the PyPI package
`bytecode`, decompiled by the native binary, recompiled, and both functions are run on random
oracles, which decide the branches, raise exceptions, and note what happens: which block runs, what
is being handled, in which context. Both must note the same and end the same way.

It runs under the interpreter whose code it makes (3.11 or later, with `bytecode` installed):

    python3.11 tools/random_graphs.py --binary build/pellucid --seed 1 --count 1000
"""

import argparse
import importlib.util
import json
import marshal
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import types
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

VERSION = sys.version_info[:2]
_ARGUMENTS = ("note", "choose", "info", "make", "show", "kinds")
_LOCALS = ("x0", "x1", "x2")
_ORACLES = 3
_BUDGET = 30  # decisions that are made at random; then the shortest way out is taken
_LONGEST = 4000  # events: what goes on longer is given up, in both


class Context:
    """What is being handled: the stack below the values of its blocks."""

    def __init__(self, parent: "Optional[Context]", depth: int, lasti: bool) -> None:
        self.parent = parent
        self.depth = depth  # slots that the handler keeps
        self.lasti = lasti
        # The previous exception lies on what the handler kept.
        self.base = depth + lasti + 1 if parent is not None else 0
        self.cleanup = f"cleanup{id(self)}"
        self.level: int = parent.level + 1 if parent is not None else 0


class Handler(NamedTuple):
    """Code that exceptions of one context go to: another context, or no more than a jump."""

    context: Context  # in which it catches
    depth: int
    lasti: bool
    inner: Optional[Context]  # None: it does not begin to handle
    entry: int  # the block that goes on; its layout is what the handler leaves


class Block:
    """One block: its layout is what the stack holds above the base of its context."""

    def __init__(self, context: Context, layout: str) -> None:
        self.context = context
        self.layout = layout  # a letter a slot: v value, i iterator, e exception
        self.handler: Optional[Handler] = None
        self.exit = "goto"
        self.targets: List[int] = []
        self.near = 0  # steps to an end


class Graph:
    """A random graph; what it does is up to `seed`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        root = Context(None, 0, False)
        self.contexts = [root]
        self.blocks: List[Block] = []
        self.handlers: List[Handler] = []
        pick = self.random
        for _ in range(pick.randint(0, 4)):
            parent = pick.choice(self.contexts)
            if parent.level >= 3:
                continue
            depth = parent.base + pick.randint(0, 2)
            lasti = pick.random() < 0.4
            kept = "v" * (depth - parent.base)
            if pick.random() < 0.8:
                inner: Optional[Context] = Context(parent, depth, lasti)
                assert inner is not None
                self.contexts.append(inner)
                self.blocks.append(Block(inner, "e"))
            else:
                inner = None
                self.blocks.append(Block(parent, kept + "e"))
            entry = len(self.blocks) - 1
            self.handlers.append(Handler(parent, depth, lasti, inner, entry))
        self.blocks.insert(0, Block(root, ""))
        self.handlers = [h._replace(entry=h.entry + 1) for h in self.handlers]
        self.blocks.append(Block(root, ""))
        for _ in range(pick.randint(2, 9)):
            context = pick.choice(self.contexts)
            self.blocks.append(Block(context, "v" * pick.randint(0, 3)))
        for _ in range(pick.choice((0, 0, 1, 2))):
            context = pick.choice(self.contexts)
            header = Block(context, "v" * pick.randint(0, 2) + "i")
            header.exit = "for"
            self.blocks.append(header)
        for block in self.blocks:
            self._choose_ways(block)
        self._make_it_end()

    def _choose_ways(self, block: Block) -> None:
        pick = self.random
        fitting = [
            handler
            for handler in self.handlers
            if handler.context is block.context
            and handler.depth <= block.context.base + len(block.layout)
        ]
        if fitting and pick.random() < 0.7:
            block.handler = pick.choice(fitting)
        chain = [block.context]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        open_to = [
            i
            for i, other in enumerate(self.blocks)
            if i > 0 and any(other.context is context for context in chain)
        ]
        if block.exit == "for":
            inside = [i for i in open_to if self.blocks[i].context is block.context]
            block.targets = [pick.choice(inside), pick.choice(open_to)]
            return
        exits = ["goto"] * 3 + ["branch"] * 5 + ["none"] + ["return", "raise"]
        if block.layout.endswith("e"):
            exits += ["reraise", "match", "match"]
        block.exit = pick.choice(exits)
        ways = {"goto": 1, "branch": 2, "none": 2, "match": 2}.get(block.exit, 0)
        block.targets = [pick.choice(open_to) for _ in range(ways)]

    def _make_it_end(self) -> None:
        """From each block a way must lead to an end; one that has none ends itself."""
        far = len(self.blocks) + 1
        while True:
            for block in self.blocks:
                block.near = far
            changed = True
            while changed:
                changed = False
                for block in self.blocks:
                    near = block.near
                    if block.exit in ("return",):
                        near = 0
                    elif block.exit in ("raise", "reraise"):
                        caught = block.handler
                        near = 0 if caught is None else 1 + self.blocks[caught.entry].near
                        if caught is None and block.context.parent is not None:
                            outer = self._outer(block.context)
                            near = 0 if outer is None else 1 + self.blocks[outer.entry].near
                    elif block.targets:
                        ways = [self.blocks[i].near for i in block.targets]
                        # What is not for the oracle to say may go either way.
                        asked = block.exit in ("branch", "none")
                        near = 1 + (min(ways) if asked else max(ways))
                    if near < block.near:
                        block.near = near
                        changed = True
            lost = [block for block in self.blocks if block.near >= far]
            if not lost:
                return
            victim = self.random.choice(lost)
            victim.exit, victim.targets = "return", []

    def _outer(self, context: Context) -> Optional[Handler]:
        """What catches what leaves a context: chosen once, by its cleanup."""
        parent = context.parent
        while parent is not None:
            fitting = [h for h in self.handlers if h.context is parent and h.depth <= context.depth]
            if fitting:
                return fitting[0]
            if parent.parent is None:
                return None
            context, parent = parent, parent.parent
        return None


class Assembler:
    """A graph -> a code object."""

    def __init__(self, graph: Graph, name: str) -> None:
        import bytecode

        self.lib = bytecode
        self.graph = graph
        self.name = name
        self.random = graph.random
        self.out: List[Any] = []
        self.labels: Dict[Any, Any] = {}
        self.here = ""  # the letters above the base

    def label(self, key: Any) -> Any:
        if key not in self.labels:
            self.labels[key] = self.lib.Label()
        return self.labels[key]

    def op(self, name: str, *arg: Any) -> None:
        self.out.append(self.lib.Instr(name, *arg))

    def push(self, letter: str) -> None:
        if letter == "i":
            self.op("LOAD_CONST", (1, 2))
            self.op("GET_ITER")
        elif letter == "e":
            self.call("make")
        else:
            self.op("LOAD_CONST", self.random.choice((0, 1, "s", None)))
        self.here += letter

    def pop(self) -> None:
        self.op("POP_TOP")
        self.here = self.here[:-1]

    def call(self, function: str, *arguments: Any, copies: int = 0) -> None:
        """Call a local with constants, or with a copy of the top of the stack."""
        if VERSION < (3, 13):
            self.op("PUSH_NULL")
        self.op("LOAD_FAST", function)
        if VERSION >= (3, 13):
            self.op("PUSH_NULL")
        for argument in arguments:
            self.op("LOAD_CONST", argument)
        if copies:
            self.op("COPY", 3)
        if VERSION < (3, 12):
            self.op("PRECALL", len(arguments) + copies)
        self.op("CALL", len(arguments) + copies)

    def tell(self, function: str, *arguments: Any, copies: int = 0) -> None:
        self.call(function, *arguments, copies=copies)
        self.op("POP_TOP")

    def jump(self, label: Any, forward: bool) -> None:
        self.op("JUMP_FORWARD" if forward else "JUMP_BACKWARD", label)

    def protect(self, handler: Optional[Handler], context: Context) -> Any:
        """Begin the region of a handler, or of the cleanup of a context."""
        if handler is not None:
            begin = self.lib.TryBegin(
                self.label(("handler", handler.entry)), handler.lasti, handler.depth
            )
        elif context.parent is not None:
            begin = self.lib.TryBegin(self.label(context.cleanup), True, context.base)
        else:
            return None
        self.out.append(begin)
        return begin

    def release(self, begin: Any) -> None:
        if begin is not None:
            self.out.append(self.lib.TryEnd(begin))

    def go(self, index: int, block: Block, target: int) -> None:
        """Make the stack that a block wants, and jump."""
        other = self.graph.blocks[target]
        before = self.here
        begin = self.unwind(block.context, other.context)
        same = 0
        for have, want in zip(self.here, other.layout):
            if want not in ("v", have):
                break
            same += 1
        while len(self.here) > same:
            self.pop()
        for letter in other.layout[same:]:
            self.push(letter)
        self.jump(self.label(target), target > index)
        self.release(begin)
        self.here = before

    def unwind(self, context: Context, outer: Context) -> Any:
        """Leave contexts; return the region that is begun then."""
        begin = self.protect(None, context)
        while context is not outer:
            while self.here:
                self.pop()
            self.release(begin)
            self.op("POP_EXCEPT")
            if context.lasti:
                self.op("POP_TOP")
            parent = context.parent
            assert parent is not None
            self.here = "v" * (context.depth - parent.base)
            context = parent
            begin = self.protect(None, context)
        return begin

    def work(self, block: Block) -> None:
        """Some operations that keep what the handler keeps."""
        pick = self.random
        floor = 0
        if block.handler is not None:
            floor = block.handler.depth - block.context.base
        for _ in range(pick.randint(0, 5)):
            what = pick.choice(("push", "pop", "store", "load", "swap", "copy", "info", "show"))
            height = len(self.here)
            if what == "push":
                self.push(pick.choice("vvve"))
            elif what == "pop" and height > max(floor, 0):
                self.pop()
            elif what == "store" and height > floor:
                self.op("STORE_FAST", pick.choice(_LOCALS))
                self.here = self.here[:-1]
            elif what == "load":
                self.op("LOAD_FAST", pick.choice(_LOCALS))
                self.here += "v"
            elif what == "swap" and height >= 2:
                depth = pick.randint(2, height)
                letters = list(self.here)
                letters[-1], letters[-depth] = letters[-depth], letters[-1]
                self.here = "".join(letters)
                self.op("SWAP", depth)
            elif what == "copy" and height >= 1:
                depth = pick.randint(1, height)
                self.here += self.here[-depth]
                self.op("COPY", depth)
            elif what == "info":
                self.tell("info")
            elif what == "show" and height >= 1:
                self.tell("show", copies=1)

    def block(self, index: int, block: Block) -> None:
        self.here = block.layout
        self.out.append(self.label(index))
        inside = self.protect(block.handler, block.context)
        if block.exit == "for":
            if block.handler is not None:
                self.release(inside)
                inside = self.protect(None, block.context)
            done = self.lib.Label()
            self.op("FOR_ITER", done)
            self.release(inside)
            self.here += "v"
            self.go(index, block, block.targets[0])
            self.out.append(done)
            if VERSION >= (3, 12):
                self.op("END_FOR")
            if VERSION >= (3, 13):
                self.op("POP_TOP")
            self.here = block.layout[:-1]
            self.go(index, block, block.targets[1])
            return
        self.tell("note", index)
        self.work(block)
        # What RERAISE takes away must not be what its own handler keeps.
        kept = block.handler is not None and block.context.base + len(self.here) <= (
            block.handler.depth
        )
        if block.exit in ("reraise", "match") and (not self.here.endswith("e") or kept):
            # On top again: one that was there, or another.
            self.push("e")
        yes = self.lib.Label()
        if block.exit in ("branch", "none"):
            self.call("choose", index, block.exit)
        elif block.exit == "match":
            self.op("LOAD_FAST", "kinds")
            self.op("CHECK_EXC_MATCH")
        elif block.exit == "return":
            if not self.here:
                self.push("v")
            self.op("STORE_FAST", "x0")
            self.here = self.here[:-1]
            self.release(inside)
            inside = self.unwind(block.context, self.graph.contexts[0])
            self.op("LOAD_FAST", "x0")
            self.op("RETURN_VALUE")
        elif block.exit == "raise":
            self.call("make")
            self.op("RAISE_VARARGS", 1)
        elif block.exit == "reraise":
            self.op("RERAISE", 0)
        self.release(inside)
        if len(block.targets) == 2:
            if block.exit == "none":
                name = "POP_JUMP_FORWARD_IF_NONE" if VERSION < (3, 12) else "POP_JUMP_IF_NONE"
            else:
                name = "POP_JUMP_FORWARD_IF_TRUE" if VERSION < (3, 12) else "POP_JUMP_IF_TRUE"
            self.op(name, yes)
            self.go(index, block, block.targets[1])
            self.out.append(yes)
        if block.targets:
            self.go(index, block, block.targets[0])

    def handler(self, handler: Handler) -> None:
        self.out.append(self.label(("handler", handler.entry)))
        block = self.graph.blocks[handler.entry]
        if handler.inner is not None:
            self.op("PUSH_EXC_INFO")
            begin = self.protect(None, handler.inner)
        else:
            begin = self.protect(None, block.context)
            if handler.lasti:
                self.op("SWAP", 2)
                self.op("POP_TOP")
        self.jump(self.label(handler.entry), False)
        self.release(begin)

    def cleanup(self, context: Context) -> None:
        parent = context.parent
        assert parent is not None
        self.out.append(self.label(context.cleanup))
        fitting = [
            h for h in self.graph.handlers if h.context is parent and h.depth <= context.depth
        ]
        begin = self.protect(fitting[0] if fitting else None, parent)
        self.op("COPY", 3)
        self.op("POP_EXCEPT")
        self.op("RERAISE", 1)
        self.release(begin)

    def assemble(self) -> types.CodeType:
        lib = self.lib
        self.op("RESUME", 0)
        for local in _LOCALS:
            self.op("LOAD_CONST", local)
            self.op("STORE_FAST", local)
        for index, block in enumerate(self.graph.blocks):
            self.block(index, block)
        for handler in self.graph.handlers:
            self.handler(handler)
        for context in self.graph.contexts[1:]:
            self.cleanup(context)
        code = lib.Bytecode(self._reached())
        code.name = self.name
        code.qualname = self.name
        code.filename = "<graph>"
        code.argcount = len(_ARGUMENTS)
        code.argnames = list(_ARGUMENTS)
        code.flags = lib.CompilerFlags.OPTIMIZED | lib.CompilerFlags.NEWLOCALS
        made = code.to_code(
            stacksize=60, check_pre_and_post=False, compute_exception_stack_depths=False
        )
        assert isinstance(made, types.CodeType)
        return made

    def _reached(self) -> List[Any]:
        return self.out


class Oracle:
    """Decides for one run, and writes down what it is told."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.random = random.Random(seed)
        self.graph = graph
        self.left = _BUDGET
        self.events: List[Any] = []

    def add(self, *event: Any) -> None:
        self.events.append(event)
        if len(self.events) > _LONGEST:
            raise Endless

    def note(self, block: int) -> None:
        self.add("block", block)
        self.left -= 1
        if self.left > 0 and self.random.random() < 0.25:
            raise self.random.choice((ValueError, KeyError, ZeroDivisionError))(block)

    def choose(self, block: int, exit: str) -> Any:
        self.add("choose", block)
        if self.left > 0:
            first = self.random.random() < 0.5
        else:
            yes, no = (self.graph.blocks[i].near for i in self.graph.blocks[block].targets)
            first = yes <= no
        if exit == "none":
            return None if first else 1
        return first

    def info(self) -> None:
        self.add("info", _chain(sys.exc_info()[1]))

    def make(self) -> BaseException:
        return LookupError(len(self.events))

    def show(self, value: Any) -> None:
        self.add("show", _plain(value))

    def run(self, function: Any) -> List[Any]:
        arguments = (self.note, self.choose, self.info, self.make, self.show, KeyError)
        try:
            self.events.append(("returned", _plain(function(*arguments))))
        except Exception as error:
            self.events.append(("raised", _chain(error)))
        if sys.exc_info() != (None, None, None):
            raise Leaking
        return self.events


class Endless(BaseException):
    """The run is given up; there may be handlers that catch even this, over and over."""


class Leaking(BaseException):
    """An exception is still being handled when the function has returned."""


def _plain(value: Any) -> str:
    simple = value is None or isinstance(value, (int, str, bool))
    return repr(value) if simple else type(value).__name__ + repr(getattr(value, "args", ""))


def _chain(error: Optional[BaseException]) -> List[str]:
    found: List[str] = []
    while error is not None and len(found) < 6:
        found.append(_plain(error))
        error = error.__context__
    return found


def assemble_module(codes: Sequence[types.CodeType]) -> bytes:
    """Return a .pyc whose module defines the functions."""
    parameters = ", ".join(_ARGUMENTS)
    text = "".join(f"def {code.co_name}({parameters}): pass\n" for code in codes)
    module = compile(text, "<graphs>", "exec")
    by_name = {code.co_name: code for code in codes}
    constants = tuple(
        by_name[constant.co_name] if isinstance(constant, types.CodeType) else constant
        for constant in module.co_consts
    )
    data = marshal.dumps(module.replace(co_consts=constants))
    return importlib.util.MAGIC_NUMBER + bytes(12) + data


def run_isolated(seed: int, first: types.CodeType, second: Any) -> str:
    """Compare both in a child process; where that is killed, see whether the original is, too."""
    verdict = _in_child(seed, first, second)
    if not verdict.startswith("killed"):
        return verdict
    alone = _in_child(seed, first, types.FunctionType(first, {"__builtins__": __builtins__}))
    return "invalid" if alone.startswith("killed") else verdict


def _in_child(seed: int, first: types.CodeType, second: Any) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(5)  # no exception: the child ends, whatever it catches
        verdict = "differs"
        try:
            verdict = compare(seed, first, second)
        except BaseException as error:
            verdict = f"breaks: {type(error).__name__}: {error}"
        os.write(writer, verdict.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if answer:
        return answer
    return "endless" if status == 14 else f"killed by {status}"


def compare(seed: int, original: types.CodeType, decompiled: Any) -> str:
    """Say "same", or where both differ."""
    graph = Graph(seed)
    function = types.FunctionType(original, {"__builtins__": __builtins__})
    for number in range(_ORACLES):
        ours = Oracle(graph, seed * 100 + number).run(decompiled)
        try:
            theirs = Oracle(graph, seed * 100 + number).run(function)
        except Leaking:
            return "invalid"  # what the interpreter makes of it has no meaning
        if ours != theirs:
            for index, (a, b) in enumerate(zip(ours, theirs)):
                if a != b:
                    return f"differs at event {index}: {a} is to be {b}"
            return f"differs in length: {len(ours)} is to be {len(theirs)}"
    return "same"


def batch(binary: str, seeds: Sequence[int], options: Sequence[str]) -> Dict[str, Any]:
    """Decompile the functions of some seeds in one module, and run each."""
    codes, problems, verdicts = [], [], {}
    for seed in seeds:
        codes.append(Assembler(Graph(seed), f"f{seed}").assemble())
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "graphs.pyc"
        path.write_bytes(assemble_module(codes))
        made = subprocess.run(
            [binary, "decompile", *options, str(path)], capture_output=True, text=True
        )
    lines = [line for line in made.stderr.splitlines() if line]
    notes = [line for line in lines if "without structure: " in line]
    if made.returncode != 0:
        refused = [line for line in lines if line not in notes]
        problems += refused or [f"exit status {made.returncode}"]
    namespace: Dict[str, Any] = {}
    try:
        exec(compile(made.stdout, "<decompiled>", "exec"), namespace)
    except Exception as error:
        problems.append(f"does not compile: {error}")
    for seed, code in zip(seeds, codes):
        function = namespace.get(f"f{seed}")
        verdicts[seed] = "missing" if function is None else run_isolated(seed, code, function)
    return {"problems": problems, "verdicts": verdicts, "notes": len(notes)}


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the tool; the exit status is 0 if all graphs behave as the originals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--unstructured", action="store_true", help="switch structuring off")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    options = ["--unstructured"] if given.unstructured else []
    counts: Dict[str, int] = {"same": 0}
    failures: List[Tuple[int, str]] = []
    notes = 0
    seeds = range(given.seed, given.seed + given.count)
    for start in range(0, len(seeds), 50):
        result = batch(given.binary, seeds[start : start + 50], options)
        notes += result["notes"]
        failures += [(-1, problem) for problem in result["problems"]]
        for seed, verdict in result["verdicts"].items():
            kind = verdict.split(" ")[0].rstrip(":")
            counts[kind] = counts.get(kind, 0) + 1
            if kind not in ("same", "endless", "invalid"):
                failures.append((seed, verdict))
    if given.json:
        print(json.dumps({"counts": counts, "notes": notes, "failures": failures}))
    else:
        print(f"{given.count} graphs: {counts}, {notes} without structure")
        for seed, why in failures[:20]:
            print(f"  seed {seed}: {why}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
