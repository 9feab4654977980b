#include "structure/headers.h"

#include <utility>

#include "structure/analysis.h"

namespace pellucid::structure {
namespace {

// The innermost region around the header that every jump back lies in.
HandlerId region_of(const Graph& graph, const Loop& loop) {
  HandlerId region = graph[loop.header].handler;
  for (const Way& way : loop.back_edges) {
    while (region.valid() && !graph.within(graph[way.from].handler, region)) {
      region = graph.handlers[region.index()].outer;
    }
  }
  return region;
}

void put_in_front(Graph& graph, BlockId header, HandlerId region) {
  ir::Block empty;
  empty.handler = region;
  empty.exc_depth = graph[header].exc_depth;
  empty.offset = graph[header].offset;
  empty.exit_offset = empty.offset;
  empty.exit_line = graph[header].exit_line;
  // What is said of the end is said of the outer loop, if there are two.
  empty.loop_end = std::exchange(graph[header].loop_end, 0);
  empty.next[0].to = header;
  graph.f.blocks.push_back(std::move(empty));
  const BlockId fresh(graph.size() - 1);
  const HandlerId inside = graph[header].handler;
  const bool on_block_stack = graph.f.handlers[inside.index()].pushes == 6;
  for (const Way way : graph.ways_into(header).copy()) {
    // To protect takes an instruction there: what comes back without it is a loop in the body.
    if (on_block_stack && graph.within(graph[way.from].handler, inside)) continue;
    graph.redirect(way.from, way.edge, fresh);
  }
}

}  // namespace

void place_loop_headers(Graph& graph) {
  const size_t before = graph.size();
  for (const BlockId id : std::vector<BlockId>(graph.order())) {
    if (graph[id].exit == ExitKind::ForIter && graph[id].params.empty() &&
        !graph[id].items.empty() && graph.ways_into(id).size() > 1) {
      graph.split(id, graph[id].items.size());
    }
  }
  if (graph.size() != before) graph.recompute();
  const size_t blocks = graph.size();
  for (const Loop& loop : analyse(graph).loops) {
    if (!graph[loop.header].params.empty()) continue;
    const HandlerId region = region_of(graph, loop);
    if (region != graph[loop.header].handler) put_in_front(graph, loop.header, region);
  }
  if (graph.size() != blocks) graph.recompute();
}

}  // namespace pellucid::structure
