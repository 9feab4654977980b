#include "structure/copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace pellucid::structure {
namespace {

struct Cursor {
  BlockId block;
  size_t index = 0;
  friend auto operator<=>(const Cursor&, const Cursor&) = default;
};

// Walks a finally body and one copy of it in lock step: a bisimulation of items by value, of blocks
// by position. (structure's own; verify has another one, on purpose.)
class Match {
 public:
  Match(const Graph& graph, HandlerId handler)
      : g_(graph), entry_(graph.f.handlers[handler.index()].entry) {}

  // Where the copy that starts at `start` ends and the rest begins.
  std::optional<Cursor> run(BlockId start) {
    todo_.push_back({{entry_, 0}, {start, 0}});
    while (!todo_.empty()) {
      auto [a, b] = todo_.back();
      todo_.pop_back();
      if (!walk(a, b)) return std::nullopt;
    }
    return end_;
  }

 private:
  bool is_marker(const Cursor& c) const {
    const ir::Value& value = g_[g_[c.block].items[c.index]];
    return value.kind == ValueKind::Instr && value.op == Op::PopExcept;
  }

  bool at_end(const Cursor& c) const { return c.index == g_[c.block].items.size(); }

  // Over markers and plain jumps to the next item or exit.
  void advance(Cursor& c) const {
    for (size_t steps = 0; steps <= g_.size(); ++steps) {
      while (!at_end(c) && is_marker(c)) ++c.index;
      if (!at_end(c) || g_[c.block].exit != ExitKind::Goto) return;
      c = {g_[c.block].next[0].to, 0};
    }
  }

  bool walk(Cursor a, Cursor b) {
    for (;;) {
      advance(a);
      if (at_end(a) && reraises(a.block)) return finish(b);
      advance(b);
      const auto [seen, fresh] = pairs_.emplace(a, b);
      if (!fresh) return seen->second == b;
      if (at_end(a) || at_end(b)) return at_end(a) && at_end(b) && exits(a.block, b.block);
      const ValueId x = g_[a.block].items[a.index], y = g_[b.block].items[b.index];
      if (!same_item(x, y)) return false;
      values_[x] = y;
      ++a.index;
      ++b.index;
    }
  }

  bool reraises(BlockId block) const {
    if (g_[block].exit != ExitKind::Reraise) return false;
    const auto& own = g_[entry_].entry_stack;
    const auto& operands = g_[block].operands;
    return std::any_of(operands.begin(), operands.end(), [&](ValueId id) {
      return g_[g_.resolve(id)].kind == ValueKind::Exception &&
             std::find(own.begin(), own.end(), g_.resolve(id)) != own.end();
    });
  }

  // The markers and jumps behind a copy belong to what comes next.
  bool finish(Cursor b) {
    while (at_end(b) && g_[b.block].exit == ExitKind::Goto && g_[b.block].next[0].args.empty()) {
      const Cursor next{g_[b.block].next[0].to, 0};
      if (next == b) break;
      b = next;
    }
    if (!end_) end_ = b;
    return *end_ == b;
  }

  bool exits(BlockId a, BlockId b) {
    const ir::Block &x = g_[a], &y = g_[b];
    if (x.exit != y.exit || x.operands.size() != y.operands.size()) return false;
    const size_t compared = x.exit == ExitKind::ForIter ? 1 : x.operands.size();
    if (x.exit != ExitKind::Reraise) {
      for (size_t i = 0; i < compared; ++i) {
        if (!same_value(x.operands[i], y.operands[i])) return false;
      }
    }
    for (uint8_t k = 0; k < 2; ++k) {
      if (x.next[k].to.valid() != y.next[k].to.valid()) return false;
      if (x.next[k].to.valid()) todo_.push_back({{x.next[k].to, 0}, {y.next[k].to, 0}});
    }
    return true;
  }

  bool same_item(ValueId x, ValueId y) const {
    const ir::Value &a = g_[x], &b = g_[y];
    if (a.kind != b.kind || a.op != b.op || a.b != b.b) return false;
    if (a.a != b.a && a.op != Op::LoadConst) return false;
    if (a.op == Op::LoadConst && a.a != b.a) return false;
    return same_operands(x, y);
  }

  bool same_operands(ValueId x, ValueId y) const {
    const auto p = g_.f.operands(x), q = g_.f.operands(y);
    if (p.size() != q.size()) return false;
    for (size_t i = 0; i < p.size(); ++i) {
      if (!same_value(p[i], q[i])) return false;
    }
    return true;
  }

  bool same_value(ValueId x, ValueId y) const {
    x = g_.resolve(x);
    y = g_.resolve(y);
    const auto known = values_.find(x);
    if (known != values_.end()) return known->second == y;
    if (x == y) return true;
    const ir::Value &a = g_[x], &b = g_[y];
    if (a.kind != b.kind || a.kind == ValueKind::Instr) return false;
    if (a.kind == ValueKind::Phi) return true;  // the recompiled code tells
    return a.a == b.a && same_operands(x, y);
  }

  const Graph& g_;
  BlockId entry_;
  std::vector<std::pair<Cursor, Cursor>> todo_;
  std::map<Cursor, Cursor> pairs_;
  std::unordered_map<ValueId, ValueId> values_;
  std::optional<Cursor> end_;
};

}  // namespace

ValueId marker(Graph& graph) {
  ir::Value value;
  value.op = Op::PopExcept;
  return graph.add(value, {});
}

bool only_markers(const Graph& graph, const ir::Block& block) {
  return std::all_of(block.items.begin(), block.items.end(), [&](ValueId item) {
    const ir::Value& value = graph[item];
    return value.kind == ValueKind::Instr && value.op == Op::PopExcept;
  });
}

bool strip_copies(Graph& g, HandlerId handler) {
  std::vector<Way> exits;
  for (const BlockId block : g.order()) {
    if (!g.within(g[block].handler, handler)) continue;
    for (uint8_t k = 0; k < 2; ++k) {
      const BlockId to = g[block].next[k].to;
      if (to.valid() && !g.within(g[to].handler, handler)) exits.push_back({block, k});
    }
  }
  std::map<BlockId, std::optional<Cursor>> ends;
  for (const Way& way : exits) {
    const BlockId start = g[way.from].next[way.edge].to;
    if (ends.count(start)) continue;
    ends[start] = Match(g, handler).run(start);
    // A body that never comes to its end (it returns, say) has no rest.
    if (!ends[start]) return false;
  }
  const HandlerId outer = g.handlers[handler.index()].outer;
  std::map<Cursor, BlockId> rests;
  // From the back of a block to its front, so that cutting leaves the other places valid.
  std::vector<Cursor> cuts;
  for (const auto& [start, end] : ends) cuts.push_back(*end);
  std::sort(cuts.begin(), cuts.end());
  for (size_t i = cuts.size(); i-- > 0;) {
    if (rests.count(cuts[i])) continue;
    rests[cuts[i]] = cuts[i].index == 0 ? cuts[i].block : g.split(cuts[i].block, cuts[i].index);
  }
  g.recompute();
  for (const Way& way : exits) {
    const BlockId start = g[way.from].next[way.edge].to;
    ir::Block bridge;
    bridge.handler = outer;
    bridge.items.push_back(marker(g));
    bridge.offset = g[start].offset;
    bridge.exit_offset = g[start].offset;
    bridge.next[0].to = rests[*ends[start]];
    const ir::Block& rest = g[bridge.next[0].to];
    // Parameters of the rest that the copy has passed through unchanged.
    for (size_t p = 0; p < rest.params.size(); ++p) {
      const auto& args = g[way.from].next[way.edge].args;
      if (p < args.size()) bridge.next[0].args.push_back(args[p]);
    }
    if (bridge.next[0].args.size() != rest.params.size()) return false;
    g.f.blocks.push_back(std::move(bridge));
    g.redirect(way.from, way.edge, BlockId(g.f.blocks.size() - 1));
  }
  g.recompute();
  return true;
}

}  // namespace pellucid::structure
