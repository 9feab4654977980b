#include "structure/graph/loops.h"

#include <algorithm>
#include <utility>

namespace pellucid::structure {
namespace {

constexpr uint32_t kNone = ~0u;

// Lists of blocks by block, in one piece of memory.
class Lists {
 public:
  template <typename Fill>
  Lists(size_t count, Fill fill) : first_(count + 1, 0) {
    fill([&](BlockId of, BlockId) { ++first_[of.index() + 1]; });
    for (size_t i = 1; i <= count; ++i) first_[i] += first_[i - 1];
    items_.resize(first_[count]);
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    fill([&](BlockId of, BlockId item) { items_[next[of.index()]++] = item; });
  }

  std::span<const BlockId> operator[](BlockId id) const {
    return {items_.data() + first_[id.index()], items_.data() + first_[id.index() + 1]};
  }

  std::vector<BlockId> items_;
  std::vector<uint32_t> first_;
};

// All edges, handlers included: an exception may come from any block that is protected.
Lists predecessors(const Graph& graph) {
  return Lists(graph.size(), [&](const auto& add) {
    for (const BlockId id : graph.order()) {
      for (const Way way : graph.ways_into(id)) add(id, way.from);
      const HandlerId handler = graph[id].handler;
      if (handler.valid()) add(graph.f.handlers[handler.index()].entry, id);
    }
  });
}

// Lengauer, Tarjan: A Fast Algorithm for Finding Dominators in a Flowgraph (1979), the simple
// variant. Blocks are numbered in the order of a depth-first walk.
class Dominators {
 public:
  Dominators(const Graph& graph, const Lists& before)
      : graph_(graph), before_(before), number_(graph.size(), kNone) {}

  std::vector<BlockId> run() {
    walk();
    const auto count = static_cast<uint32_t>(blocks_.size());
    semi_.resize(count);
    for (uint32_t i = 0; i < count; ++i) semi_[i] = i;
    best_ = semi_;
    ancestor_.assign(count, kNone);
    idom_.assign(count, 0);
    std::vector<uint32_t> bucket(count, kNone), next_in_bucket(count, kNone);
    for (uint32_t i = count; i-- > 1;) {
      for (const BlockId from : before_[blocks_[i]]) {
        const uint32_t p = number_[from.index()];
        if (p != kNone) semi_[i] = std::min(semi_[i], semi_[evaluate(p)]);
      }
      next_in_bucket[i] = bucket[semi_[i]];
      bucket[semi_[i]] = i;
      const uint32_t parent = parents_[i];
      ancestor_[i] = parent;
      for (uint32_t v = std::exchange(bucket[parent], kNone); v != kNone; v = next_in_bucket[v]) {
        const uint32_t u = evaluate(v);
        idom_[v] = semi_[u] < semi_[v] ? u : parent;
      }
    }
    std::vector<BlockId> out(graph_.size());
    for (uint32_t i = 0; i < count; ++i) {
      if (idom_[i] != semi_[i]) idom_[i] = idom_[idom_[i]];
      out[blocks_[i].index()] = blocks_[idom_[i]];
    }
    return out;
  }

 private:
  void walk() {
    std::vector<std::pair<BlockId, uint32_t>> todo{{graph_.entry(), 0}};
    while (!todo.empty()) {
      const auto [block, parent] = todo.back();
      todo.pop_back();
      if (number_[block.index()] != kNone) continue;
      const auto number = static_cast<uint32_t>(blocks_.size());
      number_[block.index()] = number;
      blocks_.push_back(block);
      parents_.push_back(parent);
      const ir::Block& b = graph_[block];
      if (b.handler.valid()) {
        todo.push_back({graph_.f.handlers[b.handler.index()].entry, number});
      }
      for (const ir::Edge& edge : b.next) {
        if (edge.to.valid()) todo.push_back({edge.to, number});
      }
    }
  }

  // The block with the least semidominator on the way to the root of what is linked so far.
  uint32_t evaluate(uint32_t v) {
    if (ancestor_[v] == kNone) return v;
    path_.clear();
    for (uint32_t u = v; ancestor_[ancestor_[u]] != kNone; u = ancestor_[u]) path_.push_back(u);
    for (size_t i = path_.size(); i-- > 0;) {
      const uint32_t u = path_[i], above = ancestor_[u];
      if (semi_[best_[above]] < semi_[best_[u]]) best_[u] = best_[above];
      ancestor_[u] = ancestor_[above];
    }
    return best_[v];
  }

  const Graph& graph_;
  const Lists& before_;
  std::vector<uint32_t> number_;  // by block
  std::vector<BlockId> blocks_;   // by number, as all that follows
  std::vector<uint32_t> parents_, semi_, best_, ancestor_, idom_;
  std::vector<uint32_t> path_;
};

}  // namespace

bool Analysis::dominates(BlockId a, BlockId b) const {
  if (a == b) return true;
  return enter_[a.index()] != 0 && enter_[a.index()] <= enter_[b.index()] &&
         leave_[b.index()] <= leave_[a.index()];
}

bool Analysis::contains(const Loop& loop, BlockId block) const {
  uint32_t around = innermost[block.index()];
  while (around != kNone && loops[around].depth > loop.depth) around = loops[around].outer;
  return around != kNone && loops[around].header == loop.header;
}

// When a walk over the dominator tree comes to each block, and when it is done with it.
void Analysis::number_tree(BlockId entry) {
  enter_.assign(idom.size(), 0);
  leave_.assign(idom.size(), 0);
  uint32_t time = 0;
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const BlockId block = todo.back();
    if (enter_[block.index()] != 0) {
      todo.pop_back();
      leave_[block.index()] = time;
      continue;
    }
    enter_[block.index()] = ++time;
    for (const BlockId child : children(block)) todo.push_back(child);
  }
}

Analysis analyse(const Graph& graph) {
  Analysis out;
  const size_t count = graph.size();
  const auto& order = graph.order();
  out.number.assign(count, 0);
  out.loop_of_header.assign(count, kNone);
  out.innermost.assign(count, kNone);
  for (size_t i = 0; i < order.size(); ++i) out.number[order[i].index()] = static_cast<uint32_t>(i);

  const Lists before = predecessors(graph);
  out.idom = Dominators(graph, before).run();
  Lists children(count, [&](const auto& add) {
    for (size_t i = 1; i < order.size(); ++i) add(out.idom[order[i].index()], order[i]);
  });
  out.children_ = std::move(children.items_);
  out.first_child_ = std::move(children.first_);
  out.number_tree(graph.entry());

  // Natural loops: a back edge leads to a block that dominates its source. Outer loops come first,
  // so that what an inner one writes to `innermost` stands.
  std::vector<uint32_t> seen(count, kNone);  // by block: the last loop that has found it
  std::vector<BlockId> todo;
  for (const BlockId id : order) {
    Loop loop;
    loop.header = id;
    for (const Way way : graph.ways_into(id)) {
      if (out.dominates(id, way.from)) {
        loop.back_edges.push_back(way);
      } else if (out.number[way.from.index()] >= out.number[id.index()]) {
        out.reducible = false;
      }
    }
    if (loop.back_edges.empty()) continue;
    const auto index = static_cast<uint32_t>(out.loops.size());
    loop.outer = out.innermost[id.index()];
    loop.depth = loop.outer == kNone ? 0 : out.loops[loop.outer].depth + 1;
    const auto add = [&](BlockId block) {
      seen[block.index()] = index;
      out.innermost[block.index()] = index;
      loop.blocks.push_back(block);
    };
    add(id);
    for (const Way& way : loop.back_edges) todo.push_back(way.from);
    while (!todo.empty()) {
      const BlockId block = todo.back();
      todo.pop_back();
      if (seen[block.index()] == index) continue;
      add(block);
      for (const BlockId p : before[block]) todo.push_back(p);
    }
    out.loop_of_header[id.index()] = index;
    out.loops.push_back(std::move(loop));
  }
  return out;
}

}  // namespace pellucid::structure
