// SPDX-License-Identifier: Apache-2.0
#include "verify/headers/slots.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "verify/domain/state.h"

namespace pellucid::verify {

namespace {

using bytecode::Op;
using object::Code;
using Names = std::unordered_set<uint32_t>;

// Returns the variables that may have a value.
Names bound_in(Values& values, Side side, const Code& code, const flow::Graph& graph) {
  Names bound;
  const auto add = [&](Symbol name) { bound.insert(values.name(side, name).value); };
  for (size_t i = 0; i < object::parameter_count(code); ++i) add(code.varnames[i]);
  for (const Symbol name : code.freevars) add(name);
  for (const flow::Block& block : graph.blocks) {
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      const Op op = graph.instrs[i].op;
      if (op == Op::StoreFast || op == Op::StoreDeref) add(graph.instrs[i].symbol());
    }
  }
  return bound;
}

// Returns the slots of variables that are in both sets, by name.
std::vector<Name> slots_in(Values& values, Side side, const std::vector<Symbol>& slots,
                           const Names& in_a, const Names& in_b) {
  std::vector<Name> out;
  for (const Symbol slot : slots) {
    const Name name = values.name(side, slot);
    if (in_a.contains(name.value) && in_b.contains(name.value)) out.push_back(name);
  }
  return out;
}

}  // namespace

std::string slot_difference(Values& values, const flow::Graph& a, const flow::Graph& b) {
  const Code& code_a = values.module(Side::A)[a.code];
  const Code& code_b = values.module(Side::B)[b.code];
  const std::vector<Symbol> slots_a = slots_of(code_a);
  const std::vector<Symbol> slots_b = slots_of(code_b);
  const auto is_same = [&](Symbol x, Symbol y) { return values.same_name(x, y); };
  if (std::ranges::equal(slots_a, slots_b, is_same)) return "";
  const Names in_a = bound_in(values, Side::A, code_a, a);
  const Names in_b = bound_in(values, Side::B, code_b, b);
  const std::vector<Name> order_a = slots_in(values, Side::A, slots_a, in_a, in_b);
  const std::vector<Name> order_b = slots_in(values, Side::B, slots_b, in_a, in_b);
  const auto [x, y] = std::ranges::mismatch(order_a, order_b);
  if (x == order_a.end() || y == order_b.end()) return "";
  return std::string(values.text(*x)) + " / " + std::string(values.text(*y));
}

}  // namespace pellucid::verify
