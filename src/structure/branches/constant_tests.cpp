// SPDX-License-Identifier: Apache-2.0
#include "structure/branches/constant_tests.h"

#include <algorithm>
#include <unordered_map>

#include "structure/graph/items.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {

bool EitherWay::either_way(BlockId a) {
  const BlockId b = g_[a].next[0].to;
  if (!b.valid() || b != g_[a].next[1].to || b == a || b == g_.entry()) return false;
  if (g_.ways_into(b).size() != 2 || g_[b].handler != g_[a].handler || !g_[b].params.empty() ||
      g_[b].items.empty() || g_[a].exit_line == bytecode::kNoLine ||
      g_[g_[b].items[0]].line != g_[a].exit_line)
    return false;
  const ValueId test = g_.resolve(g_[a].operands[0]);
  const bool is_tested = decides(b);
  const size_t length = is_tested ? g_[b].items.size() : first_computed(b);
  if (!is_tested && !goes_into_more(b, length)) return false;
  const ValueId truth = constant_at(a, object::ConstKind::True);
  const ValueId always = add_region(a, RegionKind::Or, test, {{{truth}, truth}}, 1);
  const auto behind = g_[b].items.begin() + static_cast<ptrdiff_t>(length);
  std::vector<ValueId> items(g_[b].items.begin(), behind);
  std::vector<ValueId> rest(behind, g_[b].items.end());
  const ValueId last = items.back();
  const uint32_t uses = g_[last].uses;
  // Users of the value use the choice instead: the part needs a separate value.
  const ValueId own = g_.add(
      g_[last], std::vector<ValueId>(g_.f.operands(last).begin(), g_.f.operands(last).end()));
  items.back() = own;
  ValueId whole;
  if (is_tested) {
    whole = join(a, RegionKind::And, always, {std::move(items), own}, uses);
  } else {
    const ValueId none = constant_at(a, object::ConstKind::None);
    used_once(own, items);
    whole = add_region(a, RegionKind::Conditional, always,
                       {{std::move(items), own}, {{none}, none}}, uses);
  }
  g_.alias(last, whole);
  if (pivots_.contains(last)) pivots_.insert(whole);
  g_[a].items.insert(g_[a].items.end(), rest.begin(), rest.end());
  for (uint8_t k = 0; k < 2; ++k) g_.redirect(a, k, {});
  g_.take_exit(a, b);
  return true;
}

// Returns true if the block is a test, except one that leads to a `for` or into a comprehension:
// each of those has its own targets.
bool EitherWay::decides(BlockId id) const {
  const ir::Block& block = g_[id];
  const auto is_for = [&](const ir::Edge& edge) {
    return edge.to.valid() && g_[edge.to].exit == ExitKind::ForIter;
  };
  return block.exit == ExitKind::Branch && !is_for(block.next[0]) && !is_for(block.next[1]) &&
         computes(id, g_.resolve(block.operands[0]));
}

// Returns true if the value of the first items is an operand together with values from before the
// block: then no statement begins with it.
bool EitherWay::goes_into_more(BlockId id, size_t length) const {
  const std::vector<ValueId>& items = g_[id].items;
  if (length == 0 || length >= items.size()) return false;
  const ir::Value& user = g_[items[length]];
  if (stores_name(user) || fills_container(user) || is_op(user, Op::Pop)) return false;
  const auto first = items.begin(), behind = first + static_cast<ptrdiff_t>(length);
  const auto operands = g_.f.operands(user);
  return std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
    operand = g_.resolve(operand);
    return g_[operand].kind != ValueKind::Null && std::find(first, behind, operand) == behind;
  });
}

// Returns the largest number of items at the start of the block that compute one value without
// operands from elsewhere.
size_t EitherWay::first_computed(BlockId id) const {
  const std::vector<ValueId>& items = g_[id].items;
  std::unordered_map<ValueId, uint32_t> open;  // computed values, and the uses that remain
  size_t longest = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const ir::Value& value = g_[items[i]];
    if (is_statement(value) || is_pattern(items[i]) || value.kind == ValueKind::Null) break;
    if (is_op(value, Op::LoadAssertionError)) break;  // part of `assert`, no expression
    bool is_inside = true;
    for (const ValueId operand : g_.f.operands(value)) {
      if (g_[g_.resolve(operand)].kind == ValueKind::Null) continue;
      const auto used = open.find(g_.resolve(operand));
      is_inside = is_inside && used != open.end();
      if (is_inside && --used->second == 0) open.erase(used);
    }
    if (!is_inside) break;
    open.emplace(items[i], value.uses);
    if (open.size() == 1 && open.contains(items[i])) longest = i + 1;
  }
  return longest;
}

}  // namespace pellucid::structure
