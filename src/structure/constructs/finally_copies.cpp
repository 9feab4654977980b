// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/finally_copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/graph/same_code.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {

namespace {

std::vector<Way> ways_out(const Graph& g, HandlerId handler, std::span<const BlockId> region) {
  std::vector<Way> exits;
  for (const BlockId block : region) {
    for (uint8_t k = 0; k < 2; ++k) {
      const BlockId to = g[block].next[k].to;
      if (to.valid() && !within(g, g[to].handler, handler)) exits.push_back({block, k});
    }
  }
  return exits;
}

// Returns the ways out of the region from unreachable code: the code after a clause whose end is
// never reached.
std::vector<Way> ways_after_clauses(const Graph& g, HandlerId handler) {
  std::vector<BlockId> ends;
  for (const auto& [exception, end] : g.clause_ends.all()) {
    if (!g.reachable(end)) ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  std::vector<Way> found;
  const auto inside = [&](BlockId id) { return within(g, g[id].handler, handler); };
  for (const BlockId end : ends) {
    if (!inside(end)) continue;
    skip(g, end, Skipped::Marks, [&](BlockId last, const ir::Edge& edge) {
      if (inside(edge.to)) return true;
      found.push_back({last, 0});
      return false;
    });
  }
  return found;
}

// Returns true if the block is empty and leads straight back into the region: it is the header of a
// loop in the region, though it is unprotected.
bool heads_loop_inside(const Graph& g, HandlerId handler, BlockId block) {
  const ir::Block& b = g[block];
  return b.items.empty() && b.params.empty() && b.exit == ExitKind::Goto &&
         b.next[0].args.empty() && within(g, g[b.next[0].to].handler, handler);
}

// Redirects those ways to a copy of the header in the region.
void keep_inside(Graph& g, HandlerId handler, const std::map<BlockId, std::vector<Way>>& rounds) {
  for (const auto& [head, ways] : rounds) {
    ir::Block inside = g[head];
    inside.handler = handler;
    inside.loop_end = 0;
    g.f.blocks.push_back(std::move(inside));
    for (const Way& way : ways) g[way.from].next[way.edge].to = BlockId(g.size() - 1);
  }
}

// 3.8 puts a constant in the place of a value that the `try` may return, if the `finally` body
// overtakes it. Gives ways with that placeholder and ways with a value separate blocks before they
// merge.
void part_placeholders(Graph& g, HandlerId handler, const std::vector<Way>& exits) {
  const ValueId held_place = placeholder(g, handler);
  if (!held_place.valid()) return;
  const auto holds_place = [&](const ir::Edge& edge) {
    return g.resolve(edge.args[0]) == held_place;
  };
  std::map<BlockId, std::vector<Way>> shared;
  for (const Way& way : exits) {
    const ir::Edge& edge = g[way.from].next[way.edge];
    if (edge.args.size() == 1) shared[edge.to].push_back(way);
  }
  const auto part = [&](BlockId to, const std::vector<Way>& ways, bool held) {
    ir::Block fresh;
    fresh.handler = g.handlers[handler.index()].outer;
    fresh.exc_depth = g[to].exc_depth;
    fresh.offset = fresh.exit_offset = g[to].offset;
    fresh.next[0] = {to, {held_place}};
    if (!held) {
      fresh.params = {g.add(g[g[to].params[0]], {})};
      fresh.next[0].args = fresh.params;
    }
    const BlockId id(g.size());
    g.f.blocks.push_back(std::move(fresh));
    for (const Way& way : ways) {
      ir::Edge& edge = g[way.from].next[way.edge];
      if (holds_place(edge) != held) continue;
      edge.to = id;
      if (held) edge.args.clear();
    }
  };
  for (const auto& [to, ways] : shared) {
    const auto held = std::count_if(ways.begin(), ways.end(), [&](const Way& way) {
      return holds_place(g[way.from].next[way.edge]);
    });
    if (static_cast<size_t>(held) < ways.size()) part(to, ways, false);
    if (held > 0) part(to, ways, true);
  }
}

}  // namespace

bool overtakes_value(const Graph& g, const object::Module& module, HandlerId handler,
                     std::span<const BlockId> region) {
  if (g.f.marks_ends) return false;
  bool found = false;
  std::unordered_set<BlockId> seen;
  for (const Way& way : ways_out(g, handler, region)) {
    const BlockId start = g[way.from].next[way.edge].to;
    if (!seen.insert(start).second) continue;
    const std::optional<SameCode::Copy> copy = SameCode::copy(g, module, handler, start);
    if (!copy) return false;
    found = found || copy->dropped.valid();
  }
  return found;
}

bool strip_copies(Graph& g, const object::Module& module, HandlerId handler,
                  std::span<const BlockId> region) {
  std::vector<Way> exits = ways_out(g, handler, region);
  part_placeholders(g, handler, exits);
  std::map<BlockId, SameCode::Copy> copies;
  std::map<BlockId, std::vector<Way>> rounds;  // that only leave the body of a loop
  for (const Way& way : exits) {
    const BlockId start = g[way.from].next[way.edge].to;
    if (copies.count(start)) continue;
    std::optional<SameCode::Copy> copy;
    if (!rounds.count(start)) copy = SameCode::copy(g, module, handler, start);
    if (copy) {
      copies.emplace(start, std::move(*copy));
    } else if (heads_loop_inside(g, handler, start)) {
      rounds[start].push_back(way);
    } else {
      return false;
    }
  }
  keep_inside(g, handler, rounds);
  for (const Way& way : ways_after_clauses(g, handler)) {
    const BlockId start = g[way.from].next[way.edge].to;
    std::optional<SameCode::Copy> copy;
    if (!copies.count(start)) copy = SameCode::copy(g, module, handler, start);
    if (copy) copies.emplace(start, std::move(*copy));
    if (copies.count(start)) exits.push_back(way);
  }
  std::map<Cursor, BlockId> rests;
  // From the last item of a block to its first, so that splitting leaves the other places valid.
  std::vector<Cursor> cuts;
  for (const auto& [start, copy] : copies) {
    if (copy.end) cuts.push_back(copy.end->at);
  }
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = cuts.size(); i-- > 0;) {
    if (rests.count(cuts[i])) continue;
    rests[cuts[i]] = cuts[i].index == 0 ? cuts[i].block : g.split(cuts[i].block, cuts[i].index);
  }
  // A return right after a nested statement seems to be in its region, whatever loops it leaves.
  const auto leaves_all = [&](const ir::Block& block) {
    return std::all_of(block.items.begin(), block.items.end(), [&](ValueId item) {
      return only_leaves(g[item]) || drops(g[item], ir::Dropped::Iterator);
    });
  };
  for (const auto& [at, rest] : rests) {
    if (g[rest].exit == ExitKind::Return && leaves_all(g[rest])) {
      g[rest].handler = g.handlers[handler.index()].outer;
    }
  }
  // A bridge replaces each copy, with its parameters; one bridge replaces all copies without an end
  // or a jump statement, since there the `finally` body leaves by itself, whatever way reached it.
  std::map<BlockId, BlockId> bridges;
  BlockId overtaken;
  for (auto& [start, copy] : copies) {
    const bool never_ends = !copy.end && !copy.dropped.valid();
    const bool is_overtaken = never_ends && !lost_jump(g, start).valid() && g[start].params.empty();
    if (is_overtaken && overtaken.valid()) {
      bridges[start] = overtaken;
      continue;
    }
    ir::Block bridge;
    bridge.handler = g.handlers[handler.index()].outer;
    bridge.items.push_back(marker(g));
    bridge.offset = g[start].offset;
    bridge.exit_offset = g[start].offset;
    bridge.exit_line = g[start].exit_line;
    bridge.exc_depth = g[start].exc_depth;
    bridge.params = g[start].params;
    if (copy.end) {
      bridge.next[0] = {rests[copy.end->at], copy.end->args};
      // No copy that a compiler makes is empty where values are brought to it.
      if (copy.end->args.size() != g[rests[copy.end->at]].params.size()) {
        throw NotStructured("a way that brings other values than are taken", g[start].offset);
      }
    } else if (copy.dropped.valid()) {
      bridge.exit = ExitKind::Return;
      bridge.operands = {copy.dropped};
      // Only a `return` leaves a value there.
      if (g.f.marks_ends) bridge.items[0] = marker(g, flow::Marker::LeftByJump);
    } else {
      bridge.exit = ExitKind::Reraise;  // as a finally body ends
      if (const ValueId lost = lost_jump(g, start); lost.valid()) {
        g[bridge.items[0]].a = g[lost].a;
        g[bridge.items[0]].b = g[lost].b;
      }
    }
    g.f.blocks.push_back(std::move(bridge));
    bridges[start] = BlockId(g.f.blocks.size() - 1);
    if (is_overtaken) overtaken = bridges[start];
  }
  for (const Way& way : exits) {
    ir::Edge& edge = g[way.from].next[way.edge];
    // Code after several clauses was found several times.
    const auto bridge = bridges.find(edge.to);
    if (bridge != bridges.end()) edge.to = bridge->second;
  }
  return true;
}

}  // namespace pellucid::structure
