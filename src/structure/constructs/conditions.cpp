// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/conditions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "structure/constructs/choices.h"
#include "structure/graph/items.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {
namespace {

// Makes each edge of the branch the other one.
void swap_ways(Graph& graph, BlockId id) {
  const std::array<ir::Edge, 2> next = graph[id].next;
  for (uint8_t edge = 0; edge < 2; ++edge) {
    graph.redirect(id, edge, next[1 - edge].to, next[1 - edge].args);
  }
  graph[id].jump ^= 1u;
}

class Conditions {
 public:
  Conditions(Graph& graph, object::Module& module)
      : g_(graph),
        module_(module),
        c_(graph, module),
        tells_statements_(!graph.f.habits.gives_columns && has_statements()) {}

  void run() {
    bool is_stale = !g_.is_current();
    for (const BlockId id : g_.order()) is_stale |= spell_out_none_test(id);
    bool changed = true;
    while (changed) {
      changed = false;
      const std::vector<BlockId> order = g_.order();
      for (size_t i = order.size(); i-- > 0;) {
        while (g_.reachable(order[i]) && reduce(order[i])) changed = true;
      }
      for (const BlockId id : order) {
        if (g_.reachable(id) && absorb_what_follows(id)) changed = true;
      }
      if (!changed && !is_stale) break;
      apply_aliases(g_);
      g_.recompute();
      is_stale = false;
    }
  }

 private:
  // BranchNone x  ->  Branch (x is None): one form of test for all rules. At the end of a chain,
  // Branch (x is not None): a chain fails to one place. Returns true if that swaps the ways.
  bool spell_out_none_test(BlockId id) {
    if (g_[id].exit != ExitKind::BranchNone) return false;
    const bool is_not = ends_chain_with_not_none(id);
    const ValueId constant = c_.constant_at(id, object::ConstKind::None);
    ir::Value test = g_[constant];
    test.op = Op::IsOp;
    test.a = is_not ? 1 : 0;
    const std::array<ValueId, 2> operands{g_[id].operands[0], constant};
    const ValueId result = g_.add(test, operands);
    ir::Block& block = g_[id];
    block.items.push_back(constant);
    block.items.push_back(result);
    block.operands[0] = result;
    block.exit = ExitKind::Branch;
    if (!is_not) return false;
    std::swap(block.next[0], block.next[1]);
    block.jump ^= 1u;
    return true;
  }

  bool ends_chain_with_not_none(BlockId id) const {
    if (!g_[id].items.empty() || g_.ways_into(id).size() != 1) return false;
    const Way way = g_.ways_into(id).front();
    const ir::Block& from = g_[way.from];
    return from.exit == ExitKind::Branch && way.edge == 0 && from.next[1].to == g_[id].next[0].to &&
           c_.pivot_of(g_.resolve(from.operands[0])) == g_.resolve(g_[id].operands[0]);
  }

  bool reduce(BlockId id) {
    if (g_[id].exit == ExitKind::Goto) {
      const BlockId next = g_[id].next[0].to;
      if (!next.valid()) return false;
      return (next != id && is_short(next, id) && merge_into_predecessor(g_, next)) ||
             (g_[next].exit == ExitKind::ForIter && c_.makes_container(id) &&
              fold_inlined_comprehension(g_, module_, id));
    }
    if (g_[id].exit != ExitKind::Branch) return false;
    bool absorbed = false;
    for (const ir::Edge& arm : std::array<ir::Edge, 2>(g_[id].next)) {
      if (c_.owns(id, arm.to) && absorb_what_follows(arm.to)) absorbed = true;
    }
    return reduce_branch(id) || absorbed;
  }

  bool reduce_branch(BlockId id) {
    const ir::Value& test = g_[g_.resolve(g_[id].operands[0])];
    if (is_op(test, Op::ExcMatch)) return false;  // an `except` clause
    if (awaits_chain(id)) return false;
    if (c_.is_pattern(g_.resolve(g_[id].operands[0]))) return guard(id);
    return reduce_constant_test(c_, id) || pair(id) || value(id) || dropped_chain(id) ||
           conditional_branch(id) || conditional_value(id) || half_returned(id) ||
           returned_value(id);
  }

  // Returns true if merging `next` into `id` is cheap. Blocks are visited from the last to the
  // first: appending a long one to each block before it would move its items again and again. It
  // waits until all later blocks are reduced.
  bool is_short(BlockId next, BlockId id) const {
    return g_[next].items.size() <= 2 * g_[id].items.size() + 64;
  }

  bool absorb_what_follows(BlockId id) {
    bool changed = false;
    while (g_[id].exit == ExitKind::Goto) {
      const BlockId next = g_[id].next[0].to;
      if (!next.valid() || next == id || !merge_into_predecessor(g_, next)) break;
      changed = true;
    }
    return changed;
  }

  // Joins a guard to its pattern: it is tested after the pattern has matched, and fails to the same
  // place.
  bool guard(BlockId a) {
    const BlockId b = g_[a].next[0].to, shared = g_[a].next[1].to;
    if (!shared.valid() || b == shared || !c_.owns(a, b) || g_[b].exit != ExitKind::Branch)
      return false;
    ValueId second = g_.resolve(g_[b].operands[0]);
    if (c_.is_pattern(second) || !c_.computes(b, second)) return false;
    const uint8_t k = g_[b].next[1].to == shared ? 1 : 0;
    if (g_[b].next[k].to != shared || !g_[b].next[k].args.empty()) return false;
    if (k == 0) {
      second = c_.opposite(b, second);
      swap_ways(g_, b);
    }
    const ValueId first = g_.resolve(g_[a].operands[0]);
    const ValueId whole = c_.join(a, RegionKind::And, first, {std::move(g_[b].items), second}, 1);
    g_.take_exit(a, b);
    g_[a].operands[0] = whole;
    g_[a].jump = 1;
    return true;
  }

  // Returns true if the test continues a chain that the block before has begun: it is joined to
  // that block before it starts anything else.
  bool awaits_chain(BlockId id) const {
    const ValueId test = g_.resolve(g_[id].operands[0]);
    if (!c_.is_comparison(test)) return false;
    if (g_.ways_into(id).size() != 1) return compares_after_choice(id, test);
    const Way way = g_.ways_into(id).front();
    const ExitKind exit = g_[way.from].exit;
    // `a < b in [c for c in d]`: the right operand is a comprehension.
    if (exit == ExitKind::ForIter || exit == ExitKind::Goto) return compares_pivot(test);
    if (exit != ExitKind::Branch || way.edge != 0) return false;
    return c_.continues_chain(test, c_.pivot_of(g_.resolve(g_[way.from].operands[0])));
  }

  // Returns true for `a < b < (c or d)`: the right operand is chosen first, and will be part of the
  // comparison.
  bool compares_after_choice(BlockId id, ValueId test) const {
    return !g_[id].params.empty() && compares_pivot(test);
  }

  bool compares_pivot(ValueId test) const {
    return c_.is_pivot(g_.resolve(g_.f.operands(test)[0]));
  }

  // Returns how `second`, which block b computes, is joined to the test before it; nothing if the
  // block does more. `falls_through`: from that test, as after a comparison of a chain.
  std::optional<RegionKind> joining(BlockId b, ValueId first, ValueId second, bool is_and,
                                    bool falls_through) const {
    const ValueId pivot = is_and && falls_through ? c_.pivot_of(first) : ValueId();
    const bool is_chain = c_.continues_chain(second, pivot);
    if (!c_.computes(b, second, is_chain ? pivot : ValueId())) return std::nullopt;
    if (is_chain) return RegionKind::Chain;
    return is_and ? RegionKind::And : RegionKind::Or;
  }

  bool pair(BlockId a) {
    for (uint8_t side = 0; side < 2; ++side) {
      const BlockId b = g_[a].next[side].to;
      const BlockId shared = g_[a].next[1 - side].to;
      if (b == shared || !c_.owns(a, b) || g_[b].exit != ExitKind::Branch) continue;
      if (tells_statements_ && c_.is_another_statement(a, b, shared)) continue;
      const ValueId first = g_.resolve(g_[a].operands[0]);
      const ValueId second = g_.resolve(g_[b].operands[0]);
      for (uint8_t k = 0; k < 2; ++k) {
        if (g_[b].next[k].to != shared) continue;
        // `if a and b: pass`: both edges lead on.
        if (g_[b].next[1 - k].to == shared && side == k) continue;
        const auto kept = c_.agree(g_[a].next[1 - side], g_[b].next[k], first, second);
        if (!kept) continue;
        const bool negate = side == k;  // `not a or b`, `not a and b`
        if (negate && *kept > 0) continue;
        const auto kind = joining(b, first, second, k == 1, side == 0);
        if (!kind) continue;
        if (negate && is_op(g_[first], Op::LoadConst)) return turned_pair(a, b, *kind);
        const ValueId operand = negate ? c_.negated(a, first) : first;
        const uint32_t uses = 1 + c_.count_args(g_[b], second);
        const ValueId whole = c_.join(a, *kind, operand, {std::move(g_[b].items), second}, uses);
        g_.take_exit(a, b);
        g_[a].operands[0] = whole;
        c_.replace_args(a, second, whole);
        return true;
      }
    }
    return false;
  }

  // Makes `1 or not a`, since `not 1 and a` would have another constant.
  bool turned_pair(BlockId a, BlockId b, RegionKind kind) {
    const RegionKind turned = kind == RegionKind::And ? RegionKind::Or : RegionKind::And;
    const ValueId second = g_.resolve(g_[b].operands[0]);
    const uint32_t uses = 1 + c_.count_args(g_[b], second);
    const ValueId other = c_.without_not(b, second);
    const ValueId first = g_.resolve(g_[a].operands[0]);
    const ValueId whole = c_.join(a, turned, first, {std::move(g_[b].items), other}, uses);
    swap_ways(g_, b);
    g_.take_exit(a, b);
    g_[a].operands[0] = whole;
    return true;
  }

  // Reduces `and`, `or` and chains whose value is passed to a merge point.
  bool value(BlockId a) {
    const ValueId first = g_.resolve(g_[a].operands[0]);
    for (uint8_t side = 0; side < 2; ++side) {
      const BlockId b = g_[a].next[side].to;
      const BlockId join_block = g_[a].next[1 - side].to;
      if (b == join_block || !c_.owns(a, b) || g_[b].exit != ExitKind::Goto) continue;
      if (g_[b].next[0].to != join_block) continue;
      const ir::Edge& from_a = g_[a].next[1 - side];
      const ir::Edge& from_b = g_[b].next[0];
      ValueId second;
      for (size_t i = 0; i < from_a.args.size(); ++i) {
        if (g_.resolve(from_a.args[i]) == first) second = g_.resolve(from_b.args[i]);
      }
      if (!second.valid()) continue;
      const auto kept = c_.agree(from_a, from_b, first, second);
      if (!kept || *kept != 1) continue;
      const auto kind = joining(b, first, second, side == 0, side == 0);
      if (!kind) continue;
      const bool again = is_tested(from_a, first);
      const ValueId whole = c_.join(a, *kind, first, {std::move(g_[b].items), second}, 1, again);
      g_.take_exit(a, b);
      c_.replace_args(a, second, whole);
      return true;
    }
    return false;
  }

  // Returns true if the target of an edge tests the argument `value`, on its own or as the first
  // operand of `and` or `or`.
  bool is_tested(const ir::Edge& edge, ValueId value) const {
    const ir::Block& block = g_[edge.to];
    for (size_t i = 0; i < edge.args.size() && i < block.params.size(); ++i) {
      if (g_.resolve(edge.args[i]) != value) continue;
      const ValueId param = g_.resolve(block.params[i]);
      if (block.exit == ExitKind::Branch && g_.resolve(block.operands[0]) == param) return true;
      if (block.items.empty()) continue;
      const ir::Value& first = g_[block.items[0]];
      if (first.kind != ValueKind::Region || first.count == 0) continue;
      const RegionKind kind = g_.regions[first.a].kind;
      const bool tests = kind == RegionKind::And || kind == RegionKind::Or;
      if (tests && g_.resolve(g_.f.operands(first)[0]) == param) return true;
    }
    return false;
  }

  // Reduces `a < b < c` as a statement: its value is dropped on both edges.
  bool dropped_chain(BlockId a) {
    const BlockId b = g_[a].next[0].to, shared = g_[a].next[1].to;
    if (b == shared || !c_.owns(a, b) || g_[b].exit != ExitKind::Goto || g_[b].items.empty())
      return false;
    if (g_[b].next[0].to != shared || !c_.agree(g_[a].next[1], g_[b].next[0], {}, {})) return false;
    const ValueId first = g_.resolve(g_[a].operands[0]), pop = g_[b].items.back();
    if (!is_op(g_[pop], Op::Pop)) return false;
    const ValueId second = g_.resolve(g_.f.operands(pop)[0]), pivot = c_.pivot_of(first);
    if (!c_.continues_chain(second, pivot)) return false;
    g_[b].items.pop_back();
    if (!c_.computes(b, second, pivot)) {
      g_[b].items.push_back(pop);
      return false;
    }
    const ValueId whole = c_.join(a, RegionKind::Chain, first, {std::move(g_[b].items), second}, 1);
    g_.f.operand_pool[g_[pop].first] = whole;
    g_[a].items.push_back(pop);
    g_.take_exit(a, b);
    return true;
  }

  // Returns the edge to the first arm of a conditional expression: the fall-through
  // (compiler_ifexp).
  uint8_t first_arm(BlockId id) const { return static_cast<uint8_t>(1 - g_[id].jump); }

  ValueId conditional(BlockId a, BlockId body, BlockId orelse, ValueId x, ValueId y,
                      uint32_t uses) {
    ValueId test = g_.resolve(g_[a].operands[0]);
    if (first_arm(a) == 1) test = c_.negated(a, test);
    Parts parts{{std::move(g_[body].items), x}, {std::move(g_[orelse].items), y}};
    for (const Part& part : parts) c_.used_once(part.result, part.items);
    return c_.add_region(a, RegionKind::Conditional, test, std::move(parts), uses);
  }

  bool conditional_branch(BlockId a) {
    const BlockId b = g_[a].next[first_arm(a)].to, c = g_[a].next[1 - first_arm(a)].to;
    if (b == c || !c_.owns(a, b) || !c_.owns(a, c)) return false;
    if (g_[b].exit != ExitKind::Branch || g_[c].exit != ExitKind::Branch) return false;
    ValueId x = g_.resolve(g_[b].operands[0]);
    ValueId y = g_.resolve(g_[c].operands[0]);
    const bool straight =
        g_[b].next[0].to == g_[c].next[0].to && g_[b].next[1].to == g_[c].next[1].to;
    const bool crossed =
        g_[b].next[0].to == g_[c].next[1].to && g_[b].next[1].to == g_[c].next[0].to;
    if (!straight && !crossed) return false;
    uint32_t kept = 0;
    for (uint8_t k = 0; k < 2; ++k) {
      const auto places = c_.agree(g_[b].next[k], g_[c].next[straight ? k : 1 - k], x, y);
      if (!places) return false;
      kept += *places;
    }
    if (!straight && kept > 0) return false;
    if (!c_.computes(b, x) || !c_.computes(c, y)) return false;
    // Of two arms with swapped targets one is negated, preferably one that is not constant.
    const bool turns_first = !straight && is_op(g_[y], Op::LoadConst);
    const BlockId kept_arm = turns_first ? c : b, other = turns_first ? b : c;
    if (turns_first) x = c_.negated(b, x);
    if (!straight && !turns_first) y = c_.negated(c, y);
    const ValueId whole = conditional(a, b, c, x, y, 1 + kept);
    for (uint8_t k = 0; k < 2; ++k) g_.redirect(other, k, {});
    g_.take_exit(a, kept_arm);
    g_[a].operands[0] = whole;
    c_.replace_args(a, x, whole);
    return true;
  }

  // Returns true if a value starts on a line after that of the test: it belongs to a statement in
  // an `if`. In `x if c else y`, x comes before c. Where columns are given, polish tells it by
  // them.
  bool starts_after_test(BlockId a, BlockId arm) const {
    if (g_.f.habits.gives_columns) return false;
    const int32_t line = g_[a].exit_line;
    if (line == bytecode::kNoLine || g_[arm].items.empty()) return false;
    // The line of an `and` is that of its jumps.
    ValueId test = g_.resolve(g_[a].operands[0]);
    while (g_[test].kind == ValueKind::Region) test = g_.resolve(g_.f.operands(test)[0]);
    return g_[g_[arm].items.front()].line > std::max(line, g_[test].line);
  }

  bool conditional_value(BlockId a) {
    const BlockId b = g_[a].next[first_arm(a)].to, c = g_[a].next[1 - first_arm(a)].to;
    if (b == c || !c_.owns(a, b) || !c_.owns(a, c)) return false;
    if (g_[b].exit != ExitKind::Goto || g_[c].exit != ExitKind::Goto) return false;
    if (g_[b].next[0].to != g_[c].next[0].to || starts_after_test(a, b)) return false;
    const ir::Edge& from_b = g_[b].next[0];
    const ir::Edge& from_c = g_[c].next[0];
    ValueId x, y;
    for (size_t i = 0; i < from_b.args.size(); ++i) {
      const ValueId p = g_.resolve(from_b.args[i]), q = g_.resolve(from_c.args[i]);
      if (p == q) continue;
      if (x.valid()) return false;
      x = p;
      y = q;
    }
    if (!x.valid() || !c_.computes(b, x) || !c_.computes(c, y)) return false;
    const ValueId whole = conditional(a, b, c, x, y, 1);
    g_.redirect(c, 0, {});
    g_.take_exit(a, b);
    c_.replace_args(a, x, whole);
    return true;
  }

  // Returns the value that a block without items returns when it is reached by this edge; invalid
  // if it does not return.
  ValueId returned_through(const ir::Edge& edge) const {
    const ir::Block& block = g_[edge.to];
    if (!block.items.empty() || block.exit != ExitKind::Return) return {};
    const ValueId value = g_.resolve(block.operands[0]);
    for (size_t p = 0; p < block.params.size(); ++p) {
      if (block.params[p] == value) return g_.resolve(edge.args[p]);
    }
    return value;
  }

  // Reduces `return a or (x if c else y)`: one arm returns, the other one passes its value to where
  // the whole is returned.
  bool half_returned(BlockId a) {
    const BlockId b = g_[a].next[first_arm(a)].to, c = g_[a].next[1 - first_arm(a)].to;
    if (b == c || !c_.owns(a, b) || !c_.owns(a, c)) return false;
    const bool b_returns = g_[b].exit == ExitKind::Return;
    const BlockId apart = b_returns ? b : c, other = b_returns ? c : b;
    if (g_[apart].exit != ExitKind::Return || g_[other].exit != ExitKind::Goto) return false;
    const ValueId brought = returned_through(g_[other].next[0]);
    const ValueId returned = g_.resolve(g_[apart].operands[0]);
    if (!brought.valid() || !c_.computes(other, brought) || !c_.computes(apart, returned))
      return false;
    const ValueId x = b_returns ? returned : brought, y = b_returns ? brought : returned;
    const ValueId whole = conditional(a, b, c, x, y, 1);
    g_.take_exit(a, other);
    c_.replace_args(a, brought, whole);
    return true;
  }

  // Reduces `return a and b`, `return x if c else y`: each arm returns.
  bool returned_value(BlockId a) {
    const ValueId test = g_.resolve(g_[a].operands[0]);
    for (uint8_t side = 0; side < 2; ++side) {
      const BlockId b = g_[a].next[side].to;
      if (!c_.owns(a, b) || g_[b].exit != ExitKind::Return) continue;
      if (returned_through(g_[a].next[1 - side]) != test || !test.valid()) continue;
      const ValueId second = g_.resolve(g_[b].operands[0]);
      const auto kind = joining(b, test, second, side == 0, side == 0);
      if (!kind) continue;
      const ValueId whole = c_.join(a, *kind, test, {std::move(g_[b].items), second}, 1);
      g_.take_exit(a, b);
      g_[a].operands[0] = whole;
      return true;
    }
    return conditional_return(a);
  }

  bool conditional_return(BlockId a) {
    const BlockId b = g_[a].next[first_arm(a)].to, c = g_[a].next[1 - first_arm(a)].to;
    if (b == c || !c_.owns(a, b) || !c_.owns(a, c)) return false;
    if (g_[b].exit != ExitKind::Return || g_[c].exit != ExitKind::Return) return false;
    // Two returns are two statements, unless they are on the line of the test.
    const int32_t line = g_[a].exit_line;
    if (line == bytecode::kNoLine || g_[b].exit_line != line || g_[c].exit_line != line)
      return false;
    const ValueId x = g_.resolve(g_[b].operands[0]), y = g_.resolve(g_[c].operands[0]);
    if (!c_.computes(b, x) || !c_.computes(c, y)) return false;
    const ValueId whole = conditional(a, b, c, x, y, 1);
    g_.take_exit(a, b);
    g_[a].operands[0] = whole;
    return true;
  }

  bool has_statements() const {
    const std::string_view name = module_.text(module_[g_.f.code].name);
    return !name.starts_with('<') || name == "<module>";
  }

  Graph& g_;
  object::Module& module_;
  Choices c_;
  bool tells_statements_;
};

}  // namespace

void reduce_conditions(Graph& graph, object::Module& module) { Conditions(graph, module).run(); }

}  // namespace pellucid::structure
