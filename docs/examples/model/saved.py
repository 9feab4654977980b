import math
import re
import sys

import pellucid
from pellucid.torch.model.events import Graph

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8, "int64": 8, "bool": 1}

capture = pellucid.load(sys.argv[1])
for graph in capture.of(Graph):
    if graph.stage == "forward":
        nodes = capture.nodes_by_name(graph.file)
        for name in re.findall(r"(\w+),  # SavedForBackwards", capture.text(graph.file)):
            node = nodes[name]
            size = BYTES[node.dtype] * math.prod(map(int, node.shape))
            made = f"{node.place}" if node.place else "an input"
            print(f"{size:6} bytes  {name:10} {made}")
