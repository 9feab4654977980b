# SPDX-License-Identifier: Apache-2.0
"""Two code objects side by side: do they have the same effects in the same order?

The walk goes from pairs of places to pairs of places. For each pair it has a relation, which says
which slots of the two frames hold one object. It assumes the relation, runs both frames on every
way to the next pairs, and weakens their relations until they hold on every way that leads there.
On each way the effects must be the same, on the same objects, with the same variables set, while
the same exception is being handled; and what they raise must arrive at handlers that are a pair.
"""

import types
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from codes import VERSION, Code, Refused, check_headers, check_raw, same_bytes
from effects import MAY_NOT_BORROW, PASSES_ON, Effect
from graphlib import CycleError, TopologicalSorter
from machine import FORK, STOP, Identities, Side
from values import (
    NULL,
    OBJECT,
    PLACE,
    SOME_PLACE,
    Constants,
    Loan,
    Relation,
    State,
    Value,
    relation_of,
    weakened,
)

Pair = Tuple[types.CodeType, types.CodeType]
# A pair of places with the sizes of both stacks.
Node = Tuple[int, int, int, int]
# Instructions that are run for one that is there, before the walk gives up.
_MOST_WORK = 400
_LEAST_WORK = 100_000
# FOR_ITER drops the iterator where the loop ends; later END_FOR and POP_ITER do.
_LOOP_DROPS = VERSION < (3, 14)


class Path(NamedTuple):
    """A way from a pair of places on."""

    state: State
    a: int
    b: int
    moved: Tuple[bool, bool] = (False, False)  # whether each side has run anything
    quiet: bool = True  # there was no effect


class Walk:
    """The comparison of two code objects."""

    def __init__(
        self, a: types.CodeType, b: types.CodeType, hints: "Optional[List[Tuple[int, int]]]"
    ) -> None:
        self.identities = Identities(Constants())
        self.constants = self.identities.constants
        self.codes = (Code(a), Code(b))
        self.sides = [Side(n, code, self.identities) for n, code in enumerate(self.codes)]
        self.relations: Dict[Node, Relation] = {}
        self.todo: List[Node] = []
        self.nested: List[Pair] = []
        self.quiet: Set[Tuple[Node, Node]] = set()
        self.stops: Dict[int, Set[int]] = {}
        targets = self.codes[0].targets()
        if hints is None:
            common = targets & self.codes[1].targets()
            hints = [(offset, offset) for offset in common]
        for x, y in hints:
            place, other = self.codes[0].near.get(x), self.codes[1].near.get(y)
            # A pair to which no jump leads is that of another code object with this path.
            if x in targets and place is not None and other is not None:
                self.stops.setdefault(place, set()).add(other)
        # A loop that the proof has taken for one instruction, such as an `await`.
        heads = self.codes[1].backward_targets()
        for head in self.codes[0].backward_targets():
            self.stops.setdefault(head, heads)

    def run(self) -> List[Pair]:
        """Return the pairs of nested code that have to be the same. Raises Refused."""
        self._arrive(None, Path(self._entry(), 0, 0))
        most = _LEAST_WORK + _MOST_WORK * sum(len(code.instructions) for code in self.codes)
        while self.todo:
            node = self.todo.pop()
            variables = len(self.codes[0].slots)
            state = self.relations[node].state((node[2], node[3]), variables)
            paths = [Path(state, node[0], node[1])]
            while paths:
                paths += self._follow(node, paths.pop())
                if sum(side.steps for side in self.sides) > most:
                    raise Refused("too many ways through the code")
        self._check_progress()
        return self.nested

    def _entry(self) -> State:
        code = self.codes[0].code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & 4) + bool(code.co_flags & 8)
        slots = [Value(OBJECT) if n < count else NULL for n in range(len(self.codes[0].slots))]
        handled = Value(OBJECT)
        return State([[], []], [slots, list(slots)], [handled, handled])

    def _follow(self, node: Node, path: Path) -> List[Path]:
        """Run both sides to what comes next; return the ways on from there."""
        a, b = self.sides
        state = path.state
        at_a = a.run(state, path.a, self.stops, path.moved[0])
        wanted = self.stops[at_a[1]] if at_a[0] == STOP else frozenset()
        at_b = b.run(state, path.b, wanted, path.moved[1])
        moved = (path.moved[0] or at_a[1] != path.a, path.moved[1] or at_b[1] != path.b)
        path = path._replace(a=at_a[1], b=at_b[1], moved=moved)
        if at_a[0] == STOP:
            self._arrive(node, path)
            return []
        for side, (why, at) in ((a, at_a), (b, at_b)):
            if why == FORK:
                return self._fork(path, side.condition(state, at))
        return self._effects(node, path)

    def _fork(self, path: Path, condition: Value) -> List[Path]:
        """Follow both ways of a branch. The side that has not come to it knows the answer then."""
        ways = []
        for truth in (True, False):
            state = path.state.copy()
            known = self.constants.true if truth else self.constants.false
            state.known[condition] = known
            if condition.inverse is not None:
                inverse = self.constants.false if truth else self.constants.true
                state.known[condition.inverse] = inverse
            ways.append(path._replace(state=state))
        return ways

    def _effects(self, node: Node, path: Path) -> List[Path]:
        """Compare the effects that both sides have come to; return the ways on."""
        state = path.state
        x, y = self.sides[0].effect(state, path.a), self.sides[1].effect(state, path.b)
        if x.key != y.key or len(x.inputs) != len(y.inputs):
            raise Refused(f"{x.key} / {y.key}")
        self._check_inputs(state, x, y)
        self._check_frames(state, x)
        for stack, effect in zip(state.stacks, (x, y)):
            del stack[len(stack) - effect.pops :]
        path = path._replace(quiet=False, moved=(True, True))
        if x.follows != "return":
            self._raise(node, path, x)
        if x.follows in ("raise", "return"):
            return []
        if x.follows in ("loop", "send"):
            return self._two_ways(path, x, y)
        self._give(state, x, y)
        # A jump that has asked for the truth of its operand is still to be executed.
        stays = [effect.follows == "again" for effect in (x, y)]
        return [path._replace(a=path.a + (not stays[0]), b=path.b + (not stays[1]))]

    def _check_inputs(self, state: State, x: Effect, y: Effect) -> None:
        # Metadata: the line of a class.
        is_line = x.key[:2] == ("STORE_NAME", "__firstlineno__")
        for p, q in zip(x.inputs, y.inputs):
            if x.key[0] in MAY_NOT_BORROW and (isinstance(p, Loan) or isinstance(q, Loan)):
                raise Refused(f"{x.key} of a lent value")
            if PLACE in (p.kind, q.kind):
                raise Refused("the place of an exception is used as an object")
            is_metadata = is_line and all(v.constant and v.constant[0] is int for v in (p, q))
            if not is_metadata and not self._same(state, p, q):
                raise Refused(f"{x.key}: its inputs differ")

    def _same(self, state: State, x: Value, y: Value) -> bool:
        x, y = state.resolve(x), state.resolve(y)
        if x is y:
            return True
        keys = x.constant, y.constant
        if not all(isinstance(k, tuple) and k[:2] == ("code", n) for n, k in enumerate(keys)):
            return False
        p, q = (code.code.co_consts[key[2]] for code, key in zip(self.codes, keys))
        self.nested.append((p, q))
        return True

    def _check_frames(self, state: State, effect: Effect) -> None:
        """Check what others see of a frame while an effect lasts."""
        for slot in list(state.differing):
            if not self._same(state, state.locals[0][slot], state.locals[1][slot]):
                name = self.codes[0].slots[slot]
                raise Refused(f"{effect.key}: the variable {name!r} differs")
            state.differing.discard(slot)
        if state.resolve(state.handled[0]) is not state.resolve(state.handled[1]):
            raise Refused(f"{effect.key}: another exception is being handled")

    def _give(self, state: State, effect: Effect, other: Effect) -> None:
        """Do what an effect does: push results, the same on both sides, or change variables."""
        kinds = [kind for kind in effect.results if isinstance(kind, str)]
        if kinds != [kind for kind in other.results if isinstance(kind, str)]:
            raise Refused(f"{effect.key}: its results differ")
        made = [Value(kind) for kind in kinds]
        state.keywords = [None, None]
        for side, one in enumerate((effect, other)):
            new = iter(made)
            results = [next(new) if isinstance(r, str) else r for r in one.results]
            variables, stack = state.locals[side], state.stacks[side]
            if one.key == ("COPY_FREE_VARS",):
                variables[len(variables) - len(results) :] = results
                continue
            if one.slot is not None:
                state.check_not_lent(side, one.slot)
                variables[one.slot] = results[0] if results else NULL
                results = results if one.key[0] == "LOAD_FAST_CHECK" else []
            stack += [self.identities.inverse(r) for r in results] if one.inverts else results
            lent = [value.slot for value in one.inputs if isinstance(value, Loan)]
            if lent and PASSES_ON.get(one.key[0]) == len(results):
                stack[-1] = Loan(stack[-1], lent[-1])
        if effect.handled:
            state.handled = [Value(OBJECT)] * 2

    def _two_ways(self, path: Path, x: Effect, y: Effect) -> List[Path]:
        """Follow a loop that goes on and one that ends; and so for what an iterator is sent."""
        ways = []
        for ends in (False, True):
            state = path.state.copy()
            if not ends or x.follows == "send":
                self._give(state, x, y)
            elif len(x.results) == 2:
                self._give(state, *(e._replace(results=e.results[:1]) for e in (x, y)))
            elif _LOOP_DROPS:
                del state.stacks[0][-1], state.stacks[1][-1]
            places = [path.a + 1, path.b + 1]
            if ends:
                found = [s.code.instructions[at].target for s, at in zip(self.sides, path[1:3])]
                places = [at for at in found if at is not None]
            ways.append(path._replace(state=state, a=places[0], b=places[1]))
        return ways

    def _raise(self, node: Node, path: Path, effect: Effect) -> None:
        """Let an exception arrive at the handlers of both sides."""
        raised = zip(self.sides, (path.a, path.b))
        handlers = [side.code.instructions[at].handler for side, at in raised]
        found = [handler for handler in handlers if handler is not None]
        if len(found) == 1:
            raise Refused(f"{effect.key}: an exception is caught on one side only")
        if not found:
            return
        state = path.state.copy()
        state.keywords = [None, None]
        left = [Value(kind) for kind in effect.left]
        exception = Value(OBJECT)
        for stack, handler in zip(state.stacks, found):
            stack += left
            if len(stack) < handler.depth:
                raise Refused(f"{effect.key}: a handler expects a larger stack")
            del stack[handler.depth :]
            stack += [SOME_PLACE, exception] if handler.keeps_place else [exception]
        self._arrive(node, path._replace(state=state, a=found[0].target, b=found[1].target))

    def _arrive(self, source: Optional[Node], path: Path) -> None:
        """Weaken the relation of a pair of places to what also holds on this way."""
        state = path.state
        if state.keywords != [None, None]:
            raise Refused("KW_NAMES without a call")
        node = (path.a, path.b, len(state.stacks[0]), len(state.stacks[1]))
        values = state.all_values()
        before = self.relations.get(node)
        after = relation_of(values) if before is None else weakened(before, values)
        if source is not None and path.quiet and not path.moved[1]:
            self.quiet.add((source, node))
        if before is None or before.kinds != after.kinds or before.labels != after.labels:
            self.relations[node] = after
            if node not in self.todo:
                self.todo.append(node)

    def _check_progress(self) -> None:
        """Check that the original does not turn in a circle while the text waits for it."""
        sorter: TopologicalSorter[Node] = TopologicalSorter()
        for source, target in self.quiet:
            sorter.add(target, source)
        try:
            sorter.prepare()
        except CycleError:
            raise Refused("a loop without effects is in one of them only") from None


def check(
    a: types.CodeType, b: types.CodeType, hints: "Dict[str, List[Tuple[int, int]]]"
) -> "Tuple[Dict[str, int], List[Tuple[str, str]]]":
    """Compare two code objects and what is nested in them.

    Returns how many were accepted in which way, and the paths of those that were not, with the
    reasons. All of them were accepted if there are none.
    """
    todo = [(a, b, a.co_name)]
    met: Set[Tuple[int, int]] = set()
    counts = {"same bytes": 0, "walked": 0}
    refused: List[Tuple[str, str]] = []
    for x, y, path in todo:
        if (id(x), id(y)) in met:
            continue
        met.add((id(x), id(y)))
        try:
            check_headers(x, y)
            check_raw(x)
            nested = same_bytes(x, y)
            how = "walked" if nested is None else "same bytes"
            if nested is None:
                nested = Walk(x, y, hints.get(path)).run()
            counts[how] += 1
            todo += [(p, q, f"{path}/{p.co_name}") for p, q in nested]
        except Refused as why:
            refused.append((path, str(why)))
        except (LookupError, ValueError, AttributeError, TypeError, RecursionError) as error:
            refused.append((path, f"code that no compiler writes: {error!r}"))
    return counts, refused
