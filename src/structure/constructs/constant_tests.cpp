// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/choices.h"

#include <algorithm>
#include <unordered_map>

#include "structure/graph/items.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {
namespace {

// Returns true if the block is a test, except one that leads to a `for` or into a comprehension:
// each of those has its own targets.
bool decides(const Choices& choices, BlockId id) {
  const Graph& g = choices.graph();
  const ir::Block& block = g[id];
  const auto is_for = [&](const ir::Edge& edge) {
    return edge.to.valid() && g[edge.to].exit == ExitKind::ForIter;
  };
  return block.exit == ExitKind::Branch && !is_for(block.next[0]) && !is_for(block.next[1]) &&
         choices.computes(id, g.resolve(block.operands[0]));
}

// Returns true if the value of the first items is an operand together with values from before the
// block: then no statement begins with it.
bool goes_into_more(const Graph& g, BlockId id, size_t length) {
  const std::vector<ValueId>& items = g[id].items;
  if (length == 0 || length >= items.size()) return false;
  const ir::Value& user = g[items[length]];
  if (stores_name(user) || fills_container(user) || is_op(user, Op::Pop)) return false;
  const auto first = items.begin(), rest_begin = first + static_cast<ptrdiff_t>(length);
  const auto operands = g.f.operands(user);
  return std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
    operand = g.resolve(operand);
    return g[operand].kind != ValueKind::Null &&
           std::find(first, rest_begin, operand) == rest_begin;
  });
}

// Returns the largest number of items at the start of the block that compute one value without
// operands from elsewhere.
size_t first_computed(const Choices& choices, BlockId id) {
  const Graph& g = choices.graph();
  const std::vector<ValueId>& items = g[id].items;
  std::unordered_map<ValueId, uint32_t> open;  // computed values, and the uses that remain
  size_t longest = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const ir::Value& value = g[items[i]];
    if (is_statement(value) || choices.is_pattern(items[i]) || value.kind == ValueKind::Null) break;
    if (is_op(value, Op::LoadAssertionError)) break;  // part of `assert`, no expression
    bool is_inside = true;
    for (const ValueId operand : g.f.operands(value)) {
      if (g[g.resolve(operand)].kind == ValueKind::Null) continue;
      const auto used = open.find(g.resolve(operand));
      is_inside = is_inside && used != open.end();
      if (is_inside && --used->second == 0) open.erase(used);
    }
    if (!is_inside) break;
    open.emplace(items[i], value.uses);
    if (open.size() == 1 && open.contains(items[i])) longest = i + 1;
  }
  return longest;
}

}  // namespace

bool reduce_constant_test(Choices& choices, BlockId a) {
  Graph& g = choices.graph();
  const BlockId b = g[a].next[0].to;
  if (!b.valid() || b != g[a].next[1].to || b == a || b == g.entry()) return false;
  if (g.ways_into(b).size() != 2 || g[b].handler != g[a].handler || !g[b].params.empty() ||
      g[b].items.empty() || g[a].exit_line == bytecode::kNoLine ||
      g[g[b].items[0]].line != g[a].exit_line)
    return false;
  const ValueId test = g.resolve(g[a].operands[0]);
  const bool is_tested = decides(choices, b);
  const size_t length = is_tested ? g[b].items.size() : first_computed(choices, b);
  if (!is_tested && !goes_into_more(g, b, length)) return false;
  const ValueId truth = choices.constant_at(a, object::ConstKind::True);
  const ValueId always = choices.add_region(a, RegionKind::Or, test, {{{truth}, truth}}, 1);
  const auto rest_begin = g[b].items.begin() + static_cast<ptrdiff_t>(length);
  std::vector<ValueId> items(g[b].items.begin(), rest_begin);
  std::vector<ValueId> rest(rest_begin, g[b].items.end());
  const ValueId last = items.back();
  const uint32_t uses = g[last].uses;
  // Users of the value use the choice instead: the part needs a separate value.
  const ValueId own =
      g.add(g[last], std::vector<ValueId>(g.f.operands(last).begin(), g.f.operands(last).end()));
  items.back() = own;
  ValueId whole;
  if (is_tested) {
    whole = choices.join(a, RegionKind::And, always, {std::move(items), own}, uses);
  } else {
    const ValueId none = choices.constant_at(a, object::ConstKind::None);
    choices.used_once(own, items);
    whole = choices.add_region(a, RegionKind::Conditional, always,
                               {{std::move(items), own}, {{none}, none}}, uses);
  }
  g.alias(last, whole);
  choices.replace_pivot(last, whole);
  g[a].items.insert(g[a].items.end(), rest.begin(), rest.end());
  g.take_exit(a, b);
  return true;
}

}  // namespace pellucid::structure
