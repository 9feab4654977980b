# SPDX-License-Identifier: Apache-2.0
"""Places for the pictures of a graph: arcs beside its list, and boxes with edges between them.

Both are linear or nearly so, and the same for the same nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence, Tuple

LONG_EDGE = 8
"""How many rows an edge spans at least to be drawn beside the list."""
LANES = 12
MOST_BOXES = 400
_ROW, _GAP_X, _GAP_Y, _LETTER = 40, 18, 26, 7
_SWEEPS = 8
_LONGEST_PERIOD = 60


def arcs(args: Sequence[Sequence[int]]) -> List[Tuple[int, int, int]]:
    """Return the long edges of a list as (from row, to row, lane); lanes do not cross in one place.

    >>> arcs([[]] * 9 + [[0]])
    [(0, 9, 0)]
    """
    last: Dict[int, int] = {}
    for row, sources in enumerate(args):
        for source in sources:
            if row - source >= LONG_EDGE:
                last[source] = row
    free = [-1] * LANES
    found = []
    for source in sorted(last):
        lane = next((i for i, end in enumerate(free) if end < source), LANES - 1)
        free[lane] = max(free[lane], last[source])
        found.append((source, last[source], lane))
    return found


@dataclass
class Box:
    """Some nodes of a graph that follow one another in one module, or as many such boxes alike."""

    label: str
    about: str
    nodes: List[int]
    count: int = 1
    alike: List[List[int]] = field(default_factory=list)
    x: float = 0
    y: float = 0
    width: float = 0
    layer: int = 0


@dataclass
class Picture:
    """Boxes and the edges between them, by the numbers of boxes."""

    boxes: List[Box]
    edges: List[Tuple[int, int]]
    width: float
    height: float


def blocks(nodes: Sequence[Any], args: Sequence[Sequence[int]]) -> Picture:
    """Return the picture of a graph's modules; modules that are equal and follow are one box."""
    depth = max([len(node.module) for node in nodes], default=0)
    boxes = _boxes(nodes, depth)
    while len(boxes) > MOST_BOXES and depth > 0:
        depth -= 1
        boxes = _boxes(nodes, depth)
    marks = [_mark(box, nodes, args) for box in boxes]
    boxes, of_node = _fold(boxes, marks)
    if len(boxes) > MOST_BOXES:
        boxes, of_node = _merged(boxes)
    edges = sorted(
        {
            (of_node[source], of_node[row])
            for row, sources in enumerate(args)
            for source in sources
            if source in of_node and row in of_node and of_node[source] < of_node[row]
        }
    )
    return _placed(boxes, edges)


def _boxes(nodes: Sequence[Any], depth: int) -> List[Box]:
    boxes: List[Box] = []
    last: Any = None
    for row, node in enumerate(nodes):
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        path = tuple(node.module[:depth])
        line = node.place.line if node.place is not None and not path else None
        if not boxes or last != (path, line):
            if path:
                label, about = path[-1]
            else:
                label = f"line {line}" if line is not None else "…"
                about = node.place.function if node.place is not None else ""
            boxes.append(Box(label, about, []))
            last = (path, line)
        boxes[-1].nodes.append(row)
    return boxes


def _mark(box: Box, nodes: Sequence[Any], args: Sequence[Sequence[int]]) -> Any:
    own = {row: i for i, row in enumerate(box.nodes)}
    # A method is written with the name of its object, which differs from layer to layer.
    inner = tuple(
        (nodes[row].target.rpartition(".")[2], nodes[row].shape, *_inside(own, args[row]))
        for row in box.nodes
    )
    return hash((box.about, inner))


def _inside(own: Dict[int, int], sources: Sequence[int]) -> List[int]:
    return [own[source] for source in sources if source in own]


def _fold(boxes: List[Box], marks: List[Any]) -> Tuple[List[Box], Dict[int, int]]:
    kept: List[Box] = []
    of_node: Dict[int, int] = {}
    i = 0
    while i < len(boxes):
        period, times = _repeats(marks, i)
        for offset in range(period):
            box = boxes[i + offset]
            box.count = times
            for n in range(times):
                same = boxes[i + n * period + offset]
                if n:
                    box.alike.append(same.nodes)
                for row in same.nodes:
                    of_node[row] = len(kept)
            kept.append(box)
        i += period * times
    return kept, of_node


def _repeats(marks: List[Any], start: int) -> Tuple[int, int]:
    best = (1, 1)
    for period in range(1, min(_LONGEST_PERIOD, (len(marks) - start) // 2) + 1):
        times = 1
        while (
            marks[start + times * period : start + (times + 1) * period]
            == marks[start : start + period]
        ):
            times += 1
        if times > 1 and period * times > best[0] * best[1]:
            best = (period, times)
    return best


def _merged(boxes: List[Box]) -> Tuple[List[Box], Dict[int, int]]:
    step = -(-len(boxes) // MOST_BOXES)
    kept: List[Box] = []
    of_node: Dict[int, int] = {}
    for start in range(0, len(boxes), step):
        group = boxes[start : start + step]
        nodes = [row for box in group for rows in (box.nodes, *box.alike) for row in rows]
        for row in nodes:
            of_node[row] = len(kept)
        kept.append(Box(f"{group[0].label} … {group[-1].label}", "", nodes))
    return kept, of_node


def _placed(boxes: List[Box], edges: List[Tuple[int, int]]) -> Picture:
    above: List[List[int]] = [[] for _ in boxes]
    below: List[List[int]] = [[] for _ in boxes]
    for source, target in edges:
        above[target].append(source)
        below[source].append(target)
    layers: List[List[int]] = []
    for number, box in enumerate(boxes):
        box.layer = 1 + max((boxes[source].layer for source in above[number]), default=-1)
        while len(layers) <= box.layer:
            layers.append([])
        layers[box.layer].append(number)
        words = max(len(box.label) + (4 if box.count > 1 else 0), len(box.about))
        box.width = 22 + _LETTER * min(words, 30)
    for sweep in range(_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        order = {number: i for layer in layers for i, number in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(
                key=lambda n: (
                    sum(order[m] for m in neighbours[n]) / len(neighbours[n])
                    if neighbours[n]
                    else order[n]
                )
            )
            for i, number in enumerate(layer):
                order[number] = i
    widths = [sum(boxes[n].width + _GAP_X for n in layer) - _GAP_X for layer in layers]
    width = max(widths, default=0)
    for layer, own in zip(layers, widths):
        x = (width - own) / 2
        for number in layer:
            boxes[number].x, boxes[number].y = x, boxes[number].layer * (_ROW + _GAP_Y)
            x += boxes[number].width + _GAP_X
    return Picture(boxes, edges, width, max(0, len(layers) * (_ROW + _GAP_Y) - _GAP_Y))


def dot(nodes: Sequence[Any], name: str) -> str:
    """Return a graph in the language of Graphviz.

    >>> print(dot([], "g"))
    digraph "g" {
      node [shape=box, fontname=monospace];
    }
    """
    lines = [f"digraph {_quoted(name)} {{", "  node [shape=box, fontname=monospace];"]
    for node in nodes:
        what = f"{node.name}\n{node.target}" if node.target != node.name else node.name
        shape = f"\n{node.dtype}[{', '.join(node.shape)}]" if node.shape is not None else ""
        lines.append(f"  {_quoted(node.name)} [label={_quoted(what + shape)}];")
        lines += [f"  {_quoted(arg)} -> {_quoted(node.name)};" for arg in node.args]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
