# SPDX-License-Identifier: Apache-2.0
"""Random flow graphs: blocks, the ways between them, and what handles what.

Nothing here knows of bytecode: `graph_code` assembles a graph, `graph_runs` runs what comes of it.
"""

import random
from typing import List, NamedTuple, Optional


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
