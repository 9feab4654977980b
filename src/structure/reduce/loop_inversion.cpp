// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/loop_inversion.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "structure/graph/loops.h"
#include "structure/graph/same.h"
#include "structure/graph/uses.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {
namespace {

// A block that ends in a test: the items before the test, and the conditions joined in the test.
// Conditions of statements around the loop with the same targets have been joined to the loop's
// own: `if a: while b:` branches on `a and b`.
struct Test {
  BlockId block;
  uint8_t stay = 0;  // the edge into the loop
  size_t begin = 0;  // the items before this one do not belong to the test
  RegionKind kind = RegionKind::And;
  std::vector<Part> parts;  // the operands of the test; empty: it has no known form
};

class Rotation {
 public:
  Rotation(Graph& graph, KnownAnalysis& analysis) : g_(graph), known_(analysis) {}

  void run() {
    if (may_loop(g_)) undo_all();
    thread_empty_blocks(g_);
  }

 private:
  void undo_all() {
    const Analysis& analysis = known_.of(g_);
    bool changed = false;
    for (const BlockId body : std::vector<BlockId>(g_.order())) {
      const auto direct = g_.ways_into(body);
      if (direct.size() == 1 && !is_empty(direct.front().from)) continue;
      const std::vector<Way> ways = ways_through_empty(body);
      if (ways.size() < 2) continue;
      // A body may have a thousand back edges, but has one or two entries.
      std::vector<Way> tops;
      std::copy_if(ways.begin(), ways.end(), std::back_inserter(tops),
                   [&](const Way& way) { return !analysis.dominates(body, way.from); });
      if (tops.empty()) continue;
      for (const Way& bottom : ways) {
        if (!analysis.dominates(body, bottom.from)) continue;
        for (const Way& top : tops) {
          if (!undo(top, bottom)) continue;
          changed = true;
          break;
        }
      }
    }
    if (changed) g_.recompute();
  }

  // A back edge may leave the region around the whole loop: through an empty block.
  bool is_empty(BlockId id) const {
    const ir::Block& block = g_[id];
    return block.items.empty() && block.exit == ExitKind::Goto && block.next[0].args.empty();
  }

  std::vector<Way> ways_through_empty(BlockId id) const {
    std::vector<Way> ways = g_.ways_into(id).copy();
    // An empty block may lead to itself.
    std::unordered_set<BlockId> seen;
    for (size_t i = 0; i < ways.size() && ways.size() <= g_.size(); ++i) {
      if (!is_empty(ways[i].from) || !seen.insert(ways[i].from).second) continue;
      const auto before = g_.ways_into(ways[i].from);
      ways.insert(ways.end(), before.begin(), before.end());
    }
    return ways;
  }

  bool undo(Way top, Way bottom) {
    top.from = end_of(top.from);
    bottom.from = end_of(bottom.from);
    const ir::Block &t = g_[top.from], &b = g_[bottom.from];
    if (t.exit != ExitKind::Branch || b.exit != ExitKind::Branch || top.edge != bottom.edge ||
        top.from == bottom.from || t.handler != b.handler) {
      return false;
    }
    for (uint8_t k = 0; k < 2; ++k) {
      // Each exit of the loop may have had its copy of a `finally` body.
      const Skipped what = k == top.edge ? Skipped::Empty : Skipped::Marks;
      const BlockId to = t.next[k].to, other = b.next[k].to;
      if (!to.valid() || !other.valid()) return false;
      if (skip(g_, to, what) != skip(g_, other, what)) return false;
      if (!t.next[k].args.empty() || !b.next[k].args.empty()) return false;
    }
    Test first = test_of(top), second = test_of(bottom);
    size_t common = 0;
    while (common < first.parts.size() && common < second.parts.size() &&
           same(first.parts[first.parts.size() - 1 - common],
                second.parts[second.parts.size() - 1 - common])) {
      ++common;
    }
    if (common == 0) return false;
    // A test with equal targets decides nothing: the conditions before it would lead past it into
    // the loop.
    const bool is_whole = common == first.parts.size() && common == second.parts.size();
    if (!is_whole && t.next[0].to == t.next[1].to) return false;
    const BlockId header = cut(first, common);
    const BlockId end = cut(second, common);
    if (header != top.from) ends_[top.from] = header;
    ends_[bottom.from] = header;
    g_.tested_loops[header] = top.edge;
    // Removes the second test; the rest of its block leads to the first.
    release(g_, end);
    g_[end].items.clear();
    g_[end].operands.clear();
    g_[end].exit = ExitKind::Goto;
    g_[end].jump = 0;
    g_[end].next = {};
    g_[end].next[0].to = header;
    return true;
  }

  // Returns the block that now has the exit that `id` had.
  BlockId end_of(BlockId id) const {
    for (auto it = ends_.find(id); it != ends_.end(); it = ends_.find(id)) id = it->second;
    return id;
  }

  // Returns where the items begin that compute `result` and end before `end`; `end` if they are not
  // the last items there.
  size_t begin_of(const std::vector<ValueId>& items, ValueId result, size_t end) const {
    std::unordered_set<ValueId> needed{result};
    for (size_t i = end; i-- > 0;) {
      needed.erase(items[i]);
      for (ValueId operand : g_.f.operands(items[i])) {
        operand = g_.resolve(operand);
        if (g_[operand].kind != ValueKind::Null) needed.insert(operand);
      }
      if (needed.empty()) return i;
    }
    return end;
  }

  Test test_of(const Way& way) const {
    Test test{way.from, way.edge, 0, way.edge == 0 ? RegionKind::And : RegionKind::Or, {}};
    const ir::Block& block = g_[way.from];
    const std::vector<ValueId>& items = block.items;
    const ValueId result = g_.resolve(block.operands[0]);
    const auto part = [&](ValueId value, size_t end) {
      test.begin = begin_of(items, value, end);
      test.parts.push_back({{items.begin() + static_cast<ptrdiff_t>(test.begin),
                             items.begin() + static_cast<ptrdiff_t>(end)},
                            value});
      return test.begin < end;
    };
    const ir::Value& value = g_[result];
    if (!items.empty() && items.back() == result && value.kind == ValueKind::Region &&
        g_.regions[value.a].kind == test.kind) {
      if (!part(g_.resolve(g_.f.operands(value)[0]), items.size() - 1)) return {};
      const Region& region = g_.regions[value.a];
      test.parts.insert(test.parts.end(), region.parts.begin(), region.parts.end());
      return test;
    }
    if (!part(result, items.size())) return {};
    return test;
  }

  // Splits the last `common` conditions of a test off into a block, and returns that block.
  BlockId cut(const Test& test, size_t common) {
    const BlockId block = test.block;
    const size_t kept = test.parts.size() - common;
    if (kept == 0) {
      // No back edge leads to the point where a handler takes its exception.
      const bool catches = g_.exceptions_at(block, 0) != g_[block].exc_depth;
      if (test.begin == 0 && g_[block].params.empty() && !catches) return block;
      return g_.split(block, test.begin);
    }
    const BlockId fresh = g_.split(block, g_[block].items.size());
    g_[block].items.resize(test.begin);
    write(block, test.kind, std::span(test.parts).first(kept), g_[fresh].exit_offset);
    write(fresh, test.kind, std::span(test.parts).last(common), g_[fresh].exit_offset);
    ir::Block& rest = g_[fresh];
    rest.offset = g_[rest.items[0]].offset;
    ir::Block& guard = g_[block];
    guard.exit = ExitKind::Branch;
    guard.jump = rest.jump;
    guard.next[1 - test.stay] = rest.next[1 - test.stay];
    guard.next[test.stay] = {};
    guard.next[test.stay].to = fresh;
    guard.exit_line = g_[guard.operands[0]].line;
    return fresh;
  }

  // Appends conditions to the items of a block and makes the block test all of them.
  void write(BlockId id, RegionKind kind, std::span<const Part> parts, uint32_t offset) {
    std::vector<ValueId>& items = g_[id].items;
    items.insert(items.end(), parts[0].items.begin(), parts[0].items.end());
    ValueId result = parts[0].result;
    set_uses(g_, result, std::max(g_[result].uses, 1u));
    if (parts.size() > 1) {
      ir::Value value;
      value.kind = ValueKind::Region;
      value.a = static_cast<uint32_t>(g_.regions.size());
      value.offset = offset;
      value.line = g_[result].line;
      value.uses = 1;
      g_.regions.push_back({kind, {parts.begin() + 1, parts.end()}, {}, Op::BuildList});
      result = g_.add(value, std::array<ValueId, 1>{result});
      g_[id].items.push_back(result);
    }
    g_[id].operands = {result};
  }

  // Items in order, with their inputs and the results that are used.
  struct Piece {
    std::span<const ValueId> items;
    std::span<const ValueId> given;
    std::span<const ValueId> used;
  };
  using Pieces = std::pair<Piece, Piece>;

  // Returns true if two conditions are compiled from one. Regions inside are compared piece by
  // piece.
  bool same(const Part& a, const Part& b) const {
    Twins twins(g_);
    std::vector<Pieces> todo{pieces_of(a, b)};
    while (!todo.empty()) {
      const auto [p, q] = todo.back();
      todo.pop_back();
      if (p.items.size() != q.items.size() || p.given.size() != q.given.size()) return false;
      for (size_t i = 0; i < p.given.size(); ++i) twins.pair(p.given[i], q.given[i]);
      for (size_t i = 0; i < p.items.size(); ++i) {
        const ValueId x = p.items[i], y = q.items[i];
        if (!twins.same_item(x, y, {.regions = true})) return false;
        const ir::Value &v = g_[x], &w = g_[y];
        if (v.kind == ValueKind::Region && !add_pieces(g_.regions[v.a], g_.regions[w.a], todo)) {
          return false;
        }
      }
      if (!twins.same(p.used, q.used)) return false;
    }
    return true;
  }

  static Pieces pieces_of(const Part& a, const Part& b) {
    return {{a.items, {}, {&a.result, 1}}, {b.items, {}, {&b.result, 1}}};
  }

  // Appends the pieces of two regions, the first pieces last. Returns false if the regions differ
  // in form.
  bool add_pieces(const Region& r, const Region& s, std::vector<Pieces>& todo) const {
    if (r.kind != s.kind || r.parts.size() != s.parts.size() || r.container != s.container ||
        r.hidden != s.hidden || r.cells != s.cells || r.steps.size() != s.steps.size()) {
      return false;
    }
    // Each part of a chain compares an operand that the part before it computes.
    for (size_t k = r.parts.size(); k-- > 0;) todo.push_back(pieces_of(r.parts[k], s.parts[k]));
    for (size_t k = r.steps.size(); k-- > 0;) {
      const ComprehensionStep &x = r.steps[k], &y = s.steps[k];
      if (x.blocks.size() != y.blocks.size()) return false;
      for (size_t i = x.blocks.size(); i-- > 0;) {
        const ir::Block &b = g_[x.blocks[i]], &c = g_[y.blocks[i]];
        const bool same_ways =
            b.exit == c.exit && (b.next[0].to == x.header) == (c.next[0].to == y.header);
        if (!same_ways) return false;
        todo.push_back({{b.items, b.params, b.operands}, {c.items, c.params, c.operands}});
      }
      // A loop takes an iterator and gives each round an item.
      const auto &b = g_[x.header].operands, &c = g_[y.header].operands;
      if (b.size() != 2 || c.size() != 2 || !g_[x.header].params.empty()) return false;
      const std::span<const ValueId> first(b), second(c);
      todo.push_back({{{}, first.last(1), first.first(1)}, {{}, second.last(1), second.first(1)}});
    }
    return true;
  }

  Graph& g_;
  KnownAnalysis& known_;
  std::unordered_map<BlockId, BlockId> ends_;
};

}  // namespace

void undo_rotation(Graph& graph, KnownAnalysis& analysis) { Rotation(graph, analysis).run(); }

}  // namespace pellucid::structure
