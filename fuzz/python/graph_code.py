# SPDX-License-Identifier: Apache-2.0
"""Random flow graphs as code objects, assembled with the PyPI package `bytecode`."""

import importlib.util
import marshal
import sys
import types
from typing import Any, Dict, List, Optional, Sequence

from graph_shapes import Block, Context, Graph, Handler

VERSION = sys.version_info[:2]
ARGUMENTS = ("note", "choose", "info", "make", "show", "kinds")
_LOCALS = ("x0", "x1", "x2")


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
            if VERSION >= (3, 15):
                # GET_ITER leaves a tuple what it is, with an index in the slot above, where a
                # program that looks at it sees it.
                self.op("LOAD_GLOBAL", (True, "iter"))
                self.op("LOAD_CONST", (1, 2))
                self.op("CALL", 1)
            else:
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
            if VERSION >= (3, 15):
                self.op("PUSH_NULL")
            self.op("FOR_ITER", done)
            self.release(inside)
            self.here += "v"
            if VERSION >= (3, 15):
                self.op("SWAP", 2)
                self.op("POP_TOP")
            self.go(index, block, block.targets[0])
            self.out.append(done)
            if VERSION >= (3, 12):
                self.op("END_FOR")
            if VERSION >= (3, 13):
                self.op("POP_TOP" if VERSION < (3, 14) else "POP_ITER")
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
        code.argcount = len(ARGUMENTS)
        code.argnames = list(ARGUMENTS)
        code.flags = lib.CompilerFlags.OPTIMIZED | lib.CompilerFlags.NEWLOCALS
        made = code.to_code(
            stacksize=60, check_pre_and_post=False, compute_exception_stack_depths=False
        )
        assert isinstance(made, types.CodeType)
        return made

    def _reached(self) -> List[Any]:
        return self.out


def assemble_module(codes: Sequence[types.CodeType]) -> bytes:
    """Return a .pyc whose module defines the functions."""
    parameters = ", ".join(ARGUMENTS)
    text = "".join(f"def {code.co_name}({parameters}): pass\n" for code in codes)
    module = compile(text, "<graphs>", "exec")
    by_name = {code.co_name: code for code in codes}
    constants = tuple(
        by_name[constant.co_name] if isinstance(constant, types.CodeType) else constant
        for constant in module.co_consts
    )
    data = marshal.dumps(module.replace(co_consts=constants))
    return importlib.util.MAGIC_NUMBER + bytes(12) + data
