// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/choices.h"

#include <algorithm>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {

namespace {

// The test that runs first of those that a block's branch was made of.
struct FirstTest {
  int32_t line = -1;  // of its jump
  bool compares = false;
};

FirstTest first_test(const Choices& choices, BlockId id) {
  const Graph& g = choices.graph();
  FirstTest first{g[id].exit_line, false};
  ValueId test = g.resolve(g[id].operands[0]);
  for (;;) {
    const ir::Value& value = g[test];
    if (value.kind == ValueKind::Region) {
      const RegionKind kind = g.regions[value.a].kind;
      first.compares = kind == RegionKind::Chain;
      if (kind != RegionKind::And && kind != RegionKind::Or && kind != RegionKind::Conditional) {
        return first;
      }
      first.line = value.line;
    } else if (!is_op(value, Op::Unary) ||
               value.a != static_cast<uint32_t>(bytecode::UnaryOperator::Not)) {
      first.compares = choices.is_comparison(test);
      return first;
    }
    test = g.resolve(g.f.operands(value)[0]);
  }
}

// Returns the greatest line of what a test is computed from.
int32_t last_line(const Graph& g, ValueId test) {
  int32_t last = bytecode::kNoLine;
  std::unordered_set<ValueId> seen;
  std::vector<ValueId> todo{test};
  while (!todo.empty()) {
    const ValueId id = g.resolve(todo.back());
    todo.pop_back();
    if (!seen.insert(id).second) continue;
    const ir::Value& value = g[id];
    last = std::max(last, value.line);
    const bool has_parts = value.kind == ValueKind::Region && g.regions[value.a].parts.size() != 0;
    // The last operand is on the last line; those before it were asked when it was joined to them.
    if (has_parts) {
      todo.push_back(g.regions[value.a].parts.back().result);
    } else {
      const auto operands = g.f.operands(value);
      todo.insert(todo.end(), operands.begin(), operands.end());
    }
  }
  return last;
}

// Returns true if a branch is a part of an expression: what it leads to hands a value on.
bool leads_to_value(const Graph& g, BlockId branch) {
  const auto hands_on = [&g](const ir::Edge& way) {
    if (!way.to.valid()) return false;
    const ir::Block& to = g[way.to];
    return !way.args.empty() || !to.next[0].args.empty() || !to.next[1].args.empty();
  };
  return hands_on(g[branch].next[0]) || hands_on(g[branch].next[1]);
}

// Returns true if not only tests lead to a place, or if it only returns.
bool is_reached_anyway(const Graph& g, BlockId place) {
  if (!place.valid() || only_returns(g, place)) return place.valid();
  const auto ways = g.ways_into(place);
  return std::any_of(ways.begin(), ways.end(),
                     [&g](const Way way) { return g[way.from].exit != ExitKind::Branch; });
}

}  // namespace

Choices::Choices(Graph& graph, object::Module& module) : g_(graph), module_(module) {
  for (const BlockId id : g_.order()) {
    for (const ValueId item : g_[id].items) {
      if (fills_container(g_[item])) ++filled_[g_.resolve(g_.f.operands(item)[0])];
    }
    if (g_[id].exit != ExitKind::Branch) continue;
    const ValueId pivot = pivot_of(g_.resolve(g_[id].operands[0]));
    if (pivot.valid()) pivots_.insert(pivot);
  }
}

bool Choices::is_pattern(ValueId id) const {
  const ir::Value* value = &g_[id];
  if (value->kind == ValueKind::Region && g_.regions[value->a].kind == RegionKind::And) {
    value = &g_[g_.resolve(g_.f.operands(*value)[0])];
  }
  return value->kind == ValueKind::Region && g_.regions[value->a].kind == RegionKind::Pattern;
}

bool Choices::computes(BlockId id, ValueId result, ValueId pivot) const {
  const ir::Block& block = g_[id];
  std::unordered_map<ValueId, uint32_t> uses, stores;
  bool defines_result = false;
  for (const ValueId item : block.items) {
    const ir::Value& value = g_[item];
    // Locals that an inlined comprehension hides.
    if (is_pattern(item)) return false;
    if (is_op(value, Op::LoadFastAndClear, Op::MakeCell)) continue;
    if (is_statement(value)) {
      // A store whose value has another use is a walrus, except before another store: `a = b = v`.
      if (!stores_name(value)) return false;
      const ValueId stored = g_.resolve(g_.f.operands(value)[0]);
      if (g_[stored].uses <= ++stores[stored]) return false;
    }
    for (ValueId operand : g_.f.operands(value)) {
      operand = g_.resolve(operand);
      if (g_[operand].kind == ValueKind::Null) continue;
      auto it = uses.find(operand);
      if (it == uses.end()) {
        if (operand == pivot) continue;
        return false;
      }
      ++it->second;
    }
    if (item == result) defines_result = true;
    if (!is_statement(value)) uses.emplace(item, 0);
  }
  if (!defines_result) return false;
  // The right operand of a comparison may be the left operand of the next one.
  const ValueId next = pivot.valid() ? pivot_of(result) : ValueId();
  return std::all_of(uses.begin(), uses.end(), [&](const auto& use) {
    const auto& [item, count] = use;
    return item == result || count == g_[item].uses || (item == next && count + 1 == g_[item].uses);
  });
}

bool Choices::is_comparison(ValueId id) const {
  const ir::Value& value = g_[id];
  return is_op(value, Op::Compare, Op::IsOp, Op::ContainsOp);
}

bool Choices::is_another_statement(BlockId a, BlockId b, BlockId shared) const {
  const int32_t line = g_[a].exit_line;
  if (line == bytecode::kNoLine) return false;
  if (g_.f.habits.tests_on_one_line) return g_[b].exit_line > line;
  const FirstTest first = first_test(*this, b);
  if (first.line <= line || leads_to_value(g_, a) || leads_to_value(g_, b)) return false;
  if (!first.compares) return true;
  if (g_[b].items.empty() || !is_reached_anyway(g_, shared)) return false;
  // The comparison of a case is below its subject.
  return std::min(first.line, g_[g_[b].items.front()].line) > last_line(g_, g_[a].operands[0]) + 1;
}

bool Choices::makes_container(BlockId id) const {
  const auto& items = g_[id].items;
  return std::any_of(items.begin(), items.end(), [&](ValueId item) {
    return is_op(g_[item], Op::BuildList, Op::BuildSet, Op::BuildMap) ||
           (!filled_.empty() && filled_.contains(item));
  });
}

ValueId Choices::pivot_of(ValueId comparison) const {
  const ir::Value& value = g_[comparison];
  if (value.kind == ValueKind::Region) {
    const Region& region = g_.regions[value.a];
    if (region.kind != RegionKind::Chain) return {};
    comparison = region.parts.back().result;
  }
  if (!is_comparison(comparison)) return {};
  const ValueId right = g_.resolve(g_.f.operands(comparison)[1]);
  return g_[right].uses >= 2 ? right : ValueId();
}

// Returns the first comparison of a chain, or the comparison itself.
ValueId Choices::first_comparison(ValueId id) const {
  const ir::Value& value = g_[id];
  const bool chain =
      value.kind == ValueKind::Region && g_.regions[value.a].kind == RegionKind::Chain;
  return chain ? g_.resolve(g_.f.operands(value)[0]) : id;
}

bool Choices::continues_chain(ValueId result, ValueId pivot) const {
  if (!pivot.valid()) return false;
  result = first_comparison(result);
  return is_comparison(result) && g_.resolve(g_.f.operands(result)[0]) == pivot;
}

void Choices::used_once(ValueId id, const std::vector<ValueId>& items) {
  const auto fills = filled_.find(id);
  uint32_t uses = 1 + (fills == filled_.end() ? 0 : fills->second);
  for (const ValueId item : items) {
    if (stores_name(g_[item]) && g_.resolve(g_.f.operands(item)[0]) == id) ++uses;
  }
  set_uses(g_, id, uses);
}

ValueId Choices::constant_at(BlockId id, object::ConstKind kind) {
  auto [known, is_new] = constants_.try_emplace(kind);
  if (is_new) {
    for (size_t i = 0; i < module_.consts.size() && !known->second.valid(); ++i) {
      if (module_.consts[i].kind == kind) known->second = object::ConstId(i);
    }
    object::Const constant;
    constant.kind = kind;
    if (!known->second.valid()) known->second = module_.add(constant);
  }
  ir::Value load;
  load.op = Op::LoadConst;
  load.a = known->second.value;
  load.offset = g_[id].exit_offset;
  load.line = g_[id].exit_line;
  load.uses = 1;
  return g_.add(load, {});
}

ValueId Choices::negated(BlockId id, ValueId condition) {
  ir::Value value;
  value.op = Op::Unary;
  value.a = static_cast<uint32_t>(bytecode::UnaryOperator::Not);
  value.offset = g_[id].exit_offset;
  value.line = g_[id].exit_line;
  value.uses = 1;
  used_once(condition, g_[id].items);
  const ValueId result = g_.add(value, std::array<ValueId, 1>{condition});
  g_[id].items.push_back(result);
  return result;
}

ValueId Choices::opposite(BlockId id, ValueId test) {
  std::vector<ValueId>& items = g_[id].items;
  const ir::Value value = g_[test];
  const bool is_choice =
      value.kind == ValueKind::Region && items.back() == test &&
      (g_.regions[value.a].kind == RegionKind::And || g_.regions[value.a].kind == RegionKind::Or);
  if (!is_choice) return without_not(id, test);
  items.pop_back();
  // Recurses as deep as the parentheses of a guard.
  const ValueId first = opposite(id, g_.resolve(g_.f.operands(test)[0]));
  g_.f.operand_pool[value.first] = first;
  g_[id].items.push_back(test);
  Region& region = g_.regions[value.a];
  region.kind = region.kind == RegionKind::And ? RegionKind::Or : RegionKind::And;
  for (Part& part : region.parts) {
    std::swap(part.items, g_[id].items);
    part.result = opposite(id, part.result);
    std::swap(part.items, g_[id].items);
  }
  return test;
}

ValueId Choices::without_not(BlockId id, ValueId test) {
  std::vector<ValueId>& items = g_[id].items;
  const ir::Value& value = g_[test];
  const bool is_not = is_op(value, Op::Unary) && !items.empty() && items.back() == test &&
                      value.a == static_cast<uint32_t>(bytecode::UnaryOperator::Not);
  if (!is_not) return negated(id, test);
  items.pop_back();
  return g_.resolve(g_.f.operands(value)[0]);
}

ValueId Choices::add_region(BlockId id, RegionKind kind, ValueId operand, Parts parts,
                            uint32_t uses) {
  Region region;
  region.kind = kind;
  region.parts = std::move(parts);
  used_once(operand, g_[id].items);
  ir::Value value;
  value.kind = ValueKind::Region;
  value.a = static_cast<uint32_t>(g_.regions.size());
  value.offset = g_[id].exit_offset;
  value.line = g_[id].exit_line;
  value.uses = uses;
  g_.regions.push_back(std::move(region));
  const ValueId result = g_.add(value, std::array<ValueId, 1>{operand});
  g_[id].items.push_back(result);
  return result;
}

ValueId Choices::join(BlockId id, RegionKind kind, ValueId first, Part part, uint32_t uses,
                      bool again) {
  Parts parts;
  part.follows_lost_test = g_[id].is_lost_test;
  // `a and (b and c)` is `a and b and c`, `a < b` and the rest of its chain are one chain: takes
  // over the parts of an equal region at the end of the part.
  const ValueId last = part.result;
  if (g_[last].kind == ValueKind::Region && g_.regions[g_[last].a].kind == kind &&
      g_.regions[g_[last].a].is_tested_again == again && part.items.back() == last) {
    parts = std::move(g_.regions[g_[last].a].parts);
    part.items.pop_back();
    part.result = g_.resolve(g_.f.operands(last)[0]);
  }
  // In a chain, only the chain itself uses the pivot.
  if (kind == RegionKind::Chain) drop_use(g_, g_.f.operands(part.result)[0]);
  used_once(part.result, part.items);
  parts.push_front(std::move(part));
  const ir::Value& value = g_[first];
  if (kind == RegionKind::Chain && value.kind == ValueKind::Region &&
      g_.regions[value.a].kind == kind && g_[id].items.back() == first) {
    for (Part& more : parts) g_.regions[value.a].parts.push_back(std::move(more));
    set_uses(g_, first, uses);
    return first;
  }
  const ValueId whole = add_region(id, kind, first, std::move(parts), uses);
  g_.regions[g_[whole].a].is_tested_again = again;
  return whole;
}

std::optional<uint32_t> Choices::agree(const ir::Edge& x, const ir::Edge& y, ValueId a,
                                       ValueId b) const {
  uint32_t kept = 0;
  for (size_t i = 0; i < x.args.size(); ++i) {
    const ValueId p = g_.resolve(x.args[i]), q = g_.resolve(y.args[i]);
    if (p == a && q == b) {
      ++kept;
    } else if (p != q) {
      return std::nullopt;
    }
  }
  return kept;
}

void Choices::replace_args(BlockId id, ValueId from, ValueId to) {
  for (ir::Edge& edge : g_[id].next) {
    for (ValueId& arg : edge.args) {
      if (g_.resolve(arg) == from) arg = to;
    }
  }
}

uint32_t Choices::count_args(const ir::Block& block, ValueId value) const {
  uint32_t count = 0;
  for (const ir::Edge& edge : block.next) {
    for (const ValueId arg : edge.args) count += g_.resolve(arg) == value ? 1 : 0;
  }
  return count;
}

}  // namespace pellucid::structure
