// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/joined_values.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "structure/graph/block_kinds.h"
#include "structure/graph/copies.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/reduce/common_endings.h"

namespace pellucid::structure {
namespace {

bool is_pop_of_any(const Graph& g, ValueId item, ValueId param) {
  return is_op(g[item], Op::Pop) && g.resolve(g.f.operands(item)[0]) == param;
}

// A joined ending may be equal to another ending: the last arms of a chain of conditional
// expressions.
constexpr size_t kLongestChain = 4;

class EndingJoiner {
 public:
  EndingJoiner(Graph& graph, EndingKind kind) : g_(graph), kind_(kind), endings_(graph, kind) {
    refresh();
  }

  // The graph is current then.
  std::vector<BlockId> join() {
    if (kind_ == EndingKind::Statement) draw_in_returns();
    if (kind_ == EndingKind::Handler) share_raises();
    for (std::vector<BlockId>& left : groups()) {
      while (left.size() > 1) cluster(left);
    }
    if (!made_.empty()) g_.recompute();
    return std::move(made_);
  }

 private:
  void refresh() {
    if (!g_.is_current()) g_.recompute();
  }

  // Moves returns into the region of the statement before: the last statement of a `try` ends the
  // region before the return. If both were copied together, each copy has its return after the
  // region; it cannot raise, so it may be inside.
  void draw_in_returns() {
    std::map<std::array<uint32_t, 4>, std::vector<BlockId>> found;
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      if (block.exit != ExitKind::Goto || block.items.empty()) continue;
      const BlockId next = block.next[0].to;
      const ir::Block& rest = g_[next];
      const bool returns =
          returns_constant(g_, next) && rest.params.empty() && rest.handler != block.handler;
      if (!returns || g_.ways_into(next).size() != 1) continue;
      const ir::Value& last = g_[block.items.back()];
      found[{block.handler.value, static_cast<uint32_t>(last.op), last.a,
             static_cast<uint32_t>(last.line)}]
          .push_back(id);
    }
    for (const auto& [key, blocks] : found) {
      if (blocks.size() < 2) continue;
      for (const BlockId id : blocks) {
        const BlockId next = g_[id].next[0].to;
        g_[id].items.push_back(g_[next].items[0]);
        g_[next].items.clear();
        g_.take_exit(id, next);
      }
    }
  }

  // Shares the raise that ends a `finally` body whose last statement is a `try`: in each copy of
  // that statement the exception is raised again after the region. It cannot move inside, where the
  // handlers of the region would catch it.
  void share_raises() {
    std::map<std::array<uint32_t, 7>, BlockId> found;
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      if (block.exit != ExitKind::Goto || block.items.empty()) continue;
      const BlockId next = block.next[0].to;
      const ir::Block& rest = g_[next];
      const bool raises = rest.exit == ExitKind::Reraise && rest.items.empty() &&
                          rest.params.empty() && rest.handler != block.handler;
      if (!raises || rest.operands.empty() || g_.ways_into(next).size() != 1) continue;
      const ir::Value& last = g_[block.items.back()];
      const auto known =
          found.try_emplace({block.handler.value, rest.handler.value, rest.exc_depth,
                             g_.resolve(rest.operands.back()).value, static_cast<uint32_t>(last.op),
                             last.a, static_cast<uint32_t>(last.line)},
                            next);
      if (known.second) continue;
      g_.redirect(id, 0, known.first->second);
      shared_.insert(known.first->second);
    }
  }

  // Returns the endings in groups that may be one statement: those of one line and, where items are
  // to be shared, with the same last operation.
  std::vector<std::vector<BlockId>> groups() {
    const bool of_handlers = kind_ == EndingKind::Handler;
    refresh();
    std::map<std::array<uint32_t, 8>, std::vector<BlockId>> found;
    for (const BlockId id : g_.order()) {
      const ir::Block& block = g_[id];
      // The raise at the end of a handler has no line: that of the statement before it counts.
      const bool shares = block.exit == ExitKind::Goto && shared_.contains(block.next[0].to);
      const bool reraises = (block.exit == ExitKind::Reraise || shares) && !block.items.empty();
      const bool ends = block.exit == ExitKind::Return || block.exit == ExitKind::Raise;
      if (of_handlers ? !reraises : !ends) continue;
      const int32_t line = of_handlers ? g_[block.items.back()].line : block.exit_line;
      if (line == bytecode::kNoLine || (block.next[0].to.valid() && !shares)) continue;
      std::array<uint32_t, 8> key{block.handler.value, static_cast<uint32_t>(block.exit),
                                  static_cast<uint32_t>(line)};
      // An ending that the compiler has not copied has one offset (duplicated_exits.cpp).
      if (g_.f.marks_ends) key[6] = block.exit_offset;
      // All copies of a `finally` body raise the same exception, and each copy is another
      // statement.
      if (shares) key[7] = block.next[0].to.value;
      if (block.exit == ExitKind::Raise) key[7] = g_.exceptions_at(id, block.items.size());
      if (kind_ != EndingKind::Any) {
        if (block.items.empty()) continue;
        const ir::Value& last = g_[block.items.back()];
        key[3] = static_cast<uint32_t>(last.op);
        key[4] = last.a;
        key[5] = static_cast<uint32_t>(last.line);
      }
      found[key].push_back(id);
    }
    std::vector<std::vector<BlockId>> out;
    for (auto& [key, blocks] : found) out.push_back(std::move(blocks));
    return out;
  }

  // Joins the first block of the list with those that have the same ending, and removes them from
  // the list.
  void cluster(std::vector<BlockId>& left) {
    const BlockId first = left[0];
    std::vector<BlockId> same{first}, twins, others;
    CommonEnding common;
    for (size_t i = 1; i < left.size(); ++i) {
      // Copies are close together; a `finally` may bring any number of other endings to its line.
      if (same.size() == 1 && i > kFarthestCopy) {
        others.insert(others.end(), left.begin() + static_cast<ptrdiff_t>(i), left.end());
        break;
      }
      if (endings_.are_twins(first, left[i])) {
        twins.push_back(left[i]);
        continue;
      }
      const std::optional<CommonEnding> match = endings_.compare(first, left[i]);
      const bool fits = match && !only_drops(first, *match) &&
                        (same.size() == 1 ||
                         (match->length == common.length && match->differs == common.differs));
      if (fits) common = *match;
      (fits ? same : others).push_back(left[i]);
    }
    if (same.size() > 1) {
      for (const BlockId twin : twins) replace(twin, first);
      make(same, common);
    } else {
      others.insert(others.end(), twins.begin(), twins.end());
    }
    left = std::move(others);
  }

  // Returns true if only a Pop is shared before a shared raise: the other copies have one on each
  // edge, too.
  bool only_drops(BlockId id, const CommonEnding& common) const {
    const ir::Block& block = g_[id];
    return block.exit == ExitKind::Goto && common.length == 1 &&
           is_op(g_[block.items.back()], Op::Pop);
  }

  void replace(BlockId copy, BlockId ending) {
    release(g_, copy);
    for (const Way way : g_.ways_into(copy).copy()) g_.redirect(way.from, way.edge, ending);
  }

  // Replaces the endings of all blocks by that of the first one, with `differs` as its parameter.
  void make(const std::vector<BlockId>& blocks, CommonEnding common) {
    const auto [length, differs] = common;
    std::vector<ValueId> args;
    for (const BlockId id : blocks) args.push_back(endings_.counterpart(blocks[0], id, common));
    ir::Value phi;
    phi.kind = ValueKind::Phi;
    phi.offset = g_[blocks[0]].exit_offset;
    phi.line = g_[blocks[0]].exit_line;
    const ValueId param = g_.add(phi, {});
    BlockId join;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const BlockId rest = g_.split(blocks[i], g_[blocks[i]].items.size() - length);
      release(g_, rest);
      add_use(g_, args[i]);
      if (i == 0) join = rest;
      g_[blocks[i]].next[0].to = join;
      g_[blocks[i]].next[0].args.assign(1, args[i]);
    }
    g_[join].params.push_back(param);
    // The stack below the value is what all ways have in common.
    std::vector<ValueId> stack = g_[blocks[0]].entry_stack;
    for (const BlockId id : blocks) {
      const auto& other = g_[id].entry_stack;
      stack.resize(std::min(stack.size(), other.size()));
      const auto differs_at = std::mismatch(stack.begin(), stack.end(), other.begin()).first;
      stack.erase(differs_at, stack.end());
    }
    stack.push_back(param);
    g_[join].entry_stack = std::move(stack);
    each_operand(join, [&](ValueId& operand) {
      if (g_.resolve(operand) == differs) operand = param;
      add_use(g_, operand);
    });
    for (const ValueId item : g_[join].items) {
      if (is_pop_of_any(g_, item, param)) g_[item].b = static_cast<uint32_t>(ir::Dropped::Result);
    }
    made_.push_back(join);
  }

  // Calls `visit` for each operand of the items and of the exit.
  template <typename Visit>
  void each_operand(BlockId id, Visit visit) {
    for (const ValueId item : g_[id].items) {
      const ir::Value& value = g_[item];
      for (size_t o = 0; o < value.count; ++o) visit(g_.f.operand_pool[value.first + o]);
    }
    for (ValueId& operand : g_[id].operands) visit(operand);
  }

  Graph& g_;
  EndingKind kind_;
  Endings endings_;
  std::vector<BlockId> made_;
  std::unordered_set<BlockId> shared_;  // blocks of a raise that several predecessors share
};

// Copies the ending `join` for the value that one way brings for its parameter.
void copy_ending(Graph& g, BlockId join, const Way& way) {
  const ValueId arg = g.resolve(g[way.from].next[way.edge].args[0]);
  BlockId into = way.from;
  if (g[into].exit != ExitKind::Goto) {
    into = BlockId(g.size());
    ir::Block fresh;
    fresh.handler = g[join].handler;
    fresh.exc_depth = g[join].exc_depth;
    fresh.offset = g[join].offset;
    g.f.blocks.push_back(std::move(fresh));
    g.redirect(way.from, way.edge, into);
  } else {
    g.redirect(into, 0, {});
  }
  std::unordered_map<ValueId, ValueId> copies{{g[join].params[0], arg}};
  drop_use(g, arg);
  const auto copied = [&](ValueId id) {
    id = g.resolve(id);
    const auto known = copies.find(id);
    if (known != copies.end()) return known->second;
    if (g[id].kind != ValueKind::Element || g[id].count == 0) return id;
    // An element of a value that the ending unpacks.
    const auto whole = copies.find(g.resolve(g.f.operands(id)[0]));
    if (whole == copies.end()) return id;
    const ValueId copy = g.add(ir::Value(g[id]), std::array<ValueId, 1>{whole->second});
    copies[id] = copy;
    return copy;
  };
  for (const ValueId item : std::vector<ValueId>(g[join].items)) {
    const auto originals = g.f.operands(item);
    std::vector<ValueId> operands;
    for (const ValueId operand : std::vector<ValueId>(originals.begin(), originals.end())) {
      operands.push_back(copied(operand));
      if (copies.count(g.resolve(operand)) == 0 || operands.back() == arg)
        add_use(g, operands.back());
    }
    ir::Value value = g[item];
    if (drops(value, ir::Dropped::Result) && is_op(g[operands[0]], Op::LoadConst)) {
      value.b = static_cast<uint32_t>(ir::Dropped::Constant);
    }
    copies[item] = g.add(value, operands);
    g[into].items.push_back(copies[item]);
  }
  for (const ValueId operand : std::vector<ValueId>(g[join].operands)) {
    const ValueId value = copied(operand);
    if (copies.count(g.resolve(operand)) == 0 || value == arg) add_use(g, value);
    g[into].operands.push_back(value);
  }
  g[into].exit = g[join].exit;
  g[into].jump = g[join].jump;
  g[into].exit_offset = g[join].exit_offset;
  g[into].exit_line = g[join].exit_line;
}

}  // namespace

void forward_single_values(Graph& g) {
  for (const BlockId id : g.order()) {
    if (g[id].params.empty() || g.ways_into(id).size() != 1) continue;
    const Way way = g.ways_into(id).front();
    auto& args = g[way.from].next[way.edge].args;
    bind_params(g, g[id].params, args);
    args.clear();
    g[id].params.clear();
  }
  apply_aliases(g);
}

void join_returns(Graph& graph, std::vector<BlockId>& joins) {
  const std::vector<BlockId> made = EndingJoiner(graph, EndingKind::Any).join();
  joins.insert(joins.end(), made.begin(), made.end());
}

std::vector<BlockId> join_statements(Graph& graph) {
  EndingJoiner(graph, EndingKind::Handler).join();
  std::vector<BlockId> joins;
  for (size_t length = 0; length < kLongestChain; ++length) {
    const std::vector<BlockId> made = EndingJoiner(graph, EndingKind::Statement).join();
    if (made.empty()) break;
    joins.insert(joins.end(), made.begin(), made.end());
  }
  return joins;
}

void split_endings(Graph& g, const std::vector<BlockId>& joins) {
  if (joins.empty()) return;
  for (size_t i = joins.size(); i-- > 0;) {
    const BlockId join = joins[i];
    if (!g.reachable(join) || g[join].params.size() != 1 || g.ways_into(join).size() < 2) continue;
    if (g[join].exit != ExitKind::Return && g[join].exit != ExitKind::Raise) continue;
    for (const Way way : g.ways_into(join).copy()) copy_ending(g, join, way);
  }
  g.recompute();
}

}  // namespace pellucid::structure
